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
from corrdp.accounting.maps import Columns, ReadsRecords
from corrdp.accounting.plan import Plan
from corrdp.accounting.published import (
    Published,
    ReleasesTotal,
    load_releases,
    read_release,
    total_releases,
)
from corrdp.accounting.step import Step
from corrdp.errors import InputError, RefusedError
from corrdp.guarantees import GDP, Approximate
from corrdp.metric.composition import compose
from corrdp.metric.domains import StreamDomain, TupleDomain
from corrdp.metric.tradeoff import epsilon_for
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
    text = " ".join(done("account", *files).output.split())
    assert "do not add up" in text
    assert "assumes every release is about the same records" in text


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
        ([made / "one.json", "--unit", "bounded"], "unit must be a number of records"),
        ([made / "one.json", "--unit", "1h"], "time between two records"),
        ([made / "one.json", "--delta", "1"], "delta must be"),
        ([made / "one.json", "--delta", "-1"], "delta must be"),
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


@pytest.fixture
def gaussian(made):
    """A Gaussian release beside the pure ones."""
    cal = cdp.calibrate(CHAIN, epsilon=0.4, query=cdp.Count(1), noise="gaussian", delta=1e-6)
    (made / "soft.json").write_text(json.dumps(cal.release([0, 1, 1, 0, 0, 1]).to_dict()))
    return made / "soft.json", cal.guarantee.mu


def test_gaussian_releases_are_composed_at_a_delta(made, gaussian):
    soft, mu = gaussian
    files = [soft, made / "one.json", made / "two.json"]
    alone = run("account", *files)
    assert alone.exit_code == 2
    assert "give a delta (--delta 1e-6)" in " ".join(alone.output.split())
    told = json.loads(done("account", *files, "--delta", 1e-6, "--json").stdout)
    pure = [release["epsilon"] for release in told["releases"][1:]]
    exact = compose(pure=pure, gaussian=mu).epsilon(1e-6)
    assert told["epsilon"] == pytest.approx(exact, rel=1e-4)
    assert told["epsilon"] >= exact
    assert told["epsilon"] < sum(pure) + told["releases"][0]["epsilon"]
    assert (told["delta"], told["releases"][0]["mu"]) == (1e-6, pytest.approx(mu))
    text = " ".join(done("account", *files, "--delta", 1e-6).output.split())
    assert "at delta 1e-06 (plain DP, one record replaced)" in text
    assert f"composes mu {mu:.6g}" in text


def test_units_of_releases(made, gaussian):
    soft, mu = gaussian
    files = [soft, made / "one.json"]
    told = json.loads(done("account", *files, "--delta", 1e-6, "--unit", 3, "--json").stdout)
    pure = told["releases"][1]["epsilon"]
    exact = compose(pure=[3 * pure], gaussian=3 * mu).epsilon(1e-6)
    assert told["epsilon"] == pytest.approx(exact, rel=1e-4)
    assert told["unit"] == "3 records"
    plain = json.loads(done("account", made / "one.json", "--unit", 3, "--json").stdout)
    assert plain["epsilon"] == pytest.approx(3 * pure)
    model = ("--model", made / "model.json", "--json")
    both = json.loads(done("account", *files, "--delta", 1e-6, "--unit", 2, *model).stdout)
    leak = cdp.leakage(CHAIN, compose(pure=[pure], gaussian=mu).guarantee, delta=1e-6)
    assert leak.value < both["leakage"]["value"] < 2 * leak.value
    assert (both["leakage"]["delta"], both["leakage"]["unit"]) == (1e-6, "2 records")
    again = ReleasesTotal.from_dict(both)
    assert (again.delta, again.unit, again.releases[0].mu) == (1e-6, "2 records", mu)


@pytest.mark.parametrize("domain", [StreamDomain(1, 6), TupleDomain(6, (0, 1))], ids=str)
def test_a_plan_of_every_kind_leaks_at_a_delta(domain):
    unit, part = (
        ("event", Columns) if isinstance(domain, StreamDomain) else ("bounded", ReadsRecords)
    )
    steps = [Step(f"day {t}", GDP(0.1), part((t,)), metric=unit) for t in range(6)]
    plan = Plan(domain, steps, [unit])
    found = account(plan, delta=1e-6)
    days = found.leakage(CHAIN, delta=1e-6)
    assert days.value == pytest.approx(cdp.leakage(CHAIN, GDP(0.1), delta=1e-6).value, rel=1e-6)
    window = found.leakage(CHAIN, delta=1e-6, unit=3)
    own = cdp.leakage(CHAIN, GDP(0.1), delta=1e-6, unit=3, own=GDP(0.1 * 3**0.5))
    assert window.value == pytest.approx(own.value, rel=1e-6)
    mixed = Plan(domain, [*steps, Step("all", 0.05), Step("pair", Approximate(0.1, 1e-9))], [unit])
    more = account(mixed, delta=1e-6).leakage(CHAIN, delta=1e-6)
    assert days.value < more.value
    pure = Plan(domain, [Step("one", 0.05), Step("two", 0.1)], [unit])
    at = account(pure).leakage(CHAIN, delta=1e-6)
    assert at.value <= account(pure).leakage(CHAIN).value
    window = account(pure).leakage(CHAIN, unit=2).value
    assert window == pytest.approx(cdp.leakage(CHAIN, 0.15, unit=2).value, rel=1e-9)


def test_plans_take_a_delta_and_a_unit_on_the_command_line(tmp_path):
    plan = {
        "domain": {"type": "stream", "users": 1, "steps": 6},
        "targets": ["event"],
        "releases": [
            {"id": f"day {t}", "notion": "gaussian", "mu": 0.1, "map": {"column": t},
             "metric": "event"} for t in range(6)
        ],
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "model.json").write_text(json.dumps(CHAIN.to_dict()))
    asked = (tmp_path / "plan.json", "--delta", 1e-6, "--json")
    told = json.loads(done("account", *asked).stdout)
    assert told["totals"][0]["value"] == pytest.approx(epsilon_for(0.1, 1e-6), rel=1e-6)
    model = ("--model", tmp_path / "model.json")
    hour = json.loads(done("account", *asked, *model, "--unit", 3).stdout)
    assert hour["leakage"]["unit"] == "3 records"
    assert hour["leakage"]["delta"] == 1e-6
    refused = run("account", *asked, *model, "--unit", "1h")
    assert refused.exit_code == 2
    assert "time between two records" in refused.output
    alone = run("account", tmp_path / "plan.json", *model)
    assert alone.exit_code != 0
    assert "--delta 1e-6" in " ".join(alone.output.split())


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
