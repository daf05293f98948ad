"""What a report says of the model and of the leakage: pictures only where they show something."""

from __future__ import annotations

import re

import numpy as np
import pytest

import corrdp as cdp
from corrdp.calibration.adequacy import Adequacy, Priced
from corrdp.cli.docs import theorems
from corrdp.report.dependence import adequacy_section, model_section, records_section
from corrdp.report.page import render_report
from corrdp.report.words import how_to_read


def test_a_leakage_that_is_the_same_for_all_is_a_number():
    flat = cdp.leakage(cdp.Groups(labels="aabb"), 0.5)
    assert flat.per_record.tolist() == [1, 1, 1, 1]
    text = records_section(flat)
    assert "<svg" not in text
    assert "at most 1, the same about every record" in text
    one_for_all = cdp.leakage(cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]]), 0.5)
    assert one_for_all.per_record is None
    assert f"at most {one_for_all.value:.6g}, the same" in records_section(one_for_all)


def test_a_leakage_that_differs_is_drawn():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 40)
    text = records_section(cdp.leakage(chain, 0.5))
    assert text.count("<svg") == 1
    assert "the same" not in text


SECOND = Priced("order 2", 0.0876, 11.4, 2.9, None, "p < 1e-107", rejected=True)
HALVES = Priced("a kernel for each half", 0.09, 11.1, 2.8, None, "p = 0.31", rejected=False)
NEAR = Priced("a kernel for each hour", 0.24, 4.1, 1.01, None, "p < 1e-9", rejected=True)


def in_red(text: str) -> list[str]:
    return re.findall(r'<p class="against">(.*?)</p>', text)


@pytest.mark.parametrize("public", [False, True])
def test_only_what_the_data_speak_against_is_red(public):
    accepted = Adequacy(0.2498, 1.0, (NEAR, HALVES, SECOND), accepted="few data")
    [red] = in_red(adequacy_section(accepted, None, public=public))
    assert red.startswith("Order 2 (the data speak for it")
    text = adequacy_section(accepted, None, public=public)
    assert all(name in text for name in ("each half", "each hour", "few data"))
    harmless = Adequacy(0.2498, 1.0, (NEAR, HALVES))
    assert in_red(adequacy_section(harmless, None, public=public)) == []


@pytest.fixture(scope="module")
def chosen():
    """A chain of order 2, found by looking."""
    rng, states = np.random.default_rng(3), [0, 1]
    for _ in range(3000):
        states.append(states[-2] if rng.random() < 0.8 else 1 - states[-2])
    return cdp.MarkovChain.fit(states, order="auto")


def test_a_chosen_chain_says_why_and_what_it_was_chosen_from(chosen):
    choice = chosen.fitted.choice
    assert choice.order == 2
    assert len(choice.tried) > 1
    text = model_section(chosen)
    assert f"{choice.words[0].upper()}{choice.words[1:]}." in text.replace("&#x27;", "'")
    for one in choice.tried:
        row = re.search(rf"<tr( class=best)?><td>{one.name}</td><td>{one.loss:.4f}</td>", text)
        assert bool(row[1]) == (one.order == 2)
    given = model_section(cdp.MarkovChain.fit([0, 1, 1, 0, 0, 1] * 50))
    assert "Which chain" not in given


def test_the_public_report_does_not_tell_what_was_tried(chosen):
    made = cdp.calibrate(chosen, 1.0, query=cdp.Count(1), coarse=True)
    assert "held-out loss" in render_report(made, chosen)
    assert "held-out loss" not in render_report(made, chosen, public=True)


MODELS = [
    cdp.Independent(5),
    cdp.Groups(3),
    cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 30),
    cdp.MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]]),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_a_report_says_how_to_read_the_theorem(model):
    made = cdp.calibrate(model, 1.0, query=cdp.Count(1))
    read = how_to_read(made.leakage.certificate.reference)
    assert read
    assert set(re.findall(r"corrdp docs (\S+#[\w-]+)", read)) <= set(theorems())
    for public in (False, True):
        assert f"In a terminal, {read}." in render_report(made, model, public=public)
    assert how_to_read("a book, section 3") == ""
