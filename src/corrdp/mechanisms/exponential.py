"""The exponential mechanism: choose among public outputs, good ones more often."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from corrdp._checks import check_items
from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import check_alpha, check_beta, check_positive
from corrdp.mechanisms.response import paired_numbers, state_numbers
from corrdp.mechanisms.sample import GRID

_SLACK = 2.0**-50  # logarithms of probabilities are a few ulps off
_LARGEST_EPSILON = 40.0  # e^-20 is ten words of the grid


def _log_softmax(scores: np.ndarray) -> np.ndarray:
    """Logarithms of weights e^score over their sum, along the last axis; never overflows."""
    below = scores - scores.max(axis=-1, keepdims=True)
    return below - np.log(np.exp(below).sum(axis=-1, keepdims=True))


def _row_losses(logs: np.ndarray) -> np.ndarray:
    """Largest difference of log probabilities of every two rows, rounded up. O(k^3), row by row."""
    largest = np.array([(row - logs).max(axis=1) for row in logs])
    raised = largest + _SLACK * (1 + np.abs(logs).max())
    np.fill_diagonal(raised, 0.0)
    return raised


@dataclass(frozen=True, eq=False)
class Exponential:
    r"""One of a public list of outputs, drawn by how well it suits the data.

    .. math:: \Pr[r \mid x] \propto \exp\Big(\frac{\varepsilon\, u(x, r)}{2 \Delta u}\Big)

    where

    - u(x, r) is the score of the output r on the data x, larger being better,
    - Delta u is the largest change of any score between neighbours; it is the caller's claim, and
      the guarantee is worth what the claim is
      (:func:`corrdp.metric.conversion.sensitivity` finds it on small domains),
    - the outputs are finitely many and fixed beforehand: a list read from the data, such as the
      values that occur in it, gives away which they are.

    For analysis and simulation: a release of a choice draws its noise from OpenDP
    (``make_noisy_max``).

    Parameters
    ----------
    outputs : sequence
        The public range, two or more distinct values.
    score : callable
        Of one data set: one number for each output.
    sensitivity : float
        Delta u, above 0. With 0 the scores do not depend on the data: take the best, no noise is
        needed.
    epsilon : float

    References
    ----------
    McSherry and Talwar, "Mechanism design via differential privacy" (2007);
    releases#exponential-mechanism.

    Examples
    --------
    >>> vote = Exponential("abc", lambda x: [x.count(r) for r in "abc"], 1.0, epsilon=1.0)
    >>> vote.law("aab").round(6).tolist()
    [0.50648, 0.307196, 0.186324]
    >>> vote.guarantee, round(vote.loss("aab", "abb"), 6)
    (Pure(epsilon=1.0), 0.5)
    """

    outputs: Any
    score: Callable[[Any], Any]
    sensitivity: float
    epsilon: float

    def __post_init__(self) -> None:
        given = self.outputs  # a text is a list of letters here
        outputs = tuple(given) if isinstance(given, str) else check_items("outputs", given)
        try:
            repeated = any(r in outputs[:k] for k, r in enumerate(outputs))
        except ValueError:  # arrays, which are not equal or different but both
            raise InputError("outputs must be single values, such as numbers or texts") from None
        if len(outputs) < 2 or repeated:
            raise InputError(f"outputs must be two or more distinct values, got {outputs!r}")
        if not callable(self.score):
            raise InputError("score must be a function of one data set: one number per output")
        if isinstance(self.sensitivity, int | float) and self.sensitivity == 0:
            raise InputError(
                "sensitivity is 0: the scores do not depend on the data, so that the best output "
                "can be taken as it is"
            )
        object.__setattr__(self, "outputs", outputs)
        for name in ("sensitivity", "epsilon"):
            object.__setattr__(self, name, check_positive(name, getattr(self, name)))
        check_positive("epsilon / sensitivity", self.epsilon / self.sensitivity)

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP for neighbours whose scores differ by at most the sensitivity."""
        return Pure(self.epsilon)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee takes for granted, in words."""
        return (
            f"the {len(self.outputs)} outputs are public and do not depend on the data",
            f"no neighbour changes any score by more than {self.sensitivity:g}",
        )

    def log_law(self, x: Any) -> np.ndarray:
        """``ln Pr[r | x]`` of every output, in their order."""
        scores = np.asarray(self.score(x), dtype=float)
        if scores.shape != (len(self.outputs),) or not np.isfinite(scores).all():
            raise InputError(
                f"score must give {len(self.outputs)} finite numbers, one per output; got "
                f"{scores.tolist()!r}"
            )
        # the best score is 0: differences alone count, and they cannot overflow when scaled
        rate = self.epsilon / (2 * self.sensitivity)
        return _log_softmax(rate * (scores - scores.max()))

    def law(self, x: Any) -> np.ndarray:
        """``Pr[r | x]`` of every output, in their order."""
        return np.exp(self.log_law(x))

    def sample(self, x: Any, rng: np.random.Generator, size: int | None = None) -> Any:
        """One output, or a list of ``size`` independent ones."""
        drawn = rng.choice(len(self.outputs), size=size, p=self.law(x))
        return self.outputs[drawn] if size is None else [self.outputs[k] for k in drawn]

    def logpmf(self, y: Any, x: Any) -> float:
        """Log probability of the output ``y`` on the data ``x``; -inf if it is none."""
        if y not in self.outputs:
            return -math.inf
        return float(self.log_law(x)[self.outputs.index(y)])

    def loss(self, x: Any, other: Any) -> float:
        r"""The exact privacy loss between two data sets, the larger of both orders.

        .. math:: \max_r \Big|\ln \frac{\Pr[r \mid x]}{\Pr[r \mid x']}\Big|

        where neighbours have at most epsilon; more shows that the sensitivity is claimed too
        small. Rounded like any floating-point result.

        Parameters
        ----------
        x, other : data sets

        Examples
        --------
        >>> same = Exponential((0, 1, 2), lambda u: u, 1.0, epsilon=1.0)
        >>> round(same.loss([1, .5, 0], [0, .5, 1]), 6)
        0.5
        """
        return float(np.abs(self.log_law(x) - self.log_law(other)).max())

    def tail(self, alpha: float, x: Any) -> float:
        """Probability, on the data ``x``, of an output whose score is alpha or more below the best.

        Parameters
        ----------
        alpha : float
        x : data set

        Examples
        --------
        >>> same = Exponential((0, 1, 2), lambda u: u, 1.0, epsilon=1.0)
        >>> round(same.tail(.5, [1, .5, 0]), 6)
        0.580771
        """
        scores = np.asarray(self.score(x), dtype=float)
        return float(self.law(x)[scores <= scores.max() - check_alpha(alpha)].sum())

    def error(self, beta: float) -> float:
        r"""Least alpha such that, on any data, a choice falls short by more with at most beta.

        .. math:: \alpha = \frac{2 \Delta u}{\varepsilon}
                  \ln \frac{(m - 1)(1 - \beta)}{\beta}, \text{ or 0 if that is negative}

        where m is the number of outputs. It is attained by data on which one output is best and all
        others fall short by alpha; the usual bound, with m/beta in the logarithm, is larger.

        Parameters
        ----------
        beta : float in (0, 1]

        References
        ----------
        releases#exponential-mechanism.

        Examples
        --------
        >>> same = Exponential((0, 1, 2), lambda u: u, 1.0, epsilon=1.0)
        >>> alpha = same.error(.05)
        >>> round(alpha, 6), round(same.tail(alpha, [alpha, 0, 0]), 6)
        (7.275172, 0.05)
        """
        share = check_beta(beta)
        odds = (len(self.outputs) - 1) * (1 - share) / share
        return 2 * self.sensitivity / self.epsilon * math.log(odds) if odds > 1 else 0.0


@dataclass(frozen=True, eq=False)
class DistanceExponential:
    r"""A place reports a place: near ones more often. Local, and private by distance as well.

    .. math:: \Pr[y \mid x] \propto \exp\Big(-\frac{\varepsilon\, d(x, y)}{2 \Delta}\Big)

    where

    - d(x, y) is a public distance on the k places, Delta the largest one,
    - any two places are told apart with at most epsilon (:meth:`loss` is the exact number, as a
      rule much less),
    - x and x' are told apart with at most :attr:`rate` times d(x, x') (metric privacy); if d obeys
      the triangle inequality the rate is at most :math:`\varepsilon/\Delta`, up to rounding.

    Probabilities are whole multiples of 2^-32, so that a release can draw from exactly this law
    (:meth:`thresholds`); loss and rate are those of the rounded law.

    A plan takes it as ``Step(.., Pure(mechanism.rate), metric=DistanceTable(distances))``.

    Parameters
    ----------
    distances : (k, k) array
        Symmetric, 0 on the diagonal and nowhere else. Places are numbers 0..k-1.
    epsilon : float
        At most 40, so that the farthest report keeps a probability worth drawing.

    References
    ----------
    Guerra-Balboa, dissertation, section 3.4 (local exponential mechanisms);
    releases#exponential-mechanism.

    Examples
    --------
    >>> near = DistanceExponential([[0, 1, 3], [1, 0, 2], [3, 2, 0]], epsilon=2.0)
    >>> near.channel()[0].round(6).tolist()
    [0.479752, 0.343757, 0.176491]
    >>> near.guarantee, round(near.loss(), 6), round(near.rate, 6)
    (Pure(epsilon=2.0), 1.102525, 0.418342)
    """

    distances: Any
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "distances", _check_distances(self.distances))
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        if self.epsilon > _LARGEST_EPSILON:
            raise InputError(
                f"epsilon={self.epsilon} is above {_LARGEST_EPSILON:g}: the farthest report would "
                "be less likely than the grid of 1/2^32 on which it is drawn"
            )

    @property
    def k(self) -> int:
        """How many places there are."""
        return len(self.distances)

    @property
    def largest_distance(self) -> float:
        """Delta: the sensitivity of the score -d."""
        return float(self.distances.max())

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP for any two places, the rounding to the grid included."""
        if self.loss() > self.epsilon:
            raise GuaranteeError(
                f"epsilon={self.epsilon:g} is too small for {self.k} places on a grid of 1/2^32: "
                f"rounding alone makes it {self.loss():.3g}; use a larger epsilon"
            )
        return Pure(self.epsilon)

    @cached_property
    def _words(self) -> np.ndarray:
        """How many of 2^32 words stand for each report: rounded down, one at least."""
        ideal = _log_softmax(-self.distances * (self.epsilon / (2 * self.largest_distance)))
        words = np.maximum(np.floor(np.exp(ideal) * GRID), 1.0)
        # the place itself, its own likeliest report, takes what is left
        rows = np.arange(self.k)
        words[rows, rows] += GRID - words.sum(axis=1)
        return words

    @cached_property
    def _losses(self) -> np.ndarray:
        return _row_losses(np.log(self._words))

    def channel(self) -> np.ndarray:
        """``Q[x, y] = Pr[report y | place x]``, k x k."""
        return self._words / GRID

    def steps(self) -> np.ndarray:
        """Exact loss between every two places, rounded up. O(k^3)."""
        return self._losses.copy()

    def loss(self) -> float:
        """The exact local DP level, rounded up. O(k^3)."""
        return float(self._losses.max())

    @property
    def rate(self) -> float:
        """The least rate of privacy by distance: the largest loss per unit, rounded up. O(k^3)."""
        apart = ~np.eye(self.k, dtype=bool)
        return math.nextafter(float((self._losses[apart] / self.distances[apart]).max()), math.inf)

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One report per record, in the shape of ``x`` (simulation; see :meth:`thresholds`)."""
        places = state_numbers("x", x, self.k)
        upto = self.channel().cumsum(axis=1)
        upto[:, -1] = 1.0
        # one sorted table for all rows: row x lies between x and x + 1
        table = (upto + np.arange(self.k)[:, None]).ravel()
        found = table.searchsorted(places + rng.random(places.shape), side="right")
        return np.minimum(found - places * self.k, self.k - 1)

    def logpmf(self, y: Any, x: Any) -> float:
        """Log probability of all reports ``y`` given all places ``x``."""
        reports, places = paired_numbers(y, x, self.k)
        return float(np.log(self._words[places, reports] / GRID).sum())

    def thresholds(self) -> np.ndarray:
        """What a release draws from: whole words of 2^32 for every report, cumulated.

        :func:`corrdp.mechanisms.sample.report_states` compares words of the operating system's
        cryptographic generator with them.

        Returns
        -------
        (k, k) array of uint64

        Examples
        --------
        >>> from corrdp.mechanisms.sample import report_states
        >>> near = DistanceExponential([[0, 1, 3], [1, 0, 2], [3, 2, 0]], epsilon=2.0)
        >>> sorted(set(report_states([0] * 1000, near.thresholds()).tolist()))
        [0, 1, 2]
        """
        return self._words.astype(np.uint64).cumsum(axis=1, dtype=np.uint64)


def _check_distances(distances: Sequence[Sequence[float]] | np.ndarray) -> np.ndarray:
    try:
        matrix = np.array(distances, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"distances must be numbers: {error}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        raise InputError(
            f"distances must be a square matrix of two or more places, got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        x, y = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0)))[0]
        raise InputError(f"distances[{x}][{y}] = {matrix[x, y]} must be a finite number >= 0")
    if matrix.diagonal().any() or (matrix != matrix.T).any():
        raise InputError("distances must be symmetric with 0 on the diagonal")
    same = np.argwhere((matrix == 0) & ~np.eye(len(matrix), dtype=bool))
    if same.size:
        raise InputError(f"places {same[0][0]} and {same[0][1]} are 0 apart: make them one")
    matrix.setflags(write=False)
    return matrix
