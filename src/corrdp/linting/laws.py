"""Exact laws of the output for a few data sets, read strictly from JSON.

Every key is known, every value has its kind, errors name the place; the laws come with the
distances between the data sets.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corrdp._checks import check_kind
from corrdp._json import decode_number
from corrdp.accounting.plan import at
from corrdp.errors import InputError
from corrdp.metric.canonical import canonical_matrix
from corrdp.metric.domains import ExplicitDomain
from corrdp.metric.granularities import FreeLunch, Granularity, Relation, as_granularity

Reader = Callable[[Any], Any]
_MOST = 10**12


def load_json(path: str | os.PathLike[str]) -> Any:
    """What a JSON file holds; anything that cannot be read is an InputError that says why."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be a description or a plan") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None


def read_object(
    what: str, data: Any, readers: Mapping[str, Reader], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The values of an object, each read by its reader; keys that nobody knows are refused.

    Examples
    --------
    >>> read_object("a noise", {"scale": 2}, {"scale": positive})
    {'scale': 2.0}
    >>> read_object("a noise", {"scall": 2}, {"scale": positive})
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: unknown key 'scall'; a noise has scale
    """
    if not isinstance(data, dict):
        raise InputError(f"{what} is an object with {', '.join(readers)}; got {shown(data)}")
    for key in data:
        if key not in readers:
            raise InputError(f"unknown key {key!r}; {what} has {', '.join(readers)}")
    for key in required:
        if key not in data:
            raise InputError(f"{what} needs {key}")
    found = {}
    for key, value in data.items():
        with at(key):
            found[key] = readers[key](value)
    return found


def shown(value: Any) -> str:
    """A value for a message, not longer than a line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def text(value: Any) -> str:
    """A string that says something."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"must be text, got {shown(value)}")
    return value


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"must be true or false, got {shown(value)}")
    return value


def number(value: Any) -> float:
    """A finite number >= 0."""
    return _number(value, least=0.0)


def positive(value: Any) -> float:
    """A finite number > 0."""
    found = _number(value, least=0.0)
    if found == 0:
        raise InputError("must be a number > 0, got 0")
    return found


def real(value: Any) -> float:
    """A finite number."""
    return _number(value, least=-math.inf)


def size(value: Any) -> float:
    """A number > 0; "inf" is one."""
    return math.inf if decode_number(value) == math.inf else positive(value)


def probability(value: Any) -> float:
    """A number from 0 to 1."""
    found = _number(value, least=0.0)
    if found > 1:
        raise InputError(f"must be a probability, at most 1; got {found:g}")
    return found


def whole(value: Any) -> int:
    """A whole number >= 1, small enough to count something."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise InputError(f"must be a whole number from 1 to {_MOST:,}, got {shown(value)}")
    return value


def _number(value: Any, least: float) -> float:
    try:
        if isinstance(value, bool | str):
            raise TypeError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"must be a number, got {shown(value)}") from None
    if not math.isfinite(found) or found < least:
        limit = "" if least == -math.inf else f" >= {least:g}"
        raise InputError(f"must be a finite number{limit}, got {found:g}")
    return found


def word(*allowed: str) -> Reader:
    """One of a few words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise InputError(f"must be one of {', '.join(allowed)}; got {shown(value)}")
        return value

    return read


def many(reader: Reader, least: int = 0) -> Reader:
    """A list, each item read by one reader."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise InputError(f"must be a list, got {shown(value)}")
        if len(value) < least:
            raise InputError(f"must hold {least} or more, got {len(value)}")
        found = []
        for k, item in enumerate(value):
            with at(f"[{k}]"):
                found.append(reader(item))
        return tuple(found)

    return read


def interval(value: Any) -> tuple[float, float]:
    """Two numbers, the smaller first."""
    ends = many(real)(value)
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"must be two numbers [low, high], got {shown(value)}")
    return ends[0], ends[1]


_OFF = 1e-9
_MOST_DATA, _MOST_ENTRIES = 500, 2_000_000  # pairs of data sets are compared one by one


@dataclass(frozen=True, eq=False)
class Laws:
    r"""``table[i, j] = Pr[M(data[i]) = outputs[j]]``, and how far the data sets are apart.

    Make one with :func:`laws_of`. The distances are those of chains of neighbours inside the data
    sets listed, never smaller than the true ones: a finding is then no false alarm.

    Parameters
    ----------
    data, outputs : tuples
        A data set given as a tuple is a multiset of rows; an output given as a tuple is a multiset
        of rows, or one value per coordinate.
    table : (data, outputs) array
    distances : (data, data) array
    coordinates : mapping of str to bool
        Name of each coordinate of an output, and whether it is released; empty if an output is
        one thing.
    """

    data: tuple[Any, ...]
    outputs: tuple[Any, ...]
    table: np.ndarray
    distances: np.ndarray
    coordinates: Mapping[str, bool]

    def marginal(self, columns: Sequence[int]) -> np.ndarray:
        """The law of some coordinates of the output."""
        keys = [tuple(output[k] for k in columns) for output in self.outputs]
        index = {key: k for k, key in enumerate(dict.fromkeys(keys))}
        found = np.zeros((len(self.data), len(index)))
        np.add.at(found.T, [index[key] for key in keys], self.table.T)
        return found


def laws_of(
    data: Sequence[Any],
    outputs: Sequence[Any],
    table: Any,
    granularity: Granularity | str | None = None,
    *,
    neighbours: Sequence[tuple[int, int]] | None = None,
    coordinates: Mapping[str, bool] | None = None,
) -> Laws:
    r"""The exact laws of a mechanism on a few data sets.

    .. math:: \text{table}_{ij} = \Pr[M(D_i) = \theta_j]

    where D_i are the data sets and theta_j the outputs.

    Parameters
    ----------
    data, outputs : sequences
        Data sets and outputs; a list is a multiset of rows.
    table : (data, outputs) array
        Rows sum to 1.
    granularity : Granularity or str, optional
        Which of the data sets are neighbours: "bounded", "unbounded", "local", "free-lunch".
    neighbours : sequence of pairs, optional
        The same, by number.
    coordinates : mapping of str to bool, optional
        When an output is one value per step: names, and whether each is released.

    References
    ----------
    Guerra-Balboa, dissertation, section 2.1.

    Examples
    --------
    >>> laws_of([["x"], []], [["x"], []], [[.7, .3], [0, 1]], "unbounded").distances.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    items, results = _items("data", data), _items("outputs", outputs)
    if len(items) > _MOST_DATA or len(items) * len(results) > _MOST_ENTRIES:
        raise InputError(
            f"{len(items)} data sets and {len(results)} outputs are too many to compare exactly "
            f"(at most {_MOST_DATA}, and {_MOST_ENTRIES:,} probabilities); list fewer"
        )
    law = _table(table, len(items), len(results))
    if neighbours is not None:
        pairs = _pairs(neighbours, len(items))
        domain: ExplicitDomain = ExplicitDomain(tuple(range(len(items))))
        relation: Granularity = Relation(pairs)
    elif granularity is None:
        raise InputError("give granularity, or neighbours: which data sets are neighbours")
    else:
        relation = as_granularity(granularity)
        domain = _domain(items, relation)
    apart = canonical_matrix(domain, relation)
    if coordinates is not None:
        check_kind("coordinates", coordinates, (Mapping,), "a mapping of names to truth values")
    names = dict(coordinates or {})
    for output in results if names else ():
        if not isinstance(output, tuple) or len(output) != len(names):
            raise InputError(
                f"an output has one value for each of {', '.join(names)}; got {shown(output)}"
            )
    return Laws(items, results, law, apart, names)


def _domain(items: tuple[Any, ...], relation: Granularity) -> ExplicitDomain:
    if isinstance(relation, FreeLunch):
        return ExplicitDomain(tuple(range(len(items))))
    if "multiset" not in relation.shapes or not all(isinstance(item, tuple) for item in items):
        raise InputError(
            f"{relation} granularity does not tell which of these data sets are neighbours; list "
            'them: "neighbours": [[0, 1], ..]'
        )
    return ExplicitDomain(items, of="multiset")


def read_laws(data: Any, granularity: Granularity, released: Mapping[str, bool]) -> Laws:
    """Read the ``laws`` of a description, whose steps are released or not."""
    readers = {
        "data": many(_frozen, least=2),
        "outputs": many(_frozen, least=1),
        "table": lambda value: value,
        "neighbours": lambda value: value,
        "coordinates": many(text, least=1),
    }
    found = read_object("laws", data, readers, ("data", "outputs", "table"))
    names = found.get("coordinates", ())
    for name in names:
        if name not in released:
            raise InputError(f"coordinates: {name!r} is no step; there are {', '.join(released)}")
    return laws_of(
        found["data"],
        found["outputs"],
        found["table"],
        granularity,
        neighbours=found.get("neighbours"),
        coordinates={name: released[name] for name in names},
    )


def _frozen(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_frozen(v) for v in value)
    if isinstance(value, dict):
        raise InputError(f"must be a list or a plain value, got {shown(value)}")
    return value


def _items(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise InputError(f"{name} must be a list, got {shown(values)}")
    with at(name):
        found = tuple(_frozen(value) for value in values)
    try:
        distinct = len(set(found))
    except TypeError:
        raise InputError(f"{name} must hold plain values") from None
    if distinct < len(found):
        raise InputError(f"{name} holds one item twice")
    return found


def _table(table: Any, rows: int, columns: int) -> np.ndarray:
    try:
        law = np.array(table, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError("table must be rows of probabilities, one row per data set") from None
    if law.shape != (rows, columns):
        raise InputError(
            f"table has shape {law.shape}; {rows} data sets and {columns} outputs need "
            f"({rows}, {columns})"
        )
    if not np.isfinite(law).all() or (law < 0).any():
        raise InputError("table must hold probabilities, none of them negative")
    off = np.abs(law.sum(axis=1) - 1)
    if off.max(initial=0.0) > _OFF:
        k = int(off.argmax())
        raise InputError(f"row {k} of the table sums to {law[k].sum():.9g}; it must be 1")
    return law


def _pairs(values: Any, count: int) -> tuple[tuple[int, int], ...]:
    try:
        pairs = tuple((a, b) for a, b in values)
    except (TypeError, ValueError):
        raise InputError(f"neighbours must be pairs of numbers, got {shown(values)}") from None
    for pair in pairs:
        for k in pair:
            if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k < count:
                raise InputError(
                    f"neighbours: there is no data set {shown(k)}; they are 0 to {count - 1}"
                )
    return pairs
