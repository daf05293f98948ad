"""Contraction bounds (chains#contraction): one engine for chains, trees and graphs.

A record's influence on its neighbour is a change of law whose strength a diameter D bounds,
whatever else the adversary knows. A neighbour that is worth A by itself is worth

    A (*) D = 4 artanh(tanh(A/4) tanh(D/4))

to the record, and what several neighbours are worth adds up:

* :func:`two_pass`: forests, every record from one pass up and one pass down; a chain is the path;
* :func:`corrdp.bounds.fields.sweeps`: any graph, also with factors of more than two
  records, by repeated passes that improve a valid bound.

Both only add and contract positive numbers, never subtract, and round each step up: what they
return is never below its exact value. Costs are carried as z = e^{A/2} - 1, where a sum is
z + y + z y and A (*) D is z / (1 + (z + 2) r) with r = 1 / (e^{D/2} - 1): no logarithm inside the
loops, and all digits for small and large costs. Self-avoiding walks for small graphs are in
:mod:`corrdp.bounds.walks`. Chains add two things.

**Skipping.** Paying eps outright for m - 1 records lets the m-step kernel act, which keeps the
bound finite when the kernel has zeros: with S_t the cost of all records after t,

    S_t = min_m  eps_{t+1} + .. + eps_{t+m-1} + (eps_{t+m} + S_{t+m}) (*) D(P_t..P_{t+m-1}).

**Long chains.** For equal epsilons and every length the recursion solves to
``sinh(leakage/4) = e^{D/2} sinh(eps/4)``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.mixtures import star
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import ROUNDING, Bound, Scope, up
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import LONGEST_SKIP, Skips
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.region import ChainClass
from corrdp.models.chains.stretches import period_of
from corrdp.results import Certificate, Witness

__all__ = [
    "contraction",
    "contraction_inverse",
    "contraction_limit",
    "limit_with_skipping",
    "side_costs",
    "two_pass",
]

REFERENCE = "theorem chains#contraction"
CLASS = Certificate("contraction", "theorem chains#classes")
ULP = 2.0**-52
STEP_ULPS = 32  # rounding of one contraction and a few additions, with room to spare
LARGEST = 1e150  # of e^{cost/2} - 1, a cost of 690: products of two stay finite


@njit(cache=True)
def add(x: float, y: float) -> float:
    """The sum of two costs, each carried as e^{cost/2} - 1."""
    return x + y + x * y


@njit(cache=True, error_model="numpy")
def contract(z: float, looseness: float) -> float:
    """A (*) D, with z = e^{A/2} - 1 and looseness = 1 / (e^{D/2} - 1). One division."""
    return z / (1.0 + (z + 2.0) * looseness)


def looseness_of(diameters: np.ndarray) -> np.ndarray:
    """``1 / (e^{D/2} - 1)``: inf for D = 0, 0 for D = inf; rounded down, which rounds costs up."""
    with np.errstate(divide="ignore", over="ignore"):
        return (1.0 - 4.0 * ULP) / np.expm1(diameters / 2.0)


@njit(cache=True, error_model="numpy")
def _pass_by_exponent(
    parents: np.ndarray,
    own: np.ndarray,
    looseness: np.ndarray,
    step: int,
    slack: float,
    below: np.ndarray,
    above: np.ndarray,
) -> float:
    """:func:`_pass_by_star` on e^{cost/2} - 1: one division for each contraction, nothing else.

    Returns the largest sum met; the result is good up to ``LARGEST``. Sums are looked at as they
    are made, because beyond they may overflow into NaN, which no maximum shows.
    """
    n = len(parents)
    sent, later, heard = np.empty(n), np.empty(n), np.empty(n)
    largest = 0.0
    below[:] = -1.0  # no child yet
    for v in range(n - 1, -1, -1):
        if below[v] < 0.0:
            below[v] = 0.0
        whole = add(own[v], below[v])
        largest = max(largest, whole)
        p = parents[v]
        if p < 0:
            continue
        m = contract(whole, looseness[v * step]) * slack
        sent[v], later[v] = m, below[p]
        below[p] = m if later[v] < 0.0 else add(later[v], m)
        largest = max(largest, below[p])
    for v in range(n):
        p = parents[v]
        d = 0.0
        if p >= 0:
            whole = heard[p]
            if later[v] >= 0.0:
                heard[p] = add(whole, sent[v])
                whole = add(whole, later[v])
                largest = max(largest, whole, heard[p])
            d = contract(whole, looseness[v * step]) * slack
        above[v] = d
        heard[v] = add(own[v], d)
        largest = max(largest, heard[v])
    return largest


@njit(cache=True)
def _pass_by_star(
    parents: np.ndarray,
    eps: np.ndarray,
    diameters: np.ndarray,
    step: int,
    slack: float,
    below: np.ndarray,
    above: np.ndarray,
) -> None:
    """below[v] = what the children of v are worth to it, above[v] = what its parent is worth."""
    n = len(parents)
    sent, later = np.empty(n), np.empty(n)
    heard = np.empty(n)  # v itself, its parent's side and the children already served
    below[:] = -1.0  # no child yet
    for v in range(n - 1, -1, -1):
        below[v] = max(below[v], 0.0)
        p = parents[v]
        if p < 0:
            continue
        sent[v] = star(eps[v] + below[v], diameters[v * step]) * slack
        later[v] = below[p]
        below[p] = max(below[p], 0.0) + sent[v]
    for v in range(n):
        p = parents[v]
        above[v] = 0.0
        if p >= 0:
            # the siblings of v are those already in heard[p] and the later ones: no subtraction
            whole = heard[p]
            if later[v] >= 0.0:
                heard[p] += sent[v]
                whole += later[v]
            above[v] = star(whole, diameters[v * step]) * slack
        heard[v] = eps[v] + above[v]


def two_pass(parents: np.ndarray, diameters: np.ndarray, eps: np.ndarray) -> np.ndarray:
    """Contraction bound of every node of a forest, from one pass up and one down. O(n).

    ``m_v = (eps_v + S_v) (*) D_v``,  ``d_v = (eps_p + S_p - m_v + d_p) (*) D_v``,
    ``leakage(v) <= eps_v + S_v + d_v``

    where

    * p is the parent of v and D_v the diameter of the edge between them,
    * S_v is the sum of m_c over the children c of v.

    Parameters
    ----------
    parents : (n,) array of int
        Parents before children, ``parents[v] < v``; -1 for a root.
    diameters : (n,) or (1,) array
        D_v, inf allowed, a root's ignored; one entry serves every edge.
    eps : (n,) array

    Returns
    -------
    (n,) array
        Rounded up: never below the exact value of the formula.

    References
    ----------
    trees-and-fields#trees.

    Examples
    --------
    A root with two leaves:

    >>> D = np.log(.8 * .7 / (.2 * .3))
    >>> two_pass(np.array([-1, 0, 0]), np.array([D]), np.ones(3)).round(6).tolist()
    [1.998121, 1.734164, 1.734164]
    """
    n = len(parents)
    eps = np.ascontiguousarray(eps, dtype=float)
    step = 0 if len(diameters) == 1 else 1
    children = int(np.bincount(parents + 1)[1:].max(initial=0))
    slack = 1.0 + (STEP_ULPS + 4 * children) * ULP
    below, above = np.empty(n), np.empty(n)
    with np.errstate(over="ignore"):
        own = np.minimum(np.expm1(eps / 2.0), 2.0 * LARGEST)
    loose = looseness_of(diameters)
    if _pass_by_exponent(parents, own, loose, step, slack, below, above) <= LARGEST:
        for side in (below, above):
            np.log1p(side, out=side)
            side *= 2.0
    else:
        _pass_by_star(parents, eps, diameters, step, slack, below, above)
    return (eps + below + above) * (slack + ROUNDING)


@bound("contraction", on=MarkovChain)
def contraction(chain: MarkovChain, guarantee: Pure, diameters: np.ndarray | None = None) -> Bound:
    """Contraction bound of a chain, scalar or per-record epsilon.

    ``A_n = eps_n``, ``A_t = eps_t + A_{t+1} (*) D_t``, ``leakage(i) <= A_i + (mirror image)``:
    :func:`two_pass` along the path, unless jumps over records (skipping) gain something.

    Parameters
    ----------
    chain : MarkovChain
    guarantee : Pure
    diameters : (1, m) array, optional
        Upper bounds on the diameters of 1..m steps, where the kernel is not known exactly.

    Raises
    ------
    NotApplicableError
        When the diameter of every m-step kernel is infinite and the chain has no length.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(contraction(chain, Pure(1.0)).value, 6)
    4.813705
    """
    skips = chain.skips if diameters is None else Skips(diameters)
    if chain.length is None:
        value, jump = limit_with_skipping(guarantee.largest, skips.table)
        if math.isinf(value):
            raise NotApplicableError(
                f"the kernel tells states apart for ever (D(P^m) infinite up to m={LONGEST_SKIP}); "
                "give the chain a length for a finite bound"
            )
        note = "" if jump == 1 else f"jumps of {jump} records"
        return Bound(value, "upper bound", _certificate(), None, Witness(None, note=note))
    eps = guarantee.vector(chain.length)
    per_record = _along(eps, skips)
    # rounding must not lift the result above the sum of epsilons
    per_record = np.minimum(per_record, float(eps.sum()))
    if chain.homogeneous:
        longest = limit_with_skipping(guarantee.largest, skips.table)[0]
        per_record = np.minimum(per_record, longest)
    record = int(per_record.argmax())
    value = float(per_record[record])
    return Bound(value, "upper bound", _certificate(), per_record, Witness(record))


@bound("contraction", on=ChainClass, given=whole)
def class_contraction(chains: ChainClass, scope: Scope) -> Bound:
    """Leakage of the worst chain of a class: the recursion of :func:`contraction` with D_t = D.

    Some chain of two states, whose kernels change with time, attains every step of it at once, so
    that it is the exact supremum over the class and every mechanism. O(n).

    References
    ----------
    chains#classes.

    Examples
    --------
    >>> found = class_contraction(ChainClass(2.839942455), Scope("", Pure(1.0)))
    >>> round(found.value, 6), found.kind
    (3.651512, 'exact')
    """
    found = contraction(chains.widest, scope.dp, np.array([[chains.diameter]]))
    if not scope.is_wide:
        return replace(found, certificate=CLASS)
    note = "on a chain of two states whose kernels change with time"
    witness = Witness(found.witness.record if found.witness else None, note=note)
    return replace(found, kind="exact", certificate=CLASS, witness=witness)


def _along(eps: np.ndarray, skips: Skips) -> np.ndarray:
    """Leakage of each record of a chain: the path as a tree, or with jumps where these gain."""
    if len(useful_skips(skips.table, float(eps.min()))) == 1:
        edges = skips.table[skips.rows, 0]
        edges = edges if len(edges) == 1 else np.r_[0.0, edges]
        return two_pass(np.arange(-1, len(eps) - 1), edges, eps)
    sides = side_costs(eps, skips) + side_costs(eps, skips, leftwards=True)
    return (eps + sides) * (1.0 + ROUNDING)


def _certificate() -> Certificate:
    return Certificate("contraction", REFERENCE)


def _four_arsinh(x: float, shift: float) -> float:
    """4 arsinh(e^shift sinh x) for x > 0, to a few units in the last place, without overflow."""
    if x < 300.0 and abs(shift) < 300.0:
        return 4.0 * math.asinh(math.exp(shift) * math.sinh(x))
    # ln of twice the argument; sinh x = e^x (1 - e^{-2x}) / 2
    log_twice = shift + x + math.log(-math.expm1(-2.0 * x))
    if log_twice < 0.0:
        return 4.0 * math.asinh(math.exp(log_twice) / 2.0)
    # arsinh(e^l / 2) = l + ln[(1 + sqrt(1 + 4 e^{-2l})) / 2]
    root = math.sqrt(1.0 + 4.0 * math.exp(-2.0 * log_twice))
    return 4.0 * (log_twice + math.log((1.0 + root) / 2.0))


def contraction_limit(epsilon: float, diameter: float) -> float:
    """Leakage bound for chains of every length: ``B = 4 arsinh(e^{D/2} sinh(eps/4))``.

    Parameters
    ----------
    epsilon : float
        DP level, the same for every record.
    diameter : float
        Birkhoff diameter D of the kernel.

    Returns
    -------
    float
        B, rounded up; ``eps <= B <= min(eps e^{D/2}, eps + 2 D)``.

    References
    ----------
    chains#contraction.

    Examples
    --------
    >>> round(contraction_limit(1.0, 2.839942455), 6)
    3.651512
    """
    if math.isinf(diameter):
        return math.inf
    if diameter == 0.0:
        return epsilon
    value = _four_arsinh(epsilon / 4.0, diameter / 2.0)
    ceiling = min(epsilon + 2.0 * diameter, _times_exp(epsilon, diameter / 2.0))
    return max(epsilon, min(up(value, 1e-15), ceiling))


def _times_exp(x: float, power: float) -> float:
    return x * math.exp(power) if power < 700.0 else math.inf


def contraction_inverse(target: float, diameter: float) -> float:
    """The epsilon whose :func:`contraction_limit` is ``target``: ``4 arsinh(e^{-D/2} sinh(B/4))``.

    Examples
    --------
    >>> round(contraction_inverse(1.0, 2.839942455), 6)
    0.244095
    """
    if math.isinf(diameter):
        return 0.0
    return _four_arsinh(target / 4.0, -diameter / 2.0)


def useful_skips(diameters: np.ndarray, least: float) -> np.ndarray:
    """Which jump lengths can win against shorter ones when every epsilon is at least ``least``.

    With t = tanh(D_1/4), (x + y) (*) D_1 <= x t + y (*) D_1; so the m-step jump cannot beat one
    step followed by m - 1 when ``least (1 - t) >= D_1 (*) D_{m-1} - D_m``.
    """
    keep = [1]
    for m in range(2, diameters.shape[1] + 1):
        for row in diameters:
            one, shorter, jump = row[0], row[m - 2], row[m - 1]
            if math.isinf(jump):
                continue
            slack = star(one, shorter) - jump if not math.isinf(min(one, shorter)) else math.inf
            if least * (1.0 - math.tanh(one / 4.0)) < slack:
                keep.append(m)
                break
    return np.array(keep)


@njit(cache=True)
def _side(
    eps: np.ndarray,
    table: np.ndarray,
    rows: np.ndarray,
    jumps: np.ndarray,
    period: int,
    leftwards: bool,
    begin: float,
    out: np.ndarray,
) -> None:
    """out[t] = S_t, the cost of all records after t, the cheapest jump taken at each step.

    ``begin`` is that of the last record. Leftwards: before t. Where all was as a period ago for as
    long as the longest jump, the value is too: it is copied.
    """
    n, longest = len(eps), jumps[-1]
    step, end = (-1, 0) if leftwards else (1, n - 1)
    row_step = min(len(rows) - 1, 1)
    out[end] = begin
    same = 0  # this many records beyond t have epsilon, row and value of a period beyond them
    for k in range(1, n):
        t = end - step * k
        before = t + step * min(period, k)
        if same >= longest and (leftwards or rows[t * row_step] == rows[before * row_step]):
            out[t] = out[before]
        else:
            best = np.inf
            skipped, at = 0.0, t
            for m in jumps:
                if m > k:
                    break
                there = t + step * m
                while at + step != there:
                    at += step
                    skipped += eps[at]
                row = rows[(there if leftwards else t) * row_step]
                best = min(best, skipped + star(eps[there] + out[there], table[row, m - 1]))
            out[t] = best
        if period < k < n - 1 and eps[t] == eps[before] and out[t] == out[before]:
            same = same + 1 if rows[t * row_step] == rows[before * row_step] else 0
        else:
            same = 0


def side_costs(
    eps: np.ndarray, skips: Skips, *, leftwards: bool = False, begin: float = 0.0
) -> np.ndarray:
    """S_t: how much the records after t add to the leakage of record t. O(n) per jump length.

    Parameters
    ----------
    eps : (n,) array
    skips : Skips
        Of ``chain.skips``.
    leftwards : bool
        The records before t instead.
    begin : float
        What lies beyond the last record (the first).
    """
    out = np.full(len(eps), begin)
    if len(eps) == 1:
        return out
    eps = np.ascontiguousarray(eps, dtype=float)
    jumps = useful_skips(skips.table, float(eps.min()))
    _side(eps, *skips, jumps, period_of(skips.rows), leftwards, begin, out)
    return out


def limit_with_skipping(epsilon: float, diameters: np.ndarray) -> tuple[float, int]:
    """``min_m (m-1) eps + 4 arsinh(e^{D(P^m)/2} sinh(m eps/4))`` and the m that attains it."""
    best, jump = math.inf, 1
    for m, diameter in enumerate(diameters[0], start=1):
        if (2 * m - 1) * epsilon >= best:
            break
        value = (m - 1) * epsilon + contraction_limit(m * epsilon, diameter)
        if value < best:
            best, jump = value, m
    return best, jump
