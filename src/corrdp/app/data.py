"""Step 1, Data: a file, how it was read, and how to read it otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import parts, views, walks, work
from corrdp.app.choices import DataChoice, typed_list
from corrdp.app.demo import links_of_demo, write_demo
from corrdp.app.state import State
from corrdp.app.tasks import PageTask, problem, progress

_COLUMNS = 40  # that are listed
_KINDS = {
    "series": "a series: what was measured, moment by moment",
    "families": "families: values of people who belong together",
    "network": "a network: yes or no, for people who are linked",
    "movements": "movements: who was where, and when",
}
_ENDINGS = [".csv", ".tsv", ".txt", ".gz", ".parquet"]


def section() -> ui.Tag:
    """The step on the page."""
    return parts.step(
        1,
        "data",
        "Data",
        "Say what you have, and show me the file: CSV or Parquet, a row for each moment, family, "
        "person or point.",
        parts.columns(
            [
                ui.input_radio_buttons("data_kind", "What kind of data is it?", _KINDS),
                ui.input_text("data_path", "Path of a file on this computer", width="100%"),
                ui.input_action_button("data_read", "Read it", class_="btn-primary"),
                progress("look"),
                ui.div(_upload("data_upload", "Or choose one, up to 200 MB"), class_="or"),
                ui.panel_conditional(
                    "input.data_kind == 'network'",
                    ui.div(
                        ui.input_text(
                            "links_path",
                            "Path of the file of links: two people a row",
                            width="100%",
                        ),
                        ui.input_action_button(
                            "links_read", "Take these links", class_="btn-primary"
                        ),
                        ui.div(_upload("links_upload", "Or choose the file of links"), class_="or"),
                        ui.output_ui("links_found"),
                        progress("net"),
                        class_="or stack",
                    ),
                ),
                ui.div(
                    ui.p("No file at hand?"),
                    ui.input_action_button("data_demo", "Use made-up data", class_="btn-quiet"),
                    class_="or",
                ),
                ui.output_ui("data_fix"),
            ],
            [
                ui.output_ui("net_found"),
                ui.output_ui("data_found"),
                ui.output_ui("data_rows"),
                progress("rows"),
            ],
        ),
    )


def _upload(name: str, label: str) -> ui.Tag:
    return ui.input_file(
        name, label, accept=_ENDINGS, button_label="Choose …", placeholder="no file chosen",
        width="100%",
    )  # fmt: skip


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what."""

    def seen(found: work.Looked) -> None:
        state.forget_from(1)
        state.data.set(found.data)
        state.looked.set(found)

    look = PageTask("look", input, session, seen)
    first: reactive.Value[Any] = reactive.Value(None)
    rows = PageTask("rows", input, session, first.set)
    drawn: reactive.Value[tuple[str, str]] = reactive.Value(("", ""))
    net = PageTask("net", input, session, drawn.set)

    @reactive.effect
    def _begin() -> None:
        """Read what was named; what was read already stays."""
        asked = state.data()
        with reactive.isolate():
            found = state.looked()
        if asked is not None and (found is None or found.data != asked):
            first.set(None)
            look.start(walks.look if asked.kind == "movements" else work.look, asked)

    @reactive.effect
    @reactive.event(input.data_read)
    def _read() -> None:
        path = str(input.data_path() or "").strip()
        if not path:
            look.fail("Path of a file: write one, such as /home/me/steps.csv")
            return
        _ask(replace(_named(path), kind=str(input.data_kind())))

    def _ask(choice: DataChoice) -> None:
        state.forget_from(1)
        state.data.set(choice)

    @reactive.effect
    @reactive.event(input.data_kind)
    def _other_kind() -> None:
        """The same file, read as what it is said to be."""
        asked, kind = state.data(), str(input.data_kind())
        if asked is not None and asked.kind != kind:
            _ask(DataChoice(asked.path, asked.name, asked.kept, kind))

    @reactive.effect
    @reactive.event(input.data_upload)
    def _uploaded() -> None:
        given = input.data_upload()
        if given:
            _ask(replace(_given(given[0]), kind=str(input.data_kind())))

    @reactive.effect
    @reactive.event(input.data_demo)
    def _demo() -> None:
        kind = str(input.data_kind())
        _ask(made_up(state.folder, kind))
        if kind == "network":
            links = links_of_demo(state.folder)
            state.links.set(DataChoice(str(links), links.name, kept=False))

    @reactive.effect
    @reactive.event(input.links_read)
    def _links() -> None:
        path = str(input.links_path() or "").strip()
        state.links.set(_named(path) if path else None)

    @reactive.effect
    @reactive.event(input.links_upload)
    def _links_uploaded() -> None:
        given = input.links_upload()
        if given:
            state.links.set(_given(given[0]))

    @reactive.effect
    def _net() -> None:
        """A network is seen as soon as both of its files are there."""
        found, links = state.looked(), state.links()
        with reactive.isolate():
            drawn.set(("", ""))
            net.fail("")
            if found is not None and found.data.kind == "network" and links is not None:
                net.start(views.linked, found, links)

    @session.output(id="net_found")
    @render.ui
    def _net_found() -> ui.Tag | None:
        return parts.picture(*drawn())

    @session.output(id="links_found")
    @render.ui
    def _links_found() -> ui.Tag:
        links = state.links()
        told = "No links are named yet." if links is None else f"The links: {links.name}."
        return ui.p(f"{told} Who is linked to whom is taken as public.", class_="quiet")

    @reactive.effect
    @reactive.event(input.data_again)
    def _again() -> None:
        asked = state.data()
        if asked is None:
            return
        missing = typed_list(input.data_missing())
        if asked.kind != "series":
            _ask(replace(asked, missing=missing))
            return
        group = str(input.data_group() or "")
        _ask(
            replace(
                asked,
                order_by=typed_list(input.data_order()) or None,
                group=group or None,
                order_format=typed_list(input.data_format()),
                timezone=str(input.data_zone()).strip() or None,
                missing=missing,
                where=str(input.data_where()).strip() or None,
                gaps=not input.data_events(),
            )
        )

    @reactive.effect
    @reactive.event(input.data_show)
    def _show() -> None:
        asked = state.data()
        if asked is not None:
            rows.start(views.first_rows, asked)

    @session.output(id="data_found")
    @render.ui
    def _found() -> ui.Tag | None:
        found = state.looked()
        return None if found is None else _told(found)

    @session.output(id="data_rows")
    @render.ui
    def _rows() -> ui.Tag | None:
        if state.looked() is None or first() is None:
            return None
        names, told = first()
        return parts.grid(names, told, "The first rows; they are private")

    @session.output(id="data_fix")
    @render.ui
    def _fix() -> ui.Tag | None:
        found = state.looked()
        return None if found is None else _form(found)


def begin(session: Session, state: State, file: str | None, demo: bool) -> None:
    """Read what was named when the application was started."""
    if file is None and not demo:
        return

    @reactive.effect
    def _start() -> None:
        with reactive.isolate():
            if state.data() is None:
                state.data.set(made_up(state.folder) if demo else _named(file or ""))


def made_up(folder: Path, kind: str = "series") -> DataChoice:
    """Simulated data, for those who want to look around."""
    path = write_demo(folder, kind)
    return DataChoice(str(path), path.name, kept=False, kind=kind)


def _named(path: str) -> DataChoice:
    return DataChoice(str(Path(path).expanduser()), Path(path).name)


def _given(upload: Any) -> DataChoice:
    return DataChoice(upload["datapath"], upload["name"], kept=False)


def _told(found: work.Looked) -> ui.Tag:
    overview, series = found.overview, found.data.kind == "series"
    pairs = [("File", found.data.name)]
    pairs += [
        (name.capitalize(), value) for name, value in overview.facts if series or name == "rows"
    ]
    listed = [
        (c.name, f"{c.type}{f' ({c.form})' if c.form else ''}", f"{c.distinct:,}",
         f"{c.missing:,}" if c.missing else "", *([c.role] if series else []))
        for c in overview.columns[:_COLUMNS]
    ]  # fmt: skip
    names = ("column", "read as", "values", "missing", *(["looks like"] if series else []))
    return ui.div(
        problem(parts.plain(overview.problem)) if overview.problem and series else None,
        parts.picture(found.picture, found.caption),
        parts.facts(pairs),
        *(ui.p(_note(text), class_="note") for text in found.notes),
        parts.fold("The columns, as they were read", parts.grid(names, listed, "Columns")),
        ui.div(
            ui.input_action_button("data_show", "Show the first rows", class_="btn-quiet"),
            ui.span("They are private: look over your shoulder.", class_="quiet"),
            class_="line",
        ),
    )


def _note(text: str) -> str:
    families = text.startswith("these look like families")
    return "These look like families: say so above." if families else parts.plain(text)


def _form(found: work.Looked) -> ui.Tag | None:
    overview, data = found.overview, found.data
    missing = ui.input_text("data_missing", "Further text that means missing, with commas",
                            ", ".join(data.missing), placeholder="-99, unknown",
                            width="100%")  # fmt: skip
    again = ui.input_action_button("data_again", "Read it again", class_="btn-primary")
    if data.kind == "network":  # each of its people has a state
        return None
    if data.kind in ("families", "movements"):
        return parts.fold("Read it differently", missing, again)
    names = {c.name: c.name for c in overview.columns}
    return parts.fold(
        "Read it differently",
        ui.input_text("data_order", "Columns that give the order of time, with commas",
                      ", ".join(overview.order_by), width="100%"),
        ui.input_select("data_group", "Column that tells people or places apart",
                        {"": "there is none", **names}, selected=overview.group or ""),
        ui.input_text("data_format", "How times are written, if not recognised",
                      ", ".join(data.order_format), placeholder="%d.%m.%Y %H:%M", width="100%"),
        ui.input_text("data_zone", "Time zone of local times", data.timezone or "",
                      placeholder="Europe/Berlin", width="100%"),
        missing,
        ui.input_text("data_where", "Use only rows where (SQL; which ones is public)",
                      data.where or "", placeholder="year(time) = 2024", width="100%"),
        ui.input_checkbox("data_events", "Rows are events in order: there are no gaps",
                          not data.gaps),
        again,
    )  # fmt: skip
