"""What trajectories must satisfy; messages name the rows, but not by where somebody was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.errors import DataError

if TYPE_CHECKING:
    from corrdp.trajectories.data.points import Trajectories

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
