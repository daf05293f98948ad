"""From a mechanism and movements to what is published: one release, its rows and its charge."""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_kind
from corrdp._json import added, encode
from corrdp.accounting.step import Step
from corrdp.errors import InputError, RefusedError
from corrdp.guarantees import Pure
from corrdp.ledgers.ledger import Ledger
from corrdp.release.charged import open_ledger
from corrdp.release.signatures import Signable, Signature, signed_line
from corrdp.trajectories.data.cells import CellSequences
from corrdp.trajectories.data.points import Trajectories
from corrdp.trajectories.data.reachability import Moves, Reachability
from corrdp.trajectories.data.splitting import ENDS
from corrdp.trajectories.mechanisms.elements import ElementCounts, ElementTable
from corrdp.trajectories.mechanisms.local import LocalNgrams
from corrdp.trajectories.mechanisms.noisytree import NoisyTree, ReleasedSequences
from corrdp.trajectories.mechanisms.planar import PlanarCells
from corrdp.trajectories.mechanisms.sampling import BernoulliSample, synthesize
from corrdp.trajectories.mechanisms.trees import TreeMechanism

MOST_DISTANCES = 5_000  # places of a distance table
ONE_PLACE = (
    "counts of single places do not say what follows what, nor how many trajectories there are: "
    "every walk is one point long, and there are as many as there were points, with noise. Take "
    "--levels 2 or more (n_max)"
)

Mechanism = TreeMechanism | LocalNgrams | PlanarCells | BernoulliSample | ElementCounts
Made = NoisyTree | ReleasedSequences | ElementTable


@dataclass(frozen=True)
class PathCost:
    """What noisy points cost together, for the user with the most of them.

    Parameters
    ----------
    points : int
        Points of that user; public for this mechanism.
    metres : float
        How far each of them may be from where it could be otherwise.
    epsilon : float

    Examples
    --------
    >>> print(PathCost(50, 200.0, 50.0))
    epsilon 50 for all 50 points of the user with the most, each within 200 m of another place
    """

    points: int
    metres: float
    epsilon: float

    def __str__(self) -> str:
        return (
            f"epsilon {self.epsilon:.6g} for all {self.points:,} points of the user with the most, "
            f"each within {self.metres:g} m of another place"
        )


@dataclass(frozen=True, eq=False, repr=False)
class PublishedMoves:
    """One release of movements.

    Parameters
    ----------
    result : NoisyTree, ReleasedSequences or ElementTable
        What the mechanism made.
    sequences : tuple of arrays of int
        Published trajectories: synthetic ones for a tree, none for counts by cluster.
    times : tuple of arrays of float, optional
        Times of the points, where the mechanism takes them as public.
    steps : tuple of Step
        The release as entries of a plan.
    reachability : Reachability, optional
        Moves that could not be made, before trajectories were cut there.
    before : tuple of str
        What was done to the data beforehand, in words.
    path : PathCost, optional
        For noisy points.
    charge : int, optional
    charge_hash : str, optional
        The line of the ledger that paid for it.
    together : str
        Where that ledger stood after the charge.
    """

    result: Made
    sequences: tuple[np.ndarray, ...]
    times: tuple[np.ndarray, ...] | None
    steps: tuple[Step, ...]
    reachability: Reachability | None
    before: tuple[str, ...] = ()
    path: PathCost | None = None
    charge: int | None = None
    charge_hash: str | None = None
    together: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader must know before using it."""
        told = []
        tree = self.result if isinstance(self.result, NoisyTree) else None
        if not (isinstance(self.result, ElementTable) or any(map(len, self.sequences))):
            why = (
                ""
                if tree is None
                else f": {tree.shows}. Take larger cells, fewer levels or more epsilon"
            )
            told.append(f"THE RELEASE IS EMPTY, and its budget is spent all the same{why}")
        if tree is not None and tree.kind == "n-gram" and len(tree.levels) == 1:
            told.append(ONE_PLACE)
        return tuple(told)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain JSON, with what was done before and what was charged."""
        more = {
            "before": self.before,
            "path": None if self.path is None else vars(self.path),
            "warnings": self.warnings,
            "charge": self.charge,
            "charge_hash": self.charge_hash,
            "together": self.together,
        }
        return {**self.result.to_dict(), **encode(more)}

    def __repr__(self) -> str:
        lines = [repr(self.result)]
        lines += [] if self.path is None else [f"  whole path   {self.path}"]
        lines += [f"  warning      {text}" for text in self.warnings]
        lines += [f"  together     {self.together}"] if self.together else []
        return "\n".join(lines)

    @property
    def title(self) -> str:
        """One line: what was made."""
        made = repr(self.result).splitlines()[0]
        if isinstance(self.result, ElementTable):
            return made
        return f"{made}, {len(self.sequences):,} trajectories"

    def record(self, cells: CellSequences, *, counts: bool = False) -> MovesRecord:
        """What is handed out, as one file that can be signed; arguments as of :func:`rows_of`."""
        return MovesRecord(rows_of(self, cells, counts=counts), self.to_dict())

    def visits(self, size: int) -> np.ndarray:
        """How often each place occurs in what is published."""
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self.sequences])
        return np.bincount(codes, minlength=size)


@dataclass(frozen=True, repr=False)
class MovesRecord(Signable):
    """A release of movements in one file: what is published and what is promised.

    Parameters
    ----------
    rows : str
        The CSV that is published.
    facts : dict
        As :meth:`PublishedMoves.to_dict`.
    signature : Signature or None

    Examples
    --------
    >>> told = {"epsilon": 1.0, "unit": "one user replaced"}
    >>> MovesRecord("cluster,users\\nhome,9\\nwork,7\\n", told)
    Release of movements: 2 rows
      guarantee    epsilon 1.0, delta 0 for one user replaced
    """

    result = "release of movements"

    rows: str
    facts: dict[str, Any]
    signature: Signature | None = added()

    def __repr__(self) -> str:
        told = self.facts
        lines = [
            f"Release of movements: {self.rows.count(chr(10)) - 1:,} rows",
            f"  guarantee    epsilon {told.get('epsilon')}, delta {told.get('delta', 0)} for "
            f"{told.get('unit')}",
        ]
        return "\n".join([*lines, *signed_line(self.signature)])


def release(
    mechanism: Mechanism,
    data: Trajectories,
    cells: CellSequences | None,
    moves: Moves | None = None,
    *,
    radius: float | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    what: str | None = None,
    counts: bool = False,
) -> PublishedMoves:
    """Draw the noise and make what is published from it.

    See :meth:`corrdp.trajectories.mechanisms.movements.MovementMechanism.release`.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.mechanisms.prefix import PrefixTree
    >>> walks = Trajectories.from_points([1, 1, 2], [0, 9, 0], labels=["x", "y", "x"],
    ...                                  places=["x", "y"])
    >>> done = PrefixTree(2, 2, 400.0).release(walks, cells=discretise(walks))
    >>> print(rows_of(done, discretise(walks)))
    trajectory,point,place
    1,1,x
    2,1,x
    2,2,y
    <BLANKLINE>
    """
    if not isinstance(mechanism, Mechanism):
        raise InputError(f"mechanism must be one of corrdp.trajectories, got {mechanism!r}")
    if not isinstance(data, Trajectories):
        raise InputError(
            f"data must be Trajectories, with cells=discretise(data), got {type(data).__name__}; "
            "noise for raw sequences, without checks and ledger, is mechanism.sample(sequences)"
        )
    check_kind("cells", cells, CellSequences, "what discretise returns")
    assert cells is not None
    check_kind("moves", moves, (Moves, type(None)), "Moves")
    check_publishable(mechanism, cells, moves)

    def sample() -> PublishedMoves:
        return _sampled(mechanism, data, cells, moves, radius)

    if ledger is None:
        return sample()
    what = what or f"{type(mechanism).__name__} of movements"
    return _charged(open_ledger(ledger), mechanism, cells, sample, what, counts)


def publish(
    mechanism: Mechanism,
    walks: Trajectories,
    cells: CellSequences,
    moves: Moves | None = None,
    **given: Any,
) -> PublishedMoves:
    """The name in version 0.1 of ``mechanism.release(walks, cells=cells)``."""
    warnings.warn(
        "publish(mechanism, walks, cells) is mechanism.release(walks, cells=cells) now; the old "
        "name goes with version 0.3",
        DeprecationWarning,
        stacklevel=2,
    )
    return release(mechanism, walks, cells, moves, **given)


def _sampled(
    mechanism: Mechanism,
    walks: Trajectories,
    cells: CellSequences,
    moves: Moves | None,
    radius: float | None,
) -> PublishedMoves:
    per_user = getattr(mechanism, "per_user", None)
    owners = cells.owner.tolist()
    result: Made
    made: tuple[np.ndarray, ...] = ()
    times = None
    if isinstance(mechanism, ElementCounts):
        result = mechanism.sample(cells.sequences, users=owners)
    elif isinstance(mechanism, TreeMechanism):
        users = None if per_user is None else owners
        result = mechanism.sample(cells.sequences, users=users)
        made = tuple(synthesize(result, np.random.default_rng()))
    elif isinstance(mechanism, PlanarCells):
        degrees = np.stack([walks.lat, walks.lng], axis=1)
        result = mechanism.sample(np.split(degrees, walks.starts[1:-1]))
        made, times = result.sequences, tuple(np.split(walks.times, walks.starts[1:-1]))
    elif isinstance(mechanism, LocalNgrams):
        result = mechanism.sample(cells.sequences, users=owners)
        made = result.sequences
    else:
        result = mechanism.sample(cells.sequences)
        assert result.positions is not None
        all_times = np.split(cells.times, cells.starts[1:-1])
        kept = zip(all_times, result.positions, strict=True)
        made, times = result.sequences, tuple(t[at] for t, at in kept)
    found = None
    if moves is not None:
        found = moves.check(made)
        made = tuple(moves.cut(made))
    path = None
    if isinstance(mechanism, PlanarCells) and radius is not None:
        most = int(np.bincount(walks.users).max())
        path = PathCost(most, radius, mechanism.path_epsilon(most, radius))
    steps = mechanism.plan_steps()
    return PublishedMoves(result, made, times, steps, found, cells.preprocessing, path)


def check_publishable(
    mechanism: Mechanism, cells: CellSequences, moves: Moves | None = None
) -> None:
    """Refuse what the mechanism's promise does not cover, before anything is charged or drawn.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import discretise
    >>> walks = Trajectories.from_points([1, 1], [0, 9], labels=["x", "x"], places=["x", "y"])
    >>> check_publishable(BernoulliSample(2, .5), discretise(walks, merge_stays=True))
    Traceback (most recent call last):
    ...
    corrdp.errors.RefusedError: stays were merged, so that how many points a trajectory has ...
    """
    if isinstance(mechanism, TreeMechanism):
        return
    if isinstance(mechanism, ElementCounts):
        if cells.merged:
            raise RefusedError(
                "stays were merged, so that a point in one cluster changes how often another one "
                "counts: leave out --merge-stays (merge_stays)"
            )
        if moves is not None:
            raise InputError("counts have no moves to check: leave out --speed and --step (moves)")
        return
    if cells.merged:
        raise RefusedError(
            "stays were merged, so that how many points a trajectory has tells where somebody was; "
            f"{type(mechanism).__name__} publishes that number as it is: leave out --merge-stays "
            "(merge_stays)"
        )
    if moves is not None and not isinstance(mechanism, LocalNgrams):
        raise InputError(
            f"{type(mechanism).__name__} publishes points as they are drawn and cuts none: leave "
            "out --speed and --step (moves)"
        )


def distances(cells: CellSequences) -> np.ndarray:
    """Distances between all places: metres on a grid, 1 between two labels.

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import discretise
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
    if isinstance(done.result, ElementTable):
        write.writerow(["cluster", "users" if done.result.most == 1 else "visits"])
        write.writerows(zip(done.result.names, done.result.counts, strict=True))
        return text.getvalue()
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


def _charged(
    ledger: Ledger,
    mechanism: Mechanism,
    cells: CellSequences,
    sample: Callable[[], PublishedMoves],
    what: str,
    counts: bool,
) -> PublishedMoves:
    """Sample, charge and store: whose epsilon it is decides what adds up."""
    if not isinstance(mechanism, TreeMechanism | LocalNgrams | ElementCounts):
        raise RefusedError(
            "a ledger adds up epsilons for whole units, and this release promises something about "
            f"{mechanism.unit}: it cannot be counted in a ledger. Release it without one "
            "(--ledger), and record elsewhere what it costs"
        )
    if ledger.kind != "dp":
        raise RefusedError(
            "this ledger keeps a BDP level on one model of dependence, and the release has no "
            "model: use a DP ledger whose records are the units"
        )
    if ledger.records is not None:
        _check_records(ledger.records, mechanism, cells)
    unit = mechanism.ledger_unit
    if _by_trajectory(mechanism):
        unit += f" ({next((t for t in cells.preprocessing if t.startswith(ENDS)), _ONE_EACH)})"
    return ledger.release(
        sample,
        Pure(mechanism.guarantee.epsilon),
        what=what,
        unit=unit,
        stored=lambda done: {**done.to_dict(), "rows": rows_of(done, cells, counts=counts)},
    )


_ONE_EACH = "one trajectory per user"


def _by_trajectory(mechanism: Mechanism) -> bool:
    return isinstance(mechanism, TreeMechanism) and mechanism.per_user is None


def _check_records(
    records: int, mechanism: TreeMechanism | LocalNgrams | ElementCounts, cells: CellSequences
) -> None:
    if isinstance(mechanism, TreeMechanism) and mechanism.neighbours == "unbounded":
        # comparing would tell how many there are, which the release hides
        raise RefusedError(
            f"this ledger is about {records} records, and for {mechanism.ledger_unit} how many "
            "there are is private: make a ledger without a number of records"
        )
    by_trajectory = _by_trajectory(mechanism)
    count = len(cells) if by_trajectory else len(np.unique(cells.owner))
    if count != records:
        raise RefusedError(
            f"this ledger is about {records} records, and there are {count:,} "
            f"{'trajectories' if by_trajectory else 'users'}: it belongs to other data or to "
            "another unit"
        )
