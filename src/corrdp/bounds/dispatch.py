"""leakage: what a guarantee really means on a model. Tries every bound and keeps the smallest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corrdp.bounds.base import Bound
from corrdp.bounds.scopes import EACH_RECORD, EVERY_MECHANISM, Scope, scope_of
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Guarantee
from corrdp.mechanisms.base import Mechanism
from corrdp.models.base import Model
from corrdp.models.groups import Groups
from corrdp.models.independent import Independent
from corrdp.models.markov import MarkovChain
from corrdp.models.table import JointTable
from corrdp.models.window import WindowChain
from corrdp.queries import Query
from corrdp.results import Candidate, Certificate, Leakage

METHODS = ("general", "lange", "zhao", "ratio", "blocks", "contraction", "transfer", "exact")
_WHOLE_DOMAIN = (
    "the mechanism keeps its epsilon for one changed record on every combination of values, "
    "impossible ones included"
)


Method = Callable[[Any, Scope], Bound]


def _general(model: Model, scope: Scope) -> Bound:
    from corrdp.bounds.general import general

    return general(model, scope.guarantee)


def _no_region(scope: Scope, name: str) -> None:
    if scope.region is not None:
        raise NotApplicableError(f"{name} is for one kernel, not for a confidence region")


def _additive(name: str) -> Method:
    def method(model: MarkovChain, scope: Scope) -> Bound:
        from corrdp.bounds import ratios

        _no_region(scope, name)
        return getattr(ratios, name)(model, scope.guarantee)

    return method


def _ratio(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.ratios import ratio
    from corrdp.bounds.uncertain import uncertain_ratio

    if scope.region is not None:
        return uncertain_ratio(model, scope.guarantee, scope.region)
    return ratio(model, scope.guarantee)


def _contraction(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.contraction import contraction
    from corrdp.bounds.uncertain import uncertain_contraction

    if scope.region is not None:
        return uncertain_contraction(model, scope.guarantee, scope.region)
    return contraction(model, scope.guarantee)


def _blocks(model: WindowChain, scope: Scope) -> Bound:
    from corrdp.bounds.uncertain import uncertain_blocks
    from corrdp.bounds.windows import blocks

    if scope.region is not None:
        return uncertain_blocks(model, scope.guarantee, scope.region)
    return blocks(model, scope.guarantee)


def _windows(model: WindowChain, scope: Scope) -> Bound:
    from corrdp.bounds.windows import window_contraction

    _no_region(scope, "contraction on windows")
    return window_contraction(model, scope.guarantee)


def _exact_windows(model: WindowChain, scope: Scope) -> Bound:
    from corrdp.bounds.exact import window_table

    _no_region(scope, "exact")
    return _exact_table(window_table(model), scope)


def _transfer(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.transfer import step_matrices, transfer
    from corrdp.mechanisms.base import steps

    _no_region(scope, "transfer")
    if scope.local is not None:
        return transfer(model, steps(scope.local.channel())[None])
    guarantee = scope.guarantee
    if guarantee.is_vector:
        if model.length is None:
            raise InputError("one epsilon per record needs a chain with a length")
        return transfer(model, step_matrices(model, guarantee.vector(model.length)))
    return transfer(model, step_matrices(model, guarantee.epsilon))


def _exact_chain(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.counting import exact_sum
    from corrdp.bounds.exact import is_short, table_of

    _no_region(scope, "exact")
    if scope.query is not None:
        scores = scope.query.scores(model.states)
        if scores is not None and not scope.guarantee.is_vector and model.homogeneous:
            try:
                return exact_sum(
                    model, scores, scope.guarantee.largest, _spread(scope.query, scores)
                )
            except NotApplicableError as error:
                reason = error
        else:
            reason = NotApplicableError(
                "exact on long chains needs one kernel and a count or sum over all records; "
                "use transfer"
            )
        if not is_short(model):
            raise reason
        return _exact_table(table_of(model), scope)
    if int(model.occurring.sum()) == 2:
        # every output of randomized response is one orientation of the transfer bound
        bound = _transfer(model, scope)
        if bound.kind != "exact":
            raise NotApplicableError("the chain mixes too slowly for an exact value; use transfer")
        return bound
    return _exact_table(table_of(model), scope)


def _spread(query: Query, scores: np.ndarray) -> float:
    """Sensitivity in the units of the scores (a mean is a sum up to a public factor)."""
    return float(np.ptp(scores)) if query.kind == "count" else query.upper - query.lower  # type: ignore[attr-defined]


def _exact_table(model: JointTable, scope: Scope) -> Bound:
    from corrdp.bounds.exact import exact_every_mechanism, exact_local, exact_query

    if scope.query is not None:
        return exact_query(model, scope.query, scope.guarantee.largest)
    if scope.local is not None:
        return exact_local(model, scope.local.channel())
    assert model.length is not None
    return exact_every_mechanism(model, scope.guarantee.vector(model.length))


_APPLICABLE: dict[type, dict[str, Method]] = {
    Independent: {"general": _general},
    Groups: {"general": _general},
    JointTable: {"general": _general, "exact": _exact_table},
    MarkovChain: {
        "general": _general,
        "lange": _additive("lange"),
        "zhao": _additive("zhao"),
        "ratio": _ratio,
        "contraction": _contraction,
        "transfer": _transfer,
        "exact": _exact_chain,
    },
    WindowChain: {
        "general": _general,
        "blocks": _blocks,
        "contraction": _windows,
        "exact": _exact_windows,
    },
}


def leakage(
    model: Model,
    epsilon: Guarantee | float | Sequence[float] | np.ndarray | None = None,
    *,
    query: Query | None = None,
    mechanism: Mechanism | None = None,
    method: str = "best",
    confidence: float | None = None,
) -> Leakage:
    """What a privacy parameter really means on dependent records.

    ``leakage = sup ln Pr[Y in S | x_K, X_i = a] / Pr[Y in S | x_K, X_i = b]``

    where

    * Y is the output of the mechanism and S any set of outputs,
    * i is any target record, K any set of other records that the adversary knows, x_K their values,
    * a, b are any two values of the target that are possible given x_K.

    Parameters
    ----------
    model : Model
        How the records depend on each other.
    epsilon : float, sequence of float, or guarantee
        DP level before correlation; one number, or one per record. Left out with ``mechanism``.
    query : Query, optional
        Narrow the scope to this query with Laplace noise, which may leak less.
    mechanism : Mechanism, optional
        Narrow the scope to this mechanism.
    method : str
        "best" for the smallest applicable bound, or one of general, lange, zhao, ratio, blocks,
        contraction, transfer, exact.
    confidence : float, optional
        For fitted chains: a joint level such as .95. The value then holds for every kernel in the
        confidence region of the counts, not only for the estimate.

    Returns
    -------
    Leakage

    Raises
    ------
    GuaranteeError
        For Gaussian or approximate guarantees: no theorem covers them on dependent records.
    NotApplicableError
        When the named method does not apply; the message says what would.

    References
    ----------
    Bayesian differential privacy is the notion of Yang, Sato and Nakagawa (2015). The bounds are
    listed in docs/theorems.md.

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=20)
    >>> leak = cdp.leakage(chain, 1.0)
    >>> round(leak.value, 6), leak.kind, leak.certificate.name
    (4.322353, 'exact', 'transfer')
    """
    if type(model) not in _APPLICABLE:
        raise InputError(f"model must be a dependence model such as MarkovChain, got {model!r}")
    scope = scope_of(model, epsilon, query, mechanism, confidence)
    applicable = _APPLICABLE[type(model)]
    if method == "best":
        return _best(model, scope, applicable)
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; use best or one of {', '.join(METHODS)}")
    if method not in applicable:
        raise NotApplicableError(
            f"{method} does not apply to {model.describe()}; use {' or '.join(applicable)}"
        )
    bound = applicable[method](model, scope)
    return _result(model, scope, method, bound, (Candidate(method, bound.value),))


def _best(model: Model, scope: Scope, applicable: dict[str, Method]) -> Leakage:
    bounds: dict[str, Bound] = {}
    candidates = []
    for name, method in applicable.items():
        attained = "transfer" in bounds and bounds["transfer"].kind == "exact"
        if name == "exact" and scope.is_wide and attained:
            continue  # the same number again
        try:
            bounds[name] = method(model, scope)
            candidates.append(Candidate(name, bounds[name].value))
        except NotApplicableError as error:
            candidates.append(Candidate(name, None, str(error)))
    if not bounds:
        reasons = "; ".join(f"{c.method}: {c.reason}" for c in candidates)
        raise NotApplicableError(f"no bound applies: {reasons}")
    least = min(bound.value for bound in bounds.values())
    # among equals (to rounding) one that is attained says more, and one about the scope asked for
    ties = {k: v for k, v in bounds.items() if v.value <= least * (1.0 + 1e-9)}
    name = min(ties, key=lambda k: (ties[k].kind != "exact", k != "exact", ties[k].value))
    return _result(model, scope, name, bounds[name], tuple(candidates), bounds)


def _result(
    model: Model,
    scope: Scope,
    method: str,
    bound: Bound,
    candidates: tuple[Candidate, ...],
    others: dict[str, Bound] | None = None,
) -> Leakage:
    per_record = bound.per_record
    if per_record is None and others:
        # the value holds for every record; another bound may say less for some
        known = [b.per_record for b in others.values() if b.per_record is not None]
        if known:
            per_record = np.minimum(np.minimum.reduce(known), bound.value)
    narrow = method == "exact" or (method == "transfer" and scope.local is not None)
    wide = EACH_RECORD if scope.guarantee.is_vector else EVERY_MECHANISM
    text = scope.text if narrow else wide
    assumptions = (*model.assumptions, *bound.certificate.assumptions)
    if getattr(model, "fitted", None) is not None and scope.region is None:
        assumptions += (
            "the fitted probabilities are taken as exact (no confidence was asked for)",
        )
    if narrow and not scope.is_wide:
        assumptions += (f"one release by {scope.text}; nothing else about these records is public",)
    else:
        assumptions += (_WHOLE_DOMAIN,)
    certificate = Certificate(bound.certificate.name, bound.certificate.reference, assumptions)
    return Leakage(
        value=float(bound.value),
        kind=bound.kind,
        certificate=certificate,
        scope=text,
        epsilon=scope.guarantee.largest,
        witness=bound.witness,
        candidates=candidates,
        per_record=per_record,
        model=model.describe(),
        digest=model.digest,
    )
