"""Westenfeld (2022): claims outside of the figures, and the comparison left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp_reproduction.base import Published, Result, Size
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.knowledge.comparison import BIAS, DELTA, KAPPA, compared, comparison
from corrdp_reproduction.knowledge.practice import practice
from corrdp_reproduction.knowledge.theory import theory
from corrdp_reproduction.knowledge.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRIES: dict[Size, int] = {"quick": 60, "full": 2000}
PUBLISHED = {
    "table": Published("share of ones in the table", "claim 4.13", 0.4),
    "known": Published("share of known records", "claim 4.13", 0.6),
    "competitive": Published("better utility than DP for tables of realistic size", "abstract"),
    "algorithm 1": Published("at worst as much noise as the 'optimal' sigma", "section 4.1.3"),
    "algorithm 2": Published("the better of its noise and that of DP is returned", "section 4.2.2"),
    "lemma 4.5": Published("what algorithm 1 returns keeps delta", "section 4.1.3"),
    "calls": Published("algorithm 1 takes logarithmically many evaluations", "section 4.1.3"),
    "ends": Published("the loops of algorithm 1 end", "lemma 4.5"),
    "identity": Published(
        "kappa_1 + kappa_2 + kappa_3 = kappa_1 + kappa_2 + kappa_4 + E",
        "corollary 4.23",
    ),
    "guarantee": Published("algorithm 2 keeps epsilon and delta", "theorem 4.8 and corollary 4.23"),
    "small": Published("tables of fewer than 100 records work badly", "section 6.1.2"),
    "strong bias": Published("biases below .1 and above .9 are at times unusable", "section 6.1.2"),
    "middle": Published("biases from .25 to .75 work fine", "section 6.1.2"),
    "buckets": Published("so many privacy buckets suffice", "section 4.4", 100_000),
    "switch": Published("unknown records from which FFT is used", "section 5.1", 20_000),
    "floor": Published("error of the FFT", "section 5.1", 1e-14),
    "convolution": Published("the error of the FFT outweighs what is computed", "section 5.1"),
    "hours": Published(
        "a million records take hours, more than 90 % of them for convolutions", "section 8.1"
    ),
    "lemma 4.10": Published(
        "cutting off Laplace noise costs at most the sum of both tails", "section 4.3.1"
    ),
    "lemma 4.11": Published("every DP mechanism is PPK-DP at the same level", "section 4.3.1"),
    "conjecture 4.12": Published("the law of the loss falls", "sections 4.3.2 and 8.1"),
    "theorem 4.17": Published(
        "the loss grows with the distance of the bias from the table's", "section 4.3.3"
    ),
    "corollary 4.18": Published(
        "a smaller loss means a bias nearer to the table's", "section 4.3.3"
    ),
    "lemma 4.21": Published(
        "the loss is at most the larger of those at both ends of an interval", "section 4.3.4"
    ),
    "theorem 4.22": Published(
        "the same of the means over outputs, which are delta", "section 4.3.4"
    ),
    "line 31": Published(
        "noise that is enough at both ends of the interval is enough", "algorithm 2, line 31"
    ),
    "composition": Published("PPK-DP mechanisms compose sequentially", "section 4.3"),
}


@experiment(
    "003-claims", "Claims on partial knowledge, and the comparison with plain DP", THESIS, PUBLISHED
)
def claims(run: Run) -> Result:
    """Every claim by the algorithms as printed and by ours, and all of them next to plain DP.

    The table holds noise on the count: ``algorithm_1`` where the bias is known, ``printed``
    (algorithm 2, in one unit; ``literal`` is what the listing returns) and ``corrected`` where it
    is estimated, ``exact`` and ``tail`` for plain DP at the same epsilon and delta. Where
    ``corrected`` is above ``exact`` it is a lower bound.
    """
    given = run.given
    table = comparison(run)
    findings = (*compared(table), *practice(given), *theory(given, run.rng, TRIES[run.size]))
    inputs = {**given, "bias": BIAS, "delta": DELTA, "kappa_1": KAPPA, "kappa_2": KAPPA}
    notes = (
        "The thesis prints no result of either algorithm, though its "
        "abstract tells of one: the comparison is ours, at its best bias and with an estimate that "
        "happens to be right.",
    )
    return run.result(table, findings, inputs, notes)


@claims.panel("unknown records", "noise relative to plain DP", fontsize=7)
def draw(result: Result, ax: Axes) -> None:
    """Noise relative to plain DP against the number of unknown records, by epsilon."""
    epsilons = sorted(set(result.table.column("epsilon")))
    for epsilon, colour in zip(epsilons, (WARM, INK, ACCENT), strict=True):
        rows = sorted(
            result.table.where(epsilon=epsilon).records(), key=lambda r: r["n"] * (1 - r["share"])
        )
        unknown = [row["n"] * (1 - row["share"]) for row in rows]
        for name, style, said in (
            ("algorithm_1", ":", "bias known"),
            ("corrected", "-", "bias estimated"),
        ):
            ax.plot(unknown, [row[name] / row["exact"] for row in rows], style, marker="o",
                    color=colour, markersize=3, label=f"epsilon {epsilon:g}, {said}")  # fmt: skip
    ax.axhline(1.0, color=MUTED, linewidth=0.8, label="plain DP")
    ax.set_xscale("log")
    ax.set_ylim(-0.1, 3.2)  # room for the legend
