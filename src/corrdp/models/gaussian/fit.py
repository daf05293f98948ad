"""Learning the covariance of blocks: families, pairs, sites measured together.

Blocks of different make-up share the covariance of their roles: each variance is estimated from
all values of a role, each covariance from the blocks that have both roles. Where the sample is
small, correlations are shrunk towards 0.

References
----------
J. Schafer, K. Strimmer, "A shrinkage approach to large-scale covariance matrix estimation", SAGMB 4
(2005), article 32.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corrdp._json import added
from corrdp.errors import DataError, ModelError
from corrdp.models.base import fit_fields
from corrdp.models.gaussian.building import Blocks
from corrdp.models.gaussian.normality import Normality, check_normality
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.gaussian.shapes import DenseShape
from corrdp.models.gaussian.siblings import (
    BlockTable,
    Families,
    Siblings,
    check_no_siblings,
    from_array,
    join_families,
    long_table,
    sibling_covariance,
    wide_table,
)
from corrdp.queries import MISSING_TEXT
from corrdp.results import Result
from corrdp.tables.source import USUAL, Layout, Table, is_table, open_table
from corrdp.tables.text import warn_unfound

_SMALL = 10  # fewer complete blocks per role than this, and correlations are shrunk
_FEWEST_PAIRS = 3  # blocks with both roles that a covariance needs
_FEWEST_VALUES, _MANY = 10, 30  # different values of a column, where it has at least so many
_LEAST_EIGENVALUE = 1e-6  # of the correlation matrix, made so by shrinking


@dataclass(frozen=True, eq=False)
class GaussianFit(Result):
    """Where a fitted covariance comes from.

    Attributes
    ----------
    rows, complete : int
        Blocks with at least one value, and with all roles (of the children, the first).
    missing : int
        Values that are missing, in blocks that lack a role.
    roles : tuple of str
    shape_roles : tuple of tuple of int
        The roles of each of the model's shapes.
    columns : tuple of str
        What was read from a wide table; empty otherwise.
    group, value, role : str or None
        What was read from a long table; ``group`` also where the rows of a wide one are joined.
    missing_text : tuple of str
        Texts that stood for "not recorded"; a release reads the table the same way.
    shrinkage : float
        How far correlations were moved towards 0: none at 0, all the way at 1.
    covariance : (m, m) array or None
        Covariance of the complete blocks, without shrinkage; None when there are fewer than two.
        Of joined siblings, that of the parents and the first child.
    normality : Normality
    siblings : Siblings, "independent" or None
        What is known of children of one family; that rows which share parents were called
        families of their own; or that no two rows share any.
    layout : Layout
        How the text file was laid out; a release reads the table the same way.

    Examples
    --------
    >>> fit = GaussianRecords.fit([[1., 2.], [2., 4.5], [3., 5.], [4., 8.5]]).fitted
    >>> fit.rows, fit.roles, round(fit.shrinkage, 3)
    (4, ('0', '1'), 0.305)
    >>> GaussianFit.from_dict(fit.to_dict()).to_dict() == fit.to_dict()
    True
    """

    rows: int
    complete: int
    missing: int
    roles: tuple[str, ...]
    shape_roles: tuple[tuple[int, ...], ...]
    columns: tuple[str, ...]
    group: str | None
    value: str | None
    role: str | None
    missing_text: tuple[str, ...]
    shrinkage: float
    covariance: np.ndarray | None
    normality: Normality
    siblings: Siblings | Literal["independent"] | None = added()
    layout: Layout = added(USUAL)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a user of the estimate takes for granted, in words."""
        said = [
            f"the covariance was estimated from {self.rows:,} blocks, {self.complete:,} of them "
            f"complete, taken as independent draws{self._joined}",
            "fitting on the private data is itself a release of information, which is not "
            "accounted for",
        ]
        if isinstance(self.siblings, Siblings):
            said.append(
                f"children of one family have correlation {self.siblings.correlation:.4g}, "
                "whichever two they are and however many there are, and a family's parents are "
                "one record each, however many rows repeat them"
            )
        if self.complete < self.rows:
            said.append(
                "blocks of different make-up share the covariance of their roles, and which roles "
                "a block lacks is public and says nothing about the values"
            )
        if self.shrinkage > 0:
            said.append(
                f"correlations were shrunk by {100 * self.shrinkage:.3g} % because the sample is "
                "small: that pulls towards independence, so leakage may be understated; ask for a "
                "confidence"
            )
        said.append(self.normality.words)
        return tuple(said)

    @property
    def _joined(self) -> str:
        if self.siblings is None:
            return " (rows that share a person are not)"
        if isinstance(self.siblings, Siblings):
            return ""
        return ", although rows share parents: every row is called a family of its own"

    @property
    def reading(self) -> tuple[str, ...]:
        """The columns (or expressions) of a table that hold the values; none for data in memory."""
        return self.columns or (() if self.value is None else (self.value,))

    def check_blocks(self, table: Table) -> None:
        """Refuse a table whose blocks the model does not know.

        A block may lack roles: it then leaks no more than a whole one.
        """
        if self.columns and self.siblings is None:
            check_no_siblings(wide_table(table, self.columns).values, self.columns)
        if self.group is None or self.value is None or self.role is None:
            return
        found = long_table(table, self.group, self.value, self.role)
        if not set(found.roles) <= set(self.roles):
            raise DataError(
                f"{table.path} has a role that the model does not know; its roles are "
                f"{', '.join(self.roles)}"
            )

    def family_values(self, table: Table, column: str | None) -> np.ndarray:
        """The records of families that were joined, NaN where missing; parents once.

        Parameters
        ----------
        table : Table
        column : str or None
            One of the columns of the fit; None for all of them.
        """
        assert isinstance(self.siblings, Siblings)
        assert self.group is not None
        found = join_families(table, self.columns, self.group)
        parents, most = found.parents.shape[1], len(self.roles) - len(self.columns) + 1
        if found.names[-1] != self.siblings.column:
            raise DataError(
                f"in {table.path} it is {found.names[-1]!r} that differs between the rows of a "
                f"family, in the fit it was {self.siblings.column!r}"
            )
        if found.children.shape[1] > most:
            raise DataError(
                f"a family of {table.path} has more children than the largest of the model, "
                f"which has {most}; refit"
            )
        by_name = {name: found.parents[:, k] for k, name in enumerate(found.names[:-1])}
        born = found.children[~np.isnan(found.children)]
        by_name[self.siblings.column] = np.r_[born, np.full(found.missing, np.nan)]
        assert len(by_name) == parents + 1
        chosen = by_name.values() if column is None else [by_name[column]]
        return np.concatenate([*chosen])

    @classmethod
    def from_dict(cls, data: Any) -> GaussianFit:
        """Inverse of :meth:`to_dict`; an unknown or absent key is an error."""
        kept = fit_fields(cls, data)
        for name in ("roles", "columns", "missing_text"):
            kept[name] = tuple(kept[name])
        kept["shape_roles"] = tuple(tuple(roles) for roles in kept["shape_roles"])
        if kept["siblings"] not in (None, "independent"):
            kept["siblings"] = Siblings.from_dict(kept["siblings"])
        if kept["covariance"] is not None:
            kept["covariance"] = np.array(kept["covariance"], dtype=float)
            joined = isinstance(kept["siblings"], Siblings)
            size = len(kept["columns"] if joined else kept["roles"])
            if kept["covariance"].shape != (size, size):
                raise ModelError("covariance of a fit must have one row and column for each role")
        kept["normality"] = Normality.from_dict(kept["normality"])
        return cls(**kept)


def fit_gaussian(
    table: Any,
    *,
    columns: Sequence[str] | None = None,
    group: str | None = None,
    value: str | None = None,
    role: str | None = None,
    missing: Iterable[str] | None = None,
    secret_range: Any = None,
    siblings: Literal["independent"] | None = None,
    engine: str | None = None,
) -> GaussianRecords:
    """Estimate the covariance of blocks from a table.

    Wide tables hold a block in each row (``columns`` are its roles), long ones a record
    (``group`` tells the blocks apart, ``role`` the records inside). A wide table with a row for
    every child is joined by ``group``: see :mod:`corrdp.models.gaussian.siblings`. The model's
    records are those of the data, block by block, roles in their order; missing values are no
    records.

    Parameters
    ----------
    table : path, data frame, Table or 2-D array
        A CSV or Parquet file, a data frame of pandas, polars or pyarrow, a
        :class:`corrdp.tables.source.Table`, or numbers in memory, one row a block (NaN is missing).
    columns : sequence of str
        Wide tables: columns or SQL expressions. For numbers in memory their names, if any.
    group, value, role : str
        Long tables: columns or SQL expressions; each role at most once in a group. ``group`` with
        ``columns``: rows of one family share their parents, and one column is the child's.
    missing : iterable of str, optional
        Texts that mean "not recorded"; "", "NA", "NaN" and "null" when left out.
    secret_range : pair of float, optional
        As for :class:`GaussianRecords`.
    siblings : {"independent"}, optional
        Wide tables without ``group``: take every row for a family of its own although rows repeat
        their parents. Published analyses read Galton's heights so; siblings' dependence is then
        not in the model.
    engine : {"duckdb", "spark"}, optional
        Files only: who reads; DuckDB when left out.

    Returns
    -------
    GaussianRecords
        With ``fitted`` set to a :class:`GaussianFit`.

    Raises
    ------
    DataError
        When a group has a role twice, a role never varies, rows repeat the parents' values, values
        are not numbers, or they are categories: fewer than 10 different ones in 30 records or more.

    Examples
    --------
    >>> pairs = np.random.default_rng(3).multivariate_normal([0, 9], [[4, 1], [1, 1]], 500)
    >>> model = fit_gaussian(pairs, columns=["mother", "child"])
    >>> model
    <Gaussian records: 1,000 in 500 blocks of 2>
    >>> model.shapes[0].cov.round(2).tolist()
    [[4.04, 0.95], [0.95, 0.99]]
    """
    if siblings not in (None, "independent"):
        raise DataError(f'siblings is "independent" or left out, got {siblings!r}')
    if is_table(table) and not isinstance(table, Table):
        table = open_table(table, MISSING_TEXT if missing is None else missing, engine or "duckdb")
        missing = engine = None
    read, texts, families = _read(table, columns, group, value, role, missing, engine)
    if siblings and (families is not None or value is not None):
        raise DataError('siblings="independent" is for wide tables without group=')
    present = ~np.isnan(read.values)
    kept = present.any(axis=1)
    if not kept.any():
        raise DataError("every value is missing: there is nothing to learn from")
    values, present = read.values[kept], present[kept]
    if families is not None:
        _check_measured([*families.parents.T, families.children], families.names)
    elif value is not None:
        _check_measured([values], [value])
    else:
        _check_measured(values.T, read.roles)
    apart = values  # rows that are independent, with all there is to estimate from
    joined: Siblings | None = None
    if families is None:
        if siblings is None and value is None:
            check_no_siblings(values, read.roles)
        cov, shrinkage = estimate_covariance(values, read.roles)
    else:
        apart = families.first[kept]
        pairs, shrinkage = estimate_covariance(families.rows, families.names, len(apart))
        cov, joined = sibling_covariance(families, pairs)
    whole = ~np.isnan(apart).any(axis=1)
    mean = _role_means(values, None if families is None else families.parents.shape[1])
    patterns, shape_of_block = np.unique(present, axis=0, return_inverse=True)
    shape_roles = tuple(tuple(np.flatnonzero(row).tolist()) for row in patterns)
    shapes = tuple(
        DenseShape(cov[np.ix_(roles, roles)], mean[list(roles)]) for roles in shape_roles
    )
    in_memory = not isinstance(table, Table)
    names = read.roles if families is None else families.names
    fit = GaussianFit(
        rows=len(values),
        complete=int(whole.sum()),
        missing=int((~present).sum()) if families is None else families.lacking,
        roles=read.roles,
        shape_roles=shape_roles,
        columns=() if in_memory or columns is None else names,
        group=group,
        value=value,
        role=role,
        missing_text=texts,
        shrinkage=shrinkage,
        covariance=np.atleast_2d(np.cov(apart[whole].T)) if whole.sum() > 1 else None,
        normality=check_normality(apart, names),
        siblings=siblings if joined is None else joined,
        layout=USUAL if in_memory else table.layout,
    )
    labels = np.repeat(np.arange(len(values)), present.sum(axis=1))
    blocks = Blocks(shapes, shape_of_block.reshape(-1), labels)
    return GaussianRecords.of_blocks(blocks, secret_range=secret_range, fitted=fit)


def _check_measured(columns: Iterable[np.ndarray], names: Sequence[str]) -> None:
    """Refuse numbers that stand for categories, such as 0 and 1: no normal law describes them."""
    for column, name in zip(columns, names, strict=True):
        known = column[~np.isnan(column)]
        different = len(np.unique(known))
        if len(known) >= _MANY and 1 < different < _FEWEST_VALUES:
            raise DataError(
                f"{name!r} has {different} different values in {len(known):,} records: these are "
                "categories, and families are fitted by a normal law, which is for measurements. "
                "Leave the law within a family open instead: with a row for each member, and K "
                "the size of the largest family, no fit is needed: Groups(K), on the command line "
                "groups:K in place of the model file"
            )


def _role_means(values: np.ndarray, parents: int | None) -> np.ndarray:
    """Mean of every role; children of one family have one."""
    mean = np.array([column[~np.isnan(column)].mean() for column in values.T])
    if parents is not None:
        mean[parents:] = np.nanmean(values[:, parents:])
    return mean


def _read(
    table: Any,
    columns: Sequence[str] | None,
    group: str | None,
    value: str | None,
    role: str | None,
    missing: Iterable[str] | None,
    engine: str | None,
) -> tuple[BlockTable, tuple[str, ...], Families | None]:
    """The blocks, the texts that stood for missing values, and joined families if there are any."""
    long = {"group": group, "value": value, "role": role}
    given = [name for name, text in long.items() if text is not None]
    if not isinstance(table, Table):
        if given or missing is not None or engine is not None:
            raise DataError("group, value, role, missing and engine are for tables; give a path")
        return from_array(table, columns), MISSING_TEXT, None
    if given not in (([], ["group"]) if columns is not None else (["group", "value", "role"],)):
        raise DataError(
            "a table needs either columns=[...] (each row a block; with group= a child of its "
            "family) or all of group=, value= and role= (each row a record); got "
            f"{'columns, ' if columns is not None else ''}{given or 'nothing'}"
        )
    if missing is not None or engine is not None:
        raise DataError("this table is open already; give missing and engine to open_table")
    warn_unfound(table, [str(value)] if columns is None else columns)
    if columns is None:
        return long_table(table, str(group), str(value), str(role)), table.missing, None
    if group is None:
        return wide_table(table, columns), table.missing, None
    families = join_families(table, columns, group)
    return families.blocks, table.missing, families


def estimate_covariance(
    values: np.ndarray, roles: Sequence[str], independent: int | None = None
) -> tuple[np.ndarray, float]:
    """Covariance of the roles from all values at hand, and how far correlations were shrunk.

    ``cov_jk = (1 - shrinkage) * s_j s_k r_jk`` with r_jk over the blocks that have both roles

    where shrinkage is 0 for large samples, else Schafer and Strimmer's
    ``sum Var(r_jk) / sum r_jk^2`` over pairs of roles, and in any case enough to make the matrix
    positive definite.

    Parameters
    ----------
    values : (blocks, m) array
        NaN where a value is missing.
    roles : sequence of str
    independent : int, optional
        How many of the rows are independent; the complete ones when left out.

    Examples
    --------
    >>> cov, shrinkage = estimate_covariance(np.array([[0., 1.], [1., 0.], [2., 3.]] * 10), "ab")
    >>> cov.round(4).tolist(), shrinkage
    ([[0.6897, 0.6897], [0.6897, 1.6092]], 0.0)
    """
    m = values.shape[1]
    present = ~np.isnan(values)
    deviations = np.array([_deviation(values[present[:, k], k], roles[k]) for k in range(m)])
    correlation, variance = np.eye(m), np.zeros((m, m))
    for j in range(m):
        for k in range(j):
            both = present[:, j] & present[:, k]
            if not both.any():
                continue  # no block has both, so nothing depends on their covariance
            if both.sum() < _FEWEST_PAIRS:
                raise DataError(
                    f"only {both.sum()} blocks have both {roles[j]!r} and {roles[k]!r}: their "
                    f"covariance needs at least {_FEWEST_PAIRS}"
                )
            found = _correlation(values[both, j], values[both, k])
            correlation[j, k] = correlation[k, j] = found[0]
            variance[j, k] = variance[k, j] = found[1]
    least = float(np.linalg.eigvalsh(correlation)[0])
    shrinkage = 0.0
    sample = present.all(axis=1).sum() if independent is None else independent
    if sample < _SMALL * m or least < _LEAST_EIGENVALUE:
        squares = ((correlation - np.eye(m)) ** 2).sum()
        shrinkage = min(float(variance.sum() / squares), 1.0) if squares > 0 else 0.0
        needed = (_LEAST_EIGENVALUE - least) / (1.0 - least) if least < 1.0 else 0.0
        shrinkage = max(shrinkage, needed)
        correlation *= 1.0 - shrinkage
        np.fill_diagonal(correlation, 1.0)
    # the outer product first: it is symmetric to the last bit, as the model file must be
    return correlation * np.outer(deviations, deviations), shrinkage


def _deviation(column: np.ndarray, role: str) -> float:
    if len(column) < _FEWEST_PAIRS:
        raise DataError(f"{role!r} has {len(column)} values: a variance needs {_FEWEST_PAIRS}")
    found = float(column.std(ddof=1))
    if not found > 1e-12 * np.abs(column).max():
        raise DataError(
            f"{role!r} is the same in every block: a record that never varies has no secret; leave "
            "it out"
        )
    return found


def _correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Correlation of two samples and the estimated variance of that estimate."""
    n = len(x)
    sd = x.std(ddof=1), y.std(ddof=1)
    if min(sd) == 0:
        return 0.0, 0.0
    products = (x - x.mean()) / sd[0] * (y - y.mean()) / sd[1]
    mean = products.mean()
    spread = float(((products - mean) ** 2).sum())
    return float(products.sum() / (n - 1)), n / (n - 1) ** 3 * spread
