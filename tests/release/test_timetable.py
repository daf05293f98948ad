"""A release reads the timetable that its certificate is about, or is refused.

The truth comes from tests/oracles/chains.py: the law of what was read, every adversary.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import corrdp as cdp
from corrdp.cli.commands import app
from corrdp.errors import DataError, InputError, RefusedError
from corrdp.models.chains.fitted import ChainFit
from corrdp.release.answer import exact_answer
from corrdp.tables.clock import Clock
from tests.oracles.chains import binary_response, chain_joint, laplace_leakage, response_leakage

SLOW = np.array([[0.7, 0.3], [1e-4, 0.9999]])
THREE = np.array([[0, 0.587, 0.413], [0.672, 0.306, 0.022], [0.943, 0.05, 0.007]])
COPY, COIN = [[0.99, 0.01], [0.01, 0.99]], [[0.5, 0.5], [0.5, 0.5]]
WAKING = cdp.MarkovChain([COPY] * 5 + [COIN] * 4, initial=[0.5, 0.5])  # ten records


def gapped(kernel: np.ndarray, steps: list[int]) -> np.ndarray:
    """The kernels between rows that are so many time steps apart."""
    return np.array([np.linalg.matrix_power(kernel, g) for g in steps])


# these tests are about time alone: the fitted numbers are taken as they are
AS_FITTED: dict[str, Any] = {"confidence": None, "robust": False}


def write_rows(path: Path, times: list[float], states: list[Any]) -> Path:
    rows = "".join(f"{t},{s}\n" for t, s in zip(times, states, strict=True))
    path.write_text("t,s\n" + rows)
    return path


def by_time(kernel: np.ndarray, length: int | None, **said: Any) -> cdp.MarkovChain:
    """A chain that says it was fitted to column s of rows one second apart."""
    fit = ChainFit(
        counts=[[1, 1], [1, 1]], triples=[], rows=9, missing=0, sequences=1, longest=9, breaks=0,
        state="s", order_by=("t",), clock=Clock("number", 0, 8, 1), **said,
    )  # fmt: skip
    return cdp.MarkovChain(kernel, length, fitted=fit)


# -- rows missing in time ----------------------------------------------------------------------


def test_a_gap_takes_the_time_that_no_row_shows(tmp_path):
    times = [0, 5, 6, 7, 8, 9]
    truth = chain_joint(gapped(SLOW, np.diff(times).tolist()), cdp.MarkovChain(SLOW).stationary, 6)
    attained = response_leakage(truth, [binary_response(0.05)] * 6)
    assert attained > 0.23462
    assert cdp.leakage(cdp.MarkovChain(SLOW, 6), 0.05).value == pytest.approx(0.18897, abs=1e-5)
    assert cdp.leakage(cdp.MarkovChain(SLOW, 10), 0.05).value >= attained

    rows = write_rows(tmp_path / "rows.csv", times, [0, 1, 1, 1, 0, 1])
    for length in (6, 9):
        short = cdp.calibrate(by_time(SLOW, length), 0.25, query=cdp.Count(1), **AS_FITTED)
        assert length > 6 or response_leakage(truth, [binary_response(short.epsilon)] * 6) > 0.31
        with pytest.raises(DataError, match=f"span 10 time steps, .* at most {length}; refit"):
            short.release(rows)
    for length in (10, None):
        answer = cdp.calibrate(by_time(SLOW, length), 0.25, query=cdp.Count(1)).release(rows)
        assert laplace_leakage(truth, sum, answer.scale) <= answer.target


def test_a_fit_is_as_long_as_the_time_its_rows_span(tmp_path):
    times = [*range(20), *range(30, 50)]
    rows = write_rows(tmp_path / "rows.csv", times, [k * k % 3 % 2 for k in range(40)])
    chain = cdp.MarkovChain.fit(rows, state="s", order_by="t")
    assert (chain.fitted.longest, chain.length, chain.records) == (40, 50, 40)
    assert cdp.calibrate(chain, 1.0, query=cdp.Mean(0, 1)).release(rows).target == 1.0
    assert cdp.MarkovChain.fit(rows, state="s", order_by="t", order=2).length == 50


def test_a_release_counts_time_in_the_steps_of_the_fit(tmp_path):
    whole = write_rows(tmp_path / "whole.csv", list(range(12)), [0, 1, 1, 0] * 3)
    chain = cdp.MarkovChain.fit(whole, state="s", order_by="t")
    cal = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    # every second row: no step is longer than the others, and each is two of the fit
    sparse = write_rows(tmp_path / "sparse.csv", list(range(0, 16, 2)), [0, 1] * 4)
    with pytest.raises(DataError, match="span 15 time steps"):
        cal.release(sparse)
    cal.release(write_rows(tmp_path / "fewer.csv", list(range(0, 12, 2)), [0, 1] * 3))
    dense = write_rows(tmp_path / "dense.csv", [k / 2 for k in range(8)], [0, 1] * 4)
    with pytest.raises(DataError, match=r"dense.csv is 0\.5 and that of the fit is 1"):
        cal.release(dense)


def test_places_within_a_day_are_those_of_the_fit(tmp_path):
    def write(name: str, days: int, hours: range) -> Path:
        rows = "".join(f"{d},{h},{d * h % 3 % 2}\n" for d in range(days) for h in hours)
        (tmp_path / name).write_text("day,hour,s\n" + rows)
        return tmp_path / name

    whole = write("whole.csv", 4, range(6))
    chain = cdp.MarkovChain.fit(whole, state="s", order_by=["day", "hour"])
    cal = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    cal.release(whole)
    # three of the six hours: a day takes six steps all the same
    with pytest.raises(DataError, match="span 33 time steps"):
        cal.release(write("mornings.csv", 4, range(3)))
    cal.release(write("morning.csv", 1, range(3)))


def test_events_in_order_have_no_gaps(tmp_path):
    rows = write_rows(tmp_path / "rows.csv", [0, 1, 2, 9, 10, 50], [0, 1, 1, 0, 0, 1])
    chain = cdp.MarkovChain.fit(rows, state="s", order_by="t", gaps=False)
    assert chain.length == 6
    cdp.calibrate(chain, 1.0, query=cdp.Count(1)).release(rows)
    cdp.calibrate(chain, 1.0, query=cdp.Count(1), method="exact", **AS_FITTED).release(rows)


def test_each_group_has_its_own_time_span(tmp_path):
    path = tmp_path / "people.csv"
    people = "".join(f"a,{t},{t % 3 % 2}\n" for t in range(8))
    path.write_text("who,t,s\n" + people + "b,100,1\nb,101,0\nb,103,1\n")
    chain = cdp.MarkovChain.fit(path, state="s", order_by="t", group="who")
    assert chain.length == 8
    cdp.calibrate(chain, 1.0, query=cdp.Count(1)).release(path)
    path.write_text(path.read_text() + "b,109,1\n")
    with pytest.raises(DataError, match="span 10 time steps"):
        cdp.calibrate(chain, 1.0, query=cdp.Count(1)).release(path)
    with pytest.raises(DataError, match="span 10 time steps"):
        cdp.calibrate(chain, epsilon=1.0, query=cdp.Series()).release(path)


def test_rows_that_a_fit_left_out_are_left_out_of_a_release(tmp_path):
    rows = write_rows(tmp_path / "rows.csv", list(range(40)), [k * k % 5 % 3 for k in range(40)])
    chain = cdp.MarkovChain.fit(rows, state="s > 0", order_by="t", where="t < 20 OR t > 30")
    assert (chain.length, chain.records) == (40, 29)
    query = cdp.Mean(0, 1)
    assert cdp.calibrate(chain, 1.0, query=query).release(rows).query["n"] == 29
    assert exact_answer(chain, cdp.Count(True), rows) == [
        sum(k * k % 5 % 3 > 0 for k in range(40) if k < 20 or k > 30)
    ]
    series = cdp.calibrate(chain, epsilon=1.0, query=cdp.Series())
    assert len(series.release(rows).values) == 29
    chain.save(tmp_path / "m.json")
    command = ["sanitize", str(rows), "--model", str(tmp_path / "m.json"), "--epsilon", "1", "-o"]
    done = CliRunner().invoke(app, [*command, str(tmp_path / "out.csv")])
    assert done.exit_code == 0, done.output
    times = [line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert times == [str(k) for k in range(40) if k < 20 or k > 30]


# -- which records a query names ---------------------------------------------------------------


def test_records_are_those_of_the_model():
    last = cdp.calibrate(WAKING, 1.0, query=cdp.Count(1, records=slice(-3, None)))
    joint = chain_joint(WAKING.kernels[:5], np.array([0.5, 0.5]), 6)
    assert laplace_leakage(joint, lambda x: sum(x[-3:]), last.scale) == pytest.approx(
        2.953, abs=1e-3
    )
    with pytest.raises(DataError, match="6 records, the model was made for exactly 10"):
        last.release([0, 1, 1, 0, 1, 1])
    assert last.release([0] * 10).target == 1.0


def test_a_ledger_charges_the_records_that_were_read(tmp_path):
    ledger = cdp.Ledger.create(tmp_path / "waking.ledger", budget=1.0, kind="bdp", model=WAKING)
    last = cdp.calibrate(WAKING, 1.0, query=cdp.Count(1, records=slice(-3, None)))
    with pytest.raises(DataError, match="exactly 10"):
        last.release([0, 1, 1, 0, 1, 1], ledger=ledger)
    assert not ledger.history()
    last.release([0, 1] * 5, ledger=ledger)
    with pytest.raises(DataError, match="exactly 10"):
        cdp.calibrate(WAKING, epsilon=1.0, query=cdp.Series()).release([0, 1, 1], ledger=ledger)
    assert len(ledger.history()) == 1


def test_counting_from_the_end_needs_the_end():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 10)
    for part in (slice(-3, None), slice(None, -2), slice(None, None, -2)):
        cal = cdp.calibrate(chain, 1.0, query=cdp.Count(1, records=part))
        with pytest.raises(DataError, match="from the end of the model's 10 records"):
            cal.release([0, 1, 1, 0, 1, 1])
        with pytest.raises(DataError, match="from the end"):
            cal.release([[0] * 10, [1] * 6])
        cal.release([[0] * 10, [1] * 10])
    cdp.calibrate(chain, 1.0, query=cdp.Count(1, records=slice(2, None))).release([0, 1, 1, 0])
    late = cdp.calibrate(chain, 1.0, query=cdp.Count(1, records=slice(6, 9)))
    with pytest.raises(DataError, match=r"none of the records in slice\(6, 9, None\)"):
        late.release([0, 1, 1, 0])


def test_a_law_that_changes_with_time_is_about_every_record_of_it(tmp_path):
    short = write_rows(tmp_path / "rows.csv", list(range(6)), [0, 1, 1, 0, 1, 1])
    for query in (cdp.Count(1), cdp.Series()):
        cal = cdp.calibrate(WAKING, 2.0, query=query)
        for data, options in (([0, 1, 1], {}), (short, {"state": "s"}), ([0] * 11, {})):
            with pytest.raises(DataError, match="the model was made for exactly 10"):
                cal.release(data, **options)
        cal.release([0, 1] * 5)


# -- what one query's noise leaks --------------------------------------------------------------


def test_an_exact_value_is_about_that_many_records():
    law = cdp.MarkovChain(THREE, 4)
    exact = cdp.calibrate(law, epsilon=1.0, query=cdp.Count(1), method="exact")
    assert exact.target == pytest.approx(1.5883, abs=1e-4)
    truth = chain_joint(THREE, law.start, 3)
    assert laplace_leakage(truth, lambda x: x.count(1), 1.0) == pytest.approx(1.6892, abs=1e-4)
    with pytest.raises(DataError, match=r'3 records.* exactly 4.*"best".*with_length\(3\)'):
        exact.release([0, 1, 2])
    with pytest.raises(DataError, match=r'exactly 4.*"best"'):
        exact.release([[0, 1, 2, 0], [0, 1, 2]])
    exact.release([[0, 1, 2, 0], [0, 1, 0, 1]])
    cdp.calibrate(law, 1.0, query=cdp.Count(1)).release([[0, 1, 2, 0], [0, 1, 2]])
    # worked out for every length
    quick = cdp.MarkovChain([[0.6, 0.4], [0.3, 0.7]])
    cdp.calibrate(quick, 1.0, query=cdp.Count(1), method="exact").release([[0, 1, 1, 0], [0, 1]])


def test_an_exact_value_is_about_rows_without_gaps(tmp_path):
    fast = np.array([[0.6, 0.4], [0.3, 0.7]])
    whole = write_rows(tmp_path / "whole.csv", [0, 1, 2, 3], [0, 1, 1, 0])
    holed = write_rows(tmp_path / "holed.csv", [0, 1, 2, 4], [0, 1, 1, 0])
    for length in (4, 5, None):
        cal = cdp.calibrate(
            by_time(fast, length), 1.0, query=cdp.Count(1), method="exact", **AS_FITTED
        )
        with pytest.raises(DataError, match="at most 4" if length == 4 else '"best"'):
            cal.release(holed)
        if length != 5:
            cal.release(whole)


# -- series ------------------------------------------------------------------------------------


def test_reports_one_at_a_time_end_where_the_model_ends():
    from corrdp.release.series import Reporter

    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 5)
    reporter = Reporter(cdp.calibrate(chain, epsilon=1.0, query=cdp.Series()))
    reporter.many([0, 1, 1])
    reporter.one(0)
    with pytest.raises(DataError, match="at most 5"):
        reporter.many([0, 1])
    reporter.one(1)
    with pytest.raises(DataError, match="at most 5"):
        reporter.one(1)


# -- random timetables -------------------------------------------------------------------------


def random_kernel(rng: np.random.Generator) -> np.ndarray:
    """Two states, from nearly copied to nearly alternating, now and then with a zero."""
    stay = rng.choice([0.0, 1e-3, 0.05, 0.5, 0.9, 0.99], size=2) + rng.uniform(0, 0.01, size=2)
    if rng.random() < 0.2:
        stay[0] = 0.0
    return np.array([[stay[0], 1 - stay[0]], [1 - stay[1], stay[1]]])


def random_model(rng: np.random.Generator, n: int) -> cdp.MarkovChain:
    if rng.random() < 0.4 and n > 1:
        kernels = [random_kernel(rng) for _ in range(n - 1)]
        return cdp.MarkovChain(kernels, initial=rng.dirichlet([1, 1]))
    initial = rng.dirichlet([1, 1]) if rng.random() < 0.4 else None
    return cdp.MarkovChain(random_kernel(rng), None if rng.random() < 0.15 else n, initial)


def random_part(rng: np.random.Generator, n: int) -> slice | None:
    ends = [None, *range(-n, n)]
    if rng.random() < 0.4:
        return None
    pick = [ends[k] for k in rng.integers(0, len(ends), size=2)]
    return slice(*pick, [None, 2, -1, -2][rng.integers(0, 4)])


def random_data(rng: np.random.Generator, n: int, whole: bool = False) -> list[list[int | None]]:
    """One to three sequences of about n records, with missing values."""
    share = 0.0 if whole else float(rng.choice([0.0, 0.3]))
    usual = max(1, n - int(rng.choice([0, 0, 0, 1, 2])))
    return [
        [None if rng.random() < share else int(x) for x in rng.integers(0, 2, size=m)]
        for m in rng.choice([usual] * 6 + [usual + 1], size=rng.integers(1, 4))
    ]


def law_of(model: cdp.MarkovChain, steps: int) -> Any:
    """The law of the first time steps."""
    kernels = model.transition if model.homogeneous else model.transition[: steps - 1]
    return chain_joint(kernels, model.start, steps)


def records_read(model: Any, query: Any, sequence: list[int | None]) -> list[int]:
    """The records whose change shows in the answer."""
    (before,) = exact_answer(model, query, [sequence])
    changed = [
        [*sequence[:k], 1 - x, *sequence[k + 1 :]] if x is not None else sequence
        for k, x in enumerate(sequence)
    ]
    return [k for k, other in enumerate(changed) if exact_answer(model, query, [other]) != [before]]


def check_release(rng: np.random.Generator) -> bool:
    """Release on a random timetable; False where it is refused."""
    n = int(rng.integers(1, 6))
    method = "exact" if rng.random() < 0.4 else "best"
    model, data = random_model(rng, n), random_data(rng, n, method == "exact")
    missing = "raise" if method == "exact" else "skip"
    if method == "exact" and model.length is None:
        model = model.with_length(n)  # every length at once takes seconds where rows are copied
    query = cdp.Count(1, records=random_part(rng, n), missing=missing)
    try:
        answer = cdp.calibrate(model, epsilon=float(rng.choice([0.1, 1.0, 3.0])), query=query,
                               method=method).release(data)  # fmt: skip
    except (InputError, RefusedError):
        return False
    for sequence in data:
        read = records_read(model, query, sequence)
        joint = law_of(model, len(sequence))
        leak = laplace_leakage(joint, lambda x, read=read: sum(x[k] for k in read), answer.scale)
        assert leak <= answer.target * (1 + 1e-9), (model, query, data)
        if method == "best":
            levels = [answer.epsilon * (k in read) for k in range(len(sequence))]
            leak = response_leakage(joint, [binary_response(e) for e in levels])
            assert leak <= answer.target * (1 + 1e-9), (model, query, data)
    return True


def test_no_release_leaks_more_than_it_promises():
    rng = np.random.default_rng(4)
    assert sum(check_release(rng) for _ in range(60)) > 15


@pytest.mark.slow
def test_no_release_leaks_more_than_it_promises_at_length():
    rng = np.random.default_rng(6)
    assert sum(check_release(rng) for _ in range(3000)) > 600


def check_ledger(rng: np.random.Generator, path: Path) -> int:
    """Random releases and series charged to one ledger keep its budget together."""
    n = int(rng.integers(2, 5))
    model = random_model(rng, n)
    if model.length is None:
        model = model.with_length(n)
    ledger = cdp.Ledger.create(path, budget=3.0, kind="bdp", model=model)
    data = [
        int(x) for x in rng.integers(0, 2, size=n - int(model.homogeneous and rng.random() < 0.5))
    ]
    spent = np.zeros(len(data))
    made = 0
    for _ in range(5):
        epsilon = float(rng.choice([0.05, 0.2, 0.6]))
        try:
            if rng.random() < 0.3:
                series = cdp.calibrate(model, epsilon=epsilon, query=cdp.Series())
                series.release(data, ledger=ledger)
                spent += series.epsilon
            else:
                query = cdp.Count(1, records=random_part(rng, n))
                count = cdp.calibrate(model, epsilon=epsilon, query=query)
                spent[records_read(model, query, data)] += count.release(
                    data, ledger=ledger
                ).epsilon
        except (InputError, RefusedError):
            continue
        made += 1
    joint = law_of(model, len(data))
    leak = response_leakage(joint, [binary_response(e) for e in spent])
    assert leak <= ledger.spent * (1 + 1e-9) + 1e-9
    assert leak <= 3.0
    return made


def test_no_ledger_gives_away_more_than_its_budget(tmp_path):
    rng = np.random.default_rng(7)
    assert sum(check_ledger(rng, tmp_path / f"{k}.ledger") for k in range(12)) > 12


def test_no_series_leaks_more_than_it_promises():
    rng = np.random.default_rng(8)
    made = 0
    for _ in range(40):
        n = int(rng.integers(1, 5))
        model, (data, *_) = random_model(rng, n), random_data(rng, n)
        who = "none" if model.homogeneous and rng.random() < 0.4 else "all"
        try:
            series = cdp.calibrate(
                model, epsilon=1.0, query=cdp.Series(missing="skip"), adversary=who
            ).release(data)
        except (InputError, RefusedError):
            continue
        made += 1
        channel, coin = series.mechanism.channel(), np.full((2, 2), 0.5)
        channels = [coin if x is None else channel for x in data]
        leak = response_leakage(law_of(model, len(data)), channels, knowing=who == "all")
        assert leak <= series.target * (1 + 1e-9), (model, data, who)
    assert made > 10


def test_no_table_leaks_more_than_is_promised(tmp_path):
    rng = np.random.default_rng(9)
    made = 0
    for number in range(12):
        kernel = random_kernel(rng)
        steps = rng.choice([1, 1, 2, 4], size=rng.integers(1, 4)).tolist()
        times = np.cumsum([0, 1, *steps]).tolist()
        model = by_time(kernel, int(rng.integers(len(times) - 1, times[-1] + 3)))
        rows = write_rows(
            tmp_path / f"{number}.csv", times, rng.integers(0, 2, len(times)).tolist()
        )
        query = cdp.Count(1) if rng.random() < 0.7 else cdp.Series()
        cal = cdp.calibrate(model, epsilon=1.0, query=query)
        if times[-1] >= model.length:
            with pytest.raises(DataError, match=r"time steps|records"):
                cal.release(rows)
            continue
        made += 1
        answer = cal.release(rows)
        joint = chain_joint(gapped(kernel, np.diff(times).tolist()), model.start, len(times))
        channels = [answer.mechanism.channel() if query == cdp.Series() else binary_response(1.0)]
        assert response_leakage(joint, channels * len(times)) <= answer.target * (1 + 1e-9)
    assert made > 3
