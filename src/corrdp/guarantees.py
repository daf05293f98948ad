"""What a mechanism promises before correlation is taken into account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_array, check_number
from corrdp.errors import InputError


def _levels(name: str, given: Any) -> Any:
    """One number > 0, or an array with one number >= 0 per record, not all of them 0."""
    if not isinstance(given, Sequence | np.ndarray) or getattr(given, "shape", None) == ():
        return check_number(name, given, above=0)
    vector = check_array(name, given)
    if vector.ndim != 1 or vector.size == 0:
        raise InputError(f"{name} must be one number or one per record, got shape {vector.shape}")
    bad = np.flatnonzero(~np.isfinite(vector) | (vector < 0))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] = {vector[bad[0]]} must be a finite number >= 0")
    if not vector.any():
        raise InputError(f"{name} is 0 for every record: the mechanism reads nothing")
    vector.setflags(write=False)
    return vector


def _per_record(name: str, level: Any, n: int) -> np.ndarray:
    if np.ndim(level) == 0:
        return np.full(n, level)
    if len(level) != n:
        raise InputError(
            f"{name} has {len(level)} entries and the model {n} records; "
            "give one number, or one entry per record"
        )
    return np.asarray(level)


@dataclass(frozen=True, eq=False)
class Pure:
    """epsilon-DP: changing one record changes every log probability by at most epsilon.

    Parameters
    ----------
    epsilon : float or sequence of float
        One number for every record, or one per record (zeros allowed, for records that the
        mechanism does not read; at least one entry must be positive).

    Examples
    --------
    >>> Pure(1.0).epsilon
    1.0
    >>> Pure([1, 0, .5]).largest
    1.0
    """

    epsilon: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _levels("epsilon", self.epsilon))

    @property
    def is_vector(self) -> bool:
        """Whether epsilon differs from record to record."""
        return isinstance(self.epsilon, np.ndarray)

    @property
    def largest(self) -> float:
        """The plain DP level: the largest entry."""
        return float(np.max(self.epsilon))

    def vector(self, n: int) -> np.ndarray:
        """Epsilon of each of ``n`` records."""
        return _per_record("epsilon", self.epsilon, n)


@dataclass(frozen=True)
class Approximate:
    """(epsilon, delta)-DP.

    Examples
    --------
    >>> Approximate(1.0, 1e-6).delta
    1e-06
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_number("epsilon", self.epsilon, least=0))
        object.__setattr__(self, "delta", check_number("delta", self.delta, least=0))
        if self.delta > 1:
            raise InputError(f"delta must lie in [0, 1], got {self.delta}")


@dataclass(frozen=True, eq=False)
class L1:
    """Metric privacy on real records: log probabilities move by at most ``rate * |x - x'|``.

    Parameters
    ----------
    rate : float or sequence of float
        Per unit of the records; one number for every record, or one per record.
    epsilon : float or sequence of float, optional
        The plain DP level, where the mechanism has one: after clipping to a range of width w it
        is ``rate * w``.

    Examples
    --------
    >>> L1(.1).rate
    0.1
    >>> L1(.1, epsilon=2.0).largest
    2.0
    """

    rate: Any
    epsilon: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _levels("rate", self.rate))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", _levels("epsilon", self.epsilon))

    @property
    def is_vector(self) -> bool:
        """Whether the rate differs from record to record."""
        return isinstance(self.rate, np.ndarray)

    @property
    def largest(self) -> float:
        """The plain DP level: the largest epsilon, inf when there is none."""
        return float("inf") if self.epsilon is None else float(np.max(self.epsilon))

    def rates(self, n: int) -> np.ndarray:
        """Rate of each of ``n`` records."""
        return _per_record("rate", self.rate, n)

    def vector(self, n: int) -> np.ndarray:
        """Epsilon of each of ``n`` records, inf where the mechanism has no DP level."""
        return _per_record("epsilon", np.inf if self.epsilon is None else self.epsilon, n)


@dataclass(frozen=True)
class GDP:
    """mu-Gaussian DP.

    Examples
    --------
    >>> GDP(.5).mu
    0.5
    """

    mu: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", check_number("mu", self.mu, above=0))


@dataclass(frozen=True)
class Tradeoff:
    """f-DP: ``curve(alpha)`` bounds the type II error of any test of level alpha from below.

    Examples
    --------
    >>> Tradeoff(lambda alpha: 1 - alpha).curve(.25)
    0.75
    """

    curve: Callable[[float], float]

    def __post_init__(self) -> None:
        if not callable(self.curve):
            raise InputError("curve must be a function of alpha in [0, 1]")


Guarantee = Pure | Approximate | L1 | GDP | Tradeoff


def as_guarantee(value: Guarantee | float | Sequence[float] | np.ndarray) -> Guarantee:
    """Read a bare number (or one per record) as :class:`Pure`.

    Examples
    --------
    >>> as_guarantee(1)
    Pure(epsilon=1.0)
    """
    if isinstance(value, Pure | Approximate | L1 | GDP | Tradeoff):
        return value
    if isinstance(value, str | bytes | bool) or value is None:
        raise InputError(f"epsilon must be a number or a guarantee, got {value!r}")
    return Pure(value)
