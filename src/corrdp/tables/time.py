"""The one reader of time: order columns as numbers that grow with time, however they are written.

A column of text holds one date or time format, out of a short list or named by the user; two
formats that read it differently are an error, and so is none. Whole numbers that are all dates
(19580426, 202403) are dates. A date and a time of day in two columns are one moment. Series by the
month count in months. Times of day of a zone become UTC, so that a clock change is no gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from corrdp.errors import DataError
from corrdp.tables.clock import DAY
from corrdp.tables.source import GLANCE, Table

ISO = "iso"
# Orders of day, month and year that people write. Four digits first and dashes are ISO 8601: no
# other order is tried there.
_NUMERIC = (
    *(f"%d{mark}%m{mark}%{year}" for mark in "./-" for year in "Yy"),
    *(f"%m{mark}%d{mark}%{year}" for mark in "./-" for year in "Yy"),
    *(f"%{year}{mark}%m{mark}%d" for mark in "./-" for year in "Yy"),
    *(f"%{year}{mark}%d{mark}%m" for mark, year in ("/Y", "/y", ".Y", ".y", "-y")),
)
_DATES = (
    *_NUMERIC, "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%Y%m%d", "%y%m%d"
)  # fmt: skip
CLOCK = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f")
_TIMES = (*CLOCK, "%I:%M %p", "%I:%M:%S %p")
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y", "%Y%m")
_FORMATS = (
    ISO,
    *_DATES,
    *(f"{day} {time}" for day in _DATES for time in _TIMES),
    *_MONTHS,
    *_TIMES,
)
# whole numbers that are dates, between the least and the largest; below 1900010100 an hour would be
# taken for seconds since 1970
_PACKED = {
    "%Y%m": (170001, 229912),
    "%y%m%d": (101, 991231),  # 101 is the first of January 2000, next to dates of other years
    "%Y%m%d": (17000101, 22991231),
    "%Y%m%d%H": (1900010100, 2199123123),
    "%Y%m%d%H%M": (170001010000, 229912312359),
    "%Y%m%d%H%M%S": (17000101000000, 22991231235959),
}
_YEAR_2001 = (
    10101  # the least number of six digits, leading zeros included, that is no date of 2000
)
# and seconds, milliseconds, .. since 1970, between 2000 and 2100: one column holds one of these
_LENGTHS = (
    *(_PACKED[form] for form in ("%Y%m%d", "%Y%m%d%H%M", "%Y%m%d%H%M%S")),
    *((946_684_800 * unit, 4_102_444_800 * unit) for unit in (1, 10**3, 10**6, 10**9)),
)
_MOSTLY = 0.9  # a column of which so many values are dates is one of dates, with errors in it
_MADE_UP = datetime(2005, 4, 3, 9, 30)  # every order of day, month and year reads it
_SHAPES = {
    " ": r"\s+", "%Y": r"\d{4}", "%y": r"\d\d", "%b": "[a-z]{3}", "%B": "[a-z]{3,9}", "%p": "[ap]m",
    "%f": r"\d{1,9}", **{part: r"\d\d?" for part in ("%d", "%m", "%H", "%M", "%S", "%I")},
}  # fmt: skip
# an engine that casts a text to a time drops what follows, " PM" and "+02:00" alike
_ISO_LOCAL = r"\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d(:\d\d(\.\d+)?)?)?"
_OFFSET = r":\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?| UTC)"
_ISO_SHAPE = rf"{_ISO_LOCAL}(Z|[+-]\d\d(:?\d\d)?| UTC)?"


@dataclass(frozen=True, eq=False)
class TimeColumn:
    """An order column as it was read.

    Attributes
    ----------
    value : ibis expression
        A number, or a timestamp, or microseconds since midnight.
    kind : {"number", "month", "moment", "zoned", "day time"}
        A number of its own, a month, a local or undated moment, one with an offset, a time of day.
    form : str
        Its format; "" where the column's type says all.
    """

    value: Any
    kind: str
    form: str = ""

    @property
    def number(self) -> Any:
        """The value as a number that grows with time."""
        import ibis

        if self.kind == "month":
            return (self.value.year() - 1970) * 12 + self.value.month() - 1
        if self.kind not in ("moment", "zoned"):
            return self.value
        zone = {} if self.value.type().timezone is None else {"timezone": "UTC"}
        return self.value.delta(ibis.timestamp("1970-01-01", **zone), unit="microsecond")


def read_time(table: Table, records: Any, name: str, text: str, form: str = "") -> TimeColumn:
    """Read an order column as time, or say why that is impossible.

    Columns of numbers, dates and times cost nothing; one pass over all rows for text, and for
    whole numbers that look like dates.

    Parameters
    ----------
    table : Table
    records : ibis.Table
        Rows of the table.
    name : str
        Column of ``records``.
    text : str
        What the user calls it.
    form : str
        Its format, in the notation of ``strptime``; recognised when left out.
    """
    column = records[name]
    kind = column.type()
    if form and (kind.is_string() or kind.is_numeric()):
        return _as_asked(table, records, name, text, form)
    if form and form != ISO:
        raise DataError(f"`{text}` is of type {kind}, which needs no format; leave {form!r} out")
    if kind.is_string():
        return _recognised(table, records, name, text)
    if kind.is_numeric() or kind.is_boolean():
        form = _packed_form(table, records, name, text)
        if form:
            return _as_asked(table, records, name, text, form)
        return TimeColumn(_plain_number(column), "number")
    if kind.is_date():
        return TimeColumn(column.cast("timestamp"), "moment")
    if kind.is_timestamp():
        return TimeColumn(column, "moment" if kind.timezone is None else "zoned")
    if kind.is_time():
        seconds = (column.hour() * 60 + column.minute()) * 60 + column.second()
        return TimeColumn(seconds.cast("int64") * 1_000_000 + column.microsecond(), "day time")
    raise DataError(f"`{text}` is of type {kind}, which has no order in time: name another column")


def time_of_day(number: Any) -> Any:
    """Microseconds since midnight; a remainder in SQL is negative before 1970."""
    return (number % DAY + DAY) % DAY


def _plain_number(column: Any) -> Any:
    # small integers would overflow when subtracted
    whole = column.type().is_integer() or column.type().is_boolean()
    return column.cast("int64" if whole else "float64")


def _parsed(table: Table, text: Any, form: str) -> Any:
    """The moments that a format reads in a text; NULL where it reads none."""
    import ibis

    if form == ISO:
        # as a moment with an offset, and UTC where it has none
        moment = text.try_cast("timestamp('UTC')").cast("timestamp")
    else:
        moment = table.parse_time(text, form)
    reads = moment.year().between(1000, 9999)
    if form in _FORMATS:
        reads &= text.re_search(rf"(?i)^\s*({_pattern(form)})\s*$")
    return ibis.cases((reads, moment))


def _kind(form: str, zoned: bool = False) -> str:
    if zoned or "%z" in form or form.endswith("Z"):
        return "zoned"
    parts = {form[k + 1] for k in range(len(form) - 1) if form[k] == "%"}
    if form != ISO and not parts & set("YyGmbBdjcxsaAuwUVWD"):
        return "day time"
    month_only = bool(parts & set("mbB")) and not parts & set("djaAuwUVWcxs")
    return "month" if month_only else "moment"


def _column(moment: Any, form: str, zoned: bool = False) -> TimeColumn:
    kind = _kind(form, zoned)
    if kind == "day time":
        moment = time_of_day(TimeColumn(moment, "moment").number)
    return TimeColumn(moment, kind, form)


def _texts(column: Any, form: str) -> Any:
    if column.type().is_string():
        return column
    digits = column.try_cast("int64").cast("string")  # 19580426.0 is 19580426; inf is no date
    return digits.lpad(6, "0") if form == "%y%m%d" else digits


def _as_asked(table: Table, records: Any, name: str, text: str, form: str) -> TimeColumn:
    if form != ISO and "%" not in form:
        raise DataError(f"order_format {form!r} is no format; write for example '%m/%d/%Y %H:%M'")
    column = _texts(records[name], form)
    moment = _parsed(table, column, form)
    (found,) = _collect(
        table, records, rows=records[name].count(), read=moment.count(), zoned=_zoned(column).sum()
    )
    if unread := found["rows"] - found["read"]:
        raise DataError(
            f"{unread:,} of {found['rows']:,} values of `{text}` in {table.path} cannot be read as "
            f"{form}; name the format that all have (order_format)"
        )
    return _column(moment, form, form == ISO and _all_zoned(text, found))


def _zoned(column: Any) -> Any:
    return column.re_search(rf"{_OFFSET}\s*$")


def _all_zoned(text: str, found: dict[str, Any]) -> bool:
    """Whether all times carry an offset; an error if some do and others do not."""
    if found["zoned"] not in (None, 0, found["rows"]):
        raise DataError(
            f"{found['zoned']:,} of {found['rows']:,} times in `{text}` carry an offset and the "
            "others do not; write all of them one way"
        )
    return bool(found["zoned"])


def _packed_form(table: Table, records: Any, name: str, text: str) -> str:
    """The format of whole numbers that are dates, every one of them; "" for other numbers."""
    if records[name].type().is_boolean():
        return ""
    head = records.select(name).limit(GLANCE)
    if records[name].type().is_floating():
        _refuse_months(table, head, name, text)
    found = _packed_counts(table, head, name, tuple(_PACKED))
    forms = [form for form in _PACKED if found[form] > found["rows"] / 2]
    if not forms and not found["lengths"]:  # nearly always the first rows settle it
        return ""
    found = _packed_counts(table, records, name, tuple(forms))
    if found["lengths"] == found["rows"] > max(found[f"length_{k}"] for k in range(len(_LENGTHS))):
        raise DataError(
            f"`{text}` of {table.path} holds times of different lengths, such as seconds and "
            "milliseconds, or dates with and without a time of day; write all of them one way"
        )
    mostly = [form for form in forms if found[form] >= _MOSTLY * found["rows"]]
    whole = [form for form in mostly if found[form] == found["rows"]]
    # numbers at equal steps make the same chain either way, unless months are longer than they are
    if not mostly or (whole in ([], ["%y%m%d"]) and _even(table, records[name])):
        return ""
    if not whole:
        raise DataError(
            f"{found[mostly[0]]:,} of {found['rows']:,} values of `{text}` in {table.path} are "
            f"dates written as {mostly[0]}, and {found['rows'] - found[mostly[0]]:,} are no dates: "
            f"correct those, or, if all are plain numbers, order by '{text} + 0.5'"
        )
    if len(whole) > 1:
        raise DataError(_two_readings(text, *whole))
    return whole[0]


def _refuse_months(table: Table, head: Any, name: str, text: str) -> None:
    """Months written as 01.2023 are read as numbers, which would put every January first."""
    head = head.filter(~head[name].isinf() & ~head[name].isnan())
    column = head[name]
    year = ((column % 1) * 10_000).round()
    month = (column >= 1) & (column < 13) & year.between(1900, 2099)
    asked = month & (((column % 1) * 10_000 - year).abs() < 1e-6)
    (found,) = _collect(table, head, rows=column.count(), months=asked.sum())
    if found["rows"] and found["months"] == found["rows"]:
        raise DataError(
            f"`{text}` of {table.path} looks like months and years with a dot between them, read "
            "as numbers: their order would not be that of time; write them as 2023-01"
        )


def _packed_counts(table: Table, records: Any, name: str, forms: tuple[str, ...]) -> dict[str, int]:
    """How many numbers are dates of each format, and how many have each length of a time."""
    column = records[name]
    dates = {
        form: (
            column.between(*_PACKED[form])
            & (column % 1 == 0)
            & table.parse_time(_texts(column, form), form).notnull()
        ).sum()
        for form in forms
    }
    lengths = {f"length_{k}": column.between(*ends).sum() for k, ends in enumerate(_LENGTHS)}
    asked = {"rows": column.count(), "later": (column >= _YEAR_2001).sum(), **dates, **lengths}
    (found,) = _collect(table, records, **asked)
    found = {key: count or 0 for key, count in found.items()}
    if not found["later"]:  # small numbers, such as those of rooms
        found |= {"%y%m%d": 0}
    return found | {"lengths": sum(found[key] for key in lengths)}


def _even(table: Table, column: Any) -> bool:
    """Whether the distinct numbers of a column lie at (nearly) equal steps."""
    import ibis

    values = column.name("value").as_table().distinct()
    values = values.filter(values["value"].notnull())
    before = values["value"].lag().over(ibis.window(order_by="value"))
    steps = values.select(step=values["value"] - before)
    (ends,) = _collect(table, steps, low=steps["step"].min(), high=steps["step"].max())
    return ends["low"] is None or bool(ends["high"] <= 1.5 * ends["low"])


def _recognised(table: Table, records: Any, name: str, text: str) -> TimeColumn:
    """The one format of the list that reads all rows."""
    column = records[name]
    head = column.name("text").as_table()
    head = table.collect(head.filter(head["text"].notnull()).limit(GLANCE))["text"].to_pylist()
    fits = shapes(dict.fromkeys(head))
    moments = {form: _parsed(table, column, form) for form in fits}
    asked = {f"read_{k}": moment.count() for k, moment in enumerate(moments.values())}
    (found,) = _collect(table, records, rows=column.count(), zoned=_zoned(column).sum(), **asked)
    fits = [form for k, form in enumerate(fits) if found[f"read_{k}"] == found["rows"]]
    if not fits:
        word = any(re.search(r"\d\s*[A-Za-z/_]{3,}\s*$", cell) for cell in head)
        raise DataError(
            f"`{text}` of {table.path} is text, and no date or time format reads all of its "
            f"{found['rows']:,} values, so that their order in time is unknown; "
            + ("leave out the word after the time and say which zone it is (timezone), or " * word)
            + "name the format (order_format), such as '%m/%d/%Y %I:%M %p', or give a number that "
            "grows with time"
        )
    first, *others = fits
    if others:
        apart = {f"apart_{k}": (moments[first] != moments[f]).sum() for k, f in enumerate(others)}
        (differing,) = _collect(table, records, **apart)
        for k, other in enumerate(others):
            if differing[f"apart_{k}"]:
                raise DataError(_two_readings(text, first, other))
    read = _column(moments[first], first, first == ISO and _all_zoned(text, found))
    # the one way to read a time of day: where an engine has a type for it, no format is wanted
    return replace(read, form="") if first in CLOCK else read


def shapes(texts: Iterable[str]) -> list[str]:
    """The formats whose shape some texts have: no engine is asked about the others.

    Examples
    --------
    >>> shapes(["03/30/2024 12:15 AM"])
    ['%d/%m/%Y %I:%M %p', '%m/%d/%Y %I:%M %p']
    >>> shapes(["2024-03-30 12:15"]), shapes(["2024-03-30 12:15 AM"])
    (['iso'], ['%Y-%m-%d %I:%M %p'])
    """
    patterns = {form: re.compile(_pattern(form), re.IGNORECASE) for form in _FORMATS}
    for text in texts:
        patterns = {f: p for f, p in patterns.items() if p.fullmatch(text.strip())}
    return [ISO] if ISO in patterns else list(patterns)


@cache
def _pattern(form: str) -> str:
    if form == ISO:
        return _ISO_SHAPE
    parts = re.split(r"(%.| )", form)
    pattern = "".join(_SHAPES.get(part) or re.escape(part) for part in parts)
    # without marks between them only the number of digits tells the parts apart
    return pattern.replace(r"\d\d?", r"\d\d") if "%m%d" in form or "%Y%m" in form else pattern


def _two_readings(text: str, first: str, second: str) -> str:
    shown = _MADE_UP.strftime(first)
    readings = (datetime.strptime(shown, form) for form in (first, second))
    one, other = (f"{moment:%d %B %Y}".lstrip("0") for moment in readings)
    return (
        f"`{text}` can be read in two ways: {shown}, say, is {one} by {first} and {other} by "
        f"{second}; say which it is (order_format)"
    )


def _collect(table: Table, records: Any, /, **asked: Any) -> list[dict[str, Any]]:
    return list(table.collect(records.aggregate(**asked)).to_pylist())


@cache
def builtin(name: str, kind: str) -> Any:
    """A function of an engine that reads a time in a text: the text and its format are given.

    Parameters
    ----------
    name : str
        What the engine calls it.
    kind : str
        The ibis type of what it returns.
    """
    import ibis

    def read(text: Any, form: Any) -> Any: ...

    return ibis.udf.scalar.builtin(read, name=name, signature=(("string", "string"), kind))
