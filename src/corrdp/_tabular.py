"""Results as tables: columns out of their fields, then frames, LaTeX, HTML and files."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corrdp._checks import check_choice, check_path
from corrdp._files import refuse_overwriting, write_files
from corrdp.errors import InputError

Columns = Mapping[str, Sequence[Any]]
FRAMES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}
_SHOWN = 30  # rows in a notebook
_LONGEST = 120  # characters of a cell that is no plain value
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}  # fmt: skip


def columns_of(result: Any) -> dict[str, list[Any]]:
    """The one table of a result: its first list of parts, one a row; else its plain values.

    Examples
    --------
    >>> from corrdp.results import Candidate, Certificate
    >>> columns_of(Candidate("lange", 3.5))
    {'method': ['lange'], 'value': [3.5], 'reason': ['']}
    """
    names = _names(result)
    parts: Any = next(
        (
            value
            for name in names
            if isinstance(value := getattr(result, name), tuple)
            and value
            and all(is_dataclass(part) for part in value)
        ),
        (result,),
    )
    rows = [_plain_values(part) for part in parts]
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in keys}


def _names(value: Any) -> list[str]:
    return getattr(value, "keys", "").split() or [part.name for part in fields(value)]


def _plain_values(value: Any) -> dict[str, Any]:
    found = {}
    for name in _names(value):
        cell = getattr(value, name)
        if cell is None or isinstance(cell, str | bool | int | float):
            found[name] = cell
        elif isinstance(number := getattr(cell, getattr(cell, "number", ""), None), float):
            found[name] = number
        elif type(cell).__str__ is not object.__str__ and len(text := _text(cell)) <= _LONGEST:
            found[name] = text
    return found


def _text(cell: Any) -> str:
    if isinstance(cell, tuple | list):
        return ", ".join(map(str, cell))
    return str(cell)


def as_frame(columns: Columns, kind: str) -> Any:
    """Columns as a data frame of pandas or polars, or as an Arrow table.

    Examples
    --------
    >>> as_frame({"a": [1, 2]}, "arrow").column_names
    ['a']
    """
    package = FRAMES[check_choice("kind", kind, tuple(FRAMES))]
    if find_spec(package) is None:
        raise InputError(f"this needs {package}: pip install {package}")
    if kind == "arrow":
        return import_module("pyarrow").table({key: _one_kind(c) for key, c in columns.items()})
    return import_module(package).DataFrame({key: _one_kind(c) for key, c in columns.items()})


def _one_kind(column: Sequence[Any]) -> list[Any]:
    """A column that frames can hold: text where values are of several kinds."""
    kinds = {type(value) for value in column if value is not None}
    if kinds <= {int, float}:
        return [float(v) if kinds == {int, float} and v is not None else v for v in column]
    return list(column) if len(kinds) <= 1 else [None if v is None else str(v) for v in column]


def as_latex(columns: Columns) -> str:
    r"""Columns as a table of LaTeX, for the package booktabs.

    Examples
    --------
    >>> print(as_latex({"of_a": ["50 %"], "value": [1 / 3]}))
    \begin{tabular}{lr}
    \toprule
    of a & value \\
    \midrule
    50 \% & 0.333333 \\
    \bottomrule
    \end{tabular}
    """
    marks = "".join("r" if _is_numeric(column) else "l" for column in columns.values())
    head = " & ".join(_escaped(name.replace("_", " ")) for name in columns)
    rows = [
        " & ".join(_escaped(_shown(cell)) for cell in row) + r" \\"
        for row in zip(*columns.values(), strict=True)
    ]
    return "\n".join(
        [f"\\begin{{tabular}}{{{marks}}}", r"\toprule", rf"{head} \\", r"\midrule", *rows,
         r"\bottomrule", r"\end{tabular}"]
    )  # fmt: skip


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in text)


def _is_numeric(column: Sequence[Any]) -> bool:
    told = [value for value in column if value is not None]
    return bool(told) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in told)


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return "inf" if cell == math.inf else f"{cell:.6g}"
    return str(cell)


def as_html(block: str, columns: Columns) -> str:
    """A result for a notebook: its block of text as names and what they say, then its table.

    Examples
    --------
    >>> as_html("Leakage 1", {"<b>": [1]}).count("<b>")
    1
    """
    title, *lines = html.escape(block).splitlines() or [""]
    facts = [line.strip().partition("  ") for line in lines]
    said = "".join(
        f'<tr><td style="text-align:left;vertical-align:top;color:#6b7785">{name}</td>'
        f'<td style="text-align:left">{text.strip()}</td></tr>'
        for name, _, text in facts
    )
    marks = ["right" if _is_numeric(column) else "left" for column in columns.values()]
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in columns)
    rows = [
        "".join(
            f'<td style="text-align:{mark}">{html.escape(_shown(cell))}</td>'
            for mark, cell in zip(marks, row, strict=True)
        )
        for row, _ in zip(zip(*columns.values(), strict=True), range(_SHOWN), strict=False)
    ]
    number = max((len(column) for column in columns.values()), default=0)
    more = f"<p>and {number - _SHOWN:,} more rows</p>" if number > _SHOWN else ""
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    facts_table = f"<table>{said}</table>" if said else ""
    return (
        f"<div><b>{title}</b>{facts_table}<table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{more}</div>"
    )


def save_result(result: Any, path: Any, overwrite: bool) -> Path:
    """Write a result: all of it as JSON, its table as CSV, Parquet or LaTeX, by the ending."""
    place = Path(check_path("path", path))
    ending = place.suffix.lower()
    check_choice("the ending of path", ending, (".json", ".csv", ".parquet", ".tex"))
    refuse_overwriting(place, overwrite=overwrite)
    content: str | bytes
    if ending == ".json":
        content = json.dumps(result.to_dict(), indent=1) + "\n"
    elif ending == ".tex":
        content = as_latex(result.tabulated()) + "\n"
    elif ending == ".csv":
        content = as_csv(result.tabulated())
    else:
        import io

        table, stream = as_frame(result.tabulated(), "arrow"), io.BytesIO()
        import_module("pyarrow.parquet").write_table(table, stream)
        content = stream.getvalue()
    write_files({place: content})
    return place


def as_csv(columns: Columns) -> str:
    """Columns as the text of a CSV file.

    Examples
    --------
    >>> as_csv({"hour": [0, 1], "value": [3, 4]})
    'hour,value\\n0,3\\n1,4\\n'
    """
    import csv
    import io

    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
