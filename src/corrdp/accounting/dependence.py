"""A plan on dependent records: one epsilon per record, converted once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from corrdp.accounting.account import losses_of
from corrdp.accounting.atoms import RecordLosses
from corrdp.accounting.choices import worst_choice
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.errors import CompositionError, GuaranteeError, InputError
from corrdp.guarantees import Pure
from corrdp.metric.domains import StreamDomain, TupleDomain
from corrdp.metric.granularities import Bounded, Event

if TYPE_CHECKING:
    from corrdp.calibration.adequate import Confidence
    from corrdp.models.base import Model
    from corrdp.results import Leakage


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
    from corrdp.calibration.promise import promise_on

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
