"""How code and commands are written out: a call a line, an option a line."""

from __future__ import annotations

import shlex
from typing import Any

_WIDTH = 88


def call(
    name: str, first: list[str], said: dict[str, Any], written: dict[str, str] | None = None
) -> str:
    """A call as code, one argument a line where it is long.

    Examples
    --------
    >>> call("cdp.check", ["data"], {"group": "who"}, {"where": "text"})
    "cdp.check(data, group='who', where=text)"
    """
    given = [f"{key}={value!r}" for key, value in said.items()]
    given += [f"{key}={code}" for key, code in (written or {}).items()]
    line = f"{name}({', '.join([*first, *given])})"
    if len(line) <= _WIDTH:
        return line
    return f"{name}(\n    " + ",\n    ".join([*first, *given]) + ",\n)"


def command(words: list[str]) -> str:
    r"""A shell command, an option a line.

    Examples
    --------
    >>> command(["corrdp", "fit", "a b.csv", "--state", "x > 0"])
    "corrdp fit 'a b.csv' \\\n  --state 'x > 0'"
    """
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-") and word != "-e":
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(map(shlex.join, lines)).replace(" '||' ", " || ")
