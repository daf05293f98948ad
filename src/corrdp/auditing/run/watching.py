"""Watching long audits: a bar, and a stop that waits for the end of a batch."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def bar(runs: int, progress: bool) -> Iterator[Callable[[int], None]]:
    """A bar on stderr, if asked for; it draws without a thread, which a fork would not survive."""
    if not progress:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("running the mechanism", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    drawn = 0.0
    console = Console(stderr=True)
    with Progress(*columns, console=console, auto_refresh=False, transient=True) as drawing:
        task = drawing.add_task("runs", total=runs)

        def show(done: int) -> None:
            nonlocal drawn
            if time.monotonic() > drawn + 0.1:
                drawn = time.monotonic()
                drawing.update(task, completed=done, refresh=True)

        yield show


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
