"""What a table looks like to corrdp, before anything is fitted: columns, time, states, next step.

No label and no measurement of the data is told, as a rule: how many values there are, not which.
Even so these are facts of private data, for the steward's eyes.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corrdp.plots import axes_or_pyplot
from corrdp.results import Result
from corrdp.tables.clock import Clock, Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EYES = "for the steward's eyes: this tells facts of private data; publish none of it"


@dataclass(frozen=True)
class ColumnFacts(Result):
    """One column: how it was read, and what it could be used for.

    Parameters
    ----------
    name : str
    type : str
        What its values are, in words.
    form : str
        The format of its dates or times, where that was recognised.
    missing : int
        Rows in which nothing was recorded.
    distinct : int
        How many different values it has.
    role : str
        What it looks like: time, group, state, measurement, id, constant, empty or other.
    """

    name: str
    type: str
    form: str
    missing: int
    distinct: int
    role: str


@dataclass(frozen=True)
class StateProposal(Result):
    """What could be a state: an expression for ``--state``, what else to give, and why.

    Parameters
    ----------
    state : str
    options : str
        Further options of ``corrdp fit series``; words in capitals are to be filled in.
    why : str
    """

    state: str
    options: str
    why: str


@dataclass(frozen=True)
class Timeline(Result):
    """How a column runs along time, in stretches of equal length.

    Parameters
    ----------
    what : str
        The column or expression.
    kind : {"mean", "share"}
        Means with the lower and upper quartile, or shares of the values, the most frequent first.
    unit : str
        What times count in, as in :class:`~corrdp.tables.clock.Clock`; "row" without order columns.
    first, width : float
        Where the first stretch begins, and how long each is.
    rows : tuple of int
        Rows in each stretch.
    curves : tuple of tuple of (float or None)
        One number per stretch; None where nothing was recorded.
    """

    what: str
    kind: str
    unit: str
    first: float
    width: float
    rows: tuple[int, ...]
    curves: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, repr=False)
class Overview(Result):
    """How a table was read, what could be a state, and what to do next; from :func:`corrdp.check`.

    Parameters
    ----------
    path : str
        The file, or words for a data frame.
    rows : int
    columns : tuple of ColumnFacts
    order_by, group : tuple of str, str or None
        What puts the rows in order and what tells sequences apart.
    guessed : tuple of str
        Which of "order" and "group" were guessed.
    clock : Clock or None
        First and last time and the usual step.
    reading : Reading
        How times were read: formats, zone, gaps.
    zone : str
        What is known of the zone of the times, in words.
    sequences, longest, gaps : int
        Sequences (people, rooms); rows of the longest; steps in time that are longer than usual.
    problem : str
        Why a fit would be refused as the rows are read here; empty where nothing stands against it.
    states : tuple of StateProposal
    notes : tuple of str
        What looks odd, and what to do about it.
    next : str
        A command, or a line of Python, to go on with.
    timeline : Timeline or None
    """

    result = "overview"
    keys: ClassVar[str] = (
        "note path rows columns order_by group guessed clock reading zone sequences longest gaps "
        "problem states notes next timeline"
    )

    path: str
    rows: int
    columns: tuple[ColumnFacts, ...]
    order_by: tuple[str, ...]
    group: str | None
    guessed: tuple[str, ...]
    clock: Clock | None
    reading: Reading
    zone: str
    sequences: int
    longest: int
    gaps: int
    problem: str
    states: tuple[StateProposal, ...]
    notes: tuple[str, ...]
    next: str
    timeline: Timeline | None

    @property
    def note(self) -> str:
        """For whom this is."""
        return EYES

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Names and what they say, for screens."""
        said = [("rows", f"{self.rows:,}")]
        if self.order_by:
            said.append(("order", self._with_guess("order", ", ".join(self.order_by))))
        if self.group is not None:
            said.append(("group", self._with_guess("group", self.group)))
        if self.clock is None:
            unread = "not read as time: see the problem" if self.order_by else ""
            said.append(("time", unread or "the order of the rows; gaps cannot be seen"))
        else:
            said += [("time", self.clock.words), ("usual step", self.clock.step)]
            forms = [form for form in self.reading.formats if form]
            forms = forms or [c.form for c in self.columns if c.name in self.order_by and c.form]
            said += [("read as", ", ".join(forms))] if forms else []
            said += [("zone", self.zone)] if self.zone else []
            looked = f"{self.gaps:,}" if self.reading.gaps else "not looked for: events in order"
            said.append(("gaps", looked if not self.problem else "not counted"))
        if self.sequences:
            said.append(("sequences", f"{self.sequences:,}, the longest of {self.longest:,} rows"))
        return said

    def _with_guess(self, name: str, text: str) -> str:
        return f"{text} (guessed)" if name in self.guessed else text

    def __repr__(self) -> str:
        wide = max(len(column.name) for column in self.columns)
        lines = [f"Overview of {self.path} ({EYES})"]
        lines += [f"  {name:<12} {value}" for name, value in self.facts]
        lines += [f"  column       {c.name:<{wide}}  {column_words(c)}" for c in self.columns]
        lines += [f"  state        {proposal_words(p)}" for p in self.states]
        lines += [f"  problem      {self.problem}"] if self.problem else []
        lines += [f"  note         {text}" for text in self.notes]
        return "\n".join([*lines, f"  next         {self.next}"])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how the series runs along time, gaps and all; returns the matplotlib axes."""
        from corrdp.plots.series import draw_timeline

        return draw_timeline(self, axes_or_pyplot(ax))


def column_words(column: ColumnFacts) -> str:
    """A column in a line.

    Examples
    --------
    >>> column_words(ColumnFacts("day", "dates", "iso", 2, 365, "time"))
    'dates (iso), 365 values, 2 missing: time'
    """
    form = f" ({column.form})" if column.form else ""
    values = "1 value" if column.distinct == 1 else f"{column.distinct:,} values"
    missing = f", {column.missing:,} missing" if column.missing else ""
    return f"{column.type}{form}, {values}{missing}: {column.role}"


def proposal_words(proposal: StateProposal) -> str:
    """A proposal in a line."""
    options = f" {proposal.options}" if proposal.options else ""
    return f"--state {shlex.quote(proposal.state)}{options} ({proposal.why})"


def counted(number: int, word: str) -> str:
    """A number and its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {word}{'' if number == 1 else 's'}"
