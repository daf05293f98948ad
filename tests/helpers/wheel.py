"""What a user of wheel or archive meets; ``make test-wheel`` runs it in clean environments.

It is given the README and runs in a folder of its own, so that nothing of the repository helps.
"""

from __future__ import annotations

import doctest
import random
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path
from typing import Any


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command below one, by its words."""
    yield path
    for name, part in getattr(command, "commands", {}).items():
        yield from leaves(part, (*path, name))


def corrdp(*arguments: str) -> str:
    """What the command prints; it must succeed."""
    command = Path(sysconfig.get_path("scripts")) / "corrdp"
    done = subprocess.run([str(command), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, f"corrdp {' '.join(arguments)}\n{done.stdout}{done.stderr}"
    return done.stdout


def main(readme: str) -> None:
    """Licence, README example, every command's help, a release, a theorem and the versions."""
    import typer.main
    from typer.testing import CliRunner

    import corrdp as package
    from corrdp.cli.commands import app

    assert "site-packages" in package.__file__, package.__file__
    assert any(path.name == "LICENSE" for path in files("corrdp") or ())
    failed, tried = doctest.testfile(readme, module_relative=False)
    assert tried
    assert not failed
    helped = list(leaves(typer.main.get_command(app)))
    for words in helped:
        result = CliRunner().invoke(app, [*words, "--help"])
        assert result.exit_code == 0, words
        assert "Usage" in result.output, words
    rng, on = random.Random(1), False
    with open("series.csv", "w") as file:
        file.write("t,on\n")
        for t in range(3000):
            on = rng.random() < (0.7 if on else 0.2)
            file.write(f"{t},{int(on)}\n")
    corrdp("fit", "series", "series.csv", "--state", "on", "--order", "t", "-o", "model.json")
    asked = ("--model", "model.json", "--target", "1", "--query", "count:1", "-o", "release.json")
    corrdp("release", "series.csv", *asked)
    assert Path("release.json").exists()
    assert corrdp("docs", "chains#transfer").startswith("## Transfer")
    versions = corrdp("--version")
    assert package.__version__ in versions
    print(versions, f"{tried} examples, {len(helped)} pages of help, a release, a theorem", sep="")


if __name__ == "__main__":
    main(sys.argv[1])
