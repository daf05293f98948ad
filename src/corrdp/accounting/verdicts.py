"""What came of a claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from corrdp._json import encode
from corrdp.accounting.plan import Claim


def apart(one: float, two: float, *, differ: bool) -> tuple[str, str]:
    """Two numbers in words, with as many digits as it takes to tell them apart if they differ.

    Examples
    --------
    >>> apart(1 - 1e-9, 1.0, differ=True)
    ('0.999999999', '1')
    >>> apart(1.8, 1.8000000000000003, differ=False)
    ('1.8', '1.8')
    """
    digits = 6
    while differ and digits < 17 and f"{one:.{digits}g}" == f"{two:.{digits}g}":
        digits += 1
    return f"{one:.{digits}g}", f"{two:.{digits}g}"


@dataclass(frozen=True)
class Verdict:
    """Whether a claimed total holds.

    ``found`` is the total that was computed, inf where the releases have none in the unit of the
    claim; for a claim of mu, pure releases count with the mu that they imply. ``finding`` names
    the lint rule that explains how the claim went wrong, where one does.
    """

    claim: Claim
    found: float
    holds: bool
    finding: str = ""

    def __repr__(self) -> str:
        word = "holds" if self.holds else "REJECTED"
        unit = "epsilon" if self.claim.notion == "pure" else "mu"
        claimed, found = apart(self.claim.level, self.found, differ=not self.holds)
        if math.isinf(self.found):
            found = f"no finite {unit}"
        text = f"claim {unit} {claimed} at {self.claim.target}: {word}, found {found}"
        return text + (f" ({self.finding})" if self.finding else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "claim": self.claim.to_dict(),
            "found": encode(self.found),
            "holds": self.holds,
            "finding": self.finding,
        }
