"""Rules on runs of a mechanism, and on who reads the data, who pays and what is claimed.

L-01, L-02, L-05, L-09 ask what the counts of runs refute, and how surely. A sampler cannot show
that something never happens. Zero occurrences in N runs bound the probability by 1 - .05^(1/N) at
95 %, and a claim is refuted only if it fails even so.

L-06, L-07, L-08, L-13, L-14, L-15, L-21 ask who reads the data, who pays, and what is claimed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from corrdp._checks import LONGEST, check_number, check_rng, check_whole
from corrdp.accounting.mistakes import unpriced
from corrdp.errors import InputError
from corrdp.linting.description import Description, Stage
from corrdp.linting.level import Level, as_level
from corrdp.results import Finding, Findings

Sampler = Callable[[Any, np.random.Generator], Any]


def zero_bound(runs: int, confidence: float = 0.95) -> float:
    r"""Largest probability of something that did not happen once.

    .. math:: p \le 1 - (1 - c)^{1/N}

    where N is the number of runs and c the confidence.

    Parameters
    ----------
    runs : int
    confidence : float in (0, 1)

    References
    ----------
    Clopper and Pearson (1934), for no success.

    Examples
    --------
    >>> round(zero_bound(10_000), 7)
    0.0002995
    """
    runs = _check(runs, confidence)
    return -math.expm1(math.log1p(-confidence) / runs)


def lint_sampler(
    mechanism: Sampler,
    one: Any,
    other: Any,
    claim: Any,
    *,
    rng: np.random.Generator,
    runs: int = 10_000,
    confidence: float = 0.95,
    distance: int = 1,
) -> Findings:
    r"""What runs on two data sets refute.

    .. math:: \Pr[M(D) \in S] > e^{k\varepsilon} \Pr[M(D') \in S] + \delta_k

    where k is the distance of D and D', and delta_k what group privacy leaves of delta. The event
    S is chosen from the first half of the runs and tested on the second half, by exact binomial
    limits, so that a correct mechanism is accused with probability 1 - confidence at most.

    L-01 tests the rows of D that D' has not (outputs are collections of rows), L-02 outputs that
    were never seen for D', L-05 D itself where every output is, L-09 each coordinate of tuples.

    Parameters
    ----------
    mechanism : callable
        ``f(data, rng) -> output``.
    one, other : data sets
    claim : float, guarantee or Level
        A number is epsilon.
    rng : numpy.random.Generator
    runs : int
        On each data set.
    confidence : float in (0, 1)
        Joint, of all findings.
    distance : int
        How many neighbours apart the two are.

    Returns
    -------
    Findings

    References
    ----------
    audits#impossible-outputs.

    Examples
    --------
    >>> def own_points(data, rng):
    ...     return [x for x in data if rng.random() < .7]
    >>> found = lint_sampler(own_points, ["x"], [], 1.0, rng=np.random.default_rng(1), runs=2000)
    >>> found.rules
    ('L-01', 'L-02')
    >>> noisy = lambda data, rng: len(data) + rng.laplace(0, 1)
    >>> len(lint_sampler(noisy, ["x"], [], 1.0, rng=np.random.default_rng(1), runs=2000))
    0
    """
    level = as_level(claim)
    runs = _check(runs, confidence, least=2)
    if check_whole("distance", distance, least=0) < 1:
        raise InputError(f"distance must be 1 or more, got {distance}: neighbours are at 1")
    if not callable(mechanism):
        raise InputError(f"mechanism must be a callable f(data, rng), got {mechanism!r}")
    check_rng(rng)
    seen = [[_frozen(mechanism(data, rng)) for _ in range(runs)] for data in (one, other)]
    half = runs // 2
    pilot, test = [s[:half] for s in seen], [s[half:] for s in seen]
    tests = list(_events(_frozen(one), _frozen(other), pilot, level, distance))
    miss = (1 - confidence) / max(1, 2 * len(tests))
    findings = []
    for rule, where, holds, repair in tests:
        hits = [sum(map(holds, outputs)) for outputs in test]
        low, high = _limits(hits, len(test[0]), miss)
        if low > _reach(level, distance, high):
            findings.append(
                Finding(
                    rule,
                    "error",
                    where,
                    f"seen {hits[0]} times in {len(test[0])} runs on one data set (probability at "
                    f"least {low:.4g}) and {hits[1]} times on the other (at most {high:.4g}); "
                    f"{level} allows {_reach(level, distance, high):.4g} at distance {distance}. "
                    f"{repair}",
                )
            )
    return Findings(findings)


_Event = tuple[str, str, Callable[[Any], bool], str]


def _events(
    one: Any, other: Any, pilot: list[list[Any]], level: Level, distance: int
) -> Iterable[_Event]:
    if isinstance(one, tuple) and isinstance(other, tuple):
        for row in dict.fromkeys(x for x in one if x not in other):

            def shows(output: Any, row: Any = row) -> bool:
                return isinstance(output, tuple) and row in output

            repair = "Give rows that are not there a chance"
            yield "L-01", f"row {row!r}", shows, repair
    counts = [Counter(outputs) for outputs in pilot]
    alone = set(counts[0]) - set(counts[1])
    if alone:
        repair = "Let every output be possible for every data set"
        yield "L-02b" if level.delta else "L-02", "outputs of one alone", alone.__contains__, repair
    if set(counts[0]) == {one}:
        repair = "At this setting the output is the data: make the setting pay"
        yield "L-05", "the data themselves", lambda output: output == one, repair
    widths = {len(output) if isinstance(output, tuple) else 0 for output in (*pilot[0], *pilot[1])}
    if len(widths) == 1 and (width := widths.pop()) > 1:
        for k in range(width):
            first, second = (Counter(output[k] for output in side) for side in pilot)
            chosen = _likely(first, second, level, distance)
            if chosen:

                def falls(output: Any, k: int = k, chosen: set[Any] = chosen) -> bool:
                    return output[k] in chosen

                repair = "Each released part must keep the claim: add noise to it"
                yield "L-09", f"coordinate {k}", falls, repair


def _likely(first: Counter[Any], second: Counter[Any], level: Level, distance: int) -> set[Any]:
    """Values that are more frequent than the claim allows, in the pilot runs."""
    factor = math.exp(min(700.0, distance * (level.epsilon or 0.0)))
    return {value for value, count in first.items() if count > factor * second[value]}


def _reach(level: Level, distance: int, probability: float) -> float:
    """The most that the claim allows, where the neighbour has this probability."""
    if level.mu is not None:
        from scipy.special import ndtr, ndtri

        return float(ndtr(ndtri(probability) + distance * level.mu))
    assert level.epsilon is not None
    factor = math.exp(min(700.0, distance * level.epsilon))
    return min(1.0, factor * probability + level.impossible(distance))


def _limits(hits: list[int], runs: int, miss: float) -> tuple[float, float]:
    """Lower limit of the first probability and upper limit of the second, each missed by miss."""
    from corrdp._binomial import binomial_interval

    (lower, _), (_, upper) = (binomial_interval(hit, runs - hit, 2 * miss) for hit in hits)
    return lower, upper


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_frozen(v) for v in value)
    if isinstance(value, set | frozenset):
        return tuple(sorted((_frozen(v) for v in value), key=repr))
    try:
        hash(value)
    except TypeError:
        raise InputError(
            f"an output must be a number, text or a list of those, got {type(value).__name__}"
        ) from None
    return value


def _check(runs: Any, confidence: float, least: int = 1) -> int:
    check_number("confidence", confidence, above=0, below=1)
    return check_whole("runs", runs, least, LONGEST)


def _outside(mechanism: Description, part: Stage) -> bool:
    """Whether a step reads a part of the data that the claim says nothing about."""
    area = mechanism.claim.area
    return area is not None and part.area is not None and part.area != area


def _unpaid(mechanism: Description) -> Iterator[tuple[Stage, str]]:
    """Steps through which the data get out although nobody pays, and how."""
    open_ways: set[str] = set()  # unpaid steps from which unpaid steps lead to what is published
    for part in reversed(mechanism.steps):
        onward = [other.name for other in mechanism.readers(part) if other.name in open_ways]
        if not part.pays and mechanism.raw(part) and (part.released or onward):
            open_ways.add(part.name)
    for part in mechanism.steps:
        if part.pays or not mechanism.raw(part) or _outside(mechanism, part):
            continue
        if part.name in open_ways:
            if "data" in part.reads:  # where it begins
                yield (
                    part,
                    "it is published with no budget"
                    if part.released
                    else ("what it tells is published with no budget on the way"),
                )
        elif part.kind != "preprocess" and part.sensitivity is None and mechanism.reaches(part):
            # beside the data its reader takes it as given; alone, its reader's price is for it
            aside = [other.name for other in mechanism.readers(part) if "data" in other.reads]
            if aside:
                yield part, f"it steers {', '.join(aside)}, and nobody pays for what it tells"


def unaccounted_access(mechanism: Description) -> Iterator[Finding]:
    """L-06: a step reads the data without budget, and is no preprocessing of known sensitivity."""
    for part, how in _unpaid(mechanism):
        yield Finding(
            "L-06",
            "error",
            mechanism.where(part),
            f"the step reads the data, and {how}. Give it a budget, let it read public knowledge "
            "or noisy outputs, or state its sensitivity",
        )


def partial_proofs(mechanism: Description) -> Iterator[Finding]:
    """L-07: proofs of the components, where something outside them reads the data."""
    if mechanism.proof == "whole":
        return
    selected = [
        part
        for part in mechanism.steps
        if part.observed and mechanism.raw(part) and mechanism.reaches(part)
    ]
    around = [part for part, _ in _unpaid(mechanism)]
    for part in mechanism.steps:
        if part not in selected and part not in around:
            continue
        what = "its keys come from the data" if part in selected else "it reads the data unpaid"
        yield Finding(
            "L-07",
            "warning",
            mechanism.where(part),
            f"a proof of the steps alone says nothing about the whole: {what}. Prove what is "
            "published, from the data to the output",
        )


def no_proof(mechanism: Description) -> Iterator[Finding]:
    """L-08: no proof is given."""
    if mechanism.proof == "none":
        yield Finding(
            "L-08",
            "warning",
            "proof",
            "no proof is given; what is protected remains unclear. Give one, and say whether it "
            "covers the whole or its components",
        )


def partial_areas(mechanism: Description) -> Iterator[Finding]:
    """L-13: a guarantee for part of the data, stated for all of them."""
    claimed = mechanism.claim.area
    paying = [part for part in mechanism.steps if part.pays and mechanism.raw(part)]
    if claimed is not None and any(part.area in (None, claimed) for part in paying):
        return
    for part in paying:
        if part.area is not None:
            yield Finding(
                "L-13",
                "warning",
                mechanism.where(part),
                f"protects {part.area} only, and the claim is about {claimed or 'everything'}. Say "
                f"area: {part.area} in the claim; nothing is promised about the rest",
            )


def missing_release(mechanism: Description) -> Iterator[Finding]:
    """L-14: the claim is about something that no released step gives, or nothing is released."""
    wanted = mechanism.claim.releases
    if not any(part.released for part in mechanism.steps):
        yield Finding(
            "L-14",
            "warning",
            "steps",
            "no step is said to be published (released is false unless stated), so that nothing "
            "gets out and most rules have nothing to look at. Say released: true where it is",
        )
    given = [part.gives for part in mechanism.steps if part.released and part.gives is not None]
    if wanted is not None and wanted not in given:
        yield Finding(
            "L-14",
            "error",
            "claim.releases",
            f"{wanted} are claimed, and the steps publish {', '.join(given) or 'nothing'}: the "
            f"step that makes {wanted} is missing, and made from the raw data it would have no "
            "guarantee. Describe that step with its budget, or claim what is published",
        )


def unpriced_preprocessing(mechanism: Description) -> Iterator[Finding]:
    """L-15: preprocessing that learns from the data unpriced; a price that is taken on trust."""
    for part in mechanism.steps:
        if part.kind != "preprocess" or not mechanism.raw(part) or not mechanism.reaches(part):
            continue
        price = part.sensitivity
        stated = 1.0 if price is None else price.l1 or price.l2 or 1.0
        if stated < 1:
            yield Finding(
                "L-15",
                "warning",
                mechanism.where(part),
                f"a sensitivity of {stated:g} is stated and counts as 1: neighbours are a whole "
                "number of changes apart, and preprocessing lowers no budget. State what later "
                "steps cost on the data",
            )
        if part.sensitivity is not None or part.learned is False:
            continue
        if part.learned:
            yield Finding("L-15", "error", mechanism.where(part), unpriced(part.name))
        else:
            yield Finding(
                "L-15",
                "warning",
                mechanism.where(part),
                f"it is not said whether {part.name!r} learns from the data; if it does, its "
                "sensitivity multiplies epsilon. Say learned: false if it is fixed in advance, or "
                "state the sensitivity",
            )


def chosen_maps(mechanism: Description) -> Iterator[Finding]:
    """L-21: a step asks about cells that were chosen from earlier outputs."""
    for part in mechanism.steps:
        if part.range != "outputs" or not mechanism.raw(part):
            continue
        rest = (
            "add the levels along each path of outputs and take the largest sum (pure DP allows "
            "that)"
            if mechanism.claim.level.pure
            else "composition theorems with fixed maps do not cover it: prove it, or use pure DP"
        )
        yield Finding(
            "L-21",
            "warning",
            mechanism.where(part),
            f"what it asks is chosen from earlier outputs; {rest}. Or fix the partition in advance",
        )
