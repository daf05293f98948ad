"""``corrdp fit series --pool``: a word about rare windows, from the fit to the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from corrdp import load_model, write_report
from corrdp.models.chains.contexts import WORD
from tests.helpers.commands import done, run
from tests.helpers.tabular import write_csv

LAW = cdp.WindowChain([[0.95, 0.05], [0.4, 0.6], [0.8, 0.2], [0.2, 0.8]], 2)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    seen = LAW.sample(np.random.default_rng(3), 700)
    rows = [(t, int(x)) for t, x in enumerate(seen)]
    return write_csv(tmp_path_factory.mktemp("walk") / "walk.csv", ["t", "s"], rows)


def test_a_word_about_rare_windows_is_printed_kept_and_reported(path, tmp_path):
    model = tmp_path / "deep.json"
    asked = ("fit", "series", path, "--state", "s", "--order", "t", "--markov-order", 4)
    told = " ".join(done(*asked, "--pool", "-o", model).output.split())
    found = load_model(model)
    assert found.merges.partition(":")[0] in told
    assert WORD in told
    assert "windows that share a row" in told
    said = json.loads(done(*asked, "--pool", "--json").stdout)
    assert said["fit"]["contexts"] == list(found.fitted.contexts)
    assert WORD in " ".join(done("leakage", model, "--epsilon", 0.01).output.split())
    query = ("--query", "count:1", "--target", 1, "--confidence", "none", "--accept-model", "a try")
    assert WORD in " ".join(done("calibrate", model, *query).output.split())
    made = tmp_path / "answer.json"
    done("release", path, "--model", model, *query, "-o", made)
    assert WORD in json.loads(made.read_text())["assumptions"]
    for pool in ((), ("--no-pooling",)):
        plain = " ".join(done(*asked, *pool, "-o", tmp_path / "plain.json").output.split())
        assert "steward's word" not in plain
        assert load_model(tmp_path / "plain.json").fitted.contexts is None


def test_reports_say_it_and_public_ones_without_numbers(path, tmp_path):
    series = [int(line.split(",")[1]) for line in path.read_text().splitlines()[1:]]
    chain = cdp.MarkovChain.fit(series, order=4, pool=True)
    asked = {"query": cdp.Count(1), "confidence": None, "accept": "a test", "coarse": True}
    made = cdp.calibrate(chain, 1.0, **asked).release(series)
    for public in (False, True):
        report = tmp_path / f"{public}.html"
        write_report(report, made, chain, public=public)
        page = report.read_text().replace("&#x27;", "'")
        assert WORD[1:] in page
        assert ("instead of 16 windows" in page) != public


def test_what_cannot_be_pooled_is_refused_in_words(path):
    asked = ("fit", "series", path, "--state", "s", "--order", "t", "--pool")
    private = run(*asked, "--markov-order", 2, "--private-epsilon", 1, "--states", "0,1")
    assert private.exit_code != 0
    assert "in a private fit that is private" in " ".join(private.output.split())
    clock = run(*asked, "--markov-order", 2, "--season", 4)
    assert "with season= windows are kept apart" in " ".join(clock.output.split())
    chosen = run(*asked, "--markov-order", "auto")
    assert "give order and season" in " ".join(chosen.output.split())
