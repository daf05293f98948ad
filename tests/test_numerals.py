"""Many numbers as text: what repr writes, and so the digests that files of any version hold."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from corrdp._json import SCHEMA, encode
from corrdp._numerals import numerals
from corrdp.models import base
from corrdp.models.gaussian.records import GaussianRecords


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def plain(array):
    return json.dumps(array.tolist(), separators=(",", ":")).encode()


def test_all_kinds_of_numbers_are_written_as_repr_does(rng):
    powers = 2.0 ** np.arange(-1074, 1024)
    tens = np.array([float(f"{m}e{e}") for m in (1, 5, 9, 99) for e in range(-324, 307)])
    parts = [np.array([0.0, -0.0, 1e16, 1e15, 9007199254740993.0, 1e22, 1e23, 1e-4, 1e-5])]
    parts += [f(p) for p in (powers, tens) for f in (np.copy, lambda p: np.nextafter(p, 0.0))]
    parts += [rng.integers(0, 2**64, 30_000, dtype=np.uint64).view(float)]  # all bits
    parts += [rng.standard_normal(30_000), rng.integers(-999, 999, 3000) / 8.0]
    parts += [5e-324 * rng.integers(0, 2**40, 3000), rng.integers(2**50, 2**60, 3000) * 1.0]
    numbers = np.concatenate(parts)
    numbers = numbers[np.isfinite(numbers)]
    assert b"".join(numerals(numbers)) == plain(numbers)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 2), (700, 1000)])
def test_matrices_are_written_row_by_row(rng, shape):
    matrix = rng.standard_normal(shape)
    assert b"".join(numerals(matrix)) == plain(matrix)
    assert b"".join(numerals(matrix.T)) == plain(matrix.T)


def test_a_digest_does_not_depend_on_how_it_is_worked_out(monkeypatch, rng):
    factor = rng.standard_normal((30, 60))
    means = rng.standard_normal(30)
    model = GaussianRecords.blocks([GaussianRecords(factor @ factor.T, means), [[2.0]]])
    body = {"corrdp": SCHEMA, "model": model.kind, **encode(model.fields())}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    monkeypatch.setattr(base, "_MANY", 0)
    assert model.digest == hashlib.sha256(text.encode()).hexdigest()
