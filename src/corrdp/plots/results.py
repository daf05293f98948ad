"""Pictures of results: bounds, noise, leakage along the records, risk, and the price of ignorance.

Every function takes the axes to draw on, or makes its own figure without touching pyplot's
global state. Colours come from :mod:`corrdp.plots`, so that the HTML report can swap
them for a dark background.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._lazy import need
from corrdp.plots import ACCENT, INK, MUTED, RULE, SOFT, WARM, axes_or_new, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.bounds.leakage import Leakage
    from corrdp.calibration.number import Calibration
    from corrdp.trajectories.probes.results import Probes

_LOG_SPREAD = 30  # bounds further apart than this factor need a logarithmic axis
_EDGE = 12  # records shown on either side of a constant interior
_MOST_POINTS = 600  # a longer curve is thinned to the largest value per stretch


def _shorten(text: str, width: int = 46) -> str:
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def draw_profile(level: np.ndarray, delta: np.ndarray, ax: Axes | None = None) -> Axes:
    """Delta against the leakage that holds with it, on a logarithmic axis.

    Parameters
    ----------
    level, delta : arrays
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> draw_profile(np.array([1.0, 2.0]), np.array([1e-3, 1e-6])).get_xlabel()
    'leakage'
    """
    ax = axes_or_new(ax, 3.0)
    order = np.argsort(level)
    ax.plot(level[order], delta[order], color=ACCENT, marker="o", markersize=3)
    ax.set_yscale("log")
    ax.set_xlabel("leakage")
    ax.set_ylabel("delta")
    return ax


def draw_candidates(leakage: Leakage, ax: Axes | None = None) -> Axes:
    """Every bound that was tried, as bars; those that do not apply are named without one.

    Parameters
    ----------
    leakage : Leakage
    ax : matplotlib Axes, optional
        Where to draw; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from corrdp.bounds.leakage import Leakage
    >>> from corrdp.results import Candidate, Certificate
    >>> tried = (Candidate("lange", 9.1), Candidate("contraction", 3.4))
    >>> leak = Leakage(3.4, "upper bound", Certificate("a", "b"), "all", 1.0, candidates=tried)
    >>> [label.get_text() for label in draw_candidates(leak).get_yticklabels()]
    ['contraction', 'lange']
    """
    tried = sorted(
        leakage.candidates, key=lambda c: math.inf if c.value is None else float(c.value)
    )
    shown = [c for c in tried if c.value is not None and math.isfinite(c.value)]
    ax = axes_or_new(ax, 0.9 + 0.34 * max(len(tried), 1))
    top = max([c.value for c in shown if c.value is not None] + [leakage.epsilon])
    bottom = min([c.value for c in shown if c.value] + [leakage.epsilon])
    wide = bottom > 0 and top / bottom > _LOG_SPREAD
    left = bottom / 2 if wide else 0.0
    if wide:
        ax.set_xscale("log")
    for row, candidate in enumerate(tried):
        if candidate.value is None or not math.isfinite(candidate.value):
            note = "no finite bound" if candidate.value else _shorten(candidate.reason)
            _beside(ax, leakage.epsilon, row, note, MUTED, 8)
            continue
        best = candidate.value <= leakage.value
        ax.barh(row, candidate.value - left, left=left, height=0.62, color=ACCENT if best else SOFT)
        _beside(ax, candidate.value, row, f"{candidate.value:,.6g}", INK, 9)
    ax.axvline(leakage.epsilon, color=WARM, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.set_xlim(left, top * 8 if wide else top * 1.22)
    ax.set_yticks(range(len(tried)), [c.method for c in tried])
    ax.set_ylim(max(len(tried), 1) - 0.4, -0.6)
    ax.set_xlabel(f"leakage (dashed: epsilon = {leakage.epsilon:.4g})", fontsize=9)
    return ax


def _beside(ax: Axes, x: float, y: float, text: str, colour: str, size: int) -> None:
    """Text a little to the right of a point (leading blanks would vanish in SVG)."""
    ax.annotate(text, (x, y), (4, 0), textcoords="offset points", va="center", color=colour,
                fontsize=size)  # fmt: skip


def draw_noise(calibration: Calibration, ax: Axes | None = None) -> Axes:
    """The law of the noise around the true answer, with the band that holds 95 % of releases.

    The dashed lines stand at the error of the law that is drawn; of several queries it is the
    first that is shown, of a quantile how many records it is off by.

    Parameters
    ----------
    calibration : Calibration
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, 2.3)
    mechanism: Any = calibration.mechanism
    mechanism = mechanism.parts[0] if hasattr(mechanism, "parts") else mechanism
    grid, cells, radius = mechanism.query.grid, mechanism.query.cells, mechanism.error(0.05)
    if mechanism.query.kind == "quantile":
        return _draw_ranks(mechanism, radius, ax)
    span = max(1.7 * radius, 2 * grid)
    steps = int(span // grid)
    # a fine grid looks like a curve: a few hundred of its points show it
    k = np.unique(np.linspace(-steps, steps, min(2 * steps + 1, 401)).round()).astype(np.int64)
    law = np.exp(mechanism.noise_logpmf(k))
    x = k * grid
    inside = np.abs(x) < radius
    if len(k) == 2 * steps + 1 <= 61:
        ax.bar(x, law, width=0.8 * grid, color=[ACCENT if i else SOFT for i in inside])
    else:
        ax.fill_between(x, law, where=inside, color=SOFT, linewidth=0)
        ax.plot(x, law, color=ACCENT, linewidth=1.6)
    for edge in (-radius, radius):
        ax.axvline(edge, color=WARM, linewidth=1.2, linestyle=(0, (4, 3)))
    what, which = ("error", "") if cells == 1 else ("error of one cell", f"all {cells} ")
    ax.set_xlabel(f"{what} (dashed: {which}below {radius:,.4g} in 95 % of releases)", fontsize=9)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlim(-span, span)
    ax.set_ylim(0, law.max() * 1.08)
    return ax


def _draw_ranks(mechanism: Any, radius: float, ax: Axes) -> Axes:
    """How likely a quantile is off by so many records, at most."""
    off = np.linspace(0, 1.7 * radius or 1.0, 201)
    ax.plot(off, [mechanism.tail(a) for a in off], color=ACCENT, linewidth=1.6)
    ax.axvline(radius, color=WARM, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.set_xlabel(f"records off (dashed: below {radius:,.4g} in 95 % of releases)", fontsize=9)
    ax.set_ylabel("probability, at most", fontsize=9)
    ax.set_ylim(bottom=0)
    return ax


def draw_per_record(leakage: Leakage, ax: Axes | None = None) -> Axes:
    """Leakage along the records; a long constant interior is cut out and said in words.

    Parameters
    ----------
    leakage : Leakage
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax, 2.3)
    values = leakage.per_record
    ax.set_ylabel("leakage", fontsize=9)
    if values is None:
        ax.axhline(leakage.value, color=ACCENT, linewidth=1.6)
        ax.set_xticks([])
        ax.set_xlabel("every record (one bound for all)", fontsize=9)
        _leave_room(ax, np.array([leakage.value]))
        return ax
    first, last = longest_constant_run(values)
    ax.set_xlabel("record (from 0)", fontsize=9)
    if last - first > 4 * _EDGE:
        _draw_ends(ax, values, first, last)
    else:
        at, heights = _thinned(values)
        ax.step(at, heights, where="mid", color=ACCENT, linewidth=1.4)
        if len(at) < len(values):
            ax.set_xlabel("record (from 0); largest leakage of each stretch", fontsize=9)
    _leave_room(ax, values)
    return ax


def longest_constant_run(values: np.ndarray) -> tuple[int, int]:
    """Start and end (exclusive) of the longest stretch that no eye could tell from constant.

    Examples
    --------
    >>> longest_constant_run(np.array([1., 2., 2., 2., 1.]))
    (1, 4)
    """
    with np.errstate(invalid="ignore"):
        change = np.abs(np.diff(values)) > 1e-6 * np.abs(values[1:])
    edges = np.r_[0, np.flatnonzero(change) + 1, len(values)]
    widest = int(np.argmax(np.diff(edges)))
    return int(edges[widest]), int(edges[widest + 1])


def _draw_ends(ax: Axes, values: np.ndarray, first: int, last: int) -> None:
    """Both ends record by record, the constant stretch between them as a short dotted line."""
    head = max(0, first - 4 * _EDGE), first + _EDGE
    tail = last - _EDGE, min(len(values), last + 4 * _EDGE)
    width, gap = head[1] - head[0], 2 * _EDGE
    left = np.arange(width)
    right = np.arange(tail[1] - tail[0]) + width + gap
    ax.step(left, values[slice(*head)], where="mid", color=ACCENT, linewidth=1.4)
    ax.step(right, values[slice(*tail)], where="mid", color=ACCENT, linewidth=1.4)
    level = values[first]
    ax.plot([left[-1], right[0]], [level, level], ":", color=MUTED, linewidth=1.4)
    middle = (left[-1] + right[0]) / 2
    text = f"{last - first:,} records\nat {level:.4g}"
    ax.annotate(text, (middle, level), (0, -6), textcoords="offset points", ha="center", va="top",
                color=MUTED, fontsize=8)  # fmt: skip
    marks = [left[0], left[-1], right[0], right[-1]]
    names = [head[0], head[1] - 1, tail[0], tail[1] - 1]
    ax.set_xticks(marks, [f"{name:,}" for name in names])


def _thinned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most some hundred points: the largest value of each stretch, never a missed peak."""
    if len(values) <= _MOST_POINTS:
        return np.arange(len(values)), values
    starts = np.linspace(0, len(values), _MOST_POINTS, endpoint=False).astype(np.int64)
    return starts, np.maximum.reduceat(values, starts)


def _leave_room(ax: Axes, values: np.ndarray) -> None:
    finite: Any = values[np.isfinite(values)]
    ax.set_ylim(0, 1.15 * float(finite.max()) if finite.size and finite.max() > 0 else 1)


def draw_probes(found: Probes, ax: Axes | None = None) -> Axes:
    """Success of each probe with its interval, between the blind guess and the original.

    Parameters
    ----------
    found : Probes
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from corrdp.trajectories.probes.results import Probe, Probes
    >>> one = Probe("home", .5, (.1, .9), .01, 1.0, 2, "told of 1 of 2 users")
    >>> draw_probes(Probes("a release", (one,), (), None, ())).get_xlabel()
    'share of right guesses'
    """
    ax = axes_or_new(ax, 0.9 + 0.42 * len(found.probes))
    for row, one in enumerate(found.probes):
        ax.plot([one.baseline, one.original], [row, row], color=RULE, linewidth=1, zorder=1)
        ax.plot(one.interval, [row, row], color=ACCENT, linewidth=3, alpha=0.5, zorder=2)
    rows = range(len(found.probes))
    for values, mark, colour, label in (
        ([one.baseline for one in found.probes], "o", MUTED, "never saw the release"),
        ([one.original for one in found.probes], "D", WARM, "saw the original"),
        ([one.success for one in found.probes], "o", ACCENT, "saw the release"),
    ):
        ax.plot(values, rows, mark, color=colour, markersize=6, label=label, zorder=3)
    ax.set_yticks(list(rows), [one.name for one in found.probes])
    ax.invert_yaxis()
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("share of right guesses", fontsize=9)
    legend_above(ax, 3)
    return ax


def draw_risk(
    curve: Callable[[np.ndarray], np.ndarray],
    epsilon: float | None = None,
    axes: tuple[Axes, Axes] | None = None,
) -> tuple[Axes, Axes]:
    """The trade-off curve of a guarantee, and the share of disclosure against epsilon.

    Parameters
    ----------
    curve : callable
        Misses of the best test by its false alarms.
    epsilon : float, optional
        Marked, where the guarantee has one.
    axes : pair of Axes, optional

    Examples
    --------
    >>> left, right = draw_risk(lambda alpha: 1 - alpha, 1.0)
    >>> right.get_xlabel()
    'epsilon'
    """
    if axes is None:
        need("plots")
        import matplotlib.pyplot as plt

        _, pair = plt.subplots(1, 2, figsize=(8.6, 3.4), layout="constrained")
        axes = pair[0], pair[1]
    left, right = (axes_or_new(ax, 3.4) for ax in axes)
    alpha = np.linspace(0, 1, 401)
    left.plot(alpha, 1 - alpha, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    left.plot(alpha, curve(alpha), color=ACCENT)
    left.set_xlabel("false alarms of a test", fontsize=9)
    left.set_ylabel("misses, at least", fontsize=9)
    epsilons = np.linspace(0.05, 6, 60)
    two, ten = (np.expm1(epsilons) / (np.exp(epsilons) + m - 1) for m in (2, 10))
    right.plot(epsilons, two, color=ACCENT, label="membership, yes/no")
    right.plot(epsilons, ten, color=SOFT, label="one of 10 values")
    if epsilon is not None:
        right.axvline(epsilon, color=WARM, linewidth=1.2, linestyle=(0, (4, 3)))
    right.set_xlabel("epsilon", fontsize=9)
    right.set_ylabel("share of total disclosure, at most", fontsize=9)
    right.legend(frameon=False, fontsize=8, labelcolor=INK)
    return left, right


def draw_ignorance(
    unknown: np.ndarray,
    noise: Sequence[float],
    rivals: Sequence[tuple[str, float]],
    here: tuple[int, float, str],
    ax: Axes | None = None,
) -> Axes:
    """Noise against unknown records, and what is needed where all others are known.

    Parameters
    ----------
    unknown, noise : array and sequence of float
        The curve.
    rivals : sequence of (str, float)
        Name and noise of those who do not count on ignorance.
    here : (int, float, str)
        The point that was asked for, and its noise in words.
    ax : Axes, optional

    Examples
    --------
    >>> at = np.array([0, 60])
    >>> draw_ignorance(at, [5.0, 3.0], [("plain DP", 5.0)], (60, 3.0, "3")).get_xlabel()
    'records that the attacker does not know'
    """
    ax = axes_or_new(ax, 3.2)
    for name, level in rivals:
        ax.axhline(level, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)
        ax.annotate(name, (unknown[-1], level), (0, 4), textcoords="offset points", ha="right",
                    color=MUTED, fontsize=8)  # fmt: skip
    ax.plot(unknown, noise, color=ACCENT)
    ax.plot(here[:1], here[1:2], "o", color=WARM, clip_on=False)
    ax.annotate(f"here: {here[2]}", here[:2], (6, 6),
                textcoords="offset points", color=INK, fontsize=8)  # fmt: skip
    ax.set_ylim(bottom=0, top=1.15 * max(level for _, level in rivals))
    ax.set_xlim(left=0)
    ax.set_xlabel("records that the attacker does not know", fontsize=9)
    ax.set_ylabel("noise on the count (standard deviation)", fontsize=9)
    return ax
