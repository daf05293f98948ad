"""Long work as the page shows it: a line that tells how far it is, a button to stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app.jobs import Child

_SOON, _BEAT = 0.04, 0.2  # seconds between two looks at a child: in its first second, and later


def progress(name: str) -> ui.Tag:
    """Where the progress and the problems of a task are shown."""
    return ui.output_ui(f"{name}_progress")


def problem(text: str) -> ui.Tag:
    """Something that stands in the way, in red."""
    return ui.div(ui.p(text), class_="problem", role="alert")


class PageTask:
    """One kind of long work of a visitor: at most one runs, and a new one takes its place.

    Parameters
    ----------
    name : str
    done : callable
        Called with what the work has found.
    partial : callable, optional
        Called with what it knows so far.
    keep : bool
        Whether it goes on when the page is closed.
    """

    def __init__(
        self,
        name: str,
        input: Inputs,
        session: Session,
        done: Callable[[Any], Any],
        partial: Callable[[Any], Any] | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self.running: reactive.Value[bool] = reactive.Value(False)
        self.error: reactive.Value[str] = reactive.Value("")
        self._job: Child | None = None
        self._seen: Any = None
        if not keep:
            session.on_ended(self._drop)

        @reactive.effect
        def _watch() -> None:
            if not self.running() or self._job is None:
                return
            job = self._job
            job.poll()
            if partial is not None and job.partial is not self._seen:
                self._seen = job.partial
                partial(job.partial)
            if not job.over:
                reactive.invalidate_later(_BEAT if job.seconds else _SOON)
                return
            self.running.set(False)
            self.error.set(job.error)
            if not job.error:
                done(job.value)

        @session.output(id=f"{name}_progress")
        @render.ui
        def _progress() -> ui.Tag | None:
            if self.running():
                return ui.div(
                    ui.span(class_="spinner", aria_hidden="true"),
                    ui.output_text(f"{name}_stage", inline=True),
                    ui.input_action_button(f"{name}_cancel", "Cancel", class_="btn-quiet"),
                    class_="working",
                    role="status",
                )
            return problem(self.error()) if self.error() else None

        @session.output(id=f"{name}_stage")
        @render.text
        def _stage() -> str:
            if not self.running() or self._job is None:
                return ""
            reactive.invalidate_later(1)
            return f"{self._job.stage} · {self._job.seconds} s"

        @reactive.effect
        @reactive.event(input[f"{name}_cancel"])
        def _cancel() -> None:
            if self._job is not None and not self._job.over and not self._job.cancel():
                ui.notification_show("It is being written into the ledger, and is not stopped.")

    def start(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Run a function of :mod:`corrdp.app.work`; what was still running is stopped."""
        self._drop()
        self.error.set("")
        self._seen = None
        self._job = Child(function, *arguments)
        self.running.set(False)  # a watcher of the old job must look again
        self.running.set(True)

    def fail(self, text: str) -> None:
        """Say what stands in the way, without any work."""
        self._drop()
        self.running.set(False)
        self.error.set(text)

    def _drop(self) -> None:
        if self._job is not None and not self._job.over:
            self._job.cancel()
