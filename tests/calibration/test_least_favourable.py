"""Limits for one number: how far rows move, where to, and how often the truth leaks no more."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri, rel_entr

import corrdp as cdp
from corrdp.bounds.chains.orders import uninformed_limit
from corrdp.calibration.least_favourable import has_limits, least_favourable
from corrdp.models.chains.chain import SwitchingChain
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.seasons import MIN_SEEN
from tests.helpers.walks import walk

APART = 1.0 - np.eye(2)
SPREAD = float(ndtri(0.95)) ** 2
FIRST = np.array([[0.9, 0.1], [0.3, 0.7]])
SECOND = np.array([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8]])
DAY, NIGHT = np.array([[0.7, 0.3], [0.25, 0.75]]), np.array([[0.95, 0.05], [0.5, 0.5]])


def fitted(kernel, length, seed, order=1, **options):
    rng = np.random.default_rng(seed)
    path = cdp.WindowChain(kernel, order, length=length).sample(rng) if order > 1 else None
    path = walk(kernel, (1, length), seed)[0] if path is None else path
    return cdp.MarkovChain.fit(np.asarray(path).tolist(), order=order, **options)


@pytest.mark.parametrize(("kernel", "order"), [(FIRST, 1), (SECOND, 2)])
def test_every_row_moves_as_far_as_its_counts_allow(kernel, order):
    chain = fitted(kernel, 3_000, 1, order)
    counts = chain.fitted.window_counts(order).sum(axis=1)
    for moved in least_favourable(chain, 0.95):
        apart = rel_entr(chain.transition, moved.transition).sum(axis=1)
        assert 2.0 * counts * apart == pytest.approx(SPREAD, rel=1e-6)
        assert cdp.leakage(moved, 0.1).value > cdp.leakage(chain, 0.1).value
    (least,) = least_favourable(chain, 0.5)
    assert np.allclose(least.transition, chain.transition)


def test_which_side_leaks_more_depends_on_epsilon():
    kernel = np.array([[0.95, 0.05], [0.5, 0.5], [0.8, 0.2], [0.3, 0.7]])
    small, large = least_favourable(fitted(kernel, 6_000, 2, 2), 0.95)
    for epsilon, best, other in ((0.1, small, large), (1.0, large, small)):
        assert cdp.leakage(best, epsilon).value > cdp.leakage(other, epsilon).value


def test_more_data_move_less():
    far, near = (least_favourable(fitted(FIRST, n, 3), 0.95)[0] for n in (400, 40_000))
    assert np.abs(far.transition - FIRST).max() > 3.0 * np.abs(near.transition - FIRST).max()


def test_what_was_never_seen_stays_so():
    chain = cdp.MarkovChain.fit([0, 1, 2, 1, 0, 1, 1, 2] * 80, zeros="structural")
    moved = least_favourable(chain, 0.95)[0]
    assert ((moved.transition > 0) == (chain.transition > 0)).all()
    assert moved.transition.sum(axis=1) == pytest.approx(1.0)


def test_every_kernel_of_seasons_and_halves_moves_by_itself():
    law = SeasonalChain([DAY, NIGHT], [0] * 12 + [1] * 12)
    data = law.sample(np.random.default_rng(2), 6_000).tolist()
    chain = cdp.MarkovChain.fit(data, season=24)
    moved = least_favourable(chain, 0.95)[0]
    for g, counts in enumerate(chain.counted.by_kernel(2)):
        apart = rel_entr(chain.transition[g], moved.transition[g]).sum(axis=1)
        assert 2.0 * counts.sum(axis=1) * apart == pytest.approx(SPREAD, rel=1e-6)
    parts = fitted(DAY, 2_000, 4), fitted(NIGHT, 2_000, 5)
    both = least_favourable(SwitchingChain(parts, None, (0, 1)), 0.95)[0]
    for one, other in zip(both.parts, parts, strict=True):
        assert (one.transition == least_favourable(other, 0.95)[0].transition).all()


def test_four_states_and_long_windows_have_a_side_too():
    rng = np.random.default_rng(6)
    four = rng.dirichlet(np.ones(4), 4)
    for order in (1, 2):
        chain = fitted(np.tile(four, (4 ** (order - 1), 1)), 20_000, 7, order)
        moved = least_favourable(chain, 0.95)[0]
        assert not np.allclose(moved.transition, chain.transition)
        assert ((moved.transition > 0) == (chain.transition > 0)).all()


# -- the truth leaks no more in 95 % of fits --------------------------------------------------


def leaks(kernel, order, epsilon):
    if order > 1:
        return uninformed_limit(cdp.WindowChain(kernel, order), epsilon * APART)
    return cdp.leakage(cdp.MarkovChain(kernel), epsilon).value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "order", "length"),
    [
        (FIRST, 1, 300),
        (FIRST, 1, 5_000),
        ([[0.99, 0.01], [0.2, 0.8]], 1, 700),
        (SECOND, 2, 1_000),
        ([[0.95, 0.05], [0.5, 0.5], [0.8, 0.2], [0.3, 0.7]], 2, 600),
        ([[0.95, 0.05], [0.5, 0.5], [0.8, 0.2], [0.3, 0.7]], 2, 6_000),
    ],
)
def test_the_truth_leaks_no_more(kernel, order, length):
    """In 95 % of fits or more, at every epsilon."""
    kernel, levels = np.array(kernel), (0.1, 1.0, 3.0)
    truth = np.array([leaks(kernel, order, e) for e in levels])
    held, fits = np.zeros(3), 0
    for seed in range(300):
        chain = fitted(kernel, length, seed, order)
        if not has_limits(chain) or chain.fitted.row_counts(order).sum(axis=1).min() < MIN_SEEN:
            continue  # priced by fitted numbers, or by those of the chosen chain
        moved = least_favourable(chain, 0.95)
        held += truth <= [max(leaks(m.transition, order, e) for m in moved) for e in levels]
        fits += 1
    assert fits > 100
    assert (held >= 0.95 * fits).all()
