"""What results share: JSON by fields, certificate, witness, candidates; findings of a linter."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from corrdp._checks import check_number, old_attribute
from corrdp._json import SCHEMA, check_header, read_fields, strict, write_fields
from corrdp._tabular import as_frame, as_html, as_latex, columns_of, save_result

# each release is priced by itself, and nothing but a ledger knows of the others
OTHERS_ADD = "other releases about the same records add to this one; keep them in one ledger"
Kind = Literal["exact", "upper bound", "lower bound", "estimate"]


def verb(name: str) -> Callable[..., Any]:
    """A verb of a higher room, for a method that is only its spelling: the one door upwards.

    Every other import goes from a higher room to a lower one.

    Parameters
    ----------
    name : str
        Below ``corrdp``, such as ``"release.number.draw"``.

    Examples
    --------
    >>> verb("bounds.leakage.leakage").__name__
    'leakage'
    """
    room, function = name.rsplit(".", 1)
    found: Callable[..., Any] = getattr(import_module(f"corrdp.{room}"), function)
    return found


class Result:
    """The base of what a verb returns and of its parts: frozen dataclasses, JSON by their fields.

    A subclass is a dataclass. It says with ``result`` what it is called in a file (a part of
    another result has no name of its own), with ``number`` what ``float`` gives, with ``keys`` what
    is written, in order, where that is not just the fields (properties may be among them: they
    follow from the fields and are not read), and with ``more`` whether a command may write other
    keys beside.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Answer(Result):
    ...     result = "answer"
    ...     value: float
    >>> Answer(.5).to_dict()
    {'corrdp': 1, 'result': 'answer', 'value': 0.5}
    >>> Answer.from_dict({"corrdp": 1, "result": "answer", "value": "inf"})
    Answer(value=inf)
    >>> float(Answer(.5))
    0.5
    """

    result: ClassVar[str] = ""
    number: ClassVar[str] = "value"
    keys: ClassVar[str] = ""
    more: ClassVar[bool] = False

    def __float__(self) -> float:
        if not hasattr(self, self.number):
            raise TypeError(f"{type(self).__name__} is no single number")
        return float(getattr(self, self.number))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        header = {"corrdp": SCHEMA, "result": self.result} if self.result else {}
        return header | write_fields(self, self.keys.split())

    @classmethod
    @strict
    def from_dict(cls, data: Any) -> Self:
        """Inverse of :meth:`to_dict`."""
        if cls.result:
            check_header(data, cls.result)
            data = {key: data[key] for key in data if key not in ("corrdp", "result")}
        read: Self = read_fields(cls, data, cls.keys.split(), more=cls.more)
        return read

    def tabulated(self) -> dict[str, list[Any]]:
        """The one table of this result, as columns: its parts, one a row, or its plain values."""
        return columns_of(self)

    def to_frame(self, kind: Literal["pandas", "polars", "arrow"] = "pandas") -> Any:
        """The table of this result as a data frame.

        Parameters
        ----------
        kind : {"pandas", "polars", "arrow"}

        Examples
        --------
        >>> import corrdp as cdp
        >>> leak = cdp.leakage(cdp.MarkovChain([[.9, .1], [.2, .8]], length=4), 1.0)
        >>> list(leak.to_frame().columns)
        ['method', 'value', 'reason']
        """
        return as_frame(self.tabulated(), kind)

    def to_latex(self) -> str:
        """The table of this result for LaTeX (booktabs)."""
        return as_latex(self.tabulated())

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write all of it as .json, or its table as .csv, .parquet or .tex, by the ending.

        What exists is not written over without ``overwrite``: it may be the record of a release.
        """
        return save_result(self, path, overwrite)

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.tabulated())


@dataclass(frozen=True)
class Certificate(Result):
    """The theorem that proves a number, and everything it assumes, in words."""

    name: str
    reference: str
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Witness(Result):
    """The adversary that attains (or is bounded by) a leakage.

    Parameters
    ----------
    record : int or None
        Index of the record attacked, counted from 0; None when any record in the interior of a
        long enough chain does.
    values : pair
        The two values of the record that are told apart.
    known : tuple of (offset, value)
        Records that the adversary knows, as offsets from the record.
    note : str
        What else the adversary or the worst mechanism needs.
    """

    record: int | None = field(metadata={"key": "target"})  # as files of version 0.1.0 say
    values: tuple[Any, Any] | None = None
    known: tuple[tuple[int, Any], ...] = ()
    note: str = ""
    target = old_attribute("target", "record")

    def __str__(self) -> str:
        who = "an interior record" if self.record is None else f"record {self.record}"
        told = "" if self.values is None else f", {self.values[0]!r} against {self.values[1]!r}"
        if self.known:
            knows = ", ".join(f"{value!r} at offset {offset:+d}" for offset, value in self.known)
        else:
            knows = "no other record"
        return f"{who}{told}, knowing {knows}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Candidate(Result):
    """One bound that was tried: its value, or why it does not apply."""

    method: str
    value: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Metric(Result):
    """Bayesian metric privacy: leakage about a real record by how far two values lie apart.

    ``at(x, x') = max over pieces of min(ceiling, slope * |x - x'| + rounding)``

    Parameters
    ----------
    pieces : tuple of (slope, ceiling)
        One pair per kind of record: leakage per unit of distance, and the most that any two
        values can leak (inf when the mechanism is not DP).
    rounding : float
        What rounding each record to the query's grid can add.

    Examples
    --------
    >>> Metric(((.0145, 2.0),)).at(160, 40)
    1.74
    >>> Metric(((.0145, 2.0),)).at(1000, -800)
    2.0
    """

    pieces: tuple[tuple[float, float], ...]
    rounding: float = 0.0

    def at(self, x: float, x2: float) -> float:
        """Leakage between two values of one record."""
        distance = abs(check_number("x", x) - check_number("x2", x2))
        if distance == 0.0:
            return 0.0
        return max(min(top, slope * distance + self.rounding) for slope, top in self.pieces)


Severity = Literal["error", "warning"]
NO_PROOF = "a linter looks for known mistakes and believes the description; it proves nothing"


@dataclass(frozen=True)
class Finding(Result):
    """One mistake: the rule, how bad it is, where, and what to do.

    Parameters
    ----------
    rule : str
        "L-01" and so on, see docs/lint.md.
    severity : {"error", "warning"}
        An error refutes the claim; a warning says what the claim leaves open.
    where : str
        Position in the description or plan.
    message : str
        What is wrong, by how much, and how to repair it.

    Examples
    --------
    >>> Finding("L-08", "warning", "proof", "no proof is given; give one")
    L-08 warning at proof: no proof is given; give one
    """

    rule: str
    severity: Severity
    where: str
    message: str

    def __repr__(self) -> str:
        return f"{self.rule} {self.severity} at {self.where}: {self.message}"


class Findings(tuple[Finding, ...]):
    """Everything a linter found, a tuple of :class:`Finding`; errors come first.

    Examples
    --------
    >>> found = Findings([Finding("L-08", "warning", "proof", "no proof is given; give one")])
    >>> found.ok, len(found.warnings)
    (True, 1)
    >>> found
    no error, 1 warning (a linter looks for known mistakes and believes the description; it \
proves nothing)
      L-08 warning at proof: no proof is given; give one
    """

    __slots__ = ()

    def __new__(cls, found: Iterable[Finding] = ()) -> Findings:
        return super().__new__(cls, sorted(found, key=lambda f: f.severity))  # "error" is first

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that refute the claim."""
        return tuple(f for f in self if f.severity == "error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that leave the claim open, or say what it does not mean."""
        return tuple(f for f in self if f.severity == "warning")

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    @property
    def rules(self) -> tuple[str, ...]:
        """Rules that found something, each once, in order of their number."""
        return tuple(sorted({f.rule for f in self}))

    def __repr__(self) -> str:
        errors, warnings = len(self.errors), len(self.warnings)
        head = f"{_many(errors, 'error')}, {_many(warnings, 'warning')}"
        if not errors:
            head += f" ({NO_PROOF})"
        return "\n".join([head, *(f"  {finding}" for finding in self)])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "corrdp": SCHEMA,
            "result": "findings",
            "ok": self.ok,
            "findings": [finding.to_dict() for finding in self],
            "note": NO_PROOF,
        }

    @classmethod
    @strict
    def from_dict(cls, data: dict[str, Any]) -> Findings:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "findings")
        return cls(Finding.from_dict(item) for item in data["findings"])


def _many(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'s' if count > 1 else ''}"
