"""The whole way in a real browser: wide and narrow, light and dark, by mouse and by keyboard."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import corrdp as cdp
from tests.app.steps import (
    check_axe,
    choose_table,
    learn,
    make_ledger,
    picture,
    release,
    saved,
)

pytestmark = pytest.mark.browser

ACTIVITY = Path(os.environ.get("CORRDP_DATA", "nowhere")) / "activity.csv"
SIZES = [(1280, "light"), (390, "dark"), (1280, "dark"), (390, "light")]


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_the_whole_way_on_made_up_data(visit, width, scheme):
    with visit("--demo", width=width, scheme=scheme) as seen:
        page = seen.page
        theme = page.evaluate("document.documentElement.dataset.bsTheme")
        assert theme == scheme
        learn(seen)
        choose_table(seen, "hour", "weekday")
        seen.settles()
        seen.shows("#promise_prices svg")
        seen.check_calm()
        check_axe(page)
        make_ledger(seen)
        page.click("#release_ask")
        seen.shows("#release_go")
        check_axe(page)
        page.click("#release_go")
        seen.shows("#release_found figure svg")
        seen.shows("#file_report")
        seen.settles()
        seen.check_calm()
        check_axe(page)
        made = json.loads(saved(seen, "file_json"))
        stored = cdp.Ledger.open(seen.folder / "steps.ledger").answer(1)
        assert made["value"] == stored["value"]
        assert len(saved(seen, "file_csv").splitlines()) == 169
        assert "<svg" in saved(seen, "file_report")
        assert "cdp.calibrate(" in saved(seen, "file_python")
        assert json.loads(saved(seen, "file_notebook"))["nbformat"] == 4
        assert "corrdp release made-up-steps.csv" in saved(seen, "file_shell")
        if scheme == "light" and width == 1280:
            for name in ("data", "dependence", "promise", "table", "release"):
                picture(seen, name, f"#{name}")
        elif scheme == "dark" and width == 390:
            page.evaluate("document.querySelector('#promise').scrollIntoView()")
            picture(seen, "phone")


@pytest.mark.skipif(not ACTIVITY.exists(), reason="needs activity.csv in CORRDP_DATA")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_the_whole_way_on_an_activity_series(visit, width, scheme):
    with visit(str(ACTIVITY), width=width, scheme=scheme) as seen:
        learn(seen)
        assert "2,304" in seen.page.text_content("#data_found")
        choose_table(seen, "hour")
        make_ledger(seen)
        release(seen)
        seen.settles()
        seen.check_calm()
        check_axe(seen.page)
        made = json.loads(saved(seen, "file_json"))
        assert len(made["value"]) == 24
        assert made["target"] == 1.0
        assert made["digest"] == ""
        script = saved(seen, "file_python")
        assert "missing='skip'" in script
        assert str(ACTIVITY.resolve()) in script


def test_families_from_a_file_to_a_release(visit):
    with visit() as seen:
        page = seen.page
        page.check("#data_kind input[value=families]")
        page.click("#data_demo")
        seen.shows("#data_found dl")
        seen.shows("#law_columns")
        seen.shows("#data_found figure svg")  # how values spread
        page.fill("#law_low", "140")
        page.fill("#law_high", "210")
        page.click("#law_learn")
        seen.shows("#law_found figure svg")
        page.select_option("#table_column", "child")
        page.click("#table_add")
        seen.shows("#table_found .promise")
        make_ledger(seen)
        release(seen)
        seen.shows("#file_report")
        seen.settles()
        seen.check_calm()
        check_axe(page)
        picture(seen, "families", "#dependence")
        made = json.loads(saved(seen, "file_json"))
        assert made["value"] == cdp.Ledger.open(seen.folder / "steps.ledger").answer(1)["value"]
        assert made["target"] == 1.0
        assert "cdp.GaussianRecords.fit(" in saved(seen, "file_python")
        assert "corrdp fit families made-up-heights.csv" in saved(seen, "file_shell")


def test_by_keyboard_alone(visit):
    """Every control is reached by Tab and worked by the keys people expect."""
    with visit("--demo") as seen:
        page = seen.page
        seen.shows("#law_learn")

        def go_to(target, most=60):
            for _ in range(most):
                page.keyboard.press("Tab")
                inside = f"e => e.id === '{target}' || !!e.closest('#{target}')"
                if page.evaluate(f"({inside})(document.activeElement)"):
                    return
            pytest.fail(f"#{target} is not reached by Tab")

        go_to("law_learn")
        page.keyboard.press("Enter")
        seen.shows("#table_add")
        go_to("promise_slider")
        before = page.inner_text("#promise_sentence")
        for _ in range(8):
            page.keyboard.press("ArrowLeft")
        page.wait_for_function(
            "before => document.querySelector('#promise_sentence').innerText !== before",
            arg=before,
        )
        go_to("table_by")
        page.keyboard.press("Space")
        go_to("table_add")
        page.keyboard.press("Enter")
        seen.shows("#release_ask")
        seen.shows("#table_found .promise")
        go_to("release_ask")
        page.keyboard.press("Enter")
        seen.shows("#release_go")
        page.wait_for_timeout(600)  # the question has to have slid in
        go_to("release_go", 12)
        page.keyboard.press("Enter")
        seen.shows("#release_found figure svg")
        made = json.loads(saved(seen, "file_json"))
        assert made["target"] < 1.0


CLICK_AT_ONCE = """name => new MutationObserver((_, watcher) => {
  const button = document.getElementById(name);
  if (button && button.classList.contains('shiny-bound-input')) {
    watcher.disconnect();
    setTimeout(() => button.click());
  }
}).observe(document.body, {childList: true, subtree: true, attributes: true})"""


@pytest.mark.parametrize(("button", "shown"), [
    ("law_learn", "#law_found figure svg"), ("table_add", "#table_found .promise"),
])  # fmt: skip
def test_a_click_that_comes_at_once_is_not_lost(visit, button, shown):
    """What a button reads is on the page, and known to the server, when the button is."""
    with visit() as seen:
        seen.page.evaluate(CLICK_AT_ONCE, button)
        seen.page.click("#data_demo")
        seen.shows("#law_learn")
        if button != "law_learn":
            seen.page.click("#law_learn")
        seen.shows(shown)


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_the_curves_come_in(visit, width):
    """A button that moves between press and release is not pressed."""
    place = "document.querySelector('#table').getBoundingClientRect().top + scrollY"
    with visit("--demo", width=width) as seen:
        seen.shows("#law_learn")
        seen.page.click("#law_learn")
        seen.shows("#law_found figure svg")
        seen.shows("#promise_sentence .promise")
        seen.shows("#compare_progress .working")
        before = seen.page.evaluate(place)
        seen.shows("#promise_prices svg")
        seen.shows("#promise_curves svg")
        seen.settles()
        assert abs(seen.page.evaluate(place) - before) <= 2


def test_an_uploaded_file_is_read_as_told_and_removed(visit, tmp_path):
    path = tmp_path / "visits.csv"
    lines = [f"{1 + k // 24:02d}.03.2024,{k % 24},{'-99' if k % 31 == 0 else k * k % 7}"
             for k in range(20 * 24)]  # fmt: skip
    path.write_text("\n".join(["day,hour,beds", *lines]))
    with visit() as seen:
        page = seen.page
        page.set_input_files("#data_upload", str(path))
        seen.shows("#data_found dl")
        assert list(seen.folder.glob("corrdp-app-*/**/*.csv"))
        page.click("summary:has-text('Read it differently')")
        page.fill("#data_missing", "-99")
        page.click("#data_again")
        seen.settles()
        page.click("summary:has-text('The columns')")
        page.wait_for_function("document.querySelector('#data_found').innerText.includes('16')")
        assert page.query_selector("#data_rows table") is None
        page.click("#data_show")
        seen.shows("#data_rows table")
        seen.check_calm()
        assert not any("visits" in url for url in seen.requests)


def test_problems_are_told_in_words(visit, tmp_path):
    with visit() as seen:
        page = seen.page
        page.click("#data_read")
        seen.shows("#data_path[aria-invalid=true] + .field-problem")
        page.fill("#data_path", str(tmp_path / "nowhere.csv"))
        page.click("#data_read")
        page.wait_for_function(
            "document.querySelector('#look_progress').innerText.includes('nowhere')"
        )
        page.click("#data_demo")
        seen.shows("#law_learn")
        assert not page.query_selector(".field-problem")
        page.select_option("#law_state", "bins of steps")
        page.click("#law_learn")
        seen.shows("#law_low[aria-invalid=true]")
        page.select_option("#law_state", "steps > 0")
        learn(seen)
        choose_table(seen, "hour")
        make_ledger(seen, budget="0.01")
        page.click("#release_ask")
        page.click("#release_go")
        seen.shows("#draw_progress .problem")
        assert "does not fit" in page.inner_text("#draw_progress")
        assert page.query_selector("#release_found figure") is None
        assert cdp.Ledger.open(tmp_path / "steps.ledger").history() == ()


@pytest.mark.alone
def test_a_fit_can_be_cancelled_and_other_steps_answer_meanwhile(visit, tmp_path):
    """While rows are counted, the page answers within a second."""
    import duckdb

    path = tmp_path / "long.parquet"
    duckdb.sql(
        "COPY (SELECT make_timestamp((1700000000 + 60 * i) * 1000000) AS t, "
        f"(hash(i) % 5)::INT AS v FROM range(10000000) r(i)) TO '{path}' (FORMAT PARQUET)"
    )
    ledger = cdp.Ledger.create(tmp_path / "old.ledger", budget=2)
    ledger.charge(0.5, what="a table of last year")
    with visit(str(path)) as seen:
        page = seen.page
        page.fill("#back_path", str(ledger.path))
        seen.shows("#law_learn")
        page.select_option("#law_memory", "auto")
        page.click("#law_learn")
        seen.shows("#learn_progress .working")
        begun = time.monotonic()
        page.click("#back_open")  # another part of the page
        seen.shows("#back_found table")
        assert time.monotonic() - begun < 1
        assert "a table of last year" in page.inner_text("#back_found")
        page.click("#learn_cancel")
        seen.shows("#learn_progress .problem")
        assert "cancelled" in page.inner_text("#learn_progress")


def test_a_closed_page_leaves_charge_and_answer_together(visit):
    with visit("--demo") as seen:
        learn(seen)
        choose_table(seen, "hour")
        make_ledger(seen)
        seen.page.click("#release_ask")
        seen.page.click("#release_go")
        seen.page.wait_for_selector("#draw_progress .working")
        seen.page.close()
        ledger = cdp.Ledger.open(seen.folder / "steps.ledger")
        limit = time.monotonic() + 60
        while not ledger.history() and time.monotonic() < limit:
            time.sleep(0.2)
        assert len(ledger.answer(1)["value"]) == 24


def test_signing_and_looking_back(visit):
    pytest.importorskip("cryptography", reason="needs the extra sign")
    with visit("--demo") as seen:
        page = seen.page
        learn(seen)
        choose_table(seen, "weekday")
        make_ledger(seen)
        release(seen)
        page.click("#sign_make")
        seen.shows("#sign_found [role=status]")
        page.click("#sign_go")
        seen.shows("#file_signed")
        text = saved(seen, "file_signed")
        path, key = seen.folder / "signed.json", seen.folder / "steward.pub"
        path.write_text(text)
        assert cdp.verify(path, key).value
        page.fill("#verify_path", str(path))
        page.fill("#verify_key", str(key))
        page.click("#verify_go")
        seen.shows("#verify_found .finding")
        path.write_text(text.replace('"target": 1.0', '"target": 0.5'))
        page.click("#verify_go")
        seen.shows("#verify_progress .problem")
        assert page.query_selector("#verify_found .finding") is None
        page.click("#back_open")
        seen.shows("#back_found table")
        assert "1 charge" in page.inner_text("#back_found")
        seen.check_calm()


def test_another_tab_and_a_reload_begin_anew(visit):
    """Each page is a visit of its own; what one does is not seen in the other."""
    with visit("--demo") as seen:
        seen.shows("#law_learn")
        other = seen.page.context.new_page()
        other.goto(seen.page.url)
        other.wait_for_selector("#law_learn")
        seen.page.click("#law_learn")
        seen.shows("#learn_progress .working")
        seen.page.reload()
        learn(seen)
        assert other.query_selector("#law_found figure") is None
        other.close()
