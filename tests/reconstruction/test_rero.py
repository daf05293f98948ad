"""How often the best attack succeeds, and the published bounds on it."""

from __future__ import annotations

import numpy as np
import pytest

from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import GDP, Approximate, Pure
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.scalar import GaussianAnswer
from corrdp.metric.tradeoff import ApproximateCurve, channel_curve, mu_for
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.linear import rero, rero_bound
from corrdp.reconstruction.results import Rero, ReroBound
from corrdp.reconstruction.threat import Threat

TEN = Threat([0.1] * 10)


def test_bounds_by_hand():
    pure = {c.method: c.value for c in rero_bound(1.0, TEN).candidates}
    assert pure == {
        "epsilon": pytest.approx(0.271828, abs=6e-7),
        "trade-off": pytest.approx(0.271828, abs=6e-7),
    }
    assert rero_bound(GDP(1), TEN).value == pytest.approx(0.389144, abs=6e-7)
    half = {c.method: c.value for c in rero_bound(1.0, Threat([0.5, 0.5])).candidates}
    assert half["epsilon"] == pytest.approx(1)  # e/2 says nothing
    assert half["trade-off"] == pytest.approx(0.816060, abs=6e-7)
    assert rero_bound(GDP(1), Threat([0.5, 0.5])).value == pytest.approx(0.841345, abs=6e-7)
    assert rero(GRR(2, 1.0), Threat([0.5, 0.5])).value == pytest.approx(0.731059, abs=6e-7)


@pytest.mark.parametrize(
    ("epsilon", "value"),
    [(0.5, 0.15669), (1, 0.18881), (2, 0.25823), (4, 0.41083), (10, 0.80236), (20, 0.98920)],
)
def test_gradient_descent_line(epsilon, value):
    """Eight candidates, mu from (epsilon, 1e-5)."""
    assert rero_bound(GDP(mu_for(epsilon, 1e-5)), Threat([1 / 8] * 8)).value == pytest.approx(
        value, abs=6e-6
    )


def test_the_likeliest_record_has_no_advantage():
    robust = rero(GRR(2, 1.0), Threat([0.9, 0.1]))
    assert robust.value == pytest.approx(0.9)
    assert robust.baseline == pytest.approx(0.9)
    assert robust.attack.guesses.tolist() == [[0, 0]]
    assert rad(GRR(2, 1.0), Threat([0.9, 0.1])).success < robust.value


def test_who_knows_the_record_always_succeeds():
    """ReRo 1 and no advantage: the reason why ReRo bounds are refused with aux."""
    member = Threat.membership([0.25] * 4)
    silent = np.full((4, 1), 1.0)
    assert rero(silent, member).value == pytest.approx(1)
    assert rad(silent, member).value == pytest.approx(0, abs=1e-15)
    with pytest.raises(NotApplicableError, match="rad_bound"):
        rero_bound(1.0, member)


def test_no_bound_is_below_the_truth():
    rng = np.random.default_rng(4)
    for _ in range(500):
        m, outputs = int(rng.integers(2, 6)), int(rng.integers(2, 5))
        channel = rng.dirichlet(np.ones(outputs), size=m)
        loss = rng.integers(0, 3, (m, m)).astype(float)
        threat = Threat(rng.dirichlet(np.ones(m)), loss, eta=1)
        truth = rero(channel, threat)
        logs = np.log(channel)
        level = float((logs.max(axis=0) - logs.min(axis=0)).max())
        for guarantee in (Pure(level), channel_curve(channel)):
            assert rero_bound(guarantee, threat).value >= truth.value - 1e-12
        # the attack of largest advantage succeeds no more often
        assert rad(channel, threat).success <= truth.value + 1e-12
        assert truth.baseline <= truth.value + 1e-12


def test_delta_counts():
    bound = rero_bound(Approximate(1, 0.01), TEN)
    assert bound.value == pytest.approx(1 - ApproximateCurve(1, 0.01)(0.1))
    assert [c.value is None for c in bound.candidates] == [True, False]
    assert rero_bound(Approximate(1, 1), TEN).value == 1


def test_result_round_trip():
    robust, bound = rero(GRR(4, 1.0), Threat([0.25] * 4)), rero_bound(1.0, TEN)
    assert Rero.from_dict(robust.to_dict()).to_dict() == robust.to_dict()
    assert ReroBound.from_dict(bound.to_dict()).to_dict() == bound.to_dict()
    assert "without the output" in repr(robust)
    assert "without the output" in repr(bound)
    from matplotlib.figure import Figure

    assert len(bound.plot(Figure().add_subplot()).patches) == 2


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: rero(GRR(3, 1.0), TEN), InputError, "3 values"),
        (lambda: rero(GRR(10, 1.0), [0.1] * 10), InputError, "Threat"),
        (lambda: rero_bound(1.0, [0.1] * 10), InputError, "Threat"),
        (lambda: rero_bound(0, TEN), InputError, "epsilon"),
        (lambda: rero(GaussianAnswer([0, 1], 1.0), Threat([0.5, 0.5])), NotApplicableError, "rng"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
