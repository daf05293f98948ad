"""Source 004, figure 5.8: two auditors of local protocols, with the places of Porto."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from corrdp.experiments.base import (
    Experiment,
    Progress,
    Published,
    Result,
    Size,
    check_run,
    silent,
    values,
)
from corrdp.experiments.reconstructing.dissertation import CHAPTER
from corrdp.experiments.reconstructing.protocols import constants, draw_audits, findings, table_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def published() -> dict[str, Published]:
    """Constants and claims of figure 5.8; no plotted value can be read.

    Examples
    --------
    >>> published()["cap"].value
    12.25
    """
    return constants("porto", "figure 5.8, line 2922")


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Epsilon by the mechanism's own law and by the two-input auditor, five audits each.

    ``estimate`` inverts the advantage of the protocol audited, ``two_inputs`` is the published
    auditor, ``sound`` a lower limit (99 %) that holds for any mechanism; ``expected`` is the
    standard deviation of one estimate, worked out.

    Parameters
    ----------
    rng : numpy.random.Generator
    size : "quick" or "full"
        How many epsilons.
    data : ignored
        Only the number of places matters.
    progress : callable, optional
    """
    check_run(rng, size)
    given = values(published())
    table = table_of(given["m"], size, rng)
    (progress or silent)(1, 1)
    return Result(EXPERIMENT.name, size, table, findings(table, given), given)


def draw(result: Result, ax: Axes) -> Axes:
    """Epsilon found against epsilon; the diagonal is exact."""
    return draw_audits(result, ax)


EXPERIMENT = Experiment(
    "004-figure-5.8",
    "Audits of local protocols over the places of Porto",
    f"{CHAPTER}, figure 5.8",
    published,
    computed,
    draw,
)
