"""Contexts of variable length: windows of a chain of order k that were seen too rarely.

A window that was seen fewer than 20 times, and never went on to a state to which its last record
did, would leave open whether that is impossible, and no bound over a region of confidence would be
finite. It takes the row of its last k - 1 records, counted over all windows that end in them, or,
where that lacks something too, of its last k - 2, and so on: as far as its last record.

Windows with data of their own keep their rows, also where a test cannot tell them apart: a region
of what they share holds the truth only if they do share it (where they nearly did, it held in 19 to
35 of 100 simulated fits), and held-out records are predicted no better by it.

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

from corrdp.models.chains.region import followers
from corrdp.models.chains.seasons import MIN_SEEN

_SHOWN = 8  # windows that a sentence names


def context_lengths(counts: np.ndarray) -> np.ndarray:
    """How many of its last records the row of each window is that of, (kernels, s^k).

    Parameters
    ----------
    counts : (kernels, s^k, s) array
        Transitions after each window, windows in the order of ``itertools.product``.

    Examples
    --------
    >>> context_lengths(np.array([[[80, 20], [50, 50], [9, 0], [3, 7]]])).tolist()
    [[2, 2, 1, 2]]
    """
    order, s = order_of(counts), counts.shape[2]
    windows, lengths = np.arange(s**order), np.full(counts.shape[:2], 1)
    last = _by_suffix(counts, 1)[:, windows % s]
    for length in range(2, order + 1):
        rows = _by_suffix(counts, length)[:, windows % s**length]
        lacks = ((rows == 0) & (last > 0)).any(axis=2)
        lengths[~lacks | (rows.sum(axis=2) >= MIN_SEEN)] = length
    return lengths


def by_context(counts: np.ndarray) -> np.ndarray:
    """Counts in which windows that were seen too rarely have those of their last records.

    Windows that nothing leads to keep their zeros.

    Examples
    --------
    >>> by_context(np.array([[[80, 20], [50, 50], [9, 0], [3, 7]]])).tolist()
    [[[80, 20], [50, 50], [89, 20], [3, 7]]]
    """
    lengths, found = context_lengths(counts), counts.copy()
    windows = np.arange(counts.shape[1])
    for length in range(1, order_of(counts)):
        rows = _by_suffix(counts, length)[:, windows % counts.shape[2] ** length]
        found[lengths == length] = rows[lengths == length]
    occurs, before = np.asarray(counts.any(axis=(0, 2))), 0
    while occurs.sum() > before:  # a row may lead to windows that were never seen
        before = int(occurs.sum())
        occurs = occurs | followers((found * occurs[:, None]).sum(axis=0))
    return np.asarray(found * occurs[:, None])


def order_of(counts: np.ndarray) -> int:
    """Number of records in the windows of a table of counts."""
    _, size, s = counts.shape
    return round(np.log(size) / np.log(s))


def _by_suffix(counts: np.ndarray, length: int) -> np.ndarray:
    """Transitions after the last ``length`` records."""
    kernels, _, s = counts.shape
    return np.asarray(counts.reshape(kernels, -1, s**length, s).sum(axis=1))


def contexts_in_words(
    counts: np.ndarray, states: Sequence[Any], kernels: Sequence[str] = ("",)
) -> str:
    """Which windows take the row of their last records, in words; empty where none do.

    Examples
    --------
    >>> contexts_in_words(np.array([[[80, 20], [50, 50], [9, 0], [3, 7]]]), "ab")
    'windows with too few data take the row of their last records: b, a that of a'
    """
    order, s = order_of(counts), len(states)
    lengths, seen = context_lengths(counts), by_context(counts).any(axis=2)
    short = np.argwhere((lengths < order) & seen).tolist()
    if not short:
        return ""

    def named(window: int, length: int) -> str:
        return ", ".join(str(states[window // s**d % s]) for d in range(length - 1, -1, -1))

    told = [
        f"{named(w, order)}{f' ({kernels[g]})' if len(kernels) > 1 else ''} that of "
        f"{named(w, int(lengths[g, w]))}"
        for g, w in short[:_SHOWN]
    ]
    more = f"; and {len(short) - _SHOWN} more" if len(short) > _SHOWN else ""
    return f"windows with too few data take the row of their last records: {'; '.join(told)}{more}"
