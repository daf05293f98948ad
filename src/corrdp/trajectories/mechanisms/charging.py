"""Charging a ledger for a release of movements: whose epsilon it is decides what adds up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from corrdp.errors import RefusedError
from corrdp.guarantees import Pure
from corrdp.trajectories.data.cells import CellSequences
from corrdp.trajectories.data.splitting import ENDS
from corrdp.trajectories.mechanisms.local import LocalNgrams
from corrdp.trajectories.mechanisms.publishing import Mechanism, PublishedMoves, rows_of
from corrdp.trajectories.mechanisms.trees import TreeMechanism

if TYPE_CHECKING:
    from corrdp.ledgers.ledger import Ledger


def release_movements(
    ledger: Ledger,
    mechanism: Mechanism,
    cells: CellSequences,
    sample: Callable[[], PublishedMoves],
    *,
    what: str,
    counts: bool = False,
) -> PublishedMoves:
    """Sample one release, charge a DP ledger for it, and store what is published there.

    A ledger adds up epsilons for one unit: a trajectory or a user, added or removed, or replaced;
    trajectories that end by another rule are other units. A ledger of so many records takes units
    whose number is public only, and only as many.

    Parameters
    ----------
    ledger : Ledger
    mechanism : PrefixTree, NgramTree or LocalNgrams
    cells : CellSequences
        What is released.
    sample : callable
        Draws the noise: :func:`corrdp.trajectories.mechanisms.publishing.publish` of these.
    what : str
        What is released, in words.
    counts : bool
        Whether the noisy counts are published instead of trajectories.

    Returns
    -------
    PublishedMoves
        With its charge. ``ledger.answer`` gives it again, with the rows published under "rows".

    Raises
    ------
    RefusedError
        When the release cannot be counted there, or does not fit. Nothing is charged then.

    Examples
    --------
    >>> import os, tempfile
    >>> from corrdp.ledgers.ledger import Ledger
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.mechanisms.prefix import PrefixTree
    >>> from corrdp.trajectories.mechanisms.publishing import publish, rows_of
    >>> walks = Trajectories.from_points([1, 2], [0, 0], labels=["x", "y"], places=["x", "y"])
    >>> books = Ledger.create(os.path.join(tempfile.mkdtemp(), "walks.ledger"), budget=2)
    >>> tree, cells = PrefixTree(2, 1, 1.0, per_user=3), discretise(walks)
    >>> done = release_movements(
    ...     books, tree, cells, lambda: publish(tree, walks, cells), what="a tree")
    >>> done.charge, books.unit, books.answer(1)["rows"] == rows_of(done, cells)
    (1, 'one user added or removed', True)
    """
    if not isinstance(mechanism, TreeMechanism | LocalNgrams):
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


def _by_trajectory(mechanism: TreeMechanism | LocalNgrams) -> bool:
    return isinstance(mechanism, TreeMechanism) and mechanism.per_user is None


def _check_records(
    records: int, mechanism: TreeMechanism | LocalNgrams, cells: CellSequences
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
