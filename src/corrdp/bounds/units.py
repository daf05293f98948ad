"""What is protected: a record, a window, a person, a family, a set of records (delta#units)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import LONGEST, check_items, check_whole
from corrdp.bounds.steps import joined_arrays, put_together, repeated
from corrdp.errors import InputError
from corrdp.guarantees import GDP, ZCDP, Approximate, Guarantee, Profile, Pure
from corrdp.metric.profiles import PrivacyProfile, profile_of
from corrdp.models.base import Model
from corrdp.models.chains.chain import Chain

_MICROSECONDS = {
    "microsecond": 1,
    "us": 1,
    "millisecond": 1_000,
    "ms": 1_000,
    "second": 1_000_000,
    "sec": 1_000_000,
    "s": 1_000_000,
    "minute": 60_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "h": 3_600_000_000,
    "day": 86_400_000_000,
    "d": 86_400_000_000,
    "week": 604_800_000_000,
    "w": 604_800_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True)
class Unit:
    """What the adversary attacks as a whole.

    Attributes
    ----------
    size : int
        Records in it.
    members : tuple of int or None
        The records themselves; None for every window of that many records in a row.
    words : str
        For people.
    family : bool
        Each block of records that depend on each other, of at most that many.
    """

    size: int = 1
    members: tuple[int, ...] | None = None
    words: str = "1 record"
    family: bool = False

    def at(self, first: int) -> str:
        """The records of the unit that begins at one, in words."""
        if self.members is not None:
            return f"records {', '.join(str(k) for k in self.members)}"
        return f"records {first} to {first + self.size - 1}"


ONE = Unit()


def hull_of(unit: Unit) -> Unit:
    """The unit with every record between its first and its last."""
    if unit.members is None:
        return unit
    first, last = unit.members[0], unit.members[-1]
    return Unit(last - first + 1, tuple(range(first, last + 1)), unit.words)


def read_unit(model: Model, unit: Any) -> Unit | None:
    """The unit as it is given to :func:`corrdp.leakage`; None for a single record.

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> read_unit(MarkovChain([[.9, .1], [.2, .8]], 20), 12).words
    '12 records'
    """
    if unit is None or (isinstance(unit, str) and unit.strip().lower() == "record"):
        return None
    if model.kind == "joint":
        raise InputError(
            "several series at once are priced for single records, one series at one time step: "
            "leave unit out"
        )
    if isinstance(unit, str):
        named = {"person": _person, "family": _family}.get(unit.strip().lower())
        found = _duration(model, unit) if named is None else named(model)
    elif isinstance(unit, Iterable):
        found = _set(model, unit)
    else:
        found = _window(model, check_whole("unit", unit, most=LONGEST), "")
    return None if found.size == 1 and found.members is None else found


def _window(model: Model, size: int, duration: str) -> Unit:
    if size > 1 and not isinstance(model, Chain) and model.kind != "independent":
        raise InputError(
            f"a unit of {size} records in a row needs a series, and this is {model.describe()}; "
            "give the records of the unit, such as unit=[0, 1, 2]"
        )
    if model.length is not None and size > model.length:
        raise InputError(
            f"unit = {duration or size}{' is ' + str(size) + ' records' if duration else ''}, and "
            f"the series has {model.length:,}; give a shorter unit, or 'person' for all of it"
        )
    words = f"{size:,} record{'s' if size > 1 else ''}"
    return Unit(size, None, f"{duration} ({words})" if duration else words)


def _person(model: Model) -> Unit:
    if isinstance(model, Chain):
        if model.length is None:
            raise InputError(
                "a person in a series without end has no bound: give the model a length, or a unit "
                "such as '1 day'"
            )
        return Unit(model.length, None, f"person ({model.length:,} records)")
    if model.kind == "pedigree":
        return ONE  # a record is a person
    raise InputError(
        f"unit='person' is for series and pedigrees, and this is {model.describe()}; give the "
        "records of the person, such as unit=[0, 1, 2]"
    )


def _family(model: Model) -> Unit:
    size = getattr(model, "m", None)  # of groups
    blocks = getattr(model, "block_of_record", None)
    if blocks is not None:
        size = int(np.bincount(blocks).max())
    elif model.kind == "table":
        size = model.length
    if size is None or isinstance(model, Chain):
        raise InputError(
            f"unit='family' is for records that fall into families or groups, and this is "
            f"{model.describe()}; give a number of records, 'person', or the records of the unit"
        )
    return Unit(size, None, f"family (of up to {size:,} records)", family=True)


def _duration(model: Model, text: str) -> Unit:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)?\s*([a-zA-Z]+)\s*", text)
    word = match[2].lower() if match else ""
    name = word if word in _MICROSECONDS or word in _MONTHS else word.removesuffix("s")
    if match is None or (name not in _MICROSECONDS and name not in _MONTHS):
        if match and match[1] and name == "record" and float(match[1]).is_integer():
            return _window(model, check_whole("unit", int(match[1])), "")
        raise InputError(
            f"unit must be a number of records, a duration such as '1h' or '1 day', 'person' or "
            f"'family', got {text!r}"
        )
    said = " ".join(text.split())
    clock = getattr(model.fitted, "clock", None)
    if clock is None or clock.usual is None or clock.unit == "number":
        raise InputError(
            f"unit = {said!r} needs a model that knows the time between two records (one fitted to "
            "a table with times, order_by=); name such a model, or give a number of records"
        )
    table = _MICROSECONDS if clock.unit == "microsecond" else _MONTHS
    if name not in table:
        raise InputError(f"unit = {said!r} is no number of usual steps, which are {clock.step}")
    number = float(match[1] or 1) * table[name] / clock.usual * (clock.places or 1)
    size = round(number)
    if size < 1 or abs(number - size) > 1e-9 * size:
        raise InputError(
            f"unit = {said!r} is {number:.6g} usual steps of {clock.step}; a unit is a whole "
            "number of steps"
        )
    return _window(model, size, said)


def _set(model: Model, unit: Iterable[Any]) -> Unit:
    people = {who: k for k, who in enumerate(getattr(model, "ids", ()))}  # of a pedigree
    given = [
        people[k] if isinstance(k, str) and k in people else check_whole("unit", k, least=0)
        for k in check_items("unit", unit)
    ]
    members = tuple(sorted(set(given)))
    if not members:
        raise InputError("unit is an empty set; give the records of the unit")
    if model.length is None or members[-1] >= model.length:
        raise InputError(
            f"unit has record {members[-1]}, and the model "
            + ("no length" if model.length is None else f"records 0 to {model.length - 1}")
        )
    return Unit(len(members), members, f"{len(members)} records of a set")


def window_sums(values: np.ndarray, size: int) -> np.ndarray:
    """Sums of ``size`` entries in a row, by doubling: O(n log size), no digits cancelled."""
    total, at = np.zeros(len(values) - size + 1), 0
    part, width = values, 1
    while width <= size:
        if size & width:
            total = total + part[at : at + len(total)]
            at += width
        if 2 * width <= size:  # else there may be no two of them left to add
            part = part[: len(part) - width] + part[width:]
        width *= 2
    return total


def of_unit(guarantee: Guarantee, unit: Unit, n: int | None) -> Guarantee:
    """What the guarantee per record says of changing a whole unit (delta#units).

    Epsilons and mu add up, rho as the square of the sum of roots, pairs are put together; the
    result has one entry for each window.

    Examples
    --------
    >>> of_unit(GDP([.1, .2, .4]), Unit(2), 3).mu.round(6).tolist()
    [0.3, 0.6]
    """
    if unit == ONE:
        return guarantee
    if isinstance(guarantee, Pure):
        return Pure(_summed(guarantee.epsilon, unit, n))
    if isinstance(guarantee, GDP):
        return GDP(_summed(guarantee.mu, unit, n))
    if isinstance(guarantee, ZCDP):
        return ZCDP(np.square(_summed(np.sqrt(guarantee.rho), unit, n)))
    if isinstance(guarantee, Approximate):
        return Approximate(*_chained(guarantee, unit, n))
    return _GroupProfile(profile_of(guarantee), unit.size).guarantee


@dataclass(frozen=True)
class _GroupProfile(PrivacyProfile):
    """So many records with one profile put together; far out a larger epsilon may say less."""

    profile: PrivacyProfile
    size: int

    def _deltas(self, epsilon: np.ndarray) -> np.ndarray:
        each = epsilon / self.size
        found = repeated(each, np.asarray(self.profile.delta(each)), self.size)[1]
        return np.nan_to_num(found, nan=1.0)  # beyond the range of numbers


def _summed(level: Any, unit: Unit, n: int | None) -> Any:
    if np.ndim(level) == 0:
        return float(level) * unit.size
    _check_length(level, n)
    if unit.members is not None:
        return np.atleast_1d(np.sum(np.asarray(level)[list(unit.members)]))
    return window_sums(np.asarray(level), unit.size)


def _chained(guarantee: Approximate, unit: Unit, n: int | None) -> Sequence[Any]:
    if not guarantee.is_vector:
        return [float(x) for x in repeated(guarantee.epsilon, guarantee.delta, unit.size)]
    for level in (guarantee.epsilon, guarantee.delta):
        if np.ndim(level):
            _check_length(level, n)
    eps, delta = guarantee.pairs(n or 0)
    if unit.members is not None:
        found = put_together(eps[list(unit.members)], delta[list(unit.members)])
        return [np.atleast_1d(part) for part in found]
    count, at, width = len(eps) - unit.size + 1, 0, 1
    total = np.zeros(count), np.zeros(count)
    part = eps, delta
    while width <= unit.size:
        if unit.size & width:
            here = slice(at, at + count)
            total = joined_arrays(*total, part[0][here], part[1][here])
            at += width
        if 2 * width <= unit.size:
            before, after = slice(0, len(part[0]) - width), slice(width, None)
            part = joined_arrays(part[0][before], part[1][before], part[0][after], part[1][after])
        width *= 2
    return total[0], np.minimum(total[1], 1.0)


def _check_length(level: Any, n: int | None) -> None:
    if n is None or len(level) != n:
        told = "no length" if n is None else f"{n} records"
        raise InputError(f"the guarantee has {len(level)} entries and the model {told}")


def of_blocks(guarantee: Guarantee, blocks: np.ndarray) -> Guarantee:
    """What the guarantee per record says of changing a whole block, one entry for each block."""
    sizes = np.bincount(blocks)
    if isinstance(guarantee, Pure):
        return Pure(np.bincount(blocks, guarantee.vector(len(blocks))))
    if isinstance(guarantee, GDP):
        return GDP(np.bincount(blocks, guarantee.vector(len(blocks))))
    if isinstance(guarantee, ZCDP):
        return ZCDP(np.bincount(blocks, np.sqrt(guarantee.vector(len(blocks)))) ** 2)
    if isinstance(guarantee, Approximate):
        eps, delta = guarantee.pairs(len(blocks))
        order = np.argsort(blocks, kind="stable")
        found = [
            put_together(eps[part], delta[part]) for part in np.split(order, np.cumsum(sizes)[:-1])
        ]
        return Approximate(*(np.array(part) for part in zip(*found, strict=True)))
    return of_unit(guarantee, Unit(int(sizes.max())), None)


def of_largest(guarantee: Guarantee, m: int) -> Guarantee:
    """What the guarantee says of changing any m records."""
    if isinstance(guarantee, Profile):
        guarantee = profile_of(guarantee).guarantee
    if not getattr(guarantee, "is_vector", False):
        return of_unit(guarantee, Unit(m), None)
    if isinstance(guarantee, Approximate):
        n = len(guarantee.epsilon) if np.ndim(guarantee.epsilon) else len(guarantee.delta)
        worst = Approximate(*(np.sort(part)[-m:] for part in guarantee.pairs(n)))
        return of_unit(worst, Unit(len(worst.epsilon), tuple(range(len(worst.epsilon)))), m)
    if isinstance(guarantee, ZCDP):
        return ZCDP(float(np.sort(np.sqrt(guarantee.rho))[-m:].sum()) ** 2)
    if isinstance(guarantee, GDP):
        return GDP(float(np.sort(guarantee.mu)[-m:].sum()))
    assert isinstance(guarantee, Pure)
    return Pure(float(np.sort(guarantee.epsilon)[-m:].sum()))
