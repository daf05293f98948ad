"""What the utility experiments share: their two sources, and figures that both print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from corrdp_reproduction.harness import Experiment

PAPER = (
    "Lange, Guerra-Balboa, Parra-Arnau, Strufe, Balancing privacy and utility in correlated data, "
    "PVLDB 18(11), 2025"
)
DISSERTATION = "Guerra-Balboa, dissertation, chapter 6"


def twin(
    of: Experiment, item: str, places: Mapping[str, str], title: str = "", **chosen: Any
) -> Experiment:
    """The same figure where the dissertation prints it: the same code, and its own places.

    Parameters
    ----------
    of : Experiment
        As the paper has it.
    item : str
        In words, such as ``"figure 6.2"``.
    places : mapping
        Where the dissertation prints each constant and claim, by its key.
    title : str, optional
        Where it differs.
    **chosen
        What the experiment takes beside its run.
    """
    return replace(
        of,
        name="004-" + item.replace(" ", "-"),
        title=title or of.title,
        source=f"{DISSERTATION}, {item}",
        published={key: replace(said, where=places[key]) for key, said in of.published.items()},
        compute=partial(of.compute, **chosen),
        panels=list(of.panels),
    )
