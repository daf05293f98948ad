"""Noisy n-gram tree: how often each short sequence of places occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corrdp.errors import InputError
from corrdp.trajectories.data.contributions import check_whole
from corrdp.trajectories.mechanisms.prefix import padded
from corrdp.trajectories.mechanisms.trees import TreeMechanism


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
    docs/theorems.md#noisy-exploration-trees.

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
