"""corrdp next to riskcal, dp-accounting and OpenDP: the page is what comes out today."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from corrdp_reproduction.neighbours import base, page
from corrdp_reproduction.neighbours.base import NEIGHBOURS, Answer, Row, ask, version

from corrdp.errors import InputError

PAGE = (Path(__file__).parents[2] / "docs" / "neighbours.md").read_text()
VERSIONS = PAGE.split("Versions: ")[1].splitlines()[0].removesuffix(".")
RECORDED = dict(told.split() for told in VERSIONS.split(", "))


@pytest.fixture(scope="module")
def sections() -> tuple[base.Section, ...]:
    return page.sections()


def tables() -> dict[str, list[list[str]]]:
    """The cells of every table of the page, by its title."""
    found = {}
    for part in PAGE.split("\n## ")[1:]:
        title, *lines = part.splitlines()
        rows = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
        found[title] = [[cell.strip() for cell in row] for row in rows[2:]]
    return found


def same(one: str, two: str) -> bool:
    """Two cells with the same words, and numbers equal to five digits."""
    number = r"\d+\.?\d*(?:e-?\d+)?$"
    if not (re.search(number, one) and re.search(number, two)):
        return one == two
    first, second = (re.search(number, cell) for cell in (one, two))
    assert first is not None
    assert second is not None
    return one[: first.start()] == two[: second.start()] and float(first[0]) == pytest.approx(
        float(second[0]), rel=1e-5
    )


@pytest.mark.slow
def test_every_promise_of_an_installed_neighbour_is_kept(sections):
    broken = [row.cells() for section in sections for row in section.rows if not row.agrees]
    assert broken == []


def test_ours_are_on_the_page(sections):
    written = tables()
    assert list(written) == [section.title for section in sections]
    for section in sections:
        rows = [row.cells() for row in section.rows]
        assert [row[0] for row in rows] == [row[0] for row in written[section.title]]
        for now, then in zip(rows, written[section.title], strict=True):
            assert same(now[1], then[1]), (now, then)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_theirs_are_on_the_page(name, sections):
    if version(name) is None:
        pytest.skip(f"{name} is not installed")
    if version(name) != RECORDED[name]:
        pytest.skip(f"the page was written with {name} {RECORDED[name]}, here is {version(name)}")
    column = 2 + NEIGHBOURS.index(name)
    seen = 0
    for section in sections:
        for row, then in zip(section.rows, tables()[section.title], strict=True):
            assert same(row.cells()[column], then[column]), (row.cells(), then)
            seen += row.cells()[column] != "-"
    assert seen >= 10


def test_the_page_was_written_with_all_of_them():
    assert tuple(RECORDED) == NEIGHBOURS
    assert all(re.fullmatch(r"\d+(\.\d+)+", told) for told in RECORDED.values())
    assert "not installed" not in PAGE
    kept, asked = map(int, re.findall(r"(\d+) of (\d+) promises are kept", PAGE)[0])
    assert kept == asked >= 50


@pytest.mark.parametrize(
    ("answer", "ours", "agrees"),
    [
        (Answer("opendp", 1.0, "=", 1e-6), 1.0 + 5e-7, True),
        (Answer("opendp", 1.0, "=", 1e-6), 1.0 + 5e-6, False),
        (Answer("opendp", 100.0, "=", 1e-6), 100.00005, True),  # relative above 1
        (Answer("opendp", 2.0, ">="), 1.9, True),
        (Answer("opendp", 1.8, ">="), 1.9, False),
        (Answer("opendp", 1.8, "<="), 1.9, True),
        (Answer("opendp", 2.0, "<="), 1.9, False),
        (Answer("opendp", None), 1.9, True),
        (Answer("opendp", float("inf"), ">="), float("inf"), True),
        (Answer("opendp", float("nan")), 1.0, False),
    ],
)
def test_what_agrees(answer, ours, agrees):
    assert answer.agrees(ours) is agrees
    assert Row("x", ours, (answer,)).agrees is agrees
    assert ("not so" in answer.shown(ours)) is not agrees


def test_cells():
    row = Row("x", 0.5, (Answer("opendp", 0.75, ">="), Answer("riskcal", None)))
    assert row.cells() == ["x", "0.5", "not installed", "-", ">= 0.75"]
    alone = Row("x", None, (Answer("dp-accounting", 2.0),))
    assert alone.cells() == ["x", "-", "-", "2", "-"]
    assert alone.agrees


def test_who_is_not_installed_is_not_asked(monkeypatch):
    monkeypatch.setattr(base, "version", lambda name: None)

    def never() -> float:
        raise AssertionError("asked")

    assert ask("riskcal", never) == Answer("riskcal", None)
    monkeypatch.setattr(page, "version", lambda name: None)
    assert "riskcal not installed here" in page.versions()


def test_unknown_neighbours_are_refused():
    with pytest.raises(InputError, match="'nobody' is no neighbour; there are riskcal"):
        ask("nobody", lambda: 1.0)


def test_the_command_prints_the_page(monkeypatch, capsys):
    monkeypatch.setattr(page, "sections", lambda: ())
    runpy.run_module("corrdp_reproduction.neighbours", run_name="__main__")
    assert capsys.readouterr().out.startswith("# corrdp next to its neighbours")
