"""Pictures that models learn: MNIST where it is at hand, else small ones of scikit-learn."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corrdp.errors import DataError
from corrdp_reproduction.recordings import NoDataError, data_file

INSTALL = (
    "scikit-learn is needed, whose small pictures and tables stand in for data that do not fit "
    "here: pip install 'corrdp-reproduction[pictures]'"
)
_SIDE = 8  # of a patch
_STRIPS = 5  # of each photograph


@dataclass(frozen=True, eq=False)
class Pictures:
    """Labelled pictures, one row each.

    Parameters
    ----------
    pixels : (n, d) array
    labels : (n,) array of int
    name : str
        What they are, in words.
    real : bool
        Whether they are those of the source, and no stand-in.
    """

    pixels: np.ndarray
    labels: np.ndarray
    name: str
    real: bool


def handwritten(data: str | os.PathLike[str] | None) -> Pictures:
    """The 10,000 test pictures of MNIST; without them scikit-learn's small digits."""
    try:
        return Pictures(*mnist("t10k", data), "the 10,000 test pictures of MNIST", True)
    except NoDataError:
        return Pictures(*digits(), "scikit-learn's 8 x 8 digits", False)


def clothes(data: str | os.PathLike[str] | None) -> Pictures:
    """The test pictures of Fashion-MNIST, their files called fashion-t10k-..; else patches."""
    try:
        return Pictures(
            *mnist("fashion-t10k", data), "the 10,000 test pictures of Fashion-MNIST", True
        )
    except NoDataError:
        name = "8 x 8 patches of two photographs that come with scikit-learn, ten classes"
        return Pictures(*patches(), name, False)


def mnist(which: str, data: str | os.PathLike[str] | None) -> tuple[np.ndarray, np.ndarray]:
    """Pixels between 0 and 1 and labels, from the two files of the format that MNIST has.

    Parameters
    ----------
    which : str
        What the files' names begin with.
    data : path, optional
        Their directory; that of ``CORRDP_DATA`` when left out.

    Raises
    ------
    NoDataError
        They are not there.
    """
    pixels = _idx(data_file(f"{which}-images-idx3-ubyte.gz", data), 3)
    labels = _idx(data_file(f"{which}-labels-idx1-ubyte.gz", data), 1)
    if len(pixels) != len(labels):
        raise DataError(f"{which}: {len(pixels)} pictures have {len(labels)} labels")
    return pixels.reshape(len(pixels), -1) / 255, labels.astype(np.int64)


def _idx(path: Path, dimensions: int) -> np.ndarray:
    """An array of bytes after a header: two zeros, type 8, dimensions, and the length of each."""
    body = gzip.decompress(path.read_bytes())
    sizes = np.frombuffer(body, ">u4", dimensions, 4) if len(body) > 4 * dimensions + 4 else ()
    if body[:4] != bytes([0, 0, 8, dimensions]) or len(body) != 4 + 4 * dimensions + np.prod(sizes):
        raise DataError(f"{path} is no array of bytes in {dimensions} dimensions (IDX format)")
    return np.frombuffer(body, np.uint8, offset=4 + 4 * dimensions).reshape(sizes)


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
