"""The one way to release movements, shared by all mechanisms for them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from corrdp.results import verb

if TYPE_CHECKING:
    from corrdp.ledgers.ledger import Ledger
    from corrdp.trajectories.data.cells import CellSequences
    from corrdp.trajectories.data.points import Trajectories
    from corrdp.trajectories.data.reachability import Moves
    from corrdp.trajectories.mechanisms.publishing import PublishedMoves


class MovementMechanism:
    """A mechanism for movements: ``sample`` only adds noise, ``release`` is what to publish."""

    def release(
        self,
        data: Trajectories,
        cells: CellSequences | None = None,
        moves: Moves | None = None,
        *,
        radius: float | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        what: str | None = None,
        counts: bool = False,
    ) -> PublishedMoves:
        """Check the movements, sample, charge a ledger if one is given, and only then show.

        A ledger adds up epsilons for one unit: a trajectory or a user, added or removed, or
        replaced; trajectories that end by another rule are other units. A ledger of so many
        records takes units whose number is public only, and only as many.

        Parameters
        ----------
        data : Trajectories
            The points; read by planar noise.
        cells : CellSequences
            The same as sequences of public places: ``discretise(data, grid)``.
        moves : Moves, optional
            Published trajectories are cut where a move cannot be made; post-processing. Not for
            planar noise and samples, whose points stay as they are.
        radius : float, optional
            For planar noise: metres for which ``path`` says what a whole path costs.
        ledger : Ledger or path, optional
            A DP ledger whose records are the units: charge it, and store what is published there
            in one transaction. ``ledger.answer`` gives it again, with the rows under "rows".
        what : str, optional
            What a ledger is told that is released, in words.
        counts : bool
            Whether a ledger is to keep the noisy counts of a tree instead of its trajectories.

        Returns
        -------
        PublishedMoves

        Raises
        ------
        RefusedError
            When the promise does not cover these movements, or the release cannot be counted in
            the ledger or does not fit. Nothing is charged then.

        Examples
        --------
        >>> import os, tempfile
        >>> from corrdp.ledgers.ledger import Ledger
        >>> from corrdp.trajectories import PrefixTree, Trajectories, discretise
        >>> walks = Trajectories.from_points([1, 1, 2], [0, 9, 0], labels=["x", "y", "x"],
        ...                                  places=["x", "y"])
        >>> books = Ledger.create(os.path.join(tempfile.mkdtemp(), "walks.ledger"), budget=2)
        >>> tree = PrefixTree(2, 1, 1.0, per_user=3)
        >>> done = tree.release(walks, cells=discretise(walks), ledger=books, what="a tree")
        >>> done.charge, books.unit, books.answer(1)["rows"].splitlines()[0]
        (1, 'one user added or removed', 'trajectory,point,place')
        """
        done: PublishedMoves = verb("trajectories.mechanisms.publishing.release")(
            self,
            data,
            cells,
            moves,
            radius=radius,
            ledger=ledger,
            what=what,
            counts=counts,
        )
        return done
