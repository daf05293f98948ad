"""Chakrabarti et al. (2022), figure 4: attackers on sanitized heart rates."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.attacks.base import Attack, AttackResult, success_bound
from corrdp.attacks.forward_backward import ForwardBackward, SingleBit, Viterbi
from corrdp.attacks.next_place import LSTM
from corrdp.calibration.response import Knowledge, least_flips
from corrdp.errors import InputError
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp.plots import ACCENT, INK, MUTED, WARM
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.recordings import heart_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOURCE = (
    "Chakrabarti, Gao, Saraf, Schoenebeck, Yu, Optimal local Bayesian differential privacy over "
    "Markov chains (2022), figure 4"
)
SERIES = ("synthetic", "high", "low")
PANELS = {
    "synthetic": "(a) synthetic, strongly dependent",
    "high": "(b) heart rate, strongly dependent",
    "low": "(c) heart rate, weakly dependent",
}
ATTACKERS = ("viterbi", "forward-backward", "single", "lstm")
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (0.5, 2.0, 5.0),
    "full": (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0),
}
# the source leaves the network's window open; a few were tried on some points, these did well
WINDOWS = {"synthetic": 21, "high": 41, "low": 7}
EPOCHS = 10
ABOUT = 0.05  # success rates that differ by less are about the same
_COLUMNS = (
    "series", "epsilon", "adversary", "flip0", "flip1", "attacker", "success", "low", "high",
    "bits", "bound", "printed_bound", "share",
)  # fmt: skip
_FIGURE, _BOUND = "figure 4", "section 4.3"
PUBLISHED = {
    "high": Published("q, r and n, strongly dependent", _FIGURE, (0.0893, 0.1092, 26923)),
    "low": Published("q, r and n, weakly dependent", _FIGURE, (0.2384, 0.3831, 16859)),
    "below": Published("no attacker reaches what epsilon-BDP allows", _BOUND),
    "printed bound": Published(
        "what epsilon-BDP allows is e^epsilon/(max(q/r, r/q) + e^epsilon)", _BOUND
    ),
    "recordings": Published("the same on recordings, which are no chains", "section 4.3"),
    "less success": Published(
        "at the same epsilon, success is lower where records depend more strongly",
        "section 4.3",
    ),
    "lstm": Published("a trained network does about as well as the likeliest path", "section 4.3"),
}


def usual_attackers() -> tuple[str, ...]:
    """Those that play when none are named: all that can, as the network needs PyTorch."""
    return ATTACKERS if find_spec("torch") else ATTACKERS[:-1]


@dataclass(frozen=True, eq=False)
class _Case:
    """A series, and the chain that everybody takes it for."""

    name: str
    records: np.ndarray
    chain: MarkovChain


@experiment("001-figure-4", "Attackers on sanitized heart rates", SOURCE, PUBLISHED)
def figure_4(
    run: Run,
    *,
    series: Sequence[str] = SERIES,
    attackers: Sequence[str] | None = None,
    epsilons: Sequence[float] | None = None,
) -> Result:
    r"""Success of each attacker on each series, sanitized at each promised leakage.

    Every series is sanitized with the least expected flips that keep epsilon, once against the
    adversary who knows nothing (as in the source) and once against all, and attacked as a whole.

    .. math:: p_s \le \max\Big\{\frac{m}{1 + m}, \frac{e^\varepsilon}{1 + e^\varepsilon}\Big\},
              \quad \text{printed: } \frac{e^\varepsilon}{m + e^\varepsilon}

    where

    - p_s is the success of any attacker who knows no record,
    - m = max(q/r, r/q), so that m/(1 + m) is the success of always guessing the commoner state
      (``share`` is what that guess achieves on the series itself).

    Intervals are 95 % each and allow for dependent successes.
    """
    _check("series", series, SERIES)
    attackers = usual_attackers() if attackers is None else attackers
    _check("attackers", attackers, ATTACKERS)
    given = run.given
    cases = [_case(name, given, run.data, run.rng) for name in series]
    levels = EPSILONS[run.size] if epsilons is None else tuple(float(e) for e in epsilons)
    adversaries: tuple[Knowledge, ...] = ("none", "all")
    todo = [(c, e, a) for c in cases for e in levels for a in adversaries]
    rows: list[tuple[Any, ...]] = []
    for case, epsilon, adversary in run.over(todo):
        rows += _rows(case, epsilon, adversary, attackers, run.rng)
    table = Table(_COLUMNS, tuple(rows))
    notes = [
        "The source prints no numbers of this figure, nor its range of epsilon: claims are tested."
    ]
    for case in cases:
        if case.chain.fitted is not None:
            notes.append(f"{case.name}: {case.chain.order_test().words}.")
    inputs = {**given, "epsilons": levels, "series": tuple(series), "attackers": tuple(attackers)}
    if "lstm" in attackers:
        inputs |= {"windows": WINDOWS, "epochs": EPOCHS}
    findings = (*_constants(cases, given), *_claims(table, series, attackers))
    return run.result(table, findings, inputs, notes)


def _check(name: str, asked: Sequence[str], known: Sequence[str]) -> None:
    strange = [entry for entry in asked if entry not in known]
    if strange or not asked or isinstance(asked, str):
        raise InputError(f"{name} must be some of {', '.join(known)}; got {asked!r}")


def _case(
    name: str,
    given: dict[str, Any],
    data: str | os.PathLike[str] | None,
    rng: np.random.Generator,
) -> _Case:
    if name != "synthetic":
        recording = heart_rate(name, data)
        return _Case(name, recording.states, recording.chain)
    q, r, n = given["high"]
    chain = MarkovChain([[1 - q, q], [r, 1 - r]], n)
    return _Case(name, chain.sample(rng), chain)


def _rows(
    case: _Case,
    epsilon: float,
    adversary: Knowledge,
    attackers: Sequence[str],
    rng: np.random.Generator,
) -> list[tuple[Any, ...]]:
    response = least_flips(case.chain, epsilon, adversary=adversary).mechanism
    reports = response.sample(case.records, rng)
    w0, w1 = case.chain.stationary.tolist()
    odds = max(w0 / w1, w1 / w0)
    bounds = success_bound(epsilon, (w0, w1)), 1.0 / (1.0 + odds * math.exp(-epsilon))
    share = float((case.records == (0 if w0 >= w1 else 1)).mean())
    rows = []
    for name in attackers:
        got = _attack(name, response, case.name, rng).run(reports, case.chain, case.records)
        rows.append((case.name, epsilon, adversary, response.flip0, response.flip1, name,
                     *_scored(got), *bounds, share))  # fmt: skip
    return rows


def _attack(name: str, response: BinaryResponse, series: str, rng: np.random.Generator) -> Attack:
    if name == "lstm":
        return LSTM(response, rng, window=WINDOWS[series], epochs=EPOCHS)
    if name == "viterbi":
        return Viterbi(response)
    return ForwardBackward(response) if name == "forward-backward" else SingleBit(response)


def _scored(got: AttackResult) -> tuple[float, float, float, float]:
    assert got.success is not None
    assert got.interval is not None
    assert got.bits is not None
    return got.success, *got.interval, got.bits


def _constants(cases: list[_Case], given: dict[str, Any]) -> list[Finding]:
    """Whether the recordings are those of the source."""
    findings = []
    for case in cases:
        if case.name == "synthetic":
            continue
        q, r, n = given[case.name]
        found_q, found_r = float(case.chain.transition[0, 1]), float(case.chain.transition[1, 0])
        near = max(abs(found_q - q), abs(found_r - r)) < 1e-4  # one unit of the last digit
        said = f"Split at its mean: q = {found_q:.5f}, r = {found_r:.5f}, n = {len(case.records)}."
        findings.append(judge(case.name, near and len(case.records) == n, said))
    return findings


def _claims(table: Table, series: Sequence[str], attackers: Sequence[str]) -> list[Finding]:
    real = [name for name in series if name != "synthetic"]
    return [
        _below("below", table, [name for name in series if name == "synthetic"]),
        _below("recordings", table, real, _beyond_the_chain(table)),
        _printed(table),
        _less_success(table, series, attackers),
        _network(table, attackers),
    ]


def _points(rows: Sequence[dict[str, Any]]) -> str:
    """Attacker, series and epsilon in words; the first few."""
    said = [
        f"{row['attacker']} on {row['series']}, noise against {row['adversary']}, at epsilon "
        f"{row['epsilon']:g}: {row['success']:.4f}"
        for row in rows
    ]
    return "; ".join(said[:3]) + (f"; and {len(said) - 3} more" if len(said) > 3 else "")


def _beyond_the_chain(table: Table) -> str:
    """How much more an attacker makes of a recording than of a chain with its rates."""
    pairs = [
        (row["success"] - chain["success"], row, chain)
        for row, chain in zip(
            table.where(series="high").records(),
            table.where(series="synthetic").records(),
            strict=False,  # one of the two may not have been asked for
        )
    ]
    if not pairs:
        return ""
    gap, row, chain = max(pairs, key=lambda pair: pair[0])
    more = f"gives up to {gap:.4f} more away" if gap > 0.0 else "gives no more away"
    return (
        f" The strongly dependent recording {more} than a chain with its rates "
        f"({row['attacker']} at epsilon {row['epsilon']:g}: {row['success']:.4f} against "
        f"{chain['success']:.4f})."
    )


def _below(claim: str, table: Table, series: Sequence[str], more: str = "") -> Finding:
    rows = [row for row in table.records() if row["series"] in series]
    if not rows:
        return Finding(claim, "data missing", "None of these series was asked for.")
    over = [row for row in rows if row["low"] > row["bound"]]
    nearest = max(rows, key=lambda row: row["success"] - row["bound"])
    beyond = sum(row["success"] > row["bound"] for row in rows)
    said = f"{len(rows)} points, {beyond} above the corrected bound and {len(over)} with their "
    said += "whole interval" + (f" ({_points(over)})" if over else "")
    said += (
        f"; closest to it: {nearest['attacker']} on {nearest['series']} at epsilon "
        f"{nearest['epsilon']:g}, {nearest['success']:.4f} of {nearest['bound']:.4f} allowed.{more}"
    )
    excess = nearest["success"] - nearest["bound"]
    return judge(claim, not over, said, None, excess)


def _printed(table: Table) -> Finding:
    rows = list(table.records())
    over = [row for row in rows if row["low"] > row["printed_bound"]]
    said = f"Attackers are above it for certain at {len(over)} of {len(rows)} points"
    said += f" ({_points(over)})." if over else "."
    blind = max(rows, key=lambda row: row["share"])
    odds = (1.0 / blind["printed_bound"] - 1.0) * math.exp(blind["epsilon"])
    nothing = 1.0 / (1.0 + odds)
    said += (
        f" For reports that say nothing (epsilon 0) it allows {nothing:.4f} on {blind['series']}, "
        f"where always guessing one state achieves {blind['share']:.4f}."
    )
    worst = max(row["success"] - row["printed_bound"] for row in rows)
    return judge("printed bound", not over and blind["share"] <= nothing, said, worst)


def _less_success(table: Table, series: Sequence[str], attackers: Sequence[str]) -> Finding:
    if not {"high", "low"} <= set(series):
        return Finding("less success", "data missing", "It takes both recordings.")
    first = attackers[0]
    high, low = (
        list(table.where(series=name, adversary="none", attacker=first).records())
        for name in ("high", "low")
    )
    gaps = [weak["success"] - strong["success"] for strong, weak in zip(high, low, strict=True)]
    against = [
        strong["epsilon"]
        for strong, weak in zip(high, low, strict=True)
        if strong["low"] > weak["high"]
    ]
    said = (
        f"With the source's noise the {first} attacker succeeds less on the strongly dependent "
        f"recording at {sum(gap > 0 for gap in gaps)} of {len(gaps)} epsilons ({min(gaps):+.4f} to "
        f"{max(gaps):+.4f}); for certain more at {len(against)}."
    )
    return judge("less success", not against, said, min(gaps))


def _network(table: Table, attackers: Sequence[str]) -> Finding:
    if not {"lstm", "viterbi"} <= set(attackers):
        return Finding(
            "lstm", "data missing", "It takes viterbi and lstm, and PyTorch: corrdp[attacks]."
        )
    gaps = {
        adversary: [
            net["success"] - path["success"]
            for net, path in zip(
                table.where(attacker="lstm", adversary=adversary).records(),
                table.where(attacker="viterbi", adversary=adversary).records(),
                strict=True,
            )
        ]
        for adversary in ("none", "all")
    }
    ranges = {name: f"{min(part):+.4f} to {max(part):+.4f}" for name, part in gaps.items()}
    by_source, tight = (max(part, key=abs) for part in gaps.values())
    said = (
        f"The network's success less that of the likeliest path: {ranges['none']} with the "
        f"source's noise, {ranges['all']} with noise against all adversaries."
    )
    near = f"success rates {ABOUT} apart"
    return judge("lstm", abs(by_source) <= ABOUT, said, by_source, tight, within=near)


@figure_4.panels_of(PANELS, "epsilon promised", "success", loc="lower right")
def draw(name: str, result: Result, ax: Axes) -> None:
    """Success against epsilon with the source's noise, below what no attacker may exceed."""
    part = result.table.where(series=name, adversary="none")
    if not part.rows:
        ax.text(0.5, 0.5, "the recording is not at hand", ha="center", transform=ax.transAxes)
        return
    drawn = {"single": (MUTED, "s"), "viterbi": (WARM, "x"), "forward-backward": (ACCENT, "o"),
             "lstm": (INK, "^")}  # fmt: skip
    for attacker in result.inputs["attackers"]:
        colour, marker = drawn[attacker]
        own = part.where(attacker=attacker)
        success = np.array(own.column("success"))
        ends = np.array([own.column("low"), own.column("high")])
        ax.errorbar(own.column("epsilon"), success, np.abs(ends - success), color=colour,
                    fmt=marker, markersize=4, linewidth=0.9, fillstyle="none",
                    label=attacker)  # fmt: skip
    one = part.where(attacker=result.inputs["attackers"][0])
    ax.plot(one.column("epsilon"), one.column("bound"), color=MUTED, linewidth=1.4,
            label="what epsilon allows")  # fmt: skip
    ax.plot(one.column("epsilon"), one.column("printed_bound"), ":", color=MUTED, linewidth=1,
            label="the same as printed")  # fmt: skip
    ax.set_ylim(0.35, 1.02)
