"""The application decides nothing about privacy: it calls the verbs, and shows what they say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import corrdp

FILES = sorted((Path(corrdp.__file__).parent / "app").glob("*.py"))
# verbs and what they return; files, words and pictures; nothing that bounds, draws or adds up
ALLOWED = {
    "corrdp",
    "corrdp._checks",
    "corrdp._tabular",
    "corrdp.calibration.searching",  # may these levels be handed out?
    "corrdp.release.charged",  # the level that a ledger books
    "corrdp.errors",
    "corrdp.ledgers.ledger",
    "corrdp.queries",
    "corrdp.queries.keys",
    "corrdp.release.signatures",
    "corrdp.tables.overview",
    "corrdp.tables.source",
    "corrdp.trajectories",
    "corrdp.trajectories.mechanisms.publishing",  # the rows of what is published
}
ALLOWED_BELOW = ("corrdp.app", "corrdp.plots", "corrdp.report")
REFUSED = {"opendp", "scipy", "numba", "random"}
VERBS = {
    *("check", "diagnose", "leakage", "calibrate", "verify"),
    *("MarkovChain", "GaussianRecords", "MarkovField", "Independent", "Ledger"),
    *("Count", "Histogram", "Mean", "Quantile", "Sum"),
}
OF_MOVEMENTS = {
    *("read_trajectories", "discretise", "inspect_movements", "rows_of", "Grid"),
    *("ElementCounts", "ElementTable", "NgramTree", "PlanarCells", "PrefixTree", "Trajectories"),
}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_privacy_logic_is_imported(path):
    for name in imported(path):
        assert name.partition(".")[0] not in REFUSED, name
        if name.partition(".")[0] == "corrdp" and not name.startswith(ALLOWED_BELOW):
            assert name in ALLOWED, f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_of_the_public_names_only_verbs_models_and_queries_are_used(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert node.value.id != "cdp" or node.attr in VERBS, f"{path.name}: cdp.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module == "corrdp":
            assert {alias.name for alias in node.names} <= VERBS
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "corrdp.trajectories"
        ):
            assert path.name == "walks.py"
            assert {alias.name for alias in node.names} <= OF_MOVEMENTS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_short(path):
    assert len(path.read_text().splitlines()) < 400


def test_only_the_work_of_children_calls_verbs_that_take_long():
    for path in FILES:
        if path.name not in ("work.py", "previews.py"):
            names = {
                node.id
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Name)
            }
            assert "cdp" not in names, path.name
