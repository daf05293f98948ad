"""Do the data of a fit look jointly normal? Mardia's tests of all roles, and one test per role."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from corrdp.errors import InputError
from corrdp.models.chains.ratio_tests import LEVEL, log_chi_square_tail, p_in_words
from corrdp.results import Result

if TYPE_CHECKING:
    from corrdp.models.gaussian.records import GaussianRecords

_FEWEST = 20  # the tests are asymptotic: fewer blocks tell nothing
_MOST_WORK = 2e9  # products of three values; beyond, evenly spaced blocks are tested


@dataclass(frozen=True)
class Normality(Result):
    """Tests of joint normality, each p-value as its logarithm to base 10.

    Attributes
    ----------
    rows : int
        Complete blocks tested; 0 when there were too few.
    skewness, kurtosis : float
        Mardia's statistics: chi-square with m (m+1) (m+2) / 6 degrees of freedom for m roles, and
        standard normal.
    log10_skewness, log10_kurtosis : float
    roles : tuple of (str, float)
        Each role with the D'Agostino-Pearson test of its own values; constant or short ones are
        left out.

    References
    ----------
    K. V. Mardia, "Measures of multivariate skewness and kurtosis with applications", Biometrika 57
    (1970), 519-530. R. D'Agostino, E. S. Pearson, "Tests for departure from normality", Biometrika
    60 (1973), 613-622.

    Examples
    --------
    >>> found = check_normality(np.random.default_rng(0).exponential(size=(200, 2)), ("a", "b"))
    >>> found.rejected, found.words.split(" (")[0]
    (True, 'joint normality is rejected')
    >>> Normality.from_dict(found.to_dict()) == found
    True
    """

    rows: int
    skewness: float = 0.0
    kurtosis: float = 0.0
    log10_skewness: float = 0.0
    log10_kurtosis: float = 0.0
    roles: tuple[tuple[str, float], ...] = ()

    @property
    def log10_p(self) -> float:
        """The smaller p-value of Mardia's two tests."""
        return min(self.log10_skewness, self.log10_kurtosis)

    @property
    def rejected(self) -> bool:
        """Whether one of Mardia's tests rejects joint normality, at .005 each."""
        return self.log10_p < math.log10(LEVEL / 2)

    @property
    def not_normal(self) -> tuple[str, ...]:
        """Roles whose own values are not normal, at .01 over all roles together."""
        level = math.log10(LEVEL / max(len(self.roles), 1))
        return tuple(role for role, log10_p in self.roles if log10_p < level)

    @property
    def words(self) -> str:
        """The verdict in words."""
        if not self.rows:
            return f"joint normality was not tested: fewer than {_FEWEST} complete blocks"
        tests = (
            f"Mardia's tests on {self.rows:,} complete blocks: skewness "
            f"{p_in_words(self.log10_skewness)}, kurtosis {p_in_words(self.log10_kurtosis)}"
        )
        alone = ""
        if self.not_normal:
            named = ", ".join(repr(role) for role in self.not_normal)
            alone = f"; not normal by themselves: {named}"
        if self.rejected:
            return (
                f"joint normality is rejected ({tests}){alone}; the bounds rest on it, so they may "
                "be too small: use the general bound where that matters"
            )
        return f"joint normality is not rejected ({tests}){alone}"


def check_normality(values: np.ndarray, roles: tuple[str, ...]) -> Normality:
    """Mardia's tests on the complete rows, and one test for each column.

    Parameters
    ----------
    values : (rows, m) array
        NaN where a value is missing.
    roles : tuple of str
        Names of the columns.

    Examples
    --------
    >>> check_normality(np.random.default_rng(0).normal(size=(500, 2)), ("a", "b")).rejected
    False
    """
    complete = values[~np.isnan(values).any(axis=1)]
    n, m = complete.shape
    if n < max(_FEWEST, m + 2):
        return Normality(0)
    if n * float(m) ** 3 > _MOST_WORK:
        kept = max(int(_MOST_WORK / m**3), 10 * m)
        complete = complete[np.linspace(0, n - 1, min(n, kept)).astype(np.int64)]
        n = len(complete)
    centred = complete - complete.mean(axis=0)
    vectors, sizes, _ = np.linalg.svd(centred / math.sqrt(n), full_matrices=False)
    rank = int((sizes > sizes[0] * 1e-10).sum())  # columns that determine each other count once
    white = vectors[:, :rank] * math.sqrt(n)
    third = np.zeros((rank, rank, rank))
    for part in np.array_split(white, max(n // 4096, 1)):
        third += np.einsum("ra,rb,rc->abc", part, part, part, optimize=True)
    skewness = float(((third / n) ** 2).sum()) * n / 6.0
    degrees = rank * (rank + 1) * (rank + 2) // 6
    fourth = float(((white**2).sum(axis=1) ** 2).mean())
    kurtosis = (fourth - rank * (rank + 2)) / math.sqrt(8.0 * rank * (rank + 2) / n)
    return Normality(
        rows=n,
        skewness=skewness,
        kurtosis=kurtosis,
        log10_skewness=log_chi_square_tail(skewness, degrees) / math.log(10),
        log10_kurtosis=_log10_two_sided(kurtosis),
        roles=tuple(_each(values, roles)),
    )


def _log10_two_sided(z: float) -> float:
    from scipy.special import log_ndtr

    return min((math.log(2) + float(log_ndtr(-abs(z)))) / math.log(10), 0.0)


def _each(values: np.ndarray, roles: tuple[str, ...]) -> list[tuple[str, float]]:
    found = []
    for k, role in enumerate(roles):
        column = values[~np.isnan(values[:, k]), k]
        if len(column) >= _FEWEST and np.ptp(column) > 0:
            # chi-square with two degrees of freedom: its tail is exp(-x/2)
            found.append((role, -_dagostino_pearson(column) / 2.0 / math.log(10)))
    return found


def _dagostino_pearson(values: np.ndarray) -> float:
    """The square of the skewness plus that of the kurtosis, each made standard normal: what
    ``scipy.stats.normaltest`` returns, which takes over a second to import."""
    n = len(values)
    centred = values - values.mean()
    centred = centred / math.sqrt(float((centred**2).mean()))
    skewness, kurtosis = float((centred**3).mean()), float((centred**4).mean())
    # D'Agostino (1970): skewness by Johnson's S_U curve
    spread = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3)
    width = math.sqrt(2.0 * (spread / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9)) - 1.0)) - 1.0
    scaled = skewness * math.sqrt((n + 1) * (n + 3) * (width - 1.0) / (12.0 * (n - 2)))
    leaning = math.asinh(scaled) / math.sqrt(math.log(width) / 2.0)
    # Anscombe and Glynn (1983): kurtosis by the cube root of a gamma variable
    away = kurtosis - 3.0 * (n - 1) / (n + 1)
    away /= math.sqrt(24.0 * n * (n - 2) * (n - 3) / ((n + 1.0) ** 2 * (n + 3) * (n + 5)))
    skew = math.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2.0) * (n - 3)))
    skew *= 6.0 * (n**2 - 5 * n + 2) / ((n + 7.0) * (n + 9))
    degrees = 6.0 + 8.0 / skew * (2.0 / skew + math.sqrt(1.0 + 4.0 / skew**2))
    root = np.cbrt((1.0 - 2.0 / degrees) / (1.0 + away * math.sqrt(2.0 / (degrees - 4.0))))
    heavy = (1.0 - 2.0 / (9.0 * degrees) - float(root)) / math.sqrt(2.0 / (9.0 * degrees))
    return leaning**2 + heavy**2


def normality(model: GaussianRecords) -> Normality:
    """The normality check of a fitted model, made when it was fitted.

    Parameters
    ----------
    model : GaussianRecords

    Examples
    --------
    >>> from corrdp.models.gaussian.records import GaussianRecords
    >>> pairs = np.random.default_rng(2).normal(size=(300, 2))
    >>> print(normality(GaussianRecords.fit(pairs)).words)  # doctest: +ELLIPSIS
    joint normality is not rejected (Mardia's tests on 300 complete blocks: skewness p = ...
    """
    if model.fitted is None:
        raise InputError(
            "there are no data to compare with: this model was not fitted; use "
            "GaussianRecords.fit(...)"
        )
    return model.fitted.normality
