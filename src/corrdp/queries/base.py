"""What all queries share: missing values, and what one changed record can do to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from corrdp._checks import check_choice
from corrdp.errors import DataError, QueryError

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


class Query:
    """What all queries share. Subclasses set ``kind`` and the properties below."""

    kind: ClassVar[str]
    missing: Missing
    column: str | None = None

    @property
    def steps(self) -> int:
        """l1 sensitivity of the answer to one changed record, in steps of the grid."""
        raise NotImplementedError

    @property
    def grid(self) -> float:
        """Step of the grid on which the answer lives, in units of the answer."""
        return 1.0

    @property
    def cells(self) -> int:
        """How many numbers the answer has."""
        return 1

    @property
    def sensitivity(self) -> float:
        """l1 sensitivity to one changed record, in units of the answer."""
        return self.steps * self.grid

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the query takes for public or does to the data, in words."""
        return assume_skip(self.missing)

    def __str__(self) -> str:
        """What is asked, in a few words."""
        raise NotImplementedError

    def on_grid(self, values: Sequence[Any]) -> list[int]:
        """The exact answer on one sequence of records, in grid steps, one entry per cell."""
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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"query": self.kind, **vars(self)}
