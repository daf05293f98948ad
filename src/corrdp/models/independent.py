"""Independent records: the case ordinary differential privacy is made for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

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
