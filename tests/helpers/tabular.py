"""A plain-Python count of transitions to compare with, and files to count in."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corrdp.tables.sequences import TripleCounts


def oracle(sequences: list[list[tuple[float, Any]]], usual: float | None = None) -> dict[str, Any]:
    """Count (time, state) sequences one by one; None is missing, a long step breaks."""
    pairs: Counter = Counter()
    triples: Counter = Counter()
    breaks = 0
    for sequence in sequences:
        ordered = sorted(sequence, key=lambda step: step[0])
        for k, (_, state) in enumerate(ordered):
            run = [state]
            for back in (1, 2):
                if k < back:
                    break
                gap = ordered[k - back + 1][0] - ordered[k - back][0]
                long = usual is not None and gap > 1.5 * usual
                breaks += long and back == 1
                if long or ordered[k - back][1] is None or run[0] is None:
                    break
                run.insert(0, ordered[k - back][1])
            pairs[tuple(run[-2:])] += len(run) >= 2
            triples[tuple(run)] += len(run) == 3
    return {
        "pairs": {key: n for key, n in pairs.items() if n},
        "triples": {key: n for key, n in triples.items() if n},
        "rows": sum(s is not None for seq in sequences for _, s in seq),
        "missing": sum(s is None for seq in sequences for _, s in seq),
        "sequences": len(sequences),
        "longest": max(len(seq) for seq in sequences),
        "breaks": breaks,
    }


def told(found: TripleCounts) -> dict[str, Any]:
    """The same, from the package."""
    name = found.states
    pairs = {
        (name[x], name[y]): int(found.counts[x, y]) for x, y in np.argwhere(found.counts).tolist()
    }
    triples = {(name[x], name[y], name[z]): n for x, y, z, n in found.triples.tolist()}
    rest = ("rows", "missing", "sequences", "longest", "breaks")
    return {"pairs": pairs, "triples": triples, **{key: getattr(found, key) for key in rest}}


def write_csv(
    path: Path, names: list[str], rows: list[tuple[Any, ...]], missing: str = "NA"
) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([missing if v is None else v for v in row] for row in rows)
    return path


def write_parquet(path: Path, names: list[str], rows: list[tuple[Any, ...]]) -> Path:
    columns = zip(*rows, strict=True)
    pq.write_table(pa.table({name: list(c) for name, c in zip(names, columns, strict=True)}), path)
    return path
