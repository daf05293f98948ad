"""Sequences as mechanisms take them: checked, cut, and so many of each user."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from corrdp._checks import check_items
from corrdp.errors import DataError, InputError

MOST = 2**53  # whole numbers up to here are floats as well


def check_whole(name: str, value: Any, least: int = 1) -> int:
    """``value`` as a whole number of at least ``least``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise InputError(f"{name} must be at least {least}, got {value}")
    if value > MOST:
        raise InputError(f"{name} must be at most {MOST}, got {value}")
    return int(value)


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
