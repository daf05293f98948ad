"""The SQLite file of a ledger: tables, transactions, and errors in words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corrdp.errors import CorrdpError, InputError, RefusedError
from corrdp.ledgers.history import VERSION, Charge, Head, Header, Wanted
from corrdp.ledgers.levels import Notion
from corrdp.ledgers.periods import Period
from corrdp.ledgers.units import DELTA_UNIT

APPLICATION = 0x43445031  # "CDP1" in the file's header: this is a corrdp ledger
PATIENCE = 60.0  # seconds to wait for another process
# FULL would leave the removal of the journal to the file system: after a power cut the journal
# may be back, and undo a charge whose answer is out. EXTRA syncs the directory as well.
SYNCHRONOUS = "EXTRA"

# the signature is empty as yet. Numbers are text, exact; the answer comes last, so that a look at
# the charges does not read it
_CHARGES = (
    "CREATE TABLE charges (number INTEGER PRIMARY KEY, version INTEGER NOT NULL, "
    "made TEXT NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL, epsilon TEXT, mu TEXT, "
    "rho TEXT, delta TEXT, digest TEXT, unit TEXT, reads TEXT, answered TEXT, hash TEXT NOT NULL, "
    "signature TEXT, answer TEXT)",
    "CREATE TRIGGER charges_stay BEFORE UPDATE ON charges "
    "BEGIN SELECT RAISE(ABORT, 'charges are append-only'); END",
    "CREATE TRIGGER charges_remain BEFORE DELETE ON charges "
    "BEGIN SELECT RAISE(ABORT, 'charges are append-only'); END",
)
_SCHEMA = (
    "CREATE TABLE ledger (id TEXT NOT NULL, kind TEXT NOT NULL, budget INTEGER NOT NULL, "
    "records INTEGER, digest TEXT, model TEXT, made TEXT NOT NULL, rule TEXT, delta INTEGER, "
    "unit TEXT, cap INTEGER)",
    "CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL, total TEXT NOT NULL)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
    *_CHARGES,
)
# what a file of each version has, in the order of the fields of a header and of a charge
_HEADERS = {
    2: "id, kind, budget, records, digest, model, made, NULL, NULL, NULL, NULL",
    3: "id, kind, budget, records, digest, model, made, rule, NULL, NULL, NULL",
    4: "id, kind, budget, records, digest, model, made, rule, delta, unit, cap",
}
_COLUMNS = {
    2: "number, 2, made, kind, what, epsilon, NULL, NULL, NULL, digest, unit, NULL, NULL, hash",
    3: "number, version, made, kind, what, epsilon, mu, NULL, delta, digest, unit, reads, "
    "answered, hash",
    4: "number, version, made, kind, what, epsilon, mu, rho, delta, digest, unit, reads, "
    "answered, hash",
}
_NEW = ("rule TEXT", "delta INTEGER", "unit TEXT", "cap INTEGER")


def _migration(version: int) -> tuple[str, ...]:
    """What brings a file of an older version to this one; charges keep their hashes."""
    kept = {2: "NULL, NULL", 3: "signature, answer"}[version]
    return (
        "DROP TRIGGER IF EXISTS charges_stay",
        "DROP TRIGGER IF EXISTS charges_remain",
        "ALTER TABLE charges RENAME TO older",
        *_CHARGES,
        f"INSERT INTO charges SELECT {_COLUMNS[version]}, {kept} FROM older",
        "DROP TABLE older",
        *(f"ALTER TABLE ledger ADD COLUMN {column}" for column in _NEW[version - 2 :]),
        f"PRAGMA user_version = {VERSION}",
    )


def create_file(path: Path, header: Header, wanted: Sequence[Wanted] = ()) -> None:
    """Make a ledger where there is no file; a crash leaves an empty file, which may be reused."""
    with _connected(path, "rwc") as db, writing(db):
        # under the lock, so that of two that make the same ledger one is told
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise InputError(f"{path} exists; open it, or choose another name")
        for statement in _SCHEMA:
            db.execute(statement)
        fields = tuple(vars(header).values())
        db.execute(f"INSERT INTO ledger VALUES ({', '.join('?' * len(fields))})", fields)
        head = header.start
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
    query = f"SELECT {_HEADERS[_version(db)]} FROM ledger"
    header = Header(*_single(db, query, "ssiISSsSISI", "header"))
    whole = header.kind == "bdp" and header.model is not None and header.digest is not None
    least = min(header.records or 1, header.delta or 1, header.budget)
    plain = header.kind == "dp" or (header.kind == "partial" and header.delta is None)
    if least < 1 or not (whole or plain) or (header.delta or 1) > DELTA_UNIT:
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
        number, version, made, kind, what, *numbers, digest, unit, reads, answered, seal = _typed(
            row, "iisssSSSSSSSSs", f"charge {row[0]}"
        )
        given = tuple(text is not None for text in numbers)
        if version not in _COLUMNS or given not in _NOTIONS:
            raise InputError(
                f"charge {number} of the ledger is of a kind that this corrdp does not add up; use "
                "the corrdp that made it"
            )
        amount = next(text for text in numbers if text is not None)
        rest = (amount, digest, unit, reads, answered, seal, _NOTIONS[given], numbers[3])
        charges.append(Charge(number, version, made, kind, what, *rest))
    return charges


# by which of epsilon, mu, rho and delta a charge has
_NOTIONS: dict[tuple[bool, ...], Notion] = {
    (True, False, False, False): "pure",
    (True, False, False, True): "approximate",
    (False, True, False, False): "gaussian",
    (False, False, True, False): "zcdp",
}


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


def read_periods(db: sqlite3.Connection) -> list[tuple[int, Period]]:
    """The periods that were read, each with the number of its charge."""
    if _version(db) == 2:
        return []
    rows = db.execute("SELECT number, reads FROM charges WHERE reads LIKE '{%' ORDER BY number")
    found = [_typed(row, "is", "a period") for row in rows]
    return [(number, Period.from_text(text)) for number, text in found]


def has_fit(db: sqlite3.Connection, digest: str) -> bool:
    """Whether the private fit of a model is charged already."""
    query = "SELECT count(*) FROM charges WHERE kind = 'fit' AND digest = ?"
    return bool(db.execute(query, (digest,)).fetchone()[0])


def append(db: sqlite3.Connection, charge: Charge, answer: str | None, head: Head) -> None:
    """Write a charge with its answer and move the head; the caller holds the transaction.

    An older file is brought to this version first, in the same transaction: its charges keep their
    hashes, and its header says no more than it did.
    """
    for statement in () if (version := _version(db)) == VERSION else _migration(version):
        db.execute(statement)
    row = {**vars(charge), **dict(charge.numbers()), "answer": answer}
    db.execute(
        "INSERT INTO charges (number, version, made, kind, what, epsilon, mu, rho, delta, digest, "
        "unit, reads, answered, hash, answer) VALUES (:number, :version, :made, :kind, :what, "
        ":epsilon, :mu, :rho, :delta, :digest, :unit, :reads, :answered, :hash, :answer)",
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
