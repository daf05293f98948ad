"""Exact answers: data are counted right, and a model vouches for no more than it says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corrdp.errors import DataError, QueryError, RefusedError
from corrdp.mechanisms.laplace import in_units
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.groups import Groups, Independent, JointTable
from corrdp.models.reads import check_reads
from corrdp.queries import Count, Histogram, Mean, Query, Sum
from corrdp.release.answer import check_room, exact_answer
from corrdp.tables.source import open_table

KERNEL = [[0.9, 0.1], [0.2, 0.8]]
CHAIN = MarkovChain(KERNEL, length=10)
WORDS = MarkovChain(KERNEL, states=["dry", "wet"])
PAIR = JointTable({(0, 0): 0.4, (1, 1): 0.4, (0, 1): 0.1, (1, 0): 0.1})
STEPS = [k * k % 5 for k in range(8)]


def answer(model: Model, query: Query, data: Any) -> Any:
    check_reads(model, query)
    return in_units(query, exact_answer(model, query, data))


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Eight rows, nothing missing."""
    path = tmp_path / "whole.csv"
    path.write_text("t,steps\n" + "".join(f"{t},{v}\n" for t, v in enumerate(STEPS)))
    return path


def fitted(path: Path, state: str = "steps > 0", **options: Any) -> MarkovChain:
    return MarkovChain.fit(path, state=state, order_by="t", **options)


@pytest.mark.parametrize(
    ("model", "query", "data", "value"),
    [
        (CHAIN, Count(1), [0, 1, 1], 2),
        (CHAIN, Count(1), np.array([0, 1, 1]), 2),
        (CHAIN, Count(1), np.array([[0, 1, 1], [1, 1, 1]]), 5),
        (CHAIN, Count(1), [[0, 1], np.array([1, 1, 1]), ()], 4),
        (CHAIN, Count(1, missing="skip"), [0, 1.0, math.nan], 1),
        (CHAIN, Count(1, records=slice(0, 2)), [1, 1, 1, None], 2),
        (CHAIN, Count(1, records=slice(1, None)), [[1, 1, 1], [1]], 2),
        (CHAIN, Mean(0, 1, n=4), [0, 1, 1, 0], 0.5),
        (CHAIN, Mean(0, 1, n=2, missing="skip"), [0, 1, None], 0.5),
        (WORDS, Count("wet"), ["dry", "wet"], 1),
        (WORDS, Histogram(["wet", "dry", "snow"]), ["dry", "wet", "dry"], [1, 2, 0]),
        (PAIR, Sum(0, 1), [1, 1], 2.0),
        (PAIR, Count(1), [[1, 1], [0, 1]], 3),
        (Independent(3), Sum(0, 10), [1, 2.5, 50], 13.5),
        (Groups(labels=["a", "a", "b"]), Count("x"), ["x", "y", "x"], 2),
        (Groups(2), Histogram(["x", "y"]), [["x"], ["y", "x"]], [2, 1]),
    ],
)
def test_sequences_are_counted_right(model: Model, query: Query, data: Any, value: Any) -> None:
    assert answer(model, query, data) == value


def test_a_fitted_chain_refuses_another_expression(walk: Path) -> None:
    chain = fitted(walk, group="who")
    for query in (
        Count(where="steps > 5"),
        Count(where="steps > 0 OR t = 3"),
        Sum(0, 9, column="steps"),
        Mean(0, 9, n=9, column="steps"),
        Histogram([0, 1], column="t"),
    ):
        with pytest.raises(QueryError, match=r"speaks about `steps > 0`, the query reads .*; ask"):
            check_reads(chain, query)
    check_reads(chain, Count(where=" steps>0 "))
    check_reads(chain, Sum(0, 1, column="steps>0"))
    text = MarkovChain.fit(walk, state="CASE WHEN steps > 0 THEN 'a b' ELSE 'c' END")
    with pytest.raises(QueryError, match="speaks about"):
        check_reads(
            text, Histogram(["a b", "c"], column="CASE WHEN steps > 0 THEN 'ab' ELSE 'c' END")
        )
    with pytest.raises(QueryError, match="not a condition"):
        check_reads(text, Count(where="CASE WHEN steps > 0 THEN 'a b' ELSE 'c' END"))


def test_records_and_groups_without_states_allow_any_query() -> None:
    for model in (Independent(), Groups(3)):
        for query in (Count(where="a > b"), Sum(0, 1, column="x"), Histogram(["p", "q"])):
            check_reads(model, query)


def test_tables_with_a_fitted_chain_are_counted_right(walk: Path) -> None:
    chain = fitted(walk, group="who")
    for query, value in (
        (Count(True, missing="skip"), 5),
        (Count(False, missing="skip"), 4),
        (Count(where="steps>0", missing="skip"), 5),
        (Sum(0, 1, missing="skip"), 5.0),
        (Mean(0, 1, n=9, missing="skip"), pytest.approx(5 / 9)),
        (Histogram([False, True], missing="skip"), [4, 5]),
        (Histogram([True, False], column="steps >0", missing="skip"), [5, 4]),
    ):
        assert answer(chain, query, walk) == value
        assert answer(chain, query, str(walk)) == value
        assert answer(chain, query, open_table(walk)) == value


def test_a_chain_over_numbers_sums_its_states(whole: Path) -> None:
    chain = fitted(whole, state="steps")
    for query in (Sum(0, 2), Mean(-1, 3, n=8), Histogram([4, 1, 0]), Count(4)):
        assert exact_answer(chain, query, whole) == query.on_grid(STEPS)


def test_tables_and_sequences_agree_for_other_models(whole: Path) -> None:
    for model in (Independent(), Groups(2), Independent(8), Groups(labels=list("aabbccdd"))):
        assert exact_answer(model, Count(where="steps > 0"), whole) == Count(1).on_grid(
            [int(v > 0) for v in STEPS]
        )
        for query, plain in (
            (Sum(0.3, 2.7, column="steps"), Sum(0.3, 2.7)),
            (Mean(0, 4, n=8, column="steps"), Mean(0, 4, n=8)),
            (Histogram([0, 1, 4], column="steps"), Histogram([0, 1, 4])),
        ):
            assert exact_answer(model, query, whole) == plain.on_grid(STEPS)


def test_a_joint_table_reads_a_table_of_its_states(tmp_path: Path) -> None:
    path = tmp_path / "pair.csv"
    path.write_text("v,w\n1,5\n0,5\n")
    assert exact_answer(PAIR, Sum(0, 1, column="v"), path) == Sum(0, 1).on_grid([1, 0])
    assert exact_answer(PAIR, Count(where="v = 1"), path) == [1]
    with pytest.raises(DataError, match=r"`w` is no state of the model in 2 rows"):
        exact_answer(PAIR, Sum(0, 1, column="w"), path)


def test_sums_beyond_64_bits_are_refused() -> None:
    query = Sum(1e6 - 1, 1e6)
    records = 2**62 // max(query.grid_bounds) + 1
    assert records > 10**6  # far from everyday sizes
    check_room(query, records - 1)
    with pytest.raises(RefusedError, match="64-bit"):
        check_room(query, records)
