"""Algorithm 2 as it was printed, for comparison. **Unsound**: do not release with its noise.

It uses the secret Laplace noise again after the noisy bias is out (an endpoint of its interval is
the true bias minus a constant), uses the true count without any noise, and compares noise on counts
with noise on shares. The corrected form is :mod:`corrdp.partial.estimating`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corrdp._binomial import divergence
from corrdp._invert import last_kept
from corrdp._json import SCHEMA, encode
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.partial.calibrating import least_noise
from corrdp.partial.deltas import NaturalNoise
from corrdp.partial.knowledge import (
    Knowledge,
    Noise,
    check_delta,
    check_knowledge,
    check_whole,
)
from corrdp.partial.mixtures import classic_gaussian, exact_gaussian

UNSOUND = (
    "UNSOUND: no guarantee follows from this number",
    "the secret noise of the bias is used again, so that the interval's ends give the bias away",
    "the true count enters without noise, through the classes of what the attacker can know",
    "records drawn with a bias and records of a fixed table are taken for the same",
    "that the worst bias is an end of the interval is false",
    "as printed the listing compares noise on the count with noise on the share; see literal",
)


def truncation_error(n: int, epsilon: float, low: float, high: float) -> float:
    r"""What cutting the noise of the bias off adds to delta, by the printed lemma.

    .. math:: E = \sum_{i=1,2} F\big(-n\tau_i/2 + 1\big)

    where F is the distribution function of Laplace noise of scale 2/epsilon.

    Parameters
    ----------
    n : int
    epsilon : float
    low, high : float
        The two widths tau.

    Examples
    --------
    >>> f"{truncation_error(1000, .5, .151449732, .154582456):.4e}"
    '6.4579e-09'
    """
    scale = 2 / check_positive("epsilon", epsilon)

    def below(x: float) -> float:
        return 0.5 * math.exp(x / scale) if x < 0 else 1 - 0.5 * math.exp(-x / scale)

    records = check_whole("n", n, 1)
    return sum(below(-records * width / 2 + 1) for width in (low, high))


def class_losses(known: int, bias: float, hits: np.ndarray) -> np.ndarray:
    r"""Loss that the listing assigns to an attacker who saw so many ones.

    .. math:: \Big|\ln \frac{(n' - h + 1)\,p}{h\,(1 - p)}\Big|

    where n' records are known, h of them ones; infinite for h = 0.

    Examples
    --------
    >>> class_losses(8, .3, np.array([0, 1, 5])).round(6).tolist()
    [inf, 1.232144, 1.070441]
    """
    with np.errstate(divide="ignore"):
        return np.abs(np.log((known - hits + 1) * bias) - np.log(hits * (1 - bias)))


def class_masses(n: int, known: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    r"""How likely it is that ``known`` of ``n`` records hold h of ``count`` ones; O(range of h).

    .. math:: \frac{\binom{n'}{h}\binom{n - n'}{c - h}}{\binom nc}

    where n' records are known and c of n are ones. By ratios of neighbours, and normalised.

    Examples
    --------
    >>> hits, masses = class_masses(20, 8, 6)
    >>> hits.tolist(), masses.round(8).tolist()[:3]
    ([0, 1, 2, 3, 4, 5, 6], [0.02383901, 0.16346749, 0.35758514])
    """
    hits = np.arange(max(0, known - (n - count)), min(known, count) + 1)
    h = hits[:-1].astype(float)
    rises = np.log((known - h) * (count - h)) - np.log((h + 1) * (n - known - count + h + 1))
    logs = np.concatenate([[0.0], np.cumsum(rises)])
    masses = np.exp(logs - logs.max())
    return hits, masses / masses.sum()


@dataclass(frozen=True)
class WorstClass:
    """What the attacker is taken to have seen: ones, their rank by loss, the mass left out."""

    hits: int
    rank: int
    left_out: float
    loss: float


def worst_class(n: int, known: int, count: int, bias: float, share: float) -> WorstClass:
    """The class of largest loss after the worst are left out, up to a probability ``share``.

    Examples
    --------
    >>> worst_class(20, 8, 6, .3, .05).hits
    1
    """
    hits, masses = class_masses(n, known, count)
    losses = class_losses(known, bias, hits)
    order = np.argsort(-losses, kind="stable")
    rank, left_out = 0, 0.0
    while rank < len(order) - 1 and left_out + masses[order[rank]] < share:
        left_out += float(masses[order[rank]])
        rank += 1
    return WorstClass(int(hits[order[rank]]), rank, left_out, float(losses[order[rank]]))


@dataclass(frozen=True)
class PrintedRun:
    """One run of the printed algorithm, step by step. **Unsound.**

    Parameters
    ----------
    scale : Noise
        Its result, in one unit.
    literal : float
        The number that the listing itself returns, the smaller of noise on the count and noise on
        the share.
    branch : str
        "search", or "fallback" where the budget was used up.
    radii : (float, float)
        tau_1, tau_2.
    truncation : float
        E of :func:`truncation_error`.
    left : float
        kappa_4, what is left of delta for the search.
    worst : WorstClass or None
        Without effect on the noise: with independent records what was seen is a known shift.
    ends : tuple of float
        The biases that are searched, within [0, 1].
    noises : tuple of Noise
    fallback : Noise
        By the classic formula.
    assumptions : tuple of str
    """

    scale: Noise
    literal: float
    branch: Literal["search", "fallback"]
    radii: tuple[float, float]
    truncation: float
    left: float
    worst: WorstClass | None
    ends: tuple[float, ...]
    noises: tuple[Noise, ...]
    fallback: Noise
    assumptions: tuple[str, ...] = UNSOUND

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        body = {
            **vars(self),
            "scale": self.scale.counts,
            "worst": None if self.worst is None else vars(self.worst),
            "noises": [noise.counts for noise in self.noises],
            "fallback": self.fallback.counts,
        }
        return {"corrdp": SCHEMA, "result": "printed run", **encode(body)}


def printed_noise_scale(
    epsilon: float,
    delta: float,
    knowledge: Knowledge,
    count: int,
    draw: float,
    *,
    for_classes: float,
    for_sampling: float,
    ends: Literal["listing", "proof"] = "listing",
) -> PrintedRun:
    """Algorithm 2 of the source. **Unsound**; :func:`estimated_noise_scale` is the corrected form.

    Parameters
    ----------
    epsilon, delta : float
    knowledge : Knowledge
    count : int
        The private count of ones.
    draw : float
        The Laplace noise of scale 2/epsilon on the count, which the listing uses again and again.
    for_classes, for_sampling : float
        kappa_1 and kappa_2; the rest of delta is kappa_3.
    ends : {"listing", "proof"}
        Ends of the interval of biases: as in the listing, with the secret noise taken off again,
        or as in the proof.

    References
    ----------
    Westenfeld, bachelor thesis, algorithm 2; partial-knowledge#estimated-bias says what is wrong.

    Examples
    --------
    >>> run = printed_noise_scale(.2, 1e-5, Knowledge(10_000, 9000), 4000, 5.0,
    ...                           for_classes=1e-6, for_sampling=1e-6)
    >>> round(run.scale.counts, 4), run.assumptions[0]
    (27.4037, 'UNSOUND: no guarantee follows from this number')
    """
    level, goal, known = _checked(epsilon, delta, knowledge)
    n, ones = known.n, check_whole("count", count, 0)
    kappa1, kappa2 = check_delta(for_classes), check_delta(for_sampling)
    if ones > n or kappa1 + kappa2 >= goal:
        raise InputError(
            f"count = {ones} must be at most n = {n}, and for_classes + for_sampling = "
            f"{kappa1 + kappa2:g} below delta = {goal:g}"
        )
    if ends not in ("listing", "proof"):
        raise InputError(f'ends must be "listing" or "proof", got {ends!r}')
    shift = float(draw) / n
    noisy = ones / n + shift
    centres = sorted(min(max(noisy + s * shift, 0.0), 1.0) for s in (-1, 1))
    radii = (
        2 * _widest(n, centres, kappa2 / 2, "below"),
        2 * _widest(n, centres, kappa2 / 2, "above"),
    )
    lost = truncation_error(n, level, *radii)
    left = goal - kappa1 - kappa2 - lost
    fallback = classic_gaussian(level / 2, goal, constant=1.26).noise
    if abs(shift) > min(radii) / 2 or left <= 0:
        share = fallback.of_share(n)
        return PrintedRun(fallback, share, "fallback", radii, lost, left, None, (), (), fallback)
    seen = worst_class(n, known.known, ones, noisy, kappa1)
    searched = (
        (noisy - (radii[0] / 2 + shift), noisy + radii[1] / 2 + shift)
        if ends == "listing"
        else (noisy - radii[0], noisy + radii[1])
    )
    noises = tuple(_noise(level / 2, left, known.unknown, p) for p in searched)
    beta = max(noises)
    return PrintedRun(
        min(beta, fallback),
        min(beta.counts, fallback.of_share(n)),
        "search",
        radii,
        lost,
        left,
        seen,
        searched,
        noises,
        fallback,
    )


def _checked(epsilon: float, delta: float, knowledge: Knowledge) -> tuple[float, float, Knowledge]:
    return check_positive("epsilon", epsilon), check_delta(delta), check_knowledge(knowledge)


def _noise(epsilon: float, delta: float, unknown: int, bias: float) -> Noise:
    plain = exact_gaussian(epsilon, delta).noise
    if not 0 < bias < 1:
        return plain
    return least_noise(delta, NaturalNoise(unknown, bias, epsilon), plain).scale


def _widest(n: int, centres: list[float], miss: float, side: Literal["below", "above"]) -> float:
    """The largest radius over the biases between two centres; it has one peak."""

    def radius(bias: float) -> float:
        found = chernoff_radius(n, bias, miss, side) if 0 < bias < 1 else None
        return found if found is not None else (bias if side == "below" else 1 - bias)

    low, high = centres
    best = max(radius(low), radius(high))
    for _ in range(60):  # thirds
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if radius(a) < radius(b):
            low = a
        else:
            high = b
    return max(best, radius((low + high) / 2))


def chernoff_radius(
    trials: int, bias: float, miss: float, side: Literal["below", "above"]
) -> float | None:
    r"""The least t for which Chernoff's bound says that a share is off by t with chance ``miss``.

    .. math:: e^{-m\,\mathrm{KL}(p \pm t \| p)} \le \text{miss}

    where m is the number of trials and p the bias.

    Parameters
    ----------
    trials : int
    bias : float
    miss : float
    side : {"below", "above"}

    Returns
    -------
    float or None
        None where even a share of 0 (or 1) is likelier than ``miss``.

    References
    ----------
    Hoeffding, "Probability inequalities for sums of bounded random variables" (1963), theorem 1.

    Examples
    --------
    >>> chernoff_radius(1000, .4, 5e-6, "below").__round__(10)
    0.0755672124
    >>> chernoff_radius(10, .05, 5e-7, "below") is None
    True
    """
    goal = math.log(1 / check_delta(miss)) / check_whole("trials", trials, 1)
    if side not in ("below", "above"):
        raise InputError(f'side must be "below" or "above", got {side!r}')
    far = bias if side == "below" else 1.0 - bias
    end = 0.0 if side == "below" else 1.0
    if divergence(end, bias) < goal:
        return None
    sign = -1 if side == "below" else 1
    return last_kept(
        lambda t: divergence(min(max(bias + sign * t, 0.0), 1.0), bias) >= goal,
        far,
        0.0,
        absolute=1e-15,
    )
