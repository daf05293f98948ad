"""What a mechanism promises before correlation is taken into account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_array, check_number
from corrdp.errors import InputError


def _levels(name: str, given: Any, *, zero: bool = False, most: float = np.inf) -> Any:
    """One number > 0, or an array with one number >= 0 per record, not all of them 0.

    With ``zero`` every number may be 0; none may be above ``most``.
    """
    if not isinstance(given, Sequence | np.ndarray) or getattr(given, "shape", None) == ():
        above, least = (None, 0.0) if zero else (0.0, None)
        limit = most if most < np.inf else None
        return check_number(name, given, above=above, least=least, most=limit)
    vector = check_array(name, given)
    if vector.ndim != 1 or vector.size == 0:
        raise InputError(f"{name} must be one number or one per record, got shape {vector.shape}")
    bad = np.flatnonzero(~np.isfinite(vector) | (vector < 0))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] = {vector[bad[0]]} must be a finite number >= 0")
    if vector.max() > most:
        raise InputError(f"{name} must be at most {most:g} for every record, got {vector.max():g}")
    if not zero and not vector.any():
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


class _Compared:
    """Guarantees of equal levels are equal, one number or one per record."""

    def _values(self) -> tuple[Any, ...]:
        return tuple(np.asarray(level).tobytes() for level in vars(self).values())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))


@dataclass(frozen=True, eq=False)
class Approximate(_Compared):
    r"""(epsilon, delta)-DP: for records t, inputs that differ in t only, and all events S,

    .. math:: \Pr[Y \in S | x] \le e^{\varepsilon_t} \Pr[Y \in S | x'] + \delta_t.

    Parameters
    ----------
    epsilon : float or sequence of float
        One number for every record, or one per record; zeros allowed.
    delta : float or sequence of float
        Likewise, each in [0, 1]. A delta of 1 promises nothing, and what is converted may come to
        that (a record that is published with probability 1): :func:`corrdp.leakage` and audits
        refuse it.

    Examples
    --------
    >>> Approximate(1.0, 1e-6).delta
    1e-06
    >>> Approximate([1, 0, .5], 1e-6).pairs(3)[1]
    array([1.e-06, 1.e-06, 1.e-06])
    """

    epsilon: Any
    delta: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _levels("epsilon", self.epsilon, zero=True))
        object.__setattr__(self, "delta", _levels("delta", self.delta, zero=True, most=1.0))
        lengths = {len(level) for level in (self.epsilon, self.delta) if np.ndim(level)}
        if len(lengths) > 1:
            raise InputError(
                f"epsilon has {len(self.epsilon)} entries and delta {len(self.delta)}; give one "
                "number or one entry per record for each"
            )

    @property
    def is_vector(self) -> bool:
        """Whether epsilon or delta differs from record to record."""
        return isinstance(self.epsilon, np.ndarray) or isinstance(self.delta, np.ndarray)

    @property
    def largest(self) -> float:
        """The largest epsilon."""
        return float(np.max(self.epsilon))

    @property
    def largest_delta(self) -> float:
        """The largest delta."""
        return float(np.max(self.delta))

    def pairs(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Epsilon and delta of each of ``n`` records."""
        return _per_record("epsilon", self.epsilon, n), _per_record("delta", self.delta, n)


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


@dataclass(frozen=True, eq=False)
class GDP(_Compared):
    """mu-Gaussian DP: no test between neighbours is better than between N(0, 1) and N(mu, 1).

    Parameters
    ----------
    mu : float or sequence of float
        One number for every record, or one per record (zeros allowed, not all of them).

    Examples
    --------
    >>> GDP(.5).mu
    0.5
    >>> GDP([.5, 0]).largest
    0.5
    """

    mu: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _levels("mu", self.mu))

    @property
    def is_vector(self) -> bool:
        """Whether mu differs from record to record."""
        return isinstance(self.mu, np.ndarray)

    @property
    def largest(self) -> float:
        """The largest mu."""
        return float(np.max(self.mu))

    def vector(self, n: int) -> np.ndarray:
        """Mu of each of ``n`` records."""
        return _per_record("mu", self.mu, n)


@dataclass(frozen=True, eq=False)
class ZCDP(_Compared):
    r"""rho-zero-concentrated DP: the Renyi divergence of order alpha is at most rho alpha.

    .. math:: D_\alpha(P_x \| P_{x'}) \le \rho \alpha \quad \text{for all } \alpha > 1

    It says less than ``GDP(sqrt(2 rho))``, which Gaussian noise of that rho satisfies.

    Parameters
    ----------
    rho : float or sequence of float
        One number for every record, or one per record (zeros allowed, not all of them).

    References
    ----------
    Bun, Steinke, "Concentrated differential privacy" (2016).

    Examples
    --------
    >>> ZCDP(.02).rho
    0.02
    """

    rho: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", _levels("rho", self.rho))

    @property
    def is_vector(self) -> bool:
        """Whether rho differs from record to record."""
        return isinstance(self.rho, np.ndarray)

    @property
    def largest(self) -> float:
        """The largest rho."""
        return float(np.max(self.rho))

    def vector(self, n: int) -> np.ndarray:
        """Rho of each of ``n`` records."""
        return _per_record("rho", self.rho, n)


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


@dataclass(frozen=True, eq=False)
class Profile(_Compared):
    """A privacy profile: the mechanism is (epsilon, delta(epsilon))-DP for every epsilon >= 0.

    Parameters
    ----------
    delta : callable, or sequence of callables
        Takes epsilon, or an array of them, and returns delta in [0, 1]; never rises.
    of : sequence of int, optional
        With several profiles: the number of the one that each record has.

    References
    ----------
    Balle, Barthe, Gaboardi, "Privacy profiles and amplification by subsampling" (2020).

    Examples
    --------
    >>> Profile(lambda epsilon: max(0.0, .1 - .05 * epsilon)).delta(1.0)
    0.05
    >>> day, night = (lambda epsilon: max(0.0, .1 - epsilon)), (lambda epsilon: 0.0)
    >>> Profile([day, night], of=[0, 0, 1]).is_vector
    True
    """

    delta: Any
    of: Any = None

    def __post_init__(self) -> None:
        if self.of is None:
            if not callable(self.delta):
                raise InputError("delta must be a function of epsilon >= 0")
            return
        each = tuple(self.delta) if isinstance(self.delta, Sequence) else ()
        if not each or not all(callable(delta) for delta in each):
            raise InputError("with of= there are several profiles, each a function of epsilon >= 0")
        of = check_array("of", self.of)
        if of.ndim != 1 or of.size == 0 or not np.isin(of, np.arange(len(each))).all():
            raise InputError(
                f"of must have the number of its profile for each record, 0 to {len(each) - 1}"
            )
        object.__setattr__(self, "delta", each)
        object.__setattr__(self, "of", of.astype(np.int64))

    @property
    def is_vector(self) -> bool:
        """Whether records have different profiles."""
        return self.of is not None

    def _values(self) -> tuple[Any, ...]:
        return self.delta, None if self.of is None else self.of.tobytes()


Guarantee = Pure | Approximate | L1 | GDP | ZCDP | Tradeoff | Profile


def as_guarantee(value: Guarantee | float | Sequence[float] | np.ndarray) -> Guarantee:
    """Read a bare number (or one per record) as :class:`Pure`.

    Examples
    --------
    >>> as_guarantee(1)
    Pure(epsilon=1.0)
    """
    if isinstance(value, Guarantee):
        return value
    if isinstance(value, str | bytes | bool) or value is None:
        raise InputError(f"epsilon must be a number or a guarantee, got {value!r}")
    return Pure(value)
