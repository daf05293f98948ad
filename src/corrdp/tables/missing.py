"""Which texts and numbers stand for "not recorded"."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from corrdp.errors import DataError
from corrdp.queries import is_missing


def missing_texts(missing: Iterable[str]) -> tuple[str, ...]:
    """The texts that stand for a missing value, the empty one always among them.

    Examples
    --------
    >>> missing_texts(["-999"])
    ('', '-999')
    """
    texts = [missing] if isinstance(missing, str) else list(missing)
    for text in texts:
        if not isinstance(text, str):
            raise DataError(f"missing must list texts, got {text!r}; write it as {str(text)!r}")
    return tuple(dict.fromkeys(["", *texts]))


def missing_numbers(texts: Iterable[str], decimal: str = ".") -> tuple[float, ...]:
    """The numbers among the texts that stand for a missing value.

    Examples
    --------
    >>> missing_numbers(("", "NA", "-999"))
    (-999.0,)
    >>> missing_numbers(["-999,50"], decimal=",")
    (-999.5,)
    """
    numbers = []
    for text in texts:
        try:
            numbers.append(float(text.replace(decimal, ".")))
        except ValueError:
            continue
    return tuple(number for number in numbers if math.isfinite(number))


def is_absent(label: Any, texts: Iterable[str]) -> bool:
    """Whether a plain value stands for "not recorded".

    Examples
    --------
    >>> [is_absent(value, ("NA", "-999")) for value in ("NA", -999, None, 0, True)]
    [True, True, True, False, False]
    """
    if isinstance(label, str):
        return label in texts
    number = isinstance(label, int | float) and not isinstance(label, bool)
    return is_missing(label) or (number and label in missing_numbers(texts))
