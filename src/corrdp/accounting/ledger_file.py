"""The SQLite file of a ledger: its tables, its transactions, and its errors in words."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from corrdp.accounting.ledger_history import Charge, Head, Header, Wanted, canonical
from corrdp.accounting.ledger_units import Runs
from corrdp.errors import CorrdpError, InputError, RefusedError

APPLICATION = 0x43445031  # "CDP1" in the file's header: this is a corrdp ledger
VERSION = 2  # 2: charges name their unit
PATIENCE = 60.0  # seconds to wait for another process
# FULL would leave the removal of the journal to the file system: after a power cut the journal
# may be back, and undo a charge whose answer is out. EXTRA syncs the directory as well.
SYNCHRONOUS = "EXTRA"

_SCHEMA = (
    "CREATE TABLE ledger (id TEXT NOT NULL, kind TEXT NOT NULL, budget INTEGER NOT NULL, "
    "records INTEGER, digest TEXT, model TEXT, made TEXT NOT NULL)",
    "CREATE TABLE charges (number INTEGER PRIMARY KEY, made TEXT NOT NULL, kind TEXT NOT NULL, "
    "what TEXT NOT NULL, epsilon TEXT NOT NULL, digest TEXT, unit TEXT, hash TEXT NOT NULL)",
    "CREATE TABLE head (number INTEGER NOT NULL, hash TEXT NOT NULL, total TEXT NOT NULL)",
    "CREATE TRIGGER charges_stay BEFORE UPDATE ON charges "
    "BEGIN SELECT RAISE(ABORT, 'charges are append-only'); END",
    "CREATE TRIGGER charges_remain BEFORE DELETE ON charges "
    "BEGIN SELECT RAISE(ABORT, 'charges are append-only'); END",
    f"PRAGMA application_id = {APPLICATION}",
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
        db.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?)", tuple(vars(header).values()))
        db.execute("INSERT INTO head VALUES (0, ?, '0')", (header.hash,))
        append(db, read_head(db), wanted)


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one operation: nothing is shared between threads or across a fork."""
    if not os.path.isfile(path):
        raise InputError(f"there is no ledger {path}; make one with Ledger.create")
    # also for reading: the first to open the file after a crash rolls the crash back
    with _connected(path, "rw") as db:
        application = db.execute("PRAGMA application_id").fetchone()[0]
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION:
            raise InputError(f"{path} is not a ledger of corrdp; make one with Ledger.create")
        if version != VERSION:
            raise InputError(
                f"{path} is a ledger of version {version}, this corrdp reads version {VERSION}; "
                "use the corrdp that made it"
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
    rows = db.execute(
        "SELECT id, kind, budget, records, digest, model, made FROM ledger"
    ).fetchall()
    if len(rows) != 1:
        raise InputError(f"the ledger has {len(rows)} headers instead of 1; restore a copy")
    return Header(*rows[0])


def read_head(db: sqlite3.Connection) -> Head:
    """Where the ledger stands."""
    rows = db.execute("SELECT number, hash, total FROM head").fetchall()
    if len(rows) != 1:
        raise InputError(f"the ledger has {len(rows)} heads instead of 1; restore a copy")
    number, seal, total = rows[0]
    return Head(number, seal, _runs(total, "the total"))


def read_charges(db: sqlite3.Connection, after: int = 0, most: int = -1) -> list[Charge]:
    """Charges in order, those with a number above ``after``; at most ``most`` (-1: all)."""
    rows = db.execute(
        "SELECT number, made, kind, what, epsilon, digest, unit, hash FROM charges "
        "WHERE number > ? ORDER BY number LIMIT ?",
        (after, most),
    )
    return [
        Charge(number, made, kind, what, _runs(epsilon, f"charge {number}"), digest, unit, seal)
        for number, made, kind, what, epsilon, digest, unit, seal in rows
    ]


def read_hash(db: sqlite3.Connection, number: int) -> str | None:
    """The hash of one charge; None if there is no such charge."""
    found = db.execute("SELECT hash FROM charges WHERE number = ?", (number,)).fetchone()
    return None if found is None else found[0]


def has_fit(db: sqlite3.Connection, digest: str) -> bool:
    """Whether the private fit of a model is charged already."""
    query = "SELECT count(*) FROM charges WHERE kind = 'fit' AND digest = ?"
    return bool(db.execute(query, (digest,)).fetchone()[0])


def append(db: sqlite3.Connection, head: Head, wanted: Sequence[Wanted]) -> list[Charge]:
    """Write charges after a head and move it; the caller holds the transaction."""
    charges = []
    for want in wanted:
        charge, head = want.after(head)
        row = charge.to_dict() | {"epsilon": canonical(charge.runs.to_json())}
        db.execute(
            "INSERT INTO charges VALUES "
            "(:number, :made, :kind, :what, :epsilon, :digest, :unit, :hash)",
            row,
        )
        charges.append(charge)
    total = canonical(head.total.to_json())
    db.execute("UPDATE head SET number = ?, hash = ?, total = ?", (head.number, head.hash, total))
    return charges


def check_pages(db: sqlite3.Connection) -> None:
    """SQLite's own check of the file."""
    found = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise InputError(f"the ledger's file is damaged ({found}); restore a copy that checks")


def _runs(text: str, where: str) -> Runs:
    try:
        return Runs.from_json(json.loads(text))
    except (TypeError, ValueError):
        raise InputError(
            f"{where} of the ledger is not what was written: {text[:40]!r} is no epsilon; "
            "restore a copy that checks"
        ) from None


@contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    try:
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


def _in_words(path: Path, error: sqlite3.Error) -> CorrdpError:
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return RefusedError(
            f"another process has held the ledger {path} for {PATIENCE:g} s; nothing was charged "
            "and nothing released, try again"
        )
    if name == "SQLITE_NOTADB":
        return InputError(f"{path} is not a ledger of corrdp; make one with Ledger.create")
    if name.startswith("SQLITE_CORRUPT"):
        return InputError(f"the ledger {path} is damaged ({error}); restore a copy that checks")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        why = "it, or the folder that its journal goes to, cannot be written; check permissions"
    elif name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        why = "the disk is full or failing; make room"
    else:
        why = "its tables are not those of a ledger; restore a copy that checks"
    return InputError(
        f"cannot use the ledger {path}: {why} ({name}: {error}). Nothing was released"
    )
