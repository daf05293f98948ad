"""Trees and networks through the verbs and the commands."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import DataError, InputError, ModelError, NotApplicableError, QueryError
from corrdp.report.page import render_report
from tests.helpers.commands import done, run

KERNEL = [[0.8, 0.2], [0.3, 0.7]]


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    """A ring of 300 people with a few chords, ill or not."""
    folder = tmp_path_factory.mktemp("people")
    graph = nx.cycle_graph(300)
    graph.add_edges_from((k, k + 7) for k in range(0, 290, 10))
    ill = cdp.MarkovField.ising(graph, 0.5, field=-0.3).sample(np.random.default_rng(2))
    rows = [f"p{k},{'sick' if x else 'well'}" for k, x in enumerate(ill)]
    (folder / "people.csv").write_text("person,ill\n" + "\n".join(rows) + "\n")
    links = [f"p{a},p{b}" for a, b in graph.edges]
    (folder / "contacts.csv").write_text("one,other\n" + "\n".join(links) + "\n")
    done("fit", folder / "people.csv", "--id", "person", "--state", "ill",
         "--edges", folder / "contacts.csv", "-o", folder / "model.json")  # fmt: skip
    return folder


def test_a_chain_is_a_tree_is_a_field():
    n = 6
    chain = cdp.MarkovChain(KERNEL, n)
    tree = cdp.MarkovTree([-1, *range(n - 1)], KERNEL)
    field = cdp.MarkovField([(k, k + 1) for k in range(n - 1)], KERNEL)
    found = [
        cdp.leakage(model, 1.0, method="contraction").per_record for model in (chain, tree, field)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-9)


def test_all_methods_side_by_side():
    ring = cdp.MarkovField.ising([(0, 1), (1, 2), (2, 3), (3, 0)], 0.5)
    leak = cdp.leakage(ring, 1.0)
    found = {c.method: c.value for c in leak.candidates}
    assert leak.kind == "exact"
    assert found["exact"] <= found["walks"] <= found["contraction"] <= found["general"]
    assert found["walks"] == pytest.approx(1.614235, rel=1e-6)
    one = cdp.leakage(ring, [1.0, 0.0, 0.0, 0.0])
    assert one.per_record[0] == pytest.approx(1.0)


def test_one_adversary_on_a_tree():
    star = cdp.MarkovTree([-1, 0, 0], KERNEL, root_law=[0.4, 0.6])
    everyone = cdp.leakage(star, 1.0, method="contraction").value
    blind = cdp.leakage(star, 1.0, adversary=cdp.Adversary(0))
    told = cdp.leakage(star, 1.0, adversary=cdp.Adversary(0, {1: 1}))
    assert told.value < blind.value <= everyone
    assert (blind.kind, blind.certificate.name) == ("exact", "transfer")
    assert "attacks record 0 and knows record 1 is 1" in told.scope
    with pytest.raises(NotApplicableError, match="adversary=Adversary"):
        cdp.leakage(star, 1.0, method="transfer")
    for bad, said in (
        (cdp.Adversary(9), "does not exist"),
        (cdp.Adversary(0, {0: 1}), "both attacked and known"),
    ):
        with pytest.raises(InputError, match=said):
            cdp.leakage(star, 1.0, adversary=bad)
    heard = cdp.leakage(star, 1.0, adversary=cdp.Adversary(0, heard={1: {0: 1, 1: 9}}))
    assert told.value < heard.value < blind.value
    assert "heard of record 1: 0 1, 1 9" in heard.scope
    for bad, said in (
        ({1: 3}, "weights by state"),
        ([1], "weights by state"),
        ({1: {7: 1}}, "no state"),
        ({1: {0: -1}}, "weight of 0 of record 1"),
        ({9: {0: 1}}, "does not exist"),
        ({1: {}}, "probability 0"),
    ):
        with pytest.raises(InputError, match=said):
            cdp.leakage(star, 1.0, adversary=cdp.Adversary(0, heard=bad))
    with pytest.raises(InputError, match="both known and heard"):
        cdp.leakage(star, 1.0, adversary=cdp.Adversary(0, {1: 1}, heard={1: {1: 1}}))
    with pytest.raises(InputError, match="MarkovTree or a JointChain only"):
        cdp.leakage(cdp.MarkovChain(KERNEL, 4), 1.0, adversary=cdp.Adversary(0))


@pytest.mark.parametrize(
    "model",
    [
        cdp.MarkovTree([-1, 0, 0, 1], KERNEL),
        cdp.MarkovTree([-1, 0, 1], [KERNEL, KERNEL, [[0.5, 0.5], [0.1, 0.9]]], [0.2, 0.8]),
        cdp.MarkovField.ising(nx.petersen_graph(), [0.1 * k for k in range(15)], 0.2),
        cdp.MarkovField([(0, 1, 2), (2, 3)], [np.arange(1, 9).reshape(2, 2, 2), np.eye(2) + 1]),
    ],
)
def test_models_survive_their_files(model, tmp_path):
    model.save(tmp_path / "model.json")
    again = cdp.load_model(tmp_path / "model.json")
    assert again.digest == model.digest
    assert cdp.leakage(again, 0.5).value == cdp.leakage(model, 0.5).value
    cal = cdp.calibrate(model, 1.0, query=cdp.Count(1))
    assert cdp.leakage(model, cal.epsilon).value <= 1.0
    assert "Records and their links" in render_report(cal, model)
    answer = cal.release([0, 1] * (model.length // 2) + [0] * (model.length % 2))
    assert isinstance(answer.value, int)
    with pytest.raises(DataError, match="exactly"):
        cal.release([0] * (model.length + 1))


def test_fit_and_release(people, tmp_path):
    model = cdp.load_model(people / "model.json")
    assert model.states == ("sick", "well")
    assert abs(model.fitted.coupling - 0.5) < 5 * model.fitted.coupling_error
    leak = cdp.leakage(model, 1.0)
    sure = cdp.leakage(model, 1.0, confidence=0.95)
    assert sure.value > leak.value
    assert any("asymptotic" in text for text in sure.certificate.assumptions)
    held = cdp.calibrate(model, 1.0, query=cdp.Count("sick"))
    plain = cdp.calibrate(model, 1.0, query=cdp.Count("sick"), confidence=None)
    assert (held.confidence, plain.confidence) == (0.95, None)
    assert cdp.leakage(model, held.epsilon, confidence=0.95).value <= 1.0
    assert held.epsilon < plain.epsilon
    report = tmp_path / "report.html"
    done("release", people / "people.csv", "--model", people / "model.json", "--target", 1,
         "--query", "count:sick", "--report", report)  # fmt: skip
    assert "links of a record" in report.read_text()
    assert "at joint confidence 0.95" in report.read_text()
    assert "confidence=0.95)" in report.read_text()
    with pytest.raises(QueryError, match="speaks about"):
        cdp.calibrate(model, 1.0, query=cdp.Count(where="age > 3"))
    listed = json.loads(
        done("fit", "network", people / "people.csv", "--id", "person", "--state", "ill", "--edges",
             people / "contacts.csv", "--json").stdout
    )  # fmt: skip
    assert listed["digest"] == model.digest


def test_rows_of_another_network_are_refused(people, tmp_path):
    cal = cdp.calibrate(cdp.load_model(people / "model.json"), 1.0, query=cdp.Count("sick"))
    renamed = tmp_path / "renamed.csv"
    renamed.write_text((people / "people.csv").read_text().replace("\np", "\nq"))
    with pytest.raises(DataError, match="no nodes of the model"):
        cal.release(renamed)


def test_bad_adversaries():
    star = cdp.MarkovTree([-1, 0, 0], KERNEL, root_law=[0.4, 0.6])
    with pytest.raises(InputError, match="not a state"):
        cdp.leakage(star, 1.0, adversary=cdp.Adversary(0, {1: 7}))
    with pytest.raises(InputError, match="must map"):
        cdp.leakage(star, 1.0, adversary=cdp.Adversary(0, [1]))


def test_bad_files(people, tmp_path):
    edges = tmp_path / "edges.csv"
    text = (people / "contacts.csv").read_text()
    options = ("--id", "person", "--state", "ill", "--edges", edges)
    for more, said in (
        ("p1,nobody\n", "names a node that is no id"),
        ("p1,p1\n", "links a node to itself"),
    ):
        edges.write_text(text + more)
        result = run("fit", people / "people.csv", *options)
        assert result.exit_code == 2
        assert said in result.output
    assert run("fit", people / "people.csv", *options[:-1], tmp_path / "none.csv").exit_code == 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: cdp.MarkovTree([1, 0], KERNEL), "cycle|circle"),
        (lambda: cdp.MarkovTree([-1, 5], KERNEL), "5"),
        (lambda: cdp.MarkovTree([-1, 1], KERNEL), "1"),
        (lambda: cdp.MarkovTree([-1, 0], [[0.5, 0.6], [0.1, 0.9]]), "sum"),
        (lambda: cdp.MarkovField([(0, 0)], np.ones((2, 2))), "0"),
        (lambda: cdp.MarkovField([(0, 1)], -np.ones((2, 2))), "negative|>= 0"),
        (lambda: cdp.MarkovField([(0, 1)], np.zeros((2, 2))), "zero|0"),
        (lambda: cdp.MarkovField([(0, 1)], np.ones((2, 3))), "shape"),
    ],
)
def test_bad_models(make, said):
    with pytest.raises(ModelError, match=said):
        make()
