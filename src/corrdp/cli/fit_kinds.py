"""What ``corrdp fit`` does for each kind of model: learn, write, draw, tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corrdp.cli.show import (
    as_json,
    save_picture,
    show_chain,
    show_diagnostics,
    show_families,
    show_files,
    show_model,
    show_orders,
    show_snps,
    warn,
    warn_about_fit,
    working,
)
from corrdp.errors import InputError
from corrdp.tables.source import USUAL, Layout, is_parquet, open_table

if TYPE_CHECKING:
    from corrdp.models.base import Model


_TRUTH: dict[str, Any] = {"true": True, "false": False}


def _draw(model: Model, picture: Path | None) -> None:
    """The picture that the report would show."""
    if picture is None:
        return
    from corrdp.report.dependence import shown

    ax = shown(model).picture
    assert ax is not None
    save_picture(ax, picture)


def _written(output: Path | None, picture: Path | None) -> None:
    show_files([path for path in (output, picture) if path is not None])


def named_states(texts: list[str]) -> list[Any]:
    """A list of states as it is written on the command line."""
    from corrdp.cli.options import literal

    return [_TRUTH.get(text.lower(), literal(text)) for text in texts]


def chain(
    file: str,
    options: dict[str, Any],
    missing: list[str],
    output: Path | None,
    picture: Path | None,
    engine: str,
    json: bool,
    layout: Layout,
) -> None:
    """A Markov chain from the rows of a series; ``options`` are those of ``MarkovChain.fit``."""
    from corrdp.models.chains.diagnostics import diagnose
    from corrdp.models.chains.markov import MarkovChain

    with working(f"counting transitions in {file}"):
        table = open_table(file, missing, engine, layout)
        model = MarkovChain.fit(table, **options)
    if output is not None:
        model.save(output)
    if picture is not None:
        save_picture(diagnose(model).plot(), picture)
    private = model.fitted.private_epsilon is not None
    if json:
        print(as_json(model))
    else:
        show_chain(model, output, table)
        with working(f"testing the chain on {file}"):
            diagnostics = diagnose(model, None if model.fitted.group is None else table)
        show_diagnostics(diagnostics)
        if options["order"] == 1 and not private:
            with working("comparing orders"):
                show_orders(model)
        show_files([] if picture is None else [picture])
    warn(model.fitted.warnings)
    if not model.fitted.public and not private:
        warn_about_fit()


def families(
    file: str,
    columns: list[str] | None,
    group: str | None,
    value: str | None,
    role: str | None,
    secret_range: tuple[float, float] | None,
    siblings: str | None,
    missing: list[str],
    output: Path | None,
    picture: Path | None,
    engine: str,
    json: bool,
    layout: Layout,
) -> None:
    """Gaussian records from the rows of families."""
    from corrdp.models.gaussian.records import GaussianRecords

    if siblings not in (None, "independent"):
        raise InputError(
            f"--siblings {siblings}: only 'independent' can be said; otherwise --group"
        )
    if columns is not None and (value or role):
        raise InputError(
            "--columns (and --group for siblings) is for wide tables, --group --role --value for "
            "long ones"
        )
    if columns is None and not (value and role and group):
        raise InputError("a long table needs --group, --role and --value")
    with working(f"estimating covariances in {file}"):
        model = GaussianRecords.fit(
            open_table(file, missing, engine, layout),
            columns=columns,
            group=group,
            value=value,
            role=role,
            secret_range=secret_range,
            siblings="independent" if siblings else None,
        )
    _finish(model, output, picture, json, show_families)


def network(
    file: str,
    state: str,
    identity: str,
    edges: str,
    missing: list[str],
    output: Path | None,
    picture: Path | None,
    engine: str,
    json: bool,
    layout: Layout,
) -> None:
    """An Ising model from the rows of nodes and a file of links."""
    from corrdp.models.networks.field import MarkovField

    # names are those of FILE; otherwise the links are laid out as it is
    links = USUAL if is_parquet(edges) else replace(layout, names=())
    with working(f"fitting couplings in {file}"):
        model = MarkovField.fit(
            open_table(file, missing, engine, layout),
            state=state,
            id=identity,
            edges=open_table(edges, missing, engine, links),
        )
    _finish(model, output, picture, json, show_model)


def pedigree(
    file: str,
    snp: str | None,
    frequency: float | None,
    target: float,
    missing: list[str],
    output: Path | None,
    picture: Path | None,
    json: bool,
    layout: Layout,
) -> None:
    """All SNPs of a file in linkage format, or the model of one."""
    from corrdp.models.pedigrees.linkage import read_linkage

    with working(f"reading genotypes in {file}"):
        found = read_linkage(open_table(file, missing, layout=layout))
    if snp is not None:
        model = found.pedigree(snp, frequency=frequency)
        _finish(model, output, picture, json, show_model)
        return
    if output is not None or frequency is not None:
        raise InputError("-o and --frequency are for the model of one SNP: add --snp NAME")
    report = _all_snps(found, target)
    if picture is not None:
        save_picture(report.plot(), picture)
    if json:
        print(as_json(report))
    else:
        show_snps(report, found)
        _written(None, picture)
    warn_about_fit()


def _all_snps(found: Any, target: float) -> Any:
    """The report on every SNP, with a bar while it is worked out."""
    from rich.console import Console
    from rich.progress import track

    from corrdp.report.snps import snp_report

    console = Console(stderr=True)

    def follow(names: Any) -> Any:
        if not console.is_terminal:
            return names
        return track(names, "working out every SNP", console=console, transient=True)

    return snp_report(found, target, track=follow)


def _finish(model: Any, output: Path | None, picture: Path | None, json: bool, show: Any) -> None:
    if output is not None:
        model.save(output)
    _draw(model, picture)
    if json:
        print(as_json(model))
    else:
        show(model)
        _written(output, picture)
    warn_about_fit()
