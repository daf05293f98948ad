"""What ``calibrate`` returns for a number: the noise that keeps a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from corrdp._json import SCHEMA, check_header, encode, strict
from corrdp.results.adequacy import (
    Adequacy,
    judged_from_dict,
    judged_to_dict,
    model_lines,
    model_notes,
    worst_leakage,
)
from corrdp.results.leaks import Leakage, axes_or_pyplot
from corrdp.results.released import Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.guarantees import L1, Pure
    from corrdp.mechanisms.laplace import DiscreteLaplace


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
    confidence : float or None
        For every law that the data of the fit allow at this joint level; None for the model as
        it is.
    adequacy : Adequacy or None
        How the promise fares under richer models than a fitted one.
    """

    target: float
    epsilon: float
    leakage: Leakage
    query: Any
    model: Any
    confidence: float | None = None
    adequacy: Adequacy | None = None

    def __float__(self) -> float:
        return float(self.epsilon)

    @property
    def guarantee(self) -> Pure | L1:
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
        """Answer the query on ``data`` with OpenDP's noise. See :func:`corrdp.release.number.draw`."""
        from corrdp.release.number import draw

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
            *model_lines(self.adequacy),
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise rests on: by the certificate, the query, and the choice of a model."""
        said = self.leakage.certificate.assumptions + tuple(self.query.assumptions)
        return said + model_notes(self.adequacy)

    @property
    def worst_leakage(self) -> float:
        """The largest leakage over the model and its alternatives; at most the target."""
        return worst_leakage(self.adequacy, self.epsilon, self.target, self.leakage.value)

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
            **judged_to_dict(self),
        }

    @classmethod
    @strict
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
            **judged_from_dict(data),
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the law of the noise; returns the matplotlib axes."""
        from corrdp.plots.results import draw_noise

        return draw_noise(self, axes_or_pyplot(ax))
