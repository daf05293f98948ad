"""Errors in chapter 5 of Guerra-Balboa (2026): advantage, its bounds, attacks and audits."""

from __future__ import annotations

import math

import numpy as np

from corrdp.guarantees import GDP, Approximate
from corrdp.mechanisms.local.direct import GRR
from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE
from corrdp.reconstruction.bounds import knapsack, rad_bound
from corrdp.reconstruction.exact import rad, rad_of_attack
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.errata.base import Counterexample, Erratum
from corrdp_reproduction.reconstructing.table_5_2 import PUBLISHED as IMPUTED

_SAME = 1e-9


def _uniform(m: int) -> Threat:
    return Threat(np.full(m, 1 / m))


def _replaced() -> Counterexample:
    """Two opposite gradients at the clipping norm, one step, sigma = 1."""
    printed, right = (rad_bound(GDP(mu), _uniform(2)).value for mu in (1.0, 2.0))
    crossed, opposite = (0.5 * math.erf(d / math.sqrt(8)) for d in (math.sqrt(2), 2.0))
    return Counterexample(
        crossed > printed and opposite > printed,
        max(crossed, opposite) <= right,
        f"two records, one step, sigma = 1: the bound is {printed:.4f}; orthogonal gradients have "
        f"{crossed:.4f}, opposite ones {opposite:.4f}. With mu = 2/sigma the bound is {right:.4f}.",
    )


def _jensen() -> Counterexample:
    """Three orthonormal gradients, one step: a positive score, a smaller likelihood."""
    products, sigma = np.array([1.0, 0.6, 0.0]), 0.5
    scores = products - products.mean()
    logs = (products - 0.5) / sigma**2
    change = logs - math.log(float(np.exp(logs).mean()))
    wrong = (scores > 0) & (change < 0)
    # what saying "member" by either sign gains at this output, over the density there
    gains = np.expm1(change) / len(products)
    return Counterexample(
        bool(wrong.any()),
        float(gains[change > 0].sum()) > float(gains[scores > 0].sum()),
        f"orthonormal gradients, sigma = 1/2, g = (1, .6, 0): candidate 2 has the score "
        f'{scores[1]:+.4f} and a log likelihood ratio of {change[1]:+.4f}. Saying "member" by '
        f"the score gains {gains[scores > 0].sum():.4f} there, by the likelihood "
        f"{gains[change > 0].sum():.4f}.",
    )


def _odds() -> Counterexample:
    risk, m, printed = 0.1, 100, 12.2087
    g = risk / (1 - 1 / m)
    right = (1 + g * (m - 1)) / (1 - g)
    risks = [GRR(m, math.log(odds)).rad_uniform() for odds in (printed, right)]
    return Counterexample(
        abs(right - printed) > 0.01 and abs(math.log(printed) - 2.503) > 5e-4,
        abs(risks[1] - risk) < _SAME,
        f"its formula gives {right:.5f}, epsilon {math.log(right):.6f}, at which the advantage is "
        f"{risks[1]:.6f}; at {printed} it is {risks[0]:.6f}, and ln {printed} = "
        f"{math.log(printed):.4f}, not 2.503.",
    )


def _worst_prior() -> Counterexample:
    point, skewed, two = (Threat(prior).kappa for prior in ([1.0, 0.0], [0.9, 0.1], [0.5, 0.5]))
    return Counterexample(
        point > two and skewed > two,
        point == 1.0,
        f"two records: a point mass has kappa = {point:g}, the prior (.9, .1) {skewed:g}, equally "
        f"likely ones {two:g}.",
    )


def _cap() -> Counterexample:
    from corrdp_reproduction.reconstructing.protocols import two_inputs_epsilon

    runs = 10**6
    top = two_inputs_epsilon(runs, 0, runs)
    closed = -math.log(-math.expm1(math.log(0.01 / 4) / runs)) + math.log(0.01 / 4) / runs
    return Counterexample(
        abs(top - 12.25) > 0.1,
        abs(top - closed) < 1e-6,
        f"a million runs, all guesses right, the limits of its public code: {top:.4f}.",
    )


def _unary_audit() -> Counterexample:
    runs, m = 10**6, 3052

    def deviation(epsilon: float) -> float:
        protocol = OUE(m, epsilon)
        s = protocol.success_uniform()
        return math.sqrt(s * (1 - s) / runs) / protocol.rad_slope()

    below, above = (max(map(deviation, eps)) for eps in ((1, 2, 4, 6, 8, 9), (10, 12, 14)))
    return Counterexample(
        below < above,
        deviation(9.0) < deviation(10.0) < deviation(12.0) < deviation(14.0),
        f"standard deviation of an audit of a million runs, 3,052 places: {below:.3f} at most "
        f"from 1 to 9, {deviation(12.0):.3f} at 12, {deviation(14.0):.3f} at 14.",
    )


def _posterior() -> Counterexample:
    channel, threat = GRR(2, 1.0).channel(), Threat([0.9, 0.1])
    posterior = (threat.prior[:, None] * channel).argmax(axis=0)[None]
    likely = rad_of_attack(channel, threat, posterior)
    best = rad(channel, threat)
    assert best.attack is not None
    return Counterexample(
        likely[0] < best.value - 1e-3,
        best.attack.guesses.tolist() == [[0, 1]],
        f"prior (.9, .1), randomized response at epsilon 1: the likeliest record has advantage "
        f"{abs(likely[0]):.6f} and success {likely[1]:.6f}, the report {best.value:.6f} and "
        f"{best.success:.6f}.",
    )


def _criterion() -> Counterexample:
    """Success as printed asks for what the attacker knows, not for what he wants."""
    channel, prior, aux = GRR(4, 1.0).channel(), [0.25] * 4, ["a", "a", "b", "b"]
    same = [[float(x != y) for y in aux] for x in aux]
    own = np.array([[0] * 4, [2] * 4])  # any record with the attributes that are known
    printed = rad_of_attack(channel, Threat(prior, same, aux=aux), own)[1]
    right = Threat.attribute(prior, secret=[0, 1, 0, 1], aux=aux)
    success = rad_of_attack(channel, right, own)[1]
    records, public, attacked = (
        IMPUTED[key].value for key in ("census records", "public records", "candidates")
    )
    return Counterexample(
        printed == 1.0 and public + attacked > records,
        success < 1.0 and public + attacked < 1000 * records,
        f"{public:,} and {attacked:,} are {(public + attacked) / records:.1f} times {records:,}. "
        f"Four records of two bits, the first known, randomized response at epsilon 1: repeating "
        f"the known attribute succeeds with probability {printed:g} as printed, {success:g} if the "
        "secret one counts.",
    )


def _denominator() -> Counterexample:
    """How many records the bound may take whole, by either denominator."""
    m, epsilon, delta = 5, 1.0, 0.0
    prior = np.full(m, 1 / m)
    grown = math.exp(epsilon)
    top = (m - 1) * (grown - 1 + m * delta) * (grown + 1)
    share = grown - 1 + 2 * delta
    whole = [int(top / bottom / (1 - 1 / m) + 1e-12)
             for bottom in (share * share, (grown + m - 1) * share)]  # fmt: skip
    value, taken, _ = knapsack(prior, epsilon, delta)
    cap = math.tanh(epsilon / 2)
    printed = cap * float((prior * (1 - prior))[: min(m, whole[0])].sum())
    exact = rad_bound(epsilon, Threat(prior))
    return Counterexample(
        whole[0] != taken and printed > value + 1e-3,
        whole[1] == taken and exact.kind == "exact" and abs(exact.value - value) < _SAME,
        f"five equally likely records, epsilon 1: printed, k = {min(m, whole[0])} records count "
        f"whole and the bound is {printed:.6f}; the lemma allows {taken}, and {value:.6f} is "
        "attained.",
    )


def _priors() -> Counterexample:
    hours, loss = np.arange(101), np.abs(np.subtract.outer(range(101), range(101)))
    ends = np.zeros(101)
    ends[[0, -1]] = 0.5
    even, two = (
        rad(LaplaceAnswer(hours, 100 / 20), Threat(prior, loss, 40)).value
        for prior in (np.full(101, 1 / 101), ends)
    )
    low = [
        rad(LaplaceAnswer(hours, 100.0), Threat(prior, loss, 40)).value
        for prior in (np.full(101, 1 / 101), ends)
    ]
    return Counterexample(
        even > two,
        low[1] > low[0],
        f"epsilon 20, tolerance 40: equally likely hours have {even:.4f}, the two ends {two:.4f}; "
        f"at epsilon 1 they have {low[0]:.4f} and {low[1]:.4f}. (The empirical prior: figure 5.6.)",
    )


def _sign() -> Counterexample:
    prior, epsilon = np.array([0.1, 0.2, 0.3, 0.4]), 1.0
    q = 1 / (math.e + 1)
    p, below = 1 - q, np.cumsum(prior) - prior
    weights = (p - q) / (2 * p) * p ** np.arange(3, -1, -1) * prior
    plus, minus = (float(weights @ (1 - prior + sign * q * below)) for sign in (1, -1))
    exact = rad(OUE(4, epsilon), Threat(prior)).value
    return Counterexample(
        plus > exact + 1e-3,
        abs(minus - exact) < _SAME,
        f"prior (.1, .2, .3, .4), epsilon 1: with the plus {plus:.6f}, with the minus "
        f"{minus:.6f}, which is what the best attack has.",
    )


def _rounding() -> Counterexample:
    m, epsilon = 3052, 7.0
    floor, nearest = SS(m, epsilon), SS(m, epsilon, "round")
    seen = nearest.rad_uniform()
    wrong, right = floor.epsilon_at(seen), nearest.epsilon_at(seen)
    return Counterexample(
        floor.size != nearest.size and abs(wrong - epsilon) > 0.05,
        abs(right - epsilon) < 1e-6,
        f"{m:,} values, epsilon 7: public code names {nearest.size} values, the formula "
        f"{floor.size}; audited by the formula such code has {wrong:.4f}, by its own rule "
        f"{right:.4f}.",
    )


def _crossing() -> Counterexample:
    def gap(epsilon: float) -> float:
        noise = LaplaceAnswer(np.linspace(0, 1, 11), 1 / epsilon)
        return noise.rad_uniform() - OUE(11, epsilon).rad_uniform()

    low, high = gap(0.001), gap(14.0)
    inside = max(gap(e) for e in (0.0019, 0.1, 1.0, 5.0, 10.0, 13.8628))
    return Counterexample(
        low > 0 and high > 0,
        inside < 0,
        f"eleven records: Laplace minus OUE is {low:+.1e} at .001, {high:+.4f} at 14, and "
        f"negative between .00188 and 13.8628 (at most {inside:.1e} on a few points).",
    )


def _accurate() -> Counterexample:
    prior = np.r_[np.full(6, 0.15), np.full(6, 1 / 60)]
    found = rad_bound(Approximate(0.1, 0.01), Threat(prior))
    values = {candidate.method: candidate.value for candidate in found.candidates}
    sharp, mixed = values["categorical"], values["epsilon, delta"]
    assert sharp is not None
    assert mixed is not None
    return Counterexample(
        sharp > mixed,
        found.value <= min(sharp, mixed),
        f"six records of .15, six of 1/60, epsilon .1, delta .01: theorem 5.15 gives {sharp:.6f}, "
        f"proposition 5.13 {mixed:.6f}.",
    )


ERRATA = (
    Erratum(
        "004-ERR1",
        "fails",
        "example 5.17",
        "A step of full-batch DP-SGD is 1/sigma-GDP: “DP-SGD after T iterations satisfies γ ≤ "
        "(m−1)/m (2Φ(√T/(2σ)) − 1)”.",
        "The advantage compares data sets that differ by a replaced record, which moves the sum of "
        "clipped gradients by up to two norms: mu = 2/sigma. With nothing known, mu = 1/sigma may "
        "be used in 1 - G(1/m) - 1/m, for records near one law.",
        _replaced,
    ),
    Erratum(
        "004-ERR2",
        "fails",
        "example 5.10",
        "“W preserves the sign and arg max of w”: it is positive exactly if the candidate has "
        "become more likely.",
        "Jensen's inequality gives one direction only, and the marginal is a mixture of products: "
        "compare the likelihood with its mean over the candidates.",
        _jensen,
    ),
    Erratum(
        "004-ERR4",
        "slip",
        "example 5.4",
        "For an advantage of .1 “with m = 100 possibilities must select ε = ln(12.2087) ≈ 2.503”.",
        "epsilon = ln 12.23596 = 2.504379.",
        _odds,
    ),
    Erratum(
        "004-ERR5",
        "slip",
        "section 5.2",
        "kappa “is maximized when π is uniform over two possible records”.",
        "For a point mass, where it is 1; two equally likely records have 1/2. What theorem 5.2 "
        "says of the advantage does not depend on this remark.",
        _worst_prior,
    ),
    Erratum(
        "004-ERR6",
        "slip",
        "section 5.5.3",
        "The largest epsilon of the two-input auditor is “capped around ε̃ ≈ 12.25”.",
        "12.0252 with a million runs and the parameters of its public code.",
        _cap,
    ),
    Erratum(
        "004-ERR6b",
        "slip",
        "section 5.5.3",
        "Audits of OUE: “the estimation accuracy declines at ϵ ≤ 9”.",
        "At epsilon >= 9, where its advantage no longer grows.",
        _unary_audit,
    ),
    Erratum(
        "004-ERR7",
        "needs a hypothesis",
        "sections 5.2 and 5.3",
        "With nothing known, the best guess is the record of largest posterior probability.",
        "It is the one of largest prior times change in likelihood; the same for equally likely "
        "records only.",
        _posterior,
    ),
    Erratum(
        "004-ERR8",
        "slip",
        "section 5.5.1, and section 5.5.2",
        "“The Census dataset [58] contains 1 676 records”; 49,000 and then 1,000 are drawn from "
        "it. A guess is “successful, ℓ(x, x′) = 0, if a(x) = a(x′)”, the known attributes.",
        "There must have been more (1,676 thousand would fit); and the secret attribute must be "
        "the same.",
        _criterion,
    ),
    Erratum(
        "004-ERR9",
        "slip",
        "equation 5.57",
        "The number of records that count whole has (e^eps - 1 + 2 delta)^2 as denominator.",
        "(e^eps + m - 1)(e^eps - 1 + 2 delta).",
        _denominator,
    ),
    Erratum(
        "004-ERR10",
        "needs a hypothesis",
        "section 5.5.3",
        "“the skewed distribution (Figure 5.6c) constitutes the worst case”.",
        "Not at large epsilon.",
        _priors,
    ),
    Erratum(
        "004-ERR11",
        "slip",
        "example A.17",
        "A_i = (1 - pi_i) p^(m-i) + q p^(m-i) (sum of the smaller priors).",
        "Minus, as two lines later.",
        _sign,
    ),
    Erratum(
        "004-ERR12",
        "needs a hypothesis",
        "example 5.6",
        "Reports of subset selection name max(1, floor(m/(e^epsilon + 1))) values, and audits are"
        " inverted with that.",
        "Where the implementation does so. Public ones round to the nearest number, and are to be"
        " inverted with that.",
        _rounding,
    ),
    Erratum(
        "004-ERR13",
        "slip",
        "example 5.7",
        "“for all ε ∈ [0, 14] the Laplace mechanism achieves lower RAD than OUE”, 11 records.",
        "For .00188 < epsilon < 13.8628, which is nearly all of it.",
        _crossing,
    ),
    Erratum(
        "004-ERR15",
        "needs a hypothesis",
        "section 5.3",
        "For exact guesses theorem 5.15 “offers a more accurate bound” than proposition 5.13.",
        "For equally likely records, or small delta; otherwise take the smaller.",
        _accurate,
    ),
)
