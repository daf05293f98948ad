"""Results and models as plain JSON, and back."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from corrdp._checks import LONGEST, check_whole
from corrdp.errors import CorrdpError, InputError

SCHEMA = 1
P = ParamSpec("P")
T = TypeVar("T")


def encode(value: Any) -> Any:
    """Turn a value into plain JSON types; infinities become the strings "inf" and "-inf".

    Examples
    --------
    >>> encode((1, float("inf"), np.float64(.5)))
    [1, 'inf', 0.5]
    """
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
