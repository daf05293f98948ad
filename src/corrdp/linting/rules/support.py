"""L-01, L-02, L-02b, L-16: outputs that only the data themselves make possible."""

from __future__ import annotations

import math
from collections.abc import Iterator

from corrdp._checks import LONGEST, check_number, check_whole
from corrdp.errors import InputError
from corrdp.linting.description import AddedNoise, Description, Stage
from corrdp.metric.curves import check_level
from corrdp.results import Finding


def release_threshold(scale: float, delta: float, contribution: int = 1) -> float:
    r"""Noisy counts of observed rows may be published from here on, at (epsilon, delta).

    .. math:: \tau = \max\{c + b \ln\tfrac{1}{2\delta},\; 1 + b \ln\tfrac{1}{2\delta'}\},
              \qquad 1 - \delta' = (1 - \delta)^{1/c}

    where

    - b is the scale of the Laplace noise,
    - c is how many rows one unit adds at most: all to one key, or one to each of c keys; in
      between, the probability that a key appears is smaller, since it is convex.

    Parameters
    ----------
    scale : float
    delta : float in (0, 1/2]
        Probability with which something may show that only the data can explain.
    contribution : int

    References
    ----------
    audits#impossible-outputs; Korolova et al. (2009) for one row.

    Examples
    --------
    >>> round(release_threshold(1.0, 1e-5), 4)
    11.8198
    """
    b, mass = check_level("scale", scale), check_level("delta", delta, top=0.5)
    contribution = check_whole("contribution", contribution, most=LONGEST)
    if b == 0 or mass == 0:
        raise InputError(f"scale and delta must be above 0; got {scale}, {delta}")
    each = -math.expm1(math.log1p(-mass) / contribution)
    return max(contribution - b * math.log(2 * mass), 1 - b * math.log(2 * each))


def observed_keys(mechanism: Description) -> Iterator[Finding]:
    """L-01: only rows that occur in the data are counted; those that do not stay at zero."""
    level = mechanism.claim.level
    for part in _reaching(mechanism, "noise"):
        assert part.noise is not None
        mass = _shown(part, mechanism)
        if level.delta and mass is None:
            yield Finding(
                "L-01",
                "warning",
                mechanism.where(part),
                f"only rows that occur in the data are perturbed; that needs a threshold at which "
                f"a row of one unit shows with probability {level.delta:g} at most. State a "
                "Laplace scale and the threshold, or perturb every row of a public universe",
            )
        elif mass is None or mass > level.impossible(1):
            yield Finding("L-01", "error", mechanism.where(part), _observed(part, mechanism, mass))


def _observed(part: Stage, mechanism: Description, mass: float | None) -> str:
    level = mechanism.claim.level
    shows = "" if mass is None else f" with probability {mass:.6g}"
    allowed = level.impossible(1)
    words = (
        f"only rows that occur in the data are perturbed, the others stay at zero: a row of one "
        f"unit shows{shows} if it is there and never if it is not, a loss of inf ({level} allows "
        f"{allowed:g}). Perturb every row of a public universe, the empty ones too"
    )
    noise = part.noise
    if noise is None or noise.law != "laplace":
        return words
    if level.delta:
        scale = min(noise.scale)
        least = release_threshold(scale, min(level.delta, 0.5), _contribution(part, mechanism))
        return f"{words}; or publish noisy counts from {least:.6g} on only"
    return f"{words}; or publish large noisy counts only, and claim (epsilon, delta)"


def _contribution(part: Stage, mechanism: Description) -> int:
    """Rows that one unit adds at most."""
    query = mechanism.counted(part) or part.query
    if query is not None:
        return max(1, math.ceil(query.whole("add")))
    stated = part.sensitivity
    if stated is None or stated.l1 is None or math.isinf(stated.l1):
        return 1
    # a replaced unit takes rows away as well
    return max(1, math.ceil(stated.l1 if stated.change == "add" else stated.l1 / 2))


def _shown(part: Stage, mechanism: Description) -> float | None:
    """Probability that a unit's own rows show at all; None if that is not known."""
    noise = part.noise
    assert noise is not None
    if part.threshold is None:
        return 1.0
    if noise.law != "laplace":
        return None
    rows = _contribution(part, mechanism)
    scale = max(noise.scale)  # the noisiest level shows the most
    alone = laplace_tail(part.threshold - rows, scale)
    each = laplace_tail(part.threshold - 1, scale)
    return max(alone, 1.0 if each == 1 else -math.expm1(rows * math.log1p(-each)))


def laplace_tail(distance: float, scale: float) -> float:
    """Probability that Laplace noise is at least so large.

    Examples
    --------
    >>> round(laplace_tail(-.5, 1.0), 6)
    0.696735
    """
    distance = check_number("distance", distance)
    tail = 0.5 * math.exp(-abs(distance) / check_number("scale", scale, above=0))
    return tail if distance > 0 else 1 - tail


def observed_ranges(mechanism: Description) -> Iterator[Finding]:
    """L-02, L-02b: what can come out depends on the data."""
    level = mechanism.claim.level
    for part in _reaching(mechanism, "sampling"):
        if part.shown > level.impossible(1) * (1 + 1e-9):
            yield Finding(
                "L-02b" if level.delta else "L-02",
                "error",
                mechanism.where(part),
                f"a point is published as it is with probability {part.shown:g}, and never if it "
                f"is another one; {level} allows {level.impossible(1):g}. Perturb the points, or "
                f"claim delta {part.shown:g}",
            )
    for part in (*_reaching(mechanism, "exponential"), *_reaching(mechanism, "mechanism")):
        where = mechanism.where(part)
        if level.delta:
            yield Finding(
                "L-02b",
                "warning",
                where,
                f"what can come out depends on the data; outputs that a neighbour never gives may "
                f"have probability {level.delta:g} at most. Give the laws of a small case",
            )
        else:
            yield Finding(
                "L-02",
                "error",
                where,
                f"what can come out depends on the data: an output possible for one data set must "
                f"be possible for every other ({level} allows probability 0). Choose from a public "
                "set, such as the cells of a map",
            )


def _reaching(mechanism: Description, kind: str) -> list[Stage]:
    """Steps of a kind that see the data, get out, and have only observed outputs."""
    return [
        part
        for part in mechanism.steps
        if part.kind == kind
        and (part.observed or kind == "sampling")
        and mechanism.raw(part)
        and mechanism.reaches(part)
    ]


def cut_noise(mechanism: Description) -> Iterator[Finding]:
    """L-16: noise of bounded support around the true answer tells that answer apart."""
    level = mechanism.claim.level
    for part in mechanism.steps:
        noise = part.noise
        if noise is None or noise.support is None or not mechanism.raw(part):
            continue
        where = mechanism.where(part)
        if isinstance(noise.support, str):
            yield Finding(
                "L-16",
                "warning",
                where,
                "the noise is bounded, and its ends are not stated: ends around the true answer "
                f"leave outputs that a neighbour never gives. {_REPAIR}",
            )
            continue
        mass = _beyond(part, noise, mechanism)
        if level.delta and mass is None:
            yield Finding(
                "L-16",
                "warning",
                where,
                f"the noise ends at {noise.support[0]:g} and {noise.support[1]:g}; outputs that a "
                f"neighbour never gives may have probability {level.delta:g} at most. State the "
                f"sensitivity. {_REPAIR}",
            )
        elif mass is None or mass > level.impossible(1):
            share = "" if mass is None else f", of probability {mass:.6g} at least"
            yield Finding(
                "L-16",
                "error",
                where,
                f"the noise ends at {noise.support[0]:g} and {noise.support[1]:g} around the true "
                f"answer, which leaves outputs that a neighbour never gives{share}: a loss of inf "
                f"({level} allows {level.impossible(1):g}). {_REPAIR}",
            )


_REPAIR = "Draw noise on the whole line and clamp the noisy answer to a public range instead"


def _beyond(part: Stage, noise: AddedNoise, mechanism: Description) -> float | None:
    """Least probability of outputs beyond the neighbour's, whether noise is cut or clipped."""
    query = mechanism.counted(part) or part.query
    if noise.law != "laplace" or len(noise.scale) > 1 or query is None:
        return None
    shift = query.one_answer(mechanism.claim.change)
    assert isinstance(noise.support, tuple)
    low, high = noise.support
    scale = noise.scale[0]

    def least(inner: float, end: float) -> float:
        """Noise beyond the inner point, the end of it being at ``end``; both seen from below."""
        clipped = laplace_tail(inner, scale)
        cut = (clipped - laplace_tail(end, scale)) / inside
        return min(clipped, cut)

    inside = laplace_tail(low, scale) - laplace_tail(high, scale)
    # Laplace noise is symmetric: the lower end is the upper one turned round
    above, below = least(max(high - shift, low), high), least(max(-low - shift, -high), -low)
    return max(above, below)
