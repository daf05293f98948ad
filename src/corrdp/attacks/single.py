"""The attacker who looks at one report at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corrdp.attacks.base import MISSING, Attack
from corrdp.models.chains.markov import MarkovChain


@dataclass(frozen=True)
class SingleBit(Attack):
    """Take every report for the truth.

    Where nothing was reported, guess the state that is likeliest under the model. O(n).

    Parameters
    ----------
    mechanism : BinaryResponse or GRR

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4 (SB).

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> SingleBit(BinaryResponse(.25)).run([0, 1, None, 1], chain).guesses.tolist()
    [0, 1, 0, 1]
    """

    def _guess(
        self,
        chain: MarkovChain,
        channel: np.ndarray,
        reports: np.ndarray,
        records: np.ndarray | None,
    ) -> np.ndarray:
        unseen = reports == MISSING
        if not unseen.any():
            return reports
        from corrdp.attacks.forward_backward import smoothed

        # with nothing observed at all, the posterior is the law of each record
        laws = smoothed(chain, channel, np.full_like(reports, MISSING))
        return np.where(unseen, laws.argmax(axis=1), reports)
