"""What chains of every order share once they are fitted: counts, and what follows from them.

What a fit keeps beyond its own counts, so that richer models can be held against it.

Runs of one more state (by half), and the runs of the largest groups apart: with them the next
order, a kernel for each half and a kernel for each group can be built without the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.errors import DataError
from corrdp.models.base import Model

if TYPE_CHECKING:
    from corrdp.models.chains.diagnostics import Diagnostics
    from corrdp.models.chains.fitting import ChainFit
    from corrdp.models.chains.region import Region
    from corrdp.tables.clock import Reading


class Chain(Model):
    """A Markov chain of some order; ``fitted`` says where its numbers come from."""

    states: Any
    fitted: ChainFit | None = None

    @property
    def records(self) -> int | None:
        fit = self.fitted
        return self.length if fit is None or fit.public else fit.rows

    def region(self, confidence: float) -> Region:
        """Probabilities that the counts still allow; see :mod:`corrdp.models.chains.region`."""
        from corrdp.models.chains.region import fitted_region

        return fitted_region(self, confidence)

    def diagnose(self, data: Any = None) -> Diagnostics:
        """Whether the fitted chain describes its data: :mod:`corrdp.models.chains.diagnostics`."""
        from corrdp.models.chains.diagnostics import diagnose

        return diagnose(self, data)

    @cached_property
    def fit_assumptions(self) -> tuple[str, ...]:
        """What the fit and its diagnostics say, in words; these hold fitted numbers."""
        if self.fitted is None:
            return ()
        return (*self.fitted.assumptions, *self.diagnose().assumptions)


MOST_GROUPS = 100  # groups whose counts are kept, the largest ones
MOST_WINDOWS = 4096  # rows of a chain of higher order


def keep_evidence(
    data: Any,
    states: tuple[Any, ...],
    texts: tuple[str, ...],
    state: str | None,
    order_by: Sequence[str],
    group: str | None,
    order: int,
    sequences: int,
    reading: Reading | None,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Runs of order + 2 states by half, and runs of order + 1 states by group.

    The former for orders above one (a first-order fit has them in its triples), the latter for
    more than one sequence. Each takes one more pass over the data. None where there are more
    distinct runs than a model file should hold.

    Returns
    -------
    longer : (k, order + 4) array or None
        State numbers, how often, how often in the later half.
    groups : (m, order + 3) array or None
        Number of the group, state numbers, how often.
    """
    from corrdp.tables import windows
    from corrdp.tables.clock import PLAIN
    from corrdp.tables.source import Table

    wanted = order > 1 and len(states) ** (order + 1) <= MOST_WINDOWS
    if not wanted and sequences == 1:
        return None, None
    longer = groups = None
    if isinstance(data, Table):
        read, how = (data, str(state), order_by, group), reading or PLAIN
        if wanted:
            longer = _numbered(states, windows.count_runs_by_half, *read, order + 2, how)
        if sequences > 1:
            most = (order + 1, MOST_GROUPS)
            groups = _numbered(states, windows.count_runs_by_group, *read, *most, how)
    else:
        if wanted:
            longer = _numbered(states, windows.count_runs_by_half_in_memory, data, texts, order + 2)
        if sequences > 1:
            groups = _numbered(
                states, windows.count_runs_by_sequence, data, texts, order + 1, MOST_GROUPS
            )
    return (
        None if longer is None else _relabelled(*longer, slice(0, order + 2)),
        None if groups is None else _relabelled(*groups, slice(1, order + 2)),
    )


def _numbered(
    states: tuple[Any, ...], count: Any, *given: Any
) -> tuple[np.ndarray, np.ndarray] | None:
    """Runs, and the place of their states among those of the fit."""
    try:
        found, runs = count(*given)
    except DataError:  # more distinct runs than can be kept; the data themselves were read before
        return None
    return np.array([states.index(label) for label in found], dtype=np.int64), runs


def _relabelled(place: np.ndarray, runs: np.ndarray, columns: slice) -> np.ndarray:
    runs = runs.copy()
    runs[:, columns] = place[runs[:, columns]]
    return runs[np.lexsort(runs[:, columns.stop - 1 :: -1].T)]
