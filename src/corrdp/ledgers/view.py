"""What can be read of a ledger: where it stands, its charges, their answers; and a check of it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from corrdp._checks import check_whole
from corrdp.errors import InputError, NotApplicableError
from corrdp.ledgers.book import Book
from corrdp.ledgers.budget import ALL, NEW, BDPBudget, DPBudget
from corrdp.ledgers.composition import ALL_GAUSSIAN
from corrdp.ledgers.file import opened, read_charges, read_periods, reading
from corrdp.ledgers.history import RECORD, VERSION, Charge, Header, charge_columns
from corrdp.ledgers.integrity import check_kept
from corrdp.ledgers.periods import CONDITIONS, Period, by_charge, merged
from corrdp.ledgers.units import UNIT, rounded

if TYPE_CHECKING:
    import numpy as np

    from corrdp.guarantees import Guarantee
    from corrdp.models.base import Model
    from corrdp.release.signatures import LedgerHead


@dataclass(frozen=True, repr=False)
class LedgerView:
    """What a ledger tells; :class:`~corrdp.ledgers.ledger.Ledger` adds what spends.

    Parameters
    ----------
    path : Path
    header : Header
        What the ledger is about: kind, budget, records, model.
    """

    path: Path
    header: Header

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
            return self._protects(read_charges(db, most=1))

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
        >>> from corrdp import Ledger
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
        >>> from corrdp import Ledger
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
        """The periods that releases of their own have read, in the order of their charges."""
        return tuple(period for _, period in self.read if period.of is None)

    @property
    def read(self) -> tuple[tuple[int, Period], ...]:
        """Every period that was read, steps of running totals too, each with its charge."""
        with opened(self.path) as db, reading(db):
            return tuple(read_periods(db))

    def steps(self, number: int) -> tuple[tuple[int, Period], ...]:
        """The steps of the running totals that were charged under this number, each with its own.

        Their answers are those of :meth:`answer`, and the last of them has all.
        """
        return tuple(by_charge(self.read)[check_whole("the number of a charge", number)])

    @property
    def running(self) -> tuple[str, ...]:
        """How far running totals have come, one line for each."""
        return tuple(
            f"charge {of} counts {each.words}: {each.rows:,} rows in {many} releases"
            for of, steps in by_charge(self.read).items()
            if of is not None
            for each, many in merged(period for _, period in steps)
        )

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
        >>> from corrdp import Ledger
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
        >>> from corrdp import Ledger
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
        header, spent = self.header, self._book.spent()
        return {
            "corrdp": VERSION,
            "result": "ledger",
            "id": header.id,
            "kind": header.kind,
            "budget": header.budget,
            "delta": header.delta or 0,
            "cap": header.cap,
            "spent": self._budget.cost(spent),
            "remaining": self._budget.room_at_least(spent),
            "unit": 1 / UNIT,
            "records": header.records,
            "protects": self._protects(charges),
            "digest": header.digest,
            "made": header.made,
            "rule": None if header.rule is None else json.loads(header.rule),
            "epsilon": head.total.to_json(),
            "charges": [charge.to_dict() for charge in charges],
            "hash": head.hash,
            "assumptions": list(self.assumptions),
        }

    def _protects(self, charges: Sequence[Charge]) -> str | None:
        """Whom the levels protect, in words; None where nobody said so yet."""
        if self._budget.unit is not None:
            return self._budget.unit.words
        return charges[0].unit or RECORD if charges else None

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
        if (unit := self._protects(charges)) not in (None, RECORD):
            lines.append(f"  unit         {unit}")
        if self.digest is not None:
            lines.append(f"  model        {self.digest[:12]}")
        for each, many in merged(self.periods):
            lines.append(f"  read once    {each.words}: {each.rows:,} rows in {many} releases")
        lines += [f"  totals       {text}" for text in self.running]
        return lines + [f"  assumes      {text}" for text in self.assumptions]

    @cached_property
    def _book(self) -> Book:
        return Book(self.path, self.header)

    @property
    def _budget(self) -> DPBudget:
        return self._book.budget
