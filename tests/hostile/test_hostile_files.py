"""Files that somebody damaged or made up: read, or refused in words."""

from __future__ import annotations

import copy
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import CorrdpError
from corrdp.models.files import model_from_dict

FROZEN = Path(__file__).parents[1] / "fixtures" / "v0.1.0"
STRANGE = [None, True, -1, 0, 0.5, 1e308, 10**12, "", "x", [], [[]], [None], {}, {"x": 1}]
RESULTS = {
    "leakage.json": cdp.Leakage,
    "calibration.json": cdp.Calibration,
    "release.json": cdp.Release,
    "sanitized.json": cdp.Sanitized,
    "series-calibration.json": cdp.SeriesCalibration,
}


def places(data, most=40):
    """Where a value can be exchanged, as paths of keys; long lists by their ends."""
    if isinstance(data, dict):
        items = list(data.items())
    elif isinstance(data, list):
        ends = [*range(len(data))][:2] + [*range(len(data))][-1:]
        items = [(k, data[k]) for k in dict.fromkeys(ends)]
    else:
        return
    for key, value in items[:most]:
        yield (key,)
        yield from ((key, *rest) for rest in places(value, most))


def edited(data, place, value):
    changed = copy.deepcopy(data)
    inside = changed
    for key in place[:-1]:
        inside = inside[key]
    if value is STRANGE:  # stands for: not there at all
        del inside[place[-1]]
    else:
        inside[place[-1]] = value
    return changed


def edits(data, share, seed=1):
    every = [(place, value) for place in places(data) for value in (*STRANGE, STRANGE)]
    kept = np.random.default_rng(seed).random(len(every)) < share
    return [edited(data, *pair) for pair, keep in zip(every, kept, strict=True) if keep]


def misread(read, data, share):
    """The edits whose reading ends in anything but an answer or an error of our own."""
    wrong = []
    for changed in edits(data, share):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                read(changed)
        except CorrdpError:
            continue
        except Exception as error:
            wrong.append((type(error).__name__, str(error)[:80], json.dumps(changed)[:300]))
    return wrong


def without_digest(data):
    return {key: value for key, value in data.items() if key != "digest"}


@pytest.mark.parametrize("path", sorted(FROZEN.glob("model-*.json")), ids=lambda p: p.stem)
def test_edited_models(path):
    data = json.loads(path.read_text())
    assert not misread(model_from_dict, without_digest(data), 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(FROZEN.glob("model-*.json")), ids=lambda p: p.stem)
def test_every_edit_of_a_model(path):
    data = json.loads(path.read_text())
    assert not misread(model_from_dict, without_digest(data), 1.0)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_edited_results(name):
    data = json.loads((FROZEN / name).read_text())
    assert not misread(RESULTS[name].from_dict, data, 0.2)


@pytest.mark.parametrize("name", ["plan.json", "proof.json"])
def test_edited_plans(name):
    data = json.loads((FROZEN / name).read_text())
    read = cdp.account if name == "plan.json" else cdp.plans.check_proof
    assert not misread(read, data, 0.1)
