"""Pieces of HTML whose text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from corrdp.report.svg import inline_svg


def paragraph(text: str, kind: str = "") -> str:
    """One paragraph, of a class of the style sheet."""
    mark = f' class="{kind}"' if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def listing(texts: Iterable[str]) -> str:
    """A list with bullets."""
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def table(
    head: Iterable[str], rows: Iterable[tuple[Iterable[str], bool]], kind: str = "wide"
) -> str:
    """A table whose cells are escaped; the flag of a row sets it in bold."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr{' class=best' if best else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for cells, best in rows
    )
    return f'<div class="{kind}"><table><tr>{top}</tr>{body}</table></div>'


def figure(ax: Any, name: str, title: str) -> str:
    """A picture inside the page."""
    return f"<figure>{inline_svg(ax, name, title)}</figure>"
