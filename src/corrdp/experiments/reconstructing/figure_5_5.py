"""Source 004, figure 5.5: attacks on DP-SGD; the source's pictures are those of Fashion-MNIST."""

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
from corrdp.experiments.reconstructing.pictures import patches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INSTEAD = (
    "8 x 8 patches of two photographs that come with scikit-learn, ten classes, logistic regression"
)


def published() -> dict[str, Published]:
    """Constants and claims of figure 5.5.

    Examples
    --------
    >>> published()["steps"].value
    100
    """
    return constants("Fashion-MNIST", "figure 5.5, line 2853")


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Train on small pictures in place of Fashion-MNIST, and attack with what each attacker knows.

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
    return played(EXPERIMENT.name, given, patches, INSTEAD, rng=rng, size=size, told=told)


def draw(result: Result, ax: Axes) -> Axes:
    """Risk of who knows the record, against epsilon, with the bounds."""
    return drawn(result, ax)


EXPERIMENT = Experiment(
    "004-figure-5.5",
    "Attacks on DP-SGD that learns other pictures",
    f"{CHAPTER}, figure 5.5",
    published,
    computed,
    draw,
)
