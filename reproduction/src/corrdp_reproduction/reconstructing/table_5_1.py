"""Guerra-Balboa (2026), table 5.1: which bound serves which knowledge, and which compose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.errors import NotApplicableError
from corrdp.guarantees import GDP, Approximate, Pure
from corrdp.mechanisms.local.direct import GRR
from corrdp.metric.tradeoff import composed_total_variation
from corrdp.plots import ACCENT, WARM
from corrdp.reconstruction.bounds import rad_bound
from corrdp.reconstruction.exact import rad
from corrdp.reconstruction.linear import rero, rero_bound
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER, PRECISE, uniform

if TYPE_CHECKING:
    from matplotlib.axes import Axes

M = 5
EPSILON = 1.0
# row of the table: what is known, whether the record is, and the bound that is named for it
ROWS: tuple[tuple[str, Any, bool, str], ...] = (
    ("total variation", Approximate(0.0, 0.3), True, "total variation"),
    ("trade-off curve", GDP(1.0), False, "trade-off"),
    ("epsilon, delta", Approximate(EPSILON, 0.01), True, "total variation"),
    ("epsilon, delta; nothing known", Approximate(EPSILON, 0.01), False, "epsilon, delta"),
    ("epsilon, delta; exact guess", Approximate(EPSILON, 0.01), False, "categorical"),
)
_TABLE = "table 5.1"
PUBLISHED = {
    "named": Published("each row names a bound that holds with what is known there", _TABLE),
    "composes": Published("bounds on composed guarantees bound the composition", _TABLE),
    "exact does not": Published("the exact advantage of theorem 5.3 does not compose", _TABLE),
    "no success": Published("no bound on the success is there if something is known", _TABLE),
}


@experiment(
    "004-table-5.1", "Which bound serves which knowledge", f"{CHAPTER}, table 5.1", PUBLISHED
)
def table_5_1(run: Run) -> Result:
    """Each row's bound next to the best one, for five equally likely records.

    ``named`` is the bound that the table names, ``best`` the smallest that applies; ``success``
    the bound on the success, where there is one.
    """
    rows = []
    for told, guarantee, known, name in ROWS:
        threat = Threat.membership(np.full(M, 1 / M)) if known else uniform(M)
        bound = rad_bound(guarantee, threat)
        value = {c.method: c.value for c in bound.candidates}[name]
        rows.append((told, name, value, bound.value, bound.certificate.name,
                     _success(guarantee, threat)))  # fmt: skip
    table = Table(("knowledge", "bound", "named", "best", "best_is", "success"), tuple(rows))
    findings = (_named(table), _composes(), _exact(), _no_success(table))
    inputs = {"m": M, "epsilon": EPSILON}
    return run.result(table, findings, inputs)


def _success(guarantee: Any, threat: Threat) -> float | None:
    try:
        return rero_bound(guarantee, threat).value
    except NotApplicableError:
        return None


def _named(table: Table) -> Finding:
    missing = [row["knowledge"] for row in table.records() if row["named"] is None]
    better = [
        f"{row['best_is']} ({row['best']:.4f}) below {row['bound']} ({row['named']:.4f})"
        for row in table.records()
        if row["named"] is not None and row["best"] < row["named"] * (1 - PRECISE)
    ]
    said = f"{len(table.rows) - len(missing)} of {len(table.rows)} apply. " + (
        f"Smaller bounds: {'; '.join(better)}." if better else "None is smaller."
    )
    return judge("named", not missing, said)


def _twice(channel: np.ndarray) -> np.ndarray:
    """Two independent outputs of the same record."""
    return np.einsum("xa,xb->xab", channel, channel).reshape(len(channel), -1)


def _composes() -> Finding:
    """Randomized response twice, against each bound of its composed guarantee."""
    grr = GRR(M, EPSILON)
    both = _twice(grr.channel())
    member = Threat.membership(np.full(M, 1 / M))
    told = rad(both, member).value, rad(both, uniform(M)).value
    span = composed_total_variation(grr.total_variation, 2)
    bounds = (
        (told[0], rad_bound(Approximate(0.0, span), member).value),
        (told[0], rad_bound(Pure(2 * EPSILON), member).value),
        (told[1], rad_bound(Pure(2 * EPSILON), uniform(M)).value),
    )
    return judge(
        "composes",
        all(risk <= bound for risk, bound in bounds),
        "Randomized response twice: "
        + ", ".join(f"{risk:.4f} of {bound:.4f}" for risk, bound in bounds)
        + " (total variation; epsilon; epsilon, nothing known).",
        max(risk - bound for risk, bound in bounds),
    )


def _exact() -> Finding:
    """Two mechanisms of the same advantage, whose compositions differ in it."""
    pair = uniform(2)
    grr = GRR(2, EPSILON).channel()
    once = rad(grr, pair).value
    # tells the record with that probability, else nothing
    told = np.array([[2 * once, 0.0, 1 - 2 * once], [0.0, 2 * once, 1 - 2 * once]])
    first, second = (rad(_twice(channel), pair).value for channel in (grr, told))
    same = abs(rad(told, pair).value - once)
    return judge(
        "exact does not",
        same < PRECISE and abs(first - second) > 0.01,
        f"Flipping a bit and telling it at times have the same advantage {once:.4f} once; twice "
        f"they have {first:.4f} and {second:.4f}.",
        first,
        second,
    )


def _no_success(table: Table) -> Finding:
    """Who knows the record names it, whatever the mechanism answers."""
    reached = rero(np.ones((M, 1)), Threat.membership(np.full(M, 1 / M))).value
    shown = [
        (row["success"] is None) == knows
        for row, (_, _, knows, _) in zip(table.records(), ROWS, strict=True)
    ]
    return judge(
        "no success",
        reached == 1.0 and all(shown),
        "A mechanism that always answers the same lets who knows the record succeed with "
        f"probability {reached:g}: no bound below 1 holds.",
        reached,
    )


@table_5_1.panel("bound on the advantage", labelcolor=None)
def draw(result: Result, ax: Axes) -> None:
    """The bound that each row names, and the best one."""
    at = np.arange(len(result.table.rows))
    for k, (name, colour) in enumerate((("named", WARM), ("best", ACCENT))):
        ax.barh(at + 0.2 - 0.4 * k, result.table.column(name), 0.38, color=colour, label=name)
    ax.set_yticks(at, result.table.column("knowledge"), fontsize=8)
    ax.invert_yaxis()
