"""Results for people (rich tables on stdout) and for programs (JSON)."""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from corrdp.bounds.registry import METHODS
from corrdp.queries import Histogram
from corrdp.report.cells import AnswerTable, answer_tables
from corrdp.report.dependence import in_words_of, richer_lines
from corrdp.report.words import (
    at_most,
    believed,
    category_names,
    cost_in_words,
    drowned_in_words,
    exact_in_words,
    faint_in_words,
    how_to_read,
    in_words,
    number,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.bounds.leakage import Leakage
    from corrdp.calibration.number import Calibration
    from corrdp.calibration.series import SeriesCalibration
    from corrdp.models.base import Model
    from corrdp.release.number import Release
    from corrdp.release.running import RunningTotals

FIRST_LINE = 2.0  # seconds of silence in a log
_SHOWN_CELLS = 40
# which assumptions matter most, by their kind: what is taken for the law of the records, ...
_LAW = re.compile(
    r"^the records (form|are)\b|at most \d+ records depend|genotypes follow|the joint law"
    r"|under different models"
)
# ... whether what a fit gave away is accounted for, ...
_FIT = re.compile(r"accounted for|private fit cost|data of the fit are public|the fit of a model")
# ... and whatever the data contradict, which is never left out
_CONTRADICTED = re.compile(r"is rejected|all the same|although|contradict")
# neither is what somebody has answered for, or nobody could look at
_WORD = re.compile(
    r"at the steward's word|sequences are independent.*(not tested|no two .* compared)"
)
FIT_WARNING = (
    "warning: the model was learned from the private data, and that is itself a leak which no "
    "epsilon here accounts for; keep the model file as private as the data"
)


def as_json(result: Any) -> str:
    """A result or a model as JSON text."""
    return json.dumps(result.to_dict(), indent=1)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on stderr while long work runs; where that is no terminal, a line and its end.

    A log shows what takes long, and nothing about what is quick.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(Text(what)):
            yield
        return
    began = time.monotonic()
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"{what} ...", file=sys.stderr, flush=True)

    timer = threading.Timer(FIRST_LINE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
    if said.is_set():
        print(f"done in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def print_parts(*parts: Any) -> None:
    """Print on stdout as it is."""
    # no markup and no highlighting: labels and reasons may hold brackets
    Console(markup=False, highlight=False).print(*parts)


def say_aside(text: str) -> None:
    """Print on stderr as it is: what the one at the terminal should know, and no program reads."""
    Console(stderr=True, markup=False, highlight=False).print(text)


def facts_table(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Names and what they say, in two columns."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value) if isinstance(value, str) else value)
    return table


def print_title(text: str) -> None:
    """One line in bold."""
    print_parts(Text(text, style="bold"))


def warn_about_fit() -> None:
    """Say on stderr that fitting is itself a leak."""
    warn([FIT_WARNING])


def warn(texts: Iterable[str]) -> None:
    """Say something on stderr."""
    console = Console(stderr=True, markup=False, highlight=False)
    for text in texts:
        console.print(Text(text, style="yellow"))


def save_picture(ax: Axes, path: Path) -> None:
    """Write a figure, with the background that its colours are made for."""
    import io

    import matplotlib

    from corrdp._files import write_files
    from corrdp.plots import PAPER

    figure = ax.get_figure(root=True)
    assert figure is not None
    kind, drawn = path.suffix.lower().lstrip(".") or "png", io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "corrdp"}):
        undated = {"Date": None} if kind == "svg" else {}
        figure.savefig(drawn, format=kind, facecolor=PAPER, dpi=200, metadata=undated)
    write_files({path: drawn.getvalue()})


def run_sweep(
    model: Model,
    text: str,
    verb: str,
    options: dict[str, Any],
    picture: Path | None,
    *,
    json: bool,
    verbose: bool,
) -> None:
    """Ask about a range of levels, draw it, and tell."""
    from corrdp.calibration.sweep import range_of_levels, sweep

    levels = range_of_levels(text)
    with working(f"asking about {len(levels)} levels"):
        found = sweep(model, levels, verb, **options)  # type: ignore[arg-type]
    if picture is not None:
        from corrdp.plots.levels import draw_sweep

        save_picture(draw_sweep(found), picture)
    if json:
        print(as_json(found))
        return
    print_title(f"{verb} over {len(levels)} levels")
    asked = "epsilon" if verb == "leakage" else "target"
    names = ["leakage"] if verb == "leakage" else ["epsilon", "scale", "error_95"]
    heads = [Column(name.replace("_", " "), justify="right") for name in (asked, *names)]
    table = Table(*heads, "")
    for point in found.points:
        numbers = [getattr(point, name) for name in names]
        said = ["-" if value is None else f"{value:.6g}" for value in numbers]
        table.add_row(f"{point.level:.6g}", *said, Text(point.reason or point.certificate))
    print_parts(table)
    facts: list[tuple[str, str | Text]] = [("model", found.model)]
    print_parts(facts_table(facts + assumed(found.assumptions, verbose=verbose)))
    show_files([] if picture is None else [picture])


def show_leakage(result: Leakage, *, verbose: bool) -> None:
    """Every bound with its value or why it does not apply; then the best one's papers."""
    promised = result.level or f"epsilon {result.epsilon:.6g}"
    at = f" at delta {result.delta:.3g}" if result.delta else ""
    aside = f", outputs of probability {result.delta:.3g} aside" if result.delta else ""
    print_title(f"{promised} leaks {result.value:.6g}{at} ({result.kind}) on these records")
    table = Table("bound", Column("leakage", justify="right"), "what it is")
    for candidate in result.candidates:
        what = METHODS[candidate.method]
        if candidate.value is None:
            table.add_row(
                candidate.method, "-", Text.assemble(what, "\n", (candidate.reason, "dim"))
            )
            continue
        best = candidate.value == result.value
        table.add_row(
            candidate.method,
            f"{candidate.value:.6g}",
            f"best: {what}" if best else what,
            style="bold" if best else "",
        )
    print_parts(table)
    facts: list[tuple[str, str | Text]] = [
        ("that is", believed(result.value) + aside),
        *([("unit", result.unit)] if result.unit else []),
        ("scope", result.scope),
        ("model", result.model),
        ("certificate", f"{result.certificate.name}: {result.certificate.reference}"),
        *_proof(result),
    ]
    if result.witness is not None:
        facts.append(("witness", str(result.witness)))
    print_parts(facts_table(facts + assumed(result.certificate.assumptions, verbose=verbose)))


def _proof(leak: Leakage) -> list[tuple[str, str | Text]]:
    read = how_to_read(leak.certificate.reference)
    return [("proof", read)] if read else []


def assumed(texts: Iterable[str], *, verbose: bool) -> list[tuple[str, str | Text]]:
    """Assumptions for a table of facts: the two that matter most, and what the data contradict.

    All of them where ``verbose``; else a last line says how many are left out.
    """
    said = list(dict.fromkeys(texts))
    shown = said
    if not verbose and len(said) > 2:
        law = _first(_LAW, said)
        rest = [text for text in said if text != law]
        fit = _first(_FIT, rest)
        told = [t for t in rest if t != fit and (_WORD.search(t) or _CONTRADICTED.search(t))]
        shown = [law, fit, *told]
    rows: list[tuple[str, str | Text]] = [
        ("assumes", Text(text, style="red" if _CONTRADICTED.search(text) else "")) for text in shown
    ]
    if more := len(said) - len(shown):
        rows.append(("", f"and {more} more assumption{'s' * (more > 1)}: --verbose shows them"))
    return rows


def _first(kind: re.Pattern[str], texts: list[str]) -> str:
    return next(filter(kind.search, texts), texts[0])


def print_told(result: Any, *, verbose: bool) -> None:
    """A result as it prints itself, with the assumptions that matter most."""
    title, *lines = str(result).splitlines()
    rows = {line: re.fullmatch(r"  (\w+) {2,}(.+)", line) for line in lines}
    told = [(row[1], row[2]) for row in rows.values() if row]
    texts = [text for name, text in told if name == "assumes"]
    at = next((k for k, (name, _) in enumerate(told) if name == "assumes"), len(told))
    rest = [row for row in told[at:] if row[0] != "assumes"]
    print_title(title)
    print_parts(*(line for line, row in rows.items() if row is None))
    print_parts(facts_table([*told[:at], *assumed(texts, verbose=verbose), *rest]))


def judged(calibration: Calibration | SeriesCalibration) -> list[tuple[str, str | Text]]:
    """What the promise means for a person, and how it fares under richer models."""
    rows: list[tuple[str, str | Text]] = [("that is", believed(calibration.target))]
    if calibration.model.fitted is None:
        return rows
    if (adequacy := calibration.adequacy) is not None:
        rows += [
            ("richer model", Text(text, style="red" if against else "green"))
            for text, against in richer_lines(adequacy)
        ]
    return [*rows, ("confidence", in_words_of(calibration.confidence) + _alone(calibration))]


def _alone(calibration: Calibration | SeriesCalibration) -> str:
    """What the fitted numbers alone make of a release that holds for a region of them."""
    from corrdp.bounds.leakage import leakage
    from corrdp.calibration.number import Calibration as Counted
    from corrdp.errors import CorrdpError

    # of a series the region stands among the richer models
    if calibration.confidence is None or not isinstance(calibration, Counted):
        return ""
    given: dict[str, Any] = {"unit": calibration.unit, "delta": calibration.delta}
    try:
        found = leakage(calibration.model, calibration.guarantee, **given).value
    except CorrdpError:
        return ""
    return f"; by the fitted numbers alone this release leaks {at_most(found)}"


def _noise(calibration: Calibration, running: RunningTotals | None) -> list[tuple[str, str | Text]]:
    chance = "" if calibration.delta is None else f", at delta {calibration.delta:.3g}"
    return [
        ("epsilon", f"{at_most(calibration.epsilon)} (DP level of the noise{chance})"),
        ("target", f"{at_most(calibration.target)} (BDP level promised{chance})"),
        *([("unit", str(calibration.leakage.unit))] if calibration.unit else []),
        *judged(calibration),
        (
            "leakage",
            f"{at_most(calibration.leakage.value)} under the chosen model "
            f"({calibration.leakage.kind}, by {calibration.leakage.certificate.name})",
        ),
        *_proof(calibration.leakage),
        *([] if running is not None else [("noise", calibration.noise)]),
        *([] if running is None else [("running totals", running.span)]),
        ("expected error", (running or calibration).error_in_words),
        ("dependence", cost_in_words(calibration)),
        *_warnings(
            "" if running is not None else drowned_in_words(calibration),
            exact_in_words(calibration),
        ),
        ("scope", calibration.leakage.scope),
        ("model", calibration.leakage.model),
    ]


def _warnings(*texts: str) -> list[tuple[str, str | Text]]:
    return [("warning", Text(text, style="red")) for text in texts if text]


def show_calibration(
    calibration: Calibration,
    *,
    verbose: bool,
    dry_run: bool = False,
    running: RunningTotals | None = None,
) -> None:
    """DP level, noise and expected error."""
    begin = "would release (nothing was read or drawn):" if dry_run else "noise for the"
    print_title(f"{begin} {in_words(calibration.query, calibration.model)}")
    print_parts(
        facts_table(
            _noise(calibration, running) + assumed(calibration.assumptions, verbose=verbose)
        )
    )


def show_release(
    release: Release,
    calibration: Calibration,
    *,
    verbose: bool,
    running: RunningTotals | None = None,
) -> None:
    """The answer, its interval and everything it rests on."""
    print_title(in_words(calibration.query, calibration.model))
    answers: list[tuple[str, str | Text]] = []
    if release.tables:
        for section in answer_tables(release):
            _show_cells(section)
    else:
        single = not isinstance(release.value, list)
        pairs = [release.interval(0.95)] if single else release.interval(0.95)
        values = [release.value] if single else release.value
        query = calibration.query
        names = [""]
        if isinstance(query, Histogram):
            names = [f" {name}" for name in category_names(query, calibration.model)]
        for name, value, ends in zip(names, values, pairs, strict=True):
            shown, low, high = (number(v, release.scale, release.grid) for v in (value, *ends))
            answers.append((f"answer{name}", f"{shown} (95 % interval {low} to {high})"))
    book: list[tuple[str, str | Text]] = []
    if release.charge is not None:
        book.append(("ledger", f"charge {release.charge}, {release.charge_hash}"))
        book.append(("together", f"with what is in the ledger: {release.together}"))
    answers += _warnings(faint_in_words(release))
    said = _noise(calibration, running) + book + assumed(release.assumptions, verbose=verbose)
    print_parts(facts_table(answers + said))


def _show_cells(section: AnswerTable) -> None:
    columns = [Column(Text(name), justify="right") for name in section.head]
    table = Table(*columns, title=Text(section.title) if section.title else None)
    for row in section.rows[:_SHOWN_CELLS]:
        table.add_row(*map(Text, row))
    print_parts(table)
    if (more := len(section.rows) - _SHOWN_CELLS) > 0:
        print_parts(f"and {more:,} more cells (--csv writes them all)")


def show_files(paths: Iterable[Path]) -> None:
    """Where the outputs are."""
    for path in paths:
        print_parts(f"written: {path}")


def warn_coupled(model: Model) -> None:
    """Say beforehand that a release from groups that hang together will be refused."""
    from corrdp.models.chains.coupling import seen_together

    if coupling := seen_together(model):
        print_parts(
            Text(
                f"warning: {coupling.words}; a release will be refused unless they are fitted "
                "together (--joint), or the fit says why the groups are independent all the same "
                "(--independent-groups 'reason')",
                style="bold red",
            )
        )
