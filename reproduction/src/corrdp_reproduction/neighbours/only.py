"""What only one of them can do; each is done, so that nobody is praised for a promise."""

from __future__ import annotations

from functools import cache
from typing import Any

from corrdp.accounting.account import account
from corrdp.accounting.maps import ReadsCount
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.bounds.leakage import leakage
from corrdp.calibration.calibrate import calibrate
from corrdp.linting.registry import survey
from corrdp.metric.domains import MultisetDomain
from corrdp.models.chains.markov import MarkovChain
from corrdp.queries import Count
from corrdp.reconstruction.bounds import rad_bound
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.neighbours.base import Row, Section, ask
from corrdp_reproduction.neighbours.calls import (
    COARSE,
    gaussian_losses,
    laplace_losses,
    losses,
    opendp,
    opendp_integers,
    opendp_laplace,
    riskcal,
)

DELTA = 1e-5
ATOMS = ("yh", "ys", "mh", "ms", "oh", "os")  # young, middle, old; healthy, sick
BANDS = (("yh", "ys"), ("mh", "ms"), ("oh", "os"), ("ys", "ms", "os"))
LEVELS = (0.2, 0.5, 1.0, 0.3)


def only() -> Section:
    """Capabilities that at most some of them have."""
    chain = MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=100)
    steps = tuple(
        Step(f"{k}", e, ReadsCount(band))
        for k, (e, band) in enumerate(zip(LEVELS, BANDS, strict=True))
    )
    bounded = account(Plan(MultisetDomain(ATOMS), steps), "bounded").loss
    refuted = sum(not entry.findings.ok for entry in survey())
    rows = (
        Row("leakage of epsilon 1 on a chain of 100 dependent records", leakage(chain, 1.0).value),
        Row("epsilon that leaks 1 on that chain", calibrate(chain, 1.0, query=Count(1)).epsilon),
        Row(
            "four overlapping counts, one person replaced",
            bounded,
            (ask("opendp", lambda: opendp_laplace(tuple(1 / e for e in LEVELS)), ">="),),
        ),
        Row(
            "largest gain in guessing one of ten values, epsilon 1",
            rad_bound(1.0, Threat([0.1] * 10)).value,
            (ask("riskcal", _gain, ">="),),
        ),
        Row("published mechanisms refuted by a linter, of 17", float(refuted)),
        Row(
            f"epsilon at delta {DELTA:g} of 1000 steps of DP-SGD, sigma 1, rate 0.01",
            None,
            (ask("dp-accounting", lambda: _sampled().get_epsilon_for_delta(DELTA)),),
        ),
        Row(
            "advantage of the same",
            None,
            (ask("riskcal", lambda: riskcal().get_advantage_from_pld(_sampled())),),
        ),
        Row(
            f"epsilon at delta {DELTA:g} of Gaussian and Laplace noise together, sigma = scale = 1",
            None,
            (
                ask(
                    "dp-accounting",
                    lambda: (
                        gaussian_losses(1.0)
                        .compose(laplace_losses(1.0))
                        .get_epsilon_for_delta(DELTA)
                    ),
                ),
                ask("opendp", _mixed),
            ),
        ),
    )
    return Section(
        "What only one can do",
        "A dash: it has no such thing. corrdp alone knows dependent records, who may be replaced "
        "by whom (OpenDP adds the four counts up), and published mistakes; riskcal bounds a guess "
        "among ten by the trade-off curve, corrdp by the best mechanism and attack there are. "
        "dp-accounting alone takes the sampled batches of DP-SGD, and its total of mixed noise is "
        "tight (OpenDP's goes by way of zCDP; corrdp gives two totals, and has no amplification by "
        "sampling); riskcal reads the risk from it. OpenDP alone draws noise, without "
        "floating-point side channels; corrdp's releases are drawn by it.",
        rows,
    )


def _gain() -> float:
    """Success among ten values less what blind guessing has, by the curve of epsilon 1."""
    return 1.0 - float(riskcal().get_beta_from_adp(1.0, 0.0, 0.1)) - 0.1


def _mixed() -> Any:
    dp = opendp()
    gaussian = dp.m.make_gaussian(*opendp_integers(), scale=1.0)
    laplace = dp.c.make_pureDP_to_zCDP(dp.m.make_laplace(*opendp_integers(), scale=1.0))
    whole = dp.c.make_composition([gaussian, laplace])
    return dp.c.make_zCDP_to_approxDP(whole).map(1).epsilon(DELTA)


@cache
def _sampled() -> Any:
    one = losses().from_gaussian_mechanism(
        1.0, sampling_prob=0.01, value_discretization_interval=COARSE
    )
    return one.self_compose(1000)
