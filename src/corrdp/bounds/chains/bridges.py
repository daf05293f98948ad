"""Transfer when the guarantee has a delta, and for windows of records (delta#bridges).

The sides of :mod:`corrdp.bounds.chains.transfer` and :mod:`corrdp.bounds.chains.records` with a
second number, level and delta each the worst over what the adversary knows on that side.
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np

from corrdp.bounds.chains.curves import least_level
from corrdp.bounds.chains.records import Followed, follow_records
from corrdp.bounds.chains.sweep import WORK
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
from corrdp.bounds.units import ONE, Unit, hull_of, of_unit
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Approximate, Guarantee, Pure
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Kind

REFERENCE = "theorem delta#bridges"
CURVES = "theorem delta#curves, two states"
GAP = 1e-7  # relative gap between what is found and what is certified that ends the search
_WORK = WORK / 1000.0  # of one evaluation, of which a search over epsilons asks for about 16


@bound("transfer", on=MarkovChain, paired=True, given=whole)
def paired_transfer(chain: MarkovChain, scope: Scope) -> Bound:
    """Transfer bound of a chain with a delta, and for windows; one level or one per record.

    Each side is the worst over what the adversary knows on it, level and delta apart. For pure
    guarantees windows of two states attain it.

    Notes
    -----
    Each of the 20 to 40 evaluations of a search costs what the pure bound costs.

    References
    ----------
    delta#bridges, delta#units.
    """
    unit, n = scope.unit or ONE, chain.length
    alive = np.flatnonzero(chain.occurring)
    if not 1 < len(alive) <= MOST_STATES:
        raise NotApplicableError(f"transfer is for 2 to {MOST_STATES} states; use contraction")
    wider, closed = hull_of(unit), True
    by_distance = one_profile_serves(chain, len(alive)) and not getattr(
        scope.guarantee, "is_vector", False
    )

    def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
        nonlocal closed
        apart = np.multiply.outer(eps, 1.0 - np.eye(len(alive)))
        both: Distances | Followed
        possible = None
        if by_distance:
            both = search_distances(chain, alive, apart, scope.reach, float(delta[0]), GAP)
            at = _places(n, wider, both.reach)
        else:
            how = limits_of(len(alive))
            both = follow_records(
                chain, alive, apart, delta, *how, scope.reach, gap=GAP, most=_WORK
            )
            first = np.arange(len(eps) - wider.size + 1)
            first = first if wider.members is None else first[list(wider.members[:1])]
            ends = first + wider.size - 1, first
            at = both.at_right[ends[0]], both.at_left[ends[1]]
            possible = np.array([both.pairs(records) for records in ends])
        closed &= both.closed
        sides = both.right, both.left
        level = np.array([side.certified[k] for side, k in zip(sides, at, strict=True)])
        rare = np.zeros_like(level)
        if delta.any():
            rare = np.array([side.rare[k] for side, k in zip(sides, at, strict=True)])
        if possible is not None:
            level, rare = (np.where(possible, part, 0.0) for part in (level, rare))
        return beside(level, rare, unit == ONE, by_distance)

    own = scope.own or of_unit(scope.guarantee, wider, n)
    kernels = chain.transition[..., alive, :][..., alive]
    # with zeros some windows cannot have every pair of values at their ends
    plain = len(alive) == 2 and bool((kernels > 0.0).all() and chain.start[alive].all())
    if plain and by_distance and unit.members is None and _is_curve(scope.guarantee, own):
        again = partial(least_level, chain, scope.guarantee, own, unit.size)
        value = again(limit_of(scope))
        if value < math.inf:
            found = Closed(np.array([value]), limit_of(scope), unit, None, again)
            return found.bound(Certificate("transfer", CURVES))
    length, count = (None, 1) if by_distance else (n, None)
    found = close(scope, length, lambda _: sides, own=own, count=count)
    sharp = isinstance(scope.guarantee, Pure) and scope.own is None and plain
    kind: Kind = "exact" if sharp and closed and wider == unit else "upper bound"
    return found.bound(Certificate("transfer", f"{REFERENCE}, {len(alive)} states"), kind)


def _is_curve(*guarantees: Guarantee) -> bool:
    """Whether each is a whole curve, one for all records."""
    return not any(
        isinstance(one, Pure | Approximate) or getattr(one, "is_vector", False)
        for one in guarantees
    )


def _places(n: int | None, unit: Unit, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of records right and left of the unit, each pair once; at most reach + 1."""
    if unit.members is None:
        return shapes(n and n - unit.size + 1, reach)[:2]
    assert n is not None
    right, left = n - 1 - unit.members[-1], unit.members[0]
    return np.array([min(right, reach + 1)]), np.array([min(left, reach + 1)])


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
