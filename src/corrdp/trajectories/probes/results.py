"""What ``probe`` returns, and what anybody sees of a release of movements: rows, and whose."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from corrdp.attacks.base import LEVEL
from corrdp.errors import DataError, InputError
from corrdp.results import Result
from corrdp.trajectories.data.cells import CellSequences, Grid
from corrdp.trajectories.data.points import Trajectories
from corrdp.trajectories.data.splitting import rows_listed
from corrdp.trajectories.mechanisms.publishing import PublishedMoves

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Probe:
    """One attack on a release, and how often it was right.

    Attributes
    ----------
    name : str
    success : float
        Share of right guesses from the release.
    interval : (float, float)
        95 % interval of it; twice the same number where every case was counted.
    baseline : float
        The same for one who never saw the release.
    original : float
        The same for one who saw the original instead, for reference.
    trials : int
    meaning : str
        In a sentence.
    """

    name: str
    success: float
    interval: tuple[float, float]
    baseline: float
    original: float
    trials: int
    meaning: str

    @property
    def gains(self) -> bool:
        """Whether the release certainly helps: the interval lies above the baseline."""
        return self.interval[0] > self.baseline

    def __float__(self) -> float:
        return self.success

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<{self.name}: {self.success:.4f} of {self.trials:,} right ({low:.4f} to {high:.4f}), "
            f"without the release {self.baseline:.4f}, from the original {self.original:.4f}>"
        )


@dataclass(frozen=True)
class NoiseGain:
    """Noise as published, and what a filter leaves of it; metres, root mean square.

    Attributes
    ----------
    nominal, effective : float
    points : int
        Published points inside the grid, over which both are taken.
    """

    nominal: float
    effective: float
    points: int

    @property
    def ratio(self) -> float:
        """Effective over nominal noise."""
        return self.effective / self.nominal if self.nominal else 1.0


@dataclass(frozen=True, repr=False)
class Probes(Result):
    """What a release of movements gives away, as far as these attacks find out.

    Attributes
    ----------
    release : str
        What was probed, in words.
    probes : tuple of Probe
    skipped : tuple of (str, str)
        Attacks that do not apply, and why.
    noise : NoiseGain or None
    assumptions : tuple of str
    """

    result = "probes"

    release: str
    probes: tuple[Probe, ...]
    skipped: tuple[tuple[str, str], ...]
    noise: NoiseGain | None
    assumptions: tuple[str, ...]

    def __getitem__(self, name: str) -> Probe:
        for one in self.probes:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.probes)
        raise InputError(f"no probe {name!r} was run on this release; there are: {known}")

    def __repr__(self) -> str:
        ends = f"{LEVEL:.0%} interval"
        lines = [
            f"Probes of {self.release}",
            f"  {'':<12} {'release':>8} {ends:>18} {'without':>8} {'original':>8}",
        ]
        for one in self.probes:
            low, high = one.interval
            ends = f"{low:.4f} to {high:.4f}"
            lines.append(
                f"  {one.name:<12} {one.success:>8.4f} {ends:>18} {one.baseline:>8.4f} "
                f"{one.original:>8.4f}"
            )
        lines += [f"  {one.name:<12} {one.meaning}" for one in self.probes]
        lines += [f"  {name:<12} not run: {why}" for name, why in self.skipped]
        return "\n".join(lines + [f"  assumes      {text}" for text in self.assumptions])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Each probe beside its baseline and its reference."""
        from corrdp.plots import axes_or_pyplot
        from corrdp.plots.results import draw_probes

        return draw_probes(self, axes_or_pyplot(ax))


_COLUMNS = ("trajectory", "point", "place")
_CENTRE = 1.1e-6  # degrees: centres of cells are written with six decimals


@dataclass(frozen=True, eq=False, repr=False)
class SeenRelease:
    """Published movements without the papers.

    Attributes
    ----------
    places : (n,) array of int
        All published points, one trajectory after another.
    starts : (k + 1,) array of int
        No trajectory is empty.
    numbers : (k,) array of int
        Number of each trajectory in the release, from 0.
    times : (n,) array of float or None
    """

    places: np.ndarray
    starts: np.ndarray
    numbers: np.ndarray
    times: np.ndarray | None

    @classmethod
    def of(cls, published: PublishedMoves) -> SeenRelease:
        """What is seen of a release in memory.

        Examples
        --------
        >>> from corrdp.trajectories.data.cells import discretise
        >>> from corrdp.trajectories.mechanisms.sampling import BernoulliSample
        >>> walks = Trajectories.from_points([1, 1], [0, 9], labels=["x", "y"], places=["x", "y"])
        >>> SeenRelease.of(BernoulliSample(2, 1.0).release(walks, cells=discretise(walks)))
        <a release of 1 trajectories, 2 points with times>
        """
        lengths = np.array([len(codes) for codes in published.sequences], dtype=np.int64)
        if not lengths.sum():
            raise DataError("the release is empty: there is nothing to probe")
        numbers = np.flatnonzero(lengths)
        times = None if published.times is None else np.concatenate(published.times)
        starts = np.append(0, np.cumsum(lengths[numbers]))
        return cls(np.concatenate(published.sequences), starts, numbers, times)

    @property
    def sequences(self) -> list[np.ndarray]:
        """One array of places per trajectory."""
        return np.split(self.places, self.starts[1:-1])

    @property
    def of_point(self) -> np.ndarray:
        """Number of the trajectory of each point."""
        return np.repeat(self.numbers, np.diff(self.starts))

    def __repr__(self) -> str:
        times = "without times" if self.times is None else "with times"
        return (
            f"<a release of {len(self.numbers):,} trajectories, {len(self.places):,} points "
            f"{times}>"
        )


def read_release(path: str | Path, cells: CellSequences) -> SeenRelease:
    """Read the CSV that ``corrdp trajectories release`` wrote.

    Parameters
    ----------
    path : str or Path
    cells : CellSequences
        The original over the same public places.

    Examples
    --------
    >>> import tempfile
    >>> from corrdp.trajectories.data.cells import discretise
    >>> path = Path(tempfile.mkdtemp()) / "out.csv"
    >>> _ = path.write_text("trajectory,point,place\\n1,1,x\\n1,2,y\\n2,1,x\\n")
    >>> walks = Trajectories.from_points([1], [0], labels=["x"], places=["x", "y"])
    >>> read_release(path, discretise(walks))
    <a release of 2 trajectories, 3 points without times>
    """
    columns = _columns(Path(path))
    number = _whole(path, columns, "trajectory")
    new = np.diff(number, prepend=0) != 0
    starts = np.flatnonzero(new)
    point = _whole(path, columns, "point")
    expected = np.arange(len(number)) - np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    wrong = (point != expected + 1) | (number < 1)
    if wrong.any() or len(np.unique(number[starts])) < len(starts):
        first = np.flatnonzero(wrong)[:1] + 1
        raise DataError(
            f"{path}: {rows_listed(first) if first.size else 'a trajectory'} is out of place: a "
            "release lists one trajectory after another, and the points of each as 1, 2, .."
        )
    places = _places(path, columns, cells)
    times = _numbers(path, columns, "time") if "time" in columns else None
    return SeenRelease(places, np.append(starts, len(number)), number[starts] - 1, times)


def _columns(path: Path) -> dict[str, tuple[str, ...]]:
    try:
        with path.open(encoding="utf-8", newline="") as text:
            head, *rows = csv.reader(text)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, csv.Error):
        raise DataError(f"{path} is no release: expected CSV with a header") from None
    if {"places", "count"} <= set(head):
        raise DataError(
            f"{path} holds noisy counts, and probes look at trajectories: release without --counts"
        )
    if lacking := [name for name in _COLUMNS if name not in head]:
        raise DataError(
            f"{path} is no release by corrdp trajectories: it has no column {lacking[0]!r}"
        )
    if not rows:
        raise DataError(f"{path} is an empty release: there is nothing to probe")
    ragged = [number for number, row in enumerate(rows, 1) if len(row) != len(head)]
    if ragged:
        raise DataError(f"{path}: {rows_listed(ragged)} has not {len(head)} fields as the header")
    return dict(zip(head, zip(*rows, strict=True), strict=True))


def _numbers(path: str | Path, columns: dict[str, tuple[str, ...]], name: str) -> np.ndarray:
    try:
        values = np.array(columns[name]).astype(float)
    except ValueError as error:
        raise DataError(f"{path}: {name} must hold numbers: {error}") from None
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values)) + 1
        raise DataError(f"{path}: {name} in {rows_listed(bad)} is no number")
    return values


def _whole(path: str | Path, columns: dict[str, tuple[str, ...]], name: str) -> np.ndarray:
    values = _numbers(path, columns, name)
    if (bad := np.flatnonzero(values != np.rint(values)) + 1).size:
        raise DataError(f"{path}: {name} in {rows_listed(bad)} is no whole number")
    return values.astype(np.int64)


def _places(
    path: str | Path, columns: dict[str, tuple[str, ...]], cells: CellSequences
) -> np.ndarray:
    if ("lat" in columns) != (cells.grid is not None):
        what = ("cells of a grid", "labels") if "lat" in columns else ("labels", "cells of a grid")
        raise DataError(
            f"{path} names places as {what[0]}, and the original was read with {what[1]}: use the "
            "options of the release"
        )
    names, code = np.unique(np.array(columns["place"]), return_inverse=True)
    number = _cell_numbers(names, cells.grid) if cells.grid is not None else _labels(names, cells)
    if (number < 0).any():
        bad = np.flatnonzero(number[code] < 0)
        hint = "--box and --grid" if cells.grid is not None else "--places"
        raise DataError(
            f"{path}: place {columns['place'][bad[0]]!r} in {rows_listed(bad + 1)} is not one of "
            f"the {cells.size:,} places: use {hint} of the release"
        )
    places = number[code]
    if cells.grid is not None:
        given = (_numbers(path, columns, axis) for axis in ("lat", "lng"))
        off = [np.abs(a - b) for a, b in zip(given, cells.grid.centre(places), strict=True)]
        if (bad := np.flatnonzero(np.maximum(*off) > _CENTRE)).size:
            raise DataError(
                f"{path}: {rows_listed(bad + 1)} does not lie in the middle of its cell "
                f"{columns['place'][bad[0]]} of {cells.grid.describe()}: use --box and --grid of "
                "the release"
            )
    return places


def _cell_numbers(names: np.ndarray, grid: Grid) -> np.ndarray:
    numbers = np.full(len(names), -1, dtype=np.int64)
    for k, name in enumerate(names.tolist()):
        found = re.fullmatch(r"r(\d+)c(\d+)", name)
        if found and int(found[1]) < grid.rows and int(found[2]) < grid.columns:
            numbers[k] = int(found[1]) * grid.columns + int(found[2])
    return numbers


def _labels(names: np.ndarray, cells: CellSequences) -> np.ndarray:
    number = {label: k for k, label in enumerate(cells.label_names)}
    return np.array([number.get(name, -1) for name in names.tolist()], dtype=np.int64)


def original_points(seen: SeenRelease, walks: Trajectories) -> np.ndarray:
    """Which original point each published one is of, by the number of its trajectory and its time.

    Parameters
    ----------
    seen : SeenRelease
        With times.
    walks : Trajectories
        Split as for the release.

    Examples
    --------
    >>> walks = Trajectories.from_points([1, 1, 2], [0, 9, 4], labels=["x", "y", "x"])
    >>> seen = SeenRelease(np.array([1, 0]), np.array([0, 1, 2]), np.array([0, 1]),
    ...                    np.array([9., 4.]))
    >>> original_points(seen, walks).tolist()
    [1, 2]
    """
    assert seen.times is not None
    if seen.numbers.max() >= len(walks):
        raise DataError(
            f"the release has trajectory {seen.numbers.max() + 1} and the original only "
            f"{len(walks)}: read it with --split and --keep-first of the release"
        )
    moments = np.concatenate([_as_written(walks.times), _as_written(seen.times)])
    _, rank = np.unique(moments, return_inverse=True)
    mine, theirs = rank[: walks.points], rank[walks.points :]
    many = int(rank.max()) + 1
    keys = np.repeat(np.arange(len(walks)), walks.lengths) * many + mine  # rising
    wanted = seen.of_point * many + theirs
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    if (bad := np.flatnonzero(keys[at] != wanted)).size:
        raise DataError(
            f"{rows_listed(bad + 1)} of the release is of no original point: trajectory "
            f"{seen.of_point[bad[0]] + 1} has none at time {seen.times[bad[0]]:.15g}; read the "
            "original with --split and --keep-first of the release"
        )
    if len(np.unique(at)) < len(at):
        raise DataError("the release has two points of one trajectory at one time")
    return at


def _as_written(times: np.ndarray) -> np.ndarray:
    """Times with the digits that a release writes."""
    if (times == np.rint(times)).all() and np.abs(times).max(initial=0) < 1e15:
        return times
    return np.array([float(f"{t:.15g}") for t in times.tolist()])
