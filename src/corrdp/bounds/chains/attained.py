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
    table, s = chain.transition, chain.transition.shape[1]
    size, n = len(table), before + 1 + after
    to = (np.arange(size) % (size // s))[:, None] * s + np.arange(s)
    per_record = np.broadcast_to(steps, (n, s, s))
    # f_t as steep as may be: from one value down, or up to one value
    shapes = np.exp(np.concatenate([-per_record, np.swapaxes(per_record, 1, 2)], axis=1))
    shapes /= shapes.max(axis=2, keepdims=True)
    seen = np.ones((n, s))
    for offset, value in known.items():
        seen[before + offset] = np.arange(s) == value
    best = 0.0
    for start in ("flat", "towards"):
        f = np.ones((n, s)) if start == "flat" else shapes[:, values[0]].copy()
        last = -math.inf
        for _ in range(_ROUNDS):
            told = _one_round(chain.stationary, table, to, f, seen, shapes, values, before)
            if told <= last * (1.0 + 1e-12):
                break
            last = told
        best = max(best, last)
    return best


def _one_round(
    law: np.ndarray,
    table: np.ndarray,
    to: np.ndarray,
    f: np.ndarray,
    seen: np.ndarray,
    shapes: np.ndarray,
    values: tuple[int, int],
    target: int,
) -> float:
    """Replace each f_t by the best one given the others, in place; the log ratio after it."""
    n, s = f.shape
    size = len(table)
    truth = np.stack([seen, seen])  # what is known, with either value of the record attacked
    for k, value in enumerate(values):
        truth[k, target] = np.arange(s) == value
    # what the records after t add, by the window at t
    rest = np.ones((n + 1, 2, size))
    for t in range(n - 1, -1, -1):
        inner = (table * f[t] * truth[:, None, t]) * rest[t + 1][:, to]
        rest[t] = inner.sum(axis=2)
        rest[t] /= rest[t].max()
    ahead = np.stack([law, law])
    for t in range(n):
        flow = ahead[:, :, None] * table * truth[:, None, t]  # by window before and new record
        moved = _gather(flow)
        by_value = (moved * rest[t + 1]).reshape(2, -1, s).sum(axis=1)
        if by_value[0] @ f[t] > 0 and by_value[1] @ f[t] > 0:
            options = np.vstack([f[t], shapes[t]])
            above, below = options @ by_value[0], options @ by_value[1]
            with np.errstate(divide="ignore"):
                ratios = np.log(above) - np.log(below)
            f[t] = options[int(np.argmax(ratios))]
        ahead = moved * f[t][np.arange(size) % s]
        ahead /= ahead.max()
    # conditional laws are compared: divide by the chance of each value
    plain = _log_chance(law, table, np.ones_like(f), truth)
    return _log_chance(law, table, f, truth) - plain


def _gather(flow: np.ndarray) -> np.ndarray:
    """Sum what flows into each window; ``flow`` by kind, window before and new record."""
    kinds, size, s = flow.shape
    # windows that share a tail lead to the same windows
    return np.asarray(flow.reshape(kinds, s, size // s, s).sum(axis=1).reshape(kinds, size))


def _log_chance(law: np.ndarray, table: np.ndarray, f: np.ndarray, truth: np.ndarray) -> float:
    """ln of what the first value weighs against the second, under weights f."""
    ahead, logs = np.stack([law, law]), np.zeros(2)
    for t in range(len(f)):
        moved = _gather(ahead[:, :, None] * table * (f[t] * truth[:, None, t]))
        total = moved.sum(axis=1)
        if not total.all():
            return -math.inf
        logs += np.log(total)
        ahead = moved / total[:, None]
    return float(logs[0] - logs[1])
