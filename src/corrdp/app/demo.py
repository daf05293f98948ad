"""Made-up data for those who want to look around; the same ones every time.

Eight weeks of a step counter, the heights of families, who is ill among people who meet, and where
people of a town are in a week.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

_START = datetime(2024, 3, 4)
_DAYS, _STEP = 56, 15  # days, minutes
# how likely a quarter of an hour is active after a quiet one, and after an active one
_NIGHT, _DAY = (0.04, 0.25), (0.22, 0.62)
_FAMILIES, _PEOPLE = 300, 240
_TOWNS = ("Ahorn", "Birke")
DEMO_BOX = (52.45, 13.30, 52.55, 13.50)  # south, west, north, east of the made-up town
_WALKERS, _WALK_DAYS = 120, 7
_ROAMING = 0.004  # degrees round a place


def write_demo(folder: Path, kind: str = "series") -> Path:
    """Write made-up data of a kind; of a network, the file of links lies beside it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> [write_demo(folder, kind).name for kind in ("families", "network", "movements")]
    ['made-up-heights.csv', 'made-up-people.csv', 'made-up-walks.csv']
    >>> links_of_demo(folder).read_text().splitlines()[0]
    'person,meets'
    """
    if kind == "network":
        people, links = _network()
        _written(links_of_demo(folder), links)
        return _written(folder / "made-up-people.csv", people)
    if kind == "families":
        return _written(folder / "made-up-heights.csv", _families())
    if kind == "movements":
        return _written(folder / "made-up-walks.csv", _walks())
    return _written(folder / "made-up-steps.csv", _series())


def links_of_demo(folder: Path) -> Path:
    """Where the links of the made-up network are."""
    return folder / "made-up-contacts.csv"


def _written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _series() -> list[str]:
    rng = np.random.default_rng(2024)
    lines, active = ["time,steps"], False
    for k in range(_DAYS * 24 * 60 // _STEP):
        moment = _START + timedelta(minutes=_STEP * k)
        chances = _DAY if 7 <= moment.hour < 22 else _NIGHT
        active = bool(rng.random() < chances[active])
        steps = int(rng.gamma(2.0, 220.0)) + 5 if active else 0
        lines.append(f"{moment:%Y-%m-%d %H:%M},{steps}")
    return lines


def _families() -> list[str]:
    """Centimetres of parents and one grown child."""
    rng = np.random.default_rng(2024)
    lines = ["father,mother,child"]
    for _ in range(_FAMILIES):
        father, mother = rng.normal(178, 6.5), rng.normal(165, 6)
        child = 171 + 0.4 * (father - 178) + 0.4 * (mother - 165) + rng.normal(0, 5)
        lines.append(f"{father:.1f},{mother:.1f},{child:.1f}")
    return lines


def _network() -> tuple[list[str], list[str]]:
    """Who is ill in a row of people, most of whom meet their neighbours: those ill come in runs."""
    rng = np.random.default_rng(2024)
    people, links, ill = ["person,ill,town"], ["person,meets"], False
    for k in range(_PEOPLE):
        ill = bool(rng.random() < (0.55 if ill else 0.3))
        town = _TOWNS[2 * k // _PEOPLE]
        people.append(f"p{k:03d},{'yes' if ill else 'no'},{town}")
        if k and rng.random() < 0.8:
            links.append(f"p{k:03d},p{k - 1:03d}")
    return people, links


def _walks() -> list[str]:
    """Where people of the made-up town are, every half hour."""
    south, west, north, east = DEMO_BOX
    inside = (south + 0.01, west + 0.01), (north - 0.01, east - 0.01)
    found = wander(_WALKERS, _WALK_DAYS, *inside, _ROAMING)
    lines = (f"w{who:03d},{at:%Y-%m-%d %H:%M},{lat:.5f},{lng:.5f}" for who, at, lat, lng in found)
    return ["uid,datetime,lat,lng", *lines]


def wander(
    people: int,
    days: int,
    low: tuple[float, float],
    high: tuple[float, float],
    roaming: float = 0.0,
) -> Iterator[tuple[int, datetime, float, float]]:
    """Made-up people every half hour: at home by night, at one of few works, sometimes out.

    Parameters
    ----------
    people, days : int
    low, high : pair of float
        Corners between which homes, works and parks lie.
    roaming : float
        How far from there they are.

    Yields
    ------
    tuple
        Who, when, and both coordinates.

    Examples
    --------
    >>> who, when, *place = next(wander(2, 1, (0, 0), (3, 1)))
    >>> who, f"{when:%A}", 0 <= place[0] <= 3
    (0, 'Monday', True)
    """
    rng = np.random.default_rng(2024)
    works, parks = rng.uniform(low, high, (4, 2)), rng.uniform(low, high, (3, 2))
    for walker in range(people):
        home, work = rng.uniform(low, high), works[rng.integers(len(works))]
        out = None
        for k in range(days * 48):
            moment = _START + timedelta(minutes=30 * k)
            busy = moment.weekday() < 5 and 9 <= moment.hour < 17
            free = 10 <= moment.hour < 21 and not busy
            if not free or (out is not None and rng.random() < 0.3):
                out = None
            elif out is None and rng.random() < 0.15:
                out = parks[rng.integers(len(parks))]
            place = out if out is not None else work if busy else home
            x, y = np.asarray(place) + rng.uniform(-roaming, roaming, 2)
            yield walker, moment, float(x), float(y)
