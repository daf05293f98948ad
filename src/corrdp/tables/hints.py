"""What looks odd in a table: missing values that are no such to the reader, and lost headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from corrdp.tables.expressions import columns_told, listed
from corrdp.tables.overview import counted
from corrdp.tables.source import Table

if TYPE_CHECKING:
    from corrdp.tables.guesses import Seen

_MARKS = ("?", "-", "--", ".", "n/a", "#n/a", "none", "unknown", "missing", "nil", "n.a.", "*")
_SENTINELS = (-9, -99, -999, -9999, -99999, -999.9, -99.9)
_VALUE = re.compile(r"[-+]?[\d.,:/ T_-]+(Z|[AaPp][Mm])?|column\d+")
_RELATIVES = ("father", "mother", "parent", "child", "son", "daughter", "brother", "sister")
_MOSTLY = 0.5  # share of numbers above which a column of text looks like numbers


def headless(table: Table, seen: Mapping[str, Seen]) -> str:
    """Why the first line of a text file looks like a row and not like names; "" where it does not.

    The name of every column of numbers, dates or times is a value of that kind.
    """
    typed = [name for name, c in seen.items() if not (c.kind.is_string() or c.kind.is_boolean())]
    if not table.layout.header or not all(_VALUE.fullmatch(name) for name in typed or seen):
        return ""
    told = columns_told(table.columns)
    return f"the names of columns look like values: {told}" if told.startswith("if") else ""


def hints(table: Table, seen: Mapping[str, Seen], commas: list[str]) -> list[tuple[str, str]]:
    """What may be read in another way than it was meant, and which option says so.

    Returns
    -------
    list of (column, text)
        "" for what is about the whole table.
    """
    said = [
        (name, f"{name} holds numbers with a comma: say so with decimal=','") for name in commas
    ]
    said += [("", text) for text in _other_kinds(table)]
    texts = [name for name, c in seen.items() if c.kind.is_string() and c.recorded]
    numbers = [name for name, c in seen.items() if c.numeric and c.negative]
    if not texts and not numbers:
        return said
    records = table.records
    asked: dict[str, Any] = {}
    for name in texts:
        column = records[name]
        asked[f"{name} nul"] = column.re_search(r"\x00").sum()
        asked[f"{name} read"] = column.try_cast("float64").count()
        asked[f"{name} mark"] = column.strip().lower().isin(_MARKS).sum()
    for name in numbers:
        asked[f"{name} mark"] = records[name].isin(_SENTINELS).sum()
    (found,) = table.collect(records.aggregate(**asked)).to_pylist()
    for name in texts:
        column, mark, read = seen[name], found[f"{name} mark"] or 0, found[f"{name} read"] or 0
        if found[f"{name} nul"]:
            values = counted(found[f"{name} nul"], "value")
            said.append(
                (name, f"{values} of {name} with a NUL character, which no text has: mend it")
            )
        if name in commas:
            continue
        if _MOSTLY * column.recorded <= read < column.recorded - mark:
            text = (
                f"{name} was read as text, because of {column.recorded - read:,} of "
                f"{column.recorded:,} values that are no numbers: if they mean that nothing was "
                "recorded, name them (missing)"
            )
            said.append((name, text))
        elif mark:
            said.append((name, _marked(table, name, mark, _MARKS)))
    for name in numbers:
        if (mark := found[f"{name} mark"] or 0) == seen[name].negative:
            said.append((name, _marked(table, name, mark, _SENTINELS)))
    return said


def _marked(table: Table, name: str, times: int, marks: tuple[Any, ...]) -> str:
    column = table.records[name]
    plain = column.strip().lower() if column.type().is_string() else column
    kept = table.records.filter(plain.isin(marks)).select(name).distinct()
    texts = sorted(str(row[name]) for row in table.collect(kept.limit(len(marks))).to_pylist())
    return (
        f"{counted(times, 'value')} of {name} written {listed(texts)}: if that means that nothing "
        "was recorded, name it (missing)"
    )


def _other_kinds(table: Table) -> list[str]:
    """What is no series, by the names of its columns, and the command that takes it."""
    names = {name.lower(): name for name in table.columns}
    said = []
    if len(names) == 1 and table.records.schema()[table.columns[0]].is_string():
        said.append(
            "there is one column only: if something else than a comma separates the fields, name "
            "it with delimiter="
        )
    if {"pid", "id", "fid", "mid"} <= set(names):
        said.append(f"these look like pedigrees: corrdp fit pedigree {table.path}")
    elif len(relatives := [names[name] for name in names if name in _RELATIVES]) > 1:
        columns = ",".join(relatives)
        said.append(
            f"these look like families, one a row: corrdp fit families {table.path} --columns "
            f"{columns} (and the others of a family)"
        )
    if (lat := set(names) & {"lat", "latitude"}) and (
        lng := set(names) & {"lng", "lon", "longitude"}
    ):
        said.append(
            f"these look like movements: corrdp trajectories inspect {table.path} --lat "
            f"{names[lat.pop()]} --lng {names[lng.pop()]}"
        )
    return said
