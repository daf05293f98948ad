"""The thesis's simulation of leakage: random adversaries, kernel densities, the 99th percentile."""

from __future__ import annotations

import numpy as np

from corrdp.bounds.exact import table_of
from corrdp.models.chains.markov import MarkovChain

SAMPLES = 100_000  # outputs per condition
POINTS = 1000  # outputs at which densities are compared
WINDOW = (0.005, 0.995)  # quantiles of the outputs between which these lie
PERCENTILE = 0.99  # over adversaries
GRID = 4096  # points of the density estimate


def estimated_leakage(
    chain: MarkovChain, epsilon: float, adversaries: int, rng: np.random.Generator
) -> float:
    """Leakage of a noisy count of state 1, as the thesis estimates it. No bound of any kind.

    Left open there and chosen here: record i, number and places of known records are uniform, their
    values drawn from the chain; quantiles are of both samples together.

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
    Lange, master thesis (2024), section 3.1.2. The estimate of densities: O'Brien et al., A fast
    and objective multidimensional kernel density estimation method: fastKDE (2016).

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
    """Self-consistent density estimate of Bernacchia and Pigolotti (2011), which fastKDE computes.

    The characteristic function C(t) of n samples becomes n C / (2 (n - 1)) times
    1 + sqrt(1 - 4 (n - 1) / (n |C|)^2), from 0 up to where the root first fails, and 0 beyond.
    """
    n, centre, spread = len(sample), sample.mean(), sample.std()
    half = 1.5 * np.abs(sample - centre).max() / spread
    step = 2.0 * half / GRID
    at = ((sample - centre) / spread + half) / step
    cell = at.astype(int)
    heights = np.bincount(cell, cell + 1 - at, GRID) + np.bincount(cell + 1, at - cell, GRID)
    seen = np.fft.rfft(heights) / n
    power, least = np.abs(seen) ** 2, 4.0 * (n - 1) / n**2
    kept = int(np.argmax(np.append(power, 0.0) < least))
    seen[kept:] = 0.0
    seen[:kept] *= n * (1.0 + np.sqrt(1.0 - least / power[:kept])) / (2.0 * (n - 1))
    density = np.fft.irfft(seen, GRID) / (step * spread)
    found = np.interp(points, centre + spread * (np.arange(GRID) * step - half), density)
    return np.maximum(found, 0.0)
