"""The history of a ledger: charges in a hash chain, so that an edit shows.

Each charge's hash covers the hash before it, the charge itself, its answer and the sum of all
charges so far. Charges of older files keep the hashes they were written with.
Whoever can write the file can also write a whole new chain, or bring back an older one; a hash
kept elsewhere, as every release keeps its own, tells them apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

from corrdp.errors import InputError, RefusedError
from corrdp.ledgers.levels import ChargedLevel, Notion
from corrdp.ledgers.periods import Period
from corrdp.ledgers.units import DELTA_UNIT, UNIT, Runs, level

# of the file. 2: charges name their unit; 3: answers, what is read, the rule by which a BDP ledger
# converts; 4: mu, rho and delta of charges, delta and unit of a budget
VERSION = 4
_SHOWN = 80  # characters of a charge's words in a table


@dataclass(frozen=True)
class Header:
    """What a ledger is about, fixed when it is made.

    Parameters
    ----------
    id : str
        A random name, so that two ledgers are never taken for each other.
    kind : {"dp", "bdp", "partial"}
    budget : int
        In units of 1e-12.
    records : int or None
        How many records the data set has, where known.
    digest : str or None
        Fingerprint of the model of a BDP ledger.
    model : str or None
        The model as JSON text.
    made : str
        When, as an ISO time in UTC.
    rule : str or None
        How a BDP ledger converts epsilons, as JSON: confidence, and why alternatives without a
        price are accepted. None in files made before version 3, which take the fitted numbers of
        their model as exact and look at no richer model.
    delta : int or None
        What the budget leaves to chance, in units of 1e-18; None for nothing.
    unit : str or None
        What is protected, as JSON: a number of records, a duration, "person" or a list of records.
        None for one record, or what the first charge says.
    cap : int or None
        With a delta: the mu that every record may spend whatever the answers are, in units of
        1e-12 (composition#levels-chosen-on-the-way).
    """

    id: str
    kind: str
    budget: int
    records: int | None
    digest: str | None
    model: str | None
    made: str
    rule: str | None = None
    delta: int | None = None
    unit: str | None = None
    cap: int | None = None

    @property
    def hash(self) -> str:
        """Where the chain starts; what older files do not have is not in their hashes."""
        later = ("rule", "delta", "unit", "cap")
        said = {k: v for k, v in vars(self).items() if k not in later or v is not None}
        return text_digest(canonical(said))

    @property
    def start(self) -> Head:
        """Where a ledger without charges stands."""
        return Head(0, self.hash, "0")

    @property
    def chance(self) -> float:
        """The budget's delta."""
        return (self.delta or 0) / DELTA_UNIT


@dataclass(frozen=True)
class Charge:
    """One line of a ledger.

    Parameters
    ----------
    number : int
        From 1, without gaps.
    version : int
        Of the file that it was written to: what its hash covers.
    made : str
        When, as an ISO time in UTC.
    kind : {"release", "fit", "step"}
        "fit" is the cost of a private fit; a "step" of running totals costs nothing more than their
        charge.
    what : str
        What was released, in words.
    amount : str
        Level of each record in units of 1e-12, as the text of :class:`Runs`; records that the
        release does not touch have 0.
    digest : str or None
        Fingerprint of the model that the release was calibrated with, where one was named.
    unit : str or None
        Whom its level protects, in words; None is one record of the data set.
    reads : str or None
        First and last record read, or the period, as JSON, where known.
    answered : str or None
        SHA-256 of the answer, where one is stored.
    hash : str
        SHA-256 of the hash before, this charge, and the sum of all pure charges up to this one.
    notion : {"pure", "approximate", "gaussian", "zcdp"}
        What the level is: epsilon, epsilon beside a delta, mu or rho.
    chance : str or None
        The delta of each record in units of 1e-18, for "approximate".
    """

    number: int
    version: int
    made: str
    kind: str
    what: str
    amount: str
    digest: str | None
    unit: str | None
    reads: str | None
    answered: str | None
    hash: str
    notion: Notion = "pure"
    chance: str | None = None

    @cached_property
    def level(self) -> ChargedLevel:
        """What it costs each record."""
        where = f"charge {self.number}"
        chance = None if self.chance is None else read_runs(self.chance, where)
        amount = read_runs(self.amount, where)
        return ChargedLevel(self.notion, amount, chance, whole=self.unit is not None)

    @cached_property
    def period(self) -> Period | None:
        """The period that it has read, where it did not read all records."""
        if self.reads is None or not self.reads.startswith("{"):
            return None
        return Period.from_text(self.reads)

    @property
    def runs(self) -> Runs:
        """Level of each record (epsilon, mu or rho), in units of 1e-12."""
        return self.level.runs

    @property
    def epsilon(self) -> float | None:
        """The largest double not above the charge (its largest entry): the most to draw at.

        None where the charge has no epsilon, but a mu or a rho.
        """
        return level(self.runs.largest) if self.level.symbol == "epsilon" else None

    @property
    def mu(self) -> float | None:
        """The same of a Gaussian charge; None for others."""
        return level(self.runs.largest) if self.notion == "gaussian" else None

    def __repr__(self) -> str:
        some = "" if self.level.is_scalar else " at most, by record"
        return (
            f"Charge {self.number}: {self.cost}{some}, {self.in_short} "
            f"({self.made}, {self.hash[:12]})"
        )

    @property
    def cost(self) -> str:
        """Its level in words."""
        if self.kind == "step" and self.period is not None:
            return f"part of charge {self.period.of}"
        return self.level.in_words

    @property
    def in_short(self) -> str:
        """What was released, in one short line; expressions over many columns are cut."""
        line = " ".join(self.what.split())
        return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 4].rstrip()} ..."

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; levels in units of 1e-12, delta of 1e-18, vectors as [units, length]."""
        found = {name: None if text is None else json.loads(text) for name, text in self.numbers()}
        more = {
            "reads": None if self.reads is None else json.loads(self.reads),
            "answered": self.answered,
        }
        return {**self._body(), **found, **more, "hash": self.hash}

    def numbers(self) -> tuple[tuple[str, str | None], ...]:
        """Epsilon, mu, rho and delta, as text: what stands in the columns of the file."""
        found = {self.level.symbol: self.amount, "delta": self.chance}
        return tuple((name, found.get(name)) for name in NUMBERS)

    def _body(self) -> dict[str, Any]:
        """What files of version 2 say of a charge."""
        return {
            "number": self.number,
            "made": self.made,
            "kind": self.kind,
            "what": self.what,
            "epsilon": self.runs.to_json(),
            "digest": self.digest,
            "unit": self.unit,
        }

    def sealed(self, before: str, total: str) -> str:
        """The hash that this charge must carry after the hash ``before``; total is its text."""
        if self.version == 2 and self.reads is None and self.answered is None:
            summed = read_runs(total, "the total").to_json()
            return text_digest(canonical([before, self._body(), summed]))
        body = {name: getattr(self, name) for name in _SEALED} | dict(self.numbers())
        if self.version == 3:  # it knew no rho
            del body["rho"]
        return text_digest(canonical([before, body, total]))


def charge_columns(charges: Sequence[Charge]) -> dict[str, list[Any]]:
    """Charges as columns, one a row: when, what, at which largest level, and what it read."""
    rows = [
        {
            "number": charge.number,
            "made": charge.made,
            "kind": charge.kind,
            "what": charge.what,
            **dict.fromkeys(NUMBERS),
            charge.level.symbol: charge.runs.largest / UNIT,
            "delta": None if (rare := charge.level.delta) is None else rare.largest / DELTA_UNIT,
            "unit": charge.unit,
            "period": None if charge.period is None else charge.period.words,
            "rows": None if charge.period is None else charge.period.rows,
            "hash": charge.hash,
        }
        for charge in charges
    ]
    names = ("number", "made", "kind", "what", *NUMBERS, "unit", "period", "rows", "hash")
    return {name: [row[name] for row in rows] for name in names}


NUMBERS = ("epsilon", "mu", "rho", "delta")
_SEALED = ("number", "version", "made", "kind", "what", "digest", "unit", "reads", "answered")


@dataclass(frozen=True)
class Wanted:
    """A charge that is not written yet, and its answer as JSON text where there is one.

    ``tell`` makes that text of what is spent with it; ``period`` is what it reads, if not all.
    """

    kind: Literal["release", "fit", "step"]
    what: str
    level: ChargedLevel
    digest: str | None
    unit: str | None = None
    answer: str | None = None
    tell: Callable[[Any], str] | None = None
    period: Period | None = None

    def told(self, spent: Any) -> Wanted:
        """The same with its answer, by what is spent with it."""
        return self if self.tell is None else replace(self, answer=self.tell(spent))

    def after(self, head: Head) -> tuple[Charge, Head]:
        """The charge as it follows on a head, and the head that it leaves."""
        total = head.total + self.level.epsilon
        runs, chance = self.level.runs, self.level.delta
        touched = None if runs.touched is None else canonical(runs.touched)
        bare = Charge(
            number=head.number + 1,
            version=VERSION,
            made=now(),
            kind=self.kind,
            what=self.what,
            amount=runs.text,
            digest=self.digest,
            unit=self.unit,
            reads=touched if self.period is None else self.period.text,
            answered=None if self.answer is None else text_digest(self.answer),
            hash="",
            notion=self.level.notion,
            chance=None if chance is None else chance.text,
        )
        vars(bare)["level"] = self.level  # long vectors: read once
        charge = replace(bare, hash=bare.sealed(head.hash, total.text))
        after = Head(charge.number, charge.hash, total.text)
        vars(charge)["level"], vars(after)["total"] = self.level, total
        return charge, after


@dataclass(frozen=True)
class Head:
    """Where a ledger stands: its last charge and the sum of all pure ones, as text."""

    number: int
    hash: str
    sum: str

    @cached_property
    def total(self) -> Runs:
        """The sum of all pure charges."""
        return read_runs(self.sum, "the total")


def read_runs(text: str, where: str) -> Runs:
    """Runs as they stand in a file."""
    try:
        return Runs.from_text(text)
    except ValueError:
        raise InputError(
            f"{where} of the ledger is not what was written: {text[:40]!r} is no epsilon, mu, rho "
            "or delta; restore a copy that checks"
        ) from None


def read_answer(charge: Charge, text: str | None) -> Any:
    """The stored answer of a charge, which carries its number and hash from now on."""
    if (None if text is None else text_digest(text)) != charge.answered:
        raise InputError(
            f"the answer of charge {charge.number} of the ledger is not what was written; {RESTORE}"
        )
    found = None if text is None else json.loads(text)
    if isinstance(found, dict) and "charge" in found:
        found |= {"charge": charge.number, "charge_hash": charge.hash}
    return found


def answer_text(answer: Any) -> str:
    """An answer as it is stored: plain JSON."""
    try:
        return canonical(answer)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"answer must be plain JSON: {error}") from None


def check_unit(header: Header, first: Sequence[Charge], wanted: Sequence[Wanted]) -> None:
    """Refuse charges of another unit than the first one's: their levels do not add up.

    A ledger that was made for a unit takes levels of records, which it converts, and of its unit.

    Examples
    --------
    >>> header = Header("a", "dp", 10, None, None, None, "")
    >>> charge = Charge(1, 3, "", "release", "count", "3", None, None, None, None, "")
    >>> level = ChargedLevel("pure", Runs.scalar(3))
    >>> tree = Wanted("release", "tree", level, None, "one user replaced")
    >>> check_unit(header, [charge], [tree])
    Traceback (most recent call last):
        ...
    corrdp.errors.RefusedError: this ledger adds up levels for one record, and 'tree' has its ...
    """
    lines: list[Charge | Wanted] = [*first, *wanted]
    kept = lines[0].unit if lines and header.unit is None else header.unit
    for want in wanted:
        if want.unit != kept and (header.unit is None or want.unit is not None):
            raise RefusedError(
                f"this ledger adds up levels for {kept or RECORD}, and {want.what!r} has its "
                f"level for {want.unit or RECORD}: these do not add up. Keep a ledger for each "
                "unit, or convert in a plan (corrdp account) and charge the level for the "
                "ledger's own unit. Nothing was charged"
            )


RECORD = "one record"
RESTORE = "restore a copy that checks, and count every release that it lacks as made"


def canonical(value: Any) -> str:
    """The one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def text_digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def now() -> str:
    """The time of a charge."""
    return datetime.now(UTC).isoformat(timespec="seconds")
