"""A plan in other terms: at a delta, on dependent records, and in the notion of a claim.

Releases of every kind together by their exact profile; levels record by record, converted once;
pure releases imply a Gaussian level.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from corrdp.accounting.account import losses_of
from corrdp.accounting.atoms import RecordLosses
from corrdp.accounting.choices import Losses, worst_choice
from corrdp.accounting.plan import Claim, Plan
from corrdp.accounting.step import Step
from corrdp.accounting.totals import Total, certificate_of, curve_at
from corrdp.errors import CompositionError, GuaranteeError, InputError, NotApplicableError
from corrdp.guarantees import GDP, Approximate, Pure
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.totals import joint_leakage
from corrdp.metric.composition import compose
from corrdp.metric.domains import StreamDomain, TupleDomain
from corrdp.metric.finite import Change
from corrdp.metric.granularities import Bounded, Event, Granularity
from corrdp.metric.profiles import PrivacyProfile
from corrdp.metric.tradeoff import mu_of

if TYPE_CHECKING:
    from corrdp.bounds.leakage import Leakage
    from corrdp.calibration.robustness import Confidence
    from corrdp.models.base import Model


_KINDS = 200  # different rows of losses, none below another, each one composition


def total_at(unit: Granularity, steps: Sequence[Step], losses: Losses, delta: float) -> Total:
    """The least epsilon with which all releases together are (epsilon, delta)-DP, for a unit."""
    _refuse_choices(steps)
    rule = certificate_of("mixed", unit, steps, range(len(steps)))
    worst: tuple[float, Change | None, np.ndarray] = (0.0, None, np.zeros(len(steps)))
    profiles = []
    for change, row in _worst_rows(losses):
        profile = _joint(steps, row)
        profiles.append(profile)
        found = math.inf if profile is None else profile.epsilon(delta)
        if found > worst[0] or worst[1] is None:
            worst = found, change, row
    value, witness, row = worst
    parts = tuple((s.id, float(v)) for s, v in zip(steps, row, strict=True) if v > 0)
    apart = _joint(steps, losses.each)
    whole = math.inf if apart is None else apart.epsilon(delta)
    known = () if None in profiles else tuple(p for p in profiles if p is not None)
    return Total(
        unit,
        "approximate",
        value,
        witness,
        parts,
        whole,
        rule,
        at_delta=delta,
        profiles=known,
    )


def _refuse_choices(steps: Sequence[Step]) -> None:
    for k, step in enumerate(steps):
        if step.flags.map_depends_on_outputs:
            raise CompositionError(
                f"releases[{k}] ({step.id!r}): what is read is chosen from earlier outputs, which "
                "this account covers for pure releases without a delta only"
            )


def _worst_rows(losses: Losses) -> list[tuple[Change, np.ndarray]]:
    """Losses that are not below others in every release: the rest cannot cost more."""
    seen: dict[bytes, tuple[Change, np.ndarray]] = {}
    for change, row in losses.rows():
        if row.any():
            seen.setdefault((row + 0.0).tobytes(), (change, row.copy()))
    kept: list[tuple[Change, np.ndarray]] = []
    for change, row in sorted(seen.values(), key=lambda pair: -pair[1].sum()):
        if not any((row <= other).all() for _, other in kept):
            kept.append((change, row))
        if len(kept) > _KINDS:
            raise NotApplicableError(
                f"more than {_KINDS} kinds of neighbours with different losses: too many to "
                "compose; leave out delta"
            )
    return kept


def _joint(steps: Sequence[Step], row: np.ndarray) -> PrivacyProfile | None:
    """The profile of all releases between two neighbours; None where one promises nothing."""
    if np.isinf(row).any():
        return None
    pure, mu, pairs, others = [], [], [], []
    for step, loss in zip(steps, row.tolist(), strict=True):
        if loss == 0:
            continue
        promise = step.guarantee
        if step.notion == "pure":
            pure.append(loss)
        elif step.notion == "gaussian":
            mu.append(loss)
        elif isinstance(promise, Approximate) and loss == 1:
            pairs.append((promise.epsilon, promise.delta))
        else:
            others.append(curve_at(step, loss))
    total = math.hypot(*mu) * (1 + 2.0**-50) if mu else 0.0
    return compose(pure=pure, gaussian=total, approximate=pairs, others=others)


def per_record(plan: Plan) -> np.ndarray:
    """The largest loss about each record (time step of a stream), over all releases together."""
    for step in plan.steps:
        if step.notion != "pure":
            raise GuaranteeError(
                f"step {step.id!r} is {step.notion}: it has no epsilon to add up, and leaks at a "
                "delta only. Give one, leakage(model, delta=1e-6), --delta 1e-6"
            )
    if isinstance(plan.domain, TupleDomain):
        return _record_levels(plan.domain, plan.steps)
    return np.array([math.fsum(row) for row in _stream_rows(plan)])


def _stream_rows(plan: Plan) -> list[np.ndarray]:
    """The loss of each release, for each time step of a stream."""
    if isinstance(plan.domain, StreamDomain):
        return [row for _, row in losses_of(plan.domain, Event(), plan.steps).rows()]
    raise CompositionError(
        f"a {plan.domain.type} domain has no numbered records that a model could join; use a "
        "tuple or stream domain"
    )


def _record_levels(domain: TupleDomain, steps: Sequence[Step]) -> np.ndarray:
    every = [candidate for step in steps for candidate in step.candidates]
    losses = RecordLosses(domain, Bounded(), every)
    if len(every) == len(steps):
        return losses.per_record(range(len(steps)), gaussian=False)[0]
    firsts, kind = losses.groups(range(len(every)))
    worst = dict.fromkeys(firsts.tolist(), 0.0)
    for change, row in worst_choice(losses, [len(step.candidates) for step in steps]).rows():
        worst[change.where[0]] = max(worst[change.where[0]], math.fsum(row))
    return np.array(list(worst.values()))[kind]


def _levels(plan: Plan) -> tuple[int, list[ChargedLevel]]:
    """How many records there are, and what each release costs them at most, taken by itself."""
    _refuse_choices(plan.steps)
    if isinstance(plan.domain, TupleDomain):
        losses = RecordLosses(plan.domain, Bounded(), plan.steps)
        each = [losses.per_record([k], gaussian=False)[0] for k in range(len(plan.steps))]
    else:
        per_record(replace(plan, steps=()))  # it must have records
        each = list(
            np.array([row for _, row in losses_of(plan.domain, Event(), plan.steps).rows()]).T
        )
    read = [(step, loss) for step, loss in zip(plan.steps, each, strict=True) if loss.any()]
    return len(each[0]), [ChargedLevel.of(_promised(step, loss), len(loss)) for step, loss in read]


def _promised(step: Step, losses: np.ndarray) -> Pure | GDP | Approximate:
    """The guarantee of one release, record by record."""
    if not np.isfinite(losses).all():
        raise GuaranteeError(f"step {step.id!r} promises record {int(np.argmax(losses))} nothing")
    if step.notion == "pure":
        return Pure(losses)
    if step.notion == "gaussian":
        return GDP(losses)
    promise = step.guarantee
    if not isinstance(promise, Approximate) or not np.isin(losses, (0, 1)).all():
        raise GuaranteeError(
            f"step {step.id!r} is a trade-off curve: a leakage takes epsilon, mu, or a pair "
            "(epsilon, delta) about one changed record"
        )
    return Approximate(promise.epsilon * losses, promise.delta * losses)


def plan_leakage(
    plan: Plan,
    model: Model,
    confidence: Confidence = "default",
    accept: str | None = None,
    *,
    delta: float | None = None,
    unit: int | str | Sequence[int] | None = None,
) -> Leakage:
    """What a plan leaks on a model; see :meth:`corrdp.Composition.leakage`."""
    from corrdp.calibration.robustness import promise_on

    vector = per_record(plan) if delta is None else np.zeros(0)
    count, levels = (len(vector), []) if delta is None or not plan.steps else _levels(plan)
    if not np.isfinite(vector).all():
        raise GuaranteeError(f"record {int(np.argmax(vector))} has no finite epsilon")
    if not levels and not vector.any():
        raise InputError("the plan reads nothing: every record has epsilon 0")
    length = getattr(model, "length", None)
    if length not in (None, count):
        raise InputError(
            f"epsilon has {count} entries, one for each {_record(plan)} of the plan, and the "
            f"model has {length} records{_other_length(plan, model)}"
        )
    kept = promise_on(model, confidence, accept, delta=delta, unit=unit)
    if delta is None:
        alike = unit is not None and not np.ptp(vector)  # windows say more of one level for all
        found = kept.leakage(Pure(vector[0] if alike else vector), unit=unit)
    else:
        found = joint_leakage(levels, kept, delta=delta, unit=unit)
    users = getattr(plan.domain, "users", 1)
    if users == 1:
        return found
    apart = f"each of the {users} users is a series of the model, independent of the others"
    proof = found.certificate
    return replace(found, certificate=replace(proof, assumptions=(*proof.assumptions, apart)))


def _record(plan: Plan) -> str:
    return "step" if isinstance(plan.domain, StreamDomain) else "record"


def _other_length(plan: Plan, model: Model) -> str:
    if not hasattr(model, "with_length"):
        return "; fit the model to as many records as the plan has"
    return (
        f". If the plan's {_record(plan)}s are the whole series, whose length is public, use the "
        "chain at that length: --plan-length (model.with_length)"
    )


_ROWS = 4096  # kinds of neighbours that are looked at together


def level_at(plan: Plan, claim: Claim) -> float:
    """The level of a plan in the unit of a claim; inf where it has none.

    Parameters
    ----------
    plan : Plan
        With the unit of the claim as its only one.
    claim : Claim

    Examples
    --------
    >>> from corrdp.accounting.step import Step
    >>> from corrdp.metric.domains import MultisetDomain
    >>> plan = Plan(MultisetDomain(("a", "b")), [Step("x", .5)], ["bounded"])
    >>> round(level_at(plan, Claim("bounded", 1.0, "gaussian")), 6)
    0.623893
    """
    from corrdp.accounting.account import account

    totals = account(plan).totals
    others = [t for t in totals if t.notion != claim.notion and t.value > 0]
    if not others:
        return max((t.value for t in totals if t.notion == claim.notion), default=0.0)
    # Gaussian noise and curves have no pure epsilon
    return implied_mu(plan, totals) if claim.notion == "gaussian" else math.inf


def implied_mu(plan: Plan, totals: Sequence[Total]) -> float:
    r"""The mu of pure and Gaussian releases together; inf where no theorem gives one.

    .. math:: \mu^2 = \max_{D \sim D'} \sum_i m_i^2 + \sum_j \mu(e_j)^2

    where m_i and e_j are the losses of the Gaussian and of the pure releases between D and D', and
    mu(e) is that of :func:`mu_of`.

    Parameters
    ----------
    plan : Plan
        With one unit.
    totals : sequence of Total
        Those of the plan at its unit.
    """
    from corrdp.accounting.account import losses_of

    notions = np.array([step.notion for step in plan.steps])
    if "tradeoff" in notions:
        return math.inf
    if any(step.flags.map_depends_on_outputs for step in plan.steps):
        # that losses add up along paths of outputs is proved for pure releases alone
        return math.inf if "gaussian" in notions else float(mu_of(totals[0].value))
    pure, worst = notions == "pure", 0.0
    every = losses_of(plan.domain, plan.units[0], plan.steps).rows()
    while some := [row for _, row in itertools.islice(every, _ROWS)]:
        rows = np.array(some)
        rows[:, pure] = mu_of(rows[:, pure])
        worst = max(worst, float((rows**2).sum(axis=1).max()))
    return math.sqrt(worst)
