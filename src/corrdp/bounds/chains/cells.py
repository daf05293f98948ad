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
for a kernel (no epsilon in them), costs once for each epsilon.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.frontier import Flank
from corrdp.bounds.chains.zones import (
    ENDLESS,
    LARGEST,
    STEEP,
    UNKNOWN,
    step_costs,
    step_weights,
    step_zone,
)
from corrdp.errors import NotApplicableError

_FAR = 3e-5  # ln h varies by about this after the last unknown record that is followed
_LONGEST = 400  # unknown records followed
_GRAIN = 3e-5  # costs are raised in multiples of this share of epsilon
_ZONE_GRAIN = 1e-3  # zones in multiples of this share of the width
_PATIENCE = 2  # sweeps after which the grain is doubled, so that every search ends
_HURRY = 0.7  # share of the work allowed after which costs jump to what bounds them anyway
_TURNS = 100  # the same where one matrix is worked out again and again
_TIMES = 24  # how often as many numbers may be worked out as may be kept
_FAINT = 14.0  # windows whose h is smaller than e^-14 of another's stand in one cell


class TooManyCells(NotApplicableError):
    """Cells of this width take more than the work allowed."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Nodes and their states on one side of a chain.

    Parameters
    ----------
    side : Flank
    letters : (nodes,) array
        The known record of each node.
    first : (nodes + 1,) array
        The first state of each node; the others follow, one for each unknown record.
    alive : (states, S) array of bool
        Where h > 0.
    following : (states, s) array
        Node to which a known record leads; -1 where it is impossible.
    origins : (s,) array
        Node to which a known record leads from far; -1 where it is impossible.
    zones : (states, S, S) array
        U in each state.
    room : (S, S) array
        U far from everything known.
    """

    side: Flank
    letters: np.ndarray
    first: np.ndarray
    alive: np.ndarray
    following: np.ndarray
    origins: np.ndarray
    zones: np.ndarray
    room: np.ndarray

    @property
    def graph(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What a sweep goes along."""
        return self.first, self.letters, self.alive, self.following, self.side.rows


@njit(cache=True)
def _run(
    weights: np.ndarray, alive: np.ndarray, letter: int, rows: np.ndarray, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """ln h and where h > 0 before a known letter and 0, 1, .. unknown records, until far."""
    size = len(used)
    run, seen = np.zeros((_LONGEST, size)), np.zeros((_LONGEST, size), np.bool_)
    here = step_weights(weights, alive, rows, letter)
    for a in range(_LONGEST):
        run[a], seen[a] = here[0][0], here[1][0]
        low, full = 0.0, True
        for u in range(size):
            low = min(low, run[a, u])
            full = full and seen[a, u] == used[u]
        if full and low >= -_FAR / 2.0:
            return run[: a + 1], seen[: a + 1]
        here = step_weights(here[0], here[1], rows, UNKNOWN)
    return run, seen


def lay_cells(side: Flank, width: float, most: int) -> Mesh:
    """Nodes by breadth-first search, and their zones; ``most`` numbers may be kept.

    O(states S^2) a sweep.
    """
    size, s = side.table.shape
    ids: dict[bytes, int] = {}
    letters: list[int] = []
    members: list[tuple[np.ndarray, np.ndarray]] = []  # ln h and where h > 0 by window

    def nodes(letter: int, weights: np.ndarray, alive: np.ndarray) -> list[int]:
        """Nodes of a batch, restricted to windows that end in the letter; -1 if impossible."""
        alive, weights = alive[:, letter::s], weights[:, letter::s]
        level = np.take_along_axis(weights, alive.argmax(axis=1)[:, None], axis=1)
        weights = np.where(alive, weights - level, 0.0)
        weights = np.clip(weights, -_FAINT, _FAINT)
        codes = np.floor(weights / width + 0.5)
        keys = np.column_stack([np.full(len(alive), letter), alive, codes])
        found = []
        for n, key in enumerate(map(bytes, keys)):
            if key not in ids and alive[n].any():
                ids[key] = len(letters)
                letters.append(letter)
                members.append(
                    (np.repeat(weights[n : n + 1], s, 1), np.repeat(alive[n : n + 1], s, 1))
                )
            found.append(ids.get(key, -1))
        return found

    origins = [nodes(letter, np.zeros((1, size)), side.used[None])[0] for letter in range(s)]
    following: list[np.ndarray] = []
    seen: list[np.ndarray] = []
    kept = 0
    while len(seen) < len(letters):
        n = len(seen)
        weights, alive = _run(*members[n], letters[n], side.rows, side.used)
        if (alive[-1] != side.used).any():
            raise NotApplicableError(
                "by zeros of the kernel, some records tell for ever what a window cannot be; use "
                "contraction"
            )
        following.append(np.array([nodes(letter, weights, alive) for letter in range(s)]).T)
        seen.append(alive)
        kept += len(alive)
        if max(kept, len(letters)) * size * size > most:
            raise TooManyCells(f"more than {len(seen)} cells")
    cells = Mesh(
        side,
        np.array(letters),
        np.cumsum([0, *(len(alive) for alive in seen)]),
        np.concatenate(seen),
        np.concatenate(following),
        np.array(origins),
        np.zeros((kept, size, size)),
        _FAR * (1.0 - np.eye(size)),
    )
    return _with_zones(cells, width * _ZONE_GRAIN, _TIMES * most // size**2)


@njit(cache=True)
def _rounded_up(value: float, grain: float, limit: float) -> float:
    """The next multiple of the grain, not beyond the limit, which the value itself may exceed."""
    return max(value, min(math.ceil(value / grain) * grain, limit))


@njit(cache=True)
def _take_in(
    values: np.ndarray,
    alive: np.ndarray,
    following: np.ndarray,
    limit: np.ndarray,
    grain: float,
    floors: np.ndarray,
    dirty: np.ndarray,
) -> int:
    """Take the images of a state under known records into their nodes, rounded up; how many rose.

    values(u, v) of the windows that end in d go to the node of d, by what is in front of d.
    """
    s, tails = len(following), floors.shape[1]
    rose = 0
    for d in range(s):
        to = following[d]
        if to < 0:
            continue
        for i in range(tails):
            for j in range(tails):
                u, v = i * s + d, j * s + d
                if i == j or not (alive[u] and alive[v]):
                    continue
                if not values[u, v] <= floors[to, i, j]:  # not a number must not pass as small
                    floors[to, i, j] = _rounded_up(values[u, v], grain, limit[u, v])
                    dirty[to] = True
                    rose += 1
    return rose


@njit(cache=True)
def _sweep_zones(
    first: np.ndarray,
    letters: np.ndarray,
    alive: np.ndarray,
    following: np.ndarray,
    rows: np.ndarray,
    limit: np.ndarray,
    grain: float,
    floors: np.ndarray,
    dirty: np.ndarray,
    whole: bool,
    zones: np.ndarray,
    room: np.ndarray,
    spent: np.ndarray,
) -> int:
    """One sweep over the nodes that rose, or all; how many entries rose."""
    size, tails = len(rows), floors.shape[1]
    rose = 0
    out = np.empty((size, size))
    for n in range(len(letters)):
        if not (whole or dirty[n]):
            continue
        dirty[n] = False
        c = letters[n]
        for state in range(first[n], first[n + 1]):
            zone, seen = zones[state], alive[state]
            for u in range(size):
                for v in range(size):
                    if u == v or not (seen[u] and seen[v]):
                        zone[u, v] = 0.0
                        continue
                    if state == first[n]:
                        value = math.log(rows[u, :, c].max()) - math.log(rows[v, :, c].min())
                        value += floors[n, u % tails, v % tails]
                    else:
                        value = out[u, v]
                    zone[u, v] = min(value, limit[u, v])
                    if not zone[u, v] <= STEEP:
                        zone[u, v] = ENDLESS
            spent[0] += 1
            rose += _take_in(zone, seen, following[state], limit, grain, floors, dirty)
            if state + 1 < first[n + 1]:
                step_zone(zone, seen, rows, out)
            else:
                rose += _raise(zone, limit, grain, room)
    return rose


def _with_zones(cells: Mesh, grain: float, most: int) -> Mesh:
    """Fill in a family of zones that no letter leads out of, in at most so many steps."""
    side, count, room = cells.side, len(cells.letters), cells.room
    tails = len(side.used) // side.states
    floors = np.full((count, tails, tails), -np.inf)
    floors[:, np.arange(tails), np.arange(tails)] = 0.0
    dirty, spent = np.zeros(count, np.bool_), np.zeros(1, np.int64)
    for sweep in itertools.count(1):
        rose = _close_room(side.rows, side.used, side.limit, grain, room)
        rose += _take_in(room, side.used, cells.origins, side.limit, grain, floors, dirty)
        whole = not dirty.any()
        rose += _sweep_zones(
            *cells.graph, side.limit, grain, floors, dirty, whole, cells.zones, room, spent
        )
        if whole and rose == 0:
            return cells
        if spent[0] > most:
            break
        grain *= 2.0 if sweep % _PATIENCE == 0 else 1.0
    raise TooManyCells("what is known of records did not settle within the work allowed")


@njit(cache=True)
def _close_room(
    rows: np.ndarray, used: np.ndarray, limit: np.ndarray, grain: float, room: np.ndarray
) -> int:
    """Raise U until an unknown record does not raise it any more; how many entries rose."""
    size = len(rows)
    out = np.empty((size, size))
    total, turn = 0, 0
    while True:
        turn += 1
        grain *= 2.0 if turn % _TURNS == 0 else 1.0
        step_zone(room, used, rows, out)
        for u in range(size):
            for v in range(size):
                out[u, v] = min(out[u, v], limit[u, v]) if used[u] and used[v] else 0.0
                if not out[u, v] <= STEEP:
                    out[u, v] = ENDLESS
        rose = _raise(out, limit, grain, room)
        total += rose
        if rose == 0:
            return total


@njit(cache=True)
def _sweep_costs(
    first: np.ndarray,
    letters: np.ndarray,
    alive: np.ndarray,
    following: np.ndarray,
    rows: np.ndarray,
    zones: np.ndarray,
    steps: np.ndarray,
    limit: np.ndarray,
    grain: float,
    floors: np.ndarray,
    dirty: np.ndarray,
    whole: bool,
    costs: np.ndarray,
    far: np.ndarray,
    spent: np.ndarray,
) -> int:
    """One sweep over the nodes that rose, or all; how many entries rose."""
    size, tails = len(rows), floors.shape[1]
    rose = 0
    out = np.empty((size, size))
    for n in range(len(letters)):
        if not (whole or dirty[n]):
            continue
        dirty[n] = False
        for state in range(first[n], first[n + 1]):
            cost, seen = costs[state], alive[state]
            for u in range(size):
                for v in range(size):
                    value = floors[n, u % tails, v % tails] if state == first[n] else out[u, v]
                    both = u != v and seen[u] and seen[v]
                    cost[u, v] = min(value, limit[u, v]) if both else 0.0
            spent[0] += 1
            rose += _take_in(cost, seen, following[state], limit, grain, floors, dirty)
            if state + 1 < first[n + 1]:
                step_costs(cost, zones[state], seen, rows, steps, out)
            else:
                rose += _raise(cost, limit, grain, far)
    return rose


@njit(cache=True)
def _raise(values: np.ndarray, limit: np.ndarray, grain: float, floor: np.ndarray) -> int:
    """Raise what is exceeded, in multiples of the grain; how many entries rose."""
    rose = 0
    for u in range(len(floor)):
        for v in range(len(floor)):
            if not values[u, v] <= floor[u, v]:
                floor[u, v] = _rounded_up(values[u, v], grain, limit[u, v])
                rose += 1
    return rose


@njit(cache=True)
def settle_far(
    rows: np.ndarray,
    used: np.ndarray,
    room: np.ndarray,
    steps: np.ndarray,
    limit: np.ndarray,
    grain: float,
    far: np.ndarray,
    spent: np.ndarray,
    allowed: int,
) -> int:
    """Raise T, in multiples of the grain, until an unknown record does not raise it any more.

    With h in the zone ``room``, what is found bounds any number of unknown records. Returned is how
    many entries rose; -1 once more is spent than allowed, or T is out of range.
    """
    size = len(rows)
    out = np.empty((size, size))
    total, turn = 0, 0
    while spent[0] <= allowed and far.max() + steps.max() <= LARGEST:
        spent[0] += 1
        turn += 1
        grain *= 2.0 if turn % _TURNS == 0 else 1.0
        step_costs(far, room, used, rows, steps, out)
        for u in range(size):
            for v in range(size):
                out[u, v] = min(out[u, v], limit[u, v])
        rose = _raise(out, limit, grain, far)
        total += rose
        if rose == 0:
            return total
    return -1


def settle_costs(
    cells: Mesh, steps: np.ndarray, limit: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """T in every state, shape (states, S, S), and far, shape (S, S).

    Found from below, so that nothing is needed to begin with. O(states S^2) a sweep.

    Parameters
    ----------
    cells : Mesh
    steps : (s, s) array
    limit : (S, S) array
        What bounds T whatever is known.
    most : int
        Numbers that may be kept for a side; some times as many may be worked out.
    """
    side, count = cells.side, len(cells.letters)
    size, s = side.table.shape
    tails, allowed = size // s, _TIMES * most // size**2
    grain = _GRAIN * float(steps.max())
    floors, far = np.zeros((count, tails, tails)), np.zeros((size, size))
    costs, spent = np.zeros(cells.zones.shape), np.zeros(1, np.int64)
    dirty = np.ones(count, np.bool_)
    for sweep in itertools.count(1):
        whole = not dirty.any()
        given = side.rows, side.used, cells.room, steps, limit, grain
        rose = settle_far(*given, far, spent, allowed)
        if rose < 0 or not floors.max() + steps.max() <= LARGEST:
            break
        rose += _take_in(far, side.used, cells.origins, limit, grain, floors, dirty)
        rose += _sweep_costs(
            *cells.graph, cells.zones, steps, limit, grain, floors, dirty, whole, costs, far, spent
        )
        if whole and rose == 0:  # the certificate: one full sweep that changes nothing
            return costs, far
        if spent[0] > _HURRY * allowed:
            grain *= 8.0
        elif sweep % _PATIENCE == 0:
            grain *= 2.0
    raise NotApplicableError(
        "what records cost did not settle within the work allowed; use contraction"
    )


def states_of(
    cells: Mesh, costs: np.ndarray, far: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T, U and where h > 0 in all states and far, windows numbered as the chain is written."""
    side, room = cells.side, cells.room
    return (
        side.natural(np.concatenate([costs, far[None]])),
        side.natural(np.concatenate([cells.zones, room[None]])),
        side.natural(np.concatenate([cells.alive, side.used[None]])),
    )
