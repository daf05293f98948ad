"""What an erratum is: a statement of a source, numbers that refute it, and what is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SOURCES = {
    "000": "Lange, master thesis, KIT 2024",
    "001": "Chakrabarti, Gao, Saraf, Schoenebeck, Yu, 2022",
    "002": "Lange, Guerra-Balboa, Parra-Arnau, Strufe, PVLDB 18(11), 2025",
    "003": "Westenfeld, bachelor thesis, Luebeck 2022",
    "004": "Guerra-Balboa, dissertation, KIT 2026",
}


@dataclass(frozen=True)
class Counterexample:
    """Numbers that decide about a statement.

    Parameters
    ----------
    refutes : bool
        Whether the printed statement fails on them; computed, never typed.
    corrected : bool
        Whether the corrected statement holds on them.
    numbers : str
        What was computed, in words.
    """

    refutes: bool
    corrected: bool
    numbers: str


@dataclass(frozen=True)
class Erratum:
    """One error of a source.

    Parameters
    ----------
    key : str
        Source and number, such as ``"000-E22"``.
    where : str
        Place in the source: theorem, equation or section.
    printed : str
        What the source states, in our words.
    right : str
        What holds instead.
    check : callable
        Computes the counterexample.
    """

    key: str
    where: str
    printed: str
    right: str
    check: Callable[[], Counterexample]

    @property
    def source(self) -> str:
        """Author and work."""
        return SOURCES[self.key[:3]]
