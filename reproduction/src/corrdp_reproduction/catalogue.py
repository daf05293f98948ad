"""Which experiments there are, and in which module each is found."""

from __future__ import annotations

from importlib import import_module

from corrdp.errors import InputError
from corrdp_reproduction.base import Experiment

MODULES = {
    "noise": "corrdp_reproduction.noise",
    "000-figure-3": "corrdp_reproduction.lange.figure_3",
    "000-figure-5": "corrdp_reproduction.lange.figure_5",
    "000-figure-7": "corrdp_reproduction.lange.figure_7",
    "000-figure-8": "corrdp_reproduction.lange.figure_8",
    "000-figure-9": "corrdp_reproduction.lange.figure_9",
    "000-figure-10": "corrdp_reproduction.lange.figure_10",
    "000-figure-11": "corrdp_reproduction.lange.figure_11",
    "000-figure-12": "corrdp_reproduction.lange.figure_12",
    "000-figure-13": "corrdp_reproduction.lange.figure_13",
    "000-figure-15": "corrdp_reproduction.lange.figure_15",
    "000-figure-16": "corrdp_reproduction.lange.figure_16",
    "000-figure-17": "corrdp_reproduction.lange.figure_17",
    "000-figure-18": "corrdp_reproduction.lange.figure_18",
    "000-figure-19": "corrdp_reproduction.lange.figure_19",
    "000-numbers": "corrdp_reproduction.lange.numbers",
    "001-figure-1": "corrdp_reproduction.response_region",
    "001-figure-2": "corrdp_reproduction.response_success",
    "001-figure-3": "corrdp_reproduction.response_noise",
    "001-figure-4": "corrdp_reproduction.response_attackers",
    "002-figure-1": "corrdp_reproduction.utility.figure_1",
    "002-figure-2": "corrdp_reproduction.utility.figure_2",
    "002-figure-3": "corrdp_reproduction.utility.figure_3",
    "002-figure-4": "corrdp_reproduction.utility.figure_4",
    "002-figure-5": "corrdp_reproduction.utility.figure_5",
    "002-table-3": "corrdp_reproduction.utility.table_3",
    "003-figure-3.1": "corrdp_reproduction.knowledge.figure_3_1",
    "003-figure-4.1": "corrdp_reproduction.knowledge.figure_4_1",
    "003-figure-5.1": "corrdp_reproduction.knowledge.figure_5_1",
    "003-figure-5.2": "corrdp_reproduction.knowledge.figure_5_2",
    "003-figure-5.3": "corrdp_reproduction.knowledge.figure_5_3",
    "003-figure-5.4": "corrdp_reproduction.knowledge.figure_5_4",
    "003-claims": "corrdp_reproduction.knowledge.claims",
    "004-figure-2.1": "corrdp_reproduction.foundations.figure_2_1",
    "004-example-2.16": "corrdp_reproduction.foundations.example_2_16",
    "004-example-2.25": "corrdp_reproduction.foundations.example_2_25",
    "004-table-3.2": "corrdp_reproduction.foundations.table_3_2",
    "004-example-3.7": "corrdp_reproduction.foundations.example_3_7",
    "004-example-4.3": "corrdp_reproduction.foundations.example_4_3",
    "004-example-4.4": "corrdp_reproduction.foundations.example_4_4",
    "004-example-4.8": "corrdp_reproduction.foundations.example_4_8",
    "004-numbers": "corrdp_reproduction.foundations.numbers",
    "004-figure-5.1": "corrdp_reproduction.reconstructing.figure_5_1",
    "004-figure-5.2": "corrdp_reproduction.reconstructing.figure_5_2",
    "004-figure-5.3": "corrdp_reproduction.reconstructing.figure_5_3",
    "004-figure-5.4": "corrdp_reproduction.reconstructing.figure_5_4",
    "004-figure-5.5": "corrdp_reproduction.reconstructing.figure_5_5",
    "004-figure-5.6": "corrdp_reproduction.reconstructing.figure_5_6",
    "004-figure-5.7": "corrdp_reproduction.reconstructing.figure_5_7",
    "004-figure-5.8": "corrdp_reproduction.reconstructing.figure_5_8",
    "004-figure-5.9": "corrdp_reproduction.reconstructing.figure_5_9",
    "004-table-5.1": "corrdp_reproduction.reconstructing.table_5_1",
    "004-table-5.2": "corrdp_reproduction.reconstructing.table_5_2",
    "004-example-5.12": "corrdp_reproduction.reconstructing.example_5_12",
    "004-example-5.17": "corrdp_reproduction.reconstructing.example_5_17",
    "004-numbers-5": "corrdp_reproduction.reconstructing.numbers",
    "004-figure-6.1": "corrdp_reproduction.utility.figure_6_1",
    "004-figure-6.2": "corrdp_reproduction.utility.figure_6_2",
    "004-figure-6.3": "corrdp_reproduction.utility.figure_6_3",
    "004-figure-6.4": "corrdp_reproduction.utility.figure_6_4",
    "004-figure-6.5": "corrdp_reproduction.utility.figure_6_5",
    "004-figure-6.6": "corrdp_reproduction.utility.figure_6_6",
    "004-figure-6.7": "corrdp_reproduction.utility.figure_6_7",
    "004-figure-6.8": "corrdp_reproduction.utility.figure_6_8",
    "004-figure-6.9": "corrdp_reproduction.utility.figure_6_9",
    "004-table-6.2": "corrdp_reproduction.utility.table_6_2",
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
