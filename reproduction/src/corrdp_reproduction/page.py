"""The page of reproduced figures: published, by the source's formula, tight, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any

from corrdp import __version__
from corrdp._files import write_files
from corrdp._json import SCHEMA
from corrdp.report.frame import figure, listing, page, paragraph, table
from corrdp_reproduction.base import OUTCOMES, Finding, Published, Result
from corrdp_reproduction.catalogue import load
from corrdp_reproduction.errata.base import SOURCES

_MOST_ROWS = 60
MEANING = (
    "Every verdict is computed: what the source prints, the same by its own formula, and the same "
    "by the tight method. Claims in words are tested on the numbers. Reproduced: printed digits "
    "agree, inequalities hold at every point that is computed, identities to rounding; another "
    "tolerance stands beside the finding. Refuted: it does not hold, or something stronger does. "
    "Stand-in data: those of the source are not at hand, and what came out on others is told. Data "
    "missing: what would decide it is not there."
)
_HEAD = f"""# What became of the published results

{fill(MEANING, 100)}

Each line is an item of [`corrdp reproduce`](reproduce.md), which shows the numbers and pictures;
what is refuted, and why, stands in the [errata](errata.md) too. This page is the `verdicts.md` that
`corrdp reproduce --quick` writes.
"""


def write_reproduction(directory: Path, results: Sequence[Result]) -> list[Path]:
    """Write ``report.html``, ``report.json`` and ``verdicts.md`` into a directory; their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    files = [directory / name for name in ("report.html", "report.json", "verdicts.md")]
    body = {
        "corrdp": SCHEMA,
        "result": "reproduction",
        "version": __version__,
        "experiments": [result.to_dict() for result in results],
    }
    texts = (render(results), json.dumps(body, indent=1) + "\n", verdicts(results))
    write_files(dict(zip(files, texts, strict=True)))
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
        paragraph(MEANING),
        *_summary(results),
        *(_item(result) for result in results),
    ]
    return page("corrdp reproduce", "\n".join(parts))


def verdicts(results: Sequence[Result]) -> str:
    """What became of every figure and table, as Markdown.

    Examples
    --------
    >>> from corrdp_reproduction.running import reproduce
    >>> print(verdicts(reproduce(["000-figure-3"], size="quick")).splitlines()[-1][:32])
    | 000-figure-3 | Missing half th
    """
    parts = [_HEAD]
    for heading, citation, own in _by_source(results):
        parts += [f"## {heading}\n", f"{citation}\n"]
        parts += [_row(("item", "what", *OUTCOMES)), _row(["---", "---", *["---:"] * 4])]
        parts += [_row((r.experiment, load(r.experiment).title, *_counts(r))) for r in own]
        refuted = [
            f"- {result.experiment}, {claim.where}: *{_said(claim)}*. {finding.found}"
            for result in own
            for finding, claim in _judged(result)
            if finding.outcome == "refuted"
        ]
        parts += ["\nRefuted, with what was found:\n", *refuted, ""] if refuted else [""]
    return "\n".join(parts).rstrip() + "\n"


def _said(claim: Published) -> str:
    return claim.says if claim.value is None else f"{claim.says}: {_shown(claim.value)}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _by_source(results: Sequence[Result]) -> list[tuple[str, str, list[Result]]]:
    """Number, citation and results of each work; what is of none comes last."""
    found = [
        (source, citation, [r for r in results if r.experiment.startswith(source)])
        for source, citation in SOURCES.items()
    ]
    others = [r for r in results if r.experiment[:3] not in SOURCES]
    found.append(("Beside them", "Ours, on the data of several of them.", others))
    return [part for part in found if part[2]]


def _judged(result: Result) -> list[tuple[Finding, Published]]:
    claims = load(result.experiment).published
    return [(finding, claims[finding.claim]) for finding in result.findings]


def _counts(result: Result) -> list[str]:
    outcomes = [finding.outcome for finding in result.findings]
    return [str(outcomes.count(outcome) or "") for outcome in OUTCOMES]


def _summary(results: Sequence[Result]) -> list[str]:
    parts = []
    for heading, citation, own in _by_source(results):
        rows = [([r.experiment, load(r.experiment).title, *_counts(r)], False) for r in own]
        text = table(("item", "what", *OUTCOMES), rows)
        for result in own:
            name = escape(result.experiment)
            link = f'<a href="#{name}" style="white-space:nowrap">{name}</a>'
            text = text.replace(f"<td>{name}</td>", f"<td>{link}</td>")
        parts += [f"<h3>{escape(heading)}</h3>", paragraph(citation, "quiet"), text]
    return parts


def _item(result: Result) -> str:
    experiment = load(result.experiment)
    rows = [
        (
            (
                finding.outcome,
                f"{claim.says} ({claim.where})",
                _shown(claim.value),
                _shown(finding.by_source),
                _shown(finding.tight),
                finding.found
                + (f" [Counts as reproduced: {finding.within}.]" * bool(finding.within)),
            ),
            finding.outcome == "refuted",
        )
        for finding, claim in _judged(result)
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
