"""Runs of a mechanism in worker processes, batch by batch; what fails is named with its input."""

from __future__ import annotations

import inspect
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from corrdp._checks import check_number
from corrdp.auditing.commands import Command, CommandJob
from corrdp.auditing.outputs import Reader, check_outputs, joined
from corrdp.auditing.samples import Samples
from corrdp.auditing.workers import CallJob, Failure, bar, stop_asked
from corrdp.errors import DataError, InputError

MOST_RUNS = 10**12  # that anybody could wait for
_BATCHES = 20  # batches of an audit, unless they get too small or too large
_SMALLEST, _LARGEST = 1_000, 100_000  # runs of a batch
_PAUSE = 0.005  # seconds between two looks at the workers
_STUCK = 1.0  # seconds without an output, and half of the time: then it hangs
_LIES = 3  # outputs of a repeated batch that no deterministic mechanism could have given
_LONGEST = 1e9  # seconds
_PROBE = 60.0  # seconds for one step of the search for an input that fails


class Job(Protocol):
    """A batch at work in another process.

    ``chunks`` are the outputs so far, in the order of the inputs. ``advance`` takes in what has
    come and says whether that is all; it raises :class:`Failure` if the batch failed.
    ``waiting_for`` is the place of the input at work, where that is known. ``stop`` ends the
    process; it must be called, done or not.
    """

    chunks: list[np.ndarray]

    def advance(self) -> bool: ...
    def waiting_for(self) -> int | None: ...
    def stop(self) -> None: ...


Start = Callable[[Sequence[Any], np.random.SeedSequence], Job]


def collect(
    mechanism: Any,
    inputs: Sequence[Any],
    runs: int,
    rng: np.random.Generator,
    *,
    jobs: int = 1,
    time_limit: float | None = None,
    progress: bool = False,
    read: Reader | None = None,
) -> tuple[Samples, bool]:
    """Run a mechanism on each input equally often, in worker processes.

    Every batch is a process of its own with a generator of its own and the same inputs in the
    same order, any beginning of which has each input equally often up to one. The result depends
    on ``rng`` and not on ``jobs``. Two batches with the same outputs betray a mechanism whose
    generator starts anew in every process: its runs are not independent, which is an error.

    On Linux workers are forked, so any callable will do, also one from a notebook; elsewhere it
    must be importable by name. A mechanism that starts threads before the audit (numba in
    parallel, torch) should be given as a :class:`Command`.

    Parameters
    ----------
    mechanism : Command, object with ``sample(x, rng)``, or callable ``f(x, rng)`` or ``f(x)``
        ``sample`` is called with an array of inputs and gives one output for each; if the inputs
        are sequences (whole data sets), with one input at a time.
    inputs : sequence
    runs : int
        In all.
    rng : numpy.random.Generator
    jobs : int
        Batches at work at once. Inside ``joblib.parallel_config(backend="dask")``, or another
        backend that is not of this machine, batches go there instead, as many as it takes.
    time_limit : float, optional
        Seconds; what has been put out by then is returned, as after Ctrl-C.
    progress : bool
        Show a bar on stderr.
    read : callable, optional
        ``read(values, outputs)`` gives the outputs of these inputs as the audit wants them, or
        raises on those that the mechanism must not give.

    Returns
    -------
    Samples, bool
        The bool tells whether all runs were made.

    Examples
    --------
    >>> flip = lambda x, rng: x ^ int(rng.random() < .25)
    >>> samples, complete = collect(flip, (0, 1), 2_000, np.random.default_rng(1))
    >>> samples.counts.tolist(), complete
    ([1000, 1000], True)
    """
    inputs = tuple(inputs)
    _check_numbers(inputs, runs, jobs, time_limit)
    order = _order(len(inputs), runs, rng)
    root = np.random.SeedSequence(rng.integers(0, 2**32, 8, dtype=np.uint32).tolist())
    lengths = [len(order)] * (runs // len(order)) + [runs % len(order)] * (runs % len(order) > 0)
    batches = [
        Batch(order[:length], seed)
        for length, seed in zip(lengths, root.spawn(len(lengths)), strict=True)
    ]
    start = _starter(mechanism, inputs)
    with bar(runs, progress) as show, stop_asked() as stopped:
        crew = _Crew(start, inputs, read, time_limit, stopped)
        if _elsewhere():
            complete = crew.send(mechanism, batches, show)
        else:
            complete = crew.work(batches, jobs, show)
    made = [batch for batch in batches if batch.done]
    if not made:
        raise DataError("the audit was stopped before the first output: too early for any verdict")
    which = np.concatenate([batch.which[: batch.done] for batch in made])
    if len(np.unique(which)) < len(inputs):
        raise DataError(
            f"the audit was stopped after {len(which)} runs, before each of {len(inputs)} inputs "
            "was run once: too early for any verdict; allow more time, or give fewer inputs"
        )
    return Samples(inputs, which, joined([p for batch in made for p in batch.outputs])), complete


def _check_numbers(inputs: tuple[Any, ...], runs: int, jobs: int, time_limit: float | None) -> None:
    if len(inputs) < 2:
        raise InputError(f"an audit compares two inputs or more, got {len(inputs)}")
    check_runs(runs)
    check_jobs(jobs)
    if runs < len(inputs):
        raise InputError(
            f"runs={runs} is too few for any verdict: there are {len(inputs)} inputs, and each "
            "must be run"
        )
    check_time(time_limit)


def check_runs(runs: Any) -> int:
    """A number of runs, or an error."""
    if isinstance(runs, bool) or not isinstance(runs, int | np.integer) or runs < 1:
        raise InputError(f"runs must be a whole number above 0, got {runs!r}")
    if runs > MOST_RUNS:
        raise InputError(f"runs must be at most {MOST_RUNS:,}, got {runs}")
    return int(runs)


def check_jobs(jobs: int) -> None:
    """A number of worker processes, or an error."""
    if isinstance(jobs, bool) or not isinstance(jobs, int | np.integer) or jobs < 1:
        raise InputError(f"jobs must be a whole number above 0, got {jobs!r}")


def check_time(seconds: float | None) -> None:
    """A time limit, or an error."""
    if seconds is not None:
        check_number("time_limit", seconds, above=0, most=_LONGEST)


def _order(m: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Input numbers of a batch: each once, in random order, again and again."""
    size = min(max(-(-runs // _BATCHES), _SMALLEST), _LARGEST)
    # every input at least twice: else a repeated batch looks like a deterministic mechanism
    rounds = max(-(-size // m), 2)
    rounds = min(rounds, -(-runs // m))
    return np.argsort(rng.random((rounds, m)), axis=1).ravel()[:runs]


def _starter(mechanism: Any, inputs: tuple[Any, ...]) -> Start:
    if isinstance(mechanism, Command):
        return lambda values, seed: CommandJob(mechanism, values, seed)
    sample = getattr(mechanism, "sample", None)
    if callable(sample):
        whole = any(np.ndim(x) and not isinstance(x, str) for x in inputs)
        return lambda values, seed: CallJob(sample, values, seed, vectorised=not whole)
    if callable(mechanism):
        call = with_rng(mechanism)
        return lambda values, seed: CallJob(call, values, seed)
    raise InputError(
        "mechanism must be a callable f(x, rng) or f(x), an object with sample(x, rng), a Command "
        f"or Samples; got {mechanism!r}"
    )


@dataclass(frozen=True)
class _Alone:
    """A function that draws its noise by itself, called as one that is handed a generator."""

    function: Callable[..., Any]

    def __call__(self, x: Any, rng: np.random.Generator) -> Any:
        return self.function(x)


@dataclass(frozen=True)
class _ByName(_Alone):
    """A function that takes its generator by name alone."""

    def __call__(self, x: Any, rng: np.random.Generator) -> Any:
        return self.function(x, rng=rng)


def with_rng(function: Callable[..., Any]) -> Callable[[Any, np.random.Generator], Any]:
    """The function as ``f(x, rng)``.

    A second argument is the generator if it must be given or is called ``rng``; one with a default
    and another name is the function's own affair. Without one the function draws by itself: the
    generators of numpy and Python are seeded anew for each batch.

    Examples
    --------
    >>> with_rng(lambda x: 2 * x)(4, np.random.default_rng())
    8
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # written in C: nothing is known of it
        return function
    if "rng" in signature.parameters and _takes(signature, None, rng=None):
        return _ByName(function)
    several = any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values())
    if _takes(signature, None) and not several:
        return _Alone(function)
    if _takes(signature, None, None):
        return function
    raise InputError(
        f"a mechanism is called as f(x) or f(x, rng), and {name_of(function)} takes {signature}"
    )


def _takes(signature: inspect.Signature, *arguments: Any, **named: Any) -> bool:
    try:
        signature.bind(*arguments, **named)
    except TypeError:
        return False
    return True


@dataclass
class Batch:
    """The inputs of one process, and what it has put out so far."""

    which: np.ndarray
    seed: np.random.SeedSequence
    outputs: list[np.ndarray] = field(default_factory=list)
    done: int = 0
    heard: float = 0.0  # when the last output came


@dataclass
class _Crew:
    """Works through batches, a few at a time."""

    start: Start
    inputs: tuple[Any, ...]
    read: Reader | None
    time_limit: float | None
    stopped: Callable[[], bool]  # Ctrl-C: noted, so that no batch is left half counted

    def work(self, batches: list[Batch], jobs: int, show: Callable[[int], None]) -> bool:
        """Whether all batches were finished before the time limit and before ``stopped``."""
        began = time.monotonic()
        waiting, active = list(reversed(batches)), dict[int, tuple[Batch, Job]]()
        finished: list[Batch] = []
        try:
            while waiting or active:
                while waiting and len(active) < jobs:
                    batch = waiting.pop()
                    batch.heard = time.monotonic()
                    active[id(batch)] = batch, self.start(self._values(batch), batch.seed)
                for batch, job in list(active.values()):
                    if self._advance(batch, job):
                        active.pop(id(batch))
                        job.stop()
                        self._refuse_repeats(batch, finished)
                        finished.append(batch)
                show(sum(batch.done for batch in batches))
                spent = time.monotonic() - began
                if self.stopped() or (self.time_limit is not None and spent > self.time_limit):
                    self._refuse_hanging(active, spent)
                    return not active and not waiting
                time.sleep(_PAUSE)
        finally:
            for _, job in active.values():
                job.stop()
        return True

    def send(self, mechanism: Any, batches: list[Batch], show: Callable[[int], None]) -> bool:
        """As ``work``, each batch in a process of the machine that joblib's backend gives it to."""
        from joblib import Parallel, delayed

        began, finished = time.monotonic(), list[Batch]()
        tasks = (
            delayed(_run_batch)(mechanism, self.inputs, self.read, self.time_limit, k, batch)
            for k, batch in enumerate(batches)
        )
        for k, batch in Parallel(return_as="generator_unordered")(tasks):
            self._refuse_repeats(batch, finished)
            finished.append(batch)
            batches[k] = batch
            show(sum(batch.done for batch in finished))
            spent = time.monotonic() - began
            if self.stopped() or (self.time_limit is not None and spent > self.time_limit):
                break
        return sum(batch.done == len(batch.which) for batch in finished) == len(batches)

    def _values(self, batch: Batch) -> list[Any]:
        return [self.inputs[number] for number in batch.which.tolist()]

    def _advance(self, batch: Batch, job: Job) -> bool:
        try:
            complete = job.advance()
        except Failure as failure:
            self._take(batch, job)
            job.stop()
            raise self._named(batch, failure) from None
        self._take(batch, job)
        return complete

    def _take(self, batch: Batch, job: Job) -> None:
        for chunk in job.chunks:
            numbers = batch.which[batch.done : batch.done + len(chunk)]
            values = [self.inputs[number] for number in numbers.tolist()]
            check_outputs(values, chunk)
            batch.outputs.append(chunk if self.read is None else self.read(values, chunk))
            batch.done += len(chunk)
            batch.heard = time.monotonic()
        job.chunks.clear()

    def _named(self, batch: Batch, failure: Failure) -> InputError:
        values = self._values(batch)
        if failure.place is not None:
            value = values[failure.place]
            return DataError(f"the mechanism failed on input {value!r}: {failure.reason}")
        found = self._search(values, batch.seed)
        if found is not None:
            value, reason = found
            return DataError(f"the mechanism failed on input {value!r}: {reason}")
        after = f"; the next was {values[batch.done]!r}" if 0 < batch.done < len(values) else ""
        return DataError(
            f"the mechanism failed on a batch of {len(values)} inputs: {failure.reason}{after}. "
            "No input was found that makes it fail by itself"
        )

    def _search(self, values: list[Any], seed: np.random.SeedSequence) -> tuple[Any, str] | None:
        """Halve the batch until one input is left that fails by itself, or time is up."""
        ends = time.monotonic() + (self.time_limit or math.inf)
        while len(values) > 1 and time.monotonic() < ends and not self.stopped():
            first = values[: len(values) // 2]
            values = first if self._fails(first, seed, ends) else values[len(first) :]
        if len(values) > 1:
            return None
        reason = self._fails(values, seed, ends)
        return None if reason is None else (values[0], reason)

    def _fails(self, values: list[Any], seed: np.random.SeedSequence, ends: float) -> str | None:
        job, ends = self.start(values, seed), min(ends, time.monotonic() + _PROBE)
        try:
            while not job.advance():
                if self.stopped() or time.monotonic() > ends:
                    return "no output"
                time.sleep(_PAUSE)
        except Failure as failure:
            return failure.reason
        finally:
            job.stop()
        return None

    def _refuse_repeats(self, batch: Batch, finished: list[Batch]) -> None:
        """Equal outputs of two processes, beyond what a deterministic mechanism would give."""
        mine = joined(batch.outputs)
        for other in finished:
            shared = min(len(mine), other.done)
            if not np.array_equal(mine[0], other.outputs[0][0]):
                continue  # quick, and nearly always true of the independent
            theirs = joined(other.outputs)
            if np.array_equal(mine[:shared], theirs[:shared]) and _lies(
                batch.which[:shared], mine[:shared]
            ):
                raise DataError(
                    f"two processes put out the same {shared} outputs: the generator of the "
                    "mechanism starts anew in every process, and its runs are not independent. "
                    "Draw from the rng that it is handed; a command, from a generator seeded with "
                    "CORRDP_SEED"
                )

    def _refuse_hanging(self, active: dict[int, tuple[Batch, Job]], spent: float) -> None:
        """A run that never ends must not be left out of the result as if it had not begun."""
        for batch, job in active.values():
            silent = time.monotonic() - batch.heard
            if silent < max(_STUCK, spent / 2):
                continue
            values, place = self._values(batch), job.waiting_for()
            if place is not None:
                raise DataError(
                    f"the mechanism did not answer input {values[place]!r} for {silent:.3g} s"
                )
            following = values[min(batch.done, len(values) - 1)]
            raise DataError(
                f"the mechanism gave {batch.done} of {len(values)} outputs and then nothing for "
                f"{silent:.3g} s: it hangs, perhaps on input {following!r}, or holds its outputs "
                "back; ask for fewer runs, or allow more time"
            )


def _elsewhere() -> bool:
    """Whether the caller has told joblib of a backend other than those of this machine."""
    joblib = sys.modules.get("joblib.parallel")  # whoever configured it has imported it
    if joblib is None:
        return False
    backend, _ = joblib.get_active_backend()
    return type(backend).__module__ != "joblib._parallel_backends"


def _run_batch(
    mechanism: Any,
    inputs: tuple[Any, ...],
    read: Reader | None,
    time_limit: float | None,
    number: int,
    batch: Batch,
) -> tuple[int, Batch]:
    """One batch, on whichever machine this runs; with its number, since they come as they end."""
    crew = _Crew(_starter(mechanism, inputs), inputs, read, time_limit, lambda: False)
    crew.work([batch], 1, lambda done: None)
    return number, batch


def _lies(which: np.ndarray, outputs: np.ndarray) -> bool:
    """Whether some inputs had different outputs in one batch, more than once or twice."""
    rows = np.empty(len(outputs), dtype=object)
    rows[:] = [str(output) for output in outputs.tolist()]
    inputs, first = np.unique(which, return_index=True)
    usual = dict(zip(inputs.tolist(), rows[first], strict=True))
    differ = sum(row != usual[number] for number, row in zip(which.tolist(), rows, strict=True))
    return differ >= _LIES


def name_of(mechanism: Any) -> str:
    """What is audited, in words."""
    if isinstance(mechanism, Samples):
        return "recorded outputs"
    if isinstance(mechanism, Command):
        return f"the command {mechanism.text!r}"
    named = getattr(mechanism, "__qualname__", None)
    return f"{mechanism.__module__}:{named}" if named else " ".join(repr(mechanism).split())
