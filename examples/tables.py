"""Draws the pictures of docs/tables.md: tables released from two simulated years of activity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import corrdp as cdp

STEPS = 288  # of five minutes, in a day
DAYS = 2 * 364


def simulated(rng: np.random.Generator) -> pa.Table:
    """Somebody who walks by day, more on Saturdays, and less in winter."""
    start = np.datetime64("2023-01-02T00:00", "us")  # a Monday
    index = np.arange(DAYS * STEPS)
    hour, day = index % STEPS // 12, index // STEPS
    awake = np.exp(-(((hour - 13) / 5.0) ** 2)) + 0.6 * np.exp(-(((hour - 18) / 1.5) ** 2))
    busy = 0.02 + 0.12 * awake * np.where(day % 7 == 5, 1.6, 1.0)
    begin = busy * (1 - 0.35 * np.cos(2 * np.pi * day / 365))
    walks, walking = np.zeros(len(index), dtype=bool), False
    for k, chance in enumerate(rng.random(len(index))):
        walking = chance < (0.7 if walking else begin[k])
        walks[k] = walking
    place = np.array(["park", "town", "office"])[np.minimum(hour // 9, 2)]
    return pa.table(
        {"t": start + index * np.timedelta64(300, "s"), "walks": walks, "place": place.tolist()}
    )


def main() -> None:
    """Release three tables and draw them."""
    frame = simulated(np.random.default_rng(7))
    chain = cdp.MarkovChain.fit(frame, state="walks", order_by="t")
    first = np.datetime64("2023-01-02") + 7 * np.arange(DAYS // 7)
    weeks = [f"{monday}..{monday + 6}" for monday in first]
    by_place = {"place": None, "date": weeks}
    asked = {
        "hours": cdp.Count(True, by=["hour", "weekday"]),
        "weeks": cdp.Count(True, by={"date": weeks}).rollup(),
        "places": cdp.Count(True, by=by_place, public_columns=["place"]),
    }
    docs = Path(__file__).parent.parent / "docs"
    for name, query in asked.items():
        answer = cdp.calibrate(chain, 1.0, query=query, accept="a simulation").release(frame)
        figure = answer.plot()[0].get_figure(root=True)
        assert figure is not None
        figure.patch.set_alpha(1)
        figure.savefig(docs / f"table-{name}.svg", metadata={"Date": None, "Creator": None})
        print(f"written: {docs / f'table-{name}.svg'}, {answer.noise}")


if __name__ == "__main__":
    main()
