"""A chain over a few places, fitted to streams, and how long people stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corrdp.errors import DataError, InputError
from corrdp.models.chains.markov import MarkovChain
from corrdp.trajectories.data.splitting import duration
from corrdp.trajectories.data.streams import Streams

ELSEWHERE = "elsewhere"


@dataclass(frozen=True, eq=False)
class PlaceChain:
    """A chain over the places that matter and "elsewhere".

    Attributes
    ----------
    chain : MarkovChain
        One kernel for all users, its length the longest stream.
    places : tuple of int
        The places with a state of their own.
    """

    chain: MarkovChain
    places: tuple[int, ...]


def fit_places(streams: Streams, states: int = 6, first: Sequence[int] = ()) -> PlaceChain:
    """Fit a chain on the most visited places; every other place counts as "elsewhere".

    The places form one strongly connected class together: places that are never left, or never
    reached from the others, within one step are counted as elsewhere too. Gaps break the chain.

    Parameters
    ----------
    streams : Streams
    states : int
        Most states, "elsewhere" included; with more than 8 the sharpest bound is left out.
    first : sequence of int
        Places that have a state of their own before the most visited ones do.

    Returns
    -------
    PlaceChain

    Raises
    ------
    DataError
        When there is no chain to fit: nobody moves, or no two recorded steps follow each other.

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.data.streams import by_time_step
    >>> places = list("hhhwwwhhhwwwhchhh")
    >>> walks = Trajectories.from_points(["a"] * 17, range(17), labels=places)
    >>> found = fit_places(by_time_step(discretise(walks), 1.0), states=2)
    >>> found.chain.states, found.chain.transition.round(2).tolist()[0]
    (('elsewhere', 'h'), [0.57, 0.43])
    """
    if isinstance(states, bool) or not isinstance(states, int) or states < 2:
        raise InputError(f"states must be a whole number of at least 2, got {states!r}")
    seen, where = np.unique(streams.cells, return_inverse=True)
    visits = np.bincount(where)
    wanted = np.isin(seen, np.asarray(first, dtype=np.int64))
    ranked = np.lexsort((seen, -visits, ~wanted))
    # a state for everything else is needed only where something is left over
    most = states if len(seen) <= states else states - 1
    kept = ranked[:most].tolist()
    follows = np.flatnonzero(streams.follows)
    while len(kept) > 1:
        number = np.full(len(seen), len(kept))
        number[kept] = np.arange(len(kept))
        codes = number[where]
        outside, rest = _outside(codes, follows, len(kept))
        if outside:
            kept = [place for k, place in enumerate(kept) if k not in outside]
        elif rest:
            kept = kept[:-1]
        else:
            break
    names = np.full(len(seen), ELSEWHERE, dtype=object)
    for place in kept:
        names[place] = streams.place(int(seen[place]))
    texts = names.astype(str)[where]
    if len(seen) > 1 and (not follows.size or len(np.unique(texts)) == 1):
        raise DataError(_too_few_moves(streams, len(seen)))
    chain = MarkovChain.fit(_sequences(streams, texts))
    places = tuple(int(seen[place]) for place in kept)
    return PlaceChain(chain.with_length(int(streams.spans.max())), places)


def _too_few_moves(streams: Streams, places: int) -> str:
    """Why there is no chain although several places were visited, and which step to try."""
    apart = np.delete(np.diff(streams.steps), streams.starts[1:-1] - 1) * streams.seconds
    follow = int(streams.follows.sum())
    said = (
        f"{follow:,} of the {len(streams.cells):,} recorded steps follow"
        if follow
        else f"no two of the {len(streams.cells):,} recorded steps follow"
    )
    said += f" each other directly, too few to learn how people move between the {places:,} places"
    if not apart.size or (usual := float(np.median(apart))) <= streams.seconds:
        return said
    text = duration(usual)
    return f'{said}; the usual time between two is {text}: try step="{text}" (--step {text})'


def _outside(codes: np.ndarray, follows: np.ndarray, kept: int) -> tuple[set[int], bool]:
    """Which kept states lie outside the largest class, and whether the rest does."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = kept + 1
    pairs = coo_array((np.ones(len(follows)), (codes[follows - 1], codes[follows])), (size, size))
    _, label = connected_components(pairs, directed=True, connection="strong")
    visits = np.bincount(codes, minlength=size)
    main = np.argmax(np.bincount(label, weights=visits))
    away = {k for k in range(kept) if label[k] != main}
    return away, bool(visits[kept] and label[kept] != main)


def _sequences(streams: Streams, texts: np.ndarray) -> list[np.ndarray]:
    """Names by user, an empty one in each gap."""
    numbers = streams.with_cells(np.arange(len(texts))).sequences
    named = np.append(texts, "")
    return [named[sequence] for sequence in numbers]


def stay_lengths(streams: Streams) -> np.ndarray:
    """For each recorded step, how many steps in a row the user was recorded in that place.

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.data.streams import by_time_step
    >>> walks = Trajectories.from_points([1] * 4, [0, 1, 2, 5], labels=list("hhww"))
    >>> stay_lengths(by_time_step(discretise(walks), 1.0)).tolist()
    [2, 2, 1, 1]
    """
    new = ~streams.follows
    new[1:] |= np.diff(streams.cells) != 0
    number = np.cumsum(new) - 1
    return np.bincount(number)[number]
