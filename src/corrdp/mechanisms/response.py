"""Randomized response: every record is reported by itself, sometimes wrongly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import Pure
from corrdp.mechanisms.base import check_positive, check_rng, steps

_LARGEST_EPSILON = 700.0  # beyond, a lie has probability 0 in floating point


def state_numbers(name: str, values: Any, k: int) -> np.ndarray:
    """State numbers 0..k-1; anything else is an error that names the first culprit."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise InputError(f"{name} must be state numbers, in rows of one length") from None
    if not (array.dtype == bool or np.issubdtype(array.dtype, np.integer)) or not array.size:
        raise InputError(
            f"{name} must be state numbers 0..{k - 1} as whole numbers, got dtype {array.dtype} "
            f"and shape {array.shape}"
        )
    outside = (array < 0) | (array >= k)
    if outside.any():  # a single number has no place
        where = tuple(int(i) for i in np.argwhere(outside)[0])
        place = list(where) if where else ""
        raise InputError(f"{name}{place} = {array[where]} is not among the states 0..{k - 1}")
    return array.astype(np.int64)  # unsigned numbers would turn to floats when added to signed ones


def paired_numbers(y: Any, x: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Reports and records as state numbers, one report for each record."""
    reports, records = state_numbers("y", y, k), state_numbers("x", x, k)
    if reports.shape != records.shape:
        raise InputError(f"one report per record: y has shape {reports.shape}, x {records.shape}")
    return reports, records


def check_flip(name: str, value: Any) -> float:
    """``value`` as a float, refused unless it is a flip rate in [0, 1/2]."""
    rate = check_number(name, value)
    if not 0 <= rate <= 0.5:
        raise InputError(
            f"{name} must lie in [0, 1/2], got {rate}; swap the two reports if they are "
            "wrong more often than right"
        )
    return rate


@dataclass(frozen=True)
class BinaryResponse:
    r"""Binary randomized response, with its own flip rate for each value.

    .. math:: \varepsilon = \max\Big\{\ln\frac{1 - f_0}{f_1}, \ln\frac{1 - f_1}{f_0}\Big\}

    where

    - f_0 is Pr[report 1 | 0],
    - f_1 is Pr[report 0 | 1].

    Parameters
    ----------
    flip0 : float in [0, 1/2]
    flip1 : float in [0, 1/2], optional
        The same as ``flip0`` when left out.

    References
    ----------
    Warner, "Randomized response" (1965).

    Examples
    --------
    >>> BinaryResponse(.25).channel().tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    >>> BinaryResponse(.3, .2).steps().round(6).tolist()
    [[0.0, 1.252763], [0.980829, 0.0]]
    """

    flip0: float
    flip1: float | None = None

    def __post_init__(self) -> None:
        for name in ("flip0", "flip1"):
            value = self.flip0 if getattr(self, name) is None else getattr(self, name)
            object.__setattr__(self, name, check_flip(name, value))

    @classmethod
    def for_epsilon(cls, epsilon: float) -> BinaryResponse:
        r"""The symmetric response with flip rate :math:`1/(1 + e^\varepsilon)`.

        Rounded so that its guarantee is never above ``epsilon``.

        Parameters
        ----------
        epsilon : float
            The DP level, above 1e-12 (a smaller one cannot be told from a fair coin).

        Examples
        --------
        >>> round(BinaryResponse.for_epsilon(1.0).flip0, 7)
        0.2689414
        """
        level = check_positive("epsilon", epsilon)
        if not 1e-12 <= level <= _LARGEST_EPSILON:
            raise InputError(f"epsilon must lie in [1e-12, {_LARGEST_EPSILON:g}], got {level}")
        flip = math.exp(-level) / (1 + math.exp(-level))
        while cls(flip).guarantee.largest > level:
            # an ulp of the level, not of the flip rate: at 700 these differ by a thousand times
            flip = min(0.5, flip * (1 + 2.0**-52 * (1 + level)))
        return cls(flip)

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP at the larger of the two steps, rounded up."""
        level = float(self.steps().max())
        if not math.isfinite(level):
            raise GuaranteeError(
                f"flip0={self.flip0}, flip1={self.flip1}: with a flip rate of 0 one of the "
                "reports proves the record, so no finite epsilon holds; use rates above 0"
            )
        return Pure(level)

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One report per record: an array of 0 and 1 in the shape of ``x``."""
        check_rng(rng)
        records = state_numbers("x", x, 2)
        flipped = rng.random(records.shape) < self.channel()[records, 1 - records]
        return np.where(flipped, 1 - records, records)

    def logpmf(self, y: Any, x: Any) -> float:
        """Log probability of all reports ``y`` given all records ``x``."""
        reports, records = paired_numbers(y, x, 2)
        with np.errstate(divide="ignore"):
            return float(np.log(self.channel())[records, reports].sum())

    def channel(self) -> np.ndarray:
        """``Q[x, y] = Pr[report y | record x]``."""
        flip1 = self.flip0 if self.flip1 is None else self.flip1
        return np.array([[1 - self.flip0, self.flip0], [flip1, 1 - flip1]])

    def steps(self) -> np.ndarray:
        """``E[0, 1] = ln((1 - flip0)/flip1)``, ``E[1, 0] = ln((1 - flip1)/flip0)``, rounded up."""
        return steps(self.channel())
