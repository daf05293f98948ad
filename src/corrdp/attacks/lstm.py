"""The attacker who learns from examples instead of knowing the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from corrdp.attacks.base import MISSING, Attack
from corrdp.errors import DataError, InputError
from corrdp.models.chains.markov import MarkovChain

_EMBEDDING = 4  # as in the source
_BATCH = 256
_RATE = 0.01


def _torch() -> Any:
    try:
        return import_module("torch")
    except ImportError:
        raise InputError(
            "the LSTM attacker needs PyTorch: pip install 'corrdp[attacks]' (a CPU build is "
            "enough and far smaller); Viterbi and ForwardBackward need nothing more"
        ) from None


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
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name} must be a whole number >= {least}, got {value!r}")
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
                target = torch.as_tensor(labels[chosen], dtype=torch.float32)
                optimizer.zero_grad()
                loss = loss_of(_logits(torch, network, windows[chosen]), target)
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
