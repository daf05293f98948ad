"""Bounds that hold for every kernel in a confidence region, not only for the estimate.

The contraction bound rises with the diameters, so the largest diameters over the region prove it
for all kernels inside; likewise the ratio bound with the largest omega.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp.bounds.base import Bound
from corrdp.bounds.chains.ratios import ratio
from corrdp.bounds.chains.windows import blocks
from corrdp.bounds.contraction import contraction
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.region import Region, power_bounds, widest_diameter, widest_ratio
from corrdp.models.chains.window import WindowChain

_JUMPS = 12
_MOST_WINDOWS = 256


def uncertain_contraction(chain: MarkovChain, guarantee: Pure, region: Region) -> Bound:
    """Contraction bound with the largest diameters over the region, skipping included.

    A transition that was never seen may be impossible, which makes the one-step diameter infinite;
    longer jumps usually keep the bound finite.
    """
    found = [widest_diameter(low, high) for low, high in power_bounds(region, _JUMPS)]
    if all(math.isinf(d) for d in found):
        raise _may_never_forget(region, chain.states)
    return _over(contraction(chain, guarantee, np.array([found])), region, chain.states)


def uncertain_ratio(chain: MarkovChain, guarantee: Pure, region: Region) -> Bound:
    """Ratio bound with the largest omega over the region."""
    log_omega = widest_ratio(region)
    if math.isinf(log_omega):
        raise NotApplicableError(f"{unseen_words(region, chain.states)}: omega may be infinite")
    return _over(ratio(chain, guarantee, log_omega), region, chain.states)


def uncertain_blocks(chain: WindowChain, guarantee: Pure, region: Region) -> Bound:
    """Blocks bound of a chain of order k with the largest diameters over the region.

    Windows that were never seen are part of it: the true chain may have them, and what follows
    them may be anything. O(S^3) for S = s^k windows.
    """
    size = len(chain.transition)
    if size > _MOST_WINDOWS:
        raise NotApplicableError(
            f"{size} windows are too many for a confidence region (at most {_MOST_WINDOWS}); merge "
            "states or lower the order"
        )
    powers = power_bounds(region, chain.order * _JUMPS // 2)
    found = [widest_diameter(*pair) for pair in powers[chain.order - 1 :: chain.order]]
    named = [", ".join(str(chain.states[x]) for x in window) for window in chain.windows]
    if all(math.isinf(d) for d in found):
        raise _may_never_forget(region, named, chain.states)
    return _over(blocks(chain, guarantee, np.array([found])), region, named, chain.states)


def _may_never_forget(region: Region, rows: Any, columns: Any = None) -> NotApplicableError:
    return NotApplicableError(
        f"{unseen_words(region, rows, columns)}, so the true chain may never forget; merge states "
        "or add sequences until every transition is seen, declare unseen transitions impossible "
        "(zeros='structural'), or take the fitted numbers as exact (confidence=None)"
    )


def unseen_words(region: Region, rows: Any, columns: Any = None, most: int = 3) -> str:
    """Which transitions were never seen, in words: a row without any by its name alone."""
    columns = rows if columns is None else columns
    if not region.unseen:
        return "a count is no larger than the noise of the private fit may be"
    by_row: dict[int, list[int]] = {}
    for x, y in region.unseen:
        by_row.setdefault(x, []).append(y)
    whole = [x for x, ys in by_row.items() if len(ys) == len(columns)]
    named = [f"what follows {rows[x]!r}" for x in whole]
    named += [f"{rows[x]!r} -> {columns[y]!r}" for x, y in region.unseen if x not in whole]
    more = f" and {len(named) - most} more" if len(named) > most else ""
    return f"transition {', '.join(named[:most])}{more} was never seen"


def _over(bound: Bound, region: Region, rows: Any, columns: Any = None) -> Bound:
    """The bound with its confidence among the assumptions."""
    said = [
        f"the true kernel lies in the joint {region.confidence:.4g} confidence region of the "
        "counts (exact binomial intervals for all transitions at once; exits from a state are "
        "taken as independent draws)"
    ]
    if region.unseen:
        said.append(f"{unseen_words(region, rows, columns)}: it may be rare or impossible")
    certificate = bound.certificate
    kept = replace(certificate, assumptions=(*certificate.assumptions, *said))
    return replace(bound, certificate=kept, kind="upper bound")
