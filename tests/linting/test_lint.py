"""The claim linter: every rule fires where it must, and stays silent where it must."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from corrdp.accounting.mistakes import RULES as PLAN_RULES
from corrdp.cli.commands import app
from corrdp.errors import InputError
from corrdp.linting.lint import RULES, lint
from corrdp.linting.reading import SCHEMA, load_description, read_description
from corrdp.results import Finding, Findings
from tests.helpers.descriptions import (
    FIXED,
    FIXTURES,
    OBSERVED,
    mechanism,
)

PAGE = Path(__file__).parents[2] / "docs" / "lint.md"


@pytest.mark.parametrize(
    ("rule", "severity", "firing", "says", "passing"),
    FIXTURES,
    ids=[f"{f[0]}-{k}" for k, f in enumerate(FIXTURES)],
)
def test_fixtures(rule, severity, firing, says, passing):
    fired = [f for f in lint(firing) if f.rule == rule]
    assert fired
    assert fired[0].severity == severity
    assert re.search(says, fired[0].message)
    assert fired[0].where
    assert rule not in lint(passing).rules


def test_every_description_rule_has_a_fixture():
    covered = {fixture[0] for fixture in FIXTURES} | {"L-09", "L-11", "L-20"} | set(PLAN_RULES)
    assert covered == {rule.id for rule in RULES}


def test_the_passing_fixtures_have_no_error_at_all():
    assert [lint(f[4]).errors for f in FIXTURES if not lint(f[4]).ok] == []


def test_findings():
    found = lint(mechanism(OBSERVED, proof="none"))
    assert [f.severity for f in found] == ["error", "warning", "warning"]
    assert not found.ok
    assert isinstance(found[0], Finding)
    assert Findings.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert repr(found).startswith("1 error, 2 warnings")
    assert "proves nothing" in repr(lint(mechanism(FIXED)))


def test_plans_and_paths(tmp_path):
    plan = {
        "domain": {"type": "multiset", "atoms": ["a", "b", "c"]},
        "releases": [
            {"id": x, "eps": e, "map": {"count": [x]}}
            for x, e in (("a", 0.2), ("b", 0.5), ("c", 1.0))
        ],
        "claims": [{"target": "bounded", "eps": 1.0}],
    }
    assert lint(plan).rules == ("L-10",)
    assert "1.5" in lint(plan)[0].message
    file = tmp_path / "m.json"
    file.write_text(json.dumps(mechanism(FIXED)))
    assert len(lint(file)) == len(lint(str(file))) == 0
    assert load_description(file).name == "m"
    with pytest.raises(InputError, match="cannot read"):
        lint(tmp_path / "absent.json")


def run(*arguments):
    return CliRunner().invoke(app, ["lint", *map(str, arguments)])


def test_command(tmp_path):
    good, bad, plan = (tmp_path / f"{n}.json" for n in ("good", "bad", "plan"))
    good.write_text(json.dumps(mechanism(FIXED, proof="none")))
    bad.write_text(json.dumps(mechanism(OBSERVED)))
    plan.write_text(
        json.dumps(
            {
                "domain": {"type": "tuple", "length": 3, "atoms": [0, 1]},
                "targets": ["unbounded"],
                "releases": [{"id": "all", "eps": 1}],
            }
        )
    )
    assert run(good).exit_code == 0
    assert "L-08 warning" in run(good).output
    assert run(bad).exit_code == run(plan).exit_code == 3
    assert json.loads(run(bad, "--json").output)["ok"] is False
    assert run().exit_code == run(good, "--registry").exit_code == 2
    survey = run("--registry")
    assert survey.exit_code == 0
    assert "10 of 17 works are not DP" in survey.output
    assert len(json.loads(run("--registry", "--json").output)) == 18


def rows_after(heading):
    """Cells of the table under a heading."""
    body = PAGE.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def test_the_page_lists_every_rule():
    written = [tuple(row) for row in rows_after("The rules")]
    assert written == [(r.id, r.severity, r.mistake, r.reads) for r in RULES]


def test_the_page_lists_every_field():
    written = {row[0].strip("`"): row[1] for row in rows_after("The description file")}
    assert written == SCHEMA


def test_reading_is_strict_about_every_field_of_the_schema():
    """Each top-level key of the schema is one that a description takes."""
    tops = {key.split(".")[0].split("[")[0] for key in SCHEMA}
    with pytest.raises(InputError) as error:
        read_description({"nothing": 1})
    listed = str(error.value).split(" has ")[1].split(", ")
    assert tops == set(listed)
