"""What a linter returns: mistakes, each with its rule, its place and its repair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from corrdp._json import SCHEMA, check_header, encode
from corrdp.errors import InputError

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
