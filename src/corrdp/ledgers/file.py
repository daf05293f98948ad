"""The SQLite file of a ledger: tables, transactions, errors in words, and how a charge gets in.

A charge is worked out without the lock, and verified inside.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from corrdp.errors import CorrdpError, InputError, RefusedError
from corrdp.ledgers.budget import BDPBudget, DPBudget, budget_of
from corrdp.ledgers.history import (
    VERSION,
    Charge,
    Head,
    Header,
    LastSeen,
    Wanted,
    check_chain,
    check_first,
    check_head,
    check_unit,
    read_answer,
)
from corrdp.ledgers.units import MOST, written

APPLICATION = 0x43445031  # "CDP1" in the file's header: this is a corrdp ledger
PATIENCE = 60.0  # seconds to wait for another process
# FULL would leave the removal of the journal to the file system: after a power cut the journal
# may be back, and undo a charge whose answer is out. EXTRA syncs the directory as well.
SYNCHRONOUS = "EXTRA"

# mu, delta and signature are empty as yet: there, so that the file need not change again. Numbers
# are text, exact; the answer comes last, so that a look at the charges does not read it
_CHARGES = (
    "CREATE TABLE charges (number INTEGER PRIMARY KEY, version INTEGER NOT NULL, "
    "made TEXT NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL, epsilon TEXT, mu TEXT, "
    "delta TEXT, digest TEXT, unit TEXT, reads TEXT, answered TEXT, hash TEXT NOT NULL, "
    "signature TEXT, answer TEXT)",
    "CREATE TRIGGER charges_stay BEFORE UPDATE ON charges "
    "BEGIN SELECT RAISE(ABORT, 'charges are append-only'); END",
    "CREATE TRIGGER charges_remain BEFORE DELETE ON charges "
    "BEGIN SELECT RAISE(ABORT, 'charges are append-only'); END",
)
_SCHEMA = (
    "CREATE TABLE ledger (id TEXT NOT NULL, kind TEXT NOT NULL, budget INTEGER NOT NULL, "
    "records INTEGER, digest TEXT, model TEXT, made TEXT NOT NULL, rule TEXT)",
    "CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL, total TEXT NOT NULL)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
    *_CHARGES,
)
_TO_3 = (
    "DROP TRIGGER IF EXISTS charges_stay",
    "DROP TRIGGER IF EXISTS charges_remain",
    "ALTER TABLE charges RENAME TO older",
    *_CHARGES,
    "INSERT INTO charges (number, version, made, kind, what, epsilon, digest, unit, hash) "
    "SELECT number, 2, made, kind, what, epsilon, digest, unit, hash FROM older",
    "DROP TABLE older",
    "ALTER TABLE ledger ADD COLUMN rule TEXT",
    f"PRAGMA user_version = {VERSION}",
)
# what stands where in a charge, by the version of the file
_COLUMNS = {
    2: "number, 2, made, kind, what, epsilon, NULL, NULL, digest, unit, NULL, NULL, hash",
    3: "number, version, made, kind, what, epsilon, mu, delta, digest, unit, reads, answered, hash",
}


def create_file(path: Path, header: Header, wanted: Sequence[Wanted] = ()) -> None:
    """Make a ledger where there is no file; a crash leaves an empty file, which may be reused."""
    with _connected(path, "rwc") as db, writing(db):
        # under the lock, so that of two that make the same ledger one is told
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise InputError(f"{path} exists; open it, or choose another name")
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute(
            "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?)", tuple(vars(header).values())
        )
        head = Head(0, header.hash, "0")
        db.execute("INSERT INTO head VALUES (?, ?, ?)", (head.number, head.hash, head.sum))
        for want in wanted:
            charge, head = want.after(head)
            append(db, charge, want.answer, head)


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one operation: nothing is shared between threads or across a fork."""
    if os.path.isdir(path):
        raise InputError(f"there is no ledger {path}: it is a directory; name the ledger's file")
    if not os.path.isfile(path):
        raise InputError(f"there is no ledger {path}; make one with Ledger.create")
    # also for reading: the first to open the file after a crash rolls the crash back
    with _connected(path, "rw") as db:
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = _version(db)
        if application != APPLICATION:
            raise InputError(f"{path} is not a ledger of corrdp; make one with Ledger.create")
        if version not in _COLUMNS:
            raise InputError(
                f"{path} is a ledger of version {version}, this corrdp reads versions "
                f"{min(_COLUMNS)} to {max(_COLUMNS)}; use the corrdp that made it"
            )
        yield db


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """One transaction with the write lock held from its start; any error undoes it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def reading(db: sqlite3.Connection) -> Iterator[None]:
    """One consistent view."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def read_header(db: sqlite3.Connection) -> Header:
    """What the ledger is about."""
    rule = "NULL" if _version(db) == 2 else "rule"
    query = f"SELECT id, kind, budget, records, digest, model, made, {rule} FROM ledger"
    header = Header(*_single(db, query, "ssiISSsS", "header"))
    whole = header.kind == "bdp" and header.model is not None and header.digest is not None
    if header.budget < 1 or not (whole or header.kind == "dp") or (header.records or 1) < 1:
        raise InputError(f"the header of the ledger is not what was written; {_RESTORE}")
    return header


def read_head(db: sqlite3.Connection) -> Head:
    """Where the ledger stands."""
    head = Head(*_single(db, "SELECT number, hash, total FROM head", "iss", "head"))
    if not 0 <= head.number < 2**53:
        raise InputError(f"the head of the ledger counts {head.number}; {_RESTORE}")
    return head


def read_charges(db: sqlite3.Connection, after: int = 0, most: int = -1) -> list[Charge]:
    """Charges in order, those with a number above ``after``; at most ``most`` (-1: all)."""
    rows = db.execute(
        f"SELECT {_COLUMNS[_version(db)]} FROM charges WHERE number > ? ORDER BY number LIMIT ?",
        (after, most),
    )
    charges = []
    for row in rows:
        number, version, made, kind, what, epsilon, mu, delta, *rest = _typed(
            row, "iissssSSSSSSs", f"charge {row[0]}"
        )
        if version not in _COLUMNS or mu is not None or delta is not None:
            raise InputError(
                f"charge {number} of the ledger is of a kind that this corrdp does not add up; use "
                "the corrdp that made it"
            )
        charges.append(Charge(number, version, made, kind, what, epsilon, *rest))
    return charges


def read_stored(db: sqlite3.Connection, number: int) -> str | None:
    """The answer that is stored with a charge, as text."""
    if _version(db) == 2:
        return None
    query = "SELECT answer FROM charges WHERE number = ?"
    found = db.execute(query, (number,)).fetchone()
    return None if found is None else _typed(found, "S", f"the answer of charge {number}")[0]


def read_hash(db: sqlite3.Connection, number: int) -> str | None:
    """The hash of one charge; None if there is no such charge."""
    found = db.execute("SELECT hash FROM charges WHERE number = ?", (number,)).fetchone()
    return None if found is None else found[0]


def has_fit(db: sqlite3.Connection, digest: str) -> bool:
    """Whether the private fit of a model is charged already."""
    query = "SELECT count(*) FROM charges WHERE kind = 'fit' AND digest = ?"
    return bool(db.execute(query, (digest,)).fetchone()[0])


def append(db: sqlite3.Connection, charge: Charge, answer: str | None, head: Head) -> None:
    """Write a charge with its answer and move the head; the caller holds the transaction.

    An older file is brought to this version first, in the same transaction: its charges keep their
    hashes, and its header says no more than it did.
    """
    for statement in _TO_3 if _version(db) == 2 else ():
        db.execute(statement)
    row = {**vars(charge), "answer": answer}
    db.execute(
        "INSERT INTO charges (number, version, made, kind, what, epsilon, digest, unit, reads, "
        "answered, hash, answer) VALUES (:number, :version, :made, :kind, :what, :amount, :digest, "
        ":unit, :reads, :answered, :hash, :answer)",
        row,
    )
    db.execute(
        "UPDATE head SET number = ?, hash = ?, total = ?", (head.number, head.hash, head.sum)
    )


def check_pages(db: sqlite3.Connection) -> None:
    """SQLite's own check of the file."""
    found = " ".join(db.execute("PRAGMA integrity_check(1)").fetchone()[0].split())
    if found != "ok":
        raise InputError(f"the ledger's file is damaged ({found}); restore a copy that checks")


_RESTORE = "restore a copy that checks"
_TYPES: dict[str, Any] = {"i": int, "I": (int, type(None)), "s": str, "S": (str, type(None))}


def _single(db: sqlite3.Connection, query: str, types: str, what: str) -> Sequence[Any]:
    rows = db.execute(query).fetchmany(2)
    if len(rows) != 1:
        raise InputError(f"the ledger does not have one {what}; {_RESTORE}")
    return _typed(rows[0], types, f"the {what}")


def _typed(row: Sequence[Any], types: str, what: str) -> Sequence[Any]:
    """A row as it must be: SQLite lets any value stand in any column."""
    if not all(isinstance(v, _TYPES[t]) for v, t in zip(row, types, strict=True)):
        raise InputError(f"{what} of the ledger is not what was written; {_RESTORE}")
    return row


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    try:
        if mode == "rwc":
            _make_private(path)
        db = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode={mode}",
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,  # transactions are begun and ended here, by name
        )
        try:
            # one file between transactions, so that a plain copy is a backup; no write-ahead log
            journal = db.execute("PRAGMA journal_mode = DELETE").fetchone()[0]
            if journal != "delete":
                raise InputError(f"{path} is open in {journal} mode elsewhere; close it there")
            db.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            db.execute("PRAGMA fullfsync = ON")  # macOS: its fsync alone stops at the drive's cache
            yield db
        finally:
            db.close()
    except sqlite3.Error as error:
        raise _in_words(path, error) from error
    except UnicodeDecodeError:  # SQLite complains in the words of a damaged file
        raise InputError(f"the ledger {path} is damaged; restore a copy that checks") from None


def _make_private(path: Path) -> None:
    """An empty file that only its owner may read: a ledger holds models and answers."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_EXCL, 0o600))
    except OSError:  # it is there, or cannot be: SQLite says which
        return


def _in_words(path: Path, error: sqlite3.Error) -> CorrdpError:
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    said = " ".join(str(error).split())  # of a damaged file these may be any words
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return RefusedError(
            f"another process has held the ledger {path} for {PATIENCE:g} s; nothing was charged "
            "and nothing released, try again"
        )
    if name == "SQLITE_NOTADB":
        return InputError(f"{path} is not a ledger of corrdp; make one with Ledger.create")
    if name.startswith("SQLITE_CORRUPT"):
        return InputError(f"the ledger {path} is damaged ({said}); restore a copy that checks")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        why = "it, or the folder that its journal goes to, cannot be written; check permissions"
    elif name == "SQLITE_TOOBIG":
        why = "the answer is too large to be stored; release less at once"
    elif name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        why = "the disk is full or failing; make room"
    else:
        why = "its tables are not those of a ledger; restore a copy that checks"
    return InputError(f"cannot use the ledger {path}: {why} ({name}: {said}). Nothing was released")


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
        for each in pending:
            want = each.told(head)
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
