"""The report of a published series: what every record passed through, and what that promises."""

from __future__ import annotations

from html import escape

from corrdp.report.html import listing, paragraph, table
from corrdp.report.sections import (
    adequacy_section,
    bounds_section,
    model_section,
    records_section,
)
from corrdp.report.sheet import page
from corrdp.report.words import does_not_protect, promise, protects
from corrdp.results.series import SeriesCalibration


def render_series(calibration: SeriesCalibration) -> str:
    """The report as HTML text, for the steward: it holds the numbers of the model.

    Parameters
    ----------
    calibration : SeriesCalibration
    """
    leak, model = calibration.leakage, calibration.model
    parts = [
        "<h1>A published series, each record by randomized response</h1>",
        f'<p class="promise">{escape(promise(calibration.epsilon, calibration.target))}</p>',
        adequacy_section(calibration.adequacy, calibration.confidence, public=False),
        _mechanism(calibration),
        model_section(model),
        records_section(leak),
        bounds_section(leak),
        f"<h2>Assumptions</h2>{listing(calibration.assumptions)}",
        "<h2>What this series protects and what it does not</h2>",
        paragraph("It protects:") + listing(protects(model)),
        paragraph("It does not protect:") + listing(does_not_protect(model)),
        "<h2>Certificate, and how to check it</h2>",
        paragraph(f"{leak.certificate.name}: {leak.certificate.reference}"),
        paragraph(f"It holds for {leak.scope}."),
        paragraph("The model file must carry this digest:"),
        f"<p><code>{escape(model.digest)}</code></p>",
    ]
    return page("corrdp: a published series", "\n".join(parts))


def _mechanism(calibration: SeriesCalibration) -> str:
    channel = calibration.mechanism.channel()
    names = [str(state) for state in calibration.model.states]
    rows = (
        ((name, *(f"{p:.6f}" for p in row)), False)
        for name, row in zip(names, channel, strict=True)
    )
    wrong = (
        f"{100 * calibration.distortion:.3g} % of the reports are expected to be wrong. Lies are "
        "drawn from the operating system's cryptographic generator, each record by itself. The "
        "rates are public, and anyone who uses the series needs them: counts are estimated "
        "without bias by sanitized.estimate()."
    )
    return (
        "<h2>How a record is reported</h2>"
        + paragraph(f"{calibration.mechanism}")
        + table(("record \\ report", *names), rows, "wide tight")
        + paragraph(wrong)
    )
