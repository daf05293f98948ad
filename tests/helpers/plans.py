"""Plans, domains and channels that several tests compose."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import strategies as st

from corrdp.accounting.maps import (
    Cliques,
    Columns,
    Degree,
    GroupBy,
    Identity,
    ReadsCount,
    ReadsSum,
    Select,
)
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.guarantees import GDP, L1
from corrdp.metric.domains import (
    GraphDomain,
    MultisetDomain,
    StreamDomain,
    TupleDomain,
)

BANDS = {
    "domain": {"type": "multiset", "atoms": ["yh", "ys", "mh", "ms", "oh", "os"]},
    "targets": ["unbounded", "bounded"],
    "releases": [
        {
            "id": "young",
            "notion": "pure",
            "eps": 0.2,
            "mode": "common",
            "map": {"count": ["yh", "ys"]},
        },
        {
            "id": "mid",
            "notion": "pure",
            "eps": 0.5,
            "mode": "common",
            "map": {"count": ["mh", "ms"]},
        },
        {
            "id": "old",
            "notion": "pure",
            "eps": 1.0,
            "mode": "common",
            "map": {"count": ["oh", "os"]},
        },
        {
            "id": "sick",
            "notion": "pure",
            "eps": 0.3,
            "mode": "common",
            "map": {"count": ["ys", "ms", "os"]},
        },
    ],
    "claims": [{"target": "bounded", "eps": 1.3}],
}


def changed(**fields) -> dict:
    return json.loads(json.dumps(BANDS)) | fields


def with_release(**fields) -> dict:
    plan = changed()
    plan["releases"][2] = {"id": "old", "eps": 1.0, "map": {"count": ["oh", "os"]}} | fields
    return plan


LETTERS = MultisetDomain(("a", "b", "c", "d"))


def near(value: float):
    return pytest.approx(value, abs=1e-6)


def gaussian(plan: Plan) -> Plan:
    steps = [Step(s.id, GDP(float(s.level)), s.map, s.mode, s.metric) for s in plan.steps]
    return Plan(plan.domain, steps, plan.units)


def cells(*levels: float, noise=float) -> list[Step]:
    return [Step(str(k), noise(e), ReadsCount((k,))) for k, e in enumerate(levels)]


@st.composite
def steps_on(draw, domain, target):
    """Releases of every kind that the domain can read."""
    steps = []
    for k in range(draw(st.integers(1, 4))):
        level = draw(st.sampled_from([0.1, 0.25, 0.5, 1.0]))
        if domain.type == "stream":
            unit = draw(
                st.sampled_from(["event", "w-event(2)", "l-trajectory(2)", "user", "free-lunch"])
            )
            columns = draw(st.sets(st.integers(0, domain.steps - 1), min_size=1))
            steps.append(
                Step(
                    str(k),
                    level,
                    Columns(tuple(columns)),
                    draw(st.sampled_from(["pre", "common"])),
                    unit,
                )
            )
            continue
        if domain.type == "graph":
            map_ = draw(st.sampled_from([Degree(0), Degree(2), Cliques(3), Identity()]))
            if map_ == Identity() or draw(st.booleans()):
                steps.append(Step(str(k), level, map_))
            else:
                steps.append(Step(str(k), L1(level), map_, "pre"))
            continue
        atoms = st.sets(st.sampled_from(domain.atoms))
        part = tuple(draw(atoms))
        other = tuple(set(draw(atoms)) - set(part))
        records = None
        if domain.type == "tuple" and draw(st.booleans()):
            records = tuple(draw(st.sets(st.integers(0, domain.length - 1), min_size=1)))
        numbers = [ReadsCount(part, records), GroupBy((part, other), records)]
        sums = ReadsSum([(a, draw(st.integers(-2, 2))) for a in domain.atoms], records)
        kind = draw(st.integers(0, 4))
        units = ["bounded", "free-lunch"]
        if getattr(domain, "size", None) is None:
            units.append("unbounded")
        if kind == 0:
            steps.append(Step(str(k), L1(level), draw(st.sampled_from([*numbers, sums])), "pre"))
        elif kind == 1 and domain.type == "multiset":
            unit = draw(st.sampled_from(units))
            steps.append(
                Step(str(k), level, Select(part), draw(st.sampled_from(["pre", "common"])), unit)
            )
        elif kind == 2 and domain.type == "multiset":
            unit = draw(st.sampled_from([*units, None]))
            steps.append(
                Step(str(k), level, draw(st.sampled_from([*numbers, sums])), "common", unit)
            )
        elif kind == 3:
            steps.append(Step(str(k), level, Identity(), draw(st.sampled_from(["pre", "common"]))))
        else:
            steps.append(Step(str(k), level, draw(st.sampled_from(numbers))))
    return steps


CASES = [
    (MultisetDomain(("a", "b", "c"), largest=3), "unbounded"),
    (MultisetDomain(("a", "b", "c"), largest=3), "bounded"),
    (MultisetDomain(("a", "b", "c"), size=3), "bounded"),
    (TupleDomain(3, ("a", "b")), "bounded"),
    (StreamDomain(2, 3), "event"),
    (StreamDomain(2, 3), "w-event(2)"),
    pytest.param(StreamDomain(2, 3), "w-event(3)", marks=pytest.mark.slow),
    (StreamDomain(2, 3), "l-trajectory(2)"),
    (StreamDomain(2, 3), "user"),
    (StreamDomain(1, 3, (0, 1), periodic=False), "event"),
    (StreamDomain(1, 3, (0, 1), periodic=False), "user"),
    (GraphDomain(4), "edge"),
]


def geometric(counts: list[int], epsilon: float, top: int = 12) -> np.ndarray:
    """Two-sided geometric noise on a count, cut at the ends by adding up."""
    outputs = np.arange(-top, top + 1)
    tail = math.exp(-epsilon)
    rows = []
    for c in counts:
        row = (1 - tail) / (1 + tail) * tail ** np.abs(outputs - c)
        row[0], row[-1] = tail ** abs(-top - c) / (1 + tail), tail ** abs(top - c) / (1 + tail)
        rows.append(row)
    return np.array(rows)


def together(*channels: np.ndarray) -> np.ndarray:
    joint = channels[0]
    for channel in channels[1:]:
        joint = (joint[:, :, None] * channel[:, None, :]).reshape(len(joint), -1)
    return joint
