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

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.frontier import Flank
from corrdp.bounds.chains.zones import (
    ENDLESS,
    STEEP,
    UNKNOWN,
    step_weights,
    step_zone,
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
    places : (states,) array
        The place of each state's window.
    alive : (states, S) array of bool
        Where h > 0.
    following : (states, s) array
        Node to which a known record leads; -1 where it is impossible.
    origins : (places, s) array
        Node to which a known record leads from far; -1 where it is impossible.
    zones : (states, S, S) array
        U in each state.
    room : (places, S, S) array
        U far from everything known.
    """

    side: Flank
    letters: np.ndarray
    first: np.ndarray
    places: np.ndarray
    alive: np.ndarray
    following: np.ndarray
    origins: np.ndarray
    zones: np.ndarray
    room: np.ndarray

    @property
    def graph(
        self,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What a sweep goes along."""
        return (self.first, self.letters, self.places, self.alive, self.following, self.side.rows)


@njit(cache=True)
def _run(
    weights: np.ndarray,
    alive: np.ndarray,
    letter: int,
    place: int,
    rows: np.ndarray,
    used: np.ndarray,
    middle: np.ndarray,
    still: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """ln h and where h > 0 before a known letter and 0, 1, .. unknown records, until far."""
    size = len(used)
    run, seen = np.zeros((_LONGEST, size)), np.zeros((_LONGEST, size), np.bool_)
    here = step_weights(weights, alive, rows[place], letter)
    for a in range(_LONGEST):
        run[a], seen[a] = here[0][0], here[1][0]
        low, high, full, at = math.inf, -math.inf, True, (place + a) % len(rows)
        for u in range(size):
            if used[u]:
                apart = run[a, u] - still[at, u]
                low, high = min(low, apart), max(high, apart)
            full = full and seen[a, u] == used[u]
        if full and high - low <= _FAR / 2.0:
            return run[: a + 1], seen[: a + 1]
        at = (at + 1) % len(rows)
        here = step_weights(here[0] + middle[at], here[1], rows[at], UNKNOWN)
    return run, seen


def _middle(side: Flank) -> tuple[np.ndarray, np.ndarray]:
    """What multiplies h at each place, in the middle of what it may, and ln h far from all known.

    (places, S) each.
    """
    middle = (side.change[:, :, 0] - side.change[:, 0]) / 2.0
    still = np.zeros_like(middle)
    for _ in range(TURNS if middle.any() else 0):
        before = still.copy()
        for at in range(len(still)):
            weights = (still[at - 1] + middle[at])[None]
            still[at] = step_weights(weights, side.used[None], side.rows[at], UNKNOWN)[0][0]
        if np.abs(still - before).max() < _FAR / 100.0:
            break
    return middle, still


def lay_cells(side: Flank, width: float, most: int) -> Mesh:
    """Nodes by breadth-first search, and their zones; ``most`` numbers may be kept.

    O(states S^2) a sweep.
    """
    period, size, _, s = side.rows.shape
    ids: dict[bytes, int] = {}
    letters: list[int] = []
    places: list[int] = []
    members: list[tuple[np.ndarray, np.ndarray]] = []  # ln h and where h > 0 by window

    def nodes(letter: int, at: np.ndarray, weights: np.ndarray, alive: np.ndarray) -> list[int]:
        """Nodes of a batch, restricted to windows that end in the letter; -1 if impossible."""
        alive, weights = alive[:, letter::s], weights[:, letter::s]
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
                members.append(
                    (np.repeat(weights[n : n + 1], s, 1), np.repeat(alive[n : n + 1], s, 1))
                )
            found.append(ids.get(key, -1))
        return found

    middle, still = _middle(side)
    nearer = (np.arange(period) + 1) % period
    beyond, every = still + middle[nearer], np.repeat(side.used[None], period, axis=0)
    origins = np.array([nodes(letter, nearer, beyond, every) for letter in range(s)]).T
    following: list[np.ndarray] = []
    seen: list[np.ndarray] = []
    kept = 0
    while len(seen) < len(letters):
        n = len(seen)
        given = side.rows, side.used, middle, still
        weights, alive = _run(*members[n], letters[n], places[n], *given)
        if (alive[-1] != side.used).any():
            raise NotApplicableError(
                "by zeros of the kernel, some records tell for ever what a window cannot be; use "
                "contraction"
            )
        at = (places[n] + np.arange(len(alive)) + 1) % period
        weights = weights + middle[at]
        following.append(np.array([nodes(letter, at, weights, alive) for letter in range(s)]).T)
        seen.append(alive)
        kept += len(alive)
        if max(kept, len(letters)) * size * size > most:
            raise TooManyCells(f"more than {len(seen)} cells")
    # place by place, as what is found goes inwards; the last entry is for the impossible
    order = np.argsort(places, kind="stable")
    rank = np.append(np.argsort(order), -1)
    cells = Mesh(
        side,
        np.array(letters)[order],
        np.cumsum([0, *(len(seen[n]) for n in order)]),
        np.concatenate([(places[n] + np.arange(len(seen[n]))) % period for n in order]),
        np.concatenate([seen[n] for n in order]),
        rank[np.concatenate([following[n] for n in order])],
        rank[origins],
        np.zeros((kept, size, size)),
        still[:, :, None] - still[:, None] + _FAR * (1.0 - np.eye(size)),
    )
    return _with_zones(cells, width * _ZONE_GRAIN, TIMES * most // size**2)


@njit(cache=True)
def _rounded_up(value: float, grain: float, limit: float) -> float:
    """The next multiple of the grain, not beyond the limit, which the value itself may exceed."""
    return max(value, min(math.ceil(value / grain) * grain, limit))


@njit(cache=True)
def take_in(
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
def raise_floor(values: np.ndarray, limit: np.ndarray, grain: float, floor: np.ndarray) -> int:
    """Raise what is exceeded, in multiples of the grain; how many entries rose."""
    rose = 0
    for u in range(len(floor)):
        for v in range(len(floor)):
            if not values[u, v] <= floor[u, v]:
                floor[u, v] = _rounded_up(values[u, v], grain, limit[u, v])
                rose += 1
    return rose


@njit(cache=True)
def _sweep_zones(
    first: np.ndarray,
    letters: np.ndarray,
    places: np.ndarray,
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
    change: np.ndarray,
) -> int:
    """One sweep over the nodes that rose, or all; how many entries rose."""
    size, tails = rows.shape[1], floors.shape[1]
    rose = 0
    out = np.empty((size, size))
    for n in range(len(letters)):
        if not (whole or dirty[n]):
            continue
        dirty[n] = False
        c = letters[n]
        for state in range(first[n], first[n + 1]):
            zone, seen, at = zones[state], alive[state], places[state]
            own = rows[at]
            for u in range(size):
                for v in range(size):
                    if u == v or not (seen[u] and seen[v]):
                        zone[u, v] = 0.0
                        continue
                    if state == first[n]:
                        value = math.log(own[u, :, c].max()) - math.log(own[v, :, c].min())
                        value += floors[n, u % tails, v % tails]
                    else:
                        value = out[u, v]
                    zone[u, v] = min(value, limit[at, u, v])
                    if not zone[u, v] <= STEEP:
                        zone[u, v] = ENDLESS
            spent[0] += 1
            after = (at + 1) % len(rows)
            moved = zone + change[after]
            rose += take_in(moved, seen, following[state], limit[at], grain, floors, dirty)
            if state + 1 < first[n + 1]:
                step_zone(moved, seen, rows[after], out)
            else:
                rose += raise_floor(zone, limit[at], grain, room[at])
    return rose


def _with_zones(cells: Mesh, grain: float, most: int) -> Mesh:
    """Fill in a family of zones that no letter leads out of, in at most so many steps."""
    side, count, room = cells.side, len(cells.letters), cells.room
    tails = len(side.used) // side.states
    floors = np.full((count, tails, tails), -np.inf)
    floors[:, np.arange(tails), np.arange(tails)] = 0.0
    dirty, spent = np.zeros(count, np.bool_), np.zeros(1, np.int64)
    for sweep in itertools.count(1):
        rose = _close_room(side.rows, side.used, side.change, side.limit, grain, room)
        for at, origins in enumerate(cells.origins):
            moved = room[at] + side.change[(at + 1) % len(room)]
            rose += take_in(moved, side.used, origins, side.limit[at], grain, floors, dirty)
        whole = not dirty.any()
        rose += _sweep_zones(
            *cells.graph,
            side.limit,
            grain,
            floors,
            dirty,
            whole,
            cells.zones,
            room,
            spent,
            side.change,
        )
        if whole and rose == 0:
            return cells
        if spent[0] > most:
            break
        grain *= 2.0 if sweep % PATIENCE == 0 else 1.0
    raise TooManyCells("what is known of records did not settle within the work allowed")


@njit(cache=True)
def _close_room(
    rows: np.ndarray,
    used: np.ndarray,
    change: np.ndarray,
    limit: np.ndarray,
    grain: float,
    room: np.ndarray,
) -> int:
    """Raise U until an unknown record does not raise it any more; how many entries rose."""
    period, size = rows.shape[:2]
    out = np.empty((size, size))
    total, turn = 0, 0
    while True:
        turn += 1
        grain *= 2.0 if turn % TURNS == 0 else 1.0
        rose = 0
        for at in range(period):
            step_zone(room[at - 1] + change[at], used, rows[at], out)
            for u in range(size):
                for v in range(size):
                    out[u, v] = min(out[u, v], limit[at, u, v]) if used[u] and used[v] else 0.0
                    if not out[u, v] <= STEEP:
                        out[u, v] = ENDLESS
            rose += raise_floor(out, limit[at], grain, room[at])
        total += rose
        if rose == 0:
            return total


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
