"""Gaussian records and pedigrees through the verbs and the commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import (
    DataError,
    GuaranteeError,
    InputError,
    NotApplicableError,
    QueryError,
    RefusedError,
)
from tests.helpers.commands import done, run

DATA = os.environ.get("CORRDP_DATA")
PAIR = [[225.0, 101.25], [101.25, 225.0]]  # standard deviations 15, correlation .45


@pytest.fixture(scope="module")
def heights(tmp_path_factory) -> Path:
    """Wide and long tables of the same 300 families of three."""
    folder = tmp_path_factory.mktemp("heights")
    rng = np.random.default_rng(3)
    values = np.array([69, 64, 67]) + 2 * (rng.normal(size=(300, 1)) + rng.normal(size=(300, 3)))
    roles = ("father", "mother", "child")
    lines = [",".join(f"{x:.3f}" for x in row) for row in values]
    (folder / "wide.csv").write_text(",".join(roles) + "\n" + "\n".join(lines) + "\n")
    people = [
        f"{k},{role},{x:.3f}"
        for k, row in enumerate(values)
        for role, x in zip(roles, row)  # noqa: B905
    ]
    (folder / "long.csv").write_text("family,role,height\n" + "\n".join(people) + "\n")
    return folder


def test_a_bare_epsilon_is_an_l1_rate_over_the_width():
    pair = cdp.GaussianRecords(PAIR, secret_range=(40, 160))
    assert cdp.leakage(pair, 1.0).value == pytest.approx(1.45)
    # a narrower query: the same epsilon is a larger rate
    narrow = cdp.leakage(pair, 1.0, query=cdp.Sum(60, 160))
    assert narrow.value == pytest.approx(1.45 * 120 / 100, rel=1e-5)
    assert cdp.leakage(pair, 1.0, query=cdp.Sum(100, 160)).value == pytest.approx(2.0)
    wide = cdp.leakage(pair, 1.0, query=cdp.Sum(0, 240))
    assert wide.value == pytest.approx(1.45 / 2, rel=1e-5)
    assert cdp.leakage(pair, cdp.L1(1 / 120)).value == pytest.approx(1.45)
    assert cdp.leakage(pair, cdp.L1(1 / 120)).kind == "exact"
    assert cdp.leakage(pair, 1.0).kind == "upper bound"
    by_query = cdp.leakage(pair, cdp.L1(1 / 120), query=cdp.Sum(40, 160))
    assert by_query.epsilon == pytest.approx(1.0)


def test_any_dp_mechanism_has_the_general_bound_alone():
    pair = cdp.GaussianRecords(PAIR, secret_range=(40, 160))
    leak = cdp.leakage(pair, cdp.Pure(1.0))
    assert (leak.value, leak.certificate.name) == (2.0, "general")
    assert leak.scope == "every mechanism with this guarantee"
    reasons = {c.method: c.reason for c in leak.candidates}
    assert "l1-private" in reasons["regression"]
    assert {"general", "regression"} <= set(reasons)
    assert "l1-private" in cdp.leakage(pair, 1.0).scope
    with pytest.raises(NotApplicableError, match="no DP level"):
        cdp.leakage(pair, cdp.L1(1 / 120), method="general")


def test_without_a_range_the_trap_is_explained():
    """Lange et al. (2025): values within the range leak 1.45 tau, far apart 2.00 tau."""
    from corrdp.bounds.gaussian.clipped import clipped_estimate

    pair = cdp.GaussianRecords(PAIR, mean=100)
    query = cdp.Sum(40, 160)
    near = clipped_estimate(pair, query, 1.0, record=0, values=(160, 40))
    far = clipped_estimate(pair, query, 1.0, record=0, values=(1000, -800))
    assert near == pytest.approx(1.4495, abs=2e-4)
    assert far == pytest.approx(2.0, abs=1e-6)
    leak = cdp.leakage(pair, 1.0, query=query)
    assert (leak.value, leak.certificate.name) == (2.0, "general")
    assert all("opposite ends" in c.reason for c in leak.candidates if c.method != "general")
    bounded = cdp.leakage(pair.blocks([pair], secret_range=(40, 160)), 1.0, query=query)
    assert near <= bounded.value <= 1.45 * (1 + 1e-5)
    assert bounded.at(1000, -800) == 2.0


def test_leakage_by_distance():
    pair = cdp.GaussianRecords(PAIR, secret_range=(40, 160))
    leak = cdp.leakage(pair, 1.0)
    assert leak.at(100, 100) == 0
    assert leak.at(100, 112) == pytest.approx(0.145)
    assert leak.at(160, 40) == pytest.approx(leak.value)
    assert leak.at(40, 1e9) == 2.0
    again = cdp.Leakage.from_dict(json.loads(json.dumps(leak.to_dict())))
    assert again.at(100, 112) == leak.at(100, 112)
    with pytest.raises(NotApplicableError, match="real records"):
        cdp.leakage(cdp.Groups(2), 1.0).at(0, 1)


def test_methods_by_name_only():
    pair = cdp.GaussianRecords([[1.0, -0.5], [-0.5, 1.0]], mean=5, secret_range=(0, 10))
    listed = {c.method for c in cdp.leakage(pair, 1.0).candidates}
    assert listed.isdisjoint({"signed", "estimate"})
    assert cdp.leakage(pair, cdp.L1(0.1), method="signed").value == pytest.approx(1.0)
    guess = cdp.leakage(pair, 1.0, query=cdp.Sum(0, 10), method="estimate")
    assert guess.kind == "estimate"
    assert guess.value <= cdp.leakage(pair, 1.0, query=cdp.Sum(0, 10)).value
    with pytest.raises(NotApplicableError, match="clips"):
        cdp.leakage(pair, 1.0, query=cdp.Sum(0, 10), method="signed")
    with pytest.raises(NotApplicableError, match="query=Sum"):
        cdp.leakage(pair, 1.0, method="estimate")


@pytest.mark.parametrize("bounds", [(40, 160), (60, 100), (0, 400)])
@pytest.mark.parametrize("target", [0.1, 1.0, 7.0])
def test_calibration_keeps_its_target(bounds, target):
    pair = cdp.GaussianRecords(PAIR, secret_range=(40, 160))
    query = cdp.Sum(*bounds)
    cal = cdp.calibrate(pair, target, query=query)
    assert cdp.leakage(pair, cal.epsilon, query=query).value <= target
    factor = min(2.0, 1.45 * 120 / query.width)
    assert cal.epsilon == pytest.approx(target / factor, rel=1e-5)
    assert cal.guarantee.rate == pytest.approx(cal.epsilon / query.width)
    assert cdp.Calibration.from_dict(cal.to_dict()).to_dict() == cal.to_dict()


def test_categories_are_no_families(tmp_path):
    rng = np.random.default_rng(1)
    with pytest.raises(DataError, match=r"'1' has 2 different values in 30 records.*groups:K"):
        cdp.GaussianRecords.fit(np.c_[rng.normal(size=30), rng.integers(0, 2, 30)])
    long = tmp_path / "long.csv"
    rows = [f"{k},{who},{rng.integers(0, 2)}" for k in range(40) for who in "ab"]
    long.write_text("home,who,ill\n" + "\n".join(rows) + "\n")
    refused = run("fit", "families", long, "--group", "home", "--role", "who", "--value", "ill")
    assert refused.exit_code == 2
    assert "2 different values in 80 records" in refused.output
    bare = run("fit", "families", long, "--group", "home", "--value", "ill")
    assert "number them within each family" in bare.output
    assert "groups:5" in bare.output
    few = cdp.GaussianRecords.fit(np.c_[rng.normal(size=29), rng.permutation(29) % 2])
    assert few.length == 58


def test_a_promise_on_a_law_that_is_not_normal_needs_a_word():
    rng, asked = np.random.default_rng(4), {"query": cdp.Sum(0, 8)}
    skew = rng.exponential(size=(400, 2)) @ [[1, 0.5], [0.5, 1]]
    model = cdp.GaussianRecords.fit(skew, secret_range=(0, 8))
    assert model.fitted.normality.log10_p < -6
    with pytest.raises(RefusedError, match=r"not normal \(which the data speak for, p < 1e-"):
        cdp.calibrate(model, 1.0, **asked)
    assert cdp.calibrate(model, 1.0, method="general", **asked).adequacy is None
    taken = cdp.calibrate(model, 1.0, accept="only the shape is off", **asked)
    assert taken.adequacy.against
    assert "accepted by the steward: only the shape is off" in repr(taken)
    assert cdp.Calibration.from_dict(taken.to_dict()).to_dict() == taken.to_dict()
    normal = cdp.GaussianRecords.fit(rng.normal(size=(400, 2)), secret_range=(0, 8))
    assert cdp.calibrate(normal, 1.0, **asked).adequacy is None


def test_release_in_memory():
    families = cdp.GaussianRecords.blocks([PAIR] * 200, secret_range=(40, 160))
    values = families.sample(np.random.default_rng(0)) + 100
    cal = cdp.calibrate(families, 1.0, query=cdp.Mean(40, 160))
    assert cal.query.n == 400
    answer = cal.release(values)
    assert abs(answer.value - np.clip(values, 40, 160).mean()) < 30 * cal.scale  # e^-30
    with pytest.raises(DataError, match="exactly 400"):
        cal.release(values[:-1])


def test_queries_that_are_not_sums_are_refused():
    pair = cdp.GaussianRecords(PAIR, secret_range=(40, 160))
    with pytest.raises(QueryError, match="not l1-private"):
        cdp.calibrate(pair, 1.0, query=cdp.Count(where="x > 3"))
    with pytest.raises(InputError, match="delta= is required"):
        cdp.leakage(pair, cdp.GDP(1.0))
    with pytest.raises(InputError, match="finitely many"):
        cdp.leakage(pair, mechanism=cdp.local.BinaryResponse(0.2))
    with pytest.raises(InputError, match="fitted"):
        cdp.leakage(pair, 1.0, confidence=0.95)


def test_wide_and_long_tables_agree(heights):
    wide = cdp.GaussianRecords.fit(
        heights / "wide.csv", columns=["father", "mother", "child"], secret_range=(55, 80)
    )
    long = cdp.GaussianRecords.fit(
        heights / "long.csv", group="family", role="role", value="height", secret_range=(55, 80)
    )
    assert cdp.leakage(wide, 1.0).value == pytest.approx(cdp.leakage(long, 1.0).value)
    assert cdp.leakage(wide, 1.0, confidence=0.95).value > cdp.leakage(wide, 1.0).value
    query = cdp.Sum(55, 80)
    for model, name in ((wide, "wide.csv"), (long, "long.csv")):
        cal = cdp.calibrate(model, 5.0, query=query)
        answer = cal.release(heights / name)
        assert abs(answer.value - 300 * 200) < 2000
        assert name in answer.reads
    with pytest.raises(QueryError, match="speaks about"):
        cdp.calibrate(wide, 1.0, query=cdp.Sum(55, 80, column="age"))
    one = cdp.calibrate(wide, 1.0, query=cdp.Mean(55, 80, column="child"))
    assert one.query.n == 300
    # only a third of the records are read
    assert np.count_nonzero(one.guarantee.rate) == 300
    assert abs(one.release(heights / "wide.csv").value - 67) < 3


def test_a_release_refuses_blocks_that_the_model_does_not_know(heights, tmp_path):
    long = cdp.GaussianRecords.fit(
        heights / "long.csv", group="family", role="role", value="height", secret_range=(55, 80)
    )
    cal = cdp.calibrate(long, 1.0, query=cdp.Sum(55, 80))
    text = (heights / "long.csv").read_text()
    aunt = tmp_path / "aunt.csv"
    aunt.write_text(text + "0,aunt,64\n")
    with pytest.raises(DataError, match="a role that the model does not know"):
        cal.release(aunt)
    twice = tmp_path / "twice.csv"
    twice.write_text(text + "7,child,64\n")
    with pytest.raises(DataError, match="the same group and role"):
        cal.release(twice)
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join(text.splitlines()[:-1]) + "\n")
    cal.release(fewer)  # a block that lacks a role leaks no more
    partial = cdp.GaussianRecords.fit(
        fewer, group="family", role="role", value="height", secret_range=(55, 80)
    )
    rows = partial.per_block(cdp.leakage(partial, 1.0).per_record)
    assert sorted((row.size, row.blocks) for row in rows) == [(2, 1), (3, 299)]
    assert min(rows, key=lambda row: row.size).largest < max(row.largest for row in rows)
    shown = done("fit", fewer, "--group", "family", "--role", "role", "--value", "height",
                 "--secret-range", "55:80")  # fmt: skip
    assert "how many" in shown.output


def test_commands(heights, tmp_path):
    model = tmp_path / "model.json"
    shown = done(
        "fit", heights / "wide.csv", "--columns", "father,mother,child", "--secret-range", "55:80",
        "-o", model, "--picture", tmp_path / "model.svg",
    )  # fmt: skip
    assert "standard deviation" in shown.output
    assert (tmp_path / "model.svg").read_text().startswith("<?xml")
    found = json.loads(done("leakage", model, "--epsilon", 1, "--json").stdout)
    assert found["certificate"]["name"] == "regression"
    report = tmp_path / "report.html"
    done("release", heights / "wide.csv", "--model", model, "--target", 1,
         "--query", "mean:55:80", "--report", report)  # fmt: skip
    page = report.read_text()
    assert "Correlations within a block" in page
    assert "secret range" in page
    long = ("--group", "family", "--role", "role", "--value", "height")
    done("fit", "families", heights / "long.csv", *long, "-o", tmp_path / "long.json")
    public = tmp_path / "public.html"
    done("release", heights / "wide.csv", "--model", model, "--target", 1,
         "--query", "mean:55:80", "--report", public, "--public")  # fmt: skip
    assert "Mardia" not in public.read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "say what to learn"),
        (("--columns", "father,mother", "--state", "x"), "--state is for"),
        (("--columns", "father,mother", "--linkage"), "choose one"),
        (("--columns", "father,mother", "--secret-range", "80"), "LOW:HIGH"),
        (("--columns", "father,mother", "--secret-range", "80:60"), "lower < upper"),
        (("--columns", "father,aunt"), "aunt"),
        (("--value", "father"), "--group, --role and --value"),
        (("--columns", "father,mother", "--markov-order", "2"), "--markov-order is not for"),
        (("--state", "father", "--snp", "rs1"), "--snp is not for"),
        (("--state", "father", "--edges", "x.csv"), "--id"),
    ],
)
def test_bad_options(heights, options, said):
    result = run("fit", heights / "wide.csv", *options)
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.skipif(not DATA, reason="CORRDP_DATA names no directory")
def test_published_data():
    galton = cdp.GaussianRecords.fit(
        Path(str(DATA)) / "galton.csv",
        columns=["father", "mother", "height"],
        siblings="independent",
        secret_range=(0, 100),
    )
    leak = cdp.leakage(galton, 1.0)
    assert leak.value == pytest.approx(1.4682, abs=5e-5)
    reasons = {c.method: c.reason for c in leak.candidates}
    assert "equal variances" in reasons["lange"]
    iq = cdp.GaussianRecords.fit(
        Path(str(DATA)) / "kidiq.csv", columns=["kid_score", "mom_iq"], secret_range=(40, 160)
    )
    assert cdp.leakage(iq, 1.0).value == pytest.approx(1.6100, abs=5e-5)
    with pytest.raises(NotApplicableError, match="20"):
        cdp.leakage(iq, 1.0, method="lange")


def test_pedigree_from_file_to_release(tmp_path):
    from tests.helpers.rows import write_tables

    folder = Path.cwd()
    os.chdir(tmp_path)
    try:
        write_tables()
    finally:
        os.chdir(folder)
    trios, model = tmp_path / "trios.csv", tmp_path / "rs1.json"
    assert "rs2" in done("fit", trios, "--linkage").output
    listed = json.loads(done("fit", "pedigree", trios, "--json").stdout)
    assert len(listed["rows"]) == 2
    done("fit", trios, "--linkage", "--snp", "rs1", "-o", model, "--picture", tmp_path / "f.png")
    report = tmp_path / "rs1.html"
    done("release", trios, "--model", model, "--target", 1, "--query", "count:BB",
         "--report", report)  # fmt: skip
    assert "The most frequent family" in report.read_text()
    least = cdp.minimum_error(cdp.load_model(model), 1.0, query=cdp.Count("BB"))
    assert least.alpha == 1.0
    assert run("fit", trios, "--linkage", "--snp", "rs9").exit_code == 2
    assert run("fit", trios, "--linkage", "-o", tmp_path / "x.json").exit_code == 2


def test_several_releases_add_their_rates():
    """Two sums clipped to [95, 105] at epsilon .5 are not one release at 1 over the range."""
    pair = cdp.GaussianRecords(PAIR, mean=100, secret_range=(40, 160))
    together = cdp.leakage(pair, cdp.L1(2 * 0.5 / 10, epsilon=1.0))
    assert together.value == pytest.approx(2.0)
    assert "rate 0.1 per unit" in cdp.leakage(pair, cdp.L1(0.1)).scope
    assert "rate 0.00833333 per unit" in cdp.leakage(pair, 1.0).scope


def test_no_promise_is_made_by_an_estimate():
    pair = cdp.GaussianRecords(PAIR, secret_range=(40, 160))
    for method in ("estimate", "signed"):
        with pytest.raises(NotApplicableError, match="no promise"):
            cdp.calibrate(pair, 1.0, query=cdp.Sum(40, 160), method=method)


def test_a_narrow_range_is_said_aloud():
    from corrdp.report.page import render_report

    pair = cdp.GaussianRecords(PAIR, secret_range=(95, 105))
    cal = cdp.calibrate(pair, 1.0, query=cdp.Sum(0, 200))
    assert cal.epsilon > 1
    assert any("wider than the secret range" in text for text in cal.assumptions)
    assert "two values within [95, 105]" in render_report(cal, pair)


def test_absurd_numbers_get_an_answer():
    with pytest.raises(QueryError, match="too wide"):
        cdp.Sum(-1e308, 1e308)
    with pytest.raises(GuaranteeError, match="promises nothing"):
        cdp.leakage(cdp.Groups(3), 1e308)
