"""Trees and fields when the guarantee has a delta, and sets of records as units (delta#messages).

Levels as in :mod:`corrdp.bounds.fields`, from above; then deltas, from below, with the levels kept.
A set of records is taken out of the graph, and each factor between it and the rest is one step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.fields import by_node, widest_of
from corrdp.bounds.levels import close
from corrdp.bounds.mixtures import star
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope
from corrdp.bounds.steps import Steps, eta, joined
from corrdp.bounds.units import ONE, Unit
from corrdp.errors import NotApplicableError
from corrdp.models.networks.field import MarkovField
from corrdp.models.networks.tree import MarkovTree
from corrdp.results import Certificate

REFERENCE = "theorem delta#messages"
_SETTLED = 1e-12  # relative change that ends the sweeps
_MAX_SWEEPS = 1000
_UP = 1.0 + 1e-13  # each step is rounded up by this


@njit(cache=True)
def _level_sweep(
    backwards: bool,
    eps: np.ndarray,
    out: np.ndarray,
    starts: np.ndarray,
    links: np.ndarray,
    mates: np.ndarray,
    diameters: np.ndarray,
    worth: np.ndarray,
    heard: np.ndarray,
) -> bool:
    """Lower what each record is worth towards each of its factors; says whether one moved."""
    moved = False
    n = len(eps)
    for turn in range(n):
        v = n - 1 - turn if backwards else turn
        for k in range(starts[v], starts[v + 1]):
            total = 0.0
            for at in range(links[k], links[k + 1]):
                total += worth[mates[at]]
            heard[k] = star(total, diameters[k]) * _UP
        if out[v]:
            continue
        before = eps[v]
        for k in range(starts[v], starts[v + 1]):
            after = 0.0
            for other in range(k + 1, starts[v + 1]):
                after += heard[other]
            value = (before + after) * _UP
            moved |= not worth[k] <= value * (1.0 + _SETTLED)
            worth[k] = min(worth[k], value)
            before += heard[k]
    return moved


@njit(cache=True)
def _delta_sweep(
    backwards: bool,
    eps: np.ndarray,
    delta: np.ndarray,
    out: np.ndarray,
    starts: np.ndarray,
    links: np.ndarray,
    mates: np.ndarray,
    worth: np.ndarray,
    heard: np.ndarray,
    rare: np.ndarray,
    deltas: np.ndarray,
    steps: np.ndarray,
) -> bool:
    """Raise the deltas towards each factor, and fill those of the factors; whether one moved."""
    moved = False
    n = len(eps)
    for turn in range(n):
        v = n - 1 - turn if backwards else turn
        for k in range(starts[v], starts[v + 1]):
            level, d = 0.0, 0.0
            for at in range(links[k], links[k + 1]):
                mate = mates[at]
                d = joined(level, d, worth[mate], deltas[mate])
                level += worth[mate]
            steps[k] = min(rare[k] * d * _UP, 1.0)
        if out[v]:
            continue
        for k in range(starts[v], starts[v + 1]):
            level, d = eps[v], delta[v]
            for other in range(starts[v], starts[v + 1]):
                if other != k:
                    d = joined(level, d, heard[other], steps[other])
                    level += heard[other]
            d = min(d * _UP, 1.0)
            moved |= d > deltas[k] * (1.0 + _SETTLED)
            deltas[k] = max(deltas[k], d)
    return moved


@njit(cache=True)
def _gather(
    starts: np.ndarray, heard: np.ndarray, steps: np.ndarray, level: np.ndarray, delta: np.ndarray
) -> None:
    """All factors of each record put together."""
    for v in range(len(level)):
        level[v], delta[v] = 0.0, 0.0
        for k in range(starts[v], starts[v + 1]):
            delta[v] = min(joined(level[v], delta[v], heard[k], steps[k]) * _UP, 1.0)
            level[v] += heard[k]


class Graph:
    """A factor graph whose factors have diameters; some records may be taken out."""

    def __init__(
        self, members: np.ndarray, offsets: np.ndarray, diameters: np.ndarray, n: int, unit: Unit
    ) -> None:
        self.starts, ends, self.links, self.mates = by_node(members, offsets, n)
        self.diameters = np.ascontiguousarray(diameters[ends], dtype=float)
        self.owner = members[ends]
        self.out = np.zeros(n, dtype=bool)
        self.unit = unit
        if unit.members is not None:
            self.out[list(unit.members)] = True

    def steps(self, eps: np.ndarray, delta: np.ndarray) -> Steps:
        """The step beside each record, or beside the set taken out."""
        gone = self.out[self.owner]
        layout = self.starts, self.links, self.mates
        worth = np.where(gone, 0.0, np.inf)
        heard = np.zeros(len(worth))
        for count in range(1, _MAX_SWEEPS + 1):
            if not _level_sweep(
                count % 2 == 1, eps, self.out, *layout, self.diameters, worth, heard
            ):
                break
        if not np.isfinite(worth).all():
            raise NotApplicableError("factors with zeros on a cycle tell states apart for ever")
        _level_sweep(True, eps, self.out, *layout, self.diameters, worth, heard)  # with these
        found = self._deltas(eps, delta, worth, heard)
        if found is None:  # rare events may go round in circles: pay for them in the level
            heard = self.diameters.copy()
            worth = self._paid(eps, heard)
            if not np.isfinite(heard).all():
                raise NotApplicableError("deltas do not settle on this graph; use general")
            found = self._deltas(eps, delta, worth, heard)
            assert found is not None
        level, rare = np.empty(len(eps)), np.empty(len(eps))
        heard = np.where(self._beside(), heard, 0.0)
        found = np.where(self._beside(), found, 0.0)
        _gather(self.starts, heard, found, level, rare)
        if self.unit == ONE:
            return Steps(level[:, None], rare[:, None])
        inside = np.flatnonzero(self.out)
        total, d = 0.0, 0.0
        for v in inside:
            d = min(joined(total, d, level[v], rare[v]) * _UP, 1.0)
            total += level[v]
        return Steps(np.array([[total]]), np.array([[d]]))

    def _beside(self) -> np.ndarray:
        """Whether a factor, as one of its records sees it, leads to a record that is left."""
        left = ~self.out[self.owner][self.mates]
        return np.asarray(np.add.reduceat(np.r_[left, False], self.links[:-1]) > 0)

    def _paid(self, eps: np.ndarray, heard: np.ndarray) -> np.ndarray:
        total = eps + np.bincount(self.owner, heard, minlength=len(eps))
        return np.where(self.out[self.owner], 0.0, total[self.owner])

    def _deltas(
        self, eps: np.ndarray, delta: np.ndarray, worth: np.ndarray, heard: np.ndarray
    ) -> np.ndarray | None:
        """Deltas of the factors, where they settle or walks end before."""
        rare = np.array([eta(x, d) for x, d in zip(heard, self.diameters, strict=True)])
        gone = self.out[self.owner]
        deltas = np.where(gone, 0.0, delta[self.owner])
        steps = np.zeros(len(heard))
        layout = eps, delta, self.out, self.starts, self.links, self.mates
        rest = worth, heard, rare, deltas, steps
        rounds = min(len(eps) + 2, _MAX_SWEEPS)
        for count in range(1, rounds + 1):
            if not _delta_sweep(count % 2 == 1, *layout, *rest):
                break
            if deltas.max(initial=0.0) >= 1.0:
                return None
        if rounds < len(eps) + 2 or count < rounds:
            # a little more than what was reached, and one more round that does not raise it
            deltas *= 1.0 + 1e-9
            if _delta_sweep(True, *layout, *rest) or deltas.max(initial=0.0) >= 1.0:
                return None
        _delta_sweep(True, *layout, *rest)
        return steps


def graph_bound(
    scope: Scope, members: np.ndarray, offsets: np.ndarray, diameters: np.ndarray, n: int
) -> Bound:
    """Contraction bound of a factor graph with these diameters. O(edges) a sweep."""
    if scope.unit is not None and scope.unit.members is None:
        raise NotApplicableError("a unit here is a set of records, such as unit=[0, 1, 2]")

    def sides_of(unit: Unit) -> Any:
        return Graph(members, offsets, diameters, n, unit).steps

    return close(scope, n, sides_of).bound(Certificate("contraction", REFERENCE))


@bound("contraction", on=MarkovField, paired=True, given=whole)
@bound("contraction", on=MarkovField, confidence=True, paired=True, given=whole)
def paired_field(field: MarkovField, scope: Scope) -> Bound:
    """Contraction bound of a field for guarantees with a delta, and for sets of records.

    References
    ----------
    delta#messages.
    """
    assert field.length is not None
    diameters = np.asarray(field.diameters)
    if scope.confidence is not None:
        diameters = np.full(len(field.members), widest_of(field, scope.confidence))
    return graph_bound(scope, field.members, field.offsets, diameters, field.length)


@bound("contraction", on=MarkovTree, paired=True, given=whole)
def paired_tree(tree: MarkovTree, scope: Scope) -> Bound:
    """Contraction bound of a tree for guarantees with a delta, and for sets of records.

    References
    ----------
    delta#messages.
    """
    children = np.flatnonzero(tree.parents >= 0)
    members = np.stack([tree.parents[children], children], axis=1).ravel()
    offsets = np.arange(0, len(members) + 1, 2)
    widths = np.broadcast_to(tree.diameters, len(tree.parents))[children]
    return graph_bound(scope, members, offsets, np.repeat(widths, 2), len(tree.parents))
