"""chains#classes: every chain up to a diameter; never below a member, attained by one."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.mixtures import star
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.models.chains.chain import diameter
from corrdp.models.files import load_model, model_from_dict
from tests.helpers.commands import done, run
from tests.oracles import chains as oracles


def member(rng: np.random.Generator, s: int, steps: int, width: float) -> list[np.ndarray]:
    """Kernels that change with time, each of exactly this diameter."""
    kernels = []
    for _ in range(steps):
        logs = rng.normal(0, 1, (s, s))
        logs *= width / diameter(np.exp(logs))
        kernel = np.exp(logs + rng.normal(0, 2, s))  # columns may weigh anything
        kernels.append(kernel / kernel.sum(axis=1, keepdims=True))
    return kernels


@pytest.mark.parametrize(
    ("s", "n", "width"),
    [
        (2, 4, 2.0),
        (3, 3, 6.0),
        *(
            pytest.param(s, n, width, marks=pytest.mark.slow)
            for s, n in ((2, 5), (3, 4))
            for width in (0.3, 2.0, 6.0)
        ),
    ],
)
def test_never_below_a_member(s, n, width):
    """The linear program over all mechanisms and adversaries, on random members."""
    rng = np.random.default_rng(int(10 * width) + s)
    for _ in range(2):
        kernels = member(rng, s, n - 1, width)
        assert max(diameter(kernel) for kernel in kernels) == pytest.approx(width)
        eps = rng.uniform(0.05, 1.5, n) * (rng.random(n) < 0.8)
        joint = oracles.chain_joint(np.array(kernels), rng.dirichlet(np.ones(s)), n)
        truth = oracles.lp_worst_case(joint, eps, s)
        found = cdp.leakage(cdp.ChainClass(width, n), eps).per_record
        assert (found >= truth - 1e-8).all()


def worst_member(eps: np.ndarray, record: int, width: float) -> cdp.MarkovChain:
    """The chain of two states that attains every step of the recursion towards one record.

    Both sides lead away from the record; rows are reweighted so that the step costs A (*) D.
    """

    def side(levels: np.ndarray) -> list[np.ndarray]:
        kernels, worth = [], 0.0
        for level in levels[::-1]:
            worth += level
            odds = np.exp([(width - worth) / 2, (-width - worth) / 2])  # of 0, after 0 and 1
            kernels.append(np.stack([odds, np.ones(2)], axis=1) / (1 + odds)[:, None])
            worth = star(worth, width)
        return kernels[::-1]

    right, left = side(eps[record + 1 :]), side(eps[:record][::-1])
    law, forward = np.array([0.5, 0.5]), []
    for kernel in left:
        joint = law[:, None] * kernel  # record by the one before it
        law = joint.sum(axis=0)
        forward.append(joint.T / law[:, None])
    return cdp.MarkovChain([*forward[::-1], *right], initial=law)


@pytest.mark.parametrize("width", [0.5, 3.0])
@pytest.mark.parametrize("level", [0.01, 1.0, 8.0])
def test_some_member_attains_it(width, level):
    rng = np.random.default_rng(1)
    eps = level * rng.uniform(0.2, 1.0, 12)
    found = cdp.leakage(cdp.ChainClass(width, 12), eps)
    assert found.kind == "exact"
    worst = int(found.per_record.argmax())
    chain = worst_member(eps, worst, width)
    attained = cdp.leakage(chain, eps, method="transfer")
    assert attained.kind == "exact"
    assert attained.value == pytest.approx(found.value, rel=1e-9)


def test_a_value_is_called_exact_for_every_mechanism_only():
    chains = cdp.ChainClass(1.0, 5)
    assert cdp.leakage(chains, 1.0).kind == "exact"
    assert cdp.leakage(chains, 1.0, query=cdp.Count(where="x")).kind == "upper bound"


def test_every_length_has_the_closed_form():
    chains = cdp.ChainClass(2.839942455)
    for eps, expected in ((0.1, 0.413008994), (1.0, 3.651511630), (10.0, 15.654437162)):
        assert cdp.leakage(chains, eps).value == pytest.approx(expected, rel=1e-8)
    assert cdp.leakage(chains.with_length(400), 1.0).value == pytest.approx(3.651511630, rel=1e-8)
    assert cdp.leakage(chains.with_length(1), 1.0).value == pytest.approx(1.0)
    assert cdp.leakage(cdp.ChainClass(0.0), 0.7).value == pytest.approx(0.7)
    for eps in (1e-9, 50.0):
        assert eps <= cdp.leakage(chains, eps).value <= eps + 2 * chains.diameter


def test_members_leak_no_more():
    rng = np.random.default_rng(3)
    for s in (2, 3, 4):
        chain = cdp.MarkovChain(member(rng, s, 1, 2.0)[0], 50)
        known = cdp.ChainClass(2.0, 50)
        for asked in ({}, {"unit": 5}, {"delta": 1e-6}, {"delta": 1e-6, "unit": 5}):
            level = cdp.GDP(0.1) if "delta" in asked else 0.3
            one = cdp.leakage(chain, level, method="contraction", **asked)
            assert one.value <= cdp.leakage(known, level, **asked).value * (1 + 1e-6)


def test_jumps_of_the_widest_chain_bound_those_of_members():
    rng = np.random.default_rng(5)
    widest = cdp.ChainClass(3.0).widest.transition
    assert diameter(widest) == pytest.approx(3.0, rel=1e-12)
    for _ in range(20):
        one, two, three = member(rng, 3, 3, 3.0)
        power = np.linalg.matrix_power(widest, 3)
        assert diameter(one @ two @ three) <= diameter(power) * (1 + 1e-9)


def test_calibrated_and_released(tmp_path):
    chains = cdp.ChainClass(2.0)
    kept = cdp.calibrate(chains, 1.0, query=cdp.Count(where="steps > 0"))
    least = 4 * math.asinh(math.exp(-1.0) * math.sinh(0.25))
    assert kept.epsilon == pytest.approx(least, rel=1e-4)
    assert cdp.leakage(chains, kept.epsilon).value <= 1.0
    table = tmp_path / "steps.csv"
    table.write_text("time,steps\n" + "".join(f"{k},{k % 7}\n" for k in range(200)))
    answer = kept.release(table)
    assert any("diameter at most 2" in said for said in answer.certificate.assumptions)
    hour = cdp.calibrate(chains, 1.0, query=cdp.Count(where="steps > 0"), unit=12)
    assert hour.epsilon < kept.epsilon


def test_files(tmp_path):
    path = tmp_path / "class.json"
    chains = cdp.ChainClass(2.5, 100)
    chains.save(path)
    again = load_model(path)
    assert again.digest == chains.digest
    assert again.describe() == "every Markov chain of diameter up to 2.5, 100 records"
    body = json.loads(path.read_text()) | {"diameter": 1.0}
    with pytest.raises(ModelError, match="digest"):
        model_from_dict(body)
    by_hand = {"corrdp": 1, "model": "class", "diameter": 3, "length": None, "written": "by hand"}
    assert model_from_dict(by_hand).diameter == 3.0


@pytest.mark.parametrize("width", [-1, math.inf, math.nan, "x", 1e4, None])
def test_bad_diameters(width):
    with pytest.raises(ModelError, match="diameter"):
        cdp.ChainClass(width)


def test_confidence_is_for_fits():
    with pytest.raises(InputError, match="fitted"):
        cdp.leakage(cdp.ChainClass(1.0), 1.0, confidence=0.95)


def test_the_class_that_covers_the_data():
    """In at least 95 of 100 fits the true kernel's diameter is inside; by simulation."""
    truth = cdp.MarkovChain([[0.8, 0.2], [0.3, 0.7]], 400)
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(60):
        fit = cdp.MarkovChain.fit([truth.sample(rng, 400)])
        found = cdp.ChainClass.covering(fit)
        assert found.diameter > fit.diameter
        held += found.diameter >= truth.diameter
    assert held >= 57
    with pytest.raises(NotApplicableError, match="never seen"):
        cdp.ChainClass.covering(cdp.MarkovChain.fit([[0, 0, 1, 0, 0, 1, 0]]))
    with pytest.raises(NotApplicableError, match="order 1"):
        cdp.ChainClass.covering(cdp.MarkovChain.fit([[0, 0, 1, 1, 0, 1] * 30], order=2))


def test_the_fit_prints_it_and_the_command_takes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    states = cdp.MarkovChain([[0.8, 0.2], [0.3, 0.7]], 500).sample(np.random.default_rng(2), 500)
    rows = "".join(f"{k},{x}\n" for k, x in enumerate(states))
    (tmp_path / "series.csv").write_text("time,on\n" + rows)
    said = done(
        "fit", "series", "series.csv", "--state", "on", "--order", "time", "-o", "model.json"
    ).output
    shown = re.search(r"diameter:(\S+) covers the data at confidence 0.95", " ".join(said.split()))
    assert shown is not None
    exact = cdp.ChainClass.covering(load_model("model.json")).diameter
    assert exact <= float(shown[1]) <= exact * 1.001
    leak = json.loads(done("leakage", f"diameter:{shown[1]}", "--epsilon", 0.1, "--json").stdout)
    assert leak["kind"] == "exact"
    assert run("leakage", "diameter:x", "--epsilon", 0.1).exit_code == 2
