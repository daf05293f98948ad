"""Pictures of risk: what a test can tell, and what an attacker gains as epsilon grows.

The picture of ignorance: how much noise is missing as fewer records are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from corrdp._lazy import need
from corrdp.plots.style import ACCENT, INK, MUTED, SOFT, WARM, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
