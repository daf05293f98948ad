"""Every example in the README and the docs runs: Python prompts as doctests, commands as typed."""

from __future__ import annotations

import ast
import doctest
import importlib
import os
import re
import runpy
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import corrdp
from corrdp.cli.commands import app
from corrdp.models.chains.markov import MarkovChain
from tests.helpers.rows import write_audited, write_tables, write_walks

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = sorted(page for end in ("md", "rst") for page in DOCS.glob(f"*.{end}"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]
THEOREMS = sorted((DOCS / "theorems").glob("*.md"))


# files that a page's Python or commands read, beside those of every page
READS = {"audit.md": write_audited, "engines.md": write_walks, "fit.md": write_walks}
# examples marked +SKIP, and what must be installed for them
NEEDS = {"engines.md": "pyspark", "comparison.md": "dp_accounting"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_examples(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tables()
    READS.get(page.name, bool)()
    failed, _ = doctest.testfile(str(page), module_relative=False)
    assert failed == 0


def skipped_examples(page: Path) -> None:
    """Run a page with the examples that are skipped where something is not installed."""
    text = page.read_text().replace("+SKIP", "-SKIP")
    Path(page.name).write_text(text)
    failed, _ = doctest.testfile(str(Path(page.name).resolve()), module_relative=False)
    assert failed == 0


def test_dp_accounting_does_the_same_job(tmp_path, monkeypatch):
    pytest.importorskip("dp_accounting", reason="pip install 'corrdp[interop]'")
    monkeypatch.chdir(tmp_path)
    skipped_examples(DOCS / "comparison.md")


def test_what_is_skipped_runs_elsewhere():
    assert {page.name for page in PAGES if "+SKIP" in page.read_text()} == set(NEEDS)


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.S)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def run(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of a shell: a command of corrdp's that succeeds, or a setting."""
    name, *arguments = shlex.split(line)
    if name == "export":
        (setting,) = arguments
        monkeypatch.setenv(*setting.split("=", 1))
        return
    assert name == "corrdp"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"


# many commands on many points
SLOW = {"trajectories.md"}
# its Python writes the file that its commands read
WRITES = {"tutorial.md"}


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
        f"{'NA' if k < 5 else w},2012-10-{1 + k // 96:02d},{k % 96}" for k, w in enumerate(walked)
    ]
    Path("activity.csv").write_text("steps,date,interval\n" + "\n".join(rows) + "\n")
    write_tables()
    READS.get(page.name, bool)()
    # "python" is this one, and the page's own module no other test's
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.delitem(sys.modules, "mymodule", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    if page.name in WRITES:
        doctest.testfile(str(page), module_relative=False)
    for line in commands(page):
        if "--engine spark" not in line:
            run(line, monkeypatch)
    sys.modules.pop("mymodule", None)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("spark_session")
def test_the_page_on_engines_with_spark(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_walks()
    page = DOCS / "engines.md"
    skipped_examples(page)
    for line in commands(page):
        run(line, monkeypatch)
    (script,) = re.findall(r"```python\n# fit_walk.py\n(.*?)```", page.read_text(), flags=re.S)
    Path("fit_walk.py").write_text(script)
    monkeypatch.setattr(sys, "argv", ["fit_walk.py", "walk.parquet"])
    Path("model.json").unlink()
    runpy.run_path("fit_walk.py")
    assert Path("model.json").exists()


FENCE = re.compile(r"^ *```(.*)\n((?:.*\n)*?) *```$", re.M)
# what no test can run: page, kind of fence, how it begins, and why
ALLOWED = {
    ("app.md", "text", "pip install"): "installs, and serves until it is stopped",
    ("tutorial.md", "text", "pip install"): "installs",
    ("engines.md", "bash", "pip install"): "installs",
    ("engines.md", "bash", "spark-submit"): "wants a YARN cluster",
    ("engines.md", "bash", "export SPARK_REMOTE"): "wants a Spark Connect server",
    ("engines.md", "python", "# fit_walk.py"): "a file, run by the test with Spark",
    ("fit.md", "json", '{"corrdp": 1'): "the form of a file, with dots for its digest",
    ("architecture.md", "text", ""): "pictures, whose paths have a test of their own",
}


def test_every_block_of_code_runs():
    """Prompts and commands run, above; directives are the builder's; the rest has a reason."""
    used = set()
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    texts = {path.relative_to(ROOT): path for path in [ROOT / "README.md", *DOCS.rglob("*.md")]}
    texts[Path("CONTRIBUTING.md")] = ROOT / "CONTRIBUTING.md"
    for name, page in texts.items():
        if "_build" in page.parts:
            continue
        assert len(re.findall(r"^ *```", page.read_text(), re.M)) % 2 == 0, name
        for kind, body in FENCE.findall(page.read_text()):
            lines = body.splitlines()
            if kind.startswith("{"):
                assert kind.split()[0] in ("{toctree}", "{math}", "{include}"), f"{name}: {kind}"
            elif kind == "console":
                assert page in PAGES, name
                assert all(line.startswith("$ ") for line in lines), f"{name}: {body}"
            elif kind == "python" and body.startswith(">>> "):
                assert page in PAGES, name
                assert not lines[-1], f"{name}: the fence would be taken for output of\n{body}"
            elif not kind and name.name in ("README.md", "CONTRIBUTING.md"):
                made = [line.split()[1] for line in lines if line.startswith("make ")]
                assert set(made) <= set(targets), name
                assert len(lines) == len(made) + body.count("pre-commit install"), name
            else:
                why = {key for key in ALLOWED if key[:2] == (page.name, kind)}
                why = {key for key in why if body.startswith(key[2])}
                assert why, f"{name}: neither a prompt nor a command nor allowed:\n{body}"
                used |= why
    assert used == set(ALLOWED)
    shown = "".join(page.read_text() for page in DOCS.rglob("*.rst"))
    known = {"plot", "autofunction", "autoclass", "autoexception"}
    assert set(re.findall(r"^ *\.\. ([\w:-]+)::", shown, re.M)) == known
    assert not re.search(r"^(?! *\.\. ).*::$", shown, re.M)


def test_demo(tmp_path, monkeypatch, capsys):
    """``make demo``, of the README."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    assert "five-minute steps with walking" in capsys.readouterr().out
    assert (tmp_path / "demo" / "report.html").exists()


def anchors(page: Path) -> list[str]:
    """The names of a page's headings in links, as GitHub and Sphinx make them."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M)
    return [re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-") for title in titles]


def test_links_lead_somewhere():
    for page in [*PAGES, *THEOREMS]:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text()):
            if target.startswith("http"):
                continue
            to = page.parent / target if target else page
            assert to.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(to), f"{page.name}: {target}#{anchor}"


def below(page: Path) -> set[Path]:
    """A page of the site and those that its tables of contents lead to."""
    trees = re.findall(r"```{toctree}\n(.*?)```", page.read_text(), re.S)
    lines = [line for tree in trees for line in tree.splitlines() if line[:1].isalpha()]
    listed = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]  # a page, or title <page>
    found = [[*page.parent.glob(f"{name}.md"), *page.parent.glob(f"{name}.rst")] for name in listed]
    return {page}.union(*(below(to) for (to,) in found))


def test_every_page_is_in_the_site():
    pages = {path for end in ("md", "rst") for path in DOCS.rglob(f"*.{end}")}
    assert below(DOCS / "index.md") == {page for page in pages if "_build" not in page.parts}


def test_every_public_name_has_one_entry_in_the_api():
    entry = re.compile(r"^\.\. auto(?:function|class|exception):: (\S+)$", re.M)
    shown = [
        name for page in (DOCS / "api").glob("*.rst") for name in entry.findall(page.read_text())
    ]
    spaces = {name: getattr(corrdp, name) for name in corrdp.__all__ if name.islower()}
    spaces = {name: space for name, space in spaces.items() if hasattr(space, "__all__")}
    public = [f"corrdp.{name}" for name in corrdp.__all__ if name not in spaces]
    public += [f"corrdp.{space}.{name}" for space in spaces for name in spaces[space].__all__]
    assert sorted(shown) == sorted(public)


THEOREM = re.compile(r"\b[a-z][a-z-]+#[a-z][a-z-]*")


def references() -> list[tuple[str, set[str]]]:
    """Where certificates are made, and the theorems that are named there.

    A reference that is put together before the call counts as what its file names.
    """
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        if "Certificate(" not in text:
            continue
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        here = vars(importlib.import_module(module))
        for call in ast.walk(ast.parse(text)):
            if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "Certificate":
                continue
            said = ast.unparse(call)
            if ".reference" in said:  # hands on that of another
                continue
            names = [node.id for node in ast.walk(call) if isinstance(node, ast.Name)]
            said += " ".join(str(here[name]) for name in names if name in here)
            if not isinstance(call.args[1], ast.Constant):
                said = said if THEOREM.search(said) else text
            found.append((f"{path}:{call.lineno}", set(THEOREM.findall(said))))
    return found


def test_every_certificate_has_an_anchor():
    made = references()
    assert len(made) > 60
    for place, cited in made:
        assert cited.intersection(sections()), place


def test_links_inside_the_built_site_are_checked(tmp_path):
    broken = runpy.run_path(str(DOCS / "links.py"))["broken"]
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">x</a><img src="a.png"><p id="p"><a href="#p">'
    )
    (tmp_path / "b.html").write_text('<h2 id="there"></h2><a href="https://example.org/x">x</a>')
    assert broken(tmp_path) == ["a.html: a.png"]
    (tmp_path / "b.html").write_text('<h2 id="here"></h2>')
    assert broken(tmp_path) == ["a.html: a.png", "a.html: b.html#there"]


def test_paths_lead_somewhere():
    """Whole paths from the top, and in the pictures of the architecture from the library."""
    for page in [*PAGES, *THEOREMS]:
        for path in re.findall(r"`((?:src|tests|reproduction|docs)/[\w./-]*)`", page.read_text()):
            assert (ROOT / path).exists() or path.startswith("docs/_build"), f"{page.name}: {path}"
    pictures = re.findall(r"```text.*?```", (ROOT / "docs" / "architecture.md").read_text(), re.S)
    for path in re.findall(r"\b(?:\w+/)+\w+\.py", "".join(pictures)):
        assert (ROOT / "src" / "corrdp" / path).exists(), path


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("CITATION.cff", "version: {}"),
        ("reproduction/pyproject.toml", 'version = "{}"'),
    ],
)
def test_one_version_everywhere(file, line):
    assert line.format(corrdp.__version__) in (ROOT / file).read_text().splitlines()


def sections() -> dict[str, str]:
    """The theorems by their ids, ``family#anchor``."""
    return {
        f"{page.stem}#{anchor}": text
        for page in THEOREMS
        for anchor, text in zip(
            anchors(page)[1:],
            re.split(r"^## ", page.read_text(), flags=re.M)[1:],
            strict=True,
        )
    }


def test_theorems_and_code_name_each_other():
    for theorem, text in sections().items():
        if theorem.startswith("index#"):
            continue
        (code,) = re.findall(r"^\*Code:\* (.*)$", text, flags=re.M)
        (tests,) = re.findall(r"^\*Tests:\* (.*)$", text, flags=re.M)
        assert re.search(r"`(tests|reproduction/tests)/", tests), theorem
        places = [ROOT / path for path in re.findall(r"`([a-z]+/[^`]*)`", code)]
        files = [f for place in places for f in (place.glob("*.py") if place.is_dir() else [place])]
        assert any(theorem in file.read_text() for file in files), theorem


def test_theorems_have_one_name():
    names = [theorem.partition("#")[2] for theorem in sections()]
    assert len(set(names)) == len(names)
    families = "|".join(page.stem for page in THEOREMS)
    places = [ROOT / place for place in ("src", "tests", "reproduction", "examples")]
    cited = set()
    for path in (path for place in places for path in place.rglob("*.py")):
        text = path.read_text()
        cited |= set(re.findall(rf"\b(?:{families})#[a-z][a-z-]*", text))
        assert not re.search(r"\btheorem [A-Z]-\d|theorems\.md#", text), path
    assert {"chains#transfer", "composition#accounting"} <= cited
    assert cited <= set(sections())


def test_speed_page_shows_the_results_kept():
    """``python benchmarks/_page.py`` draws the page anew from benchmarks/results."""
    import subprocess
    import sys

    code = "from _page import page, read; print(page(read()), end='')"
    drawn = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "benchmarks", capture_output=True, text=True
    )
    assert drawn.stdout == (ROOT / "docs" / "benchmarks.md").read_text(), drawn.stderr
