"""Calibrating randomized response: the flip rates that distort a series least and keep a target."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp._invert import settle
from corrdp.bounds.chains.transfer import transfer
from corrdp.bounds.chains.uninformed import free_transfer, uninformed_by_steps
from corrdp.bounds.contraction import contraction
from corrdp.bounds.scope import Bound, Reach
from corrdp.calibration.searching import LONG, SHARP, largest_level, too_much_spent
from corrdp.errors import InfeasibleError, InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import check_positive
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse
from corrdp.mechanisms.sample import GRID
from corrdp.models.chains.markov import MarkovChain

Knowledge = Literal["all", "none"]

_HALF = GRID // 2
_EXACT = 1e-12  # of a level, relative: finer than the grid
_FINE = 2**10  # where the boundary is searched: width, in grid points, at which the search ends


@dataclass(frozen=True, eq=False)
class Flips:
    """Flip rates that keep a target, and the proof.

    Parameters
    ----------
    flip0, flip1 : float
        Pr[report 1 | 0] and Pr[report 0 | 1]; multiples of 2^-32.
    rate : float
        Expected share of reports that differ from their record.
    target : float
        The leakage promised.
    leakage : Bound
        What the response leaks, at most the target.
    """

    flip0: float
    flip1: float
    rate: float
    target: float
    leakage: Bound

    def __float__(self) -> float:
        return self.rate

    @property
    def mechanism(self) -> BinaryResponse:
        """The response itself."""
        return BinaryResponse(self.flip0, self.flip1)

    @property
    def says_nothing(self) -> bool:
        """Whether the reports are coin tosses: the target leaves no room for information."""
        return self.flip0 == self.flip1 == 0.5


def least_flips(
    chain: MarkovChain,
    target: float,
    *,
    symmetric: bool = False,
    adversary: Knowledge = "all",
) -> Flips:
    r"""Flip rates of least expected distortion whose leakage keeps a target.

    .. math:: \min w_0 f_0 + w_1 f_1 \quad \text{subject to} \quad L(f_0, f_1) \le \text{target}

    where

    - f_0 is Pr[report 1 | 0], f_1 is Pr[report 0 | 1], both at most 1/2,
    - w_0, w_1 are the shares of 0 and 1 in the series,
    - L is the leakage of the whole published series about one record (chains#transfer, exact).

    Rates are rounded up to multiples of 2^-32 and the leakage is evaluated at the rounded rates.

    Parameters
    ----------
    chain : MarkovChain
        With two states.
    target : float
        BDP level to promise.
    symmetric : bool
        Whether both rates must be the same.
    adversary : "all" or "none"
        Whom the promise holds against: every adversary, or only one who knows no other record
        (less noise, and no promise at all against anyone who does know some).

    Returns
    -------
    Flips

    Raises
    ------
    InfeasibleError
        When a private fit of the same records has leaked more than the target already. Otherwise
        some rates always serve: reports that are coin tosses leak nothing.

    Notes
    -----
    Where neighbouring records are positively dependent, each direction of the leakage depends on
    one of the two steps ln((1-f0)/f1), ln((1-f1)/f0) alone, so that the feasible rates form a
    polygon and the optimum is one of its three corners: about 12 evaluations of the leakage.
    Otherwise one rate is the least for each value of the other, and that boundary is searched
    (to 2^-22).

    References
    ----------
    Chakrabarti, Gao, Saraf, Schoenebeck, Yu (2022), corollary 1; chains#least-distortion.

    Examples
    --------
    >>> chain = MarkovChain([[.8, .2], [.35, .65]])
    >>> flips = least_flips(chain, 2.0)
    >>> round(flips.flip0, 4), round(flips.flip1, 4), flips.leakage.value <= 2.0
    (0.3329, 0.2773, True)
    >>> round(least_flips(chain, 2.0, symmetric=True).rate, 4)
    0.3154
    """
    goal = check_positive("target", target)
    _check(chain, adversary)
    spent = _spent(chain)
    law, shares = _searchable(chain), _shares(chain)

    near = Reach()

    def value(steps: np.ndarray, reach: Reach | None = near) -> float:
        if adversary == "none":
            return free_transfer(law, steps).value
        return transfer(law, steps[None], reach).value

    def fits(k0: int, k1: int) -> bool:
        return value(_steps(k0, k1, spent)) <= goal

    _check_room(value(_steps(_HALF, _HALF, spent)), goal, spent)
    if symmetric:
        k0 = k1 = bisect_left(range(1, _HALF), True, key=lambda k: fits(k, k)) + 1
    elif _positively_dependent(chain):
        k0, k1 = _corner(value, goal, spent, shares)
    else:
        k0, k1 = _along_the_boundary(fits, shares)
    while value(_steps(k0, k1, spent), None) > goal:  # rounding at the last step
        k0, k1 = min(k0 + 1, _HALF), min(k1 + 1, _HALF)
    steps = _steps(k0, k1, spent)
    if adversary == "none":
        bound = uninformed_by_steps(chain, steps)
    else:
        bound = transfer(chain, steps[None])
    rate = float(shares @ np.array([k0, k1]) / GRID)
    return Flips(k0 / GRID, k1 / GRID, rate, goal, _said(bound, spent))


def least_grr(chain: MarkovChain, target: float) -> GRR:
    r"""Generalized randomized response of largest epsilon whose leakage keeps a target.

    .. math:: \varepsilon = \max\{e : L(e) \le \text{target}\}

    where

    - L(e) is the transfer bound of the chain for steps e, every adversary; above 16 states,
      where one value of it takes minutes, the contraction bound.

    Parameters
    ----------
    chain : MarkovChain
        With any number of states.
    target : float
        BDP level to promise.

    Returns
    -------
    GRR
        With epsilon rounded down.

    References
    ----------
    Inversion of chains#transfer or chains#contraction.

    Examples
    --------
    >>> chain = MarkovChain([[.6, .3, .1], [.2, .5, .3], [.1, .2, .7]], length=100)
    >>> round(least_grr(chain, 2.0).epsilon, 5)
    0.56086
    """
    goal = check_positive("target", target)
    s, spent = len(chain.states), _spent(chain)
    law, apart = chain if s > SHARP else _searchable(chain), 1.0 - np.eye(s)
    near = Reach()

    def value(level: float, reach: Reach | None = near) -> float:
        if s > SHARP:
            return contraction(law, Pure(level)).value if level > 0.0 else 0.0
        return transfer(law, level * apart[None], reach).value

    _check_room(value(spent), goal, spent)
    total = settle(_largest(value, goal), lambda level: value(level, None) <= goal, -1)
    level = math.nextafter(total - spent, 0.0)
    if level <= 0.0:
        raise InfeasibleError(
            f"the private fit (epsilon {spent:.6g}) takes the whole target {goal:.6g}: nothing is "
            "left for a response; ask for a larger target"
        )
    return GRR(s, level)


def published_flip(theta: float, epsilon: float) -> float:
    r"""Flip rate of the published closed form (chains#uninformed), for comparison.

    .. math:: \rho = \frac{2}{4 - 2\theta + u + \sqrt{u (u + 4 - 4\theta)}}, \quad
              u = \theta^2 e^\varepsilon

    where

    - theta = Pr[next record differs], the same from both states,
    - epsilon is the leakage promised.

    The form printed in the source is the same number with cancellation. It promises nothing
    against an adversary who knows records (use :func:`least_flips`), and against one who knows
    none it flips more than needed (``least_flips(..., symmetric=True, adversary="none")``).

    Parameters
    ----------
    theta : float in (0, 1/2]
    epsilon : float

    References
    ----------
    Chakrabarti, Gao, Saraf, Schoenebeck, Yu (2022), corollary 2.

    Examples
    --------
    >>> round(published_flip(.1, 1.0), 6), round(published_flip(.35, 2.0), 6)
    (0.482954, 0.334092)
    """
    _check_theta(theta)
    u = theta * theta * math.exp(min(check_positive("epsilon", epsilon), 700.0))
    return 2.0 / (4.0 - 2.0 * theta + u + math.sqrt(u) * math.sqrt(u + 4.0 - 4.0 * theta))


def zhao_flip(theta: float, epsilon: float, n: int | None = None) -> float:
    r"""Flip rate by the bounds of Zhao et al., for comparison.

    .. math:: \rho = \frac{1}{1 + e^{\tau}}, \quad
        \tau = \varepsilon - 6 \ln\frac{1 - \theta}{\theta} \quad\text{or}\quad
        \tau = \max_{1 \le t \le n/2} \frac{1}{2t - 1}
               \Big(\varepsilon - 6 \ln\frac{1 + (1 - 2\theta)^t}{1 - (1 - 2\theta)^t}\Big)

    where

    - theta = Pr[next record differs], the same from both states,
    - epsilon is the leakage promised, tau the DP level that is left,
    - n is the length of the series; without it the first form is used, with it the second.

    Where tau is not positive the bound proves nothing, and the answer is 1/2: coin tosses.

    Parameters
    ----------
    theta : float in (0, 1/2]
    epsilon : float
    n : int, optional
        At least 2.

    References
    ----------
    Zhao, Zhang, Poor, "Dependent differential privacy for correlated data" (2017), as used by
    Chakrabarti et al. (2022).

    Examples
    --------
    >>> round(zhao_flip(.35, 5.0, n=30), 6), round(zhao_flip(.1, 5.0, n=30), 6)
    (0.213209, 0.450463)
    """
    _check_theta(theta)
    goal = check_positive("epsilon", epsilon)
    t = np.arange(1, (2 if n is None else check_whole("n", n, 2)) // 2 + 1)
    power = (1.0 - 2.0 * theta) ** t
    level = float(((goal - 6.0 * (np.log1p(power) - np.log1p(-power))) / (2 * t - 1)).max())
    return 1.0 / (1.0 + math.exp(min(level, 700.0))) if level > 0.0 else 0.5


# -- the search ------------------------------------------------------------------------------


def _searchable(chain: MarkovChain) -> MarkovChain:
    """A long chain without its length, where it forgets: it leaks no less, and faster."""
    if not chain.homogeneous or (chain.length or 0) <= LONG:
        return chain
    endless = chain.with_length(None)
    try:
        transfer(endless, (1.0 - np.eye(len(chain.states)))[None])
    except NotApplicableError:  # the leakage grows with the length
        return chain
    return endless


def _steps(k0: int, k1: int, spent: float) -> np.ndarray:
    """Steps of the response with these grid points, those of a private fit added."""
    apart = 1.0 - np.eye(2)
    if k0 == k1 == _HALF:
        return spent * apart  # coin tosses: no step at all
    return BinaryResponse(k0 / GRID, k1 / GRID).steps() + spent * apart


def _largest(value: Callable[[float], float], goal: float) -> float:
    """The level in (0, goal] with value(level) = goal; a level leaks at least itself."""
    return largest_level(value, goal, goal, goal, within=_EXACT)


def _corner(
    value: Callable[[np.ndarray], float], goal: float, spent: float, shares: np.ndarray
) -> tuple[int, int]:
    """The best corner of f0 >= 1 - f1 e^{e0}, f1 >= 1 - f0 e^{e1}, f0 <= 1/2, f1 <= 1/2."""

    def allowed(way: np.ndarray) -> float:
        level = _largest(lambda e: value(e * way), goal) - spent
        return min(max(level, 0.0), 50.0)  # more asks for rates far below the grid

    one_way = np.array([[0.0, 1.0], [0.0, 0.0]])
    e0, e1 = allowed(one_way), allowed(one_way.T)
    a, b = math.exp(-e0), math.exp(-e1)
    corners = [(0.5, max(a / 2.0, 1.0 - 0.5 / b)), (max(b / 2.0, 1.0 - 0.5 / a), 0.5)]
    if e0 + e1 > 0.0:
        both = -math.expm1(-(e0 + e1))
        corners.append((-b * math.expm1(-e0) / both, -a * math.expm1(-e1) / both))
    fitting = [corner for corner in corners if max(corner) <= 0.5]
    best = min(fitting, key=lambda corner: float(shares @ np.array(corner)))
    k0, k1 = (min(max(math.ceil(rate * GRID), 1), _HALF) for rate in best)
    return k0, k1


def _along_the_boundary(fits: Callable[[int, int], bool], shares: np.ndarray) -> tuple[int, int]:
    """Least flips along k1 = least that fits with k0: a coarse scan, then golden sections."""
    boundary: dict[int, int] = {}

    def other(k0: int) -> int:
        """The least k1 that fits; it falls with k0, so known neighbours enclose it."""
        if k0 not in boundary:
            high = min((k1 for k, k1 in boundary.items() if k < k0), default=_HALF)
            low = max((k1 for k, k1 in boundary.items() if k > k0), default=1)
            found = bisect_left(range(low, high), True, key=lambda k1: fits(k0, k1))
            boundary[k0] = low + found
        return boundary[k0]

    def cost(k0: int) -> float:
        return float(shares @ np.array([k0, other(k0)]))

    least = bisect_left(range(1, _HALF), True, key=lambda k0: fits(k0, _HALF)) + 1
    points = np.unique(np.linspace(least, _HALF, 17).astype(int)).tolist()
    best = min(range(len(points)), key=lambda j: cost(points[j]))
    low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    while high - low > _FINE:
        step = round((high - low) * 0.381966)
        if cost(low + step) <= cost(high - step):
            high -= step
        else:
            low += step
    k0 = min(boundary, key=cost)
    return k0, boundary[k0]


# -- what is asked ---------------------------------------------------------------------------


def _check(chain: MarkovChain, adversary: str) -> None:
    if not isinstance(chain, MarkovChain):
        raise InputError(f"flip rates are calibrated for a MarkovChain, got {chain!r}")
    if len(chain.states) != 2:
        raise InputError(
            f"flip rates are for two states and the chain has {len(chain.states)}; use least_grr"
        )
    if adversary not in ("all", "none"):
        raise InputError(f"adversary must be 'all' or 'none', got {adversary!r}")


def _check_theta(theta: float) -> None:
    check_number("theta", theta, above=0, most=0.5)


def _check_room(least: float, goal: float, spent: float) -> None:
    if least > goal:
        raise too_much_spent(spent, least, goal)


def _spent(chain: MarkovChain) -> float:
    """Epsilon of a private fit of the same records: it is charged with the response."""
    spent = chain.private_epsilon
    return 0.0 if spent is None else float(spent)


def _said(bound: Bound, spent: float) -> Bound:
    if spent == 0.0:
        return bound
    said = f"the private fit of these records, epsilon {spent:.6g}, is included"
    assumptions = (*bound.certificate.assumptions, said)
    # the fit is some mechanism with its epsilon: nothing says that it attains the bound
    certificate = replace(bound.certificate, assumptions=assumptions)
    return replace(bound, kind="upper bound", certificate=certificate)


def _shares(chain: MarkovChain) -> np.ndarray:
    """Expected share of each state in the series."""
    if chain.initial is None or chain.length is None:
        return chain.stationary
    return chain.marginals.mean(axis=0)


def _positively_dependent(chain: MarkovChain) -> bool:
    """Whether a 0 is never less likely after a 0 than after a 1."""
    return bool((chain.transition[..., 0, 0] >= chain.transition[..., 1, 0]).all())
