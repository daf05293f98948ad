"""What ``calibrate`` and ``release`` return for a whole series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corrdp._json import SCHEMA, check_header, encode, strict
from corrdp.bounds.leakage import Leakage
from corrdp.calibration.adequacy import (
    Adequacy,
    judged_from_dict,
    judged_to_dict,
    model_lines,
    model_notes,
)
from corrdp.results import Certificate

if TYPE_CHECKING:
    from corrdp.guarantees import Pure
    from corrdp.mechanisms.local.direct import GRR
    from corrdp.mechanisms.response import BinaryResponse


@dataclass(frozen=True, eq=False, repr=False)
class SeriesCalibration:
    """The response that distorts a series least and keeps a target.

    Parameters
    ----------
    target : float
        The BDP level promised.
    mechanism : BinaryResponse or GRR
        What every record passes through.
    distortion : float
        Expected share of reports that differ from their record.
    leakage : Leakage
        The proof that the published series keeps the target.
    query : Series
    model : MarkovChain
    confidence : float or None
        For every law that the data of the fit allow at this joint level; None for the model as
        it is.
    adequacy : Adequacy or None
        How the promise fares under that region and under richer models than a fitted one.
    """

    target: float
    mechanism: BinaryResponse | GRR
    distortion: float
    leakage: Leakage
    query: Any
    model: Any
    confidence: float | None = None
    adequacy: Adequacy | None = None

    def __float__(self) -> float:
        return self.epsilon

    @property
    def epsilon(self) -> float:
        """Plain DP level of the response, one record at a time; 0 when it only tosses coins."""
        return self.mechanism.guarantee.largest

    @property
    def guarantee(self) -> Pure:
        """What the response promises before dependence is taken into account."""
        return self.mechanism.guarantee

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise rests on: by the certificate, the query, and the choice of a model."""
        said = self.leakage.certificate.assumptions + tuple(self.query.assumptions)
        return said + model_notes(self.adequacy)

    def release(self, data: Any, *, state: str | None = None) -> Sanitized:
        """Sanitize a series. See :func:`corrdp.release.series.sanitize`."""
        from corrdp.release.series import sanitize

        return sanitize(self, data, state=state)

    def __repr__(self) -> str:
        lines = [
            f"SeriesCalibration: {self.query} at BDP level {self.target:.6g}",
            f"  mechanism    {self.mechanism}",
            f"  distortion   {100 * self.distortion:.4g} % of the reports are expected to be wrong",
            f"  leakage      {self.leakage.value:.9g} ({self.leakage.kind}, "
            f"{self.leakage.certificate.name})",
            f"  scope        {self.leakage.scope}",
            f"  model        {self.leakage.model}",
            *model_lines(self.adequacy),
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the model included."""
        return {
            "corrdp": SCHEMA,
            "result": "series calibration",
            "target": encode(self.target),
            "mechanism": mechanism_to_dict(self.mechanism),
            "distortion": encode(self.distortion),
            "leakage": self.leakage.to_dict(),
            "query": self.query.to_dict(),
            "model": self.model.to_dict(),
            **judged_to_dict(self),
        }

    @classmethod
    @strict
    def from_dict(cls, data: dict[str, Any]) -> SeriesCalibration:
        """Inverse of :meth:`to_dict`."""
        from corrdp.models.files import model_from_dict
        from corrdp.queries import query_from_dict

        check_header(data, "series calibration")
        return cls(
            float(data["target"]),
            mechanism_from_dict(data["mechanism"]),
            float(data["distortion"]),
            Leakage.from_dict(data["leakage"]),
            query_from_dict(data["query"]),
            model_from_dict(data["model"]),
            **judged_from_dict(data),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Sanitized:
    """A published series, with all that is needed to sign for it and to use it.

    Parameters
    ----------
    values : sequence
        The reports, in the order of the data; None where nothing was recorded.
    mechanism : BinaryResponse or GRR
        Public: estimates from the series need it.
    target : float
        BDP level promised.
    leakage : float
        Leakage proved; at most ``target``.
    certificate : Certificate
    scope : str
    assumptions : tuple of str
    states : tuple
        The states, in the order that the mechanism numbers them.
    model, digest : str
        The model in a line, and its fingerprint.
    reads : str
        What was read, when it was a file.
    made : str
        When, in UTC.
    charge, charge_hash : int and str, or None
        The charge in a ledger that paid for it, if one did.
    confidence, adequacy
        As in :class:`SeriesCalibration`.
    """

    values: Sequence[Any]
    mechanism: BinaryResponse | GRR
    target: float
    leakage: float
    certificate: Certificate
    scope: str
    assumptions: tuple[str, ...]
    states: tuple[Any, ...]
    model: str = ""
    digest: str = ""
    reads: str = ""
    made: str = ""
    charge: int | None = None
    charge_hash: str | None = None
    confidence: float | None = None
    adequacy: Adequacy | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    def estimate(self) -> Any:
        """Unbiased estimate of how many records were in each state, with its error law.

        One number (the second state) for two states, see
        :func:`corrdp.mechanisms.estimating.estimate_count`; one per state for more.
        """
        from corrdp.mechanisms.estimating import estimate_count, estimate_counts
        from corrdp.mechanisms.response import BinaryResponse

        number = {state: k for k, state in enumerate(self.states)}
        reports = [number[v] for v in self.values if v is not None]
        if isinstance(self.mechanism, BinaryResponse):
            return estimate_count(self.mechanism, reports)
        return estimate_counts(self.mechanism, reports)

    def __repr__(self) -> str:
        shown = ", ".join(str(v) for v in self.values[:8])
        more = ", .." if len(self.values) > 8 else ""
        lines = [
            f"Sanitized series of {len(self.values):,} records: {shown}{more}",
            f"  mechanism    {self.mechanism}",
            f"  promise      BDP level {self.target:.6g} ({self.certificate.name} proves "
            f"{self.leakage:.9g})",
            f"  scope        {self.scope}",
            f"  model        {self.model}",
            *model_lines(self.adequacy),
        ]
        if self.charge is not None:
            lines.append(f"  ledger       charge {self.charge}, {self.charge_hash}")
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the reports included."""
        plain = {k: v for k, v in vars(self).items() if k not in ("confidence", "adequacy")}
        data = {"corrdp": SCHEMA, "result": "sanitized series", **encode(plain)}
        data["certificate"] = self.certificate.to_dict()
        data["mechanism"] = mechanism_to_dict(self.mechanism)
        return data | judged_to_dict(self)

    @classmethod
    @strict
    def from_dict(cls, data: dict[str, Any]) -> Sanitized:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "sanitized series")
        fields = {k: v for k, v in data.items() if k not in ("corrdp", "result")}
        fields["certificate"] = Certificate.from_dict(fields["certificate"])
        fields["mechanism"] = mechanism_from_dict(fields["mechanism"])
        for name in ("assumptions", "states"):
            fields[name] = tuple(fields[name])
        for name in ("target", "leakage"):
            fields[name] = float(fields[name])
        return cls(**(fields | judged_from_dict(data)))


def mechanism_to_dict(mechanism: BinaryResponse | GRR) -> dict[str, Any]:
    """A response as plain JSON."""
    return {"mechanism": type(mechanism).__name__, **encode(vars(mechanism))}


def mechanism_from_dict(data: dict[str, Any]) -> BinaryResponse | GRR:
    """Inverse of :func:`mechanism_to_dict`."""
    from corrdp.errors import InputError
    from corrdp.mechanisms.local.direct import GRR
    from corrdp.mechanisms.response import BinaryResponse

    kinds = {"BinaryResponse": BinaryResponse, "GRR": GRR}
    fields = dict(data)
    name = fields.pop("mechanism", None)
    if not isinstance(name, str) or name not in kinds:
        raise InputError(f"unknown mechanism {name!r}; use one of {', '.join(kinds)}")
    return kinds[name](**fields)
