"""``corrdp docs``: the theorem behind a number, in the terminal, from pages that come along."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Annotated

import typer

from corrdp.errors import InputError

EXAMPLE = "Example: corrdp docs chains#transfer"
_HERE = Path(__file__).resolve().parents[1]
# a wheel holds the pages beside the package; a checkout has them in its docs
_PLACES = (_HERE / "theorems", _HERE.parents[1] / "docs" / "theorems")
_ESCAPED = re.compile(r"\\([*_~])")
_TYPESET = re.compile(r"^```\{math\}\n.*?^```\n+", re.M | re.S)


def docs(
    theorem: Annotated[
        str | None,
        typer.Argument(
            metavar="[THEOREM]",
            help="Its name in a certificate, such as chains#transfer; the last part is enough.",
        ),
    ] = None,
) -> None:
    """Print the theorem behind a certificate: statement, proof, code and tests.

    Without a name, list all of them.
    """
    from rich.console import Console
    from rich.markdown import Markdown

    found = theorems()
    console = Console()
    if theorem is None:
        print(*found, sep="\n")
        return
    text = found[_named(theorem, list(found))]
    # formulas in plain text hold stars and brackets: only a terminal is shown them typeset
    console.print(Markdown(text)) if console.is_terminal else print(_ESCAPED.sub(r"\1", text))


def theorems() -> dict[str, str]:
    """Every theorem by its name, ``page#section``, as Markdown."""
    folder = next((place for place in _PLACES if place.is_dir()), None)
    if folder is None:
        raise InputError("this installation came without the theorem pages: install corrdp anew")
    found = {}
    for page in sorted(folder.glob("*.md")):
        if page.stem == "index":
            continue
        # the site typesets below a statement what its plain text says already
        text = _TYPESET.sub("", page.read_text(encoding="utf-8"))
        for section in re.split(r"^## ", text, flags=re.M)[1:]:
            title = section.partition("\n")[0].strip()
            anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
            found[f"{page.stem}#{anchor}"] = f"## {section.strip()}"
    return found


def _named(asked: str, names: list[str]) -> str:
    wanted = asked.strip().lower()
    matching = [name for name in names if wanted in (name, name.partition("#")[2])]
    if matching:
        return matching[0]
    parts = {part: name for name in names for part in (name, name.partition("#")[2])}
    near = dict.fromkeys(parts[part] for part in difflib.get_close_matches(wanted, parts))
    hint = f"did you mean {' or '.join(near)}?" if near else "corrdp docs lists all of them"
    raise InputError(f"there is no theorem called {asked!r}; {hint}")
