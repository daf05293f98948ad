"""Start the page on this machine, and leave nothing behind when it ends."""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from corrdp._checks import check_flag
from corrdp.app import jobs
from corrdp.app.guard import Guard
from corrdp.errors import InputError

_ADDRESS = "127.0.0.1"
_FOLDER = "corrdp-app-"
_ERROR = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Warning|Group)\b")  # as tracebacks end


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder that only its owner can read, for uploads and made-up data; it is removed."""
    before = tempfile.tempdir
    _tidy()
    folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-"))  # 0700
    tempfile.tempdir = str(folder)  # the files of uploads go there as well
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


def _tidy() -> None:
    """Remove what applications left behind that were killed, and could not do so themselves."""
    if os.name != "posix":
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}[0-9]*-*"):
        number = folder.name.removeprefix(_FOLDER).partition("-")[0]
        try:
            os.kill(int(number), 0)
        except (ProcessLookupError, OverflowError):
            shutil.rmtree(folder, ignore_errors=True)  # of others it stays: it is theirs
        except (ValueError, OSError):
            continue


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let the end of a terminal or session be an orderly one: what was begun is tidied up."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), leave) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def bound_socket(port: int) -> socket.socket:
    """A socket on 127.0.0.1; port 0 takes a free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_ADDRESS, port))
        listener.listen()  # who comes early waits
    except OSError as error:
        listener.close()
        raise InputError(f"port {port} cannot be used: {error.strerror}") from None
    return listener


class Quiet(io.TextIOBase):
    """In place of stderr: tracebacks hold private values, so one line says that there was one."""

    def __init__(self, told: Any) -> None:
        self._told = told
        self._said = False

    def write(self, text: str) -> int:
        """Drop the text."""
        # a page that is closed tears off what was under way: that is nothing to report
        ends = any(_ERROR.match(line) for line in text.splitlines() if "CancelledError" not in line)
        if ends and not self._said:
            self._said = True
            self._told.write(
                "corrdp: something unexpected happened in the page. It is not printed, as it may "
                "hold private values; corrdp --debug app shows it\n"
            )
            self._told.flush()
        return len(text)


def serve(
    file: str | None = None,
    *,
    demo: bool = False,
    port: int = 0,
    debug: bool = False,
    opened: Callable[[str], Any] = print,
) -> None:
    """Serve the page until it is stopped.

    Parameters
    ----------
    file : str, optional
        The file to begin with.
    demo : bool
        Begin with made-up data.
    port : int
        0 takes a free one.
    debug : bool
        Print what goes wrong, private values included.
    opened : callable
        Called with the address that opens the page, once.
    """
    import uvicorn

    from corrdp.app.page import application

    check_flag("demo", demo)
    listener = bound_socket(port)
    jobs.warm()  # before the workspace: what it needs itself does not lie there
    with ended_by_signals(), workspace() as folder, listener:
        guard = Guard(application(folder, file, demo=demo), listener.getsockname()[1])
        config = uvicorn.Config(
            guard,
            lifespan="on",
            access_log=False,
            log_level="info" if debug else "critical",
            server_header=False,
            timeout_graceful_shutdown=2,
            ws_max_size=2**24,
        )
        opened(f"http://{_ADDRESS}:{listener.getsockname()[1]}/?token={guard.token}")
        told: Any = sys.stderr if debug else Quiet(sys.stderr)
        try:
            with redirect_stderr(told):
                uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:  # uvicorn raises it again once everything is closed
            pass
        finally:
            jobs.finish()
