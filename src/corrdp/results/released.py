"""What ``release`` returns for a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corrdp._json import SCHEMA, check_header, encode, strict
from corrdp.results.adequacy import (
    Adequacy,
    judged_from_dict,
    judged_to_dict,
    model_lines,
    worst_leakage,
)
from corrdp.results.laws import RecordLaw
from corrdp.results.proofs import Certificate


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """One answered query, with all that is needed to sign for it.

    Parameters
    ----------
    value : number or list of numbers
        The noisy answer.
    epsilon, target : float
        DP and BDP level of the release.
    leakage : float
        Leakage proved for epsilon; at most ``target``.
    certificate : Certificate
    scope : str
    query : dict
        The query, as its ``to_dict``.
    scale, grid : float
        Scale of the discrete Laplace noise and the step of its grid, in units of the answer.
    assumptions : tuple of str
    model, digest : str
        One line on the model and its fingerprint.
    reads : str
        What was read from the data: the expression and the file.
    nonnegative : bool
        Whether negative answers were set to 0 afterwards (this costs no privacy).
    made : str
        When, as an ISO time in UTC.
    charge : int or None
        Number of its line in a ledger, where it was charged to one.
    charge_hash : str
        The hash of that line: it shows later whether the ledger is still the same.
    confidence : float or None
        Whether the promise holds for every law that the data of the fit allow at this level.
    adequacy : Adequacy or None
        How the promise fares under richer models than a fitted one.
    law : RecordLaw or None
        The states of a record and how likely the model takes each to be, where it has finitely
        many; as private as the model, so the public form is without.
    """

    value: Any
    epsilon: float
    target: float
    leakage: float
    certificate: Certificate
    scope: str
    query: dict[str, Any]
    scale: float
    grid: float
    assumptions: tuple[str, ...]
    model: str
    digest: str
    reads: str = ""
    nonnegative: bool = False
    made: str = ""
    charge: int | None = None
    charge_hash: str = ""
    confidence: float | None = None
    adequacy: Adequacy | None = None
    law: RecordLaw | None = None

    @property
    def worst_leakage(self) -> float:
        """The largest leakage over the model and its alternatives; at most the target."""
        return worst_leakage(self.adequacy, self.epsilon, self.target, self.leakage)

    def __float__(self) -> float:
        return float(self.value)

    def interval(self, level: float = 0.95) -> Any:
        """Interval that holds the true (clipped) answer with this probability.

        ``(low, high)`` for one number; one such pair per cell, jointly at ``level``, for a
        histogram. Narrowed to non-negative values when ``nonnegative`` was asked for.
        """
        from corrdp.mechanisms.laplace import coverage_radius

        cells = self.value if isinstance(self.value, list) else [self.value]
        radius = coverage_radius(level, self.scale / self.grid, len(cells)) * self.grid
        low = [max(v - radius, 0) if self.nonnegative else v - radius for v in cells]
        pairs = [(a, v + radius) for a, v in zip(low, cells, strict=True)]
        return pairs if isinstance(self.value, list) else pairs[0]

    def __repr__(self) -> str:
        from corrdp.queries import query_from_dict

        asked = f"{query_from_dict(self.query)}{f', {self.reads}' if self.reads else ''}"
        lines = [
            f"Release {self.value} ({asked})",
            f"  interval     {self.interval(0.95)} at level .95",
            f"  epsilon      {self.epsilon:.9g} (plain DP), BDP level {self.target:.6g} "
            f"({self.certificate.name} proves {self.leakage:.9g})",
            f"  noise        discrete Laplace of scale {self.scale:.6g}",
            f"  scope        {self.scope}",
            f"  model        {self.model}",
            *model_lines(self.adequacy),
        ]
        if self.charge is not None:
            lines.append(f"  ledger       charge {self.charge}, {self.charge_hash}")
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        later = ("confidence", "adequacy", "law")
        plain = {k: v for k, v in vars(self).items() if k not in later}
        data = {"corrdp": SCHEMA, "result": "release", **encode(plain)}
        data["certificate"] = self.certificate.to_dict()
        if self.law is not None:
            data["law"] = self.law.to_dict()
        return data | judged_to_dict(self)

    @classmethod
    @strict
    def from_dict(cls, data: dict[str, Any]) -> Release:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "release")
        fields = {k: v for k, v in data.items() if k not in ("corrdp", "result")}
        fields["certificate"] = Certificate.from_dict(fields["certificate"])
        fields["assumptions"] = tuple(fields["assumptions"])
        for name in ("epsilon", "target", "leakage", "scale", "grid"):
            fields[name] = float(fields[name])
        if fields.get("law") is not None:
            fields["law"] = RecordLaw.from_dict(fields["law"])
        return cls(**(fields | judged_from_dict(data)))
