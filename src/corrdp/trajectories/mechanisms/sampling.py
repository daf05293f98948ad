"""Points kept by Bernoulli sampling, and synthetic trajectories drawn from noisy trees.

Of a sampled trajectory most is withheld and the rest is raw; synthesis is post-processing, at no
further cost.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_kind, check_number
from corrdp.accounting.step import Step
from corrdp.errors import InputError
from corrdp.guarantees import Approximate
from corrdp.mechanisms.base import check_rng
from corrdp.metric.granularities import Event
from corrdp.trajectories.data.reachability import check_sequences, check_whole
from corrdp.trajectories.mechanisms.movements import MovementMechanism
from corrdp.trajectories.mechanisms.noisytree import NoisyTree, ReleasedSequences

_GRID = 2**32


@dataclass(frozen=True)
class BernoulliSample(MovementMechanism):
    r"""Keep each point with probability q, unchanged: (0, q)-DP for one point.

    .. math:: \mathrm{TV}(M(D), M(D')) = q

    where D and D' differ in one point: with probability 1 - q it is not shown, and the outputs are
    the same. delta is no small print here: the point itself is published with probability q, and a
    trajectory of m points is touched with probability 1 - (1 - q)^m.

    Parameters
    ----------
    k : int
        Size of the public universe of places.
    rate : float in (0, 1]
        q; rounded down to a multiple of 2^-32, which is drawn exactly.

    References
    ----------
    Shao et al. (2013), SFI; Guerra-Balboa, dissertation, section 3.4.3.
    movements#sampling.

    Examples
    --------
    >>> sample = BernoulliSample(k=9, rate=.25)
    >>> sample.guarantee
    Approximate(epsilon=0.0, delta=0.25)
    >>> sample.whole_trajectory(10).delta.__round__(6)
    0.943686
    """

    k: int
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_whole("k", self.k))
        rate = check_number("rate", self.rate, above=0, most=1)
        if rate < 1 / _GRID:
            raise InputError(f"rate={rate} is below 2^-32: no point would ever be kept")
        object.__setattr__(self, "rate", math.floor(rate * _GRID) / _GRID)

    @property
    def guarantee(self) -> Approximate:
        """(0, q) for one point."""
        return Approximate(0.0, self.rate)

    def whole_trajectory(self, points: int) -> Approximate:
        """(0, 1 - (1 - q)^m) for a trajectory of m points, of public length and times."""
        many = check_whole("points", points)
        if self.rate == 1:
            return Approximate(0.0, 1.0)
        hit = -math.expm1(many * math.log1p(-self.rate))
        return Approximate(0.0, min(1.0, math.nextafter(hit, 1.0)))

    @property
    def unit(self) -> str:
        """What is protected, in words."""
        return "the place of one point"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the guarantee."""
        return (
            f"a kept point is published as it is: each place leaks with probability {self.rate:g}",
            "the times of points, and how many there are, are public",
            "points are independent: neighbours in time tell a withheld place otherwise",
            f"a trajectory of m points has delta = 1 - (1 - {self.rate:g})^m",
        )

    def plan_steps(self) -> tuple[Step, ...]:
        """Its entry in a plan over a stream.

        Examples
        --------
        >>> BernoulliSample(9, .25).plan_steps()[0].metric
        Event(change='value')
        """
        return (Step("sampled points", self.guarantee, metric=Event()),)

    def sample(
        self, sequences: Sequence[Any], rng: np.random.Generator | None = None
    ) -> ReleasedSequences:
        """The kept points of sequences of codes; :meth:`release` checks as well.

        Parameters
        ----------
        sequences : sequence of arrays of int
        rng : numpy Generator, optional
            The same law for simulation. Left out, the operating system's cryptographic generator.

        Returns
        -------
        ReleasedSequences
            ``positions`` says which points of each trajectory were kept.

        Examples
        --------
        >>> BernoulliSample(9, 1.0).sample([[3, 4]]).sequences
        (array([3, 4]),)
        """
        if rng is not None:
            check_rng(rng)
            return self._kept(sequences, lambda n: rng.random(n) < self.rate)
        limit = int(self.rate * _GRID)

        def keep(n: int) -> np.ndarray:
            words = np.frombuffer(os.urandom(4 * n), dtype=np.uint32)
            return np.asarray(words.astype(np.uint64) < np.uint64(limit))

        return self._kept(sequences, keep)

    def _kept(self, sequences: Sequence[Any], keep: Any) -> ReleasedSequences:
        checked = check_sequences(sequences, self.k)
        positions = [np.flatnonzero(keep(len(codes))) for codes in checked]
        return ReleasedSequences(
            f"Bernoulli sampling at rate {self.rate:g}",
            self.k,
            tuple(codes[at] for codes, at in zip(checked, positions, strict=True)),
            0.0,
            self.rate,
            self.unit,
            self.assumptions,
            tuple(positions),
        )


MOST_POINTS = 50_000_000


def synthesize(tree: NoisyTree, rng: np.random.Generator | None = None) -> list[np.ndarray]:
    r"""Trajectories that a noisy tree describes.

    A prefix tree gives, once its counts are consistent, exactly

    .. math:: r(v) = \tilde c(v) - \sum_{x} \tilde c(vx)

    copies of each prefix v: one tree, one set of trajectories. An n-gram tree gives walks: a first
    place x is taken as often as ``c(x)`` exceeds the 2-grams that lead to x, and after the last
    places w (the longest that the tree knows, at most n_max - 1) a walk goes on to x with
    probability ``c(wx) / c(w)``, or else ends.

    Parameters
    ----------
    tree : NoisyTree
    rng : numpy.random.Generator, optional
        For the walks of an n-gram tree. It need not be secret: the noise is in the tree already.

    Returns
    -------
    list of arrays of int

    References
    ----------
    Chen, Fung, Desai (2011); Chen, Acs, Castelluccia (2012).
    movements#noisy-trees.

    Examples
    --------
    >>> from corrdp.trajectories.mechanisms.prefix import PrefixTree
    >>> tree = PrefixTree(2, 2, 80.0).sample([[0, 1]] * 30 + [[1]] * 20)
    >>> made = synthesize(tree)
    >>> len(made), [0, 1] in [s.tolist() for s in made]
    (50, True)
    """
    check_kind("tree", tree, NoisyTree, "a NoisyTree")
    if rng is not None:
        check_rng(rng)
    tidy = tree if tree.consistent else tree.made_consistent()
    if tree.kind == "prefix":
        return _copies(tidy)
    if rng is None:
        raise InputError("walks of an n-gram tree are drawn: give rng=numpy.random.default_rng()")
    return _walks(tidy, rng)


def _copies(tree: NoisyTree) -> list[np.ndarray]:
    endings = tree.endings()
    points = sum(int(r.sum()) * depth for depth, r in enumerate(endings, start=1))
    _check_points(points)
    made: list[np.ndarray] = []
    for depth, copies in enumerate(endings, start=1):
        made.extend(np.repeat(tree.paths(depth), copies, axis=0))
    return made


def _check_points(points: int) -> None:
    if points > MOST_POINTS:
        raise InputError(
            f"the tree describes {points:,} synthetic points, more than {MOST_POINTS:,}: its noise "
            "drowns the counts; raise epsilon or the threshold"
        )


def _walks(tree: NoisyTree, rng: np.random.Generator) -> list[np.ndarray]:
    """All walkers at one node go on together."""
    counts, following = tree.counts(), _following(tree)
    starts = _starts(tree)
    _check_points(int(starts.sum()) * tree.length)
    walkers = [np.full(n, place) for place, n in enumerate(starts) if n]
    first = np.concatenate([np.empty(0, dtype=np.int64), *walkers])
    walks = np.full((len(first), tree.length), -1, dtype=np.int64)
    if not len(first):
        return []
    walks[:, 0] = first
    going = np.arange(len(first))
    for step in range(1, tree.length):
        moved = []
        recent = walks[going, max(0, step - len(tree.levels) + 1) : step]
        if not recent.shape[1]:  # single places only: nothing says what follows
            break
        contexts, which = np.unique(recent, axis=0, return_inverse=True)
        for number, context in enumerate(contexts.tolist()):
            mine = going[which.ravel() == number]
            known = tuple(context)
            while known and known not in counts:
                known = known[1:]
            places, weights = following.get(known, (np.empty(0, dtype=np.int64), np.empty(0)))
            law = np.append(weights, counts.get(known, 1) - weights.sum()).astype(float)
            chosen = rng.choice(len(law), size=len(mine), p=law / law.sum())
            on = chosen < len(places)
            walks[mine[on], step] = places[chosen[on]]
            moved.append(mine[on])
        going = np.concatenate(moved)
        if not len(going):
            break
    return [walk[walk >= 0] for walk in walks]


def _following(tree: NoisyTree) -> dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]:
    """What comes after each node of the tree: places and their counts."""
    found: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}
    for depth in range(2, len(tree.levels) + 1):
        level = tree.levels[depth - 1]
        # children of one node lie side by side
        nodes, first = np.unique(level.parent, return_index=True)
        names = tree.paths(depth - 1)[nodes].tolist()
        parts = zip(np.split(level.place, first[1:]), np.split(level.count, first[1:]), strict=True)
        found.update(zip(map(tuple, names), parts, strict=False))
    return found


def _starts(tree: NoisyTree) -> np.ndarray:
    """How often each place was seen without a place before it."""
    seen = np.zeros(tree.k, dtype=np.int64)
    seen[tree.levels[0].place] = tree.levels[0].count
    if len(tree.levels) > 1:
        np.subtract.at(seen, tree.levels[1].place, tree.levels[1].count)
    return np.maximum(seen, 0)
