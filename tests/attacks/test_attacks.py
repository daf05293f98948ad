"""Attackers: brute force on small chains, what success can reach, and how the score is kept."""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from corrdp.attacks.base import (
    Attack,
    memory,
    posterior_bound,
    state_codes,
    success_bound,
    success_interval,
)
from corrdp.attacks.forward_backward import ForwardBackward, SingleBit, Viterbi, posterior
from corrdp.attacks.next_place import LSTM
from corrdp.errors import DataError, InputError, ModelError
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse, CorrelatedResponse
from corrdp.models.chains.markov import MarkovChain
from tests.conftest import chains
from tests.helpers.chances import CHANCE

LAZY = MarkovChain([[0.9, 0.1], [0.2, 0.8]])
RESPONSE = BinaryResponse(0.3, 0.2)


def joint(chain: MarkovChain, channel: np.ndarray, z: list[int | None]) -> dict[tuple, float]:
    """``Pr[x, z]`` of every series x, by writing them all out."""
    n, s = len(z), len(chain.states)
    kernels = [chain.transition] * (n - 1) if chain.homogeneous else chain.transition
    law = {}
    for x in itertools.product(range(s), repeat=n):
        steps = [kernels[t][x[t], x[t + 1]] for t in range(n - 1)]
        seen = [channel[a, b] for a, b in zip(x, z, strict=True) if b is not None]
        law[x] = float(chain.start[x[0]] * np.prod(steps) * np.prod(seen))
    return law


# rates far below .01 would underflow in the brute force, not in the attackers
flips = st.one_of(st.just(0.0), st.floats(0.01, 0.5))


@st.composite
def attacked(draw) -> tuple[MarkovChain, BinaryResponse | GRR, list[int | None]]:
    chain = draw(chains())
    s, n = len(chain.states), chain.length
    if s == 2:
        mechanism = BinaryResponse(draw(flips), draw(flips))
    else:
        mechanism = GRR(s, draw(st.floats(0.1, 3)))
    report = st.one_of(st.none(), st.integers(0, s - 1))
    return chain, mechanism, draw(st.lists(report, min_size=n, max_size=n))


@given(case=attacked())
def test_posterior_and_viterbi_are_brute_force(case: tuple) -> None:
    chain, mechanism, z = case
    law = joint(chain, mechanism.channel(), z)
    total = sum(law.values())
    if total == 0:
        for attack in (ForwardBackward(mechanism), Viterbi(mechanism)):
            with pytest.raises(DataError, match="probability 0"):
                attack.run(z, chain)
        return
    assume(total > 1e-200)
    believed = np.zeros((len(z), len(chain.states)))
    for x, p in law.items():
        believed[np.arange(len(z)), list(x)] += p / total
    found = posterior(chain, mechanism.channel(), z)
    np.testing.assert_allclose(found, believed, atol=1e-12)
    modes = ForwardBackward(mechanism).run(z, chain).guesses
    np.testing.assert_allclose(found[np.arange(len(z)), modes], believed.max(axis=1), atol=1e-12)
    path = Viterbi(mechanism).run(z, chain).guesses
    assert law[tuple(path)] == pytest.approx(max(law.values()), rel=1e-9)


def test_long_series_do_not_underflow() -> None:
    rng = np.random.default_rng(0)
    chain = MarkovChain(LAZY.transition, 50_000)
    z = RESPONSE.sample(chain.sample(rng), rng)
    laws = posterior(chain, RESPONSE.channel(), z)
    np.testing.assert_allclose(laws.sum(axis=1), 1, atol=1e-12)
    # far from the ends only the neighbourhood counts
    part = posterior(chain, RESPONSE.channel(), z[20_000:20_400])
    np.testing.assert_allclose(laws[20_150:20_250], part[150:250], atol=1e-12)


def test_ties_go_to_the_smallest_state() -> None:
    chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    coin = BinaryResponse(0.5)
    assert Viterbi(coin).run([1, 1, 1], chain).guesses.tolist() == [0, 0, 0]
    assert ForwardBackward(coin).run([1, 1, 1], chain).guesses.tolist() == [0, 0, 0]


def test_nothing_observed_leaves_the_prior() -> None:
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 4, initial=[0.2, 0.8])
    np.testing.assert_allclose(posterior(chain, RESPONSE.channel(), [None] * 4), chain.marginals)
    assert SingleBit(RESPONSE).run([None] * 4, chain).guesses.tolist() == [1, 1, 1, 0]
    assert SingleBit(RESPONSE).run([0, -1, 1, 0], chain).guesses.tolist() == [0, 1, 1, 0]


def test_the_one_who_knows_more_succeeds_more() -> None:
    rng = np.random.default_rng(4)
    chain = MarkovChain([[0.95, 0.05], [0.05, 0.95]])
    x = chain.sample(rng, 20_000)
    response = BinaryResponse.for_epsilon(0.5)
    z = response.sample(x, rng)
    single, aware, path = (
        a(response).run(z, chain, x) for a in (SingleBit, ForwardBackward, Viterbi)
    )
    assert float(single) == pytest.approx(0.622459, abs=0.02)
    assert float(aware) > float(path) - 0.01 > float(single) + 0.05
    for result in (single, aware, path):
        low, high = result.interval
        assert low < result.success < high
        assert result.scored == 20_000
    assert "right, 95% interval" in repr(aware)


# -- how often any attacker can be right -------------------------------------------------------


def test_bounds_by_hand() -> None:
    epsilon, prior = math.log(0.7 / 0.3), (0.8, 0.2)
    single = joint(MarkovChain([[0.9, 0.1], [0.4, 0.6]], 1), BinaryResponse(0.3).channel(), [0])
    other = joint(MarkovChain([[0.9, 0.1], [0.4, 0.6]], 1), BinaryResponse(0.3).channel(), [1])
    success = max(single.values()) + max(other.values())
    assert success == pytest.approx(0.8)
    assert success_bound(epsilon, prior) == pytest.approx(0.8)
    assert posterior_bound(epsilon, prior) == pytest.approx(0.903226, abs=5e-7)
    printed = math.exp(epsilon) / (4 + math.exp(epsilon))
    assert printed == pytest.approx(0.368421, abs=5e-7)
    assert printed < success  # so the printed form cannot be a bound
    assert success_bound(0.5, 1.0) == pytest.approx(0.622459, abs=5e-7)
    assert success_bound(0.5, 4) == success_bound(0.5, 1 / 4) == pytest.approx(0.8)
    assert success_bound(math.inf, 1) == posterior_bound(0, (1.0, 0.0)) == 1.0


@given(
    q=st.floats(0.02, 0.5),
    r=st.floats(0.02, 0.5),
    flip0=st.floats(0.01, 0.5),
    flip1=st.floats(0.01, 0.5),
    n=st.integers(1, 5),
)
def test_no_attacker_exceeds_the_bounds(
    q: float, r: float, flip0: float, flip1: float, n: int
) -> None:
    chain = MarkovChain([[1 - q, q], [r, 1 - r]], n)
    channel = BinaryResponse(flip0, flip1).channel()
    target = n // 2
    beliefs = []  # Pr[X_i = x, z] for every z
    for z in itertools.product((0, 1), repeat=n):
        law = joint(chain, channel, list(z))
        beliefs.append([sum(p for x, p in law.items() if x[target] == v) for v in (0, 1)])
    table = np.array(beliefs)
    prior = table.sum(axis=0)
    epsilon = float(np.abs(np.log((table[:, 0] / prior[0]) / (table[:, 1] / prior[1]))).max())
    assert table.max(axis=1).sum() <= success_bound(epsilon, prior) + 1e-12
    after = table / table.sum(axis=1, keepdims=True)
    assert after.max() <= posterior_bound(epsilon, prior) + 1e-12


@pytest.mark.parametrize("bound", [success_bound, posterior_bound])
def test_bad_input_of_the_bounds_is_refused(bound) -> None:
    for epsilon in (-1, math.nan, "large"):
        with pytest.raises(InputError, match="epsilon"):
            bound(epsilon, (0.5, 0.5))
    for prior in (-1, math.nan, (0.5, 0.6), (0.2, 0.3, 0.5), (1.5, -0.5), "even", (math.nan, 1)):
        with pytest.raises(InputError, match="prior"):
            bound(1.0, prior)


# -- the score ---------------------------------------------------------------------------------


def test_intervals_cover_a_success_rate_along_a_chain() -> None:
    """Batches of dependent successes: as wide as they must be, where plain binomials are not."""
    rng = np.random.default_rng(6)
    chain = MarkovChain([[0.9, 0.1], [0.1, 0.9]])
    response = BinaryResponse(0.3)
    attack = ForwardBackward(response)
    long = chain.sample(rng, 300_000)
    truth = float(attack.run(response.sample(long, rng), chain, long))
    covered = naive = 0
    for x in long.reshape(150, 2000):
        result = attack.run(response.sample(x, rng), chain, x)
        low, high = result.interval
        covered += low <= truth <= high
        plain = stats.binomtest(round(result.success * 2000), 2000).proportion_ci()
        naive += plain.low <= truth <= plain.high
    assert stats.binomtest(covered, 150, 0.95, alternative="less").pvalue > CHANCE
    assert naive < covered


def test_interval_at_the_ends_and_for_short_series() -> None:
    assert success_interval(np.ones(50, dtype=bool), 0.5) == (0.0, 1.0)
    assert success_interval(np.ones(10**6, dtype=bool), 1.0) == (0.0, 1.0)
    low, high = success_interval(np.ones(5000, dtype=bool), 0.5)
    assert high == 1.0
    assert low == pytest.approx(0.025 ** (3 / 5000))  # five thousand count as a third of it
    alternating = np.arange(6000) % 2 == 0  # batches that show no spread
    assert success_interval(alternating, 0.0) == pytest.approx((0.4873, 0.5127), abs=1e-3)
    assert success_interval(~np.ones(5000, dtype=bool), 0.5)[0] == 0.0


def test_memory() -> None:
    assert memory(LAZY) == pytest.approx(0.7)
    assert memory(MarkovChain([[0.5, 0.5], [0.5, 0.5]])) == pytest.approx(0)
    assert memory(MarkovChain([[1.0]])) == 0
    varying = MarkovChain([LAZY.transition, [[0.6, 0.4], [0.3, 0.7]]], initial=[0.5, 0.5])
    assert memory(varying) == pytest.approx(0.7)
    assert memory(MarkovChain([[0, 1], [1, 0]])) == 1.0


# -- labels and bad input ----------------------------------------------------------------------


def test_labels_numbers_and_missing_values() -> None:
    chain = MarkovChain(LAZY.transition, states=("rest", "walk"))
    by_label = Viterbi(RESPONSE).run(["rest", None, "walk"], chain, ["rest", None, "walk"])
    assert by_label.scored == 2
    by_number = Viterbi(RESPONSE).run(np.array([0, -1, 1]), chain)
    assert by_label.guesses.tolist() == by_number.guesses.tolist()
    assert set(by_label.guesses) <= {"rest", "walk"}
    assert by_number.success is None
    assert by_number.interval is None
    assert "not scored" in repr(by_number)
    with pytest.raises(InputError, match="truth"):
        float(by_number)
    flags = MarkovChain(LAZY.transition, states=(False, True))
    assert Viterbi(RESPONSE).run([True, False], flags).guesses.dtype == bool
    signs = MarkovChain(LAZY.transition, states=(-1, 1))  # -1 is a label here, not a gap
    assert state_codes(signs, "z", [-1, 1, None]).tolist() == [0, 1, -1]
    shifted = MarkovChain(LAZY.transition, states=(1, 2))
    assert state_codes(shifted, "z", [1, 2, 1]).tolist() == [0, 1, 0]
    assert state_codes(shifted, "z", [1, 0, 1]).tolist() == [1, 0, 1]


@pytest.mark.parametrize("attack", [SingleBit, ForwardBackward, Viterbi])
def test_bad_input_of_the_attackers_is_refused(attack: type[Attack]) -> None:
    run = attack(RESPONSE).run
    for bad, culprit in (([0, 2], "2"), ([0, math.nan], "nan"), ([0, 0.5], "0.5"), (["x"], "x")):
        with pytest.raises(DataError, match=rf"sanitized\[{len(bad) - 1}\] = .*{culprit}"):
            run(bad, LAZY)
    for bad in ([], 3, [[0, 1], [1, 0]], [[0], [0, 1]]):
        with pytest.raises(DataError, match="one series"):
            run(bad, LAZY)
    with pytest.raises(DataError, match="truth has 1 values"):
        run([0, 1], LAZY, [0])
    with pytest.raises(DataError, match=r"truth\[0\]"):
        run([0, 1], LAZY, [7, 0])
    with pytest.raises(DataError, match="nothing to score"):
        run([0, 1], LAZY, [None, None])
    three = MarkovChain(np.full((3, 3), 1 / 3))
    with pytest.raises(ModelError, match="3 states"):
        run([0, 1], three)
    with pytest.raises(ModelError, match="2 states"):
        attack(GRR(3, 1.0)).run([0, 1], LAZY)
    varying = MarkovChain([LAZY.transition] * 2, initial=[0.5, 0.5])
    with pytest.raises(DataError, match="2 time steps"):
        run([0, 1], varying)
    with pytest.raises(ModelError, match="MarkovChain"):
        run([0, 1], MarkovChain.fit([0, 0, 1, 1, 0, 1] * 9, order=2))
    with pytest.raises(InputError, match="each record alone"):
        attack(CorrelatedResponse(0.2, 0.6))  # type: ignore[arg-type]


def test_bad_channels_are_refused() -> None:
    for bad in ([[0.5, 0.6], [0.5, 0.5]], [[1.5, -0.5], [0.5, 0.5]], [[math.nan, 1], [0.5, 0.5]]):
        with pytest.raises(InputError, match="channel"):
            posterior(LAZY, bad, [0, 1])


# -- the LSTM: never run here without being asked ----------------------------------------------


def test_lstm_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    attack = LSTM(RESPONSE, rng, window=3)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"corrdp\[attacks\]"):
        attack.run([0, 1] * 20, LAZY, [0, 1] * 20)
    with pytest.raises(InputError, match="truth"):
        attack.run([0, 1], LAZY)
    with pytest.raises(InputError, match="two states"):
        LSTM(GRR(3, 1.0), rng).run([0, 1], MarkovChain(np.full((3, 3), 1 / 3)), [0, 1])
    with pytest.raises(InputError, match="odd"):
        LSTM(RESPONSE, rng, window=4)
    for name in ("window", "folds", "hidden", "epochs"):
        with pytest.raises(InputError, match=name):
            LSTM(RESPONSE, rng, **{name: 0})
    with pytest.raises(InputError, match="Generator"):
        LSTM(RESPONSE, 7)  # type: ignore[arg-type]


@pytest.mark.slow
def test_lstm_learns_something() -> None:
    pytest.importorskip("torch", reason="needs the extra attacks")
    rng = np.random.default_rng(1)
    chain = MarkovChain([[0.97, 0.03], [0.03, 0.97]])
    x = chain.sample(rng, 3000)
    response = BinaryResponse(0.35)
    z = response.sample(x, rng)
    learned = LSTM(response, rng, window=11, folds=3, epochs=3).run(z, chain, x)
    assert float(learned) > float(SingleBit(response).run(z, chain, x)) + 0.02
    assert learned.guesses.shape == x.shape
    with pytest.raises(DataError, match="folds"):
        LSTM(response, rng, window=3, folds=9).run(z[:4], chain, x[:4])
    with pytest.raises(DataError, match="clear of a fold"):
        LSTM(response, rng, window=21, folds=2).run(z[:10], chain, x[:10])
