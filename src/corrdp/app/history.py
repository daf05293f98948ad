"""Looking back: the history of a ledger, and whether a signed release is genuine."""

from __future__ import annotations

from pathlib import Path

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import parts, work
from corrdp.app.state import State
from corrdp.app.tasks import PageTask, progress


def section() -> ui.Tag:
    """The part below the steps."""
    return ui.tags.section(
        ui.h2("Look back", id="back-title"),
        parts.columns(
            [
                ui.tags.h3("The history of a ledger"),
                ui.input_text("back_path", "Path of the ledger", width="100%"),
                ui.input_action_button("back_open", "Open it", class_="btn-quiet"),
                progress("back"),
                ui.output_ui("back_found"),
            ],
            [
                ui.tags.h3("Is a release genuine?"),
                ui.input_text("verify_path", "Path of the signed release (JSON)", width="100%"),
                ui.input_text("verify_key", "Path of the public key you trust", width="100%"),
                ui.input_action_button("verify_go", "Verify", class_="btn-quiet"),
                progress("verify"),
                ui.output_ui("verify_found"),
            ],
        ),
        id="back",
        class_="step back",
        aria_labelledby="back-title",
    )


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what."""
    told: reactive.Value[work.Past | None] = reactive.Value(None)
    verified: reactive.Value[str | None] = reactive.Value(None)
    back = PageTask("back", input, session, told.set)
    verify = PageTask("verify", input, session, verified.set)

    @reactive.effect
    def _same() -> None:
        """The ledger of the release is the one people want to see."""
        ledger = state.ledger()
        if ledger is not None:
            ui.update_text("back_path", value=ledger.path)

    @reactive.effect
    @reactive.event(input.back_open)
    def _open() -> None:
        told.set(None)
        path = _typed(input.back_path())
        if path:
            back.start(work.history, path)
        else:
            back.fail("Path of the ledger: write one, such as /home/me/steps.ledger")

    @reactive.effect
    @reactive.event(input.verify_go)
    def _verify() -> None:
        verified.set(None)
        path, key = _typed(input.verify_path()), _typed(input.verify_key())
        if path and key:
            verify.start(work.genuine, path, key)
        else:
            verify.fail(
                "Path of the signed release: write one"
                if not path
                else "Path of the public key: write one, such as /home/me/steward.pub"
            )

    @session.output(id="back_found")
    @render.ui
    def _told() -> ui.Tag | None:
        found = told()
        return None if found is None else _history(found)

    @session.output(id="verify_found")
    @render.ui
    def _verified() -> ui.Tag | None:
        found = verified()
        return None if found is None else _genuine(found)


def _typed(text: str | None) -> str:
    path = (text or "").strip()
    return str(Path(path).expanduser()) if path else ""


def _history(found: work.Past) -> ui.Tag:
    charges = "1 charge" if found.checked == 1 else f"{found.checked} charges"
    return ui.div(
        parts.facts(
            [("Together", found.standing), ("Checked", f"{charges}, as they were written")]
        ),
        parts.grid(("no.", "when", "what", "level"), found.rows, "Every charge of the ledger")
        if found.rows
        else ui.p("Nothing was charged yet.", class_="quiet"),
    )


def _genuine(told: str) -> ui.Tag:
    return ui.div(
        ui.p("Genuine: signed with that key, and not a digit changed since.", class_="finding"),
        ui.tags.pre(told),
        role="status",
    )
