"""The same again for movements: the cells of a script or notebook, and shell commands."""

from __future__ import annotations

from typing import Any

from corrdp.app.calls import call, command
from corrdp.app.choices import DataChoice, LedgerChoice, MovesChoice, MovesTable

_CLASSES = {
    "elements": "ElementCounts",
    "prefix": "PrefixTree",
    "ngrams": "NgramTree",
    "planar": "PlanarCells",
}


def cells(
    data: DataChoice,
    law: MovesChoice,
    epsilon: float,
    table: MovesTable,
    ledger: LedgerChoice | None,
) -> list[tuple[str, str]]:
    """Words and code of each step."""
    used = [_CLASSES[table.mechanism], "Grid", "discretise", "inspect_movements"]
    names = ",\n    ".join(sorted([*used, "read_trajectories"]))
    read = call("read_trajectories", [repr(data.place)], data.arguments() | law.reading())
    inspected = call("inspect_movements", ["walks", repr(law.epsilon)], law.arguments())
    found = [
        (
            "The movements, and how they are read",
            "from pathlib import Path\n\nimport corrdp as cdp\n"
            f"from corrdp.trajectories import (\n    {names},\n)\n"
            "from corrdp.trajectories.mechanisms.publishing import rows_of\n\n"
            f"walks = {read}",
        ),
        ("What a level means on them; private", f"found = {inspected}\nprint(found)"),
        ("The public places", _places(law, table)),
        ("What draws the noise", f"mechanism = {_mechanism(law, epsilon, table)}"),
    ]
    given: dict[str, Any] = {"radius": table.radius} if table.mechanism == "planar" else {}
    if ledger is not None:
        given["ledger"] = ledger.path
        if ledger.budget is not None:
            made = call("cdp.Ledger.create", [repr(ledger.path)], ledger.arguments(None))
            code = f"if not Path({ledger.path!r}).exists():\n    {made}"
            found.append(("The ledger; it is made once", code))
    given["what"] = f"{_CLASSES[table.mechanism]} of movements in {data.name}"
    counts: dict[str, Any] = {"counts": True} if table.counts else {}
    drawn = call("mechanism.release", ["walks", "cells=cells"], given | counts)
    rows = call("rows_of", ["release", "cells"], counts)
    return [
        *found,
        (
            "Draw the noise, charge: every run is a new release",
            f"release = {drawn}\nprint(release.title)",
        ),
        (
            "What is kept; the report shows the movements and stays private",
            "import json\n\nfrom corrdp.report.movements import render_moved\n\n"
            f'Path("table.csv").write_text({rows})\n'
            'Path("release.json").write_text(json.dumps(release.to_dict(), indent=1))\n'
            'Path("report.html").write_text(render_moved(release, cells))',
        ),
    ]


def _places(law: MovesChoice, table: MovesTable) -> str:
    grid = "None" if law.box is None else call("Grid.square", [repr(x) for x in law.corners], {})
    how: dict[str, Any] = {"outside": "clip"} if law.clip else {}
    if table.merge_stays:
        how["merge_stays"] = True
    return f"grid = {grid}\ncells = {call('discretise', ['walks', 'grid'], how)}"


def _mechanism(law: MovesChoice, epsilon: float, table: MovesTable) -> str:
    name, level = _CLASSES[table.mechanism], repr(epsilon)
    unit = {} if table.per_user is None else {"per_user": table.per_user}
    if table.mechanism == "elements":
        named = "[cells.place(code) for code in range(cells.size)]"
        return call(name, [named, level, repr(table.most)], {})
    if table.mechanism == "prefix":
        return call(name, ["cells.size", repr(table.levels), level], unit)
    if table.mechanism == "ngrams":
        return call(name, ["cells.size", repr(table.length), level], {"n_max": table.levels} | unit)
    how = {"outside": "clip"} if law.clip else {}
    return call(name, ["grid", f"{level} / {table.radius!r}"], how)


def shell(
    data: DataChoice,
    law: MovesChoice,
    epsilon: float,
    table: MovesTable,
    ledger: LedgerChoice | None,
) -> list[str]:
    """Shell commands, without the one that makes a ledger."""
    read = ["--user", law.user, "--time", law.time]
    if law.label is None:
        read += ["--lat", str(law.lat), "--lng", str(law.lng), "--grid", f"{law.side!r}m"]
    else:
        read += ["--label", law.label]
    read += [] if law.split is None else ["--split", law.split]
    for text in data.missing:
        read += ["--missing", text]
    looked = ["corrdp", "trajectories", "inspect", data.place, *read, "--step", law.step]
    looked += ["--epsilon", repr(law.epsilon)]
    drawn = ["corrdp", "trajectories", "release", data.place, *read]
    drawn += ["--mechanism", table.mechanism, "--epsilon", repr(epsilon)]
    if law.box is not None:
        drawn += [f"--box={','.join(map(repr, law.box))}", *(["--clip"] if law.clip else [])]
    else:
        drawn += ["--places", ",".join(law.places)]
    drawn += _options(table)
    drawn += [] if ledger is None else ["--ledger", ledger.path]
    drawn += ["-o", "table.csv", "--report", "report.html", "--json"]
    return [command(looked), f"{command(drawn)} > release.json"]


def _options(table: MovesTable) -> list[str]:
    if table.mechanism == "elements":
        return ["--most", str(table.most)]
    if table.mechanism == "planar":
        return ["--radius", repr(table.radius)]
    said = ["--levels", str(table.levels)]
    said += ["--length", str(table.length)] if table.mechanism == "ngrams" else []
    said += [] if table.per_user is None else ["--per-user", str(table.per_user)]
    said += ["--merge-stays"] if table.merge_stays else []
    return said + (["--counts"] if table.counts else [])
