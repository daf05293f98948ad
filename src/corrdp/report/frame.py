"""The frame of a page: escaped HTML, its style, figures as SVG.

A page has its style inside it and fetches nothing. Figures are small, without metadata, and in
colours that follow the page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from corrdp.plots import DARK, VARIABLE, css_shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_POWER = "$\\mathdefault{"  # as logarithmic axes write theirs
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
        _as_written(figure)
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
    text = re.sub(r"\b(fill|stroke): (#[0-9a-f]{6})\b", _following, text)
    text = re.sub(r"\n\s*", "\n", text)
    label = escape(title)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


def _as_written(figure: Any) -> None:
    """Names from the data are no formulas: a dollar is a dollar, which else breaks the picture."""
    from matplotlib.text import Text

    for ax in figure.axes:  # the labels of ticks are made when they are asked for
        ax.get_xticklabels(), ax.get_yticklabels()
    for text in figure.findobj(Text):
        if not text.get_text().startswith(_POWER):
            text.set_parse_math(False)


def _following(found: re.Match[str]) -> str:
    """A shade in light, and in browsers that can mix colours its like in dark."""
    mixed = css_shade(found[2])
    return found[0] if mixed is None else f"{found[0]}; {found[1]}: {mixed}"


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


_RULES = """
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:46rem;margin:0 auto;padding:1rem 1rem 3rem}
h1{font-size:1.35rem;line-height:1.25;margin:.6rem 0 .2rem}
h2{font-size:1.05rem;margin:2rem 0 .4rem;padding-top:.8rem;border-top:1px solid var(--rule)}
h3{font-size:.95rem;margin:1rem 0 .2rem}
p,ul,ol{margin:.4rem 0}
ul,ol{padding-left:1.3rem}
li{margin:.2rem 0}
.answer{font-size:2.4rem;font-weight:650;line-height:1.15;color:var(--accent);margin:.6rem 0 0;
 overflow-wrap:anywhere}
.quiet{color:var(--muted);font-size:.9rem}
.against{color:var(--alarm);font-weight:600}
.promise{border-left:4px solid var(--accent);padding:.2rem 0 .2rem .8rem;margin:1rem 0}
.promise.against{border-color:var(--alarm)}
figure{margin:.8rem 0}
figure svg{width:100%;height:auto;max-width:34rem;display:block}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.25rem .9rem .25rem 0;
 border-bottom:1px solid var(--rule)}
th{font-weight:600}
.tight td{white-space:nowrap}
tr.best td{font-weight:650}
code{font-size:.85rem;overflow-wrap:anywhere}
"""
# even if something slipped into the page, a browser would fetch nothing and run nothing
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def _variables(colours: dict[str, str]) -> str:
    return ";".join(f"{VARIABLE[colour]}:{shown}" for colour, shown in colours.items())


def page(title: str, body: str) -> str:
    """A whole HTML document around ``body``.

    Examples
    --------
    >>> page("A & B", "<p>x</p>").count("A &amp; B")
    1
    """
    light = _variables({colour: colour for colour in VARIABLE})
    style = (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}{_RULES}"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
