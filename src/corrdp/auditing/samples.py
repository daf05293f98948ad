"""What an audit looks at: outputs of a mechanism, and the input that each came from."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_items
from corrdp.errors import DataError, InputError


@dataclass(frozen=True, eq=False)
class Samples:
    """Outputs of independent runs of a mechanism, any two of its inputs being neighbours.

    Parameters
    ----------
    inputs : tuple
        The m >= 2 distinct inputs.
    which : (N,) array of int
        The number of the input that each run had.
    outputs : (N, ...) array
        Numbers, one or a fixed number of them per run (NaN and infinities are outputs like any
        other); or N objects that can be hashed, for anything else.

    Examples
    --------
    >>> samples = Samples(("yes", "no"), [0, 0, 1, 1, 1], [1, 1, 0, 1, 0])
    >>> samples.runs, samples.counts.tolist()
    (5, [2, 3])
    """

    inputs: tuple[Any, ...]
    which: np.ndarray
    outputs: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", _inputs(self.inputs))
        try:
            outputs, which = np.asarray(self.outputs), np.asarray(self.which)
        except ValueError:  # rows of different lengths
            raise InputError("outputs and which must be arrays, with rows of one length") from None
        if outputs.ndim < 1 or outputs.dtype.kind not in "biufOUS":
            raise InputError(
                "outputs must be one entry per run, numbers or objects that can be hashed; got "
                f"dtype {outputs.dtype} and shape {outputs.shape}"
            )
        if outputs.dtype.kind in "OUS":
            _check_objects(outputs)
        if which.shape != (len(outputs),) or which.dtype.kind not in "iu":
            raise InputError(
                f"which must be one input number for each of the {len(outputs)} outputs, got dtype "
                f"{which.dtype} and shape {which.shape}"
            )
        if len(which) and not 0 <= which.min() <= which.max() < len(self.inputs):
            raise InputError(f"which must hold input numbers 0..{len(self.inputs) - 1}")
        object.__setattr__(self, "outputs", outputs)
        object.__setattr__(self, "which", which.astype(np.int64, copy=False))
        missing = np.flatnonzero(self.counts == 0)
        if missing.size:
            raise DataError(
                f"there is no output for input {self.inputs[missing[0]]!r}: give outputs for each "
                "input, or leave it out"
            )

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.which)

    @property
    def counts(self) -> np.ndarray:
        """How many runs each input had."""
        return np.bincount(self.which, minlength=len(self.inputs))

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Input numbers and outputs of some runs."""
        return self.which[rows], self.outputs[rows]


def fingerprint(samples: Samples) -> int:
    """A number that the runs determine: equal data, equal split.

    Examples
    --------
    >>> one, same = (Samples(("a", "b"), [0, 1], [3, 4]) for _ in range(2))
    >>> fingerprint(one) == fingerprint(same) != fingerprint(Samples(("a", "b"), [0, 1], [4, 3]))
    True
    """
    digest = hashlib.sha256(repr(samples.inputs).encode())
    digest.update(samples.which.tobytes())
    outputs = samples.outputs
    plain = outputs.dtype.kind != "O"
    digest.update(outputs.tobytes() if plain else repr(outputs.tolist()).encode())
    return int.from_bytes(digest.digest(), "big")


def _inputs(given: Any) -> tuple[Any, ...]:
    inputs = check_items("inputs", given, letters=True)
    if len(inputs) < 2:
        raise InputError(f"an audit compares two inputs or more, got {len(inputs)}")
    seen: list[Any] = []
    hashed: set[Any] = set()
    for x in inputs:
        known = x in hashed if isinstance(x, Hashable) else any(_same(x, y) for y in seen)
        if known:
            raise InputError(f"inputs must differ, {x!r} comes twice")
        if isinstance(x, Hashable):
            hashed.add(x)
        else:
            seen.append(x)
    return inputs


def _same(x: Any, y: Any) -> bool:
    return bool(np.array_equal(np.asarray(x, dtype=object), np.asarray(y, dtype=object)))


def _check_objects(outputs: np.ndarray) -> None:
    if outputs.ndim != 1:
        raise InputError(f"outputs that are not numbers must be one object per run, got shape "
                         f"{outputs.shape}")  # fmt: skip
    if outputs.dtype.kind == "O":
        for row, output in enumerate(outputs.tolist()):
            try:
                hash(output)
            except TypeError:
                raise InputError(
                    f"outputs[{row}] is a {type(output).__name__}, which cannot be hashed; make "
                    "it a number, text or tuple"
                ) from None
