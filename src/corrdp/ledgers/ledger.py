"""The ledger: what was released from one data set, charged before it is shown.

An SQLite file, one per data set. Loads nothing but the standard library until a vector is charged
or a model is asked.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from corrdp._checks import check_path, check_whole
from corrdp.errors import InputError, NotApplicableError, RefusedError
from corrdp.ledgers.book import (
    Book,
    check_model,
    exported,
    fit_of,
    new_budget,
    protected,
    wanted_of,
)
from corrdp.ledgers.budget import ALL, NEW, BDPBudget, DPBudget, fit_units
from corrdp.ledgers.composition import ALL_GAUSSIAN
from corrdp.ledgers.file import (
    create_file,
    opened,
    read_charges,
    read_header,
    read_periods,
    reading,
)
from corrdp.ledgers.history import RECORD, Charge, Header, answer_text, charge_columns
from corrdp.ledgers.integrity import check_kept
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.periods import CONDITIONS, Period, merged
from corrdp.ledgers.units import UNIT, Runs, rounded, written

if TYPE_CHECKING:
    import numpy as np

    from corrdp.calibration.robustness import Confidence
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

    path: Path
    header: Header

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
        wanted = wanted_of(self.header, epsilon, what, model, unit, period)
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

    # -- looking -----------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """What is kept: "dp", "bdp" or "partial"."""
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
    def delta(self) -> float:
        """Outputs of at most this probability may tell more than the budget; 0 for none."""
        return self.header.chance

    @property
    def unit(self) -> str | None:
        """Whom the levels protect, in words: as the ledger was made, or its first charge said."""
        with opened(self.path) as db, reading(db):
            return protected(self.header, self._budget, read_charges(db, most=1))

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
        """The summed epsilon of pure releases: one number, or one per record where they differ."""
        return self._book.head().total.doubles()

    @property
    def guarantee(self) -> Guarantee:
        """What all releases promise together about the ledger's unit, before dependence counts.

        Examples
        --------
        >>> import os, tempfile
        >>> from corrdp.guarantees import GDP
        >>> path = os.path.join(tempfile.mkdtemp(), "a.ledger")
        >>> ledger = Ledger.create(path, budget=2, delta=1e-6)
        >>> for _ in range(100):
        ...     _ = ledger.charge(GDP(.02), what="a count")
        >>> round(ledger.guarantee.mu, 9), ledger.standing
        (0.2, '0.8342 of 2 at delta 1e-06 (DP level)')
        """
        return self._budget.guarantee(self._book.spent())

    @property
    def spent(self) -> float:
        """What counts against the budget: the level of all releases, or their leakage."""
        return self._budget.cost(self._book.spent()) / UNIT

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
        return self._standing(self._book.spent())

    def _standing(self, spent: Any) -> str:
        unit = self._budget.unit
        whom = "" if unit is None else f" for {unit.words}"
        cost = rounded(self._budget.cost(spent), up=True)
        return f"{cost} of {self._budget.limit} ({self._budget.words} level{whom})"

    @property
    def remaining(self) -> float:
        """The epsilon that one more release of every record may have; rounded down.

        On a BDP ledger, to a millionth: ``max { e : leakage(model, sum + e) <= budget }``, which
        takes some leakages; :attr:`remaining_at_least` is quick where the sum is a long vector.
        """
        return self._budget.room(self._book.spent(), ALL) / UNIT

    @property
    def remaining_at_least(self) -> float:
        """An epsilon that one more release of every record may have for certain: as if, on a BDP
        ledger, every record had spent as much as the one that spent most."""
        return self._budget.room_at_least(self._book.spent()) / UNIT

    @property
    def remaining_new(self) -> float:
        """The epsilon that a release of a period may have which was not read; rounded down."""
        return self._budget.room(self._book.spent(), NEW) / UNIT

    @property
    def remaining_mu(self) -> float:
        """The mu that one more Gaussian release of every record may have; 0 without a delta."""
        if not self._budget.composes:
            return 0.0
        return self._budget.room_at_least(self._book.spent(), ALL_GAUSSIAN) / UNIT

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
        said = self._budget.assumptions
        if not self.periods:
            return said
        from corrdp.bounds.leakage import NO_FEEDBACK

        return tuple(dict.fromkeys((*said, *CONDITIONS, NO_FEEDBACK)))

    @property
    def periods(self) -> tuple[Period, ...]:
        """The periods that were read, in the order of their charges."""
        with opened(self.path) as db, reading(db):
            return tuple(period for _, period in read_periods(db))

    @property
    def ends(self) -> tuple[float, float] | None:
        """What the oldest and the newest record of the periods leak now, at most.

        They have neighbours on one side only and leak less than those between, whose leakage
        :attr:`spent` bounds. With every further release the newest one moves towards it. They are
        :attr:`spent` itself where no bound tells records apart: that of a confidence region of
        order k, which a fitted chain is held against by default, does not. None where no periods
        were read, or the ledger has a delta, a unit, or no model.
        """
        periods, budget = self.periods, self._budget
        if not periods or type(budget) is not BDPBudget or budget.unit is not None:
            return None
        oldest, newest = budget.ends(self._book.spent(), sum(period.rows for period in periods))
        most = self.spent
        return min(oldest, most), min(newest, most)

    def history(self) -> tuple[Charge, ...]:
        """Every charge, in order."""
        with opened(self.path) as db, reading(db):
            return tuple(read_charges(db))

    def to_frame(self, kind: Literal["pandas", "polars", "arrow"] = "pandas") -> Any:
        """Every charge, one a row, as a data frame; levels are the largest of a record.

        Examples
        --------
        >>> import os, tempfile
        >>> ledger = Ledger.create(os.path.join(tempfile.mkdtemp(), "a.ledger"), budget=3)
        >>> _ = ledger.charge(.3, what="a count"), ledger.charge(.4, what="a mean")
        >>> ledger.to_frame("arrow").select(["number", "what", "epsilon"]).to_pylist()[1]
        {'number': 2, 'what': 'a mean', 'epsilon': 0.4}
        """
        from corrdp._tabular import as_frame

        return as_frame(charge_columns(self.history()), kind)

    def answer(self, number: int) -> Any:
        """What was released under the charge of this number, as plain JSON, as often as you ask.

        None where the charge was made without its answer, as all were before version 3 of the file.

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
            Naming the first charge that was changed, deleted, added or moved, or a wrong total.
        """
        header, charges = self._book.checked()
        if head is not None:
            check_kept(header, charges, head)
        if isinstance(self._budget, BDPBudget) and self._budget.model.digest != header.digest:
            raise InputError("the model of the ledger does not have the ledger's digest")
        return len(charges)

    def export(self) -> dict[str, Any]:
        """Everything but the model as plain JSON; levels in units of 1e-12, deltas of 1e-18.

        ``remaining`` is :attr:`remaining_at_least`, ``answered`` the SHA-256 of a stored answer.
        """
        with opened(self.path) as db, reading(db):
            charges, head = read_charges(db), self._book.verified_head(db)
        found = exported(self.header, charges, head, self._budget, self._book.spent())
        return found | {"assumptions": list(self.assumptions)}

    def __repr__(self) -> str:
        charges = self.history()
        return "\n".join([*self._facts(charges), *(f"  {charge!r}" for charge in charges)])

    def _repr_html_(self) -> str:
        from corrdp._tabular import as_html

        charges = self.history()
        return as_html("\n".join(self._facts(charges)), charge_columns(charges))

    def _facts(self, charges: Sequence[Charge]) -> list[str]:
        """What the ledger is about and where it stands, a line each."""
        budget = self._budget
        spent = rounded(budget.cost(self._book.spent()), up=True)
        lines = [
            f"Ledger {self.path.name}: {budget.words} budget {budget.limit}",
            f"  spent        {spent} in {len(charges)} charges",
        ]
        if self.records is not None:
            lines.append(f"  records      {self.records}")
        if (unit := protected(self.header, budget, charges)) not in (None, RECORD):
            lines.append(f"  unit         {unit}")
        if self.digest is not None:
            lines.append(f"  model        {self.digest[:12]}")
        for each, many in merged(self.periods):
            lines.append(f"  read once    {each.words}: {each.rows:,} rows in {many} releases")
        return lines + [f"  assumes      {text}" for text in self.assumptions]

    @cached_property
    def _book(self) -> Book:
        return Book(self.path, self.header)

    @property
    def _budget(self) -> DPBudget:
        return self._book.budget
