"""Files that a reader of the papers may have: AMPds2 and the 1000 Genomes, in their formats."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from corrdp_reproduction.catalogue import load
from corrdp_reproduction.recordings import NoDataError, daily_energy, genotypes
from corrdp_reproduction.utility.datasets import markov_sets

from corrdp.errors import DataError

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")


def write_electricity(folder: Path, energy: list[float], minutes: int = 0) -> None:
    """A line per minute, the whole house second, as AMPds2 has it; ``minutes`` of a last day."""
    watts = [kwh * 1000 / 24 for kwh in energy for _ in range(1440)] + [1.0] * minutes
    lines = [f"{1333263600 + 60 * k},{w:.6f},7" for k, w in enumerate(watts)]
    (folder / "Electricity_P.csv").write_text("UNIX_TS,WHE,RSE\n" + "\n".join(lines) + "\n")


def write_genotypes(folder: Path, rows: list[list[str]], *, zipped: bool = True) -> None:
    people = [f"HG{k:05d}" for k in range(len(rows[0]))]
    head = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *people]
    lines = ["##fileformat=VCFv4.1", "\t".join(head)]
    for k, row in enumerate(rows):
        allele = "G,T" if row[0] == "2|0" else "G"
        lines.append("\t".join(["22", str(k), ".", "A", allele, "1", "PASS", ".", "GT", *row]))
    text = "\n".join(lines) + "\n"
    path = folder / "chr22.vcf.gz"
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())


def test_days_of_electricity(tmp_path):
    write_electricity(tmp_path, [60.0, 75.5, 95.0], minutes=500)
    assert daily_energy(tmp_path) == pytest.approx([60.0, 75.5, 95.0])
    with pytest.raises(NoDataError, match=r"Electricity_P\.csv"):
        daily_energy(tmp_path / "..")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "UNIX_TS and WHE"),
        ("UNIX_TS,WHE\n0,1\n60,1\n", "every minute"),
        ("UNIX_TS,WHE\n0,x\n", "must hold numbers"),
        ("UNIX_TS,WHE\n" + "\n".join(f"{90 * k},1" for k in range(1441)) + "\n", "every minute"),
    ],
)
def test_other_files_are_no_electricity(tmp_path, text, said):
    (tmp_path / "Electricity_P.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        daily_energy(tmp_path)


@pytest.mark.parametrize("zipped", [True, False])
def test_genotypes_of_a_file(tmp_path, zipped):
    rows = [["0|0", "0|1", "1|1"], ["2|0", "0|0", "0|1"], ["1/1", "./.", "1|0:3"], ["0|0"] * 3]
    write_genotypes(tmp_path, rows, zipped=zipped)
    people, copies = genotypes(2, tmp_path)
    assert people == ("HG00000", "HG00001", "HG00002")
    assert copies.tolist() == [[0, 1, 2], [2, -1, 1]]  # three alleles are left out
    assert len(genotypes(100, tmp_path)[1]) == 3


@pytest.mark.parametrize(
    ("row", "said"), [(["0|3", "0|0"], "two alleles"), (["0|0"], "each person")]
)
def test_broken_genotypes_are_refused(tmp_path, row, said):
    write_genotypes(tmp_path, [["0|0", "0|0"], row])
    with pytest.raises(DataError, match=said):
        genotypes(9, tmp_path)
    (tmp_path / "chr22.vcf.gz").write_text("nothing\n")
    with pytest.raises(DataError):
        genotypes(9, tmp_path)


@needs_data
def test_whoever_has_the_files_gets_the_figures(tmp_path):
    for path in Path(DATA).iterdir():
        (tmp_path / path.name).symlink_to(path)
    rng = np.random.default_rng(1)
    write_electricity(tmp_path, (60 + 40 * rng.random(120)).tolist())
    # one person in four has two copies everywhere
    write_genotypes(tmp_path, [["1|1", "0|0", "0|1", "0|0"]] * 8)
    sets, notes = markov_sets(tmp_path, single_days=False)
    names = [records.name for records in sets]
    assert {"AMPds2, 70 kWh", "AMPds2, 80 kWh", "AMPds2, 90 kWh"} <= set(names)
    assert not any("AMPds2 was left out" in note for note in notes)
    made = load("002-table-3").computed(rng=rng, data=tmp_path)
    assert "AMPds2, 80 kWh" in {cell for row in made.table.rows for cell in row}
    genes = load("000-figure-17").computed(rng=rng, data=tmp_path)
    assert genes.finding("mean").by_source == 1.0
    assert genes.finding("data").outcome == "refuted"  # four persons, not 2504
