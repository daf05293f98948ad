"""From evidence to a verdict: one level shared by all tests, and what it would take to decide."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from corrdp._checks import check_number
from corrdp._invert import last_kept
from corrdp.auditing.events import Learner
from corrdp.auditing.evidence import TOLERANCE, Evidence, Power
from corrdp.auditing.results import ANY, Audit, Test, Verdict
from corrdp.auditing.samples import Samples
from corrdp.errors import InputError
from corrdp.guarantees import Approximate, Pure, as_guarantee
from corrdp.mechanisms.local.base import LocalProtocol, TwoLevel

_MOST_RUNS = 10**12  # beyond, more runs are no advice

_INDEPENDENT = "runs are independent of each other, and the mechanism does not change between them"
_EQUAL = "values that are equal as numbers are one output; low-order bits are not examined"
NOT_A_PROOF = (
    "an audit proves violations only: 'holds' says that no attack tried beats the claim by more "
    f"than {TOLERANCE:.0%}, with runs enough to have seen that; 'unseen' tells in which events"
)


def audit_samples(
    samples: Samples,
    claim: Any,
    *,
    confidence: float = 0.99,
    rng: np.random.Generator,
    protocol: LocalProtocol | None = None,
    mechanism: str = "recorded outputs",
) -> Audit:
    """Judge a claim by outputs that are already there.

    Without a protocol the attacks are learned on half of the runs and tested on the other half;
    with one they are those that are best against it, and the search comes on top. All limits are
    exact binomial ones and hold jointly (Bonferroni).

    Parameters
    ----------
    samples : Samples
    claim : float, Pure, Approximate or LocalProtocol
        What is claimed of any two inputs; a protocol claims its guarantee and its law, so that
        tests within its family are made too.
    confidence : float
    rng : Generator
        For splitting the runs, pairing them and breaking ties.
    protocol : LocalProtocol, optional
        Gives the attack, where it is known and the claim is not that protocol itself.
    mechanism : str
        What was audited, in words.

    References
    ----------
    Guerra-Balboa, dissertation, section 5.4; statements and proofs: audits#tests-of-a-claim.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> which = rng.integers(0, 2, 100_000)
    >>> answers = which ^ (rng.random(100_000) < .2)  # keeps ln 4 = 1.386
    >>> audit = audit_samples(Samples((0, 1), which, answers), 1.0, rng=rng)
    >>> audit.verdict, 1.3 < audit.interval[0] < 1.386 < audit.interval[1] < 1.5
    ('violated', True)
    """
    start = time.perf_counter()
    guarantee, declared = read_claim(claim)
    check_confidence(confidence)
    protocol = declared if protocol is None else protocol
    delta = guarantee.delta if isinstance(guarantee, Approximate) else 0.0
    if protocol is None:
        found, power = learned_evidence(samples, delta, rng)
    else:
        from corrdp.auditing.protocols import sampled_evidence

        found = sampled_evidence(samples, protocol, delta, rng, family=declared is not None)
        power = Power(samples.runs, pooled=True)
    return judge(
        found,
        guarantee,
        confidence=confidence,
        runs=samples.runs,
        inputs=len(samples.inputs),
        power=power,
        family=declared,
        mechanism=mechanism,
        start=start,
    )


def learned_evidence(
    samples: Samples, delta: float, rng: np.random.Generator
) -> tuple[list[Evidence], Power]:
    """What attacks on an unknown mechanism count; nothing where an input has under four runs."""
    learner = Learner(samples, delta, rng)
    if not learner.possible:
        return [], Power(0)
    found: list[Evidence] = [learner.guesses()]
    pair = learner.pair() if len(samples.inputs) > 2 else None  # of two, the event says it all
    if pair is not None:
        found.append(pair)
    found += learner.events(decides=not delta)
    if not delta:
        return found, Power(learner.fewest)
    every = learner.thresholds()
    if every is None:
        return found, Power(learner.fewest, events=0)
    return [*found, every], Power(learner.fewest, events=every.events)


def read_claim(claim: Any) -> tuple[Pure | Approximate, LocalProtocol | None]:
    """The guarantee that is claimed, and the protocol if one is.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> read_claim(1), read_claim(GRR(4, 2.0))[0]
    ((Pure(epsilon=1.0), None), Pure(epsilon=2.0))
    """
    if isinstance(claim, LocalProtocol):
        return claim.guarantee, claim
    try:
        guarantee = as_guarantee(claim)
    except InputError as error:
        raise InputError(f"claim: {error}") from None
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"claim must be a number, a guarantee or a protocol, got {claim!r}"
        ) from None
    if isinstance(guarantee, Pure) and guarantee.is_vector:
        raise InputError("claim has one epsilon per record; an audit compares inputs: give one")
    if not isinstance(guarantee, Pure | Approximate):
        raise InputError(
            f"claim is {guarantee!r}; an audit judges Pure or Approximate, so state the "
            "(epsilon, delta) that it implies"
        )
    return guarantee, None


def check_confidence(confidence: float) -> None:
    """A level strictly between 1/2 and 1, or an error."""
    check_number("confidence", confidence, above=0.5, below=1)


def judge(
    evidence: Sequence[Evidence | Any],
    claim: Pure | Approximate,
    *,
    confidence: float,
    runs: int,
    inputs: int,
    power: Power,
    family: LocalProtocol | None,
    mechanism: str,
    start: float,
) -> Audit:
    """The verdict on a claim; the level is shared equally by all tests.

    ``violated`` if a sound lower limit is above the claim, or one within the declared family;
    ``holds`` if every upper limit that decides is at most the claim plus :data:`TOLERANCE`, and
    the runs could have shown more (:class:`Power`; within a family the limits are that proof).
    """
    epsilon = float(claim.epsilon)
    delta = claim.delta if isinstance(claim, Approximate) else 0.0
    alpha = (1 - confidence) / max(1, len(evidence))
    tests = tuple(item.test(alpha, epsilon, delta) for item in evidence)
    sound = [test for test in tests if test.sound]
    weaker = [t for t in tests if not t.sound and family is not None and t.low > family.epsilon]
    best = max(sound, key=lambda test: (test.low, test.estimate), default=None)
    attack, scope = "none" if best is None else best.statement, ANY
    notes: list[str] = []
    needed = None
    verdict: Verdict
    too_few = _too_few(evidence, alpha, epsilon, delta, runs)
    if best is not None and best.low > epsilon:
        verdict = "violated"
    elif weaker:
        verdict, attack, scope = "violated", weaker[0].statement, f"implementations of {family!r}"
        notes.append(
            f"violated as an implementation of {family!r}: {weaker[0].name} shows at least "
            f"{weaker[0].low:.4g}; it assumes that the mechanism belongs to that family, and no "
            "attack that is sound for any mechanism shows it yet"
        )
    else:
        within = [t for t in tests if t.decides]
        kept = bool(within) and all(_within(test, epsilon) for test in within)
        able = family is not None or power.enough(alpha, epsilon, delta)
        if kept and able and not too_few:
            verdict = "holds"
            scope = ANY if family is None else f"implementations of {family!r}"
        else:
            verdict = "undecided"
            factor = 1.0 if able else power.needed(alpha, epsilon, delta)
            factor = max(factor, _factor(within, epsilon))
            if too_few:
                notes.append(too_few[1])
                factor = max(factor, too_few[0])
            needed = _rounded_up(1.1 * factor * runs)
    notes += _contradictions(tests, family)
    if verdict == "holds" and power.pooled:
        notes += _unseen(tests, epsilon)
    tops = [test.high for test in sound if test.decides or test == best]
    return Audit(
        estimate=0.0 if best is None else best.estimate,
        interval=(0.0 if best is None else best.low, max(tops, default=math.inf)),
        verdict=verdict,
        claim=claim,
        attack=attack,
        tests=tests,
        runs=runs,
        runs_needed=needed,
        confidence=confidence,
        seconds=time.perf_counter() - start,
        assumptions=_assumptions(inputs, family, verdict),
        mechanism=mechanism,
        notes=tuple(notes),
        scope=scope,
        # a violation that was seen stands, whatever else was not
        unseen="" if verdict == "violated" else power.words(alpha, epsilon, delta),
    )


def _unseen(tests: Sequence[Test], epsilon: float) -> list[str]:
    """What a search of single inputs, which do not decide, leaves open."""
    unseen = [t for t in tests if t.sound and not t.decides and not _within(t, epsilon)]
    if not unseen:
        return []
    most = max(test.high for test in unseen)
    reached = f"reach up to epsilon = {most:.3g}" if math.isfinite(most) else "exclude nothing"
    return [
        "a failure confined to few inputs may go unseen: between two single inputs the limits "
        + reached
    ]


def _contradictions(tests: Sequence[Test], family: LocalProtocol | None) -> list[str]:
    """Two tests that tell the same epsilon of a family, if it is this family, and disagree."""
    if family is None:
        return []
    told = [test for test in tests if not test.sound]
    # the event of the pair test attains epsilon where reports agree with a value or not
    if isinstance(family, TwoLevel) and getattr(family, "attained", 0) in (0, family.epsilon):
        told += [test for test in tests if test.name == "pair"]
    for one, other in itertools.permutations(told, 2):
        if one.low > other.high:
            return [
                f"not this family: {one.name} shows at least {one.low:.4g} and {other.name} at "
                f"most {other.high:.4g}, which are equal for {type(family).__name__} at any "
                "epsilon; a verdict within the family says nothing, audit a plain claim"
            ]
    return []


def _assumptions(inputs: int, family: LocalProtocol | None, verdict: Verdict) -> tuple[str, ...]:
    words = [_INDEPENDENT, f"any two of the {inputs} inputs are neighbours; no others were tried"]
    if family is not None:
        words.append(f"family tests alone: reports follow {type(family).__name__} at some epsilon")
    return (*words, _EQUAL) if verdict == "violated" else (*words, _EQUAL, NOT_A_PROOF)


def _within(test: Test, epsilon: float) -> bool:
    return test.high <= epsilon * (1 + TOLERANCE)


def _factor(tests: Sequence[Test], epsilon: float) -> float:
    """How many times the runs decide each test that is open: limits close as 1/sqrt(runs).

    inf where more runs cannot help: a limit is infinite although both rates are alike.
    """
    if epsilon == 0:
        return math.inf  # there is no tolerance to stay within
    factor = 1.0
    for test in tests:
        if _within(test, epsilon):
            continue
        ways = []
        up, down = epsilon * (1 + TOLERANCE) - test.estimate, test.estimate - epsilon
        if up > 0 and math.isfinite(test.high):
            ways.append(((test.high - test.estimate) / up) ** 2)
        if down > 0 and math.isfinite(test.estimate):
            ways.append(((test.estimate - test.low) / down) ** 2)
        elif down > 0:  # one rate is 0 so far: its limit falls as 1/runs
            ways.append(math.exp(min(epsilon - test.low, 50.0)))
        factor = max(factor, min(ways, default=math.inf))
    return factor


def _rounded_up(number: float) -> int | None:
    if not number <= _MOST_RUNS:
        return None
    digit = 10 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / digit) * digit


def _too_few(
    evidence: Sequence[Any], alpha: float, epsilon: float, delta: float, runs: int
) -> tuple[float, str] | None:
    """Where even an attack that never fails could not beat the claim: how many times the runs."""
    sound = [item for item in evidence if hasattr(item, "reach")]
    if not sound:
        return 8.0, "runs too few for any verdict: an input has fewer than four"

    def reach(factor: float) -> float:
        return max(item.reach(factor, alpha, delta) for item in sound)

    if reach(1.0) > epsilon:
        return None
    high = 2.0
    while reach(high) <= epsilon:
        if high * runs > _MOST_RUNS:  # delta near 1, or an epsilon beyond all counting
            return math.inf, (
                "no number of runs that can be made shows a violation of this claim: too rarely "
                f"would an output betray more than epsilon = {epsilon:g}"
            )
        high *= 2
    high = last_kept(lambda factor: reach(factor) > epsilon, high, high / 2, relative=1e-3)
    return high, (
        f"runs too few for any verdict: even an attack that never fails could show no more than "
        f"{reach(1.0):.3g} with {runs:,} run{'s' * (runs != 1)}; at least "
        f"{math.ceil(high * runs):,} are needed"
    )
