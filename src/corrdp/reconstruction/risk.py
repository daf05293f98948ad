"""risk: what a guarantee means to somebody who is attacked, in sentences and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._json import added, coded, encode
from corrdp.bounds.leakage import Leakage
from corrdp.bounds.scope import ROUNDING
from corrdp.calibration.number import Calibration
from corrdp.calibration.searching import in_digits, percent
from corrdp.errors import InputError
from corrdp.guarantees import GDP, Approximate, Guarantee, Pure
from corrdp.metric.tradeoff import curve_of
from corrdp.reconstruction.bounds import rad_bound
from corrdp.reconstruction.linear import rero_bound
from corrdp.reconstruction.threat import Threat, leaked, promise_of
from corrdp.release.laws import RecordLaw, record_law
from corrdp.release.number import Release
from corrdp.results import OTHERS_ADD, Certificate, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NO_LAW = (
    "how likely the states of a record are is not written here (files of version 0.1.0, leakages, "
    "public forms and models without states lack it): guesses start from even odds instead"
)


@dataclass(frozen=True)
class RiskRow:
    """One threat, in numbers.

    Parameters
    ----------
    name : str
    threat : str
        What the attacker tries and knows, in words.
    without : float
        How often the best guess is right without the release.
    success : float
        How often any attack is right with it, at most.
    advantage : float
        Reconstruction advantage, at most: success because the record was used.
    share : float
        The advantage over the largest there is: 0 is nothing, 1 total disclosure.
    certificate : str
        The bound behind the advantage.
    """

    name: str
    threat: str
    without: float
    success: float
    advantage: float
    share: float
    certificate: str

    def __str__(self) -> str:
        return (
            f"{self.name}: right at most {percent(self.success, up=True)} of the time, where "
            f"guessing without the release is right {percent(self.without)} of the time"
        )


@dataclass(frozen=True)
class Belief:
    """How sure of a state anyone can become who knows the model and no other record.

    Parameters
    ----------
    state : number or text
    before : float
        Its probability under the model.
    least, most : float
        Its probability after the release, whatever that says.
    """

    state: Any
    before: float
    least: float
    most: float


def _write_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    if not isinstance(guarantee, Pure | Approximate | GDP):
        raise InputError("a trade-off curve has no plain JSON; give epsilon, delta or mu")
    return {"guarantee": type(guarantee).__name__, **encode(vars(guarantee))}


def _read_guarantee(data: dict[str, Any]) -> Guarantee:
    kinds: dict[str, Any] = {"Pure": Pure, "Approximate": Approximate, "GDP": GDP}
    levels = {name: level for name, level in data.items() if name != "guarantee"}
    found: Guarantee = kinds[data["guarantee"]](**levels)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Risk(Result):
    """What attackers gain from a release, at most.

    Parameters
    ----------
    guarantee : Guarantee
        What the release promises.
    rows : tuple of RiskRow
    assumptions : tuple of str
    beliefs : tuple of Belief
        For a release that carries the law of one record: one for each state.
    dependent : bool
        Whether the guarantee is what leaks on dependent records (a BDP level), and not a DP level.
    """

    result = "risk"

    guarantee: Guarantee = field(metadata=coded(_write_guarantee, _read_guarantee))
    rows: tuple[RiskRow, ...]
    assumptions: tuple[str, ...]
    beliefs: tuple[Belief, ...] = added((), always=True)
    dependent: bool = added(False)

    def __float__(self) -> float:
        """The largest share of total disclosure over the threats."""
        return max(row.share for row in self.rows)

    def __repr__(self) -> str:
        lines = [f"Risk under {self.level}", *(f"  {row}" for row in self.rows), ""]
        lines.append(
            f"  {'threat':<28} {'without':>8} {'success':>8} {'advantage':>10} {'share':>7}"
        )
        lines += [
            f"  {row.name:<28} {row.without:>8.4f} {row.success:>8.4f} {row.advantage:>10.6f} "
            f"{row.share:>7.4f}  {row.certificate}"
            for row in self.rows
        ]
        if self.beliefs:
            lines += ["", f"  {'state':<28} {'before':>10} {'after, from':>12} {'to':>10}"]
        lines += [
            f"  {b.state!s:<28} {percent(b.before):>10} {percent(b.least, up=False):>12} "
            f"{percent(b.most, up=True):>10}"
            for b in self.beliefs
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    @property
    def level(self) -> str:
        """The guarantee in words, rounded up."""
        if isinstance(self.guarantee, Pure):
            name = "leakage level" if self.dependent else "epsilon"
            return f"{name} {in_digits(self.guarantee.largest)}"
        if isinstance(self.guarantee, Approximate):
            epsilon, delta = self.guarantee.largest, self.guarantee.largest_delta
            return f"epsilon {in_digits(epsilon)}, delta {in_digits(delta)}"
        return (
            f"mu {in_digits(self.guarantee.largest)}"
            if isinstance(self.guarantee, GDP)
            else "a trade-off curve"
        )

    def plot(self, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
        """Draw the trade-off curve, and the advantage against epsilon; returns both axes."""
        from corrdp.plots.results import draw_risk

        level = None
        if isinstance(self.guarantee, Pure | Approximate):
            level = float(np.max(self.guarantee.epsilon))
        return draw_risk(curve_of(self.guarantee), level, axes)


def risk(guarantee: Any, threats: Mapping[str, Threat] | None = None) -> Risk:
    """What an attacker gains: membership, an attribute, a whole value; or a release's own states.

    Parameters
    ----------
    guarantee : float, guarantee, mechanism, Release, Calibration or Leakage
        A number is epsilon on independent records. A release (or the calibration or leakage behind
        it) stands for what it leaks on its model and on the richer ones held against it:
        dependence is then counted in.
    threats : mapping of name to Threat, optional
        Left out: membership, a yes/no attribute at even odds, and one of ten equally likely values.
        Of a release or calibration that has the law of one record: which of its states it is, and
        ``beliefs`` about each. Membership is not asked where the number of records is public, as
        it is for everything that stands on a model.

    Returns
    -------
    Risk

    Notes
    -----
    The success of an attacker is at most the best guess from what he knows beforehand plus the
    advantage (and at most the reconstruction bound where he knows nothing); that of one who has
    the record and asks whether it was used, at even odds, (1 + share) / 2. A state of probability
    p has at most p e^B / (1 - p + p e^B) after a release that leaks B, and at least the same with
    -B.

    References
    ----------
    Guerra-Balboa, dissertation, chapter 5; reconstruction#risk-bounds.

    Examples
    --------
    >>> print(risk(1.0).rows[0])
    membership: right at most 73.2 % of the time, where guessing without the release is right 50.0 \
% of the time
    >>> from corrdp import Count, MarkovChain, calibrate
    >>> chain = MarkovChain([[.9, .1], [.3, .7]], states=("rest", "walk"))
    >>> told = risk(calibrate(chain, 1.0, query=Count("walk")))
    >>> [(b.state, round(b.before, 3), round(b.most, 3)) for b in told.beliefs]
    [('rest', 0.75, 0.891), ('walk', 0.25, 0.475)]
    """
    promise, said, law = _promise(guarantee)
    said += (OTHERS_ADD,)
    if threats is None and law is not None:
        assert isinstance(promise, Pure)
        return _about_states(promise, said, law)
    on_model = isinstance(guarantee, Calibration | Leakage | Release)
    if threats is not None and not isinstance(threats, Mapping):
        raise InputError("threats must be a mapping from names to Threat(prior, ...)")
    asked = uniform_threats(membership=not on_model) if threats is None else dict(threats)
    if not asked or not all(isinstance(t, Threat) for t in asked.values()):
        raise InputError("threats must be a mapping from names to Threat(prior, ...)")
    rows = tuple(_row(name, threat, promise) for name, threat in asked.items())
    if threats is None and on_model:
        said += (_NO_LAW,)
    return Risk(promise, rows, said, dependent=on_model)


def usual_threats(
    name: str, prior: Sequence[float] | np.ndarray, *, membership: bool = True
) -> dict[str, Threat]:
    """Membership, a yes/no attribute at even odds, and a whole value with this prior."""
    asked = {"membership": Threat.membership([0.5, 0.5])} if membership else {}
    return asked | {
        "a yes/no attribute": Threat.attribute([0.5, 0.5], secret=["no", "yes"]),
        name: Threat.reconstruction(prior),
    }


def uniform_threats(values: int = 10, *, membership: bool = True) -> dict[str, Threat]:
    """The usual threats, the whole value being one of so many that are equally likely."""
    name, law = f"one of {values} values", [1 / values] * values
    return usual_threats(name, law, membership=membership)


def _about_states(promise: Pure, said: tuple[str, ...], law: RecordLaw) -> Risk:
    """Which state is a record in? For who believes the model beforehand."""
    row = _row(law.question, Threat.reconstruction(law.probabilities), promise)
    beliefs = tuple(
        Belief(state, law.probabilities[k], *_after(law.probabilities, k, promise.largest))
        for k, state in enumerate(law.states)
    )
    odds = in_digits(math.exp(min(promise.largest, 700.0)))
    notes = [
        "the attacker believes the model's law of a record beforehand; the odds of who knows "
        f"more, such as other records, change by a factor of at most {odds} as well"
    ]
    if law.record is not None:
        notes.append(
            f"the laws of the records differ: this is record {law.record} (counted from 0), the "
            "hardest to guess beforehand"
        )
    return Risk(promise, (row,), (*said, *notes), beliefs, dependent=True)


def _after(law: Sequence[float], k: int, level: float) -> tuple[float, float]:
    """The least and the largest that law[k] can become when log odds move by at most a level."""
    # the rest is added up: 1 - p would lose what is unlikely
    p, rest, kept = law[k], math.fsum((*law[:k], *law[k + 1 :])), math.exp(-level)
    if not p or not rest:
        return p, p
    least, most = p * kept / (p * kept + rest), p / (p + rest * kept)
    return least * (1.0 - ROUNDING), min(1.0, most * (1.0 + ROUNDING))


def _promise(given: Any) -> tuple[Guarantee, tuple[str, ...], RecordLaw | None]:
    """The guarantee about one record, what it rests on, and the record's law where it is known."""
    if isinstance(given, Leakage):
        leaked(given)  # refuses units
        return *_leaks(given.value, given.certificate, delta=given.delta), None
    if isinstance(given, Calibration | Release):
        if isinstance(given, Calibration):
            own, proof = given.leakage.value, given.leakage.certificate
            law = record_law(given.model)
        else:
            own, proof, law = given.leakage, given.certificate, given.law
        worst = given.worst_leakage
        return *_leaks(worst, proof, richer=worst > own), law
    try:
        return promise_of(given), ("the records are independent of each other",), None
    except TypeError:
        raise InputError(
            f"expected epsilon, a guarantee, a mechanism or a release, got {given!r}"
        ) from None


def _leaks(
    value: float, proof: Certificate, *, richer: bool = False, delta: float = 0.0
) -> tuple[Pure | Approximate, tuple[str, ...]]:
    where = "the model or a richer one held against it" if richer else "the model"
    said = f"the level is what leaks on {where}, at most {in_digits(value)}, proved by {proof.name}"
    if delta:
        return Approximate(float(value), delta), (
            f"{said}, at delta {delta:.3g}",
            *proof.assumptions,
        )
    # a guarantee is above 0, and certain records leak nothing
    return Pure(max(float(value), ROUNDING)), (said, *proof.assumptions)


def _row(name: str, threat: Threat, promise: Guarantee) -> RiskRow:
    bound = rad_bound(promise, threat)
    if len(threat.labels) == threat.m > 1:  # who has the record asks whether it was used
        without, success = 0.5, 0.5 * (1.0 + bound.advantage)
    else:
        without = _blind(threat)
        success = min(1.0, without + bound.value)
        if threat.knows_nothing:
            success = min(success, float(rero_bound(promise, threat)))
            if threat.is_exact and isinstance(promise, Pure):
                success = min(success, largest_success(threat.prior, promise.largest))
    return RiskRow(
        name,
        threat.describe(),
        without,
        success,
        bound.value,
        bound.advantage,
        bound.certificate.name,
    )


def largest_success(prior: np.ndarray, epsilon: float) -> float:
    r"""How often the best attack names the record, over all epsilon-DP mechanisms.

    .. math:: \max_k \ (\pi_{(1)} + \dots + \pi_{(k)}) \frac{e^\varepsilon}{e^\varepsilon + k - 1}

    where pi_(j) is the j-th largest prior probability. With a_g the probability that g is guessed
    when it is the record, every other record is taken for g with probability e^-eps a_g or more,
    so that (1 - e^-eps) a_g + e^-eps sum(a) <= 1 for each g; the vertices of these constraints have
    k entries e^eps/(e^eps + k - 1). Randomized response among the k likeliest attains it.

    Examples
    --------
    >>> round(largest_success(np.array([.7, .2, .1]), 1.0), 6), largest_success(np.ones(1), 1.0)
    (0.7, 1.0)
    >>> round(largest_success(np.full(10, .1), 1.0), 6)
    0.231969
    """
    mass = np.cumsum(np.sort(prior)[::-1])
    lies = np.arange(len(mass)) * math.exp(-epsilon)
    return min(1.0, float((mass / (1.0 + lies)).max()) * (1.0 + ROUNDING))


def _blind(threat: Threat) -> float:
    """How often the best guess from what is known beforehand is right."""
    return float(sum((threat.prior[z] @ threat.success[z]).max() for z in threat.fibres))
