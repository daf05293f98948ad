"""Noise from OpenDP and exact lies: the only place where noise for a release is drawn.

Lies come from the operating system's cryptographic generator, on a grid where every law is exact. A
report is decided by one random word of 32 bits compared with whole-number thresholds: no
floating-point number is drawn, so probabilities are exactly multiples of 1/2^32. Lies are rounded
up to that grid, which never raises a leakage. Nothing is kept between calls: a stream may call with
one record at a time, and two processes never share noise as forks of one buffer would.
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from corrdp._checks import check_kind
from corrdp._lazy import need
from corrdp.errors import InputError, RefusedError
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse, CorrelatedResponse, check_flip, state_numbers

# OpenDP saturates at the ends of 64-bit integers, and answers keep to half of the range: noise of
# a 64th of the other half stays inside but for e^-64 of the draws
_WIDEST = 2.0**56
_NARROWEST = 1 / 700  # below, noise other than 0 has probability under e^-700
_NARROWEST_GAUSSIAN = 1 / math.sqrt(1400)


def integer_mechanism(cells: int, sensitivity: int, epsilon: float, scale: float) -> Any:
    """OpenDP's discrete Laplace mechanism on whole numbers, and its scale.

    Parameters
    ----------
    cells : int
        How many numbers are released together.
    sensitivity : int
        l1 sensitivity of all of them to one changed record.
    epsilon : float
        What OpenDP itself must prove; the scale is raised by the least steps until it does.
    scale : float
        Where to start, about ``sensitivity / epsilon``.

    Returns
    -------
    measurement, scale
    """
    if not scale <= _WIDEST:
        raise RefusedError(
            f"epsilon={epsilon:.3g} needs noise of scale {scale:.3g} grid steps, beyond 64-bit "
            "integers; choose a larger target"
        )
    if not scale >= _NARROWEST:
        raise RefusedError(
            f"epsilon={epsilon:.3g} would add no noise at all; choose a smaller target"
        )
    need("noise")
    # not its prelude, which loads scikit-learn, polars and pandas where they are installed
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import absolute_distance, l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    number = atom_domain(T="i64")
    if cells == 1:
        domain, metric = number, absolute_distance(T="i64")
    else:
        domain, metric = vector_domain(number), l1_distance(T="i64")
    while True:
        measurement = make_laplace(domain, metric, scale=scale)
        # OpenDP rounds its proof up: at the calibrated scale it may be an ulp above epsilon
        if measurement.map(sensitivity) <= epsilon:
            return measurement, scale
        scale = math.nextafter(scale, math.inf)


def gaussian_mechanism(cells: int, squared_steps: int, rho: float, scale: float) -> Any:
    """OpenDP's discrete Gaussian mechanism on whole numbers, and its scale.

    Its noise has ``Pr[Z = k]`` proportional to ``exp(-k^2 / (2 scale^2))``, the law of
    :class:`~corrdp.mechanisms.discrete_gaussian.DiscreteGaussian`.

    Parameters
    ----------
    cells : int
        How many numbers are released together.
    squared_steps : int
        Square of the l2 sensitivity of all of them to one changed record.
    rho : float
        zCDP that OpenDP itself must prove; the scale is raised by the least steps until it does.
    scale : float
        In steps.

    Returns
    -------
    measurement, scale
    """
    if not scale <= _WIDEST:
        raise RefusedError(
            f"noise of scale {scale:.3g} grid steps is beyond 64-bit integers; choose a larger "
            "target"
        )
    if not scale >= _NARROWEST_GAUSSIAN:
        raise RefusedError(
            f"a scale of {scale:.3g} grid steps would add no noise at all; choose a smaller target"
        )
    need("noise")
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import absolute_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    number = atom_domain(T="i64")
    for _ in range(64):
        if cells == 1:
            measurement = make_gaussian(number, absolute_distance(T="i64"), scale=scale)
            proved = measurement.map(math.isqrt(squared_steps - 1) + 1)  # rounded up
        else:
            domain = vector_domain(number)
            measurement = make_gaussian(domain, l2_distance(T="f64"), scale=scale)
            proved = measurement.map(_root_up(squared_steps))
        # OpenDP rounds its proof up, by a few ulps of it
        if proved <= rho * (1 + 2.0**-48):
            return measurement, scale
        scale = math.nextafter(scale, math.inf)
    raise RefusedError(
        f"OpenDP proves zCDP of {proved:.9g} for this noise, and {rho:.9g} was promised: nothing "
        "was drawn"
    )


def _root_up(square: int) -> float:
    """A square root that is not below the exact one."""
    root = math.sqrt(square)
    return root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)


def choosing_mechanism(denominator: int, sensitivity: int, epsilon: float, scale: float) -> Any:
    """OpenDP's mechanism that draws a number whose loss is small, and its scale.

    It adds exponential noise to the losses and takes the number with the least (the law of
    permute-and-flip).

    Parameters
    ----------
    denominator : int
        Losses are whole numbers: so many to one record.
    sensitivity : int
        By how much one changed record can change each of them.
    epsilon : float
        What OpenDP itself must prove.
    scale : float
        Where to start, in records.

    Returns
    -------
    measurement, scale

    References
    ----------
    McKenna and Sheldon, "Permute-and-flip: a new mechanism for differentially private selection"
    (2020); Ding et al., "The permute-and-flip mechanism is identical to report-noisy-max with
    exponential noise" (2021).
    """
    if not _NARROWEST <= scale <= _WIDEST / denominator:
        raise RefusedError(
            f"epsilon={epsilon:.3g} for a choice is no usable noise; choose another target"
        )
    need("noise")
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64"), max_divergence()
    while True:
        measurement = make_noisy_max(*space, scale=scale * denominator, negate=True)
        if measurement.map(sensitivity) <= epsilon:
            return measurement, scale
        scale = math.nextafter(scale, math.inf)


def with_noise(measurement: Any, exact: Sequence[int]) -> list[int]:
    """The exact numbers plus noise."""
    return list(measurement(list(exact))) if len(exact) > 1 else [measurement(exact[0])]


WORD = 32
GRID = 2**WORD
_GUIDE = 15  # bits of a table of reports: it stays in the cache as well
_CHUNK = 2**16  # words drawn at once, which stay in the cache


def _words(n: int) -> np.ndarray:
    return np.frombuffer(os.urandom(n * WORD // 8), dtype=np.uint32)


def grid_flip(rate: float) -> float:
    r"""A flip rate rounded up to the grid of the generator.

    .. math:: \lceil 2^{32} f \rceil / 2^{32}

    where f is the rate; 1/2 is on the grid, so the result is never above it. More lies, never
    fewer: both steps of a :class:`~corrdp.mechanisms.response.BinaryResponse` fall.

    Parameters
    ----------
    rate : float in [0, 1/2]

    Examples
    --------
    >>> grid_flip(.25), grid_flip(.3) * 2**32
    (0.25, 1288490189.0)
    """
    # scaling by a power of two is exact
    return math.ceil(check_flip("rate", rate) * GRID) / GRID


def _threshold(name: str, rate: float) -> int:
    scaled = check_flip(name, rate) * GRID
    if not scaled.is_integer():
        raise InputError(
            f"{name}={rate} is not a multiple of 1/2^{WORD}, so it cannot be drawn exactly; "
            f"use grid_flip({name})"
        )
    return int(scaled)


def flip_bits(x: Any, flip0: float, flip1: float) -> np.ndarray:
    """Randomized response with cryptographic noise: the sanitized series, one byte per record.

    Parameters
    ----------
    x : array of bool or uint8
        Records, 0 or 1.
    flip0, flip1 : float
        Flip rates on the grid; see :func:`grid_flip`.

    Returns
    -------
    array of uint8 in the shape of ``x``

    References
    ----------
    Mironov, "On significance of the least significant bits for differential privacy" (2012), on
    why noise must not be drawn as floating-point numbers.

    Examples
    --------
    >>> flip_bits(np.array([0, 1, 1], dtype=np.uint8), 0, 0).tolist()
    [0, 1, 1]
    """
    try:
        records = np.asarray(x)
    except ValueError:
        raise InputError("x must hold 0 and 1 in rows of equal length") from None
    if records.dtype not in (np.uint8, bool):
        raise InputError(
            f"x must hold 0 and 1 as uint8 or bool, got dtype {records.dtype}; "
            "use x.astype(numpy.uint8) when every value is 0 or 1"
        )
    records = records.astype(np.uint8, order="C", copy=False)
    if records.size and records.max() > 1:
        where = tuple(int(i) for i in np.argwhere(records > 1)[0])
        raise InputError(f"x{list(where)} = {records[where]} is neither 0 nor 1")
    limits = np.array([_threshold("flip0", flip0), _threshold("flip1", flip1)], dtype=np.uint32)
    flat, reports = records.ravel(), np.empty(records.size, dtype=np.uint8)
    for first in range(0, flat.size, _CHUNK):
        part = flat[first : first + _CHUNK]
        lies = _words(part.size) < limits.take(part)
        np.bitwise_xor(part, lies, out=reports[first : first + _CHUNK])
    return reports.reshape(records.shape)


def grid_thresholds(mechanism: BinaryResponse | GRR) -> np.ndarray:
    r"""Thresholds that draw a response exactly, with at most the mechanism's DP level.

    A word w reports the state y of record x with ``T[x, y-1] <= w < T[x, y]``. Each lie of GRR has

    .. math:: j = \Big\lceil \frac{2^{32}}{e^\varepsilon + k - 1} \Big\rceil

    words of 2^32 and the truth the rest, where k is the number of states; flip rates are rounded
    up as by :func:`grid_flip`.

    Parameters
    ----------
    mechanism : BinaryResponse or GRR
        An epsilon of GRR so small that the grid has no such law is refused.

    Returns
    -------
    (k, k) array of uint64
        Cumulated numbers of words; the last of each row is 2^32.

    Examples
    --------
    >>> grid_thresholds(BinaryResponse(.25)).tolist()
    [[3221225472, 4294967296], [1073741824, 4294967296]]
    """
    if isinstance(mechanism, BinaryResponse):
        channel = mechanism.channel()
        lies0, lies1 = (int(grid_flip(channel[x, 1 - x]) * GRID) for x in (0, 1))
        words = np.array([[GRID - lies0, lies0], [lies1, GRID - lies1]], dtype=np.uint64)
    elif isinstance(mechanism, GRR):
        lies = _lying_words(mechanism.k, mechanism.epsilon)
        words = np.full((mechanism.k, mechanism.k), lies, dtype=np.uint64)
        np.fill_diagonal(words, GRID - (mechanism.k - 1) * lies)
    else:
        raise InputError(f"thresholds are made for BinaryResponse and GRR, got {mechanism!r}")
    return words.cumsum(axis=1, dtype=np.uint64)


def _lying_words(k: int, epsilon: float) -> int:
    """How many words tell each lie, so that neither truth / lie nor lie / truth exceeds e^eps."""
    with localcontext() as context:
        context.prec = 60  # the quotient has ten digits before the point: never rounded down
        ratio = Decimal(epsilon).exp()
        lies = int((GRID / (ratio + k - 1)).to_integral_value("ROUND_CEILING"))
        truth = GRID - (k - 1) * lies
        if truth <= 0 or lies > truth * ratio:
            raise InputError(
                f"epsilon={epsilon} is too small for {k} states on a grid of 1/2^{WORD}: rounding "
                f"alone makes a difference of about {k * k / GRID:.1g}; use a larger epsilon"
            )
    return lies


def report_states(x: Any, thresholds: np.ndarray) -> np.ndarray:
    """One report per record with cryptographic noise, for any number of states.

    Parameters
    ----------
    x : array of int
        Records as state numbers.
    thresholds : (k, k) array of uint64
        From :func:`grid_thresholds`.

    Returns
    -------
    array of int64 in the shape of ``x``

    Examples
    --------
    >>> never = grid_thresholds(BinaryResponse(0))
    >>> report_states([0, 1, 1], never).tolist()
    [0, 1, 1]
    """
    table = check_kind("thresholds", thresholds, np.ndarray, "what grid_thresholds returns")
    k = len(table) if table.ndim == 2 and table.dtype == np.uint64 else 0
    rising = k and (table[:, 1:] >= table[:, :-1]).all()
    if not rising or table.shape != (k, k) or (table[:, -1] != GRID).any():
        raise InputError("thresholds must be what grid_thresholds returns")
    records = state_numbers("x", x, k)
    # one sorted table for all rows: row x begins at word x * 2^32
    table = (table + (np.arange(k, dtype=np.uint64) << np.uint64(WORD))[:, None]).ravel()
    bits = max(min(_GUIDE, records.size.bit_length()) - k.bit_length(), 1)
    guide, other_bits = _decided(table, k, bits), np.uint64(WORD - bits)
    flat, reports = records.ravel(), np.empty(records.size, dtype=np.int64)
    for first in range(0, flat.size, _CHUNK):
        part = flat[first : first + _CHUNK]
        keys = part.astype(np.uint64) << np.uint64(WORD)
        keys += _words(part.size)
        found = guide.take((keys >> other_bits).view(np.int64))
        rest = np.flatnonzero(found < 0)
        found[rest] = table.searchsorted(keys[rest], side="right") - part[rest] * k
        reports[first : first + _CHUNK] = found
    return reports.reshape(records.shape)


def correlated_bits(mechanism: CorrelatedResponse, n: int, last: int | None = None) -> np.ndarray:
    """Noise bits of a correlated response with cryptographic noise, exactly by its law. O(n).

    A word below rate0 sets the next bit to 1, one in the last rate1 of all words sets it to 0, and
    the others keep it; the first bit is one of rate0 + rate1 equal chances.

    Parameters
    ----------
    mechanism : CorrelatedResponse
        Rates that are multiples of 2^-32 and together at most 1.
    n : int
    last : {0, 1}, optional
        The bit before the first, where these go on.

    Examples
    --------
    >>> int(correlated_bits(CorrelatedResponse(.5, .5), 1000).sum()) in range(300, 700)
    True
    """
    ones, zeros = (int(rate * GRID) for rate in (mechanism.rate0, mechanism.rate1))
    if (ones / GRID, zeros / GRID) != (mechanism.rate0, mechanism.rate1) or ones + zeros > GRID:
        raise InputError("rates must be multiples of 2^-32 and together at most 1")
    words = _words(n).astype(np.int64)
    to_one = words < ones
    sets = to_one | (words >= GRID - zeros)
    if last is None:
        sets[:1], to_one[:1] = True, secrets.randbelow(ones + zeros) < ones
    # before the first setting step the bit is still the last one
    place = np.maximum.accumulate(np.where(sets, np.arange(n), -1))
    return np.where(place < 0, last or 0, to_one[place]).astype(np.int64)


def _decided(table: np.ndarray, k: int, bits: int) -> np.ndarray:
    """The report that the first bits of a word decide, row by row; -1 where they do not."""
    other_bits = np.uint64(WORD - bits)
    keys = np.arange(k << bits, dtype=np.uint64) << other_bits
    least = table.searchsorted(keys, side="right")
    most = table.searchsorted(keys + ((np.uint64(1) << other_bits) - np.uint64(1)), side="right")
    decided = np.where(least == most, least - np.arange(k).repeat(1 << bits) * k, -1)
    return decided.astype(np.int32)
