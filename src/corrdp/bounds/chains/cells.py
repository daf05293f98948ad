"""Every adversary at once, for every length, on one side of a chain of order k.

What an adversary knows beyond a window is a *word*: for each record, unknown or its value. A known
record forgets all but the windows that end in it, s^(k-1) of them, and a run of unknown records
forgets what lies beyond. So words are walks on a small graph (order-k#certificate):

    far --known c--> node --a unknown--> state (node, a) --known d--> node --..
                                              |
                                              +-- after enough of them --> far

A *node* stands for all words whose nearest letter is a known c and whose h on the windows that end
in c is close to that of its first member. It has a zone for h and a cost for T that hold for all of
them, found by sweeping along the graph: every image is taken into the node it falls to, by
elementwise maxima, until **one full sweep changes nothing**. As the steps are monotone, that
proves that every word is dominated by a state, by induction over its letters. Zones are found once
for a kernel (no epsilon in them), here; costs once for each epsilon, in
:mod:`corrdp.bounds.chains.settling`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corrdp._compiled import inlined, njit
from corrdp.bounds.chains.frontier import Flank
from corrdp.bounds.chains.zones import (
    ENDLESS,
    LARGEST,
    STEEP,
    UNKNOWN,
    room_for,
    step,
    step_weights,
)
from corrdp.errors import NotApplicableError

_FAR = 3e-5  # ln h varies by about this after the last unknown record that is followed
_LONGEST = 400  # unknown records followed
_ZONE_GRAIN = 1e-3  # zones in multiples of this share of the width
PATIENCE = 2  # sweeps after which the grain is doubled, so that every search ends
TURNS = 100  # the same where one matrix is worked out again and again
TIMES = 24  # how often as many numbers may be worked out as may be kept
_FAINT = 14.0  # windows whose h is smaller than e^-14 of another's stand in one cell


class TooManyCells(NotApplicableError):
    """Cells of this width take more than the work allowed."""


class CellGraph(NamedTuple):
    """What a sweep goes along, as in a :class:`Mesh` and its side."""

    first: np.ndarray
    letters: np.ndarray
    places: np.ndarray
    alive: np.ndarray
    following: np.ndarray
    origins: np.ndarray
    entries: np.ndarray
    fans: np.ndarray
    halls: np.ndarray
    rows: np.ndarray
    used: np.ndarray
    change: np.ndarray
    then: np.ndarray
    before: np.ndarray
    ends: np.ndarray
    exits: np.ndarray
    turns: np.ndarray
    bends: np.ndarray


@dataclass(frozen=True, eq=False)
class Mesh:
    """Nodes and their states on one side of a chain.

    Parameters
    ----------
    side : Flank
    letters : (nodes,) array
        The known record of each node; -1 where an unknown one begins another stretch.
    first : (nodes + 1,) array
        The first state of each node; the others follow, one for each unknown record.
    places : (states,) array
        The place of each state's window.
    alive : (states, S) array of bool
        Where h > 0.
    following : (states, (1 + exits) (s + 1)) array
        Node to which a record leads, at the place that follows and at each exit: known to be 0, 1,
        .., or unknown. -1 where it is impossible, or leads to no node.
    origins : (places, (1 + exits) (s + 1)) array
        The same from far.
    entries : (nodes, S, S) array
        U where a node begins.
    zones : (states, S, S) array
        U in each state.
    room : (places, S, S) array
        U far from everything known.
    fans : (nodes in halls, F) array
        The last nodes have no states and pass on what they take in, each to these nodes.
    halls : (nodes in halls,) array
        The hall of each.
    """

    side: Flank
    letters: np.ndarray
    first: np.ndarray
    places: np.ndarray
    alive: np.ndarray
    following: np.ndarray
    origins: np.ndarray
    entries: np.ndarray
    zones: np.ndarray
    room: np.ndarray
    fans: np.ndarray
    halls: np.ndarray

    @property
    def graph(self) -> CellGraph:
        """What a sweep goes along."""
        return CellGraph(
            self.first,
            self.letters,
            self.places,
            self.alive,
            self.following,
            self.origins,
            self.entries,
            self.fans,
            self.halls,
            *self.side.road,
        )


@njit(cache=True, error_model="numpy")
def _run(
    weights: np.ndarray,
    alive: np.ndarray,
    letter: int,
    place: int,
    rows: np.ndarray,
    used: np.ndarray,
    then: np.ndarray,
    ends: np.ndarray,
    middle: np.ndarray,
    still: np.ndarray,
    apart: float,
    run: np.ndarray,
    seen: np.ndarray,
) -> int:
    """ln h and where h > 0 before a known letter and 0, 1, .. unknown records, until far.

    That is where ln h is ``apart`` from that of nothing known, at most.
    Fills ``run`` and ``seen``, (:data:`_LONGEST`, S); how many entries. What is beyond the letter
    stands in the first rows of ``weights`` and ``alive``, which are worked on.
    """
    known, beyond = letter, 0 * letter  # a plain number would be a type of its own
    at = place
    for a in range(len(run)):
        step_weights(weights, alive, beyond, rows, at, known, run, seen, a)
        low, high, full = math.inf, -math.inf, True
        after = then[at]
        for u in range(len(used)):
            if used[u]:
                log = run[a, u] - still[at, u]
                low, high = min(low, log), max(high, log)
            full = full and seen[a, u] == used[u]
            weights[0, u], alive[0, u] = run[a, u] + middle[after, u], seen[a, u]
        if full and high - low <= apart / 2.0 and ends[at]:
            return a + 1
        known, at = UNKNOWN, after
    return len(run)


def _middle(side: Flank) -> tuple[np.ndarray, np.ndarray]:
    """What multiplies h at each place, in the middle of what it may, and ln h far from all known.

    (places, S) each.
    """
    middle = _halfway(side.change)
    still, seen = np.zeros_like(middle), np.empty(middle.shape, np.bool_)
    every = side.used[None]
    for _ in range(TURNS if middle.any() else 0):
        before = still.copy()
        for at in range(len(still)):
            weights = (still[at - 1] + middle[at])[None]
            step_weights(weights, every, 0, side.rows, at, UNKNOWN, still, seen, at)
        if np.abs(still - before).max() < _FAR / 100.0:
            break
    return middle, still


def _halfway(change: np.ndarray) -> np.ndarray:
    """What multiplies h, in the middle of what it may do to ln h(u)/h(v)."""
    return np.asarray((change[..., :, 0] - change[..., 0, :]) / 2.0)


def lay_cells(side: Flank, width: float, most: int, apart: float = _FAR) -> Mesh:
    """Nodes by breadth-first search, and their zones; ``most`` numbers may be kept.

    What ln h varies by, at most, far from all that is known, is ``apart``. O(states S^2) a sweep.
    """
    period, size, _, s = side.rows.shape
    then, _, ends, exits, turns, bends = side.road[3:]
    ids: dict[bytes, int] = {}
    letters: list[int] = []
    places: list[int] = []
    members: list[tuple[np.ndarray, np.ndarray]] = []  # ln h and where h > 0 by window

    def nodes(letter: int, at: np.ndarray, weights: np.ndarray, alive: np.ndarray) -> list[int]:
        """Nodes of a batch, restricted to windows that end in the letter; -1 if impossible."""
        first, apart = (0, 1) if letter == UNKNOWN else (letter, s)
        alive, weights = alive[:, first::apart], weights[:, first::apart]
        level = np.take_along_axis(weights, alive.argmax(axis=1)[:, None], axis=1)
        weights = np.where(alive, weights - level, 0.0)
        weights = np.clip(weights, -_FAINT, _FAINT)
        codes = np.floor(weights / width + 0.5)
        keys = np.column_stack([np.full(len(alive), letter), at, alive, codes])
        found = []
        for n, key in enumerate(map(bytes, keys)):
            if key not in ids and alive[n].any():
                ids[key] = len(letters)
                letters.append(letter)
                places.append(int(at[n]))
                both = weights[n : n + 1], alive[n : n + 1]
                members.append((np.repeat(both[0], apart, 1), np.repeat(both[1], apart, 1)))
            found.append(ids.get(key, -1))
        return found

    middle, still = _middle(side)
    bent = _halfway(turns)

    def onward(at: np.ndarray, weights: np.ndarray, alive: np.ndarray) -> np.ndarray:
        """The nodes that follow a batch: at the place that follows, then at each exit."""
        after = then[at]
        found = [nodes(letter, after, weights + middle[after], alive) for letter in range(s)]
        blocks = np.full((len(at), 1 + exits.shape[1], s + 1), -1)
        blocks[:, 0, :s] = np.transpose(found)
        for e in range(exits.shape[1]):
            out = np.flatnonzero(exits[at, e] >= 0)
            if len(out):
                given = exits[at, e][out], (weights + bent[at, e])[out], alive[out]
                found = [nodes(letter, *given) for letter in (*range(s), UNKNOWN)]
                blocks[out, 1 + e] = np.transpose(found)
        return blocks.reshape(len(at), -1)

    origins = onward(np.arange(period), still, np.repeat(side.used[None], period, axis=0))
    passed: list[np.ndarray] = []  # from the nodes of halls
    bowed = _halfway(bends)
    following: list[np.ndarray] = []
    along: list[np.ndarray] = []
    seen: list[np.ndarray] = []
    run, told = np.empty((_LONGEST, size)), np.empty((_LONGEST, size), np.bool_)
    kept = 0
    while len(seen) < len(letters):
        n = len(seen)
        if places[n] >= period:
            hall = places[n] - period
            row, on = np.full(side.fan.shape[1], -1), np.flatnonzero(side.fan[hall] >= 0)
            weights, alive = members[n][0] + bowed[hall, on], np.repeat(members[n][1], len(on), 0)
            row[on] = nodes(letters[n], side.fan[hall, on], weights, alive)
            passed.append(row)
            following.append(np.empty((0, origins.shape[1]), np.int64))
            along.append(np.empty(0, np.int64))
            seen.append(np.empty((0, size), np.bool_))
            continue
        passed.append(np.empty(0))
        given = side.rows, side.used, then, ends, middle, still
        many = _run(*members[n], letters[n], places[n], *given, apart, run, told)
        weights, alive = run[:many], told[:many].copy()
        if (alive[-1] != side.used).any():
            raise NotApplicableError(
                "by zeros of the kernel, some records tell for ever what a window cannot be; use "
                "contraction"
            )
        at = np.full(many, places[n])
        for a in range(1, many):
            at[a] = then[at[a - 1]]
        following.append(onward(at, weights, alive))
        along.append(at)
        seen.append(alive)
        kept += len(alive)
        if max(kept, len(letters)) * size * size > most:
            raise TooManyCells(f"more than {len(seen)} cells")
    # place by place, as what is found goes inwards; the last entry is for the impossible
    order = np.argsort(places, kind="stable")
    rank = np.append(np.argsort(order), -1)
    inside = [n for n in order if places[n] >= period]
    to = np.array([passed[n] for n in inside], np.int64).reshape(len(inside), side.fan.shape[1])
    cells = Mesh(
        side,
        np.array(letters)[order],
        np.cumsum([0, *(len(seen[n]) for n in order)]),
        np.concatenate([along[n] for n in order]),
        np.concatenate([seen[n] for n in order]),
        rank[np.concatenate([following[n] for n in order])].copy(),
        rank[origins].copy(),
        np.where(np.eye(size) > 0, 0.0, np.full((len(letters), size, size), -np.inf)),
        np.zeros((kept, size, size)),
        still[:, :, None] - still[:, None] + apart * (1.0 - np.eye(size)),
        rank[to].copy(),
        np.array([places[n] - period for n in inside], np.int64),
    )
    return _with_zones(cells, width * _ZONE_GRAIN, TIMES * most // size**2)


@inlined
def _raised(value: float, floor: float, grain: float, limit: float) -> float:
    """The floor or, where it is exceeded, the next multiple of the grain.

    That is not beyond the limit, which the value itself may exceed. Not a number is not small.
    """
    if value <= floor:
        return floor
    return max(value, min(math.ceil(value / grain) * grain, limit))


@inlined
def _take_in(
    values: np.ndarray,
    alive: np.ndarray,
    to: np.ndarray,
    begin: int,
    s: int,
    limit: np.ndarray,
    at: int,
    grain: float,
    floors: np.ndarray,
    dirty: np.ndarray,
) -> int:
    """Take the images of a state into the nodes ``to[begin:]``, rounded up; how many rose.

    values(u, v) of the windows that end in d go to the node of d, all of them to that of an unknown
    record.
    """
    rose = 0
    for u in range(len(alive)):
        for v in range(len(alive)):
            if u == v or not (alive[u] and alive[v]):
                continue
            for unknown in range(2):
                if unknown == 0 and u % s != v % s:
                    continue
                node = to[begin + (s if unknown else u % s)]
                if node < 0:
                    continue
                floor = floors[node, u, v]
                raised = _raised(values[u, v], floor, grain, limit[at, u, v])
                if raised != floor:
                    floors[node, u, v] = raised
                    dirty[node] = True
                    rose += 1
    return rose


@inlined
def _limited(value: float, limit: float, zones: bool) -> float:
    """What an entry may be at most; a ratio beyond STEEP counts as without limit."""
    value = min(value, limit)
    return ENDLESS if zones and not value <= STEEP else value


@njit(cache=True, error_model="numpy")
def sweep(
    graph: CellGraph,
    limit: np.ndarray,
    zones: np.ndarray,
    room: np.ndarray,
    steps: np.ndarray,
    by_zones: bool,
    grain: float,
    floors: np.ndarray,
    dirty: np.ndarray,
    values: np.ndarray,
    far: np.ndarray,
    spent: np.ndarray,
    allowed: int,
    three: np.ndarray | None,
) -> tuple[bool, int]:
    """Raise T, or U, along the graph: far, from there, and in the nodes that rose, or all.

    The sweep is whole where none is left that rose. U where ``by_zones``: then ``values`` and
    ``far`` are ``zones`` and ``room``; else the latter two are given, and T is found.

    Returns
    -------
    bool, int
        Whether the sweep was whole, and how many entries rose; -1 once more is spent than allowed
        on what is far, or T is out of range.
    """
    first, letters, places, alive, following, origins, entries, fans, halls = graph[:9]
    rows, used, change, then, before, _, exits, turns, bends = graph[9:]
    period, size, _, s = rows.shape
    tails, rose, turn, unit, more = size // s, 0, 0, grain, 1
    now, zone, out = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    bent = np.empty((size, size))
    largest, whole = 0.0, not by_zones
    for x in range(s):
        for y in range(s):
            largest = max(largest, steps[x, y])
    for n in range(len(letters)):
        whole = whole and not dirty[n]
    while more > 0:  # until an unknown record does not raise what is far any more
        if not by_zones:
            for u in range(size):
                for v in range(size):
                    for at in range(period):
                        if not far[at, u, v] + largest <= LARGEST or spent[0] > allowed:
                            return whole, -1
            spent[0] += period
        turn += 1
        unit, more = unit * 2.0 if turn % TURNS == 0 else unit, 0
        for at in range(period):
            for u in range(size):
                for v in range(size):
                    now[u, v] = far[before[at], u, v]
                    zone[u, v] = room[before[at], u, v] + change[at, u, v]
            step(now, zone, used, rows, at, steps, by_zones, out, three)
            for u in range(size):
                for v in range(size):
                    value, floor = 0.0, far[at, u, v]
                    if used[u] and used[v]:
                        value = _limited(out[u, v], limit[at, u, v], by_zones)
                    raised = _raised(value, floor, unit, limit[at, u, v])
                    more += raised != floor
                    far[at, u, v] = raised
        rose += more
    for at in range(len(origins)):
        after = then[at]
        for u in range(size):
            for v in range(size):
                now[u, v] = far[at, u, v] + (change[after, u, v] if by_zones else 0.0)
        rose += _take_in(now, used, origins[at], 0, s, limit, at, grain, floors, dirty)
        for e in range(exits.shape[1]):
            for u in range(size):
                for v in range(size):
                    bent[u, v] = far[at, u, v] + (turns[at, e, u, v] if by_zones else 0.0)
            begin = (e + 1) * (s + 1)
            rose += _take_in(bent, used, origins[at], begin, s, limit, at, grain, floors, dirty)
    if by_zones:
        whole = True
        for n in range(len(letters)):
            whole = whole and not dirty[n]
    for n in range(len(letters)):
        if not (whole or dirty[n]):
            continue
        dirty[n] = False
        hall = n - len(letters) + len(halls)
        if hall >= 0:
            spent[0] += 1
            for e in range(fans.shape[1]):
                node = fans[hall, e]
                for u in range(size if node >= 0 else 0):
                    for v in range(size):
                        value, floor = floors[n, u, v], floors[node, u, v]
                        if u == v or value == -math.inf:
                            continue
                        if by_zones:
                            value += bends[halls[hall], e, u, v]
                        raised = _raised(value, floor, grain, math.inf)
                        if raised != floor:
                            floors[node, u, v] = raised
                            dirty[node] = True
                            rose += 1
            continue
        if letters[n] < 0:  # another stretch begins with an unknown record
            step(floors[n], entries[n], used, rows, places[first[n]], steps, by_zones, out, three)
        for state in range(first[n], first[n + 1]):
            seen, at = alive[state], places[state]
            after = then[at]
            for u in range(size):
                for v in range(size):
                    value = 0.0
                    if u != v and seen[u] and seen[v]:
                        value = out[u, v]
                        if state == first[n] and letters[n] >= 0:
                            x, y = u % tails * s + letters[n], v % tails * s + letters[n]
                            value = floors[n, x, y]
                            if by_zones:
                                value += _told(rows, at, u, v, letters[n])
                        value = _limited(value, limit[at, u, v], by_zones)
                    values[state, u, v] = value
                    zone[u, v] = zones[state, u, v] + change[after, u, v]
                    now[u, v] = zone[u, v] if by_zones else value
            spent[0] += 1
            to = following[state]
            rose += _take_in(now, seen, to, 0, s, limit, at, grain, floors, dirty)
            for e in range(exits.shape[1]):
                for u in range(size):
                    for v in range(size):
                        bent[u, v] = values[state, u, v] + (turns[at, e, u, v] if by_zones else 0.0)
                begin = (e + 1) * (s + 1)
                rose += _take_in(bent, seen, to, begin, s, limit, at, grain, floors, dirty)
            if state + 1 < first[n + 1]:
                step(now, zone, seen, rows, after, steps, by_zones, out, three)
                continue
            for u in range(size):
                for v in range(size):
                    floor = far[at, u, v]
                    raised = _raised(values[state, u, v], floor, grain, limit[at, u, v])
                    rose += raised != floor
                    far[at, u, v] = raised
    return whole, rose


@inlined
def _told(rows: np.ndarray, at: int, u: int, v: int, letter: int) -> float:
    """The largest ln P(u, letter) / P(v, letter)."""
    most, least = rows[at, u, 0, letter], rows[at, v, 0, letter]
    for c in range(1, rows.shape[2]):
        most, least = max(most, rows[at, u, c, letter]), min(least, rows[at, v, c, letter])
    return math.log(most) - math.log(least)


def _with_zones(cells: Mesh, grain: float, most: int) -> Mesh:
    """Fill in a family of zones that no letter leads out of, in at most so many steps."""
    side, s, floors = cells.side, cells.side.states, cells.entries
    dirty, spent, three = np.zeros(len(floors), np.bool_), np.zeros(1, np.int64), room_for(s)
    filled = cells.zones, cells.room
    for turn in itertools.count(1):
        whole, rose = sweep(
            cells.graph, side.limit, *filled, np.zeros((s, s)), True,
            grain, floors, dirty, *filled, spent, most, three,
        )  # fmt: skip
        if whole and rose == 0:
            return cells
        if spent[0] > most:
            break
        grain *= 2.0 if turn % PATIENCE == 0 else 1.0
    raise TooManyCells("what is known of records did not settle within the work allowed")


def states_of(
    cells: Mesh, costs: np.ndarray, far: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T, U and where h > 0 in all states and far, windows numbered as the chain is written."""
    side = cells.side
    used = np.repeat(side.used[None], len(far), axis=0)
    return (
        side.natural(np.concatenate([costs, far])),
        side.natural(np.concatenate([cells.zones, cells.room])),
        side.natural(np.concatenate([cells.alive, used])),
    )
