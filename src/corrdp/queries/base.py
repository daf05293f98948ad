"""What all queries share: missing values, and what one changed record can do to an answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from corrdp._checks import check_choice, check_items
from corrdp._json import encode
from corrdp.errors import DataError, QueryError
from corrdp.queries.keys import CLOCK_VALUES, Key, read_keys

Missing = Literal["raise", "skip"]
MISSING_TEXT = ("", "NA", "NaN", "null")


def is_missing(value: Any) -> bool:
    """Whether a value stands for "not recorded": None, NaN, or one of "", "NA", "NaN", "null".

    NaN is what differs from itself, whatever its type (Decimal, NaT), or cannot even be compared
    (pandas' NA).

    Examples
    --------
    >>> [is_missing(v) for v in (None, float("nan"), "NA", 0, False)]
    [True, True, True, False, False]
    """
    if value is None or isinstance(value, str):
        return value is None or value in MISSING_TEXT
    if isinstance(value, bool | int):
        return False
    try:
        return bool(value != value)
    except (TypeError, ArithmeticError):
        return True
    except ValueError:  # an array: no value at all
        return False


def check_missing(missing: str) -> None:
    check_choice("missing", missing, ("raise", "skip"), error=QueryError)


def assume_skip(missing: str) -> tuple[str, ...]:
    if missing == "raise":
        return ()
    return ("which rows are missing is public; missing rows are left out of the answer",)


def assume_keys(keys: Iterable[Key]) -> tuple[str, ...]:
    """What a table takes for public, in words."""
    public = {name: True for key in keys if key.public for name in key.names}
    private = {name: True for key in keys if not key.public for name in key.names}
    said = []
    if public:
        said.append(
            f"the keys of the table ({', '.join(public)}) are public: everybody may know which "
            "record has which of their values, and each record counts in one cell"
        )
    if private:
        said.append(
            f"{', '.join(private)} is not said to be public: a changed record may leave one cell "
            "and enter another, and the noise is for both; the list of its values is public"
        )
    return tuple(said)


@dataclass(frozen=True, kw_only=True, repr=False)
class Query:
    """What all queries share. Subclasses set ``kind`` and the properties below.

    Parameters
    ----------
    by : str, sequence or mapping
        Keys of a table: one answer for each of their values. A part of the clock (``"hour"``,
        ``"weekday"``, ``"month"``, ``"date"``), a column, or an SQL expression; a mapping gives
        the list of values of each, ``{"place": ["a", "b"]}``.
    public_columns : sequence of str
        Columns that everybody may know, beside those of time and the one that tells sequences
        apart. A key that reads others is private.
    """

    kind: ClassVar[str]
    by: Any = ()
    public_columns: Any = ()

    @property
    def missing(self) -> Missing:
        """What a missing value means: an error, or a row that is left out."""
        raise NotImplementedError

    @property
    def column(self) -> str | None:
        """On tables: the column or SQL expression that is read."""
        return None

    def __post_init__(self) -> None:
        object.__setattr__(self, "by", read_keys(self.by))
        named = self.public_columns
        named = (named,) if isinstance(named, str) else check_items("public_columns", named)
        object.__setattr__(self, "public_columns", tuple(named))

    # -- what one changed record does ----------------------------------------------------------

    @property
    def moves(self) -> tuple[tuple[int, ...], ...]:
        """The most that one changed record can do: by how many steps it moves which cells.

        One tuple for each extreme way, with one entry for each cell that it moves
        (releases#tables).
        """
        raise NotImplementedError

    @property
    def steps(self) -> int:
        """l1 sensitivity of the answer to one changed record, in steps of the grid."""
        return max(map(sum, self.moves))

    @property
    def squared_steps(self) -> int:
        """Square of the l2 sensitivity to one changed record, in steps of the grid."""
        return max(sum(step * step for step in move) for move in self.moves)

    @property
    def grid(self) -> float:
        """Step of the grid on which the answer lives, in units of the answer."""
        return 1.0

    @property
    def sensitivity(self) -> float:
        """l1 sensitivity to one changed record, in units of the answer."""
        return self.steps * self.grid

    @property
    def parts(self) -> tuple[tuple[Query, Fraction], ...]:
        """The queries that noise is drawn for, each with its share of the budget."""
        return ((self, Fraction(1)),)

    # -- cells ---------------------------------------------------------------------------------

    @property
    def entries(self) -> int:
        """How many numbers the answer has for each value of the keys."""
        return 1

    @property
    def cells(self) -> int:
        """How many numbers the answer has; a key whose values the data tell counts for one."""
        return self.entries * math.prod(len(k.values) for k in self.by if k.values is not None)

    @property
    def is_table(self) -> bool:
        """Whether the answer has keys."""
        return bool(self.by)

    @property
    def has_private_keys(self) -> bool:
        """Whether a changed record may leave one cell and enter another."""
        return any(not key.public for key in self.by)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys."""
        return tuple(name for key in self.by for name in key.names)

    def rollup(self) -> tuple[Query, ...]:
        """This table and its roll-ups: without its last key, without the last two, and the total.

        Released together, totals are the sums of their parts.

        Examples
        --------
        >>> from corrdp.queries import Count
        >>> [query.keys for query in Count(1, by=["date", "hour"]).rollup()]
        [('date', 'hour'), ('date',), ()]
        """
        if not self.by:
            raise QueryError("a roll-up needs keys: by=[...], the coarsest first")
        *others, last = self.by
        kept = (*others, *([] if last.shorter is None else [last.shorter]))
        rest = replace(self, by=kept)
        return (self, *(rest.rollup() if kept else (rest,)))

    # -- answers -------------------------------------------------------------------------------

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the query takes for public or does to the data, in words."""
        return (*assume_keys(self.by), *self.assumed)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The same without what is said of keys."""
        return assume_skip(self.missing)

    def __str__(self) -> str:
        """What is asked, in a few words."""
        return self.asked + (f" by {', '.join(self.keys)}" if self.by else "")

    @property
    def asked(self) -> str:
        """What is asked, in a few words, without its keys."""
        raise NotImplementedError

    def on_grid(self, values: Sequence[Any]) -> list[int]:
        """The exact answer on one sequence of records, in grid steps, one entry per cell."""
        if self.by:
            raise QueryError(
                f"the keys {', '.join(self.keys)} are read in a table: give a file or a data frame"
            )
        return self.tally(values)

    def tally(self, values: Sequence[Any]) -> list[int]:
        """The exact answer on the records of one cell, in grid steps."""
        raise NotImplementedError

    def scores(self, states: Sequence[Any]) -> np.ndarray | None:
        """What each state adds to the answer, in grid steps, when that is a sum over records."""
        return None

    def pattern(self, n: int) -> np.ndarray | None:
        """Which of ``n`` records the query reads, as 0/1; None when it reads them all."""
        return None

    def lacks(self, value: Any) -> bool:
        """Whether a value stands for "not recorded" in this query."""
        return is_missing(value)

    def present(self, values: Sequence[Any]) -> list[Any]:
        """The recorded values; raises on missing ones unless ``missing="skip"``."""
        kept = [v for v in values if not self.lacks(v)]
        if len(kept) < len(values) and self.missing == "raise":
            where = next(i for i, v in enumerate(values) if self.lacks(v))
            raise DataError(
                f"{len(values) - len(kept)} of {len(values)} values are missing (the first at "
                f'index {where}); use missing="skip" if which ones are missing is public'
            )
        return kept

    def _told(self) -> dict[str, Any]:
        """The fields, those that came with tables only where they say something."""
        late = {f.name: getattr(self, f.name) for f in fields(self) if f.kw_only}
        own = {f.name: getattr(self, f.name) for f in fields(self) if not f.kw_only}
        return own | {name: value for name, value in late.items() if value}

    def __repr__(self) -> str:
        told = self._told()
        if self.by:
            told["by"] = {
                key.names if len(key.names) > 1 else key.names[0]: _plain_values(key)
                for key in self.by
            }
        inside = ", ".join(f"{name}={value!r}" for name, value in told.items())
        return f"{type(self).__name__}({inside})"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"query": self.kind, **encode(self._told())}


def _plain_values(key: Key) -> list[Any] | None:
    """The list of values as a user would give it; None where that is not needed."""
    if key.values is None or (key.clock and key.values == CLOCK_VALUES.get(key.names[0])):
        return None
    return [value[0] if len(key.names) == 1 else value for value in key.values]
