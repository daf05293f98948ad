"""What a promise owes to the choice of a model: what it costs under richer ones, and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from corrdp.results import Result

_ROUNDED = 1e-12  # relative, of a level that is a decimal in few digits
REGION = "the confidence region of the fit"  # among the alternatives of a series
CLOSE = 0.05  # an alternative that leaks at most this share more is no news


@dataclass(frozen=True)
class Priced:
    """A richer model, and what a promise costs under it.

    Attributes
    ----------
    name : str
    epsilon, scale : float or None
        Largest DP level that keeps the target under it, and the noise of that level; None where it
        has no price.
    leakage : float or None
        What the level that the chosen model alone would allow leaks under it.
    confidence : float or None
        Of the limits at which its numbers are taken, to the side on which they leak more; None for
        its fitted numbers.
    p : str
        The test of the chosen model against it, in words.
    rejected : bool
        Whether that test rejects the chosen model.
    pooled, rows : int
        How many of its rows were seen too rarely and are those of the chosen model.
    reason : str
        Why it has no price.
    tested : bool
        False when the model file does not hold what is needed to look at it.
    """

    name: str
    epsilon: float | None = None
    scale: float | None = None
    leakage: float | None = None
    confidence: float | None = None
    p: str = ""
    rejected: bool = False
    pooled: int = 0
    rows: int = 0
    reason: str = ""
    tested: bool = True

    @property
    def by(self) -> str:
        """By which of its numbers it was priced."""
        if self.name == REGION:
            return f"every law in it, at {self.confidence:g}"
        return by_words(self.confidence)


@dataclass(frozen=True)
class Adequacy(Result):
    """How a promise fares under richer models than the chosen one.

    Attributes
    ----------
    epsilon, leakage : float or None
        The DP level that the chosen model alone would allow, and what it leaks under that model;
        None in the public form.
    alternatives : tuple of Priced
    accepted : str
        The steward's reason for promising all the same, where an alternative has no price.
    note : str
        Why no alternatives were looked at.

    Examples
    --------
    >>> second = Priced("order 2", .0876, 11.4, 2.9, None, "p < 1e-107", True)
    >>> found = Adequacy(.2498, 1.0, (second,))
    >>> found.against, found.verdict[:62]
    (True, 'order 2 (the data speak for it, p < 1e-107) asks for epsilon 0')
    """

    close: ClassVar[float] = CLOSE
    keys = "epsilon leakage alternatives accepted note close verdict against"

    epsilon: float | None
    leakage: float | None
    alternatives: tuple[Priced, ...] = ()
    accepted: str = ""
    note: str = ""

    def is_close(self, alternative: Priced) -> bool:
        """Whether an alternative leaks at most 5 % more than the chosen model."""
        at, own = alternative.leakage, self.leakage
        return at is not None and own is not None and at <= own * (1.0 + CLOSE)

    @property
    def against(self) -> bool:
        """Whether the data speak against the chosen model in a way that the promise feels."""
        return any(a.rejected and not self.is_close(a) for a in self.alternatives)

    @property
    def lines(self) -> tuple[str, ...]:
        """What to say of the alternatives, a sentence each; one for all that are close."""
        close = [a.name for a in self.alternatives if self.is_close(a)]
        said = []
        if close:
            said.append(f"holds under {_joined(close)} too, within {CLOSE:.0%} of the chosen model")
        said += [_sentence(self, a) for a in self.alternatives if not self.is_close(a)]
        if self.accepted:
            said.append(f"accepted by the steward: {self.accepted}")
        return tuple(said)

    @property
    def verdict(self) -> str:
        """The same in one line."""
        return "; ".join(self.lines)

    @property
    def public(self) -> Adequacy:
        """Without the numbers that were fitted from the data."""
        told = tuple(
            Priced(
                a.name,
                confidence=a.confidence,
                rejected=a.rejected and not self.is_close(a),
                reason="" if a.epsilon is not None or not a.tested else "has no price",
                tested=a.tested,
            )
            for a in self.alternatives
        )
        return replace(self, epsilon=None, leakage=None, alternatives=told)


def model_lines(adequacy: Adequacy | None) -> list[str]:
    """The verdict on the model, for the block that a result prints."""
    said = () if adequacy is None else adequacy.lines
    return [f"  alternative  {text}" for text in said]


def model_notes(adequacy: Adequacy | None) -> tuple[str, ...]:
    """What is taken for granted where no alternatives were looked at."""
    return (adequacy.note,) if adequacy is not None and adequacy.note else ()


def worst_leakage(
    adequacy: Adequacy | None, epsilon: float, target: float, leakage: float
) -> float:
    """The largest leakage over the chosen model and its alternatives, at most the target."""
    if adequacy is None or adequacy.epsilon is None:
        return leakage
    found = max([leakage, *(a.leakage for a in adequacy.alternatives if a.leakage is not None)])
    if epsilon == adequacy.epsilon:
        return found
    below = math.nextafter(target, 0.0)
    # an alternative has set the level, to meet the target; or a ledger has rounded it
    return below if epsilon < adequacy.epsilon * (1.0 - _ROUNDED) else min(found, below)


def by_words(confidence: float | None) -> str:
    """By which numbers of a richer model it was priced."""
    return "its fitted numbers" if confidence is None else f"{confidence:g} limits of its numbers"


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _sentence(adequacy: Adequacy, alternative: Priced) -> str:
    a = alternative
    speak = "the data speak for it" if a.rejected else "the data do not speak for it"
    known = f" ({speak}, {a.p})" if a.p else (f" ({speak})" if a.rejected else "")
    if not a.tested:
        return f"{a.name} was not looked at" + (f": {a.reason}" if a.reason else "")
    if adequacy.epsilon is None:  # the public form
        return f"{a.name}{known} {a.reason or 'was priced, and the promise holds under it'}"
    if a.epsilon is None:
        return f"{a.name}{known} has no price: {a.reason}"
    noise = "" if a.scale is None else f", noise of scale {a.scale:.4g}"
    pooled = f", {a.pooled} of its {a.rows} rows pooled" if a.pooled else ""
    if a.epsilon == adequacy.epsilon:  # the level was given
        return (
            f"{a.name}{known}: epsilon {a.epsilon:.4g} leaks {a.leakage:.4g} under it (by {a.by}"
            f"{pooled}), {adequacy.leakage:.4g} under the chosen model"
        )
    return (
        f"{a.name}{known} asks for epsilon {a.epsilon:.4g}{noise} (by {a.by}{pooled}); the chosen "
        f"model alone would allow {adequacy.epsilon:.4g}, which leaks {a.leakage:.4g} under it"
    )
