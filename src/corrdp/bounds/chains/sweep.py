"""The compiled recursion of chains#transfer: one side of a record, from a boundary in.

Records lie at distance 0 (the boundary), 1, 2, .. . At distance j the rows of the kernel towards
the boundary, reweighted by what the boundary says and normalised, are the laws of the next record;
changing the row costs ``R_j(x, x')`` and ``A_j = eps_j + R_j`` bounds the oscillation of every
mechanism average as a function of that record. A known boundary is a point mass, a free end is
all ones (to the right) or the initial law (to the left).

    record      t           t+1    ..    t+m          ..          boundary
    distance    j           j-1    ..    j-m          ..             0
              x or x'        skipped     law p_x or p_x'        known, free or uncertain
                |--------------------------->|
                          jump of m

    R_j(x, x') = min over m of  (largest eps of each record skipped) + Lambda(A_{j-m}; p_x, p_x')
    A_j        = eps_j + R_j,   A_0 = eps at the boundary

An *uncertain* boundary stands for every boundary further away at once: its weights are any
vector, so that at distance j they are known up to a log-oscillation ``unsure_j`` that shrinks as
the chain mixes. This is the certificate that lets the search for the worst distance stop.

Guarantees with a delta (delta#bridges) carry a second number beside every cost: what is rare. With
(A, D) for each pair of values, the change from law q to p is the step (L, d) with L as above and

    d = sum over y of max(0, p(y) - e^L q(y)) max over y' of D(y, y').
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.many_states import sweep_many
from corrdp.bounds.chains.two_states import from_beyond, from_known
from corrdp.errors import NotApplicableError
from corrdp.models.chains.chain import multiply_each, row_log_ratio_spread
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.stretches import stretch_from

CLOSED = 1e-11  # relative gap at which the search over distances has its certificate
WORK = 4e9  # rough number of inner steps that one bound may take


class Kernels(NamedTuple):
    """Kernels of jumps of 1..m records from each record (or from any, if there is one row)."""

    jumps: np.ndarray  # (rows, m, s, s): jump k+1 from record t, rows towards the boundary
    orders: np.ndarray  # (rows, m, s, s, s): states by ratio of two rows, descending, then -1
    spreads: np.ndarray  # (rows, m, s, s): Hilbert distance of two rows


class Road(NamedTuple):
    """What a sweep goes along: kernels, and what each record may tell by itself."""

    jumps: np.ndarray  # these three are those of Kernels
    orders: np.ndarray
    spreads: np.ndarray
    eps: np.ndarray  # (n or 1, s, s): replacing x by x' in record t lowers ln Pr[output] by this
    peaks: np.ndarray  # (n or 1,): largest entry of each eps[t], what skipping record t costs
    deltas: np.ndarray  # (n or 1,): what may happen beyond that


class Boundary(NamedTuple):
    """Where a sweep begins."""

    record: int  # at distance 0; distance j is record - j
    weights: np.ndarray  # (s,): of its states; ignored when uncertain
    far: float  # when uncertain: its own oscillation and all beyond it; nan when certain
    rare: float  # and the delta of that


def prepare(one_step: np.ndarray, longest: int, stretches: np.ndarray | None = None) -> Kernels:
    """Products of up to ``longest`` kernels with their row orders. O(rows m s^3).

    Parameters
    ----------
    one_step : (rows, s, s) array
        ``one_step[t]`` leads from record t to t + 1; one row for a homogeneous chain.
    longest : int
        Longest jump.
    stretches : (rows, longest) array of int, optional
        Which kernels of ``one_step`` follow each other from a record on, -1 beyond the end; where
        many records share one stretch, it is worked out once.
    """
    if stretches is None:
        here = np.arange(len(one_step))
        stretches = stretch_from(here, here, longest)
        if len(one_step) == 1:
            stretches = np.zeros_like(stretches)
    (rows, _), s = stretches.shape, one_step.shape[1]
    jumps = np.zeros((rows, longest, s, s))
    jumps[:, 0] = one_step[stretches[:, 0]]
    for m in range(1, longest):
        products, whole = multiply_each(jumps[:, m - 1], one_step[stretches[:, m]])
        whole &= stretches[:, m] >= 0
        jumps[whole, m] = products[whole]  # else all zero, which no law can be taken from
    orders = np.zeros((rows, longest, s, s, s), dtype=np.int16)
    spreads = np.zeros((rows, longest, s, s))
    for t in range(rows):
        for m in range(longest):
            orders[t, m] = _order_rows(jumps[t, m])
        spreads[t] = row_log_ratio_spread(jumps[t])
    spreads[~jumps.any(axis=(2, 3))] = np.inf
    return Kernels(jumps, orders, spreads)


def _order_rows(kernel: np.ndarray) -> np.ndarray:
    """States by the ratio of two rows, descending; -1 for those that neither has, at the end."""
    p, q = kernel[:, None], kernel[None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(p + q > 0.0, p / q, -1.0)
    order = np.argsort(-ratios, axis=2, kind="stable")
    order[np.take_along_axis(ratios, order, axis=2) < 0.0] = -1
    return order


@njit(cache=True)
def sweep(
    road: Road,
    boundary: Boundary,
    reach: int,
    pairwise: bool,
    costs: np.ndarray,
    rare: np.ndarray,
) -> int:
    """Fill ``costs[j]`` with R_j for j = 1..reach; nan where a pair of values cannot occur.

    Parameters
    ----------
    road : Road
    boundary : Boundary
        For an uncertain one, ``costs[reach]`` alone is sure to be filled.
    reach : int
        How many distances to fill.
    pairwise : bool
        Keep a bound per pair of values (exact mixtures), or only the largest.
    costs : (more than reach, s, s) array
    rare : (more than reach, s, s) array
        Gets the deltas of these costs; one of no length where the guarantee is pure.

    Returns
    -------
    int
        The largest distance filled; less than ``reach`` when weights vanished in floating point.
    """
    if not pairwise or len(boundary.weights) > 2 or road.jumps.shape[1] > 1:
        return sweep_many(road, boundary, reach, pairwise, costs, rare)
    # two states, where jumps gain nothing
    own = road.eps, road.deltas, boundary.record
    if math.isnan(boundary.far):
        return from_known(road.jumps, *own, boundary.weights, reach, costs, rare)
    far = boundary.far, boundary.rare
    from_beyond(road.jumps, road.orders, road.spreads, *own, *far, reach, costs, rare)
    return reach


def first_weights(chain: MarkovChain, alive: np.ndarray) -> np.ndarray:
    """The law of the first record, for the left side; refused where it has lost its digits."""
    if (chain.start[chain.first] < np.finfo(float).tiny).any():
        raise NotApplicableError(
            "a possible first state has a probability too small to write down; use contraction"
        )
    return np.ascontiguousarray(chain.start[alive])


@dataclass(frozen=True, eq=False)
class Side:
    """What lies on one side of a record, read from it outwards to a boundary."""

    kernels: Kernels
    eps: np.ndarray  # (1, s, s)
    end: np.ndarray  # weights of the last record on this side: ones, or the initial law
    far: float  # bound on the oscillation of a record and all beyond it
    delta: float = 0.0  # what may happen beyond eps
    rare: float = 0.0  # and beyond ``far``

    @property
    def road(self) -> Road:
        """What a sweep inwards goes along."""
        return Road(*self.kernels, self.eps, self.eps.max(axis=(1, 2)), np.array([self.delta]))

    def profile(self, start: np.ndarray, reach: int, uncertain: bool, pairwise: bool) -> np.ndarray:
        """Costs at distances 0..reach of one boundary."""
        return self.pairs(start, reach, uncertain, pairwise)[0]

    def pairs(
        self, start: np.ndarray, reach: int, uncertain: bool, pairwise: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Costs at distances 0..reach of one boundary, and their deltas (none without a delta)."""
        s = len(start)
        costs = np.full((reach + 1, s, s), np.nan)
        rare = np.full((reach + 1 if self.delta else 0, s, s), np.nan)
        if s > 2 or not pairwise:
            far = (self.far, self.rare) if uncertain else (math.nan, 0.0)
            boundary = Boundary(reach, start, *far)
            filled = sweep_many(self.road, boundary, reach, pairwise, costs, rare)
            return costs[: filled + 1], rare[: filled + 1]
        # compiled in a tenth of the time
        own = self.eps, np.array([self.delta]), reach
        if not uncertain:
            filled = from_known(self.kernels.jumps, *own, start, reach, costs, rare)
            return costs[: filled + 1], rare[: filled + 1]
        from_beyond(*self.kernels, *own, self.far, self.rare, reach, costs, rare)
        return costs, rare
