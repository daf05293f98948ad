"""Diagnostics of a fit: what is noticed, the counts behind it, words, pictures and bad input."""

from __future__ import annotations

import json
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from corrdp import Independent, MarkovChain
from corrdp.cli.commands import app
from corrdp.errors import DataError, InputError, ModelError
from corrdp.models.chains.diagnostics import Diagnostics, diagnose
from corrdp.models.chains.fitted import ChainFit
from corrdp.models.chains.questions import GROUPS, HALVES, order_name
from corrdp.models.chains.ratio_tests import RatioTest
from corrdp.tables.count import count_triples
from corrdp.tables.sequences import count_by_sequence, count_sequences
from corrdp.tables.source import open_table
from corrdp.tables.windows import count_by_group
from tests.helpers.tabular import write_csv, write_parquet
from tests.helpers.walks import KERNEL, by_scipy, made, walk, walk_twice

DATA = os.environ.get("CORRDP_DATA")
ORDER = order_name(1)
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")


def chain_fit(chain: MarkovChain) -> ChainFit:
    assert chain.fitted is not None
    return chain.fitted


# -- what is noticed --------------------------------------------------------------------------


def test_a_second_order_chain_is_rejected():
    found = diagnose(MarkovChain.fit(walk_twice(5_000, 1)))
    test = made(found, ORDER)
    assert test.rejected
    assert test.log10_p is not None
    assert test.log10_p < -20
    assert "1 after 1, 0: 4" in test.words  # 40 % against 15 % or so
    assert (
        "too small. calibrate prices both, and nothing need be done; or fit order=2"
        in found.warnings[0]
    )
    assert found.assumptions[0] == f"order 1 is rejected against order 2, {test.p_words}"


def test_order_two_is_not_warned_of_its_own_reason():
    series = walk_twice(5_000, 1)
    chain = MarkovChain.fit(series, order=2)
    found = diagnose(chain)
    test = made(found, order_name(2))
    assert (found.order, test.rejected) == (2, False)
    assert not any("is rejected" in text for text in found.warnings)
    assert found.assumptions == (f"order 2 is not rejected against order 3, {test.p_words}",)


def test_order_two_of_a_third_order_chain_is_rejected():
    rng = np.random.default_rng(2)
    path = [0, 1, 1]
    for u in rng.random(6_000):
        path.append(int(u < (0.8 if path[-3] else 0.3)))
    found = diagnose(MarkovChain.fit(path, order=2))
    test = made(found, order_name(2))
    assert test.rejected
    assert "; most of all 0 after 0, 1, 1: 69.7 %, against 41.1 % after any 1, 1" in test.words
    assert "of order 2 is rejected against one of order 3" in found.warnings[0]
    assert found.assumptions[0].startswith("order 2 is rejected against order 3, p < ")


def test_halves_of_a_chain_of_order_two():
    early, late = walk_twice(3_000, 1), 1 - walk_twice(3_000, 2)
    found = diagnose(MarkovChain.fit(np.concatenate([early, late]), order=2))
    assert made(found, HALVES).rejected


def test_a_kernel_that_changes_is_noticed():
    early, late = (walk(k, (1, 3_000), 8)[0] for k in (KERNEL, KERNEL[::-1]))
    found = diagnose(MarkovChain.fit(np.concatenate([early, late])))
    assert made(found, HALVES).rejected
    assert "half" in made(found, HALVES).words
    assert any("changes over time" in text for text in found.warnings)
    assert any("half of the data differ" in text for text in found.assumptions)


def test_groups_that_differ_are_noticed():
    series = [*walk(KERNEL, (5, 800), 8), *walk(KERNEL[::-1], (5, 800), 9)]
    chain = MarkovChain.fit(series)
    found = diagnose(chain, series)
    assert made(found, GROUPS).rejected
    kept = made(diagnose(chain), GROUPS)  # from the counts that the fit has kept
    assert kept.statistic == pytest.approx(made(found, GROUPS).statistic)
    assert kept.degrees == made(found, GROUPS).degrees
    assert any("fit the groups apart" in text for text in found.warnings)
    assert not made(found, HALVES).rejected  # each half holds as much of every sequence


def test_many_short_groups_have_no_p_value():
    series = walk(KERNEL, (500, 8), 2)
    test = made(diagnose(MarkovChain.fit(series), series), GROUPS)
    assert (test.p_value, test.rejected) == (None, False)
    assert test.words.startswith("too few data to judge: 3,500 counts")


# -- counts by half and by group ---------------------------------------------------------------


def halves_by_hand(sequences: list[list[Any]]) -> dict[tuple[Any, Any], int]:
    later: dict[tuple[Any, Any], int] = {}
    for sequence in sequences:
        for k in range(1, len(sequence)):
            pair = sequence[k - 1], sequence[k]
            if None not in pair and 2 * k >= len(sequence):
                later[pair] = later.get(pair, 0) + 1
    return later


@given(
    st.lists(
        st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=9), min_size=1, max_size=4
    ).filter(lambda sequences: any(state for sequence in sequences for state in sequence))
)
def test_later_half_of_sequences(sequences):
    found = count_sequences(sequences)
    name = found.states
    told = {(name[x], name[y]): int(found.later[x, y]) for x, y in np.argwhere(found.later)}
    assert told == halves_by_hand(sequences)


def test_tables_without_order_split_each_sequence(tmp_path):
    rng = np.random.default_rng(4)
    sequences = [[int(s) for s in rng.integers(0, 3, n)] for n in (31, 40, 7, 2, 1)]
    rows = [(who, s) for who, sequence in enumerate(sequences) for s in sequence]
    for path in (
        write_csv(tmp_path / "r.csv", ["who", "s"], rows),
        write_parquet(tmp_path / "r.parquet", ["who", "s"], rows),
    ):
        found = count_triples(open_table(path), "s", (), "who")
        np.testing.assert_array_equal(found.later, count_sequences(sequences).later)


@pytest.mark.parametrize(
    "make", [int, float, lambda t: f"2024-01-{t + 1:02d}", lambda t: f"01/{t + 1:02d}/2024"]
)
def test_tables_with_order_split_at_the_middle_of_time(tmp_path, make):
    """Numbers, dates and text; the second group begins late, so its own middle is another."""
    rng = np.random.default_rng(6)
    rows = [("a", t, int(rng.integers(2))) for t in range(20)]
    rows += [("b", t, int(rng.integers(2))) for t in range(8, 30)]
    expected = np.zeros((2, 2), dtype=np.int64)
    for before, now in pairwise(rows):
        if before[0] == now[0] and now[1] >= 15:
            expected[before[2], now[2]] += 1
    path = write_csv(tmp_path / "r.csv", ["who", "t", "s"], [(w, make(t), s) for w, t, s in rows])
    found = count_triples(open_table(path), "s", ["t"], "who")
    np.testing.assert_array_equal(found.later, expected)


def test_gaps_and_missing_states_are_in_neither_half(tmp_path):
    rows = [(0, 0), (1, 1), (2, None), (3, 1), (4, 0), (9, 1), (10, 0), (11, None), (12, 0)]
    path = write_csv(tmp_path / "r.csv", ["t", "s"], rows)
    found = count_triples(open_table(path), "s", ["t"])
    assert found.counts.tolist() == [[0, 1], [2, 0]]
    assert found.later.tolist() == [[0, 0], [1, 0]]


def test_order_values_that_have_no_middle(tmp_path):
    rows = [(-math.inf, 0), (1.0, 1), (2.0, 0), (math.inf, 1)]
    path = write_parquet(tmp_path / "r.parquet", ["t", "s"], rows)
    with pytest.raises(DataError, match="infinite"):
        count_triples(open_table(path), "s", ["t"])


@pytest.mark.parametrize("seed", range(4))
def test_groups_of_tables_and_sequences_count_alike(tmp_path, seed):
    rng = np.random.default_rng(seed)
    sequences = [
        [None if rng.random() < 0.1 else "xyz"[rng.integers(3)] for _ in range(n)]
        for n in rng.integers(1, 30, 20)
    ]
    rows = [(f"p{p}", t, s) for p, sequence in enumerate(sequences) for t, s in enumerate(sequence)]
    rows = [rows[k] for k in rng.permutation(len(rows))]
    path = write_csv(tmp_path / "r.csv", ["who", "t", "s"], rows)
    memory = count_by_sequence(sequences)
    table = count_by_group(open_table(path), "s", ["t"], group="who")
    assert memory.states == table.states
    np.testing.assert_array_equal(memory.leaving, table.leaving)
    np.testing.assert_array_equal(memory.moving, table.moving)
    chain = MarkovChain.fit(path, state="s", order_by="t", group="who")
    told = made(diagnose(chain, path), GROUPS)
    assert told == made(diagnose(chain, open_table(path)), GROUPS)
    assert told == made(diagnose(MarkovChain.fit(sequences), sequences), GROUPS)


def test_gaps_in_time_break_groups_too(tmp_path):
    rows = [(w, t, (t + w) % 2) for w in (1, 2) for t in (1, 2, 3, 7, 8, 9)]
    path = write_csv(tmp_path / "r.csv", ["who", "t", "s"], rows)
    chain = MarkovChain.fit(path, state="s", order_by="t", group="who")
    found = count_by_group(open_table(path), "s", ["t"], group="who")
    assert (found.leaving[:, 1] * found.leaving[:, 2]).sum() == chain_fit(chain).transitions == 8
    assert diagnose(chain, path).test(GROUPS) is not None


# -- degenerate data ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "series",
    [[0, 1, 0], [0, 0, 1, 0], [[0, 1], [1, 0]], [0, 1] * 20, [0, 1, 2] * 30, [[0, 1, 0]] * 30],
)
def test_degenerate_data_get_words_and_no_number(series):
    found = diagnose(MarkovChain.fit(series), series)
    test = made(found, ORDER)
    assert (test.p_value, test.log10_p) == (None, None)
    assert test.words.startswith(("cannot be tested: ", "too few data to judge: "))
    assert found.assumptions[0] == "whether one past record is enough was not tested"
    assert any("one past record is enough is not known" in text for text in found.warnings)
    for each in found.tests:
        assert math.isfinite(each.statistic)
        assert each.statistic >= 0
    json.dumps(found.to_dict(), allow_nan=False)
    found.plot()
    assert "nan" not in repr(found)


def test_one_sequence_has_no_groups():
    series = walk(KERNEL, (1, 100), 0)[0]
    test = made(diagnose(MarkovChain.fit(series), series), GROUPS)
    assert test == RatioTest(
        GROUPS, 0.0, 0, None, None, "cannot be tested: the data are one sequence"
    )


def test_states_and_transitions_are_counted():
    series = [0, 0, 0, 1, 0, 0, 2, 2, 0, 0] * 3
    found = diagnose(MarkovChain.fit(series))
    counts = chain_fit(MarkovChain.fit(series)).counts
    assert found.visits == tuple(counts.sum(axis=1))
    assert sum(found.shares) == pytest.approx(1)
    assert (0, 1, 3) in found.rare
    assert found.never == ((1, 1), (1, 2), (2, 1))
    said = " ".join(found.warnings)
    assert "seen fewer than 5 times: 0 to 1 (3)" in said
    assert "never seen and so taken as impossible: 1 to 1, 1 to 2, 2 to 1;" in said
    declared = diagnose(MarkovChain.fit(series, zeros="structural"))
    assert "never seen" not in " ".join(declared.warnings)
    many = diagnose(MarkovChain.fit([*range(30), *range(30)]))
    assert " and 25 more" in " ".join(many.warnings)


def test_a_private_fit_is_not_tested():
    series = (walk_twice(5_000, 1) == 1).tolist()
    chain = MarkovChain.fit(series, private_epsilon=1.0)
    assert chain_fit(chain).later is None
    found = diagnose(chain)
    assert found.tests == ()
    assert "the fit is private" in found.warnings[0]
    assert found.plot() is not None


# -- results -----------------------------------------------------------------------------------


def test_round_trip_repr_and_picture():
    series = walk(KERNEL, (3, 400), 1)
    found = diagnose(MarkovChain.fit(series), series)
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = Diagnostics.from_dict(data)
    assert again.to_dict() == found.to_dict()
    assert again.tests == found.tests
    assert again.warnings == found.warnings
    assert repr(again) == repr(found)
    for test in found.tests:
        assert test.name in repr(found)
        assert test.words in repr(found)
    labels = [label.get_text() for label in found.plot().get_yticklabels()]
    assert len(labels) == 9
    assert "0 to 1" in labels
    with pytest.raises(InputError, match="not a corrdp diagnostics"):
        Diagnostics.from_dict({**data, "result": "leakage"})


def test_the_picture_names_what_is_off():
    def named(series: np.ndarray) -> set[str]:
        return {text.get_text() for text in diagnose(MarkovChain.fit(series)).plot().texts}

    assert named(walk_twice(5_000, 1)) == {"after 0", "after 1"}
    assert named(walk(KERNEL, (1, 5_000), 1)[0]) == set()
    ax = diagnose(MarkovChain.fit(np.random.default_rng(0).integers(0, 60, 40_000))).plot()
    assert len(ax.get_yticklabels()) == 12
    assert "the 12 farthest off of" in ax.get_xlabel()


def test_later_in_a_model_file():
    data = chain_fit(MarkovChain.fit([0, 0, 1, 1, 0, 1])).to_dict()
    assert data["later"] == [[0, 1], [1, 1]]
    assert ChainFit.from_dict(data).to_dict() == data
    assert ChainFit.from_dict({**data, "later": None}).later is None
    for wrong in ([[9, 0], [0, 0]], [[1]], [[0, -1], [0, 0]], "many"):
        with pytest.raises(ModelError, match="later"):
            ChainFit.from_dict({**data, "later": wrong})
    without = MarkovChain(
        [[0.5, 0.5], [0.5, 0.5]], 6, fitted=ChainFit.from_dict({**data, "later": None})
    )
    assert diagnose(without).test(HALVES) is None


# -- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("chain", [MarkovChain([[0.5, 0.5], [0.5, 0.5]]), Independent(), None, 3])
def test_only_fitted_chains_can_be_diagnosed(chain):
    with pytest.raises(ModelError, match=r"made by MarkovChain\.fit"):
        diagnose(chain)


def test_other_data_than_those_of_the_fit(tmp_path):
    series = walk(KERNEL, (3, 50), 1)
    rows = [(p, t, int(s)) for p, sequence in enumerate(series) for t, s in enumerate(sequence)]
    path = write_csv(tmp_path / "r.csv", ["who", "t", "s"], rows)
    other = write_csv(tmp_path / "o.csv", ["who", "t", "s"], rows[:-1])
    named = write_csv(tmp_path / "n.csv", ["who", "t", "s"], [(p, t, s + 7) for p, t, s in rows])
    chain = MarkovChain.fit(path, state="s", order_by="t", group="who")
    with pytest.raises(DataError, match="fitted on a table"):
        diagnose(chain, series)
    with pytest.raises(DataError, match="fitted on sequences"):
        diagnose(MarkovChain.fit(series), path)
    with pytest.raises(DataError, match=r"not the data of the fit: state \d is left"):
        diagnose(chain, other)
    with pytest.raises(DataError, match="not the data of the fit: they hold other states"):
        diagnose(chain, named)
    with pytest.raises(DataError, match="does not exist"):
        diagnose(chain, tmp_path / "none.csv")


# -- the command -------------------------------------------------------------------------------


def test_the_command_prints_and_draws(tmp_path):
    rows = [(p, t, int(s)) for p in range(3) for t, s in enumerate(walk_twice(900, p))]
    path = write_csv(tmp_path / "r.csv", ["who", "t", "s"], rows)
    options = ["--state", "s", "--order", "t", "--group", "who", "--markov-order", "1"]
    pictures = [tmp_path / "order.svg", tmp_path / "order.png"]
    for picture in pictures:
        done = CliRunner().invoke(app, ["fit", str(path), *options, "--picture", str(picture)])
        assert done.exit_code == 0, done.output
        said = " ".join(done.stdout.split())
        for text in ("Does the chain fit?", ORDER, "warning: a chain of order 1 is rejected"):
            assert text in said
    assert pictures[0].read_text().count("after 1") == 2
    assert pictures[1].read_bytes().startswith(b"\x89PNG")
    done = CliRunner().invoke(app, ["fit", str(path), *options, "--picture", str(tmp_path / "o.x")])
    assert done.exit_code == 2
    done = CliRunner().invoke(app, ["fit", str(path), *options, "--json"])
    assert json.loads(done.stdout)["model"] == "markov"


# -- real data ---------------------------------------------------------------------------------


@needs_data
def test_activity_is_not_first_order():
    path = Path(str(DATA)) / "activity.csv"
    chain = MarkovChain.fit(path, state="steps > 0", order_by=["date", "interval"])
    found = diagnose(chain)
    test = made(found, ORDER)
    expected, degrees, _ = by_scipy(list(chain_fit(chain).triple_counts.transpose(1, 0, 2)))
    assert (test.statistic, test.degrees) == (pytest.approx(expected), degrees)
    assert test.log10_p is not None
    assert test.log10_p < -100
    assert made(found, HALVES).rejected


@needs_data
def test_human_activity_has_few_changes_to_judge():
    path = Path(str(DATA)) / "har_activity_labels.csv"
    chain = MarkovChain.fit(path, state="activity", group="subject")
    found = diagnose(chain, path)
    order = made(found, ORDER)
    assert order.p_value < 0.01
    assert not order.rejected  # it is one of two tests
    assert made(found, GROUPS).p_value is None
    assert "6 to 4 (1)" in " ".join(found.warnings)
