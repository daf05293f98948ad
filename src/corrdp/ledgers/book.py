"""How a charge gets into the file of a ledger: worked out without the lock, verified inside."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.budget import BDPBudget, DPBudget, budget_of
from corrdp.ledgers.file import (
    append,
    has_fit,
    opened,
    read_charges,
    read_hash,
    read_head,
    read_header,
    reading,
    writing,
)
from corrdp.ledgers.history import (
    Charge,
    Head,
    Header,
    LastSeen,
    Wanted,
    check_first,
    check_head,
    check_unit,
)
from corrdp.ledgers.units import MOST, written

_RACES = 3  # lost to other processes; then the lock is held while the cost is worked out


@dataclass(frozen=True)
class Book:
    """The file of a ledger, what it is about, and what this process has seen of it."""

    path: Path
    header: Header
    seen: LastSeen = field(default_factory=LastSeen)

    @cached_property
    def budget(self) -> DPBudget | BDPBudget:
        """The rule by which charges count."""
        return budget_of(self.header)

    def head(self) -> Head:
        """Where the ledger stands."""
        with opened(self.path) as db, reading(db):
            return self.verified_head(db)

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

    def check_fits(self, wanted: Sequence[Wanted]) -> None:
        """Refuse charges that do not fit as the ledger stands now."""
        with opened(self.path) as db:
            with reading(db):
                head, pending = self._pending(db, wanted)
            self._following(head, pending)

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
                    head, pending = self._pending(db, wanted)
                steps = self._following(head, pending)
                with writing(db):
                    self._check_header(db)
                    if read_head(db) == head:
                        return _write(db, steps)
            with writing(db):
                return _write(db, self._following(*self._pending(db, wanted)))

    def _pending(
        self, db: sqlite3.Connection, wanted: Sequence[Wanted]
    ) -> tuple[Head, list[Wanted]]:
        """Where the ledger stands, and what of the wanted charges is not in it yet."""
        head = self.verified_head(db)
        pending = [w for w in wanted if w.kind != "fit" or not has_fit(db, str(w.digest))]
        check_unit(read_charges(db, most=1), pending)
        return head, pending

    def _following(self, head: Head, pending: Sequence[Wanted]) -> list[_Step]:
        """The charges as they follow on a head; refused if they do not fit."""
        steps, start = [], head
        for want in pending:
            charge, head = want.after(head)
            steps.append(_Step(charge, want.answer, head))
        if steps and (head.total.largest > MOST or not self.budget.fits(head.total)):
            raise self._does_not_fit(start, pending)
        return steps

    def _check_header(self, db: sqlite3.Connection) -> None:
        if read_header(db) != self.header:
            raise InputError(
                f"{self.path} is not the ledger that was opened, or its budget or model was "
                "changed; open it again, and corrdp ledger check (ledger.check()) says where"
            )

    def _does_not_fit(self, head: Head, pending: Sequence[Wanted]) -> RefusedError:
        spent, release = head.total, pending[-1]
        for want in pending[:-1]:
            spent = spent + want.runs
        room = self.budget.room(spent, release.runs)
        beside = f" beside {pending[0].what}" if len(pending) > 1 else ""
        whom = "every record" if release.runs.is_scalar else "these records"
        return RefusedError(
            f"epsilon {written(release.runs.largest)} for {release.what!r} does not fit{beside}: "
            f"{written(self.budget.cost(spent))} of the {self.budget.words} budget of "
            f"{written(self.header.budget)} is spent, and a release of {whom} may have at most "
            f"epsilon {written(room)}. Nothing was charged"
        )


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
