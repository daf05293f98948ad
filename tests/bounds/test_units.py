"""Units larger than a record: windows against the program, durations, persons, sets."""

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.units import Unit, of_unit, read_unit, window_sums
from corrdp.errors import InputError
from corrdp.metric.tradeoff import epsilon_for
from corrdp.models.pedigrees.mendel import HardyWeinberg
from corrdp.tables.clock import DAY, Clock
from tests.oracles.approximate import Programs
from tests.oracles.chains import chain_joint

P = np.array([[0.9, 0.1], [0.2, 0.8]])
RARE = 1.0 / (1.0 + np.exp(2.839942455 / 2.0))
ACTIVITY = cdp.MarkovChain([[1 - RARE, RARE], [RARE, 1 - RARE]])


@pytest.mark.parametrize(
    ("size", "eps"),
    [
        (1, 0.24410),
        (2, 0.19566),
        (3, 0.16343),
        (6, 0.10954),
        (12, 0.06608),
        (36, 0.02555),
        (288, 0.00343),
    ],
)
def test_dependence_costs_less_as_the_unit_grows(size, eps):
    leak = cdp.leakage(ACTIVITY, eps, unit=size, method="contraction")
    assert leak.value == pytest.approx(1.0, rel=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_windows_against_the_program(seed):
    rng = np.random.default_rng(seed)
    n, size = 4, 2 + seed % 2
    kernel, start = rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(2))
    eps, delta = rng.uniform(0, 1, n), rng.uniform(0, 0.02, n)
    chain = cdp.MarkovChain(kernel, n, initial=start)
    programs = Programs(chain_joint(kernel, start, n), eps, delta, 2)
    leak = cdp.leakage(chain, cdp.Approximate(eps, delta), unit=size)
    first = int(rng.integers(n - size + 1))
    assert programs.worst(range(first, first + size), leak.value) <= leak.delta + 1e-9
    one = cdp.leakage(chain, cdp.Approximate(eps, delta), unit=[first, first + size - 1])
    assert programs.worst((first, first + size - 1), one.value) <= one.delta + 1e-9


@pytest.mark.parametrize("n", range(1, 20))
def test_windows_of_every_length_are_summed(n):
    values = np.arange(n) + 0.5
    for size in range(1, n + 1):
        sums = [values[k : k + size].sum() for k in range(n - size + 1)]
        assert window_sums(values, size) == pytest.approx(sums)
        pairs = of_unit(cdp.Approximate(values / 100, values / 1000), Unit(size), n)
        assert np.ravel(pairs.epsilon) == pytest.approx(np.array(sums) / 100)
        assert (np.ravel(pairs.delta) >= np.array(sums) / 1000 * (1 - 1e-12)).all()


def test_holes_carry_what_the_unit_says():
    chain = cdp.MarkovChain(P, 3)
    leak = cdp.leakage(chain, 1.0, unit=[0, 2])
    programs = Programs(chain_joint(P, chain.stationary, 3), 1.0, 0.0, 2)
    assert programs.worst((0, 2), 2.9) > 0  # more than the two records by themselves
    assert programs.worst((0, 2), leak.value) <= 1e-9
    assert 2.940 <= leak.value <= 3.0 * (1 + 1e-9)
    far = cdp.leakage(cdp.MarkovChain(P, 40), 1.0, unit=[5, 30])
    assert far.value < 12 < cdp.leakage(cdp.MarkovChain(P, 40), 1.0, unit=26).value


def test_window_sums_and_guarantees_of_units():
    values = np.arange(20.0)
    for size in (1, 2, 3, 7, 12, 20):
        expected = np.convolve(values, np.ones(size), "valid")
        np.testing.assert_allclose(window_sums(values, size), expected)
    unit = read_unit(cdp.MarkovChain(P, 3), 2)
    rho = of_unit(cdp.ZCDP([0.01, 0.04, 0.09]), unit, 3).rho
    np.testing.assert_allclose(rho, [0.09, 0.25])
    _, delta = of_unit(cdp.Approximate([1.0, 1.0, 1.0], 0.01), unit, 3).pairs(2)
    np.testing.assert_allclose(delta, 0.01 * (1 + np.e))


def test_own_guarantee_of_a_unit():
    """Twelve records in twelve releases of mu .1: a window costs .346, not 1.2."""
    each = cdp.leakage(ACTIVITY, cdp.GDP(0.1), delta=1e-6, unit=12)
    known = cdp.leakage(ACTIVITY, cdp.GDP(0.1), delta=1e-6, unit=12, own=cdp.GDP(0.1 * 12**0.5))
    assert known.value < each.value
    alone = cdp.leakage(cdp.Independent(), cdp.GDP(0.1), delta=1e-6, unit=12, own=cdp.GDP(0.3464))
    assert alone.value < known.value


def test_the_witness_names_the_window():
    eps = [0.3, 0.3, 0.3, 1, 1, 0.3, 0.3, 0.3, 0.3]
    leak = cdp.leakage(cdp.MarkovChain(P, 9), eps, unit=2)
    assert leak.unit == "2 records"
    assert "records 3 to 4" in str(leak.witness)
    assert leak.per_record is None


TRIO = {"dad": None, "mum": None, "kid": ("dad", "mum")}


def trio_joint(law):
    """Three genotypes of a family as a joint law over 0, 1, 2."""
    return {tuple(map(int, x)): float(p) for x, p in np.ndenumerate(law) if p > 0}


def test_families_and_sets_of_their_members():
    trio = cdp.Pedigree(TRIO, founders=HardyWeinberg(0.3))
    (shape,) = trio.shapes
    programs = Programs(trio_joint(shape.law()), 0.4, 0.01, 3)
    guarantee = cdp.Approximate(0.4, 0.01)
    family = cdp.leakage(trio, guarantee, unit="family")
    pair = cdp.leakage(trio, guarantee, unit=["dad", "kid"])
    assert (family.value, family.delta) == pytest.approx((pair.value, pair.delta))
    assert pair.value == cdp.leakage(trio, guarantee, unit=[0, 2]).value
    assert programs.worst((0, 2), pair.value) <= pair.delta + 1e-9
    assert programs.worst((0, 1, 2), family.value) <= family.delta + 1e-9
    assert cdp.leakage(trio, guarantee, unit="person").unit is None  # a record is a person
    two = cdp.GaussianRecords.blocks([np.eye(2) + 0.5, np.eye(3) + 0.2], secret_range=(0, 1))
    leak = cdp.leakage(two, cdp.GDP([0.5, 0.5, 0.1, 0.1, 0.1]), delta=1e-6, unit="family")
    assert leak.value == pytest.approx(epsilon_for(1.0, 1e-6), rel=1e-9)
    assert "family of record 0" in str(leak.witness)
    assert leak.unit == "family (of up to 3 records)"
    assert cdp.leakage(cdp.Groups(4), 0.5, unit="family").value == pytest.approx(2.0)
    ring = cdp.MarkovField.ising([(0, 1), (2, 3), (3, 4)], 0.5)
    assert cdp.leakage(ring, 0.5, unit="family").value == pytest.approx(1.5)


class _Fit:
    def __init__(self, clock):
        self.clock, self.private_epsilon = clock, None


def timed(clock, length=1000):
    chain = cdp.MarkovChain(P, length)
    object.__setattr__(chain, "fitted", _Fit(clock))
    return chain


def test_durations_are_usual_steps():
    five = timed(Clock("microsecond", 0, DAY, DAY // 288))
    for text, size in (("1h", 12), ("1 hour", 12), ("30 min", 6), ("1 day", 288), ("2 days", 576)):
        assert read_unit(five, text).size == size
    assert read_unit(five, "1h").words == "1h (12 records)"
    assert read_unit(five, "record") is None
    assert read_unit(five, 1) is None
    assert read_unit(timed(Clock("month", 0, 60, 1)), "1 year").size == 12
    assert read_unit(five, "person").size == 1000


@pytest.mark.parametrize(
    ("model", "unit", "words"),
    [
        (cdp.MarkovChain(P, 5), 6, "the series has 5"),
        (cdp.MarkovChain(P, 5), 0, "unit must be"),
        (cdp.MarkovChain(P, 5), 1.5, "unit must be"),
        (cdp.MarkovChain(P, 5), "1h", "time between two records"),
        (cdp.MarkovChain(P, 5), "long", "a duration such as"),
        (timed(Clock("microsecond", 0, DAY, DAY // 288)), "7 min", "1.4 usual steps"),
        (timed(Clock("microsecond", 0, DAY, DAY // 288)), "1 month", "no number of usual steps"),
        (timed(Clock("microsecond", 0, DAY, DAY // 288), 5), "1h", "12 records"),
        (cdp.MarkovChain(P), "person", "no bound"),
        (cdp.MarkovChain(P, 5), [], "empty set"),
        (cdp.MarkovChain(P, 5), [5], "records 0 to 4"),
        (cdp.Groups(3), 2, "needs a series"),
        (cdp.MarkovChain(P, 5), "family", "fall into families"),
        (cdp.Independent(5), "family", "fall into families"),
        (cdp.MarkovChain(P, 5), ["kid"], "unit must be"),
    ],
)
def test_wrong_units(model, unit, words):
    with pytest.raises(InputError, match=words):
        cdp.leakage(model, 1.0, unit=unit)


def test_noise_by_unit_on_the_activity_series():
    from corrdp.bounds.chains.sides import unit_noise

    found = [unit_noise(ACTIVITY, size) for size in (1, 2, 3, 6, 12, 36, 288)]
    assert found == pytest.approx([4.10, 2.56, 2.04, 1.52, 1.26, 1.09, 1.01], abs=5e-3)
