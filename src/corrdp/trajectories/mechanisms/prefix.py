"""Noisy prefix tree: how many trajectories begin with each sequence of places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    Guerra-Balboa, dissertation, section 3.4.1. docs/theorems.md#noisy-exploration-trees.

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


def nodes(k: int, length: int) -> int:
    r"""How many nodes the full tree has.

    .. math:: \sum_{i=1}^{\ell} k^i

    where k is the size of the universe and l the longest length.

    Examples
    --------
    >>> nodes(342, 3)
    40118994
    """
    return sum(k**i for i in range(1, length + 1))
