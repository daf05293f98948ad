"""Do sequences that are taken for independent hang together?

Chains hold on to their states, so that two independent ones look alike for long stretches. What
tells is what comes next: where sequences are independent, the next state of one says nothing about
the next state of the other at the same time, once the present states of both are known; and the
present state of one says nothing about the next state of the other. In slices k with counts
``n[k, r, c]``, the generalised Mantel-Haenszel statistic

``S' V^-1 S,  S = sum_k n[k, r, c] - n[k, r] n[k, c] / n[k],  V = sum_k cov(rows) x cov(columns)``

follows a chi-square law where rows and columns are independent in every slice,

where

- k is the pair of present states, r and c the next states (at the same time), or k and r are the
  present and the next state of one sequence and c the present state of the other (one step later),
- an index left out is summed over, and V is the hypergeometric covariance of S.

Small p-values are worked out with the exponentially tilted law instead, see :func:`_tilted`.
Small slices do no harm, since S and V add up over them. States that are rare are pooled, by their
own counts, until five counts are expected in each cell of the sum. Chains that remember more than
one record, or have a season, make the statistic larger than the law says: where it accuses, the
sequences are moved against each other in time, and the statistic is divided by its average over its
degrees of freedom there (as genomic control does).

References
----------
J. R. Landis, E. R. Heyman, G. G. Koch, "Average partial association in three-way contingency
tables", International Statistical Review 46 (1978), 237-254; S. Holm, "A simple sequentially
rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979), 65-70; B. Devlin,
K. Roeder, "Genomic control for association studies", Biometrics 55 (1999), 997-1004.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from corrdp.errors import DataError, ModelError, RefusedError
from corrdp.models.chains.ratio_tests import (
    LEVEL,
    MIN_EXPECTED,
    log_chi_square_tail,
    p_in_words,
)
from corrdp.results import Result
from corrdp.tables.clock import Reading
from corrdp.tables.expressions import quoted
from corrdp.tables.sequences import PairCounts
from corrdp.tables.source import Table

_MOST_CLASSES = 5  # of states; more would make V large and tell little more
_DOUBT = 1e-3  # smaller p-values are worked out with the tilted statistic
_NEWTON = 60
_MOST_BESIDE = 10_000  # sequences; more are rather measurements
_MOVED = 20  # pairs moved in time that are enough to see how much larger the statistic is
# which columns of cells make the slices (two), the rows and the columns
_WAYS = ((0, 2, 1, 3), (0, 0, 1, 2), (2, 2, 3, 0))  # together, second leads, first leads


@dataclass(frozen=True)
class Coupling(Result):
    """What was seen of the dependence between sequences.

    Attributes
    ----------
    groups, pairs : int
        How many sequences there are, and how many pairs of them were tested.
    first, second : str
        The pair that hangs together most: of those that were seen to, the one with the largest
        effect; of others, the one with the smallest p-value.
    effect : float
        Cramér's V of their states at the same time: for two states, the size of the correlation.
    log10_p : float
        Logarithm of its p-value, by Holm's correction for all tests of all pairs.

    Examples
    --------
    >>> found = Coupling(3, 3, "EWR", "LGA", .74, -250.3)
    >>> found.seen
    True
    >>> print(found.words)
    EWR and LGA hang together: correlation 0.74 at the same time (p < 1e-250)
    >>> Coupling.from_dict(found.to_dict()) == found
    True
    """

    groups: int
    pairs: int
    first: str | None = None
    second: str | None = None
    effect: float = 0.0
    log10_p: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.groups, self.pairs, self.effect, self.log10_p)
        if not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
            raise ModelError(f"coupling of a fit must hold finite numbers, got {numbers!r}")

    @property
    def seen(self) -> bool:
        """Whether sequences were seen to hang together, at level .01."""
        return self.log10_p < math.log10(LEVEL)

    @property
    def words(self) -> str:
        """The verdict."""
        if not self.pairs:
            return f"no two of the {self.groups:,} sequences could be compared at the same times"
        if not self.seen:
            return (
                f"no two sequences are seen to hang together ({self.pairs:,} "
                f"pair{'' if self.pairs == 1 else 's'} of {self.groups:,} sequences, "
                f"{p_in_words(self.log10_p)})"
            )
        return (
            f"{self.first} and {self.second} hang together: correlation {self.effect:.2f} at the "
            f"same time ({p_in_words(self.log10_p)})"
        )


def observe_coupling(count: Callable[[int], PairCounts]) -> Coupling:
    """Look for sequences that hang together.

    Parameters
    ----------
    count : callable
        See :func:`corrdp.tables.windows.pair_counter`.
    """
    found = count(0)
    tests = _tests(found.cells.values())
    coupling = judge_pairs(found, tests)
    moved: list[np.ndarray] = []
    for seed in range(1, _MOVED + 1):
        if not coupling.seen or len(moved) >= _MOVED:
            break
        moved.extend(count(seed).cells.values())
    return judge_pairs(found, tests, _tests(moved)) if moved else coupling


def observe_beside(
    table: Table, state: str, order_by: Sequence[str], group: str | None, reading: Reading
) -> Coupling | None:
    """Whether rows that a fit leaves out hang together with the rows that it keeps.

    What ``reading.where`` reads beside times and states tells sequences apart, a site for example.
    Those of which no row is kept are held against those of which some are. One more reading.

    Parameters
    ----------
    table, state, order_by, group, reading
        As in :func:`corrdp.tables.count.count_triples`.

    Returns
    -------
    Coupling or None
        None where nothing is left out by a column of its own, or what is left out is no sequences.
    """
    from corrdp.tables.count import count_triples
    from corrdp.tables.windows import pair_counter

    if reading.where is None or not order_by:
        return None
    known = frozenset[str]().union(*(table.reads(text) for text in (state, *order_by)))
    told = table.reads(reading.where) - known
    if not told:
        return None
    parts = [quoted(name) for name in sorted(told)]
    parts += [] if group is None or table.reads(group) <= told else [group]
    one = len(parts) == 1
    named = parts[0] if one else " || ', ' || ".join(f"CAST(({p}) AS VARCHAR)" for p in parts)
    whole = replace(reading, where=None)
    try:
        picked = table.pick(series=named, kept=reading.where)
        some = picked["kept"].fill_null(False).max()
        ends = table.collect(picked.group_by("series").aggregate(kept=some).limit(_MOST_BESIDE + 1))
        kept = [row["series"] for row in ends.to_pylist() if row["kept"]]
        if not len(kept) < ends.num_rows <= _MOST_BESIDE:
            return None
        count_triples(table, state, order_by, named, whole)  # checks that the order is clear
        count = pair_counter(table, state, order_by, named, whole, kept)
    except DataError:  # of rows that were not asked for
        return None
    return None if count is None else observe_coupling(count)


def _tests(pairs: Iterable[np.ndarray]) -> list[list[tuple[float, int]]]:
    """Statistic and degrees of freedom of each pair: at the same time, and one step later."""
    return [[_association(cells, *ways) for ways in _WAYS] for cells in pairs]


def judge_pairs(
    found: PairCounts,
    tests: list[list[tuple[float, int]]],
    moved: Sequence[list[tuple[float, int]]] = (),
) -> Coupling:
    """Judge every pair by three tests: at the same time, and one step later either way.

    Parameters
    ----------
    found : PairCounts
    tests : list
        Statistics and degrees of freedom of each pair.
    moved : sequence
        Those of pairs that were moved against each other in time.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 2, 500)
    >>> steps = np.column_stack([x[:-1], x[1:], x[:-1], x[1:], np.ones(499, int)])
    >>> judge_pairs(PairCounts(2, (0, 1), {("a", "b"): steps}), _tests([steps])).seen
    True
    """
    scales = []
    for k in range(len(_WAYS)):
        ratios = [s / d for s, d in (each[k] for each in moved) if d]
        scales.append(max(1.0, float(np.mean(ratios))) if ratios else 1.0)
    logs = {}  # of each pair, natural logarithms of p-values
    for pair, each in zip(found.cells, tests, strict=True):
        judged = zip(scales, each, strict=True)
        if said := [log_chi_square_tail(s / scale, d) for scale, (s, d) in judged if d]:
            logs[pair] = said
    if not logs:
        return Coupling(found.groups, 0)
    tests_left, adjusted, running = sum(map(len, logs.values())), {}, -math.inf
    for pair in sorted(logs, key=lambda pair: min(logs[pair])):
        running = max(running, min(0.0, (min(logs[pair]) + math.log(tests_left)) / math.log(10)))
        adjusted[pair] = running
        tests_left -= 1  # at least: of each pair only the best test counts
    seen = [pair for pair, log10_p in adjusted.items() if log10_p < math.log10(LEVEL)]
    effects = {pair: _cramers_v(found.cells[pair]) for pair in seen or list(adjusted)[:1]}
    first, second = most = max(effects, key=lambda pair: effects[pair])
    return Coupling(found.groups, len(logs), str(first), str(second), effects[most], adjusted[most])


def _association(
    cells: np.ndarray, one: int, other: int, row: int, column: int
) -> tuple[float, int]:
    """Statistic and degrees of freedom of rows against columns within slices."""
    times = cells[:, 4]
    rows, columns = (_classes(cells[:, k], times) for k in (row, column))
    r, c = rows.max() + 1, columns.max() + 1
    if r < 2 or c < 2:
        return 0.0, 0
    slices = np.unique(cells[:, one] * (cells.max() + 1) + cells[:, other], return_inverse=True)[1]
    table = np.zeros((slices.max() + 1, r, c))
    np.add.at(table, (slices, rows, columns), times)
    table = table[table.sum(axis=(1, 2)) > 1]
    total = table.sum(axis=(1, 2))[:, None]
    p, q = table.sum(axis=2) / total, table.sum(axis=1) / total
    excess = (table - total[:, :, None] * p[:, :, None] * q[:, None, :]).sum(axis=0)
    # the last row and column follow from the margins
    cov_p = (_covariance(p)[:, :-1, :-1] * (total**2 / (total - 1))[:, :, None]).reshape(len(p), -1)
    cov_q = _covariance(q)[:, :-1, :-1].reshape(len(q), -1)
    spread = (cov_p.T @ cov_q).reshape(r - 1, r - 1, c - 1, c - 1).transpose(0, 2, 1, 3)
    spread, excess = spread.reshape((r - 1) * (c - 1), -1), excess[:-1, :-1].ravel()
    values, vectors = np.linalg.eigh(spread)
    kept = vectors[:, values > 1e-9 * max(values[-1], 1e-300)]
    along, degrees = excess @ kept, kept.shape[1]
    statistic = float((along**2 / np.diag(kept.T @ spread @ kept)).sum())
    if log_chi_square_tail(statistic, max(degrees, 1)) < math.log(_DOUBT):
        statistic = min(statistic, _tilted(p, q, total[:, 0], along, kept))
    return statistic, degrees


def _tilted(
    p: np.ndarray, q: np.ndarray, total: np.ndarray, excess: np.ndarray, kept: np.ndarray
) -> float:
    """``2 max_h (h'S - sum_k n[k] ln E exp(h'f))``, f being what one step adds to S.

    By Chernoff's bound ``exp(-value / 2)`` bounds the tail of S, which S' V^-1 S does not where
    few steps make up S: these are all that sticky chains have.
    """
    r, c = p.shape[1], q.shape[1]
    apart = (np.eye(n)[None] - law[:, None] for n, law in ((r, p), (c, q)))
    rows, columns = (each[:, :, :-1] for each in apart)
    pairs = np.einsum("kxa,kyb->kxyab", rows, columns).reshape(len(p), r * c, -1) @ kept
    law = np.log(np.maximum(p[:, :, None] * q[:, None, :], 1e-300)).reshape(len(p), -1)
    flat = pairs.reshape(-1, pairs.shape[2])
    tilt, step, value = np.zeros(len(excess)), np.zeros(len(excess)), -math.inf
    for _ in range(_NEWTON):
        logs = law + pairs @ tilt
        high = logs.max(axis=1)
        weights = np.exp(logs - high[:, None])
        mass = weights.sum(axis=1)
        found = float(tilt @ excess - total @ (high + np.log(mass)))
        if found < value:
            step = step / 2
            tilt = tilt - step
            continue
        gain, value = found - value, found
        weights /= mass[:, None]
        mean = np.einsum("kx,kxd->kd", weights, pairs)
        bend = (flat * (weights * total[:, None]).reshape(-1, 1)).T @ flat
        bend -= (mean * total[:, None]).T @ mean
        bend += 1e-9 * np.trace(bend) * np.eye(len(bend))
        if gain < 1e-6 * value:
            break
        step = np.linalg.solve(bend, excess - total @ mean)
        tilt = tilt + step
    return 2 * max(value, 0.0)


def _covariance(p: np.ndarray) -> np.ndarray:
    """Covariance of one draw from each of some laws."""
    return p[:, :, None] * (np.eye(p.shape[1]) - p[:, None, :])


def _classes(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """States as classes, rare ones pooled; one class where no two are frequent enough."""
    visits = np.bincount(values, times)
    least = math.sqrt(MIN_EXPECTED * times.sum())  # of rows and of columns, so that cells have 5
    order = np.argsort(-visits, kind="stable")
    frequent = order[visits[order] >= least][:_MOST_CLASSES]
    rest = visits.sum() - visits[frequent].sum()
    last = len(frequent) if rest >= least else max(len(frequent) - 1, 0)
    named = np.full(len(visits), last)
    named[frequent] = np.arange(len(frequent))
    return named[values]


def _cramers_v(cells: np.ndarray) -> float:
    """``sqrt(chi^2 / (n (min(r, c) - 1)))`` of the states at the same time."""
    table = np.zeros(cells[:, [1, 3]].max(axis=0) + 1)
    np.add.at(table, (cells[:, 1], cells[:, 3]), cells[:, 4])
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    smaller = min(table.shape) - 1
    if not smaller:
        return 0.0
    chi_square = ((table - expected) ** 2 / expected).sum()
    return float(math.sqrt(chi_square / (table.sum() * smaller)))


def seen_together(model: Any) -> Coupling | None:
    """What a fit saw to hang together, among its sequences or with what it left out.

    None where nothing was seen, or somebody has accepted it.
    """
    fit = model.fitted
    for coupling in (getattr(fit, "coupling", None), getattr(fit, "beside", None)):
        # of an Ising model the coupling is a number
        if isinstance(coupling, Coupling) and coupling.seen and fit.independent_groups is None:
            return coupling
    return None


def refuse_coupled(model: Any) -> None:
    """Refuse to release from a fit of what was seen to hang together, unless that is accepted."""
    if coupling := seen_together(model):
        fit = model.fitted
        taken = f"takes the {fit.sequences:,} sequences for independent"
        advice = "fit them together (joint=True)"
        if coupling is not fit.coupling:
            taken = f"leaves out rows at the same times (where `{fit.reading.where}` does not hold)"
            advice = "fit all of them together (joint=True, without where=)"
        raise RefusedError(
            f"the model {taken}, and {coupling.words}: what is promised for one would leak through "
            f"the others. Fitting some by themselves does not make them independent: {advice}, or "
            "say at the fit why they are independent all the same (independent_groups='reason')"
        )
