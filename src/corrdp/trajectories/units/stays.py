"""A chain over a few places, how long people stay, and what event-level epsilon really is.

On movements it is the leakage along a path with gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corrdp._checks import check_whole
from corrdp.bounds.chains.transfer import PAIRWISE_STATES
from corrdp.bounds.leakage import Leakage, leakage
from corrdp.errors import DataError
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Candidate, Certificate
from corrdp.trajectories.data.splitting import duration
from corrdp.trajectories.units.visits import Streams

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
    >>> from corrdp.trajectories.units.visits import by_time_step
    >>> places = list("hhhwwwhhhwwwhchhh")
    >>> walks = Trajectories.from_points(["a"] * 17, range(17), labels=places)
    >>> found = fit_places(by_time_step(discretise(walks), 1.0), states=2)
    >>> found.chain.states, found.chain.transition.round(2).tolist()[0]
    (('elsewhere', 'h'), [0.57, 0.43])
    """
    states = check_whole("states", states, 2)
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
        names[place] = streams.where(int(seen[place]))
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
    >>> from corrdp.trajectories.units.visits import by_time_step
    >>> walks = Trajectories.from_points([1] * 4, [0, 1, 2, 5], labels=list("hhww"))
    >>> stay_lengths(by_time_step(discretise(walks), 1.0)).tolist()
    [2, 2, 1, 1]
    """
    new = ~streams.follows
    new[1:] |= np.diff(streams.cells) != 0
    number = np.cumsum(new) - 1
    return np.bincount(number)[number]


# beyond this many steps a gap is as good as shorter: cutting it can only raise the bound
LONGEST_GAP = 256
REFERENCE = "movements#gaps"
GAPS = (
    "between two recorded steps a user moves on by the same chain, unseen; at which steps users "
    "report is public and tells nothing about where they are"
)
USERS = "users move independently of each other, all by one kernel"
NO_CHAIN = (
    "no law of movement is assumed inside a user's stream, which may depend on itself in any way; "
    "users are independent of each other"
)


def unfitted_leakage(streams: Streams, epsilon: float, reason: str) -> Leakage:
    """Event-level leakage whatever the dependence: epsilon times the recorded steps of a user.

    Parameters
    ----------
    streams : Streams
    epsilon : float
    reason : str
        Why no chain was fitted.
    """
    per_step = np.repeat(streams.recorded * epsilon, streams.recorded)
    return Leakage(
        value=float(per_step.max()),
        kind="upper bound",
        certificate=Certificate("general", "group privacy (chains#general)", (NO_CHAIN,)),
        scope="every mechanism with this guarantee at event level",
        epsilon=epsilon,
        candidates=(
            Candidate("general", float(per_step.max())),
            Candidate("contraction", None, reason),
            Candidate("transfer", None, reason),
        ),
        per_record=per_step,
        model=f"streams of {streams.users:,} users, any dependence within each",
    )


def event_leakage(streams: Streams, chain: MarkovChain, epsilon: float) -> Leakage:
    r"""Leakage of each recorded step under an event-level guarantee.

    A user's stream is a chain in which unrecorded steps are records that no mechanism reads:
    their epsilon is 0. The contraction bound with that vector says how much each step gives away
    where it stands: little after a long gap, much in the middle of a long recording. The transfer
    bound for a stream without gaps holds for it too, because leakage grows with every epsilon;
    each step takes the smaller of the two.

    .. math:: \ell(t) = \min(\text{contraction}_t(\epsilon 1_{\text{recorded}}),
              \text{transfer}(\epsilon), \epsilon \cdot \#\text{recorded})

    Parameters
    ----------
    streams : Streams
    chain : MarkovChain
        From :func:`corrdp.trajectories.units.stays.fit_places`; its length is not used.
    epsilon : float

    Returns
    -------
    Leakage
        ``per_record`` has one entry per recorded step, in the order of ``streams.cells``.

    Notes
    -----
    O(recorded steps + gaps), a gap counted as at most 256 steps, and once the transfer bound of
    the chain, which is left out above 8 places: it would take long and gain little.

    References
    ----------
    movements#gaps.

    Examples
    --------
    >>> from corrdp.trajectories.data.points import Trajectories
    >>> from corrdp.trajectories.data.cells import discretise
    >>> from corrdp.trajectories.units.visits import by_time_step
    >>> walks = Trajectories.from_points([1] * 4, [0, 1, 2, 40], labels=list("hhwh"))
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=41)
    >>> found = event_leakage(by_time_step(discretise(walks), 1.0), chain, 1.0)
    >>> found.per_record.round(3).tolist()
    [2.184, 2.414, 2.184, 1.0]
    """
    longest = int(streams.spans.max())
    few = len(chain.states) <= PAIRWISE_STATES
    method = "transfer" if few else "contraction"
    whole = leakage(chain.with_length(longest), epsilon, method=method)
    ends = zip(streams.starts[:-1], streams.starts[1:], strict=True)
    paths = [_along(streams.steps[a:b], chain, epsilon) for a, b in ends]
    contraction = np.concatenate(paths)
    counts = np.repeat(streams.recorded, streams.recorded) * epsilon
    bounds = {"general": counts, "contraction": contraction}
    if few:
        bounds["transfer"] = np.full(len(counts), whole.value)
    per_step = np.minimum.reduce(list(bounds.values()))
    worst = int(per_step.argmax())
    name = min(bounds, key=lambda k: bounds[k][worst])
    # the value is attained where the longest stream has no gap: gaps take epsilons away
    attained = name == "transfer" and whole.kind == "exact" and longest in streams.recorded
    candidates = tuple(Candidate(k, float(v.max())) for k, v in bounds.items())
    if not few:
        reason = f"too slow for more than {PAIRWISE_STATES} places: take fewer states"
        candidates += (Candidate("transfer", None, reason),)
    theorem = whole.certificate.reference if name == "transfer" else "theorem chains#contraction"
    certificate = Certificate(
        name,
        f"{theorem}; {REFERENCE}",
        (*whole.certificate.assumptions, GAPS, USERS),
    )
    return Leakage(
        value=float(per_step[worst]),
        kind="exact" if attained else "upper bound",
        certificate=certificate,
        scope="every mechanism with this guarantee at event level, every adversary",
        epsilon=epsilon,
        witness=whole.witness if name == "transfer" else None,
        candidates=candidates,
        per_record=per_step,
        model=whole.model,
        digest=whole.digest,
    )


def _along(steps: np.ndarray, chain: MarkovChain, epsilon: float) -> np.ndarray:
    """Contraction bound at the recorded steps of one user."""
    forward = np.minimum(np.diff(steps, prepend=steps[0]), LONGEST_GAP)
    at = np.cumsum(forward)
    vector = np.zeros(int(at[-1]) + 1)
    vector[at] = epsilon
    found = leakage(chain.with_length(len(vector)), vector, method="contraction")
    assert found.per_record is not None
    return np.asarray(found.per_record[at])
