"""No message of an error quotes the data: they are passed on without a look at them."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import corrdp as cdp
from corrdp.cli.commands import app
from corrdp.errors import CorrdpError
from corrdp.mechanisms.local.direct import GRR

SECRET = "Zyx907"  # as a text; 907 as a number
NODES = ["fit", "n.csv", "--state", "v", "--id", "who", "--edges", "e.csv"]
FAMILY = ["fit", "f.csv", "--group", "g", "--role", "r", "--value", "v"]
SERIES = ["fit", "s.csv", "--state", "v", "--order", "t"]
LINKAGE = ["fit", "l.csv", "--linkage"]
MOVES = ["p.csv", "--box", "47,8,50,11", "--grid", "50km"]
RELEASE = ["trajectories", "release", *MOVES, "--mechanism", "sample", "--rate", ".5", "--dry-run"]
PLACES = ["trajectories", "release", "p.csv", "--label", "lat", "--places", "a,b", *RELEASE[-5:]]
POINTS = "uid,datetime,lat,lng\n"
PED = "pid,id,fid,mid,x.a1,x.a2\n"

CASES: dict[str, tuple[dict[str, str], list[str], str]] = {
    "repeated time": ({"s.csv": f"t,v\n{SECRET},a\n{SECRET},b\n"}, SERIES, "no date or time"),
    "repeated number": ({"s.csv": "t,v\n907,a\n907,b\n908,a\n"}, SERIES, "repeat an order value"),
    "one state": ({"s.csv": f"t,v\n1,{SECRET}\n2,{SECRET}\n"}, SERIES, "is the same"),
    "node twice": (
        {"n.csv": f"who,v\n{SECRET},0\n{SECRET},1\n", "e.csv": "a,b\nx,y\n"},
        NODES,
        "rows 1 and 2 of n.csv",
    ),
    "node without state": (
        {"n.csv": f"who,v\nx,0\n{SECRET},NA\n", "e.csv": "a,b\nx,y\n"},
        NODES,
        "row 2 of n.csv has no state",
    ),
    "three states": (
        {"n.csv": f"who,v\nx,{SECRET}\ny,b\nz,c\n", "e.csv": "a,b\nx,y\n"},
        NODES,
        "the data have 3",
    ),
    "edge to nowhere": (
        {"n.csv": "who,v\nx,0\ny,1\n", "e.csv": f"a,b\nx,y\nx,{SECRET}\n"},
        NODES,
        "row 2 of e.csv",
    ),
    "loop": (
        {"n.csv": f"who,v\n{SECRET},0\ny,1\n", "e.csv": f"a,b\n{SECRET},{SECRET}\n"},
        NODES,
        "row 1 of e.csv",
    ),
    "role twice": (
        {"f.csv": f"g,r,v\nx,p,1\n{SECRET},q,2\n{SECRET},q,3\n"},
        FAMILY,
        "rows 2 and 3 of f.csv",
    ),
    "no numbers": ({"f.csv": f"g,r,v\nx,p,{SECRET}\n"}, FAMILY, "not numbers"),
    "no variance": ({"f.csv": "g,r,v\nx,p,907\ny,p,907\nz,p,907\n"}, FAMILY, "is the same in"),
    "person twice": (
        {"l.csv": f"{PED}F,{SECRET},0,0,A,G\nF,{SECRET},0,0,A,G\n"},
        LINKAGE,
        "rows 1 and 2 of l.csv",
    ),
    "own parent": ({"l.csv": f"{PED}F,{SECRET},{SECRET},0,A,G\n"}, LINKAGE, "no pedigree"),
    "three alleles": (
        {"l.csv": f"{PED}F,1,0,0,A,G\nF,2,0,0,A,{SECRET}\n"},
        [*LINKAGE, "--snp", "x"],
        "3 alleles",
    ),
    "one allele": (
        {"l.csv": f"{PED}F,1,0,0,{SECRET},{SECRET}\n"},
        [*LINKAGE, "--snp", "x"],
        "same allele",
    ),
    "no output": (
        {"r.csv": f"input,output\nx,1\n{SECRET},\n{SECRET},2\n"},
        ["audit", "--recorded", "r.csv", "--epsilon", "1"],
        "the first is row 2",
    ),
    "output outside": (
        {"r.csv": f"input,output\nx,1\n{SECRET},907\n{SECRET},2\n"},
        ["audit", "--recorded", "r.csv", "--epsilon", "1", "--outputs", "0:9"],
        "declared range",
    ),
    "no header": ({"p.csv": f"{SECRET},2024-01-01,48,9\n" * 3}, RELEASE, "give --no-header and"),
    "no header, not split": ({"s.csv": f"{SECRET};4,5 x\n" * 3}, SERIES, "give --no-header and"),
    "no header of outputs": (
        {"r.csv": f"{SECRET},1\n" * 3},
        ["audit", "--recorded", "r.csv", "--epsilon", "1"],
        "give --no-header and",
    ),
    "no latitude": (
        {"p.csv": f"{POINTS}u,2024-01-01 00:00:00,907,9\n"},
        RELEASE,
        "lat in row 1 is outside",
    ),
    "outside the box": (
        {"p.csv": f"{POINTS}u,2024-01-01 00:00:00,48,9\nu,2024-01-01 01:00:00,-9.07,9\n"},
        RELEASE,
        "corrdp: 1 point outside the grid",
    ),
    "time goes back": (
        {"p.csv": f"{POINTS}{SECRET},2024-01-02,48,9\n{SECRET},2024-01-01,48,9\n"},
        RELEASE,
        "goes back in row 2",
    ),
    "time twice": (
        {"p.csv": f"{POINTS}{SECRET},2024-01-02,48,9\n{SECRET},2024-01-02,48,9\n"},
        RELEASE,
        "rows 1 and 2 of a user",
    ),
    "place not listed": (
        {"p.csv": f"{POINTS}u,2024-01-01 00:00:00,{SECRET},9\n"},
        PLACES,
        "corrdp: 1 point at a place that is not on the list",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_no_command_quotes_the_data(tmp_path: Path, monkeypatch: Any, name: str) -> None:
    files, command, told = CASES[name]
    monkeypatch.chdir(tmp_path)
    for path, text in files.items():
        Path(path).write_text(text)
    done = CliRunner().invoke(app, command)
    assert done.exit_code in (2, 3), done.output
    assert told in done.output
    assert SECRET not in done.output
    assert "907" not in done.output.replace("9.07", "907")


def test_a_traceback_tells_where_a_time_is_repeated(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("t,v\n907,a\n907,b\n908,a\n")
    done = CliRunner().invoke(app, ["--debug", "fit", str(path), "--state", "v", "--order", "t"])
    assert isinstance(done.exception, CorrdpError)
    assert "t = 907" in "".join(traceback.format_exception(done.exception))


IN_MEMORY: dict[str, Callable[[], Any]] = {
    "blocks": lambda: cdp.GaussianRecords.fit([[1.0, SECRET]]),
    "states": lambda: cdp.MarkovChain.fit([0, 1, [SECRET]]),
    "objects": lambda: cdp.MarkovChain.fit([0, 1, complex(907)]),
    "times": lambda: cdp.trajectories.Trajectories.from_points([1], [SECRET], labels=["x"]),
    "reports": lambda: cdp.audit(
        cdp.Samples((0, 1), np.array([0, 1]), np.array([0, 907])), GRR(2, 1.0)
    ),
}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_no_function_quotes_the_data(name: str) -> None:
    with pytest.raises(CorrdpError) as caught:
        IN_MEMORY[name]()
    assert SECRET not in str(caught.value)
    assert "907" not in str(caught.value)


@pytest.mark.parametrize("state", ["v", "v > 1"])
def test_a_release_does_not_take_a_row_for_names(tmp_path: Path, state: str) -> None:
    path, bare = tmp_path / "s.csv", tmp_path / "bare.csv"
    rows = "".join(f"{SECRET},{v}\n" for v in "12212112221211")
    path.write_text("who,v\n" + rows)
    bare.write_text(rows)
    chain = cdp.MarkovChain.fit(path, state=state)
    calibration = cdp.calibrate(chain, query=cdp.Count(chain.states[1]), epsilon=1.0)
    with pytest.raises(CorrdpError, match="give header=False and names=") as caught:
        calibration.release(bare)
    assert SECRET not in str(caught.value)


def test_a_release_does_not_quote_the_data(tmp_path: Path) -> None:
    nodes, edges, other = (tmp_path / f"{name}.csv" for name in ("nodes", "edges", "other"))
    nodes.write_text("who,v\n" + "".join(f"n{k},{v}\n" for k, v in enumerate("0011100010")))
    edges.write_text("a,b\n" + "".join(f"n{k},n{k + 1}\n" for k in range(9)))
    other.write_text(nodes.read_text().replace("n3", SECRET))
    field = cdp.MarkovField.fit(nodes, state="v", id="who", edges=edges)
    family, strange = tmp_path / "f.csv", tmp_path / "g.csv"
    rows = [f"{g},{r},{(7 * g + 3 * k) % 11}\n" for g in range(20) for k, r in enumerate("pq")]
    family.write_text("g,r,v\n" + "".join(rows))
    strange.write_text(family.read_text() + f"20,{SECRET},3\n")
    records = cdp.GaussianRecords.fit(family, group="g", role="r", value="v", secret_range=(0, 11))
    for model, query, path in (
        (field, cdp.Count(1), other),
        (records, cdp.Sum(0, 11), strange),
    ):
        with pytest.raises(CorrdpError) as caught:
            cdp.calibrate(model, epsilon=1, query=query).release(path)
        assert SECRET not in "".join(traceback.format_exception(caught.value))
