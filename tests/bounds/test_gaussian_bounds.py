"""Bounds on Gaussian records: known values, and brute force."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy import sparse

from corrdp.bounds.gaussian.comparison import balanced
from corrdp.bounds.gaussian.methods import (
    comparison,
    lange,
    positive,
    regression,
    sharp,
    signed,
)
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.gaussian.factor import factorise
from corrdp.models.gaussian.records import GaussianRecords
from tests.oracles.gaussians import (
    FAMILY,
    ONE,
    adversaries,
    brute_force,
    brute_signed,
    cost,
    random_covariance,
    unit,
)

# -- regression --------------------------------------------------------------------------------


def test_worked_example():
    """Every adversary of the example, and the maximum."""
    published = {
        (0, ()): 1.55, (0, (1,)): 1.266667, (0, (2,)): 1.208791, (0, (1, 2)): 1.0,
        (1, ()): 1.45, (1, (0,)): 1.133333, (1, (2,)): 1.197917,
        (2, ()): 1.5, (2, (0,)): 1.137363, (2, (1,)): 1.260417,
    }  # fmt: skip
    for (target, known), value in published.items():
        assert cost(FAMILY, target, known, np.ones(3)) == pytest.approx(value, abs=5e-7)
    found = regression(unit(FAMILY), ONE)
    assert found.value == pytest.approx(1.55, rel=1e-12)
    np.testing.assert_allclose(found.per_record, [1.55, 1.45, 1.5], rtol=1e-12)
    assert found.kind == "exact"


def test_two_records():
    pair = unit([[1, -0.5], [-0.5, 1]])
    assert regression(pair, ONE).value == pytest.approx(1.5, rel=1e-12)
    assert signed(pair, ONE).value == pytest.approx(1.0, rel=1e-12)
    assert regression(unit([[9.0]]), ONE).value == pytest.approx(1.0, rel=1e-12)


def test_counterexamples():
    """K = ∅ need not be worst, and the block size is no bound on the factor."""
    nonnegative = np.array([[4, 0, 2], [0, 1, 0.9], [2, 0.9, 2]])
    found = regression(unit(nonnegative), ONE)
    assert max(cost(nonnegative, i, (), np.ones(3)) for i in range(3)) == pytest.approx(2.45)
    assert found.value == pytest.approx(2.680672, abs=5e-7)
    assert found.witness.record == 2
    assert found.witness.known == ((-1, "any"),)
    assert "do not matter" in found.witness.note
    assert regression(unit([[1, 9.9], [9.9, 100]]), ONE).value == pytest.approx(10.9, rel=1e-9)
    mixed = regression(unit([[1, 0.9, 0.22], [0.9, 1, -0.22], [0.22, -0.22, 1]]), ONE)
    assert mixed.value == pytest.approx(3.2, rel=1e-9)
    assert (mixed.witness.record, mixed.witness.known) in ((0, ((1, "any"),)), (1, ((-1, "any"),)))


@pytest.mark.parametrize("seed", range(12))
def test_enumeration_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    cov = random_covariance(rng, n)
    rates = rng.uniform(0, 2, n) * (rng.random(n) > 0.2)
    rates[0] = 1.0
    truth = brute_force(cov, rates)
    found = regression(unit(cov), L1(rates))
    np.testing.assert_allclose(found.per_record, truth, rtol=1e-9)
    assert (found.per_record >= truth).all()
    known = tuple(found.witness.record + offset for offset, _ in found.witness.known)
    assert cost(cov, found.witness.record, known, rates) == pytest.approx(found.value, rel=1e-9)
    np.testing.assert_allclose(
        regression(unit(cov), ONE).per_record, brute_force(cov, np.ones(n)), rtol=1e-9
    )


@pytest.mark.parametrize("seed", range(8))
def test_signed_sums_equal_brute_force(seed):
    rng = np.random.default_rng(100 + seed)
    n = int(rng.integers(2, 7))
    cov = random_covariance(rng, n)
    weights = rng.standard_normal(n)
    model = unit(cov)
    assert signed(model, ONE).value == pytest.approx(brute_signed(cov, np.ones(n)), rel=1e-9)
    found = signed(model, L1(0.5), weights=weights)
    assert found.value == pytest.approx(brute_signed(cov, 0.5 * weights), rel=1e-9)
    assert found.kind == "exact"
    assert signed(model, ONE).value >= 1.0  # who knows all others sees the target alone
    assert signed(model, ONE).value <= regression(model, ONE).value
    assert any("clipping" in text for text in found.certificate.assumptions)


def test_signs_of_the_sum_attain_the_regression_cost():
    """Why regression is exact: some signs turn the l1 norm into a plain sum."""
    cov = random_covariance(np.random.default_rng(4), 5)
    model = unit(cov)
    best = max(
        signed(model, ONE, weights=np.array(signs)).value
        for signs in itertools.product([1.0, -1.0], repeat=5)
    )
    assert best == pytest.approx(regression(model, ONE).value, rel=1e-9)


def test_sixteen_records_beat_a_loop_of_solves():
    """Every adversary of a block of 16: at least 50 times faster than solving for each."""
    cov = random_covariance(np.random.default_rng(5), 16)
    model = unit(cov)
    regression(model, ONE)  # compiled
    fast = min(_seconds(lambda: regression(model, ONE)) for _ in range(3))
    some = list(itertools.islice(adversaries(16, 0), 300))
    slow = _seconds(lambda: [cost(cov, 0, known, np.ones(16)) for known in some])
    assert slow / len(some) * 16 * 2**15 > 50 * fast


def _seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def test_large_blocks_are_refused():
    with pytest.raises(NotApplicableError, match="at most 20 records"):
        regression(GaussianRecords.equicorrelated(21, 0.1, secret_range=(0, 1)), ONE)


def test_ill_conditioned_values_are_never_too_small():
    """Nearly equal records: exact rational arithmetic says what the cost is."""
    for gap in (1e-3, 1e-6, 1e-9):
        rho = 1.0 - gap
        found = regression(unit([[1, rho, 0.5], [rho, 1, 0.5], [0.5, 0.5, 1]]), ONE)
        given_third = (rho - 0.25) / 0.75
        truth = max(1 + rho + 0.5, 1 + given_third, 1 + 1.0)
        assert truth <= found.value <= truth * (1 + 1e-3)


# -- the precision -----------------------------------------------------------------------------


@pytest.mark.parametrize(("phi", "value"), [(0.3, 1.807), (0.6, 3.136), (0.9, 5.149)])
def test_autoregression_vectors(phi, value):
    for sign in (1, -1):
        model = GaussianRecords.ar1(6, sign * phi, secret_range=(0, 1))
        exact = regression(model, ONE).value
        assert exact == pytest.approx(value, abs=5e-4)
        assert positive(model, ONE).value == pytest.approx(exact, rel=1e-9)
        assert comparison(model, ONE).value == pytest.approx(exact, rel=1e-9)
        dense = unit(model.cov)
        assert positive(dense, ONE).value == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize(("rho", "value"), [(0.15, 1.75), (0.5, 3.5)])
def test_equicorrelated_vectors(rho, value):
    model = GaussianRecords.equicorrelated(6, rho, secret_range=(0, 1))
    for bound in (regression, positive, comparison):
        assert bound(model, ONE).value == pytest.approx(value, rel=1e-9)
    if rho < 0.25:
        assert lange(model, ONE).value == pytest.approx(4.375, rel=1e-9)
        assert sharp(model, ONE).value == pytest.approx(1.75, rel=1e-9)
    else:
        with pytest.raises(NotApplicableError, match=r"less than 1/\(n-2\) = 0.25"):
            lange(model, ONE)


def test_negative_correlations_are_frustrated():
    model = GaussianRecords.equicorrelated(3, -0.3, secret_range=(0, 1))
    with pytest.raises(NotApplicableError, match="no flip of signs"):
        positive(model, ONE)
    assert regression(model, ONE).value <= comparison(model, ONE).value


def test_comparison_says_when_dependence_is_too_strong():
    hopeless = unit([[1, 0.9, 0.22], [0.9, 1, -0.22], [0.22, -0.22, 1]])
    with pytest.raises(NotApplicableError, match=r"comparison matrix .* not positive definite"):
        comparison(hopeless, ONE)


@pytest.mark.parametrize("seed", range(25))
def test_no_adversary_exceeds_a_bound(seed):
    """regression <= comparison, and regression <= sharp <= lange, wherever they apply."""
    rng = np.random.default_rng(200 + seed)
    n = int(rng.integers(2, 8))
    cov = random_covariance(rng, n)
    if seed % 2:  # equal variances, weak correlations
        root = np.sqrt(cov.diagonal())
        correlation = cov / root[:, None] / root[None, :]
        rho = rng.uniform(0.1, 0.95) / max(n - 2, 1)
        off = np.abs(correlation - np.eye(n)).max()
        cov = 4 * (np.eye(n) + (correlation - np.eye(n)) * min(rho / off, 1.0))
    rates = rng.uniform(0, 2, n)
    for guarantee in (ONE, L1(rates)):
        model = unit(cov)
        exact = regression(model, guarantee).per_record
        for bound in (comparison, sharp):
            try:
                assert (exact <= bound(model, guarantee).per_record * (1 + 1e-12)).all()
            except NotApplicableError:
                assert bound is comparison or not seed % 2
        if seed % 2:
            assert sharp(model, guarantee).value <= lange(model, guarantee).value * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_positive_dependence_makes_ignorance_worst(seed):
    """M-matrix precision, signs flipped at random: K = ∅ attains the maximum for every target."""
    rng = np.random.default_rng(300 + seed)
    n = int(rng.integers(2, 8))
    off = -rng.uniform(0, 1, (n, n)) * (rng.random((n, n)) < 0.7)
    off = np.triu(off, 1) + np.triu(off, 1).T
    precision = np.diag(np.abs(off).sum(axis=1) * rng.uniform(0.8, 1.5, n) + 0.3) + off
    precision += max(0.1 - np.linalg.eigvalsh(precision)[0], 0.0) * np.eye(n)
    signs = rng.choice([-1.0, 1.0], n)
    precision *= signs[:, None] * signs[None, :]
    cov = np.linalg.inv(precision)
    rates = rng.uniform(0.1, 2, n)
    ignorant = np.abs(cov) @ rates / cov.diagonal()
    np.testing.assert_allclose(brute_force(cov, rates), ignorant, rtol=1e-8)
    for model in (
        unit(cov),
        GaussianRecords.from_precision(precision, secret_range=(0, 1)),
        GaussianRecords.from_precision(sparse.csr_array(precision), secret_range=(0, 1)),
    ):
        found = positive(model, L1(rates))
        assert found.kind == "exact"
        np.testing.assert_allclose(found.per_record, ignorant, rtol=1e-7)
        assert (found.per_record >= ignorant * (1 - 1e-13)).all()
        np.testing.assert_allclose(comparison(model, L1(rates)).per_record, ignorant, rtol=1e-7)


def test_long_autoregression_in_linear_time():
    model = GaussianRecords.ar1(100_000, 0.9, secret_range=(0, 1))
    for bound in (comparison, positive):
        found = bound(model, ONE)
        assert found.value == pytest.approx(19.0, abs=1e-6)
        assert found.value >= 19.0
        assert found.per_record[0] == pytest.approx(10.0, abs=1e-6)
    seconds = [
        min(_seconds(lambda m=m: comparison(m, ONE)) for _ in range(2))
        for m in (model, GaussianRecords.ar1(400_000, 0.9, secret_range=(0, 1)))
    ]
    assert seconds[1] < 12 * seconds[0]
    with pytest.raises(NotApplicableError, match="correlations of all pairs"):
        sharp(model, ONE)


@pytest.mark.parametrize("density", [0.002, 0.02, 0.2])
def test_sparse_inverse_diagonal(density):
    rng = np.random.default_rng(8)
    n = 150
    off = sparse.random_array((n, n), density=density, rng=rng)
    off = (off + off.T).tocsr() * 10.0 ** rng.uniform(-3, 3)
    matrix = sparse.diags_array(np.asarray(abs(off).sum(axis=1)) + rng.uniform(0.1, 1, n)) - off
    factor = factorise(matrix.tocsr())
    dense = np.linalg.inv(matrix.toarray())
    np.testing.assert_allclose(factor.inverse_diagonal, dense.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(factor.solve(np.eye(n)), dense, rtol=1e-10, atol=1e-14)
    draws = factor.sample(np.eye(n))
    np.testing.assert_allclose(draws @ draws.T, dense, rtol=1e-10, atol=1e-14)
    for broken in (matrix - 2 * sparse.eye_array(n), -matrix, matrix * 0.0):
        with pytest.raises(np.linalg.LinAlgError):
            factorise(sparse.csr_array(broken + sparse.diags_array([0.0], shape=(n, n))))


def test_balance_of_signs():
    cycle = -np.eye(4, k=1) - np.eye(4, k=-1) + 3 * np.eye(4)
    cycle[0, 3] = cycle[3, 0] = 1.0
    assert not balanced(cycle, 0.0)
    cycle[1, 2] = cycle[2, 1] = 1.0  # two positive links on a cycle cancel
    assert balanced(cycle, 0.0)
    cycle[0, 2] = cycle[2, 0] = 1e-17
    assert balanced(cycle, 1e-15)


# -- rates, ceilings, rounding -----------------------------------------------------------------


def test_secret_range_is_needed():
    for bound in (regression, positive, comparison, lange, sharp, signed):
        with pytest.raises(NotApplicableError, match="opposite ends of the clipping range"):
            bound(GaussianRecords(FAMILY), ONE)


def test_the_block_is_a_ceiling():
    """Only in DP units may the factor be replaced by the block size."""
    model = GaussianRecords([[1, 9.9], [9.9, 100]], secret_range=(0, 10))
    found = regression(model, L1(0.1, epsilon=1.0))
    assert found.value == 2.0
    assert found.kind == "upper bound"
    np.testing.assert_allclose(found.per_record, [2.0, 1.099], rtol=1e-9)
    assert regression(model, L1(0.1)).value == pytest.approx(10.9)
    assert found.metric.at(0, 1) == pytest.approx(1.09)
    assert found.metric.at(0, 1e6) == 2.0


def test_metric_keeps_only_undominated_pieces():
    pair, single = np.array([[1, 0.9], [0.9, 1]]), np.array([[1.0]])
    model = GaussianRecords.blocks([pair, single, pair], secret_range=(0, 1))
    found = regression(model, L1([1, 1, 5, 1, 1], epsilon=[1, 1, 1.5, 1, 1]))
    assert [round(slope, 6) for slope, _ in found.metric.pieces] == [5.0, 1.9]
    assert [ceiling for _, ceiling in found.metric.pieces] == [1.5, 2.0]
    assert found.value == pytest.approx(1.9)


def test_rates_by_record_and_block():
    model = GaussianRecords.blocks([FAMILY, FAMILY], secret_range=(0, 1))
    rates = np.array([1, 0, 0.5, 0, 2, 0.0])
    found = regression(model, L1(rates))
    for block in (slice(0, 3), slice(3, 6)):
        np.testing.assert_allclose(
            found.per_record[block], brute_force(FAMILY, rates[block]), rtol=1e-9
        )
    assert sharp(model, L1(rates)).per_record.tolist() == pytest.approx([1.6] * 3 + [3.2] * 3)
    with pytest.raises(InputError, match="6 records"):
        regression(model, L1([1, 2]))


def test_rounding_adds_one_step_for_every_record_read():
    model = GaussianRecords.blocks([FAMILY, [[1.0]]], secret_range=(0, 1))
    plain, rounded = regression(model, ONE), regression(model, ONE, rounding=0.01)
    np.testing.assert_allclose(
        rounded.per_record - plain.per_record, [0.03, 0.03, 0.03, 0.01], rtol=1e-9
    )
    assert rounded.kind == "upper bound"
    assert rounded.metric.rounding == pytest.approx(0.03)
    read = regression(model, L1([1, 0, 1, 1]), rounding=0.01)
    assert read.metric.rounding == pytest.approx(0.02)


def test_assumptions_name_the_conditions():
    found = regression(GaussianRecords(FAMILY, secret_range=(40, 160)), L1(0.01, epsilon=1.2))
    text = " ".join(found.certificate.assumptions)
    assert "l1-private" in text
    assert "arbitrary DP mechanism is not" in text
    assert "[40, 160]" in text
    assert found.certificate.name == "regression"


def test_signed_weights_are_checked():
    with pytest.raises(InputError, match="3 finite numbers"):
        signed(unit(FAMILY), ONE, weights=np.ones(2))


def test_what_carries_visible_rounding_is_not_called_exact():
    """Near a singular covariance the bound is raised by what rounding may have hidden."""
    for off, kind in [(0.1, "exact"), (1e-9, "upper bound")]:
        rho = 1.0 - off
        model = GaussianRecords([[1.0, rho], [rho, 1.0]], secret_range=(0.0, 1.0))
        found = regression(model, L1(1.0))
        assert found.kind == kind
        assert found.value >= 1.0 + rho
