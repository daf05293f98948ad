"""Audits that plan their own runs, the forms a mechanism may have, and what is shown meanwhile."""

from __future__ import annotations

import functools
import math
import shutil
import subprocess
import sys

import numpy as np
import pytest

from corrdp.auditing import audit as planning
from corrdp.auditing.audit import audit
from corrdp.auditing.dependent import audit_model
from corrdp.auditing.running import collect
from corrdp.errors import InputError
from corrdp.guarantees import Approximate
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp.report.audits import facts, verdict_in_words


def generator(seed=1):
    return np.random.default_rng(seed)


def flipped(rate):
    return lambda x, rng: 1 - x if rng.random() < rate else x


HONEST = 1 / (1 + np.e)


# -- forms of a mechanism ----------------------------------------------------------------------


def alone(x):
    return x + np.random.random()  # noqa: NPY002 - a mechanism of the simplest kind


def optional(x, rng=None):
    return x + rng.random()


def scaled(x, scale=2.0):
    return x + scale * np.random.random()  # noqa: NPY002


def named(x, *, rng):
    return x + rng.random()


class Callable:
    def __call__(self, x):
        return x + np.random.random()  # noqa: NPY002


FORMS = {
    "x": alone,
    "x, rng": lambda x, rng: x + rng.random(),
    "x, rng=None": optional,
    "x, other=": scaled,
    "x, *, rng": named,
    "*arguments": lambda *given: given[0] + given[1].random(),
    "partial": functools.partial(scaled, scale=1.0),
    "object": Callable(),
}


@pytest.mark.parametrize("name", FORMS)
def test_callables_of_every_form_are_run(name):
    samples, _ = collect(FORMS[name], (0, 10), 2_000, generator())
    assert len(set(samples.outputs.tolist())) == 2_000  # noise in every run, another in each batch
    assert (samples.outputs[samples.which == 1] >= 10).all()
    again, _ = collect(FORMS[name], (0, 10), 2_000, generator(), jobs=2)
    np.testing.assert_array_equal(samples.outputs, again.outputs)


@pytest.mark.parametrize("form", [lambda: 1, lambda x, rng, more: x, lambda *, x: x])
def test_what_takes_other_arguments_is_refused(form):
    with pytest.raises(InputError, match=r"f\(x\) or f\(x, rng\)"):
        collect(form, (0, 1), 100, generator())


def test_one_argument_on_dependent_records():
    chain = MarkovChain([[0.95, 0.05], [0.05, 0.95]], 8)

    def total(records):
        return sum(records) + np.random.laplace()  # noqa: NPY002

    assert audit_model(total, 1.0, chain, runs=10_000, rng=generator()).verdict == "violated"


def test_an_opendp_measurement_is_audited():
    import opendp.domains as domains
    import opendp.measurements as measurements
    import opendp.metrics as metrics
    from opendp.mod import enable_features

    enable_features("contrib")
    space = domains.atom_domain(T="i64"), metrics.absolute_distance(T="i64")
    noisy = measurements.make_laplace(*space, scale=0.5)  # epsilon 2
    found = audit(noisy, 1.0, inputs=(0, 1), runs=3_000, rng=generator())
    assert found.verdict == "violated"
    assert found.mechanism.startswith("Measurement(")
    assert "\n" not in found.mechanism
    # OpenDP takes no seed, and at 2 itself one audit in a hundred may err; at 3 an answer that has
    # probability .119 would have to come 30 times or fewer in 750: 2e-14
    assert audit(noisy, 3.0, inputs=(0, 1), runs=3_000, rng=generator()).verdict != "violated"
    several = domains.vector_domain(domains.atom_domain(T="i64")), metrics.l1_distance(T="i64")
    table = measurements.make_laplace(*several, scale=0.5)
    found = audit(table, 1.0, inputs=([0, 3], [1, 3]), runs=3_000, rng=generator())
    assert found.verdict == "violated"


# -- runs that are planned ---------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(planning, "LEAST_RUNS", 2_000)


def test_an_audit_goes_on_until_it_is_decided(small):
    honest = audit(BinaryResponse.for_epsilon(1.0), 1.0, inputs=(0, 1), rng=generator())
    assert honest.verdict == "holds"
    assert honest.runs > 2_000
    assert honest.confidence == 0.99
    assert any("looks" in note and "error" in note for note in honest.notes)
    slight = BinaryResponse.for_epsilon(1.1)  # 10 % more than is claimed
    found = audit(slight, 1.0, inputs=(0, 1), rng=generator())
    assert found.verdict == "violated"
    assert found.runs > 2_000
    assert audit(GRR(4, 1.1), 1.0, rng=generator()).verdict == "violated"


def test_what_is_decided_at_once_is_looked_at_once(small):
    found = audit(flipped(0.1), 1.0, inputs=(0, 1), rng=generator())
    assert (found.verdict, found.runs, found.complete) == ("violated", 2_000, True)
    assert not found.notes
    given = audit(flipped(HONEST), 1.0, inputs=(0, 1), runs=2_000, rng=generator())
    assert (given.verdict, given.runs) == ("undecided", 2_000)


def test_it_starts_with_a_hundred_thousand():
    assert planning.LEAST_RUNS == 100_000
    assert audit(BinaryResponse(0.1), 1.0, inputs=(0, 1), rng=generator()).runs == 100_000


def test_it_stops_where_the_next_look_would_take_too_long(small, monkeypatch):
    monkeypatch.setattr(planning, "PATIENCE", 1e-3)
    found = audit(flipped(HONEST), 1.0, inputs=(0, 1), rng=generator())
    assert (found.verdict, found.runs) == ("undecided", 2_000)
    assert found.runs_needed > 2_000
    assert any("runs=" in note and "s here" in note for note in found.notes)


def test_a_time_limit_ends_a_planned_audit(small):
    # a claim with room: how many runs fit in is chance, and at 1 itself one audit in 100 may err
    found = audit(
        flipped(HONEST), Approximate(1.5, 1e-9), inputs=(0, 1), rng=generator(), time_limit=2.0
    )
    assert found.verdict == "undecided"
    assert found.seconds < 10


@pytest.mark.parametrize(
    ("audits", "most"),  # binomial(audits, .1) exceeds most once in a million
    [(40, 16), pytest.param(400, 70, marks=pytest.mark.slow)],
)
def test_more_looks_do_not_raise_the_error(monkeypatch, audits, most):
    """Of mechanisms that just keep their claim, at most 1 - confidence are called violated."""
    monkeypatch.setattr(planning, "LEAST_RUNS", 200)
    looked, violated = 0, 0
    for seed in range(audits):
        found = audit(GRR(2, 1.0), Approximate(1.0, 0.0), rng=generator(seed), confidence=0.9)
        looked += any("looks" in note for note in found.notes)
        violated += found.verdict == "violated"
    assert looked > audits / 2
    assert violated <= most


def test_dependent_records_are_planned_too(small):
    chain = MarkovChain([[0.95, 0.05], [0.05, 0.95]], 41)
    found = audit(BinaryResponse.for_epsilon(1.0), 1.0, model=chain, rng=generator())
    assert found.verdict == "violated"


# -- what is shown -----------------------------------------------------------------------------


def test_a_violated_verdict_says_nothing_of_what_was_not_seen():
    cases = [
        audit(flipped(0.1), 1.0, inputs=(0, 1), runs=4_000, rng=generator()),
        audit(GRR(4, 2.0), 1.0, runs=4_000, rng=generator()),
        audit(GRR(2, 1.0), 3.0, model=MarkovChain([[0.9, 0.1], [0.1, 0.9]], 300), runs=2_000,
              rng=generator()),
    ]  # fmt: skip
    for found in cases:
        assert found.verdict == "violated"
        shown = [repr(found), verdict_in_words(found), str(found.to_dict()), str(facts(found))]
        for text in shown:
            assert "may go unseen" not in text
            assert "'unseen'" not in text.replace("'unseen': ''", "")
    held = audit(GRR(100, 1.0), runs=200_000, rng=generator())
    assert held.verdict == "holds"
    assert held.unseen


def test_progress_is_shown_on_a_terminal_alone(tmp_path):
    code = "from corrdp.auditing.audit import audit\n"
    code += "audit(lambda x, rng: x + rng.laplace(), 1.0, inputs=(0, 1), runs=2_000)\n"
    run = functools.partial(subprocess.run, capture_output=True, check=True)
    assert not run([sys.executable, "-c", code]).stderr
    if shutil.which("script") is None:
        pytest.skip("script(1), which makes a terminal, is not installed")
    (tmp_path / "code.py").write_text(code)
    made = subprocess.run(
        ["script", "-qec", f"{sys.executable} {tmp_path / 'code.py'}", "/dev/null"],
        capture_output=True,
        check=False,
    )
    assert b"running the mechanism" in made.stdout


def test_confidence_is_shared_out():
    shares = [1 - planning.share(0.99, look) for look in range(1, 60)]
    assert math.fsum(shares) <= 0.01 * (1 + 1e-9)
    assert shares[0] == pytest.approx(0.005)
