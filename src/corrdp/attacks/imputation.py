"""The attack that never looks at the output: a negative control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.attacks.optimal import RecordAttack
from corrdp.errors import InputError
from corrdp.reconstruction.exact import best_guesses
from corrdp.reconstruction.threat import Threat


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
