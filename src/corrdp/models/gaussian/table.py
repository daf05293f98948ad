"""Blocks of real values from tables: wide (a block a row) or long (group, role, value)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_array, check_items
from corrdp.errors import DataError, InputError
from corrdp.tables.source import Table

_MOST_ROLES = 1_000


@dataclass(frozen=True, eq=False)
class BlockTable:
    """One row a block, one column a role.

    Attributes
    ----------
    values : (blocks, roles) array
        NaN where a block lacks a role or its value is missing.
    roles : tuple of str
    family : (blocks,) array of int or None
        Rows of one number belong to one family; None when every row is one.
    """

    values: np.ndarray
    roles: tuple[str, ...]
    family: np.ndarray | None = None


def from_array(data: Any, columns: Sequence[str] | None) -> BlockTable:
    """Wide blocks in memory; NaN is missing.

    Examples
    --------
    >>> from_array([[1, 2], [3, float("nan")]], None).roles
    ('0', '1')
    """
    try:
        values = check_array("data", data)
    except InputError:  # it quotes them
        raise DataError(
            "data must be a table, or rows of blocks: numbers in rows of equal length"
        ) from None
    if values.ndim != 2 or not values.size:
        raise DataError(f"data in memory must be rows of blocks, got shape {values.shape}")
    roles = (
        range(values.shape[1])
        if columns is None
        else check_items("columns", columns, error=DataError)
    )
    if len(roles) != values.shape[1]:
        raise DataError(f"{len(roles)} columns named for data with {values.shape[1]}")
    return BlockTable(_finite(values, [str(r) for r in roles]), tuple(str(r) for r in roles))


def wide_table(table: Table, columns: Sequence[str], group: str | None = None) -> BlockTable:
    """Each row a block, each named column (or SQL expression) a role.

    Parameters
    ----------
    table : Table
    columns : sequence of str
    group : str, optional
        Column or SQL expression that tells which rows belong to one family.
    """
    names = [columns] if isinstance(columns, str) else list(columns)
    if not names or len(set(names)) < len(names):
        raise DataError(f"columns must name each role once, got {names!r}")
    asked = {f"role{k}": text for k, text in enumerate(names)}
    read = table.collect(table.pick(**asked, **({} if group is None else {"family": group})))
    found = [_numbers(read.column(k), text) for k, text in enumerate(names)]
    family = None if group is None else _codes(read.column("family"), "group", group)[0]
    return BlockTable(_finite(np.column_stack(found), names), tuple(names), family)


def long_table(table: Table, group: str, value: str, role: str) -> BlockTable:
    """Each group a block, with one row for every role it has.

    Blocks come in the order in which their groups first appear, roles sorted by name.

    Parameters
    ----------
    table : Table
    group, value, role : str
        Columns or SQL expressions.
    """
    read = table.collect(table.pick(block=group, part=role, value=value))
    block, blocks = _codes(read.column("block"), "group", group)
    part, parts = _codes(read.column("part"), "role", role)
    if len(parts) > _MOST_ROLES:
        raise DataError(
            f"role {role!r} has {len(parts):,} different values (at most {_MOST_ROLES:,}); are "
            "group and role swapped?"
        )
    numbers = _numbers(read.column("value"), value)
    order = sorted(range(len(parts)), key=lambda k: str(parts[k]))
    place = np.empty(len(parts), dtype=np.int64)
    place[order] = np.arange(len(parts))
    cell = block * len(parts) + place[part]
    counts = np.bincount(cell, minlength=len(blocks) * len(parts))
    if (counts > 1).any():
        first, second = np.flatnonzero(cell == np.argmax(counts > 1))[:2] + 1
        raise DataError(
            f"rows {first} and {second} of {table.path} have the same group and role; each role "
            "may come once in a group. Make the roles finer (such as child1, child2), or give "
            "every repetition a group of its own"
        )
    values = np.full(len(counts), np.nan)
    values[cell] = numbers
    roles = tuple(str(parts[k]) for k in order)
    return BlockTable(_finite(values.reshape(len(blocks), len(parts)), roles), roles)


def _codes(column: Any, name: str, text: str) -> tuple[np.ndarray, list[Any]]:
    """Numbers of the distinct values, by first appearance, and those values."""
    if column.null_count:
        raise DataError(
            f"{column.null_count:,} rows have no {name} ({text}): fill it in, or drop these rows"
        )
    coded = column.combine_chunks().dictionary_encode()
    if not hasattr(coded, "indices"):  # a chunked array of one chunk
        coded = coded.chunk(0)
    return coded.indices.to_numpy().astype(np.int64), coded.dictionary.to_pylist()


def _numbers(column: Any, text: str) -> np.ndarray:
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(
            f"{text!r} holds {kind} values, not numbers; name a numeric column, or list the texts "
            "that mean missing"
        )
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(float)


def _finite(values: np.ndarray, roles: Sequence[str]) -> np.ndarray:
    if np.isinf(values).any():
        row, column = (int(k) for k in np.argwhere(np.isinf(values))[0])
        raise DataError(
            f"{roles[column]!r} is infinite in block {row}; correct it or make it missing"
        )
    return values
