"""The compiled recursion behind the transfer bound (T-2): one side of a target, from a boundary in.

Records lie at distance 0 (the boundary), 1, 2, .. . At distance j the rows of the kernel towards
the boundary, reweighted by what the boundary says and normalised, are the laws of the next record;
changing the row costs ``R_j(x, x')`` and ``A_j = eps_j + R_j`` bounds the oscillation of every
mechanism average as a function of that record. A known boundary is a point mass, a free end is
all ones (to the right) or the initial law (to the left).

An *uncertain* boundary stands for every boundary further away at once: its weights are any
vector, so that at distance j they are known up to a log-oscillation ``delta_j`` that shrinks as
the chain mixes. This is the certificate that lets the search for the worst distance stop.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from corrdp.bounds.mixtures import lambda_pairs, lambda_scalar, lambda_sorted, ratio_order, star
from corrdp.models.birkhoff import row_log_ratio_spread

# Below this a supported weight counts as lost to underflow: the sweep ends there.
_VANISHED = 1e-280


class Kernels(NamedTuple):
    """Kernels of jumps of 1..m records from each record (or from any, if there is one row)."""

    jumps: np.ndarray  # (rows, m, s, s): jump k+1 from record t, rows towards the boundary
    orders: np.ndarray  # (rows, m, s, s, s): states by ratio of two rows, descending
    spreads: np.ndarray  # (rows, m, s, s): Hilbert distance of two rows
    step: int  # 0 when one row serves every record


def prepare(one_step: np.ndarray, longest: int) -> Kernels:
    """Products of up to ``longest`` kernels with their row orders. O(rows m s^3 log s).

    Parameters
    ----------
    one_step : (rows, s, s) array
        ``one_step[t]`` leads from record t to t + 1; one row for a homogeneous chain.
    longest : int
        Longest jump.
    """
    rows, s, _ = one_step.shape
    step = 0 if rows == 1 else 1
    jumps = np.zeros((rows, longest, s, s))
    jumps[:, 0] = one_step
    for m in range(1, longest):
        for t in range(rows - m * step):
            product = jumps[t, m - 1] @ one_step[(t + m) * step]
            # row scales do not matter; rescaling keeps long products in range
            jumps[t, m] = product / max(product.max(), np.finfo(float).tiny)
    orders = np.zeros((rows, longest, s, s, s), dtype=np.int16)
    spreads = np.zeros((rows, longest, s, s))
    for t in range(rows):
        for m in range(longest):
            _order_rows(jumps[t, m], orders[t, m])
            spreads[t, m] = row_log_ratio_spread(jumps[t, m])
    return Kernels(jumps, orders, spreads, step)


@njit(cache=True)
def _order_rows(kernel: np.ndarray, orders: np.ndarray) -> None:
    for x in range(len(kernel)):
        for z in range(len(kernel)):
            if x != z:
                orders[x, z] = ratio_order(kernel[x], kernel[z])


@njit(cache=True)
def _close(bounds: np.ndarray, alive: np.ndarray) -> None:
    """Shortest paths among the states alive: a minimum over jumps may break the triangle."""
    s = len(bounds)
    for k in range(s):
        for x in range(s):
            for z in range(s):
                if alive[k] and alive[x] and alive[z]:
                    bounds[x, z] = min(bounds[x, z], bounds[x, k] + bounds[k, z])


@njit(cache=True)
def _mixing_cost(
    bounds: np.ndarray,
    largest: float,
    delta: float,
    p_row: np.ndarray,
    q_row: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    spread: float,
    pairwise: bool,
) -> float:
    """Cost of changing the row, when the weights are known up to log-oscillation ``delta``."""
    s = len(weights)
    cost = np.inf
    if delta > 0.0:
        reach = largest
        if s == 2 and pairwise:
            first = order[0]
            reach = bounds[first, 1 - first]
        cost = star(reach, spread)
        if delta > 50.0:
            return cost
    elif not pairwise:
        return lambda_sorted(largest, p_row, q_row, weights, order)
    p, q = np.empty(s), np.empty(s)
    p_total, q_total = 0.0, 0.0
    for y in range(s):
        p[y], q[y] = p_row[y] * weights[y], q_row[y] * weights[y]
        p_total += p[y]
        q_total += q[y]
    if p_total <= 0.0 or q_total <= 0.0:
        return cost
    for y in range(s):
        p[y] /= p_total
        q[y] /= q_total
    if pairwise:
        wide = bounds if delta == 0.0 else bounds + delta
        known = lambda_pairs(wide, p, q)
    else:
        known = lambda_sorted(largest + delta, p_row, q_row, weights, order)
    if delta > 0.0:
        known += lambda_scalar(delta, q, p)
    return min(cost, known)


@njit(cache=True)
def sweep(
    jumps: np.ndarray,
    orders: np.ndarray,
    spreads: np.ndarray,
    row_step: int,
    eps: np.ndarray,
    eps_step: int,
    boundary: int,
    reach: int,
    start: np.ndarray,
    start_cost: float,
    uncertain: bool,
    pairwise: bool,
    costs: np.ndarray,
) -> int:
    """Fill ``costs[j]`` with R_j for j = 1..reach; nan where a pair of values cannot occur.

    Parameters
    ----------
    jumps, orders, spreads, row_step
        From :func:`prepare`.
    eps : (n or 1, s, s) array, eps_step : 0 or 1
        ``eps[t](x, x')``: by how much replacing x by x' in record t can lower ln Pr[output].
    boundary : int
        Index of the record at distance 0; distance j is record ``boundary - j``.
    reach : int
        How many distances to fill.
    start : (s,) array
        Weights at the boundary; ignored when uncertain.
    start_cost : float
        Oscillation at the boundary when uncertain (its own epsilon and all beyond it).
    uncertain : bool
    pairwise : bool
        Keep a bound per pair of values (exact mixtures), or only the largest.

    Returns
    -------
    int
        The largest distance filled; less than ``reach`` when weights vanished in floating point.
    """
    s = len(start)
    longest = jumps.shape[1]
    bounds = np.zeros((reach + 1, s, s))
    largest = np.zeros(reach + 1)
    weights = np.zeros((reach + 1, s))
    delta = np.zeros(reach + 1)
    alive = np.ones(s, np.bool_)
    spreading = np.eye(s)
    if uncertain:
        weights[0] = 1.0
        delta[0] = np.inf
        bounds[0] = start_cost
        largest[0] = start_cost
    else:
        weights[0] = start / start.max()
        for x in range(s):
            for z in range(s):
                if x != z and start[x] > 0.0 and start[z] > 0.0:
                    bounds[0, x, z] = eps[boundary * eps_step, x, z]
                    largest[0] = max(largest[0], bounds[0, x, z])
    for j in range(1, reach + 1):
        t = boundary - j
        row = t * row_step
        kernel = jumps[row, 0]
        if uncertain:
            spreading = kernel @ spreading
            delta[j] = _refer(spreading, weights[j])
        else:
            weights[j] = kernel @ weights[j - 1]
            top = weights[j].max()
            for x in range(s):
                supported = False
                for y in range(s):
                    supported |= kernel[x, y] > 0.0 and weights[j - 1, y] > 0.0
                alive[x] = supported
                weights[j, x] /= top
                if supported and weights[j, x] < _VANISHED:
                    return j - 1
        for x in range(s):
            for z in range(s):
                costs[j, x, z] = np.nan
                if x == z or not (alive[x] and alive[z]):
                    continue
                best, skipped = np.inf, 0.0
                for m in range(1, min(longest, j) + 1):
                    if m > 1:
                        skipped += eps[(t + m - 1) * eps_step].max()
                    if skipped >= best:
                        break
                    cost = skipped + _mixing_cost(
                        bounds[j - m],
                        largest[j - m],
                        delta[j - m],
                        jumps[row, m - 1, x],
                        jumps[row, m - 1, z],
                        weights[j - m],
                        orders[row, m - 1, x, z],
                        spreads[row, m - 1, x, z],
                        pairwise,
                    )
                    best = min(best, cost)
                costs[j, x, z] = best
                bounds[j, x, z] = best + eps[t * eps_step, x, z]
        if pairwise and longest > 1:
            _close(bounds[j], alive)
        for x in range(s):
            for z in range(s):
                if x != z and alive[x] and alive[z]:
                    largest[j] = max(largest[j], bounds[j, x, z])
    return reach


@njit(cache=True)
def _refer(spreading: np.ndarray, reference: np.ndarray) -> float:
    """Weights between those of every boundary state, and how far (log-oscillation) they can be.

    Column c of ``spreading`` holds the weights that boundary state c alone would give. Each is
    scaled to a largest entry of one; their sum is the reference.
    """
    s = len(reference)
    reference[:] = 0.0
    used = np.zeros(s, np.bool_)
    for c in range(s):
        top = spreading[:, c].max()
        if top > 0.0:
            used[c] = True
            spreading[:, c] /= top
            reference += spreading[:, c]
    worst = 0.0
    for c in range(s):
        if not used[c]:
            continue
        low, high = np.inf, 0.0
        for x in range(s):
            if reference[x] > 0.0:
                ratio = spreading[x, c] / reference[x]
                low, high = min(low, ratio), max(high, ratio)
        if low <= 0.0:
            return np.inf
        worst = max(worst, math.log(high / low))
    return worst
