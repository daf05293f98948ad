"""Families with any number of children: a bound from parents, one child and two siblings alone.

    parent i, knowing the parents A and k children        child i, knowing A and k siblings
    -----------------------------------------------       ---------------------------------------
    each unknown child    at most |b(child on i | A)|      each unknown sibling  at most s / v
    each unknown parent q at most |b(q on i | A)|          each unknown parent q at most
        + k |b(child on i | A)| |b(q on child | A, i)|         |b(q on child | A)|

All coefficients on the right are those of a family with one child, whatever its size: the proof is
in gaussian-records#siblings.
"""

from __future__ import annotations

from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.gaussian.factors import Costs, metric_bound, rounding_slack, worst_costs
from corrdp.bounds.scope import Bound
from corrdp.errors import ModelError, NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.gaussian.shapes import DenseShape, Shape
from corrdp.models.gaussian.siblings import Siblings

if TYPE_CHECKING:
    from collections.abc import Iterable

SIBLINGS = ("regression", "siblings over a region (gaussian-records#siblings)")
_MOST_PARENTS = 12  # 2^12 sets of known parents

Known = frozenset[int]


def uncertain_siblings(
    model: GaussianRecords, guarantee: L1, confidence: float, *, rounding: float = 0.0
) -> Bound:
    """Bound on joined families that holds for every law which the data of the fit allow.

    Student intervals, all at once by Bonferroni's rule: the coefficients of a family with one
    child from each family's parents and first child, the siblings' correlation from the first two
    children. Families are independent, so these are exact whatever the families' sizes.

    Parameters
    ----------
    model : GaussianRecords
        Fitted with ``columns`` and ``group``, with a secret range.
    guarantee : L1
    confidence : float
        Joint level, such as .95.
    rounding : float
        Step of the grid to which the query rounds each record.

    References
    ----------
    gaussian-records#siblings.
    """
    fit = model.fitted
    assert fit is not None
    assert isinstance(fit.siblings, Siblings)
    m, pair = len(fit.columns), fit.siblings
    if fit.covariance is None or fit.complete <= m or pair.covariance is None or pair.pairs < 4:
        raise NotApplicableError(
            f"{fit.complete} families with all parents and a child, {pair.pairs} with two "
            f"children: a confidence needs at least {m + 1} and 4"
        )
    if m - 1 > _MOST_PARENTS:
        raise NotApplicableError(f"{m - 1} parents a family: at most {_MOST_PARENTS} can be tried")
    number = m * (m - 1) * 2.0 ** (m - 2) + 1.0
    alpha = (1.0 - confidence) / number
    try:
        law = DenseShape(fit.covariance, np.zeros(m))
        two = DenseShape(pair.covariance, np.zeros(2))
    except ModelError as error:
        raise NotApplicableError(f"the families allow no confidence: {error}") from None
    widths = student_radius(fit.complete - 1, m, alpha)
    slack = 1.0 + rounding_slack(law) + rounding_slack(two)
    upper = {key: b * slack for key, b in coefficients(law.cov, widths).items()}
    together = (
        coefficients(two.cov, student_radius(pair.pairs - 1, 2, alpha))[1, 0, frozenset()] * slack
    )

    def solve(shape: Shape, rates: np.ndarray, members: np.ndarray) -> Costs:
        roles = fit.shape_roles[next(k for k, s in enumerate(model.shapes) if s is shape)]
        return Costs(family_costs(upper, min(together, 1.0), m - 1, roles, rates))

    said = (
        f"the true regression coefficients lie in their joint {confidence:.4g} confidence region: "
        f"Student intervals from {fit.complete:,} families with their first child and "
        f"{pair.pairs:,} pairs of siblings, Bonferroni over {number:,.0f}, exact if families are "
        "independent and normal and their children exchangeable",
    )
    costs = worst_costs(model, guarantee, solve)
    return metric_bound(model, guarantee, costs, SIBLINGS, rounding=rounding, extra=said)


def student_radius(nu: int, m: int, alpha: float) -> np.ndarray:
    """Half width of Student's interval by number of known records, in residual deviations."""
    from scipy.special import stdtrit

    # with all others known nothing is left to estimate
    degrees = np.maximum(nu - np.arange(m) - 1.0, 1.0)
    return -stdtrit(degrees, alpha / 2.0) / np.sqrt(degrees)


def coefficients(cov: np.ndarray, radius: np.ndarray) -> dict[tuple[int, int, Known], float]:
    """``|b|`` of record j on record i with K known, for all (j, i, K), widened by the radius.

    ``(|S_ij| + radius_|K| sqrt(S_ii S_jj - S_ij^2)) / S_ii`` with S the covariance given K.

    Examples
    --------
    >>> found = coefficients(np.array([[4, 1], [1, 1.]]), np.zeros(2))
    >>> found[1, 0, frozenset()], found[0, 1, frozenset()]
    (0.25, 1.0)
    """
    m, out = len(cov), {}
    for known in _subsets(range(m), m - 2):
        rest = [k for k in range(m) if k not in known]
        given = list(known)
        left = cov[np.ix_(rest, rest)]
        if given:
            weights = np.linalg.solve(cov[np.ix_(given, given)], cov[np.ix_(given, rest)])
            left = left - cov[np.ix_(rest, given)] @ weights
        own = np.diag(left)
        spare = np.sqrt(np.maximum(np.outer(own, own) - left**2, 0.0))
        wide = (np.abs(left) + radius[len(given)] * spare) / own[:, None]
        for a, i in enumerate(rest):
            for b, j in enumerate(rest):
                if a != b:
                    out[j, i, frozenset(known)] = float(wide[a, b])
    return out


def family_costs(
    upper: dict[tuple[int, int, Known], float],
    together: float,
    child: int,
    roles: tuple[int, ...],
    rates: np.ndarray,
) -> np.ndarray:
    """Costs of all records of a family: the table at the top of this file, over all adversaries.

    Parameters
    ----------
    upper : dict
        Coefficients of a family with one child, as :func:`coefficients` gives them.
    together : float
        Correlation of two siblings, s / v.
    child : int
        The child's role in ``upper``; roles from it on are children.
    roles : tuple of int
        The family's: parents, then children.
    rates : (k, len(roles)) array

    Returns
    -------
    costs : (k, len(roles)) array
    """
    parents = [place for place, role in enumerate(roles) if role < child]
    born = rates[:, len(parents) :]
    number = born.shape[1]
    # sums of the 0, 1, .. largest rates of children: whom the adversary knows counts no more
    largest = np.cumsum(np.sort(born, axis=1)[:, ::-1], axis=1)
    largest = np.concatenate([np.zeros((len(rates), 1)), largest], axis=1)
    costs = np.zeros(rates.shape)
    for known in _subsets(parents, len(parents)):
        given = frozenset(roles[k] for k in known)
        unknown = [k for k in parents if k not in known]
        for i in unknown if not number else [*unknown, len(parents)]:
            others = [k for k in unknown if k != i]
            if i == len(parents):
                side = sum(upper[roles[q], child, given] * rates[:, q] for q in others)
                total = born.sum(axis=1, keepdims=True)
                found = born + together * (total - born) + np.reshape(side, (-1, 1))
                costs[:, i:] = np.maximum(costs[:, i:], found)
                continue
            own = roles[i]
            on_child = upper[child, own, given] if number else 0.0
            for k in range(number + 1):
                found = rates[:, i] + on_child * largest[:, number - k]
                for q in others:
                    through = k * on_child * upper[roles[q], child, given | {own}] if k else 0.0
                    found = found + (upper[roles[q], own, given] + through) * rates[:, q]
                costs[:, i] = np.maximum(costs[:, i], found)
    return costs


def _subsets(items: Iterable[int], most: int) -> Iterable[tuple[int, ...]]:
    kept = list(items)
    return chain.from_iterable(combinations(kept, size) for size in range(max(most, 0) + 1))
