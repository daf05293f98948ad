"""Single adversaries on a chain of order k: what they know on a side, letter by letter.

A *word* says of each record beyond a window whether it is unknown or what it is. Words of short
chains are all followed; on long ones a bad word is searched, and a mechanism for it: one output
whose probability is a product over the records, ``prod_t f_t(x_t)`` with f_t as steep as the
guarantee allows. What that output tells is attained, so that it is a lower end of the leakage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from corrdp._compiled import inlined, njit
from corrdp.bounds.chains.frontier import (
    Beyond,
    Flank,
    Window,
    Worst,
    all_cores,
    plant,
    worst_pair,
)
from corrdp.bounds.chains.zones import UNKNOWN, room_for, step, step_weights
from corrdp.models.chains.window import WindowChain

_SAME = 1e-10  # words whose T (relative to epsilon) and ln h differ by less count as one
_KEPT = 2_000_000  # numbers kept for the words of a short chain
_LETTERS = 28  # letters of a word that are tried
_RUN = 100  # unknown records beyond them
_TRIED = 10_000  # comparisons of windows in one word, about
_ROUNDS = 8
_FURTHER = 1e-9  # relative: a search that gains less has ended


@dataclass(frozen=True, eq=False)
class Words:
    """What lies beyond a window, for a batch of words of one length."""

    letters: np.ndarray  # (batch, length), nearest first
    costs: np.ndarray  # (batch, S, S): T
    weights: np.ndarray  # (batch, S): ln h; 0 where h = 0
    alive: np.ndarray  # (batch, S): where h > 0

    def __getitem__(self, which: np.ndarray) -> Words:
        return Words(self.letters[which], self.costs[which], self.weights[which], self.alive[which])

    def beyond(self, side: Flank) -> Beyond:
        """T, U (zones of width 0) and where h > 0, windows numbered as the chain is written."""
        both = self.alive[:, :, None] & self.alive[:, None, :]
        zones = np.where(both, self.weights[:, :, None] - self.weights[:, None, :], 0.0)
        return side.natural(self.costs), side.natural(zones), side.natural(self.alive)


@njit(cache=True, error_model="numpy")
def _follow(
    letters: np.ndarray,
    costs: np.ndarray,
    weights: np.ndarray,
    alive: np.ndarray,
    rows: np.ndarray,
    steps: np.ndarray,
    three: np.ndarray | None,
) -> None:
    """Go along words from their far ends, in place."""
    size, s = rows.shape[1], rows.shape[3]
    place = 0 * size  # a plain number would be a type of its own
    zone, out = np.empty((size, size)), np.empty((size, size))
    before, possible = np.empty((1, size)), np.empty((1, size), np.bool_)
    for n in range(len(letters)):
        seen, cost = alive[n], costs[n]
        for k in range(letters.shape[1] - 1, -1, -1):
            letter = letters[n, k]
            for u in range(size):
                for v in range(size):
                    first, second = u * s % size + letter, v * s % size + letter
                    zone[u, v], out[u, v] = 0.0, 0.0
                    if letter < 0:
                        if seen[u] and seen[v]:
                            zone[u, v] = weights[n, u] - weights[n, v]
                    elif seen[first] and seen[second]:
                        out[u, v] = cost[first, second]
            if letter < 0:
                step(cost, zone, seen, rows, place, steps, False, out, three)
            for u in range(size):
                before[0, u], possible[0, u] = weights[n, u], seen[u]
            step_weights(before, possible, place, rows, place, letter, weights, alive, n)
            for u in range(size):
                for v in range(size):
                    cost[u, v] = out[u, v] if seen[u] and seen[v] else 0.0


def follow(
    side: Flank, letters: np.ndarray, steps: np.ndarray, begin: Words | None = None
) -> Words:
    """States of words, letters nearest first, beyond which nothing lies or the words ``begin``.

    O(S^2) a letter.
    """
    size, count = len(side.used), len(letters)
    if begin is None:
        costs, weights = np.zeros((count, size, size)), np.zeros((count, size))
        alive, before = np.repeat(side.used[None], count, axis=0), np.zeros((count, 0), np.int64)
    else:
        costs, weights, alive = begin.costs.copy(), begin.weights.copy(), begin.alive.copy()
        before = begin.letters
    _follow(letters, costs, weights, alive, side.rows, steps, room_for(side.states))
    return Words(np.concatenate([letters, before], axis=1), costs, weights, alive)


@dataclass(frozen=True, eq=False)
class Found:
    """A bad adversary: the record attacked, two of its values, and what transfer says is told."""

    value: float = 0.0
    record: int = 0
    values: tuple[int, int] = (0, 0)
    known: tuple[tuple[int, int], ...] = ()  # offsets and values

    @staticmethod
    def at(worst: Worst, record: int, before: int, right: np.ndarray, left: np.ndarray) -> Found:
        """``before`` records of the window come before the one attacked; letters nearest first."""
        order = len(worst.core) + 1
        known = dict(
            zip((at - before for at in range(order) if at != before), worst.core, strict=True)
        )
        known |= {order - before + at: int(x) for at, x in enumerate(right)}
        known |= {-before - 1 - at: int(x) for at, x in enumerate(left)}
        told = sorted((at, x) for at, x in known.items() if x != UNKNOWN)
        return Found(worst.value, record, worst.values, tuple(told))


# -- short chains --------------------------------------------------------------------------------


def price_words(
    chain: WindowChain, sides: tuple[Flank, Flank], steps: np.ndarray
) -> tuple[np.ndarray, Found] | None:
    """Transfer bound of every record of a short chain, and the worst adversary.

    Parameters
    ----------
    chain : WindowChain
    sides : pair of Flank
    steps : (n, s, s) array
        One matrix per record, n at least k.

    Returns
    -------
    None where there are too many words.

    Notes
    -----
    k known records in a row forget all that lies beyond, so that the number of different words
    grows as 2^n for order 2 and two states. Pairs of words are opened worst first.
    """
    n, k, s = len(steps), chain.order, len(chain.states)
    sets = []
    for side, furthest_first in zip(sides, (steps[::-1], steps), strict=True):
        words = _all_words(side, furthest_first[: n - k])
        if words is None:
            return None
        sets.append((words, [plant(each.beyond(side)) for each in words]))
    (rights, right_trees), (lefts, left_trees) = sets
    per_record, found = np.full(n, np.inf), Found()
    for i in range(n):
        least = Found()
        for before in range(max(k - n + i, 0), min(k - 1, i) + 1):
            left, right = i - before, n - k - i + before  # records beyond the window
            window = Window.of(chain, steps[left : left + k], before)
            worst = worst_pair(window, right_trees[right], left_trees[left], all_cores(k, s))
            if worst.value < per_record[i]:
                per_record[i], least = worst.value, Found()
            if worst.right >= 0 and worst.value == per_record[i]:
                one, other = rights[right].letters[worst.right], lefts[left].letters[worst.left]
                least = Found.at(worst, i, before, one, other)
        found = max(found, least, key=lambda each: each.value)
    return per_record, found


def _all_words(side: Flank, steps: np.ndarray) -> list[Words] | None:
    """All different words with 0, 1, .. records; ``steps`` of the furthest record first."""
    scale = max(float(steps.max(initial=0.0)), np.finfo(float).tiny)
    found = [follow(side, np.zeros((1, 0), np.int64), np.zeros((side.states, side.states)))]
    kept = 0
    for each in steps:
        many = side.states + 1
        last = found[-1][np.repeat(np.arange(len(found[-1].alive)), many)]
        letters = np.arange(len(last.alive))[:, None] % many + UNKNOWN
        words = follow(side, letters, each, last)
        told = [words.costs.reshape(len(letters), -1) / scale, words.weights, words.alive]
        codes = np.round(np.column_stack(told) / _SAME)
        first = np.sort(np.unique(codes, axis=0, return_index=True)[1])
        found.append(words[first[words.alive[first].any(axis=1)]])
        kept += found[-1].costs.size
        if kept > _KEPT:
            return None
    return found


# -- long chains ---------------------------------------------------------------------------------


def search_words(chain: WindowChain, sides: tuple[Flank, Flank], steps: np.ndarray) -> Found:
    """A bad adversary on a long chain: one known record on each side, then letter by letter.

    Some hundred words, O(S^2) a letter.
    """
    k, s = chain.order, len(chain.states)
    effort = len(chain.transition) ** 2 * (1 if s == 2 else 30)
    nothing = np.full(min(max(_TRIED // effort, 8), _LETTERS), UNKNOWN)
    window, cores = Window.of(chain, steps[None], k - 1), all_cores(k, s)
    begin = [follow(side, np.full((1, _RUN), UNKNOWN), steps) for side in sides]
    best, words, idle = Worst(), [nothing, nothing], 0
    tried = [_changed(word, s) for word in words]
    for turn in range(_ROUNDS):
        batches = [
            follow(side, each, steps, free[np.zeros(len(each), np.int64)])
            for side, each, free in zip(sides, tried, begin, strict=True)
        ]
        trees = [plant(each.beyond(side)) for side, each in zip(sides, batches, strict=True)]
        worst = worst_pair(window, trees[0], trees[1], cores)
        idle = 0 if worst.value > best.value * (1.0 + _FURTHER) else idle + 1
        if idle == 0:
            best, words = worst, [tried[0][worst.right], tried[1][worst.left]]
        elif idle == 2:
            break
        tried = [word[None] for word in words]
        tried[turn % 2] = _changed(words[turn % 2], s)
    return Found.at(best, 0, k - 1, words[0], words[1])


def _changed(word: np.ndarray, states: int) -> np.ndarray:
    """All words that differ from a word in at most one letter."""
    length, many = len(word), states + 1
    tried = np.repeat(word[None], length * many, axis=0)
    tried[np.arange(length * many), np.repeat(np.arange(length), many)] = (
        np.arange(length * many) % many + UNKNOWN
    )
    return np.unique(tried, axis=0)


def attained(chain: WindowChain, steps: np.ndarray, found: Found, before: int, after: int) -> float:
    """What a product mechanism tells an adversary, found by changing one f_t after the other.

    Parameters
    ----------
    chain : WindowChain
    steps : (1 or before + 1 + after, s, s) array
        What each record may tell.
    found : Found
    before, after : int
        Records on each side of the one attacked.

    Notes
    -----
    O(records S s) a round.
    """
    s, n = chain.transition.shape[1], before + 1 + after
    per_record = np.broadcast_to(steps, (n, s, s))
    # f_t as steep as may be: from one value down, or up to one value
    shapes = np.exp(np.concatenate([-per_record, np.swapaxes(per_record, 1, 2)], axis=1))
    shapes /= shapes.max(axis=2, keepdims=True)
    seen = np.ones((2, n, s))
    for offset, value in found.known:
        seen[:, before + offset] = np.arange(s) == value
    for k, value in enumerate(found.values):
        seen[k, before] = np.arange(s) == value
    best = 0.0
    for f in (np.ones((n, s)), shapes[:, found.values[0]].copy()):
        told = _ascend(chain.stationary, chain.transition, seen, shapes, f)
        best = max(best, told if math.isfinite(told) else 0.0)
    return best * (1.0 - _FURTHER)  # rounded down


@inlined
def _rest(
    table: np.ndarray, seen: np.ndarray, f: np.ndarray, law: np.ndarray, rest: np.ndarray
) -> float:
    """Fill in what the records from t on weigh, by the window before them; ln of the whole.

    Each row is scaled to a largest entry of one.
    """
    n, s = f.shape
    size = len(law)
    log = 0.0
    for u in range(size):
        rest[n, u] = 1.0
    for t in range(n - 1, -1, -1):
        top = 0.0
        for u in range(size):
            rest[t, u] = 0.0
            for y in range(s):
                rest[t, u] += table[u, y] * seen[t, y] * f[t, y] * rest[t + 1, u * s % size + y]
            top = max(top, rest[t, u])
        log += math.log(top)
        for u in range(size):
            rest[t, u] /= top
    total = 0.0
    for u in range(size):
        total += law[u] * rest[0, u]
    return log + math.log(total)


@njit(cache=True, error_model="numpy")
def _ascend(
    law: np.ndarray, table: np.ndarray, seen: np.ndarray, shapes: np.ndarray, f: np.ndarray
) -> float:
    """Replace each f_t in place by the best of ``shapes[t]`` given the others, round by round.

    ``seen[k, t]`` says which values of record t are possible when the record attacked has its k-th
    value. Returned is ln of what the first weighs against the second under f, less the same
    without f: the ratio of conditional laws.
    """
    n, s = f.shape
    size = len(law)
    rest = np.empty((2, n + 1, size))
    ahead, moved, by_value = np.empty((2, size)), np.empty((2, size)), np.empty((2, s))
    flat = np.empty((n, s))
    for t in range(n):
        for y in range(s):
            flat[t, y] = 1.0
    plain, value = 0.0, -1.0  # less than what a flat f tells
    for turn in range(_ROUNDS + 1):
        here = f if turn else flat
        told = _rest(table, seen[0], here, law, rest[0]) - _rest(table, seen[1], here, law, rest[1])
        if turn == 0:
            plain = told
            continue
        if not told - plain > value + abs(value) * 1e-12:
            break
        value = told - plain
        for u in range(size):
            ahead[0, u], ahead[1, u] = law[u], law[u]
        for t in range(n):
            for k in range(2):
                for y in range(s):
                    by_value[k, y] = 0.0
                for u in range(size):
                    moved[k, u] = 0.0
                for u in range(size):
                    for y in range(s):
                        moved[k, u * s % size + y] += ahead[k, u] * table[u, y] * seen[k, t, y]
                for u in range(size):
                    by_value[k, u % s] += moved[k, u] * rest[k, t + 1, u]
            best, chosen = -1.0, -1
            for j in range(-1, shapes.shape[1]):  # -1: as it is
                above, below = 0.0, 0.0
                for y in range(s):
                    weight = f[t, y] if j < 0 else shapes[t, j, y]
                    above += by_value[0, y] * weight
                    below += by_value[1, y] * weight
                if above > best * (1.0 + 1e-13) * below:
                    best, chosen = above / below, j
            for y in range(s):
                f[t, y] = f[t, y] if chosen < 0 else shapes[t, chosen, y]
            for k in range(2):
                top = 0.0
                for u in range(size):
                    ahead[k, u] = moved[k, u] * f[t, u % s]
                    top = max(top, ahead[k, u])
                for u in range(size):
                    ahead[k, u] /= top
    return value
