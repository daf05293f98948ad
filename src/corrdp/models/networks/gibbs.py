"""Gibbs sampling of Markov fields: every node in turn, given its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from corrdp.errors import ModelError

if TYPE_CHECKING:
    from corrdp.models.networks.field import MarkovField


@njit(cache=True)
def _draw(weights: np.ndarray, uniform: float) -> int:
    """A state by its weight, or -1 when all weigh nothing."""
    total = 0.0
    for x in range(len(weights)):
        total += weights[x]
    if total <= 0.0:
        return -1
    left = uniform * total
    chosen = -1
    for x in range(len(weights)):
        if weights[x] > 0.0:
            chosen = x
            left -= weights[x]
            if left < 0.0:
                break
    return chosen


@njit(cache=True)
def _sweep(
    drawn: np.ndarray,
    uniform: np.ndarray,
    weights: np.ndarray,
    row_step: int,
    starts: np.ndarray,
    ends: np.ndarray,
    members: np.ndarray,
    offsets: np.ndarray,
    edge_at: np.ndarray,
    tables: np.ndarray,
    table_at: np.ndarray,
) -> bool:
    """Draw every node once; says whether every node had a possible state."""
    s = weights.shape[1]
    law = np.empty(s)
    settled = True
    for v in range(len(drawn)):
        for x in range(s):
            law[x] = weights[v * row_step, x]
        for k in range(starts[v], starts[v + 1]):
            e = edge_at[ends[k]]
            # the table is laid out with the last node of the edge running fastest
            cell, step, stride = table_at[e], 1, 1
            for place in range(offsets[e + 1] - 1, offsets[e] - 1, -1):
                if place == ends[k]:
                    stride = step
                else:
                    cell += drawn[members[place]] * step
                step *= s
            for x in range(s):
                law[x] *= tables[cell + x * stride]
        x = _draw(law, uniform[v])
        if x < 0:
            settled = False
        else:
            drawn[v] = x
    return settled


def gibbs(field: MarkovField, rng: np.random.Generator, sweeps: int) -> np.ndarray:
    """State numbers of all nodes after some sweeps of Gibbs sampling. O(sweeps x ends x s).

    Parameters
    ----------
    field : MarkovField
    rng : numpy.random.Generator
    sweeps : int

    Raises
    ------
    ModelError
        When hard constraints leave a node without a possible state at the end.

    Examples
    --------
    >>> from corrdp.models.networks.field import MarkovField
    >>> gibbs(MarkovField.ising([(0, 1)], 50.0), np.random.default_rng(1), 20).tolist()
    [1, 1]
    """
    n, s = len(field.block_of_record), len(field.states)
    weights = np.ones((1, s)) if field.weights is None else np.atleast_2d(field.weights)
    tables, table_at = _laid_out(field)
    edge_at = np.repeat(np.arange(len(field.sizes)), field.sizes)
    ends = np.argsort(field.members, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(field.members, minlength=n))])
    own = np.broadcast_to(weights, (n, s)).cumsum(axis=1)
    drawn = (own <= rng.random((n, 1)) * own[:, -1:]).sum(axis=1)
    settled = True
    for _ in range(sweeps):
        settled = _sweep(
            drawn, rng.random(n), weights, int(len(weights) > 1), starts, ends, field.members,
            field.offsets, edge_at, tables, table_at,
        )  # fmt: skip
    if not settled:
        raise ModelError(
            "hard constraints left a node without a possible state: Gibbs sampling does not reach "
            "this field's configurations"
        )
    return drawn


def _laid_out(field: MarkovField) -> tuple[np.ndarray, np.ndarray]:
    """All potentials in a row, each scaled to a largest entry of 1, and where each starts."""
    count = len(field.sizes)
    if isinstance(field.potentials, tuple):
        parts = [psi.ravel() / psi.max() for psi in field.potentials]
        lengths = np.array([len(part) for part in parts])
        return np.concatenate(parts), np.cumsum(lengths) - lengths
    table = field.potentials
    if table.ndim == field.sizes.max(initial=2):
        return table.ravel() / table.max(), np.zeros(count, dtype=np.int64)
    flat = table.reshape(count, -1)
    return (flat / flat.max(axis=1, keepdims=True)).ravel(), np.arange(count) * flat.shape[1]
