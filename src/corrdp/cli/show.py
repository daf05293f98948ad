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
    from corrdp.models.markov import MarkovChain
    from corrdp.results import Calibration, Leakage, Release

FIT_WARNING = (
    "warning: the model was learned from the private data, and that is itself a leak which no "
    "epsilon here accounts for; keep the model file as private as the data"
)
_SHOWN_STATES = 12  # a larger kernel does not fit a terminal; the model file holds it


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


def show_chain(chain: MarkovChain, output: Path | None) -> None:
    """A fitted chain: kernel with standard errors, and what was counted."""
    fit = chain.fitted
    assert fit is not None
    _title(chain.describe())
    if len(chain.states) <= _SHOWN_STATES:
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
        ("Birkhoff diameter", f"{chain.diameter:.6g}"),
        ("digest", chain.digest),
    ]
    if output is not None:
        facts.append(("written", str(output)))
    _print(_facts(facts))


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
