"""One table of what each check of an argument takes, and how it refuses the rest."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from corrdp import _checks as checks
from corrdp.errors import InputError, ModelError

NUMBER, WHOLE = checks.check_number, checks.check_whole
SHARE = partial(NUMBER, above=0, most=1)
BELOW = partial(NUMBER, least=0, below=1)
KIND = partial(checks.check_kind, kind=int, what="a whole number")
CHOICE = partial(checks.check_choice, choices=("raise", "skip", 1))
TAKEN = [
    (NUMBER, 2, 2.0),
    (NUMBER, Fraction(1, 2), 0.5),
    (NUMBER, Decimal("0.5"), 0.5),
    (NUMBER, np.float32(0.5), 0.5),
    (NUMBER, np.array(3), 3.0),
    (SHARE, 1, 1.0),
    (BELOW, 0, 0.0),
    (WHOLE, 3.0, 3),
    (WHOLE, np.int64(7), 7),
    (partial(WHOLE, least=-2, most=-1), -2, -2),
    (checks.check_items, [1, 2], (1, 2)),
    (checks.check_items, np.arange(2), (0, 1)),
    (partial(checks.check_items, letters=True), "ab", ("a", "b")),
    (KIND, 3, 3),
    (CHOICE, "skip", "skip"),
    (CHOICE, 1, 1),
    (checks.check_flag, True, True),
    (checks.check_path, Path("a.csv"), "a.csv"),
]
NO_NUMBERS = [None, "1", b"1", True, np.True_, math.nan, math.inf, 1j, [1.0], np.ones(1), object()]
REFUSED = [
    *((NUMBER, value, "a finite number") for value in NO_NUMBERS),
    (SHARE, 0, "a finite number > 0 and <= 1"),
    (SHARE, 1.0000001, "a finite number > 0 and <= 1"),
    (BELOW, -1e-300, "a finite number >= 0 and < 1"),
    (BELOW, 1, "a finite number >= 0 and < 1"),
    *((WHOLE, value, "a whole number >= 1") for value in (*NO_NUMBERS, 2.5, 0, -1)),
    (partial(WHOLE, most=10**6), 10**6 + 1, "a whole number >= 1 and <= 1,000,000"),
    *((checks.check_items, value, "a list") for value in (None, 3, "ab", b"ab")),
    *((checks.check_array, value, "numbers in rows") for value in (None, ["a"], [[1], [2, 3]])),
    *((KIND, value, "a whole number") for value in (None, 3.0, "3")),
    *((CHOICE, value, "'raise' or 'skip' or 1") for value in ("drop", None, True, 1.0, ["skip"])),
    *((checks.check_flag, value, "True or False") for value in (1, 0, None, "no", np.bool_(True))),
    *((checks.check_path, value, "the name of a file") for value in (3, None, "", "a\0b")),
]


def called(check) -> str:
    return getattr(check, "func", check).__name__


@pytest.mark.parametrize(
    ("check", "value", "taken"), TAKEN, ids=lambda x: called(x) if callable(x) else repr(x)
)
def test_what_is_taken(check, value, taken):
    found = check("this", value)
    assert found == taken
    assert type(found) is type(taken)


@pytest.mark.parametrize(
    ("check", "value", "wanted"), REFUSED, ids=lambda x: called(x) if callable(x) else repr(x)[:20]
)
def test_what_is_refused(check, value, wanted):
    with pytest.raises(InputError, match=r"^this must be ") as caught:
        check("this", value)
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200
    with pytest.raises(ModelError):
        check("this", value, error=ModelError)


def test_labels_are_counted_by_value():
    assert checks.count_distinct("states", (0, 1, 0.0, "0")) == 3
    with pytest.raises(InputError, match=r"^states"):
        checks.count_distinct("states", ([], 1))
