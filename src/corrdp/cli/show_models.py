"""Fitted models for people: kernels, times, groups, what the data contradict."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Column, Table
from rich.text import Text

from corrdp.cli.show import assumed, facts_table, print_parts, print_title, warn_coupled
from corrdp.models.chains.questions import order_name
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain

if TYPE_CHECKING:
    from corrdp.models.base import Model
    from corrdp.models.chains.chain import Chain
    from corrdp.models.chains.diagnostics import Diagnostics
    from corrdp.models.chains.fitted import ChainFit
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.gaussian.records import GaussianRecords
    from corrdp.models.pedigrees.linkage import Linkage
    from corrdp.report.snps import SnpReport
    from corrdp.tables.source import Table as SourceTable

_BROKEN = ", each of which breaks the chain; a release then needs --skip-missing"
_DIAMETER = "how far a record can move the log odds of the next; 0: not at all"
_SHOWN_STATES = 12  # a larger kernel does not fit a terminal; the model file holds it
_COMPARED_WINDOWS = 9  # comparing orders on more would keep the reader waiting
_SHOWN_VIOLATIONS = 10
_SHOWN = 12  # kinds of block


def show_orders(chain: MarkovChain) -> None:
    """What a promise costs under first and second order, in noise relative to plain DP."""
    from corrdp.calibration.calibrate import calibrate
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


def _class_facts(chain: Any) -> list[tuple[str, str]]:
    """Which class of chains holds the true one at confidence .95, rounded up to four digits."""
    from corrdp.errors import NotApplicableError
    from corrdp.models.chains.region import ChainClass

    try:
        found = ChainClass.covering(chain, 0.95)
    except NotApplicableError as error:
        return [("class", str(error))] if chain.kind == "markov" else []
    step = 10.0 ** (math.floor(math.log10(found.diameter)) - 3)
    shown = math.ceil(found.diameter / step) * step
    told = "every chain that forgets as fast, without numbers of these data"
    return [("class", f"diameter:{shown:.4g} covers the data at confidence 0.95 ({told})")]


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
        for state in chain.state_names:
            table.add_column(Text(state), justify="right")
        for window, row in zip(chain.windows, chain.transition, strict=True):
            if row.any() and len(chain.transition) <= 4 * _SHOWN_STATES:
                named = ", ".join(chain.state_names[x] for x in window)
                table.add_row(Text(named), *(f"{p:.4f}" for p in row))
        print_parts(table)
    elif len(chain.states) <= _SHOWN_STATES:
        table = Table("from \\ to", title="Pr[next | present] ± standard error")
        for state in chain.state_names:
            table.add_column(Text(state), justify="right")
        for state, row, errors in zip(
            chain.state_names, chain.transition, fit.standard_errors, strict=True
        ):
            cells = [f"{p:.4f} ± {e:.4f}" for p, e in zip(row, errors, strict=True)]
            table.add_row(Text(state), *cells)
        print_parts(table)
    else:
        print_parts(f"{len(chain.states)} states: {', '.join(chain.state_names)}")
    facts = [
        ("rows", f"{fit.rows:,}"),
        ("missing", f"{fit.missing:,}" + _BROKEN * (fit.missing > 0)),
        *time_facts(fit, source),
        ("sequences", f"{fit.sequences:,}, the longest of {fit.longest:,} rows"),
        *_group_facts(fit),
        *(
            [("Birkhoff diameter", f"{diameter:.6g} ({_DIAMETER})")]
            if isinstance(diameter := getattr(chain, "diameter", None), float)
            else []
        ),
        *_class_facts(chain),
        *_unit_facts(chain),
        *([("contexts", merges)] if (merges := getattr(chain, "merges", "")) else []),
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
    for one, chosen in choice.ranked():
        table.add_row(*one.cells, one.p, style="bold" if chosen else "")
    print_parts(table)
    print_parts(choice.caption)
    print_parts(Text(f"{choice.words[0].upper()}{choice.words[1:]}.", style="bold"))


def _show_seasons(chain: SeasonalChain) -> None:
    table = Table(chain.counted.title, "after", title="Pr[next | season, last records]")
    for state in chain.state_names:
        table.add_column(Text(state), justify="right")
    for season, kernel in zip(chain.seasons, chain.transition, strict=True):
        name = season
        for window, row in zip(chain.windows, kernel, strict=True):
            if row.any() and kernel.size * len(chain.seasons) <= 40 * _SHOWN_STATES:
                after = ", ".join(chain.state_names[x] for x in window)
                table.add_row(Text(name), Text(after), *(f"{p:.4f}" for p in row))
                name = ""
    print_parts(table)
    period = "in any order" if chain.period is None else f"repeat every {chain.period:,} steps"
    if len(chain.transition) == 1:
        period = "one kernel for all"
    facts = [("seasons", f"{len(chain.counted.labels)}, {period}")]
    if chain.counted.merges:
        facts.append(("pooled", f"{chain.counted.merges}; what follows is given this choice"))
    print_parts(facts_table(facts))


def time_facts(fit: ChainFit, source: SourceTable) -> list[tuple[str, str]]:
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


def show_diagnostics(
    diagnostics: Diagnostics, assumptions: Iterable[str], *, verbose: bool
) -> None:
    """Whether a fitted chain describes its data: the tests, the states, and what to watch."""
    table = Table(
        "test",
        Column("G²", justify="right"),
        Column("df", justify="right"),
        "verdict",
        title="Does the chain fit?",
    )
    for test in diagnostics.tests:
        # independence is no claim of a chain: that it is rejected speaks for nothing else
        judges = test.p_value is not None and test.name != order_name(0)
        colour = ("red" if test.rejected else "green") if judges else ""
        table.add_row(
            test.name,
            f"{test.statistic:.6g}",
            f"{test.degrees:,}",
            Text(test.words, style=colour),
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
    print_parts(facts_table(assumed(assumptions, verbose=verbose)))


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


def show_families(model: GaussianRecords, *, verbose: bool) -> None:
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
    print_parts(
        facts_table([*assumed(model.assumptions, verbose=verbose), ("digest", model.digest)])
    )


def show_model(model: Model, *, verbose: bool) -> None:
    """The numbers of a fitted network or pedigree, and what is taken for granted."""
    _show_numbers(model)
    print_parts(
        facts_table([*assumed(model.assumptions, verbose=verbose), ("digest", model.digest)])
    )


def show_snps(report: SnpReport, linkage: Linkage) -> None:
    """One line per SNP, then what was wrong with the data."""
    print(report)  # as it is: rich would break its lines
    for violation in linkage.violations[:_SHOWN_VIOLATIONS]:
        print_parts(Text(f"Mendelian violation: {violation}", style="yellow"))
    more = len(linkage.violations) - _SHOWN_VIOLATIONS
    if more > 0:
        print_parts(f"and {more} more violations (kept in the data; --json lists them all)")
