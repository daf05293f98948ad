"""Transfer bound of a chain of order k (order-k#transfer, order-k#certificate).

Any mechanism, every adversary. Short chains: every adversary by itself. Else for every length at
once, by a certificate over cells whose width is halved while that pays; what a mechanism found by
search attains is the lower end, and stands beside the bound.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from corrdp.bounds.chains.attained import Found, attain, free_states, search_words
from corrdp.bounds.chains.cells import Cells, TooManyCells, lay_cells, settle_costs, states_of
from corrdp.bounds.chains.frontier import plant, worst_pair
from corrdp.bounds.chains.transfer import given_steps, steps_in
from corrdp.bounds.chains.words import (
    UNKNOWN,
    Short,
    States,
    Window,
    at_end,
    beyond,
    forms,
    price_words,
    sides_of,
    step_unknown,
)
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import Bound, Reach, Scope
from corrdp.errors import NotApplicableError
from corrdp.models.chains.window import WindowChain
from corrdp.results import Certificate, Witness

SHORT = "theorem order-k#transfer, each adversary by itself"
CERTIFIED = "theorem order-k#certificate, every adversary and every length"
FREE = "theorem order-k#transfer with no record known"
_MOST_WINDOWS = 32  # above this many windows their pairs take too long
_WIDEST = 0.1  # that of the first cells
# relative gap between certificate and attained at which cells are fine enough: of order 2, and more
_CLOSE = 5e-4
_CLOSE_ENOUGH = 1e-2
_PAYS = 0.8  # finer cells must bring the gap below this share of it
_BUDGET = 200_000  # numbers kept for the states of one side
_REFERENCES = (0.1, 1.0)  # epsilons at which the width of the cells is chosen
_ROUNDED = 1e-9  # relative: what the steps of a search may lose, far above what they do


@bound("transfer", on=WindowChain, given=given_steps)
def transfer(chain: WindowChain, steps: np.ndarray, reach: Reach | None = None) -> Bound:
    """Transfer bound of a chain of order k.

    Parameters
    ----------
    chain : WindowChain
        Stationary.
    steps : (n or 1, s, s) array
        ``steps[t](x, x')``: replacing x by x' in record t lowers ln Pr[output] by at most this.
        Chains that are not short take the largest for all records.
    reach : Reach, optional
        Not needed here.

    Notes
    -----
    Short chains (about twelve records of order 2, two states): some hundred thousand pairs of
    words. Else cells once for a kernel (a second for order 2), then O(cells S^2) for each epsilon:
    a tenth of a second for order 2, some seconds for order 4.

    References
    ----------
    order-k#transfer, order-k#certificate.

    Examples
    --------
    >>> chain = WindowChain([[.9, .1], [.4, .6], [.7, .3], [.3, .7]], order=2, length=6)
    >>> round(transfer(chain, .5 * (1.0 - np.eye(2))[None]).value, 4)
    1.6215
    """
    _check(chain)
    n = chain.length
    if n is not None:
        own = np.broadcast_to(steps, (n, *steps.shape[1:]))
        found = price_words(chain, np.ascontiguousarray(own))
        if found is not None:
            return _short(chain, found, own)
    worst = np.ascontiguousarray(steps.max(axis=0))
    if not worst.any():
        return _bounded(chain, 0.0, steps, Certificate("transfer", CERTIFIED), None)
    value = certify(chain, cells_of(chain), worst) * (1.0 + _ROUNDED)
    lower = search_words(chain, worst)
    labels = chain.states
    witness = Witness(
        None,
        (labels[lower.values[0]], labels[lower.values[1]]),
        tuple((offset, labels[x]) for offset, x in lower.known),
        _ends(lower.attained, value),
    )
    return _bounded(chain, value, steps, Certificate("transfer", CERTIFIED), witness)


def _check(chain: WindowChain) -> None:
    if len(chain.transition) > _MOST_WINDOWS:
        raise NotApplicableError(
            f"{len(chain.transition)} windows are too many to follow (at most {_MOST_WINDOWS}); "
            "use contraction"
        )


def _ends(attained: float, value: float) -> str:
    """Both ends in words."""
    return f"at most {value:.6g} for every adversary, at least {attained:.6g} attained for this one"


def _bounded(
    chain: WindowChain,
    value: float,
    steps: np.ndarray,
    certificate: Certificate,
    witness: Witness | None,
) -> Bound:
    n = chain.length
    if n is None:
        return Bound(value, "upper bound", certificate, None, witness)
    total = float(np.broadcast_to(steps.max(axis=(1, 2)), n).sum())
    value = min(value, total)
    return Bound(value, "upper bound", certificate, np.full(n, value), witness)


def _short(chain: WindowChain, found: Short, steps: np.ndarray) -> Bound:
    """The bound of a chain all of whose adversaries were priced."""
    n, i = len(found.per_record), found.record
    per_record = np.minimum(found.per_record * (1.0 + _ROUNDED), steps.max(axis=(1, 2)).sum())
    known = [(at + 1, x) for at, x in enumerate(found.right) if x != UNKNOWN and i + 1 + at < n]
    known += [(-at - 1, x) for at, x in enumerate(found.left) if x != UNKNOWN]
    known.sort()
    labels = chain.states
    value, witness = float(per_record.max(initial=0.0)), None
    if value > 0.0:
        attained = attain(chain, steps, dict(known), found.values, i, n - 1 - i)
        witness = Witness(
            i,
            (labels[found.values[0]], labels[found.values[1]]),
            tuple((offset, labels[x]) for offset, x in known),
            _ends(attained, value),
        )
    return Bound(value, "upper bound", Certificate("transfer", SHORT), per_record, witness)


def certify(chain: WindowChain, cells: tuple[Cells, Cells], steps: np.ndarray) -> float:
    """A bound for every adversary and every length from the cells of both sides."""
    window = Window.of(chain, steps[None], chain.order - 1)
    right, left = (plant(states_of(each, *settle_costs(each, steps))) for each in cells)
    return worst_pair(window, right, left, chain.order, len(chain.states))


@lru_cache(maxsize=8)  # a search asks for many epsilons
def cells_of(chain: WindowChain) -> tuple[Cells, Cells]:
    """Cells as fine as pays: their width is halved until the certificate meets what is attained.

    The width is chosen once for a kernel, so that the bound rises with epsilon.
    """
    width = _WIDEST
    cells = _lay(chain, width)
    while cells is None and width < 64 * _WIDEST:
        width *= 2.0
        cells = _lay(chain, width)
    if cells is None:
        raise NotApplicableError("the chain has too many cells to follow; use contraction")
    apart = 1.0 - np.eye(len(chain.states))
    lower = [search_words(chain, eps * apart) for eps in _REFERENCES]
    gap, close = _gap(chain, cells, lower), _CLOSE if chain.order == 2 else _CLOSE_ENOUGH
    while gap > close:
        # the gap goes with the width
        wanted = width * min(max(close / gap, 1.0 / 16.0), 0.5)
        finer = _lay(chain, wanted)
        while finer is None and wanted < width / 2.0:
            wanted = min(4.0 * wanted, width / 2.0)
            finer = _lay(chain, wanted)
        if finer is None:
            break
        cells, width, before, gap = finer, wanted, gap, _gap(chain, finer, lower)
        if gap > _PAYS * before:
            break
    return cells


def _gap(chain: WindowChain, cells: tuple[Cells, Cells], lower: list[Found]) -> float:
    """How far the certificate lies above what was found, relative, at the references."""
    apart = 1.0 - np.eye(len(chain.states))
    return max(
        certify(chain, cells, eps * apart) / found.value - 1.0
        for eps, found in zip(_REFERENCES, lower, strict=True)
    )


def _lay(chain: WindowChain, width: float) -> tuple[Cells, Cells] | None:
    """Cells of both sides; None where they are more than the budget."""
    try:
        right, left = (
            lay_cells(side, width, _BUDGET // forms(side.states).effort) for side in sides_of(chain)
        )
    except TooManyCells:
        return None
    return right, left


def _given(chain: WindowChain, scope: Scope) -> tuple[np.ndarray]:
    if scope.adversary != "none":
        raise NotApplicableError('it is about who knows no other record: ask for adversary="none"')
    steps = steps_in(chain, scope)
    if len(steps) > 1:
        raise NotApplicableError("it takes one epsilon for all records")
    return (steps[0],)


@bound("uninformed", on=WindowChain, given=_given)
def uninformed(chain: WindowChain, steps: np.ndarray) -> Bound:
    """Leakage to the adversary who knows no other record of a chain of order k.

    The part of :func:`transfer` in which no record is known. With every further unknown record T
    rises, so that for any length the limit is taken.

    Parameters
    ----------
    chain : WindowChain
    steps : (s, s) array

    Examples
    --------
    >>> chain = WindowChain([[.9, .1], [.4, .6], [.7, .3], [.3, .7]], order=2)
    >>> bound = uninformed(chain, .5 * (1.0 - np.eye(2)))
    >>> round(bound.value, 4)
    2.2107
    """
    _check(chain)
    informed = transfer(chain, steps[None]).value
    text = f"the adversary knows no other record; one who knows some may learn up to {informed:.6g}"
    certificate = Certificate("uninformed", FREE, (text,))
    n, k = chain.length, chain.order
    sides = sides_of(chain)
    # T by number of unknown records: the last entry serves for all more
    batches = []
    for side in sides:
        limit = free_states(side, steps)
        states = at_end(side)
        parts: list[States] = []
        while len(parts) < _RUN and (n is None or len(parts) < n):
            parts.append(states)
            states = step_unknown(side, states, steps)
        batches.append(beyond(side, States.join([*parts, limit])))
    counts = [len(batch[0]) - 1 for batch in batches]
    core = (UNKNOWN,) * (k - 1)
    if n is None:
        total = np.full((1, *steps.shape), np.inf)
        last = (np.array([counts[0]]), np.array([counts[1]]))
        for before in range(k):
            window = Window.of(chain, steps[None], before)
            total = np.minimum(total, window.leakage(batches[0], batches[1], last, core))
        a, b = np.unravel_index(int(total[0].argmax()), total[0].shape)
        value = max(float(total.max()), 0.0) * (1.0 + _ROUNDED)
        witness = Witness(None, (chain.states[a], chain.states[b]))
        return Bound(value, "upper bound", certificate, None, witness)
    index = np.arange(n)
    total = np.full((n, *steps.shape), np.inf)
    for before in range(k):
        # beyond the ends of the chain lie records that nobody reads
        right = np.clip(n - 1 - index - (k - 1 - before), 0, counts[0])
        left = np.clip(index - before, 0, counts[1])
        window = Window.of(chain, steps[None], before)
        total = np.minimum(total, window.leakage(batches[0], batches[1], (right, left), core))
    per_record = total.reshape(n, -1).max(axis=1).clip(0.0) * (1.0 + _ROUNDED)
    per_record = np.minimum(per_record, n * float(steps.max()))
    record = int(per_record.argmax())
    a, b = np.unravel_index(int(total[record].argmax()), total[record].shape)
    witness = Witness(record, (chain.states[a], chain.states[b]))
    return Bound(float(per_record[record]), "upper bound", certificate, per_record, witness)


_RUN = 256  # unknown records on a side followed one by one; T of more is that of any number
