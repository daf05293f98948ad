"""Step 5, Release: asked once more, charged, shown, and everything there is to keep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import parts, scripts, walks, work
from corrdp.app.choices import MovesChoice
from corrdp.app.state import State
from corrdp.app.tasks import PageTask, problem, progress
from corrdp.errors import CorrdpError
from corrdp.release.signatures import make_keys, public_key_id

_ROWS = 200  # of the table that are shown


def section() -> ui.Tag:
    """The step on the page."""
    return parts.step(
        5,
        "release",
        "Release",
        "One look at the private data, one draw of noise, one charge. After that the table is "
        "yours to publish.",
        ui.output_ui("release_body"),
    )


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what."""
    report = PageTask("report", input, session, state.report.set)

    def shown(made: work.Released) -> None:
        state.released.set(made)
        data, law = state.data(), state.law()
        if data is not None and isinstance(law, MovesChoice):
            report.start(walks.report, made, data, law)
        else:
            report.start(work.report, made)

    # what is paid for is finished, also when the page is closed
    draw = PageTask("draw", input, session, shown, keep=True)

    @session.output(id="release_body")
    @render.ui
    def _body() -> ui.Tag:
        planned = state.planned()
        if planned is None:
            return parts.waiting("First a table: then one button is left.")
        return ui.div(
            ui.div(
                ui.input_action_button("release_ask", "Release …", class_="btn-primary btn-large"),
                progress("draw"),
                class_="line",
            ),
            ui.output_ui("release_found"),
        )

    @reactive.effect
    @reactive.event(input.release_ask)
    def _ask() -> None:
        planned, ledger = state.planned(), state.ledger()
        if planned is None:
            return
        charged = (
            "No ledger is charged: keep account of this release yourself."
            if ledger is None
            else f"Epsilon {planned.epsilon:.4g} is charged to {ledger.path}."
        )
        listed = ui.tags.ul(*(ui.tags.li(q.words) for q in planned.choice.questions))
        ui.modal_show(
            ui.modal(
                listed,
                ui.p(planned.promise),
                ui.p(charged),
                ui.p(ui.tags.b("What is released cannot be taken back."), " Another draw of the "
                     "same table costs anew."),
                title="Release this?",
                easy_close=True,
                footer=ui.TagList(
                    ui.modal_button("Not yet", class_="btn-quiet"),
                    ui.input_action_button("release_go", "Yes, release", class_="btn-primary"),
                ),
            )
        )  # fmt: skip

    @reactive.effect
    @reactive.event(input.release_go)
    def _go() -> None:
        ui.modal_remove()
        planned, data, ledger = state.planned(), state.data(), state.ledger()
        if planned is None or data is None or draw.running():
            return
        state.forget_from(5)
        law, path = state.law(), None if ledger is None else ledger.path
        if isinstance(law, MovesChoice):
            draw.start(walks.release, planned, data, law, path)
        else:
            draw.start(work.release, planned, data.path, path)

    @session.output(id="release_found")
    @render.ui
    def _found() -> ui.Tag | None:
        made = state.released()
        return None if made is None else _told(made)

    _connect_files(session, state)
    _connect_signing(input, session, state)


def _connect_files(session: Session, state: State) -> None:
    """What can be downloaded."""

    def offered(name: str, ending: str, text: Any) -> None:
        def filename() -> str:
            data = state.data()
            stem = "corrdp" if data is None else Path(data.name).stem
            return f"{stem}-{ending}"

        def content() -> Iterator[str]:
            made = state.released()
            yield "" if made is None else text(made)

        session.output(id=name)(render.download_button(filename=filename)(content))

    def again(write: Any) -> Any:
        def text(made: work.Released) -> str:
            data, law, found = state.data(), state.law(), state.planned()
            assert data is not None
            assert law is not None
            assert found is not None
            promise, ledger = state.promise(), state.ledger()
            told: str = write(scripts.AllChoices(data, law, promise, found.choice, ledger))
            return told

        return text

    offered("file_csv", "table.csv", lambda made: made.csv)
    offered("file_json", "release.json", lambda made: work.as_json(made.handed))
    offered("file_report", "report.html", lambda made: state.report() or "")
    offered("file_python", "again.py", again(scripts.python))
    offered("file_notebook", "again.ipynb", again(scripts.notebook))
    offered("file_shell", "again.sh", again(scripts.shell))

    @session.output(id="report_found")
    @render.ui
    def _report() -> ui.Tag | None:
        if state.report() is None:
            return progress("report")
        return ui.download_button("file_report", "Report (HTML)", class_="btn-quiet")


def _connect_signing(input: Inputs, session: Session, state: State) -> None:
    signed: reactive.Value[str] = reactive.Value("")
    said: reactive.Value[tuple[bool, str]] = reactive.Value((True, ""))

    @reactive.effect
    @reactive.event(state.released)
    def _new() -> None:
        signed.set("")
        said.set((True, ""))

    @reactive.effect
    @reactive.event(input.sign_make)
    def _make() -> None:
        try:
            _, public = make_keys(_key())
            said.set((True, f"Made. Hand out {public}; its id is {public_key_id(public)}."))
        except CorrdpError as error:
            said.set((False, str(error)))

    @reactive.effect
    @reactive.event(input.sign_go)
    def _sign() -> None:
        made = state.released()
        if made is None:
            return
        try:
            signed.set(work.as_json(made.signable.sign(_key())))
            said.set((True, "Signed."))
        except CorrdpError as error:
            said.set((False, str(error)))

    def _key() -> Path:
        return Path(str(input.sign_key()).strip()).expanduser()

    @session.output(id="sign_found")
    @render.ui
    def _found() -> ui.Tag | None:
        well, text = said()
        if not text:
            return None
        file = ui.download_button("file_signed", "Signed release (JSON)", class_="btn-quiet")
        told = ui.p(text, class_="quiet", role="status") if well else problem(text)
        return ui.div(told, file if signed() else None)

    @session.output(id="file_signed")
    @render.download_button(filename="release-signed.json")
    def _file() -> Iterator[str]:
        yield signed()


def _told(made: work.Released) -> ui.Tag:
    rows = list(zip(*made.columns.values(), strict=True))
    more = f" The first {_ROWS} of {len(rows):,} rows." if len(rows) > _ROWS else ""
    shown = [[_cell(cell) for cell in row] for row in rows[:_ROWS]]
    charged = (
        f"Charge {made.release.charge}: {made.release.together}." if made.release.charge else ""
    )
    return ui.div(
        ui.p("Released. " + charged, class_="finding", role="status"),
        parts.against("Know this before you use it:", made.warnings),
        parts.columns(
            [
                ui.tags.h3("Keep it"),
                ui.div(
                    ui.download_button("file_csv", "Table (CSV)", class_="btn-quiet"),
                    ui.download_button("file_json", "Release (JSON)", class_="btn-quiet"),
                    ui.output_ui("report_found", inline=True),
                    class_="files",
                ),
                ui.tags.h3("Do exactly this again"),
                ui.div(
                    ui.download_button("file_python", "Python script", class_="btn-quiet"),
                    ui.download_button("file_notebook", "Notebook", class_="btn-quiet"),
                    ui.download_button("file_shell", "Shell commands", class_="btn-quiet"),
                    class_="files",
                ),
                *_signing(made),
            ],
            [parts.picture(made.picture, "With the noise, and intervals of 95 %."
                           if made.choice is None else "What is published, by place.")],
        ),
        parts.fold(
            "The table in numbers",
            parts.grid(list(made.columns), shown, f"The released table.{more}"),
        ),
    )  # fmt: skip


def _signing(made: work.Released) -> list[ui.Tag | None]:
    """How to sign it, and which part of it is not for others."""
    return [
        ui.p(
            "The report shows the movements before and after: keep it to yourself.",
            class_="quiet",
        )
        if made.choice is not None
        else None,
        ui.tags.h3("Sign it"),
        ui.input_text("sign_key", "Path of your private key",
                      str(Path.home() / "steward.key"), width="100%"),
        ui.div(
            ui.input_action_button("sign_go", "Sign", class_="btn-quiet"),
            ui.input_action_button("sign_make", "Make a key there", class_="btn-quiet"),
            class_="files",
        ),
        ui.output_ui("sign_found"),
    ]  # fmt: skip


def _cell(cell: Any) -> str:
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
