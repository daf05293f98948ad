"""Draw docs/benchmarks.md and its picture from the results kept: ``python benchmarks/_page.py``."""

from __future__ import annotations

import json
import math
from pathlib import Path

from _harness import RESULTS, Growth, Row

from corrdp.plots import ACCENT, INK, MUTED, PAPER, axes_or_new

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = "growth.svg"
HEAD = (
    "# How fast it is\n\n"
    "Ratios, each measured in one run: what corrdp spends over what a peer spends on the same "
    "answer, in CPU seconds of one process, the shortest of several turns, after the two answers "
    "were compared. Below one, corrdp is faster. `make bench` measures them anew on your machine; "
    "scripts and numbers lie in `benchmarks/`.\n"
)


def read() -> list[dict[str, object]]:
    """Every result kept, by topic."""
    return [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]


def table(rows: list[Row]) -> list[str]:
    """A table of ratios."""
    lines = ["| what | against | ratio | aim |", "|---|---|---:|---:|"]
    notes = []
    for row in rows:
        missed = row.wanted is not None and row.ratio > row.wanted
        aim = "" if row.wanted is None else f"at most {row.wanted:g}{' (missed)' * missed}"
        lines.append(f"| {row.what} | {row.peer} | {row.ratio:.3g} | {aim} |")
        if missed and row.note:
            notes += ["", f"Why {row.what} misses its aim: {row.note}."]
    return lines + notes


def growth_table(growths: list[Growth]) -> list[str]:
    """How time and memory grow."""
    lines = [
        "| what | grows with | from | to | exponent | memory at the end |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for g in growths:
        lines.append(
            f"| {g.what} | {g.unit} | {g.sizes[0]:,} | {g.sizes[-1]:,} | {g.exponent:.2f} | "
            f"{g.megabytes[-1]:,.0f} MB |"
        )
    return lines


def page(found: list[dict[str, object]]) -> str:
    """The page in Markdown."""
    lines = [HEAD]
    growths: list[Growth] = []
    for result in found:
        rows = [Row(**row) for row in result["rows"]]
        growths += [Growth(**growth) for growth in result["growths"]]
        if rows:
            machine, versions = result["machine"], result["versions"]
            lines += [f"## {str(result['topic']).capitalize()}", "", *table(rows), ""]
            named = ", ".join(f"{name} {version}" for name, version in versions.items())
            lines += [
                f"Measured on {machine['cores']} cores ({machine['processor']}), Python "
                f"{machine['python']}, {named}.",
                "",
            ]
    if growths:
        lines += ["## Growth", "", f"![time against size]({PICTURE})", "", *growth_table(growths)]
    return "\n".join(lines).rstrip() + "\n"


def draw(growths: list[Growth], path: Path) -> None:
    """Time against size, one small picture for each curve."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    columns = 3
    rows = -(-len(growths) // columns)
    figure = Figure(figsize=(9.5, 2.6 * rows), layout="constrained", facecolor=PAPER)
    FigureCanvasSVG(figure)
    for k, g in enumerate(growths):
        axis = axes_or_new(figure.add_subplot(rows, columns, k + 1, facecolor=PAPER), 0)
        axis.loglog(g.sizes, g.seconds, "o-", color=ACCENT, markersize=4)
        # ends only, and whole decades: names of sizes between would lie on top of each other
        ends = g.sizes[0], g.sizes[-1]
        axis.set_xticks(ends, [f"{size:,}" for size in ends])
        low, high = (math.log10(each(g.seconds)) for each in (min, max))
        axis.set_ylim(10 ** math.floor(low), 10 ** max(math.ceil(high), math.floor(low) + 1))
        for scale in (axis.xaxis, axis.yaxis):
            scale.set_minor_formatter(NullFormatter())
        axis.set_title(g.what, color=INK, fontsize=9)
        axis.set_xlabel(f"{g.unit} (power {g.exponent:.2f})", fontsize=8, color=MUTED)
        axis.set_ylabel("CPU seconds", fontsize=8, color=MUTED)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Write both."""
    found = read()
    (DOCS / "benchmarks.md").write_text(page(found))
    growths = [Growth(**growth) for result in found for growth in result["growths"]]
    if growths:
        draw(growths, DOCS / PICTURE)


if __name__ == "__main__":
    main()
