"""Releases: the right answer, the right noise, the right refusals, and nothing else."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from corrdp.bounds.leakage import Leakage
from corrdp.bounds.scope import EVERY_MECHANISM
from corrdp.calibration.number import Calibration
from corrdp.errors import CorrdpError, DataError, InputError, QueryError, RefusedError
from corrdp.mechanisms.laplace import DiscreteLaplace
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.files import model_from_dict
from corrdp.models.groups import Groups, Independent, JointTable
from corrdp.models.reads import check_reads
from corrdp.queries import Count, Histogram, Mean, Query, Sum
from corrdp.release import number as releasing
from corrdp.release.answer import exact_answer
from corrdp.release.number import Release, draw
from corrdp.results import Certificate
from tests.helpers.chances import UNSEEDED

KERNEL = [[0.9, 0.1], [0.2, 0.8]]
CHAIN = MarkovChain(KERNEL, length=10)
WORDS = MarkovChain(KERNEL, states=["dry", "wet"])
PAIR = JointTable({(0, 0): 0.4, (1, 1): 0.4, (0, 1): 0.1, (1, 0): 0.1})


def calibrated(
    model: Model, query: Query, epsilon: float = 1.0, target: float | None = None
) -> Calibration:
    """A calibration made by hand: its certificate proves a leakage of twice epsilon."""
    certificate = Certificate("by hand", "this test", ("the test is right",))
    proof = Leakage(
        2 * epsilon,
        "upper bound",
        certificate,
        EVERY_MECHANISM,
        epsilon,
        model=model.describe(),
        digest=model.digest,
    )
    return Calibration(2 * epsilon if target is None else target, epsilon, proof, query, model)


@pytest.fixture(autouse=True)
def no_noise_on_errors(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """In tests of refusals, reaching the noise is itself a failure."""
    if "refus" not in request.node.name:
        return

    def forbidden(*args: Any) -> Any:
        pytest.fail("noise was drawn on bad input")

    build = releasing.integer_mechanism
    monkeypatch.setattr(
        releasing, "integer_mechanism", lambda *request: (forbidden, build(*request)[1])
    )


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """Eight rows, nothing missing."""
    path = tmp_path / "whole.csv"
    path.write_text("t,steps,kind\n" + "".join(f"{k},{k * k % 5},{k % 2}\n" for k in range(8)))
    return path


def fitted(path: Path, state: str = "steps > 0", **options: Any) -> MarkovChain:
    return MarkovChain.fit(path, state=state, order_by="t", **options)


# -- noise -----------------------------------------------------------------------------------


def test_noise_of_a_count_has_the_promised_law() -> None:
    calibration = calibrated(CHAIN, Count(1), 0.5)
    draws = np.array([draw(calibration, [0, 1, 1, 0]).value for _ in range(2_000)])
    law = DiscreteLaplace(Count(1), 2.0)
    inner = np.arange(-8, 9)
    expected = 2_000 * np.exp(law.noise_logpmf(inner))
    seen = np.array([(draws - 2 == k).sum() for k in inner])
    rest = 2_000 - expected.sum()
    statistic = stats.chisquare([*seen, 2_000 - seen.sum()], [*expected, rest])
    assert statistic.pvalue > UNSEEDED


def test_noise_of_histogram_cells_is_independent_and_of_the_promised_law() -> None:
    calibration = calibrated(WORDS, Histogram(["dry", "wet"]), 1.0)
    draws = np.array([draw(calibration, ["dry", "wet", "wet"]).value for _ in range(1_000)])
    noise = draws - [1, 2]
    law = DiscreteLaplace(Histogram(["dry", "wet"]), 2.0)
    grid = np.arange(-200, 201)
    p = np.exp(law.noise_logpmf(grid))
    size, variance = float((p * np.abs(grid)).sum()), float((p * grid**2).sum())
    # Chernoff: beyond 7.25 and, for products, 10.75 standard errors with probability 1e-10
    assert abs(np.abs(noise).mean() - size) < 8 * math.sqrt((variance - size**2) / 2_000)
    assert abs((noise[:, 0] * noise[:, 1]).mean()) < 11 * variance / math.sqrt(1_000)


@pytest.mark.parametrize(
    "query", [Count(1), Sum(0, 10), Mean(0, 10, n=7), Histogram([0, 1])], ids=lambda q: q.kind
)
def test_opendp_itself_proves_epsilon(query: Query) -> None:
    for epsilon in np.exp(np.random.default_rng(5).uniform(math.log(1e-6), math.log(50), 200)):
        least = DiscreteLaplace.for_epsilon(query, float(epsilon)).scale / query.grid
        measurement, scale = releasing.integer_mechanism(
            query.cells, query.steps, float(epsilon), least
        )
        assert measurement.map(query.steps) <= epsilon
        assert scale == pytest.approx(query.steps / epsilon, rel=1e-14)


def test_interval_covers_the_true_answer_as_often_as_it_says() -> None:
    calibration = calibrated(WORDS, Histogram(["dry", "wet"]), 0.8)
    hits = 0
    for _ in range(800):
        release = draw(calibration, ["dry", "wet", "wet"])
        hits += all(
            low <= v <= high for (low, high), v in zip(release.interval(0.9), [1, 2], strict=True)
        )
    law = DiscreteLaplace(calibration.query, release.scale)
    radius = (release.interval(0.9)[0][1] - release.interval(0.9)[0][0]) / 2
    exact = (1 - law.tail(int(radius) + 1)) ** 2
    assert exact >= 0.9
    assert stats.binomtest(hits, 800, exact).pvalue > UNSEEDED


# -- what is written down --------------------------------------------------------------------


def test_release_holds_everything_that_was_promised() -> None:
    calibration = calibrated(CHAIN, Count(1, missing="skip"), 0.25)
    release = calibration.release([0, 1, None])
    assert isinstance(release.value, int)
    assert release.epsilon == 0.25
    assert release.target == release.leakage == 0.5
    assert release.scale == 4.0
    assert release.grid == 1.0
    assert release.certificate == calibration.leakage.certificate
    assert release.scope == EVERY_MECHANISM
    assert release.query == Count(1, missing="skip").to_dict()
    assert release.assumptions == calibration.assumptions
    assert any("missing" in said for said in release.assumptions)
    assert (release.model, release.digest) == (CHAIN.describe(), CHAIN.digest)
    made = datetime.fromisoformat(release.made)
    assert made.utcoffset() == timedelta(0)
    assert made.microsecond == 0


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        (Count(1), int),
        (Sum(0, 3), float),
        (Mean(0, 3, n=3), float),
        (Histogram([0, 1]), list),
        (Count(1, records=slice(0, 2)), int),
    ],
    ids=lambda part: getattr(part, "kind", ""),
)
def test_results_round_trip_through_json(query: Query, kind: type) -> None:
    calibration = calibrated(CHAIN, query)
    release = calibration.release([0, 1, 1], nonnegative=True)
    assert type(release.value) is kind
    for result, home in ((release, Release), (calibration, Calibration)):
        data = json.loads(json.dumps(result.to_dict()))
        assert home.from_dict(data).to_dict() == result.to_dict()


def test_sums_lie_on_the_grid() -> None:
    query = Sum(0, 10)
    release = draw(calibrated(Independent(), query), [1.23, 4.56, 99])
    assert release.value / query.grid == round(release.value / query.grid)
    assert release.grid == query.grid
    assert release.scale == pytest.approx(10.0)


def test_nonnegative_clamps_after_the_noise() -> None:
    calibration = calibrated(CHAIN, Count(1), 0.01)
    values = [draw(calibration, [0, 0], nonnegative=True).value for _ in range(100)]
    assert min(values) == 0  # fails with probability 2^-100
    assert max(values) > 0
    assert draw(calibration, [0, 0], nonnegative=True).nonnegative
    cells = draw(calibrated(CHAIN, Histogram([0, 1]), 0.001), [0], nonnegative=True).value
    assert min(cells) >= 0


# -- sequences -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "query", "data", "message"),
    [
        (CHAIN, Count(1), [0, 1, 7], "1 of 3 values are no states .*first at index 2"),
        (CHAIN, Count(1), [[0, 1], [1, "x"]], "sequence 1, 1 of 2 .*first at index 1"),
        (CHAIN, Count(1), [0, {}], "index 1"),
        (PAIR, Count(1), [0, 2], "1 of 2 values are no states .*first at index 1"),
        (CHAIN, Count(1), [0, None, 1], "1 of 3 values are missing"),
        (CHAIN, Count(1), [0] * 11, r"11 records, the model was made for at most 10; refit or"),
        (CHAIN, Count(1), [[0], [0] * 11], "11 records"),
        (CHAIN, Count(1, missing="skip"), [0] * 9 + [None] * 2, "11 records"),
        (Independent(2), Count(1), [0, 1, 1], "3 records"),
        (PAIR, Count(1), [0], "1 records, the model was made for exactly 2; refit"),
        (Groups(labels=["a", "a", "b"]), Count(1), [0, 1], "exactly 3"),
        (Groups(labels=["a", "a"]), Count(1), [[0, 1], [0, 1]], "one sequence"),
        (CHAIN, Mean(0, 1, n=4), [0, 1, 1], r"calibrated for 4 records, the data have 3"),
        (CHAIN, Mean(0, 1, n=3, missing="skip"), [0, 1, None], "the data have 2"),
        (CHAIN, Count(1), [], "no records"),
        (CHAIN, Count(1), [[], []], "no records"),
        (CHAIN, Count(1), [0, [1]], "1 of 2 elements are sequences"),
        (Independent(), Count(1), np.zeros((2, 2, 2)), "3 dimensions"),
        (Independent(), Count(1), np.array(3), "expected a sequence"),
        (Independent(), Count(1), {"a": 1}, "expected a sequence"),
        (Independent(), Count(1), b"file.csv", "expected a sequence"),
        (Independent(), Count(1), 5, "expected a sequence"),
        (Independent(), Sum(0, 1), ["a", "b"], "needs numbers"),
        (Groups(2), Histogram(["x", "y"]), ["x", "z"], "not among the categories"),
    ],
)
def test_bad_sequences_are_refused(model: Model, query: Query, data: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        draw(calibrated(model, query), data)


# -- what a model may vouch for --------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "query", "message"),
    [
        (CHAIN, Count(2), "no state 2; its states are 0, 1"),
        (CHAIN, Count("1"), "no state '1'"),
        (PAIR, Count(2), "no state 2"),
        (CHAIN, Count(where="steps > 0"), "speaks about its states 0, 1 and no column"),
        (CHAIN, Sum(0, 1, column="steps"), "no column"),
        (WORDS, Sum(0, 1), "numeric states"),
        (CHAIN, Histogram([0, 2]), "no category for state 1"),
    ],
)
def test_queries_beyond_the_model_are_refused(model: Model, query: Query, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        check_reads(model, query)
    with pytest.raises(QueryError, match=message):
        draw(calibrated(model, query), [0, 1])


def test_calibrations_whose_proof_does_not_fit_are_refused() -> None:
    query = Count(1)
    with pytest.raises(RefusedError, match="proves a leakage"):
        draw(calibrated(CHAIN, query, 1.0, target=1.5), [0, 1])
    other = calibrated(CHAIN, query)
    with pytest.raises(RefusedError, match="its proof is for"):
        draw(Calibration(2.0, 1.5, other.leakage, query, CHAIN), [0, 1])
    with pytest.raises(RefusedError, match="another model"):
        draw(Calibration(2.0, 1.0, other.leakage, query, MarkovChain(KERNEL)), [0, 1])


@pytest.mark.parametrize("epsilon", [1e-17, 1e4, 1e300])
def test_noise_too_wide_or_absent_is_refused(epsilon: float) -> None:
    with pytest.raises(RefusedError, match="choose a"):
        draw(calibrated(CHAIN, Count(1), epsilon), [0, 1])


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_meaningless_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(CorrdpError):
        draw(calibrated(CHAIN, Count(1), epsilon), [0, 1])


def test_mean_without_its_number_of_records_is_refused() -> None:
    with pytest.raises(QueryError, match="public number of records"):
        draw(calibrated(CHAIN, Mean(0, 1)), [0, 1])


# -- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Count(True, records=slice(0, 2)), "records= needs a sequence"),
        (Count(True), "1 of 10 rows .* have no value"),
        (Mean(0, 1, n=10, missing="skip"), "calibrated for 10 records, the data have 9"),
    ],
)
def test_bad_questions_to_a_fitted_table_are_refused(
    walk: Path, query: Query, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draw(calibrated(fitted(walk, group="who"), query), walk)


def test_tables_longer_than_the_model_are_refused(walk: Path, whole: Path) -> None:
    chain = fitted(walk, group="who")
    assert chain.length == 5
    longer = walk.with_name("longer.csv")
    longer.write_text(walk.read_text() + "b,5,3\n")
    with pytest.raises(DataError, match="6 records, the model was made for at most 5"):
        draw(calibrated(chain, Count(True, missing="skip")), longer)
    with pytest.raises(DataError, match="8 records"):
        draw(calibrated(Independent(7), Count(where="t > 3")), whole)
    with pytest.raises(DataError, match="exactly 9"):
        draw(calibrated(Groups(labels=range(9)), Count(where="t > 3")), whole)


def test_unknown_states_in_a_table_are_refused(whole: Path) -> None:
    chain = fitted(whole, state="kind")
    other = whole.with_name("other.csv")
    other.write_text("t,steps,kind\n0,0,0\n1,0,5\n")
    with pytest.raises(DataError, match=r"`kind` is no state of the model in 1 rows"):
        draw(calibrated(chain, Count(1)), other)


@pytest.mark.parametrize(
    ("model", "query", "message"),
    [
        (MarkovChain(KERNEL), Count(1), "which column holds its states"),
        (Independent(), Count(1), r"Count\(where=...\)"),
        (Independent(), Sum(0, 1), "what the sum reads"),
        (Independent(), Histogram([0, 1]), "what the histogram reads"),
        (Independent(), Count(where="steps"), "not a condition"),
        (Independent(), Count(where="walked > 0"), "walked"),
        (Independent(), Sum(0, 1, column="walked"), "walked"),
        (Independent(), Histogram([0, 1], column="steps"), "not among the categories"),
        (Groups(labels="aabbccdd"), Count(1), r"Count\(where=...\)"),
    ],
)
def test_questions_that_a_table_cannot_answer_are_refused(
    whole: Path, model: Model, query: Query, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        draw(calibrated(model, query), whole)


@pytest.mark.parametrize(
    "text",
    [
        "steps > (SELECT avg(steps) FROM records)",
        "steps > (FROM records SELECT max(steps))",
        "steps > avg(steps) OVER ()",
        "steps > lag(steps) OVER (ORDER BY t)",
        "t IN (SELECT t FROM records WHERE steps > 0)",
        "exists(FROM records WHERE steps > 3)",
        "steps > 0; SELECT 1",
        "steps > (",
    ],
)
def test_expressions_that_read_other_rows_are_refused(whole: Path, text: str) -> None:
    # their sensitivity is not 1: one row that moves the average can move every row's answer
    with pytest.raises(DataError, match=r"a single row|cannot evaluate"):
        draw(calibrated(Independent(), Count(where=text)), whole)
    with pytest.raises(DataError, match=r"a single row|cannot evaluate"):
        draw(calibrated(Independent(), Sum(0, 1, column=text)), whole)
    with pytest.raises(DataError, match=r"a single row|cannot evaluate"):
        MarkovChain.fit(whole, state=text)


def test_missing_texts_of_the_fit_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv"
    path.write_text("steps\n" + "\n".join(["0", "5", "-999", "3", "0", "0", "-999", "4", "2"]))
    chain = MarkovChain.fit(path, state="steps > 0", missing=["-999"])
    assert (chain.fitted.rows, chain.fitted.missing) == (7, 2)
    again = model_from_dict(chain.to_dict())
    with pytest.raises(DataError, match="2 of 9 rows"):
        draw(calibrated(again, Count(False)), path)
    assert exact_answer(again, Count(False, missing="skip"), path) == [3]


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    calibration = calibrated(Independent(), Count(where="x > 0"))
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    for path in (tmp_path / "absent.csv", empty, tmp_path):
        with pytest.raises(DataError):
            draw(calibration, path)


def test_expressions_that_break_the_sensitivity_are_refused(whole: Path) -> None:
    # several values out of one row, or another value each time
    for text in (
        "unnest([steps > 0, steps > 0])",
        "unnest(list_transform(range(steps), lambda x: 1))",
        "unnest(repeat([1], steps))",
        "random() > .5",
        "uuid()",
        "*",
        "columns(*) > 3",
        "now() > t",
        "current_date",
    ):
        with pytest.raises(DataError):
            draw(calibrated(Independent(), Count(where=text)), whole)
        with pytest.raises(DataError):
            draw(calibrated(Independent(), Sum(0, 1, column=text)), whole)
        with pytest.raises(DataError):
            MarkovChain.fit(whole, state=text)


def test_a_chain_written_by_hand_can_name_its_states(whole: Path) -> None:
    chain = MarkovChain(KERNEL, states=(False, True))
    assert exact_answer(chain, Count(True), whole, "steps > 0")[0] >= 1
    release = draw(calibrated(chain, Count(True)), whole, state="steps > 0")
    assert release.reads == f"`steps > 0` in {whole.name}"
    with pytest.raises(QueryError, match="state="):
        exact_answer(chain, Count(True), whole)
    with pytest.raises(QueryError, match="states in a column"):
        exact_answer(Independent(), Sum(0, 1, column="steps"), whole, "steps > 0")
