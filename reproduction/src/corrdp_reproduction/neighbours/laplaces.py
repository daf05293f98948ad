"""Laplace noise and pure DP: levels, compositions, scales, and the risk of a response."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from corrdp.accounting.account import account
from corrdp.accounting.plan import Plan
from corrdp.accounting.step import Step
from corrdp.guarantees import Approximate
from corrdp.mechanisms.laplace import DiscreteLaplace, Laplace
from corrdp.mechanisms.response import BinaryResponse
from corrdp.metric.curves import LaplaceCurve
from corrdp.metric.domains import TupleDomain
from corrdp.metric.fibres import exact_delta
from corrdp.metric.tradeoff import curve_of, tensor
from corrdp.queries import Count
from corrdp.reconstruction.bounds import advantage
from corrdp.reconstruction.linear import rero
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.neighbours.base import Row, Section, ask
from corrdp_reproduction.neighbours.calls import (
    laplace_losses,
    losses,
    opendp,
    opendp_integers,
    opendp_laplace,
    pure_losses,
    riskcal,
)
from corrdp_reproduction.neighbours.gaussians import CLOSED, STEPPED

PLANS = ((4, 2.0), (10, 2.0))  # releases and their scale


def levels() -> Section:
    """One Laplace answer and several, as pure DP and as (epsilon, delta)-DP."""
    rows = [
        Row(
            "epsilon, scale 1",
            Laplace(Count(1), 1.0).guarantee.largest,
            (ask("opendp", lambda: opendp_laplace((1.0,)), "=", CLOSED),),
        ),
        Row(
            "advantage, scale 1",
            LaplaceCurve(1.0).total_variation,
            (
                ask(
                    "riskcal",
                    lambda: riskcal().get_advantage_from_pld(laplace_losses(1.0)),
                    "=",
                    STEPPED,
                ),
                ask(
                    "dp-accounting",
                    lambda: laplace_losses(1.0).get_delta_for_epsilon(0.0),
                    "=",
                    STEPPED,
                ),
            ),
        ),
        Row(
            "miss rate at false alarm rate 0.1, scale 1",
            LaplaceCurve(1.0)(0.1),
            (
                ask(
                    "riskcal",
                    lambda: riskcal().get_beta_from_pld(laplace_losses(1.0), alpha=0.1),
                    "=",
                    STEPPED,
                ),
            ),
        ),
    ]
    for times, scale in PLANS:
        rows += _composed(times, scale)
    return Section(
        "Laplace noise",
        "Sensitivity 1. corrdp composes the curve of *every* mechanism with that epsilon, and so "
        "does dp-accounting when it is told epsilon alone. Told that the noise is Laplace, "
        "dp-accounting knows more and is sharper (`<=`): corrdp has the exact curve of one Laplace "
        "answer, not that of several.",
        tuple(rows),
    )


def _composed(times: int, scale: float) -> list[Row]:
    steps = tuple(Step(f"{k}", 1 / scale) for k in range(times))
    total = account(Plan(TupleDomain(1, (0, 1)), steps), "bounded").only
    curve: Any = tensor(*[1 / scale] * times)
    delta = float(exact_delta(np.array([curve.p, curve.q]), 1.0).max())
    said = f"{times} releases of epsilon {1 / scale:g}"
    return [
        Row(
            f"epsilon, {said}",
            total.value,
            (ask("opendp", lambda: opendp_laplace((scale,) * times), "=", CLOSED),),
        ),
        Row(
            f"delta at epsilon 1, {said}, any noise",
            delta,
            (
                ask(
                    "dp-accounting",
                    lambda: pure_losses(1 / scale, times).get_delta_for_epsilon(1.0),
                    "=",
                    1e-9,
                ),
            ),
        ),
        Row(
            f"delta at epsilon 1, {said}, Laplace noise",
            delta,
            (
                ask(
                    "dp-accounting",
                    lambda: laplace_losses(scale, times).get_delta_for_epsilon(1.0),
                    "<=",
                ),
            ),
        ),
        Row(
            f"advantage, {said}, any noise",
            curve.total_variation,
            (
                ask(
                    "riskcal",
                    lambda: riskcal().get_advantage_from_pld(pure_losses(1 / scale, times)),
                    "=",
                    1e-9,
                ),
            ),
        ),
    ]


def scales() -> Section:
    """The scale for an epsilon."""
    return Section(
        "Laplace noise, how much",
        "corrdp draws its noise from OpenDP, and raises the scale until OpenDP proves epsilon.",
        tuple(_scale(epsilon) for epsilon in (0.1, 0.5, 1.0)),
    )


def _scale(epsilon: float) -> Row:
    ours = DiscreteLaplace.for_epsilon(Count(1), epsilon).scale
    theirs = ask("opendp", lambda: _opendp_scale(epsilon), "=", 1e-9)
    return Row(f"scale of a noisy count for epsilon {epsilon:g}", ours, (theirs,))


def _opendp_scale(epsilon: float) -> Any:
    dp = opendp()
    return dp.binary_search_param(
        lambda scale: dp.m.make_laplace(*opendp_integers(), scale=scale), d_in=1, d_out=epsilon
    )


def risks() -> Section:
    """What an attacker gains from (epsilon, delta)-DP and from randomized response."""
    rows = (
        Row(
            "advantage, epsilon 1, delta 0.1",
            advantage(Approximate(1.0, 0.1)).value,
            (ask("riskcal", lambda: riskcal().get_advantage_from_adp(1.0, 0.1), "=", CLOSED),),
        ),
        Row(
            "miss rate at false alarm rate 0.25, epsilon 1, delta 0.1",
            curve_of(Approximate(1.0, 0.1))(0.25),
            (ask("riskcal", lambda: riskcal().get_beta_from_adp(1.0, 0.1, 0.25), "=", CLOSED),),
        ),
        Row(
            "epsilon of randomized response that keeps 73.1 %",
            BinaryResponse.for_epsilon(1.0).guarantee.largest,
            (ask("opendp", _opendp_response, "=", CLOSED),),
        ),
        *(_guess(prior) for prior in (0.5, 0.7, 0.9)),
    )
    return Section(
        "Risk",
        "riskcal's Bayes risk is the probability that the best guess is wrong: one minus `rero`.",
        rows,
    )


def _guess(prior: float) -> Row:
    def theirs() -> Any:
        return 1 - riskcal().get_bayes_risk_from_pld(_response(), prior)

    ours = rero(BinaryResponse.for_epsilon(1.0), Threat([prior, 1 - prior])).value
    said = f"best guess after randomized response, prior {prior:g}"
    return Row(said, ours, (ask("riskcal", theirs, "=", 1e-9),))


def _response() -> Any:
    # theirs answers at random, over both values, with this probability
    return losses().from_randomized_response(2 / (1 + math.e), 2)


def _opendp_response() -> Any:
    return opendp().m.make_randomized_response_bool(prob=math.e / (1 + math.e)).map(1)
