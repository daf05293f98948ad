"""Whom an audit on dependent records plays: witnesses of the leakage, and some who know more."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.bounds.leakage import leakage
from corrdp.errors import CorrdpError, InputError
from corrdp.mechanisms.base import FiniteMechanism
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.results import Witness

WINDOW = 64  # reports looked at on either side of the target; looking at fewer is still an attack
_HALVES = (1, 3, 5, 8)  # records that an adversary leaves unknown on either side of the target


@dataclass(frozen=True)
class Attacked:
    """Whom the audit plays: a target, two values of it, and the records known beside it."""

    target: int
    values: tuple[Any, Any]
    known: Mapping[int, Any]

    def __str__(self) -> str:
        near = sorted(self.known, key=lambda k: abs(k - self.target))[:2]
        knows = ", ".join(f"record {k} is {self.known[k]!r}" for k in sorted(near))
        more = len(self.known) - len(near)
        knows += f" and {more:,} more" if more else ""
        told = f"tells {self.values[0]!r} from {self.values[1]!r} in record {self.target}"
        return f"an adversary who {told}, knowing " + (knows or "no other record")

    def given(self, value: Any) -> dict[int, Any]:
        """What is fixed when the target has this value."""
        return {**self.known, self.target: value}


def adversaries(
    mechanism: Any, claim: float, model: Model, rng: np.random.Generator
) -> list[Attacked]:
    """The witness of the leakage, one who knows nothing, and some who know all but a window."""
    if isinstance(model, GaussianRecords):
        return [_gaussian_adversary(model)]
    witness = _witness(mechanism, claim, model)
    n = model.length
    if n is None:
        if not isinstance(mechanism, FiniteMechanism):
            raise InputError("the model has no length: give one, so that records can be drawn")
        n = 2 * WINDOW + 1
    assert model.states is not None
    target = n // 2 if witness is None or witness.target is None else witness.target
    values = None if witness is None else witness.values
    pair = (model.states[0], model.states[1]) if values is None else values
    known = {} if witness is None else {target + k: v for k, v in witness.known}
    known = {k: v for k, v in known.items() if 0 <= k < n}
    chosen = [known, {}] if known else [{}]
    if isinstance(model, MarkovChain) and not isinstance(mechanism, FiniteMechanism):
        chosen += _windows(model, target, pair, known, rng)
    return [Attacked(target, pair, given) for given in chosen]


def _witness(mechanism: Any, claim: float, model: Model) -> Witness | None:
    """The adversary of the mechanism itself where that is known, else of any with that level."""
    if hasattr(mechanism, "guarantee"):
        with suppress(CorrdpError):
            return leakage(model, mechanism=mechanism).witness
    return leakage(model, epsilon=claim).witness


def _windows(
    model: MarkovChain,
    target: int,
    pair: tuple[Any, Any],
    known: Mapping[int, Any],
    rng: np.random.Generator,
) -> list[dict[int, Any]]:
    """All records but some around the target: what is far from it would only hide an answer.

    The records beyond the ends of a window are those of one draw, with either value of the pair at
    its ends.
    """
    assert model.length is not None
    asked = [dict(known)] if known else []
    for half in _HALVES:
        ends = [k for k in (target - half, target + half) if 0 <= k < model.length]
        asked += [dict.fromkeys(ends, value) for value in pair if ends]
    found = []
    for at_ends in asked:
        first = max((k for k in at_ends if k < target), default=-1)
        last = min((k for k in at_ends if k > target), default=model.length)
        laws = [{**at_ends, target: value} for value in pair]
        try:
            drawn = [model.condition(given).sample(rng) for given in laws]
        except InputError:
            continue  # these ends are impossible with one of the values
        outside = [k for k in range(model.length) if not first < k < last]
        found.append({k: drawn[0][k] for k in outside})
    return found


def _gaussian_adversary(model: GaussianRecords) -> Attacked:
    """The ends of the secret range, for the record that moves the others most."""
    if model.secret_range is None:
        raise InputError("Gaussian records need secret_range=: the values to tell apart")
    cov = model.cov
    moved = np.abs(cov).sum(axis=1) / np.diag(cov)
    low, high = model.secret_range
    return Attacked(int(np.argmax(moved)), (low, high), {})
