"""Pictures of risk: what a test can tell, and what an attacker gains as epsilon grows.

The picture of ignorance: how much noise is missing as fewer records are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.guarantees import Approximate, Pure
from corrdp.metric.tradeoff import curve_of
from corrdp.partial.calibrating import NoiseScale, least_noise
from corrdp.partial.deltas import NaturalNoise
from corrdp.partial.estimating import EstimatedScale
from corrdp.plots.style import ACCENT, INK, MUTED, SOFT, WARM, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.reconstruction.risk import Risk


def draw_risk(risk: Risk, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
    """The trade-off curve of the guarantee, and the share of disclosure against epsilon.

    Examples
    --------
    >>> from corrdp.reconstruction.risk import risk
    >>> left, right = draw_risk(risk(1.0))
    >>> right.get_xlabel()
    'epsilon'
    """
    if axes is None:
        import matplotlib.pyplot as plt

        _, pair = plt.subplots(1, 2, figsize=(8.6, 3.4), layout="constrained")
        axes = pair[0], pair[1]
    left, right = (axes_or_new(ax, 3.4) for ax in axes)
    alpha = np.linspace(0, 1, 401)
    left.plot(alpha, 1 - alpha, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    left.plot(alpha, curve_of(risk.guarantee)(alpha), color=ACCENT)
    left.set_xlabel("false alarms of a test", fontsize=9)
    left.set_ylabel("misses, at least", fontsize=9)
    epsilons = np.linspace(0.05, 6, 60)
    two, ten = (np.expm1(epsilons) / (np.exp(epsilons) + m - 1) for m in (2, 10))
    right.plot(epsilons, two, color=ACCENT, label="membership, yes/no")
    right.plot(epsilons, ten, color=SOFT, label="one of 10 values")
    if isinstance(risk.guarantee, Pure | Approximate):
        level = float(np.max(risk.guarantee.epsilon))
        right.axvline(level, color=WARM, linewidth=1.2, linestyle=(0, (4, 3)))
    right.set_xlabel("epsilon", fontsize=9)
    right.set_ylabel("share of total disclosure, at most", fontsize=9)
    right.legend(frameon=False, fontsize=8, labelcolor=INK)
    return left, right


_POINTS = 25
_NOTHING = 1e-100  # variance of an unknown record below which all of them are no noise


def draw_ignorance(found: NoiseScale | EstimatedScale, ax: Axes | None = None) -> Axes:
    """Noise against unknown records at the worse end of the bias, and what plain DP needs.

    An estimated bias has cost part of epsilon and delta: the curve then starts at what is needed
    with the rest of them, and plain DP is drawn without the estimate, at all of them.

    Examples
    --------
    >>> from corrdp.partial.calibrating import noise_scale
    >>> from corrdp.partial.knowledge import Knowledge
    >>> draw_ignorance(noise_scale(.5, 1e-3, Knowledge(100, 60), .4)).get_xlabel()
    'records that the attacker does not know'
    """
    ax = axes_or_new(ax, 3.2)
    rivals = [("plain DP", found.plain.counts)]
    if isinstance(found, EstimatedScale):
        found = found.step
        rivals.append(("all others known, after the estimate", found.plain.counts))
    bias = max(found.bias, key=lambda p: abs(p - 0.5))
    plain = found.plain.counts
    natural = bias * (1 - bias)
    if natural > _NOTHING:
        # noise is gone a little after natural noise alone has the variance of plain DP's
        gone = plain**2 / natural
        most = min(found.knowledge.n - 1, max(1.3 * gone, 1.1 * found.knowledge.unknown))
        grid = np.unique(np.linspace(0, most, _POINTS).astype(int))
        near = np.linspace(0.7 * gone, 1.15 * gone, _POINTS)  # the curve is steep there
        grid = np.unique(np.concatenate([grid, near[near <= most].astype(int)]))
    else:
        grid = np.array([0, found.knowledge.n - 1])
    noise = [_noise(found, int(unknown), bias, plain) for unknown in grid]
    for name, level in rivals:
        ax.axhline(level, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)
        ax.annotate(name, (grid[-1], level), (0, 4), textcoords="offset points", ha="right",
                    color=MUTED, fontsize=8)  # fmt: skip
    ax.plot(grid, noise, color=ACCENT)
    ax.plot([found.knowledge.unknown], [found.scale.counts], "o", color=WARM, clip_on=False)
    ax.annotate(f"here: {found.scale}", (found.knowledge.unknown, found.scale.counts), (6, 6),
                textcoords="offset points", color=INK, fontsize=8)  # fmt: skip
    ax.set_ylim(bottom=0, top=1.15 * max(level for _, level in rivals))
    ax.set_xlim(left=0)
    ax.set_xlabel("records that the attacker does not know", fontsize=9)
    ax.set_ylabel("noise on the count (standard deviation)", fontsize=9)
    return ax


def _noise(found: NoiseScale, unknown: int, bias: float, plain: float) -> float:
    if not 0 < bias < 1:
        return plain
    natural = NaturalNoise(unknown, bias, found.epsilon)
    return least_noise(found.epsilon, found.target, natural).scale.counts
