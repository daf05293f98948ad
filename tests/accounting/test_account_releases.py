"""Releases that were made one by one, totalled."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from corrdp.accounting.account import account
from corrdp.accounting.plan import Plan
from corrdp.accounting.published import Published, load_releases, read_release, total_releases
from corrdp.accounting.step import Step
from corrdp.errors import InputError, RefusedError
from corrdp.metric.domains import StreamDomain
from tests.helpers.commands import done, run

FROZEN = Path(__file__).parents[1] / "fixtures" / "v0.1.0"
CHAIN = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=6)


@pytest.fixture
def made(tmp_path):
    """Two releases and a series under one chain, and the chain."""
    data = [0, 1, 1, 0, 0, 1]
    results = {
        "one.json": cdp.calibrate(CHAIN, 1.0, query=cdp.Count(1)).release(data),
        "two.json": cdp.calibrate(CHAIN, epsilon=0.2, query=cdp.Histogram((0, 1))).release(data),
        "series.json": cdp.calibrate(CHAIN, epsilon=0.3, query=cdp.Series()).release(data),
    }
    for name, result in results.items():
        (tmp_path / name).write_text(json.dumps(result.to_dict()))
    (tmp_path / "model.json").write_text(json.dumps(CHAIN.to_dict()))
    return tmp_path


def test_plain_epsilons_add_up_and_levels_do_not(made):
    files = [made / "one.json", made / "two.json", made / "series.json"]
    told = json.loads(done("account", *files, "--json").stdout)
    each = [release["epsilon"] for release in told["releases"]]
    assert told["epsilon"] == pytest.approx(sum(each))
    assert each[1] == 0.2
    assert each[2] == pytest.approx(0.3)
    assert "leakage" not in told
    text = done("account", *files).output
    assert "do not add up" in text
    assert "assumes      every release is about the same records" in text


def test_the_sum_is_converted_once(made):
    told = json.loads(
        done(
            "account",
            made / "one.json",
            made / "two.json",
            "--model",
            made / "model.json",
            "--json",
        ).stdout
    )
    once = cdp.leakage(CHAIN, told["epsilon"]).value
    assert told["leakage"]["value"] == pytest.approx(once)
    alone = [release["target"] for release in told["releases"]]
    assert once > max(alone)
    assert "converted once" in told["levels"]


def test_another_model_is_refused(made, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps(cdp.MarkovChain([[0.5, 0.5], [0.2, 0.8]], length=6).to_dict()))
    result = run("account", made / "one.json", "--model", other)
    assert result.exit_code == 2
    assert "made under another model" in result.output
    assert "different models" in done("account", made / "one.json", FROZEN / "release.json").output


def test_a_public_release_does_not_tell_its_model(made):
    data = json.loads((made / "one.json").read_text()) | {"digest": ""}
    found = total_releases([read_release(data, "public")], CHAIN)
    assert any("does not tell its model" in text for text in found.assumptions)


def test_what_is_no_release(made, tmp_path):
    plan = FROZEN / "plan.json"
    for files, words in (
        ([made / "one.json", plan], "this is no release"),
        ([plan, made / "one.json"], "this is no release"),
        ([made / "one.json", made / "model.json"], "no release"),
        ([made / "one.json", made / "one.json"], "the same release"),
        ([made / "one.json", made / "absent.json"], "cannot read"),
        ([made / "one.json", "--unit", "bounded"], "releases take --model"),
        ([made / "one.json", "--total", "1"], "releases take --model"),
        ([made / "one.json", made / "two.json", "--check"], "releases take --model"),
    ):
        result = run("account", *files)
        assert result.exit_code == 2, files
        assert words in result.output
    with pytest.raises(InputError, match="no release is named"):
        total_releases([])


@pytest.mark.parametrize("bad", [None, "x", -1, math.nan, "inf", [1], True, {}])
@pytest.mark.parametrize("key", ["epsilon", "target", "query", "certificate", "surprise"])
def test_damaged_files_are_errors_in_words(made, bad, key):
    path = made / "one.json"
    data = json.loads(path.read_text()) | {key: bad}
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"one\.json: "):
        load_releases([path])


def test_the_sum_is_rounded_up():
    some = [Published(str(k), "x", 0.1, 1.0) for k in range(3)]
    found = total_releases(some).epsilon
    assert Fraction(found) >= 3 * Fraction(0.1)
    assert found == pytest.approx(0.3)


def _contradicted():
    """A fit of order 1 to a series of order 2: its fitted numbers alone promise too much."""
    rng = np.random.default_rng(5)
    likely = {(0, 0): 0.05, (0, 1): 0.9, (1, 0): 0.2, (1, 1): 0.95}
    data = [0, 1]
    while len(data) < 600:
        data.append(int(rng.random() < likely[data[-2], data[-1]]))
    return cdp.MarkovChain.fit(data), data


def test_the_sum_is_converted_by_the_rule_of_calibrate(tmp_path):
    fit, data = _contradicted()
    cals = [cdp.calibrate(fit, 1.0, query=cdp.Count(k)) for k in (0, 1)]
    releases = [read_release(c.release(data).to_dict(), str(k)) for k, c in enumerate(cals)]
    found = total_releases(releases, fit)
    # by itself each is worth 1 under the worst model, so together they are worth more
    assert found.leakage.value > 1.5
    assert found.leakage.kind == "upper bound"
    book = cdp.Ledger.create(tmp_path / "l", budget=9.0, kind="bdp", model=fit)
    for cal in cals:
        book.charge(cal.epsilon, what="a count")
    assert found.leakage.value == pytest.approx(book.spent, rel=1e-6)
    for said in (found.assumptions, found.leakage.certificate.assumptions):
        assert any("0.95 confidence region" in text for text in said)
        assert any("order 2 too" in text for text in said)
    plain = total_releases(releases, fit, confidence=None)
    assert plain.leakage.value < found.leakage.value
    assert any("taken as exact" in text for text in plain.assumptions)
    plan = Plan(
        StreamDomain(1, fit.length),
        [Step("all", found.epsilon, metric="event")],
    )
    assert account(plan, "event").leakage(fit).value >= found.leakage.value * (1 - 1e-9)


def test_families_are_converted_by_their_region():
    rng = np.random.default_rng(3)
    families = cdp.GaussianRecords.equicorrelated(2, 0.5)
    fit = cdp.GaussianRecords.fit([families.sample(rng) for _ in range(40)], secret_range=(-3, 3))
    some = [Published("a", "x", 0.1, 1.0)]
    found = total_releases(some, fit)
    assert found.leakage.value == cdp.leakage(fit, 0.1, confidence=0.95).value
    assert found.leakage.value > total_releases(some, fit, confidence=None).leakage.value


def test_the_reason_of_a_release_is_taken_over():
    fit = cdp.MarkovChain.fit([0] * 30 + [1] * 30)  # of order 2, a window was never seen
    some = Published("a", "x", 0.1, 1.0)
    with pytest.raises(RefusedError, match="accept"):
        total_releases([some], fit, confidence=None)
    kept = total_releases([replace(some, accepted="as it is")], fit, confidence=None)
    assert any("accepted by the steward: as it is" in text for text in kept.assumptions)
    kept = total_releases([some], fit, confidence=None, accept="a reason")
    assert any("accepted by the steward: a reason" in text for text in kept.assumptions)
