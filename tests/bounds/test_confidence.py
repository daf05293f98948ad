"""Confidence regions, private fits and second order: coverage, costs, tiny samples."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

import corrdp as cdp
from corrdp.bounds.chains.ratios import unseen_words
from corrdp.errors import DataError, InfeasibleError, InputError, NotApplicableError
from corrdp.models.chains.fitted import count_sensitivity
from corrdp.models.chains.region import power_bounds, region_of, widest_diameter, widest_ratio
from tests.helpers.chances import UNSEEDED, usual_noise
from tests.oracles.chains import chain_joint

P = np.array([[0.9, 0.1], [0.2, 0.8]])
THREE = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
THRESHOLD = 1e-3


def covers(box, kernel) -> bool:
    return bool((box.lower <= kernel).all() and (kernel <= box.upper).all())


def at_least(hits: int, runs: int, share: float) -> bool:
    """Whether a share is not significantly below what is claimed."""
    return stats.binomtest(hits, runs, share, alternative="less").pvalue > THRESHOLD


def test_interval_vectors():
    """Clopper-Pearson against scipy, one row of two states: one interval."""
    box = region_of(np.array([[7, 3], [1, 9]]), 0.9)
    for (k, n), low, high in [((7, 10), box.lower[0, 0], box.upper[0, 0])]:
        exact = stats.binomtest(k, n).proportion_ci(0.95, method="exact")  # two rows share 10 %
        assert (low, high) == pytest.approx((exact.low, exact.high), rel=1e-9)
    assert box.lower[0, 1] == pytest.approx(1 - box.upper[0, 0])


@pytest.mark.parametrize(
    "kernel", [P, pytest.param(THREE, marks=pytest.mark.slow)], ids=["two", "three"]
)
@pytest.mark.parametrize("level", [pytest.param(0.8, marks=pytest.mark.slow), 0.95])
def test_coverage(kernel, level):
    rng = np.random.default_rng(3)
    chain = cdp.MarkovChain(kernel, 150)
    truth = cdp.leakage(chain, 0.5).value
    inside = above = runs = 0
    while runs < 400:
        try:
            fitted = cdp.MarkovChain.fit(chain.sample(rng))
        except DataError:
            continue  # a state that was never left: refused, in words
        if len(fitted.states) < len(kernel):
            continue
        runs += 1
        inside += covers(fitted.region(level), kernel)
        above += cdp.leakage(fitted, 0.5, confidence=level).value >= truth
    assert at_least(inside, runs, level)
    assert at_least(above, runs, level)


def test_private_coverage():
    rng = np.random.default_rng(4)
    chain = cdp.MarkovChain(P, 2000)
    inside = 0
    for _ in range(200):
        fitted = cdp.MarkovChain.fit(chain.sample(rng), private_epsilon=0.5, states=(0, 1))
        inside += covers(fitted.region(0.9), P)
    assert stats.binomtest(inside, 200, 0.9, alternative="less").pvalue > UNSEEDED


def test_private_coverage_of_order_two():
    rng = np.random.default_rng(4)
    rows = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.15, 0.85]])
    chain = cdp.WindowChain(rows, 2, 2000)
    inside = 0
    for _ in range(200):
        fitted = cdp.MarkovChain.fit(chain.sample(rng), private_epsilon=0.5, states=(0, 1), order=2)
        inside += covers(fitted.region(0.9), rows)
    assert stats.binomtest(inside, 200, 0.9, alternative="less").pvalue > UNSEEDED


def test_every_kernel_in_the_region_is_covered():
    rng = np.random.default_rng(5)
    counts = rng.integers(3, 40, (3, 3))
    box = region_of(counts, 0.9)
    bounds = power_bounds(box, 3)
    widest = [widest_diameter(*pair) for pair in bounds]
    for _ in range(500):
        rows = []
        for a in range(3):
            while True:
                row = rng.dirichlet(counts[a] + 1.0)
                if (row >= box.lower[a]).all() and (row <= box.upper[a]).all():
                    rows.append(row)
                    break
        kernel = np.array(rows)
        power = np.eye(3)
        for (low, high), limit in zip(bounds, widest, strict=True):
            power = power @ kernel
            assert (power >= low - 1e-12).all()
            assert (power <= high + 1e-12).all()
            assert cdp.MarkovChain(power).diameter <= limit + 1e-9
        assert math.log(cdp.MarkovChain(kernel).omega) <= widest_ratio(box) + 1e-9


def test_activity_costs(activity_kernel):
    """Confidence .95 costs 4.30 instead of 4.00 times plain DP; by contraction 4.40, not 4.10."""
    chain = fit_counts([[9713, 1295], [1295, 2955]])
    asked = {"query": cdp.Count(True), "confidence": 0.95}
    contracted = cdp.calibrate(chain, 1.0, method="contraction", **asked)
    assert 1 / contracted.epsilon == pytest.approx(4.3995, abs=1e-3)
    cal = cdp.calibrate(chain, 1.0, **asked)
    assert 1 / cal.epsilon == pytest.approx(4.2965, abs=1e-3)
    assert cdp.leakage(chain, cal.epsilon, confidence=0.95).value <= 1.0
    said = " ".join(cal.assumptions)
    assert "0.95 confidence region" in said
    assert "taken as exact" not in said


def fit_counts(counts, states=(False, True)):
    """A chain whose fit has these counts, without data."""
    from corrdp.models.chains.fitted import ChainFit

    counts = np.array(counts)
    rows = int(counts.sum()) + 1
    fit = ChainFit(counts, np.zeros((0, 4), int), rows, 0, 1, rows, 0)
    return cdp.MarkovChain(fit.kernel, rows, None, states, fitted=fit)


def test_wider_confidence_leaks_more():
    chain = fit_counts([[90, 10], [20, 80]])
    values = [cdp.leakage(chain, 1.0, confidence=c).value for c in (0.5, 0.9, 0.99, 0.9999)]
    assert values == sorted(values)
    assert values[0] > cdp.leakage(chain, 1.0, method="contraction").value


def test_unseen_transition_is_named_and_survived():
    chain = fit_counts([[50, 30, 0], [20, 30, 25], [10, 20, 40]], states=("a", "b", "c"))
    leak = cdp.leakage(chain, 0.5, confidence=0.95)
    said = " ".join(leak.certificate.assumptions)
    assert "'a' -> 'c'" in said
    # the two-step kernel is positive
    assert leak.value < cdp.leakage(chain, 0.5, method="general").value
    reasons = {c.method: c.reason for c in leak.candidates}
    assert "'a' -> 'c'" in reasons["ratio"]


def test_too_few_counts_fall_back_to_general():
    chain = fit_counts([[3, 0], [1, 1]])
    leak = cdp.leakage(chain, 0.5, confidence=0.999)
    assert leak.certificate.name in ("general", "contraction")
    assert leak.value <= 0.5 * chain.length
    only = fit_counts([[2, 1], [1, 0]])
    reasons = {c.method: c.reason for c in cdp.leakage(only, 0.5, confidence=0.9999).candidates}
    assert "never seen" in reasons["ratio"]


def test_structural_zeros():
    chain = cdp.MarkovChain.fit([0, 1, 2] * 40 + [0, 0, 1, 1, 2, 2, 0], zeros="structural")
    box = chain.region(0.95)
    assert box.unseen == ()
    assert box.upper[0, 2] == 0.0
    assert "impossible" in " ".join(chain.assumptions)
    with pytest.raises(InputError, match="zeros"):
        cdp.MarkovChain.fit([0, 1, 0, 0, 1, 1], zeros="maybe")


def test_confidence_needs_a_fit():
    for model in (cdp.MarkovChain(P), cdp.Groups(2)):
        with pytest.raises(InputError, match="fitted"):
            cdp.leakage(model, 1.0, confidence=0.95)
    chain = fit_counts([[9, 1], [2, 8]])
    for bad in (0, 1, 95, -0.5):
        with pytest.raises(InputError, match="confidence"):
            cdp.leakage(chain, 1.0, confidence=bad)
    with pytest.raises(NotApplicableError, match="region"):
        cdp.leakage(chain, 1.0, confidence=0.9, method="zhao")


def test_private_fit_is_paid_for():
    rng = np.random.default_rng(6)
    series = cdp.MarkovChain(P, 20_000).sample(rng)
    public = cdp.MarkovChain.fit(series)
    with usual_noise():
        private = cdp.MarkovChain.fit(series, private_epsilon=0.1, states=(0, 1))
    assert private.fitted.private_epsilon == 0.1
    assert not private.fitted.triples.size
    np.testing.assert_allclose(private.transition, public.transition, atol=0.15)
    spent = cdp.leakage(private, 0.2)
    assert spent.value == pytest.approx(
        cdp.leakage(cdp.MarkovChain(private.transition, 20_000), 0.3).value, rel=1e-9
    )
    assert "0.1" in " ".join(spent.certificate.assumptions)
    cal = cdp.calibrate(private, 2.0, query=cdp.Count(1))
    assert cdp.leakage(private, cal.epsilon).value <= 2.0
    with pytest.raises(InfeasibleError):
        cdp.calibrate(private, 0.1, query=cdp.Count(1))
    assert cal.release(series).epsilon == cal.epsilon


@pytest.mark.parametrize("order", [1, 2, 3])
def test_private_noise_is_that_of_its_sensitivity(order):
    """Mean size of discrete Laplace noise of scale 2(k + 1)/eps on each count of a run."""
    series = [0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1] * 200  # every word of four alike
    asked = {"states": (0, 1), "order": order}
    drawn = np.array(
        [
            cdp.MarkovChain.fit(series, private_epsilon=1.0, **asked).fitted.window_counts(order)
            for _ in range(1600 // 2 ** (order + 1))
        ]
    )
    truth = cdp.MarkovChain.fit(series, order=order).fitted.window_counts(order)
    a = math.exp(-1 / count_sensitivity(order))
    # 7.25 standard errors of 1,600 draws, 18 %, are exceeded with probability 1e-10 (Chernoff)
    assert truth.min() > 60  # so that no noisy count is cut off at 0
    assert np.abs(drawn - truth).mean() == pytest.approx(2 * a / (1 - a**2), rel=0.2)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_one_changed_record_moves_counts_by_at_most_their_sensitivity(order):
    rng = np.random.default_rng(7)
    most = 0
    for _ in range(300):
        series = rng.integers(0, 3, 12)
        other = series.copy()
        other[rng.integers(12)] = rng.integers(3)
        first, second = (
            np.bincount(np.lib.stride_tricks.sliding_window_view(s, order + 1) @ weights, None, 81)
            for s in (series, other)
            for weights in [3 ** np.arange(order + 1)]
        )
        most = max(most, int(np.abs(first - second).sum()))
    assert most == count_sensitivity(order)


@pytest.mark.parametrize("order", [2, 3])
def test_a_private_fit_of_order_k_keeps_no_exact_count(order, tmp_path):
    rng = np.random.default_rng(8)
    series = cdp.MarkovChain([[0.6, 0.4], [0.3, 0.7]], 20_000).sample(rng)
    path = tmp_path / "s.csv"
    path.write_text("t,s\n" + "\n".join(f"{k},{x}" for k, x in enumerate(series)) + "\n")
    asked = {"order": order, "private_epsilon": 2.0, "states": (0, 1)}
    exact = cdp.MarkovChain.fit(series, order=order)
    memory = cdp.MarkovChain.fit(series, **asked)
    table = cdp.MarkovChain.fit(path, state="s", order_by="t", **asked)
    for chain in (memory, table):
        fit = chain.fitted
        kept = [fit.later, fit.longer, fit.groups, fit.coupling, fit.beside]
        assert kept == [None] * 5
        assert (fit.triples.size == 0) == (order == 3)
        assert fit.counts.sum() == fit.window_counts(order).sum()
        np.testing.assert_allclose(chain.transition, exact.transition, atol=0.1)
        assert (chain.transition > 0).all()
        chain.save(tmp_path / "m.json")
        assert cdp.load_model(tmp_path / "m.json").digest == chain.digest
    bare = cdp.WindowChain(memory.transition, order, 20_000)
    spent = cdp.leakage(memory, 0.2, method="contraction").value
    assert spent == pytest.approx(cdp.leakage(bare, 2.2, method="contraction").value, rel=1e-9)
    assert cdp.leakage(memory, 0.2, confidence=0.9).value > cdp.leakage(memory, 0.2).value
    cal = cdp.calibrate(memory, 20.0, query=cdp.Count(1))
    assert cal.release(series).epsilon == cal.epsilon


def test_private_fit_refuses():
    with pytest.raises(DataError, match="states="):
        cdp.MarkovChain.fit([0, 1, 1, 0], private_epsilon=1.0)
    with pytest.raises(InputError, match="zeros come from the noise"):
        cdp.MarkovChain.fit([0, 1], private_epsilon=1.0, states=(0, 1), zeros="structural")
    with pytest.raises(InputError, match="private_epsilon"):
        cdp.MarkovChain.fit([0, 1, 1, 0], private_epsilon=-1.0, states=(0, 1))
    asked = {"private_epsilon": 1.0, "states": (0, 1)}
    for season in (None, 2):
        with pytest.raises(DataError, match="too many windows"):
            cdp.MarkovChain.fit([0, 1, 1, 0], **asked, order=13, season=season)


def test_second_order_fit():
    rng = np.random.default_rng(8)
    true = cdp.WindowChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]], 2, 60_000)
    chain = cdp.MarkovChain.fit(true.sample(rng), order=2)
    assert isinstance(chain, cdp.WindowChain)
    np.testing.assert_allclose(chain.transition, true.transition, atol=0.02)
    assert covers(chain.region(0.999), true.transition)
    for method in ("best", "blocks"):
        sure = cdp.leakage(chain, 0.1, confidence=0.95, method=method)
        assert sure.value > cdp.leakage(chain, 0.1, method=method).value
    data = json.loads(json.dumps(chain.to_dict()))
    from corrdp.models.files import model_from_dict

    assert model_from_dict(data).to_dict() == data
    with pytest.raises(DataError, match="order must"):
        cdp.MarkovChain.fit([0, 1, 1, 0, 0, 1], order=0)
    with pytest.raises(DataError, match="too few data"):
        cdp.MarkovChain.fit([0, 0, 0, 1, 0, 0, 1, 1], order=2)


def test_impossibility():
    least = cdp.minimum_error(cdp.Groups(10), 1.0, query=cdp.Count(where="x"))
    assert (least.alpha, least.spread) == (5.0, 10.0)
    assert least.beta == pytest.approx(0.268941, abs=5e-7)
    for eps, beta in [(0.5, 0.377541), (2, 0.119203), (3, 0.047426), (4, 0.017986), (5, 0.006693)]:
        found = cdp.minimum_error(cdp.Independent(), eps, query=cdp.Count(where="x"))
        assert found.beta == pytest.approx(beta, abs=5e-7)
        assert found.alpha == 0.5
    assert cdp.minimum_error(cdp.Groups(3), 1.0, query=cdp.Sum(60, 80)).alpha == 30
    table = cdp.JointTable({(0, 0, 0): 0.5, (1, 1, 1): 0.5})
    assert cdp.minimum_error(table, 1.0, query=cdp.Count(1)).alpha == 1.5
    chain = cdp.MarkovChain(P, 10)
    assert cdp.minimum_error(chain, 1.0, query=cdp.Count(1)).alpha == 0.5
    assert cdp.minimum_error(chain, 1.0, query=cdp.Mean(0, 1)).alpha == pytest.approx(0.05)
    with pytest.raises(InputError, match="target"):
        cdp.minimum_error(chain, -1.0, query=cdp.Count(1))
    from corrdp.bounds.general import MinimumError

    assert MinimumError.from_dict(least.to_dict()) == least


def test_impossibility_is_reached_by_randomized_response():
    """Answering f(D) or f(D') errs by the spread with probability exactly beta."""
    target = 1.3
    least = cdp.minimum_error(cdp.Groups(4), target, query=cdp.Count(where="x"))
    flip = 1 / (1 + math.exp(target))
    assert flip == pytest.approx(least.beta)
    # no answer can do better: total variation of the two output laws is 1 - 2 beta
    assert math.tanh(target / 2) == pytest.approx(1 - 2 * least.beta)


def test_tiny_samples_answer_or_refuse_in_words():
    chain = cdp.MarkovChain.fit([0, 1, 0])
    assert cdp.leakage(chain, 1.0, confidence=0.95).value == 3.0  # no better than general
    for series, word in [([0, 0, 1], "never followed"), ([1, 1, 1], "every recorded value")]:
        with pytest.raises(DataError, match=word):
            cdp.MarkovChain.fit(series)


def test_rejected_order_is_carried_by_every_result():
    rng = np.random.default_rng(9)
    true = cdp.WindowChain([[0.95, 0.05], [0.3, 0.7], [0.6, 0.4], [0.2, 0.8]], 2, 20_000)
    chain = cdp.MarkovChain.fit(true.sample(rng))
    assert chain.order_test().rejected
    said = " ".join(cdp.leakage(chain, 1.0).certificate.assumptions)
    assert "order 1 is rejected against order 2, p < 1e-" in said
    assert chain.with_order(1) is chain
    # what the first-order model proves is too little for the law that made the data
    second = chain.with_order(2)
    assert cdp.leakage(second, 0.1).value > cdp.leakage(chain, 0.1).value
    with pytest.raises(InputError, match="fitted"):
        cdp.MarkovChain(P).with_order(2)


def test_public_fit_serves_any_length():
    series = [0, 0, 1, 1, 0, 1, 0, 0, 1] * 5
    chain = cdp.MarkovChain.fit(series, public=True)
    assert chain.length is None
    assert "public" in " ".join(chain.assumptions)
    cal = cdp.calibrate(chain, 2.0, query=cdp.Count(1))
    assert isinstance(cal.release(series * 3).value, int)


def test_higher_orders_count_alike_in_memory_and_in_files(tmp_path):
    rng = np.random.default_rng(10)
    series = cdp.MarkovChain(THREE, 3000).sample(rng)
    gone = rng.random(3000) < 0.02
    path = tmp_path / "walk.csv"
    rows = [f"{t},{'NA' if g else x}" for t, (x, g) in enumerate(zip(series, gone, strict=True))]
    path.write_text("t,x\n" + "\n".join(rows) + "\n")
    labels = [None if g else int(x) for x, g in zip(series, gone, strict=True)]
    memory = cdp.MarkovChain.fit(labels, order=3)
    file = cdp.MarkovChain.fit(path, state="x", order_by="t", order=3)
    np.testing.assert_array_equal(memory.fitted.runs, file.fitted.runs)
    np.testing.assert_allclose(memory.transition, file.transition)
    # by hand
    counts = np.zeros((27, 3), dtype=int)
    for a, b, c, d in zip(labels, labels[1:], labels[2:], labels[3:], strict=False):
        if None not in (a, b, c, d):
            counts[(a * 3 + b) * 3 + c, d] += 1
    np.testing.assert_array_equal(memory.fitted.window_counts(3), counts)
    from corrdp.models.files import model_from_dict

    assert model_from_dict(memory.to_dict()).to_dict() == memory.to_dict()
    assert cdp.leakage(memory, 0.05, confidence=0.9).value > 0.05


def test_general_does_not_trust_rows_that_agree():
    """Equal rows of the estimate do not make the records independent."""
    chain = cdp.MarkovChain.fit([0, 0, 1, 1, 0, 0, 0, 1, 0, 0])
    assert chain.fitted.counts.tolist() == [[4, 2], [2, 1]]
    assert cdp.leakage(chain, 1.0).value == pytest.approx(1.0)
    sure = cdp.leakage(chain, 1.0, confidence=0.95)
    inside = cdp.MarkovChain([[0.8, 0.2], [0.3, 0.7]], 10)  # well within the region
    assert sure.value >= cdp.leakage(inside, 1.0).value > 2.6
    assert any("confidence region" in text for text in sure.certificate.assumptions)


# -- a private fit does not fail by its data ---------------------------------------------------


@pytest.mark.parametrize("data", [[0, 1], [0, 0, 0, 0], [1], [0, 1, 0, None, 1]])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_private_fit_never_fails_by_its_data(data, order):
    """A failure costs nothing and can be repeated: its probability told neighbours apart."""
    for _ in range(40):
        fit = cdp.MarkovChain.fit(data, private_epsilon=0.3, states=(0, 1, 2), order=order)
        assert np.isfinite(fit.transition).all()
        empty = ~fit.fitted.window_counts(order).any(axis=1)
        np.testing.assert_allclose(fit.transition[empty], 1 / 3)


def test_unlisted_values_count_as_the_last_listed_state(tmp_path):
    rng = np.random.default_rng(3)
    labels = np.array(["a", "b", "x", "y"])[rng.integers(0, 4, 3_000)]
    path = tmp_path / "r.csv"
    path.write_text("t,s\n" + "\n".join(f"{k},{s}" for k, s in enumerate(labels)) + "\n")
    merged = np.where(np.isin(labels, ["a", "b"]), labels, "other")
    exact = cdp.MarkovChain.fit(merged).fitted.counts
    states = ["a", "b", "other"]
    memory = cdp.MarkovChain.fit(labels, private_epsilon=50, states=states)
    table = cdp.MarkovChain.fit(path, state="s", order_by="t", private_epsilon=50, states=states)
    for fit in (memory, table):
        assert fit.states == tuple(states)
        np.testing.assert_allclose(fit.fitted.counts, exact, atol=3)
        assert "counts as the last one of it" in " ".join(fit.fitted.assumptions)
    for fit, data in ((memory, labels), (table, path)):
        cal = cdp.calibrate(
            fit, epsilon=20, query=cdp.Count("other"), confidence=None, robust=False
        )
        assert abs(cal.release(data).value - (merged == "other").sum()) < 4
    series = cdp.calibrate(memory, epsilon=9, query=cdp.Series(), confidence=None)
    assert "other" in list(series.release(labels.tolist()[:50]))
    again = [labels.tolist()[0], 3.5, {"no": "state"}, None]
    assert cdp.MarkovChain.fit(again, private_epsilon=1.0, states=states).states == tuple(states)
    with pytest.raises(InputError, match="are of another"):
        cdp.MarkovChain.fit(path, state="s", private_epsilon=1.0, states=[1, 2])


def test_the_ends_of_a_region_are_rounded_outwards():
    """A transition that was never seen may be impossible: its lower end is 0, not 1e-16."""
    for kept in range(20, 120):
        box = region_of(np.array([[kept, 3], [0, kept]]), 0.95)
        assert box.lower[1, 0] == 0.0
        assert box.upper[1, 1] == 1.0


def test_impossible_neighbours_force_no_error():
    """From 0 the chain alternates between 1 and 2: the sum of three records is always 3."""
    kernel = [[0, 0.5, 0.5], [0, 0, 1], [0, 1, 0]]
    for n, alpha in [(1, 0.0), (2, 0.5), (3, 0.0), (4, 0.0)]:
        chain = cdp.MarkovChain(kernel, n, [1, 0, 0])
        assert cdp.minimum_error(chain, 1.0, query=cdp.Sum(0, 2)).alpha == alpha
    for n in (None, 1, 2, 10, 10**6):
        assert cdp.minimum_error(cdp.MarkovChain(P, n), 1.0, query=cdp.Count(1)).alpha == 0.5
    part = cdp.Count(1, records=slice(2, 4))
    assert cdp.minimum_error(cdp.MarkovChain(P, 9), 1.0, query=part).alpha == 0.5


@pytest.mark.parametrize("seed", range(30))
def test_minimum_error_agrees_with_the_table(seed):
    rng = np.random.default_rng([11, seed])
    s, n = int(rng.integers(2, 4)), int(rng.integers(1, 5))
    kernels = rng.random((max(n - 1, 1), s, s)) * (rng.random((max(n - 1, 1), s, s)) < 0.5)
    kernels[..., 0] += 0.1 * (kernels.sum(axis=2) == 0)
    kernels /= kernels.sum(axis=2, keepdims=True)
    start = np.eye(s)[0] if rng.random() < 0.5 else rng.dirichlet(np.ones(s))
    chain = cdp.MarkovChain(kernels[0] if n < 3 else kernels, n, start)
    query = cdp.Sum(0, s - 1)
    joint = chain_joint(chain.kernels, chain.start, n)
    truth = max(
        abs(sum(x) - sum(y))
        for x in joint
        for y in joint
        if sum(a != b for a, b in zip(x, y, strict=True)) <= 1
    )
    assert cdp.minimum_error(chain, 1.0, query=query).spread == pytest.approx(truth)


# -- chains of every order: the promise at 95 % covers the truth ---------------------------------

RARE = {
    1: ([[0.97, 0.03], [0.4, 0.6]], 150),
    2: ([[0.7, 0.3], [0.99, 0.01], [0.7, 0.3], [0.001, 0.999]], 300),
    3: (
        [
            [0.8, 0.2],
            [0.6, 0.4],
            [0.9, 0.1],
            [0.99, 0.01],
            [0.8, 0.2],
            [0.5, 0.5],
            [0.7, 0.3],
            [0.002, 0.998],
        ],
        300,
    ),
}


def attained_leakage(chain, eps: float) -> float:
    """Randomized response on every record, nothing known, against an interior record.

    The chain of windows as a first-order chain of which one record in the middle is told apart
    by its newest value alone.
    """
    rows, s = np.array(chain.transition), len(chain.states)
    size = len(rows)
    kernel = np.zeros((size, size))
    for w in range(size):
        kernel[w, (w * s) % size + np.arange(s)] = rows[w]
    newest = np.arange(size) % s
    best = 0.0
    for favoured in range(s):
        shown = np.exp(eps * (newest == favoured))
        told, before = np.ones(size), chain.stationary.copy()
        for _ in range((chain.length - 1) // 2):
            told = kernel @ (shown * told)
            told /= told.max()
            before = (before * shown) @ kernel
            before /= before.sum()
        joint = before * shown * told
        said = [
            np.log(joint[newest == x].sum() / chain.stationary[newest == x].sum()) for x in range(s)
        ]
        best = max(best, abs(said[0] - said[1]))
    return best


def share_above(order: int, fits: int, seed: int) -> tuple[int, int, float]:
    rows, n = RARE[order]
    truth = cdp.WindowChain(rows, order, n)
    eps = 0.02
    least = attained_leakage(truth, eps)
    rng = np.random.default_rng([12, order, seed])
    above = done = 0
    while done < fits:
        try:
            fitted = cdp.MarkovChain.fit(truth.sample(rng), order=order, states=(0, 1))
        except DataError:  # too few data: no promise is made
            continue
        done += 1
        above += cdp.leakage(fitted, eps, confidence=0.95).value >= least
    return above, done, least


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_promise_covers_the_truth(order):
    above, done, least = share_above(order, 12, 0)
    assert least > 0.02
    assert at_least(above, done, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
def test_promise_covers_the_truth_long(order):
    above, done, _ = share_above(order, 300, 1)
    assert at_least(above, done, 0.95)


def test_windows_never_seen_are_named_and_kept():
    box = region_of(np.array([[40, 2], [30, 1], [31, 1], [0, 0]]), 0.95)
    assert box.lower[3].tolist() == [0.0, 0.0]
    assert box.upper[3].tolist() == [1.0, 1.0]
    # reached and never left: it goes on somehow, whatever is declared impossible
    declared = region_of(np.array([[40, 2], [30, 1], [31, 1], [0, 0]]), 0.95, structural=True)
    assert declared.upper[3].tolist() == [1.0, 1.0]
    never = region_of(np.array([[40, 2], [30, 0], [31, 1], [0, 0]]), 0.95, structural=True)
    assert never.upper[3].tolist() == [0.0, 0.0]
    fitted = cdp.MarkovChain.fit([0, 0, 1, 0, 0, 0, 1, 0] * 30, order=2, states=(0, 1))
    leak = cdp.leakage(fitted, 0.1, confidence=0.95)
    reason = next(c.reason for c in leak.candidates if c.method == "blocks")
    for word in ("'1, 1'", "structural", "merge", "confidence=None"):
        assert word in reason


def test_what_may_vanish_comes_out_as_zero():
    """A row that may lie wholly on values of 0 has the least mixture 0, whatever the rounding."""
    from corrdp.models.chains.region import extreme_mixture

    rng = np.random.default_rng(8)
    for _ in range(500):
        s = int(rng.integers(2, 7))
        lower = rng.dirichlet(np.ones(s)) * rng.random() * 0.5
        upper = lower + rng.random(s)
        lower[-1] = 0.0
        upper[0] = 1.0 - lower[1:].sum() + 1e-300
        values = np.r_[0.0, np.ones(s - 1)][:, None]
        low = extreme_mixture(lower, upper, values, -1.0)
        assert low <= lower[1:].sum() * (1 + 1e-12)
        all_free = extreme_mixture(np.zeros(s), np.r_[1.0, upper[1:]], values, -1.0)
        assert all_free == 0.0
        assert extreme_mixture(lower, upper, values, 1.0) >= low
    box = region_of(np.array([[40, 3], [0, 40]]), 0.95)
    from corrdp.models.chains.region import power_bounds

    assert all(low[1, 0] == 0.0 for low, _ in power_bounds(box, 20))


def test_noise_that_hides_a_transition_is_named():
    """Counts that the noise of a private fit may have made up leave no transition unseen."""
    region = region_of(np.array([[90, 12], [12, 30]]), 0.95, radius=20)
    assert region.lower.min() == 0
    assert region.unseen == ()
    assert "noise of the private fit" in unseen_words(region, (0, 1))
