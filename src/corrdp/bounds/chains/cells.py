"""Every word at once, of every length, on a chain of order k (order-k#certificate).

A known record forgets all but the windows that end in it, s^(k-1) of them, and a run of unknown
records forgets what lies beyond. So words are walks on a small graph:

    far --known c--> node --a unknown--> state (node, a) --known d--> node --..
                                              |
                                              +-- ``reach`` unknown --> far

A *node* stands for all words whose nearest letter is a known c and whose h on the windows that
end in c is close to that of its first member. It has a zone for h and a cost for T that hold for
all of them, found by sweeping along the graph: every image is taken into the node it falls to,
by elementwise maxima, until **one full sweep changes nothing**. As the steps are monotone, that
proves that every word is dominated by a state, by induction over its letters. Zones are found once
for a kernel (no epsilon in them), costs once for each epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.words import (
    Side,
    at_end,
    average_weights,
    forms,
)
from corrdp.errors import NotApplicableError
from corrdp.models.chains.chain import column_ratio

_FAR = 1e-4  # ln h varies by at most this after ``reach`` unknown records
_LONGEST = 4096  # unknown records after which a chain should have forgotten
_GRAIN = 1e-5  # costs are raised in multiples of this share of epsilon
_ZONE_GRAIN = 1e-3  # zones in multiples of this share of the width
_SWEEPS = 2000
_ZONE_SWEEPS = 100  # zones that grow for longer have no end: evidence that never fades
_STEEP = 500.0  # logarithms beyond this are near the end of the floating-point range
# What rounding may take from one step, of a zone and relative to a cost and to epsilon: far less
# than a grain, far more than a few operations lose.
_LOST = 1e-12


class TooManyCells(NotApplicableError):
    """The graph of this width is larger than the budget."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Nodes and their zones on one side of a chain.

    Parameters
    ----------
    side : Side
    letters : (nodes,) array
        The known record of each node.
    alive : (nodes, reach, S) array of bool
        Where h > 0 in each state.
    zones : (nodes, reach, S, S) array
        U in each state.
    following : (nodes, reach, s) array
        Node to which a known record leads from each state; -1 where it is impossible.
    origins : (s,) array
        Node to which a known record leads from far; -1 where it is impossible.
    """

    side: Side
    letters: np.ndarray
    alive: np.ndarray
    zones: np.ndarray
    following: np.ndarray
    origins: np.ndarray

    @property
    def reach(self) -> int:
        """Unknown records after which all is far."""
        return self.alive.shape[1]


def reach_of(side: Side) -> int:
    """Unknown records after which ln h varies by at most 1e-4, whatever is known beyond."""
    size, used = len(side.table), side.used
    kernel = np.zeros((size, size))
    kernel[np.arange(size)[:, None], side.following] = side.table
    kernel = kernel[np.ix_(used, used)]
    power, length = kernel, 1
    while length <= _LONGEST:
        if math.log(column_ratio(power)) <= 0.9 * _FAR:
            return length
        power, length = power @ kernel, length + 1
    raise NotApplicableError(
        "the chain forgets too slowly for its windows to be followed; use contraction"
    )


def lay_cells(side: Side, width: float, most: int) -> Cells:
    """Nodes by breadth-first search, and their zones; ``most`` numbers may be kept.

    O(nodes reach S^2) a sweep.
    """
    size, s = side.table.shape
    tails, reach = size // s, reach_of(side)
    tail = np.arange(size) % tails
    ids: dict[bytes, int] = {}
    letters: list[int] = []
    members: list[tuple[np.ndarray, np.ndarray]] = []  # ln h by tail, and where h > 0

    def nodes(letter: int, weights: np.ndarray, alive: np.ndarray) -> list[int]:
        """Nodes of a batch, restricted to windows that end in the letter; -1 if impossible."""
        alive, weights = alive[:, letter::s], weights[:, letter::s]
        level = np.take_along_axis(weights, alive.argmax(axis=1)[:, None], axis=1)
        weights = np.where(alive, weights - level, 0.0)
        codes = np.floor(weights / width + 0.5)
        keys = np.column_stack([np.full(len(alive), letter), alive, codes])
        found = []
        for n, key in enumerate(map(bytes, keys)):
            if key not in ids and alive[n].any():
                if (len(letters) + 1) * reach * size * size > most:
                    raise TooManyCells(f"more than {len(letters)} cells; use contraction")
                ids[key] = len(letters)
                letters.append(letter)
                members.append((weights[n], alive[n]))
            found.append(ids.get(key, -1))
        return found

    far = at_end(side)
    origins = [nodes(letter, far.weights, far.alive)[0] for letter in range(s)]
    following: list[np.ndarray] = []
    seen: list[np.ndarray] = []
    done = 0
    while done < len(letters):
        ends = np.array(letters[done:])
        weights, alive = (np.stack(part)[:, tail] for part in zip(*members[done:], strict=True))
        alive = alive & (side.table[:, ends].T > 0)
        weights = np.where(alive, side.logs[:, ends].T + weights, 0.0)
        done = len(letters)
        to, states = np.empty((len(ends), reach, s), np.int64), []
        for a in range(reach):
            for letter in range(s):
                to[:, a, letter] = nodes(letter, weights, alive)
            states.append(alive)
            weights, alive = average_weights(side, weights, alive)
        following.append(to)
        seen.append(np.stack(states, axis=1))
    cells = Cells(
        side,
        np.array(letters),
        np.concatenate(seen),
        np.zeros((len(letters), reach, size, size)),
        np.concatenate(following),
        np.array(origins),
    )
    _settle_zones(cells, width * _ZONE_GRAIN, tails)
    return cells


@njit(cache=True)
def _raise(
    nodes: np.ndarray,
    values: np.ndarray,
    alive: np.ndarray,
    following: np.ndarray,
    floors: np.ndarray,
    grain: float,
    dirty: np.ndarray,
) -> int:
    """Take the images of states under known records into their nodes, rounded up; how many rose.

    values[n](u, v) of the windows that end in d go to floors[following[n, d]](tails of u, v); the
    tails are what is in front of d.
    """
    s = following.shape[1]
    tails = floors.shape[1]
    rose = 0
    for n in range(len(nodes)):
        for d in range(s):
            to = following[nodes[n], d]
            if to < 0:
                continue
            for i in range(tails):
                for j in range(tails):
                    u, v = i * s + d, j * s + d
                    if i == j or not (alive[nodes[n], u] and alive[nodes[n], v]):
                        continue
                    value = values[n, u, v]
                    if not value <= floors[to, i, j]:  # not a number must not pass as small
                        floors[to, i, j] = math.ceil(value / grain) * grain
                        dirty[to] = True
                        rose += 1
    return rose


def _settle_zones(cells: Cells, grain: float, tails: int) -> None:
    """Fill ``cells.zones`` with a family of zones that no known record leads out of."""
    side, count = cells.side, len(cells.letters)
    floors = np.full((count, tails, tails), -np.inf)
    floors[:, np.arange(tails), np.arange(tails)] = 0.0
    dirty = np.zeros(count, np.bool_)
    for origin in cells.origins[cells.origins >= 0]:
        floors[origin] = _FAR * (1.0 - np.eye(tails))
        dirty[origin] = True
    for _ in range(_ZONE_SWEEPS):
        whole = not dirty.any()
        nodes = np.arange(count) if whole else np.flatnonzero(dirty)
        dirty[:] = False
        rose = 0
        zones = _begin_zones(cells, nodes, floors)
        for a in range(cells.reach):
            if not np.abs(zones).max() <= _STEEP:
                raise NotApplicableError("this chain is too near to certainty to be followed")
            cells.zones[nodes, a] = zones
            rose += _raise(
                nodes, zones, cells.alive[:, a], cells.following[:, a], floors, grain, dirty
            )
            out = np.empty_like(zones)
            seen = np.ascontiguousarray(cells.alive[nodes, a])
            forms(side.states).zones(zones, seen, side.table, out)
            zones = out + _LOST * (1.0 - np.eye(out.shape[1]))
        if whole and rose == 0:
            return
    raise NotApplicableError(
        "some records, once known, say the same of records however far apart (by zeros of the "
        "kernel), and no finite set of cells covers that; use contraction"
    )


def _begin_zones(cells: Cells, nodes: np.ndarray, floors: np.ndarray) -> np.ndarray:
    """U right before the known record c of each node: ln P(u, c)/P(v, c) and that of tails."""
    side = cells.side
    size, s = side.table.shape
    tail = np.arange(size) % (size // s)
    seen = cells.alive[nodes, 0]
    logs = np.where(seen, side.logs[:, cells.letters[nodes]].T, 0.0)
    zones = logs[:, :, None] - logs[:, None, :] + floors[nodes][:, tail][:, :, tail]
    return np.where(seen[:, :, None] & seen[:, None, :], zones, 0.0)


def settle_far(
    side: Side, steps: np.ndarray, room: float, grain: float, costs: np.ndarray | None = None
) -> np.ndarray:
    """The least T in multiples of ``grain``, from ``costs`` on, that an unknown record does not
    raise while ln h varies by at most ``room``: it bounds unknown records of every number."""
    size = len(side.table)
    far = np.zeros((1, size, size)) if costs is None else costs[None].copy()
    out = np.empty((1, size, size))
    zones, alive = np.where(np.eye(size), 0.0, room)[None], side.used[None].copy()
    for _ in range(100 * _SWEEPS):
        forms(side.states).costs(far, zones, alive, side.table, steps, out)
        raised = _with_slack(out, steps)
        higher = ~(raised <= far)
        if not higher.any():
            return np.asarray(far[0])
        far = np.where(higher, np.ceil(raised / grain) * grain, far)
    raise NotApplicableError("the costs of this chain do not settle; use contraction")


def _with_slack(costs: np.ndarray, steps: np.ndarray) -> np.ndarray:
    return costs * (1.0 + _LOST) + _LOST * float(steps.max()) * (costs > 0.0)


def settle_costs(cells: Cells, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """T in every state, shape (nodes, reach, S, S), and far, shape (S, S).

    Found from below, so that no bound is needed to begin with. O(nodes reach S^2) a sweep.
    """
    side, count = cells.side, len(cells.letters)
    size, s = side.table.shape
    tails, grain = size // s, _GRAIN * float(steps.max())
    tail = np.arange(size) % tails
    floors = np.zeros((count, tails, tails))
    far = settle_far(side, steps, _FAR, grain)
    found = np.zeros(cells.zones.shape)
    dirty = np.ones(count, np.bool_)
    root = np.zeros(1, np.int64)
    for _ in range(_SWEEPS):
        whole = not dirty.any()
        rose = _raise(root, far[None], side.used[None], cells.origins[None], floors, grain, dirty)
        nodes = np.arange(count) if whole else np.flatnonzero(dirty)
        dirty[:] = False
        seen = cells.alive[nodes, 0]
        costs = floors[nodes][:, tail][:, :, tail] * (seen[:, :, None] & seen[:, None, :])
        for a in range(cells.reach):
            found[nodes, a] = costs
            rose += _raise(
                nodes, costs, cells.alive[:, a], cells.following[:, a], floors, grain, dirty
            )
            out = np.empty_like(costs)
            forms(s).costs(
                costs,
                np.ascontiguousarray(cells.zones[nodes, a]),
                np.ascontiguousarray(cells.alive[nodes, a]),
                side.table,
                steps,
                out,
            )
            costs = _with_slack(out, steps)
        highest = costs.max(axis=0)
        higher = ~(highest <= far)
        if higher.any():
            rose += 1
            far = np.where(higher, np.ceil(highest / grain) * grain, far)
            far = settle_far(side, steps, _FAR, grain, far)
        if whole and rose == 0:  # the certificate: one full sweep that changes nothing
            return found, far
    raise NotApplicableError("the costs of this chain do not settle; use contraction")


def states_of(
    cells: Cells, costs: np.ndarray, far: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T, U and where h > 0 in all states and far, windows numbered as the chain is written."""
    side = cells.side
    size = len(side.table)
    room = np.where(np.eye(size), 0.0, _FAR)
    parts = (
        np.concatenate([costs.reshape(-1, size, size), far[None]]),
        np.concatenate([cells.zones.reshape(-1, size, size), room[None]]),
        np.concatenate([cells.alive.reshape(-1, size), side.used[None]]),
    )
    return side.natural(parts[0]), side.natural(parts[1]), side.natural(parts[2])
