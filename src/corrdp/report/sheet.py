"""The frame of the report: one page, its style inside it, nothing fetched from anywhere."""

from __future__ import annotations

import html

from corrdp.plots.style import DARK, VARIABLE

_RULES = """
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:46rem;margin:0 auto;padding:1rem 1rem 3rem}
h1{font-size:1.35rem;line-height:1.25;margin:.6rem 0 .2rem}
h2{font-size:1.05rem;margin:2rem 0 .4rem;padding-top:.8rem;border-top:1px solid var(--rule)}
p,ul,ol{margin:.4rem 0}
ul,ol{padding-left:1.3rem}
li{margin:.2rem 0}
.answer{font-size:2.4rem;font-weight:650;line-height:1.15;color:var(--accent);margin:.6rem 0 0;
 overflow-wrap:anywhere}
.quiet{color:var(--muted);font-size:.9rem}
.against{color:var(--alarm);font-weight:600}
.promise{border-left:4px solid var(--accent);padding:.2rem 0 .2rem .8rem;margin:1rem 0}
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
<title>{html.escape(title)}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
