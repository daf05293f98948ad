"""Movements by fixed time steps: a matrix of users by steps, with gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from corrdp._checks import check_choice, check_kind
from corrdp.errors import InputError
from corrdp.trajectories.data.cells import CellSequences, Grid
from corrdp.trajectories.data.splitting import seconds

GAP = -1
_MOST_ENTRIES = 2 * 10**8
_RULES = {
    "last": "the last point of a step says where the user was in it",
    "majority": "the place with most points of a step says where the user was in it (of several "
    "the first in the list of places)",
}


@dataclass(frozen=True, eq=False, repr=False)
class Streams:
    """Where each user was at each time step; a step without a point is a gap.

    Attributes
    ----------
    cells : (m,) array of int
        Place at each recorded step, the users one after another.
    steps : (m,) array of int
        Its step, 0 to length - 1.
    starts : (users + 1,) array of int
        User u holds the entries ``starts[u]:starts[u + 1]``.
    length : int
        Number of steps T from the first point of anybody to the last.
    seconds, begin : float
        Length of a step, and the time at which step 0 begins.
    size, grid, label_names, user_names, preprocessing
        As in :class:`CellSequences`.
    """

    cells: np.ndarray
    steps: np.ndarray
    starts: np.ndarray
    length: int
    seconds: float
    begin: float
    size: int
    grid: Grid | None
    label_names: tuple[str, ...]
    user_names: tuple[str, ...]
    preprocessing: tuple[str, ...]

    @property
    def users(self) -> int:
        """Number of users r."""
        return len(self.starts) - 1

    @property
    def recorded(self) -> np.ndarray:
        """Recorded steps of each user."""
        return np.diff(self.starts)

    @cached_property
    def owner(self) -> np.ndarray:
        """User of each recorded step."""
        return np.repeat(np.arange(self.users), self.recorded)

    @property
    def spans(self) -> np.ndarray:
        """Steps from the first recorded one of each user to the last, gaps included."""
        return np.asarray(self.steps[self.starts[1:] - 1] - self.steps[self.starts[:-1]] + 1)

    @property
    def periodic(self) -> bool:
        """Whether there is no gap."""
        return len(self.cells) == self.users * self.length

    @property
    def follows(self) -> np.ndarray:
        """Whether each recorded step comes directly after another of the same user."""
        found = np.zeros(len(self.cells), dtype=bool)
        found[1:] = np.diff(self.steps) == 1
        found[self.starts[:-1]] = False
        return found

    @property
    def matrix(self) -> np.ndarray:
        """Users by steps, -1 in gaps."""
        if self.users * self.length > _MOST_ENTRIES:
            raise InputError(
                f"a matrix of {self.users:,} users by {self.length:,} steps is too large; use "
                "cells and steps, or a longer step"
            )
        full = np.full((self.users, self.length), GAP, dtype=np.int32)
        full[self.owner, self.steps] = self.cells
        return full

    @property
    def sequences(self) -> list[np.ndarray]:
        """One array per user of the recorded steps in order; one -1 stands for each gap."""
        breaks = ~self.follows
        breaks[self.starts[:-1]] = False
        where = np.flatnonzero(breaks)
        padded = np.insert(self.cells, where, GAP)
        added = np.append(0, np.cumsum(breaks))[self.starts]
        return np.split(padded, (self.starts + added)[1:-1])

    def with_cells(self, cells: np.ndarray) -> Streams:
        """The same steps with other places."""
        return replace(self, cells=cells)

    def place(self, code: int) -> str:
        """The name of a place."""
        return self.grid.name(code) if self.grid is not None else self.label_names[code]

    def __repr__(self) -> str:
        return (
            f"<streams of {self.users:,} users by {self.length:,} steps of {self.seconds:g} s, "
            f"{len(self.cells):,} recorded>"
        )


def by_time_step(
    sequences: CellSequences, step: str | float = "5min", rule: str = "last"
) -> Streams:
    """Cut time into equal steps and say where each user was in each; public preprocessing.

    Step 0 begins at a multiple of the step, at or before the first point. A step without a point
    is a gap: nothing is carried over or filled in. All trajectories of a user make one row.

    Parameters
    ----------
    sequences : CellSequences
    step : str or float
        Length of a step: seconds, or text such as "5min".
    rule : {"last", "majority"}
        Which of several points of a step counts: the last, or the place with most points (of
        several such places the first in the list).

    Returns
    -------
    Streams

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import discretise
    >>> walks = Trajectories.from_points(
    ...     ["a", "a", "a", "b", "b"], [0, 50, 130, 70, 130], labels=["x", "y", "x", "x", "y"])
    >>> by_time_step(discretise(walks), "1min").matrix.tolist()
    [[1, -1, 0], [-1, 0, 1]]
    """
    check_kind("sequences", sequences, CellSequences, "sequences of places (discretise)")
    check_choice("rule", rule, _RULES)
    width = seconds(step, "step")
    index = np.floor(sequences.times / width).astype(np.int64)
    first = int(index.min())
    index -= first
    length = int(index.max()) + 1
    users = np.repeat(sequences.owner, np.diff(sequences.starts))
    kept, users = np.unique(users, return_inverse=True)
    # a user's trajectories may be listed in any order
    order = np.lexsort((sequences.times, users))
    key, codes = (users * length + index)[order], sequences.codes[order]
    if rule == "last":
        last = np.diff(key, append=-1) != 0
        key, cells = key[last], codes[last]
    else:
        pairs, votes = np.unique(np.column_stack([key, codes]), axis=0, return_counts=True)
        best = np.lexsort((pairs[:, 1], -votes, pairs[:, 0]))
        pairs = pairs[best]
        winner = np.diff(pairs[:, 0], prepend=-1) != 0
        key, cells = pairs[winner].T
    owner, steps = np.divmod(key, length)
    said = f"time was cut into steps of {width:g} s; {_RULES[rule]}; steps without a point are gaps"
    return Streams(
        cells,
        steps,
        np.searchsorted(owner, np.arange(len(kept) + 1)),
        length,
        width,
        first * width,
        sequences.size,
        sequences.grid,
        sequences.label_names,
        tuple(sequences.user_names[k] for k in kept),
        (*sequences.preprocessing, said),
    )
