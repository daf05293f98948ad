"""Noisy trees: how many trajectories begin with, or how often occurs, a sequence of places.

The first is a tree of prefixes, the second one of n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corrdp.errors import InputError
from corrdp.trajectories.data.reachability import check_whole
from corrdp.trajectories.mechanisms.trees import TreeMechanism


@dataclass(frozen=True, eq=False)
class PrefixTree(TreeMechanism):
    r"""Noisy counts of every prefix of up to ``length`` places, the zeros included.

    .. math:: \tilde c(v) = c(v) + Z_v, \qquad Z_v \sim \mathrm{DLap}(\Delta_n/\varepsilon_n)

    where

    - v is a sequence of n places of the universe, c(v) the number of trajectories that begin with
      it,
    - eps_n is the budget of level n, and the eps_n add up to at most epsilon,
    - Delta_n = 1: a trajectory has one prefix of each length. Twice that when a trajectory is
      replaced, s times that when a user owns at most s trajectories.

    Noise with Delta = 1 and the whole epsilon on each level would cost ``length`` times epsilon.

    Parameters
    ----------
    k : int
        Size of the public universe of places.
    length : int
        Longest trajectory; longer ones are cut, which is public preprocessing.
    epsilon : float
        For the whole tree.
    neighbours : {"unbounded", "bounded"}
        A unit is added or removed, or replaced.
    per_user : int, optional
        Protect users who own at most so many trajectories: the first ones of each are used. Left
        out, the unit is one trajectory.
    budgets : sequence of float, optional
        Epsilon of each level; equal shares if left out.
    thresholds : int or sequence of int, optional
        A noisy count below it is dropped with its subtree. Left out, see
        :func:`~corrdp.trajectories.mechanisms.trees.default_threshold`.

    References
    ----------
    Chen, Fung, Desai, "Differentially private trajectory data publication" (2011);
    Guerra-Balboa, dissertation, section 3.4.1. movements#noisy-trees.

    Examples
    --------
    >>> tree = PrefixTree(k=1000, length=4, epsilon=1.0)
    >>> tree.guarantee, tree.scales, tree.unit
    (Pure(epsilon=1.0), (4.0, 4.0, 4.0, 4.0), 'one trajectory added or removed')
    >>> PrefixTree(1000, 4, 1.0, neighbours="bounded", per_user=3).sensitivities
    (6, 6, 6, 6)
    """

    kind = "prefix"

    @property
    def depth(self) -> int:
        return self.length

    def own_sensitivity(self, level: int) -> int:
        return 1

    def _items(self, sequences: list[np.ndarray]) -> np.ndarray:
        return padded(sequences, self.length)


def padded(sequences: list[np.ndarray], length: int) -> np.ndarray:
    """The first ``length`` places of each sequence as one row, -1 beyond its end.

    Examples
    --------
    >>> padded([np.array([4, 5, 6]), np.array([7])], 2).tolist()
    [[4, 5], [7, -1]]
    """
    rows = np.full((len(sequences), length), -1, dtype=np.int64)
    for row, codes in zip(rows, sequences, strict=True):
        row[: len(codes)] = codes[:length]
    return rows


_DEEPEST = 1_000  # levels of a tree whose nodes are counted


def nodes(k: int, length: int) -> int:
    r"""How many nodes the full tree has.

    .. math:: \sum_{i=1}^{\ell} k^i

    where k is the size of the universe and l the longest length.

    Examples
    --------
    >>> nodes(342, 3)
    40118994
    """
    places = check_whole("k", k)
    return sum(places**i for i in range(1, check_whole("length", length, most=_DEEPEST) + 1))


@dataclass(frozen=True, eq=False)
class NgramTree(TreeMechanism):
    r"""Noisy counts of every n-gram, n = 1 .. n_max, the zeros included.

    .. math:: \tilde c(w) = c(w) + Z_w, \qquad
              Z_w \sim \mathrm{DLap}\Big(\frac{\ell - n + 1}{\varepsilon_n}\Big)

    where

    - w is a sequence of n places, c(w) how often it occurs in all trajectories,
    - l is the longest length: a trajectory of l points has l - n + 1 n-grams, and may put all of
      them on one node,
    - eps_n is the budget of level n; replacing a trajectory doubles the noise, and a user who owns
      at most s trajectories takes s times as much.

    Parameters
    ----------
    k, length, epsilon, neighbours, per_user, budgets, thresholds
        As in :class:`~corrdp.trajectories.mechanisms.prefix.PrefixTree`.
    n_max : int
        Longest n-gram, at most ``length``.

    References
    ----------
    Chen, Acs, Castelluccia, "Differentially private sequential data publication via
    variable-length n-grams" (2012); Guerra-Balboa, dissertation, section 3.4.1.
    movements#noisy-trees.

    Examples
    --------
    >>> tree = NgramTree(k=2, length=5, epsilon=3.0, n_max=3)
    >>> tree.sensitivities, sum(tree.sensitivities), tree.scales
    ((5, 4, 3), 12, (5.0, 4.0, 3.0))
    """

    kind = "n-gram"
    n_max: int = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_max", check_whole("n_max", self.n_max))
        if self.n_max > check_whole("length", self.length):
            raise InputError(
                f"n_max={self.n_max} is above the longest trajectory, length={self.length}"
            )
        super().__post_init__()

    @property
    def depth(self) -> int:
        return self.n_max

    def own_sensitivity(self, level: int) -> int:
        return self.length - level + 1

    def _items(self, sequences: list[np.ndarray]) -> np.ndarray:
        # an n-gram is a prefix of a suffix
        rows = padded(sequences, self.length)
        beyond = np.full((len(rows), self.n_max - 1), -1, dtype=np.int64)
        wide = np.hstack([rows, beyond])
        grams = np.lib.stride_tricks.sliding_window_view(wide, self.n_max, axis=1)
        grams = grams.reshape(-1, self.n_max)
        return grams[grams[:, 0] >= 0]
