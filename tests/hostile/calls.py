"""Public names and arguments with which each call succeeds: models, queries, verbs, books."""

from __future__ import annotations

import os
import tempfile

import numpy as np

import corrdp as cdp
from corrdp import attacks, local, pedigrees, plans, reconstruction

CHAIN = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=4)
THREE = cdp.MarkovChain([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8]], length=4)
COUNT = cdp.Count(1)
FLIP = local.BinaryResponse(0.3)
THREAT = cdp.Threat([0.5, 0.5])
PLAN = {
    "domain": {"type": "stream", "users": 1, "steps": 3},
    "targets": ["event"],
    "releases": [{"id": "a", "eps": 0.1, "map": {"column": 0}, "metric": "event"}],
}
LEDGERS = tempfile.mkdtemp()


def rng():
    return np.random.default_rng(1)


def ledger(**options):
    """A new ledger for each call."""
    number = len(os.listdir(LEDGERS))
    return cdp.Ledger.create(os.path.join(LEDGERS, f"{number}.ledger"), **options)


CALLS = {
    # models
    "Independent": (cdp.Independent, {"n": 3}),
    "Groups": (cdp.Groups, {"m": 3}),
    "Groups.labels": (lambda labels: cdp.Groups(labels=labels), {"labels": ["a", "a"]}),
    "JointTable": (cdp.JointTable, {"law": {(0, 0): 0.5, (1, 1): 0.5}}),
    "MarkovChain": (
        cdp.MarkovChain,
        {"transition": [[0.9, 0.1], [0.2, 0.8]], "length": 3, "initial": [0.5, 0.5],
         "states": ["a", "b"]},
    ),
    "WindowChain": (
        cdp.WindowChain,
        {"transition": [[0.9, 0.1]] * 4, "order": 2, "length": 5, "states": ["a", "b"]},
    ),
    "MarkovChain.of_series": (
        cdp.MarkovChain.of_series,
        {"transition": [[0.9, 0.1], [0.2, 0.8]], "series": ["a", "b"],
         "slices": [("x", "x"), ("y", "y")], "states": ["x", "y"], "length": 3,
         "initial": [0.5, 0.5]},
    ),
    "MarkovChain.fit, joint": (
        cdp.MarkovChain.fit,
        {"data": [[0, 1, 1, 0, 1, 0, 0], [0, 1, 0, 0, 1, 1, 0]], "joint": True, "order": 1,
         "zeros": "chance", "public": False},
    ),
    "GaussianRecords": (
        cdp.GaussianRecords,
        {"cov": [[1, 0.5], [0.5, 1]], "mean": [0, 0], "secret_range": (0, 1)},
    ),
    "GaussianRecords.ar1": (cdp.GaussianRecords.ar1, {"n": 4, "phi": 0.5, "deviation": 1.0}),
    "GaussianRecords.equicorrelated": (
        cdp.GaussianRecords.equicorrelated, {"n": 3, "rho": 0.5, "deviation": 1.0},
    ),
    "GaussianRecords.from_precision": (
        cdp.GaussianRecords.from_precision, {"precision": [[2, -1], [-1, 2]]},
    ),
    "GaussianRecords.blocks": (cdp.GaussianRecords.blocks, {"parts": [[[1.0]]]}),
    "GaussianRecords.condition": (
        cdp.GaussianRecords([[1, 0.5], [0.5, 1]]).condition, {"known": {0: 1.0}},
    ),
    "GaussianRecords.fit": (
        cdp.GaussianRecords.fit,
        {"table": [[1.0, 2], [2, 3], [3, 5], [4, 1]], "columns": ["a", "b"],
         "secret_range": (0, 9)},
    ),
    "MarkovTree": (
        cdp.MarkovTree,
        {"parents": [None, 0, 0], "kernels": [[0.8, 0.2], [0.3, 0.7]], "root_law": [0.4, 0.6],
         "states": ["a", "b"]},
    ),
    "MarkovField": (
        cdp.MarkovField,
        {"edges": [(0, 1)], "potentials": [[2, 1], [1, 2]], "fields": [1, 1], "nodes": 3,
         "states": ["a", "b"], "labels": ["x", "y", "z"]},
    ),
    "MarkovField.ising": (
        cdp.MarkovField.ising, {"graph": [(0, 1)], "coupling": 0.5, "field": 0.1, "nodes": 3},
    ),
    "Pedigree": (
        cdp.Pedigree,
        {"individuals": [("d", None, None), ("m", None, None), ("k", "d", "m")],
         "founders": pedigrees.HardyWeinberg(0.5), "unobserved": ("d",)},
    ),
    "HardyWeinberg": (pedigrees.HardyWeinberg, {"p": 0.5}),
    "MarkovChain.fit": (
        cdp.MarkovChain.fit,
        {"data": [0, 1, 1, 0, 1, 0, 0], "order": 1, "zeros": "chance", "public": False},
    ),
    "MarkovChain.with_length": (CHAIN.with_length, {"length": 3}),
    "MarkovChain.sample": (CHAIN.sample, {"rng": rng()}),
    "load_model": (cdp.load_model, {"path": "/nowhere/model.json"}),
    # queries and guarantees
    "Count": (cdp.Count, {"state": 1, "records": slice(0, 2), "missing": "skip"}),
    "Sum": (cdp.Sum, {"lower": 0, "upper": 1, "column": "a", "missing": "skip"}),
    "Mean": (cdp.Mean, {"lower": 0, "upper": 1, "column": "a", "missing": "skip", "n": 3}),
    "Histogram": (cdp.Histogram, {"categories": (0, 1), "column": "a", "missing": "skip"}),
    "Series": (cdp.Series, {"symmetric": True, "missing": "skip"}),
    "Pure": (cdp.Pure, {"epsilon": 1.0}),
    "Approximate": (cdp.Approximate, {"epsilon": 1.0, "delta": 0.1}),
    "L1": (cdp.L1, {"rate": 1.0, "epsilon": 1.0}),
    "GDP": (cdp.GDP, {"mu": 1.0}),
    "Tradeoff": (cdp.Tradeoff, {"curve": lambda a: 1 - a}),
    # verbs
    "leakage": (
        cdp.leakage,
        {"model": CHAIN, "epsilon": 1.0, "query": None, "mechanism": None, "method": "best",
         "confidence": None, "adversary": "all"},
    ),
    "leakage.query": (cdp.leakage, {"model": CHAIN, "epsilon": 1.0, "query": COUNT}),
    "leakage.mechanism": (cdp.leakage, {"model": CHAIN, "mechanism": FLIP}),
    "calibrate": (
        cdp.calibrate,
        {"model": CHAIN, "target": 1.0, "query": COUNT, "method": "best", "confidence": None,
         "adversary": "all", "coarse": False},
    ),
    "calibrate.epsilon": (cdp.calibrate, {"model": CHAIN, "epsilon": 1.0, "query": COUNT}),
    "calibrate.series": (
        cdp.calibrate,
        {"model": CHAIN, "target": 1.0, "query": cdp.Series(), "adversary": "none"},
    ),
    "release": (
        cdp.calibrate(CHAIN, 1.0, query=COUNT).release,
        {"data": [0, 1, 1, 0], "nonnegative": True, "state": None},
    ),
    "release.sum": (
        cdp.calibrate(cdp.Independent(3), 1.0, query=cdp.Sum(0, 1)).release, {"data": [0.5, 1, 0]},
    ),
    "sanitize": (
        cdp.calibrate(CHAIN, 1.0, query=cdp.Series()).release, {"data": [0, 1, 1, 0]},
    ),
    "minimum_error": (cdp.minimum_error, {"model": CHAIN, "target": 1.0, "query": COUNT}),
    "Adversary": (cdp.Adversary, {"record": 0, "known": {1: 0}}),
    "write_report": (
        lambda result, model, public: cdp.write_report(
            os.path.join(LEDGERS, "r.html"), result, model, public=public, overwrite=True
        ),
        {"result": cdp.calibrate(CHAIN, 1.0, query=COUNT), "model": CHAIN, "public": False},
    ),
    # results
    "Leakage.from_dict": (cdp.Leakage.from_dict, {"data": cdp.leakage(CHAIN, 1.0).to_dict()}),
    "Calibration.from_dict": (
        cdp.Calibration.from_dict, {"data": cdp.calibrate(CHAIN, 1.0, query=COUNT).to_dict()},
    ),
    "Leakage.at": (
        cdp.leakage(cdp.GaussianRecords([[1.0, 0.5], [0.5, 1]], secret_range=(0, 1)), 1.0).at,
        {"x": 0.0, "x2": 1.0},
    ),
    # mechanisms and attacks on series
    "Laplace": (cdp.Laplace, {"query": COUNT, "scale": 1.0}),
    "DiscreteLaplace": (cdp.DiscreteLaplace, {"query": COUNT, "scale": 1.0}),
    "BinaryResponse": (local.BinaryResponse, {"flip0": 0.3, "flip1": 0.2}),
    "CorrelatedResponse": (local.CorrelatedResponse, {"rate0": 0.1, "rate1": 0.2}),
    "WithholdingResponse": (
        local.WithholdingResponse, {"flip": 0.3, "memory": 0.5, "cap": 20},
    ),
    "estimate_count": (local.estimate_count, {"mechanism": FLIP, "z": [0, 1, 1]}),
    "estimate_counts": (local.estimate_counts, {"mechanism": local.GRR(3, 1.0), "z": [0, 1, 2]}),
    "output_leakage": (
        local.output_leakage, {"chain": CHAIN, "mechanism": FLIP, "z": [0, 1, 1, 0]},
    ),
    "SingleBit": (attacks.SingleBit, {"mechanism": FLIP}),
    "ForwardBackward": (attacks.ForwardBackward, {"mechanism": FLIP}),
    "Viterbi": (attacks.Viterbi, {"mechanism": FLIP}),
    "ForwardBackward.run": (
        attacks.ForwardBackward(FLIP).run,
        {"sanitized": [0, 1, 1, 0], "model": CHAIN, "truth": [0, 1, 1, 0]},
    ),
    "posterior": (
        attacks.posterior, {"chain": CHAIN, "channel": [[0.7, 0.3], [0.3, 0.7]], "z": [0, 1, 1, 0]},
    ),
    "success_bound": (attacks.success_bound, {"epsilon": 1.0, "prior": [0.5, 0.5]}),
    # reconstruction
    "Threat": (
        cdp.Threat, {"prior": [0.5, 0.5], "loss": "identity", "eta": 0.0, "aux": None},
    ),
    "risk": (cdp.risk, {"guarantee": 1.0, "threats": {"one": THREAT}}),
    "rad": (
        reconstruction.rad,
        {"mechanism": FLIP, "threat": THREAT, "model": None, "record": None, "known": None},
    ),
    "rad.model": (
        reconstruction.rad,
        {"mechanism": FLIP, "threat": cdp.Threat.under(CHAIN, 1), "model": CHAIN, "record": 1,
         "known": None, "draws": 100, "rng": rng()},
    ),
    "rad_bound": (reconstruction.rad_bound, {"guarantee": 1.0, "threat": THREAT, "model": None}),
    "rero": (reconstruction.rero, {"mechanism": FLIP, "threat": THREAT}),
    "rero_bound": (reconstruction.rero_bound, {"guarantee": 1.0, "threat": THREAT}),
    "advantage": (reconstruction.advantage, {"guarantee": 1.0}),
    "epsilon_for_risk": (
        reconstruction.epsilon_for_risk, {"risk": 0.1, "threat": THREAT, "delta": 0.0},
    ),
    "mu_for_risk": (reconstruction.mu_for_risk, {"risk": 0.1, "threat": THREAT}),
    "sigma_for_risk": (
        reconstruction.sigma_for_risk,
        {"risk": 0.1, "threat": THREAT, "steps": 2, "sensitivity_multiplier": 2.0},
    ),
    "calibrate_risk": (
        reconstruction.calibrate_risk,
        {"family": lambda e: local.GRR(2, e), "risk": 0.1, "threat": THREAT,
         "between": (0.01, 5.0), "measure": "rad", "parameter": "epsilon"},
    ),
    # books and plans
    "Ledger.create": (ledger, {"budget": 1.0, "kind": "dp", "records": 4}),
    "Ledger.open": (cdp.Ledger.open, {"path": os.path.join(LEDGERS, "none.ledger")}),
    "Ledger.charge": (
        lambda **a: ledger(budget=1.0, records=4).charge(**a),
        {"epsilon": 0.1, "what": "a count", "model": None, "unit": None},
    ),
    "release --ledger": (
        cdp.calibrate(CHAIN, 1.0, query=COUNT).release,
        {"data": [0, 1, 1, 0], "ledger": ledger(budget=100.0), "nonnegative": False},
    ),
    "sanitize --ledger": (
        cdp.calibrate(CHAIN, 1.0, query=cdp.Series()).release,
        {"data": [0, 1, 1, 0], "ledger": ledger(budget=100.0)},
    ),
    "account": (cdp.account, {"plan": PLAN, "unit": "event"}),
    "Plan": (
        cdp.Plan,
        {"domain": cdp.account(PLAN).plan.domain, "steps": cdp.account(PLAN).plan.steps,
         "units": cdp.account(PLAN).plan.units, "claims": ()},
    ),
    "Step": (cdp.Step, {"id": "a", "guarantee": 1.0, "mode": "common", "metric": None}),
    "load_plan": (plans.load_plan, {"path": "/nowhere/plan.json"}),
    "check_proof": (plans.check_proof, {"proof": cdp.account(PLAN).proof()}),
    "lint": (cdp.lint, {"mechanism": PLAN}),
    # movement
    "unicity": (
        attacks.unicity, {"trajectories": [[1, 2], [2, 3]], "p": 1, "samples": 10, "rng": rng()},
    ),
    "centroid_candidates": (
        attacks.centroid_candidates, {"known": [[0.0, 1.0]], "centroids": [[0.0, 1.0]]},
    ),
}  # fmt: skip
