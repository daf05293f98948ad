"""The commands: the whole path, what they print, and how they fail."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from corrdp import Count, MarkovChain, MarkovField, __version__, calibrate, leakage, load_model
from corrdp.bounds.leakage import Leakage
from corrdp.calibration.number import Calibration
from corrdp.errors import InputError
from corrdp.models.files import model_from_dict
from corrdp.release.number import Release
from tests.helpers.commands import FIT, done, run, write_series
from tests.helpers.tabular import write_csv

METHODS = ("general", "lange", "zhao", "ratio", "contraction", "transfer", "exact")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A series as CSV and Parquet, and the model fitted on it."""
    import pyarrow.csv
    import pyarrow.parquet

    home = tmp_path_factory.mktemp("commands")
    law = MarkovChain([[0.88, 0.12], [0.3, 0.7]], length=960)
    steps = law.sample(np.random.default_rng(5)) * 40
    csv = write_series(home / "steps.csv", steps.tolist())
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(csv), home / "steps.parquet")
    done("fit", csv, *FIT, "-o", home / "model.json")
    done("fit", home / "steps.parquet", *FIT, "-o", home / "parquet.json")
    return home


# -- the whole path ------------------------------------------------------------------------------


def test_fit_prints_what_it_learned(folder):
    result = done("fit", folder / "steps.csv", *FIT)
    for part in ("False", "True", "±", "960", "Birkhoff diameter", "sequences", "missing"):
        assert part in result.stdout
    seen = load_model(folder / "model.json").fitted.counts.sum(axis=1)
    assert f"from state True {seen[1]} transitions" in " ".join(result.stdout.split())
    assert "itself a leak" in " ".join(result.stderr.split())


def test_fit_is_the_same_on_csv_and_parquet(folder):
    assert load_model(folder / "model.json").digest == load_model(folder / "parquet.json").digest


def test_fit_json_is_the_model_file(folder):
    result = done("fit", folder / "steps.csv", *FIT, "--json")
    printed = json.loads(result.stdout)
    assert printed == json.loads((folder / "model.json").read_text())
    assert model_from_dict(printed).to_dict() == printed


def test_fit_takes_further_texts_for_missing(tmp_path):
    steps = [0, 3, "NA", 0, "off", 4, 0, "gone", 0, 7, 0, 0]
    path = write_series(tmp_path / "gaps.csv", steps)
    result = done("fit", path, *FIT, "--json", "--missing", "off,-1", "--missing", "gone")
    assert json.loads(result.stdout)["fit"]["missing"] == 3
    lines = [line for line in result.stderr.splitlines() if "nowhere" in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"corrdp: warning: '-1' (--missing) is nowhere in steps of {path};")
    private = (
        "--private-epsilon",
        5,
        "--states",
        "false,true",
        "--state",
        "TRY_CAST(steps AS INT) > 0",
    )
    assert "nowhere" not in done("fit", path, *private, "--missing", "-1").stderr


def test_fit_with_groups(tmp_path):
    lines = [f"{who},{t},{(t * who) % 3 % 2}" for who in (1, 2) for t in range(20)]
    path = tmp_path / "two.csv"
    path.write_text("\n".join(["who,t,state", *lines]) + "\n")
    result = done("fit", path, "--state", "state", "--order", "t", "--group", "who", "--json")
    assert json.loads(result.stdout)["fit"]["sequences"] == 2


def test_labels_are_not_read_as_markup(tmp_path):
    lines = [f"{t},{'[red]' if t % 3 else '[/b]'}" for t in range(20)]
    path = tmp_path / "[x].csv"
    path.write_text("\n".join(["t,state", *lines]) + "\n")
    result = done("fit", path, "--state", "state", "--order", "t")
    assert "[red]" in result.stdout
    assert "[/b]" in result.stdout


def test_leakage_shows_every_bound(folder):
    result = done("leakage", folder / "model.json", "--epsilon", 1)
    for method in METHODS:
        assert method in result.stdout
    for part in ("scope", "certificate", "assumes", "best"):
        assert part in result.stdout
    assert leakage(load_model(folder / "model.json"), 1.0).assumptions[0] in " ".join(
        result.stdout.split()
    )
    assert "A release" not in done("leakage", "groups:3", "--epsilon", 1).stdout


def test_leakage_with_a_delta_and_a_unit(folder):
    model = folder / "model.json"
    told = done("leakage", model, "--epsilon", 0.1, "--delta", 1e-9, "--unit", 12).stdout
    assert "epsilon 0.1, delta 1e-09 leaks" in told
    assert "12 records" in told
    assert "mu 0.1 leaks" in done("leakage", model, "--mu", 0.1, "--delta", 1e-6).stdout
    assert "rho 0.005 leaks" in done("leakage", model, "--rho", 0.005, "--delta", 1e-6).stdout


def test_leakage_tells_what_a_release_promises(tmp_path):
    """The fitted numbers taken as exact are no promise: the richer models stand beside them."""
    rng, states = np.random.default_rng(4), [0, 0]
    for _ in range(2000):
        stay = 0.9 if states[-1] == states[-2] else 0.5
        states.append(int(states[-1] ^ (rng.random() > stay)))
    path = write_csv(tmp_path / "t.csv", ["t", "s"], list(enumerate(states)))
    model = tmp_path / "model.json"
    done("fit", path, "--state", "s", "--order", "t", "--markov-order", 1, "-o", model)
    told = " ".join(done("leakage", model, "--epsilon", 0.1).stdout.split())
    promise = calibrate(load_model(model), epsilon=0.1, query=Count(1))
    second, halves = promise.adequacy.alternatives
    assert promise.target == second.leakage > promise.leakage.value
    assert (
        f"A release with this epsilon promises {promise.target:.6g}: at confidence 0.95, "
        f"{promise.leakage.value:.6g} under this model, {second.leakage:.6g} under order 2, "
        f"{halves.leakage:.6g} under a kernel for each half; who" in told
    )
    asked = ("leakage", model, "--epsilon", 0.1, "--confidence", 0.95)
    assert "A release" not in done(*asked).stdout
    # a network has no richer models, and sequences that hang together no promise
    edges = [(a, a + 1) for a in range(30)]
    field = MarkovField.fit(MarkovField.ising(edges, 0.2, 0.1).sample(rng), edges=edges)
    model.write_text(json.dumps(field.to_dict()))
    sure = leakage(field, 0.1, confidence=0.95).value
    told = " ".join(done("leakage", model, "--epsilon", 0.1).stdout.split())
    assert f"promises {sure:.6g}: at confidence 0.95, {sure:.6g} under this model; who" in told
    rows = [(who, t, x) for who in "ab" for t, x in enumerate(states)]
    path = write_csv(tmp_path / "two.csv", ["who", "t", "s"], rows)
    MarkovChain.fit(path, state="s", order_by="t", group="who").save(tmp_path / "two.json")
    told = " ".join(done("leakage", tmp_path / "two.json", "--epsilon", 0.1).stdout.split())
    assert "A release is refused: the model takes the 2 sequences for independent" in told


@pytest.mark.parametrize(("query", "width"), [("count:1", 8), ("sum:0:5", 40), ("mean:0:5", 5)])
def test_noise_that_drowns_every_answer_is_told(tmp_path, query, width):
    MarkovChain([[0.9, 0.1], [0.2, 0.8]], 8, states=(0, 1)).save(tmp_path / "m.json")
    for epsilon, drowned in ((3, False), (0.1, True)):
        said = done("calibrate", tmp_path / "m.json", "--query", query, "--epsilon", epsilon).stdout
        line = (
            f"the noise is larger than the answer can be: all possible answers lie within {width} "
        )
        assert (line in " ".join(said.split()) + " ") is drowned


def test_noise_that_hides_the_cells_of_a_table_is_told(tmp_path):
    MarkovChain([[0.9, 0.1], [0.2, 0.8]], 96, states=(0, 1)).save(tmp_path / "m.json")
    asked = ("--query", "count:1", "--by", "shift", "--values", "shift:early|late")
    asked = (*asked, "--public-columns", "shift")
    for epsilon, drowned in ((1, False), (0.05, True)):
        said = done("calibrate", tmp_path / "m.json", *asked, "--epsilon", epsilon).stdout
        line = "96 records in 2 cells leave 48 for each; ask for fewer cells, or promise less"
        assert (line in " ".join(said.split())) is drowned


def test_leakage_json_round_trips(folder):
    result = done("leakage", folder / "model.json", "--epsilon", 1, "--json")
    data = json.loads(result.stdout)
    assert Leakage.from_dict(data).to_dict() == data
    assert data["value"] > 1
    named = done("leakage", folder / "model.json", "--epsilon", 1, "--method", "ratio", "--json")
    assert json.loads(named.stdout)["value"] > data["value"]


@pytest.mark.parametrize(
    ("model", "value"), [("independent", 1), ("independent:9", 1), ("groups:3", 3)]
)
def test_models_without_a_file(model, value):
    result = done("leakage", model, "--epsilon", 1, "--json")
    assert json.loads(result.stdout)["value"] == pytest.approx(value)
    calibrated = done("calibrate", model, "--target", 1, "--query", "count:1", "--json")
    assert json.loads(calibrated.stdout)["epsilon"] == pytest.approx(1 / value)


def test_calibrate_by_target_and_by_epsilon(folder):
    model = folder / "model.json"
    shown = done("calibrate", model, "--target", 1, "--query", "count:True")
    for part in (
        "epsilon",
        "target",
        "discrete Laplace",
        "95 %",
        "assumes",
        "under the chosen model",
    ):
        assert part in shown.stdout
    by_target = done("calibrate", model, "--target", 1, "--query", "count:True", "--json")
    data = json.loads(by_target.stdout)
    assert Calibration.from_dict(data).to_dict() == data
    assert data["target"] == 1
    assert data["epsilon"] < 1
    by_epsilon = done(
        "calibrate", model, "--epsilon", data["epsilon"], "--query", "count:True", "--json"
    )
    assert json.loads(by_epsilon.stdout)["target"] <= 1


@pytest.mark.parametrize("name", ["steps.csv", "steps.parquet"])
def test_release(folder, tmp_path, name):
    out, report = tmp_path / "release.json", tmp_path / "report.html"
    result = done(
        "release", folder / name, "--model", folder / "model.json", "--target", 1,
        "--query", "count:True", "-o", out, "--report", report,
    )  # fmt: skip
    data = json.loads(out.read_text())
    release = Release.from_dict(data)
    assert release.to_dict() == data
    assert release.digest == load_model(folder / "model.json").digest
    true = sum(line.startswith("40,") for line in (folder / "steps.csv").read_text().splitlines())
    assert abs(release.value - true) < 40 * release.scale
    for part in ("answer", "interval", f"{release.value:,}", "written"):
        assert part in result.stdout
    assert report.read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release.json", "report.html"]


def test_at_a_terminal_long_work_shows_a_sign_of_life(folder, tmp_path, monkeypatch):
    """Where nobody watches there is nothing about quick work; a log has lines about long work."""
    asked = (folder / "steps.csv", "--model", folder / "model.json", "--epsilon", 0.1)
    released = ("release", *asked, "--query", "count:True", "--skip-missing")
    sanitized = ("sanitize", *asked, "--skip-missing", "--force", "-o", tmp_path / "s.csv")
    for command in (released, sanitized):
        assert done(*command).stderr == ""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    shown = done(*released).stderr
    assert "finding the least noise" in shown
    assert "answering on" in shown
    shown = done(*sanitized).stderr
    assert "finding the least distortion" in shown
    assert "reporting" in shown


def test_release_json_at_a_chosen_epsilon(folder):
    result = done(
        "release", folder / "steps.csv", "--model", folder / "model.json", "--epsilon", 0.5,
        "--query", "count:steps > 0", "--nonnegative", "--json",
    )  # fmt: skip
    data = json.loads(result.stdout)
    assert Release.from_dict(data).to_dict() == data
    assert data["epsilon"] == 0.5
    assert data["target"] > 0.5
    assert data["nonnegative"] is True


def test_release_skips_missing_rows_only_when_told(folder, tmp_path):
    path = write_series(tmp_path / "gaps.csv", [0, 3, "NA", 0, 4, 0])
    arguments = ("release", path, "--model", folder / "model.json", "--epsilon", 1, "--query")
    refused = run(*arguments, "count:True")
    assert refused.exit_code == 2
    assert "use --skip-missing" in refused.stderr
    kept = done(*arguments, "count:True", "--skip-missing", "--json")
    assert any("missing" in text for text in json.loads(kept.stdout)["assumptions"])
    coded = write_series(tmp_path / "coded.csv", [0, 3, -9, 0, 4, 0])
    fails(2, "release", coded, *arguments[2:], "count:True", "--missing", -9, match="missing")


def test_dry_run_reads_and_draws_nothing(folder, tmp_path, monkeypatch):
    import corrdp.release.number

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a dry run drew noise")

    monkeypatch.setattr(corrdp.release.number, "draw", never)
    arguments = (
        "release", tmp_path / "not there.csv", "--model", folder / "model.json", "--target", 1,
        "--query", "count:True", "--dry-run",
    )  # fmt: skip
    shown = done(*arguments)
    for part in ("would release", "epsilon", "scale", "95 %"):
        assert part in shown.stdout
    data = json.loads(done(*arguments, "--json").stdout)
    assert Calibration.from_dict(data).to_dict() == data
    done(*arguments, "--report", tmp_path / "plan.html")
    assert "Not released yet" in (tmp_path / "plan.html").read_text()


def test_version_and_help():
    first, *parts = done("--version").stdout.splitlines()
    assert first == f"corrdp {__version__}"
    assert any(line.split() == ["numpy", np.__version__] for line in parts)
    assert "Commands" in done().stdout
    for command in ("fit", "leakage", "calibrate", "release"):
        shown = done(command, "--help").stdout
        assert "Example: corrdp " + command in shown
    for option in ("--epsilon", "--target", "DP level", "BDP level"):
        assert option in " ".join(shown.split())


# -- failures ------------------------------------------------------------------------------------


def fails(code: int, *arguments: object, match: str = "") -> None:
    """A run that must fail with one clear line on stderr and nothing on stdout."""
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("corrdp: ")
    assert "Traceback" not in result.stderr
    assert match.lower() in result.stderr.lower()


def test_no_option_takes_the_place_of_an_earlier_one(folder):
    steps = folder / "steps.csv"
    fails(2, "fit", steps, *FIT, "--order", "steps", match="--order was given 2 times")
    fails(2, "fit", "series", steps, *FIT, "--order=steps", match="--order was given 2 times")
    fails(2, "leakage", folder / "model.json", "--epsilon", "1", "--epsilon=2", match="2 times")
    done("leakage", folder / "model.json", "--epsilon", "1", "--json", "--json")  # says it once


@pytest.fixture
def spot(tmp_path):
    """An empty folder that must stay empty."""
    target = tmp_path / "out"
    target.mkdir()
    yield target
    assert list(target.iterdir()) == []


BAD_MODELS = {
    "not json": ("{", "not JSON"),
    "not a model": ("[1, 2]", "not a corrdp model"),
    "wrong version": ('{"corrdp": 2, "model": "markov"}', "not a corrdp model"),
    "unknown kind": ('{"corrdp": 1, "model": "oracle"}', "oracle"),
    "unknown key": ({"surprise": 1}, "surprise"),
    "rows off": ({"transition": [[0.9, 0.2], [0.5, 0.5]]}, "sums to 1.1"),
    "negative": ({"transition": [[1.5, -0.5], [0.5, 0.5]]}, "negative"),
    "nan": ({"transition": [[float("nan"), 1], [0.5, 0.5]]}, "NaN"),
    "not square": ({"transition": [[0.5, 0.5]]}, "s x s"),
    "words": ({"transition": [["a", "b"], ["c", "d"]]}, "numbers"),
    "length": ({"length": -3}, "length"),
    "lengths disagree": ({"transition": [[[0.5, 0.5]] * 2] * 3, "length": 9}, "length=9"),
    "states": ({"states": ["x"]}, "states"),
    "edited": ({"digest": "0" * 64}, "digest"),
}


@pytest.mark.parametrize("case", BAD_MODELS)
def test_bad_model_files(case, tmp_path):
    content, message = BAD_MODELS[case]
    if isinstance(content, dict):
        good = {
            "corrdp": 1, "model": "markov", "states": ["a", "b"],
            "transition": [[0.9, 0.1], [0.5, 0.5]], "initial": None, "length": None, "fit": None,
        }  # fmt: skip
        content = json.dumps(good | content)
    path = tmp_path / "model.json"
    path.write_text(content)
    fails(2, "leakage", path, "--epsilon", 1, match=message)
    fails(2, "calibrate", path, "--target", 1, "--query", "count:a", match=message)


def test_model_that_is_no_text(folder):
    fails(2, "leakage", folder / "steps.parquet", "--epsilon", 1, match="not")
    fails(2, "leakage", folder / "steps.csv", "--epsilon", 1, match="is no corrdp model file")
    fails(2, "leakage", folder / "nowhere.json", "--epsilon", 1, match="nowhere.json")
    fails(2, "leakage", folder, "--epsilon", 1, match="cannot read")
    fails(2, "leakage", "groups:x", "--epsilon", 1, match="whole number")
    fails(2, "leakage", "groups:0", "--epsilon", 1, match="whole number >= 1")


def test_a_comma_for_the_dot_and_a_directory_for_a_ledger(folder):
    for given in (("--epsilon", "1,5"), ("--epsilon=1,5",)):
        fails(
            2, "leakage", "groups:3", *given, match="got '1,5'; write the fraction with a dot: 1.5"
        )
    asked = ("--model", folder / "model.json", "--query", "count:True", "--target", 2)
    release = ("release", folder / "steps.csv", *asked)
    fails(2, *release, "--ledger", folder, match="it is a directory; name the ledger's file")


def test_a_layout_is_said_where_the_file_is_opened(folder):
    with pytest.raises(InputError, match=r"open_table\(path, layout=Layout\(decimal=\.\.\.\)\)"):
        MarkovChain.fit(folder / "steps.csv", state="steps > 0", decimal=",")
    assert "order_by" in inspect.signature(MarkovChain.fit).parameters


@pytest.mark.parametrize("level", ["0", "-1", "inf", "nan"])
def test_bad_levels(folder, level):
    model = folder / "model.json"
    fails(2, "leakage", model, f"--epsilon={level}", match="epsilon")
    for option in ("--epsilon", "--target"):
        fails(2, "calibrate", model, f"{option}={level}", "--query", "count:True", match=option[2:])


def test_bad_queries(folder):
    start = ("calibrate", folder / "model.json", "--target", 1, "--query")
    fails(2, *start, "median:3", match="cannot read query")
    fails(2, *start, "sum:a:b", match="numbers")
    fails(2, *start, "sum:5:1", match="lower")
    fails(2, *start, "histogram:x", match="categories")


BAD_DATA = {
    "empty file": ("", "empty"),
    "no rows": ("steps,date,interval\n", "no rows"),
    "one value": (
        "steps,date,interval\n" + "".join(f"0,2024-01-01,{k}\n" for k in range(9)),
        "every recorded value",
    ),
    "one row": ("steps,date,interval\n0,d,1\n", ""),
    "no such column": ("walk,date,interval\n1,d,1\n0,d,2\n", "steps"),
    "not numbers": ("steps,date,interval\nup,d,1\ndown,d,2\n", "steps"),
    "twice": ("steps,date,interval\n1,d,1\n0,d,1\n1,d,2\n", "d"),
    "all missing": ("steps,date,interval\nNA,d,1\nNA,d,2\n", ""),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_fit_on_bad_data(case, tmp_path, spot):
    content, message = BAD_DATA[case]
    path = tmp_path / "data.csv"
    path.write_text(content)
    out = spot / "model.json"
    fails(2, "fit", path, *FIT, "-o", out, match=message)


def test_fit_without_a_file(tmp_path, spot):
    fails(2, "fit", tmp_path / "none.csv", *FIT, "-o", spot / "model.json", match="none.csv")


def test_release_failures_write_nothing(folder, tmp_path, spot):
    outputs = ("-o", spot / "release.json", "--report", spot / "report.html")
    model = ("--model", folder / "model.json")
    count = ("--query", "count:True")
    data = folder / "steps.csv"
    fails(2, "release", data, *model, *count, *outputs, match="exactly one")
    fails(2, "release", data, *model, *count, "--target", 1, "--epsilon", 1, *outputs, match="one")
    fails(
        2, "release", tmp_path / "none.csv", *model, *count, "--target", 1, *outputs, match="none"
    )
    fails(2, "release", data, *model, "--query", "count:speed > 3", "--target", 1, *outputs)
    fails(2, "release", data, *model, "--query", "sum:0:9:date", "--target", 1, *outputs)
    fails(3, "release", data, *model, *count, "--target", 0.1, "--method", "lange", *outputs)
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    fails(2, "release", empty, *model, *count, "--target", 1, *outputs, match="empty")
    short = write_series(tmp_path / "long.csv", [0, 40] * 1000)
    fails(2, "release", short, *model, *count, "--target", 1, *outputs)


def test_outputs_are_checked_before_anything_is_drawn(folder, tmp_path):
    start = (
        "release", folder / "steps.csv", "--model", folder / "model.json", "--target", 1,
        "--query", "count:True",
    )  # fmt: skip
    fails(2, *start, "-o", tmp_path / "no" / "a.json", match="not a writable directory")
    fails(2, *start, "-o", tmp_path, match="is a directory")
    fails(2, *start, "-o", folder / "steps.csv", match="is an input")
    fails(2, *start, "-o", tmp_path / "a", "--report", tmp_path / "a", match="same file")
    fails(2, *start, "--dry-run", "-o", tmp_path / "a", match="--dry-run")
    fails(2, *start, "--public", match="--report")
    assert list(tmp_path.iterdir()) == []


def test_refusals(folder, tmp_path):
    model = folder / "model.json"
    fails(3, "calibrate", model, "--target", 1, "--query", "count:True", "--method", "lange")
    fails(3, "leakage", "groups:3", "--epsilon", 1, "--method", "contraction")


def test_usage_errors_are_one_line(folder):
    model = folder / "model.json"
    fails(2, "leakage", match="--help")
    fails(2, "leakage", model, match="--epsilon")
    fails(2, "leakage", model, "--epsilon", "much", match="--epsilon")
    fails(2, "leakage", model, "--epsilon", 1, "--colour", match="--colour")
    fails(2, "leakage", model, "--epsilon", 1, "--method", "magic", match="magic")
    fails(2, "leek", match="leek")


def test_as_a_process(folder, tmp_path):
    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "corrdp", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    start = ("release", folder / "steps.csv", "--model", folder / "model.json", "--query")
    good = call(*start, "count:True", "--target", 1, "--json")
    assert good.returncode == 0, good.stderr
    # on a slow machine its log says what took long
    assert not re.sub(r".+ \.\.\.\ndone in \d+ s\n", "", good.stderr)
    assert json.loads(good.stdout)["result"] == "release"
    bad = call(*start, "count:True", "--target", -1, "--report", "r.html")
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
    # the exit code of a process was seen: what the command ends with is enough
    asked = ("--target", 1, "--method", "lange", "-o", tmp_path / "r.json")
    refused = run(*start, "count:True", *asked)
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (3, "", 1)
    assert list(tmp_path.iterdir()) == []


# -- what should not happen ----------------------------------------------------------------------


def test_an_unexpected_error_is_one_line_without_private_values(folder, monkeypatch):
    import corrdp.models.chains.markov as markov

    def fail(*_, **__):
        raise RuntimeError("could not convert 'secretname'")

    monkeypatch.setattr(markov.MarkovChain, "fit", fail)
    command = ("fit", folder / "steps.csv", *FIT)
    result = run(*command)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "RuntimeError in corrdp.cli.fit_kinds" in result.stderr
    assert "secretname" not in result.output + result.stderr
    shown = run(*command, "--debug")
    assert isinstance(shown.exception, RuntimeError)


@pytest.mark.parametrize("arguments", [("--help",), ("lint", "--registry", "--json")])
def test_a_closed_pipe_is_no_error(arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "corrdp", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_completion_is_offered():
    asked = {"_CORRDP_COMPLETE": "complete_bash", "COMP_WORDS": "corrdp cal", "COMP_CWORD": "1"}
    found = subprocess.run(
        [sys.executable, "-c", "from corrdp.cli import main; main()"],
        env=os.environ | asked,
        capture_output=True,
        text=True,
    )
    assert found.stdout.split() == ["calibrate"]


def test_practically_exact_answers_are_told_before_anything_is_read(tmp_path):
    rows = [(hour % 24, hour % 3 == 0) for hour in range(96)]
    path = write_csv(tmp_path / "a.csv", ["shift", "ill"], rows)
    asked = (path, "--model", "independent", "--query", "count:ill", "--by", "shift")
    asked = (*asked, "--public-columns", "shift", "--epsilon")
    line = "what is published is practically exact"
    for epsilon, exact in ((1, False), (20, True)):
        for said in (
            done("release", *asked, epsilon, "--dry-run"),
            done("release", *asked, epsilon),
        ):
            assert (line in " ".join(said.stdout.split())) is exact
        assert ("warning, before anything is read: the noise is 0" in said.stderr) is exact


def test_small_cells_of_a_table_are_told_before_the_charge(tmp_path):
    rows = [(k % 24, k % 3 == 0) for k in range(96)]
    path = write_csv(tmp_path / "a.csv", ["shift", "ill"], rows)
    done("ledger", "init", tmp_path / "a.ledger", "--budget", 9)
    asked = (path, "--model", "independent", "--query", "count:ill", "--by", "shift")
    asked = (*asked, "--public-columns", "shift", "--ledger", tmp_path / "a.ledger")
    said = done("release", *asked, "--epsilon", 0.1)
    told = " ".join(said.stderr.split())
    assert "is larger than 24 of 24 cells of count of rows with ill by shift can be" in told
    assert "nothing is charged yet" in told
    assert "published cells are no larger than the noise of one cell" in " ".join(
        said.stdout.split()
    )
    assert "larger than" not in done("release", *asked, "--epsilon", 5).stderr


def test_one_cell_and_all_cells_are_told_apart(tmp_path):
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 96, states=(0, 1))
    chain.save(tmp_path / "m.json")
    asked = ("--query", "count:1", "--epsilon", 1)
    said = done("calibrate", tmp_path / "m.json", *asked)
    assert "expected error below 4 in 95 % of releases" in " ".join(said.stdout.split())
    asked = (*asked, "--by", "shift", "--values", "shift:a|b|c", "--public-columns", "shift")
    told = " ".join(done("calibrate", tmp_path / "m.json", *asked).stdout.split())
    one = "one cell, taken by itself: below 4 in 95 % of releases; all 3 cells at once: below 5"
    assert one in told
    means = ("--query", "mean:0:1:x", "--by", "shift", "--public-columns", "shift", "--epsilon", 1)
    told = " ".join(done("calibrate", "independent", *means).stdout.split())
    assert "one cell, taken by itself: below 2.99573 in 95 % of releases (of the sums" in told


def test_truth_values_are_categories_and_values_of_keys(tmp_path):
    path = write_csv(tmp_path / "a.csv", ["kwh", "ill"], [(k % 4, k % 3 == 0) for k in range(96)])
    asked = (path, "--model", "independent", "--epsilon", 40, "--json")
    told = done("release", *asked, "--query", "histogram:true,false:kwh > 0")
    assert json.loads(told.stdout)["value"] == [72, 24]
    keyed = ("--by", "kwh > 0", "--values", "kwh > 0:true|false", "--public-columns", "kwh")
    told = done("release", *asked, "--query", "count:ill", *keyed)
    assert json.loads(told.stdout)["value"] == [24, 8]
