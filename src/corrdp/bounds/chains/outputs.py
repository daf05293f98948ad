"""What one published series gives away: forward-backward over the reports of a local mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corrdp._checks import check_items, check_kind
from corrdp._compiled import njit
from corrdp._json import coded, runs, unruns
from corrdp.bounds.chains.sweep import first_weights
from corrdp.errors import DataError, InputError
from corrdp.mechanisms.base import FiniteMechanism
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Result, Witness

REFERENCE = "forward-backward over the published series (chains#uninformed)"
_ASSUMPTION = (
    "the adversary knows no other record, and this is about one published series: another one "
    "may give away more"
)


@dataclass(frozen=True, eq=False, repr=False)
class OutputLeakage(Result):
    """What one published series gives away about each record, to who knows no record.

    Parameters
    ----------
    value : float
        Log odds of some record moved by this much, those of no record by more.
    per_record : array
        Largest change of log odds between two values of each record.
    witness : Witness
        The record about which most is given away, and the two values.
    certificate : Certificate
    """

    result = "output leakage"

    value: float
    per_record: np.ndarray = field(metadata=coded(runs, unruns))
    witness: Witness
    certificate: Certificate

    def __repr__(self) -> str:
        return (
            f"This series of {len(self.per_record)} reports gives away {self.value:.6g}\n"
            f"  witness      {self.witness}\n"
            f"  certificate  {self.certificate.name}: {self.certificate.reference}\n"
            f"  assumes      {self.certificate.assumptions[0]}"
        )


def output_leakage(
    chain: MarkovChain, mechanism: FiniteMechanism, z: Sequence[Any] | np.ndarray
) -> OutputLeakage:
    r"""What one published series gives away about each of its records.

    .. math:: \max_{a, b} \ln \frac{\Pr[X_t = a \mid z] / \Pr[X_t = b \mid z]}
                                   {\Pr[X_t = a] / \Pr[X_t = b]}

    where

    - z is the published series, one report per record,
    - a, b are values that record t can have.

    Parameters
    ----------
    chain : MarkovChain
        Law of the true records. Of a chain with one kernel, z may be a shorter sequence.
    mechanism : BinaryResponse, GRR, ..
        What reported each record by itself; its reports are states of the chain.
    z : sequence of states
        None where a record has no report.

    Returns
    -------
    OutputLeakage

    Raises
    ------
    DataError
        A report is not a state of the chain, or the series cannot occur.

    Notes
    -----
    O(n s^2), compiled, in logarithms (nothing underflows): half a second for 10^6 binary reports.

    References
    ----------
    Rabiner, "A tutorial on hidden Markov models" (1989); chains#uninformed.

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> chain = MarkovChain([[.9, .1], [.1, .9]], states=("rest", "walk"))
    >>> leak = output_leakage(chain, BinaryResponse(.2), ["rest"] * 8)
    >>> round(leak.value, 6), leak.witness.record, leak.witness.values
    (5.117036, 3, ('rest', 'walk'))
    """
    if not callable(getattr(mechanism, "channel", None)):
        raise InputError(
            f"mechanism must report each record by itself, as BinaryResponse and GRR do; got "
            f"{mechanism!r}"
        )
    check_kind("chain", chain, MarkovChain, "a MarkovChain")
    channel = np.asarray(mechanism.channel(), dtype=float)
    s = len(chain.states)
    if channel.shape != (s, s):
        raise InputError(
            f"the mechanism turns {channel.shape[0]} values into {channel.shape[1]} and the chain "
            f"has {s} states: reports must be states of the chain"
        )
    reports = _numbers(chain, z)
    with np.errstate(divide="ignore"):
        # a last column for records without a report, which say nothing
        start = np.log(first_weights(chain, np.arange(s)))
        law = np.log(np.column_stack([channel, np.ones(s)]))
        kernels = np.log(chain.transition[None] if chain.homogeneous else chain.transition)
    per_record = np.empty(len(reports))
    pairs = np.empty((len(reports), 2), dtype=np.int64)
    if not _changes(start, np.ascontiguousarray(kernels), law, reports, per_record, pairs):
        raise DataError("z has probability 0 under this chain and mechanism: it is not its output")
    record = int(per_record.argmax())
    high, low = (chain.states[x] for x in pairs[record])
    certificate = Certificate("forward-backward", REFERENCE, (_ASSUMPTION,))
    witness = Witness(record, (high, low))
    return OutputLeakage(float(per_record[record]), per_record, witness, certificate)


def _numbers(chain: MarkovChain, z: Sequence[Any] | np.ndarray) -> np.ndarray:
    """The reports as state numbers; the first that is none is named."""
    values = [*check_items("z", z.tolist() if isinstance(z, np.ndarray) else z, error=DataError)]
    n = chain.length
    if not values:
        raise DataError("z is empty: give the published series")
    if n is not None and (len(values) > n or (len(values) < n and not chain.homogeneous)):
        raise DataError(f"z has {len(values)} reports and the chain {n} records: one per record")
    number = {state: k for k, state in enumerate(chain.states)} | {None: len(chain.states)}
    try:
        codes = np.array([number.get(value, -1) for value in values], dtype=np.int64)
    except TypeError:  # something that cannot be a key: z is a table, not a series
        raise DataError("z must be one series of states: one value per record") from None
    bad = np.flatnonzero(codes < 0)
    if bad.size:
        raise DataError(
            f"z[{bad[0]}] = {values[bad[0]]!r} is not one of the states {list(chain.states)!r} "
            f"({len(bad)} such reports)"
        )
    return codes


@njit(cache=True)
def _mixed(row: np.ndarray, values: np.ndarray) -> float:
    """ln sum exp(row + values)."""
    top = -math.inf
    for y in range(len(row)):
        top = max(top, row[y] + values[y])
    if top == -math.inf:
        return top
    total = 0.0
    for y in range(len(row)):
        total += math.exp(row[y] + values[y] - top)
    return top + math.log(total)


@njit(cache=True)
def _changes(
    start: np.ndarray,
    kernels: np.ndarray,
    law: np.ndarray,
    reports: np.ndarray,
    per_record: np.ndarray,
    pairs: np.ndarray,
) -> bool:
    """Spread of ln Pr[reports | X_t = x] over the possible x; False if the reports are impossible.

    All arguments are logarithms. ``kernels`` has one row, or one per step.
    """
    n, s = len(reports), len(start)
    step = 0 if len(kernels) == 1 else 1
    after = np.zeros((n, s))  # ln Pr[later reports | X_t = x], up to a constant
    seen = np.empty(s)
    for t in range(n - 2, -1, -1):
        for y in range(s):
            seen[y] = law[y, reports[t + 1]] + after[t + 1, y]
        top = -math.inf
        for x in range(s):
            after[t, x] = _mixed(kernels[t * step, x], seen)
            top = max(top, after[t, x])
        if top == -math.inf:
            return False
        for x in range(s):
            after[t, x] -= top
    back = np.empty((len(kernels), s, s))
    for t in range(len(kernels)):
        for x in range(s):
            for y in range(s):
                back[t, y, x] = kernels[t, x, y]
    prior = start.copy()  # ln Pr[X_t = x]
    before = start.copy()  # ln Pr[X_t = x, earlier reports], up to a constant
    moved = np.empty(s)
    for t in range(n):
        if t > 0:
            row = (t - 1) * step
            for y in range(s):
                seen[y] = before[y] + law[y, reports[t - 1]]
            top = -math.inf
            for x in range(s):
                before[x] = _mixed(back[row, x], seen)
                top = max(top, before[x])
            for x in range(s):
                before[x] -= top
                moved[x] = _mixed(back[row, x], prior)
            prior, moved = moved, prior
        high, low = -1, -1
        most, least = -math.inf, math.inf
        for x in range(s):
            if prior[x] == -math.inf:
                continue
            change = before[x] - prior[x] + law[x, reports[t]] + after[t, x]
            if high < 0 or change > most:
                high, most = x, change
            if low < 0 or change < least:
                low, least = x, change
        if most == -math.inf:
            return False
        per_record[t] = most - least
        pairs[t, 0], pairs[t, 1] = high, low
    return True
