"""Step 2, Dependence: what the state of a row is, and how one row tells of its neighbours."""

from __future__ import annotations

import re
from typing import Any

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import parts, work
from corrdp.app.choices import LawChoice, number, typed_states
from corrdp.app.state import State
from corrdp.app.tasks import PageTask, progress
from corrdp.errors import InputError

_BINS, _OTHER = "bins of ", "other"
_MEMORY = {
    "1": "one row back",
    "2": "two rows back",
    "3": "three rows back",
    "auto": "choose from the data",
}
_SEASON = {
    "": "the same at all times",
    "hour": "by hour of the day",
    "weekday": "by weekday",
    "month": "by month",
    "auto": "choose from the data",
}


def section() -> ui.Tag:
    """The step on the page."""
    return parts.step(
        2,
        "dependence",
        "Dependence",
        "What one row says about the next: who knows a few of them can guess others, and noise "
        "has to make up for that.",
        ui.output_ui("law_body"),
    )


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what."""

    def seen(found: work.Learned) -> None:
        state.learned.set(found)

    learn = PageTask("learn", input, session, seen)

    @session.output(id="law_body")
    @render.ui
    def _body() -> ui.Tag:
        found = state.looked()
        if found is None or found.overview.problem:
            return parts.waiting("First the data: then you choose here what is learned from them.")
        return parts.columns(
            [
                _state_field(found),
                ui.output_ui("law_about"),
                ui.input_select("law_memory", "What comes next depends on", _MEMORY),
                ui.input_select("law_season", "And how it does so is", _SEASON),
                ui.input_switch("law_private", "Learn it privately"),
                ui.output_ui("law_cost"),
                ui.input_action_button("law_learn", "Learn the dependence", class_="btn-primary"),
                progress("learn"),
            ],
            [ui.output_ui("law_found")],
        )

    @session.output(id="law_about")
    @render.ui
    def _about() -> ui.Tag | None:
        chosen = str(input.law_state())
        if chosen == _OTHER:
            return ui.input_text("law_text", "Column or SQL expression", width="100%",
                                 placeholder="steps > 100")  # fmt: skip
        if chosen.startswith(_BINS):
            return parts.row(
                ui.input_numeric("law_bins", "Bins", 4, min=2, max=50),
                ui.input_text("law_low", "From", placeholder="public"),
                ui.input_text("law_high", "To", placeholder="public"),
            )
        return None

    @session.output(id="law_cost")
    @render.ui
    def _cost() -> ui.Tag:
        if not input.law_private():
            return ui.p(
                "Learning from private data is itself a leak that no epsilon covers: keep the "
                "model to yourself. Learned privately, it costs a part of the promise.",
                class_="quiet",
            )
        return ui.div(
            parts.row(
                ui.input_text("law_epsilon", "Epsilon of the fit", "0.1"),
                ui.input_text("law_states", "The states, with commas", "False, True"),
            ),
            ui.p(
                "This epsilon is added to every release from the model. States, memory and "
                "season must be named, not chosen from the data.",
                class_="quiet",
            ),
        )

    @reactive.effect
    @reactive.event(input.law_learn)
    def _learn() -> None:
        data = state.data()
        if data is None:
            return
        try:
            chosen = _chosen(input)
        except InputError as error:
            learn.fail(str(error))
            return
        state.forget_from(2)
        state.law.set(chosen)
        learn.start(work.learn, data, chosen)

    @session.output(id="law_found")
    @render.ui
    def _found() -> ui.Tag | None:
        found = state.learned()
        return None if found is None else _told(found)

    @session.output(id="law_file")
    @render.download_button(filename="model.json")
    def _file() -> Any:
        found = state.learned()
        yield "" if found is None else work.as_json(found.model)


def _chosen(input: Inputs) -> LawChoice:
    state, options = str(input.law_state()), dict[str, Any]()
    memory, season = str(input.law_memory()), str(input.law_season())
    if state == _OTHER:
        state = str(input.law_text()).strip()
        if not state:
            raise InputError("Write a column or an expression, such as steps > 100")
    elif state.startswith(_BINS):
        state = state.removeprefix(_BINS)
        options = {
            "bins": int(number("Bins", input.law_bins())),
            "value_range": (number("From", input.law_low()), number("To", input.law_high())),
        }
    private: dict[str, Any] = {}
    if input.law_private():
        private = {
            "private_epsilon": number("Epsilon of the fit", input.law_epsilon()),
            "states": typed_states(input.law_states()) or None,
        }
    order: int | str = "auto" if memory == "auto" else int(memory)
    return LawChoice(state, order=order, season=season or None, **options, **private)


def _state_field(found: work.Looked) -> ui.Tag:
    known: dict[str, str] = {}
    for one in found.overview.states:
        binned = re.search(r"--bins (\d+)", one.options)
        if binned:
            known[f"{_BINS}{one.state}"] = f"{one.state}, in bins"
        elif not one.options:
            known[one.state] = f"{one.state} ({one.why})"
    known[_OTHER] = "something else …"
    return ui.input_select("law_state", "The state of a row is", known, width="100%")


def _told(found: work.Learned) -> ui.Tag:
    title, *facts = found.facts
    sentence = found.words[0].upper() + found.words[1:]
    return ui.div(
        ui.p(f"{sentence}.", class_="finding"),
        parts.picture(found.picture, title),
        parts.fold("In numbers", *(ui.p(text, class_="quiet") for text in facts))
        if facts
        else None,
        parts.against(
            "The data speak against parts of this model. The promise is kept under the richer "
            "models too, with more noise:",
            found.against,
        ),
        ui.div(
            ui.download_button("law_file", "Save the model", class_="btn-quiet"),
            ui.span("It tells of the private data: keep it to yourself.", class_="quiet"),
            class_="line",
        ),
    )
