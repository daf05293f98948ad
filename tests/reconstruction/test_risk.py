"""The verb risk and its command."""

from __future__ import annotations

import json
import math

import pytest

import corrdp as cdp
from corrdp.errors import InputError, NotApplicableError
from tests.helpers.commands import done, run


def test_usual_threats():
    told = cdp.risk(1.0)
    success = math.e / (1 + math.e)
    assert [row.name for row in told.rows] == [
        "membership",
        "a yes/no attribute",
        "one of 10 values",
    ]
    assert told.rows[0].success == pytest.approx(success)
    assert told.rows[1].success == pytest.approx(success)
    assert told.rows[2].success == pytest.approx(math.e / (math.e + 9))  # GRR attains it
    assert float(told) == pytest.approx(math.tanh(0.5))
    again = cdp.Risk.from_dict(json.loads(json.dumps(told.to_dict())))
    assert again.to_dict() == told.to_dict()


def test_dependence_is_counted_in():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 50)
    leak = cdp.leakage(chain, 1.0)
    plain, dependent = cdp.risk(1.0), cdp.risk(leak)
    # how many records there are is public, so nobody asks whether one is among them
    for before, after in zip(plain.rows[1:], dependent.rows, strict=True):
        assert after.success > before.success
    assert dependent.to_dict()["rows"] == cdp.risk(leak.value).to_dict()["rows"][1:]
    cal = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    assert float(cdp.risk(cal)) == pytest.approx(float(cdp.risk(1.0)), rel=1e-6)
    assert any("leaks on the model" in text for text in dependent.assumptions)


@pytest.mark.parametrize("guarantee", [0.3, cdp.Approximate(1.0, 0.01), cdp.GDP(0.7)])
def test_success_is_never_below_what_a_mechanism_reaches(guarantee):
    """Gaussian and randomized-response tests at even odds stay within the bound."""
    told = cdp.risk(guarantee)
    tv = float(cdp.reconstruction.advantage(guarantee))
    assert told.rows[0].success >= 0.5 * (1 + tv) - 1e-12
    assert all(row.without <= row.success <= 1 for row in told.rows)


@pytest.mark.parametrize("prior", [(0.7, 0.2, 0.1), (0.9, 0.1), (0.4, 0.3, 0.2, 0.1)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_success_is_the_best_over_all_mechanisms(prior, epsilon):
    """A linear program over all epsilon-DP channels from record to guess."""
    import numpy as np
    from scipy.optimize import linprog

    m = len(prior)
    rows = []
    for g in range(m):
        for x in range(m):
            for y in range(m):
                if x != y:
                    row = np.zeros((m, m))
                    row[x, g], row[y, g] = 1.0, -math.exp(epsilon)
                    rows.append(row.ravel())
    sums = [np.kron(np.eye(m)[x], np.ones(m)) for x in range(m)]
    best = -linprog(
        -np.diag(prior).ravel(), A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(m)
    ).fun
    row = cdp.risk(epsilon, {"value": cdp.Threat(prior)}).rows[0]
    assert row.success == pytest.approx(best, rel=1e-7)


def test_own_threats():
    old = cdp.Threat.attribute(
        [0.4, 0.1, 0.1, 0.4], secret=["ill", "well"] * 2, aux=["old", "old", "young", "young"]
    )
    row = cdp.risk(1.0, {"illness": old}).rows[0]
    assert row.without == pytest.approx(0.8)
    assert 0.8 < row.success <= 1
    exact = cdp.reconstruction.rad(cdp.local.GRR(4, 1.0), old)
    assert exact.value <= row.advantage
    assert exact.success <= row.success
    for threats in ({}, [old], old):
        with pytest.raises(InputError, match="mapping"):
            cdp.risk(1.0, threats)
    with pytest.raises(InputError, match="epsilon must be a finite number"):
        cdp.risk({"epsilon": 1})


def test_command(tmp_path):
    shown = done("risk", "--epsilon", 1).output
    assert "right at most 73.2 %" in shown
    told = json.loads(done("risk", "--mu", 0.5, "--json").stdout)
    assert told["guarantee"] == {"guarantee": "GDP", "mu": 0.5}
    picture = tmp_path / "risk.svg"
    done("risk", "--epsilon", 1, "--delta", 1e-5, "--prior", "0.7,0.2,0.1", "--picture", picture)
    assert picture.exists()
    assert "0.81093" in done("risk", "--limit", 0.1).output
    release = tmp_path / "release.json"
    release.write_text(done("calibrate", "groups:3", "--target", 1, "--query", "count:x > 1",
                            "--json").stdout)  # fmt: skip
    assert "right at most 73.2 %" in done("risk", release).output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give one of"),
        (("--epsilon", 1, "--mu", 1), "give one of"),
        (("--mu", 1, "--delta", 0.1), "--delta goes with"),
        (("--epsilon", -1), "epsilon"),
        (("--epsilon", 1, "--delta", 2), "delta"),
        (("--epsilon", 1, "--values", 1), "--values"),
        (("--epsilon", 1, "--values", 10_000_000), "--values"),
        (("--epsilon", 1, "--values", 3, "--prior", "0.5,0.5"), "--prior"),
        (("--epsilon", 1, "--prior", "a,b"), "--prior"),
        (("--epsilon", 1, "--prior", "0.5,0.6"), "sums to"),
        (("no.json",), "cannot read"),
        (("--limit", 0.1, "--epsilon", 1), "--limit"),
    ],
)
def test_bad_options(options, said):
    result = run("risk", *options)
    assert result.exit_code == 2
    assert said in result.output


def test_an_infeasible_limit_says_the_range():
    result = run("risk", "--limit", 0.95)
    assert result.exit_code in (2, 3)
    assert "between 0 and 0.9" in result.output


def test_a_leakage_with_a_delta():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 20)
    leak = cdp.leakage(chain, cdp.Approximate(0.1, 1e-4))
    threat = cdp.Threat([0.5, 0.5])
    pure = cdp.reconstruction.rad_bound(leak.value, threat).value
    found = cdp.reconstruction.rad_bound(leak, threat)
    assert pure < found.value
    assert (
        found.value
        == cdp.reconstruction.rad_bound(cdp.Approximate(leak.value, leak.delta), threat).value
    )
    assert any("no feedback" in said for said in found.certificate.assumptions)
    assert "delta" in cdp.risk(leak).level
    for ask in (cdp.risk, lambda given: cdp.reconstruction.rad_bound(given, threat)):
        with pytest.raises(NotApplicableError, match="whole unit"):
            ask(cdp.leakage(chain, 0.1, unit=3))
