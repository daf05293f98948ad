"""What Gaussian noise on a count or sum really gives away on a chain (chains#gaussian-counts).

Given a record and what is known, the sum of the other records is the convolution of a left and a
right part, and the output a mixture of normal laws. The outputs are put into cells, whose
probabilities are differences of distribution functions: an event made of cells is an event, so what
is found is attained, a lower end of the leakage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from corrdp._checks import check_number, check_whole
from corrdp._invert import last_kept
from corrdp.bounds.chains.counting import score_lattice, sum_laws
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope
from corrdp.errors import InputError, NotApplicableError
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian
from corrdp.mechanisms.gaussian import Gaussian
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.reads import resolved
from corrdp.results import Certificate, Witness

REFERENCE = "mixtures of normal laws, from below (chains#gaussian-counts)"

_OPTIONS = 60  # known records and their values that are tried on each side
_DISTANCE = 24
_CELLS = 12  # per sigma, for continuous noise
_TAIL = 13.0  # sigmas: beyond lies less than 1e-38


@dataclass(frozen=True, eq=False)
class Attained:
    """What some adversary attains: ``delta(level)``, its inverse, and who it is.

    Parameters
    ----------
    above, below : arrays (pairs, cells)
        Probabilities of the cells given the two values, for each adversary that was tried and
        each pair of values of the record.
    who : tuple of Witness
        The adversary and the values.
    """

    above: np.ndarray
    below: np.ndarray
    who: tuple[Witness, ...]

    def _deltas(self, level: float) -> np.ndarray:
        gains = self.above - math.exp(level) * self.below
        # rounding of the cells is put on the safe side, which is below
        return np.maximum(np.maximum(gains, 0.0).sum(axis=1) - 1e-11 * self._scale(gains), 0.0)

    def _scale(self, gains: np.ndarray) -> np.ndarray:
        return np.where(gains > 0, self.above, 0.0).sum(axis=1)

    def delta(self, level: float) -> float:
        """Largest Delta at this level: no mechanism analysis can promise less than that."""
        return float(self._deltas(check_number("level", level, least=0)).max())

    def witness(self, level: float) -> Witness:
        """The adversary who attains it."""
        return self.who[int(self._deltas(level).argmax())]

    def level(self, delta: float) -> float:
        """The largest level at which more than ``delta`` is attained; 0 if none is.

        Below it no (level, delta)-promise holds.
        """
        most = check_number("delta", delta, above=0, below=1)
        if self.delta(0.0) <= most:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > most:
            low, high = high, 2 * high
        return last_kept(lambda b: self.delta(b) > most, low, high, relative=1e-10)


@bound("attained", on=MarkovChain, paired=True, given=whole)
def attained_in(chain: MarkovChain, scope: Scope) -> Bound:
    """A level below which the noise keeps no promise at the delta asked for."""
    if not isinstance(scope.noise, Gaussian | DiscreteGaussian):
        raise NotApplicableError(
            "attained is about one mechanism: give mechanism=Gaussian(query, sigma), or "
            "DiscreteGaussian"
        )
    if scope.unit is not None:
        raise NotApplicableError("attained is about single records; leave unit out")
    if not scope.delta:
        raise InputError("delta= is required: what is attained is a level for a given delta")
    found = attained(chain, scope.noise)
    value = found.level(scope.delta)
    return Bound(
        value,
        "lower bound",
        Certificate("attained", REFERENCE),
        witness=found.witness(value),
        delta=scope.delta,
        again=found.level,
    )


def attained(
    chain: MarkovChain, mechanism: Gaussian | DiscreteGaussian, reach: int | None = None
) -> Attained:
    r"""What Gaussian noise on a count or sum gives away about a record of a chain, from below.

    .. math:: \Delta(B) \ge \max_{K, a, b} \sum_{\text{cells } C}
              \big(\Pr[Y \in C \mid x_K, a] - e^B \Pr[Y \in C \mid x_K, b]\big)^+

    where the adversary knows one record on each side, at distances up to ``reach`` (equal or not),
    and all records beyond them.

    Parameters
    ----------
    chain : MarkovChain
        With one kernel.
    mechanism : Gaussian or DiscreteGaussian
        On a count or sum over all records.
    reach : int, optional
        Largest distance of a known record; by default 24, less for chains of many states.

    Notes
    -----
    O(g^2 s^2) adversaries for g distances and s states, each O(g cells).

    References
    ----------
    chains#gaussian-counts.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=9)
    >>> found = attained(chain, Gaussian(Count(1), 10.0))
    >>> round(found.level(1e-6), 3), found.witness(1.0).known
    (1.703, ((-4, 1), (4, 1)))
    """
    query = resolved(chain, mechanism.query)
    scores = query.scores(chain.states)
    if scores is None or query.pattern(chain.length or 1) is not None or query.missing == "skip":
        raise NotApplicableError(
            "what noise attains is worked out for counts and sums of all records"
        )
    if not chain.homogeneous:
        raise NotApplicableError("what noise attains is worked out for chains with one kernel")
    alive = np.flatnonzero(chain.occurring)
    kernel = np.ascontiguousarray(chain.transition[..., alive, :][..., alive])
    units, step = score_lattice(scores[alive])
    s = len(alive)
    most = min(_DISTANCE, max(2, _OPTIONS // s)) if reach is None else check_whole("reach", reach)
    if chain.length is not None:
        most = min(most, chain.length - 2)
    if most < 1:
        raise NotApplicableError("the chain is too short for a known record on each side")
    right = _side(kernel, units, most)
    left = _side(np.ascontiguousarray(kernel.T), units, most)
    noise = _cells(mechanism, step, 2 * most * int(units.max()) + 1)
    labels = [chain.states[x] for x in alive]
    above, below, who = [], [], []
    for dl, cl, left_law in left:
        # fold the noise with the left part once for all right parts
        folded = _folded(left_law, noise)
        for dr, cr, right_law in right:
            if chain.length is not None and dl + dr + 1 > chain.length:
                continue
            given = {}
            for x in range(s):
                if left_law[x].any() and right_law[x].any():
                    size = right_law.shape[1]
                    given[x] = right_law[x] @ folded[x, units[x] : units[x] + size]
            for a, p in given.items():
                for b, q in given.items():
                    if a != b:
                        above.append(p)
                        below.append(q)
                        known = ((-dl, labels[cl]), (dr, labels[cr]))
                        who.append(Witness(None, (labels[a], labels[b]), known))
    if not above:
        raise NotApplicableError("no record has two possible values given its neighbours")
    return Attained(np.array(above), np.array(below), tuple(who))


def _side(kernel: np.ndarray, units: np.ndarray, reach: int) -> list[tuple[int, int, np.ndarray]]:
    """For each known record: distance, value, and the law of the sum strictly between, by state."""
    s = len(kernel)
    options = []
    for c in range(s):
        table = np.zeros((reach + 1, s, (reach - 1) * int(units.max()) + 1))
        sum_laws(kernel, units, np.eye(s)[c], table)
        totals = table.sum(axis=2, keepdims=True)
        table = np.divide(table, totals, out=np.zeros_like(table), where=totals > 0)
        options += [(d, c, table[d]) for d in range(1, reach + 1) if totals[d].any()]
    return options


def _folded(law: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Probabilities of the cells when the sum is ``law`` plus j, for every state and j."""
    size = law.shape[1]
    windows = np.lib.stride_tricks.sliding_window_view(noise, size, axis=0)
    return np.einsum("xk,jyk->xjy", law, windows, optimize=True)


def _cells(mechanism: Gaussian | DiscreteGaussian, step: int, sums: int) -> np.ndarray:
    """Probability of each cell of outputs given each sum, in steps of the lattice of sums."""
    if isinstance(mechanism, Gaussian):
        sigma = mechanism.sigma / (mechanism.query.grid * step)
        count = math.ceil((2 * _TAIL * sigma + sums) / (sigma / _CELLS))
        if count > 200_000:
            raise NotApplicableError("sigma is too small against the sum for cells of its size")
        edges = np.linspace(-_TAIL * sigma, sums + _TAIL * sigma, count + 1)
        off = (edges[None, :] - np.arange(sums)[:, None]) / sigma
        return _normal(off[:, :-1], off[:, 1:])
    if not isinstance(mechanism, DiscreteGaussian):
        raise InputError(f"mechanism must be Gaussian or DiscreteGaussian, got {mechanism!r}")
    if step != 1:
        raise NotApplicableError(
            "what discrete noise attains is worked out for counts; give Gaussian(...) for a sum"
        )
    reach = math.ceil(_TAIL * mechanism.scale)
    outputs = np.arange(-reach, sums + reach)
    return np.exp(mechanism.noise_logpmf(outputs[None, :] - np.arange(sums)[:, None]))


def _normal(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Pr[low < N < high], both from the side where the tail is small."""
    from scipy.special import ndtr

    return np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
