"""Counts, clipped sums and means, histograms, whole series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from corrdp._checks import (
    check_items,
    check_number,
    check_whole,
    count_distinct,
)
from corrdp.errors import DataError, QueryError
from corrdp.queries.base import Missing, Query, check_missing, is_missing

_GRID_BITS = 20  # a sum's grid is 2^-20 of its width: far below any noise worth adding


def check_bounds(lower: float, upper: float) -> tuple[float, float]:
    """Two finite numbers in order, not too far apart and not too near."""
    low = check_number("lower", lower, error=QueryError)
    high = check_number("upper", upper, error=QueryError)
    if not low < high:
        raise QueryError(f"need lower < upper, got lower={lower}, upper={upper}")
    if max(abs(low), abs(high)) > 1e300:
        raise QueryError(f"[{low:g}, {high:g}] is too wide for numbers of 64 bits; narrow it")
    if high - low < 1e-290:  # parts of it would be 0
        raise QueryError(f"[{low:g}, {high:g}] is too narrow for numbers of 64 bits; widen it")
    return low, high


@dataclass(frozen=True, repr=False)
class Count(Query):
    """How many records are in a state (or satisfy a condition on a table).

    Sensitivity to one changed record: 1.

    Parameters
    ----------
    state : value, optional
        The state counted.
    records : slice, optional
        Count in this part of the sequence only; the rest is not read.
    where : str, optional
        On tables: an SQL condition instead of a state, such as ``"steps > 0"``.
    missing : {"raise", "skip"}
    by, public_columns
        Keys of a table, as in :class:`Query`: one count for each of their values.

    Examples
    --------
    >>> Count(1).on_grid([0, 1, 1])
    [2]
    >>> Count(True, by="hour")
    Count(state=True, records=None, where=None, missing='raise', by={'hour': None})
    >>> Count(where="steps > 0").sensitivity
    1.0
    """

    kind: ClassVar[str] = "count"
    state: Any = None
    records: slice | None = None
    where: str | None = None
    missing: Missing = "raise"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_missing(self.missing)
        if (self.state is None) == (self.where is None):
            raise QueryError("give Count either a state or where=..., not both or neither")
        if self.records is not None and self.by:
            raise QueryError("records= is for a sequence, by= for a table: give one of them")
        if self.records is not None and not isinstance(self.records, slice):
            raise QueryError(f"records must be a slice, got {self.records!r}")
        if self.records is not None and self.where is not None:
            raise QueryError("records= needs a state; put the restriction into where= instead")

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        return ((1, 1),) if self.has_private_keys else ((1,),)

    @property
    def asked(self) -> str:
        what = (
            f"rows with {self.where}"
            if self.where is not None
            else f"records in state {self.state!r}"
        )
        r = self.records
        part = "" if r is None else f" in [{r.start or 0}:{'' if r.stop is None else r.stop}]"
        return f"count of {what}{part}"

    def tally(self, values: Sequence[Any]) -> list[int]:
        if self.where is not None:
            raise QueryError("Count(where=...) needs a table; use Count(state) on a sequence")
        part = values if self.records is None else values[self.records]
        return [sum(1 for v in self.present(part) if v == self.state)]

    def scores(self, states: Sequence[Any]) -> np.ndarray | None:
        return np.array([int(s == self.state) for s in states])

    def pattern(self, n: int) -> np.ndarray | None:
        if self.records is None:
            return None
        mask = np.zeros(n)
        mask[self.records] = 1.0
        if not mask.any():
            raise QueryError(f"records={self.records} selects none of the {n} records")
        return mask

    def to_dict(self) -> dict[str, Any]:
        data = super().to_dict()
        r = self.records
        data["records"] = None if r is None else [r.start, r.stop, r.step]
        return data


@dataclass(frozen=True, repr=False)
class Sum(Query):
    """Sum of values clipped to [lower, upper] and rounded to a public grid.

    Sensitivity to one changed record: upper - lower (on the grid).

    Parameters
    ----------
    lower, upper : float
        Public bounds; values outside are moved to the nearer one.
    column : str, optional
        On tables: the column or SQL expression summed.
    missing : {"raise", "skip"}
    where : str, optional
        On tables: an SQL condition; only values of rows in which it holds are summed. Where it
        holds is private.
    by, public_columns
        Keys of a table, as in :class:`Query`: one sum for each of their values.

    Examples
    --------
    >>> q = Sum(0, 10)
    >>> q.on_grid([-3, 5, 12])[0] * q.grid
    15.0
    >>> q.sensitivity
    10.0
    """

    kind: ClassVar[str] = "sum"
    lower: float
    upper: float
    column: str | None = None
    missing: Missing = "raise"
    where: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_missing(self.missing)
        low, high = check_bounds(self.lower, self.upper)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        if max(abs(low), abs(high)) > 1e6 * (high - low):
            raise QueryError(
                f"[{low}, {high}] is narrow and far from zero; subtract a public constant first"
            )

    @property
    def base_grid(self) -> float:
        """Grid to which each clipped value is rounded: a power of two near width / 2^20."""
        return 2.0 ** (math.floor(math.log2(self.upper - self.lower)) - _GRID_BITS)

    @property
    def grid(self) -> float:
        return self.base_grid

    @property
    def width(self) -> float:
        """How far one record can move the sum: upper - lower on the grid."""
        return self.steps * self.base_grid

    @property
    def grid_bounds(self) -> tuple[int, int]:
        """lower and upper in grid steps (rounding is monotone, so values stay between them)."""
        return round(self.lower / self.base_grid), round(self.upper / self.base_grid)

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        low, high = self.grid_bounds
        if self.where is not None:  # a row in which the condition does not hold adds nothing
            low, high = min(low, 0), max(high, 0)
        if not self.has_private_keys:
            return ((high - low,),)
        most = max(abs(low), abs(high))  # one cell loses the value, another gains one
        return ((high - low,), (most, most))

    @property
    def assumed(self) -> tuple[str, ...]:
        return (
            f"values are clipped to the public range [{self.lower:g}, {self.upper:g}] and rounded "
            f"to multiples of {self.base_grid:.3g}; the answer is that of the clipped values",
            *super().assumed,
        )

    @property
    def asked(self) -> str:
        what = self.column if self.column is not None else "values"
        some = "" if self.where is None else f" where {self.where},"
        return f"{self.kind} of {what}{some} clipped to [{self.lower:g}, {self.upper:g}]"

    def lacks(self, value: Any) -> bool:
        """Also a text that reads as NaN, such as "nan": a clip would leave it as it is."""
        return is_missing(value) or math.isnan(self._number(value))

    def _number(self, value: Any) -> float:
        try:
            return float(value)
        except OverflowError:  # a whole number beyond all floats: the clip moves it to a bound
            return math.inf if value > 0 else -math.inf
        except (TypeError, ValueError):
            raise DataError(f"{self.kind} needs numbers; the data hold other values") from None

    def tally(self, values: Sequence[Any]) -> list[int]:
        if self.where is not None:
            raise QueryError(f"{self.kind} with where= needs a table; leave it out on a sequence")
        numbers = np.array([self._number(v) for v in self.present(values)])
        clipped = np.clip(numbers, self.lower, self.upper)
        if not np.isfinite(clipped).all():
            raise DataError(f"{self.kind} needs numbers; the data hold NaN")
        return [int(np.rint(clipped / self.base_grid).astype(np.int64).sum())]

    def scores(self, states: Sequence[Any]) -> np.ndarray | None:
        try:
            values = np.array([float(s) for s in states])
            if np.isnan(values).any():
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise QueryError(
                f"{self.kind} needs numeric states; the model's are {list(states)!r}"
            ) from None
        clipped = np.clip(values, self.lower, self.upper)
        return np.rint(clipped / self.base_grid).astype(np.int64)


@dataclass(frozen=True, repr=False)
class Mean(Sum):
    """Mean of clipped values: the clipped sum divided by the number of records.

    Sensitivity to one changed record: (upper - lower) / n. The sizes of the cells of a table are
    public where its keys are; where a key is private, or only rows that satisfy a condition
    count, the number of records is private as well, and the mean is a noisy sum over a noisy count.

    Parameters
    ----------
    lower, upper : float
    column : str, optional
    missing : {"raise", "skip"}
    n : int, optional
        Public number of records; taken from the model's length when left out, and from the data
        for the cells of a table.
    where, by, public_columns
        As in :class:`Sum`.

    Examples
    --------
    >>> Mean(0, 10, n=4).sensitivity
    2.5
    >>> [str(query) for query, share in Mean(0, 10, column="km", where="km > 0").parts]
    ['sum of km where km > 0, clipped to [0, 10]', 'count of rows with km > 0']
    """

    kind: ClassVar[str] = "mean"
    n: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n is not None:
            object.__setattr__(self, "n", check_whole("n", self.n, error=QueryError))
            if self.by or self.where is not None:
                raise QueryError("n= is for a mean of all records; leave it out")

    @property
    def has_private_sizes(self) -> bool:
        """Whether the number of records in a cell may not be told."""
        return self.has_private_keys or self.where is not None

    @property
    def parts(self) -> tuple[tuple[Query, Fraction], ...]:
        if not self.has_private_sizes:
            return ((self, Fraction(1)),)
        shared = {"missing": self.missing, "by": self.by, "public_columns": self.public_columns}
        column = self.column
        total = Sum(self.lower, self.upper, column=column, where=self.where, **shared)
        rows = self.where if self.where is not None else f"({column}) IS NOT NULL"
        half = Fraction(1, 2)
        return ((total, half), (Count(where=rows, **shared), half))

    @property
    def grid(self) -> float:
        if self.by or self.where is not None:
            return self.base_grid  # of the sums: each cell is divided by a number of its own
        if self.n is None:
            raise QueryError("Mean needs the public number of records: Mean(lower, upper, n=...)")
        return self.base_grid / self.n

    @property
    def assumed(self) -> tuple[str, ...]:
        if self.has_private_sizes:
            said = "the number of records in a cell is private: half of the budget counts them"
        elif self.by:
            said = "the number of records in each cell is public"
        else:
            said = f"the number of records, {self.n}, is public"
        return (*super().assumed, said)


@dataclass(frozen=True, repr=False)
class Histogram(Query):
    """How many records are in each of a public list of categories.

    l1 sensitivity to one changed record: 2 (one cell loses it, another gains it).

    Parameters
    ----------
    categories : sequence
        Public list of the values that can occur; another value in the data is an error.
    column : str, optional
        On tables: the column or SQL expression counted.
    missing : {"raise", "skip"}
    by, public_columns
        Keys of a table, as in :class:`Query`: one histogram for each of their values.

    Examples
    --------
    >>> Histogram(["a", "b"]).on_grid(["a", "b", "a"])
    [2, 1]
    """

    kind: ClassVar[str] = "histogram"
    categories: tuple[Any, ...]
    column: str | None = None
    missing: Missing = "raise"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_missing(self.missing)
        categories = check_items("categories", self.categories, letters=True, error=QueryError)
        distinct = count_distinct("categories", categories, error=QueryError)
        if len(categories) < 2 or distinct < len(categories):
            raise QueryError(f"need two or more distinct categories, got {list(categories)!r}")
        object.__setattr__(self, "categories", categories)

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        return ((1, 1),)

    @property
    def entries(self) -> int:
        return len(self.categories)

    @property
    def asked(self) -> str:
        what = "" if self.column is None else f" of {self.column}"
        return f"histogram{what} over {self.entries} categories"

    def tally(self, values: Sequence[Any]) -> list[int]:
        counts = dict.fromkeys(self.categories, 0)
        for v in self.present(values):
            if v not in counts:
                raise DataError(
                    f"the data hold a value that is not among the categories {self.categories!r}"
                )
            counts[v] += 1
        return list(counts.values())


@dataclass(frozen=True, repr=False)
class Series(Query):
    """The whole series, each record reported by itself and sometimes wrongly.

    Every record is randomized on its own, so no curator is needed, and the published series can be
    asked anything for ever.

    Parameters
    ----------
    symmetric : bool
        With two states: whether both must be misreported equally often. Left free, the rarer one
        usually is more often.
    missing : {"raise", "skip"}
        "skip" leaves gaps where nothing was recorded; where they are is then public.
    correlated : bool
        With two states: lies come in runs, whose noise is a chain of its own. Often fewer lies
        keep the same promise, but one device must draw them all, along time.
    withhold : bool
        With two states: a report is withheld where those before it, all public, come near the
        worst case. The others are wrong less often for the same promise.

    Examples
    --------
    >>> str(Series())
    'whole series, each record by randomized response'
    """

    kind: ClassVar[str] = "series"
    symmetric: bool = False
    missing: Missing = "raise"
    correlated: bool = field(default=False, kw_only=True)
    withhold: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_missing(self.missing)
        if self.correlated and self.symmetric:
            raise QueryError("correlated lies are symmetric already: leave symmetric out")
        if self.withhold and (self.correlated or self.symmetric):
            raise QueryError(
                "reports that are withheld are wrong independently and equally often: leave "
                "correlated and symmetric out"
            )
        if self.by:
            raise QueryError("a series is published record by record: leave by= out")

    @property
    def along_time(self) -> bool:
        """Whether a report depends on those before it, so that records must come in order."""
        return self.correlated or self.withhold

    @property
    def assumed(self) -> tuple[str, ...]:
        if self.missing == "raise":
            return ()
        return ("which records are missing is public; they stay missing in the published series",)

    @property
    def asked(self) -> str:
        noise = "with lies in runs" if self.correlated else "each record"
        silent = ", withheld near the worst case" if self.withhold else ""
        return f"whole series, {noise} by randomized response{silent}"
