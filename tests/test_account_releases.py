"""Releases that were made one by one, totalled."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

import corrdp as cdp
from corrdp.accounting.published import Published, load_releases, read_release, total_releases
from corrdp.errors import InputError
from tests.test_cli import done, run

FROZEN = Path(__file__).parent / "fixtures" / "v0.1.0"
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
        ([made / "one.json", "--target", "bounded"], "releases take --model"),
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
