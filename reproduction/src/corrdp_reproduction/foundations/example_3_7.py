"""Guerra-Balboa (2026), example 3.7: a location read off two published centroids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.attacks.linking import centroid_candidates
from corrdp.plots import ACCENT, INK, WARM
from corrdp_reproduction.base import Published, Result, Size, Table, judge
from corrdp_reproduction.foundations.dissertation import DISSERTATION
from corrdp_reproduction.harness import Run, experiment

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
RUNS: dict[Size, int] = {"quick": 200, "full": 5000}
# groups of the numbers of the points; 0 is the unknown one
PARTITIONS = {"P1": ((0,), (1, 2)), "P2": ((0, 1), (2,)), "P3": ((1,), (0, 2))}
_WHERE = "example 3.7"
PUBLISHED = {
    "points": Published("the locations", _WHERE, ((2, 2), (5, 2), (5, 5))),
    "P1": Published("centroid of the known group of P1", _WHERE, (5, 3.5)),
    "P2": Published("centroid of the known group of P2", _WHERE, (5, 3)),
    "P3": Published("centroid of the known group of P3", _WHERE, (5, 2)),
    "release": Published("centroids that P3 publishes", _WHERE, ((5, 2), (3.5, 3.5))),
    "only P3": Published("one partition fits the release", _WHERE),
    "recovered": Published("the location that was found", _WHERE, (2, 2)),
}


def centroid(points: np.ndarray, group: tuple[int, ...]) -> Point:
    """The mean of some of the points.

    Examples
    --------
    >>> centroid(np.array([[2., 2.], [5., 5.]]), (0, 1))
    (3.5, 3.5)
    """
    x, y = points[list(group)].mean(axis=0).tolist()
    return x, y


@experiment(
    "004-example-3.7",
    "Centroids of reported locations give a location away",
    f"{DISSERTATION}, example 3.7",
    PUBLISHED,
)
def example_3_7(run: Run) -> Result:
    """The signatures of the three partitions, the attack, and the attack on points at random."""
    given = run.given
    points = np.array(given["points"], dtype=float)
    rows = []
    for name, groups in PARTITIONS.items():
        known = centroid(points, next(group for group in groups if 0 not in group))
        other = centroid(points, next(group for group in groups if 0 in group))
        rows.append((name, *known, *other))
    table = Table(("partition", "known x", "known y", "other x", "other y"), tuple(rows))
    found = centroid_candidates(points[1:], given["release"])
    fitting = [row[0] for row in rows if row[1:3] in given["release"]]
    release = {centroid(points, group) for group in PARTITIONS["P3"]}
    hits = sum(_recovered(run.rng) for _ in range(RUNS[run.size]))
    findings = [
        judge(row[0], row[1:3] == given[row[0]], f"({row[1]:g}, {row[2]:g}).") for row in rows
    ]
    findings += [
        judge(
            "release",
            release == set(given["release"]),
            f"{sorted(release)}.",
        ),
        judge(
            "only P3",
            fitting == ["P3"] and found.recovered,
            f"Centroids of known groups among those released: {', '.join(fitting)}.",
            float(len(fitting)),
            float(len(found)),
        ),
        judge(
            "recovered",
            found.recovered and tuple(found.points[0]) == given["recovered"],
            f"{found!r}. Of {RUNS[run.size]} triples at random, each in a random partition, {hits} "
            "were found too.",
            hits / RUNS[run.size],
        ),
    ]
    return run.result(table, findings, {**given, "runs": RUNS[run.size]})


def _recovered(rng: np.random.Generator) -> bool:
    """Whether the attack names the first of three points at random, and no other."""
    points = rng.normal(size=(3, 2))
    groups = list(PARTITIONS.values())[rng.integers(3)]
    found = centroid_candidates(points[1:], [centroid(points, group) for group in groups])
    return found.recovered and bool(np.allclose(found.points[0], points[0]))


@example_3_7.panel("x", "y")
def draw(result: Result, ax: Axes) -> None:
    """Locations and the centroids of each partition."""
    points = np.array(result.inputs["points"], dtype=float)
    ax.plot(*points[1:].T, "o", color=INK, label="known locations")
    ax.plot(*points[0], "o", color=WARM, label="the unknown one")
    for row, mark in zip(result.table.rows, "xs+", strict=True):
        ax.plot(row[1::2], row[2::2], mark, color=ACCENT, fillstyle="none", label=f"of {row[0]}")
