"""The description of a mechanism: what it claims, what each step reads, pays and gives away."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from corrdp.linting.laws import Laws
from corrdp.linting.level import Counted, Level, rows_of
from corrdp.metric.granularities import FreeLunch, Granularity, Trajectory, User


@dataclass(frozen=True)
class Claimed:
    """What is claimed: for whom, at which level, about which part of the data."""

    granularity: Granularity
    level: Level
    change: str
    area: str | None = None
    releases: str | None = None
    proved_for: Granularity | None = None


@dataclass(frozen=True)
class AddedNoise:
    """Additive noise; ``support`` is that of the noise itself, not of a clamped output."""

    law: str
    scale: tuple[float, ...]
    support: tuple[float, float] | str | None = None


@dataclass(frozen=True)
class Sensitivity:
    """A sensitivity as the authors state it."""

    l1: float | None = None
    l2: float | None = None
    change: str | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """One step of a mechanism; ``steps[]`` in :data:`corrdp.linting.reading.SCHEMA`."""

    name: str
    kind: str
    reads: tuple[str, ...]
    released: bool = False
    gives: str | None = None
    range: str | Mapping[str, tuple[Any, ...]] = "public"
    epsilon: float | None = None
    delta: float = 0.0
    mu: float | None = None
    times: int = 1
    noise: AddedNoise | None = None
    query: Counted | None = None
    sensitivity: Sensitivity | None = None
    score: tuple[float, float] | None = None
    rate: float | None = None
    threshold: float | None = None
    learned: bool | None = None
    area: str | None = None

    @property
    def observed(self) -> bool:
        """Whether what can come out depends on the data, as said or as listed."""
        if isinstance(self.range, str):
            return self.range == "observed"
        return len({frozenset(outputs) for outputs in self.range.values()}) > 1

    @property
    def shown(self) -> float:
        """Probability with which sampling gives a point away, in all its runs."""
        if self.rate is None:
            return 0.0
        return 1.0 if self.rate == 1 else -math.expm1(self.times * math.log1p(-self.rate))

    @property
    def pays(self) -> bool:
        """Whether its price is known: a budget, noise on a known sensitivity, a sampling rate."""
        if self.kind == "noise":
            known = self.query is not None or self.sensitivity is not None
            return known or self.epsilon is not None or self.mu is not None
        if self.kind == "sampling":
            return True
        paid = self.epsilon is not None or self.mu is not None
        return self.kind in ("exponential", "mechanism") and paid


@dataclass(frozen=True)
class Knob:
    """A parameter with a setting that makes the output the data themselves."""

    name: str
    setting: Any
    gives: str
    epsilon_changes: bool = False


@dataclass(frozen=True, eq=False)
class Description:
    """A mechanism as its authors describe it. Read one with
    :func:`corrdp.linting.reading.read_description`."""

    name: str
    claim: Claimed
    steps: tuple[Stage, ...]
    proof: str = "none"
    data: Mapping[str, Any] = field(default_factory=dict)
    parameters: tuple[Knob, ...] = ()
    ignores: tuple[str, ...] = ()
    laws: Laws | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        claim = self.claim
        lines = [f"{self.name}: {claim.granularity} {claim.level}"]
        for part in self.steps:
            word = ", released" if part.released else ""
            lines.append(f"  {part.name} ({part.kind}) reads {', '.join(part.reads)}{word}")
        return "\n".join(lines)

    def where(self, part: Stage) -> str:
        """Position of a step."""
        return f"steps[{self.steps.index(part)}] ({part.name!r})"

    def readers(self, part: Stage) -> list[Stage]:
        """Steps that read the output of a step."""
        return [other for other in self.steps if part.name in other.reads]

    def raw(self, part: Stage) -> bool:
        """Whether a step sees the data, itself or through steps that nobody paid for."""
        return part.name in self._raw

    def reaches(self, part: Stage) -> bool:
        """Whether anything of a step gets out: it is released, or a step that reads it is."""
        return part.name in self._out

    def rows(self, part: Stage) -> int | None:
        """Rows of one unit that a step counts at most; None if it is not said."""
        if part.query is None:
            return None
        return rows_of(part.query, self.claim.granularity, self.data)

    def counted(self, part: Stage) -> Counted | None:
        """What a step counts, of all rows of a unit; None if what a unit moves is not known.

        Where it is not said how many rows a unit has, it has one at least, and what is computed
        from that is too small.
        """
        if part.query is None:
            return None
        rows = self.rows(part)
        if rows is None and isinstance(self.claim.granularity, User | Trajectory | FreeLunch):
            rows = 1
        return None if rows is None else replace(part.query, rows=rows)

    def spread(self, part: Stage) -> float:
        """How far preprocessing spreads neighbours apart before a step sees them; 1 or more.

        Neighbours are a whole number of changes apart, and no preprocessing lowers a budget.
        """
        return math.prod(self._spreads[part.name].values())

    @cached_property
    def _spreads(self) -> dict[str, dict[str, float]]:
        """Sensitivities of the preprocessing behind each step, each counted once."""
        found: dict[str, dict[str, float]] = {}
        for part in self.steps:
            behind: dict[str, float] = {}
            for before in self.steps[: self.steps.index(part)]:
                if before.name not in part.reads or before.pays:
                    continue
                behind |= found[before.name]
                if before.kind == "preprocess" and before.sensitivity is not None:
                    stated = before.sensitivity
                    behind[before.name] = max(1.0, stated.l1 or stated.l2 or 1.0)
            found[part.name] = behind
        return found

    @cached_property
    def _raw(self) -> set[str]:
        found: set[str] = set()
        unpaid = {"data"}
        for part in self.steps:  # a step reads earlier ones only
            if unpaid & set(part.reads):
                found.add(part.name)
                if not part.pays:
                    unpaid.add(part.name)
        return found

    @cached_property
    def _out(self) -> set[str]:
        found: set[str] = set()
        for part in reversed(self.steps):
            if part.released or any(other.name in found for other in self.readers(part)):
                found.add(part.name)
        return found
