"""L-01, L-02, L-05, L-09 from runs of a mechanism: what the counts refute, and how surely.

A sampler cannot show that something never happens. Zero occurrences in N runs bound the
probability by 1 - .05^(1/N) at 95 %, and a claim is refuted only if it fails even so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp.errors import InputError
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
    if distance < 1:
        raise InputError(f"distance must be 1 or more, got {distance}: neighbours are at 1")
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
    return check_whole("runs", runs, least)
