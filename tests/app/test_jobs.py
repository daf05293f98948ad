"""Long work in a child process: progress, results, errors without private values, cancelling."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

pytest.importorskip("shiny", reason="needs the extra app")

import corrdp as cdp
from corrdp.app import jobs, parts, views, walks, work
from corrdp.app.choices import (
    DataChoice,
    FamilyChoice,
    LedgerChoice,
    MovesChoice,
    MovesTable,
    NetworkChoice,
    PromiseChoice,
    QueryChoice,
    SeriesChoice,
    TableChoice,
)
from corrdp.app.demo import DEMO_BOX, links_of_demo, write_demo
from corrdp.app.jobs import Child, told
from corrdp.errors import DataError

PATIENCE = 120


@pytest.fixture(scope="module", autouse=True)
def warm():
    jobs.warm()


def done(job):
    assert job.wait(PATIENCE)
    assert job.error == ""
    return job.value


# what children run; they are found by name, so they stand at the top of the module


def counting(tell):
    tell("one")
    tell.partial(1)
    time.sleep(0.3)
    tell("two")
    return 2


def sleeping(tell, path):
    path.write_text("begun")
    time.sleep(PATIENCE)


def failing(tell):
    raise ValueError("the steps of Ada are 7")


def refusing(tell):
    raise DataError("row 3 cannot be read")


def dying(tell):
    os.kill(os.getpid(), signal.SIGKILL)


class Slow(jobs.Watched):
    """A ledger that takes its time between the last moment to cancel and the transaction."""

    def release(self, *args, **options):
        enter = self.enter

        def entered():
            enter()
            time.sleep(2)

        object.__setattr__(self, "enter", entered)
        return super().release(*args, **options)


def releasing(tell, ledger, pause, marks):
    """A release whose sampling, or whose transaction, is slow."""
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=4)
    opened = tell.ledger(ledger)
    if pause == "inside":
        opened = Slow(opened.path, opened.header, opened.enter)
    cal = cdp.calibrate(chain, 0.5, query=cdp.Count(1))
    if pause == "before":
        (marks / "before").touch()
        time.sleep(PATIENCE)
    (marks / "ready").touch()
    return cal.release([0, 1, 1, 0], ledger=opened).value


def new_ledger(folder):
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=4)
    path = str(folder / "steps.ledger")
    return cdp.Ledger.create(path, budget=1.0, kind="bdp", model=chain)


def wait_for(condition):
    limit = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < limit:
        time.sleep(0.02)
    assert condition()


def test_stages_and_partial_results_are_told():
    job = Child(counting)
    wait_for(lambda: job.poll() or job.stage == "one")
    assert done(job) == 2
    assert (job.stage, job.partial) == ("two", 1)


def test_errors_say_what_corrdp_says_and_nothing_else():
    for function, words in ((failing, "unexpected ValueError"), (refusing, "row 3 cannot be read")):
        job = Child(function)
        assert job.wait(PATIENCE)
        assert words in job.error
        assert "Ada" not in job.error
    job = Child(dying)
    assert job.wait(PATIENCE)
    assert "ended without a result" in job.error
    assert told(FileNotFoundError(2, "No such file or directory", "x.csv")).startswith("x.csv: No")


def test_work_is_cancelled_at_once(tmp_path):
    job = Child(sleeping, tmp_path / "begun")
    wait_for((tmp_path / "begun").exists)
    assert job.cancel()
    assert job.over
    assert job.error.startswith("cancelled")
    wait_for(lambda: not job._child.is_alive())


def test_a_release_that_is_cancelled_before_it_is_charged_leaves_nothing(tmp_path):
    ledger = new_ledger(tmp_path)
    job = Child(releasing, str(ledger.path), "before", tmp_path)
    wait_for((tmp_path / "before").exists)
    assert job.cancel()
    wait_for(lambda: not job._child.is_alive())
    assert ledger.history() == ()


def test_a_release_is_not_stopped_while_it_is_charged(tmp_path):
    ledger = new_ledger(tmp_path)
    job = Child(releasing, str(ledger.path), "inside", tmp_path)
    wait_for(lambda: job._gate.value == 1)
    assert not job.cancel()
    jobs.finish()  # the page is closed: it is waited for
    assert job.over
    assert ledger.history()[0].number == 1
    assert ledger.answer(1)["value"] == done(job)


def test_what_was_cancelled_in_the_last_moment_is_not_charged(tmp_path):
    """The child asks once more, between the noise and the transaction."""
    ledger = new_ledger(tmp_path)
    job = Child(releasing, str(ledger.path), "before", tmp_path)
    wait_for((tmp_path / "before").exists)
    job._gate.value = 2
    teller = jobs.Teller(None, job._gate)
    with pytest.raises(jobs.CancelledError):
        teller.enter()
    assert job.cancel()
    assert ledger.history() == ()


def test_an_interrupt_in_the_terminal_does_not_stop_a_child():
    job = Child(counting)
    wait_for(lambda: job.poll() or job.stage == "one")
    os.kill(job._child.pid, signal.SIGINT)
    assert done(job) == 2


def test_the_five_steps_without_a_browser(tmp_path):
    path = str(write_demo(tmp_path))
    looked = done(Child(work.look, DataChoice(path, "made-up.csv")))
    assert looked.data.order_by == ("time",)
    assert looked.picture.startswith("<svg")
    names, rows = done(Child(views.first_rows, looked.data))
    assert names == ("time", "steps")
    assert len(rows) == 8
    learned = done(Child(work.learn, looked.data, SeriesChoice("steps > 0")))
    assert [name for name, _ in learned.units] == ["record", "hour", "day", "person"]
    assert learned.clock_keys == ("hour", "weekday", "month", "date")
    choice = TableChoice((QueryChoice("count", True, by=("hour", "weekday")),))
    planned = done(Child(work.plan, learned.model, PromiseChoice(), choice))
    assert "<svg" in planned.picture
    ledger, _ = done(
        Child(work.standing, LedgerChoice(str(tmp_path / "a.ledger"), 2.0, "bdp"),
            learned.model, True)
    )  # fmt: skip
    made = done(Child(work.release, planned, path, ledger.path))
    assert len(made.columns["value"]) == 168
    assert min(made.columns["value"]) >= 0
    stored = cdp.Ledger.open(ledger.path).answer(1)
    assert stored["value"] == made.release.value
    # what is handed out tells nothing of the model
    assert made.handed.digest == ""
    assert made.handed.adequacy is None or made.handed.law is None
    assert json.loads(work.as_json(made.handed))["epsilon"] == made.release.epsilon
    page = done(Child(work.report, made))
    assert page.startswith("<!doctype html>")
    assert learned.model.digest not in page


def test_the_preview_does_not_read_the_data(tmp_path):
    path = write_demo(tmp_path)
    data = done(Child(work.look, DataChoice(str(path), "made-up.csv"))).data
    learned = done(Child(work.learn, data, SeriesChoice("steps > 0")))
    path.unlink()
    choice = TableChoice((QueryChoice("histogram", states=(False, True), by=("weekday",)),))
    assert "<svg" in done(Child(work.plan, learned.model, PromiseChoice(), choice)).picture
    compared = done(Child(work.compare, learned.model, PromiseChoice()))
    curves = {curve.name.split(",")[0]: dict(curve.points) for curve in compared.curves}
    assert curves["plain DP"][1.0] < curves["corrdp"][1.0]
    assert [name for name, _ in compared.prices] == ["record", "hour", "day", "person"]


def test_what_was_chosen_from_the_data_is_told(tmp_path):
    path = write_demo(tmp_path)
    data = DataChoice(str(path), "made-up.csv", order_by=("time",))
    learned = done(Child(work.learn, data, SeriesChoice("steps > 0", order="auto", season="auto")))
    chosen = learned.chosen
    assert len(chosen.candidates) > 3
    assert sum(row[-1] == "chosen" for row in chosen.candidates) == 1
    assert chosen.words
    losses = [float(row[1]) for row in chosen.candidates]
    assert losses == sorted(losses)
    plain = done(Child(work.learn, data, SeriesChoice("steps > 0")))
    assert plain.chosen is None
    told = [parts.plain(text) for text in plain.against]
    assert any("let it differ by hour" in text for text in told)
    assert not any("=" in text.replace("p = ", "") for text in told)  # nothing to type


def test_the_five_steps_for_families(tmp_path):
    path = str(write_demo(tmp_path, "families"))
    looked = done(Child(work.look, DataChoice(path, "heights.csv", kind="families")))
    assert looked.data.order_by is None
    assert looked.picture.count("<svg") == 1  # how values spread; each row is a family
    assert looked.notes == ()  # nothing about time
    law = FamilyChoice((140.0, 210.0), ("father", "mother", "child"))
    learned = done(Child(work.learn, looked.data, law))
    assert learned.model.kind == "gaussian"
    assert learned.picture.startswith("<svg")
    assert learned.units == (("record", None),)
    assert learned.clock_keys == ()
    compared = done(Child(work.compare, learned.model, PromiseChoice()))
    curves = {curve.name.split(",")[0]: dict(curve.points) for curve in compared.curves}
    assert compared.what == "sum"
    assert curves["plain DP"][1.0] < curves["corrdp"][1.0]
    ledger = LedgerChoice(str(tmp_path / "a.ledger"), 2.0, records=learned.model.records)
    done(Child(work.standing, ledger, learned.model, True))
    choice = TableChoice((QueryChoice("mean", lower=140.0, upper=210.0, column="child"),))
    planned = done(Child(work.plan, learned.model, PromiseChoice(), choice))
    assert "<svg" in planned.picture
    made = done(Child(work.release, planned, path, ledger.path))
    assert 150 < made.columns["value"][0] < 190
    assert cdp.Ledger.open(ledger.path).answer(1)["value"] == made.release.value
    assert made.handed.digest == ""
    assert done(Child(work.report, made)).startswith("<!doctype html>")


def test_the_five_steps_for_a_network(tmp_path):
    path = str(write_demo(tmp_path, "network"))
    looked = done(Child(work.look, DataChoice(path, "people.csv", kind="network")))
    assert looked.notes == ()
    links = DataChoice(str(links_of_demo(tmp_path)), "contacts.csv")
    drawn, words = done(Child(views.linked, looked, links))
    assert "<svg" in drawn
    assert words.startswith("240 people and 191 links, by ill.")
    learned = done(Child(work.learn, looked.data, NetworkChoice("ill = 'yes'", "person", links)))
    assert learned.model.states == (False, True)
    assert learned.picture.startswith("<svg")
    assert learned.units == (("record", None),)
    ledger = LedgerChoice(str(tmp_path / "a.ledger"), 2.0, "bdp")
    done(Child(work.standing, ledger, learned.model, True))
    choice = TableChoice((QueryChoice("count", True),))
    planned = done(Child(work.plan, learned.model, PromiseChoice(), choice))
    assert "<svg" in planned.picture
    made = done(Child(work.release, planned, path, ledger.path))
    assert 0 < made.columns["value"][0] < 240
    assert cdp.Ledger.open(ledger.path).answer(1)["value"] == made.release.value
    by_town = QueryChoice("count", True, by=("town",), public_columns=("town",))
    towns = done(Child(work.plan, learned.model, PromiseChoice(), TableChoice((by_town,))))
    assert done(Child(work.release, towns, path, None)).columns["town"] == ["Ahorn", "Birke"]


def test_the_five_steps_for_movements(tmp_path):
    path = str(write_demo(tmp_path, "movements"))
    data = DataChoice(path, "walks.csv", kind="movements")
    looked = done(Child(walks.look, data))
    assert "Map of the points" in looked.picture
    assert [column.name for column in looked.overview.columns] == ["uid", "datetime", "lat", "lng"]
    law = MovesChoice("uid", "datetime", "lat", "lng", box=DEMO_BOX, step="30min")
    learned = done(Child(walks.learn, data, law))
    assert learned.model.event.value > 2 * law.epsilon  # steps tell about each other
    assert learned.model.streams is None
    assert learned.picture.startswith("<svg")
    assert [name for name, _ in learned.units] == ["visits", "trajectory", "person", "point"]
    table = MovesTable("elements", "visits")
    planned = done(Child(walks.plan, law, PromiseChoice(1.0, "visits"), table))
    assert planned.epsilon == 1.0
    assert "168 clusters" in planned.promise
    assert planned.picture.count("<svg") == 2  # made-up people, before and after
    ledger = LedgerChoice(str(tmp_path / "a.ledger"), 2.0)
    done(Child(work.standing, ledger, None, True))
    made = done(Child(walks.release, planned, data, law, ledger.path))
    stored = cdp.Ledger.open(ledger.path).answer(1)
    assert stored["rows"] == made.csv == made.signable.rows
    assert made.signable.facts["charge"] == 1
    assert list(map(int, made.columns["users"])) == list(made.release.result.counts)
    # everybody is counted at home at least, whatever the noise on 168 cells
    assert sum(made.release.result.counts) > 120
    assert done(Child(walks.report, made, data, law)).startswith("<!doctype html>")


def test_movements_are_planned_without_a_look_at_them():
    law = MovesChoice("uid", "datetime", label="place", places=("home", "work", "clinic"))
    for table in (
        MovesTable("elements", "visits", most=2),
        MovesTable("prefix", "trajectory", levels=2),
        MovesTable("ngrams", "person", levels=2, length=4, per_user=3),
    ):
        planned = done(Child(walks.plan, law, PromiseChoice(0.5, table.unit), table))
        assert planned.promise.startswith("Epsilon 0.5 for ")
        assert planned.lines
        assert planned.picture.count("<svg") == 2
    job = Child(walks.plan, law, PromiseChoice(0.5, "point"), MovesTable("planar", "point"))
    assert job.wait(PATIENCE)
    assert "needs coordinates" in job.error


def test_named_places_are_counted_by_their_names(tmp_path):
    path = tmp_path / "visits.csv"
    rows = [f"{who},2024-03-04 0{who}:00,{'zoo' if who < 4 else 'bar'}" for who in range(1, 6)]
    path.write_text("\n".join(["who,time,place", *rows]))
    data = DataChoice(str(path), path.name, kind="movements")
    law = MovesChoice("who", "time", label="place", places=("zoo", "bar", "sea"))
    promise, table = PromiseChoice(50.0, "visits"), MovesTable("elements", "visits", people=5)
    planned = done(Child(walks.plan, law, promise, table))
    made = done(Child(walks.release, planned, data, law, None))
    assert made.columns == {"cluster": ["zoo", "bar", "sea"], "users": ["3", "2", "0"]}
