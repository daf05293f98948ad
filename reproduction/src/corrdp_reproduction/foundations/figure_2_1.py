"""Guerra-Balboa (2026), figure 2.1: trade-off curves of epsilon 1, delta .1 and mu."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.mechanisms.gaussian import Gaussian
from corrdp.metric.curves import ApproximateCurve, Curve, GaussianCurve, LaplaceCurve
from corrdp.metric.fibres import exact_delta
from corrdp.metric.finite import pair_curve
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp.queries import Count
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.foundations.dissertation import DISSERTATION
from corrdp_reproduction.harness import Run, curves, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 201  # levels of the table
_SIGMA = 2.0  # of Gaussian noise whose curve is found without its formula
_BINS: dict[Size, int] = {"quick": 801, "full": 8001}  # of a normal law made discrete
_FIGURE, _TEXT = "figure 2.1", "section 2.3.1.1"
PUBLISHED = {
    "epsilon": Published("level of the DP curves", _FIGURE, 1.0),
    "delta": Published("delta of the second", _FIGURE, 0.1),
    "mu": Published("a Gaussian curve that the text names", _TEXT, 3.0),
    "formula": Published("(epsilon, delta)-DP and f-DP of (2.4) are the same", "equation (2.4)"),
    "gaussian": Published(
        "Gaussian noise sigma on a query of sensitivity 1 has mu = 1/sigma", _FIGURE
    ),
    "falling": Published("G_mu falls with mu", "section 2.3.1.1"),
    "axes": Published("G_3 lies closest to the axes, so that it promises least", _TEXT),
    "total variation": Published(
        "the largest gap to the diagonal is (e^eps - 1 + 2 delta)/(e^eps + 1)",
        "equation (2.5)",
    ),
}


@experiment(
    "004-figure-2.1",
    "Trade-off curves of DP, Laplace and Gaussian noise",
    f"{DISSERTATION}, figure 2.1",
    PUBLISHED,
)
def figure_2_1(run: Run) -> Result:
    """The curves on 201 levels; ``laplace`` is what Laplace noise of level epsilon really has."""
    given = run.given
    epsilon, delta, mu = given["epsilon"], given["delta"], given["mu"]
    curves: dict[str, Curve] = {
        "f_eps": ApproximateCurve(epsilon),
        "f_eps_delta": ApproximateCurve(epsilon, delta),
        "laplace": LaplaceCurve(epsilon),
        "G_half": GaussianCurve(1 / _SIGMA),
        "G_1": GaussianCurve(1.0),
        "G_3": GaussianCurve(mu),
    }
    alpha = np.linspace(0.0, 1.0, _POINTS)
    errors = {name: np.asarray(curve(alpha)) for name, curve in curves.items()}
    rows = zip(alpha.tolist(), *(e.tolist() for e in errors.values()), strict=True)
    table = Table(("alpha", *curves), tuple(rows))
    gaps = {name: curve.total_variation for name, curve in curves.items()}
    formula = (np.exp(epsilon) - 1 + 2 * delta) / (np.exp(epsilon) + 1)
    pair = curves["f_eps_delta"].as_pair()  # type: ignore[attr-defined]
    law = np.array([pair.p, pair.q])
    least = float(exact_delta(law, epsilon).max())
    off = float(np.abs(np.asarray(pair(alpha)) - errors["f_eps_delta"]).max())
    noisy = Gaussian(Count(1), _SIGMA).guarantee.mu
    apart = float(np.abs(np.asarray(_binned(_BINS[run.size])(alpha)) - errors["G_half"]).max())
    falls = (errors["G_half"] >= errors["G_1"]).all() and (errors["G_1"] >= errors["G_3"]).all()
    above = [n for n in curves if n != "G_3" and (errors["G_3"] > errors[n]).any()]
    crossing = _crossing(curves["G_3"], curves["f_eps_delta"])
    findings = (
        judge(
            "formula",
            off < 1e-12 and abs(least - delta) < 1e-12,
            f"Two laws on four outputs have this curve to {off:.0e}, and their least delta at "
            f"epsilon {epsilon:g} is {least:.6g}.",
            delta,
            least,
        ),
        judge(
            "gaussian",
            noisy == 1 / _SIGMA and apart < 1e-3,
            f"sigma = {_SIGMA:g} gives mu = {noisy:g}; two normal laws in {_BINS[run.size]} bins "
            f"have the curve G_1/2 to {apart:.0e}.",
            1 / _SIGMA,
            noisy,
        ),
        judge("falling", bool(falls), "At every level for mu = 1/2, 1, 3."),
        judge(
            "axes",
            max(gaps, key=gaps.__getitem__) == "G_3",
            f"Its gap to the diagonal is {gaps['G_3']:.6f}, the next largest "
            f"{max(v for n, v in gaps.items() if n != 'G_3'):.6f}. It is not below every curve "
            f"everywhere: under level {crossing:.1e} it lies above {', '.join(above)}, since delta "
            "gives something away at level 0 and Gaussian noise does not.",
            gaps["G_3"],
        ),
        judge(
            "total variation",
            abs(gaps["f_eps_delta"] - formula) < 1e-12,
            f"{gaps['f_eps_delta']:.6f} for the curve, {formula:.6f} by the formula; Laplace noise "
            f"of the same epsilon has {gaps['laplace']:.6f} and not {gaps['f_eps']:.6f}.",
            float(formula),
            gaps["f_eps_delta"],
        ),
    )
    notes = (
        "The drawing is lost: its curves are drawn again from the caption, with mu = 1/2 and 1 "
        "of our choice.",
    )
    return run.result(table, findings, given, notes)


def _binned(bins: int) -> Curve:
    """The curve of a normal law against itself moved by 1, both in bins."""
    from scipy.special import ndtr

    edges = np.linspace(-10 * _SIGMA, 10 * _SIGMA + 1, bins + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    return pair_curve(*(np.diff(ndtr((edges - mean) / _SIGMA)) for mean in (0.0, 1.0)))


def _crossing(one: Curve, two: Curve) -> float:
    """The level below .01 at which one curve passes under the other."""
    from scipy.optimize import brentq

    log = brentq(lambda t: float(one(np.exp(t)) - two(np.exp(t))), np.log(1e-12), np.log(0.01))
    return float(np.exp(log))


@figure_2_1.panel("type I error", "type II error")
def draw(result: Result, ax: Axes) -> None:
    """Type II against type I error."""
    drawn = [
        ("f_eps", INK, "-", "epsilon = 1"),
        ("f_eps_delta", INK, "--", "epsilon = 1, delta = 0.1"),
        ("laplace", WARM, "-", "Laplace noise, epsilon = 1"),
        ("G_half", ACCENT, ":", "mu = 1/2"),
        ("G_1", ACCENT, "--", "mu = 1"),
        ("G_3", ACCENT, "-", "mu = 3"),
    ]
    curves(ax, result.table, "alpha", drawn)
    ax.plot([0, 1], [1, 0], color=MUTED, linestyle=(0, (4, 3)), linewidth=1)
