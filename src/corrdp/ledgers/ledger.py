"""The ledger: what was released from one data set, charged before it is shown.

An SQLite file, one per data set. Loads nothing but the standard library until a vector is charged
or a model is asked.
"""

from __future__ import annotations

import json
import operator
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from corrdp._checks import check_path, check_whole
from corrdp.errors import InputError, NotApplicableError, RefusedError
from corrdp.ledgers.budget import (
    BDPBudget,
    DPBudget,
    check_model,
    exported,
    fit_of,
    fit_units,
    records_of,
    rule_of,
    wanted_of,
)
from corrdp.ledgers.file import Book, create_file, opened, read_charges, read_header, reading
from corrdp.ledgers.history import RECORD, Charge, Header, answer_text, check_kept, now
from corrdp.ledgers.units import UNIT, Runs, budget_units, rounded, written

if TYPE_CHECKING:
    import numpy as np

    from corrdp.calibration.adequate import Confidence
    from corrdp.guarantees import Guarantee
    from corrdp.models.base import Model
    from corrdp.release.signatures import LedgerHead


Made = TypeVar("Made", bound=Any)


@dataclass(frozen=True, repr=False)
class Ledger:
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
    A DP ledger compares the largest entry of the summed per-record epsilons with its budget. A BDP
    ledger holds one model and compares ``leakage(model, summed vector)``; leakages themselves are
    never added. On a fitted model that is the largest leakage over its confidence region and the
    richer models beside it, as in :func:`corrdp.calibrate`.

    A private fit of the model costs epsilon on the same records. It is charged like a release:
    when a BDP ledger is made, or by the first charge that names the model on a DP ledger. Do not
    charge it by hand as well.

    References
    ----------
    composition#leakages-do-not-add: compose epsilons record by record, then convert once.

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

    path: Path
    header: Header

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: float,
        kind: Literal["dp", "bdp"] = "dp",
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
        kind : {"dp", "bdp"}
        model : Model, optional
            For a BDP ledger: how the records depend on each other. It is stored in the file.
        records : int, optional
            How many records the data set has; releases of some of them need it. A model of fixed
            length brings its own.
        confidence, accept
            For a BDP ledger on a fitted model, as in :func:`corrdp.calibrate`: the rule by which
            epsilons are converted. It is written down here, shown, and never changes.
        """
        units = budget_units(budget)
        header = Header(
            id=uuid.uuid4().hex,
            kind=kind,
            budget=units,
            records=records_of(kind, model, records),
            digest=None if model is None else model.digest,
            model=None if model is None else json.dumps(model.to_dict()),
            made=now(),
            rule=rule_of(kind, model, confidence, accept),
        )
        ledger = cls(Path(check_path("path", path)).absolute(), header)
        fit = 0 if model is None else fit_units(model)
        if fit and ledger._budget.cost(Runs.scalar(fit)) > units:
            raise RefusedError(
                f"the private fit of the model, epsilon {written(fit)}, leaks more than the budget "
                f"of {written(units)} by itself; no ledger was made"
            )
        create_file(ledger.path, header, [fit_of(model, fit)] if model and fit else [])
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
        unit: str | None = None,
        answer: Any = None,
    ) -> Charge:
        """Write down a release before it is shown; once this returns, the charge is on disk.

        Parameters
        ----------
        epsilon : float, sequence of float, or guarantee
            One number for every record, or one per record. A release that is sampled afterwards
            may draw at ``charge.epsilon``, which is never above what was charged.
        what : str
            What is released, in words.
        model : Model, optional
            What the release was calibrated with. A BDP ledger refuses another than its own; a DP
            ledger charges the model's private fit along with its first release.
        unit : str, optional
            Whom epsilon protects, in words, such as "one user replaced"; left out, one record. The
            first charge fixes the unit of a DP ledger, and another is refused: epsilons for
            different units do not add up.
        answer : JSON, optional
            What was sampled and not shown yet. It is stored in the same transaction, so that what
            was paid for cannot be lost: :meth:`answer` gives it back.

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
        wanted = wanted_of(self.header, epsilon, what, model, unit)
        return self._book.append([*wanted[:-1], replace(wanted[-1], answer=stored)])[-1]

    def release(
        self,
        sample: Callable[[], Made],
        epsilon: Guarantee | float | Sequence[float] | np.ndarray,
        *,
        what: str,
        model: Model | None = None,
        unit: str | None = None,
        stored: Callable[[Made], Any] = operator.methodcaller("to_dict"),
    ) -> Made:
        """Sample a release, then charge it and store it in one transaction, then return it.

        In this order nothing that is shown is unpaid, and nothing that is paid for is lost: a
        process that is killed on the way leaves neither charge nor answer, or both.

        Parameters
        ----------
        sample : callable
            Makes the release, a dataclass with fields ``charge``, ``charge_hash`` and ``together``.
            Called once, when the charge fits.
        epsilon, what, model, unit
            As for :meth:`charge`.
        stored : callable
            What of it is stored, as plain JSON; its ``to_dict`` if left out.

        Returns
        -------
        what ``sample`` made, with its charge and where the ledger then stands

        Raises
        ------
        RefusedError
            When it does not fit. What was sampled is then lost to everybody.
        """
        wanted = wanted_of(self.header, epsilon, what, model, unit)
        self._book.check_fits(wanted)
        made = sample()

        def tell(total: Runs) -> str:  # once more where another process charges in between
            nonlocal made
            made = replace(made, together=self._standing(total))
            return answer_text(stored(made))

        charge = self._book.append([*wanted[:-1], replace(wanted[-1], tell=tell)])[-1]
        return replace(made, charge=charge.number, charge_hash=charge.hash)

    def charge_fit(self, model: Model) -> Charge | None:
        """Charge a private fit and store its model, once: before the model is written or used.

        Parameters
        ----------
        model : Model

        Returns
        -------
        Charge or None
            None when this model's fit is charged already.

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

    # -- looking -----------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """ "dp" or "bdp"."""
        return self.header.kind

    @property
    def budget(self) -> float:
        """What all releases together keep; the double nearest to it."""
        return self.header.budget / UNIT

    @property
    def records(self) -> int | None:
        """How many records the data set has, where known."""
        return self.header.records

    @property
    def unit(self) -> str | None:
        """Whom the epsilons protect, in words, as the first charge said; None before it."""
        with opened(self.path) as db, reading(db):
            first = read_charges(db, most=1)
        return first[0].unit or RECORD if first else None

    @property
    def digest(self) -> str | None:
        """Fingerprint of the model of a BDP ledger."""
        return self.header.digest

    @property
    def model(self) -> Model:
        """The model of a BDP ledger."""
        if not isinstance(self._budget, BDPBudget):
            raise NotApplicableError("a DP ledger holds no model")
        return self._budget.model

    @property
    def epsilon(self) -> float | np.ndarray:
        """The summed epsilon: one number, or one per record where they differ."""
        return self._total.doubles()

    @property
    def spent(self) -> float:
        """What counts against the budget: the largest epsilon, or the leakage of the sum."""
        return self._budget.cost(self._total) / UNIT

    @property
    def standing(self) -> str:
        """What was spent of the budget, in words.

        Examples
        --------
        >>> import os, tempfile
        >>> ledger = Ledger.create(os.path.join(tempfile.mkdtemp(), "a.ledger"), budget=3)
        >>> _ = ledger.charge(.3, what="a count"), ledger.charge(.4, what="a mean")
        >>> ledger.standing
        '0.7 of 3 (DP level)'
        """
        return self._standing(self._total)

    def _standing(self, total: Runs) -> str:
        spent = rounded(self._budget.cost(total), up=True)
        return f"{spent} of {written(self.header.budget)} ({self._budget.words} level)"

    @property
    def remaining(self) -> float:
        """The epsilon that one more release of every record may have; rounded down.

        On a BDP ledger, to a millionth: ``max { e : leakage(model, sum + e) <= budget }``. That
        takes some leakages of the sum; :attr:`remaining_at_least` is quick where the sum is a long
        vector.
        """
        return self._budget.room(self._total, Runs.scalar(1)) / UNIT

    @property
    def remaining_at_least(self) -> float:
        """An epsilon that one more release of every record may have for certain.

        The same as :attr:`remaining` where every record has spent the same; elsewhere, on a BDP
        ledger, as if every record had spent as much as the one that spent most.
        """
        return self._budget.room_at_least(self._total) / UNIT

    @property
    def head(self) -> str:
        """The hash of the last charge. Kept elsewhere, it tells this history from any other."""
        return self._book.head().hash

    def sign_head(self, key: str | os.PathLike[str]) -> LedgerHead:
        """Where the ledger stands, signed with a private key; see :func:`corrdp.verify`."""
        from corrdp.results import verb

        signed: LedgerHead = verb("release.signatures.ledger_head")(self).sign(key)
        return signed

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the budget rests on, in words."""
        return self._budget.assumptions

    def history(self) -> tuple[Charge, ...]:
        """Every charge, in order."""
        with opened(self.path) as db, reading(db):
            return tuple(read_charges(db))

    def answer(self, number: int) -> Any:
        """What was released under a charge, as plain JSON, as often as it is asked for.

        Parameters
        ----------
        number : int
            Of the charge.

        Returns
        -------
        JSON or None
            None where the charge was made without its answer, as all were before version 3 of the
            file.

        Examples
        --------
        >>> import os, tempfile
        >>> ledger = Ledger.create(os.path.join(tempfile.mkdtemp(), "a.ledger"), budget=1)
        >>> charge = ledger.charge(.1, what="a count of mine", answer={"value": 17})
        >>> ledger.answer(charge.number)
        {'value': 17}
        """
        return self._book.answer(check_whole("the number of a charge", number))

    def check(self, head: str | None = None) -> int:
        """Verify the whole file, and say how many charges it holds.

        Parameters
        ----------
        head : str, optional
            A hash kept elsewhere: of the last charge, as :attr:`head` gave it, or in a release.
            The history must still hold it; an older copy of the file, or one written anew, does
            not.

        Raises
        ------
        InputError
            Naming the first charge that was changed, deleted, added or moved, or the total that
            is not the sum.
        """
        header, charges = self._book.checked()
        if head is not None:
            check_kept(header, charges, head)
        if isinstance(self._budget, BDPBudget) and self._budget.model.digest != header.digest:
            raise InputError("the model of the ledger does not have the ledger's digest")
        return len(charges)

    def export(self) -> dict[str, Any]:
        """Everything but the model as plain JSON; budget and epsilons in units of 1e-12.

        ``remaining`` is :attr:`remaining_at_least`, ``answered`` the SHA-256 of a stored answer.
        """
        with opened(self.path) as db, reading(db):
            charges, head = read_charges(db), self._book.verified_head(db)
        return exported(self.header, charges, head, self._budget)

    def __repr__(self) -> str:
        charges = self.history()
        lines = [
            f"Ledger {self.path.name}: {self._budget.words} budget {written(self.header.budget)}",
            f"  spent        {written(self._budget.cost(self._total))} in {len(charges)} charges",
        ]
        if self.records is not None:
            lines.append(f"  records      {self.records}")
        if charges and charges[0].unit is not None:
            lines.append(f"  unit         {charges[0].unit}")
        if self.digest is not None:
            lines.append(f"  model        {self.digest[:12]}")
        lines += [f"  assumes      {text}" for text in self.assumptions]
        return "\n".join(lines + [f"  {charge!r}" for charge in charges])

    @property
    def _total(self) -> Runs:
        return self._book.head().total

    @cached_property
    def _book(self) -> Book:
        return Book(self.path, self.header)

    @property
    def _budget(self) -> DPBudget | BDPBudget:
        return self._book.budget
