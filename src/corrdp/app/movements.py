"""What the steps ask and show where the data are movements: fields, choices, findings."""

from __future__ import annotations

from typing import Any

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import ledger, parts, pictures, walks, work
from corrdp.app.choices import (
    USUAL_WALKS,
    Choice,
    DataChoice,
    MovesChoice,
    MovesTable,
    number,
    typed_list,
    whole,
)
from corrdp.app.demo import DEMO_BOX
from corrdp.app.state import State
from corrdp.app.tasks import PageTask, progress
from corrdp.errors import InputError
from corrdp.report.movements import MEANS, event_rows

_PLACES = {
    "degrees": "points on the map: latitude and longitude",
    "names": "names of places",
}
_PEOPLE = 2000  # at most that are made up
_SPLIT = {"": "is all of a person", "day": "ends with the day", "1h": "ends with an hour's pause"}
_UNITS = {
    "visits": "that a person was in a place, however often",
    "trajectory": "one walk, as it begins and ends in step 2",
    "person": "everything of a person",
    "point": "where exactly a point was, within some metres",
}
_WALKS = {
    "prefix": "made-up walks, by how walks begin",
    "ngrams": "made-up walks, by what follows what",
}
_ABOUT_BOX = (
    "Box, cells and places must be public: choose them by what is known of the area, not by a look "
    "at these movements."
)


def law_fields(found: work.Looked) -> list[ui.Tag]:
    """Step 2: columns, places, steps of time."""
    columns = [c.name for c in found.overview.columns]
    usual = walks.usual_columns(columns)
    made_up = found.data.name == "made-up-walks.csv" and not found.data.kept

    def column(name: str, label: str) -> ui.Tag:
        return ui.input_select(f"walk_{name}", label, columns, selected=usual[name])

    return [
        parts.row(column("user", "Column of people"), column("time", "Column of times")),
        ui.input_radio_buttons(
            "walk_where", "Places are", _PLACES,
            selected="degrees" if usual["lat"] or not usual["label"] else "names",
        ),
        ui.panel_conditional(
            "input.walk_where == 'degrees'",
            parts.row(column("lat", "Latitude"), column("lng", "Longitude")),
            ui.input_text(
                "walk_box", "Box: south, west, north, east",
                ", ".join(f"{edge:g}" for edge in DEMO_BOX) if made_up else "",
                placeholder="52.3, 13.1, 52.7, 13.8", width="100%",
            ),
            ui.input_text("walk_side", "Side of a cell, in metres", "1000"),
            ui.input_checkbox("walk_clip", "Move points outside the box to its edge"),
            class_="stack",
        ),
        ui.panel_conditional(
            "input.walk_where == 'names'",
            column("label", "Column of the place"),
            ui.input_text("walk_places", "All places there are, with commas",
                          placeholder="home, work, clinic", width="100%"),
            class_="stack",
        ),
        ui.p(_ABOUT_BOX, class_="quiet"),
        ui.input_select("walk_split", "A walk", _SPLIT, width="100%"),
        parts.row(
            ui.input_text("walk_step", "A step of time", "30min" if made_up else "5min"),
            ui.input_text("walk_epsilon", "Epsilon for a step", "0.1"),
        ),
    ]  # fmt: skip


def law_choice(input: Inputs, links: DataChoice | None) -> Choice:
    """Step 2: what was chosen."""
    options: dict[str, Any] = {
        "split": str(input.walk_split()) or None,
        "step": str(input.walk_step()).strip(),
        "epsilon": number("Epsilon for a step", input.walk_epsilon()),
    }
    user, time = str(input.walk_user()), str(input.walk_time())
    if str(input.walk_where()) == "names":
        places = typed_list(input.walk_places())
        if not places:
            raise InputError(
                "All places there are: write them down; a list read from the data is not public"
            )
        return MovesChoice(user, time, label=str(input.walk_label()), places=places, **options)
    edges = tuple(number("Box", word) for word in typed_list(input.walk_box()))
    if len(edges) != 4:
        raise InputError("Box: write four numbers: south, west, north, east")
    return MovesChoice(
        user,
        time,
        str(input.walk_lat()),
        str(input.walk_lng()),
        box=(edges[0], edges[1], edges[2], edges[3]),
        side=number("Side of a cell", input.walk_side()),
        clip=bool(input.walk_clip()),
        **options,
    )


def law_details(found: work.Learned) -> ui.Tag:
    """Step 2: what an epsilon for one step gives away, by each way of reckoning."""
    rows = [row for row, _ in event_rows(found.model)]
    return parts.fold(
        "What one step gives away, by each bound",
        parts.grid(("bound", "leakage", "what it takes"), rows, "Bounds on what a step gives away"),
    )


def promise_body(found: work.Learned, slider: ui.Tag) -> ui.Tag:
    """Step 3: which unit, how much, and how units compare."""
    units = {name: _UNITS[name] for name, _ in found.units}
    return parts.columns(
        [
            ui.input_radio_buttons("promise_unit", "What is protected", units),
            slider,
            ui.output_ui("promise_sentence"),
            ui.div(
                ui.tags.h3("Against whom"),
                ui.p(
                    "Anyone who knows all the rest, as long as the rest says nothing about it: "
                    "what people tell about each other, or one place about another, is not in "
                    "this number."
                ),
                class_="whom",
            ),
        ],
        [
            ui.output_ui("walk_curves"),
            parts.fold(
                "What other levels of protection would hide here",
                *(
                    ui.div(ui.tags.h3(title), parts.grid(head, rows, title))
                    for title, head, rows in walks.tables(found.model)
                ),
                parts.facts(MEANS.items()),
            ),
        ],
    )


def table_body() -> ui.Tag:
    """Step 4: what is released, for the unit of step 3."""
    return parts.columns(
        [
            ui.panel_conditional(
                "input.promise_unit == 'visits'",
                ui.p("How many people were in each place."),
                ui.input_numeric("walk_most", "Visits of a person to a place that count", 1, min=1),
                class_="stack",
            ),
            ui.panel_conditional(
                "['trajectory', 'person'].includes(input.promise_unit)",
                _tree_fields(),
            ),
            ui.panel_conditional(
                "input.promise_unit == 'point'",
                ui.p("Every point, moved by noise."),
                ui.input_text("walk_radius", "Metres within which the promise holds", "200"),
                class_="stack",
            ),
            ui.input_numeric(
                "walk_people", "People to make up for the picture", 200, min=1, max=_PEOPLE
            ),
            ui.input_action_button("walk_add", "Take it", class_="btn-primary"),
            *ledger.fields(),
        ],
        [progress("walk_plan"), ui.output_ui("walk_found")],
    )


def _tree_fields() -> ui.Tag:
    return ui.div(
        ui.input_select("walk_what", "Publish", _WALKS, width="100%"),
        parts.row(
            ui.input_numeric("walk_levels", "Places in a row", 3, min=1),
            ui.panel_conditional(
                "input.walk_what == 'ngrams'",
                ui.input_numeric("walk_length", "Points of a walk that count", 10, min=1),
            ),
            ui.panel_conditional(
                "input.promise_unit == 'person'",
                ui.input_numeric(
                    "walk_per_user", "Walks of a person that count", USUAL_WALKS, min=1
                ),
            ),
        ),
        ui.input_checkbox("walk_merge", "Points in a row in one place count once", True),
        ui.input_checkbox("walk_counts", "Publish the noisy counts instead of walks"),
        class_="stack",
    )


def table_choice(input: Inputs) -> MovesTable:
    """Step 4: what was chosen."""
    unit = str(input.promise_unit())
    people = whole("People to make up", input.walk_people(), _PEOPLE)
    more: dict[str, Any] = {"people": people}
    if unit == "visits":
        return MovesTable("elements", unit, whole("Visits of a person", input.walk_most()), **more)
    if unit == "point":
        return MovesTable(
            "planar",
            unit,
            radius=number("Metres within which the promise holds", input.walk_radius()),
            **more,
        )
    kind = str(input.walk_what())
    if kind == "ngrams":
        more["length"] = whole("Points of a walk", input.walk_length())
    if unit == "person":
        more["per_user"] = whole("Walks of a person", input.walk_per_user())
    return MovesTable(
        kind,
        unit,
        levels=whole("Places in a row", input.walk_levels()),
        merge_stays=bool(input.walk_merge()),
        counts=bool(input.walk_counts()),
        **more,
    )


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what, in steps 3 and 4."""
    plan = PageTask("walk_plan", input, session, state.planned.set)

    @reactive.effect
    @reactive.event(input.walk_add)
    def _add() -> None:
        try:
            state.moves.set(table_choice(input))
        except InputError as error:
            plan.fail(str(error))

    @reactive.effect
    def _plan() -> None:
        """What is promised hangs on the places, the promise and what is released."""
        law, promise, choice = state.law(), state.promise(), state.moves()
        if choice is None or not isinstance(law, MovesChoice):
            return
        with reactive.isolate():
            state.forget_from(4)
            if choice.unit == promise.unit:
                plan.start(walks.plan, law, promise, choice)
            else:  # what was chosen protects something else
                state.moves.set(None)

    @session.output(id="walk_curves")
    @render.ui
    def _curves() -> ui.Tag | None:
        found = state.learned()
        if found is None or not found.curves:
            return None
        asked = work.Comparison("count", found.curves)
        drawn = pictures.draw_promises(asked, state.promise().target)
        return parts.picture(
            pictures.svg(drawn, "curves", "Noise against promise"),
            "The noise that a promise costs, by what is protected: lower is better.",
        )

    @session.output(id="walk_found")
    @render.ui
    def _found() -> ui.Tag | None:
        found = state.planned()
        if found is None or not isinstance(found.choice, MovesTable):
            return ui.p("Nothing is in the release yet.", class_="quiet")
        return ui.div(
            ui.tags.h3(found.choice.words),
            ui.p(found.promise, class_="promise"),
            parts.picture(
                found.picture, "Made-up people in your places, not your data.", pair=True
            ),
            parts.facts(found.lines),
            parts.fold("What this rests on", ui.tags.ul(*map(ui.tags.li, found.against))),
        )
