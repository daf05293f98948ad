"""Releases about time steps of a stream."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from corrdp.accounting.losses import ListedLosses
from corrdp.accounting.maps import Columns
from corrdp.accounting.step import Step
from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.canonical import column_cover, point_cover
from corrdp.metric.domains import StreamDomain
from corrdp.metric.extended import scaled
from corrdp.metric.granularities import (
    Event,
    FreeLunch,
    Granularity,
    LTrajectory,
    User,
    WEvent,
)
from corrdp.metric.neighbours import Change

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
    domain: StreamDomain, target: Granularity, steps: Sequence[Step]
) -> ListedLosses | None:
    """Losses on a stream; None where the target is of another kind.

    Only the largest changes count, since every distance grows with the cells that differ.
    """
    if isinstance(target, FreeLunch):
        return None
    if isinstance(target, Event) and target.change == "presence":
        return None
    changes = _changes(domain, target, steps)
    if len(changes) > _TYPES:
        raise NotApplicableError(
            f"{target} neighbours on this stream are of more than {_TYPES} kinds; "
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
    comes = isinstance(target, User) and not domain.periodic
    matrix = np.zeros((len(changes), len(steps)))
    for column, step in enumerate(steps):
        unit = _unit(step, target)
        read = step.map.steps if isinstance(step.map, Columns) else tuple(range(domain.steps))
        # alone with what it is given, a mechanism counts the columns anew
        place = {t: k if step.mode == "pre" else t for k, t in enumerate(read)}
        for k in {k for t in read for k in touched.get(t, ())}:
            seen = [(u, place[t]) for u, t in changes[k].where if t in place]
            if comes and (step.is_vector or isinstance(unit, Event | WEvent | LTrajectory)):
                matrix[k, column] = math.inf
            elif step.is_vector:
                matrix[k, column] = math.fsum(step.level[t] for _, t in seen)
            else:
                matrix[k, column] = scaled(step.level, cell_distance(unit, seen))
    return ListedLosses(changes, matrix)


def _unit(step: Step, target: Granularity) -> Granularity:
    unit: Any = step.unit(target)
    if not isinstance(unit, Granularity) or "stream" not in unit.shapes:
        raise InputError(
            f"step {step.id!r}: {unit} has no meaning on a stream; name event, w-event(..), "
            "l-trajectory(..), user or free-lunch"
        )
    if isinstance(unit, Event) and unit.change == "presence":
        raise NotApplicableError(f"step {step.id!r}: points that come and go have no account yet")
    return unit


def _changes(domain: StreamDomain, target: Granularity, steps: Sequence[Step]) -> list[Change]:
    """The largest changes."""
    changes = list(itertools.islice(target.types(domain), _TYPES + 1))
    width = min(getattr(target, "w", 1), domain.steps)
    units = [step.unit(target) for step in steps]
    if domain.users >= width or not any(isinstance(unit, User | LTrajectory) for unit in units):
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
