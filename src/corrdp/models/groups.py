"""Blocks of records with any dependence inside and none between."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from corrdp._checks import check_items, check_kind, check_whole
from corrdp.errors import ModelError
from corrdp.models.base import LONGEST, Model


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
