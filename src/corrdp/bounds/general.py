"""Whatever the dependence: epsilons of a block add up at most, and an error that none avoids."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp.bounds.exact import adversaries
from corrdp.bounds.levels import close
from corrdp.bounds.registry import bound, whole
from corrdp.bounds.scope import Bound, Scope
from corrdp.bounds.steps import Steps
from corrdp.bounds.units import ONE, Unit, of_blocks, of_largest, of_unit
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.base import Blocked, Model
from corrdp.models.chains.chain import Chain, SwitchingChain
from corrdp.models.chains.joint import JointChain
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.region import ChainClass
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain
from corrdp.models.groups import Groups, Independent, JointTable
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.models.reads import resolved
from corrdp.queries import Histogram, Query
from corrdp.results import Certificate, Kind, Result, Witness

REFERENCE = "Lange (2024), theorem 4.2 (chains#general)"
_SPLIT_RECORDS = 10  # all 2^(n-1) splits of a joint table are tried up to this many records


@bound("general", on=Model)
@bound("general", on=Model, confidence=True)
def general(model: Model, guarantee: Pure) -> Bound:
    """Sum of epsilon over the block of records that depend on the one attacked. O(n).

    Parameters
    ----------
    model : Model
    guarantee : Pure

    Examples
    --------
    >>> general(Groups(3), Pure(.5)).value
    1.5
    """
    kind: Kind = "upper bound"
    if isinstance(model, Independent | Groups):
        # some law in the model makes each block one value repeated, and randomized response
        # on its records attains the sum
        kind = "exact"
    if isinstance(model, Groups) and model.labels is None:
        assert model.m is not None
        eps = np.asarray(guarantee.epsilon)
        value = float(eps * model.m if eps.ndim == 0 else np.sort(eps)[-model.m :].sum())
        return Bound(value, kind, Certificate("general", REFERENCE))
    blocks = _blocks(model)
    if blocks is None:
        if guarantee.is_vector:
            raise InputError(
                f"epsilon has {len(guarantee.epsilon)} entries but the model no length; give it one"
            )
        return Bound(guarantee.largest, kind, Certificate("general", REFERENCE))
    eps = guarantee.vector(len(blocks))
    per_record = np.bincount(blocks, weights=eps)[blocks]
    record = int(per_record.argmax())
    return Bound(
        float(per_record[record]),
        kind,
        Certificate("general", REFERENCE),
        per_record,
        Witness(record, note="the block is one value repeated") if kind == "exact" else None,
    )


def _size(model: Model) -> int:
    """How many records a model with a length is about."""
    return (model.cells if isinstance(model, JointChain) else model.length) or 0


# rows of an estimate may agree where those of the true kernel do not
@bound("general", on=Chain, confidence=True)
def one_block(model: Model, guarantee: Pure) -> Bound:
    """The bound that needs no law at all: every record depends on every other.

    Examples
    --------
    >>> one_block(MarkovChain([[.5, .5], [.5, .5]], 3), Pure(1.0)).value
    3.0
    """
    if model.length is None:
        raise NotApplicableError("the general bound grows with the length; give the chain one")
    n = _size(model)
    value = float(guarantee.vector(n).sum())
    certificate = Certificate("general", REFERENCE)
    return Bound(value, "upper bound", certificate, np.full(n, value))


@bound("general", on=Model, paired=True, given=whole)
@bound("general", on=Model, confidence=True, paired=True, given=whole)
def paired_general(model: Model, scope: Scope) -> Bound:
    """All records of the block put together, for guarantees with a delta and larger units.

    The unit leaks at most what changing every record that depends on it costs: epsilons and mu
    add up, and m equal pairs come to ``(m eps, delta (e^{m eps} - 1) / (e^eps - 1))``.

    References
    ----------
    delta#steps, delta#units.

    Examples
    --------
    >>> from corrdp.bounds.scope import scope_of
    >>> from corrdp.guarantees import Approximate
    >>> scope = scope_of(Groups(2), Approximate(1.0, .01), None, None, None)
    >>> found = paired_general(Groups(2), scope)
    >>> round(found.value, 6), round(found.delta, 6)
    (2.0, 0.037183)
    """
    unit = scope.unit or ONE
    certificate = Certificate("general", f"{REFERENCE}, delta#steps")
    if isinstance(model, Groups) and model.labels is None:
        assert model.m is not None
        if unit != ONE and not unit.family:
            raise NotApplicableError("which records share a group is not known; give labels=")
        whole_group = of_largest(scope.guarantee, model.m)
        return close(scope, None, _alone, own=whole_group, count=1).bound(certificate)
    sure = scope.confidence is not None and isinstance(model, Chain)
    blocks = np.zeros(_size(model), dtype=np.int64) if sure else _blocks(model)
    if blocks is None or (sure and model.length is None):
        if sure:
            raise NotApplicableError("the general bound grows with the length; give the chain one")
        return close(scope, None, _alone).bound(certificate)
    n = len(blocks)
    if isinstance(model, Independent) and unit.members is None:
        return close(scope, n, _alone).bound(certificate)
    if unit == ONE or unit.family:
        own = scope.own if unit.family else None
        own = own or of_blocks(scope.guarantee, blocks)
        found = close(scope, n, _alone, own=own, count=int(blocks.max()) + 1)
        if unit == ONE:
            return replace(found, values=found.values[blocks]).bound(certificate)
        first = int(np.flatnonzero(blocks == found.values.argmax())[0])
        witness = Witness(first, note=f"the family of record {first}")
        return replace(found.bound(certificate), witness=witness)
    touched = blocks if unit.members is None else blocks[list(unit.members)]
    together = Unit(members=tuple(np.flatnonzero(np.isin(blocks, touched)).tolist()))
    together = replace(together, size=len(together.members or ()))
    alone = scope.own if together.size == unit.size else None
    own = alone or of_unit(scope.guarantee, together, n)
    together_all = close(scope, n, _alone, own=own, count=1).bound(certificate)
    return replace(together_all, witness=None)  # no unit is worse than another


def _alone(unit: Unit) -> Any:
    """No steps beside the unit."""

    def sides(eps: np.ndarray, delta: np.ndarray) -> Steps:
        return Steps(np.zeros((1, 0)), np.zeros((1, 0)))

    return sides


def _blocks(model: Model) -> np.ndarray | None:
    """Block number of each record; None when every record is its own and none are counted."""
    if isinstance(model, Independent):
        return None if model.n is None else np.arange(model.n)
    if isinstance(model, Groups):
        return model.blocks
    if isinstance(model, JointTable):
        return _table_blocks(model)
    if isinstance(model, MarkovChain):
        return _chain_blocks(model)
    if isinstance(model, WindowChain | SwitchingChain | SeasonalChain | ChainClass | JointChain):
        if model.length is None:
            raise NotApplicableError("the general bound grows with the length; give the chain one")
        return np.zeros(_size(model), dtype=np.int64)
    assert isinstance(model, Blocked)
    return model.block_of_record


def _chain_blocks(chain: MarkovChain) -> np.ndarray | None:
    """A chain falls apart where the rows of a kernel agree."""
    if chain.homogeneous:
        rows = chain.transition[chain.occurring]
        independent = bool((rows == rows[0]).all())
        if chain.length is None:
            if independent:
                return None
            raise NotApplicableError("the general bound grows with the length; give the chain one")
        return np.arange(chain.length) if independent else np.zeros(chain.length, dtype=np.int64)
    pairs, which = chain.distinct_steps
    cuts = np.array([bool((kernel[rows] == kernel[rows][0]).all()) for kernel, rows in pairs])
    return np.concatenate([[0], np.cumsum(cuts[which])]).astype(np.int64)


def _table_blocks(table: JointTable) -> np.ndarray:
    """The finest split into independent blocks: records never separated share one."""
    n = table.length
    assert n is not None
    together = np.ones((n, n), dtype=bool)
    if n <= _SPLIT_RECORDS:
        for size in range(1, n // 2 + 1):
            for part in combinations(range(n), size):
                if _independent(table, part):
                    inside = np.isin(np.arange(n), part)
                    together &= inside[:, None] == inside[None, :]
    return np.argmax(together, axis=1)


def _independent(table: JointTable, part: tuple[int, ...]) -> bool:
    """Whether the records in ``part`` are independent of the others."""
    assert table.length is not None
    rest = [j for j in range(table.length) if j not in part]
    joint: dict[tuple, float] = {}
    left: dict[tuple, float] = {}
    right: dict[tuple, float] = {}
    for values, p in table.law.items():
        x, y = tuple(values[j] for j in part), tuple(values[j] for j in rest)
        joint[x, y] = joint.get((x, y), 0.0) + p
        left[x] = left.get(x, 0.0) + p
        right[y] = right.get(y, 0.0) + p
    return all(
        abs(joint.get((x, y), 0.0) - p * q) <= 1e-13 * p * q  # relative: rare outcomes count too
        for x, p in left.items()
        for y, q in right.items()
    )


IMPOSSIBILITY = "Lange (2024), theorem 4.6 and corollary 4.7 (releases#impossibility)"


@dataclass(frozen=True, repr=False)
class MinimumError(Result):
    """No mechanism with BDP level ``target`` errs by ``alpha`` or less all the time.

    Parameters
    ----------
    alpha : float
        With probability at least ``beta`` the error is alpha or more, on one of two data sets.
    beta : float
        ``1 / (e^target + 1)``.
    spread : float
        How far apart the query is on these two data sets, ``2 alpha``.
    target : float
    certificate : Certificate
    """

    result = "minimum error"
    number = "alpha"

    alpha: float
    beta: float
    spread: float
    target: float
    certificate: Certificate

    def __repr__(self) -> str:
        return (
            f"At BDP level {self.target:.6g} every mechanism errs by at least {self.alpha:.6g} "
            f"with probability at least {self.beta:.6g}\n"
            f"  certificate  {self.certificate.name}: {self.certificate.reference}"
        )


def minimum_error(model: Model, target: float, *, query: Query) -> MinimumError:
    """The error that every mechanism with BDP level ``target`` must make.

    If two data sets D, D' cannot be told apart by more than e^target, an answer that is within
    ``|f(D) - f(D')| / 2`` of the truth on both must fail with probability at least
    ``beta = 1 / (e^target + 1)`` on one of them.

    Parameters
    ----------
    model : Model
        For ``Groups`` some law in the model makes a block one value repeated, so D and D' may
        differ in the whole block; for a joint table the pairs that known records and one more
        settle; for independent records and chains D and D' differ in one record.
    target : float
    query : Query

    Returns
    -------
    MinimumError

    References
    ----------
    Lange, master thesis (2024), theorem 4.6. Answering f(D) or f(D') by randomized response shows
    that beta cannot be improved.

    Examples
    --------
    >>> from corrdp import Count, Groups
    >>> least = minimum_error(Groups(10), 1.0, query=Count(where="x"))
    >>> least.alpha, round(least.beta, 6)
    (5.0, 0.268941)
    """
    target = check_number("target", target, above=0)
    query = resolved(model, query)
    if isinstance(query, Histogram):
        raise NotApplicableError("minimum_error is about one number; ask for a Count per category")
    spread = _spread(model, query)
    said = (*model.assumptions, *query.assumptions)
    return MinimumError(
        alpha=spread / 2.0,
        beta=math.exp(-target) / (1.0 + math.exp(-target)),
        spread=spread,
        target=target,
        certificate=Certificate("impossibility", IMPOSSIBILITY, said),
    )


def _spread(model: Model, query: Query) -> float:
    """Largest difference of the query between two data sets that must look alike."""
    if isinstance(model, Groups):
        assert model.m is not None
        return model.m * query.sensitivity
    if isinstance(model, Independent):
        return query.sensitivity
    if isinstance(model, JointTable):
        return _table_spread(model, query)
    if isinstance(model, MarkovChain):
        return _neighbour_spread(model, query)
    if isinstance(model, Pedigree):
        return max(_table_spread(shape.table(), query) for shape in model.shapes)
    raise NotApplicableError(f"no impossibility bound for {model.describe()}")


def _table_spread(table: JointTable, query: Query) -> float:
    answers = np.array([query.on_grid(list(values))[0] for values in table.law])
    widest = 0
    for _, _, _, split in adversaries(table):
        settled = [answers[rows[0]] for _, rows in split if len(rows) == 1]
        if len(settled) > 1:
            widest = max(widest, int(max(settled) - min(settled)))
    return widest * query.grid


def _neighbour_spread(chain: MarkovChain, query: Query) -> float:
    """Two values of one record that the same possible neighbours allow.

    Some record leads to both and some record follows both (or none follows): both data sets can
    occur. A chain without a length has no record that is known to be the last.
    """
    steps = query.scores(chain.states)
    assert steps is not None
    apart = np.abs(steps[:, None] - steps[None, :])
    n = chain.length
    read = None if n is None else chain.reads(query)
    kernels = chain.transition[None] if chain.homogeneous else chain.transition
    follow = [(kernel > 0).astype(float) for kernel in kernels]  # floats: products count paths
    possible = chain.first
    both = np.logical_and.outer(possible, possible)
    widest, t = 0, 0
    first: dict[bytes, int] = {}
    while n is None or t < n:
        step = None if t == (n or 0) - 1 else follow[0 if chain.homogeneous else t]
        allowed = both if step is None else both & (step @ step.T > 0)
        if read is None or read[t]:
            widest = max(widest, int(apart[allowed].max(initial=0)))
        if step is None:
            break
        if chain.homogeneous and read is None:
            now = possible.tobytes() + both.tobytes()
            if now in first:  # from here on the same again, up to the last record
                if n is None:
                    break
                period = t - first[now]
                t += (n - 1 - t) // period * period
                if t == n - 1:
                    continue
            first.setdefault(now, t)
        rows = step[possible]
        both, possible = rows.T @ rows > 0, rows.any(axis=0)
        t += 1
    return widest * query.grid
