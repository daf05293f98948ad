"""Histogram encoding: one real number per value, Laplace noise on each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.mechanisms.base import check_rng
from corrdp.mechanisms.local.base import LocalProtocol
from corrdp.mechanisms.response import state_numbers

_MOST_NUMBERS = 2**27  # one GiB of reports at once
_PANEL = 0.5  # the integrand is smooth on this scale: 16 nodes give every digit


@cache
def _gauss() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the integral, worked out once: an audit inverts it many times."""
    return np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class SHE(LocalProtocol):
    r"""Summation with histogram encoding: the one-hot vector of the value plus Laplace noise.

    .. math:: f(y \mid x) = \prod_v \frac{\varepsilon}{4} e^{-\varepsilon |y_v - [v = x]|/2},
              \qquad \mathrm{TV} = 1 - e^{-\varepsilon/2} (1 + \varepsilon/4)

    The best guess is the value of the largest number. With a uniform prior, and B = eps/2,

    .. math:: \mathrm{RAD} = \int [f(t - 1) - f(t)] F(t)^{k-1} dt
              = \frac{(e^{-B} - 1) 2^{-k}}{k} + \frac{(e^B - 1)(1 - F_1^k)}{k}
              + \int_0^B \frac{e^{s - B} - e^{-s}}{2} \Big(1 - \frac{e^{-s}}2\Big)^{k-1} ds

    where

    - f and F are density and distribution function of the noise, of scale 2/eps,
    - F_1 = 1 - e^-B/2 is F at 1; the three terms are t < 0, t > 1 and what is between,
    - TV holds because the log ratio of two values moves with the difference of their numbers,
      and where both are above 1 or both below 0, where it does not, either is as often larger.

    Parameters
    ----------
    k : int
    epsilon : float

    References
    ----------
    Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation"
    (2017).

    Examples
    --------
    >>> round(SHE(50, 3.0).rad_uniform(), 5), round(SHE(50, 3.0).total_variation, 6)
    (0.06958, 0.609522)
    >>> SHE(4, 1.0).sample([0, 3, 1], np.random.default_rng(0)).shape
    (3, 4)
    """

    @property
    def report_bytes(self) -> int:
        """Memory that one report takes: a double per value."""
        return 8 * self.k

    @property
    def total_variation(self) -> float:
        """1 - e^(-eps/2)(1 + eps/4)."""
        half = self.epsilon / 2
        return -math.expm1(-half) - math.exp(-half) * half / 2

    def _rad_at(self, epsilon: float) -> float:
        """The integral of the class at ``epsilon``."""
        k, reach = self.k, epsilon / 2
        first = math.log1p(-math.exp(-reach) / 2)  # ln F(1)
        # (e^B - 1)(1 - F_1^k) without overflow: e^B (1 - F_1^k) tends to k/2
        above = -math.expm1(-reach) * math.exp(reach + math.log(-math.expm1(k * first))) / k
        below = math.expm1(-reach) * 0.5**k / k
        nodes, weights = _gauss()
        panels = max(1, math.ceil(reach / _PANEL))
        half = reach / panels / 2
        s = ((2 * np.arange(panels) + 1) * half)[:, None] + half * nodes
        # e^(s-B) - e^-s = e^-s (e^(2s-B) - 1), computed from the side where it is small
        rise = np.exp(-s) * np.expm1(np.minimum(2 * s - reach, 0)) - np.exp(s - reach) * np.expm1(
            np.minimum(reach - 2 * s, 0)
        )
        between = float(((rise / 2 * np.exp((k - 1) * np.log1p(-np.exp(-s) / 2))) @ weights).sum())
        return below + above + between * half

    def sample(self, x: Any, rng: np.random.Generator) -> np.ndarray:
        """One row of k numbers per value; refused above one GiB."""
        check_rng(rng)
        values = state_numbers("x", x, self.k)
        if values.size * self.k > _MOST_NUMBERS:
            raise InputError(
                f"{values.size} reports of {self.k} numbers do not fit in one GiB; take them in "
                "parts from batches(x, rng), or guesses(x, rng) if only guesses are wanted"
            )
        # an exponential variable with a random sign: half the time of rng.laplace
        reports = rng.standard_exponential((*values.shape, self.k))
        reports *= 2 / self.epsilon
        flip_signs(reports, rng)
        at = values[..., None]
        np.put_along_axis(reports, at, np.take_along_axis(reports, at, axis=-1) + 1, axis=-1)
        return reports

    def log_law(self, y: Any, x: Any) -> np.ndarray:
        """Log density of each report given its value."""
        reports, values = self._check(y), state_numbers("x", x, self.k)
        if reports.shape[:-1] != values.shape:
            raise InputError(f"one report per value: y has shape {reports.shape}, x {values.shape}")
        own = np.take_along_axis(reports, values[..., None], axis=-1)[..., 0]
        distance = np.abs(reports).sum(axis=-1) - np.abs(own) + np.abs(own - 1)
        return self.k * math.log(self.epsilon / 4) - distance * self.epsilon / 2

    def attack(self, y: Any, rng: np.random.Generator) -> np.ndarray:
        """The value of the largest number of each report."""
        return self._check(y).argmax(axis=-1)

    def _check(self, y: Any) -> np.ndarray:
        reports = np.asarray(y)
        if reports.dtype.kind != "f" or reports.ndim < 1 or reports.shape[-1] != self.k:
            raise InputError(
                f"y must be rows of {self.k} numbers, one per value; got dtype {reports.dtype} and "
                f"shape {reports.shape}"
            )
        if not np.isfinite(reports).all():
            where = [int(i) for i in np.argwhere(~np.isfinite(reports))[0]]
            raise InputError(f"y{where} = {reports[tuple(where)]} is not a finite number")
        return reports


def flip_signs(numbers: np.ndarray, rng: np.random.Generator) -> None:
    """Give each number (of 64 bits, contiguous) a random sign, in place."""
    words = numbers.reshape(-1).view(np.uint64)
    fair = np.unpackbits(np.frombuffer(rng.bytes(-(-words.size // 8)), dtype=np.uint8))
    words ^= fair[: words.size].astype(np.uint64) << np.uint64(63)
