"""Many floating-point numbers as text, digit for digit what ``repr`` writes, some ten times faster.

A number is written with the fewest digits that are read back as the same number, and of these with
the nearest; where two are as near, with the even one.

References
----------
R. Giulietti, "The Schubfach way to render doubles" (2020).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from corrdp._compiled import njit

_LEAST, _MOST = -292, 324  # powers of ten that doubles need
_LONGEST = 27  # characters of a number, -2.2250738585072014e-308, and what stands behind it
_AT_ONCE = 1 << 18  # numbers written into one piece


@cache
def _powers() -> np.ndarray:
    """``10^k`` as 128 bits each, the first of them set, rounded up; two words a row."""
    out = np.empty((_MOST - _LEAST + 1, 2), dtype=np.uint64)
    for k in range(_LEAST, _MOST + 1):
        shift = 127 - (k * 1741647 >> 19)
        above, below = 10 ** max(k, 0) << max(shift, 0), 10 ** max(-k, 0) << max(-shift, 0)
        out[k - _LEAST] = divmod(-(-above // below), 1 << 64)
    return out


@njit(cache=True)
def _high(a: Any, b: Any) -> Any:
    """The upper word of the product of two words."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    crossed = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> half) + (crossed >> half)


@njit(cache=True)
def _times(power: np.ndarray, c: Any) -> Any:
    """The upper word of power times c, its last bit set where anything was cut off."""
    low = power[0] * c
    total = low + _high(power[1], c)
    carry = np.uint64(1) if total < low else np.uint64(0)
    rest = np.uint64(1) if total > np.uint64(1) else np.uint64(0)
    return _high(power[0], c) + carry | rest


@njit(cache=True)
def _shortest(c: Any, q: int, closer: bool, powers: np.ndarray) -> Any:
    """Digits and exponent of ten of ``c 2^q``; ``closer``: the double below is half as far away."""
    one, two, four, ten = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(10)
    k = (q * 1262611 - (524031 if closer else 0)) >> 22
    power = powers[-k - _LEAST]
    shift = np.uint64(q + (-k * 1741647 >> 19) + 1)
    odd = c & one
    middle = _times(power, four * c << shift)
    lower = _times(power, four * c - (one if closer else two) << shift) + odd
    upper = _times(power, four * c + two << shift) - odd
    s = middle // four
    if s >= ten:
        short = s // ten
        below = lower <= four * ten * short
        above = four * ten * (short + one) <= upper
        if below != above:
            return short + (one if above else np.uint64(0)), k + 1
    below = lower <= four * s
    above = four * (s + one) <= upper
    if below == above:
        half = four * s + two
        above = middle > half or (middle == half and (s & one) == one)
    return s + (one if above else np.uint64(0)), k


@njit(cache=True)
def _put(text: np.ndarray, at: int, digits: Any, count: int) -> int:
    """Write ``count`` decimal digits; returns where they end."""
    for place in range(count - 1, -1, -1):
        text[at + place] = 48 + digits % np.uint64(10)
        digits = digits // np.uint64(10)
    return at + count


@njit(cache=True)
def _number(text: np.ndarray, at: int, bits: Any, powers: np.ndarray) -> int:
    """Write one number, given by its bits; returns where it ends."""
    fraction, power = bits & np.uint64((1 << 52) - 1), int(bits >> np.uint64(52)) & 2047
    if bits >> np.uint64(63):
        text[at] = 45
        at += 1
    digits, exponent = np.uint64(0), 0
    if power or fraction:
        c = fraction | np.uint64(1 << 52) if power else fraction
        closer = bool(fraction == np.uint64(0) and power > 1)
        digits, exponent = _shortest(c, max(power, 1) - 1075, closer, powers)
        while digits % np.uint64(10) == np.uint64(0):
            digits = digits // np.uint64(10)
            exponent += 1
    count, rest = 1, digits // np.uint64(10)
    while rest:
        count += 1
        rest = rest // np.uint64(10)
    point = count + exponent  # digits before the decimal point
    if -4 < point <= 16:
        if point <= 0:
            start = at + 2 - point
            _put(text, at, np.uint64(0), 2 - point)
            text[at + 1] = 46
            return _put(text, start, digits, count)
        if exponent >= 0:
            at = _put(text, at, digits, count)
            _put(text, at, np.uint64(0), exponent + 2)
            text[at + exponent] = 46
            return at + exponent + 2
        end = _put(text, at + 1, digits, count)
        for place in range(at, at + point):
            text[place] = text[place + 1]
        text[at + point] = 46
        return end
    end = _put(text, at + 1, digits, count)
    text[at] = text[at + 1]
    text[at + 1] = 46
    if count == 1:
        end = at + 1
    size = abs(point - 1)
    text[end] = 101
    text[end + 1] = 45 if point < 1 else 43
    return _put(text, end + 2, np.uint64(size), 3 if size > 99 else 2)


@njit(cache=True)
def _write(bits: np.ndarray, row: int, text: np.ndarray, powers: np.ndarray) -> int:
    """Write numbers with commas behind them, and ``],[`` between rows of ``row`` numbers."""
    at = 0
    for k in range(len(bits)):
        at = _number(text, at, bits[k], powers)
        if row and (k + 1) % row == 0:
            text[at], text[at + 1], text[at + 2] = 93, 44, 91
            at += 3
        else:
            text[at] = 44
            at += 1
    return at


def numerals(array: np.ndarray) -> Iterator[bytes]:
    """A vector or matrix of finite numbers as JSON without blanks, piece by piece.

    About .1 microseconds a number; memory for a few pieces, whatever the size.

    Examples
    --------
    >>> b"".join(numerals(np.array([[1.0, -0.5], [1e-7, 1 / 3]])))
    b'[[1.0,-0.5],[1e-07,0.3333333333333333]]'
    """
    bits = np.ascontiguousarray(array, dtype=float).reshape(-1).view(np.uint64)
    row = array.shape[1] if array.ndim == 2 else 0
    step = max(_AT_ONCE // row, 1) * row if row else _AT_ONCE
    text = np.empty(min(step, len(bits)) * _LONGEST, dtype=np.uint8)
    behind = 3 if row else 1  # "],[" or "," behind the last number
    yield b"[[" if row else b"["
    for start in range(0, len(bits), step):
        end = _write(bits[start : start + step], row, text, _powers())
        yield text[: end - behind if start + step >= len(bits) else end].tobytes()
    yield b"]]" if row else b"]"
