"""Transfer record by record (chains#transfer), where epsilon, kernel or possible values vary.

The bound of :mod:`corrdp.bounds.chains.transfer`, with a sweep from every record that the adversary
may know, and from the ends of the chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.sweep import (
    CLOSED,
    WORK,
    Boundary,
    Road,
    Side,
    first_weights,
    prepare,
    sweep,
)
from corrdp.bounds.contraction import mirrored, side_costs, skip_diameters
from corrdp.bounds.scope import ROUNDING, Bound
from corrdp.errors import NotApplicableError
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Kind, Witness


class _Right(NamedTuple):
    """Best cost to the right of every record by pair of values, shape (n, s, s) each."""

    found: np.ndarray
    certified: np.ndarray
    origin: np.ndarray  # distance * s + state of the known record; -1 when none is known


@njit(cache=True)
def _follow(
    road: Road,
    end: np.ndarray,
    far: np.ndarray,
    possible: np.ndarray,
    reach: int,
    pairwise: bool,
    right: _Right,
) -> int:
    """Fill ``right``; returns the distance up to which all is filled."""
    found, certified, origin = right.found, right.certified, right.origin
    n, s = len(found), len(end)
    for i in range(n):
        for a in range(s):
            for b in range(s):
                found[i, a, b] = 0.0 if i == n - 1 else np.nan
                origin[i, a, b] = -1
    costs = np.empty((n, s, s))
    filled = sweep(road, Boundary(n - 1, end, np.nan), n - 1, pairwise, costs)
    least = min(reach, filled)
    for j in range(1, filled + 1):
        for a in range(s):
            for b in range(s):
                found[n - 1 - j, a, b] = costs[j, a, b]
    start = np.zeros(s)
    for boundary in range(1, n):
        for c in range(s):
            if not possible[boundary, c]:
                continue
            for x in range(s):
                start[x] = 1.0 if x == c else 0.0
            far_in = min(reach, boundary)
            filled = sweep(road, Boundary(boundary, start, np.nan), far_in, pairwise, costs)
            if filled < far_in:
                least = min(least, filled)
            for j in range(1, filled + 1):
                for a in range(s):
                    for b in range(s):
                        if costs[j, a, b] > found[boundary - j, a, b]:
                            found[boundary - j, a, b] = costs[j, a, b]
                            origin[boundary - j, a, b] = j * s + c
    for i in range(n):
        for a in range(s):
            for b in range(s):
                certified[i, a, b] = found[i, a, b]
    if least >= 1:
        for i in range(n - 1 - least):
            uncertain = Boundary(i + least, end, far[i + least])
            sweep(road, uncertain, least, pairwise, costs)
            for a in range(s):
                for b in range(s):
                    beyond = costs[least, a, b]  # nan: the pair cannot occur
                    if beyond > certified[i, a, b] or np.isnan(certified[i, a, b]):
                        certified[i, a, b] = beyond
    return least


def by_record(
    chain: MarkovChain,
    alive: np.ndarray,
    steps: np.ndarray,
    pairwise: bool,
    longest: int,
    certificate: Certificate,
) -> Bound:
    """Transfer bound of every record of a chain with a length. O(n G s^4) for G distances."""
    n, s = chain.length, len(alive)
    if n is None:
        raise NotApplicableError("one epsilon per record needs a chain with a length")
    raw = chain.transition if not chain.homogeneous else chain.transition[None]
    raw = np.ascontiguousarray(raw[:, alive][:, :, alive])
    steps = np.array(np.broadcast_to(steps, (n, s, s)))  # a view would be read-only
    top = steps.max(axis=(1, 2))
    diameters = skip_diameters(chain)
    possible = np.ascontiguousarray(chain.support[:, alive])
    back = np.ascontiguousarray(np.swapaxes(raw, 1, 2)[::-1])
    sides = []
    for kernels, eps, end, spread, seen in (
        (raw, steps, np.ones(s), diameters, possible),
        (back, steps[::-1], first_weights(chain, alive), mirrored(diameters), possible[::-1]),
    ):
        peak = eps.max(axis=(1, 2))
        far = np.minimum(peak + side_costs(peak, spread), np.cumsum(peak[::-1])[::-1])
        side = Side(
            prepare(kernels, longest), np.ascontiguousarray(eps), np.ascontiguousarray(end), far
        )
        sides.append((side, np.ascontiguousarray(seen)))
    most = min(max(int(WORK / (n * s**4 * longest)), 8), max(n - 1, 1))
    reach = min(32, most)
    while True:
        (right, r_least), (left, l_least) = (
            _run(side, seen, reach, pairwise) for side, seen in sides
        )
        least = min(r_least, l_least)
        found = _at_records(steps, right.found, left.found[::-1], possible)
        certified = _at_records(steps, right.certified, left.certified[::-1], possible)
        whole = least >= n - 1
        closed = whole or certified.max() <= found.max() * (1.0 + CLOSED)
        if closed or least < reach or reach == most:
            break
        reach = min(4 * reach, most)
    per_record = certified.max(axis=(1, 2)) * (1.0 + ROUNDING)
    per_record = np.minimum(per_record, float(top.sum()))
    target = int(per_record.argmax())
    a, b = np.unravel_index(certified[target].argmax(), (s, s))
    labels = [chain.states[x] for x in alive]
    known = []
    for sign, origin, at in ((-1, left.origin, n - 1 - target), (1, right.origin, target)):
        code = int(origin[at, a, b])
        if code >= 0:
            known.append((sign * (code // s), labels[code % s]))
    witness = Witness(target, (labels[a], labels[b]), tuple(known))
    kind: Kind = "exact" if s == 2 and closed else "upper bound"
    return Bound(float(per_record[target]), kind, certificate, per_record, witness)


def _run(side: Side, seen: np.ndarray, reach: int, pairwise: bool) -> tuple[_Right, int]:
    n, s = seen.shape
    shape = (n, s, s)
    right = _Right(np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.int64))
    least = _follow(side.road, side.end, side.far, seen, reach, pairwise, right)
    if least < 1 < n:
        raise NotApplicableError("weights of this chain vanish within one step; use general")
    return right, least


def _at_records(
    steps: np.ndarray, right: np.ndarray, left: np.ndarray, possible: np.ndarray
) -> np.ndarray:
    """Leakage by record and pair of values; 0 where only one value is possible."""
    total = steps + right + left
    both = possible[:, :, None] & possible[:, None, :] & ~np.eye(possible.shape[1], dtype=bool)
    total = np.where(both & ~np.isnan(total), total, -np.inf)
    return np.where(total.max(axis=(1, 2), keepdims=True) == -np.inf, 0.0, total)
