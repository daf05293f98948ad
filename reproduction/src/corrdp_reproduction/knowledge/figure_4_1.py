"""Westenfeld (2022), figure 4.1: the privacy loss of a count against the bias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._binomial import log_binomial
from corrdp.partial.knowledge import Knowledge
from corrdp.plots import ACCENT, INK, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.knowledge.printed import class_losses
from corrdp_reproduction.knowledge.thesis import THESIS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BIASES: dict[Size, int] = {"quick": 99, "full": 999}  # evenly between 0 and 1
HITS: dict[Size, int] = {"quick": 39, "full": 199}  # of panel b
PUBLISHED = {
    "n": Published("records", "figure 4.1", 5000),
    "known": Published("of them known", "figure 4.1", 3000),
    "bias": Published("share of ones in the table", "claim 4.13", 0.4),
    "hits": Published("ones among the known records", "section 4.3.2", (500, 1000, 1500)),
    "500": Published("where the loss is least, 500 ones seen", "section 4.3.2", 0.75),
    "1500": Published("where the loss is least, 1500 ones seen", "section 4.3.2", 0.25),
    "conjecture": Published(
        "the loss grows with the distance of the bias from this, 1000 ones seen",
        "conjecture 3.9 and claim 4.13",
        0.5,
    ),
    "false": Published("conjecture 3.9 is false", "claim 4.13"),
    "distance": Published(
        "500 ones seen: the loss grows with the distance of the bias from .75, 1500: from .25",
        "claim 4.13, and lemma 4.14",
    ),
    "line": Published("the least loss lies on a line in the number of ones seen", "figure 4.1b"),
    "caption": Published("share of ones in the table", "figure 4.1a", 0.8),
}


def zero(given: Mapping[str, Any], hits: float, bias: float) -> float:
    """Share of ones among the records that are not known: there the loss is 0.

    Examples
    --------
    >>> zero({"n": 5000, "known": 3000}, 500, .4)
    0.75
    """
    return float((given["n"] * bias - hits) / (given["n"] - given["known"]))


@experiment(
    "003-figure-4.1", "Privacy loss of a count against the bias", f"{THESIS}, figure 4.1", PUBLISHED
)
def figure_4_1(run: Run) -> Result:
    """The loss without noise by definition 3.5, as a ratio of two binomial probabilities."""
    given = run.given
    grid = [k / (BIASES[run.size] + 1) for k in range(1, BIASES[run.size] + 1)]
    ones = round(given["n"] * given["bias"])
    unknown = Knowledge(given["n"], given["known"]).unknown
    plane = np.linspace(50, ones - 50, HITS[run.size]).astype(int).tolist()
    rows = []
    for bias in grid:
        logs = log_binomial(unknown, bias, whole=True)[1]
        for panel, seen in (("a", given["hits"]), ("b", plane)):
            for hits in seen:
                k = ones - hits  # among the records that are not known, the one attacked included
                rows.append((panel, hits, bias, abs(float(logs[k - 1] - logs[k]))))
    table = Table(("panel", "hits", "bias", "loss"), tuple(rows))
    lines = table.where(panel="a")
    findings = (
        *_least(lines, given),
        *_distances(lines, given),
        _line(given, unknown, ones, HITS[run.size]),
        _caption(given),
    )
    return run.result(table, findings, given)


def _losses(table: Table, hits: int) -> tuple[np.ndarray, np.ndarray]:
    part = table.where(hits=hits)
    return np.array(part.column("bias")), np.array(part.column("loss"))


def _least(table: Table, given: dict[str, Any]) -> Iterator[Finding]:
    for claim in ("500", "1500"):
        bias, loss = _losses(table, int(claim))
        at = float(bias[loss.argmin()])
        yield judge(
            claim,
            abs(at - given[claim]) < 1e-9,
            f"Least at {at:g}, where it is {loss.min():.1e}; 0 at "
            f"{zero(given, int(claim), given['bias']):g} by lemma 4.14.",
            zero(given, int(claim), given["bias"]),
            at,
        )


def _distances(table: Table, given: dict[str, Any]) -> Iterator[Finding]:
    half = given["conjecture"]
    ordered = {hits: grows(*_losses(table, hits), half) for hits in given["hits"]}
    bias, loss = _losses(table, 1000)
    yield judge(
        "conjecture",
        ordered[1000],
        f"With 1000 ones seen it is least at {bias[loss.argmin()]:g}, and grows from there on both "
        f"sides: {'yes' if ordered[1000] else 'no'}.",
        half,
        float(bias[loss.argmin()]),
    )
    yield judge(
        "false",
        not all(ordered.values()),
        f"It fails for {', '.join(str(h) for h, yes in ordered.items() if not yes)} ones seen.",
    )
    centres = {hits: given[str(hits)] for hits in (500, 1500)}
    near, far = 0.9, 0.55  # of .75
    sides = [float(np.interp(at, *_losses(table, 500))) for at in (near, far)]
    yield judge(
        "distance",
        all(grows(*_losses(table, hits), centre) for hits, centre in centres.items()),
        "On each side, which is how the thesis reads it. Across sides it does not: with 500 ones "
        f"seen {sides[0]:.4f} at {near:g}, {sides[1]:.4f} at {far:g}, which is further away.",
        *sides,
    )


def grows(bias: np.ndarray, loss: np.ndarray, centre: float) -> bool:
    """Whether the loss falls up to ``centre`` and rises from there on.

    Examples
    --------
    >>> grows(np.array([.1, .2, .3]), np.array([1., 0., 1.]), .2)
    True
    """
    left, right = loss[bias <= centre + 1e-9], loss[bias >= centre - 1e-9]
    return bool((np.diff(left) < 0).all() and (np.diff(right) > 0).all())


def _line(given: dict[str, Any], unknown: int, ones: int, count: int) -> Finding:
    """Panel b: for every number of ones seen, the bias of the least loss."""
    hits = np.linspace(50, ones - 50, count).astype(int)
    step = 1e-4
    biases = np.arange(step, 1 - step / 2, step)
    losses = np.array([class_losses(unknown, bias, ones - hits) for bias in biases])
    least = biases[losses.argmin(axis=0)]
    slope, start = np.polyfit(hits, least, 1)
    exact = np.array([zero(given, h, given["bias"]) for h in hits])
    off = float(np.abs(least - exact).max())
    return judge(
        "line",
        off <= step,
        f"bias = {start:.4f} - {-slope:.3e} q fits the least losses; (2000 - q)/2000 is met to "
        f"{off:.1e} on a grid of step {step:g}.",
        float(exact[0] - exact[-1]) / float(hits[-1] - hits[0]),
        float(-slope),
    )


def _caption(given: dict[str, Any]) -> Finding:
    there, here = (
        [zero(given, h, given[key]) for h in given["hits"]] for key in ("caption", "bias")
    )
    shown = [", ".join(f"{share:g}" for share in shares) for shares in (there, here)]
    return judge(
        "caption",
        all(0 <= share <= 1 for share in there),
        f"The records that are not known would have shares of ones of {shown[0]}; with "
        f"{given['bias']:g}, as in the text, {shown[1]} (003-C08a).",
        there[0],
        here[0],
    )


@figure_4_1.panel("bias (a: some numbers of ones seen)", "privacy loss")
def draw(result: Result, ax: Axes) -> None:
    """Panel a: loss against bias, one line per number of ones seen."""
    table, colours = result.table.where(panel="a"), (ACCENT, INK, WARM)
    for hits, colour in zip(sorted(set(table.column("hits"))), colours, strict=True):
        bias, loss = _losses(table, hits)
        ax.plot(bias, loss, color=colour, linewidth=1.5, label=f"{hits} ones seen")
    ax.set_ylim(bottom=0.0)


@figure_4_1.panel("ones seen (b: the plane)", "bias", loc="upper right")
def draw_plane(result: Result, ax: Axes) -> None:
    """Panel b: loss against ones seen and bias, and the line on which it is 0."""
    plane, given = result.table.where(panel="b"), result.inputs
    hits, biases = (sorted(set(plane.column(name))) for name in ("hits", "bias"))
    losses = np.array(plane.column("loss")).reshape(len(biases), len(hits))
    levels = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
    lines = ax.contour(hits, biases, losses, levels, colors=ACCENT, linewidths=0.9)
    ax.clabel(lines, fontsize=7)
    least = [zero(given, h, given["bias"]) for h in hits]
    ax.plot(hits, least, "--", color=WARM, linewidth=1.5, label="loss 0")
