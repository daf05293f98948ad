"""Partitions of a data set: does the largest epsilon of the parts suffice?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from corrdp._json import encode
from corrdp.accounting.maps import Map
from corrdp.errors import InputError
from corrdp.metric.canonical import canonical_matrix
from corrdp.metric.domains import Domain
from corrdp.metric.finite import symmetric_difference
from corrdp.metric.granularities import Granularity, as_granularity


@dataclass(frozen=True)
class Partition:
    """What a partition does to a domain; see :func:`check_partition`.

    Parameters
    ----------
    changed : int
        I_p: the most parts that change between neighbours.
    commutes : bool
        Whether the distances of the parts never add up to more than that of the whole.
    equal_pairs, strict_pairs : int
        Ordered pairs of data sets with equality, and with a strict inequality.
    witness : pair or None
        Neighbours for which ``changed`` parts change.
    """

    changed: int
    commutes: bool
    equal_pairs: int
    strict_pairs: int
    witness: tuple[Any, Any] | None

    @property
    def compatible(self) -> bool:
        """Whether no neighbours change two parts: parallel composition then holds."""
        return self.changed <= 1

    def __repr__(self) -> str:
        word = "compatible" if self.compatible else "not compatible"
        also = "commutes" if self.commutes else "does not commute"
        text = f"Partition: {word} (up to {self.changed} parts change at once), {also}"
        return text if self.compatible else f"{text}\n  witness      {self.witness}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))


def check_partition(
    domain: Domain,
    parts: Sequence[Map],
    granularity: Granularity | str,
    distance: Callable[[Any, Any], float] = symmetric_difference,
) -> Partition:
    r"""Whether a partition is compatible with a granularity, and whether a metric commutes.

    .. math:: I_p(D, D') = \#\{i : p_i(D) \ne p_i(D')\} \le 1, \qquad
              \sum_i d(p_i(D), p_i(D')) \le d(D, D')

    where the first holds for all neighbours (compatible: the largest epsilon of the parts suffices
    for the granularity) and the second for all pairs (commutes: it does so for the metric).

    Parameters
    ----------
    domain : Domain
        One that can be listed.
    parts : sequence of Map
        Select or Records maps that do not overlap; they may leave records out.
    granularity : Granularity or str
    distance : callable
        The metric on parts and wholes; the symmetric difference of multisets if left out.

    References
    ----------
    Guerra-Balboa, dissertation, section 4.2 and appendix A.2.

    Examples
    --------
    >>> from corrdp.accounting.maps import Select
    >>> from corrdp.metric.domains import MultisetDomain
    >>> letters = MultisetDomain(("a", "b", "c", "d"), largest=3)
    >>> check_partition(letters, [Select(("a", "b")), Select(("c",))], "unbounded")
    Partition: compatible (up to 1 parts change at once), commutes
    """
    relation = as_granularity(granularity)
    relation.check(domain)
    items = domain.databases()
    for part in parts:
        part.check(domain)
    split = [tuple(part.apply(domain, item) for part in parts) for item in items]
    for item, pieces in zip(items, split, strict=True):
        if sum(len(piece) for piece in pieces) > len(item):
            raise InputError(f"the parts overlap on {item!r}; no record may lie in two of them")
    near = canonical_matrix(domain, relation)
    changed, witness, equal, strict, above = 0, None, 0, 0, 0
    for i, a in enumerate(items):
        for j, b in enumerate(items):
            moved = sum(x != y for x, y in zip(split[i], split[j], strict=True))
            if near[i, j] == 1 and moved > changed:
                changed, witness = moved, (a, b)
            apart = sum(distance(x, y) for x, y in zip(split[i], split[j], strict=True))
            whole = distance(a, b)
            equal += apart == whole
            strict += apart < whole
            above += apart > whole and not math.isinf(whole)
    return Partition(changed, above == 0, equal, strict, witness)
