"""What the linter does with broken descriptions: an error that names the place."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from corrdp.cli.commands import app
from corrdp.errors import InputError
from corrdp.linting.laws import laws_of
from corrdp.linting.level import Level, as_level
from corrdp.linting.lint import lint
from corrdp.linting.rules.movement import unreachable
from corrdp.linting.rules.sampled import lint_sampler, zero_bound
from corrdp.linting.rules.support import release_threshold
from corrdp.results import Findings
from tests.helpers.descriptions import (
    FIXED,
    FIXTURES,
    mechanism,
    step,
)


def with_step(**fields):
    body = mechanism(copy.deepcopy(FIXED))
    body["steps"][0] |= fields
    return body


def with_laws(**fields):
    laws = {"data": [["x"], []], "outputs": [0, 1], "table": [[0.5, 0.5], [0.5, 0.5]]}
    return mechanism(FIXED, laws=laws | fields)


BAD = [
    ([], "give a description"),
    ({}, "needs name"),
    (mechanism(FIXED, prooof="whole"), "unknown key 'prooof'; a description has name, claim"),
    (mechanism(), r"steps: must be a list of one or more steps"),
    (mechanism(FIXED, FIXED), r"steps: \[1\] \('s'\): the name 's' is taken"),
    (mechanism(FIXED | {"reads": ["later"]}), "reads 'later', which is no earlier step"),
    (mechanism(FIXED, claim={"granularity": "daily"}), "claim: granularity: unknown granularity"),
    (mechanism(FIXED, claim={"epsilon": -1}), "claim: epsilon: must be a finite number >= 0"),
    (mechanism(FIXED, claim={"epsilon": "1"}), "claim: epsilon: must be a number, got '1'"),
    (mechanism(FIXED, claim={"epsilon": math.nan}), "finite number"),
    (mechanism(FIXED, claim={"epsilon": 10**400}), "must be a number"),
    (mechanism(FIXED, claim={"delta": 2}), "claim: delta: must be a probability"),
    (mechanism(FIXED, claim={"mu": 1, "delta": 0.1}), "claim: delta goes with epsilon"),
    (mechanism(FIXED, claim={"change": "replace"}), "claim: under unbounded"),
    (mechanism(FIXED, proof="yes"), "proof: must be one of whole, components, none; got 'yes'"),
    (mechanism(FIXED, ignores=["beauty"]), r"ignores: \[0\]: must be one of time"),
    (mechanism(FIXED, data={"chain": [[1, 0], [1]]}), "data: chain: must be a square matrix"),
    (mechanism(FIXED, data={"chain": [[0.5, 0.4], [0, 1]]}), "data: chain: every row"),
    (mechanism(FIXED, data={"autocorrelation": 2}), r"must lie in \[-1, 1\]"),
    (mechanism(FIXED, data={"together": 1.5}), "data: together: must be a whole number"),
    (mechanism(FIXED, parameters=[{"name": "m"}]), r"parameters: \[0\]: a parameter needs setting"),
    (mechanism(FIXED, source={"year": 2020}), "source: unknown key 'year'"),
    (with_step(kind="magic"), r"steps: \[0\] \('s'\): kind: must be one of query, noise"),
    (with_step(noise={"law": "laplace"}), "noise: a noise needs scale"),
    (with_step(noise={"law": "laplace", "scale": 0}), "noise: scale: must be a number > 0"),
    (with_step(noise={"law": "laplace", "scale": [1, 2]}), "noise has 2 scales, its query 1"),
    (with_step(noise={"law": "laplace", "scale": 1, "support": [1, 0]}), "support: must be two"),
    (with_step(query={"type": "prefix-tree"}), "a prefix-tree has levels; got none"),
    (with_step(query={"type": "ngram-tree", "levels": 4, "longest": 3}), "levels 4 exceed longest"),
    (with_step(query={"type": "sum", "lower": 1, "upper": 1}), "lower 1 must be below upper 1"),
    (with_step(sensitivity={"change": "add"}), "sensitivity: a sensitivity has l1 or l2"),
    (with_step(rate=0.5), "rate is for kind sampling; this step is a noise"),
    (with_step(range={"D": ["a"]}), "range: listed ranges need two"),
    (with_step(range="private"), "range: must be one of public, observed, outputs"),
    (with_step(epsilon=1, mu=1), "give epsilon or mu, not both"),
    (mechanism(step("sampling")), "a step of kind sampling needs rate"),
    (mechanism(step("query", epsilon=1)), "has no budget; kind mechanism has one"),
    (with_laws(table=[[1, 0]]), r"laws: table has shape \(1, 2\)"),
    (with_laws(table=[[1, 1], [0, 1]]), "laws: row 0 of the table sums to 2"),
    (with_laws(table=[["a", 1], [0, 1]]), "laws: table must be rows"),
    (with_laws(data=[["x"], ["x"]]), "laws: data holds one item twice"),
    (with_laws(data=[["x"], "y"]), "laws: .*list them"),
    (with_laws(data=[{"x": 1}, []]), r"laws: data: \[0\]: must be a list"),
    (with_laws(neighbours=[[0, 2]]), "there is no data set 2"),
    (with_laws(coordinates=["n1"]), "coordinates: 'n1' is no step"),
    (with_laws(coordinates=["s"]), "an output has one value for each of s"),
    (
        mechanism(FIXED, claim={"proved_for": "event"}, data={"users": 2, "steps": 2}),
        "claim.proved_for: ",
    ),
]


@pytest.mark.parametrize(("body", "message"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_descriptions_say_where(body, message):
    with pytest.raises(InputError, match=message):
        lint(body)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lint(3), "give a description"),
        (lambda: as_level("1"), "number or a guarantee"),
        (lambda: as_level([1, 2]), "a claim is epsilon"),
        (lambda: Level(), "give one"),
        (lambda: zero_bound(0), "runs must be"),
        (lambda: zero_bound(5, 1.0), "confidence"),
        (lambda: release_threshold(1.0, 0.0), "above 0"),
        (lambda: release_threshold(-1.0, 0.1), "scale"),
        (lambda: release_threshold(1.0, 0.6), "delta"),
        (lambda: laws_of([0, 1], [0], [[1], [1]]), "give granularity, or neighbours"),
        (lambda: laws_of(range(501), [0], [[1]] * 501, "local"), "too many to compare"),
        (lambda: unreachable([0, 0], [(0, 0), (1, 1)], 1), "times must rise; point 1"),
        (lambda: unreachable([0, 1], [(0, 0)], 1), "n pairs"),
        (lambda: unreachable([0, 1], [(0, 0), (1, 1)], 0), "speed"),
        (lambda: Findings.from_dict({}), "not a corrdp findings"),
        (
            lambda: lint_sampler(
                lambda d, r: {1: 2}, [1], [], 1.0, rng=np.random.default_rng(), runs=4
            ),
            "got dict",
        ),
        (
            lambda: lint_sampler(
                lambda d, r: 1, [1], [], 1.0, rng=np.random.default_rng(), distance=0
            ),
            "distance must be 1",
        ),
    ],
    ids=[f"call{k}" for k in range(17)],
)
def test_bad_calls(call, message):
    with pytest.raises(InputError, match=message):
        call()


VALUES = [None, -1, 0, 1.5, 10**400, math.nan, math.inf, "x", "", True, [], [[]], {}, {"x": []}]


def broken(body, rng):
    """The description with one value somewhere replaced."""
    body = copy.deepcopy(body)
    at = body
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = keys[rng.integers(len(keys))]
        if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.8:
            at = at[key]
            continue
        at[key] = VALUES[rng.integers(len(VALUES))]
        return body


@pytest.mark.parametrize("number", range(len(FIXTURES)))
def test_any_broken_description_gets_an_answer_or_our_error(number):
    rng = np.random.default_rng(number)
    for _ in range(60):
        try:
            lint(broken(FIXTURES[number][2], rng)).to_dict()
        except InputError:
            continue


def run(*arguments):
    return CliRunner().invoke(app, ["lint", *map(str, arguments)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"name": "m", "laws": ' + "[" * 700 + "]" * 700 + "}", "m.json: "),
        ("7", "give a description"),
        ('{"name": 1}', "m.json: a description needs claim"),
    ],
    ids=["broken", "deep", "deep-laws", "number", "incomplete"],
)
def test_bad_files(tmp_path, content, message):
    file = tmp_path / "m.json"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        lint(file)
    result = run(file)
    assert result.exit_code == 2
    assert len(result.output.strip().splitlines()) == 1


def test_the_example_can_be_linted_and_broken(tmp_path):
    """What --example prints is complete: it is read, and has no finding."""
    path = tmp_path / "mechanism.json"
    path.write_text(run("--example").stdout)
    assert "no error, no warning" in run(path).output
    data = json.loads(path.read_text())
    data["data"]["trajectories"] = 4
    path.write_text(json.dumps(data))
    told = run(path)
    assert told.exit_code == 3
    assert "with its 4 rows" in told.output
    for more in ([path, "--example"], ["--registry", "--example"], []):
        assert run(*more).exit_code == 2
