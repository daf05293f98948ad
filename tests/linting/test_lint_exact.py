"""The linter on exact laws, on runs, and on the sensitivities that it recomputes."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter

import numpy as np
import pytest

from corrdp.guarantees import GDP, Approximate
from corrdp.linting.laws import laws_of
from corrdp.linting.level import Counted, Level
from corrdp.linting.lint import lint
from corrdp.linting.rules.exact import lint_laws
from corrdp.linting.rules.movement import unreachable
from corrdp.linting.rules.sampled import lint_sampler, zero_bound
from corrdp.linting.rules.support import laplace_tail, release_threshold
from tests.helpers.descriptions import (
    COUNT,
    EVENT,
    FIXED,
    mechanism,
    noise,
    step,
)

# -- exact laws --------------------------------------------------------------------------------


def test_impossible_mass():
    assert Level(1.0, 1e-5).impossible(3) == pytest.approx(1.1107e-4, rel=1e-4)
    assert Level(1.0).impossible(3) == 0
    assert Level(mu=3.0).impossible(1) == 0
    assert Level(0.0, 0.1).impossible(3) == pytest.approx(0.3)
    assert Level(1000.0, 1e-5).impossible(3) == 1
    assert Level(1.0, 1e-5).impossible(math.inf) == 1


def showing(mass, level, k=1):
    """A row shows with this probability, k neighbours away from a data set without it."""
    data = [["x"] * n for n in range(k, -1, -1)]
    table = np.zeros((k + 1, 2))
    # the mass that is allowed at each distance, so that only the far pair is at its limit
    table[:, 0] = [mass] + [level.impossible(j) for j in range(k - 1, -1, -1)]
    table[:, 1] = 1 - table[:, 0]
    return laws_of(data, [["x"], []], table, "unbounded")


def test_a_row_that_shows_only_if_present():
    mass = laplace_tail(0.5 - 1, 1.0)
    assert mass == pytest.approx(0.696735, abs=1e-6)
    found = lint_laws(showing(mass, Level(1.0)), 1.0)
    assert found.rules == ("L-01", "L-02", "L-09")
    assert "loss is inf" in next(f.message for f in found if f.rule == "L-09")


def test_approximate_claims_bear_a_little_mass():
    level = Level(1.0, 1e-5)
    assert lint_laws(showing(0.01, level), level).rules == ("L-01", "L-02b", "L-09")
    limit = level.impossible(3)
    assert lint_laws(showing(limit, level, 3), level).ok
    assert "L-02b" in lint_laws(showing(limit * 1.001, level, 3), level).rules


def test_full_support_noise_passes_and_its_loss_is_told_exactly():
    ratio = math.exp(-1.0)
    law = np.array([[ratio ** abs(n - y) for y in range(4)] for n in range(4)])
    law /= law.sum(axis=1, keepdims=True)
    laws = laws_of(range(4), range(4), law, neighbours=[(0, 1), (1, 2), (2, 3)])
    loss = max(np.abs(np.log(law[i] / law[i + 1])).max() for i in range(3))
    assert lint_laws(laws, loss).ok
    found = lint_laws(laws, 0.99 * loss)
    assert found.rules == ("L-09",)
    assert f"{loss:.6g}" in found[0].message


PHI_1 = 0.8413447460685429  # of the normal law at 1: the best test of mu 2 errs equally often


def test_gaussian_claims_on_laws():
    law = [[PHI_1, 1 - PHI_1], [1 - PHI_1, PHI_1]]
    assert lint_laws(laws_of([0, 1], [0, 1], law, "local"), GDP(2.0)).ok
    assert lint_laws(laws_of([0, 1], [0, 1], law, "local"), GDP(1.99)).rules == ("L-09",)
    delta = 0.7310586 - math.exp(0.5) * 0.2689414
    response = laws_of([0, 1], [0, 1], [[0.7310586, 0.2689414], [0.2689414, 0.7310586]], "local")
    assert delta == pytest.approx(0.287649, abs=1e-6)
    assert lint_laws(response, Approximate(0.5, delta + 1e-6)).ok
    assert lint_laws(response, Approximate(0.5, delta - 1e-6)).rules == ("L-09",)


SIZES = [["a", "a", "b"], ["a", "b", "b"], ["a", "a", "a"]]


def sizes(released):
    """(|D_1|, |D_2|) under bounded neighbours, by whether each is released."""
    outputs = [(2, 1), (1, 2), (3, 0)]
    return laws_of(SIZES, outputs, np.eye(3), "bounded", coordinates=released)


def test_reciprocal_rule():
    found = lint_laws(sizes({"n1": True, "n2": True}), 1.0)
    reciprocal = [f.message for f in found if f.rule == "L-09"]
    assert len(reciprocal) == 3
    assert "coordinate 'n1'" in reciprocal[0]
    hidden = laws_of(
        SIZES, [(2, 3), (1, 3), (0, 3)], np.eye(3), "bounded", coordinates={"n1": False, "n": True}
    )
    assert "L-09" not in lint_laws(hidden, 1.0).rules


def test_deterministic_rule():
    identity = laws_of(SIZES, [0, 1, 2], np.eye(3), "bounded")
    assert "L-20" in lint_laws(identity, 1.0).rules
    # |D| under bounded neighbours: each component has its own constant
    data = [["a"], ["b"], ["a", "a"], ["a", "b"]]
    size = laws_of(data, [1, 2], [[1, 0], [1, 0], [0, 1], [0, 1]], "bounded")
    assert len(lint_laws(size, 1.0)) == 0
    assert "L-20" in lint_laws(laws_of(data, [1, 2], size.table, "unbounded"), 1.0).rules


def test_vacuous_laws():
    laws = laws_of([["a"], ["b"]], [0, 1], np.eye(2), "unbounded")
    assert lint_laws(laws, 1.0).rules == ("L-11",)


@pytest.mark.parametrize("seed", range(20))
def test_exact_rules_agree_with_the_definition(seed):
    """Brute force over all events: an error exactly if some neighbours break the claim."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet([0.5] * 4, size=3)
    table[rng.random((3, 4)) < 0.2] = 0
    table[:, 0] += 0.05
    table /= table.sum(axis=1, keepdims=True)
    laws = laws_of(range(3), range(4), table, neighbours=[(0, 1), (1, 2)])
    for level in (Level(0.7), Level(0.7, 0.2), Level(3.0, 0.02)):
        broken = any(
            table[i, list(event)].sum()
            > math.exp(level.epsilon) * table[j, list(event)].sum() + level.delta + 1e-12
            for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))
            for size in range(5)
            for event in itertools.combinations(range(4), size)
        )
        assert lint_laws(laws, level).ok == (not broken)


def test_laws_in_a_description():
    body = mechanism(
        step("mechanism", "n1", epsilon=1),
        step("mechanism", "n2", epsilon=1, released=False),
        claim={"granularity": "bounded"},
        laws={
            "data": SIZES,
            "outputs": [[2, 1], [1, 2], [3, 0]],
            "table": np.eye(3).tolist(),
            "coordinates": ["n1", "n2"],
        },
    )
    messages = [f.message for f in lint(body) if f.rule == "L-09"]
    assert len(messages) == 1
    assert "'n1'" in messages[0]


# -- runs --------------------------------------------------------------------------------------


def test_zero_occurrences_bound_a_probability():
    assert zero_bound(10_000) == pytest.approx(2.995e-4, rel=1e-3)
    assert zero_bound(1) == pytest.approx(0.95)


def partitions(points, groups):
    """Every way to cut the points into so many groups."""
    if not points:
        yield [] if groups == 0 else None
        return
    first, rest = points[0], points[1:]
    for smaller in partitions(rest, groups - 1) if groups else ():
        if smaller is not None:
            yield [[first], *smaller]
    for same in partitions(rest, groups):
        if same is not None:
            for k in range(len(same)):
                yield [*same[:k], [first, *same[k]], *same[k + 1 :]]


def clustering(groups):
    """Partition the reported points by exponential weights, publish the centroids."""

    def run(points, rng):
        ways = [w for w in partitions(list(points), min(groups, len(points))) if w is not None]
        scores = np.array([-sum(np.ptp(g) for g in way) for way in ways])
        weights = np.exp(scores / np.abs(scores).max(initial=1.0) / 2)
        way = ways[rng.choice(len(ways), p=weights / weights.sum())]
        return sorted(float(np.mean(g)) for g in way)

    return run


def test_partition_counts():
    assert len([w for w in partitions([1, 2, 3], 2) if w is not None]) == 3
    assert len([w for w in partitions([1, 2], 2) if w is not None]) == 1


def test_samplers_that_break_their_claim():
    rng = np.random.default_rng(5)
    one, other = (1.0, 2.0, 5.0), (1.0, 2.0, 4.0)
    clusters = lint_sampler(clustering(2), one, other, 1.0, rng=rng, runs=2000)
    assert "L-02" in clusters.rules
    assert "L-05" not in clusters.rules
    whole = lint_sampler(clustering(3), one, other, 1.0, rng=rng, runs=2000)
    assert {"L-01", "L-02", "L-05"} <= set(whole.rules)


def test_a_marginal_with_too_little_noise():
    def two(data, rng):
        return (int(rng.geometric(0.2)), len(data) + int(rng.geometric(0.9) - rng.geometric(0.9)))

    found = lint_sampler(two, "ab", "abc", 1.0, rng=np.random.default_rng(2), runs=4000)
    assert [f.where for f in found if f.rule == "L-09"] == ["coordinate 1"]


@pytest.mark.parametrize("claim", [1.0, Approximate(1.0, 1e-3), GDP(1.0)], ids=str)
def test_correct_samplers_are_not_accused(claim):
    """Two counts that are each 1/2-DP: 1-DP together, and .88-GDP.

    A correct mechanism is accused with probability .001 at most in each of 200 trials; three
    times or more then has probability .0011.
    """
    law = -math.expm1(-0.5)

    def counts(data, rng):
        return tuple(
            int(n + rng.geometric(law) - rng.geometric(law))
            for n in (data.count("a"), data.count("b"))
        )

    rng = np.random.default_rng(9)
    accused = [
        lint_sampler(counts, ("a",), ("b",), claim, rng=rng, runs=60, confidence=0.999)
        for _ in range(200)
    ]
    assert sum(map(bool, accused)) <= 2


def test_few_runs_prove_nothing():
    """Zero occurrences in ten runs do not make an event impossible."""
    run = lint_sampler(
        lambda data, rng: list(data), ("x",), ("y",), 5.0, rng=np.random.default_rng(1), runs=10
    )
    assert len(run) == 0


# -- sensitivities, thresholds, reach ------------------------------------------------------------


WORDS = ["".join(w) for n in range(1, 4) for w in itertools.product("AB", repeat=n)]


def counted(word, kind, levels):
    """Counts by level of one trajectory: prefixes, or runs of n points."""
    found = []
    for n in range(1, levels + 1):
        if kind == "prefix-tree":
            found.append(Counter([word[:n]] if len(word) >= n else []))
        else:
            found.append(Counter(word[k : k + n] for k in range(len(word) - n + 1)))
    return found


@pytest.mark.parametrize("kind", ["prefix-tree", "ngram-tree"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_sensitivity_of_trees_by_exhaustion(kind, norm):
    """Counts add over trajectories: one of them, or a pair, tells every neighbour."""
    query = Counted(kind, levels=3, longest=3 if kind == "ngram-tree" else None)
    empty = [Counter()] * 3
    pairs = {
        "add": [(counted(w, kind, 3), empty) for w in WORDS],
        "replace": [
            (counted(v, kind, 3), counted(w, kind, 3)) for v, w in itertools.permutations(WORDS, 2)
        ],
    }

    def size(one, two, power):
        keys = set(one) | set(two)
        return sum(abs(one[k] - two[k]) ** power for k in keys)

    power = 1 if norm == "l1" else 2
    for change, neighbours in pairs.items():
        levels = [max(size(a[n], b[n], power) for a, b in neighbours) for n in range(3)]
        whole = max(sum(size(a[n], b[n], power) for n in range(3)) for a, b in neighbours)
        assert query.per_level(change, norm) == pytest.approx([x ** (1 / power) for x in levels])
        assert query.whole(change, norm) == pytest.approx(whole ** (1 / power))


def test_numbers_of_the_trees():
    assert Counted("ngram-tree", levels=3, longest=5).per_level("add") == (5, 4, 3)
    assert Counted("ngram-tree", levels=3, longest=5).whole("add") == 12
    assert Counted("prefix-tree", levels=3).whole("add") == 3
    assert Counted("prefix-tree", levels=3).whole("replace") == 6
    assert Counted("sum", lower=-2, upper=2).per_level("replace") == (4,)
    assert Counted("sum", lower=-2, upper=2).per_level("add") == (2,)


def test_the_threshold_is_the_least_that_passes():
    assert release_threshold(1.0, 1e-5) == pytest.approx(11.8198, abs=1e-4)
    for rows in (1, 2, 5):
        least = release_threshold(2.0, 1e-4, rows)
        each, alone = laplace_tail(least - 1, 2.0), laplace_tail(least - rows, 2.0)
        assert max(alone, 1 - (1 - each) ** rows) == pytest.approx(1e-4, rel=1e-6)
        for threshold, ok in ((least + 1e-6, True), (least - 1e-3, False)):
            body = mechanism(
                noise(2, sensitivity={"l1": rows, "change": "add"}, range="observed")
                | {"threshold": threshold},
                claim={"delta": 1e-4, "epsilon": rows / 2},
            )
            assert ("L-01" not in lint(body).rules) == ok


def test_rows_of_one_unit_are_worst_at_the_ends():
    """All rows of a unit on one key, or one on each: in between less shows."""
    b, rows, at = 1.5, 5, 9.0
    shown = {
        split: 1 - math.prod(1 - laplace_tail(at - n, b) for n in split)
        for split in [(5,), (4, 1), (3, 2), (3, 1, 1), (2, 2, 1), (2, 1, 1, 1), (1,) * 5]
    }
    assert max(shown, key=shown.get) in ((5,), (1,) * rows)


@pytest.mark.parametrize("ends", [(-4.0, 4.0), (-1.0, 6.0), (-6.0, 1.5), (-0.3, 0.4)], ids=str)
def test_cut_noise_shows_at_least_what_is_said(ends):
    """Noise that is cut off and rescaled, and noise that is clipped: the lesser of the two."""
    from scipy.stats import laplace

    low, high = ends
    inside = laplace.cdf(high) - laplace.cdf(low)
    sides = []
    for inner, end in ((max(high - 1, low), high), (min(low + 1, high), low)):
        cut = abs(laplace.cdf(end) - laplace.cdf(inner)) / inside
        clipped = laplace.sf(inner) if end == high else laplace.cdf(inner)
        sides.append(min(cut, clipped))
    body = mechanism(noise(query=COUNT, support=list(ends)), claim={"delta": 1e-9})
    message = next(f.message for f in lint(body) if f.rule == "L-16")
    said = float(re.search(r"probability ([\d.e-]+) at least", message)[1])
    assert said == pytest.approx(max(sides), rel=1e-5)


def test_reach():
    assert unreachable([0, 1, 2], [(0, 0), (3, 4), (3, 4)], 5) == []
    assert unreachable([0, 1, 2], [(0, 0), (3, 4), (9, 4)], 5) == [2]


def test_laplace_noise_under_a_gaussian_claim():
    """epsilon-DP is mu-GDP from mu = -2 Phi^-1(1 / (1 + e^epsilon)) on: 1.23204 for epsilon 1."""
    for scale, mu, rules in ((1, 1.2321, ()), (1, 1.232, ("L-23",)), (1e-4, 9, ("L-23",))):
        body = mechanism(noise(scale, query=COUNT), claim={"mu": mu})
        assert lint(body).rules == rules


def test_a_chain_that_never_forgets():
    still = mechanism(FIXED, claim=EVENT, data={"chain": [[1, 0], [0, 1]]})
    assert "inf move together" in lint(still).warnings[0].message
    window = mechanism(FIXED, claim={"granularity": "w-event(9)"}, data={"autocorrelation": 1})
    assert "user granularity" in lint(window).warnings[0].message


def test_many_steps_are_quick():
    """Every step reads all before it: no path is walked twice."""
    parts = [step("postprocess", "s0", ["public"], released=False)]
    for k in range(1, 120):
        parts.append(step("postprocess", f"s{k}", [p["name"] for p in parts], released=False))
    assert lint(mechanism(*parts)).ok
