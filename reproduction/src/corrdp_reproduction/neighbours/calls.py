"""How the neighbours are called: one line of theirs for each thing that is asked of them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

COARSE = 1e-3  # steps of privacy loss for long compositions; the default is a tenth of it


def riskcal() -> Any:
    """riskcal's conversions between notions and risks."""
    return import_module("riskcal.analysis")


def losses() -> Any:
    """dp-accounting's privacy loss distributions."""
    return import_module("dp_accounting.pld.privacy_loss_distribution")


def dp_accounting() -> Any:
    """dp-accounting itself."""
    return import_module("dp_accounting")


@cache
def gaussian_losses(sigma: float, times: int = 1) -> Any:
    """Privacy loss distribution of Gaussian noise on an answer of sensitivity 1."""
    return losses().from_gaussian_mechanism(sigma).self_compose(times)


@cache
def laplace_losses(scale: float, times: int = 1) -> Any:
    """The same of Laplace noise."""
    return losses().from_laplace_mechanism(scale).self_compose(times)


@cache
def pure_losses(epsilon: float, times: int) -> Any:
    """The same of any mechanism with this DP level: the worst of them."""
    common = import_module("dp_accounting.pld.common")
    one = losses().from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, 0.0))
    return one.self_compose(times)


def opendp() -> Any:
    """OpenDP's prelude, with the mechanisms that are contributed."""
    prelude = import_module("opendp.prelude")
    prelude.enable_features("contrib")
    return prelude


def opendp_integers() -> tuple[Any, Any]:
    """Whole numbers, and their distance."""
    dp = opendp()
    return dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")


def opendp_gaussian(sigma: float, times: int = 1) -> Any:
    """OpenDP's (epsilon, delta) curve of Gaussian noise, by way of zCDP."""
    dp = opendp()
    noise = dp.m.make_gaussian(*opendp_integers(), scale=sigma)
    whole = noise if times == 1 else dp.c.make_composition([noise] * times)
    return dp.c.make_zCDP_to_approxDP(whole).map(1)


def opendp_laplace(scales: tuple[float, ...]) -> float:
    """Epsilon that OpenDP proves for Laplace noise of these scales together."""
    dp = opendp()
    noise = [dp.m.make_laplace(*opendp_integers(), scale=scale) for scale in scales]
    return float((noise[0] if len(noise) == 1 else dp.c.make_composition(noise)).map(1))
