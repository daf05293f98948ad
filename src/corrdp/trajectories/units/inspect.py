"""inspect_movements: what event, w-event, l-trajectory and user level mean on given movements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._checks import check_items, check_kind, check_number
from corrdp.bounds.leakage import Leakage
from corrdp.errors import DataError, InputError, NotApplicableError
from corrdp.metric.fibres import mixing_time
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Result
from corrdp.trajectories.data.cells import CellSequences, Grid, discretise
from corrdp.trajectories.data.points import Trajectories
from corrdp.trajectories.data.reachability import check_whole
from corrdp.trajectories.data.splitting import named
from corrdp.trajectories.units.stays import (
    event_leakage,
    fit_places,
    stay_lengths,
    unfitted_leakage,
)
from corrdp.trajectories.units.visits import (
    PATTERN,
    PlaceCover,
    Streams,
    UnitTable,
    by_time_step,
    cover_report,
    place_number,
    unit_table,
)

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
class Inspection(Result):
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

    result = "inspection"
    keys = (
        "event stay longest_stay rule_of_thumb mixing mixing_note units places facts warnings "
        "assumptions"
    )

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

    def plot(self, ax: Axes | None = None) -> Axes:
        """Leakage of each time step along the path of the user with most steps."""
        from corrdp.plots import axes_or_pyplot
        from corrdp.plots.series import draw_path

        return draw_path(self, axes_or_pyplot(ax))


CELL_METRES = 1000.0
_USUAL_WINDOW = 12  # where the chain does not mix: an hour of five-minute steps
_SHOWN_PLACES = 3


def inspect_movements(
    trajectories: Trajectories,
    epsilon: float = 0.1,
    *,
    grid: Grid | float | None = None,
    step: str | float = "5min",
    rule: str = "last",
    sensitive: Sequence[Any] = (),
    w: int | None = None,
    l: int | None = None,
    states: int = 6,
) -> Inspection:
    """What a privacy unit means on these movements.

    Four answers: what an event-level epsilon really gives away about one time step, by a chain
    fitted on the places (beside the rule of thumb m epsilon); whether a window of w steps is longer
    than the chain remembers; what epsilon at one level is at another; and which level hides all
    visits to a sensitive place.

    The result describes the private data and is itself no private release.

    Parameters
    ----------
    trajectories : Trajectories
    epsilon : float
        Event-level DP level to explain.
    grid : Grid or float, optional
        A grid, or the side of a cell in metres over the box of the data; 1000 when left out.
        Not for labels.
    step, rule
        Time step, and which point of a step counts: :func:`by_time_step`.
    sensitive : sequence
        Places: labels, ``"lat,lng"`` or cells; the three most visited when left out.
    w, l : int, optional
        Window of w-event level and points of l-trajectory level; one more than the mixing time
        when left out, and l = w.
    states : int
        Places of the chain, "elsewhere" included; sensitive ones first, then the most visited.

    Returns
    -------
    Inspection

    References
    ----------
    Guerra-Balboa, dissertation, sections 3.1-3.3; movements#gaps.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> walk = MarkovChain([[.9, .1], [.2, .8]], states=("home", "work")).sample(rng, 400)
    >>> walks = Trajectories.from_points([1] * 400, np.arange(400) * 300, labels=walk)
    >>> found = inspect_movements(walks, 0.1)
    >>> round(float(found), 3), found.event.kind, found.mixing, found.window_is_long_enough
    (0.488, 'exact', 3, True)
    """
    check_kind("trajectories", trajectories, Trajectories, "Trajectories")
    streams = by_time_step(_placed(trajectories, grid), step, rule)
    level = check_number("epsilon", epsilon, above=0, most=1e300)
    chosen = tuple(place_number(streams, place) for place in check_items("sensitive", sensitive))
    reason, chain = "", None
    try:
        fitted = fit_places(streams, states, chosen)
        chain = fitted.chain
        event = event_leakage(streams, chain, level)
    except DataError as error:
        reason = str(error)
        event = unfitted_leakage(streams, level, reason)
    mixing, note = _mixing(chain, reason)
    window = _whole("w", w) or (_USUAL_WINDOW if mixing is None else mixing + 1)
    points = _whole("l", l) or window
    units = unit_table(streams, window, points)
    shown = chosen or _most_visited(streams)
    stays = stay_lengths(streams)
    facts = MovementFacts(
        users=streams.users,
        trajectories=len(trajectories),
        points=trajectories.points,
        most_per_user=trajectories.most_per_user,
        semantic=trajectories.semantic,
        equal_length=trajectories.equal_length,
        periodic=streams.periodic,
        step_seconds=streams.seconds,
        steps=streams.length,
        recorded=len(streams.cells),
        longest=int(streams.recorded.max()),
        visited=len(np.unique(streams.cells)),
        places=streams.size,
    )
    assumptions = [*streams.preprocessing, *event.certificate.assumptions]
    if trajectories.repeats:
        assumptions.append(
            f"{named(trajectories.repeats, 'row')} left out that repeated the time of another of "
            "the user"
        )
    if chain is not None:
        assumptions.append(_about_places(streams, chain))
    if not streams.periodic:
        assumptions.append(PATTERN)
    result = Inspection(
        event=event,
        stay=int(np.median(stays)),
        longest_stay=int(stays.max()),
        mixing=mixing,
        mixing_note=note,
        units=units,
        places=cover_report(streams, shown, window, points),
        facts=facts,
        warnings=(),
        assumptions=tuple(dict.fromkeys(assumptions)),
        streams=streams,
    )
    return _warned(result, reason)


def _placed(trajectories: Trajectories, grid: Grid | float | None) -> CellSequences:
    if trajectories.semantic:
        if grid is not None:
            raise InputError("these points have labels, no coordinates: leave the grid out")
        return discretise(trajectories)
    if not isinstance(grid, Grid):
        grid = Grid.around(trajectories, CELL_METRES if grid is None else grid)
    return discretise(trajectories, grid)


def _whole(name: str, value: int | None) -> int | None:
    return None if value is None else check_whole(name, value)


def _mixing(chain: MarkovChain | None, reason: str) -> tuple[int | None, str]:
    if chain is None:
        return None, f"no chain was fitted: {reason}"
    try:
        return mixing_time(chain.transition), ""
    except NotApplicableError as error:
        return None, str(error)


def _most_visited(streams: Streams) -> tuple[int, ...]:
    seen, visits = np.unique(streams.cells, return_counts=True)
    return tuple(int(k) for k in seen[np.lexsort((seen, -visits))][:_SHOWN_PLACES])


def _about_places(streams: Streams, chain: MarkovChain) -> str:
    unseen = int((chain.transition == 0).sum())
    return (
        f"a record is one time step of one user, and it tells which of {len(chain.states)} places "
        f"it was ({', '.join(map(str, chain.states))}), chosen by how often they are visited; "
        f"{unseen} of {chain.transition.size} moves between them within one step were never seen "
        "and count as impossible"
    )


def _warned(found: Inspection, reason: str) -> Inspection:
    """The same inspection with what its reader must not overlook."""
    said, facts = [], found.facts
    if facts.users == 1:
        said.append(
            "there is one user only: at user level nobody is hidden among others, and no release "
            "about users makes sense"
        )
    if reason:
        said.append(f"no chain was fitted, so that any dependence is allowed for: {reason}")
    times = found.event.value / found.epsilon if found.epsilon else 1.0
    if times > 1.005:
        said.append(
            f"event level: steps tell about each other, so that epsilon {found.epsilon:g} gives "
            f"away up to {found.event.value:.4g} about one step, {times:.3g} times as much"
        )
    if found.mixing is not None and not found.window_is_long_enough:
        said.append(
            f"w-event level: w = {found.units.w} does not exceed the mixing time of "
            f"{found.mixing} steps, so that what lies outside the window still tells about it"
        )
    if facts.most_per_user > 1:
        said.append(
            f"trajectory level is not user level: a user owns up to {facts.most_per_user:,} "
            f"trajectories, so that epsilon per trajectory is {facts.most_per_user:,} epsilon per "
            "user"
        )
    return replace(found, warnings=tuple(said))
