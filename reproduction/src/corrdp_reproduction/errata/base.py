"""What an erratum is: a statement of a source, numbers that decide about it, and what is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

SOURCES = {
    "000": "Martin Lange: Utility of Semantic Privacy Notions for Correlated Data. Master thesis, "
    "Karlsruhe Institute of Technology and Universitat Politècnica de Catalunya, 27 June 2024.",
    "001": "Darshan Chakrabarti, Jie Gao, Aditya Saraf, Grant Schoenebeck, Fang-Yi Yu: Optimal "
    "Local Bayesian Differential Privacy over Markov Chains. arXiv:2206.11402, 2022.",
    "002": "Martin Lange, Patricia Guerra-Balboa, Javier Parra-Arnau, Thorsten Strufe: Balancing "
    "Privacy and Utility in Correlated Data: A Study of Bayesian Differential Privacy. PVLDB "
    "18(11), 2025, doi:10.14778/3749646.3749679.",
    "003": "Jannik Westenfeld: Estimating Input Distributions of Partial Background Knowledge for "
    "Differential Privacy Mechanisms. Bachelor thesis, Universität zu Lübeck, 18 November 2022.",
    "004": "Patricia Guerra Balboa: A Formal Study of Differential Privacy in Complex and "
    "Correlated Data. Dissertation, Karlsruhe Institute of Technology, 20 May 2026.",
}

Kind = Literal[
    "fails", "needs a hypothesis", "slip", "improved on", "open question answered"
]  # in the order of the page
KINDS: dict[Kind, str] = {
    "fails": "a theorem, an algorithm or a number does not hold",
    "needs a hypothesis": "true under a condition that is not stated",
    "slip": "a sign, an index, a label; what it stands for is right",
    "improved on": "right, and more can be shown",
    "open question answered": "left open, or conjectured",
}


@dataclass(frozen=True)
class Counterexample:
    """Numbers that decide about a statement.

    Parameters
    ----------
    refutes : bool
        Whether the printed statement fails on them, or is bettered; computed, never typed.
    corrected : bool
        Whether the corrected statement holds on them.
    numbers : str
        What was computed and with which parameters, in words.
    """

    refutes: bool
    corrected: bool
    numbers: str


@dataclass(frozen=True)
class Erratum:
    """One statement of a source that is not right as printed, or not the last word.

    Parameters
    ----------
    key : str
        Source and number, such as ``"000-E22"``.
    kind : str
        One of :data:`KINDS`.
    where : str
        Place in the source: theorem, equation or section.
    printed : str
        What the source states, in our words; verbatim between “ and ”, at most a line.
    right : str
        What holds instead, or beyond.
    check : callable
        Computes the counterexample.
    """

    key: str
    kind: Kind
    where: str
    printed: str
    right: str
    check: Callable[[], Counterexample]

    @property
    def source(self) -> str:
        """Author, title, place and date."""
        return SOURCES[self.key[:3]]
