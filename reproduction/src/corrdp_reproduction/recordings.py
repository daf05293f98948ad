"""The recordings that experiments read, from a directory that the caller names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corrdp.errors import DataError
from corrdp.models.chains.markov import MarkovChain

VARIABLE = "CORRDP_DATA"
HEART_RATES = {"high": "heart_rate_N10.txt.gz", "low": "heart_rate_N5.txt.gz"}


class NoDataError(DataError):
    """A recording is not there: the experiment cannot run on it."""


def data_file(name: str, data: str | os.PathLike[str] | None = None) -> Path:
    """The path of a recording.

    Parameters
    ----------
    name : str
        Name of the file.
    data : path, optional
        Its directory; that of the environment variable ``CORRDP_DATA`` when left out.

    Raises
    ------
    NoDataError
        No directory is named, or the file is not in it.
    """
    directory = os.environ.get(VARIABLE) if data is None else data
    if not directory:
        raise NoDataError(
            f"{name} is needed and no directory is named: give data=DIRECTORY or set {VARIABLE}"
        )
    path = Path(directory) / name
    if not path.is_file():
        raise NoDataError(f"{name} is needed and not in {Path(directory)}: put it there")
    return path


@dataclass(frozen=True, eq=False)
class HeartRate:
    """A heart rate while asleep as two states: 1 above its mean, 0 below.

    Parameters
    ----------
    name : str
    states : array of 0 and 1
        In the order of time.
    """

    name: str
    states: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """``counts[x, y]``: how often y followed x."""
        pairs = 2 * self.states[:-1] + self.states[1:]
        return np.bincount(pairs, minlength=4).reshape(2, 2)

    @property
    def rates(self) -> tuple[float, float]:
        """Shares of transitions 0 to 1 (q) and 1 to 0 (r)."""
        shares = self.counts / self.counts.sum(axis=1, keepdims=True)
        return float(shares[0, 1]), float(shares[1, 0])

    @property
    def chain(self) -> MarkovChain:
        """The fitted chain of first order, with a stationary start as in the source."""
        return MarkovChain.fit([self.states.tolist()])


def heart_rate(which: str, data: str | os.PathLike[str] | None = None) -> HeartRate:
    """One of the two heart rate recordings, split at its mean.

    Parameters
    ----------
    which : "high" or "low"
        How strongly neighbouring beats depend on each other.
    data : path, optional
        See :func:`data_file`.

    References
    ----------
    Peng, Mietus, Liu, Khalsa, Douglas, Benson, Goldberger, International Journal of Cardiology 70
    (1999), 101-107; PhysioNet.
    """
    path = data_file(HEART_RATES[which], data)
    try:
        rates = np.loadtxt(path, usecols=1, ndmin=1)
    except (ValueError, IndexError) as error:
        raise DataError(f"{path} must hold two columns, time and heart rate: {error}") from None
    if len(rates) < 2 or not np.isfinite(rates).all():
        raise DataError(f"{path} holds fewer than two beats, or values that are not numbers")
    return HeartRate(which, (rates > rates.mean()).astype(np.int64))
