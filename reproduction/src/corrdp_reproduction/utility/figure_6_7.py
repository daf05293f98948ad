"""Source 004, figure 6.7: figure 5 of source 002 with the single days of the activity series."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from corrdp_reproduction.base import Experiment, Progress, Published, Result, Size
from corrdp_reproduction.utility import figure_5
from corrdp_reproduction.utility.sources import DISSERTATION

_RESULTS = "section 6.5.4"
_PLACES = {
    "least": "equation (6.73)",
    "70 kWh": _RESULTS,
    "outperforms": _RESULTS,
    "times": _RESULTS,
    "aligned": "section 6.5.4",
    "not applicable": "section 6.5.3.2",
}


def published() -> dict[str, Published]:
    """Constants and claims of figure 6.7.

    Examples
    --------
    >>> published()["least"].value
    (8.05, 4.7, 6.03, 8.54)
    """
    return {key: replace(said, where=_PLACES[key]) for key, said in figure_5.published().items()}


def computed(
    *,
    rng: np.random.Generator,
    size: Size = "quick",
    data: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Result:
    """As figure 5 of source 002; the complete days are averaged.

    Parameters
    ----------
    rng : numpy.random.Generator
    size : "quick" or "full"
    data : path, optional
    progress : callable, optional
    """
    result = figure_5.computed(rng=rng, size=size, data=data, progress=progress, single_days=True)
    return replace(result, experiment=EXPERIMENT.name)


EXPERIMENT = Experiment(
    "004-figure-6.7",
    "Noisy counts over Markov chains and single days: error against epsilon",
    f"{DISSERTATION}, figure 6.7",
    published,
    computed,
    figure_5.draw,
)
