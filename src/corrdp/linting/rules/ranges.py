"""L-03, L-04, L-05: exponential mechanisms that are none, and knobs that undo them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Any

from corrdp.linting.description import Description
from corrdp.metric.granularities import FreeLunch
from corrdp.results.findings import Finding

_REPAIR = "Score the elements of one public set, such as the partitions of a map"


def differing_ranges(ranges: Mapping[Any, Collection[Any]]) -> tuple[Any, Any] | None:
    """Two data sets for which an exponential mechanism chooses from different sets; None if none.

    The pair that has least in common comes first.

    Parameters
    ----------
    ranges : mapping of data set to the outputs that can be chosen

    References
    ----------
    Guerra-Balboa, dissertation, section 3.4.2.

    Examples
    --------
    >>> differing_ranges({"{1,2,3}": ["12|3", "13|2", "23|1"], "{1,2}": ["1|2"]})
    ('{1,2,3}', '{1,2}')
    >>> differing_ranges({"D": ["north", "south"], "D'": ["south", "north"]})
    """
    sets = {key: set(outputs) for key, outputs in ranges.items()}
    unlike = [(a, b) for a, b in combinations(sets, 2) if sets[a] != sets[b]]
    return min(unlike, key=lambda pair: len(sets[pair[0]] & sets[pair[1]]), default=None)


def data_ranges(mechanism: Description) -> Iterator[Finding]:
    """L-03: an exponential mechanism whose range is made from the data."""
    for part in mechanism.steps:
        if part.kind != "exponential" or not mechanism.raw(part):
            continue
        where = mechanism.where(part)
        if part.range == "observed":
            yield Finding(
                "L-03",
                "error",
                where,
                "the set to choose from is made from the data, so that the sensitivity of the "
                "score, a largest difference over one set, is not defined and this is no "
                f"exponential mechanism. {_REPAIR}",
            )
        elif not isinstance(part.range, str) and (pair := differing_ranges(part.range)):
            one, two = (set(part.range[key]) for key in pair)
            yield Finding(
                "L-03",
                "error",
                where,
                f"{pair[0]} has {len(one)} outputs to choose from, {pair[1]} has {len(two)}, and "
                f"{len(one & two) or 'none'} in common: the sensitivity of the score is not "
                f"defined. {_REPAIR}",
            )


def score_ranges(mechanism: Description) -> Iterator[Finding]:
    """L-04: the sensitivity of a score taken as its whole range.

    Where any two data sets are neighbours (local, free-lunch) the two are the same, rightly.
    """
    if isinstance(mechanism.claim.granularity, FreeLunch):
        return
    for part in mechanism.steps:
        if part.score is None or part.sensitivity is None or part.sensitivity.l1 is None:
            continue
        width = part.score[1] - part.score[0]
        if part.sensitivity.l1 >= width or math.isclose(part.sensitivity.l1, width):
            yield Finding(
                "L-04",
                "warning",
                mechanism.where(part),
                f"the sensitivity {part.sensitivity.l1:g} is the whole range of the score "
                f"({part.score[0]:g} to {part.score[1]:g}), as if one record could move it from "
                "end to end. Derive what one record moves; if it is the range, the score tells "
                "nothing",
            )


def open_knobs(mechanism: Description) -> Iterator[Finding]:
    """L-05: a parameter whose setting gives the data away at the same epsilon."""
    for k, knob in enumerate(mechanism.parameters):
        if knob.gives == "data" and not knob.epsilon_changes:
            yield Finding(
                "L-05",
                "error",
                f"parameters[{k}] ({knob.name!r})",
                f"at {knob.name} = {knob.setting} the output is the data, and the claim stays at "
                f"{mechanism.claim.level}: the proof cannot be right for any setting. Find the "
                "step that pays for nothing; the setting belongs into the sensitivity",
            )
