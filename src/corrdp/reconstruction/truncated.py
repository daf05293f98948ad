"""Exact risk of Laplace noise on a scalar query, the answer cut to a range or not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from corrdp.errors import InputError
from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.reconstruction.threat import Threat

_BLOCK = 2048  # outputs worked on at once


@dataclass(frozen=True)
class LaplaceRisk:
    """What the best attacks on a Laplace answer achieve.

    Parameters
    ----------
    rad : float
        The largest reconstruction advantage.
    rero : float
        How often the attack with that advantage succeeds.
    best_rero : float
        How often the attack that succeeds most often does; it may have no advantage at all.
    """

    rad: float
    rero: float
    best_rero: float


def laplace_risk(
    answer: LaplaceAnswer, threat: Threat, lower: float = -math.inf, upper: float = math.inf
) -> LaplaceRisk:
    r"""Exact risk of a Laplace answer, cut to a range: any prior, loss and knowledge.

    .. math:: \mathrm{RAD} = \sum_z \int \max_g \sum_x c_z(g, x)\, p(\theta \mid x)\, d\theta,
              \qquad c_z(g, x) = \pi_x \big([x \in z][g \text{ hits } x] - \Pr[X \in z, g
              \text{ hits } X]\big)

    where z runs over what may be known of the record. Between neighbouring answers every density
    is a multiple of e^(-theta/b) or e^(theta/b), so up to a positive factor the guesses are
    straight lines in e^(2 theta/b): their upper envelope is walked along, and each piece is
    integrated in closed form. Outside the answers all likelihood ratios are constant, so either
    end is a single outcome, and a range that contains all answers loses nothing. O(m^2) for each
    of the labels and pieces.

    Parameters
    ----------
    answer : LaplaceAnswer
    threat : Threat
        Its records are those of ``answer``.
    lower, upper : float
        The answer is moved to the nearer end when it falls outside.

    References
    ----------
    Guerra-Balboa, dissertation, theorem 5.3 (the integral) and section 5.5 (the sum query).

    Examples
    --------
    >>> hours = LaplaceAnswer(range(101), 100 / 5)
    >>> near = Threat([1 / 101] * 101, loss=lambda x, g: abs(x - g), eta=40)
    >>> risk = laplace_risk(hours, near, 0, 100)
    >>> round(risk.rad, 4), round(risk.rero, 4), round(risk.best_rero, 4)
    (0.3527, 0.841, 0.9739)
    """
    _check(answer, threat)
    if not lower < upper:
        raise InputError(f"lower must be below upper, got {lower} and {upper}")
    ends = np.clip([answer.values[0], answer.values[-1]], lower, upper)
    inner = answer.values[(answer.values > ends[0]) & (answer.values < ends[1])]
    edges = np.concatenate([ends[:1], inner, ends[1:]])
    atoms = np.column_stack([_below(answer, edges[0]), _above(answer, edges[-1])])
    rad = rero = best = 0.0
    for gains, hits in _weights(threat):
        value, counted = _envelope_sum(answer, edges, atoms, gains, hits)
        rad, rero = rad + value, rero + counted
        best += _envelope_sum(answer, edges, atoms, hits, hits)[0]
    return LaplaceRisk(max(rad, 0.0), rero, best)  # guessing without looking has advantage 0


def gridded_channel(answer: LaplaceAnswer, outputs: int, lower: float, upper: float) -> np.ndarray:
    r"""Law of a Laplace answer that is cut to a range and rounded to a grid.

    .. math:: Q(x, c) = \sinh\frac{w}{2b}\, e^{-|\mu_c - x|/b}

    for a cell c of width w and middle mu_c that does not contain the answer x.

    Parameters
    ----------
    answer : LaplaceAnswer
    outputs : int
        ``outputs - 2`` cells between ``lower`` and ``upper``; the first and the last output are
        the ends themselves, with all that falls outside.
    lower, upper : float
        Finite.

    Returns
    -------
    (m, outputs) array

    Examples
    --------
    >>> gridded_channel(LaplaceAnswer([0, 1], 1.0), 4, 0, 1).round(4).tolist()
    [[0.5, 0.1967, 0.1193, 0.1839], [0.1839, 0.1193, 0.1967, 0.5]]
    """
    return np.concatenate(list(_columns(answer, outputs, lower, upper)), axis=1)


def gridded_rad(
    answer: LaplaceAnswer, threat: Threat, outputs: int, lower: float, upper: float
) -> float:
    """Exact advantage against a Laplace answer that is cut to a range and rounded to a grid.

    At most :func:`laplace_risk`, which it approaches as ``outputs`` grows: rounding is
    post-processing.

    Parameters
    ----------
    answer : LaplaceAnswer
    threat : Threat
    outputs, lower, upper
        As in :func:`gridded_channel`.

    References
    ----------
    Guerra-Balboa, dissertation, theorem 5.3.

    Examples
    --------
    >>> hours = LaplaceAnswer(range(101), 100.)
    >>> guess = Threat([1 / 101] * 101)
    >>> round(gridded_rad(hours, guess, 10_000, 0, 100), 6), round(hours.rad_uniform(), 6)
    (0.004938, 0.004938)
    """
    _check(answer, threat)
    return sum(_best_gains(law, threat) for law in _columns(answer, outputs, lower, upper))


def _columns(
    answer: LaplaceAnswer, outputs: int, lower: float, upper: float
) -> Iterator[np.ndarray]:
    """The channel in blocks of outputs that stay in the cache."""
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise InputError(f"lower and upper must be finite, lower first; got {lower} and {upper}")
    if outputs < 3:
        raise InputError(f"outputs must be at least 3, two ends and a cell; got {outputs}")
    edges, scale = np.linspace(lower, upper, outputs - 1), answer.scale
    cell = float(edges[1] - edges[0])
    if cell > scale:
        raise InputError(
            f"a cell of {cell:.3g} is wider than the noise, scale={scale:g}; use at least "
            f"{math.ceil((upper - lower) / scale) + 3} outputs"
        )
    count = min(_BLOCK, int(1000 * scale / cell))  # e^500 from its middle: no overflow
    yield _below(answer, lower)[:, None]
    for first in range(0, outputs - 2, count):
        yield _cells(answer, edges[first : first + count + 1])
    yield _above(answer, upper)[:, None]


def _cells(answer: LaplaceAnswer, edges: np.ndarray) -> np.ndarray:
    """Law of the cells between the edges: one exponential per cell and per record, not for both."""
    b, values = answer.scale, answer.values
    middles = (edges[1:] + edges[:-1]) / 2
    half, centre = math.sinh((edges[1] - edges[0]) / (2 * b)), middles[middles.size // 2]
    up, down = np.exp((middles - centre) / b) * half, np.exp((centre - middles) / b) * half
    with np.errstate(over="ignore"):  # for records on the other side, where it is not used
        near, far = np.exp((values - centre) / b), np.exp((centre - values) / b)
    law = np.empty((answer.m, middles.size))
    for x, place in enumerate(np.searchsorted(edges, values, side="right")):
        np.multiply(up[:place], far[x], out=law[x, :place])
        np.multiply(down[place:], near[x], out=law[x, place:])
        if 0 < place < edges.size:  # the cell that contains the answer itself
            left, right = edges[place - 1] - values[x], edges[place] - values[x]
            law[x, place - 1] = -(math.expm1(left / b) + math.expm1(-right / b)) / 2
    return law


def _best_gains(law: np.ndarray, threat: Threat) -> float:
    """Sum over labels and outputs of the largest gain; ``law`` is overwritten."""
    law -= threat.prior @ law
    law *= threat.prior[:, None]
    total = 0.0
    for fibre in threat.fibres:
        own = law if fibre.size == threat.m else law[fibre]
        if threat.is_exact:
            best = own.max(axis=0)
            if fibre.size < threat.m:
                best = np.maximum(best, 0)  # a guess outside the fibre is wrong for certain
        else:
            best = (threat.success[fibre].T.astype(float) @ own).max(axis=0)
        total += float(best.sum())
    return total


def _check(answer: LaplaceAnswer, threat: Threat) -> None:
    if answer.m != threat.m:
        raise InputError(f"the threat is on {threat.m} records and the answer has {answer.m}")


def _below(answer: LaplaceAnswer, edge: float) -> np.ndarray:
    """``Pr[noisy answer <= edge]`` for each record."""
    z = (edge - answer.values) / answer.scale
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z < 0, tail, 1 - tail)


def _above(answer: LaplaceAnswer, edge: float) -> np.ndarray:
    z = (edge - answer.values) / answer.scale
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z > 0, tail, 1 - tail)


def _weights(threat: Threat) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each label, what guess g gains from the density of record x, and what it hits."""
    for fibre in threat.fibres:
        hits = np.zeros((threat.m, threat.m))
        hits[:, fibre] = (threat.success[fibre] * threat.prior[fibre, None]).T
        yield hits - hits.sum(axis=1, keepdims=True) * threat.prior, hits


def _envelope_sum(
    answer: LaplaceAnswer,
    edges: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    counted: np.ndarray,
) -> tuple[float, float]:
    """Integral of the best guess by ``weights``, and of ``counted`` under the same guesses.

    Between two edges, at y scales from the first, guess g is worth ``down[g] e^-y + up[g]
    e^(y - width)``, that is ``down + up r`` with ``r = e^(2y - width)`` up to a positive factor.
    Between all pairs of edges at once, the walk goes from the best line to the next steeper one
    that it meets.
    """
    at_ends = weights @ atoms
    total = float(at_ends.max(axis=0).sum())
    count = float(np.einsum("gx,xg->", counted[at_ends.argmax(axis=0)], atoms))
    values, b = answer.values[:, None], answer.scale
    starts, widths = edges[:-1], np.diff(edges) / b
    left = values <= starts
    falling = np.where(left, np.exp(-np.abs(starts - values) / b), 0)
    rising = np.where(left, 0, np.exp(-np.abs(values - edges[1:]) / b))
    lines = np.stack([weights @ falling, weights @ rising])
    others = np.stack([counted @ falling, counted @ rising])
    height = lines[0] + lines[1] * np.exp(-widths)
    current = _steepest(lines[1], height == height.max(axis=0))
    place = np.zeros_like(widths)
    while widths.size:
        at = (slice(None), current, np.arange(widths.size))
        lead, drop = lines[1] - lines[at][1], lines[at][0] - lines[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = np.where(lead > 0, drop / lead, np.inf)
            nearest = cross.min(axis=0)
            turn = np.where(nearest > 0, (np.log(nearest) + widths) / 2, place)
        stop = np.clip(turn, place, widths)
        parts = np.stack(
            [np.exp(-place) - np.exp(-stop), np.exp(stop - widths) - np.exp(place - widths)]
        )
        total += float((lines[at] * parts).sum()) / 2
        count += float((others[at] * parts).sum()) / 2
        on = turn < widths
        current = _steepest(lines[1], (lead > 0) & (cross == nearest))[on]
        lines, others, widths, place = lines[..., on], others[..., on], widths[on], stop[on]
    return total, count


def _steepest(slopes: np.ndarray, among: np.ndarray) -> np.ndarray:
    """In each column the guess of the largest slope among those marked."""
    return np.where(among, slopes, -np.inf).argmax(axis=0)
