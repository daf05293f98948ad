"""Bounds on Gaussian records: each turns an l1 rate into a leakage over a secret range.

    regression   every adversary is tried; blocks of at most 20 records       exact
    positive     positive dependence: knowing nothing is worst                exact
    comparison   any dependence whose comparison matrix is positive definite
    forgetting   sparse precisions of any signs, smooth fields among them
    sharp        equal variances, largest correlation below 1/(n-2)
    lange        the same, as published
    signed       one unclipped sum                                            exact
    estimate     one clipped sum, one adversary, numerically                  no bound

How each finds its costs is in the files beside this one.
"""

from __future__ import annotations

import numpy as np

from corrdp.bounds.gaussian.clipped import clipped_estimate
from corrdp.bounds.gaussian.comparison import coefficient_costs, comparison_costs, positive_costs
from corrdp.bounds.gaussian.factors import (
    Costs,
    by_distance,
    by_factor,
    lange_factor,
    metric_bound,
    sharp_factor,
    worst_costs,
)
from corrdp.bounds.gaussian.forgetting import forgetting_costs, heights, needs_heights
from corrdp.bounds.gaussian.siblings import student_radius, uncertain_siblings
from corrdp.bounds.registry import bound
from corrdp.bounds.scope import Bound, Scope
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.gaussian.shapes import DenseShape, Shape, SparseShape
from corrdp.models.gaussian.siblings import Siblings
from corrdp.queries import Sum
from corrdp.results import Certificate, Witness

REGRESSION = ("regression", "Lange (2024), proposition 6.1 (gaussian-records#regression)")
POSITIVE = ("positive", "theorem gaussian-records#comparison")
COMPARISON = ("comparison", "theorem gaussian-records#comparison")
FORGETTING = ("forgetting", "theorem gaussian-records#forgetting")
SHARP = ("sharp", "theorem gaussian-records#gaussian-factors")
LANGE = ("lange", "Lange (2024), theorem 6.2 (gaussian-records#gaussian-factors)")
SIGNED = ("signed", "theorem gaussian-records#signed-sums")
UNCERTAIN = ("regression", "proposition 6.1 over a region (gaussian-records#gaussian-confidence)")
ESTIMATE = ("estimate", "numerical integration (gaussian-records#regression)")
ONE_SUM = (
    "the mechanism is this one sum of unclipped values with Laplace noise: the value does not hold "
    "after clipping, nor for another sum"
)


@bound("regression", on=GaussianRecords, given=by_distance)
def regression(model: GaussianRecords, guarantee: L1, rounding: float = 0.0) -> Bound:
    """Largest regression cost over all attacked records and all adversaries, block by block.

    ``leakage_i = M max_K (rate_i + sum_{j in U} |b_j| rate_j)``, at most the block's epsilons

    where

    * K are the records that the adversary knows, U the others of the block besides record i,
    * b_j is the coefficient of record j in the regression on record i with K held fixed,
    * M is the width of the secret range.

    Exact for l1 rates without a DP level: a Laplace sum of unclipped records with the signs of
    the b_j attains it.

    Parameters
    ----------
    model : GaussianRecords
        With a secret range and blocks of at most 20 records (2^m m^2 steps for a block of m).
    guarantee : L1
    rounding : float
        Step of the grid to which the query rounds each record.

    References
    ----------
    Lange, master thesis (2024), proposition 6.1.

    Examples
    --------
    >>> family = GaussianRecords([[4, 1, 1.2], [1, 4, .8], [1.2, .8, 4]], secret_range=(0, 10))
    >>> found = regression(family, L1(.1))
    >>> round(found.value, 6), found.kind, str(found.witness)
    (1.55, 'exact', 'record 0, 0.0 against 10.0, knowing no other record')
    """
    costs = worst_costs(model, guarantee, lambda shape, rates, _: coefficient_costs(shape, rates))
    return metric_bound(model, guarantee, costs, REGRESSION, rounding=rounding, attained=True)


def _with_confidence(model: GaussianRecords, scope: Scope) -> tuple[L1, float | None, float]:
    guarantee, rounding = by_distance(model, scope)
    return guarantee, scope.confidence, rounding


@bound("regression", on=GaussianRecords, confidence=True, given=_with_confidence)
def uncertain_regression(
    model: GaussianRecords, guarantee: L1, confidence: float, rounding: float = 0.0
) -> Bound:
    """Regression bound that holds for every covariance which the data of the fit allow.

    ``|b_j| <= |bhat_j| + t sqrt(S_jj|K,i / S_ii|K) / sqrt(df)`` for all records i and j and
    adversaries K at once

    where

    * S is the covariance of the complete blocks, without shrinkage, nu their number minus one,
    * df = nu - |K| - 1, and t is the 1 - alpha/(2 N) quantile of Student's law with df degrees,
    * N = m (m - 1) 2^(m - 2) is the number of coefficients (Bonferroni), alpha = 1 - confidence.

    Families whose siblings were joined have their own region: :func:`uncertain_siblings`.

    Parameters
    ----------
    model : GaussianRecords
        A fitted one, with a secret range.
    guarantee : L1
    confidence : float
        Joint level, such as .95.
    rounding : float
        Step of the grid to which the query rounds each record.

    References
    ----------
    gaussian-records#gaussian-confidence.

    Examples
    --------
    >>> pairs = np.random.default_rng(1).multivariate_normal([0, 0], [[1, .5], [.5, 1]], 400)
    >>> model = GaussianRecords.fit(pairs, secret_range=(0, 1))
    >>> round(regression(model, L1(1.0)).value, 3)
    1.5
    >>> round(uncertain_regression(model, L1(1.0), .95).value, 3)
    1.603
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, such as .95; got {confidence!r}")
    fit = model.fitted
    if fit is None:
        raise InputError("confidence needs a model that was fitted: GaussianRecords.fit(...)")
    if isinstance(fit.siblings, Siblings):
        return uncertain_siblings(model, guarantee, confidence, rounding=rounding)
    m, nu = len(fit.roles), fit.complete - 1
    if fit.covariance is None or nu < m:
        raise NotApplicableError(
            f"{fit.complete} complete blocks do not bound the coefficients of {m} roles; a "
            f"confidence needs at least {m + 1}"
        )
    number = max(m * (m - 1) * 2.0 ** (m - 2), 1.0)
    radius = student_radius(nu, m, (1.0 - confidence) / number)
    laws = {}
    try:
        for shape, roles in zip(model.shapes, fit.shape_roles, strict=True):
            part = fit.covariance[np.ix_(roles, roles)]
            laws[id(shape)] = DenseShape(part, np.zeros(len(roles)))
    except ModelError as error:
        raise NotApplicableError(f"the complete blocks allow no confidence: {error}") from None

    def solve(shape: Shape, rates: np.ndarray, _: np.ndarray) -> Costs:
        return coefficient_costs(laws[id(shape)], rates, radius)

    said = (
        f"the true regression coefficients lie in their joint {confidence:.4g} confidence region: "
        f"Student intervals around the estimates from {fit.complete:,} complete blocks, Bonferroni "
        f"over all {number:,.0f} coefficients, exact if the blocks are independent and normal",
    )
    costs = worst_costs(model, guarantee, solve)
    return metric_bound(model, guarantee, costs, UNCERTAIN, rounding=rounding, extra=said)


@bound("comparison", on=GaussianRecords, given=by_distance)
def comparison(model: GaussianRecords, guarantee: L1, rounding: float = 0.0) -> Bound:
    """``leakage_i <= M sum_j rate_j (C^-1)_ij / (C^-1)_ii``, at most the block's epsilons.

    where

    * C is the comparison matrix of the precision (inverse covariance) of the block: the diagonal
      kept, off-diagonal entries replaced by minus their absolute value; it must be positive
      definite,
    * M is the width of the secret range.

    A sparse precision (:meth:`GaussianRecords.ar1`, :meth:`GaussianRecords.from_precision`) takes
    about six times its factorisation: a fraction of a second for 10^5 records of an
    autoregression, O(n), a few seconds for those of a grid, O(n^1.5). A covariance takes O(n^3):
    a second for 1,000 records a block, a minute for 5,000, which is the most.

    Values are rounded up by what rounding can do, 16 n eps times condition numbers: 1e-13 in small
    blocks, but 1e-4 for a full covariance of 2,000 strongly correlated records.

    Parameters
    ----------
    model : GaussianRecords
    guarantee : L1
    rounding : float
        Step of the grid to which the query rounds each record.

    References
    ----------
    gaussian-records#comparison.

    Examples
    --------
    >>> chain = GaussianRecords.ar1(100_000, .9, secret_range=(0, 1))
    >>> round(comparison(chain, L1(1.0)).value, 6)
    19.0
    """
    costs = worst_costs(model, guarantee, comparison_costs)
    return metric_bound(model, guarantee, costs, COMPARISON, rounding=rounding)


@bound("positive", on=GaussianRecords, given=by_distance)
def positive(model: GaussianRecords, guarantee: L1, rounding: float = 0.0) -> Bound:
    """``leakage_i = M sum_j rate_j |cov_ij| / cov_ii``: the adversary who knows nothing is worst.

    where M is the width of the secret range. It holds when the precision has no positive entry off
    its diagonal, if need be after flipping the signs of some records: autoregressions, equal
    positive correlations, Gaussian Markov fields without frustration. Non-negative correlations
    are not enough.

    The value is computed as that of :func:`comparison`, which it equals, so that it remains an
    upper bound when entries of a computed inverse have the wrong sign by rounding; it costs and
    scales the same.

    Parameters
    ----------
    model : GaussianRecords
    guarantee : L1
    rounding : float
        Step of the grid to which the query rounds each record.

    References
    ----------
    gaussian-records#comparison.

    Examples
    --------
    >>> six = GaussianRecords.equicorrelated(6, .5, secret_range=(0, 1))
    >>> found = positive(six, L1(1.0))
    >>> round(found.value, 6), found.kind
    (3.5, 'exact')
    """
    costs = worst_costs(model, guarantee, positive_costs)
    return metric_bound(model, guarantee, costs, POSITIVE, rounding=rounding, attained=True)


@bound("forgetting", on=GaussianRecords, given=by_distance)
def forgetting(model: GaussianRecords, guarantee: L1, rounding: float = 0.0) -> Bound:
    """``leakage_i <= M (rate_i + sqrt(sum_j rate_j^2 (D_i / D_j) (1/delta - 1) / w_ij))``.

    where

    * D is the diagonal of a sparse precision, and j runs over the other records of the block,
    * w_ij is the mean of ``cosh(2 phi_j - 2 phi_i)`` over two heights phi of the records, which
      grow with the distance from one end of the field and from one side of it,
    * delta > 0 is such that the precision with entries times ``cosh(phi_j - phi_k)`` stays above
      delta D; slope and delta are found and proved by about ten factorisations,
    * M is the width of the secret range.

    For smooth fields, whose precision has entries of both signs: where the field forgets, the value
    does not grow with n. Blocks of at most 20 records, and those of positive dependence, keep their
    exact costs. A grid of 10^5 records takes half a minute.

    Parameters
    ----------
    model : GaussianRecords
        From :meth:`GaussianRecords.from_precision`, with a secret range.
    guarantee : L1
    rounding : float
        Step of the grid to which the query rounds each record.

    References
    ----------
    gaussian-records#forgetting.

    Examples
    --------
    >>> from scipy.sparse import diags_array
    >>> line = diags_array([-1., 2.5, -1.], offsets=[-1, 0, 1], shape=(2000, 2000))
    >>> smooth = GaussianRecords.from_precision(line @ line, secret_range=(0, 1))
    >>> found = forgetting(smooth, L1(1.0))
    >>> round(found.value, 1), found.kind
    (16.7, 'upper bound')
    """
    sought = [shape for shape in model.shapes if needs_heights(shape)]
    if not sought:
        raise NotApplicableError(
            "regression or positive is exact for every block: all have at most 20 records or "
            "positive dependence"
        )
    costs = worst_costs(model, guarantee, forgetting_costs)
    proved = [heights(shape) for shape in sought if isinstance(shape, SparseShape)]
    slope = min(float(found.slopes.min()) for found in proved)
    delta = min(float(found.deltas.min()) for found in proved)
    said = (
        "the influence of a record dies off with the distance, as the precision says: with heights "
        f"of {slope:.3g} a step it keeps {delta:.3g} of its diagonal (proved, not estimated)",
    )
    return metric_bound(model, guarantee, costs, FORGETTING, rounding=rounding, extra=said)


@bound("lange", on=GaussianRecords, given=by_distance)
def lange(model: GaussianRecords, guarantee: L1, rounding: float = 0.0) -> Bound:
    """``F(n, rho) * rate * M`` for blocks of n records with equal variances.

    where rho is the largest absolute correlation in the block, ``rate`` the largest rate and M the
    width of the secret range; F is :func:`corrdp.bounds.gaussian.factors.lange_factor`.

    References
    ----------
    Lange, master thesis (2024), theorem 6.2 and proposition 6.4.

    Examples
    --------
    >>> family = GaussianRecords.equicorrelated(3, .275, secret_range=(60, 80))
    >>> round(lange(family, L1(1 / 20, epsilon=1.0)).value, 6)
    1.853448
    """
    costs = worst_costs(model, guarantee, by_factor("lange", lange_factor))
    return metric_bound(model, guarantee, costs, LANGE, rounding=rounding)


@bound("sharp", on=GaussianRecords, given=by_distance)
def sharp(model: GaussianRecords, guarantee: L1, rounding: float = 0.0) -> Bound:
    """``F*(n, rho) * rate * M`` for blocks of n records with equal variances.

    As :func:`lange`, with :func:`corrdp.bounds.gaussian.factors.sharp_factor`.

    References
    ----------
    gaussian-records#gaussian-factors.

    Examples
    --------
    >>> family = GaussianRecords.equicorrelated(3, .275, secret_range=(60, 80))
    >>> round(sharp(family, L1(1 / 20, epsilon=1.0)).value, 6)
    1.55
    """
    costs = worst_costs(model, guarantee, by_factor("sharp", sharp_factor))
    return metric_bound(model, guarantee, costs, SHARP, rounding=rounding)


def _unclipped(model: GaussianRecords, scope: Scope) -> tuple[L1]:
    if scope.query is not None:
        raise NotApplicableError("signed is for sums that are not clipped, and every query clips")
    return by_distance(model, scope)[:1]


@bound("signed", on=GaussianRecords, given=_unclipped)
def signed(model: GaussianRecords, guarantee: L1, *, weights: np.ndarray | None = None) -> Bound:
    """Exact leakage of one unclipped weighted sum with Laplace noise.

    ``leakage_i = M max_K |c_i + sum_{j in U} c_j b_j|``

    where

    * c_j is ``rate_j * weights_j``: the sum of c_j x_j plus Laplace noise of scale 1,
    * K, U, b_j and M are those of :func:`regression`.

    Parameters
    ----------
    model : GaussianRecords
    guarantee : L1
        Its epsilon plays no role: an unclipped sum has no DP level.
    weights : (n,) array, optional
        1 for every record when left out, the plain sum.

    References
    ----------
    gaussian-records#signed-sums.

    Examples
    --------
    >>> pair = GaussianRecords([[1, -.5], [-.5, 1]], secret_range=(0, 1))
    >>> round(signed(pair, L1(1.0)).value, 6), round(regression(pair, L1(1.0)).value, 6)
    (1.0, 1.5)
    """
    n = len(model.block_of_record)
    signs = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if signs.shape != (n,) or not np.isfinite(signs).all():
        raise InputError(f"weights must be {n} finite numbers, one per record")
    terms = guarantee.rates(n) * signs
    values, known, slack = np.empty(n), np.zeros(n, dtype=np.int64), 0.0
    for number, shape in enumerate(model.shapes):
        members = model.members(number)
        rows, which = np.unique(terms[members], axis=0, return_inverse=True)
        found = coefficient_costs(shape, rows, signed=True)
        assert found.known is not None
        values[members] = found.values[which.reshape(-1)]
        known[members] = found.known[which.reshape(-1)]
        slack = max(slack, found.slack)
    rate_only = L1(guarantee.rate)
    costs = Costs(values, known, slack)
    return metric_bound(model, rate_only, costs, SIGNED, attained=True, extra=(ONE_SUM,))


def _clipped(model: GaussianRecords, scope: Scope) -> tuple[L1, Sum]:
    if not isinstance(scope.query, Sum):
        raise NotApplicableError("estimate works out one clipped sum or mean: give query=Sum(...)")
    return by_distance(model, scope)[0], scope.query


@bound("estimate", on=GaussianRecords, given=_clipped)
def estimate(model: GaussianRecords, guarantee: L1, query: Sum) -> Bound:
    """Leakage of one clipped Laplace sum to the worst adversary of :func:`regression`. No bound.

    The adversary's known records are at their means and the attacked one at one end or the other of
    the secret range; see :func:`~corrdp.bounds.gaussian.clipped.clipped_estimate`. Another
    adversary may learn more.

    Parameters
    ----------
    model : GaussianRecords
    guarantee : L1
        Of the query's noise; every record must be read alike.
    query : Sum

    Examples
    --------
    >>> pair = GaussianRecords([[225, 101.25], [101.25, 225]], 100, secret_range=(40, 160))
    >>> found = estimate(pair, L1(1 / 120, epsilon=1.0), Sum(40, 160))
    >>> round(found.value, 4), found.kind
    (1.4495, 'estimate')
    """
    if guarantee.is_vector:
        raise NotApplicableError("estimate works out a sum over all records, read alike")
    worst = regression(model, guarantee)
    assert worst.witness is not None
    assert worst.witness.record is not None
    assert model.secret_range is not None
    record, mean = worst.witness.record, model.mean
    known = {record + offset: float(mean[record + offset]) for offset, _ in worst.witness.known}
    level = float(guarantee.rate) * query.width
    value = clipped_estimate(
        model, query, level, record=record, values=model.secret_range, known=known
    )
    said = (
        "numerical value for one adversary, known records at their means, and for one release of "
        f"the {query}; other adversaries may learn more",
    )
    witness = Witness(
        record,
        model.secret_range,
        tuple((r - record, round(v, 6)) for r, v in known.items()),
    )
    return Bound(value, "estimate", Certificate(*ESTIMATE, said), witness=witness)
