"""risk: what a guarantee means to somebody who is attacked, in sentences and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.bounds.base import ROUNDING
from corrdp.encoding import SCHEMA, check_header, encode
from corrdp.errors import InputError
from corrdp.guarantees import GDP, Approximate, Guarantee, Pure
from corrdp.reconstruction.bounds import rad_bound
from corrdp.reconstruction.promises import promise_of
from corrdp.reconstruction.robustness import rero_bound
from corrdp.reconstruction.threats import Threat
from corrdp.results import Calibration, Leakage, Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
            f"{self.name}: right at most {100 * self.success:.1f} % of the time, where guessing "
            f"without the release is right {100 * self.without:.1f} % of the time"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Risk:
    """What attackers gain from a release, at most.

    Parameters
    ----------
    guarantee : Guarantee
        What the release promises.
    rows : tuple of RiskRow
    assumptions : tuple of str
    """

    guarantee: Guarantee
    rows: tuple[RiskRow, ...]
    assumptions: tuple[str, ...]

    def __float__(self) -> float:
        """The largest share of total disclosure over the threats."""
        return max(row.share for row in self.rows)

    def __repr__(self) -> str:
        lines = [f"Risk under {self.guarantee}", *(f"  {row}" for row in self.rows), ""]
        lines.append(
            f"  {'threat':<28} {'without':>8} {'success':>8} {'advantage':>10} {'share':>7}"
        )
        lines += [
            f"  {row.name:<28} {row.without:>8.4f} {row.success:>8.4f} {row.advantage:>10.6f} "
            f"{row.share:>7.4f}  {row.certificate}"
            for row in self.rows
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "corrdp": SCHEMA,
            "result": "risk",
            "guarantee": _guarantee_to_dict(self.guarantee),
            "rows": [encode(vars(row)) for row in self.rows],
            "assumptions": list(self.assumptions),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Risk:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "risk")
        kinds: dict[str, Any] = {"Pure": Pure, "Approximate": Approximate, "GDP": GDP}
        promise = dict(data["guarantee"])
        guarantee = kinds[promise.pop("guarantee")](**promise)
        rows = tuple(RiskRow(**row) for row in data["rows"])
        return cls(guarantee, rows, tuple(data["assumptions"]))

    def plot(self, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
        """Draw the trade-off curve, and the advantage against epsilon; returns both axes."""
        from corrdp.report.risks import draw_risk

        return draw_risk(self, axes)


def risk(guarantee: Any, threats: Mapping[str, Threat] | None = None) -> Risk:
    """What an attacker gains, for membership, an attribute and a whole value.

    Parameters
    ----------
    guarantee : float, guarantee, mechanism, Release, Calibration or Leakage
        A number is epsilon on independent records. A release (or the calibration or leakage behind
        it) stands for what it leaks on its model: dependence is then counted in.
    threats : mapping of name to Threat, optional
        Left out: membership, a yes/no attribute at even odds, and one of ten equally likely values.

    Returns
    -------
    Risk

    Notes
    -----
    The success of an attacker is at most the best guess from what he knows beforehand plus the
    advantage (and at most the reconstruction bound where he knows nothing); that of one who has
    the record and asks whether it was used, at even odds, (1 + share) / 2.

    References
    ----------
    Guerra-Balboa, dissertation, chapter 5; docs/theorems.md#risk-bounds.

    Examples
    --------
    >>> print(risk(1.0).rows[0])
    membership: right at most 73.1 % of the time, where guessing without the release is right 50.0 \
% of the time
    """
    promise, said = _promise(guarantee)
    if threats is not None and not isinstance(threats, Mapping):
        raise InputError("threats must be a mapping from names to Threat(prior, ...)")
    asked = uniform_threats() if threats is None else dict(threats)
    if not asked or not all(isinstance(t, Threat) for t in asked.values()):
        raise InputError("threats must be a mapping from names to Threat(prior, ...)")
    rows = tuple(_row(name, threat, promise) for name, threat in asked.items())
    return Risk(promise, rows, said)


def usual_threats(name: str, prior: Sequence[float] | np.ndarray) -> dict[str, Threat]:
    """Membership, a yes/no attribute at even odds, and a whole value with this prior."""
    return {
        "membership": Threat.membership([0.5, 0.5]),
        "a yes/no attribute": Threat.attribute([0.5, 0.5], secret=["no", "yes"]),
        name: Threat.reconstruction(prior),
    }


def uniform_threats(values: int = 10) -> dict[str, Threat]:
    """The usual threats, the whole value being one of so many that are equally likely."""
    return usual_threats(f"one of {values} values", [1 / values] * values)


def _promise(given: Any) -> tuple[Guarantee, tuple[str, ...]]:
    """The guarantee about one record, and what it rests on."""
    if isinstance(given, Calibration):
        given = given.leakage
    if isinstance(given, Leakage | Release):
        level = given.value if isinstance(given, Leakage) else given.leakage
        said = given.certificate.assumptions
        text = f"epsilon is what leaks on the model, {float(level):.6g}, proved by "
        return Pure(float(level)), (f"{text}{given.certificate.name}", *said)
    try:
        return promise_of(given), ("the records are independent of each other",)
    except TypeError:
        raise InputError(
            f"expected epsilon, a guarantee, a mechanism or a release, got {given!r}"
        ) from None


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


def _guarantee_to_dict(guarantee: Guarantee) -> dict[str, Any]:
    if not isinstance(guarantee, Pure | Approximate | GDP):
        raise InputError("a trade-off curve has no plain JSON; give epsilon, delta or mu")
    return {"guarantee": type(guarantee).__name__, **encode(vars(guarantee))}
