"""How much noise is missing when the attacker does not know every record."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from corrdp._checks import old_attribute
from corrdp._invert import first_whole, last_below
from corrdp.errors import InfeasibleError
from corrdp.metric.curves import check_level
from corrdp.partial.deltas import (
    GAUSSIAN,
    NO_NOISE_NEEDED,
    ONCE,
    MixedNoise,
    NaturalNoise,
    attacker,
    independent,
)
from corrdp.partial.knowledge import (
    COUNTS,
    MOST_RECORDS,
    Knowledge,
    Noise,
    check_bias,
    check_delta,
    check_knowledge,
)
from corrdp.partial.mixtures import Mixture, exact_gaussian
from corrdp.results import Certificate, Kind, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PRECISION = 1e-10  # of the variance
_ROUGH = 1e-6  # the same where delta takes long
UNIT = "standard deviation of the noise on the count"

_POINTS = 25  # of the picture
_NOTHING = 1e-100  # variance of an unknown record below which all of them are no noise


@dataclass(frozen=True, repr=False)
class NoiseScale(Result):
    """The noise that a count needs against an attacker with partial knowledge.

    Parameters
    ----------
    scale : Noise
        Standard deviation of the Gaussian noise; 0 where natural noise is enough.
    delta : float
        What is reached with it, at most the delta asked for.
    epsilon, asked : float
        What was asked for; ``asked`` is a delta.
    knowledge : Knowledge
    bias : (float, float)
        The least and the largest share of ones that the scale holds for; of a mixture, those of
        its biases.
    noiseless : float
        delta without any noise, at the worse end of ``bias``.
    plain : Noise
        What differential privacy needs, whose attacker knows all other records.
    kind : str
        "exact" (least noise, rounded up by about 1e-10) or "upper bound".
    certificate : Certificate
    evaluations : int
        How often delta was computed.
    """

    result = "noise scale"
    keys = (
        "scale delta epsilon asked knowledge bias noiseless plain kind certificate evaluations unit"
    )
    unit: ClassVar[str] = UNIT

    scale: Noise = field(metadata=COUNTS)
    delta: float
    epsilon: float
    asked: float = field(metadata={"key": "target"})  # as files of version 0.1.0 say
    knowledge: Knowledge
    bias: tuple[float, float]
    noiseless: float
    plain: Noise = field(metadata=COUNTS)
    kind: Kind
    certificate: Certificate
    evaluations: int = 0
    target = old_attribute("target", "asked")

    def __float__(self) -> float:
        """Standard deviation of the noise on the count."""
        return self.scale.counts

    def __repr__(self) -> str:
        k = self.knowledge
        low, high = self.bias
        share = f"{low:g}" if low == high else f"{low:.6g} to {high:.6g}"
        lines = [
            f"Gaussian noise of standard deviation {self.scale} on the count ({self.kind})",
            f"  promises     epsilon {self.epsilon:g}, delta {self.delta:.6g} (asked for "
            f"{self.asked:g})",
            f"  attacker     knows {k.known} of {k.n} records; {k.unknown} are noise to him",
            f"  bias         {share}",
            f"  without      delta {self.noiseless:.6g} if no noise is added",
            f"  plain DP     needs {self.plain}, whatever the attacker knows",
            f"  certificate  {self.certificate.name}: {self.certificate.reference}",
        ]
        if not self.scale.counts:
            lines.append(f"  CAUTION      {NO_NOISE_NEEDED}")
        return "\n".join(lines + [f"  assumes      {a}" for a in self.certificate.assumptions])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the noise against the number of unknown records; returns the axes."""
        from corrdp.plots.results import draw_ignorance

        return draw_ignorance(*noise_curve(self), [("plain DP", self.plain.counts)], self.here, ax)

    @property
    def here(self) -> tuple[int, float, str]:
        """The point of the picture: records unknown, the noise on the count, and it in words."""
        return self.knowledge.unknown, self.scale.counts, str(self.scale)


def noise_curve(
    found: NoiseScale, natural_at: Callable[[int, float], Natural] | None = None
) -> tuple[np.ndarray, list[float]]:
    """Noise against unknown records at the worse end of the bias, dense where it is steep.

    Parameters
    ----------
    found : NoiseScale
    natural_at : callable, optional
        What so many unknown records of a bias hide; of a count that is released once if left out.

    Examples
    --------
    >>> unknown, noise = noise_curve(noise_scale(.5, 1e-3, Knowledge(100, 60), .4))
    >>> noise[0] > noise[-1]
    True
    """
    natural_at = natural_at or (lambda unknown, p: NaturalNoise(unknown, p, found.epsilon))
    bias = max(found.bias, key=lambda p: abs(p - 0.5))
    plain, natural = found.plain.counts, bias * (1 - bias)
    if natural > _NOTHING:
        # noise is gone a little after natural noise alone has the variance of plain DP's
        gone = plain**2 / natural
        most = min(found.knowledge.n - 1, max(1.3 * gone, 1.1 * found.knowledge.unknown))
        grid = np.unique(np.linspace(0, most, _POINTS).astype(int))
        near = np.linspace(0.7 * gone, 1.15 * gone, _POINTS)
        grid = np.unique(np.concatenate([grid, near[near <= most].astype(int)]))
    else:
        grid = np.array([0, found.knowledge.n - 1])

    def needed(unknown: int) -> float:
        if not 0 < bias < 1:
            return plain
        return least_noise(found.asked, natural_at(unknown, bias), found.plain).scale.counts

    return grid, [needed(int(unknown)) for unknown in grid]


def noise_scale(
    epsilon: float, delta: float, knowledge: Knowledge, bias: float | Mixture
) -> NoiseScale:
    r"""The least Gaussian noise with which a count is (epsilon, delta)-private, rounded up.

    .. math:: \beta^* = \min \{\beta \ge 0 : \delta_\beta(\varepsilon) \le \delta\}

    where delta_beta is :func:`corrdp.partial.deltas.partial_delta`, which falls with beta because
    more noise is less noise plus independent noise. If it is small enough at 0 that is the answer;
    otherwise the root lies between 0 and what plain DP needs, close to
    sqrt(sigma^2 - N p (1 - p)).

    Parameters
    ----------
    epsilon : float
    delta : float
        Strictly between 0 and 1.
    knowledge : Knowledge
    bias : float or Mixture
        Share of ones among independent records, strictly between 0 and 1; or a mixture, for
        records that depend on each other through a common bias: then noise against attackers who
        may have planted what they know, and more than plain DP where dependence helps them. It must
        be public: one computed from the private data is itself a release (see
        :func:`corrdp.partial.estimating.estimated_noise_scale`).

    Returns
    -------
    NoiseScale

    Notes
    -----
    About 10 evaluations of delta, each O(sqrt(N)); of a mixture O(known N).

    References
    ----------
    Westenfeld, bachelor thesis, algorithm 1, which does not end where natural noise is enough;
    this form does (partial-knowledge#missing-noise).

    Examples
    --------
    >>> found = noise_scale(.5, 1e-3, Knowledge(100, known=60), .4)
    >>> round(float(found), 6), round(found.plain.counts, 6)
    (3.564936, 4.610128)
    >>> noise_scale(1, 1e-3, Knowledge(1000, known=500), .5).scale
    Noise(counts=0.0)
    >>> mixed = noise_scale(1, 1e-3, Knowledge(20, known=10), Mixture([.3, .7], [.5, .5]))
    >>> mixed.scale > mixed.plain
    True
    """
    level, goal = check_level("epsilon", epsilon), check_delta(delta)
    known = check_knowledge(knowledge)
    if isinstance(bias, Mixture):
        return _of_mixture(level, goal, known, bias)
    p, plain = check_bias(bias), exact_gaussian(level, goal).noise
    found = least_noise(goal, NaturalNoise(known.unknown, p, level), plain)
    reference = "root of a falling delta, zero-noise exit (partial-knowledge#missing-noise)"
    assumed = (
        independent(f"{p:g}"),
        "the bias is public: it was not computed from these records",
        attacker(known),
        ONCE,
        *((GAUSSIAN,) if found.scale.counts else ()),
    )
    return NoiseScale(
        found.scale,
        found.delta,
        level,
        goal,
        known,
        (p, p),
        found.noiseless,
        plain,
        "exact",
        Certificate("natural noise", reference, assumed),
        found.evaluations,
    )


@dataclass(frozen=True)
class Least:
    """What a search found: noise, its delta, delta without any, and how often delta was asked."""

    scale: Noise
    delta: float
    noiseless: float
    evaluations: int


class Natural(Protocol):
    """What the records that nobody knows hide of a count."""

    @property
    def variance(self) -> float:
        """Theirs."""

    def delta(self, beta: float) -> float:
        """What noise of standard deviation ``beta`` leaves."""


def least_noise(
    delta: float, natural: Natural, enough: Noise, within: float = _PRECISION / 8
) -> Least:
    """The root search behind :func:`noise_scale`, on arguments that were checked.

    ``enough`` is noise that suffices by theorem, whatever the records hide.
    """
    asked: dict[float, float] = {}  # delta by noise

    def off(variance: float) -> float:
        beta = math.sqrt(variance)
        if beta not in asked:
            asked[beta] = natural.delta(beta)
        return math.log(asked[beta] / delta)

    if off(0.0) > 0:
        # it is enough however delta rounds in its neighbourhood
        asked[enough.counts] = min(delta, natural.delta(enough.counts))
        most = enough.counts**2
        last_below(
            lambda share: off(most * (1.0 - share)),
            0.0,
            1.0,
            natural.variance / most,
            within=within,
        )
    best = min(beta for beta, reached in asked.items() if reached <= delta)
    return Least(Noise(best), asked[best], asked[0.0], len(asked))


def _of_mixture(epsilon: float, delta: float, knowledge: Knowledge, mixture: Mixture) -> NoiseScale:
    """Noise against whoever planted what he knows; plain DP's need not be enough."""
    natural = MixedNoise(knowledge, mixture, epsilon)
    plain = exact_gaussian(epsilon, delta).noise
    enough = plain
    while natural.delta(enough.counts) > delta:
        enough = Noise(2.0 * enough.counts)
    found = least_noise(delta, natural, enough, _ROUGH)
    reference = (
        "root of a falling delta, given what was seen (partial-knowledge#dependence-and-ignorance)"
    )
    assumed = (
        mixture.words,
        "the mixture is public: it was not computed from these records",
        attacker(knowledge),
        ONCE,
        *((GAUSSIAN,) if found.scale.counts else ()),
    )
    ends = (min(mixture.biases), max(mixture.biases))
    return NoiseScale(
        found.scale, found.delta, epsilon, delta, knowledge, ends, found.noiseless, plain, "exact",
        Certificate("exchangeable records", reference, assumed), found.evaluations,
    )  # fmt: skip


@dataclass(frozen=True, repr=False)
class Noiseless(Result):
    """How many records must be unknown for a count to need no noise.

    Parameters
    ----------
    unknown : int
        Records besides the one attacked; with one fewer, noise is needed.
    delta : float
        Reached with them.
    epsilon, asked, bias : float
        What was asked for; ``asked`` is a delta.
    certificate : Certificate
    """

    result = "noiseless"

    unknown: int
    delta: float
    epsilon: float
    asked: float = field(metadata={"key": "target"})  # as files of version 0.1.0 say
    bias: float
    certificate: Certificate
    target = old_attribute("target", "asked")

    def __int__(self) -> int:
        return self.unknown

    def __repr__(self) -> str:
        lines = [
            f"{self.unknown} unknown records are noise enough for epsilon {self.epsilon:g}, delta "
            f"{self.asked:g} at bias {self.bias:g} (delta {self.delta:.6g})",
            f"  certificate  {self.certificate.name}: {self.certificate.reference}",
        ]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.certificate.assumptions])


def noiseless_records(epsilon: float, delta: float, bias: float) -> Noiseless:
    r"""How many unknown records make noise unnecessary.

    .. math:: N^* = \min \{N : H_\varepsilon(1 + X \| X) \le \delta \text{ and }
              H_\varepsilon(X \| 1 + X) \le \delta\}, \qquad X \sim \mathrm{Bin}(N, p)

    where both fall with N, because one more record is independent noise; as a rule of thumb
    N p (1 - p) must reach the variance that plain DP needs.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
    bias : float

    Returns
    -------
    Noiseless

    References
    ----------
    Bhaskar et al., "Noiseless database privacy" (2011); partial-knowledge#missing-noise.

    Examples
    --------
    >>> noiseless_records(.5, 1e-6, .25).unknown
    418
    """
    level, goal, p = check_level("epsilon", epsilon), check_delta(delta), check_bias(bias)

    def reached(unknown: int) -> float:
        return NaturalNoise(unknown, p, level).delta(0.0)

    thumb = exact_gaussian(level, goal).noise.counts ** 2 / (p * (1 - p))
    few, many = -1, max(1, int(min(thumb, 1e300)))  # infinite for the least biases
    while many > MOST_RECORDS or reached(many) > goal:
        if many > MOST_RECORDS:
            raise InfeasibleError(
                f"about {many:.1e} unknown records or more would be needed at epsilon {level:g}, "
                f"delta {goal:g}, bias {p:g}: add noise, see noise_scale"
            )
        few, many = many, 2 * many
    many = first_whole(lambda unknown: reached(unknown) <= goal, few, many)
    reference = "least N of a falling delta (partial-knowledge#missing-noise)"
    certificate = Certificate("natural noise", reference, (independent(f"{p:g}"), ONCE))
    return Noiseless(many, reached(many), level, goal, p, certificate)
