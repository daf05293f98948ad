"""Commands around learned models: orders, confidence, private and public fits, handing out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corrdp import MarkovChain, WindowChain, load_model
from tests.test_cli import FIT, done, run, write_series


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learning")
    law = MarkovChain([[0.88, 0.12], [0.3, 0.7]], length=960)
    write_series(folder / "steps.csv", (law.sample(np.random.default_rng(5)) * 40).tolist())
    done("fit", folder / "steps.csv", *FIT, "-o", folder / "model.json")
    return folder


def test_fit_compares_orders(home):
    text = " ".join(done("fit", home / "steps.csv", *FIT).output.split())
    assert "times under order 1" in text
    assert "times under order 2" in text
    assert "order 1 against 2" in text


def test_second_order(home):
    path = home / "second.json"
    done("fit", home / "steps.csv", *FIT, "--markov-order", 2, "-o", path)
    assert isinstance(load_model(path), WindowChain)
    result = json.loads(done("leakage", path, "--epsilon", 0.1, "--json").stdout)
    assert {c["method"] for c in result["candidates"]} >= {"blocks", "contraction"}
    done("fit", home / "steps.csv", *FIT, "--markov-order", 3, "-o", home / "third.json")
    assert load_model(home / "third.json").order == 3
    bad = run("fit", home / "steps.csv", *FIT, "--markov-order", 0)
    assert bad.exit_code == 2


def test_confidence_asks_for_more_noise(home):
    model = home / "model.json"
    level = ("--target", 1, "--query", "count:True", "--json")
    plain = json.loads(done("calibrate", model, *level, "--confidence", "none").stdout)
    sure = json.loads(done("calibrate", model, *level, "--confidence", 0.95).stdout)
    assert sure["epsilon"] < plain["epsilon"]
    assert json.loads(done("calibrate", model, *level).stdout)["epsilon"] == sure["epsilon"]
    assert run("calibrate", model, *level, "--confidence", 95).exit_code == 2


def test_private_and_public_fits(home):
    private = home / "private.json"
    result = done("fit", home / "steps.csv", *FIT, "--private-epsilon", 2, "-o", private)
    assert "itself a leak" not in result.output
    assert load_model(private).fitted.private_epsilon == 2
    assert run("calibrate", private, "--target", 1, "--query", "count:True").exit_code == 3
    public = home / "public.json"
    done("fit", home / "steps.csv", *FIT, "--public", "-o", public)
    assert load_model(public).length is None


def test_public_json_holds_no_fitted_numbers(home, tmp_path):
    model, out = home / "model.json", tmp_path / "handed.json"
    ask = ("release", home / "steps.csv", "--model", model, "--target", 1, "--query", "count:True")
    done(*ask, "--public", "-o", out)
    text = out.read_text()
    chain = load_model(model)
    assert chain.digest not in text
    assert f"{chain.fitted.transitions:,} transitions" not in text
    assert "rejected against" not in text
    assert "`steps > 0` in steps.csv" in text
    again = run(*ask, "-o", out)
    assert again.exit_code == 2
    assert "--force" in again.output
    assert out.read_text() == text
    done(*ask, "-o", out, "--force")


def test_means_and_numeric_histograms_without_a_chain(home, tmp_path):
    ask = ("release", home / "steps.csv", "--target", 1, "--json")
    mean = done(*ask, "--model", "groups:96", "--query", "mean:0:40:steps", "--n", 960)
    assert json.loads(mean.stdout)["query"]["n"] == 960
    cells = done(*ask, "--model", "independent", "--query", "histogram:0,40:steps")
    assert len(json.loads(cells.stdout)["value"]) == 2
    silent = run("calibrate", "groups:96", "--target", 1, "--query", "mean:0:40:steps")
    assert silent.exit_code == 2
    assert silent.stdout == ""
    assert "--n" in silent.output


def test_hand_written_chain_names_its_states(home, tmp_path):
    path = tmp_path / "hand.json"
    MarkovChain([[0.9, 0.1], [0.3, 0.7]], states=(False, True)).save(path)
    ask = ("release", home / "steps.csv", "--model", path, "--target", 1, "--query", "count:True")
    refused = run(*ask)
    assert refused.exit_code == 2
    assert "--state" in refused.output
    done(*ask, "--state", "steps > 0")
