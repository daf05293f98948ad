"""What ``corrdp fit`` does for each kind of model: learn, write, draw, tell."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corrdp.cli.groups import RowOptions
from corrdp.cli.options import check_outputs, literal
from corrdp.cli.show import (
    as_json,
    save_picture,
    say_aside,
    show_files,
    warn,
    warn_about_fit,
    working,
)
from corrdp.cli.show_models import (
    show_chain,
    show_choice,
    show_diagnostics,
    show_families,
    show_model,
    show_orders,
    show_snps,
)
from corrdp.errors import CorrdpError, DataError, DataWarning, InputError
from corrdp.models.files import is_model_file
from corrdp.queries import MISSING_TEXT
from corrdp.tables.source import USUAL, Layout, Table, is_parquet, open_table


@dataclass(frozen=True)
class Task:
    """What a model of any kind is learned from, and what becomes of it."""

    file: str
    rows: RowOptions
    output: Path | None
    picture: Path | None
    json: bool
    verbose: bool
    engine: str = "duckdb"

    def __post_init__(self) -> None:
        check_outputs(self.output, self.picture, inputs=(self.file,))
        if self.output is not None and self.output.exists() and not is_model_file(self.output):
            raise InputError(f"{self.output} exists and is no model file: choose another name")
        if self.picture is not None and self.picture.suffix.lower() not in (".svg", ".png"):
            raise InputError(f"--picture {self.picture}: the name must end in .svg or .png")

    def table(self) -> Table:
        """The rows."""
        return self.open(self.file, self.rows.layout)

    def open(self, file: str, layout: Layout) -> Table:
        """The rows of a file that is read as this one is."""
        return open_table(file, self.rows.texts(MISSING_TEXT), self.engine, layout)

    def finish(self, model: Any, show: Callable[..., None]) -> None:
        """Write the model, draw what the report would show, and tell."""
        if self.output is not None:
            model.save(self.output)
        if self.picture is not None:
            from corrdp.report.dependence import shown

            draw = shown(model).draw
            assert draw is not None
            save_picture(draw(), self.picture)
        if self.json:
            print(as_json(model))
        else:
            show(model, verbose=self.verbose)
            show_files(path for path in (self.output, self.picture) if path is not None)
        warn_about_fit()


def named_states(texts: list[str]) -> list[Any]:
    """A list of states as it is written on the command line."""
    return [literal(text) for text in texts]


def chain(task: Task, any_length: bool, joint: bool | None, **options: Any) -> None:
    """A Markov chain from the rows of a series; ``options`` are those of ``MarkovChain.fit``.

    With ``joint=None`` series that are seen to hang together are fitted together where they can be.
    Order and season are chosen from the data where they are None and the fit may choose.
    """
    from corrdp.models.chains.diagnostics import diagnose
    from corrdp.models.chains.markov import MarkovChain

    plain = {"order": 1, "season": None}
    given = {name: options[name] for name in plain if options[name] is not None}
    if given.get("season") == "none":
        given["season"] = None
    chooses = options["private_epsilon"] is None and not joint and not options["pool"]
    options |= ({name: "auto" for name in plain} if chooses else plain) | given
    auto = "auto" in (options["order"], options["season"])
    what = "choosing and pricing the chain of" if auto else "counting transitions in"
    with working(f"{what} {task.file}"):
        table = task.table()
        model = MarkovChain.fit(table, **options, joint=bool(joint))
        model = _together(model, table, options | plain | given) if joint is None else model
    model = model.with_length(None) if any_length else model
    if model.kind == "joint":
        from corrdp.cli.show_joint import show_joint

        task.finish(model, lambda model, verbose: show_joint(model, table, verbose=verbose))
        return
    if task.output is not None:
        model.save(task.output)
    if task.picture is not None:
        drawn = model.plot() if model.kind == "seasonal" else diagnose(model).plot()
        save_picture(drawn, task.picture)
    private = model.fitted.private_epsilon is not None
    if task.json:
        print(as_json(model))
    else:
        show_choice(model)
        show_chain(model, task.output, table)
        with working(f"testing the chain on {task.file}"):
            again = model.fitted.group is not None and model.kind != "seasonal"
            diagnostics = diagnose(model, table if again else None)
        show_diagnostics(diagnostics, model.assumptions, verbose=task.verbose)
        if model.kind == "markov" and not private:
            with working("comparing orders"):
                show_orders(model)
        show_files([] if task.picture is None else [task.picture])
    warn(model.fitted.warnings)
    if not model.fitted.public and not private:
        warn_about_fit()


_SHARED = 0.9  # of the times: series with a state at fewer of them do not share a clock


def _together(alone: Any, table: Table, options: dict[str, Any]) -> Any:
    """One chain of all series where the test of the same time speaks; else they stay apart.

    Which of the two, and why, is said on stderr.
    """
    from corrdp.models.chains.markov import MarkovChain

    fit = alone.fitted
    if fit.coupling is None or not fit.coupling.seen or fit.independent_groups is not None:
        return alone
    try:
        model = MarkovChain.fit(table, **options, joint=True)
        steps = model.fitted.rows + model.fitted.missing
        if model.fitted.rows < _SHARED * steps:
            share = 100 * model.fitted.rows / steps
            raise DataError(f"all of them have a state at {share:.0f} % of the times only")
    except CorrdpError as error:
        said = f"{fit.coupling.words}, and yet they are fitted apart: {error}"
        warnings.warn(DataWarning(said), stacklevel=2)
        return alone
    say_aside(f"{fit.coupling.words}: they are fitted together (--no-joint keeps them apart)")
    return model


def families(task: Task, **options: Any) -> None:
    """Gaussian records from the rows of families; ``options`` are those of their ``fit``."""
    from corrdp.models.gaussian.records import GaussianRecords

    with working(f"estimating covariances in {task.file}"):
        model = GaussianRecords.fit(task.table(), **options)
    task.finish(model, show_families)


def network(task: Task, *, state: str, identity: str, edges: str) -> None:
    """An Ising model from the rows of nodes and a file of links."""
    from corrdp.models.networks.field import MarkovField

    # names are those of FILE; otherwise the links are laid out as it is
    links = USUAL if is_parquet(edges) else replace(task.rows.layout, names=())
    with working(f"fitting couplings in {task.file}"):
        model = MarkovField.fit(
            task.table(), state=state, id=identity, edges=task.open(edges, links)
        )
    task.finish(model, show_model)


def pedigree(task: Task, *, snp: str | None, frequency: float | None, target: float) -> None:
    """All SNPs of a file in linkage format, or the model of one."""
    from corrdp.models.pedigrees.linkage import read_linkage

    with working(f"reading genotypes in {task.file}"):
        found = read_linkage(task.table())
    if snp is not None:
        task.finish(found.pedigree(snp, frequency=frequency), show_model)
        return
    if task.output is not None or frequency is not None:
        raise InputError("-o and --frequency are for the model of one SNP: add --snp NAME")
    report = _all_snps(found, target)
    if task.picture is not None:
        save_picture(report.plot(), task.picture)
    if task.json:
        print(as_json(report))
    else:
        show_snps(report, found)
        show_files([] if task.picture is None else [task.picture])
    warn_about_fit()


def _all_snps(found: Any, target: float) -> Any:
    """The report on every SNP, with a bar while it is worked out, or lines in a log."""
    from rich.console import Console
    from rich.progress import track

    from corrdp.report.snps import snp_report

    console, what = Console(stderr=True), "working out every SNP"
    if not console.is_terminal:
        with working(what):
            return snp_report(found, target)

    def follow(names: Any) -> Any:
        return track(names, what, console=console, transient=True)

    return snp_report(found, target, track=follow)
