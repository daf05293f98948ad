"""The level of a plan in the unit of a claim: pure releases imply a Gaussian level."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from corrdp.accounting.plan import Claim, Plan
from corrdp.accounting.totals import Total

_ROWS = 4096  # kinds of neighbours that are looked at together


def mu_of(epsilon: np.ndarray | float) -> np.ndarray:
    r"""The least mu such that every epsilon-DP mechanism is mu-GDP.

    .. math:: \mu = -2\,\Phi^{-1}\!\left(\frac{1}{1 + e^\varepsilon}\right)
                  = 2 \sqrt 2\, \mathrm{erf}^{-1}(\tanh(\varepsilon / 2))

    where Phi is the normal distribution function: both curves have their fixed point at
    1 / (1 + e^epsilon) then, and a convex curve lies below its chords.

    Parameters
    ----------
    epsilon : float or array
        May be inf.

    References
    ----------
    docs/theorems.md#the-gaussian-level-of-a-pure-one.

    Examples
    --------
    >>> mu_of(.5).round(6).item()
    0.623893
    """
    from scipy.special import erfinv, ndtri_exp

    given = np.asarray(epsilon, dtype=float)
    # each form where it loses no digits: near 1/2, and far out
    near = math.sqrt(8.0) * erfinv(np.tanh(np.minimum(given, 2.0) / 2))
    far = -2.0 * ndtri_exp(-np.logaddexp(0.0, np.maximum(given, 2.0)))
    return np.where(given <= 2.0, near, np.where(np.isinf(given), np.inf, far))


def level_at(plan: Plan, claim: Claim) -> float:
    """The level of a plan in the unit of a claim; inf where it has none.

    Parameters
    ----------
    plan : Plan
        With the target of the claim as its only one.
    claim : Claim

    Examples
    --------
    >>> from corrdp.accounting.step import Step
    >>> from corrdp.metric.domains import MultisetDomain
    >>> plan = Plan(MultisetDomain(("a", "b")), [Step("x", .5)], ["bounded"])
    >>> round(level_at(plan, Claim("bounded", 1.0, "gaussian")), 6)
    0.623893
    """
    from corrdp.accounting.account import account

    totals = account(plan).totals
    others = [t for t in totals if t.notion != claim.notion and t.value > 0]
    if not others:
        return max((t.value for t in totals if t.notion == claim.notion), default=0.0)
    # Gaussian noise and curves have no pure epsilon
    return implied_mu(plan, totals) if claim.notion == "gaussian" else math.inf


def implied_mu(plan: Plan, totals: Sequence[Total]) -> float:
    r"""The mu of pure and Gaussian releases together; inf where no theorem gives one.

    .. math:: \mu^2 = \max_{D \sim D'} \sum_i m_i^2 + \sum_j \mu(e_j)^2

    where m_i and e_j are the losses of the Gaussian and of the pure releases between D and D', and
    mu(e) is that of :func:`mu_of`.

    Parameters
    ----------
    plan : Plan
        With one target.
    totals : sequence of Total
        Those of the plan at its target.
    """
    from corrdp.accounting.account import losses_of

    notions = np.array([step.notion for step in plan.steps])
    if "tradeoff" in notions:
        return math.inf
    if any(step.flags.map_depends_on_outputs for step in plan.steps):
        # that losses add up along paths of outputs is proved for pure releases alone
        return math.inf if "gaussian" in notions else float(mu_of(totals[0].value))
    pure, worst = notions == "pure", 0.0
    every = losses_of(plan.domain, plan.targets[0], plan.steps).rows()
    while some := [row for _, row in itertools.islice(every, _ROWS)]:
        rows = np.array(some)
        rows[:, pure] = mu_of(rows[:, pure])
        worst = max(worst, float((rows**2).sum(axis=1).max()))
    return math.sqrt(worst)
