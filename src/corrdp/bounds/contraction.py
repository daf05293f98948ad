"""Contraction bound (T-3): one line, every adversary, every length.

A record's influence on the next is a change of law whose strength Birkhoff's diameter D bounds,
whatever else the adversary knows. With a (*) d = 4 artanh(tanh(a/4) tanh(d/4)),

    A_n = eps_n,   A_t = eps_t + A_{t+1} (*) D_t,   leakage(i) <= A_i + (mirror image on the left),

and for a long homogeneous chain this solves to ``sinh(leakage/4) = e^{D/2} sinh(eps/4)``.
Skipping (paying eps outright for m - 1 records, so that the m-step kernel acts) keeps the bound
finite when the kernel has zeros.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from corrdp.bounds.base import ROUNDING, Bound, up
from corrdp.bounds.mixtures import star
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.birkhoff import diameter as birkhoff_diameter
from corrdp.models.markov import MarkovChain
from corrdp.results import Certificate, Witness

REFERENCE = "theorem T-3 (docs/theorems.md#contraction)"
_MAX_SKIP = 32
_TANH_LIMIT = 8.0  # above this, 1 - tanh(x/4) has lost too many digits


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
    T-3, docs/theorems.md#contraction.

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
        kernels, alive = chain.transition, chain.marginals[:-1] > 0
    steps = len(kernels)
    table = np.full((steps, _MAX_SKIP), np.inf)
    for t in range(steps):
        product = np.eye(kernels.shape[1])
        for m in range(_MAX_SKIP):
            if t + m >= steps and not chain.homogeneous:
                break
            product = product @ kernels[0 if chain.homogeneous else t + m]
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
def _side_by_tanh(small: np.ndarray, contraction: float, out: np.ndarray) -> None:
    """out[t] = tanh(S_t/4) for one-step jumps; small[t] = tanh(eps_t/4). One division a step."""
    out[-1] = 0.0
    u = 0.0
    for t in range(len(small) - 2, -1, -1):
        e = small[t + 1]
        u = contraction * (e + u) / (1.0 + e * u)
        out[t] = u


@njit(cache=True)
def _side_by_star(
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
    homogeneous = len(diameters) == 1
    if homogeneous and len(jumps) == 1 and max(diameters[0, 0], eps.max()) <= _TANH_LIMIT:
        _side_by_tanh(np.tanh(eps / 4.0), math.tanh(diameters[0, 0] / 4.0), out)
        np.arctanh(out, out=out)
        out *= 4.0
    else:
        _side_by_star(eps, diameters, 0 if homogeneous else 1, jumps, out)
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


def contraction(chain: MarkovChain, guarantee: Pure, diameters: np.ndarray | None = None) -> Bound:
    """Contraction bound of a chain, scalar or per-record epsilon.

    Parameters
    ----------
    chain : MarkovChain
    guarantee : Pure
    diameters : (1 or n - 1, m) array, optional
        Upper bounds on the diameters of 1..m steps, where the kernel is not known exactly.

    Raises
    ------
    NotApplicableError
        When the diameter of every m-step kernel is infinite and the chain has no length.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(contraction(chain, Pure(1.0)).value, 6)
    4.813705
    """
    if diameters is None:
        diameters = skip_diameters(chain)
    if chain.length is None:
        value, jump = limit_with_skipping(guarantee.largest, diameters)
        if math.isinf(value):
            raise NotApplicableError(
                f"the kernel tells states apart for ever (D(P^m) infinite up to m={_MAX_SKIP}); "
                "give the chain a length for a finite bound"
            )
        note = "" if jump == 1 else f"jumps of {jump} records"
        return Bound(value, "upper bound", _certificate(), None, Witness(None, note=note))
    eps = guarantee.vector(chain.length)
    right = side_costs(eps, diameters)
    left = side_costs(eps[::-1], mirrored(diameters))[::-1]
    per_record = (eps + right + left) * (1.0 + ROUNDING)
    # rounding must not lift the result above the sum of epsilons
    per_record = np.minimum(per_record, float(eps.sum()))
    if chain.homogeneous:
        longest = limit_with_skipping(guarantee.largest, diameters)[0]
        per_record = np.minimum(per_record, longest)
    target = int(per_record.argmax())
    value = float(per_record[target])
    return Bound(value, "upper bound", _certificate(), per_record, Witness(target))


def _certificate() -> Certificate:
    return Certificate("contraction", REFERENCE)
