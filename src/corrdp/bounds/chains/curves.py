r"""Transfer on two states with whole curves of delta instead of single pairs (delta#curves).

A guarantee such as GDP promises f(x) <= e^e f(x') + D(e) for *every* e. Between two laws p, q

.. math:: E_p f \le e^L E_q f + H\, D\big(\ln(1 + (e^L - 1)/H)\big), \qquad H = H_L(p, q),

for every L: a curve goes in and a curve comes out, and no epsilon has to be chosen on the way.
Curves are kept at equal steps of the level. Between two steps they are straight in e^L, which is
valid, since two inequalities may be averaged: every number here is an upper bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np

from corrdp._compiled import inlined, njit
from corrdp.bounds.chains.sweep import first_weights
from corrdp.bounds.chains.transfer import search_distances, shapes
from corrdp.bounds.chains.two_states import gain, oscillation
from corrdp.bounds.contraction import limit_with_skipping
from corrdp.bounds.scope import ROUNDING, Reach
from corrdp.bounds.steps import ULP, eta
from corrdp.guarantees import Guarantee
from corrdp.metric.profiles import profile_of
from corrdp.models.chains.markov import MarkovChain

_POINTS = 256  # of a curve
_FURTHEST = 128  # distance up to which known records are looked for
_CLOSED = 1e-4  # relative gap between found and certified at which pairs have looked far enough
_NEAR = 1e-3  # the same for curves; above it pairs may be sharper
_TRIES = 3  # levels up to which curves are followed
_UNKNOWN = 50.0  # a log-oscillation of the weights from which they say nothing
_LOOSE = 1.01  # a limit is raised by this, and then shown not to rise any more
_SHARE = 0.05  # of the limit, to guess how far a curve must go
_UP = 1.0 + 1e-13  # rounding of one step

# the laws of the next record given 0 and given 1, state by state, and how sure their weights are
Laws = tuple[float, float, float, float, float]


@njit(cache=True)
def _together(first: np.ndarray, second: np.ndarray, grown: np.ndarray, out: np.ndarray) -> None:
    """Two changes one after the other, in either order: the least over how a level is shared."""
    for k in range(len(out)):
        least = 1.0
        for i in range(k + 1):
            a, b = first[i], second[k - i]
            least = min(least, a + grown[i] * b, b + grown[k - i] * a)
        out[k] = least * _UP


@inlined
def _at(curve: np.ndarray, grown: np.ndarray, step: float, value: float) -> float:
    """The curve at ln(value): straight in between, constant at the end."""
    i = min(int(math.log(value) / step), len(curve) - 1)
    while i > 0 and grown[i] > value:
        i -= 1
    if i >= len(curve) - 1:
        return curve[-1]
    share = max(min((value - grown[i]) / (grown[i + 1] - grown[i]), 1.0), 0.0)
    return (curve[i] + (curve[i + 1] - curve[i]) * share) * _UP


@njit(cache=True)
def _changed(
    curve: np.ndarray,
    grown: np.ndarray,
    step: float,
    laws: Laws,
    spread: float,
    out: np.ndarray,
) -> None:
    """The change from law q to law p, which has more of the state that the curve is for.

    ``laws`` are p and q of that state and of the other one. H is theirs, or, where common weights
    are known up to ``unsure``, the largest that it can be; the result rises with it.
    """
    p, q, p1, q1, unsure = laws
    kappa = gain(unsure, q1, p1) if unsure <= _UNKNOWN else 0.0
    for k in range(len(out)):
        share = p * (1.0 + 4.0 * ULP) - grown[k] * q
        if unsure > 0.0:
            share = eta(k * step, spread)
            if unsure <= _UNKNOWN:
                heavy = math.exp(unsure) * p
                known = 1.0 + 8.0 * ULP - math.exp(k * step - kappa) * q / p
                share = min(share, max(known, 0.0) * heavy / (heavy + p1))
        out[k] = 0.0
        if share > 1e-300:
            out[k] = share * _at(curve, grown, step, 1.0 + (grown[k] - 1.0) / share) * _UP


class _Grid:
    """Equal steps of the level, and what is done with curves on them."""

    def __init__(self, highest: float, spread: float) -> None:
        self.levels = np.linspace(0.0, highest, _POINTS + 1)
        self.step, self.spread = highest / _POINTS, spread
        self.grown = np.exp(self.levels)

    def together(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Two changes one after the other."""
        out = np.empty_like(first)
        _together(first, second, self.grown, out)
        return out

    def three(self, own: np.ndarray, right: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Three changes, each of them last once."""
        ways = (own, right, left), (right, left, own), (own, left, right)
        return np.minimum.reduce([self.together(self.together(a, b), c) for a, b, c in ways])

    def changed(self, curve: np.ndarray, laws: Laws, spread: float) -> np.ndarray:
        """A change of law."""
        out = np.empty_like(curve)
        _changed(curve, self.grown, self.step, laws, spread, out)
        return out

    def follow(self, own: np.ndarray, start: np.ndarray, laws: Iterable[Laws]) -> np.ndarray:
        """What lies beside a record at distances 0, 1, .. of a boundary, (.., 2, points).

        By direction, 0 over 1 and 1 over 0.
        """
        found, curves = [np.zeros((2, len(own)))], (start, start)
        for p, q, p1, q1, unsure in laws:
            there, back = (p, q, p1, q1, unsure), (q1, p1, q, p, unsure)
            if p <= q:
                there, back, curves = (p1, q1, p, q, unsure), (q, p, q1, p1, unsure), curves[::-1]
            pair = zip(curves, (there, back), strict=True)
            found.append(np.array([self.changed(c, law, self.spread) for c, law in pair]))
            curves = self.together(own, found[-1][0]), self.together(own, found[-1][1])
        return np.array(found)

    def limit(self, own: np.ndarray, diameters: np.ndarray, epsilon: float) -> np.ndarray:
        """A record and all beyond it on one side, however many there are (delta#sides)."""
        jump = limit_with_skipping(epsilon, diameters[None])[1]
        skipped = np.zeros_like(own)
        for _ in range(jump - 1):
            skipped = self.together(own, skipped)
        block, any_law = self.together(own, skipped), (1.0, 1.0, 0.0, 0.0, math.inf)
        worth, tries = block, 0
        while True:
            beyond = self.changed(worth, any_law, float(diameters[jump - 1]))
            again = self.together(block, beyond)
            if (again <= worth).all():  # what one more record does not raise, none does
                return self.together(own, self.together(skipped, beyond))
            near = tries > 2000 or bool((again <= worth * _LOOSE).all())
            worth, tries = again * (_LOOSE if near else 1.0), tries + 1

    def level(self, curve: np.ndarray, limit: float) -> float:
        """The least level with this delta; inf where the curve does not come down to it."""
        kept = np.flatnonzero(curve <= limit)
        if not len(kept):
            return math.inf
        k = int(kept[0])
        if k == 0:
            return 0.0
        share = (curve[k - 1] - limit) / (curve[k - 1] - curve[k])
        return math.log(self.grown[k - 1] + (self.grown[k] - self.grown[k - 1]) * share)


def _known(kernel: np.ndarray, weights: np.ndarray, reach: int) -> Iterator[Laws]:
    """Laws of the next record towards a boundary with these weights, at distances 1, 2, .. ."""
    for _ in range(reach):
        rows = kernel * weights
        sums = rows.sum(axis=1)
        (p, p1), (q, q1) = (rows / sums[:, None]).tolist()
        yield p, q, p1, q1, 0.0
        weights = sums / sums.max()


def _uncertain(kernel: np.ndarray, reach: int) -> Iterator[Laws]:
    """The same towards any boundary at least that far away."""
    ends = np.eye(2)  # weights that either state of the boundary alone gives, by column
    unsure = math.inf
    for _ in range(reach):
        weights = ends.sum(axis=1)
        *laws, _ = next(_known(kernel, weights, 1))
        yield laws[0], laws[1], laws[2], laws[3], unsure
        ends = kernel @ ends
        ends /= ends.max(axis=0)
        low, high = ends.sum(axis=1).tolist()
        unsure = max(oscillation(one[0], one[1], low, high) for one in ends.T.tolist())


def least_level(
    chain: MarkovChain, guarantee: Guarantee, own: Guarantee, size: int, limit: float
) -> float:
    """The leakage of a window at a Delta; inf where curves do not tell.

    Parameters
    ----------
    chain : MarkovChain
        One kernel, two states, no zeros.
    guarantee, own : guarantee
        Of one record and of the whole window, both one for all.
    size : int
        Of the window.
    limit : float
        Delta.

    Notes
    -----
    O(G points^2) for known records up to a distance G of at most 128. Chains that forget more
    slowly are left to pairs, which look further.
    """
    alive = np.flatnonzero(chain.occurring)
    kernel = np.ascontiguousarray(chain.transition[np.ix_(alive, alive)])
    diameters = chain.skips.table[0]
    record, unit = profile_of(guarantee), profile_of(own)
    eps = record.epsilon(_SHARE * limit)
    highest = unit.epsilon(_SHARE * limit) - eps
    highest += limit_with_skipping(eps, diameters[None])[0]
    if not 0.0 < highest < math.inf:  # at 0 the limit covers the guarantee whole: pairs say 0
        return math.inf
    apart = eps * (1.0 - np.eye(2))[None]
    pairs = search_distances(chain, alive, apart, Reach(), record.delta(eps), _CLOSED)
    if not pairs.closed or pairs.reach > _FURTHEST:
        return math.inf
    count, reach = None, pairs.reach
    if chain.length is not None:
        count, reach = chain.length - size + 1, min(reach, chain.length - size)
    ways = (kernel, np.ones(2)), (np.ascontiguousarray(kernel.T), first_weights(chain, alive))
    for _ in range(_TRIES):
        grid = _Grid(highest, float(diameters[0]))
        curves = np.asarray(record.delta(grid.levels)), np.asarray(unit.delta(grid.levels))
        far = grid.limit(curves[0], diameters, eps)
        sides = [_by_number(grid, curves[0], far, rows, end, reach) for rows, end in ways]
        found, sure = (
            grid.level(_worst(grid, curves[1], right, left, count, size == 1), limit)
            for right, left in zip(*sides, strict=True)
        )
        if sure < math.inf:
            return sure * (1.0 + ROUNDING) if sure <= found * (1.0 + _NEAR) else math.inf
        highest *= 1.5
    return math.inf


def _by_number(
    grid: _Grid, own: np.ndarray, far: np.ndarray, kernel: np.ndarray, end: np.ndarray, reach: int
) -> tuple[np.ndarray, np.ndarray]:
    """The worst on one side by its number of records, found and certified, (reach + 2, 2, points).

    The last entry is for more than ``reach`` records.
    """
    nothing = np.zeros_like(own)
    known = [grid.follow(own, nothing, _known(kernel, row, reach)) for row in np.eye(2)]
    free = grid.follow(own, own, _known(kernel, end, reach))
    running = np.maximum.accumulate(np.maximum(*known), axis=0)
    last = np.maximum(running[-1], free.max(axis=0))
    found = np.concatenate([np.maximum(running, free), last[None]])
    sure = found.copy()
    sure[-1] = np.maximum(last, grid.follow(own, far, _uncertain(kernel, max(reach, 1)))[-1])
    return found, sure


def _worst(
    grid: _Grid,
    own: np.ndarray,
    right: np.ndarray,
    left: np.ndarray,
    count: int | None,
    one: bool,
) -> np.ndarray:
    """The worst curve over the places of a window and the values at its ends."""
    reach = len(right) - 2
    if count is not None and count > 2 * (reach + 1):
        count = None  # more than the reach on both sides of some window, which is the worst
    at_right, at_left, _ = shapes(count, reach)
    middle = int(np.abs(at_right - at_left).argmin())
    worst = np.zeros_like(own)
    for a, b in ((0, 0), (1, 1)) if one else itertools.product((0, 1), (0, 1)):
        ends = right[at_right, a], left[at_left, b]
        # places whose sides are both below those of the middle are not the worst
        open_ = np.any([(part > part[middle]).any(axis=1) for part in ends], axis=0)
        open_[middle] = True
        for k in np.flatnonzero(open_):
            worst = np.maximum(worst, grid.three(own, ends[0][k], ends[1][k]))
    return worst
