"""A chain whose kernel changes once: what two halves of a series with a kernel each really are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp.models.chains.chain import Chain

if TYPE_CHECKING:
    from corrdp.models.chains.fitting import ChainFit
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.chains.region import Region
    from corrdp.models.chains.window import WindowChain


@dataclass(frozen=True, eq=False, repr=False)
class SwitchingChain(Chain):
    """A chain with one kernel up to some record and another from there on, wherever that is.

    Records near the switch depend on what lies before by the first kernel and on what comes after
    by the second, which can leak more than either kernel would alone.

    Parameters
    ----------
    parts : two MarkovChain, or two WindowChain of one order
        Their kernels count: the law at the switch is whatever the first leaves.
    length : int, optional
    states : sequence

    Examples
    --------
    >>> from corrdp.bounds.leakage import leakage
    >>> from corrdp.models.chains.markov import MarkovChain
    >>> parts = MarkovChain([[.56, .44], [.34, .66]]), MarkovChain([[.01, .99], [.14, .86]])
    >>> chain = SwitchingChain(parts, 25, (0, 1))
    >>> kernels = [parts[0].transition] * 12 + [parts[1].transition] * 12
    >>> truth = leakage(MarkovChain(kernels, initial=[.4, .6]), .3).value
    >>> max(leakage(part, .3).value for part in parts) < truth <= leakage(chain, .3).value
    True
    """

    kind: ClassVar[str] = "switching"
    parts: tuple[MarkovChain, MarkovChain] | tuple[WindowChain, WindowChain]
    length: int | None
    states: Any
    fitted: ChainFit | None = field(default=None, kw_only=True)

    @property
    def transition(self) -> np.ndarray:
        """The kernel before the switch."""
        return np.asarray(self.parts[0].transition)

    @property
    def order(self) -> int:
        """How many records back the next one depends on."""
        return getattr(self.parts[0], "order", 1)

    def region(self, confidence: float) -> Region:
        """A box that holds the kernels of both parts."""
        one, two = self.regions(confidence)
        return replace(
            one,
            lower=np.minimum(one.lower, two.lower),
            upper=np.maximum(one.upper, two.upper),
            confidence=confidence,
            unseen=tuple(sorted({*one.unseen, *two.unseen})),
        )

    def regions(self, confidence: float) -> tuple[Region, Region]:
        """The regions of both parts, which hold together at this level."""
        each = 1.0 - (1.0 - confidence) / 2
        return self.parts[0].region(each), self.parts[1].region(each)

    def describe(self) -> str:
        return f"{self.parts[0].describe()}, with a kernel that changes once"

    def fields(self) -> dict[str, Any]:
        return {"parts": [part.to_dict() for part in self.parts], "length": self.length}
