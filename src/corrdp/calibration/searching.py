"""The largest epsilon that keeps a target, found by inverting the leakage.

Levels for people, and on a coarse public scale: what a level may say of private data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from typing import Any

from corrdp._checks import check_number
from corrdp._invert import last_below
from corrdp.bounds.chains.seasons import chain_diameters
from corrdp.bounds.chains.windows import block_diameters, switched
from corrdp.bounds.contraction import limit_with_skipping
from corrdp.bounds.leakage import Leakage, leakage_in
from corrdp.bounds.scope import Reach, scope_of
from corrdp.calibration.noise import LaplaceNoise, Noise
from corrdp.errors import InfeasibleError, InputError, NotApplicableError
from corrdp.models.base import Model, RealModel
from corrdp.models.chains.chain import SwitchingChain
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain
from corrdp.queries import Query, Sum

_PRECISION = 1e-9  # of epsilon, relative
_COARSE = 1e-6  # the same where the leakage itself is found in steps: of chains of order k
LONG = 10_000  # a longer chain is searched as one of any length, which leaks no less
SHARP = 16  # states up to which every bound is tried where many are; beyond, the quick one
_SMALLEST = 1e-9  # relative to the target: less noise than this is no answer


@dataclass(frozen=True, eq=False)
class Search:
    """How leakage is measured for a query: by which bounds, and how sure of the model.

    Parameters
    ----------
    query : Query
    method : str
    confidence : float or None
    noise : LaplaceNoise or GaussianNoise
        What its levels are: they rise as the noise falls.
    unit : optional
        What is protected, as in :func:`corrdp.leakage`.
    within : float
        How close to the largest level the search comes, relative: a price that is only compared
        need not be found to the last digit.
    """

    query: Query
    method: str = "best"
    confidence: float | None = None
    noise: Noise = LaplaceNoise()  # noqa: RUF009 (frozen)
    unit: Any = None
    within: float = _PRECISION

    def leakage(self, model: Model, level: float, reach: Reach | None = None) -> Leakage:
        """What a release at this level leaks on the model; ``reach`` is left by a neighbour."""
        # on real records it is the query's clipping and rounding that the bounds are about
        narrow = self.method == "exact" or isinstance(model, RealModel)
        plain = narrow and isinstance(self.noise, LaplaceNoise)
        asked = level if plain else self.noise.guarantee(model, self.query, level)
        query = self.query if narrow else None
        chance = {"delta": self.noise.delta, "unit": self.unit}
        scope = scope_of(model, asked, query, None, self.confidence, **chance)
        return leakage_in(model, replace(scope, reach=reach or Reach()), self.method)

    def largest(self, model: Model, target: float) -> float:
        """Largest level whose leakage is at most the target, up to rounding. Three to six steps.

        Where the leakage is a search over distances, each step begins at the distance that the one
        before ended at: its value may differ in the eleventh digit from one that begins anew.
        """
        most = self.noise.most(target) * _room(model, self.query)
        law, found = any_length(model, self.query, self.unit), 0.0
        if law is not model:
            # where the bound grows with the length, or nearly so, the length itself says more
            with suppress(NotApplicableError, InfeasibleError):
                found = self._largest(law, target, most)
            if found >= self.noise.most(target) / (model.length or 1):
                return found
        return self._largest(model, target, most)

    def _largest(self, law: Model, target: float, most: float) -> float:
        reach = Reach()

        def value(level: float) -> float:
            return self.leakage(law, level, reach).value

        start = _start(law, target) / target * self.noise.most(target)
        steps = isinstance(law, SwitchingChain | WindowChain)
        steps = steps or (isinstance(law, SeasonalChain) and law.order > 1)
        within = max(self.within, _COARSE if steps else _PRECISION)
        found = largest_level(value, target, most, start, within=within)
        if found > 2.0 * most * _SMALLEST or value(found) <= target:
            return found
        least, level = value(found * _SMALLEST), self.noise.epsilon(self.query, found * _SMALLEST)
        other = "" if self.method == "best" else ", or try every bound (method='best')"
        if law.private_epsilon:
            raise too_much_spent(law.private_epsilon, least, target)
        raise InfeasibleError(
            f"{self.method} proves no leakage below {least:.4f} on this model, not even at epsilon "
            f"{level:.1g}; ask for a target above that{other}"
        )


def too_much_spent(spent: float, least: float, target: float) -> InfeasibleError:
    """The error where a private fit leaves nothing of the target."""
    return InfeasibleError(
        f"the private fit of these records (epsilon {spent:.6g}) alone leaks {least:.6g}, more "
        f"than the target {target:g}; ask for a larger target, or fit with another epsilon: a "
        "smaller one leaks less and knows the chain less well"
    )


def largest_level(
    value: Callable[[float], float],
    target: float,
    most: float,
    start: float,
    *,
    within: float = _PRECISION,
) -> float:
    """The largest level up to ``most`` with value(level) <= target; a rising value, from ``start``.

    What is returned was evaluated, unless it is the least level that is an answer.
    """

    def off(share: float) -> float:
        found = value(most * math.exp(share))
        return math.log(found / target) if found > 0.0 else -math.inf

    # ln value is close to linear in ln epsilon
    ends = math.log(_SMALLEST), 0.0
    return most * math.exp(last_below(off, *ends, math.log(start / most), within=within))


def check_level(name: str, value: float | None) -> float:
    return check_number(name, value, above=0)


def _room(model: Model, query: Query) -> float:
    """How far epsilon can lie above the target: the record itself leaks epsilon over this.

    Never going past the target keeps the release target-DP as well. Only where the secret range
    is narrower than the query does less noise keep the promise.
    """
    secret = model.secret_range if isinstance(model, RealModel) else None
    if secret is None or not isinstance(query, Sum):
        return 1.0
    return max(1.0, query.width / (secret[1] - secret[0]))


def any_length(model: Model, query: Query | None = None, unit: Any = None) -> Model:
    """A long chain of one kernel, or of seasons, without its length: it leaks no less, and takes
    less to search."""
    length = 0 if unit in ("person", model.length) else model.length or 0
    if length <= LONG or not isinstance(model, MarkovChain | SeasonalChain):
        return model
    if isinstance(model, MarkovChain) and not model.homogeneous:
        return model
    if getattr(query, "records", None) is not None:
        return model
    return model.with_length(None)


def _start(model: Model, target: float) -> float:
    """Where to begin: on a chain, what its contraction allows at any length, or the sum does."""
    if isinstance(model, SeasonalChain):
        table, order = chain_diameters(model)[0], model.order
    elif isinstance(model, WindowChain):
        table, order = block_diameters(model), model.order
    elif isinstance(model, SwitchingChain):
        table, order = switched(model, None), model.order
    elif isinstance(model, MarkovChain):
        table, order = model.skips.table, 1
    else:
        return target
    diameters = table.max(axis=0)[None]
    forgets = largest_level(
        lambda level: limit_with_skipping(order * level, diameters)[0], target, target, target
    )
    return max(forgets, target / (model.length or math.inf))


# ten steps a decade (Renard's series R10): a level rounded to them tells a few bits
_STEPS = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
_NOISE = 1e-9  # a share that lies above a round number by less is that number


def in_digits(level: float) -> str:
    """A level in four digits, rounded up.

    Examples
    --------
    >>> in_digits(.9999999997), in_digits(.18462337), in_digits(2.0)
    ('1', '0.1847', '2')
    """
    context = Context(prec=4, rounding=ROUND_CEILING)
    return f"{float(context.create_decimal(repr(float(level)))):.4g}"


def percent(share: float, *, up: bool | None = None) -> str:
    """A share in percent: to the nearest tenth, or up, or down; finer near 0 and 100 %.

    Examples
    --------
    >>> percent(.7310585786, up=True), percent(.7310585786), percent(.99966465, up=True)
    ('73.2 %', '73.1 %', '99.967 %')
    """
    rest = 100.0 * min(share, 1.0 - share)
    digits = 1 if rest >= 1 or rest < 1e-9 else 1 - math.floor(math.log10(rest))
    tenths = 100.0 * share * 10**digits
    whole = round(tenths) if up is None else _whole(tenths, up=up)
    return f"{whole / 10**digits:.{digits}f} %"


def _whole(value: float, *, up: bool) -> int:
    nearest = round(value)
    near = abs(value - nearest) <= _NOISE * max(1.0, value)
    return nearest if near else math.ceil(value) if up else math.floor(value)


def step_up(value: float) -> float:
    """The least step of the scale that is at least ``value``.

    Examples
    --------
    >>> step_up(.4627), step_up(2.0), step_up(8.01)
    (0.5, 2.0, 10.0)
    """
    return min(step for step in _around(value) if step >= value)


def step_down(value: float) -> float:
    """The largest step of the scale that is at most ``value``.

    Examples
    --------
    >>> step_down(.2498), step_down(2.0), step_down(1e-3)
    (0.2, 2.0, 0.001)
    """
    return max(step for step in _around(value) if step <= value)


def _around(value: float) -> list[float]:
    decade = math.floor(math.log10(value))
    # read from text: a step is the same number however it was reached
    return [float(f"{s}e{decade + d}") for d in (-1, 0, 1) for s in _STEPS]


def check_told_levels(
    model: Model, epsilon: float, target: float, leakage: float, sigma: float | None = None
) -> None:
    """Refuse levels that spell out a model learned from the data.

    The leakage of a chosen epsilon, and the epsilon of a chosen target, are functions of the
    fitted numbers; with all their digits they can be inverted. A private fit may be told. Of
    Gaussian noise it is sigma that is chosen or searched, and epsilon follows from it.
    """
    if model.fitted is None or model.private_epsilon is not None:
        return
    rounded = step_up(target) == target
    # a chosen epsilon: the target is its leakage; a searched epsilon meets its target closely
    if target == leakage:
        told = not rounded
    else:
        # a ledger draws at the last double below the step
        steps = (epsilon, math.nextafter(epsilon, math.inf))
        coarse = any(step_down(level) == level for level in steps)
        coarse = coarse if sigma is None else step_up(sigma) == sigma
        told = not coarse and not (rounded and leakage < target * (1 - 1e-6))
    if not told:
        return
    raise InputError(
        f"epsilon={epsilon:.6g} and target={target:.6g} have digits that tell what was fitted from "
        "the private data; calibrate with coarse=True (release --public) for what is handed out"
    )
