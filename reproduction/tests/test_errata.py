"""Every erratum: its numbers decide, it quotes at most a line, the page is the one generated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from corrdp_reproduction.errata.base import KINDS, SOURCES, Erratum
from corrdp_reproduction.errata.catalogue import FIRST, checked, errata, page

ERRATA = errata()
LINE = 150  # characters of a printed line, generously


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda e: e.key)
def test_every_erratum_is_borne_out_by_its_numbers(erratum: Erratum):
    found = checked(erratum.key)
    assert found.refutes
    assert found.corrected
    assert any(map(str.isdigit, found.numbers))
    for said in (found.numbers, erratum.printed, erratum.right):
        assert said.rstrip(")”").endswith(".") or said.endswith("”.")
    assert any(map(str.isdigit, erratum.where))
    assert erratum.kind in KINDS
    assert all(len(quote) <= LINE for quote in re.findall("“([^”]*)”", erratum.printed))


def test_keys_are_unique_and_every_source_is_cited_in_full():
    keys = [erratum.key for erratum in ERRATA]
    assert len(set(keys)) == len(keys)
    assert {key[:3] for key in keys} == set(SOURCES)
    assert all(re.search(r": .*20\d\d", SOURCES[key[:3]]) for key in keys)


def test_those_come_first_on_which_somebody_may_have_relied():
    found = page()
    places = [found.index(f"**{key}**") for key in FIRST]
    assert places == sorted(places)
    assert max(places) < found.index("\n## 000\n")
    assert all(found.count(f"**{erratum.key}**") == 1 for erratum in ERRATA)
    assert {"001-E1", "004-ERR1", "002-E02", "003-C11"} <= set(FIRST)


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        ("001-E1", ("7.720905", "6.781534")),
        ("001-E2", ("7.720905",)),
        ("001-E3", ("5.9414", "5.5418", "0.283963")),
        ("001-E4", ("0.8000", "0.368421")),
        ("001-E6", ("0.028330",)),
        ("001-E7", ("0.390858", "0.348290")),
        ("001-E8", ("0.722947", "0.811248")),
        ("002-E01", ("5.70", "6.97")),
        ("002-E02", ("1.45 tau", "2.000 tau")),
        ("002-E05", ("197.7",)),
        ("004-E6.2", ("497.9",)),
        ("004-ERR1", ("0.1915", "0.2602", "0.3413")),
        ("004-ERR2", ("+0.0667", "-0.7004")),
        ("004-ERR4", ("12.23596", "2.504379", "2.5021")),
        ("004-ERR6", ("12.0252",)),
        ("004-ERR7", ("0.083181", "0.731059")),
        ("004-ERR10", ("0.5250", "0.5000")),
        ("004-ERR11", ("0.189419", "0.135616")),
        ("004-ERR12", ("6.9240", "7.0000")),
        ("004-ERR15", ("0.030692", "0.025776")),
    ],
)
def test_numbers_of_the_errata(key: str, numbers):
    said = checked(key).numbers
    for number in numbers:
        assert number in said


def test_the_page_is_the_one_generated():
    assert (Path(__file__).parents[2] / "docs" / "errata.md").read_text() == page()
