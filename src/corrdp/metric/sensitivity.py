"""How far a function spreads neighbours apart, and what that does to a guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import GDP, L1, Pure
from corrdp.metric.canonical import canonical_distance
from corrdp.metric.domains import Domain
from corrdp.metric.extended import check_distance
from corrdp.metric.granularities import Granularity, as_granularity
from corrdp.metric.neighbours import neighbour_pairs

Distance = Callable[[Any, Any], float]


def sensitivity(
    function: Callable[[Any], Any],
    domain: Domain,
    granularity: Granularity | str,
    distance: Distance | None = None,
) -> float:
    r"""Sensitivity of a function on a domain that can be listed.

    .. math:: \Delta f = \max_{D \sim D'} d_2(f(D), f(D'))

    where neighbours suffice: along a chain of neighbours the distances add.

    Parameters
    ----------
    function : callable
        Of one data set.
    domain : Domain
    granularity : Granularity or str
        What neighbours are.
    distance : callable, optional
        d_2 of two answers; the absolute difference if left out.

    References
    ----------
    Guerra-Balboa, dissertation, definitions 2.8 and 2.9.

    Examples
    --------
    >>> from corrdp.metric.domains import MultisetDomain
    >>> values = MultisetDomain((-2, 0, 2), largest=3)
    >>> sensitivity(sum, values, "unbounded"), sensitivity(sum, values, "bounded")
    (2.0, 4.0)
    """
    relation = as_granularity(granularity)
    relation.check(domain)
    items = domain.databases()
    apart = distance or _absolute
    answers = [function(item) for item in items]
    found = [
        float(apart(answers[i], answers[j])) for i, j in neighbour_pairs(domain, relation, items)
    ]
    if not found:
        raise InputError(f"no two data sets of this domain are {relation} neighbours")
    return max(found)


def metric_sensitivity(
    function: Callable[[Any], Any],
    points: Iterable[Any],
    inner: Distance | tuple[Domain, Granularity | str],
    outer: Distance | None = None,
) -> float:
    r"""Sensitivity between two metric spaces, over the points given.

    .. math:: \Delta f = \sup \frac{d_2(f(x), f(x'))}{d_1(x, x')}

    where pairs at d_1 = inf are left out, as are pairs with both distances 0; a pair that d_1
    does not tell apart and d_2 does makes the sensitivity infinite.

    Parameters
    ----------
    function : callable
    points : iterable
        Points of the first space.
    inner : callable or (Domain, granularity)
        d_1, or the canonical metric of a granularity.
    outer : callable, optional
        d_2; the absolute difference if left out.

    References
    ----------
    Guerra-Balboa, dissertation, definition 2.9.

    Examples
    --------
    >>> metric_sensitivity(lambda x: 3 * x, [0, 1, 5], lambda x, y: abs(x - y))
    3.0
    """
    apart = outer or _absolute
    near = partial(canonical_distance, *inner) if isinstance(inner, tuple) else inner
    items = list(points)
    worst = 0.0
    for i, a in enumerate(items):
        for b in items[:i]:
            before = check_distance("d_1", near(a, b))
            after = check_distance("d_2", apart(function(a), function(b)))
            if before == math.inf or after == 0:
                continue
            worst = max(worst, math.inf if before == 0 else after / before)
    return worst


def _absolute(x: Any, y: Any) -> float:
    return abs(x - y)


def preprocessed(guarantee: Pure | L1 | GDP, factor: float) -> Pure | L1 | GDP:
    r"""The guarantee of a mechanism that runs after a preprocessing step.

    .. math:: M \text{ is } d_2\text{-private} \implies M \circ f \text{ is }
              \Delta f \cdot d_1\text{-private}

    where Delta f is the sensitivity of the preprocessing from d_1 to d_2. The converse is false:
    a map into a bounded range may create privacy that the mechanism alone does not have.

    Parameters
    ----------
    guarantee : Pure, L1 or GDP
    factor : float
        Sensitivity of the preprocessing, from :func:`sensitivity`; > 0.

    Raises
    ------
    GuaranteeError
        For an infinite sensitivity.

    References
    ----------
    Guerra-Balboa, dissertation, proposition A.3 and remark A.4.

    Examples
    --------
    >>> preprocessed(Pure(.5), 2.0)
    Pure(epsilon=1.0)
    """
    times = check_distance("factor", factor)
    if math.isinf(times):
        raise GuaranteeError(
            "the preprocessing has no finite sensitivity: neighbours may come out arbitrarily far "
            "apart, and nothing of the guarantee is left"
        )
    if times == 0:
        raise InputError("factor must be > 0: with 0 the preprocessing gives the same for all")
    if isinstance(guarantee, Pure):
        return Pure(guarantee.epsilon * times)
    if isinstance(guarantee, GDP):
        return GDP(guarantee.mu * times)
    level = None if guarantee.epsilon is None else guarantee.epsilon * times
    return L1(guarantee.rate * times, level)
