"""The page ``docs/neighbours.md``: every number is computed when it is written."""

from __future__ import annotations

from textwrap import fill

from corrdp_reproduction.neighbours import gaussians, laplaces
from corrdp_reproduction.neighbours.base import NEIGHBOURS, Section, version
from corrdp_reproduction.neighbours.only import only

_HEAD = """# corrdp next to its neighbours

Where corrdp and its neighbours answer the same question, the answers are put side by side: one run,
the same inputs. riskcal and dp-accounting are an optional extra
(`pip install riskcal dp-accounting`); OpenDP comes with corrdp. This page is written by
`python -m corrdp_reproduction.neighbours > docs/neighbours.md`, and a test writes it again.

`=` is the same number, to the digits that the neighbour's method promises: 1e-12 for a closed form,
1e-6 for privacy losses in steps of 1e-4. `>=` is a bound that may be larger, `<=` a smaller
number of someone who knows more. A dash: no such number, or not by a call of its own.
"""


def sections() -> tuple[Section, ...]:
    """The tables of the page, computed now."""
    return (
        gaussians.one_release(),
        gaussians.composed(),
        gaussians.scales(),
        laplaces.levels(),
        laplaces.scales(),
        laplaces.risks(),
        only(),
    )


def page() -> str:
    """The page as Markdown."""
    found = sections()
    kept = [
        answer.agrees(row.ours)
        for section in found
        for row in section.rows
        for answer in row.answers
        if row.ours is not None and answer.value is not None
    ]
    parts = [_HEAD, versions(), f"{sum(kept)} of {len(kept)} promises are kept.\n"]
    for section in found:
        parts += [f"## {section.title}\n", fill(section.words, 100) + "\n", _table(section)]
    return "\n".join(parts)


def versions() -> str:
    """Which neighbours took part.

    Examples
    --------
    >>> versions().startswith("Versions: ")
    True
    """
    told = (f"{name} {version(name) or 'not installed here'}" for name in NEIGHBOURS)
    return f"Versions: {', '.join(told)}.\n"


def _table(section: Section) -> str:
    head = ["", "corrdp", "riskcal", "dp-accounting", "OpenDP"]
    lines = [head, ["---", *["---:"] * 4], *(row.cells() for row in section.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
