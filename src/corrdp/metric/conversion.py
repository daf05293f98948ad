"""What a guarantee says at another granularity, or behind what spreads neighbours apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from corrdp._checks import check_kind, renamed
from corrdp.errors import GuaranteeError, InputError, NotApplicableError
from corrdp.guarantees import GDP, L1, Pure
from corrdp.metric.canonical import canonical_matrix
from corrdp.metric.domains import (
    DATABASES,
    Domain,
    MultisetDomain,
    StreamDomain,
    TupleDomain,
    UserDomain,
)
from corrdp.metric.finite import check_distance, neighbour_pairs
from corrdp.metric.granularities import (
    Bounded,
    Edge,
    Element,
    Event,
    FreeLunch,
    Granularity,
    LTrajectory,
    Trajectory,
    Unbounded,
    User,
    WEvent,
    as_granularity,
)


@renamed(target="unit")
def conversion_factor(source: Granularity | str, unit: Granularity | str, domain: Domain) -> float:
    r"""The factor k with which protection at one granularity holds at another.

    .. math:: k = \max_{D \sim_{\text{unit}} D'} d^{\text{source}}(D, D')

    where every mechanism that is epsilon-DP at ``source`` is k epsilon-DP at ``unit`` on this
    domain; inf when some neighbours of the unit are not joined by neighbours of the source.

    On streams of r users and T steps that all report (m = min(w, T), l short for min(l, T)):

    =============  =====  ================================================  ============  =========
    from \ to      event  w-event                                           l-trajectory  user
    =============  =====  ================================================  ============  =========
    event          1      m                                                 l             T
    w-event        1      ceil(m / w)                                       ceil(l / w)   ceil(T/w)
    l-trajectory   1      floor(m / l) min(r, l) + min(m mod l, r)          ceil(l'/l)    ceil(T/l)
    user           1      min(m, r)                                         1             1
    =============  =====  ================================================  ============  =========

    Parameters
    ----------
    source, unit : Granularity or str
    domain : Domain

    Returns
    -------
    float

    Raises
    ------
    NotApplicableError
        When no closed form is known and the domain is too large to list.

    References
    ----------
    Guerra-Balboa, dissertation, proposition A.7; streams: composition#granularities.

    Examples
    --------
    >>> anyone = MultisetDomain(("a", "b"))
    >>> conversion_factor("unbounded", "bounded", anyone)
    2.0
    >>> conversion_factor("bounded", "unbounded", anyone)
    inf
    >>> conversion_factor("user", "w-event(3)", StreamDomain(users=3, steps=3))
    3.0
    """
    one, two = as_granularity(source), as_granularity(unit)
    check_kind("domain", domain, Domain, "a domain such as MultisetDomain")
    for relation in (one, two):
        relation.check(domain)
    empty = two.vacuous(domain)
    if empty:
        raise InputError(f"{two} granularity protects nothing on this domain: {empty}")
    factor = _closed(one, two, domain)
    if factor is not None:
        return float(factor)
    if domain.count() > DATABASES:
        raise NotApplicableError(
            f"no closed form from {one} to {two} on this {domain.type} domain, and it is too "
            "large to list; give a smaller one"
        )
    items = domain.databases()
    distances = canonical_matrix(domain, one)
    near = list(neighbour_pairs(domain, two, items))
    if not near:
        raise InputError(f"no two data sets of this domain are {two} neighbours")
    return max(float(distances[pair]) for pair in near)


def _closed(one: Granularity, two: Granularity, domain: Domain) -> float | None:
    if one == two or isinstance(one, FreeLunch):
        return 1.0
    if one.vacuous(domain):
        return math.inf  # no chain joins different data sets
    if isinstance(domain, MultisetDomain):
        if isinstance(one, Unbounded) and isinstance(two, Bounded):
            return 2.0
        if isinstance(two, Unbounded):
            return math.inf
        sizes_vary = domain.size is None
        if isinstance(one, Bounded):
            return math.inf if sizes_vary else domain.size
        return math.inf if domain.largest is None else None
    if isinstance(domain, TupleDomain) and isinstance(one, Bounded):
        return domain.length if isinstance(two, FreeLunch) else None
    if isinstance(one, Edge) and isinstance(two, FreeLunch):
        return len(domain.pairs)  # type: ignore[attr-defined]
    if isinstance(domain, UserDomain):
        return _users(one, two, domain)
    return _streams(one, two, domain) if isinstance(domain, StreamDomain) else None


def _users(one: Granularity, two: Granularity, domain: UserDomain) -> float | None:
    free = domain.points is None and domain.largest is None
    if isinstance(one, User):
        return None if isinstance(two, FreeLunch) else 1.0
    if isinstance(one, Element) and isinstance(two, User):
        several = len(one.clusters) > 1
        return float(len(one.clusters)) if free or not several else None
    if isinstance(one, Element) and isinstance(two, Trajectory) and free:
        return 2.0 if len(one.clusters) > 1 else 1.0  # a point may cross clusters
    if isinstance(one, Trajectory) and isinstance(two, User) and domain.points is not None:
        return domain.points if len(domain.atoms) > 1 else None
    return None


def _streams(one: Granularity, two: Granularity, domain: StreamDomain) -> float | None:
    users, steps = domain.users, domain.steps
    moves = [isinstance(g, Event) and g.change == "presence" for g in (one, two)]
    if any(moves) or (not domain.periodic and isinstance(two, User)):
        return None  # points appear and vanish: listed, or refused
    if isinstance(two, Event):
        return 1.0
    if isinstance(two, FreeLunch):
        return {Event: users * steps, User: users}.get(type(one))
    if isinstance(two, WEvent):
        width = min(two.w, steps)
        if isinstance(one, Event):
            return width
        if isinstance(one, WEvent):
            return math.ceil(width / one.w)
        if isinstance(one, User):
            return min(width, users)
        assert isinstance(one, LTrajectory)
        # each column starts a window of a user who has none open, while there is such a user
        return width // one.l * min(users, one.l) + min(width % one.l, users)
    own = steps if isinstance(two, User) else min(two.l, steps)  # type: ignore[attr-defined]
    if isinstance(one, Event):
        return own
    if isinstance(one, WEvent):
        # with gaps, successive points of a user may lie far apart
        spread = own if domain.periodic else steps
        return min(own, math.ceil(spread / one.w))
    return math.ceil(own / one.l) if isinstance(one, LTrajectory) else 1.0


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
