"""Results are written and read by their fields; an edited file is refused in words."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest

from corrdp._json import added, coded, runs, unruns
from corrdp.errors import InputError
from corrdp.results import Certificate, Result


@dataclass(frozen=True)
class Part:
    name: str
    weights: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Told(Result):
    result = "told"
    keys = "value twice kind parts sure per_record grid proof book x"
    value: float
    kind: Literal["one", "two"]
    parts: tuple[Part, ...]
    sure: bool
    per_record: np.ndarray = field(metadata=coded(runs, unruns))
    grid: np.ndarray | None
    proof: Certificate | None
    book: dict[str, int]
    x: Any = added()
    hidden: int = 0

    @property
    def twice(self) -> float:
        return 2 * self.value


TOLD = Told(
    math.inf,
    "one",
    (Part("a", ((1, 0.5), (2, -math.inf))),),
    True,
    np.array([1.0, 1.0, 2.0]),
    np.array([[1.0, math.inf]]),
    Certificate("name", "reference", ("an assumption",)),
    {"b": 2},
    hidden=7,
)
WRITTEN = {
    "corrdp": 1,
    "result": "told",
    "value": "inf",
    "twice": "inf",
    "kind": "one",
    "parts": [{"name": "a", "weights": [[1, 0.5], [2, "-inf"]]}],
    "sure": True,
    "per_record": [[1.0, 2], [2.0, 1]],
    "grid": [[1.0, "inf"]],
    "proof": {"name": "name", "reference": "reference", "assumptions": ["an assumption"]},
    "book": {"b": 2},
}


def test_written_and_read_by_fields():
    assert json.dumps(TOLD.to_dict()) == json.dumps(WRITTEN)
    read = Told.from_dict(WRITTEN)
    assert json.dumps(read.to_dict()) == json.dumps(WRITTEN)
    assert (float(read), read.parts, read.proof, read.hidden) == (
        math.inf,
        TOLD.parts,
        TOLD.proof,
        0,
    )
    assert read.grid is not None
    assert read.grid.tolist() == [[1.0, math.inf]]
    assert Told.from_dict(WRITTEN | {"x": 3}).x == 3


def test_only_a_number_is_a_number():
    with pytest.raises(TypeError, match="no single number"):
        float(Certificate("name", "reference"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"value": None}, "value must be a number, got None"),
        ({"value": "0.5"}, "value must be a number"),
        ({"value": True}, "value must be a number"),
        ({"value": math.nan}, "value must be a number"),
        ({"value": 10**400}, "cannot read"),
        ({"kind": "three"}, "kind must be 'one' or 'two', got 'three'"),
        ({"sure": 1}, "sure must be true or false"),
        ({"parts": {}}, "parts must be a list"),
        ({"parts": [{"name": "a"}]}, "it lacks the key 'weights'"),
        ({"parts": [{"name": 3, "weights": []}]}, "name must be text"),
        ({"parts": [{"name": "a", "weights": [[1]]}]}, "weights must be 2 values"),
        ({"parts": [{"name": "a", "weights": [[1.5, 1]]}]}, "weights must be a whole number"),
        ({"per_record": [[1, -1]]}, "the length of a run"),
        ({"grid": [[1.0, None]]}, "grid must be numbers"),
        ({"grid": [[1.0], []]}, "cannot read"),
        ({"proof": {"name": "n", "reference": "r"}}, "it lacks the key 'assumptions'"),
        ({"proof": []}, "expected keys and values"),
        ({"book": {"b": "2"}}, "book must be a whole number"),
        ({"hidden": 1}, "'hidden' is no key of it"),
        ({"result": "else"}, "not a corrdp told"),
    ],
)
def test_an_edited_file_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        Told.from_dict(WRITTEN | change)


def test_an_absent_key_is_refused():
    for key in WRITTEN.keys() - {"twice"}:
        with pytest.raises(InputError, match=rf"lacks the key '{key}'|not a corrdp"):
            Told.from_dict({name: WRITTEN[name] for name in WRITTEN if name != key})
