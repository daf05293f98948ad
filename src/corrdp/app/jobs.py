"""Long work in a process of its own: it tells how far it is, and can be stopped.

The page stays quick whatever is counted, and what was started can be cancelled at any time, with
one exception. Once a release goes into its ledger it is paid for: from there on it is not stopped,
neither by a button nor by closing the page, so that charge and answer are written together.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from corrdp.app.choices import DataChoice
from corrdp.errors import CorrdpError
from corrdp.ledgers.ledger import Ledger

_RUNNING, _CHARGING, _CANCELLED = range(3)
# what children need, imported once in the process that they are forked from
_NEEDED = (
    *("corrdp.app.work", "corrdp.app.walks", "corrdp.calibration.number", "corrdp.release.number"),
    *("duckdb", "ibis", "pyarrow", "sqlglot", "numba", "opendp.mod"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
)
_STARTED: list[Child] = []


class CancelledError(Exception):
    """The work was cancelled just before it was written down."""


@dataclass(frozen=True)
class Watched(Ledger):
    """A ledger that asks, between sampling and charging, whether the work was cancelled."""

    enter: Callable[[], None] = lambda: None

    def release(self, sample: Callable[[], Any], *args: Any, **options: Any) -> Any:
        """As of any ledger; what is cancelled before the transaction leaves no trace."""

        def last() -> Any:
            made = sample()
            self.enter()
            return made

        return super().release(last, *args, **options)


class Teller:
    """What a child says to its parent: the stage it is at, and that it begins to charge."""

    def __init__(self, line: Any, gate: Any) -> None:
        self._line, self._gate = line, gate

    def __call__(self, stage: str) -> None:
        """Tell a stage, in words."""
        self._line.send(("stage", stage))

    def partial(self, value: Any) -> None:
        """Show what is known so far."""
        self._line.send(("partial", value))

    def enter(self) -> None:
        """From here on the work is not stopped; it ends here if it was cancelled before."""
        with self._gate.get_lock():
            if self._gate.value == _CANCELLED:
                raise CancelledError
            self._gate.value = _CHARGING

    def ledger(self, path: str) -> Ledger:
        """The ledger of that file, which is not interrupted while it is written."""
        opened = Ledger.open(path)
        return Watched(opened.path, opened.header, self.enter)


class Child:
    """A function that runs in a child process.

    Parameters
    ----------
    function : callable
        Of :mod:`corrdp.app.work`; its first argument is a :class:`Teller`.
    *arguments
        Its further arguments.
    """

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        context = _context()
        self.stage = "starting"
        self.partial: Any = None
        self.value: Any = None
        self.error = ""
        self.over = False
        self._begun = time.monotonic()
        self._gate = context.Value("i", _RUNNING)
        self._line, there = context.Pipe(duplex=False)
        # not a daemon: what goes into a ledger is finished when the page is closed
        self._child = context.Process(
            target=_run,
            args=(there, self._gate, tempfile.gettempdir(), function, arguments),
            daemon=False,
        )
        self._child.start()
        there.close()
        _STARTED[:] = [job for job in _STARTED if not job.over]
        _STARTED.append(self)

    @property
    def seconds(self) -> int:
        """Since it was started."""
        return int(time.monotonic() - self._begun)

    def poll(self) -> bool:
        """Read what the child has said; True when it is over."""
        while not self.over:
            try:
                if not self._line.poll():
                    break
                kind, said = self._line.recv()
            except (EOFError, OSError):
                self._end(error="the work ended without a result: was there enough memory?")
                break
            if kind == "stage":
                self.stage = said
            elif kind == "partial":
                self.partial = said
            else:
                self._end(**{kind: said})
        return self.over

    def wait(self, seconds: float) -> bool:
        """Wait until it is over, at most so long."""
        limit = time.monotonic() + seconds
        while not self.poll() and (left := limit - time.monotonic()) > 0:
            self._line.poll(min(left, 0.2))
        return self.over

    def cancel(self) -> bool:
        """Stop it, unless it is being written down; whether it was stopped."""
        with self._gate.get_lock():
            if self._gate.value == _CHARGING:
                return False
            self._gate.value = _CANCELLED
        self._child.terminate()
        self._end(error="cancelled; nothing was written")
        return True

    def _end(self, value: Any = None, error: str = "") -> None:
        self.value, self.error, self.over = value, error, True
        self._line.close()


def _run(
    line: Any, gate: Any, folder: str, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    tempfile.tempdir = folder  # what a stopped child leaves behind goes with the workspace
    # an interrupt in the terminal is for the page, which decides what is stopped
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        found = {"value": function(Teller(line, gate), *arguments)}
    except CancelledError:
        return
    except Exception as error:
        found = {"error": _by_name(told(error), arguments)}
    for pair in found.items():
        try:
            line.send(pair)
        except OSError:  # the page was closed
            return


def _by_name(text: str, arguments: tuple[Any, ...]) -> str:
    """Files that are not kept are called as they were uploaded, not as they lie in our folder."""
    for one in arguments:
        if isinstance(one, DataChoice) and not one.kept:
            text = text.replace(one.path, one.name)
    return text


def told(error: Exception) -> str:
    """An error for the page: what corrdp says itself, and of anything else only where it was."""
    if isinstance(error, CorrdpError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'the file'}: {error.strerror or type(error).__name__}"
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{f.filename.rpartition('corrdp/')[2]}, line {f.lineno}" for f in frames]
    place = next((p for p in reversed(places) if not p.startswith("/")), "corrdp")
    return f"unexpected {type(error).__name__} in {place}: a fault of corrdp, not yours"


@cache
def _context() -> Any:
    """How children are made: from a process that has imported what they need, where that works."""
    if sys.platform != "win32":
        from multiprocessing import forkserver

        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(_NEEDED))
        try:
            forkserver.ensure_running()
            return context
        except OSError:  # the name of its socket may be too long
            pass
    return multiprocessing.get_context("spawn")


def warm() -> None:
    """Begin to import what long work needs; it goes on beside the page."""
    _context()


def finish() -> None:
    """Stop what can be stopped, and wait for what is being written down."""
    for job in list(_STARTED):
        if not job.poll() and not job.cancel():
            job.wait(600)
