"""Distances that may be infinite: zero times infinity is infinity, and NaN never gets out."""

from __future__ import annotations

import math
from collections.abc import Iterable

from corrdp.errors import InputError


def check_distance(name: str, value: object) -> float:
    """``value`` as a float in [0, inf]; NaN and negative numbers are refused."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number >= 0 or inf, got {value!r}") from None
    if not number >= 0:
        raise InputError(f"{name} must be a number >= 0 or inf, got {number!r}")
    return number


def scaled(factor: float, distance: float) -> float:
    r"""A distance times a factor, where :math:`c \cdot \infty = \infty` **even for c = 0**.

    where

    - the distance is that of two data sets, infinite if no chain of neighbours joins them,
    - 0-DP says nothing about such a pair: the product must stay infinite. (Two counts of fixed-size
      parts are 0-DP each and reveal everything together; ``0 * inf`` is NaN in Python, and 0 in
      measure theory.)

    Parameters
    ----------
    factor, distance : float in [0, inf]

    References
    ----------
    Guerra-Balboa, dissertation, definition 2.5, proposition 2.6 and example 2.16.

    Examples
    --------
    >>> scaled(0.0, float("inf")), scaled(0.5, 3)
    (inf, 1.5)
    """
    factor, distance = check_distance("factor", factor), check_distance("distance", distance)
    if math.isinf(distance):
        return math.inf
    return 0.0 if distance == 0 else factor * distance


def combined(losses: Iterable[float], *, gaussian: bool = False) -> float:
    r"""The loss of several releases between two data sets, from the loss of each.

    .. math:: d = \sum_i d_i \quad\text{(pure)}, \qquad d = \sqrt{\sum_i d_i^2} \quad
              \text{(Gaussian)}

    where d_i is the loss of release i, possibly infinite.

    Parameters
    ----------
    losses : iterable of float in [0, inf]
    gaussian : bool

    References
    ----------
    Guerra-Balboa, dissertation, theorems 4.1 and 4.16.

    Examples
    --------
    >>> combined([.2, .5, 1.0]), combined([3, 4], gaussian=True), combined([0, float("inf")])
    (1.7, 5.0, inf)
    """
    each = [check_distance("loss", loss) for loss in losses]
    return math.hypot(*each) if gaussian else math.fsum(each)
