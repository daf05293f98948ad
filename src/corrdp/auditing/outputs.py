"""What a mechanism put out: gathered into arrays, and refused where it is no output at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from corrdp.errors import DataError, InputError

# what a claim demands of outputs: raises on those it forbids, returns them as it reads them
Reader = Callable[[Sequence[Any], np.ndarray], np.ndarray]
_NUMBERS = "biuf"
EXACT = 2**53  # whole numbers up to here are floats as well


def gathered(outputs: Sequence[Any]) -> np.ndarray:
    """Outputs as an array of numbers, one row each; as an array of objects if they are none.

    Lists, arrays and sets among the objects become tuples and frozensets, which can be compared.

    Examples
    --------
    >>> gathered([1, 2.5]).dtype, gathered([[0, 1], [1, 1]]).shape
    (dtype('float64'), (2, 2))
    >>> gathered(["yes", [1, 2]]).tolist()
    ['yes', (1, 2)]
    """
    try:
        array = np.asarray(outputs)
    except ValueError:  # rows of different lengths
        return _objects(outputs)
    if array.dtype.kind not in _NUMBERS:
        return _objects(outputs)
    if array.dtype.kind == "f" and (np.abs(array) > EXACT).any():
        return _without_rounding(outputs, array)
    return array


def _without_rounding(outputs: Sequence[Any], array: np.ndarray) -> np.ndarray:
    """Numbers of which a float may have rounded some: whole ones of 64 bits or more."""
    entries = np.asarray(outputs, dtype=object)
    whole = [isinstance(entry, Integral) for entry in entries.flat]
    if not any(whole):
        return array
    if all(whole) and entries.min() >= 0 and entries.max() < 2**64:
        return entries.astype(np.uint64)
    return _objects(outputs)


def _objects(outputs: Sequence[Any]) -> np.ndarray:
    array = np.empty(len(outputs), dtype=object)
    for place, output in enumerate(outputs):
        array[place] = _comparable(output)
    return array


def _comparable(output: Any) -> Any:
    if isinstance(output, np.generic | np.ndarray):
        output = output.tolist()
    if isinstance(output, list | tuple):
        return tuple(_comparable(part) for part in output)
    return frozenset(output) if isinstance(output, set) else output


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays of outputs, one after the other.

    Examples
    --------
    >>> joined([gathered([1]), gathered(["a"])]).tolist()
    [1, 'a']
    """
    alike = len({(part.dtype == object, part.shape[1:]) for part in parts}) == 1
    if not alike or (
        np.result_type(*{p.dtype for p in parts}).kind == "f" and any(map(_too_long, parts))
    ):
        return _objects([output for part in parts for output in part])
    return np.concatenate(parts)


def _too_long(part: np.ndarray) -> bool:
    """Whole numbers that a float would round."""
    return part.dtype.kind in "iu" and bool(((part > EXACT) | (part < -EXACT)).any())


def check_outputs(values: Sequence[Any], outputs: np.ndarray) -> None:
    """Refuse a missing output or NaN, with the input that gave it.

    An event that is NaN could be audited like any other; but a mechanism that means it can say
    so by a text, and one that does not mean it is broken.

    Parameters
    ----------
    values : sequence
        The inputs, one per output.
    outputs : array

    Examples
    --------
    >>> check_outputs(["a", "b"], gathered([1, None]))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: the mechanism put out nothing (None) on input 'b'
    """
    if outputs.dtype == object:
        for value, output in zip(values, outputs, strict=True):
            if output is None:
                raise DataError(f"the mechanism put out nothing (None) on input {value!r}")
            if _holds_nan(output):
                raise _nan(value)
    elif outputs.dtype.kind == "f":
        rows = np.isnan(outputs).reshape(len(outputs), -1).any(axis=1)
        if rows.any():
            raise _nan(values[int(np.argmax(rows))])


def _holds_nan(output: Any) -> bool:
    if isinstance(output, tuple):
        return any(_holds_nan(part) for part in output)
    return isinstance(output, float) and output != output


def _nan(value: Any) -> DataError:
    return DataError(
        f"the mechanism put out NaN on input {value!r}; if it is meant to, let it put out a text "
        "instead"
    )


def within(low: float, high: float) -> Reader:
    """A check that every output lies in a declared range.

    Parameters
    ----------
    low, high : float

    Examples
    --------
    >>> within(0, 9)([3], np.array([12]))
    Traceback (most recent call last):
    ...
    corrdp.errors.DataError: the mechanism put out 12 on input 3, outside the declared range 0 to 9
    """
    if not low <= high:
        raise InputError(f"outputs=({low}, {high}): the range must not end before it begins")

    def read(values: Sequence[Any], outputs: np.ndarray) -> np.ndarray:
        if outputs.dtype == object:
            raise DataError(
                f"outputs=({low:g}, {high:g}) declares numbers; on input {values[0]!r} the "
                f"mechanism put out {outputs[0]!r}"
            )
        rows = ((outputs < low) | (outputs > high)).reshape(len(outputs), -1).any(axis=1)
        if rows.any():
            first = int(np.argmax(rows))
            raise DataError(
                f"the mechanism put out {outputs[first].tolist()!r} on input {values[first]!r}, "
                f"outside the declared range {low:g} to {high:g}"
            )
        return outputs

    return read
