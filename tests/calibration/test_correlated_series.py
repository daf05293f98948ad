"""Series with lies in runs: the fewest that keep a target, their law, and what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import corrdp as cdp
from corrdp.calibration.series import SeriesCalibration, least_correlated
from corrdp.errors import DataError, InputError, NotApplicableError, QueryError
from corrdp.mechanisms.response import BinaryResponse, CorrelatedResponse
from corrdp.mechanisms.sample import correlated_bits
from corrdp.release.series import Reporter
from tests.helpers.chains import binary
from tests.helpers.commands import done, run

ACTIVITY = binary(0.1176, 0.3047)
RUNS = cdp.Series(correlated=True)


@pytest.mark.parametrize(
    ("target", "most", "independent"),
    [(8.0, 0.0049, 0.018075), (5.0, 0.079, 0.142532), (2.0, 0.353803, 0.357496)],
)
def test_fewest_lies(target, most, independent):
    kept = cdp.calibrate(ACTIVITY, target, query=RUNS)
    assert isinstance(kept.mechanism, CorrelatedResponse)
    assert kept.distortion == kept.mechanism.flip < most
    assert target * (1 - 1e-5) < kept.leakage.value <= target
    assert kept.leakage.kind == "exact"
    alone = cdp.calibrate(ACTIVITY, target, query=cdp.Series())
    assert alone.distortion == pytest.approx(independent, abs=1e-5)


@pytest.mark.parametrize("target", [0.001, 0.3, 20.0])
@pytest.mark.parametrize(("q", "r", "n"), [(0.1, 0.1, None), (0.7, 0.6, 30), (0.02, 0.4, 3000)])
def test_the_target_is_kept(q, r, n, target):
    kept = cdp.calibrate(binary(q, r, n), target, query=RUNS)
    assert cdp.leakage(binary(q, r, n), mechanism=kept.mechanism).value <= target
    assert 0 < kept.distortion <= 0.5


def test_who_knows_nothing_needs_fewer_lies():
    one, all_ = (least_correlated(ACTIVITY, 5.0, adversary=who) for who in ("none", "all"))
    assert one.flip < all_.flip
    assert one.flip == pytest.approx(0.07459, abs=1e-5)


def test_files_come_back():
    kept = cdp.calibrate(ACTIVITY, 5.0, query=RUNS)
    again = SeriesCalibration.from_dict(json.loads(json.dumps(kept.to_dict())))
    assert again.mechanism == kept.mechanism
    assert again.query == RUNS
    assert "correlated" not in cdp.Series().to_dict()


def test_noise_follows_its_law():
    """Transitions and the first bit, within six standard deviations; drawn in one or two calls."""
    noise = CorrelatedResponse(2.0**-4, 3 * 2.0**-4)
    bits = correlated_bits(noise, 200_000)
    for bit in (0, 1):
        after = bits[1:][bits[:-1] == bit]
        p, n = noise.kernel[bit, 1], len(after)
        assert abs(after.mean() - p) < 6 * math.sqrt(p * (1 - p) / n)
    firsts = np.array([correlated_bits(noise, 1)[0] for _ in range(4000)])
    assert abs(firsts.mean() - noise.flip) < 6 * math.sqrt(0.25 * 0.75 / 4000)
    for last in (0, 1):
        more = np.array([correlated_bits(noise, 2, last)[0] for _ in range(4000)])
        p = noise.kernel[last, 1]
        assert abs(more.mean() - p) < 6 * math.sqrt(p * (1 - p) / 4000)
    with pytest.raises(InputError, match="multiples"):
        correlated_bits(CorrelatedResponse(0.1, 0.2), 5)
    with pytest.raises(InputError, match="together"):
        correlated_bits(CorrelatedResponse(0.5, 0.75), 5)


def test_published():
    kept = cdp.calibrate(ACTIVITY, 5.0, query=cdp.Series(correlated=True, missing="skip"))
    truth = np.zeros(50_000, dtype=int).tolist()
    truth[7] = None
    series = kept.release(truth)
    assert series[7] is None
    lies = np.array([x for x in series if x is not None])
    assert abs(lies.mean() - kept.distortion) < 0.02
    again = (lies[1:][lies[:-1] == 1]).mean()
    assert again > 2 * kept.distortion  # they come in runs
    with pytest.raises(NotApplicableError, match="runs"):
        series.estimate()
    reporter = Reporter(kept)
    stream = np.array([reporter.one(0) for _ in range(4000)])
    assert (stream[1:][stream[:-1] == 1]).mean() > 2 * kept.distortion


def test_a_fit_gives_way_where_richer_models_would_leak_more():
    rng = np.random.default_rng(3)
    chain = cdp.MarkovChain.fit([binary(0.2, 0.3, 2000).sample(rng, 2000)])
    alone = cdp.calibrate(chain, 5.0, query=RUNS, confidence=None, robust=False)
    assert isinstance(alone.mechanism, CorrelatedResponse)
    kept = cdp.calibrate(chain, 5.0, query=RUNS)
    assert isinstance(kept.mechanism, BinaryResponse)
    assert not kept.query.correlated
    assert kept.leakage.value <= 5.0


@pytest.mark.parametrize(
    ("model", "asked", "error", "match"),
    [
        (ACTIVITY, {"epsilon": 1.0}, InputError, "target"),
        (cdp.MarkovChain(np.full((3, 3), 1 / 3)), {"target": 1.0}, InputError, "two-state"),
        (ACTIVITY, {"target": 1.0, "method": "published"}, NotApplicableError, "first order"),
        (
            cdp.WindowChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]], 2),
            {"target": 1.0},
            NotApplicableError,
            "first order",
        ),
    ],
)
def test_refused(model, asked, error, match):
    with pytest.raises(error, match=match):
        cdp.calibrate(model, query=RUNS, **asked)
    with pytest.raises(QueryError, match="symmetric"):
        cdp.Series(symmetric=True, correlated=True)


def test_the_command(tmp_path, monkeypatch):
    """Rows out of order are refused: the noise runs along time."""
    monkeypatch.chdir(tmp_path)
    states = binary(0.2, 0.3, 400).sample(np.random.default_rng(2), 400)
    rows = [f"{k},{x}\n" for k, x in enumerate(states)]
    (tmp_path / "model.json").write_text("")
    chain = cdp.MarkovChain.fit(
        _written(tmp_path / "series.csv", rows), state="on", order_by="time"
    )
    kept = cdp.calibrate(chain, 5.0, query=RUNS, confidence=None, robust=False)
    assert len(kept.release(tmp_path / "series.csv")) == 400
    for name, some in (("swapped", [rows[1], rows[0], *rows[2:]]), ("gap", rows[:50] + rows[51:])):
        with pytest.raises(DataError, match="order of time"):
            kept.release(_written(tmp_path / f"{name}.csv", some))
    binary(0.2, 0.3).save("model.json")
    text = ("sanitize", "series.csv", "--model", "model.json", "--target", 5, "--correlated")
    said = done(*text, "--state", "on", "-o", "out.csv", "--report", "out.html").output
    assert "CorrelatedResponse" in said
    assert (tmp_path / "out.csv").read_text().count("\n") == 401
    assert "follows a truth" in (tmp_path / "out.html").read_text()
    assert run(*text, "--symmetric", "--dry-run").exit_code == 2


def _written(path, rows):
    path.write_text("time,on\n" + "".join(rows))
    return path
