"""Laws without a shape: any dependence inside blocks, none at all, a joint law in full.

Independent records are the case ordinary differential privacy is made for; a joint law written out
in full is for small problems and for oracles.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from corrdp._checks import LONGEST, check_items, check_kind, check_number, check_whole
from corrdp.errors import InputError, ModelError
from corrdp.models.base import Model, check_length


@dataclass(frozen=True, eq=False, repr=False)
class Independent(Model):
    """Records that tell nothing about each other.

    Parameters
    ----------
    n : int, optional
        Number of records.

    Examples
    --------
    >>> Independent(5)
    <5 independent records>
    """

    kind: ClassVar[str] = "independent"
    n: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", check_length(self.n))
        object.__setattr__(self, "length", self.n)

    @property
    def assumptions(self) -> tuple[str, ...]:
        return ("the records are independent of each other",)

    def describe(self) -> str:
        return f"{'any number of' if self.n is None else self.n} independent records"

    def fields(self) -> dict[str, Any]:
        return {"n": self.n}


@dataclass(frozen=True, eq=False, repr=False)
class Groups(Model):
    """At most ``m`` records depend on each other, in any way whatever.

    Parameters
    ----------
    m : int, optional
        Size of the largest block.
    labels : sequence, optional
        The block of each record; needed when epsilon differs from record to record.

    References
    ----------
    Lange, master thesis (2024), definition 4.1.

    Examples
    --------
    >>> Groups(labels=["a", "a", "b"]).m
    2
    """

    kind: ClassVar[str] = "groups"
    m: int | None = None
    labels: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        if (self.m is None) == (self.labels is None):
            raise ModelError("give Groups either m or labels=[...], not both or neither")
        if self.labels is None:
            object.__setattr__(self, "m", check_whole("m", self.m, most=LONGEST, error=ModelError))
            return
        labels = check_items("labels", self.labels, letters=True, error=ModelError)
        for label in labels:
            check_kind("a label", label, Hashable, "a number or text", error=ModelError)
        if not labels:
            raise ModelError("labels is empty: give the block of each record")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "length", len(labels))
        object.__setattr__(self, "m", int(np.bincount(self.blocks).max()))

    @property
    def blocks(self) -> np.ndarray:
        """Block number of each record, from 0."""
        assert self.labels is not None
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(label, len(numbers)) for label in self.labels])

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (f"at most {self.m} records depend on each other; different blocks are independent",)

    def describe(self) -> str:
        return f"groups of at most {self.m} dependent records"

    def fields(self) -> dict[str, Any]:
        return {"m": self.m if self.labels is None else None, "labels": self.labels}


@dataclass(frozen=True, eq=False, repr=False)
class JointTable(Model):
    """The joint law of a few records, as ``{(x_1, .., x_n): probability}``.

    Examples
    --------
    >>> pair = JointTable({(0, 0): .4, (1, 1): .4, (0, 1): .1, (1, 0): .1})
    >>> pair.length, pair.states
    (2, (0, 1))
    """

    kind: ClassVar[str] = "table"
    law: Mapping[tuple[Any, ...], float]

    def __post_init__(self) -> None:
        given = check_kind(
            "the table", self.law, Mapping, "{(x_1, .., x_n): probability}", error=ModelError
        )
        law = {
            check_items("an outcome", k, error=ModelError): check_number(
                f"probability of {k!r}", p, error=ModelError
            )
            for k, p in given.items()
        }
        if not law:
            raise ModelError("the table is empty: give {(x_1, .., x_n): probability}")
        lengths = {len(k) for k in law}
        if len(lengths) > 1 or 0 in lengths:
            raise ModelError(f"tuples have different lengths: {sorted(lengths)}")
        for values, p in law.items():
            if not (np.isfinite(p) and p >= 0):
                raise ModelError(f"probability of {values!r} is {p}, need a number >= 0")
        total = sum(law.values())
        if abs(total - 1) > 1e-9:
            raise ModelError(f"probabilities sum to {total:.12g}, off by {total - 1:.3g}")
        object.__setattr__(self, "law", {k: p for k, p in law.items() if p > 0})
        object.__setattr__(self, "length", lengths.pop())
        states = {x for k in law for x in k}
        ordered = sorted(states, key=lambda x: (str(type(x)), x))
        object.__setattr__(self, "states", tuple(ordered))

    @cached_property
    def outcomes(self) -> tuple[np.ndarray, np.ndarray]:
        """The support as state numbers (rows of records) and its probabilities."""
        assert self.states is not None
        number = {state: k for k, state in enumerate(self.states)}
        rows = np.array([[number[x] for x in values] for values in self.law])
        return rows, np.array(list(self.law.values()))

    @property
    def record_laws(self) -> np.ndarray:
        assert self.states is not None
        rows, weights = self.outcomes
        return np.array([np.bincount(x, weights, len(self.states)) for x in rows.T])

    def sample(self, rng: np.random.Generator) -> list[Any]:
        """One draw of all records."""
        keys = list(self.law)
        return list(keys[rng.choice(len(keys), p=np.array(list(self.law.values())))])

    def condition(self, known: Mapping[int, Any]) -> JointTable:
        """The law of all records given some of them.

        Examples
        --------
        >>> pair = JointTable({(0, 0): .4, (1, 1): .4, (0, 1): .1, (1, 0): .1})
        >>> pair.condition({0: 1}).law[(1, 1)]
        0.8
        """
        kept = {k: p for k, p in self.law.items() if all(k[i] == v for i, v in known.items())}
        total = sum(kept.values())
        if total == 0:
            raise InputError(f"the known values {dict(known)!r} have probability 0")
        return JointTable({k: p / total for k, p in kept.items()})

    def describe(self) -> str:
        return f"joint table of {self.length} records, {len(self.law)} possible outcomes"

    def fields(self) -> dict[str, Any]:
        return {"table": [[list(k), p] for k, p in self.law.items()]}
