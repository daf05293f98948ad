"""Fitting Gaussian records: real families, wide and long tables, regions, normality, bad input."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import normaltest

from corrdp.bounds.gaussian.methods import (
    comparison,
    lange,
    positive,
    regression,
    sharp,
    uncertain_regression,
)
from corrdp.calibration.calibrate import calibrate
from corrdp.errors import DataError, InputError, ModelError, NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.gaussian.fit import GaussianFit, estimate_covariance
from corrdp.models.gaussian.normality import check_normality, normality
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.queries import Sum
from corrdp.tables.source import open_table
from tests.helpers.tabular import write_csv, write_parquet
from tests.oracles.gaussians import FAMILY, ONE, brute_force, coefficients, cost, unit

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")


def fit_of(model: GaussianRecords) -> GaussianFit:
    assert model.fitted is not None
    return model.fitted


def families(rng: np.random.Generator, blocks: int) -> np.ndarray:
    return rng.multivariate_normal([10, 20, 30], FAMILY, blocks)


# -- real families -----------------------------------------------------------------------------


@needs_data
def test_galton():
    """U-3: every adversary's factor, and the published bound refused by name."""
    path = Path(str(DATA)) / "galton.csv"
    model = GaussianRecords.fit(
        path,
        columns=["father", "mother", "height"],
        siblings="independent",
        secret_range=(60, 80),
    )
    assert (model.length, len(model.shapes), model.largest_block) == (2694, 1, 3)
    (shape,) = model.shapes
    np.testing.assert_allclose(shape.deviations, [2.470, 2.307, 3.583], atol=5e-4)
    np.testing.assert_allclose(
        shape.correlation[[0, 1, 0], [2, 2, 1]], [0.27535, 0.20165, 0.07366], atol=6e-6
    )
    father, mother, child = 0, 1, 2
    published = {
        (father, ()): 1.468178, (mother, ()): 1.392056, (child, ()): 1.319689,
        (father, (mother,)): 1.379897, (mother, (father,)): 1.283215,
        (child, (mother,)): 1.187216, (child, (father,)): 1.126365,
        (father, (child,)): 1.018329, (mother, (child,)): 1.020245,
    }  # fmt: skip
    for (target, known), value in published.items():
        assert cost(shape.cov, target, known, np.ones(3)) == pytest.approx(value, abs=6e-7)
    guarantee = L1(1 / 20, epsilon=1.0)
    found = regression(model, guarantee)
    assert found.value == pytest.approx(1.468178, abs=6e-7)
    assert (found.witness.record % 3, found.witness.known) == (father, ())
    for bound in (lange, sharp):
        with pytest.raises(NotApplicableError, match=r"deviations 2\.47, 2\.307, 3\.583"):
            bound(model, guarantee)
    assert positive(model, guarantee).value == pytest.approx(1.468178, abs=6e-7)
    assert comparison(model, guarantee).value == pytest.approx(1.468178, abs=6e-7)
    sure = uncertain_regression(model, guarantee, 0.95)
    assert 1.55 < sure.value < 1.85
    text = " ".join(sure.certificate.assumptions)
    assert "0.95" in text
    assert "Bonferroni" in text
    assert "normal" in text
    assert any("rows share parents" in said for said in model.assumptions)
    assert any("release of information" in said for said in model.assumptions)


@needs_data
def test_family_iq():
    """Standard deviations differ, so the published 1.4483 is too small."""
    path = Path(str(DATA)) / "kidiq.csv"
    model = GaussianRecords.fit(path, columns=["kid_score", "mom_iq"], secret_range=(40, 160))
    np.testing.assert_allclose(model.shapes[0].deviations, [20.41, 15.00], atol=5e-3)
    assert model.shapes[0].correlation[0, 1] == pytest.approx(0.4483, abs=5e-5)
    guarantee = L1(1 / 120, epsilon=1.0)
    assert regression(model, guarantee).value == pytest.approx(1.6100, abs=5e-5)
    with pytest.raises(NotApplicableError, match=r"deviations 20\.41, 15"):
        lange(model, guarantee)


def test_synthetic_iq_in_seconds():
    """10,000 pairs, given and fitted."""
    start = time.perf_counter()
    pair = GaussianRecords.equicorrelated(2, 0.45, deviation=15, mean=100)
    model = GaussianRecords.blocks([pair] * 10_000, secret_range=(40, 160))
    guarantee = L1(1 / 120, epsilon=1.0)
    for bound in (regression, positive, comparison, sharp, lange):
        assert bound(model, guarantee).value == pytest.approx(1.45, rel=1e-9)
    values = model.sample(np.random.default_rng(0)).reshape(-1, 2)
    learned = GaussianRecords.fit(values, secret_range=(40, 160))
    assert learned.length == 20_000
    assert regression(learned, guarantee).value == pytest.approx(1.45, abs=0.03)
    assert time.perf_counter() - start < 30
    assert not normality(learned).rejected


# -- wide and long -----------------------------------------------------------------------------


def test_wide_long_parquet_and_memory_agree(tmp_path):
    values = families(np.random.default_rng(1), 60)
    names = ["a", "b", "c"]
    rows = values.tolist()
    long = [(f"g{k}", role, row[r]) for k, row in enumerate(rows) for r, role in enumerate(names)]
    shuffled = [long[k] for k in np.random.default_rng(2).permutation(len(long))]
    wide_csv = GaussianRecords.fit(write_csv(tmp_path / "w.csv", names, rows), columns=names)
    stored = write_parquet(tmp_path / "w.parquet", names, rows)
    wide_parquet = GaussianRecords.fit(open_table(stored), columns=names)
    header = ["who", "part", "x"]
    columns = {"group": "who", "role": "part", "value": "x"}
    tall = GaussianRecords.fit(write_csv(tmp_path / "l.csv", header, shuffled), **columns)
    memory = GaussianRecords.fit(values, columns=names)
    expected = np.cov(values.T)
    for model in (wide_csv, wide_parquet, tall, memory):
        assert fit_of(model).roles == ("a", "b", "c")
        assert (fit_of(model).rows, fit_of(model).complete, fit_of(model).missing) == (60, 60, 0)
        assert fit_of(model).shrinkage == 0
        np.testing.assert_allclose(model.shapes[0].cov, expected, rtol=1e-9)
        np.testing.assert_allclose(model.shapes[0].mean, values.mean(axis=0), rtol=1e-9)
    assert wide_csv.digest == wide_parquet.digest
    assert fit_of(wide_csv).columns == ("a", "b", "c")
    assert fit_of(tall).group == "who"
    assert fit_of(memory).columns == ()


def test_expressions_and_own_missing_texts(tmp_path):
    values = families(np.random.default_rng(3), 50)
    rows = [[*row[:2], "none" if k == 7 else row[2]] for k, row in enumerate(values.tolist())]
    path = write_csv(tmp_path / "w.csv", ["a", "b", "c"], rows)
    model = GaussianRecords.fit(path, columns=["a * 2", "c"], missing=["none"])
    assert fit_of(model).roles == ("a * 2", "c")
    assert fit_of(model).missing == 1
    assert "none" in fit_of(model).missing_text
    doubled = model.shapes[-1].cov[0, 0]
    assert doubled == pytest.approx(4 * values[:, 0].var(ddof=1), rel=1e-9)


def test_blocks_of_different_make_up_share_a_covariance():
    values = families(np.random.default_rng(4), 400)
    values[::4, 2] = np.nan  # couples
    values[1::8, :2] = np.nan  # children alone
    values[5] = np.nan  # nobody
    model = GaussianRecords.fit(values, secret_range=(0, 1))
    fit = fit_of(model)
    gone = np.isnan(values)
    assert fit.rows == 399
    assert fit.complete == (~gone.any(axis=1)).sum()
    assert model.length == (~gone).sum()
    sizes = {roles: model.shapes[k].size for k, roles in enumerate(fit.shape_roles)}
    assert sizes == {(0, 1, 2): 3, (0, 1): 2, (2,): 1}
    whole = model.shapes[fit.shape_roles.index((0, 1, 2))].cov
    couple = model.shapes[fit.shape_roles.index((0, 1))].cov
    np.testing.assert_array_equal(couple, whole[:2, :2])
    present = ~gone[:, 0]
    assert couple[0, 0] == pytest.approx(values[present, 0].var(ddof=1), rel=1e-9)
    found = regression(model, ONE)
    records, _ = model.block(0)
    np.testing.assert_allclose(
        found.per_record[records], brute_force(couple, np.ones(2)), rtol=1e-9
    )
    assert any("different make-up" in said for said in model.assumptions)
    sure = uncertain_regression(model, ONE, 0.9)
    assert (sure.per_record >= found.per_record * 0.9).all()
    assert sure.value > found.value


def test_one_column_of_a_wide_table_is_read_alone(tmp_path):
    values = families(np.random.default_rng(5), 40)
    values[3, 0] = np.nan
    rows = [["NA" if np.isnan(x) else x for x in row] for row in values.tolist()]
    path = write_csv(tmp_path / "w.csv", ["a", "b", "c"], rows)
    model = GaussianRecords.fit(path, columns=["a", "b", "c"])
    assert model.reads(Sum(0, 50)) is None
    pattern = model.reads(Sum(0, 50, column="a"))
    assert pattern.sum() == 39
    assert pattern[:11].tolist() == [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0]


# -- the estimate ------------------------------------------------------------------------------


def test_small_samples_are_shrunk_towards_independence():
    """Against Schafer and Strimmer's formula, written out."""
    values = families(np.random.default_rng(6), 12)
    model = GaussianRecords.fit(values)
    unit_values = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    n, above, below = 12, 0.0, 0.0
    for j in range(3):
        for k in range(3):
            if j != k:
                w = unit_values[:, j] * unit_values[:, k]
                above += n / (n - 1) ** 3 * ((w - w.mean()) ** 2).sum()
                below += (n / (n - 1) * w.mean()) ** 2
    expected = min(above / below, 1.0)
    assert fit_of(model).shrinkage == pytest.approx(expected, rel=1e-9)
    plain = np.cov(values.T)
    shrunk = plain * (1 - expected)
    np.fill_diagonal(shrunk, plain.diagonal())
    np.testing.assert_allclose(
        GaussianRecords.blocks([shrunk]).cov, _one_block(model), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(fit_of(model).covariance, plain, rtol=1e-12)
    assert any("towards independence" in said for said in model.assumptions)


def _one_block(model: GaussianRecords) -> np.ndarray:
    (shape,) = model.shapes
    return shape.cov


def test_fewer_blocks_than_roles_still_make_a_law():
    values = np.random.default_rng(7).standard_normal((4, 6))
    model = GaussianRecords.fit(values, secret_range=(0, 1))
    assert fit_of(model).shrinkage > 0
    assert regression(model, ONE).value >= 1
    with pytest.raises(NotApplicableError, match=r"4 complete blocks .* at least 7"):
        uncertain_regression(model, ONE, 0.95)


def test_pairwise_estimates_are_made_positive_definite():
    """Three pairs of roles, each seen in other blocks, with correlations no law can have."""
    rng = np.random.default_rng(8)
    values = np.full((600, 3), np.nan)
    for part, (j, k, rho) in enumerate(((0, 1, 0.95), (1, 2, 0.95), (0, 2, -0.9))):
        values[200 * part : 200 * (part + 1), [j, k]] = rng.multivariate_normal(
            [0, 0], [[1, rho], [rho, 1]], 200
        )
    cov, shrinkage = estimate_covariance(values, "abc")
    assert shrinkage > 0.1
    assert np.linalg.eigvalsh(cov)[0] > 0
    model = GaussianRecords.fit(values)
    assert fit_of(model).covariance is None
    assert fit_of(model).complete == 0


def test_roles_that_never_meet_need_no_covariance():
    rng = np.random.default_rng(9)
    values = np.full((200, 3), np.nan)
    values[:100, :2] = rng.standard_normal((100, 2))
    values[100:, 1:] = rng.standard_normal((100, 2))
    model = GaussianRecords.fit(values)
    assert model.largest_block == 2


def test_fits_go_through_files():
    values = families(np.random.default_rng(10), 80)
    values[3, 1] = np.nan
    model = GaussianRecords.fit(values, secret_range=(0, 60))
    data = json.loads(json.dumps(model.to_dict()))
    read = GaussianRecords.from_fields(data)
    assert read.digest == model.digest
    assert fit_of(read).to_dict() == fit_of(model).to_dict()
    assert read.assumptions == model.assumptions
    assert uncertain_regression(read, ONE, 0.9).value == uncertain_regression(model, ONE, 0.9).value
    with pytest.raises(ModelError, match=r"lacks \['rows'\]"):
        GaussianFit.from_dict({k: v for k, v in data["fit"].items() if k != "rows"})
    with pytest.raises(ModelError, match="for each role"):
        GaussianFit.from_dict({**data["fit"], "covariance": [[1.0]]})


# -- the region --------------------------------------------------------------------------------


def test_region_against_the_textbook():
    """One coefficient with one known record: the interval of a regression with intercept."""
    from scipy import stats

    values = families(np.random.default_rng(11), 40)
    model = GaussianRecords.fit(values, secret_range=(0, 1))
    design = np.column_stack([np.ones(40), values[:, 0], values[:, 1]])
    fitted, (rss,), *_ = np.linalg.lstsq(design, values[:, 2], rcond=None)
    error = np.sqrt(rss / 37 * np.linalg.inv(design.T @ design)[1, 1])
    number = 3 * 2 * 2
    half = stats.t.isf(0.05 / (2 * number), 37) * error
    rates = L1(np.tile([1e-9, 0, 1.0], 40))  # nothing but the coefficient of record 2 on record 0
    known = abs(fitted[1]) + half
    free = uncertain_regression(model, rates, 0.95).per_record[0]
    assert free >= known
    (shape,) = model.shapes
    b = coefficients(shape.cov, 0, (1,))[1]
    assert b[0] == pytest.approx(fitted[1], rel=1e-9)
    alone = values[:, 2] - values[:, 2].mean()
    one = values[:, 0] - values[:, 0].mean()
    slope = one @ alone / (one @ one)
    spread = np.sqrt(((alone - slope * one) ** 2).sum() / 38 / (one @ one))
    ignorant = abs(slope) + stats.t.isf(0.05 / (2 * number), 38) * spread
    assert free == pytest.approx(max(known, ignorant), rel=1e-6)


def test_region_covers_the_truth():
    """Joint level .8: the true cost of every record is below the bound at least that often."""
    rng = np.random.default_rng(12)
    truth = brute_force(FAMILY, np.ones(3))
    factor = np.linalg.cholesky(FAMILY)
    inside = 0
    runs = 400
    for _ in range(runs):
        values = rng.standard_normal((15, 3)) @ factor.T
        model = GaussianRecords.fit(values, secret_range=(0, 1))
        found = uncertain_regression(model, ONE, 0.8)
        inside += (found.per_record[:3] >= truth).all()
    assert inside / runs >= 0.8


@pytest.mark.parametrize(("blocks", "by_estimate"), [(8, 0.33), (20, 0.25), (60, 0.67)])
def test_calibrating_covers_the_truth_by_default(blocks, by_estimate):
    """Few families: the default keeps its target on the true law, the bare estimate does not."""
    rng = np.random.default_rng([6, blocks])
    truth = brute_force(FAMILY, np.ones(3)).max()  # leakage over epsilon, for secrets in (0, 1)
    factor = np.linalg.cholesky(FAMILY)
    runs, kept, bare = 60, 0, 0
    for _ in range(runs):
        values = rng.standard_normal((blocks, 3)) @ factor.T
        model = GaussianRecords.fit(values, secret_range=(0, 1))
        kept += calibrate(model, 1.0, query=Sum(0, 1)).epsilon * truth <= 1 + 1e-9
        unsure = calibrate(model, 1.0, query=Sum(0, 1), confidence=None)
        bare += unsure.epsilon * truth <= 1 + 1e-9
    assert kept >= 0.95 * runs
    assert bare / runs == pytest.approx(by_estimate, abs=0.2)  # three standard errors


@pytest.mark.slow
def test_region_covers_every_coefficient():
    """The statement itself: all 12 intervals at once, few blocks, level .8."""
    from scipy import stats

    rng = np.random.default_rng(13)
    factor = np.linalg.cholesky(FAMILY)
    rows, inside, runs = 8, 0, 4000
    adversaries = [(i, known) for i in range(3) for known in ((), *(((k,)) for k in range(3)))]
    asked = [(i, known) for i, known in adversaries if i not in known]
    for _ in range(runs):
        cov = np.cov((rng.standard_normal((rows, 3)) @ factor.T).T)
        held = True
        for i, known in asked:
            unknown, true = coefficients(FAMILY, i, known)
            _, seen = coefficients(cov, i, known)
            given = [*known, i]
            back = np.linalg.inv(cov[np.ix_(given, given)])
            left = (
                cov[np.ix_(unknown, unknown)]
                - cov[np.ix_(unknown, given)] @ back @ cov[np.ix_(given, unknown)]
            )
            degrees = rows - 1 - len(known) - 1
            half = stats.t.isf(0.2 / 24, degrees) / np.sqrt(degrees)
            held &= bool(
                (np.abs(seen - true) <= half * np.sqrt(left.diagonal() * back[-1, -1])).all()
            )
        inside += held
    assert 0.8 <= inside / runs < 0.99


def test_region_shrinks_to_the_estimate():
    values = families(np.random.default_rng(14), 50_000)
    model = GaussianRecords.fit(values, secret_range=(0, 1))
    exact = regression(model, ONE).value
    assert exact < uncertain_regression(model, ONE, 0.95).value < exact + 0.05
    assert (
        uncertain_regression(model, ONE, 0.5).value < uncertain_regression(model, ONE, 0.99).value
    )


def test_region_needs_a_fit():
    with pytest.raises(InputError, match="fitted"):
        uncertain_regression(unit(FAMILY), ONE, 0.95)
    model = GaussianRecords.fit(families(np.random.default_rng(0), 30), secret_range=(0, 1))
    with pytest.raises(InputError, match="confidence"):
        uncertain_regression(model, ONE, 1.0)


# -- normality ---------------------------------------------------------------------------------


def test_mardia_against_its_definition():
    values = np.random.default_rng(15).gamma(3.0, size=(50, 2))
    found = check_normality(values, ("a", "b"))
    centred = values - values.mean(axis=0)
    inner = centred @ np.linalg.inv(np.cov(values.T, ddof=0)) @ centred.T
    assert found.skewness == pytest.approx((inner**3).sum() / 50**2 * 50 / 6, rel=1e-9)
    fourth = (inner.diagonal() ** 2).mean()
    assert found.kurtosis == pytest.approx((fourth - 8) / np.sqrt(8 * 8 / 50), rel=1e-9)


def test_each_role_is_tested_as_scipy_does():
    rng = np.random.default_rng(14)
    for n, heavy in ((20, 1e6), (33, 1.0), (4000, 1e-3)):
        values = np.stack([rng.normal(5.0, heavy, n), rng.exponential(heavy, n)], axis=1)
        for (role, found), column in zip(
            check_normality(values, ("a", "b")).roles, values.T, strict=True
        ):
            expected = -normaltest(column).statistic / 2 / np.log(10)
            assert found == pytest.approx(expected, rel=1e-9), role


def test_normality_in_words():
    rng = np.random.default_rng(16)
    normal = check_normality(families(rng, 300), ("a", "b", "c"))
    assert normal.words.startswith("joint normality is not rejected (Mardia's tests on 300")
    skewed = families(rng, 300)
    skewed[:, 1] = np.exp(skewed[:, 1] / 4)
    told = check_normality(skewed, ("a", "b", "c"))
    assert told.rejected
    assert told.not_normal == ("b",)
    assert "use the general bound" in told.words
    assert "fewer than 20" in check_normality(skewed[:10], ("a", "b", "c")).words


def test_false_alarms_are_rare():
    rng = np.random.default_rng(17)
    wrong = sum(check_normality(families(rng, 200), ("a", "b", "c")).rejected for _ in range(300))
    assert wrong <= 12  # 1 % nominal, asymptotic


# -- bad input ---------------------------------------------------------------------------------


def test_a_role_may_come_once_in_a_group(tmp_path):
    rows = [("x", "child", 1.0), ("x", "mother", 2.0), ("y", "child", 3.0), ("y", "child", 4.0)]
    path = write_csv(tmp_path / "l.csv", ["who", "part", "x"], rows)
    with pytest.raises(DataError, match="have the same group and role"):
        GaussianRecords.fit(path, group="who", role="part", value="x")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", "NA", 1.0), ("a", "p", 2.0)], "1 rows have no role"),
        ([("NA", "p", 1.0), ("a", "p", 2.0)], "1 rows have no group"),
        ([("a", "p", "tall"), ("a", "q", "short")], "holds string values, not numbers"),
        ([("a", "p", 1.0), ("b", "p", 1.0), ("c", "p", 1.0)], "'p' is the same in every block"),
        ([("a", "p", 1.0), ("b", "p", 2.0)], "'p' has 2 values"),
        ([("a", "p", "NA"), ("b", "p", "NA")], "nothing to learn|not numbers"),
    ],
)
def test_bad_long_tables(tmp_path, rows, said):
    path = write_csv(tmp_path / "l.csv", ["who", "part", "x"], rows)
    with pytest.raises(DataError, match=said):
        GaussianRecords.fit(path, group="who", role="part", value="x")


def test_bad_arguments(tmp_path):
    path = write_csv(tmp_path / "w.csv", ["a", "b"], families(np.random.default_rng(0), 9)[:, :2])
    for arguments, said in [
        ({}, "either columns"),
        ({"group": "a"}, "all of group="),
        ({"columns": ["a"], "group": "a"}, "no value of a person"),
        ({"columns": ["a"], "role": "b"}, "either columns"),
        ({"columns": ["a", "a"]}, "each role once"),
        ({"columns": []}, "each role once"),
        ({"columns": ["a", "z"]}, "no column 'z'"),
    ]:
        with pytest.raises(DataError, match=said):
            GaussianRecords.fit(path, **arguments)
    with pytest.raises(DataError, match="open already"):
        GaussianRecords.fit(open_table(path), columns=["a"], missing=["x"])
    with pytest.raises(ModelError, match="secret_range"):
        GaussianRecords.fit(path, columns=["a", "b"], secret_range=(3, 1))


@pytest.mark.parametrize(
    ("data", "arguments", "said"),
    [
        ([1.0, 2.0], {}, "rows of blocks"),
        ([["a", "b"]], {}, "a table, or rows of blocks"),
        ([[1.0, 2.0]] * 5, {"columns": ["a"]}, "1 columns named"),
        ([[1.0, np.inf]] * 5, {}, "'1' is infinite in block 0"),
        ([[np.nan, np.nan]], {}, "nothing to learn"),
        ([[1.0, 2.0]] * 5, {}, "never varies"),
        ([[1.0, 2.0], [2.0, 1.0], [3.0, np.nan], [np.nan, 4.0]], {}, "only 2 blocks have both"),
        ([[1.0, 2.0]] * 5, {"group": "x"}, "are for tables"),
    ],
)
def test_bad_data_in_memory(data, arguments, said):
    with pytest.raises(DataError, match=said):
        GaussianRecords.fit(data, **arguments)
