"""Fields in bags (trees-and-fields#bags): several records as one, so that what is left is a tree.

Messages forget that the walks of a narrow graph meet again; bags do not. A strip falls into its
columns, any graph into layers around a few records: bags whose quotient graph is a tree, each
bag one record of :func:`corrdp.bounds.contraction.two_pass`. Many such partitions are tried at
once, each record keeps its best, and messages improve on that.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.contraction import ULP, two_pass
from corrdp.bounds.fields import by_node, certain, sweeps, widest_of
from corrdp.bounds.levels import close
from corrdp.bounds.messages import Graph
from corrdp.bounds.registry import bound, level_and_confidence, whole
from corrdp.bounds.scope import Bound, Scope
from corrdp.bounds.steps import Steps, joined, joined_arrays
from corrdp.bounds.units import ONE
from corrdp.bounds.walks import field_walks
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import diameters
from corrdp.models.networks.field import MarkovField
from corrdp.results import Certificate, Witness

REFERENCE = "theorem trees-and-fields#bags"
PAIRED = "theorem delta#messages, bags"
_MOST_ENDS = 4_000_000  # records and ends of factors, over all partitions
_FEWEST, _MOST = 3, 96  # partitions
_SHARED = 8  # so many neighbours of an end of the graph are tried with what they share with it
_UP = 1.0 + 1e-13


@bound("bags", on=MarkovField)
@bound("bags", on=MarkovField, confidence=True, given=level_and_confidence)
def field_bags(field: MarkovField, guarantee: Pure, confidence: float | None = None) -> Bound:
    """Contraction bound of a field whose records are put into bags; at most messages and walks.

    ``A_B = eps_B + sum over B' of A_B' (*) D_BB'``,  ``leakage(i) <= A_B`` for i in B

    where

    * the quotient graph of the bags is a tree; B' runs over the neighbours of B away from the bag
      of the record attacked,
    * eps_B is the sum of epsilon over B, D_BB' the sum of the diameters of the factors between B
      and B', each as a matrix of what it holds in B by what it holds in B'.

    Layers around records at an end of the graph are tried, on small graphs around every record;
    each record keeps its smallest value, from which :func:`~corrdp.bounds.fields.sweeps` goes on.
    O(edges) a partition, up to 96 of them, 3 on the largest graphs.

    Parameters
    ----------
    field : MarkovField
    guarantee : Pure
        One epsilon, or one per node.
    confidence : float, optional
        Of a fit: for every coupling in its interval.

    References
    ----------
    trees-and-fields#bags.

    Examples
    --------
    >>> strip = [(k, k + 2) for k in range(118)] + [(k, k + 1) for k in range(0, 120, 2)]
    >>> field = MarkovField.ising(strip, 1.5)
    >>> round(field_bags(field, Pure(.02)).value, 3)
    0.76
    """
    assert field.length is not None
    eps = guarantee.vector(field.length)
    widest = None if confidence is None else widest_of(field, confidence)
    forest = partitions(field, (), widest)
    ceiling = np.minimum(
        np.bincount(field.block_of_record, eps)[field.block_of_record], forest.leakage(eps)
    )
    ends = field.diameters if widest is None else np.full(len(field.members), widest)
    per_record, _ = sweeps(field.members, field.offsets, ends, eps, ceiling)
    if widest is None:
        with suppress(NotApplicableError):  # too many records to walk
            walked = field_walks(field, guarantee).per_record
            per_record = np.minimum(per_record, np.asarray(walked))
    record = int(per_record.argmax())
    said = () if confidence is None else certain(field, confidence)
    note = f"the least of {len(forest.bags)} partitions into bags, and of messages"
    return Bound(
        float(per_record[record]),
        "upper bound",
        Certificate("bags", REFERENCE, said),
        per_record,
        Witness(record, note=note),
    )


@bound("bags", on=MarkovField, paired=True, given=whole)
@bound("bags", on=MarkovField, confidence=True, paired=True, given=whole)
def paired_bags(field: MarkovField, scope: Scope) -> Bound:
    """Bags for guarantees with a delta, and for sets of records, around which layers are laid.

    References
    ----------
    delta#messages.
    """
    unit = scope.unit or ONE
    if unit != ONE and unit.members is None:
        raise NotApplicableError("a unit here is a set of records, such as unit=[0, 1, 2]")
    members = unit.members or ()
    widest = None if scope.confidence is None else widest_of(field, scope.confidence)
    forest = partitions(field, members, widest)

    def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
        if not members:
            level, rare = forest.beside(eps, delta)
            return Steps(level[:, None], rare[:, None])
        away, total, d = forest.away(eps, delta)[0], 0.0, 0.0
        for root in np.unique(forest.bags[0, list(members)]):  # they are all there is in its bag
            d = min(joined(total, d, away.level[root, 0], away.delta[root, 0]) * _UP, 1.0)
            total += away.level[root, 0]
        return Steps(np.array([[total]]), np.array([[d]]))

    said = () if scope.confidence is None else certain(field, scope.confidence)
    return close(scope, field.length, lambda _: sides).bound(Certificate("bags", PAIRED, said))


class Forest(NamedTuple):
    """Partitions side by side, each a forest of bags."""

    bags: np.ndarray  # (partitions, n): the bag of each record
    parents: np.ndarray  # (bags,): before their children; -1 for a root
    widths: np.ndarray  # (bags,): D between a bag and its parent

    def levels(self, eps: np.ndarray) -> np.ndarray:
        """eps_B, rounded up."""
        total = np.bincount(self.bags.ravel(), np.tile(eps, len(self.bags)))
        return total * (1.0 + len(eps) * ULP)

    def leakage(self, eps: np.ndarray) -> np.ndarray:
        """The least A_B of each record."""
        found = two_pass(self.parents, self.widths, self.levels(eps))
        return np.asarray(found[self.bags].min(axis=0))

    def away(self, eps: np.ndarray, delta: np.ndarray) -> tuple[Steps, np.ndarray]:
        """The step beside each bag, and in each partition that of the other records of a bag."""
        order = np.argsort(self.bags, axis=None, kind="stable")
        starts = np.r_[0, np.cumsum(np.bincount(self.bags.ravel()))]
        own, others = np.empty((2, len(self.parents))), np.empty((2, len(order)))
        _put_into_bags(starts, order, eps, delta, own, others)
        children = np.flatnonzero(self.parents >= 0)
        pairs = np.stack([self.parents[children], children], axis=1).ravel()
        offsets, widths = np.arange(0, len(pairs) + 1, 2), np.repeat(self.widths[children], 2)
        steps = Graph(pairs, offsets, widths, len(self.parents), ONE).steps(own[0], own[1])
        return steps, others.reshape(2, *self.bags.shape)

    def beside(self, eps: np.ndarray, delta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The step beside each record, in the partition where its level is least."""
        steps, others = self.away(eps, delta)
        level, rare = joined_arrays(
            others[0], others[1], steps.level[self.bags, 0], steps.delta[self.bags, 0]
        )
        best = level.argmin(axis=0), np.arange(len(eps))
        return level[best] * _UP, np.minimum(rare[best] * _UP, 1.0)


@njit(cache=True)
def _put_into_bags(
    starts: np.ndarray,
    order: np.ndarray,
    eps: np.ndarray,
    delta: np.ndarray,
    own: np.ndarray,
    others: np.ndarray,
) -> None:
    """Steps of the records of each bag put together: all of them, and all but each one."""
    n = len(eps)
    for b in range(len(starts) - 1):
        level, d = 0.0, 0.0
        for place in range(starts[b], starts[b + 1]):
            k, v = order[place], order[place] % n
            others[0, k], others[1, k] = level, d
            d = min(joined(level, d, eps[v], delta[v]) * _UP, 1.0)
            level = (level + eps[v]) * _UP
        own[0, b], own[1, b] = level, d
        level, d = 0.0, 0.0
        for place in range(starts[b + 1] - 1, starts[b] - 1, -1):
            k, v = order[place], order[place] % n
            others[1, k] = min(joined(others[0, k], others[1, k], level, d) * _UP, 1.0)
            others[0, k] = (others[0, k] + level) * _UP
            d = min(joined(level, d, eps[v], delta[v]) * _UP, 1.0)
            level = (level + eps[v]) * _UP


@lru_cache(maxsize=8)  # a search asks for many epsilons
def partitions(field: MarkovField, members: tuple[int, ...], widest: float | None) -> Forest:
    """Partitions of a field into bags: layers around these records, or around many choices."""
    assert field.length is not None
    n, widths = field.length, _Widths(field, widest)
    starts, ends, links, mates = by_node(widths.members, widths.offsets, n)
    first, near = links[starts], widths.members[ends][mates]
    found: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    chosen = [np.array(members)] if members else _choices(first, near, field.block_of_record)
    for records in chosen:
        _, bags, parents = layers(first, near, records)
        found.setdefault(bags.tobytes(), (bags, parents, widths.between(bags, len(parents))))
    shift = np.cumsum([0, *(len(parents) for _, parents, _ in found.values())])
    parts = list(zip(shift, found.values(), strict=False))
    return Forest(
        np.stack([bags + at for at, (bags, _, _) in parts]),
        np.concatenate([np.where(above < 0, -1, above + at) for at, (_, above, _) in parts]),
        np.concatenate([between for _, (_, _, between) in parts]),
    )


def _choices(first: np.ndarray, near: np.ndarray, block: np.ndarray) -> list[np.ndarray]:
    """Records around which layers are laid.

    Paths from an end of the graph to the records nearest to it, which has the short side of a
    strip among them; a neighbour of that end with all that both touch, a slice of several series;
    on small graphs each record by itself.
    """
    n = len(block)
    count = int(np.clip(_MOST_ENDS // (n + len(near)), _FEWEST, _MOST))
    tips = np.empty(block.max() + 1, dtype=np.int64)
    order = layers(first, near, np.zeros(0, np.int64))[0]
    for _ in range(2):
        tips[block[order]] = order  # the last of each block, the farthest
        order = layers(first, near, tips)[0]
    single = n if 2 * n <= count else 0
    paths = count - single
    chosen = [_path(first, near, tips, k, False) for k in range(max(paths - _SHARED, 1))]
    chosen += [_path(first, near, tips, k, True) for k in range(1, min(_SHARED, paths - 1) + 1)]
    return [*chosen, *(np.array([v]) for v in range(single))]


@njit(cache=True)
def _path(
    first: np.ndarray, near: np.ndarray, tips: np.ndarray, k: int, shared: bool
) -> np.ndarray:
    """From each tip a shortest path to the k-th record by distance; or what both touch too."""
    n = len(first) - 1
    seen, before, queue = np.full(n, -1), np.empty(n, np.int64), np.empty(n, np.int64)
    chosen = np.zeros(n, np.bool_)
    for turn in range(len(tips)):
        tip = tips[turn]
        queue[0], seen[tip], before[tip] = tip, turn, -1
        head, tail = 0, 1
        while head < tail and tail <= k:
            for at in range(first[queue[head]], first[queue[head] + 1]):
                u = near[at]
                if seen[u] != turn and tail <= k:
                    seen[u], before[u], queue[tail] = turn, queue[head], u
                    tail += 1
            head += 1
        v = queue[tail - 1]
        if shared:
            for at in range(first[tip], first[tip + 1]):
                for other in range(first[v], first[v + 1]):
                    if near[at] == near[other]:
                        chosen[near[at]] = True
        while v >= 0:
            chosen[v] = True
            v = before[v]
    return np.flatnonzero(chosen)


@njit(cache=True)
def layers(
    first: np.ndarray, near: np.ndarray, sources: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records by distance from the sources; the bag of each, and the parent of each bag.

    Records of one distance share a bag if a path joins them that comes no nearer to the sources;
    so a bag has one parent, which holds every neighbour of its records that is nearer. A
    component without a source has its first record as one. O(edges).
    """
    n = len(first) - 1
    depth, order = np.full(n, -1), np.empty(n, np.int64)
    head, tail = 0, 0
    for v in sources:
        depth[v], order[tail] = 0, v
        tail += 1
    fresh = 0
    while head < n:
        if head == tail:
            while depth[fresh] >= 0:
                fresh += 1
            depth[fresh], order[tail] = 0, fresh
            tail += 1
        v = order[head]
        head += 1
        for at in range(first[v], first[v + 1]):
            u = near[at]
            if depth[u] < 0:
                depth[u], order[tail] = depth[v] + 1, u
                tail += 1
    joined_to, bags = np.arange(n), np.empty(n, np.int64)
    number, when = np.empty(n, np.int64), np.full(n, -1)
    count, end = 0, n
    while end > 0:  # from the farthest layer inwards
        begin = end - 1
        while begin > 0 and depth[order[begin - 1]] == depth[order[begin]]:
            begin -= 1
        for place in range(begin, end):
            v = order[place]
            for at in range(first[v], first[v + 1]):
                u = near[at]
                if depth[u] >= depth[v]:
                    a, b = _find(joined_to, u), _find(joined_to, v)
                    joined_to[a] = b
        for place in range(begin, end):
            root = _find(joined_to, order[place])
            if when[root] != end:
                when[root], number[root] = end, count
                count += 1
            bags[order[place]] = number[root]
        end = begin
    bags = count - 1 - bags  # parents first
    parents = np.full(count, -1)
    for v in range(n):
        for at in range(first[v], first[v + 1]):
            if depth[near[at]] < depth[v]:
                parents[bags[v]] = bags[near[at]]
    return order, bags, parents


@njit(cache=True)
def _find(joined_to: np.ndarray, v: int) -> int:
    while joined_to[v] != v:
        joined_to[v] = joined_to[joined_to[v]]
        v = joined_to[v]
    return v


class _Widths:
    """The factors that tie records, and how much each tells from one bag to the next."""

    def __init__(self, field: MarkovField, widest: float | None) -> None:
        self.field, self.widest = field, widest
        sizes = field.sizes
        ties = np.ones(len(sizes), dtype=bool)
        if field.fitted is None and len(ties):
            ties = np.add.reduceat(field.diameters, field.offsets[:-1]) > 0
        self.members = field.members[np.repeat(ties, sizes)]
        self.offsets = np.r_[0, np.cumsum(sizes[ties])]
        self.of_size = {
            int(size): np.flatnonzero(ties & (sizes == size)) for size in np.unique(sizes[ties])
        }
        self.known: dict[tuple[int, int], np.ndarray] = {}

    def between(self, bags: np.ndarray, count: int) -> np.ndarray:
        """D between each bag and its parent: the sum over factors, rounded up."""
        found = np.zeros(count)
        for size, which in self.of_size.items():
            at = bags[self.field.members[self.field.offsets[which][:, None] + np.arange(size)]]
            child = at.max(axis=1)
            sides = (at == child[:, None]) @ (1 << np.arange(size))
            for side in np.unique(sides):
                if side != 2**size - 1:
                    these = sides == side
                    found += np.bincount(
                        child[these], self._width(size, int(side), which)[these], count
                    )
        return found * (1.0 + len(self.offsets) * ULP)

    def _width(self, size: int, side: int, which: np.ndarray) -> np.ndarray:
        """The diameter of every factor of a size as a matrix: some of its records by the rest."""
        if self.widest is not None:
            return np.full(len(which), self.widest)
        side = min(side, 2**size - 1 - side)  # the same from both sides
        if (size, side) not in self.known:
            near = [k for k in range(size) if side >> k & 1]
            stack, s = self.field.stack(which, size), len(self.field.states)
            front = np.moveaxis(stack, [k + 1 for k in near], range(1, len(near) + 1))
            found = diameters(front.reshape(len(stack), s ** len(near), -1))
            self.known[size, side] = np.broadcast_to(found, len(which))
        return self.known[size, side]
