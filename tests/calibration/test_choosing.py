"""Choosing order and seasons: losses against a plain loop, what is chosen, what a promise keeps."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import corrdp as cdp
from corrdp.calibration import choosing
from corrdp.calibration.choosing import choose
from corrdp.errors import DataError
from corrdp.models.chains.prediction import Tried, dense, held_out, is_near
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.files import model_from_dict
from corrdp.tables.seasons import count_runs_by_place
from tests.helpers.walks import SECOND, walk, walk_twice

DATA = os.environ.get("CORRDP_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no data directory")
DAY, NIGHT = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.97, 0.03], [0.5, 0.5]])
CLOCK = SeasonalChain([NIGHT, DAY], [0] * 6 + [1] * 18)
READ = {"state": "walks", "order_by": "t"}


def frame(values) -> pd.DataFrame:
    times = pd.date_range(datetime(2024, 1, 1), periods=len(values), freq="h")
    return pd.DataFrame({"t": times, "walks": values})


def plain_loss(series, order: int, longest: int) -> float:
    """Five folds of ten stretches each, one record after another."""
    n, total, number = len(series), 0.0, 0
    fold = np.arange(n) * 50 // n % 5
    for f in range(5):
        counts: dict = {}
        for t in range(longest, n):
            if fold[t] != f:
                window = tuple(series[t - order : t])
                counts.setdefault(window, [0.5, 0.5])[series[t]] += 1
        for t in range(longest, n):
            if fold[t] == f:
                row = counts.get(tuple(series[t - order : t]), [0.5, 0.5])
                total -= np.log(row[series[t]] / sum(row))
                number += 1
    return total / number


def test_losses_against_a_plain_loop():
    series = walk_twice(1_000, 3).tolist()
    runs = count_runs_by_place(series, ("",), 4, 1, folds=True)[1]
    for tried in held_out({"": dense(runs, 1, 2)}, range(1, 4)):
        assert tried.loss == pytest.approx(plain_loss(series, tried.order, 3))


def test_the_order_of_the_data_is_found():
    first = cdp.MarkovChain.fit(walk(DAY, (1, 8_000), 1)[0], order="auto", season="auto")
    assert isinstance(first, cdp.MarkovChain)
    second = cdp.MarkovChain.fit(walk_twice(20_000, 1), order="auto")
    assert second.order == 2
    listed = second.fitted.choice.tried
    assert [tried.order for tried in listed] == [1, 2, 3, 4]
    level = cdp.calibrate(second, 1.0, query=cdp.Count(0), robust=False, confidence=None).epsilon
    assert listed[1].noise == pytest.approx(1 / level, rel=2e-3)
    assert listed[2].noise > 0  # the neighbour that it is held against
    assert "given this choice" in " ".join(second.assumptions)
    again = model_from_dict(second.to_dict())
    assert again.digest == second.digest
    assert again.fitted.choice == second.fitted.choice


def test_the_clock_of_the_data_is_found():
    data = frame(CLOCK.sample(np.random.default_rng(2), 6_000))
    chain = cdp.MarkovChain.fit(data, **READ, order="auto", season="auto")
    assert isinstance(chain, SeasonalChain)
    assert chain.fitted.choice.season == "hour"
    assert chain.order == 1
    names = {tried.season for tried in chain.fitted.choice.tried}
    assert names == {"", "hour"}  # weekdays are not told apart
    given = cdp.MarkovChain.fit(data, **READ, order="auto", season="hour")
    assert given.digest != chain.digest
    np.testing.assert_array_equal(given.transition, chain.transition)


@pytest.mark.parametrize("season", ["weekday", "month"])
def test_a_promise_by_another_clock_is_kept_under_the_hours(season):
    data = frame(CLOCK.sample(np.random.default_rng(2), 6_000))
    chain = cdp.MarkovChain.fit(data, **READ, season=season)
    found = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    assert "a kernel for each hour" in [a.name for a in found.adequacy.alternatives]
    assert cdp.leakage(CLOCK, found.epsilon).value <= 1.0
    alone = cdp.calibrate(chain, 1.0, query=cdp.Count(1), robust=False, confidence=None)
    assert cdp.leakage(CLOCK, alone.epsilon).value > 1.0


def test_a_private_fit_does_not_choose():
    for asked in ({"order": "auto"}, {"season": "auto"}):
        with pytest.raises(DataError, match="does not choose"):
            cdp.MarkovChain.fit([0, 1] * 9, private_epsilon=1.0, states=[0, 1], **asked)


def test_the_rule():
    def tried(order, season, loss, parameters):
        return Tried(order, season, 1, parameters, loss, 0.0)

    one, two, three = tried(1, "", 0.5000, 2), tried(2, "", 0.4002, 4), tried(3, "", 0.4, 8)
    noise = {one: 4.0, two: 6.0, three: 6.1}
    found = choose((one, two, three), noise.get)
    assert (found.order, found.settled) == (2, True)
    assert "less than 5%" in found.words
    # what its loss rules out has no price
    assert [row.noise for row in found.tried] == [None, 6.0, 6.1]
    found = choose((one, two, three), {**noise, three: 8.0}.get)
    assert (found.order, found.settled) == (2, False)  # order 3 has no neighbour to be held against
    assert "up to 33%" in found.words
    hour = tried(3, "hour", 0.3, 30)
    found = choose((one, two, three, hour), {**noise, hour: 9.0}.get)
    assert (found.order, found.season) == (3, "hour")
    found = choose((one, two), lambda one: None)
    assert (found.order, found.settled) == (2, False)  # without a price nothing is settled


def test_what_a_standard_error_cannot_tell_apart_is_as_good():
    def tried(order, by_fold, parameters):
        return Tried(order, "", 1, parameters, sum(by_fold), 0.0, by_fold=tuple(by_fold))

    best = tried(3, [0.10, 0.08, 0.11, 0.09, 0.10], 8)
    lucky = tried(1, [0.08, 0.11, 0.10, 0.11, 0.09], 2)  # better here, worse there
    behind = tried(2, [0.11, 0.09, 0.12, 0.10, 0.11], 4)  # the same everywhere
    assert 1.005 * best.loss < lucky.loss < behind.loss
    assert is_near(lucky, best)
    assert not is_near(behind, best)
    found = choose((lucky, behind, best), {lucky: 4.0, behind: 4.1, best: 9.0}.get)
    assert found.order == 1
    assert "within a standard error of the least" in found.words


def test_luck_chooses_no_long_memory():
    """Few records of a chain of first order, of which order 4 happened to predict more."""
    orders = [
        cdp.MarkovChain.fit(walk(DAY, (1, 400), seed)[0], order="auto").fitted.choice.order
        for seed in range(12)
    ]
    assert max(orders) <= 2
    assert orders.count(1) >= 8


@needs_data
@pytest.mark.slow
def test_what_is_chosen_on_real_series(tmp_path):
    """Its held-out loss is at most half a percent above that of the best candidate."""
    place = Path(str(DATA))
    rate = np.loadtxt(place / "heart_rate_N10.txt.gz")[:, 1]
    power = pd.read_csv(place / "household_power_days.csv", parse_dates=["Datetime"])
    thirds = np.searchsorted(power.iloc[:, 1].quantile([1 / 3, 2 / 3]), power.iloc[:, 1])
    days = pd.DataFrame({"t": power["Datetime"], "walks": thirds})
    har = pd.read_csv(place / "har_activity_labels.csv")
    har["row"] = np.arange(len(har))
    fits = [
        cdp.MarkovChain.fit(
            place / "activity.csv", state="steps > 0", order_by=["date", "interval"],
            order="auto", season="auto",
        ),
        cdp.MarkovChain.fit(rate > np.median(rate), order="auto", season="auto"),
        cdp.MarkovChain.fit(days, **READ, order="auto", season="auto"),
        cdp.MarkovChain.fit(
            har, state="activity", order_by="row", group="subject", order="auto", season="auto",
            gaps=False,
        ),
    ]  # fmt: skip
    for chain in fits:
        choice = chain.fitted.choice
        best = min(tried.loss for tried in choice.tried)
        own = next(
            t.loss for t in choice.tried if (t.order, t.season) == (choice.order, choice.season)
        )
        assert own <= 1.005 * best
    assert (fits[0].order, fits[0].fitted.choice.season) == (2, "hour")


def covered(seeds, length) -> float:
    """How often the region of a pooled fit holds the true kernel of every season."""
    held = 0
    for seed in seeds:
        chain = cdp.MarkovChain.fit(CLOCK.sample(np.random.default_rng(seed), length), season=24)
        box = chain.region(0.95)
        low, high = (part.reshape(chain.transition.shape) for part in (box.lower, box.upper))
        of = chain.counted.kernel_of
        truth = CLOCK.transition[np.array(CLOCK.pattern)]
        held += bool(((low[of] <= truth) & (truth <= high[of])).all())
    return held / len(seeds)


def test_the_region_of_pooled_seasons_holds_the_truth():
    assert covered(range(20), 6_000) >= 0.95


@pytest.mark.slow
def test_the_region_of_pooled_seasons_covers_as_it_says():
    assert covered(range(400), 6_000) >= 0.95


@pytest.mark.slow
def test_a_promise_is_kept_under_the_law_of_the_clock():
    """Data from each alternative: the target is kept under the true law in 95 % of fits."""
    fits = 40
    held = 0
    for seed in range(fits):
        data = frame(CLOCK.sample(np.random.default_rng(seed), 4_000))
        chain = cdp.MarkovChain.fit(data, **READ)
        level = cdp.calibrate(chain, 1.0, query=cdp.Count(1)).epsilon
        held += cdp.leakage(CLOCK, level).value <= 1.0
    assert held >= 0.95 * fits
    second = np.array([[0.9, 0.1], [0.4, 0.6], [0.6, 0.4], [0.2, 0.8]])
    held = 0
    for seed in range(fits):
        chain = cdp.MarkovChain.fit(walk_twice(4_000, seed))
        level = cdp.calibrate(chain, 1.0, query=cdp.Count(1)).epsilon
        held += cdp.leakage(cdp.WindowChain(second, 2), level).value <= 1.0
    assert held >= 0.95 * fits


# -- the choosing included -----------------------------------------------------------------------


@pytest.fixture
def priced_quickly(monkeypatch):
    """Candidates priced by contraction: the rule is the same, and hundreds of fits take minutes."""

    def price(fitted, tried) -> float:
        chain = fitted(tried)
        asked = {"query": cdp.Count(chain.states[0]), "robust": False, "confidence": None}
        return 1 / cdp.calibrate(chain, 1.0, **asked, method="contraction").epsilon

    monkeypatch.setattr(choosing, "_noise", price)


def holds(chain, kernels) -> bool:
    """Whether the region of a chosen chain holds the law, which has a kernel for each hour, or one.

    A chain that remembers less than the law, or tells fewer hours apart, does not.
    """
    size = len(kernels[0])
    if chain.transition.shape[-2] < size:
        return False
    box = chain.region(0.95)
    low, high = (part.reshape(-1, *chain.transition.shape[-2:]) for part in (box.lower, box.upper))
    of = chain.counted.kernel_of if isinstance(chain, SeasonalChain) else [0] * len(kernels)
    for kernel, g in zip(kernels, of, strict=True):
        true = kernel[np.arange(low.shape[1]) % size]  # the newest records come last
        if not ((low[g] <= true) & (true <= high[g])).all():
            return False
    return True


def kept_and_held(data, truths, kernels=None, **asked) -> tuple[float, float]:
    """Shares of chosen fits that keep a target of 1 under the true laws, and that hold the law."""
    held = kept = 0
    for one in data:
        chain = cdp.MarkovChain.fit(one, **asked)
        assert chain.fitted.choice is not None
        level = cdp.calibrate(chain, 1.0, query=cdp.Count(1)).epsilon
        kept += max(cdp.leakage(truth, level).value for truth in truths) <= 1.0
        held += kernels is None or holds(chain, kernels)
    return kept / len(data), held / len(data)


def chosen_orders(seeds) -> tuple[float, float]:
    second = SECOND.reshape(4, 2)
    data = [walk_twice(4_000, seed) for seed in seeds]
    return kept_and_held(data, [cdp.WindowChain(second, 2)], [second], order="auto")


def chosen_clocks(seeds) -> tuple[float, float]:
    data = [frame(CLOCK.sample(np.random.default_rng(seed), 4_000)) for seed in seeds]
    kernels = CLOCK.transition[np.array(CLOCK.pattern)]
    return kept_and_held(data, [CLOCK], kernels, **READ, season="auto")


def chosen_of_halves(seeds) -> tuple[float, float]:
    """The first half of the records by one kernel, the second by another."""
    data = [np.concatenate([walk(k, (1, 2_000), seed)[0] for k in (DAY, NIGHT)]) for seed in seeds]
    kernels = np.concatenate([np.repeat(DAY[None], 2_000, 0), np.repeat(NIGHT[None], 1_999, 0)])
    return kept_and_held(data, [cdp.MarkovChain(kernels, 4_000, [0.5, 0.5])], order="auto")


@pytest.mark.slow
@pytest.mark.parametrize("simulated", [chosen_orders, chosen_clocks, chosen_of_halves])
def test_chosen_chains_cover_the_truth_and_keep_their_promise(simulated, priced_quickly):
    """Data from each alternative: region and target hold under the true law in 95 % of fits."""
    kept, held = simulated(range(20))
    assert min(kept, held) >= 0.95
