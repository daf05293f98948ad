"""A complete description of a mechanism, to start from: ``corrdp lint --example``."""

from __future__ import annotations

from typing import Any

EXAMPLE: dict[str, Any] = {
    "name": "noisy prefix tree",
    "claim": {
        "granularity": "user",
        "change": "add",
        "epsilon": 1,
        "releases": "trajectories",
        "proved_for": "user",
    },
    "proof": "whole",
    "data": {"trajectories": 2, "users": 500, "steps": 48},
    "steps": [
        {
            "name": "cells",
            "kind": "preprocess",
            "reads": ["data", "public"],
            "learned": False,
        },
        {
            "name": "counts",
            "kind": "noise",
            "reads": ["cells"],
            "range": "public",
            "query": {"type": "prefix-tree", "levels": 3},
            "sensitivity": {"l1": 2, "change": "add"},
            "noise": {"law": "laplace", "scale": [6, 6, 6]},
            "epsilon": 1,
        },
        {"name": "prune", "kind": "postprocess", "reads": ["counts"]},
        {
            "name": "output",
            "kind": "postprocess",
            "reads": ["prune", "public"],
            "released": True,
            "gives": "trajectories",
        },
    ],
}
"""Two trajectories a user, three levels: each level gets a third of epsilon 1, scale 2 / (1/3)."""
