"""Public names and arguments with which each call succeeds: the namespaces, and options."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

import corrdp as cdp
from corrdp import attacks, linting, local, partial, pedigrees, reconstruction, trajectories
from tests.hostile.calls import CHAIN, COUNT, FLIP, THREAT, ledger, rng
from tests.hostile.mechanisms import walks

FOLDER = Path(tempfile.mkdtemp())
TWO = linting.laws_of([0, 1], [0, 1], [[0.7, 0.3], [0.3, 0.7]], neighbours=[(0, 1)])
RELEASE = cdp.calibrate(CHAIN, 1.0, query=COUNT).release([0, 1, 1, 0])
SERIES = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0]


def file(name, text):
    path = FOLDER / name
    path.write_text(text)
    return path


WALK = file("walk.csv", "day,steps\n" + "".join(f"{k},{k % 3}\n" for k in range(30)))
TRIO = file(
    "trio.csv",
    "pid,id,fid,mid,rs1.a1,rs1.a2\nF1,1,0,0,A,G\nF1,2,0,0,A,G\nF1,3,1,2,G,A\n",
)
LINKAGE = pedigrees.read_linkage(TRIO)
CELLS = trajectories.discretise(walks())
# loud enough to hold something whatever the noise
PUBLISHED = trajectories.PrefixTree(2, 2, 400.0).release(walks(), cells=CELLS)
DESCRIBED = {
    "name": "a count",
    "claim": {"granularity": "unbounded", "epsilon": 1.0},
    "steps": [
        {"name": "noisy", "kind": "noise", "noise": {"law": "laplace", "scale": 1.0},
         "query": {"type": "count"}, "reads": ["data"], "released": True},
    ],
}  # fmt: skip


def composing():
    """A new ledger that composes, for each call."""
    return ledger(budget=3.0, delta=1e-6, kind="bdp", model=CHAIN)


FITTED = {
    "order": 1, "season": None, "pool": True, "bins": None, "value_range": None, "gaps": True,
    "timezone": None, "order_format": None, "where": None, "independent_groups": None,
    "public_columns": (), "private_epsilon": None, "states": [0, 1], "engine": None,
    "missing": None, "group": None, "state": None, "order_by": None,
}  # fmt: skip
READ = {
    "order_by": None, "group": None, "missing": None, "engine": None, "where": None,
    "order_format": None, "timezone": None, "gaps": True,
}  # fmt: skip

MORE = {
    # models, queries and guarantees
    "MarkovChain.fit, all": (functools.partial(cdp.MarkovChain.fit, SERIES), FITTED),
    "MarkovChain.fit, table": (
        functools.partial(cdp.MarkovChain.fit, WALK),
        READ | {"state": "steps > 0", "bins": None, "value_range": None, "order": 1},
    ),
    "ChainClass": (cdp.ChainClass, {"diameter": 1.0, "length": 4}),
    "SeasonalChain": (
        cdp.SeasonalChain,
        {"transition": [[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.4, 0.6]]], "pattern": [0, 1],
         "order": 1, "length": 6, "states": ["a", "b"], "seasons": ["x", "y"]},
    ),
    "Count, by": (cdp.Count, {"state": 1, "by": (), "public_columns": ()}),
    "Quantile": (
        cdp.Quantile,
        {"quantile": 0.5, "lower": 0, "upper": 1, "points": 11, "column": "a", "missing": "skip",
         "by": (), "public_columns": ()},
    ),
    "DiscreteGaussian": (cdp.DiscreteGaussian, {"query": COUNT, "sigma": 2.0}),
    "ZCDP": (cdp.ZCDP, {"rho": 0.1}),
    "Profile": (cdp.Profile, {"delta": lambda epsilon: 0.1, "of": None}),
    "Certificate": (cdp.Certificate, {"name": "a", "reference": "b", "assumptions": ()}),
    # verbs
    "leakage, GDP": (
        cdp.leakage,
        {"model": CHAIN, "epsilon": cdp.GDP(0.2), "delta": 1e-6, "unit": 2, "method": "best"},
    ),
    "leakage, delta": (
        cdp.leakage,
        {"model": CHAIN, "epsilon": cdp.Approximate(0.2, 1e-6), "delta": 1e-3, "unit": 2},
    ),
    "leakage, own": (cdp.leakage, {"model": CHAIN, "epsilon": 0.2, "unit": 2, "own": 0.4}),
    "Leakage.profile": (
        cdp.leakage(CHAIN, cdp.GDP(0.2), delta=1e-6).profile, {"deltas": [0.1, 0.2]},
    ),
    "calibrate, gaussian": (
        functools.partial(cdp.calibrate, CHAIN, 1.0, query=COUNT),
        {"noise": "gaussian", "delta": 1e-6, "unit": 1, "robust": True, "accept": None,
         "weights": None},
    ),
    "calibrate, several": (
        cdp.calibrate,
        {"model": CHAIN, "target": 1.0, "query": [COUNT, cdp.Count(0)], "weights": [1, 2]},
    ),
    "Release.interval": (RELEASE.interval, {"level": 0.9, "joint": True}),
    "check": (functools.partial(cdp.check, WALK), READ),
    "check, data": (cdp.check, {"data": WALK}),
    "verify": (cdp.verify, {"record": RELEASE, "key": "/nowhere", "ledger": None}),
    "from_opendp": (cdp.from_opendp, {"measurement": None, "d_in": 1}),
    "Ledger.create, unit": (
        ledger,
        {"budget": 1.0, "delta": 1e-6, "unit": 1, "kind": "bdp", "model": CHAIN,
         "confidence": None, "accept": None},
    ),
    "Ledger.charge, unit": (
        lambda **a: composing().charge(cdp.GDP(0.01), what="x", **a),
        {"unit": None, "period": None},
    ),
    # attacks
    "Imputation": (attacks.Imputation, {"threat": THREAT}),
    "GradientAttack": (
        attacks.GradientAttack,
        {"threat": THREAT, "candidates": [[[1.0, 0]], [[0, 1]]], "clip": 1.0, "sigma": 1.0,
         "rule": "likelihood", "rate": 1.0},
    ),
    "clipped": (attacks.clipped, {"gradients": [[1.0, 2], [2, 3]], "clip": 1.0}),
    "follow": (
        attacks.follow,
        {"reports": [[0.0, 1], [1, 2], [2, 3]], "times": [0.0, 1, 2], "starts": None,
         "noise": 1.0, "walk": 1.0},
    ),
    "steady_state": (attacks.steady_state, {"step_variance": 1.0, "noise_variance": 1.0}),
    "posterior_bound": (attacks.posterior_bound, {"epsilon": 1.0, "prior": [0.5, 0.5]}),
    "unsure_factor": (
        attacks.unsure_factor,
        {"covariance": [[1, 0.5], [0.5, 1]], "record": 0, "spread": [0.0, 1.0]},
    ),
    "simulated_leakage": (
        attacks.simulated_leakage,
        {"mechanism": FLIP, "draw": lambda v, r: [v, 0], "values": (0, 1), "runs": 100,
         "confidence": 0.9, "rng": rng(), "jobs": 1},
    ),
    "LSTM": (
        attacks.LSTM,
        {"mechanism": FLIP, "rng": rng(), "window": 21, "folds": 10, "hidden": 16, "epochs": 10},
    ),
    # linting
    "laplace_tail": (linting.laplace_tail, {"distance": 1.0, "scale": 1.0}),
    "release_threshold": (
        linting.release_threshold, {"scale": 1.0, "delta": 0.1, "contribution": 1},
    ),
    "zero_bound": (linting.zero_bound, {"runs": 10, "confidence": 0.9}),
    "laws_of": (
        linting.laws_of,
        {"data": [0, 1], "outputs": [0, 1], "table": [[0.7, 0.3], [0.3, 0.7]],
         "granularity": None, "neighbours": [(0, 1)], "coordinates": None},
    ),
    "lint_laws": (linting.lint_laws, {"laws": TWO, "claim": 1.0}),
    "lint_sampler": (
        linting.lint_sampler,
        {"mechanism": lambda x, r: int(r.random() < 0.5), "one": 0, "other": 1, "claim": 1.0,
         "rng": rng(), "runs": 100, "confidence": 0.9, "distance": 1},
    ),
    "read_description": (linting.read_description, {"data": DESCRIBED}),
    "load_description": (linting.load_description, {"path": "/nowhere"}),
    # reports of single records
    "flip_bits": (
        local.flip_bits, {"x": np.array([0, 1], dtype=np.uint8), "flip0": 0.25, "flip1": 0.25},
    ),
    "grid_flip": (local.grid_flip, {"rate": 0.1}),
    "grid_thresholds": (local.grid_thresholds, {"mechanism": FLIP}),
    "report_states": (
        local.report_states, {"x": [0, 1], "thresholds": local.grid_thresholds(FLIP)},
    ),
    "delta_for": (partial.delta_for, {"mu": 1.0, "epsilon": 1.0}),
    "PartialLoss": (
        partial.PartialLoss,
        {"knowledge": partial.Knowledge(10, 5), "bias": 0.3, "noise": partial.Noise(1.0)},
    ),
    "sgd_guarantee": (
        reconstruction.sgd_guarantee,
        {"sigma": 1.0, "steps": 2, "rate": 1.0, "sensitivity_multiplier": 2.0},
    ),
    # families and movement
    "read_linkage": (
        pedigrees.read_linkage, {"path": TRIO, "counted": None, "missing": ("NA",)},
    ),
    "snp_report": (pedigrees.snp_report, {"linkage": LINKAGE, "target": 1.0, "track": None}),
    "must_walk": (trajectories.must_walk, {"scales": [1.0], "thresholds": [3]}),
    "nodes": (trajectories.nodes, {"k": 3, "length": 2}),
    "ElementCounts": (
        trajectories.ElementCounts, {"clusters": (0, 1, 1), "epsilon": 1.0, "most": 1},
    ),
    "probe": (
        trajectories.probe,
        {"original": walks(), "release": PUBLISHED, "cells": CELLS, "rng": rng(), "known": 1,
         "step": "5min", "utc_offset": 0.0, "rate": None, "samples": 10},
    ),
}  # fmt: skip
