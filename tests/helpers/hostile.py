"""Values that no public function may choke on, and what it may answer: a result, or our own error.

``failures(call, good)`` puts every bad value in the place of every argument, one at a time, and
lists what came of it that should not: any exception but corrdp's own, a warning of numpy's, NaN.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from corrdp.errors import CorrdpError

BAD: dict[str, Any] = {
    "None": None,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "-1": -1,
    "0": 0,
    "0.5": 0.5,
    "True": True,
    "1e-308": 1e-308,
    "1e308": 1e308,
    "10**400": 10**400,
    "1j": 1j,
    "empty text": "",
    "text": "x",
    "bytes": b"x",
    "empty list": [],
    "empty dict": {},
    "dict": {"x": 1},
    "object": object(),
    "class": int,
    "function": len,
    "nan array": np.array([math.nan, 1.0]),
    "empty array": np.empty((0, 2)),
    "scalar array": np.array(1.0),
    "deep array": np.zeros((2, 2, 2, 2)),
    "objects": np.array([None, "x"], dtype=object),
    "ragged": [[1, 2], [3]],
    "texts": ["x", "y"],
}


def failures(
    call: Callable[..., Any],
    good: Mapping[str, Any],
    skip: Mapping[str, tuple[str, ...]] | None = None,
) -> list[str]:
    """What a call answers that it should not, as ``argument=value: what came``.

    Parameters
    ----------
    call : callable
    good : mapping
        Arguments by name with which the call succeeds; each is replaced in turn.
    skip : mapping, optional
        By argument, the names of bad values that would cost too much although they are allowed.
    """
    found = []
    for name in good:
        for label, value in BAD.items():
            if label in (skip or {}).get(name, ()):
                continue
            came = wrong(call, {**good, name: value})
            if came is not None:
                found.append(f"{name}={label}: {came}")
    return found


def wrong(call: Callable[..., Any], arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the answer, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            result = call(**arguments)
    except CorrdpError as error:
        return None if str(error) else f"{type(error).__name__} without a word"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(result, float | np.floating) and math.isnan(result):
        return "NaN"
    return None
