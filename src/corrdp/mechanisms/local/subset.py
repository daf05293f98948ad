"""Subset selection: the report is a set of values that contains the true one more often.

Sets are packed bits, one row per report: drawn, tested and sampled from in bulk. Value v is the bit
``v`` of ``numpy.unpackbits(row)``; the bits behind the last value are 0.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_choice
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_rng
from corrdp.mechanisms.local.base import TwoLevel, check_prior
from corrdp.mechanisms.response import state_numbers

_BYTES = np.arange(256, dtype=np.uint8)
_UNPACKED = np.unpackbits(_BYTES[:, None], axis=1)
_ONES = _UNPACKED.sum(axis=1, dtype=np.uint8)
# _PLACE[b, j]: where the j-th set bit of the byte b is
_PLACE = np.argsort(1 - _UNPACKED, axis=1, kind="stable").astype(np.uint8)
_EVERY = np.uint64(2**64 - 1)
_BLOCK_BYTES = 2**19  # rows searched at once: their counts stay in the cache
_DENSE_ROUNDS = 6  # after so many digits fewer than two in three words have an undecided bit


def width(k: int) -> int:
    """Bytes of a row of ``k`` bits."""
    return -(-k // 8)


def check_rows(name: str, rows: Any, k: int) -> np.ndarray:
    """Packed rows of ``k`` bits; anything else is an error."""
    array = np.asarray(rows)
    if array.dtype != np.uint8 or array.ndim < 1 or array.shape[-1] != width(k):
        raise InputError(
            f"{name} must be packed bits of {k} values: uint8 rows of {width(k)} bytes, as from "
            f"sample; got dtype {array.dtype} and shape {array.shape}"
        )
    spare = 8 * width(k) - k
    if spare and (array[..., -1] & ((1 << spare) - 1)).any():
        raise InputError(f"{name} has bits set behind the last of {k} values")
    return array


def bernoulli_rows(rng: np.random.Generator, rate: float, rows: int, k: int) -> np.ndarray:
    """``rows`` packed rows of ``k`` bits, each set with probability exactly ``rate``.

    A uniform number is compared with the rate digit by digit, 64 bits in one word: the numbers
    that still agree with the rate halve with every digit, so about eight words decide 64 bits.
    """
    words = -(-k // 64)
    bits = _bernoulli_words(rng, rate, rows * words)
    packed = bits.view(np.uint8).reshape(rows, 8 * words)[:, : width(k)].copy()
    spare = 8 * width(k) - k
    if spare:
        packed[:, -1] &= np.uint8(256 - (1 << spare))
    return packed


def _bernoulli_words(rng: np.random.Generator, rate: float, count: int) -> np.ndarray:
    numerator, denominator = rate.as_integer_ratio()  # a double is a binary fraction: exact
    result = np.zeros(count, dtype=np.uint64)
    undecided = np.full(count, _EVERY)
    places = np.arange(count)
    for digit in range(denominator.bit_length() - 1):
        draw = rng.integers(0, 2**64, undecided.size, dtype=np.uint64)
        if numerator >> (denominator.bit_length() - 2 - digit) & 1:
            below = undecided & ~draw  # the number is below the rate from here on
            if digit < _DENSE_ROUNDS:
                result |= below
            else:
                result[places] |= below
            undecided &= draw
        else:
            undecided &= ~draw
        if digit + 1 >= _DENSE_ROUNDS:
            left = np.flatnonzero(undecided)
            undecided, places = undecided[left], places[left]
            if not left.size:
                break
    return result


def put(rows: np.ndarray, values: np.ndarray, on: np.ndarray) -> None:
    """Set bit ``values[i]`` of row i to ``on[i]``, in place."""
    lines, places = np.arange(len(rows)), values >> 3
    masks = np.right_shift(128, values & 7).astype(np.uint8)
    cleared = rows[lines, places] & ~masks
    rows[lines, places] = np.where(on, cleared | masks, cleared)


def holds(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether bit ``values[i]`` of row i is set; leading shapes alike."""
    found = np.take_along_axis(rows, (values >> 3)[..., None], axis=-1)[..., 0]
    return (found >> (7 - (values & 7)).astype(np.uint8) & 1).astype(bool)


def ones(rows: np.ndarray) -> np.ndarray:
    """How many bits of each row are set."""
    return _ONES[rows].sum(axis=-1, dtype=np.int64)


def random_one(rows: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """A set bit of each row, each equally likely; any of ``k`` values where none is set."""
    flat = rows.reshape(-1, rows.shape[-1])
    chosen = np.empty(len(flat), dtype=np.int64)
    count = max(1, _BLOCK_BYTES // flat.shape[1])
    for first in range(0, len(flat), count):
        chosen[first : first + count] = _random_ones(flat[first : first + count], k, rng)
    return chosen.reshape(rows.shape[:-1])


def _random_ones(rows: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    cumulated = np.cumsum(_ONES[rows], axis=1, dtype=np.int32)
    total = cumulated[:, -1]
    rank = rng.integers(0, np.where(total > 0, total, k))
    place = np.minimum((cumulated <= rank[:, None]).sum(axis=1), rows.shape[1] - 1)
    lines = np.arange(len(rows))
    byte = rows[lines, place]
    within = rank - (cumulated[lines, place] - _ONES[byte])
    return np.where(total > 0, 8 * place + _PLACE[byte, np.minimum(within, 7)], rank)


_ROWS = 2**14  # reports drawn at once


@dataclass(frozen=True)
class SS(TwoLevel):
    r"""Subset selection: a random set of w values, with the true one among them w.p. p.

    .. math:: \Pr[y \mid x] = \frac{p}{\binom{k-1}{w-1}} \text{ if } x \in y, \text{ else }
              \frac{1-p}{\binom{k-1}{w}}, \qquad p = \frac{w e^\varepsilon}{w e^\varepsilon + k - w}

    where w is k/(e^eps + 1), rounded, at least 1. With a uniform prior

    .. math:: \mathrm{RAD} = \frac pw - \frac 1k
              = \frac{(k - w)(e^\varepsilon - 1)}{k (w e^\varepsilon + k - w)}, \qquad
              \mathrm{TV} = \frac{pk - w}{k - 1}

    and with w = 1 the protocol is randomized response. RAD jumps up where w drops.

    Parameters
    ----------
    k : int
    epsilon : float
    rounding : {"floor", "round"}
        How w becomes a whole number: the dissertation below takes the floor, public libraries the
        nearest. Auditing one as the other is off: with k=3052, eps=7 by .076.

    References
    ----------
    Ye, Barg, "Optimal schemes for discrete distribution estimation under locally differential
    privacy" (2018); Guerra-Balboa, dissertation, examples 5.6 and A.18.

    Examples
    --------
    >>> ss = SS(10, 1.0)
    >>> ss.size, round(ss.agreement, 6), round(ss.rad_uniform(), 6)
    (2, 0.40461, 0.102305)
    >>> reports = ss.sample([3, 4, 5], np.random.default_rng(0))
    >>> np.unpackbits(reports, axis=1, count=10).sum(axis=1).tolist()
    [2, 2, 2]
    """

    rounding: Literal["floor", "round"] = "floor"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("rounding", self.rounding, ("floor", "round"))

    @property
    def size(self) -> int:
        """How many values a report names."""
        return self._size_at(self.epsilon)

    def _size_at(self, epsilon: float) -> int:
        share = self.k / (math.exp(epsilon) + 1)
        return max(1, math.floor(share) if self.rounding == "floor" else round(share))

    @property
    def report_bytes(self) -> int:
        """Memory that one report takes: a bit per value."""
        return width(self.k)

    @property
    def agreement(self) -> float:
        """Probability p that the report names the true value."""
        return self.size / (self.size + (self.k - self.size) * math.exp(-self.epsilon))

    @property
    def total_variation(self) -> float:
        """(p k - w)/(k - 1)."""
        return self.rad_uniform() * self.k * self.size / (self.k - 1)

    def _rad_at(self, epsilon: float) -> float:
        """p/w - 1/k with p and w at ``epsilon``: it jumps up where w drops."""
        size = self._size_at(epsilon)
        others, odds = self.k - size, math.exp(-epsilon)
        return -math.expm1(-epsilon) * others / (self.k * (size + others * odds))

    def rad_slope(self) -> float:
        """Derivative of :meth:`rad_at` at epsilon, between jumps: p (1 - p)/w."""
        return self.agreement * (1 - self.agreement) / self.size

    def rad_prior(self, prior: Any) -> float:
        r"""Advantage for any prior, nothing else known.

        .. math:: \mathrm{TV} \sum_{i \ge w} \frac{\binom{i-1}{w-1}}{\binom{k-2}{w-1}} \pi_i
                  \Big[1 - \pi_i - \frac{w-1}{i-1} \sum_{z<i} \pi_z\Big]

        where the values are numbered so that the prior pi does not fall: the i-th is guessed from
        the sets of which it is the largest member.

        Examples
        --------
        >>> round(SS(8, .5).rad_prior([1/8] * 8) - SS(8, .5).rad_uniform(), 12)
        0.0
        """
        law, w, k = np.sort(check_prior(prior, self.k)), self.size, self.k
        below = np.cumsum(law) - law
        numbers = np.arange(1, k + 1)
        # C(i-1, w-1)/C(k-2, w-1), downwards from i = k - 1, where it is 1
        ratios = np.ones(k)
        ratios[-1] = (k - 1) / (k - w)
        ratios[:-2] = np.cumprod(((numbers - w + 1) / numbers)[-3::-1])[::-1]
        ratios[: w - 1] = 0
        share = (w - 1) / np.maximum(numbers - 1, 1)
        return self.total_variation * float(ratios @ (law * (1 - law - share * below)))

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One set per value as packed bits, ``numpy.unpackbits(.., axis=-1, count=k)``."""
        check_rng(rng)
        values = state_numbers("x", x, self.k)
        flat, sets = values.ravel(), np.zeros((values.size, width(self.k)), dtype=np.uint8)
        for first in range(0, flat.size, _ROWS):
            self._draw(flat[first : first + _ROWS], sets[first : first + _ROWS], rng)
        return sets.reshape((*values.shape, width(self.k)))

    def _draw(self, values: np.ndarray, sets: np.ndarray, rng: np.random.Generator) -> None:
        """Floyd's algorithm on the other values, one step for all reports at a time."""
        kept = rng.random(values.size) < self.agreement
        put(sets, values, kept)
        others = self.k - 1
        for last in range(others - self.size, others):
            drawn = rng.integers(0, last + 1, values.size)
            drawn += drawn >= values  # number of an other value -> value
            taken = holds(sets, drawn)
            drawn[taken] = last + (last >= values[taken])
            # a set that holds the true value needs one fewer: it skips the first step
            put(sets, drawn, ~kept if last == others - self.size else np.ones_like(kept))

    def agrees(self, y: Any, x: Any) -> np.ndarray:
        """Whether each set contains the value."""
        return holds(self._check(y), state_numbers("x", x, self.k))

    def support(self, y: Any) -> np.ndarray:
        """The size of the sets."""
        return ones(self._check(y))

    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """A random member of each set."""
        return random_one(self._check(y), self.k, rng)

    def _check(self, y: Any) -> np.ndarray:
        sets = check_rows("y", y, self.k)
        sizes = ones(sets)
        if (sizes != self.size).any():
            wrong = int(sizes[sizes != self.size].flat[0])
            raise InputError(f"reports of {self!r} name {self.size} values, one names {wrong}")
        return sets

    def _log_levels(self, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chosen = math.comb(self.k - 1, self.size - 1)
        inside = np.full(sizes.shape, math.log(self.agreement) - math.log(chosen))
        return inside, inside - self.epsilon

    def _sets(self) -> np.ndarray:
        self._check_channel(float(math.comb(self.k, self.size)))
        chosen = list(itertools.combinations(range(self.k), self.size))
        sets = np.zeros((len(chosen), self.k), dtype=bool)
        np.put_along_axis(sets, np.array(chosen), True, axis=1)
        return sets
