"""What an audit looks at: outputs, made now or recorded, and the input that each came from."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corrdp._checks import check_items
from corrdp.auditing.outputs import gathered
from corrdp.errors import DataError, InputError
from corrdp.tables.expressions import columns_told
from corrdp.tables.source import Table, open_table


@dataclass(frozen=True, eq=False)
class Samples:
    """Outputs of independent runs of a mechanism, any two of its inputs being neighbours.

    Parameters
    ----------
    inputs : tuple
        The m >= 2 distinct inputs.
    which : (N,) array of int
        The number of the input that each run had.
    outputs : (N, ...) array
        Numbers, one or a fixed number of them per run (NaN and infinities are outputs like any
        other); or N objects that can be hashed, for anything else.

    Examples
    --------
    >>> samples = Samples(("yes", "no"), [0, 0, 1, 1, 1], [1, 1, 0, 1, 0])
    >>> samples.runs, samples.counts.tolist()
    (5, [2, 3])
    """

    inputs: tuple[Any, ...]
    which: np.ndarray
    outputs: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _inputs(self.inputs))
        try:
            outputs, which = np.asarray(self.outputs), np.asarray(self.which)
        except ValueError:  # rows of different lengths
            raise InputError("outputs and which must be arrays, with rows of one length") from None
        if outputs.ndim < 1 or outputs.dtype.kind not in "biufOUS":
            raise InputError(
                "outputs must be one entry per run, numbers or objects that can be hashed; got "
                f"dtype {outputs.dtype} and shape {outputs.shape}"
            )
        if outputs.dtype.kind in "OUS":
            _check_objects(outputs)
        if which.shape != (len(outputs),) or which.dtype.kind not in "iu":
            raise InputError(
                f"which must be one input number for each of the {len(outputs)} outputs, got dtype "
                f"{which.dtype} and shape {which.shape}"
            )
        if len(which) and not 0 <= which.min() <= which.max() < len(self.inputs):
            raise InputError(f"which must hold input numbers 0..{len(self.inputs) - 1}")
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "which", which.astype(np.int64, copy=False))
        missing = np.flatnonzero(self.counts == 0)
        if missing.size:
            raise DataError(
                f"there is no output for input {self.inputs[missing[0]]!r}: give outputs for each "
                "input, or leave it out"
            )

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.which)

    @property
    def counts(self) -> np.ndarray:
        """How many runs each input had."""
        return np.bincount(self.which, minlength=len(self.inputs))

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Input numbers and outputs of some runs."""
        return self.which[rows], self.outputs[rows]


def fingerprint(samples: Samples) -> int:
    """A number that the runs determine: equal data, equal split.

    Examples
    --------
    >>> one, same = (Samples(("a", "b"), [0, 1], [3, 4]) for _ in range(2))
    >>> fingerprint(one) == fingerprint(same) != fingerprint(Samples(("a", "b"), [0, 1], [4, 3]))
    True
    """
    digest = hashlib.sha256(repr(samples.inputs).encode())
    digest.update(samples.which.tobytes())
    outputs = samples.outputs
    plain = outputs.dtype.kind != "O"
    digest.update(outputs.tobytes() if plain else repr(outputs.tolist()).encode())
    return int.from_bytes(digest.digest(), "big")


def _inputs(given: Any) -> tuple[Any, ...]:
    inputs = check_items("inputs", given, letters=True)
    if len(inputs) < 2:
        raise InputError(f"an audit compares two inputs or more, got {len(inputs)}")
    seen: list[Any] = []
    hashed: set[Any] = set()
    for x in inputs:
        known = x in hashed if isinstance(x, Hashable) else any(_same(x, y) for y in seen)
        if known:
            raise InputError(f"inputs must differ, {x!r} comes twice")
        if isinstance(x, Hashable):
            hashed.add(x)
        else:
            seen.append(x)
    return inputs


def _same(x: Any, y: Any) -> bool:
    return bool(np.array_equal(np.asarray(x, dtype=object), np.asarray(y, dtype=object)))


def _check_objects(outputs: np.ndarray) -> None:
    if outputs.ndim != 1:
        raise InputError(f"outputs that are not numbers must be one object per run, got shape "
                         f"{outputs.shape}")  # fmt: skip
    if outputs.dtype.kind == "O":
        for row, output in enumerate(outputs.tolist()):
            try:
                hash(output)
            except TypeError:
                raise InputError(
                    f"outputs[{row}] is a {type(output).__name__}, which cannot be hashed; make "
                    "it a number, text or tuple"
                ) from None


_NONE = "NaN or nothing"


def read_outputs(
    path: Any,
    *,
    input: str = "input",
    output: str | Sequence[str] | None = None,
) -> Samples:
    """Recorded runs of a mechanism, for :func:`corrdp.audit`.

    The whole file is read: O(rows) memory. The inputs are numbered in sorted order.

    Parameters
    ----------
    path : str, Path, data frame or Table
        A Parquet file, CSV with a header line, or a data frame of pandas, polars or pyarrow.
    input : str
        Column (or SQL expression) that holds the input of each run.
    output : str or sequence of str, optional
        The column of the output, or several columns for an output that is a vector of numbers.
        Left out: ``output``, or ``output_1``, ``output_2``, ...

    Returns
    -------
    Samples

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "outputs.csv"
    >>> _ = path.write_text("input,output\\nred,1\\nblue,0\\nred,0\\n")
    >>> samples = read_outputs(path)
    >>> samples.inputs, samples.which.tolist(), samples.outputs.tolist()
    (('blue', 'red'), [1, 0, 1], [1, 0, 0])
    """
    table = open_table(path)
    path = table.path
    _refuse_ragged(table)
    columns = _columns(table, output)
    picked = table.pick(input=input, **{f"output_{k}": name for k, name in enumerate(columns)})
    rows = table.collect(picked)
    given = _plain(rows["input"])
    outputs = [_plain(rows[f"output_{k}"]) for k in range(len(columns))]
    _refuse_missing(path, input, given, columns, outputs)
    inputs, which = np.unique(given, return_inverse=True)
    if len(inputs) < 2:
        raise DataError(
            f"{path}: every row has the same input; an audit compares two inputs or more"
        )
    if len(columns) == 1:
        return Samples(tuple(inputs.tolist()), which, outputs[0])
    texts = [name for name, part in zip(columns, outputs, strict=True) if part.dtype == object]
    if texts:
        raise DataError(f"{path}: column {texts[0]!r} of a vector holds texts; it must be numbers")
    return Samples(tuple(inputs.tolist()), which, np.stack(outputs, axis=1))


def _refuse_ragged(table: Table) -> None:
    """Lines with another number of fields than the header make one column of all."""
    if len(table.columns) > 1 or not any(mark in table.columns[0] for mark in ",;\t|"):
        return
    (header,) = table.columns
    mark = max(",;\t|", key=header.count)
    fields = header.count(mark) + 1
    where = ""
    if not str(table.path).endswith(".gz"):
        with open(table.path, encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip() and line.count(mark) + 1 != fields:
                    where = f", line {number} has {line.count(mark) + 1}"
                    break
    raise DataError(
        f"{table.path}: the lines differ in their number of fields: the header has "
        f"{fields}{where}; mend the file"
    )


def _columns(table: Table, output: str | Sequence[str] | None) -> tuple[str, ...]:
    if output is not None:
        names = (output,) if isinstance(output, str) else tuple(check_items("output", output))
        if not names:
            raise InputError("output must name a column or more")
        return names
    if "output" in table.columns:
        return ("output",)
    found = {name for name in table.columns if name.startswith("output_")}
    numbered = tuple(f"output_{k}" for k in range(1, len(found) + 1))
    if found and found == set(numbered):
        return numbered
    raise DataError(
        f"{table.path} has no column 'output', nor 'output_1', 'output_2', ... without a gap; "
        f"{columns_told(table.columns)}. Say which with output="
    )


def _plain(column: Any) -> np.ndarray:
    """A column as numbers or objects; None where nothing is recorded."""
    if column.null_count:
        return np.array(column.to_pylist(), dtype=object)
    values = column.to_numpy()
    # dates, decimals and the like as Python has them
    return values if values.dtype.kind in "biuf" else gathered(column.to_pylist())


def _refuse_missing(
    path: str | Path,
    input: str,
    given: np.ndarray,
    columns: Sequence[str],
    outputs: Sequence[np.ndarray],
) -> None:
    lost = _missing(given)
    if lost.any():
        raise DataError(
            f"{path}: {lost.sum()} of {len(given)} rows have no input ({_NONE} in {input!r}), the "
            f"first is row {int(np.argmax(lost)) + 1}; leave them out if no run was made"
        )
    for name, part in zip(columns, outputs, strict=True):
        lost = _missing(part)
        if lost.any():
            raise DataError(
                f"{path}: {lost.sum()} of {len(given)} rows have no output ({_NONE} in {name!r}), "
                f"the first is row {int(np.argmax(lost)) + 1}; if the mechanism is meant to put "
                "out nothing, record a text for it"
            )


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype != object:
        return np.zeros(len(values), dtype=bool)
    return np.array([value is None for value in values.tolist()])
