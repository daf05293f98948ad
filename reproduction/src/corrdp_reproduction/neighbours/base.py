"""A number of ours, what the neighbours say to the same input, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Literal

from corrdp.errors import InputError

NEIGHBOURS = ("riskcal", "dp-accounting", "opendp")
Relation = Literal["=", ">=", "<="]
_ROUNDING = 1e-9  # by which a bound may miss ours: both are rounded


@cache
def version(name: str) -> str | None:
    """The installed version of a neighbour, None if it is not there.

    Examples
    --------
    >>> version("nobody-has-this") is None
    True
    """
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@dataclass(frozen=True)
class Answer:
    """What one neighbour says.

    Parameters
    ----------
    neighbour : str
        One of ``NEIGHBOURS``.
    value : float, optional
        None where it is not installed.
    relation : "=", ">=" or "<="
        What its method promises against ours: the same number, a bound that may be larger, or a
        smaller number since it knows more.
    within : float
        For "=": how far off it may be, relative to numbers above 1.
    """

    neighbour: str
    value: float | None
    relation: Relation = "="
    within: float = 0.0

    def agrees(self, ours: float) -> bool:
        """Whether the promise is kept; yes for a neighbour that is not installed.

        Examples
        --------
        >>> Answer("riskcal", .4, "=", 1e-6).agrees(.4), Answer("opendp", .4, ">=").agrees(.5)
        (True, False)
        """
        if self.value is None or self.value == ours:
            return True
        slack = (self.within or _ROUNDING) * max(1.0, abs(ours))
        if self.relation == "=":
            return abs(self.value - ours) <= slack
        return self.value >= ours - slack if self.relation == ">=" else self.value <= ours + slack

    def shown(self, ours: float) -> str:
        """The cell of the page.

        Examples
        --------
        >>> Answer("opendp", 4.728387, ">=").shown(4.377178)
        '>= 4.72839'
        """
        if self.value is None:
            return "not installed"
        broken = "" if self.agrees(ours) else " (**not so**)"
        return f"{self.relation} {self.value:.6g}{broken}"


@dataclass(frozen=True)
class Row:
    """One quantity: our number, and the answers of those who have one.

    Parameters
    ----------
    quantity : str
    ours : float, optional
        None where only neighbours can tell.
    answers : tuple of Answer
    """

    quantity: str
    ours: float | None
    answers: tuple[Answer, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every promise is kept."""
        return self.ours is None or all(answer.agrees(self.ours) for answer in self.answers)

    def cells(self) -> list[str]:
        """Quantity, ours, and one cell for each neighbour."""
        given = {answer.neighbour: answer for answer in self.answers}
        ours = math.nan if self.ours is None else self.ours
        found = [self.quantity, "-" if self.ours is None else f"{ours:.6g}"]
        for name in NEIGHBOURS:
            answer = given.get(name)
            if answer is None:
                found.append("-")
            elif self.ours is None and answer.value is not None:
                found.append(f"{answer.value:.6g}")
            else:
                found.append(answer.shown(ours))
        return found


@dataclass(frozen=True)
class Section:
    """A table of the page with a few words before it."""

    title: str
    words: str
    rows: tuple[Row, ...]


def ask(
    neighbour: str,
    compute: Callable[[], float],
    relation: Relation = "=",
    within: float = 0.0,
) -> Answer:
    """Ask a neighbour if it is installed.

    Parameters
    ----------
    neighbour : str
        One of ``NEIGHBOURS``.
    compute : callable
        Imports it and computes.
    relation, within
        See :class:`Answer`.

    Examples
    --------
    >>> ask("opendp", lambda: 2.0).value
    2.0
    """
    if neighbour not in NEIGHBOURS:
        raise InputError(f"{neighbour!r} is no neighbour; there are {', '.join(NEIGHBOURS)}")
    if version(neighbour) is None:
        return Answer(neighbour, None, relation, within)
    return Answer(neighbour, float(compute()), relation, within)
