"""audit, in Python and on the command line: each way to hand in a mechanism, and bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from corrdp.auditing.audit import audit
from corrdp.auditing.commands import Command
from corrdp.auditing.results import Audit
from corrdp.auditing.samples import Samples, read_outputs
from corrdp.errors import DataError, InputError
from corrdp.guarantees import Approximate, Pure
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.unary import OUE
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from tests.helpers.commands import done, run

RUNS = 20_000


def generator(seed=1):
    return np.random.default_rng(seed)


def flip(rate):
    return lambda x, rng: 1 - x if rng.random() < rate else x


HONEST, BROKEN = 1 / (1 + np.e), 0.2  # flip rates: epsilon 1, and ln 4 = 1.386


# -- in Python ---------------------------------------------------------------------------------


def test_a_callable_that_breaks_its_promise_is_caught():
    found = audit(flip(BROKEN), 1.0, inputs=(0, 1), runs=RUNS, rng=generator())
    assert found.verdict == "violated"
    assert 1 < found.interval[0] < np.log(4)
    assert found.runs == RUNS
    assert found.complete
    assert "flip" in found.mechanism


def test_a_callable_that_keeps_its_promise_is_not():
    found = audit(flip(HONEST), Pure(1.0), inputs=(0, 1), runs=RUNS, rng=generator())
    assert found.verdict != "violated"
    assert found.interval[0] < 1


def test_jobs_do_not_change_the_result():
    one, two = (
        audit(flip(BROKEN), 1.0, inputs=(0, 1), runs=4_000, rng=generator(2), jobs=jobs)
        for jobs in (1, 2)
    )
    assert {**one.to_dict(), "seconds": 0} == {**two.to_dict(), "seconds": 0}


def test_an_object_with_sample_is_run_in_bulk():
    found = audit(BinaryResponse(BROKEN), 1.0, inputs=(0, 1), runs=RUNS, rng=generator())
    assert found.verdict == "violated"


def test_approximate_claims():
    noisy = BinaryResponse(BROKEN)  # delta at epsilon 1 is .8 - .2 e = .256
    for delta, verdicts in ((0.15, {"violated"}), (0.3, {"holds", "undecided"})):
        claim = Approximate(1.0, delta)
        assert audit(noisy, claim, inputs=(0, 1), runs=RUNS, rng=generator()).verdict in verdicts


def test_an_implementation_of_a_protocol():
    def client(x, rng):  # OUE that sends 1 for the value with .6 instead of .5
        bits = rng.random(10) < 1 / (1 + np.e)
        bits[x] = rng.random() < 0.6
        return bits

    found = audit(client, OUE(10, 1.0), runs=20_000, rng=generator())
    assert {test.sound for test in found.tests} == {True, False}
    assert found.verdict == "violated"


def test_a_protocol_is_audited_as_it_is():
    found = audit(GRR(10, 1.0), runs=RUNS, rng=generator())
    assert found.verdict != "violated"
    assert audit(GRR(10, 1.5), 1.0, runs=RUNS, rng=generator()).verdict == "violated"


def test_a_protocol_with_little_time_is_judged_by_what_was_run():
    found = audit(GRR(10, 1.5), 1.0, runs=10**9, rng=generator(), time_limit=0.2)
    assert not found.complete
    assert found.verdict == "violated"
    whole = audit(OUE(10, 1.0), runs=2_000, rng=generator(), time_limit=60)
    assert whole.complete
    assert {test.sound for test in whole.tests} == {True, False}


def test_recorded_outputs():
    rng = generator()
    which = rng.integers(0, 2, RUNS)
    outputs = np.where(rng.random(RUNS) < BROKEN, 1 - which, which)
    found = audit(Samples(("a", "b"), which, outputs), 1.0, rng=rng)
    assert found.verdict == "violated"
    assert found.mechanism == "recorded outputs"


def test_a_stopped_audit_says_so():
    import time

    def slow(x, rng):
        time.sleep(0.0005)
        return flip(BROKEN)(x, rng)

    found = audit(slow, 1.0, inputs=(0, 1), runs=10**6, rng=generator(), time_limit=1.0)
    assert not found.complete
    assert 50 < found.runs < 10**5
    assert "stopped" in repr(found)


def test_a_bdp_claim_is_handed_on():
    chain = MarkovChain([[0.95, 0.05], [0.05, 0.95]], length=41)
    found = audit(BinaryResponse.for_epsilon(1.0), 1.0, model=chain, runs=20_000, rng=generator())
    assert found.verdict == "violated"


def test_an_audit_of_recorded_outputs_is_always_the_same():
    rng = generator()
    which = rng.integers(0, 2, 3_000)
    answers = np.where(rng.random(3_000) < BROKEN, 1 - which, which)
    for outputs in (answers, np.array([f"said {y}" for y in answers], dtype=object)):
        first, second = (audit(Samples((0, 1), which, outputs), 1.0).to_dict() for _ in range(2))
        assert {**first, "seconds": 0} == {**second, "seconds": 0}
        assert "one audit per data set" in first["assumptions"][0]


def test_a_mechanism_may_change_its_input():
    def pops(x, rng):
        return x.pop() if rng.random() < 0.7 else 1 - x.pop()

    found = audit(pops, 1.0, inputs=([0], [1]), runs=2_000, rng=generator())
    assert found.runs == 2_000


BAD = {
    "no claim": ((flip(0.3), None), {"inputs": (0, 1)}, "say what is claimed"),
    "no inputs": ((flip(0.3), 1.0), {}, "give the inputs to compare"),
    "one input": ((flip(0.3), 1.0), {"inputs": (0,)}, "two inputs or more"),
    "inputs of a protocol": ((GRR(4, 1.0),), {"inputs": (0, 1)}, "leave out inputs"),
    "other inputs": ((flip(0.3), GRR(4, 1.0)), {"inputs": (0, 1)}, r"has the inputs 0\.\.3"),
    "rng": ((flip(0.3), 1.0), {"inputs": (0, 1), "rng": 3}, "rng must be a numpy"),
    "range": ((flip(0.3), 1.0), {"inputs": (0, 1), "outputs": 3}, "a pair of numbers"),
    "range turned": ((flip(0.3), 1.0), {"inputs": (0, 1), "outputs": (1, 0)}, "end before"),
    "range of a protocol": ((flip(0.3), GRR(2, 1.0)), {"outputs": (0, 1)}, "leave out outputs"),
    "outside": ((flip(0.3), 1.0), {"inputs": (0, 1), "outputs": (0, 0.5)}, "put out 1 on input"),
    "no report": ((lambda x, rng: 9, GRR(4, 1.0)), {}, "put out 9 on input"),
    "claim": ((flip(0.3), "much"), {"inputs": (0, 1)}, "claim|epsilon"),
    "confidence": ((flip(0.3), 1.0), {"inputs": (0, 1), "confidence": 1.0}, "confidence"),
    "confidence a text": ((flip(0.3), 1.0), {"inputs": (0, 1), "confidence": "a"}, "confidence"),
    "no jobs": ((GRR(4, 1.0),), {"jobs": 0}, "jobs must be"),
    "time a text": ((GRR(4, 1.0),), {"time_limit": "a"}, "time_limit must be"),
    "delta 1": ((flip(0.3), Approximate(1.0, 1.0)), {"inputs": (0, 1)}, "claims nothing"),
    "no bits": ((lambda x, rng: [0, 2, 1], OUE(3, 1.0)), {}, "is 3 zeros and ones, .* is 2"),
    "no mechanism": ((None, 1.0), {"inputs": (0, 1)}, "mechanism must be"),
    "model and delta": (
        (flip(0.3), Approximate(1.0, 0.1)),
        {"model": MarkovChain([[0.9, 0.1], [0.2, 0.8]], 5)},
        "a BDP level, a number",
    ),
    "model and inputs": (
        (flip(0.3), 1.0),
        {"inputs": (0, 1), "model": MarkovChain([[0.9, 0.1], [0.2, 0.8]], 5)},
        "drawn from it",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    arguments, options, told = BAD[name]
    with pytest.raises(InputError, match=told):
        audit(*arguments, **{"runs": 100, "rng": generator(), **options})


def test_inputs_of_recorded_outputs_are_recorded():
    samples = Samples((0, 1), [0, 1], [0, 1])
    with pytest.raises(InputError, match="leave out inputs"):
        audit(samples, 1.0, inputs=(0, 1))
    with pytest.raises(DataError, match=r"a recorded output .* outside the declared range"):
        audit(samples, 1.0, outputs=(0, 0.5))


def test_too_few_runs_are_undecided_and_say_how_many_would_do():
    found = audit(flip(HONEST), 1.0, inputs=(0, 1), runs=40, rng=generator())
    assert found.verdict == "undecided"
    assert found.runs_needed > 40


# -- the command -------------------------------------------------------------------------------


MODULE = """
import math, random

def honest(x, rng):
    return 1 - x if rng.random() < 1 / (1 + math.e) else x

def broken(x, rng):
    return 1 - x if rng.random() < .2 else x

def talks(x, rng):
    print("hello")
    return broken(x, rng)

def total(records, rng):
    return sum(records) + rng.laplace()

def crashes(x, rng):
    if x == 1:
        raise RuntimeError("no luck")
    return x

def client(x, rng):
    return int(rng.integers(4)) if rng.random() < .5 else x

class Response:
    def sample(self, x, rng):
        return [broken(v, rng) for v in x]

response = Response()
"""

PROGRAM = """
import os, random, sys
rng = random.Random(os.environ["CORRDP_SEED"])
for line in sys.stdin:
    x = int(line)
    print(1 - x if rng.random() < .2 else x)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("mymodule", None)
    (tmp_path / "mymodule.py").write_text(MODULE)
    (tmp_path / "noisy.py").write_text(PROGRAM)
    (tmp_path / "dies.py").write_text("import sys\nfor line in sys.stdin:\n    sys.exit(int(line))")
    (tmp_path / "hangs.py").write_text("import time\ntime.sleep(60)")
    rng = generator()
    which = rng.integers(0, 2, 20_000)
    answers = np.where(rng.random(20_000) < BROKEN, 1 - which, which)
    rows = "".join(f"{x},{y}\n" for x, y in zip(which, answers, strict=True))
    (tmp_path / "outputs.csv").write_text("input,output\n" + rows)
    (tmp_path / "other.csv").write_text("x,y\n" + rows)
    (tmp_path / "one.csv").write_text("input,output\n1,0\n1,1\n")
    ragged = rows.splitlines(keepends=True)
    ragged[77] = "0,1,7\n"
    (tmp_path / "ragged.csv").write_text("input,output\n" + "".join(ragged))
    (tmp_path / "few.csv").write_text("input,output\n1,0\n0,1\n")
    yield tmp_path
    sys.modules.pop("mymodule", None)


SHORT = ("--runs", "2e4", "--seed", 1)


def test_a_protocol_by_name(here):
    result = done("audit", "grr", "--k", 100, "--epsilon", 1, "--runs", "1e5", "--seed", 1)
    assert result.stdout.startswith(("HOLDS", "UNDECIDED"))
    assert "any mechanism" in result.output
    assert "its family" in result.output
    assert "assumes" in result.output


def test_what_a_mechanism_prints_is_not_the_result(here):
    program = [sys.executable, "-m", "corrdp", "audit", "--python", "mymodule:talks", "--json"]
    options = ["--inputs", "0,1", "--epsilon", "1", "--runs", "2000", "--seed", "1"]
    made = subprocess.run([*program, *options], capture_output=True, text=True, check=False)
    assert json.loads(made.stdout)["result"] == "audit"
    assert made.stderr.count("hello") == 2_000


def test_one_run_is_one_run(here):
    text = " ".join(done("audit", "grr", "--k", 4, "--epsilon", 1, "--runs", 1).output.split())
    assert "1 run cannot tell" in text
    assert not re.search(r"(?<![\d,])1 runs", text)


def test_files_and_json(here):
    written = ("--report", "audit.html", "--picture", "audit.svg", "-o", "audit.json")
    result = done("audit", "oue", "--k", 20, "--epsilon", 1, *SHORT, *written)
    assert "written: audit.html" in result.output
    stored = json.loads((here / "audit.json").read_text())
    assert Audit.from_dict(stored).to_dict() == stored
    html = (here / "audit.html").read_text()
    assert "<svg" in html
    assert "its family" in html
    assert "http" not in html.replace("http-equiv", "")
    assert "<svg" in (here / "audit.svg").read_text()
    plain = json.loads(done("audit", "oue", "--k", 20, "--epsilon", 1, *SHORT, "--json").stdout)
    assert {**plain, "seconds": 0} == {**stored, "seconds": 0}


@pytest.mark.parametrize(
    "given",
    [
        ("--python", "mymodule:broken", "--inputs", "0,1"),
        ("--python", "mymodule:response", "--inputs", "0,1"),
        ("--command", f"{sys.executable} noisy.py", "--inputs", "0,1"),
        ("--recorded", "outputs.csv"),
        ("--recorded", "other.csv", "--columns", "x,y"),
        ("grr", "--k", 2, "--python", "mymodule:broken"),
    ],
    ids=["callable", "object", "command", "recorded", "columns", "implementation"],
)
def test_a_violated_claim_exits_with_3(here, given):
    options = ("--seed", 1) if "--recorded" in given else SHORT
    result = run("audit", *given, "--epsilon", 1, *options)
    assert result.exit_code == 3
    assert result.stdout.startswith("VIOLATED")


def test_a_kept_claim_exits_with_0(here):
    given = ("--python", "mymodule:honest", "--inputs", "0,1", "--outputs", "0:1", "--jobs", 2)
    result = done("audit", *given, "--epsilon", 1, *SHORT)
    assert result.stdout.startswith(("HOLDS", "UNDECIDED"))


def test_delta_and_confidence(here):
    given = ("--recorded", "outputs.csv", "--epsilon", 1)
    assert run("audit", *given, "--delta", 0.15).exit_code == 3
    assert run("audit", *given, "--delta", 0.3).exit_code == 0
    assert "95 %" in " ".join(run("audit", *given, "--confidence", 0.95).output.split())


def test_too_few_runs_are_said(here):
    result = done("audit", "grr", "--k", 100, "--epsilon", 1, "--runs", 200, "--seed", 1)
    assert result.stdout.startswith("UNDECIDED")
    assert "runs may decide" in " ".join(result.output.split())
    result = done("audit", "--recorded", "few.csv", "--epsilon", 1)
    assert result.stdout.startswith("UNDECIDED")


def test_a_bdp_claim(here):
    MarkovChain([[0.95, 0.05], [0.05, 0.95]], length=41).save("model.json")
    given = ("audit", "grr", "--epsilon", 1, "--model", "model.json", *SHORT)
    assert run(*given, "--target", 1).exit_code == 3
    assert run(*given, "--target", 9).exit_code == 0


FAILURES = {
    "nothing": ((), "give a PROTOCOL, --python, --command or --recorded"),
    "unknown protocol": (("grx", "--k", 4, "--epsilon", 1), "there is no protocol 'grx'"),
    "k below 2": (("grr", "--k", 1, "--epsilon", 1), "k must be a whole number of at least 2"),
    "no k": (("grr", "--epsilon", 1), "needs --k"),
    "no epsilon": (("grr", "--k", 4), "--epsilon"),
    "bad epsilon": (("grr", "--k", 4, "--epsilon", -1), "epsilon must be a finite number > 0"),
    "delta": (("grr", "--k", 4, "--epsilon", 1, "--delta", 0.1), "promise pure DP"),
    "k alone": (("--recorded", "outputs.csv", "--epsilon", 1, "--k", 4), "--k goes with"),
    "runs": (("grr", "--k", 4, "--epsilon", 1, "--runs", 0.5), "--runs must be a whole number"),
    "runs a word": (("grr", "--k", 4, "--epsilon", 1, "--runs", "many"), "--runs"),
    "runs below inputs": (
        ("grr", "--k", 4, "--epsilon", 1, "--runs", 2, "--python", "mymodule:client"),
        "too few for any verdict",
    ),
    "seed": (("grr", "--k", 4, "--epsilon", 1, "--seed", -1), "--seed"),
    "confidence": (("grr", "--k", 4, "--epsilon", 1, "--confidence", 2), "confidence"),
    "picture": (("grr", "--k", 4, "--epsilon", 1, "--picture", "a.txt"), ".svg or .png"),
    "two mechanisms": (
        ("--recorded", "outputs.csv", "--command", "cat", "--epsilon", 1),
        "give one of --python, --command and --recorded",
    ),
    "no module": (
        ("--python", "absent:f", "--inputs", "0,1", "--epsilon", 1),
        "no module 'absent'",
    ),
    "no function": (
        ("--python", "mymodule:absent", "--inputs", "0,1", "--epsilon", 1),
        "mymodule has no 'absent'",
    ),
    "no colon": (("--python", "mymodule", "--inputs", "0,1", "--epsilon", 1), "MODULE:NAME"),
    "a class": (
        ("--python", "mymodule:Response", "--inputs", "0,1", "--epsilon", 1),
        "Response is a class",
    ),
    "no inputs": (("--python", "mymodule:honest", "--epsilon", 1), "give the inputs to compare"),
    "crash": (
        ("--python", "mymodule:crashes", "--inputs", "0,1", "--epsilon", 1),
        "failed on input 1: RuntimeError: no luck",
    ),
    "range": (
        ("--python", "mymodule:honest", "--inputs", "0,1", "--epsilon", 1, "--outputs", "0:.5"),
        "put out 1 on input",
    ),
    "bad range": (
        ("--python", "mymodule:honest", "--inputs", "0,1", "--epsilon", 1, "--outputs", "0-1"),
        "write LOW:HIGH",
    ),
    "command dies": (
        ("--command", f"{sys.executable} dies.py", "--inputs", "0,4", "--epsilon", 1),
        "failed on input",
    ),
    "command is short": (
        ("--command", "head -n 3", "--inputs", "0,1", "--epsilon", 1),
        "3 lines for",
    ),
    "command hangs": (
        (
            "--command",
            f"{sys.executable} hangs.py",
            "--inputs",
            "0,1",
            "--epsilon",
            1,
            "--time-limit",
            1.2,
        ),
        "then nothing for",
    ),
    "no program": (
        ("--command", "no-such-program", "--inputs", "0,1", "--epsilon", 1),
        "cannot run 'no-such-program'",
    ),
    "no file": (("--recorded", "absent.csv", "--epsilon", 1), "does not exist"),
    "no columns": (("--recorded", "other.csv", "--epsilon", 1), "no column 'output'"),
    "one column": (("--recorded", "other.csv", "--columns", "x", "--epsilon", 1), "--columns"),
    "columns of nothing": (
        ("grr", "--k", 4, "--epsilon", 1, "--columns", "x,y"),
        "--columns goes with --recorded",
    ),
    "one input": (("--recorded", "one.csv", "--epsilon", 1), "every row has the same input"),
    "inputs twice": (
        ("--recorded", "outputs.csv", "--inputs", "0,1", "--epsilon", 1),
        "recorded outputs have their inputs",
    ),
    "target alone": (("grr", "--k", 4, "--epsilon", 1, "--target", 1), "goes with --model"),
    "no target": (("grr", "--epsilon", 1, "--k", 2, "--model", "groups:2"), "--target"),
    "no model file": (("grr", "--epsilon", 1, "--model", "x.json", "--target", 1), "x.json"),
    "runs of recorded": (
        ("--recorded", "outputs.csv", "--epsilon", 1, "--runs", 100),
        "recorded outputs are all judged",
    ),
    "time of recorded": (
        ("--recorded", "outputs.csv", "--epsilon", 1, "--time-limit", 1),
        "recorded outputs are all judged",
    ),
    "ragged": (
        ("--recorded", "ragged.csv", "--epsilon", 1),
        "the lines differ in their number of fields: the header has 2, line 79 has 3",
    ),
    "jobs": (("grr", "--k", 4, "--epsilon", 1, "--jobs", -3), "jobs must be a whole number"),
    "delta 1": (
        ("--recorded", "outputs.csv", "--epsilon", 1, "--delta", 1),
        "delta = 1 claims nothing",
    ),
    "no attack on the model": (  # refusals exit with 3, which would say violated
        ("--python", "mymodule:total", "--model", "groups:2", "--target", 1),
        "no attack is written",
    ),
    "output over input": (
        ("--recorded", "outputs.csv", "--epsilon", 1, "-o", "outputs.csv"),
        "is an input of this command",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_bad_input_exits_with_2(here, name):
    arguments, told = FAILURES[name]
    result = run("audit", *arguments)
    assert result.exit_code == 2, result.output
    assert told in result.output


def test_command_and_read_outputs_agree_with_python(here):
    found = audit(
        Command(f"{sys.executable} noisy.py"), 1.0, inputs=(0, 1), runs=20_000, rng=generator(1)
    )
    result = run(
        "audit",
        *("--command", f"{sys.executable} noisy.py", "--inputs", "0,1", "--epsilon", 1),
        *SHORT,
        "--json",
    )
    assert {**json.loads(result.stdout), "seconds": 0} == {**found.to_dict(), "seconds": 0}
    assert audit(read_outputs("outputs.csv"), 1.0, rng=generator()).verdict == "violated"


def test_help_names_the_exit_codes():
    text = " ".join(done("audit", "--help").output.split())
    assert "Exit code 3 if the claim is violated" in text
    assert "for any mechanism or within the family" in text
    assert textwrap.dedent("corrdp audit grr --k 100 --epsilon 1 --runs 1e6") in text
