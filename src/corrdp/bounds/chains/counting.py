"""Exact leakage of a count (or a sum of few values) over a long chain (chains#exact).

The answer is a sum over records, so given record i its law is the convolution of a left and a
right part, each settled by the nearest known record on its side. All pairs of sides are ordered
by their transfer bound, and the exact value is worked out from the top until no bound is left
above the best value found: usually one or two suffice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.sweep import Side, first_weights, prepare
from corrdp.bounds.chains.transfer import PAIRWISE_STATES, given_steps, transfer
from corrdp.bounds.chains.withholding import along_time
from corrdp.bounds.exact import REFERENCE, check_no_gaps, exact_in_scope, is_short, table_of
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.errors import NotApplicableError
from corrdp.mechanisms.response import CorrelatedResponse
from corrdp.mechanisms.withholding import WithholdingResponse
from corrdp.models.chains.chain import diameter, multiply
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Kind, Witness

_FORGOTTEN = 1e-13  # a gap whose kernel has at most this diameter stands for all longer ones
_REACH = 1200
_WORK = 2e9
_VANISHED = 1e-280  # a density below may have lost terms to underflow
_COARSE = 50  # largest score, in steps of the lattice
_OPTIONS = 3e7  # adversaries that are kept in memory at once


@dataclass(frozen=True, eq=False)
class _Part:
    """The options on one side: which record is known (or none), its bound, its law of the sum."""

    need: np.ndarray  # records needed on this side
    fixed: np.ndarray  # whether exactly that many: a free end
    distance: np.ndarray  # distance of the known record, 0 for a free end
    state: np.ndarray
    costs: np.ndarray  # (options, s, s): transfer cost
    laws: np.ndarray  # (options, s, sums): unnormalised law of the sum given the record
    slack: np.ndarray  # what cutting the gap short may hide


@njit(cache=True)
def sum_laws(kernel: np.ndarray, scores: np.ndarray, start: np.ndarray, out: np.ndarray) -> None:
    """out[d, x, k] ~ Pr[sum of the records strictly between record and boundary = k | x].

    ``start`` are the weights of the boundary record; it is not part of the sum. For a free end
    the caller adds one more record by shifting.
    """
    reach, s, sums = out.shape
    for x in range(s):
        for y in range(s):
            out[1, x, 0] += kernel[x, y] * start[y]
    for d in range(2, reach):
        for x in range(s):
            for y in range(s):
                w = kernel[x, y]
                if w > 0.0:
                    for k in range(scores[y], sums):
                        out[d, x, k] += w * out[d - 1, y, k - scores[y]]
        top = 0.0
        for x in range(s):
            for k in range(sums):
                top = max(top, out[d, x, k])
        if top > 0.0:
            for x in range(s):
                for k in range(sums):
                    out[d, x, k] /= top


@njit(cache=True)
def _log_ratio(
    left_a: np.ndarray,
    right_a: np.ndarray,
    shift_a: int,
    left_b: np.ndarray,
    right_b: np.ndarray,
    shift_b: int,
    rate: float,
) -> float:
    """sup over outputs of ln(density given a / density given b) for Laplace noise.

    nan where a density is lost to underflow.
    """
    # either law may be the longer one: zeros at its end were cut off
    size = max(len(left_a) + len(right_a) + shift_a, len(left_b) + len(right_b) + shift_b) - 1
    decay = math.exp(-rate)
    densities = np.zeros((2, size))
    for which in range(2):
        law = np.zeros(size)
        left = left_a if which == 0 else left_b
        right = right_a if which == 0 else right_b
        shift = shift_a if which == 0 else shift_b
        for j in range(len(left)):
            if left[j] > 0.0:
                for k in range(len(right)):
                    law[j + k + shift] += left[j] * right[k]
        total = 0.0
        for k in range(size):
            total += law[k]
        if total < _VANISHED:
            return math.nan
        carry = 0.0
        for k in range(size):
            law[k] /= total
            carry = carry * decay + law[k]
            densities[which, k] = carry
        carry = 0.0
        for k in range(size - 1, -1, -1):
            densities[which, k] += carry
            carry = (carry + law[k]) * decay
    best = 0.0
    for k in range(size):
        if densities[1, k] < _VANISHED:
            return math.nan
        best = max(best, math.log(densities[0, k] / densities[1, k]))
    return best


def score_lattice(scores: np.ndarray) -> tuple[np.ndarray, int]:
    """Scores as small whole numbers from 0 and their common step; raises when it is too small."""
    shifted = scores - scores.min()
    step = int(np.gcd.reduce(shifted))
    if step == 0:
        raise NotApplicableError("the query gives every state the same value: it reads nothing")
    if shifted.max() // step > _COARSE:
        raise NotApplicableError(
            "exact needs state values that are few multiples of a common step once rounded to the "
            "grid of the sum (such as whole numbers); use method='best'"
        )
    return shifted // step, step


@bound("exact", on=MarkovChain, given=whole)
def exact_chain(chain: MarkovChain, scope: Scope) -> Bound:
    """Exact leakage of a count or sum on a long chain, of two states, or by enumeration."""
    if isinstance(scope.noise, CorrelatedResponse | WithholdingResponse):
        return along_time(chain, scope)
    if scope.query is not None:
        check_no_gaps(scope.query)
        scores = scope.query.scores(chain.states)
        if scores is not None and not scope.dp.is_vector and chain.homogeneous:
            try:
                return exact_sum(chain, scores, scope.dp.largest, scope.query.steps)
            except NotApplicableError as error:
                reason = error
        else:
            reason = NotApplicableError(
                "exact on long chains needs one kernel and a count or sum over all records; "
                "use transfer"
            )
        if not is_short(chain):
            raise reason
    elif int(chain.occurring.sum()) == 2:
        # every output of randomized response is one orientation of the transfer bound
        found = transfer(chain, *given_steps(chain, scope))
        if found.kind != "exact":
            raise NotApplicableError("the chain mixes too slowly for an exact value; use transfer")
        return found
    return exact_in_scope(table_of(chain), scope)


def exact_sum(chain: MarkovChain, scores: np.ndarray, epsilon: float, sensitivity: int) -> Bound:
    """Exact leakage of ``sum of scores + Laplace noise`` of DP level epsilon on a long chain.

    Parameters
    ----------
    chain : MarkovChain
        Homogeneous, every state possible at every time.
    scores : (s,) array of int
        What each state adds to the answer, in steps of the grid on which the noise is drawn.
    epsilon : float
    sensitivity : int
        Largest change of the answer by one record, as the noise was scaled to, in such steps.

    Notes
    -----
    O(G^2 s^2) pairs of sides for G distances (set by mixing), each O(G^2) when worked out.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=6)
    >>> round(exact_sum(chain, np.array([0, 1]), 1.0, 1).value, 6)
    3.549077
    """
    n = chain.length
    alive = np.flatnonzero(chain.occurring)
    kernel = np.ascontiguousarray(chain.transition[..., alive, :][..., alive])
    if not chain.homogeneous or not (chain.first[alive].all() and (kernel > 0).any(axis=0).all()):
        raise NotApplicableError(
            "exact on long chains needs one kernel and every state possible at every time; "
            "use transfer"
        )
    units, step = score_lattice(scores[alive])
    rate = epsilon * step / sensitivity
    reach, hidden = _reach(kernel, n)
    gaps = np.abs(units[:, None] - units[None, :]) * rate
    ends = (np.ones(len(alive)), first_weights(chain, alive))
    right = _part(kernel, ends[0], units, gaps, reach, hidden, n)
    left = _part(np.ascontiguousarray(kernel.T), ends[1], units, gaps, reach, hidden, n)
    return _best_first(chain, alive, units, gaps, rate, left, right, n)


def _reach(kernel: np.ndarray, n: int | None) -> tuple[int, float]:
    """Largest gap to enumerate, and the diameter of the kernel across the gap that ends it."""
    most = _REACH if n is None else min(n - 1, _REACH)
    power: np.ndarray | None = np.eye(len(kernel))
    for gap in range(1, most + 1):
        power = multiply(power, kernel)
        if power is None:
            break
        hidden = diameter(power)
        if hidden <= _FORGOTTEN:
            return gap, hidden
    if n is not None and n - 1 <= most:
        return max(n - 1, 0), 0.0
    raise NotApplicableError(f"the chain remembers more than {_REACH} records; use transfer")


def _part(
    kernel: np.ndarray,
    end: np.ndarray,
    units: np.ndarray,
    gaps: np.ndarray,
    reach: int,
    hidden: float,
    n: int | None,
) -> _Part:
    s = len(end)
    side = Side(prepare(kernel[None], 1), gaps[None].copy(), end, np.inf)
    sums = max(reach, 1) * int(units.max()) + 1
    pairwise = s <= PAIRWISE_STATES
    options: list[tuple[int, bool, int, int, np.ndarray, np.ndarray, float]] = []
    for c in range(s):
        start = np.eye(s)[c]
        table = np.zeros((reach + 1, s, sums))
        if reach:
            sum_laws(kernel, units, start, table)
        profile = _whole(side, start, reach, pairwise)
        for d in range(1, len(profile)):
            cut = hidden if d == reach else 0.0
            options.append((d, False, d, c, profile[d], table[d], cut))
    # a free end of k records: the boundary record is unknown, its own score counts too
    profile = _whole(side, end, reach, pairwise)
    table = np.zeros((reach + 1, s, sums))
    table[0, :, 0] = 1.0
    for k in range(1, reach + 1):
        for x in range(s):
            for y in range(s):
                weight = kernel[x, y] * (end[y] if k == 1 else 1.0)
                table[k, x, units[y] :] += weight * table[k - 1, y, : sums - units[y]]
        table[k] /= table[k].max()
    profile[0] = 0.0
    for k in range(len(profile)):
        if n is not None or k < reach:
            options.append((k, True, 0, -1, profile[k], table[k], 0.0))
    return _Part(*(np.array(column) for column in zip(*options, strict=True)))


def _whole(side: Side, start: np.ndarray, reach: int, pairwise: bool) -> np.ndarray:
    """Costs at all distances: one that is missing would be an adversary left out."""
    profile = side.profile(start, reach, False, pairwise)
    if len(profile) <= reach:
        raise NotApplicableError("probabilities of this chain vanish on the way; use transfer")
    return profile


def _best_first(
    chain: MarkovChain,
    alive: np.ndarray,
    units: np.ndarray,
    gaps: np.ndarray,
    rate: float,
    left: _Part,
    right: _Part,
    n: int | None,
) -> Bound:
    options = len(left.need) * len(right.need) * len(alive) ** 2
    if options > _OPTIONS:
        raise NotApplicableError(
            f"{options:.1e} adversaries are too many to go through; use transfer"
        )
    total = left.need[:, None] + right.need[None, :]
    if n is None:
        allowed = np.ones_like(total, dtype=bool)
    else:
        both = left.fixed[:, None] & right.fixed[None, :]
        allowed = np.where(both, total == n - 1, total <= n - 1)
    s = len(alive)
    slack = left.slack[:, None] + right.slack[None, :]
    ceilings = np.full((s, s, *total.shape), -np.inf)
    for a in range(s):
        for b in range(s):
            if a != b:
                bound = gaps[a, b] + left.costs[:, None, a, b] + right.costs[None, :, a, b] + slack
                ceilings[a, b] = np.where(allowed & ~np.isnan(bound), bound, -np.inf)
    order = np.argsort(ceilings, axis=None)[::-1]
    best, where, spent = 0.0, None, 0.0
    kind: Kind = "exact"
    for flat in order:
        a, b, l, r = (int(k) for k in np.unravel_index(flat, ceilings.shape))
        if ceilings[a, b, l, r] * (1.0 - ROUNDING) <= best:
            break
        spent += float(left.need[l] * right.need[r] + 100) * int(units.max()) ** 2
        if spent > _WORK:
            best, kind = float(ceilings[a, b, l, r]), "upper bound"
            break
        value = slack[l, r] + _log_ratio(
            _trim(left.laws[l, a]), _trim(right.laws[r, a]), int(units[a]),
            _trim(left.laws[l, b]), _trim(right.laws[r, b]), int(units[b]), rate,
        )  # fmt: skip
        if math.isnan(value):  # the bound of this adversary stands for its value
            value, kind = float(ceilings[a, b, l, r]), "upper bound"
        if value > best:
            best, where = value, (a, b, l, r)
    return Bound(
        float(best) * (1.0 + ROUNDING),
        kind,
        Certificate("exact", REFERENCE),
        None,
        None if where is None else _witness(chain, alive, left, right, n, where),
    )


def _trim(law: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(law[: np.flatnonzero(law)[-1] + 1])


def _witness(
    chain: MarkovChain,
    alive: np.ndarray,
    left: _Part,
    right: _Part,
    n: int | None,
    where: tuple[int, int, int, int],
) -> Witness:
    a, b, l, r = where
    labels = [chain.states[x] for x in alive]
    known = []
    for sign, part, k in ((-1, left, l), (1, right, r)):
        if part.distance[k] > 0:
            known.append((sign * int(part.distance[k]), labels[part.state[k]]))
    record = None if n is None else int(left.need[l])
    if n is not None and not left.fixed[l] and right.fixed[r]:
        record = n - 1 - int(right.need[r])
    return Witness(record, (labels[a], labels[b]), tuple(known))
