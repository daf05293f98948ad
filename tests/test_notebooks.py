"""The notebooks run, from the first cell to the last, and are kept without outputs."""

from __future__ import annotations

import ast
import json
import os
import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def cells(path: Path, kind: str) -> list[str]:
    found = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_runs(path, real, tmp_path, monkeypatch, capsys):
    """In one namespace; the last expression of a cell is shown, as Jupyter would."""
    code = cells(path, "code")
    if not real:
        monkeypatch.delenv("CORRDP_DATA", raising=False)
    elif "CORRDP_DATA" not in os.environ or not any("CORRDP_DATA" in text for text in code):
        pytest.skip("no real data for it")
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names: dict[str, object] = {}
    for k, text in enumerate(code):
        tree = ast.parse(text, f"{path.name}, cell {k}")
        *body, last = tree.body
        if not isinstance(last, ast.Expr):
            body, last = tree.body, None
        exec(compile(ast.Module(body, []), f"{path.name}, cell {k}", "exec"), names)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            assert text.rstrip().endswith(";") or len(f"{shown!r}") > 0
        plt.close("all")
    assert capsys.readouterr().out


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_without_outputs_and_reads_well(path):
    data = json.loads(path.read_text())
    for cell in data["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
            assert max(map(len, "".join(cell["source"]).splitlines())) <= 100
    first, *_ = cells(path, "markdown")
    assert first.startswith("# ")
    assert len(data["cells"]) <= 16


def test_the_site_lists_every_notebook():
    listed = re.findall(r"\(notebooks/([\w-]+)\.ipynb\)", (DOCS / "notebooks.md").read_text())
    assert sorted(listed) == [path.stem for path in NOTEBOOKS]
    assert len(NOTEBOOKS) == 3
