"""Contraction where the kernel changes once, at any record of a chain of any length.

A jump of m steps may lie before the switch, after it or across: what it tells apart is at most
``max over a + b = m of D(P^a Q^b)``. With these diameters the contraction bound (blocks, for order
k) holds wherever the switch is. The larger of the leakages of the two kernels does not: beside the
switch one side of a record goes by the one kernel and the other side by the other.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from corrdp.bounds.chains.windows import blocks
from corrdp.bounds.contraction import contraction
from corrdp.bounds.scope import Bound
from corrdp.guarantees import Pure
from corrdp.models.birkhoff import diameter, multiply
from corrdp.models.chains.region import Region, step_bounds, widest_diameter
from corrdp.models.chains.switching import SwitchingChain
from corrdp.models.chains.window import WindowChain

_STEPS = 12
_BLOCKS = 6
_LARGE = 16  # rows beyond which the first finite jump is enough: each takes seconds


def switching_contraction(
    chain: SwitchingChain, guarantee: Pure, confidence: float | None
) -> Bound:
    """Contraction bound of a chain whose kernel changes once.

    Parameters
    ----------
    chain : SwitchingChain
    guarantee : Pure
    confidence : float or None
        For all kernels of the two regions at this joint level.

    References
    ----------
    docs/theorems.md#contraction, a kernel that changes.
    """
    found = switching_diameters(chain.parts, confidence)
    part: Any = replace(chain.parts[0], length=chain.length)
    if isinstance(part, WindowChain):
        return blocks(part, guarantee, found)
    return contraction(part, guarantee, found)


@lru_cache(maxsize=16)  # a search asks for many epsilons
def switching_diameters(parts: tuple[Any, Any], confidence: float | None) -> np.ndarray:
    """``max over a + b = m of D(P^a Q^b)`` for jumps of m = 1, 2, .. records (or blocks).

    Returns
    -------
    (1, jumps) array
    """
    chain = SwitchingChain(parts, None, parts[0].states)
    if confidence is None:
        rows = _products(*(_kernel(part) for part in parts))
    else:
        rows = _bounded_products(*chain.regions(confidence))
    found = []
    for step in range(1, (_STEPS if chain.order == 1 else _BLOCKS * chain.order) + 1):
        worst = next(rows)
        if step % chain.order == 0:
            found.append(worst())
            if len(chain.transition) > _LARGE and np.isfinite(found[-1]):
                break
    return np.array([found])


def _kernel(part: Any) -> np.ndarray:
    """Kernel of the states or windows that have a row; nothing leads out of them."""
    if not isinstance(part, WindowChain):
        return np.asarray(part.transition)
    used = part.transition.any(axis=1)
    return part.window_kernel[np.ix_(used, used)]


def _products(first: np.ndarray, second: np.ndarray) -> Any:
    """For m = 1, 2, ..: the largest diameter of P^a Q^b, a + b = m."""
    row: list[np.ndarray | None] = [np.eye(len(first))]
    while True:
        row = [*(multiply(each, second) for each in row), multiply(row[-1], first)]
        yield lambda row=row: max(np.inf if p is None else diameter(p) for p in row)


def _bounded_products(first: Region, second: Region) -> Any:
    """The same over two regions, from entrywise bounds."""
    eye = np.eye(len(first.lower))
    row = [(eye, eye)]
    while True:
        row = [step_bounds(second, *row[0]), *(step_bounds(first, *each) for each in row)]
        yield lambda row=row: max(widest_diameter(*each) for each in row)
