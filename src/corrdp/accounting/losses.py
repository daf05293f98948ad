"""How much each release tells about each way in which neighbours differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from corrdp.metric.neighbours import Change


def times(level: np.ndarray | float, distances: np.ndarray) -> np.ndarray:
    """Level times distance, entry by entry; zero times infinity is infinity."""
    apart = np.asarray(distances, dtype=float)
    # a distance of 0 stays 0 and inf stays inf, whatever the level
    near = np.where(np.isinf(apart), 0.0, apart)
    return np.where(np.isinf(apart), np.inf, level * near)


class Losses(ABC):
    """The loss of each release for each neighbour type."""

    @property
    @abstractmethod
    def each(self) -> np.ndarray:
        """The largest loss of each release alone."""

    @abstractmethod
    def worst(self, steps: Sequence[int], *, gaussian: bool) -> tuple[Change, np.ndarray]:
        """The change for which some releases lose most together, and their losses there."""

    @abstractmethod
    def rows(self) -> Iterator[tuple[Change, np.ndarray]]:
        """Every neighbour type with the losses of all releases."""


class ListedLosses(Losses):
    """Losses written out: a row per neighbour type, a column per release."""

    def __init__(self, changes: Sequence[Change], matrix: np.ndarray):
        self.changes, self.matrix = list(changes), np.asarray(matrix)

    @property
    def each(self) -> np.ndarray:
        return self.matrix.max(axis=0)

    def worst(self, steps: Sequence[int], *, gaussian: bool) -> tuple[Change, np.ndarray]:
        chosen = self.matrix[:, list(steps)]
        totals = (chosen**2 if gaussian else chosen).sum(axis=1)
        k = int(totals.argmax())
        return self.changes[k], chosen[k]

    def rows(self) -> Iterator[tuple[Change, np.ndarray]]:
        return zip(self.changes, self.matrix, strict=True)
