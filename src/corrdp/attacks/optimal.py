"""The attack of largest reconstruction advantage, and what attacks on one record share.

Not an :class:`corrdp.attacks.base.Attack`: that one reads a whole series under a chain; here a
single record is attacked many times over, under a threat, and a guess near the truth may count.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.attacks.base import AttackResult
from corrdp.attacks.scoring import counted_interval
from corrdp.errors import InputError
from corrdp.mechanisms.response import state_numbers
from corrdp.reconstruction.exact import best_guesses, channel_of, check_channel
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
        return AttackResult(name, guesses, right / n, counted_interval(right, n), n)

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


@dataclass(frozen=True, eq=False)
class Optimal(RecordAttack):
    """The attack that no other beats in reconstruction advantage: see :func:`likeliest_gain`.

    Parameters
    ----------
    mechanism : mechanism or (m, k) array
        Outputs are reports where it has ``log_law``, else numbers of the channel's columns.
    threat : Threat

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> attack = Optimal(GRR(2, 1.0), Threat([.9, .1]))
    >>> attack.run([0, 1, 1], truth=[0, 0, 1])
    <Optimal: 0.6667 of 3 right, 95% interval 0.0943 to 0.9916>
    """

    mechanism: Any
    threat: Threat

    def table(self, outputs: Any) -> np.ndarray:
        """The record guessed: one row per label, one column per output."""
        reports = np.asarray(outputs)
        if reports.ndim < 1 or not len(reports):
            raise InputError("outputs must be an array of at least one output")
        if callable(getattr(self.mechanism, "log_law", None)):
            rows = [
                self.mechanism.log_law(reports, np.full(len(reports), x))
                for x in range(self.threat.m)
            ]
            return likeliest_gain(np.array(rows), self.threat)
        channel = channel_of(self.mechanism)
        if channel is None:
            raise InputError(f"{self.mechanism!r} has neither log_law nor channel")
        law = check_channel(channel, self.threat)
        with np.errstate(divide="ignore"):
            logs = np.log(law)[:, state_numbers("outputs", reports, law.shape[1])]
        return likeliest_gain(logs, self.threat)
