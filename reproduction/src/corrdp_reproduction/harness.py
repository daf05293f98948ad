"""The harness of the experiments: what each is called, what one run may use, how it is drawn.

An experiment is a function of a :class:`Run` under ``@experiment(...)``, which names it and the
constants and claims of its source, each with its place; ``@<it>.panel(...)`` draws a picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from corrdp.errors import InputError
from corrdp.plots import INK, MUTED, axes_or_new
from corrdp_reproduction.base import Finding, Published, Result, Size, Table

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes

Progress = Callable[[int, int], None]
Draw = Callable[[Result, "Axes"], None]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Panel:
    """One picture of a figure: what is drawn, and the frame around it."""

    draw: Draw
    x: str
    y: str
    legend: Mapping[str, Any]
    title: str = ""

    def __call__(self, result: Result, ax: Axes) -> Axes:
        axes_or_new(ax, 3.0)  # neutral styling
        self.draw(result, ax)
        if self.title:
            ax.set_title(self.title, fontsize=9, color=INK, loc="left")
        if self.x:
            ax.set_xlabel(self.x, fontsize=9)
        if self.y:
            ax.set_ylabel(self.y, fontsize=9)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(**{"fontsize": 8, "frameon": False, "labelcolor": MUTED, **self.legend})
        return ax


@dataclass(frozen=True)
class Experiment:
    """A published figure or table that can be run again.

    Parameters
    ----------
    name : str
        Its key in the catalogue.
    title : str
    source : str
        Author, title, year, and which figure.
    published : dict
        Constants and claims by key.
    compute : callable
        Makes the result of a :class:`Run`; some take more keywords of their own.
    panels : list of Panel
        Its pictures; each is drawn from the result alone, so that a stored result can be drawn.
    """

    name: str
    title: str
    source: str
    published: dict[str, Published]
    compute: Callable[..., Result]
    panels: list[Panel] = field(default_factory=list)

    def computed(
        self,
        *,
        rng: np.random.Generator,
        size: Size = "quick",
        data: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        **chosen: Any,
    ) -> Result:
        """Run it.

        Parameters
        ----------
        rng : numpy.random.Generator
            The only source of randomness.
        size : "quick" or "full"
        data : path, optional
            Directory of the public tables; that of ``CORRDP_DATA`` when left out.
        progress : callable, optional
            ``progress(done, total)`` is called now and then.
        **chosen
            What this experiment takes beside.

        Examples
        --------
        >>> from corrdp_reproduction.catalogue import load
        >>> load("000-figure-3").computed(rng=np.random.default_rng(1)).outcome
        'reproduced'
        """
        if not isinstance(rng, np.random.Generator):
            raise InputError(f"rng must be a numpy.random.Generator, got {rng!r}")
        if size not in ("quick", "full"):
            raise InputError(f"size must be 'quick' or 'full', got {size!r}")
        told: list[int] = []

        def tell(done: int, total: int) -> None:
            told.append(done)
            (progress or silent)(done, total)

        result = self.compute(Run(self, rng, size, data, tell), **chosen)
        for done in () if told else (0, 1):  # one step, done at once
            tell(done, 1)
        return result

    def panel(self, x: str, y: str = "", **legend: Any) -> Callable[[Draw], Draw]:
        """A picture by the decorated function, in a frame of these labels and this legend.

        An empty label is left to the function, which may need the result for it.
        """

        def add(draw: Draw) -> Draw:
            self.panels.append(Panel(draw, x, y, legend))
            return draw

        return add

    def panels_of(
        self, titles: Mapping[Any, str], x: str, y: str = "", **legend: Any
    ) -> Callable[[Callable[[Any, Result, Axes], None]], Callable[[Any, Result, Axes], None]]:
        """One picture for each key of ``titles``, which the decorated function gets first."""

        def add(draw: Callable[[Any, Result, Axes], None]) -> Callable[[Any, Result, Axes], None]:
            for key, title in titles.items():
                self.panels.append(Panel(partial(draw, key), x, y, legend, title))
            return draw

        return add


@dataclass(frozen=True)
class Run:
    """One run of an experiment: what it may use, and how it hands back what it found.

    Parameters
    ----------
    experiment : Experiment
    rng : numpy.random.Generator
        The only source of randomness.
    size : "quick" or "full"
    data : path or None
        Directory of the public tables; None for that of ``CORRDP_DATA``.
    progress : callable
    """

    experiment: Experiment
    rng: np.random.Generator
    size: Size
    data: str | os.PathLike[str] | None
    progress: Progress

    @property
    def given(self) -> dict[str, Any]:
        """The published constants that are numbers, by key."""
        said = self.experiment.published.items()
        return {key: entry.value for key, entry in said if entry.value is not None}

    def over(self, items: Sequence[Item]) -> Iterator[Item]:
        """The items one by one, told as progress."""
        for k, item in enumerate(items):
            self.progress(k, len(items))
            yield item
        self.progress(len(items), len(items))

    def result(
        self,
        table: Table,
        findings: Iterable[Finding],
        inputs: Mapping[str, Any] | None = None,
        notes: Iterable[str] = (),
    ) -> Result:
        """What this run found."""
        return Result(
            self.experiment.name, self.size, table, tuple(findings), inputs or {}, tuple(notes)
        )


def experiment(
    name: str, title: str, source: str, published: dict[str, Published]
) -> Callable[[Callable[..., Result]], Experiment]:
    """The experiment whose result the decorated function makes of a :class:`Run`.

    Examples
    --------
    >>> from corrdp_reproduction.base import judge
    >>> claims = {"half": Published("a fair coin", "page 1", 0.5)}
    >>> @experiment("coin", "A coin", "Bernoulli", claims)
    ... def coin(run):
    ...     heads = float(run.rng.integers(0, 2, 1000).mean())
    ...     near = judge("half", abs(heads - run.given["half"]) < 0.05, f"{heads:g}")
    ...     return run.result(Table(("heads",), ((heads,),)), [near])
    >>> coin.computed(rng=np.random.default_rng(1)).outcome
    'reproduced'
    """

    def made(compute: Callable[..., Result]) -> Experiment:
        return Experiment(name, title, source, published, compute)

    return made


def curves(ax: Axes, table: Table, x: str, drawn: Iterable[tuple[str, str, str, str]]) -> None:
    """Columns of a table against another: name, colour, style and what the legend says of each.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> table = Table(("epsilon", "rad"), ((1.0, .1), (2.0, None)))
    >>> curves(ax, table, "epsilon", [("rad", "k", "-", "exact")])
    >>> [line.get_label() for line in ax.lines]
    ['exact']
    """
    at = table.column(x)
    for name, colour, style, said in drawn:
        values = [np.nan if value is None else value for value in table.column(name)]
        ax.plot(at, values, style, color=colour, linewidth=1.5, markersize=4, label=said)


def silent(done: int, total: int) -> None:
    """Progress that nobody watches."""
