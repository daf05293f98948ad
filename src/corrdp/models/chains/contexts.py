"""Contexts of variable length: windows of a chain of order k that were seen too rarely.

At the steward's word, and never without it, a window with too few data takes the row of its last
k - 1 records, counted over all windows that end in them; where these are too few, too, that of the
last k - 2; and so on down to one record. Too few are less than 20 transitions, or such that lack
one which the last record was seen to take. The records that are left are the window's *context*
(order-k#contexts).

That rare windows go on as their last records do is an assumption about the law, not a finding: a
window that was seen twelve times and goes on otherwise is one to which it does not apply.

References
----------
J. Rissanen, "A universal data compression system", IEEE Transactions on Information Theory 29
(1983), 656-664; P. Buhlmann and A. J. Wyner, "Variable length Markov chains", Annals of Statistics
27 (1999), 480-513.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corrdp.models.chains.region import Region, followers, region_of
from corrdp.models.chains.seasons import MIN_SEEN

WORD = (
    "assumed at the steward's word: windows seen too rarely go on as their last records do, and "
    "where one does not the promise may not hold"
)
_SHOWN = 8  # contexts that a sentence names, ...
_LISTED = 4  # ... and windows of each


def context_lengths(counts: np.ndarray) -> np.ndarray:
    """How many of its last records the row of each window is that of, (s^k,).

    The largest number for which they were left 20 times or more and lack no transition that the
    last record alone was seen to take; 1 where there is none.

    Parameters
    ----------
    counts : (s^k, s) array
        Transitions after each window, windows in the order of ``itertools.product``.

    Examples
    --------
    >>> context_lengths(np.array([[80, 20], [50, 50], [9, 1], [3, 70]])).tolist()
    [2, 2, 1, 2]
    """
    order, s = order_of(counts), counts.shape[1]
    windows, lengths = np.arange(len(counts)), np.ones(len(counts), dtype=np.int64)
    last = suffix_counts(counts, 1)[windows % s]
    for length in range(2, order + 1):
        rows = suffix_counts(counts, length)[windows % s**length]
        lacks = ((rows == 0) & (last > 0)).any(axis=1)
        lengths[~lacks & (rows.sum(axis=1) >= MIN_SEEN)] = length
    return lengths


def shared_counts(counts: np.ndarray, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Transitions after the context of each window, (s^k, s).

    Examples
    --------
    >>> counts = np.array([[80, 20], [50, 50], [9, 1], [3, 70]])
    >>> shared_counts(counts, [2, 2, 1, 2]).tolist()
    [[80, 20], [50, 50], [89, 21], [3, 70]]
    """
    found, lengths = counts.copy(), np.asarray(lengths)
    windows = np.arange(len(counts))
    for length in range(1, order_of(counts)):
        rows = suffix_counts(counts, length)[windows % counts.shape[1] ** length]
        found[lengths == length] = rows[lengths == length]
    return found


def reached(counts: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Windows that were seen, or to which shared rows lead from those, as a mask."""
    found = counts.any(axis=1) | followers(counts)
    before = 0
    while found.sum() > before:  # a row may lead to windows that were never seen
        before = int(found.sum())
        found = found | followers(shared * found[:, None])
    return np.asarray(found)


def suffix_counts(counts: np.ndarray, length: int) -> np.ndarray:
    """Transitions after the last ``length`` records, (s^length, s)."""
    s = counts.shape[1]
    return np.asarray(counts.reshape(-1, s**length, s).sum(axis=0))


def order_of(counts: np.ndarray) -> int:
    """Number of records in the windows of a table of counts."""
    size, s = counts.shape
    return round(np.log(size) / np.log(s))


def context_region(
    counts: np.ndarray,
    lengths: Sequence[int] | np.ndarray,
    confidence: float,
    *,
    structural: bool = False,
) -> Region:
    """The joint confidence region of the rows of all windows, (s^k, s).

    Parameters
    ----------
    counts : (s^k, s) array of int
    lengths : (s^k,) array of int
        Of the contexts: any choice.
    confidence : float in (0, 1)
    structural : bool
        Take transitions for impossible that a context was never seen to take.

    Notes
    -----
    All ``s + s^2 + .. + s^k`` contexts that windows could have taken are covered at once, whichever
    were chosen. A row that is shared may be that of its context, or lie anywhere between those of
    windows with the same last records whose contexts are longer.

    References
    ----------
    order-k#contexts.

    Examples
    --------
    >>> counts = np.array([[80, 20], [50, 50], [9, 1], [3, 70]])
    >>> context_region(counts, [2, 2, 1, 2], .95).lower[2].round(3).tolist()
    [0.676, 0.103]
    """
    order, s = order_of(counts), counts.shape[1]
    tables = [suffix_counts(counts, length) for length in range(1, order + 1)]
    every = np.concatenate(tables)
    box = region_of(every, confidence, possible=every > 0 if structural else None)
    lengths, windows = np.asarray(lengths), np.arange(len(counts))
    first = np.cumsum([0] + [len(table) for table in tables[:-1]])
    rows = first[lengths - 1] + windows % s**lengths
    lower, upper = box.lower[rows], box.upper[rows]
    for w in np.flatnonzero(lengths < order):
        same = windows % s ** lengths[w] == w % s ** lengths[w]
        among = rows[same & (lengths >= lengths[w])]
        lower[w], upper[w] = box.lower[among].min(axis=0), box.upper[among].max(axis=0)
    shared = shared_counts(counts, lengths)
    if structural:  # what nothing leads to cannot occur
        live = reached(counts, shared)[:, None]
        return Region(lower * live, upper * live, confidence, ())
    unseen = tuple((int(w), int(y)) for w, y in np.argwhere(shared == 0))
    return Region(lower, upper, confidence, unseen)


def contexts_in_words(
    lengths: Sequence[int] | np.ndarray, order: int, states: Sequence[Any]
) -> str:
    """Which windows share a row, in words.

    Examples
    --------
    >>> contexts_in_words([2, 2, 1, 2], 2, "ab")
    'order 2 with 4 contexts instead of 4 windows, 1 of them seen too rarely: a stands for b, a'
    >>> print(contexts_in_words([1, 2, 1, 2], 2, "ab").partition(": ")[2])
    a stands for a, a or b, a
    """
    s = len(states)
    of: dict[tuple[int, int], list[int]] = {}
    for w, length in enumerate(np.asarray(lengths).tolist()):
        of.setdefault((length, w % s**length), []).append(w)

    def named(window: int, length: int) -> str:
        return ", ".join(str(states[window // s**d % s]) for d in range(length - 1, -1, -1))

    said = [
        f"{named(c, length)} stands for "
        + (" or ".join(named(w, order) for w in found) if len(found) <= _LISTED
           else f"{len(found)} windows that end so")
        for (length, c), found in sorted(of.items(), reverse=True)
        if length < order
    ]  # fmt: skip
    if not said:
        return f"order {order} with all {len(of)} windows, each of which was seen often enough"
    more = f"; and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
    rare = int((np.asarray(lengths) < order).sum())
    many = f"order {order} with {len(of)} contexts instead of {s**order} windows, {rare} of them "
    many += "seen too rarely"
    return f"{many}: {'; '.join(said[:_SHOWN])}{more}"
