"""What several series are at one time: slices, a state for each series."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from corrdp._checks import check_items, count_distinct
from corrdp.errors import ModelError
from corrdp.models.base import check_states

MOST_SLICES = 64  # different slices: pairs of them are compared at every step of a bound


def slice_name(one: Sequence[Any]) -> str:
    """A slice in a sentence.

    Examples
    --------
    >>> slice_name(("dry", "wet"))
    'dry, wet'
    """
    return ", ".join(map(str, one))


def check_number_of_slices(number: int, series: int) -> None:
    """Refuse more slices than bounds can compare."""
    if number > MOST_SLICES:
        raise ModelError(
            f"{series} series make {number} different slices here, and at most {MOST_SLICES} can "
            "be compared: merge states, or name fewer series where the others do not depend on "
            "them; else fit a field over times and series (MarkovField, corrdp fit network), or, "
            "where times do not depend on each other, take the records of one time as a block "
            f"(Groups({series}), groups:{series})"
        )


def read_slices(slices: Any, states: Any, series: int, number: int) -> tuple[Any, ...]:
    """The slices as tuples of states, as many as the kernel has rows; all of them where not given.

    Examples
    --------
    >>> read_slices(None, ("dry", "wet"), 2, 4)[1]
    ('dry', 'wet')
    """
    if slices is None:
        each = round(number ** (1.0 / series))
        if each**series != number:
            raise ModelError(
                f"{number} slices of {series} series are not all combinations of some states: say "
                "which they are (slices=)"
            )
        named = check_states(states, each)
        return tuple(itertools.product(named, repeat=series))
    listed = check_items("slices", slices, letters=True, error=ModelError)
    found = tuple(
        tuple(check_items("a slice", one, letters=True, error=ModelError)) for one in listed
    )
    if any(len(one) != series for one in found):
        raise ModelError(f"a slice lists one state for each of the {series} series")
    if len(found) != number or count_distinct("slices", found, error=ModelError) != number:
        raise ModelError(f"{number} rows of transition need as many different slices")
    return found
