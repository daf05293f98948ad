"""18 trajectory mechanisms of 17 works: what the survey found, and what the linter says to each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any

from corrdp.errors import InputError
from corrdp.linting.description import Description
from corrdp.linting.lint import lint
from corrdp.linting.reading import read_description
from corrdp.results import Findings

NOT_DP = "not DP"


@dataclass(frozen=True, eq=False)
class Surveyed:
    """One mechanism: its description, the published verdict, and what the linter finds.

    Attributes
    ----------
    key : str
        Name of its file in this package, without ``.json``.
    mechanism : Description
        With ``source``: reference, title, family, verdict, rules.
    """

    key: str
    mechanism: Description

    @cached_property
    def findings(self) -> Findings:
        """What :func:`corrdp.linting.lint.lint` says."""
        return lint(self.mechanism)

    @property
    def verdict(self) -> str:
        """As the survey gives it."""
        return self.mechanism.source["verdict"]

    @property
    def agrees(self) -> bool:
        """Whether errors are found exactly if it is not DP, the survey's own rules among them."""
        return self.findings.ok == (self.verdict != NOT_DP) and set(
            self.mechanism.source["rules"]
        ) <= set(self.findings.rules)

    def __repr__(self) -> str:
        source = self.mechanism.source
        return f"{source['reference']} {self.mechanism.name} ({source['family']}): {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "key": self.key,
            "name": self.mechanism.name,
            "claim": f"{self.mechanism.claim.granularity} {self.mechanism.claim.level}",
            **{k: list(v) if k == "rules" else v for k, v in self.mechanism.source.items()},
            "agrees": self.agrees,
            "lint": self.findings.to_dict(),
        }


def survey() -> tuple[Surveyed, ...]:
    """Every surveyed mechanism, in the order of its reference.

    References
    ----------
    Guerra-Balboa, dissertation, table 3.2.

    Examples
    --------
    >>> found = survey()
    >>> len(found), sum(s.verdict == NOT_DP for s in found), all(s.agrees for s in found)
    (18, 10, True)
    """
    files = [f.name for f in resources.files(__package__).iterdir() if f.name.endswith(".json")]
    found = [surveyed(name.removesuffix(".json")) for name in files]
    return tuple(sorted(found, key=lambda s: int(s.mechanism.source["reference"].strip("[]"))))


def surveyed(key: str) -> Surveyed:
    """One mechanism of the survey.

    Examples
    --------
    >>> surveyed("hua-2015").findings.rules
    ('L-02', 'L-03', 'L-04', 'L-05', 'L-07', 'L-24')
    """
    import json

    file = resources.files(__package__).joinpath(f"{key}.json")
    if "/" in key or not file.is_file():
        raise InputError(f"no surveyed mechanism is called {key!r}; survey() lists them")
    return Surveyed(key, read_description(json.loads(file.read_text(encoding="utf-8"))))
