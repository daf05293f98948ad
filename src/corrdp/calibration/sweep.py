"""sweep: leakage, or the noise of a release, over a range of levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from corrdp._checks import check_choice, check_items
from corrdp.bounds.leakage import leakage
from corrdp.calibration.calibrate import calibrate
from corrdp.errors import InputError, RefusedError
from corrdp.models.base import Model
from corrdp.plots import axes_or_pyplot
from corrdp.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LEVELS = 1_000


@dataclass(frozen=True)
class SweepPoint(Result):
    """One level of a sweep.

    Parameters
    ----------
    level : float
        What was asked for: an epsilon (leakage), or a target (calibrate).
    epsilon : float or None
        DP level of the mechanism.
    leakage : float or None
        What it leaks, at most.
    certificate : str
        The bound that proves it.
    scale, error_95 : float or None
        Scale of the noise, and what errors stay below in 95 % of releases (calibrate).
    reason : str
        Why there is no number, where there is none.
    """

    level: float
    epsilon: float | None = None
    leakage: float | None = None
    certificate: str = ""
    scale: float | None = None
    error_95: float | None = None
    reason: str = ""


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """Leakage or noise over a range of levels; returned by :func:`sweep`.

    Parameters
    ----------
    verb : {"leakage", "calibrate"}
    model : str
        The model in a line.
    points : tuple of SweepPoint
    assumptions : tuple of str
        What every number rests on.
    """

    result = "sweep"

    verb: Literal["leakage", "calibrate"]
    model: str
    points: tuple[SweepPoint, ...]
    assumptions: tuple[str, ...]

    def __repr__(self) -> str:
        what = "epsilon" if self.verb == "leakage" else "target"
        lines = [f"Sweep of {self.verb} over {len(self.points)} levels: {self.model}"]
        for point in self.points:
            lines.append(f"  {what} {point.level:<10.6g} {in_words(self.verb, point)}")
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curve; returns the matplotlib axes."""
        from corrdp.plots.levels import draw_sweep

        return draw_sweep(self, axes_or_pyplot(ax))


def in_words(verb: str, point: SweepPoint) -> str:
    """What came of a level."""
    if point.reason:
        return f"- {point.reason}"
    if verb == "leakage":
        return f"leaks {point.leakage:.6g} ({point.certificate})"
    return (
        f"epsilon {point.epsilon:.6g}, noise of scale {point.scale:.6g}, errors below "
        f"{point.error_95:.6g} in 95 %"
    )


def sweep(
    model: Model,
    levels: Sequence[float],
    verb: Literal["leakage", "calibrate"] = "leakage",
    **options: Any,
) -> Sweep:
    """Leakage of many epsilons on a model, or the noise for many targets.

    Each level is asked about by itself; what is refused is listed with its reason. Releases at
    several of these levels together cost more than each: see :func:`corrdp.account`.

    Parameters
    ----------
    model : Model
    levels : sequence of float
        Epsilons for "leakage", targets for "calibrate", all above 0.
    verb : {"leakage", "calibrate"}
    **options
        Of :func:`corrdp.leakage` or :func:`corrdp.calibrate`, such as ``query=``.

    Returns
    -------
    Sweep

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=100)
    >>> found = sweep(chain, [.5, 1, 2])
    >>> [round(point.leakage, 3) for point in found.points]
    [2.673, 4.322, 6.462]
    >>> noise = sweep(chain, [.5, 1, 2], "calibrate", query=cdp.Count(1))
    >>> [round(point.scale, 2) for point in noise.points]
    [11.7, 5.91, 2.85]
    """
    check_choice("verb", verb, ("leakage", "calibrate"))
    asked = [float(level) for level in check_items("levels", levels)]
    if not 1 <= len(asked) <= MOST_LEVELS or not all(0 < e < math.inf for e in asked):
        raise InputError(f"levels must be 1 to {MOST_LEVELS:,} finite numbers above 0")
    said: dict[str, None] = {}
    points = []
    for level in sorted(asked):
        try:
            point, assumed = _point(model, level, verb, options)
            said |= dict.fromkeys(assumed)
        except RefusedError as error:
            point = SweepPoint(level, reason=str(error))
        points.append(point)
    return Sweep(verb, model.describe(), tuple(points), tuple(said))


def _point(
    model: Model, level: float, verb: str, options: dict[str, Any]
) -> tuple[SweepPoint, tuple[str, ...]]:
    if verb == "leakage":
        leak = leakage(model, level, **options)
        point = SweepPoint(level, leak.epsilon, leak.value, leak.certificate.name)
        return point, leak.assumptions
    found = calibrate(model, level, **options)
    return SweepPoint(
        level,
        found.epsilon,
        found.worst_leakage,
        found.leakage.certificate.name,
        found.scale,
        found.error_95,
    ), found.assumptions


def range_of_levels(text: str) -> list[float]:
    """Levels as the command line writes them: LOW:HIGH, or LOW:HIGH:NUMBER, in equal ratios.

    Examples
    --------
    >>> [round(level, 3) for level in range_of_levels("0.1:10:5")]
    [0.1, 0.316, 1.0, 3.162, 10.0]
    """
    low, _, rest = text.partition(":")
    high, _, number = rest.partition(":")
    try:
        first, last, count = float(low), float(high), int(number or 13)
    except ValueError:
        first, last, count = 0.0, 0.0, 0
    if not (0 < first < last < math.inf and 2 <= count <= MOST_LEVELS):
        raise InputError(
            f"--sweep {text!r}: write LOW:HIGH or LOW:HIGH:NUMBER, numbers above 0, such as 0.1:5"
        )
    ratio = math.log(last / first) / (count - 1)
    inner = [float(f"{first * math.exp(k * ratio):.6g}") for k in range(1, count - 1)]
    return [first, *inner, last]
