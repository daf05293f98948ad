"""The ledger of step 4: one that is there or a new one, what is left, and what a release costs."""

from __future__ import annotations

from pathlib import Path

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import parts, work
from corrdp.app.choices import DELTA, LedgerChoice, MovesChoice, number
from corrdp.app.state import State
from corrdp.app.tasks import PageTask, progress
from corrdp.errors import InputError

_LEDGERS = {"none": "no ledger", "open": "one that is there", "new": "a new one"}


def fields() -> list[ui.Tag]:
    """What is asked and told about the ledger."""
    return [
        ui.input_radio_buttons("ledger_kind", "Charge it to", _LEDGERS, inline=True),
        ui.output_ui("ledger_about"),
        progress("ledger"),
        ui.output_ui("ledger_found"),
    ]


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what."""
    told: reactive.Value[tuple[tuple[str, str], ...]] = reactive.Value(())

    def opened(found: tuple[LedgerChoice, tuple[tuple[str, str], ...]]) -> None:
        state.ledger.set(found[0])
        told.set(found[1])

    task = PageTask("ledger", input, session, opened)

    @session.output(id="ledger_about")
    @render.ui
    def _about() -> ui.Tag | None:
        wanted = str(input.ledger_kind())
        if wanted == "none":
            return ui.p(
                "Without a ledger nobody adds up what several releases tell together.",
                class_="quiet",
            )
        with reactive.isolate():
            data, found = state.data(), state.learned()
        name = "" if data is None else f"{Path(data.name).stem}.ledger"
        place = str(Path.cwd() / name)
        path = ui.input_text("ledger_path", "Path of the ledger", place, width="100%")
        if wanted == "open":
            return ui.div(
                path,
                ui.input_action_button("ledger_open", "Open it", class_="btn-quiet"),
                class_="stack",
            )
        counts = {"bdp": "what leaks on this model", "dp": "plain epsilon"}
        if found is not None and getattr(found.model, "states", None) is None:
            del counts["bdp"]  # of real values an epsilon alone does not say what leaks
        return ui.div(
            path,
            ui.input_select("ledger_counts", "It counts", counts),
            ui.input_text("ledger_budget", "Budget for all releases together", "2"),
            ui.input_action_button("ledger_make", "Make it", class_="btn-quiet"),
            class_="stack",
        )

    @reactive.effect
    @reactive.event(input.ledger_kind)
    def _none() -> None:
        state.ledger.set(None)
        task.fail("")

    @reactive.effect
    @reactive.event(input.ledger_open)
    def _open() -> None:
        task.start(work.standing, LedgerChoice(_path()), None, False)

    def _path() -> str:
        return str(Path(str(input.ledger_path()).strip()).expanduser())

    @reactive.effect
    @reactive.event(input.ledger_make)
    def _make() -> None:
        found, promise = state.learned(), state.promise()
        if found is None:
            return
        try:
            budget = number("Budget", input.ledger_budget())
        except InputError as error:
            task.fail(str(error))
            return
        kind, delta = str(input.ledger_counts()), 0.0
        if state.table().noise != "laplace":
            delta = DELTA
        if isinstance(state.law(), MovesChoice):  # the first release says whose epsilon it is
            made = LedgerChoice(_path(), budget)
        else:
            records = found.model.records if kind == "dp" else None
            unit, confident = promise.unit, promise.confident
            made = LedgerChoice(_path(), budget, kind, delta, unit, confident, records)
        task.start(work.standing, made, found.model, True)

    @reactive.effect
    @reactive.event(state.released)
    def _again() -> None:
        """What is left changes with each release."""
        made = state.ledger()
        if made is not None and state.released() is not None:
            task.start(work.standing, made, None, False)

    @session.output(id="ledger_found")
    @render.ui
    def _found() -> ui.Tag | None:
        planned = state.planned()
        if state.ledger() is None:
            return None
        costs = f"epsilon {planned.epsilon:.4g}" if planned is not None else ""
        return parts.facts([*told(), *([("This release costs", costs)] if costs else [])])
