"""The reports of an audit and of probes: the verdict, every attack, what was taken for granted."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from corrdp import __version__
from corrdp.attacks.base import LEVEL
from corrdp.auditing.results import ANY, Audit, Test
from corrdp.plots import axes_or_new
from corrdp.plots.results import draw_probes
from corrdp.report.frame import figure, listing, page, paragraph, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.trajectories.probes.results import Probes

HEAD = ("test", "epsilon", "at least", "at most", "runs", "holds for")
_MEANS = {
    "violated": "a lower limit lies above the claim, or a theorem does. Up to the confidence this "
    "is a proof, for any mechanism if the test says so, else for the family of mechanisms named.",
    "holds": "no attack tried shows more than 5 % above the claim, with runs that could have shown "
    "it, in events as large as is said. It is no proof: another attack, rarer events, or inputs "
    "that were not tried, may show more.",
    "undecided": "the limits are too wide to say that the claim holds, or that it does not.",
}


def verdict_in_words(audit: Audit) -> str:
    """The verdict as a sentence or two.

    Parameters
    ----------
    audit : Audit

    Examples
    --------
    >>> from corrdp.guarantees import Pure
    >>> seen = Test("pair", "two inputs", 1.4, 1.3, 1.5, True, 1000)
    >>> found = Audit(1.4, (1.3, 1.5), "violated", Pure(1.0), "two inputs", (seen,), 1000, None,
    ...               .99, .1, (), "a callable")
    >>> print(verdict_in_words(found))
    VIOLATED: epsilon is at least 1.3, and epsilon = 1 is claimed (confidence 99 %).
    """
    claim, low, high = claim_in_words(audit), *audit.interval
    sure = f"(confidence {100 * audit.confidence:.6g} %)"
    early = f" The audit was stopped after {audit.runs:,} run{_s(audit.runs)}."
    early = "" if audit.complete else early
    shown = f"the best attack shows {audit.estimate:.4g}, with limits {low:.4g} to {high:.4g}"
    unseen = f" {audit.unseen[0].upper()}{audit.unseen[1:]}." if audit.unseen else ""
    if audit.verdict == "holds":
        what = "" if audit.scope == ANY else f" for {audit.scope}"
        return (
            f"HOLDS{what}, as far as these attacks can tell: {claim} is claimed, and no attack "
            f"tried shows more than {high:.4g} {sure}.{unseen}{early}"
        )
    if audit.verdict == "undecided":
        more = (
            "More runs alone will not decide."
            if audit.runs_needed is None
            else f"About {audit.runs_needed:,} runs may decide."
        )
        return (
            f"UNDECIDED: {audit.runs:,} run{_s(audit.runs)} cannot tell whether {claim} holds; "
            f"{shown} {sure}.{unseen} {more}{early}"
        )
    if audit.scope != ANY:
        least = max(test.low for test in audit.tests if not test.sound)
        return (
            f"VIOLATED for {audit.scope}: if it belongs to that family, epsilon is at least "
            f"{least:.4g}, and {claim} is claimed {sure}. No attack that holds for any mechanism "
            f"shows more than is claimed.{early}"
        )
    if low <= audit.epsilon:  # a theorem says so, and the first note which
        return f"VIOLATED: {claim} is claimed, and {audit.notes[0]}.{early}"
    return (
        f"VIOLATED: {audit.measures} is at least {low:.4g}, and {claim} is claimed {sure}.{early}"
    )


def event_in_words(audit: Audit) -> str:
    """The event by which a violation shows; empty where no run shows one."""
    above = [test for test in audit.tests if test.low > audit.epsilon]
    if audit.verdict != "violated" or not above:
        return ""
    most = max(above, key=lambda test: (test.sound, test.low))
    return f"What shows it: {most.statement} ({most.name}, at least {most.low:.4g})."


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def claim_in_words(audit: Audit) -> str:
    """The claim in numbers: epsilon, and delta where there is one."""
    return f"{audit.measures} = {audit.epsilon:g}" + (
        f" with delta = {audit.delta:g}" if audit.delta else ""
    )


def evidence_rows(audit: Audit) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Cells of the table of tests, as in :data:`HEAD`; the flag marks those above the claim."""
    for test in audit.tests:
        yield _cells(test), test.low > audit.epsilon


def _cells(test: Test) -> tuple[str, ...]:
    numbers = (f"{number:.4g}" for number in (test.estimate, test.low, test.high))
    return test.name, *numbers, f"{test.runs:,}", "any mechanism" if test.sound else "its family"


def draw_audit(audit: Audit) -> Axes:
    """Claimed and measured epsilon, in the look of the report."""
    axes = audit.plot(axes_or_new(None, 0.9 + 0.4 * len(audit.tests)))
    axes.set_xlabel(f"{audit.measures} (dashed: claimed; grey: within its family)", fontsize=9)
    return axes


def facts(audit: Audit) -> list[tuple[str, str]]:
    """What was audited and how, as names and values."""
    rows = [
        ("mechanism", audit.mechanism),
        ("claim", claim_in_words(audit)),
        ("attack", audit.attack),
        ("verdict for", audit.scope),
        ("runs", f"{audit.runs:,} in {audit.seconds:.3g} s"),
        ("confidence", f"{audit.confidence:.6g}, of all limits together"),
    ]
    if audit.upper is not None and audit.upper < audit.interval[0]:
        rows.append(("guarantee", f"at most {audit.upper:.4g} by its own word, which is refuted"))
    elif audit.upper is not None:
        rows.append(("proved", f"at most {audit.upper:.4g}, from the guarantee of the mechanism"))
    if audit.unseen:
        rows.append(("unseen", audit.unseen))
    return rows + [("note", text) for text in audit.notes]


def render_audit(audit: Audit) -> str:
    """The report as HTML text: one file, nothing fetched from anywhere.

    Parameters
    ----------
    audit : Audit

    Examples
    --------
    >>> from corrdp.guarantees import Pure
    >>> seen = Test("pair", "two inputs", 1.4, 1.3, 1.5, True, 1000)
    >>> found = Audit(1.4, (1.3, 1.5), "violated", Pure(1.0), "two inputs", (seen,), 1000, None,
    ...               .99, .1, (), "a <callable>")
    >>> "a &lt;callable&gt;" in render_audit(found)
    True
    """
    picture = figure(draw_audit(audit), "audit", "epsilon measured by each test, and the claim")
    stated = [f"{test.name}: {test.statement}" for test in audit.tests]
    against = " against" if audit.verdict == "violated" else ""
    parts = [
        "<h1>Audit: does this mechanism keep its promise?</h1>",
        f'<p class="promise{against}">{escape(verdict_in_words(audit))}</p>',
        paragraph(event) if (event := event_in_words(audit)) else "",
        f"<h2>Claimed and measured</h2>{picture}",
        table(HEAD, evidence_rows(audit), "wide tight"),
        listing(stated),
        "<h2>What was audited</h2>" + table(("", ""), ((row, False) for row in facts(audit))),
        f"<h2>Assumptions</h2>{listing(audit.assumptions)}",
        "<h2>What the verdict means</h2>" + paragraph(f"{audit.verdict}: {_MEANS[audit.verdict]}"),
    ]
    return page("corrdp: audit", "\n".join(parts))


PROBES_HEAD = ("probe", "release", f"{LEVEL:.0%} interval", "without it", "original", "cases")


def probe_rows(found: Probes) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Cells of the table; the flag says that the release certainly helps."""
    for one in found.probes:
        low, high = one.interval
        ends = "all counted" if low == high else f"{low:.4f} to {high:.4f}"
        shares = (f"{share:.4f}" for share in (one.baseline, one.original))
        yield (one.name, f"{one.success:.4f}", ends, *shares, f"{one.trials:,}"), one.gains


def render_probes(found: Probes) -> str:
    """The whole report as one HTML page.

    Examples
    --------
    >>> from corrdp.trajectories.probes.results import Probe, Probes
    >>> one = Probe("home", .5, (.1, .9), .01, 1.0, 2, "told of 1 of 2 users")
    >>> render_probes(Probes("a release", (one,), (), None, ("times are public",))).count("<h2>")
    3
    """
    helped = [one.name for one in found.probes if one.gains]
    verdict = (
        f"These attacks do better with the release than without: {', '.join(helped)}."
        if helped
        else "No attack that was run does certainly better with the release than without."
    )
    parts = [
        "<h1>What a release of movements gives away</h1>",
        paragraph(f"{found.release[0].upper()}{found.release[1:]}."),
        paragraph(verdict, "promise"),
        paragraph("This page was made from the private data: keep it as private as they are."),
        "<h2>Attacks</h2>",
        figure(draw_probes(found), "probes", "success of each attack"),
        table(PROBES_HEAD, probe_rows(found)),
        "<h2>What they mean</h2>",
        listing(f"{one.name}: {one.meaning}." for one in found.probes),
        listing(f"{name} was not run: {why}." for name, why in found.skipped),
        "<h2>Assumptions</h2>",
        listing(found.assumptions),
        paragraph(f"corrdp {__version__}", "quiet"),
    ]
    return page("What a release of movements gives away", "\n".join(parts))
