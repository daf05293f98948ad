"""What every attacker shares: reading the series, checking that it fits, keeping the score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_array
from corrdp.attacks.scoring import LEVEL, memory, success_interval
from corrdp.errors import DataError, InputError, ModelError
from corrdp.mechanisms.base import FiniteMechanism
from corrdp.models.chains.markov import MarkovChain

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
        depend on each other along the chain, see :func:`~corrdp.attacks.scoring.success_interval`.
    scored : int
        How many guesses were compared with the truth.
    """

    attack: str
    guesses: np.ndarray
    success: float | None = None
    interval: tuple[float, float] | None = None
    scored: int = 0

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
            f"{LEVEL:.0%} interval {low:.4f} to {high:.4f}>"
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
        interval = success_interval(hits, memory(chain))
        return AttackResult(name, guesses, float(hits.mean()), interval, int(hits.size))

    @abstractmethod
    def _guess(
        self,
        chain: MarkovChain,
        channel: np.ndarray,
        reports: np.ndarray,
        records: np.ndarray | None,
    ) -> np.ndarray:
        """State numbers guessed, one per time step."""
