"""Leakage drawn along a path in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from corrdp.errors import InputError
from corrdp.plots.style import ACCENT, INK, MUTED, WARM, axes_or_new, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.trajectories.units.results import Inspection

_MOST_STEPS = 600


def draw_path(found: Inspection, ax: Axes | None = None, user: int | None = None) -> Axes:
    """Leakage of each recorded step of one user, gaps closed up, beside epsilon and m epsilon.

    Parameters
    ----------
    found : Inspection
        With its streams.
    ax : matplotlib Axes, optional
    user : int, optional
        Number of the user; the one with most recorded steps when left out. Only the first 600 of
        them are drawn.

    Examples
    --------
    >>> from corrdp.trajectories.units.inspect import inspect_movements
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> walks = Trajectories.from_points([1] * 8, np.arange(8) * 300, labels=list("aabbaaba"))
    >>> draw_path(inspect_movements(walks)).get_ylabel()
    'leakage of a step, at most'
    """
    streams, per_step = found.streams, found.event.per_record
    if streams is None or per_step is None:
        raise InputError("this inspection was read from JSON and holds no path: inspect again")
    who = int(streams.recorded.argmax()) if user is None else user
    if not 0 <= who < streams.users:
        raise InputError(f"users are numbered 0 to {streams.users - 1}, got {user!r}")
    part = slice(
        streams.starts[who], min(streams.starts[who + 1], streams.starts[who] + _MOST_STEPS)
    )
    values, steps = per_step[part], streams.steps[part]
    ax = axes_or_new(ax, 2.6)
    number = np.arange(len(values))
    ax.step(number, values, where="mid", color=ACCENT, linewidth=1.1, label="by the fitted chain")
    gaps = np.flatnonzero(np.diff(steps) > 1) + 0.5
    ax.plot(gaps, np.zeros(len(gaps)), "|", color=MUTED, markersize=7, label="gap in time")
    ax.axhline(found.epsilon, color=INK, linewidth=1, label="epsilon")
    thumb = found.rule_of_thumb
    ax.axhline(thumb, color=WARM, linewidth=1, linestyle=(0, (4, 3)), label="m epsilon, no bound")
    ax.set_ylim(bottom=0)
    ax.set_xlabel(f"recorded steps of user {streams.user_names[who]}", fontsize=9)
    ax.set_ylabel("leakage of a step, at most", fontsize=9)
    legend_above(ax, 2)
    return ax
