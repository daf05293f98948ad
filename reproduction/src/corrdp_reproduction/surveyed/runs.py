"""Each surveyed mechanism on two data sets that its claim must not tell apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.auditing.audit import audit
from corrdp.auditing.samples import Samples
from corrdp.guarantees import Approximate, Pure
from corrdp.linting.rules.sampled import lint_sampler
from corrdp_reproduction.surveyed import clustering, counting, perturbing
from corrdp_reproduction.surveyed.city import TOY, City, Data

RUNS = 2_000  # on each data set
CONFIDENCE = 0.999
Mechanism = Callable[[Data, np.random.Generator, City], Any]
See = Callable[[Any], Any]

OFTEN: Data = ((0, 1, 3), (0, 1, 3), (0, 1, 3))
ALONE: Data = (*OFTEN, (2, 3))  # one more, whose first place nobody else was at
INSIDE: Data = (*OFTEN, (1, 0))  # one more, all of it in the sensitive zone
STEP, OTHER_STEP = ((0, 1, 3),), ((0, 2, 3),)  # one point differs
FAR, OTHER_FAR = ((0, 0, 0),), ((3, 3, 3),)  # any two users, locally


def _itself(output: Any) -> Any:
    return output


def _starts(place: int) -> See:
    """How many published trajectories begin there, up to a few."""
    return lambda output: min(9, sum(path[:1] == (place,) for path in output))


@dataclass(frozen=True)
class Toy:
    """A mechanism that runs, what it claims, and two data sets at distance 1.

    Parameters
    ----------
    key : str
        Of its description in the library's registry.
    run : callable
        ``(data, rng, city) -> output``.
    claim : guarantee
    pair : pair of data sets
    refuted : bool
        Whether the survey's verdict says that the claim breaks there.
    sees : callable
        What the audit looks at of an output: few values, for much is needed to know rare ones.
    """

    key: str
    run: Mechanism
    claim: Pure | Approximate
    pair: tuple[Data, Data] = (ALONE, OFTEN)
    refuted: bool = False
    sees: See = _itself


def _broken(key: str, run: Mechanism, pair: tuple[Data, Data] = (ALONE, OFTEN)) -> Toy:
    return Toy(key, run, Pure(1.0), pair, True)


_KEPT = 1 - (1 - perturbing.RATE) ** perturbing.moved_by(STEP[0], OTHER_STEP[0])
TOYS = (
    Toy("chen-2012", counting.ngram_tree, Pure(1.0), sees=_starts(2)),
    Toy("chen-2011", counting.prefix_tree, Pure(1.0), sees=_starts(2)),
    Toy("wang-2020", counting.zone_tree, Pure(1.0), (INSIDE, OFTEN),
        sees=lambda output: _starts(1)(output[0])),
    _broken("wang-2020", counting.zone_tree),
    Toy("deldar-2021", counting.careful_tree, Pure(1.0), sees=lambda output: min(9, output[2])),
    _broken("zhao-2020-ntpt", counting.segment_tree),
    _broken("zhao-2019", counting.similar_tree),
    _broken("yuan-2021", counting.box_tree),
    _broken("zhao-2020-risk", counting.risky_counts),
    _broken("cai-2022", counting.guessed_tree),
    _broken("hua-2015", clustering.exponential_clusters),
    _broken("chen-2020-rnn", clustering.predicted_clusters),
    _broken("li-2017", clustering.bounded_clusters),
    _broken("han-2018", clustering.curve_clusters),
    _broken("zhao-2020-clustering", clustering.noisy_centroids, (((0,), (1,)), ((0,),))),
    Toy("shao-2013", perturbing.sample_then_interpolate, Approximate(0.0, perturbing.RATE),
        (STEP, OTHER_STEP)),
    Toy("shao-2013-ifs", perturbing.interpolate_then_sample, Approximate(0.0, _KEPT),
        (STEP, OTHER_STEP)),
    Toy("liu-2021", perturbing.vehicles, Pure(1.0), sees=lambda output: sum(output[1])),
    Toy("cunningham-2021", perturbing.local_ngrams, Pure(perturbing.LOCAL), (FAR, OTHER_FAR)),
)  # fmt: skip
"""In the order of their references; [110] inside its zones, and with a path outside of them."""


@dataclass(frozen=True)
class Judged:
    """What runs say about a claim.

    Parameters
    ----------
    toy : Toy
        With the pair of data sets: the witness, where it is refuted.
    rules : tuple of str
        Of the linter, that runs broke.
    epsilon : float
        A lower limit of the epsilon that tells the two apart, at the claim's delta.
    violated : bool
        By the audit.
    said : str
        The linter's first finding with its probabilities, or what the audit saw.
    """

    toy: Toy
    rules: tuple[str, ...]
    epsilon: float
    violated: bool
    said: str

    @property
    def refuted(self) -> bool:
        """Whether the linter or the audit refutes the claim."""
        return bool(self.rules) or self.violated


def judged(toy: Toy, rng: np.random.Generator, runs: int = RUNS) -> Judged:
    """Let the linter and the audit look at runs of a mechanism on its pair.

    Examples
    --------
    >>> (risky,) = (toy for toy in TOYS if toy.key == "zhao-2020-risk")
    >>> found = judged(risky, np.random.default_rng(1), 500)
    >>> found.refuted, found.rules
    (True, ('L-01', 'L-02'))
    """
    outputs = [[toy.run(data, rng, TOY) for _ in range(runs)] for data in toy.pair]
    again = {data: iter(part) for data, part in zip(toy.pair, outputs, strict=True)}
    found = lint_sampler(
        lambda data, _: next(again[data]),
        *toy.pair,
        toy.claim,
        rng=rng,
        runs=runs,
        confidence=CONFIDENCE,
    )
    # the audit has a half of its own to choose events from, so that the order must not tell
    which = rng.permutation(np.repeat([0, 1], runs))
    told = [iter(part) for part in outputs]
    seen = [repr(toy.sees(next(told[k]))) for k in which]
    audited = audit(Samples((0, 1), which, np.array(seen, dtype=object)), toy.claim,
                    confidence=CONFIDENCE, rng=rng)  # fmt: skip
    low = audited.interval[0]
    said = str(found[0]) if len(found) else f"the audit sees epsilon {low:.3g} or more"
    return Judged(toy, found.rules, low, audited.verdict == "violated", said)
