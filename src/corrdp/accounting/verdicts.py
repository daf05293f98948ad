"""What came of a claim."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corrdp.accounting.plan import Claim
from corrdp.encoding import encode


@dataclass(frozen=True)
class Verdict:
    """Whether a claimed total holds.

    ``found`` is the total that was computed; ``finding`` names the lint rule that explains how
    the claim went wrong, where one does.
    """

    claim: Claim
    found: float
    holds: bool
    finding: str = ""

    def __repr__(self) -> str:
        word = "holds" if self.holds else "REJECTED"
        unit = "epsilon" if self.claim.notion == "pure" else "mu"
        text = f"claim {unit} {self.claim.level:g} at {self.claim.target}: {word}"
        return f"{text}, found {self.found:.6g}" + (f" ({self.finding})" if self.finding else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "claim": self.claim.to_dict(),
            "found": encode(self.found),
            "holds": self.holds,
            "finding": self.finding,
        }
