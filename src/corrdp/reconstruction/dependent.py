r"""Risk on dependent records: what the output says about a record through all the others.

Unknown records that depend on the record speak for it. Given what the attacker knows, the output is
a channel of the record alone,

.. math:: p(\theta \mid x_i, x_K) = \sum_{x_U} \Pr[x_U \mid x_i, x_K]\, p(\theta \mid x),

and the advantage is that of this channel. Its epsilon is not that of the mechanism but the leakage
to (K, i), so the bounds for independent records hold with the leakage in place of epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp._checks import check_array, check_kind
from corrdp.bounds.leakage import Leakage, leakage
from corrdp.bounds.scope import Adversary, pure
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Approximate
from corrdp.models.base import Model, RealModel
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.reads import check_reads
from corrdp.queries import Query
from corrdp.reconstruction.bounds import best_bound
from corrdp.reconstruction.effective import Records, effective, records_of
from corrdp.reconstruction.exact import exact_rad
from corrdp.reconstruction.results import Rad, RadBound
from corrdp.reconstruction.threat import Threat, promise_of

_WHERE = "reconstruction#risk-under-correlation"
_REFERENCE = f"the optimal attack on the channel of the record alone ({_WHERE})"
_SAME = 1e-9
_CONDITIONED = 2_000  # records of a chain that is conditioned to single out one adversary


def prior_of(
    model: Any, record: int | None = None, known: Mapping[int, Any] | None = None
) -> np.ndarray:
    """The model's law of one record given the known ones, in the order of its states.

    Parameters
    ----------
    model : Model
    record : int, optional
        May be left out for a stationary chain of any length with nothing known.
    known : mapping of int to state, optional

    References
    ----------
    Bayes' rule; on chains by the bridged kernels of ``MarkovChain.condition``.

    Examples
    --------
    >>> from corrdp import JointTable
    >>> pair = JointTable({(0, 0): .4, (1, 1): .4, (0, 1): .1, (1, 0): .1})
    >>> prior_of(pair, 0, {1: 1}).round(6).tolist()
    [0.2, 0.8]
    """
    law = _law_of(_check_model(model), record, _check_known(model, record, known))
    if law is None:
        raise NotApplicableError(
            f"{model.describe()}: the law of one record is not worked out; give the attacker's own "
            "prior, Threat(prior)"
        )
    return law


def rad_on_model(
    mechanism: Any,
    threat: Threat,
    model: Any,
    record: int | None,
    known: Mapping[int, Any] | None,
) -> Rad:
    """:func:`corrdp.reconstruction.exact.rad` on dependent records."""
    facts = _check_known(_check_model(model), record, known)
    stated = _check_prior(threat, model, record, facts)
    if isinstance(getattr(mechanism, "query", None), Query):
        check_reads(model, mechanism.query)
    records = records_of(model)
    if records is not None and record is not None:
        try:
            channel, edges = effective(mechanism, records, record, facts, threat)
        except NotApplicableError:
            pass  # the bound is what is left
        else:
            assumed = (*model.assumptions, *stated, _who(record, facts))
            return exact_rad(
                channel, threat, edges=edges, reference=_REFERENCE, assumptions=assumed
            )
    bound = _bound(mechanism, threat, model, record, facts, stated)
    return Rad(
        bound.value,
        "upper bound",
        bound.certificate,
        bound.threat,
        bound.ceiling,
        candidates=bound.candidates,
    )


def bound_on_model(
    guarantee: Any,
    threat: Threat,
    model: Any,
    record: int | None,
    known: Mapping[int, Any] | None,
) -> RadBound:
    """:func:`corrdp.reconstruction.bounds.rad_bound` on dependent records."""
    facts = _check_known(_check_model(model), record, known)
    stated = _check_prior(threat, model, record, facts)
    return _bound(guarantee, threat, model, record, facts, stated)


def _bound(
    source: Any,
    threat: Threat,
    model: Model,
    record: int | None,
    known: dict[int, Any],
    stated: tuple[str, ...],
) -> RadBound:
    leak = leakage_about(source, model, record, known)
    value = _about(leak, record)
    reference = (
        f", at the leakage {value:.6g} about the record, by {leak.certificate.name} ({_WHERE})"
    )
    assumed = (*leak.certificate.assumptions, *stated, _who(record, known))
    # Approximate, because a record that the mechanism does not read leaks 0
    bound = best_bound(Approximate(value, 0.0), threat, reference=reference, assumptions=assumed)
    # a mechanism that attains the leakage need not attain the risk as well
    return replace(bound, kind="upper bound")


def leakage_about(
    source: Any, model: Model, record: int | None, known: Mapping[int, Any]
) -> Leakage:
    """Leakage to the one adversary where that is worked out, else to every adversary.

    ``source`` is a mechanism, or a guarantee that every mechanism in question keeps.

    Examples
    --------
    >>> from corrdp import JointTable, Laplace, Count
    >>> friends = JointTable({(0, 0): .45, (1, 1): .45, (0, 1): .05, (1, 0): .05})
    >>> round(leakage_about(Laplace(Count(1), 1.0), friends, 0, {}).value, 6)
    1.776137
    """
    asked = _asked(source)
    everyone = leakage(model, **asked)
    if model.kind == "tree" and record is not None:
        who = Adversary(record, dict(known))
        return _smaller(everyone, leakage(model, **asked, adversary=who), record)
    if isinstance(model, MarkovChain):
        alone = model
        if known:
            if model.length is None or model.length > _CONDITIONED:
                return everyone
            # who knows some records of a chain knows none of the chain given them
            alone = model.condition(known)
        try:
            return _smaller(everyone, leakage(alone, **asked, adversary="none"), record)
        except NotApplicableError:
            return everyone
    return everyone


def _smaller(first: Leakage, second: Leakage, record: int | None) -> Leakage:
    return min(first, second, key=lambda leak: _about(leak, record))


def _about(leak: Leakage, record: int | None) -> float:
    """Leakage about the record alone, where it is known."""
    if record is None or leak.per_record is None:
        return leak.value
    return min(leak.value, float(leak.per_record[record]))


def _asked(source: Any) -> dict[str, Any]:
    """What :func:`corrdp.leakage` is asked for."""
    if callable(getattr(source, "channel", None)) or getattr(source, "query", None) is not None:
        return {"mechanism": source}
    if np.asarray(source, dtype=object).ndim == 2:
        from corrdp.mechanisms.base import steps

        level = float(steps(check_array("mechanism", source)).max())
        if not np.isfinite(level):
            raise NotApplicableError(
                "an output of the channel is impossible under one value and proves another: its "
                "leakage is infinite, and no bound below the ceiling follows"
            )
        return {"epsilon": level}
    return {"epsilon": pure(promise_of(source))}


def _who(record: int | None, known: Mapping[int, Any]) -> str:
    if record is None:
        return "the attacker knows no other record, and every record is drawn from the model"
    return f"{Adversary(record, dict(known))}, the model included"


def _check_model(model: Any) -> Model:
    if not isinstance(model, Model):
        raise InputError(f"model must be a dependence model such as MarkovChain, got {model!r}")
    if isinstance(model, RealModel):
        raise NotApplicableError(
            "records of this model are real numbers; risk is worked out for finitely many values"
        )
    return model


def _check_known(
    model: Model, record: int | None, known: Mapping[int, Any] | None
) -> dict[int, Any]:
    facts = {} if known is None else dict(check_kind("known", known, Mapping, "{record: value}"))
    n = model.length
    if record is None:
        if facts or n is not None:
            raise InputError(
                "say which record is attacked: record=0 is the first"
                + ("" if n is None else f", record={n - 1} the last")
            )
        return facts
    for place in (record, *facts):
        if isinstance(place, bool) or not isinstance(place, int | np.integer) or place < 0:
            raise InputError(f"records are numbered 0, 1, ..; got {place!r}")
        if n is None or place >= n:
            last = "none: it has no length" if n is None else f"0 to {n - 1}"
            raise InputError(f"record {place} does not exist; the model has records {last}")
    if record in facts:
        raise InputError(f"record {record} is both attacked and known")
    for place, value in facts.items():
        if model.states is not None and value not in model.states:
            raise InputError(
                f"known[{place}] = {value!r} is not one of the states {list(model.states)!r}"
            )
    return facts


def _law_of(model: Model, record: int | None, known: dict[int, Any]) -> np.ndarray | None:
    if known and isinstance(model, MarkovChain):
        return np.asarray(model.condition(known).marginals[record])
    laws = None if known else model.record_laws
    if laws is not None:
        return laws[0 if len(laws) == 1 else record]
    if record is None and isinstance(model, MarkovChain):
        raise InputError("a chain that is not stationary needs a length and record=")
    records = records_of(model)
    if records is None or record is None:
        return None
    return _marginal(records, record, known)


def _marginal(records: Records, record: int, known: dict[int, Any]) -> np.ndarray:
    kept = records.given(known)
    return np.bincount(kept.rows[:, record], kept.weights, minlength=len(kept.states))


def _check_prior(
    threat: Threat, model: Model, record: int | None, known: dict[int, Any]
) -> tuple[str, ...]:
    """Refuse a prior that is not the model's; what is assumed where the model has none."""
    if model.states is not None and len(model.states) != threat.m:
        raise InputError(
            f"the model has {len(model.states)} states and the threat's prior {threat.m} records"
        )
    law = _law_of(model, record, known)
    if law is None:
        return ("the prior given is the law of the record, given what the attacker knows",)
    off = float(np.abs(law - threat.prior).max())
    if off > _SAME:
        raise InputError(
            f"the threat's prior is not the model's law of the record given the known ones: it "
            f"differs by up to {off:.3g}; use Threat.under(model, record, known)"
        )
    return ()
