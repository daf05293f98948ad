"""What protection at one granularity is worth at another, on given streams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._json import encode
from corrdp.errors import InputError
from corrdp.metric.conversion import conversion_factor
from corrdp.metric.domains import StreamDomain
from corrdp.trajectories.data.streams import Streams

PATTERN = (
    "at which steps a user reports is public: adding or removing points is not covered by event, "
    "w-event and l-trajectory level"
)


@dataclass(frozen=True)
class UnitTable:
    """Factors k: epsilon at the level of a row is k epsilon at the level of a column.

    Attributes
    ----------
    levels : tuple of str
    factors : tuple of tuples of float
    users, steps, w, l : int
        r, T, w and l of the table.
    """

    levels: tuple[str, ...]
    factors: tuple[tuple[float, ...], ...]
    users: int
    steps: int
    w: int
    l: int

    def factor(self, source: str, target: str) -> float:
        """One entry, by the names of two levels."""
        for level in (source, target):
            if level not in self.levels:
                raise InputError(f"no level {level!r}; they are {', '.join(self.levels)}")
        return self.factors[self.levels.index(source)][self.levels.index(target)]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> UnitTable:
        """Inverse of :meth:`to_dict`."""
        rows = tuple(tuple(float(k) for k in row) for row in data["factors"])
        return cls(tuple(data["levels"]), rows, *(data[k] for k in ("users", "steps", "w", "l")))


def unit_table(streams: Streams, w: int, l: int) -> UnitTable:
    r"""The conversion table of these streams.

    .. math:: k = \max_{D \sim_{\text{column}} D'} d^{\text{row}}(D, D')

    Without gaps the entries are those of :func:`corrdp.metric.conversion.conversion_factor`. With
    gaps, and the steps at which users report public, towards user level: the most recorded steps of
    a user (event), the most windows of w columns that it takes to cover them (w-event), and their
    number over l, rounded up (l-trajectory); else the factors that hold for any gaps.

    Parameters
    ----------
    streams : Streams
    w, l : int

    References
    ----------
    Guerra-Balboa, dissertation, proposition A.7; docs/theorems.md#units-of-movement-with-gaps.

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.data.streams import by_time_step
    >>> walks = Trajectories.from_points(
    ...     [1, 1, 1, 2, 2, 2], [0, 1, 2] * 2, labels=list("hhwwhh"))
    >>> table = unit_table(by_time_step(discretise(walks), 1.0), w=2, l=2)
    >>> table.factor("event", "user"), table.factor("user", "w-event(2)")
    (3.0, 2.0)
    """
    levels = ("event", f"w-event({w})", f"l-trajectory({l})", "user")
    domain = StreamDomain(streams.users, streams.length, periodic=streams.periodic)
    own = int(streams.recorded.max())
    with_gaps = {
        "event": own,
        levels[1]: max(_windows(streams, w)),
        levels[2]: math.ceil(own / l),
        "user": 1,
    }

    def factor(source: str, target: str) -> float:
        if target == "user" and not streams.periodic:
            return float(with_gaps[source])
        return conversion_factor(source, target, domain)

    rows = tuple(tuple(factor(a, b) for b in levels) for a in levels)
    return UnitTable(levels, rows, streams.users, streams.length, w, l)


def _windows(streams: Streams, w: int) -> list[int]:
    """Fewest windows of w columns that cover the recorded steps of each user: left to right."""
    needed = []
    for a, b in zip(streams.starts[:-1], streams.starts[1:], strict=True):
        steps, count, at = streams.steps[a:b], 0, 0
        while at < len(steps):
            at = int(np.searchsorted(steps, steps[at] + w))
            count += 1
        needed.append(count)
    return needed
