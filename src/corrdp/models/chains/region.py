"""Sets of kernels: those that the data still allow, and all up to a diameter.

The first is a box that holds the true one (chains#confidence); the second needs no data at all
(chains#classes). Every transition probability gets an exact binomial (Clopper-Pearson) interval;
the levels add up to the joint confidence (Bonferroni), so that with that confidence all hold at
once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp._binomial import clopper_pearson
from corrdp._checks import check_number
from corrdp.errors import InputError, ModelError, NotApplicableError
from corrdp.models.base import check_length
from corrdp.models.chains.chain import Chain

if TYPE_CHECKING:
    from corrdp.models.chains.markov import MarkovChain

_WIDEST = 600.0  # a larger diameter says nothing, and its odds leave the range of numbers

_OUT = 1e-14


@dataclass(frozen=True, eq=False)
class Region:
    """All kernels with ``lower <= P <= upper`` and rows that sum to one.

    Attributes
    ----------
    lower, upper : (rows, s) arrays
    confidence : float
        Joint level at which the true kernel lies inside.
    unseen : tuple of (row, column)
        Transitions that were never counted and are not declared impossible. Of a state or window
        that was never left nothing is known: its row may be any law.
    """

    lower: np.ndarray
    upper: np.ndarray
    confidence: float
    unseen: tuple[tuple[int, int], ...]


def region_of(
    counts: np.ndarray,
    confidence: float,
    *,
    structural: bool = False,
    radius: int = 0,
    possible: np.ndarray | None = None,
    among: float = 1.0,
) -> Region:
    """The joint confidence region of a kernel from its transition counts.

    Parameters
    ----------
    counts : (rows, s) array
        Transitions out of each state (or window of states), noisy ones possibly negative.
    confidence : float in (0, 1)
    structural : bool
        Take transitions that were never seen for impossible, except from a state or window that
        was reached and never left: it goes on somehow.
    radius : int
        Noise on each count is at most this, except with the half of the error probability that is
        then set aside for it.
    possible : (rows, s) boolean mask, optional
        What is not impossible, where that is known otherwise.
    among : float
        The rows were chosen from so many times as many: all of those are covered at once.

    Notes
    -----
    The exits from one state are independent draws of its row; how many there are is taken as given.
    A row with two possible values needs one interval, one with more an interval for each.

    Examples
    --------
    >>> box = region_of(np.array([[9713, 1295], [1295, 2955]]), .95)
    >>> box.lower.round(4).tolist(), box.upper.round(4).tolist()
    ([[0.8753, 0.1108], [0.2889, 0.6792]], [[0.8892, 0.1247], [0.3208, 0.7111]])
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1, such as .95; got {confidence!r}")
    counts = np.asarray(counts, dtype=float)
    if possible is None:
        possible = counts > 0 if structural else np.ones(counts.shape, dtype=bool)
    if structural:
        possible |= (followers(counts) & ~possible.any(axis=1))[:, None]
    free = possible.sum(axis=1)
    tests = int(np.where(free == 2, 1, np.where(free > 2, free, 0)).sum())
    alpha = 1.0 - confidence
    if radius > 0:
        alpha /= 2  # the other half is for noise beyond the radius
    low, high = np.maximum(counts - radius, 0.0), np.maximum(counts + radius, 0.0)
    low, high = np.where(possible, low, 0.0), np.where(possible, high, 0.0)
    rest_low = low.sum(axis=1, keepdims=True) - low
    rest_high = high.sum(axis=1, keepdims=True) - high
    lower, upper = clopper_pearson(low, high, rest_low, rest_high, alpha / (max(tests, 1) * among))
    lower, upper = np.where(possible, lower, 0.0), np.where(possible, upper, 0.0)
    single = free == 1
    lower[single], upper[single] = possible[single], possible[single]
    # what the others leave: a probability is at least one minus the upper ends of the rest
    # (outwards by more than rounding: a lower end of 1e-16 would rule out that it never happens)
    lower = np.maximum(lower, 1.0 - _OUT - (upper.sum(axis=1, keepdims=True) - upper))
    upper = np.minimum(upper, 1.0 + _OUT - (lower.sum(axis=1, keepdims=True) - lower))
    lower, upper = np.clip(lower, 0.0, 1.0) * possible, np.clip(upper, 0.0, 1.0) * possible
    unseen = tuple((int(x), int(y)) for x, y in np.argwhere((counts <= 0) & possible))
    return Region(lower, upper, confidence, unseen)


def followers(counts: np.ndarray) -> np.ndarray:
    """Which states (or windows of states) some counted transition leads to, as a mask."""
    rows, s = counts.shape
    reached = np.zeros(rows, dtype=bool)
    w, y = np.nonzero(counts > 0)
    reached[(w * s) % rows + y] = True
    return reached


def extreme_mixture(
    lower: np.ndarray, upper: np.ndarray, values: np.ndarray, sign: float
) -> np.ndarray:
    """Largest (sign = 1) or smallest (-1) ``row @ values`` over one row of the region.

    The row starts at its lower ends; what is left of the unit goes to the best values first. What
    rounding can do to that rest is added (sign = 1) or taken off (-1): a value that may vanish must
    come out as 0, not as 1e-17.

    Parameters
    ----------
    lower, upper : (s,) arrays
    values : (s, m) array
        One problem for each column.
    sign : {1, -1}

    Returns
    -------
    (m,) array
    """
    order = np.argsort(-sign * values, axis=0, kind="stable")
    room = (upper - lower)[order]
    before = np.cumsum(room, axis=0) - room
    slack = 4.0 * len(lower) * np.finfo(float).eps
    extra = np.clip(1.0 - lower.sum() + sign * slack - before, 0.0, room)
    return np.asarray(lower @ values + (extra * np.take_along_axis(values, order, 0)).sum(axis=0))


def power_bounds(region: Region, longest: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Entrywise bounds on P, P^2, .., P^longest over the region, each (rows, rows).

    P leads from a state to the next, or from a window of states to the one that drops the oldest
    state and adds a new one. O(rows^2 s log s) a power.
    """
    rows = len(region.lower)
    bounds = [(np.eye(rows), np.eye(rows))]
    for _ in range(longest):
        bounds.append(step_bounds(region, *bounds[-1]))
    return bounds[1:]


def step_bounds(
    region: Region, low: np.ndarray, high: np.ndarray, known: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Entrywise bounds on P M for P in the region and M between ``low`` and ``high``.

    With ``known``, on the part of P that leads to this state.
    """
    rows, s = region.lower.shape
    if known is not None:
        to = (np.arange(rows) * s) % rows + known
        return (
            region.lower[:, known, None] * low[to],
            np.minimum(region.upper[:, known, None] * high[to], 1.0),
        )
    ends = []
    for old, sign in ((low, -1.0), (high, 1.0)):
        new = np.empty(old.shape)
        for w in range(rows):
            following = (w * s) % rows + np.arange(s)
            new[w] = extreme_mixture(region.lower[w], region.upper[w], old[following], sign)
        ends.append(new)
    return ends[0], np.minimum(ends[1], 1.0)


def widest_diameter(low: np.ndarray, high: np.ndarray) -> float:
    """Largest Birkhoff diameter of matrices between two entrywise bounds, or stacks of bounds.

    ``max ln[U(a,y) U(b,y') / (L(b,y) L(a,y'))]`` over rows a != b and columns y != y'; infinite
    where an entry may vanish that another row may have.
    """
    return float(widest_diameters(low, high).max(initial=0.0))


def widest_diameters(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The same for each of a stack of bounds, shape (.., s, m) to (..)."""
    with np.errstate(divide="ignore"):
        log_low, log_high = np.log(low), np.log(high)
    worst = np.zeros(low.shape[:-2])
    for a in range(low.shape[-2]):
        # how much more likely a column can be in row a than in row b, and the other way round;
        # a column that the first cannot have at all gains nothing
        first, least = (each[..., a : a + 1, :] for each in (log_high, log_low))
        with np.errstate(invalid="ignore"):
            gain = np.where(first > -np.inf, first - log_low, -np.inf)
            back = np.where(log_high > -np.inf, log_high - least, -np.inf)
        gain[..., a, :] = -np.inf
        for one, other in ((gain, back), (back, gain)):
            y = one.argmax(axis=-1)[..., None]
            best, rest = np.take_along_axis(one, y, -1)[..., 0], other.copy()
            np.put_along_axis(rest, y, -np.inf, -1)  # the two columns differ
            most = rest.max(axis=-1)
            both = (best > -np.inf) & (most > -np.inf)
            with np.errstate(invalid="ignore"):
                apart = np.where(both, best + most, 0.0)
            worst = np.maximum(worst, apart.max(axis=-1, initial=0.0))
    return worst


def widest_ratio(region: Region) -> float:
    """Largest ln omega over the region: two entries of one column, in different rows."""
    columns = (region.upper > 0).any(axis=0)
    low, high = region.lower[:, columns], region.upper[:, columns]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.log(high)[:, None, :] - np.log(low)[None, :, :]
    rows = np.arange(len(low))
    spread[rows, rows] = 0.0
    return float(np.nanmax(np.where(np.isnan(spread), 0.0, spread)))


def fitted_region(chain: Chain, confidence: float) -> Region:
    """Region of a fitted chain, from the counts of its fit (noise of a private fit included)."""
    fit = chain.fitted
    if fit is None:
        raise InputError("confidence needs a chain that was fitted to data: MarkovChain.fit(...)")
    order = getattr(chain, "order", 1)
    counts, radius = fit.window_counts(order), 0
    if 0 < confidence < 1:
        radius = fit.noise_radius(1.0 - (1.0 - confidence) / 2, counts.size, order)
    return region_of(counts, confidence, structural=fit.zeros == "structural", radius=radius)


@dataclass(frozen=True, eq=False, repr=False)
class ChainClass(Chain):
    """Every Markov chain whose kernels have Birkhoff diameter at most D: nothing is fitted.

    ``Pr[a to y] Pr[b to y'] / (Pr[b to y] Pr[a to y']) <= e^D``

    where a, b are any two values of a record and y, y' any two of the next. The chain may have
    any states, start anywhere and change its kernel with time; parts of it, and what is left when
    records are missing, are in the class too. With two states D is the largest log odds ratio of
    two records in a row.

    Parameters
    ----------
    diameter : float
        D, from what is known of such data; of data that may be looked at,
        :meth:`covering` and ``corrdp fit`` say which D covers them.
    length : int, optional

    References
    ----------
    chains#classes.

    Examples
    --------
    >>> from corrdp.bounds.leakage import leakage
    >>> leak = leakage(ChainClass(3.0), .1)
    >>> round(leak.value, 4), leak.kind
    (0.4473, 'exact')
    """

    kind: ClassVar[str] = "class"
    diameter: float
    length: int | None = None

    def __post_init__(self) -> None:
        width = check_number("diameter", self.diameter, least=0, most=_WIDEST, error=ModelError)
        object.__setattr__(self, "diameter", width)
        object.__setattr__(self, "length", check_length(self.length))

    @classmethod
    def covering(cls, chain: Chain, confidence: float = 0.95) -> ChainClass:
        """The smallest class that holds every chain which the data of a fit still allow.

        Parameters
        ----------
        chain : MarkovChain
            Fitted.
        confidence : float
            Joint level of its region.

        Examples
        --------
        >>> from corrdp.models.chains.markov import MarkovChain
        >>> chain = MarkovChain.fit([[0, 0, 0, 1, 1, 0, 1, 1, 1, 0] * 50])
        >>> chain.diameter < ChainClass.covering(chain).diameter
        True
        """
        if chain.kind != "markov":
            raise NotApplicableError("a class is for chains of order 1 with one kernel")
        box = chain.region(confidence)
        width = math.nextafter(widest_diameter(box.lower, box.upper) * (1.0 + 1e-12), math.inf)
        if width > _WIDEST:
            raise NotApplicableError(
                f"no diameter covers the data at confidence {confidence:g}: a transition may be "
                "impossible, or was never seen"
            )
        return cls(width, chain.length)

    @cached_property
    def widest(self) -> MarkovChain:
        """A chain of two states that forgets no faster than any of the class.

        ``D(P^m) = 4 artanh(tanh(D/4)^m)``, with equality here.
        """
        from corrdp.models.chains.markov import MarkovChain

        rare = math.exp(-self.diameter / 2.0)
        kernel = np.array([[1.0, rare], [rare, 1.0]]) / (1.0 + rare)
        return MarkovChain(kernel, self.length, [0.5, 0.5])

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (
            "the records in their order are a Markov chain of order 1, of any states, start and "
            f"kernels, whose kernels have Birkhoff diameter at most {self.diameter:.6g}: given one "
            f"record, odds of the next change by a factor of at most {_power(self.diameter)} with "
            "its value; nothing of this was checked against data",
        )

    def with_length(self, length: int | None) -> ChainClass:
        """The same class for another number of records."""
        return ChainClass(self.diameter, length)

    def describe(self) -> str:
        counted = "any number of" if self.length is None else f"{self.length:,}"
        return f"every Markov chain of diameter up to {self.diameter:.6g}, {counted} records"

    def fields(self) -> dict[str, Any]:
        return {"diameter": self.diameter, "length": self.length}

    @classmethod
    def from_fields(cls, body: dict[str, Any]) -> ChainClass:
        """Inverse of :meth:`fields`."""
        return cls(body["diameter"], body["length"])


def _power(exponent: float) -> str:
    """e to that power, rounded up to three digits."""
    size = math.exp(exponent)
    step = 10.0 ** (math.floor(math.log10(size)) - 2)
    return f"{math.ceil(size / step * (1.0 - 1e-12)) * step:.3g}"
