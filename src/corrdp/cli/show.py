"""Results and fitted models for people (rich tables on stdout) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain
from corrdp.queries import Quantile, Several
from corrdp.report.cells import AnswerTable, answer_tables
from corrdp.report.dependence import in_words_of
from corrdp.report.words import believed, cost_in_words, in_words, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.bounds.leakage import Leakage
    from corrdp.calibration.number import Calibration
    from corrdp.calibration.series import SeriesCalibration
    from corrdp.models.base import Model
    from corrdp.models.chains.chain import Chain
    from corrdp.models.chains.diagnostics import Diagnostics
    from corrdp.models.chains.fitted import ChainFit
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.gaussian.records import GaussianRecords
    from corrdp.models.pedigrees.linkage import Linkage
    from corrdp.release.number import Release
    from corrdp.report.snps import SnpReport
    from corrdp.tables.source import Table as SourceTable

_SHOWN_CELLS = 40
FIT_WARNING = (
    "warning: the model was learned from the private data, and that is itself a leak which no "
    "epsilon here accounts for; keep the model file as private as the data"
)


def as_json(result: Any) -> str:
    """A result or a model as JSON text."""
    return json.dumps(result.to_dict(), indent=1)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on stderr while long work runs; silent when nobody watches."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(Text(what)):
        yield


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
    model: Model, text: str, verb: str, options: dict[str, Any], picture: Path | None, json: bool
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
    print_parts(facts_table(facts + _assumptions(found.assumptions)))
    show_files([] if picture is None else [picture])


def show_leakage(result: Leakage) -> None:
    """Every bound with its value or why it does not apply; then the best one's papers."""
    promised = result.level or f"epsilon {result.epsilon:.6g}"
    at = f" at delta {result.delta:.3g}" if result.delta else ""
    print_title(f"{promised} leaks {result.value:.6g}{at} ({result.kind}) on these records")
    table = Table("bound", Column("leakage", justify="right"), "")
    for candidate in result.candidates:
        if candidate.value is None:
            table.add_row(candidate.method, "-", Text(candidate.reason))
            continue
        best = candidate.value == result.value
        table.add_row(
            candidate.method,
            f"{candidate.value:.6g}",
            "best" if best else "",
            style="bold" if best else "",
        )
    print_parts(table)
    facts = [
        *([("unit", result.unit)] if result.unit else []),
        ("scope", result.scope),
        ("model", result.model),
        ("certificate", f"{result.certificate.name}: {result.certificate.reference}"),
    ]
    if result.witness is not None:
        facts.append(("witness", str(result.witness)))
    facts += [("assumes", text) for text in result.certificate.assumptions]
    print_parts(facts_table(facts))


def judged(calibration: Calibration | SeriesCalibration) -> list[tuple[str, str | Text]]:
    """What the promise means for a person, and how it fares under richer models."""
    rows: list[tuple[str, str | Text]] = [("that is", believed(calibration.target))]
    if calibration.model.fitted is None:
        return rows
    if (adequacy := calibration.adequacy) is not None:
        style = "red" if adequacy.against else ""
        rows += [("richer model", Text(text, style=style)) for text in adequacy.lines]
    return [*rows, ("confidence", in_words_of(calibration.confidence))]


def _noise(calibration: Calibration) -> list[tuple[str, str | Text]]:
    chance = "" if calibration.delta is None else f", at delta {calibration.delta:.3g}"
    return [
        ("epsilon", f"{calibration.epsilon:.9g} (DP level of the noise{chance})"),
        ("target", f"{calibration.target:.9g} (BDP level promised{chance})"),
        *([("unit", str(calibration.leakage.unit))] if calibration.unit else []),
        *judged(calibration),
        (
            "leakage",
            f"{calibration.leakage.value:.9g} under the chosen model ({calibration.leakage.kind}, "
            f"by {calibration.leakage.certificate.name})",
        ),
        ("noise", calibration.noise),
        ("expected error", calibration.error_in_words),
        ("dependence", cost_in_words(calibration)),
        *_drowned(calibration),
        ("scope", calibration.leakage.scope),
        ("model", calibration.leakage.model),
    ]


def _drowned(calibration: Calibration) -> list[tuple[str, str | Text]]:
    """Whether the noise tells nothing because every possible answer is nearer than its error."""
    query, model = calibration.query, calibration.model
    if query.is_table or isinstance(query, Several | Quantile):
        return []
    pattern = model.reads(query)
    records = model.records if pattern is None else int(pattern.sum())
    if records is None:
        return []
    # one record moves a count, or a cell of a histogram, by 1
    width = records * (query.sensitivity if query.kind in ("sum", "mean") else 1)
    if calibration.error(0.05) <= width:
        return []
    text = (
        f"the noise is larger than the answer can be: all possible answers lie within {width:.6g}"
    )
    return [("warning", Text(text, style="red"))]


def _assumptions(texts: Iterable[str]) -> list[tuple[str, str | Text]]:
    return [("assumes", text) for text in texts]


def show_calibration(calibration: Calibration, *, dry_run: bool = False) -> None:
    """DP level, noise and expected error."""
    begin = "would release (nothing was read or drawn):" if dry_run else "noise for the"
    print_title(f"{begin} {in_words(calibration.query)}")
    print_parts(facts_table(_noise(calibration) + _assumptions(calibration.assumptions)))


def show_release(release: Release, calibration: Calibration) -> None:
    """The answer, its interval and everything it rests on."""
    print_title(in_words(calibration.query))
    answers: list[tuple[str, str | Text]] = []
    if release.tables:
        for section in answer_tables(release):
            _show_cells(section)
    else:
        single = not isinstance(release.value, list)
        pairs = [release.interval(0.95)] if single else release.interval(0.95)
        values = [release.value] if single else release.value
        names = [f" {cell}" for cell in release.query.get("categories") or [""]]
        for name, value, ends in zip(names, values, pairs, strict=True):
            shown, low, high = (number(v, release.scale, release.grid) for v in (value, *ends))
            answers.append((f"answer{name.rstrip()}", f"{shown} (95 % interval {low} to {high})"))
    book: list[tuple[str, str | Text]] = []
    if release.charge is not None:
        book.append(("ledger", f"charge {release.charge}, {release.charge_hash}"))
        book.append(("together", f"with what is in the ledger: {release.together}"))
    said = _noise(calibration) + book + _assumptions(release.assumptions)
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


_SHOWN_STATES = 12  # a larger kernel does not fit a terminal; the model file holds it
_COMPARED_WINDOWS = 9  # comparing orders on more would keep the reader waiting
_SHOWN_VIOLATIONS = 10
_SHOWN = 12  # kinds of block


def show_orders(chain: MarkovChain) -> None:
    """What a promise costs under first and second order, in noise relative to plain DP."""
    from corrdp.calibration import calibrate
    from corrdp.errors import CorrdpError
    from corrdp.queries import Count

    said = []
    for order in (1, 2):
        try:
            law = chain.with_order(order)
            if len(law.transition) > _COMPARED_WINDOWS:
                return
            count = Count(chain.states[0])
            epsilon = calibrate(law, 1.0, query=count, robust=False, confidence=None).epsilon
            said.append(f"{1 / epsilon:.4g} times under order {order}")
        except CorrdpError as error:
            said.append(f"unknown under order {order} ({error})")
    print_parts(
        facts_table([("noise for BDP level 1", f"{', '.join(said)}, relative to plain DP")])
    )


def _unit_facts(chain: Any) -> list[tuple[str, str]]:
    """Noise by unit, for leakage 1, relative to the same unit of independent records."""
    from corrdp.bounds.chains.sides import noise_by_unit

    said = ", ".join(f"{unit} {times:.2f}" for unit, times in noise_by_unit(chain))
    return [("noise by unit", f"{said} times that of independent records (leakage 1)")] * bool(said)


def show_chain(
    chain: MarkovChain | WindowChain | SeasonalChain, output: Path | None, source: SourceTable
) -> None:
    """A fitted chain: kernel with standard errors, and what was counted in a table."""
    fit = chain.fitted
    assert fit is not None
    print_title(chain.describe())
    if isinstance(chain, SeasonalChain):
        _show_seasons(chain)
    elif isinstance(chain, WindowChain):
        table = Table("after", title="Pr[next | last records]")
        for state in chain.states:
            table.add_column(Text(str(state)), justify="right")
        for window, row in zip(chain.windows, chain.transition, strict=True):
            if row.any() and len(chain.transition) <= 4 * _SHOWN_STATES:
                named = ", ".join(str(chain.states[x]) for x in window)
                table.add_row(Text(named), *(f"{p:.4f}" for p in row))
        print_parts(table)
    elif len(chain.states) <= _SHOWN_STATES:
        table = Table("from \\ to", title="Pr[next | present] ± standard error")
        for state in chain.states:
            table.add_column(Text(str(state)), justify="right")
        for state, row, errors in zip(
            chain.states, chain.transition, fit.standard_errors, strict=True
        ):
            cells = [f"{p:.4f} ± {e:.4f}" for p, e in zip(row, errors, strict=True)]
            table.add_row(Text(str(state)), *cells)
        print_parts(table)
    else:
        print_parts(f"{len(chain.states)} states: {', '.join(map(str, chain.states))}")
    facts = [
        ("rows", f"{fit.rows:,}"),
        ("missing", f"{fit.missing:,}" + (", each of which breaks the chain" * (fit.missing > 0))),
        *_time_facts(fit, source),
        ("sequences", f"{fit.sequences:,}, the longest of {fit.longest:,} rows"),
        *_group_facts(fit),
        *(
            [("Birkhoff diameter", f"{diameter:.6g}")]
            if isinstance(diameter := getattr(chain, "diameter", None), float)
            else []
        ),
        *_unit_facts(chain),
        ("digest", chain.digest),
    ]
    if output is not None:
        facts.append(("written", str(output)))
    print_parts(facts_table(facts))
    warn_coupled(chain)


def show_choice(chain: Chain) -> None:
    """What order and seasons were chosen from, and why; nothing where they were given."""
    choice = None if chain.fitted is None else chain.fitted.choice
    if choice is None:
        return
    numbers = ("held-out loss", "BIC", "parameters", "kernels", "noise")
    columns = [Column(name, justify="right") for name in numbers]
    table = Table("candidate", *columns, "order against next", title="Which chain?")
    for one in sorted(choice.tried, key=lambda one: one.loss):
        chosen = (one.order, one.season) == (choice.order, choice.season)
        table.add_row(
            one.name,
            f"{one.loss:.4f}",
            f"{one.bic:.4f}",
            f"{one.parameters:,}",
            f"{one.kernels}",
            "" if one.noise is None else f"{one.noise:.4g}",
            one.p,
            style="bold" if chosen else "",
        )
    print_parts(table)
    print_parts("Noise is for BDP level 1 by the fitted numbers, relative to plain DP.")
    print_parts(Text(f"{choice.words[0].upper()}{choice.words[1:]}.", style="bold"))


def _show_seasons(chain: SeasonalChain) -> None:
    table = Table(chain.counted.title, "after", title="Pr[next | season, last records]")
    for state in chain.states:
        table.add_column(Text(str(state)), justify="right")
    for season, kernel in zip(chain.seasons, chain.transition, strict=True):
        name = season
        for window, row in zip(chain.windows, kernel, strict=True):
            if row.any() and kernel.size * len(chain.seasons) <= 40 * _SHOWN_STATES:
                after = ", ".join(str(chain.states[x]) for x in window)
                table.add_row(Text(name), Text(after), *(f"{p:.4f}" for p in row))
                name = ""
    print_parts(table)
    period = "in any order" if chain.period is None else f"repeat every {chain.period:,} steps"
    facts = [("seasons", f"{len(chain.counted.labels)}, {period}")]
    if chain.counted.merges:
        facts.append(("pooled", f"{chain.counted.merges}; what follows is given this choice"))
    print_parts(facts_table(facts))


def warn_coupled(model: Model) -> None:
    """Say beforehand that a release from groups that hang together will be refused."""
    from corrdp.models.chains.coupling import seen_together

    if coupling := seen_together(model):
        print_parts(
            Text(
                f"warning: {coupling.words}; a release will be refused unless the fit says why "
                "the groups are independent all the same (--independent-groups 'reason')",
                style="bold red",
            )
        )


def _time_facts(fit: ChainFit, source: SourceTable) -> list[tuple[str, str]]:
    """First and last time, the usual step, formats, clock changes and gaps."""
    if fit.clock is None:
        return [("time", "the order of the rows; gaps cannot be seen")]
    clock, reading = fit.clock, fit.reading
    assert reading is not None
    facts = [("time", clock.words), ("usual step", clock.step)]
    forms: list[str] = []
    for k, text in enumerate(fit.order_by):
        typed = [source.forms[name] for name in sorted(source.reads(text) & source.forms.keys())]
        forms += [form] if (form := reading.form(k)) else typed
    if forms:
        facts.append(("read as", ", ".join(forms)))
    if clock.changes:
        days = ", ".join(f"{moment:%Y-%m-%d}" for moment in clock.changes[:_SHOWN])
        facts.append(("clock changes", f"{len(clock.changes):,} ({days}), which are no gaps"))
    gaps = f"{fit.breaks:,}" if reading.gaps else "not looked for: events in order"
    return [*facts, ("gaps", gaps)]


def _group_facts(fit: ChainFit) -> list[tuple[str, str]]:
    """What hangs together, among sequences and with rows left out, and why that is no matter."""
    facts = [] if fit.sequences == 1 else [("together", fit.together)]
    if fit.beside is not None:
        facts.append(("rows left out", fit.beside.words))
    if fit.independent_groups is not None:
        facts.append(("independent", fit.independent_groups))
    return facts


def show_diagnostics(diagnostics: Diagnostics) -> None:
    """Whether a fitted chain describes its data: the tests, the states, and what to watch."""
    table = Table(
        "test",
        Column("G²", justify="right"),
        Column("df", justify="right"),
        "verdict",
        title="Does the chain fit?",
    )
    for test in diagnostics.tests:
        table.add_row(
            test.name,
            f"{test.statistic:.6g}",
            f"{test.degrees:,}",
            Text(test.words),
            style="bold" if test.rejected else "",
        )
    if diagnostics.tests:
        print_parts(table)
    if len(diagnostics.states) <= _SHOWN_STATES:
        counted = zip(diagnostics.states, diagnostics.visits, diagnostics.shares, strict=True)
        print_parts(
            facts_table(
                (f"from state {x}", f"{n:,} transitions ({100 * share:.1f} %)")
                for x, n, share in counted
            )
        )
    for text in diagnostics.warnings:
        print_parts(Text(f"warning: {text}", style="yellow"))


def _show_numbers(model: Model) -> None:
    """The same table and facts as in the report."""
    from corrdp.report.dependence import shown

    print_title(model.describe())
    numbers = shown(model)
    if numbers.rows:
        table = Table(*(Column(header=Text(name)) for name in numbers.head))
        for row in numbers.rows:
            table.add_row(*(Text(cell) for cell in row))
        print_parts(table)
    for text in numbers.facts:
        print_parts(text)


def show_families(model: GaussianRecords) -> None:
    """Standard deviations and correlations, the check of normality, the regression factor."""
    from corrdp.bounds.leakage import leakage

    _show_numbers(model)
    if model.secret_range is None:
        print_parts(
            "Without a secret range only the general bound holds: --secret-range LOW:HIGH gives one"
        )
    else:
        leak = leakage(model, 1.0)
        said = f"{leak.value:.4f} times that of independent records, over the secret range"
        print_parts(facts_table([("noise", said)]))
        if len(model.shapes) > 1 and leak.per_record is not None:
            table = Table("block", Column("how many", justify="right"), "times")
            for row in sorted(model.per_block(leak.per_record), key=lambda r: -r.blocks)[:_SHOWN]:
                table.add_row(Text(", ".join(row.members)), f"{row.blocks:,}", f"{row.largest:.4f}")
            print_parts(table)
    print_parts(facts_table([*_assumes(model), ("digest", model.digest)]))


def show_model(model: Model) -> None:
    """The numbers of a fitted network or pedigree, and what is taken for granted."""
    _show_numbers(model)
    print_parts(facts_table([*_assumes(model), ("digest", model.digest)]))


def _assumes(model: Model) -> list[tuple[str, str]]:
    return [("assumes", text) for text in model.assumptions]


def show_snps(report: SnpReport, linkage: Linkage) -> None:
    """One line per SNP, then what was wrong with the data."""
    print(report)  # as it is: rich would break its lines
    for violation in linkage.violations[:_SHOWN_VIOLATIONS]:
        print_parts(Text(f"Mendelian violation: {violation}", style="yellow"))
    more = len(linkage.violations) - _SHOWN_VIOLATIONS
    if more > 0:
        print_parts(f"and {more} more violations (kept in the data; --json lists them all)")
