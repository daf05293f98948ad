"""What commands print of assumptions, verdicts, bounds and levels."""

from __future__ import annotations

import inspect
import json
import re
import time
from dataclasses import replace

import numpy as np
import pytest
import typer

from corrdp import GaussianRecords, Independent, MarkovChain, leakage
from corrdp.auditing import workers
from corrdp.bounds.registry import METHODS
from corrdp.cli import show
from corrdp.cli.commands import app
from corrdp.cli.show import assumed, judged
from corrdp.cli.show_models import show_diagnostics
from corrdp.report.words import at_most
from tests.helpers.commands import FIT, PLAIN, done, run, write_series

FIRST_LINES = show.FIRST_LINE, workers.FIRST_LINE  # as they are outside of tests
NOT_ACCOUNTED = "fitting on the private data is itself a release"


def shown(texts, verbose=False) -> list[str]:
    return [str(text) for _, text in assumed(texts, verbose=verbose)]


def test_the_law_of_the_records_and_the_fit_come_first():
    chain = MarkovChain.fit([0, 1, 1, 0, 0, 1, 0, 1, 1, 0] * 30)
    first, second, *_, last = shown(chain.assumptions)
    assert first.startswith("the records form a first-order Markov chain")
    assert second.startswith(NOT_ACCOUNTED)
    assert last.endswith("--verbose shows them")
    values = np.random.default_rng(0).normal(size=(60, 3))
    families = GaussianRecords.fit(values)
    first, second, *_ = shown(families.assumptions)
    assert first == "the records are jointly normal with this covariance"
    assert second.startswith(NOT_ACCOUNTED)


def test_what_is_left_out_is_counted_and_verbose_leaves_out_nothing():
    texts = leakage(MarkovChain([[0.9, 0.1], [0.2, 0.8]], 50), 1.0).assumptions
    few, all_of_them = shown(texts), shown(texts, verbose=True)
    assert all_of_them == list(texts)
    assert few[-1] == f"and {len(texts) - 2} more assumptions: --verbose shows them"
    assert set(few[:-1]) <= set(texts)
    assert shown(()) == []
    assert shown(["one"]) == ["one"]
    assert shown(["one", "two", "three"])[-1] == "and 1 more assumption: --verbose shows them"


def test_what_the_data_contradict_is_never_left_out():
    """A chain of order 2 that is fitted at order 1, on halves that differ."""
    rng, states = np.random.default_rng(3), [0, 1]
    for k in range(4000):
        stay = 0.9 if k < 2000 else 0.6
        states.append(states[-2] if rng.random() < stay else 1 - states[-2])
    chain = MarkovChain.fit(states)
    against = [
        text for text in chain.assumptions if "is rejected" in text or "all the same" in text
    ]
    assert against
    rows = dict((str(text), text) for _, text in assumed(chain.assumptions, verbose=False))
    for text in against:
        assert rows[text].style == "red"
    assert any(NOT_ACCOUNTED in text for text in rows)


RED, GREEN = "\x1b[1;31m", "\x1b[32m"


@pytest.mark.parametrize(
    ("states", "colour"),
    [([0, 0, 1, 1] * 100, RED), (np.random.default_rng(1).integers(2, size=400).tolist(), GREEN)],
)
def test_the_verdict_on_the_model_is_in_colour(states, colour, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    chain = MarkovChain.fit(states)
    show_diagnostics(chain.diagnose(), chain.assumptions, verbose=False)
    told = capsys.readouterr().out
    assert colour in told
    assert (RED in told) == (colour == RED)


def test_dependence_on_the_record_before_is_nothing_against_a_chain(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    law = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 600)
    chain = MarkovChain.fit(law.sample(np.random.default_rng(7)).tolist())
    assert chain.diagnose().tests[0].rejected
    show_diagnostics(chain.diagnose(), chain.assumptions, verbose=False)
    told = capsys.readouterr().out
    assert RED not in told
    assert GREEN in told


def test_a_richer_model_is_in_colour():
    from corrdp import Count, calibrate

    chain = MarkovChain.fit(np.random.default_rng(2).integers(2, size=600).tolist())
    made = calibrate(chain, 1.0, query=Count(1))
    styles = {text.style for name, text in judged(made) if name == "richer model"}
    assert styles == {"red" if made.adequacy.against else "green"}


def test_a_richer_model_that_the_data_do_not_speak_for_is_not_red():
    from corrdp import Count, calibrate
    from corrdp.calibration.adequacy import Priced

    chain = MarkovChain.fit(np.random.default_rng(2).integers(2, size=600).tolist())
    made = calibrate(chain, 1.0, query=Count(1))
    richer = (
        Priced("order 2", 0.08, 11.4, 2.9, None, "p < 1e-107", rejected=True),
        Priced("a kernel for each half", 0.09, 11.1, 2.8, None, "p = 0.31"),
    )
    made = replace(made, adequacy=replace(made.adequacy, leakage=1.0, alternatives=richer))
    styles = [text.style for name, text in judged(made) if name == "richer model"]
    assert styles == ["red", "green"]


def test_a_certificate_says_once_how_to_read_it():
    for command in (("leakage", "groups:3", "--epsilon", 1),
                    ("calibrate", "groups:3", "--target", 1, "--query", "count:1")):  # fmt: skip
        told = " ".join(done(*command).stdout.split())
        [name] = re.findall(r"proof corrdp docs (\S+) prints statement and proof", told)
        assert done("docs", name).stdout.startswith("## ")


def test_every_command_that_prints_assumptions_shows_them_all_on_request():
    """The option is on all of them, by one name."""
    group = typer.main.get_command(app)
    having = set()

    def walk(command, path):
        for name, below in getattr(command, "commands", {}).items():
            walk(below, (*path, name))
        if any("--verbose" in one.opts for one in command.params):
            having.add(" ".join(path))

    walk(group, ())
    assert having == {
        *(f"fit {kind}" for kind in ("series", "families", "network", "pedigree")),
        *("leakage", "calibrate", "release", "sanitize", "risk", "account", "audit", "partial"),
        *("ledger init", "ledger show"),
        *("trajectories inspect", "trajectories release", "trajectories probe"),
    }


def test_the_table_of_bounds_says_what_each_is(tmp_path):
    told = " ".join(done("leakage", "groups:3", "--epsilon", 1).stdout.split())
    assert "added up" in told
    assert all(len(what) < 80 and what[0].islower() for what in METHODS.values())


def test_levels_are_short_and_never_below_the_truth(tmp_path):
    rng = np.random.default_rng(0)
    for value in (*rng.random(200), *(10 ** rng.uniform(-9, 3, 200)), 1 - 2.58e-10, 1 + 3e-10):
        text = at_most(value)
        assert float(text.removeprefix("at most ")) >= value
        assert len(text.removeprefix("at most ")) <= 11
        assert float(text.removeprefix("at most ")) <= value * (1 + 1e-5)
    assert at_most(0.5) == "0.5"
    series = write_series(tmp_path / "s.csv", [0, 3, 0, 0, 5, 1] * 60)
    done("fit", series, *FIT, *PLAIN, "-o", tmp_path / "m.json")
    book = tmp_path / "s.ledger"
    done("ledger", "init", book, "--budget", 1, "--kind", "bdp", "--model", tmp_path / "m.json")
    told = done("release", series, "--model", tmp_path / "m.json", "--target", 1,
                "--query", "count:True", "--ledger", book).stdout  # fmt: skip
    assert "0.99999" not in told
    assert "0.99999" not in done("ledger", "show", book).stdout


def test_independent_records_have_nothing_more_to_say():
    assert shown(Independent(3).assumptions) == ["the records are independent of each other"]
    assert inspect.signature(assumed).parameters["verbose"].default is inspect.Parameter.empty


def test_a_log_shows_what_takes_long_and_nothing_of_what_is_quick(monkeypatch, capsys):
    assert FIRST_LINES == (2.0, 2.0)
    with show.working("quick work"):
        pass
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(show, "FIRST_LINE", 0.02)
    long_name = "reading " + "x" * 200
    with show.working(long_name):
        time.sleep(0.2)
    out, told = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"{long_name} \.\.\.\ndone in \d+ s\n", told)

    def fail() -> None:
        time.sleep(0.2)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"), show.working("work that fails"):
        fail()
    assert capsys.readouterr().err == "work that fails ...\n"


def test_a_release_with_a_report_tells_a_log_what_it_does(tmp_path, monkeypatch):
    monkeypatch.setattr(show, "FIRST_LINE", 0.0)
    series = write_series(tmp_path / "s.csv", [0, 3, 0, 0, 5, 1] * 60)
    fitted = done("fit", series, *FIT, *PLAIN, "-o", tmp_path / "m.json", "--json")
    assert f"counting transitions in {series} ...\ndone in" in fitted.stderr
    json.loads(fitted.stdout)
    made = done("release", series, "--model", tmp_path / "m.json", "--target", 1,
                "--query", "count:True", "--report", tmp_path / "r.html", "--json")  # fmt: skip
    assert "drawing the report ...\ndone in" in made.stderr
    json.loads(made.stdout)


def test_an_audit_tells_a_log_how_far_it_is(monkeypatch):
    def told() -> str:
        return run("audit", "grr", "--k", 4, "--epsilon", 1, "--runs", 20_000, "--json").stderr

    assert told() == ""
    monkeypatch.setattr(workers, "FIRST_LINE", 0.0)
    first, *_, last = told().splitlines()
    assert re.fullmatch(r"running the mechanism: [\d,]+ of 20,000 \.\.\.", first)
    assert re.fullmatch(r"done in \d+ s", last)


def test_all_snps_of_a_file_tell_a_log_that_they_are_worked_out(tmp_path, monkeypatch):
    monkeypatch.setattr(show, "FIRST_LINE", 0.0)
    rows = ["pid,id,fid,mid,rs1.a1,rs1.a2", "1,1,0,0,1,2", "1,2,0,0,1,1", "1,3,1,2,2,1"]
    (tmp_path / "trios.csv").write_text("\n".join(rows) + "\n")
    told = run("fit", "pedigree", tmp_path / "trios.csv").stderr
    assert "working out every SNP ...\ndone in" in told
