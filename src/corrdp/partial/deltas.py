"""delta of a noisy count, for an attacker who does not know every record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from corrdp._binomial import log_binomial
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


def _of_mixture(
    epsilon: float, knowledge: Knowledge, mixture: Mixture, beta: float
) -> PartialDelta:
    if knowledge.known > _MOST_CLASSES:
        raise RefusedError(
            f"a mixture takes one computation for each of the {knowledge.known + 1} things that "
            f"the attacker can have seen, and at most {_MOST_CLASSES} are done; ask for fewer "
            "known records"
        )
    if beta > _DROWNED:
        raise InputError(
            f"noise {beta:g} on a count of at most {MOST_RECORDS:.0e} drowns it; ask for at most "
            f"{_DROWNED:g}"
        )
    level = min(epsilon, LARGEST_EPSILON)
    found = [
        tuple(pair.hockey_stick(beta) for pair in mixture.pairs(knowledge, hits, level))
        for hits in range(knowledge.known + 1)
    ]
    ones, zeros = zip(*found, strict=True)
    mean = (
        float(mixture.seen(knowledge.known, a) @ values) for a, values in ((1, ones), (0, zeros))
    )
    reference = "half-line test given what was seen (partial-knowledge#dependence-and-ignorance)"
    law = f"with probability {mixture.weights} all records have the bias {mixture.biases}"
    assumed = (law, attacker(knowledge), ONCE, *((GAUSSIAN,) if beta else ()))
    certificate = Certificate("exchangeable records", reference, assumed)
    active = max(*ones, *zeros)
    # the sums over what was seen round by less than this
    passive = min(active, max(mean) * (1 + 1e-11))
    return PartialDelta(active, passive, max(ones), max(zeros), "exact", certificate)
