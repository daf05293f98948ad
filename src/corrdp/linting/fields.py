"""Reading JSON strictly: every key is known, every value has its kind, errors name the place."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corrdp._json import decode_number
from corrdp.accounting.plan import at
from corrdp.errors import InputError

Reader = Callable[[Any], Any]
_MOST = 10**12


def load_json(path: str | os.PathLike[str]) -> Any:
    """What a JSON file holds; anything that cannot be read is an InputError that says why."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be a description or a plan") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None


def read_object(
    what: str, data: Any, readers: Mapping[str, Reader], required: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The values of an object, each read by its reader; keys that nobody knows are refused.

    Examples
    --------
    >>> read_object("a noise", {"scale": 2}, {"scale": positive})
    {'scale': 2.0}
    >>> read_object("a noise", {"scall": 2}, {"scale": positive})
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: unknown key 'scall'; a noise has scale
    """
    if not isinstance(data, dict):
        raise InputError(f"{what} is an object with {', '.join(readers)}; got {shown(data)}")
    for key in data:
        if key not in readers:
            raise InputError(f"unknown key {key!r}; {what} has {', '.join(readers)}")
    for key in required:
        if key not in data:
            raise InputError(f"{what} needs {key}")
    found = {}
    for key, value in data.items():
        with at(key):
            found[key] = readers[key](value)
    return found


def shown(value: Any) -> str:
    """A value for a message, not longer than a line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def text(value: Any) -> str:
    """A string that says something."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"must be text, got {shown(value)}")
    return value


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"must be true or false, got {shown(value)}")
    return value


def number(value: Any) -> float:
    """A finite number >= 0."""
    return _number(value, least=0.0)


def positive(value: Any) -> float:
    """A finite number > 0."""
    found = _number(value, least=0.0)
    if found == 0:
        raise InputError("must be a number > 0, got 0")
    return found


def real(value: Any) -> float:
    """A finite number."""
    return _number(value, least=-math.inf)


def size(value: Any) -> float:
    """A number > 0; "inf" is one."""
    return math.inf if decode_number(value) == math.inf else positive(value)


def probability(value: Any) -> float:
    """A number from 0 to 1."""
    found = _number(value, least=0.0)
    if found > 1:
        raise InputError(f"must be a probability, at most 1; got {found:g}")
    return found


def whole(value: Any) -> int:
    """A whole number >= 1, small enough to count something."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
        raise InputError(f"must be a whole number from 1 to {_MOST:,}, got {shown(value)}")
    return value


def _number(value: Any, least: float) -> float:
    try:
        if isinstance(value, bool | str):
            raise TypeError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"must be a number, got {shown(value)}") from None
    if not math.isfinite(found) or found < least:
        limit = "" if least == -math.inf else f" >= {least:g}"
        raise InputError(f"must be a finite number{limit}, got {found:g}")
    return found


def word(*allowed: str) -> Reader:
    """One of a few words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise InputError(f"must be one of {', '.join(allowed)}; got {shown(value)}")
        return value

    return read


def many(reader: Reader, least: int = 0) -> Reader:
    """A list, each item read by one reader."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise InputError(f"must be a list, got {shown(value)}")
        if len(value) < least:
            raise InputError(f"must hold {least} or more, got {len(value)}")
        found = []
        for k, item in enumerate(value):
            with at(f"[{k}]"):
                found.append(reader(item))
        return tuple(found)

    return read


def interval(value: Any) -> tuple[float, float]:
    """Two numbers, the smaller first."""
    ends = many(real)(value)
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"must be two numbers [low, high], got {shown(value)}")
    return ends[0], ends[1]
