"""Contraction bound of Markov fields (T-8) by messages: any graph, any factors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from corrdp.bounds.base import Bound
from corrdp.bounds.networks.messages import sweeps
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.networks.field import MarkovField
from corrdp.results import Certificate, Witness

REFERENCE = "theorem T-8, messages (docs/theorems.md#networks)"


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
    :func:`~corrdp.bounds.networks.messages.sweeps`; the value is the last iterate, which is valid
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
    T-8, docs/theorems.md#networks.

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
    target = int(per_record.argmax())
    return Bound(
        float(per_record[target]),
        "upper bound",
        Certificate("contraction", REFERENCE),
        per_record,
        Witness(target, note=f"after {count} sweeps of messages"),
    )


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
    if field.fitted is None:
        raise NotApplicableError("confidence needs a field that was fitted: MarkovField.fit(...)")
    largest = field.fitted.largest_coupling(confidence)
    widest = np.full(len(field.members), 2.0 * largest)
    bound = field_contraction(field, guarantee, widest)
    said = (
        f"the true coupling is at most {largest:.4g} in size, the upper end of its "
        f"{confidence:.4g} confidence interval (asymptotic: many nodes, sandwich standard error)",
    )
    return replace(bound, certificate=replace(bound.certificate, assumptions=said))
