"""What a release says of one record beforehand: which states it may be in, how likely each is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.models.base import Model
from corrdp.results import Result

_SAME = 1e-12  # laws of records that differ by less are one law


@dataclass(frozen=True)
class RecordLaw(Result):
    """The law of one record under a model, for who knows no other record.

    Parameters
    ----------
    states : tuple
        What the record may be; a state that JSON cannot hold is written as text.
    probabilities : tuple of float
    record : int or None
        Which record has this law, counted from 0; None where every record has it.
    reads : str
        The expression whose values the states are, where the model was fitted to a table.
    """

    states: tuple[Any, ...]
    probabilities: tuple[float, ...]
    record: int | None = None
    reads: str = ""

    def __post_init__(self) -> None:
        law, states = len(self.probabilities), len(self.states)
        if states != law:
            raise InputError(f"the law of one record has {law} numbers, {states} states")

    @property
    def question(self) -> str:
        """What somebody may want to know of the record, in a few words.

        Examples
        --------
        >>> RecordLaw((False, True), (.7, .3), reads="steps > 0").question
        'steps > 0, False or True'
        >>> RecordLaw(tuple(range(9)), (1 / 9,) * 9, record=4).question
        'record 4, one of 9 states'
        """
        named = [str(state) for state in self.states]
        which = " or ".join(named) if len(named) <= 3 else f"one of {len(named)} states"
        place = "" if self.record is None else f"record {self.record}"
        return ", ".join(part for part in (self.reads, place, which) if part)


def record_law(model: Model) -> RecordLaw | None:
    """The law of one record under a model; None where that is not worked out.

    Where records have different laws, it is that of the record that is hardest to guess beforehand
    (its likeliest state is the least likely): between two states a release can tell most there.

    Examples
    --------
    >>> from corrdp import Independent, MarkovChain
    >>> record_law(MarkovChain([[.75, .25], [.25, .75]], states=("rest", "walk")))
    RecordLaw(states=('rest', 'walk'), probabilities=(0.5, 0.5), record=None, reads='')
    >>> record_law(MarkovChain([[.75, .25], [.25, .75]], 3, initial=[1, 0])).record
    2
    >>> record_law(Independent(3)) is None
    True
    """
    laws = model.record_laws
    if laws is None or model.states is None:
        return None
    hardest = int(laws.max(axis=1).argmin())
    alike = bool((np.ptp(laws, axis=0) <= _SAME).all())
    return RecordLaw(
        tuple(_label(state) for state in model.states),
        tuple(laws[hardest].tolist()),
        None if alike else hardest,
        getattr(model.fitted, "state", None) or "",
    )


def _label(state: Any) -> Any:
    plain = state.item() if isinstance(state, np.generic) else state
    finite = isinstance(plain, str | bool | int) or (
        isinstance(plain, float) and np.isfinite(plain)
    )
    return plain if finite else str(plain)
