"""Counts on large families: adversaries who know few one by one, all others at once.

Somebody who knows k of the m records of a family faces m - k unknown ones, so what is left to leak
is at most (m - k) eps. Those who know few are the ones to look at, and the law of the count given
what they know comes from peeling: summing out one person after the other, the youngest and the
last married first, instead of writing the family's law out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from corrdp.bounds.scope import ROUNDING, Bound
from corrdp.errors import NotApplicableError
from corrdp.models.pedigrees.mendel import GENOTYPES, Shape
from corrdp.results import Certificate, Kind, Witness

REFERENCE = "peeling, for adversaries who know few (pedigrees#peeling)"
_SETS = 5000  # sets of known people and an attacked one that are looked at: 3 of 30 people
_WIDEST = 9  # people in one table on the way
_RAREST = 1e-280  # below it a possible outcome may have been lost to underflow

# who a table is about, and the table: one axis each, then the count of those summed out
Table = tuple[tuple[int, ...], np.ndarray]


def few_known(
    shape: Shape, scores: Sequence[int], epsilon: float, most: int | None = None
) -> Bound:
    """Leakage of a count over a family of any size.

    ``leakage <= max{ largest of the adversaries who know at most k records,
    (m - k - 1) epsilon }`` in a family of m records

    where

    * k is as large as ``most`` sets of people allow: 5 of 12 people, 2 of 30.

    Parameters
    ----------
    shape : Shape
    scores : sequence of int
        Whether each genotype is counted, 0 or 1.
    epsilon : float
    most : int, optional
        Sets of known people and an attacked one that are looked at, 5,000 by default.

    Returns
    -------
    Bound
        "exact" where an adversary who knows at most k records attains it, as in nuclear families
        of any size; the values of other records are upper bounds. Else the witness says what was
        attained.

    Raises
    ------
    NotApplicableError
        Where relatives married so often that no order of summing out keeps the tables small.

    Notes
    -----
    At most 5,000 peelings of O(m^2) each: 7 s for 30 people.

    References
    ----------
    pedigrees#peeling; Elston and Stewart (1971) for the summing out.
    """
    family = _Family(shape, scores)
    m = shape.size
    values = np.zeros(m)
    witness: Witness | None = None
    beyond = m * epsilon
    for known in range(1 + reach(m, _SETS if most is None else most)):
        for chosen in itertools.combinations(range(m), known + 1):
            density, possible = log_densities(family.counts(chosen), epsilon)
            for axis, i in enumerate(chosen):
                others = np.moveaxis(density, axis, 0)
                allowed = np.moveaxis(possible, axis, 0)[..., None]
                laws = np.stack([
                    shifted(others[x], score, epsilon) for x, score in enumerate(scores)
                ])  # fmt: skip
                gaps = spread(laws, allowed)
                if gaps.max() > values.max():
                    place = [int(k) for k in np.unravel_index(int(gaps.argmax()), gaps.shape)]
                    witness = _witness(chosen, axis, place, laws, allowed)
                values[i] = max(values[i], gaps.max())
        beyond = (m - known - 1) * epsilon
        if values.max() >= beyond:
            break
    attained = float(values.max())
    kind: Kind = "exact" if attained >= beyond else "upper bound"
    if witness is not None and kind == "upper bound":
        note = f"this one attains {attained:.6g}; whoever knows more was not looked at"
        witness = replace(witness, note=note)
    slack = 1.0 + ROUNDING
    return Bound(
        max(attained, beyond) * slack,
        kind,
        Certificate("exact", REFERENCE),
        np.maximum(values, beyond) * slack,
        witness,
    )


def reach(size: int, most: int = _SETS) -> int:
    """How many known people, in a family of this size, so many sets of people allow.

    Examples
    --------
    >>> reach(12), reach(30)
    (11, 2)
    """
    sets = 0
    for known in range(size):
        sets += math.comb(size, known + 1)
        if known and sets > most:
            return known - 1
    return size - 1


def attained_by_counts(
    shape: Shape,
    epsilon: float,
    record: int,
    known: Mapping[int, int],
    genotypes: Sequence[str] = GENOTYPES,
) -> tuple[float, str, tuple[str, str]]:
    """What one adversary learns from the worst count: how much, of which genotype, which values.

    The largest, over counts of one genotype with Laplace noise and their outputs, of
    ``ln Pr[Y | x_K, X_i = a] / Pr[Y | x_K, X_i = b]``. O(m^2) a count.

    Parameters
    ----------
    shape : Shape
    epsilon : float
    record : int
        The one attacked, as a place among the records of the family.
    known : mapping of int to int
        Places of records whose genotypes, numbers in GENOTYPES, are known.
    genotypes : sequence of str
        What may be counted.

    Examples
    --------
    >>> from corrdp.models.pedigrees.mendel import HardyWeinberg
    >>> from corrdp.models.pedigrees.pedigree import Pedigree
    >>> family = {"dad": None, "mum": None, "kid": ("dad", "mum")}
    >>> (trio,) = Pedigree(family, founders=HardyWeinberg(.5)).shapes
    >>> value, genotype, values = attained_by_counts(trio, 1.0, 0, {1: 0})
    >>> round(value, 6), genotype, values
    (2.0, 'BB', ('BB', 'bb'))
    """
    found = []
    for genotype in genotypes:
        scores = [int(x == genotype) for x in GENOTYPES]
        density, possible = log_densities(_Family(shape, scores, known).counts((record,)), epsilon)
        laws = np.stack([shifted(density[x], score, epsilon) for x, score in enumerate(scores)])
        gaps = spread(laws, possible[:, None])
        at = laws[:, int(gaps.argmax())]
        a = int(np.where(possible, at, -np.inf).argmax())
        b = int(np.where(possible, at, np.inf).argmin())
        found.append((float(gaps.max()), genotype, (GENOTYPES[a], GENOTYPES[b])))
    return max(found, key=lambda one: one[0])


def log_densities(counts: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """``ln sum_k c[k] e^{-epsilon |s - k|} / sum_k c[k]`` at s = 0, 1, ..; and which are possible.

    In logarithms from both sides, so that a large epsilon does not underflow.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(counts)
        mass = np.log(counts.sum(axis=-1))
    density = logs.copy()
    for k in range(1, counts.shape[-1]):
        density[..., k] = np.logaddexp(logs[..., k], density[..., k - 1] - epsilon)
    above = np.full(mass.shape, -np.inf)
    for k in range(counts.shape[-1] - 2, -1, -1):
        above = np.logaddexp(above, logs[..., k + 1]) - epsilon
        density[..., k] = np.logaddexp(density[..., k], above)
    possible = np.isfinite(mass)
    return density - np.where(possible, mass, 0.0)[..., None], possible


def shifted(density: np.ndarray, score: int, epsilon: float) -> np.ndarray:
    """The density when the attacked one adds their score to the count."""
    if not score:
        return density
    return np.concatenate([density[..., :1] - epsilon, density[..., :-1]], axis=-1)


def spread(laws: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Largest gap between the possible values of the attacked one, the first axis."""
    gaps = np.where(allowed, laws, -np.inf).max(axis=0)
    gaps -= np.where(allowed, laws, np.inf).min(axis=0)
    return gaps


def _witness(
    chosen: Sequence[int], axis: int, place: list[int], laws: np.ndarray, allowed: np.ndarray
) -> Witness:
    here = np.moveaxis(laws, 0, -1)[tuple(place)]
    possible = np.moveaxis(allowed[..., 0], 0, -1)[tuple(place[:-1])]
    a = int(np.where(possible, here, -np.inf).argmax())
    b = int(np.where(possible, here, np.inf).argmin())
    others = [k for k in chosen if k != chosen[axis]]
    known = tuple((k - chosen[axis], GENOTYPES[x]) for k, x in zip(others, place, strict=False))
    return Witness(chosen[axis], (GENOTYPES[a], GENOTYPES[b]), known)


class _Family:
    """Laws of the count in one family, jointly with the genotypes of some of its people.

    The order of summing out is chosen once. Each person's table is handed to the next of those it
    is about, so that what is handed on depends on no more than who is kept among those before.
    Those who are known have their genotype and are not counted.
    """

    def __init__(
        self, shape: Shape, scores: Sequence[int], known: Mapping[int, int] | None = None
    ) -> None:
        self.scores = scores
        self.records = [k for k, seen in enumerate(shape.observed) if seen]
        self.known = {self.records[k]: genotype for k, genotype in (known or {}).items()}
        self.observed = shape.observed
        factors = list(shape.factors())
        rarest = math.prod(float(factor[factor > 0].min()) for _, factor in factors)
        if rarest < _RAREST:
            raise NotApplicableError("some outcomes of the family are too rare to compute with")
        self.order: list[int] = []
        self.given: dict[int, list[Table]] = {}  # the factors that a person's table begins with
        self.before: dict[int, list[int]] = {}  # whose tables it is handed
        self.inside: dict[int, frozenset[int]] = {}  # everybody summed out on the way to it
        self.tops: list[int] = []
        self.made: dict[tuple[int, frozenset[int]], Table] = {}
        self._choose_order(factors)

    def _choose_order(self, factors: list[Table]) -> None:
        left = set(range(len(self.observed)))
        waiting: list[tuple[frozenset[int], int]] = []  # whom a table is about, who handed it on
        while left:
            about = {
                who: frozenset(
                    who for scope in self._scopes(factors, waiting, who) for who in scope
                )
                for who in left
            }
            who = min(left, key=lambda k: (len(about[k]), k))
            if len(about[who]) > _WIDEST:
                raise NotApplicableError(
                    f"relatives have so many children together that tables of {len(about[who])} "
                    f"people are needed, more than {_WIDEST}; use general"
                )
            left.remove(who)
            self.order.append(who)
            self.given[who] = [(axes, table) for axes, table in factors if who in axes]
            factors = [(axes, table) for axes, table in factors if who not in axes]
            self.before[who] = [by for scope, by in waiting if who in scope]
            self.inside[who] = frozenset([who]).union(*(self.inside[k] for k in self.before[who]))
            waiting = [(scope, by) for scope, by in waiting if who not in scope]
            if about[who] - {who}:
                waiting.append((about[who] - {who}, who))
            else:
                self.tops.append(who)

    @staticmethod
    def _scopes(
        factors: list[Table], waiting: list[tuple[frozenset[int], int]], who: int
    ) -> Iterator[Iterable[int]]:
        yield (who,)
        yield from (axes for axes, _ in factors if who in axes)
        yield from (scope for scope, _ in waiting if who in scope)

    def counts(self, chosen: Sequence[int]) -> np.ndarray:
        """Law of the count over all other records; one axis per chosen record, in order."""
        kept = frozenset(self.records[k] for k in chosen)
        axes, table = reduce(
            _times, (self._table(who, kept & self.inside[who]) for who in self.tops)
        )
        assert axes == tuple(sorted(kept))
        short = len(self.records) + 1 - table.shape[-1]
        return np.pad(table, [(0, 0)] * len(axes) + [(0, short)])

    def _table(self, who: int, kept: frozenset[int]) -> Table:
        """What is handed on by a person; remembered while at most one of those before is kept."""
        if (who, kept) in self.made:
            return self.made[who, kept]
        tables = [(axes, table[..., None]) for axes, table in map(_sorted, self.given[who])]
        tables += [self._table(k, kept & self.inside[k]) for k in self.before[who]]
        axes, table = reduce(_times, sorted(tables, key=lambda one: one[1].size))
        if who not in kept:
            by_genotype = np.moveaxis(table, axes.index(who), 0)
            axes = tuple(k for k in axes if k != who)
            if who in self.known:
                table = by_genotype[self.known[who]]
            elif self.observed[who]:
                total = np.zeros((*by_genotype.shape[1:-1], by_genotype.shape[-1] + 1))
                for score, part in zip(self.scores, by_genotype, strict=True):
                    total[..., score : score + part.shape[-1]] += part
                table = total
            else:
                table = by_genotype.sum(axis=0)
        if len(kept) < 2:
            self.made[who, kept] = axes, table
        return axes, table


def _sorted(one: Table) -> Table:
    """The same table with its people in increasing order."""
    axes, table = one
    return tuple(sorted(axes)), table.transpose(np.argsort(axes))


def _times(one: Table, other: Table) -> Table:
    """Product of two tables; counts add."""
    axes = tuple(sorted({*one[0], *other[0]}))
    first, second = (
        table.reshape([3 if k in mine else 1 for k in axes] + [table.shape[-1]])
        for mine, table in (one, other)
    )
    if first.shape[-1] < second.shape[-1]:
        first, second = second, first
    long, short = first.shape[-1], second.shape[-1]
    if short == 1:
        return axes, first * second
    product = np.zeros((3,) * len(axes) + (long + short - 1,))
    for k in range(short):
        product[..., k : k + long] += first * second[..., k, None]
    return axes, product
