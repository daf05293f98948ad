"""What chains of every order share: counts, how much kernels tell apart, one that changes.

A kernel is measured by Birkhoff's diameter and the column ratio. For rows p, q of a non-negative
matrix, Hilbert's projective distance is ``d(p, q) = max_{y,y'} ln[p_y q_y' / (q_y p_y')]``; it
ignores any common reweighting of the columns, which is what conditioning on later records does to a
Markov kernel.

A chain whose kernel changes once is what two halves of a series with a kernel each really are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from corrdp.errors import ModelError
from corrdp.models.base import Model
from corrdp.models.chains.stretches import ahead, first_places, paired, stretch_from

if TYPE_CHECKING:
    from corrdp.models.chains.diagnostics import Diagnostics
    from corrdp.models.chains.fitted import ChainFit
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.chains.region import Region
    from corrdp.models.chains.seasonal import SeasonalChain
    from corrdp.models.chains.window import WindowChain

MOST_WINDOWS = 4096  # rows of a chain of higher order
MAX_SKIP = 32  # records that a jump goes over
LONGEST_SKIP = 4096  # by powers of two, where no jump of up to MAX_SKIP records has a diameter
_CHUNK = 2**20  # numbers of a stack that are compared at a time
_NOTHING = 1e-12  # a diameter below it tells nothing apart
_VANISHED = 1e-140  # a positive entry of a product that is smaller may have lost its digits


def row_log_ratio_spread(kernel: np.ndarray) -> np.ndarray:
    """Hilbert's distance between every pair of rows, as an s x s matrix. O(s^3).

    Columns that are zero in both rows are dropped; a column that is zero in one of them only
    makes the distance infinite. A stack of matrices, shape (.., s, m), gives a stack (.., s, s).

    Examples
    --------
    >>> row_log_ratio_spread(np.array([[.9, .1], [.2, .8]]))[0, 1].round(6)
    np.float64(3.583519)
    """
    positive = kernel > 0
    with np.errstate(divide="ignore"):
        logs = np.where(positive, np.log(kernel), 0.0)
    size = kernel.shape[-2]
    spread = np.empty((*kernel.shape[:-1], size))
    chunk = max(1, _CHUNK // max(kernel.size, 1))
    for start in range(0, size, chunk):  # a few rows at a time: memory O(s^2)
        rows = slice(start, start + chunk)
        difference = logs[..., rows, None, :] - logs[..., None, :, :]
        both = positive[..., rows, None, :] & positive[..., None, :, :]
        one = positive[..., rows, None, :] ^ positive[..., None, :, :]
        top = np.where(both, difference, -np.inf).max(axis=-1)
        bottom = np.where(both, difference, np.inf).min(axis=-1)
        with np.errstate(invalid="ignore"):
            apart = np.where(both.any(axis=-1), top - bottom, 0.0)
        spread[..., rows, :] = np.where(one.any(axis=-1), np.inf, apart)
    return spread


def multiply(left: np.ndarray | None, right: np.ndarray) -> np.ndarray | None:
    """Product of non-negative matrices, each row scaled to a largest entry of one. O(s^3).

    Row scales change no distance. None where a possible entry comes out so small that it may have
    underflowed on the way: a zero must mean impossible. None times anything is None.

    Examples
    --------
    >>> multiply(np.array([[.5, .5], [0, 1]]), np.array([[.2, .8], [0, 1]])).round(4).tolist()
    [[0.1111, 1.0], [0.0, 1.0]]
    >>> multiply(np.array([[1e-90, 1], [0, 1]]), np.array([[1e-90, 1], [0, 1]])) is None
    True
    """
    if left is None:
        return None
    product, whole = multiply_each(left, right)
    return product if whole else None


def multiply_each(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """:func:`multiply` of matrices or of stacks of them, and which products are whole."""
    product = left @ right
    product /= np.maximum(product.max(axis=-1, keepdims=True), np.finfo(float).tiny)
    possible = ((left > 0).astype(float) @ (right > 0).astype(float)) > 0
    return product, ~(possible & (product < _VANISHED)).any(axis=(-2, -1))


def diameter(kernel: np.ndarray, rows: np.ndarray | None = None) -> float:
    """Birkhoff diameter ``D(P) = max over row pairs of d(P(a,.), P(b,.))``.

    Parameters
    ----------
    kernel : (s, s) array
    rows : boolean mask, optional
        Rows of states that can occur; the others are left out.

    Examples
    --------
    >>> round(diameter(np.array([[.9, .1], [.2, .8]])), 6)
    3.583519
    >>> diameter(np.array([[.7, .3], [1, 0]]))
    inf
    """
    used = kernel if rows is None else kernel[rows]
    if not used.any():
        return 0.0
    if ((used > 0) != (used[0] > 0)).any():  # most powers of a sparse kernel: seen in O(s^2)
        return np.inf
    logs = np.log(used[:, used[0] > 0])
    widest = 0.0
    for k in range(1, len(logs)):  # all zeros are shared: nothing has to be told apart
        apart = logs[k:] - logs[k - 1]
        widest = max(widest, float((apart.max(axis=1) - apart.min(axis=1)).max()))
    return widest


def diameters(stack: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Birkhoff diameter of each matrix of a stack; all-zero rows are left out. O(k s^2 m).

    Parameters
    ----------
    stack : (k, s, m) array
        Non-negative; m need not be s.
    rows : (k, s) boolean mask, optional
        Rows of states that can occur; the others are left out.

    Examples
    --------
    >>> diameters(np.array([[[.9, .1], [.2, .8]], [[1, 0], [0, 0]]])).round(6).tolist()
    [3.583519, 0.0]
    """
    count, s, m = stack.shape
    found = np.empty(count)
    chunk = max(1, _CHUNK // (s * s * m))
    for start in range(0, count, chunk):
        part = stack[start : start + chunk]
        used: np.ndarray = np.any(part > 0, axis=2)
        if rows is not None:
            used = used & rows[start : start + chunk]
        if len(part) == 1:
            found[start] = diameter(part[0], used[0])
            continue
        spread = row_log_ratio_spread(part)
        compared = used[:, :, None] & used[:, None, :]
        found[start : start + chunk] = np.where(compared, spread, 0.0).max(axis=(1, 2))
    return found


class Skips(NamedTuple):
    """Diameters of jumps: of 1..m records ahead of record t, in row ``rows[t]`` of the table."""

    table: np.ndarray  # (different, m)
    rows: np.ndarray = np.zeros(1, dtype=np.int64)  # (n - 1,), or (1,) for every record


def skip_diameters(chain: MarkovChain) -> Skips:
    """Diameters of the kernels of up to ``MAX_SKIP`` steps.

    O(m s^3) for each different stretch of m kernels, and O(n log m) to find them. Where a chain of
    one kernel has many states with few successors, all these are infinite: then powers of two
    follow, and what lies between them stays infinite. Any set of jumps gives a bound.
    """
    if chain.homogeneous:
        every = np.zeros((1, MAX_SKIP), dtype=np.int64)
        table = _of_products(chain.transition[None], every, chain.occurring[None])
        if np.isinf(table).all():
            longest = min(chain.length or LONGEST_SKIP, LONGEST_SKIP)
            far = _by_doubling(chain.transition, chain.occurring, longest)
            table = np.concatenate([table, far[None, MAX_SKIP:]], axis=1)
        return Skips(table)
    (kernels, steps), (masks, support) = chain.distinct_kernels, chain.distinct_support
    kinds = paired(ahead(steps, MAX_SKIP), support[:-1])
    firsts = first_places(kinds)
    table = _of_products(kernels, stretch_from(steps, firsts, MAX_SKIP), masks[support[firsts]])
    return Skips(table, kinds)


def _of_products(kernels: np.ndarray, stretches: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """Diameters of the products of the first 1, 2, .. kernels of each stretch, one in a row."""
    table = np.full(stretches.shape, np.inf)
    going = np.arange(len(table))
    product = np.repeat(np.eye(kernels.shape[1])[None], len(table), axis=0)
    for m in range(stretches.shape[1]):
        product, whole = multiply_each(product, kernels[stretches[going, m]])
        whole &= stretches[going, m] >= 0
        going, product = going[whole], product[whole]  # the others stay infinite
        if not len(going):
            break
        found = diameters(product, alive[going])
        table[going, m] = found
        left = found >= _NOTHING
        table[going[~left], m:] = found[~left, None]  # longer jumps only cost more
        going, product = going[left], product[left]
    return table


def _by_doubling(kernel: np.ndarray, alive: np.ndarray, longest: int) -> np.ndarray:
    """Diameters of P^1 .. P^longest, infinite except for powers of two. O(s^3 log longest).

    What underflows in a square is below 1e-300 and, s states and 12 squares later, below 1e-260:
    it changes no entry above 1e-140 by as much as rounding does. Which entries are possible is
    followed apart, and with a possible one below that a diameter stays infinite.
    """
    found = np.full(longest, np.inf)
    power, possible, m = kernel, kernel > 0.0, 1
    while 2 * m <= longest:
        power = power @ power
        possible = (possible.astype(float) @ possible.astype(float)) > 0.0
        m *= 2
        if (power[alive][possible[alive]] >= _VANISHED).all():
            # a square doubles the relative error of its factors and adds that of a sum
            rounded = 4.0 * m * (len(kernel) + 2) * 2.0**-52
            found[m - 1] = diameter(power, alive) + rounded
            if found[m - 1] < 2.0 * rounded:
                break  # longer jumps only cost more
    return found


def column_ratio(kernel: np.ndarray, rows: np.ndarray | None = None) -> float:
    """omega: the largest ratio of two entries of one column; inf when zeros and non-zeros mix.

    Examples
    --------
    >>> round(column_ratio(np.array([[.9, .1], [.2, .8]])), 9)
    8.0
    """
    used = kernel if rows is None else kernel[rows]
    columns = used[:, (used > 0).any(axis=0)]
    if not columns.size:
        return 1.0
    with np.errstate(divide="ignore"):
        return float((columns.max(axis=0) / columns.min(axis=0)).max())


class Chain(Model):
    """A Markov chain of some order; ``fitted`` says where its numbers come from."""

    states: Any
    fitted: ChainFit | None = None
    if TYPE_CHECKING:  # a field of most chains: at run time this would be its default

        @property
        def transition(self) -> np.ndarray:
            """The kernel, rows by what the next record depends on."""

    @property
    def records(self) -> int | None:
        fit = self.fitted
        return self.length if fit is None or fit.public else fit.rows

    @property
    def private_epsilon(self) -> float | None:
        return None if self.fitted is None else self.fitted.private_epsilon

    @property
    def state_names(self) -> tuple[str, ...]:
        """The states as people read them: bins by their ranges."""
        named = self.states if self.fitted is None else self.fitted.named(self.states)
        return tuple(map(str, named))

    def region(self, confidence: float) -> Region:
        """Probabilities that the counts still allow; see :mod:`corrdp.models.chains.region`."""
        from corrdp.models.chains.region import fitted_region

        return fitted_region(self, confidence)

    def diagnose(self, data: Any = None) -> Diagnostics:
        """Whether the fitted chain describes its data: :mod:`corrdp.models.chains.diagnostics`."""
        from corrdp.models.chains.diagnostics import diagnose

        return diagnose(self, data)

    @cached_property
    def fit_assumptions(self) -> tuple[str, ...]:
        """What the fit and its diagnostics say, in words; these hold fitted numbers."""
        if self.fitted is None:
            return ()
        return (*self.fitted.assumptions, *self.diagnose().assumptions)


@dataclass(frozen=True, eq=False, repr=False)
class SwitchingChain(Chain):
    """A chain with one kernel up to some record and another from there on, wherever that is.

    Records near the switch depend on what lies before by the first kernel and on what comes after
    by the second, which can leak more than either kernel would alone.

    Parameters
    ----------
    parts : two MarkovChain, or two WindowChain or SeasonalChain of one order
        Their kernels count: the law at the switch is whatever the first leaves.
    length : int, optional
    states : sequence

    Examples
    --------
    >>> from corrdp.bounds.leakage import leakage
    >>> from corrdp.models.chains.markov import MarkovChain
    >>> parts = MarkovChain([[.56, .44], [.34, .66]]), MarkovChain([[.01, .99], [.14, .86]])
    >>> chain = SwitchingChain(parts, 25, (0, 1))
    >>> kernels = [parts[0].transition] * 12 + [parts[1].transition] * 12
    >>> truth = leakage(MarkovChain(kernels, initial=[.4, .6]), .3).value
    >>> max(leakage(part, .3).value for part in parts) < truth <= leakage(chain, .3).value
    True
    """

    kind: ClassVar[str] = "switching"
    parts: (
        tuple[MarkovChain, MarkovChain]
        | tuple[WindowChain, WindowChain]
        | tuple[SeasonalChain, SeasonalChain]
    )
    length: int | None
    states: Any
    fitted: ChainFit | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        one, other = self.parts
        for name in ("kind", "order", "states", "pattern"):
            if getattr(one, name, None) != getattr(other, name, None):
                raise ModelError(f"both parts must have the same {name}: only the kernels change")

    @property
    def transition(self) -> np.ndarray:
        """The kernel before the switch."""
        return np.asarray(self.parts[0].transition)

    @property
    def order(self) -> int:
        """How many records back the next one depends on."""
        return getattr(self.parts[0], "order", 1)

    def region(self, confidence: float) -> Region:
        """A box that holds the kernels of both parts."""
        one, two = self.regions(confidence)
        return replace(
            one,
            lower=np.minimum(one.lower, two.lower),
            upper=np.maximum(one.upper, two.upper),
            confidence=confidence,
            unseen=tuple(sorted({*one.unseen, *two.unseen})),
        )

    def regions(self, confidence: float) -> tuple[Region, Region]:
        """The regions of both parts, which hold together at this level."""
        each = 1.0 - (1.0 - confidence) / 2
        return self.parts[0].region(each), self.parts[1].region(each)

    def describe(self) -> str:
        return f"{self.parts[0].describe()}, with a kernel that changes once"

    def fields(self) -> dict[str, Any]:
        return {"parts": [part.to_dict() for part in self.parts], "length": self.length}
