"""What releases promise together, about each record and about each unit as a whole.

Each release has a level for every record that it reads: epsilon, (epsilon, delta), mu or rho. They
lie side by side, run-length coded, and are composed once for every way in which records are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.units import DELTA_UNIT, UNIT, Runs

if TYPE_CHECKING:
    import numpy as np

    from corrdp.bounds.leakage import Leakage
    from corrdp.bounds.units import Unit
    from corrdp.calibration.robustness import Promise
    from corrdp.guarantees import Guarantee

_ULP = 2.0**-52
_KINDS = 64  # records that are read differently, each kind one composition; more are put together
_DEPTH = 5.0  # levels below e^-5 of the largest are raised to that, where they are too many
_CELLS = 2**24  # levels of pure releases side by side; of more only their sum is kept


@dataclass(frozen=True)
class Joint:
    """What releases promise together.

    Parameters
    ----------
    records : guarantee
        Of each record; one where all are read alike.
    own : guarantee or None
        Of changing each unit as a whole; None for single records.
    """

    records: Guarantee
    own: Guarantee | None = None

    @property
    def of_unit(self) -> Guarantee:
        """What is promised about the unit: a record, or more."""
        return self.records if self.own is None else self.own

    @property
    def is_vector(self) -> bool:
        """Whether records, or units, differ."""
        return any(getattr(each, "is_vector", False) for each in (self.records, self.own))

    @property
    def largest(self) -> Joint:
        """The worst of all records for each, and of all units: it promises no more than this."""
        from corrdp.bounds.units import of_largest

        own = None if self.own is None else of_largest(self.own, 1)
        return Joint(of_largest(self.records, 1), own)


def compose_levels(levels: Sequence[ChargedLevel], unit: Unit, n: int | None) -> Joint:
    r"""Compose releases record by record, and unit by unit.

    .. math:: \mu_t = \sqrt{\textstyle\sum_r \mu_{r,t}^2}, \qquad
              \mu_W = \sqrt{\textstyle\sum_r \big(\sum_{t \in W} \mu_{r,t}\big)^2}

    where mu_{r,t} is the level of release r for record t, and W a unit; pure releases of levels
    epsilon_{r,t}, and epsilon_{r,W} their sum over W, by the exact profile of all of them
    (:func:`corrdp.metric.composition.compose`), tabulated.

    Parameters
    ----------
    levels : sequence of ChargedLevel
        At least one.
    unit : Unit
    n : int or None
        How many records there are; needed for levels that differ from record to record.

    Returns
    -------
    Joint

    Notes
    -----
    Time grows with the runs, and with the records of a unit around each end of a run; the result
    has one entry per record and per unit where these differ. Of more than 64 kinds of records those
    with about the same levels are put together, upwards.

    References
    ----------
    composition#mixed-releases, composition#units-of-several-releases.

    Examples
    --------
    >>> from corrdp.bounds.units import Unit
    >>> from corrdp.guarantees import GDP
    >>> hours = [ChargedLevel.of(GDP([.1 * (t == k) for t in range(12)]), 12) for k in range(12)]
    >>> both = compose_levels(hours, Unit(12), 12)
    >>> round(float(both.records.mu), 6), round(float(both.own.mu), 6)
    (0.1, 0.34641)
    """
    from corrdp.bounds.units import ONE, of_largest, of_unit

    cells = _Cells.of(levels, unit.size if unit.members is None else None)
    records, own = _Columns(), None if unit == ONE else _Columns()
    for level in levels:
        records.add(level.guarantee(*cells.levels(level)))
        if own is not None and level.whole:
            own.add(level.guarantee(*cells.levels(level)))
        elif own is not None:
            dense = level.guarantee(*map(cells.around_ends, cells.levels(level)))
            own.add(of_unit(dense, unit, cells.size))
    each = records.guarantee(cells.by_record)
    if own is None:
        return Joint(each)
    whole = own.guarantee(lambda values: values if unit.members else cells.by_window(values))
    # where all records are read alike the unit that costs most is the worst, wherever it lies
    alike = not getattr(each, "is_vector", False)
    return Joint(each, of_largest(whole, 1) if alike else whole)


def joint_leakage(
    levels: Sequence[ChargedLevel], promise: Promise, *, delta: float, unit: Any = None
) -> Leakage:
    """What releases leak together at a delta: composed, then converted once.

    The smallest of what holds: by record, by the worst record for all, and for pure releases by
    their sum.

    Parameters
    ----------
    levels : sequence of ChargedLevel
    promise : Promise
        The model, and the richer ones beside it; a private fit of it is added to the levels.
    delta : float
    unit : optional
        What is protected, as in :func:`corrdp.leakage`.
    """
    from corrdp.bounds.units import ONE, read_unit
    from corrdp.guarantees import Pure

    model = promise.model
    if model.private_epsilon is not None:
        levels = [*levels, ChargedLevel.of(model.private_epsilon)]
    joint = compose_levels(levels, read_unit(model, unit) or ONE, model.length)
    asked: dict[str, Any] = {"unit": unit, "fit_counts": True}
    ways = [joint, joint.largest] if joint.is_vector else [joint]
    found = [promise.leakage(w.records, own=w.own, delta=delta, **asked) for w in ways]
    if all(level.notion == "pure" for level in levels):
        found.append(promise.leakage(Pure(summed(levels).doubles()), **asked))
    return min(found, key=float)


def summed(levels: Sequence[ChargedLevel]) -> Runs:
    """The sum of pure epsilons, record by record."""
    total = Runs.scalar(0)
    for level in levels:
        total = total + level.epsilon
    return total


@dataclass(frozen=True)
class _Cells:
    """Records in a row that every release reads alike.

    Windows that lie inside one cell are alike too, so that of a long cell a stretch of twice the
    window is enough: its windows that touch an end, and one that stands for all others.
    """

    ends: Any = None  # None where no level is a vector
    window: int | None = None  # None for units that are no windows: nothing is left out

    @classmethod
    def of(cls, levels: Sequence[ChargedLevel], window: int | None) -> _Cells:
        parts = [runs for level in levels for runs in (level.runs, level.delta) if runs is not None]
        ends = [runs.lengths.cumsum() for runs in parts if not runs.is_scalar]
        if not ends:
            return cls()
        import numpy as np

        return cls(np.unique(np.concatenate(ends)), window)

    @property
    def lengths(self) -> np.ndarray:
        import numpy as np

        return np.diff(self.ends, prepend=0)

    @property
    def kept(self) -> np.ndarray:
        """Records of each cell that are looked at for windows."""
        import numpy as np

        return self.lengths if self.window is None else np.minimum(self.lengths, 2 * self.window)

    @property
    def size(self) -> int | None:
        return None if self.ends is None else int(self.kept.sum())

    def levels(self, level: ChargedLevel) -> tuple[Any, Any]:
        """ChargedLevel and delta of each cell, or one for all."""
        deltas = None if level.delta is None else self._values(level.delta, DELTA_UNIT)
        return self._values(level.runs, UNIT), deltas

    def _values(self, runs: Runs, unit: int) -> Any:
        if runs.is_scalar:
            return runs.units / unit
        return runs.units[runs.lengths.cumsum().searchsorted(self.ends)] / unit

    def around_ends(self, values: Any) -> Any:
        """One entry for each record that is looked at."""
        import numpy as np

        return np.repeat(values, self.kept) if np.ndim(values) else values

    def by_record(self, values: np.ndarray) -> np.ndarray:
        """One entry for each record."""
        return values.repeat(self.lengths)

    def by_window(self, values: np.ndarray) -> np.ndarray:
        """One entry for each window."""
        import numpy as np

        times = np.ones(len(values), dtype=np.int64)
        cut = self.lengths - self.kept
        long = cut.nonzero()[0]
        np.add.at(times, (self.kept.cumsum() - self.kept)[long], cut[long])
        return values.repeat(times)


class _Columns:
    """The levels of all releases side by side: a column for each cell, or each window."""

    def __init__(self) -> None:
        self.pure: list[Any] = []
        self.pairs: list[tuple[Any, Any]] = []
        self.square: Any = 0.0  # of mu
        self.rho: Any = 0.0
        self.count = 0

    def add(self, promise: Guarantee) -> None:
        """Put one more release beside the others."""
        from corrdp.guarantees import GDP, ZCDP, Approximate, Pure

        self.count += 1
        if isinstance(promise, GDP):
            self.square = self.square + promise.mu**2
        elif isinstance(promise, ZCDP):
            self.rho = self.rho + promise.rho
        elif isinstance(promise, Approximate):
            self.pairs.append((promise.epsilon, promise.delta))
        else:
            assert isinstance(promise, Pure)
            self.pure.append(promise.epsilon)

    def guarantee(self, spread: Any) -> Guarantee:
        """What they promise together; ``spread`` makes one entry per record of one per column."""
        import numpy as np

        from corrdp.guarantees import GDP, ZCDP, Profile

        slack = 1.0 + (self.count + 4) * _ULP
        if not self.pure and not self.pairs and (np.any(self.square) != np.any(self.rho)):
            kind: Any = GDP if np.any(self.square) else ZCDP
            level = np.asarray(np.sqrt(self.square) if kind is GDP else self.rho) * slack
            alike = level.ndim == 0 or (level == level.flat[0]).all()
            made: Guarantee = kind(float(level.flat[0]) if alike else spread(level))
            return made
        rows = np.broadcast_arrays(
            *self._pure(), *(part for pair in self.pairs for part in pair), self.square, self.rho
        )
        columns, of = _distinct(np.stack([np.atleast_1d(row) for row in rows]))
        pure = len(columns) - 2 - 2 * len(self.pairs)
        profiles = [_profile(column, pure, slack).delta for column in columns.T]
        return Profile(profiles[0]) if len(profiles) == 1 else Profile(profiles, spread(of))

    def _pure(self) -> Any:
        """Levels of pure releases, the largest first: their order does not matter."""
        import numpy as np

        if not self.pure:
            return []
        rows = np.broadcast_arrays(*self.pure)
        if rows[0].size * len(rows) > _CELLS:
            return [np.sum(self.pure, axis=0)]  # one release of the sum tells no less
        return -np.sort(-np.stack(rows), axis=0)


def _distinct(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns that differ, and which of them each is.

    Of many, levels are raised to the next of a few steps below the largest of their row, coarser
    and coarser until few columns differ.
    """
    import numpy as np

    found, of = np.unique(columns, axis=1, return_inverse=True)
    tops = found.max(axis=1, keepdims=True)
    steps = 2 * _KINDS
    while found.shape[1] > _KINDS:
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.floor(np.log(tops / columns) * steps / _DEPTH)
            raised = tops * np.exp(-np.minimum(below, steps) * _DEPTH / steps) * (1.0 + 8 * _ULP)
        raised = np.where(columns > 0, np.maximum(np.minimum(raised, tops), columns), 0.0)
        found, of = np.unique(raised, axis=1, return_inverse=True)
        steps //= 2
    return found, of.ravel()


def _profile(column: np.ndarray, pure: int, slack: float) -> Any:
    """The table of one composition: pure levels, pairs, the square of mu, and rho."""
    from corrdp.guarantees import ZCDP
    from corrdp.metric.composition import compose, tabulated

    values = column.tolist()
    rho, pairs = values[-1] * slack, values[pure:-2]
    return tabulated(
        compose(
            pure=[level for level in values[:pure] if level],
            gaussian=values[-2] ** 0.5 * slack,
            approximate=[pair for pair in zip(pairs[::2], pairs[1::2], strict=True) if any(pair)],
            others=[ZCDP(rho)] if rho else [],
        )
    )


def unit_sums(unit: Unit, runs: Runs) -> np.ndarray:
    """Sums over each unit, in units of the books; one where every record has the same."""
    import numpy as np

    from corrdp.bounds.units import window_sums

    if runs.is_scalar:
        return np.array([float(runs.largest) * unit.size])
    dense = runs.units.astype(float).repeat(runs.lengths)
    if unit.members is None:
        return window_sums(dense, unit.size)
    return np.array([dense[list(unit.members)].sum()])
