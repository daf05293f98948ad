"""Release at element level: how many users were in each cluster of places."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from corrdp._checks import check_items, count_distinct
from corrdp.accounting.step import Step
from corrdp.errors import InputError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import check_positive, check_rng
from corrdp.metric.granularities import Element
from corrdp.results import Result
from corrdp.trajectories.data.reachability import check_sequences, check_whole
from corrdp.trajectories.mechanisms.movements import MovementMechanism


@dataclass(frozen=True, eq=False, repr=False)
class ElementTable(Result):
    """Noisy counts of users (or visits) by cluster, with their promise.

    Parameters
    ----------
    names : tuple of str
        Of the clusters.
    counts : tuple of int
        Noisy; may be below 0.
    clusters : tuple of int
        The cluster of each place.
    most : int
        How many visits of a user to a cluster count at most.
    epsilon : float
        The promise for the unit.
    scale : float
        Of the noise on each count.
    error : int
        A count is further from the truth with probability .05 at most.
    unit : str
        What is protected.
    assumptions : tuple of str
    """

    result = "element counts"
    more = True  # what was done before, and what was charged

    names: tuple[str, ...]
    counts: tuple[int, ...]
    clusters: tuple[int, ...]
    most: int
    epsilon: float
    scale: float
    error: int
    unit: str
    assumptions: tuple[str, ...]

    def __repr__(self) -> str:
        what = "users" if self.most == 1 else f"visits, {self.most} of a user at most"
        lines = [
            f"{what} in {len(self.names):,} clusters of {len(self.clusters):,} places",
            f"  guarantee  epsilon {self.epsilon:.9g} for {self.unit}",
            f"  error      {self.error:,} or less for each count, in 95 of 100 releases",
        ]
        return "\n".join(lines + [f"  assumes    {text}" for text in self.assumptions])


@dataclass(frozen=True, eq=False)
class ElementCounts(MovementMechanism):
    r"""How many users were in each cluster of places; hides that a user was in one of them.

    .. math:: N_c = \sum_u \min(v_u(c),\, s) + Z_c, \qquad
              Z_c \sim \mathrm{Lap}_\mathbb{Z}(s/\varepsilon)

    where

    - v_u(c) is how often user u was in cluster c, over all trajectories,
    - s is how many visits count at most (1: users are counted),
    - Z_c is discrete Laplace noise, independent for each cluster.

    At element level one user's visits to one cluster change in any way: one count moves, by s at
    most, and epsilon does not depend on how many clusters there are, how long anybody was there, or
    how often. A user who was in m clusters is protected as a whole with m epsilon only, and that
    somebody takes part is not hidden.

    Parameters
    ----------
    clusters : sequence of int or of str
        The cluster of each place of the public universe: numbers 0 .. K-1, or names.
    epsilon : float
    most : int
        s.

    References
    ----------
    Asi, Duchi, Javidbakht, "Element level differential privacy" (2019); Guerra-Balboa,
    dissertation, section 3.3. movements#element-counts.

    Examples
    --------
    >>> health = ElementCounts(["home", "health", "health"], epsilon=2.0)
    >>> health.names, health.scale
    (('home', 'health'), 0.5)
    >>> health.exact([[0, 1, 2, 1], [0], [1]], users=["ann", "bob", "ann"]).tolist()
    [2, 1]
    >>> print(health.unit)
    a user's visits to one of 2 clusters of places
    """

    clusters: tuple[int, ...]
    epsilon: float
    most: int = 1
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        given = check_items("clusters", self.clusters)
        if not given:
            raise InputError("clusters must name a cluster for each place of the universe")
        count_distinct("clusters", given)
        order = list(dict.fromkeys(given))
        if all(isinstance(c, int | np.integer) and not isinstance(c, bool) for c in order):
            order = sorted(order)
            if order != list(range(len(order))):
                raise InputError("clusters that are numbers must be 0, 1, .. with none left out")
        names = tuple(map(str, order))
        if len(set(names)) < len(names):
            raise InputError("two clusters have the same name")
        number = {cluster: k for k, cluster in enumerate(order)}
        object.__setattr__(self, "clusters", tuple(number[cluster] for cluster in given))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        object.__setattr__(self, "most", check_whole("most", self.most))

    @property
    def k(self) -> int:
        """Size of the public universe."""
        return len(self.clusters)

    @cached_property
    def _opendp(self) -> tuple[Any, float]:
        from corrdp.mechanisms.sample import integer_mechanism

        return integer_mechanism(2, self.most, self.epsilon, self.most / self.epsilon)

    @property
    def scale(self) -> float:
        """Noise scale of each count, at which OpenDP itself proves epsilon."""
        return self._opendp[1]

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP at element level."""
        return Pure(self.epsilon)

    @property
    def unit(self) -> str:
        """What is protected, in words."""
        return f"a user's visits to one of {len(self.names)} clusters of places"

    @property
    def ledger_unit(self) -> str:
        """What epsilons of other releases must be about to be added: the same clusters."""
        drawn = hashlib.sha256(repr((self.clusters, self.names)).encode()).hexdigest()[:8]
        return f"{self.unit} (clusters {drawn})"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the guarantee."""
        return (
            f"the universe of {self.k:,} places and its {len(self.names):,} clusters are public, "
            "not chosen by looking at the data",
            "that somebody takes part is not hidden; a user who was in m clusters is protected as "
            f"a whole with m times epsilon, {len(self.names)} times at most",
            "what a user did in one cluster says nothing about the others: dependence between them "
            "is not in this epsilon",
        )

    def plan_steps(self) -> tuple[Step, ...]:
        """Its entry in a plan over users' points.

        Examples
        --------
        >>> ElementCounts([0, 0, 1], 1.0).plan_steps()[0].metric.clusters
        ((0, 1), (2,))
        """
        places = tuple(
            tuple(p for p, c in enumerate(self.clusters) if c == k) for k in range(len(self.names))
        )
        return (Step("visits by cluster", self.guarantee, metric=Element(places)),)

    def exact(self, sequences: Sequence[Any], users: Sequence[Any]) -> np.ndarray:
        """The counts without noise: private."""
        checked, owners = check_sequences(sequences, self.k), check_items("users", users)
        if len(owners) != len(checked):
            raise InputError(
                f"give the owner of each of the {len(checked)} trajectories as users; got "
                f"{len(owners)}"
            )
        number = {user: k for k, user in enumerate(dict.fromkeys(owners))}
        visits = np.zeros((len(number), len(self.names)), dtype=np.int64)
        of = np.array(self.clusters)
        for user, codes in zip(owners, checked, strict=True):
            np.add.at(visits[number[user]], of[codes], 1)
        return np.minimum(visits, self.most).sum(axis=0)

    def sample(
        self,
        sequences: Sequence[Any],
        rng: np.random.Generator | None = None,
        users: Sequence[Any] | None = None,
    ) -> ElementTable:
        """Noisy counts of sequences of codes; :meth:`release` checks and charges as well.

        Parameters
        ----------
        sequences : sequence of arrays of int
            One per trajectory, codes 0 .. k-1.
        rng : numpy Generator, optional
            The same law for simulation. Left out, OpenDP's noise and cryptographic randomness.
        users : sequence
            Owner of each trajectory.
        """
        if users is None:
            raise InputError("give the owner of each trajectory as users")
        exact = self.exact(sequences, users)
        if rng is None:
            from corrdp.mechanisms.sample import with_noise

            # a zero more keeps it a vector; its noise is thrown away
            return self._told(with_noise(self._opendp[0], [*exact.tolist(), 0])[:-1])
        success = -np.expm1(-1 / self.scale)
        draws = check_rng(rng).geometric(success, (2, len(exact)))
        return self._told((exact + draws[0] - draws[1]).tolist())

    def _told(self, counts: Sequence[int]) -> ElementTable:
        from corrdp.mechanisms.tails import smallest_step, tail

        error = smallest_step(lambda k: tail(k, 1 / self.scale), 0.05) - 1
        return ElementTable(
            self.names,
            tuple(counts),
            self.clusters,
            self.most,
            self.epsilon,
            self.scale,
            error,
            self.unit,
            self.assumptions,
        )
