"""Step 3, Promise: what is protected, how much, against whom, and what that costs."""

from __future__ import annotations

import math
from dataclasses import replace

from shiny import Inputs, Session, reactive, render, ui

from corrdp.app import movements, parts, pictures, work
from corrdp.app.choices import MovesChoice, PromiseChoice
from corrdp.app.state import State
from corrdp.app.tasks import PageTask, progress
from corrdp.report.words import believed

_LOW, _HIGH = 0.1, 5.0  # the ends of the slider
_START = 59  # where it stands at first: a level of 1
_PROTECTED = {
    "hour": "any hour",
    "day": "any day",
    "person": "a person's whole series",
}
_RECORD = {
    "series": "one row: what happened in one step of time",
    "families": "one value: what was measured of one person",
    "network": "one person: in which state they are",
}


def level(place: float) -> float:
    """The promise for a place of the slider, 0 to 100, in two digits.

    Examples
    --------
    >>> level(0), level(59), level(100)
    (0.1, 1.0, 5.0)
    """
    return float(f"{_LOW * (_HIGH / _LOW) ** (place / 100):.2g}")


def section() -> ui.Tag:
    """The step on the page."""
    return parts.step(
        3,
        "promise",
        "Promise",
        "What you promise the people in the data: how much anyone can learn about them from what "
        "you publish.",
        ui.output_ui("promise_body"),
    )


def connect(input: Inputs, session: Session, state: State) -> None:
    """Who listens to what."""
    compare = PageTask("compare", input, session, state.compared.set, state.compared.set)

    @session.output(id="promise_body")
    @render.ui
    def _body() -> ui.Tag:
        found, looked = state.learned(), state.looked()
        if found is None or looked is None:
            return parts.waiting("First the dependence: it decides what a promise costs.")
        with reactive.isolate():
            place = input.promise_slider() if "promise_slider" in input else _START
            unit = found.units[0][1] if found.units else None
            accept = state.promise().accept
            state.promise.set(PromiseChoice(level(float(place)), unit, accept=accept))
        if looked.data.kind == "movements":
            return movements.promise_body(found, _slider(place))
        words = {"record": _RECORD[looked.data.kind], **_PROTECTED}
        units = {unit or "record": words[name] for name, unit in found.units}
        return parts.columns(
            [
                ui.input_radio_buttons("promise_unit", "What is protected", units),
                _slider(place),
                ui.output_ui("promise_sentence"),
                ui.div(
                    ui.tags.h3("Against whom"),
                    ui.p(
                        "Anyone, whatever other rows they know, and even if they know exactly how "
                        "rows depend on each other."
                    ),
                    class_="whom",
                ),
                ui.input_switch(
                    "promise_sure",
                    "Hold for every model that the data still allow (95 %)",
                    True,
                ),
                ui.div(progress("compare"), class_="room-progress"),
            ],
            [
                ui.div(ui.output_ui("promise_curves"), class_="room-curves"),
                ui.div(
                    ui.output_ui("promise_prices"),
                    class_="room-prices" if len(found.units) > 1 else None,
                ),
            ],
        )

    @reactive.effect
    def _choose() -> None:
        """A slider that was not moved yet and a switch that is not there have no value."""
        place = input.promise_slider() if "promise_slider" in input else _START
        unit = str(input.promise_unit())
        sure = bool(input.promise_sure()) if "promise_sure" in input else True
        with reactive.isolate():
            chosen = replace(
                state.promise(),
                target=level(float(place)),
                unit=None if unit == "record" else unit,
                confident=sure,
            )
            if chosen != state.promise():
                state.promise.set(chosen)

    @reactive.calc
    def priced() -> tuple[str | None, bool, str | None]:
        promise = state.promise()
        return promise.unit, promise.confident, promise.accept

    last: list[object] = [None]

    @reactive.effect
    def _compare() -> None:
        """The curves do not hang on where the slider stands."""
        found, wanted = state.learned(), priced()
        with reactive.isolate():
            if isinstance(state.law(), MovesChoice):  # an epsilon is what it is
                found = None
        now = None if found is None else (id(found), wanted)
        if now == last[0]:
            return
        last[0] = now
        state.compared.set(None)
        if found is not None:
            with reactive.isolate():
                compare.start(work.compare, found.model, state.promise())

    @session.output(id="promise_sentence")
    @render.ui
    def _sentence() -> ui.Tag:
        live = input.promise_live() if "promise_live" in input else _START
        target = level(float(live))
        about = f"On any question about it, {believed(target)}."
        return ui.div(
            ui.p(about, class_="promise"),
            ui.p(
                f"Level {target:g}: the odds change by a factor of at most {math.exp(target):.3g}.",
                class_="quiet",
            ),
            aria_live="polite",
        )

    @session.output(id="promise_curves")
    @render.ui
    def _curves() -> ui.Tag | None:
        found, target = state.compared(), state.promise().target
        if found is None or not any(curve.points for curve in found.curves):
            return None
        drawn = pictures.svg(
            pictures.draw_promises(found, target), "curves", "Noise against promise"
        )
        missing = [
            ui.tags.li(ui.tags.b(curve.name), f": {curve.reason}")
            for curve in found.curves
            if curve.reason and not curve.points
        ]
        return ui.div(
            parts.picture(drawn, "The noise that a promise costs: lower is better."),
            parts.fold("Which bounds give no promise here", ui.tags.ul(*missing))
            if missing
            else None,
        )

    @session.output(id="promise_prices")
    @render.ui
    def _prices() -> ui.Tag | None:
        found, learned = state.compared(), state.learned()
        if found is None or not found.prices:
            return None
        if learned is not None and len(learned.units) == 1:
            price = found.prices[0][1]
            return ui.p(
                f"At level 1 dependence costs {price:.3g} times the noise of independent rows.",
                class_="quiet",
            )
        units = len(found.prices) if learned is None else len(learned.units)
        drawn = pictures.svg(
            pictures.draw_prices(found, units), "prices", "What dependence costs by unit"
        )
        return parts.picture(
            drawn,
            "What dependence costs, by what is protected, at level 1: a longer unit holds more of "
            "what its neighbours would tell.",
        )


def _slider(place: float) -> ui.Tag:
    return ui.div(
        ui.tags.label("How much", for_="promise_slider", class_="control-label"),
        ui.tags.input(
            type="range", id="promise_slider", min="0", max="100", step="1", value=str(place),
            **{"data-live": "promise_live"},
        ),
        ui.div(ui.span("cautious"), ui.span("loose"), class_="ends", aria_hidden="true"),
        class_="slider",
    )  # fmt: skip
