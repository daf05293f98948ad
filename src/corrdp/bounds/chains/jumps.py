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

from corrdp.models.chains.chain import diameter, multiply
from corrdp.models.chains.region import Region, step_bounds, widest_diameter

UNKNOWN = -1
Diameters = Callable[[tuple[int, ...]], float]  # of the kernels of some steps, by number
Step = tuple[int, int]  # which kernel, and what is known of the record: UNKNOWN or its value
_WORDS = 700  # of the records jumped over; beyond, nothing is said of the jump
_WORK = 2e8  # multiplications for these words
_WINDOW_WORK = 3e6  # the same where pairs of windows are compared again and again


@cache
def evidence(order: int, states: int, length: int) -> tuple[tuple[int, ...], ...] | None:
    """What may be known of so many records in a row, never k next to each other; None if too much.

    Examples
    --------
    >>> evidence(2, 2, 1), len(evidence(2, 2, 2)), evidence(1, 5, 3)
    (((-1,), (0,), (1,)), 5, ((-1, -1, -1),))
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
    return tuple(words)


def exact_jumps(kernels: np.ndarray, windows: np.ndarray, states: int) -> Diameters:
    """Diameters of jumps between windows.

    Parameters
    ----------
    kernels : (kernels, S, S) array
    windows : (S, k) array
        The windows, as numbers of states; (S, 1) for a chain of first order.
    states : int
    """
    parts = {(q, UNKNOWN): kernel for q, kernel in enumerate(kernels)}
    for letter in range(states):
        kept = windows[:, -1] == letter
        parts |= {(q, letter): kernel * kept for q, kernel in enumerate(kernels)}
    products: dict[tuple[Step, ...], np.ndarray | None] = {(): np.eye(len(windows))}

    def product(word: tuple[Step, ...]) -> np.ndarray | None:
        if word not in products:
            products[word] = multiply(product(word[:-1]), parts[word[-1]])
        return products[word]

    def measure(word: tuple[Step, ...]) -> float:
        whole = product(word)
        return math.inf if whole is None else diameter(whole, whole.any(axis=1))

    return _over_evidence(measure, windows.shape[1], states, len(windows))


def window_jumps(
    kernel: np.ndarray, newest: np.ndarray, order: int, states: int, further: int
) -> list[list[tuple[np.ndarray, int]]]:
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
    found: list[list[tuple[np.ndarray, int]]] = []
    for steps in range(1, order + further + 1):
        words = evidence(order, states, max(steps - order, 0))
        if words is None or (steps > order and len(words) * len(kernel) ** 3 > _WINDOW_WORK):
            break
        jump = []
        for word in words:
            whole: np.ndarray | None = np.eye(len(kernel))
            for letter in (*word, *[UNKNOWN] * min(steps, order)):
                step = kernel if letter == UNKNOWN else kernel * (newest == letter)
                whole = multiply(whole, step)
            if whole is None:
                return found
            jump.append((whole, word.count(UNKNOWN)))
        found.append(jump)
    return found


def region_jumps(regions: list[Region], order: int) -> Diameters:
    """Largest diameters of jumps over regions of kernels."""
    size, states = regions[0].lower.shape
    bounds: dict[tuple[Step, ...], tuple[np.ndarray, np.ndarray]] = {(): (np.eye(size),) * 2}

    def product(word: tuple[Step, ...]) -> tuple[np.ndarray, np.ndarray]:
        if word not in bounds:
            number, letter = word[0]
            known = None if letter == UNKNOWN else letter
            bounds[word] = step_bounds(regions[number], *product(word[1:]), known)
        return bounds[word]

    return _over_evidence(lambda word: widest_diameter(*product(word)), order, states, size)


def _over_evidence(
    measure: Callable[[tuple[Step, ...]], float], order: int, states: int, size: int
) -> Diameters:
    """The largest over all that may be known of the records that are jumped over."""

    def found(kernels: tuple[int, ...]) -> float:
        words = evidence(order, states, len(kernels) - order)
        if words is None or (len(words) > 1 and len(words) * size**3 > _WORK):
            return math.inf
        last = (UNKNOWN,) * order
        worst = 0.0
        for word in words:
            worst = max(worst, measure(tuple(zip(kernels, word + last, strict=True))))
            if math.isinf(worst):
                break
        return worst

    return found
