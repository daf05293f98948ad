"""The attack on one record that no other beats, on any mechanism whose law is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.attacks.records import RecordAttack, likeliest_gain
from corrdp.errors import InputError
from corrdp.mechanisms.response import state_numbers
from corrdp.reconstruction.exact import channel_of, check_channel
from corrdp.reconstruction.threat import Threat


@dataclass(frozen=True, eq=False)
class Optimal(RecordAttack):
    """The attack of largest advantage: see :func:`corrdp.attacks.records.likeliest_gain`.

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
    <Optimal: 0.6667 of 3 right, 95% interval 0.0943 to 0.9916, 0.252 bits of each record>
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
