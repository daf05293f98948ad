"""Contraction bound of Markov fields by messages (trees-and-fields#networks): any graph.

Messages between records are improved from above, sweep by sweep. The step is that of
:mod:`corrdp.bounds.contraction`: costs are carried as e^{cost/2} - 1, added and contracted, never
subtracted, and rounded up.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.contraction import LARGEST, STEP_ULPS, ULP, add, contract, looseness_of
from corrdp.bounds.registry import bound, level_and_confidence
from corrdp.bounds.scope import Bound
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.networks.field import MarkovField
from corrdp.results import Certificate, Witness

_SETTLED = 1e-12  # relative change of a message that ends the sweeps
_MAX_SWEEPS = 1000


@njit(cache=True)
def by_node(
    members: np.ndarray, offsets: np.ndarray, nodes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The factor graph seen from its nodes; an end is one record of one factor.

    Returns starts, ends, links, mates: the ends of node v are ``starts[v]`` up to
    ``starts[v + 1]``, end k stands at ``members[ends[k]]``, and the other ends of its factor are
    ``mates[links[k]:links[k + 1]]``.
    """
    starts = np.zeros(nodes + 1, np.int64)
    for v in members:
        starts[v + 1] += 1
    starts = np.cumsum(starts)
    fill = starts[:-1].copy()
    ends, end_at = np.empty(len(members), np.int64), np.empty(len(members), np.int64)
    links = np.zeros(len(members) + 1, np.int64)
    for e in range(len(offsets) - 1):
        for place in range(offsets[e], offsets[e + 1]):
            k = fill[members[place]]
            fill[members[place]] += 1
            ends[k], end_at[place] = place, k
            links[k + 1] = offsets[e + 1] - offsets[e] - 1
    links = np.cumsum(links)
    mates = np.empty(links[-1], np.int64)
    for e in range(len(offsets) - 1):
        for place in range(offsets[e], offsets[e + 1]):
            at = links[end_at[place]]
            for other in range(offsets[e], offsets[e + 1]):
                if other != place:
                    mates[at] = end_at[other]
                    at += 1
    return starts, ends, links, mates


@njit(cache=True)
def _start(eps: np.ndarray, starts: np.ndarray, diameters: np.ndarray) -> np.ndarray:
    """``eps_j + sum of D(j, e')`` over the other factors e' of j, for each end."""
    found = np.empty(len(diameters))
    for v in range(len(eps)):
        total = eps[v]
        for k in range(starts[v], starts[v + 1]):
            found[k] = total
            total += diameters[k]
        total = 0.0
        for k in range(starts[v + 1] - 1, starts[v] - 1, -1):
            found[k] += total
            total += diameters[k]
    return found


@njit(cache=True, error_model="numpy")
def _heard(
    k: int,
    links: np.ndarray | None,
    mates: np.ndarray,
    looseness: np.ndarray,
    messages: np.ndarray,
) -> float:
    """What the other records of a factor are worth to the record at end k, as e^{cost/2} - 1."""
    if links is None:  # pairs only; decided when compiled, twice as fast as the inner loop
        worth = messages[mates[k]]
    else:
        worth = 0.0
        for at in range(links[k], links[k + 1]):
            worth = min(add(worth, messages[mates[at]]), LARGEST)
    if worth < LARGEST:
        return contract(worth, looseness[k])
    return min(1.0 / looseness[k], LARGEST)  # A (*) D tends to D


@njit(cache=True, error_model="numpy")
def _sweep(
    backwards: bool,
    own: np.ndarray,
    starts: np.ndarray,
    links: np.ndarray | None,
    mates: np.ndarray,
    looseness: np.ndarray,
    messages: np.ndarray,
) -> bool:
    """Improve the messages of every node once; says whether one moved.

    Messages are carried as e^{cost/2} - 1 and count as infinite from ``LARGEST`` on.
    """
    nodes = len(own)
    most = 0
    for v in range(nodes):
        most = max(most, starts[v + 1] - starts[v])
    heard, before = np.empty(most), np.empty(most)
    moved = False
    for turn in range(nodes):
        v = nodes - 1 - turn if backwards else turn
        low, degree = starts[v], starts[v + 1] - starts[v]
        slack = 1.0 + (STEP_ULPS + 4 * degree) * ULP
        total = own[v]
        for k in range(degree):
            heard[k] = _heard(low + k, links, mates, looseness, messages)
            before[k] = total
            total = min(add(total, heard[k]), LARGEST)
        after = 0.0
        for k in range(degree - 1, -1, -1):
            value = add(before[k], after) * slack
            after = min(add(after, heard[k]), LARGEST)
            old = messages[low + k]
            moved |= old - value > _SETTLED * old
            messages[low + k] = min(old, value)
    return moved


@njit(cache=True, error_model="numpy")
def _read_out(
    eps: np.ndarray,
    ceiling: np.ndarray,
    starts: np.ndarray,
    links: np.ndarray | None,
    mates: np.ndarray,
    looseness: np.ndarray,
    messages: np.ndarray,
) -> np.ndarray:
    """The leakage of every node from the messages."""
    leakage = np.empty(len(eps))
    for v in range(len(eps)):
        total = eps[v]
        for k in range(starts[v], starts[v + 1]):
            worth = _heard(k, links, mates, looseness, messages)
            total += 2.0 * math.log1p(worth) if worth < LARGEST else math.inf
        slack = 1.0 + (STEP_ULPS + 4 * (starts[v + 1] - starts[v])) * ULP
        leakage[v] = min(total * slack, ceiling[v])
    return leakage


def sweeps(
    members: np.ndarray,
    offsets: np.ndarray,
    diameters: np.ndarray,
    eps: np.ndarray,
    ceiling: np.ndarray,
) -> tuple[np.ndarray, int]:
    """Contraction bound of every node of a graph, by messages. O(edges) a sweep.

    ``A(j, e) = eps_j + sum over e' of ( sum over k in e' of A(k, e') ) (*) D(j, e')``,
    ``leakage(i) <= eps_i + sum over e of ( sum over j in e of A(j, e) ) (*) D(i, e)``

    where

    * e' runs over the factors of j other than e, and k over the records of e' other than j;
      e over the factors of i, and j over the records of e other than i,
    * D(j, e) is the diameter of factor e as seen from its record j.

    The messages start from above, at the smaller of ``eps_j + sum of D(j, e')`` and
    ``ceiling[j]``, and only fall, so that every iterate is a valid bound. Nodes are visited
    backwards, then forwards, and so on: forests numbered parents first are exact after two sweeps.

    Parameters
    ----------
    members : (m,) array of int
        The records of each factor, one factor after the other.
    offsets : (factors + 1,) array of int
        Factor e is ``members[offsets[e]:offsets[e + 1]]``.
    diameters : (m,) array
        D(members[k], factor of k); inf allowed.
    eps : (n,) array
    ceiling : (n,) array
        Another bound for each record that knowledge of others can only lower, such as the sum of
        epsilon over its component.

    Returns
    -------
    leakage : (n,) array
        Rounded up.
    count : int
        Number of sweeps until no message moved by more than 1e-12 of itself.

    References
    ----------
    trees-and-fields#networks.

    Examples
    --------
    A ring of four, Ising coupling .5:

    >>> ring, D = np.array([0, 1, 1, 2, 2, 3, 3, 0]), np.ones(8)
    >>> leakage, _ = sweeps(ring, np.arange(0, 9, 2), D, np.ones(4), np.full(4, 4.0))
    >>> leakage.round(6).tolist()
    [1.621198, 1.621198, 1.621198, 1.621198]
    """
    nodes = len(eps)
    eps = np.ascontiguousarray(eps, dtype=float)
    starts, ends, links, mates = by_node(members, offsets, nodes)
    pairs = len(mates) == len(members)
    layout = starts, None if pairs else links, mates, looseness_of(diameters[ends])
    messages = np.minimum(_start(eps, starts, diameters[ends]), ceiling[members[ends]])
    with np.errstate(over="ignore"):
        own, messages = (np.minimum(np.expm1(x / 2.0), LARGEST) for x in (eps, messages))
    for count in range(1, _MAX_SWEEPS + 1):
        if not _sweep(count % 2 == 1, own, *layout, messages):
            break
    return _read_out(eps, ceiling, *layout, messages), count


REFERENCE = "theorem trees-and-fields#networks, messages"


@bound("contraction", on=MarkovField)
def field_contraction(
    field: MarkovField, guarantee: Pure, diameters: np.ndarray | None = None
) -> Bound:
    """Contraction bound of every node of a field, every adversary and all fields.

    ``A(j, e) = eps_j + sum over e' of ( sum over k in e' of A(k, e') ) (*) D(j, e')``,
    ``leakage(i) <= eps_i + sum over e of ( sum over j in e of A(j, e) ) (*) D(i, e)``

    where

    * e' runs over the edges of j other than e, and k over the nodes of e' other than j,
    * D(j, e) is the diameter of edge e as seen from node j.

    The smallest solution is approached from above by
    :func:`~corrdp.bounds.fields.sweeps`; the value is the last iterate, which is valid
    whether or not it has settled, and never more than the sum of epsilon over the component.
    O(edges) a sweep.

    Parameters
    ----------
    field : MarkovField
    guarantee : Pure
        One epsilon, or one per node.
    diameters : array, optional
        Upper bounds on ``field.diameters``, where the potentials of a fit are not known exactly.

    References
    ----------
    trees-and-fields#networks.

    Examples
    --------
    >>> ring = MarkovField.ising([(0, 1), (1, 2), (2, 3), (3, 0)], .5)
    >>> round(field_contraction(ring, Pure(1.0)).value, 6)
    1.621198
    """
    assert field.length is not None
    eps = guarantee.vector(field.length)
    block = field.block_of_record
    ceiling = np.bincount(block, eps)[block]
    per_record, count = sweeps(
        field.members,
        field.offsets,
        field.diameters if diameters is None else diameters,
        eps,
        ceiling,
    )
    record = int(per_record.argmax())
    return Bound(
        float(per_record[record]),
        "upper bound",
        Certificate("contraction", REFERENCE),
        per_record,
        Witness(record, note=f"after {count} sweeps of messages"),
    )


@bound("contraction", on=MarkovField, confidence=True, given=level_and_confidence)
def uncertain_field(field: MarkovField, guarantee: Pure, confidence: float) -> Bound:
    """Contraction bound that holds for every coupling in the confidence interval of a fit.

    The bound rises with the coupling's size, so :func:`field_contraction` with all diameters
    ``2 (abs(J) + z se)`` covers the interval.

    Parameters
    ----------
    field : MarkovField
        Fitted: ``MarkovField.fit(...)``.
    guarantee : Pure
    confidence : float
        Level of the interval, such as .95; asymptotic.

    Examples
    --------
    >>> field = MarkovField.fit([0, 0, 1, 1, 0, 0, 0, 1], edges=[(k, k + 1) for k in range(7)])
    >>> plain, sure = field_contraction(field, Pure(.1)), uncertain_field(field, Pure(.1), .95)
    >>> plain.value < sure.value <= .8
    True
    """
    widest = np.full(len(field.members), widest_of(field, confidence))
    bound = field_contraction(field, guarantee, widest)
    said = certain(field, confidence)
    return replace(bound, certificate=replace(bound.certificate, assumptions=said))


def widest_of(field: MarkovField, confidence: float) -> float:
    """The largest diameter of an edge that the data of a fit still allow."""
    if field.fitted is None:
        raise NotApplicableError("confidence needs a field that was fitted: MarkovField.fit(...)")
    return 2.0 * field.fitted.largest_coupling(confidence)


def certain(field: MarkovField, confidence: float) -> tuple[str, ...]:
    """What a bound at that diameter assumes."""
    return (
        f"the true coupling is at most {widest_of(field, confidence) / 2.0:.4g} in size, the upper "
        f"end of its {confidence:.4g} confidence interval (asymptotic: many nodes, sandwich "
        "standard error)",
    )
