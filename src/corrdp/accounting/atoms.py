r"""Releases about records one by one: predicates, group-bys, sums and blocks of records.

Records fall into atoms; a release sees of an atom only its cell. Under unbounded granularity the
loss is a maximum over atoms, under bounded granularity over pairs of atoms. For predicates the
sum over releases of ``level * [x in P] != [x' in P]`` is one product of matrices:

.. math:: s_x + s_{x'} - 2 \sum_i \varepsilon_i A_{ix} A_{ix'}, \qquad s_x = \sum_i
          \varepsilon_i A_{ix}

where A_ix says whether atom x lies in predicate i.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from corrdp.accounting.choices import ListedLosses, Losses, times
from corrdp.accounting.maps import AtomMap, Identity, ReadsRecords, ReadsSum
from corrdp.accounting.step import Step
from corrdp.errors import InputError
from corrdp.metric.domains import Domain, MultisetDomain, TupleDomain
from corrdp.metric.finite import Change
from corrdp.metric.granularities import Bounded, FreeLunch, Granularity, Unbounded

_CANDIDATES = 200  # pairs near the maximum that are added up again without rounding


def unit_name(step: Step, unit: Granularity) -> str:
    """The unit of a guarantee about records one by one."""
    metric = step.unit(unit)
    if isinstance(metric, Bounded | Unbounded | FreeLunch):
        return "free-lunch" if isinstance(metric, FreeLunch) else metric.name
    if metric in ("l1", "l2"):
        return str(metric)
    raise InputError(f"step {step.id!r}: {metric} has no meaning for records one by one")


class _Cells:
    """One release seen from the atoms; ``full`` says that data sets have a largest size."""

    def __init__(self, step: Step, unit: Granularity, index: dict[Any, int], *, full: bool = False):
        self.unit, self.mode = unit_name(step, unit), step.mode
        self.blind = isinstance(step.map, Identity | ReadsRecords)
        self.values: np.ndarray | None = None
        if isinstance(step.map, ReadsSum):
            self.values, self.units = step.map.numbers(index), step.map.units(index)
            self.full = full
            # what a sum tells about the atoms is their value
            self.cell = np.unique(self.values, return_inverse=True)[1].astype(np.int32)
            self.cell[self.values == 0] = -1
        elif self.blind:
            self.cell = np.arange(len(index), dtype=np.int32)
        else:
            assert isinstance(step.map, AtomMap)
            self.cell = step.map.cells(index)

    @cached_property
    def inside(self) -> np.ndarray:
        return self.cell >= 0

    @cached_property
    def crossing(self) -> bool:
        """Whether its distance under replacement is [x in P] != [x' in P]."""
        return (
            self.values is None
            and not self.blind
            and int(self.cell.max(initial=-1)) <= 0
            and (self.unit != "bounded" or self.mode == "common")
        )

    def added(self) -> np.ndarray:
        """Distance when one record of each atom is added."""
        inside = self.inside.astype(float)
        if self.unit in ("l1", "l2") and self.values is not None:
            return np.abs(self.values)
        if self.unit != "bounded":
            return inside
        # bounded neighbours have one size; a mechanism that does not see some atom (a sum: one
        # that counts as 0) does not see whether a record of it was there instead
        reachable = self.mode == "common" and not inside.all()
        return inside if reachable else times(1.0, np.where(self.inside, np.inf, 0.0))

    def replaced(self, x: Any, y: Any) -> np.ndarray:
        """Distance when a record of atom x becomes one of atom y."""
        differ = self.cell[x] != self.cell[y]
        inside = self.inside[x].astype(float) + self.inside[y]
        if self.values is not None:
            if self.unit in ("l1", "l2"):
                return np.abs(self.values[x] - self.values[y])
            return np.where(differ, 1.0 + self._two_records(x, y), 0.0)
        if self.unit in ("l1", "unbounded"):
            return np.where(differ, inside, 0.0)
        if self.unit == "l2":
            return np.where(differ, np.sqrt(inside), 0.0)
        if self.unit == "bounded" and self.mode == "pre":
            return np.where(differ, np.where(inside == 2, 1.0, np.inf), 0.0)
        return differ.astype(float)

    def _two_records(self, x: Any, y: Any) -> np.ndarray | float:
        """Whether a replaced record moves a sum as no single record that comes or goes can.

        A sum sees its value alone: where v_y - v_x is, up to its sign, the number of some atom,
        one record more does the same. A full data set has no room for it, unless x or y counts as
        0 and can go unseen first.
        """
        if self.unit != "unbounded":
            return 0.0
        one, two = self.units[x], self.units[y]
        alone = np.isin(np.abs(one - two), np.abs(self.units))
        if self.full:
            alone &= (one == 0) | (two == 0)
        return np.where(alone, 0.0, 1.0)


def multiset_losses(domain: MultisetDomain, unit: Granularity, steps: Sequence[Step]) -> Losses:
    """Losses on multisets under unbounded or bounded granularity."""
    index = {atom: k for k, atom in enumerate(domain.atoms)}
    full = domain.largest is not None
    seen = [_Cells(step, unit, index, full=full) for step in steps]
    levels = [float(step.level) for step in steps]
    if isinstance(unit, Unbounded):
        columns = [times(v, cells.added()) for v, cells in zip(levels, seen, strict=True)]
        return ListedLosses(list(unit.types(domain)), np.array(columns).T)
    return PairLosses(domain.atoms, seen, np.array(levels))


class PairLosses(Losses):
    """Losses when one record is replaced, over pairs of atoms; ``record`` is its number."""

    def __init__(
        self,
        atoms: Sequence[Any],
        seen: Sequence[_Cells],
        levels: np.ndarray,
        record: int | None = None,
    ):
        self.atoms, self.seen, self.levels, self.record = atoms, list(seen), levels, record

    def change(self, x: int, y: int) -> Change:
        pair = (self.atoms[x], self.atoms[y])
        return (
            Change("replace", pair)
            if self.record is None
            else Change("record", (self.record, *pair))
        )

    @cached_property
    def each(self) -> np.ndarray:
        n = len(self.atoms)
        x, y = np.triu_indices(n, 1)
        found = np.zeros(len(self.seen))
        for k, cells in enumerate(self.seen):
            if cells.crossing:  # the same for every pair that it tells apart
                found[k] = self.levels[k] * (0 < cells.inside.sum() < n)
            else:
                found[k] = times(self.levels[k], cells.replaced(x, y)).max()
        return found

    @cached_property
    def _crossing(self) -> tuple[np.ndarray, np.ndarray]:
        """Which releases only ask whether an atom is in, and what is in for them."""
        which = np.array([cells.crossing for cells in self.seen], dtype=bool)
        inside = [cells.inside for cells, quick in zip(self.seen, which, strict=True) if quick]
        return which, np.array(inside, dtype=bool).reshape(len(inside), len(self.atoms))

    def losses(self, x: Any, y: Any, steps: Sequence[int]) -> np.ndarray:
        """Loss of each of some releases for one pair of atoms."""
        which, inside = self._crossing
        found = np.zeros(len(self.seen))
        found[which] = self.levels[which] * (inside[:, x] != inside[:, y])
        for k in np.flatnonzero(~which):
            found[k] = times(self.levels[k], self.seen[k].replaced(x, y))
        return found[list(steps)]

    def totals(self, steps: Sequence[int], *, gaussian: bool) -> np.ndarray:
        """Sum of the losses (of their squares) for every pair of atoms, up to rounding."""
        n = len(self.atoms)
        power = 2 if gaussian else 1
        total = np.zeros((n, n))
        which, rows = self._crossing
        asked = np.zeros(len(self.seen), dtype=bool)
        asked[list(steps)] = True
        if (asked & which).any():
            # the root of each weight in both factors: a matrix by itself takes half the work
            roots = np.sqrt(self.levels[asked & which] ** power)
            inside = roots[:, None] * rows[asked[which]]
            both = inside.T @ inside
            alone = both.diagonal()
            total += alone[:, None] + alone[None, :] - 2.0 * both
        every = np.ix_(range(n), range(n))
        for k in steps:
            if not which[k]:
                total += times(self.levels[k], self.seen[k].replaced(*every)) ** power
        return total

    def worst(self, steps: Sequence[int], *, gaussian: bool) -> tuple[Change, np.ndarray]:
        total = np.triu(self.totals(steps, gaussian=gaussian), 1)
        top = total.max()
        if top < math.inf:
            near = np.flatnonzero(total.ravel() >= top * (1.0 - 1e-9))
        else:
            near = np.array([total.argmax()])
        order = near[np.argsort(-total.ravel()[near], kind="stable")][:_CANDIDATES]
        pairs = [divmod(int(flat), len(self.atoms)) for flat in order]
        found = [(self.losses(x, y, steps), (x, y)) for x, y in pairs if x < y]
        if not found:
            found = [(self.losses(0, 1, steps), (0, 1))]
        losses, (x, y) = max(
            found, key=lambda item: math.fsum(item[0] ** 2 if gaussian else item[0])
        )
        return self.change(x, y), losses

    def rows(self) -> Iterator[tuple[Change, np.ndarray]]:
        everything = range(len(self.seen))
        for x, y in itertools.combinations(range(len(self.atoms)), 2):
            yield self.change(x, y), self.losses(x, y, everything)


class RecordLosses(Losses):
    """Losses on tuples under bounded granularity: by record, then over pairs of its values."""

    def __init__(self, domain: TupleDomain, unit: Granularity, steps: Sequence[Step]):
        self.domain = domain
        index = {atom: k for k, atom in enumerate(domain.atoms)}
        self.seen = [_Cells(step, unit, index) for step in steps]
        self.levels = np.zeros((len(steps), domain.length))
        for row, step in zip(self.levels, steps, strict=True):
            records = getattr(step.map, "records", None)
            read = slice(None) if records is None else list(records)
            row[read] = np.broadcast_to(step.level, domain.length)[read]
        self.reads = np.zeros((len(steps), domain.length), dtype=bool)
        for row, step in zip(self.reads, steps, strict=True):
            records = getattr(step.map, "records", None)
            row[slice(None) if records is None else list(records)] = True

    def at(self, record: int, steps: Sequence[int]) -> PairLosses:
        """Losses about one record: the releases that read it."""
        chosen = [k for k in steps if self.reads[k, record]]
        return PairLosses(
            self.domain.atoms, [self.seen[k] for k in chosen], self.levels[chosen, record], record
        )

    def groups(self, steps: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """One record of each kind (same levels everywhere), and the kind of each record."""
        keys: dict[bytes, int] = {}
        columns = np.ascontiguousarray(self.levels[list(steps)].T + 0.0)
        reads = np.ascontiguousarray(self.reads[list(steps)].T)
        kinds = [
            keys.setdefault(a.tobytes() + b.tobytes(), len(keys))
            for a, b in zip(columns, reads, strict=True)
        ]
        kind = np.array(kinds)
        return np.unique(kind, return_index=True)[1], kind

    def per_record(self, steps: Sequence[int], *, gaussian: bool) -> tuple[np.ndarray, list[Any]]:
        """The largest loss about each record, and for each kind of record the worst change."""
        firsts, kind = self.groups(steps)
        found = []
        for record in firsts:
            part = self.at(int(record), steps)
            if not part.seen:
                x, y = self.domain.atoms[:2]
                found.append((0.0, Change("record", (int(record), x, y))))
                continue
            change, losses = part.worst(range(len(part.seen)), gaussian=gaussian)
            found.append((math.hypot(*losses) if gaussian else math.fsum(losses), change))
        return np.array([value for value, _ in found])[kind], found

    @cached_property
    def each(self) -> np.ndarray:
        return np.array(
            [self.per_record([k], gaussian=False)[0].max() for k in range(len(self.seen))]
        )

    def worst(self, steps: Sequence[int], *, gaussian: bool) -> tuple[Change, np.ndarray]:
        _, found = self.per_record(steps, gaussian=gaussian)
        change = max(found, key=lambda item: item[0])[1]
        return change, self._losses(change, steps)

    def _losses(self, change: Change, steps: Sequence[int]) -> np.ndarray:
        record, a, b = change.where
        x, y = self.domain.atoms.index(a), self.domain.atoms.index(b)
        losses = np.zeros(len(steps))
        for place, k in enumerate(steps):
            if self.reads[k, record]:
                losses[place] = times(self.levels[k, record], self.seen[k].replaced(x, y))
        return losses

    def rows(self) -> Iterator[tuple[Change, np.ndarray]]:
        everything = range(len(self.seen))
        firsts, _ = self.groups(everything)
        for record in firsts:
            for a, b in itertools.combinations(self.domain.atoms, 2):
                change = Change("record", (int(record), a, b))
                yield change, self._losses(change, everything)


def atom_losses(domain: Domain, unit: Granularity, steps: Sequence[Step]) -> Losses | None:
    """Losses by atoms; None where the domain or the unit is of another kind."""
    if isinstance(domain, MultisetDomain) and isinstance(unit, Bounded | Unbounded):
        return multiset_losses(domain, unit, steps)
    alone = isinstance(domain, TupleDomain) and domain.length == 1
    if isinstance(domain, TupleDomain) and (
        isinstance(unit, Bounded) or (alone and isinstance(unit, FreeLunch))
    ):
        return RecordLosses(domain, unit, steps)
    return None
