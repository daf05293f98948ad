"""Sampling with interpolation, noisy vehicles, and perturbation on a user's own device.

Every function is a mechanism ``(data, rng, city) -> output``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

from corrdp.trajectories import BernoulliSample, LocalNgrams
from corrdp_reproduction.surveyed.city import TOY, City, Data, Trajectory

RATE = 0.1  # with which a point is kept
BETWEEN = 3  # interpolated points on each stretch, its first point included
EPSILON = 1.0
LOCAL = 4.0
PHASE = EPSILON / 4  # positions get two of these, speeds and times one each
VEHICLES = 3  # drawn in the later phases; public
CLASSES = 2  # of speed, and of time
Point = tuple[float, float]


def sample_then_interpolate(
    data: Data, rng: np.random.Generator, city: City = TOY
) -> tuple[tuple[Point, ...], ...]:
    """[122] SFI: keep each point with probability .1, and draw a smooth curve through the rest.

    (0, .1)-DP for one point: what the curve does is computed from the kept points alone.
    """
    kept = BernoulliSample(city.k, RATE).sample(city.cut(data), rng)
    return tuple(curve(path.tolist(), city) for path in kept.sequences)


def interpolate_then_sample(
    data: Data, rng: np.random.Generator, city: City = TOY
) -> tuple[tuple[Point, ...], ...]:
    """[122] IFS: a smooth curve through all points, of which each is kept with probability .1.

    One point moves k points of the curve: (0, 1 - .9^k)-DP.
    """
    curves = [curve(path, city) for path in city.cut(data)]
    return tuple(tuple(p for p in points if rng.random() < RATE) for points in curves)


def curve(path: Sequence[int], city: City) -> tuple[Point, ...]:
    """Cubic Bezier curves from each point to the next, tangents along its neighbours.

    Examples
    --------
    >>> curve([0, 1], TOY)
    ((0.0, 0.0), (0.259, 0.0), (0.741, 0.0), (1.0, 0.0))
    """
    points = np.array([city.where[p] for p in path])
    if len(points) < 2:
        return tuple(map(_rounded, points))
    before = np.vstack([points[:1], points[:-1]])
    after = np.vstack([points[1:], points[-1:]])
    tangent = (after - before) / 6
    tangent[[0, -1]] = 0.0
    found = []
    for a, b, ta, tb in zip(points, points[1:], tangent, tangent[1:], strict=False):
        for t in np.arange(BETWEEN) / BETWEEN:
            s = 1 - t
            at = s**3 * a + 3 * s**2 * t * (a + ta) + 3 * s * t**2 * (b - tb) + t**3 * b
            found.append(_rounded(at))
    return (*found, _rounded(points[-1]))


def _rounded(point: np.ndarray) -> Point:
    east, north = (point + 0.0).round(3).tolist()
    return east, north


def moved_by(one: Trajectory, other: Trajectory, city: City = TOY) -> int:
    """How many points of the curve differ between two paths.

    Examples
    --------
    >>> moved_by((0, 1, 3), (0, 2, 3))
    5
    """
    curves = curve(one, city), curve(other, city)
    return sum(a != b for a, b in zip(*curves, strict=True))


def vehicles(data: Data, rng: np.random.Generator, city: City = TOY) -> tuple[tuple[int, ...], ...]:
    """[123] VTDP: noisy positions of all places, then speeds and times drawn given what is out.

    Positions have Laplace noise over the public grid, the longest length as sensitivity. A speed
    class comes from a Dirichlet-multinomial: counts plus alpha, so that each of so many draws costs
    ln(1 + 1/alpha) for one vehicle more. Times likewise. Interpolation is post-processing.
    """
    path_data = city.cut(data)
    counts = Counter(place for path in path_data for place in path)
    noise = rng.laplace(0, city.longest / (2 * PHASE), city.k)
    shown = tuple(max(0, round(counts[p] + x)) for p, x in enumerate(noise))
    speeds = Counter(len(path) >= city.longest for path in path_data)
    times = Counter(path[0] % CLASSES == 1 for path in path_data if path)
    return shown, *(_classes(part, rng) for part in (speeds, times))


def _classes(counts: Counter[bool], rng: np.random.Generator) -> tuple[int, ...]:
    alpha = 1 / math.expm1(PHASE / VEHICLES)
    weights = np.array([counts[False], counts[True]]) + alpha
    return tuple(rng.choice(CLASSES, VEHICLES, p=weights / weights.sum()).tolist())


def local_ngrams(data: Data, rng: np.random.Generator, city: City = TOY) -> Data:
    """[124]: windows of one place by the exponential mechanism, on the user's own device."""
    told = _local(city).sample(city.cut(data), rng)
    return tuple(tuple(path.tolist()) for path in told.sequences)


@cache
def _local(city: City) -> LocalNgrams:
    return LocalNgrams(city.distances(), city.longest, LOCAL, n=1)
