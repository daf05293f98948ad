"""Looking back: the history of a ledger, and whether a signed release is genuine."""

from __future__ import annotations

from pathlib import Path

from shiny import Inputs, Session, reactive, render, ui

import corrdp as cdp
from corrdp.app import parts
from corrdp.app.state import State
from corrdp.app.tasks import problem
from corrdp.errors import CorrdpError
from corrdp.report.words import moment


def section() -> ui.Tag:
    """The part below the steps."""
    return ui.tags.section(
        ui.h2("Look back", id="back-title"),
        parts.columns(
            [
                ui.tags.h3("The history of a ledger"),
                ui.input_text("back_path", "Path of the ledger", width="100%"),
                ui.input_action_button("back_open", "Open it", class_="btn-quiet"),
                ui.output_ui("back_found"),
            ],
            [
                ui.tags.h3("Is a release genuine?"),
                ui.input_text("verify_path", "Path of the signed release (JSON)", width="100%"),
                ui.input_text("verify_key", "Path of the public key you trust", width="100%"),
                ui.input_action_button("verify_go", "Verify", class_="btn-quiet"),
                ui.output_ui("verify_found"),
            ],
        ),
        id="back",
        class_="step back",
        aria_labelledby="back-title",
    )


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what."""
    told: reactive.Value[ui.Tag | None] = reactive.Value(None)
    verified: reactive.Value[ui.Tag | None] = reactive.Value(None)

    @reactive.effect
    def _same() -> None:
        """The ledger of the release is the one people want to see."""
        ledger = state.ledger()
        if ledger is not None:
            ui.update_text("back_path", value=ledger.path)

    @reactive.effect
    @reactive.event(input.back_open)
    def _open() -> None:
        try:
            told.set(_history(Path(str(input.back_path()).strip()).expanduser()))
        except CorrdpError as error:
            told.set(problem(str(error)))

    @reactive.effect
    @reactive.event(input.verify_go)
    def _verify() -> None:
        path, key = (
            Path(str(text).strip()).expanduser()
            for text in (input.verify_path(), input.verify_key())
        )
        try:
            verified.set(_genuine(path, key))
        except CorrdpError as error:
            verified.set(problem(str(error)))
        except OSError as error:
            verified.set(problem(f"{error.filename}: {error.strerror}"))

    @session.output(id="back_found")
    @render.ui
    def _told() -> ui.Tag | None:
        return told()

    @session.output(id="verify_found")
    @render.ui
    def _verified() -> ui.Tag | None:
        return verified()


def _history(path: Path) -> ui.Tag:
    ledger = cdp.Ledger.open(path)
    number = ledger.check()
    rows = [(c.number, moment(c.made), c.what, c.level.in_words) for c in ledger.history()]
    charges = "1 charge" if number == 1 else f"{number} charges"
    return ui.div(
        parts.facts(
            [("Together", ledger.standing), ("Checked", f"{charges}, as they were written")]
        ),
        parts.grid(("no.", "when", "what", "level"), rows, "Every charge of the ledger")
        if rows
        else ui.p("Nothing was charged yet.", class_="quiet"),
    )


def _genuine(path: Path, key: Path) -> ui.Tag:
    found = cdp.verify(path, key)
    return ui.div(
        ui.p("Genuine: signed with that key, and not a digit changed since.", class_="finding"),
        ui.tags.pre(repr(found)),
        role="status",
    )
