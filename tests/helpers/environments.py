"""The wheel in environments other than ours: other Pythons, and the lowest dependencies.

``make test-pythons`` and ``make test-lowest`` run it after ``make dist``. Each environment is made
anew in build/, gets the wheel with the extra ``all``, goes the way of a user
(``tests/helpers/wheel.py``) and then runs a few test files against what was installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
BUILD = ROOT / "build"
PYTHONS = ("3.11", "3.12", "3.13")
UNTESTED = "3.14"  # may work; nothing here says so
INSTALLED = ("tables", "noise", "plots", "cli")  # the extra "all"
# quick, and together they touch every dependency
SMOKE = (
    "tests/test_guarantees.py",
    "tests/bounds/test_registry.py",
    "tests/cli/test_show.py",
    "tests/mechanisms/test_discrete.py",
    "tests/tables/test_reading.py",
)


def interpreter(version: str) -> Path | None:
    """A Python of this version, by its name or from pyenv; None where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    for path in filter(None, found):
        told = subprocess.run([str(path), "-c", code], capture_output=True, text=True)
        if told.returncode == 0 and told.stdout.strip() == version:
            return Path(path)
    return None


def lowest() -> list[str]:
    """The lower bounds in pyproject.toml, of what a user installs, as exact versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(text for extra in INSTALLED for text in extras[extra])]
    bounds = [re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", text) for text in asked]
    if not all(bounds):
        raise SystemExit(f"every dependency needs a lower bound, name>=version: {asked}")
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


def try_in(name: str, python: Path, constraints: list[str]) -> None:
    """Install the wheel and go through it; an error ends it."""
    home, elsewhere = BUILD / name, BUILD / f"{name}-elsewhere"
    (wheel,) = (ROOT / "dist").glob("*.whl")
    subprocess.run([str(python), "-m", "venv", "--clear", str(home)], check=True)
    inside = str(home / "bin" / "python")
    limits = BUILD / f"{name}.txt"
    limits.write_text("\n".join(constraints) + "\n")
    uv = shutil.which("uv")
    installs = (
        [uv, "pip", "install", "--python", inside] if uv else [inside, "-m", "pip", "install"]
    )
    parts = [f"{wheel}[all,sign]", "pytest", "hypothesis", "-c", str(limits)]
    subprocess.run([*installs, "--quiet", *parts], check=True)
    shutil.rmtree(elsewhere, ignore_errors=True)
    elsewhere.mkdir()
    walk = [inside, str(ROOT / "tests" / "helpers" / "wheel.py"), str(ROOT / "README.md")]
    alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run(walk, cwd=elsewhere, env=alone, check=True)
    tests = [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SMOKE]
    subprocess.run(tests, cwd=ROOT, env=alone, check=True)


def main(what: str) -> None:
    """Every Python that is found, or the lowest dependencies on the lowest Python."""
    BUILD.mkdir(exist_ok=True)
    found = {version: interpreter(version) for version in PYTHONS}
    if what == "lowest":
        if (python := found[PYTHONS[0]]) is None:
            raise SystemExit(f"Python {PYTHONS[0]} was not found: nothing was tested")
        print("lowest dependencies:", *lowest(), sep="\n  ")
        try_in("lowest", python, lowest())
        return
    for version, python in found.items():
        if python is not None:
            print(f"== Python {version}: {python}", flush=True)
            try_in(f"python-{version}", python, [])
    there = [version for version, python in found.items() if python is not None]
    absent = [version for version in PYTHONS if version not in there]
    print(f"passed: {', '.join(there) or 'none'}; not found: {', '.join(absent) or 'none'}; "
          f"{UNTESTED} is untested")  # fmt: skip
    if not there:
        raise SystemExit("no Python was found: nothing was tested")


if __name__ == "__main__":
    main(sys.argv[1])
