"""What the thesis states and proves, judged by numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from corrdp.metric.tradeoff import delta_for
from corrdp.partial.calibrating import noise_scale
from corrdp.partial.deltas import NaturalNoise, partial_delta
from corrdp.partial.intervals import noise_over
from corrdp.partial.knowledge import Knowledge, Noise
from corrdp.partial.mixtures import Mixture
from corrdp_reproduction.base import Finding, judge
from corrdp_reproduction.knowledge.printed import truncation_error
from corrdp_reproduction.knowledge.statements import (
    end_violations,
    loss_law,
    moving_loss,
    share_loss,
    theorem_4_22,
    two_counts_delta,
)
from corrdp_reproduction.knowledge.thesis import strip


def theory(given: dict[str, Any], rng: np.random.Generator, tries: int) -> Iterator[Finding]:
    """Lemmas, theorems and conjectures, in the order of the thesis."""
    yield _lemma_4_10()
    yield _lemma_4_11()
    yield _conjecture_4_12()
    yield from _distances(given)
    worst = end_violations(rng, tries)
    yield judge(
        "lemma 4.21",
        worst < 1e-9,
        f"{tries} random tables with Gaussian noise, which the thesis leaves out: largest excess "
        f"over both ends {worst:.1e}. It holds because the signed loss is monotone in the bias, "
        "not by corollary 4.18.",
        worst,
    )
    inside, ends, both = theorem_4_22(0.05)
    yield judge(
        "theorem 4.22",
        inside <= ends,
        f"Two unknown records, epsilon .05, interval 1/3 to 2/3: {inside:.7f} at .5, at most "
        f"{ends:.7f} at the ends. The mean of the larger, {both:.7f}, is a bound (003-C15d).",
        ends,
        inside,
    )
    yield _line_31()
    yield _composition()


def _lemma_4_10() -> Finding:
    n, epsilon, width = 40, 0.5, 1.0
    lemma, exact = (f(n, epsilon, width, width) for f in (truncation_error, strip))
    return judge(
        "lemma 4.10",
        exact <= lemma,
        f"Cuts at 20, noise of scale 4: {lemma:.6f} by the lemma, {exact:.6f} exactly. Cuts that "
        "depend on the data, as in the listing, are not covered.",
        lemma,
        exact,
    )


def _lemma_4_11() -> Finding:
    known, noise, epsilon = Knowledge(20, 10), Noise(2.0), 1.0
    plain = delta_for(1 / noise.counts, epsilon)
    mixed = partial_delta(epsilon, known, Mixture([0.3, 0.7], [0.5, 0.5]), noise)
    alone = partial_delta(epsilon, known, 0.3, noise)
    return judge(
        "lemma 4.11",
        alone.active <= plain,
        f"20 independent records of bias .3, half of them known, noise 2, epsilon 1: delta "
        f"{alone.active:.6f} where DP has {plain:.6f}. Dependent ones, all of bias .3 or all of "
        f".7: "
        f"{mixed.passive:.6f}, active attackers {mixed.active:.6f} (003-C17).",
        plain,
        alone.active,
    )


def _conjecture_4_12() -> Finding:
    losses, masses = loss_law(20, 0.4)
    first = int(np.flatnonzero(np.diff(masses) > 0)[0]) if (np.diff(masses) > 0).any() else None
    says = "It falls."
    if first is not None:
        says = (
            f"20 unknown records of bias .4: a loss of {losses[first]:.4f} has probability "
            f"{masses[first]:.5f}, one of {losses[first + 1]:.4f} has {masses[first + 1]:.5f} "
            "(003-T14)."
        )
    return judge("conjecture 4.12", first is None, says)


def _distances(given: dict[str, Any]) -> Iterator[Finding]:
    table, known = given["table"], given["known"]
    rest = 0.5  # of the unknown records, with 1000 of 3000 ones seen
    at, away = share_loss(table, rest), share_loss(rest, rest)
    yield judge(
        "theorem 4.17",
        at <= away,
        f"5000 records, 3000 known, 1000 ones seen: the loss is {at:.6f} at the table's bias "
        f"{table:g} and {away:.6f} at {rest:g} (003-C15b).",
        at,
        away,
    )
    near, far = 0.5, 0.297
    losses = [moving_loss(bias, table, known) for bias in (far, near)]
    yield judge(
        "corollary 4.18",
        not (losses[0] <= losses[1] and abs(far - table) > abs(near - table)),
        f"The loss is {losses[0]:.6f} at {far:g} and {losses[1]:.6f} at {near:g}, which is nearer "
        f"to {table:g} (003-C15c).",
        *losses,
    )


def _line_31() -> Finding:
    n, epsilon, delta, ends = 11, 0.5, 0.1055, (0.5, 0.618)
    known = Knowledge(n, 0)
    at = [float(noise_scale(epsilon, delta, known, p)) for p in (*ends, 0.586)]
    enough = noise_over(epsilon, delta, known, ends)
    inside = NaturalNoise(known.unknown, 0.586, epsilon).delta(max(at[:2]))
    return judge(
        "line 31",
        inside <= delta,
        f"Ten unknown records, epsilon {epsilon:g}, delta {delta:g}: noise {at[0]:g} and {at[1]:g} "
        f"at the ends {ends[0]:g} and {ends[1]:g}, but {at[2]:.4f} at .586; {float(enough):.4f} "
        "covers all of the interval (003-C15e).",
        max(at[:2]),
        at[2],
    )


def _composition() -> Finding:
    unknown, bias, epsilon = 400, 0.5, 1.0
    alone = NaturalNoise(unknown, bias, epsilon).delta(0.0)
    together = two_counts_delta(unknown, bias, 2 * epsilon)
    return judge(
        "composition",
        together <= 2 * alone,
        f"A count of {unknown + 1} unknown records has delta {alone:.1e} at epsilon {epsilon:g}, "
        f"one that leaves the record out has {0:g}; both together {together:.4f} at "
        f"{2 * epsilon:g}. The two releases of algorithm 2 do compose (003-C16).",
        2 * alone,
        together,
    )
