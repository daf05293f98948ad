"""Guerra-Balboa (2026), chapter 5: numbers of the text that belong to no figure."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.mechanisms.local import PROTOCOLS
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.scalar import GaussianAnswer, LaplaceAnswer
from corrdp.mechanisms.local.unary import OUE
from corrdp.plots import ACCENT, WARM
from corrdp.reconstruction.bounds import advantage
from corrdp.reconstruction.calibrate import calibrate_risk
from corrdp.reconstruction.exact import rad, rad_of_attack
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER, uniform
from corrdp_reproduction.reconstructing.optimal import Optimal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RUNS: dict[Size, int] = {"quick": 20_000, "full": 400_000}
GAMES: dict[Size, int] = {"quick": 40, "full": 400}  # random threats attacked in every way
CERTAIN = 4.5  # standard errors
LARGE = 40.0  # an epsilon beyond which nothing changes
BRACKET = 60.0  # where the source's bisection starts
_EXAMPLE = "example 5.4"
PUBLISHED = {
    "risk": Published("largest advantage allowed", _EXAMPLE, 0.1),
    "two": Published("epsilon of randomized response for it, two records", _EXAMPLE, 0.405),
    "hundred": Published("the same for 100 records", _EXAMPLE, 2.503),
    "odds": Published("e^epsilon for 100 records", _EXAMPLE, 12.2087),
    "limit": Published("the advantage under OUE tends to (m - 1)/(2m)", "example 5.5"),
    "half": Published(
        "who knows the record never gains more than this under OUE",
        "example 5.5",
        0.5,
    ),
    "optimal": Published("algorithm 1 has the largest advantage of all attacks", "corollary 5.9"),
    "tolerance": Published("of the bisection that inverts OUE", "section 5.5.2", 1e-6),
    "bisection": Published("it takes O(log 1/tolerance) steps", "section 5.5.2"),
    "membership": Published("normalised advantage at epsilon 1", "equation 2.2", 0.46),
    "closed forms": Published(
        "the closed forms of theorem 5.3 are what the attack attains",
        "section 5.5.3",
    ),
}


@experiment(
    "004-numbers-5", "Numbers of the text on risk", f"{CHAPTER}, numbers of the text", PUBLISHED
)
def numbers(run: Run) -> Result:
    """Every mechanism's closed form next to real outputs attacked, and the numbers."""
    given = run.given
    rows = []
    todo = list(_mechanisms())
    for name, mechanism, m in run.over(todo):
        truth = run.rng.integers(0, m, RUNS[run.size])
        guesses = mechanism.attack(mechanism.sample(truth, run.rng), run.rng)
        exact = mechanism.rad_uniform()
        s = exact + 1 / m
        rows.append((name, m, exact, float((guesses == truth).mean()) - 1 / m,
                     math.sqrt(s * (1 - s) / RUNS[run.size])))  # fmt: skip
    table = Table(("mechanism", "m", "rad", "simulated", "error"), tuple(rows))
    findings = (
        *_calibrated(given),
        *_unary(),
        _optimal(GAMES[run.size], run.rng),
        _bisection(given["tolerance"]),
        _membership(given["membership"]),
        _closed_forms(table),
    )
    return run.result(table, findings, {**given, "runs": RUNS[run.size]})


def _mechanisms() -> Any:
    """A mechanism of every kind that has a closed form, with its number of records."""
    for name, kind in PROTOCOLS.items():
        yield name, kind(50, 3.0), 50
    answers = np.array([0, 0.05, 0.1, 0.5, 1])
    yield "laplace", LaplaceAnswer(answers, 0.2), len(answers)
    yield "gaussian", GaussianAnswer(answers, 0.2), len(answers)


def _calibrated(given: dict[str, Any]) -> tuple[Finding, ...]:
    found = {m: _epsilons(m, given["risk"]) for m in (2, 100)}
    odds = math.exp(found[100][0])
    return (
        judge(
            "two",
            abs(found[2][1] - given["two"]) < 5e-4,
            f"ln 1.5 = {found[2][0]:.6f}.",
            *found[2],
        ),
        judge(
            "hundred",
            abs(found[100][1] - given["hundred"]) < 5e-4,
            f"Its own formula gives {found[100][0]:.6f}; at {given['hundred']} the advantage is "
            f"{GRR(100, given['hundred']).rad_uniform():.6f}.",
            *found[100],
        ),
        judge(
            "odds",
            abs(odds - given["odds"]) < 5e-5,
            f"11/(1 - .1/.99) = {odds:.5f}; multiplied instead of divided, 11/(1 - .1 x .99) = "
            f"{11 / (1 - 0.1 * 0.99):.4f}, whose logarithm is "
            f"{math.log(11 / (1 - 0.1 * 0.99)):.4f}.",
            odds,
            math.exp(found[100][1]),
        ),
    )


def _epsilons(m: int, risk: float) -> tuple[float, float]:
    """Epsilon of randomized response for a risk: by the printed formula, and by root search."""
    share = risk / (1 - 1 / m)
    exact = calibrate_risk(lambda e: GRR(m, e), risk, uniform(m), between=(0.01, 20))
    return math.log((1 + share * (m - 1)) / (1 - share)), exact.value


def _unary() -> tuple[Finding, ...]:
    sizes = (2, 11, 100)
    ends = [OUE(m, LARGE).rad_uniform() / ((m - 1) / (2 * m)) for m in sizes]
    prior = np.full(11, 1 / 11)
    known = [OUE(11, e).rad_membership(prior) for e in (1.0, 5.0, 10.0, LARGE)]
    return (
        judge(
            "limit",
            max(abs(end - 1) for end in ends) < 1e-9,
            f"For {', '.join(map(str, sizes))} records at epsilon {LARGE:g}, to "
            f"{max(abs(end - 1) for end in ends):.0e}.",
            OUE(11, LARGE).rad_uniform(),
            10 / 22,
        ),
        judge(
            "half",
            max(known) <= 0.5,
            f"At most {max(known):.6f} for 11 equally likely records, half of 1 - kappa.",
            max(known),
            0.5 * (1 - 1 / 11),
        ),
    )


def _optimal(games: int, rng: np.random.Generator) -> Finding:
    """Random mechanisms and threats, against every attack that there is."""
    off = 0.0
    for _ in range(games):
        m, outputs = int(rng.integers(2, 4)), int(rng.integers(2, 4))
        channel = rng.dirichlet(np.ones(outputs), m)
        loss = np.where(np.eye(m, dtype=bool), 0.0, rng.random((m, m)))
        aux = rng.integers(0, 2, m).tolist()
        threat = Threat(rng.dirichlet(np.ones(m)), loss, 0.4, aux)
        shape = len(threat.labels), outputs
        every = itertools.product(range(m), repeat=shape[0] * shape[1])
        best = max(
            rad_of_attack(channel, threat, np.array(flat).reshape(shape))[0] for flat in every
        )
        table = Optimal(channel, threat).table(np.arange(outputs))
        own = rad_of_attack(channel, threat, table)[0]
        off = max(off, abs(best - own), abs(best - rad(channel, threat).value))
    said = f"All attacks on {games} random mechanisms: none differs from it by more than {off:.0e}."
    return judge("optimal", off < 1e-12, said, off)


def _bisection(tolerance: float) -> Finding:
    """Halving [0, 60] until it is narrower than the tolerance, to find an epsilon again."""
    true, protocol = 4.0, OUE(3052, 1.0)
    steps, low, high = 0, 0.0, BRACKET
    while high - low > tolerance:
        middle = (low + high) / 2
        up = protocol.rad_at(middle) < protocol.rad_at(true)
        low, high = (middle, high) if up else (low, middle)
        steps += 1
    bound = math.ceil(math.log2(BRACKET / tolerance))
    found = (low + high) / 2
    said = f"{steps} steps from [0, {BRACKET:g}] to {found:.7f} where epsilon is {true:g}."
    return judge("bisection", steps <= bound and abs(found - true) <= tolerance, said, float(steps))


def _membership(printed: float) -> Finding:
    value = advantage(1.0).value
    formula = math.expm1(1.0) / (math.e + 1)
    said = f"{value:.6f}, attained by randomized response on two records."
    pair = 2 * rad(GRR(2, 1.0), uniform(2)).value
    return judge("membership", round(value, 2) == printed, said, formula, pair)


def _closed_forms(table: Table) -> Finding:
    off = {r["mechanism"]: abs(r["simulated"] - r["rad"]) / r["error"] for r in table.records()}
    worst = max(off, key=lambda name: off[name])
    said = f"{len(off)} mechanisms; at most {off[worst]:.1f} standard errors off ({worst})."
    return judge("closed forms", off[worst] <= CERTAIN, said, off[worst])


@numbers.panel("mechanism", "reconstruction advantage", labelcolor=None)
def draw(result: Result, ax: Axes) -> None:
    """Closed form and simulation, one pair of bars per mechanism."""
    at = np.arange(len(result.table.rows))
    for k, (column, colour) in enumerate((("rad", ACCENT), ("simulated", WARM))):
        ax.bar(at - 0.2 + 0.4 * k, result.table.column(column), 0.38, color=colour, label=column)
    ax.set_xticks(at, result.table.column("mechanism"), fontsize=8, rotation=45)
