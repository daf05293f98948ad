"""Factors from the largest correlation alone: lange and sharp (gaussian-records#gaussian-factors).

Both hold for blocks with **equal variances** only, and for correlations below 1/(n-2).

From costs per unit of distance to a leakage: what all bounds on Gaussian records share.

Given what the adversary knows, moving the attacked record by d shifts the law of every unknown
record j of its block by b_j d and changes nothing else. A mechanism whose log probabilities
move by at most ``rate_j |x - x'|`` with record j therefore leaks at most

    cost_i * d,   cost_i = rate_i + sum_j |b_j| rate_j,

about two values of record i that lie d apart. The bounds differ in how they find the largest cost
over all adversaries; d is at most the width of the secret range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_array, check_number, check_whole
from corrdp.bounds.scope import VISIBLE, Bound, Scope, up
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.gaussian.shapes import Shape, SparseShape
from corrdp.queries import Sum
from corrdp.results import Certificate, Kind, Metric, Witness

EPS = float(np.finfo(float).eps)
L1_PRIVATE = (
    "the mechanism is l1-private at the given rate per unit of each record: sums and means of "
    "clipped values with Laplace noise are, an arbitrary DP mechanism is not"
)


@dataclass(frozen=True, eq=False)
class Costs:
    """Largest leakage per unit of distance, and which records the worst adversary knows.

    Attributes
    ----------
    values : (k, m) array
        One row for each row of rates, one column for each attacked record of the block.
    known : (k, m) array of int or None
        Bit j is set where the worst adversary knows record j of the block.
    slack : float
        Relative share that was added for rounding.
    """

    values: np.ndarray
    known: np.ndarray | None = None
    slack: float = 0.0


Solver = Callable[[Shape, np.ndarray, np.ndarray], Costs]


def rounding_slack(shape: Shape) -> float:
    """Relative error that rounding can make in regression coefficients: 16 m eps cond."""
    return 16.0 * shape.size * EPS * shape.condition


def worst_costs(model: GaussianRecords, guarantee: L1, solve: Solver) -> Costs:
    """Cost of every record: each distinct pair of a shape and its rates is solved once.

    Parameters
    ----------
    model : GaussianRecords
    guarantee : L1
    solve : function of a shape, rows of rates (k, m) and the records of its first block

    Returns
    -------
    Costs
        With one entry per record instead of rows.
    """
    rates = guarantee.rates(len(model.block_of_record))
    values, known = np.empty(len(rates)), np.zeros(len(rates), dtype=np.int64)
    told, slack = True, 0.0
    for number, shape in enumerate(model.shapes):
        members = model.members(number)
        if guarantee.is_vector:
            rows, which = np.unique(rates[members], axis=0, return_inverse=True)
        else:
            rows, which = rates[members[:1]], np.zeros(len(members), dtype=np.int64)
        found = solve(shape, np.ascontiguousarray(rows), members[0])
        values[members] = found.values[which.reshape(-1)]
        slack = max(slack, found.slack)
        if found.known is None:
            told = False
        else:
            known[members] = found.known[which.reshape(-1)]
    return Costs(values, known if told else None, slack)


def by_distance(model: GaussianRecords, scope: Scope) -> tuple[L1, float]:
    """The l1 guarantee of a scope, and the grid to which its query rounds each record."""
    check_range(model)
    if isinstance(scope.guarantee, L1):
        return scope.guarantee, scope.query.base_grid if isinstance(scope.query, Sum) else 0.0
    raise NotApplicableError(
        "it is about l1-private mechanisms, such as Laplace noise on a clipped sum or mean; "
        "Pure(epsilon), a count and a histogram say nothing about how near values are told apart"
    )


def check_range(model: GaussianRecords) -> float:
    """Width of the secret range, or why nothing but the general bound holds without one."""
    if model.secret_range is None:
        raise NotApplicableError(
            "the model has no secret_range, so two values of a record may lie any distance apart: "
            "they then drag every record of the block beyond opposite ends of the clipping range, "
            "and the epsilons of the block add up. Give secret_range=(lower, upper), "
            "fit --secret-range LOW:HIGH"
        )
    low, high = model.secret_range
    return float(np.nextafter(high - low, np.inf))


def metric_bound(
    model: GaussianRecords,
    guarantee: L1,
    costs: Costs,
    certificate: tuple[str, str],
    *,
    rounding: float = 0.0,
    attained: bool = False,
    extra: tuple[str, ...] = (),
) -> Bound:
    """``min(epsilons of the block, width of the secret range * cost_i + rounding)`` per record.

    Parameters
    ----------
    model : GaussianRecords
    guarantee : L1
    costs : Costs
        Per record, rounded up.
    certificate : pair of str
        Name and reference.
    rounding : float
        Step of the grid to which a query rounds each record: rounding is not Lipschitz, so every
        record of the block may move one further step.
    attained : bool
        Whether some l1-private mechanism attains the costs.
    extra : tuple of str
        Further assumptions.
    """
    width = check_range(model)
    assert model.secret_range is not None
    block, n = model.block_of_record, len(model.block_of_record)
    added = np.bincount(block, weights=guarantee.rates(n)) * rounding
    ceilings = np.bincount(block, weights=guarantee.vector(n))[block]
    slopes = np.nextafter(costs.values, np.inf)
    per_record = np.minimum(ceilings, np.nextafter(width * slopes + added[block], np.inf))
    record = int(per_record.argmax())
    low, high = model.secret_range
    assumptions = (
        L1_PRIVATE,
        f"both values of the attacked record lie in the secret range [{low:g}, {high:g}]; values "
        "further apart may leak as much as the epsilons of the block together",
        *extra,
    )
    # a clipped or rounded mechanism need not reach what an unclipped sum does
    # and near a singular covariance what rounding may have hidden is added, and seen
    sharp = attained and costs.slack <= VISIBLE
    exact = sharp and guarantee.epsilon is None and not rounding
    kind: Kind = "exact" if exact else "upper bound"
    return Bound(
        float(per_record[record]),
        kind,
        Certificate(*certificate, assumptions),
        per_record,
        _witness(model, record, costs),
        Metric(_pieces(slopes, ceilings), float(added.max())),
    )


def _pieces(slopes: np.ndarray, ceilings: np.ndarray) -> tuple[tuple[float, float], ...]:
    """The pairs (slope, ceiling) that no other pair dominates."""
    distinct, which = np.unique(slopes, return_inverse=True)
    tops = np.zeros(len(distinct))
    np.maximum.at(tops, which, ceilings)
    kept: list[tuple[float, float]] = []
    for slope, ceiling in zip(distinct[::-1].tolist(), tops[::-1].tolist(), strict=True):
        if not kept or ceiling > kept[-1][1]:
            kept.append((slope, ceiling))
    return tuple(kept)


def _witness(model: GaussianRecords, record: int, costs: Costs) -> Witness:
    if costs.known is None:
        return Witness(record, model.secret_range)
    records, _ = model.block(record)
    bits = int(costs.known[record])  # a whole number of Python: blocks may be long
    known = tuple((int(j) - record, "any") for k, j in enumerate(records) if bits >> k & 1)
    note = "the values of known records do not matter" if known else ""
    return Witness(record, model.secret_range, known, note)


_UNKNOWN = 1e150  # a deviation beyond tells nothing, and its square overflows
_EQUAL = 1e-9  # relative difference of standard deviations that still counts as equal


def unsure_factor(covariance: Any, record: int, spread: Any) -> float:
    r"""Leakage over epsilon of a noisy sum, to who knows the other records with noise on them.

    .. math:: \frac{\big|\sum_j C_{ij}\big|}{C_{ii}}, \qquad
              C = \Sigma - \Sigma_{\cdot K} (\Sigma_{KK} + D)^{-1} \Sigma_{K \cdot}

    where

    - Sigma is the covariance of normal records, i the record attacked, K the others,
    - D is diagonal: the variance of the noise on what he knows of each; 0 where he knows it for
      sure, inf where he knows nothing.

    What he sees of the others moves the sum by a fixed amount; given it, the sum less the record's
    own part is a normal law around a mean that moves with the record by C_ij / C_ii for each j.
    With D of zeros and infinities these are the adversaries of :func:`corrdp.leakage`.

    Parameters
    ----------
    covariance : (n, n) array
    record : int
    spread : float or (n,) array
        Standard deviation of the noise on what he knows of each record; that of the record itself
        is not used.

    References
    ----------
    Yang, Sato, Nakagawa, SIGMOD 2015, whose remedy for strong dependence is prior knowledge that is
    uncertain; gaussian-records#uncertain-knowledge.

    Examples
    --------
    >>> alike = np.full((4, 4), .5) + .5 * np.eye(4)
    >>> [round(unsure_factor(alike, 0, s), 3) for s in (0.0, 1.0, np.inf)]
    [1.0, 1.667, 2.5]
    """
    law = check_array("covariance", covariance)
    n = len(law) if law.ndim == 2 else 0
    if not n or law.shape != (n, n) or not (np.abs(law) < _UNKNOWN).all():
        raise InputError(f"covariance is a square of finite numbers, got shape {law.shape}")
    record = check_whole("record", record, 0, n - 1)
    noise = check_array("spread", spread)
    if noise.shape not in ((), (n,)) or not (noise >= 0).all():
        raise InputError(f"spread holds standard deviations >= 0 (inf for unknown), got {spread!r}")
    noise = np.broadcast_to(noise, n)
    seen = np.array([j for j in range(n) if j != record and noise[j] < _UNKNOWN], dtype=int)
    left = law.copy()
    if len(seen):
        inner = law[np.ix_(seen, seen)] + np.diag(noise[seen] ** 2)
        try:
            left -= law[:, seen] @ np.linalg.solve(inner, law[seen])
        except np.linalg.LinAlgError:
            raise InputError("covariance must be positive definite") from None
    if not left[record, record] > 0:
        raise InputError("covariance must leave the record a variance > 0, given the others")
    return up(float(abs(left[record].sum()) / left[record, record]))


def _check(n: int, rho: float) -> None:
    check_whole("n", n)
    check_number("rho, the largest absolute correlation,", rho, least=0, most=1)
    if n >= 3 and rho * (n - 2) >= 1:
        raise NotApplicableError(
            f"correlations up to {rho:.6g} are too strong for {n:,} records: these factors need "
            f"less than 1/(n-2) = {1 / (n - 2):.6g}; use regression or comparison"
        )


def lange_factor(n: int, rho: float) -> float:
    """``F(n, rho) = n^2 / (4 (1/rho - n + 2)) + 1``; 1 + rho for two records.

    Parameters
    ----------
    n : int
        Records in the block, all of one variance.
    rho : float
        Largest absolute correlation of two of them, below 1/(n-2).

    References
    ----------
    Lange, master thesis (2024), theorem 6.2.

    Examples
    --------
    >>> round(lange_factor(3, .275), 6)
    1.853448
    """
    _check(n, rho)
    if n == 1 or rho == 0:
        return 1.0
    return n * n * rho / (4.0 * (1.0 - (n - 2) * rho)) + 1.0


def sharp_factor(n: int, rho: float) -> float:
    """``F*(n, rho) = 1 + max((n-1) rho, rho / (1 - (n-2) rho))``, never above :func:`lange_factor`.

    The exact worst case for rho <= 1/(n-1), attained by equal correlations.

    Parameters
    ----------
    n : int
    rho : float

    References
    ----------
    gaussian-records#gaussian-factors.

    Examples
    --------
    >>> round(sharp_factor(3, .275), 6)
    1.55
    """
    _check(n, rho)
    if n == 1:
        return 1.0
    return 1.0 + max((n - 1) * rho, rho / (1.0 - (n - 2) * rho))


def lange_threshold(n: int) -> float:
    """Largest rho for which :func:`lange_factor` is at most n, the general bound.

    ``(n-1) / (5 n^2 / 4 - 3 n + 2)``

    Examples
    --------
    >>> round(lange_threshold(5), 6)
    0.219178
    """
    if n < 3:
        raise InputError(f"the threshold is for n >= 3 records, got {n!r}")
    return (n - 1) / (5.0 * n * n / 4.0 - 3.0 * n + 2.0)


def largest_rho(n: int, h: float, method: Literal["lange", "sharp"] = "sharp") -> float:
    """Largest correlation at which the factor of ``method`` is h.

    lange: ``1 / (n^2 / (4 (h-1)) + n - 2)``; sharp: ``(h-1)/(n-1)`` for h <= 2, and
    ``(h-1) / (1 + (n-2)(h-1))`` above. Noise then grows h-fold against independent records.

    Parameters
    ----------
    n : int
        At least 3.
    h : float
        Above 1.
    method : {"lange", "sharp"}

    References
    ----------
    Lange, master thesis (2024), corollary 6.5; gaussian-records#gaussian-factors.

    Examples
    --------
    >>> round(largest_rho(10, 2, "lange"), 6), round(largest_rho(10, 2), 6)
    (0.030303, 0.111111)
    """
    if n < 3 or not h > 1:
        raise InputError(f"need n >= 3 and h > 1, got n={n!r}, h={h!r}")
    if method == "lange":
        return 1.0 / (n * n / (4.0 * (h - 1.0)) + n - 2.0)
    if method != "sharp":
        raise InputError(f'method must be "lange" or "sharp", got {method!r}')
    return (h - 1.0) / (n - 1.0) if h <= 2 else (h - 1.0) / (1.0 + (n - 2.0) * (h - 1.0))


def by_factor(
    name: str, factor: Callable[[int, float], float]
) -> Callable[[Shape, np.ndarray, np.ndarray], Costs]:
    def solve(shape: Shape, rates: np.ndarray, records: np.ndarray) -> Costs:
        rho = largest_correlation(name, shape, records)
        # near 1/(n-2) the factor magnifies the rounding of rho, which is rounded up already
        worst = up(factor(shape.size, rho), 16.0 * EPS)
        return Costs(np.repeat(rates.max(axis=1, keepdims=True) * worst, shape.size, axis=1))

    return solve


def largest_correlation(name: str, shape: Shape, records: np.ndarray) -> float:
    """Largest absolute correlation in a block, rounded up, after a check of equal variances."""
    if shape.size == 1:
        return 0.0
    try:
        deviations, correlation = shape.deviations, shape.correlation
    except ModelError as error:
        raise NotApplicableError(f"{name} needs the correlations of all pairs: {error}") from None
    least, most = float(deviations.min()), float(deviations.max())
    if most - least > _EQUAL * most:
        shown = ", ".join(f"{s:.4g}" for s in deviations[:6]) + (", .." if shape.size > 6 else "")
        raise NotApplicableError(
            f"{name} needs equal variances, and the records {_span(records)} have standard "
            f"deviations {shown}: with unequal ones the factor can be exceeded; use regression or "
            "comparison"
        )
    rho = float(np.abs(correlation - np.eye(shape.size)).max())
    slack = rounding_slack(shape) if isinstance(shape, SparseShape) else 8.0 * EPS
    # standard deviations that are equal only to _EQUAL leave that much in the coefficients
    return min(up(rho, slack + 2.0 * (most - least) / least), 1.0)


def _span(records: np.ndarray) -> str:
    shown = ", ".join(str(int(k)) for k in records[:6])
    return shown if len(records) <= 6 else f"{shown}, .."
