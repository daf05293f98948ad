"""Public names, imported when first used; each is listed once, where the type checker reads.

What is installed on request: the line that installs it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from corrdp._moved import METHODS, MOVED, moved

EXTRAS = {
    "tables": ("duckdb", "ibis", "pyarrow", "sqlglot"),
    "noise": ("opendp",),
    "plots": ("matplotlib",),
    "cli": ("typer", "rich"),
    "attacks": ("torch",),
}


def need(extra: str, note: str = "") -> None:
    """Refuse with the line that installs an extra, where a part of it is missing.

    Parameters
    ----------
    extra : str
        As in ``pip install "corrdp[extra]"``.
    note : str
        What else to say.

    Examples
    --------
    >>> need("tables")
    """
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        from corrdp.errors import InputError

        line = f'pip install "corrdp[{extra}]"'
        raise InputError(f"this needs {' and '.join(missing)}: {line}{note}")


def attach(
    package: str, path: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a file that lists names for the type checker.

    Parameters
    ----------
    package : str
        ``__name__`` of the file.
    path : str
        Its ``__file__``; below ``if TYPE_CHECKING:`` it says ``from home import name as name``.

    Examples
    --------
    >>> import corrdp.attacks
    >>> find, names, public = attach("corrdp.attacks", corrdp.attacks.__file__)
    >>> find("posterior").__module__
    'corrdp.attacks.forward_backward'
    """
    with open(path, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    home = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def find(name: str) -> Any:
        if name not in home:
            if package == "corrdp" and name in MOVED:
                return moved(package, name, MOVED[name])
            if package == "corrdp" and name in METHODS:
                return getattr(import_module("corrdp.release.charged"), name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(_imported(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted(home), sorted(home)


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        distribution = name.partition(".")[0]
        if distribution == "corrdp" or str(missing.name).partition(".")[0] != distribution:
            raise
        from corrdp.errors import InputError

        line = f"pip install {distribution.replace('_', '-')}"
        raise InputError(f"{name} comes with a distribution of its own: {line}") from None
