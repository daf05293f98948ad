"""Noise when the bias is not known: estimate it privately, and be safe for all it may be.

The estimate is a release like any other. It costs half of epsilon and some of delta, and its secret
noise is never used again: what follows sees the noisy count alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from corrdp._binomial import bias_interval
from corrdp._checks import check_number
from corrdp._json import coded
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.mechanisms.tails import smallest_step, tail
from corrdp.partial.calibrating import UNIT, NoiseScale, noise_curve
from corrdp.partial.deltas import GAUSSIAN, ONCE, attacker
from corrdp.partial.intervals import CUT, WHERE, noise_after
from corrdp.partial.joint import JointNoise
from corrdp.partial.knowledge import (
    COUNTS,
    Knowledge,
    Noise,
    check_delta,
    check_knowledge,
    check_whole,
)
from corrdp.partial.mixtures import exact_gaussian
from corrdp.results import Certificate, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARE = (
    0.1  # of delta, for the sampling of the records and once more for the noise of the estimate
)


@dataclass(frozen=True)
class NoisyCount:
    """A count of ones that was released with discrete Laplace noise.

    Parameters
    ----------
    value : int
        Count plus noise; may lie outside 0..n.
    n : int
        Number of records.
    epsilon : float
        What it cost.

    Examples
    --------
    >>> NoisyCount(402, 1000, .25).radius(1e-5)
    46
    """

    value: int
    n: int
    epsilon: float
    scale: float = field(default=0.0)

    def __post_init__(self) -> None:
        number = check_number("value", self.value)
        if isinstance(self.value, bool) or not number.is_integer():
            raise InputError(f"value is a noisy count, a whole number, got {self.value!r}")
        check_whole("n", self.n, 1)
        level = check_positive("epsilon", self.epsilon)
        given = check_number("scale", self.scale)
        scale = check_positive("scale", given or 1 / level)
        if scale < (1 - 1e-12) / level:
            raise InputError(
                f"scale {scale:g} is less than 1/epsilon = {1 / level:g}: that costs more"
            )
        object.__setattr__(self, "scale", scale)

    def radius(self, miss: float) -> int:
        """Least r with which the noise exceeds r with probability at most ``miss``."""
        step = 1 / self.scale
        return smallest_step(lambda k: tail(k, step) * (1 + 1e-12), check_delta(miss)) - 1


def noisy_count(count: int, n: int, epsilon: float) -> NoisyCount:
    """Release a count of ones with OpenDP's discrete Laplace noise: epsilon is spent.

    Parameters
    ----------
    count : int
        The private count.
    n : int
    epsilon : float

    Examples
    --------
    >>> noisy_count(400, 1000, .25).epsilon
    0.25
    """
    from corrdp.mechanisms.sample import integer_mechanism, with_noise

    level, records = check_positive("epsilon", epsilon), check_whole("n", n, 1)
    ones = check_whole("count", count, 0)
    if ones > records:
        raise InputError(f"count = {ones} exceeds n = {records}")
    measurement, scale = integer_mechanism(1, 1, level, 1 / level)
    return NoisyCount(with_noise(measurement, [ones])[0], records, level, scale)


def _write_step(step: NoiseScale) -> dict[str, Any]:
    # the step knows of its own part of epsilon alone, where plain DP needs more
    data = step.to_dict()
    data["plain after the estimate"] = data.pop("plain")
    return data


def _read_step(data: dict[str, Any]) -> NoiseScale:
    step = dict(data)
    step["plain"] = step.pop("plain after the estimate")
    return NoiseScale.from_dict(step)


@dataclass(frozen=True, repr=False)
class EstimatedScale(Result):
    """The noise a count needs when its bias had to be estimated from the same records.

    Parameters
    ----------
    step : NoiseScale
        The noise, safe for every bias in the interval: its epsilon is that of both releases
        together, its delta what the interval leaves of delta.
    estimate : NoisyCount
        What was released to find the bias.
    epsilon, delta : float
        Of both releases together.
    plain : Noise
        What plain DP needs at that epsilon and delta, without any estimate.
    certificate : Certificate
    """

    result = "estimated noise scale"
    keys = "scale unit epsilon delta plain worthwhile estimate step certificate"
    more = True  # a command names the data
    unit: ClassVar[str] = UNIT

    step: NoiseScale = field(metadata=coded(_write_step, _read_step))
    estimate: NoisyCount
    epsilon: float
    delta: float
    plain: Noise = field(metadata=COUNTS)
    certificate: Certificate

    @property
    def scale(self) -> Noise:
        """Standard deviation of the noise on the count."""
        return self.step.scale

    @property
    def worthwhile(self) -> bool:
        """Whether this is less noise than plain DP needs for the same promise."""
        return self.scale < self.plain

    def __float__(self) -> float:
        return self.scale.counts

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return super().to_dict() | {"scale": self.scale.counts}

    def __repr__(self) -> str:
        verdict = (
            f"plain DP needs {self.plain}"
            if self.worthwhile
            else f"not worth it: plain DP needs only {self.plain} and no estimate"
        )
        low, high = self.step.bias
        k = self.step.knowledge
        lines = [
            f"Gaussian noise of standard deviation {self.scale} on the count (upper bound)",
            f"  promises     epsilon {self.epsilon:g}, delta {self.delta:g}, for both releases",
            f"  estimate     noisy count {self.estimate.value} of {self.estimate.n}: bias "
            f"{low:.6g} to {high:.6g}; it cost epsilon {self.estimate.epsilon:g} and delta "
            f"{self.delta - self.step.asked:.3g}",
            f"  attacker     knows {k.known} of {k.n} records",
            f"  verdict      {verdict}",
            f"  certificate  {self.certificate.name}: {self.certificate.reference}",
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.certificate.assumptions])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the noise against the number of unknown records; returns the axes.

        The estimate has cost part of epsilon and delta: the curve starts at what is needed with
        the rest of them, and plain DP is drawn without the estimate, at all of them.
        """
        from corrdp.plots.results import draw_ignorance

        after = self.step.plain.counts
        rivals = [("plain DP", self.plain.counts), ("all others known, after the estimate", after)]

        def natural(unknown: int, bias: float) -> JointNoise:
            cut = CUT * self.step.asked
            return JointNoise(unknown, bias, self.epsilon, self.estimate.scale, cut)

        return draw_ignorance(*noise_curve(self.step, natural), rivals, self.step.here, ax)


def estimated_noise_scale(
    epsilon: float,
    delta: float,
    knowledge: Knowledge,
    estimate: NoisyCount,
    *,
    active: bool = False,
) -> EstimatedScale:
    r"""Noise for a count whose bias is known only from a noisy count of the same records.

    .. math:: \delta = \kappa_2 + \kappa_L + \kappa_4, \qquad
              \beta = \sup_{p_- \le p \le p_+} \min\{b : \delta_p(\varepsilon; \varepsilon', b)
              \le \kappa_4\}

    where

    - epsilon' is what the noisy count cost (half of epsilon is usual),
    - kappa_L = delta/10 is the chance that its noise exceeds its radius,
    - kappa_2 = delta/10 that the share of ones is further from the bias than Chernoff's bound says;
      its value is given, so n - 1 records are random and the one attacked counts both ways,
    - delta_p is that of both releases together, the second with noise b
      (:class:`corrdp.partial.joint.JointNoise`), kappa_4 the rest of delta.

    Three obligations, proved in partial-knowledge#estimated-bias: the interval misses the bias with
    probability at most kappa_2 + kappa_L whatever the record is; the supremum is a true one, not
    one over a grid; and the two releases compose although they share their natural noise.

    Parameters
    ----------
    epsilon, delta : float
        Of both releases together.
    knowledge : Knowledge
    estimate : NoisyCount
        From :func:`noisy_count`.
    active : bool
        Whether the attacker may have planted the records that he knows. They then tell nothing of
        the bias: the interval comes from the others, whatever the planted ones are, and is wide
        where many are known.

    Returns
    -------
    EstimatedScale

    Notes
    -----
    A second or so; up to half a minute where some 50,000 unknown records and noise are needed
    together. Where the estimate did not pay, the noise is that of plain DP at what is left.

    References
    ----------
    Westenfeld, bachelor thesis, algorithm 2, corrected: as printed it uses the secret noise and
    the true count again, and compares noise on counts with noise on shares.

    Examples
    --------
    >>> found = estimated_noise_scale(.5, 1e-4, Knowledge(1000, 500), NoisyCount(402, 1000, .25))
    >>> [round(end, 3) for end in found.step.bias], found.worthwhile
    ([0.283, 0.527], True)
    >>> planted = estimated_noise_scale(.5, 1e-4, Knowledge(1000, 50), NoisyCount(402, 1000, .25),
    ...                                 active=True)
    >>> [round(end, 3) for end in planted.step.bias]
    [0.25, 0.552]
    """
    level = check_positive("epsilon", epsilon)
    goal = check_delta(delta)
    known = check_knowledge(knowledge)
    if not isinstance(estimate, NoisyCount):
        raise InputError(f"estimate must be a NoisyCount, got {estimate!r}")
    if estimate.n != known.n:
        raise InputError(
            f"the noisy count is of {estimate.n} records, the knowledge of {known.n}: the same "
            "records are meant"
        )
    if not estimate.epsilon < level:
        raise InputError(
            f"the noisy count cost epsilon {estimate.epsilon:g} and nothing is left of "
            f"{level:g}; ask for a larger total"
        )
    share = _SHARE * goal
    rest = (goal - 2 * share) * (1 - 1e-15)
    planted = known.known if active else 0
    random = known.n - 1 - planted
    low, high = _shares(estimate, share, planted)
    between = (0.0, 1.0) if random < 1 else bias_interval(low, high, random, share)
    step = noise_after(estimate, level, rest, known, between)
    certificate = Certificate(
        "estimated bias",
        f"private interval for the bias, then noise for all of it ({WHERE})",
        (
            "the records are independent of each other, each a one with the same probability, "
            "which need not be known",
            attacker(known),
            "the attacker may have planted the records that he knows"
            if active
            else "the attacker did not plant records: planted ones would spoil the estimate",
            f"the noisy count was released as well and cost epsilon {estimate.epsilon:g}; it is "
            "in no ledger but that of a release which it is part of",
            ONCE + "; the noisy count is counted in",
            *((GAUSSIAN,) if step.scale.counts else ()),
        ),
    )
    plain = exact_gaussian(level, goal).noise
    return EstimatedScale(step, estimate, level, goal, plain, certificate)


def _shares(estimate: NoisyCount, miss: float, planted: int = 0) -> tuple[float, float]:
    """Least and largest share of ones among the records besides the one attacked and planted."""
    radius, others = estimate.radius(miss), max(estimate.n - 1 - planted, 1)
    # the record was a one, and all planted ones; it was not, and none of them
    least = min(max(estimate.value - radius - 1 - planted, 0), others)
    most = min(max(estimate.value + radius, 0), others)
    return least / others, most / others
