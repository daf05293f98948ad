"""Networks and movements in a real browser, from made-up data to a release."""

from __future__ import annotations

import json

import pytest

import corrdp as cdp
from tests.app.steps import check_axe, learn, make_ledger, picture, release, saved

pytestmark = pytest.mark.browser


def test_a_network_from_a_file_to_a_release(visit):
    with visit() as seen:
        page = seen.page
        page.check("#data_kind input[value=network]")
        page.click("#data_demo")
        seen.shows("#net_found figure svg")
        learn(seen)
        picture(seen, "network", "#data")
        page.click("summary:has-text('For each value of another column')")
        page.check("#table_other input[value=town]")
        page.click("#table_add")
        seen.shows("#table_found .promise")
        make_ledger(seen)
        release(seen)
        seen.shows("#file_report")
        seen.settles()
        seen.check_calm()
        check_axe(page)
        made = json.loads(saved(seen, "file_json"))
        assert made["value"] == cdp.Ledger.open(seen.folder / "steps.ledger").answer(1)["value"]
        assert len(made["value"]) == 2
        assert "cdp.MarkovField.fit(" in saved(seen, "file_python")
        assert "--edges made-up-contacts.csv" in saved(seen, "file_shell")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_movements_from_a_file_to_a_release(visit, width, scheme):
    with visit(width=width, scheme=scheme) as seen:
        page = seen.page
        page.check("#data_kind input[value=movements]")
        page.click("#data_demo")
        seen.shows("#data_found dl")
        page.click("#law_learn")
        seen.shows("#law_found figure svg")
        seen.shows("#walk_add")
        page.click("#walk_add")
        seen.shows("#walk_found .promise")
        assert "visits to one of 168" in page.inner_text("#walk_found")
        if width == 1280:
            picture(seen, "movements-table", "#table")
        # another unit asks for another table
        page.check("#promise_unit input[value=person]")
        page.wait_for_function("!document.querySelector('#walk_found .promise')")
        page.fill("#walk_levels", "1")
        page.click("#walk_add")
        seen.shows("#walk_found .promise")
        assert "one user added or removed" in page.inner_text("#walk_found")
        assert page.locator("#walk_found figure.pair svg").count() == 2  # made-up people
        make_ledger(seen)
        release(seen)
        seen.shows("#file_report")
        seen.settles()
        seen.check_calm()
        check_axe(page)
        made = json.loads(saved(seen, "file_json"))
        stored = cdp.Ledger.open(seen.folder / "steps.ledger").answer(1)
        assert stored["rows"] == saved(seen, "file_csv")
        assert stored["epsilon"] == made["epsilon"] == 1.0
        assert "<svg" in saved(seen, "file_report")
        assert "inspect_movements(" in saved(seen, "file_python")
        assert json.loads(saved(seen, "file_notebook"))["nbformat"] == 4
        assert "corrdp trajectories release made-up-walks.csv" in saved(seen, "file_shell")
        if width == 1280:
            picture(seen, "movements", "#dependence")
            pytest.importorskip("cryptography", reason="needs the extra sign")
            page.click("#sign_make")
            seen.shows("#sign_found [role=status]")
            page.click("#sign_go")
            seen.shows("#file_signed")
            path = seen.folder / "signed.json"
            path.write_text(saved(seen, "file_signed"))
            assert cdp.verify(path, seen.folder / "steward.pub").rows == stored["rows"]


def test_a_unit_is_taken_before_the_slider_is_moved(visit):
    with visit("--demo") as seen:
        learn(seen)
        seen.page.check("#promise_unit input[value='1 hour']")
        seen.page.click("#table_add")
        seen.shows("#table_found .promise")
        seen.settles()
        assert "hour" in seen.page.inner_text("#table_found .promise")
