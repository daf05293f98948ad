"""Every example in the README and the docs runs: Python prompts as doctests, commands as typed."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corrdp.cli.app import app
from corrdp.models.chains.markov import MarkovChain
from tests.helpers.rows import write_tables

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_examples(page):
    failed, _ = doctest.testfile(str(page), module_relative=False)
    assert failed == 0


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.S)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


# many commands on many points
SLOW = {"trajectories.md"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if page.name in SLOW else [])
        for page in PAGES
        if commands(page)
    ],
    ids=lambda page: page.name,
)
def test_commands(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chain = MarkovChain([[0.88, 0.12], [0.3, 0.7]], 300)
    walked = chain.sample(np.random.default_rng(1)) * 17
    rows = [
        f"{'NA' if k < 5 else w},2012-10-{1 + k // 100:02d},{k % 100}" for k, w in enumerate(walked)
    ]
    Path("activity.csv").write_text("steps,date,interval\n" + "\n".join(rows) + "\n")
    write_tables()
    for line in commands(page):
        name, *arguments = shlex.split(line)
        assert name == "corrdp"
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", page.read_text()):
            if target and not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_certificate_has_its_section():
    """Certificates point into docs/theorems.md; the sections exist."""
    text = (ROOT / "docs" / "theorems.md").read_text()
    titles = [line[3:].strip().lower() for line in text.splitlines() if line.startswith("## ")]
    anchors = {title.replace(" ", "-") for title in titles}
    sources = "".join(p.read_text() for p in (ROOT / "src").rglob("*.py"))
    cited = set(re.findall(r"docs/theorems\.md#([a-z-]+)", sources))
    assert cited
    assert cited <= anchors
