"""The reports of a release and of a published series: one HTML file to read, keep and sign.

:func:`write_report` writes the whole story; with ``public=True`` everything that was learned
from the private data stays out, apart from the levels without which the number is of no use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from corrdp._checks import check_flag, check_kind, check_path
from corrdp._files import refuse_overwriting, write_files
from corrdp.bounds.leakage import Leakage
from corrdp.calibration.number import Calibration
from corrdp.calibration.robustness import NOT_CONSIDERED
from corrdp.calibration.searching import check_told_levels
from corrdp.calibration.series import SeriesCalibration
from corrdp.errors import InputError
from corrdp.mechanisms.response import BinaryResponse, CorrelatedResponse
from corrdp.mechanisms.withholding import WithholdingResponse
from corrdp.models.base import Model
from corrdp.plots.cells import draw_release
from corrdp.plots.results import draw_noise
from corrdp.queries import Histogram, query_from_dict
from corrdp.release.number import Release
from corrdp.report.cells import cells_section
from corrdp.report.dependence import (
    adequacy_section,
    bounds_section,
    model_section,
    records_section,
)
from corrdp.report.frame import figure, listing, page, paragraph, table
from corrdp.report.words import (
    MODEL_KINDS,
    PUBLIC_NOTE,
    category_names,
    cost_in_words,
    does_not_protect,
    drowned_in_words,
    exact_in_words,
    faint_in_words,
    in_words,
    moment,
    number,
    promise,
    promise_in_one,
    proof_section,
    protects,
    public_assumptions,
)

if TYPE_CHECKING:
    from corrdp.partial.releasing import PartialRelease

NO_NOISE = "none: what the attacker does not know is noise enough, if the assumptions hold"


def write_report(
    path: str | Path,
    result: Release | Calibration,
    model: Model,
    *,
    calibration: Calibration | None = None,
    public: bool = False,
    overwrite: bool = False,
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
        The one the release was drawn from. Left out, a release that was read from a file has its
        bounds worked out again.
    public : bool
        Leave out what was fitted from the private data: transition numbers, the picture, counts,
        standard errors, bounds, leakage per record and digests.
    overwrite : bool
        Write over a file that exists; without that it is an error. A ledger is never written over.
    """
    place = Path(check_path("path", path))
    refuse_overwriting(place, overwrite=check_flag("overwrite", overwrite))
    write_files({place: render_report(result, model, calibration=calibration, public=public)})


def render_report(
    result: Release | Calibration,
    model: Model,
    *,
    calibration: Calibration | None = None,
    public: bool = False,
) -> str:
    """The report as HTML text; see :func:`write_report`."""
    check_kind("result", result, (Release, Calibration), "a Release or a Calibration")
    check_kind("model", model, Model, "the dependence model of the result")
    check_flag("public", public)
    release = result if isinstance(result, Release) else None
    if calibration is None:
        calibration = result if isinstance(result, Calibration) else _again(result, model)
    if calibration.leakage.digest and calibration.leakage.digest != model.digest:
        raise InputError("this result was made with another model: its digest differs")
    if public:
        told = calibration.epsilon, calibration.target, calibration.worst_leakage
        check_told_levels(model, *told, calibration.sigma)
    compared = calibration.leakage if public else _all_bounds(calibration)
    story = _Story(release, calibration, model, compared, public)
    title = in_words(calibration.query, model)
    parts = [
        f"<h1>{escape(title[0].upper() + title[1:])}</h1>",
        story.chart(),
        story.promise(),
        story.answer(),
        story.levels(),
        adequacy_section(calibration.adequacy, calibration.confidence, public=public),
        story.dependence(),
        story.per_record(),
        story.bounds(),
        story.noise(),
        story.assumptions(),
        story.reach(),
        story.certificate(),
    ]
    return page(f"corrdp: {title}", "\n".join(part for part in parts if part))


def _asked(calibration: Calibration) -> str:
    """The further arguments of ``calibrate`` that made a promise from a fit."""
    adequacy = calibration.adequacy
    if calibration.model.fitted is None:
        return ""
    said = f", confidence={calibration.confidence!r}"
    if adequacy is None:
        return said
    if adequacy.accepted:
        said += f", accept={adequacy.accepted!r}"
    return said if adequacy.note != NOT_CONSIDERED else f"{said}, robust=False"


def _why_private(calibration: Calibration) -> str:
    """Why the noise has its DP level, by hand."""
    steps, scale = f"{calibration.query.sensitivity:.6g}", calibration.scale
    if calibration.sigma is None:
        return (
            f"The noise is epsilon-DP because one changed record moves the answer by at most "
            f"{steps}, and {steps} / {scale!r} is at most {calibration.epsilon!r}."
        )
    booked = calibration.mechanism.guarantee
    return (
        f"One changed record moves the answer by at most {steps} (in a histogram two cells by 1 "
        f"each); discrete Gaussian noise of sigma {scale!r} is then booked as {booked!r}, a little "
        "more than continuous noise would be."
    )


_WHY_RUNNING = (
    "A day's answer counts some of the days before it as well, with factors that are public. All "
    "answers in which one record counts have the DP level together, up to the last day of the "
    "horizon: their noise is larger than that of one count by as much."
)


def _again(release: Release, model: Model) -> Calibration:
    """The calibration behind a release; one that was read from a file is worked out again."""
    if release.digest != model.digest:
        raise InputError("this release was made with another model: its digest differs")
    query = query_from_dict(release.query)
    proof = release.compared
    made = Calibration(
        release.target,
        release.epsilon,
        Leakage(
            release.leakage, "upper bound", release.certificate, release.scope, release.epsilon
        ),
        query,
        model,
        release.confidence,
        release.adequacy,
        release.sigma,
        release.delta,
        release.unit,
    )
    return replace(made, leakage=_compare(made) if proof is None else proof)


def _all_bounds(calibration: Calibration) -> Leakage:
    """The proof of a calibration; by one named bound, the others are worked out beside it."""
    proof = calibration.leakage
    if len(proof.candidates) > 1:
        return proof
    return _compare(calibration)


def _compare(cal: Calibration) -> Leakage:
    """Every bound within the scope of a promise."""
    from corrdp.bounds.leakage import leakage
    from corrdp.bounds.scope import FOR_ALL

    if cal.leakage.scope in FOR_ALL:
        return leakage(
            cal.model, cal.guarantee, delta=cal.delta, unit=cal.unit, confidence=cal.confidence
        )
    return leakage(cal.model, cal.epsilon, query=cal.query, confidence=cal.confidence)


@dataclass(frozen=True)
class _Story:
    """The sections of one report, in the order in which they are read."""

    release: Release | None
    calibration: Calibration
    model: Model
    compared: Leakage
    public: bool

    def chart(self) -> str:
        """The answer as a picture, or what would be released."""
        if self.release is None:
            return paragraph("Not released yet: no answer was read and no noise drawn.", "quiet")
        drawn = draw_release(self.release)[0]
        return figure(drawn, "answer", "The noisy answer with its 95 % intervals")

    def promise(self) -> str:
        """The promise in one sentence, and what dependence cost."""
        sentence = escape(promise_in_one(self.calibration))
        cost = paragraph(f"What dependence cost: {cost_in_words(self.calibration)}.")
        said = [drowned_in_words(self.calibration), exact_in_words(self.calibration)]
        if self.release is not None:
            said.append(faint_in_words(self.release))
        warning = "".join(
            paragraph(f"{text[0].upper()}{text[1:]}.", "against") for text in said if text
        )
        return f'<p class="promise">{sentence}</p>{cost}{warning}'

    def answer(self) -> str:
        """The numbers and their intervals."""
        if self.release is None:
            return ""
        release = self.release
        read = f" It reads {release.reads}." if release.reads else ""
        when = f"Released {moment(release.made)}." if release.made else ""
        made = paragraph(f"{when}{read}", "quiet") if when or read else ""

        def shown(value: float) -> str:
            return number(value, release.scale, release.grid)

        if release.tables:
            return cells_section(release) + made
        pairs = release.interval(0.95)
        if isinstance(release.value, list):
            query = self.calibration.query
            assert isinstance(query, Histogram)
            names = category_names(query, self.model)
            rows = [
                ((name, shown(value), f"{shown(low)} to {shown(high)}"), False)
                for name, value, (low, high) in zip(names, release.value, pairs, strict=True)
            ]
            head = ("category", "noisy count", "95 % interval (all at once)")
            return table(head, rows) + made
        low, high = (shown(edge) for edge in pairs)
        return (
            paragraph(shown(release.value), "answer")
            + paragraph(f"The true answer lies between {low} and {high} with probability 95 %.")
            + made
        )

    def levels(self) -> str:
        """What was promised."""
        cal = self.calibration
        text = promise(cal.epsilon, cal.target, self.model, delta=cal.delta, unit=cal.unit)
        note = paragraph(PUBLIC_NOTE, "quiet") if self.public else ""
        if self.release is not None and self.release.together and not self.public:
            # on a BDP ledger it is a leakage with all its digits: nothing for the public
            note = paragraph(f"Together with what is in the ledger: {self.release.together}.")
        return f"<h2>What is promised</h2>{paragraph(text)}{note}"

    def dependence(self) -> str:
        """The model as a picture, with its numbers for the steward."""
        if not self.public:
            return model_section(self.model)
        kind = MODEL_KINDS.get(self.model.kind, self.model.kind)
        text = paragraph(f"The model is {kind}. Its numbers are not published.")
        return f"<h2>How the records depend on each other</h2>{text}"

    def per_record(self) -> str:
        """Leakage along the records."""
        return "" if self.public else records_section(self.compared)

    def bounds(self) -> str:
        """All bounds side by side, as a picture and as a table."""
        return "" if self.public else bounds_section(self.compared)

    def noise(self) -> str:
        """Noise and expected error."""
        cal = self.calibration
        if self.release is not None and self.release.is_running:
            law = self.release.noise.replace(" of ", " noise of ", 1)
            text = f"{law[0].upper()}{law[1:]}, drawn by OpenDP. The intervals are of the totals."
            return f"<h2>Noise and expected error</h2>{paragraph(text)}"
        law = cal.noise.replace(" of ", " noise of ", 1)
        text = f"{law[0].upper()}{law[1:]}, drawn by OpenDP. Error: {cal.error_in_words}."
        drawn = figure(draw_noise(cal), "noise", "Law of the noise around the true answer")
        return f"<h2>Noise and expected error</h2>{paragraph(text)}{drawn}"

    def assumptions(self) -> str:
        """What the promise rests on."""
        said = list(self.calibration.assumptions)
        if self.release is not None:
            said += [text for text in self.release.assumptions if text not in said]
        if self.public:
            said = public_assumptions(self.model, said)
        return f"<h2>Assumptions</h2>{listing(said)}"

    def reach(self) -> str:
        """What the number protects, and what not."""
        return (
            "<h2>What this number protects and what it does not</h2>"
            + paragraph("It protects:")
            + listing(protects(self.model, self.calibration.unit))
            + paragraph("It does not protect:")
            + listing(does_not_protect(self.model, self.calibration.unit))
        )

    def certificate(self) -> str:
        """The theorem, and how to check it."""
        cal = self.calibration
        proof = cal.leakage if self.release is None else self.release
        running = self.release is not None and self.release.is_running
        parts = [
            "<h2>Certificate, and how to check it</h2>",
            proof_section(proof.certificate),
            paragraph(f"It holds for {proof.scope}."),
            paragraph(_why_private(cal) if not running else _WHY_RUNNING),
        ]
        if self.public:
            text = "The steward holds the full report and the model, and can have them checked."
            return "".join([*parts, paragraph(text)])
        call = (
            f"corrdp.calibrate(corrdp.load_model('model.json'), epsilon={cal.epsilon!r}, "
            f"query=corrdp.{cal.query!r}, method={proof.certificate.name!r}{_asked(cal)})"
            if cal.sigma is None
            else f"corrdp.leakage(corrdp.load_model('model.json'), {cal.guarantee!r}, "
            f"delta={cal.delta!r}, unit={cal.unit!r}, "
            f"confidence={cal.confidence!r})"
        )
        parts += [
            paragraph(f"In Python, the following must give a level of at most {cal.target:.9g}:"),
            f"<p><code>{escape(call)}</code></p>",
            paragraph("The model file must carry this digest:"),
            f"<p><code>{escape(self.model.digest)}</code></p>",
        ]
        return "".join(parts)


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
        proof_section(leak.certificate),
        paragraph(f"It holds for {leak.scope}."),
        paragraph("The model file must carry this digest:"),
        f"<p><code>{escape(model.digest)}</code></p>",
    ]
    return page("corrdp: a published series", "\n".join(parts))


def _mechanism(calibration: SeriesCalibration) -> str:
    mechanism = calibration.mechanism
    told = (
        "each record by itself. The rates are public, and anyone who uses the series needs them: "
        "counts are estimated without bias by sanitized.estimate()"
    )
    if isinstance(mechanism, CorrelatedResponse):
        told = "in runs: rate0 is the chance that a lie follows a truth, rate1 that it ends"
        mechanism = BinaryResponse(mechanism.flip)
    if isinstance(mechanism, WithholdingResponse):
        told = (
            "each record by itself. A report is withheld where a tally of those before it, which "
            "anyone can keep, comes near the worst case"
        )
        mechanism = BinaryResponse(mechanism.flip)
    channel = mechanism.channel()
    names = [str(state) for state in calibration.model.states]
    rows = (
        ((name, *(f"{p:.6f}" for p in row)), False)
        for name, row in zip(names, channel, strict=True)
    )
    wrong = (
        f"{calibration.cost[0].upper()}{calibration.cost[1:]}. Lies are "
        f"drawn from the operating system's cryptographic generator, {told}."
    )
    return (
        "<h2>How a record is reported</h2>"
        + paragraph(f"{calibration.mechanism}")
        + table(("record \\ report", *names), rows, "wide tight")
        + paragraph(wrong)
    )


def render_partial(made: PartialRelease) -> str:
    """The report of a count against partial knowledge; nothing on it is private.

    Examples
    --------
    >>> from corrdp.partial import Knowledge, Noise, PartialRelease
    >>> from corrdp.results import Certificate
    >>> made = PartialRelease(41, "x > 0", Noise(2.0), .5, 1e-6, Knowledge(99, 40),
    ...                       Certificate("natural noise", "partial-knowledge#natural-noise", ()))
    >>> render_partial(made).count("<h2>")
    2
    """
    knowledge, (low, high) = made.knowledge, made.interval()
    noise = f"Gaussian noise of standard deviation {made.scale}" if made.scale.counts else NO_NOISE
    facts = [
        f"Noise: {noise}; with probability .95 the exact count is {low} to {high}.",
        f"Promise: epsilon {made.epsilon:g}, delta {made.delta:g}, for everything released.",
        f"Against: whoever knows at most {knowledge.known} of the {knowledge.n} records.",
        "Once: no other number about these records may be published.",
    ]
    if made.estimate is not None:
        facts.append(f"Released as well, to find the bias: noisy count {made.estimate.value}.")
    if made.charge is not None:
        facts.append(f"Ledger: charge {made.charge}, {made.charge_hash}; {made.together}.")
    parts = [
        "<h1>A count against partial knowledge</h1>",
        f'<p class="answer">{made.value}</p>',
        paragraph(f"records with {made.where}."),
        listing(facts),
        "<h2>Assumptions: each of them could break the promise</h2>",
        listing(made.certificate.assumptions),
        "<h2>Certificate</h2>",
        proof_section(made.certificate),
    ]
    return page("A count against partial knowledge", "\n".join(parts))
