"""``corrdp trajectories release``: each mechanism end to end, refusals, and the ledger."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from corrdp.cli.commands import app
from corrdp.errors import RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.release.signatures import make_keys, verify
from corrdp.trajectories.mechanisms.noisytree import NoisyTree, must_walk
from corrdp.trajectories.mechanisms.prefix import NgramTree, PrefixTree

BOX = ["--box", "39.90,116.30,39.94,116.35"]
TREE = ["--mechanism", "prefix", "--epsilon", "40", "--levels", "2", *BOX]


@pytest.fixture
def points(tmp_path):
    """Forty people walk from the south-west corner eastwards, two go north."""
    rows = ["uid,datetime,lat,lng,shop"]
    for person in range(42):
        for t in range(4):
            lat, lng = (39.901, 116.301 + 0.012 * t) if person < 40 else (39.901 + 0.009 * t, 116.3)
            shop = "abcd"[t] if person < 40 else "d"
            rows.append(f"p{person},2020-01-01 10:{t:02d}:00,{lat},{lng},{shop}")
    path = tmp_path / "points.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def run(points, *arguments):
    out = points.parent / "out.csv"
    texts = ["trajectories", "release", str(points), "-o", str(out), *map(str, arguments)]
    result = CliRunner().invoke(app, texts)
    rows = list(csv.DictReader(out.open())) if out.exists() else None
    return result, rows


def test_prefix_tree_gives_synthetic_trajectories(points):
    report = points.parent / "report.html"
    result, rows = run(points, *TREE, "--report", report)
    assert result.exit_code == 0, result.output
    assert "epsilon 40 for one trajectory added or removed" in result.output
    assert "prefixes of length 2" in result.output
    assert list(rows[0]) == ["trajectory", "point", "place", "lat", "lng"]
    east = sum(row["place"] == "r0c1" and row["point"] == "2" for row in rows)
    assert 35 <= east <= 45
    assert all(f">{name}<" in report.read_text() for name in ("original", "release", "difference"))
    assert "keep it as private" in report.read_text()


def test_counts_and_json(points):
    result, rows = run(points, *TREE, "--counts", "--json")
    tree = NoisyTree.from_dict(json.loads(result.stdout))
    assert tree.epsilon == 40
    assert {row["places"]: int(row["count"]) for row in rows if row["length"] == "1"}
    assert len(rows) == tree.nodes


def test_ngram_tree(points):
    arguments = ["--mechanism", "ngrams", "--epsilon", "60", "--levels", "2", "--length", "4"]
    result, rows = run(points, *arguments, *BOX, "--speed", "30", "--step", "1min")
    assert result.exit_code == 0, result.output
    assert "epsilon 60" in result.output
    assert "moves" in result.output
    assert rows


def test_users_are_protected_by_keeping_the_first_trajectories(points):
    result, _ = run(points, *TREE, "--per-user", "1", "--split", "90s", "--bounded", "--verbose")
    assert "one user replaced, with at most 1 trajectories" in result.output
    assert "the number of users is public" in " ".join(result.output.split())


@pytest.mark.usefixtures("seeded_system")
def test_local_release_of_labels(points):
    arguments = ["--mechanism", "local", "--epsilon", "30", "--levels", "1", "--length", "3"]
    result, rows = run(points, *arguments, "--label", "shop", "--places", "a,b,c,d")
    assert result.exit_code == 0, result.output
    assert len({row["trajectory"] for row in rows}) == 42
    assert len(rows) == 3 * 42
    assert set(rows[0]) == {"trajectory", "point", "place"}
    first = [row["place"] for row in rows if row["point"] == "1"]
    assert first.count("a") > 30


@pytest.mark.usefixtures("seeded_system")
def test_planar_release(points):
    arguments = ["--mechanism", "planar", "--epsilon", "2", "--radius", "100", "--grid", "500"]
    result, rows = run(points, *arguments, *BOX)
    assert result.exit_code == 0, result.output
    assert "epsilon 0.02 for each metre" in result.output
    assert "a trajectory of m points costs the sum" in " ".join(result.output.split())
    given = [str(points), *map(str, (*arguments, *BOX)), "--dry-run"]
    planned = CliRunner().invoke(app, ["trajectories", "release", *given])
    assert "epsilon 0.02 for each metre" in planned.output  # and not that of the whole box
    assert len(rows) == 168
    assert len({row["time"] for row in rows}) == 4


@pytest.mark.usefixtures("seeded_system")
def test_sample(points):
    result, rows = run(points, "--mechanism", "sample", "--rate", ".5", *BOX)
    assert result.exit_code == 0, result.output
    assert "delta 0.5 for the place of one point" in result.output
    assert 50 < len(rows) < 120


def test_the_ledger_is_charged_and_holds_what_was_published(points):
    books = points.parent / "days.ledger"
    Ledger.create(books, budget=50)
    result, rows = run(points, *TREE, "--ledger", books)
    assert result.exit_code == 0, result.output
    assert Ledger.open(books).spent == 40
    stored = Ledger.open(books).answer(1)
    assert list(csv.DictReader(stored["rows"].splitlines())) == rows
    assert stored["charge_hash"] == Ledger.open(books).head
    result, _ = run(points, *TREE, "--ledger", books, "--force")
    assert result.exit_code == 3
    assert Ledger.open(books).spent == 40


def test_a_signed_release_holds_its_rows_and_what_was_paid(points):
    key, public = make_keys(points.parent / "steward.key")
    books = points.parent / "days.ledger"
    Ledger.create(books, budget=50)
    assert "add --json" in said(run(points, *TREE, "--sign", key)[0])
    result, _ = run(points, *TREE, "--ledger", books, "--sign", key, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["rows"] == (points.parent / "out.csv").read_text()
    file = points.parent / "signed.json"
    file.write_text(result.stdout)
    found = verify(file, public)
    assert found.facts["charge_hash"] == Ledger.open(books).head
    assert "epsilon 40.0, delta 0 for one trajectory added or removed" in repr(found)
    assert f"signed       with key {found.signature.key}" in repr(found)
    for changed in (record | {"rows": record["rows"] + "9,9,r0c0\n"}, record | {"facts": {}}):
        with pytest.raises(RefusedError, match="the release of movements was changed"):
            verify(changed, public)


@pytest.mark.parametrize(
    "arguments",
    [
        TREE,
        ["--mechanism", "ngrams", "--epsilon", "60", "--levels", "2", "--length", "4", *BOX],
        ["--mechanism", "local", "--epsilon", "30", "--levels", "1", "--length", "3", *BOX],
        ["--mechanism", "planar", "--epsilon", "2", "--radius", "100", *BOX],
        ["--mechanism", "sample", "--rate", ".5", *BOX],
    ],
    ids=lambda given: given[1],
)
def test_a_dry_run_draws_charges_and_writes_nothing(points, arguments):
    books = points.parent / "days.ledger"
    Ledger.create(books, budget=50)
    before = sorted(points.parent.iterdir())
    given = ["trajectories", "release", points, *arguments, "--ledger", books, "--dry-run"]
    result = CliRunner().invoke(app, list(map(str, given)))
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "nothing was drawn, charged or written" in text
    assert "room for epsilon 50" in text
    assert ("a path shows in 95 of 100 releases if" in text) == (
        arguments[1] in ("prefix", "ngrams")
    )
    assert Ledger.open(books).spent == 0
    assert sorted(points.parent.iterdir()) == before
    told = CliRunner().invoke(app, [*map(str, given), "--json"])
    assert json.loads(told.stdout)["unit"] in text


def test_how_many_must_walk_a_path_is_said_before_it_is_charged(points):
    books = points.parent / "days.ledger"
    Ledger.create(books, budget=1)
    result, rows = run(points, *TREE, "--ledger", books)  # costs 40
    assert result.exit_code == 3
    assert rows is None
    assert "a path shows in 95 of 100 releases if" in " ".join(result.stderr.split())


def test_an_empty_release_is_not_passed_over_in_silence(points):
    report = points.parent / "report.html"
    faint = ["--mechanism", "prefix", "--epsilon", "1", "--threshold", "10000", *BOX]
    result, rows = run(points, *faint, "--report", report)
    assert not rows
    assert "THE RELEASE IS EMPTY" in result.stdout
    assert "THE RELEASE IS EMPTY" in report.read_text()
    result, _ = run(points, *faint, "--json", "--force")
    assert "THE RELEASE IS EMPTY" in json.loads(result.stdout)["warnings"][0]
    result, rows = run(points, *TREE, "--force")
    assert rows
    assert "THE RELEASE IS EMPTY" not in result.stdout


@pytest.mark.parametrize("tree", [PrefixTree(9, 3, 1.5), NgramTree(9, 4, 6.0, n_max=2)])
def test_a_path_that_enough_walk_shows_as_often_as_is_said(tree):
    rng = np.random.default_rng(1)
    depth = tree.depth
    needed = must_walk(tree.scales, tree.thresholds)
    assert list(needed) == sorted(needed)
    path = list(range(depth))
    shown = {}
    for count in (needed[-1], needed[-1] - 1 - int(tree.scales[-1])):
        made = (tree.sample([path] * count, rng) for _ in range(400))
        shown[count] = sum(tuple(path) in released.counts() for released in made)
    # 380 of 400 are expected at least; 4.9 standard deviations are 21
    assert shown[needed[-1]] >= 359
    assert shown[needed[-1]] > min(shown.values())


PREFIX = ("--mechanism", "prefix", "--epsilon", "1")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (PREFIX, 3, "public box"),
        ((*PREFIX, *BOX, "--dry-run"), 2, "leave out --output"),
        ((*PREFIX, "--label", "shop"), 3, "read from the data"),
        ((*PREFIX, "--label", "shop", "--places", "a,b"), 2, "not on the list of 2 places"),
        ((*PREFIX, "--label", "shop", *BOX), 2, "leave out --box"),
        ((*PREFIX, "--places", "a", *BOX), 2, "--label"),
        ((*PREFIX, "--box", "1,2,3"), 2, "four numbers"),
        ((*PREFIX, "--box", "39.9,116.30,39.91,116.31"), 2, "outside the grid"),
        (("--mechanism", "prefix", *BOX), 2, "needs --epsilon"),
        (("--mechanism", "tree", *BOX), 2, "must be one of"),
        (("--mechanism", "ngrams", "--epsilon", "1", *BOX), 2, "needs --length"),
        (("--mechanism", "planar", "--epsilon", "1", *BOX), 2, "needs --radius"),
        (("--mechanism", "sample", *BOX), 2, "needs --rate"),
        ((*PREFIX, "--rate", ".5", *BOX), 2, "does not go with prefix"),
        ((*PREFIX, *BOX, "--speed", "3"), 2, "go together"),
        ((*PREFIX, *BOX, "--levels", "0"), 2, "length"),
        ((*PREFIX, *BOX, "--user", "who"), 2, "who"),
    ],
    ids=range(17),
)
def test_refusals(points, arguments, code, words):
    result, rows = run(points, *arguments)
    assert result.exit_code == code, result.output
    assert words in " ".join((result.output + result.stderr).split())
    assert rows is None


def test_a_ledger_takes_no_promise_about_single_points(points):
    books = points.parent / "days.ledger"
    Ledger.create(books, budget=50)
    result, rows = run(points, "--mechanism", "sample", "--rate", ".5", *BOX, "--ledger", books)
    assert result.exit_code == 3
    assert rows is None


def test_nothing_is_overwritten(points):
    assert run(points, *TREE)[0].exit_code == 0
    assert run(points, *TREE)[0].exit_code == 2
    assert run(points, *TREE, "--force")[0].exit_code == 0


def said(result):
    return " ".join((result.output + result.stderr).split())


LABELS = ["--label", "shop", "--places", "a,b,c,d"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("local", "--epsilon", "9", "--length", "3", "--merge-stays", *LABELS), "after merging"),
        (("sample", "--rate", ".5", "--merge-stays", *LABELS), "--merge-stays does not go with"),
        (("planar", "--epsilon", "1", "--radius", "9", "--merge-stays", *BOX), "does not go with"),
        (
            ("planar", "--epsilon", "1", "--radius", "9", "--speed", "3", "--step", "1min", *BOX),
            "none is cut",
        ),
        (
            ("planar", "--epsilon", "1", "--radius", "9", "--box", "0,0,89,120"),
            "planar noise needs",
        ),
        (("local", "--epsilon", "9", "--length", "6", "--levels", "7", *LABELS), "--levels"),
        (("prefix", "--epsilon", "1", "--box", "nan,0,1,1"), "must be a finite number"),
        (("prefix", "--epsilon", "1", "--box", "39.9,116.3,39.91,116.31"), "with --clip"),
    ],
    ids=range(8),
)
def test_options_that_promise_too_much_are_refused(points, arguments, words):
    result, rows = run(points, "--mechanism", *arguments)
    assert result.exit_code == 2, result.output
    assert words in said(result)
    assert rows is None


SMALL = ["--mechanism", "prefix", "--epsilon", "1", "--levels", "2", *BOX, "--force"]


def test_a_ledger_keeps_to_one_unit(points):
    books = points.parent / "days.ledger"
    Ledger.create(books, budget=50)
    assert run(points, *SMALL, "--ledger", books)[0].exit_code == 0
    for other in (["--bounded"], ["--per-user", "1"], ["--split", "90s"], ["--split", "day"]):
        result, _ = run(points, *SMALL, *other, "--ledger", books)
        assert result.exit_code == 3, other
        assert "do not add up" in said(result)
    ngrams = ["--mechanism", "ngrams", "--epsilon", "1", "--length", "3", *BOX, "--force"]
    assert run(points, *ngrams, "--ledger", books)[0].exit_code == 0  # the same unit
    assert Ledger.open(books).spent == 2
    people = points.parent / "people.ledger"
    Ledger.create(people, budget=50)
    for many in ("1", "3"):  # the first trajectories of a user, however many: the unit is a user
        assert run(points, *SMALL, "--per-user", many, "--ledger", people)[0].exit_code == 0
    assert Ledger.open(people).unit == "one user added or removed"


def test_a_ledger_of_so_many_records_takes_as_many_units(points):
    for records, code in ((5, 3), (42, 0)):
        books = points.parent / f"{records}.ledger"
        Ledger.create(books, budget=50, records=records)
        result, _ = run(points, *SMALL, "--bounded", "--ledger", books)
        assert result.exit_code == code, result.output
    # for units added or removed their number is private: not even the right one is taken
    for records in (5, 42):
        books = points.parent / f"private{records}.ledger"
        Ledger.create(books, budget=50, records=records)
        result, _ = run(points, *SMALL, "--ledger", books)
        assert result.exit_code == 3
        assert "is private" in said(result)
        assert "42 trajectories" not in said(result)


def test_a_release_names_its_charge_and_what_was_done_before(points):
    books = points.parent / "days.ledger"
    report = points.parent / "report.html"
    Ledger.create(books, budget=50)
    more = ["--ledger", books, "--clip", "--merge-stays", "--keep-first"]
    result, _ = run(points, *SMALL, *more, "--report", report)
    first = Ledger.open(books).history()[0]
    assert f"charge 1, {first.hash}" in said(result)
    assert f"charge 1, {first.hash}" in report.read_text()
    assert "points.csv, written to out.csv" in first.what
    result, _ = run(points, *SMALL, *more, "--json")
    told = json.loads(result.stdout)
    assert (told["charge"], told["charge_hash"]) == (2, Ledger.open(books).head)
    before = " ".join(told["before"])
    for words in ("a grid of", "nearest cell", "merged into", "the first row was kept"):
        assert words in before
    assert NoisyTree.from_dict(told).epsilon == 1


def test_a_release_does_not_count_repeated_rows(points):
    text = points.read_text()
    points.write_text(text + "p0,2020-01-01 10:03:00,39.901,116.301,a\n")
    report = points.parent / "report.html"
    result, _ = run(points, *SMALL, "--keep-first", "--report", report)
    assert result.exit_code == 0, result.output
    assert "the first row was kept" in said(result)
    assert "left out" not in said(result) + report.read_text()


def test_planar_noise_says_what_a_path_costs(points):
    arguments = ["--mechanism", "planar", "--epsilon", "2", "--radius", "100", "--split", "90s"]
    report = points.parent / "report.html"
    result, _ = run(points, *arguments, *BOX, "--report", report)
    assert "epsilon 8 for all 4 points of the user with the most, each within 100 m" in said(result)
    assert "epsilon 8 for all 4 points" in report.read_text()
    result, _ = run(points, *arguments, *BOX, "--json", "--force")
    path = json.loads(result.stdout)["path"]
    assert (path["points"], path["metres"]) == (4, 100)
    assert path["epsilon"] == pytest.approx(8)
    books = points.parent / "days.ledger"
    Ledger.create(books, budget=50)
    result, _ = run(points, *arguments, *BOX, "--ledger", books, "--force")
    assert result.exit_code == 3
    assert "cannot be counted in a ledger" in said(result)
    assert "record elsewhere" in said(result)


def test_single_places_are_warned_about_and_cells_have_coordinates(points):
    arguments = ["--mechanism", "ngrams", "--epsilon", "60", "--length", "4", *BOX, "--force"]
    assert "every walk is one point long" in said(run(points, *arguments, "--levels", "1")[0])
    result, _ = run(points, *arguments, "--levels", "2", "--speed", "1", "--step", "1min")
    assert "one point long" not in said(result)
    assert "the first is r0c0 (39.90" in said(result)


@pytest.mark.slow
@pytest.mark.skipif("CORRDP_DATA" not in os.environ, reason="CORRDP_DATA names no data directory")
@pytest.mark.parametrize(
    "more",
    [
        ("prefix", "--epsilon", "2", "--levels", "4", "--merge-stays"),
        ("ngrams", "--epsilon", "2", "--levels", "3", "--length", "8", "--merge-stays"),
        ("planar", "--epsilon", "1", "--radius", "200"),
        ("sample", "--rate", "0.01"),
    ],
    ids=["prefix", "ngrams", "planar", "sample"],
)
def test_geolife(more, tmp_path):
    source = Path(os.environ["CORRDP_DATA"]) / "geolife_sample.txt.gz"
    points = tmp_path / "points.csv.gz"
    points.symlink_to(source.resolve())
    box = ["--box", "39.6,115.9,40.3,116.9", "--clip", "--split", "20min"]
    result, rows = run(points, "--mechanism", *more, *box)
    assert result.exit_code == 0, result.output
    if more[0] == "planar":
        assert len(rows) == 217_653
        assert np.mean([float(row["lat"]) for row in rows]) == pytest.approx(39.98, abs=0.1)
