"""Transfer round a timetable of seasons, by cells (order-k#timetables).

For kernels of order 2 and more, and for every kernel that the data still allow (two states, order 1
or 2). The place in the period joins the key of a cell, so that the certificate over cells holds
for every adversary, every length and every place at which a series begins.

A kernel that changes with time is not of the same form when it is read backwards. So the left side
goes by the columns of the kernels, which are known as well as their rows are, and the law that
they weigh is one of those that the chain may have after any past.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from corrdp.bounds.chains.boxes import Box, check_region
from corrdp.bounds.chains.cells import Mesh, TooManyCells, lay_cells
from corrdp.bounds.chains.frontier import (
    Flank,
    Window,
    Worst,
    all_cores,
    plant,
    turned_windows,
    worst_pair,
)
from corrdp.bounds.chains.leaves import REFERENCE as BY_LEAVES
from corrdp.bounds.chains.leaves import certify_leaves, part_seasons
from corrdp.bounds.chains.orders import bounded
from corrdp.bounds.chains.seasons import (
    chain_diameters,
    region_diameters,
    region_words,
    round_sides,
)
from corrdp.bounds.chains.settling import settle_places
from corrdp.bounds.chains.stretches import certify_stretches, of_seasons
from corrdp.bounds.chains.transfer import given_steps
from corrdp.bounds.chains.zones import LARGEST, RAREST, STATES
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.errors import NotApplicableError
from corrdp.models.chains.region import Region
from corrdp.models.chains.seasonal import SeasonalChain

REFERENCE = "theorem order-k#timetables, every adversary and every length"
_MOST_WINDOWS = 16
_WIDTHS = (0.2, 0.8, 3.2, 60.0)  # of cells: the finest that the work allowed is enough for
_STATES = 60_000  # states kept on one side
_WORKED = 20_000  # as if so many were kept: what the sweeps of one epsilon may take
_APART = 4  # records at each end of a stretch from which on stretches say enough
_ROUNDED = 1e-9  # relative: what the steps of a search may lose, far above what they do


@dataclass(frozen=True)
class Round:
    """The sides of the window that ends at each place of a period, and what its law may be.

    Place j of the period is place j of the left side and place -j of the right one, as the places
    of a side follow each other inwards.
    """

    key: tuple[int, tuple[int, ...], bool, bytes]
    right: Flank = field(compare=False)
    left: Flank = field(compare=False)
    laws: np.ndarray = field(compare=False)  # (places, S, S): the largest ln law(u)/law(v)

    @staticmethod
    def of(chain: SeasonalChain) -> Round:
        """One law: on the left the kernels are read backwards from the stationary laws."""
        impossible = NotApplicableError(
            "transfer round the seasons of a chain of higher order needs transitions that are "
            "possible in every season; use contraction"
        )
        if not chain.transition.min() > RAREST:
            raise impossible
        turns, (_, size, s) = np.array(chain.pattern), chain.transition.shape
        laws = [chain.start]
        for season in turns[1:]:
            laws.append(laws[-1] @ chain.window_kernels[season])
        law = np.array(laws)
        turned = turned_windows(s, chain.order)
        source = np.arange(s) * (size // s) + np.arange(size)[:, None] // s  # windows before
        came = chain.transition[:, source, np.arange(size)[:, None] % s]
        back = np.empty((len(turns), size, s))
        back[:, turned] = came[turns] * np.roll(law, 1, axis=0)[:, source] / law[:, :, None]
        if not back.min() > RAREST:
            raise impossible
        every = np.ones(size, dtype=bool)
        logs = np.log(law)
        return Round(
            (chain.order, chain.pattern, False, chain.transition.tobytes()),
            Flank.steady(chain.transition[_ahead(turns), :, None], every, np.arange(size)),
            Flank.steady(back[:, :, None], every, turned),
            logs[:, :, None] - logs[:, None],
        )

    @staticmethod
    def over(chain: SeasonalChain, boxes: list[Box]) -> Round:
        """Every kernel of the boxes of the seasons, two states.

        In each season such a kernel, used for ever, read backwards is itself. So evidence from the
        left is weighed against the law that the season would have, which changes with the season.
        """
        turns = np.array(chain.pattern)
        rows = np.array([box.rows for box in boxes])
        laws = np.array([box.laws for box in boxes])
        turned = turned_windows(2, chain.order)
        before = np.roll(turns, 1)
        change = laws[before] + np.swapaxes(laws[turns], 1, 2)
        change[before == turns] = 0.0
        every = np.ones(len(turned), dtype=bool)
        return Round(
            (chain.order, chain.pattern, True, rows.tobytes()),
            Flank.steady(rows[_ahead(turns)], every, np.arange(len(turned))),
            Flank(rows[turns], every, turned, change[:, turned][:, :, turned].copy()),
            laws[turns],
        )


def _ahead(turns: np.ndarray) -> np.ndarray:
    """The season of the record after the window, for the places of the right side."""
    return np.roll(turns, -1)[(-np.arange(len(turns))) % len(turns)]


@lru_cache(maxsize=16)  # a search asks for many epsilons
def _laid(turn: Round, width: float) -> tuple[Mesh, Mesh] | None:
    """Cells of both sides; None where they are more than the budget."""
    try:
        most = _STATES * len(turn.right.used) ** 2
        return lay_cells(turn.right, width, most), lay_cells(turn.left, width, most)
    except TooManyCells:
        return None


def certify_round(
    turn: Round, steps: np.ndarray, limits: tuple[np.ndarray, np.ndarray] | None = None
) -> float:
    """A bound for every kernel of a round, every adversary, length and place of beginning.

    Parameters
    ----------
    turn : Round
    steps : (s, s) array
        ``steps[x, x']``: what replacing x by x' in a record tells by itself.
    limits : pair of (places,) arrays, optional
        What all records on the right and on the left of the window that ends at a place tell, at
        most, whatever is known.

    Notes
    -----
    Cells once for the kernels, then O(cells S^2) for each epsilon. A day of 288 records: .4 s, then
    .15 s, at order 1; about a second each at order 2.
    """
    for width in _WIDTHS:
        cells = _laid(turn, width)
        if cells is not None:
            try:
                return _told(turn, cells, steps, limits) * (1.0 + _ROUNDED)
            except NotApplicableError:  # small epsilons take more sweeps: coarser cells, fewer
                pass
    raise NotApplicableError(
        "what may be known of a chain with these seasons takes more cells than the work allowed; "
        "use contraction"
    )


def _told(
    turn: Round,
    cells: tuple[Mesh, Mesh],
    steps: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray] | None,
) -> float:
    """The largest leakage over all places and all pairs of states of the two sides there."""
    period, size = turn.laws.shape[:2]
    s, order = len(steps), turn.key[0]
    most = limits or (np.full(period, np.inf),) * 2
    worked = _WORKED * size**2
    right = settle_places(cells[0], steps, most[0][(-np.arange(period)) % period], worked)
    left = settle_places(cells[1], steps, most[1], worked)
    digits = np.unravel_index(np.arange(size), (s,) * order)
    own = sum((steps[np.ix_(each, each)] for each in digits), np.zeros((size, size)))
    beside = sum(max(float(each[0].max()) for each in side) for side in (right, left))
    if own.max() + beside > LARGEST:
        raise NotApplicableError("epsilons this large leave nothing to compare; use contraction")
    # ratios of the law stand with those of what is known
    worst, window = Worst(), Window(np.zeros(size), own, np.arange(size), s)
    for place in range(period):
        costs, zones, alive = left[place]
        trees = plant(right[-place % period]), plant((costs, zones + turn.laws[place], alive))
        worst = worst_pair(window, *trees, all_cores(order, s), worst)
    return worst.value


def _given(chain: SeasonalChain, scope: Scope) -> tuple[np.ndarray, Region | None]:
    return given_steps(chain, scope)[0], scope.region


@bound("transfer", on=SeasonalChain, confidence=True, given=_given)
def uncertain_phases(chain: SeasonalChain, steps: np.ndarray, region: Region) -> Bound:
    """Transfer bound of a chain with seasons, two states, for every kernel of its region.

    Parameters
    ----------
    chain : SeasonalChain
        Of order 1 or 2, with a timetable.
    steps : (n or 1, 2, 2) array
        The largest serves for all records.
    region : Region
        Without transitions that may be impossible.

    References
    ----------
    order-k#timetables, order-k#leaves.

    Examples
    --------
    >>> from corrdp.models.chains.markov import MarkovChain
    >>> chain = SeasonalChain([[[.8, .2], [.3, .7]], [[.9, .1], [.5, .5]]], [0, 0, 0, 1, 1, 1])
    >>> fit = MarkovChain.fit(chain.sample(np.random.default_rng(1), 6000).tolist(), season=6)
    >>> found = uncertain_phases(fit, np.array([[[0, .1], [.1, 0]]]), fit.region(.95))
    >>> round(found.value, 3), found.kind
    (0.342, 'upper bound')
    """
    check_region(region, chain.order, chain.row_names, chain.states, "contraction")
    _check_timetable(chain)
    size = len(chain.used)
    parts = [
        Box.of(
            replace(region, lower=region.lower[at : at + size], upper=region.upper[at : at + size])
        )
        for at in range(0, len(region.lower), size)
    ]
    found = _bounded(chain, parts, steps, region_diameters(chain, region.confidence)[0])
    said = (*found.certificate.assumptions, *region_words(chain, region))
    return replace(found, certificate=replace(found.certificate, assumptions=said))


def transfer_by_cells(chain: SeasonalChain, steps: np.ndarray) -> Bound:
    """Transfer bound of a chain with seasons of order k at its own numbers.

    Parameters
    ----------
    chain : SeasonalChain
        With a timetable, two or three states.
    steps : (n or 1, s, s) array
        The largest serves for all records.

    References
    ----------
    order-k#timetables.

    Examples
    --------
    >>> day, night = [[.8, .2], [.3, .7]] * 2, [[.98, .02], [.5, .5]] * 2
    >>> chain = SeasonalChain([day, night], [0] * 16 + [1] * 8, order=2)
    >>> round(transfer_by_cells(chain, np.array([[[0, .25], [.25, 0]]])).value, 2)
    1.21
    """
    _check_timetable(chain)
    if len(chain.states) > STATES or len(chain.used) > _MOST_WINDOWS:
        raise NotApplicableError(
            f"windows are followed round the seasons for up to {STATES} states and {_MOST_WINDOWS} "
            f"windows, and there are {len(chain.states)} and {len(chain.used)}; use contraction"
        )
    return _bounded(chain, None, steps, chain_diameters(chain)[0])


def _check_timetable(chain: SeasonalChain) -> None:
    if chain.pattern is None:
        raise NotApplicableError("seasons may come in any order; use contraction")


def _bounded(
    chain: SeasonalChain, boxes: list[Box] | None, steps: np.ndarray, diameters: np.ndarray
) -> Bound:
    worst, told = np.ascontiguousarray(steps.max(axis=0), dtype=float), (0.0, REFERENCE)
    if worst.any():
        told = _certified(chain, boxes, worst, diameters)
    return bounded(chain, told[0], steps, None, told[1])


def _certified(
    chain: SeasonalChain, boxes: list[Box] | None, steps: np.ndarray, diameters: np.ndarray
) -> tuple[float, str]:
    """Record by record; stretch by stretch where the finest cells would be too many for that.

    Of boxes the smaller of what is said record by record and by their parts, and its theorem.
    """
    turn = Round.of(chain) if boxes is None else Round.over(chain, boxes)
    if boxes is None and _laid(turn, _WIDTHS[0]) is None:
        stretches = of_seasons(chain)
        if min(stretches.apart) >= _APART:
            return certify_stretches(stretches, steps), REFERENCE
    limits = round_sides(chain.order, diameters, len(chain.pattern), float(steps.max()), 0.0)
    right, left = (each[0] * (1.0 + ROUNDING) for each in limits)
    found = math.inf
    if boxes is not None:
        with suppress(NotApplicableError):  # short seasons, or too many cells
            found = certify_leaves(part_seasons(chain.pattern, tuple(boxes)), steps)
    try:
        value = certify_round(turn, steps, (right, left))
    except NotApplicableError:
        if math.isinf(found):
            raise
        value = math.inf
    return (value, REFERENCE) if value <= found else (found, BY_LEAVES)
