"""What guesses tell about records, in bits, next to how often they are right."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corrdp import MarkovChain
from corrdp.attacks import ForwardBackward, SingleBit
from corrdp.attacks.base import mutual_information
from corrdp.local import BinaryResponse


def test_guesses_of_one_state_tell_nothing_however_often_right():
    records = np.array([0] * 90 + [1] * 10)
    assert mutual_information(records, np.zeros(100, dtype=int), 2) == 0.0


@pytest.mark.parametrize("flip", [0.1, 0.3, 0.9])
def test_a_binary_channel(flip):
    """1 - h(flip) bits for an even record, turned round or not."""
    rng = np.random.default_rng(1)
    records = rng.integers(0, 2, 100_000)
    guesses = records ^ (rng.random(100_000) < flip)
    entropy = -flip * math.log2(flip) - (1 - flip) * math.log2(1 - flip)
    assert mutual_information(records, guesses, 2) == pytest.approx(1 - entropy, abs=2e-2)


def test_more_than_two_states_by_hand():
    records, guesses = np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1])
    assert mutual_information(records, guesses, 3) == pytest.approx(1.0)


def test_attacks_say_their_bits():
    chain, response = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 20_000), BinaryResponse(0.3)
    rng = np.random.default_rng(2)
    records = chain.sample(rng)
    reports = response.sample(records, rng)
    one, all_ = (
        attack(response).run(reports, chain, records) for attack in (SingleBit, ForwardBackward)
    )
    assert 0 < one.bits < all_.bits < 1
    assert "bits of each record" in repr(all_)
    assert SingleBit(response).run(reports, chain).bits is None
