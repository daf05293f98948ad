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
loops, and all digits for small and large costs. What chains add (jumps, the long chain) is in
:mod:`corrdp.bounds.chains.skipping`; self-avoiding walks for small graphs are in
:mod:`corrdp.bounds.trees`.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.chains.skipping import (
    MAX_SKIP,
    contraction_inverse,
    contraction_limit,
    limit_with_skipping,
    mirrored,
    side_costs,
    skip_diameters,
    useful_skips,
)
from corrdp.bounds.mixtures import star
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import ROUNDING, Bound
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Witness

__all__ = [
    "contraction",
    "contraction_inverse",
    "contraction_limit",
    "limit_with_skipping",
    "mirrored",
    "side_costs",
    "skip_diameters",
    "two_pass",
]

REFERENCE = "theorem chains#contraction"
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
    diameters : (1 or n - 1, m) array, optional
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
    if diameters is None:
        diameters = skip_diameters(chain)
    if chain.length is None:
        value, jump = limit_with_skipping(guarantee.largest, diameters)
        if math.isinf(value):
            raise NotApplicableError(
                f"the kernel tells states apart for ever (D(P^m) infinite up to m={MAX_SKIP}); "
                "give the chain a length for a finite bound"
            )
        note = "" if jump == 1 else f"jumps of {jump} records"
        return Bound(value, "upper bound", _certificate(), None, Witness(None, note=note))
    eps = guarantee.vector(chain.length)
    per_record = _along(eps, diameters)
    # rounding must not lift the result above the sum of epsilons
    per_record = np.minimum(per_record, float(eps.sum()))
    if chain.homogeneous:
        longest = limit_with_skipping(guarantee.largest, diameters)[0]
        per_record = np.minimum(per_record, longest)
    target = int(per_record.argmax())
    value = float(per_record[target])
    return Bound(value, "upper bound", _certificate(), per_record, Witness(target))


def _along(eps: np.ndarray, diameters: np.ndarray) -> np.ndarray:
    """Leakage of each record of a chain: the path as a tree, or with jumps where these gain."""
    if len(useful_skips(diameters, float(eps.min()))) == 1:
        edges = diameters[:, 0] if len(diameters) == 1 else np.r_[0.0, diameters[:, 0]]
        return two_pass(np.arange(-1, len(eps) - 1), edges, eps)
    right = side_costs(eps, diameters)
    left = side_costs(eps[::-1], mirrored(diameters))[::-1]
    return (eps + right + left) * (1.0 + ROUNDING)


def _certificate() -> Certificate:
    return Certificate("contraction", REFERENCE)
