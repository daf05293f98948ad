"""What a sum of epsilons leaks by the rule of ``calibrate``: under the model and beside it.

``calibrate`` finds an epsilon for a target; whoever adds epsilons up needs the way back, over the
same models, at the same confidence, by the same bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from corrdp.bounds.leakage import leakage
from corrdp.calibration.adequate import (
    PRIVATE,
    Confidence,
    accepted,
    check_accept,
    check_forgetting,
    how_priced,
    level_of,
    unpriced,
)
from corrdp.errors import NotApplicableError
from corrdp.models.base import Model
from corrdp.models.chains.alternatives import alternatives
from corrdp.models.chains.chain import Chain
from corrdp.results import Leakage
from corrdp.results.adequacy import Adequacy


@dataclass(frozen=True, eq=False)
class Promise:
    """A model, and the richer ones that a promise from it is kept under.

    Made by :func:`promise_on`.

    Attributes
    ----------
    model : Model
    confidence : float or None
        Joint level of the region that stands for a fitted model; None for its fitted numbers.
    beside : tuple of (Model, str, float or None)
        The richer models, each with its bound and its confidence.
    words : tuple of str
        What of this a reader must know.
    """

    model: Model
    confidence: float | None
    beside: tuple[tuple[Model, str, float | None], ...]
    words: tuple[str, ...]

    def leakage(self, epsilon: Any = None, *, mechanism: Any = None) -> Leakage:
        """The largest leakage over all of them, of a guarantee or of a mechanism.

        It is about the model under which it is largest, and assumes the words of the promise.

        Examples
        --------
        >>> from corrdp.models.chains.markov import MarkovChain
        >>> fit = MarkovChain.fit([0, 0, 1, 1, 0, 1, 1, 1] * 40)
        >>> kept = promise_on(fit, None)
        >>> len(kept.beside), kept.leakage(.1).value > leakage(fit, .1).value
        (2, True)
        """
        asked = ((self.model, "best", self.confidence), *self.beside)
        worst = max(
            (
                leakage(model, epsilon, mechanism=mechanism, method=method, confidence=confidence)
                for model, method, confidence in asked
            ),
            key=float,
        )
        proof = worst.certificate
        said = tuple(dict.fromkeys((*self.words, *self.model.assumptions, *proof.assumptions)))
        # attained under one of several models: a bound for the records, whichever they follow
        kind = "upper bound" if self.beside else worst.kind
        return replace(worst, kind=kind, certificate=replace(proof, assumptions=said))


def promise_on(model: Model, confidence: Confidence, accept: str | None = None) -> Promise:
    """The rule of :func:`corrdp.calibrate` for a model.

    Parameters
    ----------
    model : Model
    confidence, accept
        As in :func:`corrdp.calibrate`.

    Raises
    ------
    NotApplicableError
        When the data of a fit leave open whether the chain forgets.
    RefusedError
        When an alternative has no price and no reason is given to accept that.
    """
    check_accept(accept)
    level = level_of(model, confidence)
    check_forgetting(model, confidence)
    if model.fitted is None:
        return Promise(model, level, (), ())
    words = [
        "the fitted numbers of the model are taken as exact, at no confidence level"
        if level is None
        else f"leakage is the largest over the joint {level:g} confidence region of the fit"
    ]
    if not isinstance(model, Chain):
        return Promise(model, level, (), tuple(words))
    if model.fitted.private_epsilon is not None:
        return Promise(model, level, (), (*words, PRIVATE))
    beside: list[tuple[Model, str, float | None]] = []
    without = []
    for other in alternatives(model):
        try:
            sure, methods = how_priced(other, level)
        except NotApplicableError as error:
            without.append(unpriced(other, str(error)))
            continue
        beside += [(each, name, sure) for each, name in zip(other.models, methods, strict=True)]
        by = "its fitted numbers" if sure is None else f"its {level:g} region"
        words.append(f"leakage is the largest under {other.name} too, by {by}")
    # at no level in particular: an alternative without a price has none at any
    judged = accepted(Adequacy(math.inf, math.inf, tuple(without)), model, accept)
    return Promise(model, level, tuple(beside), (*words, *judged.lines))
