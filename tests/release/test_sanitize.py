"""Publishing a series: calibration, the reports, the command and the stream."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import DataError, InfeasibleError, InputError, NotApplicableError, RefusedError
from corrdp.release.series import Reporter
from tests.helpers.chances import usual_noise
from tests.helpers.commands import FIT, PLAIN, done, run, write_series
from tests.oracles.chains import chain_joint, response_leakage

CHAIN = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=("rest", "walk"))
BY_SEASON = cdp.SeasonalChain([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.5, 0.5]]], [0, 0, 1])
THREE = cdp.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]], 50)


@pytest.mark.parametrize("target", [0.3, 1.0, 2.0, 6.0])
@pytest.mark.parametrize("chain", [CHAIN, THREE, cdp.MarkovChain([[0.2, 0.8], [0.7, 0.3]], 9)])
def test_calibration_keeps_its_target(chain, target):
    cal = cdp.calibrate(chain, target, query=cdp.Series())
    assert cal.leakage.value <= target
    assert cdp.leakage(chain, mechanism=cal.mechanism).value <= target
    assert cal.leakage.value > 0.99 * target
    again = cdp.SeriesCalibration.from_dict(json.loads(json.dumps(cal.to_dict())))
    assert again.to_dict() == cal.to_dict()


def test_symmetric_costs_more_and_uninformed_less():
    best = cdp.calibrate(CHAIN, 2.0, query=cdp.Series())
    same = cdp.calibrate(CHAIN, 2.0, query=cdp.Series(symmetric=True))
    blind = cdp.calibrate(CHAIN, 2.0, query=cdp.Series(), adversary="none")
    assert same.mechanism.flip0 == same.mechanism.flip1
    assert blind.distortion <= best.distortion <= same.distortion
    assert "knows no other record" in blind.leakage.scope
    assert any("may learn up to" in text for text in blind.assumptions)
    assert cdp.leakage(CHAIN, mechanism=blind.mechanism).value > 2.0


def test_a_fit_promises_against_everyone_and_says_so():
    fit = cdp.MarkovChain.fit(CHAIN.sample(np.random.default_rng(0), 4000).tolist())
    blind = cdp.calibrate(fit, 2.0, query=cdp.Series(), adversary="none")
    assert "against every adversary: at a confidence level" in blind.cost
    alone = cdp.calibrate(fit, 2.0, query=cdp.Series(), adversary="none", confidence=None)
    assert "every adversary" not in alone.cost
    assert alone.distortion < blind.distortion


@pytest.mark.parametrize("chain", [CHAIN.with_length(2000), THREE.with_length(2000), BY_SEASON])
def test_it_says_how_far_counts_by_the_reports_are_off(chain):
    cal = cdp.calibrate(chain.with_length(2000), 3.0, query=cdp.Series())
    rng, inside = np.random.default_rng(1), 0
    for _ in range(200):
        truth = np.array([chain.states.index(x) for x in chain.sample(rng, 2000)])
        sent = cal.mechanism.sample(truth, rng)
        estimates = cal.mechanism.channel().T
        found = np.linalg.solve(estimates, np.bincount(sent, minlength=len(chain.states)))
        off = np.abs(found - np.bincount(truth, minlength=len(chain.states)))
        inside += bool(off[-1] <= cal.count_error)
    assert inside >= 184
    assert f"is off by up to {cal.count_error:,.0f} in 95 % of series" in cal.cost
    assert "says nothing" in cdp.calibrate(chain.with_length(20), 0.1, query=cdp.Series()).cost


def test_chains_of_order_two():
    chain = cdp.WindowChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]], 2)
    cal = cdp.calibrate(chain, 2.0, query=cdp.Series())
    assert cal.leakage.certificate.name == "transfer"
    assert 1.99 < cal.leakage.value <= 2.0
    assert cal.distortion == pytest.approx(cal.mechanism.flip0)
    again = cdp.SeriesCalibration.from_dict(json.loads(json.dumps(cal.to_dict())))
    assert again.to_dict() == cal.to_dict()
    blind = cdp.calibrate(chain, 2.0, query=cdp.Series(), adversary="none")
    assert blind.distortion <= cal.distortion
    assert any("may learn up to" in text for text in blind.assumptions)
    assert len(cal.release([0, 1] * 7)) == 14
    with pytest.raises(NotApplicableError, match="first order"):
        cdp.calibrate(chain, 2.0, query=cdp.Series(), method="published")


def test_a_fit_of_order_two_is_published(tmp_path):
    rng = np.random.default_rng(0)
    steps = cdp.WindowChain([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.3, 0.7]], 2).sample(rng, 1500)
    path, model, out = tmp_path / "s.csv", tmp_path / "model.json", tmp_path / "out.csv"
    write_series(path, steps.tolist())
    done("fit", path, *FIT, "--markov-order", 2, "-o", model)
    done("sanitize", path, "--model", model, "--target", 2, "--confidence", "none", "-o", out)
    assert len(out.read_text().splitlines()) == 1501


@pytest.mark.parametrize("target", [0.5, 2.0])
def test_no_place_of_the_period_leaks_more_than_promised(target):
    cal = cdp.calibrate(BY_SEASON, target, query=cdp.Series())
    channels = [cal.mechanism.channel()] * 6
    found = []
    for first in range(3):  # wherever in the period a series begins
        pattern = np.roll(BY_SEASON.pattern, -first)
        begun = cdp.SeasonalChain(BY_SEASON.transition, pattern)
        kernels = begun.unrolled(6).transition
        found.append(response_leakage(chain_joint(kernels, begun.start, 6), channels))
    assert 0.9 * target < max(found) <= cal.leakage.value <= target


def test_a_fit_with_seasons_is_published(tmp_path):
    rng = np.random.default_rng(0)
    path, model, out = tmp_path / "s.csv", tmp_path / "model.json", tmp_path / "out.csv"
    write_series(path, BY_SEASON.sample(rng, 1500).tolist())
    done("fit", path, *FIT, "--markov-order", 1, "--season", 3, "-o", model)
    report, options = tmp_path / "out.html", ("--model", model, "--target", 3)
    shown = done("sanitize", path, *options, "-o", out, "--report", report).output
    said = " ".join(shown.split())
    assert "the confidence region of the fit asks for epsilon" in said
    assert "(by every law in it, at 0.95)" in said
    assert len(out.read_text().splitlines()) == 1501
    assert "How a record is reported" in report.read_text()
    assert len(run("sanitize", "-", *options, input="True\nFalse\n").stdout.splitlines()) == 2


def test_published_closed_form_is_for_symmetric_chains():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.1, 0.9]])
    cal = cdp.calibrate(chain, 1.0, query=cdp.Series(), method="published")
    assert cal.mechanism.flip0 == pytest.approx(0.482954, abs=1e-6)
    assert cal.leakage.value == pytest.approx(0.604768, abs=1e-5)
    with pytest.raises(NotApplicableError, match="equal switching"):
        cdp.calibrate(CHAIN, 1.0, query=cdp.Series(), method="published")


def test_a_level_for_each_report():
    cal = cdp.calibrate(CHAIN, epsilon=1.0, query=cdp.Series())
    assert cal.epsilon <= 1.0
    assert cal.epsilon == pytest.approx(1.0, abs=1e-8)
    assert cal.target == cal.leakage.value
    assert cdp.calibrate(THREE, epsilon=1.0, query=cdp.Series()).mechanism == cdp.local.GRR(3, 1.0)


@pytest.mark.parametrize(
    ("model", "options", "error", "said"),
    [
        (cdp.Groups(3), {}, NotApplicableError, "Markov chain of single records"),
        (BY_SEASON, {"adversary": "none"}, InputError, "one kernel"),
        (BY_SEASON, {"method": "published"}, NotApplicableError, "one kernel"),
        (CHAIN, {"method": "contraction"}, InputError, "best or published"),
        (CHAIN, {"confidence": 0.95}, NotApplicableError, "region"),
        (THREE, {"adversary": "none"}, NotApplicableError, "two states"),
    ],
)
def test_what_is_refused(model, options, error, said):
    with pytest.raises(error, match=said):
        cdp.calibrate(model, 1.0, query=cdp.Series(), **options)


def test_adversary_none_is_for_series():
    with pytest.raises(InputError, match="against all"):
        cdp.calibrate(CHAIN, 1.0, query=cdp.Count("walk"), adversary="none")
    with pytest.raises(InputError, match="adversary must be"):
        cdp.leakage(CHAIN, 1.0, adversary="some")
    with pytest.raises(InputError, match="Markov chains"):
        cdp.leakage(cdp.Groups(2), 1.0, adversary="none")


def test_reports_follow_the_law():
    """Shares of lies within seven standard deviations (3e-12): the noise cannot be seeded."""
    cal = cdp.calibrate(CHAIN, 2.0, query=cdp.Series())
    n = 20_000
    for state, flip in zip(CHAIN.states, cal.mechanism.channel()[[0, 1], [1, 0]], strict=True):
        reports = cal.release([state] * n).values
        lies = sum(1 for r in reports if r != state)
        assert abs(lies - n * flip) < 7 * np.sqrt(n * flip * (1 - flip))
    three = cdp.calibrate(THREE, 4.0, query=cdp.Series())
    reports = np.array([three.release([0] * 50).values for _ in range(100)]).ravel()
    law = three.mechanism.channel()[0]
    counts = np.bincount(reports, minlength=3)
    assert (np.abs(counts - 5000 * law) < 7 * np.sqrt(5000 * law)).all()


def test_estimates_from_a_published_series():
    truth = np.array(["rest", "walk"])[(np.arange(5000) % 5 == 0).astype(int)]
    cal = cdp.calibrate(CHAIN, 6.0, query=cdp.Series())
    done_ = cal.release(truth)
    found = done_.estimate()
    low, high = found.interval(1 - 1e-10)
    assert low <= 1000 <= high
    again = cdp.Sanitized.from_dict(json.loads(json.dumps(done_.to_dict())))
    assert again.to_dict() == done_.to_dict()
    belief = cdp.attacks.posterior(CHAIN, cal.mechanism.channel(), done_.values)
    assert belief.shape == (5000, 2)
    leak = cdp.local.output_leakage(CHAIN, cal.mechanism, done_.values)
    assert leak.value <= cal.leakage.value * (1 + 1e-9)


def test_bad_records_release_nothing():
    cal = cdp.calibrate(CHAIN, 2.0, query=cdp.Series())
    with pytest.raises(DataError, match="record 1: a value of type str is not a state"):
        cal.release(["rest", "run"])
    with pytest.raises(DataError, match="missing"):
        cal.release(["rest", None])
    with pytest.raises(DataError, match="missing"):
        cal.release(["rest", float("nan")])
    with pytest.raises(DataError, match="no records"):
        cal.release([])
    gaps = cdp.calibrate(CHAIN, 2.0, query=cdp.Series(missing="skip"))
    assert gaps.release(["rest", None, "walk"]).values[1] is None
    with pytest.raises(DataError, match="at most 50"):
        cdp.calibrate(THREE, 2.0, query=cdp.Series()).release([0] * 51)


def test_an_edited_calibration_is_refused():
    cal = cdp.calibrate(CHAIN, 2.0, query=cdp.Series())
    with pytest.raises(RefusedError, match="another mechanism"):
        Reporter(replace(cal, mechanism=cdp.local.BinaryResponse(0.01)))
    with pytest.raises(RefusedError, match="promises"):
        Reporter(replace(cal, target=1.0))
    with pytest.raises(RefusedError, match="another model"):
        Reporter(replace(cal, model=cdp.MarkovChain([[0.8, 0.2], [0.3, 0.7]])))


def test_a_private_fit_is_counted():
    data = np.tile([0, 0, 0, 1, 1], 400)
    with usual_noise():
        fit = cdp.MarkovChain.fit(data, private_epsilon=0.2, states=[0, 1])
    cal = cdp.calibrate(fit, 4.0, query=cdp.Series())
    assert cal.leakage.value <= 4.0
    plain = cdp.MarkovChain(fit.transition, fit.length, fit.initial, fit.states)
    assert cal.distortion > cdp.calibrate(plain, 4.0, query=cdp.Series()).distortion


@pytest.mark.parametrize("given", [{}, {"season": 2}, {"order": 2}])
def test_a_private_fit_may_leave_nothing(given):
    with usual_noise():
        fit = cdp.MarkovChain.fit(
            np.tile([0, 0, 0, 1, 1], 400), private_epsilon=0.2, states=[0, 1], **given
        )
    with pytest.raises(InfeasibleError, match=r"private fit .*epsilon 0.2\) alone leaks"):
        cdp.calibrate(fit, 0.1, query=cdp.Series(), confidence=None)


# -- the command -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sanitize")
    steps = cdp.MarkovChain([[0.88, 0.12], [0.3, 0.7]], 480).sample(np.random.default_rng(5)) * 40
    write_series(folder / "steps.csv", ["NA", *steps.tolist()])
    done("fit", folder / "steps.csv", *FIT, "-o", folder / "model.json")
    return folder


def test_command(home):
    out, report = home / "out.csv", home / "out.html"
    options = ("--model", home / "model.json", "--target", 2, "--skip-missing")
    assert (
        "expected to be wrong" in done("sanitize", home / "steps.csv", *options, "--dry-run").output
    )
    assert not out.exists()
    done("sanitize", home / "steps.csv", *options, "-o", out, "--report", report)
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 481
    assert rows[0]["report"] == ""
    assert {row["report"] for row in rows[1:]} == {"true", "false"}
    assert rows[5]["interval"] == "5"
    page = report.read_text()
    assert "How a record is reported" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    again = run("sanitize", home / "steps.csv", *options, "-o", out)
    assert again.exit_code == 2
    assert "--force" in again.output


def test_stream(home):
    options = ("--model", str(home / "model.json"), "--target", "2", "--skip-missing")
    result = run("sanitize", "-", *options, input="True\n\nFalse\ntrue\n")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert len(lines) == 4
    assert lines[1] == ""
    broken = run("sanitize", "-", *options, input="True\nFalse\nmaybe\nTrue\n")
    assert broken.exit_code == 2
    assert len(broken.stdout.splitlines()) == 2
    assert "line 3 of stdin: the states of this model are True and False" in broken.output
    column = run("sanitize", "-", *options, input="True\n1\n")  # steps, not whether there were any
    assert column.exit_code == 2
    assert len(column.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--target", 1), "-o sanitized.csv"),
        (("--target", 1, "--epsilon", 1, "-o", "x.csv"), "exactly one of"),
        (("--target", -1, "-o", "x.csv"), "target must be"),
        (("--target", 1, "-o", "x.csv"), "--skip-missing"),
        (("--target", 1, "-o", "x.csv", "--keep", "nowhere", "--skip-missing"), "nowhere"),
    ],
)
def test_bad_options(home, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    result = run("sanitize", home / "steps.csv", "--model", home / "model.json", *options)
    assert result.exit_code == 2
    assert said in result.output
    assert not list(tmp_path.iterdir())


def test_the_state_is_never_kept_beside_the_reports(home, tmp_path):
    options = ("--model", home / "model.json", "--target", 2, "--skip-missing")
    out = tmp_path / "out.csv"
    result = run("sanitize", home / "steps.csv", *options, "-o", out, "--keep", "date,steps")
    assert result.exit_code == 2
    assert "undo the noise" in result.output
    assert not out.exists()


def test_many_series_in_one_table(tmp_path):
    rows = [f"{who},{t},{(t * who) % 3 % 2}" for who in (1, 2, 3) for t in range(20)]
    path, model = tmp_path / "many.csv", tmp_path / "model.json"
    path.write_text("\n".join(["who,t,state", *rows]) + "\n")
    done("fit", path, "--state", "state", "--order", "t", "--group", "who", *PLAIN, "-o", model)
    out = tmp_path / "out.csv"
    done("sanitize", path, "--model", model, "--target", 2, "-o", out)
    assert out.read_text().splitlines()[0] == '"who","t","report"'
    assert len(out.read_text().splitlines()) == 61


def test_times_of_events_are_not_published(tmp_path):
    rows = [f"{10 * k + 907},{(k // 3) % 2}" for k in range(60)]
    path, model, out = (tmp_path / name for name in ("beats.csv", "model.json", "out.csv"))
    path.write_text("\n".join(["t,state", *rows]) + "\n")
    done("fit", path, "--state", "state", "--order", "t", "--no-gaps", *PLAIN, "-o", model)
    options = ("--model", model, "--target", 2, "--accept-model", "a test", "-o", out)
    said = done("sanitize", path, *options).output
    assert "records are numbered" in " ".join(said.split())
    assert out.read_text().splitlines()[0] == '"record","report"'
    assert [line.split(",")[0] for line in out.read_text().splitlines()[1:]] == [
        str(k) for k in range(1, 61)
    ]
    done("sanitize", path, *options, "--keep", "t", "--force")
    assert out.read_text().splitlines()[0] == '"t","report"'


def test_a_public_column_is_not_lost_to_one_of_the_same_name(tmp_path):
    rows = [f"{k % 2},{k},{k},{(k // 3) % 2}" for k in range(60)]
    path, model, out = (tmp_path / name for name in ("beats.csv", "model.json", "out.csv"))
    path.write_text("\n".join(["record,report,t,state", *rows]) + "\n")
    fit = ("--order", "t", "--group", "record", "--independent-groups", "a test", "--no-gaps")
    done("fit", path, "--state", "state", *fit, "-o", model, "--json")
    level = ("--epsilon", 1, "--confidence", "none", "--accept-model", "a test")
    for name, kept in (("record", ()), ("report", ("--keep", "report"))):
        refused = run("sanitize", path, "--model", model, *level, *kept, "-o", out)
        assert refused.exit_code == 2
        assert f"a column '{name}' of their own" in refused.stderr
    assert not out.exists()


def test_a_published_series_can_be_used_as_one():
    cal = cdp.calibrate(CHAIN, 2.0, query=cdp.Series(missing="skip"))
    published = cal.release(["rest", None, "walk", "walk"])
    assert list(published) == list(published.values)
    assert published[1] is None
    assert cdp.local.output_leakage(CHAIN, cal.mechanism, published).value <= 2.0
    assert len(cdp.attacks.Viterbi(cal.mechanism).run(list(published), CHAIN).guesses) == 4
    with pytest.raises(DataError, match="a value of type list is not a state") as error:
        cal.release([["rest"] * 50, ["walk"] * 50])
    assert "rest', 'rest" not in str(error.value)
