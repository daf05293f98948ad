"""From a time series to a number one can sign for: fit, leakage, calibrate, release.

The series is simulated from the transition counts of a real step counter (61 days in steps of
five minutes), so that nothing private is needed. Run it with ``make demo``.
"""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import corrdp as cdp

COUNTS = np.array([[9713, 1295], [1295, 2955]])
DAYS, PER_DAY = 61, 288
TARGET = 1.0
FOLDER = Path("demo")


def simulate(path: Path) -> None:
    """Write a series of 17,568 five-minute steps as CSV, like the one the counts come from."""
    rng = np.random.default_rng(61)
    chain = cdp.MarkovChain(COUNTS / COUNTS.sum(axis=1, keepdims=True), length=DAYS * PER_DAY)
    steps = chain.sample(rng) * rng.integers(1, 120, DAYS * PER_DAY)
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["steps", "date", "interval"])
        for k, walked in enumerate(steps):
            day, slot = divmod(k, PER_DAY)
            when = date(2012, 10, 1) + timedelta(days=day)
            table.writerow([walked, when, slot // 12 * 100 + slot % 12 * 5])


def compare(chain: cdp.MarkovChain, best: cdp.Calibration) -> Table:
    """What a promise of BDP level 1 costs by each way of reasoning, best being corrdp's own.

    The published bounds take the fitted chain for the truth; corrdp keeps the promise for every
    kernel that the data allow, and under the richer models that they can fit.
    """
    table = Table(title=f"Promise: BDP level {TARGET:g} for a count over {chain.length:,} records")
    table.add_column("reasoning")
    for name in ("epsilon", "scale", "95 % error", "leaks"):
        table.add_column(name, justify="right")
    naive = cdp.calibrate(chain, epsilon=TARGET, query=best.query)
    table.add_row("plain DP", *_cost(naive), f"[red]up to {naive.target:.4g}")
    alone = {"query": best.query, "robust": False, "confidence": None}
    for name, method in (("published bound (Lange)", "lange"), ("general bound", "general")):
        try:
            cost = _cost(cdp.calibrate(chain, TARGET, method=method, **alone))
            table.add_row(name, *cost, f"at most {TARGET:g}, if the chain is true")
        except cdp.RefusedError:
            least = 4 * np.log(chain.gamma)
            table.add_row(name, "impossible", "-", "-", f"over {least:.4g}")
    chosen = cdp.calibrate(chain, TARGET, **alone)
    table.add_row(
        "corrdp, fitted chain alone", *_cost(chosen), f"at most {TARGET:g}, if it is true"
    )
    table.add_row("corrdp", *_cost(best), f"at most {TARGET:g}", style="bold green")
    return table


def _cost(calibration: cdp.Calibration) -> tuple[str, str, str]:
    return (
        f"{calibration.epsilon:.4g}",
        f"{calibration.scale:,.5g}",
        f"< {calibration.error(0.05):,.6g}",
    )


def main() -> None:
    """Run the whole path and say where everything is."""
    console = Console(highlight=False)
    FOLDER.mkdir(exist_ok=True)
    series, model, report = FOLDER / "steps.csv", FOLDER / "model.json", FOLDER / "report.html"
    simulate(series)

    console.rule("fit: how do the records depend on each other?")
    chain = cdp.MarkovChain.fit(
        series, state="steps > 0", order_by=["date", "interval"], order="auto", season="auto"
    )
    chain.save(model)
    assert chain.fitted is not None and chain.fitted.choice is not None  # noqa: PT018
    console.print(f"{chain.describe()}: {chain.fitted.choice.words}.")
    stay = chain.transition.diagonal()
    console.print(f"Resting goes on with probability {stay[0]:.3f}, walking with {stay[1]:.3f}.")

    console.rule("leakage: what does epsilon = 1 really mean on them?")
    leak = cdp.leakage(chain, epsilon=1.0)
    console.print(leak)

    console.rule("calibrate: how much noise buys the privacy I want?")
    calibration = cdp.calibrate(chain, TARGET, query=cdp.Count(True))
    console.print(compare(chain, calibration))
    assert calibration.adequacy is not None
    for line in calibration.adequacy.lines:
        console.print(f"richer models: {line}", style="red" if calibration.adequacy.against else "")
    sure = 1 / (1 + np.exp(-TARGET))
    console.print(f"Who thought 50 % before thinks at most {sure:.0%} after.")

    console.rule("release: the number, safely")
    release = calibration.release(series)
    low, high = release.interval(0.95)
    console.print(
        f"five-minute steps with walking: [bold]{release.value:,}[/bold]"
        f" (95 % interval {low:,.0f} to {high:,.0f})"
    )
    cdp.write_report(report, release, chain, calibration=calibration)
    console.print(f"\ndata   {series}\nmodel  {model}\n[bold]report {report.resolve()}[/bold]")


if __name__ == "__main__":
    main()
