"""Randomized response that stays silent while its reports come near the worst case.

A published series gives most away where many reports of one kind stand together. Whether the next
one is withheld is decided by the reports before it alone, whatever the record is: so silence says
nothing, and the law of what is reported stays that of plain randomized response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp.errors import InputError
from corrdp.guarantees import Pure
from corrdp.mechanisms.response import BinaryResponse, state_numbers

SILENT = -1  # the number of a report that is withheld
GRAIN = 16  # what one report adds to the tally
FINEST = 2.0**-32  # rate that is drawn
MOST = 4096  # of the tally: what it may become is listed


@dataclass(frozen=True)
class WithholdingResponse:
    r"""Binary randomized response that withholds reports by a tally of those before.

    .. math:: v_{t+1} = [m v_t] \pm 16, \qquad
              z_t \text{ is withheld} \iff |[m v_t]| + 16 > c, \text{ and then } v_{t+1} = [m v_t]

    where

    - v is the tally, 0 at the beginning; a report of 0 adds 16 to it and one of 1 takes 16 away,
    - m is the memory, by which older reports are forgotten, and [.] rounds towards 0,
    - c is the cap that the tally never exceeds.

    Reports are wrong with probability ``flip``. The tally is public: it is made of the reports, so
    that a withheld report tells nothing about its record. Like
    :class:`~corrdp.mechanisms.response.CorrelatedResponse` it goes along time.

    Parameters
    ----------
    flip : float in [2^-32, 1/2]
    memory : float in [0, 1)
    cap : int
        From 16, one report, to 4096.

    References
    ----------
    Chakrabarti, Gao, Saraf, Schoenebeck, Yu, "Optimal local Bayesian differential privacy over
    Markov chains" (2022), section 5, has the idea "to prevent the mechanism from outputting
    sanitizations close to the worst case"; chains#withholding.

    Examples
    --------
    >>> response = WithholdingResponse(.3, memory=.9, cap=40)
    >>> response.let_through([0, 0, 0, 0, 1, 1, 1])   # 16, 30; 43 would be too much: withheld
    ([0, 0, -1, 0, -1, -1, -1], 28)
    >>> round(response.guarantee.largest, 6)
    0.847298
    """

    flip: float
    memory: float
    cap: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "flip", check_number("flip", self.flip, least=FINEST, most=0.5))
        memory = check_number("memory", self.memory, least=0, below=1)
        object.__setattr__(self, "memory", memory)
        object.__setattr__(self, "cap", check_whole("cap", self.cap, GRAIN, MOST))

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP of each record, that of randomized response."""
        return BinaryResponse(self.flip).guarantee

    def forgotten(self) -> np.ndarray:
        """``[m v]`` for every tally v from -cap to cap."""
        return np.trunc(np.arange(-self.cap, self.cap + 1) * self.memory).astype(np.int64)

    def let_through(self, reports: Any, tally: int = 0) -> tuple[list[int], int]:
        """The reports that are not withheld, -1 where they are, and the tally after them.

        Parameters
        ----------
        reports : sequence of 0, 1, -1
            What randomized response would say, -1 where nothing was recorded.
        tally : int
            Where earlier ones left it.
        """
        codes = self._codes("reports", reports)
        tally = check_whole("tally", tally, -self.cap, self.cap)
        rest, most = self.forgotten().tolist(), self.cap - GRAIN
        told = []
        for report in codes.tolist():
            tally = rest[tally + self.cap]
            silent = report == SILENT or abs(tally) > most
            told.append(SILENT if silent else report)
            if not silent:
                tally += -GRAIN if report else GRAIN
        return told, tally

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One report per record of a series, -1 where it is withheld; for simulation."""
        return np.array(self.let_through(BinaryResponse(self.flip).sample(x, rng))[0])

    def logpmf(self, y: Any, x: Any) -> float:
        """Log probability of the whole series ``y``, -1 where withheld, given the records ``x``."""
        reports, records = self._codes("y", y), state_numbers("x", x, 2)
        if reports.shape != records.shape:
            raise InputError(f"y must be one series of {records.size} reports, one per record")
        said = reports != SILENT
        if self.let_through(np.where(said, reports, 0))[0] != reports.tolist():
            return -math.inf  # silent where it would not be, or not where it would
        return BinaryResponse(self.flip).logpmf(reports[said], records[said])

    @staticmethod
    def _codes(name: str, values: Any) -> np.ndarray:
        try:
            codes = np.asarray(values)
        except ValueError:
            codes = np.empty((0, 0))
        if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "biu"):
            raise InputError(f"{name} must be one series of 0, 1 and, where withheld, -1")
        if codes.size and not -1 <= codes.min() <= codes.max() <= 1:
            raise InputError(f"{name} must hold 0, 1 and, where withheld, -1 only")
        return codes.astype(np.int64)
