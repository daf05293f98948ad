"""Exact for finitely many: trade-off curves of outputs, relations of data sets, distances.

The curves are piecewise linear; a granularity is a relation between data sets, with its neighbour
types; distances may be infinite: zero times infinity is infinity, and NaN never gets out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from corrdp._checks import shown
from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.curves import Curve, check_times
from corrdp.metric.domains import Domain

_SAME = 1e-13  # log likelihood ratios this close belong to one piece of the curve
_ATOMS = 2_000_000
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class FiniteCurve(Curve):
    """The curve of two laws on finitely many outputs; make one with :func:`pair_curve`.

    Parameters
    ----------
    p, q : arrays
        Probabilities of the outputs under H0 and H1, by falling likelihood ratio q/p.

    Examples
    --------
    >>> curve = pair_curve([.7, .2, .1], [.1, .2, .7])
    >>> curve.alphas.round(6).tolist(), curve.betas.round(6).tolist()
    ([0.0, 0.1, 0.3, 1.0], [1.0, 0.3, 0.1, 0.0])
    """

    p: np.ndarray
    q: np.ndarray
    symmetric = False

    @cached_property
    def alphas(self) -> np.ndarray:
        """Type I errors of the corners, from 0 to 1."""
        return np.minimum(np.r_[0.0, np.cumsum(self.p[self._first :])], 1.0)

    @cached_property
    def betas(self) -> np.ndarray:
        """Type II errors of the corners; summed from the small end, so that the tail is exact."""
        return np.minimum(np.r_[np.cumsum(self.q[self._first :][::-1])[::-1], 0.0], 1.0)

    @property
    def _first(self) -> int:
        """Outputs impossible under H0 are rejected at level 0; atoms are merged, so one at most."""
        return int(self.p[0] == 0.0)

    @cached_property
    def _corner_gaps(self) -> np.ndarray:
        differences = np.r_[self.q[0] if self._first else 0.0, (self.q - self.p)[self._first :]]
        rising = np.cumsum(differences)
        falling = -np.r_[np.cumsum(differences[:0:-1])[::-1], 0.0]
        # the sum from the nearer end has the smaller rounding error
        return np.where(self.alphas < 0.5, rising, falling)

    def _errors(self, alpha: np.ndarray) -> np.ndarray:
        return np.interp(alpha, self.alphas, self.betas)

    def _gaps(self, alpha: np.ndarray) -> np.ndarray:
        return np.interp(alpha, self.alphas, self._corner_gaps)

    @property
    def peak(self) -> float:
        return float(self.alphas[self._corner_gaps.argmax()])

    @property
    def total_variation(self) -> float:
        return float(self._corner_gaps.max())

    def group(self, k: int) -> FiniteCurve:
        curve = self
        for _ in range(check_times(k) - 1):
            curve = _chained(self, curve)
        return curve

    def __repr__(self) -> str:
        return f"FiniteCurve({len(self.alphas) - 1} pieces, TV {self.total_variation:.6g})"


def pair_curve(p: Sequence[float] | np.ndarray, q: Sequence[float] | np.ndarray) -> FiniteCurve:
    r"""The trade-off curve of two laws on the same finitely many outputs.

    .. math:: T(P, Q)(\alpha) = \min \{1 - \sum_\theta \phi_\theta q_\theta :
              \sum_\theta \phi_\theta p_\theta \le \alpha\}

    where

    - phi is a test: the probability of rejecting H0 (the law p) at each output theta,
    - by Neyman and Pearson the best one rejects the outputs of largest q/p first.

    Parameters
    ----------
    p, q : sequences of float
        Probabilities under H0 and under H1.

    References
    ----------
    Neyman and Pearson (1933); Dong, Roth, Su (2022), definition 2.

    Examples
    --------
    >>> pair_curve([.25, .75], [.75, .25])(.25)
    0.25
    """
    laws = [_law(name, values) for name, values in (("p", p), ("q", q))]
    if laws[0].shape != laws[1].shape:
        raise InputError(f"p and q are on the same outputs; got {len(laws[0])} and {len(laws[1])}")
    return _sorted_curve(*laws)


def _law(name: str, values: Any) -> np.ndarray:
    try:
        law = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be probabilities: {error}") from None
    if law.ndim != 1 or not law.size or not np.isfinite(law).all() or (law < 0).any():
        raise InputError(f"{name} must be a vector of probabilities, got {values!r}")
    off = float(law.sum()) - 1.0
    if abs(off) > _TOLERANCE:
        raise InputError(f"{name} sums to {1 + off:.12g}, off by {off:.3g}")
    return law


def _sorted_curve(p: np.ndarray, q: np.ndarray) -> FiniteCurve:
    seen = (p > 0) | (q > 0)
    p, q = p[seen], q[seen]
    with np.errstate(divide="ignore"):
        ratio = np.log(q) - np.log(p)
    # pieces of one slope are one piece; inf and -inf stay as they are
    key = np.round(-ratio / _SAME)
    _, piece = np.unique(key, return_inverse=True)
    return FiniteCurve(np.bincount(piece, p), np.bincount(piece, q))


def channel_curve(channel: np.ndarray) -> FiniteCurve:
    r"""The curve of a finite mechanism: the largest f for which it is f-DP.

    .. math:: f = \text{the lower convex hull of } T(P_x, P_{x'}) \text{ over all pairs } x \ne x'

    where P_x is the law of the output for record x; any two records are neighbours.

    Parameters
    ----------
    channel : (records, outputs) array
        Rows sum to 1.

    Notes
    -----
    O(m^2 k log(m^2 k)) for m records and k outputs.

    References
    ----------
    Dong, Roth, Su (2022), section 2.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> round(channel_curve(GRR(4, 1.0).channel()).total_variation, 6)
    0.300489
    """
    law = np.asarray(channel, dtype=float)
    if law.ndim != 2 or len(law) < 2:
        raise InputError(f"a channel needs two or more records as rows, got shape {law.shape}")
    rows = [_law(f"row {x} of the channel", row) for x, row in enumerate(law)]
    points = np.empty((0, 2))
    for x, p in enumerate(rows):
        others = [_sorted_curve(p, q) for y, q in enumerate(rows) if y != x]
        corners = [np.c_[curve.alphas, curve.betas] for curve in others]
        # the hull so far is all that matters of the pairs before
        points = _lower_hull(np.concatenate([points, *corners]))
    alphas, betas = points.T
    p, q = np.r_[0.0, np.diff(alphas)], np.r_[1.0 - betas[0], -np.diff(betas)]
    return _sorted_curve(p, q)


def _lower_hull(points: np.ndarray) -> np.ndarray:
    """Corners of the lower convex hull from the least alpha to the greatest (Andrew's chain)."""
    hull: list[tuple[float, float]] = []
    for x, y in sorted(set(map(tuple, points.tolist()))):
        if hull and x == hull[-1][0]:
            continue  # above the point before
        while len(hull) > 1:
            (x1, y1), (x2, y2) = hull[-2:]
            if (x2 - x1) * (y - y1) > (y2 - y1) * (x - x1):
                break
            hull.pop()
        hull.append((x, y))
    return np.array(hull)


def product(first: FiniteCurve, second: FiniteCurve) -> FiniteCurve:
    """The curve of both outputs together: T(P x P', Q x Q')."""
    atoms = len(first.p) * len(second.p)
    if atoms > _ATOMS:
        raise NotApplicableError(
            f"the product has {atoms} likelihood ratios, more than {_ATOMS}; compose "
            "(epsilon, delta) or mu instead"
        )
    p = np.multiply.outer(first.p, second.p).ravel()
    return _sorted_curve(p, np.multiply.outer(first.q, second.q).ravel())


def _chained(outer: FiniteCurve, inner: FiniteCurve) -> FiniteCurve:
    """1 - h(k(alpha)) for h = 1 - outer and k = 1 - inner: corners of k, and where k meets h's."""
    # k is strictly rising until it reaches 1
    reached = 1.0 - inner.betas
    last = int(np.argmax(reached >= 1.0)) + 1
    back = np.interp(outer.alphas, reached[:last], inner.alphas[:last])
    alphas = np.unique(np.r_[inner.alphas, back[outer.alphas >= reached[0]], 0.0, 1.0])
    alphas = alphas[np.r_[True, np.diff(alphas) > 1e-15]]
    betas = np.asarray(outer(np.clip(1.0 - inner(alphas), 0.0, 1.0)))
    p, q = np.r_[0.0, np.diff(alphas)], np.r_[1.0 - betas[0], -np.diff(betas)]
    return _sorted_curve(p, np.maximum(q, 0.0))


def check_distance(name: str, value: object) -> float:
    """``value`` as a float in [0, inf]; NaN and negative numbers are refused."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number >= 0 or inf, got {shown(value)}") from None
    if not number >= 0:
        raise InputError(f"{name} must be a number >= 0 or inf, got {number!r}")
    return number


def scaled(factor: float, distance: float) -> float:
    r"""A distance times a factor, where :math:`c \cdot \infty = \infty` **even for c = 0**.

    where

    - the distance is that of two data sets, infinite if no chain of neighbours joins them,
    - 0-DP says nothing about such a pair: the product must stay infinite. (Two counts of fixed-size
      parts are 0-DP each and reveal everything together; ``0 * inf`` is NaN in Python, and 0 in
      measure theory.)

    Parameters
    ----------
    factor, distance : float in [0, inf]

    References
    ----------
    Guerra-Balboa, dissertation, definition 2.5, proposition 2.6 and example 2.16.

    Examples
    --------
    >>> scaled(0.0, float("inf")), scaled(0.5, 3)
    (inf, 1.5)
    """
    factor, distance = check_distance("factor", factor), check_distance("distance", distance)
    if math.isinf(distance):
        return math.inf
    return 0.0 if distance == 0 else factor * distance


def combined(losses: Iterable[float], *, gaussian: bool = False) -> float:
    r"""The loss of several releases between two data sets, from the loss of each.

    .. math:: d = \sum_i d_i \quad\text{(pure)}, \qquad d = \sqrt{\sum_i d_i^2} \quad
              \text{(Gaussian)}

    where d_i is the loss of release i, possibly infinite.

    Parameters
    ----------
    losses : iterable of float in [0, inf]
    gaussian : bool

    References
    ----------
    Guerra-Balboa, dissertation, theorems 4.1 and 4.16.

    Examples
    --------
    >>> combined([.2, .5, 1.0]), combined([3, 4], gaussian=True), combined([0, float("inf")])
    (1.7, 5.0, inf)
    """
    each = [check_distance("loss", loss) for loss in losses]
    return math.hypot(*each) if gaussian else math.fsum(each)


@dataclass(frozen=True)
class Change:
    """A neighbour type: one way in which two neighbours differ, for every pair that does so.

    ``kind`` is "add" (an atom), "replace" (two atoms), "record" (its number and two atoms),
    "edge" (two vertices), "cells" (pairs of user and time step) or "pair" (two data sets).
    """

    kind: str
    where: tuple[Any, ...]

    def __str__(self) -> str:
        if self.kind == "add":
            return f"one record {self.where[0]!r} more or less"
        if self.kind == "replace":
            return f"one record {self.where[0]!r} replaced by {self.where[1]!r}"
        if self.kind == "record":
            i, one, two = self.where
            return f"record {i} is {one!r} or {two!r}"
        if self.kind == "edge":
            return f"edge {self.where[0]}-{self.where[1]} present or not"
        if self.kind == "pair":
            return f"{_short(self.where[0])} against {_short(self.where[1])}"
        cells = ", ".join(f"user {u} at step {t}" for u, t in self.where[:6])
        return f"cells of {cells}" + (", .." if len(self.where) > 6 else "")


def _short(data: Any) -> str:
    """A data set in one line; graphs as sorted edges."""
    text = repr(sorted(data) if isinstance(data, frozenset) else data)
    return text if len(text) <= 200 else f"{text[:196]} ..."


def changed_cells(a: Any, b: Any) -> list[tuple[int, int]]:
    """Cells (user, step) in which two streams differ."""
    return [
        (u, t)
        for u, (row, other) in enumerate(zip(a, b, strict=True))
        for t, (x, y) in enumerate(zip(row, other, strict=True))
        if x != y
    ]


def same_presence(a: Any, b: Any) -> bool:
    """Whether two streams lack points in the same cells."""
    return all(
        (x is None) == (y is None)
        for row, other in zip(a, b, strict=True)
        for x, y in zip(row, other, strict=True)
    )


def symmetric_difference(a: Any, b: Any) -> int:
    """Records in one multiset and not in the other, with multiplicity.

    Examples
    --------
    >>> symmetric_difference("aab", "abb")
    2
    """
    one, two = Counter(a), Counter(b)
    return sum(((one - two) + (two - one)).values())


def hamming(a: Any, b: Any) -> int:
    """Positions at which two tuples of one length differ."""
    return sum(x != y for x, y in zip(a, b, strict=True))


class Granularity(ABC):
    """A symmetric, irreflexive relation between data sets: the neighbours.

    ``related`` is the predicate, ``types`` the neighbour types of a domain that is too large to
    list, ``vacuous`` the reason why no data set has a neighbour. ``symmetric`` says that the
    predicate is known to be symmetric; otherwise every pair is asked both ways.
    """

    name: ClassVar[str]
    shapes: ClassVar[tuple[str, ...]]
    symmetric: ClassVar[bool] = False

    def check(self, domain: Domain) -> None:
        """Refuse a domain on which the granularity has no meaning."""
        if domain.shape not in self.shapes:
            raise InputError(
                f"{self} granularity is for {' and '.join(self.shapes)} domains; "
                f"this domain is a {domain.shape}"
            )

    @abstractmethod
    def related(self, domain: Domain, a: Any, b: Any) -> bool:
        """Whether two data sets are neighbours."""

    def vacuous(self, domain: Domain) -> str | None:
        """Why no data set of the domain has a neighbour; None if some has."""
        return None

    def types(self, domain: Domain) -> Iterator[Change]:
        """Every neighbour type; one of each pair of opposite changes."""
        raise InputError(f"{self} has no neighbour types on a {domain.type} domain; list it")

    def __str__(self) -> str:
        return self.name

    def to_json(self) -> Any:
        """The name, or a dict with the parameters."""
        return str(self)


def neighbour_pairs(
    domain: Domain, granularity: Granularity, items: Sequence[Any]
) -> Iterator[tuple[int, int]]:
    """Numbers (i, j), j < i, of the listed data sets that are neighbours. O(N^2) questions.

    A predicate that holds one way round only is refused: with it, who is protected from whom
    would depend on the order of the list.

    Parameters
    ----------
    domain : Domain
    granularity : Granularity
    items : sequence
        Data sets of the domain.

    References
    ----------
    Guerra-Balboa, dissertation, section 2.2.

    Examples
    --------
    >>> from corrdp.metric.domains import TupleDomain
    >>> from corrdp.metric.granularities import Bounded
    >>> cube = TupleDomain(3, (0, 1))
    >>> len(list(neighbour_pairs(cube, Bounded(), cube.databases())))
    12
    """
    for i, a in enumerate(items):
        for j, b in enumerate(items[:i]):
            near = granularity.related(domain, a, b)
            if not granularity.symmetric and near != granularity.related(domain, b, a):
                raise InputError(
                    f"{granularity} is no granularity: {a!r} and {b!r} are neighbours in one "
                    "order and not in the other; make the relation symmetric"
                )
            if near:
                yield i, j
