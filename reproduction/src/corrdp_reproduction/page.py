"""The page of reproduced figures: published, by the source's formula, tight, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from corrdp import __version__
from corrdp._files import write_files
from corrdp._json import SCHEMA
from corrdp.report.words import figure, listing, page, paragraph, table
from corrdp_reproduction.base import Result
from corrdp_reproduction.catalogue import load

_MOST_ROWS = 60


def write_reproduction(directory: Path, results: Sequence[Result]) -> list[Path]:
    """Write ``report.html`` and ``report.json`` into a directory; returns both paths."""
    directory.mkdir(parents=True, exist_ok=True)
    files = [directory / "report.html", directory / "report.json"]
    body = {
        "corrdp": SCHEMA,
        "result": "reproduction",
        "version": __version__,
        "experiments": [result.to_dict() for result in results],
    }
    write_files({files[0]: render(results), files[1]: json.dumps(body, indent=1) + "\n"})
    return files


def render(results: Sequence[Result]) -> str:
    """The page as HTML text.

    Examples
    --------
    >>> from corrdp_reproduction.running import reproduce
    >>> "001-figure-3" in render(reproduce(["001-figure-3"], size="quick"))
    True
    """
    parts = [
        "<h1>Published results, run again</h1>",
        paragraph(
            "Every verdict is computed: what the source prints, the same by its own formula, and "
            "the same by the tight method. Claims in words are tested on the numbers."
        ),
        _summary(results),
        *(_item(result) for result in results),
    ]
    return page("corrdp reproduce", "\n".join(parts))


def _summary(results: Sequence[Result]) -> str:
    rows = []
    for result in results:
        outcomes = [finding.outcome for finding in result.findings]
        counts = [str(outcomes.count(o) or "") for o in ("matches", "differs", "not run")]
        rows.append(([result.experiment, load(result.experiment).title, *counts], False))
    text = table(("item", "what", "matches", "differs", "not run"), rows)
    for result in results:
        name = escape(result.experiment)
        link = f'<a href="#{name}" style="white-space:nowrap">{name}</a>'
        text = text.replace(f"<td>{name}</td>", f"<td>{link}</td>")
    return text


def _item(result: Result) -> str:
    experiment = load(result.experiment)
    claims = experiment.published
    rows = [
        (
            (
                finding.outcome,
                f"{claims[finding.claim].says} ({claims[finding.claim].where})",
                _shown(claims[finding.claim].value),
                _shown(finding.by_source),
                _shown(finding.tight),
                finding.found,
            ),
            finding.outcome == "differs",
        )
        for finding in result.findings
    ]
    parts = [
        f'<h2 id="{escape(result.experiment)}">{escape(experiment.title)}</h2>',
        paragraph(f"{result.experiment}, {result.size}. {experiment.source}", "quiet"),
        table(("verdict", "published", "value", "its formula", "tight", "found"), rows),
    ]
    if result.table.rows:
        parts += [_picture(result, k, experiment.title) for k in range(len(experiment.panels))]
        parts.append(_numbers(result))
    if result.inputs:
        chosen = (f"{name} = {_shown(value)}" for name, value in result.inputs.items())
        parts.append(paragraph("Parameters: " + "; ".join(chosen) + ".", "quiet"))
    parts.append(listing(result.notes) if result.notes else "")
    again = f"corrdp reproduce --only {result.experiment}"
    parts.append(paragraph(f"Again: {again}" + (" --quick" if result.size == "quick" else "")))
    return "\n".join(parts)


def _picture(result: Result, panel: int, title: str) -> str:
    import matplotlib.pyplot as plt

    ax = result.plot(panel=panel)
    drawn = figure(ax, result.experiment, title)
    plt.close(ax.get_figure(root=True))
    return drawn


def _numbers(result: Result) -> str:
    kept = result.table.rows[:_MOST_ROWS]
    rows = [([_shown(value) for value in row], False) for row in kept]
    more = len(result.table.rows) - len(kept)
    left = paragraph(f"{more} more rows are in report.json.", "quiet") if more else ""
    numbers = table(result.table.columns, rows)
    return f"<details><summary>numbers</summary>{numbers}{left}</details>"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(_shown(v) for v in value)
    return str(value)
