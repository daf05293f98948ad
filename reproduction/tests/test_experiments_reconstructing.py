"""Chapter 5 of Guerra-Balboa (2026), run again: known tables, verdicts, errata, bad input."""

from __future__ import annotations

import gzip
import json
import math
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from corrdp_reproduction.base import Result, Table
from corrdp_reproduction.catalogue import load
from corrdp_reproduction.harness import Experiment
from corrdp_reproduction.reconstructing import (
    example_5_12,
    example_5_17,
    figure_5_1,
    figure_5_3,
    figure_5_6,
    figure_5_7,
    gradients,
    pictures,
    protocols,
    table_5_2,
)
from corrdp_reproduction.reconstructing.dissertation import centred_rad, simplex_rad, uniform
from corrdp_reproduction.reconstructing.pictures import handwritten
from corrdp_reproduction.reconstructing.training import RULES, Lesson, Watched, attacked
from corrdp_reproduction.recordings import NoDataError
from matplotlib.figure import Figure

from corrdp.attacks.records import GradientAttack, clipped
from corrdp.errors import DataError
from corrdp.mechanisms.local.scalar import GaussianAnswer
from corrdp.reconstruction.exact import rad_of_attack
from corrdp.reconstruction.threat import Threat

DATA = os.environ.get("CORRDP_DATA")
ITEMS = {
    **{f"figure_5_{k}": f"004-figure-5.{k}" for k in range(1, 10)},
    "table_5_1": "004-table-5.1",
    "table_5_2": "004-table-5.2",
    "example_5_12": "004-example-5.12",
    "example_5_17": "004-example-5.17",
    "numbers": "004-numbers-5",
}
SKLEARN = {"figure_5_4", "figure_5_5", "table_5_2"}
# what is refuted, run on other data, or cannot be run; everything else is reproduced
DIFFERS = {
    "figure_5_1": {"laplace"},
    "figure_5_4": {"best attack"},
    "figure_5_6": {"priors"},
    "figure_5_8": {"cap", "oue"},
    "figure_5_9": {"cap", "oue"},
    "example_5_17": {"nothing known", "anything known"},
    "numbers": {"hundred", "odds"},
}
STAND_IN = {
    "figure_5_5": {
        "success holds",
        "success fails",
        "published rule",
        "best attack",
        "nearly tight",
        "membership",
    },
    "table_5_2": {"census", "texas", "advantage", "overestimate"},
}
# judged to standard errors, which few trainings leave too large for a small excess: at epsilon 2
# the published rule has .1815 (error .0018) at the full size, where the bound is .1733
ONLY_FULL = {"figure_5_4": {"published rule"}}
NOT_RUN = {"figure_5_7": {"sizes"}}
_RESULTS: dict[str, Result] = {}


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def experiment(name: str) -> Experiment:
    return load(ITEMS[name])


def result_of(name: str) -> Result:
    if name in SKLEARN:
        pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra: experiments)")
    if name in ("figure_5_4", "figure_5_6") and not DATA:
        pytest.skip("CORRDP_DATA names no data directory")
    if name not in _RESULTS:
        _RESULTS[name] = experiment(name).computed(rng=rng())
    return _RESULTS[name]


def named(names) -> list:
    """The two sets of pictures are trained on, which takes longer than all others."""
    slow = pytest.mark.slow
    return [pytest.param(n, marks=slow) if n in ("figure_5_4", "figure_5_5") else n for n in names]


# -- every item ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ITEMS)
def test_every_item_says_where_its_constants_are_printed(name: str) -> None:
    ours = experiment(name)
    assert ours.name == ITEMS[name]
    assert ours.source.startswith("Guerra-Balboa, dissertation")
    for entry in ours.published.values():
        assert entry.says
        assert re.search(r"\d|abstract", entry.where)


@pytest.mark.parametrize("name", named(ITEMS))
def test_verdicts(name: str) -> None:
    result = result_of(name)
    outcomes = {finding.claim: finding.outcome for finding in result.findings}
    expected = {claim: "reproduced" for claim in outcomes}
    expected |= dict.fromkeys(DIFFERS.get(name, ()), "refuted")
    expected |= dict.fromkeys(STAND_IN.get(name, ()), "stand-in data")
    expected |= dict.fromkeys(NOT_RUN.get(name, ()), "data missing")
    assert outcomes == expected
    claims = experiment(name).published
    assert set(outcomes) <= set(claims)
    assert {key for key, entry in claims.items() if entry.value is None} <= set(outcomes)


@pytest.mark.parametrize("name", named(ITEMS))
def test_pictures_are_drawn_from_the_stored_table(name: str) -> None:
    result = result_of(name)
    stored = json.loads(json.dumps(result.to_dict()))
    again = Result.from_dict(stored)
    assert again.to_dict() == stored
    for panel in experiment(name).panels:
        ax = Figure().add_subplot()
        assert panel(again, ax) is ax
        assert ax.get_xlabel()
        assert ax.get_legend() is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", ITEMS)
def test_full_size_gives_the_verdicts_of_the_quick_one(name: str) -> None:
    quick, full = result_of(name), experiment(name).computed(rng=rng(), size="full")
    expected = {finding.claim: finding.outcome for finding in quick.findings}
    expected |= dict.fromkeys(ONLY_FULL.get(name, ()), "refuted")
    assert {finding.claim: finding.outcome for finding in full.findings} == expected


@pytest.mark.parametrize("name", sorted(SKLEARN))
def test_without_scikit_learn_the_message_says_what_to_install(name: str, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    monkeypatch.delenv("CORRDP_DATA", raising=False)  # nor is MNIST at hand
    with pytest.raises(NoDataError, match=r"pip install 'corrdp-reproduction\[pictures\]'"):
        experiment(name).computed(rng=rng())


# -- known tables -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "grr", "oue", "ss", "laplace", "gaussian", "blunt", "tv"),
    [
        (0.5, 0.05063, 0.02923, 0.03037, 0.02245, 0.00516, 0.22265, (0.20109, 0.11133, 0.05153)),
        (1, 0.12282, 0.07470, 0.09738, 0.04434, 0.00972, 0.42011, (0.35770, 0.21005, 0.09693)),
        (4, 0.75429, 0.40438, 0.75429, 0.16479, 0.03353, 0.87639, (0.78606, 0.43819, 0.32387)),
        (14, 0.90908, 0.45454, 0.90908, 0.45765, 0.09467, 0.90909, (0.90826, 0.45454, 0.73583)),
    ],
)
def test_mechanism_comparison(epsilon, grr, oue, ss, laplace, gaussian, blunt, tv) -> None:
    row = next(iter(result_of("figure_5_1").table.where(epsilon=epsilon).records()))
    for name, value in (
        ("grr", grr),
        ("oue", oue),
        ("ss", ss),
        ("laplace", laplace),
        ("gaussian", gaussian),
        ("by_epsilon", blunt),
        ("tv_laplace", tv[0]),
        ("tv_oue", tv[1]),
        ("tv_gaussian", tv[2]),
    ):
        assert row[name] == pytest.approx(value, abs=6e-6)


def test_crossings_of_laplace_and_oue() -> None:
    assert figure_5_1._crossings(11) == pytest.approx((0.00188, 13.8628), abs=6e-5)


@pytest.mark.parametrize(
    ("target", "epsilon", "error", "success", "curve"),
    [
        (0.05, 1.0289, 2.9117, None, None),
        (0.1, 2.1201, 1.4130, None, None),
        (0.15, 3.2818, 0.9128, 7.3884, 7.3884),
        (0.6, 19.7750, 0.1515, 1.6720, 1.6347),
        (0.8, 39.5500, 0.0757, 1.4406, 1.1861),
    ],
)
def test_error_of_calibrated_noise(target, epsilon, error, success, curve) -> None:
    row = next(iter(result_of("figure_5_2").table.where(risk=target).records()))
    assert row["epsilon_advantage"] == pytest.approx(epsilon, abs=6e-5)
    assert row["error_advantage"] == pytest.approx(error, abs=6e-5)
    for name, value in (("error_success", success), ("error_success_curve", curve)):
        assert row[name] == (None if value is None else pytest.approx(value, abs=6e-5))


@pytest.mark.parametrize(
    ("epsilon", "mixed", "sharp", "oue", "blunt"),
    [
        (0.1, 0.010527, 0.009376, 0.005243, 0.044971),
        (1, 0.171838, 0.131977, 0.080790, 0.415910),
        (3, 0.814634, 0.590571, 0.338018, 0.814634),
        (10, 0.899918, 0.899592, 0.449877, 0.899918),
    ],
)
def test_black_box_bounds(epsilon, mixed, sharp, oue, blunt) -> None:
    row = next(iter(result_of("figure_5_3").table.where(epsilon=epsilon).records()))
    found = [row[n] for n in ("proposition_5_13", "theorem_5_15", "corollary_5_16", "oue")]
    assert found == pytest.approx([mixed, sharp, sharp, oue], abs=6e-7)
    assert row["theorem_5_2"] == pytest.approx(blunt, abs=6e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "sigma", "blunt", "sharp", "success"),
    [(4, 10.812, 0.31172, 0.26288, 0.41083), (10, 4.999, 0.59745, 0.59649, 0.80236)],
)
def test_lines_of_gradient_descent(epsilon, sigma, blunt, sharp, success) -> None:
    """The lines; the crosses are ours."""
    for row in result_of("figure_5_4").table.where(epsilon=epsilon).records():
        assert row["sigma"] == pytest.approx(sigma, abs=6e-4)
        expected = sharp if row["known"] == "nothing" else blunt
        assert row["rad_bound"] == pytest.approx(expected, abs=6e-6)
        assert row["success_bound"] == pytest.approx(success, abs=6e-6)
        assert row["rad"] <= row["corrected_bound"]
        assert row["rad"] >= row["published_rad"] - 1e-12


@pytest.mark.parametrize(
    ("prior", "epsilon", "risks"),
    [
        ("uniform", 1, [(0.0049, 0.0148, 0.0148), (0.1103, 0.6075, 0.8679), (0.0657, 0.8677, 1)]),
        ("uniform", 10, [(0.0483, 0.0582, 0.0582), (0.4607, 0.9315, 0.9966), (0.194, 0.9959, 1)]),
        ("empirical", 1, [(0.0101, 0.1043, 0.4673), (0.0355, 0.5795, 0.9938), (0.008, 0.9765, 1)]),
        ("empirical", 10, [(0.1326, 0.3558, 0.4681), (0.2140, 0.8116, 0.9997), (0.037, 0.9938, 1)]),
        ("ends", 5, [(0.4590, 0.9590, 0.9590)] * 2 + [(0.4590, 0.9590, 1)]),
    ],
)
def test_sum_of_hours(prior, epsilon, risks) -> None:
    """Largest advantage, success of that attack, largest success."""
    table = result_of("figure_5_6").table.where(prior=prior, epsilon=epsilon)
    for eta, expected in zip((0, 40, 80, 100), [*risks, (0, 1, 1)], strict=True):
        row = next(iter(table.where(eta=eta).records()))
        found = row["rad"], row["success"], row["best_success"]
        assert found == pytest.approx(expected, abs=6e-5)


def test_people_and_their_hours() -> None:
    result = result_of("figure_5_6")
    assert result.inputs["kappa, empirical"] == pytest.approx(0.237551, abs=5e-7)
    assert "30 (epsilon 1)" in result.notes[0]  # the peak is not at 40 on a finer scale


def test_hours_must_be_a_table(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("CORRDP_DATA", raising=False)
    with pytest.raises(NoDataError, match=r"adult_hours_counts.csv is needed"):
        experiment("figure_5_6").computed(rng=rng())
    for text, message in (
        ("hours,count\na,b\n", "two columns"),
        ("hours,count\n3,5\n101,2\n", "hours from 0 to 100"),
    ):
        (tmp_path / figure_5_6.FILE).write_text(text)
        with pytest.raises(DataError, match=message):
            experiment("figure_5_6").computed(rng=rng(), data=tmp_path)


@pytest.mark.parametrize(
    ("place", "epsilon", "grr", "oue", "ss"),
    [
        ("porto", 1, 5.62501e-4, 2.81501e-4, 2.81691e-4),
        ("porto", 6, 0.116458, 0.0658941, 0.0684113),
        ("porto", 12, 0.981271, 0.495176, 0.981271),
        ("geolife", 4, 0.00990612, 0.00500356, 0.00501241),
        ("geolife", 9, 0.601911, 0.365752, 0.601911),
    ],
)
def test_risk_on_road_networks(place, epsilon, grr, oue, ss) -> None:
    """Exact columns."""
    table = result_of("figure_5_7").table.where(place=place, epsilon=epsilon)
    for name, value in (("grr", grr), ("oue", oue), ("ss", ss)):
        row = next(iter(table.where(protocol=name).records()))
        assert row["rad"] == pytest.approx(value, rel=5e-6)
        assert abs(row["simulated"] - value) < 4.5 * row["error"]


@pytest.mark.parametrize("name", ["figure_5_8", "figure_5_9"])
def test_both_auditors_side_by_side(name: str) -> None:
    """Audits: as exact as the slope says; the two-input auditor below everywhere."""
    table = result_of(name).table
    for row in table.records():
        assert row["undefined"] == 0
        if row["expected"] < 0.2:  # beyond, the inverse is too curved
            assert abs(row["estimate"] - row["epsilon"]) < 4.5 * row["expected"] / math.sqrt(5)
        assert row["two_inputs"] < row["sound"] < row["epsilon"]
    assert protocols.ceiling() == pytest.approx(12.0252, abs=5e-5)


def test_predicted_precision_of_audits() -> None:
    table = result_of("figure_5_8").table
    for name, epsilon, value in (
        ("grr", 1, 0.0335),
        ("grr", 9, 0.0022),
        ("oue", 9, 0.0067),
        ("oue", 12, 0.108),
        ("oue", 14, 0.789),
    ):
        found = table.where(protocol=name, epsilon=epsilon).column("expected")[0]
        assert found == pytest.approx(value, rel=0.03)


def test_calibration_of_gradient_descent() -> None:
    """What both sides of the correction give."""
    row = next(iter(result_of("example_5_17").table.where(m=10, risk=0.1).records()))
    assert row["source"] == pytest.approx(21.9332, abs=6e-5)
    assert row["source_known"] == pytest.approx(35.7883, abs=6e-5)
    assert row["replaced"] == pytest.approx(2 * row["source"])
    assert row["source"] < row["centred"] < row["replaced"]
    assert centred_rad(10 / row["centred"], 10) == pytest.approx(0.1, abs=1e-9)
    for pair in result_of("example_5_17").table.where(m=2).records():
        assert pair["centred"] == pytest.approx(pair["replaced"])  # two records: nothing gained
        assert pair["simplex"] > 1.2 * pair["risk"]


def test_gaussian_bound_of_ten_records() -> None:
    row = next(iter(result_of("example_5_12").table.where(m=10, mu=1.0).records()))
    assert row["printed"] == pytest.approx(0.271418, abs=6e-7)
    assert example_5_12.printed(1.0, 10)[0] == pytest.approx(1 / 9)


def test_numbers_of_the_text() -> None:
    result = result_of("numbers")
    for claim, value in (
        ("two", 0.405465),
        ("hundred", 2.504379),
        ("odds", 12.235955),
        ("limit", 0.454545),
        ("bisection", 26),
        ("membership", 0.462117),
    ):
        assert result.finding(claim).by_source == pytest.approx(value, abs=6e-7)


# -- verdicts come from the numbers -------------------------------------------------------------


def altered(table: Table, column: str, factor: float) -> Table:
    at = table.columns.index(column)
    rows = tuple((*r[:at], r[at] * factor, *r[at + 1 :]) for r in table.rows)
    return replace(table, rows=rows)


def outcome(findings, claim: str) -> str:
    return next(f.outcome for f in findings if f.claim == claim)


def test_a_changed_number_changes_the_verdict() -> None:
    table = result_of("figure_5_1").table
    assert outcome(figure_5_1._findings(table, 11, 13.0), "laplace") == "refuted"  # near 0 as well
    assert (
        outcome(figure_5_1._findings(altered(table, "oue", 3.0), 11, 14), "improves") == "refuted"
    )
    table = result_of("figure_5_3").table
    assert outcome(figure_5_3._findings(altered(table, "oue", 2.0), 10), "known") == "refuted"
    table = result_of("figure_5_7").table
    assert (
        outcome(
            figure_5_7._findings(
                altered(table, "simulated", 1.1),
            ),
            "tight",
        )
        == "refuted"
    )
    assert outcome(figure_5_7._findings(altered(table, "black_box", 1.1)), "black box") == "refuted"
    result = result_of("figure_5_8")
    given = dict(result.inputs)
    worse = protocols.findings(altered(result.table, "estimate", 1.2), given)
    assert outcome(worse, "near perfect") == "refuted"
    right = protocols.findings(result.table, {**given, "cap": 12.03})
    assert outcome(right, "cap") == "reproduced"


# -- gradients ----------------------------------------------------------------------------------


def loss(weights: np.ndarray, x: np.ndarray, label: int) -> float:
    scores = x @ weights
    return float(np.log(np.exp(scores).sum()) - scores[label])


def gradient(weights: np.ndarray, x: np.ndarray, label: int) -> np.ndarray:
    """By central differences."""
    step, found = 1e-6, np.empty_like(weights)
    for at in np.ndindex(weights.shape):
        moved = np.zeros_like(weights)
        moved[at] = step
        rise = loss(weights + moved, x, label) - loss(weights - moved, x, label)
        found[at] = rise / (2 * step)
    return found


def test_training_is_gradient_descent_on_clipped_gradients() -> None:
    """Record by record with numerical gradients; and the attack is that on explicit gradients."""
    data = rng(3)
    x, labels = data.random((7, 3)), np.array([0, 1, 2, 0, 1, 2, 0])
    lesson = Lesson(x, labels, np.arange(4), np.array([4, 5, 6]), 0.3)
    sigma, steps = 2.0, 4
    watched = lesson.watch(sigma, steps, 2, rng(5))
    again = rng(5)
    truth = again.integers(0, 3, 2)
    whole = np.hstack([x, np.ones((7, 1))])
    noise = [again.normal(scale=0.3 * sigma, size=(3, 4, 2)) for _ in range(steps)]
    for run in range(2):
        weights, own, residuals = np.zeros((4, 3)), [], []
        for t in range(steps):
            parts = [
                clipped(gradient(weights, whole[k], labels[k]).ravel(), 0.3).reshape(4, 3)
                for k in range(7)
            ]
            seen = parts[4 + truth[run]] + noise[t][:, :, run].T
            own.append([parts[k].ravel() for k in (4, 5, 6)])
            residuals.append(seen.ravel())
            weights = weights - (sum(parts[:4]) + seen) / 5
        candidates = np.array(own).transpose(1, 0, 2)
        products = np.einsum("itd,td->i", candidates, np.array(residuals)) / 0.09
        assert watched.products[:, run] == pytest.approx(products, abs=1e-6)
        norms = (candidates**2).sum(axis=(1, 2)) / 0.09
        assert watched.norms[:, run] == pytest.approx(norms, abs=1e-6)
        one = Watched(watched.products[:, [run]], watched.norms[:, [run]], 0.0, 0.0)
        threat = Threat.membership([1 / 3] * 3)
        for rule, name in zip(RULES, ("likelihood", "hayes_inner_product"), strict=True):
            table = GradientAttack(
                threat, candidates * (1 - 1e-12), 0.3, sigma, name
            ).table([residuals])  # fmt: skip
            posterior = np.exp(one.logs(sigma) - one.logs(sigma).max())
            posterior /= posterior.sum()
            hits = table[:, 0] == np.arange(3)
            doubled = Watched(*(np.repeat(a, 2, axis=1) for a in (one.products, one.norms)), 0, 0)
            found = attacked(doubled, sigma, threat, rule)
            assert found.success == pytest.approx(float(posterior[:, 0] @ hits))
            assert found.blind == pytest.approx(hits.sum() / 3)


def test_summing_over_the_posterior_has_the_mean_of_counting() -> None:
    """One step with orthonormal gradients: the simulated table, at s = 1.08."""
    draws, s = rng(8), 1.08
    truth = draws.integers(0, 8, 20_000)
    products = (np.eye(8)[truth] + s * draws.standard_normal((20_000, 8))).T
    watched = Watched(products, np.ones_like(products), math.sqrt(2), 0.0)
    eight = [1 / 8] * 8
    for threat, rule, value in (
        (Threat(eight), "likelihood", 0.2364),
        (Threat.membership(eight), "likelihood", 0.3390),
        (Threat.membership(eight), "published", 0.3116),
    ):
        found = attacked(watched, s, threat, rule)
        assert abs(found.value - value) < 4.5 * found.error + 0.002  # theirs is simulated too
        assert found.value == pytest.approx(found.success - found.blind)


def test_photographs_become_ten_classes() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra: experiments)")
    pixels, labels = pictures.patches()
    assert pixels.shape == (8480, 64)
    assert np.bincount(labels).tolist() == [848] * 10
    assert pixels.mean(axis=1) == pytest.approx(np.zeros(8480), abs=1e-12)
    small, digits = pictures.digits()
    assert small.shape == (1797, 64)
    assert small.max() == 1
    assert sorted(set(digits.tolist())) == list(range(10))


# -- records near one law -----------------------------------------------------------------------


@pytest.mark.parametrize("s", [3.73, 1.08, 0.5, 0.29])
def test_corners_of_a_simplex(s: float) -> None:
    """Nothing known: orthonormal gradients; the bound for records near one law holds."""
    expected = {3.73: 0.0545, 1.08: 0.2364, 0.5: 0.5846, 0.29: 0.8357}[s]
    assert simplex_rad(math.sqrt(2) / s, 8) == pytest.approx(expected, abs=0.003)
    assert simplex_rad(math.sqrt(16 / 7) / s, 8) <= centred_rad(1 / s, 8)


@pytest.mark.parametrize("m", [2, 3, 5, 12])
@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0, 4.0])
def test_answers_near_zero(m: int, sigma: float) -> None:
    """Answers in [-1, 1] are within mu = 1/sigma of the law of noise alone."""
    draws = rng(m)
    for _ in range(20):
        values = np.sort(draws.uniform(-1, 1, m))
        assert GaussianAnswer(values, sigma).rad_uniform() <= centred_rad(1 / sigma, m) + 1e-12
    pair = GaussianAnswer([-1, 1], sigma).rad_uniform()
    assert pair == pytest.approx(centred_rad(1 / sigma, 2))  # attained by two


def test_gradients_in_a_ball_stay_below_the_bound_for_one_law() -> None:
    draws, s = rng(11), 0.4
    for _ in range(5):
        means = clipped(draws.standard_normal((6, 3)) * 2, 1.0)
        truth = draws.integers(0, 6, 20_000)
        seen = means[truth] + s * draws.standard_normal((20_000, 3))
        found = GradientAttack(uniform(6), means[:, None], 1.0, s).measure(seen[:, None], truth)
        assert found.value <= centred_rad(1 / s, 6) + 4.5 * found.error


def test_opposite_gradients_by_enumeration_of_a_grid() -> None:
    """Exact advantage of membership on a fine grid of outputs, four records in two halves."""
    sigma, edges = 1.3, np.linspace(-9, 9, 4001)
    from scipy.stats import norm

    cells = np.diff(norm.cdf(edges[:, None], [-1, -1, 1, 1], sigma), axis=0).T
    channel = np.hstack([cells, 1 - cells.sum(axis=1, keepdims=True)])
    threat = Threat.membership([0.25] * 4)
    gains = channel - channel.mean(axis=0)
    guesses = np.where(gains > 0, np.arange(4)[:, None], (np.arange(4)[:, None] + 1) % 4)
    found = rad_of_attack(channel, threat, guesses)[0]
    assert example_5_17.member_risk(4, sigma, 1) == pytest.approx(found, abs=1e-5)


# -- imputation ---------------------------------------------------------------------------------


def test_prediction_never_looks() -> None:
    threat = Threat.attribute([0.25] * 4, secret=[0, 1, 0, 1], aux=range(4))
    attack = table_5_2.Predicted(threat, np.array([0, 1, 1, 1]))
    channel = rng(2).dirichlet(np.ones(3), 4)
    gained, success, blind = rad_of_attack(channel, threat, attack.table(range(3)))
    assert gained == pytest.approx(0, abs=1e-15)
    assert success == pytest.approx(0.75)
    assert blind == pytest.approx(0.75)


def test_imputation_succeeds_without_advantage() -> None:
    result = result_of("table_5_2")
    for row in result.table.records():
        assert abs(row["advantage"]) < 1e-12
        assert row["leak"] > 0.01
        assert row["success"] > row["commonest"] - 0.05


def test_pictures_are_those_of_the_source_where_they_are_at_hand(tmp_path) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra: experiments)")
    assert not handwritten(tmp_path).real
    pixels = np.arange(3 * 28 * 28, dtype=np.uint8)
    write_idx(tmp_path / "t10k-images-idx3-ubyte.gz", pixels, (3, 28, 28))
    write_idx(tmp_path / "t10k-labels-idx1-ubyte.gz", np.array([7, 2, 1], np.uint8), (3,))
    found = handwritten(tmp_path)
    assert found.real
    assert found.labels.tolist() == [7, 2, 1]
    assert found.pixels.shape == (3, 784)
    assert found.pixels[0, 255] == 1.0
    write_idx(tmp_path / "t10k-labels-idx1-ubyte.gz", np.array([7, 2], np.uint8), (2,))
    with pytest.raises(DataError, match="3 pictures have 2 labels"):
        handwritten(tmp_path)
    write_idx(tmp_path / "t10k-images-idx3-ubyte.gz", pixels[1:], (3, 28, 28))
    with pytest.raises(DataError, match="IDX"):
        handwritten(tmp_path)


def write_idx(path, values: np.ndarray, sizes: tuple[int, ...]) -> None:
    head = bytes([0, 0, 8, len(sizes)]) + np.array(sizes, ">u4").tobytes()
    path.write_bytes(gzip.compress(head + values.tobytes()))


@pytest.mark.slow
def test_the_best_attack_on_mnist_is_above_the_published_bound(monkeypatch) -> None:
    """999 known records, epsilon 10, the record known: .646 against .597."""
    monkeypatch.setitem(gradients.EPSILONS, "full", (10.0,))
    found = experiment("figure_5_4").computed(rng=rng(), data=DATA, size="full")
    row = next(iter(found.table.where(known="record").records()))
    assert row["rad_bound"] == pytest.approx(0.5974, abs=1e-4)
    assert row["rad"] == pytest.approx(0.646, abs=0.02)
    assert row["rad"] - 4 * row["error"] > row["rad_bound"]
    assert row["published_rad"] < row["rad_bound"]


def test_nearly_tight_is_judged_to_the_error_of_the_simulation() -> None:
    """At the full size one point reaches .799 (error .013) of its bound, where .8 is asked for."""
    given = {key: entry.value for key, entry in experiment("figure_5_4").published.items()}
    row = dict.fromkeys(gradients._COLUMNS, 0.5) | {"epsilon": 4.0, "known": "record"}

    def outcome(rule: float, error: float) -> str:
        rows = [
            row | {"known": known, "published_rad": rule, "published_error": error}
            for known in gradients.KNOWN
        ]
        table = Table(gradients._COLUMNS, tuple(tuple(r.values()) for r in rows))
        findings = gradients._findings(table, given, "")
        return next(f.outcome for f in findings if f.claim == "nearly tight")

    assert outcome(0.799 * 0.5, 0.008) == outcome(0.41, 0.0) == "reproduced"
    assert outcome(0.37, 0.008) == outcome(0.399, 0.0) == "refuted"
