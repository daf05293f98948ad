"""Transfer on windows for one adversary on a chain of order k (order-k#transfer).

What an adversary knows beyond a window is a *word*: for each record unknown, or its value. A word
is followed from its far end inwards, one letter after the other; k known records in a row cut the
chain, so that words begin there or at the end of the chain.

    record attacked  i    window   | i+1   i+2   i+3   i+4 ..
    word                           |  ?     1     ?     ?      (nearest letter first)

Short chains: every word is followed, which prices every adversary by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from corrdp.bounds.chains.zones import costs_of_two, targets_of_two, zones_of_two
from corrdp.errors import NotApplicableError
from corrdp.models.chains.window import WindowChain

UNKNOWN = -1
_PAIRS = 400_000  # pairs of words that a short chain may have


@dataclass(frozen=True, eq=False)
class Side:
    """A chain of order k as it is read to one side: forwards to the right, backwards to the left.

    Parameters
    ----------
    table : (S, s) array
        Probabilities of the next record on this side by window, in this side's reading.
    used : (S,) array of bool
        Which windows can occur.
    turned : (S,) array
        The number of each window in this side's reading.
    """

    table: np.ndarray
    used: np.ndarray
    turned: np.ndarray

    @property
    def states(self) -> int:
        return self.table.shape[1]

    @cached_property
    def following(self) -> np.ndarray:
        """The window after each window and new record, shape (S, s)."""
        size, s = self.table.shape
        return (np.arange(size) % (size // s))[:, None] * s + np.arange(s)

    @cached_property
    def logs(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.table)

    def natural(self, batch: np.ndarray) -> np.ndarray:
        """Rows (and columns) by window as the chain is written."""
        if batch.ndim == 3:
            batch = batch[:, :, self.turned]
        return np.ascontiguousarray(batch[:, self.turned])


@dataclass(frozen=True, eq=False)
class States:
    """What lies beyond a window, for a batch of words: T, ln h, and where h > 0."""

    costs: np.ndarray  # (batch, S, S)
    weights: np.ndarray  # (batch, S); 0 where h = 0
    alive: np.ndarray  # (batch, S)

    def __getitem__(self, index: np.ndarray | slice) -> States:
        return States(self.costs[index], self.weights[index], self.alive[index])

    @staticmethod
    def join(parts: list[States]) -> States:
        """One batch of several."""
        return States(
            np.concatenate([part.costs for part in parts]),
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.alive for part in parts]),
        )

    @property
    def zones(self) -> np.ndarray:
        """ln h(u)/h(v): zones of width 0."""
        return self.weights[:, :, None] - self.weights[:, None, :]


@lru_cache(maxsize=16)
def sides_of(chain: WindowChain) -> tuple[Side, Side]:
    """The two readings of a stationary chain."""
    if chain.left_for_ever:
        raise NotApplicableError("some recorded windows are left for ever; use blocks")
    table, law, used = chain.transition, chain.stationary, chain.occurring
    size, s = table.shape
    shape = (s,) * chain.order
    turned = np.arange(size).reshape(shape).transpose().ravel()
    back = np.zeros((size, s))
    for v in np.flatnonzero(used):
        before = np.arange(s) * (size // s) + v // s  # windows that v can come from
        weights = law[before] * table[before, v % s]
        possible = used[before] & (table[before, v % s] > 0)
        if (weights[possible] < np.finfo(float).tiny).any():
            raise NotApplicableError("windows of this chain are too rare to be followed")
        back[turned[v]] = np.where(possible, weights, 0.0) / weights[possible].sum()
    forth = np.where(used[:, None], table, 0.0)
    return Side(forth, used, np.arange(size)), Side(back, used[turned], turned)


def at_end(side: Side) -> States:
    """Nothing beyond the window."""
    size = len(side.table)
    return States(np.zeros((1, size, size)), np.zeros((1, size)), side.used[None].copy())


def step_unknown(side: Side, states: States, steps: np.ndarray) -> States:
    """One unknown record more between the window and what lies beyond. O(S^2) a word."""
    costs = np.empty_like(states.costs)
    forms(side.states).costs(states.costs, states.zones, states.alive, side.table, steps, costs)
    return States(costs, *average_weights(side, states.weights, states.alive))


def average_weights(
    side: Side, weights: np.ndarray, alive: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """ln h before an unknown record, and where h > 0."""
    possible = alive[:, side.following] & (side.table > 0)
    terms = np.where(possible, side.logs + weights[:, side.following], -np.inf)
    seen = np.asarray(possible.any(axis=2))
    high = np.where(seen, terms.max(axis=2), 0.0)
    with np.errstate(divide="ignore"):
        return _levelled(high + np.log(np.exp(terms - high[:, :, None]).sum(axis=2)), seen), seen


def step_known(side: Side, states: States, value: int) -> States:
    """One record more between, known to have this value."""
    to = side.following[:, value]
    alive = states.alive[:, to] & (side.table[:, value] > 0)
    costs = states.costs[:, to][:, :, to] * (alive[:, :, None] & alive[:, None, :])
    return States(costs, _levelled(side.logs[:, value] + states.weights[:, to], alive), alive)


def _levelled(weights: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """Logarithms relative to the largest; 0 where h = 0."""
    top = np.where(alive, weights, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    return np.where(alive, weights - np.where(np.isfinite(top), top, 0.0), 0.0)


@dataclass(frozen=True)
class Forms:
    """The compiled steps, by number of states."""

    costs: Callable[..., None]
    zones: Callable[..., None]
    targets: Callable[..., None]
    effort: int  # of one pair of windows, relative to two states


def forms(states: int) -> Forms:
    """Closed forms for two states, programs for more."""
    if states == 2:
        return Forms(costs_of_two, zones_of_two, targets_of_two, 1)
    from corrdp.bounds.chains.programs import costs_of_many, targets_of_many, zones_of_many

    return Forms(costs_of_many, zones_of_many, targets_of_many, 60)


@dataclass(frozen=True, eq=False)
class Window:
    """The window around a record attacked: its law, what its own records tell, and where it is.

    Parameters
    ----------
    law : (S,) array
        Logarithms of the law of a window; -inf where it cannot occur.
    own : (S, S) array
        Sum of the steps of all records in which two windows differ.
    places : (S,) array
        Windows in an order in which the record attacked is the last digit.
    """

    law: np.ndarray
    own: np.ndarray
    places: np.ndarray

    @staticmethod
    def of(chain: WindowChain, steps: np.ndarray, place: int) -> Window:
        """``steps`` has one matrix per record of the window, or one for all."""
        size, s = chain.transition.shape
        k = chain.order
        digits = chain.windows
        own = np.zeros((size, size))
        for at in range(k):
            own += steps[at % len(steps)][np.ix_(digits[:, at], digits[:, at])]
        moved = np.moveaxis(np.arange(size).reshape((s,) * k), place, -1).ravel()
        with np.errstate(divide="ignore"):
            law = np.where(chain.occurring, np.log(chain.stationary), -np.inf)
        if (chain.occurring & ~np.isfinite(law)).any():
            raise NotApplicableError("windows of this chain are too rare to be followed")
        return Window(law, own, np.ascontiguousarray(moved))

    def leakage(
        self,
        right: tuple[np.ndarray, np.ndarray, np.ndarray],
        left: tuple[np.ndarray, np.ndarray, np.ndarray],
        pairs: tuple[np.ndarray, np.ndarray],
        core: tuple[int, ...],
    ) -> np.ndarray:
        """By pair of sides and of values, shape (pairs, s, s); -1 where a value is impossible.

        A side is T, U and where h > 0, windows numbered as the chain is written.
        """
        s = round(len(self.law) ** (1.0 / (len(core) + 1)))
        out = np.empty((len(pairs[0]), s, s))
        forms(s).targets(
            np.ascontiguousarray(pairs[0], dtype=np.int64),
            np.ascontiguousarray(pairs[1], dtype=np.int64),
            (right[0], left[0]),
            (right[1], left[1]),
            (right[2], left[2]),
            self.law,
            self.own,
            self.places,
            np.array(core, dtype=np.int64),
            out,
        )
        return out


def beyond(side: Side, states: States) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T, U and where h > 0 of words, windows numbered as the chain is written."""
    return side.natural(states.costs), side.natural(states.zones), side.natural(states.alive)


@dataclass(frozen=True, eq=False)
class _Words:
    """All words beyond one record: states, letters (nearest first), the word without its nearest.

    Those that are not whole begin in the middle of the chain with fewer than k known records.
    """

    states: States
    letters: list[tuple[int, ...]]
    parents: np.ndarray
    whole: np.ndarray


def _all_words(side: Side, order: int, steps: np.ndarray) -> list[_Words]:
    """All words with 0, 1, .. records beyond the window; ``steps`` of the furthest record first."""
    begin = at_end(side)
    roots = States.join([begin, begin])
    words = [_Words(roots, [(), ()], np.array([-1, -1]), np.array([True, False]))]
    for step in steps:
        last = words[-1]
        parts: list[States] = []
        letters: list[tuple[int, ...]] = []
        parents: list[int] = []
        whole: list[bool] = []
        for letter in (UNKNOWN, *range(side.states)):
            kept = []
            for n, word in enumerate(last.letters):
                run = next((j for j, x in enumerate(word) if x == UNKNOWN), len(word))
                begun_here = not last.whole[n]
                if letter == UNKNOWN and begun_here:
                    continue  # a beginning in the middle must be k known records
                if letter != UNKNOWN and run + 1 >= order and not begun_here:
                    continue  # k known in a row begin a word of their own
                kept.append(n)
                letters.append((letter, *word))
                parents.append(n)
                whole.append(bool(last.whole[n]) or run + 1 >= order)
            if kept:
                part = last.states[np.array(kept)]
                if letter == UNKNOWN:
                    parts.append(step_unknown(side, part, step))
                else:
                    parts.append(step_known(side, part, letter))
        # the chain may as well end here, if k known records follow
        parts.append(begin)
        letters.append(())
        parents.append(-1)
        whole.append(False)
        states = States.join(parts)
        possible = states.alive.any(axis=1)
        index = np.flatnonzero(possible)
        words.append(
            _Words(
                states[index],
                [letters[n] for n in index],
                np.array(parents)[index],
                np.array(whole)[index],
            )
        )
    return words


def price_words(chain: WindowChain, steps: np.ndarray) -> Short | None:
    """Transfer bound of every record of a short chain, each adversary priced by itself.

    Parameters
    ----------
    chain : WindowChain
    steps : (n, s, s) array
        One matrix per record.

    Returns
    -------
    Short or None
        None where there are too many words.

    Notes
    -----
    Words without k known records in a row grow as 2^n for k = 2 and two states; a pair of words
    is one evaluation for each place that the record can have in its window.
    """
    k, given = chain.order, len(steps)
    if given < k:  # records that nobody reads fill up the first window
        steps = np.concatenate([steps, np.zeros((k - given, *steps.shape[1:]))])
    n = len(steps)
    right, left = sides_of(chain)
    counts = _counts(k, right.states, n, _PAIRS // forms(right.states).effort)
    if counts is None:
        return None
    to_right, to_left = _all_words(right, k, steps[:0:-1]), _all_words(left, k, steps[:-1])
    best = Short(np.zeros(given), 0, (0, 0), (), ())
    for i in range(given):
        total = _at_record(chain, (right, left), steps, to_right, to_left, i)
        worst = total.max(initial=0.0)
        best.per_record[i] = worst
        if worst > best.per_record[best.record] or (i == 0 and total.size):
            r, l, a, b = np.unravel_index(int(total.argmax()), total.shape)
            words = (to_right[n - 1 - i], to_left[i])
            letters = [
                [w for w, whole in zip(each.letters, each.whole, strict=True) if whole][at]
                for each, at in zip(words, (r, l), strict=True)
            ]
            best = Short(best.per_record, i, (int(a), int(b)), letters[0], letters[1])
    return best


@dataclass(frozen=True, eq=False)
class Short:
    """The transfer bound of a short chain, and the worst adversary."""

    per_record: np.ndarray
    record: int
    values: tuple[int, int]
    right: tuple[int, ...]  # letters, nearest first
    left: tuple[int, ...]


def _counts(order: int, states: int, n: int, most: int) -> list[int] | None:
    """Number of words by number of records beyond; None if pairs of them are too many."""
    # by length of the run of known records at the near end; a run of k is a beginning
    runs = [1] + [0] * order
    counts = [1]
    for length in range(1, n):
        begun = states**order if length >= order else 0
        runs = [sum(runs), *(states * r for r in runs[: order - 1]), begun]
        counts.append(sum(runs))
        if counts[-1] > most:
            return None
    total = sum(counts[i] * counts[n - 1 - i] for i in range(n))
    return counts if total <= most else None


def _at_record(
    chain: WindowChain,
    sides: tuple[Side, Side],
    steps: np.ndarray,
    to_right: list[_Words],
    to_left: list[_Words],
    i: int,
) -> np.ndarray:
    """Leakage about record i by right word, left word and pair of values."""
    n, k = len(steps), chain.order
    s = sides[0].states
    rights, lefts = (np.flatnonzero(w.whole) for w in (to_right[n - 1 - i], to_left[i]))
    total = np.full((len(rights), len(lefts), s, s), np.inf)
    for before in range(k):  # records of the window before the one attacked
        after = k - 1 - before
        if before > i or after > n - 1 - i:
            continue
        window = Window.of(chain, steps[i - before : i - before + k], before)
        far_right, letters_right = _ancestors(to_right, n - 1 - i, rights, after)
        far_left, letters_left = _ancestors(to_left, i, lefts, before)
        right = beyond(sides[0], to_right[n - 1 - i - after].states)
        left = beyond(sides[1], to_left[i - before].states)
        for core_right in sorted(set(letters_right)):
            for core_left in sorted(set(letters_left)):
                at_right = np.array([j for j, w in enumerate(letters_right) if w == core_right])
                at_left = np.array([j for j, w in enumerate(letters_left) if w == core_left])
                one, two = (x.ravel() for x in np.meshgrid(at_right, at_left, indexing="ij"))
                core = (*core_left[::-1], *core_right)
                value = window.leakage(right, left, (far_right[one], far_left[two]), core)
                total[one, two] = np.minimum(total[one, two], value)
    total[:, :, np.arange(s), np.arange(s)] = -1.0
    return total


def _ancestors(
    words: list[_Words], length: int, which: np.ndarray, back: int
) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Words without their nearest ``back`` letters, and these letters."""
    letters = [words[length].letters[n][:back] for n in which]
    for step in range(back):
        which = words[length - step].parents[which]
    return which, letters
