"""Step 4, Table: queries by clicking, and the error to expect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import ledger, movements, parts, work
from corrdp.app.choices import DELTA, QueryChoice, TableChoice, number
from corrdp.app.state import State
from corrdp.app.tasks import PageTask, problem, progress
from corrdp.errors import CorrdpError

_KINDS = {
    "count": "how many rows are in a state",
    "histogram": "how many rows are in each state",
}
_OF_NUMBERS = {
    "mean": "the mean of the states (of true and false: the share)",
    "sum": "the sum of the states",
    "median": "the median of the states",
}
_OF_FAMILIES = {"mean": "the mean of the values", "sum": "the sum of the values"}
_NOISE = {
    "laplace": "Laplace: no exception",
    "gaussian": f"Gaussian: but for outputs of probability {DELTA:g}",
    "best": "the one with the smaller error",
}


def section() -> ui.Tag:
    """The step on the page."""
    return parts.step(
        4,
        "table",
        "Table",
        "What you want to publish. The private data are not touched before the last step: pictures "
        "here are of made-up data.",
        ui.output_ui("table_body"),
    )


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what."""
    plan = PageTask("plan", input, session, state.planned.set)
    wrong: reactive.Value[str] = reactive.Value("")

    @session.output(id="table_body")
    @render.ui
    def _body() -> ui.Tag:
        found, looked = state.learned(), state.looked()
        if found is None or looked is None:
            return parts.waiting("First the dependence: the tables are made of its states.")
        if looked.data.kind == "movements":
            return movements.table_body()
        return parts.columns(
            [
                _question_form(found, looked),
                ui.output_ui("table_wrong"),
                ui.output_ui("table_list"),
                _options(found.model),
                *ledger.fields(),
            ],
            [progress("plan"), ui.output_ui("table_accept"), ui.output_ui("table_found")],
        )

    @reactive.effect
    @reactive.event(input.table_add)
    def _add() -> None:
        found, looked = state.learned(), state.looked()
        if found is None or looked is None:
            return
        try:
            question = _question(input, found, looked)
            question.query()
        except CorrdpError as error:
            wrong.set(str(error))
            return
        wrong.set("")
        choice = state.table()
        if found.model.states is None:  # of real values there is one query in a release
            state.table.set(replace(choice, questions=(question,)))
        elif question not in choice.questions:
            state.table.set(replace(choice, questions=(*choice.questions, question)))

    @session.output(id="table_wrong")
    @render.ui
    def _wrong() -> ui.Tag | None:
        return problem(wrong()) if wrong() else None

    @reactive.effect
    @reactive.event(input.table_drop)
    def _drop() -> None:
        choice, gone = state.table(), int(input.table_drop())
        kept = tuple(q for k, q in enumerate(choice.questions) if k != gone)
        state.table.set(replace(choice, questions=kept))

    @reactive.effect
    @reactive.event(input.table_noise, input.table_rollup, input.table_positive, input.table_public)
    def _option() -> None:
        choice = replace(
            state.table(),
            noise=str(input.table_noise()),
            rollup=bool(input.table_rollup()),
            nonnegative=bool(input.table_positive()),
            public=bool(input.table_public()),
        )
        if choice != state.table():
            state.table.set(choice)

    @session.output(id="table_list")
    @render.ui
    def _list() -> ui.Tag | None:
        return _listed(state.table())

    last: list[object] = [None]

    @reactive.effect
    def _plan() -> None:
        """Find the noise anew whenever model, promise or table change."""
        found, promise, choice = state.learned(), state.promise(), state.table()
        now = (id(found), promise, choice)
        if now == last[0]:
            return
        last[0] = now
        state.forget_from(4)
        if found is not None and choice.questions:
            plan.start(work.plan, found.model, promise, choice)
        else:
            plan.fail("")

    @session.output(id="table_accept")
    @render.ui
    def _accept() -> ui.Tag | None:
        if "accept=" not in plan.error():
            return None
        return ui.div(
            ui.input_text_area(
                "accept_reason",
                "Or say why to promise all the same; your words will stand next to the number",
                width="100%",
                rows=2,
            ),
            ui.input_action_button("accept_go", "Promise with this reason", class_="btn-quiet"),
        )

    @reactive.effect
    @reactive.event(input.accept_go)
    def _accepted() -> None:
        reason = str(input.accept_reason()).strip()
        if reason:
            state.promise.set(replace(state.promise(), accept=reason))

    @session.output(id="table_found")
    @render.ui
    def _found() -> ui.Tag | None:
        found = state.planned()
        return None if found is None else _told(found)

    movements.connect(input, session, state)
    ledger.connect(input, session, state)


def _question_form(found: work.Learned, looked: work.Looked) -> ui.Tag:
    if found.model.states is None:
        columns = {"": "all members"} | {name: name for name in found.model.fitted.columns}
        return ui.div(
            ui.input_select("table_kind", "Publish", _OF_FAMILIES, width="100%"),
            ui.input_select("table_column", "Of", columns),
            _edges(found.model),
            ui.input_action_button("table_add", "Take it", class_="btn-primary"),
            class_="stack",
        )
    group = looked.data.group
    numbers = all(isinstance(state, bool | int | float) for state in found.model.states)
    kinds = _KINDS | _OF_NUMBERS if numbers else _KINDS
    if found.model.records is None:  # a mean needs a public number of rows
        kinds = {name: words for name, words in kinds.items() if name != "mean"}
    labels = {str(k): str(state) for k, state in enumerate(found.model.states)}
    keys = [*found.clock_keys, *([group] if group else [])]
    used = {*(looked.data.order_by or ()), *keys}
    used |= {c.name for c in looked.overview.columns if c.role == "id"}  # a row each
    other = [c.name for c in looked.overview.columns if c.name not in used and c.distinct <= 1000]
    return ui.div(
        ui.input_select("table_kind", "Publish", kinds, width="100%"),
        # all of it is there at once, so that a quick click finds what it asks for
        ui.panel_conditional(
            "input.table_kind == 'count'",
            ui.input_select("table_state", "State", labels, selected=str(len(labels) - 1)),
        ),
        ui.panel_conditional(
            "!['count', 'histogram'].includes(input.table_kind)", _edges(found.model)
        )
        if numbers
        else None,
        ui.input_checkbox_group("table_by", "For each", keys, inline=True) if keys else None,
        parts.fold(
            "For each value of another column",
            ui.input_checkbox_group("table_other", "Columns that everybody may know", other),
        )
        if other
        else None,
        ui.input_action_button("table_add", "Add to the release", class_="btn-primary"),
        class_="stack",
    )


def _question(input: Inputs, found: work.Learned, looked: work.Looked) -> QueryChoice:
    kind = str(input.table_kind())
    keys = tuple(input.table_by()) if "table_by" in input else ()
    other = tuple(input.table_other()) if "table_other" in input else ()
    options: dict[str, Any] = {}
    states = tuple(found.model.states or ())
    if not states:
        options["column"] = str(input.table_column()) or None
        keys = other = ()
    if kind == "count":
        options["state"] = states[int(input.table_state())]
    elif kind == "histogram":
        options["states"] = states
    else:
        options |= {
            "lower": number("Lowest value", input.table_low()),
            "upper": number("Highest value", input.table_high()),
        }
    return QueryChoice(
        kind,
        by=(*keys, *other),
        public_columns=other,
        skip_missing=any(column.missing for column in looked.overview.columns),
        **options,
    )


def _listed(choice: TableChoice) -> ui.Tag:
    if not choice.questions:
        return ui.p("Nothing is in the release yet.", class_="quiet")
    return ui.div(
        ui.tags.h3("In this release"),
        ui.tags.ul(
            *(
                ui.tags.li(
                    ui.span(question.words),
                    ui.tags.button(
                        "remove",
                        type="button",
                        class_="drop",
                        aria_label=f"Take out: {question.words}",
                        **{"data-set": "table_drop", "data-value": str(k)},
                    ),
                )
                for k, question in enumerate(choice.questions)
            ),
            class_="chosen",
        ),
    )


def _ends(model: Any) -> tuple[float, float]:
    """Between what the states, or the values of families, lie."""
    low, high = (
        model.secret_range if model.states is None else (min(model.states), max(model.states))
    )
    return float(low), float(high)


def _edges(model: Any) -> ui.Tag:
    low, high = _ends(model)
    return parts.row(
        ui.input_text("table_low", "Lowest value", f"{low:g}"),
        ui.input_text("table_high", "Highest value", f"{high:g}"),
    )


def _options(model: Any) -> ui.Tag:
    real = model.states is None
    numbers = real or not any(isinstance(state, str) for state in model.states)
    noise = {"laplace": _NOISE["laplace"]} if real else _NOISE
    rollup = ui.input_switch(
        "table_rollup", "Add the roll-ups, so that totals are sums of their parts"
    )
    return parts.fold(
        "Noise and rounding" if real else "Noise, roll-ups, rounding",
        ui.input_radio_buttons("table_noise", "Noise", noise),
        ui.div(rollup, hidden="") if real else rollup,
        ui.input_switch("table_positive", "No negative numbers",
                        not numbers or _ends(model)[0] >= 0),
        ui.input_switch("table_public", "Round the levels, so that all of it may be handed out",
                        True),
    )  # fmt: skip


def _told(found: work.Planned) -> ui.Tag:
    preview = (
        parts.picture(found.picture, "Simulated from the model, not from your data.")
        if found.picture
        else ui.p(
            "There is no picture for these keys and columns: the model can simulate states and the "
            "clock alone.",
            class_="quiet",
        )
    )
    return ui.div(
        ui.p(found.promise, class_="promise"),
        preview,
        parts.facts([*found.lines, ("Dependence", found.cost)]),
        parts.against("What the data speak for, and what it asks for:", found.against),
        parts.fold("Other models that were asked", ui.tags.ul(*map(ui.tags.li, found.others)))
        if found.others
        else None,
    )
