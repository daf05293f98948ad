"""Exact leakage of small models by enumeration: the oracle behind the bounds.

Every adversary (K, i), every value of the known records and every pair of values of record i is
tried. What is compared depends on the scope:

* every mechanism: ``sup E[F | a] / E[F | b]`` over all functions F that change by at most
  e^{eps_t} with record t. F lives on the unknown records, so this is chains#mixtures with
  ``A(x, x') = sum of eps_t over the records where x and x' differ``;
* one query with Laplace noise: the supremum over outputs is attained at a value that the
  query can take;
* one local mechanism: every output sequence.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from corrdp.bounds.pivots import pairs_between
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import ROUNDING, VISIBLE, Bound, Scope
from corrdp.errors import NotApplicableError
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.window import WindowChain
from corrdp.models.groups import JointTable
from corrdp.models.networks.field import MarkovField
from corrdp.models.networks.tree import MarkovTree
from corrdp.queries import Histogram, Query
from corrdp.results import Certificate, Kind, Witness

REFERENCE = "enumeration of all adversaries (chains#exact)"
_POINTS = 64  # outcomes of the unknown records that the every-mechanism problem can take
_OUTCOMES = 4096
_CELLS = 2**24  # outcomes times outputs


def is_short(chain: MarkovChain) -> bool:
    """Whether the joint law of a chain is small enough to write out."""
    return chain.length is not None and int(chain.occurring.sum()) ** chain.length <= _OUTCOMES


def table_of(chain: MarkovChain) -> JointTable:
    """Write out the joint law of a short chain. O(s^n)."""
    n, s = chain.length, int(chain.occurring.sum())
    if n is None or not is_short(chain):
        raise NotApplicableError(
            f"enumeration takes s^n outcomes, here {s}^{n or 'n'}, more than {_OUTCOMES}; "
            "use transfer"
        )
    kernels = chain.kernels
    law: dict[tuple, float] = {}
    for path in itertools.product(np.flatnonzero(chain.occurring), repeat=n):
        p = chain.start[path[0]]
        possible = bool(chain.first[path[0]])
        for t, (x, y) in enumerate(itertools.pairwise(path)):
            p = p * kernels[t, x, y]
            possible &= bool(kernels[t, x, y] > 0)
        _keep(law, tuple(chain.states[x] for x in path), float(p), possible)
    return JointTable(law)


def _keep(law: dict[tuple, float], values: tuple, p: float, possible: bool) -> None:
    """Write down an outcome; one that is possible must not be lost to underflow."""
    if possible and p < np.finfo(float).tiny:
        raise NotApplicableError(
            f"{values!r} is possible, but its probability is too small to write down; use transfer "
            "or contraction"
        )
    if possible:
        law[values] = p


def window_table(chain: WindowChain) -> JointTable:
    """Write out the joint law of a short chain of order k. O(s^n)."""
    n, (size, s), k = chain.length, chain.transition.shape, chain.order
    if n is None or n < k or s**n > _OUTCOMES:
        raise NotApplicableError(
            f"enumeration takes s^n outcomes, at most {_OUTCOMES}; use contraction or blocks"
        )
    if chain.left_for_ever:
        raise NotApplicableError(
            "some recorded windows are left for ever, and how the chain starts is not known; use "
            "blocks"
        )
    law: dict[tuple, float] = {}
    for path in itertools.product(range(s), repeat=n):
        window = int(np.ravel_multi_index(path[:k], (s,) * k))
        p = chain.stationary[window]
        possible = bool(chain.recurrent[window])
        for y in path[k:]:
            p = p * chain.transition[window, y]
            possible &= bool(chain.transition[window, y] > 0)
            window = (window * s) % size + y
        _keep(law, tuple(chain.states[x] for x in path), float(p), possible)
    return JointTable(law)


def tree_table(tree: MarkovTree) -> JointTable:
    """Write out the joint law of a small tree. O(s^n).

    Examples
    --------
    >>> tree = MarkovTree([-1, 0], [[.8, .2], [.4, .6]], root_law=[.5, .5])
    >>> tree_table(tree).law[(0, 1)]
    0.1
    """
    if tree.root_law is None:
        raise NotApplicableError("enumeration needs the law of the roots; give root_law=")
    paths = _configurations(len(tree.parents), len(tree.states))
    p = np.ones(len(paths))
    for v, above in enumerate(tree.parents):
        if above < 0:
            p *= tree.root_law[paths[:, v]]
        else:
            p *= tree.kernel_of(np.array([v]))[0][paths[:, above], paths[:, v]]
    return _written(paths, p, tree.states)


def field_table(field: MarkovField) -> JointTable:
    """Write out the joint law of a small field, its weights included. O(s^n edges).

    Examples
    --------
    >>> field_table(MarkovField([(0, 1)], [[3, 1], [1, 3]])).law[(0, 1)]
    0.125
    """
    n, s = len(field.block_of_record), len(field.states)
    paths = _configurations(n, s)
    p = np.ones(len(paths))
    for e in range(len(field.sizes)):
        psi = field.potential(e)
        p *= psi[tuple(paths[:, v] for v in field.edge(e))] / psi.max()
    if field.weights is not None:
        weights = np.broadcast_to(field.weights, (n, s))
        for v in range(n):
            p *= weights[v, paths[:, v]] / weights[v].max()
    if not p.any():
        raise NotApplicableError("the potentials leave no possible configuration")
    return _written(paths, p / p.sum(), field.states)


def _configurations(n: int, s: int) -> np.ndarray:
    """All s^n rows of state numbers."""
    if s**n > _OUTCOMES:
        raise NotApplicableError(
            f"enumeration takes s^n outcomes, here {s}^{n}, more than {_OUTCOMES}; use contraction"
        )
    return np.indices((s,) * n).reshape(n, -1).T


def _written(paths: np.ndarray, p: np.ndarray, states: tuple) -> JointTable:
    kept = np.flatnonzero(p > 0)
    return JointTable({tuple(states[x] for x in paths[k]): float(p[k]) for k in kept})


# what is attained and what is proved, which differ by rounding at most
Compare = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[float, float]]


def adversaries(
    table: JointTable,
) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...], list[tuple[int, np.ndarray]]]]:
    """Each adversary with one value of what it knows: record, known, values, and for each
    possible value of the record the outcomes that have it."""
    rows, _ = table.outcomes
    n = rows.shape[1]
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for known in itertools.combinations(others, size):
                keys, which = np.unique(rows[:, known], axis=0, return_inverse=True)
                for k, key in enumerate(keys):
                    members = np.flatnonzero(which.ravel() == k)
                    split = [
                        (int(value), members[rows[members, i] == value])
                        for value in np.unique(rows[members, i])
                    ]
                    if len(split) > 1:
                        yield i, known, tuple(int(x) for x in key), split


def _search(table: JointTable, compare: Compare) -> Bound:
    """Largest ``compare(outcomes_a, p_a, outcomes_b, p_b)`` over all adversaries."""
    assert table.states is not None
    _, probabilities = table.outcomes
    per_record = np.zeros(table.length or 0)
    best, attained, witness = 0.0, 0.0, None
    for i, known, key, split in adversaries(table):
        for (a, rows_a), (b, rows_b) in itertools.permutations(split, 2):
            p, q = probabilities[rows_a], probabilities[rows_b]
            low, value = compare(rows_a, p / p.sum(), rows_b, q / q.sum())
            attained = max(attained, low)
            per_record[i] = max(per_record[i], value)
            # of adversaries that differ by rounding alone, the first knows least
            if value > best * (1.0 + VISIBLE):
                facts = tuple((j - i, table.states[x]) for j, x in zip(known, key, strict=True))
                witness = Witness(i, (table.states[a], table.states[b]), facts)
            best = max(best, value)
    per_record, best = per_record * (1.0 + ROUNDING), best * (1.0 + ROUNDING)
    kind: Kind = "exact" if best <= attained * (1.0 + VISIBLE) else "upper bound"
    return Bound(best, kind, Certificate("exact", REFERENCE), per_record, witness)


@bound("exact", on=JointTable, given=whole)
def exact_in_scope(table: JointTable, scope: Scope) -> Bound:
    """Exact leakage by enumeration: of one query, one local mechanism, or the worst mechanism."""
    if scope.adversary is None:
        return _every_adversary(table, scope)
    if getattr(scope.adversary, "heard", None):
        raise NotApplicableError(
            "exact goes through what an adversary may know for certain; who has only heard of "
            "records is priced by transfer"
        )
    # the worst of all adversaries, of whom the one that was asked for may learn less
    return replace(_every_adversary(table, scope), kind="upper bound", witness=None)


def _every_adversary(table: JointTable, scope: Scope) -> Bound:
    if scope.query is not None:
        check_no_gaps(scope.query)
        return exact_query(table, scope.query, scope.dp.largest)
    if scope.local is not None:
        if scope.spent:
            raise NotApplicableError("exact is for one mechanism alone; the fit is a second one")
        return exact_local(table, scope.local.channel())
    assert table.length is not None
    return exact_every_mechanism(table, scope.dp.vector(table.length))


@bound("exact", on=WindowChain, given=whole)
def _exact_window(chain: WindowChain, scope: Scope) -> Bound:
    return exact_in_scope(window_table(chain), scope)


@bound("exact", on=MarkovTree, given=whole)
def _exact_tree(tree: MarkovTree, scope: Scope) -> Bound:
    return exact_in_scope(tree_table(tree), scope)


@bound("exact", on=MarkovField, given=whole)
def _exact_field(field: MarkovField, scope: Scope) -> Bound:
    return exact_in_scope(field_table(field), scope)


def check_no_gaps(query: Query) -> None:
    """Leaving records out of a count can raise what it leaks, and which are missing is not known
    when the noise is chosen."""
    if query.missing == "skip":
        raise NotApplicableError(
            'exact is about a query that reads every record; with missing="skip" one of them left '
            "out may leak more. Use method='best'"
        )


def exact_every_mechanism(table: JointTable, eps: np.ndarray) -> Bound:
    """Worst leakage over all mechanisms that change by e^{eps_t} with record t.

    O(2^n) adversaries, each a mixture problem on the outcomes of the unknown records.

    Examples
    --------
    >>> pair = JointTable({(0, 0): .4, (1, 1): .4, (0, 1): .1, (1, 0): .1})
    >>> round(exact_every_mechanism(pair, np.array([1.0, 1.0])).value, 6)
    1.569445
    """
    rows, _ = table.outcomes
    n = rows.shape[1]
    if len(rows) > _POINTS or n > 8:
        raise NotApplicableError(
            f"the worst case over all mechanisms is computed for up to {_POINTS} possible "
            f"outcomes of 8 records, not {len(rows)} of {n}; give a query, or use a bound"
        )
    bounds = (rows[:, None, :] != rows[None, :, :]) @ eps

    def compare(
        rows_a: np.ndarray, p: np.ndarray, rows_b: np.ndarray, q: np.ndarray
    ) -> tuple[float, float]:
        both = np.concatenate((rows_a, rows_b))
        inner = bounds[np.ix_(both, both)]  # in one order in memory: compiled for one
        left, right = np.zeros(len(both)), np.zeros(len(both))
        left[: len(p)], right[len(p) :] = p, q
        low, high = pairs_between(inner, left, right)
        return float(low), float(high)

    return _search(table, compare)


def exact_query(table: JointTable, query: Query, epsilon: float) -> Bound:
    """Exact leakage of one query with Laplace noise of DP level epsilon.

    Examples
    --------
    >>> from corrdp.queries import Count
    >>> pair = JointTable({(0, 0): .4, (1, 1): .4, (0, 1): .1, (1, 0): .1})
    >>> round(exact_query(pair, Count(1), 1.0).value, 6)
    1.569445
    """
    if isinstance(query, Histogram):
        raise NotApplicableError("exact handles one number, not a histogram; use method='best'")
    answers = np.array([query.on_grid(list(values))[0] for values in table.law])
    points, place = np.unique(answers, return_inverse=True)
    rate = epsilon / query.steps
    logs = -np.abs(points[:, None] - points[None, :]) * rate

    def compare(
        rows_a: np.ndarray, p: np.ndarray, rows_b: np.ndarray, q: np.ndarray
    ) -> tuple[float, float]:
        at_a, at_b = (
            np.bincount(place[rows], law, len(points)) for rows, law in ((rows_a, p), (rows_b, q))
        )
        seen = (at_a > 0) | (at_b > 0)
        return _log_ratio(at_a[at_a > 0], logs[at_a > 0], at_b[at_b > 0], logs[at_b > 0], seen)

    return _search(table, compare)


def exact_local(table: JointTable, channel: np.ndarray) -> Bound:
    """Exact leakage when each record passes through the same channel. O(outcomes x outputs)."""
    rows, _ = table.outcomes
    outputs = channel.shape[1] ** rows.shape[1]
    if len(rows) * outputs > _CELLS:
        raise NotApplicableError(
            f"{len(rows)} outcomes times {outputs} outputs are too many to enumerate; use transfer"
        )
    with np.errstate(divide="ignore"):
        step = np.log(channel)
    logs = np.zeros((len(rows), 1))
    for t in range(rows.shape[1]):
        logs = (logs[:, :, None] + step[rows[:, t]][:, None, :]).reshape(len(rows), -1)

    def compare(
        rows_a: np.ndarray, p: np.ndarray, rows_b: np.ndarray, q: np.ndarray
    ) -> tuple[float, float]:
        seen = (logs[rows_a] > -np.inf).any(axis=0)
        return _log_ratio(p, logs[rows_a], q, logs[rows_b], seen)

    return _search(table, compare)


def _log_ratio(
    p: np.ndarray, logs_a: np.ndarray, q: np.ndarray, logs_b: np.ndarray, seen: np.ndarray
) -> tuple[float, float]:
    """Largest ln(p.e^logs_a / q.e^logs_b) over the outputs seen, none lost to underflow. Twice."""
    values = _log_mean(p, logs_a[:, seen]) - _log_mean(q, logs_b[:, seen])
    return float(values.max()), float(values.max())


def _log_mean(law: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """ln sum law e^logs for each column; -inf where a column is impossible."""
    top = logs.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # relative to the column's largest: a term that vanishes there needs law above e^700
        return np.where(top > -np.inf, top + np.log(law @ np.exp(logs - top)), -np.inf)
