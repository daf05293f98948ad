"""The level of a claim, what it still allows, and counts whose sensitivity is recomputed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.guarantees import GDP, Approximate, Pure, as_guarantee
from corrdp.linting.laws import read_object, real, whole, word
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
    Guerra-Balboa, dissertation, section 3.4.1; movements#counting-trees.

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


_SLACK = 1e-9  # a claim printed with nine digits is no mistake


@dataclass(frozen=True)
class Level:
    """epsilon and delta, or mu.

    Examples
    --------
    >>> Level(1.0), Level(1.0, 1e-5), Level(mu=0.5)
    (epsilon 1, (epsilon 1, delta 1e-05), mu 0.5)
    """

    epsilon: float | None = None
    delta: float = 0.0
    mu: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.mu is None):
            raise InputError("a level is epsilon (with delta, if there is one) or mu: give one")
        if self.mu is not None and self.delta:
            raise InputError("delta goes with epsilon; mu-GDP has none")

    @property
    def pure(self) -> bool:
        """epsilon alone."""
        return self.mu is None and self.delta == 0

    def __repr__(self) -> str:
        if self.mu is not None:
            return f"mu {self.mu:g}"
        if self.pure:
            return f"epsilon {self.epsilon:g}"
        return f"(epsilon {self.epsilon:g}, delta {self.delta:g})"

    def times(self, k: float) -> Level:
        """What is left of the claim for k changes at once (group privacy)."""
        if self.mu is not None:
            return Level(mu=k * self.mu)
        return Level(k * self.epsilon, min(1.0, self.impossible(k)))  # type: ignore[operator]

    def impossible(self, distance: float) -> float:
        r"""Largest probability of outputs that the other data set can never give.

        .. math:: 1 - f(0) = \delta\,(1 + e^\varepsilon + \dots + e^{(k-1)\varepsilon})

        where k is the distance; 0 for pure and Gaussian DP, whatever the distance.

        References
        ----------
        Guerra-Balboa, dissertation, proposition 3.6, in its approximate form;
        audits#impossible-outputs.

        Examples
        --------
        >>> round(Level(1.0, 1e-5).impossible(3), 8)
        0.00011107
        """
        if self.delta == 0 or distance == 0:
            return 0.0
        if math.isinf(distance):
            return 1.0
        assert self.epsilon is not None
        # in logs: e^(k epsilon) overflows long before a sum above 1 matters
        if self.epsilon == 0:
            return min(1.0, self.delta * distance)
        top = distance * self.epsilon
        if top + math.log(self.delta) > 700:
            return 1.0
        ratio = math.expm1(min(top, 700.0)) / math.expm1(min(self.epsilon, 700.0))
        return min(1.0, self.delta * ratio)

    def excess(self, p: np.ndarray, q: np.ndarray) -> tuple[float, str]:
        """By how much the laws of two neighbours break the claim, and in words; 0 if they do not.

        Examples
        --------
        >>> Level(1.0).excess(np.array([.9, .1]), np.array([.1, .9]))[1]
        'the loss is 2.19722'
        """
        if self.mu is not None:
            return _below(p, q, self.mu)
        assert self.epsilon is not None
        if self.pure:
            from corrdp.metric.fibres import exact_loss

            loss = float(exact_loss(np.array([p, q]))[0, 1])
            over, words = loss - self.epsilon - _SLACK, f"the loss is {loss:.6g}"
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                # q = 0 takes nothing away, also where e^epsilon is infinite
                scaled = np.where(q > 0, np.exp(self.epsilon) * q, 0.0)
            delta = float(np.maximum(p - scaled, 0.0).sum())
            over = delta - self.delta * (1 + _SLACK)
            words = f"delta at epsilon {self.epsilon:g} is {delta:.6g}"
        return (over, words) if over > 0 else (0.0, "")


def _below(p: np.ndarray, q: np.ndarray, mu: float) -> tuple[float, str]:
    from corrdp.metric.curves import GaussianCurve
    from corrdp.metric.finite import pair_curve

    curve, bound = pair_curve(p, q), GaussianCurve(mu)
    # straight pieces that are above a convex curve at their ends are above it in between
    gaps = np.asarray(bound(curve.alphas)) - curve.betas
    worst = int(gaps.argmax())
    if gaps[worst] <= _SLACK:
        return 0.0, ""
    return float(gaps[worst]), (
        f"a test of level {curve.alphas[worst]:.6g} errs with {curve.betas[worst]:.6g} only, where "
        f"mu {mu:g} promises {float(bound(curve.alphas[worst])):.6g}"
    )


def as_level(value: Any) -> Level:
    """A claim as it is usually given: a number (epsilon), a guarantee or a level.

    Examples
    --------
    >>> as_level(1), as_level(GDP(.5))
    (epsilon 1, mu 0.5)
    """
    if isinstance(value, Level):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and value == 0:
        return Level(0.0)
    promise = as_guarantee(value)
    if isinstance(promise, GDP) and not promise.is_vector:
        return Level(mu=promise.mu)
    if isinstance(promise, Approximate) and not promise.is_vector:
        return Level(promise.epsilon, promise.delta)
    if isinstance(promise, Pure) and not promise.is_vector:
        return Level(float(promise.epsilon))
    raise InputError(f"a claim is epsilon, (epsilon, delta) or mu; got {promise!r}")
