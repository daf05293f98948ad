"""The ledger: exact sums, honest refusals, and no answer without a charge, whatever happens."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import corrdp as cdp
from corrdp.errors import GuaranteeError, InputError, NotApplicableError, RefusedError
from corrdp.guarantees import GDP, L1, ZCDP, Approximate, Profile, Pure, Tradeoff
from corrdp.ledgers import file as ledger_file
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.units import UNIT, Runs, level, units_down, units_up, written
from corrdp.release import number as releasing
from corrdp.release import series as sanitizing
from corrdp.release.charged import release_level, release_with_ledger, sanitize_with_ledger
from tests.helpers.chances import usual_noise

CHILD = Path(__file__).parents[1] / "helpers" / "ledger_child.py"
KERNEL = [[0.883, 0.117], [0.305, 0.695]]
CHAIN = cdp.MarkovChain(KERNEL, length=6)
DATA = [0, 1, 1, 0, 0, 1]
BAD = [0, -1, math.nan, math.inf, -math.inf, 1e300, 10**400]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "steps.ledger"


def child(task: str, *arguments: object) -> list[str]:
    return [sys.executable, str(CHILD), task, *map(str, arguments)]


def run(task: str, *arguments: object) -> str:
    done = subprocess.run(child(task, *arguments), capture_output=True, text=True, check=True)
    return done.stdout


# -- numbers ---------------------------------------------------------------------------------


def test_a_thousand_charges_of_a_thousandth_fit_exactly(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_file, "SYNCHRONOUS", "OFF")  # about sums, not about the disk
    ledger = Ledger.create(path, budget=1)
    for _ in range(1000):
        ledger.charge(0.001, what="count")
    assert (ledger.spent, ledger.remaining) == (1.0, 0.0)
    with pytest.raises(RefusedError, match="at most epsilon 0\\. Nothing was charged"):
        ledger.charge(1e-300, what="count")
    assert ledger.check() == 1000


@given(st.floats(1e-15, 1e5))
def test_charges_round_up_and_budgets_down(value: float) -> None:
    exact = Decimal(repr(value)) * UNIT
    assert 0 <= units_up(value) - exact < 1
    assert 0 <= exact - units_down(value) < 1


@given(st.integers(1, 700 * UNIT))
def test_what_is_drawn_is_never_above_what_is_charged(units: int) -> None:
    drawn = level(units)
    assert Fraction(drawn) <= Fraction(units, UNIT) < Fraction(math.nextafter(drawn, math.inf))
    assert units_up(drawn) == units == release_level(drawn)
    assert Decimal(written(units)) * UNIT == units


@given(st.data(), st.integers(1, 12))
def test_runs_add_like_vectors(data: st.DataObject, n: int) -> None:
    levels = st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=n, max_size=n).filter(any)
    a, b = np.array(data.draw(levels)), np.array(data.draw(levels))
    coded, other = Runs.charged(a, n), Runs.charged(b, n)
    both = coded + other
    assert both == other + coded
    assert np.array_equal(np.broadcast_to(both.doubles(), n), a + b)
    assert both.largest == units_up((a + b).max())
    assert Runs.from_text(both.text) == both
    assert json.loads(both.text) == both.to_json()
    expected = np.where(a > 0, 3 / UNIT, 0)
    assert np.array_equal(np.broadcast_to(coded.spread(3).doubles(), n), expected)


# -- DP ledgers ------------------------------------------------------------------------------


def test_numbers_of_any_kind_are_read(path: Path) -> None:
    ledger = Ledger.create(path, budget=np.int64(1))
    for epsilon in (np.float32(0.25), np.int8(0) + 0.25, Fraction(1, 4), np.array(0.125)):
        ledger.charge(epsilon, what="count")
    assert (ledger.budget, ledger.spent) == (1.0, 0.875)


def test_releases_of_different_records_are_parallel(path: Path) -> None:
    ledger = Ledger.create(path, budget=1, records=4)
    ledger.charge(Pure([1, 1, 0, 0]), what="first half")
    ledger.charge([0, 0, 0.5, 0.25], what="second half")
    assert ledger.spent == 1.0
    assert ledger.epsilon.tolist() == [1, 1, 0.5, 0.25]
    with pytest.raises(RefusedError, match=r"these records may have at most epsilon 0\.5\. "):
        ledger.charge([0, 0, 0.75, 0.75], what="second half again")
    with pytest.raises(RefusedError, match="every record may have at most epsilon 0"):
        ledger.charge(0.1, what="all")
    assert ledger.charge([0, 0, 0, 0.75], what="the last").number == 3
    assert ledger.epsilon.tolist() == [1, 1, 0.5, 1]


def test_guarantees_with_an_epsilon_can_be_charged(path: Path) -> None:
    ledger = Ledger.create(path, budget=1)
    for guarantee in (Pure(0.1), Approximate(0.1, 0), L1(0.01, epsilon=0.1), np.float64(0.1)):
        assert ledger.charge(guarantee, what="sum").epsilon <= 0.1
    assert ledger.spent == 0.4
    for guarantee in (GDP(1), Approximate(0.1, 1e-6), ZCDP(0.1)):
        with pytest.raises(GuaranteeError, match=r"adds up pure epsilons.*with a delta"):
            ledger.charge(guarantee, what="sum")
    for guarantee in (L1(0.01), Tradeoff(lambda a: 1 - a), Profile(lambda e: 0.0)):
        with pytest.raises(GuaranteeError, match=r"a ledger keeps an epsilon, a mu.*is none of"):
            ledger.charge(guarantee, what="sum")


@pytest.mark.parametrize("value", [*BAD, True, None, "1"])
def test_bad_budgets_and_charges_are_refused(path: Path, value: Any) -> None:
    with pytest.raises(InputError, match=r"budget (must be|is)"):
        Ledger.create(path, budget=value)
    assert not path.exists()
    ledger = Ledger.create(path, budget=1)
    with pytest.raises(InputError, match="epsilon"):
        ledger.charge(value, what="count")
    assert ledger.history() == ()


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        ([0.1, 0.1], "2 entries and the ledger 3 records"),
        ([0.1, -0.1, 0], r"epsilon\[1\] = -0.1"),
        ([0.1, math.nan, 0], r"epsilon\[1\] = nan"),
        ([0.1, 0, 1e300], "beyond 1000000 nats"),
        ([0, 0, 0], "reads nothing"),
        ([], "shape"),
        ([[0.1] * 3], "shape"),
    ],
)
def test_bad_vectors_are_refused(path: Path, epsilon: Any, message: str) -> None:
    ledger = Ledger.create(path, budget=1, records=3)
    with pytest.raises(InputError, match=message):
        ledger.charge(epsilon, what="count")
    assert ledger.check() == 0


def test_bad_ledgers_are_refused(path: Path) -> None:
    for arguments, message in [
        ({"budget": 1e-13}, "less than the unit"),
        ({"budget": 1, "kind": "rdp"}, "kind must be dp, bdp or partial"),
        ({"budget": 1, "kind": None}, "kind must be dp, bdp or partial"),
        ({"budget": 1, "kind": np.array(["dp", "bdp"])}, "kind must be dp, bdp or partial"),
        ({"budget": 1, "kind": "bdp", "model": 3}, "model must be a dependence model"),
        ({"budget": 1, "records": 10**30}, "records must be a whole number >= 1"),
        ({"budget": 1, "records": 0}, "records must be a whole number >= 1"),
        ({"budget": 1, "records": 2.5}, "records must be a whole number >= 1"),
        ({"budget": 1, "records": math.nan}, "records must be a whole number >= 1"),
        ({"budget": 1, "model": CHAIN}, "a DP ledger needs no model"),
        ({"budget": 1, "kind": "bdp"}, "needs the model"),
        ({"budget": 1, "kind": "bdp", "model": CHAIN, "records": 5}, "the model has 6 records"),
        ({"budget": 1, "kind": "bdp", "model": cdp.Groups(2), "records": 5}, "no fixed length"),
    ]:
        with pytest.raises(InputError, match=message):
            Ledger.create(path, **arguments)
    pair = cdp.GaussianRecords.equicorrelated(2, 0.45, secret_range=(40, 160))
    with pytest.raises(NotApplicableError, match=r"real-valued \(Gaussian\).*Keep a DP ledger"):
        Ledger.create(path, budget=1, kind="bdp", model=pair)
    assert not path.exists()
    ledger = Ledger.create(path, budget=1)
    with pytest.raises(InputError, match="exists"):
        Ledger.create(path, budget=1)
    with pytest.raises(InputError, match=r"families.* the number of records \(records=\)"):
        ledger.charge([0.1, 0.2], what="count")
    for what in (" ", 3, None, "half a letter \ud800"):
        with pytest.raises(InputError, match="in words"):
            ledger.charge(0.1, what=what)  # type: ignore[arg-type]
    with pytest.raises(NotApplicableError, match="holds no model"):
        _ = ledger.model
    with pytest.raises(InputError, match="cannot use the ledger"):
        Ledger.create(path.parent / "absent" / "a.ledger", budget=1)


# -- BDP ledgers -----------------------------------------------------------------------------


def test_leakages_are_converted_and_not_added(path: Path) -> None:
    # .390832 each and .796636 together, on a long chain
    chain = cdp.MarkovChain(KERNEL)
    ledger = Ledger.create(path, budget=0.79, kind="bdp", model=chain)
    ledger.charge(0.1, what="one")
    assert ledger.spent == pytest.approx(0.390832, abs=1e-6)
    with pytest.raises(RefusedError, match=r"BDP budget of 0\.79 is spent"):
        ledger.charge(0.1, what="two")
    more = Ledger.create(path.with_name("more"), budget=0.8, kind="bdp", model=chain)
    more.charge(0.1, what="one")
    more.charge(0.1, what="two")
    assert more.spent == pytest.approx(0.796636, abs=1e-6)
    assert more.spent == pytest.approx(cdp.leakage(chain, 0.2).value, abs=1e-12)


def test_a_day_at_a_time_is_parallel_for_dp_and_not_for_bdp(path: Path) -> None:
    days = np.repeat(np.eye(3), 2, axis=1) * 0.2
    ledger = Ledger.create(path, budget=2, kind="bdp", model=CHAIN)
    plain = Ledger.create(path.with_name("dp"), budget=0.2, records=6)
    leaks = []
    for day in days:
        ledger.charge(day, what="a day")
        plain.charge(day, what="a day")
        leaks.append(ledger.spent)
    assert plain.spent == 0.2
    assert leaks == sorted(leaks)
    assert leaks[-1] == pytest.approx(cdp.leakage(CHAIN, 0.2).value, abs=1e-11)
    assert leaks[-1] > leaks[0] > plain.spent
    assert Ledger.open(path).model.digest == CHAIN.digest


@pytest.mark.parametrize("target", [0.3, 1.0, 2.7182818])
@pytest.mark.parametrize(
    "model",
    [cdp.Independent(6), cdp.Groups(3), CHAIN, cdp.JointTable({(0, 0): 0.4, (1, 1): 0.6})],
    ids=lambda model: model.kind,
)
def test_a_release_calibrated_to_the_budget_fits(path: Path, model: Any, target: float) -> None:
    ledger = Ledger.create(path, budget=target, kind="bdp", model=model)
    calibration = cdp.calibrate(model, target, query=cdp.Count(1))
    answer = calibration.release(DATA[: model.length], ledger=ledger)
    assert answer.charge == 1
    assert ledger.spent <= target
    assert ledger.remaining < 1e-5 * target


def test_what_remains_fits_and_a_little_more_does_not(path: Path) -> None:
    ledger = Ledger.create(path, budget=1, kind="bdp", model=CHAIN)
    ledger.charge([0.2, 0.1, 0, 0, 0, 0], what="start")
    rest = ledger.remaining
    with pytest.raises(RefusedError, match="may have at most"):
        ledger.charge(rest * (1 + 1e-5), what="more")
    ledger.charge(rest, what="rest")
    assert 1 - 1e-5 < ledger.spent <= 1


def test_the_room_of_some_records_is_named(path: Path) -> None:
    ledger = Ledger.create(path, budget=1, kind="bdp", model=CHAIN)
    ledger.charge(0.1, what="all")
    reads = np.array([1, 1, 0, 0, 0, 0])
    with pytest.raises(RefusedError) as refusal:
        ledger.charge(0.9 * reads, what="two of them")
    room = float(re.search(r"at most epsilon ([\d.]+\d)", str(refusal.value))[1])
    assert ledger.remaining < room < 0.9
    ledger.charge(room * reads, what="two of them")
    assert 1 - 1e-5 < ledger.spent <= 1


def test_another_model_is_refused(path: Path) -> None:
    ledger = Ledger.create(path, budget=5, kind="bdp", model=CHAIN)
    other = cdp.MarkovChain(KERNEL, length=7)
    with pytest.raises(RefusedError, match="calibrate with the ledger's own model"):
        ledger.charge(0.1, what="count", model=other)
    with pytest.raises(RefusedError, match="calibrate with the ledger's own model"):
        cdp.calibrate(other, 1.0, query=cdp.Count(1)).release(DATA, ledger=ledger)
    assert ledger.history() == ()


def test_calibrations_for_a_single_release_are_refused(path: Path) -> None:
    single = cdp.calibrate(CHAIN, 1.0, query=cdp.Count(1), method="exact")
    ledger = Ledger.create(path, budget=5, kind="bdp", model=CHAIN)
    with pytest.raises(NotApplicableError, match=r'one release.*method="best"'):
        single.release(DATA, ledger=ledger)
    assert ledger.history() == ()
    plain = Ledger.create(path.with_name("dp"), budget=5)
    assert single.release(DATA, ledger=plain).charge == 1


@pytest.mark.filterwarnings("ignore:.*_with_ledger:DeprecationWarning")
def test_under_their_old_names_series_and_numbers_have_their_own_ways(path: Path) -> None:
    series = cdp.calibrate(cdp.MarkovChain(KERNEL), 1.0, query=cdp.Series())
    ledger = Ledger.create(path, budget=5)
    with pytest.raises(InputError, match="releases of numbers"):
        release_with_ledger(ledger, series, DATA)  # type: ignore[arg-type]
    count = cdp.calibrate(cdp.Independent(), epsilon=1.0, query=cdp.Count(1))
    with pytest.raises(InputError, match="for numbers"):
        sanitize_with_ledger(ledger, count, DATA)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ledger must be"):  # nothing is released unpaid
        release_with_ledger(None, count, DATA)  # type: ignore[arg-type]
    assert ledger.history() == ()


def test_the_old_names_name_the_new_way(path: Path) -> None:
    ledger = Ledger.create(path, budget=5)
    count = cdp.calibrate(cdp.Independent(), epsilon=1.0, query=cdp.Count(1))
    with pytest.warns(DeprecationWarning, match=r"calibration\.release\(data, ledger=ledger\)"):
        assert release_with_ledger(ledger, count, DATA, nonnegative=True).charge == 1
    series = cdp.calibrate(cdp.MarkovChain(KERNEL), 1.0, query=cdp.Series())
    with pytest.warns(DeprecationWarning, match=r"calibration\.release\(data, ledger=ledger\)"):
        assert sanitize_with_ledger(ledger, series, DATA).charge == 2


def test_a_ledger_may_be_named_by_its_file(path: Path) -> None:
    ledger = Ledger.create(path, budget=5)
    count = cdp.calibrate(cdp.Independent(), epsilon=1.0, query=cdp.Count(1))
    assert (count.release(DATA, ledger=path).charge, ledger.spent) == (1, 1.0)
    for wrong in (5, path.with_name("absent.ledger"), ""):
        with pytest.raises(InputError):
            count.release(DATA, ledger=wrong)  # type: ignore[arg-type]
    assert len(ledger.history()) == 1


@pytest.mark.parametrize("kind", ["dp", "bdp"])
def test_a_series_is_charged_and_stored(
    path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CHAIN if kind == "bdp" else None
    ledger = Ledger.create(path, budget=1, kind=kind, model=model)
    calibration = cdp.calibrate(CHAIN, 0.4, query=cdp.Series())
    for bad in ([0, 1, 2], [0, None], DATA * 2, []):
        with pytest.raises(InputError):
            calibration.release(bad, ledger=ledger)
    assert ledger.history() == ()
    answer = calibration.release(DATA, ledger=ledger)
    charge = ledger.history()[0]
    assert (answer.charge, answer.charge_hash) == (1, charge.hash)
    assert charge.runs == Runs.scalar(units_up(calibration.epsilon))
    assert Fraction(charge.runs.largest, UNIT) >= Fraction(calibration.epsilon)
    # two states need not lie equally often; a ledger counts the larger of the two levels
    assert ledger.spent >= (calibration.leakage.value if kind == "bdp" else calibration.epsilon)
    assert f"charge 1, {charge.hash}" in repr(answer)
    again = cdp.Sanitized.from_dict(json.loads(json.dumps(answer.to_dict())))
    assert again.to_dict() == answer.to_dict()
    assert ledger.answer(1) == answer.to_dict()
    drawn = []

    def struck(*arguments: Any) -> Any:
        drawn.append(len(ledger.history()))
        raise KeyboardInterrupt

    monkeypatch.setattr(sanitizing, "report_states", struck)
    with pytest.raises(KeyboardInterrupt):
        calibration.release(DATA, ledger=ledger)
    assert drawn == [1]
    assert len(ledger.history()) == 1
    large = cdp.calibrate(CHAIN, epsilon=2.0, query=cdp.Series())
    with pytest.raises(RefusedError, match="does not fit"):
        large.release(DATA, ledger=ledger)
    assert drawn == [1]
    if kind == "bdp":
        other = cdp.calibrate(CHAIN.with_length(9), 0.1, query=cdp.Series())
        with pytest.raises(RefusedError, match="the ledger's own model"):
            other.release(DATA, ledger=ledger)


@pytest.fixture(scope="module")
def private() -> cdp.MarkovChain:
    series = cdp.MarkovChain(KERNEL, 4000).sample(np.random.default_rng(1)).astype(bool)
    with usual_noise():
        return cdp.MarkovChain.fit([series.tolist()], private_epsilon=0.25).with_length(6)


def test_a_private_fit_counts_once_in_a_bdp_ledger(path: Path, private: cdp.MarkovChain) -> None:
    ledger = Ledger.create(path, budget=5, kind="bdp", model=private)
    (fit,) = ledger.history()
    assert (fit.kind, fit.epsilon, fit.digest) == ("fit", 0.25, private.digest)
    alone = cdp.leakage(private, 1e-12, confidence=0.95).value
    assert ledger.spent == pytest.approx(alone, abs=1e-11)
    ledger.charge(0.1, what="count", model=private)
    assert ledger.charge_fit(private) is None
    beside = cdp.leakage(private, 0.1, confidence=0.95).value
    assert ledger.spent == pytest.approx(beside, abs=1e-11)
    assert [charge.kind for charge in ledger.history()] == ["fit", "release"]
    assert ledger.epsilon == 0.35
    assert Ledger.open(path).check() == 2
    with pytest.raises(RefusedError, match="no ledger was made"):
        Ledger.create(path.with_name("small"), budget=0.1, kind="bdp", model=private)
    assert not path.with_name("small").exists()


def test_a_private_fit_counts_once_in_a_dp_ledger(path: Path, private: cdp.MarkovChain) -> None:
    ledger = Ledger.create(path, budget=0.5)
    with pytest.raises(RefusedError, match=r"beside the private fit.*at most epsilon 0\.25"):
        ledger.charge(0.3, what="count", model=private)
    assert ledger.history() == ()
    for _ in range(2):
        ledger.charge(0.1, what="count", model=private)
    assert [charge.kind for charge in ledger.history()] == ["fit", "release", "release"]
    assert ledger.spent == 0.45
    with pytest.raises(InputError, match="not fitted with private_epsilon"):
        ledger.charge_fit(CHAIN)


def test_a_charge_that_comes_between_is_counted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leakage is worked out without the lock; whoever charges meanwhile goes first."""
    ledger, other = Ledger.create(path, budget=1, kind="bdp", model=CHAIN), Ledger.open(path)
    cost = type(ledger._budget).cost
    seen = []

    def slow(self: Any, total: Runs) -> int:
        if self is ledger._budget and not seen:
            seen.append(total)
            other.charge(other.remaining, what="the other")
        return cost(self, total)

    monkeypatch.setattr(type(ledger._budget), "cost", slow)
    with pytest.raises(RefusedError, match="does not fit"):
        ledger.charge(0.1, what="count")
    assert [charge.what for charge in ledger.history()] == ["the other"]


# -- releases --------------------------------------------------------------------------------


def test_a_release_draws_what_was_charged_and_says_so(path: Path) -> None:
    ledger = Ledger.create(path, budget=1)
    calibration = cdp.calibrate(cdp.Independent(), epsilon=0.001, query=cdp.Count(1))
    for _ in range(20):
        answer = calibration.release(DATA, ledger=ledger, nonnegative=True)
    charge = ledger.history()[-1]
    assert (answer.charge, answer.charge_hash) == (20, charge.hash)
    assert Fraction(answer.epsilon) <= Fraction(1, 1000)
    assert Fraction(1) / Fraction(answer.scale) <= Fraction(answer.epsilon)
    assert answer.nonnegative
    assert ledger.spent == 0.02
    assert charge.what == str(cdp.Count(1))
    assert f"charge 20, {charge.hash}" in repr(answer)
    again = cdp.Release.from_dict(json.loads(json.dumps(answer.to_dict())))
    assert again.to_dict() == answer.to_dict()


def test_a_release_of_some_records_charges_only_them(path: Path) -> None:
    ledger = Ledger.create(path, budget=0.5, records=6)
    for part in (slice(0, 3), slice(3, 6)):
        calibration = cdp.calibrate(CHAIN, epsilon=0.5, query=cdp.Count(1, records=part))
        calibration.release(DATA, ledger=ledger)
    assert ledger.epsilon == 0.5
    assert ledger.history()[0].to_dict()["epsilon"] == [[UNIT // 2, 3], [0, 3]]


def test_real_records_go_into_a_dp_ledger(path: Path) -> None:
    pair = cdp.GaussianRecords.equicorrelated(2, 0.45, secret_range=(40, 160))
    calibration = cdp.calibrate(pair, 1.0, query=cdp.Sum(40, 160))
    ledger = Ledger.create(path, budget=1)
    calibration.release([90.0, 110.0], ledger=ledger)
    assert 0 <= calibration.epsilon - ledger.spent <= 1e-12


@pytest.mark.parametrize(
    ("data", "query"),
    [([0, 1, 2], cdp.Count(1)), (DATA * 2, cdp.Count(1)), ("absent.csv", cdp.Count(1)), (5, None)],
)
def test_what_can_fail_fails_before_the_charge(path: Path, data: Any, query: Any) -> None:
    ledger = Ledger.create(path, budget=5, kind="bdp", model=CHAIN)
    calibration = cdp.calibrate(CHAIN, 1.0, query=query or cdp.Count(1))
    with pytest.raises(InputError):
        calibration.release(data, ledger=ledger)
    wide = cdp.calibrate(cdp.Independent(), epsilon=1e4, query=cdp.Count(1))
    plain = Ledger.create(path.with_name("dp"), budget=1e5)
    with pytest.raises(RefusedError, match="no noise at all"):
        wide.release(DATA, ledger=plain)
    tiny = cdp.calibrate(cdp.Independent(), epsilon=1e-13, query=cdp.Count(1))
    with pytest.raises(InputError, match="below the unit"):
        tiny.release(DATA, ledger=plain)
    assert ledger.history() == plain.history() == ()


def test_nothing_is_sampled_for_a_refusal_and_nothing_charged_for_a_failed_sample(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(path, budget=1)
    calibration = cdp.calibrate(cdp.Independent(), epsilon=0.6, query=cdp.Count(1))
    drawn = []

    def struck(*arguments: Any, **options: Any) -> Any:
        drawn.append(len(ledger.history()))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(releasing, "with_noise", struck)
        with pytest.raises(KeyboardInterrupt):
            calibration.release(DATA, ledger=ledger)
        assert drawn == [0]
        assert ledger.history() == ()
        release = ledger.charge(0.6, what="another")
        with pytest.raises(RefusedError, match="does not fit"):
            calibration.release(DATA, ledger=ledger)
        assert drawn == [0]
    assert ledger.history() == (release,)


def test_a_sample_that_no_longer_fits_is_shown_to_nobody(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process charges between the sample and the lock."""
    ledger, other = Ledger.create(path, budget=1), Ledger.open(path)
    calibration = cdp.calibrate(cdp.Independent(), epsilon=0.6, query=cdp.Count(1))
    draw = releasing.with_noise

    def beaten(*arguments: Any) -> Any:
        other.charge(0.6, what="the other")
        return draw(*arguments)

    monkeypatch.setattr(releasing, "with_noise", beaten)
    with pytest.raises(RefusedError, match=r"does not fit.*Nothing was charged"):
        calibration.release(DATA, ledger=ledger)
    assert [charge.what for charge in ledger.history()] == ["the other"]
    assert ledger.answer(1) is None


# -- many processes, and crashes -------------------------------------------------------------


def test_eight_processes_never_overspend(path: Path) -> None:
    ledger = Ledger.create(path, budget=1)
    workers = [
        subprocess.Popen(child("charge", path, 200, 0.001), stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    granted = [int(worker.communicate()[0]) for worker in workers]
    assert sum(granted) == 1000
    assert ledger.check() == 1000
    assert ledger.spent == 1.0


def answers_are_charged(ledger: Ledger, answers: Path) -> tuple[int, int]:
    """Every answer has its charge, and every charge its answer; how many of each."""
    lines = answers.read_text().splitlines()
    charges = {charge.number: charge.hash for charge in ledger.history()}
    stored = {number: ledger.answer(number)["value"] for number in charges}
    for line in lines:
        number, seal, value = line.split()
        assert charges[int(number)] == seal
        assert stored[int(number)] == int(value)
    assert ledger.check() == len(charges)
    assert len({line.split()[0] for line in lines}) == len(lines) <= len(charges)
    return len(lines), len(charges)


def test_killed_200_times_no_answer_is_without_a_charge_nor_lost(path: Path) -> None:
    ledger, answers = Ledger.create(path, budget=1000), path.with_name("answers")
    run("killed", path, answers, 200, 1)
    made, charged = answers_are_charged(ledger, answers)
    assert made > 0
    assert charged - made <= 200


@pytest.mark.slow
def test_killed_in_real_releases_no_answer_is_without_a_charge_nor_lost(path: Path) -> None:
    ledger = Ledger.create(path, budget=1000, kind="bdp", model=CHAIN)
    answers, rng = path.with_name("answers"), random.Random(2)
    for _ in range(10):
        worker = subprocess.Popen(
            child("release", path, answers), stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 0.5))
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
    made, charged = answers_are_charged(ledger, answers)
    assert made >= 10
    assert charged - made <= 10


def test_a_full_disk_gives_an_error_and_no_charge(path: Path) -> None:
    ledger = Ledger.create(path, budget=1)
    granted, kind, message = run("full_disk", path).split(maxsplit=2)
    assert kind == "InputError"
    assert "the disk is full or failing" in message
    assert "Nothing was released" in message
    assert ledger.check() == int(granted) < 1000
    assert ledger.charge(0.1, what="count").number == int(granted) + 1


def test_an_unwritable_ledger_can_be_read_and_not_charged() -> None:
    folder = Path(tempfile.mkdtemp())  # where another user may look
    try:
        folder.chmod(0o755)
        path = folder / "steps.ledger"
        ledger = Ledger.create(path, budget=1)
        ledger.charge(0.5, what="count")
        path.chmod(0o444)
        seen, answer = run("unwritable", path).splitlines()
        assert seen == "0.5 1"
        assert answer.startswith("InputError cannot use the ledger")
        assert "check permissions" in answer
        assert ledger.check() == 1
    finally:
        shutil.rmtree(folder)


def test_a_busy_ledger_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(path, budget=1)
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.05)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(RefusedError, match="another process has held the ledger"):
        ledger.charge(0.1, what="count")
    assert ledger.spent == 0.0  # looking is possible meanwhile
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.charge(0.1, what="count").number == 1


# -- tampering, copies, and files that are no ledgers ----------------------------------------


@pytest.fixture
def three(path: Path) -> Ledger:
    ledger = Ledger.create(path, budget=1)
    for k, what in enumerate(("one", "two", "three"), start=1):
        ledger.charge(k / 10, what=what)
    return ledger


def edit(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as db:
        for statement in ("DROP TRIGGER charges_stay", "DROP TRIGGER charges_remain", *statements):
            db.execute(statement)
    db.close()


EDITS = {
    "words": (["UPDATE charges SET what = 'nothing' WHERE number = 2"], "charge 2 .*'nothing'"),
    "epsilon": (["UPDATE charges SET epsilon = '1' WHERE number = 2"], "charge 2 .* was changed"),
    "no epsilon": (["UPDATE charges SET epsilon = 'x' WHERE number = 2"], "charge 2 .* no epsilon"),
    "hash": (["UPDATE charges SET hash = 'x' WHERE number = 1"], "charge 1 "),
    "time": (["UPDATE charges SET made = '' WHERE number = 3"], "charge 3 "),
    "deleted": (["DELETE FROM charges WHERE number = 2"], "charge 2 of the ledger is missing"),
    "first": (["DELETE FROM charges WHERE number = 1"], "charge 1 of the ledger is missing"),
    "last": (["DELETE FROM charges WHERE number = 3"], "charge 3 of the ledger is missing"),
    "moved": (
        [
            "UPDATE charges SET number = 9 WHERE number = 1",
            "UPDATE charges SET number = 1 WHERE number = 2",
            "UPDATE charges SET number = 2 WHERE number = 9",
        ],
        "charge 1 .*'two'",
    ),
    "renumbered": (
        ["DELETE FROM charges WHERE number = 2", "UPDATE charges SET number = 2 WHERE number = 3"],
        "charge 2 .*'three'",
    ),
    "added": (
        ["INSERT INTO charges (number, version, made, kind, what, epsilon, hash) "
         "SELECT 4, version, made, kind, what, epsilon, hash FROM charges WHERE number = 3"],
        "charge 4 ",
    ),
    "budget": (["UPDATE ledger SET budget = 2000000000000"], "the budget and model"),
    "total": (["UPDATE head SET total = '0'"], "the total of the ledger is 0 at most"),
    "head": (["UPDATE head SET number = 2"], "charge 3 .* added behind its head"),
    "head's hash": (["UPDATE head SET hash = 'x'"], "head of the ledger was changed"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_tampering_is_found_and_named(three: Ledger, name: str) -> None:
    statements, message = EDITS[name]
    assert three.check() == 3
    edit(three.path, *statements)
    with pytest.raises(InputError, match=message):
        Ledger.open(three.path).check()


@pytest.mark.parametrize("name", ["last", "budget", "total", "head", "head's hash", "time"])
def test_nothing_is_charged_on_top_of_a_changed_end(three: Ledger, name: str) -> None:
    edit(three.path, *EDITS[name][0])
    with pytest.raises(InputError, match=r"check\(\)"):
        three.charge(0.1, what="four")


def test_an_edited_budget_of_an_empty_ledger_is_found(path: Path) -> None:
    ledger = Ledger.create(path, budget=1)
    edit(path, "UPDATE ledger SET budget = 2000000000000")
    with pytest.raises(InputError, match="the budget, the model or the head"):
        ledger.check()


def test_charges_resist_accidents(three: Ledger) -> None:
    db = sqlite3.connect(three.path)
    for statement in ("UPDATE charges SET what = ''", "DELETE FROM charges"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute(statement)
    db.close()


def test_damaged_pages_are_found(three: Ledger) -> None:
    content = bytearray(three.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    three.path.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged|not those of a ledger"):
        three.check()


@pytest.fixture(params=["copy", "backup"])
def copied(three: Ledger, request: pytest.FixtureRequest) -> Path:
    copy = three.path.with_name("copy.ledger")
    if request.param == "copy":
        shutil.copy(three.path, copy)
    else:
        source, target = sqlite3.connect(three.path), sqlite3.connect(copy)
        source.backup(target)
        source.close()
        target.close()
    return copy


def test_copies_open_and_check(three: Ledger, copied: Path) -> None:
    copy = Ledger.open(copied)
    assert copy.check() == 3
    assert copy.export() == three.export()
    assert copy.charge(0.1, what="four").number == 4
    assert sorted(p.name for p in three.path.parent.iterdir()) == ["copy.ledger", "steps.ledger"]


def test_a_ledger_stays_one_file(three: Ledger) -> None:
    db = sqlite3.connect(three.path)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    three.charge(0.1, what="four")
    db = sqlite3.connect(three.path)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    db.close()


def test_another_file_under_the_same_name_is_refused(three: Ledger) -> None:
    three.path.unlink()
    with pytest.raises(InputError, match="there is no ledger"):
        three.charge(0.1, what="four")
    Ledger.create(three.path, budget=1)
    with pytest.raises(InputError, match="not the ledger that was opened"):
        three.charge(0.1, what="four")


def test_an_older_copy_put_back_is_noticed(three: Ledger) -> None:
    """A restored file is whole in itself; who saw more of it, or kept a hash, is not taken in."""
    older = three.path.read_bytes()
    before, kept = three.head, three.charge(0.1, what="four").hash
    assert three.head == kept
    other = Ledger.open(three.path)
    assert other.check(kept) == other.check(before[:12]) == 4
    three.path.write_bytes(older)
    for look in (
        lambda: three.charge(0.1, what="four again"),
        lambda: three.spent,
        lambda: three.export(),
        lambda: three.check(),
    ):
        with pytest.raises(InputError, match=rf"no longer holds charge 4 \({kept[:12]}\)"):
            look()
    assert len(three.history()) == 3
    anew = Ledger.open(three.path)  # another process: nothing is known but what was kept
    assert anew.check() == anew.check(before) == 3
    with pytest.raises(InputError, match=f"has the hash {kept[:12]} that was kept"):
        anew.check(kept)
    anew.charge(0.1, what="another fourth")  # the same number, another history
    with pytest.raises(InputError, match="no longer holds charge 4"):
        three.charge(0.1, what="five")
    with pytest.raises(InputError, match="that was kept"):
        anew.check(kept)


@pytest.mark.parametrize("kept", ["", "3f9a", "x" * 64, "A" * 64, 5, "0" * 65])
def test_a_kept_hash_is_hexadecimal(three: Ledger, kept: Any) -> None:
    with pytest.raises(InputError, match="12 to 64 hexadecimal digits"):
        three.check(kept)


def test_an_empty_ledger_has_a_head(path: Path) -> None:
    ledger = Ledger.create(path, budget=1)
    start = ledger.head
    ledger.charge(0.1, what="count")
    assert ledger.check(start) == 1
    assert ledger.head != start
    assert Ledger.open(path) == ledger  # what was seen is no part of what it is


def test_long_words_are_cut_where_they_are_shown_only(path: Path) -> None:
    ledger = Ledger.create(path, budget=1)
    words = "count of `CASE WHEN a = 1 THEN 1 ELSE 0 END`,\n  " * 20
    charge = ledger.charge(0.1, what=words)
    assert len(charge.in_short) <= 80
    assert charge.in_short.endswith(" ...")
    assert "\n" not in charge.in_short
    assert charge.in_short in repr(ledger)
    assert ledger.export()["charges"][0]["what"] == words
    assert ledger.charge(0.1, what="count").in_short == "count"


def test_what_a_budget_rests_on_is_said(path: Path) -> None:
    series = CHAIN.with_length(500).sample(np.random.default_rng(1)).tolist()
    fitted = cdp.MarkovChain.fit([series]).with_length(6)
    ledger = Ledger.create(path, budget=1, kind="bdp", model=fitted, confidence=None)
    said = "the fitted numbers of the model are taken as exact"
    for text in (repr(ledger), json.dumps(ledger.export()), " ".join(ledger.assumptions)):
        assert said in text
        assert "first-order Markov chain" in text
    given = Ledger.create(path.with_name("given"), budget=1, kind="bdp", model=CHAIN)
    assert said not in repr(given)
    plain = Ledger.create(path.with_name("dp"), budget=1)
    assert "nothing about what dependence between records adds" in repr(plain)


def test_files_that_are_no_ledgers_are_refused(tmp_path: Path) -> None:
    text, empty, other, later = (tmp_path / n for n in ("text", "empty", "other", "later"))
    text.write_text("steps,date\n" * 500)
    empty.touch()
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    Ledger.create(later, budget=1)
    with sqlite3.connect(later) as db:
        db.execute("PRAGMA user_version = 5")
    db.close()
    for path, message in [
        (text, "is not a ledger"),
        (empty, "is not a ledger"),
        (other, "is not a ledger"),
        (later, "of version 5, this corrdp reads versions 2 to 4"),
        (tmp_path, "there is no ledger"),
        (tmp_path / "absent", "there is no ledger"),
    ]:
        with pytest.raises(InputError, match=message):
            Ledger.open(path)
    for path in (text, other, later):
        before = path.read_bytes()
        with pytest.raises(InputError, match=r"exists|is not a ledger"):
            Ledger.create(path, budget=1)
        assert path.read_bytes() == before
    # what a crash while making a ledger leaves
    assert Ledger.create(empty, budget=1).check() == 0


def test_exports_are_json_and_leave_the_model_out(path: Path) -> None:
    ledger = Ledger.create(path, budget=1, kind="bdp", model=CHAIN)
    ledger.charge(0.1, what="count", model=CHAIN)
    data = json.loads(json.dumps(ledger.export()))
    assert (data["kind"], data["budget"], data["digest"]) == ("bdp", UNIT, CHAIN.digest)
    assert data["charges"] == [ledger.history()[0].to_dict()]
    assert data["hash"] == data["charges"][-1]["hash"]
    assert data["spent"] == units_up(cdp.leakage(CHAIN, 0.1).value)
    assert "transition" not in json.dumps(data)
    assert "BDP budget 1" in repr(ledger)
    assert "epsilon 0.1, count" in repr(ledger)


# -- units -----------------------------------------------------------------------------------


def test_the_first_charge_fixes_the_unit(path: Path) -> None:
    ledger = Ledger.create(path, budget=3)
    assert ledger.unit is None
    charge = ledger.charge(1, what="tree", unit="one user replaced")
    assert (charge.unit, ledger.unit) == ("one user replaced", "one user replaced")
    for unit in ("one user added or removed", None):
        with pytest.raises(RefusedError, match=r"for one user replaced, and 'other' .* Keep a"):
            ledger.charge(1, what="other", unit=unit)
    fit = cdp.MarkovChain.fit([[False, True] * 99], private_epsilon=0.25)
    with pytest.raises(RefusedError, match="one record"):
        ledger.charge_fit(fit)
    assert ledger.charge(1, what="again", unit="one user replaced").number == 2
    assert (ledger.spent, ledger.check()) == (2.0, 2)
    assert ledger.export()["protects"] == "one user replaced"
    assert "unit         one user replaced" in repr(ledger)
    edit(path, "UPDATE charges SET unit = 'one point' WHERE number = 2")
    with pytest.raises(InputError, match="charge 2 "):
        Ledger.open(path).check()


def test_records_are_a_unit_too(path: Path) -> None:
    ledger = Ledger.create(path, budget=3)
    ledger.charge(1, what="count")
    assert ledger.unit == "one record"
    with pytest.raises(RefusedError, match="for one record, and 'tree'"):
        ledger.charge(1, what="tree", unit="one user replaced")
    model = Ledger.create(path.with_name("bdp"), budget=1, kind="bdp", model=CHAIN)
    with pytest.raises(RefusedError, match="records of its model"):
        model.charge(0.1, what="tree", unit="one user replaced")
    for unit in ("", " ", 3, "\ud800"):
        with pytest.raises(InputError, match="unit must say"):
            ledger.charge(1, what="tree", unit=unit)  # type: ignore[arg-type]
