"""The linkage format: reading, violations, missing genotypes, releases on the table, the report."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corrdp as cdp
from corrdp.errors import DataError, InputError, ModelError
from corrdp.models.pedigrees.linkage import read_linkage
from corrdp.models.pedigrees.mendel import PedigreeFit
from corrdp.report.snps import SnpReport, snp_report
from corrdp.tables.count import histogram
from corrdp.tables.source import open_table

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")

HEAD = "pid,id,fid,mid,sex,rs1.a1,rs1.a2,rs2_1,rs2_2\n"
TRIO = HEAD + "F,1,0,0,1,A,G,1,1\nF,2,0,0,2,A,A,1,2\nF,3,1,2,1,G,A,2,1\n"


@pytest.fixture
def write(tmp_path: Path):
    def make(text: str) -> Path:
        path = tmp_path / "people.csv"
        path.write_text(text)
        return path

    return make


def test_reads_both_namings(write):
    table = read_linkage(write(TRIO))
    assert table.snps == ("rs1", "rs2")
    assert table.ids == (("F", "1"), ("F", "2"), ("F", "3"))
    assert table.parents[2] == (("F", "1"), ("F", "2"))
    assert table.alleles == {"rs1": ("A", "G"), "rs2": ("1", "2")}
    assert table.copies.tolist() == [[1, 2], [2, 1], [1, 1]]
    assert table.genotypes("rs2") == ["BB", "Bb", "Bb"]
    assert table.violations == ()
    pedigree = table.pedigree("rs1")
    assert pedigree.founders.p == 0.75
    assert pedigree.fitted.standard_error == pytest.approx((0.75 * 0.25 / 4) ** 0.5)
    assert any("estimated from 2 founders" in text for text in pedigree.assumptions)
    public = table.pedigree("rs1", frequency=0.4)
    assert public.founders.p == 0.4
    assert any("0.4, is public" in text for text in public.assumptions)


def test_zero_is_a_family_id_like_any_other(write):
    table = read_linkage(write(TRIO.replace("F,", "0,")))
    assert table.ids == (("0", "1"), ("0", "2"), ("0", "3"))
    assert table.parents == ((None, None), (None, None), (("0", "1"), ("0", "2")))
    with pytest.raises(DataError, match=r"row 2 of .* has no pid"):
        read_linkage(write(TRIO.replace("F,2,", ",2,")))


def test_counted_allele_can_be_told(write):
    table = read_linkage(write(TRIO), counted={"rs1": "G"})
    assert table.alleles["rs1"] == ("G", "A")
    assert table.genotypes("rs1") == ["Bb", "bb", "Bb"]
    rare = read_linkage(write(TRIO.replace("A,G", "A,A").replace("G,A", "A,A")),
                        counted={"rs1": "G"})  # fmt: skip
    assert rare.alleles["rs1"] == ("G", "A")
    assert rare.genotypes("rs1") == ["bb", "bb", "bb"]
    with pytest.raises(DataError, match="counted names allele T of rs1"):
        read_linkage(write(TRIO), counted={"rs1": "T"})
    with pytest.raises(DataError, match="'rs9', which is no SNP"):
        read_linkage(write(TRIO), counted={"rs9": "T"})


def test_missing_alleles(write):
    text = TRIO.replace("A,G,1,1", "0,0,1,0").replace("A,A,1,2", "A,,1,2")
    table = read_linkage(write(text))
    assert table.genotypes("rs1") == [None, None, "Bb"]
    assert table.genotypes("rs2") == [None, "Bb", "Bb"]
    assert set(table.half_missing) == {("rs1", ("F", "2")), ("rs2", ("F", "1"))}
    with pytest.raises(DataError, match=r"no founder has a genotype at rs1.*frequency="):
        table.pedigree("rs1")
    assert table.pedigree("rs1", frequency=0.3).fitted.missing == 2
    fit = table.pedigree("rs2").fitted
    assert (fit.missing, fit.founders, fit.frequency) == (1, 1, 0.5)
    assert "2 with one allele of two" in repr(table)


VIOLATED = HEAD + (
    "F,1,0,0,1,A,A,1,1\nF,2,0,0,2,A,A,2,2\nF,3,1,2,1,G,A,1,1\n"  # rs1: G from nowhere; rs2: 1/1
    "F,4,1,0,1,A,A,2,2\n"  # rs2: 2/2 with a 1/1 father and no mother listed
    "F,5,1,2,1,A,A,1,2\nF,6,0,0,1,G,G,0,0\nF,7,6,2,1,A,G,1,1\n"  # rs2: 1/1 with a 2/2 mother
)


def test_violations_are_listed_not_dropped(write):
    table = read_linkage(write(VIOLATED))
    found = {(v.snp, v.child[1]): v.genotypes for v in table.violations}
    assert found == {
        ("rs1", "3"): ("Bb", "BB", "BB"),
        ("rs2", "3"): ("BB", "BB", "bb"),
        ("rs2", "4"): ("bb", "BB", None),
        ("rs2", "7"): ("BB", None, "bb"),
    }
    assert str(table.violations[0]) == "rs1: F/3 is Bb, father BB, mother BB"
    pedigree = table.pedigree("rs2")
    assert pedigree.length == 7
    assert pedigree.fitted.violations == 3
    assert any("3 of the 7 genotypes contradict" in text for text in pedigree.assumptions)
    assert len(table.genotypes("rs2")) == 7


def test_parents_without_a_row(write):
    """Two siblings whose parents are named but have no row are siblings, not strangers."""
    text = HEAD + "F,3,1,2,1,A,G,1,1\nF,4,1,2,2,A,A,1,2\nF,5,0,3,1,A,A,2,2\nG,1,0,0,1,A,A,1,1\n"
    table = read_linkage(write(text))
    assert table.unlisted == (("F", "1"), ("F", "2"))
    pedigree = table.pedigree("rs1", frequency=0.5)
    assert pedigree.length == 4
    assert pedigree.block_of_record.tolist() == [0, 0, 0, 1]
    assert any("2 listed people have no record" in text for text in pedigree.assumptions)
    assert any("1 people have one listed parent" in text for text in pedigree.assumptions)
    assert "2 parents have an id but no row" in repr(table)


def test_unusable_snps(write):
    text = (
        "pid,id,fid,mid,a.a1,a.a2,b.a1,b.a2,c.a1,c.a2,d.a1,d.a2\n"
        "F,1,0,0,A,C,0,0,T,T,A,G\nF,2,0,0,G,G,0,0,T,T,A,G\n"
    )
    table = read_linkage(write(text))
    assert set(table.unusable) == {"a", "b"}
    assert table.usable == ("c", "d")
    with pytest.raises(DataError, match="SNP a cannot be used: it has 3 alleles, and two"):
        table.pedigree("a")
    with pytest.raises(DataError, match="nobody has a genotype"):
        table.genotypes("b")
    with pytest.raises(DataError, match="every founder has the same allele at c"):
        table.pedigree("c")
    assert table.pedigree("c", frequency=0.99).founders.p == 0.99
    with pytest.raises(ModelError, match="strictly between 0 and 1"):
        table.pedigree("d", frequency=1.0)
    with pytest.raises(DataError, match="no SNP 'z'"):
        table.pedigree("z")
    rows = {row.snp: row for row in snp_report(table).rows}
    assert "3 alleles" in rows["a"].note
    assert "nobody" in rows["b"].note
    assert "certain" in rows["c"].note
    assert rows["d"].leakage == pytest.approx(1.0, rel=1e-9)  # two strangers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pid,id,fid,rs1.a1,rs1.a2\nF,1,0,A,A\n", "no column mid"),
        ("pid,id,fid,mid,rs1.a1\nF,1,0,0,A\n", "no SNP"),
        (HEAD, "no rows"),
        (HEAD + "F,1,0,0,1,A,A,1,1\nF,1,0,0,1,A,A,1,1\n", "rows 1 and 2 of .* the same person"),
        (HEAD + "F,,0,0,1,A,A,1,1\nF,2,0,0,1,A,A,1,1\n", "row 1 .* has no id"),
        (HEAD + "F,1,2,0,1,A,A,1,1\nF,2,1,0,1,A,A,1,1\n", "no pedigree: .* ancestor"),
        (HEAD + "F,1,1,0,1,A,A,1,1\n", "own parent"),
        (HEAD + "F,1,0,0,1,A,A,1,1\nF,2,1,1,1,A,A,1,1\n", "father and mother"),
    ],
)
def test_bad_tables(write, text, message):
    with pytest.raises(InputError, match=message):
        read_linkage(write(text))


def test_no_such_file(tmp_path):
    with pytest.raises(DataError):
        read_linkage(tmp_path / "nowhere.csv")


def test_parquet_with_gaps_as_decimals(tmp_path):
    """Columns with gaps often come as decimals: parents are found all the same."""
    path = tmp_path / "people.parquet"
    columns = {
        "pid": ["F"] * 3,
        "id": [1, 2, 3],
        "fid": [None, None, 1.0],
        "mid": [0.0, 0.0, 2.0],
        "rs1.a1": [1.0, 1.0, 0.0],
        "rs1.a2": [2.0, 1.0, None],
    }
    pq.write_table(pa.table(columns), path)
    table = read_linkage(path)
    assert table.parents[2] == (("F", "1"), ("F", "2"))
    assert table.genotypes("rs1") == ["Bb", "BB", None]
    cells = histogram(open_table(path), table.expression("rs1"))
    assert (cells.value, cells.missing) == ({"BB": 1, "Bb": 1}, 1)


def test_columns_that_look_like_truth_values(write):
    """An engine reads a column of nothing but T as true; thymine is no truth value."""
    path = write("pid,id,fid,mid,x.a1,x.a2\nF,1,0,0,T,T\nF,2,0,0,T,A\nT,1,0,0,T,T\n")
    table = read_linkage(path)
    assert table.ids == (("F", "1"), ("F", "2"), ("T", "1"))
    assert table.alleles["x"] == ("T", "A")
    assert table.genotypes("x") == ["BB", "Bb", "BB"]
    assert histogram(open_table(path), table.expression("x")).value == {"BB": 2, "Bb": 1}


def test_expression_is_the_genotype(write):
    path = write(VIOLATED.replace("G,G,0,0", "G,G,1,0").replace("A,A", "O'A,O'A"))
    path.write_text(path.read_text().replace("G,A", "G,O'A").replace("A,G", "O'A,G"))
    table = read_linkage(path)
    for snp in table.snps:
        labels = table.genotypes(snp)
        cells = histogram(open_table(path), table.expression(snp))
        assert cells.missing == labels.count(None)
        assert cells.value == {g: labels.count(g) for g in set(labels) - {None}}
    # an allele that was not there when the table was read is shown, not counted
    text = table.expression("rs2")
    path.write_text(path.read_text().replace("1,2\n", "1,4\n"))
    assert histogram(open_table(path), text).value["1/4"] == 1


def test_fit_round_trip(write):
    pedigree = read_linkage(write(TRIO)).pedigree("rs1")
    fit = pedigree.fitted
    assert PedigreeFit.from_dict(json.loads(json.dumps(fit.to_dict()))) == fit
    with pytest.raises(ModelError, match="unknown keys"):
        PedigreeFit.from_dict({**fit.to_dict(), "more": 1})
    body = json.loads(json.dumps(pedigree.to_dict()))
    assert type(pedigree).from_fields(body).digest == pedigree.digest


def test_report(write):
    table = read_linkage(write(TRIO))
    shown: list[str] = []

    def track(snps):
        for snp in snps:
            shown.append(snp)
            yield snp

    report = snp_report(table, target=1.0, track=track)
    assert shown == ["rs1", "rs2"]
    row = report.rows[0]
    exact = cdp.leakage(table.pedigree("rs1"), 1.0, query=cdp.Count("BB"), method="exact")
    assert row.leakage == exact.value
    assert row.general == 3.0
    assert row.shapes[0].families == 1
    assert 1 / 3 <= row.wide.epsilon <= row.single.epsilon <= 0.5
    assert row.wide.scale == pytest.approx(1 / row.wide.epsilon, rel=1e-6)
    assert SnpReport.from_dict(json.loads(json.dumps(report.to_dict()))) == report
    assert "rs2" in repr(report)
    ax = report.plot()
    assert ax.get_xlabel().startswith("frequency")
    with pytest.raises(InputError, match="target"):
        snp_report(table, target=0)


def test_report_without_exact_values(write):
    """A family too large to enumerate, of whom one has no genotype: bounds for all mechanisms."""
    rows = [f"F,{k},1,2,1,{'A,G' if k < 12 else '0,0'},1,2" for k in range(3, 13)]
    table = read_linkage(write(TRIO.rsplit("F,3", 1)[0] + "\n".join(rows) + "\n"))
    row, whole = snp_report(table).rows
    assert row.single is None
    assert "too many" in row.note
    assert row.wide.certificate == "transfer"
    assert row.wide.epsilon > 1 / 12 * (1 + 1e-6)  # what the general bound allows
    assert whole.single.epsilon == pytest.approx(1 / 11, rel=1e-6)  # nobody's genotype is missing
    assert whole.note == ""


def test_report_says_where_a_leakage_is_an_upper_bound(write, monkeypatch):
    monkeypatch.setattr("corrdp.bounds.peeling._SETS", 0)
    rows = ["F,3,1,2,1,A,G,1,2", "F,4,1,2,2,A,G,1,2", "F,5,3,4,1,A,G,1,2"]  # a loop
    rows += ["F,6,0,0,2,A,G,1,2"] + [f"F,{k},5,6,1,A,G,1,2" for k in range(7, 14)]
    table = read_linkage(write(TRIO.rsplit("F,3", 1)[0] + "\n".join(rows) + "\n"))
    row = snp_report(table).rows[0]
    assert row.leakage == pytest.approx(12)  # who knows one of the thirteen was not looked at
    assert "upper bound" in row.note


# -- the Crohn trios ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crohn():
    return read_linkage(Path(DATA) / "crohn_trios.csv")


@needs_data
@pytest.mark.slow
def test_crohn_trios(crohn):
    assert len(crohn.ids) == 387
    assert len(crohn.snps) == 103
    assert (crohn.unusable, crohn.unlisted, crohn.half_missing) == ({}, (), ())
    assert int(crohn.founders.sum()) == 258
    assert int((crohn.copies < 0).sum()) == 4043
    pedigree = crohn.pedigree("loc1")
    (shape,) = pedigree.shapes
    assert str(shape) == "2 founders, 1 descendant"
    assert len(pedigree.families) == 129
    assert cdp.leakage(pedigree, 1.0, method="general").value == 3.0
    table = open_table(Path(DATA) / "crohn_trios.csv")
    for snp in crohn.snps[::20]:
        labels = crohn.genotypes(snp)
        cells = histogram(table, crohn.expression(snp))
        assert cells.missing == labels.count(None)
        assert cells.value == {g: labels.count(g) for g in set(labels) - {None}}


@needs_data
def test_crohn_violations_by_hand(crohn):
    """Counted apart from the library, on allele codes: a child has one allele of each parent."""
    table = open_table(Path(DATA) / "crohn_trios.csv")
    rows = table.collect(table.records).to_pylist()
    people = {(row["pid"], str(row["id"])): row for row in rows}
    wrong = 0
    for row in rows:
        father = people.get((row["pid"], str(row["fid"])))
        mother = people.get((row["pid"], str(row["mid"])))
        if father is None or mother is None:
            continue
        for k in range(1, 104):
            trio = [(p[f"loc{k}.a1"], p[f"loc{k}.a2"]) for p in (row, father, mother)]
            if 0 in trio[0]:
                continue
            (a, b), dad, mum = trio
            wrong += not any(
                (0 in dad or x in dad) and (0 in mum or y in mum) for x, y in ((a, b), (b, a))
            )
    assert len(crohn.violations) == wrong == 0


@needs_data
def test_crohn_release(crohn):
    pedigree = crohn.pedigree("loc1")
    query = cdp.Count("BB", missing="skip")
    calibration = cdp.calibrate(pedigree, 1.0, query=query)
    assert 0.37 < calibration.epsilon < 0.38
    answer = calibration.release(crohn.genotypes("loc1"))
    assert abs(answer.value - np.count_nonzero(crohn.copies[:, 0] == 2)) < 100
    assert answer.leakage <= 1.0
