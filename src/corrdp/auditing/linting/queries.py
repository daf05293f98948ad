"""Counting queries whose sensitivity is known: what the linter recomputes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from corrdp.auditing.linting.fields import read_object, real, whole, word
from corrdp.errors import InputError

TYPES = ("count", "histogram", "sum", "prefix-tree", "ngram-tree")


@dataclass(frozen=True)
class Counted:
    r"""A query, and by how much one unit moves it.

    =============  =====================================  ===================================
    type           one unit comes or goes (add)           one unit changes (replace)
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
    - an n-gram tree counts every run of n successive points, in trajectories cut at ``longest``.

    Parameters
    ----------
    type : str
    levels : int
        Of a tree.
    longest : int
        Points of a trajectory at most.
    lower, upper : float
        Range of one value in a sum.

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

    def per_level(self, change: str, norm: str = "l1") -> tuple[float, ...]:
        """Sensitivity of each level, in l1 or l2."""
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
        return float(self.longest or 1)

    def whole(self, change: str, norm: str = "l1") -> float:
        """Sensitivity of all levels together."""
        each = self.per_level(change, norm)
        return math.fsum(each) if norm == "l1" else math.hypot(*each)


def read_query(data: Any) -> Counted:
    """Read a query such as ``{"type": "prefix-tree", "levels": 3}``."""
    fields = {
        "type": word(*TYPES),
        "levels": _levels,
        "longest": whole,
        "lower": real,
        "upper": real,
    }
    found = read_object("a query", data, fields, ("type",))
    own = {
        "sum": {"lower", "upper"},
        "prefix-tree": {"levels"},
        "ngram-tree": {"levels", "longest"},
    }.get(found["type"], set())
    if set(found) - {"type"} != own:
        raise InputError(
            f"a {found['type']} has {', '.join(sorted(own)) or 'no further keys'}; got "
            f"{', '.join(sorted(set(found) - {'type'})) or 'none'}"
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
