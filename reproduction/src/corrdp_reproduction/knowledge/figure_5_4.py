"""Westenfeld (2022), figure 5.4: how many classes of background knowledge are left out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.partial.deltas import partial_delta
from corrdp.partial.knowledge import Knowledge, Noise
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.knowledge.printed import class_losses, class_masses
from corrdp_reproduction.knowledge.statements import deltas_by_class
from corrdp_reproduction.knowledge.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES: dict[Size, int] = {"quick": 2, "full": 4}  # how many of the thesis's sizes
SHARES: dict[Size, tuple[float, ...]] = {
    "quick": (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99),
    "full": (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99),
}
_COLUMNS = ("n", "share", "classes", "kappa_1", "percent", "percent_defined", "percent_caption")


def left_out(losses: np.ndarray, masses: np.ndarray, share: float) -> int:
    """How many classes of largest loss are left out, of a probability below ``share`` together.

    Parameters
    ----------
    losses, masses : array
        Of every class.
    share : float
        kappa_1.

    Examples
    --------
    >>> left_out(np.array([3., 1., 2.]), np.array([.2, .5, .3]), .4)
    1
    """
    sums = np.cumsum(masses[np.argsort(-losses, kind="stable")])
    return min(int(np.searchsorted(sums, share)), len(masses) - 1)


PUBLISHED = {
    "sizes": Published("records", "figure 5.4", (10**4, 10**5, 10**6, 10**7)),
    "bias": Published("share of ones", "figure 5.4", 0.5),
    "kappa_1": Published("share of probability", "figure 5.4", (1e-6, 1e-14)),
    "peak": Published(
        "share of known records at which most classes are left out",
        "section 5.4",
        0.5,
    ),
    "drops": Published("fewer are left out near both extremes", "section 5.4"),
    "faster": Published("the percentage drops faster for small tables", "section 5.4"),
    "caption": Published("classes are left out up to a probability of 1 - kappa_1", "figure 5.4"),
    "needed": Published("the class that remains decides about the noise", "section 4.2.2"),
}


@experiment(
    "003-figure-5.4",
    "Classes of background knowledge that are left out",
    f"{THESIS}, figure 5.4",
    PUBLISHED,
)
def figure_5_4(run: Run) -> Result:
    """Percentage of classes left out: by the losses of the listing, and by those defined.

    ``percent_caption`` leaves out up to 1 - kappa_1, as the caption has it.
    """
    given = run.given
    cases = list(itertools.product(given["sizes"][: SIZES[run.size]], SHARES[run.size]))
    rows: list[tuple[Any, ...]] = []
    for n, share in run.over(cases):
        rows += _rows(n, share, given)
    table = Table(_COLUMNS, tuple(rows))
    findings = (
        *_shape(table, given),
        _needed(),
    )
    return run.result(table, findings, given)


def _rows(n: int, share: float, given: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    known, count, bias = round(share * n), round(given["bias"] * n), given["bias"]
    hits, masses = class_masses(n, known, count)
    listing = class_losses(known, bias, hits)
    defined = class_losses(n - known - 1, bias, count - hits)
    for kappa in given["kappa_1"]:
        dropped = (
            left_out(listing, masses, kappa),
            left_out(defined, masses, kappa),
            left_out(listing, masses, 1 - kappa),
        )
        yield (n, share, len(hits), kappa, *(100 * k / len(hits) for k in dropped))


def _shape(table: Table, given: dict[str, Any]) -> Iterator[Finding]:
    sizes, kappas = sorted(set(table.column("n"))), given["kappa_1"]
    parts = {(n, k): table.where(n=n, kappa_1=k) for n in sizes for k in kappas}
    peaks = {key: _peak(part, "percent") for key, part in parts.items()}
    small = parts[sizes[0], kappas[0]]
    tight = _peak(small, "percent_defined")
    yield judge(
        "peak",
        all(at == given["peak"] for at, _ in peaks.values()),
        "; ".join(f"n = {n}: {peaks[n, kappas[0]][1]:.2f} % at .5" for n in sizes)
        + f" for kappa_1 {kappas[0]:g}; by the losses that are defined {tight[1]:.2f} % at "
        f"{tight[0]:g} for n = {sizes[0]}.",
        peaks[sizes[0], kappas[0]][1],
        tight[1],
    )
    ends = {key: [part.column("percent")[k] for k in (0, -1)] for key, part in parts.items()}
    yield judge(
        "drops",
        all(_hill(part.column("percent")) for part in parts.values()),
        f"n = {sizes[0]}, kappa_1 {kappas[0]:g}: {ends[sizes[0], kappas[0]][0]:.2f} % and "
        f"{ends[sizes[0], kappas[0]][1]:.2f} % at shares of {small.column('share')[0]:g} and "
        f"{small.column('share')[-1]:g}.",
        ends[sizes[0], kappas[0]][0],
    )
    falls = {
        k: [peaks[n, k][1] - min(ends[n, k]) for n in sizes] for k in kappas
    }  # in per cent of all classes
    yield judge(
        "faster",
        all(a > b for fall in falls.values() for a, b in itertools.pairwise(fall)),
        f"From the peak to the lower end, kappa_1 {kappas[0]:g}: "
        + ", ".join(f"{f:.2f} (n = {n})" for n, f in zip(sizes, falls[kappas[0]], strict=True))
        + " points.",
        falls[kappas[0]][0],
        falls[kappas[0]][-1],
    )
    caption = [row["percent_caption"] for row in table.records()]
    yield judge(
        "caption",
        min(caption) < 90,
        f"Then {min(caption):.2f} % to {max(caption):.2f} % of the classes would be left out, at "
        "every share alike: no peak and no drop. Up to kappa_1 is meant (003-C08b).",
        min(caption),
        small.column("percent")[0],
    )


def _peak(part: Table, name: str) -> tuple[float, float]:
    return max(zip(part.column("share"), part.column(name), strict=True), key=lambda pair: pair[1])


def _hill(curve: list[float]) -> bool:
    """Rising to the largest, then falling."""
    top = curve.index(max(curve))
    up, down = curve[: top + 1], curve[top:]
    return all(a < b for a, b in itertools.pairwise(up)) and all(
        a > b for a, b in itertools.pairwise(down)
    )


def _needed() -> Finding:
    """By brute force over all tables: delta is the same whatever was seen."""
    n, known, bias, epsilon = 8, 4, 0.4, 0.5
    deltas = deltas_by_class(n, known, bias, epsilon)
    losses = class_losses(known, bias, np.arange(known + 1))
    exact = float(partial_delta(epsilon, Knowledge(n, known), bias, Noise(0.0)))
    apart = max(deltas) - min(deltas)
    return judge(
        "needed",
        apart > 1e-9,
        f"{n} records, {known} known, epsilon {epsilon:g}: delta is {exact:.6f} whatever was seen "
        f"(apart by {apart:.0e}), while the listing's losses run from {losses.min():.3f} to "
        f"{losses.max():g}. With independent records what was seen is a known shift (003-C13).",
        float(losses[np.isfinite(losses)].max()),
        exact,
    )


@figure_5_4.panel("share of known records", "classes left out, per cent", fontsize=7)
def draw(result: Result, ax: Axes) -> None:
    """Percentage left out against the share of known records, one line per size."""
    kappas = sorted(set(result.table.column("kappa_1")), reverse=True)
    for n, colour in zip(
        sorted(set(result.table.column("n"))), (WARM, INK, ACCENT, MUTED), strict=False
    ):
        for kappa, style in zip(kappas, ("-", ":"), strict=True):
            part = result.table.where(n=n, kappa_1=kappa)
            ax.plot(part.column("share"), part.column("percent"), style, color=colour,
                    linewidth=1.5, label=f"n = {n:.0e}, kappa_1 {kappa:g}")  # fmt: skip
