"""What shows that a ledger was changed: its chain of hashes, followed from either end."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from corrdp.errors import InputError
from corrdp.ledgers.history import RESTORE, Charge, Head, Header
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.periods import by_charge, check_disjoint
from corrdp.ledgers.units import written

_KEPT = 12  # digits of a hash that are enough to tell it from others


class LastSeen:
    """The last charge that this process has seen, so that an older copy of the file shows."""

    def __init__(self) -> None:
        self._mark = (0, "")  # replaced as a whole: threads may share a ledger
        # a head, and the levels of all charges up to it, which were followed
        self.kept: tuple[Head, tuple[ChargedLevel, ...]] | None = None

    def check(self, hash_of: Callable[[int], str | None]) -> None:
        """Refuse a ledger that lacks it; ``hash_of`` gives the hash of a charge by its number."""
        number, seal = self._mark
        if number and hash_of(number) != seal:
            raise InputError(
                f"the ledger no longer holds charge {number} ({seal[:_KEPT]}), which was there "
                "before: an older or another copy was put in its place. Bring back the newest "
                "file; if it is lost, count the releases that the copy lacks as made, open the "
                "ledger again and charge them"
            )

    def move(self, head: Head) -> None:
        """Remember how far the ledger has come."""
        if head.number >= self._mark[0]:
            self._mark = (head.number, head.hash)


def check_kept(header: Header, charges: Sequence[Charge], kept: str) -> None:
    """Refuse a history that does not hold a hash that was kept elsewhere."""
    if not isinstance(kept, str) or not re.fullmatch(r"[0-9a-f]{12,64}", kept):
        raise InputError(
            f"a kept hash is {_KEPT} to 64 hexadecimal digits, as printed by ledger show or in a "
            f"release; got {kept!r}"
        )
    if not any(seal.startswith(kept) for seal in (header.hash, *(c.hash for c in charges))):
        raise InputError(
            f"no charge of the ledger has the hash {kept[:_KEPT]} that was kept: its history was "
            f"written anew, or an older copy was put in its place; {RESTORE}"
        )


def check_chain(header: Header, charges: Sequence[Charge], head: Head) -> None:
    """Find the first charge that was changed, deleted, added or moved; raise and name it.

    Examples
    --------
    >>> header = Header("a", "dp", 10, None, None, None, "")
    >>> charge = Charge(1, 3, "", "release", "count", "3", None, None, None, None, "")
    >>> check_chain(header, [charge], Head(1, "", "3"))
    Traceback (most recent call last):
        ...
    corrdp.errors.InputError: charge 1 of the ledger, 'count', is not what was written: ...
    """
    last = followed(header.start, charges)
    if head.number > len(charges):
        raise InputError(
            f"charge {len(charges) + 1} of the ledger is missing: its head counts {head.number}; "
            f"{RESTORE}"
        )
    if head.number < len(charges):
        raise InputError(
            f"charge {head.number + 1} of the ledger was added behind its head, which counts "
            f"{head.number}; {RESTORE}"
        )
    if head.hash != last.hash:
        raise InputError(f"the budget, the model or the head of the ledger was changed; {RESTORE}")
    if head.total != last.total:
        raise InputError(
            f"the total of the ledger is {written(head.total.largest)} at most, its charges add "
            f"up to {written(last.total.largest)}; {RESTORE}"
        )
    if header.delta is None and any(charge.notion != "pure" for charge in charges):
        raise InputError(
            f"the budget leaves nothing to chance, and not every charge is pure; {RESTORE}"
        )
    read = [(charge.number, charge.period) for charge in charges if charge.period is not None]
    for charge in charges:
        _check_period(charge, charges)
    for periods in by_charge(read).values():
        check_disjoint([period for _, period in periods])


def _check_period(charge: Charge, charges: Sequence[Charge]) -> None:
    """A period has a level of its own, or is a step of an earlier charge and costs nothing more."""
    period = charge.period
    of = None if period is None else period.of
    if charge.level.is_once is (period is None or of is not None):
        raise InputError(
            f"charge {charge.number} of the ledger has a level of a period and no period, or a "
            f"period and no such level; {RESTORE}"
        )
    follows = of is not None and 0 < of < charge.number and charges[of - 1].kind == "release"
    is_step = follows and charge.level.is_nothing
    if is_step is not (charge.kind == "step") or is_step is not (of is not None):
        raise InputError(
            f"charge {charge.number} of the ledger is no step of an earlier charge; {RESTORE}"
        )


def followed(head: Head, charges: Sequence[Charge]) -> Head:
    """Where a ledger stands after further charges; raises on the first that does not follow."""
    for charge in charges:
        number, total = head.number + 1, head.total + charge.level.epsilon
        if charge.number != number:
            raise InputError(f"charge {number} of the ledger is missing; {RESTORE}")
        if charge.hash != charge.sealed(head.hash, total.text):
            raise InputError(
                f"charge {number} of the ledger, {charge.what!r}, is not what was written: it or "
                f"{'the budget and model' if number == 1 else 'what comes before it'} was changed "
                f"or moved; {RESTORE}"
            )
        head = Head(number, charge.hash, total.text)
        vars(head)["total"] = total
    return head


def check_first(header: Header, first: Sequence[Charge]) -> None:
    """Check the budget, the kind and the model against the first charge, which seals them."""
    if first and first[0].hash != first[0].sealed(header.hash, first[0].level.epsilon.text):
        raise InputError(
            f"the budget, kind, model or first charge of the ledger was changed; {LOOK}"
        )


def check_head(header: Header, head: Head, last: Sequence[Charge]) -> None:
    """Check the head against the last two charges: what every new charge builds on."""
    if [charge.number for charge in last] != list(range(max(1, head.number - 1), head.number + 1)):
        raise InputError(
            f"the last charges of the ledger are not the {head.number} of its head; {LOOK}"
        )
    before = last[0].hash if len(last) == 2 else header.hash
    seal = last[-1].sealed(before, head.sum) if last else before
    if seal != head.hash or (last and last[-1].hash != seal):
        raise InputError(f"the last charge or the total of the ledger was changed; {LOOK}")


LOOK = "corrdp ledger check (ledger.check()) says where"
