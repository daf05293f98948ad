"""Guerra-Balboa (2026), example 5.17: how much noise DP-SGD needs for a risk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp.reconstruction.sgd import sigma_for_risk
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.reconstructing.dissertation import (
    CHAPTER,
    centred_rad,
    simplex_rad,
    uniform,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RISKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
RECORDS = (2, 10)
_WHERE = "example 5.17"
PUBLISHED = {
    "m": Published("records, equally likely", _WHERE, 10),
    "risk": Published("largest advantage allowed", _WHERE, 0.1),
    "steps": Published("full-batch steps", _WHERE, 100),
    "sigma": Published("noise multiplier that is enough, nothing known", _WHERE, 22),
    "nothing known": Published("the rule for who knows nothing keeps the risk", "example 5.17"),
    "anything known": Published("the rule for any knowledge keeps the risk", "example 5.17"),
}


@experiment("004-example-5.17", "Noise of DP-SGD for a risk", f"{CHAPTER}, example 5.17", PUBLISHED)
def example_5_17(run: Run) -> Result:
    """Noise by the source's rules and by ours, and the risk that records far apart then have.

    ``source`` takes one clipping norm for what replacing a record moves, ``replaced`` two, and
    ``centred`` uses that every record is one norm from the sum without it. ``simplex`` is the
    exact advantage at ``source`` if the records' gradients are the corners of a simplex.
    """
    given = run.given
    steps = given["steps"]
    rows = []
    for m in RECORDS:
        for risk in RISKS:
            source, replaced, known = (
                sigma_for_risk(risk, threat, steps=steps, sensitivity_multiplier=k).value
                for threat, k in ((uniform(m), 1), (uniform(m), 2), (_member(m), 1))
            )
            rows.append((m, risk, source, replaced, centred_sigma(risk, m, steps), known,
                         corners(m, source, steps), member_risk(m, known, steps)))  # fmt: skip
    columns = ("m", "risk", "source", "replaced", "centred", "source_known", "simplex",
               "opposite_known")  # fmt: skip
    table = Table(columns, tuple(rows))
    return run.result(table, _findings(table, given), given)


def _member(m: int) -> Threat:
    return Threat.membership(np.full(m, 1 / m))


def corners(m: int, sigma: float, steps: int) -> float:
    """Exact advantage if gradients are the corners of a simplex with norms at the clip.

    Examples
    --------
    >>> round(corners(10, 22, 100), 4), round(corners(2, 22, 100), 4)
    (0.0942, 0.1753)
    """
    return simplex_rad(math.sqrt(2 * m / (m - 1)) * math.sqrt(steps) / sigma, m)


def member_risk(m: int, sigma: float, steps: int) -> float:
    r"""Exact advantage of who knows the record, half of the gradients opposite to the others.

    .. math:: 2 a (1 - a) \big(2 \Phi(\sqrt T/\sigma) - 1\big)

    where a is the share of the smaller half: outputs have two laws only, two clipping norms apart.

    Examples
    --------
    >>> round(member_risk(10, 35.7883, 100), 4)
    0.11
    """
    share = m // 2 / m
    return 2 * share * (1 - share) * math.erf(math.sqrt(steps) / sigma / math.sqrt(2))


def centred_sigma(risk: float, m: int, steps: int) -> float:
    """The least noise multiplier by :func:`centred_rad`, nothing known of the record.

    Examples
    --------
    >>> round(centred_sigma(.1, 10, 100), 2)
    22.73
    """
    from scipy.optimize import brentq

    mu = brentq(lambda mu: centred_rad(mu, m) - risk, 1e-6, 30.0, xtol=1e-12)
    return math.sqrt(steps) / float(mu)


def _findings(table: Table, given: dict[str, float]) -> tuple[Finding, ...]:
    row = next(iter(table.where(m=given["m"], risk=given["risk"]).records()))
    least = min(row["replaced"], row["centred"])
    at = corners(row["m"], given["sigma"], int(given["steps"]))
    over = [r for r in table.records() if r["simplex"] > r["risk"] * (1 + 1e-9)]
    known = [r for r in table.records() if r["opposite_known"] > r["risk"] * (1 + 1e-9)]
    worst = max(table.records(), key=lambda r: r["simplex"] / r["risk"])
    worse = max(table.records(), key=lambda r: r["opposite_known"] / r["risk"])
    return (
        judge(
            "sigma",
            math.ceil(row["source"]) == given["sigma"],
            f"Its rule gives {row['source']:.4f}. Replacing a record moves the sum by two clipping "
            f"norms, which asks for {row['replaced']:.4f}; records near one law need "
            f"{row['centred']:.4f}. At {given['sigma']:g} the corners of a simplex have "
            f"{at:.4f}.",
            row["source"],
            least,
        ),
        judge(
            "nothing known",
            not over,
            f"Broken at {len(over)} of {len(table.rows)} risks by the corners of a simplex, most "
            f"for {worst['m']} records and a risk of {worst['risk']:g}: "
            f"{worst['simplex']:.4f}.",
            worst["simplex"],
            worst["risk"],
        ),
        judge(
            "anything known",
            not known,
            f"Broken at {len(known)} of {len(table.rows)} risks by gradients opposite to each "
            f"other, most for {worse['m']} records and a risk of {worse['risk']:g}: "
            f"{worse['opposite_known']:.4f}.",
            worse["opposite_known"],
            worse["risk"],
        ),
    )


@example_5_17.panel("largest advantage allowed", "noise multiplier, 100 steps", fontsize=7.5)
def draw(result: Result, ax: Axes) -> None:
    """Noise multiplier against the risk allowed, ten records."""
    drawn = [
        ("source", WARM, "-", "source"),
        ("centred", ACCENT, "-", "records near one law"),
        ("replaced", INK, "--", "a record replaced"),
        ("source_known", MUTED, ":", "source, record known"),
    ]
    part = result.table.where(m=10)
    curves(ax, part, "risk", drawn)
    ax.set_yscale("log")
