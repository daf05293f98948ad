"""Statements of the thesis as numbers: by brute force or from the definition, on small tables."""

from __future__ import annotations

import itertools
import math

import numpy as np

from corrdp._binomial import log_binomial
from corrdp_reproduction.knowledge.printed import class_losses


def deltas_by_class(n: int, known: int, bias: float, epsilon: float) -> list[float]:
    """delta of a count without noise for everything that the known records can be.

    By going through all 2^n tables: no formula, no symmetry.

    Parameters
    ----------
    n, known : int
        The first ``known`` records are known, the next is attacked.
    bias : float
    epsilon : float

    Returns
    -------
    list of float
        One for each of the 2^known things that can have been seen.

    Examples
    --------
    >>> sorted({round(d, 10) for d in deltas_by_class(8, 4, .4, .5)})
    [0.2918762055]
    """
    laws: dict[tuple[int, ...], np.ndarray] = {
        seen: np.zeros((2, n + 1)) for seen in itertools.product((0, 1), repeat=known)
    }
    for table in itertools.product((0, 1), repeat=n):
        ones = sum(table)
        laws[table[:known]][table[known], ones] += bias**ones * (1 - bias) ** (n - ones)
    found = []
    for law in laws.values():
        zero, one = law / law.sum(axis=1, keepdims=True)
        found.append(max(hockey_stick(one, zero, epsilon), hockey_stick(zero, one, epsilon)))
    return found


def hockey_stick(one: np.ndarray, two: np.ndarray, epsilon: float) -> float:
    """The sum of what ``one`` has in excess of e^epsilon times ``two``.

    Examples
    --------
    >>> round(hockey_stick(np.array([.75, .25]), np.array([.25, .75]), .5), 6)
    0.33782
    """
    return float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum())


def noisy_loss(unknown: int, bias: float, beta: float, seen: float) -> float:
    """ln f_1/f_0 at ``seen``: a noisy count, less what the known records contribute.

    Parameters
    ----------
    unknown : int
        Unknown records besides the one attacked.
    bias : float
    beta : float
        Standard deviation of the Gaussian noise.
    seen : float

    Examples
    --------
    >>> round(noisy_loss(19, .4, .01, 8.0), 6)
    0.0
    """
    from scipy.special import logsumexp

    logs, k = log_binomial(unknown, bias, whole=True)[1], np.arange(unknown + 1)
    one, zero = (logsumexp(logs - ((seen - a - k) / beta) ** 2 / 2) for a in (1, 0))
    return float(one - zero)


def share_loss(bias: float, rest: float) -> float:
    """Loss of a count without noise: bias assumed, and share of ones among the unknown records.

    Lemma 4.14: the difference of their log odds.

    Examples
    --------
    >>> round(share_loss(.4, .5), 6)
    0.405465
    """
    return abs(math.log(bias / (1 - bias)) - math.log(rest / (1 - rest)))


def moving_loss(bias: float, table: float, known: float) -> float:
    """The loss if the known records have this bias and the whole table another.

    Parameters
    ----------
    bias : float
        Of the known records.
    table : float
        Of the table; the other records have what is left (corollary 4.15).
    known : float
        Share of known records.

    Examples
    --------
    >>> round(moving_loss(.5, .4, .6), 6)
    1.098612
    """
    return share_loss(bias, (table - known * bias) / (1 - known))


def end_violations(rng: np.random.Generator, tries: int) -> float:
    """Lemma 4.21 with Gaussian noise: by how much a loss exceeds those at both ends, at most.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws records, noise, output, interval and bias.
    tries : int

    Examples
    --------
    >>> end_violations(np.random.default_rng(1), 20) < 1e-9
    True
    """
    worst = -math.inf
    for _ in range(tries):
        unknown, beta = int(rng.integers(1, 60)), float(rng.uniform(0.2, 5))
        seen = float(rng.uniform(-2, unknown + 3))
        low, inside, high = np.sort(rng.uniform(0.02, 0.98, 3))
        at = [abs(noisy_loss(unknown, float(p), beta, seen)) for p in (low, inside, high)]
        worst = max(worst, at[1] - max(at[0], at[2]))
    return worst


def theorem_4_22(epsilon: float) -> tuple[float, float, float]:
    """Both sides of equation 4.69 on two unknown records, and what does hold.

    Ones have probability 2/3, the record is 0, the interval runs from 1/3 to 2/3, inside is .5.

    Returns
    -------
    tuple of float
        The mean inside, the larger mean of both ends, the mean of the larger of both ends.

    Examples
    --------
    >>> [round(x, 7) for x in theorem_4_22(0.0)]
    [0.5555556, 0.4444444, 0.7777778]
    """
    unknown, ends, inside = 2, (1 / 3, 2 / 3), 0.5
    law = np.exp(log_binomial(unknown, ends[1])[1])

    def excess(bias: float) -> np.ndarray:
        losses = class_losses(unknown, bias, np.arange(unknown + 1))
        return -np.expm1(np.minimum(epsilon - losses, 0.0))

    low, high = (excess(p) for p in ends)
    return (
        float(law @ excess(inside)),
        max(float(law @ low), float(law @ high)),
        float(law @ np.maximum(low, high)),
    )


def loss_law(unknown: int, bias: float) -> tuple[np.ndarray, np.ndarray]:
    """Losses of a count without noise in rising order, and their probabilities if the record is 1.

    Examples
    --------
    >>> losses, masses = loss_law(20, .4)
    >>> losses[:2].round(4).tolist(), masses[:2].round(5).tolist()
    ([0.08, 0.1178], [0.16588, 0.17971])
    """
    ones = np.arange(1, unknown + 2)
    losses, masses = class_losses(unknown, bias, ones), np.exp(log_binomial(unknown, bias)[1])
    order = np.argsort(losses)
    return losses[order], masses[order]


def joint_delta(unknown: int, bias: float, epsilon: float, beta: float) -> float:
    """delta of a count released twice: with Laplace noise of level epsilon/2, and with Gaussian.

    A sum over the first and an integral over the second output.

    Parameters
    ----------
    unknown : int
    bias : float
    epsilon : float
        Of both together.
    beta : float
        Above 0.

    Examples
    --------
    >>> joint_delta(3, .3, 1.0, 4.0) < .01
    True
    """
    k = np.arange(unknown + 1)
    weights = np.exp(log_binomial(unknown, bias, whole=True)[1])
    step = math.exp(-epsilon / 2)
    first = np.arange(-60, unknown + 62)
    second = np.linspace(-9 * beta, unknown + 1 + 9 * beta, 4001)

    def law(record: int) -> np.ndarray:
        laplace = (1 - step) / (1 + step) * step ** np.abs(first[:, None] - record - k)
        normal = np.exp(-(((second - record - k[:, None]) / beta) ** 2) / 2)
        mass = (laplace * weights) @ normal
        return np.asarray(mass * (second[1] - second[0]) / (beta * math.sqrt(2 * math.pi)))

    one, zero = law(1), law(0)
    return max(hockey_stick(one, zero, epsilon), hockey_stick(zero, one, epsilon))


def two_counts_delta(unknown: int, bias: float, epsilon: float) -> float:
    """delta of two counts without noise together: of all records, and of all but the one attacked.

    Examples
    --------
    >>> two_counts_delta(50, .5, 2.0).__round__(12)
    1.0
    """
    weights = np.exp(log_binomial(unknown, bias, whole=True)[1])
    joint = np.zeros((2, unknown + 2, unknown + 1))  # record; first count, second count
    for record in (0, 1):
        for others, mass in enumerate(weights):
            joint[record, others + record, others] += mass
    return hockey_stick(joint[1], joint[0], epsilon)
