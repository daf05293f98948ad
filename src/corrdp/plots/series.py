"""Pictures of series: does the record before the last one matter, and leakage along a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.errors import InputError
from corrdp.plots import ACCENT, INK, MUTED, RULE, SOFT, WARM, axes_or_new, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.models.chains.diagnostics import Diagnostics
    from corrdp.tables.overview import Overview, Timeline
    from corrdp.trajectories.units.inspect import Inspection

_MOST_ROWS = 12  # transitions that fit a picture; those farthest from first order are shown
_MOST_DOTS = 40  # records before, the most frequent ones
_MOST_NAMED = 3  # further names would cover each other
_BARS = 3  # half length of a bar, in standard errors


def draw_orders(diagnostics: Diagnostics, ax: Axes | None = None) -> Axes:
    """How likely each transition is, given also the record before the present one.

    One line per transition, one dot per record before, with three standard errors to either side;
    the upright stroke is the first-order chain. Where that fits, all bars cross their stroke; dots
    whose bar does not are dark, and the farthest are named.

    Parameters
    ----------
    diagnostics : Diagnostics
    ax : matplotlib Axes, optional
        Where to draw; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from corrdp.models.chains.diagnostics import diagnose
    >>> from corrdp.models.chains.markov import MarkovChain
    >>> ax = draw_orders(diagnose(MarkovChain.fit([0, 0, 1, 1] * 30)))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['0 to 1', '1 to 1']
    """
    moves, number = _moves(diagnostics)
    ax = axes_or_new(ax, 1.1 + 0.42 * max(len(moves), 1))
    for height, move in enumerate(moves.values()):
        _draw_move(ax, height, move, diagnostics.states)
    names = [f"{diagnostics.states[y]} to {diagnostics.states[z]}" for y, z in moves]
    ax.set_yticks(range(len(moves)), names)
    ax.set_ylim(max(len(moves), 1) - 0.45, -0.75)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel(_caption(len(moves), number), fontsize=9)
    if not moves:
        note = "no runs of three records to look at"
        ax.text(0.5, 0, note, ha="center", va="center", color=MUTED, fontsize=9)
    return ax


def _caption(shown: int, number: int) -> str:
    some = f" (the {shown} farthest off of {number})" if shown == _MOST_ROWS else ""
    return (
        f"probability of each transition{some}\n"
        "stroke: by the present record; dots: by the one before, too"
    )


def _moves(diagnostics: Diagnostics) -> tuple[dict[tuple[int, int], np.ndarray], int]:
    """The transitions to show, and how many occur in runs of three.

    For each, rows of the record x before, share after x, share after any, and how often x came
    before. With two states one of two mirror images is enough.
    """
    before, present, after, times = diagnostics.fit.triples.T
    s = len(diagnostics.states)
    contexts = np.bincount(before * s + present, times, s * s).reshape(s, s)
    pairs = np.bincount(present * s + after, times, s * s).reshape(s, s)
    law = pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1)
    found = np.column_stack(
        [before, times / contexts[before, present], law[present, after], contexts[before, present]]
    )
    away = np.zeros((s, s))
    off, spread = np.abs(found[:, 1] - found[:, 2]), _spread(found)
    distance = np.divide(off, spread, out=np.zeros(len(off)), where=spread > 0)
    np.maximum.at(away, (present, after), distance)
    keys = np.argwhere(pairs if s > 2 else pairs * [0, 1])
    first = np.argsort(-away[tuple(keys.T)], kind="stable")[:_MOST_ROWS]
    moves = {}
    for y, z in sorted(map(tuple, keys[first].tolist())):
        x = np.flatnonzero(contexts[:, y])
        here = (present == y) & (after == z)
        shares = np.bincount(before[here], times[here], s)[x] / contexts[x, y]
        moves[y, z] = np.column_stack([x, shares, np.full(len(x), law[y, z]), contexts[x, y]])
    return moves, len(keys)


def _spread(move: np.ndarray) -> np.ndarray:
    """Standard error of each share, were first order true."""
    return np.sqrt(move[:, 2] * (1 - move[:, 2]) / move[:, 3])


def _draw_move(ax: Axes, height: int, move: np.ndarray, states: tuple[Any, ...]) -> None:
    if len(move) > _MOST_DOTS:
        move = move[np.argsort(-move[:, 3], kind="stable")[:_MOST_DOTS]]
    x, share, overall, number = move.T
    reach = _BARS * _spread(move)
    distance = np.abs(share - overall)
    sizes = 14 + 60 * number / number.sum()
    ax.hlines(height, 0, 1, color=RULE, linewidth=0.6, zorder=1)
    for off, colour in ((False, SOFT), (True, ACCENT)):
        dots = (distance > reach) == off
        at = np.full(int(dots.sum()), height)
        ends = (share - reach)[dots].clip(0), (share + reach)[dots].clip(max=1)
        ax.hlines(at, *ends, color=colour, linewidth=2, zorder=2 + off)
        ax.scatter(share[dots], at, s=sizes[dots], color=colour, linewidths=0, zorder=2 + off)
    named = np.flatnonzero(distance > reach)
    for k in named[np.argsort(-distance[named], kind="stable")][:_MOST_NAMED]:
        # away from the stroke, but not beyond the axes
        left = share[k] > 0.85 or 0.15 < share[k] < overall[k]
        ax.annotate(f"after {states[int(x[k])]}", (share[k], height), (0, 8), color=INK,
                    ha="right" if left else "left", textcoords="offset points",
                    fontsize=7.5)  # fmt: skip
    ax.vlines(overall[0], height - 0.2, height + 0.2, color=WARM, linewidth=1.6, zorder=4)


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


_STRIP = 0.12  # of the height: how many rows there are in each stretch
_BANDS = (ACCENT, SOFT, WARM, MUTED, INK, RULE)


def draw_timeline(found: Overview, ax: Axes | None = None) -> Axes:
    """How a series runs along time: means with quartiles, or shares; below, how many rows.

    Parameters
    ----------
    found : Overview
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import pyarrow as pa
    >>> from corrdp.tables.check import check
    >>> ax = draw_timeline(check(pa.table({"t": list(range(40)), "on": [True, False] * 20})))
    >>> ax.get_ylabel()
    'share of rows, on'
    """
    line = found.timeline
    if line is None:
        raise InputError("there is no series to draw: the rows are in no order; see problem")
    ax = axes_or_new(ax, 2.8)
    starts = line.first + line.width * np.arange(len(line.rows))
    x = _times(line, starts)
    if line.unit in ("month", "microsecond"):
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=7)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        ax.xaxis.get_offset_text().set(fontsize=8, color=MUTED)
    rows = np.array(line.rows, dtype=float)
    curves = [np.array([np.nan if v is None else v for v in c]) for c in line.curves]
    if not curves:
        ax.step(x, rows, where="mid", color=ACCENT, linewidth=1.2)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("rows", fontsize=9)
    elif line.kind == "mean":
        mean, low, high = curves
        ax.fill_between(x, low, high, color=SOFT, linewidth=0, label="middle half of the values")
        ax.plot(x, mean, color=ACCENT, linewidth=1.3, label="mean")
        ax.set_ylabel(f"{line.what}", fontsize=9)
        room = float(np.nanmax(high) - np.nanmin(low)) or 1.0
        least, most = np.nanmin([low, mean]), np.nanmax([high, mean]) + 0.1 * room
        ax.set_ylim(least - 2.2 * _STRIP * room, most)
        # below there are rows, and no values
        ax.set_yticks([tick for tick in ax.get_yticks() if least - _STRIP * room <= tick <= most])
    else:
        for k, curve in enumerate(curves if len(curves) > 2 else curves[:1]):
            name = f"value {k + 1}" if len(curves) > 2 else "the more frequent value"
            ax.plot(x, curve, color=_BANDS[k], linewidth=1.3, label=name)
        ax.set_ylim(-1.6 * _STRIP, 1.05)
        ax.set_yticks(np.linspace(0, 1, 6))
        ax.set_ylabel(f"share of rows, {line.what}", fontsize=9)
    if curves:
        ax.fill_between(x, 0, _STRIP * rows / max(rows.max(), 1), color=RULE, linewidth=0,
                        step="mid", transform=ax.get_xaxis_transform(), label="rows")  # fmt: skip
        legend_above(ax, 3)
    zone = found.clock.timezone if found.clock is not None else None
    caption = "row of the file" if line.unit == "row" else "time in UTC" if zone else "time"
    ax.set_xlabel(caption, fontsize=9)
    return ax


def _times(line: Timeline, starts: np.ndarray) -> np.ndarray:
    """Where the stretches begin, for an axis."""
    if line.unit == "month":
        return starts.round().astype("int64").astype("datetime64[M]").astype("datetime64[D]")
    if line.unit == "microsecond":
        return starts.round().astype("int64").astype("datetime64[us]")
    return starts
