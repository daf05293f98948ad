"""Guerra-Balboa (2026), figure 5.7: the risk of local protocols over two road networks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from corrdp.plots import ACCENT, INK, WARM
from corrdp.reconstruction.bounds import rad_bound
from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER, uniform
from corrdp_reproduction.reconstructing.protocols import EPSILONS, PLACES, PROTOCOLS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CERTAIN = 4.5  # standard errors
VISIBLE = 0.005  # on an axis from 0 to 1
_FIGURE, _DATA = "figure 5.7", "section 5.5.1"
PUBLISHED = {
    "porto": Published("nodes of the road network of Porto", _DATA, PLACES["porto"]),
    "geolife": Published("nodes of the road network of Beijing", _DATA, PLACES["geolife"]),
    "sizes": Published("both counted on OpenStreetMap around the city centres", _DATA),
    "runs": Published("attacks for each point", "section 5.5.2", 10**6),
    "tight": Published("the bounds are perfectly tight", _FIGURE),
    "order": Published("OUE leaves the least risk and GRR the most, SS between", "example 5.6"),
    "black box": Published("the risk of GRR is the bound for any mechanism", "section 5.5.3"),
    "coincide": Published(
        "success and advantage coincide, chance being negligible", "section 5.5.3"
    ),
}


@experiment(
    "004-figure-5.7",
    "Risk of local protocols over two road networks",
    f"{CHAPTER}, figure 5.7",
    PUBLISHED,
)
def figure_5_7(run: Run) -> Result:
    """Exact risk of each protocol, and a million attacks drawn from the law of their success.

    Only the number of nodes matters: priors are uniform and the protocols treat all values alike.
    """
    given = run.given
    rows = []
    for place, m in PLACES.items():
        for epsilon in EPSILONS[run.size]:
            box = rad_bound(epsilon, uniform(m)).value
            for name, kind in PROTOCOLS.items():
                protocol = kind(m, epsilon)
                s = protocol.success_uniform()
                found = run.rng.binomial(given["runs"], s) / given["runs"] - 1 / m
                error = math.sqrt(s * (1 - s) / given["runs"])
                rows.append((place, name, epsilon, protocol.rad_uniform(), found, error, s, box))
    columns = ("place", "protocol", "epsilon", "rad", "simulated", "error", "success", "black_box")
    table = Table(columns, tuple(rows))
    return run.result(table, _findings(table), given)


def _findings(table: Table) -> tuple[Finding, ...]:
    rows = list(table.records())
    off = max(abs(r["simulated"] - r["rad"]) / r["error"] for r in rows)
    ranked = {name: np.array(table.where(protocol=name).column("rad")) for name in PROTOCOLS}
    box = np.array(table.where(protocol="grr").column("black_box"))
    gap = float(np.abs(box / ranked["grr"] - 1).max())
    chance = max(r["success"] - r["rad"] for r in rows)
    share = max((r["success"] - r["rad"]) / r["rad"] for r in rows)
    first = min(table.column("epsilon"))
    ratio = ranked["oue"] / ranked["grr"]
    # where subsets have one member, SS is GRR and rounding decides
    order = (ranked["oue"] <= ranked["ss"]) & (ranked["ss"] <= ranked["grr"] * (1 + 1e-12))
    return (
        Finding(
            "sizes",
            "data missing",
            "The maps and recordings are not here; the two numbers are taken as printed.",
        ),
        judge(
            "tight",
            off <= CERTAIN,
            f"Simulated and exact advantage differ by {off:.1f} standard errors at most, over "
            f"{len(rows)} points.",
            max(abs(r["simulated"] - r["rad"]) for r in rows),
            0.0,
        ),
        judge(
            "order",
            bool(order.all()),
            f"At {order.sum()} of {len(order)} points; OUE has {ratio.min():.3f} to "
            f"{ratio.max():.3f} of the risk of GRR.",
            float(ratio.max()),
        ),
        judge(
            "black box",
            gap < 1e-6,
            f"They differ by {gap:.0e} of their value at most.",
            gap,
        ),
        judge(
            "coincide",
            chance < VISIBLE,
            f"They differ by 1/m, {chance:.6f} at most, which no figure shows; at epsilon "
            f"{first:g} that is up to {share:.1f} times the advantage itself.",
            chance,
            share,
        ),
    )


@figure_5_7.panel("epsilon", "reconstruction advantage")
def draw(result: Result, ax: Axes) -> None:
    """Risk over Porto against epsilon; simulations as crosses."""
    colours = {"grr": WARM, "oue": INK, "ss": ACCENT}
    for name, colour in colours.items():
        part = result.table.where(place="porto", protocol=name)
        drawn = [
            ("rad", colour, "-" if name != "ss" else "--", name.upper()),
            ("simulated", colour, "x", "_simulated"),
        ]
        curves(ax, part, "epsilon", drawn)
