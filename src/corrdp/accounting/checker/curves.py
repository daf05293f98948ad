"""Total variation of releases with trade-off curves, read from the JSON of a proof.

Part of the re-check: nothing of the accountant is used here. A curve is a list of pairs (p, q), the
probabilities of one output under each of two neighbours; products of curves are products of pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from corrdp.accounting.checker.units import Unknown

Pairs = list[tuple[float, float]]
_OUTPUTS = 200_000


def total_variation(steps: Sequence[Any], losses: Sequence[float]) -> float:
    """How well two neighbours can be told apart, given the loss of each release between them."""
    if math.inf in losses:
        return 1.0
    read = [(step, loss) for step, loss in zip(steps, losses, strict=True) if loss != 0]
    if all(step["notion"] == "gaussian" for step, _ in read):
        return math.erf(math.hypot(*(loss for _, loss in read)) / math.sqrt(8.0))
    joint: Pairs = [(1.0, 1.0)]
    for step, loss in read:
        joint = _merged([(p * a, q * b) for p, q in joint for a, b in _curve(step, loss)])
    return math.fsum(max(q - p, 0.0) for p, q in joint)


def _curve(step: Any, loss: float) -> Pairs:
    if step["notion"] == "pure":
        return _two_sided(loss, 0.0)
    if step["notion"] == "gaussian":
        raise Unknown("Gaussian curves beside others")
    if abs(loss - round(loss)) > 1e-9:
        raise Unknown("a curve at a distance that is no whole number")
    if "p" in step:
        once = _merged(list(zip(step["p"], step["q"], strict=True)))
    else:
        once = _two_sided(float(step["eps"]), float(step["delta"]))
    return _group(once, round(loss))


def _two_sided(epsilon: float, delta: float) -> Pairs:
    """Two laws that attain (epsilon, delta)."""
    odds = math.exp(-epsilon)
    likely = (1.0 - delta) / (1.0 + odds)
    rare = likely * odds
    return [(0.0, delta), (rare, likely), (likely, rare), (delta, 0.0)]


def _merged(pairs: Pairs) -> Pairs:
    """Outputs of one likelihood ratio are one output."""
    found: dict[float, tuple[float, float]] = {}
    for p, q in pairs:
        if p == q == 0:
            continue
        ratio = math.inf if p == 0 else (-math.inf if q == 0 else round(math.log(q / p), 9))
        have = found.get(ratio, (0.0, 0.0))
        found[ratio] = (have[0] + p, have[1] + q)
    if len(found) > _OUTPUTS:
        raise Unknown(f"a product of curves with more than {_OUTPUTS:,} likelihood ratios")
    return [found[ratio] for ratio in sorted(found, reverse=True)]


def _group(once: Pairs, times: int) -> Pairs:
    """The curve between data sets ``times`` neighbours apart: its power function iterated."""
    corners = _power(once)
    whole = corners
    for _ in range(times - 1):
        levels = {x for x, _ in whole} | {_back(whole, x) for x, _ in corners if x > whole[0][1]}
        whole = [(x, _at(corners, _at(whole, x))) for x in sorted(levels)]
    steps = itertools.pairwise(whole)
    return _merged([(0.0, whole[0][1]), *((x - a, max(y - b, 0.0)) for (a, b), (x, y) in steps)])


def _power(pairs: Pairs) -> Pairs:
    """Corners (alpha, power) of the best tests, from alpha 0 to 1."""
    found, alpha, power = [], 0.0, 0.0
    for p, q in _merged(pairs):
        alpha, power = alpha + p, power + q
        if p == 0:
            found = [(0.0, power)]
        else:
            found = found or [(0.0, 0.0)]
            found.append((min(alpha, 1.0), min(power, 1.0)))
    return found


def _at(corners: Pairs, x: float) -> float:
    for (a, b), (c, d) in itertools.pairwise(corners):
        if x <= c:
            return b + (d - b) * (x - a) / (c - a) if c > a else d
    return corners[-1][1]


def _back(corners: Pairs, y: float) -> float:
    for (a, b), (c, d) in itertools.pairwise(corners):
        if y <= d:
            return a + (c - a) * (y - b) / (d - b) if d > b else a
    return 1.0
