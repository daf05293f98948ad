"""What a table looks like on data simulated from the model: the private ones are not read."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

import corrdp as cdp
from corrdp.app import pictures
from corrdp.app.choices import TableChoice
from corrdp.plots.cells import draw_release
from corrdp.queries.keys import CLOCK_VALUES

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_SIMULATED = 200_000  # rows of a preview


def preview(model: Any, calibration: Any, choice: TableChoice) -> str:
    """What such a table looks like on data simulated from the model, never on the private ones."""
    if model.length is not None and model.length > _SIMULATED and model.kind == "field":
        return ""
    if model.states is None:
        return _drawn(_family_numbers(model, calibration, choice))
    keys = {key for question in choice.questions for key in question.by}
    simple = all(question.kind in ("count", "histogram") for question in choice.questions)
    clocked = _clock(model) is not None and keys <= {"hour", "weekday", "month", "date"}
    if not simple or not (clocked or not keys):
        return ""
    rows = _simulated(model, keys)
    queries: list[Any] = []
    for question in choice.questions:
        keyed = {key: CLOCK_VALUES[key] for key in question.by}
        more: dict[str, Any] = {"by": keyed, "public_columns": list(keyed)} if keyed else {}
        query: Any = (
            cdp.Count(where=f"state = {_quoted(question.state)}", **more)
            if question.kind == "count"
            else cdp.Histogram(tuple(map(str, question.states)), column="state", **more)
        )
        queries += query.rollup() if choice.rollup and question.by else (query,)
    same_noise = {"noise": "gaussian", "delta": calibration.delta} if calibration.sigma else {}
    made = cdp.calibrate(
        cdp.Independent(),
        epsilon=calibration.epsilon,
        query=queries[0] if len(queries) == 1 else queries,
        **same_noise,
    )
    answer = made.release(rows, nonnegative=choice.nonnegative)
    return _drawn(answer)


def _drawn(answer: Any) -> str:
    return pictures.svg(
        draw_release(answer)[0], "preview", "The table on simulated data, with 95 % intervals"
    )


def _clock(model: Any) -> Any:
    return getattr(model.fitted, "clock", None)


def _family_numbers(model: Any, calibration: Any, choice: TableChoice) -> Any:
    """The sum or mean of values drawn from the model, with the noise of the calibration."""
    import pyarrow

    (question,) = choice.questions
    values, read = model.sample(np.random.default_rng(1)), model.reads(question.query())
    if read is not None:
        values = values[read > 0]
    edges = question.lower, question.upper
    query: Any = (
        cdp.Sum(*edges, column="value")
        if question.kind == "sum"
        else cdp.Mean(*edges, column="value", n=len(values))
    )
    made = cdp.calibrate(cdp.Independent(len(values)), epsilon=calibration.epsilon, query=query)
    return made.release(pyarrow.table({"value": values}), nonnegative=choice.nonnegative)


def _quoted(label: Any) -> str:
    return "'" + str(label).replace("'", "''") + "'"


def _simulated(model: Any, keys: set[str]) -> Any:
    """States drawn from the model, with the parts of the clock that are asked for."""
    import pyarrow

    fit, rng = model.fitted, np.random.default_rng(1)
    if model.kind == "field":
        return pyarrow.table({"state": [str(state) for state in model.sample(rng)]})
    length = int(min(fit.longest, _SIMULATED))
    sequences = int(min(fit.sequences, max(1, _SIMULATED // length)))
    drawn = [model.sample(rng, length) for _ in range(sequences)]
    columns: dict[str, list[Any]] = {"state": [str(s) for path in drawn for s in path]}
    if keys:
        step = fit.clock.usual / (fit.clock.places or 1)
        times = [_moment(fit.clock.first + k * step, fit.clock.timezone) for k in range(length)]
        parts: dict[str, Any] = {
            "hour": lambda t: t.hour,
            "weekday": lambda t: f"{t:%A}",
            "month": lambda t: t.month,
            "date": lambda t: f"{t:%Y-%m-%d}",
        }
        for key in sorted(keys):
            columns[key] = [parts[key](t) for t in times] * sequences
    return pyarrow.table(columns)


def _moment(microseconds: float, timezone: str | None) -> datetime:
    from datetime import UTC
    from zoneinfo import ZoneInfo

    zone: ZoneInfo | Any = UTC if timezone is None else ZoneInfo(timezone)
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).astimezone(
        zone
    )
