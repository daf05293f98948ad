"""Arguments with which each name of ``corrdp.plans`` can be called."""

from __future__ import annotations

import corrdp as cdp
from corrdp import plans
from tests.hostile.calls import CHAIN, COUNT, PLAN

DOMAIN = cdp.account(PLAN).plan.domain
RELEASE = cdp.calibrate(CHAIN, 1.0, query=COUNT).release([0, 1, 1, 0])
RECORD = RELEASE.to_dict()


class GaussianDpEvent:
    """As dp-accounting has it."""

    noise_multiplier = 1.0


PLANS = {
    # what there is
    "MultisetDomain": (plans.MultisetDomain, {"atoms": (0, 1), "size": 2, "largest": None}),
    "TupleDomain": (plans.TupleDomain, {"length": 2, "atoms": (0, 1)}),
    "GraphDomain": (plans.GraphDomain, {"vertices": 3}),
    "StreamDomain": (
        plans.StreamDomain, {"users": 1, "steps": 3, "atoms": (0, 1), "periodic": True},
    ),
    "UserDomain": (
        plans.UserDomain, {"users": 1, "atoms": (0, 1), "points": 2, "largest": None},
    ),
    "ExplicitDomain": (plans.ExplicitDomain, {"items": (0, 1), "of": "point"}),
    # what is read of it
    "Cliques": (plans.Cliques, {"size": 3}),
    "Columns": (plans.Columns, {"steps": (0, 1)}),
    "Degree": (plans.Degree, {"vertex": 0}),
    "GroupBy": (plans.GroupBy, {"groups": ((0,), (1,)), "records": None}),
    "ReadsCount": (plans.ReadsCount, {"atoms": (0,), "records": None}),
    "ReadsRecords": (plans.ReadsRecords, {"records": (0,)}),
    "ReadsSum": (plans.ReadsSum, {"values": ((0, 1.0), (1, 2.0)), "records": None}),
    "ReadsTable": (plans.ReadsTable, {"labels": (0, 1)}),
    "Select": (plans.Select, {"atoms": (0,)}),
    # how far apart, and who is protected
    "DistanceTable": (
        plans.DistanceTable,
        {"distances": ((0.0, 1.0), (1.0, 0.0)), "labels": ("a", "b"), "of": None},
    ),
    "Relation": (plans.Relation, {"pairs": ((0, 1),)}),
    "Claim": (plans.Claim, {"unit": plans.Bounded(), "level": 1.0, "notion": "pure"}),
    "conversion_factor": (
        plans.conversion_factor, {"source": "event", "unit": "event", "domain": DOMAIN},
    ),
    # plans and releases
    "plan_from_dict": (plans.plan_from_dict, {"data": PLAN}),
    "account, delta": (cdp.account, {"plan": PLAN, "unit": "event", "delta": 1e-6}),
    "read_release": (plans.read_release, {"data": RECORD, "name": "a"}),
    "load_releases": (plans.load_releases, {"paths": ()}),
    "total_releases": (
        plans.total_releases,
        {"releases": [plans.read_release(RECORD, "a")], "model": CHAIN, "confidence": None,
         "accept": None, "delta": None, "unit": None},
    ),
    "from_dp_accounting": (
        plans.from_dp_accounting,
        {"told": GaussianDpEvent(), "delta": None, "factor": 1.0},
    ),
}  # fmt: skip
