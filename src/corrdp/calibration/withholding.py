"""The response that withholds reports near the worst case, and is wrong less often for it."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Literal

import numpy as np

from corrdp.bounds.chains.withholding import withholding_leakage
from corrdp.calibration.response import least_flips
from corrdp.errors import InfeasibleError, NotApplicableError
from corrdp.mechanisms.response import BinaryResponse
from corrdp.mechanisms.sample import grid_flip
from corrdp.mechanisms.withholding import GRAIN, WithholdingResponse
from corrdp.models.chains.markov import MarkovChain

_FORGETFUL = 0.95  # memory of a tally at most: one that grows larger takes long to follow
_SPARE = 1.0 - 1e-5  # of the level of the plain response, for what the bound adds on top
_RISE = 1.25  # of the level, from that of the plain response
_SETTLED = 1e-9  # a share that changes less from one look to the next
_LOOKS, _BETWEEN = 200, 50


def least_withholding(
    chain: MarkovChain, target: float, *, adversary: Literal["all", "none"] = "all"
) -> WithholdingResponse:
    r"""The response that withholds reports and distorts a series least for a target.

    .. math:: \min_{f, c} \; \Pr[\text{reported and wrong}] + \tfrac12 \Pr[\text{withheld}]
              \quad \text{subject to} \quad L(f, c) \le \text{target}

    where

    - f is the flip rate and c the cap of the tally; its memory is the chain's, 1 - q - r, or .95,
    - L bounds the leakage (chains#withholding); a withheld report is worth a coin toss.

    Levels are tried from that of the plain response up while they help, each with its largest cap.

    Parameters
    ----------
    chain : MarkovChain
        Two states, one kernel without zeros, stationary start; not fitted privately.
    target : float
        BDP level to promise.
    adversary : {"all", "none"}

    Examples
    --------
    >>> chain = MarkovChain([[.95, .05], [.05, .95]])
    >>> found = least_withholding(chain, 2.0)
    >>> least_flips(chain, 2.0).mechanism.flip0 > .46 > .43 > found.flip
    True
    """
    if chain.private_epsilon is not None:
        raise NotApplicableError("withheld reports are not priced beside a private fit")
    dependence = 1.0 - float(chain.transition[0, 1] + chain.transition[1, 0])
    memory = min(max(dependence, 0.0), _FORGETFUL)
    caps = range(GRAIN, int(GRAIN / (1.0 - memory)) + 1)
    plain = least_flips(chain, target, symmetric=True, adversary=adversary).mechanism
    best, least = None, math.inf
    level = plain.guarantee.largest * _SPARE
    while level <= target:
        flip = min(0.5, grid_flip(BinaryResponse.for_epsilon(level).flip0))

        def leaks(cap: int, flip: float = flip) -> bool:
            response = WithholdingResponse(flip, memory, cap)
            return withholding_leakage(chain, response, adversary) > target

        kept = bisect_right(caps, False, key=leaks)
        response = WithholdingResponse(flip, memory, caps[kept - 1]) if kept else None
        distortion = math.inf
        if response is not None:
            distortion = expected_cost(response, withheld_share(chain, response))
        if distortion > least:
            break
        best, least = response, distortion
        level *= _RISE
    if best is None:
        raise InfeasibleError(
            f"no series with withheld reports keeps the target {target:g}; sanitize without"
        )
    return best


def expected_cost(mechanism: WithholdingResponse, silent: float) -> float:
    """Expected share of wrong reports and half of the withheld: one may toss a coin for those."""
    return (1.0 - silent) * mechanism.flip + silent / 2.0


def withheld_share(chain: MarkovChain, mechanism: WithholdingResponse) -> float:
    """Share of the reports that is expected to be withheld in a long series.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.1, .9]])
    >>> round(withheld_share(chain, WithholdingResponse(.4, .8, 36)), 3)
    0.288
    """
    rest, cap, flip = mechanism.forgotten(), mechanism.cap, mechanism.flip
    silent = np.abs(rest) + GRAIN > cap
    said = ~silent
    law = np.zeros((2, len(rest)))  # of record and tally
    law[:, cap] = chain.stationary
    total, before = 0.0, -1.0
    for look in range(1, _LOOKS + 1):
        for _ in range(_BETWEEN):
            total += float(law[:, silent].sum())
            moved = np.zeros_like(law)
            for x in range(2):
                moved[x] += np.bincount(rest[silent] + cap, law[x, silent], len(rest))
                for report, step in ((0, GRAIN), (1, -GRAIN)):
                    chance = flip if report != x else 1.0 - flip
                    at = rest[said] + step + cap
                    moved[x] += np.bincount(at, law[x, said] * chance, len(rest))
            law = chain.transition.T @ moved
        mean = total / (look * _BETWEEN)
        if abs(mean - before) < _SETTLED:
            break
        before = mean
    return mean
