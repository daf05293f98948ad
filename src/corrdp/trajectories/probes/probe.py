"""Probes: what a release of movements gives away, against the original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corrdp._checks import check_kind, check_number, check_whole
from corrdp.attacks.base import counted_interval, success_interval
from corrdp.attacks.linking import Distance, PlacedPoints, lone_walks, match_chances
from corrdp.attacks.next_place import (
    HOURS,
    NOWHERE,
    MovesMade,
    blind_next,
    likeliest_next,
    moves_made,
    usual_places,
)
from corrdp.attacks.singling import known_points
from corrdp.errors import DataError, InputError
from corrdp.mechanisms.base import check_positive
from corrdp.trajectories.data.cells import CellSequences
from corrdp.trajectories.data.points import Trajectories
from corrdp.trajectories.data.splitting import named, seconds
from corrdp.trajectories.mechanisms.noisytree import ReleasedSequences
from corrdp.trajectories.mechanisms.publishing import PublishedMoves
from corrdp.trajectories.probes.results import (
    NoiseGain,
    Probe,
    Probes,
    SeenRelease,
    original_points,
)

_LOWER = (
    "these are the attacks that were run: a cleverer one may do better, and a low number proves "
    "nothing; only the guarantee does"
)
_SAME = "the attacker who saw the original predicts the very moves it learned from"
_LINKED = "the released trajectories of one user are known to be of one user (home, work)"
_TIMES = "when points were recorded is known to everybody"
_HOME = "home and work are the usual places at night and in office hours, not known addresses"


def probe(
    original: Trajectories,
    release: PublishedMoves | SeenRelease,
    cells: CellSequences,
    *,
    rng: np.random.Generator,
    known: int = 4,
    step: str | float = "5min",
    utc_offset: float = 0.0,
    rate: float | None = None,
    samples: int = 2000,
) -> Probes:
    """Attack a release of movements, and say how much it helped.

    Every attack is scored against the original, beside the guesses of one who never saw the
    release and of one who saw the original.

    =========  ==============================  ===========================================
    attack     right when                      without the release
    =========  ==============================  ===========================================
    filtering  a point is put into its cell    any cell
    unicity    ``known`` points of somebody    the times alone
               find the right trajectory
    home       the usual place at night        any place
    work       the same in office hours        any place
    next       the next other place is told    straight on, or a place around
    copies     a walk is in one original       walks of the same lengths, drawn blindly
    =========  ==============================  ===========================================

    The first five need a release with times (noisy points, a sample); ``next`` and ``copies``
    look at trajectories without them (synthetic ones, local reports).

    Parameters
    ----------
    original : Trajectories
    release : PublishedMoves or SeenRelease
        From ``mechanism.release(data, cells=cells)``, or
        :func:`~corrdp.trajectories.probes.results.read_release`.
    cells : CellSequences
        The original over the places of the release: ``discretise`` with the same arguments.
    rng : numpy.random.Generator
        For what is drawn: known points, and blind guesses.
    known : int
        Points that an attacker knows of somebody.
    step : str or float
        How exactly their times are known, and what a stay is measured in.
    utc_offset : float
        Hours to add to the times of the data to get local time.
    rate : float, optional
        Epsilon per metre of planar Laplace noise, which is no secret. Needed for noisy points
        that were read from a file.
    samples : int
        Attackers with known points that are drawn, where there are too many to count.

    Returns
    -------
    Probes

    References
    ----------
    Guerra-Balboa, dissertation, section 3.2; movements#filtering.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.mechanisms.sampling import BernoulliSample
    >>> walks = Trajectories.from_points(
    ...     ["a"] * 4 + ["b"] * 4, [0, 600, 1200, 1800] * 2, labels=list("xyxzxxyz"), places="xyz")
    >>> cells = discretise(walks)
    >>> everything = BernoulliSample(3, 1.0).release(walks, cells=cells)
    >>> found = probe(walks, everything, cells, rng=np.random.default_rng(1), known=2)
    >>> found["unicity"].success == found["unicity"].original
    True
    """
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a numpy.random.Generator, got {rng!r}")
    check_kind("original", original, Trajectories, "Trajectories")
    check_kind("cells", cells, CellSequences, "what discretise returns")
    known, samples = check_whole("known", known), check_whole("samples", samples)
    utc_offset = check_number("utc_offset", utc_offset, least=-14, most=14)
    if rate is None:
        rate = _rate_of(release)
    else:
        check_positive("rate", rate)
    seen = SeenRelease.of(release) if isinstance(release, PublishedMoves) else release
    if not isinstance(seen, SeenRelease):
        raise InputError(
            "release must come from mechanism.release or read_release, "
            f"got {type(release).__name__}"
        )
    if seen.places.max() >= cells.size:
        raise DataError(
            f"the release has place {seen.places.max()} and the original {cells.size} places only: "
            "give cells over the places of the release"
        )
    width = seconds(step, "step")
    if seen.times is None:
        return _of_walks(seen, cells, rng)
    if len(cells.codes) != original.points:
        raise DataError(
            f"cells hold {len(cells.codes):,} points and the original {original.points:,}: for a "
            "release with times, discretise without merge_stays"
        )
    case = _Points.of(original, seen, cells, rate)
    done = [
        _filtering(case),
        _unicity(case, known, width, samples, rng),
        _usual(case, "home", width, utc_offset),
        _usual(case, "work", width, utc_offset),
        _next(moves_made(case.guessed, cells.starts), cells, rng),
    ]
    return Probes(
        f"{len(seen.places):,} published points of {named(original.points, 'point')}, with times",
        tuple(one for one in done if isinstance(one, Probe)),
        tuple(one for one in done if not isinstance(one, Probe)),
        case.noise,
        (_LOWER, _SAME, _TIMES, _LINKED, _HOME),
    )


Skipped = tuple[str, str]


def _rate_of(release: PublishedMoves | SeenRelease) -> float | None:
    """The rate of planar noise that a release in memory tells."""
    if not isinstance(release, PublishedMoves) or release.times is None:
        return None
    assert isinstance(release.result, ReleasedSequences)
    return None if release.result.positions is not None else release.result.epsilon


def _of_walks(seen: SeenRelease, cells: CellSequences, rng: np.random.Generator) -> Probes:
    """Trajectories without times: whose are they, and what do they teach?"""
    done = [
        _copies(seen, cells, rng),
        _next(moves_made(seen.places, seen.starts), cells, rng),
    ]
    return Probes(
        f"{named(len(seen.numbers), 'published trajectory', 'published trajectories')} without "
        f"times, {named(len(seen.places), 'point')}",
        tuple(one for one in done if isinstance(one, Probe)),
        (
            *(one for one in done if not isinstance(one, Probe)),
            ("others", "filtering, unicity, home and work need the times of points"),
        ),
        None,
        (_LOWER, _SAME),
    )


@dataclass(frozen=True, eq=False)
class _Points:
    """A release with times, on the moments of the original."""

    walks: Trajectories
    cells: CellSequences
    published: np.ndarray  # place published of each original point, -1 where withheld
    guessed: np.ndarray  # place that the attacker takes it to be in
    noise: NoiseGain | None

    @classmethod
    def of(
        cls, walks: Trajectories, seen: SeenRelease, cells: CellSequences, rate: float | None
    ) -> _Points:
        at = original_points(seen, walks)
        published = np.full(walks.points, NOWHERE)
        published[at] = seen.places
        if cells.grid is None:
            return cls(walks, cells, published, published, None)
        guessed, noise = _followed(walks, cells, published, rate)
        return cls(walks, cells, published, guessed, noise)


def _followed(
    walks: Trajectories, cells: CellSequences, published: np.ndarray, rate: float | None
) -> tuple[np.ndarray, NoiseGain | None]:
    """Cells of the filtered path, withheld points included, and how far off points are."""
    from corrdp.attacks.filtering import follow

    grid = cells.grid
    assert grid is not None
    there = published != NOWHERE
    if rate is None and (moved := int((published != cells.codes)[there].sum())):
        raise DataError(
            f"{named(moved, 'published point')} of {int(there.sum()):,} are not in their cell: for "
            "noisy points give the rate of the noise, --epsilon and --radius of the release; for a "
            "sample, --box, --grid, --clip, --split and --keep-first of the release"
        )
    reports = np.full((len(published), 2), np.nan)
    reports[there] = np.stack(grid.to_metres(*grid.centre(published[there])), axis=1)
    high, wide = grid.cell_metres
    # planar Laplace noise in each coordinate, and rounding to the middle of a cell
    noise = high * wide / 12 + (0.0 if rate is None else 3 / rate**2)
    found = follow(reports, walks.times, walks.starts, noise=noise)
    near = ~np.isnan(found.smoothed[:, 0])
    guessed = np.full(len(published), NOWHERE)
    lat, lng = grid.to_degrees(*found.smoothed[near].T)
    guessed[near] = grid.cell(lat, lng, outside="clip")
    if rate is None or found.error > found.noise / 2:  # little to gain: what was published stands
        guessed[there] = published[there]
    truth = np.stack(grid.to_metres(walks.lat, walks.lng), axis=1)
    inside = there & (walks.lat >= grid.south) & (walks.lat <= grid.north)
    inside &= (walks.lng >= grid.west) & (walks.lng <= grid.east)
    if not inside.any():
        return guessed, None
    nominal, effective = (
        float(np.sqrt(np.mean(np.sum((path[inside] - truth[inside]) ** 2, axis=1))))
        for path in (reports, found.smoothed)
    )
    return guessed, NoiseGain(nominal, effective, int(inside.sum()))


def _filtering(case: _Points) -> Probe | Skipped:
    truth = case.cells.codes
    if case.cells.grid is None:
        return "filtering", "places are labels, without distances"
    hits = case.guessed == truth
    raw = float((case.published == truth).mean())
    told = ""
    if case.noise is not None:
        told = (
            f"published points are {case.noise.nominal:,.0f} m off (root mean square), filtered "
            f"ones {case.noise.effective:,.0f} m; "
        )
    return Probe(
        "filtering",
        float(hits.mean()),
        _interval(hits, truth),
        1 / case.cells.size,
        1.0,
        len(hits),
        f"{told}the filtered path tells the cell of {_share(hits.mean())} of all points, the "
        f"release as it stands {_share(raw)}",
    )


def _unicity(
    case: _Points, known: int, width: float, samples: int, rng: np.random.Generator
) -> Probe | Skipped:
    walks, cells = case.walks, case.cells
    if len(walks) < 2:
        return "unicity", "there is one trajectory only, and nobody to confuse it with"
    which = np.repeat(np.arange(len(walks)), walks.lengths)
    steps = np.floor(walks.times / width).astype(np.int64)
    truth = PlacedPoints.of(which, steps, cells.codes)
    order = np.argsort(truth.trajectory, kind="stable")
    starts = np.searchsorted(truth.trajectory[order], np.arange(len(walks) + 1))
    if np.diff(starts).max() < known:
        return "unicity", f"no trajectory has {known} different points (place and time step)"
    who, points, complete = known_points(starts, known, samples=samples, rng=rng)
    points = order[points]
    there = case.guessed != NOWHERE
    seen = PlacedPoints.of(which[there], steps[there], case.guessed[there])
    asked = truth.step[points], truth.place[points]

    def chance(where: PlacedPoints, blind: bool = False) -> np.ndarray:
        distance, most = (_same, 1.0) if blind else _distance(cells)
        return match_chances(where, who, *asked, distance, most, len(walks))

    chances = chance(seen)
    rate, timed, full = float(chances.mean()), chance(seen, blind=True).mean(), chance(truth).mean()
    interval = (rate, rate)
    if not complete:
        hits = int((rng.random(len(chances)) < chances).sum())  # one guess each, ties by lot
        rate, interval = hits / len(chances), counted_interval(hits, len(chances))
    return Probe(
        "unicity",
        rate,
        interval,
        float(timed),
        float(full),
        len(chances),
        f"{named(known, 'known point')} of somebody (place, and time to {width:g} s) find the "
        f"right released trajectory in {_share(rate)} of cases; the times alone do so in "
        f"{_share(timed)}, the original in {_share(full)}",
    )


def _same(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.zeros(len(one))


def _distance(cells: CellSequences) -> tuple[Distance, float]:
    grid = cells.grid
    if grid is None:
        return (lambda x, y: (x != y).astype(float)), 1.0
    high, wide = grid.cell_metres

    def metres(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        (row, column), (row2, column2) = np.divmod(x, grid.columns), np.divmod(y, grid.columns)
        return np.hypot((row - row2) * high, (column - column2) * wide)

    return metres, float(np.hypot(grid.rows * high, grid.columns * wide))


def _usual(case: _Points, when: str, width: float, utc_offset: float) -> Probe | Skipped:
    walks = case.walks
    times = walks.times + 3600 * utc_offset
    count = len(walks.user_names)
    there = case.guessed != NOWHERE
    truth = usual_places(walks.users, times, case.cells.codes, count, when, width)
    guess = usual_places(walks.users[there], times[there], case.guessed[there], count, when, width)
    tested = truth != NOWHERE
    if not tested.any():
        return when, f"nobody has a point {HOURS[when]}"
    hits = (guess == truth)[tested]
    right = int(hits.sum())
    return Probe(
        when,
        float(hits.mean()),
        counted_interval(right, len(hits)),
        1 / case.cells.size,
        1.0,
        len(hits),
        f"the usual place {HOURS[when]}, is told of {right:,} of {named(len(hits), 'user')}",
    )


def _next(learned: MovesMade, cells: CellSequences, rng: np.random.Generator) -> Probe | Skipped:
    moves = moves_made(cells.codes, cells.starts)
    if not len(moves):
        return "next", "nobody changes place in the original"
    blind = blind_next(moves, cells.size, cells.grid, rng)

    def right(source: MovesMade) -> np.ndarray:
        told = likeliest_next(source, moves.here, cells.size)
        return np.where(told == NOWHERE, blind, told) == moves.after

    hits, best, none = right(learned), right(moves), blind == moves.after
    return Probe(
        "next",
        float(hits.mean()),
        _interval(hits, moves.after),
        float(none.mean()),
        float(best.mean()),
        len(hits),
        f"a chain learned from the release tells the next place in {_share(hits.mean())} of "
        f"{named(len(hits), 'move')}; without it {_share(none.mean())}, learned from the original "
        f"{_share(best.mean())}",
    )


def _copies(seen: SeenRelease, cells: CellSequences, rng: np.random.Generator) -> Probe:
    blind = np.split(rng.integers(0, cells.size, len(seen.places)), seen.starts[1:-1])
    shares = []
    for walks in (seen.sequences, blind, cells.sequences):
        shares.append(float(lone_walks(walks, cells.codes, cells.starts).mean()))
    rate, none, full = shares
    right = round(rate * len(seen.numbers))
    return Probe(
        "copies",
        rate,
        (rate, rate),
        none,
        full,
        len(seen.numbers),
        f"{right:,} of {named(len(seen.numbers), 'published walk')} occur, place by place, in "
        f"exactly one original trajectory; of walks drawn blindly {_share(none)}, of the originals "
        f"themselves {_share(full)}",
    )


def _interval(hits: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """95 % interval for successes along paths, which depend on each other."""
    if len(hits) < 2:
        return 0.0, 1.0
    if hits.all() or not hits.any():
        # nothing to see in the successes: they are as alike as what was to be guessed
        kept = float((truth[1:] == truth[:-1]).mean())
    else:
        here, after = hits[:-1] - hits.mean(), hits[1:] - hits.mean()
        kept = max(0.0, float(np.sum(here * after) / np.sum((hits - hits.mean()) ** 2)))
    return success_interval(hits, min(kept, 1.0))


def _share(rate: float) -> str:
    return f"{100 * float(rate):.3g} %"
