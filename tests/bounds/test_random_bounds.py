"""Random chains of every kind: no bound may lie below a value that some mechanism attains."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import corrdp as cdp
from corrdp.errors import ModelError
from tests.oracles.attained import NONE, Attacks
from tests.oracles.events import told_by_program

TOLERANCE = 1e-9  # relative: what the oracle itself may have rounded


def random_rows(rng: np.random.Generator, s: int) -> np.ndarray:
    """A kernel: moderate, spiky, nearly deterministic, with zeros, a copy, a swap, or one law."""
    kind = rng.integers(8)
    if kind == 0:
        rows = rng.dirichlet(np.ones(s), s)
    elif kind == 1:
        rows = rng.dirichlet(np.full(s, 0.1), s) + 1e-12
    elif kind == 2:  # all but 1e-6 .. 1e-20 of a row in one place
        rows = 10.0 ** rng.uniform(-20, -6, (s, s))
        rows[np.arange(s), rng.integers(s, size=s)] = 1.0
    elif kind == 3:  # rare states beside common ones
        rows = rng.choice([1e-20, 1e-14, 1e-7, 0.5, 1.0], (s, s))
    elif kind == 4:
        rows = rng.random((s, s)) * (rng.random((s, s)) < 0.6)
        rows[np.arange(s), rng.integers(s, size=s)] += 0.1
    elif kind == 5:
        rows = np.eye(s)
    elif kind == 6:
        rows = np.eye(s)[rng.permutation(s)] + rng.choice([0.0, 1e-14])
    else:
        rows = np.repeat(rng.dirichlet(np.ones(s), 1), s, axis=0)
        rows[0] = rows[0] + rng.choice([0.0, 1e-14, 0.1])
    return rows / rows.sum(axis=1, keepdims=True)


def random_start(rng: np.random.Generator, s: int) -> np.ndarray:
    law = rng.choice([0.0, 1e-20, 1e-9, 1.0], s) * rng.random(s)
    if rng.random() < 0.5 or not law.any():
        law = rng.dirichlet(np.ones(s))
    return law / law.sum()


def random_chain(rng: np.random.Generator, quick: bool) -> cdp.MarkovChain:
    """A few records mostly; some of up to forty, a few of a hundred and more."""
    s = int(rng.choice([2, 2, 3, 3, 4]))
    n = int(rng.integers(1, 5 if quick else 9))
    size = rng.random()
    if size < (0.005 if quick else 0.02):
        s, n = 2 if quick else min(s, 3), int(rng.integers(100, 131))
    elif size < (0.03 if quick else 0.1):
        s, n = min(s, 3), int(rng.integers(9, 41))
    if n > 1 and rng.random() < 0.6:
        few = [random_rows(rng, s) for _ in range(3)]  # kernels return along a chain
        kernels = np.array([few[rng.integers(3)] for _ in range(n - 1)])
        return cdp.MarkovChain(kernels, n, random_start(rng, s))
    kernel = random_rows(rng, s)
    if rng.random() < 0.5:
        try:
            return cdp.MarkovChain(kernel, n)
        except ModelError:  # no unique stationary law
            pass
    return cdp.MarkovChain(kernel, n, random_start(rng, s))


def random_levels(rng: np.random.Generator, n: int) -> float | np.ndarray:
    level = 10.0 ** rng.uniform(-9, np.log10(50))
    if rng.random() < 0.7:
        return float(level)
    levels = level * rng.choice([0.0, 0.1, 1.0], n)
    levels[rng.integers(n)] = level
    return levels


def boundaries(rng, chain, witness, target, knowing):
    """Which records are known next to the target: none, near ones, some far, the bound's own."""
    n, s = chain.length, len(chain.states)
    sides = []
    for inside in (range(target + 1, n), range(target - 1, -1, -1)):
        places = list(inside)
        near = places if len(places) <= 4 else [*places[:2], *rng.choice(places[2:], 2)]
        found = [None]
        if knowing:
            found += [(int(k), c) for k in near for c in range(s)]
            found += [
                (target + offset, chain.states.index(value))
                for offset, value in (witness.known if witness is not None else ())
                if target + offset in inside
            ]
        sides.append(found)
    return sides


def attained_by_record(rng, chain, eps, witness, knowing=True) -> dict[int, float]:
    """Attained values of a few targets, the one of the bound's witness among them."""
    n, s = chain.length, len(chain.states)
    attacks = Attacks(chain.kernels, chain.start, np.broadcast_to(eps, n))
    own = None if witness is None else witness.record
    targets = {int(rng.integers(n)), n // 2 if own is None else own, n - 1}
    found = {}
    for target in targets if n > 8 else range(n):
        rights, lefts = boundaries(rng, chain, witness, target, knowing)
        pairs = list(itertools.permutations(range(s), 2))
        if n > 40:
            pairs = [pairs[k] for k in rng.choice(len(pairs), 2, replace=False)]
            if witness is not None and witness.values is not None:
                pairs.append(tuple(chain.states.index(x) for x in witness.values))
        found[target] = max(attacks.target(target, a, b, rights, lefts) for a, b in pairs)
    return found


MOST_POINTS, MOST_LEVEL = 32, 10.0  # values of all records, and a level, that a program is for


def told_by_programs(rng, chain, eps, witness, knowing, tries) -> dict[int, float]:
    """What the best mechanism tells some random adversaries, and the one of the bound's witness."""
    n, s = chain.length, len(chain.states)
    eps = np.broadcast_to(eps, n)
    if s**n > MOST_POINTS or eps.max() > MOST_LEVEL:
        return {}
    joint = np.array(chain.start)
    for kernel in chain.kernels:
        joint = joint[..., None] * kernel
    asked = []
    for _ in range(tries):
        i = int(rng.integers(n))
        path = rng.choice(np.argwhere(joint > 0))
        others = [j for j in range(n) if j != i and knowing and rng.random() < 0.4]
        asked.append((i, {j: int(path[j]) for j in others}))
    if witness is not None and witness.record is not None:
        known = {witness.record + offset: chain.states.index(x) for offset, x in witness.known}
        asked.append((witness.record, known))
    found: dict[int, float] = {}
    for i, known in asked:
        place = i - sum(j < i for j in known)
        laws = np.moveaxis(joint[tuple(known.get(j, slice(None)) for j in range(n))], place, 0)
        free = [j for j in range(n) if j not in known]
        for a, b in itertools.permutations(np.flatnonzero(laws.reshape(s, -1).any(axis=1)), 2):
            pair = np.zeros((2, *laws.shape))
            pair[0, a], pair[1, b] = laws[a] / laws[a].sum(), laws[b] / laws[b].sum()
            value = told_by_program(*(np.moveaxis(law, 0, place) for law in pair), eps[free])
            found[i] = max(found.get(i, NONE), value)
    return found


def check(seed: int, quick: bool = False) -> None:
    rng = np.random.default_rng([7, seed])
    chain = random_chain(rng, quick)
    eps = random_levels(rng, chain.length)
    knowing = isinstance(eps, np.ndarray) or rng.random() < 0.85
    leak = cdp.leakage(chain, eps, adversary="all" if knowing else "none")
    values = attained_by_record(rng, chain, eps, leak.witness, knowing)
    programs = told_by_programs(rng, chain, eps, leak.witness, knowing, 1 if quick else 6)
    for target, value in programs.items():
        values[target] = max(values[target], value)
    # what the oracle rounds is a share of the level: records that never vary leak nothing
    rounded = 1e-12 * np.max(eps)
    attained = max(values.values()) * (1 - TOLERANCE) - rounded
    assert leak.value >= attained, (seed, leak, attained)
    for candidate in leak.candidates:
        assert "attained" not in candidate.reason, (seed, candidate)
        if candidate.value is not None:
            assert candidate.value >= attained, (seed, candidate, attained)
    for target, value in values.items():
        if value > NONE and leak.per_record is not None:
            least = value * (1 - TOLERANCE) - rounded
            assert leak.per_record[target] >= least, (seed, target, value)


@pytest.mark.parametrize("part", range(8))
def test_no_bound_below_what_is_attained(part):
    for seed in range(100 * part, 100 * (part + 1)):
        check(seed, quick=True)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(36))
def test_no_bound_below_what_is_attained_long(part):
    for seed in range(500 * (part + 2), 500 * (part + 3)):
        check(seed)


# -- orders 2 and 3, small enough to write out -------------------------------------------------


def random_window_chain(rng: np.random.Generator) -> cdp.WindowChain | None:
    order = int(rng.choice([1, 2, 2, 3]))
    s = 2 if order == 3 or rng.random() < 0.7 else 3
    rows = np.concatenate([random_rows(rng, s) for _ in range(s ** (order - 1))])
    n = int(rng.integers(order, 8 if s == 2 else 5))
    try:
        return cdp.WindowChain(rows, order, n)
    except ModelError:  # no unique stationary law
        return None


def written_out(chain: cdp.WindowChain) -> np.ndarray:
    """The joint law as an array with one axis per record, in logarithms."""
    s, k, n = len(chain.states), chain.order, chain.length
    with np.errstate(divide="ignore"):
        logs = np.log(chain.stationary).reshape((s,) * k)
        step = np.log(chain.transition).reshape((s,) * (k + 1))
    for t in range(k, n):
        logs = logs[..., None] + step.reshape((1,) * (t - k) + (s,) * (k + 1))
    return logs


def log_mean(logs: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    top = logs.max()
    if top == -np.inf:
        return np.full([m for k, m in enumerate(logs.shape) if k not in axes], -np.inf)
    with np.errstate(divide="ignore"):
        return top + np.log(np.exp(logs - top).sum(axis=axes))


def product_attack(rng, a: np.ndarray, b: np.ndarray, eps: np.ndarray) -> float:
    """Orientations for the unknown records (axes of the log laws a, b), improved one by one.

    The best set of values of a record, the others fixed, is a prefix by the ratio of the two laws.
    """
    n, s = a.ndim, a.shape[0] if a.ndim else 1
    said = np.zeros((n, s))
    a, b = (law - log_mean(law, tuple(range(n))) for law in (a, b))
    small = eps.sum() < 0.1  # means minus one: all digits for tiny epsilons
    weights = np.exp([a, b]) if small else None

    def likely(said: np.ndarray) -> np.ndarray:
        shapes = ([s if j == k else 1 for j in range(n)] for k in range(n))
        return sum(
            (row.reshape(shape) for row, shape in zip(said, shapes, strict=True)),
            np.zeros([1] * n),
        )

    def told(said: np.ndarray) -> float:
        if weights is not None:
            means = (weights * np.expm1(likely(said))).reshape(2, -1).sum(axis=1)
            return float(np.log1p(means[0]) - np.log1p(means[1]))
        logs = [log_mean(law + likely(said), tuple(range(n))) for law in (a, b)]
        return float(logs[0] - logs[1])

    best = 0.0
    for _ in range(3):
        for t in range(n):
            rest = said.copy()
            rest[t] = 0.0
            others = tuple(k for k in range(n) if k != t)
            laws = [log_mean(law + likely(rest), others) for law in (a, b)]
            with np.errstate(invalid="ignore"):
                order = np.argsort(np.nan_to_num(laws[1] - laws[0], nan=0.0))
            found = []
            for size in range(s):
                trial = rest.copy()
                trial[t, order[:size]] = eps[t]
                found.append((told(trial), trial))
            value, said = max(found, key=lambda pair: pair[0])
            best = max(best, value)
    return best


def check_windows(seed: int) -> None:
    rng = np.random.default_rng([8, seed])
    chain = random_window_chain(rng)
    if chain is None:
        return
    n = chain.length
    eps = 10.0 ** rng.uniform(-9, np.log10(50))
    knowing = rng.random() < 0.85
    logs = written_out(chain)
    attained = 0.0
    for _ in range(6):
        i = int(rng.integers(n))
        known = [j for j in range(n) if j != i and knowing and rng.random() < 0.3]
        path = np.unravel_index(rng.choice(np.flatnonzero(logs > -np.inf)), logs.shape)
        kept = logs[tuple(path[j] if j in known else slice(None) for j in range(n))]
        at = i - sum(j < i for j in known)
        laws = [law for law in np.moveaxis(kept, at, 0) if (law > -np.inf).any()]
        for a, b in itertools.permutations(laws, 2):
            value = eps + product_attack(rng, a, b, np.full(a.ndim, eps))
            attained = max(attained, value)
    leak = cdp.leakage(chain, eps, adversary="all" if knowing else "none")
    assert leak.value >= attained * (1 - TOLERANCE), (seed, leak, attained)
    for candidate in leak.candidates:
        if candidate.value is not None:
            assert candidate.value >= attained * (1 - TOLERANCE), (seed, candidate, attained)


@pytest.mark.parametrize("part", range(2))
def test_orders_up_to_three(part):
    for seed in range(100 * part, 100 * (part + 1)):
        check_windows(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_orders_up_to_three_long(part):
    for seed in range(500 * (part + 1), 500 * (part + 2)):
        check_windows(seed)
