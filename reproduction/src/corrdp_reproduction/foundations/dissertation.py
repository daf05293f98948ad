"""What the examples of chapters 2 to 4 share: their source, and counts of records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from corrdp.accounting.maps import ReadsCount, Select
from corrdp.metric.domains import MultisetDomain

DISSERTATION = (
    "Guerra-Balboa, A Formal Study of Differential Privacy in Complex and Correlated Data, "
    "dissertation"
)
ABCD = MultisetDomain(("a", "b", "c", "d"), largest=4)  # small enough to be listed: 70 data sets
HALVES = (Select(("a", "b")), Select(("c", "d")))  # a partition by value


def counts(of: Sequence[ReadsCount | Select] = HALVES) -> Callable[[Any], tuple[int, ...]]:
    """The function that counts the records with each of these sets of values.

    Parameters
    ----------
    of : sequence of Count or Select

    Examples
    --------
    >>> counts()("aac")
    (2, 1)
    """
    return lambda data: tuple(sum(x in part.atoms for x in data) for part in of)


def l1(one: Sequence[float], two: Sequence[float]) -> float:
    """Sum of absolute differences: the loss of Laplace noise of scale 1.

    Examples
    --------
    >>> l1((3, 1), (2, 2))
    2
    """
    return sum(abs(x - y) for x, y in zip(one, two, strict=True))
