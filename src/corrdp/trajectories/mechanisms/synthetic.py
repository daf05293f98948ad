"""Synthetic trajectories from noisy trees: post-processing, at no further cost."""

from __future__ import annotations

import numpy as np

from corrdp._checks import check_kind
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_rng
from corrdp.trajectories.mechanisms.noisytree import NoisyTree

MOST_POINTS = 50_000_000


def synthesize(tree: NoisyTree, rng: np.random.Generator | None = None) -> list[np.ndarray]:
    r"""Trajectories that a noisy tree describes.

    A prefix tree gives, once its counts are consistent, exactly

    .. math:: r(v) = \tilde c(v) - \sum_{x} \tilde c(vx)

    copies of each prefix v: one tree, one set of trajectories. An n-gram tree gives walks: a first
    place x is taken as often as ``c(x)`` exceeds the 2-grams that lead to x, and after the last
    places w (the longest that the tree knows, at most n_max - 1) a walk goes on to x with
    probability ``c(wx) / c(w)``, or else ends.

    Parameters
    ----------
    tree : NoisyTree
    rng : numpy.random.Generator, optional
        For the walks of an n-gram tree. It need not be secret: the noise is in the tree already.

    Returns
    -------
    list of arrays of int

    References
    ----------
    Chen, Fung, Desai (2011); Chen, Acs, Castelluccia (2012).
    docs/theorems.md#noisy-exploration-trees.

    Examples
    --------
    >>> from corrdp.trajectories.mechanisms.prefix import PrefixTree
    >>> tree = PrefixTree(2, 2, 80.0).release([[0, 1]] * 30 + [[1]] * 20)
    >>> made = synthesize(tree)
    >>> len(made), [0, 1] in [s.tolist() for s in made]
    (50, True)
    """
    check_kind("tree", tree, NoisyTree, "a NoisyTree")
    if rng is not None:
        check_rng(rng)
    tidy = tree if tree.consistent else tree.made_consistent()
    if tree.kind == "prefix":
        return _copies(tidy)
    if rng is None:
        raise InputError("walks of an n-gram tree are drawn: give rng=numpy.random.default_rng()")
    return _walks(tidy, rng)


def _copies(tree: NoisyTree) -> list[np.ndarray]:
    endings = tree.endings()
    points = sum(int(r.sum()) * depth for depth, r in enumerate(endings, start=1))
    _check_points(points)
    made: list[np.ndarray] = []
    for depth, copies in enumerate(endings, start=1):
        made.extend(np.repeat(tree.paths(depth), copies, axis=0))
    return made


def _check_points(points: int) -> None:
    if points > MOST_POINTS:
        raise InputError(
            f"the tree describes {points:,} synthetic points, more than {MOST_POINTS:,}: its noise "
            "drowns the counts; raise epsilon or the threshold"
        )


def _walks(tree: NoisyTree, rng: np.random.Generator) -> list[np.ndarray]:
    """All walkers at one node go on together."""
    counts, following = tree.counts(), _following(tree)
    starts = _starts(tree)
    _check_points(int(starts.sum()) * tree.length)
    walkers = [np.full(n, place) for place, n in enumerate(starts) if n]
    first = np.concatenate([np.empty(0, dtype=np.int64), *walkers])
    walks = np.full((len(first), tree.length), -1, dtype=np.int64)
    if not len(first):
        return []
    walks[:, 0] = first
    going = np.arange(len(first))
    for step in range(1, tree.length):
        moved = []
        recent = walks[going, max(0, step - len(tree.levels) + 1) : step]
        if not recent.shape[1]:  # single places only: nothing says what follows
            break
        contexts, which = np.unique(recent, axis=0, return_inverse=True)
        for number, context in enumerate(contexts.tolist()):
            mine = going[which.ravel() == number]
            known = tuple(context)
            while known and known not in counts:
                known = known[1:]
            places, weights = following.get(known, (np.empty(0, dtype=np.int64), np.empty(0)))
            law = np.append(weights, counts.get(known, 1) - weights.sum()).astype(float)
            chosen = rng.choice(len(law), size=len(mine), p=law / law.sum())
            on = chosen < len(places)
            walks[mine[on], step] = places[chosen[on]]
            moved.append(mine[on])
        going = np.concatenate(moved)
        if not len(going):
            break
    return [walk[walk >= 0] for walk in walks]


def _following(tree: NoisyTree) -> dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]:
    """What comes after each node of the tree: places and their counts."""
    found: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}
    for depth in range(2, len(tree.levels) + 1):
        level = tree.levels[depth - 1]
        # children of one node lie side by side
        nodes, first = np.unique(level.parent, return_index=True)
        names = tree.paths(depth - 1)[nodes].tolist()
        parts = zip(np.split(level.place, first[1:]), np.split(level.count, first[1:]), strict=True)
        found.update(zip(map(tuple, names), parts, strict=False))
    return found


def _starts(tree: NoisyTree) -> np.ndarray:
    """How often each place was seen without a place before it."""
    seen = np.zeros(tree.k, dtype=np.int64)
    seen[tree.levels[0].place] = tree.levels[0].count
    if len(tree.levels) > 1:
        np.subtract.at(seen, tree.levels[1].place, tree.levels[1].count)
    return np.maximum(seen, 0)
