"""``corrdp warm``, and what is said when something is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import corrdp
from corrdp import _compiled
from corrdp.cli import warm
from corrdp.cli.commands import app

SOURCE = Path(corrdp.__file__).parent
# every kernel was compiled by some exercise: the ones that kernels call as well
COMPILED = """
import importlib, sys
from numba.core.dispatcher import Dispatcher
from corrdp.cli.warm import EXERCISES
for exercise in EXERCISES:
    exercise()
for name in sys.argv[1:]:
    for kernel in vars(importlib.import_module(name)).values():
        if isinstance(kernel, Dispatcher) and not kernel.signatures:
            print(kernel.py_func.__module__, kernel.py_func.__name__)
"""


@pytest.mark.slow
def test_it_compiles_every_kernel(tmp_path):
    files = [path for path in SOURCE.rglob("*.py") if "\n@njit" in path.read_text()]
    names = [".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in files]
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, *names],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(names) > 10
    assert done.stdout == ""
    assert any(Path(tmp_path).rglob("*.nbc"))


def test_the_command(monkeypatch):
    done = []
    monkeypatch.setattr(warm, "EXERCISES", (lambda: done.append(1), lambda: done.append(2)))
    found = CliRunner().invoke(app, ["warm"])
    assert found.exit_code == 0
    assert done == [1, 2]
    assert "everything is compiled" in found.output


def test_without_a_place_it_is_no_use(monkeypatch):
    monkeypatch.setattr(warm, "place_for_compiled_code", lambda: False)
    found = CliRunner().invoke(app, ["warm"])
    assert found.exit_code == 2
    assert "NUMBA_CACHE_DIR" in found.output


def test_the_first_compilation_of_a_process_is_announced(monkeypatch):
    said = []
    monkeypatch.setattr(_compiled, "announce", lambda: said.append("compiling"))
    for _ in range(2):

        @_compiled.njit
        def twice(x):
            return x + x

        assert twice(2) == 4
    assert said == ["compiling"]
