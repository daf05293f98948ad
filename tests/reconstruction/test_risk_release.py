"""What ``risk`` says of a release: its own states, by their law under its model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds import exact
from corrdp.calibration.searching import in_digits, percent
from corrdp.reconstruction.effective import records_of
from corrdp.release.laws import RecordLaw, record_law
from corrdp.report.words import public_release
from tests.helpers.commands import done, write_series

FROZEN = Path(__file__).parents[1] / "fixtures" / "v0.1.0"
WINDOW = cdp.WindowChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]], 2, 4)
TREE = cdp.MarkovTree([None, 0, 0, 1, None], [[0.8, 0.2], [0.3, 0.7]], root_law=[0.4, 0.6])
TABLE = cdp.JointTable({("a", "b"): 0.5, ("b", "b"): 0.3, ("b", "a"): 0.2})
VARYING = cdp.MarkovChain([[[0.7, 0.3], [0.2, 0.8]], [[0.1, 0.9], [0.4, 0.6]]], initial=[0.9, 0.1])


@pytest.fixture
def release() -> cdp.Release:
    chain = cdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], 6, states=("rest", "walk"))
    return cdp.calibrate(chain, 1.0, query=cdp.Count("walk")).release(["rest", "walk"] * 3)


@pytest.mark.parametrize("model", [WINDOW, TREE, TABLE, VARYING], ids=lambda m: m.kind)
def test_laws_of_records_are_those_of_the_joint_law(model):
    written = records_of(model)
    joint = [np.bincount(x, written.weights, len(written.states)) for x in written.rows.T]
    found = np.broadcast_to(model.record_laws, np.shape(joint))
    assert found == pytest.approx(np.array(joint), abs=1e-12)


def test_laws_of_relatives_who_have_children_together():
    people = {"dad": None, "mum": None, "son": ("dad", "mum"), "girl": ("dad", "mum"),
              "child": ("son", "girl"), "guest": None}  # fmt: skip
    model = cdp.Pedigree(people, founders=cdp.pedigrees.HardyWeinberg(0.3))
    for family, members in enumerate(model.families):
        table = model.joint(family)
        for place, record in enumerate(sorted(members.records)):
            for k, genotype in enumerate(model.states):
                found = sum(p for x, p in table.law.items() if x[place] == genotype)
                assert model.record_laws[record, k] == pytest.approx(found, abs=1e-12)
    inbred, outbred = model.record_laws[4], model.record_laws[0]
    assert inbred[0] > outbred[0] + 0.01  # parents' laws alone would not tell


def test_where_laws_differ_the_hardest_to_guess_is_told():
    assert VARYING.record_laws.max(axis=1).argmin() == 1
    assert record_law(VARYING).record == 1
    told = cdp.risk(cdp.calibrate(VARYING, 1.0, query=cdp.Count(1)))
    assert told.rows[0].name == "record 1, 0 or 1"
    assert any("record 1 (counted from 0)" in text for text in told.assumptions)
    # of the other records a release at this level says less
    gains = [
        row.success - row.without
        for law in VARYING.record_laws
        for row in cdp.risk(1.0, {"value": cdp.Threat(law)}).rows
    ]
    assert max(gains) == gains[1]
    assert told.rows[0].success - told.rows[0].without == pytest.approx(gains[1], rel=1e-6)


def outputs_given(chain: cdp.MarkovChain, calibration: cdp.Calibration, record: int) -> np.ndarray:
    """Pr[answer | record is in state], by enumeration; answers a good way beyond what can be."""
    table, query = exact.table_of(chain), calibration.query
    decay = np.exp(-1.0 / calibration.scale)
    answers = np.arange(-3, chain.length + 4)
    law = np.zeros((len(chain.states), len(answers)))
    for values, p in table.law.items():
        noise = (1 - decay) / (1 + decay) * decay ** np.abs(answers - values.count(query.state))
        law[chain.states.index(values[record])] += p * noise
    return law / law.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(8))
def test_no_posterior_passes_what_is_told(seed):
    rng = np.random.default_rng(seed)
    s, n = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    states = ("rest", "walk", "run")[:s]
    chain = cdp.MarkovChain(rng.dirichlet(np.full(s, 0.7), s), n, states=states)
    target, method = float(rng.choice([0.3, 1.0, 3.0])), ("best", "exact")[seed % 2]
    calibration = cdp.calibrate(chain, target, query=cdp.Count("walk"), method=method)
    told = cdp.risk(calibration.release(list(states[:2] * n)[:n]))
    before = np.array([b.before for b in told.beliefs])
    assert before == pytest.approx(chain.stationary)
    for record in range(n):
        joint = before[:, None] * outputs_given(chain, calibration, record)
        after = joint / joint.sum(axis=0)
        for belief, seen in zip(told.beliefs, after, strict=True):
            assert belief.least <= seen.min() * (1 + 1e-9)
            assert seen.max() <= belief.most * (1 + 1e-9)
            assert 100 * seen.max() <= float(percent(belief.most, up=True)[:-2]) + 1e-7
        assert joint.max(axis=0).sum() <= told.rows[0].success * (1 + 1e-9)


def test_what_is_told_is_attained_by_a_response():
    """A record alone, reported by randomized response at the level."""
    chain = cdp.MarkovChain([[0.7, 0.3], [0.7, 0.3]], 1)
    told = cdp.risk(cdp.calibrate(chain, 1.0, query=cdp.Count(1)))
    joint = chain.stationary[:, None] * cdp.local.BinaryResponse.for_epsilon(1.0).channel()
    after = joint / joint.sum(axis=0)
    assert [b.most for b in told.beliefs] == pytest.approx(after.max(axis=1), rel=1e-6)
    assert [b.least for b in told.beliefs] == pytest.approx(after.min(axis=1), rel=1e-6)
    assert told.rows[0].success == pytest.approx(joint.max(axis=0).sum(), rel=1e-6)


def test_unlikely_states_keep_their_odds():
    law = RecordLaw((0, 1), (1.0, 1e-20))
    proof = cdp.Certificate("independent", "DP")
    release = cdp.Release(1, 50.0, 50.0, 50.0, proof, "", cdp.Count(1).to_dict(), 1.0, 1.0, (), "",
                          "", law=law)  # fmt: skip
    likely, unlikely = cdp.risk(release).beliefs
    assert unlikely.most == pytest.approx(1 / (1 + np.exp(-50) * 1e20))
    assert likely.least == pytest.approx(1 - unlikely.most)


def test_a_certain_record_gives_nothing_away():
    chain = cdp.MarkovChain([[1, 0], [0.5, 0.5]], 3)
    told = cdp.risk(cdp.calibrate(chain, 1.0, query=cdp.Count(1)))
    assert (told.rows[0].without, told.rows[0].success) == (1.0, 1.0)
    assert [(b.least, b.most) for b in told.beliefs] == [(1.0, 1.0), (0.0, 0.0)]


def test_a_release_carries_the_law_and_its_public_form_does_not(release):
    law = RecordLaw(("rest", "walk"), (0.75, 0.25))
    assert release.law.probabilities == pytest.approx(law.probabilities)
    again = cdp.Release.from_dict(json.loads(json.dumps(release.to_dict())))
    assert again.law == release.law
    assert cdp.risk(again).to_dict() == cdp.risk(release).to_dict()
    read = cdp.Risk.from_dict(json.loads(json.dumps(cdp.risk(again).to_dict())))
    assert read.beliefs == cdp.risk(release).beliefs
    given = cdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], 6, states=("rest", "walk"))
    assert "law" not in public_release(release, given).to_dict()
    edited = release.to_dict() | {"law": law.to_dict() | {"states": ["rest"]}}
    with pytest.raises(cdp.errors.InputError, match="2 numbers, 1 states"):
        cdp.Release.from_dict(edited)


@pytest.mark.parametrize("public", [False, True])
def test_only_a_model_of_public_data_is_handed_out(public):
    data = cdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], 400).sample(np.random.default_rng(1)).tolist()
    chain = cdp.MarkovChain.fit(data, public=public)
    made = cdp.calibrate(chain, 1.0, query=cdp.Count(1), coarse=True).release(data)
    assert made.law is not None
    assert (public_release(made, chain).law is not None) == public


def test_richer_models_are_counted_in():
    data = cdp.MarkovChain([[0.9, 0.1], [0.3, 0.7]], 400).sample(np.random.default_rng(1)).tolist()
    made = cdp.calibrate(cdp.MarkovChain.fit(data), 1.0, query=cdp.Count(1)).release(data)
    assert made.leakage < 0.97  # a richer model sets the noise
    assert cdp.risk(made).guarantee.largest == made.worst_leakage == pytest.approx(1.0)
    assert "richer" in cdp.risk(made).assumptions[0]
    assert any("keep them in one ledger" in text for text in cdp.risk(made).assumptions)


@pytest.mark.parametrize("name", ["release.json", "release-histogram.json"])
def test_older_files_say_that_they_do_not_carry_it(name):
    data = json.loads((FROZEN / name).read_text())
    read = cdp.Release.from_dict(data)
    assert read.law is None
    assert "law" not in read.to_dict()
    told = cdp.risk(read)
    assert [row.name for row in told.rows] == ["a yes/no attribute", "one of 10 values"]
    assert not told.beliefs
    assert "version 0.1.0" in told.assumptions[-1]


def test_states_that_json_cannot_hold_are_written_as_text():
    from decimal import Decimal

    table = cdp.JointTable({(Decimal("1.5"),): 0.5, (Decimal(2),): 0.5})
    assert json.loads(json.dumps(record_law(table).to_dict()))["states"] == ["1.5", "2"]


def test_command(tmp_path):
    steps = cdp.MarkovChain([[0.88, 0.12], [0.3, 0.7]], 200).sample(np.random.default_rng(5)) * 40
    write_series(tmp_path / "steps.csv", steps.tolist())
    model = cdp.MarkovChain.fit(
        tmp_path / "steps.csv", state="steps > 0", order_by=("date", "interval")
    )
    calibration = cdp.calibrate(model, 1.0, query=cdp.Count(True), confidence=None)
    made, handed = tmp_path / "release.json", tmp_path / "public.json"
    release = calibration.release(tmp_path / "steps.csv")
    made.write_text(json.dumps(release.to_dict()))
    handed.write_text(json.dumps(release.to_dict() | {"law": None}))
    law = model.stationary
    told = json.loads(done("risk", made, "--json").stdout)
    assert [b["before"] for b in told["beliefs"]] == pytest.approx(law)
    shown = " ".join(done("risk", made).output.split())
    assert "under leakage level 1 steps > 0, False or True: right at most" in shown
    assert "under epsilon 1" in done("risk", "--epsilon", 1).output
    assert "membership" not in shown
    for belief in told["beliefs"]:
        assert percent(belief["most"], up=True) in shown
        assert str(belief["most"]) not in shown
    other = " ".join(done("risk", made, "--prior", "0.5,0.5").output.split())
    assert "a value by its prior" in other
    assert "membership" not in other
    said = " ".join(done("risk", handed, "--verbose").output.split())
    assert "guesses start from even odds" in said


def test_numbers_for_people_are_rounded_to_the_safe_side():
    for share in np.random.default_rng(0).random(200) ** 3:
        for p in (share, 1.0 - share):
            assert float(percent(p, up=True)[:-2]) >= 100 * p * (1 - 1e-8)
            assert float(percent(p, up=False)[:-2]) <= 100 * p * (1 + 1e-8)
            assert p <= float(in_digits(p)) <= p * 1.002
    assert percent(0.7 * (1 + 1e-12), up=True) == "70.0 %"
    assert (percent(0.0, up=True), percent(1.0, up=False)) == ("0.0 %", "100.0 %")
