"""Accounts against every pair of neighbours, and against random mechanisms."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp.accounting.account import account, losses_of
from corrdp.accounting.checker.check import check_proof
from corrdp.accounting.listed import distances, listed_losses
from corrdp.accounting.maps import (
    Columns,
    ReadsCount,
    ReadsSum,
    ReadsTable,
)
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import DistanceTable, Step
from corrdp.metric.canonical import canonical_matrix
from corrdp.metric.domains import (
    ExplicitDomain,
    MultisetDomain,
    TupleDomain,
)
from corrdp.metric.fibres import closure, exact_loss
from corrdp.metric.granularities import as_granularity
from tests.helpers.plans import CASES, LETTERS, cells, gaussian, geometric, near, steps_on, together

LETTERS3 = MultisetDomain(("a", "b", "c"))


@pytest.mark.parametrize(("domain", "target"), CASES, ids=str)
@settings(max_examples=15)
@given(data=st.data())
def test_symbolic_is_exhaustive(domain, target, data):
    """Neighbour types give the same as every pair of neighbours."""
    steps = data.draw(steps_on(domain, target))
    relation = as_granularity(target)
    quick = losses_of(domain, relation, steps)
    every = listed_losses(domain, relation, steps)
    contiguous = all(
        s.map.steps == tuple(range(s.map.steps[0], s.map.steps[-1] + 1))
        for s in steps
        if isinstance(s.map, Columns)
    )
    # of numbers of both signs, none 0, the shorter way is not looked for
    signed = [s for s in steps if isinstance(s.map, ReadsSum) and s.mode == "common"]
    exact = contiguous and all(_has_zero(s.map) for s in signed)
    for use in (False, True):
        one = quick.worst(range(len(steps)), gaussian=use)[1]
        two = every.worst(range(len(steps)), gaussian=use)[1]
        total = [math.hypot(*x) if use else math.fsum(x) for x in (one, two)]
        if exact:
            assert total[0] == pytest.approx(total[1]), steps
        else:  # closing gaps between columns may shorten some paths
            assert total[0] >= total[1] - 1e-12
    if exact:
        assert quick.each == pytest.approx(every.each)


def _has_zero(map_):
    numbers = [v for _, v in map_.values]
    return min(numbers) >= 0 or max(numbers) <= 0 or 0 in numbers


SUMS = [
    # values of a, b, c; metric; target; price when data sets have any size
    ((1, 2, 3), "unbounded", "bounded", 1),  # b for a moves the sum as one a more does
    ((1, 2, 5), "unbounded", "bounded", 2),  # 4 and 3 are no numbers of one record
    ((0, 1, 1), "unbounded", "bounded", 1),
    ((0, 1, 4), "unbounded", "bounded", 2),  # 3 is none, 1 and 4 are
    ((0, 2, 5), "bounded", "unbounded", 1),  # a was there instead
    ((1, 2, 5), "bounded", "unbounded", math.inf),  # nothing can be there instead in an empty set
    ((0.1, 0.2, 0.3), "unbounded", "bounded", 1),  # as written, not as rounded
    ((1e16, 1, 1e16 + 2), "unbounded", "bounded", 2),
]


@pytest.mark.parametrize(("values", "metric", "target", "price"), SUMS)
def test_a_sum_is_priced_by_what_it_sees(values, metric, target, price):
    """In mode common a release reads the sum alone: the least way to move it counts."""
    given = ReadsSum(list(zip("abc", values, strict=True)))
    step = Step("s", 1.0, given, "common", metric)
    assert account(Plan(LETTERS3, [step]), target).loss == price
    proof = account(Plan(LETTERS3, [step]), target).proof()
    assert check_proof(json.loads(json.dumps(proof))).holds
    # longer data sets to go through than those that are compared
    large = MultisetDomain(LETTERS3.atoms, largest=5)
    away, items = distances(large, step, as_granularity(target)), large.databases()
    pairs = [
        away[i, j]
        for i, a in enumerate(items)
        for j, b in enumerate(items)
        if max(len(a), len(b)) <= 3 and as_granularity(target).related(large, a, b)
    ]
    assert max(pairs) == price


def test_geometric_counts_attain_the_total():
    """Bands and pairs."""
    domain = MultisetDomain((0, 1, 2), size=3)
    items = domain.databases()
    levels = (0.2, 0.5, 1.0)
    joint = together(*(geometric([d.count(k) for d in items], e, 5) for k, e in enumerate(levels)))
    near_ = canonical_matrix(domain, "bounded") == 1
    assert exact_loss(joint)[near_].max() == near(1.5)
    assert account(Plan(domain, cells(*levels)), "bounded").loss == near(1.5)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_random_adaptive_mechanisms(seed):
    """The exact loss of two releases, the second chosen by the first, is below the total."""
    rng = np.random.default_rng(seed)
    cube = TupleDomain(3, (0, 1))
    items = cube.databases()
    first, second = [d[:2] for d in items], [sum(d) % 2 for d in items]

    def channel(labels, outputs=3):
        laws = {label: rng.dirichlet(np.ones(outputs)) for label in dict.fromkeys(labels)}
        return np.array([laws[label] for label in labels])

    one = channel(first)
    later = [channel(second) for _ in range(3)]
    joint = np.hstack([one[:, [k]] * later[k] for k in range(3)])
    exact = exact_loss(joint)
    spaces = [exact_loss(one), np.max([exact_loss(c) for c in later], axis=0)]
    symmetric = [np.maximum(s, s.T) for s in spaces]
    assert (exact <= symmetric[0] + symmetric[1] + 1e-9).all()
    domain = ExplicitDomain(tuple(items), of="tuple")
    steps = [
        Step(str(k), 1.0, ReadsTable(labels), "common", DistanceTable(closure(s).tolist()))
        for k, (s, labels) in enumerate(zip(symmetric, ([*map(str, first)], second), strict=True))
    ]
    near_ = canonical_matrix(cube, "bounded") == 1
    assert exact[near_].max() <= account(Plan(domain, steps), "bounded").loss + 1e-9


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_random_mechanisms_of_parts(seed):
    """Mode common: random releases that read one cell, with their own bounded epsilon."""
    rng = np.random.default_rng(seed)
    domain = MultisetDomain(("a", "b", "c"), size=3)
    items = domain.databases()
    near_ = canonical_matrix(domain, "bounded") == 1
    channels, steps = [], []
    for atom in domain.atoms:
        counts = [d.count(atom) for d in items]
        laws = rng.dirichlet(np.full(3, 5.0), size=4)
        channels.append(np.array([laws[c] for c in counts]))
        steps.append(Step(atom, exact_loss(channels[-1])[near_].max(), ReadsCount((atom,))))
    found = account(Plan(domain, steps), "bounded")
    assert exact_loss(together(*channels))[near_].max() <= found.loss + 1e-9
    assert found.loss <= found.only.sequential


@settings(max_examples=30)
@given(data=st.data())
def test_monotone_and_relabelled(data):
    """More releases or levels never cost less, and their order does not matter."""
    domain, target = data.draw(st.sampled_from([*CASES[:2], CASES[3]]))
    steps = data.draw(steps_on(domain, target))
    plan = Plan(domain, steps)
    base = account(plan, target).loss
    raised = [s.scaled_by(2.0) if k == 0 else s for k, s in enumerate(steps)]
    assert account(Plan(domain, raised), target).loss >= base
    more = [*steps, Step("more", 0.3, ReadsCount(domain.atoms[:1]))]
    assert account(Plan(domain, more), target).loss >= base
    assert account(Plan(domain, steps[::-1]), target).loss == pytest.approx(base)
    if not any(s.metric == "l1" for s in steps):
        assert account(gaussian(plan), target).loss <= base + 1e-12


def test_relabelled_atoms():
    names = dict(zip("abcd", "wxyz", strict=True))
    sets = (("a", "b"), ("b", "c"), ("d",))
    one = Plan(LETTERS, [Step(str(k), 0.1 + k, ReadsCount(s)) for k, s in enumerate(sets)])
    two = Plan(
        MultisetDomain(tuple("zyxw")),
        [Step(str(k), 0.1 + k, ReadsCount([names[a] for a in s])) for k, s in enumerate(sets)],
    )
    assert account(one, "bounded").loss == account(two, "bounded").loss
