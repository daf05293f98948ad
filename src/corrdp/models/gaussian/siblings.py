"""Families in tables: parents once, any number of children, each as good as the other.

Tables are wide (a block a row) or long (group, role, value).

A wide table has a row for every child and repeats the parents. Joined by family, its law is

    child_k = mean + B (parents - their means) + u + e_k

where u is common to the children of a family and e_k is each child's own. So two children have the
same covariance whichever they are, and at least the one that their parents give them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from corrdp._checks import check_array, check_items
from corrdp.errors import DataError, InputError, ModelError
from corrdp.models.base import fit_fields
from corrdp.results import Result
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


_SPARE = 1e-6  # of its variance every child keeps to itself
# rows that agree on two columns and more: by chance as many as there are, give or take
_MORE_THAN_CHANCE = 1.25
_DEVIATIONS = 6.0


@dataclass(frozen=True, eq=False)
class Siblings(Result):
    """What a fit knows of children of one family.

    Attributes
    ----------
    column : str
        What was read for the children.
    correlation : float
        Of two children of one family, as the model has it.
    pairs : int
        Families with two children and more.
    covariance : (2, 2) array or None
        Of the first two children of each of these; None when there are fewer than two such
        families. The first child stands with the parents in the covariance of the fit.

    Examples
    --------
    >>> found = Siblings("height", .4, 3, np.eye(2))
    >>> Siblings.from_dict(found.to_dict()).to_dict() == found.to_dict()
    True
    """

    column: str
    correlation: float
    pairs: int
    covariance: np.ndarray | None

    @classmethod
    def from_dict(cls, data: Any) -> Siblings:
        """Inverse of :meth:`to_dict`; an unknown or absent key is an error."""
        kept = fit_fields(cls, data)
        if kept["covariance"] is not None:
            kept["covariance"] = np.array(kept["covariance"], dtype=float)
            if kept["covariance"].shape != (2, 2):
                raise ModelError("the covariance of two siblings must have two rows and columns")
        return cls(**kept)


@dataclass(frozen=True, eq=False)
class Families:
    """Families side by side: the parents, then their children from the first on.

    Attributes
    ----------
    parents : (families, p) array
        NaN where a value is missing.
    children : (families, most) array
        NaN behind the last child.
    names : tuple of str
        The columns of the parents, then that of the children.
    missing : int
        Children without a value.
    """

    parents: np.ndarray
    children: np.ndarray
    names: tuple[str, ...]
    missing: int

    @property
    def lacking(self) -> int:
        """Values that are missing: of parents, and of children whose row has none."""
        return int(np.isnan(self.parents).sum()) + self.missing

    @property
    def rows(self) -> np.ndarray:
        """Every child with its parents, a row each; families without a child keep one row."""
        born = ~np.isnan(self.children)
        born[~born.any(axis=1), 0] = True
        family = np.nonzero(born)[0]
        return np.column_stack([self.parents[family], self.children[born]])

    @property
    def first(self) -> np.ndarray:
        """Each family with its first child: independent rows."""
        return np.column_stack([self.parents, self.children[:, :1]])

    @property
    def blocks(self) -> BlockTable:
        """Every family a block; the children's roles are numbered."""
        *parents, child = self.names
        roles = (*parents, *(f"{child} {k + 1}" for k in range(self.children.shape[1])))
        return BlockTable(np.column_stack([self.parents, self.children]), roles)


def join_families(table: Table, columns: Sequence[str], group: str) -> Families:
    """Join the rows of a family: what never differs in one is the parents', the rest the child's.

    Parameters
    ----------
    table : Table
    columns : sequence of str
        Columns or SQL expressions: any number of parents, one child.
    group : str
        Column or expression that tells the families apart.

    Raises
    ------
    DataError
        When more than one column differs between the rows of a family.
    """
    if group in columns:
        raise DataError(f"group={group!r} tells families apart: it is no value of a person")
    read = wide_table(table, columns, group)
    values, codes = read.values, read.family
    assert codes is not None
    number = int(codes.max()) + 1
    varies = [_varies(column, codes, number) for column in values.T]
    if sum(varies) > 1:
        several = [name for name, differs in zip(read.roles, varies, strict=True) if differs]
        raise DataError(
            f"{' and '.join(several)} differ between the rows of one {group!r}: only the child's "
            "column may. Values of other people go into a long table (group, role, value)"
        )
    child = varies.index(True) if any(varies) else len(columns) - 1
    order = [k for k in range(len(columns)) if k != child]
    shared = np.full((number, len(order)), np.nan)
    for place, k in enumerate(order):
        known = ~np.isnan(values[:, k])
        shared[codes[known], place] = values[known, k]
    born = ~np.isnan(values[:, child])
    rank = _rank(codes[born])
    children = np.full((number, max(int(rank.max(initial=0)) + 1, 1)), np.nan)
    children[codes[born], rank] = values[born, child]
    names = (*(read.roles[k] for k in order), read.roles[child])
    return Families(shared, children, names, int((~born).sum()))


def _varies(column: np.ndarray, codes: np.ndarray, number: int) -> bool:
    """Whether a column has two values in one family."""
    known = ~np.isnan(column)
    low, high = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(low, codes[known], column[known])
    np.maximum.at(high, codes[known], column[known])
    return bool((low < high).any())


def _rank(codes: np.ndarray) -> np.ndarray:
    """The how-manieth of its code each entry is, from 0."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.r_[0, np.flatnonzero(np.diff(ordered)) + 1]
    behind = np.arange(len(codes)) - np.repeat(starts, np.diff(np.r_[starts, len(codes)]))
    out = np.empty(len(codes), dtype=np.int64)
    out[order] = behind
    return out


def sibling_covariance(families: Families, cov: np.ndarray) -> tuple[np.ndarray, Siblings]:
    """Extend the covariance of parents and a child to as many children as there are.

    ``s = max(pairs' mean of (x - m)(y - m), c P^-1 c)``

    where

    * x and y run over two children of a family, m is the mean of all children,
    * P is the covariance of the parents, c theirs with a child: children have at least the
      covariance that their parents give them.

    Parameters
    ----------
    families : Families
    cov : (p + 1, p + 1) array
        Covariance of the parents and one child.

    Returns
    -------
    cov : (p + most, p + most) array
    siblings : Siblings
    """
    p, most = families.parents.shape[1], families.children.shape[1]
    off = families.children - np.nanmean(families.children)
    count = (~np.isnan(off)).sum(axis=1)
    sums, squares = np.nansum(off, axis=1), np.nansum(off**2, axis=1)
    pairs = float((count * (count - 1)).sum())
    spread = np.nansum(off**2) / count.sum()
    found = float((sums**2 - squares).sum()) / pairs / spread if pairs else 0.0
    shared, with_child = cov[:p, :p], cov[:p, p]
    inherited = float(with_child @ np.linalg.solve(shared, with_child) / cov[p, p]) if p else 0.0
    correlation = min(max(found, inherited), 1.0 - _SPARE)
    whole = np.full((p + most, p + most), correlation * cov[p, p])
    whole[:p, :p] = cov[:p, :p]
    whole[:p, p:], whole[p:, :p] = cov[:p, p, None], cov[p, :p]
    np.fill_diagonal(whole[p:, p:], cov[p, p])
    two = families.children[count > 1, :2]
    covariance = np.cov(two.T) if len(two) > 1 else None
    return whole, Siblings(families.names[-1], correlation, len(two), covariance)


def check_no_siblings(values: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse rows that repeat the values of two columns and more far too often: siblings.

    Independent rows agree on a set U of columns by chance in about
    ``pairs * prod_k share_k / sqrt(det R)`` pairs of rows

    where share_k is the share of pairs that agree on column k, and R the correlations in U, which
    make normal columns agree the more.

    Parameters
    ----------
    values : (rows, columns) array
        NaN where a value is missing.
    names : tuple of str

    Examples
    --------
    >>> parents = np.random.default_rng(1).normal([69, 64], 2, (50, 2))
    >>> children = np.random.default_rng(2).normal(67, 3, 150)
    >>> rows = np.column_stack([parents.repeat(3, axis=0), children])
    >>> check_no_siblings(rows, ("father", "mother", "child"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: 150 pairs of rows agree on father and mother, where 2 would by ...
    """
    whole = values[~np.isnan(values).any(axis=1)]
    pairs = len(whole) * (len(whole) - 1) / 2
    if pairs < 1:
        return
    singles = [_agreeing(whole[:, [k]]) / pairs for k in range(len(names))]
    for size in range(2, len(names)):
        for part in combinations(range(len(names)), size):
            chosen = whole[:, part]
            determinant = float(np.linalg.det(np.corrcoef(chosen.T)))
            if not determinant > 0:
                continue
            chance = pairs * float(np.prod([singles[k] for k in part])) / determinant**0.5
            seen = _agreeing(chosen)
            if seen > _MORE_THAN_CHANCE * chance + _DEVIATIONS * (chance + 1.0) ** 0.5:
                named = " and ".join(names[k] for k in part)
                raise DataError(
                    f"{seen:,} pairs of rows agree on {named}, where {chance:,.0f} would by "
                    "chance: siblings share their parents. Name the family's column, group=..., "
                    'or say siblings="independent" and each row is a family of its own'
                )


def _agreeing(values: np.ndarray) -> int:
    """Pairs of equal rows."""
    _, times = np.unique(values, axis=0, return_counts=True)
    return int((times * (times - 1) // 2).sum())
