"""Transfer bound of a chain of order k (order-k#window-transfer, order-k#certificate).

Any mechanism, every adversary. Short chains: every adversary by itself. Else for every length at
once, by a certificate over cells whose width is halved while that pays; what a mechanism found by
search attains is the lower end, and stands beside the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from functools import lru_cache

import numpy as np

from corrdp.bounds.chains.cells import (
    Mesh,
    TooManyCells,
    lay_cells,
    states_of,
)
from corrdp.bounds.chains.frontier import (
    Beyond,
    Flank,
    Tree,
    Window,
    Worst,
    all_cores,
    plant,
    turned_windows,
    worst_pair,
)
from corrdp.bounds.chains.settling import settle_costs, settle_far
from corrdp.bounds.chains.transfer import given_steps
from corrdp.bounds.chains.uninformed import given_alone
from corrdp.bounds.chains.windows import window_costs
from corrdp.bounds.chains.words import Found, attained, follow, price_words, search_words
from corrdp.bounds.chains.zones import LARGEST, RAREST, STATES, UNKNOWN
from corrdp.bounds.levels import close
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Reach, Scope
from corrdp.bounds.steps import Steps
from corrdp.bounds.units import ONE, Unit, of_largest
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.window import WindowChain
from corrdp.results import Certificate, Witness

SHORT = "theorem order-k#window-transfer, each adversary by itself"
CERTIFIED = "theorem order-k#certificate, every adversary and every length"
FREE = "theorem order-k#window-transfer with no record known"
_MOST_WINDOWS = 32  # above this many windows their pairs take too long
_SHORT = 16  # longer chains have too many adversaries to look at each
_WIDEST, _COARSEST, _COARSER = 0.2, 60.0, 4.0  # widths of the first cells and the coarsest; step
_CLOSE = 1e-3  # relative gap between certificate and best word at which cells are fine enough
_PAYS = 0.8  # finer cells must bring the gap below this share of it
_BUDGET = 120_000  # numbers kept for the states of one side of order 2, twice as many for each more
_EFFORT = 8  # what a step costs with three states, relative to two
_REFERENCE = 1.0  # the epsilon at which the width of the cells is chosen
_ROUNDED = 1e-9  # relative: what the steps of a search may lose, far above what they do
_AROUND = 120  # records on each side that are looked at one by one
_FREE_TURNS = 100_000  # unknown records after which a chain should have forgotten
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Laid:
    """The two sides of a chain and cells for every word on them."""

    sides: tuple[Flank, Flank]
    cells: tuple[Mesh, Mesh]
    width: float


@dataclass(frozen=True)
class _Kernel:
    """Chains of one kernel share their cells, whatever their length."""

    key: tuple[int, bytes, bytes]
    chain: WindowChain = field(compare=False)


def _kernel(chain: WindowChain) -> _Kernel:
    return _Kernel((chain.order, chain.transition.tobytes(), chain.occurring.tobytes()), chain)


def laid_for(chain: WindowChain) -> Laid:
    """The cells of a chain; made once for a kernel, for a search asks for many epsilons."""
    return _finest(_kernel(chain))


@lru_cache(maxsize=16)
def _finest(kernel: _Kernel) -> Laid:
    """Make the cells finer while that brings the certificate closer to the best word."""
    chain = kernel.chain
    if chain.occurring.sum() == 1:
        raise NotApplicableError("every record of this chain is the same: there are no two words")
    laid = _next_coarser(kernel, _WIDEST / _COARSER)
    steps = _REFERENCE * (1.0 - np.eye(len(chain.states)))
    least = search_words(chain, laid.sides, steps).value
    gap = _gap(chain, laid, steps, least)
    while gap > _CLOSE:
        # the gap goes with the width
        width = laid.width * min(max(_CLOSE / gap, 1.0 / 8.0), 0.5)
        finer = _of_width(kernel, width)
        if finer is None and width < laid.width / 2.0:
            finer = _of_width(kernel, laid.width / 2.0)
        closer = np.inf if finer is None else _gap(chain, finer, steps, least)
        if finer is not None and closer < gap:
            laid = finer
        if not closer < _PAYS * gap:
            break
        gap = closer
    return laid


def _next_coarser(kernel: _Kernel, width: float) -> Laid:
    """Cells wider than these that the work allowed is enough for."""
    while width * _COARSER <= _COARSEST:
        width *= _COARSER
        laid = _of_width(kernel, width)
        if laid is not None:
            return laid
    raise NotApplicableError(
        "what may be known of this chain takes more cells than the work allowed; use contraction"
    )


@lru_cache(maxsize=64)
def _of_width(kernel: _Kernel, width: float) -> Laid | None:
    """Cells of this width; None where they are more than the budget."""
    sides = sides_of(kernel.chain)
    try:
        right, left = (lay_cells(side, width, _budget(kernel.chain)) for side in sides)
    except TooManyCells:
        return None
    return Laid(sides, (right, left), width)


def _budget(chain: WindowChain) -> int:
    """Numbers that may be kept for the states of one side."""
    effort = 1 if len(chain.states) == 2 else _EFFORT
    return int(_BUDGET * 2.0 ** (chain.order - 2)) // effort


def _gap(chain: WindowChain, laid: Laid, steps: np.ndarray, least: float) -> float:
    """How far the certificate lies above the best word, relative."""
    try:
        return _worst(chain, _settle(chain, laid, steps), steps) / least - 1.0
    except NotApplicableError:
        return np.inf


def sides_of(chain: WindowChain) -> tuple[Flank, Flank]:
    """The two readings of a stationary chain."""
    table, law, used = chain.transition, chain.stationary, chain.occurring
    size, s = table.shape
    turned = turned_windows(s, chain.order)
    back = np.zeros((size, s))
    for v in np.flatnonzero(used):
        before = np.arange(s) * (size // s) + v // s  # windows that v can come from
        possible = used[before] & (table[before, v % s] > 0)
        weights = np.where(possible, law[before] * table[before, v % s], 0.0)
        back[turned[v]] = weights / weights.sum()
        if not (back[turned[v]][possible] >= RAREST).all():
            raise NotApplicableError("windows of this chain are too rare to be followed")
    forth = np.where(used[:, None], table, 0.0)
    if (forth[forth > 0.0] < RAREST).any():
        raise NotApplicableError("records of this chain are too rare to be followed")
    return (
        Flank.steady(forth[None, :, None], used, np.arange(size)),
        Flank.steady(back[None, :, None], used[turned], turned),
    )


def settled(chain: WindowChain, steps: np.ndarray) -> tuple[Beyond, Beyond]:
    """T, U and where h > 0 in all states of the right and of the left side."""
    kernel, laid = _kernel(chain), laid_for(chain)
    while True:
        try:
            return _settle(chain, laid, steps)
        except NotApplicableError:  # small epsilons take more sweeps: coarser cells, more of them
            laid = _next_coarser(kernel, laid.width)


def _settle(chain: WindowChain, laid: Laid, steps: np.ndarray) -> tuple[Beyond, Beyond]:
    try:
        limits = window_costs(chain, float(steps.max()))
    except NotApplicableError:
        limits = (np.full((len(chain.transition),) * 2, np.inf),) * 2
    found = []
    for cells, limit in zip(laid.cells, limits, strict=True):
        back = np.argsort(cells.side.turned)  # the numbers of this side's windows
        own = np.ascontiguousarray(limit[np.ix_(back, back)])[None] * (1.0 + _ROUNDED)
        found.append(states_of(cells, *settle_costs(cells, steps, own, _budget(chain))))
    return found[0], found[1]


def _worst(chain: WindowChain, sides: tuple[Beyond, Beyond], steps: np.ndarray) -> float:
    """The largest leakage over all pairs of states of the two sides."""
    window = Window.of(chain, steps[None], chain.order - 1)
    if window.own.max() + sum(float(each[0].max()) for each in sides) > LARGEST:
        raise NotApplicableError("epsilons this large leave nothing to compare; use contraction")
    right, left = map(plant, sides)
    return worst_pair(window, right, left, all_cores(chain.order, len(chain.states))).value


def certify(chain: WindowChain, steps: np.ndarray) -> float:
    """A bound for every adversary and every length from the cells of both sides."""
    return _worst(chain, settled(chain, steps), steps) * (1.0 + _ROUNDED)


@bound("transfer", on=WindowChain, given=given_steps)
def transfer(chain: WindowChain, steps: np.ndarray, reach: Reach | None = None) -> Bound:
    """Transfer bound of a chain of order k.

    Parameters
    ----------
    chain : WindowChain
        Stationary, of two or three states.
    steps : (n or 1, s, s) array
        ``steps[t](x, x')``: replacing x by x' in record t lowers ln Pr[output] by at most this.
        Chains that are not short take the largest for all records.
    reach : Reach, optional
        Not needed here.

    Notes
    -----
    Short chains (about twelve records of order 2): the words of each side, some thousand. Else
    cells once for a kernel (a second for order 2), then O(cells S^2) for each epsilon.

    References
    ----------
    order-k#window-transfer, order-k#certificate.

    Examples
    --------
    >>> chain = WindowChain([[.9, .1], [.4, .6], [.7, .3], [.3, .7]], order=2, length=6)
    >>> round(transfer(chain, .5 * (1.0 - np.eye(2))[None]).value, 4)
    1.6125
    """
    _check(chain, steps)
    n = chain.length
    if n is not None and n <= _SHORT:
        own = np.broadcast_to(steps, (n, *steps.shape[1:])).copy()
        if n < chain.order:  # records that nobody reads fill up the window
            own = np.concatenate([own, np.zeros((chain.order - n, *steps.shape[1:]))])
        priced = price_words(chain, sides_of(chain), own)
        if priced is not None:
            return _short(chain, n, own, *priced)
    worst = np.ascontiguousarray(steps.max(axis=0))
    if not worst.any() or chain.occurring.sum() == 1:  # always the same: nothing to tell
        return bounded(chain, 0.0, steps, None)
    value = certify(chain, worst)
    found = search_words(chain, sides_of(chain), worst)
    least = attained(chain, worst[None], found, _AROUND, _AROUND)
    return bounded(chain, value, steps, _witness(chain, found, None, least, value))


def _check(chain: WindowChain, steps: np.ndarray) -> None:
    size, s = chain.transition.shape
    if chain.left_for_ever:
        raise NotApplicableError("some recorded windows are left for ever; use blocks")
    if s > STATES:
        raise NotApplicableError(
            f"windows are followed for up to {STATES} states, and there are {s}; use contraction, "
            "or merge states"
        )
    if size > _MOST_WINDOWS:
        raise NotApplicableError(
            f"{size} windows are too many to follow (at most {_MOST_WINDOWS}); use contraction"
        )
    if steps.max() * max(min(chain.length or 0, _SHORT), chain.order + 1) > LARGEST:
        raise NotApplicableError("epsilons this large leave nothing to compare; use contraction")


def _witness(
    chain: WindowChain, found: Found, record: int | None, least: float, value: float
) -> Witness:
    labels = chain.states
    most, least_ = (
        float(Context(prec=6, rounding=way).create_decimal(repr(end)))
        for end, way in ((value, ROUND_CEILING), (least, ROUND_FLOOR))
    )
    return Witness(
        record,
        (labels[found.values[0]], labels[found.values[1]]),
        tuple((offset, labels[x]) for offset, x in found.known),
        f"at most {most:.6g} for every adversary, at least {least_:.6g} attained for this one",
    )


def bounded(
    chain: Chain,
    value: float,
    steps: np.ndarray,
    witness: Witness | None,
    reference: str = CERTIFIED,
) -> Bound:
    """A value that holds for every length as a bound: all epsilons together are another."""
    certificate = Certificate("transfer", reference)
    n = chain.length
    if n is None:
        return Bound(value, "upper bound", certificate, None, witness)
    total = float(np.broadcast_to(steps.max(axis=(1, 2)), n).sum())
    value = min(value, total)
    return Bound(value, "upper bound", certificate, np.full(n, value), witness)


def _short(
    chain: WindowChain, n: int, steps: np.ndarray, per_record: np.ndarray, found: Found
) -> Bound:
    """The bound of a chain all of whose adversaries were priced."""
    per_record = np.minimum(per_record[:n] * (1.0 + _ROUNDED), steps.max(axis=(1, 2)).sum())
    value, witness = float(per_record.max()), None
    if value > 0.0:
        least = attained(chain, steps, found, found.record, len(steps) - 1 - found.record)
        witness = _witness(chain, found, found.record, least, value)
    return Bound(value, "upper bound", Certificate("transfer", SHORT), per_record, witness)


@bound("uninformed", on=WindowChain, given=given_alone)
def uninformed(chain: WindowChain, steps: np.ndarray) -> Bound:
    """Leakage to the adversary who knows no other record of a chain of order k.

    The part of :func:`transfer` in which no record is known. T rises with every further unknown
    record, so that its limit serves for any number of them.

    Parameters
    ----------
    chain : WindowChain
    steps : (s, s) array

    Examples
    --------
    >>> chain = WindowChain([[.9, .1], [.4, .6], [.7, .3], [.3, .7]], order=2)
    >>> round(uninformed(chain, .5 * (1.0 - np.eye(2))).value, 4)
    2.2616
    """
    _check(chain, steps)
    n, k, steps = chain.length, chain.order, np.ascontiguousarray(steps, dtype=float)
    sides = sides_of(chain)
    trees = [_free_trees(side, steps, _AROUND if n is None else min(n, _AROUND)) for side in sides]
    last = len(trees[0]) - 1
    places = [Window.of(chain, steps[None], before) for before in range(k)]
    worst: dict[tuple[int, int, int], Worst] = {}

    def told(before: int, right: int, left: int) -> Worst:
        # beyond the ends of the chain lie records that nobody reads
        at = before, min(max(right, 0), last), min(max(left, 0), last)
        if at not in worst:
            pair = trees[0][at[1]], trees[1][at[2]]
            worst[at] = worst_pair(places[before], *pair, [(UNKNOWN,) * (k - 1)])
        return worst[at]

    ends = [(last, last)] if n is None else [(n - 1 - i, i) for i in range(n)]
    found = [
        min((told(b, right - (k - 1 - b), left - b) for b in range(k)), key=lambda w: w.value)
        for right, left in ends
    ]
    per_record = np.array([each.value for each in found]) * (1.0 + _ROUNDED)
    if n is not None:
        per_record = np.minimum(per_record, n * float(steps.max()))
    record = int(per_record.argmax())
    a, b = found[record].values
    return Bound(
        float(per_record[record]),
        "upper bound",
        Certificate("uninformed", FREE, (_informed(chain, steps),)),
        None if n is None else per_record,
        Witness(None if n is None else record, (chain.states[a], chain.states[b])),
    )


def uninformed_limit(chain: WindowChain, steps: np.ndarray) -> float:
    """The same in a chain without ends, to a millionth; what others learn is not looked at."""
    _check(chain, steps)
    trees = []
    for side in sides_of(chain):
        far = np.zeros((1, *(len(side.used),) * 2))
        if not settle_far(side, steps, 1e-6 * max(float(steps.max()), _TINY), far, _FREE_TURNS):
            raise NotApplicableError("the chain never forgets; give it a length")
        trees.append(plant((side.natural(far), np.zeros_like(far), side.natural(side.used[None]))))
    window = Window.of(chain, steps[None], chain.order - 1)
    return worst_pair(window, trees[0], trees[1], [(UNKNOWN,) * (chain.order - 1)]).value


def _informed(chain: WindowChain, steps: np.ndarray) -> str:
    """What the number does not cover."""
    try:
        more = f"one who knows some may learn up to {transfer(chain, steps[None]).value:.6g}"
    except NotApplicableError:
        more = "one who knows some may learn more"
    return f"the adversary knows no other record; {more}"


def _free_trees(side: Flank, steps: np.ndarray, most: int) -> list[Tree]:
    """Sides with 0, 1, .. unknown records beyond the window, and, last, with any number."""
    words = [follow(side, np.full((1, length), UNKNOWN), steps) for length in range(most)]
    far, grain = words[-1].costs.copy(), 1e-9 * max(float(steps.max()), _TINY)
    if not settle_far(side, steps, grain, far, _FREE_TURNS):
        raise NotApplicableError("the chain never forgets; give it a length")
    words.append(replace(words[0], costs=far))
    return [plant(each.beyond(side)) for each in words]


@bound("transfer", on=WindowChain, paired=True, given=whole)
def unit_transfer(chain: WindowChain, scope: Scope) -> Bound:
    """Transfer bound of a window of records, on a chain of order k, for pure guarantees.

    ``leakage <= sum of the unit's epsilons + max T_right + max T_left`` for a unit of at least k
    records in a row: given them, the two sides are independent. A shorter one, or a set, is
    protected as part of such a window. The largest epsilon stands for all on the sides.

    References
    ----------
    order-k#window-transfer, delta#units.
    """
    if not isinstance(scope.guarantee, Pure):
        raise NotApplicableError("on chains of order k transfer is for pure guarantees; use blocks")
    n, k, unit = chain.length, chain.order, scope.unit or ONE
    size = k if n is None else min(k, n)
    if unit.members is not None:
        wider = Unit(max(size, unit.members[-1] - unit.members[0] + 1))
    else:
        wider = unit if unit.size >= size else Unit(size)
    own = (scope.own if wider == unit else None) or of_largest(scope.guarantee, wider.size)
    apart = scope.guarantee.largest * (1.0 - np.eye(len(chain.states)))
    _check(chain, apart)
    sides = settled(chain, apart) if apart.any() else []
    beside = np.array([[float(each[0].max()) * (1.0 + _ROUNDED) for each in sides]])
    steps = Steps(beside, 0.0 * beside)
    found = close(replace(scope, unit=wider), n, lambda _: lambda *_: steps, own=own, count=1)
    return replace(found, unit=unit).bound(Certificate("transfer", CERTIFIED))
