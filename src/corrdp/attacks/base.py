"""What attackers share: reading the series, the score, how sure it is and how high it can be.

Successes along a chain depend on each other; what a mechanism leaks limits how often anybody is
right.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._binomial import binomial_interval
from corrdp._checks import check_array, check_number
from corrdp.errors import DataError, InputError, ModelError
from corrdp.mechanisms.base import FiniteMechanism
from corrdp.models.chains.markov import MarkovChain

LEVEL = 0.95
_MOST_BATCHES = 30
_FEWEST_BATCHES = 10
_BATCH_MEMORY = 10  # a batch lasts at least this many times what the chain remembers


def memory(chain: MarkovChain) -> float:
    """What one step leaves of the past: 0 for independent records, 1 when nothing is forgotten.

    The second-largest modulus of an eigenvalue; for kernels that change with time, the largest
    total variation distance of two rows (Dobrushin's coefficient).

    Examples
    --------
    >>> round(memory(MarkovChain([[.9, .1], [.2, .8]])), 6)
    0.7
    """
    if len(chain.states) == 1:
        return 0.0
    if chain.homogeneous:
        sizes = np.sort(np.abs(np.linalg.eigvals(chain.transition)))
        return min(float(sizes[-2]), 1.0)
    rows = chain.transition
    pairs = np.abs(rows[:, :, None, :] - rows[:, None, :, :]).sum(axis=-1)
    return min(float(pairs.max(initial=0.0)) / 2, 1.0)


def success_interval(hits: np.ndarray, kept: float) -> tuple[float, float]:
    r"""95 % interval of a success rate from one series of dependent successes.

    Batch means: the series is cut into at most 30 batches, each at least ten times as long as the
    chain remembers, and their spread estimates the variance of the rate. The exact binomial
    (Clopper-Pearson) interval is then taken for as many independent trials as would have that
    variance,

    .. math:: n^* = \min\Big\{n, \frac{p (1 - p)}{v} \Big(\frac{t_n}{t_b}\Big)^2\Big\}

    where

    - p is the share of successes among n, and v its variance from b batches,
    - t_n and t_b are the quantiles of Student's law with n - 1 and b - 1 degrees of freedom.

    If all or none succeed the batches show no spread, and n* is n (1 - kept)/(1 + kept). A series
    too short for ten batches says nothing that holds: its interval is (0, 1). Asymptotic in the
    length of the batches, for a success rate that does not change along the series.

    Parameters
    ----------
    hits : array of bool
        In the order of time.
    kept : float in [0, 1]
        The chain's :func:`memory`.

    References
    ----------
    Korn, Graubard, "Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data", Survey Methodology 24 (1998), 193-201.

    Examples
    --------
    >>> hits = np.random.default_rng(1).random(5000) < .8
    >>> [round(end, 3) for end in success_interval(hits, .5)]
    [0.789, 0.811]
    """
    from scipy.special import stdtrit

    n, tail = len(hits), (1 - LEVEL) / 2
    batches = min(_MOST_BATCHES, math.floor(n * (1 - kept) / _BATCH_MEMORY))
    if batches < _FEWEST_BATCHES:
        return 0.0, 1.0
    rate = float(hits.mean())
    means = np.array([batch.mean() for batch in np.array_split(hits, batches)])
    variance = float(means.var(ddof=1)) / batches
    if rate in (0.0, 1.0):
        trials = n * (1 - kept) / (1 + kept)
    elif variance == 0:
        trials = float(n)
    else:
        fewer = (stdtrit(n - 1, tail) / stdtrit(batches - 1, tail)) ** 2
        trials = min(float(n), rate * (1 - rate) / variance * fewer)
    right, wrong = rate * trials, (1 - rate) * trials
    return binomial_interval(right, wrong, 1 - LEVEL)


def mutual_information(records: np.ndarray, guesses: np.ndarray, states: int) -> float:
    r"""Bits that a guess tells about its record, from how often each goes with each.

    .. math:: I = \sum_{x,g} p_{xg} \log_2 \frac{p_{xg}}{p_x p_g}

    where p are shares of the pairs seen. Unlike success it is 0 for whoever always names the
    commonest state, and it counts lies that can be turned round. An estimate: too large by about
    (s - 1)^2 / (2 n ln 2) for s states and n records, more where they depend on each other.

    Parameters
    ----------
    records, guesses : array of int
    states : int

    Examples
    --------
    >>> mutual_information(np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0]), 2)
    1.0
    >>> mutual_information(np.array([0, 0, 0, 1]), np.zeros(4, dtype=int), 2)
    0.0
    """
    joint = np.bincount(records * states + guesses, minlength=states**2).reshape(states, -1)
    shares = joint / len(records)
    apart = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    seen = shares > 0
    return max(0.0, float((shares[seen] * np.log2(shares[seen] / apart[seen])).sum()))


def counted_interval(right: int, n: int) -> tuple[float, float]:
    """Exact interval at 95 % of a success rate whose n trials are independent.

    Examples
    --------
    >>> [round(end, 6) for end in counted_interval(60, 1000)]
    [0.046095, 0.07656]
    """
    return binomial_interval(right, n - right, 1 - LEVEL)


_ROUNDING = 2.0**-50  # a few ulps on top: a bound is never below its formula


def _log_odds(prior: Any) -> float:
    """ln of the larger prior probability over the smaller."""
    given = check_array("prior", prior)
    if given.ndim == 0:
        odds = float(given)
        if not odds >= 0:
            raise InputError(f"prior odds must be a number >= 0, got {prior!r}")
        return abs(math.log(odds)) if 0 < odds < math.inf else math.inf
    if given.shape != (2,) or not (given >= 0).all() or abs(given.sum() - 1) > 1e-9:
        raise InputError(
            f"prior must be two probabilities that sum to 1, or their odds; got {prior!r}"
        )
    return abs(math.log(given[0] / given[1])) if given.min() > 0 else math.inf


def _leakage(epsilon: Any) -> float:
    return math.inf if epsilon is math.inf else check_number("epsilon", epsilon, least=0)


def _probability(log_odds: float) -> float:
    return min(1.0, (1 + _ROUNDING) / (1 + math.exp(-log_odds)))


def success_bound(epsilon: float, prior: Any) -> float:
    r"""The largest success rate of any attacker on one binary record, on average over outputs.

    .. math:: p_s \le \max\Big\{\frac{m}{1 + m}, \frac{e^\varepsilon}{1 + e^\varepsilon}\Big\}

    where

    - epsilon is what the attacker learns at most: the leakage (BDP) about the record, to an
      attacker with his knowledge; for independent records the DP level,
    - m is the larger of the prior odds and their inverse, given what the attacker knows.

    A guess is a test of the two values: p = Pr[guess 0 | 0] and q = Pr[guess 0 | 1] obey
    p <= e^eps q and 1 - q <= e^eps (1 - p), and w_0 p + w_1 (1 - q) is largest at a corner: always
    the commoner value, or p = 1 - q = e^eps/(1 + e^eps). The source prints
    e^eps/(m + e^eps), which is wrong: at epsilon 0 it is below what guessing the commoner value
    achieves.

    Parameters
    ----------
    epsilon : float
    prior : (float, float) or float
        Prior probabilities of the two values, or their odds.

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4, corrected.

    Examples
    --------
    >>> round(success_bound(.5, (.5, .5)), 6)
    0.622459
    >>> round(success_bound(.5, (.8, .2)), 6)
    0.8
    """
    return _probability(max(_log_odds(prior), _leakage(epsilon)))


def posterior_bound(epsilon: float, prior: Any) -> float:
    r"""The largest probability that any attacker can have of being right, after any one output.

    .. math:: \Pr[X = x \mid z] \le \frac{m e^\varepsilon}{1 + m e^\varepsilon}

    where epsilon and m are as in :func:`success_bound`: posterior odds are at most e^epsilon times
    the prior odds. Holds for every output; averaged over outputs :func:`success_bound` is sharper.

    Parameters
    ----------
    epsilon : float
    prior : (float, float) or float
        Prior probabilities of the two values, or their odds.

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4.

    Examples
    --------
    >>> round(posterior_bound(.5, (.8, .2)), 6)
    0.868332
    """
    return _probability(_log_odds(prior) + _leakage(epsilon))


MISSING = -1  # the code of a time step without observation


@dataclass(frozen=True, eq=False)
class AttackResult:
    """What an attacker guessed, and how often it was right.

    Parameters
    ----------
    attack : str
        Which attacker.
    guesses : array
        One state label per time step.
    success : float or None
        Share of right guesses among the time steps whose truth is given; None without truth.
    interval : (float, float) or None
        95 % interval of the attacker's success rate on such series; it allows for successes that
        depend on each other along the chain, see :func:`~corrdp.attacks.base.success_interval`.
    scored : int
        How many guesses were compared with the truth.
    bits : float or None
        What a guess tells about its record, see :func:`mutual_information`.
    """

    attack: str
    guesses: np.ndarray
    success: float | None = None
    interval: tuple[float, float] | None = None
    scored: int = 0
    bits: float | None = None

    def __float__(self) -> float:
        if self.success is None:
            raise InputError("no success rate without the truth: give run(..., truth=)")
        return self.success

    def __repr__(self) -> str:
        if self.success is None or self.interval is None:
            return f"<{self.attack}: {len(self.guesses)} guesses, not scored>"
        low, high = self.interval
        return (
            f"<{self.attack}: {self.success:.4f} of {self.scored} right, "
            f"{LEVEL:.0%} interval {low:.4f} to {high:.4f}, {self.bits:.3g} bits of each record>"
        )


def check_model(model: Any) -> MarkovChain:
    """The model, refused unless it is a first-order chain."""
    if not isinstance(model, MarkovChain):
        raise ModelError(
            f"attackers need a MarkovChain as model, got {type(model).__name__}; "
            "give the chain of order 1 that the adversary assumes"
        )
    return model


def check_channel(model: MarkovChain, channel: Any) -> np.ndarray:
    """``Pr[report | record]`` as an array, refused when it is not over the states of the model."""
    law = check_array("channel", channel)
    s = len(model.states)
    if law.shape != (s, s):
        raise ModelError(
            f"the model has {s} states {list(model.states)!r}, the mechanism a channel of shape "
            f"{law.shape}; use a mechanism over these states"
        )
    if not np.isfinite(law).all() or (law < 0).any() or np.abs(law.sum(axis=1) - 1).max() > 1e-9:
        raise InputError("a channel holds probabilities, and each of its rows sums to 1")
    return law


def state_codes(model: MarkovChain, name: str, values: Any) -> np.ndarray:
    """A series as state numbers, -1 where nothing was observed.

    Labels of the model come first; a series with a value that is no label is read as state numbers
    0..s-1. Not observed is None, or -1 where that is no label.

    Parameters
    ----------
    model : MarkovChain
    name : str
        What to call the series in an error.
    values : sequence

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], states=("rest", "walk"))
    >>> state_codes(chain, "z", ["walk", None, "rest"]).tolist()
    [1, -1, 0]
    >>> state_codes(chain, "z", [1, -1, 0]).tolist()
    [1, -1, 0]
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{name} must be one series of states, not nested sequences") from None
    if array.ndim != 1 or not array.size:
        raise DataError(
            f"{name} must be one series with at least one value, got shape {array.shape}"
        )
    s = len(model.states)
    whole = array.dtype == bool or np.issubdtype(array.dtype, np.integer)
    if whole and model.states == tuple(range(s)) and array.min() >= MISSING and array.max() < s:
        return array.astype(np.int64)  # the usual case, without a loop over the values
    items = array.tolist()
    labels: dict[Any, int] = {None: MISSING}
    labels |= {state: code for code, state in enumerate(model.states)}
    numbers: dict[Any, int] = {None: MISSING, MISSING: MISSING} | {k: k for k in range(s)}
    strays = []
    for codes in ({MISSING: MISSING} | labels, numbers):
        try:
            return np.array([codes[item] for item in items], dtype=np.int64)
        except KeyError as error:
            strays.append(error.args[0])
    place = next(k for k, item in enumerate(items) if item is strays[0] or item == strays[0])
    raise DataError(
        f"{name}[{place}] = {strays[0]!r} is not one of the states {list(model.states)!r} nor a "
        f"state number 0..{s - 1}; use None where nothing was observed"
    )


def check_fits(model: MarkovChain, n: int) -> None:
    """A chain whose law changes with time describes series of its own length only."""
    if not model.homogeneous and n != model.length:
        raise DataError(
            f"the series has {n} time steps, the model, which changes with time, {model.length}"
        )


@dataclass(frozen=True)
class Attack(ABC):
    """An adversary who knows the model and the mechanism and sees the sanitized series.

    Parameters
    ----------
    mechanism : FiniteMechanism
        What sanitized the series: BinaryResponse, GRR or anything with a ``channel()``.
    """

    mechanism: FiniteMechanism

    def __post_init__(self) -> None:
        # isinstance(.., FiniteMechanism) would ask for the guarantee, which a flip rate of 0 lacks
        if not callable(getattr(self.mechanism, "channel", None)):
            raise InputError(
                f"{type(self).__name__} attacks a mechanism that acts on each record alone, such "
                f"as BinaryResponse or GRR; got {self.mechanism!r}"
            )

    def run(self, sanitized: Any, model: MarkovChain, truth: Any = None) -> AttackResult:
        """Guess every record from the sanitized series.

        Parameters
        ----------
        sanitized : sequence
            Labels of the model's states or state numbers; None (or -1) where nothing is known.
        model : MarkovChain
            The law that the adversary takes the records to have.
        truth : sequence, optional
            The records themselves, to score the guesses; missing ones are not scored.
        """
        chain = check_model(model)
        channel = check_channel(chain, self.mechanism.channel())
        reports = state_codes(chain, "sanitized", sanitized)
        check_fits(chain, len(reports))
        records = None if truth is None else state_codes(chain, "truth", truth)
        if records is not None and len(records) != len(reports):
            raise DataError(
                f"truth has {len(records)} values and the sanitized series {len(reports)}"
            )
        codes = self._guess(chain, channel, reports, records)
        guesses, name = np.array(chain.states)[codes], type(self).__name__
        if records is None:
            return AttackResult(name, guesses)
        hits = (codes == records)[records != MISSING]
        if not hits.size:
            raise DataError("every value of truth is missing: there is nothing to score")
        interval, seen = success_interval(hits, memory(chain)), records != MISSING
        told = mutual_information(records[seen], codes[seen], len(chain.states))
        return AttackResult(name, guesses, float(hits.mean()), interval, int(hits.size), told)

    @abstractmethod
    def _guess(
        self,
        chain: MarkovChain,
        channel: np.ndarray,
        reports: np.ndarray,
        records: np.ndarray | None,
    ) -> np.ndarray:
        """State numbers guessed, one per time step."""
