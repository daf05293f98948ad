"""What ``audit`` returns: a verdict with every test that led to it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from corrdp._json import coded
from corrdp.guarantees import Approximate, Pure
from corrdp.plots import axes_or_pyplot
from corrdp.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ANY = "any mechanism"
Verdict = Literal["holds", "violated", "undecided"]


@dataclass(frozen=True)
class Test(Result):
    """One attack, and the epsilon that its success shows.

    Parameters
    ----------
    name : str
        Short: "success", "pair", "event", "family: success", "family: likelihood".
    statement : str
        What was done and counted, in words.
    estimate, low, high : float
        The epsilon that the attack shows, and its confidence limits.
    sound : bool
        True: ``low`` is a lower limit for the epsilon of *any* mechanism (at the delta claimed).
        False: it is one only if the mechanism belongs to the family named in the statement.
    runs : int
        How many runs were counted; fewer than all where others served to find the attack.
    delta : float or None
        Sound tests: a lower limit for the delta at the epsilon claimed.
    decides : bool
        Whether ``holds`` needs its upper limit; False where a test only looks for violations.
    """

    __test__: ClassVar[bool] = False  # not one of pytest's

    name: str
    statement: str
    estimate: float
    low: float
    high: float
    sound: bool
    runs: int
    delta: float | None = None
    decides: bool = True


def _write_claim(claim: Pure | Approximate) -> dict[str, float]:
    delta = claim.delta if isinstance(claim, Approximate) else 0.0
    return {"epsilon": float(claim.epsilon), "delta": delta}


def _read_claim(data: dict[str, float]) -> Pure | Approximate:
    return Approximate(**data) if data["delta"] else Pure(data["epsilon"])


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """Whether a mechanism keeps its promise, as far as attacks on its outputs can tell.

    Parameters
    ----------
    estimate : float
        The epsilon that the best sound attack shows.
    interval : (float, float)
        ``low``: the mechanism's epsilon (at the delta claimed) is at least this. ``high``: no
        attack tried shows more. All limits of all tests hold together with the confidence.
    verdict : "holds", "violated" or "undecided"
        ``violated``: a lower limit is above the claim. ``holds``: no attack tried beats the claim
        by more than 5 %, with runs that could have shown it; never a proof. Else ``undecided``.
    claim : Pure or Approximate
    attack : str
        The attack behind the estimate (or behind the violation), in words.
    tests : tuple of Test
        Everything that was tried.
    runs : int
    runs_needed : int or None
        If undecided: about how many runs would decide.
    confidence : float
    seconds : float
    assumptions : tuple of str
    mechanism : str
        What was audited, in words.
    notes : tuple of str
        What the reader should know beyond the verdict.
    complete : bool
        False where the audit was stopped before all runs were made.
    measures : "epsilon" or "leakage"
        What claim, estimate and limits are about; leakage (a BDP level) on dependent records.
    upper : float or None
        Audits on dependent records: the leakage that is proved for the mechanism's guarantee.
    scope : str
        For whom the verdict is: "any mechanism", or "implementations of ..." where it rests on
        tests within that family.
    unseen : str
        What runs of this number cannot show, in words.
    """

    result = "audit"
    number = "estimate"
    keys = (
        "estimate interval verdict attack runs runs_needed confidence seconds assumptions "
        "mechanism notes complete measures upper scope unseen claim tests"
    )

    estimate: float
    interval: tuple[float, float]
    verdict: Verdict
    claim: Pure | Approximate = field(metadata=coded(_write_claim, _read_claim))
    attack: str
    tests: tuple[Test, ...]
    runs: int
    runs_needed: int | None
    confidence: float
    seconds: float
    assumptions: tuple[str, ...]
    mechanism: str
    notes: tuple[str, ...] = ()
    complete: bool = True
    measures: Literal["epsilon", "leakage"] = "epsilon"
    upper: float | None = None
    scope: str = ANY
    unseen: str = ""

    @property
    def epsilon(self) -> float:
        """The epsilon claimed."""
        return float(self.claim.epsilon)

    @property
    def delta(self) -> float:
        """The delta claimed, 0 for pure DP."""
        return self.claim.delta if isinstance(self.claim, Approximate) else 0.0

    def __repr__(self) -> str:
        low, high = self.interval
        promise = f"{self.measures} = {self.epsilon:g}" + (
            f", delta = {self.delta:g}" if self.delta else ""
        )
        lines = [
            f"Audit: {self.verdict}" + ("" if self.complete else " (stopped early)"),
            f"  mechanism    {self.mechanism}",
            f"  claim        {promise}",
            f"  measured     {self.estimate:.4g}, limits {low:.4g} to {high:.4g} "
            f"({self.confidence:.6g} joint confidence)",
            f"  verdict for  {self.scope}",
            f"  attack       {self.attack}",
            f"  runs         {self.runs:,} in {self.seconds:.2g} s",
        ]
        if self.runs_needed is not None:
            lines.append(f"  needed       about {self.runs_needed:,} runs to decide")
        if self.upper is not None:
            lines.append(f"  proved       at most {self.upper:.4g} from its guarantee")
        for test in self.tests:
            kind = "any mechanism" if test.sound else "family only"
            row = f"{test.estimate:.4g} [{test.low:.4g}, {test.high:.4g}]"
            lines.append(f"  test         {test.name}: {row} ({kind})")
        if self.unseen:
            lines.append(f"  unseen       {self.unseen}")
        lines += [f"  note         {note}" for note in self.notes]
        return "\n".join(lines + [f"  assumes      {a}" for a in self.assumptions])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the epsilon each test shows with its limits, the claim dashed; returns the axes."""
        from corrdp.plots import ACCENT, MUTED, WARM

        axes = axes_or_pyplot(ax)
        ends = [self.epsilon, *(t.high for t in self.tests), *(t.low for t in self.tests)]
        edge = 1.15 * max(end for end in ends if math.isfinite(end)) + 0.05
        for row, test in enumerate(self.tests):
            color = ACCENT if test.sound else MUTED
            axes.plot([test.low, min(test.high, edge)], [row, row], color=color, linewidth=2)
            axes.plot(min(test.estimate, edge), row, "o", color=color)
        axes.axvline(self.epsilon, color=WARM, linestyle=(0, (4, 3)), linewidth=1.2)
        axes.set_yticks(range(len(self.tests)), [test.name for test in self.tests])
        axes.invert_yaxis()
        axes.set_xlim(0, edge)
        axes.set_xlabel("epsilon measured (dashed: claimed; grey: within the family only)")
        return axes
