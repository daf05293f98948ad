"""audit: does this mechanism keep its promise?

Where nobody says how many runs to make, few are made first, and more until they decide. Outputs
that are claimed to be reports of a local protocol are read as such.
"""

from __future__ import annotations

import reprlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp._checks import check_flag, check_items, check_kind
from corrdp.auditing.commands import Command
from corrdp.auditing.outputs import EXACT, Reader, gathered, within
from corrdp.auditing.protocols import as_reports, audit_protocol
from corrdp.auditing.results import Audit
from corrdp.auditing.running import check_jobs, check_runs, check_time, collect, name_of
from corrdp.auditing.samples import Samples, fingerprint
from corrdp.auditing.verdict import audit_samples, check_confidence, read_claim
from corrdp.errors import DataError, InputError
from corrdp.guarantees import Approximate, Pure
from corrdp.mechanisms.base import check_rng
from corrdp.mechanisms.local.base import LocalProtocol
from corrdp.models.base import Model


def reader(protocol: LocalProtocol) -> Reader:
    """Reads outputs as reports of the protocol; one that is none is named with its input.

    Parameters
    ----------
    protocol : LocalProtocol

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> reader(GRR(4, 1.0))([3, 0], np.array([3, 4]))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: the mechanism put out 4 on input 0, which is no report of GRR(k=4, \
epsilon=1.0): y[0] = 4 is not among the states 0..3
    """

    def read(values: Sequence[Any], outputs: np.ndarray) -> np.ndarray:
        try:
            return _checked(protocol, values, outputs)
        except InputError as error:
            whole = error
        # one stray output gives a whole array another type: look at each by itself
        for value, output in zip(values, outputs.tolist(), strict=True):
            try:
                _checked(protocol, [value], gathered([output]))
            except InputError as error:
                raise DataError(
                    f"the mechanism put out {reprlib.repr(output)} on input {value!r}, which is no "
                    f"report of {protocol!r}: {error}"
                ) from None
        raise whole

    return read


def _checked(protocol: LocalProtocol, values: Sequence[Any], outputs: np.ndarray) -> np.ndarray:
    try:
        reports = as_reports(protocol, _plain(outputs))
        protocol.log_law(reports, np.asarray(values))
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(str(error)) from None
    return reports


def _plain(outputs: np.ndarray) -> np.ndarray:
    """Sets as rows of their members, whole numbers as such whatever their type."""
    if outputs.dtype == object:
        rows = [sorted(row) if isinstance(row, frozenset) else row for row in outputs.tolist()]
        return gathered(rows)
    if outputs.dtype.kind == "f" and (outputs == np.rint(outputs)).all():
        return outputs.astype(np.int64) if (np.abs(outputs) <= EXACT).all() else outputs
    return outputs


LEAST_RUNS = 100_000
"""Runs of the first look."""
PATIENCE = 60.0
"""Seconds, unless a time limit is given; a look that would end later is not begun."""

Look = Callable[[int, float, float | None], Audit]


def share(confidence: float, look: int) -> float:
    """The confidence of the look of this number, from 1 on.

    Its error is 2^-look of the whole: all limits of all looks hold together with ``confidence``,
    however many looks there are.

    Examples
    --------
    >>> [round(share(.99, look), 5) for look in (1, 2, 3)]
    [0.995, 0.9975, 0.99875]
    """
    return 1 - (1 - confidence) / 2**look


def until_decided(look: Look, confidence: float, time_limit: float | None) -> Audit:
    """Audit with more and more runs until the verdict is no longer ``undecided``.

    Each look is an audit of new runs, as many as the one before it found needed. New runs are
    independent of the results that led to them, so the limits of a look hold with its
    :func:`share` of the confidence whatever was seen before, and those of all looks together
    with the whole (a union bound).

    Parameters
    ----------
    look : callable
        ``look(runs, confidence, time_limit) -> Audit``.
    confidence : float
    time_limit : float, optional
        Seconds, for all looks; :data:`PATIENCE` if left out, and then the first look takes its
        time.
    """
    began = time.perf_counter()
    patience = PATIENCE if time_limit is None else time_limit
    runs, number, made = LEAST_RUNS, 0, 0
    while True:
        number += 1
        left = None if time_limit is None else max(began + time_limit - time.perf_counter(), 0.1)
        found = look(runs, share(confidence, number), left)
        made += found.runs
        spent = time.perf_counter() - began
        if found.verdict != "undecided" or not found.complete or found.runs_needed is None:
            late = False
            break
        runs = max(found.runs_needed, 2 * runs)
        expected = runs * spent / made
        late = spent + expected > patience
        if late:
            break
    notes = list(found.notes)
    if number > 1:
        notes.append(
            f"{number} looks at {made:,} runs in all, each with a share of the error of "
            f"{1 - confidence:.3g}; the verdict is on the {found.runs:,} of the last"
        )
    if late:
        notes.append(
            f"another {runs:,} runs may decide and would take about {expected:.2g} s here, longer "
            f"than the {patience:g} s that an audit takes unless told: give runs= or time_limit="
        )
    return replace(found, confidence=confidence, notes=tuple(notes), seconds=spent)


_ONCE = "one audit per data set, of all runs that were recorded: the best of several proves nothing"


def audit(
    mechanism: Any,
    claim: float | Pure | Approximate | LocalProtocol | None = None,
    *,
    inputs: Sequence[Any] | None = None,
    outputs: tuple[float, float] | None = None,
    runs: int | None = None,
    confidence: float = 0.99,
    rng: np.random.Generator | None = None,
    model: Model | None = None,
    jobs: int = 1,
    time_limit: float | None = None,
    progress: bool | None = None,
) -> Audit:
    r"""Attack a mechanism's outputs and say whether its claim stands.

    .. math:: \Pr[M(x) \in S] \le e^\varepsilon \Pr[M(x') \in S] + \delta
              \quad\text{for all inputs } x, x' \text{ and events } S

    where

    - M is the mechanism, epsilon and delta are the claim,
    - x and x' are neighbours: **any two of the inputs are taken to be**,
    - S is chosen by the attacks, never by the outputs that it is tested on.

    ``violated`` is a proof up to the confidence: a lower limit of epsilon lies above the claim;
    ``scope`` tells whether for any mechanism, or if it belongs to the family claimed.
    ``holds`` says that no attack tried beats the claim by more than 5 %, with runs that could have
    shown it (``unseen`` tells in which events not); it proves nothing about other attacks and
    other inputs. Otherwise it is ``undecided``, and ``runs_needed`` tells how many runs may decide.

    Callables and commands run in worker processes, a process for each batch
    (:mod:`corrdp.auditing.running`): one that crashes, puts out NaN or something outside
    the declared range, prints a wrong number of lines or hangs is reported with the input that
    caused it.

    Left to itself (``runs=None``) it makes 100,000 runs and, while they do not decide, as many new
    ones as seem needed, for about a minute (:func:`corrdp.auditing.audit.until_decided`): time
    for all but the slowest mechanisms to be caught at an excess of 10 %. The looks share the error
    ``1 - confidence``.

    Parameters
    ----------
    mechanism : LocalProtocol, object with ``sample(x, rng)``, callable, Command or Samples
        A local protocol is run in this process, its reports thrown away. ``sample`` takes an
        array of inputs and gives one output for each (one input at a time where inputs are
        sequences); a callable is
        ``f(x, rng) -> y`` or ``f(x) -> y``, such as a measurement of OpenDP's; :class:`Command`
        is a program; :class:`Samples` are recorded outputs
        (:func:`read_outputs` reads them from a file).
    claim : float, Pure, Approximate or LocalProtocol
        A number is epsilon. A protocol means "this is an implementation of that protocol": sharper
        tests are added, which hold within that family. May be left out for a protocol, whose
        claim is its own.
    inputs : sequence, optional
        Inputs of a callable or command, any two of them neighbours. Not needed if ``claim`` is a
        protocol: 0..k-1.
    outputs : (float, float), optional
        The declared range of the outputs; anything outside it is an error.
    runs : int, optional
        In all, spread evenly over the inputs. Left out: until they decide.
    confidence : float
        Joint level of all limits, of all looks.
    rng : numpy.random.Generator, optional
        Fixed: a fixed result, whatever ``jobs`` is (with ``runs=None``, if it is decided). Left
        out with recorded outputs, it is derived from them: auditing the same data again and again
        until a split pleases proves nothing.
    model : Model, optional
        The claim is a BDP level on records that depend on each other like this; see
        :func:`corrdp.auditing.dependent.audit_model`.
    jobs : int
        Worker processes at once.
    time_limit : float, optional
        Seconds; then, and after Ctrl-C, the verdict is on the runs made so far
        (``complete=False``).
    progress : bool, optional
        Show on stderr how far it is: a bar, or lines where that is no terminal (none before two
        seconds). Left out: yes.

    Returns
    -------
    Audit

    References
    ----------
    Guerra-Balboa, dissertation, section 5.4.

    Examples
    --------
    >>> def response(x, rng):                      # claims 1, but ln(.8/.2) = 1.39
    ...     return x if rng.random() < .8 else 1 - x
    >>> found = audit(response, 1.0, inputs=[0, 1], runs=20_000, rng=np.random.default_rng(2))
    >>> found.verdict, 1 < found.interval[0] < 1.3863
    ('violated', True)
    """
    generator = np.random.default_rng() if rng is None else check_rng(rng)
    check_jobs(jobs)
    check_confidence(confidence)
    check_time(time_limit)
    guarantee = None if claim is None else read_claim(claim)[0]
    if isinstance(guarantee, Approximate) and guarantee.delta >= 1:
        raise InputError("delta = 1 claims nothing: every mechanism keeps it; give a delta below 1")
    if claim is None and not (isinstance(mechanism, LocalProtocol) and model is None):
        raise InputError("say what is claimed: epsilon, a guarantee, or a local protocol")
    shown = progress is None or check_flag("progress", progress)
    if isinstance(mechanism, Samples) and model is None:
        if inputs is not None:
            raise InputError("recorded outputs have their inputs: leave out inputs")
        return _audit_recorded(mechanism, claim, outputs, confidence, rng)

    def look(runs: int, confidence: float, time_limit: float | None) -> Audit:
        options: dict[str, Any] = {
            "runs": runs,
            "confidence": confidence,
            "rng": generator,
            "time_limit": time_limit,
            "progress": shown,
        }
        if model is not None:
            return audit_model(mechanism, _level(claim), model, jobs=jobs, **options)
        if isinstance(mechanism, LocalProtocol):
            return audit_protocol(mechanism, claim, **options)
        return _audit_runs(mechanism, claim, _inputs(inputs, claim), outputs, jobs, **options)

    if model is not None:
        check_kind("model", model, (Model,), "a model of dependence")
        if inputs is not None or outputs is not None or isinstance(mechanism, Samples | Command):
            raise InputError(
                "with a model the records are drawn from it: give a mechanism with sample(x, rng) "
                "or a callable f(records, rng), and neither inputs nor outputs"
            )
        from corrdp.auditing.dependent import audit_model
    elif isinstance(mechanism, LocalProtocol) and (inputs is not None or outputs is not None):
        raise InputError("a protocol has its own inputs and outputs: leave out inputs, outputs")
    if runs is None:
        return until_decided(look, confidence, time_limit)
    return look(check_runs(runs), confidence, time_limit)


def _audit_recorded(
    samples: Samples,
    claim: Any,
    outputs: tuple[float, float] | None,
    confidence: float,
    rng: np.random.Generator | None,
) -> Audit:
    generator = np.random.default_rng(fingerprint(samples)) if rng is None else rng
    read = _read_recorded(samples, _reader(claim, outputs))
    found = audit_samples(read, claim, confidence=confidence, rng=generator)
    return replace(found, assumptions=(_ONCE, *found.assumptions))


def _audit_runs(
    mechanism: Any,
    claim: Any,
    inputs: tuple[Any, ...],
    outputs: tuple[float, float] | None,
    jobs: int,
    *,
    runs: int,
    confidence: float,
    rng: np.random.Generator,
    time_limit: float | None,
    progress: bool,
) -> Audit:
    began = time.perf_counter()
    samples, complete = collect(
        mechanism, inputs, runs, rng, read=_reader(claim, outputs),
        jobs=jobs, time_limit=time_limit, progress=progress,
    )  # fmt: skip
    found = audit_samples(
        samples, claim, confidence=confidence, rng=rng, mechanism=name_of(mechanism)
    )
    return replace(found, complete=complete, seconds=time.perf_counter() - began)


def _level(claim: Any) -> float:
    """A BDP claim: one number."""
    guarantee, declared = read_claim(claim)
    if declared is not None or not isinstance(guarantee, Pure):
        raise InputError(f"with a model the claim is a BDP level, a number; got {claim!r}")
    return float(guarantee.epsilon)


def _reader(claim: Any, outputs: tuple[float, float] | None) -> Reader | None:
    if isinstance(claim, LocalProtocol):
        if outputs is not None:
            raise InputError("the protocol claimed declares the outputs: leave out outputs")
        return reader(claim)
    if outputs is None:
        return None
    try:
        low, high = (float(end) for end in outputs)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"outputs must be a pair of numbers (low, high), got {outputs!r}"
        ) from None
    return within(low, high)


def _inputs(inputs: Sequence[Any] | None, claim: Any) -> tuple[Any, ...]:
    if not isinstance(claim, LocalProtocol):
        if inputs is None:
            raise InputError("inputs: give the inputs to compare, two neighbours or more")
        return tuple(check_items("inputs", inputs))
    if inputs is not None and tuple(check_items("inputs", inputs)) != tuple(range(claim.k)):
        raise InputError(f"an implementation of {claim!r} has the inputs 0..{claim.k - 1}")
    return tuple(range(claim.k))


def _read_recorded(samples: Samples, read: Reader | None) -> Samples:
    if read is None:
        return samples
    values = [samples.inputs[number] for number in samples.which.tolist()]
    try:
        outputs = read(values, samples.outputs)
    except InputError:  # it quotes a run, and who recorded it may have fed in private data
        raise DataError(
            "a recorded output is none that the claim allows: it lies outside the declared range, "
            "or is no report of the protocol"
        ) from None
    return Samples(samples.inputs, samples.which, outputs)
