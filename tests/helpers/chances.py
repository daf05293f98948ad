"""When a sampler is called wrong, and by how much chance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

CHANCE = 1e-6  # a sampler is called wrong when chance alone would do it this rarely


# the same where no seed is taken: by approximate laws too, no suite fails by chance before 1e-9
UNSEEDED = 1e-12


def assert_sampled_from(draws: np.ndarray, law: dict[int, float], chance: float = CHANCE) -> None:
    """Chi-square of draws against a law; rare values are pooled."""
    n = len(draws)
    common = [v for v, p in law.items() if n * p >= 10]
    seen = [int(np.sum(draws == v)) for v in common]
    expected = [n * law[v] for v in common]
    rest = n - sum(expected)
    if rest >= 5:
        seen.append(n - sum(seen))
        expected.append(rest)
    else:
        expected = [e * sum(seen) / sum(expected) for e in expected]
    assert stats.chisquare(seen, expected).pvalue > chance


def log_at_least(level: float, ratio: Fraction) -> bool:
    """Whether ``level >= ln(ratio)``, with forty digits."""
    from decimal import Decimal, getcontext

    getcontext().prec = 40
    return Decimal(level) >= (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


@contextmanager
def usual_noise() -> Iterator[None]:
    """Private fits with some noise that OpenDP might draw, the same in every run.

    For what comes of such a fit: now and then noise leaves nothing of a count.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "corrdp.mechanisms.sample.with_noise",
            lambda _, exact: [n + (-7, 4, 9, -5)[k % 4] for k, n in enumerate(exact)],
        )
        yield
