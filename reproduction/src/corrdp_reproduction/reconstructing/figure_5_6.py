"""Guerra-Balboa (2026), figure 5.6: a noisy sum of working hours, and how near counts."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.errors import DataError
from corrdp.guarantees import Pure, Tradeoff
from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.metric.curves import LaplaceCurve
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp.reconstruction.linear import rero_bound
from corrdp.reconstruction.threat import Threat
from corrdp.reconstruction.truncated import laplace_risk
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, curves, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER
from corrdp_reproduction.reconstructing.optimal import Optimal
from corrdp_reproduction.recordings import data_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILE = "adult_hours_counts.csv"
ETAS = (0, 40, 80, 100)
HOURS = np.arange(101)
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (1.0, 5.0, 10.0, 20.0),
    "full": (0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0),
}
RUNS: dict[Size, int] = {"quick": 2000, "full": 20_000}
FINER: dict[Size, int] = {"quick": 10, "full": 2}  # steps of eta where the peak is looked for
CERTAIN = 4.5  # standard errors
_COLUMNS = ("prior", "epsilon", "eta", "rad", "success", "best_success", "success_bound",
            "success_curve", "simulated", "error")  # fmt: skip
_FIGURE, _FOUND = "figure 5.6", "section 5.5.3"
PUBLISHED = {
    "records": Published("people in the table", "section 5.5.1", 32_561),
    "match": Published("the advantage of the attack is the bound", _FIGURE),
    "overestimate": Published("bounds on the success exceed the risk everywhere", _FIGURE),
    "tolerance": Published(
        "the success exceeds the advantage by more at larger tolerances", _FIGURE
    ),
    "peak": Published("tolerance with the largest advantage, of those tried", _FOUND, 40),
    "everything counts": Published(
        "at a tolerance of 100 the success is 1 and the advantage 0", _FOUND
    ),
    "priors": Published(
        "the two-point prior is the worst case, the empirical one the best",
        "section 5.5.3",
    ),
}


def empirical(data: str | os.PathLike[str] | None = None) -> tuple[np.ndarray, int]:
    """Shares of people who work 0 to 100 hours a week, and how many people there are.

    Parameters
    ----------
    data : path, optional
        Directory of the table; that of ``CORRDP_DATA`` when left out.
    """
    path = data_file(FILE, data)
    try:
        hours, counts = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64).T
    except ValueError as error:
        raise DataError(f"{path} must hold two columns, hours and count: {error}") from None
    if hours.min() < 0 or hours.max() > HOURS[-1] or counts.min() < 0:
        raise DataError(f"{path} must count people by hours from 0 to 100")
    total = int(counts.sum())
    return np.bincount(hours, counts, minlength=len(HOURS)) / total, total


@experiment(
    "004-figure-5.6",
    "A sum of working hours: how near counts as a success",
    f"{CHAPTER}, figure 5.6",
    PUBLISHED,
)
def figure_5_6(run: Run) -> Result:
    """Exact risk for each prior, tolerance and epsilon, and the optimal attack simulated.

    ``rad`` and ``success`` are of the attack of largest advantage, ``best_success`` of the one
    that succeeds most often. ``success_bound`` is the bound from epsilon, ``success_curve`` that
    from the trade-off curve of Laplace noise; the source does not say which it plots. Cutting the
    answer to its range loses nothing.
    """
    given = run.given
    own, people = empirical(run.data)
    ends = np.zeros(len(HOURS))
    ends[[0, -1]] = 0.5
    priors = {"uniform": np.full(len(HOURS), 1 / len(HOURS)), "empirical": own, "ends": ends}
    todo = [(name, e, eta) for name in priors for e in EPSILONS[run.size] for eta in ETAS]
    rows = []
    for name, epsilon, eta in run.over(todo):
        rows.append(
            (name, epsilon, eta, *_risks(priors[name], epsilon, eta, RUNS[run.size], run.rng))
        )
    table = Table(_COLUMNS, tuple(rows))
    finer = range(0, 101, FINER[run.size])
    peaks = {
        e: max(finer, key=lambda eta: _rad(priors["uniform"], e, eta)) for e in EPSILONS[run.size]
    }
    notes = (
        "With tolerances in steps of "
        f"{FINER[run.size]} the uniform prior has its largest advantage at "
        + ", ".join(f"{eta} (epsilon {e:g})" for e, eta in peaks.items())
        + ".",
    )
    inputs = {"tolerances": ETAS, "runs": RUNS[run.size], "kappa, empirical": float(own @ own)}
    return run.result(table, _findings(table, people, given), inputs, notes)


@cache
def _loss() -> np.ndarray:
    return np.abs(HOURS[:, None] - HOURS).astype(float)


def _rad(prior: np.ndarray, epsilon: float, eta: float) -> float:
    threat = Threat(prior, _loss(), eta)
    return laplace_risk(LaplaceAnswer(HOURS, 100 / epsilon), threat, 0, 100).rad


def _risks(
    prior: np.ndarray, epsilon: float, eta: float, runs: int, rng: np.random.Generator
) -> tuple[float, ...]:
    answer, threat = LaplaceAnswer(HOURS, 100 / epsilon), Threat(prior, _loss(), eta)
    exact = laplace_risk(answer, threat, 0, 100)
    by_epsilon = rero_bound(Pure(epsilon), threat).value
    by_curve = rero_bound(Tradeoff(LaplaceCurve(epsilon)), threat).value
    truth = rng.choice(len(HOURS), size=runs, p=prior)
    seen = np.clip(answer.sample(truth, rng), 0, 100)
    played = Optimal(answer, threat).measure(seen, truth)
    return (exact.rad, exact.rero, exact.best_rero, by_epsilon, by_curve, played.value,
            played.error)  # fmt: skip


def _findings(table: Table, people: int, given: dict[str, Any]) -> tuple[Finding, ...]:
    rows = list(table.records())
    off = [abs(r["simulated"] - r["rad"]) / r["error"] for r in rows if r["error"] > 1e-12]
    trivial = [r for r in rows if r["eta"] == 100]
    blind = {(r["prior"], r["epsilon"], r["eta"]): r["success"] - r["rad"] for r in rows}
    falls = sum(
        blind[name, e, b] < blind[name, e, a] - 1e-9 for name, e, a in blind for b in ETAS if b > a
    )
    means = [float(np.mean([v for key, v in blind.items() if key[2] == eta])) for eta in ETAS]
    spare = min(r["success_bound"] - r["rad"] for r in rows)
    loose = max(r["success_bound"] - r["best_success"] for r in rows)
    peaks = {
        (name, e): max(part, key=lambda r: r["rad"])["eta"]
        for name in ("uniform", "empirical")
        for e in dict.fromkeys(table.column("epsilon"))
        if (part := list(table.where(prior=name, epsilon=e).records()))
    }
    flat = max(
        abs(r["rad"] - table.where(prior="ends", epsilon=r["epsilon"], eta=0).column("rad")[0])
        for r in table.where(prior="ends").records()
        if r["eta"] < 100
    )
    return (
        judge("records", people == given["records"], f"{people:,} people.", float(people)),
        judge(
            "match",
            max(off) <= CERTAIN,
            f"Simulated and exact advantage differ by {max(off):.1f} standard errors at most, over "
            f"{len(off)} points.",
            max(abs(r["simulated"] - r["rad"]) for r in rows),
            0.0,
        ),
        judge(
            "overestimate",
            spare > 0,
            f"By {spare:.4f} at least. They are up to {loose:.4f} above the largest success, too.",
            spare,
            loose,
        ),
        judge(
            "tolerance",
            not falls,
            "Success without the answer, mean over priors and epsilons: "
            + ", ".join(f"{v:.3f} at {eta}" for eta, v in zip(ETAS, means, strict=True))
            + f"; it falls at {falls} points.",
            means[-1],
        ),
        judge(
            "peak",
            set(peaks.values()) == {given["peak"]},
            "Uniform and empirical priors, over all epsilons: "
            + ", ".join(str(eta) for eta in sorted(set(peaks.values())))
            + f"; the two-point prior's advantage below 100 varies by {flat:.0e}.",
            float(max(peaks.values())),
        ),
        judge(
            "everything counts",
            all(abs(r["success"] - 1) < 1e-9 and abs(r["rad"]) < 1e-9 for r in trivial),
            f"{len(trivial)} points: success {min(r['success'] for r in trivial):.6f}, advantage "
            f"{max(r['rad'] for r in trivial):.1e} at most.",
            max(r["rad"] for r in trivial),
        ),
        _priors(table),
    )


def _priors(table: Table) -> Finding:
    """Whether the two-point prior has most and the empirical one least, at every point."""
    broken = []
    points = [(e, eta) for e in dict.fromkeys(table.column("epsilon")) for eta in ETAS if eta < 100]
    for epsilon, eta in points:
        part = table.where(epsilon=epsilon, eta=eta)
        risks = dict(zip(part.column("prior"), part.column("rad"), strict=True))
        if risks["ends"] < max(risks.values()) - 1e-12:
            broken.append(
                f"epsilon {epsilon:g}, tolerance {eta}: uniform {risks['uniform']:.4f} above the "
                f"two-point prior's {risks['ends']:.4f}"
            )
        if risks["empirical"] > min(risks.values()) + 1e-12:
            broken.append(
                f"epsilon {epsilon:g}, tolerance {eta}: empirical {risks['empirical']:.4f} above "
                f"the uniform prior's {risks['uniform']:.4f}"
            )
    shown = "; ".join([*broken[:1], *broken[-1:]])
    said = f"Not so {len(broken)} times at {len(points)} points. {shown}."
    return judge("priors", not broken, said, float(len(broken)))


@figure_5_6.panels_of(
    {
        "uniform": "(a) uniform prior",
        "empirical": "(b) empirical prior",
        "ends": "(c) 0 or 100 hours",
    },
    "epsilon (solid: advantage, dashed: bound on the success)",
    "risk",
    fontsize=7.5,
)
def draw(prior: str, result: Result, ax: Axes) -> None:
    """Risk against epsilon under one prior, one colour per tolerance; crosses are simulated."""
    for eta, colour in zip(ETAS, (INK, ACCENT, WARM, MUTED), strict=True):
        part = result.table.where(prior=prior, eta=eta)
        shown = [
            ("rad", colour, "-", f"within {eta} hours"),
            ("simulated", colour, "x", ""),
            ("success_bound", colour, "--", ""),
            ("success", colour, ".", ""),
        ]
        curves(ax, part, "epsilon", shown)
    ax.set_ylim(-0.02, 1.05)
