"""What ``leakage`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._json import SCHEMA, check_header, encode, runs, strict, unruns
from corrdp.errors import CompositionError, NotApplicableError
from corrdp.results.proofs import Candidate, Certificate, Kind, Metric, Witness

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_pyplot(ax: Axes | None) -> Axes:
    """The axes given, or those of a new pyplot figure, so that ``plt.show()`` shows it."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


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
    @strict
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
        from corrdp.plots.results import draw_candidates

        return draw_candidates(self, axes_or_pyplot(ax))
