"""The linkage format: pedigree and genotypes in one table, two allele codes per SNP.

Columns ``pid`` (pedigree), ``id``, ``fid`` and ``mid`` (father and mother within the pedigree, 0
for unknown), and for each SNP two allele codes, named ``X.a1`` and ``X.a2`` or ``X_1`` and
``X_2``; 0 is a missing allele, and a ``pid`` like any other. Other columns (sex, affection, ..) are
not read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from corrdp._checks import check_kind
from corrdp.errors import DataError, ModelError
from corrdp.models.pedigrees.mendel import GENOTYPES, HardyWeinberg, PedigreeFit
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.queries import MISSING_TEXT
from corrdp.tables.expressions import columns_told, quoted
from corrdp.tables.source import USUAL, Layout, open_table
from corrdp.tables.text import warn_unfound

_KEYS = ("pid", "id", "fid", "mid")
_PAIRS = ((".a1", ".a2"), ("_1", "_2"))
_ZERO = ("0", "0.0")  # 0.0: a column of codes that some tool wrote as decimals
_WHOLE = re.compile(r"(-?\d+)\.0+")
_TRUTH = {"true": "T", "false": "F"}  # a column of nothing but T reads as true or false

Person = tuple[str, str]


@dataclass(frozen=True)
class Violation:
    """A child's genotype that its parents cannot have produced.

    Attributes
    ----------
    snp : str
    child : (pid, id)
    parents : pair of (pid, id) or None
        Father and mother.
    genotypes : tuple of str or None
        Of child, father and mother; None where missing.
    """

    snp: str
    child: Person
    parents: tuple[Person | None, Person | None]
    genotypes: tuple[str | None, str | None, str | None]

    def __str__(self) -> str:
        child, father, mother = (genotype or "missing" for genotype in self.genotypes)
        return f"{self.snp}: {'/'.join(self.child)} is {child}, father {father}, mother {mother}"


@dataclass(frozen=True, eq=False, repr=False)
class Linkage:
    """A table in linkage format, read by :func:`read_linkage`.

    Attributes
    ----------
    path : str
    ids : tuple of (pid, id)
        One per row.
    parents : tuple of pairs
        Father and mother of each row, (pid, id) or None; they need not have a row themselves.
    snps : tuple of str
    columns : mapping of SNP to the SQL of its two alleles
    alleles : mapping of SNP to (B, b)
        b is None where only one allele occurs; SNPs in ``unusable`` are left out.
    copies : (people, SNPs) array of int8
        How many copies of B each person has; -1 where missing.
    half_missing : tuple of (SNP, (pid, id))
        Genotypes with one allele missing of two; they count as missing.
    unusable : mapping of SNP to the reason
    missing_text : tuple of str
    layout : Layout
    """

    path: str
    ids: tuple[Person, ...]
    parents: tuple[tuple[Person | None, Person | None], ...]
    snps: tuple[str, ...]
    columns: Mapping[str, tuple[str, str]]
    alleles: Mapping[str, tuple[str, str | None]]
    copies: np.ndarray
    half_missing: tuple[tuple[str, Person], ...]
    unusable: Mapping[str, str]
    missing_text: tuple[str, ...] = MISSING_TEXT
    layout: Layout = USUAL

    @cached_property
    def unlisted(self) -> tuple[Person, ...]:
        """Parents who have an id but no row: people without a record who connect their children."""
        listed = set(self.ids)
        named = dict.fromkeys(parent for pair in self.parents for parent in pair if parent)
        return tuple(parent for parent in named if parent not in listed)

    @cached_property
    def founders(self) -> np.ndarray:
        """Whether each row is a founder: both parents unknown."""
        return np.array([father is None and mother is None for father, mother in self.parents])

    @cached_property
    def violations(self) -> tuple[Violation, ...]:
        """Children whose genotype their parents cannot have produced, SNP by SNP.

        A parent hands on no copy of B (bb), one (BB) or either (Bb, or genotype missing); the child
        has as many copies as it was handed. Every child is checked against its own parents.
        """
        row = {who: k for k, who in enumerate(self.ids)}
        missing = np.full((1, len(self.snps)), -1, dtype=np.int8)
        copies = np.concatenate([self.copies, missing])  # the row of a parent without one
        least, most = np.zeros_like(self.copies), np.zeros_like(self.copies)
        rows = np.array([[row.get(p, -1) if p else -1 for p in pair] for pair in self.parents])
        for parent in rows.T:
            least += copies[parent] == 2
            most += copies[parent] != 0
        wrong = (self.copies >= 0) & ((self.copies < least) | (self.copies > most))
        found = []
        for snp, who in np.argwhere(wrong.T).tolist():
            family = [copies[k, snp] for k in (who, *rows[who].tolist())]
            labels = [None if number < 0 else GENOTYPES[2 - number] for number in family]
            found.append(
                Violation(
                    self.snps[snp],
                    self.ids[who],
                    self.parents[who],
                    (labels[0], labels[1], labels[2]),
                )
            )
        return tuple(found)

    def frequency(self, snp: str) -> tuple[float, int]:
        """Frequency of B among the founders with a genotype, and how many these are."""
        seen = self._copies(snp)[self.founders]
        seen = seen[seen >= 0]
        if not seen.size:
            raise DataError(
                f"no founder has a genotype at {snp}: give the frequency of B, frequency=..."
            )
        return float(seen.mean() / 2), int(seen.size)

    def pedigree(self, snp: str, frequency: float | None = None) -> Pedigree:
        """The pedigree of all rows at one SNP, founders in Hardy-Weinberg proportions.

        Parameters
        ----------
        snp : str
        frequency : float, optional
            A public frequency of B. Left out, it is estimated from the founders, who are part of
            the private data; the result says so.

        Returns
        -------
        Pedigree
            One record per row, in the order of the table. Parents who have an id but no row are
            unobserved people.
        """
        copies = self._copies(snp)
        error, genotyped = None, int((copies[self.founders] >= 0).sum())
        if frequency is None:
            frequency, genotyped = self.frequency(snp)
            if not 0.0 < frequency < 1.0:
                raise DataError(
                    f"every founder has the same allele at {snp}, so the estimate makes every "
                    "genotype certain; give a public frequency, frequency=..., or leave the SNP out"
                )
            error = math.sqrt(frequency * (1 - frequency) / (2 * genotyped))
        law = HardyWeinberg(frequency)
        fit = PedigreeFit(
            snp=snp,
            allele=self.alleles[snp][0],
            state=self.expression(snp),
            frequency=law.p,
            standard_error=error,
            people=len(self.ids),
            founders=genotyped,
            missing=int((copies < 0).sum()),
            violations=sum(violation.snp == snp for violation in self.violations),
            missing_text=self.missing_text,
            layout=self.layout,
        )
        return Pedigree(self._people, law, self.unlisted, fit)

    def genotypes(self, snp: str) -> list[str | None]:
        """Genotypes in the order of the pedigree's records; None where missing."""
        return [None if k < 0 else GENOTYPES[2 - k] for k in self._copies(snp).tolist()]

    def expression(self, snp: str) -> str:
        """SQL for the genotype in one row of the table: 'BB', 'Bb', 'bb', or NULL where missing.

        An allele that did not occur when the table was read comes out as itself, so that a
        release refuses it instead of miscounting.
        """
        self._copies(snp)
        allele, other = self.alleles[snp]
        codes = " || '/' || ".join(self.columns[snp])
        pairs = {f"{allele}/{allele}": "'BB'"}
        if other is not None:
            pairs |= {f"{allele}/{other}": "'Bb'", f"{other}/{allele}": "'Bb'"}
            pairs[f"{other}/{other}"] = "'bb'"
        pairs["0/0"] = "NULL"
        for label in self.alleles[snp]:
            if label is not None:
                pairs |= {f"0/{label}": "NULL", f"{label}/0": "NULL"}
        cases = " ".join(f"WHEN {_text(pair)} THEN {label}" for pair, label in pairs.items())
        return f"CASE {codes} {cases} ELSE {codes} END"

    @property
    def usable(self) -> tuple[str, ...]:
        """SNPs with one or two alleles."""
        return tuple(snp for snp in self.snps if snp not in self.unusable)

    @cached_property
    def _people(self) -> list[tuple[Person, Person | None, Person | None]]:
        rows = [(who, *pair) for who, pair in zip(self.ids, self.parents, strict=True)]
        return rows + [(who, None, None) for who in self.unlisted]

    def _copies(self, snp: str) -> np.ndarray:
        """Copies of B at one SNP, or why there are none."""
        if snp not in self.columns:
            shown = ", ".join(self.snps[:10]) + (", ..." if len(self.snps) > 10 else "")
            raise DataError(f"{self.path} has no SNP {snp!r}; it has {shown}")
        if snp in self.unusable:
            raise DataError(f"SNP {snp} cannot be used: {self.unusable[snp]}")
        return self.copies[:, self.snps.index(snp)]

    def __repr__(self) -> str:
        children = len(self.ids) - int(self.founders.sum())
        lines = [
            f"Linkage table {self.path}",
            f"  people       {len(self.ids)}, {children} of them with a parent",
            f"  SNPs         {len(self.snps)}, {len(self.unusable)} unusable",
            f"  missing      {int((self.copies < 0).sum())} of {self.copies.size} genotypes "
            f"({len(self.half_missing)} with one allele of two)",
            f"  violations   {len(self.violations)} of Mendel's laws",
        ]
        if self.unlisted:
            lines.append(f"  unlisted     {len(self.unlisted)} parents have an id but no row")
        return "\n".join(lines)


def read_linkage(
    path: Any,
    *,
    counted: Mapping[str, Any] | None = None,
    missing: Iterable[str] = MISSING_TEXT,
) -> Linkage:
    """Read a CSV or Parquet table in linkage format.

    Parameters
    ----------
    path : str, Path, data frame or Table
        Columns ``pid``, ``id``, ``fid``, ``mid`` and, for each SNP X, ``X.a1`` and ``X.a2`` or
        ``X_1`` and ``X_2``. A parent is looked up within the pedigree ``pid``; 0 is an unknown
        parent or a missing allele.
    counted : mapping of SNP to allele, optional
        Which allele is B. Left out: the one more frequent among the founders (the first in
        alphabetical order if both are equally frequent), which the private data decide.
    missing : iterable of str
        Texts that mean "not recorded", besides 0.

    Returns
    -------
    Linkage

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "trio.csv"
    >>> _ = path.write_text("pid,id,fid,mid,rs1.a1,rs1.a2\\n"
    ...                     "F1,1,0,0,A,A\\nF1,2,0,0,A,G\\nF1,3,1,2,G,A\\n")
    >>> table = read_linkage(path)
    >>> table.alleles["rs1"], table.genotypes("rs1"), table.frequency("rs1")
    (('A', 'G'), ['BB', 'Bb', 'Bb'], (0.75, 2))
    """
    if counted is not None:
        check_kind("counted", counted, (Mapping,), "a mapping of SNPs to alleles", error=DataError)
    table = open_table(path, missing)
    path = table.path
    absent = [name for name in _KEYS if name not in table.columns]
    if absent:
        raise DataError(
            f"{path} has no column {', '.join(absent)}; the linkage format has pid, id, fid, mid "
            f"and two allele columns per SNP; {columns_told(table.columns[:12])}"
        )
    columns = _snp_columns(table.columns)
    if not columns:
        raise DataError(f"{path} has no SNP: name its two alleles X.a1 and X.a2, or X_1 and X_2")
    names = [*_KEYS, *(name for pair in columns.values() for name in pair)]
    warn_unfound(table, names[len(_KEYS) :])
    texts = {name: table.records[name].cast("string") for name in names}
    read = table.collect(table.records.select(**texts))
    found = {
        name: np.array([_plain(text) for text in read[name].to_pylist()], dtype=object)
        for name in names
    }
    found["pid"][[text in _ZERO for text in read["pid"].to_pylist()]] = "0"
    ids, parents = _people(found, path)
    founders = np.array([father is None and mother is None for father, mother in parents])
    unknown = sorted(set(counted or {}) - set(columns))
    if unknown:
        raise DataError(f"counted names {unknown[0]!r}, which is no SNP of {path}")
    copies = np.full((len(ids), len(columns)), -1, dtype=np.int8)
    alleles: dict[str, tuple[str, str | None]] = {}
    half: list[tuple[str, Person]] = []
    unusable: dict[str, str] = {}
    for k, (snp, pair) in enumerate(columns.items()):
        codes = np.stack([found[name] for name in pair], axis=1)
        present = codes != None  # noqa: E711  (element by element)
        half += [(snp, ids[row]) for row in np.flatnonzero(present.sum(axis=1) == 1)]
        whole = present.all(axis=1)
        try:
            wanted = None if counted is None or snp not in counted else str(counted[snp])
            alleles[snp] = chosen = _alleles(codes[whole], codes[whole & founders], wanted, snp)
        except _UnusableError as reason:
            unusable[snp] = str(reason)
            continue
        copies[whole, k] = (codes[whole] == chosen[0]).sum(axis=1)
    linkage = Linkage(
        path=str(path),
        ids=ids,
        parents=parents,
        snps=tuple(columns),
        columns={
            snp: (_as_text(table, pair[0]), _as_text(table, pair[1]))
            for snp, pair in columns.items()
        },
        alleles=alleles,
        copies=copies,
        half_missing=tuple(half),
        unusable=unusable,
        missing_text=table.missing,
        layout=table.layout,
    )
    # the relations are the same at every SNP: a cycle or a person twice shows here
    try:
        Pedigree(linkage._people, HardyWeinberg(0.5), linkage.unlisted)
    except ModelError as error:  # it names the people: for a traceback alone
        raise DataError(
            f"the parents in {path} are no pedigree: somebody is their own parent or ancestor, or "
            "has one person for father and mother"
        ) from error
    return linkage


class _UnusableError(Exception):
    """Why a SNP has no two alleles to count."""


def _snp_columns(names: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """The pairs of allele columns, by SNP, in the order of the table."""
    present, found = set(names), {}
    for name in names:
        for first, second in _PAIRS:
            snp = name.removesuffix(first)
            if snp and snp != name and snp + second in present:
                found[snp] = (name, snp + second)
    return found


def _people(
    found: Mapping[str, np.ndarray], path: str | Path
) -> tuple[tuple[Person, ...], tuple[tuple[Person | None, Person | None], ...]]:
    """Ids of the rows and of their parents."""
    ids: dict[Person, int] = {}
    parents = []
    rows = zip(*(found[name].tolist() for name in _KEYS), strict=True)
    for row, (pid, who, father, mother) in enumerate(rows):
        if pid is None or who is None:
            raise DataError(f"row {row + 1} of {path} has no {'pid' if pid is None else 'id'}")
        if (pid, who) in ids:
            raise DataError(
                f"rows {ids[pid, who] + 1} and {row + 1} of {path} are the same person, by pid and "
                "id; each has one row"
            )
        ids[pid, who] = row
        parents.append(
            (None if father is None else (pid, father), None if mother is None else (pid, mother))
        )
    if not ids:
        raise DataError(f"{path} has no rows")
    return tuple(ids), tuple(parents)


def _plain(text: str | None) -> str | None:
    """An id or allele as text, None where it is unknown; tools and engines rewrite both."""
    if not text or text in _ZERO:
        return None
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else _TRUTH.get(text, text)


def _as_text(table: Any, name: str) -> str:
    """SQL for what :func:`_plain` makes of a column of alleles, by the column's type."""
    kind, column = table.records[name].type(), quoted(name)
    if kind.is_boolean():
        return f"(CASE {column} WHEN TRUE THEN 'T' WHEN FALSE THEN 'F' END)"
    return f"CAST({column} AS BIGINT)" if kind.is_floating() else column


def _alleles(
    codes: np.ndarray, of_founders: np.ndarray, wanted: str | None, snp: str
) -> tuple[str, str | None]:
    """The counted allele and the other one."""
    labels = sorted(set(codes.ravel().tolist()))
    if not labels:
        raise _UnusableError("nobody has a genotype")
    if len(labels) > 2:
        raise _UnusableError(f"it has {len(labels)} alleles, and two are usual")
    if wanted is None:
        number = {label: int((of_founders == label).sum()) for label in labels}
        wanted = max(labels, key=lambda label: number[label])
    elif len(labels) == 2 and wanted not in labels:
        raise DataError(f"counted names allele {wanted} of {snp}, which does not occur")
    others = [label for label in labels if label != wanted]
    return wanted, others[0] if others else None


def _text(label: str) -> str:
    return "'" + label.replace("'", "''") + "'"
