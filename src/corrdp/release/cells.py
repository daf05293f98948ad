"""Published tables: their cells with noise, intervals for the law drawn, and sums that add up."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp._json import added
from corrdp.calibration.noise import choice_in_words, noise_in_words
from corrdp.errors import DataWarning
from corrdp.mechanisms.base import any_cell, each_cell
from corrdp.mechanisms.discrete_gaussian import DiscreteNormal
from corrdp.mechanisms.sample import with_noise
from corrdp.mechanisms.several import NoisyQuantile, Part, one_cell_error
from corrdp.mechanisms.tails import smallest_step, tail
from corrdp.queries import Count, Histogram, Mean, Quantile, Query, Sum, query_from_dict
from corrdp.release.exact import ExactTable
from corrdp.release.rollup import NoiseLaw, Rollup
from corrdp.release.totals import Strategy
from corrdp.results import Result

Pair = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class CellTable(Result):
    """One published table.

    Parameters
    ----------
    query : dict
        The query, as its ``to_dict``.
    names : tuple of str
        Names of the keys; "category" is that of a histogram.
    cells : tuple of tuples
        The values of the keys, one tuple for each cell.
    values : tuple of numbers
        What is published.
    scale, grid : float
        Scale of the noise and the step of its grid; of a mean those of the sums behind it, of a
        quantile in records.
    sigma : float or None
        Of Gaussian noise; None for Laplace noise.
    noisy : tuple of int
        The answers as they were drawn, in steps of the grid, where ``values`` were made from them.
    sizes : tuple of int
        Public number of records in each cell, behind means and quantiles.
    counts : CellTable or None
        The noisy numbers of records, behind means of which they are private.
    running : (int, int) or None
        Of running totals: horizon and bands of the :class:`~corrdp.release.totals.Strategy` by
        which they come from ``noisy``; ``scale`` is that of an answer.
    """

    query: dict[str, Any]
    names: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...]
    values: tuple[Any, ...]
    scale: float
    grid: float
    sigma: float | None = added()
    noisy: tuple[int, ...] = added(())
    sizes: tuple[int, ...] = added(())
    counts: CellTable | None = added()
    running: tuple[int, int] | None = added()

    @property
    def asked(self) -> Query:
        """The query."""
        return query_from_dict(self.query)

    @property
    def is_rounded(self) -> bool:
        """Whether its numbers are whole."""
        return isinstance(self.asked, Count | Histogram)

    @property
    def law(self) -> NoiseLaw:
        """The noise of one cell, in steps of the grid."""
        return NoiseLaw(self.scale / self.grid, self.sigma is not None)

    @property
    def strategy(self) -> Strategy | None:
        """How running totals come from the answers that were drawn."""
        return None if self.running is None else Strategy(*self.running)

    @property
    def noise(self) -> str:
        """The law of the noise, in words."""
        if isinstance(self.asked, Quantile):
            return choice_in_words(self.scale)
        told = noise_in_words(self.scale, self.sigma)
        if self.running is not None:
            return f"{told} in each answer, of which totals are made"
        return told if self.counts is None else f"{told}; {self.counts.noise}"

    @property
    def drawn(self) -> np.ndarray:
        """The answers as they were drawn, in steps of the grid."""
        if self.noisy:
            return np.array(self.noisy, dtype=float)
        return np.rint(np.array(self.values, dtype=float) / self.grid)

    def radius(self, level: float, cells: int = 1) -> int:
        """Smallest whole r with ``Pr[every |Z_j| <= r] >= level``, in steps of the grid."""
        share = 1 - check_number("level", level, above=0, below=1)
        t, law = self.grid / self.scale, DiscreteNormal(self.law.scale)
        one = law.tail if self.sigma is not None else lambda k: tail(k, t)
        return smallest_step(lambda k: any_cell(one(k), cells), share) - 1

    def __repr__(self) -> str:
        shown = ", ".join(f"{value:.6g}" for value in self.values[:8])
        more = ", .." if len(self.values) > 8 else ""
        size = f"{len(self.cells):,} cells (" if self.names else ""
        return f"{self.asked}: {size}{shown}{more}{')' if size else ''}"


def noisy_tables(
    exact: Sequence[ExactTable], measurements: Sequence[tuple[Any, float]], normal: bool
) -> list[CellTable]:
    """The tables with noise.

    Parameters
    ----------
    exact : sequence of ExactTable
    measurements : sequence of (measurement, float)
        OpenDP's mechanism for each part of each query, and its scale in steps of the grid.
    normal : bool
        Whether the noise is Gaussian.
    """
    ready, found = iter(measurements), []
    for table in exact:
        first, *counts = (_drawn(table, k, *next(ready), normal) for k in range(len(table.parts)))
        found.append(replace(first, counts=counts[0] if counts else None))
    return found


def _drawn(table: ExactTable, k: int, measurement: Any, scale: float, normal: bool) -> CellTable:
    query, part, sizes = table.query.parts[k][0], table.parts[k], table.sizes
    if isinstance(query, Quantile):
        noisy = [int(measurement(losses)) for losses in query.losses(part).tolist()]
    else:
        noisy = with_noise(measurement, part.tolist())
    sized = isinstance(query, Mean | Quantile) and sizes is not None
    return CellTable(
        query=(query if k else table.query).to_dict(),
        names=table.names,
        cells=tuple(table.cells),
        values=tuple(noisy),
        scale=scale * query.grid,
        grid=query.grid,
        sigma=scale * query.grid if normal else None,
        noisy=tuple(noisy),
        sizes=tuple(sizes.tolist()) if sized and sizes is not None else (),
    )


def warn_of_small_cells(exact: Sequence[ExactTable], mechanisms: Sequence[Part]) -> None:
    """Say before anything is drawn or charged that the cells which the data list are too small.

    By how many records each has, which is public: a cell counts no more than these.
    """
    for table, mechanism in zip(exact, mechanisms, strict=False):
        query = table.query
        if table.sizes is None or len(exact) < len(mechanisms) or not isinstance(query, Count):
            continue
        if not any(key.values is None for key in query.by):
            continue
        most = one_cell_error(mechanism, 0.05)
        small = int((table.sizes < most).sum())
        if 2 * small >= len(table.sizes):
            warnings.warn(
                f"the noise of one cell (below {most:.6g} in 95 % of releases) is larger than "
                f"{small:,} of {len(table.sizes):,} cells of {query} can be, by their numbers of "
                "records; nothing is charged yet",
                DataWarning,
                stacklevel=2,
            )


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables of one release, with what they have to do with each other.

    Parameters
    ----------
    tables : sequence of CellTable
    nonnegative : bool
        Whether what is negative was set to 0.
    """

    tables: Sequence[CellTable]
    nonnegative: bool = False

    @cached_property
    def nested(self) -> list[tuple[list[int], Rollup]]:
        """Which tables are roll-ups of each other, the finest first."""
        found, used = [], set()
        order = sorted(range(len(self.tables)), key=lambda k: -len(self.tables[k].names))
        for first in order:
            if first in used:
                continue
            chain, parents = [first], []
            for k in order:
                if k in used or k == first:
                    continue
                parent = _parents(self.tables[chain[-1]], self.tables[k])
                if parent is not None:
                    chain.append(k)
                    parents.append(parent)
            if parents:
                used |= set(chain)
                laws = [self.tables[k].law for k in chain]
                sizes = [len(self.tables[k].cells) for k in chain]
                found.append((chain, Rollup(parents, laws, sizes)))
        return found

    def published(self) -> tuple[CellTable, ...]:
        """The tables with the values that are published, from the answers that were drawn."""
        steps = [table.drawn for table in self.tables]
        for chain, rollup in self.nested:
            found = rollup.estimates([steps[k] for k in chain])
            if self.nonnegative:
                found = rollup.whole(found)
            for k, values in zip(chain, found, strict=True):
                steps[k] = values
        return tuple(map(self._valued, self.tables, steps))

    def _valued(self, table: CellTable, steps: np.ndarray) -> CellTable:
        query, drawn = table.asked, table.drawn
        if isinstance(query, Quantile):
            points = query.values[drawn.astype(int)]
            values = np.maximum(points, 0.0) if self.nonnegative else points
            return replace(table, values=tuple(values.tolist()))
        if table.strategy is not None:
            steps = table.strategy.totals(drawn.tolist()) / table.grid
        if self.nonnegative:
            steps = np.maximum(steps, 0.0)
        plain = tuple(int(k) for k in drawn)
        if isinstance(query, Mean):
            values = self._means(table, query, steps)
            return replace(table, values=tuple(values.tolist()), noisy=plain)
        values = steps * table.grid
        whole = table.is_rounded and bool((values == np.rint(values)).all())
        told = tuple(int(v) if whole else float(v) for v in values)
        same = table.running is None and bool((np.rint(values / table.grid) == drawn).all())
        return replace(table, values=told, noisy=() if same else plain)

    def _means(self, table: CellTable, query: Mean, steps: np.ndarray) -> np.ndarray:
        sums = steps * table.grid
        if table.counts is None:
            numbers = np.array(table.sizes, dtype=float)
            # of an empty cell there is no mean: the middle of the range says nothing
            means = np.divide(
                sums, numbers, out=np.full(len(sums), (query.lower + query.upper) / 2),
                where=numbers > 0,
            )  # fmt: skip
        else:
            means = sums / np.maximum(table.counts.drawn, 1.0)
        return np.clip(means, query.lower, query.upper)

    def intervals(self, k: int, level: float = 0.95, *, joint: bool = True) -> list[Pair]:
        """Intervals that hold the true answers of a table with this probability.

        Parameters
        ----------
        k : int
            Which table.
        level : float
        joint : bool
            All cells of the table at once, or each for itself.

        Returns
        -------
        list of (low, high)
            One for each cell. Of a quantile: shares of the records, between which the published
            point is a quantile.
        """
        table = self.tables[k]
        query, cells = table.asked, len(table.cells) if joint else 1
        if isinstance(query, Quantile):
            return self._ranks(table, query, level, cells)
        if isinstance(query, Mean) and table.counts is not None:
            return self._ratios(table, query, level, cells)
        centre, radius = table.drawn, np.full(len(table.cells), float(table.radius(level, cells)))
        if table.strategy is not None:
            centre = table.strategy.totals(centre.tolist()) / table.grid
            radius = table.strategy.radii(table.law, len(centre), level, cells) / table.grid
        for chain, rollup in self.nested:
            if k in chain:
                place = chain.index(k)
                centre = rollup.estimates([self.tables[j].drawn for j in chain])[place]
                radius = rollup.radii(place, level, cells)
        low, high = (centre - radius) * table.grid, (centre + radius) * table.grid
        if isinstance(query, Mean):
            numbers = np.array(table.sizes, dtype=float)
            with np.errstate(divide="ignore", invalid="ignore"):
                low = np.where(numbers > 0, low / numbers, query.lower)
                high = np.where(numbers > 0, high / numbers, query.upper)
            low, high = (np.clip(end, query.lower, query.upper) for end in (low, high))
        if self.nonnegative:
            low = np.maximum(low, 0.0)
            high = np.maximum(high, 0.0)
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def _ranks(self, table: CellTable, query: Quantile, level: float, cells: int) -> list[Pair]:
        noisy = NoisyQuantile(replace(query, by=(), public_columns=()), table.scale)
        off = noisy.error(each_cell(1 - check_number("level", level, above=0, below=1), cells))
        if not table.sizes:
            return [(0.0, 1.0)] * len(table.cells)  # how many records there are is private
        return [
            (max(query.quantile - off / n, 0.0), min(query.quantile + off / n, 1.0))
            if n
            else (0.0, 1.0)
            for n in table.sizes
        ]

    def _ratios(self, table: CellTable, query: Mean, level: float, cells: int) -> list[Pair]:
        """Of a noisy sum over a noisy count: both must hold, each with half of what may fail."""
        assert table.counts is not None
        each = 1 - (1 - check_number("level", level, above=0, below=1)) / 2
        sums = table.drawn * table.grid
        off = table.radius(each, cells) * table.grid
        near = table.counts.radius(each, cells)
        found = []
        for total, number in zip(sums.tolist(), table.counts.drawn.tolist(), strict=True):
            least, most = max(number - near, 1.0), max(number + near, 1.0)
            low, high = total - off, total + off
            ends = (low / (most if low > 0 else least), high / (least if high > 0 else most))
            found.append(tuple(min(max(end, query.lower), query.upper) for end in ends))
        return found

    def tabulated(self) -> dict[str, list[Any]]:
        """All cells, one a row: keys, value, and intervals at level .95, one by one and jointly.

        Of quantiles the intervals are shares, in columns of their own.
        """
        several = len(self.tables) > 1
        names = list(dict.fromkeys(name for table in self.tables for name in table.names))
        rows: list[dict[str, Any]] = []
        for k, table in enumerate(self.tables):
            asked = {"query": str(table.asked)} if several else {}
            what = "share_" if isinstance(table.asked, Quantile) else ""
            one, joint = (self.intervals(k, joint=at_once) for at_once in (False, True))
            for cell, value, own, both in zip(table.cells, table.values, one, joint, strict=True):
                ends = {"low": own[0], "high": own[1], "joint_low": both[0], "joint_high": both[1]}
                told = {"value": value, **{f"{what}{end}": v for end, v in ends.items()}}
                keys = dict(zip(table.names, cell, strict=True))
                rows.append(asked | keys | {_free(name, names): v for name, v in told.items()})
        columns = [*(["query"] if several else []), *names]
        columns = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
        return {name: [row.get(name) for row in rows] for name in columns}


def _free(name: str, taken: Sequence[str]) -> str:
    return f"{name}_" if name in taken else name


def _parents(fine: CellTable, coarse: CellTable) -> np.ndarray | None:
    """Which cell of the coarse table each cell of the fine one is part of; None if not nested."""
    one, other = fine.asked, coarse.asked
    if not isinstance(one, Count | Sum | Histogram) or fine.counts is not None:
        return None
    if replace(one, by=(), public_columns=()) != replace(other, by=(), public_columns=()):
        return None
    if not set(coarse.names) < set(fine.names):
        return None
    places = [fine.names.index(name) for name in coarse.names]
    number = {tuple(map(str, cell)): k for k, cell in enumerate(coarse.cells)}
    found = [number.get(tuple(str(cell[p]) for p in places), -1) for cell in fine.cells]
    return None if -1 in found else np.array(found, dtype=np.int64)


def in_shape(tables: Sequence[CellTable], answers: Sequence[Sequence[Any]]) -> Any:
    """Answers by table as people read them: one for a query without keys, a list for a table, and a
    list of these for several."""
    found = [
        given if table.names else given[0] for table, given in zip(tables, answers, strict=True)
    ]
    return found if len(found) > 1 else found[0]
