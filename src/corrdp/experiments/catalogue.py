"""Which experiments there are, and in which module each is found."""

from __future__ import annotations

from importlib import import_module

from corrdp.errors import InputError
from corrdp.experiments.base import Experiment

MODULES = {
    "001-figure-1": "corrdp.experiments.response_region",
    "001-figure-2": "corrdp.experiments.response_success",
    "001-figure-3": "corrdp.experiments.response_noise",
    "001-figure-4": "corrdp.experiments.response_attackers",
}


def load(name: str) -> Experiment:
    """The experiment of this name; its module is imported now.

    Parameters
    ----------
    name : str
        A key of ``MODULES``: source, kind and number.

    Examples
    --------
    >>> load("001-figure-3").title
    'Noise against privacy on a symmetric chain'
    """
    if name not in MODULES:
        raise InputError(f"there is no experiment {name!r}; there are {', '.join(MODULES)}")
    experiment = import_module(MODULES[name]).EXPERIMENT
    assert isinstance(experiment, Experiment)
    return experiment
