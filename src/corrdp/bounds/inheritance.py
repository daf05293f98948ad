"""What relatives tell of a person, whatever an adversary knows of them (pedigrees#branches).

People and couples of a family without loops are a tree. Each branch of it hands on all that it may
mean to the person at its end: one row for every way in which its people may be known, and few rows
for many ways that mean nearly the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from corrdp.bounds.doubts import average, gather
from corrdp.errors import NotApplicableError
from corrdp.models.pedigrees.mendel import CHILD, Shape

UNKNOWN = 3  # in a word: nobody knows this person's genotype
_ROWS = 150  # of a branch that is handed on
_PAIRS = 6000  # rows on the way there
_FEW = 1000  # up to here rows that mean the same are looked for at once
_SAME, _LEAST, _MOST, _STEP = 1e-12, 1e-3, 20.0, 1.3  # how much rows that are gathered may differ
_RAREST = 1e-200  # below it a possible outcome may be lost to underflow

_FIRST, _SECOND = np.divmod(np.arange(9), 3)  # the parents' genotypes, of nine couples
_COUPLES = CHILD.reshape(9, 3)
_SELECT = np.eye(3)[:, _FIRST], np.eye(3)[:, _SECOND]


@dataclass(frozen=True, eq=False)
class Branch:
    """What a branch may mean to the person, or couple, at its end: one row per way.

    Attributes
    ----------
    weights : (n, s) array
        Probability of what is known in the branch given each value, up to a factor and doubts.
    answers, doubts : (n, s, s) arrays
        How much an answer averaged over the branch, and the true weight over this one, may change
        from one value to another: log ratios.
    words : (n, people) array
        Who is known to have which genotype, in one of the ways that a row stands for.
    """

    weights: np.ndarray
    answers: np.ndarray
    doubts: np.ndarray
    words: np.ndarray

    def __len__(self) -> int:
        return len(self.weights)

    def rows(self, which: np.ndarray) -> Branch:
        """Some of the rows."""
        return Branch(
            self.weights[which], self.answers[which], self.doubts[which], self.words[which]
        )

    def couples(self, place: np.ndarray) -> Branch:
        """That of a parent, as one over couples."""
        both = np.ix_(np.arange(len(self)), place, place)
        weights = np.ascontiguousarray(self.weights[:, place])
        return Branch(weights, self.answers[both], self.doubts[both], self.words)


def _branch(
    weights: np.ndarray, answers: np.ndarray, doubts: np.ndarray, words: np.ndarray
) -> Branch:
    """With the largest weight one, and nothing said between values one of which is impossible."""
    possible = weights > 0.0
    both = possible[:, :, None] & possible[:, None, :]
    weights = weights / weights.max(axis=1, keepdims=True)
    return Branch(weights, np.where(both, answers, 0.0), np.where(both, doubts, 0.0), words)


def _times(one: Branch, other: Branch) -> Branch:
    """Two branches of the same person or couple, all rows with all; gathered where too many."""
    few, many = sorted((one, other), key=len)
    if len(few) * len(many) > _PAIRS:
        few = _gathered(few, math.isqrt(_PAIRS))
        many = _gathered(many, max(_PAIRS // len(few), 1))
    a, b = np.divmod(np.arange(len(few) * len(many)), len(many))
    weights = few.weights[a] * many.weights[b]
    possible = (few.weights[a] > 0.0) & (many.weights[b] > 0.0)
    if (possible & (weights < _RAREST)).any():
        raise NotApplicableError("some outcomes of the family are too rare to compute with")
    kept = possible.any(axis=1)
    a, b = a[kept], b[kept]
    return _branch(
        weights[kept],
        few.answers[a] + many.answers[b],
        few.doubts[a] + many.doubts[b],
        np.minimum(few.words[a], many.words[b]),
    )


def _gathered(branch: Branch, most: int) -> Branch:
    """At most so many rows that stand for all; more where more sets of values are possible."""
    with np.errstate(divide="ignore"):
        logs = np.log(branch.weights)
    order = np.argsort(-branch.answers.sum(axis=(1, 2)), kind="stable")
    # doubts cost as much as answers of this size do
    price = math.tanh(branch.answers.max() / 4.0)
    slack = _SAME
    while True:
        count, chosen, answers, doubts = gather(
            logs, branch.answers, branch.doubts, order, slack, price, most
        )
        if count >= 0:
            chosen = chosen[:count]
            return Branch(
                branch.weights[chosen], answers[chosen], doubts[chosen], branch.words[chosen]
            )
        slack = max(slack * _STEP, _LEAST)
        if slack > _MOST:
            slack, most = _SAME, 2 * most


def _joined(one: Branch, other: Branch) -> Branch:
    """The product, with rows that mean the same gathered where they are soon found."""
    product = _times(one, other)
    return _gathered(product, _FEW) if len(product) <= _FEW else product


def _averaged(branch: Branch, kernel: np.ndarray) -> Branch:
    """The branch one step further on: ``kernel[x]`` weighs its values where the end has value x."""
    laws = branch.weights[:, None, :] * kernel
    weights = laws.sum(axis=2)
    laws /= np.where(weights > 0.0, weights, 1.0)[:, :, None]
    kept = weights.any(axis=1)
    # of each order in memory that comes, all that is called would be compiled anew
    laws = np.ascontiguousarray(laws[kept])
    weights, branch = weights[kept], branch.rows(kept)
    answers, doubts = average(branch.answers, branch.doubts, laws)
    return _gathered(_branch(weights, answers, doubts, branch.words), _ROWS)


class Relatives:
    """All branches of one family, each worked out once in each direction.

    Parameters
    ----------
    shape : Shape
    levels : (records, 3, 3) array
        How much an answer may change with each record, from one genotype to another.

    Raises
    ------
    NotApplicableError
        Where relatives have children together, and where an outcome is too rare.
    """

    def __init__(self, shape: Shape, levels: np.ndarray) -> None:
        self.records = np.flatnonzero(shape.observed)
        self.laws = list(shape.laws)
        parents = [list(who) for who in shape.parents]
        for who in range(len(parents)):
            if len(parents[who]) == 1:  # the other is an anonymous founder
                parents[who].append(len(parents))
                parents.append([])
                self.laws.append(self.laws[who])
        self.people = len(parents)
        self.levels = np.zeros((self.people, 3, 3))
        self.levels[self.records] = levels
        self.couples: list[tuple[tuple[int, ...], list[int]]] = []
        self.beside: list[list[int]] = [[] for _ in parents]  # who is in which couple's family
        self._find_couples(parents)
        self.said: dict[tuple[int, int], Branch] = {}
        order, towards = self._order()
        for node in reversed(order[1:]):
            self.said[node, towards[node]] = self._say(node, towards[node])
        for node in order[1:]:
            self.said[towards[node], node] = self._say(towards[node], node)

    def _find_couples(self, parents: list[list[int]]) -> None:
        children: dict[tuple[int, ...], list[int]] = {}
        for who, listed in enumerate(parents):
            if listed:
                children.setdefault(tuple(sorted(listed)), []).append(who)
        self.couples = list(children.items())
        for number, (both, offspring) in enumerate(self.couples):
            for who in (*both, *offspring):
                self.beside[who].append(self.people + number)
        links = sum(len(found) for found in self.beside)
        if links != self.people + len(self.couples) - 1:
            raise NotApplicableError(
                "relatives have children together, so that a family is no tree of couples"
            )

    def _order(self) -> tuple[list[int], dict[int, int]]:
        """People and couples from person 0 on, and the neighbour of each on the way there."""
        order, towards = [0], {0: -1}
        for node in order:
            for other in self._neighbours(node):
                if other != towards[node]:
                    towards[other] = node
                    order.append(other)
        return order, towards

    def _neighbours(self, node: int) -> list[int]:
        if node < self.people:
            return self.beside[node]
        both, offspring = self.couples[node - self.people]
        return [*both, *offspring]

    def _say(self, node: int, to: int) -> Branch:
        return self._person(node, to) if node < self.people else self._couple(node, to)

    def _person(self, who: int, couple: int) -> Branch:
        """The branch that ends with a person, as seen from a couple."""
        free = self._unknown(who, [k for k in self.beside[who] if k != couple])
        found = [(free.weights, free.answers + self.levels[who], free.doubts, free.words)]
        for genotype in range(3) if who in self.records else ():
            ways = np.flatnonzero(free.weights[:, genotype] > 0.0)[:1]
            word = free.words[ways].copy()
            word[:, who] = genotype
            known = np.zeros((len(ways), 3))
            known[:, genotype] = 1.0  # nothing beyond matters then
            found.append((known, *np.zeros((2, len(ways), 3, 3)), word))
        return _gathered(
            _branch(*(np.concatenate(part) for part in zip(*found, strict=True))), _ROWS
        )

    def _unknown(self, who: int, couples: list[int]) -> Branch:
        """What these couples may mean to a person whom nobody knows; founders bring their law."""
        law = self.laws[who]
        founder = law is not None and len(self._above(who)) == 0
        weights = np.array([law if founder else np.ones(3)], dtype=float)
        if ((weights > 0.0) & (weights < _RAREST)).any():
            raise NotApplicableError("some outcomes of the family are too rare to compute with")
        nothing = np.zeros((1, 3, 3))
        start = _branch(weights, nothing, nothing, np.full((1, self.people), UNKNOWN, np.int8))
        return reduce(
            lambda one, other: _gathered(_times(one, other), _ROWS),
            (self.said[couple, who] for couple in couples),
            start,
        )

    def _above(self, who: int) -> list[int]:
        return [k for k in self.beside[who] if who in self.couples[k - self.people][1]]

    def _couple(self, couple: int, to: int) -> Branch:
        """All that the family of a couple may mean to one of its members."""
        twin = self._twin(couple, to)
        if twin is not None:
            return twin
        both, offspring = self.couples[couple - self.people]
        parts = [
            self.said[who, couple].couples(place)
            for who, place in zip(both, (_FIRST, _SECOND), strict=True)
            if who != to
        ]
        parts += [_averaged(self.said[who, couple], _COUPLES) for who in offspring if who != to]
        kernel = _SELECT[both.index(to)] if to in both else _COUPLES.T
        return _averaged(reduce(_joined, sorted(parts, key=len)), kernel)

    def _twin(self, couple: int, to: int) -> Branch | None:
        """What a sibling was told who is alike, the two of them exchanged."""
        _, offspring = self.couples[couple - self.people]
        for other in offspring if to in offspring else ():
            if (
                (couple, other) in self.said
                and len(self.beside[to]) == len(self.beside[other]) == 1
                and (to in self.records) == (other in self.records)
                and (self.levels[to] == self.levels[other]).all()
            ):
                said = self.said[couple, other]
                words = said.words.copy()
                words[:, [to, other]] = words[:, [other, to]]
                return replace(said, words=words)
        return None

    def leakage(self, record: int) -> tuple[float, tuple[int, int], np.ndarray]:
        """The most that one record leaks, between which genotypes, and one adversary's word."""
        who = int(self.records[record])
        total = self.levels[who].copy()
        possible = self._unknown(who, []).weights[0] > 0.0
        sides = [self.said[couple, who] for couple in self.beside[who]]
        said = []
        for side in sides:
            able = side.weights > 0.0
            able = able[:, :, None] & able[:, None, :]
            said.append(np.where(able, side.answers, -np.inf))
            total += said[-1].max(axis=0)
        total[~possible] = total[:, ~possible] = -np.inf
        np.fill_diagonal(total, 0.0)
        a, b = (int(x) for x in np.unravel_index(int(total.argmax()), (3, 3)))
        word = np.full(self.people, UNKNOWN, np.int8)
        if a != b:
            for side, told in zip(sides, said, strict=True):
                word = np.minimum(word, side.words[told[:, a, b].argmax()])
        return float(total[a, b]), (a, b), word[self.records]
