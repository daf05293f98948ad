"""Which records of a long sequence look alike, so that what is worked out for one serves all.

A sequence (epsilons, kernels, possible states) is written as whole numbers, cut into stretches of
equal ones, and records are told apart by what lies within some reach of them. Two records are
taken for alike only where every number in reach is the same: nothing is hashed without a check.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

LONGEST_PERIOD = 2016  # a week of five minutes


def distinct(stack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct entries of a stack of float64 arrays, and which one each entry is. O(n log n).

    Examples
    --------
    >>> different, which = distinct(np.array([[.5, .5], [.1, .9], [.5, .5]]))
    >>> different[which].tolist()
    [[0.5, 0.5], [0.1, 0.9], [0.5, 0.5]]
    >>> len(different)
    2
    """
    flat = np.ascontiguousarray(stack, dtype=float).reshape(len(stack), -1)
    bits = flat.view(np.uint64)
    starts = np.flatnonzero(np.r_[True, (bits[1:] != bits[:-1]).any(axis=1)])
    if 2 * len(starts) < len(stack):  # long stretches: hash one of each
        values, which = distinct(stack[starts])
        return values, np.repeat(which, np.diff(starts, append=len(stack)))
    odd = np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64) * 2 + 1
    codes = ((bits ^ (bits >> np.uint64(32))) * odd).sum(axis=1, dtype=np.uint64)
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    if not np.array_equal(bits[first[which]], bits):  # two entries of one code
        _, first, which = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    return stack[first], which


def paired(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """One whole number for each distinct pair of whole numbers, from 0 without gaps.

    Examples
    --------
    >>> paired(np.array([0, 1, 0, 1]), np.array([2, 2, 2, 0])).tolist()
    [0, 2, 0, 1]
    """
    width = int(second.max()) + 1
    codes, top = first * width + second, (int(first.max()) + 1) * width
    if top > 8 * len(codes):
        return np.unique(codes, return_inverse=True)[1]
    seen = np.zeros(top, dtype=bool)
    seen[codes] = True
    return (np.cumsum(seen) - 1)[codes]


def first_places(numbers: np.ndarray) -> np.ndarray:
    """Where each of the numbers 0, 1, .. stands first.

    Examples
    --------
    >>> first_places(np.array([1, 1, 0, 1, 2])).tolist()
    [2, 0, 4]
    """
    places = np.empty(int(numbers.max()) + 1, dtype=np.int64)
    places[numbers[::-1]] = np.arange(len(numbers))[::-1]  # the last one written stays
    return places


def period_of(numbers: np.ndarray) -> int:
    """After how many places a sequence repeats itself in its middle; 1 where it does not.

    A hint where to look, no proof: both ends may differ. At most ``LONGEST_PERIOD``.

    Examples
    --------
    >>> period_of(np.array([5, 0, 1, 1, 0, 1, 1, 0])), period_of(np.arange(8))
    (3, 1)
    """
    half = len(numbers) // 2
    middle = numbers[max(half - LONGEST_PERIOD, len(numbers) // 8) : half + LONGEST_PERIOD]
    for p in np.flatnonzero(middle[1 : len(middle) // 2 + 1] == middle[0]) + 1:
        if np.array_equal(middle[p:], middle[:-p]):
            return int(p)
    return 1


@dataclass(frozen=True, eq=False)
class Stretches:
    """A sequence of n numbers in stretches of equal ones."""

    starts: np.ndarray  # first record of each stretch
    numbers: np.ndarray  # of each stretch
    n: int

    @classmethod
    def of(cls, *sequences: np.ndarray) -> Stretches:
        """Stretches in which no sequence changes; each holds whole numbers from 0."""
        n = len(sequences[0])
        changes = np.zeros(n, dtype=bool)
        changes[0] = True
        for sequence in sequences:
            changes[1:] |= sequence[1:] != sequence[:-1]
        starts = np.flatnonzero(changes)
        numbers = np.zeros(len(starts), dtype=np.int64)
        for sequence in sequences:
            numbers = paired(numbers, sequence[starts])
        return cls(starts, numbers, n)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Records in each stretch."""
        return np.diff(self.starts, append=self.n)


class Surroundings:
    """The records of a sequence by what lies within ``reach`` of them, on each side.

    Of a long stretch only the records within reach of its ends are kept, and one that stands for
    all between them. O(m log reach) for m records kept.

    Attributes
    ----------
    kept : (m,) array
        Records, ascending.
    counts : (m,) array
        How many records each stands for: itself and those that follow it.
    right, left : (m,) arrays
        Numbers from 0: equal where the sequence is the same from the record to ``reach`` records
        beyond it. A sequence that ends within reach is like no other.

    Examples
    --------
    >>> around = Surroundings(Stretches.of(np.repeat([5, 7], [9, 4])), 1)
    >>> around.kept.tolist(), around.counts.tolist()
    ([0, 1, 7, 8, 9, 10, 11, 12], [1, 6, 1, 1, 1, 1, 1, 1])
    >>> around.right.tolist()
    [0, 0, 0, 1, 2, 2, 2, 3]
    """

    def __init__(self, stretches: Stretches, reach: int) -> None:
        self.reach = reach
        starts, lengths, n = stretches.starts, stretches.lengths, stretches.n
        sizes = np.minimum(lengths, 2 * reach + 2)
        skipped = lengths - sizes  # between record ``reach`` of the stretch and its last reach + 1
        firsts = np.cumsum(sizes) - sizes
        m = int(sizes.sum())
        stretch = np.repeat(np.arange(len(starts)), sizes)
        offsets = np.arange(m) - firsts[stretch]

        def place(records: np.ndarray) -> np.ndarray:
            """Where the records are kept; m for those outside of the sequence."""
            inside = np.clip(records, 0, n - 1)
            if m < n:
                at = np.searchsorted(starts, inside, side="right") - 1
                offset = inside - starts[at]
                inside = firsts[at] + np.maximum(np.minimum(offset, reach), offset - skipped[at])
            return np.where(records == np.clip(records, 0, n - 1), inside, m)

        self.kept = starts[stretch] + offsets + np.where(offsets > reach, skipped[stretch], 0)
        self.counts = np.where(offsets == reach, skipped[stretch], 0) + 1
        numbers = np.append(stretches.numbers[stretch], stretches.numbers.max() + 1)
        width = 1
        while width <= reach:
            shift = min(width, reach + 1 - width)
            numbers = paired(numbers, numbers[np.append(place(self.kept + shift), m)])
            width += shift
        self.right = numbers[:-1]
        cut = self.kept < reach
        before = np.where(cut, numbers.max() + 1 + self.kept, numbers[place(self.kept - reach)])
        self.left = paired(np.zeros(m, dtype=np.int64), before)

    @property
    def different(self) -> int:
        """How many records differ on one side, the side where there are more."""
        return int(max(self.right.max(), self.left.max())) + 1


def ahead(sequence: np.ndarray, width: int) -> np.ndarray:
    """Numbers from 0 for each place: equal where the next ``width`` entries are the same.

    Examples
    --------
    >>> ahead(np.array([0, 1, 1, 0, 1, 1]), 2).tolist()
    [0, 2, 1, 0, 2, 3]
    """
    around = Surroundings(Stretches.of(sequence), width - 1)
    return np.repeat(around.right, around.counts)


def stretch_from(sequence: np.ndarray, places: np.ndarray, width: int) -> np.ndarray:
    """The ``width`` entries from each place on, -1 beyond the end."""
    index = np.asarray(places)[:, None] + np.arange(width)
    return np.where(index < len(sequence), sequence[np.minimum(index, len(sequence) - 1)], -1)
