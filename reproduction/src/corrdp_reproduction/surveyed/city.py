"""A public city with few places: what the surveyed mechanisms run on, and what they share."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from corrdp_reproduction.recordings import data_file

Trajectory = tuple[int, ...]
Data = tuple[Trajectory, ...]
Key = TypeVar("Key", bound=Hashable)
SAMPLE = "geolife_sample.txt.gz"
BOX = (39.75, 116.2, 40.05, 116.55)  # Beijing: south, west, north, east; public
SIDE = 8_000.0  # metres of a cell


@dataclass(frozen=True)
class City:
    """Public places by number, and how many points a trajectory has at most.

    Parameters
    ----------
    where : tuple of pairs of float
    longest : int

    Examples
    --------
    >>> TOY.k, TOY.distance(0, 3).__round__(3)
    (4, 1.414)
    """

    where: tuple[tuple[float, float], ...]
    longest: int

    @property
    def k(self) -> int:
        """How many places there are."""
        return len(self.where)

    def distance(self, a: int, b: int) -> float:
        """As the crow flies."""
        return math.dist(self.where[a], self.where[b])

    def distances(self) -> np.ndarray:
        """Between all places."""
        return np.array([[self.distance(a, b) for b in range(self.k)] for a in range(self.k)])

    def cut(self, data: Iterable[Sequence[int]]) -> Data:
        """Trajectories of at most ``longest`` points."""
        return tuple(tuple(path[: self.longest]) for path in data)


TOY = City(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)), 3)


def noisy(counts: Counter[Key], scale: float, rng: np.random.Generator) -> dict[Key, int]:
    """Laplace noise on the counts of these keys and of no others, rounded; 0 and less dropped."""
    keys = sorted(counts, key=repr)
    noises = rng.laplace(0, scale, len(keys))
    drawn = [counts[key] + noise for key, noise in zip(keys, noises, strict=True)]
    return {key: round(x) for key, x in zip(keys, drawn, strict=True) if round(x) > 0}


def repeated(counts: dict[Any, int]) -> tuple[Any, ...]:
    """Each key as often as it was counted, in order."""
    return tuple(sorted((key for key, count in counts.items() for _ in range(count)), key=repr))


def geolife(data: str | os.PathLike[str] | None = None) -> tuple[City, Data]:
    """Days of the Geolife sample over a public grid of Beijing, stays merged, cut after 3 places.

    Parameters
    ----------
    data : path, optional
        Directory of the sample; that of ``CORRDP_DATA`` when left out.
    """
    from corrdp.trajectories import Grid, discretise, read_trajectories

    walks = read_trajectories(data_file(SAMPLE, data), split="day", duplicates="first")
    grid = Grid.square(*BOX, SIDE)
    cells = discretise(walks, grid, outside="clip", merge_stays=True)
    north, east = grid.centre(np.arange(grid.size))
    where = tuple(zip((east * 85).tolist(), (north * 111).tolist(), strict=True))  # kilometres
    city = City(where, 3)
    return city, city.cut(path.tolist() for path in cells.sequences)
