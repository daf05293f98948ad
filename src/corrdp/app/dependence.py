"""Step 2, Dependence: what the state of a row is, and how one row tells of its neighbours."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import movements, parts, walks, work
from corrdp.app.choices import (
    Choice,
    DataChoice,
    FamilyChoice,
    MovesChoice,
    NetworkChoice,
    SeriesChoice,
    number,
    typed_states,
    whole,
)
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
_SHAPE = {
    "wide": "one row for a family: its members are columns",
    "long": "one row for a person: families are rows that share a name",
}
_LEAK = (
    "Learning from private data is itself a leak that no epsilon covers: keep the model to "
    "yourself."
)
_AGAINST = {
    "series": "The data speak against parts of this model. The promise is kept under the richer "
    "models too, with more noise:",
    "families": "The data speak against this model, and the promise rests on it:",
    "movements": "What a level does not hide here:",
}


def section() -> ui.Tag:
    """The step on the page."""
    return parts.step(
        2,
        "dependence",
        "Dependence",
        "What one row says about others: who knows a few of them can guess the rest, and noise has "
        "to make up for that.",
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
        series = found is None or found.data.kind == "series"
        if found is None or (series and found.overview.problem):
            return parts.waiting("First the data: then you choose here what is learned from them.")
        return parts.columns(
            [
                *_FIELDS[found.data.kind](found),
                ui.input_action_button("law_learn", "Learn the dependence", class_="btn-primary"),
                progress("learn"),
            ],
            [ui.output_ui("law_found")],
        )

    @reactive.effect
    @reactive.event(input.law_learn)
    def _learn() -> None:
        data = state.data()
        if data is None:
            return
        try:
            chosen = _CHOSEN[data.kind](input, state.links())
        except InputError as error:
            learn.fail(str(error))
            return
        state.forget_from(2)
        state.law.set(chosen)
        if isinstance(chosen, MovesChoice):
            learn.start(walks.learn, data, chosen)
        else:
            learn.start(work.learn, data, chosen)

    @reactive.effect
    @reactive.event(input.law_auto)
    def _auto() -> None:
        """The same state, with a memory and a season that the data speak for."""
        data, law = state.data(), state.law()
        if data is None or not isinstance(law, SeriesChoice):
            return
        ui.update_select("law_memory", selected="auto")
        ui.update_select("law_season", selected="auto")
        state.forget_from(2)
        state.law.set(replace(law, order="auto", season="auto"))
        learn.start(work.learn, data, state.law())

    @session.output(id="law_found")
    @render.ui
    def _found() -> ui.Tag | None:
        found, looked = state.learned(), state.looked()
        return None if found is None or looked is None else _told(found, looked.data.kind)

    @session.output(id="law_file")
    @render.download_button(filename="model.json")
    def _file() -> Any:
        found = state.learned()
        yield "" if found is None else work.as_json(found.model)


def _state(input: Inputs) -> str:
    state = str(input.law_state())
    if state == _OTHER:
        state = str(input.law_text()).strip()
        if not state:
            raise InputError("Column or SQL expression: write one, such as steps > 100")
    return state


def _series(input: Inputs, links: DataChoice | None) -> Choice:
    state, options = _state(input), dict[str, Any]()
    memory, season = str(input.law_memory()), str(input.law_season())
    if state.startswith(_BINS):
        state = state.removeprefix(_BINS)
        options = {
            "bins": whole("Bins", input.law_bins()),
            "value_range": (number("From", input.law_low()), number("To", input.law_high())),
        }
    private: dict[str, Any] = {}
    if input.law_private():
        private = {
            "private_epsilon": number("Epsilon of the fit", input.law_epsilon()),
            "states": typed_states(input.law_states()) or None,
        }
    order: int | str = "auto" if memory == "auto" else int(memory)
    return SeriesChoice(state, order=order, season=season or None, **options, **private)


def _families(input: Inputs, links: DataChoice | None) -> Choice:
    ends = number("Values lie from", input.law_low()), number("To", input.law_high())
    if str(input.law_shape()) == "wide":
        columns, group = tuple(input.law_columns()), str(input.law_rows()) or None
        if len(columns) < 2:
            raise InputError("Choose the columns of the members: at least two")
        return FamilyChoice(columns=columns, group=group, secret_range=ends)
    return FamilyChoice(
        role=str(input.law_role()),
        value=str(input.law_value()),
        group=str(input.law_group()),
        secret_range=ends,
    )


def _network(input: Inputs, links: DataChoice | None) -> Choice:
    if links is None:
        raise InputError("Name the file of links first: it belongs to the data")
    return NetworkChoice(_state(input), str(input.law_id()), links)


def _series_fields(found: work.Looked) -> list[ui.Tag]:
    return [
        *_state_fields(found),
        ui.input_select("law_memory", "What comes next depends on", _MEMORY),
        ui.input_select("law_season", "And how it does so is", _SEASON),
        ui.input_switch("law_private", "Learn it privately"),
        ui.panel_conditional(
            "!input.law_private",
            ui.p(f"{_LEAK} Learned privately, it costs a part of the promise.", class_="quiet"),
        ),
        ui.panel_conditional(
            "input.law_private",
            parts.row(
                ui.input_text("law_epsilon", "Epsilon of the fit", "0.1"),
                ui.input_text("law_states", "The states, with commas", "False, True"),
            ),
            ui.p(
                "This epsilon is added to every release from the model. States, memory and "
                "season must be named, not chosen from the data.",
                class_="quiet",
            ),
        ),
    ]


def _family_fields(found: work.Looked) -> list[ui.Tag]:
    return [
        ui.input_radio_buttons("law_shape", "The file has", _SHAPE),
        *_members(found),
        parts.row(
            ui.input_text("law_low", "Values lie from", placeholder="public"),
            ui.input_text("law_high", "To", placeholder="public"),
        ),
        ui.p(
            "The range belongs to the promise: choose it by what is known of such values, not by "
            "a look at these.",
            class_="quiet",
        ),
        ui.p(_LEAK, class_="quiet"),
    ]


def _members(found: work.Looked) -> list[ui.Tag]:
    """Which columns hold the values, and which tells families apart; for both shapes."""
    names = [c.name for c in found.overview.columns]
    apart = "Column that tells families apart"
    measured = [c.name for c in found.overview.columns if c.role == "measurement"]
    looks = {c.role: c.name for c in reversed(found.overview.columns)}
    return [
        ui.panel_conditional(
            "input.law_shape == 'wide'",
            ui.input_checkbox_group("law_columns", "The members are", names, selected=measured),
            ui.input_select("law_rows", f"{apart}, if children of one family have rows of their "
                            "own", {"": "each row is a family"}
                            | {name: name for name in names}),
            class_="stack",
        ),
        ui.panel_conditional(
            "input.law_shape == 'long'",
            ui.input_select("law_group", apart, names, selected=looks.get("group")),
            ui.input_select("law_role", "Column that says who it is: father, child", names,
                            selected=looks.get("state")),
            ui.input_select("law_value", "Column of the values", names,
                            selected=looks.get("measurement")),
            class_="stack",
        ),
    ]  # fmt: skip


def _network_fields(found: work.Looked) -> list[ui.Tag]:
    names = [c.name for c in found.overview.columns]
    ids = [c.name for c in found.overview.columns if c.role == "id"]
    return [
        ui.input_select("law_id", "Column that names the people", names,
                        selected=(ids or names)[0]),
        *_state_fields(found),
        ui.p(_LEAK, class_="quiet"),
    ]  # fmt: skip


_FIELDS = {
    "series": _series_fields,
    "families": _family_fields,
    "network": _network_fields,
    "movements": movements.law_fields,
}
_CHOSEN = {
    "series": _series,
    "families": _families,
    "network": _network,
    "movements": movements.law_choice,
}


def _state_fields(found: work.Looked) -> list[ui.Tag]:
    """What the state of a row is; all of it is there at once, so that no quick click is lost."""
    known: dict[str, str] = {}
    for one in found.overview.states:
        binned = re.search(r"--bins (\d+)", one.options)
        if binned and found.data.kind == "series":
            known[f"{_BINS}{one.state}"] = f"{one.state}, in bins"
        elif not one.options:
            known[one.state] = f"{one.state} ({one.why})"
    known[_OTHER] = "something else …"
    return [
        ui.input_select("law_state", "The state of a row is", known, width="100%"),
        ui.panel_conditional(
            f"input.law_state == '{_OTHER}'",
            ui.input_text("law_text", "Column or SQL expression", width="100%",
                          placeholder="steps > 100"),
        ),
        ui.panel_conditional(
            f"(input.law_state || '').startsWith('{_BINS}')",
            parts.row(
                ui.input_numeric("law_bins", "Bins", 4, min=2, max=50),
                ui.input_text("law_low", "From", placeholder="public"),
                ui.input_text("law_high", "To", placeholder="public"),
            ),
        ),
    ]  # fmt: skip


def _told(found: work.Learned, kind: str) -> ui.Tag:
    title, *facts = found.facts
    words = found.words or _in_words(found.model)
    return ui.div(
        ui.p(parts.sentence(words), class_="finding"),
        parts.picture(found.picture, title),
        parts.fold("In numbers", *(ui.p(text, class_="quiet") for text in facts))
        if facts
        else None,
        movements.law_details(found) if kind == "movements" else None,
        None if found.chosen is None else _choice(found.chosen),
        parts.against(_AGAINST.get(kind, ""), found.against),
        ui.div(
            ui.input_action_button("law_auto", "Let the data choose", class_="btn-quiet"),
            ui.span("Tries several memories and seasons.", class_="quiet"),
            class_="line",
        )
        if kind == "series" and found.against and found.chosen is None
        else None,
        ui.div(
            ui.download_button(
                "law_file",
                "Save what was found" if kind == "movements" else "Save the model",
                class_="btn-quiet",
            ),
            ui.span("It tells of the private data: keep it to yourself.", class_="quiet"),
            class_="line",
        ),
    )


def _in_words(model: Any) -> str:
    """What was learned, for those who call it neither chain nor field."""
    if model.kind == "gaussian":
        values, families = len(model.block_of_record), len(model.shape_of_block)
        equal = len(model.shapes) == 1
        most = f"{'' if equal else 'at most '}{model.largest_block:,}"
        return f"{values:,} values in {families:,} families of {most}"
    if model.kind == "field":
        return f"{model.length:,} people in two states, with {len(model.edges):,} links"
    back = getattr(model, "order", 1)
    memory = "the row before" if back == 1 else f"the {back} rows before"
    rows = f"{model.fitted.rows:,} rows in {len(model.states)} states"
    season = ""
    if model.kind == "seasonal":
        season = f", and differs by {model.fitted.seasons[0].title}"
    return f"{rows}; what comes next depends on {memory}{season}"


def _choice(chosen: work.Chosen) -> ui.Tag:
    """What memory and season were chosen from; the chosen one stands out."""
    head = ("candidate", "held-out loss", "parameters", "noise", "")
    return ui.div(
        ui.tags.h3("Chosen, and the alternatives"),
        ui.p(parts.sentence(chosen.words), class_="quiet") if chosen.words else None,
        parts.grid(head, chosen.candidates, "Memories and seasons that were tried"),
        ui.p("Noise is for a promise of 1, against independent rows.", class_="quiet"),
    )
