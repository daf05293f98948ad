"""Whether moves are possible at all, and sequences as mechanisms take them: checked and cut."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp import _checks
from corrdp._checks import check_items
from corrdp.errors import DataError, InputError
from corrdp.mechanisms.base import check_positive
from corrdp.results import Result

Possible = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Moves:
    """Which place can follow which, from public knowledge: a map, a speed limit.

    Parameters
    ----------
    k : int
        Number of places.
    possible : function
        ``possible(here, next)`` for arrays of places: whether each move can be made.

    Examples
    --------
    >>> line = Moves.from_matrix([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> line.check([[0, 1, 2], [0, 2]])
    1 of 3 moves (33.3 %) in 1 of 2 trajectories cannot be made; the first is 0 to 2, in \
sequences[1] after point 1
    >>> [s.tolist() for s in line.cut([[0, 1, 2], [0, 2]])]
    [[0, 1, 2], [0]]
    """

    k: int
    possible: Possible

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole("k", self.k))
        if not callable(self.possible):
            raise InputError(
                f"possible must be a function of two arrays of places, got {self.possible!r}"
            )

    @classmethod
    def from_matrix(cls, allowed: Any) -> Moves:
        """From a (k, k) table of 0 and 1, or of booleans."""
        try:
            table = np.asarray(allowed)
        except ValueError:  # rows of different lengths
            table = np.empty(0)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
            raise InputError(f"allowed must be a square table, got shape {table.shape}")
        if not np.isin(table, (0, 1)).all():
            raise InputError("allowed must hold 0 and 1 only")
        table = table.astype(bool)
        return cls(len(table), lambda here, then: table[here, then])

    @classmethod
    def from_speed(cls, k: int, distance: Possible, *, speed: float, seconds: float) -> Moves:
        """Places at most ``speed * seconds`` apart.

        Parameters
        ----------
        k : int
        distance : function
            Metres between places, for arrays: ``Grid.distance`` for a grid.
        speed : float
            Metres per second; public.
        seconds : float
            Time between two points; public.

        Examples
        --------
        >>> near = Moves.from_speed(9, lambda a, b: 100.0 * abs(a - b), speed=2, seconds=60)
        >>> near.possible(np.array([0, 0]), np.array([1, 2])).tolist()
        [True, False]
        """
        reach = check_positive("speed", speed) * check_positive("seconds", seconds)
        if not callable(distance):
            raise InputError(f"distance must be a function of two arrays, got {distance!r}")
        return cls(k, lambda here, then: distance(here, then) <= reach)

    def table(self) -> np.ndarray:
        """All moves as a (k, k) table of booleans."""
        if self.k > 20_000:
            raise InputError(f"a table of {self.k:,} x {self.k:,} moves is too large to hold")
        here = np.arange(self.k)
        return np.asarray(self.possible(here[:, None], here[None, :]), dtype=bool)

    def check(self, sequences: Sequence[Any]) -> Reachability:
        """How many moves of these trajectories cannot be made (lint L-24)."""
        checked = check_sequences(sequences, self.k)
        here, then, ends = _pairs(checked)
        bad = ~np.asarray(self.possible(here, then), dtype=bool)
        owner = np.searchsorted(ends, np.arange(len(here)), side="right")
        first = None
        if bad.any():
            at = int(np.argmax(bad))
            which = int(owner[at])
            step = at - (int(ends[which - 1]) if which else 0)
            first = (which, step + 1, int(here[at]), int(then[at]))
        return Reachability(
            len(here), int(bad.sum()), len(checked), len(np.unique(owner[bad])), first
        )

    def cut(self, sequences: Sequence[Any]) -> list[np.ndarray]:
        """Each trajectory up to its first impossible move; post-processing of a release."""
        kept = []
        for codes in check_sequences(sequences, self.k):
            bad = np.flatnonzero(~np.asarray(self.possible(codes[:-1], codes[1:]), dtype=bool))
            kept.append(codes[: bad[0] + 1] if bad.size else codes)
        return kept


@dataclass(frozen=True, repr=False)
class Reachability(Result):
    """How many moves cannot be made; ``float`` gives their share.

    Parameters
    ----------
    moves, impossible : int
    trajectories, affected : int
    first : (sequence, point, from, to) or None
    """

    result = "reachability"

    moves: int
    impossible: int
    trajectories: int
    affected: int
    first: tuple[int, int, int, int] | None

    def __float__(self) -> float:
        return self.impossible / self.moves if self.moves else 0.0

    def __repr__(self) -> str:
        if self.first is None:
            return self.told(str)
        which, step = self.first[:2]
        return f"{self.told(str)}, in sequences[{which}] after point {step}"

    def told(self, name: Callable[[int], str]) -> str:
        """The same for a reader, who knows places by their names.

        Examples
        --------
        >>> Reachability(3, 1, 2, 1, (1, 1, 0, 2)).told("home park shop".split().__getitem__)
        '1 of 3 moves (33.3 %) in 1 of 2 trajectories cannot be made; the first is home to shop'
        """
        if self.first is None:
            return f"all {self.moves:,} moves can be made"
        here, then = map(name, self.first[2:])
        return (
            f"{self.impossible:,} of {self.moves:,} moves ({100 * float(self):.1f} %) in "
            f"{self.affected:,} of {self.trajectories:,} trajectories cannot be made; the first "
            f"is {here} to {then}"
        )


def _pairs(sequences: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both ends of every move, and how many moves there are up to each trajectory's last."""
    empty = np.empty(0, dtype=np.int64)
    here = np.concatenate([empty, *(s[:-1] for s in sequences)])
    then = np.concatenate([empty, *(s[1:] for s in sequences)])
    return here, then, np.cumsum([len(s) - 1 for s in sequences], dtype=np.int64)


MOST = 2**53  # whole numbers up to here are floats as well


check_whole = functools.partial(_checks.check_whole, most=MOST)


def check_sequences(sequences: Sequence[Any], k: int) -> list[np.ndarray]:
    """Trajectories as arrays of codes 0 .. k-1, none of them empty.

    Parameters
    ----------
    sequences : sequence of sequences of int
        One per trajectory.
    k : int
        Size of the public universe.

    Examples
    --------
    >>> check_sequences([[0, 1], [1, 2]], 2)
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: sequences[1] holds a place that is none of 0 to 1
    """
    checked = []
    for i, sequence in enumerate(check_items("sequences", sequences)):
        try:
            codes = np.asarray(sequence)
        except ValueError:  # rows of different lengths
            codes = np.empty((0, 0))
        if codes.ndim != 1 or not codes.size:
            raise DataError(f"sequences[{i}] is empty or no list of places; leave it out")
        if codes.dtype.kind not in "iu":
            raise DataError(f"sequences[{i}] must hold codes of places (whole numbers)")
        if ((codes < 0) | (codes >= k)).any():
            raise DataError(f"sequences[{i}] holds a place that is none of 0 to {k - 1}")
        checked.append(codes.astype(np.int64))
    return checked


def first_of_each(users: Sequence[Any], most: int) -> np.ndarray:
    """Which trajectories are kept when each user may give ``most``: the first in order.

    A decision about a user's trajectory looks at no other user, so that replacing everything that
    one user gave changes at most ``most`` trajectories that are kept.

    Parameters
    ----------
    users : sequence
        Owner of each trajectory.
    most : int

    Returns
    -------
    array of bool

    Examples
    --------
    >>> first_of_each(["ann", "bob", "ann", "ann"], 2).tolist()
    [True, True, True, False]
    """
    most = check_whole("most", most)
    given: dict[Any, int] = {}
    keep = np.zeros(len(users), dtype=bool)
    for i, user in enumerate(users):
        if not isinstance(user, Hashable):
            raise InputError(f"users[{i}] is a {type(user).__name__}, no name of a user")
        given[user] = given.get(user, 0) + 1
        keep[i] = given[user] <= most
    return keep


def contributions(
    sequences: Sequence[Any], k: int, users: Sequence[Any] | None, per_user: int | None
) -> list[np.ndarray]:
    """Checked sequences, and where a user is protected only the first ``per_user`` of each.

    Examples
    --------
    >>> kept = contributions([[0], [1], [1]], 2, ["ann", "ann", "bob"], 1)
    >>> [codes.tolist() for codes in kept]
    [[0], [1]]
    """
    checked = check_sequences(sequences, k)
    if per_user is None:
        if users is not None:
            raise InputError(
                "users are given and no per_user: one trajectory is the unit then, and nobody's "
                "owner matters; say per_user, or leave users out"
            )
        return checked
    owners = [] if users is None else check_items("users", users)
    if users is None or len(owners) != len(checked):
        raise InputError(
            f"per_user={per_user} protects users: give the owner of each of the {len(checked)} "
            "trajectories as users"
        )
    return [checked[i] for i in np.flatnonzero(first_of_each(owners, per_user))]
