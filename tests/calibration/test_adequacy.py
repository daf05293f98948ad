"""A promise from a fit: kept under richer models and at confidence .95, or refused in words."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import corrdp as cdp
from corrdp.calibration.adequacy import Adequacy, Priced
from corrdp.calibration.alternatives import MIN_SEEN, alternatives
from corrdp.calibration.robustness import CONFIDENCE
from corrdp.cli.commands import app
from corrdp.errors import InfeasibleError, InputError, NotApplicableError, RefusedError
from corrdp.models.files import model_from_dict
from corrdp.report.page import render_report
from corrdp.report.words import public_release
from tests.helpers.chains import COUNT, second_order
from tests.helpers.chances import usual_noise
from tests.helpers.walks import KERNEL, walk, walk_twice

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
ALONE = {"robust": False, "confidence": None}


@pytest.fixture(scope="module")
def chain() -> cdp.MarkovChain:
    return cdp.MarkovChain.fit(walk_twice(3_000, 1))


@pytest.fixture(scope="module")
def calibration(chain: cdp.MarkovChain) -> cdp.Calibration:
    return cdp.calibrate(chain, 1.0, query=COUNT)


@pytest.fixture(scope="module")
def wide() -> cdp.MarkovChain:
    """Thirteen states: the next order has 169 rows, all seen often, too many to price."""
    return cdp.MarkovChain.fit(np.random.default_rng(5).integers(0, 13, 8_000))


# -- richer models ------------------------------------------------------------------------------


@needs_data
def test_activity_costs_what_order_two_costs():
    """The fitted chain alone allows four times plain DP, and the data reject it (p < 1e-107)."""
    path = Path(str(DATA)) / "activity.csv"
    chain = cdp.MarkovChain.fit(path, state="steps > 0", order_by=["date", "interval"])
    count = cdp.Count(True)
    alone = cdp.calibrate(chain, 1.0, query=count, **ALONE)
    assert alone.epsilon == pytest.approx(0.249773320, rel=1e-8)
    assert "not considered (robust=False)" in " ".join(alone.assumptions)
    found = cdp.calibrate(chain, 1.0, query=count, confidence=None)
    second = cdp.calibrate(chain.with_order(2), 1.0, query=count, **ALONE)
    assert found.epsilon == pytest.approx(second.epsilon, rel=1e-6)
    assert found.scale == pytest.approx(5.675, abs=0.01)
    order, hours, halves = found.adequacy.alternatives
    assert (order.name, order.p, order.rejected) == ("order 2", "p < 1e-107", True)
    assert order.leakage == pytest.approx(1.399, abs=0.01)
    assert halves.epsilon == pytest.approx(0.21958, rel=1e-3)
    assert (hours.name, hours.p) == ("a kernel for each hour", "p < 1e-217")
    assert (hours.pooled, hours.rows) == (17, 24)
    assert hours.epsilon > 0.25  # by its fitted numbers: the clock is no threat here
    assert found.adequacy.against
    sure = cdp.calibrate(chain, 1.0, query=count)
    assert sure.confidence == CONFIDENCE
    assert sure.epsilon < found.epsilon
    # at the limit of what it leaks: over its region order 2 would cost 6.50, the hours 6.58
    order, hours, halves = sure.adequacy.alternatives
    assert sure.scale == order.scale == pytest.approx(6.134, abs=0.01)
    assert hours.scale == pytest.approx(4.182, abs=0.01)


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5))]
)
def test_the_target_is_kept_under_every_alternative(seed):
    rng = np.random.default_rng(seed)
    path = second_order(rng.uniform(0.1, 0.9, (2, 2)), 2_000, seed)
    fit = cdp.MarkovChain.fit(path, order=1 + seed % 2)
    for confidence in (None, 0.9):
        found = cdp.calibrate(fit, 1.0, query=COUNT, confidence=confidence)
        assert found.epsilon <= found.adequacy.epsilon
        priced = {a.name: a for a in found.adequacy.alternatives}
        for other in alternatives(fit):
            for model in other.models:
                assert cdp.leakage(model, found.epsilon).value <= 1.0 + 1e-9
            assert found.epsilon <= priced[other.name].epsilon


def test_the_truth_behind_a_rejected_order_is_kept():
    """Exact leakage of a short second-order chain, which the first-order fit alone understates."""
    table = np.array([[0.05, 0.75], [0.25, 0.95]])
    fit = cdp.MarkovChain.fit(second_order(table, 9_000, 1))
    rows = [[1 - table[x, y], table[x, y]] for x in (0, 1) for y in (0, 1)]
    true = cdp.WindowChain(rows, 2, 6)
    robust = cdp.calibrate(fit, 1.0, query=COUNT)
    assert cdp.leakage(true, robust.epsilon, query=COUNT, method="exact").value <= 1.0
    assert robust.adequacy.against


def test_a_kernel_that_changes_is_priced_by_its_worse_half():
    sticky = np.array([[0.95, 0.05], [0.05, 0.95]])
    loose = np.array([[0.6, 0.4], [0.4, 0.6]])
    parts = [walk(kernel, (1, 4_000), 3)[0] for kernel in (loose, sticky)]
    fit = cdp.MarkovChain.fit(np.concatenate(parts))
    found = cdp.calibrate(fit, 1.0, query=COUNT, confidence=None)
    half = cdp.MarkovChain.fit(parts[1])
    own = cdp.calibrate(half, 1.0, query=COUNT, **ALONE).epsilon
    priced = {a.name: a for a in found.adequacy.alternatives}
    assert priced["a kernel for each half"].epsilon == pytest.approx(own, rel=0.02)
    assert found.epsilon <= own * 1.02


def test_the_records_beside_a_change_are_kept_too():
    """They see both kernels: randomized response leaks 14 % more there than under either alone."""
    first, second = np.array([[0.56, 0.44], [0.34, 0.66]]), np.array([[0.01, 0.99], [0.14, 0.86]])
    parts = [walk(kernel, (1, 6_000), 4)[0] for kernel in (first, second)]
    fit = cdp.MarkovChain.fit(np.concatenate(parts))
    (halves,) = (other for other in alternatives(fit) if "half" in other.name)
    (model,) = halves.models
    kernels = [part.transition for part in model.parts]
    start = model.parts[0].stationary
    changing = cdp.MarkovChain([kernels[0]] * 9 + [kernels[1]] * 9, initial=start)
    found = cdp.calibrate(fit, 1.0, query=COUNT, confidence=None)
    epsilon = {a.name: a for a in found.adequacy.alternatives}[halves.name].epsilon
    assert cdp.leakage(changing, epsilon).value <= 1.0
    level = 1.1 * min(
        cdp.calibrate(part, 1.0, query=COUNT, **ALONE).epsilon for part in model.parts
    )
    both = max(cdp.leakage(part, level).value for part in model.parts)
    truth = cdp.leakage(changing, level)
    assert truth.kind == "exact"
    assert 1.05 * both < truth.value <= cdp.leakage(model, level).value


def test_more_groups_than_are_kept_are_counted_in_words():
    fit = cdp.MarkovChain.fit(walk(KERNEL, (120, 60), 1))
    (groups,) = (other for other in alternatives(fit) if "sequence" in other.name)
    assert "the 100 largest of 120; the other 20 have no price" in groups.name


def test_a_sticky_group_is_priced(tmp_path):
    sticky = np.array([[0.97, 0.03], [0.03, 0.97]])
    loose = np.array([[0.6, 0.4], [0.4, 0.6]])
    series = [*walk(loose, (6, 900), 1), *walk(sticky, (1, 900), 2)]
    fit = cdp.MarkovChain.fit(series)
    (groups,) = (a for a in alternatives(fit) if "sequence" in a.name)
    assert len(groups.models) == 7
    assert groups.test.rejected
    found = cdp.calibrate(fit, 1.0, query=COUNT, confidence=None)
    alone = cdp.calibrate(fit, 1.0, query=COUNT, **ALONE)
    own = cdp.calibrate(cdp.MarkovChain.fit(series[-1]), 1.0, query=COUNT, **ALONE)
    priced = {a.name: a for a in found.adequacy.alternatives}["a kernel for each sequence"]
    assert priced.epsilon == pytest.approx(own.epsilon, rel=0.05)
    assert alone.epsilon > 1.5 * found.epsilon
    rows = [(k, t, int(s)) for k, part in enumerate(series) for t, s in enumerate(part)]
    path = tmp_path / "r.csv"
    path.write_text("who,t,s\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    table = cdp.MarkovChain.fit(path, state="s", order_by="t", group="who")
    np.testing.assert_array_equal(
        table.fitted.group_counts(1).sum(axis=0), fit.fitted.group_counts(1).sum(axis=0)
    )
    again = cdp.calibrate(table, 1.0, query=COUNT, confidence=None)
    assert again.epsilon == pytest.approx(found.epsilon, rel=1e-6)


def test_tables_and_sequences_keep_the_same_evidence(tmp_path):
    rng = np.random.default_rng(8)
    series = [[None if rng.random() < 0.05 else int(rng.integers(2)) for _ in range(n)]
              for n in (90, 60, 75)]  # fmt: skip
    rows = [(k, s) for k, part in enumerate(series) for s in part]
    path = tmp_path / "r.csv"
    path.write_text(
        "who,s\n" + "\n".join(f"{k},{'NA' if s is None else s}" for k, s in rows) + "\n"
    )
    for order in (1, 2, 3):
        memory = cdp.MarkovChain.fit(series, order=order).fitted
        table = cdp.MarkovChain.fit(path, state="s", group="who", order=order).fitted
        np.testing.assert_array_equal(memory.groups, table.groups)
        if order > 1:
            np.testing.assert_array_equal(memory.longer, table.longer)
            assert memory.half_counts(order).sum() == memory.longer[:, -2].sum()
        again = type(memory).from_dict(json.loads(json.dumps(memory.to_dict())))
        assert again.to_dict() == memory.to_dict()


def test_rare_rows_are_pooled():
    rng = np.random.default_rng(4)
    path = [int(u < 0.04) for u in rng.random(900)]
    fit = cdp.MarkovChain.fit(path)
    order = alternatives(fit)[0]
    counts = fit.fitted.window_counts(2)
    rare = counts.sum(axis=1) < MIN_SEEN
    assert order.pooled == rare.sum() > 0
    pool = fit.fitted.counts / fit.fitted.counts.sum(axis=1, keepdims=True)
    for window in np.flatnonzero(rare):
        np.testing.assert_allclose(order.models[0].transition[window], pool[window % 2])
    few = cdp.MarkovChain.fit([0, 1, 1, 0, 0, 1, 0] * 2)
    assert alternatives(few) == ()


def test_what_a_row_lacks_by_chance_is_not_impossible():
    fit = cdp.MarkovChain.fit([0, 0, 1, 1] * 60)  # by two records, what comes next is certain
    order = alternatives(fit)[0]
    assert (order.models[0].transition > 0).all()
    found = cdp.calibrate(fit, 1.0, query=COUNT)
    priced = found.adequacy.alternatives[0]
    assert priced.confidence is None  # its region is not finite, and it says so
    assert "by its fitted numbers" in found.adequacy.verdict
    assert priced.epsilon == found.epsilon < 0.1 * found.adequacy.epsilon


def test_close_alternatives_take_one_line():
    close = [Priced(name, 0.24, 4.17, 1.04, rejected=True) for name in ("order 2", "halves")]
    found = Adequacy(0.25, 1.0, (*close, Priced("groups", tested=False, reason="not kept")))
    assert found.lines == (
        "holds under order 2 and halves too, within 5% of the chosen model",
        "groups was not looked at: not kept",
    )
    assert not found.against  # rejected, and the promise hardly feels it
    far = Adequacy(0.25, 1.0, (Priced("order 2", 0.1, 10.0, 2.5, rejected=True),))
    assert far.against


def test_halves_of_a_chain_that_does_not_change_are_close():
    fit = cdp.MarkovChain.fit(walk(np.full((2, 2), 0.5), (1, 20_000), 1)[0])
    found = cdp.calibrate(fit, 1.0, query=COUNT, confidence=None)
    assert found.adequacy.lines[0] == (
        "holds under order 2 and a kernel for each half too, within 5% of the chosen model"
    )
    assert not found.adequacy.against


def test_at_a_chosen_epsilon_the_worst_model_sets_the_target(chain):
    found = cdp.calibrate(chain, epsilon=0.5, query=COUNT)
    worst = max(a.leakage for a in found.adequacy.alternatives)
    assert found.target == worst > found.leakage.value
    assert "leaks" in found.adequacy.verdict


def test_files_without_evidence_say_what_was_not_looked_at(chain):
    data = cdp.MarkovChain.fit([walk_twice(900, 2), walk_twice(900, 3)], order=2).to_dict()
    for key in ("longer", "groups", "digest"):
        data.pop(key, None)
        data["fit"].pop(key, None)
    old = model_from_dict(data | {"written": "by hand"})
    found = cdp.calibrate(old, 1.0, query=COUNT, confidence=None)
    names = {a.name: a for a in found.adequacy.alternatives}
    assert set(names) == {"order 3", "a kernel for each half", "a kernel for each sequence"}
    assert not any(a.tested for a in names.values())
    assert "was not looked at: the fit kept" in found.adequacy.verdict


# -- no price ------------------------------------------------------------------------------------


def test_an_alternative_without_a_price_is_refused_or_accepted(wide, tmp_path):
    with pytest.raises(RefusedError, match=r'under order 2.*169 rows.*accept="reason"'):
        cdp.calibrate(wide, 4.0, query=COUNT, method="contraction", confidence=None)
    with pytest.raises(InputError, match="give a reason"):
        cdp.calibrate(wide, 4.0, query=COUNT, method="contraction", confidence=None, accept=" ")
    found = cdp.calibrate(
        wide, 4.0, query=COUNT, method="contraction", confidence=None, accept="a made-up series"
    )
    assert found.adequacy.accepted == "a made-up series"
    for text in (repr(found), json.dumps(found.to_dict()), render_report(found, wide)):
        assert "accepted by the steward: a made-up series" in text.replace("Accepted", "accepted")
    model = tmp_path / "m.json"
    wide.save(model)
    args = ["calibrate", str(model), "--target", "4", "--query", "count:1", "--confidence", "none"]
    args += ["--method", "contraction"]
    done = CliRunner().invoke(app, args)
    assert done.exit_code == 3
    done = CliRunner().invoke(app, [*args, "--accept-model", "a made-up series"])
    assert done.exit_code == 0, done.output
    assert "accepted by the steward: a made-up series" in " ".join(done.stdout.split())


def test_red_where_the_data_speak_against_the_model(calibration, chain):
    assert calibration.adequacy.against
    assert 'class="against"' in render_report(calibration, chain)
    quiet = cdp.MarkovChain.fit(walk(np.full((2, 2), 0.5), (1, 4_000), 1)[0])
    found = cdp.calibrate(quiet, 1.0, query=COUNT)
    assert not found.adequacy.against
    assert 'class="against"' not in render_report(found, quiet)


# -- confidence ----------------------------------------------------------------------------------


def test_a_promise_from_a_fit_has_confidence_by_default(chain, calibration):
    assert calibration.confidence == CONFIDENCE
    assert calibration.leakage.value <= cdp.leakage(
        chain, calibration.epsilon, confidence=CONFIDENCE
    ).value * (1 + 1e-12)
    explicit = cdp.calibrate(chain, 1.0, query=COUNT, confidence=None)
    assert explicit.confidence is None
    assert explicit.epsilon > calibration.epsilon
    given = cdp.calibrate(cdp.MarkovChain(chain.transition, 100), 1.0, query=COUNT)
    assert (given.confidence, given.adequacy) == (None, None)
    release = calibration.release(walk_twice(3_000, 1))
    assert (release.confidence, release.adequacy) == (CONFIDENCE, calibration.adequacy)
    again = cdp.Release.from_dict(json.loads(json.dumps(release.to_dict())))
    assert again.adequacy == release.adequacy
    assert again.to_dict() == release.to_dict()


def test_what_was_never_seen_is_named_with_three_ways_on():
    fit = cdp.MarkovChain.fit([["a"] * 30 + ["b"] * 30] * 3)
    with pytest.raises(NotApplicableError) as error:
        cdp.calibrate(fit, 1.0, query=cdp.Count("a"))
    said = str(error.value)
    for text in ("'b' -> 'a'", 'zeros="structural"', "merge states", "confidence=None"):
        assert text in said
    assert cdp.calibrate(fit, 1.0, query=cdp.Count("a"), **ALONE).confidence is None
    order = alternatives(fit)[0]  # no stationary chain of order two has what was recorded
    assert order.models == ()
    assert "for ever" in order.reason


def test_methods_for_one_law_ask_for_confidence_none(chain):
    with pytest.raises(NotApplicableError, match=r"zhao is for one law.*confidence=None"):
        cdp.calibrate(chain, 4.0, query=COUNT, method="zhao")
    assert cdp.calibrate(chain, 1.0, query=COUNT, method="transfer", confidence=None).epsilon


# -- private fits, series, public forms ------------------------------------------------------------


def test_a_private_fit_says_that_alternatives_were_not_looked_at():
    with usual_noise():
        fit = cdp.MarkovChain.fit(walk_twice(4_000, 1), private_epsilon=0.2, states=[0, 1])
    found = cdp.calibrate(fit, 4.0, query=COUNT)
    assert found.adequacy.alternatives == ()
    assert "the fit is private, so that richer models" in " ".join(found.assumptions)
    assert alternatives(fit) == ()
    with pytest.raises(InfeasibleError, match=r"private fit .*epsilon 0.2\) alone"):
        cdp.calibrate(fit, 0.1, query=COUNT)


def test_series_are_held_to_the_region_and_to_alternatives(chain):
    alone = cdp.calibrate(chain, 2.0, query=cdp.Series(), **ALONE)
    found = cdp.calibrate(chain, 2.0, query=cdp.Series())
    assert found.distortion > alone.distortion
    assert found.leakage.value <= 2.0
    for other in alternatives(chain):
        for model in other.models:
            assert cdp.leakage(model, mechanism=found.mechanism).value <= 2.0
    region = cdp.leakage(chain, mechanism=found.mechanism, confidence=CONFIDENCE)
    assert region.value <= 2.0
    again = cdp.SeriesCalibration.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    series = found.release(walk_twice(500, 1))
    assert cdp.Sanitized.from_dict(series.to_dict()).adequacy == found.adequacy
    given = cdp.calibrate(chain, epsilon=0.5, query=cdp.Series())
    assert given.target >= max(a.leakage for a in given.adequacy.alternatives)


def rarely_seen(states: int, length: int, home: float = 0.0) -> cdp.MarkovChain:
    """A walk of short steps: of few of its transitions does a region know that they can happen.

    Now and then it goes home to 0, by which the fitted numbers forget soon.
    """
    rng = np.random.default_rng(1)
    path = [0]
    for move, u in zip(rng.integers(-1, 2, length - 1), rng.random(length - 1), strict=True):
        path.append(0 if u < home else int(np.clip(path[-1] + move, 0, states - 1)))
    return cdp.MarkovChain.fit(path)


def test_series_keep_the_target_in_a_region_that_hardly_forgets():
    fit = rarely_seen(10, 1_000, home=0.2)
    found = cdp.calibrate(fit, 2.0, query=cdp.Series(), robust=False)
    region = cdp.leakage(fit, mechanism=found.mechanism, confidence=CONFIDENCE)
    assert region.value == found.leakage.value <= 2.0
    assert "taken as exact" not in " ".join(found.assumptions)
    assert "joint 0.95 confidence region" in " ".join(found.assumptions)
    assert len(found.release([0, 1, 2])) == 3
    with pytest.raises(RefusedError, match="another mechanism"):
        replace(found, mechanism=cdp.local.GRR(len(fit.states), 2 * found.epsilon)).release(
            [0, 1, 2]
        )


def test_a_region_that_may_never_forget_is_refused_for_series_too():
    fit = rarely_seen(12, 200)
    with pytest.raises(NotApplicableError, match="the chain may never forget"):
        cdp.calibrate(fit, 2.0, query=cdp.Series(), robust=False)


def test_the_length_of_a_long_chain_counts_where_its_region_hardly_forgets():
    fit = rarely_seen(10, 300).with_length(20_000)
    found = cdp.calibrate(fit, 1.0, query=COUNT, robust=False)
    assert found.epsilon == pytest.approx(1 / 20_000, rel=1e-3)


def test_series_of_many_states_are_calibrated_by_a_quick_bound():
    fit = rarely_seen(17, 3_000)
    found = cdp.calibrate(fit, 1.0, query=cdp.Series(), **ALONE)
    assert found.leakage.certificate.name == "contraction"
    assert 0.999 < found.leakage.value <= 1.0


def test_the_public_form_keeps_the_verdict_and_no_numbers(chain):
    found = cdp.calibrate(chain, 1.0, query=COUNT, coarse=True)
    assert found.adequacy.against
    told = public_release(found.release(walk_twice(3_000, 1)), chain)
    text = json.dumps(told.to_dict() | {"value": 0})  # noise may hold any digits
    for alternative in found.adequacy.alternatives:
        assert alternative.name in text
        for number in (alternative.epsilon, alternative.leakage):
            assert f"{number:.4g}"[2:] not in text
    assert "p < 1e" not in text
    assert "the data speak for it" in told.adequacy.verdict
    assert Adequacy.from_dict(json.loads(text)["adequacy"]) == told.adequacy
    fine = cdp.calibrate(chain, 1.0, query=COUNT)
    with pytest.raises(InputError, match="coarse=True"):
        public_release(fine.release(walk_twice(3_000, 1)), chain)


def test_public_json_is_the_public_form(tmp_path):
    path, model = tmp_path / "r.csv", tmp_path / "m.json"
    path.write_text("s\n" + "\n".join(map(str, walk_twice(3_000, 1))) + "\n")
    fit = cdp.MarkovChain.fit(path, state="s")
    fit.save(model)
    args = ["release", str(path), "--model", str(model), "--target", "1", "--query", "count:1"]
    done = CliRunner().invoke(app, [*args, "--public", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["digest"] == ""
    assert told["leakage"] == told["target"]
    assert fit.digest not in done.stdout
    assert "was estimated from" not in done.stdout
    done = CliRunner().invoke(app, [*args, "--public", "--json", "--dry-run"])
    assert done.exit_code == 2
    done = CliRunner().invoke(app, [*args, "--dry-run"])
    said = " ".join(done.stdout.split())
    assert "who thought 50 % before thinks at most 73.2 % after" in said
    assert "order 2 (the data speak for it" in said


def test_three_states_and_their_groups_are_priced_in_time():
    series = walk(KERNEL, (4, 800), 3)
    found = cdp.calibrate(cdp.MarkovChain.fit(series), 1.0, query=cdp.Count(1))
    assert [a.name for a in found.adequacy.alternatives] == [
        "order 2",
        "a kernel for each half",
        "a kernel for each sequence",
    ]
    assert all(a.epsilon >= found.epsilon for a in found.adequacy.alternatives)
