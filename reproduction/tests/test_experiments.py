"""Published figures, run again: constants, exact values beside simulations, computed verdicts."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest
from corrdp_reproduction import (
    response_attackers,
    response_success,
)
from corrdp_reproduction.base import Finding, Result, Table, judge
from corrdp_reproduction.catalogue import experiments, load
from corrdp_reproduction.harness import Experiment
from corrdp_reproduction.recordings import NoDataError, data_file, heart_rate
from matplotlib.figure import Figure

from corrdp._json import encode
from corrdp.attacks.base import success_bound
from corrdp.attacks.forward_backward import ForwardBackward
from corrdp.bounds.chains.uninformed import uninformed_limit
from corrdp.calibration.response import least_flips, zhao_flip
from corrdp.errors import InputError
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain

DATA = os.environ.get("CORRDP_DATA")
THREE = ("viterbi", "forward-backward", "single")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def region() -> Result:
    return load("001-figure-1").computed(rng=rng())


@pytest.fixture(scope="module")
def success() -> Result:
    return load("001-figure-2").computed(rng=rng())


@pytest.fixture(scope="module")
def noise() -> Result:
    return load("001-figure-3").computed(rng=rng())


@pytest.fixture(scope="module")
def synthetic() -> Result:
    return load("001-figure-4").computed(
        rng=rng(), series=("synthetic",), attackers=THREE, epsilons=(0.1, 0.5, 2.0, 5.0)
    )


# -- the frame --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in experiments() if name != "noise"])
def test_every_experiment_says_where_its_constants_are_printed(name: str):
    experiment = load(name)
    assert isinstance(experiment, Experiment)
    assert experiment.name == name
    if "-figure-" in name or "-table-" in name:
        assert experiment.source.endswith(name[4:].replace("-", " "))
    for entry in experiment.published.values():
        assert entry.says
        assert re.search(r"\d|abstract", entry.where)


def test_an_unknown_experiment_is_named_with_those_that_exist():
    with pytest.raises(InputError, match=r"no experiment '001-figure-9'; there are .*001-figure-1"):
        load("001-figure-9")


@pytest.mark.parametrize("name", ["region", "success", "noise", "synthetic"])
def test_every_claim_gets_a_finding_a_verdict_and_a_picture(name: str, request):
    result = request.getfixturevalue(name)
    claims = load(result.experiment).published
    assert {finding.claim for finding in result.findings} <= set(claims)
    in_words = {key for key, entry in claims.items() if entry.value is None}
    assert in_words <= {finding.claim for finding in result.findings}
    assert len(result.verdict.splitlines()) == len(result.findings)
    ax = Figure().add_subplot()
    assert result.plot(ax) is ax
    assert ax.get_xlabel()
    assert ax.get_legend() is not None


@pytest.mark.parametrize("name", ["region", "success", "noise", "synthetic"])
def test_results_survive_json(name: str, request):
    result = request.getfixturevalue(name)
    stored = json.loads(json.dumps(result.to_dict()))
    again = Result.from_dict(stored)
    assert again.to_dict() == stored
    assert again.table.rows == result.table.rows
    assert again.verdict == result.verdict
    again.plot(Figure().add_subplot())


def test_outcomes_are_made_from_the_findings():
    table = Table(("a",), ((1,),))
    yes, no, idle = judge("q", True, ""), judge("q", False, ""), Finding("q", "data missing", "")
    for findings, outcome in (
        ((yes, no, idle), "refuted"),
        ((yes, idle), "reproduced"),
        ((idle,), "data missing"),
        ((), "data missing"),
    ):
        assert Result("001-figure-1", "quick", table, findings).outcome == outcome


def test_tables_print_in_columns():
    table = Table(("theta", "success"), ((0.1, 0.75), (0.25, None)))
    assert str(table) == "theta  success\n  0.1     0.75\n 0.25        -"
    with pytest.raises(InputError, match="no column 'x'"):
        table.column("x")


@pytest.mark.parametrize("name", experiments())
@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"rng": 1}, "rng must be a numpy"), ({"rng": rng(), "size": "huge"}, "size must be 'quick'")],
)
def test_bad_runs_are_refused(name, arguments, message):
    with pytest.raises(InputError, match=message):
        load(name).computed(**arguments)


def test_progress_goes_from_nothing_to_all(success: Result):
    seen: list[tuple[int, int]] = []
    again = load("001-figure-2").computed(rng=rng(), progress=lambda k, n: seen.append((k, n)))
    n = len(again.table.rows)
    assert seen == [(k, n) for k in range(n + 1)]
    assert again.table.rows == success.table.rows  # the generator is all that is random


# -- figure 1 ---------------------------------------------------------------------------------


def test_figure_1_has_straight_edges_and_its_optimum_in_a_corner(region: Result):
    assert region.finding("lines").outcome == "reproduced"
    assert region.finding("corner").outcome == "reproduced"
    assert max(region.table.column("off_line")) < 1e-8


def test_figure_1_optimum_is_the_best_of_a_fine_grid(region: Result):
    """Closed form chains#uninformed on a grid over the square, without any search."""
    rates = np.linspace(0.004, 0.5, 125)
    shares = np.array([0.35, 0.2]) / 0.55
    leaks = np.array([[uninformed_limit(0.2, 0.35, f0, f1) for f1 in rates] for f0 in rates])
    cost = shares[0] * rates[:, None] + shares[1] * rates
    for row in region.table.where(adversary="none").records():
        least = cost[leaks <= row["epsilon"] + 1e-12].min()
        assert row["rate"] - 1e-9 <= least <= row["rate"] + 0.004


def test_figure_1_published_optimum_breaks_its_promise(region: Result):
    finding = region.finding("every adversary")
    assert finding.outcome == "refuted"
    assert finding.by_source == pytest.approx(0.12485, abs=1e-5)
    every = region.table.where(adversary="all")
    for row in every.records():
        assert row["leakage_all"] <= row["epsilon"]
    assert region.table.where(adversary="none", epsilon=2.0).column("rate")[0] == pytest.approx(
        0.311098, abs=1e-6
    )
    assert every.where(epsilon=2.0).column("rate")[0] == pytest.approx(0.312702, abs=1e-6)


# -- figure 2 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("theta", "flip", "n", "target"), [(0.1, 0.25, 6, 2), (0.3, 0.1, 5, 4)])
def test_the_exact_success_is_the_sum_over_all_responses(theta, flip, n, target):
    kernel = np.array([[1 - theta, theta], [theta, 1 - theta]])
    channel = np.array([[1 - flip, flip], [flip, 1 - flip]])
    total = 0.0
    for z in itertools.product((0, 1), repeat=n):
        given = np.zeros(2)
        for x in itertools.product((0, 1), repeat=n):
            law = 0.5 * math.prod(kernel[a, b] for a, b in itertools.pairwise(x))
            given[x[target]] += law * math.prod(channel[a, b] for a, b in zip(x, z, strict=True))
        total += given.max()
    exact = response_success.best_success(theta, flip, n, target)
    assert exact == pytest.approx(total, abs=1e-12)


def test_the_vectorised_attacker_is_forward_backward():
    chain, response = MarkovChain([[0.9, 0.1], [0.1, 0.9]], 30), BinaryResponse(0.3)
    reports = rng(2).integers(0, 2, (200, 30))
    odds = response_success.log_odds(reports, 0.1, 0.3, 14)
    guesses = [ForwardBackward(response).run(z, chain).guesses[14] for z in reports]
    assert ((odds < 0) == np.array(guesses)).all()


def test_constant_series_are_guessed_by_majority():
    """theta = 0: the best guess is a majority vote over 30 reports."""
    from scipy.stats import binom

    flip = BinaryResponse.for_epsilon(0.5).flip0
    law = binom(30, flip)
    assert response_success.best_success(0.0, flip, 30, 14) == pytest.approx(
        law.cdf(14) + law.pmf(15) / 2, abs=1e-12
    )


def test_figure_2_correlation_beats_the_bound_of_dp(success: Result):
    assert success.outcome == "reproduced"
    bound = success_bound(0.5, (0.5, 0.5))
    assert bound == pytest.approx(0.622459, abs=1e-6)
    for row in success.table.records():
        assert row["single_low"] <= bound <= row["single_high"]
        assert row["aware_low"] <= row["aware_exact"] <= row["aware_high"]
        assert row["aware_exact"] <= row["bound"]
        if row["theta"] <= 0.1:
            assert row["aware_low"] > bound
    exact = dict(
        zip(success.table.column("theta"), success.table.column("aware_exact"), strict=True)
    )
    assert exact[0.0] == pytest.approx(0.911657, abs=1e-6)
    assert exact[0.1] == pytest.approx(0.695822, abs=1e-6)
    assert exact[0.5] == pytest.approx(bound, abs=1e-9)


def test_too_many_responses_are_refused():
    with pytest.raises(InputError, match=r"2\^50 responses"):
        response_success.best_success(0.1, 0.2, 60, 9)


# -- figure 3 ---------------------------------------------------------------------------------


def test_figure_3_reproduces_the_vectors_of_the_forms(noise: Result):
    rows = {row["epsilon"]: row for row in noise.table.records()}
    for epsilon, zhao in ((0.5, 0.485618), (1, 0.466255), (2, 0.416980), (5, 0.213209)):
        assert rows[epsilon]["zhao"] == pytest.approx(zhao, abs=1e-6)
    for epsilon, closed, exact in ((1, 0.432784, 0.364922), (2, 0.334092, 0.232635)):
        assert rows[epsilon]["closed_form"] == pytest.approx(closed, abs=1e-6)
        assert rows[epsilon]["exact_none"] == pytest.approx(exact, abs=1e-6)
    assert rows[5]["leakage_none"] == pytest.approx(5.2880, abs=1e-4)


def test_figure_3_order_and_the_price_of_informed_adversaries(noise: Result):
    for row in noise.table.records():
        assert row["zhao"] > row["closed_form"] > row["exact_none"] > row["dp"]
        assert row["zhao"] > row["exact_all"] >= row["exact_none"]
    assert [f.outcome for f in noise.findings] == [
        "reproduced",
        "reproduced",
        "refuted",
        "reproduced",
    ]
    assert noise.finding("every adversary").by_source == pytest.approx(0.35697, abs=1e-4)


@pytest.mark.parametrize("theta", [0.05, 0.1, 0.2, 0.45])
def test_ours_stays_below_zhao_at_other_strengths_of_dependence(theta: float):
    chain = MarkovChain([[1 - theta, theta], [theta, 1 - theta]])
    for epsilon in (0.5, 2.0, 5.0, 8.0):
        ours = least_flips(chain, epsilon, symmetric=True).rate
        assert ours < zhao_flip(theta, epsilon, 30)


# -- figure 4 ---------------------------------------------------------------------------------


def test_no_attacker_is_above_the_corrected_bound_on_a_chain(synthetic: Result):
    for row in synthetic.table.records():
        assert row["low"] <= row["bound"]
        assert row["low"] <= row["success"] <= row["high"]
    assert synthetic.finding("below").outcome == "reproduced"


def test_the_printed_bound_is_below_blind_guessing(synthetic: Result):
    finding = synthetic.finding("printed bound")
    assert finding.outcome == "refuted"
    for row in synthetic.table.where(epsilon=0.1).records():
        assert row["share"] > row["printed_bound"] + 0.05
        assert row["low"] > row["printed_bound"]


def test_forward_backward_is_the_best_attacker_on_a_chain(synthetic: Result):
    for path, best in zip(
        synthetic.table.where(attacker="viterbi").records(),
        synthetic.table.where(attacker="forward-backward").records(),
        strict=True,
    ):
        assert path["low"] <= best["high"]


def test_what_was_not_asked_for_is_said_not_to_have_run(synthetic: Result):
    for claim in ("recordings", "less success", "lstm"):
        assert synthetic.finding(claim).outcome == "data missing"


def test_missing_recordings_are_named(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("CORRDP_DATA", raising=False)
    with pytest.raises(NoDataError, match=r"heart_rate_N10.txt.gz is needed .* set CORRDP_DATA"):
        load("001-figure-4").computed(rng=rng())
    with pytest.raises(NoDataError, match=r"heart_rate_N5.txt.gz is needed and not in"):
        load("001-figure-4").computed(rng=rng(), data=tmp_path, series=("low",))
    (tmp_path / "heart_rate_N5.txt.gz").touch()
    monkeypatch.setenv("CORRDP_DATA", str(tmp_path))
    assert data_file("heart_rate_N5.txt.gz") == tmp_path / "heart_rate_N5.txt.gz"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"series": ("middle",)}, "series must be some of synthetic, high, low"),
        ({"series": "high"}, "series must be some of"),
        ({"attackers": ()}, "attackers must be some of viterbi, forward-backward, single, lstm"),
    ],
)
def test_unknown_series_and_attackers_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        load("001-figure-4").computed(rng=rng(), **arguments)


@needs_data
@pytest.mark.parametrize(
    ("which", "n", "q", "r"), [("high", 26_923, 0.0894, 0.1092), ("low", 16_859, 0.2384, 0.3831)]
)
def test_recordings_split_at_their_mean_are_those_of_the_source(which, n, q, r):
    recording = heart_rate(which)
    assert len(recording.states) == n
    assert tuple(round(rate, 4) for rate in recording.rates) == (q, r)
    chain = recording.chain
    assert chain.length == n
    assert [chain.transition[0, 1], chain.transition[1, 0]] == pytest.approx(recording.rates)


@needs_data
def test_figure_4_on_the_recordings():
    result = load("001-figure-4").computed(rng=rng(), attackers=THREE, epsilons=(0.5, 3.0))
    assert len(result.table.rows) == 3 * 2 * 2 * 3
    outcomes = {finding.claim: finding.outcome for finding in result.findings}
    assert outcomes == {
        "high": "reproduced",
        "low": "reproduced",
        "below": "reproduced",
        "recordings": "reproduced",
        "printed bound": "refuted",
        "less success": "reproduced",
        "lstm": "data missing",
    }
    # the recording is easier to guess than its chain: first order is only a model
    assert sum("depends on more than the present record" in note for note in result.notes) == 2
    high = result.table.where(series="high", epsilon=3.0, adversary="none", attacker="viterbi")
    chain = result.table.where(series="synthetic", epsilon=3.0, adversary="none")
    assert high.column("success")[0] > chain.where(attacker="viterbi").column("success")[0] + 0.1
    assert "more away than a chain with its rates" in result.finding("recordings").found
    assert encode(result.inputs["epsilons"]) == [0.5, 3.0]


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", experiments())
def test_full_size_gives_the_verdicts_of_the_quick_one(name: str):
    experiment = load(name)
    quick, full = (experiment.computed(rng=rng(), size=size) for size in ("quick", "full"))
    assert {f.claim: f.outcome for f in full.findings} == {
        f.claim: f.outcome for f in quick.findings
    }
    assert len(full.table.rows) >= len(quick.table.rows)


def test_all_attackers_play_that_can(monkeypatch):
    for found, names in ((None, THREE), (object(), (*THREE, "lstm"))):
        monkeypatch.setattr(response_attackers, "find_spec", lambda name, found=found: found)
        assert response_attackers.usual_attackers() == names


@needs_data
@pytest.mark.slow
def test_the_network_on_the_recordings():
    pytest.importorskip("torch", reason="PyTorch is not installed (extra: attacks)")
    result = load("001-figure-4").computed(rng=rng(), epsilons=(2.0,))
    assert len(result.table.rows) == 3 * 2 * 4
    assert result.finding("recordings").outcome == "reproduced"
    assert result.finding("lstm").within == "success rates 0.05 apart"
    low = result.table.where(series="low", adversary="none", attacker="lstm")
    assert low.column("success")[0] == pytest.approx(0.725, abs=0.02)


def test_the_network_is_compared_with_the_likeliest_path_at_the_sources_noise():
    columns = ("series", "epsilon", "adversary", "attacker", "success")
    rows = [
        ("high", 3.0, adversary, attacker, success)
        for adversary, attacker, success in (
            ("none", "viterbi", 0.82),
            ("none", "lstm", 0.78),
            ("all", "viterbi", 0.80),
            ("all", "lstm", 0.73),
        )
    ]
    table = Table(columns, tuple(rows))
    finding = response_attackers._network(table, ("viterbi", "lstm"))
    assert finding.outcome == "reproduced"
    assert finding.by_source == pytest.approx(-0.04)
    assert finding.tight == pytest.approx(-0.07)
