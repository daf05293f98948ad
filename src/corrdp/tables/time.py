"""The one reader of time: order columns as numbers that grow with time, however they are written.

A column of text holds one date or time format, out of a short list or named by the user; two
formats that read it differently are an error, and so is none. Whole numbers that are all dates
(19580426, 202403) are dates. A date and a time of day in two columns are one moment. Series by the
month count in months. Times of day of a zone become UTC, so that a clock change is no gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from corrdp.errors import DataError
from corrdp.tables.source import Table
from corrdp.tables.zones import DAY

ISO = "iso"
DATES = (
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y",
    "%b %d, %Y", "%B %d, %Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d", "%y-%m-%d", "%Y%m%d",
)  # fmt: skip
TIMES = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p")
MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y", "%Y%m")
_FORMATS = (ISO, *DATES, *(f"{day} {time}" for day in DATES for time in TIMES), *MONTHS, *TIMES)
# whole numbers that are dates: their format, the least and the largest
_PACKED = tuple(
    (form, int(f"1700{'0101000000'[:digits]}"), int(f"2299{'1231235959'[:digits]}"))
    for form, digits in (("%Y%m", 2), ("%Y%m%d", 4), ("%Y%m%d%H%M", 8), ("%Y%m%d%H%M%S", 10))
)
_GLANCE = 1_000  # rows whose shape rules out most formats before all rows are read
_MADE_UP = datetime(2005, 4, 3, 9, 30)  # every order of day, month and year reads it
_SHAPES = {
    " ": r"\s+", "%Y": r"\d{4}", "%b": r"[a-z]{3}", "%B": r"[a-z]{3,9}", "%p": "[ap]m",
    "%f": r"\d{1,9}",
    **{part: r"\d\d?" for part in ("%d", "%m", "%H", "%M", "%S", "%I")}, "%y": r"\d\d",
}  # fmt: skip
_OFFSET = r":\d\d(\.\d+)?\s*(Z|[+-]\d\d(:?\d\d)?)$"


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
        return _packed(table, records, name) or TimeColumn(_plain_number(column), "number")
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

    moment = text.try_cast("timestamp") if form == ISO else table.parse_time(text, form)
    return ibis.cases((moment.year().between(1000, 9999), moment))


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


def _texts(column: Any) -> Any:
    if column.type().is_string():
        return column
    return column.try_cast("int64").cast("string")  # 19580426.0 is 19580426; inf is no date


def _as_asked(table: Table, records: Any, name: str, text: str, form: str) -> TimeColumn:
    if form != ISO and "%" not in form:
        raise DataError(f"order_format {form!r} is no format; write for example '%m/%d/%Y %H:%M'")
    moment = _parsed(table, _texts(records[name]), form)
    (found,) = _collect(table, records, rows=records[name].count(), read=moment.count())
    if unread := found["rows"] - found["read"]:
        raise DataError(
            f"{unread:,} of {found['rows']:,} values of `{text}` in {table.path} cannot be read as "
            f"{form}; name the format that all have (order_format)"
        )
    return _column(moment, form)


def _packed(table: Table, records: Any, name: str) -> TimeColumn | None:
    """Whole numbers that are dates, every one of them."""
    column = records[name]
    if column.type().is_boolean():
        return None
    head = records.select(name).limit(_GLANCE)
    for source in (head, records):  # nearly always the first rows settle it
        (ends,) = _collect(
            table,
            source,
            low=source[name].min(),
            high=source[name].max(),
            broken=(source[name] % 1 != 0).sum(),
        )
        if ends["low"] is None or ends["broken"]:
            return None
        forms = [form for form, low, high in _PACKED if low <= ends["low"] <= ends["high"] <= high]
        if not forms:
            return None
    moment = _parsed(table, _texts(column), forms[0])
    (found,) = _collect(table, records, rows=column.count(), read=moment.count())
    return _column(moment, forms[0]) if found["rows"] == found["read"] else None


def _recognised(table: Table, records: Any, name: str, text: str) -> TimeColumn:
    """The one format of the list that reads all rows."""
    column = records[name]
    head = column.name("text").as_table()
    head = table.collect(head.filter(head["text"].notnull()).limit(_GLANCE))
    fits = _shapes(dict.fromkeys(head["text"].to_pylist()))
    moments = {form: _parsed(table, column, form) for form in fits}
    asked = {f"read_{k}": moment.count() for k, moment in enumerate(moments.values())}
    (found,) = _collect(
        table, records, rows=column.count(), zoned=column.re_search(_OFFSET).sum(), **asked
    )
    fits = [form for k, form in enumerate(fits) if found[f"read_{k}"] == found["rows"]]
    if not fits:
        raise DataError(
            f"`{text}` of {table.path} is text, and no date or time format reads all of its "
            f"{found['rows']:,} values, so that their order in time is unknown; name the format "
            "(order_format), such as '%m/%d/%Y %I:%M %p', or give a number that grows with time"
        )
    first, *others = fits
    if others:
        apart = {f"apart_{k}": (moments[first] != moments[f]).sum() for k, f in enumerate(others)}
        (differing,) = _collect(table, records, **apart)
        for k, other in enumerate(others):
            if differing[f"apart_{k}"]:
                raise DataError(_two_readings(text, first, other))
    if found["zoned"] not in (None, 0, found["rows"]):
        raise DataError(
            f"{found['zoned']:,} of {found['rows']:,} times in `{text}` carry an offset and the "
            "others do not; write all of them one way"
        )
    return _column(moments[first], first, zoned=bool(found["zoned"]))


def _shapes(texts: Iterable[str]) -> list[str]:
    """The formats whose shape some texts have: no engine is asked about the others.

    Examples
    --------
    >>> _shapes(["03/30/2024 12:15 AM"])
    ['%d/%m/%Y %I:%M %p', '%m/%d/%Y %I:%M %p']
    """
    patterns = {form: re.compile(_pattern(form), re.IGNORECASE) for form in _FORMATS}
    for text in texts:
        patterns = {f: p for f, p in patterns.items() if p.fullmatch(text.strip())}
    return list(patterns)


def _pattern(form: str) -> str:
    if form == ISO:
        return r"\d{4}[-/]\d\d?[-/].*"
    parts = re.split(r"(%.| )", form)
    return "".join(_SHAPES.get(part) or re.escape(part) for part in parts)


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
