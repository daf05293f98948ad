"""How the two sources are cited, and figures that both print."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from corrdp_reproduction.base import Experiment, Progress, Published, Result, Size

PAPER = (
    "Lange, Guerra-Balboa, Parra-Arnau, Strufe, Balancing privacy and utility in correlated data, "
    "PVLDB 18(11), 2025"
)
DISSERTATION = "Guerra-Balboa, dissertation, chapter 6"


def twin(of: Experiment, name: str, item: str, places: Mapping[str, str]) -> Experiment:
    """The same figure where the dissertation prints it: the same code, and its own places.

    Parameters
    ----------
    of : Experiment
        As the paper has it.
    name : str
        Key in the catalogue, such as ``"004-figure-6.2"``.
    item : str
        In words, such as ``"figure 6.2"``.
    places : mapping
        Where the dissertation prints each constant and claim, by its key.
    """

    def published() -> dict[str, Published]:
        return {key: replace(said, where=places[key]) for key, said in of.published().items()}

    def computed(
        *,
        rng: np.random.Generator,
        size: Size = "quick",
        data: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Result:
        result = of.computed(rng=rng, size=size, data=data, progress=progress)
        return replace(result, experiment=name)

    return Experiment(name, of.title, f"{DISSERTATION}, {item}", published, computed, of.draw)
