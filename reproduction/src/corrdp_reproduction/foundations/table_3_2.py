"""Guerra-Balboa (2026), table 3.2: seventeen trajectory mechanisms, run and judged."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from corrdp.linting.registry import Surveyed, survey
from corrdp.plots import ACCENT, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.foundations.dissertation import DISSERTATION
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.surveyed.runs import TOYS, Judged, judged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ONE_ROW = (117, 118)  # references that share a row of the table
LONGEST = 3  # trajectories over two places, for the printed sensitivities
ZONED = 110  # right for part of the data, and refuted outside
RUNS_OF: dict[Size, int] = {"quick": 1_000, "full": 20_000}
_COLUMNS = (
    "reference", "name", "family", "survey", "errors", "warnings", "refuted", "rules",
    "epsilon_low", "claim", "witness", "runs",
)  # fmt: skip
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
    """What runs of each mechanism refute, next to what the linter says to its description.

    ``epsilon_low`` is a lower limit, at 99.9 %, of the epsilon that tells two neighbouring data
    sets apart by the runs. The printed sensitivities are by brute force.
    """
    given = run.given
    found = {entry.key: entry for entry in survey()}
    rows = []
    for toy in run.over(TOYS):
        rows.append(_row(found[toy.key], judged(toy, run.rng, RUNS_OF[run.size])))
    table = Table(_COLUMNS, tuple(rows))
    # [110] is right inside its zones, which is all that it is said to be
    refuted = {r["reference"] for r in table.records() if r["refuted"]} - {ZONED}
    flawed = tuple(sorted(refuted))
    every = sorted(set(table.column("reference")))
    share = len(flawed) / len(every)
    by_rows = len(refuted - {ONE_ROW[1]}) / (len(every) - 1)
    counted = {r[0] for r in rows if _is(r, "tree", "count") and not _is(r, "cluster", "Markov")}
    stands = tuple(sorted(counted - refuted))
    clusters = {r[0] for r in rows if _is(r, "cluster", "centroid")}
    prefix, grams = sensitivities(prefixes), sensitivities(ngrams)
    zone = [r for r in table.records() if r["reference"] == ZONED]
    described = tuple(sorted({r["reference"] for r in table.records() if r["errors"]}))
    findings = (
        judge(
            "flawed",
            flawed == given["flawed"],
            f"Runs of {len(rows)} samplers refute {len(flawed)} of {len(every)} references: "
            f"{', '.join(map(str, flawed))}, each by two data sets that differ in one trajectory. "
            f"The linter finds errors in the descriptions of the same: {described == flawed}. "
            f"[110] "
            f"passes where a path lies inside its zones and is refuted outside: "
            f"{[r['refuted'] for r in zone] == [False, True]}.",
            float(len(given["flawed"])),
            float(len(flawed)),
        ),
        judge(
            "share",
            given["share"] - 0.05 < share < given["share"],
            f"{share:.1%} of {len(every)} references, {by_rows:.2%} of the rows of the table.",
            share,
            within="at most 5 % less",
        ),
        judge("trees", stands == given["trees"], f"{', '.join(map(str, stands))}."),
        judge(
            "clusters",
            clusters <= refuted,
            f"{len(clusters & refuted)} of {len(clusters)} are refuted.",
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
        "Samplers and descriptions are in our words. A sampler that passes is not proved; it is "
        "refuted when it adds too little noise (tests/test_surveyed.py).",
        "[122] stands for two mechanisms: interpolating before sampling (IFS) lets one point move "
        "k, so that delta is 1 - (1 - q)^k.",
        "The columns on time, unbounded universes and realism are damaged in the stored text.",
    )
    return run.result(table, findings, {**given, "runs": RUNS_OF[run.size]}, notes)


def _row(entry: Surveyed, seen: Judged) -> tuple[Any, ...]:
    source, lint = entry.mechanism.source, entry.findings
    errors, warnings = (
        " ".join(sorted({f.rule for f in part})) for part in (lint.errors, lint.warnings)
    )
    number = int(source["reference"].strip("[]"))
    return (
        number, entry.mechanism.name, source["family"], entry.verdict, errors, warnings,
        seen.refuted, " ".join(seen.rules), seen.epsilon, str(seen.toy.claim), repr(seen.toy.pair),
        seen.said,
    )  # fmt: skip


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


@table_3_2.panel("lower limit of epsilon by runs (claimed: 1)", "reference", labelcolor=None)
def draw(result: Result, ax: Axes) -> None:
    """What runs of each mechanism tell apart, refuted ones in another colour."""
    rows = list(result.table.records())
    for refuted, colour, said in ((True, WARM, "refuted"), (False, ACCENT, "not refuted")):
        own = [(k, row) for k, row in enumerate(rows) if row["refuted"] is refuted]
        ax.barh([k for k, _ in own], [row["epsilon_low"] + 0.02 for _, row in own], color=colour,
                label=said)  # fmt: skip
    ax.set_yticks(
        range(len(rows)), [f"{row['reference']} {row['name']}" for row in rows], fontsize=5
    )
    ax.axvline(1.0, color="0.6", linewidth=0.8)
    ax.invert_yaxis()
