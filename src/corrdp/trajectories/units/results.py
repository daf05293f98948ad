"""What ``inspect_movements`` returns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from corrdp._json import SCHEMA, check_header, encode
from corrdp.results import Leakage
from corrdp.trajectories.data.streams import Streams
from corrdp.trajectories.units.visits import PlaceCover, UnitTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class MovementFacts:
    """What the data look like.

    Attributes
    ----------
    users, trajectories, points : int
    most_per_user : int
        Largest number of trajectories of one user.
    semantic : bool
        Places are labels, not coordinates.
    equal_length : bool
        All trajectories have as many points.
    periodic : bool
        Everybody reports at every time step.
    step_seconds : float
    steps, recorded, longest : int
        Time steps from first to last, recorded steps of all users, and of the user with most.
    visited, places : int
        Places with a point, and all places.
    """

    users: int
    trajectories: int
    points: int
    most_per_user: int
    semantic: bool
    equal_length: bool
    periodic: bool
    step_seconds: float
    steps: int
    recorded: int
    longest: int
    visited: int
    places: int


@dataclass(frozen=True, eq=False, repr=False)
class Inspection:
    """What a privacy unit means on some movements.

    Attributes
    ----------
    event : Leakage
        What an event-level epsilon gives away about one time step; ``per_record`` by recorded step.
    stay, longest_stay : int
        Steps in a row in one place: the median over recorded steps, and the most.
    mixing : int or None
        Steps after which the fitted chain has forgotten where it started.
    mixing_note : str
        Why there is none.
    units : UnitTable
    places : tuple of PlaceCover
    facts : MovementFacts
    warnings, assumptions : tuple of str
    streams : Streams or None
        The steps themselves, for pictures; not part of the JSON.
    """

    event: Leakage
    stay: int
    longest_stay: int
    mixing: int | None
    mixing_note: str
    units: UnitTable
    places: tuple[PlaceCover, ...]
    facts: MovementFacts
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...]
    streams: Streams | None = None

    def __float__(self) -> float:
        return self.event.value

    @property
    def epsilon(self) -> float:
        """The event-level epsilon that was asked about."""
        return self.event.epsilon

    @property
    def rule_of_thumb(self) -> float:
        """m epsilon, with m the median stay: if one step moves, the whole stay does. No bound."""
        return self.stay * self.epsilon

    @property
    def window_is_long_enough(self) -> bool | None:
        """Whether w exceeds the mixing time; None when the chain does not mix."""
        return None if self.mixing is None else self.units.w > self.mixing

    def __repr__(self) -> str:
        told = self.facts
        lines = [
            f"Inspection: event-level epsilon {self.epsilon:.6g} means {self.event.value:.6g} "
            f"({self.event.kind})",
            f"  data         {told.points:,} points, {told.trajectories:,} trajectories, "
            f"{told.users:,} users, {told.recorded:,} recorded steps of {told.step_seconds:g} s",
            f"  rule of thumb {self.stay} epsilon = {self.rule_of_thumb:.6g} (no bound)",
            f"  mixing time  {self.mixing if self.mixing is not None else self.mixing_note}, "
            f"w = {self.units.w}",
        ]
        for cover in self.places:
            hidden = [k for k, n in cover.covered.items() if n == cover.visitors]
            lines.append(f"  {cover.place:<12} all visits covered by {', '.join(hidden)}")
        lines += [f"  warning      {text}" for text in self.warnings]
        lines += [f"  assumes      {text}" for text in self.assumptions]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, without the streams."""
        return {
            "corrdp": SCHEMA,
            "result": "inspection",
            "event": self.event.to_dict(),
            "stay": self.stay,
            "longest_stay": self.longest_stay,
            "rule_of_thumb": encode(self.rule_of_thumb),
            "mixing": self.mixing,
            "mixing_note": self.mixing_note,
            "units": self.units.to_dict(),
            "places": [cover.to_dict() for cover in self.places],
            "facts": encode(vars(self.facts)),
            "warnings": list(self.warnings),
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Inspection:
        """Inverse of :meth:`to_dict`, without streams."""
        check_header(data, "inspection")
        facts = {field.name: data["facts"][field.name] for field in fields(MovementFacts)}
        return cls(
            Leakage.from_dict(data["event"]),
            data["stay"],
            data["longest_stay"],
            data["mixing"],
            data["mixing_note"],
            UnitTable.from_dict(data["units"]),
            tuple(PlaceCover.from_dict(cover) for cover in data["places"]),
            MovementFacts(**facts),
            tuple(data["warnings"]),
            tuple(data["assumptions"]),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Leakage of each time step along the path of the user with most steps."""
        from corrdp.plots.series import draw_path
        from corrdp.results.leaks import axes_or_pyplot

        return draw_path(self, axes_or_pyplot(ax))
