"""What a leakage is asked for: which guarantee, which query or mechanism, how sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from corrdp.answering import check_reads
from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import GDP, L1, Approximate, Guarantee, Pure, Tradeoff, as_guarantee
from corrdp.mechanisms.base import FiniteMechanism, Mechanism
from corrdp.models.base import Model
from corrdp.models.chain import Chain
from corrdp.models.region import Region
from corrdp.queries import Query, resolve

EVERY_MECHANISM = "every mechanism with this guarantee"
EACH_RECORD = "every mechanism with these epsilons, one per record (the largest is shown)"


@dataclass(frozen=True, eq=False)
class Scope:
    """What a leakage is asked for: a guarantee, and where given the query or mechanism.

    With a region, it must hold for every kernel inside.
    """

    text: str
    guarantee: Pure
    query: Query | None = None
    local: FiniteMechanism | None = None
    region: Region | None = None

    @property
    def is_wide(self) -> bool:
        """Whether the result must hold for every mechanism."""
        return self.query is None and self.local is None


def scope_of(
    model: Model,
    epsilon: Guarantee | float | Sequence[float] | np.ndarray | None,
    query: Query | None,
    mechanism: Mechanism | None,
    confidence: float | None,
) -> Scope:
    """Read the arguments of :func:`corrdp.leakage`."""
    scope = _with_fit(model, _asked(model, epsilon, query, mechanism))
    return scope if confidence is None else replace(scope, region=_region(model, confidence))


def _asked(
    model: Model,
    epsilon: Guarantee | float | Sequence[float] | np.ndarray | None,
    query: Query | None,
    mechanism: Mechanism | None,
) -> Scope:
    if mechanism is not None:
        if epsilon is not None or query is not None:
            raise InputError("a mechanism brings its own epsilon and query; give it alone")
        own = getattr(mechanism, "query", None)
        if isinstance(own, Query):
            level = pure(mechanism.guarantee)
            return _query_scope(model, level, own, f"{type(mechanism).__name__} noise on the {own}")
        if isinstance(mechanism, FiniteMechanism):
            inputs, states = len(mechanism.channel()), model.states
            if states is not None and inputs != len(states):
                raise InputError(
                    f"the mechanism takes {inputs} values and the model has {len(states)} states"
                )
            return Scope(f"{mechanism} on each record", pure(mechanism.guarantee), local=mechanism)
        raise InputError(
            f"cannot use {mechanism!r}: expected Laplace, DiscreteLaplace, BinaryResponse or GRR"
        )
    if epsilon is None:
        raise InputError("give epsilon (a number, one per record, or a guarantee) or mechanism=")
    level = pure(as_guarantee(epsilon))
    if query is None:
        return Scope(EACH_RECORD if level.is_vector else EVERY_MECHANISM, level)
    return _query_scope(model, level, query, f"Laplace noise on the {query}")


def _with_fit(model: Model, scope: Scope) -> Scope:
    """The scope with the epsilon of a private fit of the same records added."""
    fitted = model.fitted if isinstance(model, Chain) else None
    if fitted is None or fitted.private_epsilon is None:
        return scope
    # two releases of the same records: no longer one query or one mechanism alone
    total = Pure(scope.guarantee.epsilon + fitted.private_epsilon)
    return Scope(EVERY_MECHANISM, total)


def _region(model: Model, confidence: float) -> Region:
    if not isinstance(model, Chain):
        raise InputError("confidence needs a chain that was fitted to data: MarkovChain.fit(...)")
    return model.region(confidence)


def _query_scope(model: Model, level: Pure, query: Query, text: str) -> Scope:
    query = resolve(query, model.records)
    check_reads(model, query)
    if level.is_vector:
        raise InputError("with a query, epsilon is the query's DP level: give one number")
    return Scope(text, spread_over(model, query, level.largest), query)


def spread_over(model: Model, query: Query, epsilon: float) -> Pure:
    """The guarantee of one query: epsilon for the records that it reads, 0 for the others."""
    if getattr(query, "records", None) is None:
        return Pure(epsilon)
    if model.length is None:
        raise InputError("records= needs a model with a length")
    pattern = query.pattern(model.length)
    assert pattern is not None
    return Pure(epsilon * pattern)


def pure(guarantee: Guarantee) -> Pure:
    """The guarantee as pure DP, or the reason why no theorem turns it into a leakage.

    Examples
    --------
    >>> pure(Approximate(1.0, 0.0))
    Pure(epsilon=1.0)
    """
    if isinstance(guarantee, Approximate) and guarantee.delta == 0:
        guarantee = Pure(guarantee.epsilon)
    if isinstance(guarantee, Pure):
        if not math.isfinite(guarantee.largest):
            raise GuaranteeError("an infinite epsilon promises nothing")
        return guarantee
    reasons = {
        GDP: "Gaussian noise has unbounded likelihood ratios, and no theorem turns mu into a "
        "leakage on dependent records; use Laplace noise, Pure(epsilon)",
        Approximate: "with delta > 0 rare outputs may reveal anything, and dependence multiplies "
        "them in a way no theorem bounds yet; use a mechanism with delta = 0, Pure(epsilon)",
        L1: "an l1 rate needs real-valued records with a secret range; these models have finite "
        "states, so give the DP level instead, Pure(rate * width)",
        Tradeoff: "no theorem turns a trade-off curve into a leakage on dependent records; "
        "use Pure(epsilon)",
    }
    raise GuaranteeError(reasons[type(guarantee)])
