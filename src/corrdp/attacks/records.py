"""Attacks on one record: the best guesses, noisy gradients of DP-SGD, and a negative control.

Not an :class:`corrdp.attacks.base.Attack`: that one reads a whole series under a chain; here a
single record is attacked many times over, under a threat, and a guess near the truth may count.

The attack on DP-SGD sees every noisy gradient and tells candidates apart by theirs; the control
never looks at the output.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_array, check_choice, check_kind
from corrdp.attacks.base import AttackResult, counted_interval, mutual_information
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.mechanisms.response import state_numbers
from corrdp.reconstruction.exact import best_guesses
from corrdp.reconstruction.sgd import check_rate
from corrdp.reconstruction.threat import Threat


@dataclass(frozen=True)
class Measured:
    """Advantage of an attack, from outputs of a mechanism.

    Parameters
    ----------
    value : float
        Success on the records that were used minus success of the same guesses on others.
    error : float
        One standard error.
    success, blind : float
        The two parts of the value.
    """

    value: float
    error: float
    success: float
    blind: float

    def __float__(self) -> float:
        return self.value


class RecordAttack(ABC):
    """An adversary who guesses one record from an output and what he knows of the record."""

    threat: Threat

    @abstractmethod
    def table(self, outputs: Any) -> np.ndarray:
        """The record guessed: one row per label of ``threat.labels``, one column per output."""

    def run(
        self, outputs: Any, known: Sequence[Any] | None = None, truth: Any = None
    ) -> AttackResult:
        """Guess the record behind each output.

        Parameters
        ----------
        outputs : array
        known : sequence, optional
            The label of each record, where the threat has labels.
        truth : array of int, optional
            The records themselves, to score the guesses.
        """
        table = self.table(outputs)
        n, name = table.shape[1], type(self).__name__
        guesses = table[self._rows(known, n), np.arange(n)]
        if truth is None:
            return AttackResult(name, guesses)
        hits = self.threat.success[self._records(truth, n), guesses]
        right = int(hits.sum())
        told = mutual_information(self._records(truth, n), guesses, self.threat.m)
        return AttackResult(name, guesses, right / n, counted_interval(right, n), n, told)

    def measure(self, outputs: Any, truth: Any) -> Measured:
        r"""Advantage of this attack, estimated from outputs of records drawn from the prior.

        .. math:: \frac1n \sum_i \Big([g_{a(x_i)}(\theta_i) \text{ hits } x_i]
                  - \sum_x \pi_x [g_{a(x)}(\theta_i) \text{ hits } x]\Big)

        where g_z is the guess when the label z is known. Its expectation is the attack's
        advantage: the second term is the success on a record that has nothing to do with the
        output, worked out instead of sampled.

        Parameters
        ----------
        outputs : array
        truth : array of int
            The records that were used.

        References
        ----------
        Guerra-Balboa, dissertation, definition 5.1 and section 5.4.
        """
        table = self.table(outputs)
        n = table.shape[1]
        if n < 2:
            raise InputError("an estimate needs two outputs at least")
        records = self._records(truth, n)
        label_of = np.empty(self.threat.m, dtype=np.int64)
        for k, fibre in enumerate(self.threat.fibres):
            label_of[fibre] = k
        hits = self.threat.success[records, table[label_of[records], np.arange(n)]]
        blind = np.zeros(n)
        for x in self.threat.support:
            blind += self.threat.prior[x] * self.threat.success[x, table[label_of[x]]]
        gains = hits - blind
        error = float(gains.std(ddof=1)) / math.sqrt(n)
        return Measured(float(gains.mean()), error, float(hits.mean()), float(blind.mean()))

    def _rows(self, known: Sequence[Any] | None, n: int) -> np.ndarray:
        labels = {label: k for k, label in enumerate(self.threat.labels)}
        if known is None:
            if len(labels) > 1:
                raise InputError("the attacker knows a label of the record: give known=")
            return np.zeros(n, dtype=np.int64)
        if len(known) != n:
            raise InputError(f"known has {len(known)} labels for {n} outputs")
        try:
            return np.array([labels[label] for label in known], dtype=np.int64)
        except KeyError as error:
            raise InputError(f"known holds {error.args[0]!r}, no label of the threat") from None

    def _records(self, truth: Any, n: int) -> np.ndarray:
        records = state_numbers("truth", truth, self.threat.m)
        if records.shape != (n,):
            raise InputError(f"truth has shape {records.shape} for {n} outputs")
        return records


def likeliest_gain(logs: np.ndarray, threat: Threat) -> np.ndarray:
    r"""The guesses of largest advantage, from log densities of the outputs.

    .. math:: \arg\max_g \sum_{x:\, a(x) = z,\, \ell(x, g) \le \eta}
              \pi_x \Big(\frac{p(\theta \mid x)}{p(\theta)} - 1\Big)

    where z is the label that is known. In logarithms throughout; where guesses tie, which does
    not change the advantage, the one of lowest number. With a uniform prior and nothing known it
    is the likeliest record; with any other prior it is *not* the one of largest posterior.

    Parameters
    ----------
    logs : (m, n) array
        ``ln p(output | record)``, up to a constant for each output.
    threat : Threat

    Returns
    -------
    (labels, n) array of int

    References
    ----------
    Guerra-Balboa, dissertation, algorithm 1 and corollary 5.9.

    Examples
    --------
    >>> logs = np.log([[.73, .27], [.27, .73]])
    >>> likeliest_gain(logs, Threat([.9, .1])).tolist()    # the posterior favours 0 both times
    [[0, 1]]
    """
    with np.errstate(divide="ignore"):
        joint = logs + np.log(threat.prior)[:, None]
    top = joint.max(axis=0)
    if not np.isfinite(top).all():
        raise InputError(
            f"output {int(np.flatnonzero(~np.isfinite(top))[0])} is impossible under every record "
            "of the threat"
        )
    posterior = np.exp(joint - top)
    posterior /= posterior.sum(axis=0)
    return np.array(best_guesses(posterior - threat.prior[:, None], threat))


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
    vectors, bound = check_array("gradients", gradients), check_positive("clip", clip)
    if not vectors.ndim or not np.isfinite(vectors).all():
        raise InputError("gradients must be finite numbers, one vector in each row")
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors * (bound / np.maximum(norms, bound))


@dataclass(frozen=True, eq=False)
class GradientAttack(RecordAttack):
    r"""Guess which candidate was trained on from the noisy gradients of DP-SGD.

    What is left of a noisy gradient after taking away the other records' clipped gradients is
    Gaussian around the candidate's own, or around 0 if it was not in the batch, so with T steps

    .. math:: \ln p(\theta \mid i) = \sum_t \ln\Big(1 - q + q \exp \frac{\langle g_t, \mu_{t,i}
              \rangle - \|\mu_{t,i}\|^2/2}{C^2 \sigma^2}\Big) + \text{const}

    where

    - g_t is the residual of step t, mu_{t,i} candidate i's clipped gradient there,
    - C is the clipping norm and sigma the noise multiplier: the noise has deviation C sigma,
    - q is the probability with which a record is in a batch, 1 for the full batch.

    ``rule="likelihood"`` takes the guess of largest advantage,
    :func:`~corrdp.attacks.records.likeliest_gain`. ``rule="hayes_inner_product"`` is the rule as
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
    rate : float
        q. What other records were in a batch must be known, as their gradients are taken away.

    Notes
    -----
    O(m T d) for each run; O(m T) numbers are held for each run where batches are sampled.

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
    rate: float = 1.0

    def __post_init__(self) -> None:
        check_kind("threat", self.threat, Threat, "a Threat")
        object.__setattr__(self, "rate", check_rate(self.rate))
        for name in ("clip", "sigma"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        check_choice("rule", self.rule, RULES)
        if self.rule == "hayes_inner_product" and not self.threat.is_exact:
            raise InputError(
                'rule "hayes_inner_product" names one candidate exactly; use "likelihood" for a '
                "threat with a loss"
            )
        vectors = check_array("candidates", self.candidates)
        shaped = vectors.ndim == 3 and len(vectors) == self.threat.m and vectors.size
        if not shaped or not np.isfinite(vectors).all():
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
        if self.rate < 1.0 and self.rule == "likelihood":
            inner = np.einsum("itd,ntd->int", self.candidates, residuals)
            norms = (self.candidates**2).sum(axis=-1)[:, None]
            told = np.log(self.rate) + (inner - norms / 2) / (self.clip * self.sigma) ** 2
            return likeliest_gain(np.logaddexp(np.log1p(-self.rate), told).sum(-1), self.threat)
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

    def __post_init__(self) -> None:
        check_kind("threat", self.threat, Threat, "a Threat")

    def table(self, outputs: Any) -> np.ndarray:
        """The record guessed: one row per label, the same for every output."""
        n = len(outputs)
        if not n:
            raise InputError("outputs must be an array of at least one output")
        best = np.array(best_guesses(self.threat.prior[:, None], self.threat))
        return np.repeat(best, n, axis=1)
