"""Transfer bound (chains#transfer): any mechanism, any finite chain, every adversary.

    leakage <= max over targets i, values a, b of  eps_i(a, b) + Right_i(a, b) + Left_i(a, b),

each side the worst over which record the adversary knows on it, and what that record holds (given
the attacked record the two sides are independent, and records beyond the nearest known one change
nothing). With two states this is the exact worst case over all mechanisms: randomized response
attains it. With more it is an upper bound.

Where epsilon, kernel or possible values vary in time: :mod:`corrdp.bounds.chains.records`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from corrdp.bounds.chains.records import by_record
from corrdp.bounds.chains.sides import limit_steps
from corrdp.bounds.chains.sweep import CLOSED, WORK, Kernels, Side, first_weights, prepare
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, VISIBLE, Bound, Reach, Scope
from corrdp.bounds.steps import joined, repeated
from corrdp.errors import InputError, NotApplicableError
from corrdp.mechanisms.base import steps as steps_of
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Kind, Witness

REFERENCE = "theorem chains#transfer"
PAIRWISE_STATES = 8  # above this many states one bound per pair of values takes too long
_FURTHEST = 2**20  # distances worked out at most; beyond, the certificate stands for the rest
MOST_STATES = 120  # above this even one bound for all pairs does
# The same as WORK where one bound serves all pairs: seconds. Chains that forget within as many
# records as that allows have their value; of slower ones the certificate for all distances is left.
_WORK_OF_MANY = 5e8
_LEAST_DISTANCE = 8
# What rounding leaves between a certificate and the value found, however far one looks: for tiny
# epsilons more than the relative gap at which the search ends.
_ROUNDED = 1e-12
_RARER = 1e-5  # the share of a delta that may be left open: a leakage feels a hundredth of it


@dataclass(frozen=True, eq=False)
class Choices:
    """Best cost on one side by number of records on it, found and certified, and where from."""

    found: np.ndarray  # (reach + 2, s, s); the last entry is for more than ``reach`` records
    certified: np.ndarray
    rare: np.ndarray  # the same for deltas, certified; none where the guarantee is pure
    rarer: float  # share by which some delta is above what was found
    free: np.ndarray  # (reach + 1, s, s)
    bridged: np.ndarray  # (reach + 1, s, s): the worst state known at each distance
    states: np.ndarray  # (reach + 1, s, s): which state that is

    @property
    def reach(self) -> int:
        """The largest distance worked out."""
        return len(self.free) - 1

    def origin(self, k: int, a: int, b: int) -> tuple[int, int] | None:
        """Distance and state of the known record behind the k-th entry; None when none is known."""
        part = np.nan_to_num(self.bridged[: min(k, self.reach) + 1, a, b], nan=-1.0)
        distance = int(part.argmax())
        if part[distance] < max(self.certified[k, a, b] * (1.0 - CLOSED), 0.0):
            return None
        return distance, int(self.states[distance, a, b])


def _choices(side: Side, reach: int, pairwise: bool, furthest: float) -> Choices:
    """Every boundary up to ``reach``, and one uncertain boundary for all beyond, if there are."""
    free, free_rare = side.pairs(side.end, reach, False, pairwise)
    reach = len(free) - 1
    bridged, rare = np.full_like(free, np.nan), np.full_like(free_rare, np.nan)
    states = np.zeros(free.shape, dtype=np.int16)
    for state, row in enumerate(np.eye(len(side.end))):
        part, part_rare = side.pairs(row, reach, False, pairwise)
        reach = len(part) - 1
        free, bridged, states = free[: reach + 1], bridged[: reach + 1], states[: reach + 1]
        states[part > np.nan_to_num(bridged, nan=-1.0)] = state
        bridged = np.fmax(bridged, part)
        rare = np.fmax(rare[: reach + 1], part_rare)
    free[0] = 0.0
    running = np.fmax.accumulate(bridged, axis=0)
    found = np.concatenate([np.fmax(running, free), running[-1:]])
    found[0] = 0.0
    certified = found.copy()
    rare = np.fmax.accumulate(rare, axis=0)
    rare, rarer = np.concatenate([np.fmax(rare, free_rare[: reach + 1]), rare[-1:]]), 0.0
    if reach < furthest:
        beyond, beyond_rare = side.pairs(side.end, max(reach, 1), True, pairwise)
        # the uncertain boundary covers every longer free end too
        certified[-1] = np.fmax(certified[-1], beyond[-1])
        if len(rare):
            most = np.nanmax(rare, initial=0.0)
            rare[-1] = np.fmax(rare[-1], beyond_rare[-1])
            rarer = float(np.nanmax(rare, initial=0.0) / most - 1.0) if most > 0.0 else math.inf
    return Choices(found, certified, rare, rarer, free, bridged, states)


def step_matrices(chain: Chain, epsilon: np.ndarray | float) -> np.ndarray:
    """eps_t(x, x'): epsilon off the diagonal, shape (n or 1, s, s)."""
    s = len(chain.states)
    return np.multiply.outer(np.atleast_1d(np.asarray(epsilon, float)), 1.0 - np.eye(s))


def steps_in(chain: Chain, scope: Scope) -> np.ndarray:
    """eps_t(x, x') of a scope: one matrix, or one per record."""
    if scope.local is not None:
        apart = 1.0 - np.eye(len(chain.states))
        return (steps_of(scope.local.channel()) + scope.spent * apart)[None]
    if scope.dp.is_vector and chain.length is None:
        raise InputError("one epsilon per record needs a chain with a length")
    return step_matrices(chain, scope.dp.epsilon)


def given_steps(chain: Chain, scope: Scope) -> tuple[np.ndarray, Reach]:
    """The steps of a scope, whose epsilons must be as many as the records, and its reach."""
    if scope.dp.is_vector and chain.length is not None:
        scope.dp.vector(chain.length)  # one entry per record, or an error that says so
    return steps_in(chain, scope), scope.reach


@bound("transfer", on=MarkovChain, given=given_steps)
def transfer(chain: MarkovChain, steps: np.ndarray, reach: Reach | None = None) -> Bound:
    """Transfer bound of a chain.

    Parameters
    ----------
    chain : MarkovChain
    steps : (n or 1, s, s) array
        ``steps[t](x, x')``: replacing x by x' in record t lowers ln Pr[output] by at most this;
        one matrix serves every record. From :func:`step_matrices`, or a local mechanism's own.
    reach : Reach, optional
        From a search with other steps: it saves the distances that were too short for those.

    Notes
    -----
    Homogeneous chain, one matrix: O(G s^4) for G distances, G set by how fast the chain mixes and
    not by its length. Otherwise O(k G s^4) where k records differ in what lies within G of them.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=5)
    >>> round(transfer(chain, step_matrices(chain, 1.0)).value, 6)
    3.310747
    """
    alive = np.flatnonzero(chain.occurring)
    if len(alive) > MOST_STATES:
        raise NotApplicableError(
            f"transfer takes too long for {len(alive)} states (at most {MOST_STATES}); use "
            "contraction, or merge states"
        )
    if len(alive) < len(chain.states):
        steps = steps[:, alive][:, :, alive]
    steps = np.ascontiguousarray(steps, dtype=float)
    if len(alive) == 1:
        zeros = None if chain.length is None else np.zeros(chain.length)
        return Bound(0.0, "exact", _certificate(chain), zeros)
    if len(steps) == 1 and one_profile_serves(chain, len(alive)):
        return _by_distance(chain, alive, steps, reach or Reach())
    return by_record(chain, alive, steps, *limits_of(len(alive)), _certificate(chain), reach)


def one_profile_serves(chain: MarkovChain, s: int) -> bool:
    """Whether costs depend on the distance only: one kernel, every one of s states possible."""
    if not chain.homogeneous:
        return False
    if chain.length is None or _possible_always(chain):
        return True
    # states that can occur at some times only: follow every record, unless that takes too long
    return chain.length * 32.0 * s**4 > WORK


def _possible_always(chain: MarkovChain) -> bool:
    """Whether every state that occurs can occur at every time."""
    kernel = chain.transition[np.ix_(chain.occurring, chain.occurring)]
    return bool(chain.first[chain.occurring].all() and (kernel > 0).any(axis=0).all())


def limits_of(s: int) -> tuple[bool, int]:
    """Whether to keep pairs, and the longest jump: two states gain nothing from jumping."""
    return s <= PAIRWISE_STATES, 1 if s == 2 else (6 if s <= PAIRWISE_STATES else 3)


def two_sides(
    chain: MarkovChain, alive: np.ndarray, steps: np.ndarray, delta: float = 0.0
) -> tuple[Side, Side]:
    """What lies to the right and to the left of a record, one matrix of steps for all records.

    Sides of a chain whose kernel changes with time reach to its ends only, not to any distance.
    """
    alike = chain.homogeneous
    ahead, back, table = _ways(chain) if alike else _ways.__wrapped__(chain)
    top = float(steps.max())
    level, rare = math.inf, 1.0
    if alike:
        level, rare = limit_steps(top, delta, table[0])
    far, rare = top + level, joined(top, delta, level, rare)
    if chain.length is not None and chain.length * top <= far:
        far, rare = (float(x) for x in repeated(top, delta, chain.length))
    elif math.isinf(far):
        raise NotApplicableError(
            "the chain never forgets, so the bound grows with its length; give it a length"
        )
    right, left = np.ones(len(alive)), first_weights(chain, alive)
    return (
        Side(ahead, steps, right, far, delta, min(rare, 1.0)),
        Side(back, steps, left, far, delta, min(rare, 1.0)),
    )


@lru_cache(maxsize=8)  # a search asks for many epsilons
def _ways(chain: MarkovChain) -> tuple[Kernels, Kernels, np.ndarray]:
    """Kernels to the right and to the left with their jumps, and diameters of jumps."""
    alive = np.flatnonzero(chain.occurring)
    kernels = chain.transition[None] if chain.homogeneous else chain.transition
    kernels = np.ascontiguousarray(kernels[:, alive][:, :, alive])
    back = np.ascontiguousarray(np.swapaxes(kernels, 1, 2)[::-1])
    longest = limits_of(len(alive))[1]
    table = chain.skips.table if chain.homogeneous else np.empty((1, 0))
    return prepare(kernels, longest), prepare(back, longest), table


def has_closed(certified: float, found: float, gap: float = CLOSED) -> bool:
    """Whether a certificate for all distances meets the worst one found."""
    return bool(certified <= found * (1.0 + gap) + _ROUNDED)


class Distances(NamedTuple):
    """Both sides of a record by distance, as far as was looked."""

    right: Choices
    left: Choices
    found: np.ndarray  # leakage by shape and pair of values
    certified: np.ndarray
    reach: int
    closed: bool  # what lies further cannot be worse


def search_distances(
    chain: MarkovChain,
    alive: np.ndarray,
    steps: np.ndarray,
    begin: Reach,
    delta: float = 0.0,
    gap: float = CLOSED,
    share: float = 1.0,
) -> Distances:
    """Look further until the certificate for all distances meets the worst one found.

    With ``share`` as much of the work that one bound may take, and as far.
    """
    s, n = len(alive), chain.length
    pairwise, longest = limits_of(s)
    top = float(steps.max())
    sides = two_sides(chain, alive, steps, delta)
    work = share * (WORK if pairwise else _WORK_OF_MANY)
    most = min(max(int(work / (s**4 * longest)), _LEAST_DISTANCE), int(share * _FURTHEST))
    contracted = 2.0 * sides[0].far - top  # what contraction says of any length
    if n is not None:
        most = min(most, max(n - 1, 1))
    reach = min(begin.distance, most)
    while True:
        furthest = math.inf if n is None else n - 1
        right, left = (_choices(side, reach, pairwise, furthest) for side in sides)
        got = min(right.reach, left.reach)
        if max(right.reach, left.reach) > got:  # weights vanished on one side: stop both there
            reach = most = got
            continue
        found = _combine(steps[0], right.found, left.found, n, got)
        certified = _combine(steps[0], right.certified, left.certified, n, got)
        whole = n is not None and got >= n - 1
        closed = has_closed(certified.max(), found.max(), gap)
        closed = whole or (closed and max(right.rarer, left.rarer) <= _RARER)
        if closed or got == most or got < reach or found.max() > contracted * (1.0 + VISIBLE):
            break  # what is found only grows: above contraction's value it cannot win any more
        reach = min(4 * reach, most)
    begin.distance = max(got, begin.distance)
    return Distances(right, left, found, found if whole else certified, got, closed)


def _by_distance(chain: MarkovChain, alive: np.ndarray, steps: np.ndarray, begin: Reach) -> Bound:
    s, n, top = len(alive), chain.length, float(steps.max())
    right, left, found, certified, got, closed = search_distances(chain, alive, steps, begin)
    values = certified.max(axis=(1, 2)) * (1.0 + ROUNDING)
    if n is not None:
        values = np.minimum(values, n * top)  # rounding must not lift it above the sum of epsilons
    k_right, k_left, where = shapes(n, got)
    # of the shapes that attain the maximum, the one most records have
    best = int(np.argmax(np.bincount(where) * (values >= values.max() * (1.0 - ROUNDING))))
    a, b = np.unravel_index(found[best].argmax(), found[best].shape)
    labels = [chain.states[x] for x in alive]
    known = []
    for sign, choices, k in ((-1, left, k_left[best]), (1, right, k_right[best])):
        origin = choices.origin(int(k), int(a), int(b))
        if origin is not None:
            known.append((sign * origin[0], labels[origin[1]]))
    if n is None:
        record = None
    else:
        same = np.flatnonzero(where == best)
        record = int(same[len(same) // 2])
    witness = Witness(record, (labels[a], labels[b]), tuple(known))
    per_record = None if n is None else values[where]
    # values that are impossible at some time were counted as possible: then only a bound
    attained = s == 2 and closed and _possible_always(chain)
    kind: Kind = "exact" if attained else "upper bound"
    certificate = _certificate(chain, None if closed else got)
    return Bound(float(values.max()), kind, certificate, per_record, witness)


def shapes(n: int | None, reach: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct (records to the right, records to the left), and which one each record has.

    More than ``reach`` records count as reach + 1. Without a length any pair can occur, and the
    worst of each side is put into one pair.
    """
    if n is None:
        return np.array([reach + 1]), np.array([reach + 1]), np.array([0])
    # the records between these have as many on both sides as the last of the first
    index = np.r_[: min(reach + 2, n), max(n - reach - 2, reach + 2) : n]
    right, left = np.minimum(n - 1 - index, reach + 1), np.minimum(index, reach + 1)
    codes, where = np.unique(right * (reach + 2) + left, return_inverse=True)
    return *np.divmod(codes, reach + 2), np.repeat(where, np.diff(index, append=n))


def _combine(
    eps: np.ndarray, right: np.ndarray, left: np.ndarray, n: int | None, reach: int
) -> np.ndarray:
    """Leakage by shape and pair of values; -inf where the pair cannot occur."""
    if n is None:
        total = eps + np.fmax.reduce(right, axis=0) + np.fmax.reduce(left, axis=0)
        total = total[None]
    else:
        k_right, k_left, _ = shapes(n, reach)
        total = eps + right[k_right] + left[k_left]
    total = np.where(np.isnan(total), -np.inf, total)
    s = len(eps)
    total[:, np.arange(s), np.arange(s)] = -np.inf
    return np.where(total.max(axis=(1, 2), keepdims=True) == -np.inf, 0.0, total)


def _certificate(chain: MarkovChain, searched: int | None = None) -> Certificate:
    """With the distance at which the search for the worst one ended before it had closed."""
    s = int(chain.occurring.sum())
    form = "two states: exact" if s == 2 else f"{s} states"
    if searched is not None:
        form = f"{s} states, known records looked for up to {searched} away, further ones bounded"
    return Certificate("transfer", f"{REFERENCE}, {form}")
