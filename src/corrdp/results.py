"""What proves a number: the theorem, the adversary that attains it, the bounds that were tried.

What a linter returns: mistakes, each with its rule, its place and its repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from corrdp._checks import check_number
from corrdp._json import SCHEMA, check_header, decode_number, encode
from corrdp.errors import InputError

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


@dataclass(frozen=True)
class Certificate:
    """The theorem that proves a number, and everything it assumes, in words."""

    name: str
    reference: str
    assumptions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Certificate:
        """Inverse of :meth:`to_dict`."""
        return cls(data["name"], data["reference"], tuple(data["assumptions"]))


@dataclass(frozen=True)
class Witness:
    """The adversary that attains (or is bounded by) a leakage.

    Parameters
    ----------
    target : int or None
        Index of the record attacked, counted from 0; None when any record in the interior of a
        long enough chain does.
    values : pair
        The two values of the target that are told apart.
    known : tuple of (offset, value)
        Records that the adversary knows, as offsets from the target.
    note : str
        What else the adversary or the worst mechanism needs.
    """

    target: int | None
    values: tuple[Any, Any] | None = None
    known: tuple[tuple[int, Any], ...] = ()
    note: str = ""

    def __str__(self) -> str:
        who = "an interior record" if self.target is None else f"record {self.target}"
        told = "" if self.values is None else f", {self.values[0]!r} against {self.values[1]!r}"
        if self.known:
            knows = ", ".join(f"{value!r} at offset {offset:+d}" for offset, value in self.known)
        else:
            knows = "no other record"
        return f"{who}{told}, knowing {knows}" + (f" ({self.note})" if self.note else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Witness:
        """Inverse of :meth:`to_dict`."""
        values = data["values"]
        return cls(
            data["target"],
            None if values is None else (values[0], values[1]),
            tuple((offset, value) for offset, value in data["known"]),
            data["note"],
        )


@dataclass(frozen=True)
class Candidate:
    """One bound that was tried: its value, or why it does not apply."""

    method: str
    value: float | None = None
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Candidate:
        """Inverse of :meth:`to_dict`."""
        return cls(data["method"], decode_number(data["value"]), data["reason"])


@dataclass(frozen=True)
class Metric:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Metric:
        """Inverse of :meth:`to_dict`."""
        pieces = tuple((float(slope), float(top)) for slope, top in data["pieces"])
        return cls(pieces, float(data["rounding"]))


Severity = Literal["error", "warning"]
NO_PROOF = "a linter looks for known mistakes and believes the description; it proves nothing"


@dataclass(frozen=True)
class Finding:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return encode(vars(self))


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
    def from_dict(cls, data: dict[str, Any]) -> Findings:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "findings")
        try:
            return cls(Finding(**item) for item in data["findings"])
        except (KeyError, TypeError) as error:
            raise InputError(f"these are not findings: {error}") from None


def _many(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'s' if count > 1 else ''}"
