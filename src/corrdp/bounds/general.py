"""General bound: whatever the dependence, the epsilons of a dependent block add up at most."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from corrdp.bounds.scope import Bound
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.switching import SwitchingChain
from corrdp.models.chains.window import WindowChain
from corrdp.models.groups import Groups, Independent, JointTable
from corrdp.results import Certificate, Kind, Witness

REFERENCE = "Lange (2024), theorem 4.2 (docs/theorems.md#general)"
_SPLIT_RECORDS = 10  # all 2^(n-1) splits of a joint table are tried up to this many records


def general(model: Model, guarantee: Pure) -> Bound:
    """Sum of epsilon over the block of records that depend on the target. O(n).

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
    target = int(per_record.argmax())
    return Bound(
        float(per_record[target]),
        kind,
        Certificate("general", REFERENCE),
        per_record,
        Witness(target, note="the block is one value repeated") if kind == "exact" else None,
    )


def one_block(model: Model, guarantee: Pure) -> Bound:
    """The bound that needs no law at all: every record depends on every other.

    Examples
    --------
    >>> one_block(MarkovChain([[.5, .5], [.5, .5]], 3), Pure(1.0)).value
    3.0
    """
    if model.length is None:
        raise NotApplicableError("the general bound grows with the length; give the chain one")
    value = float(guarantee.vector(model.length).sum())
    certificate = Certificate("general", REFERENCE)
    return Bound(value, "upper bound", certificate, np.full(model.length, value))


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
    if isinstance(model, WindowChain | SwitchingChain):
        if model.length is None:
            raise NotApplicableError("the general bound grows with the length; give the chain one")
        return np.zeros(model.length, dtype=np.int64)
    return model.block_of_record  # type: ignore[attr-defined]


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
    cuts = []
    for kernel, possible in zip(chain.transition, chain.support, strict=False):
        rows = kernel[possible]
        cuts.append(bool((rows == rows[0]).all()))
    return np.concatenate([[0], np.cumsum(cuts)]).astype(np.int64)


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
