"""Element level: what one user did in one cluster of places moves one count."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import corrdp as cdp
from corrdp.cli.commands import app
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.metric.canonical import canonical_matrix
from corrdp.metric.conversion import sensitivity
from corrdp.metric.domains import UserDomain
from corrdp.metric.granularities import Element
from corrdp.trajectories import ElementCounts, Trajectories, discretise
from corrdp.trajectories.mechanisms.elements import ElementTable
from corrdp.trajectories.mechanisms.publishing import check_publishable, rows_of

WALKS = Trajectories.from_points(
    ["ann"] * 3 + ["bob"] * 2 + ["cleo"],
    [0, 10, 20, 0, 10, 0],
    labels=["home", "clinic", "clinic", "home", "office", "hospital"],
    places=["home", "clinic", "hospital", "office"],
)
HEALTH = ["home", "health", "health", "office"]


@pytest.mark.parametrize("most", [1, 2])
def test_one_element_moves_the_counts_by_what_counts_at_most(most):
    """Over all data sets of two users with up to two points at three places, two clusters."""
    domain = UserDomain(2, ("a", "b", "c"), largest=2)
    counts = ElementCounts([0, 0, 1], 1.0, most)

    def asked(data):
        codes = [["abc".index(x) for x in points] for points in data if points]
        return tuple(counts.exact(codes, range(len(codes))).tolist())

    element = Element((("a", "b"), ("c",)))
    items = domain.databases()
    near = canonical_matrix(domain, element) == 1
    change = [
        sum(abs(x - y) for x, y in zip(asked(items[i]), asked(items[j]), strict=True))
        for i, j in zip(*np.nonzero(near), strict=True)
    ]
    assert max(change) == most
    users = sensitivity(lambda data: sum(asked(data)), domain, "user")
    assert users == 2  # of two points: two clusters, or one of them twice


def test_counts_of_users_and_of_visits():
    cells = discretise(WALKS)
    users = ElementCounts(HEALTH, 1.0)
    assert users.names == ("home", "health", "office")
    assert users.exact(cells.sequences, cells.owner).tolist() == [2, 2, 1]
    visits = ElementCounts(HEALTH, 1.0, most=2)
    assert visits.exact(cells.sequences, cells.owner).tolist() == [2, 3, 1]
    assert visits.scale == 2 * users.scale == 2.0
    assert "m times epsilon" in " ".join(users.assumptions)


def test_the_sampler_follows_the_law_and_the_audit_agrees():
    counts = ElementCounts([0, 1], 1.0)
    data = ([[0, 1]], [[0]])
    rng = np.random.default_rng(1)
    drawn = np.array([counts.sample(data[0], rng, ["u"]).counts[1] for _ in range(20_000)])
    share = np.exp(-1.0)
    assert (drawn == 1).mean() == pytest.approx((1 - share) / (1 + share), abs=0.015)
    for claim, verdict in ((1.0, False), (0.6, True)):
        found = cdp.audit(
            lambda k, rng: counts.sample(data[k], rng, ["u"]).counts[1],
            claim,
            inputs=(0, 1),
            runs=20_000,
            rng=rng,
        )
        assert (found.verdict == "violated") is verdict


def test_a_release_is_charged_and_stored_by_its_clusters(tmp_path):
    cells = discretise(WALKS)
    books = Ledger.create(tmp_path / "visits.ledger", budget=3)
    done = ElementCounts(HEALTH, 1.0).release(WALKS, cells=cells, ledger=books)
    assert isinstance(done.result, ElementTable)
    assert done.warnings == ()
    rows = list(csv.DictReader(io.StringIO(rows_of(done, cells))))
    assert [row["cluster"] for row in rows] == ["home", "health", "office"]
    assert [int(row["users"]) for row in rows] == list(done.result.counts)
    assert books.answer(1)["rows"] == rows_of(done, cells)
    again = ElementTable.from_dict(json.loads(json.dumps(done.to_dict())))
    assert again.counts == done.result.counts
    ElementCounts(HEALTH, 1.0).release(WALKS, cells=cells, ledger=books)
    with pytest.raises(RefusedError, match="clusters"):
        ElementCounts([0, 1, 2, 3], 1.0).release(WALKS, cells=cells, ledger=books)


def test_what_the_promise_does_not_cover_is_refused():
    with pytest.raises(RefusedError, match="merge"):
        check_publishable(ElementCounts(HEALTH, 1.0), discretise(WALKS, merge_stays=True))
    with pytest.raises(InputError, match="owner"):
        ElementCounts([0], 1.0).exact([[0]], [])
    for clusters in ([], [0, 2], "ab", [1, 1]):
        with pytest.raises(InputError, match="clusters"):
            ElementCounts(clusters, 1.0)
    with pytest.raises(InputError, match="same name"):
        ElementCounts([1, "1"], 1.0)


POINTS = "uid,datetime,place\nann,0,home\nann,10,clinic\nbob,0,home\n"
OPTIONS = ["--label", "place", "--places", "home,clinic,office", "--mechanism", "elements"]


def run(tmp_path, *more):
    points = tmp_path / "points.csv"
    points.write_text(POINTS)
    return CliRunner().invoke(app, ["trajectories", "release", str(points), *OPTIONS, *more])


def test_command(tmp_path):
    out, page = tmp_path / "out.csv", tmp_path / "report.html"
    done = run(
        tmp_path, "--epsilon", "300", "--clusters", "health=clinic", "-o", str(out), "--report",
        str(page),
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert out.read_text() == "cluster,users\nhome,2\nhealth,1\noffice,0\n"
    assert "published" in page.read_text()
    planned = run(tmp_path, "--epsilon", "1", "--most", "3", "--dry-run", "--json")
    assert json.loads(planned.stdout)["unit"] == "a user's visits to one of 3 clusters of places"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "elements needs --epsilon"),
        (("--epsilon", "1", "--clusters", "health"), "name=place"),
        (("--epsilon", "1", "--clusters", "a=moon"), "not among the public places"),
        (("--epsilon", "1", "--clusters", "a=home;b=home"), "two clusters"),
        (("--epsilon", "1", "--merge-stays"), "--merge-stays does not go with elements"),
    ],
)
def test_command_refuses(tmp_path, options, said):
    done = run(tmp_path, *options, "-o", str(tmp_path / "out.csv"))
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
