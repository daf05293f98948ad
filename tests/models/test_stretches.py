"""Records that look alike, against windows written out; a law that repeats, against its steps."""

from __future__ import annotations

import numpy as np
import pytest

from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.stretches import Stretches, Surroundings, distinct


def sequences(rng: np.random.Generator, n: int) -> np.ndarray:
    """At random, in stretches, or repeating."""
    few = rng.integers(0, 3, n)
    kind = rng.integers(3)
    if kind == 0:
        return few
    if kind == 1:
        return np.repeat(few, rng.integers(1, 12, n))[:n]
    return np.resize(few[: int(rng.integers(1, 8))], n)


def test_surroundings_are_equal_where_the_windows_are():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 60))
        sequence, reach = sequences(rng, n), int(rng.integers(1, max(2, n)))
        around = Surroundings(Stretches.of(sequence), reach)
        assert around.counts.sum() == n
        right, left = (np.repeat(kind, around.counts) for kind in (around.right, around.left))
        ahead = [tuple(sequence[t : t + reach + 1]) for t in range(n)]
        behind = [tuple(sequence[t - reach : t + 1]) if t >= reach else t for t in range(n)]
        for numbers, windows in ((right, ahead), (left, behind)):
            pairs = set(zip(numbers.tolist(), windows, strict=True))
            assert len(pairs) == len(set(windows)) == len(set(numbers.tolist()))


def test_one_code_for_different_entries_is_noticed(monkeypatch: pytest.MonkeyPatch):
    """All codes alike: the entries themselves decide."""

    class Zeros:
        def integers(self, top: int, size: int, dtype: type) -> np.ndarray:
            return np.zeros(size, dtype=dtype) + dtype(2**63)  # times two is 0, plus one is 1

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Zeros())
    stack = np.array([[0.25, 0.75], [0.75, 0.25], [0.25, 0.75], [0.5, 0.5]])
    values, which = distinct(stack)
    np.testing.assert_array_equal(values[which], stack)
    assert len(values) == 3


def test_possible_states_step_by_step():
    rng = np.random.default_rng(1)
    for _ in range(200):
        s, n = int(rng.integers(2, 5)), int(rng.integers(2, 30))
        kernels = rng.random((3, s, s)) * (rng.random((3, s, s)) < rng.choice([0.3, 0.6, 1]))
        kernels[:, np.arange(s), rng.integers(0, s, s)] += 0.1
        kernels /= kernels.sum(axis=2, keepdims=True)
        steps = kernels[sequences(rng, n - 1)]
        chain = MarkovChain(steps, initial=np.eye(s)[rng.integers(s)])
        seen = chain.first
        for t, kernel in enumerate(steps):
            assert (chain.support[t] == seen).all()
            seen = (kernel[seen] > 0).any(axis=0)
        assert (chain.support[-1] == seen).all()
        assert MarkovChain(steps.copy(), initial=chain.initial).digest == chain.digest
