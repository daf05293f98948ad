"""The gate: hostile expressions are refused before anything runs, benign ones keep working."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import corrdp as cdp
from corrdp.cli.commands import app
from corrdp.errors import CorrdpError, DataError, ModelError
from corrdp.models.files import model_from_dict
from corrdp.tables import duck, engine
from corrdp.tables.expressions import check_expression, check_stored
from corrdp.tables.source import Table, open_table
from tests.helpers.hostile_sql import BENIGN, BREAKOUTS, HOSTILE, SUBQUERIES

COLUMNS = ["steps", "t", "s", "h", "é", "heart rate"]
U200B = "(FROM\u200bquery('SELECT max(steps) FROM records')) > 8"
ATTACK = (
    "steps > 0) AS probed FROM records; COPY records TO 'stolen.csv'; "
    "SELECT (1) AS probed FROM records --"
)


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    path = tmp_path / "walk.csv"
    rows = "".join(f"{k},{(k * 7) % 4}\n" for k in range(40))
    path.write_text("t,steps\n" + rows)
    return path


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> Table:
    path = tmp_path_factory.mktemp("row") / "row.csv"
    path.write_text('steps,t,s,h,é,heart rate\n3,2024-03-05 06:07:08,"Ab,c",1.5,2,60\n')
    return open_table(path)


def test_there_are_enough_of_both() -> None:
    assert len(set(map(repr, HOSTILE))) >= 300
    assert len(BENIGN) >= 80


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_expressions_are_refused(text: Any) -> None:
    with pytest.raises(DataError) as caught:
        check_expression(text, COLUMNS)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1500


@pytest.mark.parametrize("text", BENIGN)
def test_benign_expressions_keep_working(row: Table, text: str) -> None:
    (found,) = row.collect(row.pick(value=text))["value"].to_pylist()
    expected = BENIGN[text]
    if isinstance(expected, float | int) and not isinstance(expected, bool):
        assert math.isclose(float(found), expected)
    else:
        assert found == expected


def test_what_runs_passes_the_gate_again() -> None:
    for text in BENIGN:
        written = check_expression(text, COLUMNS).sql
        assert check_expression(written, COLUMNS).unread is None


def test_nothing_runs_before_the_gate(walk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = open_table(walk)
    for module in (duck, engine):
        monkeypatch.setattr(module, "run", lambda *_: pytest.fail("something ran"))
    for text in (*BREAKOUTS, *SUBQUERIES, ATTACK, U200B):
        with pytest.raises(DataError):
            table.pick(state=text)


# -- end to end --------------------------------------------------------------------------------


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_a_model_file_runs_no_sql(walk: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    cdp.MarkovChain.fit(walk, state="steps > 0", order_by="t").save("model.json")
    data = json.loads(Path("model.json").read_text())
    for field, text in [
        ("state", ATTACK),
        ("state", U200B),
        ("group", "(SELECT max(steps) FROM records)"),
        ("order_by", ["t", "random()"]),
        ("order_by", [7]),
    ]:
        edited = {**data, "fit": {**data["fit"], field: text}, "written": "by hand"}
        del edited["digest"]
        Path("edited.json").write_text(json.dumps(edited))
        with pytest.raises(CorrdpError):
            cdp.load_model("edited.json")
        done = invoke(
            "release", walk, "--model", "edited.json", "--target", 1, "--query", "count:true"
        )
        assert done.exit_code == 2
        assert not Path("stolen.csv").exists()


@pytest.mark.parametrize("text", [ATTACK, U200B, "(FROM records) > 1", "random() > 0.5"])
def test_commands_run_no_sql(walk: Path, tmp_path: Path, monkeypatch: Any, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("fit", walk, "--state", text, "--order", "t")
    assert done.exit_code == 2, done.output
    done = invoke(
        "release", walk, "--model", "independent:40", "--epsilon", 1, "--query", f"count:{text}"
    )
    assert done.exit_code == 2, done.output
    assert "must be one expression" in done.output
    query = f"sum:0:9:{text}"
    done = invoke("release", walk, "--model", "independent:40", "--epsilon", 1, "--query", query)
    assert done.exit_code == 2, done.output
    assert not Path("stolen.csv").exists()


def test_a_count_cannot_read_other_rows(walk: Path) -> None:
    cal = cdp.calibrate(cdp.Independent(40), epsilon=1, query=cdp.Count(where=U200B))
    with pytest.raises(DataError, match=r"U\+200B \(ZERO WIDTH SPACE\)"):
        cal.release(walk)


# -- the lock ----------------------------------------------------------------------------------


def test_a_locked_connection_reads_nothing_else(walk: Path, tmp_path: Path) -> None:
    import duckdb

    other = tmp_path / "other.csv"
    other.write_text("secret\n1\n")
    table = open_table(walk)
    before = walk.read_bytes()
    run = table.backend.con.execute
    for query in (
        f"SELECT * FROM read_csv('{other}')",
        f"SELECT * FROM '{other}'",
        f"SELECT * FROM read_text('{other}')",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"SELECT * FROM sniff_csv('{other}')",
        "SELECT * FROM read_blob('/etc/passwd')",
        f"COPY records TO '{tmp_path}/stolen.csv'",
        f"COPY records TO '{walk}'",
        f"EXPORT DATABASE '{tmp_path}/stolen'",
        f"ATTACH '{tmp_path}/stolen.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET allowed_paths = []",
        "RESET allowed_paths",
        "SET temp_directory = '/tmp'",
        "SELECT * FROM walk",  # a variable of this program
    ):
        with pytest.raises(duckdb.Error):
            run(query).fetchall()
    assert walk.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.csv", "walk.csv"]
    assert run("SELECT count(*) FROM records").fetchall() == [(40,)]


def test_the_folder_for_what_does_not_fit_is_private_and_goes(walk: Path) -> None:
    table = open_table(walk)
    ask = "SELECT value FROM duckdb_settings() WHERE name = 'temp_directory'"
    ((folder,),) = table.backend.con.execute(ask).fetchall()
    assert Path(folder).stat().st_mode & 0o777 == 0o700
    del table
    import gc

    gc.collect()
    assert not Path(folder).exists()


def settings(table: Table, *names: str) -> list[str]:
    ask = "SELECT current_setting($1)"
    return [table.backend.con.execute(ask, [name]).fetchall()[0][0] for name in names]


def own_limit() -> str:
    """The memory that DuckDB allows itself, as it writes it."""
    import duckdb

    with duckdb.connect() as connection:
        return connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0]


def test_memory_and_disk_are_limited(walk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    names = ("memory_limit", "max_temp_directory_size")
    number, own_unit = own_limit().split()
    (memory, unit), disk = (text.split() for text in settings(open_table(walk), *names))
    assert unit == own_unit
    assert float(memory) == pytest.approx(0.75 * float(number), abs=0.11)
    assert disk[1].endswith("iB")
    monkeypatch.setattr(engine, "MEMORY_SHARE", 0.01)
    monkeypatch.setattr(engine, "DISK_SHARE", 0.0)
    table = open_table(walk)
    assert settings(table, *names)[0] != " ".join([memory, unit])
    assert settings(table, *names)[1] == "0 bytes"
    for name in names:
        with pytest.raises(duckdb.Error, match="locked"):
            table.backend.con.execute(f"SET {name} = '1 TB'")


def test_a_file_that_needs_too_much_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 1_000_000
    order = np.random.default_rng(1).permutation(rows)
    path = tmp_path / "big.parquet"
    pq.write_table(pa.table({"t": order, "v": np.where(order % 3, "Zyx907", "b")}), path)
    number, unit = own_limit().split()
    mebibytes = float(number) * {"MiB": 1, "GiB": 2**10, "TiB": 2**20}[unit]
    monkeypatch.setattr(engine, "MEMORY_SHARE", 0.8 * 30 / mebibytes)
    monkeypatch.setattr(engine, "DISK_SHARE", 0.0)
    done = CliRunner().invoke(app, ["fit", str(path), "--state", "v", "--order", "t"])
    assert done.exit_code == 2, done.output
    assert "of the memory" in done.output
    assert "TMPDIR" in done.output
    assert "Zyx907" not in done.output
    assert done.output.count("\n") == 1


def test_a_probe_is_limited(walk: Path) -> None:
    import duckdb

    con = open_table(walk).backend.con
    slow = "SELECT count(*) FROM range(100000000000) t(x) WHERE hash(x) % 7 = 3"
    start = time.perf_counter()
    with pytest.raises(duckdb.InterruptException):
        engine.run(con, lambda: con.execute(slow).fetchall(), 0.3)
    assert time.perf_counter() - start < 5
    assert duck.PROBE_SECONDS == 5


COUNTING = """
import os, signal, sys, threading
import corrdp.tables.engine as engine
from corrdp.tables.source import open_table

signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs the tests may ignore it
con = open_table(sys.argv[1]).backend.con
slow = "SELECT count(*) FROM range(100000000000) t(x) WHERE hash(x) % 7 = 3"
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    engine.run(con, lambda: con.execute(slow).fetchall())
except KeyboardInterrupt:
    print(con.execute("SELECT 'ended'").fetchall()[0][0])
"""


def test_counting_can_be_interrupted(walk: Path) -> None:
    """In a process of its own: the workers that run tests look at no signal."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, str(walk)], capture_output=True, text=True, timeout=240
    )
    assert done.stdout.strip() == "ended", done.stderr


# -- casts and messages ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CAST(name AS INT) > 1", r"cannot read what stands in 2 rows .* TRY_CAST"),
        ("name::INT", r"cannot read what stands in 2 rows"),
        ("strptime(name, '%Y') > DATE '2000-01-01'", r"cannot read what stands in 2 rows"),
        ("name > 5", "explicit cast"),
        ("name IN (5, 6)", "."),
        ("date_part(name, DATE '2000-01-01')", "."),
        ("big * 9223372036854775807 > 1", "range"),
        ("regexp_matches('x', name)", "."),
        ("substring('x', 1, big * 4)", "."),
    ],
)
def test_messages_hold_no_value(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "names.csv"
    path.write_text("name,big\nsecretname,9000000000000000123\n7,1\n[secretname,1\n")
    table = open_table(path)
    with pytest.raises(DataError, match=message) as caught:
        table.collect(table.pick(value=text))
    told = str(caught.value)
    assert "secret" not in told
    assert "9000000000000000123" not in told
    assert "\n" not in told


def test_try_cast_makes_it_missing(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("name\nsecretname\n7\n")
    table = open_table(path)
    assert table.collect(table.pick(v="TRY_CAST(name AS INT)"))["v"].to_pylist() == [None, 7]


def test_releases_name_no_value(tmp_path: Path, walk: Path) -> None:
    chain = cdp.MarkovChain.fit(walk, state="steps", order_by="t")
    other = tmp_path / "other.csv"
    other.write_text("t,steps\n" + "".join(f"{k},{77 if k == 5 else 1}\n" for k in range(40)))
    cal = cdp.calibrate(chain, epsilon=1, query=cdp.Count(1), confidence=None, robust=False)
    for data in (other, [1] * 5 + [77] + [2] * 9, ["secret77"]):
        with pytest.raises(DataError, match="state") as caught:
            cal.release(data)
        assert "77" not in str(caught.value)
    with pytest.raises(DataError) as caught:
        cdp.calibrate(cdp.Independent(1), epsilon=1, query=cdp.Histogram(["a", "b"])).release(
            ["q77"]
        )
    assert "77" not in str(caught.value)


# -- digests -----------------------------------------------------------------------------------


def test_digests_are_right_or_absent_by_declaration() -> None:
    data = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]]).to_dict()
    bare = {k: v for k, v in data.items() if k != "digest"}
    assert model_from_dict({**bare, "written": "by hand"}).digest == data["digest"]
    assert model_from_dict({**data, "written": "by hand"}).digest == data["digest"]
    for wrong, message in [
        (bare, '"written": "by hand"'),
        ({**bare, "digest": None}, "digest"),
        ({**bare, "digest": "0" * 64}, "edited"),
        ({**bare, "digest": "0" * 64, "written": "by hand"}, "edited"),
        ({**bare, "written": "by me"}, "by hand"),
        ({**bare, "written": True}, "by hand"),
    ]:
        with pytest.raises(ModelError, match=message):
            model_from_dict(wrong)


def test_stored_expressions_may_be_names_of_columns() -> None:
    check_stored(["steps > 0", "heart rate", "Power (kW)", "Température [°C]", "t", None])
    for text in (*BREAKOUTS[:5], U200B, "sum(x) > 1", "x > (FROM records)", 5):
        with pytest.raises(DataError):
            check_stored([text])


def test_the_gate_survives_a_fork() -> None:
    script = (
        "import os; from corrdp.tables.expressions import check_expression as check\n"
        "check('a > 0', ['a'])\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    check('a > 1', ['a']); os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
