"""A fitted chain of several series at once, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from corrdp.bounds.chains.joint import RARELY_SEEN
from corrdp.calibration.robustness import CONFIDENCE
from corrdp.cli.show import facts_table, print_parts, print_title
from corrdp.cli.show_models import show_diagnostics, time_facts

if TYPE_CHECKING:
    from corrdp.models.chains.joint import JointChain
    from corrdp.tables.source import Table as SourceTable

_SHOWN_SLICES = 16  # more do not fit a terminal; the model file holds them


def show_joint(chain: JointChain, source: SourceTable, *, verbose: bool) -> None:
    """How likely each slice is and stays, what was counted, and whether a chain fits."""
    fit = chain.fitted
    assert fit is not None
    print_title(chain.describe())
    if len(chain.slices) <= _SHOWN_SLICES:
        table = Table(*map(str, chain.series), title="What all series are at one time")
        for name in ("seen", "share", "same again"):
            table.add_column(name, justify="right")
        left, kernel = fit.counts.sum(axis=1), fit.kernel  # of all seasons together
        law = left / left.sum() if chain.seasonal else chain.chain.start
        for k, one in enumerate(chain.slices):
            numbers = f"{left[k]:,}", f"{law[k]:.4f}", f"{kernel[k, k]:.4f}"
            table.add_row(*(Text(str(state)) for state in one), *numbers)
        print_parts(table)
    facts = [
        ("time steps", f"{fit.rows:,} with a state of every series"),
        ("a record", "one series at one time step"),
        ("others", f"{fit.missing:,}" + (", each of which breaks the chain" * (fit.missing > 0))),
        *time_facts(fit, source),
        *([("seasons", _seasons(chain))] if chain.seasonal else []),
        *([("share a row", chain.merges.partition(": ")[2])] if chain.merges else []),
        ("digest", chain.digest),
    ]
    print_parts(facts_table(facts))
    _show_price(chain)
    show_diagnostics(chain.diagnose(), chain.assumptions, verbose=verbose)


def _seasons(chain: JointChain) -> str:
    """The kernels, by the seasons that share each."""
    many = f"{len(chain.seasons)} kernels: "
    return chain.season_merges or many + "; ".join(chain.seasons)


def _show_price(chain: JointChain) -> None:
    """What a promise costs, by the fitted numbers and by all that the data allow; and if it is too
    much, why."""
    from corrdp.calibration.calibrate import calibrate
    from corrdp.errors import CorrdpError
    from corrdp.queries import Count

    said, why = [], ""
    for level, by in ((None, "by the fitted numbers"), (CONFIDENCE, f"at confidence {CONFIDENCE}")):
        try:
            query = Count(chain.states[0])
            found = calibrate(chain, 1.0, query=query, robust=False, confidence=level)
        except CorrdpError as error:
            said.append(f"none {by} ({error})")
            continue
        said.append(f"{1 / found.epsilon:.4g} times {by}")
        texts = found.leakage.certificate.assumptions
        why = next((text for text in texts if RARELY_SEEN in text), "")
    said[-1] += ", relative to plain DP"
    print_parts(facts_table([("noise for BDP level 1", ", ".join(said))]))
    if why:
        print_parts(Text(f"warning: {why}", style="bold red"))
