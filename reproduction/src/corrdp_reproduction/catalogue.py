"""Which experiments there are: those that the modules listed here hold, in this order."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from corrdp.errors import InputError
from corrdp_reproduction.harness import Experiment

MODULES = (
    "noise",
    *(f"lange.figure_{k}" for k in (3, 5, *range(7, 14), *range(15, 20))),
    "lange.numbers",
    *(f"response_{name}" for name in ("region", "success", "noise", "attackers")),
    "utility.example_4_4",
    *(f"utility.figure_{k}" for k in range(1, 6)),
    "utility.table_3",
    *(f"knowledge.figure_{k}" for k in ("3_1", "4_1", "5_1", "5_2", "5_3", "5_4")),
    "knowledge.claims",
    "foundations.figure_2_1",
    *(f"foundations.example_{k}" for k in ("2_16", "2_25")),
    "foundations.table_3_2",
    *(f"foundations.example_{k}" for k in ("3_7", "4_3", "4_4", "4_8")),
    "foundations.numbers",
    *(f"reconstructing.figure_5_{k}" for k in (1, 2, 3)),
    "reconstructing.gradients",
    *(f"reconstructing.figure_5_{k}" for k in (6, 7)),
    "reconstructing.protocols",
    *(f"reconstructing.table_5_{k}" for k in (1, 2)),
    *(f"reconstructing.example_5_{k}" for k in (12, 17)),
    "reconstructing.numbers",
    *(f"utility.figure_6_{k}" for k in range(1, 10)),
    "utility.table_6_2",
)


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment by its name: source, kind and number.

    Examples
    --------
    >>> list(experiments())[:3]
    ['noise', '000-figure-3', '000-figure-5']
    """
    found: dict[str, Experiment] = {}
    for module in MODULES:
        for held in vars(import_module(f"corrdp_reproduction.{module}")).values():
            if isinstance(held, Experiment):
                # a twin's module holds its original too
                assert found.setdefault(held.name, held) is held, held.name
    return found


def load(name: str) -> Experiment:
    """The experiment of this name.

    Examples
    --------
    >>> load("001-figure-3").title
    'Noise against privacy on a symmetric chain'
    """
    if name not in experiments():
        raise InputError(f"there is no experiment {name!r}; there are {', '.join(experiments())}")
    return experiments()[name]
