"""Pictures of risk: what a test can tell, and what an attacker gains as epsilon grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.guarantees import Approximate, Pure
from corrdp.metric.tradeoff import curve_of
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
