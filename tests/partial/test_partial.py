"""delta of a noisy count under partial knowledge, against sums of fifty digits and against the
definition itself, enumerated."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from corrdp_reproduction.knowledge.literal import literal_delta
from hypothesis import given, settings
from hypothesis import strategies as st

from corrdp._binomial import log_binomial
from corrdp.errors import CorrdpError, InputError
from corrdp.metric.tradeoff import delta_for
from corrdp.partial.deltas import PartialDelta, partial_delta
from corrdp.partial.knowledge import Knowledge, Noise
from corrdp.partial.mixtures import Mixture


@pytest.fixture(autouse=True)
def _many_digits():
    with localcontext() as context:
        context.prec = 110
        yield


def others(unknown: int) -> Knowledge:
    """An attacker to whom so many records are noise."""
    return Knowledge(unknown + 1, 0)


# -- oracles -------------------------------------------------------------------------------------


def upper_tail(z: Decimal) -> Decimal:
    """1 - Phi(z) by the series of all positive terms; off by 1e-88 at most."""
    if abs(z) > 20:
        return Decimal(0) if z > 0 else Decimal(1)
    term = total = z
    k = 1
    while abs(term) > Decimal(10) ** -100:
        k += 2
        term *= z * z / k
        total += term
    return Decimal("0.5") - (-z * z / 2).exp() * total / _ROOT


def _pi() -> Decimal:
    """Machin's formula."""

    def arctan(inverse: int) -> Decimal:
        x = Decimal(1) / inverse
        total, power, k = x, x, 1
        while abs(power) > Decimal(10) ** -108:
            power *= -x * x
            k += 2
            total += power / k
        return total

    return 4 * (4 * arctan(5) - arctan(239))


with localcontext() as _context:
    _context.prec = 110
    _ROOT = (2 * _pi()).sqrt()


def binomial(trials: int, p: Decimal, reach: int | None = None) -> dict[int, Decimal]:
    """Probabilities near the mean, by ratios from one exact value; all of them if reach is None."""
    mode = int(trials * p)
    first, last = (
        (0, trials) if reach is None else (max(0, mode - reach), min(trials, mode + reach))
    )
    weight = Decimal(math.comb(trials, first)) * p**first * (1 - p) ** (trials - first)
    law = {}
    for k in range(first, last + 1):
        law[k] = weight
        weight = weight * (trials - k) * p / ((k + 1) * (1 - p))
    return law


def direct(
    trials: int, p: Decimal, beta: float, epsilon: float, reach: int | None = None
) -> Decimal:
    """H(P1 | P0) summed directly in 110 digits.

    The half-line's end is found in floating point: any end gives at most H, and one that is off
    by 1e-9 gives less by the square of that.
    """
    grown = Decimal(epsilon).exp()
    law = binomial(trials, p, reach)
    if beta == 0:
        zero = Decimal(0)
        points = range(min(law), max(law) + 2)
        parts = (law.get(j - 1, zero) - grown * law.get(j, zero) for j in points)
        return sum((part for part in parts if part > 0), zero)
    k = np.array(list(law), dtype=float)
    logs = np.array([float(w.ln()) for w in law.values()])

    def ratio(x: float) -> float:
        one, zero = (logs - ((x - a - k) / beta) ** 2 / 2 for a in (1, 0))
        return float(np.logaddexp.reduce(one) - np.logaddexp.reduce(zero))

    low, high = float(k[0]) - 2 * beta, float(k[-1]) + 2 + 40 * beta
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if ratio(middle) < epsilon else (low, middle)
    end, sd = Decimal(low), Decimal(beta)
    return sum(
        w * (upper_tail((end - 1 - j) / sd) - grown * upper_tail((end - j) / sd))
        for j, w in law.items()
    )


CASES = [
    (0, 0.3, 2.0, 0.5), (1, 0.9, 0.3, 0.2), (3, 0.4, 0.0, 0.5), (3, 0.4, 1.0, 0.5),
    (9, 0.3, 0.5, 0.4), (20, 0.05, 0.0, 1.0), (20, 0.05, 1.5, 0.1), (37, 0.605, 0.05, 2.0),
    (50, 0.2, 0.25, 0.5), (60, 0.5, 3.0, 0.01), (60, 0.97, 0.8, 0.7), (40, 0.4, 2.0, 4.0),
    (39, 0.4, 2.0, 0.5), (200, 0.5, 0.0, 0.5), (400, 0.013, 0.0, 0.1),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_never_below_the_exact_sum_and_hardly_above(case):
    unknown, bias, beta, epsilon = case
    found = partial_delta(epsilon, others(unknown), bias, Noise(beta))
    p = Decimal(bias)  # every double is a decimal, and 1 - p is not rounded
    for value, share in ((found.if_one, p), (found.if_zero, 1 - p)):
        truth = direct(unknown, share, beta, epsilon)
        slack = Decimal("1e-12" if truth > 1e-15 else "1e-11")
        assert truth * (1 - Decimal("1e-17")) <= Decimal(value)
        assert Decimal(value) <= truth * (1 + slack) + Decimal("1e-299")
    assert found.active == found.passive == max(found.if_one, found.if_zero)


@pytest.mark.parametrize(
    "case",
    [
        (2, 3.58e-9, 1.684, 1.14), (12, 1.4181756957911305e-06, 15.54487901627132, 0.1817),
        (4, 1.149945710956589e-05, 9.37270461403944, 1.2322326540069912),
        (3, 0.0002370757135108626, 0.8237204170098513, 0.29676361680230645),
        (1, 1e-9, 0.7, 0.5), (30, 1e-7, 2.0, 0.8), (7, 1 - 1e-9, 1.5, 1.0), (9, 1e-2, 3.0, 0.3),
        (5, 1e-20, 2.0, 0.5), (5, 1e-100, 2.0, 0.5), (5, 1e-250, 2.0, 0.5), (20, 1e-4, 0.0, 0.2),
    ],
    ids=str,
)  # fmt: skip
def test_small_biases_keep_their_digits(case):
    unknown, bias, beta, epsilon = case
    found = partial_delta(epsilon, others(unknown), bias, Noise(beta))
    with localcontext() as context:
        context.prec = 700 if bias < 1e-50 else 110  # 1 - p keeps all digits of p
        for value, share in ((found.if_one, Decimal(bias)), (found.if_zero, 1 - Decimal(bias))):
            truth = direct(unknown, share, beta, epsilon)
            assert truth * (1 - Decimal("1e-17")) <= Decimal(value)
            assert Decimal(value) <= truth * (1 + Decimal("1e-11" if truth > 1e-15 else "1e-10"))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 12),
    st.floats(-9, -2),
    st.booleans(),
    st.floats(0.3, 6.0),
    st.floats(0.01, 1.5),
)
def test_never_below_at_any_small_bias(unknown, power, mirrored, beta, epsilon):
    bias = 1 - 10**power if mirrored else 10**power
    found = partial_delta(epsilon, others(unknown), bias, Noise(beta))
    with localcontext() as context:
        context.prec = 110
        for value, share in ((found.if_one, Decimal(bias)), (found.if_zero, 1 - Decimal(bias))):
            truth = direct(unknown, share, beta, epsilon)
            assert truth * (1 - Decimal("1e-17")) <= Decimal(value)


@pytest.mark.filterwarnings("error")
def test_extreme_numbers_give_the_plain_value():
    plain = delta_for(0.5, 0.5)
    for bias in (1e-18, 1e-20, 1e-100, 1e-300, 5e-324):
        for epsilon in (0.5, 400.0):
            found = partial_delta(epsilon, Knowledge(1000, 5), bias, Noise(2.0)).active
            assert found <= delta_for(0.5, epsilon)
        assert partial_delta(0.5, Knowledge(1000, 5), bias, Noise(2.0)).active == pytest.approx(
            plain, rel=1e-12
        )
    drowned = partial_delta(0.0, Knowledge(1000, 5), 0.3, Noise(1e300))
    assert drowned.active == delta_for(1e-300, 0.0)
    # what is left of natural noise is nothing well before the sum is given up
    wide = partial_delta(0.0, Knowledge(1000, 5), 0.3, Noise(1e49)).active
    assert wide == pytest.approx(delta_for(1e-49, 0.0), rel=1e-9)


def test_ten_thousand_records_by_direct_summation():
    found = partial_delta(0.1, others(10_000), 0.3, Noise(12.0)).if_one
    bias = 0.3
    truth = direct(10_000, Decimal(bias), 12.0, 0.1, reach=550)
    assert truth <= Decimal(found) <= truth * (1 + Decimal("1e-12"))


@given(
    st.integers(0, 120),
    st.floats(0.001, 0.999),
    st.floats(0.0, 3.0),
)
def test_noiseless_is_never_below_exact_fractions(unknown, bias, epsilon):
    found = partial_delta(epsilon, others(unknown), bias).if_one
    p, grown = Fraction(bias), Fraction(Decimal(epsilon).exp())
    law = [Fraction(math.comb(unknown, k)) * p**k * (1 - p) ** (unknown - k)
           for k in range(unknown + 1)]  # fmt: skip
    truth = sum(max(0, a - grown * b) for a, b in zip([0, *law], [*law, 0], strict=True))
    assert truth <= Fraction(found) <= truth * (1 + Fraction(1, 10**11)) + Fraction(1, 10**299)


@pytest.mark.parametrize(
    ("trials", "p"), [(10**6, 0.3), (10**6, 0.999), (10**7, 0.01), (10**8, 1e-7)]
)
def test_weights_of_many_trials(trials, p):
    """Against Stirling's series in 110 digits."""

    def log_factorial(x: int) -> Decimal:
        if x < 40:
            return Decimal(math.factorial(x)).ln()
        big = Decimal(x)
        series = sum(
            Decimal(a) / b / big ** (2 * k + 1)
            for k, (a, b) in enumerate(
                [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156)]
            )
        )
        return big * big.ln() - big + (2 * _pi() * big).sqrt().ln() + series

    first, logs = log_binomial(trials, p)
    share = Decimal(p)
    for k in np.linspace(first, first + len(logs) - 1, 9).astype(int):
        k = int(k)
        truth = log_factorial(trials) - log_factorial(k) - log_factorial(trials - k)
        truth += k * share.ln() + (trials - k) * (1 - share).ln()
        assert abs(Decimal(float(logs[k - first])) - truth) <= Decimal("3e-15") * (1 + abs(truth))
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)


# -- the definition, enumerated ------------------------------------------------------------------


def by_definition(n: int, known: int, law, beta: float, epsilon: float) -> tuple[float, float]:
    """APK and PPK by going through every table, every set of known records and every target.

    ``law`` gives the probability of a table of bits. The noisy output is put on a fine grid.
    """
    tables = {bits: law(bits) for bits in itertools.product((0, 1), repeat=n)}
    if beta:
        grid = np.arange(-8 * beta, n + 8 * beta, beta / 200)
        outputs = {
            c: np.exp(-(((grid - c) / beta) ** 2) / 2) / 200 / math.sqrt(2 * math.pi)
            for c in range(n + 1)
        }
    else:
        outputs = dict(enumerate(np.eye(n + 1)))
    active = passive = 0.0
    for target in range(n):
        for seen in itertools.combinations([i for i in range(n) if i != target], known):
            means = [0.0, 0.0]
            for values in itertools.product((0, 1), repeat=known):
                given = {
                    a: {
                        bits: p
                        for bits, p in tables.items()
                        if bits[target] == a
                        and all(bits[i] == v for i, v in zip(seen, values, strict=True))
                    }
                    for a in (0, 1)
                }
                chance = {a: sum(given[a].values()) for a in (0, 1)}
                laws = {
                    a: sum(p / chance[a] * outputs[sum(bits)] for bits, p in given[a].items())
                    for a in (0, 1)
                }
                for a in (0, 1):
                    apart = np.maximum(laws[a] - math.exp(epsilon) * laws[1 - a], 0).sum()
                    active = max(active, apart)
                    whole = sum(p for bits, p in tables.items() if bits[target] == a)
                    means[a] += chance[a] / whole * apart
            passive = max(passive, *means)
    return active, passive


@pytest.mark.parametrize("beta", [0.0, 0.7])
@pytest.mark.parametrize(("n", "known", "bias"), [(4, 0, 0.3), (5, 2, 0.4), (5, 4, 0.6)])
def test_independent_records_by_definition(n, known, bias, beta):
    def law(bits):
        return math.prod(bias if b else 1 - bias for b in bits)

    active, passive = by_definition(n, known, law, beta, 0.4)
    found = partial_delta(0.4, Knowledge(n, known), bias, Noise(beta))
    assert found.active == pytest.approx(active, rel=1e-4 if beta else 1e-12)
    assert found.passive == pytest.approx(passive, rel=1e-4 if beta else 1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.7])
@pytest.mark.parametrize("known", [0, 2, 3])
def test_mixtures_by_definition(known, beta):
    biases, weights = (0.2, 0.5, 0.9), (0.5, 0.2, 0.3)

    def law(bits):
        return sum(
            w * math.prod(p if b else 1 - p for b in bits)
            for p, w in zip(biases, weights, strict=True)
        )

    active, passive = by_definition(5, known, law, beta, 0.4)
    found = partial_delta(0.4, Knowledge(5, known), Mixture(biases, weights), Noise(beta))
    assert found.active == pytest.approx(active, rel=1e-4 if beta else 1e-12)
    assert found.passive == pytest.approx(passive, rel=1e-4 if beta else 2e-11)
    if known:
        assert found.passive < found.active


def test_a_mixture_of_one_is_independent():
    for beta in (0.0, 1.3):
        one = partial_delta(0.3, Knowledge(60, 20), Mixture([0.35], [1.0]), Noise(beta))
        plain = partial_delta(0.3, Knowledge(60, 20), 0.35, Noise(beta))
        assert one.active == pytest.approx(plain.active, rel=1e-11)
        assert one.passive == pytest.approx(plain.passive, rel=1e-11)


# -- published and derived values ----------------------------------------------------------------

TABLE = [
    (9, 0.3, 0.5, 0.4, 0.1240079006, 0.1504877397, 0.1671835, 0.1975355),
    (50, 0.5, 1.0, 0.3, 0.0215365960, 0.0215365960, 0.0341336, 0.0341336),
    (50, 0.2, 0.25, 0.5, 0.0103981199, 0.0239725282, 0.0202213, 0.0290648),
    (0, 0.4, 2.0, 0.5, 0.0524403233, 0.0524403233, 0.0732849, 0.0732849),
    (999, 0.4, 3.0, 0.1, 0.0015876607, 0.0016862192, 0.0030404, 0.0030567),
    (3, 0.4, 0.0, 0.5, 0.2464818387, 0.2918762055, 0.2844199414, 0.3324277252),
    (3, 0.4, 1.0, 0.5, 0.1378564447, 0.1476315325, None, None),
    (3, 0.4, 2.0, 0.5, 0.0403278159, 0.0417072792, None, None),
    (39, 0.4, 2.0, 0.5, 0.0042416599, 0.0054917360, None, None),
    (9, 0.3, 0.0, 0.4, 0.1338675996, 0.1704287007, None, None),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row[:4]))
def test_values(row):
    unknown, bias, beta, epsilon, one, zero, literal_one, literal_zero = row
    found = partial_delta(epsilon, others(unknown), bias, Noise(beta))
    assert found.if_one == pytest.approx(one, abs=6e-11)
    assert found.if_zero == pytest.approx(zero, abs=6e-11)
    if literal_one is not None:
        literal = literal_delta(epsilon, others(unknown), bias, Noise(beta))
        assert literal == pytest.approx((literal_one, literal_zero), abs=6e-8)
        # between one side and (1 + e^-epsilon) times the worse side
        assert found.if_one <= literal[0] <= (1 + math.exp(-epsilon)) * found.active
        assert literal[0] <= found.if_one + math.exp(-epsilon) * found.if_zero + 1e-12


def test_nobody_ignorant_is_plain_privacy():
    for beta, epsilon in ((2.0, 0.5), (0.4, 1.0), (30.0, 0.1)):
        found = partial_delta(epsilon, Knowledge(500, 499), 0.3, Noise(beta))
        assert found.active == pytest.approx(delta_for(1 / beta, epsilon), rel=1e-11)
    assert partial_delta(0.5, Knowledge(500, 499), 0.3).active == 1.0


def test_dependence_makes_ignorance_worse():
    """Independent .0025 < plain DP .0068 < passive .0157 < active .0599."""
    knowledge, noise = Knowledge(20, 10), Noise(2.0)
    mixture = Mixture([0.3, 0.7], [0.5, 0.5])
    found = partial_delta(1, knowledge, mixture, noise)
    plain = delta_for(1 / 2, 1)
    alone = partial_delta(1, knowledge, 0.3, noise).active
    assert alone == pytest.approx(0.0025081808, abs=6e-11)
    assert plain == pytest.approx(0.0068295950, abs=6e-11)
    assert found.passive == pytest.approx(0.0156584508, rel=1e-7)
    assert found.active == pytest.approx(0.0599284914, rel=1e-7)
    assert alone < plain < found.passive < found.active
    rows = {
        0: (0.000488, 0.000090, 0.00137008, 0.00251377),
        3: (0.072973, 0.014252, 0.01458617, 0.00351131),
        5: (0.7, 0.3, 0.05992849, 0.05992849),
        7: (0.985748, 0.927027, 0.00351131, 0.01458617),
        10: (0.999910, 0.999512, 0.00251377, 0.00137008),
    }
    for hits, (after_one, after_zero, one, zero) in rows.items():
        assert mixture.posterior(10, hits, 1)[1] == pytest.approx(after_one, abs=6e-7)
        assert mixture.posterior(10, hits, 0)[1] == pytest.approx(after_zero, abs=6e-7)
        pair = [p.hockey_stick(2.0) for p in mixture.pairs(knowledge, hits, 1.0)]
        assert pair == pytest.approx((one, zero), abs=6e-9)


def test_a_copied_bit():
    """Five copies of one bit: the noise of plain DP does not hide them."""
    assert delta_for(5 / 7.0318267, 0.5) == pytest.approx(0.1252053, abs=6e-8)


def test_the_worst_bias_is_inside():
    """Neither end of [.5, .618] is the worst."""
    deltas = [partial_delta(0.5, others(10), p, Noise(0.2)).active for p in (0.5, 0.586, 0.618)]
    assert deltas == pytest.approx([0.0931956, 0.1069396, 0.1018495], abs=6e-8)


def test_the_outer_law_counts():
    """A mean over one law of the losses under another is not bounded by those of the ends."""

    def mean(outer: float, bias: float, epsilon: float) -> float:
        def law(p: float) -> np.ndarray:
            return np.array([(1 - p) ** 2, 2 * p * (1 - p), p * p])

        truth = np.concatenate([law(outer), [0]])  # the target is 0
        one, zero = np.concatenate([[0], law(bias)]), np.concatenate([law(bias), [0]])
        with np.errstate(divide="ignore"):
            loss = np.abs(np.log(one) - np.log(zero))
        return float(np.sum(truth * np.maximum(0, 1 - np.exp(epsilon - loss))))

    for epsilon, inside, ends in ((0.0, 0.5555556, 0.4444444), (0.05, 0.5327684, 0.4387477)):
        assert mean(2 / 3, 0.5, epsilon) == pytest.approx(inside, abs=6e-8)
        assert max(mean(2 / 3, p, epsilon) for p in (1 / 3, 2 / 3)) == pytest.approx(ends, abs=6e-8)


# -- how it must move ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", [(10, 0.3, 0.5), (37, 0.605, 2.0), (100, 0.5, 0.1)], ids=str)
def test_more_noise_more_records_more_epsilon(case):
    unknown, bias, epsilon = case
    by_noise = [
        partial_delta(epsilon, others(unknown), bias, Noise(b)).active
        for b in (0.0, 0.05, 0.2, 0.5, 1, 2, 5, 20)
    ]
    assert by_noise[1] == pytest.approx(by_noise[0], rel=1e-12)
    assert np.all(np.diff(by_noise) <= 1e-12 * np.array(by_noise[:-1]))
    for beta in (0.0, 0.8):
        by_records = [
            partial_delta(epsilon, others(unknown + k), bias, Noise(beta)).active
            for k in range(0, 40, 3)
        ]
        assert np.all(np.diff(by_records) <= 1e-12)
        by_epsilon = [
            partial_delta(e, others(unknown), bias, Noise(beta)).active for e in (0, 0.1, 1, 5, 400)
        ]
        assert np.all(np.diff(by_epsilon) <= 1e-12)


def test_noise_smooths_the_bias():
    """With noise above .7 delta grows with the distance of the bias from one half."""
    for unknown, beta, epsilon in ((10, 0.7, 0.5), (100, 1.0, 0.1), (1000, 2.0, 0.3)):
        deltas = [
            partial_delta(epsilon, others(unknown), p, Noise(beta)).active
            for p in np.linspace(0.5, 0.99, 12)
        ]
        assert np.all(np.diff(deltas) >= 0)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.floats(1e-6, 1 - 1e-6), st.floats(0, 50), st.floats(0, 400))
def test_any_question_has_an_answer(unknown, bias, beta, epsilon):
    found = partial_delta(epsilon, others(unknown), bias, Noise(beta))
    assert 0 <= found.if_one <= 1
    assert 0 <= found.if_zero <= 1
    if beta > 1e-3:
        assert found.active <= delta_for(1 / beta, epsilon)


def test_symmetry():
    for unknown, beta in ((20, 0.0), (300, 1.5)):
        left = partial_delta(0.3, others(unknown), 0.25, Noise(beta))
        right = partial_delta(0.3, others(unknown), 0.75, Noise(beta))
        assert left.if_one == pytest.approx(right.if_zero, rel=1e-12)
        assert left.if_zero == pytest.approx(right.if_one, rel=1e-12)


def test_json_round_trip():
    found = partial_delta(0.5, Knowledge(8, 4), 0.4, Noise(1.0))
    again = PartialDelta.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again == found
    assert "assumes" in repr(found)
    assert float(found) == found.active
    assert Knowledge.from_dict(Knowledge(8, 4).to_dict()) == Knowledge(8, 4)


# -- bad input -----------------------------------------------------------------------------------

GOOD = Knowledge(10, 4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Knowledge(10, 10), "at most n - 1 = 9"),
        (lambda: Knowledge(0, 0), "n must be at least 1"),
        (lambda: Knowledge(10, -1), "known must be at least 0"),
        (lambda: Knowledge(10, 0.9), "looks like a share"),
        (lambda: Knowledge(10.0, 1), "whole number"),
        (lambda: Knowledge(10, True), "whole number"),
        (lambda: partial_delta(-1, GOOD, 0.3), "epsilon"),
        (lambda: partial_delta(math.nan, GOOD, 0.3), "epsilon"),
        (lambda: partial_delta(1, GOOD, 0.0), "no natural noise"),
        (lambda: partial_delta(1, GOOD, 1), "no natural noise"),
        (lambda: partial_delta(1, GOOD, 4000), "divide a count"),
        (lambda: partial_delta(1, GOOD, "a"), "bias must be a finite number"),
        (lambda: partial_delta(1, 10, 0.3), "Knowledge"),
        (lambda: partial_delta(1, GOOD, 0.3, 2.0), "must say its unit"),
        (lambda: Noise(-1.0), "noise"),
        (lambda: Noise(math.inf), "noise"),
        (lambda: Noise.on_share(0.1, 0), "n must be"),
        (lambda: Mixture([0.3, 0.7], [0.5]), "one each"),
        (lambda: Mixture([0.3, 0.7], [0.5, 0.6]), "add up"),
        (lambda: Mixture([0.3, 1.0], [0.5, 0.5]), "no natural noise"),
        (lambda: partial_delta(1, Knowledge(10**6, 10**5), Mixture([0.3], [1.0])), "fewer known"),
        (lambda: Noise("3"), "noise must be a finite number"),
        (lambda: Noise.on_share(3.5, 1000), "looks like noise on a count"),
        (lambda: Noise.on_share("0.1", 10), "noise must be a finite number"),
        (lambda: partial_delta("1", GOOD, 0.3), "epsilon must be a finite number"),
        (lambda: partial_delta(1, GOOD, "0.3"), "bias must be a finite number"),
        (lambda: partial_delta(1, GOOD, 30), "30 percent is 0.3"),
        (lambda: partial_delta(1, GOOD, Mixture([0.3], [1.0]), Noise(1e300)), "drowns it"),
        (lambda: Mixture([0.3, 1e-300], [0.5, 0.5]), "too small"),
        (lambda: partial_delta(1, GOOD, math.nan), "bias must be a finite number"),
        (lambda: literal_delta(1, Knowledge(10**6, 10), 0.3, Noise(0.1)), "partial_delta"),
    ],
    ids=range(31),
)
def test_bad_input(call, said):
    with pytest.raises(CorrdpError, match=said):
        call()


def test_units_do_not_mix():
    with pytest.raises(TypeError):
        assert Noise(27.4) < 0.0048
    with pytest.raises(TypeError):
        min(Noise(27.4), 0.0048)
    assert Noise.on_share(0.25, 64) == Noise(16.0)
    assert Noise(48.0).of_share(10_000) == 0.0048
    assert Noise(3.56493581).mean_error == pytest.approx(2.84440724, abs=6e-9)
    with pytest.raises(InputError):
        partial_delta(0.1, GOOD, 0.4, 0.0048)
