"""What every verb returns: a number that carries its proof, its witness and its alternatives.

``float(result)`` is the number, ``repr`` one readable block, ``to_dict`` plain JSON (with inf
written as ``"inf"``), ``from_dict`` its inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from corrdp.encoding import SCHEMA, check_header, decode_number, encode, runs, unruns
from corrdp.errors import CompositionError, NotApplicableError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.guarantees import Pure
    from corrdp.mechanisms.laplace import DiscreteLaplace

Kind = Literal["exact", "upper bound", "lower bound", "estimate"]


def _axes(ax: Axes | None) -> Axes:
    """The axes given, or those of a new pyplot figure, so that ``plt.show()`` shows it."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


@dataclass(frozen=True)
class Certificate:
    """The theorem that proves a number, and everything it assumes, in words."""

    name: str
    reference: str
    assumptions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Inverse of :meth:`to_dict`."""
        return cls(data["name"], data["reference"], tuple(data["assumptions"]))


@dataclass(frozen=True)
class Witness:
    """The adversary that attains (or is bounded by) a leakage.

    Parameters
    ----------
    target : int or None
        Index of the record attacked, counted from 0; None when any record in the interior of a
        long enough chain does.
    values : pair
        The two values of the target that are told apart.
    known : tuple of (offset, value)
        Records that the adversary knows, as offsets from the target.
    note : str
        What else the adversary or the worst mechanism needs.
    """

    target: int | None
    values: tuple[Any, Any] | None = None
    known: tuple[tuple[int, Any], ...] = ()
    note: str = ""

    def __str__(self) -> str:
        who = "an interior record" if self.target is None else f"record {self.target}"
        told = "" if self.values is None else f", {self.values[0]!r} against {self.values[1]!r}"
        if self.known:
            knows = ", ".join(f"{value!r} at offset {offset:+d}" for offset, value in self.known)
        else:
            knows = "no other record"
        return f"{who}{told}, knowing {knows}" + (f" ({self.note})" if self.note else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Witness:
        """Inverse of :meth:`to_dict`."""
        values = data["values"]
        return cls(
            data["target"],
            None if values is None else (values[0], values[1]),
            tuple((offset, value) for offset, value in data["known"]),
            data["note"],
        )


@dataclass(frozen=True)
class Candidate:
    """One bound that was tried: its value, or why it does not apply."""

    method: str
    value: float | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Candidate:
        """Inverse of :meth:`to_dict`."""
        return cls(data["method"], decode_number(data["value"]), data["reason"])


@dataclass(frozen=True)
class Metric:
    """Bayesian metric privacy: leakage about a real record by how far two values lie apart.

    ``at(x, x') = max over pieces of min(ceiling, slope * |x - x'| + rounding)``

    Parameters
    ----------
    pieces : tuple of (slope, ceiling)
        One pair per kind of record: leakage per unit of distance, and the most that any two
        values can leak (inf when the mechanism is not DP).
    rounding : float
        What rounding each record to the query's grid can add.

    Examples
    --------
    >>> Metric(((.0145, 2.0),)).at(160, 40)
    1.74
    >>> Metric(((.0145, 2.0),)).at(1000, -800)
    2.0
    """

    pieces: tuple[tuple[float, float], ...]
    rounding: float = 0.0

    def at(self, x: float, x2: float) -> float:
        """Leakage between two values of one record."""
        distance = abs(float(x) - float(x2))
        if distance == 0.0:
            return 0.0
        return max(min(top, slope * distance + self.rounding) for slope, top in self.pieces)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Metric:
        """Inverse of :meth:`to_dict`."""
        pieces = tuple((float(slope), float(top)) for slope, top in data["pieces"])
        return cls(pieces, float(data["rounding"]))


@dataclass(frozen=True, eq=False, repr=False)
class Leakage:
    """Bayesian differential privacy leakage of a guarantee on a model.

    Parameters
    ----------
    value : float
        No adversary's log odds about any one record move by more than this.
    kind : str
        "exact" where something in the scope attains the value, else "upper bound".
    certificate : Certificate
    scope : str
        What the value holds for: every mechanism with the guarantee, one query's Laplace noise,
        or one mechanism.
    epsilon : float
        Plain DP level of the guarantee (the largest entry of a vector).
    witness : Witness or None
    candidates : tuple of Candidate
        Every bound that was tried.
    per_record : array or None
        Leakage of each record; None when the model has no fixed length.
    model : str
        One line on the model.
    digest : str
        Fingerprint of the model.
    metric : Metric or None
        Where records are real numbers: leakage by how far two values lie apart.
    """

    value: float
    kind: Kind
    certificate: Certificate
    scope: str
    epsilon: float
    witness: Witness | None = None
    candidates: tuple[Candidate, ...] = ()
    per_record: np.ndarray | None = None
    model: str = ""
    digest: str = ""
    metric: Metric | None = None

    def __float__(self) -> float:
        return float(self.value)

    def at(self, x: float, x2: float) -> float:
        """Leakage between two values of one real record, wherever they lie.

        Examples
        --------
        >>> import corrdp as cdp
        >>> pairs = cdp.GaussianRecords.equicorrelated(2, .45, secret_range=(40, 160))
        >>> leak = cdp.leakage(pairs, 1.0)
        >>> round(leak.at(100, 112), 6), round(leak.at(1000, -800), 6)
        (0.145, 2.0)
        """
        if self.metric is None:
            raise NotApplicableError(
                "leakage by distance needs real records with a secret range and an l1-private "
                "mechanism: GaussianRecords(..., secret_range=(low, high))"
            )
        return self.metric.at(x, x2)

    def __add__(self, other: object) -> Leakage:
        raise CompositionError(
            "leakages do not add: two releases can leak more together than the sum of what each "
            "leaks alone. Add their epsilons (per record) and call leakage once on the total"
        )

    __radd__ = __add__

    def __repr__(self) -> str:
        lines = [
            f"Leakage {self.value:.6g} ({self.kind}) for epsilon {self.epsilon:.6g}",
            f"  scope        {self.scope}",
            f"  model        {self.model}",
            f"  certificate  {self.certificate.name}: {self.certificate.reference}",
        ]
        if self.witness is not None:
            lines.append(f"  witness      {self.witness}")
        lines += [f"  assumes      {a}" for a in self.certificate.assumptions]
        for c in self.candidates:
            shown = f"{c.value:.6g}" if c.value is not None else f"- {c.reason}"
            lines.append(f"  {c.method:<12} {shown}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; ``per_record`` is run-length coded."""
        return {
            "corrdp": SCHEMA,
            "result": "leakage",
            "value": encode(self.value),
            "kind": self.kind,
            "certificate": self.certificate.to_dict(),
            "scope": self.scope,
            "epsilon": encode(self.epsilon),
            "witness": None if self.witness is None else self.witness.to_dict(),
            "candidates": [c.to_dict() for c in self.candidates],
            "per_record": runs(self.per_record),
            "model": self.model,
            "digest": self.digest,
            "metric": None if self.metric is None else self.metric.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Leakage:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "leakage")
        witness = data["witness"]
        return cls(
            float(data["value"]),
            data["kind"],
            Certificate.from_dict(data["certificate"]),
            data["scope"],
            float(data["epsilon"]),
            None if witness is None else Witness.from_dict(witness),
            tuple(Candidate.from_dict(c) for c in data["candidates"]),
            unruns(data["per_record"]),
            data["model"],
            data["digest"],
            None if data.get("metric") is None else Metric.from_dict(data["metric"]),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every bound side by side; returns the matplotlib axes."""
        from corrdp.report.figures import draw_candidates

        return draw_candidates(self, _axes(ax))


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The largest epsilon whose leakage keeps a target, and the noise that goes with it.

    Parameters
    ----------
    target : float
        The BDP level promised.
    epsilon : float
        The DP level of the release (rounded down).
    leakage : Leakage
        The proof that ``epsilon`` keeps the target.
    query : Query
    model : Model
    """

    target: float
    epsilon: float
    leakage: Leakage
    query: Any
    model: Any

    def __float__(self) -> float:
        return float(self.epsilon)

    @property
    def guarantee(self) -> Pure:
        """What the release promises before correlation (a vector when it reads some records)."""
        from corrdp.calibration import guarantee_of

        return guarantee_of(self.model, self.query, self.epsilon)

    @property
    def mechanism(self) -> DiscreteLaplace:
        """The mechanism whose noise is drawn: query plus discrete Laplace on the query's grid."""
        from corrdp.mechanisms.laplace import DiscreteLaplace

        return DiscreteLaplace.for_epsilon(self.query, self.epsilon)

    @property
    def scale(self) -> float:
        """Scale of the noise, in the units of the answer."""
        return self.mechanism.scale

    def error(self, beta: float, norm: Literal["inf", "l1"] = "inf") -> float:
        """Smallest alpha on the noise grid with ``Pr[error >= alpha] <= beta``, for the law drawn.

        Parameters
        ----------
        beta : float in (0, 1)
        norm : {"inf", "l1"}
            Largest or summed error over the cells of a histogram; the same for one number.
        """
        return self.mechanism.error(beta, norm)

    def release(self, data: Any, *, nonnegative: bool = False, state: str | None = None) -> Release:
        """Answer the query on ``data`` with OpenDP's noise. See :func:`corrdp.releasing.draw`."""
        from corrdp.releasing import draw

        return draw(self, data, nonnegative=nonnegative, state=state)

    def __repr__(self) -> str:
        lines = [
            f"Calibration: {self.query} at BDP level {self.target:.6g}",
            f"  epsilon      {self.epsilon:.9g} (plain DP level, rounded down)",
            f"  noise        discrete Laplace of scale {self.scale:.6g}",
            f"  error        below {self.error(0.05):.6g} in 95 % of releases",
            f"  leakage      {self.leakage.value:.9g} ({self.leakage.kind}, "
            f"{self.leakage.certificate.name})",
            f"  scope        {self.leakage.scope}",
            f"  model        {self.leakage.model}",
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Everything the promise rests on: the certificate's assumptions and the query's."""
        return self.leakage.certificate.assumptions + tuple(self.query.assumptions)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, the model included."""
        return {
            "corrdp": SCHEMA,
            "result": "calibration",
            "target": encode(self.target),
            "epsilon": encode(self.epsilon),
            "scale": encode(self.scale),
            "error_95": encode(self.error(0.05)),
            "leakage": self.leakage.to_dict(),
            "query": self.query.to_dict(),
            "model": self.model.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Calibration:
        """Inverse of :meth:`to_dict`."""
        from corrdp.models.files import model_from_dict
        from corrdp.queries import query_from_dict

        check_header(data, "calibration")
        return cls(
            float(data["target"]),
            float(data["epsilon"]),
            Leakage.from_dict(data["leakage"]),
            query_from_dict(data["query"]),
            model_from_dict(data["model"]),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the law of the noise; returns the matplotlib axes."""
        from corrdp.report.figures import draw_noise

        return draw_noise(self, _axes(ax))


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
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        data = {"corrdp": SCHEMA, "result": "release", **encode(vars(self))}
        data["certificate"] = self.certificate.to_dict()
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Release:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "release")
        fields = {k: v for k, v in data.items() if k not in ("corrdp", "result")}
        fields["certificate"] = Certificate.from_dict(fields["certificate"])
        fields["assumptions"] = tuple(fields["assumptions"])
        for name in ("epsilon", "target", "leakage", "scale", "grid"):
            fields[name] = float(fields[name])
        return cls(**fields)
