"""From a mechanism and movements to what is published: one release, and its rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.accounting.steps import Step
from corrdp.errors import InputError
from corrdp.trajectories.cells import CellSequences
from corrdp.trajectories.local import LocalNgrams
from corrdp.trajectories.noisytree import NoisyTree
from corrdp.trajectories.planar_release import PlanarCells
from corrdp.trajectories.points import Trajectories
from corrdp.trajectories.reachability import Moves, Reachability
from corrdp.trajectories.released import ReleasedSequences
from corrdp.trajectories.sampling import BernoulliSample
from corrdp.trajectories.synthetic import synthesize
from corrdp.trajectories.trees import TreeMechanism

MOST_DISTANCES = 5_000  # places of a distance table

Mechanism = TreeMechanism | LocalNgrams | PlanarCells | BernoulliSample


@dataclass(frozen=True, eq=False)
class PublishedMoves:
    """One release of movements.

    Parameters
    ----------
    result : NoisyTree or ReleasedSequences
        What the mechanism made.
    sequences : tuple of arrays of int
        Published trajectories: synthetic ones for a tree.
    times : tuple of arrays of float, optional
        Times of the points, where the mechanism takes them as public.
    steps : tuple of Step
        The release as entries of a plan.
    reachability : Reachability, optional
        Moves that could not be made, before trajectories were cut there.
    """

    result: NoisyTree | ReleasedSequences
    sequences: tuple[np.ndarray, ...]
    times: tuple[np.ndarray, ...] | None
    steps: tuple[Step, ...]
    reachability: Reachability | None

    @property
    def title(self) -> str:
        """One line: what was made."""
        return repr(self.result).splitlines()[0] + f", {len(self.sequences):,} trajectories"

    def visits(self, size: int) -> np.ndarray:
        """How often each place occurs in what is published."""
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self.sequences])
        return np.bincount(codes, minlength=size)


def publish(
    mechanism: Mechanism, walks: Trajectories, cells: CellSequences, moves: Moves | None = None
) -> PublishedMoves:
    """Draw the noise and make what is published from it.

    Parameters
    ----------
    mechanism : PrefixTree, NgramTree, LocalNgrams, PlanarCells or BernoulliSample
    walks : Trajectories
        The points; read by planar noise.
    cells : CellSequences
        The same as sequences of public places.
    moves : Moves, optional
        Published trajectories are cut where a move cannot be made; post-processing.

    Examples
    --------
    >>> from corrdp.trajectories.cells import discretise
    >>> from corrdp.trajectories.prefix import PrefixTree
    >>> walks = Trajectories.from_points([1, 1, 2], [0, 9, 0], labels=["x", "y", "x"],
    ...                                  places=["x", "y"])
    >>> done = publish(PrefixTree(2, 2, 400.0), walks, discretise(walks))
    >>> print(rows_of(done, discretise(walks)))
    trajectory,point,place
    1,1,x
    2,1,x
    2,2,y
    <BLANKLINE>
    """
    per_user = getattr(mechanism, "per_user", None)
    owners = cells.owner.tolist()
    result: NoisyTree | ReleasedSequences
    if isinstance(mechanism, TreeMechanism):
        users = None if per_user is None else owners
        result = mechanism.release(cells.sequences, users)
        made = tuple(synthesize(result, np.random.default_rng()))
        times = None
    elif isinstance(mechanism, PlanarCells):
        degrees = np.stack([walks.lat, walks.lng], axis=1)
        result = mechanism.release(np.split(degrees, walks.starts[1:-1]))
        made, times = result.sequences, tuple(np.split(walks.times, walks.starts[1:-1]))
    elif isinstance(mechanism, LocalNgrams):
        result = mechanism.release(cells.sequences, owners)
        made, times = result.sequences, None
    else:
        result = mechanism.release(cells.sequences)
        assert result.positions is not None
        all_times = np.split(cells.times, cells.starts[1:-1])
        kept = zip(all_times, result.positions, strict=True)
        made, times = result.sequences, tuple(t[at] for t, at in kept)
    found = None
    if moves is not None:
        found = moves.check([s for s in made if len(s)])
        if times is None:
            made = tuple(moves.cut(made))
    return PublishedMoves(result, made, times, mechanism.plan_steps(), found)


def distances(cells: CellSequences) -> np.ndarray:
    """Distances between all places: metres on a grid, 1 between two labels.

    Examples
    --------
    >>> from corrdp.trajectories.cells import discretise
    >>> walks = Trajectories.from_points([1], [0], labels=["x"], places=["x", "y"])
    >>> distances(discretise(walks)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if cells.size > MOST_DISTANCES:
        raise InputError(
            f"the local mechanism weighs all pairs of {cells.size:,} places; take larger cells, at "
            f"most {MOST_DISTANCES:,}"
        )
    if cells.grid is None:
        return 1.0 - np.eye(cells.size)
    codes = np.arange(cells.size)
    table = cells.grid.distance(codes[:, None], codes[None, :])
    return np.where(np.eye(cells.size, dtype=bool), 0.0, (table + table.T) / 2)


def rows_of(done: PublishedMoves, cells: CellSequences, *, counts: bool = False) -> str:
    """What is published, as CSV.

    Parameters
    ----------
    done : PublishedMoves
    cells : CellSequences
        For the names of places and the grid.
    counts : bool
        The noisy counts of a tree instead of its synthetic trajectories.
    """
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n")
    if counts:
        assert isinstance(done.result, NoisyTree)
        write.writerow(["length", "places", "count"])
        for path, count in done.result.counts().items():
            write.writerow([len(path), " ".join(map(cells.place, path)), count])
        return text.getvalue()
    grid = cells.grid
    write.writerow(
        ["trajectory", "point", "place"]
        + (["time"] if done.times is not None else [])
        + (["lat", "lng"] if grid is not None else [])
    )
    for number, codes in enumerate(done.sequences):
        columns: list[Sequence[Any]] = [[cells.place(code) for code in codes.tolist()]]
        if done.times is not None:
            columns.append([f"{t:.15g}" for t in done.times[number].tolist()])
        if grid is not None:
            columns += [[f"{x:.6f}" for x in axis.tolist()] for axis in grid.centre(codes)]
        for point, row in enumerate(zip(*columns, strict=True), start=1):
            write.writerow([number + 1, point, *row])
    return text.getvalue()
