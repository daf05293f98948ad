"""One page, five steps: the frame, and who listens to what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shiny import App, Inputs, Outputs, Session, reactive, render, ui

from corrdp.app import data, dependence, history, promise, release, table
from corrdp.app.state import State
from corrdp.plots import DARK, VARIABLE

_HERE = Path(__file__).parent
_STEPS = (data, dependence, promise, table, release)
_TITLES = ("Data", "Dependence", "Promise", "Table", "Release")


def application(folder: Path, file: str | None = None, *, demo: bool = False) -> Any:
    """The application, not guarded yet.

    Parameters
    ----------
    folder : Path
        For made-up data; removed by whoever made it.
    file : str, optional
        The file to begin with.
    demo : bool
        Begin with made-up data.
    """

    def server(input: Inputs, output: Outputs, session: Session) -> None:
        state = State(folder)
        for step in _STEPS:
            step.connect(input, session, state)
        history.connect(input, session, state)
        _connect_steps(session, state)
        data.begin(session, state, file, demo)

    app = App(_frame(), server)
    app.sanitize_errors = True
    app.sanitize_error_msg = "Something unexpected happened here; it is a fault of corrdp."
    return app


def _frame() -> ui.Tag:
    return ui.page_fluid(
        ui.head_content(
            ui.tags.link(rel="icon", href="data:,"),
            ui.tags.meta(name="color-scheme", content="light dark"),
            ui.tags.style(_colours() + (_HERE / "style.css").read_text(encoding="utf-8")),
            ui.tags.script((_HERE / "script.js").read_text(encoding="utf-8")),
        ),
        ui.tags.a("Skip to the steps", href="#data", class_="skip"),
        ui.tags.header(
            ui.div(
                ui.div("corrdp", class_="wordmark"),
                ui.input_dark_mode(id="mode", aria_label="Light or dark"),
                class_="top",
            ),
            ui.tags.nav(ui.output_ui("steps"), aria_label="Steps"),
        ),
        ui.tags.main(
            ui.div(
                ui.h1("From a file to a table you can publish"),
                ui.p(
                    "Five steps. Everything happens on this computer, and nothing is published "
                    "until you say so at the end.",
                    class_="lead",
                ),
                class_="welcome",
            ),
            *(step.section() for step in _STEPS),
            history.section(),
        ),
        title="corrdp",
        lang="en",
    )


def _colours() -> str:
    """The colours of the reports, in light and in dark."""
    light = ";".join(f"{name}:{colour}" for colour, name in VARIABLE.items())
    dark = ";".join(f"{VARIABLE[colour]}:{shown}" for colour, shown in DARK.items())
    return f":root{{{light}}}\n[data-bs-theme=dark]{{{dark}}}\n"


def _connect_steps(session: Session, state: State) -> None:
    """The list of steps at the top: which are done, and which comes next."""

    @reactive.calc
    def done() -> tuple[bool, ...]:
        return (
            state.looked() is not None,
            state.learned() is not None,
            state.learned() is not None,
            state.planned() is not None,
            state.released() is not None,
        )

    @session.output(id="steps")
    @render.ui
    def _steps() -> ui.Tag:
        marks = done()
        following = marks.index(False) if False in marks else len(marks)
        return ui.tags.ol(
            *(
                ui.tags.li(
                    ui.tags.a(
                        ui.span("✓" if mark else str(k + 1), class_="mark", aria_hidden="true"),
                        ui.span(title),
                        ui.span(", done", class_="visually-hidden") if mark else None,
                        href=f"#{title.lower()}",
                        aria_current="step" if k == following else None,
                    ),
                    class_="done" if mark else "next" if k == following else None,
                )
                for k, (title, mark) in enumerate(zip(_TITLES, marks, strict=True))
            ),
            class_="steps",
        )
