"""Sections that every report has: the model, the bounds, the leakage along the records."""

from __future__ import annotations

from typing import Any

from corrdp.models.chains.alternatives import MIN_SEEN
from corrdp.plots.results import draw_candidates, draw_per_record
from corrdp.report.dependence import shown
from corrdp.report.html import figure, paragraph, table
from corrdp.report.words import FIT_NOTE
from corrdp.results import Leakage
from corrdp.results.adequacy import CLOSE, Adequacy


def model_section(model: Any) -> str:
    """The model as a picture, with its numbers for the steward."""
    parts = ["<h2>How the records depend on each other</h2>", paragraph(f"{model.describe()}.")]
    found = shown(model)
    if found.picture is not None:
        parts.append(figure(found.picture, "model", found.title))
    if found.rows:
        parts.append(table(found.head, ((row, False) for row in found.rows), "wide tight"))
    parts += [paragraph(text, "quiet") for text in found.facts]
    if model.fitted is not None:
        parts.append(paragraph(FIT_NOTE))
    return "".join(parts)


def adequacy_section(adequacy: Adequacy | None, confidence: float | None, *, public: bool) -> str:
    """How the promise fares under richer models, next to the number; in red where that matters."""
    if adequacy is None:
        return ""
    shown = adequacy.public if public else adequacy
    kind = "against" if adequacy.against else ""
    parts = [paragraph(text, kind) for text in map(_sentence, shown.lines)]
    if not parts:
        parts.append(
            paragraph(_sentence(adequacy.note or "no richer model can be fitted"), "quiet")
        )
    parts.append(paragraph(_sentence(in_words_of(confidence)), "quiet"))
    if public or not adequacy.alternatives:
        return "".join(parts)
    head = ("richer model", "epsilon", "noise", "leaks at first", "test", "rows pooled", "by")
    rows = [
        (
            (
                a.name,
                *("" if x is None else f"{x:.4g}" for x in (a.epsilon, a.scale, a.leakage)),
                a.p or "not tested",
                f"{a.pooled} of {a.rows}" if a.rows else "",
                a.reason if a.epsilon is None else by_words(a.confidence),
            ),
            a.rejected and not adequacy.is_close(a),
        )
        for a in adequacy.alternatives
    ]
    told = (
        f"By the chosen model alone epsilon would be {adequacy.epsilon:.4g}; the fourth column is "
        f"what that leaks under each richer model. Up to {CLOSE:.0%} more counts as the same. A "
        f"row seen fewer than {MIN_SEEN} times is taken from the chosen model. P-values are "
        "corrected for being asked together (Holm); they alone decide nothing."
    )
    return "".join([*parts, table(head, rows), paragraph(told, "quiet")])


def by_words(confidence: float | None) -> str:
    """By which numbers of a richer model it was priced."""
    return "its fitted numbers" if confidence is None else f"its {confidence:g} region"


def in_words_of(confidence: float | None) -> str:
    """How sure of a fitted model a promise is."""
    if confidence is None:
        return "the fitted numbers are taken as exact: no confidence region"
    return f"for every kernel that the data allow at joint confidence {confidence:g}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def records_section(leak: Leakage) -> str:
    """Leakage along the records."""
    drawn = figure(draw_per_record(leak), "records", "Leakage along the records")
    text = "What the release can give away about each record, at most."
    return f"<h2>Leakage per record</h2>{paragraph(text)}{drawn}"


def bounds_section(leak: Leakage) -> str:
    """All bounds side by side, as a picture and as a table."""
    ordered = sorted(leak.candidates, key=lambda c: (c.value is None, c.value or 0))
    head = ("bound", "leakage", "why it does not apply")
    width = 3 if any(c.reason for c in ordered) else 2
    rows = [
        (
            (c.method, "" if c.value is None else f"{c.value:.6g}", c.reason)[:width],
            c.value is not None and c.value == leak.value,
        )
        for c in ordered
    ]
    text = (
        f"What epsilon = {leak.epsilon:.6g} leaks on these records according to every bound "
        f"that was tried. The smallest is {leak.value:.6g} ({leak.kind})."
    )
    drawn = figure(draw_candidates(leak), "bounds", "All bounds side by side")
    witness = "" if leak.witness is None else paragraph(f"Worst case: {leak.witness}.", "quiet")
    listed = table(head[:width], rows)
    return f"<h2>All bounds side by side</h2>{paragraph(text)}{drawn}{listed}{witness}"
