"""Fields that forget: no adversary exceeds the bound by heights, on small fields and large ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import corrdp as cdp
from corrdp.bounds.gaussian import forgetting as module
from corrdp.bounds.gaussian.forgetting import (
    Heights,
    coordinates,
    height_costs,
    heights,
    remainder,
)
from corrdp.bounds.gaussian.methods import comparison, forgetting, positive, regression
from corrdp.errors import NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords
from tests.oracles.gaussians import ONE, brute_force, cost


def random_precision(rng: np.random.Generator, n: int) -> np.ndarray:
    """Sparse, connected, of any signs, from well conditioned to nearly singular."""
    off = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.3)
    off += np.diag(rng.uniform(0.3, 1, n - 1) * rng.choice([-1, 1], n - 1), 1)
    off = np.triu(off, 1) + np.triu(off, 1).T
    least = np.linalg.eigvalsh(off)[0]
    scale = 10.0 ** rng.uniform(-1, 1, n)
    return (off + (10.0 ** rng.uniform(-3, 1) - least) * np.eye(n)) * scale * scale[:, None]


def smooth_grid(rows: int, columns: int, kappa: float) -> sparse.csr_array:
    """The precision ``(kappa^2 - Laplacian)^2`` of a smooth field."""
    lines = [
        sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(k, k))
        for k in (rows, columns)
    ]
    laplacian = sparse.kron(lines[0], sparse.eye_array(columns)) + sparse.kron(
        sparse.eye_array(rows), lines[1]
    )
    root = laplacian + kappa**2 * sparse.eye_array(rows * columns)
    return sparse.csr_array(root @ root)


@pytest.mark.parametrize("seed", range(20))
def test_no_adversary_exceeds_the_bound(seed):
    """Against the enumeration of all adversaries, with heights found and heights made up."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    precision = random_precision(rng, n)
    (shape,) = GaussianRecords.from_precision(sparse.csr_array(precision)).shapes
    rates = np.stack([np.ones(n), rng.uniform(0, 2, n) * (rng.random(n) < 0.8)])
    truth = np.stack([brute_force(shape.cov, row) for row in rates])
    assert (height_costs(shape, rates, heights(shape)) >= truth * (1 - 1e-9)).all()
    unit = module._unit(shape.precision)
    steps = rng.integers(0, 4, (2, n))
    for slope in (0.0, 0.01, 0.1, 0.3):
        for share in (0.2, 0.9, 0.999):
            least = np.linalg.eigvalsh(sparse.csr_array(unit).toarray())[0]
            deltas = [remainder(unit, slope * row, share * least) for row in steps]
            if min(deltas) > 0:
                made = Heights(steps, np.full(2, slope), np.array(deltas))
                assert (height_costs(shape, rates, made) >= truth * (1 - 1e-9)).all()


def test_what_is_proved_is_the_inequality_of_the_theorem():
    """sum_j D_j e^(2 phi_j - 2 phi_i) b_j^2 <= (1/delta - 1) D_i, term by term, for every K."""
    rng = np.random.default_rng(5)
    precision = random_precision(rng, 6)
    (shape,) = GaussianRecords.from_precision(sparse.csr_array(precision)).shapes
    unit, diagonal = module._unit(shape.precision), precision.diagonal()
    phi = rng.uniform(0, 0.2, 6)
    matrix = sparse.csr_array(unit).toarray() * np.cosh(np.subtract.outer(phi, phi))
    least = np.linalg.eigvalsh(matrix)[0]
    assert remainder(unit, phi, 1.001 * least) == 0
    delta = remainder(unit, phi, 0.999 * least)
    assert 0 < delta <= 0.999 * least
    for bits in range(2**6):
        unknown = [j for j in range(6) if bits >> j & 1]
        for i in set(range(6)) - set(unknown):
            b = -np.linalg.solve(precision[np.ix_(unknown, unknown)], precision[unknown, i])
            grown = diagonal[unknown] * np.exp(2 * (phi[unknown] - phi[i])) * b**2
            assert grown.sum() <= (1 / delta - 1) * diagonal[i]


def test_a_smooth_field_against_adversaries_of_all_kinds():
    """Nobody, all but a few, a half plane, a ring and random sets, on 12 x 12 records."""
    model = GaussianRecords.from_precision(smooth_grid(12, 12, 0.7), secret_range=(0, 1))
    with pytest.raises(NotApplicableError):
        comparison(model, ONE)
    with pytest.raises(NotApplicableError):
        positive(model, ONE)
    found = forgetting(model, ONE)
    assert found.kind == "upper bound"
    assert any("dies off" in text for text in found.certificate.assumptions)
    x, y = np.divmod(np.arange(144), 12)
    rng = np.random.default_rng(1)
    away = np.maximum(np.abs(x - 5), np.abs(y - 5))
    sets = [away < 0, x < 5, (x < 5) | (y < 5), away == 2, away == 1, (x + y) % 2 == 1]
    sets += [rng.random(144) < share for share in (0.05, 0.2, 0.5, 0.9)]
    for known in sets:
        for i in (0, 65, 66, 143):
            others = tuple(np.flatnonzero(known & (np.arange(144) != i)))
            assert cost(model.cov, i, others, np.ones(144)) <= found.per_record[i]


def test_the_bound_does_not_grow_with_the_field():
    values = [
        forgetting(
            GaussianRecords.from_precision(smooth_grid(k, k, 1.0), secret_range=(0, 1)), ONE
        ).value
        for k in (20, 40, 60)
    ]
    assert values[0] < 40
    assert values[2] < 1.02 * values[1]


def test_shared_cells_only_raise_the_bound(monkeypatch):
    (shape,) = GaussianRecords.from_precision(smooth_grid(15, 25, 0.8)).shapes
    proved, rates = heights(shape), np.random.default_rng(0).uniform(0, 1, (2, 375))
    fine = height_costs(shape, rates, proved)
    # the sum itself, record by record
    phi = proved.slopes[:, None] * proved.steps
    apart = np.cosh(2 * (phi[:, :, None] - phi[:, None, :]))
    mean = (apart * (proved.deltas / (1 - proved.deltas))[:, None, None]).mean(axis=0)
    diagonal = shape.precision.diagonal()
    terms = diagonal[:, None] / diagonal / mean * (1 - np.eye(375))
    np.testing.assert_allclose(fine, rates + np.sqrt((rates**2) @ terms.T), rtol=1e-9)
    monkeypatch.setattr(module, "_MOST_CELLS", 100)
    assert (height_costs(shape, rates, proved) >= fine).all()


def test_coordinates_of_chains_and_grids():
    chain = sparse.coo_array(GaussianRecords.ar1(50, 0.5).shapes[0].precision)
    (steps,) = coordinates(module._unit(chain.tocsr()))
    assert sorted(steps) == list(range(50))
    order = np.random.default_rng(3).permutation(63)
    grid = smooth_grid(7, 9, 1.0)[order][:, order]
    steps = coordinates(module._unit(grid))
    x, y = np.divmod(order, 9)
    apart = np.abs(np.subtract.outer(x, x)) + np.abs(np.subtract.outer(y, y))
    found = np.abs(steps[:, :, None] - steps[:, None, :]).max(axis=0)
    np.testing.assert_array_equal(found, apart)  # two corners tell all distances


def test_blocks_for_which_others_are_exact_keep_their_value():
    small = GaussianRecords.from_precision([[2, 0.5, -0.5], [0.5, 2, 0.5], [-0.5, 0.5, 2]])
    chain = GaussianRecords.ar1(30, 0.5)
    field = GaussianRecords.from_precision(smooth_grid(6, 6, 1.0))
    mixed = GaussianRecords.blocks([small, chain, field], secret_range=(0, 1))
    found = forgetting(mixed, ONE)
    part = GaussianRecords.blocks([small], secret_range=(0, 1))
    np.testing.assert_allclose(found.per_record[:3], regression(part, ONE).per_record)
    with pytest.raises(NotApplicableError, match="exact"):
        forgetting(part, ONE)
    full = GaussianRecords(field.cov, secret_range=(0, 1))
    with pytest.raises(NotApplicableError, match="from_precision"):
        forgetting(full, ONE)


def test_leakage_takes_it_and_nearly_singular_fields_are_refused():
    model = GaussianRecords.from_precision(smooth_grid(25, 25, 1.0), secret_range=(0, 1))
    leak = cdp.leakage(model, L1(1.0, epsilon=1.0))
    assert leak.certificate.name == "forgetting"
    assert leak.value < 40 < 625
    hopeless = GaussianRecords.from_precision(smooth_grid(30, 30, 1e-3), secret_range=(0, 1))
    leak = cdp.leakage(hopeless, L1(1.0, epsilon=1.0))
    assert leak.value == 900
