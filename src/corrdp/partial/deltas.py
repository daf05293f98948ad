"""delta of a noisy count, for an attacker who does not know every record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corrdp._binomial import log_binomial
from corrdp._checks import check_number
from corrdp.errors import InputError, RefusedError
from corrdp.metric.curves import check_level
from corrdp.metric.tradeoff import delta_for
from corrdp.partial.knowledge import (
    MOST_RECORDS,
    Knowledge,
    Noise,
    check_bias,
    check_knowledge,
    check_noise,
)
from corrdp.partial.mixtures import LARGEST_EPSILON, NO_NOISE, LatticePair, Mixture, odds_pair
from corrdp.results import Certificate, Kind, Result

ONCE = (
    "one count is released, once: two counts whose difference concerns few records have no natural "
    "noise left"
)
NO_NOISE_NEEDED = (
    "no noise at all rests on the assumptions alone: records with different probabilities of being "
    "counted hide less than their mean says, and dependent ones may hide nothing. Give the "
    "probability of the least variable group and count all other records as known, or add noise"
)
GAUSSIAN = "the noise is continuous Gaussian noise, drawn without floating-point side channels"
_MOST_CLASSES = 20_000
# expected ones (or zeros) among the unknown records; below, even e^300 times as many are none
_NOTHING = 1e-200
_DROWNED = 1e50  # noise beyond which natural noise, at most 5e4, changes no digit


def attacker(knowledge: Knowledge) -> str:
    """What is taken for granted about the attacker, in words."""
    return (
        f"the attacker knows at most {knowledge.known} of the {knowledge.n} records, and nothing "
        "about the others but their law"
    )


def independent(bias: str) -> str:
    """What is taken for granted about the records, in words."""
    return (
        f"the records are independent of each other, each a one with the same probability {bias}: "
        "a mean over records of different probabilities is not enough"
    )


class NaturalNoise:
    """Independent records that the attacker does not know, as noise on a count.

    The probabilities are computed once and serve every level of added noise.
    """

    def __init__(self, unknown: int, bias: float, epsilon: float) -> None:
        if unknown * min(bias, 1.0 - bias) < _NOTHING:
            # fewer unknown records never help the user: plain DP is a bound, here a sharp one
            unknown, bias = 0, 0.5
        self.unknown, self.bias = unknown, bias
        self.asked, self.epsilon = epsilon, min(epsilon, LARGEST_EPSILON)

    @property
    def variance(self) -> float:
        """Of the records that are noise to the attacker."""
        return self.unknown * self.bias * (1 - self.bias)

    @cached_property
    def _pairs(self) -> tuple[LatticePair, LatticePair]:
        first, logs = log_binomial(self.unknown, self.bias)
        back, left = logs[::-1], self.unknown - (first + len(logs) - 1)
        odds = self.bias / (1.0 - self.bias)
        return (
            odds_pair(first, logs, logs[0], self.unknown, odds, self.epsilon),
            odds_pair(left, back, back[0], self.unknown, 1 / odds, self.epsilon),
        )

    def deltas(self, beta: float) -> tuple[float, float]:
        """Target 1 against 0, and 0 against 1; rounded up, O(sqrt(unknown))."""
        # added noise alone already gives this much: more noise never hurts
        plain = delta_for(1 / beta, self.asked) if beta > NO_NOISE else 1.0
        if beta > _DROWNED:
            return plain, plain
        one, zero = self._pairs
        first = one.hockey_stick(beta)
        same = self.bias == 0.5
        return min(plain, first), min(plain, first if same else zero.hockey_stick(beta))

    def delta(self, beta: float) -> float:
        """The larger of the two."""
        return max(self.deltas(beta))


@dataclass(frozen=True)
class PartialLoss:
    r"""The privacy loss of a count of independent records, to an attacker who knows some of them.

    .. math:: L(x) = \ln \frac{\sum_k w_k\, \varphi((x - 1 - k)/\beta)}
              {\sum_k w_k\, \varphi((x - k)/\beta)}

    where x is the answer less the known ones, and w the binomial law of the N unknown records, for
    the record 1 against 0. It rises with x (partial-knowledge#natural-noise).

    Parameters
    ----------
    knowledge : Knowledge
    bias : float
    noise : Noise

    Examples
    --------
    >>> loss = PartialLoss(Knowledge(8, known=4), .4)
    >>> [round(loss.at(x), 6) for x in range(5)]
    [-inf, -0.693147, 0.405465, 1.504077, inf]
    >>> round(loss.exceeds(.5), 3), round(loss.delta(.5), 6)
    (0.352, 0.291876)
    """

    knowledge: Knowledge
    bias: float
    noise: Noise = Noise(0.0)  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        check_knowledge(self.knowledge)
        check_noise(self.noise)
        object.__setattr__(self, "bias", check_bias(self.bias))

    def at(self, x: float) -> float:
        """The loss of an answer, ``x`` ones among the records that are not known; O(sqrt(N)).

        inf where the record must be 1, -inf where it must be 0; an answer without noise is a whole
        number from 0 to N + 1.
        """
        answer, unknown, beta = check_number("x", x), self.knowledge.unknown, self.noise.counts
        if beta == 0.0:
            if not (answer.is_integer() and 0 <= answer <= unknown + 1):
                raise InputError(f"without noise x is one of 0 to {unknown + 1}, got {x!r}")
            with np.errstate(divide="ignore"):
                seen = np.log(answer) - np.log(unknown + 1 - answer)
            return float(seen + math.log1p(-self.bias) - math.log(self.bias))
        first, logs = log_binomial(unknown, self.bias)
        away = answer - first - np.arange(len(logs))
        one, zero = (np.logaddexp.reduce(logs - ((away - a) / beta) ** 2 / 2) for a in (1, 0))
        return float(one - zero)

    def exceeds(self, epsilon: float) -> float:
        """Probability of a loss above ``epsilon`` if the record is 1; about 1e-9 off."""
        from scipy.special import ndtr

        level, beta = check_level("epsilon", epsilon), self.noise.counts
        first, logs = log_binomial(self.knowledge.unknown, self.bias)
        masses, ones = np.exp(logs), first + 1.0 + np.arange(len(logs))
        if beta == 0.0:
            return float(masses @ [self.at(x) > level for x in ones.tolist()])
        from scipy.optimize import brentq

        low = high = float(masses @ ones)
        while self.at(low) > level:
            low -= 1 + 2 * (high - low)
        while self.at(high) < level:
            high += 1 + 2 * (high - low)
        edge = brentq(lambda x: self.at(x) - level, low, high) if low < high else low
        return float(masses @ ndtr((ones - edge) / beta))

    def delta(self, epsilon: float) -> float:
        """What :func:`partial_delta` says, rounded up: of both directions the larger."""
        return partial_delta(epsilon, self.knowledge, self.bias, self.noise).active


@dataclass(frozen=True, repr=False)
class PartialDelta(Result):
    """How much more than epsilon a count can tell an attacker with partial knowledge.

    Parameters
    ----------
    active : float
        delta for the worst values of the known records (APK-DP): the attacker may have planted
        them.
    passive : float
        Mean over them of the delta that holds given what was seen (PPK-DP): the attacker only
        looked. Not the delta of what was seen and the output together, which is larger where
        the record attacked moves the law of the known records.
    if_one, if_zero : float
        The two directions of ``active``: the record is 1 and not 0, and the other way round.
    kind : str
    certificate : Certificate
    """

    result = "partial delta"
    number = "active"  # never smaller than the passive one

    active: float
    passive: float
    if_one: float
    if_zero: float
    kind: Kind
    certificate: Certificate

    def __repr__(self) -> str:
        lines = [f"delta {self.active:.6g} (active), {self.passive:.6g} (passive), {self.kind}"]
        lines.append(f"  certificate  {self.certificate.name}: {self.certificate.reference}")
        return "\n".join(lines + [f"  assumes      {a}" for a in self.certificate.assumptions])


def partial_delta(
    epsilon: float,
    knowledge: Knowledge,
    bias: float | Mixture,
    noise: Noise = Noise(0.0),  # noqa: B008 - frozen
) -> PartialDelta:
    r"""The least delta for which a noisy count is (epsilon, delta)-private against the attacker.

    .. math:: \delta = \max\{H_\varepsilon(P_1 \| P_0), H_\varepsilon(P_0 \| P_1)\}, \qquad
              P_a = \text{law of } a + \mathrm{Bin}(N, p) + \mathcal N(0, \beta^2)

    where

    - N is the number of unknown records besides the one attacked, p their bias, beta the noise,
    - H is the hockey-stick divergence, by the closed route of :mod:`corrdp.partial.mixtures`,
    - the known records are a known shift, so that with independent records active and passive
      attackers are the same. With a :class:`Mixture` they are not: what the attacker sees moves
      the law of the rest.

    Parameters
    ----------
    epsilon : float
    knowledge : Knowledge
    bias : float or Mixture
        Share of ones among independent records; or a mixture, for records that depend on each
        other through a common bias.
    noise : Noise
        Gaussian noise added to the count; none if left out (noiseless privacy).

    Returns
    -------
    PartialDelta
        Rounded up: never below the exact value, and above it by about 1e-12 (relative; 1e-8 at
        worst, where delta is far below the tail it is a difference of).

    Notes
    -----
    O(sqrt(N)) for a bias; a mixture takes O(N) for each of the ``known + 1`` things that the
    attacker can have seen.

    References
    ----------
    Desfontaines et al., "Differential privacy with partial knowledge" (2019), definitions of
    APK-DP and PPK-DP; partial-knowledge#natural-noise.

    Examples
    --------
    >>> partial_delta(.5, Knowledge(8, known=4), .4).active.__round__(10)
    0.2918762055
    >>> found = partial_delta(1, Knowledge(20, 10), Mixture([.3, .7], [.5, .5]), Noise(2.0))
    >>> round(found.active, 6), round(found.passive, 6)
    (0.059928, 0.015658)
    """
    level, known = check_level("epsilon", epsilon), check_knowledge(knowledge)
    beta = check_noise(noise).counts
    if isinstance(bias, Mixture):
        return _of_mixture(level, known, bias, beta)
    p = check_bias(bias)
    one, zero = NaturalNoise(known.unknown, p, level).deltas(beta)
    worst = max(one, zero)
    reference = "half-line test of binomial plus Gaussian noise (partial-knowledge#natural-noise)"
    assumed = (independent(f"{p:g}"), attacker(known), ONCE, *((GAUSSIAN,) if beta else ()))
    certificate = Certificate("natural noise", reference, assumed)
    return PartialDelta(worst, worst, one, zero, "exact", certificate)


class MixedNoise:
    """The same for records that depend on each other through a common bias.

    Parameters
    ----------
    knowledge : Knowledge
    mixture : Mixture
    epsilon : float
    """

    variance = 0.0  # what they hide is less than their variance says

    def __init__(self, knowledge: Knowledge, mixture: Mixture, epsilon: float) -> None:
        if knowledge.known > _MOST_CLASSES:
            raise RefusedError(
                f"a mixture takes one computation for each of the {knowledge.known + 1} things "
                f"that the attacker can have seen, and at most {_MOST_CLASSES} are done; ask for "
                "fewer known records"
            )
        self.knowledge, self.mixture = knowledge, mixture
        self.epsilon = min(epsilon, LARGEST_EPSILON)

    def by_class(self, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """The record 1 against 0, and 0 against 1, for each number of ones that was seen."""
        if beta > _DROWNED:
            raise InputError(
                f"noise {beta:g} on a count of at most {MOST_RECORDS:.0e} drowns it; ask for at "
                f"most {_DROWNED:g}"
            )
        found = np.array([
            [pair.hockey_stick(beta) for pair in
             self.mixture.pairs(self.knowledge, hits, self.epsilon)]
            for hits in range(self.knowledge.known + 1)
        ])  # fmt: skip
        return found[:, 0], found[:, 1]

    def delta(self, beta: float) -> float:
        """Of the attacker who planted what he saw."""
        return float(max(map(np.max, self.by_class(beta))))


def _of_mixture(
    epsilon: float, knowledge: Knowledge, mixture: Mixture, beta: float
) -> PartialDelta:
    ones, zeros = MixedNoise(knowledge, mixture, epsilon).by_class(beta)
    mean = (
        float(mixture.seen(knowledge.known, a) @ values) for a, values in ((1, ones), (0, zeros))
    )
    reference = "half-line test given what was seen (partial-knowledge#dependence-and-ignorance)"
    assumed = (mixture.words, attacker(knowledge), ONCE, *((GAUSSIAN,) if beta else ()))
    certificate = Certificate("exchangeable records", reference, assumed)
    one, zero = float(ones.max()), float(zeros.max())
    active = max(one, zero)
    # the sums over what was seen round by less than this
    passive = min(active, max(mean) * (1 + 1e-11))
    return PartialDelta(active, passive, one, zero, "exact", certificate)
