"""``corrdp fit series --joint``: several series at once, from a file to a release."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corrdp import Ledger, load_model
from corrdp.models.chains.joint import JointChain
from tests.helpers.commands import done, run
from tests.helpers.tabular import write_csv

LAW = JointChain(
    [[0.9, 0.04, 0.04, 0.02], [0.4, 0.3, 0.1, 0.2], [0.4, 0.1, 0.3, 0.2], [0.1, 0.1, 0.1, 0.7]],
    "ab",
    length=2000,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    seen = LAW.sample(np.random.default_rng(2))
    rows = [(who, t, int(seen[t, k])) for k, who in enumerate("ab") for t in range(len(seen))]
    return write_csv(tmp_path_factory.mktemp("pair") / "pair.csv", ["who", "t", "s"], rows)


def test_series_are_fitted_together_and_released(path, tmp_path):
    asked = ("fit", "series", path, "--state", "s", "--order", "t", "--group", "who")
    alone = done(*asked, "--no-joint", "-o", tmp_path / "alone.json")
    assert "fitted together (--joint)" in " ".join(alone.output.split())
    release = ("--query", "count:1", "--target", 1, "--confidence", "none")
    refused = run("release", path, "--model", tmp_path / "alone.json", *release)
    assert refused.exit_code == 3
    assert "fit them together (--joint)" in " ".join(refused.stderr.split())
    model = tmp_path / "pair.json"
    shown = done(*asked, "-o", model, "--picture", tmp_path / "pair.svg")
    told = " ".join(shown.output.split())
    assert "they are fitted together (--no-joint keeps them apart)" in told
    assert "times at confidence 0.95, relative to plain DP" in told
    by_hand = tmp_path / "joint.json"
    done(*asked, "--joint", "-o", by_hand)
    assert by_hand.read_text() == model.read_text()
    assert "2 series at once, 2 states, 4 slices, 2000 time steps" in told
    assert "one series at one time step" in told
    assert (tmp_path / "pair.svg").exists()
    found = load_model(model)
    assert isinstance(found, JointChain)
    assert found.series == ("a", "b")
    assert "contraction" in done("leakage", model, "--epsilon", 0.1).output
    done("calibrate", model, "--query", "count:1", "--target", 1, "--confidence", "none")
    book = tmp_path / "book.ledger"
    budget = ("--budget", 3, "--kind", "bdp", "--confidence", "none")
    done("ledger", "init", book, *budget, "--model", model)
    done("release", path, "--model", model, *release, "--ledger", book)
    assert 0 < Ledger.open(book).spent <= 1.0 + 1e-9


def test_series_that_cannot_be_fitted_together_stay_apart(path, tmp_path):
    asked = ("fit", "series", path, "--state", "s", "--order", "t", "--group", "who")
    for more, why in (
        (("--markov-order", 2), "leave order out"),
        (("--season", "auto"), "those of their clock: hour, weekday"),
    ):
        told = " ".join(done(*asked, *more).output.split())
        assert "and yet they are fitted apart: " in told
        assert why in told
        assert "fitted together (--joint)" in told  # what a release will be refused for
    taken = done(*asked, "--independent-groups", "they are public", "-o", tmp_path / "taken.json")
    assert "fitted together" not in taken.output
    # of one series every fourth time is missing
    rows = [line for k, line in enumerate(path.read_text().splitlines()) if k < 2001 or k % 4]
    few = tmp_path / "few.csv"
    few.write_text("\n".join(rows) + "\n")
    told = " ".join(done("fit", "series", few, *asked[3:]).output.split())
    assert "fitted apart: all of them have a state at 75 % of the times only" in told


def test_a_promise_that_is_useless_is_said_with_its_reason(tmp_path):
    law = np.full((4, 4), 0.05) + np.diag([0.8, 0.1, 0.1, 0.1]) + [0.1, 0, 0, 0.0]
    seen = JointChain(law / law.sum(axis=1, keepdims=True), "ab", length=150)
    drawn = seen.sample(np.random.default_rng(5))
    rows = [(who, t, int(drawn[t, k])) for k, who in enumerate("ab") for t in range(150)]
    few = write_csv(tmp_path / "few.csv", ["who", "t", "s"], rows)
    asked = ("fit", "series", few, "--state", "s", "--order", "t", "--group", "who", "--joint")
    model = tmp_path / "few.json"
    told = " ".join(done(*asked, "--no-pooling", "-o", model).output.split())
    assert "although the series may well forget: what follows" in told
    assert "slices that are rarely seen is left open (times seen: " in told
    assert "let rare slices share a row" in told
    leak = " ".join(done("leakage", model, "--epsilon", 1e-3, "--confidence", 0.95).output.split())
    assert "although the series may well forget: what follows" in leak


def test_what_does_not_go_together_is_refused(path, tmp_path):
    asked = ("fit", "series", path, "--state", "s", "--order", "t")
    lacking = run(*asked, "--joint")
    assert lacking.exit_code == 2
    assert "what tells the series apart" in " ".join(lacking.stderr.split())
    both = run(*asked, "--group", "who", "--joint", "--markov-order", 2)
    assert both.exit_code == 2
    assert "leave order out" in " ".join(both.stderr.split())
    whole = run(*asked, "--group", "s", "--joint")
    assert whole.exit_code == 2


def test_series_are_fitted_by_season_and_released(tmp_path):
    rows_of = [[0.4, 0.2, 0.2, 0.2], [0.2, 0.2, 0.3, 0.3], [0.2, 0.3, 0.2, 0.3]]
    storm = np.array([*rows_of, [0.1, 0.1, 0.1, 0.7]])
    turn = [0] * 12 + [1] * 12
    law = JointChain([LAW.transition, storm], "ab", states=(0, 1), pattern=turn, length=2400)
    seen = law.sample(np.random.default_rng(3))
    hours = [f"2020-01-{1 + t // 24:02d} {t % 24:02d}:00" for t in range(24 * 31)]
    rows = [(who, hour, seen[t, k]) for k, who in enumerate("ab") for t, hour in enumerate(hours)]
    path = write_csv(tmp_path / "hours.csv", ["who", "t", "s"], rows)
    asked = ("fit", "series", path, "--state", "s", "--order", "t", "--group", "who", "--joint")
    model = tmp_path / "hours.json"
    files = ("-o", model, "--picture", tmp_path / "hours.svg")
    told = " ".join(done(*asked, "--season", "hour", *files).output.split())
    assert "with a kernel for each of 2 seasons (hour)" in told
    assert "24 seasons share 2 kernels" in told
    assert (tmp_path / "hours.svg").exists()
    found = load_model(model)
    assert isinstance(found, JointChain)
    assert found.counted.pooled == tuple(turn)
    assert "contraction" in done("leakage", model, "--epsilon", 0.1).output
    release = ("--query", "count:1", "--target", 1, "--confidence", "none")
    book = tmp_path / "book.ledger"
    budget = ("--budget", 3, "--kind", "bdp", "--confidence", "none")
    done("ledger", "init", book, *budget, "--model", model)
    page = tmp_path / "page.html"
    done("release", path, "--model", model, *release, "--ledger", book, "--report", page)
    assert 0 < Ledger.open(book).spent <= 1.0 + 1e-9
    assert "24 seasons share 2 kernels" in page.read_text()
    assert "24 kernels" in done(*asked, "--season", "hour", "--no-pooling").output
    refused = run(*asked, "--season", "upper(who)")
    assert refused.exit_code != 0
    assert "those of their clock" in " ".join(refused.stderr.split())
