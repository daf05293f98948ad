"""Audits on a Dask cluster, through joblib's backend for it."""

from __future__ import annotations

import numpy as np
import pytest

import corrdp as cdp
from corrdp.auditing import running

pytestmark = pytest.mark.slow


def leaky(x, rng):
    """Randomized response of level 1 that claims less."""
    return x ^ int(rng.random() < 1 / (1 + np.e))


@pytest.fixture(scope="module")
def cluster():
    dask = pytest.importorskip("dask", reason="pip install distributed")
    distributed = pytest.importorskip("distributed")
    # a worker must be able to start the process that a mechanism is confined to
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_audit_is_the_same_on_a_cluster(cluster, monkeypatch):
    from joblib import parallel_config

    asked = {"inputs": (0, 1), "runs": 20_000}
    here = cdp.audit(leaky, 0.5, rng=np.random.default_rng(1), **asked)
    monkeypatch.setattr(running._Crew, "work", None)  # here, and not where the workers are
    with parallel_config(backend="dask"):
        there = cdp.audit(leaky, 0.5, rng=np.random.default_rng(1), **asked)
    assert here.verdict == "violated"
    assert (there.verdict, there.interval) == (here.verdict, here.interval)


def test_mechanism_that_fails_there_is_named_here(cluster):
    from joblib import parallel_config

    def fails(x, rng):
        return 1 // x

    with parallel_config(backend="dask"), pytest.raises(cdp.CorrdpError, match="input 0"):
        cdp.audit(fails, 0.5, inputs=(0, 1), runs=2_000, rng=np.random.default_rng(1))
