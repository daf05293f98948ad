"""What is told of one record of a window, and the worst pair of a right and a left side.

Between a window with one value of the record and a window with another lie the records themselves,
the law to the right and the law to the left; the k - 1 other records are averaged over
(order-k#window-transfer). Pairs of sides are not all tried: the states of a side stand in a binary
tree whose inner nodes are elementwise maxima of T and U, so that what a pair of inner nodes leaks
bounds all pairs below them. Pairs are opened worst first: the first pair of leaves that comes up is
the worst.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from corrdp._compiled import inlined, njit
from corrdp.bounds.chains.zones import (
    ENDLESS,
    UNKNOWN,
    corners_of,
    largest_ratio,
    laws_of,
    room_for,
)
from corrdp.errors import NotApplicableError
from corrdp.models.chains.window import WindowChain

_EVALUATIONS = 50_000  # for each pattern of the window; then the worst pair that is open stands
_OPENED = 8192  # states beyond which a tree is not grown any more
_TINY = np.finfo(float).tiny
_FLAT = 1e-6  # states that differ by less, relative to the largest cost, stand in one leaf
Beyond = tuple[np.ndarray, np.ndarray, np.ndarray]  # T, U and where h > 0, by state


def turned_windows(states: int, order: int) -> np.ndarray:
    """The number of each window read backwards."""
    return np.arange(states**order).reshape((states,) * order).transpose().ravel()


@dataclass(frozen=True, eq=False)
class Flank:
    """One side of a window, read away from it; the left one is the chain read backwards.

    Parameters
    ----------
    rows : (places, S, c, s) array
        Probabilities of the next record by window: one row, or the corners of what it may be.
        Places follow each other inwards, round a period; without seasons there is one.
    used : (S,) array of bool
        The windows that occur.
    turned : (S,) array
        The number of each window of the chain in this side's reading.
    change : (places, S, S) array
        Between a place and the one before h is multiplied by something: what that does to
        ln h(u)/h(v), at most.
    then : (places,) array, optional
        The place that follows each, itself where a stretch goes on as long as one likes; without
        it they follow each other round a period.
    exits : (places, E) array
        Places that may follow as well; -1 for none. No change otherwise, but
    turns : (places, E, S, S) array
        what multiplies h on the way out.
    halls : (halls, F) array, optional
        Exits may also lead to halls, numbered after the places, where no record is: from there on
        to these places, -1 for none, with
    bows : (halls, F, S, S) array
        what multiplies h on that way.
    """

    rows: np.ndarray
    used: np.ndarray
    turned: np.ndarray
    change: np.ndarray
    then: np.ndarray | None = None
    exits: np.ndarray | None = None
    turns: np.ndarray | None = None
    halls: np.ndarray | None = None
    bows: np.ndarray | None = None

    @property
    def fan(self) -> np.ndarray:
        """The places that each hall leads to."""
        return np.zeros((0, 0), np.int64) if self.halls is None else self.halls

    @property
    def bends(self) -> np.ndarray:
        """What multiplies h on the way there."""
        size = len(self.used)
        return np.zeros((0, 0, size, size)) if self.bows is None else self.bows

    @staticmethod
    def steady(rows: np.ndarray, used: np.ndarray, turned: np.ndarray) -> Flank:
        """A side on which h goes on as it is."""
        places, size = rows.shape[:2]
        return Flank(np.ascontiguousarray(rows), used, turned, np.zeros((places, size, size)))

    @property
    def states(self) -> int:
        return int(self.rows.shape[3])

    @cached_property
    def road(self) -> tuple[np.ndarray, ...]:
        """Rows, windows, change; where a step leads to, where a run comes from when it is far from
        all known records, where it may get there; exits, turns, and the same from halls."""
        places, size = self.rows.shape[:2]
        here = np.arange(places)
        if self.then is None or self.exits is None or self.turns is None:
            none = np.zeros((places, 0), np.int64), np.zeros((places, 0, size, size))
            ways = np.roll(here, -1), np.roll(here, 1), here >= 0, *none
        else:
            ways = self.then, here, self.then == here, self.exits, self.turns
        return self.rows, self.used, self.change, *ways, self.bends

    @property
    def table(self) -> np.ndarray:
        """One row for each window, where there is one place."""
        return np.asarray(self.rows[0, :, 0])

    @cached_property
    def following(self) -> np.ndarray:
        """The window after each window and new record, shape (S, s)."""
        size, s = len(self.used), self.states
        return (np.arange(size) % (size // s))[:, None] * s + np.arange(s)

    @cached_property
    def limit(self) -> np.ndarray:
        """What ln h(u)/h(v) is at most, whatever is known: by the next k records.

        (places, S, S). Their changes are added; that of the window they lead to is common.
        """
        size, order = len(self.used), round(math.log(len(self.used), self.states))
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = []
            least, most_likely = self.rows.min(axis=2), self.rows.max(axis=2)
            if self.then is not None:  # any place may come before another
                least[:], most_likely[:] = least.min(axis=0), most_likely.max(axis=0)
            for logs in (np.log(least), np.log(most_likely)):
                # from a window to one that follows there is one path
                paths = np.repeat(np.log(np.eye(size))[None], len(logs), axis=0)
                for before in range(order - 1, -1, -1):
                    step = np.roll(logs, before, axis=0)[..., None]
                    paths = (step + paths[:, self.following]).max(axis=2)
                ends.append(paths)
            ratio = ends[1][:, :, None] - ends[0][:, None]
        most = np.where(ends[1][:, :, None] > -np.inf, ratio, -np.inf).max(axis=3) + 1e-12
        widest = self.change.max(axis=(1, 2))
        if self.turns is not None and self.turns.size:
            widest = np.full(len(self.rows), self.turns.max() + self.bends.max(initial=0.0))
        for before in range(order - 1):
            most += np.roll(widest, before)[:, None, None]
        return np.where(np.logical_and.outer(self.used, self.used), most, np.inf)

    def natural(self, batch: np.ndarray) -> np.ndarray:
        """Entries by window (and by two of them) as the chain numbers them."""
        if batch.ndim == 3:
            batch = batch[:, :, self.turned]
        return np.ascontiguousarray(batch[:, self.turned])


@dataclass(frozen=True, eq=False)
class Window:
    """The window around a record attacked: its law, what its own records tell, and where it is.

    Parameters
    ----------
    law : (S,) array
        Logarithms of the law of a window; -inf where it cannot occur.
    own : (S, S) array
        Sum of the steps of all records in which two windows differ.
    places : (S,) array
        Windows in an order in which the record attacked is the last digit.
    states : int
    """

    law: np.ndarray
    own: np.ndarray
    places: np.ndarray
    states: int

    @staticmethod
    def of(chain: WindowChain, steps: np.ndarray, place: int) -> Window:
        """``steps`` has one matrix per record of the window, or one for all."""
        size, s = chain.transition.shape
        own = np.zeros((size, size))
        for at, digits in enumerate(chain.windows.T):
            own += steps[at % len(steps)][np.ix_(digits, digits)]
        places = np.moveaxis(np.arange(size).reshape((s,) * chain.order), place, -1).ravel()
        with np.errstate(divide="ignore"):
            law = np.where(chain.occurring, np.log(chain.stationary), -np.inf)
        if (chain.occurring & (chain.stationary < np.finfo(float).tiny)).any():
            raise NotApplicableError("windows of this chain are too rare to be followed")
        return Window(law, own, np.ascontiguousarray(places), s)


@inlined
def _average(
    bounds: np.ndarray,
    wide: np.ndarray,
    seen: np.ndarray,
    core: np.ndarray,
    s: int,
    three: np.ndarray | None,
) -> float:
    """Average over the other records of a window from the oldest on, in place; -1 if impossible.

    bounds(c, d) is between windows with the two values of the record attacked, c and d their other
    records; wide[0] and wide[1] are the zones of their laws, seen[0] and seen[1] tell where they
    are possible. Records of ``core`` that are known are fixed.
    """
    rest = len(bounds)
    corners, growth, here = np.empty((2 * s, s)), np.empty((s, s)), np.empty(s, np.bool_)
    weights, laws = np.empty((2, rest, 1, s)), np.empty((2, rest, 2 * s, s))
    count = np.empty((2, rest), np.int64)
    for known in core:
        rest //= s
        for k in range(2):
            for c in range(rest):
                for x in range(s):
                    here[x] = seen[k, x * rest + c]
                    weights[k, c, 0, x] = 1.0 if here[x] else 0.0
                    for y in range(s):
                        growth[x, y] = wide[k, x * rest + c, y * rest + c]
                if known >= 0:
                    count[k, c] = 1 if here[known] else 0
                    continue
                found = corners_of(growth, 0, here, corners, three)
                count[k, c] = laws_of(weights[k], c, 1, corners, found, laws[k])
        for k in range(3):  # the bounds, then the zone of each law
            table = bounds if k == 2 else wide[k]
            told = laws if k == 2 else weights
            first, second = (0, 1) if k == 2 else (k, k)
            for c in range(rest):
                for d in range(rest):
                    if known >= 0:
                        table[c, d] = table[known * rest + c, known * rest + d]
                        continue
                    most, least = count[first, c], count[second, d]
                    if most == 0 or least == 0 or (k < 2 and c == d):
                        continue
                    if k < 2:
                        most, least = 1, 1
                    for x in range(s):
                        for y in range(s):
                            growth[x, y] = math.exp(table[x * rest + c, y * rest + d])
                    above, below = told[first], told[second]
                    table[c, d] = math.log(
                        largest_ratio(growth, 0, 0, above, c, most, below, d, least, three)
                    )
        for k in range(2):
            for c in range(rest):
                seen[k, c] = count[k, c] > 0
    return max(bounds[0, 0], 0.0) if seen[0, 0] and seen[1, 0] else -1.0


@inlined
def _leakage_between(
    right: np.ndarray,
    left: np.ndarray,
    right_alive: np.ndarray,
    left_alive: np.ndarray,
    law: np.ndarray,
    own: np.ndarray,
    places: np.ndarray,
    core: np.ndarray,
    s: int,
    three: np.ndarray | None,
) -> tuple[float, int]:
    """Leakage about one record of a window: the largest, and s a + b for the values that have it.

        A(u, v) = own(u, v) + T_right(u, v) + T_left(u, v),   u with value a, v with value b,
        leakage = max over a, b of  Lambda(A; law given a, law given b).

    Parameters
    ----------
    right, left : (2, S, S) arrays
        T and U of the two sides.
    right_alive, left_alive : (S,) arrays of bool
    law, own, places : arrays
        Of the :class:`Window`.
    core : (k - 1,) array
        For each other record, oldest first: -1 if it is unknown, else its value.
    s : int
        States.
    three : array, optional
        That of :func:`corrdp.bounds.chains.zones.room_for`.
    """
    half = len(law) // s
    bounds, wide = np.empty((half, half)), np.empty((2, half, half))
    seen = np.empty((2, half), np.bool_)
    largest, between = -1.0, 0
    for pair in range(s * s):
        if pair // s == pair % s:
            continue
        for k in range(2):
            value = pair // s if k == 0 else pair % s
            for c in range(half):
                u = places[c * s + value]
                seen[k, c] = right_alive[u] and left_alive[u] and law[u] > -math.inf
            for c in range(half):
                for d in range(half):
                    u, v = places[c * s + value], places[d * s + value]
                    wide[k, c, d] = 0.0
                    if seen[k, c] and seen[k, d]:
                        log = law[u] - law[v] + right[1, u, v] + left[1, u, v]
                        wide[k, c, d] = max(min(log, ENDLESS), -ENDLESS)
                    if k == 0:
                        v = places[d * s + pair % s]
                        bounds[c, d] = own[u, v] + right[0, u, v] + left[0, u, v]
        told = _average(bounds, wide, seen, core, s, three)
        if told > largest:
            largest, between = told, pair
    return largest, between


class Tree(NamedTuple):
    """Binary trees over the states of a side, one for each pattern of h > 0; grown where opened."""

    values: np.ndarray  # (states, 2 S^2): T and U
    weights: np.ndarray  # (2 S^2,): what a change of each is worth
    members: np.ndarray  # (states,): node n holds members[ends[n, 0] : ends[n, 1]]
    ends: np.ndarray  # (room, 2)
    children: np.ndarray  # (room, 2): -2 before a node is opened, -1 for a leaf
    tops: np.ndarray  # (room, 2, S, S): maxima of T and U
    alive: np.ndarray  # (room, S): where h > 0
    widest: np.ndarray  # (room,): the entry in which the states of a node differ most
    spread: np.ndarray  # (room,): and by how much that is; -1 before it is measured
    made: np.ndarray  # (2,): trees, and nodes so far; the roots come first


def plant(states: Beyond) -> Tree:
    """Trees over the states of one side, of which only the roots are made. O(states S^2)."""
    costs, zones, alive = states
    count, size = alive.shape
    values = np.concatenate([costs.reshape(count, -1), zones.reshape(count, -1)], axis=1)
    # a change of U by one is worth about the largest T
    weights = np.repeat([1.0, max(float(costs.max()), _TINY)], size * size)
    patterns, which = np.unique(alive, axis=0, return_inverse=True)
    roots, room = len(patterns), len(patterns) + 2 * min(count, _OPENED)
    ends = np.zeros((room, 2), np.int64)
    ends[:roots, 1] = np.cumsum(np.bincount(which.ravel()))
    ends[1:roots, 0] = ends[: roots - 1, 1]
    return Tree(
        values,
        weights,
        np.argsort(which.ravel(), kind="stable"),
        ends,
        np.full((room, 2), -2),
        np.empty((room, 2, size, size)),
        np.concatenate([patterns, np.zeros((room - roots, size), np.bool_)]),
        np.zeros(room, np.int64),
        np.full(room, -1.0),
        np.array([roots, roots]),
    )


@inlined
def _measure(tree: Tree, n: int) -> None:
    """Fill in what the states of a node have in common."""
    size = tree.tops.shape[2]
    for entry in range(tree.values.shape[1]):
        low = high = tree.values[tree.members[tree.ends[n, 0]], entry]
        for k in range(tree.ends[n, 0] + 1, tree.ends[n, 1]):
            value = tree.values[tree.members[k], entry]
            low, high = min(low, value), max(high, value)
        tree.tops[n, entry // (size * size), entry // size % size, entry % size] = high
        wide = (high - low) * tree.weights[entry]
        if wide > tree.spread[n]:
            tree.spread[n], tree.widest[n] = wide, entry


@inlined
def _open(tree: Tree, n: int) -> bool:
    """Split a node at the middle of its widest entry, if it was not; False for a leaf."""
    if tree.children[n, 0] != -2:
        return bool(tree.children[n, 0] >= 0)
    made, entry = tree.made[1], tree.widest[n]
    tree.children[n, 0] = -1
    if tree.spread[n] <= _FLAT * tree.weights[-1] or made + 2 > len(tree.ends):
        return False
    begin, end = tree.ends[n, 0], tree.ends[n, 1]
    low = high = tree.values[tree.members[begin], entry]
    for k in range(begin, end):
        value = tree.values[tree.members[k], entry]
        low, high = min(low, value), max(high, value)
    k, last = begin, end
    while k < last:
        if tree.values[tree.members[k], entry] > (low + high) / 2.0:
            last -= 1
            tree.members[k], tree.members[last] = tree.members[last], tree.members[k]
        else:
            k += 1
    for child in range(2):
        tree.children[n, child] = made + child
        tree.ends[made + child, 0] = begin if child == 0 else k
        tree.ends[made + child, 1] = k if child == 0 else end
        for u in range(tree.alive.shape[1]):
            tree.alive[made + child, u] = tree.alive[n, u]
        _measure(tree, made + child)
    tree.made[1] = made + 2
    return True


@inlined
def _before(keys: np.ndarray, pairs: np.ndarray, one: int, other: int) -> bool:
    """Whether one open pair comes before another: it may leak more, or has smaller nodes."""
    if keys[one] != keys[other]:
        return bool(keys[one] > keys[other])
    k = 0 if pairs[one, 0] != pairs[other, 0] else 1
    return bool(pairs[one, k] < pairs[other, k])


@njit(cache=True, error_model="numpy")
def _search(
    right: Tree,
    left: Tree,
    law: np.ndarray,
    own: np.ndarray,
    places: np.ndarray,
    core: np.ndarray,
    s: int,
    floor: float,
    three: np.ndarray | None,
) -> tuple[float, int, int, int]:
    """The largest leakage over pairs, a pair that has it, and between which values (s a + b).

    ``floor`` and -1 if it is no more.
    """
    first, roots = False, left.made[0]
    made, spent = 0, right.made[0] * roots
    room = spent + _EVALUATIONS + 2
    # what each pair may leak, the pair and the values; a heap of those that are open
    keys, pairs, heap = np.empty(room), np.empty((room, 3), np.int64), np.empty(room, np.int64)
    i, j, above, size, limit = -1, -1, math.inf, 0, spent + _EVALUATIONS
    for n in range(right.made[0]):
        if right.spread[n] < 0.0:
            _measure(right, n)
    for n in range(roots):
        if left.spread[n] < 0.0:
            _measure(left, n)
    while True:
        while made < spent:
            if i < 0:
                r, other = made // roots, made % roots
            else:
                child = made + 2 - spent
                r = right.children[i, child] if first else i
                other = j if first else left.children[j, child]
            both = right.alive[r], left.alive[other]
            value, between = _leakage_between(
                right.tops[r], left.tops[other], both[0], both[1], law, own, places, core, s, three
            )
            keys[made] = min(value, above)
            pairs[made, 0], pairs[made, 1], pairs[made, 2] = r, other, between
            k, size = size, size + 1
            while k > 0 and _before(keys, pairs, made, heap[(k - 1) // 2]):
                heap[k] = heap[(k - 1) // 2]
                k = (k - 1) // 2
            heap[k] = made
            made += 1
        if size == 0 or keys[heap[0]] <= floor:
            return floor, -1, -1, 0
        top, last = heap[0], heap[size - 1]
        size -= 1
        k = 0
        while 2 * k + 1 < size:
            below = 2 * k + 1
            if below + 1 < size and _before(keys, pairs, heap[below + 1], heap[below]):
                below += 1
            if not _before(keys, pairs, heap[below], last):
                break
            heap[k] = heap[below]
            k = below
        heap[k] = last
        above, i, j = keys[top], pairs[top, 0], pairs[top, 1]
        # open the side that differs more, or else the other
        first = not right.spread[i] >= left.spread[j]
        opened = False
        for _ in range(2):
            if not opened:
                first = not first
                opened = _open(right, i) if first else _open(left, j)
        if not opened or spent >= limit:
            return above, i, j, pairs[top, 2]
        spent += 2


@dataclass(frozen=True, eq=False)
class Worst:
    """The largest leakage over pairs of sides, and who learns it."""

    value: float = 0.0
    right: int = -1  # state of each side
    left: int = -1
    core: tuple[int, ...] = ()
    values: tuple[int, int] = (0, 0)


def worst_pair(
    window: Window,
    right: Tree,
    left: Tree,
    cores: list[tuple[int, ...]],
    worst: Worst = Worst(),
) -> Worst:
    """The largest leakage over all pairs of states and these patterns; ``worst`` if it is more."""
    s = window.states
    given, three = (window.law, window.own, window.places), room_for(s)
    for core in cores:
        value, i, j, between = _search(
            right, left, *given, np.array(core, np.int64), s, worst.value, three
        )
        if i >= 0:
            one, other = (int(tree.members[tree.ends[n, 0]]) for tree, n in ((right, i), (left, j)))
            worst = Worst(value, one, other, core, divmod(between, s))
    return worst


def all_cores(order: int, states: int) -> list[tuple[int, ...]]:
    """What may be known of the other records of a window, the least known first."""
    cores = itertools.product((UNKNOWN, *range(states)), repeat=order - 1)
    return sorted(cores, key=lambda core: sum(letter != UNKNOWN for letter in core))
