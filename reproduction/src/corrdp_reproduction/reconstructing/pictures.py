"""Small pictures that come with scikit-learn, where the source has MNIST and Fashion-MNIST."""

from __future__ import annotations

import numpy as np

from corrdp_reproduction.recordings import NoDataError

INSTALL = (
    "scikit-learn is needed, whose small pictures and tables stand in for data that do not fit "
    "here: pip install 'corrdp-reproduction[pictures]'"
)
_SIDE = 8  # of a patch
_STRIPS = 5  # of each photograph


def digits() -> tuple[np.ndarray, np.ndarray]:
    """1,797 handwritten digits of 8 x 8 pixels between 0 and 1, and which digit each is.

    Raises
    ------
    NoDataError
        scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise NoDataError(INSTALL) from None
    found = load_digits()
    return found.data / 16, found.target


def patches() -> tuple[np.ndarray, np.ndarray]:
    """8,480 grey patches of 8 x 8 pixels from two photographs, and the strip each is from.

    A temple and a flower, each cut into five upright strips: ten classes, as Fashion-MNIST has.
    Brightness is taken out of each patch, which leaves its texture.

    Raises
    ------
    NoDataError
        scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_sample_images
    except ImportError:
        raise NoDataError(INSTALL) from None
    parts, labels = [], []
    for number, photograph in enumerate(load_sample_images().images):
        down, along = (length // _SIDE for length in photograph.shape[:2])
        grey = photograph[: down * _SIDE, : along * _SIDE].mean(axis=2) / 255
        cut = grey.reshape(down, _SIDE, along, _SIDE).swapaxes(1, 2)
        strip = np.broadcast_to(np.arange(along) * _STRIPS // along, (down, along))
        parts.append(cut.reshape(-1, _SIDE * _SIDE))
        labels.append(number * _STRIPS + strip.ravel())
    pixels = np.concatenate(parts)
    pixels -= pixels.mean(axis=1, keepdims=True)
    return pixels / pixels.std(), np.concatenate(labels)
