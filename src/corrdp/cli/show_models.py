"""Fitted models for people: what was learned, and whether it fits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Column, Table
from rich.text import Text

from corrdp.cli.show import facts_table, print_parts, print_title

if TYPE_CHECKING:
    from corrdp.models.base import Model
    from corrdp.models.chains.diagnostics import Diagnostics
    from corrdp.models.chains.fitting import ChainFit
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.chains.window import WindowChain
    from corrdp.models.gaussian.records import GaussianRecords
    from corrdp.models.pedigrees.linkage import Linkage
    from corrdp.report.snps import SnpReport
    from corrdp.tables.source import Table as SourceTable

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


def show_chain(chain: MarkovChain | WindowChain, output: Path | None, source: SourceTable) -> None:
    """A fitted chain: kernel with standard errors, and what was counted in a table."""
    fit = chain.fitted
    assert fit is not None
    print_title(chain.describe())
    if chain.kind == "window":
        table = Table("after", title="Pr[next | last records]")
        for state in chain.states:
            table.add_column(Text(str(state)), justify="right")
        for window, row in zip(chain.windows, chain.transition, strict=True):  # type: ignore[union-attr]
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
        ("digest", chain.digest),
    ]
    if output is not None:
        facts.append(("written", str(output)))
    print_parts(facts_table(facts))
    warn_coupled(chain)


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
    """Whether the sequences hang together, and why they are independent all the same."""
    facts = [] if fit.sequences == 1 else [("together", fit.together)]
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
            facts_table((f"state {x}", f"{n:,} ({100 * share:.1f} %)") for x, n, share in counted)
        )
    for text in diagnostics.warnings:
        print_parts(Text(f"warning: {text}", style="yellow"))


def _show_numbers(model: Any) -> None:
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


def show_model(model: Any) -> None:
    """The numbers of a fitted network or pedigree, and what is taken for granted."""
    _show_numbers(model)
    print_parts(facts_table([*_assumes(model), ("digest", model.digest)]))


def _assumes(model: Any) -> list[tuple[str, str]]:
    return [("assumes", text) for text in model.assumptions]


def show_snps(report: SnpReport, linkage: Linkage) -> None:
    """One line per SNP, then what was wrong with the data."""
    print(report)  # as it is: rich would break its lines
    for violation in linkage.violations[:_SHOWN_VIOLATIONS]:
        print_parts(Text(f"Mendelian violation: {violation}", style="yellow"))
    more = len(linkage.violations) - _SHOWN_VIOLATIONS
    if more > 0:
        print_parts(f"and {more} more violations (kept in the data; --json lists them all)")
