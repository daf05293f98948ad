"""The verb: scopes, the order of the bounds, what is refused and how."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.registry import applicable
from corrdp.errors import GuaranteeError, InputError, NotApplicableError
from corrdp.models.chains.chain import skip_diameters
from tests.conftest import budgets, chains
from tests.oracles.attained import Attacks
from tests.oracles.chains import chain_joint, laplace_leakage

P = [[0.9, 0.1], [0.2, 0.8]]


def values(leak: cdp.Leakage) -> dict[str, float]:
    return {c.method: c.value for c in leak.candidates if c.value is not None}


def test_activity(activity):
    leak = cdp.leakage(activity, 1.0)
    found = values(leak)
    assert leak.value == pytest.approx(3.48123, rel=1e-5)
    assert found["general"] == 17_568
    assert found["lange"] - 1 == pytest.approx(8.059818, rel=1e-6)
    assert found["zhao"] - 1 == pytest.approx(10.660148, rel=1e-6)
    assert found["ratio"] - 1 == pytest.approx(7.106765, rel=1e-6)
    assert found["contraction"] == pytest.approx(3.651511630, rel=1e-9)
    assert (leak.kind, leak.certificate.name) == ("exact", "transfer")
    assert leak.scope == "every mechanism with this guarantee"
    assert leak.per_record.shape == (17_568,)
    assert leak.per_record.max() == leak.value


def test_published_two_state_constants():
    found = values(cdp.leakage(cdp.MarkovChain(P), 1.0))
    assert found["lange"] - 1 == pytest.approx(8.788898, rel=1e-6)
    assert found["zhao"] - 1 == pytest.approx(12.476649, rel=1e-6)
    left = values(cdp.leakage(cdp.MarkovChain([[0.9, 0.1], [0.8, 0.2]]), 1.0))
    assert left["zhao"] - 1 == pytest.approx(4.158883, rel=1e-6)
    three = cdp.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    assert values(cdp.leakage(three, 1.0))["lange"] == pytest.approx(8.783641, rel=1e-6)


def test_independent_rows_cost_nothing():
    """Lange's gamma punishes skewed rows even when the records are independent."""
    leak = cdp.leakage(cdp.MarkovChain([[0.9, 0.1], [0.9, 0.1]], 50), 1.0)
    assert leak.value == pytest.approx(1.0, rel=1e-9)
    assert values(leak)["lange"] == pytest.approx(9.7889, rel=1e-5)
    assert values(leak)["ratio"] == pytest.approx(1.0, rel=1e-9)
    assert values(leak)["general"] == 1.0


@given(st.data())
def test_order_of_the_bounds(data):
    chain = data.draw(chains())
    eps = data.draw(budgets(chain.length)) if data.draw(st.booleans()) else 0.8
    found = values(cdp.leakage(chain, eps))
    slack = 1 + 1e-9
    assert found["transfer"] <= found["contraction"] * slack + 1e-12
    for name in ("ratio", "lange", "zhao", "general"):
        if name in found:
            assert found["contraction"] <= found[name] * slack + 1e-12


@given(chains(states=(2, 3), lengths=(1, 5), outcomes=243), st.floats(0.05, 3))
def test_rises_with_epsilon_and_holds_per_record(chain, eps):
    leak, more = cdp.leakage(chain, eps), cdp.leakage(chain, 1.3 * eps)
    assert more.value >= leak.value * (1 - 1e-11)
    if leak.per_record is not None:
        assert leak.per_record.max() == pytest.approx(leak.value, rel=1e-9)


@given(chains(states=(2, 3), lengths=(2, 5), time_varying=False), st.floats(0.05, 2))
def test_a_longer_chain_leaks_no_less(chain, eps):
    longer = cdp.MarkovChain(chain.transition, chain.length + 1, chain.start)
    assert cdp.leakage(longer, eps, method="transfer").value >= (
        cdp.leakage(chain, eps, method="transfer").value * (1 - 1e-9)
    )


def test_groups_and_independent():
    assert cdp.leakage(cdp.Groups(3), 0.5).value == 1.5
    assert cdp.leakage(cdp.Groups(labels="aabbb"), [1, 2, 0, 0.5, 0.25]).value == 3.0
    np.testing.assert_allclose(
        cdp.leakage(cdp.Groups(labels="aab"), [1, 2, 0.5]).per_record, [3, 3, 0.5]
    )
    assert cdp.leakage(cdp.Groups(2), [1, 2, 3, 0]).value == 5.0
    assert cdp.leakage(cdp.Independent(), 0.5).value == 0.5
    assert cdp.leakage(cdp.Independent(3), [0.5, 1, 0]).value == 1.0
    assert cdp.leakage(cdp.Independent(), 0.5).kind == "exact"


def test_table_blocks():
    pair = {(0, 0): 0.4, (1, 1): 0.4, (0, 1): 0.1, (1, 0): 0.1}
    table = cdp.JointTable({(*x, z): p / 2 for x, p in pair.items() for z in (0, 1)})
    leak = cdp.leakage(table, 1.0, method="general")
    np.testing.assert_allclose(leak.per_record, [2, 2, 1])
    assert cdp.leakage(table, 1.0, query=cdp.Count(1)).value == pytest.approx(1.569445, rel=1e-6)


def test_parallel_releases_are_a_vector():
    """One release a day is parallel for DP and not for BDP."""
    chain = cdp.MarkovChain(P, 10)
    day = cdp.leakage(chain, cdp.Pure([1.0] * 5 + [0.0] * 5))
    assert 1 < day.per_record[0] < cdp.leakage(chain, 1.0).value
    assert day.per_record[5] > 0  # not read, yet leaked


def test_query_reads_part_of_the_records():
    chain = cdp.MarkovChain(P, 6)
    part = cdp.leakage(chain, 1.0, query=cdp.Count(1, records=slice(0, 3)))
    assert part.value <= cdp.leakage(chain, 1.0, query=cdp.Count(1)).value


@pytest.mark.parametrize(
    ("guarantee", "word"),
    [
        (cdp.Approximate(1.0, 1.0), "delta = 1 promises nothing"),
        (cdp.L1(0.1), "l1"),
    ],
)
def test_guarantees_that_say_nothing_are_refused(guarantee, word):
    with pytest.raises(GuaranteeError, match=word):
        cdp.leakage(cdp.MarkovChain(P, 5), guarantee)


def test_delta_zero_is_pure():
    chain = cdp.MarkovChain(P, 5)
    assert cdp.leakage(chain, cdp.Approximate(1.0, 0.0)).value == cdp.leakage(chain, 1.0).value


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, "x", [], [0, 0], [1, -1], None])
def test_bad_epsilon(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        cdp.leakage(cdp.MarkovChain(P, 2), epsilon)


def test_lengths_that_disagree():
    with pytest.raises(InputError, match="3 entries and the model 5"):
        cdp.leakage(cdp.MarkovChain(P, 5), [1, 1, 1])
    with pytest.raises(InputError, match="length"):
        cdp.leakage(cdp.MarkovChain(P), [1, 1, 1])


def test_methods_that_do_not_apply_say_what_would():
    with pytest.raises(InputError, match="unknown method"):
        cdp.leakage(cdp.MarkovChain(P), 1.0, method="magic")
    with pytest.raises(NotApplicableError, match="general"):
        cdp.leakage(cdp.Groups(2), 1.0, method="lange")
    with pytest.raises(NotApplicableError, match="contraction"):
        cdp.leakage(cdp.MarkovChain([[0.7, 0.3], [1, 0]]), 1.0, method="lange")
    with pytest.raises(NotApplicableError, match="stationary"):
        cdp.leakage(cdp.MarkovChain(P, 4, [0.5, 0.5]), 1.0, method="lange")
    with pytest.raises(NotApplicableError, match="omega"):
        cdp.leakage(cdp.MarkovChain([[0.7, 0.3], [1, 0]]), 1.0, method="ratio")
    with pytest.raises(NotApplicableError, match="length"):
        cdp.leakage(cdp.MarkovChain(P), 1.0, method="general")
    with pytest.raises(NotApplicableError, match="one kernel"):
        cdp.leakage(cdp.MarkovChain([P, P], initial=[0.5, 0.5]), 1.0, method="lange")


def test_scope_is_checked():
    chain = cdp.MarkovChain(P, 5)
    with pytest.raises(InputError, match="alone"):
        cdp.leakage(chain, 1.0, mechanism=cdp.local.GRR(2, 1.0))
    with pytest.raises(InputError, match="3 values"):
        cdp.leakage(chain, mechanism=cdp.local.GRR(3, 1.0))
    with pytest.raises(InputError, match="no state"):
        cdp.leakage(chain, 1.0, query=cdp.Count(7))
    with pytest.raises(InputError, match="one number"):
        cdp.leakage(chain, [1] * 5, query=cdp.Count(1))
    with pytest.raises(InputError, match="model"):
        cdp.leakage("chain", 1.0)


@pytest.mark.parametrize(
    "leak",
    [
        cdp.leakage(cdp.MarkovChain(P, 6), 1.0),
        cdp.leakage(cdp.MarkovChain(P), 1.0, query=cdp.Count(1)),
        cdp.leakage(cdp.Groups(3), 1.0),
    ],
)
def test_json_round_trip(leak):
    data = json.loads(json.dumps(leak.to_dict()))
    assert cdp.Leakage.from_dict(data).to_dict() == data
    assert float(leak) == leak.value
    assert f"Leakage {leak.value:.6g} (exact)" in repr(leak)


def test_json_writes_infinity_as_a_word():
    leak = cdp.Leakage(math.inf, "upper bound", cdp.Certificate("x", "y"), "all", 1.0)
    data = leak.to_dict()
    assert data["value"] == "inf"
    assert cdp.Leakage.from_dict(data).value == math.inf
    with pytest.raises(InputError, match="not a corrdp leakage"):
        cdp.Leakage.from_dict({"corrdp": 1, "result": "release"})


def test_assumptions_are_listed():
    said = " ".join(cdp.leakage(cdp.MarkovChain(P, 5), 1.0).certificate.assumptions)
    for word in (
        "Markov",
        "stationary",
        "one time step",
        "impossible ones included",
        "no feedback",
    ):
        assert word in said


def test_exact_refuses_queries_that_leave_records_out():
    """A count that skips the middle record leaks 1.6097 where the whole count leaks 1."""
    kernel = np.array([[0.1, 0.9], [0.9, 0.1]])
    joint = chain_joint(kernel, np.array([0.5, 0.5]), 3)
    whole = laplace_leakage(joint, lambda x: sum(x), 1.0)
    without_the_middle = laplace_leakage(joint, lambda x: x[0] + x[2], 1.0)
    assert without_the_middle > whole + 0.5
    chain = cdp.MarkovChain(kernel, 3)
    assert cdp.leakage(chain, 1.0, query=cdp.Count(1), method="exact").value == pytest.approx(whole)
    skipping = cdp.Count(1, missing="skip")
    with pytest.raises(NotApplicableError, match="skip"):
        cdp.leakage(chain, 1.0, query=skipping, method="exact")
    assert cdp.leakage(chain, 1.0, query=skipping).value >= without_the_middle


# -- never below what is attained ----------------------------------------------------------------


def test_a_pivot_is_judged_by_its_end():
    kernel = [
        [0.711, 0.004, 0.07, 0.215],
        [1, 0, 0, 0],
        [2.5e-7, 0.99999925, 2.5e-7, 2.5e-7],
        [0, 1, 0, 0],
    ]
    chain = cdp.MarkovChain(kernel, 3, [0.21, 0.24, 0.33, 0.22])
    attained = Attacks(chain.kernels, chain.start, np.full(3, 33.0)).target(1, 0, 3, [None], [None])
    assert attained == pytest.approx(98.51225, abs=1e-5)
    for candidate in cdp.leakage(chain, 33.0).candidates:
        assert candidate.value is None or candidate.value >= attained - 1e-9


def test_copies_around_one_rare_step():
    rare = np.array([[1e-14, 1e-14, 0.5, 0.5]] + [[1e-20, 1e-20, 0.5, 0.5]] * 3)
    rare /= rare.sum(axis=1, keepdims=True)
    before, after = 9, 7
    chain = cdp.MarkovChain([np.eye(4)] * before + [rare] + [np.eye(4)] * after, None, [0.25] * 4)
    for eps in (5.0, 8.0):
        attacks = Attacks(chain.kernels, chain.start, np.full(chain.length, eps))
        attained = max(
            attacks.target(before, a, b, [None], [None])
            for a, b in itertools.permutations(range(4), 2)
        )
        assert cdp.leakage(chain, eps).value >= attained - 1e-9


@pytest.mark.slow
def test_copies_around_one_rare_step_long():
    rare = np.array([[1e-14, 1e-14, 0.5 - 1e-14, 0.5 - 1e-14]] + [[1e-20, 1e-20, 0.5, 0.5]] * 3)
    chain = cdp.MarkovChain([np.eye(4)] * 49 + [rare] + [np.eye(4)] * 39, None, [0.25] * 4)
    assert cdp.leakage(chain, 1.0).value >= 58.4524


def test_support_comes_from_zeros_and_not_from_marginals():
    chain = cdp.MarkovChain([[[1e-3, 0.999], [0, 1]]] * 119, initial=[1, 0])
    assert chain.marginals[-1][0] == 0.0
    assert chain.support[-1].all()
    assert chain.occurring.all()
    leak = cdp.leakage(chain, 1.0)
    attained = Attacks(chain.kernels, chain.start, np.ones(120)).target(119, 0, 1, [None], [None])
    assert attained >= 118.998
    assert leak.value >= attained
    assert leak.per_record[-1] >= attained
    assert np.isinf(chain.diameter)
    assert np.isinf(chain.omega)


def test_products_that_underflow_are_not_taken_for_zeros():
    """Two rows that differ only where a product of kernels has underflowed."""
    kernel = np.array([[1e-14, 1.0, 0.0], [0.0, 1e-14, 1.0], [0.0, 0.0, 1.0]])
    kernel /= kernel.sum(axis=1, keepdims=True)
    diameters = skip_diameters(cdp.MarkovChain([kernel] * 40, None, [0.4, 0.3, 0.3]))
    assert np.isinf(diameters.table).all()


def test_a_value_below_an_attained_one_is_dropped(monkeypatch):
    """Whichever of two methods is wrong, the larger value is safe, and it is not called exact."""
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 4)
    honest = cdp.leakage(chain, 1.0)
    assert honest.kind == "exact"
    methods = applicable(cdp.MarkovChain)
    low = lambda model, scope: replace(methods["transfer"](model, scope), value=1.0)  # noqa: E731
    monkeypatch.setitem(methods, "contraction", low)
    leak = cdp.leakage(chain, 1.0)
    assert leak.value == honest.value
    assert leak.kind == "upper bound"
    told = next(c for c in leak.candidates if c.method == "contraction")
    assert told.value is None
    assert "attained" in told.reason


def test_sums_are_priced_on_the_grid_that_is_drawn():
    """Thirds are no multiples of the grid: what is drawn are rounded values."""
    chain = cdp.MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]], 4)
    values = (0.0, 1 / 3, 1.0)
    chain = cdp.MarkovChain(chain.transition, 4, states=values)
    query = cdp.Sum(0, 1)
    exact = cdp.leakage(chain, 1.0, query=query, method="exact")
    joint = chain_joint(chain.transition, chain.start, 4)
    steps = [query.on_grid([v])[0] for v in values]
    truth = laplace_leakage(joint, lambda x: sum(steps[k] for k in x), query.steps / 1.0)
    assert exact.value == pytest.approx(truth, rel=1e-11)
    assert query.scores(values).tolist() == steps
