"""Random rows of two states, and boxes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from corrdp.bounds.chains.boxes import Box


def random_ones(
    rng: np.random.Generator, shape: int | tuple[int, ...], spread: float, certain: Sequence[float]
) -> np.ndarray:
    """Probabilities of state 1, of any kind.

    Spread evenly, normal in log odds with this spread, or of a list of nearly certain ones.
    """
    kind = rng.integers(3)
    if kind == 0:
        return rng.uniform(0.05, 0.95, shape)
    if kind == 1:
        return 1.0 / (1.0 + np.exp(rng.normal(0.0, spread, shape)))
    return rng.choice(certain, shape)


def random_box(
    rng: np.random.Generator,
    windows: int = 4,
    spread: float = 3.0,
    certain: Sequence[float] = (0.003, 0.997, 0.5, 0.1),
    widths: Sequence[float] = (1e-3, 0.01, 0.05, 0.2),
) -> Box:
    """A box round such rows, of one of these widths as shares of the room beside each."""
    middle = random_ones(rng, windows, spread, certain)
    room = np.minimum(middle, 1.0 - middle)
    half = room * np.minimum(rng.choice(widths) * rng.uniform(0, 2, windows), 0.9)
    return Box(tuple((middle - half).tolist()), tuple((middle + half).tolist()))
