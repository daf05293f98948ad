"""A square grid over the earth, and trajectories as sequences of its cells or of labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_choice, check_flag, check_kind, check_number, check_whole
from corrdp.errors import InputError
from corrdp.mechanisms.base import check_positive
from corrdp.trajectories.data.points import Trajectories
from corrdp.trajectories.data.splitting import PLACES_FROM_DATA, named, with_rows

RADIUS = 6_371_008.8  # mean radius of the earth in metres
DEGREE = RADIUS * math.pi / 180.0
_MOST_CELLS = 10**9
BOX_FROM_DATA = (
    "the box of the grid was read from the data: for a release, name public bounds instead"
)


def metres_between(lat: Any, lng: Any, lat2: Any, lng2: Any) -> np.ndarray:
    """Great-circle distance in metres (haversine), element by element.

    Examples
    --------
    >>> metres_between(0.0, 0.0, 0.0, 1.0).round(1)
    np.float64(111195.1)
    """
    one, two = np.radians(lat), np.radians(lat2)
    half = np.sin((two - one) / 2) ** 2
    half = half + np.cos(one) * np.cos(two) * np.sin(np.radians(np.subtract(lng2, lng)) / 2) ** 2
    return np.asarray(2 * RADIUS * np.arcsin(np.sqrt(np.minimum(half, 1.0))))[()]


@dataclass(frozen=True)
class Grid:
    """A box of latitudes and longitudes cut into rows and columns of equal degrees.

    Cells are numbered ``row * columns + column``, row 0 in the south and column 0 in the west.
    The grid is public preprocessing: it must not be chosen by looking at private data, or
    ``from_data`` says that it was.

    Parameters
    ----------
    south, west, north, east : float
        Degrees; the edges of the box, itself included.
    rows, columns : int
    from_data : bool
        Whether the box was read from the data.

    Examples
    --------
    >>> grid = Grid.square(39.9, 116.3, 39.91, 116.32, metres=500)
    >>> grid.rows, grid.columns, grid.size
    (3, 4, 12)
    >>> grid.cell([39.9, 39.9099], [116.3, 116.3199]).tolist()
    [0, 11]
    """

    south: float
    west: float
    north: float
    east: float
    rows: int
    columns: int
    from_data: bool = False

    def __post_init__(self) -> None:
        _check_box(self.south, self.west, self.north, self.east)
        for name in ("rows", "columns"):
            object.__setattr__(self, name, check_whole(name, getattr(self, name)))
        if self.size > _MOST_CELLS:
            raise InputError(
                f"a grid of {self.rows:,} x {self.columns:,} cells is more than {_MOST_CELLS:,}: "
                "take larger cells or a smaller box"
            )

    @classmethod
    def square(
        cls,
        south: float,
        west: float,
        north: float,
        east: float,
        metres: float,
        *,
        from_data: bool = False,
    ) -> Grid:
        """Cells that are about square: at most ``metres`` wide (at mid latitude) and high."""
        check_positive("metres", metres)
        _check_box(south, west, north, east)
        width = (east - west) * math.cos(math.radians((south + north) / 2))
        rows, columns = (
            max(1, math.ceil(min(side * DEGREE / metres, _MOST_CELLS + 1) - 1e-9))
            for side in (north - south, width)
        )
        return cls(south, west, north, east, rows, columns, from_data)

    @classmethod
    def around(cls, trajectories: Trajectories, metres: float) -> Grid:
        """A grid over the box that the points fill. It is read from the data, and says so."""
        check_kind("trajectories", trajectories, Trajectories, "Trajectories")
        lat, lng = _coordinates(trajectories)
        check_positive("metres", metres)
        # a box has an inside even where all points are on one line, and no point on its edge
        pad = metres / DEGREE / 2
        wide = pad / max(math.cos(math.radians(float(np.abs(lat).max()))), 1e-3)
        return cls.square(
            max(float(lat.min()) - pad, -90.0),
            max(float(lng.min()) - wide, -180.0),
            min(float(lat.max()) + pad, 90.0),
            min(float(lng.max()) + wide, 180.0),
            metres,
            from_data=True,
        )

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    @property
    def middle(self) -> float:
        """Latitude at which widths are measured."""
        return (self.south + self.north) / 2

    @property
    def cell_metres(self) -> tuple[float, float]:
        """Height and width of a cell in metres, the width at mid latitude."""
        wide = (self.east - self.west) * math.cos(math.radians(self.middle))
        return (self.north - self.south) * DEGREE / self.rows, wide * DEGREE / self.columns

    def cell(self, lat: Any, lng: Any, *, outside: str = "error", rows: Any = None) -> np.ndarray:
        """Number of the cell of each point.

        Parameters
        ----------
        lat, lng : array
            Degrees.
        outside : {"error", "clip"}
            Points outside the box: an error that counts them, or the nearest cell at the edge.
        rows : array of int, optional
            Row numbers, for the message; 1, 2, .. when left out.
        """
        check_choice("outside", outside, ("error", "clip"))
        lat, lng = np.atleast_1d(np.asarray(lat, float)), np.atleast_1d(np.asarray(lng, float))
        inside = (lat >= self.south) & (lat <= self.north) & (lng >= self.west) & (lng <= self.east)
        known = np.isfinite(lat) & np.isfinite(lng)
        if not (inside if outside == "error" else known).all():
            bad = np.flatnonzero(~(inside if outside == "error" else known))
            numbers = np.arange(1, len(lat) + 1) if rows is None else np.asarray(rows)
            bad = bad[np.argsort(numbers[bad], kind="stable")]
            raise with_rows(
                numbers[bad],
                f"{named(bad.size, 'point')} outside the grid; widen its box, or take the nearest "
                'cell with --clip (outside="clip")',
            )
        row = (lat - self.south) / (self.north - self.south) * self.rows
        column = (lng - self.west) / (self.east - self.west) * self.columns
        row = np.clip(np.floor(row), 0, self.rows - 1).astype(np.int64)
        column = np.clip(np.floor(column), 0, self.columns - 1).astype(np.int64)
        return np.asarray(row * self.columns + column)

    def centre(self, code: Any) -> tuple[np.ndarray, np.ndarray]:
        """Latitude and longitude of the middle of each cell.

        Examples
        --------
        >>> Grid(0, 0, 2, 2, 2, 2).centre([0, 3])
        (array([0.5, 1.5]), array([0.5, 1.5]))
        """
        row, column = np.divmod(self._known(code), self.columns)
        lat = self.south + (row + 0.5) * (self.north - self.south) / self.rows
        lng = self.west + (column + 0.5) * (self.east - self.west) / self.columns
        return lat, lng

    def distance(self, code: Any, code2: Any) -> np.ndarray:
        """Metres between the middles of cells, element by element (arrays are broadcast)."""
        return metres_between(*self.centre(code), *self.centre(code2))

    def to_metres(self, lat: Any, lng: Any) -> tuple[np.ndarray, np.ndarray]:
        """East and north of the south-west corner in metres, on the plane that touches the box.

        Widths are those at mid latitude: right to a part in ten thousand over a city.
        """
        east = np.subtract(lng, self.west) * DEGREE * math.cos(math.radians(self.middle))
        return east, np.subtract(lat, self.south) * DEGREE

    def to_degrees(self, east: Any, north: Any) -> tuple[np.ndarray, np.ndarray]:
        """Inverse of :meth:`to_metres`: latitude and longitude, not kept inside the box."""
        width = DEGREE * math.cos(math.radians(self.middle))
        return self.south + np.asarray(north) / DEGREE, self.west + np.asarray(east) / width

    @property
    def shrinkage(self) -> tuple[float, float]:
        r"""Factors for :meth:`to_metres`, east and north, that make no distance longer than it is.

        .. math:: s_\text{east} = \frac{\cos\varphi_\text{pole}}{\cos\varphi_\text{middle}}
                  \,\frac{\sin(W/2)}{W/2}, \qquad s_\text{north} = \frac{\sin(H/2)}{H/2}

        where the first factor is about the edge nearest to a pole, and W and H are the width and
        height of the box in radians: a great circle is shorter than the parallel. Close to 1 over
        a city.

        References
        ----------
        movements#points-on-a-grid.

        Examples
        --------
        >>> [round(x, 5) for x in Grid.square(39.8, 116.2, 40.1, 116.6, 1000).shrinkage]
        [0.9978, 1.0]
        >>> [round(x, 5) for x in Grid.square(0, 0, 80, 1, 1000).shrinkage]
        [0.22668, 0.92073]
        """
        edge = max(abs(self.south), abs(self.north))
        wide, high = (math.radians(side) / 2 for side in self._span)
        across = math.cos(math.radians(edge)) / math.cos(math.radians(self.middle))
        less = 1 - 1e-12  # more than all rounding here and in to_metres
        return across * math.sin(wide) / wide * less, math.sin(high) / high * less

    @property
    def _span(self) -> tuple[float, float]:
        """Width and height in degrees."""
        return self.east - self.west, self.north - self.south

    def name(self, code: int) -> str:
        """A cell by its row and column, counted from the south-west."""
        row, column = divmod(int(self._known(code)), self.columns)
        return f"r{row}c{column}"

    def where(self, code: int) -> str:
        """A cell by its name and the coordinates of its middle.

        Examples
        --------
        >>> Grid(39, 116, 41, 118, 2, 2).where(1)
        'r0c1 (39.50000, 117.50000)'
        """
        lat, lng = self.centre(code)
        return f"{self.name(code)} ({lat:.5f}, {lng:.5f})"

    def _known(self, code: Any) -> np.ndarray:
        try:
            codes = np.asarray(code)
        except ValueError:  # rows of different lengths
            codes = np.empty(0, dtype=object)
        if codes.dtype.kind not in "iu" or (codes < 0).any() or (codes >= self.size).any():
            raise InputError(f"cells are numbered 0 to {self.size - 1}, got {code!r}")
        return codes

    def describe(self) -> str:
        """The grid in words."""
        high, wide = self.cell_metres
        return (
            f"a grid of {self.rows:,} x {self.columns:,} cells of {high:,.0f} x {wide:,.0f} m "
            f"between ({self.south:.6g}, {self.west:.6g}) and ({self.north:.6g}, {self.east:.6g})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class CellSequences:
    """Trajectories over a finite, numbered set of places.

    Attributes
    ----------
    codes : (n,) array of int
        Place of each point, 0 to size - 1.
    starts, owner, times, user_names
        As in :class:`Trajectories`.
    size : int
        Number of places, visited or not: the universe.
    grid : Grid or None
        None where places are labels.
    label_names : tuple of str
        Empty where places are cells of a grid.
    preprocessing : tuple of str
    merged : bool
        Whether stays were merged: how long a sequence is then tells where somebody was, and is
        not public.
    """

    codes: np.ndarray
    starts: np.ndarray
    owner: np.ndarray
    times: np.ndarray
    user_names: tuple[str, ...]
    size: int
    grid: Grid | None
    label_names: tuple[str, ...]
    preprocessing: tuple[str, ...]
    merged: bool = False

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def sequences(self) -> list[np.ndarray]:
        """One array of places per trajectory."""
        return np.split(self.codes, self.starts[1:-1])

    @property
    def public(self) -> bool:
        """Whether the set of places was named beforehand, not read from the data."""
        return not {BOX_FROM_DATA, PLACES_FROM_DATA} & set(self.preprocessing)

    def place(self, code: int) -> str:
        """The name of a place."""
        return self.grid.name(code) if self.grid is not None else self.label_names[code]

    def where(self, code: int) -> str:
        """The name of a place and, on a grid, the coordinates of its middle."""
        return self.place(code) if self.grid is None else self.grid.where(code)

    def __repr__(self) -> str:
        return f"<{len(self):,} sequences over {self.size:,} places, {len(self.codes):,} points>"


def discretise(
    trajectories: Trajectories,
    grid: Grid | None = None,
    *,
    outside: str = "error",
    merge_stays: bool = False,
) -> CellSequences:
    """Trajectories as sequences of cells, or of their labels; public preprocessing.

    Parameters
    ----------
    trajectories : Trajectories
    grid : Grid, optional
        Needed for coordinates, and for them only.
    outside : {"error", "clip"}
        See :meth:`Grid.cell`.
    merge_stays : bool
        Keep the first of several points of a trajectory in a row in one place, so that a sequence
        tells the order of places only.

    Returns
    -------
    CellSequences
        ``preprocessing`` lists what was done.

    Examples
    --------
    >>> walks = Trajectories.from_points([1, 1, 1], [0, 60, 120], lat=[.1, .2, 1.5], lng=[0, 0, 0])
    >>> [s.tolist() for s in discretise(walks, Grid(0, -1, 2, 1, 2, 1)).sequences]
    [[0, 0, 1]]
    >>> [s.tolist() for s in discretise(walks, Grid(0, -1, 2, 1, 2, 1), merge_stays=True).sequences]
    [[0, 1]]
    """
    check_kind("trajectories", trajectories, Trajectories, "Trajectories")
    check_flag("merge_stays", merge_stays)
    check_choice("outside", outside, ("error", "clip"))
    said = list(trajectories.preprocessing)
    if trajectories.semantic:
        if grid is not None:
            raise InputError("these points have labels, no coordinates: leave the grid out")
        codes, size = trajectories.labels, len(trajectories.label_names)
    else:
        if grid is None:
            raise InputError(
                "coordinates need a grid: Grid.square(south, west, north, east, metres)"
            )
        check_kind("grid", grid, Grid, "a Grid")
        codes, size = (
            grid.cell(trajectories.lat, trajectories.lng, outside=outside, rows=trajectories.rows),
            grid.size,
        )
        said.append(f"points were put into {grid.describe()}")
        if grid.from_data:
            said.append(BOX_FROM_DATA)
        if outside == "clip":
            said.append("points outside the grid were moved to its nearest cell")
    starts, times = trajectories.starts, trajectories.times
    if merge_stays:
        keep = np.diff(codes, prepend=-1) != 0
        keep[starts[:-1]] = True
        starts = np.append(0, np.cumsum(keep))[starts]
        codes, times = codes[keep], times[keep]
        said.append("points in a row in one place were merged into the first of them")
    return CellSequences(
        codes,
        starts,
        trajectories.owner,
        times,
        trajectories.user_names,
        size,
        grid,
        trajectories.label_names,
        tuple(said),
        merge_stays,
    )


def _check_box(south: float, west: float, north: float, east: float) -> None:
    for name, edge in (("south", south), ("west", west), ("north", north), ("east", east)):
        check_number(name, edge)
    if not (-90 <= south < north <= 90 and -180 <= west < east <= 180):
        raise InputError(
            "a grid needs -90 <= south < north <= 90 and -180 <= west < east <= 180, got "
            f"{south:g}, {north:g} and {west:g}, {east:g}"
        )


def _coordinates(trajectories: Trajectories) -> tuple[np.ndarray, np.ndarray]:
    if trajectories.semantic:
        raise InputError("these points have labels, no coordinates: no grid can be put over them")
    return trajectories.lat, trajectories.lng
