"""Sets of values as packed bits, one row per report: drawn, tested and sampled from in bulk.

Value v is the bit ``v`` of ``numpy.unpackbits(row)``; the bits behind the last value are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corrdp.errors import InputError

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
