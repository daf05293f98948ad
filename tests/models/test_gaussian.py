"""Gaussian records: blocks, the law, files, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse

from corrdp.errors import InputError, ModelError
from corrdp.models.gaussian.factor import bandwidth, factorise
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.gaussian.shapes import SparseShape
from tests.oracles.gaussians import FAMILY, random_covariance


def again(model: GaussianRecords) -> GaussianRecords:
    """Through JSON and back."""
    data = json.loads(json.dumps(model.to_dict()))
    body = {k: v for k, v in data.items() if k not in ("corrdp", "model", "digest")}
    return GaussianRecords.from_fields(body)


# -- blocks ------------------------------------------------------------------------------------


def test_dense_covariance_falls_apart_into_blocks():
    cov = np.zeros((5, 5))
    cov[np.ix_([0, 3], [0, 3])] = [[2, 1], [1, 2]]
    cov[np.ix_([1, 4], [1, 4])] = [[2, 1], [1, 2]]
    cov[2, 2] = 7
    model = GaussianRecords(cov)
    assert model.block_of_record.tolist() == [0, 1, 2, 0, 1]
    assert len(model.shapes) == 2
    assert model.members(0).tolist() == [[0, 3], [1, 4]]
    assert model.largest_block == 2
    records, shape = model.block(4)
    assert records.tolist() == [1, 4]
    np.testing.assert_array_equal(shape.cov, [[2, 1], [1, 2]])
    np.testing.assert_array_equal(model.cov, cov)


def test_components_follow_chains_of_covariances():
    """Records 0 and 2 are uncorrelated but both depend on record 1."""
    model = GaussianRecords([[1, 0.4, 0], [0.4, 1, 0.4], [0, 0.4, 1]])
    assert model.block_of_record.tolist() == [0, 0, 0]


def test_means_tell_blocks_apart_but_not_their_covariance():
    model = GaussianRecords(np.eye(3), mean=[1, 2, 1])
    assert len(model.shapes) == 2
    assert model.mean.tolist() == [1, 2, 1]


def test_blocks_keep_equal_parts_once():
    pair = GaussianRecords([[1, 0.5], [0.5, 1]], mean=3)
    model = GaussianRecords.blocks([pair, FAMILY, pair, [[1, 0.5], [0.5, 1]]])
    assert len(model.shapes) == 3  # the last has another mean
    assert model.length == 9
    assert model.block_of_record.tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert model.mean[[0, 5, 7]].tolist() == [3, 3, 0]


def test_blocks_take_over_a_common_secret_range():
    pair = GaussianRecords([[1, 0.5], [0.5, 1]], secret_range=(0, 1))
    assert GaussianRecords.blocks([pair, pair]).secret_range == (0, 1)
    other = GaussianRecords([[1, 0.5], [0.5, 1]], secret_range=(0, 2))
    with pytest.raises(ModelError, match="different secret ranges"):
        GaussianRecords.blocks([pair, other])
    assert GaussianRecords.blocks([pair, other], secret_range=(0, 3)).secret_range == (0, 3)


def test_a_million_records_in_families():
    model = GaussianRecords.blocks([GaussianRecords(FAMILY)] * 333_334)
    assert model.length == 1_000_002
    assert len(model.shapes) == 1
    assert len(json.dumps(model.to_dict())) < 1000
    assert again(model).digest == model.digest


# -- the law -----------------------------------------------------------------------------------


def test_conditional_law_vector():
    """N-1."""
    model = GaussianRecords(FAMILY)
    weights = np.linalg.solve(FAMILY[1:, 1:], FAMILY[1:, 0])
    np.testing.assert_allclose(weights, [0.197917, 0.260417], atol=5e-7)
    mean, cov = model.condition({1: 1.0, 2: 2.0})
    np.testing.assert_allclose(mean, [0.718750], atol=5e-7)
    np.testing.assert_allclose(cov, [[3.489583]], atol=5e-7)


def test_conditioning_leaves_other_blocks_alone():
    model = GaussianRecords.blocks([FAMILY, [[2.0]]])
    mean, cov = model.condition({0: 2.0})
    assert mean[-1] == 0
    assert cov[-1].tolist() == [0, 0, 2]


@pytest.mark.parametrize("phi", [0.5, -0.8, 0.0])
def test_autoregression(phi):
    model = GaussianRecords.ar1(6, phi, deviation=3.0, mean=2.0)
    steps = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    np.testing.assert_allclose(model.cov, 9.0 * float(phi) ** steps, atol=1e-12)
    assert model.mean.tolist() == [2.0] * 6
    assert model.largest_block == (1 if phi == 0 else 6)


def test_equicorrelated():
    model = GaussianRecords.equicorrelated(4, -0.3, deviation=2.0)
    np.testing.assert_allclose(model.cov, 4 * (1.3 * np.eye(4) - 0.3))
    assert GaussianRecords.equicorrelated(1, 0.9).length == 1


def test_precision_dense_and_sparse_agree():
    rng = np.random.default_rng(1)
    precision = random_covariance(rng, 5)
    precision[0, 4] = precision[4, 0] = 0
    precision += 5 * np.eye(5)
    dense = GaussianRecords.from_precision(precision)
    thin = GaussianRecords.from_precision(sparse.coo_matrix(precision))
    assert dense.digest == thin.digest
    np.testing.assert_allclose(dense.cov, np.linalg.inv(precision), rtol=1e-10)


def test_sparse_precision_of_many_blocks():
    part = sparse.csr_array([[2.0, -1.0], [-1.0, 2.0]])
    model = GaussianRecords.from_precision(sparse.block_diag([part] * 5_000))
    assert len(model.shapes) == 1
    assert model.length == 10_000
    shuffled = np.random.default_rng(0).permutation(8)
    mixed = sparse.block_diag([part] * 4).tocsr()[shuffled][:, shuffled]
    again_mixed = GaussianRecords.from_precision(mixed)
    np.testing.assert_allclose(again_mixed.cov, np.linalg.inv(mixed.toarray()), atol=1e-12)


def test_a_long_autoregression_is_never_written_out():
    model = GaussianRecords.ar1(100_000, 0.9)
    assert isinstance(model.shapes[0], SparseShape)
    assert len(json.dumps(model.to_dict())) < 1000
    with pytest.raises(ModelError, match="not written out"):
        _ = model.cov
    with pytest.raises(ModelError, match="not written out"):
        _ = model.shapes[0].cov


@pytest.mark.parametrize(
    "model",
    [
        GaussianRecords(FAMILY, mean=[1, 2, 3]),
        GaussianRecords.ar1(3, 0.7, deviation=2.0, mean=-1.0),
        GaussianRecords([[1, 0, 0.5], [0, 1, 0], [0.5, 0, 1]]),
    ],
)
def test_samples_follow_the_law(model):
    rng = np.random.default_rng(7)
    draws = np.array([model.sample(rng) for _ in range(5_000)])
    assert np.abs(draws.mean(axis=0) - model.mean).max() < 0.15
    assert np.abs(np.cov(draws.T) - model.cov).max() < 0.4


def test_long_samples_follow_the_law():
    path = GaussianRecords.ar1(100_000, 0.9).sample(np.random.default_rng(3))
    assert np.corrcoef(path[1:], path[:-1])[0, 1] == pytest.approx(0.9, abs=0.01)
    assert path.std() == pytest.approx(1.0, abs=0.05)


def test_a_field_is_reordered():
    """A grid of 30 x 200 has bandwidth near 30 however its records are numbered."""
    line = [
        sparse.diags_array([-1.0, 4.5, -1.0], offsets=[-1, 0, 1], shape=(k, k)) for k in (30, 200)
    ]
    grid = sparse.kron(line[0], sparse.eye_array(200)) + sparse.kron(
        sparse.eye_array(30), line[1] - 4.5 * sparse.eye_array(200)
    )
    order = np.random.default_rng(2).permutation(6000)
    mixed = grid.tocsr()[order][:, order]
    assert bandwidth(mixed) <= 60
    assert factorise(mixed).lower.nnz < 6000 * 30


# -- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        GaussianRecords(FAMILY, mean=[1, 2, 3], secret_range=(-1, 4)),
        GaussianRecords([[1, 0, 0.5], [0, 1, 0], [0.5, 0, 1]]),
        GaussianRecords.ar1(40, -0.4),
        GaussianRecords.blocks([FAMILY, [[1.0]], FAMILY]),
        GaussianRecords.from_precision([[2, 0, -1], [0, 3, 0.5], [-1, 0.5, 2]]),
    ],
)
def test_files_round_trip(model):
    read = again(model)
    assert read.digest == model.digest
    assert read.to_dict() == model.to_dict()
    np.testing.assert_array_equal(read.block_of_record, model.block_of_record)
    np.testing.assert_allclose(read.cov, model.cov)
    assert read.secret_range == model.secret_range


def test_broken_files_are_refused():
    body = GaussianRecords.blocks([FAMILY, [[1.0]]]).to_dict()
    with pytest.raises(ModelError, match="at least one of the shapes"):
        GaussianRecords.from_fields({**body, "blocks": [[2, 1]]})
    with pytest.raises(ModelError, match="as often as it has records"):
        GaussianRecords.from_fields({**body, "order": [0, 0, 1, 1]})


def test_words():
    assert repr(GaussianRecords(FAMILY)) == "<Gaussian records: 3 in one block>"
    several = GaussianRecords.blocks([FAMILY, [[1.0]]], secret_range=(0, 2.5))
    assert several.describe() == (
        "Gaussian records: 4 in 2 blocks of at most 3, secret range [0, 2.5]"
    )
    assert several.assumptions == (
        "the records are jointly normal with this covariance",
        "different blocks of records are independent",
    )
    with pytest.raises(InputError, match="not fitted"):
        several.diagnose()


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cov", "said"),
    [
        ([[1, 0.5], [0.4, 1]], r"not symmetric: \[0, 1\] = 0.5 and \[1, 0\] = 0.4 differ by 0.1"),
        ([[1, 2], [2, 1]], "not positive definite .* smallest eigenvalue is -1"),
        ([[1, 1], [1, 1]], "not positive definite|numerically singular"),
        ([[1, 1 - 1e-14], [1 - 1e-14, 1]], "numerically singular"),
        ([[1, 0], [0, 0]], r"cov\[1, 1\] = 0: every variance must be positive .*never varies"),
        ([[1, 0], [0, -2]], r"cov\[1, 1\] = -2"),
        ([[1, np.nan], [np.nan, 1]], r"cov\[0, 1\] = nan"),
        ([[1, 2, 3], [4, 5, 6]], r"square matrix, got shape \(2, 3\)"),
        ([1, 2], "square matrix"),
        ([], "square matrix"),
        ([["a", "b"], ["c", "d"]], "must be numbers"),
    ],
)
def test_bad_covariances(cov, said):
    with pytest.raises(ModelError, match=said):
        GaussianRecords(cov)


def test_errors_name_the_records_of_the_block():
    cov = np.eye(5)
    cov[1, 4] = cov[4, 1] = 1.5
    with pytest.raises(ModelError, match="among records 1, 4"):
        GaussianRecords(cov)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((1, 1), "lower < upper"),
        ((2, 1), "lower < upper"),
        ((0, np.inf), "finite"),
        ((0, np.nan), "finite"),
        ((0, 1, 2), "pair"),
        (5, "pair"),
        ("ab", "pair"),
    ],
)
def test_bad_secret_ranges(given, said):
    with pytest.raises(ModelError, match=said):
        GaussianRecords([[1.0]], secret_range=given)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: GaussianRecords.equicorrelated(3, 1.0), "between -0.5 and 1"),
        (lambda: GaussianRecords.equicorrelated(3, -0.5), "between -0.5 and 1"),
        (lambda: GaussianRecords.equicorrelated(3, np.nan), "rho must be a finite number"),
        (lambda: GaussianRecords.equicorrelated(0, 0.1), "whole number >= 1"),
        (lambda: GaussianRecords.equicorrelated(2, 0.1, deviation=0), "deviation"),
        (lambda: GaussianRecords.equicorrelated(10**6, 0.1), "not written out"),
        (lambda: GaussianRecords.ar1(5, 1.0), "phi=1.0"),
        (lambda: GaussianRecords.ar1(None, 0.5), "how many records"),
        (lambda: GaussianRecords.from_precision([[1, 2], [2, 1]]), "not positive definite"),
        (lambda: GaussianRecords.from_precision([[1, 2], [0, 1]]), "not symmetric"),
        (
            lambda: GaussianRecords.from_precision(sparse.csr_array([[1.0, 0.2], [0.1, 1.0]])),
            r"\[0, 1\] = 0.2 and \[1, 0\] = 0.1",
        ),
        (lambda: GaussianRecords.from_precision(sparse.csr_array((2, 3))), "square"),
        (lambda: GaussianRecords.from_precision(sparse.csr_array([[0.0]])), "diagonal entry"),
        (lambda: GaussianRecords.from_precision(sparse.csr_array([[np.inf]])), "NaN or inf"),
        (lambda: GaussianRecords.blocks([]), "empty"),
        (lambda: GaussianRecords(FAMILY, mean=[1, 2]), "one number or 3"),
        (lambda: GaussianRecords(FAMILY, mean=np.nan), "NaN"),
        (lambda: GaussianRecords(FAMILY, mean="x"), "numbers"),
    ],
)
def test_bad_arguments(build, said):
    with pytest.raises(ModelError, match=said):
        build()


def test_bad_conditions():
    model = GaussianRecords(FAMILY)
    with pytest.raises(
        InputError, match=r"a known record must be a whole number >= 0 and <= 2, got 3"
    ):
        model.condition({3: 1.0})
    with pytest.raises(InputError, match="finite"):
        model.condition({0: np.nan})
    with pytest.raises(InputError, match="record 9"):
        model.block(9)
