"""Leakage to the adversary who knows no other record: what a published series says by itself.

    leakage = max over records i, values a, b of  eps(a, b) + Right_i(a, b) + Left_i(a, b),

each side as in chains#transfer, with every record on it unknown. For two states this is exact, and
the limit over all lengths has a closed form. It certifies nothing against an adversary who knows
some records: the worst known value is one that contradicts the output, and the published claim
that knowing nothing is worst is false (chains#uninformed).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from corrdp._checks import check_number
from corrdp.bounds.chains.sweep import WORK, Side
from corrdp.bounds.chains.transfer import (
    PAIRWISE_STATES,
    has_closed,
    steps_in,
    transfer,
    two_sides,
)
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, Bound, Scope
from corrdp.errors import GuaranteeError, InputError, NotApplicableError
from corrdp.mechanisms.base import steps as steps_of
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Kind, Witness

CLOSED_FORM = "Chakrabarti et al. (2022), theorem 1 (chains#uninformed)"
REFERENCE = "theorem chains#uninformed: transfer with no record known"
# Number of inner steps up to which every record of a chain is followed; longer chains are
# followed from their ends until nothing changes any more, with a certificate for the rest.
_WHOLE = 2e7


def uninformed(chain: MarkovChain, channel: np.ndarray) -> Bound:
    r"""Leakage of a response about each record to the adversary who knows no record.

    .. math:: \max_{i, a, b, z} \ln \frac{\Pr[z \mid X_i = a]}{\Pr[z \mid X_i = b]}

    where

    - z is the whole published series, one report per record,
    - i is the record attacked, a and b two values that it can have.

    Two states: exact (the closed form of :func:`uninformed_limit` when the chain has no length
    and a stationary start). More states: the part of the transfer bound without known records,
    an upper bound. An adversary who knows records may learn more; the certificate says how much.

    Parameters
    ----------
    chain : MarkovChain
    channel : (s, outputs) array
        ``Q[x, y] = Pr[report y | record x]``, the same for every record.

    Returns
    -------
    Bound

    Notes
    -----
    O(n) for two states, and a second evaluation by transfer for the informed adversary.

    References
    ----------
    Chakrabarti, Gao, Saraf, Schoenebeck, Yu (2022), theorem 1; chains#uninformed.

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> chain = MarkovChain([[.8, .2], [.35, .65]])
    >>> bound = uninformed(chain, BinaryResponse(.3, .2).channel())
    >>> round(bound.value, 6), bound.kind
    (2.476265, 'exact')
    >>> print(bound.certificate.assumptions[0])
    the adversary knows no other record; one who knows some may learn up to 2.69817
    """
    return uninformed_by_steps(chain, _checked_steps(chain, channel))


def given_alone(chain: Chain, scope: Scope) -> tuple[np.ndarray]:
    """What bounds about the adversary who knows no other record are given: one matrix of steps."""
    if scope.adversary != "none":
        raise NotApplicableError('it is about who knows no other record: ask for adversary="none"')
    steps = steps_in(chain, scope)
    if len(steps) > 1:
        raise NotApplicableError("it takes one epsilon for all records")
    return (steps[0],)


@bound("uninformed", on=MarkovChain, given=given_alone)
def uninformed_by_steps(chain: MarkovChain, steps: np.ndarray) -> Bound:
    """:func:`uninformed` for given steps; see :func:`free_transfer`."""
    informed = transfer(chain, steps[None]).value
    bound = free_transfer(chain, steps)
    text = f"the adversary knows no other record; one who knows some may learn up to {informed:.6g}"
    certificate = replace(bound.certificate, assumptions=(text,))
    return replace(bound, certificate=certificate)


def _checked_steps(chain: MarkovChain, channel: np.ndarray) -> np.ndarray:
    law = np.asarray(channel, dtype=float)
    steps = steps_of(law)
    if len(steps) != len(chain.states):
        raise InputError(
            f"the channel takes {len(steps)} values and the chain has {len(chain.states)} states"
        )
    if not np.isfinite(steps).all():
        raise GuaranteeError(
            "an output of the channel is impossible under one value and proves the other, so the "
            "leakage is infinite; give every output a probability above 0 (flip rates above 0)"
        )
    return steps


def uninformed_limit(q: float, r: float, flip0: float, flip1: float) -> float:
    r"""Leakage of binary response on a stationary two-state chain to who knows nothing.

    .. math::
        L = \max\{2 \ln(1 + w) - \ln(1 + x),\ \text{the same with 0 and 1 exchanged}\}, \quad
        r w^2 + (q + r - x(1 - q))\, w - x = 0

    where

    - q = Pr[next 1 | 0], r = Pr[next 0 | 1],
    - 1 + x = (1 - flip0)/flip1, the step of one report,
    - ln(1 + w) is what a record and all beyond it can say of the record,
    - for q + r > 1 the worst series alternates, and 0 and 1 enter the equation by turns.

    The supremum over all lengths, records and outputs; approached exponentially fast from below.
    This is ``ln a^2/(c d)`` of the source with all digits kept for small and large steps.

    Parameters
    ----------
    q, r : float in (0, 1], not both 1
    flip0, flip1 : float in [0, 1/2]
        Pr[report 1 | 0] and Pr[report 0 | 1]; a rate of 0 leaks without limit.

    Returns
    -------
    float

    References
    ----------
    Chakrabarti, Gao, Saraf, Schoenebeck, Yu (2022), theorem 1.

    Examples
    --------
    >>> round(uninformed_limit(.1, .1, .2, .2), 9)
    5.216264073
    """
    return max(uninformed_directions(q, r, flip0, flip1))


def uninformed_directions(q: float, r: float, flip0: float, flip1: float) -> tuple[float, float]:
    """The two directions of :func:`uninformed_limit`: 0 over 1, and 1 over 0.

    ``sup ln Pr[z | X_i = 0] / Pr[z | X_i = 1]`` and the same with 0 and 1 exchanged.

    Examples
    --------
    >>> [round(value, 9) for value in uninformed_directions(.2, .35, .3, .3)]
    [1.835710941, 2.157430327]
    """
    for name, value in (("q", q), ("r", r)):
        check_number(name, value, above=0, most=1)
    if q + r == 2.0:
        raise InputError("q = r = 1 never forgets: the leakage grows with the length")
    for name, value in (("flip0", flip0), ("flip1", flip1)):
        check_number(name, value, least=0, most=0.5)
    if min(flip0, flip1) == 0.0:
        return math.inf, math.inf
    left = (0.5 - flip0) + (0.5 - flip1)  # 1 - flip0 - flip1 without rounding near 1/2
    return _limits(q, r, left / flip1, left / flip0)


def _limits(q: float, r: float, x0: float, x1: float) -> tuple[float, float]:
    """The closed form in both directions; x0, x1 are e^step - 1 for 0 over 1 and 1 over 0."""
    if math.isinf(max(x0, x1)):
        return math.inf, math.inf
    if q + r <= 1.0:  # reports agree in the worst series: each direction by itself
        side0 = _log_root(r, x0 * (1.0 - q) - (q + r), x0)
        side1 = _log_root(q, x1 * (1.0 - r) - (q + r), x1)
    else:
        side0, side1 = _by_turns(q, r, x0, x1), _by_turns(r, q, x1, x0)
    return 2.0 * side0 - math.log1p(x0), 2.0 * side1 - math.log1p(x1)


def _by_turns(q: float, r: float, x0: float, x1: float) -> float:
    """ln(1 + w0) where w0 = (x0 + a0 w1)/(1 + (1 - r) w1), w1 = (x1 + a1 w0)/(1 + (1 - q) w0)."""
    turn = q + r - 1.0
    a0, a1 = turn + x0 * q, turn + x1 * r
    linear = turn * (x0 * q + x1 * r) + x0 * x1 * q * r + x0 * (1.0 - q) - x1 * (1.0 - r)
    # (2 - q - r)(1 + turn) is 1 - turn^2 without cancellation when the chain nearly alternates
    return _log_root(
        (1.0 - r) * a1 + (1.0 - q), linear - (2.0 - q - r) * (1.0 + turn), a0 * x1 + x0
    )


def _log_root(c: float, b: float, x: float) -> float:
    """ln(1 + w) for the root w >= 0 of c w^2 - b w - x = 0, without cancellation or overflow."""
    if x == 0.0 and b <= 0.0:
        return 0.0
    half_span = math.hypot(b / 2.0, math.sqrt(c) * math.sqrt(x))
    if b <= 0.0:
        return math.log1p(x / (half_span - b / 2.0))
    top = half_span + b / 2.0
    return math.log1p(top / c) if top < c * 1e300 else math.log(top) - math.log(c)


def free_transfer(chain: MarkovChain, steps: np.ndarray) -> Bound:
    """The part of the transfer bound (chains#transfer) in which no record is known.

    Parameters
    ----------
    chain : MarkovChain
    steps : (s, s) array
        ``steps[x, x']``: replacing x by x' in a record lowers ln Pr[output] by at most this.

    Notes
    -----
    One pass on each side of the record, O(n s^4) at most; a homogeneous chain is followed until
    it has forgotten where it began.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(free_transfer(chain, 1.0 - np.eye(2)).value, 6)
    4.154271
    """
    alive = np.flatnonzero(chain.occurring)
    if len(alive) == 1:
        zeros = None if chain.length is None else np.zeros(chain.length)
        return Bound(0.0, "exact", Certificate("uninformed", REFERENCE), zeros)
    inner = np.ascontiguousarray(steps[np.ix_(alive, alive)], dtype=float)
    labels = [chain.states[x] for x in alive]
    if len(alive) == 2 and chain.length is None and chain.initial is None:
        kernel = chain.transition[np.ix_(alive, alive)]
        q, r = float(kernel[0, 1]), float(kernel[1, 0])
        if q + r < 2.0:
            # a step that overflows would be that of a report which is as good as a proof
            x0, x1 = (math.expm1(e) if e < 709.0 else math.inf for e in inner[[0, 1], [1, 0]])
            there, back = _limits(q, r, x0, x1)
            witness = Witness(
                None, (labels[0], labels[1]) if there >= back else (labels[1], labels[0])
            )
            value = max(there, back) * (1.0 + ROUNDING)
            return Bound(value, "exact", Certificate("uninformed", CLOSED_FORM), None, witness)
    return _followed(chain, alive, inner, labels)


def _followed(chain: MarkovChain, alive: np.ndarray, steps: np.ndarray, labels: list) -> Bound:
    n, s = chain.length, len(alive)
    sides = two_sides(chain, alive, steps[None])
    longest = sides[0].kernels.jumps.shape[1]
    work = s**4 * longest
    whole = n is not None and (not chain.homogeneous or n * work <= _WHOLE)
    most = max(int(WORK / work), 16) if n is None or not whole else n - 1
    reach = most if whole else min(32, most)
    while True:
        right, left = (_profile(side, reach) for side in sides)
        got = min(len(right), len(left)) - 1
        right, left = right[: got + 1], left[: got + 1]
        if n is not None and got >= n - 1:
            closed = True
            break
        if not chain.homogeneous:
            raise NotApplicableError("weights of this chain vanish on the way; use general")
        far = [side.profile(side.end, max(got, 1), True, _pairwise(s))[-1] for side in sides]
        found = _worst(steps + np.fmax.reduce(right) + np.fmax.reduce(left))
        right, left = (
            np.concatenate([free, np.fmax(free[-1:], beyond)])
            for free, beyond in zip((right, left), far, strict=True)
        )
        certified = _worst(steps + np.fmax.reduce(right) + np.fmax.reduce(left))
        closed = has_closed(certified, found)
        if closed or got < reach or got == most:
            break
        reach = min(4 * reach, most)
    certificate = Certificate("uninformed", REFERENCE)
    kind: Kind = "exact" if s == 2 and (whole or n is None) and closed else "upper bound"
    if n is None:
        total = steps + np.fmax.reduce(right) + np.fmax.reduce(left)
        a, b = _pair(total)
        value = _worst(total) * (1.0 + ROUNDING)
        return Bound(value, kind, certificate, None, Witness(None, (labels[a], labels[b])))
    index = np.arange(n)
    k_right, k_left = np.minimum(n - 1 - index, len(right) - 1), np.minimum(index, len(left) - 1)
    per_record = np.zeros(n)
    for a in range(s):
        for b in range(s):
            if a != b:
                sum_ = steps[a, b] + right[k_right, a, b] + left[k_left, a, b]
                per_record = np.fmax(per_record, sum_)  # nan: this pair cannot occur
    per_record = np.minimum(per_record * (1.0 + ROUNDING), n * float(steps.max()))
    record = int(per_record.argmax())
    a, b = _pair(steps + right[k_right[record]] + left[k_left[record]])
    witness = Witness(record, (labels[a], labels[b]))
    return Bound(float(per_record[record]), kind, certificate, per_record, witness)


def _pairwise(s: int) -> bool:
    return s <= PAIRWISE_STATES


def _profile(side: Side, reach: int) -> np.ndarray:
    """Costs by number of unknown records on a side; nan where a pair of values cannot occur."""
    costs = side.profile(side.end, reach, False, _pairwise(len(side.end)))
    possible = side.end > 0
    costs[0] = np.where(np.logical_and.outer(possible, possible), 0.0, np.nan)
    return costs


def _worst(total: np.ndarray) -> float:
    """Largest entry off the diagonal; 0 when no pair of values can occur."""
    return float(np.nan_to_num(total, nan=0.0)[~np.eye(len(total), dtype=bool)].max())


def _pair(total: np.ndarray) -> tuple[int, int]:
    off = np.where(np.eye(len(total), dtype=bool), -1.0, np.nan_to_num(total, nan=-1.0))
    a, b = np.unravel_index(off.argmax(), off.shape)
    return int(a), int(b)
