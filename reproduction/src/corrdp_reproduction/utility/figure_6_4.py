"""Guerra-Balboa (2026), figure 6.4: how often a noisy count and randomized response fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.utility.counting import Setting, laplace_failure, response_failure
from corrdp_reproduction.utility.sources import DISSERTATION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAY = 0.6
EPSILONS = (1.65, 2.0, 4.0)  # the source prints none; 4 ln gamma is 1.622
ALPHAS: dict[Size, tuple[float, ...]] = {
    "quick": (1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0),
    "full": tuple(float(k) for k in range(1, 101)),
}
_EQUAL = 1e-12  # failure probabilities are right to 1e-13
_COLUMNS = ("epsilon", "alpha", "laplace", "response", "laplace_tight", "response_tight")
PUBLISHED = {
    "n": Published("length of the series", "figure 6.4", 500),
    "lower": Published(
        "the Laplace mechanism by the Markov bound fails less often than randomized response, "
        "for the same error and privacy, always",
        "figure 6.4 and section 6.4.2.1",
    ),
}


@experiment(
    "004-figure-6.4",
    "How often a noisy count and randomized response fail, 500 records",
    f"{DISSERTATION}, figure 6.4",
    PUBLISHED,
)
def figure_6_4(run: Run) -> Result:
    """Probability of an error of alpha or more, by the sources' calibrations and the tight ones.

    The response's is exact (a convolution of two binomials), for the worst true count. Nothing is
    drawn, no data are read.
    """
    n = PUBLISHED["n"].value
    rows = []
    for epsilon in run.over(EPSILONS):
        setting = Setting(STAY, epsilon)
        levels = setting.laplace, setting.laplace_tight
        responses = setting.response, setting.response_tight
        for alpha in ALPHAS[run.size]:
            ours = [laplace_failure(level, alpha) for level in levels]
            theirs = [response_failure(response, n, alpha) for response in responses]
            rows.append((epsilon, alpha, ours[0], theirs[0], ours[1], theirs[1]))
    table = Table(_COLUMNS, tuple(rows))
    lost, tight = (
        [row for row in table.records() if row["laplace" + way] > row["response" + way] + _EQUAL]
        for way in ("", "_tight")
    )
    worst = max(table.records(), key=lambda row: row["laplace"] - row["response"])
    lost_at = sorted({row["epsilon"] for row in lost})
    finding = judge(
        "lower",
        not lost,
        f"Not at {len(lost)} of {len(rows)} points, all at epsilon "
        f"{', '.join(f'{e:g}' for e in lost_at)} (4 ln gamma is {Setting(STAY, 1.0).lost:.4f}): "
        f"an error of {worst['alpha']:g} has probability {worst['laplace']:.3g} against "
        f"{worst['response']:.3g}. With both calibrated tightly the claim fails at {len(tight)}.",
        worst["laplace"] - worst["response"],
        max(row["laplace_tight"] - row["response_tight"] for row in table.records()),
    )
    inputs = {"n": n, "stay": STAY, "epsilons": EPSILONS}
    notes = (
        "The double sums (6.71) and (6.72) have wrong exponents (errata): the convolution is used.",
    )
    return run.result(table, (finding,), inputs, notes)


@figure_6_4.panel("error alpha (darker: larger epsilon)", "probability of that error or more")
def draw(result: Result, ax: Axes) -> None:
    """Failure probability against the error; the tight calibrations are solid."""
    for k, epsilon in enumerate(EPSILONS):
        part = result.table.where(epsilon=epsilon)
        shade = 0.4 + 0.6 * k / (len(EPSILONS) - 1)
        for name, colour in (("laplace", ACCENT), ("response", WARM)):
            for ending, style in (("", "--"), ("_tight", "-")):
                ax.plot(part.column("alpha"), part.column(name + ending), style, color=colour,
                        alpha=shade, linewidth=1.2)  # fmt: skip
    for colour, style, said in (
        (ACCENT, "--", "Laplace, Markov bound"),
        (ACCENT, "-", "Laplace, tight"),
        (WARM, "--", "response, closed form"),
        (WARM, "-", "response, tight"),
    ):
        ax.plot([], [], style, color=colour, label=said)
