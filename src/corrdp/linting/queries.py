"""Counting queries whose sensitivity is known: what the linter recomputes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corrdp.errors import InputError
from corrdp.linting.fields import read_object, real, whole, word
from corrdp.metric.granularities import (
    Bounded,
    Event,
    Granularity,
    Local,
    LTrajectory,
    Trajectory,
    Unbounded,
    User,
    WEvent,
)

TREES = ("prefix-tree", "ngram-tree")
TYPES = ("count", "histogram", "sum", *TREES)


@dataclass(frozen=True)
class Counted:
    r"""A query, and by how much one unit moves it: so much for each of its rows.

    =============  =====================================  ===================================
    type           one row comes or goes (add)            one row changes (replace)
    =============  =====================================  ===================================
    count          1                                      1
    histogram      1                                      l1 2, l2 sqrt 2
    sum            max(abs(lower), abs(upper))            upper - lower
    prefix-tree    1 per level                            l1 2, l2 sqrt 2 per level
    ngram-tree     longest - n + 1 at level n             l1 twice, l2 sqrt 2 times that
    =============  =====================================  ===================================

    where

    - a prefix tree counts trajectories by their first n points, n up to ``levels``: a trajectory
      has one prefix of each length,
    - an n-gram tree counts every run of n successive points, in trajectories cut at ``longest``,
    - a row of a tree is a trajectory, of the others a record; all rows of a unit may fall into one
      cell, so that they multiply l1 and l2 alike.

    Parameters
    ----------
    type : str
    levels : int
        Of a tree.
    longest : int
        Points of a trajectory at most.
    lower, upper : float
        Range of one value in a sum.
    rows : int, optional
        How many rows of one unit it counts at most; 1 if left out.

    References
    ----------
    Guerra-Balboa, dissertation, section 3.4.1; docs/theorems.md#levels-of-a-counting-tree.

    Examples
    --------
    >>> Counted("ngram-tree", levels=3, longest=5).per_level("add")
    (5.0, 4.0, 3.0)
    >>> sum(Counted("prefix-tree", levels=3).per_level("replace"))
    6.0
    """

    type: str
    levels: int = 1
    longest: int | None = None
    lower: float = 0.0
    upper: float = 1.0
    rows: int | None = None

    def per_level(self, change: str, norm: str = "l1") -> tuple[float, ...]:
        """Sensitivity of each level, in l1 or l2."""
        return tuple((self.rows or 1) * moved for moved in self._one_row(change, norm))

    def _one_row(self, change: str, norm: str) -> tuple[float, ...]:
        added = change == "add"
        both = 1.0 if added else (2.0 if norm == "l1" else math.sqrt(2.0))
        if self.type == "count":
            return (1.0,)
        if self.type == "sum":
            width = max(abs(self.lower), abs(self.upper)) if added else self.upper - self.lower
            return (width,)
        if self.type == "ngram-tree":
            assert self.longest is not None
            return tuple(both * (self.longest - n) for n in range(self.levels))
        return (both,) * self.levels

    def one_answer(self, change: str) -> float:
        """By how much a single number of the answer moves at most."""
        if self.type == "sum":
            return self.per_level(change)[0]
        return float((self.rows or 1) * (self.longest or 1))

    def whole(self, change: str, norm: str = "l1") -> float:
        """Sensitivity of all levels together."""
        each = self.per_level(change, norm)
        return math.fsum(each) if norm == "l1" else math.hypot(*each)


def rows_of(query: Counted, unit: Granularity, data: Mapping[str, Any]) -> int | None:
    """How many rows of one unit a query counts at most; None if the description does not say.

    Parameters
    ----------
    query : Counted
    unit : Granularity
        Who is protected.
    data : mapping
        Of the description: ``steps`` is how many points a user or a trajectory has, and
        ``trajectories`` how many of them a user has.

    Examples
    --------
    >>> rows_of(Counted("histogram"), User(), {"steps": 2160})
    2160
    >>> rows_of(Counted("prefix-tree"), User(), {"steps": 2160, "trajectories": 10})
    10
    >>> rows_of(Counted("count"), User(), {})
    """
    if query.rows is not None:
        return query.rows
    if isinstance(unit, Bounded | Unbounded | Local):
        return 1
    if query.type in TREES:  # what one point of a trajectory moves is another number
        return 1 if isinstance(unit, Trajectory) else _given(unit, User, data, "trajectories")
    if isinstance(unit, WEvent | LTrajectory):
        return unit.w if isinstance(unit, WEvent) else unit.l
    return 1 if isinstance(unit, Event) else _given(unit, User | Trajectory, data, "steps")


def _given(unit: Granularity, kinds: Any, data: Mapping[str, Any], key: str) -> int | None:
    return data.get(key) if isinstance(unit, kinds) else None


def read_query(data: Any) -> Counted:
    """Read a query such as ``{"type": "prefix-tree", "levels": 3}``."""
    fields = {
        "type": word(*TYPES),
        "levels": _levels,
        "longest": whole,
        "lower": real,
        "upper": real,
        "rows": whole,
    }
    found = read_object("a query", data, fields, ("type",))
    own = {
        "sum": {"lower", "upper"},
        "prefix-tree": {"levels"},
        "ngram-tree": {"levels", "longest"},
    }.get(found["type"], set())
    given = set(found) - {"type", "rows"}
    if given != own:
        raise InputError(
            f"a {found['type']} has {', '.join(sorted(own)) or 'no further keys'}; got "
            f"{', '.join(sorted(given)) or 'none'} (each may have rows)"
        )
    query = Counted(**found)
    if not query.lower < query.upper:
        raise InputError(f"lower {query.lower:g} must be below upper {query.upper:g}")
    if query.longest is not None and query.longest < query.levels:
        raise InputError(f"levels {query.levels} exceed longest {query.longest}")
    return query


def _levels(value: Any) -> int:
    levels = whole(value)
    if levels > 10_000:
        raise InputError(f"a tree of {levels} levels cannot be counted")
    return levels
