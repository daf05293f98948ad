"""From one row per point to trajectories by user, pause or day, and what these must satisfy.

Messages name the rows, but not by where somebody was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._checks import check_choice, check_items
from corrdp.errors import DataError, InputError

if TYPE_CHECKING:
    from corrdp.trajectories.data.points import Trajectories

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_SECOND = np.timedelta64(1, "s")
DAY = 86400.0
ENDS = "a trajectory ends with"
PLACES_FROM_DATA = (
    "the list of places is the one that occurs in the data: for a release, name a public one"
)


def seconds(duration: str | float, name: str = "duration") -> float:
    """A length of time in seconds: a number, or text with a unit (s, min, h, d).

    Parameters
    ----------
    duration : str or float
    name : str
        Argument that holds it, for the message.

    Examples
    --------
    >>> seconds("5min"), seconds("1.5 h"), seconds(30)
    (300.0, 5400.0, 30.0)
    """
    value = duration
    if isinstance(duration, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h|d)\s*", duration)
        if found is None:
            raise InputError(f"{name} {duration!r}: write a number and s, min, h or d, as in 5min")
        value = float(found[1]) * _UNITS[found[2]]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-9 <= value <= 1e15:
        raise InputError(f"{name} must be a positive length of time, got {duration!r}")
    return float(value)


def duration(value: float) -> str:
    """Seconds as text, in the largest unit that divides them: inverse of :func:`seconds`.

    Examples
    --------
    >>> duration(600.0), duration(90), duration(7200)
    ('10min', '90s', '2h')
    """
    unit = next(name for name in ("d", "h", "min", "s") if name == "s" or value % _UNITS[name] == 0)
    return f"{value / _UNITS[unit]:.15g}{unit}"


def moments_of(times: Any) -> np.ndarray:
    """Times as seconds: numbers as they are, dates since 1970 (with a zone: since 1970 in UTC).

    Parameters
    ----------
    times : sequence
        Numbers, datetimes, or an array or series of dates in any unit.

    Examples
    --------
    >>> moments_of(np.array(["1970-01-02"], "datetime64[ns]")).tolist()
    [86400.0]
    >>> moments_of([datetime(1970, 1, 1, 0, 10)]).tolist(), moments_of([7]).tolist()
    ([600.0], [7.0])
    """
    try:
        given = np.asarray(times)
        if given.dtype.kind == "M":
            given = given - np.datetime64(0, "s")
        if given.dtype.kind == "m":
            whole = given.astype("timedelta64[s]")  # apart: nanoseconds since 1970 fill no float
            return np.asarray((whole / _SECOND) + (given - whole) / _SECOND)
        if given.dtype == object and any(isinstance(time, datetime) for time in given.flat):
            starts = (datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC))
            zoned = given.flat[0].tzinfo is not None
            return np.array([(time - starts[zoned]).total_seconds() for time in given])
        return _floats(given)
    except (TypeError, ValueError, OverflowError, AttributeError):
        raise DataError(
            "times must be numbers of seconds, or dates all with a zone or all without one"
        ) from None


def split_points(
    users: Any,
    times: Any,
    *,
    lat: Any = None,
    lng: Any = None,
    labels: Any = None,
    split: str | float | None = None,
    duplicates: str = "error",
    places: Sequence[Any] | None = None,
    local: np.ndarray | None = None,
) -> dict[str, Any]:
    """The arguments of :class:`Trajectories`; see :meth:`Trajectories.from_points`.

    Rows of different users may be mixed; those of one user stay in their order. ``local`` are the
    times by which days are told where ``times`` are in UTC. O(n log n).

    Examples
    --------
    >>> split_points(["b", "a", "b"], [0, 0, 9], labels=["x", "x", "y"])["starts"].tolist()
    [0, 1, 3]
    """
    try:
        who = np.asarray(users)
    except ValueError:  # rows of different lengths
        raise DataError("users must be one name for each point") from None
    if who.ndim != 1 or who.size == 0:
        raise DataError("there are no points: users must be a sequence with at least one")
    check_choice("duplicates", duplicates, ("error", "first"))
    try:
        user_names, codes = np.unique(who, return_inverse=True)
    except TypeError:
        raise DataError("users must be names of one kind: all texts, or all numbers") from None
    moments = _column("times", moments_of(times), len(who))
    order = np.argsort(codes, kind="stable")
    said: list[str] = []
    if duplicates == "first":
        order = _first_of_each(codes, moments, order)
        said.append("of points of a user at one time the first row was kept")
    codes, moments = codes[order], moments[order]
    new = np.diff(codes, prepend=-1) != 0
    if split is not None:
        days = moments if local is None else local[order]
        new |= _breaks(moments, days, split, said)
    starts = np.flatnonzero(new)
    made: dict[str, Any] = {
        "starts": np.append(starts, len(codes)),
        "owner": codes[starts],
        "times": moments,
        "rows": order + 1,
        "user_names": [str(name) for name in user_names.tolist()],
    }
    for name, values in (("lat", lat), ("lng", lng)):
        if values is not None:
            made[name] = _column(name, values, len(who))[order]
    if labels is not None:
        names, coded = _labelled(labels, len(who), places, said)
        made |= {"labels": coded[order], "label_names": names}
    elif places is not None:
        raise InputError("places is the list of labels: give labels, or a grid for coordinates")
    return made | {"preprocessing": said, "repeats": len(who) - len(order)}


def _floats(given: np.ndarray) -> np.ndarray:
    if given.dtype.kind in "mMc":  # a cast would count the units of a date, and halve a number
        raise TypeError
    return given.astype(float)


def _column(name: str, values: Any, n: int) -> np.ndarray:
    try:
        column = _floats(np.asarray(values))
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} must be numbers") from None
    if column.shape != (n,):
        raise DataError(f"{name} must have one entry per point ({n}), got shape {column.shape}")
    return column


def _first_of_each(codes: np.ndarray, times: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Rows that do not repeat the time of the row before, of the same user."""
    repeats = (np.diff(codes[order], prepend=-1) == 0) & (np.diff(times[order], prepend=0) == 0)
    return order[~repeats]


def _breaks(
    times: np.ndarray, local: np.ndarray, split: str | float, said: list[str]
) -> np.ndarray:
    if isinstance(split, str) and split == "day":
        said.append(f"{ENDS} the calendar day, in the time zone of the data (UTC for offsets)")
        return np.diff(np.floor(local / DAY), prepend=local[0] // DAY) != 0
    longest = seconds(split, "split")
    said.append(f"{ENDS} a pause longer than {longest:g} s")
    return np.diff(times, prepend=times[0]) > longest


def _labelled(
    labels: Any, n: int, places: Sequence[Any] | None, said: list[str]
) -> tuple[list[str], np.ndarray]:
    texts = np.asarray([str(label) for label in check_items("labels", labels)])
    if texts.shape != (n,):
        raise DataError(f"labels must have one entry per point ({n}), got shape {texts.shape}")
    found, codes = np.unique(texts, return_inverse=True)
    if places is None:
        said.append(PLACES_FROM_DATA)
        return found.tolist(), codes
    known = [str(place) for place in check_items("places", places, letters=True)]
    if not known or len(set(known)) < len(known):
        raise InputError("places must be a list of distinct labels")
    number = {place: k for k, place in enumerate(known)}
    place_of = np.array([number.get(label, -1) for label in found.tolist()])
    if (place_of < 0).any():
        unknown = np.flatnonzero(place_of[codes] < 0)
        raise with_rows(
            unknown + 1,
            f"{named(unknown.size, 'point')} at a place that is not on the list of "
            f"{named(len(known), 'place')}; add it to the list if it is public",
        )
    return known, place_of[codes]


_SHOWN = 5


def named(count: int, one: str, many: str | None = None) -> str:
    """A number and what it counts.

    Examples
    --------
    >>> named(1, "user"), named(2, "trajectory", "trajectories")
    ('1 user', '2 trajectories')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def rows_listed(rows: Any) -> str:
    """Row numbers for a message.

    Examples
    --------
    >>> rows_listed([3]), rows_listed(range(2, 10))
    ('row 3', 'rows 2, 3, 4, 5, 6 and 3 more')
    """
    numbers = [f"{int(row)}" for row in rows]
    more = len(numbers) - _SHOWN
    shown = ", ".join(numbers[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return f"row {shown}" if len(numbers) == 1 else f"rows {shown}"


def with_rows(rows: Any, message: str) -> DataError:
    """An error about where people were: who and when is for a traceback (--debug) alone.

    Examples
    --------
    >>> with_rows([3, 9], "2 points outside the grid").__notes__
    ['rows 3, 9']
    """
    error = DataError(message)
    error.add_note(rows_listed(rows))
    return error


def check_points(walks: Trajectories) -> None:
    """Shapes, empty trajectories, codes, and coordinates in their range.

    Parameters
    ----------
    walks : Trajectories
        Its arrays are set.
    """
    n = walks.times.size
    if walks.times.ndim != 1 or n == 0:
        raise DataError("there are no points: times must be a sequence with at least one")
    _check_starts(walks.starts, walks.owner, n)
    coordinates = walks.lat is not None and walks.lng is not None
    if coordinates == (walks.labels is not None) or (walks.lat is None) != (walks.lng is None):
        raise DataError("give lat and lng, or labels: one way to say where a point is")
    for name in ("lat", "lng", "labels", "rows"):
        values = getattr(walks, name)
        if values is not None and values.shape != (n,):
            raise DataError(f"{name} must have one entry per point ({n}), got {values.shape}")
    _check_codes("owner", walks.owner, walks.user_names, "user_names")
    if walks.labels is not None:
        _check_codes("labels", walks.labels, walks.label_names, "label_names", walks.rows)
    else:
        check_range("lat", walks.lat, 90.0, walks.rows)
        check_range("lng", walks.lng, 180.0, walks.rows)


def _check_starts(starts: np.ndarray, owner: np.ndarray, n: int) -> None:
    if owner.ndim != 1 or starts.shape != (len(owner) + 1,) or starts[0] != 0 or starts[-1] != n:
        raise DataError(
            f"starts must run from 0 to {n} with one entry more than owner ({owner.size})"
        )
    if (empty := np.flatnonzero(np.diff(starts) <= 0)).size:
        raise DataError(
            f"trajectory {empty[0] + 1} of {len(owner)} is empty: every one needs a point; leave "
            "it out"
        )


def _check_codes(
    name: str, codes: np.ndarray, names: tuple[str, ...], list_name: str, rows: Any = None
) -> None:
    if len(set(names)) != len(names):
        raise DataError(f"{list_name} must be distinct")
    bad = np.flatnonzero((codes < 0) | (codes >= len(names)))
    if bad.size:
        where = "" if rows is None else f" in {rows_listed(rows[bad])}"
        raise DataError(
            f"{name} {codes[bad[0]]}{where} is unknown: {list_name} has {len(names)} entries"
        )


def check_range(name: str, degrees: np.ndarray, most: float, rows: np.ndarray) -> None:
    """Refuse coordinates that are no place on earth.

    Parameters
    ----------
    name : str
        "lat" or "lng", for the message.
    degrees : (n,) array
    most : float
        Largest absolute value.
    rows : (n,) array of int
        Row numbers.

    Examples
    --------
    >>> check_range("lat", np.array([39.9, 116.3]), 90, np.array([1, 2]))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: lat in row 2 is outside [-90, 90]; are lat and lng swapped?
    """
    bad = np.flatnonzero(~(np.abs(degrees) <= most))
    if bad.size == 0:
        return
    swapped = name == "lat" and abs(degrees[bad[0]]) <= 180
    raise DataError(
        f"{name} in {rows_listed(rows[bad])} is outside [-{most:g}, {most:g}]"
        + ("; are lat and lng swapped?" if swapped else "")
    )


def check_times(walks: Trajectories) -> None:
    """Refuse times that do not strictly increase along a trajectory.

    Parameters
    ----------
    walks : Trajectories
    """
    times, rows = walks.times, walks.rows
    if (bad := np.flatnonzero(~np.isfinite(times))).size:
        raise DataError(f"the time in {rows_listed(rows[bad])} is not a finite number")
    inside = np.ones(len(times), dtype=bool)
    inside[walks.starts[:-1]] = False  # the first point of a trajectory follows none
    step = np.diff(times, prepend=times[0])
    if (back := np.flatnonzero(inside & (step < 0))).size:
        at = back[0]
        raise DataError(
            f"the time of a user goes back in row {rows[at]}, after row {rows[at - 1]} "
            f"({named(len(back), 'such row')}); sort the rows by user and time"
        )
    if (same := np.flatnonzero(inside & (step == 0))).size:
        at = same[0]
        raise DataError(
            f"rows {rows[at - 1]} and {rows[at]} of a user have the same time "
            f"({named(len(same), 'such row')}: {rows_listed(rows[same])}); correct them, or keep "
            'the first of each with duplicates="first"'
        )
