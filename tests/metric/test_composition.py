"""Profiles as tables: never below the profile, close to it; profiles that differ by record."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.bounds.units import Unit, of_largest, of_unit
from corrdp.errors import InputError
from corrdp.guarantees import GDP, ZCDP, Profile
from corrdp.metric.composition import compose, tabulated
from corrdp.metric.profiles import profile_of, record_profiles

levels = st.floats(1e-6, 4.0)


@settings(max_examples=40)
@given(
    st.lists(levels, max_size=7),
    st.sampled_from([0.0, 1e-4, 0.05, 0.4, 2.0]),
    st.lists(st.tuples(levels, st.sampled_from([0.0, 1e-9, 0.01])), max_size=2),
)
def test_a_table_is_never_below_its_profile_and_close(pure, mu, approximate):
    exact = compose(pure=pure, gaussian=mu, approximate=approximate)
    table = tabulated(exact)
    places = np.r_[0.0, np.geomspace(1e-6, 60.0, 60), np.arange(30) * table.width]
    # both are rounded up, by different trifles
    assert (table.delta(places) >= exact.delta(places) * (1 - 1e-9) - 1e-18).all()
    for delta in (0.02, 1e-6):
        mine, true = table.epsilon(delta), exact.epsilon(delta)
        assert mine == true == math.inf or true * (1 - 1e-9) <= mine <= true * (1 + 1e-3) + 1e-9
        if 0 < mine < math.inf:
            assert table.delta(mine) <= delta


def test_releases_that_tell_nothing_have_a_table():
    table = tabulated(compose())
    assert table.delta([0.0, 1.0]).tolist() == [0, 0]
    assert table.epsilon(1e-6) == table.epsilon(0.0) == 0


def test_hundreds_of_different_releases_take_milliseconds():
    import time

    pure = np.random.default_rng(0).uniform(0.001, 0.1, 300).tolist()
    tabulated(compose(pure=pure[:20], gaussian=0.1))  # compiled
    start = time.process_time()
    table = tabulated(compose(pure=pure, gaussian=0.2))
    assert time.process_time() - start < 1.0
    assert 0 < table.epsilon(1e-6) < sum(pure)


# -- one profile per record ------------------------------------------------------------------

MU = np.array([0.05, 0.05, 0.2, 0.2, 0.05])
EACH = [profile_of(GDP(m)).delta for m in (0.05, 0.2)]
BY_RECORD = Profile(EACH, of=[0, 0, 1, 1, 0])
CHAIN = cdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], 5)


def test_profiles_by_record_say_what_levels_by_record_say():
    mine = cdp.leakage(CHAIN, BY_RECORD, delta=1e-6, method="contraction")
    gaussian = cdp.leakage(CHAIN, GDP(MU), delta=1e-6, method="contraction")
    assert mine.value == pytest.approx(gaussian.value, rel=2e-2)
    worst = cdp.leakage(CHAIN, GDP(0.2), delta=1e-6, method="contraction")
    assert mine.value < worst.value
    assert mine.per_record is not None
    assert mine.scope.startswith("every mechanism with these levels, one per record")


def test_own_profiles_by_window():
    own = Profile(EACH, of=[0, 1, 1, 0])
    given = {"delta": 1e-6, "unit": 2, "method": "contraction"}
    mine = cdp.leakage(CHAIN, BY_RECORD, own=own, **given)
    gaussian = cdp.leakage(CHAIN, GDP(MU), own=GDP(np.array([0.05, 0.2, 0.2, 0.05])), **given)
    assert mine.value == pytest.approx(gaussian.value, rel=2e-2)


def test_the_largest_of_several_stands_for_all():
    whole = profile_of(BY_RECORD)
    assert whole.delta(0.5) == profile_of(GDP(0.2)).delta(0.5)
    assert whole.epsilon(1e-6) == profile_of(GDP(0.2)).epsilon(1e-6)
    assert not of_largest(BY_RECORD, 1).is_vector
    pair = of_unit(BY_RECORD, Unit(2), 5)
    assert profile_of(pair).delta(1.0) > profile_of(GDP(0.2)).delta(1.0)
    same, other = (Profile(EACH, of=[0, 0, 1, 1, last]) for last in (0, 1))
    assert (same == BY_RECORD, other == BY_RECORD) == (True, False)
    assert hash(BY_RECORD) == hash(same)


def test_epsilons_of_several_profiles_are_kept_in_step():
    epsilons, deltas = record_profiles(BY_RECORD, 5)(1.0)
    assert deltas == pytest.approx(np.full(5, 1e-6))
    assert epsilons[2] > 3 * epsilons[0]


@pytest.mark.parametrize(
    ("delta", "of"),
    [(EACH, [0, 2]), (EACH, []), (EACH, [[0, 1]]), (EACH, [0.5]), ([], [0]), (EACH[0], [0]),
     ([1, 2], [0, 1]), (EACH, None), (EACH, "01"), (0.1, None)],
)  # fmt: skip
def test_bad_profiles_are_refused(delta, of):
    with pytest.raises(InputError):
        Profile(delta, of)


def test_one_profile_for_each_record_of_the_model():
    with pytest.raises(InputError, match="of has 5 entries and the model 6 records"):
        cdp.leakage(CHAIN.with_length(6), BY_RECORD, delta=1e-6)
    with pytest.raises(InputError, match="needs a model with a length"):
        cdp.leakage(CHAIN.with_length(None), BY_RECORD, delta=1e-6, method="contraction")
    assert profile_of(ZCDP(0.1)).delta(0.0) > 0
