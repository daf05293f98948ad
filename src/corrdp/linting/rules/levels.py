"""L-23: noise that was scaled for another norm, another kind of neighbour, or one level only."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from corrdp.linting.description import Description, Stage
from corrdp.linting.level import TREES, Counted, Level
from corrdp.metric.granularities import Trajectory, User
from corrdp.results import Finding, Severity

_SLACK = 1 + 1e-9
_NORM = {"laplace": "l1", "geometric": "l1", "gaussian": "l2"}


def noise_level(part: Stage, mechanism: Description) -> float | None:
    r"""epsilon (Laplace, geometric) or mu (Gaussian) of a noise step, recomputed; None if unknown.

    .. math:: \varepsilon = t \sum_n \Delta_n / b_n, \qquad
              \mu = \sqrt{t \sum_n (\Delta_n / \sigma_n)^2}

    where Delta_n is the l1 (l2) sensitivity of level n, of all rows of a unit, b_n (sigma_n) the
    scale of its noise, and t how often the step runs. One unit moves all levels at once, so that
    Laplace noise attains the sum.

    References
    ----------
    movements#counting-trees.
    """
    noise, claim = part.noise, mechanism.claim
    if noise is None or noise.law not in _NORM:
        return None
    norm = _NORM[noise.law]
    counted = mechanism.counted(part)
    if counted is not None:
        moved = counted.per_level(claim.change, norm)
    elif part.query is None and part.sensitivity is not None:
        stated = part.sensitivity.l1 if norm == "l1" else part.sensitivity.l2
        if stated is None and norm == "l2":
            stated = part.sensitivity.l1  # never below l2
        if stated is None:
            return None
        moved = (stated,)
    else:
        return None
    scales = noise.scale * len(moved) if len(noise.scale) == 1 else noise.scale
    each = [d / b for d, b in zip(moved, scales, strict=True)]
    if norm == "l1":
        return part.times * math.fsum(each)
    return math.sqrt(part.times) * math.hypot(*each)


def mismatches(mechanism: Description) -> Iterator[Finding]:
    """L-23: recompute what each step costs, and compare with what is stated and claimed."""
    for part in mechanism.steps:
        if part.kind != "noise" or not mechanism.raw(part) or not mechanism.reaches(part):
            continue
        where = mechanism.where(part)
        yield from _unsaid(part, mechanism, where)
        yield from _stated(part, mechanism, where)
        found = noise_level(part, mechanism)
        if found is not None:
            yield from _noise(part, mechanism, where, found)
    yield from _sum(mechanism)


def _unsaid(part: Stage, mechanism: Description, where: str) -> Iterator[Finding]:
    """A unit may have many rows, and each of them moves what is counted."""
    if part.query is None or mechanism.rows(part) is not None:
        return
    unit = mechanism.claim.granularity
    key = "data.trajectories" if part.query.type in TREES else "data.steps"
    yield Finding(
        "L-23",
        "warning",
        where,
        f"it is not said how many rows one unit of {unit} granularity adds to the "
        f"{part.query.type}, and each of them multiplies what the noise must hide. State "
        f"query.rows" + (f", or {key}" if isinstance(unit, User | Trajectory) else ""),
    )


def _stated(part: Stage, mechanism: Description, where: str) -> Iterator[Finding]:
    assert part.noise is not None
    stated, claim = part.sensitivity, mechanism.claim
    norm = _NORM.get(part.noise.law)
    if stated is None or norm is None:
        return
    value = stated.l1 if norm == "l1" else stated.l2
    if norm == "l1" and value is None and part.query is None:
        yield Finding(
            "L-23",
            "error",
            where,
            f"{part.noise.law} noise is scaled by the l1 sensitivity; stated is l2 {stated.l2:g}, "
            "which in d dimensions may be sqrt(d) times too small. State l1, or use Gaussian noise",
        )
    if stated.change is not None and stated.change != claim.change and part.query is None:
        yield Finding(
            "L-23",
            "warning",
            where,
            f"the sensitivity is for {_CHANGES[stated.change]}, the claim for "
            f"{_CHANGES[claim.change]}; between the two it may double. State it for the claim",
        )
    counted = mechanism.counted(part)
    if value is None or counted is None:
        return
    # of one level: that all levels move together shows in the level of the noise
    least = max(counted.per_level(claim.change, norm))
    if value * _SLACK < least:
        yield Finding(
            "L-23",
            "error",
            where,
            f"the {norm} sensitivity is stated as {value:g}; {_CHANGES[claim.change]} move a "
            f"{counted.type} by {least:g}{_of_rows(counted)}. Scale the noise by that",
        )


_CHANGES = {"add": "records that come and go", "replace": "replaced records"}


def _noise(part: Stage, mechanism: Description, where: str, found: float) -> Iterator[Finding]:
    assert part.noise is not None
    claim, level = mechanism.claim, mechanism.claim.level
    gaussian = part.noise.law == "gaussian"
    unit = "mu" if gaussian else "epsilon"
    own = part.mu if gaussian else part.epsilon
    if own is not None and found > own * part.times * _SLACK:
        yield Finding(
            "L-23",
            "error",
            where,
            f"the noise gives {unit} {found:.6g}, the step is booked with {own * part.times:g}. "
            f"Scale the noise up {found / (own * part.times):.6g} times, or book what it costs"
            if own
            else f"the noise gives {unit} {found:.6g}, the step is booked with 0",
        )
    told = _against(level, found, gaussian)
    if told is None:
        return
    severity, words = told
    factor = _factor(part, mechanism)
    yield Finding(
        "L-23",
        severity,
        where,
        f"{words} at {claim.granularity} granularity, {_CHANGES[claim.change]}{factor}",
    )


def _factor(part: Stage, mechanism: Description) -> str:
    query = mechanism.counted(part)
    if query is None:
        return ". Scale the noise for the whole query, in the norm of its law"
    if query.levels == 1:
        moved = query.whole(mechanism.claim.change)
        return f". One unit moves a {query.type} by {moved:g}{_of_rows(query)}"
    return (
        f". One unit moves all {query.levels} levels of the tree{_of_rows(query)}: give each level "
        "its share, and scales that add up"
    )


def _of_rows(query: Counted) -> str:
    return f" with its {query.rows:,} rows" if (query.rows or 1) > 1 else ""


def _against(level: Level, found: float, gaussian: bool) -> tuple[Severity, str] | None:
    """Whether the level that the noise gives is more than the claim, and how certain that is."""
    from corrdp.metric.tradeoff import delta_for

    if not gaussian:
        if level.mu is not None:
            return None if found == 0 else _laplace_as_mu(found, level.mu)
        assert level.epsilon is not None
        if found <= level.epsilon * _SLACK:
            return None
        words = f"the noise gives epsilon {found:.6g}, claimed is {level}"
        # with delta, more than epsilon is not refuted by the pure level alone
        return ("error" if level.pure else "warning"), words
    if level.mu is not None:
        if found <= level.mu * _SLACK:
            return None
        return "error", f"the noise gives mu {found:.6g}, claimed is {level}"
    assert level.epsilon is not None
    if found == 0:
        return None
    if level.pure:
        return "error", f"Gaussian noise (mu {found:.6g}) has no pure epsilon, claimed is {level}"
    delta = 1.0 if math.isinf(found) else delta_for(found, level.epsilon)
    if delta <= level.delta * _SLACK:
        return None
    return "error", (
        f"the noise gives delta {delta:.6g} at epsilon {level.epsilon:g}, claimed is {level}"
    )


def _laplace_as_mu(epsilon: float, mu: float) -> tuple[Severity, str] | None:
    from scipy.special import log_ndtr

    # epsilon-DP is mu-GDP from mu = -2 Phi^-1(1 / (1 + e^epsilon)) on: Dong, Roth, Su (2022)
    if float(log_ndtr(-mu / 2)) <= -float(np.logaddexp(0.0, epsilon)):
        return None
    return "warning", f"the noise gives epsilon {epsilon:.6g}, which does not imply mu {mu:g}"


def _sum(mechanism: Description) -> Iterator[Finding]:
    """Budgets of one step, in all its runs, and of all steps, that are more than is claimed."""
    level = mechanism.claim.level
    gaussian = level.mu is not None
    unit = "mu" if gaussian else "epsilon"
    costs, deltas = {}, {}
    for part in mechanism.steps:
        if mechanism.raw(part) and mechanism.reaches(part):
            own = _cost(part, mechanism, gaussian)
            costs[part] = own * mechanism.spread(part)
            deltas[part] = part.times * part.delta + part.shown
            if noise_level(part, mechanism) is None:  # it was compared already otherwise
                yield from _alone(part, unit, own, mechanism)
    paying = [part for part, cost in costs.items() if cost]
    # one step alone was compared already, but for what preprocessing does to it
    if len(paying) > 1 or any(mechanism.spread(part) > 1 for part in paying):
        total = math.hypot(*costs.values()) if gaussian else math.fsum(costs.values())
        yield from _added(unit, costs, total, level)
    if level.delta:
        yield from _added("delta", deltas, math.fsum(deltas.values()), level)


def _alone(part: Stage, unit: str, cost: float, mechanism: Description) -> Iterator[Finding]:
    """One step reads the same data in each of its runs: nothing about it is parallel."""
    claim = mechanism.claim
    if cost <= getattr(claim.level, unit) * _SLACK:
        return
    how = f" in {part.times} runs on the same data" if part.times > 1 else ""
    elsewhere = claim.area is not None and part.area is not None and part.area != claim.area
    # with delta, more than epsilon is not refuted; and another part of the data is not claimed
    sure = not claim.level.delta and not elsewhere
    yield Finding(
        "L-23",
        "error" if sure else "warning",
        mechanism.where(part),
        f"the step costs {unit} {cost:.6g}{how}, claimed is {claim.level}. Lower its budget, run "
        "it less often, or claim what it costs",
    )


def _added(name: str, costs: dict[Stage, float], total: float, level: Level) -> Iterator[Finding]:
    """A warning, since steps may read disjoint parts, and what is stated may not be reached."""
    if total > getattr(level, name) * _SLACK:
        paying = {part.name: cost for part, cost in costs.items() if cost}
        spent = ", ".join(f"{part} {cost:.6g}" for part, cost in paying.items())
        rest = (
            "If the steps read disjoint parts, state it as a plan: corrdp account tells the total"
            if len(paying) > 1
            else "Lower it, or claim what it is"
        )
        yield Finding(
            "L-23",
            "warning",
            "steps",
            f"the {name}s add up to {total:.6g} ({spent}), claimed is {level}. {rest}",
        )


def _cost(part: Stage, mechanism: Description, gaussian: bool) -> float:
    """What a step costs in the unit of the claim, as stated or recomputed; 0 if it has another."""
    if gaussian:
        stated = (part.mu or 0.0) * math.sqrt(part.times)
    else:
        stated = (part.epsilon or 0.0) * part.times
    if part.noise is None or (part.noise.law == "gaussian") != gaussian:
        return stated
    return max(stated, noise_level(part, mechanism) or 0.0)
