"""All errata, and the page of the docs that lists them."""

from __future__ import annotations

from importlib import import_module

from corrdp_reproduction.errata.base import SOURCES, Erratum

# one module per source or part of it; each has ERRATA, a tuple
MODULES = (
    "corrdp_reproduction.errata.lange",
    "corrdp_reproduction.errata.lange_bounds",
    "corrdp_reproduction.errata.response",
    "corrdp_reproduction.errata.utility",
    "corrdp_reproduction.errata.knowledge",
    "corrdp_reproduction.errata.knowledge_algorithms",
    "corrdp_reproduction.errata.foundations",
    "corrdp_reproduction.errata.reconstruction",
)

_HEAD = """# Errata of the sources

Each line below was found while their results were put into code. The counterexample is computed
when this page is generated (`python -m corrdp_reproduction.errata.catalogue > docs/errata.md`) and
again in every test run; the page shows the numbers that came out.
"""


def errata(source: str = "") -> tuple[Erratum, ...]:
    """Every erratum, or those of one source such as ``"002"``, in the order of their keys.

    Examples
    --------
    >>> all(found.key.startswith("000") for found in errata("000"))
    True
    """
    found = [e for module in MODULES for e in import_module(module).ERRATA]
    return tuple(sorted((e for e in found if e.key.startswith(source)), key=lambda e: e.key))


def page() -> str:
    """``docs/errata.md``: each error, its counterexample as computed now, what is right."""
    parts = [_HEAD]
    for source, name in SOURCES.items():
        own = errata(source)
        if not own:
            continue
        parts.append(f"## {source}: {name}\n")
        for erratum in own:
            found = erratum.check()
            parts.append(
                f"**{erratum.key}** ({erratum.where}). Printed: {erratum.printed} "
                f"Counterexample: {found.numbers} Right: {erratum.right}\n"
            )
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
