"""What the charges of a ledger cost together, and what still fits."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from corrdp.accounting.ledger_history import Header, Wanted
from corrdp.accounting.ledger_units import MOST, Runs, units_down, units_up
from corrdp.errors import InputError, NotApplicableError

if TYPE_CHECKING:
    from corrdp.models.base import Model

_PRECISION = 1e-6  # relative, of what remains of a BDP budget
_RECORDS = 2**53  # more would not be counted exactly


class DPBudget:
    """A budget of plain DP: the largest entry of the summed vector counts."""

    words = "DP"
    assumptions: tuple[str, ...] = (
        "a DP level says nothing about what dependence between records adds",
    )

    def __init__(self, header: Header) -> None:
        self.header = header

    def is_quick(self, total: Runs) -> bool:
        """Whether the cost is known without much work."""
        return True

    def cost(self, total: Runs) -> int:
        """The largest entry."""
        return total.largest

    def room(self, total: Runs, shape: Runs) -> int:
        """Units that a further release of the records in ``shape`` may have."""
        worst = max((have for have, reads, _ in total.beside(shape) if reads), default=0)
        return max(0, self.header.budget - worst)


class BDPBudget:
    """A budget of BDP: the leakage of the summed vector on the ledger's model counts.

    Leakages do not add (T-6), so nothing but epsilons is ever summed. A private fit of the model
    is among the charges, and :func:`corrdp.leakage` adds its epsilon by itself: it is taken out of
    the sum before the sum is converted, so that it counts once.
    """

    words = "BDP"

    def __init__(self, header: Header) -> None:
        self.header = header
        self._known: dict[Runs, int] = {}

    @cached_property
    def model(self) -> Model:
        """The ledger's model."""
        from corrdp.models.files import model_from_dict

        return model_from_dict(json.loads(self.header.model or "null"))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the budget rests on: the model, and its numbers."""
        if self.model.fitted is None:
            return self.model.assumptions
        exact = "the fitted numbers of the model are taken as exact, at no confidence level"
        return (*self.model.assumptions, exact)

    def is_quick(self, total: Runs) -> bool:
        """Whether the cost is known without much work."""
        return total in self._known

    def cost(self, total: Runs) -> int:
        """Leakage of the sum, rounded up to the unit."""
        if total.largest == 0:
            return 0
        if total not in self._known:
            from corrdp.bounds.dispatch import leakage

            beyond = total.minus(fit_units(self.model))
            # leakage needs something to add the fit to: the smallest charge, if there is none yet
            asked = beyond if beyond.largest > 0 else Runs.scalar(1)
            value = leakage(self.model, asked.doubles()).value
            self._known[total] = units_up(value) if math.isfinite(value) else MOST + 1
        return self._known[total]

    def room(self, total: Runs, shape: Runs) -> int:
        """Units that a further release of the records in ``shape`` may have, rounded down."""

        def over(units: int) -> int:
            return self.cost(total + shape.spread(units)) - self.header.budget

        return _largest_fitting(over, self.header.budget)


def budget_of(header: Header) -> DPBudget | BDPBudget:
    """The rule of a ledger."""
    return DPBudget(header) if header.kind == "dp" else BDPBudget(header)


def fit_units(model: Model) -> int:
    """What a private fit of the model cost, in units; 0 when the fit was not private."""
    spent = getattr(model.fitted, "private_epsilon", None)
    return 0 if spent is None else units_up(spent)


def fit_of(model: Model, units: int) -> Wanted:
    """The charge of a private fit."""
    what = f"the private fit of model {model.digest[:12]}"
    return Wanted("fit", what, Runs.scalar(units), model.digest)


def records_of(kind: str, model: Model | None, records: int | None) -> int | None:
    """How many records a new ledger is about; raises on what cannot be kept."""
    if not isinstance(kind, str) or kind not in ("dp", "bdp"):
        raise InputError(f"kind must be dp or bdp, got {kind!r}")
    whole = isinstance(records, int) and not isinstance(records, bool)
    if records is not None and not (whole and 0 < records <= _RECORDS):
        raise InputError(f"records must be a positive whole number, got {records!r}")
    if kind == "dp":
        if model is not None:
            raise InputError("a DP ledger needs no model; leave it out, or make its kind bdp")
        return records
    if model is None:
        raise InputError("a BDP ledger needs the model that its budget is about; give a model")
    if not hasattr(model, "digest"):
        raise InputError(f"model must be a dependence model such as MarkovChain, got {model!r}")
    if model.real_valued:
        raise NotApplicableError(
            "a BDP ledger adds epsilons, and on real-valued (Gaussian) records an epsilon alone "
            "has no leakage: that needs the l1 rate and the grid of each query. Keep a DP ledger; "
            "leakage(model, Pure(total)) bounds what its total leaks"
        )
    if records not in (None, model.length):
        raise InputError(
            f"{records} records, and the model has "
            f"{'no fixed length' if model.length is None else f'{model.length} records'}; leave "
            "records out"
        )
    return model.length


def release_level(epsilon: float) -> int:
    """Units at which a release is charged and drawn: down to the unit, for a little more noise.

    Rounding up instead could push a release that was calibrated to the whole budget beyond it.
    """
    units = units_down(epsilon)
    if units < 1:
        raise InputError(f"epsilon {epsilon:.3g} is below the unit of the books, 1e-12")
    return units


def _largest_fitting(over: Callable[[int], int], high: int) -> int:
    """Largest whole number up to high with over <= 0, from below; 0 if there is none.

    Regula falsi (the leakage of small epsilons is close to linear), with a bisection after every
    step that did not halve the bracket.
    """
    low, y_low, y_high = 0, over(1), over(high)
    if y_high <= 0:
        return high
    if y_low > 0:
        return 0
    halved, side = True, 1
    while (width := high - low) > max(1.0, _PRECISION * low):
        guess = low + width * -y_low // (y_high - y_low) if halved else low + width // 2
        # a little beyond the guess, on alternating sides, so that both ends close in
        guess += side * math.ceil(_PRECISION * guess / 4)
        middle = min(max(guess, low + 1), high - 1)
        y = over(middle)
        if y <= 0:
            low, y_low, side = middle, y, 1
        else:
            high, y_high, side = middle, y, -1
        halved = 2 * (high - low) <= width
    return low
