"""Branches of a family: never below brute force and linear programs, close to what is attained."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import corrdp as cdp
from corrdp.bounds import inheritance
from corrdp.bounds.branches import by_branches, transfer_pedigree
from corrdp.bounds.doubts import average, gather
from corrdp.bounds.general import general
from corrdp.bounds.inheritance import Relatives
from corrdp.bounds.pedigrees import exact_pedigree
from corrdp.errors import NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.pedigrees.mendel import GENOTYPES, HardyWeinberg
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.queries import Count
from tests.helpers.pedigrees import nuclear, pedigrees

ANY = 1.0 - np.eye(3)
EPSILONS = [1e-9, 1e-3, 0.1, 1.0, 4.0, 50.0]
# three generations, half-siblings, somebody without a record
SIX = [(1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 1, 2), (5, 1, 3), (6, 4, None)]
# five generations: 3 couples below the first, 3 cousins' couples, 2 and 4 children further down
# fmt: off
THIRTY = [(1, 0, 0), (2, 0, 0), *((k, 1, 2) for k in (3, 4, 5)), *((k, 0, 0) for k in (6, 7, 8)),
          *((k, 3 + (k - 9) // 2, 6 + (k - 9) // 2) for k in range(9, 15)),
          *((k, 0, 0) for k in range(15, 19)),
          (19, 9, 15), (20, 9, 15), (21, 10, 16), (22, 10, 16), (23, 11, 17), (24, 12, 18),
          (25, 0, 0), (26, 0, 0), (27, 19, 25), (28, 19, 25), (29, 20, 26), (30, 20, 26)]
# fmt: on


def counting(state: str) -> np.ndarray:
    scores = np.array([float(genotype == state) for genotype in GENOTYPES])
    return abs(scores[:, None] - scores[None, :])


def few_rows(patch: pytest.MonkeyPatch) -> None:
    """So few that ways which differ a lot have to be gathered."""
    patch.setattr(inheritance, "_ROWS", 2)
    patch.setattr(inheritance, "_PAIRS", 6)


def families(pedigree: Pedigree, levels: np.ndarray, epsilon: float | None):
    """Each shape with its records and bound; hypothesis tries another pedigree at loops."""
    try:
        return [
            (shape, records[0], by_branches(shape, np.tile(levels, (shape.size, 1, 1)), epsilon))
            for shape, records in pedigree.shapes.items()
        ]
    except NotApplicableError:
        assume(False)
        raise


@given(pedigrees(most=6), st.sampled_from(GENOTYPES), st.sampled_from(EPSILONS), st.booleans())
def test_never_below_the_count(pedigree, state, eps, few):
    true = exact_pedigree(pedigree, Count(state), Pure(eps)).per_record
    with pytest.MonkeyPatch.context() as patch:
        if few:
            few_rows(patch)
        for shape, records, found in families(pedigree, eps * counting(state), eps):
            assert (found.per_record >= true[records] * (1.0 - 1e-9) - 1e-14 * (1 + eps)).all()
            assert found.value <= shape.size * eps * (1.0 + 1e-9)
            if found.kind == "exact":
                assert found.value == pytest.approx(found.per_record.max(), rel=1e-12)


@given(pedigrees(most=4), st.lists(st.sampled_from([0.0, 0.3, 1.0, 5.0]), min_size=4, max_size=4))
def test_never_below_the_worst_mechanism(pedigree, eps):
    assume(any(eps[: pedigree.length]))
    guarantee = Pure(eps[: pedigree.length])
    try:
        found = transfer_pedigree(pedigree, guarantee)
        true = exact_pedigree(pedigree, None, guarantee)
    except NotApplicableError:
        assume(False)
        raise
    assert (found.per_record >= true.per_record * (1.0 - 1e-7)).all()
    above = general(pedigree, guarantee).per_record
    assert (found.per_record <= above * (1.0 + 1e-9)).all()


def largest(p: np.ndarray, q: np.ndarray, eps: float) -> float:
    """ln max p.f / q.f over f on a grid that changes by e^eps with a record, as a program."""
    grid = list(itertools.product(range(3), repeat=p.ndim))
    place = {x: k for k, x in enumerate(grid)}
    rows = []
    for x in grid:
        for axis, value in itertools.product(range(p.ndim), range(3)):
            if x[axis] != value:
                row = np.zeros(len(grid))
                row[place[x]] = 1.0
                row[place[(*x[:axis], value, *x[axis + 1 :])]] = -math.exp(eps)
                rows.append(row)
    found = linprog(
        -p.ravel(), np.array(rows), np.zeros(len(rows)), q.ravel()[None, :], [1.0], method="highs"
    )
    return math.log(-found.fun)


@pytest.mark.parametrize("eps", [0.3, 2.0])
@pytest.mark.parametrize("founders", [HardyWeinberg(0.5), HardyWeinberg(0.97)])
@pytest.mark.parametrize("few", [False, True])
def test_never_below_linear_programs(few, founders, eps, monkeypatch):
    """All mechanisms, adversaries at random who leave up to four of six unknown."""
    if few:
        few_rows(monkeypatch)
    (shape,) = Pedigree(SIX, founders).shapes
    law, rng = shape.law(), np.random.default_rng(3)
    found = by_branches(shape, np.tile(eps * ANY, (6, 1, 1)), eps)
    closest = 0.0
    for _ in range(12):
        unknown = sorted(rng.choice(6, size=int(rng.integers(2, 5)), replace=False).tolist())
        record = int(rng.choice(unknown))
        drawn = np.unravel_index(rng.choice(law.size, p=law.ravel()), law.shape)
        word = tuple(slice(None) if k in unknown else int(drawn[k]) for k in range(6))
        given_word = np.moveaxis(law[word], unknown.index(record), 0)
        possible = [x for x in range(3) if given_word[x].sum() > 0]
        for a, b in itertools.permutations(possible, 2):
            laws = np.zeros((2, *given_word.shape))
            laws[0, a] = given_word[a] / given_word[a].sum()
            laws[1, b] = given_word[b] / given_word[b].sum()
            true = largest(laws[0], laws[1], eps)
            assert true <= found.per_record[record] + 1e-7
            closest = max(closest, true / found.per_record[record])
    assert few or closest > 0.7


def test_average_holds_for_every_weight_and_function():
    rng = np.random.default_rng(0)
    for s, r in [(3, 3), (9, 3), (3, 9)]:
        answers, doubts = (np.abs(rng.normal(size=(20, s, s))) * scale for scale in (2.0, 0.5))
        for metric in (answers, doubts):
            metric[:, range(s), range(s)] = 0.0
            for z in range(s):
                through = metric[:, :, z, None] + metric[:, None, z, :]
                np.minimum(metric, through, out=metric)
        laws = rng.dirichlet(np.full(s, 0.4), size=(20, r))
        told, unsure = average(answers, doubts, laws)
        for k in range(20):
            for _ in range(50):
                f, w = (
                    np.exp((metric[k] + rng.normal(size=s) * 2.0).min(axis=1))
                    for metric in (answers, doubts)
                )
                weight = laws[k] @ w
                answer = np.log(laws[k] @ (w * f) / weight)
                gaps = answer[:, None] - answer[None, :]
                assert (gaps <= told[k] + 1e-12).all()
                assert (np.log(weight[:, None] / weight[None, :]) <= unsure[k] + 1e-12).all()


def test_rows_stand_for_all():
    rng = np.random.default_rng(1)
    logs = rng.normal(size=(60, 3)) * 0.3
    logs[::4, 0] = -np.inf
    answers, doubts = np.abs(rng.normal(size=(2, 60, 3, 3)))
    order = rng.permutation(60)
    assert gather(logs, answers, doubts, order, 0.0, 1.0, 5)[0] == -1
    count, chosen, raised, unsure = gather(logs, answers, doubts, order, 3.0, 1.0, 10)
    assert 2 <= count <= 10
    off = ~np.eye(3, dtype=bool)
    level = np.where(np.isfinite(logs), logs, 0.0)
    for k in range(60):
        able = np.isfinite(logs[k])
        pairs = able[:, None] & able[None, :] & off
        assert any(
            (np.isfinite(logs[c]) == able).all()
            and (answers[k] <= raised[c] + 1e-12)[pairs].all()
            and (
                doubts[k] + np.subtract.outer(level[k] - level[c], level[k] - level[c])
                <= unsure[c] + 1e-12
            )[pairs].all()
            for c in chosen[:count]
        )


def test_an_adversary_found_is_possible_and_attains_what_is_said():
    pedigree = Pedigree(SIX, HardyWeinberg(0.3))
    found = transfer_pedigree(pedigree, Pure(1.0))
    record, facts = found.witness.record, dict(found.witness.known)
    law = pedigree.joint().law
    values = {x[record] for x in law if all(x[record + offset] == g for offset, g in facts.items())}
    assert set(found.witness.values) <= values


@pytest.mark.slow
def test_thirty_people():
    """Five generations: exact at epsilon 1, within 5 % of what a count attains at .1."""
    pedigree = Pedigree(THIRTY, HardyWeinberg(0.5))
    sharp = exact_pedigree(pedigree, Count("BB"), Pure(1.0))
    assert sharp.kind == "exact"
    assert sharp.value == pytest.approx(12.720314, rel=1e-6)
    close = exact_pedigree(pedigree, Count("BB"), Pure(0.1))
    assert close.value <= 1.05 * float(close.witness.note.split("attains ")[1].split(";")[0])
    assert transfer_pedigree(pedigree, Pure(1.0)).value == pytest.approx(12.7203, rel=1e-4)


def test_loops_and_rare_outcomes():
    cousins = [(1, 0, 0), (2, 0, 0), (3, 1, 2), (4, 1, 2), (5, 3, 4)]
    loop = Pedigree(cousins, HardyWeinberg(0.5))
    with pytest.raises(NotApplicableError, match="children together"):
        transfer_pedigree(loop, Pure(1.0))
    trio = [(11, 0, 0), (12, 0, 0), (13, 11, 12)]
    found = transfer_pedigree(Pedigree(cousins + trio, HardyWeinberg(0.5)), Pure(1.0))
    assert found.per_record[:5] == pytest.approx(np.full(5, 5.0))
    assert found.per_record[5:].max() == pytest.approx(2.2402, abs=5e-5)
    with pytest.raises(NotApplicableError, match="too rare"):
        Relatives(
            next(iter(nuclear(4, {"BB": 1.0, "Bb": 0.0, "bb": 1e-250}).shapes)),
            np.tile(ANY, (4, 1, 1)),
        )


def test_no_dependence_is_plain_epsilon():
    alone = Pedigree([(1, 0, 0), (2, 0, 0)], HardyWeinberg(0.5))
    found = transfer_pedigree(alone, Pure([0.5, 2.0]))
    np.testing.assert_allclose(found.per_record, [0.5, 2.0], rtol=1e-9)
    sure = nuclear(4, {"BB": 1.0, "Bb": 0.0, "bb": 0.0})
    assert transfer_pedigree(sure, Pure(1.0)).value == 0.0


def test_large_families_of_every_mechanism():
    leak = cdp.leakage(nuclear(13, HardyWeinberg(0.5)), 0.5)
    assert leak.certificate.name == "transfer"
    assert (leak.kind, leak.value) == ("exact", pytest.approx(6.0, rel=1e-9))
