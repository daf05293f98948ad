"""Source 004, figure 5.4: attacks on DP-SGD; the source's pictures are those of MNIST."""

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
from corrdp.experiments.reconstructing.gradients import constants, drawn, played
from corrdp.experiments.reconstructing.pictures import digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTEAD = "scikit-learn's 8 x 8 digits, logistic regression"


def published() -> dict[str, Published]:
    """Constants and claims of figure 5.4.

    Examples
    --------
    >>> published()["steps"].value
    100
    """
    return constants("MNIST", "figure 5.4, line 2840")


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Train on small pictures in place of MNIST, and attack with what each attacker knows.

    ``rad`` and ``success`` are of the attack of largest advantage, ``published_..`` of the
    source's rule; ``rad_bound`` and ``success_bound`` as the source has them.

    Parameters
    ----------
    rng : numpy.random.Generator
    size : "quick" or "full"
        How many epsilons and trainings.
    data : ignored
        The pictures come with scikit-learn.
    progress : callable, optional

    Raises
    ------
    NoDataError
        scikit-learn is not installed.
    """
    check_run(rng, size)
    given, told = values(published()), progress or silent
    return played(EXPERIMENT.name, given, digits, INSTEAD, rng=rng, size=size, told=told)


def draw(result: Result, ax: Axes) -> Axes:
    """Risk of who knows the record, against epsilon, with the bounds."""
    return drawn(result, ax)


EXPERIMENT = Experiment(
    "004-figure-5.4",
    "Attacks on DP-SGD that learns digits",
    f"{CHAPTER}, figure 5.4",
    published,
    computed,
    draw,
)
