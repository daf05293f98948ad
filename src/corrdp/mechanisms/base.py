r"""What a mechanism is to the rest of corrdp: a law, a sampler, a promise, and an error.

An answer is off by alpha or more with probability at most beta. Mechanisms know it in closed form
(``error(beta)``, ``tail(alpha)``); what has only been run is judged by counting, with an interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from corrdp._checks import check_choice, check_kind, check_number
from corrdp.errors import InputError
from corrdp.guarantees import Guarantee
from corrdp.results import Result

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
    The matrices eps_t(x, x') of the transfer bound (chains#transfer).

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


def check_beta(beta: Any) -> float:
    """``beta`` as a float in (0, 1]: the share of answers that may be off by more."""
    return check_number("beta", beta, above=0, most=1)


def check_alpha(alpha: Any) -> float:
    """``alpha`` as a finite float of at least 0: an error."""
    return check_number("alpha", alpha, least=0)


def check_norm(norm: Any, *known: str) -> None:
    """Refuse a norm that the mechanism has no law for."""
    check_choice("norm", norm, known)


def each_cell(beta: float, cells: int) -> float:
    """Probability that each of some independent cells may exceed, so that any does with beta.

    Examples
    --------
    >>> round(each_cell(.05, 5), 6)
    0.010206
    """
    return 1.0 if beta == 1 else -math.expm1(math.log1p(-beta) / cells)


def any_cell(one: float, cells: int) -> float:
    """Inverse of :func:`each_cell`: probability that any of some independent cells exceeds."""
    return 1.0 if one >= 1 else -math.expm1(cells * math.log1p(-one))


@dataclass(frozen=True)
class Accuracy(Result):
    """How often an error reached alpha in so many runs; see :func:`observed_accuracy`."""

    result = "accuracy"
    kind: ClassVar[str] = "estimate"
    alpha: float
    failures: int
    runs: int
    confidence: float
    lower: float
    upper: float

    @property
    def value(self) -> float:
        """Share of the runs with an error of alpha or more: the estimate of beta."""
        return self.failures / self.runs

    def around(self, answer: float) -> tuple[float, float]:
        """Open interval that holds the exact answer unless the error reached alpha."""
        return answer - self.alpha, answer + self.alpha

    def __repr__(self) -> str:
        return (
            f"Accuracy: error of {self.alpha:g} or more in {self.failures} of {self.runs} runs, "
            f"beta = {self.value:.6g} (estimate), {self.confidence:.4g} interval "
            f"[{self.lower:.6g}, {self.upper:.6g}]"
        )


def observed_accuracy(errors: Any, alpha: float, confidence: float = 0.95) -> Accuracy:
    r"""Estimate, with an interval, how often the error of a mechanism reaches alpha.

    .. math:: \beta = \Pr[\mathrm{Err}(M(D), f(D)) \ge \alpha]

    where M(D) is the answer on one data set D and f(D) the exact one. (alpha, beta)-accuracy asks
    this of every D: runs on one data set say it of that data set, or of all where the error does
    not depend on the data, as with added noise. The interval is Clopper and Pearson's: it holds
    beta with at least the confidence, whatever beta is.

    Parameters
    ----------
    errors : array
        One error >= 0 for each independent run.
    alpha : float
    confidence : float in (0, 1)

    Returns
    -------
    Accuracy

    References
    ----------
    Clopper and Pearson, Biometrika 26 (1934), 404-413; Guerra-Balboa, dissertation, definition
    2.7.

    Examples
    --------
    >>> seen = observed_accuracy([2.0] * 60 + [.5] * 940, alpha=1)
    >>> seen.value, round(seen.lower, 6), round(seen.upper, 6)
    (0.06, 0.046095, 0.07656)
    >>> seen.around(32)
    (31.0, 33.0)
    """
    try:
        off = np.asarray(errors, dtype=float).ravel()
    except (TypeError, ValueError) as error:
        raise InputError(f"errors must be numbers, one for each run: {error}") from None
    if not off.size or not (off >= 0).all():
        raise InputError("errors must be one number >= 0 for each run, at least one")
    sure = check_number("confidence", confidence, above=0, below=1)
    from corrdp._binomial import binomial_interval

    level = check_alpha(alpha)
    failures, runs = int((off >= level).sum()), off.size
    low, high = binomial_interval(failures, runs - failures, 1 - sure)
    return Accuracy(level, failures, runs, sure, low, high)
