"""Commands around learned models: orders, confidence, private and public fits, handing out."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import pytest

from corrdp import MarkovChain, MarkovField, WindowChain, load_model
from corrdp.models.reads import open_for
from corrdp.tables.count import count_where
from tests.helpers.commands import FIT, PLAIN, done, run, write_series
from tests.helpers.tabular import write_csv


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


def test_each_kind_is_a_command_of_its_own(home):
    shown = done("fit", "--help").stdout
    assert all(kind in shown for kind in ("series", "families", "network", "pedigree"))
    assert "--markov-order" not in done("fit", "families", "--help").stdout
    path = home / "steps.csv"
    named, short = done("fit", "series", path, *FIT, "--json"), done("fit", path, *FIT, "--json")
    assert (named.stdout, named.stderr) == (short.stdout, short.stderr)
    assert done("fit", *FIT, path, "--json").stdout == named.stdout


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("families", ("--columns", "a,b", "--order=t"), "--order is not for families"),
        ("families", ("--columns", "a,b", "--state", "a"), "--state is for series and networks"),
        ("pedigree", ("--engine", "spark"), "--engine is not for pedigrees"),
        ("network", ("--state", "a", "--edges", "x.csv"), "--id"),
        ("series", (), "--state"),
    ],
)
def test_a_kind_takes_its_own_options_only(home, kind, options, said):
    bad = run("fit", kind, home / "steps.csv", *options)
    assert (bad.exit_code, bad.stderr.count("\n")) == (2, 1)
    assert said in bad.stderr


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


def quarters(number: int) -> list[datetime]:
    return [datetime(2024, 3, 30, 0, 15) + timedelta(minutes=15 * k) for k in range(number)]


def test_fit_tells_time(tmp_path):
    states = np.random.default_rng(0).integers(0, 2, 300).tolist()
    rows = [(f"{t:%m/%d/%Y %I:%M %p}", s) for t, s in zip(quarters(300), states, strict=True)]
    path = write_csv(tmp_path / "us.csv", ["t", "s"], [*rows[:100], *rows[120:]])
    result = done("fit", path, "--state", "s", "--order", "t")
    text = " ".join(result.output.split())
    assert "time 2024-03-30 00:15 to 2024-04-02 03:00" in text
    assert "usual step 15 minutes" in text
    assert "read as %m/%d/%Y %I:%M %p" in text
    assert "gaps 1 sequences 1" in text
    assert "--no-gaps" not in result.stderr
    for form, told in (("%Y-%m-%d", "iso"), ("%d.%m.%Y", "%d.%m.%Y"), ("%Y%m%d", "%Y%m%d")):
        days = [f"{datetime(2024, 3, 1) + timedelta(days=k):{form}}" for k in range(60)]
        path = write_csv(tmp_path / "days.csv", ["t", "s"], zip(days, states, strict=False))
        result = done("fit", path, "--state", "s", "--order", "T")
        assert f"usual step 1 day read as {told} gaps 0" in " ".join(result.output.split())
    path = write_csv(tmp_path / "de.csv", ["t", "s"], [("03/04/2024", 1), ("04/04/2024", 0)])
    bad = run("fit", path, "--state", "s", "--order", "t")
    assert bad.exit_code == 2
    assert "say which it is (--order-format)" in bad.stderr
    path = write_csv(tmp_path / "ab.csv", ["t", "s"], [("a", 1), ("b", 0)])
    bad = run("fit", path, "--state", "s", "--order", "t")
    assert bad.exit_code == 2
    assert "name the format (--order-format)" in bad.stderr


def test_fit_offers_events_without_gaps(tmp_path):
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.lognormal(3, 1.5, 300).round() + 1)
    rows = [(t, int(s)) for t, s in zip(times, rng.integers(0, 2, 300), strict=True)]
    path = write_csv(tmp_path / "t.csv", ["t", "s"], rows)
    asked = ("fit", path, "--state", "s", "--order", "t")
    said = " ".join(done(*asked).stderr.split())
    assert "of 299 steps in time" in said
    assert "use --no-gaps" in said
    result = done(*asked, "--no-gaps")
    assert "--no-gaps" not in result.stderr
    assert "not looked for: events in order" in " ".join(result.output.split())


def test_fit_asks_for_bins_of_a_measurement(tmp_path):
    rng = np.random.default_rng(6)
    walk = np.cumsum(rng.normal(0, 2, 400)) % 10  # forgets soon: bounds look a few records far
    rows = [(t, round(float(v), 3)) for t, v in enumerate(walk)]
    path = write_csv(tmp_path / "t.csv", ["t", "kWh"], rows)
    bad = run("fit", path, "--state", "kWh", "--order", "t")
    assert bad.exit_code == 2
    assert "Did you mean --state 'kWh > 2.5', or --bins 4" in bad.stderr
    model = tmp_path / "model.json"
    asked = ("fit", path, "--state", "kWh", "--order", "t", "--bins", 4)
    bad = run(*asked)
    assert bad.exit_code == 2
    assert "--bins 4 needs --range LOW:HIGH" in bad.stderr
    done(*asked, "--range", "0:10", "-o", model)
    chain = load_model(model)
    assert chain.states == (0, 1, 2, 3)
    expected = np.minimum(walk.round(3) // 2.5, 3).astype(int)
    assert chain.fitted.counts.tolist() == MarkovChain.fit(expected).fitted.counts.tolist()
    done("release", path, "--model", model, "--query", "count:2", "--epsilon", 1)
    private = tmp_path / "private.json"
    done(*asked, "--range", "-5:20", "--private-epsilon", 1, "-o", private)
    assert load_model(private).states == (0, 1, 2, 3)


def test_fit_leaves_rows_out(tmp_path):
    rows = [(t, int(t % 3 == 0), t % 10 != 4) for t in range(100)]
    path = write_csv(tmp_path / "t.csv", ["t", "s", "ok"], rows)
    model = tmp_path / "model.json"
    done("fit", path, "--state", "s", "--order", "t", *PLAIN, "--where", "ok", "-o", model)
    fit = load_model(model).fitted
    assert (fit.rows, fit.breaks, fit.span) == (90, 10, 100)
    bad = run("fit", path, "--state", "s", "--where", "(SELECT true)")
    assert bad.exit_code == 2
    release = ("--model", model, "--query", "count:1", "--epsilon", 1)
    done("release", path, *release)  # leaves the same rows out
    kept = write_csv(tmp_path / "kept.csv", ["t", "s", "ok"], [row for row in rows if row[2]])
    done("release", kept, *release)


def test_groups_that_hang_together_need_a_reason(tmp_path):
    rng = np.random.default_rng(7)
    common = rng.integers(0, 2, 400)
    rows = [(who, t, int(x)) for who in "ab" for t, x in enumerate(common)]
    path = write_csv(tmp_path / "t.csv", ["who", "t", "s"], rows)
    model = tmp_path / "model.json"
    asked = ("fit", path, "--state", "s", "--order", "t", "--group", "who", "-o", model)
    result = done(*asked, "--no-joint")
    assert "a and b hang together: correlation 1.00" in " ".join(result.output.split())
    release = ("release", path, "--model", model, "--query", "count:1", "--epsilon", 1)
    refused = run(*release)
    assert refused.exit_code == 3
    assert "--independent-groups 'reason'" in refused.stderr
    assert run(*release, "--dry-run").exit_code == 3
    sanitize = ("--model", model, "--epsilon", 1)
    assert run("sanitize", path, *sanitize, "--dry-run").exit_code == 3
    assert run("sanitize", "-", *sanitize, input="0\n").exit_code == 3
    book = ("--budget", 1, "--kind", "bdp", "--model", model)
    for command in (
        ("calibrate", model, "--query", "count:1", "--epsilon", 1),
        ("ledger", "init", tmp_path / "l", *book),
    ):
        assert "a release will be refused" in " ".join(done(*command).output.split())
    done(*asked, "--independent-groups", "twins, by design")
    assert "'twins, by design'" in " ".join(done(*release).output.split())


def test_the_coupling_of_a_network_is_no_coupling_of_groups(tmp_path):
    edges = [(a, a + 1) for a in range(30)]
    field = MarkovField.ising(edges, 0.2, 0.1).sample(np.random.default_rng(3))
    model = tmp_path / "field.json"
    model.write_text(json.dumps(MarkovField.fit(field, edges=edges).to_dict()))
    done("calibrate", model, "--query", "count:1", "--epsilon", 0.1)
    done("ledger", "init", tmp_path / "l", "--budget", 1, "--kind", "bdp", "--model", model)


@pytest.mark.parametrize("text", ["-999", "-999,0", "-999,00"])
def test_missing_numbers_are_found_however_they_are_written(tmp_path, text):
    path, model = tmp_path / "m.csv", tmp_path / "m.json"
    values = ["0,0", "4,5", "-999,00", "4,5", "0,0", "4,5", "0,0", "0,0"] * 3
    path.write_text("t;v\n" + "".join(f"{t};{v}\n" for t, v in enumerate(values)))
    asked = ("--state", "v > 1", "--order", "t", "--decimal", ",", "--missing", text, "-o", model)
    made = run("fit", path, *asked, "--json")
    assert made.exit_code == 0, made.output
    assert "nowhere" not in made.stderr
    fit = load_model(model).fitted
    assert (fit.rows, fit.missing) == (21, 3)
    table = open_for(load_model(model), path)
    assert count_where(table, "v > 1").missing == 3


@pytest.mark.parametrize("state", [("v > 1",), ("v", "--bins", 2, "--range", "0:9")])
def test_a_decimal_comma_that_was_not_named_is_told(tmp_path, state):
    path = tmp_path / "m.csv"
    path.write_text("t;v;w\n" + "".join(f"{t};{t % 3},5;x\n" for t in range(9)))
    bad = run("fit", path, "--state", *state, "--order", "t")
    assert bad.exit_code == 2
    assert "it has t, v, w; v holds numbers with a comma: say so with --decimal ," in bad.stderr


def test_a_separator_that_cannot_be_guessed_is_asked_for(tmp_path):
    path = tmp_path / "m.txt"
    path.write_text("".join(f"{t}.5 {t % 3}.25\n" for t in range(9)))
    asked = ("fit", path, "--no-header", "--names", "t,v", "--state", "v > 1", "--order", "t")
    bad = run(*asked)
    assert bad.exit_code == 2
    assert "the 2 columns that names gives" in bad.stderr
    assert "name it with --delimiter" in bad.stderr
    assert run(*asked, "--delimiter", " ").exit_code == 0


def test_memory_and_season_are_chosen_unless_they_are_given(tmp_path):
    series = write_series(tmp_path / "steps.csv", [k // 3 % 2 * 5 for k in range(400)])
    chosen = done("fit", "series", series, *FIT)
    assert "Which chain?" in chosen.stdout
    assert "was chosen" in " ".join(chosen.stdout.split())
    for given in (PLAIN[:2], PLAIN[2:]):
        assert "Which chain?" in done("fit", "series", series, *FIT, *given).stdout
    assert "Which chain?" not in done("fit", "series", series, *FIT, *PLAIN).stdout
    private = ("--private-epsilon", 1, "--states", "true,false")
    assert "Which chain?" not in done("fit", "series", series, *FIT, *private).stdout
