"""Public names and arguments with which each call succeeds: audits, mechanisms, movement."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import numpy as np

import corrdp as cdp
from corrdp import local, partial, trajectories
from corrdp.partial.knowledge import row_dependence


def rng():
    return np.random.default_rng(1)


def response(x, rng):
    return x if rng.random() < 0.8 else 1 - x


def walks():
    users, times = ["a", "a", "b", "b"], [0, 60, 0, 60]
    return trajectories.Trajectories.from_points(
        users, times, labels=list("xyxx"), places=["x", "y"]
    )


def points():
    users, times = ["a", "a", "b", "b"], [0, 60, 0, 60]
    return trajectories.Trajectories.from_points(users, times, lat=[39.9] * 4, lng=[116.3] * 4)


def file(text):
    path = Path(tempfile.mkdtemp()) / "file.csv"
    path.write_text(text)
    return path


GRID = trajectories.Grid(39.8, 116.2, 40.1, 116.6, 3, 4)
LINE = np.abs(np.subtract.outer(range(3), range(3))).astype(float)
SERIES = [0, 1, 1, 0]
OUTPUTS = file("input,output\n0,1\n1,0\n1,1\n0,0\n")
POINTS = file("uid,datetime,lat,lng\na,2020-01-01 10:00:00,39.9,116.3\n")


def made(kind, **arguments):
    """A mechanism, used: what is worked out late must not fail late."""
    mechanism = kind(**arguments)
    for name in ("guarantee", "assumptions", "unit", "shows", "success_uniform", "rad_uniform",
                 "total_variation", "report_bytes"):  # fmt: skip
        value = getattr(mechanism, name, None)
        if callable(value):
            value()
    return mechanism


def protocol(kind, k, epsilon, **more):
    mechanism = made(kind, k=k, epsilon=epsilon, **more)
    if mechanism.k <= 1000:
        reports = mechanism.sample(np.arange(mechanism.k), rng())
        mechanism.attack(reports, rng())
        mechanism.log_law(reports, np.arange(mechanism.k))
    return mechanism


def noisy(kind, **arguments):
    mechanism = made(kind, **arguments)
    mechanism.sample(SERIES, rng())
    mechanism.error(0.5)
    return mechanism.tail(1.0)


METHODS = {
    "rad_at": {"epsilon": 2.0},
    "epsilon_at": {"rad": 0.1},
    "rad_prior": {"prior": [0.1, 0.2, 0.3, 0.4]},
    "guesses": {"x": [0, 1], "rng": np.random.default_rng(1)},
}


def attempts():
    protocols = (
        local.GRR,
        local.SS,
        local.SUE,
        local.OUE,
        local.THE,
        local.SHE,
        local.BLH,
        local.OLH,
    )
    bound = functools.partial
    knowledge = partial.Knowledge(100, 50)
    tree = trajectories.PrefixTree(3, 2, 1.0)
    tree_of_two = trajectories.PrefixTree(2, 2, 1.0)
    published = tree.sample([[0, 1], [1, 2]])
    ngrams = trajectories.LocalNgrams(LINE, 2, 1.0)
    planar = trajectories.PlanarCells(GRID, 0.01)
    sampled = trajectories.BernoulliSample(3, 0.5)
    moves = trajectories.Moves.from_matrix(LINE <= 1)
    labelled = trajectories.discretise(walks())
    return {
        # auditing
        "audit": (bound(cdp.audit), {
            "mechanism": response, "claim": 1.0, "inputs": (0, 1), "outputs": (0, 1), "runs": 50,
            "confidence": 0.99, "rng": rng(), "model": None, "jobs": 1, "time_limit": 5.0,
            "progress": False}),
        "audit of a protocol": (bound(cdp.audit), {
            "mechanism": local.GRR(4, 1.0), "claim": 1.0, "runs": 50, "confidence": 0.99,
            "rng": rng(), "jobs": 1, "time_limit": 5.0}),
        "audit of records": (bound(cdp.audit, runs=100, rng=rng()), {
            "mechanism": local.GRR(2, 1.0), "claim": 1.0,
            "model": cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 5), "confidence": 0.9}),
        "Command": (cdp.Command, {"text": "cat"}),
        "Samples": (cdp.Samples, {"inputs": (0, 1), "which": [0, 1], "outputs": [0, 1]}),
        "read_outputs": (bound(cdp.read_outputs, OUTPUTS), {"input": "input", "output": "output"}),
        "Audit.from_dict": (cdp.Audit.from_dict, {"data": cdp.audit(
            response, 1.0, inputs=(0, 1), runs=50, rng=rng()).to_dict()}),
        # partial knowledge
        "Knowledge": (partial.Knowledge, {"n": 100, "known": 50}),
        "Knowledge.from_dict": (partial.Knowledge.from_dict, {"data": knowledge.to_dict()}),
        "Noise": (partial.Noise, {"counts": 1.0}),
        "Noise.of_share": (partial.Noise(1.0).of_share, {"n": 10}),
        "Noise.on_share": (partial.Noise.on_share, {"deviation": 0.1, "n": 10}),
        "partial_delta": (partial.partial_delta, {
            "epsilon": 0.5, "knowledge": knowledge, "bias": 0.3, "noise": partial.Noise(1.0)}),
        "Mixture": (partial.Mixture, {"biases": (0.2, 0.4), "weights": (0.5, 0.5)}),
        "noise_scale": (partial.noise_scale, {
            "epsilon": 0.5, "delta": 1e-3, "knowledge": knowledge, "bias": 0.3}),
        "noiseless_records": (partial.noiseless_records, {
            "epsilon": 0.5, "delta": 1e-3, "bias": 0.3}),
        "noise_over": (partial.noise_over, {
            "epsilon": 0.5, "delta": 1e-3, "knowledge": knowledge, "between": (0.3, 0.4)}),
        "noisy_count": (partial.noisy_count, {"count": 3, "n": 10, "epsilon": 0.5}),
        "NoisyCount": (partial.NoisyCount, {"value": 3, "n": 10, "epsilon": 0.5, "scale": 2.0}),
        "NoisyCount.radius": (partial.NoisyCount(3, 10, 0.5).radius, {"miss": 0.1}),
        "estimated_noise_scale": (partial.estimated_noise_scale, {
            "epsilon": 1.0, "delta": 1e-3, "knowledge": knowledge,
            "estimate": partial.NoisyCount(30, 100, 0.5)}),
        "exact_gaussian": (partial.exact_gaussian, {"epsilon": 0.5, "delta": 1e-3, "releases": 2}),
        "dp_promise": (partial.dp_promise, {"guarantee": 1.0, "model": cdp.Independent()}),
        "row_dependence": (row_dependence, {"ones": [0, 1, 1]}),
        # trajectories
        "PrefixTree": (bound(made, trajectories.PrefixTree), {
            "k": 3, "length": 2, "epsilon": 1.0, "neighbours": "unbounded", "per_user": 2,
            "budgets": (0.5, 0.5), "thresholds": (3, 3)}),
        "NgramTree": (bound(made, trajectories.NgramTree), {
            "k": 3, "length": 2, "epsilon": 1.0, "neighbours": "unbounded", "per_user": 2,
            "budgets": (0.5, 0.5), "thresholds": (3, 3), "n_max": 2}),
        "PrefixTree.sample": (trajectories.PrefixTree(3, 2, 1.0, per_user=1).sample, {
            "sequences": [[0, 1], [2]], "rng": rng(), "users": ["a", "b"]}),
        "PrefixTree.release": (tree_of_two.release, {
            "data": walks(), "cells": labelled, "moves": None, "radius": None, "ledger": None,
            "what": None, "counts": False}),
        "LocalNgrams": (bound(made, trajectories.LocalNgrams), {
            "distances": LINE, "length": 2, "epsilon": 1.0, "n": 2, "trajectories": 1,
            "moves": moves}),
        "LocalNgrams.sample": (ngrams.sample, {
            "sequences": [[0, 1]], "rng": rng(), "users": ["a"]}),
        "PlanarCells": (bound(made, trajectories.PlanarCells), {
            "grid": GRID, "rate": 0.01, "outside": "error"}),
        "PlanarCells.sample": (planar.sample, {"points": [[[39.9, 116.3]]], "rng": rng()}),
        "PlanarCells.path_epsilon": (planar.path_epsilon, {"points": 3, "metres": 5.0}),
        "BernoulliSample": (bound(made, trajectories.BernoulliSample), {"k": 3, "rate": 0.5}),
        "BernoulliSample.sample": (sampled.sample, {"sequences": [[0, 1]], "rng": rng()}),
        "whole_trajectory": (sampled.whole_trajectory, {"points": 3}),
        "synthesize": (trajectories.synthesize, {"tree": published, "rng": rng()}),
        "Moves": (trajectories.Moves, {"k": 3, "possible": moves.possible}),
        "Moves.from_matrix": (trajectories.Moves.from_matrix, {"allowed": LINE <= 1}),
        "Moves.from_speed": (trajectories.Moves.from_speed, {
            "k": 12, "distance": GRID.distance, "speed": 10.0, "seconds": 60.0}),
        "Moves.check": (moves.check, {"sequences": [[0, 1]]}),
        "Moves.cut": (moves.cut, {"sequences": [[0, 1]]}),
        "Trajectories.from_points": (trajectories.Trajectories.from_points, {
            "users": ["a", "a"], "times": [0, 60], "lat": [39.9, 39.9], "lng": [116.3, 116.3]}),
        "Trajectories of labels": (trajectories.Trajectories.from_points, {
            "users": ["a", "a"], "times": [0, 60], "labels": ["x", "y"], "places": ["x", "y"]}),
        "read_trajectories": (bound(trajectories.read_trajectories, POINTS), {
            "user": "uid", "time": "datetime", "lat": "lat", "lng": "lng",
            "split": "day", "duplicates": "error", "missing": ("", "NA")}),
        "Grid": (trajectories.Grid, {
            "south": 39.8, "west": 116.2, "north": 40.1, "east": 116.6, "rows": 3, "columns": 4}),
        "Grid.square": (trajectories.Grid.square, {
            "south": 39.8, "west": 116.2, "north": 40.1, "east": 116.6, "metres": 2000.0}),
        "Grid.around": (trajectories.Grid.around, {"trajectories": points(), "metres": 500.0}),
        "Grid.centre": (GRID.centre, {"code": [0, 1]}),
        "Grid.distance": (GRID.distance, {"code": 0, "code2": 3}),
        "discretise": (trajectories.discretise, {
            "trajectories": points(), "grid": GRID, "outside": "error", "merge_stays": False}),
        "by_time_step": (trajectories.by_time_step, {
            "sequences": labelled, "step": "5min", "rule": "last"}),
        "inspect_movements": (trajectories.inspect_movements, {
            "trajectories": walks(), "epsilon": 0.1, "step": "1min", "rule": "last",
            "sensitive": ["x"], "w": 2, "l": 2, "states": 2}),
        # mechanisms
        **{kind.__name__: (bound(protocol, kind), {"k": 4, "epsilon": 1.0}) for kind in protocols},
        "SS, rounding": (bound(protocol, local.SS, 4, 1.0), {"rounding": "floor"}),
        "THE, threshold": (bound(protocol, local.THE, 4, 1.0), {"threshold": 0.6}),
        **{f"{kind.__name__}.sample": (kind(4, 1.0).sample, {"x": [0, 1], "rng": rng()})
           for kind in protocols},
        **{f"{kind.__name__}.{name}": (getattr(kind(4, 1.0), name), dict(good))
           for kind in protocols for name, good in METHODS.items()
           if hasattr(kind, name)},
        "Laplace": (bound(noisy, cdp.Laplace), {"query": cdp.Count(1), "scale": 1.0}),
        "DiscreteLaplace": (bound(noisy, cdp.DiscreteLaplace), {
            "query": cdp.Count(1), "scale": 1.0}),
        "DiscreteLaplace.for_epsilon": (cdp.DiscreteLaplace.for_epsilon, {
            "query": cdp.Count(1), "epsilon": 1.0}),
        "Gaussian": (bound(noisy, cdp.Gaussian), {"query": cdp.Count(1), "sigma": 1.0}),
        "Gaussian.for_epsilon": (cdp.Gaussian.for_epsilon, {
            "query": cdp.Count(1), "epsilon": 1.0, "delta": 1e-3}),
        "Laplace.tail": (cdp.Laplace(cdp.Count(1), 1.0).tail, {"alpha": 2.0}),
        "DiscreteLaplace.tail": (cdp.DiscreteLaplace(cdp.Count(1), 1.0).tail, {"k": 2}),
        "Gaussian.tail": (cdp.Gaussian(cdp.Count(1), 1.0).tail, {"alpha": 2.0}),
        "Gaussian.delta": (cdp.Gaussian(cdp.Count(1), 1.0).delta, {"epsilon": 2.0}),
        "PlanarLaplace": (bound(made, local.PlanarLaplace), {"rate": 0.5, "diameter": 3.0}),
        "PlanarLaplace.tail": (local.PlanarLaplace(0.5).tail, {"alpha": 2.0}),
        "PlanarLaplace.error": (local.PlanarLaplace(0.5).error, {"beta": 0.1}),
        "PlanarLaplace.sample": (local.PlanarLaplace(0.5).sample, {
            "x": [[0.0, 1.0]], "rng": rng()}),
        "PlanarLaplace.logpmf": (local.PlanarLaplace(0.5).logpmf, {
            "x": [0.0, 1.0], "y": [1.0, 1.0]}),
        "BinaryResponse": (bound(made, local.BinaryResponse), {"flip0": 0.2, "flip1": 0.3}),
        "BinaryResponse.for_epsilon": (local.BinaryResponse.for_epsilon, {"epsilon": 1.0}),
        "BinaryResponse.sample": (local.BinaryResponse(0.2).sample, {"x": [0, 1], "rng": rng()}),
        "CorrelatedResponse": (bound(made, local.CorrelatedResponse), {"rate0": 0.2, "rate1": 0.3}),
        "WithholdingResponse": (bound(made, local.WithholdingResponse), {
            "flip": 0.3, "memory": 0.5, "cap": 20}),
        "WithholdingResponse.let_through": (
            local.WithholdingResponse(0.3, 0.5, 20).let_through, {"reports": [0, 1], "tally": 0}),
        "estimate_count": (local.estimate_count, {
            "mechanism": local.BinaryResponse(0.2), "z": [0, 1, 1]}),
        "estimate_counts": (local.estimate_counts, {
            "mechanism": local.GRR(3, 1.0), "z": [0, 1, 2]}),
        "Exponential": (bound(made, cdp.Exponential), {
            "outputs": ("a", "b"), "score": lambda x: np.array([1.0, 2.0]), "sensitivity": 1.0,
            "epsilon": 1.0}),
        "DistanceExponential": (bound(made, local.DistanceExponential), {
            "distances": LINE, "epsilon": 1.0}),
    }  # fmt: skip


ATTEMPTS = attempts()
