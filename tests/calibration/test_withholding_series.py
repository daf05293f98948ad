"""Series that are silent near the worst case: what it costs, what it spares, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

import corrdp as cdp
from corrdp.calibration.series import SeriesCalibration
from corrdp.errors import DataError, InputError, NotApplicableError, QueryError
from corrdp.mechanisms.response import BinaryResponse
from corrdp.mechanisms.withholding import WithholdingResponse
from corrdp.release.series import Reporter
from tests.helpers.chains import binary
from tests.helpers.commands import done, run

SILENT = cdp.Series(withhold=True)


@pytest.fixture(scope="module")
def kept() -> SeriesCalibration:
    return cdp.calibrate(binary(0.1), 2.0, query=cdp.Series(withhold=True, missing="skip"))


def test_less_distorted_for_the_same_promise(kept):
    assert isinstance(kept.mechanism, WithholdingResponse)
    plain = cdp.calibrate(binary(0.1), 2.0, query=cdp.Series())
    assert kept.leakage.value <= kept.target == 2.0
    assert kept.distortion == pytest.approx(0.414, abs=0.002)
    assert plain.distortion == pytest.approx(0.437, abs=0.001)
    assert 0.05 < kept.withheld < 0.3
    assert f"{100 * kept.withheld:.4g} % withheld" in repr(kept)
    assert kept.mechanism.flip < plain.mechanism.flip0 - 0.02


def test_what_is_expected_comes_out(kept):
    rng = np.random.default_rng(1)
    records = binary(0.1).sample(rng, 200_000)
    said = kept.mechanism.sample(records, rng)
    silent = said < 0
    assert silent.mean() == pytest.approx(kept.withheld, abs=0.01)
    wrong = (said != records)[~silent].sum() / len(records)
    assert wrong + silent.mean() / 2 == pytest.approx(kept.distortion, abs=0.01)


def test_where_silence_does_not_help_nothing_is_withheld():
    kept = cdp.calibrate(binary(0.35), 2.0, query=SILENT)
    plain = cdp.calibrate(binary(0.35), 2.0, query=cdp.Series(symmetric=True))
    assert kept.withheld == 0.0
    assert kept.distortion == pytest.approx(plain.distortion, abs=1e-4)


def test_published(kept):
    truth = binary(0.1).sample(np.random.default_rng(2), 20_000).tolist()
    truth[7] = None
    series = kept.release(truth)
    assert series[7] is None
    silent = np.mean([value is None for value in series])
    assert silent == pytest.approx(kept.withheld, abs=0.03)
    with pytest.raises(NotApplicableError, match="withheld"):
        series.estimate()
    reporter = Reporter(kept)
    stream = [reporter.one(value) for value in truth]
    codes = [-1 if value is None else value for value in stream]
    assert kept.mechanism.let_through(codes)[0] == codes


def test_files_come_back(kept):
    again = SeriesCalibration.from_dict(json.loads(json.dumps(kept.to_dict())))
    assert again.mechanism == kept.mechanism
    assert again.withheld == kept.withheld
    assert "withhold" not in cdp.Series().to_dict()


def test_a_fit_gives_way_where_richer_models_would_leak_more():
    rng = np.random.default_rng(3)
    chain = cdp.MarkovChain.fit([binary(0.2, 0.3, 2000).sample(rng, 2000)])
    alone = cdp.calibrate(chain, 1.0, query=SILENT, confidence=None, robust=False)
    assert isinstance(alone.mechanism, WithholdingResponse)
    kept = cdp.calibrate(chain, 1.0, query=SILENT)
    assert kept.leakage.value <= 1.0
    if isinstance(kept.mechanism, BinaryResponse):
        assert not kept.query.withhold
        assert "noise along time is not used" in kept.cost


@pytest.mark.parametrize(
    ("model", "asked", "error", "match"),
    [
        (binary(0.1), {"epsilon": 1.0}, InputError, "target"),
        (cdp.MarkovChain(np.full((3, 3), 1 / 3)), {"target": 1.0}, InputError, "two-state"),
        (binary(0.1), {"target": 1.0, "method": "published"}, NotApplicableError, "first order"),
    ],
)
def test_refused(model, asked, error, match):
    with pytest.raises(error, match=match):
        cdp.calibrate(model, query=SILENT, **asked)
    for other in ("symmetric", "correlated"):
        with pytest.raises(QueryError, match="withheld"):
            cdp.Series(withhold=True, **{other: True})


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    states = binary(0.2, 0.2, 400).sample(np.random.default_rng(2), 400)
    rows = [f"{k},{x}\n" for k, x in enumerate(states)]
    (tmp_path / "series.csv").write_text("time,on\n" + "".join(rows))
    binary(0.2).save("model.json")
    text = ("sanitize", "series.csv", "--model", "model.json", "--target", 2, "--withhold")
    said = done(*text, "--state", "on", "-o", "out.csv", "--report", "out.html").output
    assert "WithholdingResponse" in said
    assert "% withheld" in said
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 401
    assert "% withheld" in (tmp_path / "out.html").read_text()
    assert run(*text, "--symmetric", "--dry-run").exit_code == 2
    chain = cdp.MarkovChain.fit("series.csv", state="on", order_by="time")
    kept = cdp.calibrate(chain, 2.0, query=SILENT, confidence=None, robust=False)
    (tmp_path / "swapped.csv").write_text("time,on\n" + "".join([rows[1], rows[0], *rows[2:]]))
    with pytest.raises(DataError, match="order of time"):
        kept.release("swapped.csv")
