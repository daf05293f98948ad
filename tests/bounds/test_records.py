"""chains#transfer record by record: records alike cost what each would cost by itself."""

from __future__ import annotations

import numpy as np
import pytest

from corrdp.bounds.chains import records
from corrdp.bounds.chains.transfer import step_matrices, transfer
from corrdp.bounds.contraction import side_costs
from corrdp.bounds.mixtures import star
from corrdp.models.chains.chain import Skips, skip_diameters
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.stretches import Stretches

MIXING = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]])
ZEROS = np.array([[[0.7, 0.3], [1, 0]], [[0.5, 0.5], [0, 1]], [[0.4, 0.6], [0.3, 0.7]]])
SLOW = [[0.97, 0.03], [0.02, 0.98]]


def unlike(*sequences: np.ndarray) -> Stretches:
    """No record is like another: every one is followed."""
    n = len(sequences[0])
    return Stretches(np.arange(n), np.arange(n), n)


@pytest.mark.parametrize(
    ("kernels", "eps"),
    [
        (MIXING[0], np.repeat([0.2, 0.7, 0.2, 0.0, 1.5], [90, 3, 80, 70, 1])),
        (MIXING[0], np.resize([0.1, 0.4, 0.9], 200)),
        (MIXING[np.resize([0, 1, 2], 179)], 0.5),
        (MIXING[np.repeat([0, 1, 0], [70, 5, 100])], np.repeat([1e-6, 30.0], [70, 106])),
        (
            np.repeat([[[0.97, 0.03], [0.02, 0.98]], MIXING[1]], 149, axis=0),
            np.r_[[0.0] * 200, [1.0] * 99],
        ),
        (ZEROS[np.resize([0, 2], 149)], np.repeat([0.5, 1.0], [75, 75])),
        (ZEROS[np.resize([0, 1, 1, 2], 119)], 0.3),
    ],
)
def test_records_alike_cost_what_each_would_by_itself(monkeypatch, kernels, eps):
    n = len(eps) if np.ndim(eps) else len(kernels) + 1
    chain = MarkovChain(kernels, n, [0.3, 0.7])
    shared = transfer(chain, step_matrices(chain, eps))
    monkeypatch.setattr(records.Stretches, "of", unlike)
    alone = transfer(chain, step_matrices(chain, eps))
    np.testing.assert_allclose(shared.per_record, alone.per_record, rtol=1e-9, atol=1e-11)
    assert shared.value == pytest.approx(alone.value, rel=1e-11)
    assert shared.kind == alone.kind == "exact"


def test_a_long_stretch_is_followed_at_its_ends_alone(monkeypatch):
    """Sweeps and records kept are as many for a hundred thousand records as for ten thousand."""
    sizes = []
    follow = records._follow

    def watched(side, around, pairwise):
        sizes.append((len(around.kept), around.reach))
        return follow(side, around, pairwise)

    monkeypatch.setattr(records, "_follow", watched)
    values = []
    for n in (10**4, 10**5):
        chain = MarkovChain(MIXING[1], n)
        eps = np.repeat([0.1, 0.2], n // 2)
        values.append(transfer(chain, step_matrices(chain, eps)).value)
    assert sizes[: len(sizes) // 2] == sizes[len(sizes) // 2 :]
    assert all(kept < 10 * reach for kept, reach in sizes)
    assert values[0] == pytest.approx(values[1], rel=1e-11)


PERIOD = np.tile([0, 0, 1], 149)[:149]


@pytest.mark.parametrize("leftwards", [False, True])
@pytest.mark.parametrize(
    "which",
    [np.repeat([0, 1, 0, 1], [50, 9, 60, 30]), PERIOD, np.where(np.arange(149) == 70, 1, PERIOD)],
    ids=["stretches", "period", "broken period"],
)
def test_sides_of_a_chain_written_out(leftwards, which):
    """The recursion with jumps, each value worked out, also where values are copied."""
    chain = MarkovChain(ZEROS[which], None, [0.5, 0.5])
    eps = np.repeat([0.3, 0.0, 0.8], [60, 5, 85])
    skips = skip_diameters(chain)
    assert isinstance(skips, Skips)
    n = len(eps)
    expected = np.zeros(n)
    for k in range(1, n):
        t = k if leftwards else n - 1 - k
        costs = []
        for m in range(1, min(k, skips.table.shape[1]) + 1):
            there = t - m if leftwards else t + m
            first = min(t, there)
            row = skips.table[skips.rows[first]]
            passed = eps[there + 1 : t] if leftwards else eps[t + 1 : there]
            costs.append(passed.sum() + star(eps[there] + expected[there], row[m - 1]))
        expected[t] = min(costs)
    found = side_costs(eps, skips, leftwards=leftwards)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
