"""The lower end of transfer on a chain of order k: a bad adversary, and a mechanism that attains.

A word is searched first: one known record on each side at many distances, then letter by letter.
What transfer says of it is no proof that so much leaks. So a mechanism is searched for it as well:
one output whose probability is a product over the records, ``prod_t f_t(x_t)`` with f_t as steep
as the guarantee allows. What that output tells is attained.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.cells import settle_far
from corrdp.bounds.chains.words import (
    UNKNOWN,
    Side,
    States,
    Window,
    at_end,
    beyond,
    forms,
    sides_of,
    step_known,
    step_unknown,
)
from corrdp.models.chains.window import WindowChain

_NEAR = 16  # distances tried one by one; further ones grow by a sixth each
_FURTHEST = 100
_FEW = 6  # distances tried at least
_LETTERS = 40  # letters next to the window that are tried one by one; fewer with more states
_ROUNDS = 12
_GRAIN = 1e-9


@dataclass(frozen=True, eq=False)
class Found:
    """An adversary found by search.

    Parameters
    ----------
    value : float
        What transfer says of it: the certificate for all adversaries cannot be below.
    attained : float
        What a product mechanism tells it.
    values : tuple of int
        The two values told apart.
    known : tuple of (offset, value)
    """

    value: float
    attained: float
    values: tuple[int, int]
    known: tuple[tuple[int, int], ...]


def free_states(side: Side, steps: np.ndarray) -> States:
    """Unknown records without end beyond the window."""
    costs = settle_far(side, steps, 0.0, _GRAIN * float(steps.max()))
    end = at_end(side)
    return States(costs[None], end.weights, end.alive)


def search_words(chain: WindowChain, steps: np.ndarray) -> Found:
    """A bad adversary on a chain without a length, and what it learns.

    A few hundred words on each side, O(S^2) a letter.
    """
    s, k = chain.transition.shape[1], chain.order
    sides = sides_of(chain)
    window = Window.of(chain, steps[None], k - 1)
    free = [free_states(side, steps) for side in sides]
    singles = [_single_words(side, start, steps) for side, start in zip(sides, free, strict=True)]
    cores = list(itertools.product((UNKNOWN, *range(s)), repeat=k - 1))
    best, core, at = -1.0, cores[0], (0, 0)
    tables = [beyond(side, states) for side, (states, _) in zip(sides, singles, strict=True)]
    one, two = np.indices([len(words) for _, words in singles]).reshape(2, -1)
    for letters in cores:
        found = window.leakage(tables[0], tables[1], (one, two), letters)
        if found.max() > best:
            n = int(found.reshape(len(one), -1).max(axis=1).argmax())
            best, core, at = float(found.max()), letters, (int(one[n]), int(two[n]))
    words = [singles[0][1][at[0]], singles[1][1][at[1]]]
    best, words = _improve(window, sides, free, words, core, steps, best)
    found = _values(window, sides, free, words, core, steps)
    a, b = (int(x) for x in np.unravel_index(int(found.argmax()), found.shape))
    known = [(j + 1 - k, letter) for j, letter in enumerate(core) if letter != UNKNOWN]
    known += [(1 + j, letter) for j, letter in enumerate(words[0]) if letter != UNKNOWN]
    known += [(-k - j, letter) for j, letter in enumerate(words[1]) if letter != UNKNOWN]
    known.sort()
    length = max(len(words[0]) + 1, len(words[1]) + k) + _LETTERS
    attained = attain(chain, steps[None], dict(known), (a, b), length, length)
    return Found(best, attained, (a, b), tuple(known))


def _single_words(
    side: Side, start: States, steps: np.ndarray
) -> tuple[States, list[tuple[int, ...]]]:
    """Nothing known, and one record known at each of many distances; letters nearest first."""
    parts = [start]
    words: list[tuple[int, ...]] = [()]
    values = [c for c in range(side.states) if step_known(side, start, c).alive.any()]
    states = States.join([step_known(side, start, c) for c in values])
    wanted, distance = 1, 1
    while distance <= max(_FURTHEST // forms(side.states).effort, _FEW):
        if distance == wanted:
            parts.append(states)
            words += [(*[UNKNOWN] * (distance - 1), c) for c in values]
            wanted += max(1, (wanted - _NEAR) // 6 + 1)
        states = step_unknown(side, states, steps)
        distance += 1
    return States.join(parts), words


def _follow_all(
    side: Side, start: States, words: list[tuple[int, ...]], steps: np.ndarray
) -> States:
    """States of words of one length, letters nearest first."""
    states = start[np.zeros(len(words), np.int64)]
    for letters in zip(*(word[::-1] for word in words), strict=True):
        which = np.array(letters)
        after = States(states.costs.copy(), states.weights.copy(), states.alive.copy())
        for letter in np.unique(which):
            at = np.flatnonzero(which == letter)
            part = states[at]
            part = (
                step_unknown(side, part, steps)
                if letter == UNKNOWN
                else step_known(side, part, int(letter))
            )
            after.costs[at], after.weights[at], after.alive[at] = (
                part.costs,
                part.weights,
                part.alive,
            )
        states = after
    return states


def _improve(
    window: Window,
    sides: tuple[Side, Side],
    free: list[States],
    words: list[tuple[int, ...]],
    core: tuple[int, ...],
    steps: np.ndarray,
    best: float,
) -> tuple[float, list[tuple[int, ...]]]:
    """Change one letter after the other while that leaks more, on one side and on the other."""
    states = [
        _follow_all(side, start, [word], steps)
        for side, start, word in zip(sides, free, words, strict=True)
    ]
    idle, letters = 0, max(_LETTERS // forms(sides[0].states).effort, 4)
    for turn in range(_ROUNDS):
        k = turn % 2
        long = words[k] + (UNKNOWN,) * (letters - len(words[k]))
        tried = [
            (*long[:at], letter, *long[at + 1 :])
            for at in range(letters)
            for letter in (UNKNOWN, *range(sides[k].states))
            if letter != long[at]
        ]
        batch = _follow_all(sides[k], free[k], tried, steps)
        tables = [beyond(side, each) for side, each in zip(sides, states, strict=True)]
        tables[k] = beyond(sides[k], batch)
        every, same = np.arange(len(tried)), np.zeros(len(tried), np.int64)
        pairs = (every, same) if k == 0 else (same, every)
        found = window.leakage(tables[0], tables[1], pairs, core).reshape(len(tried), -1)
        at = int(found.max(axis=1).argmax())
        if found[at].max() <= best * (1.0 + 1e-9):
            idle += 1
            if idle == 2:
                break
            continue
        idle, best = 0, float(found[at].max())
        words = [tried[at] if side == k else word for side, word in enumerate(words)]
        states[k] = batch[np.array([at])]
    return best, words


def _values(
    window: Window,
    sides: tuple[Side, Side],
    free: list[States],
    words: list[tuple[int, ...]],
    core: tuple[int, ...],
    steps: np.ndarray,
) -> np.ndarray:
    """Leakage of one adversary by pair of values."""
    tables = [
        beyond(side, _follow_all(side, start, [word], steps))
        for side, start, word in zip(sides, free, words, strict=True)
    ]
    nought = np.zeros(1, np.int64)
    return window.leakage(tables[0], tables[1], (nought, nought), core)[0]


def attain(
    chain: WindowChain,
    steps: np.ndarray,
    known: dict[int, int],
    values: tuple[int, int],
    before: int,
    after: int,
) -> float:
    """What a product mechanism tells an adversary, found by changing one f_t after the other.

    Parameters
    ----------
    chain : WindowChain
    steps : (1 or before + 1 + after, s, s) array
        What each record may tell.
    known : mapping of offset to value
    values : pair
        Values of the record attacked that are told apart.
    before, after : int
        Records that the mechanism reads on each side.

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
    for offset, value in known.items():
        seen[:, before + offset] = np.arange(s) == value
    for k, value in enumerate(values):
        seen[k, before] = np.arange(s) == value
    best = 0.0
    for f in (np.ones((n, s)), np.ascontiguousarray(shapes[:, values[0]])):
        found = _ascend(chain.stationary, chain.transition, seen, shapes, f, _ROUNDS)
        best = max(best, found if math.isfinite(found) else 0.0)
    return best


@njit(cache=True)
def _ascend(
    law: np.ndarray,
    table: np.ndarray,
    seen: np.ndarray,
    shapes: np.ndarray,
    f: np.ndarray,
    rounds: int,
) -> float:
    """Replace each f_t in place by the best of ``shapes[t]`` given the others, round by round.

    ``seen[k, t]`` says which values of record t are possible when the record attacked has its k-th
    value. Returned is ln of what the first weighs against the second under f, less the same
    without f: the ratio of conditional laws.
    """
    n, s = f.shape
    size = len(law)
    tails = size // s
    rest = np.empty((n + 1, 2, size))  # what the records from t on add, by the window before t
    aheads, moved = np.empty((2, size)), np.empty((2, size))
    by_value = np.empty((2, s))
    value = -math.inf
    plain = 0.0
    for turn in range(rounds + 1):
        logs = np.zeros(2)
        for k in range(2):
            for u in range(size):
                rest[n, k, u] = 1.0
            for t in range(n - 1, -1, -1):
                top = 0.0
                for u in range(size):
                    total = 0.0
                    for y in range(s):
                        weight = seen[k, t, y] * (f[t, y] if turn > 0 else 1.0)
                        total += table[u, y] * weight * rest[t + 1, k, (u % tails) * s + y]
                    rest[t, k, u] = total
                    top = max(top, total)
                if top <= 0.0:
                    return -math.inf
                logs[k] += math.log(top)
                for u in range(size):
                    rest[t, k, u] /= top
            start = 0.0
            for u in range(size):
                start += law[u] * rest[0, k, u]
            if start <= 0.0:
                return -math.inf
            logs[k] += math.log(start)
        if turn == 0:
            plain = logs[0] - logs[1]
            continue
        found = logs[0] - logs[1] - plain
        if found <= value * (1.0 + 1e-12):
            return max(found, value)
        value = found
        for k in range(2):
            for u in range(size):
                aheads[k, u] = law[u]
        for t in range(n):
            for k in range(2):
                for y in range(s):
                    by_value[k, y] = 0.0
                for u in range(size):
                    moved[k, u] = 0.0
                for u in range(size):
                    for y in range(s):
                        w = (u % tails) * s + y
                        moved[k, w] += aheads[k, u] * table[u, y] * seen[k, t, y]
                for u in range(size):
                    by_value[k, u % s] += moved[k, u] * rest[t + 1, k, u]
            best, chosen = -1.0, -1
            for j in range(-1, shapes.shape[1]):  # -1: as it is
                above, below = 0.0, 0.0
                for y in range(s):
                    weight = f[t, y] if j < 0 else shapes[t, j, y]
                    above += by_value[0, y] * weight
                    below += by_value[1, y] * weight
                if below > 0.0 and above / below > best * (1.0 + 1e-13):
                    best, chosen = above / below, j
            if chosen >= 0:
                for y in range(s):
                    f[t, y] = shapes[t, chosen, y]
            for k in range(2):
                top = 0.0
                for u in range(size):
                    aheads[k, u] = moved[k, u] * f[t, u % s]
                    top = max(top, aheads[k, u])
                for u in range(size):
                    aheads[k, u] /= top if top > 0.0 else 1.0
    return value
