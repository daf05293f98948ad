"""leakage: what a guarantee really means on a model. Tries every bound and keeps the smallest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from corrdp._checks import check_array, check_kind
from corrdp._json import added, coded, runs, unruns
from corrdp.bounds.registry import BY_NAME_ONLY, METHODS, applicable
from corrdp.bounds.scope import (
    EACH_LEVEL,
    EACH_RECORD,
    EVERY_MECHANISM,
    FOR_ALL,
    VISIBLE,
    Adversary,
    Bound,
    Scope,
    scope_of,
)
from corrdp.errors import CompositionError, InputError, NotApplicableError
from corrdp.guarantees import GDP, L1, ZCDP, Approximate, Guarantee, Pure, as_guarantee
from corrdp.mechanisms.base import Mechanism
from corrdp.metric.profiles import profile_of
from corrdp.models.base import Model, RealModel
from corrdp.plots import axes_or_pyplot
from corrdp.queries import Query, Sum
from corrdp.results import Candidate, Certificate, Kind, Metric, Result, Witness

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Leakage(Result):
    """Bayesian differential privacy leakage of a guarantee on a model.

    Parameters
    ----------
    value : float
        No adversary's log odds about any one record move by more than this.
    kind : str
        "exact" where something in the scope attains the value, else "upper bound".
    certificate : Certificate
    scope : str
        What the value holds for: every mechanism with the guarantee, one query's Laplace noise,
        or one mechanism.
    epsilon : float
        Plain DP level of the guarantee (the largest entry of a vector).
    witness : Witness or None
    candidates : tuple of Candidate
        Every bound that was tried.
    per_record : array or None
        Leakage of each record; None when the model has no fixed length.
    model : str
        One line on the model.
    digest : str
        Fingerprint of the model.
    metric : Metric or None
        Where records are real numbers: leakage by how far two values lie apart.
    delta : float
        Outputs of at most this probability may tell more; 0 for pure guarantees. It is meant for
        each unit.
    unit : str or None
        What is protected, where that is more than one record.
    level : str
        The guarantee in words, where it is not pure.
    """

    result = "leakage"
    keys = (
        "value kind certificate scope epsilon witness candidates per_record model digest metric "
        "delta unit level"
    )

    value: float
    kind: Kind
    certificate: Certificate
    scope: str
    epsilon: float
    witness: Witness | None = None
    candidates: tuple[Candidate, ...] = ()
    per_record: np.ndarray | None = field(default=None, metadata=coded(runs, unruns))
    model: str = ""
    digest: str = ""
    metric: Metric | None = None
    delta: float = added(0.0)
    unit: str | None = added()
    level: str = added("")
    again: Callable[[float], float] | None = field(default=None, compare=False)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the value rests on, in words: those of the certificate."""
        return self.certificate.assumptions

    def at(self, x: float, x2: float) -> float:
        """Leakage between two values of one real record, wherever they lie.

        Examples
        --------
        >>> import corrdp as cdp
        >>> pairs = cdp.GaussianRecords.equicorrelated(2, .45, secret_range=(40, 160))
        >>> leak = cdp.leakage(pairs, 1.0)
        >>> round(leak.at(100, 112), 6), round(leak.at(1000, -800), 6)
        (0.145, 2.0)
        """
        if self.metric is None:
            raise NotApplicableError(
                "leakage by distance needs real records with a secret range and an l1-private "
                "mechanism: GaussianRecords(..., secret_range=(low, high))"
            )
        return self.metric.at(x, x2)

    def profile(self, deltas: Sequence[float] | np.ndarray | None = None) -> LeakageProfile:
        """The leakage at other deltas, by the same theorem.

        Parameters
        ----------
        deltas : sequence of float, optional
            From 1e-1 to 1e-12 if left out.

        Examples
        --------
        >>> import corrdp as cdp
        >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]])
        >>> leak = cdp.leakage(chain, cdp.GDP(.1), delta=1e-6)
        >>> leak.profile([1e-3, 1e-6, 1e-9]).level.round(3).tolist()
        [1.608, 2.458, 2.98]
        """
        if self.again is None:
            raise NotApplicableError(
                "there is one pair here and no curve: the guarantee is pure, or the result was "
                "read from a file (ask leakage again with the model)"
            )
        asked = np.geomspace(1e-1, 1e-12, 12) if deltas is None else check_array("deltas", deltas)
        if asked.ndim != 1 or not ((asked > 0) & (asked < 1)).all():
            raise InputError("deltas must be a list of numbers strictly between 0 and 1")
        return LeakageProfile(np.array([self.again(float(d)) for d in asked]), asked)

    def __add__(self, other: object) -> Leakage:
        raise CompositionError(
            "leakages do not add: two releases can leak more together than the sum of what each "
            "leaks alone. Add their epsilons (per record) and call leakage once on the total"
        )

    __radd__ = __add__

    def __repr__(self) -> str:
        at = f" at delta {self.delta:.3g}" if self.delta else ""
        lines = [
            f"Leakage {self.value:.6g}{at} ({self.kind}) for "
            + (self.level or f"epsilon {self.epsilon:.6g}"),
            *([f"  unit         {self.unit}"] if self.unit else []),
            f"  scope        {self.scope}",
            f"  model        {self.model}",
            f"  certificate  {self.certificate.name}: {self.certificate.reference}",
        ]
        if self.witness is not None:
            lines.append(f"  witness      {self.witness}")
        lines += [f"  assumes      {a}" for a in self.certificate.assumptions]
        for c in self.candidates:
            shown = f"{c.value:.6g}" if c.value is not None else f"- {c.reason}"
            lines.append(f"  {c.method:<12} {shown}")
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw every bound side by side; returns the matplotlib axes."""
        from corrdp.plots.results import draw_candidates

        return draw_candidates(self, axes_or_pyplot(ax))


@dataclass(frozen=True, eq=False)
class LeakageProfile(Result):
    """Leakage by delta: each level holds with the delta beside it."""

    result = "leakage profile"

    level: np.ndarray
    delta: np.ndarray

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw delta against the leakage; returns the matplotlib axes."""
        from corrdp.plots.results import draw_profile

        return draw_profile(self.level, self.delta, axes_or_pyplot(ax))


_WHOLE_DOMAIN = (
    "the mechanism keeps its epsilon for one changed record on every combination of values, "
    "impossible ones included"
)
NO_FEEDBACK = (
    "no feedback: the records do not react to the releases, as prices, alarms or recommendations "
    "made from a release would let them"
)


def leakage(
    model: Model,
    epsilon: Guarantee | float | Sequence[float] | np.ndarray | None = None,
    *,
    query: Query | None = None,
    mechanism: Mechanism | None = None,
    method: str = "best",
    confidence: float | None = None,
    adversary: Adversary | Literal["all", "none"] = "all",
    delta: float | None = None,
    unit: int | str | Sequence[int] | None = None,
    own: Guarantee | float | None = None,
) -> Leakage:
    """What a privacy parameter really means on dependent records.

    ``leakage = sup ln Pr[Y in S | x_K, X_i = a] / Pr[Y in S | x_K, X_i = b]``

    where

    * Y is the output of the mechanism and S any set of outputs,
    * i is any record, K any set of other records that the adversary knows, x_K their values,
    * a, b are any two values of record i that are possible given x_K.

    Parameters
    ----------
    model : Model
        How the records depend on each other.
    epsilon : float, sequence of float, or guarantee
        DP level before correlation; one number, or one per record. Left out with ``mechanism``.
        A guarantee may have a delta: ``Approximate``, ``GDP``, ``ZCDP``, ``Tradeoff``, ``Profile``.
        On Gaussian records a number is the level of an l1-private mechanism over its width (that
        of the query, else of the secret range); write ``Pure(epsilon)`` for any DP mechanism.
    query : Query, optional
        Narrow the scope to this query with Laplace noise, which may leak less.
    mechanism : Mechanism, optional
        Narrow the scope to this mechanism.
    method : str
        "best" for the smallest applicable bound, or one of them by name: general, lange, zhao,
        ratio, blocks, contraction, transfer, exact (chains, trees, networks, pedigrees, tables),
        uninformed (chains, with ``adversary="none"``), walks and bags (networks), sharp,
        positive, comparison, forgetting, regression (Gaussian records). By name only: signed
        (Gaussian sums that are not clipped), unclipped (the same with Gaussian noise, exactly,
        leaning on the variance of the model), estimate (a numerical value, no bound) and attained
        (a lower end: what ``mechanism=Gaussian(..)`` on a count of a chain gives away at least).
    confidence : float, optional
        For fitted models: a joint level such as .95. The value then holds for every law that the
        data still allow, not only for the estimate.
    adversary : {"all", "none"} or Adversary
        "all" is the promise to keep. On a chain, "none" is the adversary who knows no other
        record; on a tree, an Adversary is this one alone.
    delta : float, optional
        Events of a smaller probability may tell more: with it,
        ``Pr[Y in S | x_K, X_i = a] <= e^leakage Pr[Y in S | x_K, X_i = b] + delta``.
        Required for GDP, zCDP, curves and profiles; for ``Approximate`` the delta follows from
        the pair, and this is a limit that may refuse.
    unit : int, str or sequence of int, optional
        What is protected instead of one record: a number of records in a row, a duration such as
        "1h" or "1 day" (in usual steps of a fitted series), "person", or a set of records.
    own : guarantee, optional
        Of changing the whole unit, one or one per window, where it is better than what follows
        from the records: of releases that each read a part of the unit, say.

    Returns
    -------
    Leakage

    Raises
    ------
    GuaranteeError
        For guarantees that promise nothing.
    NotApplicableError
        When the named method does not apply; the message says what would.

    References
    ----------
    Bayesian differential privacy is the notion of Yang, Sato and Nakagawa (2015). The bounds are
    proved in docs/theorems.

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=20)
    >>> leak = cdp.leakage(chain, 1.0)
    >>> round(leak.value, 6), leak.kind, leak.certificate.name
    (4.322353, 'exact', 'transfer')
    >>> hour = cdp.leakage(chain, cdp.GDP(.01), delta=1e-6, unit=12)
    >>> hour.value < 12 * cdp.leakage(chain, cdp.GDP(.01), delta=1e-6).value
    True
    """
    check_kind("model", model, Model, "a dependence model such as MarkovChain")
    check_kind("method", method, str, "best or the name of a bound")
    promised = None if own is None else as_guarantee(own)
    scope = scope_of(model, epsilon, query, mechanism, confidence, adversary, delta, unit, promised)
    return leakage_in(model, scope, method)


def leakage_in(model: Model, scope: Scope, method: str) -> Leakage:
    """:func:`leakage` for arguments that were read."""
    methods = applicable(type(model))
    if method == "best":
        return _best(model, scope)
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; use best or one of {', '.join(METHODS)}")
    if method not in methods:
        raise NotApplicableError(
            f"{method} does not apply to {model.describe()}; use {' or '.join(methods)}"
        )
    bound = methods[method](model, scope)
    return _result(model, scope, method, bound, (Candidate(method, bound.value),))


def _best(model: Model, scope: Scope) -> Leakage:
    bounds: dict[str, Bound] = {}
    candidates = []
    for name, method in applicable(type(model)).items():
        settled = "transfer" in bounds and bounds["transfer"].kind == "exact"
        if name == "exact" and scope.is_wide and settled:
            continue  # the same number again
        if name in BY_NAME_ONLY or (name == "uninformed" and scope.adversary != "none"):
            continue
        try:
            bounds[name] = method(model, scope)
            candidates.append(Candidate(name, bounds[name].value))
        except NotApplicableError as error:
            candidates.append(Candidate(name, None, str(error)))
    if not bounds:
        reasons = "; ".join(f"{c.method}: {c.reason}" for c in candidates)
        raise NotApplicableError(f"no bound applies: {reasons}")
    attained = _attained(scope, bounds)
    for name in [name for name, bound in bounds.items() if bound.value < attained * (1 - VISIBLE)]:
        del bounds[name]
        k = next(k for k, candidate in enumerate(candidates) if candidate.method == name)
        reason = (
            f"below {attained:.9g}, which another method shows to be attained: please report it"
        )
        candidates[k] = Candidate(name, None, reason)
        # which of the two is wrong is not known: the larger value is safe, and not called exact
        bounds = {key: replace(bound, kind="upper bound") for key, bound in bounds.items()}
    least = min(bound.value for bound in bounds.values())
    # among equals (to rounding) one that is attained says more, and one about the scope asked for
    ties = {k: v for k, v in bounds.items() if v.value <= least * (1.0 + 1e-9)}
    name = min(
        ties,
        key=lambda k: (ties[k].kind != "exact", k != "exact", ties[k].delta, ties[k].value),
    )
    return _result(model, scope, name, bounds[name], tuple(candidates), bounds)


def _attained(scope: Scope, bounds: dict[str, Bound]) -> float:
    """The largest value that some mechanism of the scope attains, by what was found.

    Values called exact are attained: in the scope asked for where the method is about it, else by
    some other mechanism. About a single adversary they say nothing.
    """
    if scope.adversary is not None:
        return 0.0
    sharp = {name: bound.value for name, bound in bounds.items() if bound.kind == "exact"}
    return max((v for name, v in sharp.items() if scope.is_wide or name == "exact"), default=0.0)


def _result(
    model: Model,
    scope: Scope,
    method: str,
    bound: Bound,
    candidates: tuple[Candidate, ...],
    others: dict[str, Bound] | None = None,
) -> Leakage:
    per_record = bound.per_record
    known = [
        b.per_record
        for b in (others or {}).values()
        if b.per_record is not None and b.delta <= bound.delta
    ]
    if per_record is None and known:
        # the value holds for every record; another bound may say less for some
        per_record = np.minimum(np.minimum.reduce(known), bound.value)
    text, narrow = _holds_for(scope, method)
    who = "" if scope.adversary is None else f", and {_who(scope)}"
    assumptions = (*model.assumptions, *bound.certificate.assumptions)
    if model.fitted is not None and scope.confidence is None:
        asked = "" if model.kind == "pedigree" else " (no confidence was asked for)"
        assumptions += (f"the fitted numbers are taken as exact{asked}",)
    assumptions += _narrower(model, scope)
    if narrow:
        assumptions += (f"one release by {text}; nothing else about these records is public",)
    else:
        assumptions += (_WHOLE_DOMAIN,)
    assumptions += (NO_FEEDBACK,)
    certificate = Certificate(bound.certificate.name, bound.certificate.reference, assumptions)
    return Leakage(
        value=float(bound.value),
        kind=bound.kind,
        certificate=certificate,
        scope=text + who,
        epsilon=_level(model, scope),
        witness=bound.witness,
        candidates=candidates,
        per_record=per_record,
        model=model.describe(),
        digest=model.digest,
        metric=_metric(bound, others),
        delta=bound.delta,
        unit=None if scope.unit is None else scope.unit.words,
        level=_in_words(scope.guarantee),
        again=bound.again,
    )


def _in_words(guarantee: Guarantee) -> str:
    """A guarantee that is not pure."""
    if isinstance(guarantee, Pure | L1):
        return ""
    if isinstance(guarantee, Approximate):
        return f"epsilon {guarantee.largest:.6g}, delta {guarantee.largest_delta:.3g}"
    if isinstance(guarantee, GDP):
        return f"mu {guarantee.largest:.6g}"
    return f"rho {guarantee.largest:.6g}" if isinstance(guarantee, ZCDP) else "a privacy profile"


def _narrower(model: Model, scope: Scope) -> tuple[str, ...]:
    """Said aloud where the promise is about a part of what the query tells apart."""
    secret = model.secret_range if isinstance(model, RealModel) else None
    if secret is None or not isinstance(scope.query, Sum):
        return ()
    if secret[1] - secret[0] >= scope.query.width:
        return ()
    return (
        f"the query is wider than the secret range: values outside [{secret[0]:g}, {secret[1]:g}] "
        "are told apart by more than is promised here",
    )


def _who(scope: Scope) -> str:
    if scope.adversary == "none":
        return "the adversary who knows no other record"
    return str(scope.adversary)


def _level(model: Model, scope: Scope) -> float:
    """The plain DP level; for an l1 rate alone, what it says between the ends of the range."""
    guarantee = scope.guarantee
    if isinstance(guarantee, L1) and guarantee.epsilon is None:
        assert isinstance(model, RealModel)
        assert model.secret_range is not None
        low, high = model.secret_range
        return float(np.max(guarantee.rate)) * (high - low)
    if isinstance(guarantee, Pure | L1 | Approximate):
        return guarantee.largest
    return profile_of(guarantee).epsilon(scope.delta or 0.0)


def _holds_for(scope: Scope, method: str) -> tuple[str, bool]:
    """What a value by this method holds for, and whether that is one release only."""
    if method in ("signed", "unclipped"):
        noise = "Laplace" if isinstance(scope.guarantee, L1) else "Gaussian"
        return f"{noise} noise on the sum, not clipped", True
    if method == "attained":
        return f"{type(scope.noise).__name__} noise on the {scope.query}", True
    if method == "estimate":
        return f"Laplace noise on the {scope.query}", True
    if method == "exact" or (method in ("transfer", "uninformed") and scope.local is not None):
        text, narrow = scope.text, not scope.is_wide
    elif method != "general" and (isinstance(scope.guarantee, L1) or scope.text not in FOR_ALL):
        text, narrow = scope.text, False
    else:
        vector = getattr(scope.guarantee, "is_vector", False)
        each = EACH_RECORD if isinstance(scope.guarantee, Pure | L1) else EACH_LEVEL
        text, narrow = each if vector else EVERY_MECHANISM, False
    return text, narrow


def _metric(bound: Bound, others: dict[str, Bound] | None) -> Metric | None:
    """How leakage falls with distance: by the bound itself, or the one that says least of all."""
    found = [b.metric for b in (others or {"": bound}).values() if b.metric is not None]
    return min(found, key=lambda metric: max(slope for slope, _ in metric.pieces), default=None)
