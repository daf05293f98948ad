"""Lange (2024), figure 7: accuracy of a count of genotypes in a family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corrdp.bounds.leakage import leakage
from corrdp.bounds.pedigrees import least_error, lower_bound
from corrdp.calibration.calibrate import calibrate
from corrdp.mechanisms.laplace import Laplace
from corrdp.models.groups import Groups
from corrdp.models.pedigrees.mendel import FounderLaw, HardyWeinberg
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp.queries import Count
from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.thesis import COUNT, THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EPSILONS = (1.0, 2.0, 5.0)
FAMILIES = (3, 5, 7)
BETAS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
LARGE = 1000  # a family "of all n records"
GENOTYPE = Count("BB")
# the thesis leaves the founders' law open; the last one has few carriers of b, almost all bb
FOUNDERS: dict[str, FounderLaw] = {
    "p(B) = .1": HardyWeinberg(0.1),
    "p(B) = .5": HardyWeinberg(0.5),
    "p(B) = .9": HardyWeinberg(0.9),
    "b rare, and bb": {"BB": 0.999, "Bb": 1e-9, "bb": 0.001 - 1e-9},
}


def nuclear_family(m: int, founders: FounderLaw) -> Pedigree:
    """Two parents and their m - 2 children.

    Examples
    --------
    >>> nuclear_family(4, HardyWeinberg(.5))
    <pedigree of 4 people in 1 family>
    """
    children = {f"child {k}": ("father", "mother") for k in range(1, m - 1)}
    return Pedigree({"father": None, "mother": None, **children}, founders=founders)


PUBLISHED = {
    "exceeds n": Published(
        "probability with which the error exceeds n at level 2, all records one family",
        "section 5.3",
        0.1,
    ),
    "half": Published("share of n that the best possible error reaches", "section 5.3", 0.5),
    "nearly tight": Published(
        "a nuclear family of m leaks at least (m - 1) epsilon, nearly the bound m epsilon",
        "corollary 5.2, and section 5.3",
    ),
}


@experiment(
    "000-figure-7", "Accuracy of a genotype count in families", f"{THESIS}, figure 7", PUBLISHED
)
def figure_7(run: Run) -> Result:
    """Error alpha that is exceeded with probability beta, by three ways.

    ``laplace`` is Laplace noise by the general bound (solid in the figure), ``family`` the same
    noise calibrated to the exact leakage of a nuclear family with allele frequency 1/2, ``least``
    what no mechanism avoids, (m - 1)/2 for beta < 1/(e^epsilon + 1) (dashed).
    """
    rows = []
    for epsilon in run.over(EPSILONS):
        for m in FAMILIES:
            general, exact = _noise(m, epsilon)
            least = least_error(m, epsilon)
            for beta in BETAS:
                floor = least.alpha if beta < least.beta else None
                rows.append((epsilon, m, beta, general.error(beta), exact.error(beta), floor))
    table = Table(("epsilon", "m", "beta", "laplace", "family", "least"), tuple(rows))
    given = run.given
    inputs = {**given, "founders": tuple(FOUNDERS)}
    notes = ("The thesis leaves the law of the founders open; family uses p(B) = .5.",)
    return run.result(table, _findings(given), inputs, notes)


def _noise(m: int, epsilon: float) -> tuple[Laplace, Laplace]:
    """Noise on the count by the general bound, and by the exact leakage of the family."""
    family = nuclear_family(m, FOUNDERS["p(B) = .5"])
    return (
        Laplace(COUNT, calibrate(Groups(m), epsilon, query=COUNT, method="general").scale),
        Laplace(GENOTYPE, calibrate(family, epsilon, query=GENOTYPE, method="exact").scale),
    )


def _findings(given: dict[str, float]) -> tuple[Finding, ...]:
    m = FAMILIES[1]
    general, exact = _noise(m, 2.0)
    tails = [_noise(size, 2.0)[0].tail(size) for size in FAMILIES]
    share = least_error(LARGE, 2.0).alpha / LARGE
    least = lower_bound(m, 1.0).value
    leaks = {
        name: leakage(nuclear_family(m, law), 1.0, query=GENOTYPE, method="exact").value
        for name, law in FOUNDERS.items()
    }
    return (
        judge(
            "exceeds n",
            min(tails) >= given["exceeds n"],
            f"{min(tails):.2%} to {max(tails):.2%} for families of {FAMILIES[0]} to "
            f"{FAMILIES[-1]}; the error at 10 % is {general.error(0.1) / m:.4f} n. With noise for "
            f"the exact leakage of a family of {m}: {exact.tail(m):.2%}.",
            general.tail(m),
            exact.tail(m),
        ),
        judge(
            "half",
            round(share, 2) == given["half"],
            f"(m - 1)/2 is {share:.4f} n for m = n = {LARGE:,}, at every beta below "
            f"{least_error(LARGE, 2.0).beta:.4f}.",
            share,
        ),
        judge(
            "nearly tight",
            all(leak >= least for leak in leaks.values()),
            f"Exact leakage of m = {m} at epsilon 1, by founders: "
            + "; ".join(f"{name}: {leak:.4f}" for name, leak in leaks.items())
            + f". The largest is {max(leaks.values()) / m:.4%} of the bound {m}.",
            least,
            max(leaks.values()),
        ),
    )


@figure_7.panels_of(
    {epsilon: f"BDP level {epsilon:g}" for epsilon in EPSILONS}, "beta", "error alpha", fontsize=7
)
def draw(epsilon: float, result: Result, ax: Axes) -> None:
    """Error against its probability, one colour per way, one line per family size."""
    table = result.table.where(epsilon=epsilon)
    styles = dict(zip(sorted(set(table.column("m"))), ("-", "--", ":"), strict=True))
    for name, colour, said in (
        ("laplace", WARM, "Laplace, general bound"),
        ("family", ACCENT, "Laplace, exact leakage"),
        ("least", MUTED, "every mechanism, at least"),
    ):
        for m, style in styles.items():
            part = table.where(m=m)
            points = [(b, a) for b, a in zip(part.column("beta"), part.column(name), strict=True)
                      if a is not None]  # fmt: skip
            ax.plot(*zip(*points, strict=True), color=colour, linestyle=style, linewidth=1.3,
                    label=f"{said}, m = {m}")  # fmt: skip
