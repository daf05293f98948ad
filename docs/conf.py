"""The site: ``make docs`` builds it from the pages that are read on GitHub too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.addnodes import pending_xref

from corrdp import __version__

project = "corrdp"
copyright = "corrdp contributors"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.mathjax",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "matplotlib.sphinxext.plot_directive",
]
exclude_patterns = ["_build"]
# links of the form page.md#section, as on GitHub
myst_heading_anchors = 3

# types stand in the docstrings, in words
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# the gallery: pictures that scale, below their code
plot_include_source = True
plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False

html_theme = "pydata_sphinx_theme"
html_title = "corrdp"
html_static_path = ["_static"]
html_show_sourcelink = False
# a page without pages below it has nothing to show at its left
html_sidebars = {page: [] for page in ("index", "start", "tutorial", "gallery", "glossary")}
html_theme_options = {
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 8,
    "navbar_align": "left",  # one row beside the search field
}
# fetched by mathjax.py: the built site asks nobody else for anything
mathjax_path = "mathjax/tex-svg-full.js"

# links inside the site are checked by links.py
linkcheck_ignore = [r"\.\./theorems/"]

_FAMILIES = "|".join(page.stem for page in Path(__file__).parent.glob("theorems/*.md"))
_THEOREM = re.compile(rf"(`*)\b((?:{_FAMILIES})#[a-z][a-z-]*|docs/theorems)\b(?!/)\1")


def link_theorems(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn ``chains#transfer`` in a docstring into a link, outside of examples."""
    example = False
    for k, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and line.strip() != "")
        if not example:
            lines[k] = _THEOREM.sub(_link, line)


def _link(found: re.Match[str]) -> str:
    page, mark, anchor = found[2].partition("#")
    place = f"{page}.html#{anchor}" if mark else "index.html"
    return f"`{found[2]} <../theorems/{place}>`__"


def unlink_words(app: Any, doctree: Any) -> None:
    """Types are given in words, and a word such as ``guarantee`` is no class: only names link."""
    for node in list(doctree.findall(pending_xref)):
        if node.get("refspecific") and not node["reftarget"][:1].isupper():
            node.replace_self(node.children)


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", link_theorems)
    app.connect("doctree-read", unlink_words)
