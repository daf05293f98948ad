"""The thesis's simulation of leakage: random adversaries, kernel densities, the 99th percentile."""

from __future__ import annotations

import numpy as np

from corrdp.bounds.exact import table_of
from corrdp.models.chains.markov import MarkovChain

SAMPLES = 100_000  # outputs per condition
POINTS = 1000  # outputs at which densities are compared
WINDOW = (0.005, 0.995)  # quantiles of the outputs between which these lie
PERCENTILE = 0.99  # over adversaries


def estimated_leakage(
    chain: MarkovChain, epsilon: float, adversaries: int, rng: np.random.Generator
) -> float:
    """Leakage of a noisy count of state 1, as the thesis estimates it. No bound of any kind.

    Left open there and chosen here: record i, number and places of known records are uniform, their
    values drawn from the chain; quantiles are of both samples together; the kernel is Gaussian
    (the thesis uses fastKDE) with Silverman's bandwidth.

    Parameters
    ----------
    chain : MarkovChain
        Two states, short: its joint law is written out.
    epsilon : float
        DP level of the count.
    adversaries : int
    rng : numpy.random.Generator

    References
    ----------
    Lange, master thesis (2024), section 3.1.2.

    Examples
    --------
    >>> coins = MarkovChain([[.5, .5], [.5, .5]], 3)  # independent: the leakage is epsilon
    >>> estimated_leakage(coins, 1.0, 5, np.random.default_rng(1)) > 1.0
    True
    """
    records, law = table_of(chain).outcomes
    n = records.shape[1]
    counts = records.sum(axis=1)
    answers = np.arange(n + 1)
    found = []
    for _ in range(adversaries):
        record, *others = rng.permutation(n).tolist()
        known = others[: int(rng.integers(1, n))]
        facts = records[rng.choice(len(law), p=law)][known]
        allowed = (records[:, known] == facts).all(axis=1)
        samples = []
        for value in rng.permutation(2):
            weights = np.where(allowed & (records[:, record] == value), law, 0.0)
            often = np.bincount(counts, weights, n + 1) / weights.sum()
            truth = np.repeat(answers, rng.multinomial(SAMPLES, often))
            samples.append(truth + rng.laplace(scale=1.0 / epsilon, size=SAMPLES))
        low, high = np.quantile(np.concatenate(samples), WINDOW)
        points = rng.uniform(low, high, POINTS)
        first, second = (_density(sample, points) for sample in samples)
        seen = first > 0
        with np.errstate(divide="ignore"):
            found.append(float(np.log(first[seen] / second[seen]).max()))
    # a density can be estimated as 0 in the bulk of the other: inf must not be interpolated
    return float(np.quantile(found, PERCENTILE, method="lower"))


def _density(sample: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Gaussian kernel density estimate: a fine histogram, smoothed, read off by interpolation."""
    low, high = np.quantile(sample, (0.25, 0.75))
    bandwidth = 0.9 * min(sample.std(), (high - low) / 1.34) * len(sample) ** -0.2
    step = bandwidth / 4.0
    edges = np.arange(points.min() - 6 * bandwidth, points.max() + 6 * bandwidth, step)
    heights, _ = np.histogram(sample, edges)
    kernel = np.exp(-0.5 * (np.arange(-20, 21) / 4.0) ** 2)
    smooth = np.convolve(heights, kernel / kernel.sum(), mode="same") / (len(sample) * step)
    return np.interp(points, edges[:-1] + step / 2.0, smooth)
