"""Reading the description of a mechanism from JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from corrdp._checks import check_path
from corrdp.accounting.plan import at
from corrdp.errors import InputError, NotApplicableError
from corrdp.linting.description import AddedNoise, Claimed, Description, Knob, Sensitivity, Stage
from corrdp.linting.laws import (
    flag,
    interval,
    load_json,
    many,
    number,
    positive,
    probability,
    read_laws,
    read_object,
    real,
    shown,
    size,
    text,
    whole,
    word,
)
from corrdp.linting.level import Level, read_query
from corrdp.metric.fibres import mixing_time
from corrdp.metric.granularities import Unbounded, as_granularity

KINDS = ("query", "noise", "exponential", "sampling", "mechanism", "preprocess", "postprocess")
NOISES = ("laplace", "geometric", "gaussian", "other")
QUALITIES = ("time", "reachability", "places", "unlisted places")

SCHEMA = {
    "name": "what the mechanism is called",
    "claim.granularity": "who is protected: bounded, unbounded, local, event, w-event(3), "
    "trajectory, user, .. as in a plan",
    "claim.epsilon, delta, mu": "the level: epsilon (0 is allowed), with delta if there is one; "
    "or mu",
    "claim.change": "add or replace: whether a unit comes and goes or takes another value "
    "(default: add for unbounded, replace otherwise)",
    "claim.area": "the part of the data the claim is about (default: everything)",
    "claim.releases": "what the claim promises to publish, such as trajectories",
    "claim.proved_for": "the granularity of the proof, if it is another one",
    "steps[].name, kind": "a name, each once; " + ", ".join(KINDS),
    "steps[].reads": "data, public, and names of earlier steps",
    "steps[].released": "true if its output is published (default false)",
    "steps[].gives": "what its output is, in the words of claim.releases",
    "steps[].range": "where its possible outputs (keys, cells, partitions) come from: public "
    "(default), observed (only what occurs in the data), outputs (chosen from earlier outputs), "
    'or listed, {"data set": [outputs], ..}',
    "steps[].epsilon, delta, mu": "its budget",
    "steps[].times": "how often it runs on the same data; budgets add (default 1)",
    "steps[].noise": '{"law": "laplace", "scale": 2.0}; laws: '
    + ", ".join(NOISES)
    + '; scale one number, or one per level of a tree; "support": [-c, c] or "bounded" if the '
    "noise itself is cut off",
    "steps[].query": 'what is counted, so that its sensitivity can be recomputed: {"type": '
    '"count"}, {"type": "histogram"}, {"type": "sum", "lower": 0, "upper": 9}, {"type": '
    '"prefix-tree", "levels": 3}, {"type": "ngram-tree", "levels": 3, "longest": 5}; each with '
    '"rows": how many rows (trees: trajectories) of one unit it counts at most (default: 1 for a '
    "record, w or l for windows, and what data says for a user or trajectory)",
    "steps[].sensitivity": 'as the authors state it: a number (l1), or {"l1": 1, "l2": 1, '
    '"change": "add"}',
    "steps[].score": "exponential: [lowest, highest] value of the score",
    "steps[].rate": "sampling: probability with which a point is kept as it is",
    "steps[].threshold": "noise: only noisy counts from here on are kept",
    "steps[].learned": "preprocess: whether it looks at the data to decide what it does",
    "steps[].area": "the part of the data it reads (default: everything)",
    "proof": "whole (of everything that is published), components (of its steps), none (default)",
    "data.trajectories": "how many trajectories a user has at most",
    "data.users, data.steps": "size of a stream: how many users, and time steps (rows) of each",
    "data.together": "how many points move if one does",
    "data.autocorrelation": "of successive points, in [-1, 1]",
    "data.chain": "transition matrix of the places",
    "parameters[]": '{"name": "cluster size", "setting": 1, "gives": "data", "epsilon_changes": '
    "false}: a knob with a setting at which the output is the data",
    "ignores": "quality: any of " + ", ".join(QUALITIES),
    "laws": '{"data": [..], "outputs": [..], "table": [[..]]}: the exact law of the output for '
    'each of a few data sets; "neighbours": [[0, 1]] if the claim\'s granularity does not say it '
    'of these; "coordinates": [step names] if an output is one value per step',
    "source": "where it was published: reference, title, family, verdict, rules",
}
"""The keys of a description file and what they hold."""


def read_description(data: Any) -> Description:
    """Read a description from JSON; errors say at which place. The keys are in :data:`SCHEMA`.

    Parameters
    ----------
    data : dict

    Examples
    --------
    >>> read_description({
    ...     "name": "noisy count", "claim": {"granularity": "unbounded", "epsilon": 1},
    ...     "steps": [{"name": "count", "kind": "noise", "reads": ["data"], "released": True,
    ...                "query": {"type": "count"}, "noise": {"law": "laplace", "scale": 1}}]})
    noisy count: unbounded epsilon 1
      count (noise) reads data, released
    """
    readers = {
        "name": text,
        "claim": _claim,
        "steps": _steps,
        "proof": word("whole", "components", "none"),
        "data": _data,
        "parameters": many(_knob),
        "ignores": many(word(*QUALITIES)),
        "laws": lambda value: value,  # needs the claim
        "source": _source,
    }
    found = read_object("a description", data, readers, ("name", "claim", "steps"))
    if "laws" in found:
        with at("laws"):
            found["laws"] = read_laws(
                found["laws"],
                found["claim"].granularity,
                {part.name: part.released for part in found["steps"]},
            )
    return Description(**found)


def load_description(path: str | Path) -> Description:
    """Read a description file."""
    check_path("path", path)
    data = load_json(path)
    with at(str(path)):
        return read_description(data)


def _claim(data: Any) -> Claimed:
    readers = {
        "granularity": as_granularity,
        "epsilon": number,
        "delta": probability,
        "mu": positive,
        "change": word("add", "replace"),
        "area": text,
        "releases": text,
        "proved_for": as_granularity,
    }
    found = read_object("a claim", data, readers, ("granularity",))
    level = Level(found.pop("epsilon", None), found.pop("delta", 0.0), found.pop("mu", None))
    adds = isinstance(found["granularity"], Unbounded)
    found.setdefault("change", "add" if adds else "replace")
    if adds and found["change"] == "replace":
        raise InputError("under unbounded granularity records come and go: change is add")
    return Claimed(level=level, **found)


def _steps(data: Any) -> tuple[Stage, ...]:
    if not isinstance(data, list) or not data:
        raise InputError(f"must be a list of one or more steps, got {shown(data)}")
    parts: list[Stage] = []
    for k, item in enumerate(data):
        name = f" ({item['name']!r})" if isinstance(item, dict) and "name" in item else ""
        with at(f"[{k}]{name}"):
            part = _part(item)
            known = ["data", "public", *(p.name for p in parts)]
            if part.name in known:
                raise InputError(f"the name {part.name!r} is taken; each step has its own")
            for source in part.reads:
                if source not in known:
                    raise InputError(
                        f"reads {source!r}, which is no earlier step; there are {', '.join(known)}"
                    )
            parts.append(part)
    return tuple(parts)


_ONLY = {
    "noise": "noise",
    "query": "noise",
    "threshold": "noise",
    "score": "exponential",
    "rate": "sampling",
    "learned": "preprocess",
}


def _part(data: Any) -> Stage:
    readers = {
        "name": text,
        "kind": word(*KINDS),
        "reads": many(text, least=1),
        "released": flag,
        "gives": text,
        "range": _range,
        "epsilon": number,
        "delta": probability,
        "mu": positive,
        "times": whole,
        "noise": _noise,
        "query": read_query,
        "sensitivity": _sensitivity,
        "score": interval,
        "rate": probability,
        "threshold": real,
        "learned": flag,
        "area": text,
    }
    found = read_object("a step", data, readers, ("name", "kind", "reads"))
    kind = found["kind"]
    for key, only in _ONLY.items():
        if key in found and kind != only:
            raise InputError(f"{key} is for kind {only}; this step is a {kind}")
    if kind in ("query", "preprocess", "postprocess") and {"epsilon", "mu"} & set(found):
        raise InputError(f"a {kind} draws no noise and has no budget; kind mechanism has one")
    for needed, of in (("noise", "noise"), ("rate", "sampling")):
        if kind == of and needed not in found:
            raise InputError(f"a step of kind {of} needs {needed}")
    if found.get("epsilon") is not None and found.get("mu") is not None:
        raise InputError("give epsilon or mu, not both")
    levels, scales = found.get("query"), found.get("noise")
    if (
        scales is not None
        and len(scales.scale) > 1
        and (levels is None or levels.levels != len(scales.scale))
    ):
        raise InputError(
            f"noise has {len(scales.scale)} scales, its query "
            f"{'has no levels' if levels is None else f'{levels.levels} levels'}"
        )
    return Stage(**found)


def _range(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) < 2:
            raise InputError("listed ranges need two or more data sets to compare")
        return {key: many(str)(outputs) for key, outputs in value.items()}
    return word("public", "observed", "outputs")(value)


def _noise(data: Any) -> AddedNoise:
    def scales(value: Any) -> tuple[float, ...]:
        return many(positive, least=1)(value) if isinstance(value, list) else (positive(value),)

    def support(value: Any) -> Any:
        return value if value == "bounded" else interval(value)

    readers = {"law": word(*NOISES), "scale": scales, "support": support}
    return AddedNoise(**read_object("a noise", data, readers, ("law", "scale")))


def _sensitivity(value: Any) -> Sensitivity:
    if not isinstance(value, dict):
        return Sensitivity(l1=size(value))
    readers = {"l1": size, "l2": size, "change": word("add", "replace")}
    found = read_object("a sensitivity", value, readers)
    if not {"l1", "l2"} & set(found):
        raise InputError("a sensitivity has l1 or l2")
    return Sensitivity(**found)


def _knob(data: Any) -> Knob:
    readers = {"name": text, "setting": lambda v: v, "gives": text, "epsilon_changes": flag}
    return Knob(**read_object("a parameter", data, readers, ("name", "setting", "gives")))


def forgetting(kernel: Any) -> float:
    """Mixing time of a kernel, inf if it never forgets.

    Examples
    --------
    >>> forgetting([[.9, .1], [.1, .9]]), forgetting([[1, 0], [0, 1]])
    (4, inf)
    """
    try:
        return mixing_time(kernel)
    except NotApplicableError:
        return math.inf


def _data(data: Any) -> dict[str, Any]:
    def correlation(value: Any) -> float:
        found = real(value)
        if abs(found) > 1:
            raise InputError(f"must lie in [-1, 1], got {found:g}")
        return found

    def chain(value: Any) -> float:
        rows = many(many(number), least=1)(value)
        if any(len(row) != len(rows) for row in rows):
            raise InputError(f"must be a square matrix; {len(rows)} rows are not all that long")
        return forgetting(rows)

    readers = {
        "trajectories": whole,
        "users": whole,
        "steps": whole,
        "together": whole,
        "autocorrelation": correlation,
        "chain": chain,
    }
    return read_object("data", data, readers)


def _source(data: Any) -> dict[str, Any]:
    readers = {
        "reference": text,
        "title": text,
        "family": text,
        "verdict": text,
        "rules": many(text),
    }
    return read_object("a source", data, readers)
