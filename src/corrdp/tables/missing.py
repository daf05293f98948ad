"""Which texts and numbers stand for "not recorded"."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from corrdp.errors import DataError, DataWarning
from corrdp.queries import MISSING_TEXT, is_missing

if TYPE_CHECKING:
    from corrdp.tables.source import Table


def missing_texts(missing: Iterable[str]) -> tuple[str, ...]:
    """The texts that stand for a missing value, the empty one always among them.

    Examples
    --------
    >>> missing_texts(["-999"])
    ('', '-999')
    """
    texts = [missing] if isinstance(missing, str) else list(missing)
    for text in texts:
        if not isinstance(text, str):
            raise DataError(f"missing must list texts, got {text!r}; write it as {str(text)!r}")
    return tuple(dict.fromkeys(["", *texts]))


def missing_numbers(texts: Iterable[str], decimal: str = ".") -> tuple[float, ...]:
    """The numbers among the texts that stand for a missing value.

    Examples
    --------
    >>> missing_numbers(("", "NA", "-999"))
    (-999.0,)
    >>> missing_numbers(["-999,50"], decimal=",")
    (-999.5,)
    """
    numbers = []
    for text in texts:
        try:
            numbers.append(float(text.replace(decimal, ".")))
        except ValueError:
            continue
    return tuple(number for number in numbers if math.isfinite(number))


def warn_unfound(table: Table, expressions: Iterable[str]) -> None:
    """Warn of missing texts that stand in no column that some expressions read: a typo in one, and
    what is missing is taken for a value.

    The usual texts are not looked for; others take one more pass over these columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from corrdp.tables.source import open_table
    >>> table = open_table(pa.table({"steps": [0, -999, 7]}), missing=["-99"])
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warn_unfound(table, ["steps > 0"])
    >>> str(said[0].message)[:60]
    "'-99' (missing) is nowhere in steps of the pyarrow data fram"
    """
    texts = [text for text in table.missing if text not in MISSING_TEXT]
    names = sorted(frozenset[str]().union(*map(table.reads, expressions)))
    if not texts or not names:
        return
    written = table.written()
    places = {
        f"text_{k}": reduce(
            or_, (where for name in names for where in _places(table, written[name], text))
        )
        for k, text in enumerate(texts)
    }
    asked = written.aggregate(**{key: written.count(where=where) for key, where in places.items()})
    (seen,) = table.collect(asked).to_pylist()
    lost = [repr(text) for text, times in zip(texts, seen.values(), strict=True) if not times]
    if lost:
        are = "is" if len(lost) == 1 else "are"
        warnings.warn(
            f"{', '.join(lost)} (missing) {are} nowhere in {', '.join(names)} of {table.path}; if "
            "missing values are written in another way there, they were taken for values",
            DataWarning,
            stacklevel=3,
        )


def _places(table: Table, column: Any, text: str) -> Iterator[Any]:
    """Where a column as it is written holds a text, or the number that the text reads as."""
    import ibis

    decimal, name = table.layout.decimal, column.get_name()
    yield column == text if column.type().is_string() else ibis.literal(False)
    if table.records.schema()[name].is_numeric():
        if column.type().is_string():
            column = column.replace(decimal, ".").try_cast("float64")
        for number in missing_numbers([text], decimal):
            yield column == number


def is_absent(label: Any, texts: Iterable[str]) -> bool:
    """Whether a plain value stands for "not recorded".

    Examples
    --------
    >>> [is_absent(value, ("NA", "-999")) for value in ("NA", -999, None, 0, True)]
    [True, True, True, False, False]
    """
    if isinstance(label, str):
        return label in texts
    number = isinstance(label, int | float) and not isinstance(label, bool)
    return is_missing(label) or (number and label in missing_numbers(texts))
