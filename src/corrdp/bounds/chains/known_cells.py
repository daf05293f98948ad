"""What one adversary learns of several series at once (chains#joint): slice by slice.

The adversary knows some cells, or none. Slices are followed one by one towards the cell attacked,
as records are in chains#transfer, with the combinations left out that contradict what is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corrdp.bounds.chains.joint import REFERENCE, joint_contraction
from corrdp.bounds.chains.joint_sides import follow, law_costs
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.joint import JointChain
from corrdp.results import Certificate, Witness

_MOST_FOLLOWED = 16  # slices that are followed one by one: pairs of them are changed at every step
_FURTHEST = 4_096  # slices followed on one side
_BEYOND = 256  # slices followed beyond the furthest known cell of a longer chain
_WRITTEN = 512  # slices of a chain with seasons that is followed from end to end
_CLOSED = 1e-9  # relative, between what is found and what is certified for all distances


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
    here = at - begin
    law, before = _followed(
        np.swapaxes(_kernels(chain, np.arange(begin + 1, at + 1)), 1, 2),
        masks[begin:at],
        steps[: max(here, 1)],
        _law_at(chain, begin),
        edge if begin else nothing,
    )
    ones, after = _followed(
        _kernels(chain, np.arange(end, at, -1)),
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


def _kernels(chain: JointChain, slices: np.ndarray) -> np.ndarray:
    """The kernels that lead to these slices; one where it serves all."""
    if not chain.seasonal:
        return chain.kernels
    return chain.transition[chain.turn[np.append(slices, 0) % len(chain.turn)]]


def _law_at(chain: JointChain, slice_: int) -> np.ndarray:
    """The law of a slice: with seasons, as far into the period as it is."""
    law = chain.chain.start
    if not chain.seasonal:
        return np.linalg.matrix_power(chain.transition.T, slice_) @ law
    for kernel in _kernels(chain, np.arange(1, slice_ % len(chain.turn) + 1))[:-1]:
        law = law @ kernel
    return law


def _followed(
    kernels: np.ndarray,
    masks: np.ndarray,
    steps: np.ndarray,
    weights: np.ndarray,
    costs: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and costs along a side; arrays of one kind, so that the loop is compiled once."""
    given = (np.array(each, dtype=float, order="C") for each in (kernels, steps, weights, costs))
    matrices, direct, law, beyond = given
    found, after, whole = follow(matrices, np.array(masks, order="C"), direct, law, beyond)
    if not whole:
        raise NotApplicableError("slices of this chain are too rare to be followed")
    return found, after


def _reach(n: int) -> int:
    return n if n <= _FURTHEST else _BEYOND


def _check_followed(chain: JointChain) -> None:
    if len(chain.slices) > _MOST_FOLLOWED:
        raise NotApplicableError(
            f"following {len(chain.slices)} slices takes too long (at most {_MOST_FOLLOWED}); use "
            "contraction, or merge states"
        )
    if chain.seasonal and chain.pattern is None:
        raise NotApplicableError(
            "it follows a timetable of seasons, and these may come in any order; use contraction"
        )
    if len(chain.turn) > _FURTHEST:
        raise NotApplicableError(
            f"the seasons repeat after {len(chain.turn):,} time steps only, and up to "
            f"{_FURTHEST:,} are followed; use contraction"
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

    Slices are followed until the chain has forgotten where it began, which is certified. With
    seasons a short chain is written out, and one period of a chain without ends serves all others.

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
    certificate = Certificate("uninformed", REFERENCE, ("the adversary knows no other record",))
    if chain.seasonal:
        return _at_worst(chain, *_round_the_clock(chain, steps, edge), certificate, epsilon)
    reach = 32 if chain.initial is None else (n or 1) - 1
    while True:
        reach = reach if n is None else min(reach, n - 1)
        masks = np.ones((reach, size), dtype=bool)
        sides = []
        for kernels, weights in (
            (chain.kernels.swapaxes(1, 2), chain.chain.start),
            (chain.kernels, np.ones(size)),
        ):
            free = _followed(kernels, masks, steps, weights, np.zeros((size, size)))[1]
            sides.append((free, _followed(kernels, masks, steps, weights, edge)[1][-1]))
        gap = max(float((beyond - free[-1]).max()) for free, beyond in sides)
        most = max(float(free[-1].max()) for free, _ in sides)
        whole = n is not None and reach == n - 1
        if whole or gap <= _CLOSED * most or reach >= _FURTHEST:
            break
        reach *= 2
    law, ends = chain.chain.start, [np.maximum(beyond, free[-1]) for free, beyond in sides]
    if whole:  # nothing lies beyond
        ends = [free[-1] for free, _ in sides]
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
    return _at_worst(chain, values, pairs, certificate, epsilon)


def _round_the_clock(
    chain: JointChain, steps: np.ndarray, edge: np.ndarray
) -> tuple[np.ndarray, dict[tuple[int, int], Any]]:
    """What each cell leaks to who knows nothing: of a short chain, or of one period without ends.

    Both sides are followed slice by slice past all of them, from the ends of the chain or from so
    far that where it began is forgotten, the contraction bound standing for what lies further.
    """
    n, size, m, period = chain.length, len(chain.slices), len(chain.series), len(chain.turn)
    short = n is not None and n <= max(_WRITTEN, 2 * period)
    count = n if short and n is not None else period
    nothing, reach = np.zeros_like(edge), 0 if short else 32
    while True:
        masks = np.ones((reach + count - 1, size), dtype=bool)
        sides = []
        for onwards in (False, True):
            if onwards:  # from the slice furthest to the right back to the one after the first
                kernels = _kernels(chain, np.arange(count + reach - 1, 0, -1))
                weights = np.ones(size)
            else:
                kernels = _kernels(chain, np.arange(1 - reach, count)).swapaxes(1, 2)
                weights = _law_at(chain, -reach % period)
            free = _followed(kernels, masks, steps, weights, nothing)[1][reach:]
            beyond = free if short else _followed(kernels, masks, steps, weights, edge)[1][reach:]
            sides.append((free, np.maximum(free, beyond)))
        gap = max(float((beyond - free).max()) for free, beyond in sides)
        if gap <= _CLOSED * max(float(free.max()) for free, _ in sides) or reach >= _FURTHEST:
            break
        reach *= 2
    law, values = chain.chain.start, np.empty((count, m))
    found: dict[tuple[int, int], Any] = {}
    for t, kernel in enumerate(_kernels(chain, np.arange(1, count + 1))[:-1]):
        inside = steps[0] + sides[0][1][t] + sides[1][1][count - 1 - t]
        for i in range(m):
            values[t, i], found[t, i] = _of_cell(chain, inside, law, i)
        law = law @ kernel
    return values, found


def _at_worst(
    chain: JointChain,
    values: np.ndarray,
    pairs: dict[tuple[int, int], Any],
    certificate: Certificate,
    epsilon: float,
) -> Bound:
    """The bound of values by slice and series: of all slices, or of one period that serves all."""
    n, m = chain.length, len(chain.series)
    if n is not None:
        values = np.minimum(values, n * m * epsilon)
    t, i = (int(x) for x in np.unravel_index(values.argmax(), values.shape))
    worst, pair = float(values[t, i]), pairs[t, i]
    if n is None:
        return Bound(worst, "upper bound", certificate, None, Witness(None, pair))
    if n > len(values):  # the worst place, as far from both ends as may be
        t += (n // 2 - t) // len(values) * len(values)
    per_record = values[np.arange(n) % len(values)].ravel()
    worst = float(per_record.max())
    return Bound(worst, "upper bound", certificate, per_record, Witness(t * m + i, pair))
