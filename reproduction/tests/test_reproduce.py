"""Running experiments: names, kept results, missing data, the pages, the command."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corrdp_reproduction import catalogue, running
from corrdp_reproduction.base import Finding, Result, judge
from corrdp_reproduction.catalogue import experiments, load
from corrdp_reproduction.page import render, verdicts
from corrdp_reproduction.quilt import quilt_scale
from corrdp_reproduction.running import Task, matching, reproduce, run_task
from typer.testing import CliRunner

from corrdp.cli.commands import app
from corrdp.errors import InputError
from corrdp.models.chains.markov import MarkovChain

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
QUICK = "001-figure-3"
VERDICTS = Path(__file__).parents[2] / "docs" / "verdicts.md"


def test_names_and_beginnings():
    assert matching(["001"]) == [f"001-figure-{k}" for k in range(1, 5)]
    assert matching(None) == list(experiments())
    with pytest.raises(InputError, match="no experiment 'figure-3'"):
        matching(["figure-3"])


@pytest.mark.parametrize("name", experiments())
def test_every_item_has_its_name_and_its_claims(name):
    experiment = load(name)
    assert experiment.name == name
    assert experiment.published
    assert all(claim.says and claim.where for claim in experiment.published.values())


def test_a_kept_result_is_not_made_again(tmp_path, monkeypatch):
    (first,) = reproduce([QUICK], size="quick", store=tmp_path)
    kept = json.loads((tmp_path / f"{QUICK}-quick.json").read_text())
    assert kept["result"] == first.to_dict()
    monkeypatch.setattr(running, "run_task", lambda task: pytest.fail("made again"))
    (again,) = reproduce([QUICK], size="quick", store=tmp_path)
    assert again.to_dict() == first.to_dict()


def test_another_key_or_half_a_file_is_made_again(tmp_path):
    (first,) = reproduce([QUICK], size="quick", store=tmp_path)
    file = tmp_path / f"{QUICK}-quick.json"
    for text in (file.read_text().replace('"key": "', '"key": "0'), file.read_text()[:100]):
        file.write_text(text)
        (again,) = reproduce([QUICK], size="quick", store=tmp_path)
        assert again.to_dict() == first.to_dict()
        assert json.loads(file.read_text())["key"] == Task(QUICK, "quick", DATA).key


def test_seeds_are_fixed_and_each_item_has_its_own():
    task = Task("001-figure-2", "quick", None)
    assert run_task(task).to_dict() == run_task(task).to_dict()


@needs_data
def test_two_processes_give_what_one_gives():
    names = ["001-figure-1", "001-figure-3"]
    one = reproduce(names, size="quick")
    two = reproduce(names, size="quick", jobs=2)
    assert [r.to_dict() for r in one] == [r.to_dict() for r in two]


@needs_data
@pytest.mark.slow
def test_a_cluster_gives_what_one_process_gives():
    distributed = pytest.importorskip("distributed")
    from joblib import parallel_config

    names = ["001-figure-1", "001-figure-3"]
    one = reproduce(names, size="quick")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, distributed.Client(cluster), parallel_config(backend="dask"):
        there = reproduce(names, size="quick", jobs=2)
    assert [r.to_dict() for r in one] == [r.to_dict() for r in there]


def test_without_data_an_item_says_so(tmp_path):
    (found,) = reproduce(["noise"], size="quick", data=tmp_path)
    assert found.outcome == "data missing"
    assert any("activity was left out" in note for note in found.notes)
    assert "electricity 80" in found.table.column("data")


@pytest.mark.parametrize(
    ("options", "said"),
    [({"data": "/nowhere"}, "not a directory"), ({"jobs": 0}, "jobs must be at least 1")],
    ids=["data", "jobs"],
)
def test_bad_input(options, said):
    with pytest.raises(InputError, match=said):
        reproduce([QUICK], size="quick", **options)


def test_the_page_shows_every_number_and_escapes(tmp_path):
    results = reproduce([QUICK], size="quick")
    text = render(results)
    assert text.count("<svg") == 1
    assert "http" not in text.replace("http-equiv", "")
    for finding in results[0].findings:
        assert finding.outcome in text


def test_the_page_shows_every_panel(monkeypatch):
    results = reproduce([QUICK], size="quick")
    experiment = load(QUICK)
    twice = replace(experiment, panels=experiment.panels * 2)
    monkeypatch.setitem(experiments(), QUICK, twice)
    assert render(results).count("<svg") == 2


def test_verdicts_of_a_result():
    """An item is refuted if one claim is; other data decide nothing."""
    (result,) = reproduce([QUICK], size="quick")
    for outcomes, whole in (
        (("reproduced", "refuted", "stand-in data"), "refuted"),
        (("reproduced", "stand-in data", "data missing"), "reproduced"),
        (("stand-in data", "data missing"), "stand-in data"),
        (("data missing",), "data missing"),
    ):
        findings = tuple(Finding("order", outcome, "") for outcome in outcomes)
        assert replace(result, findings=findings).outcome == whole
    told = judge("order", False, "more.", within="a tenth", instead="other data")
    assert (told.outcome, told.found) == ("stand-in data", "It does not hold on other data: more.")
    shown = render([replace(result, findings=(replace(told, outcome="refuted"),))])
    assert "Counts as reproduced: a tenth." in shown


def test_the_page_of_verdicts_names_every_item():
    text = VERDICTS.read_text()
    assert set(re.findall(r"^\| (\S+) \|", text, re.M)) - {"item", "---"} == set(experiments())


@needs_data
@pytest.mark.slow
def test_the_page_of_verdicts_is_the_one_generated():
    """But for numbers, whose last digits depend on the machine."""
    found = verdicts(reproduce(size="quick", jobs=2))
    plain = [re.sub(r"[\d.,e+-]+", "#", text) for text in (VERDICTS.read_text(), found)]
    assert plain[0] == plain[1]


def test_every_listed_module_holds_experiments_and_no_other_does():
    """A module that is not listed is never run."""
    root = Path(catalogue.__file__).parent
    made = {
        ".".join(path.relative_to(root).with_suffix("").parts)
        for path in root.rglob("*.py")
        if re.search(r"^@experiment\(|= (twin|audits|attacks_on)\(", path.read_text(), re.M)
    }
    assert made == set(catalogue.MODULES)


def test_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed = CliRunner().invoke(app, ["reproduce", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in experiments())
    done = CliRunner().invoke(app, ["reproduce", "--only", QUICK, "--quick"])
    assert done.exit_code == 0
    assert QUICK in done.output
    body = json.loads(Path("reproduction/report.json").read_text())
    assert [Result.from_dict(e).experiment for e in body["experiments"]] == [QUICK]
    assert Path("reproduction/report.html").exists()
    assert f"1/1 {QUICK}" in done.stderr  # no terminal: progress comes as lines
    assert QUICK in Path("reproduction/verdicts.md").read_text()
    asked = CliRunner().invoke(app, ["reproduce", "--only", QUICK, "--quick", "--json"])
    assert json.loads(asked.stdout) == body
    wrong = CliRunner().invoke(app, ["reproduce", "--only", "009"])
    assert wrong.exit_code == 2


def test_names_are_shown_whole_on_a_narrow_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = ["004-example-2.16", "004-example-4.8"]
    asked = [word for name in names for word in ("--only", name)]
    done = CliRunner().invoke(app, ["reproduce", *asked, "--quick", "-o", str(tmp_path)])
    assert all(name in done.stdout for name in names)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_without_data_the_command_says_how_to_name_them(tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CORRDP_DATA", raising=False)
    asked = ["reproduce", "--only", "001-figure-3", "--quick", *more]
    said = " ".join(CliRunner().invoke(app, asked).stderr.split())
    assert "--data DIRECTORY, or CORRDP_DATA=DIRECTORY" in said
    named = CliRunner().invoke(app, [*asked, "--data", str(tmp_path)])
    assert "CORRDP_DATA" not in named.stderr


@needs_data
def test_noise_table():
    result = load("noise").computed(rng=np.random.default_rng(1), data=DATA)
    rows = {row["target"]: row for row in result.table.where(data="activity").records()}
    assert rows[1.0]["transfer"] == pytest.approx(4.00, abs=0.005)
    assert rows[1.0]["quilt"] == pytest.approx(14.85, abs=0.005)
    assert rows[1.0]["general"] == pytest.approx(17_568)
    assert rows[1.0]["lange"] == rows[1.0]["zhao"] == float("inf")
    assert rows[10.0]["quilt"] == pytest.approx(1.55, abs=0.005)
    assert rows[10.0]["transfer"] == pytest.approx(1.80, abs=0.005)
    assert rows[1.0]["chosen"] == pytest.approx(6.31, abs=0.03)  # order 2 by hour
    assert result.outcome == "reproduced"
    galton = result.table.where(data="Galton", target=1.0).records()
    assert next(iter(galton))["regression"] == pytest.approx(1.4682, abs=5e-5)
    assert Result.from_dict(result.to_dict()).plot() is not None


def test_quilts_by_enumeration():
    """Scores of all quilts of a short chain, from the conditional laws themselves."""
    chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], 7)
    for epsilon in (0.3, 1.0, 3.0):
        assert quilt_scale(chain, epsilon) == pytest.approx(_quilts(chain, epsilon), rel=1e-12)


def _quilts(chain: MarkovChain, epsilon: float) -> float:
    n, paths = chain.length, np.array(list(np.ndindex(*[2] * chain.length)))
    law = chain.start[paths[:, 0]].copy()
    for t, kernel in enumerate(chain.kernels):
        law *= kernel[paths[:, t], paths[:, t + 1]]
    scores = []
    for i in range(n):
        best = n / epsilon
        for left in [None, *range(i)]:
            for right in [None, *range(i + 1, n)]:
                quilt = [q for q in (left, right) if q is not None]
                if not quilt:
                    continue
                influence = 0.0
                for values in np.ndindex(*[2] * len(quilt)):
                    fits = (paths[:, quilt] == values).all(axis=1)
                    given = [law[fits & (paths[:, i] == x)].sum() / law[paths[:, i] == x].sum()
                             for x in (0, 1)]  # fmt: skip
                    influence = max(influence, abs(np.log(given[0] / given[1])))
                first = 0 if left is None else left + 1
                last = n - 1 if right is None else right - 1
                if influence < epsilon:
                    best = min(best, (last - first + 1) / (epsilon - influence))
        scores.append(best)
    return max(scores)


def test_attackers_are_chosen_by_the_command(tmp_path):
    asked = ["reproduce", "--only", "001-figure-4", "--quick", "-o", str(tmp_path)]
    result = CliRunner().invoke(app, [*asked, "--attackers", "viterbi,nobody"])
    assert result.exit_code == 2
    assert "some of viterbi, forward-backward, single, lstm" in " ".join(result.output.split())
    plain, chosen = (Task("001-figure-4", "quick", None, who) for who in ((), ("viterbi", "lstm")))
    assert plain.key != chosen.key
