"""Everything one visitor of the page has chosen and seen, in one object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiny import reactive

from corrdp.app.choices import (
    Choice,
    DataChoice,
    LedgerChoice,
    MovesTable,
    PromiseChoice,
    TableChoice,
)

if TYPE_CHECKING:
    from corrdp.app.work import Comparison, Learned, Looked, Planned, Released


class State:
    """What was chosen and what came of it, step by step; each part is watched by itself.

    A step that changes forgets what later steps made of it.

    Parameters
    ----------
    folder : Path
        For made-up data; removed at the end.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data: reactive.Value[DataChoice | None] = reactive.Value(None)
        self.links: reactive.Value[DataChoice | None] = reactive.Value(None)
        self.looked: reactive.Value[Looked | None] = reactive.Value(None)
        self.law: reactive.Value[Choice | None] = reactive.Value(None)
        self.learned: reactive.Value[Learned | None] = reactive.Value(None)
        self.promise: reactive.Value[PromiseChoice] = reactive.Value(PromiseChoice())
        self.compared: reactive.Value[Comparison | None] = reactive.Value(None)
        self.table: reactive.Value[TableChoice] = reactive.Value(TableChoice())
        self.moves: reactive.Value[MovesTable | None] = reactive.Value(None)
        self.planned: reactive.Value[Planned | None] = reactive.Value(None)
        self.ledger: reactive.Value[LedgerChoice | None] = reactive.Value(None)
        self.released: reactive.Value[Released | None] = reactive.Value(None)
        self.report: reactive.Value[str | None] = reactive.Value(None)

    def forget_from(self, step: int) -> None:
        """Forget what the steps from this one on have made."""
        made: tuple[tuple[int, tuple[reactive.Value[Any], ...]], ...] = (
            (1, (self.looked,)),
            (2, (self.law, self.learned)),
            (3, (self.compared,)),
            (4, (self.planned,)),
            (5, (self.released, self.report)),
        )
        for number, values in made:
            for value in values if number >= step else ():
                value.set(None)
        if step <= 2:  # states and columns may be others
            self.table.set(TableChoice())
            self.moves.set(None)
