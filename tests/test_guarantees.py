"""What a mechanism promises: one number, or one per record; wrong ones are refused in words."""

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import InputError
from corrdp.guarantees import as_guarantee


def test_levels_per_record():
    pair = cdp.Approximate([1, 0, 0.5], 1e-6)
    assert pair.is_vector
    assert (pair.largest, pair.largest_delta) == (1.0, 1e-6)
    epsilon, delta = pair.pairs(3)
    assert list(epsilon) == [1, 0, 0.5]
    assert list(delta) == [1e-6] * 3
    assert list(cdp.GDP([0.5, 0]).vector(2)) == [0.5, 0]
    assert list(cdp.ZCDP(0.5).vector(2)) == [0.5, 0.5]
    with pytest.raises(InputError, match="mu has 2 entries and the model 3 records"):
        cdp.GDP([0.5, 0]).vector(3)
    with pytest.raises(InputError, match="epsilon has 2 entries and delta 3"):
        cdp.Approximate([1, 1], [0.1, 0.1, 0.1])


def test_equal_levels_are_equal():
    assert cdp.GDP(0.5) == cdp.GDP(0.5) != cdp.GDP(0.25)
    assert cdp.GDP([0.5, 0]) == cdp.GDP(np.array([0.5, 0]))
    assert hash(cdp.Approximate(1, 0.1)) == hash(cdp.Approximate(1.0, 0.1))
    assert cdp.GDP(0.5) != cdp.ZCDP(0.5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cdp.GDP(-1), "mu must be a finite number > 0"),
        (lambda: cdp.GDP(0), "mu must be a finite number > 0"),
        (lambda: cdp.GDP([0.0, 0.0]), "mu is 0 for every record"),
        (lambda: cdp.GDP([0.5, -1]), r"mu\[1\]"),
        (lambda: cdp.ZCDP(float("nan")), "rho must be"),
        (lambda: cdp.Approximate(1, -0.1), "delta must be"),
        (lambda: cdp.Approximate(1, 1.5), "delta must be"),
        (lambda: cdp.Approximate(1, [0.1, 1.5]), "delta must be at most 1"),
        (lambda: cdp.Approximate(-1, 0.1), "epsilon must be"),
        (lambda: cdp.Profile(0.1), "delta must be a function"),
        (lambda: as_guarantee("GDP"), "number or a guarantee"),
    ],
)
def test_wrong_levels_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
