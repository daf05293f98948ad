"""All errata, and the page of the docs that lists them."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module

from corrdp_reproduction.errata.base import KINDS, SOURCES, Counterexample, Erratum

# one module per source or part of it; each has ERRATA, a tuple
MODULES = (
    "corrdp_reproduction.errata.lange",
    "corrdp_reproduction.errata.response",
    "corrdp_reproduction.errata.utility",
    "corrdp_reproduction.errata.knowledge",
    "corrdp_reproduction.errata.knowledge_algorithms",
    "corrdp_reproduction.errata.foundations",
    "corrdp_reproduction.errata.reconstruction",
)
# where somebody who relied on the printed statement would promise too much
FIRST = ("001-E1", "001-E3", "004-ERR1", "002-E02", "003-C11", "003-C01")

_HEAD = """# Errata of the sources

What was found while the results of five works were put into code. They were read in text that was
converted from their pages, where signs, primes, roots and exponents get lost: a slip of one
character below may be one of the conversion and not of the author. Words between “ and ” are
verbatim. Most of what these works state was found right
([what became of every figure and table](reproduce.md)).

Every number is computed when this page is generated
(`python -m corrdp_reproduction.errata.catalogue > docs/errata.md`) and again in every test run.
"""


def errata(source: str = "") -> tuple[Erratum, ...]:
    """Every erratum, or those of one source such as ``"002"``: by kind, then by key.

    Examples
    --------
    >>> errata("001")[0].key
    '001-E1'
    """
    found = [e for module in MODULES for e in import_module(module).ERRATA]
    kinds = list(KINDS)
    return tuple(
        sorted(
            (e for e in found if e.key.startswith(source)),
            key=lambda e: (kinds.index(e.kind), _natural(e.key)),
        )
    )


def _natural(key: str) -> list[str | int]:
    """E2 before E10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", key)]


@cache
def checked(key: str) -> Counterexample:
    """What the numbers of an erratum say; computed once.

    Examples
    --------
    >>> checked("001-E8").refutes
    True
    """
    (erratum,) = (e for e in errata() if e.key == key)
    return erratum.check()


def page() -> str:
    """``docs/errata.md``: each error, its counterexample as computed now, what is right."""
    every = errata()
    said = {erratum.key: _entry(erratum) for erratum in every}
    parts = [_HEAD]
    parts += [f"- *{kind}* ({sum(e.kind == kind for e in every)}): {meaning}."
              for kind, meaning in KINDS.items()]  # fmt: skip
    parts.append("\n## First\n\nWho relies on these as printed promises too much.\n")
    parts += [said[key] for key in FIRST]
    for source, citation in SOURCES.items():
        parts.append(f"## {source}\n\n{citation}\n")
        own = [e for e in errata(source) if e.key not in FIRST]
        for kind in KINDS:
            lines = [said[e.key] for e in own if e.kind == kind]
            parts += [f"### {source}: {kind}\n", *lines] if lines else []
    return "\n".join(parts)


def _entry(erratum: Erratum) -> str:
    found = checked(erratum.key)
    return (
        f"**{erratum.key}** ({erratum.where}; {erratum.kind}). Printed: {erratum.printed} "
        f"Computed: {found.numbers} Right: {erratum.right}\n"
    )


if __name__ == "__main__":
    print(page(), end="")
