"""Local release of trajectories: n-grams by the exponential mechanism, on a user's own device."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy as np

from corrdp._checks import check_kind
from corrdp.accounting.step import Preprocessing, Step
from corrdp.errors import InputError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import check_positive, check_rng
from corrdp.metric.granularities import Bounded
from corrdp.trajectories.data.reachability import Moves, check_whole, contributions
from corrdp.trajectories.mechanisms.movements import MovementMechanism
from corrdp.trajectories.mechanisms.noisytree import ReleasedSequences
from corrdp.trajectories.mechanisms.trees import split_budget

TOP = 2**26  # weight of a place for itself
Below = Callable[[int], int]


@dataclass(frozen=True, eq=False)
class LocalNgrams(MovementMechanism):
    r"""Each n-gram of a trajectory is replaced by a random one, near ones more often.

    .. math:: \Pr[y \mid x] \propto \exp\Big(-\frac{\varepsilon' d(x, y)}{2 m D}\Big), \quad
              d(x, y) = \sum_{i=1}^m d(x_i, y_i), \qquad
              \varepsilon' = \frac{\varepsilon}{s\,(L + n - 1)}

    where

    - x and y are windows of m places (m = n inside, less at both ends), y of a public set: all
      m-grams, or those that ``moves`` allows,
    - d is a public distance between places and D its largest value, so that the score has
      sensitivity m D,
    - L is the number of points: L + n - 1 windows see each point n times,
    - s is the number of trajectories that a user will ever share.

    Weights are whole numbers between ``ceil(W e^(-eps'/2m))`` and W = 2^26 and all sums exact, so
    that each window is eps'-private as it is drawn, not only on paper. The trajectory is rebuilt
    as the nearest one to all windows that ``moves`` allows: post-processing.

    Parameters
    ----------
    distances : (k, k) array
        Public distances: symmetric, 0 on the diagonal.
    length : int
        Longest trajectory; longer ones are cut.
    epsilon : float
        For all that a user will ever share.
    n : int
        Places in a window, at most ``length``.
    trajectories : int
        How many trajectories a user will ever share.
    moves : Moves, optional
        Public knowledge of what can follow what.

    References
    ----------
    Cunningham, Cormode, Ferhatosmanoglu, Srivastava, "Real-world trajectory sharing with local
    differential privacy" (2021); Guerra-Balboa, dissertation, section 3.4.4.
    movements#local-n-grams.

    Examples
    --------
    >>> line = abs(np.subtract.outer(range(4), range(4)))
    >>> once = LocalNgrams(line, length=8, epsilon=4.0, n=1)
    >>> once.window_epsilon(8), LocalNgrams(line, 8, 4.0, 1, trajectories=2).window_epsilon(8)
    (0.5, 0.25)
    """

    distances: np.ndarray
    length: int
    epsilon: float
    n: int = 2
    trajectories: int = 1
    moves: Moves | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "distances", _check_distances(self.distances))
        for name in ("length", "n", "trajectories"):
            object.__setattr__(self, name, check_whole(name, getattr(self, name)))
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        if self.n > self.length:
            raise InputError(
                f"n={self.n} places in a window (--levels) are more than the longest trajectory "
                f"has, length={self.length}"
            )
        if self.moves is None:
            return
        check_kind("moves", self.moves, Moves, "Moves")
        if self.moves.k != self.k:
            raise InputError(f"moves is about {self.moves.k} places, distances about {self.k}")
        stuck = np.flatnonzero(~self._allowed.any(axis=1))
        if stuck.size:
            raise InputError(f"moves lets nothing follow place {stuck[0]}; allow staying there")

    @property
    def k(self) -> int:
        """Size of the public universe."""
        return len(self.distances)

    @property
    def _allowed(self) -> np.ndarray:
        return np.ones((self.k, self.k), bool) if self.moves is None else self.moves.table()

    def window_epsilon(self, points: int) -> float:
        """Budget of each window of a trajectory of so many points, rounded down."""
        windows = check_whole("points", points) + self.n - 1
        return split_budget(self.epsilon, self.trajectories * windows)[0]

    @property
    def guarantee(self) -> Pure:
        """epsilon-LDP for all that a user shares."""
        return Pure(self.epsilon)

    @property
    def ledger_unit(self) -> str:
        """What epsilons of other releases must be about to be added to this one's."""
        return "a user's own data, locally"

    @property
    def unit(self) -> str:
        """Who is protected, in words."""
        return f"a user's own data, all of it ({self.trajectories} trajectories at most), locally"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the guarantee."""
        told = [
            f"a user never shares more than {self.trajectories} trajectories (of more, only the "
            "first are used)",
            "how many trajectories a user shares is public, and how many points each has (cut "
            f"after {self.length})",
            f"the universe of {self.k:,} places and their distances are public",
        ]
        if self.moves is not None:
            told.append("the possible moves are public knowledge, not learned from the data")
        return tuple(told)

    def plan_steps(self) -> tuple[Step, ...]:
        """Its entry in a plan; records are users."""
        before = (Preprocessing(f"cut after {self.length} points", 1.0),)
        return (Step("local n-grams", self.guarantee, metric=Bounded(), preprocessing=before),)

    # -- the law of one window ---------------------------------------------------------------

    def weights(self, epsilon: float, m: int) -> np.ndarray:
        """Whole-number weights ``w[x, y]`` of one place in a window of m.

        No two differ by a factor above ``e^(epsilon / 2m)``, in exact arithmetic.

        Examples
        --------
        >>> two = LocalNgrams([[0, 1], [1, 0]], 3, 2.0, n=1)
        >>> two.weights(2.0, 1).tolist()
        [[67108864, 24687972], [24687972, 67108864]]
        """
        return _weights(self.distances.tobytes(), self.k, epsilon, m)

    def window_law(self, window: Sequence[int], epsilon: float) -> np.ndarray:
        """``Pr[y | x]`` over all windows y as an array with one axis per place. O(k^m).

        Examples
        --------
        >>> two = LocalNgrams([[0, 1], [1, 0]], 3, 2.0, n=1)
        >>> two.window_law([0], 2.0).round(6).tolist()
        [0.731059, 0.268941]
        """
        places = [check_whole("window", x, 0) for x in window]
        w = self.weights(epsilon, len(places)).astype(float)
        law = w[places[0]]
        for x in places[1:]:
            law = law[..., :, None] * np.where(self._allowed, w[x][None, :], 0.0)
        return np.asarray(law / law.sum())

    # -- what it does ------------------------------------------------------------------------

    def sample(
        self,
        sequences: Sequence[Any],
        rng: np.random.Generator | None = None,
        users: Sequence[Any] | None = None,
    ) -> ReleasedSequences:
        """Sanitized trajectories, each as long as its own; :meth:`release` checks and charges too.

        O(L n k) per trajectory without ``moves``, O(L n k^2) with it.

        Parameters
        ----------
        sequences : sequence of arrays of int
            Their lengths are published: stays must not be merged.
        rng : numpy Generator, optional
            The same law for simulation. Left out, cryptographic randomness.
        users : sequence, optional
            Owners; only the first ``trajectories`` of each are then used. Left out, nobody may
            own more than that.

        Returns
        -------
        ReleasedSequences
        """
        if rng is None:
            return self._released(sequences, users, secrets.randbelow)
        check_rng(rng)
        return self._released(sequences, users, lambda n: min(int(rng.random() * n), n - 1))

    def _released(
        self, sequences: Sequence[Any], users: Sequence[Any] | None, below: Below
    ) -> ReleasedSequences:
        most = None if users is None else self.trajectories
        kept = contributions(sequences, self.k, users, most)
        allowed = self._allowed
        made = [self._one(codes[: self.length], allowed, below) for codes in kept]
        return ReleasedSequences(
            f"local {self.n}-grams",
            self.k,
            tuple(made),
            self.epsilon,
            0.0,
            self.unit,
            self.assumptions,
        )

    def _one(self, codes: np.ndarray, allowed: np.ndarray, below: Below) -> np.ndarray:
        points = len(codes)
        epsilon = self.window_epsilon(points)
        cost = np.zeros((points, self.k))
        for start in range(1 - self.n, points):
            inside = range(max(start, 0), min(start + self.n, points))
            weights = self.weights(epsilon, len(inside))[codes[inside.start : inside.stop]]
            told = _draw(weights, None if self.moves is None else allowed, below)
            for i, place in zip(inside, told, strict=True):
                cost[i] += self.distances[place]
        return nearest_path(cost, allowed)


def nearest_path(cost: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The sequence of least total cost among those that can be walked. O(L k^2).

    Parameters
    ----------
    cost : (L, k) array
        Cost of each place at each point.
    allowed : (k, k) array of bool
        Which place may follow which.

    Returns
    -------
    array of int

    Examples
    --------
    >>> nearest_path(np.array([[0., 9, 9], [9, 9, 0]]), np.eye(3, dtype=bool)).tolist()
    [0, 0]
    """
    blocked = np.where(allowed, 0.0, np.inf)
    best, back = cost[0], []
    for row in cost[1:]:
        through = best[:, None] + blocked
        back.append(np.argmin(through, axis=0))
        best = through.min(axis=0) + row
    if not np.isfinite(best.min()):
        raise InputError(f"the possible moves allow no walk of {len(cost)} points")
    path = [int(np.argmin(best))]
    for step in reversed(back):
        path.append(int(step[path[-1]]))
    return np.array(path[::-1])


def _draw(weights: np.ndarray, allowed: np.ndarray | None, below: Below) -> list[int]:
    """Places y_1 .. y_m with probability proportional to the product of their weights, exactly."""
    if allowed is None:
        return [_pick(row, below) for row in weights]
    ahead = [np.ones(weights.shape[1], dtype=object)]  # total weight of what may follow
    for row in weights[:0:-1]:
        ahead.append(_sums(allowed, row * ahead[-1]))
    chosen: list[int] = []
    for row, rest in zip(weights, reversed(ahead), strict=True):
        can = row * rest
        chosen.append(_pick(can if not chosen else can * allowed[chosen[-1]], below))
    return chosen


def _sums(allowed: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of the values each place may be followed by; whole numbers of any size."""
    if int(values.max()) * len(values) < 2**62:
        return (allowed.astype(np.int64) @ values.astype(np.int64)).astype(object)
    return np.array([values[row].sum() for row in allowed], dtype=object)


def _pick(weights: np.ndarray, below: Below) -> int:
    total = np.cumsum(weights)
    return int(np.searchsorted(total, below(int(total[-1])), side="right"))


@lru_cache(maxsize=64)
def _weights(distances: bytes, k: int, epsilon: float, m: int) -> np.ndarray:
    table = np.frombuffer(distances).reshape(k, k)
    share = epsilon / (2 * m)
    with localcontext() as context:
        context.prec = 60
        lowest = TOP * (-Decimal(epsilon) / (2 * m)).exp()
        least = int(lowest.to_integral_value(ROUND_CEILING))
    near = np.rint(TOP * np.exp(-share * table / max(table.max(), 1e-300)))
    weights = np.clip(near, least, TOP).astype(np.int64)
    weights.setflags(write=False)
    return weights


def _check_distances(distances: Any) -> np.ndarray:
    try:
        table = np.array(distances, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"distances must be a table of numbers: {error}") from None
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:
        raise InputError(f"distances must be a square table, got shape {table.shape}")
    if not np.isfinite(table).all() or (table < 0).any() or table.diagonal().any():
        raise InputError("distances must be finite, not negative, and 0 on the diagonal")
    if not np.allclose(table, table.T, rtol=1e-9, atol=0):
        raise InputError("distances must be symmetric")
    table.setflags(write=False)
    return table
