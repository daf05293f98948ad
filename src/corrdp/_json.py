"""Results and models as plain JSON, and back: what has fields is written and read by them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from corrdp._checks import LONGEST, check_choice, check_whole, shown
from corrdp.errors import CorrdpError, InputError

SCHEMA = 1
_AS_THEY_ARE = (str, int, bool, NoneType)
P = ParamSpec("P")
T = TypeVar("T")


def encode(value: Any) -> Any:
    """Turn a value into plain JSON types; infinities become the strings "inf" and "-inf".

    What has a ``to_dict`` writes itself; any other dataclass is written by its fields.

    Examples
    --------
    >>> encode((1, float("inf"), np.float64(.5)))
    [1, 'inf', 0.5]
    """
    if type(value) in _AS_THEY_ARE:  # first, as a million entries are common
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return write_fields(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        plain = value.tolist()
        # number by number only where it matters: a million entries are common
        finite = value.dtype.kind in "biu" or (value.dtype.kind == "f" and np.isfinite(value).all())
        return plain if finite else [encode(v) for v in plain]
    if isinstance(value, float):
        if math.isnan(value):
            raise InputError("a result must not hold NaN")
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, dict):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [encode(v) for v in value]
    return value


def coded(
    write: Callable[[Any], Any] = encode, read: Callable[[Any], Any] | None = None
) -> dict[str, Any]:
    """Metadata of a field that is written or read in a way of its own."""
    return {"write": write, "read": read}


def added(default: Any = None, *, always: bool = False) -> Any:
    """A field that files of version 0.1.0 lack.

    It is written only where it says something, so that a file keeps its digest when it is read;
    or ``always``.
    """
    return field(default=default, metadata={"added": always})


def _is_default(found: Any, default: Any) -> bool:
    return found is default or (isinstance(found, float) and found == default)


def write_fields(value: Any, keys: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass as plain JSON; with ``keys``, these attributes in this order.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Pair:
    ...     low: float
    ...     high: float
    >>> write_fields(Pair(0.0, math.inf))
    {'low': 0.0, 'high': 'inf'}
    >>> read_fields(Pair, {"low": 0.0, "high": "inf"})
    Pair(low=0.0, high=inf)
    >>> read_fields(Pair, {"low": 0.0, "high": "many"})
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: cannot read the result: high must be a number, got 'many'
    """
    parts = {part.name: part for part in fields(value)}
    written = {}
    for name in keys or parts:
        found, how = getattr(value, name), parts[name].metadata if name in parts else {}
        if how.get("added", True) or not _is_default(found, parts[name].default):
            written[how.get("key", name)] = how.get("write", encode)(found)
    return written


def read_fields(cls: Any, data: Any, keys: Sequence[str] = (), *, more: bool = False) -> Any:
    """Inverse of :func:`write_fields`: every value is of the kind that its field declares.

    A key that is absent or unknown is an error; those of ``keys`` that are no fields follow from
    the fields. With ``more``, a file may hold other keys beside these.
    """
    if not isinstance(data, dict):
        raise _unread(f"expected keys and values, got {shown(data)}")
    parts = {
        part.metadata.get("key", part.name): part
        for part in fields(cls)
        if not keys or part.name in keys
    }
    unknown = set(data) - set(parts) - set(keys)
    if unknown and not more:
        raise _unread(f"{min(unknown, key=str)!r} is no key of it")
    given = {}
    for key, part in parts.items():
        if key in data or "added" not in part.metadata:
            value, read = data[key], part.metadata.get("read")
            kind = _kinds(cls)[part.name]
            given[part.name] = decode(key, kind, value) if read is None else read(value)
    return cls(**given)


@functools.cache
def _kinds(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _unread(why: str) -> InputError:
    return InputError(f"cannot read the result: {why}")


def decode(name: str, kind: Any, value: Any) -> Any:
    """Inverse of :func:`encode` for a value that must be of this kind, a type as annotated.

    Examples
    --------
    >>> decode("interval", tuple[float, float], [1, "inf"])
    (1.0, inf)
    """
    home, inner = get_origin(kind) or kind, get_args(kind)
    if home is Any:
        return value
    if hasattr(home, "from_dict"):
        return home.from_dict(value)
    if is_dataclass(home):
        return read_fields(home, value)
    if home in (Union, UnionType):
        return _either(name, inner, value)
    if home is Literal:
        return check_choice(name, value, inner)
    if home is float:
        return _number(name, value)
    asked, words = _PLAIN.get(home, (list, "a list"))
    if type(value) is not asked:
        raise _unread(f"{name} must be {words}, got {shown(value)}")
    if home is dict:
        return {key: decode(name, inner[1], entry) for key, entry in value.items()}
    if home is np.ndarray:
        return _array(name, value)
    if asked is list:
        entries = _entries(name, inner, value)
        return tuple(entries) if home is tuple else entries
    return value


_PLAIN: dict[Any, tuple[Any, str]] = {
    int: (int, "a whole number"),
    str: (str, "text"),
    bool: (bool, "true or false"),
    dict: (dict, "keys and values"),
}


def _either(name: str, kinds: tuple[Any, ...], value: Any) -> Any:
    if value is None and NoneType in kinds:
        return None
    *others, last = (kind for kind in kinds if kind is not NoneType)
    for kind in others:
        try:
            return decode(name, kind, value)
        except InputError:
            continue
    return decode(name, last, value)


def _number(name: str, value: Any) -> float:
    # NaN compares with nothing: a bound of NaN would pass every test for being small enough
    plain = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    if not plain and value not in ("inf", "-inf"):
        raise _unread(f"{name} must be a number, got {shown(value)}")
    return float(value)


def _array(name: str, value: list[Any]) -> np.ndarray:
    array = np.array(value)
    if array.dtype.kind not in "biuf":
        array = np.array(value, dtype=float)  # "inf" among the numbers
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise _unread(f"{name} must be numbers, got {shown(value)}")
    return array


def _entries(name: str, kinds: tuple[Any, ...], value: list[Any]) -> list[Any]:
    """The entries of ``tuple[X, Y]``, ``tuple[X, ...]`` or ``Sequence[X]``."""
    if len(kinds) == 1 or kinds[1:] == (...,):
        if kinds[0] is Any:  # a million reports are common
            return value
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise _unread(f"{name} must be {len(kinds)} values, got {shown(value)}")
    return [decode(name, kind, entry) for kind, entry in zip(kinds, value, strict=True)]


def decode_number(value: Any) -> Any:
    """Undo the "inf" of :func:`encode` for a number."""
    return float(value) if value in ("inf", "-inf") else value


def check_header(data: dict[str, Any], kind: str) -> None:
    """Refuse JSON that is not a corrdp result of this kind."""
    if not isinstance(data, dict) or data.get("corrdp") != SCHEMA or data.get("result") != kind:
        raise InputError(
            f'not a corrdp {kind}: expected {{"corrdp": {SCHEMA}, "result": "{kind}", ...}}'
        )


def strict(read: Callable[P, T]) -> Callable[P, T]:
    """Make a ``from_dict`` refuse in words what it stumbles over in an edited file.

    Examples
    --------
    >>> strict(lambda data: float(data["target"]))({})
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: cannot read the result: it lacks the key 'target'
    """

    @functools.wraps(read)
    def checked(*args: P.args, **given: P.kwargs) -> T:
        try:
            return read(*args, **given)
        except CorrdpError:
            raise
        except KeyError as error:
            raise InputError(f"cannot read the result: it lacks the key {error}") from None
        except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise InputError(f"cannot read the result: {error}") from None

    return checked


def runs(values: np.ndarray | None) -> list[list[float]] | None:
    """Run-length code: long chains have one value in the interior."""
    if values is None:
        return None
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    lengths = np.diff(np.r_[starts, len(values)])
    return [[encode(float(values[i])), int(k)] for i, k in zip(starts, lengths, strict=True)]


def unruns(coded: list[list[Any]] | None) -> np.ndarray | None:
    """Undo :func:`runs`."""
    if coded is None:
        return None
    lengths = [check_whole("the length of a run", k, most=LONGEST) for _, k in coded]
    check_whole("the length of all runs", sum(lengths), least=0, most=LONGEST)
    return np.repeat([float(v) for v, _ in coded], lengths)
