"""Roll-ups: estimates that add up, with less error than plain answers, and intervals that hold."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import corrdp as cdp
from corrdp.errors import InputError
from corrdp.mechanisms.discrete_gaussian import DiscreteNormal
from corrdp.release.cells import CellTable, Tables
from corrdp.release.number import prepare
from corrdp.release.rollup import NoiseLaw, Rollup
from tests.helpers.chances import CHANCE

DAYS = [np.repeat(np.arange(5), 24), np.zeros(5, int)]  # hours, days, the total
PLACES = [np.repeat(np.arange(4), [1, 3, 5, 3]), np.array([0, 0, 1, 1])]  # and two cities
TREES = [
    (DAYS, [120, 5, 1], [6.0, 6.0, 6.0], False),
    (PLACES, [12, 4, 2], [2.0, 1.0, 4.0], False),
    (PLACES, [12, 4, 2], [0.7, 1.0, 4.0], True),
    (PLACES[:1], [12, 4], [30.0, 50.0], True),
]


def design(parents: list[np.ndarray], sizes: list[int]) -> np.ndarray:
    """Which of the finest cells each cell is made of: one row for each cell."""
    rows = [np.eye(sizes[0])]
    for parent, size in zip(parents, sizes[1:], strict=True):
        finer = rows[-1]
        rows.append(np.array([finer[parent == k].sum(axis=0) for k in range(size)]))
    return np.vstack(rows)


def draws(rng: np.random.Generator, scale: float, normal: bool, shape: tuple[int, int]):
    if normal:
        return DiscreteNormal(scale).sample(rng, shape[0] * shape[1]).reshape(shape)
    pairs = rng.geometric(-np.expm1(-1 / scale), (2, *shape))
    return pairs[0] - pairs[1]


@pytest.mark.parametrize(("parents", "sizes", "scales", "normal"), TREES)
def test_estimates_are_those_of_weighted_least_squares(parents, sizes, scales, normal):
    laws = [NoiseLaw(scale, normal) for scale in scales]
    rollup, rng = Rollup(parents, laws, sizes), np.random.default_rng(2)
    answers = [rng.normal(size=size) for size in sizes]
    found = rollup.estimates(answers)
    X = design(parents, sizes)
    weights = np.concatenate([np.full(n, law.variance) for n, law in zip(sizes, laws, strict=True)])
    w = 1 / weights
    best = np.linalg.solve(X.T @ (w[:, None] * X), X.T @ (w * np.concatenate(answers)))
    np.testing.assert_allclose(np.concatenate(found), X @ best, atol=1e-10)
    spread = np.sqrt(np.diag(X @ np.linalg.inv(X.T @ (w[:, None] * X)) @ X.T))
    told = [rollup.deviation(path) for k in range(len(sizes)) for path in rollup.paths(k)]
    np.testing.assert_allclose(told, spread, rtol=1e-9)


@pytest.mark.parametrize(("parents", "sizes", "scales", "normal"), TREES)
def test_estimates_err_less_and_their_intervals_cover(parents, sizes, scales, normal):
    rng, runs = np.random.default_rng(5), 1_000
    laws = [NoiseLaw(scale, normal) for scale in scales]
    rollup = Rollup(parents, laws, sizes)
    noise = [
        draws(rng, s, normal, (runs, n)).astype(float) for s, n in zip(scales, sizes, strict=True)
    ]
    errors = [np.empty((runs, n)) for n in sizes]
    for run in range(runs):
        for level, found in enumerate(rollup.estimates([part[run] for part in noise])):
            errors[level][run] = found
    for level, (plain, better) in enumerate(zip(noise, errors, strict=True)):
        assert (better**2).mean() < (plain**2).mean()
        radii = rollup.radii(level, 0.9)
        # each cell alone: never below the level, and hardly above it
        inside = (np.abs(better[:, 0]) <= radii[0] + 1e-9).sum()
        assert stats.binomtest(int(inside), runs, 0.9, "less").pvalue > CHANCE
        assert inside / runs < 0.96
        joint = rollup.radii(level, 0.9, sizes[level])
        held = (np.abs(better) <= joint + 1e-9).all(axis=1).sum()
        assert stats.binomtest(int(held), runs, 0.9, "less").pvalue > CHANCE


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("scale", [0.3, 0.8, 3.0, 40.0])
def test_characteristic_functions_are_those_of_the_law(scale, normal):
    k = np.arange(-4_000, 4_001)
    if normal:
        p = np.exp(DiscreteNormal(scale).logpmf(k))
    else:
        p = np.tanh(0.5 / scale) * np.exp(-np.abs(k) / scale)
    law, t = NoiseLaw(scale, normal), np.linspace(0, 9, 40)
    direct = np.cos(np.multiply.outer(t, k)) @ p
    np.testing.assert_allclose(np.exp(law.log_cf(t)), direct, atol=1e-12)
    assert law.variance == pytest.approx(float((k**2 * p).sum()), rel=1e-6)


def test_one_answer_of_its_own_has_its_own_law():
    """Without parts or a total the radius is that of the noise, up to the slack."""
    for law in (NoiseLaw(5.0), NoiseLaw(5.0, True)):
        (radius,) = Rollup([], [law], [1]).radii(0, 0.95)
        table = CellTable(cdp.Count(1).to_dict(), (), ((),), (0,), 5.0, 1.0,
                          5.0 if law.normal else None)  # fmt: skip
        exact = table.radius(0.95)
        assert exact <= radius < exact + 1 + 0.04 * law.variance**0.5
    with pytest.raises(InputError, match="ask for a lower level"):
        Rollup([], [NoiseLaw(1.0)], [1]).radii(0, 1 - 1e-12)


def test_whole_numbers_that_add_up():
    rng = np.random.default_rng(8)
    rollup = Rollup(PLACES, [NoiseLaw(3.0)] * 3, [12, 4, 2])
    for _ in range(200):
        estimates = rollup.estimates([rng.normal(2, 5, n) for n in (12, 4, 2)])
        found = rollup.whole(estimates)
        for fine, coarse, parent in zip(found, found[1:], PLACES, strict=False):
            assert (fine >= 0).all()
            assert (fine == np.rint(fine)).all()
            np.testing.assert_array_equal(np.bincount(parent, fine, len(coarse)), coarse)


def test_parts_are_the_nearest_that_add_up():
    """Against a search over all ways to share a total out."""
    rollup = Rollup([np.zeros(3, int)], [NoiseLaw(1.0)] * 2, [3, 1])
    rng = np.random.default_rng(3)
    for _ in range(30):
        parts, total = rng.normal(1, 3, 3), float(rng.integers(0, 7))
        found = rollup.whole([parts, np.array([total])])[0]
        ways = [w for w in itertools.product(range(8), repeat=3) if sum(w) == total]
        best = min(((np.array(w) - parts) ** 2).sum() for w in ways)
        assert ((found - parts) ** 2).sum() <= best + 1.0  # rounded after the projection


def test_a_release_adds_up_and_covers():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]])
    frame = pa.table({"t": list(range(40)), "s": [1] * 40, "place": list("abcd") * 10,
                      "side": list("nnss") * 10})  # fmt: skip
    asked = cdp.Count(1, by=["side", "place"], public_columns=["side", "place"]).rollup()
    found = cdp.calibrate(chain, 2.0, query=asked, weights=[2, 1, 1])
    ready = prepare(found, frame, state="s")
    held, runs, errors = 0, 250, []
    low, high = np.array(ready.draw().interval(0.8)[1]).T
    radius = (high - low) / 2
    for _ in range(runs):
        answer = ready.draw()
        fine, side, total = answer.value
        np.testing.assert_allclose([fine[0] + fine[1], fine[2] + fine[3]], side, rtol=1e-9)
        assert sum(side) == pytest.approx(total)
        held += bool((np.abs(np.array(side) - 20) <= radius).all())
        plain = answer.tables[1].drawn
        errors.append([np.mean((np.array(side) - 20) ** 2), np.mean((plain - 20) ** 2)])
    assert stats.binomtest(held, runs, 0.8, "less").pvalue > 1e-9
    better, plain = np.mean(errors, axis=0)
    rollup = Tables(answer.tables).nested[0][1]
    assert rollup.deviation(rollup.paths(1)[0]) ** 2 < answer.tables[1].law.variance
    assert better < 1.3 * plain


def test_tables_that_are_no_roll_ups_are_left_alone():
    def table(names: tuple[str, ...], cells: tuple, asked: cdp.Count) -> CellTable:
        return CellTable(asked.to_dict(), names, cells, (0,) * len(cells), 1.0, 1.0)

    fine = table(("a", "b"), ((0, 0), (0, 1), (1, 0)), cdp.Count(1, by=["a", "b"]))
    coarse = table(("a",), ((0,), (1,)), cdp.Count(1, by=["a"]))
    other = table(("a",), ((0,), (1,)), cdp.Count(0, by=["a"]))
    short = table(("a",), ((0,),), cdp.Count(1, by=["a"]))
    across = table(("b",), ((0,), (1,)), cdp.Count(1, by=["b"]))
    assert [chain for chain, _ in Tables([coarse, fine]).nested] == [[1, 0]]
    assert Tables([fine, other]).nested == []
    assert Tables([fine, short]).nested == []
    chains = [chain for chain, _ in Tables([fine, coarse, across]).nested]
    assert chains == [[0, 1]]
