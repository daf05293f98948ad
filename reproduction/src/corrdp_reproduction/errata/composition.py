"""Errata of the dissertation on composition: chapter 4 and appendix A.2."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from corrdp.accounting.account import account
from corrdp.accounting.maps import ReadsCount, ReadsRecords
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.guarantees import GDP
from corrdp.metric.canonical import canonical_matrix
from corrdp.metric.conversion import conversion_factor
from corrdp.metric.domains import MultisetDomain, StreamDomain, TupleDomain
from corrdp.metric.fibres import exact_loss, fibre_minimum
from corrdp.metric.finite import hamming, symmetric_difference
from corrdp.metric.granularities import Event
from corrdp.metric.tradeoff import GaussianCurve, pair_curve, tensor
from corrdp_reproduction.errata.base import Counterexample, Erratum
from corrdp_reproduction.foundations.example_4_4 import (
    SHARED,
    change,
    largest_clique,
    unique_maximum,
)
from corrdp_reproduction.foundations.graphs import clique_change, degree_loss, edge_clique_loss

RESPONSE = np.array([[0.75, 0.25], [0.25, 0.75]])  # randomized response of level ln 3


def _units() -> Counterexample:
    steps, epsilon = 8, 0.1
    stream = StreamDomain(2, steps)
    total = account(Plan(stream, (Step("x", epsilon, metric=Event()),)), "user").loss
    printed = conversion_factor("user", "user", stream) * epsilon
    right = conversion_factor("event", "user", stream) * epsilon
    return Counterexample(
        total > printed + 1e-9,
        total <= right + 1e-9,
        f"a release of event level {epsilon} on {steps} steps, asked for users: {total:g}; with "
        f"the distance between users r = 1 and the bound {printed:g}, with that between events "
        f"{right:g}.",
    )


def _missing_epsilon() -> Counterexample:
    epsilon, path = 2.0, [(0, 1), (1, 2)]
    other = [*path, (0, 2)]
    exact, printed = degree_loss(path, other, epsilon), 2.0
    return Counterexample(
        exact > printed,
        exact <= 2 * epsilon,
        f"degrees with Laplace noise of level {epsilon:g} and one edge more: loss {exact:g}, "
        f"printed {printed:g}.",
    )


def _edges() -> Counterexample:
    one, two = [(0, 1)], [(0, 2)]
    exact, printed = degree_loss(one, two, 1.0), 2.0 * len(set(one) ^ set(two))
    return Counterexample(
        exact != printed,
        exact <= printed,
        f"the edge 0-1 against the edge 0-2: degrees differ by {exact:g}, twice the edges is "
        f"{printed:g}.",
    )


def _cliques() -> Counterexample:
    r, real = largest_clique(SHARED, (0, 1)), change(SHARED, (0, 1), 5)
    printed = clique_change(r, 5)
    return Counterexample(
        unique_maximum(SHARED) and real > printed,
        real <= edge_clique_loss(SHARED, (0, 1), 5, 1.0),
        f"in the edges {' '.join(f'{u}{v}' for u, v in SHARED)} each lies in one largest clique; "
        f"without 01, whose clique has {r}, {real} cliques are gone, and the formula says "
        f"{printed}.",
    )


def _uncovered() -> Counterexample:
    domain = TupleDomain(3, (0, 1))
    parts = (ReadsRecords((0,)), ReadsRecords((1,)))
    one, two = (0, 0, 0), (0, 0, 1)
    moved = [part.apply(domain, one) != part.apply(domain, two) for part in parts]
    apart = sum(hamming(part.apply(domain, one), part.apply(domain, two)) for part in parts)
    whole = hamming(one, two)
    return Counterexample(
        sum(moved) != 1 and apart != whole,
        sum(moved) <= 1 and apart <= whole,
        f"parts of the first and of the second of three records, the third changes: "
        f"{sum(moved)} parts do, and their distances add up to {apart} and not {whole}.",
    )


def _limit() -> Counterexample:
    at_zero = [GaussianCurve(mu)(0.0) for mu in (1.0, 10.0, 100.0, 1000.0)]
    inside = GaussianCurve(1000.0)(1e-6)
    apart = pair_curve([1.0, 0.0], [0.0, 1.0])(0.0)
    return Counterexample(
        min(at_zero) == 1.0,
        inside < 1e-12 and apart == 0.0,
        f"G_mu(0) = {at_zero[-1]:g} up to mu = 1000, so that the limit at 0 is 1; at 1e-6 it is "
        f"{inside:g}, and laws without a common output have {apart:g} at 0.",
    )


def _shift() -> Counterexample:
    from scipy.special import ndtr, ndtri

    mu, k, alpha = 1.0, 3, 0.1
    printed, right = (float(ndtr(ndtri(1 - alpha) - mu - factor * mu)) for factor in (1 - k, k - 1))
    wanted = GaussianCurve(k * mu)(alpha)
    return Counterexample(
        abs(printed - wanted) > 1e-6,
        abs(right - wanted) < 1e-12,
        f"at mu = 1, k = 3, alpha = .1: {printed:.6f} as printed, {right:.6f} with (k - 1) mu, "
        f"and G_3 = {wanted:.6f}.",
    )


def _equality() -> Counterexample:
    first, nothing = GaussianCurve(3.0), GaussianCurve(0.0)
    # a second release that says nothing is 4-Gaussian-private, too
    real, printed = tensor(first, nothing)(0.1), tensor(first, GaussianCurve(4.0))(0.1)
    root = tensor(GaussianCurve(3.0), GaussianCurve(4.0)).mu  # type: ignore[attr-defined]
    return Counterexample(
        real != printed and root != 3.0**2 + 4.0**2,
        real >= printed and abs(root - 5.0) < 1e-12,
        f"levels 3 and 4, the second without any output: the curve at .1 is {real:.6f}, not "
        f"{printed:.2e}; two that use their levels have {root:g}, and not 25.",
    )


def _value_parts() -> Counterexample:
    levels = (0.2, 0.5, 1.0)
    letters = MultisetDomain(("a", "b", "c"))
    steps = tuple(Step(x, GDP(mu), ReadsCount((x,))) for x, mu in zip("abc", levels, strict=True))
    value = account(Plan(letters, steps), "bounded").loss
    blocks = tuple(Step(str(k), GDP(mu), ReadsRecords((k,))) for k, mu in enumerate(levels))
    index = account(Plan(TupleDomain(3, (0, 1)), blocks), "bounded").loss
    # noise of these levels on two counts that both change: exactly the root of the squares
    exact = tensor(GDP(levels[1]), GDP(levels[2])).mu  # type: ignore[attr-defined]
    return Counterexample(
        exact > max(levels),
        abs(value - exact) < 1e-9 and index == max(levels),
        f"levels .2, .5, 1 on counts of three values: a person who changes value moves two of "
        f"them, {exact:.6f}; on three blocks of records {index:g}.",
    )


def _images() -> Counterexample:
    merge = np.ones((2, 1))  # every output becomes the same
    uniform = np.array([0.5, 0.5])
    before, after = float(uniform[0]), float((uniform @ merge)[0])
    preimage = float(uniform.sum())
    loss, merged = (float(exact_loss(law).max()) for law in (RESPONSE, RESPONSE @ merge))
    return Counterexample(
        before != after,
        after == preimage and merged <= loss,
        f"M uniform on 1 and 2, g = 0: Pr[M in {{1}}] = {before:g}, Pr[g(M) in g({{1}})] = "
        f"{after:g}; the preimage of 0 has {preimage:g}.",
    )


def _integral() -> Counterexample:
    level = float(exact_loss(RESPONSE).max())
    measure = RESPONSE[0] - math.exp(level) * RESPONSE[1]
    g, whole = np.linspace(0.0, 1.0, 11), float(measure.sum())
    sums = [float(a * measure[0] + b * measure[1]) for a in g for b in g]
    return Counterexample(
        max(sums) > whole + 1e-9,
        max(sums) <= 1e-12 and min(sums) >= whole - 1e-12,
        f"for randomized response the integral is up to {max(sums) + 0.0:.6f} and the measure of "
        f"all outputs {whole:.6f}; it is at most 0 since g >= 0.",
    )


def _through() -> Counterexample:
    domain = MultisetDomain(("a", "b", "z"), largest=4)
    items = domain.databases()
    inside = [tuple(x for x in item if x != "z") for item in items]
    whole = canonical_matrix(domain, "bounded")
    exact = fibre_minimum(whole, inside)
    i, j = items.index(("a",)), items.index(("b", "z"))
    printed = min(float(whole[i, j]), symmetric_difference(inside[i], inside[j]))
    right = [
        exact[k, m] == max(_minus(one, two), _minus(two, one))
        for k, one in enumerate(inside)
        for m, two in enumerate(inside)
    ]
    return Counterexample(
        bool(exact[i, j] != printed),
        all(right),
        f"D = {{a}}, D' = {{b, z}}, z unseen: the least distance is {exact[i, j]:g}, printed "
        f"{printed:g}; the right formula gives it for all {len(right)} pairs of data sets of up "
        "to four records.",
    )


def _minus(one: tuple[str, ...], two: tuple[str, ...]) -> int:
    """How many records of one multiset the other lacks."""
    return (Counter(one) - Counter(two)).total()


def _disjoint() -> Counterexample:
    domain = MultisetDomain(("a", "b", "c"), largest=3)
    data = [x for x in domain.databases() if x]
    parts = [[tuple(v for v in x if v in values) for x in data] for values in ("a", "bc")]
    meet = sum(bool(set(one) & set(two)) for one, two in zip(*parts, strict=True))
    # two parts that are both the whole meet on every data set: nothing composes for free
    both = np.kron(RESPONSE, RESPONSE)[[0, 3]]  # the same bit, answered twice
    once, twice = (float(exact_loss(law).max()) for law in (RESPONSE, both))
    return Counterexample(
        meet == 0 and twice > once,
        meet == 0,
        f"the parts a and b, c of multisets of up to three of a, b, c (example 4.5) meet on {meet} "
        f"of "
        f"{len(data)} data sets; the whole taken twice meets always, and two answers of level "
        f"{once:.4f} on it have {twice:.4f}, not the larger of the two.",
    )


COMPOSITION = (
    Erratum(
        "004-E20",
        "slip",
        "section 4.1, and equation (4.1)",
        "r_i is the largest distance of f_i(D) and f_i(D') for neighbours of the unit, measured "
        "with its metric; (4.1) takes d_i of whole data sets.",
        "With the metric of the release, on what it reads; (4.1) means I_p max_i Delta p_i times "
        "d(D, D').",
        _units,
    ),
    Erratum(
        "004-E22",
        "slip",
        "example 4.3",
        "The degrees together are 2 d(G, G')-private.",
        "2 epsilon d(G, G'): the level of one degree is missing.",
        _missing_epsilon,
    ),
    Erratum(
        "004-E23",
        "slip",
        "example 4.3",
        "The degrees of two graphs differ by twice their distance in edges.",
        "By at most that; edges that share a vertex cancel.",
        _edges,
    ),
    Erratum(
        "004-E24",
        "needs a hypothesis",
        "example 4.4",
        "If the maximum clique of every edge is unique, an edge costs at most 2^(r - 2) - 1.",
        "If the common neighbours of its ends are all joined (one maximal clique), and cliques of "
        "up to r are counted.",
        _cliques,
    ),
    Erratum(
        "004-E25",
        "slip",
        "section 4.2",
        "Distances of the parts add up to that of the whole, and one part changes.",
        "At most, both: a record outside of all parts may change.",
        _uncovered,
    ),
    Erratum(
        "004-E26",
        "slip",
        "section 4.2",
        "A k-partitioning function has parts “with p_i(D) ∩ p_j(D) ≠ ∅ for i ≠ j”.",
        "= ∅: the parts are disjoint.",
        _disjoint,
    ),
    Erratum(
        "004-E27",
        "slip",
        "definition 4.14",
        "G_mu goes to 0 at every level as mu grows.",
        "At every level above 0; that G_inf(0) = 0 is a convention, and the right one.",
        _limit,
    ),
    Erratum(
        "004-E28",
        "slip",
        "proof of theorem 4.15",
        "The level moves by mu + (1 - k) mu.",
        "By mu + (k - 1) mu.",
        _shift,
    ),
    Erratum(
        "004-E29",
        "slip",
        "proof of theorem 4.16",
        "The curve of two releases equals the product of the promised ones, whose level is the "
        "sum of the squares.",
        "It is at least that product, and the level is the root of that sum.",
        _equality,
    ),
    Erratum(
        "004-E30",
        "needs a hypothesis",
        "after example 4.20",
        "“While in bounded ε-GDP the best bound after composition is max_i ε_i”.",
        "For parts by index (proposition 4.7); with the parts by value of example 4.20 a person "
        "who changes value moves two of them.",
        _value_parts,
    ),
    Erratum(
        "004-E31",
        "slip",
        "proof of proposition 4.24",
        "Pr[M(D) in S] = Pr[g(M(D)) in g(S)].",
        "Pr[g(M(D)) in S'] is that of the preimage of S'; post-processing holds all the same.",
        _images,
    ),
    Erratum(
        "004-E32",
        "slip",
        "proof of lemma A.10",
        "Since g <= 1, the integral of g over a negative measure is at most the measure.",
        "It is at least the measure, and at most 0 since g >= 0; the lemma holds.",
        _integral,
    ),
    Erratum(
        "004-E33",
        "slip",
        "proof of corollary A.14",
        "The least distance of data sets with the same view is the smaller of two numbers.",
        "It is at most that, and often less: max(|f(D) - f(D')|, |f(D') - f(D)|).",
        _through,
    ),
)
