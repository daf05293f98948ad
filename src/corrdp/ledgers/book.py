"""What may be charged to a ledger, and how a charge gets in.

A charge is worked out without the lock, and verified inside.
"""

from __future__ import annotations

import json
import re
import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corrdp._checks import check_items, check_kind, check_whole
from corrdp.errors import GuaranteeError, InputError, NotApplicableError, RefusedError
from corrdp.ledgers.budget import BDPBudget, DPBudget, OnceBudget, fit_units
from corrdp.ledgers.composition import ComposingBDP, ComposingDP
from corrdp.ledgers.file import (
    append,
    check_pages,
    has_fit,
    opened,
    read_charges,
    read_hash,
    read_head,
    read_header,
    read_periods,
    read_stored,
    reading,
    writing,
)
from corrdp.ledgers.history import (
    Charge,
    Head,
    Header,
    Wanted,
    canonical,
    check_unit,
    now,
    read_answer,
)
from corrdp.ledgers.integrity import LOOK, LastSeen, check_chain, check_first, check_head, followed
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.periods import Period, check_apart
from corrdp.ledgers.units import MOST, Runs, budget_units, chance_units, rounded

if TYPE_CHECKING:
    from corrdp.calibration.robustness import Confidence
    from corrdp.models.base import Model

_RECORDS = 2**53  # more would not be counted exactly
_HALF = re.compile("[\ud800-\udfff]")


def fit_of(model: Model, units: int) -> Wanted:
    """The charge of a private fit."""
    what = f"the private fit of model {model.digest[:12]}"
    return Wanted("fit", what, ChargedLevel("pure", Runs.scalar(units)), model.digest)


def wanted_of(
    header: Header,
    promise: Any,
    what: str,
    model: Model | None,
    unit: Any,
    period: Period | None = None,
) -> list[Wanted]:
    """A release as it is to be charged, behind the private fit of its model if there is one."""
    if not _is_text(what):
        raise InputError(f"what must say in words what is released, got {what!r}")
    whose = _whose(header, unit)
    level = ChargedLevel.of(promise, header.records, whole=whose is not None)
    if header.delta is None and level.notion != "pure":
        raise GuaranteeError(
            f"this ledger adds up pure epsilons, and {what!r} has {level.in_words}: its budget "
            "leaves nothing to chance. Keep a ledger with a delta (delta=, corrdp ledger init "
            "--delta), or release with Laplace noise"
        )
    if header.unit is not None and level.whole and not level.is_scalar:
        raise InputError(
            f"{what!r} has one level per record and is charged for the unit as a whole: give one "
            "level for the unit, or leave unit out and the levels are put together unit by unit"
        )
    digest = None if model is None else check_model(header, model)
    if period is not None:
        _check_period(header, whose, period)
        level = level.of_period
    release = Wanted("release", what, level, digest, whose, period=period)
    fit = 0 if model is None else fit_units(model)
    return [fit_of(model, fit), release] if model is not None and fit else [release]


def step_of(what: str, period: Period, digest: str) -> Wanted:
    """A step of running totals, whose charge was made before."""
    return Wanted("step", what, ChargedLevel("pure", Runs.scalar(0)), digest, period=period)


def _check_period(header: Header, whose: str | None, period: Period) -> None:
    """A period is read once; that a promise holds for ever needs more."""
    check_kind("period", period, Period, "a Period, as a release of new rows makes it")
    if period.of is not None:
        raise InputError(
            f"the period is a step of charge {period.of}, which its running totals release; give "
            "one of your own"
        )
    if header.kind == "partial":
        raise RefusedError(
            "promises against partial knowledge do not add up, not even over periods: keep a "
            "ledger of kind bdp or dp. Nothing was charged"
        )
    if header.records is not None:
        raise RefusedError(
            f"this ledger is about {header.records} records, and periods are about a series that "
            "goes on: make a ledger on a model of any length (fit --any-length, "
            "model.with_length(None)), or a DP ledger without records. Nothing was charged"
        )
    if whose is not None or header.unit == canonical("person"):
        raise RefusedError(
            "who is in every period is read in every period: a promise for ever is about "
            "a record or a window of records. Nothing was charged"
        )


def _whose(header: Header, unit: Any) -> str | None:
    """Whom a charge protects, as it is written down; None for one record."""
    if unit is None:
        return None
    if header.unit is not None:
        if canonical_unit(unit) != header.unit:
            raise RefusedError(
                f"this ledger is about units of {json.loads(header.unit)}, and the release has its "
                f"level for {unit}: these do not add up. Charge its level for one record, which is "
                "converted, or for the ledger's own unit. Nothing was charged"
            )
        if header.delta is None:
            raise RefusedError(
                "a ledger without a delta adds up epsilons record by record: charge the level for "
                "one record, or keep a ledger with a delta. Nothing was charged"
            )
        return header.unit
    if not _is_text(unit):
        raise InputError(f"unit must say in words whom epsilon protects, got {unit!r}")
    if header.kind == "bdp":
        raise RefusedError(
            "a BDP ledger is about the records of its model, and this release is about "
            f"{unit}: use a DP ledger"
        )
    return str(unit)


def new_budget(
    kind: str,
    budget: Any,
    delta: Any,
    unit: Any,
    model: Model | None,
    records: int | None,
    confidence: Confidence,
    accept: str | None,
) -> DPBudget:
    """The budget of a new ledger and its header; raises on what cannot be kept."""
    if isinstance(kind, str) and kind == "partial" and (delta or unit is not None):
        raise InputError(
            "a ledger of kind partial takes one release, which says its own delta and whom it "
            "protects; leave out delta and unit"
        )
    header = Header(
        id=uuid.uuid4().hex,
        kind=kind,
        budget=budget_units(budget),
        records=records_of(kind, model, records),
        digest=None if model is None else model.digest,
        model=None if model is None else json.dumps(model.to_dict()),
        made=now(),
        delta=chance_units(delta) or None,
        unit=canonical_unit(unit),
    )
    return _settled(header, model, confidence, accept)


def _settled(
    header: Header, model: Model | None, confidence: Confidence, accept: str | None
) -> DPBudget:
    """The budget with unit, rule and cap in its header."""
    budget = budget_of(header)
    header = replace(header, unit=header.unit if budget.unit else None)
    if model is None and (confidence != "default" or accept is not None):
        raise InputError(
            "confidence and accept are about a model, and a DP ledger has none; leave them out"
        )
    if model is not None and isinstance(budget, BDPBudget):
        from corrdp.calibration.robustness import promise_on

        kept = promise_on(model, confidence, accept, **budget.asked)
        rule = canonical({"confidence": kept.confidence, "accept": accept})
        budget = budget_of(replace(header, rule=rule))
        vars(budget)["promise"] = kept
    if isinstance(budget, ComposingDP):
        budget.header = replace(budget.header, cap=budget.cap())
    return budget


def canonical_unit(unit: Any) -> str | None:
    """A unit as it stands in a header; None for one record."""
    if isinstance(unit, str):
        said = " ".join(unit.split())
        return None if said.lower() == "record" else canonical(said)
    if isinstance(unit, Iterable):
        return canonical([check_whole("unit", k, least=0) for k in check_items("unit", unit)])
    return None if unit is None or unit == 1 else canonical(check_whole("unit", unit))


def _is_text(value: object) -> bool:
    """Whether there are words, without halves of characters, which no file takes."""
    return isinstance(value, str) and bool(value.strip()) and not _HALF.search(value)


def check_model(header: Header, model: Model) -> str:
    """The digest of a model that a release may be charged with."""
    from corrdp.models.base import Model

    digest = check_kind("model", model, Model, "a dependence model such as MarkovChain").digest
    if header.kind == "bdp" and digest != header.digest:
        raise RefusedError(
            f"this ledger's budget is about model {str(header.digest)[:12]}, the release was "
            f"calibrated with model {digest[:12]}; calibrate with the ledger's own model, or "
            "keep another ledger (their promises do not add up)"
        )
    return digest


def records_of(kind: str, model: Model | None, records: int | None) -> int | None:
    """How many records a new ledger is about; raises on what cannot be kept."""
    if not isinstance(kind, str) or kind not in ("dp", "bdp", "partial"):
        raise InputError(f"kind must be dp, bdp or partial, got {kind!r}")
    if records is not None:
        records = check_whole("records", records, most=_RECORDS)
    if kind != "bdp":
        if model is not None:
            raise InputError("a DP ledger needs no model; leave it out, or make its kind bdp")
        return records
    if model is None:
        raise InputError("a BDP ledger needs the model that its budget is about; give a model")
    from corrdp.models.base import RealModel

    if not hasattr(model, "digest"):
        raise InputError(f"model must be a dependence model such as MarkovChain, got {model!r}")
    if isinstance(model, RealModel):
        raise NotApplicableError(
            "a BDP ledger adds epsilons, and on real-valued (Gaussian) records an epsilon alone "
            "has no leakage: that needs the l1 rate and the grid of each query. Keep a DP ledger; "
            "leakage(model, Pure(total)), corrdp leakage --epsilon TOTAL, bounds what it leaks"
        )
    if records not in (None, model.length):
        raise InputError(
            f"{records} records, and the model has "
            f"{'no fixed length' if model.length is None else f'{model.length} records'}; leave "
            "records out"
        )
    return model.length


def budget_of(header: Header) -> DPBudget:
    """The rule of a ledger."""
    if header.delta is None:
        plain = {"dp": DPBudget, "bdp": BDPBudget, "partial": OnceBudget}
        return plain[header.kind](header)
    return ComposingDP(header) if header.kind == "dp" else ComposingBDP(header)


_RACES = 3  # lost to other processes; then the lock is held while the cost is worked out


@dataclass(frozen=True)
class Book:
    """The file of a ledger, what it is about, and what this process has seen of it."""

    path: Path
    header: Header
    seen: LastSeen = field(default_factory=LastSeen)

    @cached_property
    def budget(self) -> DPBudget:
        """The rule by which charges count."""
        return budget_of(self.header)

    @property
    def nothing(self) -> Any:
        """What a ledger without charges has spent."""
        return () if self.budget.composes else Runs.scalar(0)

    def head(self) -> Head:
        """Where the ledger stands."""
        with opened(self.path) as db, reading(db):
            return self.verified_head(db)

    def spent(self) -> Any:
        """What is spent, as the budget counts it."""
        with opened(self.path) as db, reading(db):
            return self._spent(db, self.verified_head(db))

    def verified_head(self, db: sqlite3.Connection) -> Head:
        """Where the ledger stands, after a look at its header and last charge; ``check`` looks at
        all."""
        self._check_header(db)
        head = read_head(db)
        check_first(self.header, read_charges(db, most=1))
        check_head(self.header, head, read_charges(db, after=head.number - 2))
        self.seen.check(lambda k: head.hash if k == head.number else read_hash(db, k))
        self.seen.move(head)
        return head

    def _spent(self, db: sqlite3.Connection, head: Head) -> Any:
        """A sum is in the head. What composes needs every charge: those not seen yet are read, and
        must follow on what was seen."""
        if not self.budget.composes:
            return head.total
        levels: Any
        last, levels = self.seen.kept or (self.header.start, self.nothing)
        charges = read_charges(db, after=last.number)
        for charge in charges:
            levels = self.budget.after(levels, charge.level)
        if followed(last, charges) != head:
            raise InputError(f"the charges of the ledger do not lead to its head; {LOOK}")
        self.seen.kept = (head, levels)
        return levels

    def answer(self, number: int) -> Any:
        """What was stored with a charge."""
        with opened(self.path) as db, reading(db):
            head = self.verified_head(db)
            if number > head.number:
                raise InputError(f"there is no charge {number}: the ledger has {head.number}")
            charges, text = read_charges(db, number - 1, most=1), read_stored(db, number)
        if [charge.number for charge in charges] != [number]:
            raise InputError(
                f"charge {number} of the ledger is missing; restore a copy that checks"
            )
        return read_answer(charges[0], text)

    def checked(self) -> tuple[Header, list[Charge]]:
        """Header and charges, after the whole file was verified."""
        with opened(self.path) as db, reading(db):
            check_pages(db)
            header, charges, last = read_header(db), read_charges(db), read_head(db)
            check_chain(header, charges, last)
            for charge in charges:
                read_answer(charge, read_stored(db, charge.number))
        self.seen.check({charge.number: charge.hash for charge in charges}.get)
        return header, charges

    def check_fits(self, wanted: Sequence[Wanted]) -> None:
        """Refuse charges that do not fit as the ledger stands now."""
        with opened(self.path) as db:
            with reading(db):
                found = self._pending(db, wanted)
            self._following(*found)

    def append(self, wanted: Sequence[Wanted]) -> list[Charge]:
        """Write charges in one transaction; those of private fits that are there are left out.

        What they cost, and the text of a long vector, is worked out while others may write. Whoever
        writes first moves the head, and the others begin anew.
        """
        steps = self._written(wanted)
        if steps:  # the charges are on disk
            self.seen.move(steps[-1].head)
        return [step.charge for step in steps]

    def _written(self, wanted: Sequence[Wanted]) -> list[_Step]:
        with opened(self.path) as db:
            for _ in range(_RACES):
                with reading(db):
                    head, pending, spent = self._pending(db, wanted)
                steps = self._following(head, pending, spent)
                with writing(db):
                    self._check_header(db)
                    if read_head(db) == head:
                        return _write(db, steps)
            with writing(db):
                return _write(db, self._following(*self._pending(db, wanted)))

    def _pending(
        self, db: sqlite3.Connection, wanted: Sequence[Wanted]
    ) -> tuple[Head, list[Wanted], Any]:
        """Where the ledger stands, what of the wanted charges is not in it yet, what is spent."""
        head = self.verified_head(db)
        pending = [w for w in wanted if w.kind != "fit" or not has_fit(db, str(w.digest))]
        check_unit(self.header, read_charges(db, most=1), pending)
        for each in pending:
            if each.period is not None:
                check_apart(read_periods(db), each.period)
        return head, pending, self._spent(db, head)

    def _following(self, head: Head, pending: Sequence[Wanted], spent: Any) -> list[_Step]:
        """The charges as they follow on a head; refused if they do not fit."""
        steps, start = [], spent
        for each in pending:
            spent = self.budget.after(spent, each.level)
            want = each.told(spent)
            charge, head = want.after(head)
            steps.append(_Step(charge, want.answer, head))
        if steps and (head.total.largest > MOST or not self.budget.fits(spent)):
            raise self._does_not_fit(start, pending)
        return steps

    def _check_header(self, db: sqlite3.Connection) -> None:
        if read_header(db) != self.header:
            raise InputError(
                f"{self.path} is not the ledger that was opened, or its budget or model was "
                "changed; open it again, and corrdp ledger check (ledger.check()) says where"
            )

    def _does_not_fit(self, spent: Any, pending: Sequence[Wanted]) -> RefusedError:
        release = pending[-1]
        for want in pending[:-1]:
            spent = self.budget.after(spent, want.level)
        room = self.budget.room(spent, release.level)
        beside = f" beside {pending[0].what}" if len(pending) > 1 else ""
        alike = release.level.is_scalar and release.period is None
        whom = "every record" if alike else "these records"
        return RefusedError(
            f"{release.level.in_words} for {release.what!r} does not fit{beside}: "
            f"{rounded(self.budget.cost(spent), up=True)} of the {self.budget.words} budget of "
            f"{self.budget.limit} is spent, and a release of {whom} may have at most "
            f"{release.level.symbol} {rounded(room, up=False)}{self._as_target(release, room)}. "
            "Nothing was charged"
        )

    def _as_target(self, release: Wanted, room: int) -> str:
        """The largest target that a release of the same kind may still be calibrated to."""
        if not room or self.header.kind != "bdp":
            return ""
        alone = self.budget.after(self.nothing, release.level.spread(room))
        return f", which is target {rounded(self.budget.cost(alone), up=False)} for it alone"


@dataclass(frozen=True)
class _Step:
    """A charge to be written, its answer, and the head that it leaves."""

    charge: Charge
    answer: str | None
    head: Head


def _write(db: sqlite3.Connection, steps: list[_Step]) -> list[_Step]:
    for step in steps:
        append(db, step.charge, step.answer, step.head)
    return steps
