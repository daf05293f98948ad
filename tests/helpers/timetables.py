"""Chains with seasons whose kernels lie in boxes, and what they are held against."""

from __future__ import annotations

import numpy as np

from corrdp.bounds.chains.boxes import Box
from corrdp.bounds.chains.timetables import Round, certify_round
from corrdp.models.chains.seasonal import SeasonalChain
from tests.helpers.boxes import random_box
from tests.oracles.orders import lp_by_record, product_output, window_joint

APART = 1.0 - np.eye(2)
# what may be followed by an active interval: a night, a morning and a day
HOURS = [
    Box((0.009, 0.03), (0.031, 0.42)),
    Box((0.17, 0.75), (0.28, 0.85)),
    Box((0.08, 0.44), (0.17, 0.68)),
]
SECOND = [
    Box((0.02, 0.16, 0.03, 0.2), (0.04, 0.47, 0.25, 0.68)),
    Box((0.1, 0.59, 0.37, 0.76), (0.2, 0.84, 0.67, 0.87)),
]


def random_boxes(rng, order, seasons):
    """Boxes of rows of any kind, some of them nearly certain, some of no width."""
    certain, widths = [0.01, 0.99, 0.5, 0.1], [0.0, 0.01, 0.1, 0.5]
    return [random_box(rng, 2**order, 2.5, certain, widths) for _ in range(seasons)]


def random_pattern(rng, seasons):
    """Every season at least once, in stretches or from record to record."""
    most = int(rng.integers(1, 5))
    turns = [g for g in rng.permutation(seasons).tolist() for _ in range(rng.integers(1, most + 1))]
    return turns + rng.integers(0, seasons, size=rng.integers(0, 3)).tolist()


def kernels_in(boxes, rng, count):
    """Kernels for the seasons: corners and points inside."""
    low, high = (np.array([getattr(box, end) for box in boxes]) for end in ("low", "high"))
    for k in range(count):
        inside = rng.uniform(low, high)
        ones = inside if k % 3 == 2 else np.where(rng.random(low.shape) < 0.5, low, high)
        yield np.stack([1.0 - ones, ones], axis=2)


def chain_of(tables, pattern, order):
    return SeasonalChain(tables, pattern, order)


def priced(boxes, pattern, eps):
    order = boxes[0].order
    chain = next(kernels_in(boxes, np.random.default_rng(0), 1))
    return certify_round(Round.over(chain_of(chain, pattern, order), boxes), eps * APART)


def begun(chain, place, n):
    """Tables of n records that begin at a place of the period, and the law of the first window."""
    period, k = len(chain.pattern), chain.order
    turned = SeasonalChain(chain.transition, np.roll(chain.pattern, -place), k)
    turns = np.array(chain.pattern)[(place + np.arange(n) - k + 1) % period]
    return chain.transition[turns], turned.start


def check_program(chain, most, eps, n):
    """The linear program over all mechanisms, every word, every place of beginning."""
    for place in range(len(chain.pattern)):
        tables, start = begun(chain, place, n)
        joint = window_joint(tables, chain.order, start, n)
        truth = lp_by_record(joint, np.full(n, eps), 2).max()
        assert truth <= most * (1.0 + 1e-7), (chain.transition, chain.pattern, eps)  # the solver's


def attained_by(chain, eps, rng, words, n=31):
    """The most that one output tells, some records at random being known."""
    target, best = n // 2, 0.0
    for _ in range(words):
        place = int(rng.integers(len(chain.pattern)))
        tables, start = begun(chain, place, n)
        known = {}
        for side in (-1, 1):
            at = target + side * int(rng.integers(1, n // 2))
            known |= {at: int(rng.integers(2))}
            if rng.random() < 0.5 and 0 <= at + side < n:
                known |= {at + side: int(rng.integers(2))}
        values = (0, 1) if rng.random() < 0.5 else (1, 0)
        told = product_output(tables, chain.order, start, n, eps, target, values, known)
        best = max(best, told)
    return best
