"""Batches of calls in processes of their own: crashes contained, limits set, progress watched.

The input of a crash is known. A process group with limits ends what does not end by itself; a stop
by hand waits for the end of a batch.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from corrdp.auditing.outputs import gathered
from corrdp.errors import InputError

FIRST_LINE, _NEXT_LINE = 2.0, 30.0  # seconds of silence in a log


@contextmanager
def bar(runs: int, progress: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, if asked for, and lines where that is no terminal.

    It draws without a thread, which a fork would not survive.
    """
    if not progress:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        with _lines(runs) as show:
            yield show
        return
    columns = ("running the mechanism", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    drawn = 0.0
    with Progress(*columns, console=console, auto_refresh=False, transient=True) as drawing:
        task = drawing.add_task("runs", total=runs)

        def show(done: int) -> None:
            nonlocal drawn
            if time.monotonic() > drawn + 0.1:
                drawn = time.monotonic()
                drawing.update(task, completed=done, refresh=True)

        yield show


@contextmanager
def _lines(runs: int) -> Iterator[Callable[[int], None]]:
    """How far it is, in lines of a log: nothing about quick work, little about long work."""
    began = time.monotonic()
    due, said = began + FIRST_LINE, False

    def show(done: int) -> None:
        nonlocal due, said
        if (now := time.monotonic()) >= due:
            due, said = now + _NEXT_LINE, True
            text = f"running the mechanism: {done:,} of {runs:,} ..."
            print(text, file=sys.stderr, flush=True)

    yield show
    if said:
        print(f"done in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


@contextmanager
def stop_asked() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed: it is noted, so that counts are never left half done.

    Outside the main thread signals cannot be caught, and nothing is ever asked.
    """
    asked = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


MOST_OUTPUT = 2**30
"""Bytes of any one file that an audited program may write; what it puts out and says are files."""


def most_memory() -> int:
    """Bytes of data that one process of audited code may have: half of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def confine(*, files: bool) -> None:
    """Limit this process and all that it will start; called in a child, before audited code runs.

    Data is what counts (heap, private writable mappings), on top of what a forked child has
    already: address space would be too strict, as many a language reserves more than it uses.
    A crash leaves no core file: the audit tells it.

    Parameters
    ----------
    files : bool
        Limit the size of files as well; where audited code shares a process with ours it may
        write what it likes, as its outputs are no file.
    """
    import resource

    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_DATA: _data() + most_memory()}
    if files:
        limits[resource.RLIMIT_FSIZE] = MOST_OUTPUT
    for which, limit in limits.items():
        _, hard = resource.getrlimit(which)
        lowest = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with contextlib.suppress(ValueError, OSError):  # a system that knows no such limit
            resource.setrlimit(which, (lowest, hard))


def _data() -> int:
    """Bytes of data that this process has, where the system tells."""
    try:
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def has_ended(pid: int) -> bool:
    """Whether a child ended; it is left unreaped, so that its group keeps its number till then."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def end_group(pid: int) -> None:
    """Kill the process group that a child leads, itself and what it started.

    Out of reach is what left the group: daemons, and children with a session of their own.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


# A forked child has the caller's functions, whatever they are; a fresh interpreter must import
# them by name. Elsewhere than on Linux, system libraries do not survive a fork.
START = "fork" if sys.platform == "linux" else "spawn"
_IMMUTABLE = (bool, int, float, complex, str, bytes, type(None), np.generic)
_EVERY = 0.2  # seconds between two messages of a worker
_GRACE = 1.0  # seconds for a worker that has said its last to end by itself


class Failure(Exception):
    """A batch failed.

    Parameters
    ----------
    reason : str
    place : int or None
        Which of the batch's inputs it was, where that is known.
    """

    def __init__(self, reason: str, place: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.place = reason, place


class CallJob:
    """A batch of calls that runs while others do; see :class:`corrdp.auditing.running.Job`.

    Parameters
    ----------
    function : callable
        ``f(value, rng)``, or with ``vectorised`` ``f(values, rng)`` with one output per value.
    values : sequence
    seed : numpy SeedSequence
    vectorised : bool
    """

    def __init__(
        self,
        function: Callable[[Any, np.random.Generator], Any],
        values: Sequence[Any],
        seed: np.random.SeedSequence,
        vectorised: bool = False,
    ) -> None:
        context: Any = multiprocessing.get_context(START)
        self.chunks: list[np.ndarray] = []
        self._count, self._vectorised = len(values), vectorised
        self._inbox, outbox = context.Pipe(duplex=False)
        self._place = context.RawValue("q", 0)
        given = (function, list(values), seed, vectorised, outbox, self._place)
        self._process = context.Process(target=_serve, args=given)
        try:
            with warnings.catch_warnings():
                # other threads do not exist in the child: it only calls the function
                warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
                self._process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"{function!r} cannot be sent to a worker process ({error}); define it at the top "
                "level of a module that can be imported"
            ) from None
        finally:
            outbox.close()
        self._pid: int = self._process.pid

    def advance(self) -> bool:
        """Take in what the worker has sent; whether the batch is complete."""
        ended = has_ended(self._pid)  # before reading: what is sent after it comes next time
        while self._inbox.poll():
            try:
                message = self._inbox.recv()
            except EOFError:
                ended = True
                break
            if isinstance(message, str):
                raise Failure(message, self._known_place())
            if message is None:
                self._process.join(_GRACE)
                return True
            self.chunks.append(message)
        if ended:
            self._process.join(_GRACE)  # how it ended is known a little later
            self._end()
            raise Failure(_death(self._process.exitcode), self._known_place())
        return False

    def waiting_for(self) -> int | None:
        """The place of the input that is being worked on, None if all are at once."""
        return self._known_place()

    def stop(self) -> None:
        """End the worker and all it started, done or not."""
        self._end()
        self._inbox.close()

    def _end(self) -> None:
        end_group(self._pid)
        self._process.kill()  # it may not lead its group yet
        self._process.join()

    def _known_place(self) -> int | None:
        if self._vectorised and self._count > 1:
            return None
        return min(int(self._place.value), self._count - 1)


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was killed by {signal.Signals(-code).name}"
    return f"its process ended with code {code}"


def _serve(
    function: Callable[[Any, np.random.Generator], Any],
    values: list[Any],
    seed: np.random.SeedSequence,
    vectorised: bool,
    outbox: Any,
    place: Any,
) -> None:
    """The worker's side: outputs as they come, then None; or why it failed."""
    os.setsid()  # a group of its own: the parent decides what Ctrl-C means, and ends it whole
    # what the parent left for its collector must not end here: a database connection would wait
    # for threads that a fork does not take along
    gc.freeze()
    faulthandler.disable()  # the parent tells a crash, and a dump would tell of the parent's code
    confine(files=False)
    # the audit's own stdout is for its result, whatever the mechanism prints
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    rng = np.random.default_rng(seed)
    _seed_the_global_generators(rng)
    try:
        if vectorised:
            _send(outbox, _all_at_once(function, values, rng))
        else:
            _one_by_one(function, values, rng, outbox, place)
        outbox.send(None)
    except BrokenPipeError:  # nobody listens any more
        pass
    except BaseException as error:
        outbox.send(_told(error))


def _one_by_one(
    function: Callable[[Any, np.random.Generator], Any],
    values: list[Any],
    rng: np.random.Generator,
    outbox: Any,
    place: Any,
) -> None:
    outputs: list[Any] = []
    due = time.monotonic() + _EVERY
    mutable = not all(isinstance(value, _IMMUTABLE) for value in values)
    for number, value in enumerate(values):
        place.value = number
        # a mechanism that changes its input must not change that of the next run
        outputs.append(function(copy.deepcopy(value) if mutable else value, rng))
        if time.monotonic() > due:
            _send(outbox, gathered(outputs))
            outputs, due = [], time.monotonic() + _EVERY
    if outputs:
        _send(outbox, gathered(outputs))


def _all_at_once(
    function: Callable[[Any, np.random.Generator], Any],
    values: list[Any],
    rng: np.random.Generator,
) -> np.ndarray:
    outputs = function(np.asarray(values), rng)
    rows = np.shape(outputs)[0] if np.ndim(outputs) else None
    if rows != len(values):
        told = "one output" if rows is None else f"{rows} outputs"
        raise InputError(f"sample() must give one output per input: {told} for {len(values)}")
    return outputs if isinstance(outputs, np.ndarray) else gathered(outputs)


def _send(outbox: Any, outputs: np.ndarray) -> None:
    try:
        outbox.send(outputs)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(f"its outputs cannot be sent between processes: {error}") from None


def _seed_the_global_generators(rng: np.random.Generator) -> None:
    """A fork copies the state of the global generators: every batch would draw the same noise."""
    import random

    random.seed(int(rng.integers(2**63)))
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002 - mechanisms may still draw from it


def _told(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__]
    where = f" ({os.path.basename(own[-1].filename)}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{where}"
