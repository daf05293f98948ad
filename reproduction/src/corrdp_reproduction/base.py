"""What every experiment shares: published constants, a computed table, a verdict on both.

The verdict is made from numbers: a finding never holds a conclusion that was typed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from corrdp._json import SCHEMA, check_header, decode_number, encode
from corrdp.errors import InputError
from corrdp.plots import axes_or_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Size = Literal["quick", "full"]
Outcome = Literal["reproduced", "refuted", "stand-in data", "data missing"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Published:
    """A constant or a claim of the source.

    Parameters
    ----------
    says : str
        What it is, in our words.
    where : str
        Section, and line in the stored text of the source.
    value : number or tuple, optional
        As printed; None for a claim in words.
    """

    says: str
    where: str
    value: Any = None


@dataclass(frozen=True)
class Finding:
    """What became of one claim.

    Parameters
    ----------
    claim : str
        Its key among the published.
    outcome : "reproduced", "refuted", "stand-in data" or "data missing"
        Refuted: it does not hold, or something stronger does. Stand-in data: those of the source
        are not at hand, and others had to do. Data missing: what would decide it is not there.
    found : str
        The numbers that decide, in words; why, when it is refuted.
    by_source : float, optional
        Our number by the source's own formula.
    tight : float, optional
        Our number by the tight method: every adversary, or the exact value.
    within : str
        What counts as reproduced, in words. Empty: printed digits agree, inequalities hold at
        every point that is computed, identities to rounding.
    """

    claim: str
    outcome: Outcome
    found: str
    by_source: float | None = None
    tight: float | None = None
    within: str = ""


def judge(
    claim: str,
    holds: bool,
    found: str,
    by_source: float | None = None,
    tight: float | None = None,
    *,
    within: str = "",
    instead: str = "",
) -> Finding:
    """A finding: reproduced where ``holds``, and refuted otherwise.

    ``instead`` names other data on which it was run: what came out there decides nothing about the
    source, and is told.

    Examples
    --------
    >>> judge("below", .61 < .622, "at most .61").outcome
    'reproduced'
    >>> judge("below", .61 < .622, "at most .61.", instead="small pictures").found
    'It holds on small pictures: at most .61.'
    """
    outcome: Outcome = "reproduced" if holds else "refuted"
    if instead:
        outcome = "stand-in data"
        found = f"It {'holds' if holds else 'does not hold'} on {instead}: {found}"
    return Finding(claim, outcome, found, by_source, tight, within)


@dataclass(frozen=True)
class Table:
    """A small table: the numbers behind a figure.

    Parameters
    ----------
    columns : tuple of str
    rows : tuple of tuples
        One entry per column; None where there is no number.

    Examples
    --------
    >>> table = Table(("theta", "success"), ((.1, .75), (.2, None)))
    >>> table.column("success")
    [0.75, None]
    >>> table.where(theta=.1).rows
    ((0.1, 0.75),)
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def column(self, name: str) -> list[Any]:
        """The entries of one column."""
        at = self._at(name)
        return [row[at] for row in self.rows]

    def where(self, **equal: Any) -> Table:
        """The rows whose named columns hold these values."""
        at = [(self._at(name), value) for name, value in equal.items()]
        return Table(self.columns, tuple(r for r in self.rows if all(r[k] == v for k, v in at)))

    def records(self) -> Iterable[dict[str, Any]]:
        """One dictionary per row."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def _at(self, name: str) -> int:
        if name not in self.columns:
            raise InputError(f"the table has no column {name!r}; it has {', '.join(self.columns)}")
        return self.columns.index(name)

    def __str__(self) -> str:
        cells = [self.columns, *(tuple(_shown(value) for value in row) for row in self.rows)]
        widths = [max(len(row[k]) for row in cells) for k in range(len(self.columns))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
        return "\n".join(lines)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What an experiment computed, and how it compares.

    Parameters
    ----------
    experiment : str
        Its name in the catalogue.
    size : "quick" or "full"
    table : Table
    findings : tuple of Finding
    inputs : mapping
        Everything that was chosen: constants of the source, sizes.
    notes : tuple of str
        What a reader should know beside the numbers.
    """

    experiment: str
    size: Size
    table: Table
    findings: tuple[Finding, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """What became of the claims together.

        Refuted if one is; else reproduced if what decides is at hand for any; else on stand-in
        data, if any was run.
        """
        outcomes = {finding.outcome for finding in self.findings}
        ranked: tuple[Outcome, ...] = ("refuted", "reproduced", "stand-in data")
        return next((found for found in ranked if found in outcomes), "data missing")

    @property
    def verdict(self) -> str:
        """Each published claim, what became of it and the numbers, in words."""
        from corrdp_reproduction.catalogue import load

        claims = load(self.experiment).published
        lines = []
        for finding in self.findings:
            claim = claims[finding.claim]
            lines.append(f"{finding.outcome}: {claim.says} ({claim.where}). {finding.found}")
        return "\n".join(lines)

    def finding(self, claim: str) -> Finding:
        """What became of one claim."""
        for finding in self.findings:
            if finding.claim == claim:
                return finding
        said = ", ".join(finding.claim for finding in self.findings)
        raise InputError(f"no finding on {claim!r}; there are {said}")

    def plot(self, ax: Axes | None = None, panel: int = 0) -> Axes:
        """Draw one panel of the figure, from the table alone; on new axes when none are given."""
        from corrdp_reproduction.catalogue import load

        return load(self.experiment).panels[panel](self, axes_or_pyplot(ax))

    def __repr__(self) -> str:
        lines = [f"{self.experiment} ({self.size}): {self.outcome}", self.verdict, str(self.table)]
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "corrdp": SCHEMA,
            "result": "experiment",
            "experiment": self.experiment,
            "size": self.size,
            "outcome": self.outcome,
            "inputs": encode(dict(self.inputs)),
            "columns": list(self.table.columns),
            "rows": encode(self.table.rows),
            "findings": [encode(vars(finding)) for finding in self.findings],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Result:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "experiment")
        rows = tuple(tuple(decode_number(value) for value in row) for row in data["rows"])
        return cls(
            data["experiment"],
            data["size"],
            Table(tuple(data["columns"]), rows),
            tuple(Finding(**finding) for finding in data["findings"]),
            data["inputs"],
            tuple(data["notes"]),
        )
