"""Rows and tables that several tests read."""

from __future__ import annotations

import json
import statistics
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from corrdp.models.chains.markov import MarkovChain
from tests.helpers.tabular import oracle


def random_rows(seed: int) -> tuple[list[tuple[str, int, str | None]], dict[str, Any]]:
    """Shuffled rows of several people: missing states, absent time steps, uneven lengths."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(int(rng.integers(1, 6))):
        times = np.flatnonzero(rng.random(int(rng.integers(3, 60))) < 0.85)
        for t in times:
            state = None if rng.random() < 0.15 else "xyz"[rng.integers(3)]
            rows.append((f"p{person}", int(t) * 5 - 40, state))
    rows = [rows[k] for k in rng.permutation(len(rows))]
    people = {person for person, _, _ in rows}
    sequences = [[(t, s) for p, t, s in rows if p == person] for person in sorted(people)]
    times = [sorted(t for t, _ in sequence) for sequence in sequences]
    steps = [b - a for row in times for a, b in pairwise(row)]
    return rows, oracle(sequences, statistics.median_low(steps))


def hhmm_rows(days: list[int], drop: set[tuple[int, int]]) -> list[tuple[str, int, int]]:
    intervals = [100 * hour + minute for hour in range(4) for minute in range(0, 60, 5)]
    return [
        ((date(2012, 10, 1) + timedelta(days=day)).isoformat(), interval, (day + k) % 2)
        for day in days
        for k, interval in enumerate(intervals)
        if (day, interval) not in drop
    ]


MECHANISMS = """
import numpy as np
from corrdp.local import OUE

def mechanism(x, rng):  # epsilon 1
    return x if rng.random() < 1 / (1 + np.exp(-1)) else 1 - x

def client(x, rng):
    return OUE(100, 1.0).sample(np.array([x]), rng)[0]

def count(records, rng):
    return sum(records) + rng.laplace(scale=20)
"""
NOISY = """
import os, random, sys
rng = random.Random(os.environ["CORRDP_SEED"])
for line in sys.stdin:
    print(int(line) + rng.gauss(0, 3))
"""


def write_audited() -> None:
    """What the page on audits attacks: a module, a program, recorded outputs, a model."""
    Path("mymodule.py").write_text(MECHANISMS)
    Path("noisy.py").write_text(NOISY)
    rng = np.random.default_rng(3)
    inputs = rng.integers(0, 2, 4000)
    outputs = np.where(rng.random(4000) < 0.7, inputs, 1 - inputs)
    pq.write_table(pa.table({"input": inputs, "output": outputs}), "outputs.parquet")
    MarkovChain([[0.9, 0.1], [0.2, 0.8]], 41).save("chain.json")


def write_walks() -> None:
    """What the page on engines counts, and a meter whose text is of another make."""
    rng = np.random.default_rng(4)
    walked = [MarkovChain([[0.9, 0.1], [0.2, 0.8]], 288).sample(rng) * 17 for _ in range(5)]
    times = np.tile(np.arange(288), 5)
    columns = {
        "person": [f"p{k}" for k in np.repeat(np.arange(5), 288)],
        "t": times,
        "date": [date(2024, 3, 1 + t // 96) for t in times.tolist()],
        "interval": times % 96,
        "steps": np.concatenate(walked),
    }
    pq.write_table(pa.table(columns), "walk.parquet")
    kwh = np.round(rng.random(400) * 5, 2)
    lines = [f"{t};{x:.2f}".replace(".", ",") for t, x in enumerate(kwh)]
    Path("meter.csv").write_text("\n".join(lines) + "\n")


def write_tables() -> None:
    """The files that the pages on families, networks and pedigrees speak about."""
    plan = {
        "domain": {"type": "multiset", "atoms": ["yh", "ys", "oh", "os"]},
        "targets": ["unbounded", "bounded"],
        "releases": [
            {"id": "old", "eps": 1.0, "map": {"count": ["oh", "os"]}},
            {"id": "sick", "eps": 0.3, "map": {"count": ["ys", "os"]}},
        ],
        "claims": [{"target": "bounded", "eps": 1.3}],
    }
    Path("plan.json").write_text(json.dumps(plan))
    rng = np.random.default_rng(2)
    shared = rng.normal(0, 1, (200, 1))
    heights = np.array([69, 64, 67]) + 2 * (shared + rng.normal(0, 1.5, (200, 3)))
    rows = [",".join(f"{x:.2f}" for x in row) for row in heights]
    Path("heights.csv").write_text("father,mother,child\n" + "\n".join(rows) + "\n")
    ring = MarkovChain([[0.75, 0.25], [0.25, 0.75]], 400).sample(rng)
    people = [f"p{k},{'yes' if ill else 'no'}" for k, ill in enumerate(ring)]
    Path("people.csv").write_text("person,ill\n" + "\n".join(people) + "\n")
    links = [f"p{k},p{(k + 1) % 400}" for k in range(400)]
    Path("contacts.csv").write_text("one,other\n" + "\n".join(links) + "\n")
    trios = ["pid,id,fid,mid,rs1.a1,rs1.a2,rs2.a1,rs2.a2"]
    for k in range(40):
        one, two = rng.integers(1, 3, (2, 2, 2))
        kid = [(one[s, rng.integers(2)], two[s, rng.integers(2)]) for s in range(2)]
        for who, genes, parents in (
            (1, one, "0,0"),
            (2, two, "0,0"),
            (3, np.array(kid), "1,2"),
        ):
            codes = ",".join(str(x) for x in np.ravel(genes))
            trios.append(f"{k + 1},{who},{parents},{codes}")
    Path("trios.csv").write_text("\n".join(trios) + "\n")
    walked = MarkovChain([[0.9, 0.1], [0.2, 0.8]], 300)
    points = [
        f"{39.9 + 0.05 * place},{116.3 + 0.001 * user},"
        f"2020-01-{1 + k // 288:02d} {k // 12 % 24:02d}:{k % 12 * 5:02d}:00,u{user}"
        for user in range(3)
        for k, place in enumerate(walked.sample(rng))
    ]
    Path("points.csv").write_text("lat,lng,datetime,uid\n" + "\n".join(points) + "\n")
