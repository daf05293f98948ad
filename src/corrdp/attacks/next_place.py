"""Where somebody goes next, lives and works: by counting what was seen, or by learning."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._checks import check_whole
from corrdp._lazy import need
from corrdp.attacks.base import MISSING, Attack
from corrdp.errors import DataError, InputError
from corrdp.models.chains.markov import MarkovChain

if TYPE_CHECKING:
    from corrdp.trajectories.data.cells import Grid

NOWHERE = -1  # no place, no guess


@dataclass(frozen=True, eq=False)
class MovesMade:
    """Every change of place: from where to where, and where from before that.

    Attributes
    ----------
    before, here, after : (m,) arrays of int
        ``before`` is -1 at the beginning of a path.
    """

    before: np.ndarray
    here: np.ndarray
    after: np.ndarray

    def __len__(self) -> int:
        return len(self.here)


def moves_made(places: np.ndarray, starts: np.ndarray) -> MovesMade:
    """The changes of place in sequences; -1 is a gap, across which nothing is counted.

    Parameters
    ----------
    places : (n,) array of int
    starts : (k + 1,) array of int

    Examples
    --------
    >>> made = moves_made(np.array([4, 4, 2, 2, 7, -1, 3, 1]), np.array([0, 8]))
    >>> made.before.tolist(), made.here.tolist(), made.after.tolist()
    ([-1, 4, -1], [4, 2, 3], [2, 7, 1])
    """
    new = np.diff(places, prepend=NOWHERE - 1) != 0
    new[starts[:-1]] = True
    codes = places[new]
    path = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[new]
    goes_on = (path[1:] == path[:-1]) & (codes[1:] != NOWHERE) & (codes[:-1] != NOWHERE)
    at = np.flatnonzero(goes_on)
    came = (at > 0) & goes_on[np.maximum(at - 1, 0)]
    before = np.where(came, codes[np.maximum(at - 1, 0)], NOWHERE)
    return MovesMade(before, codes[at], codes[at + 1])


def likeliest_next(learned: MovesMade, here: np.ndarray, size: int) -> np.ndarray:
    r"""The likeliest next place by the fitted chain, -1 where the chain never left this place.

    .. math:: \arg\max_y \hat P(x, y) = \arg\max_y n_{xy}

    where :math:`n_{xy}` counts moves from x to y in what was learned from; of several the first
    in the list of places. O(m log m), whatever the number of places.

    Parameters
    ----------
    learned : MovesMade
    here : array of int
        Places to go on from.
    size : int
        Number of places.

    Examples
    --------
    >>> learned = MovesMade(np.full(3, -1), np.array([0, 0, 0]), np.array([2, 1, 2]))
    >>> likeliest_next(learned, np.array([0, 1]), 3).tolist()
    [2, -1]
    """
    pairs, often = np.unique(learned.here * size + learned.after, return_counts=True)
    source, after = np.divmod(pairs, size)
    order = np.lexsort((after, -often, source))
    source, after = source[order], after[order]
    top = np.diff(source, prepend=NOWHERE) != 0
    best = np.full(size, NOWHERE)
    best[source[top]] = after[top]
    return np.asarray(best[here])


def blind_next(
    made: MovesMade, size: int, grid: Grid | None, rng: np.random.Generator
) -> np.ndarray:
    """Next places guessed by one who never saw a release: straight on, or else at random.

    On a grid somebody who went from one cell to the next is taken to go on in that direction;
    where that is unknown or leads out of the grid, one of the cells around is drawn. Among
    labels, any other one is drawn.

    Parameters
    ----------
    made : MovesMade
        Of which ``before`` and ``here`` are looked at.
    size : int
    grid : Grid, optional
    rng : numpy.random.Generator

    Examples
    --------
    >>> from corrdp.trajectories.data.cells import Grid
    >>> made = MovesMade(np.array([3]), np.array([4]), np.array([5]))
    >>> blind_next(made, 9, Grid(0, 0, 3, 3, 3, 3), np.random.default_rng(1)).tolist()
    [5]
    """
    if size == 1:
        return np.full(len(made), NOWHERE)
    if grid is None:
        return (made.here + rng.integers(1, size, len(made))) % size
    row, column = np.divmod(made.here, grid.columns)
    down, right = row - made.before // grid.columns, column - made.before % grid.columns
    ahead = (row + down, column + right)
    straight = (made.before != NOWHERE) & _inside(grid, *ahead)
    # one of the eight around that lies in the grid, each with equal probability
    steps = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)])
    rows, columns = row[:, None] + steps[:, 0], column[:, None] + steps[:, 1]
    lots = np.where(_inside(grid, rows, columns), rng.random(rows.shape), -1.0)
    pick = lots.argmax(axis=1)[:, None]
    around = [np.take_along_axis(part, pick, axis=1)[:, 0] for part in (rows, columns)]
    row, column = (np.where(straight, a, b) for a, b in zip(ahead, around, strict=True))
    return np.asarray(row * grid.columns + column)


def _inside(grid: Grid, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    return (row >= 0) & (row < grid.rows) & (column >= 0) & (column < grid.columns)


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


_EMBEDDING = 4  # as in the source
_BATCH = 256
_RATE = 0.01


def _torch() -> Any:
    need(
        "attacks",
        " (a CPU build of PyTorch is enough and far smaller); Viterbi and ForwardBackward need "
        "nothing more",
    )
    return import_module("torch")


@dataclass(frozen=True)
class LSTM(Attack):
    """Learn to guess the middle record from a window of reports.

    Embedding of dimension 4, LSTM, linear layer and sigmoid, trained on (sanitized, truth) by
    cross-validation: time is cut into ``folds`` stretches, and the records of each are guessed by a
    network that never saw a window touching it. The model is used to read the states only. Needs
    ``truth`` (the adversary's training data), two states, and PyTorch.

    Parameters
    ----------
    mechanism : BinaryResponse or GRR
    rng : numpy.random.Generator
        Initial weights and the order of training.
    window : int
        Reports seen at once, an odd number.
    folds : int
    hidden : int
        Size of the LSTM's state.
    epochs : int
        Passes over the training windows.

    References
    ----------
    Chakrabarti et al., "Optimal local Bayesian differential privacy over Markov chains" (2022),
    section 4.

    Examples
    --------
    >>> from corrdp.mechanisms.response import BinaryResponse
    >>> attack = LSTM(BinaryResponse(.25), np.random.default_rng(0), window=11)
    >>> attack.window, attack.folds
    (11, 10)
    """

    rng: np.random.Generator = field(compare=False)
    window: int = 21
    folds: int = 10
    hidden: int = 16
    epochs: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.rng, np.random.Generator):
            raise InputError(f"rng must be a numpy.random.Generator, got {self.rng!r}")
        for name, least in (("window", 1), ("folds", 2), ("hidden", 1), ("epochs", 1)):
            object.__setattr__(self, name, check_whole(name, getattr(self, name), least))
        if self.window % 2 == 0:
            raise InputError(f"window must be odd, so that it has a middle; got {self.window}")

    def _guess(
        self,
        chain: MarkovChain,
        channel: np.ndarray,
        reports: np.ndarray,
        records: np.ndarray | None,
    ) -> np.ndarray:
        if len(channel) != 2:
            raise InputError(
                f"the LSTM attacker ends in one sigmoid and tells two states apart, not "
                f"{len(channel)}; use ForwardBackward"
            )
        if records is None:
            raise InputError("the LSTM attacker learns from examples: give run(..., truth=)")
        torch = _torch()
        reach = self.window // 2
        # a third symbol stands for "not observed" and for what lies beyond the ends
        symbols = np.where(reports == MISSING, 2, reports)
        padded = np.pad(symbols, reach, constant_values=2)
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.window)
        place = np.arange(len(reports))
        guesses = np.empty(len(reports), dtype=np.int64)
        for fold in np.array_split(place, self.folds):
            if not fold.size:
                raise DataError(f"{len(reports)} records cannot be cut into {self.folds} folds")
            apart = (place < fold[0] - 2 * reach) | (place > fold[-1] + 2 * reach)
            training = place[apart & (records != MISSING)]
            if not training.size:
                raise DataError(
                    f"no window of {self.window} reports stays clear of a fold; use a longer "
                    "series, more folds or a smaller window"
                )
            network = self._train(torch, windows[training], records[training])
            guesses[fold] = self._predict(torch, network, windows[fold])
        return guesses

    def _train(self, torch: Any, windows: np.ndarray, labels: np.ndarray) -> tuple[Any, Any, Any]:
        # layers draw their weights from torch's global generator: seed it, then put it back
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(self.rng.integers(2**63)))
            embedding = torch.nn.Embedding(3, _EMBEDDING)
            lstm = torch.nn.LSTM(_EMBEDDING, self.hidden, batch_first=True)
            linear = torch.nn.Linear(self.hidden, 1)
        network = (embedding, lstm, linear)
        weights = [weight for layer in network for weight in layer.parameters()]
        optimizer = torch.optim.Adam(weights, lr=_RATE)
        loss_of = torch.nn.BCEWithLogitsLoss()  # the sigmoid and its loss in one stable step
        for _ in range(self.epochs):
            order = self.rng.permutation(len(windows))
            for first in range(0, len(order), _BATCH):
                chosen = order[first : first + _BATCH]
                right = torch.as_tensor(labels[chosen], dtype=torch.float32)
                optimizer.zero_grad()
                loss = loss_of(_logits(torch, network, windows[chosen]), right)
                loss.backward()
                optimizer.step()
        return network

    def _predict(self, torch: Any, network: tuple[Any, Any, Any], windows: np.ndarray) -> Any:
        with torch.no_grad():
            parts = [
                (_logits(torch, network, windows[first : first + _BATCH]) > 0).numpy()
                for first in range(0, len(windows), _BATCH)
            ]
        return np.concatenate(parts).astype(np.int64)


def _logits(torch: Any, network: tuple[Any, Any, Any], windows: np.ndarray) -> Any:
    """Log odds that the middle record is 1, from the LSTM's last output."""
    embedding, lstm, linear = network
    outputs, _ = lstm(embedding(torch.as_tensor(windows.astype(np.int64))))
    return linear(outputs[:, -1]).squeeze(-1)
