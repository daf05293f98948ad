"""Trajectories in memory, one after another, and how their points are read from files."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corrdp._checks import check_items
from corrdp.errors import DataError, InputError
from corrdp.queries import MISSING_TEXT
from corrdp.tables.clock import Reading, in_utc
from corrdp.tables.source import Table, open_table
from corrdp.tables.time import read_time
from corrdp.trajectories.data.splitting import (
    check_points,
    check_range,
    check_times,
    moments_of,
    named,
    rows_listed,
    split_points,
)


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """Points of users in time, all trajectories one after another.

    A trajectory is ``<p_1, .., p_m>`` with p = (place, time), m >= 1 and times that strictly
    increase; one user may own several. Make one with :func:`read_trajectories` or
    :meth:`from_points`, which split and check.

    Parameters
    ----------
    starts : (k + 1,) array of int
        Trajectory j holds the points ``starts[j]:starts[j + 1]``.
    owner : (k,) array of int
        User of each trajectory, an index of ``user_names``.
    times : (n,) array of float
        Seconds (since 1970 where the data hold dates); dates are turned into seconds.
    lat, lng : (n,) arrays of float, optional
        Degrees. Either these or ``labels``.
    labels : (n,) array of int, optional
        Place of each point, an index of ``label_names``.
    user_names, label_names : sequence of str
    rows : (n,) array of int, optional
        Row of each point in the data it comes from, from 1; for messages.
    preprocessing : sequence of str
        What was done to the data beforehand, in words; a release takes it as public.
    repeats : int
        Rows that ``duplicates="first"`` left out. Private, as all counts of rows.

    References
    ----------
    Guerra-Balboa, dissertation, section 3.1.

    Examples
    --------
    >>> walks = Trajectories([0, 2, 3], [0, 1], [0., 60., 0.], labels=[0, 1, 1],
    ...                      user_names=("ann", "bob"), label_names=("home", "shop"))
    >>> walks
    <2 trajectories of 2 users, 3 points with places, not periodic>
    >>> walks.users.tolist(), walks.lengths.tolist(), len(walks)
    ([0, 0, 1], [2, 1], 2)
    """

    starts: Any
    owner: Any
    times: Any
    lat: Any = None
    lng: Any = None
    labels: Any = None
    user_names: Any = ()
    label_names: Any = ()
    rows: Any = None
    preprocessing: Any = ()
    repeats: int = 0

    def __post_init__(self) -> None:
        for name, kind in _ARRAYS.items():
            if getattr(self, name) is None:
                continue
            given = getattr(self, name)
            try:
                values = np.array(moments_of(given) if name == "times" else given, dtype=kind)
            except (TypeError, ValueError, OverflowError):
                raise DataError(f"{name} must be numbers") from None
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        for name in ("user_names", "label_names", "preprocessing"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.rows is None:
            object.__setattr__(self, "rows", np.arange(1, self.times.size + 1))
        check_points(self)
        check_times(self)

    @classmethod
    def from_points(
        cls,
        users: Any,
        times: Any,
        *,
        lat: Any = None,
        lng: Any = None,
        labels: Any = None,
        split: str | float | None = None,
        duplicates: str = "error",
        places: Sequence[Any] | None = None,
    ) -> Trajectories:
        """Trajectories from one row per point, the rows of a user in order of time.

        Parameters
        ----------
        users : sequence
            Whose point it is.
        times : sequence
            Seconds, or dates with a time: datetimes, or an array or series of them in any unit.
        lat, lng : sequences of float, optional
            Degrees; or else ``labels``.
        labels : sequence, optional
            Places.
        split : str or float, optional
            What ends a trajectory besides the user: "day" (a new calendar day), or a pause longer
            than this, such as "20min" (a number is seconds). Left out: one trajectory per user.
        duplicates : {"error", "first"}
            Two points of a user at one time: an error, or keep the first row.
        places : sequence, optional
            The public list of places; a label that is not on it is an error. Left out, the places
            are those that occur, which is private knowledge and is said in ``preprocessing``.

        Examples
        --------
        >>> walks = Trajectories.from_points(
        ...     ["a", "b", "a", "a"], [0, 0, 60, 9000], labels=["x", "y", "y", "x"], split="20min")
        >>> walks.starts.tolist(), walks.owner.tolist(), walks.rows.tolist()
        ([0, 2, 3, 4], [0, 0, 1], [1, 3, 4, 2])
        """
        return cls(
            **split_points(
                users,
                times,
                lat=lat,
                lng=lng,
                labels=labels,
                split=split,
                duplicates=duplicates,
                places=places,
            )
        )

    # -- what there is -----------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def points(self) -> int:
        """Number of points."""
        return len(self.times)

    @property
    def lengths(self) -> np.ndarray:
        """Points of each trajectory."""
        return np.diff(self.starts)

    @cached_property
    def users(self) -> np.ndarray:
        """User of each point, an index of ``user_names``."""
        return np.repeat(self.owner, self.lengths)

    # -- flags of the data -------------------------------------------------------------------

    @property
    def semantic(self) -> bool:
        """Whether places are labels, not coordinates."""
        return self.labels is not None

    @property
    def equal_length(self) -> bool:
        """Whether all trajectories have as many points."""
        return len(np.unique(self.lengths)) == 1

    @property
    def most_per_user(self) -> int:
        """Largest number of trajectories of one user: s in "trajectory level, s epsilon"."""
        return int(np.bincount(self.owner).max())

    @cached_property
    def periodic(self) -> bool:
        """Whether every user reports at the same, evenly spaced times."""
        steps = np.unique(self.times)
        even = len(steps) < 3 or np.allclose(np.diff(steps), steps[1] - steps[0], rtol=1e-9)
        owners = len(np.unique(self.owner))
        pairs = len(np.unique(np.stack([self.users, self.times]), axis=1).T)
        return bool(even and pairs == owners * len(steps) == self.points)

    def __repr__(self) -> str:
        people = len(np.unique(self.owner))
        what = "places" if self.semantic else "coordinates"
        told = [f"{self.points:,} points with {what}", "" if self.periodic else "not "]
        return (
            f"<{named(len(self), 'trajectory', 'trajectories')} of {named(people, 'user')}, "
            f"{told[0]}, {told[1]}periodic>"
        )


_ARRAYS = {
    "starts": np.int64,
    "owner": np.int64,
    "times": np.float64,
    "lat": np.float64,
    "lng": np.float64,
    "labels": np.int64,
    "rows": np.int64,
}


def read_trajectories(
    path: Any,
    *,
    user: str = "uid",
    time: str = "datetime",
    lat: str = "lat",
    lng: str = "lng",
    label: str | None = None,
    split: str | float | None = None,
    duplicates: str = "error",
    places: Sequence[Any] | None = None,
    missing: Iterable[str] = MISSING_TEXT,
    order_format: str | None = None,
    timezone: str | None = None,
) -> Trajectories:
    """Read points (user, time, place) and split them into trajectories.

    Nothing is dropped, sorted or filled without being asked: a missing value, times that do not
    increase and coordinates outside their range are errors that name the row, the first row after
    the header being row 1.

    Parameters
    ----------
    path : str, Path, data frame or Table
        CSV (also gzipped) or Parquet, or a data frame of pandas, polars or pyarrow.
    user, time, lat, lng : str
        Columns, or SQL expressions over the columns of one row. A time is a date with a time or a
        date, written in one of the formats of :mod:`corrdp.tables.time`, or a number of seconds.
    label : str, optional
        A column of places; ``lat`` and ``lng`` are then not read.
    split, duplicates, places
        As in :meth:`Trajectories.from_points`.
    missing : iterable of str
        Texts that mean "not recorded".
    order_format : str, optional
        How the times are written, such as "%m/%d/%Y %I:%M %p"; recognised when left out.
    timezone : str, optional
        The zone of local times, such as "Europe/Berlin": they are turned into UTC. Without it a
        clock that is set back goes back in time. Days of ``split`` stay those of the zone.

    Returns
    -------
    Trajectories

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "walk.csv"
    >>> _ = path.write_text('''lat,lng,datetime,uid
    ... 39.98,116.31,2008-10-23 05:53:05,1
    ... 39.99,116.32,2008-10-23 05:54:05,1
    ... 39.90,116.30,2008-10-23 05:53:05,2
    ... ''')
    >>> read_trajectories(path)
    <2 trajectories of 2 users, 3 points with coordinates, not periodic>
    """
    table = open_table(path, check_items("missing", missing))
    if not table.has_row_order:
        raise InputError("this engine keeps no order of rows: open the file with DuckDB")
    _check_separated(table)
    columns = {"user": user, "time": time}
    columns |= {"lat": lat, "lng": lng} if label is None else {"label": label}
    picked = table.pick(**columns)
    how = Reading(formats=() if order_format is None else (order_format,), timezone=timezone)
    if picked.schema()["time"].is_string() or how.formats or timezone is not None:
        picked = table.stored(picked)  # a time that is recognised is read more than once
        moment = read_time(table, picked, "time", time, how.form(0))
        if moment.kind == "day time":
            raise DataError(f"`{time}` holds times of day without a date: add the date")
        if timezone is None:
            picked = picked.mutate(time=moment.value)
        elif moment.kind != "moment":
            raise DataError(
                f"timezone is for local times without an offset, and `{time}` holds none; leave it "
                "out"
            )
        else:
            picked = picked.mutate(time=moment.value, major=moment.number)
            picked, _ = in_utc(table, picked, timezone)
    read = table.collect(picked)
    for name, column in columns.items():
        if read[name].null_count:
            absent = np.flatnonzero(read[name].is_null().to_numpy()) + 1
            raise DataError(f"`{column}` is missing in {rows_listed(absent)}; drop these rows")
    where: dict[str, Any] = {}
    if label is None:
        where = {name: _degrees(read[name], columns[name]) for name in ("lat", "lng")}
        rows = np.arange(1, read.num_rows + 1)
        check_range("lat", where["lat"], 90.0, rows)
        check_range("lng", where["lng"], 180.0, rows)
    else:
        where = {"labels": read["label"].to_pylist()}
    moments = _seconds(read["time"], time)
    if timezone is not None:
        local, moments = moments, read["major"].to_numpy() / 1e6
    made = split_points(
        read["user"].to_numpy(),
        moments,
        local=None if timezone is None else local,
        split=split,
        duplicates=duplicates,
        places=places,
        **where,
    )
    if timezone is not None:
        made["preprocessing"].append(
            f"times are local ones of {timezone} turned into UTC; where its clocks show an hour "
            "twice, the first is meant"
        )
    return Trajectories(**made)


def _check_separated(table: Table) -> None:
    """A text whose rows have unequal numbers of fields was read as one column: name the rows."""
    if len(table.columns) > 1:
        return
    head = table.columns[0]
    mark = max(",;\t|", key=head.count)
    if not head.count(mark):
        return
    opened = gzip.open if str(table.path).endswith(".gz") else open
    with opened(table.path, "rt", encoding="utf-8", errors="replace", newline="") as text:
        lines = csv.reader(text, delimiter=mark)
        wide = len(next(lines))
        ragged = [number for number, row in enumerate(lines, 1) if row and len(row) != wide]
    if ragged:
        raise DataError(
            f"{table.path}: {rows_listed(ragged)} {'has' if len(ragged) == 1 else 'have'} not the "
            f"{wide} fields of the header; correct them"
        )


def _degrees(column: Any, name: str) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_temporal(column.type) or types.is_string(column.type):  # inf reads as one of these
        raise DataError(
            f"`{name}` must hold degrees, and it holds dates or text, or inf or infinity in place "
            "of a finite number"
        )
    if not _is_number(column.type):
        raise DataError(f"`{name}` must hold degrees, and it is of type {column.type}")
    return np.asarray(column.cast(pa.float64()).to_numpy())


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _seconds(column: Any, name: str) -> np.ndarray:
    """Seconds since 1970, or the numbers as they are."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_timestamp(column.type):
        micro = column.cast(pa.timestamp("us", tz=column.type.tz), safe=False).cast(pa.int64())
        return np.asarray(micro.to_numpy()) / 1e6
    if types.is_date(column.type):
        return np.asarray(column.cast(pa.date32()).cast(pa.int32()).to_numpy()) * 86400.0
    if _is_number(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy())
    raise DataError(f"`{name}` must hold times or seconds, and it is of type {column.type}")
