"""Arrows between the rooms of the house point one way, at import time and inside functions.

Imports for the type checker alone are no arrows. Methods that are only spelling (``cal.release``)
go upwards through one door, :func:`corrdp.results.verb`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import corrdp

ROOT = Path(corrdp.__file__).parent
# releases lie below those who read them: account, risk and audit take a release
RANKS = (
    ("errors",),
    ("_lazy", "_compiled", "_checks", "_files", "_invert"),
    ("_json", "_binomial", "_numerals", "_tabular"),
    ("guarantees", "queries", "results", "plots"),
    ("tables", "metric"),
    ("mechanisms",),
    ("models",),
    ("bounds",),
    ("calibration",),
    ("ledgers",),
    ("release",),
    ("accounting", "reconstruction", "auditing"),
    ("linting", "attacks"),
    ("trajectories", "partial"),
    ("report",),
    ("local", "pedigrees", "plans"),
    ("app",),
    ("cli",),
    ("__main__",),
)
RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and room of every import of the library, but those for the type checker."""
    tree = ast.parse(source)
    typed = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in typed:
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "corrdp":
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("corrdp."):
            yield node.lineno, str(node.module).split(".")[1]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("corrdp.")]
            yield from ((node.lineno, name.split(".")[1]) for name in names)


def wrong_arrows(path: Path) -> list[str]:
    """Imports of a file that lead to its own rank or upwards."""
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return [
        f"{path.relative_to(ROOT)}:{line} imports {to}"
        for line, to in imports(path.read_text())
        if to not in (room, "__version__") and RANK.get(to, -1) >= RANK[room]
    ]


def test_every_room_has_a_rank():
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert rooms - {"__init__", "__pycache__", "py"} <= set(RANK)


def test_the_page_on_the_house_shows_it():
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()
    told = re.search(r"\| rooms, lowest first.*?\n\n", page, flags=re.S)
    assert told is not None
    cells = [row.split("|")[1] for row in told[0].splitlines()[2:] if row]
    public = [tuple(room for room in rooms if room[0] != "_") for rooms in RANKS]
    assert [tuple(re.findall(r"`(\w+)`", cell)) for cell in cells] == [r for r in public if r]


def test_arrows_point_downwards():
    found = [
        arrow
        for path in sorted(ROOT.rglob("*.py"))
        if path != ROOT / "__init__.py"
        for arrow in wrong_arrows(path)
    ]
    assert not found, "\n".join(found)


def test_the_library_never_imports_its_reproduction():
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[0] not in ("cli", "__init__.py", "_lazy.py"):
            assert "corrdp_reproduction" not in path.read_text(), path


@pytest.mark.parametrize(
    "line",
    [
        "from corrdp.cli.show import x",
        "def f():\n    from corrdp.report.page import x",
        "import corrdp.cli.show",
        "from corrdp import report",
    ],
)
def test_an_arrow_upwards_would_be_found(line):
    assert any(RANK[to] > RANK["bounds"] for _, to in imports(line))


def test_the_checker_shares_no_code_with_the_accountant():
    for path in (ROOT / "accounting" / "checker").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("corrdp"):
                assert str(node.module).startswith(("corrdp.accounting.checker", "corrdp.errors"))


def test_no_test_file_imports_another():
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests"):
                assert ".test_" not in str(node.module), f"{path} imports {node.module}"
