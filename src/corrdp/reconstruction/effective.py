"""The channel from one record to the output on the whole data set, exactly or by sampling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_whole
from corrdp.errors import InputError, NotApplicableError
from corrdp.mechanisms.laplace import DiscreteLaplace, Laplace
from corrdp.models.base import Model
from corrdp.queries import Query
from corrdp.reconstruction.exact import INDEPENDENT, REFERENCE, best_guesses, right
from corrdp.reconstruction.results import Rad
from corrdp.reconstruction.threat import Threat
from corrdp.results import Certificate

_CELLS = 2**22  # outcomes times outputs
_EDGES = 2**20  # pairs of guesses times pieces of the line
_WRITERS = {
    "markov": "table_of",
    "window": "window_table",
    "tree": "tree_table",
    "field": "field_table",
}


@dataclass(frozen=True, eq=False)
class Records:
    """A joint law written out: state numbers of every possible outcome, and its probability."""

    rows: np.ndarray
    weights: np.ndarray
    states: tuple[Any, ...]

    def given(self, known: Mapping[int, Any]) -> Records:
        """The law given some records."""
        kept = np.ones(len(self.rows), dtype=bool)
        for record, value in known.items():
            kept &= self.rows[:, record] == self.states.index(value)
        total = float(self.weights[kept].sum())
        if total == 0.0:
            raise InputError(f"the known values {dict(known)!r} have probability 0")
        return Records(self.rows[kept], self.weights[kept] / total, self.states)


def records_of(model: Model) -> Records | None:
    """The joint law of a small model in the order of its states; None where it is too large.

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> len(records_of(MarkovChain([[.9, .1], [.2, .8]], length=3)).rows)
    8
    """
    from corrdp.bounds import exact

    table: Any = model
    if model.kind != "table":
        if model.kind not in _WRITERS:
            return None
        try:
            table = getattr(exact, _WRITERS[model.kind])(model)
        except NotApplicableError:
            return None
    assert model.states is not None
    number = {state: k for k, state in enumerate(model.states)}
    rows = np.array([[number[x] for x in values] for values in table.law])
    return Records(rows, np.array(list(table.law.values())), tuple(model.states))


def effective(
    mechanism: Any, records: Records, record: int, known: Mapping[int, Any], threat: Threat
) -> tuple[np.ndarray, np.ndarray | None]:
    r"""The law of the output given one record and the known ones, in finitely many cells.

    .. math:: p(\theta \mid x_i, x_K) = \sum_{x_U} \Pr[x_U \mid x_i, x_K]\, p(\theta \mid x)

    where U are the unknown records. Of a continuous answer the cells are those in which the best
    guess does not change, so that nothing is lost.

    Parameters
    ----------
    mechanism : response with ``channel()`` or its channel, Laplace or DiscreteLaplace
    records : Records
    record : int
    known : mapping of int to state
    threat : Threat

    Returns
    -------
    channel : (states, outputs) array
        Rows of values that are impossible given the known records are those of no information.
    edges : array or None
        Where the answer is a number: output k lies between edges k - 1 and k.

    Raises
    ------
    NotApplicableError
        When there are too many outputs, or no exact channel for the mechanism.
    """
    kept = records.given(known)
    prior = np.bincount(kept.rows[:, record], kept.weights, minlength=len(kept.states))
    if isinstance(mechanism, Laplace | DiscreteLaplace):
        law, edges = _query_channel(mechanism, kept, record, threat)
    else:
        law, edges = _local_channel(mechanism, kept, record), None
    law[prior == 0.0] = prior @ law
    return law, edges


def _mixed(kept: Records, record: int, columns: np.ndarray, count: int) -> np.ndarray:
    """Pr[column | record] when outcome j falls into column columns[j]."""
    s = len(kept.states)
    joint = np.bincount(kept.rows[:, record] * count + columns, kept.weights, s * count)
    joint = joint.reshape(s, count)
    total = joint.sum(axis=1, keepdims=True)
    return joint / np.where(total > 0, total, 1.0)


def _local_channel(mechanism: Any, kept: Records, record: int) -> np.ndarray:
    """Each record reported by itself; outputs are sequences of reports, the last one fastest."""
    single = mechanism.channel() if hasattr(mechanism, "channel") else mechanism
    try:
        channel = np.asarray(single, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise NotApplicableError(f"no exact channel is worked out for {mechanism!r}") from None
    if channel.ndim != 2:
        raise NotApplicableError(f"no exact channel is worked out for {mechanism!r}")
    if len(channel) != len(kept.states):
        raise InputError(
            f"the mechanism takes {len(channel)} values and the model has {len(kept.states)} states"
        )
    n = kept.rows.shape[1]
    if len(kept.rows) * float(channel.shape[1]) ** n > _CELLS:
        raise NotApplicableError("there are too many outputs to enumerate")
    law = np.ones((len(kept.rows), 1))
    for t in range(n):
        law = (law[:, :, None] * channel[kept.rows[:, t]][:, None, :]).reshape(len(law), -1)
    return _mixed(kept, record, np.arange(len(law)), len(law)) @ law


def _query_channel(
    mechanism: Laplace | DiscreteLaplace, kept: Records, record: int, threat: Threat
) -> tuple[np.ndarray, np.ndarray]:
    query: Query = mechanism.query
    if query.cells > 1:
        raise NotApplicableError("the exact channel is worked out for one number")
    values = [[kept.states[x] for x in row] for row in kept.rows]
    answers = np.array([query.on_grid(row)[0] for row in values])
    points, place = np.unique(answers, return_inverse=True)
    mixture = _mixed(kept, record, place, len(points))
    scale = mechanism.scale / query.grid  # in steps of the grid
    if isinstance(mechanism, DiscreteLaplace):
        edges = _grid_edges(points)
        noise = _discrete_noise(points, edges, scale)
    else:
        edges = _line_edges(points, mixture, scale, threat)
        if len(points) * len(edges) > _CELLS:
            raise NotApplicableError("there are too many answers to enumerate")
        noise = _noise(points, edges, scale)
    return mixture @ noise, edges * query.grid


def _grid_edges(points: np.ndarray) -> np.ndarray:
    """Every answer between the extreme ones is a cell; beyond them nothing new is said."""
    if points[-1] - points[0] > _EDGES // max(len(points), 1):
        raise NotApplicableError("the answers lie too many steps of the grid apart")
    return np.arange(points[0], points[-1]) + 0.5


def _discrete_noise(points: np.ndarray, edges: np.ndarray, scale: float) -> np.ndarray:
    """Pr[cell | true answer] for discrete Laplace noise."""
    decay = np.exp(-1.0 / scale)

    def above(k: np.ndarray) -> np.ndarray:
        """Pr[Z >= k] for k >= 1."""
        return decay**k / (1.0 + decay)

    steps = np.ceil(edges[None, :] - points[:, None])
    # the part of each cell on its own side of the true answer, so that tails are not differences
    upper = np.where(steps >= 1, above(np.maximum(steps, 1)), np.nan)
    lower = np.where(steps <= 0, above(np.maximum(1 - steps, 1)), np.nan)
    return _between(lower, upper)


def _noise(points: np.ndarray, edges: np.ndarray, scale: float) -> np.ndarray:
    """Pr[cell | true answer] for continuous Laplace noise; every answer is an edge."""
    apart = (edges[None, :] - points[:, None]) / scale
    upper = np.where(apart >= 0, np.exp(-np.maximum(apart, 0)) / 2, np.nan)
    lower = np.where(apart < 0, np.exp(np.minimum(apart, 0)) / 2, np.nan)
    return _between(lower, upper)


def _between(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Probabilities of the cells from those below each edge (left) or above it (right)."""
    rows = len(lower)
    below = np.c_[np.zeros(rows), lower, np.full(rows, np.nan)]
    over = np.c_[np.full(rows, np.nan), upper, np.zeros(rows)]
    left, right = np.diff(below, axis=1), -np.diff(over, axis=1)
    # the cell with the true answer in it is what the two sides leave
    across = 1.0 - np.nan_to_num(below[:, :-1]) - np.nan_to_num(over[:, 1:])
    return np.where(~np.isnan(left), left, np.where(~np.isnan(right), right, across)).clip(0.0)


def _line_edges(
    points: np.ndarray, mixture: np.ndarray, scale: float, threat: Threat
) -> np.ndarray:
    r"""Where the best guess may change: the answers, and where two guesses gain the same.

    Between neighbouring answers s < t every gain is A e^{-(y - s)/b} + B e^{-(t - y)/b}, so two of
    them meet once at most, at y = (s + t)/2 + (b/2) ln(-A/B) for the differences A, B.
    """
    gains = threat.prior[:, None] * (mixture - threat.prior @ mixture)
    edges = [points.astype(float)]
    for fibre in threat.fibres:
        patterns = np.unique(threat.success[fibre].T, axis=0).astype(float)
        pairs = len(patterns) * (len(patterns) - 1) // 2
        if pairs * len(points) > _EDGES:
            raise NotApplicableError("there are too many pairs of guesses to compare")
        weights = patterns @ gains[fibre]
        first, second = np.triu_indices(len(patterns), 1)
        apart = weights[first] - weights[second]
        edges.append(_meetings(points, apart, scale))
    return np.unique(np.concatenate(edges))


def _meetings(points: np.ndarray, apart: np.ndarray, scale: float) -> np.ndarray:
    if len(points) < 2:
        return np.empty(0)
    decay = np.exp(-np.diff(points) / scale)
    left, right = np.empty_like(apart), np.empty_like(apart)
    left[:, 0], right[:, -1] = apart[:, 0], apart[:, -1]
    for j in range(1, len(points)):
        left[:, j] = left[:, j - 1] * decay[j - 1] + apart[:, j]
        right[:, -1 - j] = right[:, -j] * decay[-j] + apart[:, -1 - j]
    a, b = left[:, :-1], right[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (points[:-1] + points[1:]) / 2 + scale / 2 * np.log(-a / b)
    inside = (meet > points[:-1]) & (meet < points[1:])
    return meet[inside]


_BATCH = 2**20  # densities held at once


def sampled_rad(mechanism: Any, threat: Threat, draws: int, rng: np.random.Generator | None) -> Rad:
    r"""Estimate of the largest reconstruction advantage, with its standard error.

    .. math:: \mathrm{RAD} = E_\theta \Big[\sum_z \max_g
              \sum_{x : a(x) = z,\ \ell(x, g) \le \eta} \pi_x
              \Big(\frac{p(\theta \mid x)}{p(\theta)} - 1\Big)\Big]

    where theta is drawn from p(theta): a record from the prior, then the output of the mechanism.
    The sum over records is exact, so that the estimate has no bias for the prior given. For a
    continuous prior give the uniform law on records drawn from it; the maximum over an inner
    sample is then biased upwards, less the larger it is.

    Parameters
    ----------
    mechanism : object with ``sample(x, rng)`` and ``logpmf(y, x)``
        For record numbers x.
    threat : Threat
    draws : int
    rng : numpy.random.Generator

    References
    ----------
    Guerra-Balboa, dissertation, theorem 5.3.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> estimate = sampled_rad(GRR(2, 1.0), Threat([.5, .5]), 1000, np.random.default_rng(0))
    >>> round(estimate.value, 6), estimate.error < 1e-9
    (0.231059, True)
    """
    draws = check_whole("draws", draws, 2)
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            "this mechanism is sampled: give rng=numpy.random.default_rng(...), and draws= if "
            "10,000 outputs are too few"
        )
    support, prior = threat.support, threat.prior
    step = max(1, _BATCH // threat.m)
    parts = []
    for start in range(0, draws, step):
        count = min(step, draws - start)
        records = rng.choice(threat.m, size=count, p=prior)
        logs = _log_densities(mechanism, records, support, rng)
        with np.errstate(divide="ignore"):
            joint = logs + np.log(prior[support])[:, None]
        top = joint.max(axis=0)
        if not np.isfinite(top).all():
            raise InputError("logpmf says that an output which was drawn is impossible")
        posterior = np.zeros((threat.m, count))
        posterior[support] = np.exp(joint - top)
        posterior /= posterior.sum(axis=0)
        parts.append(_scores(posterior, threat))
    success, blind = np.concatenate(parts, axis=1)
    gains = success - blind
    certificate = Certificate("optimal attack", REFERENCE, (INDEPENDENT,))
    return Rad(
        float(gains.mean()),
        "estimate",
        certificate,
        threat.describe(),
        threat.ceiling,
        float(success.mean()),
        float(blind.mean()),
        error=float(gains.std(ddof=1) / math.sqrt(len(gains))),
    )


def _log_densities(
    mechanism: Any, records: np.ndarray, support: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """An output for each record drawn, and its log density for each possible record."""
    if hasattr(mechanism, "log_law"):  # local protocols take all reports at once
        reports = mechanism.sample(records, rng)
        return np.array([mechanism.log_law(reports, np.full(len(records), x)) for x in support])
    try:
        outputs = [mechanism.sample(int(x), rng) for x in records]
    except TypeError as error:
        raise InputError(
            f"{type(mechanism).__name__}.sample does not take the number of a record ({error}); a "
            "query needs the other records as well: give model="
        ) from None
    return np.array([[mechanism.logpmf(y, int(x)) for y in outputs] for x in support])


def _scores(posterior: np.ndarray, threat: Threat) -> np.ndarray:
    """Success of the best attack at each output, and its success on another record."""
    gains = posterior - threat.prior[:, None]
    success = blind = np.zeros(posterior.shape[1])
    for fibre, chosen in zip(threat.fibres, best_guesses(gains, threat), strict=True):
        hit = right(threat, fibre, chosen)
        success = success + (posterior[fibre] * hit).sum(axis=0)
        blind = blind + (threat.prior[fibre, None] * hit).sum(axis=0)
    return np.array([success, blind])
