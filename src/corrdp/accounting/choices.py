"""Releases that choose what they read from earlier outputs, among maps named beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from corrdp.accounting.losses import ListedLosses, Losses
from corrdp.accounting.maps import Map
from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.domains import Domain

_ENTRIES = 50_000_000  # losses that are held at once


@dataclass(frozen=True)
class Choice(Map):
    """One of several maps, chosen from earlier outputs.

    The loss of a pair of neighbours is the largest over the maps, which is at least that along
    every path of outputs (docs/theorems.md#accounting).

    Parameters
    ----------
    maps : sequence of Map
        Every map that may be chosen.

    Examples
    --------
    >>> from corrdp.accounting.maps import Count
    >>> Choice((Count(("young",)), Count(("old",)))).to_json()
    {'any': [{'count': ['young']}, {'count': ['old']}]}
    """

    name = "any"
    shapes: ClassVar[tuple[str, ...]] = ()
    maps: tuple[Map, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.maps, Sequence) or not self.maps:
            raise InputError(f"map any: expected a list of maps, got {self.maps!r}")
        for one in self.maps:
            if not isinstance(one, Map) or isinstance(one, Choice):
                raise InputError(f"map any: {one!r} is no single map")
        object.__setattr__(self, "maps", tuple(self.maps))

    @property
    def numeric(self) -> bool:  # type: ignore[override]
        return all(one.numeric for one in self.maps)

    @property
    def reads_nothing(self) -> bool:
        return all(one.reads_nothing for one in self.maps)

    def check(self, domain: Domain) -> None:
        for one in self.maps:
            one.check(domain)

    def apply(self, domain: Domain, data: Any) -> Any:
        """Every result that may be read."""
        return tuple(one.apply(domain, data) for one in self.maps)

    def to_json(self) -> Any:
        return {"any": [one.to_json() for one in self.maps]}


def worst_choice(every: Losses, groups: Sequence[int]) -> ListedLosses:
    """Losses where each release reads the worst of its maps, for every kind of neighbours.

    Parameters
    ----------
    every : Losses
        Of every candidate as a release of its own, those of one release beside each other.
    groups : sequence of int
        How many candidates each release has.
    """
    starts = np.cumsum([0, *groups[:-1]])
    changes, rows = [], []
    for change, row in every.rows():
        changes.append(change)
        rows.append(np.maximum.reduceat(row, starts))
        if len(rows) * len(groups) > _ENTRIES:
            raise NotApplicableError(
                "releases that choose what they read are listed for every kind of neighbours, and "
                f"these are more than {_ENTRIES:,} losses; name fewer atoms or fewer releases"
            )
    return ListedLosses(changes, np.array(rows))
