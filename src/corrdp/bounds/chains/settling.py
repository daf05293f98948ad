"""What every adversary costs, for one epsilon: T in all states of the cells (order-k#certificate).

Found from below: sweep along the graph of :mod:`corrdp.bounds.chains.cells`, raise what an image
exceeds, rounded up, until one full sweep changes nothing.
"""

from __future__ import annotations

import itertools

import numpy as np

from corrdp.bounds.chains.cells import PATIENCE, TIMES, CellGraph, Mesh, states_of, sweep
from corrdp.bounds.chains.frontier import Beyond, Flank
from corrdp.bounds.chains.zones import LARGEST, room_for
from corrdp.errors import NotApplicableError

_GRAIN = 3e-5  # costs are raised in multiples of this share of epsilon
_HURRY = 0.7  # share of the work allowed after which costs jump to what bounds them anyway


def settle_far(side: Flank, steps: np.ndarray, grain: float, far: np.ndarray, allowed: int) -> bool:
    """Raise T, in multiples of the grain, until an unknown record does not raise it any more.

    With one h alone far from all that is known, what is found bounds any number of unknown records.
    False once more than ``allowed`` are tried, or T is out of range.
    """
    size, s = len(side.used), side.states
    none, room = np.zeros(0, np.int64), np.zeros_like(far)
    beyond, states = np.zeros((0, s + 1), np.int64), np.zeros((0, size, size))
    graph = CellGraph(
        np.zeros(1, np.int64), none, none, np.zeros((0, size), np.bool_), beyond, beyond, states,
        np.zeros((0, 0), np.int64), none, *side.road,
    )  # fmt: skip
    limit, floors, dirty = np.full(far.shape, np.inf), states, np.zeros(0, np.bool_)
    _, rose = sweep(
        graph, limit, states, room, steps, False,
        grain, floors, dirty, states, far, np.zeros(1, np.int64), allowed, room_for(s),
    )  # fmt: skip
    return rose >= 0


def settle_costs(
    cells: Mesh, steps: np.ndarray, limit: np.ndarray, most: int, share: float = _GRAIN
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
    share : float
        T is raised in multiples of this share of epsilon.
    """
    side, count = cells.side, len(cells.letters)
    period, size, _, s = side.rows.shape
    allowed = TIMES * most // size**2
    grain = share * float(steps.max())
    floors, far = np.zeros((count, size, size)), np.zeros((period, size, size))
    costs, spent = np.zeros(cells.zones.shape), np.zeros(1, np.int64)
    dirty, three = np.ones(count, np.bool_), room_for(s)
    for turn in itertools.count(1):
        if not floors.max() + steps.max() <= LARGEST:
            break
        whole, rose = sweep(
            cells.graph, limit, cells.zones, cells.room, steps, False,
            grain, floors, dirty, costs, far, spent, allowed, three,
        )  # fmt: skip
        if rose < 0:
            break
        if whole and rose == 0:  # the certificate: one full sweep that changes nothing
            return costs, far
        if spent[0] > _HURRY * allowed:
            grain *= 8.0
        elif turn % PATIENCE == 0:
            grain *= 2.0
    raise NotApplicableError(
        "what records cost did not settle within the work allowed; use contraction"
    )


def settle_places(
    cells: Mesh, steps: np.ndarray, most: np.ndarray, worked: int, share: float = _GRAIN
) -> list[Beyond]:
    """T, U and where h > 0 in all states of a side, place by place.

    Parameters
    ----------
    cells : Mesh
    steps : (s, s) array
    most : (places,) array
        What bounds T at each place, whatever is known.
    worked : int
        As if so many numbers were kept: what the sweeps may take.
    share : float
        T is raised in multiples of this share of epsilon.
    """
    period, size = cells.room.shape[:2]
    limit = np.repeat(most, size * size).reshape(period, size, size)
    costs, far = settle_costs(cells, steps, limit, worked, share)
    places = np.append(cells.places, np.arange(period))
    states = states_of(cells, costs, far)
    order = np.argsort(places, kind="stable")
    ends = np.searchsorted(places[order], np.arange(1, period))
    parts = [np.split(each[order], ends) for each in states]
    return list(zip(*parts, strict=True))
