"""Home and work: where somebody usually is at night and in office hours."""

from __future__ import annotations

import numpy as np

NIGHT, OFFICE = "home", "work"
HOURS = {
    NIGHT: "at night, from 22 to 6 o'clock",
    OFFICE: "in office hours, Monday to Friday from 9 to 17 o'clock",
}
_DAY, _HOUR = 86400.0, 3600.0
_THURSDAY = 3  # the first of January 1970, Monday being 0


def usual_places(
    users: np.ndarray,
    times: np.ndarray,
    places: np.ndarray,
    count: int,
    when: str,
    step: float,
) -> np.ndarray:
    """The most frequent place of each user at night or in office hours; -1 for want of points.

    A place counts once per time step, so that a burst of points weighs no more than one; of
    several the first in the list of places.

    Parameters
    ----------
    users, places : (n,) arrays of int
    times : (n,) array of float
        Seconds since 1970, local time.
    count : int
        Number of users.
    when : {"home", "work"}
    step : float
        Seconds of a time step.

    Returns
    -------
    (count,) array of int

    Examples
    --------
    >>> hours = np.array([23, 23.5, 2, 12, 13]) * 3600.
    >>> usual_places(np.zeros(5, int), hours, np.array([7, 7, 8, 3, 3]), 1, "home", 300.).tolist()
    [7]
    >>> usual_places(np.zeros(5, int), hours, np.array([7, 7, 8, 3, 3]), 1, "work", 300.).tolist()
    [3]
    """
    hour = times % _DAY / _HOUR
    if when == NIGHT:
        then = (hour >= 22) | (hour < 6)
    else:
        weekday = (np.floor(times / _DAY) + _THURSDAY) % 7
        then = (hour >= 9) & (hour < 17) & (weekday < 5)
    usual = np.full(count, -1)
    if not then.any():
        return usual
    names, codes = np.unique(places[then], return_inverse=True)
    slots, slot = np.unique(np.floor(times[then] / step), return_inverse=True)
    once = np.unique((users[then] * len(names) + codes) * len(slots) + slot) // len(slots)
    keys, often = np.unique(once, return_counts=True)
    who, code = np.divmod(keys, len(names))
    order = np.lexsort((code, -often, who))
    who, code = who[order], code[order]
    top = np.diff(who, prepend=-1) != 0
    usual[who[top]] = names[code[top]]
    return usual
