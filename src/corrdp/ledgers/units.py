"""Levels as whole numbers of 1e-12 (deltas of 1e-18), and per-record vectors of them in runs.

One rule reads floats: a float stands for the shortest decimal that names it, what people type and
what Python prints. ``.001`` is 1/1000, though the double is 2e-20 above that. Charges then round
up to the unit and budgets round down. What is drawn keeps to the decimal and not to the double:
:func:`level` is the largest double that is not above it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

from corrdp.errors import InputError

if TYPE_CHECKING:
    import numpy as np


UNIT = 10**12  # units in one nat, of mu and of rho
DELTA_UNIT = 10**18  # units of delta in 1
MOST = 10**6 * UNIT  # sums of a few stay inside 64-bit integers
_DIGITS = 4  # of a level in a table for people
# runs as text, in the one way to write them; possessive, or a million of them would be remembered
_RUN = r"\[(?:0|[1-9]\d{0,17}),[1-9]\d{0,15}\]"
_NUMBER = r"(?:0|[1-9]\d{0,18})"
_ONCE = re.compile(rf'\{{"all":({_NUMBER}),"once":([1-9]\d{{0,18}})\}}', re.ASCII)
_TEXT = re.compile(rf"{_NUMBER}|\[{_RUN}(?:,{_RUN})++\]", re.ASCII)


def units_up(value: float, unit: int = UNIT) -> int:
    """Units of a charge: the decimal that names the float, rounded up.

    Examples
    --------
    >>> units_up(.001), units_up(1 / 3)
    (1000000000, 333333333334)
    """
    return int((Decimal(repr(float(value))) * unit).to_integral_value(ROUND_CEILING))


def units_down(value: float, unit: int = UNIT) -> int:
    """Units of a budget, or of a release that may draw a little more noise: rounded down.

    Examples
    --------
    >>> units_down(.3), units_down(1 / 3)
    (300000000000, 333333333333)
    """
    return int((Decimal(repr(float(value))) * unit).to_integral_value(ROUND_FLOOR))


def capped_units(value: float) -> int:
    """Units of a level that may be infinite, rounded up: then they are beyond all that fits."""
    return units_up(value) if math.isfinite(value) else MOST + 1


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


def rounded(units: int, *, up: bool) -> str:
    """Units in four digits, for people; what was spent rounds up, what is left rounds down.

    Examples
    --------
    >>> rounded(132807123456, up=True), rounded(132807123456, up=False), rounded(3 * UNIT, up=True)
    ('0.1329', '0.1328', '3')
    """
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return written(int(context.create_decimal(units)))


@dataclass(frozen=True, eq=False)
class Runs:
    """One number of units for every record, run-length coded.

    Every operation is a few passes of numpy over the runs; a vector that changes at each of its n
    records has n of them.

    Parameters
    ----------
    units : int or array of int
        One number for every record, however many there are; or one per run.
    lengths : array of int, optional
        Records in each run.
    once : int
        What periods have beside that, which have no record in common: the largest of them. Of a
        series without an end there is one number, however many periods were read.

    Examples
    --------
    >>> day = Runs.from_text("[[5,2],[0,3]]")
    >>> (day + Runs.scalar(1)).text, day.largest
    ('[[6,2],[1,3]]', 5)
    >>> days = Runs(0, once=5) + Runs(0, once=7) + Runs(0, once=5)
    >>> (days + Runs.scalar(1)).text, (days + Runs.scalar(1)).largest
    ('{"all":1,"once":7}', 8)
    """

    units: Any
    lengths: Any = None
    once: int = 0

    @classmethod
    def scalar(cls, units: int) -> Runs:
        """The same number for every record."""
        return cls(units)

    @classmethod
    def joined(cls, units: np.ndarray, lengths: np.ndarray) -> Runs:
        """Runs of a vector, neighbours of equal value merged; one value is a scalar."""
        import numpy as np

        starts = np.flatnonzero(np.r_[True, units[1:] != units[:-1]])
        if len(starts) == 1:
            return cls(int(units[0]))
        return cls(units[starts], np.add.reduceat(lengths, starts))

    @classmethod
    def charged(
        cls, levels: Any, records: int | None, name: str = "epsilon", *, zero: bool = False
    ) -> Runs:
        """A charge: every level rounded up to the unit.

        Parameters
        ----------
        levels : float or array of float
        records : int or None
            How many entries a vector must have; None refuses vectors.
        name : {"epsilon", "mu", "rho", "delta"}
        zero : bool
            Whether all of them may be 0.
        """
        unit = DELTA_UNIT if name == "delta" else UNIT
        if is_number(levels):
            if zero and levels == 0:
                return cls.scalar(0)
            return cls.scalar(_checked(name, levels, unit))
        import numpy as np

        entries = np.asarray(levels, dtype=float)
        if entries.ndim == 0:
            return cls.charged(float(entries), records, name, zero=zero)
        _check_entries(name, len(entries), records)
        if entries.any() or not zero:
            _checked(f"the largest {name}", float(entries.max()), unit)
        starts = np.flatnonzero(np.r_[True, entries[1:] != entries[:-1]])
        values, places = np.unique(entries[starts], return_inverse=True)
        units = np.array([units_up(value, unit) for value in values.tolist()], dtype=np.int64)
        return cls.joined(units[places], np.diff(starts, append=len(entries)))

    @classmethod
    def from_text(cls, text: str) -> Runs:
        """Inverse of :attr:`text`; ValueError on anything else."""
        if (apart := _ONCE.fullmatch(text)) is not None:
            runs = cls(int(apart[1]), once=int(apart[2]))
        elif _TEXT.fullmatch(text) is None:
            raise ValueError("not as written")
        elif not text.startswith("["):
            runs = cls.scalar(int(text))
        else:
            import numpy as np

            flat = text[2:-2].replace("],[", ",")
            runs = cls(*np.fromstring(flat, dtype=np.int64, sep=",").reshape(-1, 2).T.copy())
            vars(runs)["text"] = text  # it is long to write
        if runs.largest > 4 * MOST:  # sums of a few stay inside 64 bits
            raise ValueError("beyond what can be charged")
        return runs

    @cached_property
    def text(self) -> str:
        """As it stands in the file: a whole number, a list of [units, length], or two numbers."""
        if self.once:
            return f'{{"all":{self.units},"once":{self.once}}}'
        if self.is_scalar:
            return str(self.units)
        return f"[[{'],['.join(map('%d,%d'.__mod__, self._pairs()))}]]"

    def to_json(self) -> int | list[list[int]] | dict[str, int]:
        """A whole number, a list of [units, length], or what all records and what periods have."""
        if self.once:
            return {"all": self.units, "once": self.once}
        return self.units if self.is_scalar else [list(pair) for pair in self._pairs()]

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return zip(self.units.tolist(), self.lengths.tolist(), strict=True)

    @property
    def is_scalar(self) -> bool:
        """Whether every record has the same number."""
        return self.lengths is None

    @property
    def largest(self) -> int:
        """The largest entry."""
        return self.units + self.once if self.is_scalar else int(self.units.max())

    @property
    def least(self) -> int:
        """The smallest entry."""
        return self.units if self.is_scalar else int(self.units.min())

    @property
    def records(self) -> int | None:
        """How many records there are; None where one number holds for any."""
        return None if self.is_scalar else int(self.lengths.sum())

    @property
    def touched(self) -> tuple[int, int] | None:
        """First and last record above 0; None where one number holds for all."""
        if self.is_scalar:
            return None
        ends, above = self.lengths.cumsum(), self.units.nonzero()[0]
        return int(ends[above[0]] - self.lengths[above[0]]), int(ends[above[-1]] - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runs) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __add__(self, other: Runs) -> Runs:
        mine, theirs, lengths = self._beside(other)
        once = max(self.once, other.once)
        if lengths is None:
            return Runs(mine + theirs, once=once)
        if once:
            raise InputError(
                "periods of a series without an end and vectors of records do not add up; restore "
                "a copy of the ledger that checks"
            )
        return self.joined(mine + theirs, lengths)

    def minus(self, units: int) -> Runs:
        """Every entry less by this."""
        return Runs(self.units - units, self.lengths, self.once)

    def spread(self, units: int) -> Runs:
        """The same number of units wherever this is above 0: a release of the same records."""
        if self.once:
            return Runs(0, once=units)
        if self.is_scalar:
            return Runs(units if self.units else 0)
        return self.joined((self.units > 0) * units, self.lengths)

    def largest_in(self, shape: Runs) -> int:
        """The largest entry among the records where ``shape`` is above 0; 0 if there is none."""
        if shape.once:  # a period that no other one shares a record with
            return int(self.units)
        mine, theirs, lengths = self._beside(shape)
        if lengths is None:
            return self.largest if theirs else 0
        return int((mine * (theirs > 0)).max())

    def _beside(self, other: Runs) -> tuple[Any, Any, Any]:
        """Both, cut where either changes: units here, units there, lengths."""
        if self.is_scalar or other.is_scalar:
            return self.units, other.units, other.lengths if self.is_scalar else self.lengths
        if self.records != other.records:
            raise InputError(
                f"vectors of {self.records} and of {other.records} records do not add up; restore "
                "a copy of the ledger that checks"
            )
        import numpy as np

        mine, theirs = self.lengths.cumsum(), other.lengths.cumsum()
        ends = np.sort(np.r_[mine, theirs], kind="stable")  # merges what is sorted: linear
        ends = ends[np.diff(ends, append=-1) != 0]
        here, there = np.searchsorted(mine, ends), np.searchsorted(theirs, ends)
        return self.units[here], other.units[there], np.diff(ends, prepend=0)

    def doubles(self) -> Any:
        """As :func:`corrdp.leakage` takes them: a float, or an array of the nearest doubles."""
        if self.is_scalar:
            return self.largest / UNIT
        return (self.units / UNIT).repeat(self.lengths)


def is_number(value: Any) -> bool:
    """Whether it is one real number."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_entries(name: str, count: int, records: int | None) -> None:
    if records is None:
        raise InputError(
            f"{name} has {count} entries and the ledger does not know how many records there are. "
            "Releases from families, or of some records, need a ledger that was made with the "
            "number of records (records=) or a model of fixed length; give one number, or make "
            "such a ledger"
        )
    if count != records:
        raise InputError(
            f"{name} has {count} entries and the ledger {records} records; give one number, or "
            "one entry per record"
        )


def _checked(name: str, value: Any, unit: int = UNIT, *, up: bool = True) -> int:
    """Units of a finite number > 0 that fits."""
    if not 0 < value < math.inf:
        raise InputError(f"{name} must be a finite number > 0, got {value!r}")
    most = 1 if unit == DELTA_UNIT else MOST // UNIT
    if value > most:
        raise InputError(
            f"{name} is beyond {most}{'' if unit == DELTA_UNIT else ' nats'}, where nothing is "
            "private"
        )
    return (units_up if up else units_down)(value, unit)


def budget_units(budget: Any) -> int:
    """Units of a budget, rounded down.

    Examples
    --------
    >>> budget_units(1)
    1000000000000
    """
    if not is_number(budget):
        raise InputError(f"budget must be a number > 0, got {budget!r}")
    units = _checked("budget", budget, up=False)
    if units == 0:
        raise InputError(f"budget is {budget:.3g}, less than the unit of the books, 1e-12")
    return units


def chance_units(delta: Any) -> int:
    """Units of a budget's delta, rounded down; 0 leaves nothing to chance.

    Examples
    --------
    >>> chance_units(1e-6), chance_units(0)
    (1000000000000, 0)
    """
    if not is_number(delta) or not 0 <= delta < 1:
        raise InputError(f"delta must be a number >= 0 and < 1, got {delta!r}")
    units = units_down(delta, DELTA_UNIT)
    if delta and not units:
        raise InputError(f"delta is {delta:.3g}, less than the unit of the books, 1e-18")
    return units
