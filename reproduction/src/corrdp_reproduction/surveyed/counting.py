"""Noisy counts: exploration trees, which stand, and counts of what was observed, which do not.

Every function is a mechanism ``(data, rng, city) -> output`` with user-level epsilon 1 as its
claim; trajectories come and go.
"""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache

import numpy as np

from corrdp.trajectories import NgramTree, PrefixTree, synthesize
from corrdp.trajectories.mechanisms.noisytree import NoisyTree
from corrdp.trajectories.mechanisms.trees import TreeMechanism
from corrdp_reproduction.surveyed.city import TOY, City, Data, Trajectory, noisy, repeated

EPSILON = 1.0
ZONE = (0, 1)  # sensitive places
LEAST = 1  # noisy count from which a node is kept; public
CAREFUL = 0.5  # budget of the places that DPLG protects more


def prefix_tree(data: Data, rng: np.random.Generator, city: City = TOY) -> Data:
    """[84]: noise on all prefixes, also those that nobody walked; epsilon split over the levels."""
    return _drawn(_tree("prefix", city).sample(city.cut(data), rng), rng)


def ngram_tree(data: Data, rng: np.random.Generator, city: City = TOY) -> Data:
    """[83]: the same on n-grams, to which a trajectory adds its length."""
    return _drawn(_tree("n-gram", city).sample(city.cut(data), rng), rng)


@cache
def _tree(kind: str, city: City) -> TreeMechanism:
    if kind == "prefix":
        return PrefixTree(city.k, city.longest, EPSILON, thresholds=LEAST)
    return NgramTree(city.k, city.longest, EPSILON, n_max=2, thresholds=LEAST)


def _drawn(tree: NoisyTree, rng: np.random.Generator) -> Data:
    return tuple(sorted(tuple(path.tolist()) for path in synthesize(tree, rng)))


def zone_tree(data: Data, rng: np.random.Generator, city: City = TOY) -> tuple[Data, Data]:
    """[110]: the n-gram tree for what lies in sensitive zones; the rest is published as it is."""
    inside = tuple(part for part in (_within(path, True) for path in data) if part)
    outside = tuple(sorted(part for part in (_within(path, False) for path in data) if part))
    return ngram_tree(inside, rng, city), outside


def _within(path: Trajectory, zone: bool) -> Trajectory:
    return tuple(place for place in path if (place in ZONE) is zone)


def careful_tree(data: Data, rng: np.random.Generator, city: City = TOY) -> tuple[int, ...]:
    """[111] DPLG: noisy visits of all places, with more noise in some areas than in others.

    A trajectory moves these counts by its length at most, and no place has more than epsilon.
    """
    counts = Counter(place for path in city.cut(data) for place in path)
    budgets = [CAREFUL if place in ZONE else EPSILON for place in range(city.k)]
    noise = [rng.laplace(0, city.longest / budget) for budget in budgets]
    return tuple(max(0, round(counts[p] + x)) for p, x in enumerate(noise))


def segment_tree(data: Data, rng: np.random.Generator, city: City = TOY) -> Data:
    """[112] NTPT: trajectories cut into straight pieces; noise on the pieces that were observed."""
    pieces = Counter(piece for path in data for piece in _pieces(path, city))
    return repeated(noisy(pieces, city.longest / EPSILON, rng))


def _pieces(path: Trajectory, city: City) -> list[Trajectory]:
    """First and last place of every straight stretch."""
    kept = list(path[:1])
    for before, place, after in zip(path, path[1:], path[2:], strict=False):
        (ax, ay), (bx, by), (cx, cy) = (city.where[p] for p in (before, place, after))
        if abs((bx - ax) * (cy - by) - (by - ay) * (cx - bx)) > 1e-12:
            kept.append(place)
    kept += path[1:][-1:]
    return list(itertools.pairwise(kept)) or [tuple(kept)]


def similar_tree(data: Data, rng: np.random.Generator, city: City = TOY) -> Data:
    """[113]: sequences with most points in common share a node; noise on the nodes there are."""
    nodes: Counter[Trajectory] = Counter()
    for path in data:
        near = [node for node in nodes if 2 * len(set(node) & set(path)) > len(set(path))]
        nodes[near[0] if near else path] += 1
    return repeated(noisy(nodes, 1 / EPSILON, rng))


def box_tree(
    data: Data, rng: np.random.Generator, city: City = TOY
) -> tuple[tuple[float, ...], ...]:
    """[114]: bounding boxes of similar sequences; noise on the boxes there are."""
    boxes = Counter(_box(path, city) for path in data)
    return repeated(noisy(boxes, 1 / EPSILON, rng))


def _box(path: Trajectory, city: City) -> tuple[float, ...]:
    east, north = zip(*(city.where[place] for place in path), strict=True)
    return min(east), min(north), max(east), max(north)


def risky_counts(data: Data, rng: np.random.Generator, city: City = TOY) -> Data:
    """[115]: counts of observed trajectories; the more one has in common, the more noise."""
    counts = Counter(data)
    shown: dict[Trajectory, int] = {}
    for path, count in sorted(counts.items()):
        others = [other for other in data if other != path]
        common = [len(set(path) & set(other)) / len(set(path) | set(other)) for other in others]
        risk = max(common, default=0.0)
        shown |= noisy(Counter({path: count}), 1 / (EPSILON * (1 - risk / 2)), rng)
    return repeated(shown)


def guessed_tree(data: Data, rng: np.random.Generator, city: City = TOY) -> Data:
    """[116] DPTD: a random reported place for each region; odd layers by raw frequencies.

    Regions are public, here pairs of places; the place that stands for one is one of those that
    somebody reported. Of the prefix tree even layers get noise, and odd ones follow from them by
    the transitions of the data, without noise.
    """
    reported = sorted({place for path in data for place in path})
    named = {region: _choice([p for p in reported if p // 2 == region], rng)
             for region in {p // 2 for p in reported}}  # fmt: skip
    paths = [tuple(named[place // 2] for place in path) for path in data]
    pairs = Counter(path[:2] for path in paths if len(path) > 1)
    released: Counter[Trajectory] = Counter()
    for pair, count in noisy(pairs, 1 / EPSILON, rng).items():
        onward = Counter(path[2:3] for path in paths if path[:2] == pair)
        for end, often in onward.items():
            released[pair + end] += round(count * often / onward.total())
    return repeated(released)


def _choice(places: list[int], rng: np.random.Generator) -> int:
    return places[int(rng.integers(len(places)))]
