"""Contexts of variable length: rows of windows with too few data, what a region holds of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import NotApplicableError
from corrdp.models.chains.contexts import by_context, context_lengths
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.files import model_from_dict

LAST_TWO = np.array([[0.95, 0.05], [0.4, 0.6], [0.8, 0.2], [0.2, 0.8]])


def plain_rows(table: dict[tuple[int, ...], list[int]], order: int, s: int) -> dict:
    """Window by window: the counts after its longest end that has data enough."""

    def after(end: tuple[int, ...]) -> np.ndarray:
        own = [n for window, n in table.items() if window[order - len(end) :] == end]
        return np.sum(own, axis=0)

    found = {}
    for window in table:
        row, end = after(window), window
        while len(end) > 1 and row.sum() < 20 and ((row == 0) & (after(window[-1:]) > 0)).any():
            end = end[1:]
            row = after(end)
        found[window] = (end, row)
    return found


@pytest.mark.parametrize(("order", "s"), [(1, 3), (2, 2), (2, 3), (3, 2), (5, 2)])
def test_rows_against_a_plain_loop(order, s):
    rng = np.random.default_rng(order)
    for mean in (1, 5, 30):
        counts = rng.poisson(mean * rng.random((1, s**order, s)) ** 3) + (rng.random(s) < 0.02)
        windows = list(itertools.product(range(s), repeat=order))
        plain = plain_rows(dict(zip(windows, counts[0].tolist(), strict=True)), order, s)
        shared, lengths = by_context(counts)[0], context_lengths(counts)[0]
        reached = {(*w, y)[1:] for w, row in zip(windows, counts[0], strict=True)
                   for y in np.flatnonzero(row)}  # fmt: skip
        for window, row, length in zip(windows, shared, lengths, strict=True):
            end, wanted = plain[window]
            assert length == len(end)
            if row.any() or window in reached or counts[0][windows.index(window)].any():
                np.testing.assert_array_equal(row, wanted)


def walks(seed: int, length: int, order: int = 2) -> tuple[cdp.WindowChain, np.ndarray]:
    """A chain that remembers two records, written as one that remembers more."""
    law = np.tile(LAST_TWO, (2 ** (order - 2), 1))
    chain = cdp.WindowChain(law, order)
    return chain, chain.sample(np.random.default_rng(seed), length)


def test_a_long_memory_on_few_data_has_a_finite_region():
    data = walks(1, 1_500)[1]
    apart = cdp.MarkovChain.fit(data, order=5, pool=False)
    with pytest.raises(NotApplicableError, match="was never seen"):
        cdp.calibrate(apart, 1.0, query=cdp.Count(1))
    chain = cdp.MarkovChain.fit(data, order=5)
    assert apart.region(0.95).unseen
    assert not chain.region(0.95).unseen
    assert cdp.calibrate(chain, 1.0, query=cdp.Count(1), method="blocks").epsilon > 0
    assert any("take the row of their last records" in text for text in chain.assumptions)
    counts = chain.fitted.window_counts(5)[None]
    np.testing.assert_allclose(
        chain.transition, by_context(counts)[0] / by_context(counts)[0].sum(axis=1, keepdims=True)
    )
    again = model_from_dict(chain.to_dict())
    assert again.digest == chain.digest
    np.testing.assert_array_equal(again.region(0.9).upper, chain.region(0.9).upper)


def test_where_every_window_has_data_nothing_changes():
    data = walks(2, 4_000)[1]
    chain, apart = (cdp.MarkovChain.fit(data, order=2, pool=pool) for pool in (True, False))
    assert chain.digest == apart.digest
    assert "contexts" not in chain.to_dict()["fit"]
    assert chain.shortened == ""


def test_a_private_fit_does_not_look():
    data = walks(3, 300)[1]
    chain = cdp.MarkovChain.fit(data, order=4, private_epsilon=1.0, states=[0, 1])
    assert not chain.fitted.contexts


def test_seasons_have_contexts_of_their_own():
    day, night = LAST_TWO, np.array([[0.99, 0.01], [0.3, 0.7], [0.98, 0.02], [0.2, 0.8]])
    law = SeasonalChain([np.tile(k, (2, 1)) for k in (night, day)], [0] * 6 + [1] * 6, 3)
    data = law.sample(np.random.default_rng(5), 2_000)
    chain = cdp.MarkovChain.fit(data[:600], season=2, order=3)
    assert chain.fitted.contexts
    assert "take the row of their last records" in chain.shortened
    assert not chain.region(0.95).unseen
    assert model_from_dict(chain.to_dict()).digest == chain.digest


def covered(seeds, length: int, order: int) -> float:
    """How often the region holds the law, which remembers less than the fit."""
    held = 0
    for seed in seeds:
        law, data = walks(seed, length, order)
        box = cdp.MarkovChain.fit(data, order=order).region(0.95)
        held += bool(((box.lower <= law.transition) & (law.transition <= box.upper)).all())
    return held / len(seeds)


def test_the_region_holds_the_truth():
    assert covered(range(40), 1_000, 4) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("length", "order"), [(400, 3), (1_000, 4), (1_500, 5)])
def test_the_region_covers_as_it_says(length, order):
    assert covered(range(400), length, order) >= 0.95
