"""Gaussian records: real values that are jointly normal, in independent blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from corrdp._checks import check_items, check_kind, check_number, check_whole
from corrdp.errors import InputError, ModelError
from corrdp.models.base import RealModel, layout_told
from corrdp.models.gaussian.building import (
    Blocks,
    autoregression,
    blocks_from_fields,
    blocks_to_fields,
    equicorrelation,
    joined,
    split_covariance,
    split_precision,
)
from corrdp.models.gaussian.shapes import WRITTEN_OUT, Shape, check_range

if TYPE_CHECKING:
    from corrdp.models.gaussian.fit import GaussianFit
    from corrdp.models.gaussian.normality import Normality
    from corrdp.queries import Query
    from corrdp.tables.source import Table


@dataclass(frozen=True)
class BlockRow:
    """One kind of block: who is in it, how many there are, and the largest value of its records."""

    members: tuple[str, ...]
    blocks: int
    size: int
    largest: float


@dataclass(frozen=True, eq=False, repr=False, init=False)
class GaussianRecords(RealModel):
    """Records with a joint normal law, such as the heights of families.

    Records without covariance are independent, so the law falls apart into blocks; blocks with
    equal numbers share one shape.

    Parameters
    ----------
    cov : (n, n) array
        Covariance of the records: symmetric and positive definite.
    mean : float or (n,) array, optional
        Their means; 0 when left out. No bound depends on them.
    secret_range : pair of float, optional
        The range in which both values of a record lie that an adversary tells apart. Without it
        only the general bound holds: see gaussian-records#regression.

    Attributes
    ----------
    shapes : tuple of Shape
        The distinct laws of a block.
    shape_of_block : (blocks,) array of int
    block_of_record : (n,) array of int
        Blocks are numbered by their first record; inside a block, records keep their order.
    fitted : GaussianFit or None
        Where a fitted covariance comes from.

    References
    ----------
    Lange, master thesis (2024), definition 6.1.

    Examples
    --------
    >>> family = GaussianRecords([[4, 1, 1.2], [1, 4, .8], [1.2, .8, 4]], secret_range=(-5, 5))
    >>> family
    <Gaussian records: 3 in one block, secret range [-5, 5]>
    >>> mean, cov = family.condition({1: 1, 2: 2})
    >>> mean.round(6).tolist(), cov.round(6).tolist()
    ([0.71875], [[3.489583]])
    >>> GaussianRecords([[1, 0, .5], [0, 1, 0], [.5, 0, 1]]).block_of_record.tolist()
    [0, 1, 0]
    """

    kind: ClassVar[str] = "gaussian"
    shapes: tuple[Shape, ...]
    shape_of_block: np.ndarray
    block_of_record: np.ndarray
    secret_range: tuple[float, float] | None
    fitted: GaussianFit | None

    def __init__(self, cov: Any, mean: Any = None, secret_range: Any = None) -> None:
        self._set(split_covariance(cov, mean), secret_range, None)

    def _set(self, blocks: Blocks, secret_range: Any, fitted: GaussianFit | None) -> None:
        for array in (blocks.shape_of_block, blocks.block_of_record):
            array.setflags(write=False)
        object.__setattr__(self, "shapes", blocks.shapes)
        object.__setattr__(self, "shape_of_block", blocks.shape_of_block)
        object.__setattr__(self, "block_of_record", blocks.block_of_record)
        object.__setattr__(self, "secret_range", check_range(secret_range))
        object.__setattr__(self, "fitted", fitted)
        object.__setattr__(self, "length", len(blocks.block_of_record))

    @classmethod
    def of_blocks(
        cls, blocks: Blocks, *, secret_range: Any = None, fitted: GaussianFit | None = None
    ) -> GaussianRecords:
        """Records from blocks that were split already."""
        model = object.__new__(cls)
        model._set(blocks, secret_range, fitted)
        return model

    # -- other ways to say the law -----------------------------------------------------------

    @classmethod
    def equicorrelated(
        cls,
        n: int,
        rho: float,
        *,
        deviation: float = 1.0,
        mean: Any = None,
        secret_range: Any = None,
    ) -> GaussianRecords:
        """n records, every two with correlation ``rho``.

        Parameters
        ----------
        n : int
        rho : float
            Above -1/(n-1) and below 1.
        deviation : float
            Standard deviation of every record.
        mean, secret_range
            As for the class.

        Examples
        --------
        >>> GaussianRecords.equicorrelated(3, .5).shapes[0].correlation.tolist()
        [[1.0, 0.5, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 1.0]]
        """
        return cls(equicorrelation(n, rho, deviation), mean, secret_range)

    @classmethod
    def ar1(
        cls,
        n: int,
        phi: float,
        *,
        deviation: float = 1.0,
        mean: Any = None,
        secret_range: Any = None,
    ) -> GaussianRecords:
        """A stationary autoregression: records k steps apart have correlation ``phi**k``.

        Kept as its precision, which has three diagonals, so that n may be large.

        Parameters
        ----------
        n : int
        phi : float
            Between -1 and 1.
        deviation : float
            Standard deviation of every record.
        mean, secret_range
            As for the class.

        Examples
        --------
        >>> GaussianRecords.ar1(3, .5).cov.round(12).tolist()
        [[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]]
        >>> GaussianRecords.ar1(100_000, .9)
        <Gaussian records: 100,000 in one block>
        """
        precision = autoregression(n, phi, deviation)
        return cls.from_precision(precision, mean=mean, secret_range=secret_range)

    @classmethod
    def from_precision(
        cls, precision: Any, *, mean: Any = None, secret_range: Any = None
    ) -> GaussianRecords:
        """Records from their precision, the inverse of the covariance: a Gaussian Markov field.

        Entry (i, j) is 0 where records i and j are independent given all others.

        Parameters
        ----------
        precision : array or scipy sparse matrix, (n, n)
            A sparse one is never written out in full: a chain takes time n, a grid n^1.5.
        mean, secret_range
            As for the class.

        Examples
        --------
        >>> GaussianRecords.from_precision([[2, -1], [-1, 2]]).cov.round(6).tolist()
        [[0.666667, 0.333333], [0.333333, 0.666667]]
        """
        return cls.of_blocks(split_precision(precision, mean), secret_range=secret_range)

    @classmethod
    def blocks(cls, parts: Iterable[Any], *, secret_range: Any = None) -> GaussianRecords:
        """Independent blocks one after the other.

        Parameters
        ----------
        parts : iterable of covariance matrices or GaussianRecords
            The same one may come a million times; it is kept once.
        secret_range : pair of float, optional
            That of the parts when left out; they must agree.

        Examples
        --------
        >>> pair = GaussianRecords([[225, 101.25], [101.25, 225]], mean=100)
        >>> iq = GaussianRecords.blocks([pair] * 10_000, secret_range=(40, 160))
        >>> iq.length, len(iq.shapes), iq.largest_block
        (20000, 1, 2)
        """
        kept = check_items("parts", parts, error=ModelError)
        if not kept:
            raise ModelError("blocks is empty: give at least one covariance matrix")
        models = {id(p): p if isinstance(p, GaussianRecords) else cls(p) for p in kept}
        ranges = {model.secret_range for model in models.values()}
        if secret_range is None:
            if len(ranges) > 1:
                raise ModelError("the parts have different secret ranges: give secret_range=")
            (secret_range,) = ranges
        own = {k: model._blocks for k, model in models.items()}
        return cls.of_blocks(joined([own[id(p)] for p in kept]), secret_range=secret_range)

    @classmethod
    @layout_told
    def fit(
        cls,
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
        """Estimate from a table; see :func:`corrdp.models.gaussian.fit.fit_gaussian`."""
        from corrdp.models.gaussian.fit import fit_gaussian

        return fit_gaussian(
            table,
            columns=columns,
            group=group,
            value=value,
            role=role,
            missing=missing,
            secret_range=secret_range,
            siblings=siblings,
            engine=engine,
        )

    # -- blocks ------------------------------------------------------------------------------

    @property
    def _blocks(self) -> Blocks:
        return Blocks(self.shapes, self.shape_of_block, self.block_of_record)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Records by block, and where each block starts among them."""
        sizes = np.bincount(self.block_of_record, minlength=len(self.shape_of_block))
        return np.argsort(self.block_of_record, kind="stable"), np.r_[0, np.cumsum(sizes)[:-1]]

    @property
    def largest_block(self) -> int:
        """Records of the largest block."""
        return max(shape.size for shape in self.shapes)

    def members(self, shape: int) -> np.ndarray:
        """Records of all blocks of one shape, one block a row, in the order of the shape.

        Examples
        --------
        >>> GaussianRecords([[1, 0, .5], [0, 1, 0], [.5, 0, 1]]).members(0).tolist()
        [[0, 2]]
        """
        order, starts = self._sorted
        blocks = np.flatnonzero(self.shape_of_block == shape)
        return order[starts[blocks][:, None] + np.arange(self.shapes[shape].size)]

    def block(self, record: int) -> tuple[np.ndarray, Shape]:
        """The records of a record's block, ascending, and their joint law."""
        if not 0 <= record < len(self.block_of_record):
            raise InputError(f"record {record} is not among 0..{len(self.block_of_record) - 1}")
        order, starts = self._sorted
        number = self.block_of_record[record]
        shape = self.shapes[self.shape_of_block[number]]
        return order[starts[number] : starts[number] + shape.size], shape

    def per_block(self, per_record: np.ndarray) -> tuple[BlockRow, ...]:
        """The largest entry per kind of block, such as the leakage of whole and partial families.

        Parameters
        ----------
        per_record : (n,) array
            Such as ``leakage(model, 1.0).per_record``.

        Examples
        --------
        >>> pair, single = [[1, .5], [.5, 1]], [[1.]]
        >>> model = GaussianRecords.blocks([pair, single, pair])
        >>> for row in model.per_block(np.array([1.5, 1.4, 1.0, 1.5, 1.5])):
        ...     print(row.members, row.blocks, row.largest)
        ('record 0', 'record 1') 2 1.5
        ('record 0',) 1 1.0
        """
        rows = []
        for number, shape in enumerate(self.shapes):
            members = self.members(number)
            largest = float(per_record[members].max())
            rows.append(BlockRow(self.roles(number), len(members), shape.size, largest))
        return tuple(rows)

    def roles(self, shape: int) -> tuple[str, ...]:
        """Who is in a kind of block: the roles of a fit, or numbers."""
        fit = self.fitted
        if fit is None:
            return tuple(f"record {k}" for k in range(self.shapes[shape].size))
        return tuple(fit.roles[k] for k in fit.shape_roles[shape])

    def check_table(self, table: Table) -> None:
        if self.fitted is not None:
            self.fitted.check_blocks(table)

    def reads(self, query: Query) -> np.ndarray | None:
        """Which records a query reads: of a wide table, one column or all of them."""
        fit, column = self.fitted, query.column
        if fit is None or column is None or column not in fit.columns:
            return super().reads(query)
        pattern = np.zeros(len(self.block_of_record))
        # all children of a family stand in the last column, from its role on
        first = fit.columns.index(column)
        last = len(fit.roles) if column == fit.columns[-1] else first + 1
        for number, roles in enumerate(fit.shape_roles):
            read = [place for place, role in enumerate(roles) if first <= role < last]
            pattern[self.members(number)[:, read]] = 1.0
        return pattern

    # -- the law -----------------------------------------------------------------------------

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean of each record."""
        out = np.empty(len(self.block_of_record))
        for number, shape in enumerate(self.shapes):
            out[self.members(number)] = shape.mean
        return out

    @property
    def cov(self) -> np.ndarray:
        """The covariance of all records, written out; an error beyond a few thousand."""
        n = len(self.block_of_record)
        if n > WRITTEN_OUT:
            raise ModelError(
                f"the covariance of {n:,} records is not written out (at most {WRITTEN_OUT:,}); "
                "ask for the shapes of the blocks"
            )
        out = np.zeros((n, n))
        for number, shape in enumerate(self.shapes):
            for records in self.members(number):
                out[np.ix_(records, records)] = shape.cov
        return out

    def condition(self, known: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of all other records given some of them.

        ``mean_U + cov_UC cov_CC^-1 (c - mean_C)`` and ``cov_UU - cov_UC cov_CC^-1 cov_CU``

        where

        * C are the known records with values c,
        * U are the others, in their order.

        Parameters
        ----------
        known : mapping of record index (from 0) to value

        References
        ----------
        Lange, master thesis (2024), equations (123)-(124).

        Examples
        --------
        >>> mean, cov = GaussianRecords([[1, .5], [.5, 1]]).condition({0: 2.0})
        >>> mean.tolist(), cov.tolist()
        ([1.0], [[0.75]])
        """
        n = len(self.block_of_record)
        check_kind("known", known, Mapping, "{record: value}")
        for record, value in known.items():
            check_whole("a known record", record, least=0, most=n - 1)
            check_number(f"the value of record {record}", value)
        given = np.array(sorted(known), dtype=np.int64)
        rest = np.setdiff1d(np.arange(n), given)
        cov, mean = self.cov, self.mean
        values = np.array([known[k] for k in given.tolist()], dtype=float)
        weights = np.linalg.solve(cov[np.ix_(given, given)], cov[np.ix_(given, rest)])
        left = cov[np.ix_(rest, rest)] - cov[np.ix_(rest, given)] @ weights
        return mean[rest] + (values - mean[given]) @ weights, (left + left.T) / 2.0

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """One draw of all records. O(n) for blocks of bounded size and for chains.

        Parameters
        ----------
        rng : numpy.random.Generator
        """
        out = np.empty(len(self.block_of_record))
        for number, shape in enumerate(self.shapes):
            members = self.members(number)
            out[members] = shape.sample(rng, len(members))
        return out

    # -- in words and files ------------------------------------------------------------------

    def diagnose(self) -> Normality:
        """Whether the data of the fit look normal; see :mod:`corrdp.models.gaussian.normality`."""
        from corrdp.models.gaussian.normality import normality

        return normality(self)

    @property
    def assumptions(self) -> tuple[str, ...]:
        said = ["the records are jointly normal with this covariance"]
        if len(self.shape_of_block) > 1:
            said.append("different blocks of records are independent")
        return (*said, *self.fit_assumptions)

    def describe(self) -> str:
        blocks, largest = len(self.shape_of_block), self.largest_block
        if blocks == 1:
            inside = "in one block"
        else:
            equal = all(shape.size == largest for shape in self.shapes)
            inside = f"in {blocks:,} blocks of {'' if equal else 'at most '}{largest:,}"
        known = ""
        if self.secret_range is not None:
            known = f", secret range [{self.secret_range[0]:g}, {self.secret_range[1]:g}]"
        return f"Gaussian records: {len(self.block_of_record):,} {inside}{known}"

    def fields(self) -> dict[str, Any]:
        return {
            **blocks_to_fields(self._blocks),
            "secret_range": self.secret_range,
            "fit": None if self.fitted is None else self.fitted.to_dict(),
        }

    @classmethod
    def from_fields(cls, body: dict[str, Any]) -> GaussianRecords:
        """Inverse of :meth:`fields`.

        Examples
        --------
        >>> model = GaussianRecords.ar1(5, .5, secret_range=(0, 1))
        >>> GaussianRecords.from_fields(model.fields()).digest == model.digest
        True
        """
        fit = body["fit"]
        if fit is not None:
            from corrdp.models.gaussian.fit import GaussianFit

            fit = GaussianFit.from_dict(fit)
        blocks = blocks_from_fields(body)
        return cls.of_blocks(blocks, secret_range=body["secret_range"], fitted=fit)
