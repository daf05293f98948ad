"""Errors of Lange (2024) on the notion, simulation and families: counterexamples, computed."""

from __future__ import annotations

import itertools
import math

import numpy as np

from corrdp.bounds.exact import adversaries
from corrdp.bounds.leakage import leakage
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.groups import JointTable
from corrdp.models.pedigrees.mendel import HardyWeinberg
from corrdp.queries import Count, Sum
from corrdp_reproduction.errata.base import Counterexample, Erratum
from corrdp_reproduction.lange.estimator import estimated_leakage
from corrdp_reproduction.lange.figure_7 import nuclear_family
from corrdp_reproduction.lange.numbers import table_2
from corrdp_reproduction.lange.thesis import figure_14


def _implies_dp() -> Counterexample:
    """One answer that depends on whether two bits agree."""
    says_yes = {x: 0.5 if x[0] == x[1] else 0.9 for x in itertools.product((0, 1), repeat=2)}
    plain = max(
        _log_ratio(says_yes[x], says_yes[y])
        for x, y in itertools.permutations(says_yes, 2)
        if sum(a != b for a, b in zip(x, y, strict=True)) == 1
    )
    equal = _leak(JointTable({(0, 0): 0.5, (1, 1): 0.5}), says_yes)
    full = _leak(JointTable({(0, 0): 0.4, (1, 1): 0.4, (0, 1): 0.1, (1, 0): 0.1}), says_yes)
    return Counterexample(
        equal < plain,
        full >= plain - 1e-12,
        f"an answer that differs where two bits differ has BDP level {equal:.4f} when they are "
        f"always equal and DP level {plain:.4f}; with full support its BDP level is {full:.4f}.",
    )


def _log_ratio(p: float, q: float) -> float:
    """Largest log ratio of a yes or no with these chances."""
    return max(math.log(p / q), math.log((1 - p) / (1 - q)))


def _leak(table: JointTable, says_yes: dict[tuple[int, ...], float]) -> float:
    """BDP level of a mechanism that answers yes with these chances."""
    _, law = table.outcomes
    chances = np.array([says_yes[x] for x in table.law])
    worst = 0.0
    for _, _, _, split in adversaries(table):
        means = [float(np.average(chances[rows], weights=law[rows])) for _, rows in split]
        worst = max(worst, *(_log_ratio(p, q) for p, q in itertools.permutations(means, 2)))
    return worst


def _knows_nothing() -> Counterexample:
    table = JointTable({(0, 0, 0): 0.5, (1, 1, 1): 0.5})
    some = sum(1 for _, known, _, _ in adversaries(table) if known)
    worst = leakage(table, 1.0, query=Count(1), method="exact")
    assert worst.witness is not None
    return Counterexample(
        some == 0 and worst.value > 1.0,
        worst.witness.known == (),
        f"three equal bits, a 1-DP count: {some} adversaries who know a record learn anything "
        f"more, the one who knows none learns {worst.value:.4f}.",
    )


def _simulation() -> Counterexample:
    chain, epsilon = figure_14(1.0, 10), 0.5
    simulated = estimated_leakage(chain, epsilon, 6, np.random.default_rng(1))
    exact = leakage(chain, epsilon, query=Count(1), method="exact").value
    return Counterexample(
        simulated > exact + 0.05,
        abs(exact - epsilon) < 1e-9,
        f"ten independent bits, a count of DP level {epsilon}: simulated {simulated:.3f}, exactly "
        f"{exact:.3f}.",
    )


def _equation_48() -> Counterexample:
    r, e = 10, math.e
    alpha, beta = (r - 1) / r, 1 / r**2
    below = e * (1 - alpha - beta) + alpha
    printed = math.log((e**2 * beta / (1 - beta)) / (below / (1 - beta)))
    right = math.log(e**2 * (1 - beta) / below)
    # the adversary who attacks the first bit and sees an answer of 0 or less
    law = table_2(r).law
    first = sum(p * math.exp(-sum(x)) for x, p in law.items() if x[0] == 0) / beta
    second = sum(p * math.exp(-sum(x)) for x, p in law.items() if x[0] == 1) / (1 - beta)
    exact = math.log(first / second)
    return Counterexample(
        abs(printed - exact) > 0.01,
        abs(right - exact) < 1e-12,
        f"r = 10, epsilon 1: the expression is {printed:.6f}, the log ratio it stands for "
        f"{exact:.6f} = {right:.6f} of the next line.",
    )


def _ancestors() -> Counterexample:
    trio = nuclear_family(3, HardyWeinberg(0.5))
    (shape,) = trio.shapes
    law = shape.table().law

    def chance(*people: int) -> float:
        return sum(p for x, p in law.items() if all(x[k] == "BB" for k in people))

    father, mother, child = 0, 1, 2
    ancestors: dict[int, set[int]] = {father: set(), mother: set(), child: {father, mother}}
    apart = abs(chance(father, child) - chance(father) * chance(child))
    parents = abs(chance(father, mother) - chance(father) * chance(mother))
    return Counterexample(
        not ancestors[father] & ancestors[child] and apart > 1e-9,
        bool((ancestors[father] | {father}) & (ancestors[child] | {child})) and parents < 1e-12,
        f"father and child have no ancestor in common, yet Pr[both BB] = "
        f"{chance(father, child):.4f} and the product of the marginals is "
        f"{chance(father) * chance(child):.4f}.",
    )


def _founders() -> Counterexample:
    certain = nuclear_family(3, {"BB": 0.0, "Bb": 1.0, "bb": 0.0})
    usual = nuclear_family(3, HardyWeinberg(0.5))
    low, high = (leakage(f, 1.0, query=Count("BB"), method="exact").value for f in (certain, usual))
    return Counterexample(
        low < 2.0 - 1e-9,
        high >= 2.0,
        f"a trio whose parents are certainly Bb leaks {low:.4f} at epsilon 1, less than "
        f"(m - 1) epsilon = 2; in Hardy-Weinberg proportions it leaks {high:.4f}.",
    )


def _threshold() -> Counterexample:
    """Below 1.5 or above: the count of a trio, answered as .5 or 2.5 by randomized response."""
    m, epsilon = 3, 0.5
    flip = BinaryResponse.for_epsilon(epsilon).flip0
    answers = {0: 0.5, 1: 2.5}
    alpha = (m - 1) / 2
    wrong = 0.0
    for count in range(m + 1):
        truth = int(count >= 2)
        chances = {answers[truth]: 1 - flip, answers[1 - truth]: flip}
        wrong = max(wrong, sum(p for y, p in chances.items() if abs(y - count) >= alpha))
    level = math.log((1 - flip) / flip)
    printed, right = 1 / (math.e * epsilon + 1), 1 / (math.exp(epsilon) + 1)
    return Counterexample(
        wrong < printed and level <= epsilon + 1e-9,
        wrong >= right - 1e-12,
        f"m = 3, epsilon .5: an answer of BDP level {level:.4f} is ({alpha:g}, {wrong:.4f})-"
        f"accurate; the printed limit of beta is {printed:.4f}, the right one {right:.4f}.",
    )


def _yang() -> Counterexample:
    n, scale = 3, 1.0
    leaks = []
    for top in (1, 2):
        table = JointTable({(0,) * n: 0.5, (top,) * n: 0.5})
        query = Sum(0, top)
        leaks.append(leakage(table, query.width / scale, query=query, method="exact").value)
    return Counterexample(
        leaks[1] > n / scale + 0.1,
        all(abs(leak - n * top / scale) < 1e-6 for leak, top in zip(leaks, (1, 2), strict=True)),
        f"three equal records, a sum with noise of scale 1: values 0 and 1 are told apart by "
        f"{leaks[0]:.4f} = n / lambda, values 0 and 2 by {leaks[1]:.4f}.",
    )


ERRATA: tuple[Erratum, ...] = (
    Erratum(
        "000-E03",
        "section 2.5.2",
        "BDP always implies DP at the same level.",
        "It does for laws with full support.",
        _implies_dp,
    ),
    Erratum(
        "000-E04",
        "section 3.1.2",
        "The simulated adversaries know 1 to n - 1 records.",
        "K is any subset of the others, the empty one included: it is often the worst.",
        _knows_nothing,
    ),
    Erratum(
        "000-E05",
        "section 3.1.2",
        "The simulation gives a lower bound of the leakage.",
        "The largest ratio of two estimated densities is biased upwards; it is no bound.",
        _simulation,
    ),
    Erratum(
        "000-E06",
        "equation 48",
        "The numerator has the factors beta / (1 - beta) and 0 / (1 - beta).",
        "The condition has probability beta: the factors are 1 and 0, and equation 49 is right.",
        _equation_48,
    ),
    Erratum(
        "000-E10",
        "definition 5.1",
        "Two people are independent unless they share an ancestor, an ancestor being reached by a "
        "path.",
        "Everybody counts as an ancestor of himself.",
        _ancestors,
    ),
    Erratum(
        "000-E11",
        "corollary 5.2",
        "The count in a nuclear family leaks at least (m - 1) epsilon, whatever the founders' law.",
        "Founders must be BB and bb with positive probability.",
        _founders,
    ),
    Erratum(
        "000-E13",
        "corollary 5.3",
        "The error exceeds (m - 1)/2 for every beta < 1/(e epsilon + 1).",
        "For every beta < 1/(e^epsilon + 1), as in the proof.",
        _threshold,
    ),
    Erratum(
        "000-E33",
        "section 2.5.1",
        "A noisy sum of scale lambda leaks n / lambda.",
        "n M / lambda, where M is how far apart the record's values are.",
        _yang,
    ),
)
