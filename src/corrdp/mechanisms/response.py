"""Randomized response: every record is reported by itself, sometimes wrongly, or lies in runs.

Where lies come in runs, the noise is a Markov chain of its own.
"""

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


# Each level is a sum of at most four logarithms of doubles, off by a few ulps of the largest;
# where that one is large the level is, too. Both kinds of error are put on top.
_SLACK = 2.0**-49


def _series(name: str, values: np.ndarray) -> np.ndarray:
    if values.ndim != 1:
        raise InputError(
            f"{name} must be one series, got shape {values.shape}: the noise runs along time, so "
            "call once for each series"
        )
    return values


@dataclass(frozen=True)
class CorrelatedResponse:
    r"""Binary randomized response with noise bits that form a stationary Markov chain.

    .. math:: z = x \oplus y, \qquad
              B = \begin{pmatrix} 1 - r_0 & r_0 \\ r_1 & 1 - r_1 \end{pmatrix}, \qquad
              \Pr[y_t = 1] = \frac{r_0}{r_0 + r_1}

    where

    - x are the records, z the reports and y the noise bits (1 is a lie), independent of x,
    - B is the kernel of y: r_0 is the chance that a lie follows a truth, r_1 that a truth follows
      a lie.

    ``rate0 + rate1 = 1`` is independent noise, a smaller sum makes lies come in runs. The noise of
    one record depends on that of the one before: unlike :class:`~corrdp.mechanisms.response.
    BinaryResponse` this mechanism keeps a state between records.

    Parameters
    ----------
    rate0 : float in [0, 1]
        At most ``rate1``: a report is not wrong more often than right.
    rate1 : float in [0, 1], above 0

    References
    ----------
    Chakrabarti, Gao, Saraf, Schoenebeck, Yu, "Optimal local Bayesian differential privacy over
    Markov chains" (2022), section 3.3. The DP level is not given there.

    Examples
    --------
    >>> noisy = CorrelatedResponse(.2, .6)
    >>> round(noisy.flip, 6)
    0.25
    >>> [round(noisy.level(n), 6) for n in (1, 2, 3)]
    [1.098612, 1.386294, 1.673976]
    """

    rate0: float
    rate1: float

    def __post_init__(self) -> None:
        for name in ("rate0", "rate1"):
            value = getattr(self, name)
            rate = check_number(name, value, least=0, most=1)
            object.__setattr__(self, name, rate)
        if self.rate1 == 0:
            raise InputError("rate1 = 0: lies would never end, and the noise has no unique law")
        if self.rate0 > self.rate1:
            raise InputError(
                f"rate0={self.rate0} is above rate1={self.rate1}: reports would be wrong more "
                "often than right; swap the two rates and the two reports"
            )

    @property
    def flip(self) -> float:
        """Probability that one report is a lie, ``rate0 / (rate0 + rate1)``."""
        return self.rate0 / (self.rate0 + self.rate1)

    @property
    def kernel(self) -> np.ndarray:
        """``B[y, y'] = Pr[next noise bit = y' | this one = y]``."""
        return np.array([[1 - self.rate0, self.rate0], [self.rate1, 1 - self.rate1]])

    def level(self, length: int | None = None) -> float:
        r"""The DP level on a series of ``length`` records, rounded up; inf when none holds.

        .. math:: \varepsilon = \max\Big|\Big\{\ln\frac{(1-r_0)^2}{r_0 r_1},
            \ln\frac{(1-r_1)^2}{r_0 r_1}, \ln\frac{1-r_0}{1-r_1},
            \ln\frac{1-r_0}{r_0}, \ln\frac{1-r_1}{r_1}\Big\}\Big|

        where the first three are a record between two others (noise bits 0.0, 1.1 and 0.1 around
        it) and the last two a record at an end. Changing one record flips one noise bit of the
        explanation ``y = z xor x``; a stationary chain of two states is reversible, so both ends
        cost the same. Two records have the last two only, one record has ``|ln(r_0/r_1)|``. The
        level grows with the length and stays from three records on.

        Parameters
        ----------
        length : int, optional
            Number of records; three or more when left out.

        Examples
        --------
        >>> round(CorrelatedResponse(.25, .75).level(), 6)    # independent: ln 3
        1.098612
        """
        if length is not None and (not isinstance(length, int | np.integer) or length < 1):
            raise InputError(f"length must be a whole number of records, at least 1; got {length}")
        n = 3 if length is None else min(int(length), 3)
        r0, r1 = self.rate0, self.rate1
        if r0 == 0 or (n > 1 and r1 == 1):
            # no lie ever, or no lie after a lie: an output that one value of a record explains is
            # impossible under the other
            return math.inf
        log0, log1 = math.log(r0), math.log(r1)
        if n == 1:
            found = [log1 - log0]
        else:
            stay0, stay1 = math.log1p(-r0), math.log1p(-r1)
            found = [stay0 - log0, stay1 - log1]
            if n == 3:
                both = log0 + log1
                found += [2 * stay0 - both, 2 * stay1 - both, stay0 - stay1]
        largest = max(map(abs, found))
        return largest + _SLACK * (1 + largest)

    @property
    def guarantee(self) -> Pure:
        """epsilon-DP for series of any length, rounded up."""
        level = self.level()
        if not math.isfinite(level):
            raise GuaranteeError(
                f"rate0={self.rate0}, rate1={self.rate1}: with a rate of 0 or 1 some reports prove "
                "a record, so no finite epsilon holds; use rates strictly between 0 and 1"
            )
        return Pure(level)

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One report per record of a series, for simulation. O(n), no loop over records."""
        records = _series("x", state_numbers("x", x, 2))
        return records ^ self._noise(len(records), rng)

    def _noise(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Noise bits: some steps set the bit whatever it was, the others keep it or turn it over.

        The last setting step before t, and the parity of steps since, give the bit at t.
        """
        turns = self.rate0 + self.rate1 > 1
        to_one = 1 - self.rate1 if turns else self.rate0
        to_zero = 1 - self.rate0 if turns else self.rate1
        uniform = rng.random(n)
        sets_one = uniform < to_one
        sets = sets_one | (uniform >= 1 - to_zero)
        sets[0], sets_one[0] = True, uniform[0] < self.flip
        place = np.arange(n)
        last = np.maximum.accumulate(np.where(sets, place, 0))
        bits = sets_one[last].astype(np.int64)
        return bits ^ ((place - last) & 1) if turns else bits

    def logpmf(self, y: Any, x: Any) -> float:
        """Log probability of the whole series of reports ``y`` given the records ``x``."""
        reports, records = paired_numbers(y, x, 2)
        noise = _series("x", records) ^ reports
        start = np.array([self.rate1, self.rate0]) / (self.rate0 + self.rate1)
        with np.errstate(divide="ignore"):
            steps = np.log(self.kernel)[noise[:-1], noise[1:]]
            return float(np.log(start)[noise[0]] + steps.sum())
