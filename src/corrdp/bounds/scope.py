"""What a leakage is asked for (guarantee, query or mechanism, how sure), what a bound returns.

Bounds round up (releases#rounding).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_number, old_attribute, renamed
from corrdp.bounds.units import Unit, read_unit
from corrdp.errors import GuaranteeError, InputError, NotApplicableError
from corrdp.guarantees import GDP, L1, ZCDP, Approximate, Guarantee, Pure, as_guarantee
from corrdp.mechanisms.base import FiniteMechanism, Mechanism
from corrdp.mechanisms.response import CorrelatedResponse
from corrdp.mechanisms.withholding import WithholdingResponse
from corrdp.models.base import Model, RealModel
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.region import Region
from corrdp.models.reads import resolved
from corrdp.queries import Quantile, Query, Several, Sum
from corrdp.results import Certificate, Kind, Metric, Witness

# Relative slack added to recursions of a few hundred floating-point steps, so that an upper
# bound is never below its own exact value.
ROUNDING = 1e-12
# What is called exact agrees with an attained value to this relative accuracy; with more slack it
# is called an upper bound.
VISIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class Bound:
    """A value with its proof; ``per_record`` is None where the model has no fixed length.

    ``metric`` is set where the records are real numbers. With a ``delta``, outputs of at most this
    probability may tell more; ``again`` gives the value for another delta.
    """

    value: float
    kind: Kind
    certificate: Certificate
    per_record: np.ndarray | None = None
    witness: Witness | None = None
    metric: Metric | None = None
    delta: float = 0.0
    again: Callable[[float], float] | None = None


def up(value: float, relative: float = 0.0) -> float:
    """Round up: by ``relative``, and at least to the next float."""
    return math.nextafter(value * (1.0 + relative), math.inf)


_MOST = 1e6  # a larger epsilon would leave the range where rounding is harmless
EVERY_MECHANISM = "every mechanism with this guarantee"
EACH_RECORD = "every mechanism with these epsilons, one per record (the largest is shown)"
EACH_LEVEL = "every mechanism with these levels, one per record (the largest is shown)"
FOR_ALL = (EVERY_MECHANISM, EACH_RECORD, EACH_LEVEL)


def l1_text(guarantee: L1) -> str:
    """What bounds by distance hold for."""
    rate = float(np.max(guarantee.rate))
    level = "" if guarantee.epsilon is None else " with this epsilon"
    return (
        f"every mechanism{level} that is l1-private at rate {rate:.6g} per unit of a record, such "
        "as Laplace noise on sums clipped to a width of epsilon / rate"
    )


@dataclass(frozen=True)
class Adversary:
    """One adversary: the record attacked, and the records whose values are known.

    Parameters
    ----------
    record : int
        Number of the record attacked, from 0.
    known : mapping of int to state
        Records known, with their values.
    heard : mapping of int to (mapping of state to weight)
        Of a record that is not known: how likely what the adversary heard about it is for each of
        its values, up to a factor (0 for those not named). The law of the records is the model's,
        given this. Yang, Sato and Nakagawa, "Bayesian differential privacy on correlated data"
        (2015), call it uncertain prior knowledge. Trees only.

    Examples
    --------
    >>> print(Adversary(0, {2: "ill"}))
    the adversary who attacks record 0 and knows record 2 is 'ill'
    >>> print(Adversary(0, heard={1: {"ill": 3, "well": 1}}))
    the adversary who attacks record 0, knows no other and heard of record 1: 'ill' 3, 'well' 1
    """

    record: int
    known: Mapping[int, Any] = field(default_factory=dict)
    heard: Mapping[int, Mapping[Any, float]] = field(default_factory=dict)
    target = old_attribute("target", "record")

    def __str__(self) -> str:
        facts = ", ".join(f"record {record} is {value!r}" for record, value in self.known.items())
        who, known = f"the adversary who attacks record {self.record}", facts or "no other"
        if not self.heard:
            return f"{who} and knows {known}"
        told = "; ".join(
            f"record {record}: " + ", ".join(f"{s!r} {weight:g}" for s, weight in weights.items())
            for record, weights in self.heard.items()
        )
        return f"{who}, knows {known} and heard of {told}"


# the dataclass writes the method, so there is none to decorate
Adversary.__init__ = renamed(target="record")(Adversary.__init__)  # type: ignore[method-assign]


@dataclass
class Reach:
    """The distance at which a search over distances begins; it leaves here where it ended."""

    distance: int = 32


@dataclass(frozen=True, eq=False)
class Scope:
    """What a leakage is asked for: a guarantee, and where given the query or mechanism.

    With a confidence, it must hold for every law that the data of a fit still allow; the region
    is that of a fitted chain.
    """

    text: str
    guarantee: Guarantee
    query: Query | None = None
    local: FiniteMechanism | None = None
    confidence: float | None = None
    region: Region | None = None
    adversary: Adversary | Literal["none"] | None = None
    spent: float = 0.0  # by a private fit of the same records, beside a local mechanism
    reach: Reach = field(default_factory=Reach)
    delta: float | None = None  # what may be left to chance
    unit: Unit | None = None  # None for one record
    noise: Mechanism | None = None  # Gaussian on the query, or correlated on the series
    own: Guarantee | None = None  # of changing the unit as a whole, where that is known

    @property
    def is_paired(self) -> bool:
        """Whether the guarantee has a delta, or the unit more than one record."""
        return self.unit is not None or not isinstance(self.guarantee, Pure | L1)

    @property
    def is_wide(self) -> bool:
        """Whether the result must hold for every mechanism."""
        return self.query is None and self.local is None and self.noise is None

    @property
    def dp(self) -> Pure:
        """The plain DP level."""
        if isinstance(self.guarantee, Pure):
            return self.guarantee
        if not isinstance(self.guarantee, L1):
            raise NotApplicableError("this is for pure guarantees, Pure(epsilon)")
        if self.guarantee.epsilon is None:
            raise NotApplicableError(
                "an l1 rate alone is no DP level; give one, L1(rate, epsilon=...), or a query "
                "that clips"
            )
        return Pure(self.guarantee.epsilon)


def scope_of(
    model: Model,
    epsilon: Guarantee | float | Sequence[float] | np.ndarray | None,
    query: Query | None,
    mechanism: Mechanism | None,
    confidence: float | None,
    adversary: Adversary | Literal["all", "none"] = "all",
    delta: float | None = None,
    unit: Any = None,
    own: Guarantee | None = None,
    *,
    fit_counts: bool = False,
) -> Scope:
    """Read the arguments of :func:`corrdp.leakage`.

    With ``fit_counts`` the guarantee holds for a private fit of the model too.
    """
    scope = _asked(model, epsilon, query, mechanism)
    scope = scope if fit_counts else _with_fit(model, scope)
    scope = _with_unit(model, scope, delta, unit, own)
    if not (isinstance(adversary, str) and adversary == "all"):
        if scope.is_paired:
            raise InputError("with a delta or a unit the leakage is for every adversary: leave it")
        scope = replace(scope, adversary=_check_adversary(model, adversary))
    if confidence is None:
        return scope
    level = check_confidence(confidence)
    return replace(scope, confidence=level, region=_region(model, level))


def _with_unit(model: Model, scope: Scope, delta: Any, unit: Any, own: Any) -> Scope:
    if delta is not None:
        scope = replace(scope, delta=check_number("delta", delta, least=0, below=1))
    protected = read_unit(model, unit)
    if own is not None:
        scope = replace(scope, own=stated(as_guarantee(own)))
    if protected is not None:
        if scope.local is not None:
            raise InputError("a local mechanism is priced for single records; leave unit out")
        scope = replace(scope, unit=protected)
    if scope.is_paired and isinstance(scope.guarantee, L1):
        scope = replace(scope, guarantee=scope.dp)
    return scope


def check_confidence(confidence: Any) -> float:
    """A level strictly between 0 and 1, such as .95."""
    return check_number("confidence", confidence, above=0, below=1)


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
            level = stated(mechanism.guarantee)
            text = f"{type(mechanism).__name__} noise on the {own}"
            scope = _query_scope(model, level, own, text)
            return scope if isinstance(level, Pure) else replace(scope, noise=mechanism)
        if isinstance(mechanism, FiniteMechanism):
            return _local_scope(model, mechanism)
        if isinstance(mechanism, CorrelatedResponse | WithholdingResponse):
            _check_inputs(model, 2)
            level = Pure(mechanism.guarantee.largest)
            return Scope(f"{mechanism} on the whole series", level, noise=mechanism)
        raise InputError(
            f"cannot use {mechanism!r}: expected Laplace, DiscreteLaplace, BinaryResponse, "
            "CorrelatedResponse, WithholdingResponse or GRR"
        )
    if epsilon is None:
        raise InputError("give epsilon (a number, one per record, or a guarantee) or mechanism=")
    if isinstance(model, RealModel):
        return _real_scope(model, epsilon, query)
    level = stated(as_guarantee(epsilon))
    if query is None:
        return _wide_scope(level)
    return _query_scope(model, level, query, f"Laplace noise on the {query}")


def _wide_scope(level: Guarantee) -> Scope:
    each = EACH_RECORD if isinstance(level, Pure) else EACH_LEVEL
    return Scope(each if getattr(level, "is_vector", False) else EVERY_MECHANISM, level)


def _local_scope(model: Model, mechanism: FiniteMechanism) -> Scope:
    _check_inputs(model, len(mechanism.channel()))
    return Scope(f"{mechanism} on each record", pure(mechanism.guarantee), local=mechanism)


def _check_inputs(model: Model, inputs: int) -> None:
    states = model.states
    if isinstance(model, RealModel):
        raise InputError("the mechanism takes finitely many values and the records are real")
    if states is not None and inputs != len(states):
        raise InputError(
            f"the mechanism takes {inputs} values and the model has {len(states)} states"
        )


def _real_scope(model: RealModel, epsilon: Any, query: Query | None) -> Scope:
    """On real records a bare epsilon is that of an l1-private mechanism over its width."""
    guarantee = as_guarantee(epsilon)
    if not isinstance(guarantee, L1):
        guarantee = stated(guarantee)
        if not isinstance(guarantee, Pure):
            if query is None:
                return _wide_scope(guarantee)
            query = resolved(model, query)
            found = _wide_scope(_read_by(model, query, guarantee))
            if not isinstance(query, Sum):
                return replace(found, query=query)
            text = f"Gaussian noise on the {query}, and every mechanism as private by distance"
            return replace(found, query=query, text=text)
    if query is not None:
        query = resolved(model, query)
        if isinstance(guarantee, L1) and not guarantee.is_vector and isinstance(query, Sum):
            guarantee = Pure(guarantee.rate * query.width)
        level = pure(guarantee)
        if level.is_vector:
            raise InputError("with a query, epsilon is the query's DP level: give one number")
        spread = spread_over(model, query, level.largest)
        return Scope(l1_text(spread) if isinstance(spread, L1) else EVERY_MECHANISM, spread, query)
    if isinstance(guarantee, L1):
        return Scope(l1_text(guarantee), guarantee)
    level = pure(guarantee)
    if isinstance(epsilon, Pure) or model.secret_range is None:
        return Scope(EACH_RECORD if level.is_vector else EVERY_MECHANISM, level)
    low, high = model.secret_range
    rated = L1(level.epsilon / (high - low), level.epsilon)
    return Scope(l1_text(rated), rated)


def _check_adversary(
    model: Model, adversary: Adversary | Literal["none"]
) -> Adversary | Literal["none"]:
    if isinstance(adversary, str):
        if adversary != "none":
            raise InputError(f'adversary must be "all", "none" or an Adversary, got {adversary!r}')
        if model.kind not in ("markov", "window", "joint"):
            raise InputError('adversary="none" is for Markov chains with one kernel; leave it out')
        return adversary
    if not isinstance(adversary, Adversary):
        raise InputError(f'adversary must be "all", "none" or an Adversary, got {adversary!r}')
    if model.kind not in ("tree", "joint"):
        raise InputError(
            "one adversary can be singled out on a MarkovTree or a JointChain only; leave it out"
        )
    if not isinstance(adversary.known, Mapping):
        raise InputError("known must map records to values, such as {5: 1}")
    for record, value in adversary.known.items():
        if model.states is not None and value not in model.states:
            raise InputError(f"record {record} is known to be {value!r}, which is not a state")
    if adversary.heard and model.kind != "tree":
        raise InputError("hearsay is worked out on a MarkovTree only; leave heard out")
    _check_heard(model, adversary)
    n = (model.cells if isinstance(model, JointChain) else model.length) or 0
    for record in (adversary.record, *adversary.known, *adversary.heard):
        if not 0 <= record < n:
            raise InputError(f"record {record} does not exist: the model has records 0 to {n - 1}")
    if adversary.record in adversary.known:
        raise InputError(f"record {adversary.record} is both attacked and known")
    return adversary


def _check_heard(model: Model, adversary: Adversary) -> None:
    form = "heard must map records to weights by state, such as {5: {0: 3, 1: 1}}"
    if not isinstance(adversary.heard, Mapping):
        raise InputError(form)
    for record, weights in adversary.heard.items():
        if record in adversary.known:
            raise InputError(f"record {record} is both known and heard of")
        if not isinstance(weights, Mapping):
            raise InputError(form)
        for state, weight in weights.items():
            if model.states is not None and state not in model.states:
                raise InputError(f"record {record} has a weight for {state!r}, which is no state")
            check_number(f"the weight of {state!r} of record {record}", weight, least=0)


def _with_fit(model: Model, scope: Scope) -> Scope:
    """The scope with the epsilon of a private fit of the same records added."""
    spent = model.private_epsilon
    if spent is None:
        return scope
    if scope.is_paired:
        return replace(_wide_scope(_beside(scope.guarantee, spent)), delta=scope.delta)
    total = Pure(scope.dp.epsilon + spent)
    if scope.local is not None:
        return replace(scope, guarantee=total, spent=spent)
    # two releases of the same records: no longer one query alone
    return Scope(EVERY_MECHANISM, total)


def _region(model: Model, confidence: float) -> Region | None:
    if isinstance(model, Chain):
        return model.region(confidence)
    if model.fitted is None or model.kind not in ("gaussian", "field"):
        raise InputError(
            "confidence needs a model that was fitted to data and has a region: "
            "MarkovChain.fit(...), GaussianRecords.fit(...) or MarkovField.fit(...)"
        )
    return None


def _beside(guarantee: Guarantee, spent: float) -> Guarantee:
    """The guarantee together with a private fit of the same records."""
    if isinstance(guarantee, Approximate):
        return Approximate(guarantee.epsilon + spent, guarantee.delta)
    if getattr(guarantee, "is_vector", False):
        raise InputError(
            "the model was fitted privately to these records, which adds to one level for all of "
            "them, not to one per record; give one level"
        )
    from corrdp.metric.composition import compose

    if isinstance(guarantee, GDP):
        return compose(pure=[spent], gaussian=guarantee.mu).guarantee
    return compose(pure=[spent], others=[guarantee]).guarantee


def _query_scope(model: Model, level: Guarantee, query: Query, text: str) -> Scope:
    if isinstance(model, RealModel):
        return _real_scope(model, level.epsilon if isinstance(level, Pure) else level, query)
    query = resolved(model, query)
    if query.is_table or isinstance(query, Several | Quantile):
        raise InputError(
            "tables, quantiles and several queries are priced by bounds for every mechanism "
            "(releases#tables): leave the query out, leakage(model, epsilon)"
        )
    if not isinstance(level, Pure):
        return replace(_wide_scope(_read_by(model, query, level)), query=query)
    if level.is_vector:
        raise InputError("with a query, epsilon is the query's DP level: give one number")
    return Scope(text, spread_over(model, query, level.largest), query)


def _read_by(model: Model, query: Query, level: Guarantee) -> Guarantee:
    """The guarantee of one query: its level for the records that it reads, 0 for the others."""
    pattern = None if model.length is None else model.reads(query)
    if pattern is None:
        return level
    if getattr(level, "is_vector", False):
        raise InputError("with a query, the guarantee is the query's: give one level")
    if isinstance(level, Approximate):
        return Approximate(level.epsilon * pattern, level.delta * pattern)
    if isinstance(level, GDP):
        return GDP(level.mu * pattern)
    return ZCDP(level.rho * pattern) if isinstance(level, ZCDP) else level


def spread_over(model: Model, query: Query, epsilon: float) -> Pure | L1:
    """The guarantee of one query: epsilon for the records that it reads, 0 for the others.

    On real records a clipped sum or mean is l1-private as well, at epsilon over its width.
    """
    pattern = None if model.length is None else model.reads(query)
    if pattern is None and getattr(query, "records", None) is not None:
        raise InputError("records= needs a model with a length")
    level = Pure(epsilon if pattern is None else epsilon * pattern)
    if isinstance(model, RealModel) and isinstance(query, Sum):
        return L1(level.epsilon / query.width, level.epsilon)
    return level


def stated(guarantee: Guarantee) -> Guarantee:
    """The guarantee, as pure DP where its delta is 0; refused where no theorem covers it.

    Examples
    --------
    >>> stated(Approximate(1.0, 0.0))
    Pure(epsilon=1.0)
    """
    if isinstance(guarantee, Approximate) and guarantee.largest_delta == 0:
        guarantee = Pure(guarantee.epsilon)
    if isinstance(guarantee, Pure | Approximate) and not guarantee.largest <= _MOST:
        raise GuaranteeError(
            f"epsilon = {guarantee.largest:g} promises nothing; it must be at most {_MOST:g}"
        )
    if isinstance(guarantee, Approximate) and guarantee.largest_delta >= 1:
        raise GuaranteeError("delta = 1 promises nothing; it must be less")
    if isinstance(guarantee, L1):
        raise GuaranteeError(
            "an l1 rate needs real-valued records with a secret range; these models have finite "
            "states, so give the DP level instead, Pure(rate * width)"
        )
    return guarantee


def pure(guarantee: Guarantee) -> Pure:
    """The guarantee as pure DP, or an error where it has a delta.

    Examples
    --------
    >>> pure(Approximate(1.0, 0.0))
    Pure(epsilon=1.0)
    """
    level = stated(guarantee)
    if not isinstance(level, Pure):
        raise GuaranteeError(
            f"{type(level).__name__} has a delta, and this needs a pure guarantee, Pure(epsilon)"
        )
    return level
