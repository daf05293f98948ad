"""Where the numbers of a pedigree come from, when it was read from a table of genotypes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corrdp.models.base import added, fit_dict, fit_fields
from corrdp.queries import MISSING_TEXT
from corrdp.tables.source import USUAL, Layout


@dataclass(frozen=True)
class PedigreeFit:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, exact."""
        return {**fit_dict(self), "missing_text": list(self.missing_text)}

    @classmethod
    def from_dict(cls, data: Any) -> PedigreeFit:
        """Inverse of :meth:`to_dict`; an unknown or absent key is an error."""
        return cls(**fit_fields(cls, data))
