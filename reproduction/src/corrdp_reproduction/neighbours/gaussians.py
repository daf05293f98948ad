"""Gaussian noise: advantage, trade-off, (epsilon, delta), compositions and sigma."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from corrdp.accounting.account import account
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.guarantees import GDP
from corrdp.mechanisms.gaussian import Gaussian
from corrdp.metric.domains import TupleDomain
from corrdp.metric.tradeoff import curve_of, delta_for, epsilon_for
from corrdp.queries import Count
from corrdp.reconstruction.bounds import advantage
from corrdp.reconstruction.sgd import sigma_for_risk
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.neighbours.base import Row, Section, ask
from corrdp_reproduction.neighbours.calls import (
    dp_accounting,
    gaussian_losses,
    opendp,
    opendp_gaussian,
    opendp_integers,
    riskcal,
)

DELTA = 1e-5
CLOSED = 1e-12  # a closed form in double precision
STEPPED = 1e-6  # losses rounded to steps of 1e-4, with the dots connected
SEARCHED = 1e-3  # riskcal's tolerance of a search


def one_release() -> Section:
    """One answer with Gaussian noise, in every notion that somebody has."""
    return Section(
        "Gaussian noise, one release",
        "Sensitivity 1, mu = 1/sigma. The advantage is the true minus the false positive rate of "
        "the best membership attack. OpenDP goes by way of zCDP, which holds for more than "
        "Gaussian noise: its numbers are bounds and larger. It has no trade-off curve.",
        (
            *(_advantage(mu) for mu in (0.5, 1.0, 2.0)),
            *(_miss_rate(mu, alpha) for mu, alpha in ((1.0, 0.01), (1.0, 0.1), (2.0, 0.1))),
            _miss_rate_of_losses(1.0, 0.1),
            *(_delta(sigma, epsilon) for sigma, epsilon in ((1.0, 1.0), (2.0, 0.5))),
        ),
    )


def _advantage(mu: float) -> Row:
    answers = (
        ask("riskcal", lambda: riskcal().get_advantage_from_gdp(mu), "=", CLOSED),
        ask(
            "dp-accounting", lambda: gaussian_losses(1 / mu).get_delta_for_epsilon(0), "=", STEPPED
        ),
        ask("opendp", lambda: opendp_gaussian(1 / mu).delta(0.0), ">="),
    )
    return Row(f"advantage, mu = {mu:g}", advantage(GDP(mu)).value, answers)


def _miss_rate(mu: float, alpha: float) -> Row:
    theirs = ask("riskcal", lambda: riskcal().get_beta_from_gdp(mu, alpha), "=", CLOSED)
    said = f"miss rate at false alarm rate {alpha:g}, mu = {mu:g}"
    return Row(said, curve_of(GDP(mu))(alpha), (theirs,))


def _miss_rate_of_losses(mu: float, alpha: float) -> Row:
    def theirs() -> Any:
        return riskcal().get_beta_from_pld(gaussian_losses(1 / mu), alpha=alpha)

    said = f"the same by way of losses, at {alpha:g}, mu = {mu:g}"
    return Row(said, curve_of(GDP(mu))(alpha), (ask("riskcal", theirs, "=", STEPPED),))


def _delta(sigma: float, epsilon: float) -> Row:
    def theirs() -> Any:
        return gaussian_losses(sigma).get_delta_for_epsilon(epsilon)

    answers = (
        ask("dp-accounting", theirs, "=", STEPPED),
        ask("opendp", lambda: opendp_gaussian(sigma).delta(epsilon), ">="),
    )
    said = f"delta at epsilon {epsilon:g}, sigma = {sigma:g}"
    return Row(said, delta_for(1 / sigma, epsilon), answers)


def composed() -> Section:
    """Several answers: epsilon at one delta, and the advantage."""
    plans = ((1, 1.0), (4, 2.0), (16, 5.0))
    return Section(
        "Gaussian noise, several releases",
        "`account` of a plan, dp-accounting's privacy loss distributions (which riskcal reads), "
        "OpenDP's composition in zCDP.",
        tuple(row for times, sigma in plans for row in _several(times, sigma)),
    )


def _several(times: int, sigma: float) -> tuple[Row, Row]:
    steps = tuple(Step(f"{k}", GDP(1 / sigma)) for k in range(times))
    total = account(Plan(TupleDomain(1, (0, 1)), steps), "bounded").only

    def epsilon() -> Any:
        return gaussian_losses(sigma, times).get_epsilon_for_delta(DELTA)

    def risk() -> Any:
        return riskcal().get_advantage_from_pld(gaussian_losses(sigma, times))

    answers = (
        ask("dp-accounting", epsilon, "=", STEPPED),
        ask("opendp", lambda: opendp_gaussian(sigma, times).epsilon(DELTA), ">="),
    )
    said = f"{times} with sigma = {sigma:g}"
    return (
        Row(f"epsilon at delta {DELTA:g}, {said}", total.epsilon(DELTA), answers),
        Row(f"advantage, {said}", total.advantage, (ask("riskcal", risk, "=", STEPPED),)),
    )


def scales() -> Section:
    """How much noise is needed."""
    return Section(
        "Gaussian noise, how much",
        "Sensitivity 1. riskcal is given the exact advantage and searches sigma to "
        f"{SEARCHED:g}, its default; corrdp rounds up, so that the promise is kept.",
        (
            *(_sigma(*level) for level in ((1.0, DELTA), (0.5, DELTA), (1.0, 0.1))),
            _sigma_for_advantage(),
            _epsilon(3.730632),
        ),
    )


def _sigma(epsilon: float, delta: float) -> Row:
    answers = (
        ask("dp-accounting", lambda: dp_accounting().get_sigma_gaussian(epsilon, delta), "=", 1e-9),
        ask("opendp", lambda: _opendp_sigma(epsilon, delta), ">="),
    )
    ours = Gaussian.for_epsilon(Count(1), epsilon, delta).sigma
    return Row(f"sigma for epsilon {epsilon:g}, delta {delta:g}", ours, answers)


def _sigma_for_advantage() -> Row:
    # two equally likely records: the reconstruction advantage is half of the advantage
    ours = sigma_for_risk(0.05, Threat.membership([0.5, 0.5]), steps=4, sensitivity_multiplier=1)
    theirs = ask("riskcal", _riskcal_sigma, "=", SEARCHED)
    return Row("sigma for an advantage of 0.1 after 4 releases", ours.value, (theirs,))


def _epsilon(sigma: float) -> Row:
    def theirs() -> Any:
        return dp_accounting().get_epsilon_gaussian(sigma, DELTA)

    said = f"epsilon at delta {DELTA:g}, sigma = {sigma}"
    return Row(said, epsilon_for(1 / sigma, DELTA), (ask("dp-accounting", theirs, "=", 1e-9),))


def _opendp_sigma(epsilon: float, delta: float) -> Any:
    dp = opendp()

    def build(scale: float) -> Any:
        noise = dp.m.make_gaussian(*opendp_integers(), scale=scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noise), delta)

    return dp.binary_search_param(build, d_in=1, d_out=(epsilon, delta))


def _riskcal_sigma() -> Any:
    core = import_module("riskcal.calibration.core")

    def risk(sigma: float) -> Any:
        mu = math.sqrt(4) / sigma
        return core.PrivacyMetrics(advantage=riskcal().get_advantage_from_gdp(mu))

    return core.calibrate_parameter(
        risk,
        core.CalibrationTarget(kind="advantage", advantage=0.1),
        core.CalibrationConfig(increasing=False, param_min=0.1, param_max=100.0),
    ).parameter_value
