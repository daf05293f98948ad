"""Descriptions in which each rule of the linter must fire, and their repaired twins."""

from __future__ import annotations


def mechanism(*steps, proof="whole", **more):
    """A description; claim fields and top-level fields by name."""
    claim = {"granularity": "unbounded", "epsilon": 1} | more.pop("claim", {})
    if "mu" in claim:
        claim.pop("epsilon")
    return {"name": "m", "claim": claim, "steps": list(steps), "proof": proof} | more


def step(kind, name="s", reads=("data",), **more):
    return {"name": name, "kind": kind, "reads": list(reads)} | {"released": True} | more


def noise(scale=1, law="laplace", **more):
    support = {"support": more.pop("support")} if "support" in more else {}
    return step("noise", noise={"law": law, "scale": scale} | support, **more)


COUNT, HISTOGRAM = {"type": "count"}, {"type": "histogram"}
APPROXIMATE = {"delta": 1e-5}
FIXED = noise(query=HISTOGRAM)
TWICE = noise(2, query=HISTOGRAM)  # a replaced record moves two counts
OBSERVED = noise(query=HISTOGRAM, range="observed")
PUBLIC = step("exponential", epsilon=1)
EVENT = {"granularity": "event"}


def tree(scale, levels=3, **more):
    return noise(scale, query={"type": "prefix-tree", "levels": levels}, **more)


# rule, severity, firing, numbers in its message, passing
FIXTURES = [
    ("L-01", "error", mechanism(OBSERVED), "loss of inf", mechanism(tree([3, 3, 3]))),
    (
        "L-01",
        "error",
        mechanism(OBSERVED | {"threshold": 0.5}),
        r"probability 0\.696735",
        mechanism(OBSERVED | {"threshold": 11.8199}, claim=APPROXIMATE),
    ),
    (
        "L-01",
        "error",
        mechanism(OBSERVED | {"threshold": 11.8}, claim=APPROXIMATE),
        r"from 11\.8198 on",
        mechanism(FIXED, claim=APPROXIMATE),
    ),
    (
        "L-02",
        "error",
        mechanism(step("sampling", rate=0.7, range="observed")),
        r"probability 0\.7",
        mechanism(FIXED),
    ),
    ("L-02", "error", mechanism(PUBLIC | {"range": "observed"}), "allows", mechanism(PUBLIC)),
    (
        "L-02b",
        "error",
        mechanism(step("sampling", rate=0.01), claim=APPROXIMATE),
        r"0\.01.*allows 1e-05",
        mechanism(step("sampling", rate=1e-5), claim=APPROXIMATE),
    ),
    (
        "L-03",
        "error",
        mechanism(
            PUBLIC | {"range": {"{1,2,3}": ["12|3", "13|2", "23|1"], "{1,2}": ["1|2"]}},
        ),
        "has 3 outputs .* has 1, and none in common",
        mechanism(PUBLIC | {"range": {"D": ["north", "south"], "E": ["south", "north"]}}),
    ),
    ("L-03", "error", mechanism(PUBLIC | {"range": "observed"}), "", mechanism(PUBLIC)),
    (
        "L-04",
        "warning",
        mechanism(PUBLIC | {"score": [0, 1], "sensitivity": 1}),
        "range of the score",
        mechanism(PUBLIC | {"score": [0, 50], "sensitivity": 1}),
    ),
    (
        "L-04",
        "warning",
        mechanism(PUBLIC | {"score": [-3, 0], "sensitivity": 3}),
        "",
        mechanism(PUBLIC | {"score": [-3, 0], "sensitivity": 3}, claim={"granularity": "local"}),
    ),
    (
        "L-05",
        "error",
        mechanism(PUBLIC, parameters=[{"name": "cluster size", "setting": 1, "gives": "data"}]),
        "cluster size = 1",
        mechanism(FIXED),
    ),
    (
        "L-06",
        "error",
        mechanism(
            step("query", "centroid", released=False), FIXED | {"reads": ["data", "centroid"]}
        ),
        "steers s",
        mechanism(
            step("query", "centroid", ["public"], released=False),
            FIXED | {"reads": ["data", "centroid"]},
        ),
    ),
    (
        "L-06",
        "error",
        mechanism(step("query", "markov", released=False), step("postprocess", "out", ["markov"])),
        "no budget on the way",
        mechanism(FIXED | {"released": False}, step("postprocess", "out", ["s"])),
    ),
    ("L-06", "error", mechanism(noise()), "no budget", mechanism(noise(sensitivity=1))),
    (
        "L-07",
        "warning",
        mechanism(OBSERVED, proof="components"),
        "keys come from the data",
        mechanism(FIXED, proof="components"),
    ),
    ("L-08", "warning", mechanism(FIXED, proof="none"), "no proof", mechanism(FIXED)),
    (
        "L-13",
        "warning",
        mechanism(FIXED | {"area": "zones"}),
        "zones only",
        mechanism(FIXED | {"area": "zones"}, claim={"area": "zones"}),
    ),
    (
        "L-14",
        "error",
        mechanism(FIXED | {"gives": "centroids"}, claim={"releases": "trajectories"}),
        "publish centroids",
        mechanism(FIXED | {"gives": "trajectories"}, claim={"releases": "trajectories"}),
    ),
    (
        "L-15",
        "error",
        mechanism(
            step("preprocess", "3 sigma", released=False, learned=True),
            FIXED | {"reads": ["3 sigma"]},
        ),
        "'3 sigma' learns",
        mechanism(
            step("preprocess", "bounds", released=False, learned=False),
            FIXED | {"reads": ["bounds"]},
        ),
    ),
    (
        "L-16",
        "error",
        mechanism(noise(query=COUNT, support=[-4, 4])),
        "ends at -4 and 4",
        mechanism(
            noise(query=COUNT, released=False), step("postprocess", "clamp", ["s", "public"])
        ),
    ),
    (
        "L-16",
        "error",
        mechanism(noise(query=COUNT, support=[-4, 4]), claim=APPROXIMATE),
        r"probability 0\.0160",
        mechanism(noise(query=COUNT, support=[-14, 14]), claim=APPROXIMATE),
    ),
    (
        "L-17",
        "warning",
        mechanism(noise(10, query=COUNT), claim=EVENT | {"epsilon": 0.1}, data={"together": 12}),
        r"12 move together.*epsilon 1\.2\.",
        mechanism(noise(10, query=COUNT), claim=EVENT | {"epsilon": 0.1}, data={"together": 1}),
    ),
    (
        "L-17",
        "warning",
        mechanism(FIXED, claim=EVENT, data={"autocorrelation": 0.8}),
        "4 move together",
        mechanism(TWICE, claim=EVENT, data={"chain": [[0.5, 0.5], [0.5, 0.5]]}),
    ),
    (
        "L-18",
        "warning",
        mechanism(
            FIXED, claim={"granularity": "w-event(4)"}, data={"chain": [[0.9, 0.1], [0.1, 0.9]]}
        ),
        "mixing time 4.*w = 5",
        mechanism(
            noise(10, query=HISTOGRAM),
            claim={"granularity": "w-event(5)"},
            data={"chain": [[0.9, 0.1], [0.1, 0.9]]},
        ),
    ),
    (
        "L-19",
        "error",
        mechanism(
            noise(10, query=HISTOGRAM),
            claim={"granularity": "user", "epsilon": 0.2, "proved_for": "trajectory"},
            data={"trajectories": 5},
        ),
        r"5 changes here, which leaves epsilon 1\.",
        mechanism(
            noise(10, query=HISTOGRAM | {"rows": 1}),
            claim={"granularity": "user", "epsilon": 0.2, "proved_for": "trajectory"},
            data={"trajectories": 1},
        ),
    ),
    (
        "L-19",
        "error",
        mechanism(
            FIXED,
            claim={"granularity": "w-event(3)", "proved_for": "user"},
            data={"users": 3, "steps": 3},
        ),
        "up to 3 changes",
        mechanism(
            TWICE,
            claim={"granularity": "event", "proved_for": "user"},
            data={"users": 3, "steps": 3},
        ),
    ),
    (
        "L-21",
        "warning",
        mechanism(noise(2, "laplace", name="a", query=COUNT), FIXED | {"range": "outputs"}),
        "earlier outputs",
        mechanism(FIXED),
    ),
    ("L-23", "error", mechanism(tree(1)), "epsilon 3, claimed is epsilon 1", mechanism(tree(3))),
    (
        "L-23",
        "error",
        mechanism(TWICE, claim={"granularity": "user"}, data={"users": 9, "steps": 2160}),
        r"epsilon 2160, claimed is epsilon 1 .* histogram by 4320 with its 2,160 rows",
        mechanism(
            noise(4320, query=HISTOGRAM),
            claim={"granularity": "user"},
            data={"users": 9, "steps": 2160},
        ),
    ),
    (
        "L-23",
        "error",
        mechanism(tree(1, 1), claim={"granularity": "user"}, data={"trajectories": 10}),
        "epsilon 20, claimed is epsilon 1",
        mechanism(
            tree(20, 1),
            claim={"granularity": "user", "proved_for": "user"},
            data={"trajectories": 10},
        ),
    ),
    (
        "L-23",
        "warning",
        mechanism(TWICE, claim={"granularity": "user"}),
        "not said how many rows .* State query.rows, or data.steps",
        mechanism(noise(2, query=HISTOGRAM | {"rows": 1}), claim={"granularity": "user"}),
    ),
    (
        "L-23",
        "error",
        mechanism(TWICE, claim={"granularity": "w-event(5)"}),
        "epsilon 5, claimed is epsilon 1",
        mechanism(noise(10, query=HISTOGRAM), claim={"granularity": "w-event(5)"}),
    ),
    (
        "L-23",
        "error",
        mechanism(noise(1, query=HISTOGRAM), claim={"granularity": "bounded"}),
        "epsilon 2",
        mechanism(noise(1, query=HISTOGRAM)),
    ),
    (
        "L-23",
        "error",
        mechanism(noise(1, sensitivity={"l2": 1})),
        "l1 sensitivity",
        mechanism(noise(1, sensitivity={"l1": 1})),
    ),
    (
        "L-23",
        "error",
        mechanism(noise(2, "gaussian", query=COUNT), claim={"mu": 0.4}),
        "mu 0.5",
        mechanism(noise(2, "gaussian", query=COUNT), claim={"mu": 0.5}),
    ),
    (
        "L-23",
        "error",
        mechanism(noise(3.7, "gaussian", query=COUNT), claim=APPROXIMATE),
        "delta 1.1",
        mechanism(noise(3.74, "gaussian", query=COUNT), claim=APPROXIMATE),
    ),
    (
        "L-23",
        "error",
        mechanism(noise(9, "gaussian", query=COUNT)),
        "no pure epsilon",
        mechanism(noise(9, "geometric", query=COUNT)),
    ),
    (
        "L-23",
        "error",
        mechanism(noise(2, query=HISTOGRAM, sensitivity=1), claim={"granularity": "bounded"}),
        "stated as 1.*by 2",
        mechanism(noise(2, query=HISTOGRAM, sensitivity=2), claim={"granularity": "bounded"}),
    ),
    (
        "L-23",
        "warning",
        mechanism(noise(1, query=COUNT), noise(1, name="b", query=COUNT)),
        "epsilons add up to 2",
        mechanism(noise(2, query=COUNT), noise(2, name="b", query=COUNT)),
    ),
    (
        "L-23",
        "warning",
        mechanism(
            step("preprocess", "smooth", released=False, sensitivity=3),
            noise(1, reads=["smooth"], query=COUNT),
        ),
        "epsilons add up to 3",
        mechanism(
            step("preprocess", "smooth", released=False, sensitivity=3),
            noise(3, reads=["smooth"], query=COUNT),
        ),
    ),
    (
        "L-23",
        "warning",
        mechanism(
            step("sampling", "a", rate=0.1),
            step("sampling", "b", rate=0.1),
            claim={"epsilon": 0, "delta": 0.1},
        ),
        "deltas add up to 0.2",
        mechanism(
            step("sampling", "a", rate=0.05),
            step("sampling", "b", rate=0.05),
            claim={"epsilon": 0, "delta": 0.1},
        ),
    ),
    (
        "L-02b",
        "error",
        mechanism(step("sampling", rate=0.05, times=3), claim={"epsilon": 0, "delta": 0.1}),
        "probability 0.142625",
        mechanism(step("sampling", rate=0.05, times=2), claim={"epsilon": 0, "delta": 0.1}),
    ),
    (
        "L-24",
        "warning",
        mechanism(FIXED, ignores=["reachability"]),
        "out of reach",
        mechanism(FIXED),
    ),
]
