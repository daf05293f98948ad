"""Guerra-Balboa (2026), table 3.2: seventeen trajectory mechanisms, judged by the linter."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from corrdp.linting.registry import Surveyed, survey
from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Table, judge
from corrdp_reproduction.foundations.dissertation import DISSERTATION
from corrdp_reproduction.harness import Run, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_ROW = (117, 118)  # references that share a row of the table
LONGEST = 3  # trajectories over two places, for the printed sensitivities
_COLUMNS = ("reference", "name", "family", "claim", "flawed", "errors", "warnings", "survey")
_TABLE = "table 3.2"
PUBLISHED = {
    "flawed": Published("references that are not DP", _TABLE, tuple(range(112, 122))),
    "share": Published("share that is flawed: nearly", "chapter 1", 0.6),
    "trees": Published("noisy counts that stand", "section 3.4.1", (83, 84, 110, 111)),
    "clusters": Published("no clustering stands", "section 3.4.2"),
    "prefix": Published("sensitivity of the counts of prefixes", _TABLE, 1),
    "n-gram": Published(
        "sensitivity of the counts of n-grams is the longest length", "section 3.4.1.1", LONGEST
    ),
}


@experiment(
    "004-table-3.2",
    "Seventeen trajectory mechanisms, and which are DP",
    f"{DISSERTATION}, table 3.2",
    PUBLISHED,
)
def table_3_2(run: Run) -> Result:
    """What the linter says to each description, and the printed sensitivities by brute force."""
    given = run.given
    found = survey()
    rows = tuple(_row(entry) for entry in found)
    table = Table(_COLUMNS, rows)
    flawed = tuple(row[0] for row in rows if row[4])
    share = len(flawed) / len(rows)
    by_rows = sum(r[4] for r in rows if r[0] != ONE_ROW[1]) / (len(rows) - 1)
    counted = [r for r in rows if _is(r, "tree", "count") and not _is(r, "cluster")]
    stands = tuple(sorted(r[0] for r in counted if not r[4]))
    clusters = [r for r in rows if _is(r, "cluster")]
    prefix, grams = sensitivities(prefixes), sensitivities(ngrams)
    findings = (
        judge(
            "flawed",
            flawed == given["flawed"],
            f"The linter finds errors in {len(flawed)} of {len(rows)}: "
            f"{', '.join(map(str, flawed))}. Rules the survey names are among them: "
            f"{all(entry.agrees for entry in found)}.",
            float(len(given["flawed"])),
            float(len(flawed)),
        ),
        judge(
            "share",
            given["share"] - 0.05 < share < given["share"],
            f"{share:.1%} of {len(rows)} references, {by_rows:.2%} of the rows of the table.",
            share,
        ),
        judge("trees", stands == given["trees"], f"{', '.join(map(str, stands))}."),
        judge(
            "clusters",
            all(r[4] for r in clusters),
            f"{sum(r[4] for r in clusters)} of {len(clusters)} are refuted.",
        ),
        judge(
            "prefix",
            max(prefix[1:]) == given["prefix"],
            f"{prefix[1]} for each length, as the text derives it. A whole tree of {LONGEST} "
            f"levels has {prefix[0]}: its levels share epsilon.",
            float(max(prefix[1:])),
            float(prefix[0]),
        ),
        judge(
            "n-gram",
            max(grams[1:]) == given["n-gram"],
            f"{', '.join(map(str, grams[1:]))} for n = 1 to {LONGEST}, {grams[0]} for all "
            "together.",
            float(max(grams[1:])),
            float(grams[0]),
        ),
    )
    notes = (
        "The linter reads descriptions of the mechanisms in our words (docs/lint.md), and does not "
        "look at the survey's verdict.",
        "The columns on time, unbounded universes and realism are damaged in the stored text.",
    )
    return run.result(table, findings, given, notes)


def _row(entry: Surveyed) -> tuple[Any, ...]:
    source, lint = entry.mechanism.source, entry.findings
    errors, warnings = (
        " ".join(sorted({f.rule for f in part})) for part in (lint.errors, lint.warnings)
    )
    claim = f"{entry.mechanism.claim.granularity} {entry.mechanism.claim.level}"
    number = int(source["reference"].strip("[]"))
    name, family = entry.mechanism.name, source["family"]
    return number, name, family, claim, not lint.ok, errors, warnings, entry.verdict


def _is(row: tuple[Any, ...], *words: str) -> bool:
    """Whether the family of a row is called by one of these words."""
    return any(word in str(row[2]) for word in words)


def prefixes(trajectory: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What one trajectory adds to a prefix tree.

    Examples
    --------
    >>> prefixes(("A", "B"))
    [('A',), ('A', 'B')]
    """
    return [trajectory[: n + 1] for n in range(len(trajectory))]


def ngrams(trajectory: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What one trajectory adds to an n-gram tree.

    Examples
    --------
    >>> ngrams(("A", "B"))
    [('A',), ('B',), ('A', 'B')]
    """
    m = len(trajectory)
    return [trajectory[i : i + n] for n in range(1, m + 1) for i in range(m - n + 1)]


def sensitivities(counted: Callable[[tuple[str, ...]], list[tuple[str, ...]]]) -> tuple[int, ...]:
    """What one trajectory changes at most: in the whole tree, then in the counts of each length.

    Every trajectory over two places with at most three points is tried.

    Parameters
    ----------
    counted : callable
        The nodes of one trajectory.

    Examples
    --------
    >>> sensitivities(prefixes)
    (3, 1, 1, 1)
    """
    every = [t for n in range(LONGEST + 1) for t in itertools.product("AB", repeat=n)]
    lengths = [Counter(len(node) for node in counted(t)) for t in every]
    whole = max(sum(found.values()) for found in lengths)
    return whole, *(max(found[n] for found in lengths) for n in range(1, LONGEST + 1))


@table_3_2.panel("rules that the linter finds broken", "reference", labelcolor=None)
def draw(result: Result, ax: Axes) -> None:
    """Errors and warnings of each mechanism."""
    rows = list(result.table.records())
    for name, colour, start in (("errors", WARM, None), ("warnings", ACCENT, "errors")):
        left = [len(row[start].split()) if start else 0 for row in rows]
        many = [len(row[name].split()) for row in rows]
        ax.barh([str(row["reference"]) for row in rows], many, left=left, color=colour, label=name)
    ax.invert_yaxis()
