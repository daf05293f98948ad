"""What the risk functions return: a number with its proof, its attack and its alternatives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp._checks import old_attribute
from corrdp._json import coded
from corrdp.plots import axes_or_pyplot
from corrdp.results import Candidate, Certificate, Kind, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class _Risk(Result):
    """What every risk carries; ``float`` gives the number."""

    title: ClassVar[str]
    value: float
    kind: Kind
    certificate: Certificate
    threat: str

    def _lines(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        lines = [
            f"{self.title} {self.value:.6g} ({self.kind})",
            f"  threat       {self.threat}",
            *self._lines(),
            f"  certificate  {self.certificate.name}: {self.certificate.reference}",
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.certificate.assumptions])


def _read_labels(data: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(label) if isinstance(label, list) else label for label in data)


@dataclass(frozen=True, eq=False, repr=False)
class GuessingRule(Result):
    """The guess for each output, and each label that the attacker may know.

    Parameters
    ----------
    guesses : (labels, outputs) array of int
        Number of the record guessed.
    labels : tuple
        What is known of the record; one None when nothing is.
    edges : array or None
        For a continuous output: output k lies between edges k - 1 and k.

    Examples
    --------
    >>> attack = GuessingRule(np.array([[0, 2, 1]]), (None,))
    >>> attack.guess(1)
    2
    >>> GuessingRule(np.array([[0, 1]]), (None,), np.array([.5])).guess(.7)
    1
    """

    guesses: np.ndarray
    labels: tuple[Any, ...] = field(metadata=coded(read=_read_labels))
    edges: np.ndarray | None = None

    def guess(self, output: Any, label: Any = None) -> int:
        """The record guessed from an output (a number, or a real answer where there are edges)."""
        k = int(output) if self.edges is None else int(np.searchsorted(self.edges, output))
        return int(self.guesses[self.labels.index(label), k])


@dataclass(frozen=True, eq=False, repr=False)
class Rad(_Risk):
    """Reconstruction advantage: how much more often the best attack succeeds because the record
    was used.

    Parameters
    ----------
    value : float
        Success on the record that was used minus success of the same attack on another one.
    kind : str
        "exact", "estimate" (sampled), or "upper bound" (where a model is too large).
    certificate : Certificate
    threat : str
    ceiling : float
        The largest advantage there is, 1 - kappa.
    success, blind : float or None
        The two parts of the value: success of the attack on the record used (its ReRo), and when
        another, independent one was used.
    attack : GuessingRule or None
        The optimal attack.
    error : float or None
        Standard error of an estimate.
    candidates : tuple of Candidate
        Where the value is a bound: all that were tried.
    """

    result = "rad"
    title = "Reconstruction advantage"
    ceiling: float = 1.0
    success: float | None = None
    blind: float | None = None
    attack: GuessingRule | None = None
    error: float | None = None
    candidates: tuple[Candidate, ...] = ()

    @property
    def advantage(self) -> float:
        """The value over its ceiling: between 0 and 1, 0 for a prior of one record."""
        return self.value / self.ceiling if self.ceiling > 0 else 0.0

    def _lines(self) -> list[str]:
        lines = [f"  ceiling      {self.ceiling:.6g} (total disclosure)"]
        if self.error is not None:
            lines.append(f"  error        {self.error:.2g} (one standard error)")
        if self.success is not None:
            lines.append(
                f"  success      {self.success:.6g} on the record used, {self.blind:.6g} on another"
            )
        return lines + _listed(self.candidates)


@dataclass(frozen=True, eq=False, repr=False)
class Rero(_Risk):
    """Reconstruction robustness: how often the best attack succeeds.

    Parameters
    ----------
    value, kind, certificate, threat
        As in :class:`Rad`.
    baseline : float
        Success of the best guess without the output.
    attack : GuessingRule
        The attack that succeeds most often (not that of largest advantage).
    """

    result = "rero"
    title = "Success of reconstruction"
    baseline: float = 0.0
    attack: GuessingRule | None = None

    def _lines(self) -> list[str]:
        return [f"  baseline     {self.baseline:.6g} without the output"]


@dataclass(frozen=True, eq=False, repr=False)
class RadBound(_Risk):
    """A bound on the reconstruction advantage of every mechanism with a guarantee.

    Parameters
    ----------
    value, kind, certificate, threat
        "exact" where some mechanism with the guarantee attains the value.
    ceiling : float
        The largest advantage there is, 1 - kappa.
    candidates : tuple of Candidate
        Every bound that was tried, with its value or why it does not apply.
    """

    result = "rad bound"
    title = "Reconstruction advantage at most"
    ceiling: float = 1.0
    candidates: tuple[Candidate, ...] = ()

    @property
    def advantage(self) -> float:
        """The value over its ceiling: between 0 and 1, 0 for a prior of one record."""
        return self.value / self.ceiling if self.ceiling > 0 else 0.0

    def _lines(self) -> list[str]:
        return [f"  ceiling      {self.ceiling:.6g} (total disclosure)", *_listed(self.candidates)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every bound side by side, and the ceiling dashed; returns the axes."""
        return _bars(self.candidates, self.value, self.ceiling, "ceiling", axes_or_pyplot(ax))


@dataclass(frozen=True, eq=False, repr=False)
class ReroBound(_Risk):
    """A bound on the success of any attack on every mechanism with a guarantee.

    Parameters
    ----------
    value, kind, certificate, threat
        As in :class:`RadBound`.
    baseline : float
        Success of the best guess without the output.
    candidates : tuple of Candidate
    """

    result = "rero bound"
    title = "Success of reconstruction at most"
    baseline: float = 0.0
    candidates: tuple[Candidate, ...] = ()

    def _lines(self) -> list[str]:
        baseline = f"  baseline     {self.baseline:.6g} without the output"
        return [baseline, *_listed(self.candidates)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every bound side by side, and the baseline dashed; returns the axes."""
        return _bars(self.candidates, self.value, self.baseline, "baseline", axes_or_pyplot(ax))


@dataclass(frozen=True, eq=False, repr=False)
class Advantage(_Risk):
    """The largest normalised advantage of any threat: the total variation of two records' outputs.

    Parameters
    ----------
    value, kind, certificate, threat
        As in :class:`RadBound`.
    pair : (int, int) or None
        The two records that are told apart best, for a given mechanism.
    """

    result = "advantage"
    title = "Normalised advantage"
    pair: tuple[int, int] | None = None

    def _lines(self) -> list[str]:
        return (
            [] if self.pair is None else [f"  witness      records {self.pair[0]}, {self.pair[1]}"]
        )


@dataclass(frozen=True, eq=False, repr=False)
class RiskCalibration(_Risk):
    """The least noise that keeps a risk.

    Parameters
    ----------
    value : float
        The parameter: epsilon or mu rounded down, sigma rounded up.
    kind, certificate, threat
        Of the risk at that parameter.
    parameter : str
        What the value is.
    goal : float
        The risk promised.
    risk : float
        The risk at the parameter, never above the goal.
    """

    result = "risk calibration"
    title = "Calibrated"
    parameter: str = "epsilon"
    # files of version 0.1.0 call it so
    goal: float = field(default=0.0, metadata={"key": "target"})
    risk: float = 0.0

    target = old_attribute("target", "goal")

    def __repr__(self) -> str:
        return super().__repr__().replace(self.title, f"{self.title} {self.parameter}", 1)

    def _lines(self) -> list[str]:
        return [f"  risk         {self.risk:.9g}, promised at most {self.goal:.6g}"]


def _listed(candidates: tuple[Candidate, ...]) -> list[str]:
    return [
        f"  {c.method:<20} {f'{c.value:.6g}' if c.value is not None else f'- {c.reason}'}"
        for c in candidates
    ]


def _bars(candidates: tuple[Candidate, ...], best: float, mark: float, name: str, ax: Axes) -> Axes:
    from corrdp.plots import ACCENT, MUTED, SOFT, WARM

    shown = [c for c in candidates if c.value is not None]
    for row, candidate in enumerate(shown):
        assert candidate.value is not None
        ax.barh(row, candidate.value, color=ACCENT if candidate.value <= best else SOFT)
        ax.annotate(f"{candidate.value:.4g}", (candidate.value, row), (4, 0),
                    textcoords="offset points", va="center", color=MUTED)  # fmt: skip
    ax.axvline(mark, color=WARM, linestyle=(0, (4, 3)), linewidth=1.2)
    ax.set_yticks(range(len(shown)), [c.method for c in shown])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.15 * max(mark, *(c.value or 0.0 for c in shown)))
    ax.set_xlabel(f"risk (dashed: {name})")
    return ax
