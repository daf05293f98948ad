"""Full-batch DP-SGD on small pictures, and the attacks that watch every noisy gradient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from corrdp.attacks.records import Measured, likeliest_gain
from corrdp.reconstruction.exact import best_guesses
from corrdp.reconstruction.threat import Threat

_BATCH = 32  # trainings at once: their probabilities stay in the cache
RATE = 1.0  # learning rate; the source names none
Rule = Literal["likelihood", "published"]
RULES: tuple[Rule, Rule] = ("likelihood", "published")


@dataclass(frozen=True, eq=False)
class Watched:
    """What an attacker works out from trainings that he watched.

    Parameters
    ----------
    products : (m, n) array
        Per candidate and training: sum over steps of <g_t, mu_t>, g_t being what is left of the
        noisy gradient, mu_t the candidate's own, both in clipping norms.
    norms : (m, n) array
        Sum over steps of |mu_t|^2.
    distance : float
        Root mean square over steps of the distance of two candidates' gradients, in clipping
        norms, for the pair and the training where it is largest.
    correct : float
        Share of the other records that the trained models classify rightly.
    """

    products: np.ndarray
    norms: np.ndarray
    distance: float
    correct: float

    def logs(self, sigma: float) -> np.ndarray:
        """Log likelihood of each candidate, up to a constant per training."""
        return (self.products - self.norms / 2) / sigma**2


@dataclass(frozen=True, eq=False)
class Lesson:
    """Logistic regression on labelled pictures, with one record unknown among candidates.

    Gradients of a record are an outer product, residual times picture, so that clipping and inner
    products need no more than both factors.

    Parameters
    ----------
    pictures : (n, d) array
        All records; a constant entry is added.
    labels : (n,) array of int
    others, candidates : arrays of int
        Numbers of the records known to be used, and of those of which one is.
    clip : float
        Clipping norm of a record's gradient.
    """

    pictures: np.ndarray
    labels: np.ndarray
    others: np.ndarray
    candidates: np.ndarray
    clip: float

    def watch(self, sigma: float, steps: int, trainings: int, rng: np.random.Generator) -> Watched:
        """Train with a random candidate each time, and watch."""
        truth = rng.integers(0, len(self.candidates), trainings)
        parts = [
            self._train(truth[k : k + _BATCH], sigma, steps, rng)
            for k in range(0, trainings, _BATCH)
        ]
        products, norms = (np.concatenate([p[j] for p in parts], axis=1) for j in (0, 1))
        far, right = max(p[2] for p in parts), np.mean([p[3] for p in parts])
        return Watched(products, norms, float(far), float(right))

    def _train(
        self, truth: np.ndarray, sigma: float, steps: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, float, float]:
        whole = np.hstack([self.pictures, np.ones((len(self.pictures), 1))])
        onehot = np.eye(self.labels.max() + 1)[self.labels]
        x, y = whole[self.others], onehot[self.others]
        own, wanted = whole[self.candidates], onehot[self.candidates]
        runs = len(truth)
        # classes come first: sums over them are then sums of whole arrays
        weights = np.zeros((onehot.shape[1], whole.shape[1], runs))
        products, norms = np.zeros((2, len(own), runs))
        apart, gram = np.zeros((len(own), len(own), runs)), own @ own.T
        for _ in range(steps):
            total = x.T @ _residuals(x, y, weights, self.clip)
            mine = _residuals(own, wanted, weights, self.clip)
            noise = rng.normal(scale=self.clip * sigma, size=weights.shape)
            used = mine[:, truth, np.arange(runs)]
            seen = own[truth].T * used[:, None] + noise
            products += (mine * (own @ seen)).sum(axis=0)
            inner = np.einsum("cir,cjr->ijr", mine, mine) * gram[:, :, None]
            square = np.einsum("iir->ir", inner)
            norms += square
            apart += square[:, None] + square - 2 * inner
            weights -= RATE / (len(x) + 1) * (total + seen)
        right = (x @ weights).argmax(axis=0) == y.argmax(axis=1)[:, None]
        unit = self.clip**2
        farthest = math.sqrt(float(apart.max()) / steps / unit)
        return products / unit, norms / unit, farthest, float(right.mean())


def _residuals(x: np.ndarray, y: np.ndarray, weights: np.ndarray, clip: float) -> np.ndarray:
    """Probabilities minus labels, scaled so that their outer product with x has norm <= clip."""
    errors = x @ weights
    errors -= errors.max(axis=0)
    np.exp(errors, out=errors)
    errors /= errors.sum(axis=0)
    errors -= y.T[:, :, None]
    lengths = np.sqrt((errors * errors).sum(axis=0)) * np.linalg.norm(x, axis=1)[:, None]
    errors *= clip / np.maximum(lengths, clip)
    return errors


def attacked(watched: Watched, sigma: float, threat: Threat, rule: Rule) -> Measured:
    r"""Advantage and success of an attack on the trainings.

    .. math:: \frac1n \sum_j \sum_x (q_j(x) - \pi_x) [g_{a(x)}(\theta_j) \text{ hits } x]

    where q_j is the posterior of the candidates after training j: instead of counting whether the
    candidate used was hit, its law given what was seen is summed over, which has the same mean and
    less variance. Rules as in :class:`corrdp.attacks.records.GradientAttack`, whose candidates
    have the same gradients in every training; here each training has its own.

    Parameters
    ----------
    watched : Watched
    sigma : float
        Noise multiplier.
    threat : Threat
    rule : {"likelihood", "published"}

    Returns
    -------
    Measured
    """
    logs = watched.logs(sigma)
    if rule == "likelihood":
        guesses = likeliest_gain(logs, threat)
    else:
        scores = watched.products - watched.products.mean(axis=0)
        guesses = np.array(best_guesses(threat.prior[:, None] * scores, threat))
    posterior = threat.prior[:, None] * np.exp(logs - logs.max(axis=0))
    posterior /= posterior.sum(axis=0)
    label = np.empty(threat.m, dtype=np.int64)
    for k, fibre in enumerate(threat.fibres):
        label[fibre] = k
    hits = threat.success[np.arange(threat.m)[:, None], guesses[label]]
    success, blind = (posterior * hits).sum(axis=0), threat.prior @ hits
    gains = success - blind
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains))
    return Measured(float(gains.mean()), error, float(success.mean()), float(blind.mean()))


def mean_of(parts: Sequence[Measured]) -> Measured:
    """Mean of independent measurements of equal weight.

    Examples
    --------
    >>> round(mean_of([Measured(.2, .03, .5, .3), Measured(.4, .04, .7, .3)]).error, 6)
    0.025
    """
    value, success, blind = (
        float(np.mean([getattr(part, name) for part in parts]))
        for name in ("value", "success", "blind")
    )
    error = math.sqrt(sum(part.error**2 for part in parts)) / len(parts)
    return Measured(value, error, success, blind)
