"""Released movements: sequences of places, and what they cost whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._json import SCHEMA, check_header, encode


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedSequences:
    """Sequences of places that a mechanism made, with its promise.

    Parameters
    ----------
    mechanism : str
    k : int
        Size of the public universe.
    sequences : tuple of arrays of int
    epsilon, delta : float
        The promise for the unit.
    unit : str
        Who or what is protected.
    assumptions : tuple of str
    positions : tuple of arrays of int, optional
        Which points of each trajectory these are, where not all were kept.
    """

    mechanism: str
    k: int
    sequences: tuple[np.ndarray, ...]
    epsilon: float
    delta: float
    unit: str
    assumptions: tuple[str, ...]
    positions: tuple[np.ndarray, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("sequences", "positions"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _whole(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.sequences)

    def __repr__(self) -> str:
        points = sum(map(len, self.sequences))
        promise = f"epsilon {self.epsilon:.9g}"
        promise += f", delta {self.delta:.3g}" if self.delta else ""
        lines = [
            f"{len(self):,} sequences released by {self.mechanism}, {points:,} points",
            f"  guarantee  {promise} for {self.unit}",
            f"  universe   {self.k:,} places",
        ]
        return "\n".join(lines + [f"  assumes    {text}" for text in self.assumptions])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"corrdp": SCHEMA, "result": "released sequences", **encode(vars(self))}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ReleasedSequences:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "released sequences")
        body = {name: data[name] for name in cls.__dataclass_fields__}
        return cls(**body | {"assumptions": tuple(body["assumptions"])})


def _whole(sequences: Sequence[Any]) -> tuple[np.ndarray, ...]:
    frozen = []
    for codes in sequences:
        array = np.array(codes, dtype=np.int64)
        array.setflags(write=False)
        frozen.append(array)
    return tuple(frozen)
