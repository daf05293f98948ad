"""Rules on what is exactly known: laws of a few data sets, and exponential mechanisms.

L-01, L-02, L-02b, L-09, L-11, L-20 look at every output of every listed data set; L-03, L-04, L-05
at exponential mechanisms that are none, and knobs that undo them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from corrdp._checks import check_kind
from corrdp.linting.description import Description
from corrdp.linting.laws import Laws
from corrdp.linting.level import as_level
from corrdp.metric.granularities import FreeLunch
from corrdp.results import Finding, Findings

_SLACK = 1 + 1e-9


def lint_laws(laws: Laws, claim: Any) -> Findings:
    r"""Every finding that exact laws allow.

    .. math:: M \text{ is } \varepsilon\text{-DP} \iff
              \max_\theta \ln \frac{\Pr[M(D) = \theta]}{\Pr[M(D') = \theta]} \le \varepsilon

    for all neighbours D, D' that are listed; and the outputs that D' can never give have a
    probability under D that the claim bounds at every distance.

    Parameters
    ----------
    laws : Laws
        From :func:`corrdp.linting.laws.laws_of`.
    claim : float, guarantee or Level
        A number is epsilon.

    Returns
    -------
    Findings

    References
    ----------
    Guerra-Balboa, dissertation, propositions 3.5 and 3.6, theorems 4.25 and 4.26;
    audits#impossible-outputs.

    Examples
    --------
    >>> from corrdp.linting.laws import laws_of
    >>> shows = laws_of([["x"], []], [["x"], []], [[.696735, .303265], [0, 1]], "unbounded")
    >>> lint_laws(shows, 1.0).rules
    ('L-01', 'L-02', 'L-09')
    >>> honest = laws_of([0, 1], [0, 1], [[.7310585, .2689415], [.2689415, .7310585]], "local")
    >>> len(lint_laws(honest, 1.0))
    0
    """
    check_kind("laws", laws, Laws, "what laws_of returns")
    return Findings(finding for check in EXACT.values() for finding in check(laws, claim))


def invented_rows(laws: Laws, claim: Any) -> Iterator[Finding]:
    """L-01: a row shows only if it is there."""
    if laws.coordinates or not all(isinstance(item, tuple) for item in (*laws.data, *laws.outputs)):
        return
    level, worst = as_level(claim), (0.0, "")
    for row in dict.fromkeys(x for item in laws.data for x in item):
        shows = laws.table[:, [row in output for output in laws.outputs]].sum(axis=1)
        with_it = np.array([row in item for item in laws.data])
        for i, j in np.argwhere(with_it[:, None] & ~with_it & np.isfinite(laws.distances)):
            allowed = level.impossible(laws.distances[i, j])
            if shows[j] == 0 and shows[i] > allowed * _SLACK and shows[i] - allowed > worst[0]:
                worst = (
                    float(shows[i] - allowed),
                    f"row {row!r} shows with probability {shows[i]:.6g} for {_name(laws, i)} and "
                    f"never for {_name(laws, j)}, at distance {laws.distances[i, j]:g}: a loss of "
                    f"inf ({level} allows {allowed:.6g}). Give rows that are not there a chance",
                )
    if worst[1]:
        yield Finding("L-01", "error", "laws", worst[1])


def impossible_outputs(laws: Laws, claim: Any) -> Iterator[Finding]:
    """L-02, L-02b: outputs that one data set gives and another never does."""
    level, worst = as_level(claim), (0.0, "")
    never = laws.table == 0
    mass = laws.table @ never.T.astype(float)  # mass[i, j]: outputs of i that j never gives
    for i, j in np.argwhere(np.isfinite(laws.distances) & (mass > 0)):
        allowed = level.impossible(laws.distances[i, j])
        if mass[i, j] > allowed * _SLACK and mass[i, j] - allowed > worst[0]:
            worst = (
                float(mass[i, j] - allowed),
                f"outputs of {_name(laws, i)} with probability {mass[i, j]:.6g} never come from "
                f"{_name(laws, j)}, at distance {laws.distances[i, j]:g}; {level} allows "
                f"{allowed:.6g}. Let every output be possible everywhere, or claim the delta",
            )
    if worst[1]:
        yield Finding("L-02b" if level.delta else "L-02", "error", "laws", worst[1])


def failing_marginals(laws: Laws, claim: Any) -> Iterator[Finding]:
    """L-09: what is released, coordinate by coordinate and together, must keep the claim.

    What is not released need not.
    """
    level = as_level(claim)
    looked: list[tuple[str, np.ndarray]] = [("the output", laws.table)]
    if laws.coordinates:
        released = [k for k, out in enumerate(laws.coordinates.values()) if out]
        names = list(laws.coordinates)
        looked = [(f"coordinate {names[k]!r}", laws.marginal([k])) for k in released]
        if len(released) > 1:
            looked.append(("what is released together", laws.marginal(released)))
    for what, table in looked:
        worst = (0.0, "")
        for i, j in np.argwhere(laws.distances == 1):
            over, words = level.excess(table[i], table[j])
            if over > worst[0]:
                worst = over, f"{words} from {_name(laws, i)} to {_name(laws, j)}"
        if worst[1]:
            yield Finding(
                "L-09",
                "error",
                "laws",
                f"{what} breaks {level}: {worst[1]}. If the whole kept the claim, each part that "
                "is released would; add noise here, or do not release it",
            )


def vacuous_laws(laws: Laws, claim: Any) -> Iterator[Finding]:
    """L-11: no two of the data sets listed are neighbours."""
    if not (laws.distances == 1).any():
        yield Finding(
            "L-11",
            "error",
            "laws",
            "no two of these data sets are neighbours, so that every mechanism counts as 0-DP on "
            "them. Name a granularity that changes something, or list neighbours",
        )


def deterministic(laws: Laws, claim: Any) -> Iterator[Finding]:
    """L-20: one output for each data set, and not the same for all that are joined."""
    if (laws.table.max(axis=1) < 1 - 1e-12).any():
        return
    answers = laws.table.argmax(axis=1)
    differ = np.isfinite(laws.distances) & (answers[:, None] != answers)
    if differ.any():
        i, j = np.argwhere(differ)[0]
        yield Finding(
            "L-20",
            "error",
            "laws",
            f"nothing is random, and {_name(laws, i)} gives {laws.outputs[answers[i]]!r} where "
            f"{_name(laws, j)} gives {laws.outputs[answers[j]]!r}: a loss of inf. Add noise; an "
            "answer without noise must be the same for all data sets that neighbours join",
        )


def _name(laws: Laws, i: int) -> str:
    item = laws.data[i]
    return repr(list(item)) if isinstance(item, tuple) else repr(item)


EXACT = {
    "L-01": invented_rows,
    "L-02": impossible_outputs,
    "L-09": failing_marginals,
    "L-11": vacuous_laws,
    "L-20": deterministic,
}


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
