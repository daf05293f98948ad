"""Slices that share a row: chosen, counted, covered, and priced as the same law without pools."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from corrdp import Count, MarkovChain, Pure, calibrate, leakage, write_report
from corrdp.bounds.chains.joint import joint_contraction
from corrdp.bounds.chains.slice_jumps import slice_jumps
from corrdp.errors import DataError, InputError, ModelError, NotApplicableError
from corrdp.models.chains.diagnostics import Diagnostics
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.pools import by_pool, pool_slices, pooled_kernel
from corrdp.models.files import model_from_dict
from tests.oracles.chains import chain_joint, lp_one_adversary

PAIRS = np.array(list(itertools.product((0, 1), repeat=2)))
TRIPLES = np.array(list(itertools.product((0, 1), repeat=3)))
BY_NUMBER = TRIPLES.sum(axis=1)  # of the series that are in state 1
STORM = np.array(
    [[0.95, 0.03, 0.01, 0.01], [0.5, 0.2, 0.15, 0.15], [0.3, 0.2, 0.25, 0.25], [0.1, 0.1, 0.2, 0.6]]
)


def pooled_law(kernel: np.ndarray, pools: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """``T[pool of x, pool of y] q[y]``."""
    return np.asarray(kernel[pools][:, pools] * shares)


def storms(rng: np.random.Generator, hours: int = 4000) -> list[list[int]]:
    """Three series of which it matters how many are in state 1, not which."""
    shares = np.array([1, 0.5, 0.3, 0.2, 0.2, 0.4, 0.4, 1])
    law = pooled_law(STORM, BY_NUMBER, shares)
    law /= law.sum(axis=1, keepdims=True)
    drawn = JointChain(law, "abc", states=(0, 1), length=hours).sample(rng)
    return [series.tolist() for series in drawn.T]


def test_rare_slices_that_are_alike_share_a_row():
    chain = MarkovChain.fit(storms(np.random.default_rng(1)), joint=True)
    assert chain.pools.tolist() == BY_NUMBER.tolist()
    assert chain.fitted.pool_counts.sum() == chain.fitted.counts.sum()
    kernel = chain.transition
    assert (kernel[1] == kernel[2]).all()
    assert kernel.sum(axis=1) == pytest.approx(np.ones(8))
    # between pools the transitions are those that were counted
    seen = by_pool(chain.fitted.counts, chain.pools)
    assert chain.by_pool.transition == pytest.approx(seen / seen.sum(axis=1, keepdims=True))
    assert chain.merges.startswith("rare slices share a row: 0, 0, 1 or 0, 1, 0 or 1, 0, 0; ")
    assert "share a row" in " ".join(chain.assumptions)
    again = model_from_dict(chain.to_dict())
    assert again.digest == chain.digest
    assert again.pools.tolist() == chain.pools.tolist()
    assert Diagnostics.from_dict(chain.diagnose().to_dict()).warnings == chain.diagnose().warnings


def test_slices_whose_names_read_alike_are_told_apart():
    slices = [("a, b", "c"), ("a", "b, c")]
    pair = JointChain([[0.9, 0.1], [0.2, 0.8]], "xy", slices=slices, length=4)
    assert pair.pool_names == ("a, b, c", "a, b, c")
    assert joint_contraction(pair, Pure(0.1)).value > 0.2


def test_slices_stay_apart_where_asked_frequent_or_different():
    series = storms(np.random.default_rng(2))
    apart = MarkovChain.fit(series, joint=True, pool=False)
    assert apart.fitted.pooled is None
    assert apart.merges == ""
    with pytest.raises(DataError, match="pool"):
        MarkovChain.fit(series, joint=True, pool="no")
    counts = np.full((8, 8), 20)
    assert pool_slices(TRIPLES, counts) == tuple(range(8))
    different = np.full((4, 4), 2) + 40 * np.eye(4, dtype=int)
    assert pool_slices(PAIRS, different) == (0, 1, 2, 3)
    with pytest.raises(InputError, match="confidence"):
        MarkovChain.fit(series, joint=True).region(1.5)


def test_a_region_that_says_nothing_says_so_everywhere(tmp_path):
    series = storms(np.random.default_rng(8), 3000)
    chain = MarkovChain.fit(series, joint=True, pool=False)
    word = "times what the fitted numbers leak, although the series may well forget: what follows"
    for eps in (1e-4, 1e-2):  # by the sum over all cells, and by contraction
        found = leakage(chain, eps, confidence=0.95)
        (said,) = (text for text in found.certificate.assumptions if word in text)
        assert "let rare slices share a row (pool=True" in said
    assert "may well forget" not in repr(leakage(chain, 1e-2))
    asked = calibrate(chain, 1.0, query=Count(1), confidence=0.95, accept="a test", coarse=True)
    assert word in repr(asked)
    done = asked.release(series)
    write_report(tmp_path / "report.html", done, chain)
    assert word in (tmp_path / "report.html").read_text()
    # who is handed a report learns nothing of how often slices were seen
    write_report(tmp_path / "public.html", done, chain, public=True)
    assert "rarely seen" not in (tmp_path / "public.html").read_text()
    # some transitions were never seen: even the fitted numbers do not forget
    short = MarkovChain.fit(storms(np.random.default_rng(8), 300), joint=True, pool=False)
    for confidence in (None, 0.95):
        told = repr(leakage(short, 1e-2, confidence=confidence))
        assert "grows with the length, as if nothing were known of the chain" in told
        with pytest.raises(NotApplicableError, match="rarely seen is left open"):
            leakage(short.with_length(None), 1e-2, confidence=confidence)


def test_what_was_never_seen_is_named_by_the_slices_that_share():
    chain = MarkovChain.fit(storms(np.random.default_rng(8), 60), joint=True)
    assert chain.merges
    with pytest.raises(NotApplicableError, match=r"1, 0, 1 or 1, 1, 0. -> .* was never seen"):
        calibrate(chain, 1.0, query=Count(1), accept="a test")


def test_a_file_with_pools_that_cannot_be_is_refused():
    chain = MarkovChain.fit(storms(np.random.default_rng(1), 600), joint=True)
    for wrong in ([0, 1], [0, 1, 1, 5, 1, 2, 2, 3], ["a"] * 8):
        body = chain.to_dict()
        body = {**body, "fit": {**body["fit"], "pooled": wrong}, "written": "by hand"}
        del body["digest"]
        with pytest.raises(ModelError):
            model_from_dict(body)


def test_the_test_of_shared_rows_speaks_where_slices_differ():
    same = MarkovChain.fit(storms(np.random.default_rng(3)), joint=True)
    test = same.diagnose().test("slices that share a row")
    assert test is not None
    assert not test.rejected
    # one of two series that are alike holds on, the other does not
    kernel = np.array([[0.94, 0.02, 0.02, 0.02], [0.5, 0.4, 0.05, 0.05], [0.8, 0.05, 0.1, 0.05]])
    kernel = np.vstack([kernel, [0.3, 0.1, 0.1, 0.5]])
    drawn = JointChain(kernel, "ab", length=4000).sample(np.random.default_rng(3))
    apart = MarkovChain.fit([part.tolist() for part in drawn.T], joint=True, pool=False)
    forced = replace(apart.fitted, pooled=(0, 1, 1, 2))
    pooled = replace(apart, transition=forced.kernel, fitted=forced)
    warned = " ".join(pooled.diagnose().warnings)
    assert "slices that share a row are not alike" in warned
    found = calibrate(pooled, 1.0, query=Count(1), confidence=None, accept="a test")
    assert "a row for each slice" in [other.name for other in found.adequacy.alternatives]
    own = leakage(replace(apart, fitted=None), found.epsilon, method="contraction").value
    assert own <= 1.0 + 1e-9


def random_pooled(rng: np.random.Generator) -> tuple[JointChain, JointChain]:
    """A pooled chain of two series, and the same law without pools."""
    counts = rng.integers(1, 30, (4, 4)) * rng.integers(1, 4, 4)
    pools = np.array([0, 1, 1, 2])
    fit = MarkovChain.fit([[0, 0, 1, 1, 0], [0, 1, 0, 1, 0]], joint=True).fitted
    triples, later = np.zeros((0, 4), int), np.zeros((4, 4), int)
    fit = replace(fit, counts=counts, triples=triples, later=later, pooled=tuple(pools.tolist()))
    kernel = pooled_kernel(counts, pools)
    plain = JointChain(kernel, "ab", length=3, initial=rng.dirichlet(np.ones(4)))
    return replace(plain, fitted=fit), plain


def test_pools_change_no_bound_of_the_same_law():
    rng = np.random.default_rng(4)
    for _ in range(20):
        pooled, plain = random_pooled(rng)
        for own, other in zip(slice_jumps(pooled, None), slice_jumps(plain, None), strict=True):
            for one, two in zip(own, other, strict=True):
                assert one == pytest.approx(two, rel=1e-9, abs=1e-12)


def corner(rng: np.random.Generator, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A row at the ends of its intervals, as far as it may."""
    row = low.copy()
    for y in rng.permutation(len(row)):
        row[y] += min(high[y] - low[y], 1.0 - row.sum())
    return row / row.sum()


def test_no_law_of_the_region_leaks_more_than_its_bound():
    rng = np.random.default_rng(5)
    pairs = [tuple(one) for one in PAIRS.tolist()]
    for _ in range(25):
        pooled, _ = random_pooled(rng)
        region = pooled.pool_region(0.95)
        eps = float(rng.choice([0.05, 0.3, 1.0]))
        bound = joint_contraction(pooled, Pure(eps), 0.95)
        ends = zip(region.kernel.lower, region.kernel.upper, strict=True)
        kernel = np.array([corner(rng, low, high) for low, high in ends])
        share = rng.choice([region.low[1], 1.0 - region.low[2], pooled.shares[1]])
        law = pooled_law(kernel, pooled.pools, np.array([1.0, share, 1.0 - share, 1.0]))
        joint = {
            tuple(value for one in path for value in pairs[one]): chance
            for path, chance in chain_joint(law, pooled.initial, 3).items()
        }
        record = int(rng.integers(6))
        paths = list(joint)
        seen = paths[rng.choice(len(paths), p=np.array(list(joint.values())))]
        known = {c: seen[c] for c in range(6) if c != record and rng.random() < 0.4}
        truth = lp_one_adversary(joint, np.full(6, eps), 2, record, known)
        assert bound.per_record is not None
        assert bound.per_record[record] >= truth * (1.0 - 1e-7) - 1e-7


def covered(law: np.ndarray, hours: int, runs: int, seed: int) -> float:
    """How often the promise over the region, pools chosen from the data, covers the true law."""
    rng, kept = np.random.default_rng(seed), 0
    truth = JointChain(law, "abc", states=(0, 1))
    leaks = joint_contraction(truth, Pure(1e-3)).value
    for _ in range(runs):
        drawn = truth.with_length(hours).sample(rng)
        chain = MarkovChain.fit([part.tolist() for part in drawn.T], joint=True, public=True)
        kept += joint_contraction(chain, Pure(1e-3), 0.95).value >= leaks
    return kept / runs


@pytest.mark.slow
def test_the_region_covers_what_its_choice_says():
    shares = np.array([1, 0.5, 0.3, 0.2, 0.2, 0.4, 0.4, 1])
    law = pooled_law(STORM, BY_NUMBER, shares)
    law /= law.sum(axis=1, keepdims=True)
    assert covered(law, 4000, 100, seed=6) >= 0.95


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_all_numbers_of_the_chosen_pools_are_covered_at_once(confidence):
    rng = np.random.default_rng(7)
    shares = np.array([1, 0.5, 0.3, 0.2, 0.2, 0.4, 0.4, 1])
    law = pooled_law(STORM, BY_NUMBER, shares)
    law /= law.sum(axis=1, keepdims=True)
    path = JointChain(law, "abc", states=(0, 1), length=200_000).sample(rng) @ [4, 2, 1]
    kept, parts = 0, np.split(path, 100)
    fit = MarkovChain.fit(storms(rng, 400), joint=True)
    for part in parts:
        counts = np.zeros((8, 8), int)
        np.add.at(counts, (part[:-1], part[1:]), 1)
        pools = np.array(pool_slices(TRIPLES, counts))
        none = replace(
            fit.fitted,
            counts=counts,
            triples=np.zeros((0, 4), int),
            later=np.zeros((8, 8), int),
            pooled=tuple(pools.tolist()),
        )
        chain = replace(fit, transition=none.kernel, initial=None, fitted=none)
        first = np.unique(pools, return_index=True)[1]
        region, inside = chain.pool_region(confidence), np.eye(pools.max() + 1)[pools]
        true = (law @ inside)[first]
        part_of = law[0] / (law[0] @ inside)[pools]
        low, high = region.kernel.lower, region.kernel.upper
        kept += bool(
            (low <= true + 1e-12).all()
            and (true <= high + 1e-12).all()
            and (region.low <= part_of + 1e-12).all()
            and (part_of <= region.high + 1e-12).all()
        )
    assert kept >= 100 * confidence
