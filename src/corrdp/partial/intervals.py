"""Noise that is enough for every bias of an interval, cell by cell of biases.

A record of bias p is one of bias r with some probability and else a sure one (or zero), and an
attacker who is told which are sure is not weaker. So one computation at r covers a whole cell.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from corrdp._checks import check_items, check_number
from corrdp._invert import first_whole
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.partial.calibrating import NoiseScale, least_noise
from corrdp.partial.deltas import GAUSSIAN, ONCE, NaturalNoise, attacker
from corrdp.partial.joint import JointNoise
from corrdp.partial.knowledge import Knowledge, Noise, check_delta, check_knowledge
from corrdp.partial.mixtures import exact_gaussian
from corrdp.results import Certificate

if TYPE_CHECKING:
    from corrdp.partial.estimating import NoisyCount

_SET_ASIDE = 1e-3  # of delta, for cells in which more records than thought are fixed
_CELLS = 8  # of an interval of biases, where delta takes long
_NEARLY = 1e-3  # of the variance, there
CUT = 1e-4  # of delta, for counts that are left out there
_RARE = 0.02  # expected number of fixed records below which cells are not halved
WHERE = "partial-knowledge#estimated-bias"


def noise_over(
    epsilon: float, delta: float, knowledge: Knowledge, between: tuple[float, float]
) -> NoiseScale:
    r"""Noise that is enough for every bias of an interval.

    .. math:: \delta_N(p) \le \delta_{N-K}(r) + \Pr[\mathrm{Bin}(N, 1 - \lambda) > K], \qquad
              \lambda = \frac{1 - p}{1 - r}

    where r <= p: a record of bias p is one of bias r with probability lambda and else a sure one,
    and an attacker who is told which are sure is not weaker. (For r >= p, sure zeros and
    lambda = p/r.) So one computation at r covers a whole cell of biases; cells are halved until all
    of them are covered. The worst bias need not be at an end of the interval.

    Parameters
    ----------
    epsilon, delta : float
    knowledge : Knowledge
    between : (float, float)
        The least and the largest bias, from 0 to 1.

    Returns
    -------
    NoiseScale
        An upper bound: a little more than the worst bias needs, as if a few of the unknown records
        were known.

    References
    ----------
    partial-knowledge#estimated-bias.

    Examples
    --------
    >>> found = noise_over(.25, 8e-5, Knowledge(1000, 500), (.284, .526))
    >>> round(float(found), 1)
    5.6
    """
    level, goal = check_positive("epsilon", epsilon), check_delta(delta)
    known = check_knowledge(knowledge)
    ends = [check_number("between", end) for end in check_items("between", between)]
    if len(ends) != 2:
        raise InputError(f"between holds two biases in rising order, got {between!r}")
    low, high = ends
    if not 0 <= low <= high <= 1:
        raise InputError(f"between holds two biases in rising order, got {between!r}")
    plain = exact_gaussian(level, goal).noise
    cover = _Cover(level, goal, known.unknown, (low, high))
    if low == 0.0 or high == 1.0 or known.unknown == 0:
        scale, reached, noiseless = plain, exact_gaussian(level, goal).delta, 1.0
    else:
        scale, noiseless = cover.least(plain)
        reached = goal
    reference = f"cells of biases, each told apart from its end ({WHERE})"
    assumed = _assumed(known, (low, high), scale)
    certificate = Certificate("natural noise of an interval", reference, assumed)
    return NoiseScale(
        scale, reached, level, goal, known, (low, high), noiseless, plain, "upper bound",
        certificate, cover.evaluations,
    )  # fmt: skip


def noise_after(
    estimate: NoisyCount,
    epsilon: float,
    delta: float,
    knowledge: Knowledge,
    between: tuple[float, float],
) -> NoiseScale:
    """Noise of a second release, enough for every bias of an interval, both taken together.

    Parameters
    ----------
    estimate : NoisyCount
        The first release.
    epsilon, delta : float
        Of both together.
    knowledge : Knowledge
    between : (float, float)

    Examples
    --------
    >>> from corrdp.partial.estimating import NoisyCount
    >>> first, attacker = NoisyCount(4000, 10_000, .1), Knowledge(10_000, 9000)
    >>> found = noise_after(first, .2, 8e-6, attacker, (.36, .44))
    >>> float(found) < 10.0 < found.plain.counts
    True
    """
    left = math.nextafter(epsilon - estimate.epsilon, 0.0)
    plain, unknown = exact_gaussian(left, delta).noise, knowledge.unknown
    inside = unknown > 0 and between[0] > 0.0 and between[1] < 1.0
    scale, evaluations = plain, 0
    noiseless = 1.0
    if inside:
        scale, evaluations = _jointly(estimate, epsilon, delta, unknown, between, plain)
        noiseless = max(NaturalNoise(unknown, p, epsilon).delta(0.0) for p in between)
    certificate = Certificate(
        "natural noise of an interval",
        f"both releases together, in cells of biases ({WHERE})",
        _assumed(knowledge, between, scale),
    )
    return NoiseScale(
        scale, delta, epsilon, delta, knowledge, between, noiseless, plain, "upper bound",
        certificate, evaluations,
    )  # fmt: skip


def _jointly(
    estimate: NoisyCount,
    epsilon: float,
    delta: float,
    unknown: int,
    between: tuple[float, float],
    plain: Noise,
) -> tuple[Noise, int]:
    """The least noise of the worst cell, and how often delta was computed."""
    cover = _Cover(epsilon, delta, unknown, between)
    goal, evaluations, scale = delta * (1 - _SET_ASIDE), 0, Noise(0.0)
    cells = []
    for low, high in _pieces(between):
        reference, left = cover.apart(low, high)
        if left < 0:
            return plain, 0
        cells.append(JointNoise(left, reference, epsilon, estimate.scale, CUT * delta))
    worst, *_ = cells = sorted(cells, key=lambda cell: cell.variance)
    if worst.delta(exact_gaussian(epsilon, delta).noise.counts) > goal:
        return plain, 1  # the estimate did not pay: not worth a long search
    for natural in cells:
        evaluations += 1
        if natural.delta(scale.counts) > goal:
            found = least_noise(goal, natural, plain, _NEARLY)
            evaluations += found.evaluations
            scale = max(scale, found.scale)
    return scale, evaluations


def _pieces(between: tuple[float, float]) -> list[tuple[float, float]]:
    """The interval cut into cells of about the same width, none across one half."""
    low, high = between
    halves = [(low, 0.5), (0.5, high)] if low < 0.5 < high else [(low, high)]
    cells = []
    for start, end in halves:
        many = max(1, round(_CELLS * (end - start) / max(high - low, 1e-300)))
        edges = [start + (end - start) * k / many for k in range(many)] + [end]
        cells += list(itertools.pairwise(edges))
    return cells


def _assumed(knowledge: Knowledge, between: tuple[float, float], scale: Noise) -> tuple[str, ...]:
    low, high = between
    return (
        "the records are independent of each other, each a one with the same probability, between "
        f"{low:.6g} and {high:.6g}",
        attacker(knowledge),
        ONCE,
        *((GAUSSIAN,) if scale.counts else ()),
    )


def _sure(low: float, high: float) -> float:
    """Probability with which a record of a cell is sure, told apart from its outer end."""
    return (high - low) / (1 - low) if high <= 0.5 else (high - low) / high


class _Cover:
    """Whether noise is enough for every bias of an interval."""

    def __init__(
        self, epsilon: float, delta: float, unknown: int, between: tuple[float, float]
    ) -> None:
        self.epsilon, self.delta, self.unknown, self.between = epsilon, delta, unknown, between
        self.evaluations = 0

    def least(self, plain: Noise) -> tuple[Noise, float]:
        """Little noise that is enough, and the worse end's delta without any."""
        ends = [
            least_noise(self.delta, NaturalNoise(self.unknown, p, self.epsilon), plain)
            for p in self.between
        ]
        self.evaluations += sum(end.evaluations for end in ends)
        at_ends, noiseless = max(end.scale for end in ends), max(end.noiseless for end in ends)
        # more by what a few records give, then twice as many
        for records in (0, *(2**k for k in range(40))):
            variance = at_ends.counts**2 + records * 0.25
            scale = Noise(math.sqrt(variance) * (1 + 1e-15))
            if scale >= plain:
                break
            if self.holds(scale.counts):
                return scale, noiseless
        return plain, noiseless

    def holds(self, beta: float) -> bool:
        """Cell by cell; a cell too narrow to be halved and still not covered is a no."""
        low, high = self.between
        cells = [(low, 0.5), (0.5, high)] if low < 0.5 < high else [(low, high)]
        while cells:
            low, high = cells.pop()
            reference, left = self.apart(low, high)
            fixed = _sure(low, high)
            self.evaluations += 1
            if left >= 0:
                reached = NaturalNoise(left, reference, self.epsilon).delta(beta)
                if reached <= self.delta * (1 - _SET_ASIDE):
                    continue
            if self.unknown * fixed < _RARE:
                return False
            middle = (low + high) / 2
            cells += [(middle, high), (low, middle)]
        return True

    def apart(self, low: float, high: float) -> tuple[float, int]:
        """The end of a cell from which it is told apart, and how many records are left there."""
        return low if high <= 0.5 else high, self.unknown - self._fixed(_sure(low, high))

    def _fixed(self, share: float) -> int:
        """How many records are sure, but for a probability that is set aside."""
        from scipy.special import bdtrc

        if share == 0.0:
            return 0
        most, chance = 0, self.delta * _SET_ASIDE * (1 - 1e-6)
        step = 1
        while most < self.unknown and float(bdtrc(most, self.unknown, share)) > chance:
            most, step = most + step, 2 * step
        few = most - step // 2
        return first_whole(
            lambda k: float(bdtrc(k, self.unknown, share)) <= chance, few, min(most, self.unknown)
        )
