"""The recordings that experiments read, from a directory that the caller names."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corrdp.errors import DataError
from corrdp.models.chains.markov import MarkovChain

VARIABLE = "CORRDP_DATA"
HEART_RATES = {"high": "heart_rate_N10.txt.gz", "low": "heart_rate_N5.txt.gz"}


class NoDataError(DataError):
    """A recording is not there: the experiment cannot run on it."""


def data_file(name: str, data: str | os.PathLike[str] | None = None) -> Path:
    """The path of a recording.

    Parameters
    ----------
    name : str
        Name of the file.
    data : path, optional
        Its directory; that of the environment variable ``CORRDP_DATA`` when left out.

    Raises
    ------
    NoDataError
        No directory is named, or the file is not in it.
    """
    directory = os.environ.get(VARIABLE) if data is None else data
    if not directory:
        raise NoDataError(
            f"{name} is needed and no directory is named: give data=DIRECTORY or set {VARIABLE}"
        )
    path = Path(directory) / name
    if not path.is_file():
        raise NoDataError(f"{name} is needed and not in {Path(directory)}: put it there")
    return path


@dataclass(frozen=True, eq=False)
class HeartRate:
    """A heart rate while asleep as two states: 1 above its mean, 0 below.

    Parameters
    ----------
    name : str
    states : array of 0 and 1
        In the order of time.
    """

    name: str
    states: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """``counts[x, y]``: how often y followed x."""
        pairs = 2 * self.states[:-1] + self.states[1:]
        return np.bincount(pairs, minlength=4).reshape(2, 2)

    @property
    def rates(self) -> tuple[float, float]:
        """Shares of transitions 0 to 1 (q) and 1 to 0 (r)."""
        shares = self.counts / self.counts.sum(axis=1, keepdims=True)
        return float(shares[0, 1]), float(shares[1, 0])

    @property
    def chain(self) -> MarkovChain:
        """The fitted chain of first order, with a stationary start as in the source."""
        return MarkovChain.fit([self.states.tolist()])


def heart_rate(which: str, data: str | os.PathLike[str] | None = None) -> HeartRate:
    """One of the two heart rate recordings, split at its mean.

    Parameters
    ----------
    which : "high" or "low"
        How strongly neighbouring beats depend on each other.
    data : path, optional
        See :func:`data_file`.

    References
    ----------
    Peng, Mietus, Liu, Khalsa, Douglas, Benson, Goldberger, International Journal of Cardiology 70
    (1999), 101-107; PhysioNet.
    """
    path = data_file(HEART_RATES[which], data)
    try:
        rates = np.loadtxt(path, usecols=1, ndmin=1)
    except (ValueError, IndexError) as error:
        raise DataError(f"{path} must hold two columns, time and heart rate: {error}") from None
    if len(rates) < 2 or not np.isfinite(rates).all():
        raise DataError(f"{path} holds fewer than two beats, or values that are not numbers")
    return HeartRate(which, (rates > rates.mean()).astype(np.int64))


ELECTRICITY = "Electricity_P.csv"
GENOTYPES = "chr22.vcf.gz"


def daily_energy(data: str | os.PathLike[str] | None = None) -> np.ndarray:
    """Energy of a house on each complete day in kWh, from the AMPds2 file ``Electricity_P.csv``.

    The file has a line per minute: ``UNIX_TS`` (seconds) and, in watts, ``WHE``, the whole house;
    other columns are not read. Days are of 24 hours, counted from the first line; a last one that
    is not complete is left out.

    References
    ----------
    Makonin, Ellert, Bajic, Popowich, Scientific Data 3 (2016), 160037.
    """
    path = data_file(ELECTRICITY, data)
    with path.open() as file:
        names = [name.strip().upper() for name in file.readline().split(",")]
        if not {"UNIX_TS", "WHE"} <= set(names):
            raise DataError(f"{path} must have the columns UNIX_TS and WHE, got {names}")
        columns = [names.index("UNIX_TS"), names.index("WHE")]
        try:
            times, watts = np.loadtxt(file, delimiter=",", usecols=columns, ndmin=2).T
        except ValueError as error:
            raise DataError(f"{path} must hold numbers, one line per minute: {error}") from None
    if len(times) < 1440 or (np.diff(times) != 60).any():
        raise DataError(f"{path} must hold a line for every minute of a day or more, in order")
    whole = len(watts) // 1440
    return np.asarray(watts[: 1440 * whole].reshape(whole, 1440).sum(axis=1) / 60_000)


def genotypes(
    most: int, data: str | os.PathLike[str] | None = None
) -> tuple[tuple[str, ...], np.ndarray]:
    """Persons, and copies of the alternative allele of each at the first positions of a VCF file.

    Parameters
    ----------
    most : int
        So many positions with one alternative allele are read; the file is then closed.
    data : path, optional
        Directory of ``chr22.vcf.gz``, a file of the 1000 Genomes by that name (plain text or
        gzipped).

    Returns
    -------
    tuple of str, (positions, persons) array of int
        -1 where a genotype is missing.

    References
    ----------
    The 1000 Genomes Project Consortium, Nature 526 (2015), 68-74; Danecek et al., "The variant call
    format and VCFtools", Bioinformatics 27 (2011), 2156-2158.
    """
    path = data_file(GENOTYPES, data)
    opened = gzip.open if _first(path) == b"\x1f\x8b" else open
    people: tuple[str, ...] = ()
    rows: list[list[int]] = []
    with opened(path, "rt") as file:
        for line in file:
            cells = line.rstrip("\n").split("\t")
            if line.startswith("#CHROM"):
                people = tuple(cells[9:])
            if line.startswith("#"):
                continue
            if len(cells) != 9 + len(people) or not cells[8].startswith("GT"):
                raise DataError(f"{path}: position {len(rows) + 1} has no genotype for each person")
            if "," not in cells[4]:
                rows.append([_copies(cell, path) for cell in cells[9:]])
            if len(rows) == most:
                break
    if not people or not rows:
        raise DataError(f"{path} is no VCF file with genotypes: no #CHROM line, or no position")
    return people, np.array(rows)


def _first(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(2)


def _copies(cell: str, path: Path) -> int:
    alleles = cell.split(":")[0].replace("|", "/").split("/")
    if "." in alleles:
        return -1
    if not set(alleles) <= {"0", "1"}:
        raise DataError(f"{path} holds the genotype {cell!r}, which is not of two alleles 0 and 1")
    return alleles.count("1")
