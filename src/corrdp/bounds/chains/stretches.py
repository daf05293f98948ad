"""Transfer where one kernel serves a stretch of records and then another: order-k#stretches.

Hours of the day that share a kernel, a chain whose kernel changes once: a place of the certificate
over cells is a whole stretch, of any number of records, instead of a record of a period. Few places
allow fine cells, and a stretch that may end anywhere needs no timetable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from corrdp.bounds.chains.cells import Mesh, TooManyCells, lay_cells
from corrdp.bounds.chains.frontier import (
    Flank,
    Tree,
    Window,
    Worst,
    all_cores,
    plant,
    turned_windows,
    worst_pair,
)
from corrdp.bounds.chains.orders import bounded
from corrdp.bounds.chains.settling import settle_places
from corrdp.bounds.chains.transfer import given_steps
from corrdp.bounds.chains.zones import LARGEST, RAREST, STATES
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import Bound, Reach
from corrdp.errors import NotApplicableError
from corrdp.models.chains.chain import SwitchingChain
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.seasonal import SeasonalChain

REFERENCE = "theorem order-k#stretches, every adversary and every length"
_MOST_WINDOWS = 16
_WIDTHS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 60.0)  # of cells: the finest that the work allows
_NUMBERS = 2_500_000  # kept for the states of one side
_APART = 8  # records at either end of a stretch that have places of their own
_ROUNDED = 1e-9  # relative: what the steps of a search may lose, far above what they do
_SLACK = 1e-12  # on ratios of laws, for their rounding


@dataclass(frozen=True)
class Succession:
    """Kernels, each for stretches of records, and which stretches may follow each other.

    Parameters
    ----------
    alike : tuple of int
        Number of the kernel of each stretch.
    after : tuple of tuples of int
        The stretches that may follow each.
    least : tuple of int
        How many records each stretch has at least.
    cut : tuple of int
        The stretch, if any, that may take the place of each at any record; -1 for none.
    rows : (kernels, S, c, s) array
        One row for each window, or the corners of what it may be.
    back : (kernels, S, c, s) array
        The same of the kernel read backwards from the law that it would keep, windows in the
        order of that reading.
    laws : (kernels, S, S) array
        The largest ``ln pi(u)/pi(v)`` of that law.
    """

    alike: tuple[int, ...]
    after: tuple[tuple[int, ...], ...]
    least: tuple[int, ...]
    cut: tuple[int, ...]
    key: bytes
    rows: np.ndarray = field(compare=False)
    back: np.ndarray = field(compare=False)
    laws: np.ndarray = field(compare=False)

    @property
    def order(self) -> int:
        """How many records a window has."""
        return round(np.log(self.rows.shape[1]) / np.log(self.rows.shape[3]))

    @cached_property
    def apart(self) -> tuple[int, ...]:
        """How many records at either end of each stretch have places of their own."""
        return tuple(min((least - 1) // 2, _APART) for least in self.least)

    @cached_property
    def loops(self) -> np.ndarray:
        """The place of all other records of each stretch; those of the first lie before it."""
        return np.cumsum([n + 1 for n in self.apart]) - 1

    def flanks(self) -> tuple[Flank, Flank]:
        """The right side, on which what comes before follows, and the left one."""
        size, s = self.rows.shape[1], self.rows.shape[3]
        turned, many = turned_windows(s, self.order), range(len(self.alike))
        preceding = [[p for p in many if q in self.after[p]] for q in many]
        cut = [[p for p in many if self.cut[p] == q] for q in many]
        right = self._side(self.rows, np.arange(size), preceding, cut, None)
        own = [[q] if q >= 0 else [] for q in self.cut]
        return right, self._side(self.back, turned, self.after, own, self.laws)

    def _side(
        self,
        rows: np.ndarray,
        turned: np.ndarray,
        following: Sequence[Sequence[int]],
        cut: Sequence[Sequence[int]],
        laws: np.ndarray | None,
    ) -> Flank:
        stretch = np.repeat(np.arange(len(self.alike)), np.array(self.apart) + 1)
        count, size, loops = len(stretch), rows.shape[1], self.loops
        then = np.minimum(np.arange(count) + 1, loops[stretch])
        ways: list[list[tuple[int, int]]] = []  # place and stretch
        for at, j in enumerate(stretch.tolist()):
            out = [(int(loops[q]), q) for q in cut[j]]
            if at == loops[j]:
                out += [(int(loops[q]) - self.apart[q], q) for q in following[j]]
            ways.append(out)
        exits = np.full((count, max(map(len, ways))), -1)
        turns = np.zeros((*exits.shape, size, size))
        for at, out in enumerate(ways):
            for e, (to, q) in enumerate(out):
                one, other = self.alike[stretch[at]], self.alike[q]
                exits[at, e] = to
                if laws is not None and one != other:
                    turns[at, e] = (laws[one] + laws[other].T)[np.ix_(turned, turned)]
        kernels = np.ascontiguousarray(rows[np.array(self.alike)[stretch]])
        none, every = np.zeros((count, size, size)), np.ones(size, dtype=bool)
        return Flank(kernels, every, turned, none, then, exits, turns)

    def pairs(self) -> list[tuple[int, int, int]]:
        """Places of the left and of the right side that stand beside a window, and its kernel.

        In a stretch of 2 L + 1 records or more one side at least is L records away from its end.
        """
        loops = self.loops.tolist()
        places = [range(loop - n, loop + 1) for loop, n in zip(loops, self.apart, strict=True)]
        found = []
        for j, (loop, own) in enumerate(zip(loops, places, strict=True)):
            # a stretch that may be cut has ends that are not its own
            ends = self.cut[j] >= 0 or j in self.cut
            beside = [(at, to) for at in own for to in own if ends or loop in (at, to)]
            beside += [(loop, loops[q]) for q in self.after[j]]
            if self.cut[j] >= 0:
                beside += [(at, to) for at in own for to in places[self.cut[j]]]
            found += [(*pair, self.alike[j]) for pair in beside]
        return found


def known_stretches(
    kernels: np.ndarray,
    alike: tuple[int, ...],
    after: tuple[tuple[int, ...], ...],
    least: tuple[int, ...],
    cut: tuple[int, ...],
) -> Succession:
    """Of kernels that are known, (kernels, S, s); the rest as in :class:`Succession`."""
    many, size, s = kernels.shape
    order = round(np.log(size) / np.log(s))
    if not kernels.min() > RAREST:
        raise NotApplicableError(
            "transfer along stretches needs transitions that are all possible; use contraction"
        )
    law = np.array([_stationary(kernel) for kernel in kernels])
    turned = turned_windows(s, order)
    source = np.arange(s) * (size // s) + np.arange(size)[:, None] // s  # windows before
    came = kernels[:, source, np.arange(size)[:, None] % s] * law[:, source]
    back = np.empty((many, size, s))
    back[:, turned] = came / law[:, :, None]
    if not back.min() > RAREST:
        raise NotApplicableError("windows of this chain are too rare to be followed")
    logs = np.log(law)
    apart = logs[:, :, None] - logs[:, None] + _SLACK * (1.0 - np.eye(size))
    return Succession(
        alike,
        after,
        least,
        cut,
        kernels.tobytes(),
        np.ascontiguousarray(kernels[:, :, None]),
        np.ascontiguousarray(back[:, :, None]),
        apart,
    )


def of_seasons(chain: SeasonalChain) -> Succession:
    """The stretches of a timetable."""
    alike, least = _spelled(chain)
    return known_stretches(chain.transition, alike, _in_turn(alike), least, (-1,) * len(alike))


def of_switching(chain: SwitchingChain) -> Succession:
    """Those of a chain that goes over from one kernel, or timetable of kernels, to another."""
    one, other = chain.parts
    if isinstance(one, SeasonalChain) and isinstance(other, SeasonalChain):
        kernels = np.concatenate([one.transition, other.transition])
        (alike, least), many = _spelled(one), len(one.transition)
        count, turn = len(alike), _in_turn(alike)
        # over to the next stretch, or within one, which then goes on for a time that is not known
        after = [(*own, *(count + q for q in own)) for own in turn]
        after += [tuple(count + q for q in own) for own in turn]
        cut = (*range(count, 2 * count), *(-1,) * count)
        both = (*alike, *(many + g for g in alike))
        return known_stretches(kernels, both, tuple(after), 2 * least, cut)
    kernels = np.stack([np.asarray(part.transition) for part in chain.parts])
    return known_stretches(kernels, (0, 1), ((1,), ()), (1, 1), (-1, -1))


def _spelled(chain: SeasonalChain) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The kernel and the length of each stretch of a timetable."""
    if chain.pattern is None:
        raise NotApplicableError("seasons may come in any order; use contraction")
    turns = np.array(chain.pattern)
    begins = np.flatnonzero(turns != np.roll(turns, 1))
    if not len(begins):
        return (int(turns[0]),), (1,)
    lengths = np.diff(begins, append=begins[0] + len(turns))
    return tuple(turns[begins].tolist()), tuple(lengths.tolist())


def _in_turn(alike: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The stretch after each, round a timetable."""
    many = len(alike)
    return tuple(((j + 1) % many,) if many > 1 else () for j in range(many))


def _stationary(kernel: np.ndarray) -> np.ndarray:
    """The law of windows that a kernel keeps."""
    size, s = kernel.shape
    moves = np.zeros((size, size))
    for w in range(size):
        moves[w, (w * s) % size + np.arange(s)] = kernel[w]
    return MarkovChain(moves).stationary


@lru_cache(maxsize=64)  # a search asks for many epsilons
def _laid(stretches: Succession, width: float) -> tuple[Mesh, Mesh] | None:
    """Cells of both sides; None where they are more than the budget."""
    try:
        right, left = (lay_cells(side, width, _NUMBERS) for side in stretches.flanks())
    except TooManyCells:
        return None
    return right, left


def certify_stretches(stretches: Succession, steps: np.ndarray) -> float:
    """A bound for every adversary and every length, and for stretches of any length.

    Parameters
    ----------
    stretches : Succession
    steps : (s, s) array
        ``steps[x, x']``: what replacing x by x' in a record tells by itself.

    References
    ----------
    order-k#stretches.
    """
    for width in _WIDTHS:
        cells = _laid(stretches, width)
        if cells is not None:
            try:
                return _told(stretches, cells, steps) * (1.0 + _ROUNDED)
            except NotApplicableError:  # small epsilons take more sweeps: coarser cells, fewer
                pass
    raise NotApplicableError(
        "what may be known of a chain of these stretches takes more cells than the work allowed; "
        "use contraction"
    )


def _told(stretches: Succession, cells: tuple[Mesh, Mesh], steps: np.ndarray) -> float:
    """The largest leakage over all places and all pairs of states of the two sides there."""
    size, s, order = stretches.laws.shape[1], len(steps), stretches.order
    many = int(stretches.loops[-1]) + 1
    right, left = (settle_places(each, steps, np.full(many, np.inf), _NUMBERS) for each in cells)
    digits = np.unravel_index(np.arange(size), (s,) * order)
    own = sum((steps[np.ix_(each, each)] for each in digits), np.zeros((size, size)))
    beside = sum(max(float(each[0].max()) for each in side) for side in (right, left))
    if own.max() + beside > LARGEST:
        raise NotApplicableError("epsilons this large leave nothing to compare; use contraction")
    worst, window = Worst(), Window(np.zeros(size), own, np.arange(size), s)
    planted: list[dict[int, Tree]] = [{}, {}]
    for here, there, kernel in stretches.pairs():
        costs, zones, alive = left[here]
        # ratios of the law stand with those of what is known
        if here not in planted[0]:
            planted[0][here] = plant((costs, zones + stretches.laws[kernel], alive))
        if there not in planted[1]:
            planted[1][there] = plant(right[there])
        trees = planted[1][there], planted[0][here]
        worst = worst_pair(window, *trees, all_cores(order, s), worst)
    return worst.value


@bound("transfer", on=SwitchingChain, given=given_steps)
def switching_transfer(
    chain: SwitchingChain, steps: np.ndarray, reach: Reach | None = None
) -> Bound:
    """Transfer bound of a chain whose kernel, or timetable of kernels, changes once.

    Parameters
    ----------
    chain : SwitchingChain
        Of two or three states.
    steps : (n or 1, s, s) array
        The largest serves for all records.
    reach : Reach, optional
        Not needed here.

    References
    ----------
    order-k#stretches.

    Examples
    --------
    >>> parts = MarkovChain([[.9, .1], [.2, .8]]), MarkovChain([[.8, .2], [.3, .7]])
    >>> chain = SwitchingChain(parts, None, (0, 1))
    >>> round(switching_transfer(chain, np.array([[[0, .1], [.1, 0]]])).value, 3)
    0.588
    """
    first = chain.parts[0]
    if len(chain.states) > STATES or first.transition.shape[-2] > _MOST_WINDOWS:
        raise NotApplicableError(
            f"stretches are followed for up to {STATES} states and {_MOST_WINDOWS} windows; use "
            "contraction"
        )
    if getattr(first, "initial", None) is not None:
        raise NotApplicableError("stretches need the stationary start; use contraction")
    worst, value = np.ascontiguousarray(steps.max(axis=0), dtype=float), 0.0
    if worst.any():
        value = certify_stretches(of_switching(chain), worst)
    return bounded(chain, value, steps, None, REFERENCE)
