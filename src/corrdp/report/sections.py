"""Sections that every report has: the model, the bounds, the leakage along the records."""

from __future__ import annotations

from typing import Any

from corrdp.report.dependence import shown
from corrdp.report.figures import draw_candidates, draw_per_record
from corrdp.report.html import figure, paragraph, table
from corrdp.report.words import FIT_NOTE
from corrdp.results import Leakage


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
