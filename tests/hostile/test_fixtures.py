"""Every kind of file that corrdp 0.1.0 wrote still opens, and says what it said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import corrdp as cdp

FROZEN = Path(__file__).parents[1] / "fixtures" / "v0.1.0"
RESULTS = {
    "leakage.json": cdp.Leakage,
    "calibration.json": cdp.Calibration,
    "release.json": cdp.Release,
    "release-sum.json": cdp.Release,
    "release-mean.json": cdp.Release,
    "release-histogram.json": cdp.Release,
    "series-calibration.json": cdp.SeriesCalibration,
    "sanitized.json": cdp.Sanitized,
}
LEDGERS = {"bdp.ledger": 2, "dp.ledger": 2, "users.ledger": 1}  # how many charges


def frozen(name: str) -> dict:
    return json.loads((FROZEN / name).read_text())


@pytest.mark.parametrize("path", sorted(FROZEN.glob("model-*.json")), ids=lambda p: p.stem)
def test_models_load_with_equal_digests(path):
    assert cdp.load_model(path).digest == frozen(path.name)["digest"]


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_results_load_and_keep_what_they_said(name):
    data = frozen(name)
    read = RESULTS[name].from_dict(data)
    written = json.loads(json.dumps(read.to_dict()))
    assert {key: written[key] for key in data} == data


def test_plans_and_proofs_are_read_and_hold():
    plan = cdp.plans.load_plan(FROZEN / "plan.json")
    assert [v.holds for v in cdp.account(plan).check()] == [True]
    assert cdp.plans.check_proof(frozen("proof.json")).holds


@pytest.mark.parametrize("name", sorted(LEDGERS))
def test_ledgers_open_and_go_on(name, tmp_path):
    path = tmp_path / name
    shutil.copy(FROZEN / name, path)
    ledger = cdp.Ledger.open(path)
    ledger.check()
    history = ledger.history()
    assert len(history) == LEDGERS[name]
    spent, last = ledger.spent, history[-1]
    again = ledger.charge(0.01, what="one more", unit=last.unit if name == "users.ledger" else None)
    assert again.number == LEDGERS[name] + 1
    assert ledger.spent >= spent
    assert [c.hash for c in ledger.history()[:-1]] == [c.hash for c in history]
    ledger.check()
