"""A plan on dependent records, and its level in the unit of a claim.

One epsilon per record, converted once; pure releases imply a Gaussian level.
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
from corrdp.accounting.choices import worst_choice
from corrdp.accounting.plan import Claim, Plan
from corrdp.accounting.step import Step
from corrdp.accounting.totals import Total
from corrdp.errors import CompositionError, GuaranteeError, InputError
from corrdp.guarantees import Pure
from corrdp.metric.domains import StreamDomain, TupleDomain
from corrdp.metric.granularities import Bounded, Event
from corrdp.metric.tradeoff import mu_of

if TYPE_CHECKING:
    from corrdp.bounds.leakage import Leakage
    from corrdp.calibration.adequate import Confidence
    from corrdp.models.base import Model


def per_record(plan: Plan) -> np.ndarray:
    """The largest loss about each record (time step of a stream), over all releases together."""
    for step in plan.steps:
        if step.notion != "pure":
            raise GuaranteeError(
                f"step {step.id!r} is {step.notion}: no theorem turns its total into a leakage "
                "on dependent records; use Laplace noise (notion pure)"
            )
    if isinstance(plan.domain, TupleDomain):
        return _record_levels(plan.domain, plan.steps)
    if isinstance(plan.domain, StreamDomain):
        listed = losses_of(plan.domain, Event(), plan.steps)
        return np.array([math.fsum(row) for _, row in listed.rows()])
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


def plan_leakage(
    plan: Plan, model: Model, confidence: Confidence = "default", accept: str | None = None
) -> Leakage:
    """What a plan leaks on a model; see :meth:`corrdp.Composition.leakage`."""
    from corrdp.calibration.adequate import promise_on

    vector = per_record(plan)
    if not np.isfinite(vector).all():
        raise GuaranteeError(f"record {int(np.argmax(vector))} has no finite epsilon")
    if not vector.any():
        raise InputError("the plan reads nothing: every record has epsilon 0")
    length = getattr(model, "length", None)
    if length not in (None, len(vector)):
        raise InputError(
            f"epsilon has {len(vector)} entries, one for each {_record(plan)} of the plan, and the "
            f"model has {length} records{_other_length(plan, model)}"
        )
    found = promise_on(model, confidence, accept).leakage(Pure(vector))
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
