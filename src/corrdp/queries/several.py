"""Quantiles, several queries in one release, and queries read from files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from corrdp._checks import check_items, check_kind, check_number, check_whole
from corrdp.errors import DataError, QueryError
from corrdp.queries.base import Missing, Query, assume_keys, check_missing, is_missing
from corrdp.queries.kinds import Count, Histogram, Mean, Series, Sum, check_bounds

_FINEST = 10**6  # a quantile is a fraction with at most this denominator
_MOST_POINTS = 100_000


@dataclass(frozen=True, repr=False)
class Quantile(Query):
    """A quantile of values, as a point of a public grid; .5 is the median.

    Values are clipped to [lower, upper] and moved to the nearest of ``points`` equally spaced
    points. What a point is off by, in records, is

    ``max(0, #below - q n, q n - #up to it)``,

    where n is the number of records. One replaced record changes this by at most 1, and a point
    that is off by little is drawn.

    Parameters
    ----------
    quantile : float
        Strictly between 0 and 1.
    lower, upper : float
        Public bounds; values outside are moved to the nearer one.
    points : int
        How many points the public grid has, at least 2.
    column : str, optional
        On tables: the column or SQL expression read.
    missing : {"raise", "skip"}
    by, public_columns
        Keys of a table, as in :class:`Query`: one quantile for each of their values.

    Examples
    --------
    >>> median = Quantile(.5, 0, 10, points=11)
    >>> median.tally([1, 2.2, 9])
    [0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    >>> median.losses(median.tally([1, 2.2, 9]))[:4].tolist()  # in halves of a record
    [3, 1, 0, 1]
    """

    kind: ClassVar[str] = "quantile"
    quantile: float
    lower: float
    upper: float
    points: int = 101
    column: str | None = None
    missing: Missing = "raise"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_missing(self.missing)
        share = check_number("quantile", self.quantile, above=0, below=1, error=QueryError)
        object.__setattr__(self, "quantile", share)
        low, high = check_bounds(self.lower, self.upper)
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)
        if isinstance(self.points, int) and self.points == 1:
            raise QueryError(
                "a grid of one point has nothing to choose from: give points=2 or more"
            )
        points = check_whole("points", self.points, least=2, most=_MOST_POINTS, error=QueryError)
        object.__setattr__(self, "points", points)

    @property
    def fraction(self) -> Fraction:
        """The quantile as it is drawn for."""
        return Fraction(repr(self.quantile)).limit_denominator(_FINEST)

    @property
    def step(self) -> float:
        """How far two points of the grid lie apart."""
        return (self.upper - self.lower) / (self.points - 1)

    @property
    def values(self) -> np.ndarray:
        """The points of the grid."""
        return np.linspace(self.lower, self.upper, self.points)

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        """In records that a point is off by."""
        return ((1, 1),) if self.has_private_keys else ((1,),)

    @property
    def assumed(self) -> tuple[str, ...]:
        return (
            f"values are clipped to the public range [{self.lower:g}, {self.upper:g}] and moved to "
            f"the nearest of {self.points:,} public points",
            *super().assumed,
            *(() if self.has_private_keys else ("the number of records is public",)),
        )

    @property
    def asked(self) -> str:
        what = "values" if self.column is None else self.column
        name = "median" if self.quantile == 0.5 else f"{self.quantile:g} quantile"
        return f"{name} of {what} on {self.points:,} points of [{self.lower:g}, {self.upper:g}]"

    def lacks(self, value: Any) -> bool:
        """Also a text that reads as NaN: a clip would leave it as it is."""
        return is_missing(value) or np.isnan(self._number(value))

    def _number(self, value: Any) -> float:
        try:
            return float(value)
        except OverflowError:
            return np.inf if value > 0 else -np.inf
        except (TypeError, ValueError):
            raise DataError("a quantile needs numbers; the data hold other values") from None

    def tally(self, values: Sequence[Any]) -> list[int]:
        """How many values lie at each point of the grid."""
        numbers = np.array([self._number(v) for v in self.present(values)], dtype=float)
        clipped = np.clip(numbers, self.lower, self.upper)
        index = np.rint((clipped - self.lower) / self.step).astype(np.int64)
        return np.bincount(index, minlength=self.points).tolist()

    def losses(self, counts: Any) -> np.ndarray:
        """How many records each point is off by, times the denominator of the quantile.

        Parameters
        ----------
        counts : array
            How many values lie at each point.
        """
        share, number = self.fraction, np.asarray(counts, dtype=np.int64)
        upto = number.cumsum(axis=-1)
        wanted = share.numerator * upto[..., -1:]
        below = share.denominator * (upto - number) - wanted
        above = wanted - share.denominator * upto
        return np.maximum(np.maximum(below, above), 0)

    def scores(self, states: Sequence[Any]) -> np.ndarray | None:
        """Which point of the grid each state lies at."""
        try:
            return np.array([int(np.argmax(self.tally([s]))) for s in states])
        except DataError:
            raise QueryError(
                f"a quantile needs numeric states; the model's are {list(states)!r}"
            ) from None


@dataclass(frozen=True, repr=False)
class Several(Query):
    """Several queries answered in one release, each with its share of one budget.

    Parameters
    ----------
    queries : tuple of Query
    weights : tuple of float
        How the budget is shared: of epsilon for Laplace noise, of mu^2 for Gaussian noise. Equal
        shares when left out.

    Examples
    --------
    >>> both = Several((Count(1), Mean(0, 1, n=9)), (3, 1))
    >>> [float(share) for query, share in both.parts]
    [0.75, 0.25]
    """

    kind: ClassVar[str] = "several"
    queries: tuple[Query, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        queries = check_items("query", self.queries, error=QueryError)
        for query in queries:
            check_kind("query", query, Query, "queries such as Count(1)", error=QueryError)
            if isinstance(query, Series | Several):
                raise QueryError(f"a {query.kind} is released alone, not among several queries")
            if getattr(query, "records", None) is not None:
                raise QueryError("records= is for a query on its own; put it into a release alone")
        if self.by or self.public_columns:
            raise QueryError("keys belong to the queries: Count(1, by=...)")
        if not queries:
            raise QueryError("an empty list of queries releases nothing; give one or more")
        weights = check_items("weights", self.weights, error=QueryError) or (1.0,) * len(queries)
        if len(weights) != len(queries):
            raise QueryError(f"{len(weights)} weights for {len(queries)} queries: one for each")
        told = [check_number("weights", w, above=0, error=QueryError) for w in weights]
        object.__setattr__(self, "queries", queries)
        object.__setattr__(self, "weights", tuple(told))

    @property
    def missing(self) -> Missing:
        """Whether any of them leaves missing rows out."""
        return "skip" if any(query.missing == "skip" for query in self.queries) else "raise"

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        """In units of what one record can move each of them by, over its share."""
        return ((1,),)

    @property
    def parts(self) -> tuple[tuple[Query, Fraction], ...]:
        total = sum(map(Fraction, self.weights))
        return tuple(
            (part, share * Fraction(weight) / total)
            for query, weight in zip(self.queries, self.weights, strict=True)
            for part, share in query.parts
        )

    @property
    def cells(self) -> int:
        return sum(query.cells for query in self.queries)

    @property
    def assumptions(self) -> tuple[str, ...]:
        keys = assume_keys([key for query in self.queries for key in query.by])
        return (*keys, *dict.fromkeys(text for query in self.queries for text in query.assumed))

    @property
    def asked(self) -> str:
        return "; ".join(map(str, self.queries))

    def tally(self, values: Sequence[Any]) -> list[int]:
        """The exact answers, one after another."""
        return [step for query in self.queries for step in query.on_grid(values)]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "query": self.kind,
            "queries": [query.to_dict() for query in self.queries],
            "weights": list(self.weights),
        }


_KINDS: dict[str, type[Query]] = {
    kind.kind: kind for kind in (Count, Sum, Mean, Histogram, Quantile, Series, Several)
}


def query_from_dict(data: dict[str, Any]) -> Query:
    """Inverse of ``query.to_dict()``.

    Examples
    --------
    >>> query_from_dict(Count(1).to_dict()) == Count(1)
    True
    >>> table = Several(Count(1, by={"place": ["a", "b"]}).rollup())
    >>> query_from_dict(table.to_dict()) == table
    True
    """
    told = dict(check_kind("query", data, dict, "a JSON object", error=QueryError))
    kind = told.pop("query", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise QueryError(f"unknown query {kind!r}; use one of {', '.join(_KINDS)}")
    try:
        if told.get("records") is not None:
            told["records"] = slice(*told["records"])
        if kind == "several":
            told["queries"] = tuple(query_from_dict(part) for part in told["queries"])
        return _KINDS[kind](**told)
    except (TypeError, KeyError) as error:
        raise QueryError(f"bad {kind} query: {error}") from None


def resolve(query: Query, length: int | None) -> Query:
    """Fill in what a query takes from the model: the public number of records of a mean."""
    if isinstance(query, Several):
        return replace(query, queries=tuple(resolve(part, length) for part in query.queries))
    plain = isinstance(query, Mean) and not query.by and query.where is None
    if isinstance(query, Mean) and plain and query.n is None and length is not None:
        return replace(query, n=length)
    return query
