"""Guerra-Balboa (2026), figures 5.8 and 5.9, and what 5.7 shares: protocols, cities, audits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.auditing.limits import lower_limit, success_epsilon, upper_limit
from corrdp.mechanisms.local.base import LocalProtocol
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Experiment, Run, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLACES = {"porto": 3052, "geolife": 5356}  # nodes of the two road networks
PROTOCOLS: dict[str, type[LocalProtocol]] = {"grr": GRR, "oue": OUE, "ss": SS}
RUNS = 10**6
REPEATS = 5
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (1.0, 2.0, 4.0, 6.0, 8.0, 9.0, 10.0, 12.0, 14.0),
    "full": (0.5, 1.0, 1.5, 2.0, *(float(e) for e in range(3, 17))),
}
NEAR = 0.15  # an estimate so close to epsilon is on the diagonal of the figure
_COLUMNS = (
    "protocol", "epsilon", "estimate", "deviation", "undefined", "expected", "two_inputs",
    "two_deviation", "sound",
)  # fmt: skip


@dataclass(frozen=True)
class Audited:
    """Five audits of a protocol by either auditor, each from a million runs."""

    protocol: LocalProtocol
    estimates: np.ndarray
    two_inputs: np.ndarray
    sound: np.ndarray

    @property
    def expected(self) -> float:
        """Standard deviation of an estimate: that of the success rate over the slope."""
        s = self.protocol.success_uniform()
        return math.sqrt(s * (1 - s) / RUNS) / self.protocol.rad_slope()


def audited(protocol: LocalProtocol, rng: np.random.Generator) -> Audited:
    """Audits of a protocol, its right guesses drawn from their exact law.

    Guesses are right with the same probability whatever the input, so that their number among N
    runs is binomial. The two-input auditor makes N runs with each of two inputs; a wrong guess is
    any of the other values.

    Parameters
    ----------
    protocol : LocalProtocol
    rng : numpy.random.Generator

    Examples
    --------
    >>> audit = audited(GRR(100, 2.0), np.random.default_rng(0))
    >>> bool((abs(audit.estimates - 2) < .1).all()), bool((audit.two_inputs < 2).all())
    (True, True)
    """
    s, k = protocol.success_uniform(), protocol.k
    hits = rng.binomial(RUNS, s, REPEATS)
    true, false = rng.binomial(RUNS, s, REPEATS), rng.binomial(RUNS, (1 - s) / (k - 1), REPEATS)
    return Audited(
        protocol,
        np.array([protocol.epsilon_at(h / RUNS - 1 / k) for h in hits.tolist()]),
        np.array([two_inputs_epsilon(t, f, RUNS) for t, f in zip(true, false, strict=True)]),
        np.array([success_epsilon(float(lower_limit(h, RUNS, 0.01)), k) for h in hits]),
    )


def two_inputs_epsilon(
    true: int, false: int, runs: int, alpha: float = 0.01, delta: float = 0.0
) -> float:
    """The published two-input auditor, as a baseline.

    ln((TPR_low - delta)/FPR_high) with two-sided Clopper-Pearson limits at level alpha/2, so
    alpha/4 in each tail. It compares two fixed inputs, with ``runs`` runs each.

    Parameters
    ----------
    true, false : int
        How often the first input was guessed when it was the input, and when the other was.
    runs : int
    alpha, delta : float

    Returns
    -------
    float
        May be negative; -inf where the limit of the first rate is not above delta.

    References
    ----------
    Arcolezi, Gambs, "Revealing the true cost of locally differentially private protocols: an
    auditing perspective" (2024).

    Examples
    --------
    >>> round(two_inputs_epsilon(10**6, 0, 10**6), 4)
    12.0252
    """
    low = float(lower_limit(true, runs, alpha / 4)) - delta
    return math.log(low / float(upper_limit(false, runs, alpha / 4))) if low > 0 else -math.inf


def ceiling(runs: int = RUNS) -> float:
    """The most that the two-input auditor can report: every guess right.

    Examples
    --------
    >>> round(ceiling(), 4)
    12.0252
    """
    return two_inputs_epsilon(runs, 0, runs)


def constants(place: str, figure: str) -> dict[str, Published]:
    """Constants and claims of either figure; no plotted value can be read."""
    where = "section 5.5.3"
    return {
        "runs": Published("of each audit", "section 5.5.2", RUNS),
        "repeats": Published("audits at each epsilon", "section 5.5.2", REPEATS),
        "m": Published("nodes of the road network", "section 5.5.1", PLACES[place]),
        "closer": Published("closer to epsilon than the two-input auditor at every epsilon", where),
        "near perfect": Published(
            f"near-perfect for GRR and SS at every epsilon ({figure})", where
        ),
        "cap": Published("about the most that the two-input auditor reports", where, 12.25),
        "oue": Published("for OUE the accuracy declines at epsilons up to this", where, 9.0),
    }


def compared(run: Run) -> Result:
    """Epsilon by the mechanism's own law and by the two-input auditor, five audits each.

    ``estimate`` inverts the advantage of the protocol audited, ``two_inputs`` is the published
    auditor, ``sound`` a lower limit (99 %) that holds for any mechanism; ``expected`` is the
    standard deviation of one estimate, worked out. Only the number of places matters.
    """
    given, rows = run.given, []
    for name, kind in PROTOCOLS.items():
        for epsilon in EPSILONS[run.size]:
            audit = audited(kind(given["m"], epsilon), run.rng)
            good = audit.estimates[np.isfinite(audit.estimates)]
            mean = float(good.mean()) if len(good) else None
            spread = float(good.std(ddof=1)) if len(good) > 1 else None
            rows.append((name, epsilon, mean, spread, REPEATS - len(good), audit.expected,
                         float(audit.two_inputs.mean()), float(audit.two_inputs.std(ddof=1)),
                         float(audit.sound.mean())))  # fmt: skip
    table = Table(_COLUMNS, tuple(rows))
    return run.result(table, findings(table, given), given)


def findings(table: Table, given: dict[str, Any]) -> tuple[Finding, ...]:
    """The claims about the audits, from their table."""
    rows = [row for row in table.records() if row["estimate"] is not None]
    errors = [abs(row["estimate"] - row["epsilon"]) for row in rows]
    theirs = [abs(row["two_inputs"] - row["epsilon"]) for row in rows]
    worse = [r for r, a, b in zip(rows, errors, theirs, strict=True) if a >= b]
    sound = min(row["sound"] - row["two_inputs"] for row in rows)
    exact = [(abs(r["estimate"] - r["epsilon"]), r) for r in rows if r["protocol"] != "oue"]
    off, at = max(exact, key=lambda pair: pair[0])
    top = ceiling(given["runs"])
    reached = max(r["two_inputs"] for r in rows)
    oue = [r for r in table.where(protocol="oue").records() if r["epsilon"] >= 1]
    low, high = (
        max(r["expected"] for r in oue if (r["epsilon"] <= given["oue"]) == below)
        for below in (True, False)
    )
    lost = sum(r["undefined"] for r in oue)
    return (
        judge(
            "closer",
            not worse,
            f"At {len(rows) - len(worse)} of {len(rows)} points. Its estimate assumes that "
            "protocol; a lower limit from the same guesses that holds for any mechanism is above "
            f"the two-input auditor's by {sound:+.3f} or more.",
            max(errors),
            sound,
        ),
        judge(
            "near perfect",
            off <= NEAR,
            f"Off by {off:.3f} at most ({at['protocol']} at epsilon {at['epsilon']:g}, where one "
            f"audit has a standard deviation of {at['expected']:.3f}).",
            off,
        ),
        judge(
            "cap",
            abs(top - given["cap"]) < 0.05,
            f"If all guesses are right it reports {top:.4f}, from the limits of its public code; "
            f"the largest mean here is {reached:.3f}.",
            top,
            top,
            within=".05",
        ),
        judge(
            "oue",
            low > high,
            f"One audit has a standard deviation of {low:.3f} at most from 1 up to there, and of "
            f"up to {high:.3f} above; {lost} of {REPEATS * len(oue)} audits found no epsilon.",
            low,
            high,
        ),
    )  # fmt: skip


def draw(result: Result, ax: Axes) -> None:
    """Epsilon found against epsilon; the diagonal is exact."""
    top = max(result.table.column("epsilon"))
    ax.plot([0, top], [0, top], color=MUTED, linestyle=":", linewidth=1)
    for name, colour in (("grr", WARM), ("oue", INK), ("ss", ACCENT)):
        part = result.table.where(protocol=name)
        at = part.column("epsilon")
        for column, spread, style in (
            ("estimate", "deviation", "o"),
            ("two_inputs", "two_deviation", "x"),
        ):
            found, wide = (
                [np.nan if v is None else v for v in part.column(c)] for c in (column, spread)
            )
            said = f"{name.upper()}, {'advantage' if style == 'o' else 'two inputs'}"
            ax.errorbar(at, found, wide, color=colour, fmt=style, markersize=4, linewidth=0.9,
                        fillstyle="none", label=said)  # fmt: skip


def audits(number: str, place: str) -> Experiment:
    """Figure 5.8 or 5.9: the same audits over the places of one city or the other.

    Parameters
    ----------
    number : str
        Of the figure.
    place : str
        A key of ``PLACES``.
    """
    figure = f"figure {number}"
    title = f"Audits of local protocols over the places of {place.capitalize()}"
    claims = constants(place, figure)
    made = experiment(f"004-figure-{number}", title, f"{CHAPTER}, {figure}", claims)(compared)
    made.panel("epsilon", "epsilon found", fontsize=7.5)(draw)
    return made


figure_5_8 = audits("5.8", "porto")
figure_5_9 = audits("5.9", "geolife")
