"""Every example in the README and the docs runs: Python prompts as doctests, commands as typed."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corrdp.cli.app import app
from corrdp.models.chains.markov import MarkovChain

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


def write_tables() -> None:
    """The files that the pages on families, networks and pedigrees speak about."""
    plan = {
        "domain": {"type": "multiset", "atoms": ["yh", "ys", "oh", "os"]},
        "targets": ["unbounded", "bounded"],
        "releases": [
            {"id": "old", "eps": 1.0, "map": {"count": ["oh", "os"]}},
            {"id": "sick", "eps": 0.3, "map": {"count": ["ys", "os"]}},
        ],
        "claims": [{"target": "bounded", "eps": 1.3}],
    }
    Path("plan.json").write_text(json.dumps(plan))
    rng = np.random.default_rng(2)
    shared = rng.normal(0, 1, (200, 1))
    heights = np.array([69, 64, 67]) + 2 * (shared + rng.normal(0, 1.5, (200, 3)))
    rows = [",".join(f"{x:.2f}" for x in row) for row in heights]
    Path("heights.csv").write_text("father,mother,child\n" + "\n".join(rows) + "\n")
    ring = MarkovChain([[0.75, 0.25], [0.25, 0.75]], 400).sample(rng)
    people = [f"p{k},{'yes' if ill else 'no'}" for k, ill in enumerate(ring)]
    Path("people.csv").write_text("person,ill\n" + "\n".join(people) + "\n")
    links = [f"p{k},p{(k + 1) % 400}" for k in range(400)]
    Path("contacts.csv").write_text("one,other\n" + "\n".join(links) + "\n")
    trios = ["pid,id,fid,mid,rs1.a1,rs1.a2,rs2.a1,rs2.a2"]
    for k in range(40):
        one, two = rng.integers(1, 3, (2, 2, 2))
        kid = [(one[s, rng.integers(2)], two[s, rng.integers(2)]) for s in range(2)]
        for who, genes, parents in (
            (1, one, "0,0"),
            (2, two, "0,0"),
            (3, np.array(kid), "1,2"),
        ):
            codes = ",".join(str(x) for x in np.ravel(genes))
            trios.append(f"{k + 1},{who},{parents},{codes}")
    Path("trios.csv").write_text("\n".join(trios) + "\n")
    walked = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 300)
    points = [
        f"{39.9 + 0.05 * place},{116.3 + 0.001 * user},"
        f"2020-01-{1 + k // 288:02d} {k // 12 % 24:02d}:{k % 12 * 5:02d}:00,u{user}"
        for user in range(3)
        for k, place in enumerate(walked.sample(rng))
    ]
    Path("points.csv").write_text("lat,lng,datetime,uid\n" + "\n".join(points) + "\n")


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
