"""Children of one family: parents once, any number of children, each as good as the other.

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

from corrdp.errors import DataError, ModelError
from corrdp.models.base import fit_fields
from corrdp.models.gaussian.table import BlockTable, wide_table
from corrdp.results import Result
from corrdp.tables.source import Table

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
