"""L-01, L-02, L-02b, L-09, L-11, L-20 on exact laws: every output of every listed data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from corrdp.linting.laws import Laws
from corrdp.linting.level import as_level
from corrdp.results.findings import Finding, Findings

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
    docs/theorems.md#impossible-outputs.

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
