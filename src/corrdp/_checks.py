"""Arguments from outside, checked in one place: a value of the right kind, or an error in words."""

from __future__ import annotations

import functools
import math
import reprlib
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar
from warnings import warn

from corrdp.errors import InputError

T = TypeVar("T")
_TEXT = (str, bytes, bytearray)

LONGEST = 100_000_000  # records of a model: bounds keep a few numbers for each


def shown(value: Any) -> str:
    """A value as a message shows it: on one line, and not all of a long one.

    Examples
    --------
    >>> shown(list(range(1000)))
    '[0, 1, 2, 3, 4, 5, ...]'
    """
    return " ".join(reprlib.repr(value).split())


def _single(value: Any) -> bool:
    """Whether a value may be one number: it is no text, no truth value and no array."""
    truth = isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b"
    return not (truth or isinstance(value, _TEXT) or getattr(value, "shape", ()))


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    error: type[InputError] = InputError,
) -> float:
    """A finite number within stated limits, as a float.

    Examples
    --------
    >>> check_number("epsilon", "1", above=0)
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: epsilon must be a finite number > 0, got '1'
    """
    number = math.nan
    if _single(value):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
    within = (
        math.isfinite(number)
        and (above is None or number > above)
        and (least is None or number >= least)
        and (below is None or number < below)
        and (most is None or number <= most)
    )
    if within:
        return number
    limits = [
        f"{sign} {limit:g}"
        for sign, limit in ((">", above), (">=", least), ("<", below), ("<=", most))
        if limit is not None
    ]
    wanted = "".join([" ", " and ".join(limits)]) if limits else ""
    raise error(f"{name} must be a finite number{wanted}, got {shown(value)}")


def check_whole(
    name: str,
    value: Any,
    least: int = 1,
    most: int | None = None,
    *,
    error: type[InputError] = InputError,
) -> int:
    """A whole number within stated limits, as an int; 3.0 is one, True is not.

    Examples
    --------
    >>> check_whole("n", 3.0), check_whole("n", 0, least=0)
    (3, 0)
    >>> check_whole("n", 2.5)
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: n must be a whole number >= 1, got 2.5
    """
    if _single(value):
        try:
            number = int(value)
            if number == value and number >= least and (most is None or number <= most):
                return number
        except (TypeError, ValueError, OverflowError):
            pass
    limits = f">= {least}" + ("" if most is None else f" and <= {most:,}")
    raise error(f"{name} must be a whole number {limits}, got {shown(value)}")


def check_items(
    name: str, value: Any, *, letters: bool = False, error: type[InputError] = InputError
) -> tuple[Any, ...]:
    """The entries of a sequence; a text is one of letters only where ``letters`` says so.

    Examples
    --------
    >>> check_items("states", "ab", letters=True)
    ('a', 'b')
    >>> check_items("columns", "ab")
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: columns must be a list, got 'ab'
    """
    if not isinstance(value, _TEXT) or (letters and isinstance(value, str)):
        try:
            return tuple(value)
        except TypeError:
            pass
    raise error(f"{name} must be a list, got {shown(value)}")


def count_distinct(
    name: str, items: tuple[Any, ...], *, error: type[InputError] = InputError
) -> int:
    """How many of some labels differ; what cannot be told apart by its value is no label.

    Examples
    --------
    >>> count_distinct("states", ("a", "b", "a"))
    2
    >>> count_distinct("states", ([1], [2]))
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: states must be numbers, text or truth values, got ([1], [2])
    """
    try:
        return len(set(items))
    except TypeError:
        wanted = "numbers, text or truth values"
        raise error(f"{name} must be {wanted}, got {shown(items)}") from None


def check_array(name: str, value: Any, *, error: type[InputError] = InputError) -> Any:
    """Real numbers as an array of doubles of any shape, a copy.

    Examples
    --------
    >>> check_array("prior", [.5, .5]).tolist()
    [0.5, 0.5]
    >>> check_array("prior", [[1], [2, 3]])
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: prior must be numbers in rows of equal length, got [[1], [2, 3]]
    """
    import numpy as np

    try:
        array = np.array(value)
        if array.dtype.kind == "O" and array.size:
            array = np.array([float(entry) for entry in array.flat]).reshape(array.shape)
        if array.dtype.kind in "biuf" or not array.size:
            return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise error(f"{name} must be numbers in rows of equal length, got {shown(value)}")


def check_kind(
    name: str,
    value: Any,
    kind: type[T] | tuple[type, ...],
    what: str,
    *,
    error: type[InputError] = InputError,
) -> T:
    """The value itself, if it is an instance of what is asked for.

    Examples
    --------
    >>> check_kind("rng", 7, complex, "a complex number")
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: rng must be a complex number, got 7
    """
    if isinstance(value, kind):
        return value  # type: ignore[return-value]
    raise error(f"{name} must be {what}, got {shown(value)}")


def check_choice(
    name: str, value: Any, choices: Iterable[Any], *, error: type[InputError] = InputError
) -> Any:
    """The value itself, if it is one of those offered.

    Examples
    --------
    >>> check_choice("missing", "drop", ("raise", "skip"))
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: missing must be 'raise' or 'skip', got 'drop'
    """
    offered = tuple(choices)
    if any(type(value) is type(choice) and value == choice for choice in offered):
        return value
    wanted = " or ".join(map(repr, offered))
    raise error(f"{name} must be {wanted}, got {shown(value)}")


def check_flag(name: str, value: Any, *, error: type[InputError] = InputError) -> bool:
    """True or False.

    Examples
    --------
    >>> check_flag("public", "no")
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: public must be True or False, got 'no'
    """
    return bool(check_choice(name, value, (True, False), error=error))


def check_text(name: str, value: Any, *, error: type[InputError] = InputError) -> str | None:
    """A text, or None where none is given.

    Examples
    --------
    >>> check_text("group", 3)
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: group must be a text, got 3
    """
    return check_kind(name, value, (str, type(None)), "a text", error=error)


def check_texts(name: str, value: Any, *, error: type[InputError] = InputError) -> tuple[str, ...]:
    """Texts as a tuple: one by itself, a list of them, or None for none at all.

    Examples
    --------
    >>> check_texts("order_by", "day"), check_texts("order_by", None)
    (('day',), ())
    >>> check_texts("order_by", ["day", 3])
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: order_by must be a text or a list of texts, got ['day', 3]
    """
    if isinstance(value, str) or value is None:
        return () if value is None else (value,)
    given = () if isinstance(value, _TEXT) else check_items(name, value, error=error)
    if isinstance(value, _TEXT) or not all(isinstance(text, str) for text in given):
        raise error(f"{name} must be a text or a list of texts, got {shown(value)}")
    return given


def check_rng(value: Any) -> Any:
    """The generator itself, if it is one of numpy's.

    Examples
    --------
    >>> check_rng(7)
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: rng must be a numpy.random.Generator, got 7
    """
    import numpy as np

    return check_kind("rng", value, np.random.Generator, "a numpy.random.Generator")


def check_path(name: str, value: Any, *, error: type[InputError] = InputError) -> str:
    """The path of a file, as text.

    Examples
    --------
    >>> check_path("path", 3)
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: path must be the name of a file, got 3
    """
    import os

    if isinstance(value, str | os.PathLike) and value != "" and "\0" not in os.fspath(value):
        return os.fspath(value)
    raise error(f"{name} must be the name of a file, got {shown(value)}")


def old_attribute(old: str, new: str) -> Any:
    """A property by the name that a field had in version 0.1, with a warning that names the new.

    Examples
    --------
    >>> class Attacked:
    ...     record = 3
    ...     target = old_attribute("target", "record")
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     Attacked().target
    3
    """

    def read(self: Any) -> Any:
        text = f"{type(self).__name__}.{old} is now {new}; the old name goes with version 0.3"
        warn(text, DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(read)


_P = ParamSpec("_P")
_R = TypeVar("_R")


def renamed(**new: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let old keywords of a function work until version 0.3, with a warning that names the new.

    Parameters
    ----------
    **new : str
        The new keyword of each old one.

    Examples
    --------
    >>> import warnings
    >>> @renamed(target="record")
    ... def about(record):
    ...     return record
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     about(target=3)
    3
    >>> str(said[0].message)
    'about: target= is now record=; the old keyword goes with version 0.3'
    """

    def wrap(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def called(*args: _P.args, **given: _P.kwargs) -> _R:
            for old, name in new.items():
                if old in given:
                    text = f"{function.__qualname__}: {old}= is now {name}="
                    warn(f"{text}; the old keyword goes with version 0.3", DeprecationWarning, 2)
                    given[name] = given.pop(old)
            return function(*args, **given)

        return called

    return wrap
