"""What a fit keeps of its seasons, and which of them the data cannot tell apart.

Runs of states are counted by the season in which they end: the counts of one kernel per season, of
its halves, and of the next order. Seasons side by side on the clock are pooled while the Bayesian
information criterion gains by it, ``2 (ln L_apart - ln L_together) < df ln n``, and beyond that
while one of them has not seen a transition that others have, or has left a state fewer than 20
times: its numbers by themselves would say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corrdp.errors import ModelError
from corrdp.results import Result
from corrdp.tables.seasons import CLOCKS, MOST_STEPS

MIN_SEEN = 20  # a row seen less often is pooled
_MOST_PAIRS = 60  # seasons without an order up to which any two may be pooled


def in_stretches(pattern: tuple[int, ...] | None) -> list[list[int]] | None:
    """A timetable as stretches: number of the season, how many steps."""
    if pattern is None:
        return None
    found = np.asarray(pattern, dtype=np.int64)
    begins = np.flatnonzero(np.r_[True, found[1:] != found[:-1]])
    lengths = np.diff(begins, append=len(found))
    return [[int(found[k]), int(n)] for k, n in zip(begins, lengths, strict=True)]


def written_out(stretches: Any) -> tuple[int, ...] | None:
    """Undo :func:`in_stretches`, within limits: a file may say anything."""
    if stretches is None:
        return None
    pairs = np.array(stretches)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or (pairs < 0).any():
        raise ModelError("a timetable of seasons must be pairs of a season and a number of steps")
    if not 0 < pairs[:, 1].sum() <= MOST_STEPS:
        raise ModelError(f"a timetable of seasons has 1 to {MOST_STEPS} steps")
    return tuple(np.repeat(pairs[:, 0], pairs[:, 1]).tolist())


@dataclass(frozen=True, eq=False)
class SeasonCounts(Result):
    """Runs of states by season.

    Attributes
    ----------
    name : str
        What was asked for: hour, weekday, month, an expression, or a number of steps.
    labels : tuple of str
    timetable : tuple of int or None
        Season of each time step of one period, from the first time of the fit on; None where
        seasons come in any order.
    starts : tuple of int
        Steps of the period at which the sequences begin.
    counts : (k, order + 4) array of int
        Season, runs of order + 1 states, how often, how often in the later half.
    longer : (k, order + 5) array of int or None
        The same for runs of order + 2 states.
    pooled : tuple of int or None
        Number of the kernel of each season; None where each has its own.
    columns : tuple of str
        Columns that were named as public.
    """

    name: str
    labels: tuple[str, ...]
    timetable: Any
    starts: tuple[int, ...]
    counts: np.ndarray
    longer: np.ndarray | None = None
    pooled: tuple[int, ...] | None = None
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.labels)
        for name in ("counts", "longer"):
            if (given := getattr(self, name)) is None:
                continue
            rows = np.array(given)
            if rows.ndim != 2 or rows.dtype.kind not in "iu" or (rows < 0).any():
                raise ModelError(f"{name} of the seasons must be rows of whole numbers")
            rows = rows.astype(np.int64)
            if len(rows) and rows[:, 0].max() >= size:
                raise ModelError(f"{name} of the seasons name one beyond the {size} labels")
            rows.setflags(write=False)
            object.__setattr__(self, name, rows)
        object.__setattr__(self, "labels", tuple(map(str, self.labels)))
        object.__setattr__(self, "starts", tuple(self.starts))
        object.__setattr__(self, "columns", tuple(self.columns))
        for name in ("timetable", "pooled"):
            found = getattr(self, name)
            if found is None:
                continue
            object.__setattr__(self, name, tuple(int(k) for k in found))
            if not all(0 <= k < size for k in getattr(self, name)):
                raise ModelError(f"{name} of the seasons names one beyond the {size} labels")
        if self.pooled is not None and (
            len(self.pooled) != size or set(self.pooled) != set(range(max(self.pooled) + 1))
        ):
            raise ModelError("pooled must give each season the number of a kernel, from 0")

    @classmethod
    def from_dict(cls, data: Any) -> SeasonCounts:
        """Inverse of :meth:`to_dict`."""
        names = {"name", "labels", "timetable", "starts", "counts", "longer", "pooled", "columns"}
        if not isinstance(data, dict) or set(data) != names:
            raise ModelError(f"the seasons of a fit must have the keys {sorted(names)}")
        return cls(**{**data, "timetable": written_out(data["timetable"])})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; the timetable in stretches."""
        found = super().to_dict()
        return found | {"timetable": in_stretches(self.timetable)}

    @property
    def title(self) -> str:
        """The name for readers."""
        return f"every {self.name} steps" if self.name.isdigit() else self.name

    @property
    def in_order(self) -> bool:
        """Whether seasons have neighbours: those of a clock, not the values of an expression."""
        return self.name.isdigit() or self.name in CLOCKS

    @property
    def order(self) -> int:
        """Order of the kernels."""
        return self.counts.shape[1] - 4

    @property
    def period(self) -> int | None:
        """Time steps after which the seasons repeat; None where they come in any order."""
        return None if self.timetable is None else len(self.timetable)

    @property
    def kernel_of(self) -> np.ndarray:
        """Number of the kernel of each season."""
        own = range(len(self.labels)) if self.pooled is None else self.pooled
        return np.array(own, dtype=np.int64)

    @property
    def kernels(self) -> int:
        """How many kernels there are."""
        return int(self.kernel_of.max()) + 1

    @property
    def groupings(self) -> int:
        """How many groups of seasons pooling chose from: stretches of the clock, or all sets."""
        size = len(self.labels)
        if self.pooled is None:
            return self.kernels
        return size * (size - 1) + 1 if self.in_order else 2 ** min(size, 200) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """What each kernel is called: its seasons."""
        of, size = self.kernel_of, len(self.labels)
        members = (_from_gap(np.flatnonzero(of == g), size) for g in range(self.kernels))
        return tuple(_joined([self.labels[k] for k in each]) for each in members)

    def by_season(self, states: int, *, later: bool | None = None) -> np.ndarray:
        """Counts by season, window and next state, shape (seasons, s^order, s); of one half."""
        return _dense(self.counts, states, len(self.labels), later)

    def by_kernel(self, states: int, *, later: bool | None = None) -> np.ndarray:
        """The same with pooled seasons added up, shape (kernels, s^order, s)."""
        return self.together(self.by_season(states, later=later))

    def longer_by_season(self, states: int) -> np.ndarray | None:
        """Counts of the next order by season, shape (seasons, s^(order + 1), s)."""
        if self.longer is None:
            return None
        return _dense(self.longer, states, len(self.labels), None)

    def with_kernel_counts(self, table: np.ndarray, order: int) -> SeasonCounts:
        """The same with other counts by kernel, of some order: pooled seasons are one."""
        labels, of = self.names, self.kernel_of
        pattern = None if self.timetable is None else tuple(of[np.array(self.timetable)].tolist())
        rows = _rows(table, order)
        return replace(
            self, labels=labels, timetable=pattern, pooled=None, counts=rows, longer=None
        )

    def with_counts(self, table: np.ndarray) -> SeasonCounts:
        """The same with other counts by season, window and next state; of no half."""
        return replace(self, counts=_rows(table, self.order), longer=None)

    def together(self, counts: np.ndarray) -> np.ndarray:
        """Add up what shares a kernel."""
        found = np.zeros((self.kernels, *counts.shape[1:]), dtype=counts.dtype)
        np.add.at(found, self.kernel_of, counts)
        return found

    @property
    def pattern(self) -> tuple[int, ...] | None:
        """Number of the kernel of each time step of a period, from where the sequences begin."""
        if self.timetable is None:
            return None
        if self.kernels == 1:
            return (0,)
        turned = np.roll(np.array(self.timetable), -self.starts[0])
        return tuple(self.kernel_of[turned].tolist())

    @property
    def merges(self) -> str:
        """Which seasons share a kernel, in words; empty where none do."""
        shared = [name for g, name in enumerate(self.names) if (self.kernel_of == g).sum() > 1]
        if not shared:
            return ""
        return (
            f"{len(self.labels)} seasons share {self.kernels} "
            f"{'kernel' if self.kernels == 1 else 'kernels'}, as the data cannot tell the others "
            f"apart or are too few to: {'; '.join(self.names)}"
        )


def _from_gap(members: np.ndarray, size: int) -> list[int]:
    """Seasons of a kernel in the order of the clock, which may turn past its end."""
    ahead = np.diff(members, append=members[0] + size)
    begin = 0 if len(members) == size else int(np.argmax(ahead)) + 1
    return np.roll(members, -begin).tolist()


def _joined(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"


def _rows(table: np.ndarray, order: int) -> np.ndarray:
    """Counts by season, window and next state as rows; of no half."""
    s = table.shape[-1]
    dense = table.reshape(len(table), *(s,) * (order + 1)).astype(np.int64)
    places = np.argwhere(dense > 0)
    times = dense[dense > 0]
    return np.column_stack([places, times, np.zeros_like(times)])


def _dense(rows: np.ndarray, states: int, seasons: int, later: bool | None) -> np.ndarray:
    runs, (times, late) = rows[:, 1:-2], rows[:, -2:].T
    if len(runs) and runs.max() >= states:
        raise ModelError("the counts of the seasons name a state that the fit does not have")
    number = times if later is None else late if later else times - late
    dense = np.zeros((seasons, *(states,) * runs.shape[1]), dtype=np.int64)
    np.add.at(dense, (rows[:, 0], *runs.T), number)
    return dense.reshape(seasons, -1, states)


def log_likelihood(counts: np.ndarray) -> np.ndarray:
    """Largest log likelihood of tables of counts, over their last two axes."""
    totals = counts.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts > 0, counts * np.log(counts / np.maximum(totals, 1)), 0.0)
    return np.asarray(terms.sum(axis=(-2, -1)))


def pool_seasons(
    counts: np.ndarray, *, in_order: bool = True, poor: bool = True
) -> tuple[int, ...]:
    """Which seasons share a kernel: those that the data cannot tell apart.

    Parameters
    ----------
    counts : (seasons, rows, s) array
        Transitions by season.
    in_order : bool
        Seasons are pooled with their neighbours on the clock, first and last being neighbours;
        False: any two.
    poor : bool
        Pool those with too few data as well.

    Returns
    -------
    tuple of int
        Number of the kernel of each season.

    Notes
    -----
    The two whose separation the criterion regrets most become one, again and again; then those
    with too few data join the neighbour that they differ from least. O(seasons^2 rows s).

    Examples
    --------
    >>> day, night = np.array([[500, 300], [200, 400]]), np.array([[900, 20], [30, 30]])
    >>> pool_seasons(np.array([night, night, day, day, night]))
    (0, 0, 1, 1, 0)
    """
    tables: list[np.ndarray] = [np.asarray(table, dtype=np.int64) for table in counts]
    groups: list[list[int]] = [[k] for k in range(len(tables))]
    whole = counts.sum(axis=0)
    price = float(np.log(max(int(whole.sum()), 2)))
    free = not in_order and len(tables) <= _MOST_PAIRS

    def pairs(k: int) -> list[int]:
        size = len(tables)
        return [j for j in (range(size) if free else {(k + 1) % size, (k - 1) % size}) if j != k]

    def regret(i: int, j: int) -> float:
        """What the criterion pays for keeping two apart, less what it gains."""
        both = np.stack([tables[i], tables[j]])
        gain = 2 * float(log_likelihood(both).sum() - log_likelihood(both.sum(axis=0)))
        seen = both.sum(axis=2) > 0
        columns = (both.sum(axis=(0, 1)) > 0).sum()
        return price * float(seen.all(axis=0).sum() * max(columns - 1, 0)) - gain

    def join(i: int, j: int) -> None:
        tables[i] = tables[i] + tables[j]
        groups[i] = groups[i] + groups[j]
        del tables[j], groups[j]

    def lacking(k: int) -> bool:
        table = tables[k]
        rows = table.sum(axis=1)
        seen = whole.sum(axis=1) >= MIN_SEEN
        # what is rare overall is rare everywhere: no merge would help
        return bool((rows[seen] < MIN_SEEN).any() or ((table == 0) & (whole > 0)).any())

    while len(tables) > 1:
        found = [(regret(i, j), i, j) for i in range(len(tables)) for j in pairs(i) if i < j]
        best, i, j = max(found)
        if best > 0:
            join(i, j)
            continue
        few = [k for k in range(len(tables)) if lacking(k)] if poor else []
        if not few:
            break
        k = min(few, key=lambda k: int(tables[k].sum()))
        _, j = max((regret(k, j), j) for j in pairs(k))
        join(min(k, j), max(k, j))
    number = np.zeros(len(counts), dtype=np.int64)
    for g, members in enumerate(sorted(groups, key=min)):
        number[members] = g
    return tuple(number.tolist())
