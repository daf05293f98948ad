"""What only chains add to contraction (chains#contraction): jumps over records, the long chain.

**Skipping.** Paying eps outright for m - 1 records lets the m-step kernel act, which keeps the
bound finite when the kernel has zeros: with S_t the cost of all records after t,

    S_t = min_m  eps_{t+1} + .. + eps_{t+m-1} + (eps_{t+m} + S_{t+m}) (*) D(P_t..P_{t+m-1}).

**Long chains.** For equal epsilons and every length the recursion solves to
``sinh(leakage/4) = e^{D/2} sinh(eps/4)``.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp._compiled import njit
from corrdp.bounds.mixtures import star
from corrdp.bounds.scope import ROUNDING, up
from corrdp.models.chains.chain import diameter as birkhoff_diameter
from corrdp.models.chains.chain import multiply
from corrdp.models.chains.markov import MarkovChain

MAX_SKIP = 32


def _four_arsinh(x: float, shift: float) -> float:
    """4 arsinh(e^shift sinh x) for x > 0, to a few units in the last place, without overflow."""
    if x < 300.0 and abs(shift) < 300.0:
        return 4.0 * math.asinh(math.exp(shift) * math.sinh(x))
    # ln of twice the argument; sinh x = e^x (1 - e^{-2x}) / 2
    log_twice = shift + x + math.log(-math.expm1(-2.0 * x))
    if log_twice < 0.0:
        return 4.0 * math.asinh(math.exp(log_twice) / 2.0)
    # arsinh(e^l / 2) = l + ln[(1 + sqrt(1 + 4 e^{-2l})) / 2]
    root = math.sqrt(1.0 + 4.0 * math.exp(-2.0 * log_twice))
    return 4.0 * (log_twice + math.log((1.0 + root) / 2.0))


def contraction_limit(epsilon: float, diameter: float) -> float:
    """Leakage bound for chains of every length: ``B = 4 arsinh(e^{D/2} sinh(eps/4))``.

    Parameters
    ----------
    epsilon : float
        DP level, the same for every record.
    diameter : float
        Birkhoff diameter D of the kernel.

    Returns
    -------
    float
        B, rounded up; ``eps <= B <= min(eps e^{D/2}, eps + 2 D)``.

    References
    ----------
    chains#contraction.

    Examples
    --------
    >>> round(contraction_limit(1.0, 2.839942455), 6)
    3.651512
    """
    if math.isinf(diameter):
        return math.inf
    if diameter == 0.0:
        return epsilon
    value = _four_arsinh(epsilon / 4.0, diameter / 2.0)
    ceiling = min(epsilon + 2.0 * diameter, _times_exp(epsilon, diameter / 2.0))
    return max(epsilon, min(up(value, 1e-15), ceiling))


def _times_exp(x: float, power: float) -> float:
    return x * math.exp(power) if power < 700.0 else math.inf


def contraction_inverse(target: float, diameter: float) -> float:
    """The epsilon whose :func:`contraction_limit` is ``target``: ``4 arsinh(e^{-D/2} sinh(B/4))``.

    Examples
    --------
    >>> round(contraction_inverse(1.0, 2.839942455), 6)
    0.244095
    """
    if math.isinf(diameter):
        return 0.0
    return _four_arsinh(target / 4.0, -diameter / 2.0)


def skip_diameters(chain: MarkovChain) -> np.ndarray:
    """Diameters of the m-step kernels, shape (steps, m): row t is for jumps from record t.

    One row serves every t when the chain is homogeneous. O(m s^3) a row.
    """
    if chain.homogeneous:
        kernels, alive = chain.transition[None], chain.occurring[None]
    else:
        kernels, alive = chain.transition, chain.support[:-1]
    steps = len(kernels)
    table = np.full((steps, MAX_SKIP), np.inf)
    for t in range(steps):
        product: np.ndarray | None = np.eye(kernels.shape[1])
        for m in range(MAX_SKIP):
            if t + m >= steps and not chain.homogeneous:
                break
            product = multiply(product, kernels[0 if chain.homogeneous else t + m])
            if product is None:
                break  # longer jumps stay infinite
            table[t, m] = birkhoff_diameter(product, alive[t])
            if table[t, m] < ROUNDING:
                table[t, m:] = table[t, m]  # longer jumps only cost more
                break
    return table


def useful_skips(diameters: np.ndarray, least: float) -> np.ndarray:
    """Which jump lengths can win against shorter ones when every epsilon is at least ``least``.

    With t = tanh(D_1/4), (x + y) (*) D_1 <= x t + y (*) D_1; so the m-step jump cannot beat one
    step followed by m - 1 when ``least (1 - t) >= D_1 (*) D_{m-1} - D_m``.
    """
    keep = [1]
    for m in range(2, diameters.shape[1] + 1):
        useful = False
        for row in diameters:
            one, shorter, jump = row[0], row[m - 2], row[m - 1]
            if math.isinf(jump):
                continue
            slack = star(one, shorter) - jump if not math.isinf(min(one, shorter)) else math.inf
            useful |= least * (1.0 - math.tanh(one / 4.0)) < slack
        if useful:
            keep.append(m)
    return np.array(keep)


@njit(cache=True)
def _side(
    eps: np.ndarray, diameters: np.ndarray, row_step: int, jumps: np.ndarray, out: np.ndarray
) -> None:
    """out[t] = S_t, the cost of all records after t, the cheapest jump taken at each step."""
    n = len(eps)
    out[n - 1] = 0.0
    for t in range(n - 2, -1, -1):
        best = np.inf
        skipped, at = 0.0, t
        for m in jumps:
            if t + m > n - 1:
                break
            while at < t + m - 1:
                at += 1
                skipped += eps[at]
            whole = eps[t + m] + out[t + m]
            best = min(best, skipped + star(whole, diameters[t * row_step, m - 1]))
        out[t] = best


def side_costs(eps: np.ndarray, diameters: np.ndarray) -> np.ndarray:
    """S_t: how much the records after t add to the leakage of record t. O(n) per jump length.

    Parameters
    ----------
    eps : (n,) array
    diameters : (1 or n - 1, m) array
        From :func:`skip_diameters`.
    """
    out = np.zeros(len(eps))
    if len(eps) == 1:
        return out
    eps = np.ascontiguousarray(eps, dtype=float)
    jumps = useful_skips(diameters, float(eps.min()))
    _side(eps, diameters, 0 if len(diameters) == 1 else 1, jumps, out)
    return out


def mirrored(diameters: np.ndarray) -> np.ndarray:
    """Diameters for the chain read backwards: a jump of m from t becomes one that ends there."""
    if len(diameters) == 1:
        return diameters
    steps, longest = diameters.shape
    back = np.full_like(diameters, np.inf)
    for t in range(steps):
        for m in range(1, min(longest, t + 1) + 1):
            back[steps - 1 - t, m - 1] = diameters[t - m + 1, m - 1]
    return back


def limit_with_skipping(epsilon: float, diameters: np.ndarray) -> tuple[float, int]:
    """``min_m (m-1) eps + 4 arsinh(e^{D(P^m)/2} sinh(m eps/4))`` and the m that attains it."""
    best, jump = math.inf, 1
    for m, diameter in enumerate(diameters[0], start=1):
        if (2 * m - 1) * epsilon >= best:
            break
        value = (m - 1) * epsilon + contraction_limit(m * epsilon, diameter)
        if value < best:
            best, jump = value, m
    return best, jump
