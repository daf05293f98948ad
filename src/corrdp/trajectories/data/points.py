"""Trajectories in memory: the points of all users, one trajectory after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corrdp.errors import DataError
from corrdp.trajectories.data.checking import check_points, check_times, named
from corrdp.trajectories.data.splitting import moments_of, split_points


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

    # -- flags of the data (T-01) ------------------------------------------------------------

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
