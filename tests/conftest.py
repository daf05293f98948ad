"""Shared fixtures: well-known chains and random small chains."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from corrdp.models.chains.markov import MarkovChain

ACTIVITY_COUNTS = np.array([[9713, 1295], [1295, 2955]])
SPARK_SETTINGS = {
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.ansi.enabled": "false",
}


@pytest.fixture(scope="session")
def activity_kernel() -> np.ndarray:
    return ACTIVITY_COUNTS / ACTIVITY_COUNTS.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def activity(activity_kernel: np.ndarray) -> MarkovChain:
    return MarkovChain(activity_kernel, 17_568, states=(False, True))


@pytest.fixture(scope="session")
def spark_session() -> Any:
    """A session as a user may have made it: summer time, and casts that fail in silence."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: make test-spark")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    for name, value in SPARK_SETTINGS.items():
        builder = builder.config(name, value)
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    running = builder.getOrCreate()
    yield running
    running.stop()


@pytest.fixture
def seeded_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the operating system draws comes from a seed; OpenDP's noise stays as it is.

    For tests of what comes of some draw, and of laws at a level that chance would pass too often.
    """
    drawn = np.random.default_rng(1).bytes
    monkeypatch.setattr(os, "urandom", drawn)
    monkeypatch.setattr(random, "_urandom", drawn)  # secrets, and generators without a seed


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    """Ten rows of two people, one value missing."""
    path = tmp_path / "walk.csv"
    steps = ["0", "12", "7", "NA", "0", "0", "3", "9", "0", "1"]
    rows = [f"{'ab'[k // 5]},{k % 5},{value}" for k, value in enumerate(steps)]
    path.write_text("who,t,steps\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def fitted_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The steps of one day, and the chain that ``corrdp fit`` learned from them."""
    from tests.helpers.commands import FIT, done, write_series

    folder = tmp_path_factory.mktemp("day")
    steps = MarkovChain([[0.88, 0.12], [0.3, 0.7]], 96).sample(np.random.default_rng(5)) * 40
    write_series(folder / "steps.csv", steps.tolist())
    done("fit", folder / "steps.csv", *FIT, "-o", folder / "model.json")
    return folder


@pytest.fixture
def home(fitted_day: Path, tmp_path: Path) -> Path:
    """A folder of the test's own with steps.csv and model.json in it."""
    return shutil.copytree(fitted_day, tmp_path, dirs_exist_ok=True)


@st.composite
def laws(draw, size: int, zeros: bool = True) -> np.ndarray:
    """A probability vector; entries may be zero."""
    low = 0 if zeros else 1
    parts = draw(
        st.lists(st.integers(low, 100), min_size=size, max_size=size).filter(lambda v: sum(v) > 0)
    )
    vector = np.array(parts, dtype=float)
    return vector / vector.sum()


@st.composite
def chains(
    draw,
    states: tuple[int, int] = (2, 4),
    lengths: tuple[int, int] = (1, 6),
    zeros: bool = True,
    time_varying: bool = True,
    outcomes: int = 700,
) -> MarkovChain:
    """Small chains: zeros, non-stationary starts and time-varying kernels included."""
    s = draw(st.integers(*states))
    n = draw(st.integers(*lengths).filter(lambda k: s**k <= outcomes))
    count = n - 1 if n > 1 and time_varying and draw(st.booleans()) else 1
    kernels = np.array([[draw(laws(s, zeros)) for _ in range(s)] for _ in range(count)])
    return MarkovChain(kernels if count > 1 else kernels[0], n, draw(laws(s, zeros)))


@st.composite
def budgets(draw, n: int) -> np.ndarray:
    """One epsilon per record; some may be zero."""
    cents = st.integers(0, 300)
    return np.array(draw(st.lists(cents, min_size=n, max_size=n).filter(any)), dtype=float) / 100.0
