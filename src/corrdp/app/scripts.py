"""The same again, without the page: a Python script, a notebook, shell commands.

All three are written from the choices that the page itself called the verbs with.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from corrdp.app import walk_scripts
from corrdp.app.calls import call, command
from corrdp.app.choices import (
    Choice,
    DataChoice,
    FamilyChoice,
    FittedChoice,
    LedgerChoice,
    MovesChoice,
    MovesTable,
    NetworkChoice,
    PromiseChoice,
    QueryChoice,
    SeriesChoice,
    TableChoice,
)


@dataclass(frozen=True)
class AllChoices:
    """What was chosen in the five steps."""

    data: DataChoice
    law: Choice
    promise: PromiseChoice
    table: TableChoice | MovesTable
    ledger: LedgerChoice | None


def python(steps: AllChoices) -> str:
    """A script."""
    return "\n\n".join(f"{_comment(words)}\n{code}" for words, code in _cells(steps)) + "\n"


def notebook(steps: AllChoices) -> str:
    """A notebook, one cell for each step."""
    cells: list[dict[str, Any]] = []
    for k, (words, code) in enumerate(_cells(steps)):
        cells.append(
            {"cell_type": "markdown", "id": f"words-{k}", "metadata": {}, "source": [words]}
        )
        cells.append(
            {
                "cell_type": "code",
                "id": f"code-{k}",
                "metadata": {},
                "execution_count": None,
                "outputs": [],
                "source": code.splitlines(keepends=True),
            }
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, indent=1) + "\n"


def _comment(words: str) -> str:
    return f"# {words}"


def _cells(steps: AllChoices) -> list[tuple[str, str]]:
    """Words and code of each step."""
    data, law, table, ledger = steps.data, steps.law, steps.table, steps.ledger
    if isinstance(law, MovesChoice):
        assert isinstance(table, MovesTable)
        return walk_scripts.cells(data, law, steps.promise.target, table, ledger)
    assert isinstance(table, TableChoice)
    options = data.arguments() | law.arguments()
    if isinstance(law, NetworkChoice):
        options["edges"] = law.edges.place
    fitted = call(f"cdp.{law.model}.fit", ["data"], options)
    queries = [_query(question, table.rollup) for question in table.questions]
    asked = queries[0] if len(queries) == 1 else f"[{', '.join(queries)}]"
    options = steps.promise.arguments() | table.arguments()
    promised = call("cdp.calibrate", ["model"], options, {"query": asked})
    last: dict[str, Any] = {}
    cells = [
        ("The data, and how they are read", f"import corrdp as cdp\n\ndata = {data.place!r}"),
        ("How the records depend on each other", f"model = {fitted}\nprint(model.describe())"),
        ("The least noise that keeps the promise", f"calibration = {promised}\nprint(calibration)"),
    ]
    if ledger is not None:
        last["ledger"] = ledger.path
        if ledger.budget is not None:
            made = ledger.arguments(_Model())
            text = call("cdp.Ledger.create", [repr(ledger.path)], made)
            text = text.replace("\n", "\n    ")
            code = f"from pathlib import Path\n\nif not Path({ledger.path!r}).exists():\n    {text}"
            cells.append(("The ledger; it is made once", code))
    if table.nonnegative:
        last["nonnegative"] = True
    drawn = call("calibration.release", ["data"], last)
    cells.append(
        (
            "Read the private data, draw the noise, charge: every run is a new release",
            f"release = {drawn}\nprint(release)",
        )
    )
    public = ", public=True" if table.public else ""
    kept = [
        'release.save("table.csv")',
        f'cdp.write_report("report.html", release, model, calibration=calibration{public})',
    ]
    if table.public:
        kept = [
            "import json",
            "from pathlib import Path",
            "",
            "from corrdp.report.words import public_release",
            "",
            "handed = public_release(release, model)  # what may be handed out",
            'Path("release.json").write_text(json.dumps(handed.to_dict(), indent=1))',
            *kept,
        ]
    else:
        kept.insert(0, 'release.save("release.json")')
    cells.append(("What is kept", "\n".join(kept)))
    return cells


class _Model:
    """Stands for the variable ``model`` in what is written."""

    def __repr__(self) -> str:
        return "model"


def _query(question: QueryChoice, rollup: bool) -> str:
    name, first, said = question.call()
    made = call(f"cdp.{name}", [repr(one) for one in first], said)
    return f"*{made}.rollup()" if rollup and question.by else made


def shell(steps: AllChoices) -> str:
    """Shell commands."""
    data, law, ledger, table = steps.data, steps.law, steps.ledger, steps.table
    made: list[str] = []
    if ledger is not None and ledger.budget is not None:
        made = [command(_ledger_command(ledger))]
    if isinstance(law, MovesChoice):
        assert isinstance(table, MovesTable)
        looked, moved = walk_scripts.shell(data, law, steps.promise.target, table, ledger)
        return _lines([looked, *made, moved])
    assert isinstance(table, TableChoice)
    learned = ["corrdp", "fit", data.kind, data.place, *_law_options(data, law)]
    for text in data.missing:
        learned += ["--missing", text]
    drawn = ["corrdp", "release", data.place, "--model", "model.json"]
    drawn += _promise_options(steps.promise) + _table_options(table)
    drawn += [] if ledger is None else ["--ledger", ledger.path]
    kept = ["-o", "release.json", "--csv", "table.csv", "--report", "report.html"]
    return _lines([command([*learned, "-o", "model.json"]), *made, command([*drawn, *kept])])


def _lines(commands: list[str]) -> str:
    return "\n".join(["#!/bin/sh", "set -e", *commands]) + "\n"


def _law_options(data: DataChoice, law: FittedChoice) -> list[str]:
    if isinstance(law, NetworkChoice):
        return ["--id", law.id, "--state", law.state, "--edges", law.edges.place]
    if isinstance(law, FamilyChoice):
        return _family_options(law)
    return _series_options(data, law)


def _family_options(law: FamilyChoice) -> list[str]:
    said = ["--columns", ",".join(law.columns)] if law.columns else []
    for name, value in (("--group", law.group), ("--role", law.role), ("--value", law.value)):
        said += [] if value is None else [name, value]
    return [*said, f"--secret-range={law.secret_range[0]:g}:{law.secret_range[1]:g}"]


def _series_options(data: DataChoice, law: SeriesChoice) -> list[str]:
    said = ["--state", law.state]
    said += ["--order", ",".join(data.order_by)] if data.order_by else []
    for name, value in (
        ("--group", data.group),
        ("--timezone", data.timezone),
        ("--where", data.where),
        ("--bins", law.bins),
        ("--season", law.season),
        ("--private-epsilon", law.private_epsilon),
    ):
        said += [] if value is None else [name, str(value)]
    for form in data.order_format:
        said += ["--order-format", form]
    said += [] if data.gaps else ["--no-gaps"]
    if law.value_range is not None:
        said += [f"--range={law.value_range[0]:g}:{law.value_range[1]:g}"]
    said += ["--markov-order", str(law.order)]
    said += ["--states", ",".join(map(str, law.states))] if law.states else []
    return said


def _ledger_command(ledger: LedgerChoice) -> list[str]:
    said = ["test", "-e", ledger.path, "||"]  # it is made once
    said += ["corrdp", "ledger", "init", ledger.path, "--budget", f"{ledger.budget:g}"]
    said += ["--delta", f"{ledger.delta:g}"] if ledger.delta else []
    said += ["--unit", ledger.unit] if ledger.unit else []
    said += [] if ledger.records is None else ["--records", str(ledger.records)]
    if ledger.kind == "bdp":
        said += ["--kind", "bdp", "--model", "model.json"]
        said += [] if ledger.confident else ["--confidence", "none"]
    return said


def _promise_options(promise: PromiseChoice) -> list[str]:
    said = ["--target", f"{promise.target:g}"]
    said += ["--unit", promise.unit] if promise.unit else []
    said += [] if promise.confident else ["--confidence", "none"]
    return said + (["--accept-model", promise.accept] if promise.accept else [])


def _table_options(table: TableChoice) -> list[str]:
    said: list[str] = []
    for question in table.questions:
        said += ["--query", _query_text(question)]
        if any(other.by for other in table.questions):
            said += ["--by", ",".join(question.by) or "none"]
    public = dict.fromkeys(name for q in table.questions for name in q.public_columns)
    said += ["--public-columns", ",".join(public)] if public else []
    options = table.arguments()
    said += (
        ["--noise", options["noise"], "--delta", f"{options['delta']:g}"]
        if ("noise" in options)
        else []
    )
    said += ["--rollup"] if table.rollup and any(q.by for q in table.questions) else []
    said += ["--skip-missing"] if any(q.skip_missing for q in table.questions) else []
    said += ["--nonnegative"] if table.nonnegative else []
    return said + (["--public"] if table.public else [])


def _query_text(question: QueryChoice) -> str:
    edges = f"{question.lower:g}:{question.upper:g}"
    edges += f":{question.column}" if question.column is not None else ""
    return {
        "count": f"count:{question.state}",
        "histogram": f"histogram:{','.join(map(str, question.states))}",
        "sum": f"sum:{edges}",
        "mean": f"mean:{edges}",
        "median": f"median:{edges}:{question.points}",
    }[question.kind]
