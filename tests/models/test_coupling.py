"""Sequences that are called independent: seen together, told, and refused."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from corrdp import Count, MarkovChain, Series, calibrate, load_model
from corrdp.cli.commands import app
from corrdp.errors import ModelError, RefusedError
from corrdp.models.chains.coupling import Coupling, observe_coupling
from corrdp.tables.sequences import PairCounts
from corrdp.tables.source import open_table
from corrdp.tables.windows import pair_counter
from tests.helpers.tabular import write_csv


def walks(rng: np.random.Generator, kernel: Any, number: int, length: int) -> np.ndarray:
    """Independent chains, all at once: shape (number, length)."""
    edges = np.cumsum(np.asarray(kernel, dtype=float), axis=1)
    found = np.zeros((number, length), dtype=np.int64)
    found[:, 0] = rng.integers(0, len(edges), number)
    for t in range(1, length):
        found[:, t] = (rng.random((number, 1)) > edges[found[:, t - 1]]).sum(axis=1)
    return found


def paired(x: np.ndarray, y: np.ndarray) -> Coupling:
    """What a fit would see of two sequences."""
    base = int(max(x.max(), y.max())) + 1

    def count(moved: int) -> PairCounts:
        shift = moved * len(x) // 25
        a, b = (x[shift:], y[: len(y) - shift]) if moved % 2 else (x[: len(x) - shift], y[shift:])
        steps = ((a[:-1] * base + a[1:]) * base + b[:-1]) * base + b[1:]
        cells, times = np.unique(steps, return_counts=True)
        rows = np.column_stack([*np.unravel_index(cells, (base,) * 4), times])
        return PairCounts(2, tuple(range(base)), {("x", "y"): rows})

    return observe_coupling(count)


AS_FITTED: dict[str, Any] = {"confidence": None, "robust": False}
STICKY = [[0.97, 0.03], [0.05, 0.95]]
THREE = [[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.02, 0.08, 0.9]]
MANY = 0.9 * np.eye(12) + 0.1 / 12
SECOND = [[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.1, 0.9]]


@pytest.mark.parametrize(
    ("kernel", "length"), [(STICKY, 400), (STICKY, 2000), (THREE, 1000), (MANY, 500)]
)
def test_independent_sticky_chains_are_seldom_accused(kernel, length):
    """A test of states at the same time would accuse most of them: its level is .01."""
    found = walks(np.random.default_rng(11), kernel, 200, length)
    verdicts = [paired(x, y) for x, y in zip(found[::2], found[1::2], strict=True)]
    assert sum(v.seen for v in verdicts) <= 5  # Pr[more than 5 of 100 at level .01] = 6e-4
    assert np.mean([v.pairs for v in verdicts]) > 0.5  # and they were tested


def test_independent_chains_that_remember_more_are_seldom_accused():
    rng = np.random.default_rng(12)
    found = np.zeros((200, 1500), dtype=np.int64)
    for t in range(2, 1500):
        after = np.asarray(SECOND)[2 * found[:, t - 2] + found[:, t - 1], 0]
        found[:, t] = rng.random(200) > after
    verdicts = [paired(x, y) for x, y in zip(found[::2], found[1::2], strict=True)]
    assert sum(v.seen for v in verdicts) <= 5


def test_chains_that_hang_together_are_seen():
    rng = np.random.default_rng(13)
    common = walks(rng, STICKY, 1, 3000)[0]
    x, y = (np.where(rng.random(3000) < 0.9, common, 1 - common) for _ in range(2))
    found = paired(x, y)
    assert found.seen
    assert found.effect == pytest.approx(abs(np.corrcoef(x, y)[0, 1]), abs=0.01)
    # one follows the other, and nothing happens at the same time
    later = paired(common[1:], common[:-1])
    assert later.seen
    # three states
    common = walks(rng, THREE, 1, 3000)[0]
    x, y = (np.where(rng.random(3000) < 0.8, common, rng.integers(0, 3, 3000)) for _ in range(2))
    assert paired(x, y).seen


def rain(tmp_path: Path, rng: np.random.Generator, coupled: bool = True) -> Path:
    """Three sites by the hour, with correlations of about .7 or none."""
    hours = 1500
    common = walks(rng, [[0.98, 0.02], [0.2, 0.8]], 4, hours)
    sites = [common[0] if coupled else common[k + 1] for k in range(3)]
    sites = [np.where(rng.random(hours) < 0.03, rng.integers(0, 2, hours), s) for s in sites]
    start = datetime(2013, 1, 1)
    rows = [
        (name, f"{start + timedelta(hours=t):%m/%d/%Y %I:%M %p}", int(site[t]))
        for name, site in zip(("EWR", "JFK", "LGA"), sites, strict=True)
        for t in range(hours)
        if (t + len(name)) % 97
    ]
    return write_csv(tmp_path / "rain.csv", ["origin", "t", "wet"], rows)


def test_a_release_from_groups_that_hang_together_is_refused(tmp_path):
    path = rain(tmp_path, np.random.default_rng(14))
    options: dict[str, Any] = {"state": "wet = 1", "order_by": "t", "group": "origin"}
    chain = MarkovChain.fit(path, **options)
    coupling = chain.fitted.coupling
    assert coupling.seen
    assert (coupling.groups, coupling.pairs) == (3, 3)
    assert 0.6 < coupling.effect < 0.9
    assert "hang together: correlation 0." in chain.fitted.assumptions[0]
    chain.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.fitted.coupling == coupling
    number = calibrate(again, target=1.0, query=Count(True))
    series = calibrate(again, target=1.0, query=Series())
    for calibration in (number, series):
        with pytest.raises(RefusedError, match=r"hang together.* does not make them independent"):
            calibration.release(path)
    accepted = MarkovChain.fit(path, **options, independent_groups="the weather is public")
    assert "by the word of who fitted them: 'the weather is public'" in accepted.assumptions[2]
    calibrate(accepted, target=1.0, query=Count(True)).release(path)
    with pytest.raises(ModelError, match="independent_groups must be a reason"):
        MarkovChain.fit(path, **options, independent_groups="")


def test_one_site_is_held_against_those_that_were_left_out(tmp_path):
    """Fitting a part by itself does not make it independent of the rest."""
    path = rain(tmp_path, np.random.default_rng(14))
    one: dict[str, Any] = {"state": "wet = 1", "order_by": "t", "where": "origin = 'EWR'"}
    chain = MarkovChain.fit(path, **one)
    assert (chain.fitted.sequences, chain.fitted.coupling) == (1, None)
    beside = chain.fitted.beside
    assert beside.seen
    assert (beside.groups, beside.pairs) == (3, 2)  # of the two others nothing is asked
    assert "EWR" in (beside.first, beside.second)
    assert "although EWR and " in chain.fitted.assumptions[0]
    chain.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.fitted.beside == beside
    for query in (Count(True), Series()):
        with pytest.raises(RefusedError, match=r"leaves out rows at the same times.*hang together"):
            calibrate(again, epsilon=0.1, query=query, **AS_FITTED).release(path)
    accepted = MarkovChain.fit(path, **one, independent_groups="the weather is public")
    assert "'the weather is public', although" in accepted.fitted.assumptions[0]
    calibrate(accepted, epsilon=0.1, query=Count(True), **AS_FITTED).release(path)
    # two of three: they hang together, and with the third
    two = {**one, "where": "origin <> 'EWR'", "group": "origin"}
    fit = MarkovChain.fit(path, **two).fitted
    assert (fit.coupling.pairs, fit.beside.pairs) == (1, 2)
    assert fit.coupling.seen
    assert fit.beside.seen


def test_rows_left_out_that_say_nothing(tmp_path):
    rng = np.random.default_rng(15)
    path = rain(tmp_path, rng, coupled=False)
    one: dict[str, Any] = {"state": "wet = 1", "order_by": "t", "where": "origin = 'EWR'"}
    chain = MarkovChain.fit(path, **one)
    assert chain.fitted.beside.pairs == 2
    assert not chain.fitted.beside.seen
    assert "no two sequences are seen to hang together" in chain.fitted.assumptions[0]
    calibrate(chain, epsilon=0.1, query=Count(True), **AS_FITTED).release(path)
    # two columns tell the sequences apart, and one of them is the group
    rows = [
        (site, room, t, int(x))
        for (site, room), walk in zip(
            ((a, b) for a in "AB" for b in "xy"), walks(rng, STICKY, 4, 400), strict=True
        )
        for t, x in enumerate(walk)
    ]
    rooms = write_csv(tmp_path / "rooms.csv", ["site", "room", "t", "s"], rows)
    asked: dict[str, Any] = {"state": "s", "order_by": "t"}
    fit = MarkovChain.fit(rooms, **asked, group="room", where="site = 'A'").fitted
    assert (fit.beside.groups, fit.beside.pairs) == (4, 4)
    # nothing but times, states or flags of rows decides: there is nothing to hold against it
    flagged = [(t, x, int(t % 10 != 4)) for _, room, t, x in rows[:400] if room == "x"]
    flags = write_csv(tmp_path / "flags.csv", ["t", "s", "ok"], flagged)
    for where, pairs in (("t >= 50", None), ("s >= 0", None), ("ok = 1", 0)):
        beside = MarkovChain.fit(flags, **asked, where=where).fitted.beside
        assert (None if beside is None else beside.pairs) == pairs
    # what was left out cannot be put in order
    tangled = write_csv(
        tmp_path / "tangled.csv",
        ["site", "room", "t", "s"],
        [r for r in rows if r[0] + r[1] != "Ay"],
    )
    fit = MarkovChain.fit(tangled, **asked, where="site = 'A'").fitted
    assert fit.beside is None
    assert "this was not tested" in fit.assumptions[0]
    private = MarkovChain.fit(path, **one, private_epsilon=1.0)
    assert private.fitted.beside is None


def test_a_few_of_many_are_held_against_others_at_the_same_times(tmp_path):
    rng = np.random.default_rng(18)
    rows = [
        (k, t + 1000 * (k // 30), int(s))
        for k, row in enumerate(walks(rng, STICKY, 60, 120))
        for t, s in enumerate(row)
    ]
    table = open_table(write_csv(tmp_path / "t.csv", ["who", "t", "s"], rows))
    count = pair_counter(table, "s", ["t"], "who", kept=[3])
    assert count is not None
    assert len(count(0).cells) == 19
    assert all(3 in pair and max(pair) < 30 for pair in count(0).cells)
    count = pair_counter(table, "s", ["t"], "who", kept=list(range(25, 35)))
    assert count is not None
    assert len(count(0).cells) == 5 * 15
    assert len({k // 30 for pair in count(0).cells for k in pair}) == 1


def test_a_frame_is_tested_as_a_file(tmp_path):
    path = rain(tmp_path, np.random.default_rng(14))
    options: dict[str, Any] = {"state": "wet = 1", "order_by": "t", "group": "origin"}
    table = open_table(path)
    frame = table.collect(table.records)
    chain = MarkovChain.fit(frame, **options)
    assert chain.fitted.coupling == MarkovChain.fit(path, **options).fitted.coupling
    with pytest.raises(RefusedError, match="hang together"):
        calibrate(chain, target=1.0, query=Count(True)).release(frame)


def test_what_cannot_be_tested_is_said(tmp_path):
    """Equal numbers of rows are no equal times: copies of one sequence pass, with a word."""
    walk = walks(np.random.default_rng(16), STICKY, 1, 300)[0]
    path = write_csv(tmp_path / "two.csv", ["who", "s"], [(w, x) for w in "ab" for x in walk])
    untimed = MarkovChain.fit(path, state="s", group="who")
    private = MarkovChain.fit([walk, walk], private_epsilon=1.0, states=[0, 1])
    for chain, why in (
        (MarkovChain.fit([walk, walk]), "without times"),
        (MarkovChain.fit(np.array([walk, walk])), "without times"),
        (untimed, "without times"),
        (private, "a private fit does not look"),
    ):
        assert chain.fitted.coupling is None
        said = f"2 sequences are independent chains with one kernel, and this was not tested: {why}"
        assert said in " ".join(chain.assumptions)
        assert said in " ".join(
            calibrate(chain, epsilon=1.0, query=Count(1), **AS_FITTED).assumptions
        )
    assert "independent chains" not in " ".join(MarkovChain.fit(walk).assumptions)
    told = CliRunner().invoke(app, ["fit", str(path), "--state", "s", "--group", "who"])
    assert "this was not tested" in " ".join(told.output.split())


def test_independent_groups_pass(tmp_path):
    path = rain(tmp_path, np.random.default_rng(15), coupled=False)
    chain = MarkovChain.fit(path, state="wet = 1", order_by="t", group="origin")
    assert not chain.fitted.coupling.seen
    assert "no two sequences are seen to hang together" in " ".join(chain.assumptions)
    calibrate(chain, target=1.0, query=Count(True)).release(path)
    private = MarkovChain.fit(
        path, state="wet = 1", order_by="t", group="origin", private_epsilon=1.0
    )
    assert private.fitted.coupling is None


def test_many_groups_are_sampled_among_those_that_share_times(tmp_path):
    rng = np.random.default_rng(16)
    found = walks(rng, STICKY, 60, 120)
    rows = [
        (k, t + 1000 * (k // 30), int(s)) for k, row in enumerate(found) for t, s in enumerate(row)
    ]
    table = open_table(write_csv(tmp_path / "t.csv", ["who", "t", "s"], rows))
    count = pair_counter(table, "s", ["t"], "who")
    assert count is not None
    pairs = count(0)
    assert (pairs.groups, len(pairs.cells)) == (60, 190)
    assert len({k // 30 for pair in pairs.cells for k in pair}) == 1
    assert len(count(1).cells) > 100  # moved, most still meet
    cells = pairs.cells[next(iter(pairs.cells))]
    assert cells[:, 4].sum() == 119
    assert pair_counter(table, "s", (), "who") is None


def test_groups_without_common_times(tmp_path):
    rows = [(k, t + 100 * k, int(t % 3 == 0)) for k in range(3) for t in range(50)]
    path = write_csv(tmp_path / "t.csv", ["who", "t", "s"], rows)
    fit = MarkovChain.fit(path, state="s", order_by="t", group="who").fitted
    assert (fit.coupling.pairs, fit.coupling.seen) == (0, False)
    assert fit.assumptions[0] == (
        "the 3 sequences are independent chains with one kernel, and no two of the 3 sequences "
        "could be compared at the same times"
    )
