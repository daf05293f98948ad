"""Transfer for every kernel that the data still allow: two states, order 1 or 2 (order-k#boxes).

A row of such a chain has one free number, ``P(u, 1)``, and a confidence region is a box of them.
One step of the certificate over cells is largest at ends of these intervals, so cells laid with
both ends of every row hold for the whole box, and for kernels that change within it from record to
record. The box is cut into parts, as the true kernel lies in one of them; the worst part counts,
and is the next to be cut.

Read backwards such a chain is the same chain, so that one set of cells serves both sides.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from corrdp.bounds.chains.cells import Mesh, TooManyCells, lay_cells, states_of
from corrdp.bounds.chains.frontier import (
    Flank,
    Window,
    all_cores,
    plant,
    turned_windows,
    worst_pair,
)
from corrdp.bounds.chains.orders import bounded
from corrdp.bounds.chains.ratios import over_region, unseen_words
from corrdp.bounds.chains.settling import settle_costs
from corrdp.bounds.chains.transfer import given_steps
from corrdp.bounds.chains.zones import LARGEST, RAREST
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import Bound, Scope
from corrdp.errors import NotApplicableError
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.region import Region
from corrdp.models.chains.window import WindowChain

REFERENCE = "theorem order-k#boxes, every kernel of the region, every adversary and every length"
_HIGHEST = 2  # orders of two states whose chains read backwards are the same chains
_CUTS = 2  # parts of each interval to begin with
_FINER = 32  # more cuts, each of the worst part
_NARROW = 0.02  # intervals of log odds that no cut would make much of
_WIDEST, _COARSEST, _COARSER = 0.2, 60.0, 4.0  # widths of cells: the first, the coarsest, a step
_BUDGET = 30_000  # numbers kept for the cells of one part
_ROUNDED = 1e-9  # relative: what the steps of a search may lose, far above what they do


@dataclass(frozen=True)
class Box:
    """All kernels of two states with ``low <= P(u, 1) <= high`` for every window u.

    Attributes
    ----------
    low, high : tuples of floats
        One for each window of one or two records, the oldest record as the leading digit.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    @staticmethod
    def of(region: Region) -> Box:
        """The box of a region over two states. Rounding is taken outwards."""
        (zero, one), (most_zero, most_one) = region.lower.T, region.upper.T
        low, high = np.minimum(one, 1.0 - most_zero), np.maximum(most_one, 1.0 - zero)
        return Box(tuple(low.tolist()), tuple(high.tolist()))

    @property
    def order(self) -> int:
        return len(self.low) // 2

    @property
    def rows(self) -> np.ndarray:
        """The middle of each row, then its ends, shape (S, 3, 2)."""
        low, high = np.array(self.low), np.array(self.high)
        ones = np.stack([(low + high) / 2.0, low, high], axis=1)
        return np.stack([1.0 - ones, ones], axis=2)

    @property
    def laws(self) -> np.ndarray:
        """The largest ``ln pi(u)/pi(v)`` of two windows, (S, S).

        What enters a state or a window leaves it: ``pi(0) P(0, 1) = pi(1) P(1, 0)`` of order 1,
        ``pi(0a) P(0a, 1) = pi(1a) P(1a, 0)``, a = 0, 1, and ``pi(01) = pi(10)`` of order 2.
        """
        ends = []
        for ones in (np.array(self.low), np.array(self.high)):
            half = len(ones) // 2
            # ln pi(0..)/pi(1..) with a common last record; both fall with both rows
            ratio = np.log((1.0 - ones[half:]) / ones[:half])
            ends.append(np.array([0.0, -ratio[0]] if half == 1 else [ratio[0], 0, 0, -ratio[1]]))
        most = np.maximum(*ends)[:, None] - np.minimum(*ends)
        return np.where(np.eye(len(most)) > 0, 0.0, most)

    def parts(self) -> list[Box]:
        """The box cut into equal parts along every row."""
        edges = np.linspace(self.low, self.high, _CUTS + 1)
        edges[0], edges[-1] = self.low, self.high
        rows = range(len(self.low))
        return [
            Box(
                tuple(float(edges[k, u]) for u, k in zip(rows, cut, strict=True)),
                tuple(float(edges[k + 1, u]) for u, k in zip(rows, cut, strict=True)),
            )
            for cut in itertools.product(range(_CUTS), repeat=len(self.low))
        ]

    @property
    def widths(self) -> np.ndarray:
        """How wide the interval of log odds of each row is, (S,)."""
        low, high = np.array(self.low), np.array(self.high)
        return np.log(high) - np.log1p(-high) - np.log(low) + np.log1p(-low)

    def halves(self) -> tuple[Box, Box]:
        """Two parts, cut along the row of the widest log odds in their middle."""
        u = int(self.widths.argmax())
        low, high = self.low[u], self.high[u]
        odds = np.sqrt(low / (1.0 - low) * (high / (1.0 - high)))
        middle = float(min(max(odds / (1.0 + odds), low), high))
        return (
            replace(self, high=(*self.high[:u], middle, *self.high[u + 1 :])),
            replace(self, low=(*self.low[:u], middle, *self.low[u + 1 :])),
        )


@lru_cache(maxsize=256)  # a search asks for many epsilons
def _laid(box: Box, width: float) -> Mesh | None:
    """Cells of a box, read to the right; None where they are more than the budget."""
    size = len(box.low)
    side = Flank.steady(box.rows[None], np.ones(size, dtype=bool), np.arange(size))
    try:
        return lay_cells(side, width, _BUDGET)
    except TooManyCells:
        return None


def certify_box(box: Box, steps: np.ndarray) -> float:
    """A bound for every kernel of a box, every adversary and every length.

    Parameters
    ----------
    box : Box
        Inside (0, 1).
    steps : (2, 2) array
        ``steps[x, x']``: what replacing x by x' in a record tells by itself.

    Notes
    -----
    Cells once for a box (hundredths of a second), then about a hundredth for each epsilon; more
    for rows that are nearly certain.

    Examples
    --------
    >>> box = Box((.1, .6, .3, .7), (.12, .64, .34, .72))
    >>> round(certify_box(box, .15 * (1.0 - np.eye(2))), 2)
    0.84
    """
    width = _WIDEST
    while width <= _COARSEST:
        cells = _laid(box, width)
        if cells is not None:
            try:
                return _told(box, cells, steps) * (1.0 + _ROUNDED)
            except NotApplicableError:  # small epsilons take more sweeps: coarser cells, fewer
                pass
        width *= _COARSER
    raise NotApplicableError(
        "what may be known of these chains takes more cells than the work allowed; use blocks or "
        "contraction"
    )


def certify_parts(box: Box, steps: np.ndarray) -> float:
    """A bound for every kernel of a box that stays the same from record to record.

    It is in one part of the box: in one of equal parts, the worst of which are cut further.

    Parameters
    ----------
    box : Box
        Inside (0, 1).
    steps : (2, 2) array
        ``steps[x, x']``: what replacing x by x' in a record tells by itself.

    Notes
    -----
    About 80 parts of order 2 are priced: .3 s for an epsilon.

    Examples
    --------
    >>> box, steps = Box((.05, .5, .2, .6), (.15, .7, .45, .8)), .15 * (1.0 - np.eye(2))
    >>> round(certify_box(box, steps), 2), round(certify_parts(box, steps), 2)
    (2.25, 1.68)
    """
    number = itertools.count()
    parts = [(-certify_box(part, steps), next(number), part) for part in box.parts()]
    heapq.heapify(parts)
    for _ in range(_FINER):
        value, _, worst = parts[0]
        if worst.widths.max() <= _NARROW:
            break
        try:  # what bounds a part bounds the kernels in half of it
            both = [(max(value, -certify_box(each, steps)), each) for each in worst.halves()]
        except NotApplicableError:
            break
        heapq.heappop(parts)
        for less, each in both:
            heapq.heappush(parts, (less, next(number), each))
    return -parts[0][0]


def _told(box: Box, cells: Mesh, steps: np.ndarray) -> float:
    """The largest leakage over all pairs of states of the two sides."""
    size, order = len(box.low), box.order
    costs, far = settle_costs(cells, steps, np.full((1, size, size), np.inf), _BUDGET)
    if order * steps.max() + 2.0 * max(costs.max(), far.max()) > LARGEST:
        raise NotApplicableError("epsilons this large leave nothing to compare; use contraction")
    turned = turned_windows(2, order)
    mirrored = replace(cells, side=replace(cells.side, turned=turned))
    right, left = states_of(cells, costs, far), states_of(mirrored, costs, far)
    # the law of a window is not known either: its ratios stand with those of what is known
    right = right[0], right[1] + box.laws, right[2]
    digits = np.unravel_index(np.arange(size), (2,) * order)
    own = sum((steps[np.ix_(each, each)] for each in digits), np.zeros((size, size)))
    window = Window(np.zeros(size), own, np.arange(size), 2)
    return worst_pair(window, plant(right), plant(left), all_cores(order, 2)).value


def check_region(
    region: Region, order: int, named: list[str], states: Sequence[object], other: str
) -> None:
    """Refuse regions that are no boxes of possible kernels of two states, order 1 or 2.

    Parameters
    ----------
    region : Region
    order : int
    named : list of str
        The rows of the region in words.
    states : sequence
    other : str
        What serves instead.
    """
    if len(states) != 2 or order > _HIGHEST:
        raise NotApplicableError(
            "transfer over a confidence region is for two states and order 1 or 2; use "
            f"{other}, or take the fitted numbers as exact (confidence=None)"
        )
    if not region.lower.min() > RAREST:
        raise NotApplicableError(
            f"{unseen_words(region, named, states)}: transfer over a confidence region needs "
            f"transitions that are all possible; use {other}"
        )


def _given(chain: Chain, scope: Scope) -> tuple[np.ndarray, Region | None]:
    return given_steps(chain, scope)[0], scope.region


@bound("transfer", on=MarkovChain, confidence=True, given=_given)
@bound("transfer", on=WindowChain, confidence=True, given=_given)
def uncertain_transfer(
    chain: MarkovChain | WindowChain, steps: np.ndarray, region: Region
) -> Bound:
    """Transfer bound of a stationary chain of two states, for every kernel of its region.

    Parameters
    ----------
    chain : MarkovChain or WindowChain
        Of order 1 or 2.
    steps : (n or 1, 2, 2) array
        The largest serves for all records.
    region : Region
        Without transitions that may be impossible.

    References
    ----------
    order-k#boxes.

    Examples
    --------
    >>> chain = MarkovChain.fit([[0, 0, 0, 1, 1, 0, 1, 1, 1, 0] * 50])
    >>> found = uncertain_transfer(chain, np.array([[[0, .1], [.1, 0]]]), chain.region(.95))
    >>> round(found.value, 3), found.kind
    (0.202, 'upper bound')
    """
    if getattr(chain, "initial", None) is not None:
        raise NotApplicableError(
            "transfer over a confidence region needs the stationary start; use contraction"
        )
    named = list(chain.states)
    if isinstance(chain, WindowChain):
        named = [", ".join(str(chain.states[x]) for x in window) for window in chain.windows]
    check_region(region, getattr(chain, "order", 1), named, chain.states, "contraction or blocks")
    worst = np.ascontiguousarray(steps.max(axis=0), dtype=float)
    value = 0.0
    if worst.any():
        value = certify_parts(Box.of(region), worst)
    found = bounded(chain, value, steps, None, REFERENCE)
    return over_region(found, region, named, chain.states)
