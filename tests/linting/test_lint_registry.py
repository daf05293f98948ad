"""The survey of 17 works: the linter's result equals the published verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corrdp.errors import InputError
from corrdp.linting.lint import RULES, lint
from corrdp.linting.registry import NOT_DP, survey, surveyed

# reference: verdict and rules of the published table
TABLE = {
    83: ("correct", []),
    84: ("correct", []),
    110: ("correct inside zones only", ["L-13"]),
    111: ("correct", []),
    112: ("not DP", ["L-01", "L-07"]),
    113: ("not DP", ["L-01", "L-07"]),
    114: ("not DP", ["L-01", "L-07"]),
    115: ("not DP", ["L-01", "L-07"]),
    116: ("not DP", ["L-06", "L-08"]),
    117: ("not DP", ["L-02", "L-03", "L-05"]),
    118: ("not DP", ["L-02", "L-03", "L-05"]),
    119: ("not DP", ["L-02", "L-03"]),
    120: ("not DP", ["L-02", "L-03"]),
    121: ("not DP", ["L-01", "L-14"]),
    122: ("correct", ["L-17"]),
    123: ("accepted", ["L-15"]),
    124: ("correct", ["L-19"]),
}
SEVERITY = {rule.id: rule.severity for rule in RULES}
FOUND = {entry.key: entry for entry in survey()}


def number(entry):
    return int(entry.mechanism.source["reference"].strip("[]"))


def test_all_seventeen_are_there():
    assert list(dict.fromkeys(map(number, FOUND.values()))) == list(TABLE)
    assert {number(entry) for entry in FOUND.values() if entry.verdict == NOT_DP} == {
        reference for reference, (verdict, _) in TABLE.items() if verdict == NOT_DP
    }
    assert [key for key, entry in FOUND.items() if number(entry) == 122] == [
        "shao-2013",
        "shao-2013-ifs",
    ]


def test_interpolating_before_sampling_pays_for_every_point_that_moves():
    """One point moves five of the curve: delta is 1 - .9^5, and .1 is too good a claim."""
    body = raw("shao-2013-ifs")
    assert body["claim"]["delta"] == pytest.approx(1 - 0.9**5)
    body["claim"]["delta"] = 0.1
    assert "L-02b" in {f.rule for f in lint(body).errors}


@pytest.mark.parametrize("key", FOUND)
def test_lint_equals_the_verdict(key):
    entry = FOUND[key]
    verdict, rules = TABLE[number(entry)]
    assert entry.verdict == verdict
    assert list(entry.mechanism.source["rules"]) == rules
    assert set(rules) <= set(entry.findings.rules)
    assert entry.findings.ok == (verdict != NOT_DP)
    if verdict == NOT_DP:
        # the published reasons are among the errors, as far as they refute
        assert {r for r in rules if SEVERITY[r] == "error"} <= {
            f.rule for f in entry.findings.errors
        }
    assert entry.agrees


@pytest.mark.parametrize("key", FOUND)
def test_entries_are_complete(key):
    entry = FOUND[key]
    assert set(entry.mechanism.source) == {"reference", "title", "family", "verdict", "rules"}
    assert json.loads(json.dumps(entry.to_dict()))["agrees"] is True
    assert repr(entry).startswith(f"[{number(entry)}]")


def raw(key):
    """The JSON of an entry."""
    from importlib import resources

    file = resources.files("corrdp.linting.registry").joinpath(f"{key}.json")
    return json.loads(file.read_text())


REPAIRS = {
    "zhao-2020-ntpt": lambda m: m["steps"][1].update(range="public"),
    "zhao-2019": lambda m: m["steps"][1].update(range="public"),
    "yuan-2021": lambda m: m["steps"][1].update(range="public"),
    "zhao-2020-risk": lambda m: (
        m["steps"][0].update(reads=["public"]),
        m["steps"][1].update(range="public"),
    ),
    "cai-2022": lambda m: (
        m["steps"][0].update(reads=["public"], range="public"),
        m["steps"][2].update(reads=["even layers"]),
    ),
    "hua-2015": lambda m: (m["steps"][0].update(range="public"), m.pop("parameters")),
    "chen-2020-rnn": lambda m: (m["steps"][0].update(range="public"), m.pop("parameters")),
    "li-2017": lambda m: m["steps"][0].update(range="public"),
    "han-2018": lambda m: m["steps"][0].update(range="public"),
    "zhao-2020-clustering": lambda m: (
        m["steps"][0].update(reads=["public"]),
        m["steps"][2].update(range="public"),
        m["claim"].pop("releases"),
    ),
}


@pytest.mark.parametrize("key", REPAIRS)
def test_the_repair_of_each_flaw_takes_its_errors_away(key):
    """The finding is about the flaw and nothing else."""
    body = raw(key)
    assert not lint(body).ok
    REPAIRS[key](body)
    assert lint(body).errors == ()


def test_every_flawed_one_has_a_repair():
    assert set(REPAIRS) == {e.key for e in FOUND.values() if e.verdict == NOT_DP}


@pytest.mark.parametrize("key", ["nobody-2020", "../linting/engine", ""])
def test_unknown_keys(key):
    with pytest.raises(InputError, match="no surveyed mechanism"):
        surveyed(key)


def test_the_page_shows_the_survey():
    page = (Path(__file__).parents[2] / "docs" / "lint.md").read_text()
    for entry in FOUND.values():
        source, found = entry.mechanism.source, entry.findings
        cells = [
            source["reference"],
            entry.mechanism.name,
            source["family"],
            entry.verdict,
            *(" ".join(sorted({f.rule for f in part})) for part in (found.errors, found.warnings)),
        ]
        assert f"| {' | '.join(cells)} |" in page
