"""Transfer on two states when the guarantee has a delta, and for windows (delta#bridges).

The recursion of :mod:`corrdp.bounds.chains.two_states` with a second number for each direction.
With f(0) <= e^{up} f(1) + d_up and f(1) <= e^{down} f(0) + d_down, a change between two laws p, q
with more of state 0 in p is the step (L, H d_up), L = Lambda(up; p, q) and H = p(0) - e^L q(0).
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import inlined, njit
from corrdp.bounds.chains.sides import limit_steps
from corrdp.bounds.chains.sweep import first_weights
from corrdp.bounds.chains.two_states import gain, is_lost, oscillation
from corrdp.bounds.levels import close
from corrdp.bounds.mixtures import star
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope
from corrdp.bounds.steps import Steps, eta, joined
from corrdp.bounds.units import ONE, of_unit
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import skip_diameters
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Kind

REFERENCE = "theorem delta#bridges, two states"
_VANISHED = 1e-280  # a possible weight below has lost its digits
_UNKNOWN = 50.0  # a log-oscillation of the weights from which they say nothing
_SLACK = 1.0 + 1e-13  # what a few thousand steps of rounding can do to a delta
_CLOSED = 1e-7  # relative gap between what is found and what is certified that ends the search
_FURTHEST = 2**14


@inlined
def _law_step(
    up: float,
    down: float,
    d_up: float,
    d_down: float,
    p: float,
    p_not: float,
    q: float,
    q_not: float,
) -> tuple[float, float]:
    """Level and delta of changing the law q for the law p; p of state 0, p_not of state 1."""
    if p > q:
        level = gain(up, p, q)
        return level, max(p - math.exp(level) * q, 0.0) * d_up * _SLACK
    level = gain(down, p_not, q_not)
    return level, max(p_not - math.exp(level) * q_not, 0.0) * d_down * _SLACK


@njit(cache=True, error_model="numpy")
def from_known(
    kernel: np.ndarray, w0: float, w1: float, eps: float, delta: float, costs: np.ndarray
) -> int:
    """Fill ``costs[j]`` with level and delta of a side by distance j; nan where impossible.

    Parameters
    ----------
    kernel : (2, 2) array
        Towards the boundary.
    w0, w1 : float
        Weights of the record at the boundary: one of them 0 where it is known.
    eps, delta : float
    costs : (reach + 1, 2, 2) array of nan
        By distance, direction (0 over 1, 1 over 0), and level or delta.

    Returns
    -------
    int
        The largest distance filled; less than the reach where a weight was lost.
    """
    k00, k01, k10, k11 = kernel[0, 0], kernel[0, 1], kernel[1, 0], kernel[1, 1]
    up, down, d_up, d_down = 0.0, 0.0, 0.0, 0.0
    if w0 > 0.0 and w1 > 0.0:
        up, down, d_up, d_down = eps, eps, delta, delta
    for j in range(1, len(costs)):
        p, p_not, q, q_not = k00 * w0, k01 * w1, k10 * w0, k11 * w1
        if (
            is_lost(p, k00, w0)
            or is_lost(p_not, k01, w1)
            or is_lost(q, k10, w0)
            or is_lost(q_not, k11, w1)
        ):
            return j - 1
        from_0, from_1 = p + p_not, q + q_not
        top = max(from_0, from_1)
        if top == 0.0:
            break  # no record comes before this boundary
        w0, w1 = from_0 / top, from_1 / top
        if 0.0 < min(w0, w1) < _VANISHED:
            return j - 1
        if min(w0, w1) == 0.0:
            up, down, d_up, d_down = 0.0, 0.0, 0.0, 0.0
            continue
        p, p_not, q, q_not = p / from_0, p_not / from_0, q / from_1, q_not / from_1
        there, d_there = _law_step(up, down, d_up, d_down, p, p_not, q, q_not)
        back, d_back = _law_step(up, down, d_up, d_down, q, q_not, p, p_not)
        costs[j, 0, 0], costs[j, 0, 1] = there, d_there
        costs[j, 1, 0], costs[j, 1, 1] = back, d_back
        up, d_up = there + eps, joined(eps, delta, there, d_there)
        down, d_down = back + eps, joined(eps, delta, back, d_back)
    return len(costs) - 1


@inlined
def _wide_step(
    up: float,
    down: float,
    d_up: float,
    d_down: float,
    p: float,
    p_not: float,
    q: float,
    q_not: float,
    unsure: float,
    spread: float,
    more_in_0: bool,
) -> tuple[float, float]:
    """The same when the common weights are known up to the log-oscillation ``unsure``."""
    reach, d = (up, d_up) if more_in_0 else (down, d_down)
    level, rare = star(reach, spread), 1.0
    if unsure <= _UNKNOWN:
        one, other, one_q, other_q = (p, p_not, q, q_not) if more_in_0 else (p_not, p, q_not, q)
        # what the weights may do to the ratio of the two means of h
        kappa = max(gain(unsure, one_q, one), gain(unsure, other_q, other))
        level = min(level, gain(reach + unsure, one, one_q) + kappa)
        share = max(one - math.exp(level - kappa) * one_q, 0.0) / one if one > 0.0 else 0.0
        heavy = math.exp(unsure) * one
        rare = heavy * share / (heavy + other) if heavy + other > 0.0 else 1.0
    return level, min(rare, eta(level, spread)) * d * _SLACK


@njit(cache=True, error_model="numpy")
def from_beyond(
    kernel: np.ndarray,
    more_in_0: bool,
    spread: float,
    eps: float,
    delta: float,
    far: tuple[float, float],
    costs: np.ndarray,
) -> None:
    """Fill ``costs[-1]`` with what holds for every boundary at least that far away.

    ``more_in_0`` says whether row 0 has more of state 0 than row 1 has, as a share; ``far`` is
    what the record at the boundary and all beyond it are worth.
    """
    k00, k01, k10, k11 = kernel[0, 0], kernel[0, 1], kernel[1, 0], kernel[1, 1]
    up, down, d_up, d_down, unsure = far[0], far[0], far[1], far[1], math.inf
    a0, a1, b0, b1 = 1.0, 0.0, 0.0, 1.0  # weights that either state of the boundary alone gives
    w0, w1 = 1.0, 1.0
    alive0, alive1 = True, True
    there, d_there, back, d_back = math.nan, math.nan, math.nan, math.nan
    for _ in range(1, len(costs)):
        alive0, alive1 = (
            (k00 > 0.0 and alive0) or (k01 > 0.0 and alive1),
            (k10 > 0.0 and alive0) or (k11 > 0.0 and alive1),
        )
        if not (alive0 and alive1):
            return  # a state that cannot occur here never can further in
        p, p_not, q, q_not = k00 * w0, k01 * w1, k10 * w0, k11 * w1
        if (
            is_lost(p, k00, w0)
            or is_lost(p_not, k01, w1)
            or is_lost(q, k10, w0)
            or is_lost(q_not, k11, w1)
        ):
            unsure = math.inf
        else:
            from_0, from_1 = p + p_not, q + q_not
            p, p_not, q, q_not = p / from_0, p_not / from_0, q / from_1, q_not / from_1
        there, d_there = _wide_step(
            up, down, d_up, d_down, p, p_not, q, q_not, unsure, spread, more_in_0
        )
        back, d_back = _wide_step(
            up, down, d_up, d_down, q, q_not, p, p_not, unsure, spread, not more_in_0
        )
        up, d_up = there + eps, joined(eps, delta, there, d_there)
        down, d_down = back + eps, joined(eps, delta, back, d_back)
        a0, a1 = k00 * a0 + k01 * a1, k10 * a0 + k11 * a1
        b0, b1 = k00 * b0 + k01 * b1, k10 * b0 + k11 * b1
        top_a, top_b = max(a0, a1), max(b0, b1)
        if top_a > 0.0:
            a0, a1 = a0 / top_a, a1 / top_a
        if top_b > 0.0:
            b0, b1 = b0 / top_b, b1 / top_b
        w0, w1 = a0 + b0, a1 + b1
        unsure = math.inf
        if min(w0, w1) >= _VANISHED:
            unsure = max(oscillation(a0, a1, w0, w1), oscillation(b0, b1, w0, w1))
    costs[-1, 0, 0], costs[-1, 0, 1] = there, d_there
    costs[-1, 1, 0], costs[-1, 1, 1] = back, d_back


class _Sides:
    """Both sides of a window by how many records they have, up to a reach and beyond it."""

    def __init__(self, chain: MarkovChain) -> None:
        alive = np.flatnonzero(chain.occurring)
        kernel = np.ascontiguousarray(chain.transition[np.ix_(alive, alive)])
        self.n, self.table = chain.length, skip_diameters(chain).table[0]
        self.kernels = kernel, np.ascontiguousarray(kernel.T)
        self.ends = np.ones(2), first_weights(chain, alive)
        self.most = _FURTHEST if self.n is None else max(min(self.n - 1, _FURTHEST), 1)
        self.reach = min(64, self.most)
        self.closed, self.always = False, bool((kernel > 0.0).any(axis=0).all())

    def costs(self, eps: float, delta: float) -> list[np.ndarray]:
        """Level and delta by records on that side and direction, (reach + 2, 2, 2), certified.

        The last entry is for more records than the reach.
        """
        while True:
            found, sure = [], []
            for kernel, end in zip(self.kernels, self.ends, strict=True):
                inner = self._known(kernel, end, eps, delta)
                found.append(inner)
                sure.append(self._beyond(kernel, eps, delta, inner))
            whole = self.n is not None and self.reach >= self.n - 1
            gap = max(
                float(np.nanmax(s[-1, :, 0]) - np.nanmax(f[-1, :, 0]))
                for s, f in zip(sure, found, strict=True)
            )
            scale = max(float(np.nanmax(f[-1, :, 0])) for f in found) + eps
            self.closed = whole or gap <= _CLOSED * scale
            if self.closed or self.reach >= self.most:
                return sure
            self.reach = min(4 * self.reach, self.most)

    def _known(self, kernel: np.ndarray, end: np.ndarray, eps: float, delta: float) -> np.ndarray:
        """The worst over records known up to each distance, and over the free end."""
        parts = []
        for w0, w1 in (end / end.max(), (1.0, 0.0), (0.0, 1.0)):
            costs = np.full((self.reach + 1, 2, 2), np.nan)
            filled = from_known(kernel, float(w0), float(w1), eps, delta, costs)
            if filled < self.reach:
                self.reach = self.most = max(filled, 1)
                return self._known(kernel, end, eps, delta)
            parts.append(costs)
        free, *known = parts
        free[0] = 0.0
        running = np.fmax.accumulate(np.fmax(*known), axis=0)
        worst = np.fmax(running, free)
        beyond = np.fmax(running[-1:], np.fmax.reduce(free, axis=0)[None])
        found = np.concatenate([worst, beyond])
        found[0] = 0.0
        return found

    def _beyond(
        self, kernel: np.ndarray, eps: float, delta: float, found: np.ndarray
    ) -> np.ndarray:
        if self.n is not None and self.reach >= self.n - 1:
            return found
        level, d = limit_steps(eps, delta, self.table)
        if math.isinf(level):
            raise NotApplicableError("the chain tells states apart for ever; give it a length")
        far = eps + level, min(joined(eps, delta, level, d) * _SLACK, 1.0)
        more_in_0 = bool(kernel[0, 0] * kernel[1, 1] > kernel[0, 1] * kernel[1, 0])
        product, other = kernel[0, 0] * kernel[1, 1], kernel[0, 1] * kernel[1, 0]
        spread = abs(math.log(product / other)) * (1 + 1e-14) if product * other > 0 else math.inf
        costs = np.full((self.reach + 1, 2, 2), np.nan)
        from_beyond(kernel, more_in_0, spread, eps, delta, far, costs)
        sure = found.copy()
        sure[-1] = np.fmax(sure[-1], costs[-1])
        return sure


def _places(n: int | None, size: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of records right and left of a window, each pair once; above the reach, reach + 1."""
    if n is None:
        return np.array([reach + 1]), np.array([reach + 1])
    last = n - size
    first = np.unique(np.r_[: min(reach + 2, last + 1), max(last - reach - 1, 0) : last + 1])
    return np.minimum(last - first, reach + 1), np.minimum(first, reach + 1)


@bound("transfer", on=MarkovChain, paired=True, given=whole)
def paired_transfer(chain: MarkovChain, scope: Scope) -> Bound:
    """Transfer bound of a two-state chain with a delta, and for windows; one level for all records.

    Each side is the worst over what the adversary knows on it, level and delta apart. For pure
    guarantees windows attain it.

    References
    ----------
    delta#bridges, delta#units.
    """
    unit = scope.unit or ONE
    if int(chain.occurring.sum()) != 2 or not chain.homogeneous:
        raise NotApplicableError(
            "with a delta or a unit, transfer is for two states and one kernel"
        )
    if getattr(scope.guarantee, "is_vector", False) or unit.members is not None:
        raise NotApplicableError("with a delta or a unit, transfer takes one level for all records")
    if scope.own is not None and getattr(scope.own, "is_vector", False):
        raise NotApplicableError("transfer takes one own guarantee for all windows")
    both = _Sides(chain)
    if not all(end.min() > 0.0 for end in both.ends):
        raise NotApplicableError("some state is impossible at first; use contraction")

    def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
        right, left = both.costs(float(eps[0]), float(delta[0]))
        at_right, at_left = _places(both.n, unit.size, both.reach)
        # one record has the same two values on both sides; a longer unit any two on each
        ways = [(0, 0), (1, 1)] if unit == ONE else [(a, b) for a in (0, 1) for b in (0, 1)]
        rows = [np.stack([right[at_right, a], left[at_left, b]], axis=1) for a, b in ways]
        steps = np.nan_to_num(np.concatenate(rows), nan=0.0)
        of = np.zeros(len(steps), dtype=np.int64)  # the worst of all places counts
        return Steps(np.ascontiguousarray(steps[..., 0]), np.ascontiguousarray(steps[..., 1]), of)

    own = scope.own or of_unit(scope.guarantee, unit, both.n)
    found = close(scope, None, lambda _: sides, own=own, count=1)
    certificate = Certificate("transfer", REFERENCE)
    pure = isinstance(scope.guarantee, Pure) and isinstance(own, Pure)
    sharp = pure and scope.own is None and both.closed and both.always
    kind: Kind = "exact" if sharp else "upper bound"
    return found.bound(certificate, kind)
