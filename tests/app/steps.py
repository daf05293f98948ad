"""What tests in a browser do on the page, step by step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def picture(seen, name, selector=None):
    """A screenshot for the docs, where they are asked for."""
    if os.environ.get("CORRDP_SCREENSHOTS"):
        from PIL import Image

        path = str(ROOT / "docs" / f"app-{name}.png")
        part = seen.page if selector is None else seen.page.locator(selector)
        if selector is not None:
            # a part that is taller than the window is cut where room is kept for the header
            style = "header {position: static !important} html {scroll-padding-top: 0 !important}"
            seen.page.add_style_tag(content=style)
        # the folder of a test is of no interest to readers
        seen.page.evaluate(
            "folder => document.querySelectorAll('input[type=text]').forEach("
            "e => { e.value = e.value.replace(folder, '/home/steward') })",
            str(seen.folder),
        )
        part.screenshot(path=path, animations="disabled")
        with Image.open(path) as drawn:
            drawn.convert("RGB").quantize(240).save(path, optimize=True)


def check_axe(page):
    """No serious finding of axe, in the state the page is in."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="make test-app")
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["target"] for node in one["nodes"]][:4])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def learn(seen):
    seen.shows("#data_found dl")
    seen.page.click("#law_learn")
    seen.shows("#law_found figure svg")
    seen.shows("#table_add")
    seen.settles()


def choose_table(seen, *keys):
    for key in keys:
        seen.page.check(f"#table_by input[value={key}]")
    seen.page.click("#table_add")
    seen.shows("#table_found .promise")


def make_ledger(seen, budget="2"):
    page = seen.page
    page.check("#ledger_kind input[value=new]")
    seen.shows("#ledger_path")
    page.fill("#ledger_path", str(seen.folder / "steps.ledger"))
    page.fill("#ledger_budget", budget)
    page.click("#ledger_make")
    seen.shows("#ledger_found dl")


def release(seen):
    seen.page.click("#release_ask")
    seen.page.click("#release_go")
    seen.shows("#release_found figure svg")


def saved(seen, name):
    with seen.page.expect_download() as download:
        seen.page.click(f"#{name}")
    return Path(download.value.path()).read_text()
