"""The recursion of chains#transfer and delta#bridges for any number of states.

Loops are written out, and every caller passes arrays and flags of one type: what the compiler has
to make of a sort, of ``@``, of an assignment of whole arrays, or of one more signature costs
seconds on first use.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.mixtures import lambda_both, star
from corrdp.bounds.pivots import fill_growth, pairs_within, room_for
from corrdp.bounds.steps import ULP, eta, grown, joined

if TYPE_CHECKING:
    from corrdp.bounds.chains.sweep import Boundary, Road

# Below this a supported weight, or its product with a kernel's entry, counts as lost to underflow:
# the sweep ends there.
_VANISHED = 1e-280
_UNKNOWN = 50.0  # a log-oscillation of the weights from which they say nothing
_SLACK = 1.0 + 1e-13  # what a few thousand steps of rounding can do to a delta


@njit(cache=True)
def close_paths(bounds: np.ndarray, deltas: np.ndarray, alive: np.ndarray) -> None:
    """Shortest paths among the states alive: a minimum over jumps may break the triangle.

    The deltas of a path are those of its steps put together, in the order of the path.
    """
    s = len(bounds)
    for k in range(s):
        for x in range(s):
            for z in range(s):
                if not (alive[k] and alive[x] and alive[z]):
                    continue
                around = bounds[x, k] + bounds[k, z]
                if around < bounds[x, z] * (1.0 - 1e-13):  # not by rounding alone
                    deltas[x, z] = deltas[x, k] + grown(bounds[x, k]) * deltas[k, z]
                bounds[x, z] = min(bounds[x, z], around)


@njit(cache=True)
def _laws(kernel: np.ndarray, weights: np.ndarray, alive: np.ndarray, laws: np.ndarray) -> bool:
    """Rows of the kernel, reweighted and normalised; False if a possible entry underflowed."""
    s = len(weights)
    for x in range(s):
        total = 0.0
        for y in range(s):
            laws[x, y] = kernel[x, y] * weights[y]
            if alive[x] and laws[x, y] < _VANISHED and kernel[x, y] > 0.0 and weights[y] > 0.0:
                return False
            total += laws[x, y]
        if alive[x]:
            if total <= 0.0:
                return False
            for y in range(s):
                laws[x, y] /= total
    return True


@njit(cache=True)
def _rare(
    level: float,
    p: np.ndarray,
    q: np.ndarray,
    most: np.ndarray,
    spread: float,
    unsure: float,
    kappa: float,
) -> float:
    """The delta of changing law q for law p at this level.

    ``most[y]`` is the largest D(y, y'). With weights h known up to ``unsure``, p^h - e^L q^h is at
    most p^h (1 - e^{L - kappa} q/p), and p^h at most e^unsure p.
    """
    total, largest, top = 0.0, 0.0, 0.0
    for y in range(len(p)):
        top = max(top, most[y])
        if p[y] > 0.0 and unsure <= _UNKNOWN:
            # the difference has lost what rounding took from either
            part = max(1.0 + 8.0 * ULP - math.exp(level - kappa) * q[y] / p[y], 0.0) * most[y]
            total += p[y] * part
            largest = max(largest, part)
    if unsure > 0.0:
        by_any = eta(level, spread) * top
        total = by_any if unsure > _UNKNOWN else min(by_any, largest, math.exp(unsure) * total)
    return total * _SLACK


@njit(cache=True)
def _jump_costs(
    bounds: np.ndarray,
    largest: float,
    chances: np.ndarray,
    unsure: float,
    laws: np.ndarray,
    orders: np.ndarray,
    spreads: np.ndarray,
    alive: np.ndarray,
    pairwise: bool,
    skipped: float,
    rarely: float,
    whole: np.ndarray,
    real: np.ndarray,
    wide: np.ndarray,
    growth: np.ndarray,
    most: np.ndarray,
    at: int,
    out: np.ndarray,
    rare: np.ndarray,
) -> None:
    """Lower ``out`` to ``skipped`` and the cost of changing the row, for every pair of values.

    Weights are known up to ``unsure``: E_{p^h} f / E_{q^h} f = E_p[f h]/E_q[f h] * E_q[h]/E_p[h],
    and ln h varies by at most that; or, for any h at all, the Birkhoff form. ``rare[at]`` gets the
    delta of each cost, unless there is none; ``rarely`` is that of the records skipped.
    """
    s = len(laws)
    for y in range(s):
        most[y] = 0.0
        for z in range(s if len(rare) else 0):
            if y != z:
                most[y] = max(most[y], chances[y, z])
    if pairwise:
        for x in range(s):
            for z in range(s):
                wide[x, z] = bounds[x, z] + unsure if x != z else 0.0
        fill_growth(wide, growth)
    for x in range(s):
        for z in range(x):
            if not (alive[x] and alive[z]) or skipped >= max(out[x, z], out[z, x]):
                continue
            there, back = np.inf, np.inf
            slack_there, slack_back = 0.0, 0.0
            if unsure <= _UNKNOWN:
                if pairwise:
                    enough = math.expm1(out[x, z] - skipped)
                    there = pairs_within(wide, growth, laws[x], laws[z], enough, whole, real)[1]
                    enough = math.expm1(out[z, x] - skipped)
                    back = pairs_within(wide, growth, laws[z], laws[x], enough, whole, real)[1]
                else:
                    there, back = lambda_both(largest + unsure, laws[x], laws[z], orders[x, z])
                if unsure > 0.0:
                    slack_back, slack_there = lambda_both(unsure, laws[x], laws[z], orders[x, z])
                    there += slack_there
                    back += slack_back
            if unsure > 0.0:
                reach_there, reach_back = largest, largest
                if s == 2 and pairwise:
                    first = orders[x, z, 0]
                    reach_there, reach_back = bounds[first, 1 - first], bounds[1 - first, first]
                there = min(there, star(reach_there, spreads[x, z]))
                back = min(back, star(reach_back, spreads[x, z]))
            if len(rare):
                if skipped + there < out[x, z]:
                    d = _rare(there, laws[x], laws[z], most, spreads[x, z], unsure, slack_there)
                    rare[at, x, z] = joined(skipped, rarely, there, d)
                if skipped + back < out[z, x]:
                    d = _rare(back, laws[z], laws[x], most, spreads[x, z], unsure, slack_back)
                    rare[at, z, x] = joined(skipped, rarely, back, d)
            out[x, z] = min(out[x, z], skipped + there)
            out[z, x] = min(out[z, x], skipped + back)


@njit(cache=True)
def sweep_many(
    road: Road,
    boundary: Boundary,
    reach: int,
    pairwise: bool,
    costs: np.ndarray,
    rare: np.ndarray,
) -> int:
    """:func:`sweep` for any number of states."""
    start, eps = boundary.weights, road.eps
    s = len(start)
    longest = road.jumps.shape[1]
    row_step, eps_step = min(len(road.jumps) - 1, 1), min(len(eps) - 1, 1)
    delta_step = min(len(road.deltas) - 1, 1)
    uncertain, paired = not math.isnan(boundary.far), min(len(rare), 1)
    bounds, chances = np.zeros((reach + 1, s, s)), np.zeros((reach * paired + 1, s, s))
    largest = np.zeros(reach + 1)
    weights = np.zeros((reach + 1, s))
    unsure = np.zeros(reach + 1)
    alive, reached = np.ones(s, np.bool_), np.empty(s, np.bool_)
    spreading, before = np.zeros((s, s)), np.empty((s, s))
    whole, real = room_for(s)
    laws, wide, growth = np.empty((s, s)), np.empty((s, s)), np.empty((2, s, s))
    most = np.empty(s)
    if uncertain:
        unsure[0] = np.inf
        largest[0] = boundary.far
        for x in range(s):
            weights[0, x] = 1.0
            spreading[x, x] = 1.0
            for z in range(s):
                bounds[0, x, z], chances[0, x, z] = boundary.far, boundary.rare
    else:
        for x in range(s):
            weights[0, x] = start[x]
            alive[x] = start[x] > 0.0
            for z in range(s):
                if x != z and start[x] > 0.0 and start[z] > 0.0:
                    bounds[0, x, z] = eps[boundary.record * eps_step, x, z]
                    chances[0, x, z] = road.deltas[boundary.record * delta_step]
                    largest[0] = max(largest[0], bounds[0, x, z])
        _scale(weights[0])
    for j in range(1, reach + 1):
        t = boundary.record - j
        row = t * row_step
        kernel = road.jumps[row, 0]
        for x in range(s):
            reached[x] = False
            for y in range(s):
                reached[x] |= kernel[x, y] > 0.0 and alive[y]
        alive, reached = reached, alive
        if uncertain:
            before, spreading = spreading, before
            for x in range(s):
                for c in range(s):
                    spreading[x, c] = 0.0
                    for y in range(s):
                        spreading[x, c] += kernel[x, y] * before[y, c]
            unsure[j] = _refer(spreading, weights[j], alive)
        else:
            for x in range(s):
                for y in range(s):
                    weights[j, x] += kernel[x, y] * weights[j - 1, y]
            _scale(weights[j])
            for x in range(s):
                if alive[x] and weights[j, x] < _VANISHED:
                    return j - 1
        for x in range(s):
            for z in range(s):
                costs[j, x, z] = np.inf
        skipped, rarely = 0.0, 0.0
        for m in range(1, min(longest, j) + 1):
            if m > 1:
                peak = road.peaks[(t + m - 1) * eps_step]
                rarely = joined(skipped, rarely, peak, road.deltas[(t + m - 1) * delta_step])
                skipped += peak
            known_to = unsure[j - m]
            if not _laws(road.jumps[row, m - 1], weights[j - m], alive, laws):
                if not uncertain and m == 1:
                    return j - 1
                if not uncertain:
                    break
                known_to = np.inf
            _jump_costs(
                bounds[j - m], largest[j - m], chances[(j - m) * paired], known_to, laws,
                road.orders[row, m - 1], road.spreads[row, m - 1], alive, pairwise, skipped, rarely,
                whole, real, wide, growth, most, j, costs[j], rare,
            )  # fmt: skip
            worst = 0.0
            for x in range(s):
                for z in range(s):
                    if x != z and alive[x] and alive[z]:
                        worst = max(worst, costs[j, x, z])
            if skipped >= worst:
                break  # longer jumps cost more than what they could save
        for x in range(s):
            for z in range(s):
                if x == z or not (alive[x] and alive[z]):
                    costs[j, x, z] = np.nan
                    if paired:
                        rare[j, x, z] = np.nan
                    continue
                own = eps[t * eps_step, x, z]
                bounds[j, x, z] = costs[j, x, z] + own
                if paired:
                    delta = road.deltas[t * delta_step]
                    chances[j, x, z] = joined(own, delta, costs[j, x, z], rare[j, x, z])
        if pairwise and longest > 1:
            close_paths(bounds[j], chances[j * paired], alive)
        for x in range(s):
            for z in range(s):
                if x != z and alive[x] and alive[z]:
                    largest[j] = max(largest[j], bounds[j, x, z])
    return reach


@njit(cache=True, error_model="numpy")
def _scale(weights: np.ndarray) -> None:
    """Divide by the largest."""
    top = 0.0
    for x in range(len(weights)):
        top = max(top, weights[x])
    for x in range(len(weights)):
        weights[x] /= top


@njit(cache=True)
def _refer(spreading: np.ndarray, reference: np.ndarray, alive: np.ndarray) -> float:
    """Weights between those of every boundary state, and how far (log-oscillation) they can be.

    Column c of ``spreading`` holds the weights that boundary state c alone would give. Each is
    scaled to a largest entry of one; their sum is the reference. Infinite where the weight of a
    state that is alive has underflowed.
    """
    s = len(reference)
    used = np.zeros(s, np.bool_)
    for x in range(s):
        reference[x] = 0.0
    for c in range(s):
        top = 0.0
        for x in range(s):
            top = max(top, spreading[x, c])
        used[c] = top > 0.0
        if used[c]:
            for x in range(s):
                spreading[x, c] /= top
                reference[x] += spreading[x, c]
    worst = 0.0
    for x in range(s):
        if alive[x] and reference[x] < _VANISHED:
            return np.inf
    for c in range(s):
        if not used[c]:
            continue
        low, high = np.inf, 0.0
        for x in range(s):
            if alive[x]:
                ratio = spreading[x, c] / reference[x]
                low, high = min(low, ratio), max(high, ratio)
        if low <= 0.0:
            return np.inf
        worst = max(worst, math.log(high / low))
    return worst
