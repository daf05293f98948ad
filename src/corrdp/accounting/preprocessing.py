"""What happens to the input of a mechanism before it runs, and by how much that counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corrdp.errors import InputError
from corrdp.metric.extended import check_distance


@dataclass(frozen=True)
class Preprocessing:
    """What happens to the input of a mechanism before it runs: clipping, outliers, cells.

    It works on what the map gives, and multiplies the level by its sensitivity (Guerra-Balboa,
    dissertation, proposition A.3).

    Parameters
    ----------
    name : str
    sensitivity : float, optional
        How far it can spread neighbours apart (:func:`corrdp.metric.sensitivity.sensitivity`); > 0.
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
    docs/theorems.md#preprocessing-below-one.

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
