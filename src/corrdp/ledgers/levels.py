"""Levels of releases: what one of them costs each record, whatever its notion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from corrdp.errors import GuaranteeError
from corrdp.ledgers.units import DELTA_UNIT, UNIT, Runs, is_number, rounded, written

if TYPE_CHECKING:
    from corrdp.guarantees import Guarantee

Notion = Literal["pure", "approximate", "gaussian", "zcdp"]
_SYMBOLS = {"pure": "epsilon", "approximate": "epsilon", "gaussian": "mu", "zcdp": "rho"}


@dataclass(frozen=True)
class ChargedLevel:
    """What one release costs each record.

    Parameters
    ----------
    notion : {"pure", "approximate", "gaussian", "zcdp"}
    runs : Runs
        Epsilon, mu or rho of each record, in units of 1e-12.
    delta : Runs or None
        For "approximate", in units of 1e-18.
    whole : bool
        Whether the level is about the ledger's unit as a whole, and not about each record of it.
    """

    notion: Notion
    runs: Runs
    delta: Runs | None = None
    whole: bool = False

    @classmethod
    def of(cls, promise: Any, records: int | None = None, *, whole: bool = False) -> ChargedLevel:
        """The level of a guarantee, rounded up to the unit.

        Parameters
        ----------
        promise : float, sequence of float, or guarantee
        records : int or None
            How many entries a vector must have; None refuses vectors.
        whole : bool
            Whether it is about the unit as a whole.

        Examples
        --------
        >>> from corrdp.guarantees import GDP, Approximate
        >>> ChargedLevel.of(GDP(.02)).in_words, ChargedLevel.of(Approximate(.1, 1e-9)).in_words
        ('mu 0.02', 'epsilon 0.1, delta 1e-09')
        """
        if is_number(promise):
            return cls("pure", Runs.charged(promise, records), whole=whole)
        from corrdp.guarantees import GDP, L1, ZCDP, Approximate, Pure, as_guarantee

        given = as_guarantee(promise)
        if isinstance(given, Pure) or (isinstance(given, L1) and given.epsilon is not None):
            return cls("pure", Runs.charged(given.epsilon, records), whole=whole)
        if isinstance(given, GDP):
            return cls("gaussian", Runs.charged(given.mu, records, "mu"), whole=whole)
        if isinstance(given, ZCDP):
            return cls("zcdp", Runs.charged(given.rho, records, "rho"), whole=whole)
        if isinstance(given, Approximate):
            if given.largest_delta == 0:
                return cls.of(Pure(given.epsilon), records, whole=whole)
            deltas = Runs.charged(given.delta, records, "delta")
            epsilons = Runs.charged(given.epsilon, records, zero=True)
            return cls("approximate", epsilons, deltas, whole)
        raise GuaranteeError(
            f"a ledger keeps an epsilon, a mu, a rho or a pair (epsilon, delta) of each release, "
            f"and {type(given).__name__} is none of these; give a pair that it promises, "
            "Approximate(epsilon, delta), or charge the releases that it is made of one by one"
        )

    @property
    def symbol(self) -> str:
        """What its numbers are: epsilon, mu or rho."""
        return _SYMBOLS[self.notion]

    @property
    def in_words(self) -> str:
        """The largest level, exactly."""
        return f"{self.symbol} {written(self.runs.largest)}{self._chance}"

    @property
    def in_short(self) -> str:
        """The largest level in four digits, rounded up."""
        return f"{self.symbol} {rounded(self.runs.largest, up=True)}{self._chance}"

    @property
    def _chance(self) -> str:
        return "" if self.delta is None else f", delta {self.delta.largest / DELTA_UNIT:.3g}"

    @property
    def epsilon(self) -> Runs:
        """What it adds to the sum of pure epsilons."""
        return self.runs if self.notion == "pure" else Runs.scalar(0)

    @property
    def is_nothing(self) -> bool:
        """Whether it costs no record anything."""
        return not self.runs.largest and (self.delta is None or not self.delta.largest)

    @property
    def is_scalar(self) -> bool:
        """Whether every record has the same level."""
        return self.runs.is_scalar and (self.delta is None or self.delta.is_scalar)

    @property
    def is_once(self) -> bool:
        """Whether it is of a period, which has no record in common with other periods."""
        return any(runs.once for runs in (self.runs, self.delta) if runs is not None)

    @property
    def of_period(self) -> ChargedLevel:
        """The same for the records of one period."""
        delta = None if self.delta is None else Runs(0, once=self.delta.units)
        return replace(self, runs=Runs(0, once=self.runs.units), delta=delta)

    @property
    def of_all(self) -> ChargedLevel:
        """The same for every record, whatever the periods: it promises no more."""
        if not self.is_once:
            return self
        delta = None if self.delta is None else Runs(self.delta.largest)
        return replace(self, runs=Runs(self.runs.largest), delta=delta)

    def beside(self, other: ChargedLevel) -> ChargedLevel:
        """Two levels of the same kind, of periods that have no record in common."""
        deltas = (self.delta, other.delta)
        delta = None if None in deltas else deltas[0] + deltas[1]  # type: ignore[operator]
        return replace(self, runs=self.runs + other.runs, delta=delta)

    @property
    def as_gaussian(self) -> ChargedLevel | None:
        """A Gaussian level that promises no more; None for those that are below no such level.

        References
        ----------
        composition#the-gaussian-level-of-a-pure-one.
        """
        if self.notion == "gaussian":
            return self
        if self.notion != "pure":
            return None
        if self.is_once:
            plain = self.of_all.as_gaussian
            return None if plain is None else plain.of_period
        import numpy as np

        from corrdp.metric.tradeoff import mu_of

        units = np.ceil(mu_of(self.runs.units / UNIT) * (UNIT * (1 + 1e-12))).astype(np.int64)
        runs = Runs(int(units)) if self.runs.is_scalar else Runs(units, self.runs.lengths)
        return replace(self, notion="gaussian", runs=runs)

    def spread(self, units: int) -> ChargedLevel:
        """The same release with another level."""
        return replace(self, runs=self.runs.spread(units) if self.runs.largest else Runs(units))

    def guarantee(self, values: Any, deltas: Any) -> Guarantee:
        """The guarantee of these levels, one or one per record."""
        from corrdp.guarantees import GDP, ZCDP, Approximate, Pure

        if self.notion == "approximate":
            return Approximate(values, deltas)
        kinds: dict[str, Any] = {"pure": Pure, "gaussian": GDP, "zcdp": ZCDP}
        made: Guarantee = kinds[self.notion](values)
        return made
