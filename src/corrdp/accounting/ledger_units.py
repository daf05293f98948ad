"""Epsilons as whole numbers of 1e-12 nats, and per-record vectors of them in runs.

One rule reads floats: a float stands for the shortest decimal that names it, what people type and
what Python prints. ``.001`` is 1/1000, though the double is 2e-20 above that. Charges then round
up to the unit and budgets round down. What is drawn keeps to the decimal and not to the double:
:func:`level` is the largest double that is not above it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

from corrdp.errors import InputError

UNIT = 10**12  # units in one nat
MOST = 10**6 * UNIT  # sums of two stay far inside SQLite's 64-bit integers


def units_up(value: float) -> int:
    """Units of a charge: the decimal that names the float, rounded up.

    Examples
    --------
    >>> units_up(.001), units_up(1 / 3)
    (1000000000, 333333333334)
    """
    return int((Decimal(repr(float(value))) * UNIT).to_integral_value(ROUND_CEILING))


def units_down(value: float) -> int:
    """Units of a budget, or of a release that may draw a little more noise: rounded down.

    Examples
    --------
    >>> units_down(.3), units_down(1 / 3)
    (300000000000, 333333333333)
    """
    return int((Decimal(repr(float(value))) * UNIT).to_integral_value(ROUND_FLOOR))


def level(units: int) -> float:
    """The largest double that is not above ``units * 1e-12``: what a mechanism may draw at.

    Examples
    --------
    >>> level(units_up(.5)), level(units_up(.001)) < .001, units_up(level(units_up(.001)))
    (0.5, True, 1000000000)
    """
    nearest = units / UNIT
    return math.nextafter(nearest, 0.0) if Fraction(nearest) > Fraction(units, UNIT) else nearest


def written(units: int) -> str:
    """Units as the decimal they are, for people.

    Examples
    --------
    >>> written(1000000000), written(3 * UNIT)
    ('0.001', '3')
    """
    text = f"{Decimal(units).scaleb(-12):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@dataclass(frozen=True)
class Runs:
    """One number of units for every record, run-length coded.

    Parameters
    ----------
    parts : tuple of (units, length)
        A single part with length None is one number for every record, however many there are.

    Examples
    --------
    >>> day = Runs(((5, 2), (0, 3)))
    >>> (day + Runs.scalar(1)).parts, day.largest
    (((6, 2), (1, 3)), 5)
    """

    parts: tuple[tuple[int, int | None], ...]

    @classmethod
    def scalar(cls, units: int) -> Runs:
        """The same number for every record."""
        return cls(((units, None),))

    @classmethod
    def joined(cls, parts: list[tuple[int, int]]) -> Runs:
        """Runs of a vector, neighbours of equal value merged; one value is a scalar."""
        merged: list[tuple[int, int]] = []
        for units, length in parts:
            if merged and merged[-1][0] == units:
                merged[-1] = (units, merged[-1][1] + length)
            else:
                merged.append((units, length))
        return cls.scalar(merged[0][0]) if len(merged) == 1 else cls(tuple(merged))

    @classmethod
    def charged(cls, epsilon: Any, records: int | None) -> Runs:
        """A charge: every entry of epsilon rounded up to the unit.

        Parameters
        ----------
        epsilon : float, sequence of float, or guarantee
        records : int or None
            How many entries a vector must have; None refuses vectors.
        """
        if not _is_number(epsilon):
            epsilon = _dp_level(epsilon)
        if _is_number(epsilon):
            return cls.scalar(_checked("epsilon", epsilon, units_up))
        if records is None:
            raise InputError(
                f"epsilon has {len(epsilon)} entries and the ledger does not know how many records "
                "there are; give one number, or make the ledger with a number of records or a "
                "model of fixed length"
            )
        if len(epsilon) != records:
            raise InputError(
                f"epsilon has {len(epsilon)} entries and the ledger {records} records; give one "
                "number, or one entry per record"
            )
        import numpy as np

        starts = np.flatnonzero(np.r_[True, epsilon[1:] != epsilon[:-1]])
        lengths = np.diff(np.r_[starts, len(epsilon)])
        _checked("the largest epsilon", float(epsilon.max()), units_up)
        found = zip(epsilon[starts].tolist(), lengths.tolist(), strict=True)
        return cls.joined([(units_up(value), length) for value, length in found])

    @classmethod
    def from_json(cls, coded: Any) -> Runs:
        """Inverse of :meth:`to_json`."""
        if isinstance(coded, int):
            return cls.scalar(coded)
        return cls(tuple((int(units), int(length)) for units, length in coded))

    def to_json(self) -> int | list[list[int]]:
        """A whole number, or a list of [units, length]."""
        if self.is_scalar:
            return self.parts[0][0]
        return [[units, int(length or 0)] for units, length in self.parts]

    @property
    def is_scalar(self) -> bool:
        """Whether every record has the same number."""
        return self.parts[0][1] is None

    @property
    def largest(self) -> int:
        """The largest entry."""
        return max(units for units, _ in self.parts)

    def __add__(self, other: Runs) -> Runs:
        return self.joined([(a + b, length) for a, b, length in self.beside(other)])

    def minus(self, units: int) -> Runs:
        """Every entry less by this."""
        return Runs(tuple((value - units, length) for value, length in self.parts))

    def spread(self, units: int) -> Runs:
        """The same number of units wherever this is above 0: a release of the same records."""
        parts = tuple((units if value else 0, length) for value, length in self.parts)
        return Runs(parts) if self.is_scalar else self.joined([(u, k or 0) for u, k in parts])

    def beside(self, other: Runs) -> list[tuple[int, int, int]]:
        """Both, cut where either changes: (units here, units there, length)."""
        if self.is_scalar and other.is_scalar:
            return [(self.parts[0][0], other.parts[0][0], 1)]
        if self.is_scalar:
            return [(self.parts[0][0], b, length or 0) for b, length in other.parts]
        if other.is_scalar:
            return [(a, other.parts[0][0], length or 0) for a, length in self.parts]
        cut, mine, theirs = [], list(self.parts[::-1]), list(other.parts[::-1])
        while mine and theirs:
            (a, left), (b, right) = mine.pop(), theirs.pop()
            left, right = left or 0, right or 0
            both = min(left, right)
            cut.append((a, b, both))
            if left > both:
                mine.append((a, left - both))
            if right > both:
                theirs.append((b, right - both))
        return cut

    def doubles(self) -> Any:
        """As :func:`corrdp.leakage` takes them: a float, or an array of the nearest doubles."""
        if self.is_scalar:
            return self.parts[0][0] / UNIT
        import numpy as np

        return np.repeat([u / UNIT for u, _ in self.parts], [k or 0 for _, k in self.parts])


def _dp_level(epsilon: Any) -> Any:
    """The epsilon of a guarantee, as a float or an array; nothing else can be added up."""
    from corrdp.guarantees import L1, Approximate, Pure, as_guarantee

    guarantee = as_guarantee(epsilon)
    if isinstance(guarantee, Approximate) and guarantee.delta == 0:
        return guarantee.epsilon
    if isinstance(guarantee, Pure) or (isinstance(guarantee, L1) and guarantee.epsilon is not None):
        return guarantee.epsilon
    from corrdp.errors import GuaranteeError

    raise GuaranteeError(
        f"a ledger adds up pure epsilons, and {type(guarantee).__name__} has none; compose such "
        "releases in a plan (corrdp account), or release with Laplace noise, Pure(epsilon)"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _checked(name: str, value: Any, to_units: Any) -> int:
    """Units of a finite number > 0 that fits."""
    if not 0 < value < math.inf:
        raise InputError(f"{name} must be a finite number > 0, got {value!r}")
    units = to_units(value) if value <= MOST // UNIT else MOST + 1
    if units > MOST:
        raise InputError(f"{name} is beyond {MOST // UNIT} nats, where nothing is private")
    return units


def budget_units(budget: Any) -> int:
    """Units of a budget, rounded down.

    Examples
    --------
    >>> budget_units(1)
    1000000000000
    """
    if not _is_number(budget):
        raise InputError(f"budget must be a number > 0, got {budget!r}")
    units = _checked("budget", budget, units_down)
    if units == 0:
        raise InputError(f"budget is {budget:.3g}, less than the unit of the books, 1e-12")
    return units
