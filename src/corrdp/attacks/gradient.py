"""The attack on DP-SGD that sees every noisy gradient and tells candidates apart by theirs.

The attack that never looks at the output: a negative control.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corrdp.attacks.optimal import RecordAttack, likeliest_gain
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.reconstruction.exact import best_guesses
from corrdp.reconstruction.threat import Threat

RULES = ("likelihood", "hayes_inner_product")


def clipped(gradients: Any, clip: float) -> np.ndarray:
    r"""Gradients scaled down to the norm ``clip`` where they are longer.

    .. math:: v \min(1, C/\|v\|)

    Parameters
    ----------
    gradients : (..., d) array
    clip : float

    Examples
    --------
    >>> clipped([[3, 4], [.3, .4]], 1.0).round(6).tolist()
    [[0.6, 0.8], [0.3, 0.4]]
    """
    vectors, bound = np.asarray(gradients, dtype=float), check_positive("clip", clip)
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors * (bound / np.maximum(norms, bound))


@dataclass(frozen=True, eq=False)
class GradientAttack(RecordAttack):
    r"""Guess which candidate was in the batch from the noisy gradients of full-batch DP-SGD.

    What is left of a noisy gradient after taking away the other records' clipped gradients is
    Gaussian around the candidate's own, so with T steps

    .. math:: \ln p(\theta \mid i) = \sum_t \frac{\langle g_t, \mu_{t,i} \rangle
              - \|\mu_{t,i}\|^2/2}{C^2 \sigma^2} + \text{const}

    where

    - g_t is the residual of step t, mu_{t,i} candidate i's clipped gradient there,
    - C is the clipping norm and sigma the noise multiplier: the noise has deviation C sigma.

    ``rule="likelihood"`` takes the guess of largest advantage,
    :func:`~corrdp.attacks.optimal.likeliest_gain`. ``rule="hayes_inner_product"`` is the rule as
    published: the score of i is the sum over steps of <g_t, mu_{t,i}> minus its mean over all
    candidates, the guess is the candidate of largest prior times score among those that fit what
    is known, or one that does not fit if that is not positive. A positive score does not mean
    that the candidate has become more likely, so with knowledge this rule falls short: for
    orthonormal gradients of 8 candidates and membership .50 against .66 at sigma / sqrt(T) = .5.

    Parameters
    ----------
    threat : Threat
        Prior over the candidates and what is known of them.
    candidates : (m, T, d) array
        Clipped gradients of each candidate at each step; see :func:`clipped`.
    clip, sigma : float
    rule : {"likelihood", "hayes_inner_product"}

    References
    ----------
    Hayes, Mahloujifar, Balle, "Bounding training data reconstruction in DP-SGD" (2023);
    Guerra-Balboa, dissertation, example 5.10 and algorithm 2, whose steps 5.19 to 5.23 (Jensen's
    inequality as an equivalence, products of mixtures) the rule "likelihood" replaces.

    Examples
    --------
    >>> axes = np.eye(3)[:, None]    # three candidates, one step, orthonormal
    >>> member = Threat.membership([1 / 3] * 3)
    >>> seen = [[[1, .6, 0]]]
    >>> GradientAttack(member, axes, 1.0, .5).run(seen, known=[1]).guesses.tolist()
    [0]
    >>> published = GradientAttack(member, axes, 1.0, .5, "hayes_inner_product")
    >>> published.run(seen, known=[1]).guesses.tolist()    # "member", though it is less likely now
    [1]
    """

    threat: Threat
    candidates: Any
    clip: float
    sigma: float
    rule: Literal["likelihood", "hayes_inner_product"] = "likelihood"

    def __post_init__(self) -> None:
        for name in ("clip", "sigma"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        if self.rule not in RULES:
            raise InputError(f"rule must be one of {', '.join(RULES)}, got {self.rule!r}")
        if self.rule == "hayes_inner_product" and not self.threat.is_exact:
            raise InputError(
                'rule "hayes_inner_product" names one candidate exactly; use "likelihood" for a '
                "threat with a loss"
            )
        vectors = np.array(self.candidates, dtype=float)
        if vectors.ndim != 3 or len(vectors) != self.threat.m or not np.isfinite(vectors).all():
            raise InputError(
                f"candidates must be finite numbers of shape ({self.threat.m}, steps, dimensions), "
                f"got shape {vectors.shape}"
            )
        longest = float(np.linalg.norm(vectors, axis=-1).max())
        if longest > self.clip * (1 + 1e-9):
            raise InputError(
                f"a candidate's gradient has norm {longest:.6g}, above clip={self.clip:g}; pass "
                "clipped(gradients, clip)"
            )
        vectors.setflags(write=False)
        object.__setattr__(self, "candidates", vectors)

    def table(self, outputs: Any) -> np.ndarray:
        """The candidate guessed: one row per label, one column per run.

        Parameters
        ----------
        outputs : (n, T, d) array
            For each run the noisy gradient sums minus those of the records that are known.
        """
        residuals = np.asarray(outputs, dtype=float)
        if residuals.ndim != 3 or residuals.shape[1:] != self.candidates.shape[1:]:
            raise InputError(
                f"outputs must be residuals of shape (runs, {self.candidates.shape[1]}, "
                f"{self.candidates.shape[2]}), got {residuals.shape}"
            )
        flat = self.candidates.reshape(self.threat.m, -1)
        products = flat @ residuals.reshape(len(residuals), -1).T
        if self.rule == "likelihood":
            norms = (flat * flat).sum(axis=1)[:, None]
            scale = (self.clip * self.sigma) ** 2
            return likeliest_gain((products - norms / 2) / scale, self.threat)
        scores = products - products.mean(axis=0)
        return np.array(best_guesses(self.threat.prior[:, None] * scores, self.threat))


@dataclass(frozen=True, eq=False)
class Imputation(RecordAttack):
    r"""Guess what is most probable given what is known, whatever the mechanism answers.

    .. math:: \arg\max_g \Pr[a(X) = z,\ g \text{ hits } X]

    where z is the label that is known and X has the threat's prior, learned from public data. It
    may succeed often; its advantage is 0, because the records' taking part has no effect on it. A
    measure of risk that is not 0 here measures what people have in common, not what is given away.

    Parameters
    ----------
    threat : Threat

    References
    ----------
    Guerra-Balboa, dissertation, section 5.5 (table 5.2).

    Examples
    --------
    >>> attack = Imputation(Threat([.7, .2, .1]))
    >>> attack.run([1, 2, 0]).guesses.tolist()
    [0, 0, 0]
    >>> attack.measure([1, 2, 0, 0], [0, 0, 1, 0]).success
    0.75
    """

    threat: Threat

    def table(self, outputs: Any) -> np.ndarray:
        """The record guessed: one row per label, the same for every output."""
        n = len(outputs)
        if not n:
            raise InputError("outputs must be an array of at least one output")
        best = np.array(best_guesses(self.threat.prior[:, None], self.threat))
        return np.repeat(best, n, axis=1)
