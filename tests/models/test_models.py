"""Models: laws, conditioning, reversal, files, and what is refused."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.errors import InputError, ModelError
from tests.conftest import chains
from tests.oracles.chains import chain_joint

P = [[0.9, 0.1], [0.2, 0.8]]


def test_activity_law(activity):
    np.testing.assert_allclose(activity.stationary, [0.721458, 0.278542], atol=5e-7)
    np.testing.assert_allclose(
        activity.transition, [[0.882358, 0.117642], [0.304706, 0.695294]], atol=5e-7
    )


def test_stationary_with_transient_and_periodic_states():
    chain = cdp.MarkovChain([[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])
    np.testing.assert_allclose(chain.stationary, [0, 0.5, 0.5])
    assert chain.occurring.tolist() == [False, True, True]
    with pytest.raises(ModelError, match="not unique"):
        cdp.MarkovChain([[1, 0], [0, 1]])
    assert cdp.MarkovChain([[1, 0], [0, 1]], 3, [0.5, 0.5]).length == 3


@given(chains())
def test_marginals(chain):
    joint = chain_joint(chain.transition, chain.start, chain.length)
    for t in range(chain.length):
        law = np.zeros(len(chain.states))
        for x, p in joint.items():
            law[x[t]] += p
        np.testing.assert_allclose(chain.marginals[t], law, atol=1e-12)


@given(chains(lengths=(2, 5)))
def test_reversed(chain):
    back = chain.reversed()
    joint = chain_joint(chain.transition, chain.start, chain.length)
    mirrored = chain_joint(back.transition, back.start, chain.length)
    for x, p in joint.items():
        assert mirrored[x[::-1]] == pytest.approx(p, rel=1e-9, abs=1e-13)


def test_reversed_stationary_stays_homogeneous():
    chain = cdp.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    twice = chain.reversed().reversed()
    np.testing.assert_allclose(twice.transition, chain.transition, atol=1e-12)
    assert chain.reversed().diameter == pytest.approx(chain.diameter, rel=1e-9)


@given(st.data())
def test_condition(data):
    chain = data.draw(chains(lengths=(1, 4), outcomes=100))
    joint = chain_joint(chain.transition, chain.start, chain.length)
    outcome = data.draw(st.sampled_from(sorted(joint)))
    where = data.draw(st.sets(st.integers(0, chain.length - 1)))
    known = {t: outcome[t] for t in where}
    kept = {x: p for x, p in joint.items() if all(x[t] == v for t, v in known.items())}
    total = sum(kept.values())
    given_known = chain.condition(known)
    law = chain_joint(given_known.transition, given_known.start, chain.length)
    assert set(law) == set(kept)
    for x, p in kept.items():
        assert law[x] == pytest.approx(p / total, rel=1e-9)


def test_condition_refuses():
    chain = cdp.MarkovChain([[0.7, 0.3], [1, 0]], 3)
    with pytest.raises(InputError, match="probability 0"):
        chain.condition({0: 1, 1: 1})
    with pytest.raises(InputError, match="not among"):
        chain.condition({3: 1})
    with pytest.raises(InputError, match="states"):
        chain.condition({0: 5})
    with pytest.raises(InputError, match="probability 0"):
        cdp.JointTable({(0, 0): 1.0}).condition({0: 1})


def test_sample_follows_the_law():
    chain = cdp.MarkovChain(P, 3, states=("a", "b"))
    rng = np.random.default_rng(0)
    draws = [tuple(chain.sample(rng)) for _ in range(20_000)]
    joint = chain_joint(chain.transition, chain.start, 3)
    for x in itertools.product((0, 1), repeat=3):
        expected = 20_000 * joint[x]
        seen = draws.count(tuple("ab"[k] for k in x))
        assert abs(seen - expected) < 5 * math.sqrt(expected)
    assert len(cdp.MarkovChain(P).sample(rng, length=7)) == 7
    with pytest.raises(InputError, match="length"):
        cdp.MarkovChain(P).sample(rng)
    table = cdp.JointTable({(0, 1): 0.25, (1, 0): 0.75})
    first = [table.sample(rng)[0] for _ in range(4000)]
    assert np.mean(first) == pytest.approx(0.75, abs=0.05)


def test_constants():
    chain = cdp.MarkovChain(P)
    assert chain.gamma == pytest.approx(9)
    assert chain.omega == pytest.approx(8)
    zero = cdp.MarkovChain([[0.7, 0.3], [1, 0]])
    assert (zero.gamma, zero.omega, zero.diameter) == (math.inf,) * 3
    varying = cdp.MarkovChain([P, [[0.5, 0.5], [0.5, 0.5]]], initial=[0.5, 0.5])
    assert varying.length == 3
    assert varying.diameter == pytest.approx(math.log(36))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (dict(transition=[[0.9, 0.2], [0.2, 0.8]]), "sums to 1.1"),
        (dict(transition=[[1.1, -0.1], [0.2, 0.8]]), "negative"),
        (dict(transition=[[math.nan, 1], [0.2, 0.8]]), "NaN"),
        (dict(transition=[[0.9, 0.1]]), "s x s"),
        (dict(transition=[["a", "b"], [1, 2]]), "numbers"),
        (dict(transition=[[0.9, 0.1], [0.2]]), "rows of equal length"),
        (dict(transition=[]), "s x s"),
        (dict(transition=P, length=0), "length"),
        (dict(transition=P, length=2.5), "length"),
        (dict(transition=P, initial=[0.5, 0.6]), "initial"),
        (dict(transition=P, initial=[1.0]), "2 entries"),
        (dict(transition=P, states=["a"]), "states"),
        (dict(transition=P, states=["a", "a"]), "states"),
        (dict(transition=[P, P], length=5, initial=[0.5, 0.5]), "length=5"),
        (dict(transition=[P, P]), "initial"),
    ],
)
def test_bad_chains(arguments, word):
    with pytest.raises(ModelError, match=word):
        cdp.MarkovChain(**arguments)


def test_bad_groups_and_tables():
    for bad in (dict(), dict(m=0), dict(m=2, labels=[1]), dict(labels=[]), dict(m=True)):
        with pytest.raises(ModelError):
            cdp.Groups(**bad)
    with pytest.raises(ModelError, match="length"):
        cdp.Independent(0)
    for law, word in [
        ({}, "empty"),
        ({(0,): 0.5, (0, 1): 0.5}, "lengths"),
        ({(0,): 0.5}, "sum to 0.5"),
        ({(0,): 1.5, (1,): -0.5}, "-0.5"),
        ({(0,): math.nan}, "nan"),
    ]:
        with pytest.raises(ModelError, match=word):
            cdp.JointTable(law)


MODELS = [
    cdp.Independent(),
    cdp.Independent(7),
    cdp.Groups(3),
    cdp.Groups(labels=["a", "a", "b"]),
    cdp.JointTable({(0, "x"): 0.25, (1, "y"): 0.75}),
    cdp.MarkovChain(P, states=(False, True)),
    cdp.MarkovChain([P, P], initial=[0.3, 0.7]),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.describe())
def test_files(model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    again = cdp.load_model(path)
    assert again.to_dict() == model.to_dict()
    assert again.digest == model.digest
    data = json.loads(path.read_text())
    assert data["corrdp"] == 1
    path.write_text(json.dumps(data | {"surprise": 1}))
    with pytest.raises(ModelError, match="surprise"):
        cdp.load_model(path)


def test_files_refuse(tmp_path):
    path = tmp_path / "model.json"
    chain = cdp.MarkovChain(P)
    for text, word in [
        ("", "not JSON"),
        ("[1]", "not a corrdp model"),
        ('{"corrdp": 1, "model": "magic"}', "unknown model"),
        (json.dumps(chain.to_dict() | {"transition": [[0.8, 0.2], [0.2, 0.8]]}), "edited"),
        (json.dumps(chain.to_dict() | {"transition": "x"}), "transition"),
        ('{"corrdp": 1, "model": "table", "table": [1]}', "cannot read"),
    ]:
        path.write_text(text)
        with pytest.raises(ModelError, match=word):
            cdp.load_model(path)
    with pytest.raises(ModelError, match="No such file"):
        cdp.load_model(tmp_path / "nothing.json")
