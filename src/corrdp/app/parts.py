"""What every step is made of: its frame, lists of facts, tables, folded parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from shiny import ui

_CODE = re.compile(r"\s*\((?:[^()]*(?:--|\w=[\w']|docs/)[^()]*|timezone)\)")
_SHORT = 60  # letters that a fact has in a column of its own
_BEGUN = re.compile(r"(?<=[a-z)]\. )[a-z]")  # after a full stop
_TYPED = (  # what is typed elsewhere, and what is done on this page instead
    (re.compile(r"\bfit order=(\d+)"), r"let it depend on \1 rows back"),
    (re.compile(r"\bfit season='(\w+)'"), r"let it differ by \1"),
    (re.compile(r"\bcalibrate prices\b"), "the noise allows for"),
)


def plain(text: str) -> str:
    """What the library says, without the hints for those who type.

    Examples
    --------
    >>> plain("one kernel may do (--season hour); name it (timezone)")
    'one kernel may do; name it'
    >>> plain("calibrate prices both; or fit order=2 (--markov-order 2), fit season='hour'")
    'the noise allows for both; or let it depend on 2 rows back, let it differ by hour'
    """
    text = _CODE.sub("", text)
    for typed, said in _TYPED:
        text = typed.sub(said, text)
    return _BEGUN.sub(lambda found: found[0].upper(), text)


def sentence(text: str) -> str:
    """What the library says, as a sentence.

    Examples
    --------
    >>> sentence("one kernel may do (--season hour)")
    'One kernel may do.'
    """
    text = plain(text).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."


def step(number: int, name: str, title: str, sentence: str, *body: Any) -> ui.Tag:
    """One step: its number, its title, one sentence, and what there is to do."""
    return ui.tags.section(
        ui.div(
            ui.span(str(number), class_="number", aria_hidden="true"),
            ui.h2(title, id=f"{name}-title"),
            class_="step-head",
        ),
        ui.p(sentence, class_="sentence"),
        *body,
        id=name,
        class_="step",
        aria_labelledby=f"{name}-title",
    )


def columns(controls: Sequence[Any], seen: Sequence[Any]) -> ui.Tag:
    """What is chosen on the left, what comes of it on the right; one below the other if narrow."""
    return ui.div(ui.div(*controls, class_="controls"), ui.div(*seen, class_="seen"), class_="two")


def facts(pairs: Iterable[tuple[str, str]]) -> ui.Tag:
    """Names and what they are."""
    return ui.tags.dl(
        *(
            ui.div(
                ui.tags.dt(name),
                ui.tags.dd(plain(value)),
                class_="long alarm"
                if name == "Warning"
                else "long"
                if len(value) > _SHORT
                else None,
            )
            for name, value in pairs
        ),
        class_="facts",
    )


def grid(head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str) -> ui.Tag:
    """A table that scrolls inside itself where it is too wide."""
    return ui.div(
        ui.tags.table(
            ui.tags.caption(caption, class_="visually-hidden"),
            ui.tags.thead(ui.tags.tr(*(ui.tags.th(name, scope="col") for name in head))),
            ui.tags.tbody(*(ui.tags.tr(*(ui.tags.td(str(cell)) for cell in row)) for row in rows)),
        ),
        class_="grid",
        tabindex="0",
        role="region",
        aria_label=caption,
    )


def fold(title: str, *body: Any) -> ui.Tag:
    """A part that opens on a click."""
    return ui.tags.details(ui.tags.summary(title), ui.div(*body, class_="folded"))


def against(title: str, texts: Sequence[str]) -> ui.Tag | None:
    """What the data contradict, in red."""
    if not texts:
        return None
    return ui.div(
        ui.p(title), ui.tags.ul(*(ui.tags.li(sentence(text)) for text in texts)), class_="against"
    )


def picture(svg: str, caption: str = "", *, pair: bool = False) -> ui.Tag | None:
    """A drawn picture, or two side by side, with a line below."""
    if not svg:
        return None
    below = ui.tags.figcaption(caption) if caption else None
    return ui.tags.figure(ui.HTML(svg), below, class_="pair" if pair else None)


def row(*fields: Any) -> ui.Tag:
    """Fields side by side, as far as there is room."""
    return ui.div(*fields, class_="fields")


def waiting(text: str) -> ui.Tag:
    """What has to be done first."""
    return ui.p(text, class_="waiting")
