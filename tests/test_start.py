"""Starting is quick, and no module hides a public function."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import corrdp

HEAVY = ("scipy", "numba", "opendp", "ibis", "duckdb", "pandas", "matplotlib", "joblib")


def loaded_by(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after running ``code``."""
    report = f"{code}\nimport sys\nprint('loaded:', *sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    line = done.stdout.splitlines()[-1]
    assert line.startswith("loaded:")
    return {name.partition(".")[0] for name in line.split()[1:]}


def test_import_is_light():
    assert not loaded_by("import corrdp").intersection(HEAVY)


HELP = """
import sys
sys.argv = ["corrdp", {arguments}]
from corrdp.cli import main
try:
    main()
except SystemExit as stop:
    assert stop.code == 0, stop.code
"""


@pytest.mark.parametrize("arguments", ["'--help'", "'--version'", "'release', '--help'"])
def test_help_does_not_even_import_numpy(arguments):
    assert not loaded_by(HELP.format(arguments=arguments)).intersection((*HEAVY, "numpy"))


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
