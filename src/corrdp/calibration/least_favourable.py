"""The kernels that the data of a richer model allow, to the side on which they leak more.

Of a richer model one number is asked: what a release leaks under it. A limit for one number is
closer to the fitted value than a region for all of them (chains#least-favourable).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
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

_EPSILON = 0.1  # at which it is found out which side leaks more
_MOST_WINDOWS = 32  # up to which that is told by the adversary who knows nobody
_STEPS = 60  # halvings of the interval in which a limit lies
_STEEPEST = 50.0  # of a tilt: beyond e^50 a row is a single state


def least_favourable(chain: Chain, confidence: float) -> Chain:
    """A fitted chain at the limit of what its counts allow, on the side on which it leaks more.

    Row u with fitted probabilities p, seen n times, becomes

    ``p_y e^{tau g_y} / sum_z p_z e^{tau g_z}``, tau > 0 such that ``2 n KL(p || row) = (f z)^2``

    where

    * g_y is by how much the leakage grows when state y of this row becomes likelier, up to the
      limit of this row alone (f = 1), all else as fitted;
    * f is the share of this row: what its leakage grows by at that limit, relative to the root of
      the sum of squares over all rows;
    * z is the normal quantile of (1 + confidence)/2: an end of the two-sided interval of the
      likelihood ratio, so that half of what may go wrong is left to what first order leaves out.

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
    >>> moved = least_favourable(chain, .95)
    >>> chain.transition.round(3).tolist(), moved.transition.round(3).tolist()
    ([[0.598, 0.402], [0.4, 0.6]], [[0.641, 0.359], [0.358, 0.642]])
    """
    from scipy.special import ndtri

    spread = float(ndtri((1.0 + confidence) / 2.0)) ** 2
    if isinstance(chain, SwitchingChain):
        parts = tuple(least_favourable(part, confidence) for part in chain.parts)
        return replace(chain, parts=parts)  # type: ignore[arg-type]
    order = getattr(chain, "order", 1)
    rows = [_moved(*counted, order, spread) for counted in _counted(chain)]
    seasonal = isinstance(chain, SeasonalChain)
    return replace(chain, transition=np.stack(rows) if seasonal else rows[0])  # type: ignore[type-var]


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


def _moved(kernel: np.ndarray, counts: np.ndarray, order: int, spread: float) -> np.ndarray:
    """A kernel whose rows have moved together to where they leak more."""
    told, ways = _told(kernel, order), np.zeros_like(kernel)
    room = np.zeros(len(kernel))
    room[counts.sum(axis=1) > 0] = spread / 2.0 / counts.sum(axis=1)[counts.sum(axis=1) > 0]
    gains = np.zeros(len(kernel))
    for u, row in enumerate(kernel):
        possible = np.flatnonzero(row > 0)
        if not room[u] or len(possible) < 2:
            continue
        for y in possible:
            ways[u, y] = _told(_with(kernel, u, np.arange(len(row)) == y, room[u]), order) - told
        if np.ptp(ways[u, possible]) > 0.0:
            gains[u] = _told(_with(kernel, u, ways[u], room[u]), order) - told
    gains = np.maximum(gains, 0.0)
    if not np.isfinite(gains).all() or not gains.any():
        return kernel
    found = kernel
    for u in np.flatnonzero(gains).tolist():
        share = gains[u] / np.sqrt((gains**2).sum())
        found = _with(found, u, ways[u], share**2 * room[u])
    return found


def _with(kernel: np.ndarray, u: int, slope: np.ndarray, distance: float) -> np.ndarray:
    """The kernel with a row tilted along a slope, as far as ``KL(row || tilted)`` allows."""
    found = kernel.copy()
    found[u] = _tilted(kernel[u], np.asarray(slope, dtype=float), distance)
    return found


def _told(kernel: np.ndarray, order: int) -> float:
    """What a kernel leaks that is used for ever."""
    return _leak(kernel.tobytes(), *kernel.shape, order)


@cache
def _leak(kernel: bytes, rows: int, states: int, order: int) -> float:
    table = np.frombuffer(kernel).reshape(rows, states)
    try:
        if order == 1:
            return leakage(MarkovChain(table), _EPSILON, adversary="none").value
        chain = WindowChain(table, order)
        if states <= STATES and rows <= _MOST_WINDOWS:
            return uninformed_limit(chain, _EPSILON * (1.0 - np.eye(states)))
        return leakage(chain, _EPSILON, method="blocks").value
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
