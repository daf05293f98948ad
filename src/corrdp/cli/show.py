"""Results for people (rich tables on stdout) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from corrdp.report.words import in_words, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.models.diagnostics import Diagnostics
    from corrdp.models.markov import MarkovChain
    from corrdp.models.window import WindowChain
    from corrdp.results import Calibration, Leakage, Release

FIT_WARNING = (
    "warning: the model was learned from the private data, and that is itself a leak which no "
    "epsilon here accounts for; keep the model file as private as the data"
)
_SHOWN_STATES = 12  # a larger kernel does not fit a terminal; the model file holds it
_COMPARED_WINDOWS = 9  # comparing orders on more would keep the reader waiting


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


def _print(*parts: Any) -> None:
    # no markup and no highlighting: labels and reasons may hold brackets
    Console(markup=False, highlight=False).print(*parts)


def _facts(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def _title(text: str) -> None:
    _print(Text(text, style="bold"))


def warn_about_fit() -> None:
    """Say on stderr that fitting is itself a leak."""
    Console(stderr=True, markup=False, highlight=False).print(Text(FIT_WARNING, style="yellow"))


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
            epsilon = calibrate(law, 1.0, query=Count(chain.states[0])).epsilon
            said.append(f"{1 / epsilon:.4g} times under order {order}")
        except CorrdpError as error:
            said.append(f"unknown under order {order} ({error})")
    _print(_facts([("noise for BDP level 1", f"{', '.join(said)}, relative to plain DP")]))


def show_chain(chain: MarkovChain | WindowChain, output: Path | None) -> None:
    """A fitted chain: kernel with standard errors, and what was counted."""
    fit = chain.fitted
    assert fit is not None
    _title(chain.describe())
    if chain.kind == "window":
        table = Table("after", title="Pr[next | last records]")
        for state in chain.states:
            table.add_column(Text(str(state)), justify="right")
        for window, row in zip(chain.windows, chain.transition, strict=True):  # type: ignore[union-attr]
            if row.any() and len(chain.transition) <= 4 * _SHOWN_STATES:
                named = ", ".join(str(chain.states[x]) for x in window)
                table.add_row(Text(named), *(f"{p:.4f}" for p in row))
        _print(table)
    elif len(chain.states) <= _SHOWN_STATES:
        table = Table("from \\ to", title="Pr[next | present] ± standard error")
        for state in chain.states:
            table.add_column(Text(str(state)), justify="right")
        for state, row, errors in zip(
            chain.states, chain.transition, fit.standard_errors, strict=True
        ):
            cells = [f"{p:.4f} ± {e:.4f}" for p, e in zip(row, errors, strict=True)]
            table.add_row(Text(str(state)), *cells)
        _print(table)
    else:
        _print(f"{len(chain.states)} states: {', '.join(map(str, chain.states))}")
    facts = [
        ("rows", f"{fit.rows:,}"),
        ("missing", f"{fit.missing:,}"),
        ("breaks", f"{fit.breaks:,}"),
        ("sequences", f"{fit.sequences:,}, the longest of {fit.longest:,} steps"),
        *(
            [("Birkhoff diameter", f"{diameter:.6g}")]
            if isinstance(diameter := getattr(chain, "diameter", None), float)
            else []
        ),
        ("digest", chain.digest),
    ]
    if output is not None:
        facts.append(("written", str(output)))
    _print(_facts(facts))


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
        _print(table)
    if len(diagnostics.states) <= _SHOWN_STATES:
        counted = zip(diagnostics.states, diagnostics.visits, diagnostics.shares, strict=True)
        _print(_facts((f"state {x}", f"{n:,} ({100 * share:.1f} %)") for x, n, share in counted))
    for text in diagnostics.warnings:
        _print(Text(f"warning: {text}", style="yellow"))


def save_picture(ax: Axes, path: Path) -> None:
    """Write a figure, with the background that its colours are made for."""
    import matplotlib

    from corrdp.report.style import PAPER

    figure = ax.get_figure(root=True)
    assert figure is not None
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "corrdp"}):
        undated = {"Date": None} if path.suffix.lower() == ".svg" else {}
        figure.savefig(path, facecolor=PAPER, dpi=200, metadata=undated)


def show_leakage(result: Leakage) -> None:
    """Every bound with its value or why it does not apply; then the best one's papers."""
    _title(
        f"epsilon {result.epsilon:.6g} leaks {result.value:.6g} ({result.kind}) on these records"
    )
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
    _print(table)
    facts = [
        ("scope", result.scope),
        ("model", result.model),
        ("certificate", f"{result.certificate.name}: {result.certificate.reference}"),
    ]
    if result.witness is not None:
        facts.append(("witness", str(result.witness)))
    facts += [("assumes", text) for text in result.certificate.assumptions]
    _print(_facts(facts))


def _noise(calibration: Calibration) -> list[tuple[str, str]]:
    what = "largest error of a cell" if calibration.query.cells > 1 else "error"
    return [
        ("epsilon", f"{calibration.epsilon:.9g} (DP level of the noise)"),
        ("target", f"{calibration.target:.9g} (BDP level promised)"),
        (
            "leakage",
            f"{calibration.leakage.value:.9g} ({calibration.leakage.kind}, by "
            f"{calibration.leakage.certificate.name})",
        ),
        ("noise", f"discrete Laplace of scale {calibration.scale:.6g}"),
        ("expected error", f"{what} below {calibration.error(0.05):.6g} in 95 % of releases"),
        ("scope", calibration.leakage.scope),
        ("model", calibration.leakage.model),
    ]


def _assumptions(texts: Iterable[str]) -> list[tuple[str, str]]:
    return [("assumes", text) for text in texts]


def show_calibration(calibration: Calibration, *, dry_run: bool = False) -> None:
    """DP level, noise and expected error."""
    begin = "would release (nothing was read or drawn):" if dry_run else "noise for the"
    _title(f"{begin} {in_words(calibration.query)}")
    _print(_facts(_noise(calibration) + _assumptions(calibration.assumptions)))


def show_release(release: Release, calibration: Calibration) -> None:
    """The answer, its interval and everything it rests on."""
    _title(in_words(calibration.query))
    single = not isinstance(release.value, list)
    pairs = [release.interval(0.95)] if single else release.interval(0.95)
    values = [release.value] if single else release.value
    names = [""] if single else [f" {category}" for category in calibration.query.categories]
    answers = []
    for name, value, ends in zip(names, values, pairs, strict=True):
        shown, low, high = (number(v, release.scale, release.grid) for v in (value, *ends))
        answers.append((f"answer{name}", f"{shown} (95 % interval {low} to {high})"))
    _print(_facts(answers + _noise(calibration) + _assumptions(release.assumptions)))


def show_files(paths: Iterable[Path]) -> None:
    """Where the outputs are."""
    for path in paths:
        _print(f"written: {path}")
