"""The kernels that the data of a richer model allow, to the side on which they leak more.

Of a richer model one number is asked: what a release leaks under it. A limit for one number is
closer to the fitted value than a region for all of them (chains#least-favourable).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from corrdp.bounds.chains.orders import uninformed_limit
from corrdp.bounds.chains.zones import STATES
from corrdp.bounds.leakage import leakage
from corrdp.errors import CorrdpError
from corrdp.models.chains.chain import SwitchingChain
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain

if TYPE_CHECKING:
    from corrdp.models.chains.chain import Chain

_EPSILONS = 0.1, 1.0  # at which it is found out which side leaks more
_MOST_WINDOWS = 32  # up to which that is told by the adversary who knows nobody
_STEPS = 60  # halvings of the interval in which a limit lies
_STEEPEST = 50.0  # of a tilt: beyond e^50 a row is a single state


def least_favourable(chain: Chain, confidence: float) -> tuple[Chain, ...]:
    """A fitted chain with every row at its limit, on the side on which it leaks more.

    Which side that is may depend on epsilon: one chain for small ones and one for large ones, if
    they differ.

    Row u with fitted probabilities p, seen n times, becomes

    ``p_y e^{tau g_y} / sum_z p_z e^{tau g_z}``, tau > 0 such that ``2 n KL(p || row) = z^2``

    where

    * g_y is by how much the leakage grows when state y of this row becomes likelier, up to the
      limit of this row, all else as fitted;
    * z is the normal quantile of the confidence: the limits are those of the likelihood ratio.

    Every kernel of seasons or halves is moved by itself, by what it leaks if it is used for ever.

    Parameters
    ----------
    chain : Chain
        Fitted: its counts say how far its rows may be from the truth.
    confidence : float
        Of the one number that is then asked, to first order.

    References
    ----------
    chains#least-favourable.

    Examples
    --------
    >>> chain = MarkovChain.fit([0, 0, 0, 1, 1, 0, 1, 1, 1, 0] * 50)
    >>> moved, *_ = least_favourable(chain, .95)
    >>> chain.transition.round(3).tolist(), moved.transition.round(3).tolist()
    ([[0.598, 0.402], [0.4, 0.6]], [[0.649, 0.351], [0.35, 0.65]])
    """
    from scipy.special import ndtri

    spread = float(ndtri(confidence)) ** 2
    found: list[Chain] = []
    for epsilon in _EPSILONS:
        moved = _at(chain, epsilon, spread)
        if not any(_same(moved, other) for other in found):
            found.append(moved)
    return tuple(found)


def _at(chain: Chain, epsilon: float, spread: float) -> Chain:
    if isinstance(chain, SwitchingChain):
        parts = tuple(_at(part, epsilon, spread) for part in chain.parts)
        return replace(chain, parts=parts)  # type: ignore[arg-type]
    order = getattr(chain, "order", 1)
    rows = [_moved(*counted, order, epsilon, spread) for counted in _counted(chain)]
    seasonal = isinstance(chain, SeasonalChain)
    return replace(chain, transition=np.stack(rows) if seasonal else rows[0])  # type: ignore[type-var]


def _same(one: Chain, other: Chain) -> bool:
    if isinstance(one, SwitchingChain) and isinstance(other, SwitchingChain):
        return all(map(_same, one.parts, other.parts))
    return bool((np.asarray(one.transition) == np.asarray(other.transition)).all())


def has_limits(chain: Chain) -> bool:
    """Whether a chain of single records was fitted, and all that it takes for possible was seen."""
    if isinstance(chain, SwitchingChain):
        return all(map(has_limits, chain.parts))
    if chain.fitted is None or isinstance(chain, JointChain):
        return False
    return all(((kernel == 0) | (counts > 0)).all() for kernel, counts in _counted(chain))


def _counted(chain: Chain) -> list[tuple[np.ndarray, np.ndarray]]:
    """Each kernel with its counts."""
    if isinstance(chain, SeasonalChain):
        counts = chain.counted.by_kernel(len(chain.states))
        return list(zip(chain.transition, counts, strict=True))
    assert chain.fitted is not None
    order = getattr(chain, "order", 1)
    return [(np.asarray(chain.transition), chain.fitted.row_counts(order))]


def _moved(
    kernel: np.ndarray, counts: np.ndarray, order: int, epsilon: float, spread: float
) -> np.ndarray:
    """A kernel each row of which has moved to where it leaks more."""
    told, found, seen = _told(kernel, order, epsilon), kernel, counts.sum(axis=1)
    for u, row in enumerate(kernel):
        possible = np.flatnonzero(row > 0)
        if seen[u] <= 0 or len(possible) < 2:
            continue
        way, room = np.zeros(len(row)), spread / (2.0 * seen[u])
        for y in possible:
            other = _with(kernel, u, np.arange(len(row)) == y, room)
            way[y] = _told(other, order, epsilon) - told
        way[possible] = np.round(way[possible] / epsilon, 6)  # a side that gains nothing is none
        if np.isfinite(way).all() and np.ptp(way[possible]) > 0.0:
            found = _with(found, u, way, room)
    return found


def _with(kernel: np.ndarray, u: int, slope: np.ndarray, distance: float) -> np.ndarray:
    """The kernel with a row tilted along a slope, as far as ``KL(row || tilted)`` allows."""
    found = kernel.copy()
    found[u] = _tilted(kernel[u], np.asarray(slope, dtype=float), distance)
    return found


def _told(kernel: np.ndarray, order: int, epsilon: float) -> float:
    """What a kernel leaks that is used for ever."""
    return _leak(kernel.tobytes(), *kernel.shape, order, epsilon)


@lru_cache(maxsize=4096)  # the same rows are asked for by every promise from a fit
def _leak(kernel: bytes, rows: int, states: int, order: int, epsilon: float) -> float:
    table = np.frombuffer(kernel).reshape(rows, states)
    try:
        if order == 1:
            return leakage(MarkovChain(table), epsilon, adversary="none").value
        chain = WindowChain(table, order)
        if states <= STATES and rows <= _MOST_WINDOWS:
            return uninformed_limit(chain, epsilon * (1.0 - np.eye(states)))
        return leakage(chain, epsilon, method="blocks").value
    except CorrdpError:
        return 0.0


def _tilted(row: np.ndarray, slope: np.ndarray, distance: float) -> np.ndarray:
    """The row tilted along a slope, as far as ``KL(row || tilted)`` allows."""
    slope = slope / np.abs(slope - slope.mean()).max()
    used = row > 0
    logs = np.log(row[used])
    low, high = 0.0, _STEEPEST
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        tilt = logs + middle * slope[used]
        tilt = tilt - tilt.max()
        tilt -= np.log(np.exp(tilt).sum())
        if float((row[used] * (logs - tilt)).sum()) <= distance:
            low = middle
        else:
            high = middle
    found = np.zeros_like(row)
    tilt = logs + low * slope[used]
    found[used] = np.exp(tilt - tilt.max())
    return np.asarray(found / found.sum())
