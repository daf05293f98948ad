"""One total of a plan: the loss at one granularity, its witness and its rule, curves included.

Releases with trade-off curves (f-DP) are composed by tensor products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._checks import old_attribute
from corrdp._json import encode
from corrdp.accounting.choices import Losses
from corrdp.accounting.maps import ReadsCount, Select
from corrdp.accounting.step import Notion, Step
from corrdp.errors import GuaranteeError, NotApplicableError
from corrdp.guarantees import Approximate
from corrdp.metric.finite import Change, combined
from corrdp.metric.granularities import Bounded, Granularity
from corrdp.results import Candidate, Certificate, Kind

if TYPE_CHECKING:
    from corrdp.metric.profiles import PrivacyProfile
    from corrdp.metric.tradeoff import Curve

_KINDS = 500  # different rows of losses, each one product of curves


def composed_curves(
    steps: Sequence[Step], losses: Losses
) -> list[tuple[Change, np.ndarray, Curve | None]]:
    """The curve of all releases together for each kind of change; None where it promises nothing.

    A pure release at loss e has the curve of e-DP, a Gaussian one at m that of m-GDP, and one
    with its own curve f that of f at the distance: of Gaussian and Laplace curves at any, of others
    the k-fold group curve at distance k.
    """
    from corrdp.metric.tradeoff import tensor

    found: dict[bytes, tuple[Change, np.ndarray, Curve | None]] = {}
    for change, row in losses.rows():
        key = (row + 0.0).tobytes()
        if key in found:
            continue
        if len(found) == _KINDS:
            raise NotApplicableError(
                f"more than {_KINDS} kinds of neighbours with different losses: too many curves; "
                "state the releases as pure or Gaussian"
            )
        if np.isinf(row).any():
            found[key] = (change, row, None)
            continue
        parts = [curve_at(step, float(v)) for step, v in zip(steps, row, strict=True) if v > 0]
        found[key] = (change, row, tensor(*parts) if parts else None)
        if not parts:
            del found[key]
    return list(found.values())


def curve_at(step: Step, loss: float) -> Curve:
    """The curve of one release at one loss."""
    from corrdp.metric.tradeoff import ApproximateCurve, GaussianCurve, curve_of

    if step.notion == "pure":
        return ApproximateCurve(loss)
    if step.notion == "gaussian":
        return GaussianCurve(loss)
    promise = step.guarantee
    curve = curve_of(promise if isinstance(promise, Approximate) else promise.curve)
    try:
        return curve.at(loss)
    except NotApplicableError as error:
        raise NotApplicableError(f"step {step.id!r}: {error}") from None


_SAME = 1e-12
_UNITS = {
    "pure": "epsilon",
    "gaussian": "mu",
    "tradeoff": "total variation",
    "approximate": "epsilon",
}


@dataclass(frozen=True, eq=False, repr=False)
class Total:
    """What a plan costs at one granularity.

    Parameters
    ----------
    unit : Granularity
    notion : {"pure", "gaussian", "tradeoff", "approximate"}
    value : float
        Epsilon, mu, or for trade-off curves the largest total variation; for "approximate" the
        least epsilon at ``delta``.
    witness : Change
        The neighbours that are told apart best.
    losses : tuple of (id, loss)
        What each release contributes there, zeros left out.
    sequential : float
        What simple addition would have said.
    certificate : Certificate
        The rule.
    candidates : tuple of Candidate
        The special rules, with their values or why they do not apply.
    curves : tuple of Curve
        For "tradeoff": one curve per kind of neighbours.
    at_delta : float
        For "approximate".
    profiles : tuple of PrivacyProfile
        For "approximate": one for each kind of neighbours, where all are known.
    """

    unit: Granularity
    notion: Notion
    value: float
    witness: Change | None
    losses: tuple[tuple[str, float], ...]
    sequential: float
    certificate: Certificate
    candidates: tuple[Candidate, ...] = ()
    curves: tuple[Curve, ...] = ()
    kind: Kind = "upper bound"
    at_delta: float = 0.0
    profiles: tuple[PrivacyProfile, ...] = ()
    target = old_attribute("target", "unit")

    def __float__(self) -> float:
        return self.value

    @property
    def ratio(self) -> float:
        """The total over that of simple addition; 1 when nothing is gained."""
        if self.sequential == self.value or math.isinf(self.sequential):
            return 1.0
        return self.value / self.sequential

    def curve(self, alpha: float) -> float:
        """The least type II error of a test of level alpha between any two neighbours."""
        from corrdp.metric.tradeoff import ApproximateCurve, GaussianCurve

        if math.isinf(self.value) or (self.notion == "tradeoff" and self.value >= 1.0):
            return 0.0
        if self.notion == "approximate":
            return float(ApproximateCurve(self.value, self.at_delta)(alpha))
        if self.notion == "tradeoff":
            return min((float(curve(alpha)) for curve in self.curves), default=1.0 - alpha)
        one = ApproximateCurve if self.notion == "pure" else GaussianCurve
        return float(one(self.value)(alpha))

    @property
    def advantage(self) -> float:
        """Largest advantage of a test over guessing, independent records: total variation.

        tanh(epsilon/2) for a pure total, 2 Phi(mu/2) - 1 for a Gaussian one.
        """
        if self.notion == "tradeoff":
            return self.value
        if self.notion == "approximate":
            return 1.0 if math.isinf(self.value) else self.delta(0.0)
        if self.notion == "pure":
            return math.tanh(self.value / 2)
        return math.erf(self.value / math.sqrt(8.0))

    def delta(self, epsilon: float) -> float:
        """The delta with which a Gaussian total, or one at a delta, is (epsilon, delta)-DP."""
        from corrdp.metric.tradeoff import delta_for

        if self.notion == "approximate":
            if math.isinf(self.value):
                return 1.0
            return max((float(p.delta(epsilon)) for p in self.profiles), default=0.0)
        self._gaussian_only()
        return 1.0 if math.isinf(self.value) else delta_for(self.value, epsilon)

    def epsilon(self, delta: float) -> float:
        """The epsilon with which a Gaussian total, or one at a delta, is (epsilon, delta)-DP."""
        from corrdp.metric.tradeoff import epsilon_for

        if self.notion == "approximate":
            if math.isinf(self.value):
                return math.inf
            return max((p.epsilon(delta) for p in self.profiles), default=0.0)
        self._gaussian_only()
        return math.inf if math.isinf(self.value) else epsilon_for(self.value, delta)

    def _gaussian_only(self) -> None:
        if self.notion != "gaussian":
            raise GuaranteeError(
                f"a {self.notion} total has no curve of (epsilon, delta); Gaussian totals have"
            )

    def __repr__(self) -> str:
        unit = _UNITS[self.notion]
        at_delta = f" at delta {self.at_delta:g}" if self.notion == "approximate" else ""
        lines = [
            f"{self.unit}: {unit} {self.value:.6g}{at_delta} ({self.certificate.name}), "
            f"{self.ratio:.3g} of the {self.sequential:.6g} of simple addition",
            f"  witness      {self.witness or 'none: nothing is read'}",
        ]
        shown = self.losses[:8]
        parts = [f"{name} {loss:.6g}" for name, loss in shown]
        parts += [f"{len(self.losses) - 8} more"] if len(self.losses) > 8 else []
        lines.append(f"  made of      {' + '.join(parts) or '0'}")
        lines.append(f"  rule         {self.certificate.reference}")
        lines.append(f"  advantage    at most {self.advantage:.6g} over guessing")
        if self.notion in ("gaussian", "approximate") and 0 < self.value < math.inf:
            points = ", ".join(f"({e:g}, {self.delta(e):.3g})" for e in (0.5, 1.0, 2.0))
            lines.append(f"  (eps, delta) {points}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        witness = self.witness
        extra = {"delta": self.at_delta} if self.notion == "approximate" else {}
        return {
            "target": encode(self.unit.to_json()),
            "notion": self.notion,
            **extra,
            "value": encode(float(self.value)),
            "kind": self.kind,
            "witness": None if witness is None else [witness.kind, _plain(witness.where)],
            "losses": encode([[name, loss] for name, loss in self.losses]),
            "sequential": encode(float(self.sequential)),
            "ratio": encode(self.ratio),
            "advantage": encode(self.advantage),
            "certificate": self.certificate.to_dict(),
            "candidates": [c.to_dict() for c in self.candidates],
        }


def _plain(value: Any) -> Any:
    """Data sets as JSON: graphs become sorted lists of edges."""
    if isinstance(value, frozenset):
        return sorted(_plain(v) for v in value)
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else encode(value)


def total_of(
    unit: Granularity, notion: Notion, steps: Sequence[Step], chosen: Sequence[int], all_: Losses
) -> Total:
    """The total of some of the steps, those of one notion (all of them for trade-off curves)."""
    gaussian = notion == "gaussian"
    if notion == "tradeoff":
        return _tradeoff_total(unit, steps, all_)
    each = all_.each[list(chosen)]
    sequential = combined(each, gaussian=gaussian)
    witness, losses = all_.worst(chosen, gaussian=gaussian)
    value = combined(losses, gaussian=gaussian)
    if value == 0:
        certificate = certificate_of("sequential", unit, steps, chosen)
        return Total(unit, notion, 0.0, None, (), 0.0, certificate)
    names = [steps[k].id for k in chosen]
    parts = tuple((name, float(v)) for name, v in zip(names, losses, strict=True) if v > 0)
    candidates, rule = _rules(unit, [steps[k] for k in chosen], each, value, sequential, gaussian)
    certificate = certificate_of(rule, unit, steps, chosen, gaussian=gaussian)
    return Total(unit, notion, value, witness, parts, sequential, certificate, candidates)


def _rules(
    unit: Granularity,
    steps: Sequence[Step],
    each: np.ndarray,
    value: float,
    sequential: float,
    gaussian: bool,
) -> tuple[tuple[Candidate, ...], str]:
    """The special rules beside the maximum over neighbours, and the name of the one that fits."""
    top = float(each.max())
    found = [Candidate("sequential", sequential)]
    parallel = value <= top * (1 + _SAME)
    found.append(
        Candidate("parallel", top)
        if parallel
        else Candidate("parallel", None, "some neighbours change what two releases read")
    )
    pairs = isinstance(unit, Bounded) and len(steps) > 1 and _value_partition(steps)
    largest = np.sort(each)[-2:]
    found.append(
        Candidate("pairs", combined(largest, gaussian=gaussian))
        if pairs
        else Candidate("pairs", None, "for bounded granularity and disjoint predicates")
    )
    found.append(Candidate("neighbours", value))
    if len(each) == 1 or value >= sequential * (1 - _SAME):
        return tuple(found), "sequential"
    return tuple(found), "parallel" if parallel else ("pairs" if pairs else "neighbours")


def _value_partition(steps: Sequence[Step]) -> bool:
    """Whether the releases read disjoint sets of atoms, in mode common."""
    atoms: set[Any] = set()
    for step in steps:
        if not isinstance(step.map, ReadsCount | Select) or step.mode != "common":
            return False
        mine = set(step.map.atoms)
        if getattr(step.map, "records", None) is not None or atoms & mine:
            return False
        atoms |= mine
    return True


_REFERENCES = {
    "sequential": ("corollary 4.2", "corollary 4.17"),
    "parallel": ("theorems 4.6 and 4.11", "theorems 4.21 and 4.22"),
    "pairs": ("corollary 4.12", "corollary 4.23"),
    "neighbours": ("theorems 4.1 and 4.10", "theorems 4.16 and 4.18"),
}


def certificate_of(
    rule: str,
    unit: Granularity,
    steps: Sequence[Step],
    chosen: Sequence[int],
    *,
    gaussian: bool = False,
) -> Certificate:
    """The rule of a total, and what it takes for granted."""
    made = [steps[k] for k in chosen]
    if rule == "mixed":
        return Certificate(
            rule,
            "exact composition of pure, Gaussian and approximate releases "
            "(composition#mixed-releases)",
            (*_how_made(made), *_where_it_holds(unit, made)),
        )
    if rule == "tradeoff":
        where = "section 2.4 (tensor products); Dong, Roth, Su (2022)"
    else:
        where = _REFERENCES[rule][gaussian]
    if any(step.flags.map_depends_on_outputs for step in made):
        where += ", extended to maps chosen from earlier outputs: our own step"
    return Certificate(
        rule,
        f"Guerra-Balboa, dissertation, {where} (composition#accounting)",
        (*_how_made(made), *_where_it_holds(unit, made)),
    )


def _how_made(steps: Sequence[Step]) -> list[str]:
    """What the theorems ask of the way in which releases are made."""
    said = [
        "every guarantee holds whatever the earlier outputs were, and each release draws its own "
        "noise"
        if any(step.flags.reads_previous_outputs for step in steps)
        else "no release looks at earlier outputs, and each draws its own noise"
    ]
    choosing = [step for step in steps if step.flags.map_depends_on_outputs]
    if len(choosing) < len(steps):
        others = "what the other releases read" if choosing else "what a release reads"
        said.append(f"{others} was fixed in advance, not chosen from earlier outputs")
    if choosing:
        said.append(
            f"what {_named(choosing)} reads is chosen from earlier outputs among the maps named, "
            "and the worst of them counts for every pair of neighbours (our extension; pure "
            "releases only)"
        )
    hidden = [step for step in steps if not step.flags.released]
    if hidden:
        said.append(
            f"{_named(hidden)} is not published and counts all the same: what is published may "
            "carry what it said"
        )
    return said + [_preprocessed(step) for step in steps if step.preprocessing]


def _preprocessed(step: Step) -> str:
    """What is believed about preprocessing: its sensitivity is stated, and nobody checked it."""
    factors = [
        f"{p.name!r} not at all, fixed in advance"
        if p.sensitivity is None
        else f"{p.name!r} at most {p.sensitivity:g} times"
        for p in step.preprocessing
    ]
    return (
        f"preprocessing of {step.id!r} works on what its map gives and spreads neighbours apart as "
        f"stated, not checked: {', '.join(factors)}"
    )


def _where_it_holds(unit: Granularity, steps: Sequence[Step]) -> list[str]:
    """Between which data sets the guarantees are taken to hold."""
    said = []
    modes = {step.mode for step in steps}
    if "common" in modes:
        said.append(
            "mode common: the guarantee is about the whole release on the data set, and the "
            "release reads nothing but its map"
        )
    if "pre" in modes:
        said.append("mode pre: the guarantee is about the mechanism on what its map gives")
    silent = [step for step in steps if step.metric is None and not step.is_vector]
    if silent:
        all_ = len(silent) == len(steps)
        who = "no release states a metric" if all_ else f"{_named(silent)} states no metric"
        said.append(f"{who}: the guarantee is taken to be about {unit} neighbours")
    return said


def _named(steps: Sequence[Step]) -> str:
    names = [repr(step.id) for step in steps[:3]]
    more = len(steps) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def _tradeoff_total(unit: Granularity, steps: Sequence[Step], losses: Losses) -> Total:
    found = composed_curves(steps, losses)
    everything = range(len(steps))
    certificate = certificate_of("tradeoff", unit, steps, everything)
    if not found:
        return Total(unit, "tradeoff", 0.0, None, (), 0.0, certificate)
    gaps = [1.0 if curve is None else curve.total_variation for _, _, curve in found]
    worst = int(np.argmax(gaps))
    change, row, _ = found[worst]
    parts = tuple((s.id, float(v)) for s, v in zip(steps, row, strict=True) if v > 0)
    curves = tuple(curve for _, _, curve in found if curve is not None)
    from corrdp.metric.tradeoff import tensor

    whole = 1.0
    if np.isfinite(losses.each).all():
        alone = [curve_at(s, float(v)) for s, v in zip(steps, losses.each, strict=True) if v > 0]
        whole = tensor(*alone).total_variation
    return Total(unit, "tradeoff", gaps[worst], change, parts, whole, certificate, (), curves)
