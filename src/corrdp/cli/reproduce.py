"""``corrdp reproduce``: do the published results hold?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corrdp.cli.options import Json, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corrdp_reproduction.base import Result

EXAMPLE = "Example: corrdp reproduce --only 001-figure-2 --quick"


def reproduce(
    only: Annotated[
        list[str] | None,
        typer.Option(help="A figure or table by name, or a beginning such as 001; repeatable."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Directory of the public tables; else CORRDP_DATA.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repetitions, same claims: minutes.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes at once.")] = 1,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for report, JSON and kept results.")
    ] = Path("reproduction"),
    attackers: Annotated[
        str | None,
        typer.Option(
            help="For 001-figure-4: some of viterbi,forward-backward,single,lstm; if left out, all "
            "that can: lstm needs PyTorch, and some minutes."
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name what there is, and stop.")] = False,
    json: Json = False,
) -> None:
    """Run the published figures and tables again, next to the truth.

    A run that was stopped goes on where it was: results made by the same code, seed and data are
    kept in the output directory.
    """
    import corrdp

    run = corrdp.reproduce  # says what to install where it is missing
    from corrdp_reproduction.running import matching

    names = matching(None if only is None else [w for text in only for w in words(text)])
    if listed:
        _list(names)
        return
    import os

    from corrdp_reproduction.page import write_reproduction
    from corrdp_reproduction.recordings import VARIABLE

    from corrdp.cli.show import say_aside, show_files

    if data is None and not os.environ.get(VARIABLE):
        say_aside(
            f"no directory of the public tables is named: claims that need them will not be run. "
            f"Name it with --data DIRECTORY, or {VARIABLE}=DIRECTORY before the command"
        )
    with _bar(len(names), quiet=json) as told:
        results = run(
            names,
            size="quick" if quick else "full",
            data=data,
            jobs=jobs,
            store=output / "results",
            told=told,
            attackers=() if attackers is None else tuple(words(attackers)),
        )
    files = write_reproduction(output, results)
    if json:
        print(files[1].read_text(), end="")
        return
    _show(results)
    show_files(files)


def _list(names: Sequence[str]) -> None:
    from corrdp_reproduction.catalogue import load

    for name in names:
        print(f"{name:18} {load(name).title}")


class _bar:
    """A progress bar that knows which experiment came last; lines where no terminal shows it."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        console = Console(stderr=True)
        self._lines = not (quiet or console.is_terminal)
        self._progress = Progress(
            TextColumn("reproduce"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            console=console,
            disable=quiet or self._lines,
            transient=True,
        )
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> _bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, name: str, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total, description=name)
        if self._lines and name:
            import sys

            print(f"{done}/{total} {name}", file=sys.stderr, flush=True)


def _show(results: Sequence[Result]) -> None:
    from corrdp_reproduction.base import OUTCOMES
    from corrdp_reproduction.catalogue import load
    from rich.table import Table
    from rich.text import Text

    from corrdp.cli.show import print_parts

    table = Table()
    # a name that is cut short could not be given to --only
    table.add_column("item", min_width=max(len(result.experiment) for result in results))
    for heading in ("what", *OUTCOMES):
        table.add_column(heading)
    for result in results:
        outcomes = [finding.outcome for finding in result.findings]
        counts = (str(outcomes.count(outcome) or "") for outcome in OUTCOMES)
        table.add_row(result.experiment, Text(load(result.experiment).title), *counts)
    print_parts(table)
    for result in results:
        for line in result.verdict.splitlines():
            if line.startswith("refuted"):
                print_parts(Text(f"{result.experiment}: {line}"))
