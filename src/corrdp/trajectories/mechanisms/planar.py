"""Points with planar Laplace noise, published as cells of a grid."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from corrdp._checks import check_choice, check_items
from corrdp.accounting.step import Step
from corrdp.errors import DataError, InputError
from corrdp.guarantees import L1, Pure
from corrdp.mechanisms.base import check_positive, check_rng
from corrdp.mechanisms.planar import PlanarLaplace
from corrdp.metric.curves import check_level
from corrdp.metric.granularities import Event
from corrdp.trajectories.data.cells import Grid
from corrdp.trajectories.data.reachability import check_whole
from corrdp.trajectories.mechanisms.movements import MovementMechanism
from corrdp.trajectories.mechanisms.noisytree import ReleasedSequences

_BITS = 64
_LOGS = 1e-12  # more than the rounding of two logarithms below 45 and their sum
_ANGLE = 1e-14  # more than that of 2 pi U and its sine and cosine
_PLACE = 1e-14  # more than that of a sum and a quotient, relative
_NORTHMOST, _WIDEST = 85.0, 180.0  # degrees: beyond, a plane is far from the earth
_CLIPPED = (
    "points outside the box were moved to its edge: epsilon is for the metres between the points "
    "at the edge, and how far outside they were does not count",
)


@dataclass(frozen=True, eq=False)
class PlanarCells(MovementMechanism):
    r"""Each point is moved by planar Laplace noise, and the cell it falls into is published.

    .. math:: \Pr[\text{cell} \mid x] \le e^{r \lVert x - x' \rVert_2} \Pr[\text{cell} \mid x']

    where

    - r is the rate: epsilon per metre between two possible places of one point,
    - distances are those on the earth, a sphere of its mean radius. Noise is added on a plane
      (:attr:`Grid.shrinkage`) on which no two points of the box are further apart than that: its
      east-west scale is that of the edge nearest to a pole.

    Every point is noised by itself: a trajectory of m points that all lie d metres elsewhere costs
    m r d, and filtering undoes much of the noise of a path that moves slowly. Moving to the grid
    (and to its edge, from outside) is post-processing. The law of the cell is exact: bits come
    from the operating system's cryptographic generator, and where rounding could move a point
    across the border of a cell, more bits and digits decide.

    Parameters
    ----------
    grid : Grid
        Public; at most to 85 degrees of latitude, and 180 degrees wide.
    rate : float
        Epsilon per metre.
    outside : {"error", "clip"}
        Points outside the box: an error, or moved to its edge first. Distances are then those
        between the points at the edge.

    References
    ----------
    Andres, Bordenabe, Chatzikokolakis, Palamidessi, "Geo-indistinguishability" (2013).
    movements#points-on-a-grid.

    Examples
    --------
    >>> city = Grid.square(39.9, 116.3, 40.0, 116.4, metres=1000)
    >>> noisy = PlanarCells(city, rate=math.log(4) / 200)
    >>> noisy.unit
    'each metre between two possible places of one point'
    >>> noisy.path_epsilon(points=10, metres=100).__round__(6)
    6.931472
    >>> len(noisy.sample([[[39.95, 116.35], [39.96, 116.36]]]).sequences[0])
    2
    """

    grid: Grid
    rate: float
    outside: str = "error"

    def __post_init__(self) -> None:
        check_choice("outside", self.outside, ("error", "clip"))
        object.__setattr__(self, "rate", check_positive("rate", self.rate))
        if not isinstance(self.grid, Grid):
            raise InputError(f"grid must be a Grid, got {self.grid!r}")
        edge = max(abs(self.grid.south), abs(self.grid.north))
        if edge > _NORTHMOST or self.grid.east - self.grid.west > _WIDEST:
            raise InputError(
                f"a plane holds no box up to {edge:g} degrees of latitude and "
                f"{self.grid.east - self.grid.west:g} wide: planar noise needs one within "
                f"{_NORTHMOST:g} degrees of the equator and at most {_WIDEST:g} wide"
            )

    @property
    def _law(self) -> PlanarLaplace:
        wide, high = self._sides
        diameter = math.hypot(high * self.grid.rows, wide * self.grid.columns)
        return PlanarLaplace(self.rate, math.nextafter(diameter, math.inf))

    @property
    def guarantee(self) -> L1:
        """The rate per metre, and the epsilon of any two places in the box of the grid."""
        return self._law.guarantee

    @property
    def unit(self) -> str:
        """What is protected, in words."""
        return "each metre between two possible places of one point"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold for the guarantee."""
        return (
            f"epsilon {self.rate:.6g} per metre is about one point; a trajectory of m points costs "
            "the sum over its points",
            "points are independent: those before and after narrow a place down further",
            "the grid, the times of points and how many there are are public",
            f"metres are those on a sphere of the earth's mean radius, anywhere in "
            f"{self.grid.describe()}",
            *(_CLIPPED if self.outside == "clip" else ()),
        )

    def path_epsilon(self, points: int, metres: float) -> float:
        """What tells apart two paths of so many points, each ``metres`` from its counterpart."""
        many, far = check_whole("points", points), check_level("metres", metres)
        return math.nextafter(self.rate * many * far, math.inf)

    def plan_steps(self) -> tuple[Step, ...]:
        """Its entry in a plan over a stream: any two places of the box, one point."""
        return (Step("noisy points", Pure(self.guarantee.largest), metric=Event()),)

    def sample(
        self, points: Sequence[Any], rng: np.random.Generator | None = None
    ) -> ReleasedSequences:
        """The cells of the noisy points; :meth:`release` checks as well. O(points).

        Parameters
        ----------
        points : sequence of (m, 2) arrays
            Latitude and longitude, one array per trajectory.
        rng : numpy Generator, optional
            The same law for simulation. Left out, cryptographic randomness.

        Returns
        -------
        ReleasedSequences
        """
        if rng is None:
            return self._released(points, lambda x: settled_cells(x, self.rate, *self._sides))
        check_rng(rng)
        law, sides = self._law, np.array(self._sides)
        return self._released(points, lambda x: np.floor(law.sample(x, rng) / sides))

    @property
    def _sides(self) -> tuple[float, float]:
        high, wide = self.grid.cell_metres
        across, up = self.grid.shrinkage
        return wide * across, high * up

    def plane(self, lat: Any, lng: Any) -> np.ndarray:
        """East and north of the south-west corner where noise is added: no longer than on earth.

        Examples
        --------
        >>> far = PlanarCells(Grid.square(0, 0, 80, 1, metres=5000), rate=.001)
        >>> bool(np.hypot(*(far.plane(80, 1) - far.plane(80, 0))) <= 19309)  # 1 degree at 80 north
        True
        """
        return np.stack(self.grid.to_metres(lat, lng), axis=-1) * self.grid.shrinkage

    def _released(self, points: Sequence[Any], cells: Any) -> ReleasedSequences:
        checked = [_check_points(i, p) for i, p in enumerate(check_items("points", points))]
        if not checked:
            raise DataError("there are no trajectories")
        degrees = np.concatenate(checked)
        lat, lng = degrees.T
        self.grid.cell(lat, lng, outside=self.outside)  # refuses points outside of the box
        lat = np.clip(lat, self.grid.south, self.grid.north)
        lng = np.clip(lng, self.grid.west, self.grid.east)
        place = self.plane(lat, lng)
        column, row = np.moveaxis(cells(place), -1, 0)
        row = np.clip(row, 0, self.grid.rows - 1).astype(np.int64)
        column = np.clip(column, 0, self.grid.columns - 1).astype(np.int64)
        ends = np.cumsum([len(p) for p in checked])[:-1]
        return ReleasedSequences(
            f"planar Laplace noise of rate {self.rate:.6g} per metre",
            self.grid.size,
            tuple(np.split(row * self.grid.columns + column, ends)),
            self.rate,
            0.0,
            self.unit,
            self.assumptions,
        )


def settled_cells(place: np.ndarray, rate: float, wide: float, high: float) -> np.ndarray:
    """Column and row of each point after planar Laplace noise, exactly.

    Parameters
    ----------
    place : (m, 2) array
        East and north.
    rate : float
        Epsilon per unit.
    wide, high : float
        Sides of a cell.

    Returns
    -------
    (m, 2) array of float
        Whole numbers; cells left of and below 0 are negative.

    Examples
    --------
    >>> settled_cells(np.array([[5.0, 15.0]]), 1e9, 10.0, 10.0).tolist()
    [[0.0, 1.0]]
    """
    words = np.frombuffer(os.urandom(24 * len(place)), dtype=np.uint64).reshape(3, -1)
    first, second, turn = words.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = (2 * _BITS * math.log(2) - np.log(first) - np.log(second)) / rate
        angle = turn * (2 * math.pi / 2.0**_BITS)
        slack = (2 / first + 2 / second + _LOGS) / rate + radius * _ANGLE
        cells = np.empty(place.shape)
        unsure = ~np.isfinite(slack)
        for axis, (side, share) in enumerate(((wide, np.cos(angle)), (high, np.sin(angle)))):
            moved = place[:, axis] + radius * share
            room = slack + np.abs(moved) * _PLACE + np.abs(place[:, axis]) * _PLACE
            low, up = np.floor((moved - room) / side), np.floor((moved + room) / side)
            cells[:, axis] = low
            unsure |= low != up
    for i in np.flatnonzero(unsure):
        cells[i] = _refined([int(w) for w in words[:, i]], place[i], rate, (wide, high))
    return cells


def _refined(
    words: list[int], place: np.ndarray, rate: float, sides: tuple[float, float]
) -> list[float]:
    """The same by decimal arithmetic, with further random bits until both cells are certain."""
    bits = _BITS
    while True:
        words = [(w << _BITS) | int.from_bytes(os.urandom(_BITS // 8), "little") for w in words]
        bits += _BITS
        if not all(words):  # a uniform number near 0 is known by its first digit only
            continue
        with localcontext() as context:
            context.prec = bits // 3 + 30
            unit, exact = Decimal(2) ** bits, Decimal(rate)
            first, second, turn = ((Decimal(w) + Decimal("0.5")) / unit for w in words)
            radius = -(first.ln() + second.ln()) / exact
            # the next bits: d ln U <= 1/(2 U 2^bits), and the angle moves by less than 4/2^bits
            slack = (1 / first + 1 / second) / unit / exact + radius * 8 / unit
            share = _turned(turn)
            found = []
            for x, side, part in zip(place.tolist(), sides, share, strict=True):
                moved = Decimal(x) + radius * part
                low, up = ((moved + s) / Decimal(side) for s in (-slack, slack))
                whole = [math.floor(low), math.floor(up)]
                if whole[0] != whole[1]:
                    break
                found.append(float(whole[0]))
            if len(found) == 2:
                return found


def _turned(turn: Decimal) -> tuple[Decimal, Decimal]:
    """Cosine and sine of 2 pi times a number in (0, 1), to the precision of the context."""
    # pi = 16 atan(1/5) - 4 atan(1/239)
    angle = 2 * turn * (16 * _atan(5) - 4 * _atan(239))
    # small enough for the series, then doubled back
    small = angle / 2**10
    cos = sin = Decimal(0)
    term, n = Decimal(1), 0
    while abs(term) > Decimal(10) ** -(_digits() + 5):
        if n % 2:
            sin += term if n % 4 == 1 else -term
        else:
            cos += term if n % 4 == 0 else -term
        n += 1
        term = term * small / n
    for _ in range(10):
        cos, sin = cos * cos - sin * sin, 2 * sin * cos
    return cos, sin


def _atan(inverse: int) -> Decimal:
    """atan(1 / inverse)."""
    total, power, n = Decimal(0), Decimal(1) / inverse, 1
    while power > Decimal(10) ** -(_digits() + 5):
        total += power / n if n % 4 == 1 else -power / n
        power, n = power / inverse**2, n + 2
    return total


def _digits() -> int:
    from decimal import getcontext

    return getcontext().prec


def _check_points(number: int, points: Any) -> np.ndarray:
    try:
        array = np.asarray(points, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"points[{number}] must be latitudes and longitudes") from None
    if array.ndim != 2 or array.shape[1] != 2 or not len(array):
        raise DataError(
            f"points[{number}] must be one or more pairs (latitude, longitude), got shape "
            f"{array.shape}"
        )
    if not np.isfinite(array).all():
        raise DataError(f"points[{number}] holds a coordinate that is no number")
    return array
