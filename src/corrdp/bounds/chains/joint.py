"""Several series at once (chains#joint): contraction from slice to slice, and one adversary.

A record is one cell, and an adversary may know some cells of a slice and not the others. Such a
slice does not cut the chain: it leaves out what contradicts the known cells. One cell leaks no
more than its whole slice,

    leakage <= 4 arsinh(e^{D/2} sinh(m eps / 4))

for m series, D the diameter of the kernel of slices, every adversary and every length. Where a
transition was never seen D is infinite: then what may be known of the next slices is gone through,
and those slices are jumped over whose kernel says too much.

To a single adversary slices are followed one by one, as records are in chains#transfer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from corrdp.bounds.chains.joint_sides import along, follow, law_costs, limit
from corrdp.bounds.registry import bound, level_and_confidence
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import diameters, multiply_each
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.region import step_bounds, widest_diameter
from corrdp.results import Certificate, Witness

REFERENCE = "theorem chains#joint"
_MOST_KNOWN = 2_000  # of what may be known of a slice; beyond, no slice is jumped over
_MOST_WORDS = 1_000  # of what may be known of two slices; beyond, the second is taken as unknown
_ROWS = 8_000  # rows of all kernels of a region for which jumps are worked out: seconds
_MOST_FOLLOWED = 16  # slices that are followed one by one: pairs of them are changed at every step
_FURTHEST = 4_096  # slices followed on one side
_CLOSED = 1e-9  # relative, between what is found and what is certified for all distances
_SHORT = 512  # time steps up to which each has a value of its own
_ALL_ALONG = 200_000  # the same where each cell has an epsilon of its own


class Jumps(NamedTuple):
    """Diameters of jumps of one, two and three slices, by what is known on the way.

    ``unknown[w, i]`` says whether cell i of a slice of which w is known is unknown.
    """

    one: np.ndarray  # (W,)
    two: np.ndarray  # (W, V): V is 1 where the second slice is taken as unknown
    three: np.ndarray
    unknown: np.ndarray  # (W, m)


@lru_cache(maxsize=32)
def known_cells(chain: JointChain) -> tuple[np.ndarray, np.ndarray]:
    """What may be known of a slice, but all of it; nothing first, and alone where it is too much.

    Returns
    -------
    masks : (W, k) array of bool
        Which slices are left.
    unknown : (W, m) array of bool
        Which cells differ among them.

    Examples
    --------
    >>> pair = JointChain([[.9, .1], [.2, .8]], "ab", slices=["xx", "yz"])
    >>> known_cells(pair)[0].tolist()
    [[True, True]]
    """
    places = chain.places
    everything = np.ones(len(places), dtype=bool)
    left = {everything.tobytes(): everything}
    for numbers in places.T:
        for mask in list(left.values()):
            for value in range(len(chain.states)):
                part = mask & (numbers == value)
                if part.sum() > 1:  # one slice that is left has nothing to tell
                    left[part.tobytes()] = part
        if len(left) > _MOST_KNOWN:
            left = {everything.tobytes(): everything}
            break
    masks = np.array(list(left.values()))
    return masks, np.array([np.ptp(places[mask], axis=0) > 0 for mask in masks])


@lru_cache(maxsize=32)  # a search asks for many epsilons
def slice_jumps(chain: JointChain, confidence: float | None) -> tuple[Jumps, Jumps]:
    """Diameters of jumps to the right and to the left, for one law or for those of a region."""
    masks, unknown = known_cells(chain)
    second = masks if len(masks) ** 2 <= _MOST_WORDS else masks[:1]
    # one mask alone stands for all that may be known, and there is more of it
    known = len(masks) > 1 or len(chain.slices) <= 2
    jumps = known and (confidence is None or len(masks) * len(chain.slices) <= _ROWS)
    size = len(chain.slices)
    low = high = np.eye(size)
    if confidence is None:
        used = chain.chain.occurring
        kernel = np.where(used[:, None] & used[None, :], chain.transition, 0.0)

        def product(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            del high
            found, whole = multiply_each(kernel, low)
            found = found if whole else np.full_like(found, np.nan)
            return found, found

        def measure(low: np.ndarray, high: np.ndarray) -> float:
            del high
            return math.inf if np.isnan(low).any() else float(diameters(low[None])[0])
    else:
        region = chain.region(confidence)

        def product(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return step_bounds(region, low, high)

        measure = widest_diameter
    one = product(low, high)
    twice = [product(*(each * w[:, None] for each in one)) for w in masks] if jumps else []
    right, left = (np.full((3, len(masks), len(second)), np.inf) for _ in range(2))
    for i, w in enumerate(masks):
        right[0, i] = measure(*(each[:, w] for each in one))
        left[0, i] = measure(*(each[w].T for each in one))
        for j, v in enumerate(second if jumps else ()):
            right[1, i, j] = measure(*(each[:, v] for each in twice[i]))
            left[1, i, j] = measure(*(each[v].T for each in twice[i]))
            # the slice jumped over first is w to the right, v to the left
            if len(second) > 1:
                thrice = product(*(each * w[:, None] for each in twice[j]))
                right[2, i, j] = measure(*thrice)
                left[2, j, i] = measure(*(each.T for each in thrice))
    found = [
        Jumps(np.ascontiguousarray(each[0, :, 0]), each[1].copy(), each[2].copy(), 1.0 * unknown)
        for each in (right, left)
    ]
    return found[0], found[1]


@bound("contraction", on=JointChain, given=level_and_confidence)
@bound("contraction", on=JointChain, confidence=True, given=level_and_confidence)
def joint_contraction(chain: JointChain, guarantee: Pure, confidence: float | None = None) -> Bound:
    """What a slice leaks at most, and so each of its cells: every adversary.

    ``leakage <= E + S + S'``, E the epsilons of a slice and S, S' what the slices after and before
    it are worth, the least with

        S >= max_w min{ (E_w + S) (*) D_w,  E_w + max_v min{ (E_v + S) (*) D_wv,
                                                           E_v + (E + S) (*) D_wv. } }

    where

    * w is what is known of the next slice, E_w are the epsilons of its unknown cells, v is what is
      known of the one after it,
    * D_w, D_wv and D_wv. are the diameters of the kernels to these slices, and to the third one,
      taken over what is left of them.

    Parameters
    ----------
    chain : JointChain
    guarantee : Pure
        One epsilon, or one for each cell.
    confidence : float, optional
        For every kernel that the data of the fit allow.

    Notes
    -----
    O(W V k^3) for a kernel of k slices, W and V what may be known of two slices (27 less 8 for
    three binary series; V = 1 where there are too many).

    References
    ----------
    chains#joint.

    Examples
    --------
    >>> kernel = [[.9, .04, .04, .02], [.4, .3, .1, .2], [.4, .1, .3, .2], [.1, .1, .1, .7]]
    >>> round(joint_contraction(JointChain(kernel, "ab"), Pure(.1)).value, 4)
    2.1149
    """
    m, n = len(chain.series), chain.length
    sides = slice_jumps(chain, confidence)
    certificate = Certificate("contraction", REFERENCE)
    if n is not None and n <= (_ALL_ALONG if guarantee.is_vector else _SHORT):
        eps = guarantee.vector(n * m).reshape(n, m)
        each = [
            along(np.ascontiguousarray(own @ jumps.unknown.T), own.sum(axis=1), *jumps[:3])
            for own, jumps in zip((eps, np.ascontiguousarray(eps[::-1])), sides, strict=True)
        ]
        per_slice = eps.sum(axis=1) + each[0] + each[1][::-1]
        per_slice = np.minimum(per_slice * (1.0 + ROUNDING), float(eps.sum()))
        per_record = np.repeat(per_slice, m)
        record = int(per_record.argmax())
        return Bound(
            float(per_record[record]), "upper bound", certificate, per_record, Witness(record)
        )
    top = guarantee.largest
    ends = [limit(top * jumps.unknown.sum(axis=1), m * top, *jumps[:3]) for jumps in sides]
    value = (m * top + sum(ends)) * (1.0 + ROUNDING)
    if n is None:
        if guarantee.is_vector:
            raise InputError("one epsilon per record needs a chain with a length")
        if math.isinf(value):
            raise NotApplicableError(
                "the slices tell each other apart for ever, as far as three of them: some "
                "transitions were never seen or are impossible; merge states or give a length"
            )
        return Bound(value, "upper bound", certificate)
    total = float(guarantee.vector(n * m).sum())
    value = min(value, total)
    return Bound(value, "upper bound", certificate, np.full(n * m, value))


# -- one adversary ---------------------------------------------------------------------------


def _one_adversary(chain: JointChain, scope: Scope) -> tuple[Pure, int, Mapping[int, Any]]:
    who = scope.adversary
    if who is None or who == "none":
        raise NotApplicableError(
            "transfer on several series is for one adversary: give adversary=Adversary(record, "
            "known); contraction is for every adversary"
        )
    return scope.dp, who.record, who.known


@bound("transfer", on=JointChain, given=_one_adversary)
def joint_transfer(
    chain: JointChain, guarantee: Pure, record: int, known: Mapping[int, Any]
) -> Bound:
    """What one adversary learns of one cell.

    ``T(x, x') = Lambda(A; law of the next slice after x, after x')``, ``A(y, y')`` the epsilons of
    the cells in which slices y and y' differ, and T of the slices beyond; the laws are those given
    what is known. ``leakage = max over a, b of Lambda(A; law of the slice given a, given b)`` with
    T of both sides in A.

    Parameters
    ----------
    chain : JointChain
        With a length.
    guarantee : Pure
        One epsilon, or one for each cell.
    record : int
        The cell attacked: ``t * series + i`` is series i at time step t.
    known : mapping of cell to state

    Notes
    -----
    O(k^2) mixture problems on k slices for each time step that is followed: those up to the
    furthest known cell, and beyond it as many as the chain takes to forget.

    References
    ----------
    chains#joint.

    Examples
    --------
    >>> kernel = [[.9, .04, .04, .02], [.4, .3, .1, .2], [.4, .1, .3, .2], [.1, .1, .1, .7]]
    >>> pair = JointChain(kernel, "ab", length=3)
    >>> round(joint_transfer(pair, Pure(1.0), 2, {3: 1}).value, 4)
    2.5217
    """
    m, n = len(chain.series), chain.length
    _check_followed(chain)
    assert n is not None  # there is a record
    eps = guarantee.vector(n * m).reshape(n, m)
    masks = np.ones((n, len(chain.slices)), dtype=bool)
    for cell, value in known.items():
        masks[cell // m] &= chain.places[:, cell % m] == chain.states.index(value)
    at = record // m
    first, last = min([at, *(c // m for c in known)]), max([at, *(c // m for c in known)])
    begin, end = max(first - _reach(n), 0), min(last + _reach(n), n - 1)
    apart = (chain.places[:, None] != chain.places[None]).astype(float)
    steps = np.einsum("xyi,ti->txy", apart, eps[begin : end + 1])
    far = 0.0
    if begin > 0 or end < n - 1:
        far = joint_contraction(chain, Pure(guarantee.largest)).value
    edge = np.full(steps.shape[1:], far) * (1.0 - np.eye(len(chain.slices)))
    nothing = np.zeros_like(edge)
    start = np.linalg.matrix_power(chain.transition.T, begin) @ chain.chain.start
    here = at - begin
    law, before = _followed(
        chain.transition.T,
        masks[begin:at],
        steps[: max(here, 1)],
        start,
        edge if begin else nothing,
    )
    ones, after = _followed(
        chain.transition,
        masks[end:at:-1],
        steps[:here:-1] if end > at else steps[:1],
        np.ones(len(chain.slices)),
        edge if end < n - 1 else nothing,
    )
    weights = law * ones * masks[at]
    if not weights.any():
        raise InputError(f"the known values {dict(known)!r} have probability 0")
    inside = steps[here] + before[-1] + after[-1]
    value, pair = _of_cell(chain, inside, weights, record % m)
    facts = tuple((cell - record, state) for cell, state in known.items())
    witness = Witness(record, pair, facts)
    told = "the adversary knows just these records"
    certificate = Certificate("transfer", REFERENCE, (told,))
    return Bound(min(value, float(eps.sum())), "upper bound", certificate, None, witness)


def _followed(
    kernel: np.ndarray,
    masks: np.ndarray,
    steps: np.ndarray,
    weights: np.ndarray,
    costs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and costs along a side; arrays of one kind, so that the loop is compiled once."""
    given = (np.array(each, dtype=float, order="C") for each in (kernel, steps, weights, costs))
    matrix, direct, law, beyond = given
    found, after, whole = follow(matrix, np.array(masks, order="C"), direct, law, beyond)
    if not whole:
        raise NotApplicableError("slices of this chain are too rare to be followed")
    return found, after


def _reach(n: int) -> int:
    return min(n, _FURTHEST) if n <= _FURTHEST else 256


def _check_followed(chain: JointChain) -> None:
    if len(chain.slices) > _MOST_FOLLOWED:
        raise NotApplicableError(
            f"following {len(chain.slices)} slices takes too long (at most {_MOST_FOLLOWED}); use "
            "contraction, or merge states"
        )


def _of_cell(
    chain: JointChain, steps: np.ndarray, weights: np.ndarray, series: int
) -> tuple[float, tuple[Any, Any] | None]:
    """The largest ``Lambda(steps; law given a, law given b)`` over values a, b of one series."""
    laws = np.array(
        [weights * (chain.places[:, series] == value) for value in range(len(chain.states))]
    )
    totals = laws.sum(axis=1)
    alive = totals > 0.0
    laws = np.where(alive[:, None], laws / np.where(alive, totals, 1.0)[:, None], 0.0)
    out = np.zeros((len(laws), len(laws)))
    law_costs(np.ascontiguousarray(steps), np.ascontiguousarray(laws), alive, out)
    a, b = np.unravel_index(out.argmax(), out.shape)
    if out[a, b] <= 0.0:
        return 0.0, None
    return float(out[a, b]) * (1.0 + ROUNDING), (chain.states[a], chain.states[b])


def _alone(chain: JointChain, scope: Scope) -> tuple[float]:
    if scope.adversary != "none":
        raise NotApplicableError('it is about who knows no other record: ask for adversary="none"')
    if scope.dp.is_vector:
        raise NotApplicableError("it takes one epsilon for all records")
    return (scope.dp.largest,)


@bound("uninformed", on=JointChain, given=_alone)
def joint_uninformed(chain: JointChain, epsilon: float) -> Bound:
    """What the adversary learns who knows no cell; see :func:`joint_transfer`.

    Slices are followed until the chain has forgotten where it began, which is certified.

    Examples
    --------
    >>> kernel = [[.9, .04, .04, .02], [.4, .3, .1, .2], [.4, .1, .3, .2], [.1, .1, .1, .7]]
    >>> round(joint_uninformed(JointChain(kernel, "ab"), .1).value, 4)
    1.1947
    """
    _check_followed(chain)
    n, size, m = chain.length, len(chain.slices), len(chain.series)
    if chain.initial is not None and (n is None or n > _FURTHEST):
        raise NotApplicableError(
            "it needs a stationary start, or at most "
            f"{_FURTHEST:,} time steps: leave initial out, or give a length"
        )
    apart = (chain.places[:, None] != chain.places[None]).sum(axis=2)
    steps = (epsilon * apart)[None]
    far = np.inf if n is None else epsilon * m * n
    try:
        far = min(far, joint_contraction(chain, Pure(epsilon)).value)
    except NotApplicableError:
        if n is None:
            raise
    edge = far * (1.0 - np.eye(size))
    reach = 32 if chain.initial is None else (n or 1) - 1
    while True:
        reach = reach if n is None else min(reach, n - 1)
        masks = np.ones((reach, size), dtype=bool)
        sides = []
        for kernel, weights in (
            (chain.transition.T, chain.chain.start),
            (chain.transition, np.ones(size)),
        ):
            free = _followed(kernel, masks, steps, weights, np.zeros((size, size)))[1]
            sides.append((free, _followed(kernel, masks, steps, weights, edge)[1][-1]))
        gap = max(float((beyond - free[-1]).max()) for free, beyond in sides)
        most = max(float(free[-1].max()) for free, _ in sides)
        whole = n is not None and reach == n - 1
        if whole or gap <= _CLOSED * most or reach >= _FURTHEST:
            break
        reach *= 2
    law, ends = chain.chain.start, [np.maximum(beyond, free[-1]) for free, beyond in sides]
    certificate = Certificate("uninformed", REFERENCE, ("the adversary knows no other record",))
    if n is None or (chain.initial is None and n > 2 * reach):
        inside = steps[0] + ends[0] + ends[1]
        found = [_of_cell(chain, inside, law, i) for i in range(m)]
        series = max(range(m), key=lambda i: found[i][0])
        value, pair = found[series]
        per_record = None if n is None else np.tile([each[0] for each in found], n)
        record = None if n is None else n // 2 * m + series
        return Bound(value, "upper bound", certificate, per_record, Witness(record, pair))
    values = np.empty((n, m))
    pairs: dict[tuple[int, int], Any] = {}
    for t in range(n):
        before, after = (
            free[k] if k < len(free) else end
            for (free, _), end, k in zip(sides, ends, (t, n - 1 - t), strict=True)
        )
        for i in range(m):
            values[t, i], pairs[t, i] = _of_cell(chain, steps[0] + before + after, law, i)
        if chain.initial is not None:
            law = law @ chain.transition
    values = np.minimum(values, n * m * epsilon)
    t, i = (int(x) for x in np.unravel_index(values.argmax(), values.shape))
    witness = Witness(t * m + i, pairs[t, i])
    return Bound(float(values[t, i]), "upper bound", certificate, values.ravel(), witness)
