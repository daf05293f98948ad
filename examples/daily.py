"""A table that grows for two years under one promise, on simulated hours of sixty flats.

Run it with ``python examples/daily.py --picture daily.svg``. Every Monday (``--every 7``) the days
gone by are published: how many hours of heating each had. A record is read once, so that
what was promised for the first week holds after two years; the ledger refuses anything else.
"""

from __future__ import annotations

import argparse
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import corrdp as cdp

TARGET = 1.0
FLATS = 60
ON = (0.15, 0.75)  # chance that the heating is on, an hour after it was off, or on
FITTED = 30  # days before the first that is published: a fit is a reading, too
START = datetime(2024, 1, 1)


def simulated(days: int, seed: int = 21) -> pa.Table:
    """Hours of the days for the fit, and of those that are published; every flat for itself."""
    rng, hours = np.random.default_rng(seed), 24 * (FITTED + days)
    heating = np.zeros((hours, FLATS), dtype=np.int64)
    for t in range(1, hours):
        heating[t] = rng.random(FLATS) < np.where(heating[t - 1], ON[1], ON[0])
    first = np.datetime64(START - timedelta(days=FITTED), "us")
    times = first + np.arange(hours) * np.timedelta64(3_600_000_000, "us")
    flats = np.tile(np.arange(FLATS), hours)
    return pa.table({"time": times.repeat(FLATS), "flat": flats, "heating": heating.ravel()})


def publish(rows: pa.Table, every: int, folder: Path) -> tuple[list[cdp.Release], cdp.Ledger]:
    """Release the days, some at a time, from what has come since the last time."""
    day = 24 * FLATS
    before, rows = rows.slice(0, FITTED * day), rows.slice(FITTED * day)
    model = cdp.MarkovChain.fit(before, state="heating", order_by="time", group="flat")
    model = model.with_length(None)
    # the law is known here, as it never is: take the fitted numbers as exact
    daily = cdp.calibrate(model, TARGET, query=cdp.Count(1, by="date"), confidence=None)
    ledger = cdp.Ledger.create(
        folder / "daily.ledger", budget=TARGET, kind="bdp", model=model, confidence=None
    )
    return [
        daily.release(rows.slice(first, every * day), ledger=ledger, period="new")
        for first in range(0, rows.num_rows, every * day)
    ], ledger


def draw(releases: list[cdp.Release], path: Path) -> None:
    """The mean day of each release, with two standard deviations of its noise to either side."""
    means = np.array([np.mean(made.value) for made in releases])
    noise = np.array([made.scale * np.sqrt(2 / len(made.value)) for made in releases])
    ends = np.cumsum([len(made.value) for made in releases]).tolist()
    times = [START + timedelta(days=end) for end in ends]
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    axes = figure.add_subplot()
    ribbon = {"color": "#1f6f8b", "alpha": 0.25, "linewidth": 0}
    axes.fill_between(times, means - 2 * noise, means + 2 * noise, **ribbon)
    axes.plot(times, means, color="#1f6f8b", linewidth=1.2)
    axes.set(ylabel="hours of heating a day", title=f"{ends[-1]} days, one promise of {TARGET:g}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def main(arguments: list[str] | None = None) -> None:
    """Publish, say what it cost and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=730, help="days to publish")
    parser.add_argument("--every", type=int, default=7, help="days from one release to the next")
    parser.add_argument("--picture", type=Path, help="SVG or PNG")
    asked = parser.parse_args(arguments)
    rows = simulated(asked.days)
    with tempfile.TemporaryDirectory() as folder:
        releases, ledger = publish(rows, asked.every, Path(folder))
        oldest, newest = ledger.ends or (ledger.spent, ledger.spent)
        charges, spent = ledger.check(), ledger.spent
    published = sum(sum(made.value) for made in releases)
    days = sum(len(made.value) for made in releases)
    counted = rows["heating"].to_numpy()[24 * FLATS * FITTED :].sum()
    ((low, high), *_) = releases[0].interval(0.95, joint=False)
    print(f"days published      {days} in {charges} releases, each record read once")
    print(
        f"hours of heating    {published:,} published, {counted:,} counted (which nobody is told)"
    )
    print(f"noise               a day is right within {(high - low) / 2:g} (95 %)")
    print(f"leakage             {spent:.4f} of {TARGET:g} for every record, after 1 day or {days}")
    print(f"its ends            oldest record {oldest:.4f}, newest {newest:.4f} now")
    if asked.picture is not None:
        draw(releases, asked.picture)
        print(f"written: {asked.picture}")


if __name__ == "__main__":
    main()
