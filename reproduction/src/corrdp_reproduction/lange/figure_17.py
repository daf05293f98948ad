"""Lange (2024), figure 17: error of a genotype count; the trios stand in for the 1000 Genomes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.bounds.leakage import leakage
from corrdp.calibration.calibrate import calibrate
from corrdp.models.pedigrees.linkage import Linkage, read_linkage
from corrdp.plots import ACCENT, MUTED, WARM
from corrdp.queries import Count
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.lange.thesis import THESIS, mean_squared_error, spread
from corrdp_reproduction.recordings import NoDataError, data_file, genotypes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRIOS = "crohn_trios.csv"
INSTEAD = "103 SNPs of 129 trios (387 people)"
QUERY = Count("BB", missing="skip")
FAMILIES = (1, 3, 5, 10, 50)  # assumed sizes of the largest family; the thesis does not print its
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (1.0, 5.0, 20.0),
    "full": (1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0),
}
SNPS: dict[Size, int] = {"quick": 8, "full": 103}  # for the exact leakage; every count is used
PUBLISHED = {
    "data": Published(
        "persons, positions used, and positions of the 1000 Genomes data",
        "section 8.2",
        (2504, 1000, 88_000_000),
    ),
    "mean": Published("average number of homozygous-major persons", "section 8.4.1", 40.29),
    "grows": Published("the error grows with the size of the largest family", "section 8.4.1"),
    "nearly tight": Published("for genotypes the general bound is nearly tight", "section 8.4.1"),
}


@experiment(
    "000-figure-17", "Error of a genotype count by family size", f"{THESIS}, figure 17", PUBLISHED
)
def figure_17(run: Run) -> Result:
    """Error of the count by assumed family size, and of 129 trios by their exact leakage.

    The 1000 Genomes data are not available. Each of the 103 SNPs of the trios is a data set, one
    run each. ``expected`` is 2 m^2 / epsilon^2 for an assumed family size m; in the rows of way
    "exact" noise is calibrated to the leakage of that count in the trios.
    """
    trios = read_linkage(data_file(TRIOS, run.data))
    counts = (trios.copies == 2).sum(axis=0).astype(float)
    picked = np.linspace(0, len(trios.snps) - 1, min(SNPS[run.size], len(trios.snps))).astype(int)
    pedigrees = [trios.pedigree(trios.snps[k]) for k in picked]
    rows: list[tuple[str, float, int, float, float]] = []
    for epsilon in run.over(EPSILONS[run.size]):
        for m in FAMILIES:
            scale = m / epsilon
            rows.append(("general", epsilon, m, 2 * scale**2,
                         mean_squared_error(counts, scale, run.rng)))  # fmt: skip
        scales = [calibrate(p, epsilon, query=QUERY, method="exact").scale for p in pedigrees]
        measured = [mean_squared_error(counts[[k]], b, run.rng) for k, b in zip(picked, scales,
                    strict=True)]  # fmt: skip
        expected = float(np.mean([2 * b**2 for b in scales]))
        rows.append(("exact", epsilon, 3, expected, float(np.mean(measured))))
    leaks = [leakage(p, 1.0, query=QUERY, method="exact").value for p in pedigrees]
    table = Table(("way", "epsilon", "m", "expected", "measured"), tuple(rows))
    notes = (
        f"The 1000 Genomes data are not available: {INSTEAD} are run instead.",
        f"Measured errors are averages over {len(counts)} SNPs (relative standard deviation "
        f"{spread(len(counts)):.3f}), those of way exact over {len(picked)}.",
    )
    findings = _findings(table, trios, counts, leaks, run.given, run.data)
    inputs = {"families": FAMILIES, "snps": len(picked)}
    return run.result(table, findings, inputs, notes)


def _findings(
    table: Table,
    trios: Linkage,
    counts: np.ndarray,
    leaks: list[float],
    given: dict[str, Any],
    data: str | os.PathLike[str] | None,
) -> tuple[Finding, ...]:
    people = given["data"][0]
    observed = (trios.copies >= 0).sum(axis=0)
    share = float((counts / observed).mean())
    general = table.where(way="general")
    # the error falls with the square of the level, so that all levels measure the same constant
    pooled = [
        float(np.mean([r["measured"] * r["epsilon"] ** 2 for r in general.where(m=m).records()]))
        for m in FAMILIES
    ]
    one = list(table.where(epsilon=1.0).records())
    trio = next(row for row in one if row["way"] == "general" and row["m"] == 3)
    exact = next(row for row in one if row["way"] == "exact")
    missing = (
        Finding("data", "data missing", "The 1000 Genomes data are not available."),
        Finding(
            "mean",
            "data missing",
            f"The data are not available. In Hardy-Weinberg proportions at least {people // 4} of "
            f"{people} would be homozygous in the more frequent allele; of the genotypes of the "
            f"trios {share:.1%} are, {share * people:.0f} of {people}.",
        ),
    )
    return (
        *(_of_the_source(given, data) or missing),
        judge(
            "grows",
            bool(
                (np.diff(pooled) > 0).all()
                and (np.diff(general.where(epsilon=1.0).column("expected")) > 0).all()
            ),
            "2 m^2 / epsilon^2, and so measured on the trios, times epsilon^2: "
            + ", ".join(f"{e:.4g} (m = {m})" for m, e in zip(FAMILIES, pooled, strict=True))
            + ".",
            trio["expected"],
            exact["expected"],
            instead=INSTEAD,
        ),
        judge(
            "nearly tight",
            all(2.0 <= leak <= 3.0 for leak in leaks),
            f"The count leaks {min(leaks):.4f} to {max(leaks):.4f} of 3 at epsilon 1 in trios, so "
            f"the exact leakage saves {1 - exact['expected'] / trio['expected']:.1%} of the error "
            f"at level 1.",
            3.0,
            max(leaks),
            instead=INSTEAD,
        ),
    )


def _of_the_source(
    given: dict[str, Any], data: str | os.PathLike[str] | None
) -> tuple[Finding, ...]:
    """What the 1000 Genomes data say themselves, where they are at hand."""
    persons, positions, _ = given["data"]
    try:
        people, copies = genotypes(positions, data)
    except NoDataError:
        return ()
    # of persons whose genotype is known, at the allele that is more frequent there
    often = np.where(copies < 0, 0, copies - 1).sum(axis=1) > 0
    major = np.where(often[:, None], copies == 2, copies == 0).sum(axis=1)
    alternative = float((copies == 2).sum(axis=1).mean())
    return (
        judge(
            "data",
            (len(people), len(copies)) == (persons, positions),
            f"{len(people)} persons at the first {len(copies)} positions with two alleles.",
        ),
        judge(
            "mean",
            round(alternative, 2) == given["mean"],
            f"{alternative:.2f} persons have two copies of the alternative allele on average, "
            f"{major.mean():.2f} two of the more frequent one.",
            alternative,
        ),
    )


@figure_17.panel("BDP level (dots: measured on the trios)", "mean squared error", fontsize=7)
def draw(result: Result, ax: Axes) -> None:
    """Error against the level: one line per family size, dots as measured on the trios."""
    general = result.table.where(way="general")
    for m, style in zip(FAMILIES, (":", "-", "-.", "--", (0, (5, 1))), strict=True):
        part = general.where(m=m)
        ax.plot(part.column("epsilon"), part.column("expected"), color=WARM, linestyle=style,
                linewidth=1.2, label=f"general, m = {m}")  # fmt: skip
        ax.plot(part.column("epsilon"), part.column("measured"), ".", color=MUTED, markersize=4)
    exact = result.table.where(way="exact")
    ax.plot(exact.column("epsilon"), exact.column("expected"), color=ACCENT, linewidth=1.5,
            label="trios, exact leakage")  # fmt: skip
    ax.set_yscale("log")
