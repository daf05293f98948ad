"""Keys: what the cells of a table stand for.

A key is a part of the clock (hour, weekday, month, date), a column, or an SQL expression over the
columns of one row. It comes with its whole list of values, so that an empty cell is in the table as
well, with noise: which cells are there says nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any

from corrdp._checks import check_items, check_kind
from corrdp.errors import QueryError

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CLOCK_VALUES: dict[str, tuple[Any, ...] | None] = {
    "hour": tuple(range(24)),
    "weekday": WEEKDAYS,
    "month": tuple(range(1, 13)),
    "date": None,  # every day from the first to the last
}
MOST_CELLS = 1_000_000
_PERIOD = re.compile(r"(\d{4}-\d\d-\d\d)\.\.(\d{4}-\d\d-\d\d)")


@dataclass(frozen=True)
class Key:
    """One key of a table, or several that go together.

    Parameters
    ----------
    names : tuple of str
        A part of the clock, a column or an SQL expression; several where not every combination of
        their values exists, such as district and place.
    values : tuple of tuples or None
        The public list of values, one tuple for each; None where the data tell it.
    clock : bool
        Whether it is a part of the model's clock.
    public : bool
        Whether everybody may know which record has which value.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...] | None = None
    clock: bool = False
    public: bool = True

    def __post_init__(self) -> None:
        if self.values is None:
            return
        if not self.values:
            raise QueryError(f"key {self} has an empty list of values: the table would be empty")
        labels = [tuple(map(str, value)) for value in self.values]
        if len(set(labels)) < len(labels):
            raise QueryError(f"key {self} lists a value twice")
        if self.names == ("date",):
            periods(value for (value,) in self.values)

    def __str__(self) -> str:
        return ", ".join(self.names)

    @property
    def shorter(self) -> Key | None:
        """The key without its last name; None where it has no other."""
        if len(self.names) == 1:
            return None
        values = self.values
        if values is not None:
            values = tuple(dict.fromkeys(value[:-1] for value in values))
        return replace(self, names=self.names[:-1], values=values)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        values = None if self.values is None else [list(value) for value in self.values]
        said = {"values": values, "clock": self.clock or None, "public": self.public and None}
        return {
            "names": list(self.names),
            **{k: v for k, v in said.items() if v is not None},
        }


def label(value: Any) -> Any:
    """A value of a key as a cell shows it: a number, a truth value or a text.

    Examples
    --------
    >>> label(date(2024, 3, 1)), label(Decimal("2.50")), label(3.0)
    ('2024-03-01', 2.5, 3)
    """
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        value = float(value)
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str | bool | int | float) or value != value or value in _ENDS:
        raise QueryError(f"a key has texts, numbers, truth values or dates, got {value!r}")
    return value


_ENDS = (math.inf, -math.inf)


def read_keys(by: Any) -> tuple[Key, ...]:
    """The keys of a table, as ``by=`` names them.

    Examples
    --------
    >>> [str(key) for key in read_keys(["hour", "weekday"])]
    ['hour', 'weekday']
    >>> read_keys({"place": ["a", "b"]})[0].values
    (('a',), ('b',))
    >>> read_keys({("district", "place"): [("north", "a"), ("south", "b")]})[0].shorter.values
    (('north',), ('south',))
    """
    if isinstance(by, str | Key):
        by = (by,)
    if isinstance(by, Mapping):
        keys = [_key(names, values) for names, values in by.items()]
    else:
        items = check_items("by", by, error=QueryError)
        keys = [_read(item) for item in items]
    names = [name for key in keys for name in key.names]
    if len(set(names)) < len(names):
        raise QueryError(f"by= names a key twice: {', '.join(names)}")
    size = math.prod(len(key.values) for key in keys if key.values is not None)
    if size > MOST_CELLS:
        raise QueryError(
            f"a table of {size:,} cells is too large; at most {MOST_CELLS:,}: merge values, or "
            "leave out a key"
        )
    return tuple(keys)


def _read(item: Any) -> Key:
    if isinstance(item, Key):
        return item
    if isinstance(item, Mapping):  # as a file tells it
        known = {"names", "values", "clock", "public"}
        if not set(item) <= known or "names" not in item:
            raise QueryError(f"a key is a name, got {item!r}")
        key = _key(item["names"], item.get("values"))
        return replace(key, clock=item.get("clock") is True, public=item.get("public") is not False)
    return _key(item, None)


def _key(names: Any, values: Any) -> Key:
    texts = (names,) if isinstance(names, str) else check_items("by", names, error=QueryError)
    for text in texts:
        check_kind("a key", text, str, "a part of the clock, a column or an SQL expression")
        if not text.strip():
            raise QueryError("a key must be a part of the clock, a column or an SQL expression")
    if values is None:
        return Key(texts)
    listed = check_items(f"the values of {', '.join(texts)}", values, error=QueryError)
    if len(texts) == 1:
        tuples = [tuple(v) if isinstance(v, list | tuple) and len(v) == 1 else (v,) for v in listed]
    else:
        tuples = [check_items("a value of several keys", v, error=QueryError) for v in listed]
    if wrong := next((v for v in tuples if len(v) != len(texts)), None):
        raise QueryError(
            f"keys {', '.join(texts)} go together: each value has {len(texts)} parts, got {wrong!r}"
        )
    return Key(texts, tuple(tuple(label(part) for part in value) for value in tuples))


def periods(values: Iterable[Any]) -> dict[str, tuple[date, date]]:
    """Dates and periods of dates, ``"2024-03-01..2024-03-31"``, by how they are written.

    Periods that overlap are an error: a record would be counted twice.

    Examples
    --------
    >>> len(periods(["2024-03-01..2024-03-31", "2024-04-01"]))
    2
    >>> periods(["2024-03-01..2024-03-31", "2024-03-31..2024-04-02"])
    Traceback (most recent call last):
    ...
    corrdp.errors.QueryError: periods 2024-03-01..2024-03-31 and 2024-03-31..2024-04-02 overlap: \
a record would be counted twice
    """
    found: dict[str, tuple[date, date]] = {}
    for value in values:
        match = _PERIOD.fullmatch(str(value))
        ends = match.groups() if match else (str(value), str(value))
        try:
            first, last = (date.fromisoformat(text) for text in ends)
        except ValueError:
            raise QueryError(
                f"date {value!r} must be a day, 2024-03-30, or a period, 2024-03-01..2024-03-31"
            ) from None
        if last < first:
            raise QueryError(f"period {value} ends before it begins")
        found[str(value)] = first, last
    in_order = sorted(found.items(), key=lambda item: item[1])
    for (one, (_, last)), (other, (first, _)) in pairwise(in_order):
        if first <= last:
            raise QueryError(f"periods {one} and {other} overlap: a record would be counted twice")
    return found
