"""Jumps over slices of several series at once: how much their kernels tell apart (chains#joint).

What is known of a slice takes some of the combinations away. It does not cut the chain, and what
lies beyond is told by the product of the kernels on both sides with these taken out. With seasons
there is such a product for each word of seasons that three slices in a row can have.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from corrdp.bounds.scope import ROUNDING
from corrdp.models.chains.chain import diameters, multiply_each
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.region import step_bounds, widest_diameters
from corrdp.models.chains.seasonal import SeasonalChain

Ends = tuple[np.ndarray, np.ndarray]  # lower and upper bounds of the entries of matrices

_MOST_KNOWN = 2_000  # of what may be known of a slice; beyond, no slice is jumped over
_MOST_WORDS = 1_000  # of what may be known of two slices; beyond, the second is taken as unknown
_MOST_JUMPS = 30_000  # of both, for all words of seasons; beyond, no slice is jumped over: seconds
_ROWS = 8_000  # rows of all kernels of a region for which jumps are worked out: seconds


class Jumps(NamedTuple):
    """Diameters of jumps of one, two and three slices, by their seasons and what is known of them.

    ``at[t]`` is the number of the word of seasons next to slice t of a period, ``unknown[w, i]``
    says whether cell i of a slice of which w is known is unknown.
    """

    one: np.ndarray  # (words, W)
    two: np.ndarray  # (words, W, V): V is 1 where the second slice is taken as unknown
    three: np.ndarray
    at: np.ndarray  # (period,)
    unknown: np.ndarray  # (W, m)


@lru_cache(maxsize=32)
def known_cells(chain: JointChain) -> tuple[np.ndarray, np.ndarray]:
    """What may be known of a slice, but all of it; nothing first, and alone where it is too much.

    Returns
    -------
    masks : (W, k) array of bool
        Which slices are left.
    unknown : (W, m) array of bool
        Which cells differ among them.

    Examples
    --------
    >>> pair = JointChain([[.9, .1], [.2, .8]], "ab", slices=["xx", "yz"])
    >>> known_cells(pair)[0].tolist()
    [[True, True]]
    """
    places = chain.places
    everything = np.ones(len(places), dtype=bool)
    left = {everything.tobytes(): everything}
    for numbers in places.T:
        for mask in list(left.values()):
            for value in range(len(chain.states)):
                part = mask & (numbers == value)
                if part.sum() > 1:  # one slice that is left has nothing to tell
                    left[part.tobytes()] = part
        if len(left) > _MOST_KNOWN:
            left = {everything.tobytes(): everything}
            break
    masks = np.array(list(left.values()))
    return masks, np.array([np.ptp(places[mask], axis=0) > 0 for mask in masks])


class _Law:
    """The kernels of pools, one for each season, whose products are measured."""

    def __init__(self, chain: JointChain, masks: np.ndarray, inside: np.ndarray) -> None:
        pooled = chain.by_pool
        used = pooled.used if isinstance(pooled, SeasonalChain) else pooled.occurring
        kernels = pooled.transition.reshape(-1, *(len(used),) * 2)
        self.kernels = np.where(used[:, None] & used[None, :], kernels, 0.0)
        # what is left of each pool, by season and by what is known
        shares = np.atleast_2d(chain.shares)
        self.parts = [[_parts(w, inside, each, each) for w in masks] for each in shares]

    def product(self, season: int, low: np.ndarray, high: np.ndarray) -> Ends:
        """The kernel of a season times each of a stack."""
        del high
        # columns are scaled and not rows, which weigh the slice that is jumped over next
        scaled, whole = multiply_each(np.swapaxes(low, -1, -2), self.kernels[season].T)
        found = np.where(whole[..., None, None], np.swapaxes(scaled, -1, -2), np.nan)
        return found, found

    def measure(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The diameter of each of a stack."""
        del high
        lost = np.isnan(low).any(axis=(1, 2))
        return np.where(lost, np.inf, diameters(np.where(lost[:, None, None], 0.0, low)))


class _Box(_Law):
    """The same for all kernels and shares that the data allow, by bounds on each entry."""

    def __init__(self, chain: JointChain, masks: np.ndarray, inside: np.ndarray, at: float) -> None:
        region, size = chain.pool_region(at), inside.shape[1]
        ends = (region.kernel.lower.reshape(-1, size, size), region.kernel.upper)
        self.boxes = [
            replace(region.kernel, lower=low, upper=high)
            for low, high in zip(ends[0], ends[1].reshape(-1, size, size), strict=True)
        ]
        shares = zip(np.atleast_2d(region.low), np.atleast_2d(region.high), strict=True)
        self.parts = [[_parts(w, inside, *each) for w in masks] for each in shares]

    def product(self, season: int, low: np.ndarray, high: np.ndarray) -> Ends:
        # all of the stack side by side, as columns
        shape, box = np.moveaxis(low, -2, 0).shape, self.boxes[season]
        least, most = (np.moveaxis(each, -2, 0).reshape(shape[0], -1) for each in (low, high))
        found = step_bounds(box, least, most)
        return np.moveaxis(found[0].reshape(shape), 0, -2), np.moveaxis(
            found[1].reshape(shape), 0, -2
        )

    def measure(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return widest_diameters(low, high)


@lru_cache(maxsize=32)  # a search asks for many epsilons
def slice_jumps(chain: JointChain, confidence: float | None) -> tuple[Jumps, Jumps]:
    """Diameters of jumps to the right and to the left, for one law or for those of a region.

    Of pools of slices, which are what a row depends on: what is known of a slice jumped over leaves
    a part of each pool, and of the slice that is reached it counts which pools are left.
    """
    masks, unknown = known_cells(chain)
    second = masks if len(masks) ** 2 <= _MOST_WORDS else masks[:1]
    words, at = _words(chain, len(masks) * len(second))
    # one mask alone stands for all that may be known, and there is more of it
    known = len(masks) > 1 or len(chain.slices) <= 2
    jumps = known and words.shape[1] == 3
    jumps = jumps and (confidence is None or len(masks) * len(chain.slices) <= _ROWS)
    inside = np.eye(chain.pools.max() + 1, dtype=bool)[chain.pools]
    law = _Law(chain, masks, inside)
    if confidence is not None:
        law = _Box(chain, masks, inside, confidence)

    # the same, for all that may be known at once
    left_of = [tuple(np.array(part) for part in zip(*each, strict=True)) for each in law.parts]

    @cache
    def one(season: int) -> Ends:
        both = np.eye(inside.shape[1])
        return law.product(season, both, both)

    @cache
    def two(first: int, then: int) -> Ends:
        """Over a slice of which a part is left, for each part."""
        ends = zip(one(then), left_of[first], strict=True)
        return law.product(first, *(each * part[:, :, None] for each, part in ends))

    def three(first: int, then: int, last: int) -> Ends:
        """Over two slices, for each part of the one and of the other."""
        ends = zip(two(then, last), left_of[first], strict=True)
        return law.product(first, *(each * part[:, None, :, None] for each, part in ends))

    def to(found: Ends, left: np.ndarray) -> np.ndarray:
        """Diameters where these columns are left, for each mask."""
        low, high = (np.where(left[:, None, :], each[..., None, :, :], 0.0) for each in found)
        flat = (each.reshape(-1, *each.shape[-2:]) for each in (low, high))
        return law.measure(*flat).reshape(low.shape[:-2])

    def turned(found: Ends) -> Ends:
        return np.swapaxes(found[0], -1, -2), np.swapaxes(found[1], -1, -2)

    reached = np.array([inside[w].any(axis=0) for w in masks])
    beyond, whole = reached[: len(second)], np.ones((1, inside.shape[1]), dtype=bool)
    right, left = (np.full((3, len(words), len(masks), len(second)), np.inf) for _ in range(2))

    @cache
    def over_one(first: int, then: int) -> tuple[np.ndarray, np.ndarray]:
        found = two(first, then)
        return to(found, beyond), to(turned(found), beyond)

    for number, word in enumerate(words.tolist()):
        right[0, number] = to(one(word[0]), reached)[:, None]
        left[0, number] = to(turned(one(word[-1])), reached)[:, None]
        if not jumps:
            continue
        right[1, number] = over_one(word[0], word[1])[0]
        left[1, number] = over_one(word[1], word[2])[1]
        if len(second) > 1:
            found = three(*word)
            # the slice jumped over first is the first to the right, the second to the left
            right[2, number] = to(found, whole)[..., 0]
            left[2, number] = to(turned(found), whole)[..., 0].T
    if at is None:  # seasons in any order: the largest over all words
        right, left = (each.max(axis=1, keepdims=True) for each in (right, left))
        at = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    both = [
        Jumps(np.ascontiguousarray(each[0, :, :, 0]), each[1].copy(), each[2].copy(), own, unknown)
        for each, own in ((right, at[0]), (left, at[1]))
    ]
    return both[0], both[1]


def _words(
    chain: JointChain, known: int
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """Words of the seasons of three slices in a row, and which of them lies to the right and to the
    left of each slice of a period; None where seasons come in any order.

    Words of one where there are too many, with so many things to be known of two of the slices.
    """
    if chain.seasonal and chain.pattern is None:
        many = len(chain.transition)
        size = 3 if many**3 * known <= _MOST_JUMPS else 1
        return np.array(list(itertools.product(range(many), repeat=size))), None
    turn = chain.turn
    at = np.arange(len(turn))
    for size in (3, 1):
        ahead = turn[(at[:, None] + np.arange(1, size + 1)) % len(turn)]
        words, which = np.unique(ahead, axis=0, return_inverse=True)
        if len(words) == 1 or len(words) * known <= _MOST_JUMPS:
            break
    return words, (which.ravel(), np.roll(which.ravel(), size))


def _parts(
    left: np.ndarray, inside: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Between what ends the slices that are left have a share in each pool; 1 of a whole pool."""
    least, most = (np.where(left, ends, 0.0) @ inside for ends in (low, high))
    gone = ~left @ inside
    rest = [np.where(left, 0.0, ends) @ inside for ends in (high, low)]
    least = np.where(gone, np.maximum(least, 1.0 - ROUNDING - rest[0]), 1.0)
    most = np.where(gone, np.minimum(most, 1.0 + ROUNDING - rest[1]), 1.0)
    return np.maximum(least, 0.0), np.where(left @ inside, most, 0.0)
