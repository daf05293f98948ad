"""Chakrabarti et al. (2022), figure 2: guessing one record from randomized response."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.attacks.base import success_bound
from corrdp.bounds.leakage import leakage
from corrdp.errors import InputError
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOURCE = (
    "Chakrabarti, Gao, Saraf, Schoenebeck, Yu, Optimal local Bayesian differential privacy over "
    "Markov chains (2022), figure 2"
)
LEVEL = 0.99  # of the intervals, all of a column together
THETAS: dict[Size, tuple[float, ...]] = {
    "quick": (0.0, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5),
    "full": (0.0, 0.005, 0.01, 0.02, *(k / 40 for k in range(1, 21))),
}
SERIES: dict[Size, tuple[int, int]] = {"quick": (100, 100), "full": (100, 1000)}
_COLUMNS = (
    "theta", "single", "single_low", "single_high", "aware", "aware_low", "aware_high",
    "aware_exact", "charged_single", "charged_aware", "leakage_none", "leakage_all", "bound",
)  # fmt: skip
_SECTION = "section 4.1"
PUBLISHED = {
    "n": Published("length of a series", _SECTION, 30),
    "record": Published("the record attacked, counted from 1", _SECTION, 15),
    "epsilon": Published("DP level of the response", "figure 2", 0.5),
    "series": Published("series for each theta", _SECTION, 100),
    "sanitizations": Published("responses for each series", _SECTION, 1000),
    "bound": Published("success that epsilon-DP allows", "section 4.1", 0.622),
    "single": Published("guessing each report stays within that", "section 4.1"),
    "aware": Published(
        "an attacker who knows the chain is above it where records depend strongly",
        "section 4.1",
    ),
    "doubles": Published("its success is that of more than twice the epsilon", "section 1.1"),
    "leakage": Published("Bayesian differential privacy does bound that attacker", "section 4.3"),
}


@experiment("001-figure-2", "Guessing one record from randomized response", SOURCE, PUBLISHED)
def figure_2(run: Run) -> Result:
    r"""Success of both attackers by simulation, and of the better one exactly.

    A success rate p is charged with :math:`\ln p/(1 - p)`, the DP level that would allow it.
    Intervals allow for series that are easier or harder than others (Student's law over the
    means of the series), at 99 % for all values of theta together.
    """
    given = run.given
    n, record, epsilon = given["n"], given["record"] - 1, given["epsilon"]
    thetas = THETAS[run.size]
    response = BinaryResponse.for_epsilon(epsilon)
    rows = []
    for theta in run.over(thetas):
        hits = simulated(theta, response.flip0, n, record, *SERIES[run.size], run.rng)
        single, aware = (_estimate(rates, len(thetas)) for rates in hits)
        chain = MarkovChain([[1 - theta, theta], [theta, 1 - theta]], n, (0.5, 0.5))
        none, every = (_about(chain, response, record, a) for a in ("none", "all"))
        best = best_success(theta, response.flip0, n, record)
        rows.append((theta, *single, *aware, best, _charged(single[0]), _charged(aware[0]), none,
                     every, success_bound(none, (0.5, 0.5))))  # fmt: skip
    table = Table(_COLUMNS, tuple(rows))
    bound = success_bound(epsilon, (0.5, 0.5))
    series, responses = SERIES[run.size]
    inputs = {**given, "series": series, "sanitizations": responses, "interval_level": LEVEL}
    findings = _findings(table, bound, epsilon)
    notes = (
        "The source prints no numbers of this figure beside the bound: its claims are tested.",
    )
    return run.result(table, findings, inputs, notes)


def _findings(table: Table, bound: float, epsilon: float) -> tuple[Finding, ...]:
    rows = list(table.records())
    above = [row["theta"] for row in rows if row["aware_low"] > bound]
    first = min(rows, key=lambda row: row["theta"])
    top = max(rows, key=lambda row: row["aware_exact"])
    doubled = [row["theta"] for row in rows if _charged(row["aware_low"]) > 2 * epsilon]
    missed = [r["theta"] for r in rows if not r["aware_low"] <= r["aware_exact"] <= r["aware_high"]]
    gap = min(row["bound"] - row["aware_exact"] for row in rows)
    singles = [row["single"] for row in rows]
    return (
        judge(
            "bound",
            abs(bound - PUBLISHED["bound"].value) < 5e-4,
            f"e^{epsilon:g}/(1 + e^{epsilon:g}) = {bound:.6f}.",
            bound,
            bound,
        ),
        judge(
            "single",
            all(row["single_low"] <= bound for row in rows),
            f"Success {min(singles):.4f} to {max(singles):.4f} over theta; the bound is its exact "
            "value at every theta, so samples lie on both sides.",
            max(singles),
            bound,
        ),
        judge(
            "aware",
            bool(above) and first["theta"] in above and not missed,
            f"Above {bound:.3f} for certain at theta = {_listed(above)}: {top['aware']:.4f} at "
            f"theta = {top['theta']:g}, where the exact value is {top['aware_exact']:.6f}"
            + (f"; the exact value is outside the interval at {_listed(missed)}." if missed else
               "; every interval holds the exact value."),
            top["aware"],
            top["aware_exact"],
        ),
        judge(
            "doubles",
            bool(doubled),
            f"Charged more than {2 * epsilon:g} for certain at theta = {_listed(doubled)}; "
            f"{_charged(top['aware_exact']):.4f} at most.",
            top["charged_aware"],
            _charged(top["aware_exact"]),
        ),
        judge(
            "leakage",
            gap >= 0.0,
            f"The exact success stays {gap:.2e} or more below what the exact leakage allows; at "
            f"theta = {top['theta']:g} the series leaks {top['leakage_none']:.4f}.",
            None,
            gap,
        ),
    )  # fmt: skip


def simulated(
    theta: float,
    flip: float,
    n: int,
    record: int,
    series: int,
    responses: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Success rate on each of many series, of the single-bit and of the aware attacker.

    Parameters
    ----------
    theta : float in [0, 1/2]
        Pr[next record differs].
    flip : float in (0, 1/2)
    n, record : int
        Length of a series, and the record guessed (from 0).
    series, responses : int
        How many series, and how many responses to each; all are drawn at once.
    rng : numpy.random.Generator

    Returns
    -------
    (array, array)
        One rate per series.

    Examples
    --------
    >>> single, aware = simulated(.05, .25, 30, 14, 50, 200, np.random.default_rng(1))
    >>> round(float(single.mean()), 2), round(float(aware.mean()), 2)
    (0.74, 0.91)
    """
    changes = rng.random((series, n)) < theta
    changes[:, 0] = rng.random(series) < 0.5
    records = np.cumsum(changes, axis=1) % 2
    reports = records[:, None, :] ^ (rng.random((series, responses, n)) < flip)
    truth = records[:, None, record]
    single = reports[..., record] == truth
    aware = (log_odds(reports, theta, flip, record) < 0) == truth
    return single.mean(axis=1), aware.mean(axis=1)


def log_odds(reports: np.ndarray, theta: float, flip: float, record: int) -> np.ndarray:
    r"""What all reports say of one record of a symmetric chain: ln Pr[0 | z] / Pr[1 | z].

    .. math:: h_t = 2 \operatorname{artanh}\big((1 - 2\theta) \tanh((s_{t+1} + h_{t+1})/2)\big)

    where

    - s_t is the step of report t, ln((1 - flip)/flip) for 0 and its negative for 1,
    - h_t is what the reports beyond t say of record t; both sides and s add up.

    Parameters
    ----------
    reports : array of 0 and 1
        Time is the last axis; all series are handled at once.
    theta, flip : float
    record : int

    Examples
    --------
    >>> log_odds(np.array([[0, 0, 0], [0, 1, 0]]), .1, .25, 1).round(6).tolist()
    [2.793208, 0.595983]
    """
    step, kept = math.log((1.0 - flip) / flip), 1.0 - 2.0 * theta
    total = step * (1.0 - 2.0 * reports[..., record])
    for side in (range(record), range(reports.shape[-1] - 1, record, -1)):
        said = np.zeros(reports.shape[:-1])
        for t in side:
            said = 2.0 * np.arctanh(
                kept * np.tanh((said + step * (1.0 - 2.0 * reports[..., t])) / 2.0)
            )
        total += said
    return total


def best_success(theta: float, flip: float, n: int, record: int) -> float:
    r"""Success of the best guess of one record of a symmetric chain, exactly.

    .. math:: \tfrac12 \sum_z \max\{\Pr[z \mid X_i = 0], \Pr[z \mid X_i = 1]\}

    where

    - z runs over all 2^n responses; given the record its two sides are independent, so that
      2^(n/2) likelihoods, sorted by their ratio, serve for the sum.

    Parameters
    ----------
    theta, flip : float
    n : int
        At most 45.
    record : int

    Examples
    --------
    >>> round(best_success(.5, .25, 9, 4), 12), round(best_success(.1, .25, 3, 1), 6)
    (0.75, 0.805)
    """
    if max(record, n - 1 - record) > 22:
        raise InputError(f"2^{max(record, n - 1 - record)} responses are too many to go through")
    own = np.array([[1.0 - flip, flip], [flip, 1.0 - flip]])  # [value, report]
    side = _likelihoods(theta, flip, record)
    near = (side[:, :, None] * own[:, None, :]).reshape(2, -1)  # the record's own report as well
    far = _likelihoods(theta, flip, n - 1 - record)
    with np.errstate(divide="ignore"):
        ratio = np.log(far[0]) - np.log(far[1])
        needed = np.log(near[1]) - np.log(near[0])
    order = np.argsort(ratio)
    below = np.concatenate([np.zeros((2, 1)), np.cumsum(far[:, order], axis=1)], axis=1)
    at = np.searchsorted(ratio[order], needed)
    # responses below the threshold speak for 1, the others for 0
    return float((near[1] * below[1, at] + near[0] * (below[0, -1] - below[0, at])).sum()) / 2.0


def _likelihoods(theta: float, flip: float, k: int) -> np.ndarray:
    """Pr[z | next record is 0] and Pr[z | .. 1] for all 2^k reports on one side."""
    kernel = np.array([[1.0 - theta, theta], [theta, 1.0 - theta]])
    law = np.ones((2, 1))
    for _ in range(k):
        zero, one = np.array([1.0 - flip, flip]), np.array([flip, 1.0 - flip])
        seen = np.concatenate([law * zero[:, None], law * one[:, None]], axis=1)
        law = kernel @ seen
    return law


def _about(chain: MarkovChain, response: BinaryResponse, record: int, adversary: str) -> float:
    """What the response leaks about the record."""
    leak = leakage(chain, mechanism=response, adversary=adversary)  # type: ignore[arg-type]
    assert leak.per_record is not None
    return float(leak.per_record[record])


def _estimate(rates: np.ndarray, together: int) -> tuple[float, float, float]:
    """Mean over series and its interval, one of so many that are to hold together."""
    from scipy.special import stdtrit

    mean = float(rates.mean())
    quantile = float(stdtrit(len(rates) - 1, 1.0 - (1.0 - LEVEL) / (2.0 * together)))
    radius = quantile * float(rates.std(ddof=1)) / math.sqrt(len(rates))
    return mean, max(mean - radius, 0.0), min(mean + radius, 1.0)


def _charged(success: float) -> float:
    return math.log(success / (1.0 - success)) if success < 1.0 else math.inf


def _listed(thetas: list[float]) -> str:
    return ", ".join(f"{theta:g}" for theta in thetas) or "none"


@figure_2.panel("theta: how often the next record differs", "success")
def draw(result: Result, ax: Axes) -> None:
    """Success against theta; the axis on the right is the DP level charged for it."""
    table = result.table
    theta = np.array(table.column("theta"))
    for name, colour, said in (
        ("aware", ACCENT, "knows the chain"),
        ("single", WARM, "one report"),
    ):
        mean = np.array(table.column(name))
        ends = np.array([table.column(f"{name}_low"), table.column(f"{name}_high")])
        ax.errorbar(theta, mean, np.abs(ends - mean), fmt="o", color=colour, markersize=3.5,
                    linewidth=1, label=said)  # fmt: skip
    ax.plot(theta, table.column("aware_exact"), color=ACCENT, linewidth=1.2, label="exact")
    bound = success_bound(result.inputs["epsilon"], (0.5, 0.5))
    ax.axhline(bound, color=MUTED, linewidth=1.1, linestyle=(0, (4, 3)), label="allowed by DP")
    ax.set_ylim(0.5, 1.0)
    ax.set_xlim(left=0.0)
    right = ax.secondary_yaxis("right", functions=(_to_epsilon, _to_success))
    right.set_yticks([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    right.set_ylabel("epsilon charged", fontsize=9, color=INK)
    right.tick_params(labelsize=9, colors=INK)
    right.spines["right"].set_visible(False)


def _to_epsilon(success: Any) -> Any:
    inside = np.clip(np.asarray(success, dtype=float), 1e-9, 1.0 - 1e-9)
    return np.log(inside) - np.log1p(-inside)


def _to_success(epsilon: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-np.asarray(epsilon, dtype=float)))
