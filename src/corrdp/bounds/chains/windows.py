"""Chains of order k: contraction on blocks, and the sharper contraction on windows.

**Blocks** of k records side by side form a first-order chain whose records cost k eps each; knowing
a whole block is knowing more than one record of it, so the contraction bound of that chain holds.

**Windows** overlap: one step brings one new record and costs one eps. What a change of window
costs is kept for every pair of windows, and a common reweighting of two laws p, q (what any further
knowledge does) costs at most ``max over pairs y, y' of A(y, y') (*) ln[p_y q_y' / (q_y p_y')]``.

Contraction where the kernel changes once, at any record of a chain of any length.

A jump of m steps may lie before the switch, after it or across: what it tells apart is at most
``max over a + b = m of D(P^a Q^b)``, what may be known on the way included. With these diameters
the contraction bound (blocks, for order k) holds wherever the switch is. The larger of the leakages
of the two kernels does not: beside the switch one side of a record goes by the one kernel and the
other side by the other.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.jumps import exact_jumps, region_jumps, window_jumps
from corrdp.bounds.chains.many_states import close_paths
from corrdp.bounds.contraction import contraction, limit_with_skipping
from corrdp.bounds.registry import bound, level_and_confidence
from corrdp.bounds.scope import ROUNDING, Bound
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import SwitchingChain
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain
from corrdp.results import Certificate

BLOCKS = "contraction on blocks (order-k#blocks)"
WINDOWS = "contraction on windows (order-k#windows)"
SEASONS = "contraction with seasons and a kernel that changes (chains#seasons)"
_JUMPS = 8
_WINDOW_LIMIT = 256  # pairs of pairs of windows are compared: half a minute
_SWEEPS = 500


@lru_cache(maxsize=16)  # a search asks for many epsilons
def block_diameters(chain: WindowChain, longest: int = _JUMPS) -> np.ndarray:
    """Birkhoff diameters of jumps of 1, 2, .. blocks ahead, shape (1, longest)."""
    used = chain.occurring
    kernel = chain.window_kernel[np.ix_(used, used)]
    measure = exact_jumps(kernel[None], chain.windows[used], len(chain.states))
    return np.array([[measure((0,) * (chain.order * m)) for m in range(1, longest + 1)]])


@bound("blocks", on=WindowChain)
def blocks(chain: WindowChain, guarantee: Pure, diameters: np.ndarray | None = None) -> Bound:
    """Contraction bound of the chain of blocks: ``4 arsinh(e^{D/2} sinh(k eps/4))``, with skipping.

    D is the diameter of the block kernel; every length, every adversary. The largest epsilon stands
    for all when they differ.

    Examples
    --------
    >>> chain = WindowChain([[.9, .1], [.4, .6], [.7, .3], [.3, .7]], order=2)
    >>> round(blocks(chain, Pure(.1)).value, 4)
    1.0398
    """
    found = block_diameters(chain) if diameters is None else diameters
    value, _ = limit_with_skipping(chain.order * guarantee.largest, found)
    return _bounded(chain, guarantee, value, Certificate("blocks", BLOCKS))


def _bounded(chain: WindowChain, guarantee: Pure, value: float, certificate: Certificate) -> Bound:
    if chain.length is None:
        if math.isinf(value):
            raise NotApplicableError(
                "the chain tells windows apart for ever; give it a length for a finite bound"
            )
        return Bound(value, "upper bound", certificate)
    value = min(value, float(guarantee.vector(chain.length).sum()))
    return Bound(value, "upper bound", certificate, np.full(chain.length, value))


@njit(cache=True)
def _pair_cost(
    bounds: np.ndarray,
    grips: np.ndarray,
    firmest: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    enough: float,
    last: np.ndarray,
) -> float:
    """max over y, w of bounds(y, w) (*) 2 ln[p_y q_w / (q_y p_w)]; p and q are roots of laws.

    With g = 1 / (e^{b/2} - 1) (``grips``; ``firmest`` is the least of each row), b (*) 2 ln(u/v) is
    ``2 ln[1 + (u - v) / (v + g (u + v))]``: no logarithm inside, and no digits lost at any size.
    The search begins at ``last``, the worst pair of the sweep before, and ends once the term in
    brackets is ``enough``.
    """
    gain, sure = 0.0, 0.0
    y, w = last[0], last[1]
    up, down = p[y] * q[w], q[y] * p[w]
    below = down + grips[y, w] * (up + down)
    if up > down and below > 0.0:
        gain = (up - down) / below
        if gain >= enough:
            return 2.0 * math.log1p(gain)
    least = 0  # the state with the smallest p/q
    for w in range(len(p)):
        if p[w] * q[least] < p[least] * q[w] or p[least] + q[least] <= 0.0:
            least = w
    for y in range(len(p)):
        up, down = p[y] * q[least], q[y] * p[least]
        if up - down <= gain * (down + firmest[y] * (up + down)):
            continue  # nothing in this row is worse
        for w in range(len(p)):
            up, down = p[y] * q[w], q[y] * p[w]
            below = down + grips[y, w] * (up + down)
            if up - down > gain * below:
                if below > 0.0:
                    gain = (up - down) / below
                    last[0], last[1] = y, w
                else:  # told apart for certain, and e^{b/2} overflows
                    sure = max(sure, bounds[y, w])
        if gain >= enough:
            break
    return max(sure, 2.0 * math.log1p(gain))


@njit(cache=True)
def _settle(
    roots: np.ndarray,
    groups: np.ndarray,
    new_cost: np.ndarray,
    skipped: np.ndarray,
    costs: np.ndarray,
    sweeps: int,
    last: np.ndarray,
    nothing: np.ndarray,
    everywhere: np.ndarray,
) -> None:
    """Lower ``costs`` (valid for every length) by one step of the recursion until it settles.

    Kernels groups[m] to groups[m + 1] are those of one jump, for all that may be known of the
    records jumped over, which cost ``skipped``; of their probabilities the ``roots`` are given.
    new_cost[m](y, y') is what the new records of the window after it cost directly. ``last``,
    (kernels, S, S, 2), is room for the worst pairs; ``nothing`` (S, S) and ``everywhere`` (S,) are
    what :func:`close_paths` takes for no costs between windows and for all windows.
    """
    size = len(costs)
    bounds, grips, firmest = np.empty((size, size)), np.empty((size, size)), np.empty(size)
    for _ in range(sweeps):
        moved, largest = 0.0, 0.0
        for m in range(len(new_cost)):
            for y in range(size):
                firmest[y] = np.inf
                for w in range(size):
                    bounds[y, w] = costs[y, w] + new_cost[m, y, w]
                    up = math.expm1(bounds[y, w] / 2.0)
                    grips[y, w] = 1.0 / up if up > 0.0 else np.inf
                    firmest[y] = min(firmest[y], grips[y, w])
            for x in range(size):
                for z in range(size):
                    value = 0.0
                    for k in range(groups[m], groups[m + 1]):
                        room = costs[x, z] - skipped[k]
                        if room <= 0.0:
                            value = np.inf
                        if value >= costs[x, z]:
                            break
                        cost = _pair_cost(
                            bounds,
                            grips,
                            firmest,
                            roots[k, x],
                            roots[k, z],
                            math.expm1(room / 2.0),
                            last[k, x, z],
                        )
                        value = max(value, skipped[k] + cost)
                    if value < costs[x, z]:
                        moved = max(moved, costs[x, z] - value)
                        costs[x, z] = value
        close_paths(costs, nothing, everywhere)
        for x in range(size):
            for z in range(size):
                largest = max(largest, costs[x, z])
        if moved <= 1e-13 * largest:
            break


@bound("contraction", on=WindowChain)
def window_contraction(chain: WindowChain, guarantee: Pure) -> Bound:
    """Contraction bound on overlapping windows; never above the one on blocks.

    Start from what blocks prove for one side and improve it: for windows u, u' and m steps,

        R(u, u') <= max_w unknown(w) eps + max_{v, v'} [R(v, v') + eps d_new(v, v')] (*) ln odds,

    where w is what may be known of the (m - k)^+ records jumped over, d_new counts the new records
    in which v and v' differ, and odds are those of v and v' by the m-step kernel from u and u'.
    Leakage of a record: the largest ``eps d(u, u') + Right(u, u') + Left(u, u')`` over windows that
    differ in it, for the best place of the record in the window.

    Notes
    -----
    O(S^3) a sweep for S = s^k windows where few pairs need a look, O(S^4) at worst.

    Examples
    --------
    >>> chain = WindowChain([[.9, .1], [.4, .6], [.7, .3], [.3, .7]], order=2)
    >>> bound = window_contraction(chain, Pure(.1)).value
    >>> bound < blocks(chain, Pure(.1)).value
    True
    """
    used = np.flatnonzero(chain.occurring)
    k, eps = chain.order, guarantee.largest
    right, left = (costs[np.ix_(used, used)] for costs in window_costs(chain, eps))
    differ = chain.windows[used][:, None, :] != chain.windows[used][None, :, :]
    total = differ.sum(axis=2) * eps + right + left
    value = min(float(total[differ[:, :, place]].max(initial=0.0)) for place in range(k))
    whole = limit_with_skipping(k * eps, block_diameters(chain))[0]
    value = min(value * (1.0 + ROUNDING), whole)
    return _bounded(chain, guarantee, value, Certificate("contraction", WINDOWS))


@lru_cache(maxsize=16)  # transfer asks for them again
def window_costs(chain: WindowChain, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """R(u, u') on the right and on the left of a window, whatever is known; (S, S) arrays each.

    Infinite where one of the windows does not occur.
    """
    if chain.left_for_ever:  # its left sides cannot be continued backwards, as jumps there need
        raise NotApplicableError("some recorded windows are left for ever; use blocks")
    used = np.flatnonzero(chain.occurring)
    size, k = len(used), chain.order
    if size > _WINDOW_LIMIT:
        raise NotApplicableError(f"{size} windows are too many to compare in pairs; use blocks")
    side = (limit_with_skipping(k * eps, block_diameters(chain))[0] - k * eps) / 2.0
    if chain.length is not None:
        side = min(side, chain.length * eps)
    if math.isinf(side):
        raise NotApplicableError("the chain tells windows apart for ever; give it a length")
    kernel = chain.window_kernel[np.ix_(used, used)]
    differ = chain.windows[used][:, None, :] != chain.windows[used][None, :, :]
    sides = []
    for matrix, newest in ((kernel, -1), (kernel.T, 0)):
        read = chain.windows[used][:, newest]
        jumps = window_jumps(np.ascontiguousarray(matrix), read, k, len(chain.states), _JUMPS // 2)
        fresh = [
            (differ[:, :, -m:] if newest else differ[:, :, :m]).sum(axis=2) * eps
            for m in (min(m, k) for m in range(1, len(jumps) + 1))
        ]
        costs = np.full((size, size), side) * (1.0 - np.eye(size))
        roots = np.sqrt(np.concatenate([kernels for kernels, _ in jumps]))
        _settle(
            roots,
            np.cumsum([0, *(len(kernels) for kernels, _ in jumps)]),
            np.array(fresh),
            eps * np.concatenate([unknown for _, unknown in jumps]),
            costs,
            _SWEEPS,
            np.zeros((len(roots), size, size, 2), np.int64),
            np.zeros((size, size)),
            np.ones(size, np.bool_),
        )
        whole = np.full(chain.window_kernel.shape, np.inf)
        whole[np.ix_(used, used)] = costs
        sides.append(whole)
    return sides[0], sides[1]


_STEPS = 12
_BLOCKS = 6
_LARGE = 16  # rows beyond which the first finite jump is enough: each takes seconds


@bound("contraction", on=WindowChain, confidence=True)
def _only_one_law(chain: WindowChain, guarantee: Pure) -> Bound:
    raise NotApplicableError("contraction on windows is for one law, not for a confidence region")


@bound("contraction", on=SwitchingChain, given=level_and_confidence)
@bound("contraction", on=SwitchingChain, confidence=True, given=level_and_confidence)
def switching_contraction(
    chain: SwitchingChain, guarantee: Pure, confidence: float | None
) -> Bound:
    """Contraction bound of a chain whose kernel changes once.

    Parameters
    ----------
    chain : SwitchingChain
    guarantee : Pure
    confidence : float or None
        For all kernels of the two regions at this joint level.

    References
    ----------
    chains#contraction, a kernel that changes.
    """
    found = switched(chain, confidence)
    if isinstance(chain.parts[0], SeasonalChain):
        order, n = chain.parts[0].order, chain.length
        value, _ = limit_with_skipping(order * guarantee.largest, found)
        if n is not None:
            value = min(value, float(guarantee.vector(n).sum()))
        elif math.isinf(value):
            raise NotApplicableError("the seasons tell states apart for ever; give a length")
        per_record = None if n is None else np.full(n, value)
        return Bound(value, "upper bound", Certificate("contraction", SEASONS), per_record)
    part: Any = replace(chain.parts[0], length=chain.length)
    if isinstance(part, WindowChain):
        return blocks(part, guarantee, found)
    return contraction(part, guarantee, found)


def switched(chain: SwitchingChain, confidence: float | None) -> np.ndarray:
    """Diameters of jumps of 1, 2, .. records or blocks, the kernels changing once; (1, jumps)."""
    if not isinstance(chain.parts[0], SeasonalChain):
        return switching_diameters(chain.parts, confidence)
    from corrdp.bounds.chains.seasons import switching_seasons

    return switching_seasons(chain, confidence)


@lru_cache(maxsize=16)  # a search asks for many epsilons
def switching_diameters(parts: tuple[Any, Any], confidence: float | None) -> np.ndarray:
    """``max over a + b = m of D(P^a Q^b)`` for jumps of m = 1, 2, .. records (or blocks).

    Returns
    -------
    (1, jumps) array
    """
    chain = SwitchingChain(parts, None, parts[0].states)
    k, used = chain.order, np.ones(len(chain.transition), dtype=bool)
    if confidence is not None:
        measure = region_jumps(list(chain.regions(confidence)), k)
    else:
        windows = np.arange(len(used))[:, None]
        if isinstance(parts[0], WindowChain):
            used, windows = parts[0].transition.any(axis=1), parts[0].windows
        kernels = np.stack([_kernel(part)[np.ix_(used, used)] for part in parts])
        measure = exact_jumps(kernels, windows[used], len(chain.states))
    found = []
    for length in range(k, (_STEPS if k == 1 else _BLOCKS * k) + 1, k):
        found.append(max(measure((0,) * a + (1,) * (length - a)) for a in range(length + 1)))
        if len(chain.transition) > _LARGE and np.isfinite(found[-1]):
            break
    return np.array([found])


def _kernel(part: Any) -> np.ndarray:
    """Kernel of states or windows."""
    return part.window_kernel if isinstance(part, WindowChain) else np.asarray(part.transition)
