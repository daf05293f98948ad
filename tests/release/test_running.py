"""Running totals: what they leak by brute force, how far they are off, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import InputError, NotApplicableError
from corrdp.release.running import RunningTotals
from corrdp.release.totals import Strategy
from tests.oracles.chains import chain_joint, table_leakage

KERNELS = ([[0.7, 0.3], [0.4, 0.6]], [[0.1, 0.9], [0.8, 0.2]], [[0.95, 0.05], [0.1, 0.9]])
PLAIN = cdp.MarkovChain(KERNELS[0])


def counted(**options: Any) -> cdp.Calibration:
    return cdp.calibrate(PLAIN, 1.0, query=cdp.Count(1), **options)


@pytest.mark.parametrize("bands", [0, 1, 2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_brute_force(kernel: Any, bands: int) -> None:
    """Four steps of one record each: exact, against every adversary and every list of answers."""
    steps = 4 if bands < 3 else 3
    chain = cdp.MarkovChain(kernel)
    calibration = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    plan = RunningTotals(calibration, steps, bands)

    def answers(x: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(plan.strategy.answer(x, t) for t in range(1, steps + 1))

    joint = chain_joint(np.array(kernel), chain.stationary, steps)
    leak = table_leakage(joint, answers, [plan.scale] * steps)
    assert leak <= 1
    assert leak >= 0.3 * calibration.epsilon


@pytest.mark.parametrize("bands", [0, 1, 2, 5, 16, 31])
def test_totals_come_from_the_answers(bands: int) -> None:
    counts = np.random.default_rng(3).integers(0, 40, 31).tolist()
    strategy = Strategy(31, bands)
    answers = [strategy.answer(counts, t) for t in range(1, 32)]
    assert strategy.totals(answers) == pytest.approx(np.cumsum(counts), rel=1e-9)
    # by how much each record moves them, at most, from the answers themselves
    moved = [
        [strategy.answer([int(k == t) for k in range(31)], s) for s in range(1, 32)]
        for t in range(31)
    ]
    assert max(sum(row) for row in moved) == sum(strategy.moves)
    most = max(sum(m * m for m in row) for row in moved)
    assert most == sum(m * m for m in strategy.moves)
    # and the variances, from the weights of the answers
    weights = np.array([strategy.totals(row) for row in np.eye(31)])
    assert strategy.squares == pytest.approx((weights**2).sum(0))


def test_the_smaller_error_is_taken() -> None:
    laplace = counted()
    assert laplace.running(730).kind == "plain counts"
    years = laplace.running(4000)
    assert years.kind == "tree"
    assert years.error < 0.8 * years.plain.error
    gaussian = counted(noise="gaussian", delta=1e-6).running(730)
    tree = RunningTotals(gaussian.calibration, 730, 0)
    assert gaussian.bands > 1
    assert gaussian.error < 0.6 * tree.error
    assert gaussian.error < 0.3 * gaussian.plain.error


@pytest.mark.parametrize("options", [{}, {"noise": "gaussian", "delta": 1e-6}])
def test_errors_are_as_announced(options: dict[str, Any]) -> None:
    for bands in (0, 4):
        plan = RunningTotals(counted(**options), 16, bands)
        counts = [5] * 16
        errors = np.array(
            [plan.totals(plan.extend(counts)) - np.cumsum(counts) for _ in range(300)]
        )
        found = np.sqrt((errors**2).mean(0))
        assert found == pytest.approx(plan.deviations, rel=0.3)
        assert abs(errors.mean(0)).max() < 5 * plan.deviations.max() / np.sqrt(300)


def test_gaussian_answers_compose_to_the_level() -> None:
    calibration = counted(noise="gaussian", delta=1e-6)
    mu = calibration.mechanism.guarantee.largest
    for bands in (0, 1, 8, 100):
        plan = RunningTotals(calibration, 100, bands)
        together = np.hypot.reduce(np.array(plan.strategy.moves) / plan.scale)
        assert 0.99 * mu < together <= mu


@pytest.mark.parametrize("options", [{}, {"noise": "gaussian", "delta": 1e-6}])
def test_step_by_step(options: dict[str, Any], tmp_path: Path) -> None:
    plan = counted(**options).running(10)
    ledger = cdp.Ledger.create(
        tmp_path / "a.ledger", budget=1, kind="bdp", model=PLAIN, delta=options.get("delta", 0)
    )
    plan.charge(ledger)
    assert 0.999 < ledger.spent <= 1
    again = RunningTotals.from_dict(ledger.answer(1))
    assert (again.horizon, again.bands, again.scale) == (plan.horizon, plan.bands, plan.scale)
    published: list[int] = []
    for t in range(1, 11):
        published += plan.extend([3] * t, published)
    assert len(published) == len(plan.totals(published)) == 10
    assert plan.extend([3] * 10, published) == []
    for counts, known in (([3] * 11, published), ([3] * 4, published)):
        with pytest.raises(InputError, match="of a horizon of 10"):
            plan.extend(counts, known)
    with pytest.raises(InputError, match="a count"):
        plan.extend([1.5])  # type: ignore[list-item]


def test_what_cannot_be_totalled() -> None:
    with pytest.raises(NotApplicableError, match="are of a count"):
        cdp.calibrate(PLAIN, 1.0, query=cdp.Sum(0, 1)).running(9)
    with pytest.raises(NotApplicableError, match="for every mechanism"):
        counted(method="exact").running(9)
    with pytest.raises(NotApplicableError, match="without unit"):
        counted(unit=3).running(9)
    for horizon in (0, 2.5, 10**9):
        with pytest.raises(InputError, match="horizon"):
            counted().running(horizon)  # type: ignore[arg-type]
