"""Errata of Chakrabarti et al. (2022): randomized response on two-state chains."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from corrdp.attacks.base import success_bound
from corrdp.bounds.chains.correlated import correlated_leakage
from corrdp.bounds.chains.transfer import transfer
from corrdp.calibration.response import least_flips, published_flip, zhao_flip
from corrdp.mechanisms.response import BinaryResponse
from corrdp.models.chains.markov import MarkovChain
from corrdp_reproduction.errata.base import Counterexample, Erratum


def _chain(theta: float, length: int | None = None) -> MarkovChain:
    return MarkovChain([[1 - theta, theta], [theta, 1 - theta]], length)


def _leak(theta: float, flip: float, n: int, record: int, known: Mapping[int, int]) -> float:
    """Largest log ratio over all outputs, by summing over all records and outputs."""
    worst = 0.0
    for z in itertools.product((0, 1), repeat=n):
        given = [[0.0, 0.0], [0.0, 0.0]]  # for each value: with the output, and without
        for x in itertools.product((0, 1), repeat=n):
            if any(x[k] != value for k, value in known.items()):
                continue
            law = math.prod(1 - theta if a == b else theta for a, b in itertools.pairwise(x))
            given[x[record]][0] += law * math.prod(
                1 - flip if a == b else flip for a, b in zip(x, z, strict=True)
            )
            given[x[record]][1] += law
        odds = [part / whole for part, whole in given]
        worst = max(worst, abs(math.log(odds[0] / odds[1])))
    return worst


def _every_leak(theta: float, flip: float, n: int) -> float:
    """The worst adversary: every record, every set of known records and their values."""
    worst = 0.0
    for record in range(n):
        others = [k for k in range(n) if k != record]
        for known in itertools.product((None, 0, 1), repeat=n - 1):
            told = {k: v for k, v in zip(others, known, strict=True) if v is not None}
            worst = max(worst, _leak(theta, flip, n, record, told))
    return worst


def _most_ignorant() -> Counterexample:
    theta, flip = 0.1, 0.01
    nothing = _leak(theta, flip, 3, 0, {})
    informed = max(_leak(theta, flip, 3, 0, {2: value}) for value in (0, 1))
    every = _every_leak(theta, flip, 3)
    exact = transfer(_chain(theta, 3), BinaryResponse(flip).steps()[None]).value
    return Counterexample(
        informed > nothing + 0.1,
        abs(exact - every) < 1e-9,
        f"three records, theta = {theta}, rho = {flip}, the first attacked: who knows the third "
        f"learns {informed:.6f}, who knows nothing {nothing:.6f}; over all adversaries and records "
        f"{every:.6f} by enumeration, {exact:.6f} by the transfer bound.",
    )


def _worst_known_value() -> Counterexample:
    theta, flip = 0.1, 0.01
    agreeing = _agreeing(theta, flip)
    contradicting = math.log((1 - flip) / flip) + math.log(0.5 / _zeros_given_one(theta, flip))
    worst = max(_leak(theta, flip, 3, 0, {2: value}) for value in (0, 1))
    return Counterexample(
        contradicting > agreeing + 0.1,
        abs(worst - contradicting) < 1e-9,
        f"three records, theta = {theta}, rho = {flip}, the first attacked, output 0 0: a third "
        f"record known to be 1 gives {contradicting:.6f}, one known to be 0 {agreeing:.6f}.",
    )


def _zeros_given_one(theta: float, flip: float) -> float:
    """Pr[z_2 = 0 | X_1 = 1, X_3 = 1]."""
    stay, go = (1 - theta) ** 2, theta**2
    return (stay * flip + go * (1 - flip)) / (stay + go)


def _agreeing(theta: float, flip: float) -> float:
    """Log ratio of the output 0 0 for the first record, the third known to be 0."""
    stay, go = (1 - theta) ** 2, theta**2
    zero = (stay * (1 - flip) + go * flip) / (stay + go)
    return math.log((1 - flip) / flip) + math.log(zero / 0.5)


def _calibrations() -> Counterexample:
    chain, target = _chain(0.1), 5.0
    exact = least_flips(chain, target, symmetric=True, adversary="none").flip0
    leaks = [
        transfer(chain, BinaryResponse(flip).steps()[None]).value
        for flip in (exact, published_flip(0.1, target))
    ]
    right = least_flips(chain, target, symmetric=True)
    return Counterexample(
        min(leaks) > target + 0.1,
        right.leakage.value <= target,
        f"theta = .1, epsilon = {target:g}: calibrated by theorem 1 it leaks {leaks[0]:.4f}, by "
        f"the closed form of corollary 2 {leaks[1]:.4f}; a flip rate of {right.flip0:.6f} leaks "
        f"{right.leakage.value:.4f}.",
    )


def _success() -> Counterexample:
    q, r, flip = 0.1, 0.4, 0.3
    shares = r / (q + r), q / (q + r)
    epsilon = math.log((1 - flip) / flip)
    # one record: guess the likelier value given its report
    best = max(shares[0] * (1 - flip), shares[1] * flip)
    best += max(shares[0] * flip, shares[1] * (1 - flip))
    odds = max(q / r, r / q)
    printed = math.exp(epsilon) / (odds + math.exp(epsilon))
    right = success_bound(epsilon, shares)
    return Counterexample(
        best > printed + 0.1,
        best <= right + 1e-12,
        f"one record, q = {q}, r = {r}, rho = {flip}: the best guess is right with probability "
        f"{best:.4f}, printed bound {printed:.6f}, corrected {right:.4f}.",
    )


def _spurious_two() -> Counterexample:
    theta, epsilon = 0.35, 4.0
    left = epsilon - 6.0 * math.log((1 - theta) / theta)
    six, other = (1 - theta) ** 6, theta**6 * math.exp(epsilon)
    printed, right = 2 * six / (other + six), zhao_flip(theta, epsilon)
    level = math.log((1 - right) / right)
    return Counterexample(
        printed > 0.5,
        abs(level - left) < 1e-9 and abs(right - six / (six + other)) < 1e-12,
        f"theta = {theta}, epsilon = {epsilon:g}: printed {printed:.6f}, more lies than truths; "
        f"1/(e^{left:.4f} + 1) = {right:.6f}.",
    )


def _equivalence() -> Counterexample:
    theta, epsilon = 0.35, 5.0
    flips = least_flips(_chain(theta), epsilon, symmetric=True)
    level = math.log((1 - flips.flip0) / flips.flip0)
    left = epsilon - 6.0 * math.log((1 - theta) / theta)
    theirs = BinaryResponse(zhao_flip(theta, epsilon))
    kept = transfer(_chain(theta), theirs.steps()[None]).value
    return Counterexample(
        flips.leakage.value <= epsilon and level > left + 0.1,
        kept <= epsilon,
        f"theta = {theta}: a flip rate of {flips.flip0:.6f} is {epsilon:g}-BDP (it leaks "
        f"{flips.leakage.value:.4f}) and {level:.3f}-DP, far above epsilon_3 = {left:.3f}.",
    )


def _correlated_noise() -> Counterexample:
    theta, target, share, speed = 0.05, 5.0, 0.349, 0.30
    rates = share * speed, (1 - share) * speed
    chain = _chain(theta)
    leak = correlated_leakage(chain, *rates, 3000, "all")
    independent = least_flips(chain, target, symmetric=True).rate
    none = least_flips(chain, target, symmetric=True, adversary="none").rate
    blind = correlated_leakage(chain, *rates, 3000, "none")
    return Counterexample(
        leak <= target and share < independent - 0.01 and theta < rates[0] and sum(rates) <= 1,
        share >= none and blind <= target,
        f"theta = {theta}, epsilon = {target:g}: noise that is itself a chain (rho0 = "
        f"{rates[0]:.4f}, rho1 = {rates[1]:.4f}) flips {share} of the records and leaks "
        f"{leak:.4f} to the worst adversary; independent noise must flip {independent:.6f}. "
        f"Against who knows nothing both need {none:.6f}.",
    )


def _eigenvalues() -> Counterexample:
    theta, flip = 0.1, 0.2
    stay, twice = 1 - theta, 1 - 2 * theta
    printed, right = (
        0.5 * (math.sqrt(square) + stay)
        for square in (
            stay**2 - twice * (1 - 2 * flip) ** 2,
            theta**2 + twice * (1 - 2 * flip) ** 2,
        )
    )
    recurrence = [[stay * (1 - flip), theta * flip], [theta * (1 - flip), stay * flip]]
    largest = float(np.linalg.eigvals(recurrence).real.max())
    return Counterexample(
        abs(printed - largest) > 0.01,
        abs(right - largest) < 1e-12,
        f"theta = {theta}, rho = {flip}: the matrix of the recurrence has the eigenvalue "
        f"{largest:.6f}, printed {printed:.6f}, with the root of the eigenvectors {right:.6f}.",
    )


ERRATA = (
    Erratum(
        "001-E1",
        "fails",
        "theorem 2 (b)",
        "“if j is adjacent to U or i, BDPL(A′) > BDPL(A)”: who knows one record less learns more, "
        "so that who knows nothing is the hardest to protect against.",
        "Knowing records can help: the supremum over all adversaries is the transfer bound, exact "
        "for randomized response on two-state chains.",
        _most_ignorant,
    ),
    Erratum(
        "001-E2",
        "fails",
        "theorem 2, last sentence, and its proof",
        "“Further, the maximum BDPL(A′) occurs with z, x_K, x_i = 0.”",
        "The worst known value contradicts the output: an all-zero stretch up to a known 1 needs "
        "two switches if the record attacked is 1, and one if it is 0.",
        _worst_known_value,
    ),
    Erratum(
        "001-E3",
        "fails",
        "section 3.1 with theorem 2, and corollaries 1 and 2",
        "“our mechanism provides the optimal noise-privacy tradeoffs for BDP in our setting”: "
        "noise calibrated by theorem 1 or by the closed form of corollary 2 is epsilon-BDP.",
        "Theorem 1 itself is right, and its noise keeps epsilon against who knows no record; "
        "against "
        "all adversaries flip rates must be calibrated by the transfer bound.",
        _calibrations,
    ),
    Erratum(
        "001-E4",
        "fails",
        "section 4.3",
        "An attacker's success is at most e^epsilon / (max(q/r, r/q) + e^epsilon).",
        "At most max(m/(1 + m), e^epsilon/(1 + e^epsilon)) with m = max(q/r, r/q): at epsilon 0 "
        "guessing the commoner state succeeds m/(1 + m) of the time.",
        _success,
    ),
    Erratum(
        "001-E5",
        "slip",
        "equation 6",
        "The flip rate by Zhao et al. is 2 (1 - theta)^6 / (theta^6 e^epsilon + (1 - theta)^6).",
        "Without the 2.",
        _spurious_two,
    ),
    Erratum(
        "001-E6",
        "slip",
        "section 4.2 and proposition 1",
        "epsilon-BDP holds if and only if epsilon_3-DP (epsilon_6-DP) does.",
        "If: Zhao et al. show that direction, and the converse fails.",
        _equivalence,
    ),
    Erratum(
        "001-E7",
        "needs a hypothesis",
        "section 3.3",
        "Correlated noise with theta < rho0 and rho0 + rho1 <= 1 needs as many flips as "
        "independent "
        "noise: “our independent noise mechanism has the optimal noise-privacy tradeoffs”.",
        "Against an adversary who knows nothing. Against all of them correlated noise needs fewer "
        "flips, as few as against who knows nothing: an answer to the question whether it helps.",
        _correlated_noise,
    ),
    Erratum(
        "001-E8",
        "slip",
        "appendix A.4",
        "The eigenvalues hold the root of (1 - theta)^2 - (1 - 2 theta)(1 - 2 rho)^2.",
        "Of theta^2 + (1 - 2 theta)(1 - 2 rho)^2, as the eigenvectors beside them have it.",
        _eigenvalues,
    ),
)
