"""How much is told over a jump, some records of which may be known (order-k#jumps).

Contraction may jump: pay the epsilons of the records between outright, and let the kernel of all
these steps act. In a chain of first order a known record on the way cuts the chain and only
shortens the jump. In a chain of order k it does not: it takes away the windows that it contradicts,
and what is left may mix far less than the kernel of all. So the diameter of a jump over m - 1
blocks of k records is the largest over everything that may be known of them,

    D_m = max over words w of  D(A_w1 A_w2 .. A_w(m-1)k  P^k),

where A_y has the transitions to y alone, and A of an unknown record is the kernel P itself. Words
with k known records in a row cut the chain and are left out. What is known of the last k records
only reweights columns, which no diameter sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from corrdp.models.chains.chain import diameters, multiply_each
from corrdp.models.chains.region import Region, step_bounds, widest_diameter

UNKNOWN = -1
Diameters = Callable[[tuple[int, ...]], float]  # of the kernels of some steps, by number
_WORDS = 700  # of the records jumped over; beyond, nothing is said of the jump
_WORK = 2e8  # multiplications for these words
_WINDOW_WORK = 3e6  # the same where pairs of windows are compared again and again


@cache
def evidence(order: int, states: int, length: int) -> np.ndarray | None:
    """What may be known of so many records in a row, never k next to each other, (words, length).

    None where there are too many words.

    Examples
    --------
    >>> evidence(2, 2, 1).tolist(), len(evidence(2, 2, 2)), evidence(1, 5, 3).tolist()
    ([[-1], [0], [1]], 5, [[-1, -1, -1]])
    """
    words: list[tuple[int, ...]] = [()]
    for at in range(length):
        words = [
            (*word, letter)
            for word in words
            for letter in range(UNKNOWN, states)
            if letter == UNKNOWN or at < order - 1 or UNKNOWN in word[at - order + 1 :]
        ]
        if len(words) > _WORDS:
            return None
    return np.array(words, dtype=np.int64).reshape(len(words), length)


def _words_for(order: int, states: int, size: int, steps: int) -> np.ndarray | None:
    """What may be known of the records that a jump passes, if that is not too much work."""
    words = evidence(order, states, steps - order)
    if words is None or (len(words) > 1 and len(words) * size**3 > _WORK):
        return None
    return words


def _parts(kernel: np.ndarray, newest: np.ndarray, states: int) -> np.ndarray:
    """The kernel, then its parts that lead to each value; :data:`UNKNOWN` is put first."""
    return np.stack([kernel, *(kernel * (newest == letter) for letter in range(states))])


def exact_jumps(kernels: np.ndarray, windows: np.ndarray, states: int) -> Diameters:
    """Diameters of jumps between windows. O(words S^3) a step.

    Parameters
    ----------
    kernels : (kernels, S, S) array
    windows : (S, k) array
        The windows, as numbers of states; (S, 1) for a chain of first order.
    states : int
    """
    size, order = windows.shape
    parts = [_parts(kernel, windows[:, -1], states) for kernel in kernels]

    @cache
    def found(steps: tuple[int, ...]) -> float:
        words = _words_for(order, states, size, len(steps))
        if words is None:
            return math.inf
        whole = np.eye(size)[None]
        for at, kernel in enumerate(steps):
            letters = words[:, at] if at < words.shape[1] else np.array([UNKNOWN])
            whole, kept = multiply_each(whole, parts[kernel][letters - UNKNOWN])
            if not kept.all():
                return math.inf
        return float(diameters(whole).max())

    return found


def window_jumps(
    kernel: np.ndarray, newest: np.ndarray, order: int, states: int, further: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Kernels of jumps of 1, 2, .. steps between windows, with the number of unknown records.

    Beyond k steps records are jumped over, and there is a kernel for all that may be known of them.

    Parameters
    ----------
    kernel : (S, S) array
    newest : (S,) array
        The record of each window that a step brings.
    order, states : int
    further : int
        How many records to jump over at most.
    """
    parts = _parts(kernel, newest, states)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for steps in range(1, order + further + 1):
        words = evidence(order, states, max(steps - order, 0))
        if words is None or (steps > order and len(words) * len(kernel) ** 3 > _WINDOW_WORK):
            break
        whole = np.eye(len(kernel))[None]
        for at in range(steps):
            letters = words[:, at] if at < words.shape[1] else np.array([UNKNOWN])
            whole, kept = multiply_each(whole, parts[letters - UNKNOWN])
            if not kept.all():
                return found
        found.append((whole, (words == UNKNOWN).sum(axis=1)))
    return found


def region_jumps(regions: list[Region], order: int) -> Diameters:
    """Largest diameters of jumps over regions of kernels. O(words S^2 s) a step."""
    size, states = regions[0].lower.shape

    @cache
    def found(steps: tuple[int, ...]) -> float:
        words = _words_for(order, states, size, len(steps))
        if words is None:
            return math.inf
        low = high = np.eye(size)
        for kernel in steps[: -order - 1 : -1]:
            low, high = step_bounds(regions[kernel], low, high)
        low, high = (np.repeat(end[:, None], len(words), axis=1) for end in (low, high))
        for kernel, letters in zip(steps[-order - 1 :: -1], words.T[::-1], strict=True):
            for letter in np.unique(letters):
                at = letters == letter
                ends = low[:, at].reshape(size, -1), high[:, at].reshape(size, -1)
                known = None if letter == UNKNOWN else int(letter)
                for end, new in zip(
                    (low, high), step_bounds(regions[kernel], *ends, known), strict=True
                ):
                    end[:, at] = new.reshape(size, -1, size)
        return widest_diameter(low.transpose(1, 0, 2), high.transpose(1, 0, 2))

    return found
