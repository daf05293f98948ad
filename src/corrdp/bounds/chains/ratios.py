"""Bounds that add a constant to epsilon, and bounds for every kernel in a confidence region.

    lange   eps + 4 ln gamma   gamma: largest over smallest transition probability
    zhao    eps + 6 ln omega   omega: largest ratio within a column
    ratio   eps + 4 ln omega   any initial law (chains#ratio)

They never fall below their constant, however small epsilon is. Over a region the largest omega
serves for all kernels inside, and for contraction the largest diameters, as that bound rises with
them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp.bounds.chains.jumps import region_jumps
from corrdp.bounds.chains.sides import paired_blocks, paired_contraction
from corrdp.bounds.chains.windows import blocks
from corrdp.bounds.contraction import contraction
from corrdp.bounds.registry import bound, level_and_region, whole
from corrdp.bounds.scope import Bound, Scope, up
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.chain import Skips
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.region import Region, power_bounds, widest_diameter, widest_ratio
from corrdp.models.chains.window import WindowChain, offer_sharing
from corrdp.results import Certificate, Witness

LANGE = "Lange (2024), corollary 7.4 (chains#lange)"
ZHAO = "Zhao, Zhang and Poor (2017) (chains#zhao)"
RATIO = "theorem chains#ratio"


@bound("lange", on=MarkovChain)
def lange(chain: MarkovChain, guarantee: Pure) -> Bound:
    """``eps_i + 4 ln gamma``; needs one positive kernel and the stationary start.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(lange(chain, Pure(1.0)).value, 6)
    9.788898
    """
    if not chain.homogeneous:
        raise NotApplicableError("lange needs one kernel for all steps; use contraction")
    if not np.isfinite(chain.gamma):
        x, y = (int(k) for k in np.argwhere(chain.transition == 0)[0])
        raise NotApplicableError(
            f"lange needs positive transition probabilities and {chain.states[x]!r} -> "
            f"{chain.states[y]!r} has 0; use contraction or transfer"
        )
    if chain.initial is not None and not np.allclose(
        chain.initial, chain.stationary, rtol=0, atol=1e-12
    ):
        raise NotApplicableError("lange needs the stationary start; use ratio or contraction")
    certificate = Certificate("lange", LANGE, ("the chain starts from its stationary law",))
    return _shifted(chain, guarantee, 4.0 * math.log(chain.gamma), certificate)


@bound("zhao", on=MarkovChain)
def zhao(chain: MarkovChain, guarantee: Pure) -> Bound:
    """``eps_i + 6 ln omega``.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(zhao(chain, Pure(1.0)).value, 6)
    13.476649
    """
    return _shifted(chain, guarantee, 6.0 * _log_omega(chain, "zhao"), Certificate("zhao", ZHAO))


@bound("ratio", on=MarkovChain)
def ratio(chain: MarkovChain, guarantee: Pure, log_omega: float | None = None) -> Bound:
    """``eps_i + (a + b) ln omega`` with a = 2 unless i is first, b = 2, 1 or 0 as i nears the end.

    ``log_omega`` may be an upper bound, where the kernel is not known exactly.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(ratio(chain, Pure(1.0)).value, 6)
    9.317766
    """
    if log_omega is None:
        log_omega = _log_omega(chain, "ratio")
    certificate = Certificate("ratio", RATIO)
    if chain.length is None:
        return _shifted(chain, guarantee, 4.0 * log_omega, certificate)
    n = chain.length
    index = np.arange(n)
    exponents = 2.0 * (index > 0) + np.minimum(n - 1 - index, 2)
    return _from_vector(guarantee.vector(n) + exponents * log_omega, certificate)


def _log_omega(chain: MarkovChain, name: str) -> float:
    if not np.isfinite(chain.omega):
        raise NotApplicableError(
            f"{name} needs columns without mixed zeros (omega is infinite); use contraction, which "
            "skips over zeros, or transfer"
        )
    return math.log(chain.omega)


def _shifted(
    chain: MarkovChain, guarantee: Pure, constant: float, certificate: Certificate
) -> Bound:
    if chain.length is not None:
        return _from_vector(guarantee.vector(chain.length) + constant, certificate)
    if guarantee.is_vector:
        raise InputError("one epsilon per record needs a chain with a length")
    return Bound(up(guarantee.largest + constant), "upper bound", certificate)


def _from_vector(values: np.ndarray, certificate: Certificate) -> Bound:
    per_record = np.nextafter(values, np.inf)
    record = int(per_record.argmax())
    return Bound(float(per_record[record]), "upper bound", certificate, per_record, Witness(record))


_JUMPS = 12
_MOST_WINDOWS = 256


@bound("contraction", on=MarkovChain, confidence=True, given=level_and_region)
def uncertain_contraction(chain: MarkovChain, guarantee: Pure, region: Region) -> Bound:
    """Contraction bound with the largest diameters over the region, skipping included.

    A transition that was never seen may be impossible, which makes the one-step diameter infinite;
    longer jumps usually keep the bound finite.
    """
    found = _widest(chain, region)
    return over_region(contraction(chain, guarantee, found), region, chain.states)


@bound("contraction", on=MarkovChain, confidence=True, paired=True, given=whole)
def uncertain_pairs(chain: MarkovChain, scope: Scope) -> Bound:
    """The same for guarantees with a delta, and for windows of records."""
    assert scope.region is not None
    found = paired_contraction(chain, scope, Skips(_widest(chain, scope.region)))
    return over_region(found, scope.region, chain.states)


def _widest(chain: MarkovChain, region: Region) -> np.ndarray:
    """The largest diameters of jumps over the region, shape (1, jumps)."""
    found = [widest_diameter(low, high) for low, high in power_bounds(region, _JUMPS)]
    if all(math.isinf(d) for d in found):
        raise _may_never_forget(region, chain.states)
    return np.array([found])


@bound("ratio", on=MarkovChain, confidence=True, given=level_and_region)
def uncertain_ratio(chain: MarkovChain, guarantee: Pure, region: Region) -> Bound:
    """Ratio bound with the largest omega over the region."""
    log_omega = widest_ratio(region)
    if math.isinf(log_omega):
        raise NotApplicableError(f"{unseen_words(region, chain.states)}: omega may be infinite")
    return over_region(ratio(chain, guarantee, log_omega), region, chain.states)


@bound("blocks", on=WindowChain, confidence=True, given=level_and_region)
def uncertain_blocks(chain: WindowChain, guarantee: Pure, region: Region) -> Bound:
    """Blocks bound of a chain of order k with the largest diameters over the region.

    Windows that were never seen are part of it: the true chain may have them, and what follows
    them may be anything. O(S^3) for S = s^k windows.
    """
    named = [", ".join(str(chain.states[x]) for x in window) for window in chain.windows]
    found = blocks(chain, guarantee, _widest_blocks(chain, region))
    return over_region(found, region, named, chain.states)


@bound("blocks", on=WindowChain, confidence=True, paired=True, given=whole)
def uncertain_block_pairs(chain: WindowChain, scope: Scope) -> Bound:
    """The same for guarantees with a delta, and for windows of records."""
    assert scope.region is not None
    named = [", ".join(str(chain.states[x]) for x in window) for window in chain.windows]
    found = paired_blocks(chain, scope, _widest_blocks(chain, scope.region))
    return over_region(found, scope.region, named, chain.states)


def _widest_blocks(chain: WindowChain, region: Region) -> np.ndarray:
    """The largest diameters of 1, 2, .. blocks over the region, shape (1, jumps)."""
    size = len(chain.transition)
    if size > _MOST_WINDOWS:
        raise NotApplicableError(
            f"{size} windows are too many for a confidence region (at most {_MOST_WINDOWS}); merge "
            "states or lower the order"
        )
    measure, k = region_jumps([region], chain.order), chain.order
    found = [measure((0,) * (k * m)) for m in range(1, _JUMPS // 2 + 1)]
    named = [", ".join(str(chain.states[x]) for x in window) for window in chain.windows]
    if all(math.isinf(d) for d in found):
        raise _may_never_forget(region, named, chain.states, offer_sharing(chain))
    return np.array([found])


def _may_never_forget(
    region: Region, rows: Any, columns: Any = None, offer: str = ""
) -> NotApplicableError:
    return NotApplicableError(
        f"{unseen_words(region, rows, columns)}, so the true chain may never forget; merge states "
        "or add sequences until every transition is seen, declare unseen transitions impossible "
        f"(zeros='structural'), {offer}or take the fitted numbers as exact (confidence=None)"
    )


def unseen_words(region: Region, rows: Any, columns: Any = None, most: int = 3) -> str:
    """Which transitions were never seen, in words: a row without any by its name alone."""
    columns = rows if columns is None else columns
    if not region.unseen:
        return "a transition is impossible, or its count may be noise of the private fit alone"
    by_row: dict[int, list[int]] = {}
    for x, y in region.unseen:
        by_row.setdefault(x, []).append(y)
    whole = [x for x, ys in by_row.items() if len(ys) == len(columns)]
    named = [f"what follows {rows[x]!r}" for x in whole]
    named += [f"{rows[x]!r} -> {columns[y]!r}" for x, y in region.unseen if x not in whole]
    more = f" and {len(named) - most} more" if len(named) > most else ""
    return f"transition {', '.join(named[:most])}{more} was never seen"


def over_region(bound: Bound, region: Region, rows: Any, columns: Any = None) -> Bound:
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
