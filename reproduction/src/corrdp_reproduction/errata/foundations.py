"""Errata of the dissertation, chapters 1 to 4: foundations, trajectories, composition."""

from __future__ import annotations

import itertools
import math

import numpy as np

from corrdp.bounds.exact import exact_query
from corrdp.mechanisms.laplace import Laplace
from corrdp.mechanisms.response import BinaryResponse
from corrdp.metric.conversion import conversion_factor, sensitivity
from corrdp.metric.domains import MultisetDomain, StreamDomain
from corrdp.metric.fibres import exact_loss
from corrdp.metric.finite import neighbour_pairs
from corrdp.metric.granularities import as_granularity
from corrdp.models.groups import JointTable
from corrdp.queries import Count, Histogram
from corrdp_reproduction.errata.base import Counterexample, Erratum
from corrdp_reproduction.errata.composition import COMPOSITION
from corrdp_reproduction.foundations.example_2_25 import advantage_of_threshold
from corrdp_reproduction.foundations.example_3_7 import PARTITIONS, centroid


def _interval() -> Counterexample:
    noise = Laplace(Count(1), 1 / math.log(20))  # error of 1 or more with probability .05
    inside = 1 - noise.tail(1.0)
    half = inside / 2  # the law is symmetric
    return Counterexample(
        half < 0.95 - 1e-9,
        abs(inside - 0.95) < 1e-9,
        f"with Laplace noise of that accuracy the truth lies between 31 and 32 with probability "
        f"{half:.3f}, between 31 and 33 with {inside:.3f}.",
    )


def _cells() -> Counterexample:
    noise, radius = Laplace(Histogram(tuple(range(5))), 1.0), math.log(1 / 0.05)
    printed, right = noise.tail(radius), noise.error(0.05)
    return Counterexample(
        printed > 0.05 + 1e-9,
        abs(noise.tail(right) - 0.05) < 1e-9
        and abs(Laplace(Count(1), 1.0).tail(radius) - 0.05) < 1e-9,
        f"with five numbers and scale 1 the largest error reaches {radius:.6f} with probability "
        f"{printed:.6f}; the radius for .05 is {right:.6f}.",
    )


def _sign() -> Counterexample:
    printed, right = (advantage_of_threshold(1.0, 0.9, upward=up) for up in (False, True))
    return Counterexample(
        printed < 0,
        abs(right - 0.9 * -math.expm1(-1.0)) < 1e-12,
        f"saying sick up to 1 has advantage {printed:.6f}, from 1 upwards {right:.6f}.",
    )


def _pairwise() -> Counterexample:
    parity = JointTable({(a, b, a ^ b): 0.25 for a in (0, 1) for b in (0, 1)})
    free = JointTable({bits: 0.125 for bits in itertools.product((0, 1), repeat=3)})
    pairs = [{(x[i], x[j]) for x in parity.law} for i, j in itertools.combinations(range(3), 2)]
    independent = all(len(found) == 4 for found in pairs)  # each with probability 1/4
    leaks = [exact_query(table, Count(1), 1.0).value for table in (parity, free)]
    return Counterexample(
        independent and leaks[0] > 1 + 1e-9,
        abs(leaks[1] - 1) < 1e-9,
        f"X3 = X1 xor X2 with fair bits: every two are independent, and a noisy count of level 1 "
        f"leaks {leaks[0]:.6f}; of three independent bits {leaks[1]:.6f}.",
    )


def bayesian_leakage(law: dict[tuple[int, ...], float], channel: dict) -> float:
    """BDP leakage of a mechanism with finitely many outputs, over every adversary.

    Parameters
    ----------
    law : dict
        Probability of each data set; those of probability 0 are skipped.
    channel : dict
        Law of the output on each data set.

    Examples
    --------
    >>> both = {(0, 0): .5, (1, 1): .5}
    >>> round(bayesian_leakage(both, {(0, 0): [.75, .25], (1, 1): [.25, .75]}), 6)
    1.098612
    """
    n, worst = len(next(iter(law))), 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for known in itertools.chain.from_iterable(
            itertools.combinations(others, k) for k in range(n)
        ):
            seen: dict[tuple[int, ...], dict[int, np.ndarray]] = {}
            for x, p in law.items():
                if p > 0:
                    mine = seen.setdefault(tuple(x[j] for j in known), {})
                    mine[x[i]] = mine.get(x[i], 0.0) + p * np.array(channel[x])
            for laws in seen.values():
                rows = np.array([row / row.sum() for row in laws.values()])
                worst = max(worst, float(exact_loss(rows).max()))
    return worst


def _support() -> Counterexample:
    cube = list(itertools.product((0, 1), repeat=2))
    keep = BinaryResponse.for_epsilon(1.0).channel()
    channel = {x: keep[x[0] ^ x[1]] for x in cube}
    near = [
        (x, y) for x in cube for y in cube if sum(a != b for a, b in zip(x, y, strict=True)) == 1
    ]
    dp = max(float(exact_loss(np.array([channel[x], channel[y]])).max()) for x, y in near)
    thin = bayesian_leakage({(0, 0): 0.5, (1, 1): 0.5}, channel)
    full = bayesian_leakage({x: 0.45 if x[0] == x[1] else 0.05 for x in cube}, channel)
    return Counterexample(
        thin < dp - 1e-9,
        full >= dp - 1e-9,
        f"randomized response on x1 xor x2 has DP level {dp:.6f}; if x1 = x2 always it leaks "
        f"{thin:.6f}, if every pair is possible {full:.6f}.",
    )


def _thinned(data: str, keep: float) -> dict[str, float]:
    """The law of a data set whose rows are each kept with some probability."""
    law: dict[str, float] = {}
    for kept in itertools.product((False, True), repeat=len(data)):
        left = "".join(itertools.compress(data, kept))
        p = math.prod(keep if k else 1 - keep for k in kept)
        law[left] = law.get(left, 0.0) + p
    return law


def _chain() -> Counterexample:
    without = _thinned("yy", 0.0)  # the void algorithm, on D without its rows x
    printed = without[""]
    right = sum(p for left, p in _thinned("yy", 0.5).items() if "x" in left)
    return Counterexample(
        printed > 0,
        right == 0,
        f"for the void algorithm and S = {{the empty set}} the last probability is {printed:g}; "
        f"it is {right:g} if all of S hold x.",
    )


def _signature() -> Counterexample:
    points = np.array([(2, 2), (5, 2), (5, 5)], dtype=float)
    found = centroid(points, PARTITIONS["P2"][1])
    return Counterexample(
        found != (5, 3), found == (5, 5), f"the centroid of the last location alone is {found}."
    )


def _windows() -> Counterexample:
    stream = StreamDomain(3, 3)

    def visited(data: tuple[tuple[int, ...], ...]) -> int:
        return sum(1 in row for row in data)

    user, window = (sensitivity(visited, stream, g) for g in ("user", "w-event(3)"))
    factor = conversion_factor("user", "w-event(3)", stream)
    return Counterexample(
        window > user,
        window <= factor * user,
        f"the number of users who were ever there, three users and steps: user level {user:g}, "
        f"windows of three steps {window:g}; the factor between them is {factor:g}.",
    )


def _deterministic() -> Counterexample:
    items = MultisetDomain(("a", "b"), largest=2)
    data = items.databases()
    near = list(neighbour_pairs(items, as_granularity("bounded"), data))
    size = exact_loss(np.eye(3)[[len(x) for x in data]])
    itself = exact_loss(np.eye(len(data)))
    loss, other = (max(float(found[pair]) for pair in near) for found in (size, itself))
    return Counterexample(
        loss == 0 and len({len(x) for x in data}) > 1,
        other == math.inf,
        f"the size of a data set has loss {loss:g} between bounded neighbours, the data set "
        f"itself {other:g}.",
    )


ERRATA = (
    Erratum(
        "004-E01",
        "slip",
        "section 2.2",
        "An answer 32 of accuracy (1, .05): “the true average age lies between 31 and 32 years”.",
        "Between 31 and 33.",
        _interval,
    ),
    Erratum(
        "004-E02",
        "needs a hypothesis",
        "proposition 2.10",
        "Laplace noise on k numbers has an error of ln(1/beta) Delta/epsilon or more with "
        "probability beta.",
        "For one number; the largest of k errors needs -ln(1 - (1 - beta)^(1/k)).",
        _cells,
    ),
    Erratum(
        "004-E05",
        "slip",
        "equation (2.7)",
        "The attack says sick if the noisy count is at most 1.",
        "At least 1, as its derivation has it.",
        _sign,
    ),
    Erratum(
        "004-E06",
        "needs a hypothesis",
        "section 2.3.2.1",
        "DP and BDP are equivalent “if X_i, X_j are mutually independent for all i ≠ j”.",
        "If all are independent together.",
        _pairwise,
    ),
    Erratum(
        "004-E07",
        "needs a hypothesis",
        "section 2.3.2.1",
        "“ε-BDP implies ε-DP, hence it is stronger”.",
        "If every data set has positive probability; others are never conditioned on.",
        _support,
    ),
    Erratum(
        "004-E09",
        "slip",
        "proof of proposition 3.5",
        "Pr[M(D without x) in S] = 0 for every S.",
        "For S whose elements all hold x, which is what the proof uses.",
        _chain,
    ),
    Erratum(
        "004-E10",
        "slip",
        "example 3.7",
        "The known centroid of the second partition is (5, 3).",
        "It is (5, 5).",
        _signature,
    ),
    Erratum(
        "004-E15",
        "fails",
        "section 3.3",
        "“In terms of sensitivity, its lower bound is the event-level sensitivity, and its upper "
        "bound is the user-level one” (w-events).",
        "A window may touch several users: up to min(w, users) times that.",
        _windows,
    ),
    Erratum(
        "004-E17",
        "needs a hypothesis",
        "section 3.4",
        "“deterministic algorithms cannot achieve DP guarantees”.",
        "It is if it is constant on each connected component, as in example 2.16.",
        _deterministic,
    ),
    *COMPOSITION,
)
