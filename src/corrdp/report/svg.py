"""Figures as inline SVG: small, without metadata, and with colours that follow the page."""

from __future__ import annotations

import html
import io
import re
from typing import TYPE_CHECKING

from corrdp.plots.style import VARIABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def inline_svg(ax: Axes, name: str, title: str) -> str:
    """The figure of ``ax`` as an ``<svg>`` element to paste into a page.

    Text stays text (small and selectable), identifiers carry ``name`` so that several figures
    live on one page, colours become CSS variables, and nothing points outside the file.

    Parameters
    ----------
    ax : matplotlib Axes
    name : str
        Prefix of the identifiers.
    title : str
        What the picture shows, for those who cannot see it.
    """
    import matplotlib

    figure = ax.get_figure(root=True)
    assert figure is not None
    buffer = io.StringIO()
    # a fixed salt makes the same figure give the same bytes
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\s(xmlns(:\w+)?|version)="[^"]*"', "", text)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(r'(<svg[^>]*?)\swidth="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?)\sheight="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"'DejaVu Sans'[^;\"]*", _FONT, text)
    for colour, variable in VARIABLE.items():
        text = text.replace(colour, f"var({variable})")
    text = re.sub(r"\n\s*", "\n", text)
    label = html.escape(title, quote=True)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()
