"""The ledger: what was released from one data set, charged before it is shown.

An SQLite file, one per data set. Loads nothing but the standard library until a vector is charged
or a model is asked.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from corrdp._checks import check_path
from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.book import check_model, fit_of, new_budget, step_of, wanted_of
from corrdp.ledgers.budget import fit_units
from corrdp.ledgers.file import create_file, opened, read_header, reading
from corrdp.ledgers.history import Charge, Wanted, answer_text
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.periods import Period
from corrdp.ledgers.units import Runs, written
from corrdp.ledgers.view import LedgerView

if TYPE_CHECKING:
    import numpy as np

    from corrdp.calibration.robustness import Confidence
    from corrdp.guarantees import Guarantee
    from corrdp.models.base import Model


Made = TypeVar("Made", bound=Any)


@dataclass(frozen=True, repr=False)
class Ledger(LedgerView):
    """A privacy budget on disk, and every release charged to it.

    Made by :meth:`create` or :meth:`open`. Budgets and charges are whole numbers of 1e-12 nats;
    charges round up, budgets down. A float stands for the shortest decimal that names it, so that
    1,000 charges of .001 fit a budget of 1 exactly.

    Parameters
    ----------
    path : Path
    header : Header
        What the ledger is about: kind, budget, records, model.

    Notes
    -----
    A DP ledger compares what all releases promise a record, or a unit, with its budget; a BDP
    ledger holds one model and compares the leakage of that. Leakages are never added. Without a
    delta epsilons add up; with one, releases of all kinds are composed by their exact profile.

    A private fit of the model costs epsilon on the same records. It is charged like a release:
    when a BDP ledger is made, or by the first charge that names the model on a DP ledger. Do not
    charge it by hand as well.

    References
    ----------
    composition#leakages-do-not-add: compose record by record, then convert once;
    composition#units-of-several-releases.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "steps.ledger")
    >>> ledger = Ledger.create(path, budget=1.0)
    >>> ledger.charge(.3, what="count of active intervals").number
    1
    >>> ledger.spent, ledger.remaining
    (0.3, 0.7)
    >>> ledger.charge(.8, what="histogram")
    Traceback (most recent call last):
        ...
    corrdp.errors.RefusedError: epsilon 0.8 for 'histogram' does not fit: ...
    """

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: float,
        delta: float = 0.0,
        unit: int | str | Sequence[int] | None = None,
        kind: Literal["dp", "bdp", "partial"] = "dp",
        model: Model | None = None,
        records: int | None = None,
        confidence: Confidence = "default",
        accept: str | None = None,
    ) -> Ledger:
        """Make the file of a new ledger.

        Parameters
        ----------
        path : path
            Must not exist.
        budget : float
            The DP level, or BDP level, that all releases together keep.
        delta : float
            Outputs of at most this probability may tell more than the budget; 0 takes pure
            releases only.
        unit : int, str or sequence of int, optional
            What the budget protects instead of one record, as in :func:`corrdp.leakage`.
        kind : {"dp", "bdp", "partial"}
            "partial" takes one release against partial knowledge, :func:`corrdp.partial.release`.
        model : Model, optional
            For a BDP ledger: how the records depend on each other. It is stored in the file.
        records : int, optional
            How many records the data set has; releases of some of them need it. A model of fixed
            length brings its own.
        confidence, accept
            For a BDP ledger on a fitted model, as in :func:`corrdp.calibrate`: the rule by which
            epsilons are converted. It is written down here, shown, and never changes.
        """
        rule = new_budget(kind, budget, delta, unit, model, records, confidence, accept)
        ledger = cls(Path(check_path("path", path)).absolute(), rule.header)
        vars(ledger._book)["budget"] = rule  # it took some leakages
        fit = 0 if model is None else fit_units(model)
        if fit and not rule.fits(rule.after(ledger._book.nothing, ChargedLevel("pure", Runs(fit)))):
            raise RefusedError(
                f"the private fit of the model, epsilon {written(fit)}, leaks more than the budget "
                f"of {rule.limit} by itself; no ledger was made"
            )
        create_file(ledger.path, rule.header, [fit_of(model, fit)] if model and fit else [])
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Ledger:
        """Open the file of a ledger."""
        place = Path(check_path("path", path)).absolute()
        with opened(place) as db, reading(db):
            return cls(place, read_header(db))

    # -- spending ----------------------------------------------------------------------------

    def charge(
        self,
        epsilon: Guarantee | float | Sequence[float] | np.ndarray,
        *,
        what: str,
        model: Model | None = None,
        unit: int | str | Sequence[int] | None = None,
        answer: Any = None,
        period: Period | None = None,
    ) -> Charge:
        """Write down a release before it is shown; once this returns, the charge is on disk.

        Parameters
        ----------
        epsilon : float, sequence of float, or guarantee
            One number for every record, or one per record. A ledger with a delta takes
            ``GDP(mu)``, ``ZCDP(rho)`` and ``Approximate(epsilon, delta)`` as well. A release that
            is sampled afterwards may draw at ``charge.epsilon`` (``charge.mu``), which is never
            above what was charged.
        what : str
            What is released, in words.
        model : Model, optional
            What the release was calibrated with. A BDP ledger refuses another than its own; a DP
            ledger charges the model's private fit along with its first release.
        unit : str, optional
            Whom the level protects, in words, such as "one user replaced"; left out, one record.
            The first charge fixes the unit of a DP ledger, and another is refused. A ledger made
            with a unit converts levels of records, and takes those of its own unit as they are.
        answer : JSON, optional
            What was sampled and not shown yet. It is stored in the same transaction, so that what
            was paid for cannot be lost: :meth:`answer` gives it back.
        period : Period, optional
            The records that are read, of a series that goes on; left out, all of them. It is
            refused if it overlaps one that was read before.

        Returns
        -------
        Charge

        Raises
        ------
        RefusedError
            When it does not fit, and the message says what remains; or when the unit is not the
            ledger's. Nothing is charged then, and what was sampled must not be shown.

        Notes
        -----
        Time and memory grow with the runs of a vector (how often it changes), about 3 s for a
        million; the lock is held only while they are written.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "days.ledger")
        >>> ledger = Ledger.create(path, budget=1, records=4)
        >>> ledger.charge([1, 1, 0, 0], what="first half").number
        1
        >>> ledger.charge([0, 0, 1, 1], what="second half").number
        2
        >>> ledger.spent
        1.0
        """
        stored = None if answer is None else answer_text(answer)
        wanted = wanted_of(self.header, epsilon, what, model, unit, period)
        return self._book.append([*wanted[:-1], replace(wanted[-1], answer=stored)])[-1]

    def release(
        self,
        sample: Callable[[], Made],
        epsilon: Guarantee | float | Sequence[float] | np.ndarray,
        *,
        what: str,
        model: Model | None = None,
        unit: int | str | Sequence[int] | None = None,
        stored: Callable[[Made], Any] = operator.methodcaller("to_dict"),
        period: Period | None = None,
    ) -> Made:
        """Sample a release, then charge it and store it in one transaction, then return it.

        In this order nothing that is shown is unpaid, and nothing that is paid for is lost: a
        process that is killed on the way leaves neither charge nor answer, or both.

        Parameters
        ----------
        sample : callable
            Makes the release, a dataclass with fields ``charge``, ``charge_hash`` and ``together``.
            Called once, when the charge fits.
        epsilon, what, model, unit, period
            As for :meth:`charge`.
        stored : callable
            What of it is stored, as plain JSON; its ``to_dict`` if left out.

        Returns
        -------
        what ``sample`` made, with its charge and where the ledger then stands

        Raises
        ------
        RefusedError
            When it does not fit; what was sampled is lost to everybody.
        """
        return self._made(
            sample, wanted_of(self.header, epsilon, what, model, unit, period), stored
        )

    def step(self, sample: Callable[[], Made], *, what: str, period: Period, model: Model) -> Made:
        """Sample the next answers of running totals, and store them; they were charged at the
        start.

        As :meth:`release`: what is stored is returned, and a process that is killed on the way
        leaves both or neither.

        Parameters
        ----------
        sample : callable
            As for :meth:`release`.
        what : str
            What is released, in words.
        period : Period
            What the new steps count; its ``of`` is the charge. Refused if another step of that
            charge has counted some of it.
        model : Model
            What the totals were calibrated with.
        """
        wanted = [step_of(what, period, check_model(self.header, model))]
        return self._made(sample, wanted, operator.methodcaller("to_dict"))

    def _made(
        self, sample: Callable[[], Made], wanted: list[Wanted], stored: Callable[[Made], Any]
    ) -> Made:
        self._book.check_fits(wanted)
        made = sample()

        def tell(spent: Any) -> str:  # once more where another process charges in between
            nonlocal made
            made = replace(made, together=self._standing(spent))
            return answer_text(stored(made))

        charge = self._book.append([*wanted[:-1], replace(wanted[-1], tell=tell)])[-1]
        return replace(made, charge=charge.number, charge_hash=charge.hash)

    def charge_fit(self, model: Model) -> Charge | None:
        """Charge a private fit and store its model, once: before the model is written or used.

        None is returned when this model's fit is charged already.

        Examples
        --------
        >>> import os, tempfile
        >>> import corrdp as cdp
        >>> ledger = Ledger.create(os.path.join(tempfile.mkdtemp(), "a.ledger"), budget=1)
        >>> chain = cdp.MarkovChain.fit([[False, True] * 99], private_epsilon=.25)
        >>> ledger.charge_fit(chain).epsilon, ledger.charge_fit(chain) is None
        (0.25, True)
        >>> ledger.answer(1)["digest"] == chain.digest
        True
        """
        if not (fit := fit_units(model)):
            raise InputError("the model was not fitted with private_epsilon: there is no cost")
        check_model(self.header, model)
        stored = answer_text(model.to_dict())
        return next(iter(self._book.append([replace(fit_of(model, fit), answer=stored)])), None)
