"""Transfer when the guarantee has a delta, and for windows of records (delta#bridges).

The sides of :mod:`corrdp.bounds.chains.transfer` and :mod:`corrdp.bounds.chains.records` with a
second number, level and delta each the worst over what the adversary knows on that side.
"""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np

from corrdp.bounds.chains.curves import least_level
from corrdp.bounds.chains.records import Followed, follow_records
from corrdp.bounds.chains.transfer import (
    MOST_STATES,
    PAIRWISE_STATES,
    Distances,
    limits_of,
    one_profile_serves,
    search_distances,
    shapes,
)
from corrdp.bounds.levels import Closed, close, limit_of
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope
from corrdp.bounds.steps import Steps
from corrdp.bounds.units import ONE, hull_of, of_unit
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Approximate, Guarantee, Pure
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Kind

REFERENCE = "theorem delta#bridges"
CURVES = "theorem delta#curves, two states"
GAP = 1e-7  # relative gap between what is found and what is certified that ends the search
# of the work that one bound may take: of a single pair, and of each evaluation of a search over
# epsilons with one level for all records of two states, and otherwise
_ALONE, _FEW, _MANY = 1 / 16, 1 / 64, 1 / 1000


@bound("transfer", on=MarkovChain, paired=True, given=whole)
def paired_transfer(chain: MarkovChain, scope: Scope) -> Bound:
    """Transfer bound of a chain with a delta, and for windows; one level or one per record.

    Each side is the worst over what the adversary knows on it, level and delta apart. Two states
    with one curve for all records are followed by the whole curve. For pure guarantees windows of
    two states attain the bound.

    Notes
    -----
    Each of the 16 evaluations of a search costs what the pure bound costs.

    References
    ----------
    delta#bridges, delta#curves, delta#units.
    """
    unit = scope.unit or ONE
    alive = np.flatnonzero(chain.occurring)
    if not 1 < len(alive) <= MOST_STATES:
        raise NotApplicableError(f"transfer is for 2 to {MOST_STATES} states; use contraction")
    kernels = chain.transition[..., alive, :][..., alive]
    # with zeros some windows cannot have every pair of values at their ends
    plain = len(alive) == 2 and bool((kernels > 0.0).all() and chain.start[alive].all())
    # a set with holes is protected as part of its hull, and what it has of its own is less
    hull = hull_of(unit)
    own = scope.own if hull == unit else None
    own = own or of_unit(scope.guarantee, hull, chain.length)
    sides = _Sides(chain, scope, alive)
    if plain and sides.alike and unit.members is None and _is_curve(scope.guarantee, own):
        again = partial(least_level, chain, scope.guarantee, own, unit.size)
        value = again(limit_of(scope))
        if value < math.inf:
            found = Closed(np.array([value]), limit_of(scope), unit, None, again)
            return found.bound(Certificate("transfer", CURVES))
    length, count = (None, 1) if sides.alike else (chain.length, None)
    found = close(scope, length, lambda _: sides.steps, own=own, count=count)
    sharp = isinstance(scope.guarantee, Pure) and scope.own is None and plain
    kind: Kind = "exact" if sharp and sides.closed and hull == unit else "upper bound"
    return found.bound(Certificate("transfer", f"{REFERENCE}, {len(alive)} states"), kind)


class _Sides:
    """What lies beside each window, as a function of what each record is worth by itself."""

    def __init__(self, chain: MarkovChain, scope: Scope, alive: np.ndarray) -> None:
        self.chain, self.alive, self.reach = chain, alive, scope.reach
        self.unit, self.one = hull_of(scope.unit or ONE), scope.unit is None
        vector = getattr(scope.guarantee, "is_vector", False)
        self.alike = not vector and one_profile_serves(chain, len(alive))
        self.share = _ALONE
        if not isinstance(scope.guarantee, Pure | Approximate):
            self.share = _FEW if self.alike and len(alive) == 2 else _MANY
        self.closed = True  # so far, what lies further was shown to be no worse

    def steps(self, eps: np.ndarray, delta: np.ndarray) -> Steps:
        """The steps beside all windows; where these are alike, of the different places."""
        apart = np.multiply.outer(eps, 1.0 - np.eye(len(self.alive)))
        found = self._by_distance if self.alike else self._by_record
        level, rare = found(apart, delta)
        return beside(level, rare if delta.any() else np.zeros_like(level), self.one, self.alike)

    def _by_distance(self, apart: np.ndarray, delta: np.ndarray) -> tuple[Any, Any]:
        how = self.reach, float(delta[0]), GAP, self.share
        seen = search_distances(self.chain, self.alive, apart, *how)
        self.closed &= seen.closed
        n, unit, far = self.chain.length, self.unit, seen.reach + 1
        at: Any = shapes(n and n - unit.size + 1, seen.reach)[:2]
        if unit.members is not None:
            assert n is not None
            beyond = n - 1 - unit.members[-1], unit.members[0]
            at = [np.array([min(k, far)]) for k in beyond]
        return _both(seen, at)

    def _by_record(self, apart: np.ndarray, delta: np.ndarray) -> tuple[Any, Any]:
        how = *limits_of(len(self.alive)), self.reach, GAP, self.share
        seen = follow_records(self.chain, self.alive, apart, delta, *how)
        self.closed &= seen.closed
        first = np.arange(len(apart) - self.unit.size + 1)
        if self.unit.members is not None:
            first = np.array(self.unit.members[:1])
        last = first + self.unit.size - 1
        possible = np.array([seen.pairs(last), seen.pairs(first)])
        level, rare = _both(seen, (seen.at_right[last], seen.at_left[first]))
        return np.where(possible, level, 0.0), np.where(possible, rare, 0.0) if len(rare) else rare


def _both(seen: Distances | Followed, at: Any) -> tuple[np.ndarray, np.ndarray]:
    """Levels and deltas on both sides of each place, (2, places, s, s); no deltas of pure ones."""
    sides = list(zip((seen.right, seen.left), at, strict=True))
    level = np.array([side.certified[k] for side, k in sides])
    return level, np.array([side.rare[k] for side, k in sides if len(side.rare)])


def _is_curve(*guarantees: Guarantee) -> bool:
    """Whether each is a whole curve, one for all records."""
    return not any(
        isinstance(one, Pure | Approximate) or getattr(one, "is_vector", False)
        for one in guarantees
    )


def beside(level: np.ndarray, rare: np.ndarray, one: bool, alike: bool) -> Steps:
    """Steps from levels and deltas by side, place and pair of values, (2, places, s, s) each.

    One record has the same two values on both sides, a longer unit any two on each. Where all
    places are alike the worst one counts.
    """
    places, s = level.shape[1:3]
    level, rare = (np.nan_to_num(part, nan=0.0) for part in (level, rare))  # impossible pairs
    pairs = list(itertools.permutations(range(s), 2))
    ways = list(zip(pairs, pairs, strict=True)) if one else list(itertools.product(pairs, pairs))
    if s > (PAIRWISE_STATES if one else 2):  # too many: the largest of each side
        level, rare = (part.max(axis=(2, 3), keepdims=True) for part in (level, rare))
        ways = [((0, 0), (0, 0))]
    found = [
        np.concatenate(
            [np.stack([part[0, :, a, b], part[1, :, c, d]], 1) for (a, b), (c, d) in ways]
        )
        for part in (level, rare)
    ]
    of = np.tile(np.arange(places), len(ways))
    return Steps(found[0], found[1], np.zeros_like(of) if alike else of)
