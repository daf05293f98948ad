"""Starting is quick, and no module hides a public function."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import corrdp

HEAVY = ("scipy", "numba", "opendp", "ibis", "duckdb", "pandas", "matplotlib", "joblib")


def loaded_by(code: str, whole: bool = False) -> set[str]:
    """Modules in a fresh interpreter after running ``code``; only top-level ones if not whole."""
    report = f"{code}\nimport sys\nprint('loaded:', *sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    line = done.stdout.splitlines()[-1]
    assert line.startswith("loaded:")
    return {name if whole else name.partition(".")[0] for name in line.split()[1:]}


def test_import_is_light():
    assert not loaded_by("import corrdp").intersection(HEAVY)


COMMANDS = """
import sys
from corrdp.cli import main
for arguments in {commands}:
    sys.argv = ["corrdp", *arguments]
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 0, (arguments, stop.code)
"""


def test_help_does_not_even_import_numpy():
    commands = [["--help"], ["--version"], ["release", "--help"]]
    loaded = loaded_by(COMMANDS.format(commands=commands))
    assert not loaded.intersection((*HEAVY, "numpy"))


def test_verbs_load_what_they_need_and_no_more(tmp_path):
    data, model = str(tmp_path / "walk.csv"), str(tmp_path / "model.json")
    Path(data).write_text("t,s\n" + "".join(f"{t},{t // 3 % 2}\n" for t in range(60)))
    noise = ["--query", "count:s = 1", "--epsilon", ".5"]
    commands = [
        [
            "fit",
            data,
            "--state",
            "s = 1",
            "--order",
            "t",
            "--markov-order",
            "1",
            "--season",
            "none",
            "-o",
            model,
        ],
        ["leakage", model, "--epsilon", "1"],
        ["calibrate", model, *noise],
        ["release", data, "--model", model, *noise],
    ]
    loaded = loaded_by(COMMANDS.format(commands=commands), whole=True)
    assert {"duckdb", "opendp.measurements", "scipy.special"} <= loaded
    needless = {"scipy.stats", "scipy.optimize", "opendp.prelude", "pandas", "sklearn", "polars"}
    assert not loaded & (needless | {"matplotlib", "joblib"})


def test_statistics_of_scipy_are_loaded_for_sobol_numbers_alone():
    files = Path(corrdp.__file__).parent.rglob("*.py")
    users = [f.name for f in files if re.search(r"(from|import) scipy\.stats", f.read_text())]
    assert users == ["clipped.py"]


def submodules() -> list[str]:
    found = pkgutil.walk_packages(corrdp.__path__, "corrdp.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def test_every_verb_works_after_every_module_was_imported():
    modules = [importlib.import_module(name) for name in submodules()]
    functions = {name for name in corrdp.__all__ if inspect.isfunction(getattr(corrdp, name))}
    assert {"leakage", "calibrate", "load_model"} <= functions
    children = {module.__name__ for module in modules if module.__name__.count(".") == 1}
    assert not functions.intersection(name.removeprefix("corrdp.") for name in children)

    chain = corrdp.MarkovChain.fit([[0, 0, 1, 1, 0, 1, 0, 0]])
    assert corrdp.leakage(chain, 1.0).value > 1
    calibration = corrdp.calibrate(chain, 1.0, query=corrdp.Count(1))
    assert calibration.epsilon < 1
    assert isinstance(calibration.release([0, 1, 1]).value, int)


def test_without_the_reproductions_the_line_that_installs_them_is_said():
    code = (
        "import sys; sys.modules['corrdp_reproduction'] = None; "
        "sys.argv = ['corrdp', 'reproduce', '--list']; from corrdp.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install corrdp-reproduction" in done.stderr
