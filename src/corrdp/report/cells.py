"""The cells of a release for people: numbers with the digits that noise leaves, and intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from corrdp.queries import Mean, Quantile
from corrdp.release.cells import CellTable, Tables
from corrdp.release.number import Release
from corrdp.report.frame import paragraph, table
from corrdp.report.words import in_words, number

_MOST = 400  # cells in a page; the files hold them all
_OPEN = 31  # more cells than this are folded away: the chart shows them


@dataclass(frozen=True)
class AnswerTable:
    """One table for people: its title, the names of its columns, and rows of texts."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def answer_tables(release: Release) -> list[AnswerTable]:
    """The tables of a release with two intervals: for each cell by itself, and for all at once.

    Examples
    --------
    >>> import pyarrow as pa, corrdp as cdp
    >>> rows = pa.table({"ill": [True, False] * 40, "ward": ["a", "b"] * 40})
    >>> query = cdp.Count(where="ill", by="ward", public_columns=["ward"])
    >>> answer = cdp.calibrate(cdp.Independent(), 1.0, query=query).release(rows)
    >>> answer_tables(answer)[0].head
    ('ward', 'count', '95 % interval', '95 % for all cells')
    """
    together = Tables(release.tables, release.nonnegative)
    return [_shown(together, k) for k in range(len(release.tables))]


def _shown(together: Tables, k: int) -> AnswerTable:
    told = together.tables[k]
    query = told.asked
    shares = isinstance(query, Quantile)
    one, joint = (together.intervals(k, joint=at_once) for at_once in (False, True))
    shown = _digits(told)
    rows = []
    for cell, value, own, both in zip(told.cells, told.values, one, joint, strict=True):
        pairs = [
            f"{100 * low:.1f} to {100 * high:.1f} % of records"
            if shares
            else f"{shown(low)} to {shown(high)}"
            for low, high in ([own, both] if len(told.cells) > 1 else [own])
        ]
        rows.append((*map(str, cell), shown(value), *pairs))
    ends = ("95 % interval", "95 % for all cells")[: 2 if len(told.cells) > 1 else 1]
    title = in_words(query) if len(together.tables) > 1 else ""
    kind = query.kind if told.running is None else "running total"
    return AnswerTable(title, (*told.names, kind, *ends), tuple(rows))


def _digits(told: CellTable) -> Callable[[float], str]:
    """How to write a number with the digits that its noise leaves meaningful."""
    query = told.asked
    if isinstance(query, Quantile):
        return lambda value: f"{value:,.6g}"
    scale = told.scale
    if isinstance(query, Mean):
        sizes = told.sizes if told.counts is None else told.counts.values
        scale /= max([1.0, *map(float, sizes)])
    grid = 1.0 if told.is_rounded else told.grid
    return lambda value: number(value, scale, grid)


def cells_section(release: Release) -> str:
    """The cells of every table, with their intervals."""
    parts = []
    for section in answer_tables(release):
        if section.title:
            parts.append(f"<h3>{escape(section.title)}</h3>")
        cells = table(section.head, ((row, False) for row in section.rows[:_MOST]))
        if (more := len(section.rows) - _MOST) > 0:
            cells += paragraph(f"and {more:,} more cells, in the files.", "quiet")
        if len(section.rows) > _OPEN:
            told = f"all {len(section.rows):,} cells with their intervals"
            cells = f"<details><summary>{told}</summary>{cells}</details>"
        parts.append(cells)
    return "".join(parts)
