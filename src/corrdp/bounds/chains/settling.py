"""What every adversary costs, for one epsilon: T in all states of the cells (order-k#certificate).

Found from below: sweep along the graph of :mod:`corrdp.bounds.chains.cells`, raise what an image
exceeds, rounded up, until one full sweep changes nothing.
"""

from __future__ import annotations

import itertools

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.cells import PATIENCE, TIMES, TURNS, Mesh, raise_floor, take_in
from corrdp.bounds.chains.zones import LARGEST, step_costs
from corrdp.errors import NotApplicableError

_GRAIN = 3e-5  # costs are raised in multiples of this share of epsilon
_HURRY = 0.7  # share of the work allowed after which costs jump to what bounds them anyway


@njit(cache=True)
def _sweep_costs(
    first: np.ndarray,
    letters: np.ndarray,
    places: np.ndarray,
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
        for state in range(first[n], first[n + 1]):
            cost, seen, at = costs[state], alive[state], places[state]
            for u in range(size):
                for v in range(size):
                    value = floors[n, u % tails, v % tails] if state == first[n] else out[u, v]
                    both = u != v and seen[u] and seen[v]
                    cost[u, v] = min(value, limit[at, u, v]) if both else 0.0
            spent[0] += 1
            rose += take_in(cost, seen, following[state], limit[at], grain, floors, dirty)
            if state + 1 < first[n + 1]:
                after = (at + 1) % len(rows)
                step_costs(cost, zones[state] + change[after], seen, rows[after], steps, out)
            else:
                rose += raise_floor(cost, limit[at], grain, far[at])
    return rose


@njit(cache=True)
def settle_far(
    rows: np.ndarray,
    used: np.ndarray,
    change: np.ndarray,
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
    period, size = rows.shape[:2]
    out = np.empty((size, size))
    total, turn = 0, 0
    while spent[0] <= allowed and far.max() + steps.max() <= LARGEST:
        spent[0] += period
        turn += 1
        grain *= 2.0 if turn % TURNS == 0 else 1.0
        rose = 0
        for at in range(period):
            step_costs(far[at - 1], room[at - 1] + change[at], used, rows[at], steps, out)
            for u in range(size):
                for v in range(size):
                    out[u, v] = min(out[u, v], limit[at, u, v])
            rose += raise_floor(out, limit[at], grain, far[at])
        total += rose
        if rose == 0:
            return total
    return -1


def settle_costs(
    cells: Mesh, steps: np.ndarray, limit: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """T in every state, shape (states, S, S), and far, shape (places, S, S).

    Found from below, so that nothing is needed to begin with. O(states S^2) a sweep.

    Parameters
    ----------
    cells : Mesh
    steps : (s, s) array
    limit : (places, S, S) array
        What bounds T whatever is known.
    most : int
        Numbers that may be kept for a side; some times as many may be worked out.
    """
    side, count = cells.side, len(cells.letters)
    period, size, _, s = side.rows.shape
    tails, allowed = size // s, TIMES * most // size**2
    grain = _GRAIN * float(steps.max())
    floors, far = np.zeros((count, tails, tails)), np.zeros((period, size, size))
    costs, spent = np.zeros(cells.zones.shape), np.zeros(1, np.int64)
    dirty = np.ones(count, np.bool_)
    for sweep in itertools.count(1):
        whole = not dirty.any()
        given = side.rows, side.used, side.change, cells.room, steps, limit, grain
        rose = settle_far(*given, far, spent, allowed)
        if rose < 0 or not floors.max() + steps.max() <= LARGEST:
            break
        for at, origins in enumerate(cells.origins):
            rose += take_in(far[at], side.used, origins, limit[at], grain, floors, dirty)
        rose += _sweep_costs(
            *cells.graph,
            cells.zones,
            steps,
            limit,
            grain,
            floors,
            dirty,
            whole,
            costs,
            far,
            spent,
            side.change,
        )
        if whole and rose == 0:  # the certificate: one full sweep that changes nothing
            return costs, far
        if spent[0] > _HURRY * allowed:
            grain *= 8.0
        elif sweep % PATIENCE == 0:
            grain *= 2.0
    raise NotApplicableError(
        "what records cost did not settle within the work allowed; use contraction"
    )
