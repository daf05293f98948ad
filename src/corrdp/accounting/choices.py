"""How a release is made: maps chosen from earlier outputs, preprocessing, flags; and its losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from corrdp.accounting.maps import Map
from corrdp.errors import InputError, NotApplicableError
from corrdp.metric.domains import Domain
from corrdp.metric.finite import Change, check_distance


@dataclass(frozen=True)
class Flags:
    """How a release is made; the defaults are what the theorems allow.

    Parameters
    ----------
    reads_previous_outputs : bool
        Whether the mechanism may look at earlier outputs. The theorems allow it, and then ask that
        the guarantee hold whatever those were.
    map_depends_on_outputs : bool
        Whether what is read is chosen from earlier outputs: the map is then a
        :class:`corrdp.accounting.maps.Choice`.
    released : bool
        Whether the output is published. One that is not is counted all the same: later releases
        may carry it.
    independent_noise : bool
        Whether the release draws noise of its own. Shared noise is outside every theorem here.

    Examples
    --------
    >>> Flags(released=False).to_dict()
    {'released': False}
    """

    reads_previous_outputs: bool = True
    map_depends_on_outputs: bool = False
    released: bool = True
    independent_noise: bool = True

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, bool):
                raise InputError(f"flags: {name} must be true or false, got {value!r}")
        if self.map_depends_on_outputs and not self.reads_previous_outputs:
            raise InputError(
                "flags: a map that depends on earlier outputs reads them; leave "
                "reads_previous_outputs out, or say true"
            )

    def to_dict(self) -> dict[str, bool]:
        """Those that differ from the defaults."""
        return {f.name: getattr(self, f.name) for f in fields(self) if self._differs(f)}

    def _differs(self, field: Any) -> bool:
        return bool(getattr(self, field.name) != field.default)


def flags_from_json(data: Any) -> Flags:
    """Read flags from JSON such as ``{"released": false}``.

    Examples
    --------
    >>> flags_from_json({"shared": True})
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: unknown flag 'shared'; the flags are reads_previous_outputs, \
map_depends_on_outputs, released, independent_noise
    """
    names = [f.name for f in fields(Flags)]
    if not isinstance(data, dict):
        raise InputError(f"flags must be an object with {', '.join(names)}; got {data!r}")
    for key in data:
        if key not in names:
            raise InputError(f"unknown flag {key!r}; the flags are {', '.join(names)}")
    return Flags(**data)


@dataclass(frozen=True)
class Preprocessing:
    """What happens to the input of a mechanism before it runs: clipping, outliers, cells.

    It works on what the map gives, and multiplies the level by its sensitivity (Guerra-Balboa,
    dissertation, proposition A.3).

    Parameters
    ----------
    name : str
    sensitivity : float, optional
        How far it can spread neighbours apart (:func:`corrdp.metric.conversion.sensitivity`); > 0.
        Below 1 only in mode pre, per unit of l1, l2 or a table: neighbours of a granularity are a
        whole number of changes apart, and in mode common the level is about the whole release.
        Left out, it must not learn from the data, and counts as 1.
    learned : bool
        Whether it looks at the data to decide what it does.
    """

    name: str
    sensitivity: float | None = None
    learned: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.learned, bool):
            raise InputError(
                f"preprocessing {self.name!r}: learned must be true or false, got {self.learned!r}"
            )
        if self.sensitivity is not None:
            found = check_distance("sensitivity", self.sensitivity)
            object.__setattr__(self, "sensitivity", found)
            if self.sensitivity == 0:
                raise InputError(
                    f"preprocessing {self.name!r}: sensitivity must be > 0; with 0 it gives the "
                    "same for all data sets, and the release reads nothing: leave it out"
                )

    @property
    def priced(self) -> bool:
        """Whether its effect on the guarantee is known."""
        return not self.learned or self.sensitivity is not None


def refuse_shrinking(preprocessing: Iterable[Preprocessing], *, common: bool) -> None:
    """Refuse a sensitivity below 1 where the unit of the guarantee cannot shrink.

    References
    ----------
    composition#preprocessing-below-one.

    Examples
    --------
    >>> refuse_shrinking([Preprocessing("clip", 1.0), Preprocessing("cells")], common=True)
    """
    why = (
        "in mode common the level is already about the whole release, preprocessing included, and "
        "nothing lowers it"
        if common
        else "neighbours of a granularity are a whole number of changes apart, so that what is not "
        "constant has sensitivity 1 or more"
    )
    for p in preprocessing:
        if p.sensitivity is not None and p.sensitivity < 1:
            raise InputError(
                f"preprocessing {p.name!r}: a sensitivity of {p.sensitivity:g} would lower the "
                f'level: {why}. Below 1 is for mode "pre" with metric l1, l2 or a table; leave it '
                "out here, or state the epsilon that the whole release has"
            )


def times(level: np.ndarray | float, distances: np.ndarray) -> np.ndarray:
    """Level times distance, entry by entry; zero times infinity is infinity."""
    apart = np.asarray(distances, dtype=float)
    # a distance of 0 stays 0 and inf stays inf, whatever the level
    near = np.where(np.isinf(apart), 0.0, apart)
    return np.where(np.isinf(apart), np.inf, level * near)


class Losses(ABC):
    """The loss of each release for each neighbour type."""

    @property
    @abstractmethod
    def each(self) -> np.ndarray:
        """The largest loss of each release alone."""

    @abstractmethod
    def worst(self, steps: Sequence[int], *, gaussian: bool) -> tuple[Change, np.ndarray]:
        """The change for which some releases lose most together, and their losses there."""

    @abstractmethod
    def rows(self) -> Iterator[tuple[Change, np.ndarray]]:
        """Every neighbour type with the losses of all releases."""


class ListedLosses(Losses):
    """Losses written out: a row per neighbour type, a column per release."""

    def __init__(self, changes: Sequence[Change], matrix: np.ndarray):
        self.changes, self.matrix = list(changes), np.asarray(matrix)

    @property
    def each(self) -> np.ndarray:
        return self.matrix.max(axis=0)

    def worst(self, steps: Sequence[int], *, gaussian: bool) -> tuple[Change, np.ndarray]:
        chosen = self.matrix[:, list(steps)]
        totals = (chosen**2 if gaussian else chosen).sum(axis=1)
        k = int(totals.argmax())
        return self.changes[k], chosen[k]

    def rows(self) -> Iterator[tuple[Change, np.ndarray]]:
        return zip(self.changes, self.matrix, strict=True)


_ENTRIES = 50_000_000  # losses that are held at once


@dataclass(frozen=True)
class Choice(Map):
    """One of several maps, chosen from earlier outputs.

    The loss of a pair of neighbours is the largest over the maps, which is at least that along
    every path of outputs (composition#accounting).

    Parameters
    ----------
    maps : sequence of Map
        Every map that may be chosen.

    Examples
    --------
    >>> from corrdp.accounting.maps import ReadsCount
    >>> Choice((ReadsCount(("young",)), ReadsCount(("old",)))).to_json()
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
