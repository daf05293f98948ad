"""Every rule, one function that runs them, and a description to start from (``--example``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corrdp.accounting.mistakes import lint_plan
from corrdp.accounting.plan import Plan, at, plan_from_dict
from corrdp.errors import InputError
from corrdp.linting.description import Description
from corrdp.linting.laws import load_json
from corrdp.linting.reading import read_description
from corrdp.linting.rules import exact as ranges
from corrdp.linting.rules import levels, movement, support
from corrdp.linting.rules import sampled as access
from corrdp.linting.rules.exact import lint_laws
from corrdp.results import Finding, Findings, Severity

EXAMPLE: dict[str, Any] = {
    "name": "noisy prefix tree",
    "claim": {
        "granularity": "user",
        "change": "add",
        "epsilon": 1,
        "releases": "trajectories",
        "proved_for": "user",
    },
    "proof": "whole",
    "data": {"trajectories": 2, "users": 500, "steps": 48},
    "steps": [
        {
            "name": "cells",
            "kind": "preprocess",
            "reads": ["data", "public"],
            "learned": False,
        },
        {
            "name": "counts",
            "kind": "noise",
            "reads": ["cells"],
            "range": "public",
            "query": {"type": "prefix-tree", "levels": 3},
            "sensitivity": {"l1": 2, "change": "add"},
            "noise": {"law": "laplace", "scale": [6, 6, 6]},
            "epsilon": 1,
        },
        {"name": "prune", "kind": "postprocess", "reads": ["counts"]},
        {
            "name": "output",
            "kind": "postprocess",
            "reads": ["prune", "public"],
            "released": True,
            "gives": "trajectories",
        },
    ],
}
"""Two trajectories a user, three levels: each level gets a third of epsilon 1, scale 2 / (1/3)."""


Check = Callable[[Description], Iterable[Finding]]


@dataclass(frozen=True)
class Rule:
    """One published mistake.

    Parameters
    ----------
    id : str
    severity : {"error", "warning"}
        At its worst; what cannot be decided from the description is a warning.
    mistake : str
        In a few words.
    reads : str
        Where it is looked for: plan, description (with the fields), laws, runs.
    check : callable, optional
        Of a description.
    """

    id: str
    severity: Severity
    mistake: str
    reads: str
    check: Check | None = None


RULES: tuple[Rule, ...] = (
    Rule(
        "L-01",
        "error",
        "only rows that occur in the data are perturbed",
        "description (range, threshold), laws, runs",
        support.observed_keys,
    ),
    Rule(
        "L-02",
        "error",
        "what can come out depends on the data (pure and Gaussian claims)",
        "description (range, rate), laws, runs",
        support.observed_ranges,
    ),
    Rule(
        "L-02b",
        "error",
        "the same, with more probability than delta allows",
        "description (rate), laws, runs",
    ),
    Rule(
        "L-03",
        "error",
        "an exponential mechanism chooses from a set made of the data",
        "description (range)",
        ranges.data_ranges,
    ),
    Rule(
        "L-04",
        "warning",
        "the sensitivity of a score is its whole range",
        "description (score, sensitivity)",
        ranges.score_ranges,
    ),
    Rule(
        "L-05",
        "error",
        "a setting makes the output the data, at the same epsilon",
        "description (parameters), runs",
        ranges.open_knobs,
    ),
    Rule(
        "L-06",
        "error",
        "a step reads the data and nobody pays",
        "description (reads, budgets)",
        access.unaccounted_access,
    ),
    Rule(
        "L-07",
        "warning",
        "the components are proved, and something around them reads the data",
        "description (proof, range, reads)",
        access.partial_proofs,
    ),
    Rule("L-08", "warning", "no proof is given", "description (proof)", access.no_proof),
    Rule("L-09", "error", "a released part breaks the claim", "laws, runs"),
    Rule("L-10", "error", "a bounded total claimed by the rule for unbounded ones", "plan"),
    Rule("L-11", "error", "nothing has a neighbour", "plan, laws"),
    Rule("L-12", "warning", "distances taken from a larger domain", "plan"),
    Rule(
        "L-13",
        "warning",
        "part of the data is protected, everything is claimed",
        "description (area)",
        access.partial_areas,
    ),
    Rule(
        "L-14",
        "error",
        "the step that makes what is claimed is missing, or none is published",
        "description (released, releases, gives)",
        access.missing_release,
    ),
    Rule(
        "L-15",
        "error",
        "preprocessing learns from the data, and its sensitivity is not stated",
        "plan, description (learned, sensitivity)",
        access.unpriced_preprocessing,
    ),
    Rule(
        "L-16",
        "error",
        "the noise has ends around the true answer",
        "description (noise.support)",
        support.cut_noise,
    ),
    Rule(
        "L-17",
        "warning",
        "one point is protected, and points move together",
        "description (data)",
        movement.correlated_events,
    ),
    Rule(
        "L-18",
        "warning",
        "a window no longer than the mixing time",
        "description (data)",
        movement.short_windows,
    ),
    Rule(
        "L-19",
        "error",
        "proved for a trajectory (or point), claimed for the user",
        "description (proved_for, data)",
        movement.weaker_units,
    ),
    Rule("L-20", "error", "nothing is random", "laws"),
    Rule(
        "L-21",
        "warning",
        "what is asked was chosen from earlier outputs",
        "description (range)",
        access.chosen_maps,
    ),
    Rule("L-22", "error", "zero times infinity taken as zero", "plan"),
    Rule(
        "L-23",
        "error",
        "noise scaled for another norm, another neighbour, or one level of many; budgets above the "
        "claim",
        "plan (claims), description (noise, query, rows, sensitivity, budgets, times)",
        levels.mismatches,
    ),
    Rule(
        "L-24",
        "warning",
        "outputs that nobody could have moved",
        "description (ignores), outputs (unreachable)",
        movement.poor_quality,
    ),
)
"""The rules, in order of their number."""


def lint(mechanism: Description | Plan | dict[str, Any] | str | os.PathLike[str]) -> Findings:
    """Known mistakes in the description of a mechanism, or in a plan.

    An error refutes the claim as described; a warning says what it leaves open. No finding is no
    proof: the linter believes the description, and knows the mistakes in :data:`RULES` only.

    Parameters
    ----------
    mechanism : Description, Plan, dict or path
        A description has ``steps``, a plan has ``releases``; a path is that of a JSON file. The
        keys are in :data:`corrdp.linting.reading.SCHEMA` and
        :data:`corrdp.accounting.plan.SCHEMA`.

    Returns
    -------
    Findings

    References
    ----------
    Guerra-Balboa, dissertation, sections 3.4 and 4.5; docs/lint.md.

    Examples
    --------
    >>> tree = {"name": "prefix tree", "proof": "whole", "data": {"trajectories": 1},
    ...         "claim": {"granularity": "user", "change": "add", "epsilon": 1},
    ...         "steps": [{"name": "counts", "kind": "noise", "reads": ["data"], "released": True,
    ...                    "query": {"type": "prefix-tree", "levels": 3},
    ...                    "noise": {"law": "laplace", "scale": 1}}]}
    >>> lint(tree)
    1 error, no warning
      L-23 error at steps[0] ('counts'): the noise gives epsilon 3, claimed is epsilon 1 at user \
granularity, records that come and go. One unit moves all 3 levels of the tree: give each level \
its share, and scales that add up
    >>> tree["steps"][0]["noise"]["scale"] = 3
    >>> lint(tree).ok
    True
    """
    if isinstance(mechanism, str | os.PathLike):
        data = load_json(mechanism)
        with at(str(Path(mechanism))):
            return lint(data)
    if isinstance(mechanism, dict):
        mechanism = _read(mechanism)
    if isinstance(mechanism, Plan):
        return lint_plan(mechanism)
    if not isinstance(mechanism, Description):
        raise InputError(
            "give a description (an object with name, claim and steps) or a plan (domain and "
            f"releases); got {type(mechanism).__name__}"
        )
    found = [f for rule in RULES if rule.check is not None for f in rule.check(mechanism)]
    if mechanism.laws is not None:
        found += lint_laws(mechanism.laws, mechanism.claim.level)
    return Findings(found)


def _read(data: dict[str, Any]) -> Description | Plan:
    try:
        if "releases" in data or "domain" in data:
            return plan_from_dict(data)
        return read_description(data)
    except RecursionError:
        raise InputError("nested too deeply to be a description or a plan") from None
