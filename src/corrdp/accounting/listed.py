"""Losses on domains that can be listed and on streams: every kind of neighbours, one by one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from corrdp.accounting.choices import ListedLosses, times
from corrdp.accounting.maps import Cliques, Columns, Degree, Identity, ReadsRecords, Select
from corrdp.accounting.step import DistanceTable, Step
from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.canonical import canonical_distance, canonical_matrix, column_cover, point_cover
from corrdp.metric.domains import Domain, GraphDomain, MultisetDomain, StreamDomain, TupleDomain
from corrdp.metric.fibres import closure, fibre_minimum
from corrdp.metric.finite import Change, scaled
from corrdp.metric.granularities import (
    Edge,
    Event,
    FreeLunch,
    Granularity,
    LTrajectory,
    User,
    WEvent,
)

LISTED = 600  # closures cost the cube of this


def listed_losses(domain: Domain, unit: Granularity, steps: Sequence[Step]) -> ListedLosses:
    """Losses for every pair of neighbours.

    In mode common the metric of the guarantee is seen through the map: least distance over the
    fibres, then shortest paths.
    """
    if domain.count() > LISTED:
        raise NotApplicableError(
            f"{unit} granularity on this {domain.type} domain has no shorter account, and its "
            f"{domain.count():g} data sets are too many to list (at most {LISTED})"
        )
    items = domain.databases()
    pairs = [
        (i, j) for i, a in enumerate(items) for j in range(i) if unit.related(domain, a, items[j])
    ]
    if not pairs:
        raise InputError(f"no two data sets of this domain are {unit} neighbours (lint L-11)")
    i, j = np.array(pairs).T
    columns = [times(step.level, distances(domain, step, unit)[i, j]) for step in steps]
    changes = [Change("pair", (items[b], items[a])) for a, b in pairs]
    return ListedLosses(changes, np.array(columns).T)


def composite(
    domain: Domain, steps: Sequence[Step], unit: Granularity, *, gaussian: bool
) -> np.ndarray:
    """The metric of all releases together between every two data sets of a listed domain."""
    each = [times(step.level, distances(domain, step, unit)) for step in steps]
    n = int(domain.count())
    if gaussian:
        return np.sqrt(sum((d**2 for d in each), np.zeros((n, n))))
    return sum(each, np.zeros((n, n)))


def distances(domain: Domain, step: Step, unit: Granularity) -> np.ndarray:
    """The distance of a step's guarantee between every two data sets of a listed domain."""
    if step.is_vector:
        raise InputError(f"step {step.id!r}: one epsilon per record needs bounded or event units")
    items = domain.databases()
    metric = step.unit(unit)
    labels = [step.map.apply(domain, item) for item in items]
    if step.mode == "common":
        whole = _whole(domain, metric, step)
        return closure(fibre_minimum(whole, labels))
    if isinstance(metric, DistanceTable) and metric.labels is not None:
        place = [metric.labels.index(label) for label in labels]
        return np.array(metric.distances)[np.ix_(place, place)]
    if isinstance(step.map, Identity) or isinstance(metric, DistanceTable):
        return _whole(domain, metric, step)
    return np.array([[_between(domain, step, metric, a, b) for b in labels] for a in labels])


def _whole(domain: Domain, metric: Any, step: Step) -> np.ndarray:
    if isinstance(metric, DistanceTable):
        return np.array(metric.distances)
    if isinstance(metric, Granularity):
        return canonical_matrix(domain, metric)
    raise InputError(f"step {step.id!r}: {metric} is no metric on the data sets")


def _between(domain: Domain, step: Step, metric: Any, a: Any, b: Any) -> float:
    """Distance of two inputs of a mechanism, in mode pre."""
    if a == b:
        return 0.0
    if metric == "l1":
        return math.fsum(abs(x - y) for x, y in zip(a, b, strict=True))
    if metric == "l2":
        return math.dist(a, b)
    inner: Domain | None = None
    if isinstance(step.map, Select):
        inner = MultisetDomain(step.map.atoms)
    elif isinstance(step.map, ReadsRecords) and isinstance(domain, TupleDomain):
        inner = TupleDomain(len(a), domain.atoms)
    elif isinstance(step.map, Columns) and isinstance(domain, StreamDomain):
        inner = StreamDomain(domain.users, len(step.map.steps), domain.atoms, domain.periodic)
    if inner is not None:
        return canonical_distance(inner, metric, a, b)
    if str(metric) in ("free-lunch", "local"):
        return float(a != b)
    raise InputError(
        f"step {step.id!r}: {metric} has no meaning for what map {step.map.name} gives"
    )


def graph_losses(domain: GraphDomain, steps: Sequence[Step]) -> ListedLosses | None:
    """Losses under edge granularity, for degrees and cliques; None if something else is read.

    A complete graph attains every change at once, so that one pair of graphs per edge suffices.
    """
    if not all(isinstance(s.map, Degree | Cliques | Identity) for s in steps):
        return None
    if any(s.unit(Edge()) not in (Edge(), "l1", "l2") for s in steps):
        return None
    edges = np.array(domain.pairs)
    columns = [times(step.level, _edge_distances(domain, step, edges)) for step in steps]
    return ListedLosses(list(Edge().types(domain)), np.array(columns).T)


def _edge_distances(domain: GraphDomain, step: Step, edges: np.ndarray) -> np.ndarray:
    """How far a release's numbers move when each edge of the complete graph goes."""
    if isinstance(step.map, Degree):
        moved = (edges == step.map.vertex).any(axis=1).astype(float)
    elif isinstance(step.map, Cliques):
        # an edge of the complete graph lies in C(n-2, i-2) cliques of size i
        through = math.comb(domain.vertices - 2, step.map.size - 2)
        moved = np.full(len(edges), float(through))
    else:
        moved = np.ones(len(edges))
    return np.minimum(moved, 1.0) if step.mode == "common" else moved


_TYPES = 100_000
_ASSIGNMENTS = 4_096
_ENTRIES = 50_000_000

Cells = Sequence[tuple[int, int]]


def cell_distance(unit: Granularity, cells: Cells) -> float:
    """How far apart two streams are that differ in these cells (user, step)."""
    if isinstance(unit, Event):
        return float(len(cells))
    if isinstance(unit, WEvent):
        return float(column_cover(Counter(t for _, t in cells), unit.w))
    if isinstance(unit, LTrajectory):
        rows: dict[int, list[int]] = {}
        for u, t in cells:
            rows.setdefault(u, []).append(t)
        return float(sum(point_cover(own, unit.l) for own in rows.values()))
    if isinstance(unit, User):
        return float(len({u for u, _ in cells}))
    return float(bool(cells))


def stream_losses(
    domain: StreamDomain, unit: Granularity, steps: Sequence[Step]
) -> ListedLosses | None:
    """Losses on a stream; None where the unit is of another kind.

    Only the largest changes count, since every distance grows with the cells that differ.
    """
    if isinstance(unit, FreeLunch):
        return None
    if isinstance(unit, Event) and unit.change == "presence":
        return None
    changes = _changes(domain, unit, steps)
    if len(changes) > _TYPES:
        raise NotApplicableError(
            f"{unit} neighbours on this stream are of more than {_TYPES} kinds; "
            "shorten the stream, or ask for user granularity"
        )
    if len(changes) * len(steps) > _ENTRIES:
        raise NotApplicableError(
            f"{len(steps)} releases and {len(changes)} kinds of neighbours are more than this "
            "account holds; join releases that read the same steps, or split the stream"
        )
    touched: dict[int, list[int]] = {}
    for k, change in enumerate(changes):
        for t in {t for _, t in change.where}:
            touched.setdefault(t, []).append(k)
    # where cells may be empty, all of a user may come and go, about which guarantees for points
    # that move say nothing
    comes = isinstance(unit, User) and not domain.periodic
    matrix = np.zeros((len(changes), len(steps)))
    for column, step in enumerate(steps):
        metric = _metric(step, unit)
        read = step.map.steps if isinstance(step.map, Columns) else tuple(range(domain.steps))
        # alone with what it is given, a mechanism counts the columns anew
        place = {t: k if step.mode == "pre" else t for k, t in enumerate(read)}
        for k in {k for t in read for k in touched.get(t, ())}:
            seen = [(u, place[t]) for u, t in changes[k].where if t in place]
            if comes and (step.is_vector or isinstance(metric, Event | WEvent | LTrajectory)):
                matrix[k, column] = math.inf
            elif step.is_vector:
                matrix[k, column] = math.fsum(step.level[t] for _, t in seen)
            else:
                matrix[k, column] = scaled(step.level, cell_distance(metric, seen))
    return ListedLosses(changes, matrix)


def _metric(step: Step, unit: Granularity) -> Granularity:
    metric: Any = step.unit(unit)
    if not isinstance(metric, Granularity) or "stream" not in metric.shapes:
        raise InputError(
            f"step {step.id!r}: {metric} has no meaning on a stream; name event, w-event(..), "
            "l-trajectory(..), user or free-lunch"
        )
    if isinstance(metric, Event) and metric.change == "presence":
        raise NotApplicableError(f"step {step.id!r}: points that come and go have no account yet")
    return metric


def _changes(domain: StreamDomain, unit: Granularity, steps: Sequence[Step]) -> list[Change]:
    """The largest changes."""
    changes = list(itertools.islice(unit.types(domain), _TYPES + 1))
    width = min(getattr(unit, "w", 1), domain.steps)
    metrics = [step.unit(unit) for step in steps]
    if domain.users >= width or not any(isinstance(m, User | LTrajectory) for m in metrics):
        return changes  # everyone differs already, or who it is does not matter
    if domain.users**width * len(changes) <= _ASSIGNMENTS:
        return list(_every_user(domain, changes))
    # a different user for each step is at least as bad as any true assignment
    return [Change("cells", tuple((k, t) for k, (_, t) in enumerate(c.where))) for c in changes]


def _every_user(domain: StreamDomain, changes: Sequence[Change]) -> Iterator[Change]:
    for change in changes:
        columns = [t for _, t in change.where]
        for users in itertools.product(range(domain.users), repeat=len(columns)):
            yield Change("cells", tuple(zip(users, columns, strict=True)))
