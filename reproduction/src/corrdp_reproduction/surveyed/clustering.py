"""Clustering: a partition of what was reported, and what is published about its parts.

Every function is a mechanism ``(data, rng, city) -> output`` with user-level epsilon 1 as its
claim; trajectories come and go. None of them keeps it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np

from corrdp_reproduction.surveyed.city import TOY, City, Data, noisy, repeated

EPSILON = 1.0
CLUSTERS = 2  # at each time; a public setting
HALF = EPSILON / 2  # for the partition; the other half for counts
Point = tuple[float, float]
Parts = tuple[tuple[int, ...], ...]


def exponential_clusters(
    data: Data, rng: np.random.Generator, city: City = TOY, clusters: int = CLUSTERS
) -> tuple[tuple[Point, ...], ...]:
    """[117]: at each time a partition of the reported places, likelier if its parts are tight.

    Centroids replace the places; sequences of centroids get noisy counts, and as many are
    published as there were trajectories.
    """
    return _clustered(data, rng, city, _partitions, clusters)


def predicted_clusters(
    data: Data, rng: np.random.Generator, city: City = TOY
) -> tuple[tuple[Point, ...], ...]:
    """[118], final step: paths are completed by a model of what comes next, then clustered.

    The likeliest next place by the transitions of the data stands in for the network.
    """
    pairs = Counter(pair for path in data for pair in pairwise(path))
    whole = []
    for path in data:
        longer = list(path)
        while longer and len(longer) < city.longest:
            onward = {b: n for (a, b), n in pairs.items() if a == longer[-1]}
            longer.append(max(onward, key=lambda b: (onward[b], -b), default=longer[-1]))
        whole.append(tuple(longer))
    return _clustered(tuple(whole), rng, city, _partitions, CLUSTERS)


def bounded_clusters(
    data: Data, rng: np.random.Generator, city: City = TOY
) -> tuple[tuple[Point, ...], ...]:
    """[119]: the same with Laplace noise that is cut off at 1 around the true count."""
    return _clustered(data, rng, city, _partitions, CLUSTERS, most=1.0)


def curve_clusters(
    data: Data, rng: np.random.Generator, city: City = TOY
) -> tuple[tuple[Point, ...], ...]:
    """[120]: reported places in the order of a Hilbert curve, cut into runs."""
    return _clustered(data, rng, city, _runs, CLUSTERS)


Candidates = Callable[[Sequence[int], int, City], Iterator[Parts]]


def _clustered(
    data: Data,
    rng: np.random.Generator,
    city: City,
    candidates: Candidates,
    clusters: int,
    most: float = math.inf,
) -> tuple[tuple[Point, ...], ...]:
    named: list[dict[int, Point]] = []
    for time in range(max(map(len, data), default=0)):
        reported = tuple(sorted({path[time] for path in data if len(path) > time}))
        ways = list(candidates(reported, min(clusters, len(reported)), city))
        scores = np.array([-_spread(parts, city) for parts in ways])  # at most 1 apart
        chosen = ways[int(_weighted(scores, HALF / (2 * EPSILON), rng))]
        named.append({p: _centroid(part, city) for part in chosen for p in part})
    paths = Counter(tuple(named[t][p] for t, p in enumerate(path)) for path in data)
    if most < math.inf:
        shown = {
            key: round(count + float(np.clip(rng.laplace(0, 1 / HALF), -most, most)))
            for key, count in sorted(paths.items())
        }
    else:
        shown = noisy(paths, 1 / HALF, rng)
    return repeated(shown)[: len(data)]


def _weighted(scores: np.ndarray, rate: float, rng: np.random.Generator) -> int:
    weights = np.exp(rate * (scores - scores.max()))
    return int(rng.choice(len(scores), p=weights / weights.sum()))


def _partitions(places: Sequence[int], parts: int, city: City) -> Iterator[Parts]:
    """All ways to split the places into so many parts."""
    if not places:
        yield ()
        return
    first, rest = places[0], places[1:]
    for size in range(len(rest) + 1):
        for others in combinations(rest, size):
            left = tuple(p for p in rest if p not in others)
            if parts == 1 and left:
                continue
            for more in _partitions(left, parts - 1, city) if left else ((),):
                if 1 + len(more) == parts:
                    yield ((first, *others), *more)


def _runs(places: Sequence[int], parts: int, city: City) -> Iterator[Parts]:
    """The places along a Hilbert curve, cut once or not at all."""
    order = sorted(places, key=lambda p: _hilbert(*_square(p, city)))
    if parts == 1:
        yield (tuple(order),)
    for cut in range(1, len(order)) if parts > 1 else ():
        yield tuple(order[:cut]), tuple(order[cut:])


def _square(place: int, city: City, side: int = 16) -> tuple[int, int]:
    """The place on a square of whole numbers."""
    axes = np.array(city.where)
    low, high = axes.min(axis=0), axes.max(axis=0)
    x, y = ((np.array(city.where[place]) - low) / (high - low) * (side - 1)).astype(int).tolist()
    return x, y


def _hilbert(x: int, y: int, side: int = 16) -> int:
    """How far along the curve a cell lies."""
    far, s = 0, side // 2
    while s:
        right, up = int(bool(x & s)), int(bool(y & s))
        far += s * s * ((3 * right) ^ up)
        if not up:
            if right:
                x, y = side - 1 - x, side - 1 - y
            x, y = y, x
        s //= 2
    return far


def _spread(parts: Parts, city: City) -> float:
    """Mean distance within the parts, relative to the largest there is."""
    inside = [city.distance(a, b) for part in parts for a in part for b in part if a < b]
    top = float(city.distances().max())
    return float(np.mean(inside)) / top if inside else 0.0


def _centroid(part: Sequence[int], city: City) -> Point:
    east, north = np.mean([city.where[p] for p in part], axis=0).round(3).tolist()
    return east, north


def noisy_centroids(
    data: Data, rng: np.random.Generator, city: City = TOY
) -> tuple[tuple[float, float, int], ...]:
    """[121]: any clustering; polar Laplace noise on the places, noise on the clusters there are.

    Clusters are the halves of the city here. Published are their noisy centroids, to whole units,
    with counts; how they connect is not.
    """
    middle = float(np.mean([x for x, _ in city.where]))
    sides = Counter(city.where[p][0] > middle for path in data for p in path)
    shown = []
    for side, count in sorted(noisy(sides, city.longest / HALF, rng).items()):
        places = [p for path in data for p in path if (city.where[p][0] > middle) is side]
        points = np.array([_moved(city.where[p], rng) for p in places])
        east, north = points.mean(axis=0).round().tolist()
        shown.append((east + 0.0, north + 0.0, count))
    return tuple(shown)


def _moved(point: Point, rng: np.random.Generator) -> Point:
    """Noise on the radius and on the angle."""
    radius = math.hypot(*point) + rng.laplace(0, 0.2)
    angle = math.atan2(point[1], point[0]) + rng.laplace(0, 0.2)
    return radius * math.cos(angle), radius * math.sin(angle)
