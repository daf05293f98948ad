"""What the source claims about privacy loss and bias: the true ones hold, the false ones have their
counter-example."""

from __future__ import annotations

import math

import numpy as np
import pytest
from corrdp_reproduction.knowledge.printed import truncation_error
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom, norm

from corrdp._binomial import log_binomial


def loss(unknown: int, bias: float, beta: float, x: float) -> float:
    """ln f_1(x) / f_0(x), signed."""
    logs, k = log_binomial(unknown, bias, whole=True)[1], np.arange(unknown + 1)
    one, zero = (logsumexp(logs - ((x - a - k) / beta) ** 2 / 2) for a in (1, 0))
    return float(one - zero)


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def test_the_loss_vanishes_near_the_share_seen():
    """At (o - q(D'))/(n - n') without noise; with noise the zero moves."""
    zeros = {0.05: 0.4000, 0.5: 0.39981, 1: 0.39914, 3: 0.39660, 10: 0.39498}
    for beta, expected in zeros.items():
        found = brentq(lambda p, b=beta: loss(19, p, b, 8.0), 0.1, 0.9)
        assert found == pytest.approx(expected, abs=6e-6)


def test_the_signed_loss_falls_with_the_bias():
    """For Gaussian noise too: so the absolute loss is largest at an end of any interval.

    ln f_1/f_0 falls as the bias rises: a large count is then less of a surprise.
    """
    rng = np.random.default_rng(3)
    for _ in range(60):
        unknown, beta = int(rng.integers(1, 60)), float(rng.uniform(0.2, 5))
        x = float(rng.uniform(-2, unknown + 3))
        losses = [loss(unknown, p, beta, x) for p in np.linspace(0.05, 0.95, 15)]
        assert np.all(np.diff(losses) <= 1e-9)


def test_the_bias_of_the_whole_lies_between():
    """Westenfeld (2022), corollaries 4.15 and 4.16."""
    assert pytest.approx(0.4) == 0.6 * (1 / 3) + 0.4 * 0.5


def test_near_is_not_always_safer():
    """The loss is not ordered by the distance from the bias of the table."""
    fixed = abs(logit(0.4) - logit(0.5))  # q(D') = 1000 of 3000 known: the rest are half ones
    assert fixed == pytest.approx(0.405465, abs=6e-7)
    assert fixed > abs(logit(0.5) - logit(0.5)) == 0

    def moving(bias: float) -> float:
        """The known records have this bias; the table's is .4, so the rest have another."""
        rest = (0.4 - 0.6 * bias) / 0.4
        return abs(logit(bias) - logit(rest))

    assert moving(0.297) == pytest.approx(1.080494, abs=6e-7)
    assert moving(0.5) == pytest.approx(1.098612, abs=6e-7)
    assert moving(0.297) < moving(0.5)
    assert abs(0.297 - 0.4) > abs(0.5 - 0.4)


def test_large_losses_can_be_likelier():
    """The law of the loss need not fall."""
    mean, sd = 1 / (2 * 0.3**2), 1 / 0.3
    density = [norm.pdf(y, mean, sd) + norm.pdf(-y, mean, sd) for y in (0, 5.56)]
    assert density == pytest.approx([0.0597, 0.1202], abs=6e-5)
    logs = np.exp(log_binomial(20, 0.4)[1])
    steps = {abs(math.log(logs[j - 1] / logs[j])): logs[j - 1] for j in range(1, 21)}
    small = sorted(steps)[:2]
    assert small == pytest.approx([0.0800, 0.1178], abs=6e-5)
    assert [steps[s] for s in small] == pytest.approx([0.16588, 0.17971], abs=6e-6)


def test_the_printed_bound_says_nothing():
    """Without the factor n it is about one half; Lemma 4.10 is loose by a factor of 9."""
    width = 0.052596559 / 2 - 1 / 10**4
    assert 0.5 * math.exp(-width * 0.2 / 2) == pytest.approx(0.49869, abs=6e-6)
    assert truncation_error(40, 0.5, 1.0, 1.0) == pytest.approx(0.0086516952, abs=6e-11)
    strip = 0.5 * (math.exp(-19 / 4) - math.exp(-20 / 4))
    assert strip == pytest.approx(0.0009568741, abs=6e-11)


def test_printed_weights_do_not_add_up():
    """Lemma 4.3 carries the probability of one table as well."""
    bias, n, hits = 0.4, 6, 2
    extra = bias**hits * (1 - bias) ** (n - hits)
    total = sum(extra * binom.pmf(k, 2, bias) for k in range(3))
    assert total == pytest.approx(0.020736, abs=1e-12)
