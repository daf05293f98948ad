"""What chains of every order share once they are fitted: counts, and what follows from them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from corrdp.models.base import Model

if TYPE_CHECKING:
    from corrdp.models.chains.diagnostics import Diagnostics
    from corrdp.models.chains.fitting import ChainFit
    from corrdp.models.chains.region import Region


class Chain(Model):
    """A Markov chain of some order; ``fitted`` says where its numbers come from."""

    states: Any
    fitted: ChainFit | None = None

    @property
    def records(self) -> int | None:
        fit = self.fitted
        return self.length if fit is None or fit.public else fit.rows

    def region(self, confidence: float) -> Region:
        """Probabilities that the counts still allow; see :mod:`corrdp.models.chains.region`."""
        from corrdp.models.chains.region import fitted_region

        return fitted_region(self, confidence)

    def diagnose(self, data: Any = None) -> Diagnostics:
        """Whether the fitted chain describes its data: :mod:`corrdp.models.chains.diagnostics`."""
        from corrdp.models.chains.diagnostics import diagnose

        return diagnose(self, data)

    @cached_property
    def fit_assumptions(self) -> tuple[str, ...]:
        """What the fit and its diagnostics say, in words; these hold fitted numbers."""
        if self.fitted is None:
            return ()
        return (*self.fitted.assumptions, *self.diagnose().assumptions)
