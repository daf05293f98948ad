"""From costs per unit of distance to a leakage: what all bounds on Gaussian records share.

Given what the adversary knows, moving the target by d shifts the law of every unknown record j of
its block by b_j d and changes nothing else. A mechanism whose log probabilities move by at most
``rate_j |x - x'|`` with record j therefore leaks at most

    cost_i * d,   cost_i = rate_i + sum_j |b_j| rate_j,

about two values of record i that lie d apart. The bounds differ in how they find the largest cost
over all adversaries; d is at most the width of the secret range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from corrdp.bounds.base import VISIBLE, Bound
from corrdp.errors import NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.models.gaussian.shapes import Shape
from corrdp.results import Certificate, Kind, Metric, Witness

EPS = float(np.finfo(float).eps)
_L1_PRIVATE = (
    "the mechanism is l1-private at the given rate per unit of each record: sums and means of "
    "clipped values with Laplace noise are, an arbitrary DP mechanism is not"
)


@dataclass(frozen=True, eq=False)
class Costs:
    """Largest leakage per unit of distance, and which records the worst adversary knows.

    Attributes
    ----------
    values : (k, m) array
        One row for each row of rates, one column for each target in the block.
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


def check_range(model: GaussianRecords) -> float:
    """Width of the secret range, or why nothing but the general bound holds without one."""
    if model.secret_range is None:
        raise NotApplicableError(
            "the model has no secret_range, so the target's two values may lie any distance apart: "
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
    target = int(per_record.argmax())
    low, high = model.secret_range
    assumptions = (
        _L1_PRIVATE,
        f"both values of the target lie in the secret range [{low:g}, {high:g}]; values further "
        "apart may leak as much as the epsilons of the block together",
        *extra,
    )
    # a clipped or rounded mechanism need not reach what an unclipped sum does
    # and near a singular covariance what rounding may have hidden is added, and seen
    sharp = attained and costs.slack <= VISIBLE
    exact = sharp and guarantee.epsilon is None and not rounding
    kind: Kind = "exact" if exact else "upper bound"
    return Bound(
        float(per_record[target]),
        kind,
        Certificate(*certificate, assumptions),
        per_record,
        _witness(model, target, costs),
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


def _witness(model: GaussianRecords, target: int, costs: Costs) -> Witness:
    if costs.known is None:
        return Witness(target, model.secret_range)
    records, _ = model.block(target)
    bits = int(costs.known[target])  # a whole number of Python: blocks may be long
    known = tuple((int(j) - target, "any") for k, j in enumerate(records) if bits >> k & 1)
    note = "the values of known records do not matter" if known else ""
    return Witness(target, model.secret_range, known, note)
