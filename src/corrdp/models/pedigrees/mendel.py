"""Mendel's laws for one SNP with alleles B and b, and where the numbers of a pedigree come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp._json import added
from corrdp.errors import InputError, ModelError
from corrdp.models.base import fit_fields
from corrdp.queries import MISSING_TEXT
from corrdp.results import Result
from corrdp.tables.source import USUAL, Layout

GENOTYPES = ("BB", "Bb", "bb")
# probability that a parent of each genotype hands on allele B
TRANSMISSION = np.array([1.0, 0.5, 0.0])

Law = tuple[float, float, float]


def children(first: Any, second: Any) -> np.ndarray:
    """Law of a child's genotype from its parents' chances of handing on B; the last axis is new."""
    s, t = np.broadcast_arrays(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    return np.stack([s * t, s * (1 - t) + t * (1 - s), (1 - s) * (1 - t)], axis=-1)


# CHILD[x, y, z]: probability of genotype z for the child of genotypes x and y
CHILD = children(TRANSMISSION[:, None], TRANSMISSION[None, :])


def child_law(father: str, mother: str) -> dict[str, float]:
    """Genotype of a child, given those of its parents.

    ``P(BB) = s t``, ``P(bb) = (1 - s)(1 - t)``, ``P(Bb)`` the rest

    where

    * s = t(father), t = t(mother) are the chances of handing on allele B: t(BB) = 1,
      t(Bb) = 1/2, t(bb) = 0, independently for the two parents.

    Parameters
    ----------
    father, mother : {"BB", "Bb", "bb"}

    References
    ----------
    Lange, master thesis (2024), definition 5.1 and table 3.

    Examples
    --------
    >>> child_law("Bb", "Bb")
    {'BB': 0.25, 'Bb': 0.5, 'bb': 0.25}
    """
    for who, genotype in (("father", father), ("mother", mother)):
        if genotype not in GENOTYPES:
            raise InputError(f"{who} is {genotype!r}; a genotype is one of {', '.join(GENOTYPES)}")
    law = CHILD[GENOTYPES.index(father), GENOTYPES.index(mother)]
    return dict(zip(GENOTYPES, law.tolist(), strict=True))


@dataclass(frozen=True)
class HardyWeinberg:
    """Founders whose two alleles are drawn independently.

    ``P(BB) = p^2``, ``P(Bb) = 2 p (1 - p)``, ``P(bb) = (1 - p)^2``

    Parameters
    ----------
    p : float
        Frequency of allele B, strictly between 0 and 1: at 0 or 1 every genotype is certain and
        there is nothing to protect.

    References
    ----------
    The usual law of genotypes in a large population with random mating; Lange (2024) leaves the
    founders' law open.

    Examples
    --------
    >>> HardyWeinberg(.5).law
    {'BB': 0.25, 'Bb': 0.5, 'bb': 0.25}
    """

    p: float

    def __post_init__(self) -> None:
        p = check_number("p", self.p, error=ModelError)
        if not 0.0 < p < 1.0:
            raise ModelError(
                f"p, the frequency of allele B, must lie strictly between 0 and 1, got {p}: where "
                "only one allele occurs every genotype is certain"
            )
        object.__setattr__(self, "p", p)

    @property
    def law(self) -> dict[str, float]:
        """Probability of each genotype."""
        p, q = self.p, 1.0 - self.p
        return {"BB": p * p, "Bb": 2 * p * q, "bb": q * q}


FounderLaw = HardyWeinberg | Mapping[str, float]


def read_law(given: Any, whose: str) -> Law:
    """The probabilities of BB, Bb and bb, checked; ``whose`` is for the message.

    Examples
    --------
    >>> read_law({"BB": .2, "Bb": .5, "bb": .3}, "all founders")
    (0.2, 0.5, 0.3)
    """
    if isinstance(given, HardyWeinberg):
        given = given.law
    if not isinstance(given, Mapping) or set(given) != set(GENOTYPES):
        raise ModelError(
            f"the law of {whose} must be HardyWeinberg(p) or give BB, Bb and bb a probability "
            f"each, got {given!r}"
        )
    try:
        law = (float(given["BB"]), float(given["Bb"]), float(given["bb"]))
    except (TypeError, ValueError):
        raise ModelError(f"the law of {whose} must hold numbers, got {given!r}") from None
    if not all(0.0 <= p <= 1.0 for p in law):
        raise ModelError(f"the law of {whose} must hold probabilities, got {dict(given)!r}")
    if abs(sum(law) - 1.0) > 1e-9:
        raise ModelError(f"the law of {whose} sums to {sum(law):.12g}, off by {sum(law) - 1:.3g}")
    return law


def is_law(given: Any) -> bool:
    """Whether this is one law, rather than one per founder."""
    if isinstance(given, HardyWeinberg):
        return True
    return isinstance(given, Mapping) and not any(
        isinstance(value, HardyWeinberg | Mapping) for value in given.values()
    )


@dataclass(frozen=True)
class PedigreeFit(Result):
    """Where the numbers of a pedigree come from.

    Attributes
    ----------
    snp, allele : str
        The SNP, and its allele that is called B.
    state : str
        SQL expression that is the genotype in one row of the table, NULL where missing.
    frequency : float
        Frequency of allele B.
    standard_error : float or None
        ``sqrt(p (1 - p) / (2 founders))``; None when the frequency was given.
    people, founders, missing, violations : int
        People in the table, founders with a genotype, people without one, Mendelian violations.
    missing_text : tuple of str
        Texts that stood for "not recorded"; a release reads the table the same way.
    layout : Layout
        How the text file was laid out, likewise.
    """

    snp: str
    allele: str
    state: str
    frequency: float
    standard_error: float | None
    people: int
    founders: int
    missing: int
    violations: int
    missing_text: tuple[str, ...] = MISSING_TEXT
    layout: Layout = added(USUAL)

    def __post_init__(self) -> None:
        object.__setattr__(self, "missing_text", tuple(self.missing_text))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a user of the fit takes for granted, in words."""
        said = [f"B is allele {self.allele} of {self.snp}"]
        if self.standard_error is None:
            said.append(f"the frequency of B, {self.frequency:.4g}, is public")
        else:
            said.append(
                f"the frequency of B, {self.frequency:.4g} (standard error "
                f"{self.standard_error:.2g}), was estimated from {self.founders} founders in the "
                "private data: itself a release of information, which is not accounted for"
            )
        if self.violations:
            said.append(
                f"{self.violations} of the {self.people} genotypes contradict Mendel's laws (wrong "
                "genotype or wrong parent); for them the model does not hold"
            )
        return tuple(said)

    @classmethod
    def from_dict(cls, data: Any) -> PedigreeFit:
        """Inverse of :meth:`to_dict`; an unknown or absent key is an error."""
        return cls(**fit_fields(cls, data))
