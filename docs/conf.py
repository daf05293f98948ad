"""The site: ``make docs`` builds it from the pages that are read on GitHub too."""

from corrdp import __version__

project = "corrdp"
copyright = "corrdp contributors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.mathjax"]
exclude_patterns = ["_build"]
# links of the form page.md#section, as on GitHub
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "corrdp"
html_static_path = ["_static"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 8,
}
# a page without pages below it has nothing to show at its left
html_sidebars = {"*": [], "theorems/*": ["sidebar-nav-bs"]}
# fetched by mathjax.py: the built site asks nobody else for anything
mathjax_path = "mathjax/tex-svg-full.js"
