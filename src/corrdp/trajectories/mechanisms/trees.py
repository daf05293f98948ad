r"""Noisy exploration trees: every node gets noise, also the zeros, and few are ever drawn.

Level n of the tree holds, for every sequence v of n places of the public universe, how many items
begin with v. Items are the trajectories (prefix tree) or all their suffixes (n-gram tree). With
noise of scale Delta_n / eps_n the level costs eps_n, and the whole tree

.. math:: \varepsilon = \sum_n \varepsilon_n

where Delta_n is the l1 sensitivity of the level. A node below the threshold is dropped with all
that hangs on it; that looks at noisy counts only. Zeros are handled by
:mod:`corrdp.trajectories.mechanisms.survivors`, so that cost and memory follow the survivors,
not the universe. See movements#noisy-trees.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from corrdp._checks import check_choice, check_items
from corrdp.accounting.step import Preprocessing, Step
from corrdp.errors import InputError, RefusedError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import check_positive, check_rng
from corrdp.metric.granularities import Bounded, Unbounded
from corrdp.trajectories.data.reachability import check_whole, contributions
from corrdp.trajectories.mechanisms.movements import MovementMechanism
from corrdp.trajectories.mechanisms.noisytree import NoisyTree, TreeLevel, must_walk_in_words
from corrdp.trajectories.mechanisms.survivors import (
    MOST_EXCESS,
    Geometric,
    ZeroTail,
    geometric,
    simulated,
    zero_survivors,
)

MOST_NODES = 20_000_000  # of one level: beyond, the threshold is too low for this universe
Neighbours = Literal["unbounded", "bounded"]
Noise = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class TreeMechanism(MovementMechanism, ABC):
    """What prefix and n-gram trees share; see :class:`~corrdp.trajectories.PrefixTree`."""

    kind: ClassVar[str]
    k: int
    length: int
    epsilon: float
    neighbours: Neighbours = "unbounded"
    per_user: int | None = None
    budgets: tuple[float, ...] | None = None
    thresholds: tuple[int, ...] | int | None = None

    def __post_init__(self) -> None:
        for name in ("k", "length"):
            object.__setattr__(self, name, check_whole(name, getattr(self, name)))
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        check_choice("neighbours", self.neighbours, ("unbounded", "bounded"))
        if self.per_user is not None:
            object.__setattr__(self, "per_user", check_whole("per_user", self.per_user))
        object.__setattr__(self, "budgets", split_budget(self.epsilon, self.depth, self.budgets))
        object.__setattr__(self, "thresholds", self._read_thresholds())

    # -- what it promises --------------------------------------------------------------------

    @property
    @abstractmethod
    def depth(self) -> int:
        """Number of levels."""

    @abstractmethod
    def _items(self, sequences: list[np.ndarray]) -> np.ndarray:
        """What is counted by its first places: (items, depth) codes, -1 beyond the end."""

    @abstractmethod
    def own_sensitivity(self, level: int) -> int:
        """Largest l1 change of a level's counts when one trajectory is added."""

    @property
    def sensitivities(self) -> tuple[int, ...]:
        """l1 sensitivity of each level to one unit: a trajectory, or a user with all of hers."""
        factor = (self.per_user or 1) * (1 if self.neighbours == "unbounded" else 2)
        return tuple(factor * self.own_sensitivity(n) for n in range(1, self.depth + 1))

    @cached_property
    def _opendp(self) -> tuple[tuple[Any, float], ...]:
        """OpenDP's measurement of each level, and its scale."""
        from corrdp.mechanisms.sample import integer_mechanism

        return tuple(
            integer_mechanism(2, delta, eps, delta / eps)
            for delta, eps in zip(self.sensitivities, self._budgets, strict=True)
        )

    @property
    def scales(self) -> tuple[float, ...]:
        """Noise scale of each level, at which OpenDP itself proves the level's epsilon."""
        return tuple(scale for _, scale in self._opendp)

    @cached_property
    def _tails(self) -> list[ZeroTail]:
        return [ZeroTail(s, t) for s, t in zip(self.scales, self._thresholds, strict=True)]

    @property
    def _budgets(self) -> tuple[float, ...]:
        assert isinstance(self.budgets, tuple)
        return self.budgets

    @property
    def _thresholds(self) -> tuple[int, ...]:
        assert isinstance(self.thresholds, tuple)
        return self.thresholds

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP for the unit: the sum over the levels, rounded up."""
        return Pure(_sum_up(self._budgets))

    @property
    def ledger_unit(self) -> str:
        """What epsilons of other releases must be about to be added to this one's."""
        done = "added or removed" if self.neighbours == "unbounded" else "replaced"
        return f"one {'trajectory' if self.per_user is None else 'user'} {done}"

    @property
    def unit(self) -> str:
        """Who is protected, in words."""
        if self.per_user is None:
            return self.ledger_unit
        return f"{self.ledger_unit}, with at most {self.per_user} trajectories"

    @property
    def shows(self) -> str:
        """How many must walk a path for it to show, in words; public, and known beforehand."""
        return must_walk_in_words(self.kind, self.scales, self._thresholds)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the guarantee, and what was done beforehand."""
        told = [
            f"the universe of {self.k:,} places and the longest length {self.length} are public, "
            "not chosen by looking at the data",
            f"trajectories were cut after {self.length} points",
        ]
        if self.per_user is None:
            told.append("a person with s trajectories is protected with s times epsilon only")
        else:
            told.append(f"of each user the first {self.per_user} trajectories were used")
        if self.neighbours == "bounded":
            many = "trajectories" if self.per_user is None else "users"
            told.append(f"the number of {many} is public")
        told.append("units are independent: dependence between them is not in this epsilon")
        return tuple(told)

    def plan_steps(self) -> tuple[Step, ...]:
        """One entry of a plan per level; records are the units.

        Examples
        --------
        >>> from corrdp.trajectories.mechanisms.prefix import PrefixTree
        >>> PrefixTree(2, 2, 1.0, per_user=5).plan_steps()[0]
        Step 'prefixes of length 1': pure 0.5 per unit of unbounded, identity, common
        """
        before = [Preprocessing(f"cut after {self.length} points", 1.0)]
        many = self.per_user or 1
        if self.per_user is not None:
            before.append(Preprocessing(f"first {many} trajectories of each user", float(many)))
        unit = Unbounded() if self.neighbours == "unbounded" else Bounded()
        return tuple(
            Step(
                f"{self.kind}{'es' if self.kind == 'prefix' else 's'} of length {n}",
                _share(eps, many),
                metric=unit,
                preprocessing=tuple(before),
            )
            for n, eps in enumerate(self._budgets, start=1)
        )

    # -- what it does ------------------------------------------------------------------------

    def sample(
        self,
        sequences: Sequence[Any],
        rng: np.random.Generator | None = None,
        users: Sequence[Any] | None = None,
    ) -> NoisyTree:
        """The noisy tree of sequences of codes; :meth:`release` checks and charges as well.

        Each call costs the whole epsilon again. A level's cost is linear in its data nodes and
        survivors; the universe does not matter.

        Parameters
        ----------
        sequences : sequence of arrays of int
            One per trajectory, codes 0 .. k-1.
        rng : numpy Generator, optional
            The same law for simulation. Left out, OpenDP's noise and cryptographic randomness.
        users : sequence, optional
            Owner of each trajectory; needed with ``per_user``, and used to keep the first ones.

        Returns
        -------
        NoisyTree
        """
        if rng is None:
            noises = [_safe(measurement) for measurement, _ in self._opendp]
            return self._grow(sequences, users, noises, geometric)
        check_rng(rng)

        def noisy(scale: float) -> Noise:
            success = -math.expm1(-1 / scale)
            return lambda counts: (
                counts + rng.geometric(success, len(counts)) - rng.geometric(success, len(counts))
            )

        return self._grow(sequences, users, list(map(noisy, self.scales)), simulated(rng))

    def _grow(
        self,
        sequences: Sequence[Any],
        users: Sequence[Any] | None,
        noises: Sequence[Noise],
        draw: Geometric,
    ) -> NoisyTree:
        items = self._items(contributions(sequences, self.k, users, self.per_user))
        return NoisyTree(
            self.kind,
            self.k,
            self.length,
            grow(items, self.k, noises, self._tails, draw),
            float(self.guarantee.epsilon),
            self.unit,
            self._budgets,
            self.scales,
            self._thresholds,
            self.assumptions,
        )

    def _read_thresholds(self) -> tuple[int, ...]:
        given = self.thresholds
        if given is None:
            return tuple(default_threshold(scale, self.k) for scale in self.scales)
        single = isinstance(given, int | np.integer)
        listed = (given,) * self.depth if single else check_items("thresholds", given)
        if len(listed) != self.depth:
            raise InputError(f"{len(listed)} thresholds for {self.depth} levels")
        return tuple(check_whole("threshold", t) for t in listed)


def grow(
    items: np.ndarray,
    k: int,
    noises: Sequence[Noise],
    tails: Sequence[ZeroTail],
    draw: Geometric,
) -> tuple[TreeLevel, ...]:
    """Level by level: noise on what was seen, survivors among what was not.

    Parameters
    ----------
    items : (items, depth) array of int
        Codes; -1 beyond the end of an item.
    k : int
    noises : one function per level
        Adds noise to counts.
    tails : one ZeroTail per level
        The same noise on a zero, and the level's threshold.
    draw : function
        How the survivors among zeros are drawn.
    """
    levels: list[TreeLevel] = []
    parents = 1
    node = np.zeros(len(items), dtype=np.int64)  # where each item is: a number in the level above
    for n, (noise, tail) in enumerate(zip(noises, tails, strict=True)):
        _check_size(parents * k, tail, n + 1)
        alive = (node >= 0) & (items[:, n] >= 0)
        seen, count = np.unique(node[alive] * k + items[alive, n], return_counts=True)
        # cut where the survivors' counts are, so that both have one law to the last count
        noisy = np.minimum(noise(count), tail.threshold + MOST_EXCESS)
        keep = noisy >= tail.threshold
        which, chance = zero_survivors(parents * k - len(seen), tail, draw)
        # the r-th key that was not seen: skip the seen ones before it
        unseen = which + np.searchsorted(seen - np.arange(len(seen)), which, side="right")
        keys = np.concatenate([seen[keep], unseen])
        order = np.argsort(keys)
        keys = keys[order]
        levels.append(TreeLevel(keys // k, keys % k, np.concatenate([noisy[keep], chance])[order]))
        parents = len(keys)
        if parents:
            moved = np.where(alive, node * k + items[:, n], -1)
            place = np.minimum(np.searchsorted(keys, moved), parents - 1)
            node = np.where(keys[place] == moved, place, -1)
        else:
            node = np.full(len(items), -1)
    return tuple(levels)


def _check_size(nodes: int, tail: ZeroTail, level: int) -> None:
    expected = nodes * tail.probability
    if nodes >= 2**62 or expected > MOST_NODES:
        raise RefusedError(
            f"level {level}: about {expected:.2g} of {nodes:.2g} noisy zeros would reach the "
            f"threshold {tail.threshold}, more than {MOST_NODES:,} nodes; raise the threshold, "
            "spend more on this level, or take fewer places"
        )


def default_threshold(scale: float, k: int) -> int:
    r"""Smallest threshold with less than half a false child per node, in the mean.

    .. math:: k \Pr[Z \ge \theta] \le 1/2

    where Z is the level's noise. It is public: it looks at the universe, not at the data. False
    branches then die out, and the tree stays as large as the data.

    Examples
    --------
    >>> default_threshold(4.0, 1000)
    29
    """
    step = 1 / scale
    return max(1, math.ceil((math.log(2 * k) - math.log1p(math.exp(-step))) / step))


def split_budget(
    epsilon: float, levels: int, budgets: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Epsilon of each level: equal shares, or those given when they add up to at most epsilon.

    The sum of the shares is at most epsilon in exact arithmetic.

    Parameters
    ----------
    epsilon : float
    levels : int
    budgets : sequence of float, optional

    Examples
    --------
    >>> split_budget(1.0, 4)
    (0.25, 0.25, 0.25, 0.25)
    >>> split_budget(1.0, 2, [.5, .75])
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: budgets add up to 1.25, more than epsilon=1
    """
    if budgets is not None:
        given = tuple(check_positive("budgets", b) for b in check_items("budgets", budgets))
        if len(given) != levels:
            raise InputError(f"{len(given)} budgets for {levels} levels")
        total = sum(map(Fraction, given))
        # a share is the decimal it was written as: .1 + .2 is .3
        if total > Fraction(epsilon) and sum(Fraction(repr(b)) for b in given) > Fraction(
            repr(epsilon)
        ):
            raise InputError(f"budgets add up to {float(total):.9g}, more than epsilon={epsilon:g}")
        return given
    share = epsilon / levels
    while Fraction(share) * levels > Fraction(epsilon):
        share = math.nextafter(share, 0)
    return (share,) * levels


def _sum_up(parts: Sequence[float]) -> float:
    """The least double that is not below the sum."""
    exact = sum(map(Fraction, parts), Fraction(0))
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def _share(eps: float, many: int) -> float:
    """eps / many, rounded so that many of them are not below eps."""
    share = eps / many
    while share * many < eps:
        share = math.nextafter(share, math.inf)
    return share


def _safe(measurement: Any) -> Noise:
    from corrdp.mechanisms.sample import with_noise

    def noise(counts: np.ndarray) -> np.ndarray:
        if not len(counts):
            return counts
        # a zero more keeps it a vector; its noise is thrown away
        return np.array(with_noise(measurement, [*counts.tolist(), 0])[:-1], dtype=np.int64)

    return noise
