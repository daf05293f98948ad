"""Budgets with a delta: releases of every kind, composed by record or unit, and converted once."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corrdp as cdp
from corrdp.bounds.units import ONE, Unit
from corrdp.errors import GuaranteeError, InputError, RefusedError
from corrdp.guarantees import GDP, ZCDP, Approximate, Profile, Pure
from corrdp.ledgers import file as ledger_file
from corrdp.ledgers import totals
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.totals import compose_levels
from corrdp.ledgers.units import UNIT, units_up
from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian
from corrdp.metric.composition import compose
from corrdp.metric.profiles import profile_of
from corrdp.metric.tradeoff import epsilon_for, gaussian_delta, mu_for
from tests.helpers.chances import usual_noise
from tests.oracles.approximate import Programs
from tests.oracles.chains import chain_joint
from tests.oracles.mixed import GaussianCount, LaplaceCount, Leaky, Outputs

CHILD = Path(__file__).parents[1] / "helpers" / "ledger_child.py"
KERNEL = np.array([[0.883, 0.117], [0.305, 0.695]])
CHAIN = cdp.MarkovChain(KERNEL, length=6)
ENDLESS = cdp.MarkovChain(KERNEL)
LOOSE = cdp.Independent(6)  # quick to convert
DATA = [0, 1, 1, 0, 0, 1]
MILLIONTH = 1e-6


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "SYNCHRONOUS", "OFF")  # about sums, not about the disk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "steps.ledger"


def level(*levels: Any, n: int | None = None) -> list[ChargedLevel]:
    return [ChargedLevel.of(each, n) for each in levels]


# -- composition -----------------------------------------------------------------------------


def test_a_hundred_gaussian_charges_cost_ten_times_one(path: Path) -> None:
    ledger = Ledger.create(path, budget=2, delta=MILLIONTH)
    for _ in range(100):
        charge = ledger.charge(GDP(0.02), what="count")
    assert charge.mu <= 0.02 <= math.nextafter(charge.mu, 1)
    assert charge.epsilon is None
    assert ledger.guarantee.mu == pytest.approx(0.2, rel=1e-12)
    assert ledger.spent == pytest.approx(profile_of(GDP(0.2)).epsilon(MILLIONTH), abs=1e-11)
    assert ledger.epsilon == 0.0


def test_a_window_over_releases_costs_the_root_of_their_squares(path: Path) -> None:
    """Twelve records in twelve releases of mu .1: .346, and not 1.2."""
    ledger = Ledger.create(path, budget=3, delta=MILLIONTH, records=24, unit=12)
    for t in range(24):
        ledger.charge(GDP(0.1 * (np.arange(24) == t)), what=f"record {t}")
    assert ledger.guarantee.mu == pytest.approx(math.sqrt(12) * 0.1, rel=1e-9)
    whole = Ledger.create(path.with_name("whole"), budget=9, delta=MILLIONTH, records=24, unit=12)
    whole.charge(GDP(0.1), what="all")
    assert whole.guarantee.mu == pytest.approx(1.2, rel=1e-9)


@pytest.mark.parametrize(
    ("releases", "expected"),
    [
        ([0.1] * 100, 4.7746),
        ([0.05] * 12 + [GDP(0.2)], 1.1022),
        ([0.2, GDP(0.3)], 1.4519),
        ([GDP(0.3)], 1.2917),
        ([ZCDP(0.02)], 0.8999),
        ([Approximate(0.5, 4e-7), Approximate(0.25, 4e-7)], 0.75),
        ([0.1], 0.1),
    ],
)
def test_totals_at_a_millionth(path: Path, releases: list[Any], expected: float) -> None:
    ledger = Ledger.create(path, budget=10, delta=MILLIONTH)
    for release in releases:
        ledger.charge(release, what="count")
    assert ledger.spent == pytest.approx(expected, abs=1e-4)


def test_a_hundred_laplace_releases_are_near_another_library(path: Path) -> None:
    """dp-accounting's privacy loss distribution of a hundred Laplace releases of .1."""
    ledger = Ledger.create(path, budget=10, delta=MILLIONTH)
    for _ in range(100):
        ledger.charge(0.1, what="count")
    assert 4.6927 <= ledger.spent <= 4.6927 * 1.02


def test_parallel_releases_stay_parallel(path: Path) -> None:
    ledger = Ledger.create(path, budget=1, delta=MILLIONTH, records=6)
    for part in np.repeat(np.eye(3), 2, axis=1):
        ledger.charge(GDP(0.1 * part), what="a day")
        ledger.charge(0.2 * part, what="a day")
    alone = compose(pure=[0.2], gaussian=0.1).epsilon(MILLIONTH)
    assert ledger.spent == pytest.approx(alone, rel=1e-4)
    joint = Ledger.create(path.with_name("bdp"), budget=9, delta=MILLIONTH, kind="bdp", model=CHAIN)
    for part in np.repeat(np.eye(3), 2, axis=1):
        joint.charge(GDP(0.1 * part), what="a day")
    once = cdp.leakage(CHAIN, GDP(0.1), delta=MILLIONTH).value
    assert joint.spent == pytest.approx(once, abs=1e-9)  # not for dependent records: all count


@pytest.mark.parametrize("unit", [None, 2], ids=["record", "window"])
def test_without_a_delta_numbers_are_the_pure_ones(path: Path, unit: int | None) -> None:
    rng = np.random.default_rng(3)
    for model, kind in ((None, "dp"), (CHAIN, "bdp")):
        ledger = Ledger.create(
            path.with_name(kind), budget=9, kind=kind, model=model, unit=unit,
            records=None if model else 6,
        )  # fmt: skip
        total = np.zeros(6)
        for _ in range(3):
            part = rng.choice([0, 0.05, 0.1], 6) + 0.01
            ledger.charge(part, what="some")
            total += part
        if kind == "dp":
            expected = max(total[k : k + (unit or 1)].sum() for k in range(7 - (unit or 1)))
            assert ledger.spent == pytest.approx(expected, abs=1e-11)
            with pytest.raises(RefusedError, match="does not fit"):
                ledger.charge(ledger.remaining + 1e-9, what="more")
        else:
            exact = cdp.leakage(CHAIN, total, unit=unit).value
            level = cdp.leakage(CHAIN, float(total.max()), unit=unit).value
            assert ledger.spent == pytest.approx(min(exact, level), abs=2e-11)
        ledger.charge(ledger.remaining, what="the rest")
        assert ledger.spent == pytest.approx(9, rel=1e-5)
        assert ledger.spent <= 9
        with pytest.raises(GuaranteeError, match="leaves nothing to chance"):
            ledger.charge(GDP(0.1), what="Gaussian")


def test_pure_releases_below_a_delta_cost_no_more_than_their_sum(path: Path) -> None:
    ledger = Ledger.create(path, budget=3, delta=MILLIONTH, kind="bdp", model=ENDLESS)
    ledger.charge(0.1, what="one")
    once = cdp.leakage(ENDLESS, 0.1).value
    assert once * (1 - 1e-4) < ledger.spent <= once + 1e-12  # rounded up to the unit
    for _ in range(40):
        ledger.charge(0.01, what="many")
    assert ledger.spent < 0.8 * cdp.leakage(ENDLESS, 0.5).value


# -- never below the truth -------------------------------------------------------------------


def random_releases(rng: np.random.Generator, n: int) -> list[Any]:
    """A Gaussian count, a Laplace count and a leaky response, each of some records."""
    some = [tuple(np.flatnonzero(rng.random(n) < 0.6).tolist()) or (0,) for _ in range(2)]
    return [
        GaussianCount(some[0], float(rng.uniform(1.5, 6))),
        LaplaceCount(some[1], float(rng.uniform(0.05, 0.5))),
        Leaky(int(rng.integers(n)), float(rng.uniform(0.05, 0.5)), float(rng.choice([0, 0.002]))),
    ]


def promised(release: Any, n: int) -> Any:
    if isinstance(release, Leaky):
        one = np.arange(n) == release.record
        return Approximate(release.epsilon * one, release.delta * one)
    read = np.isin(np.arange(n), release.records)
    return GDP(read / release.sigma) if isinstance(release, GaussianCount) else (
        Pure(release.epsilon * read)
    )  # fmt: skip


def units(n: int, size: int) -> list[range]:
    return [range(first, first + size) for first in range(n - size + 1)]


SLOW = [pytest.param(seed, 1 + seed % 2, marks=pytest.mark.slow) for seed in range(20)]


@pytest.mark.parametrize(("seed", "size"), [(21, 2), *SLOW])
def test_no_adversary_learns_more_than_what_is_spent(path: Path, seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    n, delta = 4, 0.01
    kernel, start = rng.dirichlet([2, 2], 2), rng.dirichlet([4, 4])
    chain = cdp.MarkovChain(kernel, n, initial=start)
    releases = random_releases(rng, n)
    about: dict[str, Any] = {"budget": 90, "delta": delta, "unit": size}
    bdp = Ledger.create(path, kind="bdp", model=chain, **about)
    dp = Ledger.create(path.with_name("dp"), records=n, **about)
    for release in releases:
        for ledger in (bdp, dp):
            ledger.charge(promised(release, n), what="release")
    truth, joint = Outputs(releases, n), chain_joint(kernel, start, n)
    for unit in units(n, size):
        assert truth.neighbours(unit, dp.spent) <= delta
        assert truth.leakage(joint, unit, bdp.spent) <= delta
    # and not by saying anything: half of it would be broken
    assert max(truth.neighbours(unit, dp.spent / 2) for unit in units(n, size)) > delta
    assert max(truth.leakage(joint, unit, bdp.spent / 3) for unit in units(n, size)) > delta


@pytest.mark.slow
def test_two_gaussian_counts_of_different_records(path: Path) -> None:
    releases = [GaussianCount((0, 1), 3.0), GaussianCount((1, 2), 2.0)]
    chain = cdp.MarkovChain(KERNEL, 3)
    ledger = Ledger.create(path, budget=9, delta=0.01, kind="bdp", model=chain)
    for release in releases:
        ledger.charge(promised(release, 3), what="release")
    truth, joint = Outputs(releases, 3, 220), chain_joint(KERNEL, chain.stationary, 3)
    worst = max(truth.leakage(joint, (t,), ledger.spent) for t in range(3))
    assert worst <= 0.01
    assert max(truth.leakage(joint, (t,), 0.7 * ledger.spent) for t in range(3)) > 0.01


def test_a_set_with_a_hole_costs_what_is_unknown_in_it(path: Path) -> None:
    """The record between two protected ones tells on both, and is not theirs."""
    chain = cdp.MarkovChain(KERNEL, 3)
    joint = chain_joint(KERNEL, chain.stationary, 3)
    asked: dict[str, Any] = {"budget": 60, "kind": "bdp", "model": chain, "unit": [0, 2]}
    pair = Ledger.create(path, delta=MILLIONTH, **asked)
    pair.charge(Approximate(1.0, 1e-9), what="both")
    assert Programs(joint, 1.0, 1e-9, 2).worst((0, 2), pair.spent) <= MILLIONTH
    mixed = Ledger.create(path.with_name("mixed"), delta=1e-3, **asked)
    mixed.charge(Pure(1.0), what="pure")
    mixed.charge(GDP(1e-6), what="next to nothing")
    assert Programs(joint, 1.0, 0.0, 2).worst((0, 2), mixed.spent) <= 1e-3
    own = cdp.leakage(chain, 1.0, unit=[0, 2], own=Pure(2.0), method="transfer")
    assert own.value >= cdp.leakage(chain, 1.0, unit=[0, 2]).value


def test_a_charge_for_the_unit_as_a_whole_has_one_level(path: Path) -> None:
    ledger = Ledger.create(path, budget=9, delta=1e-4, unit=2, records=4)
    with pytest.raises(InputError, match="give one level for the unit"):
        ledger.charge(GDP([0, 0.5, 0.5, 0]), what="whole", unit=2)
    ledger.charge(GDP(0.5), what="whole", unit=2)
    ledger.charge(GDP([0.3, 0, 0, 0]), what="by record")
    assert max(ledger.guarantee.mu) == pytest.approx(0.34**0.5, rel=1e-9)


def test_levels_chosen_from_answers_stay_below_the_cap() -> None:
    """Look first; if the answer is large, look again with all that is left of mu 1, else rest."""
    mu, rest = 0.6, math.sqrt(1 - 0.6**2)
    first, second = np.linspace(-9, 9, 1801), np.linspace(-9, 9, 1801)
    step = (first[1] - first[0]) / math.sqrt(2 * math.pi)

    def law(shift: float) -> tuple[np.ndarray, np.ndarray]:
        one = np.exp(-((first - shift * mu) ** 2) / 2) * step
        two = np.exp(-((second - shift * rest) ** 2) / 2) * step
        ends, more = one[first <= 0.5], one[first > 0.5]
        return ends, np.outer(more, two)

    for epsilon in (0.0, 0.3, 1.0, 2.0):
        pairs = list(zip(law(1.0), law(0.0), strict=True))
        for told in (pairs, [(q, p) for p, q in pairs]):
            delta = sum(np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in told)
            assert delta <= gaussian_delta(1.0, epsilon) + 1e-6
            assert delta > gaussian_delta(mu, epsilon)


# -- by record and by unit -------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 40])
def test_runs_compose_like_records_one_by_one(size: int) -> None:
    rng = np.random.default_rng(size)
    n = 200
    cuts = np.sort(rng.choice(np.arange(1, n), 5, replace=False))
    steps = [np.repeat(rng.choice([0, 0.05, 0.2], 6) + 1e-3, np.diff(np.r_[0, cuts, n]))]
    steps += [np.r_[np.zeros(60), np.full(80, 0.1), np.zeros(60)]]
    unit = ONE if size == 1 else Unit(size)
    both = compose_levels(level(*(GDP(s) for s in steps), n=n), unit, n)
    found = both.of_unit.mu
    for first in range(n - size + 1):
        sums = [s[first : first + size].sum() for s in steps]
        assert found[first] == pytest.approx(math.hypot(*sums), rel=1e-9)
    mixed = compose_levels(level(GDP(steps[0]), Pure(steps[1]), n=n), unit, n).of_unit
    for first in rng.integers(0, n - size + 1, 6):
        gaussian, pure = (s[first : first + size].sum() for s in steps)
        exact = compose(pure=[pure] if pure else [], gaussian=gaussian)
        epsilon = exact.epsilon(1e-5)
        told = mixed.delta[mixed.of[first]](epsilon)
        assert exact.delta(epsilon) <= told
        # kinds of about the same levels share a profile
        assert profile_of(Profile(mixed.delta[mixed.of[first]])).epsilon(1e-5) < 1.3 * epsilon


def test_many_kinds_of_records_are_put_together_upwards() -> None:
    rng = np.random.default_rng(0)
    mu, pure = rng.uniform(0, 0.3, 500), rng.uniform(0.01, 0.5, 500)
    joint = compose_levels(level(GDP(mu), Pure(pure), n=500), ONE, 500).records
    assert 8 < len(joint.delta) <= totals._KINDS
    for t in range(0, 500, 25):
        exact = compose(pure=[pure[t]], gaussian=mu[t])
        levels = np.linspace(0, 3, 9)
        assert (joint.delta[joint.of[t]](levels) >= exact.delta(levels)).all()


def test_too_many_levels_are_summed_up_and_stay_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [0.1 * (np.arange(6) // 2 == k) for k in range(3)]
    before = compose_levels(level(*map(Pure, parts), GDP(0.1), n=6), ONE, 6)
    monkeypatch.setattr(totals, "_CELLS", 10)
    after = compose_levels(level(*map(Pure, parts), GDP(0.1), n=6), ONE, 6)
    found = [profile_of(both.records).epsilon(MILLIONTH) for both in (before, after)]
    assert found[0] == pytest.approx(found[1], rel=1e-9)


def test_levels_of_the_unit_itself_count_as_they_are(path: Path) -> None:
    ledger = Ledger.create(path, budget=3, delta=MILLIONTH, records=24, unit=12)
    ledger.charge(GDP(0.3), what="hourly, from elsewhere", unit=12)
    assert ledger.guarantee.mu == pytest.approx(0.3)
    ledger.charge(GDP(0.03), what="a count")
    assert ledger.guarantee.mu == pytest.approx(math.hypot(0.3, 0.36))
    for unit in (6, "1h", "one user replaced"):
        with pytest.raises(RefusedError, match=r"units of 12, and the release has its level for"):
            ledger.charge(GDP(0.1), what="other", unit=unit)
    assert (ledger.unit, ledger.check()) == ("12 records", 2)
    pure = Ledger.create(path.with_name("pure"), budget=3, records=24, unit=12)
    with pytest.raises(RefusedError, match="keep a ledger with a delta"):
        pure.charge(0.1, what="hourly", unit=12)


def test_durations_and_persons_are_units(path: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    steps = cdp.MarkovChain(KERNEL, 24 * 20).sample(rng)
    table = tmp_path / "steps.csv"
    rows = [f"2024-01-{1 + k // 24:02d} {k % 24:02d}:00,{x}" for k, x in enumerate(steps)]
    table.write_text("time,active\n" + "\n".join(rows) + "\n")
    fit = cdp.MarkovChain.fit(table, state="active", order_by="time")
    about: dict[str, Any] = {"budget": 2, "kind": "bdp", "model": fit, "confidence": None}
    day = Ledger.create(path, unit="1 day", **about)
    assert day.unit == "1 day (24 records)"
    day.charge(0.01, what="count")
    leak = cdp.leakage(fit, 0.01, unit=24).value
    assert day.spent >= leak - 1e-12  # and under the richer models
    assert Ledger.open(path).standing.endswith("(BDP level for 1 day (24 records))")
    for unit, message in [
        ("90 min", "1.5 usual steps"),
        ("1 year", "no number of usual steps"),
        (10**6, "the series has 480"),
    ]:
        with pytest.raises(InputError, match=message):
            Ledger.create(path.with_name("bad"), unit=unit, **about)
    assert not path.with_name("bad").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 1.0}, "delta must be a number >= 0 and < 1"),
        ({"delta": -1e-6}, "delta must be a number >= 0 and < 1"),
        ({"delta": math.nan}, "delta must be a number >= 0 and < 1"),
        ({"delta": "small"}, "delta must be a number >= 0 and < 1"),
        ({"delta": 1e-20}, "less than the unit of the books"),
        ({"unit": 7, "records": 6}, "the series has 6"),
        ({"unit": 0, "records": 6}, "unit must be a whole number >= 1"),
        ({"unit": 2.5, "records": 6}, "unit must be a whole number >= 1"),
        ({"unit": "1h", "records": 6}, "time between two records"),
        ({"unit": "1h", "kind": "bdp", "model": CHAIN}, "time between two records"),
        ({"unit": [1, 9], "records": 6}, "records 0 to 5"),
        ({"unit": "person", "kind": "bdp", "model": ENDLESS}, "no bound"),
    ],
)
def test_bad_budgets_are_refused(path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Ledger.create(path, budget=1, **arguments)
    assert not path.exists()


@pytest.mark.parametrize(
    "make",
    [
        lambda: GDP(-0.1),
        lambda: GDP(math.inf),
        lambda: GDP([0.1, -0.1]),
        lambda: GDP([0.0, 0.0]),
        lambda: ZCDP(-1),
        lambda: Approximate(0.1, 1.5),
        lambda: Approximate(-0.1, 0.1),
        lambda: GDP([0.1] * 5),
        lambda: GDP(1e7),
    ],
)
def test_bad_levels_are_refused(path: Path, make: Any) -> None:
    ledger = Ledger.create(path, budget=1, delta=MILLIONTH, records=6)
    with pytest.raises(InputError):
        ledger.charge(make(), what="count")
    assert ledger.check() == 0


# -- what is left ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dp", pytest.param("bdp", marks=pytest.mark.slow)])
def test_what_remains_fits_and_more_does_not(path: Path, kind: Any) -> None:
    about: dict[str, Any] = {"model": ENDLESS} if kind == "bdp" else {}
    ledger = Ledger.create(path, budget=1.5, delta=1e-5, kind=kind, **about)
    ledger.charge(GDP(0.03), what="Gaussian")
    ledger.charge(0.02, what="pure")
    rest, mu = ledger.remaining, ledger.remaining_mu
    for much in (GDP(mu * 1.01), rest * (1 + 1e-4), ZCDP(mu * mu)):
        with pytest.raises(RefusedError, match=r"does not fit: .* of 1\.5 at delta 1e-05 is spent"):
            ledger.charge(much, what="more")
    ledger.charge(GDP(mu), what="the rest")
    assert 1.5 * (1 - 1e-3) < ledger.spent <= 1.5
    ledger.charge(ledger.remaining_at_least or 1e-12, what="crumbs") if ledger.remaining else None
    assert ledger.spent <= 1.5


def test_the_cap_is_what_gaussian_releases_may_spend(path: Path) -> None:
    ledger = Ledger.create(path, budget=2, delta=MILLIONTH)
    cap = ledger.header.cap / UNIT
    assert cap == pytest.approx(mu_for(2, MILLIONTH), rel=1e-5)
    assert f"above mu {math.floor(cap * 1e4) / 1e4:g}" in repr(ledger)
    part = math.sqrt(cap**2 / 4) * (1 - 1e-9)
    for k in range(4):
        assert ledger.remaining_mu == pytest.approx(cap * math.sqrt(1 - k / 4), rel=1e-4)
        ledger.charge(GDP(part), what="a quarter")
    assert ledger.spent == pytest.approx(2, rel=1e-4)
    with pytest.raises(RefusedError):
        ledger.charge(GDP(0.01), what="more")


@pytest.mark.parametrize(
    ("model", "unit"),
    [
        (LOOSE, None),
        (LOOSE, 3),
        pytest.param(CHAIN, None, marks=pytest.mark.slow),
        pytest.param(CHAIN, 3, marks=pytest.mark.slow),
    ],
)
def test_a_gaussian_release_calibrated_to_the_budget_fits(
    path: Path, model: Any, unit: int | None
) -> None:
    ledger = Ledger.create(path, budget=1, delta=MILLIONTH, kind="bdp", model=model, unit=unit)
    count = cdp.Count(1)
    cal = cdp.calibrate(model, 1, query=count, noise="gaussian", delta=MILLIONTH, unit=unit)
    answer = cal.release(DATA, ledger=ledger)
    assert answer.charge == 1
    assert 1 - 1e-6 < ledger.spent <= 1
    assert cal.sigma <= answer.sigma < cal.sigma * (1 + 1e-9)
    (charge,) = ledger.history()
    assert charge.runs.largest == units_up(DiscreteGaussian(count, answer.sigma).guarantee.mu)
    assert answer.together.startswith("1 of 1 at delta 1e-06 (BDP level")
    assert cdp.Release.from_dict(ledger.answer(1)).value == answer.value
    with pytest.raises(RefusedError, match="does not fit"):
        cal.release(DATA, ledger=ledger)


def test_releases_of_both_kinds_share_a_ledger(path: Path) -> None:
    ledger = Ledger.create(path, budget=2, delta=MILLIONTH, kind="bdp", model=LOOSE, unit=2)
    some = cdp.Count(1, records=slice(0, 3))
    noise: dict[str, Any] = {"noise": "gaussian", "delta": MILLIONTH}
    cdp.calibrate(LOOSE, epsilon=0.1, query=some, **noise).release(DATA, ledger=ledger)
    cdp.calibrate(LOOSE, epsilon=0.05, query=cdp.Count(1)).release(DATA, ledger=ledger)
    ledger.charge(0.01, what="by record")
    kinds = [charge.notion for charge in ledger.history()]
    assert kinds == ["gaussian", "pure", "pure"]
    assert 0.2 < ledger.spent <= 2
    data = json.loads(json.dumps(ledger.export()))
    assert (data["delta"], data["protects"]) == (10**12, "2 records")
    assert data["charges"][0]["epsilon"] is None
    assert data["charges"][0]["mu"][1] == [0, 3]
    assert data["charges"][1]["mu"] is data["charges"][1]["rho"] is None


@pytest.mark.slow
def test_a_private_fit_is_composed_with_the_rest(path: Path) -> None:
    series = cdp.MarkovChain(KERNEL, 4000).sample(np.random.default_rng(1)).astype(bool)
    with usual_noise():
        fit = cdp.MarkovChain.fit([series.tolist()], private_epsilon=0.05).with_length(6)
    ledger = Ledger.create(path, budget=5, delta=MILLIONTH, kind="bdp", model=fit, confidence=None)
    alone = ledger.spent
    assert alone == pytest.approx(cdp.leakage(fit, 1e-12).value, rel=1e-4)
    ledger.charge(GDP(0.05), what="count", model=fit)
    both = cdp.leakage(fit, GDP(0.05), delta=MILLIONTH).value  # adds the fit by itself
    assert alone < ledger.spent == pytest.approx(both, rel=1e-4)
    some = GDP([0.05, 0.05, 0, 0, 0, 0])
    ledger.charge(some, what="some")
    assert ledger.spent > both * (1 - 1e-3)


# -- the file --------------------------------------------------------------------------------


@pytest.fixture
def mixed(path: Path) -> Ledger:
    ledger = Ledger.create(path, budget=3, delta=1e-5, records=6, unit=2)
    ledger.charge(GDP([0.1, 0.1, 0, 0, 0, 0]), what="one", answer={"value": 1})
    ledger.charge(Approximate(0.1, 1e-7), what="two")
    ledger.charge(0.1, what="three")
    ledger.charge(ZCDP(0.001), what="four")
    return ledger


def test_every_kind_of_charge_comes_back(mixed: Ledger) -> None:
    again = Ledger.open(mixed.path)
    assert again.history() == mixed.history()
    assert (again.check(), again.spent, again.delta) == (4, mixed.spent, 1e-5)
    assert [charge.level.in_words for charge in again.history()] == [
        "mu 0.1", "epsilon 0.1, delta 1e-07", "epsilon 0.1", "rho 0.001",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("UPDATE charges SET mu = '1' WHERE number = 1", "charge 1"),
        ("UPDATE charges SET mu = NULL, rho = mu WHERE number = 1", "charge 1"),
        ("UPDATE charges SET delta = '1' WHERE number = 2", "charge 2"),
        ("UPDATE charges SET delta = NULL WHERE number = 2", "charge 2"),
        ("UPDATE charges SET rho = '1' WHERE number = 4", "charge 4"),
        ("UPDATE ledger SET delta = delta * 10", "charge 1"),
        ("UPDATE ledger SET delta = NULL", "charge 1"),
        ("UPDATE ledger SET unit = NULL", "charge 1"),
        ("UPDATE ledger SET cap = cap * 2", "charge 1"),
        ("DELETE FROM charges WHERE number = 2", "charge 2"),
    ],
)
def test_tampering_is_found_by_looking_and_by_charging(
    mixed: Ledger, change: str, where: str
) -> None:
    with sqlite3.connect(mixed.path) as db:
        db.execute("DROP TRIGGER charges_stay")
        db.execute("DROP TRIGGER charges_remain")
        db.execute(change)
    db.close()
    with pytest.raises(InputError, match=where):
        Ledger.open(mixed.path).check()
    # what composes is followed from the first charge on: no edit is built upon
    with pytest.raises(InputError):
        Ledger.open(mixed.path).charge(0.01, what="five")
    with pytest.raises(InputError):
        _ = Ledger.open(mixed.path).spent


def test_a_gaussian_charge_does_not_hide_in_a_ledger_of_sums(path: Path) -> None:
    """A whole new chain could be forged; a charge that its budget cannot count still shows."""
    ledger = Ledger.create(path, budget=1)
    header = ledger.header
    other = Ledger.create(path.with_name("other"), budget=1, delta=1e-5)
    charge = other.charge(GDP(0.2), what="hidden")
    forged = charge.sealed(header.hash, "0")
    with sqlite3.connect(path) as db:
        db.execute(
            "INSERT INTO charges (number, version, made, kind, what, mu, hash) "
            "VALUES (1, 4, ?, 'release', 'hidden', ?, ?)",
            (charge.made, charge.amount, forged),
        )
        db.execute("UPDATE head SET number = 1, hash = ?", (forged,))
    db.close()
    with pytest.raises(InputError, match="not every charge is pure"):
        Ledger.open(path).check()


def test_others_charge_in_between(path: Path) -> None:
    """Two processes know different beginnings of the history, and count the same."""
    one, two = Ledger.create(path, budget=1, delta=MILLIONTH), Ledger.open(path)
    for k in range(6):
        (one if k % 2 else two).charge(GDP(0.05), what="count")
        (two if k % 2 else one).charge(0.02, what="count")
    assert one.spent == two.spent == Ledger.open(path).spent
    assert one.check() == two.check() == 12


def run(task: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(CHILD), task, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_that_charge_gaussian_noise_never_overspend(path: Path) -> None:
    ledger = Ledger.create(path, budget=epsilon_for(0.6, MILLIONTH) + 1e-6, delta=MILLIONTH)
    workers = [run("charge", path, 16, "mu:0.1") for _ in range(3)]
    granted = [int(worker.communicate()[0]) for worker in workers]
    assert sum(granted) == ledger.check() == 36
    assert ledger.guarantee.mu == pytest.approx(0.6)


def test_killed_no_gaussian_answer_is_without_a_charge_nor_lost(path: Path) -> None:
    ledger, answers = Ledger.create(path, budget=1000, delta=MILLIONTH), path.with_name("answers")
    assert run("killed", path, answers, 12, 1, "mu:0.01").wait() == 0
    lines = [line.split() for line in answers.read_text().splitlines()]
    charges = {charge.number: charge.hash for charge in ledger.history()}
    for number, seal, value in lines:
        assert charges[int(number)] == seal
        assert ledger.answer(int(number)) == {"value": int(value)}
    assert 0 < len(lines) <= ledger.check() == len(charges) <= len(lines) + 12
    assert ledger.guarantee.mu == pytest.approx(0.01 * len(charges) ** 0.5)


def test_a_million_records_in_runs_are_quick(path: Path) -> None:
    n = 10**6
    ledger = Ledger.create(path, budget=5, delta=MILLIONTH, records=n, unit=288)
    day = np.zeros(n)
    day[:288] = 0.001
    start = time.process_time()
    for k in range(20):
        ledger.charge(GDP(np.roll(day, 288 * k)), what="a day")
        ledger.charge(Pure(np.roll(day, 288 * k + 77)), what="a day")
    assert 0 < ledger.spent < 5
    assert time.process_time() - start < 12
