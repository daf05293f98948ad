"""What a mechanism is to the rest of corrdp: a law, a sampler and a promise."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from corrdp._checks import check_kind, check_number
from corrdp.errors import InputError
from corrdp.guarantees import Guarantee

# Entries of a channel are doubles near the law they stand for, half an ulp off each; the
# logarithm and the division add a few ulps of the result. Both are put on top, so that a step
# is never below the truth.
_ENTRY_SLACK = 2.0**-52
_LOG_SLACK = 2.0**-50


@runtime_checkable
class Mechanism(Protocol):
    """A randomized answer: ``Pr[y | x]``, a way to draw from it, and what it promises.

    ``x`` is the whole data set (a sequence of records), ``y`` the output.
    """

    @property
    def guarantee(self) -> Guarantee:
        """What the mechanism promises before correlation is taken into account."""
        ...

    def sample(self, x: Any, rng: np.random.Generator) -> Any:
        """Draw one output (for simulation; releases draw their noise from OpenDP)."""
        ...

    def logpmf(self, y: Any, x: Any) -> float:
        """Log probability, or log density for a continuous law, of the output ``y``."""
        ...


@runtime_checkable
class FiniteMechanism(Mechanism, Protocol):
    """A mechanism that acts on each record alone and has finitely many outputs."""

    def channel(self) -> np.ndarray:
        """``Q[x, y] = Pr[y | x]`` for one record: rows are inputs and sum to 1."""
        ...


def steps(channel: np.ndarray) -> np.ndarray:
    r"""Log-probability steps of a channel, one for each direction.

    .. math:: E[x, x'] = \max_y \ln \frac{Q(x, y)}{Q(x', y)}

    where

    - Q is the channel, Pr[output y | input x],
    - outputs of probability 0 under both inputs are left out,
    - an output possible under x only makes E[x, x'] infinite.

    Off the diagonal the result is rounded up (by less than 1e-15, absolute and relative), so
    that it also holds for the law whose rounding to doubles the channel is.

    Parameters
    ----------
    channel : (inputs, outputs) array
        Rows sum to 1.

    Returns
    -------
    (inputs, inputs) array

    References
    ----------
    The matrices eps_t(x, x') of the transfer bound (T-2 in docs/theorems.md).

    Examples
    --------
    >>> steps(np.array([[.7, .3], [.2, .8]])).round(6).tolist()
    [[0.0, 1.252763], [0.980829, 0.0]]
    """
    law = np.asarray(channel, dtype=float)
    if law.ndim != 2 or not law.size or not np.isfinite(law).all() or (law < 0).any():
        raise InputError(
            f"a channel is a matrix of probabilities, inputs x outputs; got shape {law.shape}"
        )
    off = float(np.abs(law.sum(axis=1) - 1).max())
    if off > 1e-9:
        raise InputError(f"rows of the channel must sum to 1; the worst is off by {off:.3g}")
    top, bottom = law[:, None, :], law[None, :, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # log1p keeps the digits of ratios near 1, where ln(p/q) would lose them
        logs = np.log1p((top - bottom) / bottom)
    largest = np.where(top + bottom > 0, logs, -np.inf).max(axis=2)
    raised = largest + np.abs(largest) * _LOG_SLACK + _ENTRY_SLACK
    np.fill_diagonal(raised, 0.0)
    return raised


def check_positive(name: str, value: Any) -> float:
    """``value`` as a float, refused unless it is a finite number above 0."""
    return check_number(name, value, above=0)


def check_rng(rng: Any) -> np.random.Generator:
    """A generator of random numbers, refused unless it is numpy's."""
    return check_kind("rng", rng, np.random.Generator, "a numpy.random.Generator")
