"""The command corrdp partial."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corrdp.partial.calibrating import NoiseScale
from corrdp.partial.estimating import EstimatedScale
from tests.helpers.commands import done, run

ASKED = ("--epsilon", 0.1, "--delta", 1e-6)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("partial") / "people.csv"
    rng = np.random.default_rng(7)
    rows = ("yes" if k % 10 < 3 else "no" for k in rng.permutation(20_000))
    path.write_text("smokes\n" + "\n".join(rows) + "\n")
    return path


def test_a_public_bias():
    out = done("partial", "--n", 100_000, "--known", 96_000, *ASKED, "--bias", 0.3).output
    assert "36.3047" in out  # plain DP
    assert "47.6392" in out  # tail
    assert "52.988" in out  # classic
    assert "22.3853" in out  # this attacker
    assert "2.3e-05" in out  # without noise
    assert "independent of each other" in out
    out = done("partial", "--n", 100_000, "--known", 90_000, *ASKED, "--bias", 0.3).output
    assert "1.47e-08" in out


def test_json_and_picture(tmp_path):
    picture = tmp_path / "noise.svg"
    result = done("partial", "--n", 10_000, "--known", 5000, *ASKED, "--bias", 0.5, "--json",
                  "--picture", picture)  # fmt: skip
    found = NoiseScale.from_dict(json.loads(result.stdout))
    assert float(found) == pytest.approx(8.35002424, abs=2e-8)
    assert "does not know" in picture.read_text()


def test_private_data_need_a_decision(people):
    told = ("partial", "--n", 20_000, "--known", 5000, "--epsilon", 0.5, "--delta", 1e-6)
    refused = run(*told, "--data", people, "--where", "smokes = 'yes'")
    assert refused.exit_code == 3
    assert "cost epsilon 0.25 of 0.5" in refused.output
    assert "--spend" in refused.output
    result = done(*told, "--data", people, "--where", "smokes = 'yes'", "--spend", "--json")
    found = EstimatedScale.from_dict(json.loads(result.stdout))
    assert found.estimate.epsilon == 0.25
    low, high = found.step.bias  # misses with probability 2e-7, thrice as wide with its cube
    assert 2 * low - high < 0.3 < 2 * high - low
    asked = ("--data", people, "--where", "smokes = 'yes'", "--spend", "--verbose")
    out = done(*told, *asked).output
    assert "it cost epsilon 0.25" in out
    assert "in no ledger" in " ".join(out.split())


def dependent(folder, name):
    """Rows that hang together, 3 of 10 counted: sorted, in turn, or a chain that stays."""
    rng = np.random.default_rng(3)
    if name == "chain":
        state, rows = 0, []
        for moves in rng.random(20_000) < 0.1:
            state = int(rng.random() < 0.3) if moves else state
            rows.append(state)
    else:
        rows = [k % 10 < 3 for k in range(20_000)]
        rows = sorted(rows) if name == "sorted" else rows
    path = folder / f"{name}.csv"
    path.write_text("smokes\n" + "\n".join("yes" if row else "no" for row in rows) + "\n")
    return path


@pytest.mark.parametrize("name", ["chain", "sorted", "in turn"])
def test_rows_that_look_dependent_need_a_reason(tmp_path, name):
    path = dependent(tmp_path, name)
    told = ("partial", "--n", 20_000, "--known", 5000, "--epsilon", 0.5, "--delta", 1e-6,
            "--data", path, "--where", "smokes = 'yes'", "--spend")  # fmt: skip
    refused = run(*told)
    assert refused.exit_code == 3
    text = " ".join(refused.output.split())
    assert "the rows look dependent" in text
    assert "Nothing was spent" in text
    assert "--independent" in text
    accepted = done(*told, "--independent", "the file is sorted")
    assert "the file is sorted" in " ".join(accepted.stdout.split())
    said = json.loads(done(*told, "--independent", "the file is sorted", "--json").stdout)
    assert "the file is sorted" in said["certificate"]["assumptions"][0]
    assert run(*told, "--independent", " ").exit_code == 2


def test_rows_that_look_independent_are_said_to(people):
    told = ("partial", "--n", 20_000, "--known", 5000, "--epsilon", 0.5, "--delta", 1e-6,
            "--data", people, "--where", "smokes = 'yes'", "--spend")  # fmt: skip
    result = done(*told)
    assert "do not look dependent" in " ".join(result.stdout.split())
    assert "p =" not in result.stdout  # the number is private
    assert "no dependence between the 20,000 rows is seen" in " ".join(result.stderr.split())


def test_bounds_look_like_bounds(people):
    told = ("partial", "--n", "2e4", "--known", "5e3", "--epsilon", 0.5, "--delta", 1e-6)
    given = (*told, "--data", people, "--where", "smokes = 'yes'", "--spend")
    out = done(*given).output
    assert out.count("<= 1e-06") == 2  # with 0 noise both rows are bounds
    assert "CAUTION" in out
    said = json.loads(done(*given, "--json").stdout)
    assert (said["data"], said["where"]) == (str(people), "smokes = 'yes'")
    # nobody is counted, so the bias may be 0, and delta without noise 1: not above it
    few = ("partial", "--n", 20_000, "--known", 19_000, "--epsilon", 2, "--delta", 1e-6)
    out = done(*few, "--data", people, "--where", "smokes = 'no' and smokes = 'yes'", "--spend")
    assert ">= 1 " not in out.output


def test_a_file_that_is_not_there_has_no_price():
    result = run("partial", "--n", 20_000, "--known", 5000, "--epsilon", 0.5, "--delta", 1e-6,
                 "--data", "absent.csv", "--where", "a > 1")  # fmt: skip
    assert result.exit_code == 2
    assert "does not exist" in result.output


def test_epsilon_zero_and_the_end_of_knowledge():
    out = done("partial", "--n", "1e5", "--known", "9e4", "--epsilon", 0, "--delta", 0.1,
               "--bias", 0.3).output  # fmt: skip
    assert "0.00871" in out
    assert "classic" not in out
    assert "CAUTION" in out
    out = done("partial", "--n", 1000, "--known", 999, "--epsilon", 0.2, "--delta", 1e-6,
               "--bias", 0.3).output  # fmt: skip
    assert out.count("18.9888") == 2
    assert "CAUTION" not in out


def test_nothing_is_spent_where_it_cannot_pay(people):
    result = run("partial", "--n", 20_000, "--known", 19_900, *ASKED, "--data", people,
                 "--where", "smokes = 'yes'", "--spend")  # fmt: skip
    assert result.exit_code == 3
    assert "Nothing was read" in result.output


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "one of --bias"),
        (("--bias", 0.3, "--data", "x.csv"), "one of --bias"),
        (("--bias", 0.0), "no natural noise"),
        (("--bias", 1.0), "no natural noise"),
        (("--bias", 30), "divide a count"),
        (("--bias", 0.3, "--known", 100), "at most n - 1"),
        (("--bias", 0.3, "--delta", 0), "strictly between"),
        (("--bias", 0.3, "--epsilon", -1), "epsilon"),
        (("--bias", 0.3, "--where", "a > 1"), "go with --data"),
        (("--bias", 0.3, "--independent", "so"), "go with --data"),
        (("--bias", 0.3, "--picture", "x.pdf"), ".svg or .png"),
        (("--bias", 0.3, "--n", "1.5"), "not a whole number"),
        (("--bias", 0.3, "--n", "many"), "not a number of records"),
        (("--bias", 0.3, "--n", "1e999999"), "more than can be computed"),
        (("--data", "absent.csv"), "needs --where"),
        (("--data", "absent.csv", "--where", "a > 1", "--delta", 0), "strictly between"),
    ],
    ids=range(16),
)
def test_bad_input(more, said):
    given = {"--n": 100, "--known": 60, "--epsilon": 0.5, "--delta": 1e-3}
    extra = dict(zip(more[::2], more[1::2], strict=True))
    arguments = [x for pair in {**given, **extra}.items() for x in pair]
    result = run("partial", *arguments)
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())


def test_tables_that_do_not_fit(people, tmp_path):
    agreed = ("--epsilon", 2, "--delta", 1e-3, "--spend", "--where", "smokes = 'yes'")
    result = run("partial", "--n", 20_001, "--known", 0, *agreed, "--data", people)
    assert result.exit_code == 2
    assert "20000 rows and --n is 20001" in result.output
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("smokes,age\n" + "yes,40\n" * 900 + ",50\n" * 100)
    result = run("partial", "--n", 1000, "--known", 0, *agreed, "--data", gaps)
    assert result.exit_code == 2
    assert "100 of 1000 rows" in result.output
