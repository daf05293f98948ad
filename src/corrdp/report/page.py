"""The report of a release: one HTML file that a data steward can read, keep and sign.

:func:`write_report` writes the whole story; with ``public=True`` everything that was learned
from the private data stays out, apart from the levels without which the number is of no use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from corrdp.errors import InputError
from corrdp.report.diagrams import draw_blocks, draw_chain
from corrdp.report.figures import draw_candidates, draw_noise, draw_per_record
from corrdp.report.sheet import page
from corrdp.report.svg import inline_svg
from corrdp.report.words import (
    DOES_NOT_PROTECT,
    FIT_NOTE,
    MODEL_KINDS,
    PROTECTS,
    PUBLIC_NOTE,
    in_words,
    moment,
    number,
    promise,
    public_assumptions,
)
from corrdp.report.writing import write_files
from corrdp.results import Calibration, Leakage, Release

_SHOWN_STATES = 12  # a larger kernel is shown as a picture only


def write_report(
    path: str | Path,
    result: Release | Calibration,
    model: Any,
    *,
    calibration: Calibration | None = None,
    public: bool = False,
) -> None:
    """Write the HTML report of a release, or of a release to be made.

    Parameters
    ----------
    path : str or Path
        Where to write; the file appears whole or not at all.
    result : Release or Calibration
    model : Model
        The model of dependence that the promise rests on.
    calibration : Calibration, optional
        The one the release was drawn from; worked out again when left out.
    public : bool
        Leave out what was fitted from the private data: transition numbers, the picture, counts,
        standard errors, bounds, leakage per record and digests.
    """
    text = render_report(result, model, calibration=calibration, public=public)
    write_files({Path(path): text})


def render_report(
    result: Release | Calibration,
    model: Any,
    *,
    calibration: Calibration | None = None,
    public: bool = False,
) -> str:
    """The report as HTML text; see :func:`write_report`."""
    release = result if isinstance(result, Release) else None
    if calibration is None:
        calibration = result if isinstance(result, Calibration) else _again(result, model)
    if calibration.leakage.digest and calibration.leakage.digest != model.digest:
        raise InputError("this result was made with another model: its digest differs")
    story = _Story(release, calibration, model, _all_bounds(calibration), public)
    title = in_words(calibration.query)
    parts = [
        f"<h1>{escape(title[0].upper() + title[1:])}</h1>",
        story.answer(),
        story.levels(),
        story.dependence(),
        story.per_record(),
        story.bounds(),
        story.noise(),
        story.assumptions(),
        story.reach(),
        story.certificate(),
    ]
    return page(f"corrdp: {title}", "\n".join(part for part in parts if part))


def _again(release: Release, model: Any) -> Calibration:
    """The calibration behind a release that was read from a file."""
    from corrdp.queries import query_from_dict

    if release.digest != model.digest:
        raise InputError("this release was made with another model: its digest differs")
    query = query_from_dict(release.query)
    proof = _compare(model, query, release.epsilon, release.scope)
    return Calibration(release.target, release.epsilon, proof, query, model)


def _all_bounds(calibration: Calibration) -> Leakage:
    """The proof of a calibration; by one named bound, the others are worked out beside it."""
    proof = calibration.leakage
    if len(proof.candidates) > 1:
        return proof
    return _compare(calibration.model, calibration.query, calibration.epsilon, proof.scope)


def _compare(model: Any, query: Any, epsilon: float, scope: str) -> Leakage:
    """Every bound within the scope of a promise."""
    from corrdp.bounds.dispatch import leakage
    from corrdp.bounds.scopes import EACH_RECORD, EVERY_MECHANISM
    from corrdp.calibration import guarantee_of

    if scope in (EVERY_MECHANISM, EACH_RECORD):
        return leakage(model, guarantee_of(model, query, epsilon))
    return leakage(model, epsilon, query=query)


def _paragraph(text: str, kind: str = "") -> str:
    mark = f' class="{kind}"' if kind else ""
    return f"<p{mark}>{escape(text)}</p>"


def _listing(texts: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def _table(
    head: Iterable[str], rows: Iterable[tuple[Iterable[str], bool]], kind: str = "wide"
) -> str:
    """A table whose cells are escaped; the flag of a row sets it in bold."""
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr{' class=best' if best else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for cells, best in rows
    )
    return f'<div class="{kind}"><table><tr>{top}</tr>{body}</table></div>'


def _figure(ax: Any, name: str, title: str) -> str:
    return f"<figure>{inline_svg(ax, name, title)}</figure>"


@dataclass(frozen=True)
class _Story:
    """The sections of one report, in the order in which they are read."""

    release: Release | None
    calibration: Calibration
    model: Any
    compared: Leakage
    public: bool

    def answer(self) -> str:
        """The number and its interval, or what would be released."""
        if self.release is None:
            return _paragraph("Not released yet: no answer was read and no noise drawn.", "quiet")
        release = self.release
        read = f" It reads {release.reads}." if release.reads else ""
        when = f"Released {moment(release.made)}." if release.made else ""
        made = _paragraph(f"{when}{read}", "quiet") if when or read else ""

        def shown(value: float) -> str:
            return number(value, release.scale, release.grid)

        pairs = release.interval(0.95)
        if isinstance(release.value, list):
            names = [str(c) for c in self.calibration.query.categories]
            rows = [
                ((name, shown(value), f"{shown(low)} to {shown(high)}"), False)
                for name, value, (low, high) in zip(names, release.value, pairs, strict=True)
            ]
            head = ("category", "noisy count", "95 % interval (all at once)")
            return _table(head, rows) + made
        low, high = (shown(edge) for edge in pairs)
        return (
            _paragraph(shown(release.value), "answer")
            + _paragraph(f"The true answer lies between {low} and {high} with probability 95 %.")
            + made
        )

    def levels(self) -> str:
        """What was promised."""
        text = promise(self.calibration.epsilon, self.calibration.target)
        note = _paragraph(PUBLIC_NOTE, "quiet") if self.public else ""
        return f'<p class="promise">{escape(text)}</p>{note}'

    def dependence(self) -> str:
        """The model as a picture, with its numbers for the steward."""
        parts = ["<h2>How the records depend on each other</h2>"]
        if self.public:
            kind = MODEL_KINDS.get(self.model.kind, self.model.kind)
            return parts[0] + _paragraph(f"The model is {kind}. Its numbers are not published.")
        parts.append(_paragraph(f"{self.model.describe()}."))
        if self.model.kind == "markov":
            title = "States and transitions; thicker arrows are more likely"
            parts.append(_figure(draw_chain(self.model), "model", title))
            parts.append(self._kernel())
        elif self.model.kind == "window":
            title = "Windows of consecutive records and their transitions"
            parts.append(_figure(draw_chain(self.model.by_window), "model", title))
        elif self.model.kind in ("groups", "independent"):
            size = self.model.m if self.model.kind == "groups" else 1
            parts.append(_figure(draw_blocks(size), "model", "Records and their blocks"))
        return "".join(parts)

    def _kernel(self) -> str:
        chain, fit = self.model, self.model.fitted
        parts = []
        if chain.homogeneous and len(chain.states) <= _SHOWN_STATES:
            errors = None if fit is None else fit.standard_errors
            rows = []
            for i, state in enumerate(chain.states):
                cells = [f"{p:.4f}" for p in chain.transition[i]]
                if errors is not None:
                    cells = [f"{c} ± {e:.4f}" for c, e in zip(cells, errors[i], strict=True)]
                rows.append(((str(state), *cells), False))
            parts.append(
                _table(("from \\ to", *(str(s) for s in chain.states)), rows, "wide tight")
            )
        parts.append(_paragraph(f"Birkhoff diameter {chain.diameter:.6g}.", "quiet"))
        if fit is not None:
            counted = (
                f"Learned from {fit.rows:,} rows. Sequences: {fit.sequences:,}, the longest of "
                f"{fit.longest:,} steps. Missing values: {fit.missing:,}. Breaks in time: "
                f"{fit.breaks:,}."
            )
            parts += [_paragraph(counted, "quiet"), _paragraph(FIT_NOTE)]
        return "".join(parts)

    def per_record(self) -> str:
        """Leakage along the records."""
        if self.public:
            return ""
        figure = _figure(draw_per_record(self.compared), "records", "Leakage along the records")
        text = "What the release can give away about each record, at most."
        return f"<h2>Leakage per record</h2>{_paragraph(text)}{figure}"

    def bounds(self) -> str:
        """All bounds side by side, as a picture and as a table."""
        leak = self.compared
        if self.public:
            return ""
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
        figure = _figure(draw_candidates(leak), "bounds", "All bounds side by side")
        table = _table(head[:width], rows)
        witness = (
            "" if leak.witness is None else _paragraph(f"Worst case: {leak.witness}.", "quiet")
        )
        return f"<h2>All bounds side by side</h2>{_paragraph(text)}{figure}{table}{witness}"

    def noise(self) -> str:
        """Noise and expected error."""
        cal = self.calibration
        what = "largest error of a cell" if cal.query.cells > 1 else "error"
        text = (
            f"Discrete Laplace noise of scale {cal.scale:.6g}, drawn by OpenDP. The {what} "
            f"is below {cal.error(0.05):,.6g} in 95 % of releases."
        )
        figure = _figure(draw_noise(cal), "noise", "Law of the noise around the true answer")
        return f"<h2>Noise and expected error</h2>{_paragraph(text)}{figure}"

    def assumptions(self) -> str:
        """What the promise rests on."""
        said = list(self.calibration.assumptions)
        if self.release is not None:
            said += [text for text in self.release.assumptions if text not in said]
        if self.public:
            said = public_assumptions(self.model, said)
        return f"<h2>Assumptions</h2>{_listing(said)}"

    def reach(self) -> str:
        """What the number protects, and what not."""
        return (
            "<h2>What this number protects and what it does not</h2>"
            + _paragraph("It protects:")
            + _listing(PROTECTS)
            + _paragraph("It does not protect:")
            + _listing(DOES_NOT_PROTECT)
        )

    def certificate(self) -> str:
        """The theorem, and how to check it."""
        cal = self.calibration
        proof = cal.leakage if self.release is None else self.release
        steps = f"{cal.query.sensitivity:.6g}"
        parts = [
            "<h2>Certificate, and how to check it</h2>",
            _paragraph(f"{proof.certificate.name}: {proof.certificate.reference}"),
            _paragraph(f"It holds for {proof.scope}."),
            _paragraph(
                f"The noise is epsilon-DP because one changed record moves the answer by at most "
                f"{steps}, and {steps} / {cal.scale!r} is at most {cal.epsilon!r}."
            ),
        ]
        if self.public:
            text = "The steward holds the full report and the model, and can have them checked."
            return "".join([*parts, _paragraph(text)])
        call = (
            f"corrdp.calibrate(corrdp.load_model('model.json'), epsilon={cal.epsilon!r}, "
            f"query=corrdp.{cal.query!r}, method={proof.certificate.name!r})"
        )
        parts += [
            _paragraph(f"In Python, the following must give a target of at most {cal.target:.9g}:"),
            f"<p><code>{escape(call)}</code></p>",
            _paragraph("The model file must carry this digest:"),
            f"<p><code>{escape(self.model.digest)}</code></p>",
        ]
        return "".join(parts)
