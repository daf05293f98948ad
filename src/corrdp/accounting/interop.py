"""Guarantees that other libraries state: OpenDP's measurements and dp-accounting's events.

Both speak of the distance of two data sets that their user chose. Leakage is about *replacing* one
record: that distance is what must be given here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from corrdp._checks import check_number, shown
from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import GDP, ZCDP, Approximate, Guarantee, Profile, Pure
from corrdp.metric.composition import compose


def from_opendp(measurement: Any, d_in: Any = 1) -> Guarantee:
    """The guarantee that OpenDP proves for a measurement.

    Parameters
    ----------
    measurement : opendp.mod.Measurement
    d_in : number
        How far apart two data sets are that differ in the value of one record, in the measurement's
        own metric: 2 of the symmetric distance, 1 of the change-one distance, the largest change of
        a number for absolute distances.

    Returns
    -------
    Pure, ZCDP, Approximate or Profile
        By the measure that the measurement is stated in; a pair for a fixed delta. zCDP does not
        say that the noise is Gaussian, and other noise of the same rho is not GDP: if it is
        Gaussian, ``GDP(sensitivity / sigma)`` says more.

    Examples
    --------
    >>> from opendp.domains import atom_domain
    >>> from opendp.measurements import make_laplace
    >>> from opendp.metrics import absolute_distance
    >>> from opendp.mod import enable_features
    >>> enable_features("contrib")
    >>> noisy = make_laplace(atom_domain(T="i64"), absolute_distance(T="i64"), scale=2.0)
    >>> from_opendp(noisy, 1)
    Pure(epsilon=0.5)
    """
    stated, proof = getattr(measurement, "output_measure", None), getattr(measurement, "map", None)
    if stated is None or not callable(proof):
        raise InputError(f"expected an OpenDP measurement, got {type(measurement).__name__}")
    try:
        level = proof(d_in)
    except Exception as error:  # OpenDP has one exception for everything, and may lack it here
        raise InputError(
            f"OpenDP has no level for d_in={shown(d_in)}: {str(error).splitlines()[0]}"
        ) from None
    name = str(stated)
    if name == "MaxDivergence":
        return Pure(_finite(level))
    if name == "ZeroConcentratedDivergence":
        return ZCDP(_finite(level))
    if name == "Approximate(MaxDivergence)":
        return Approximate(_finite(level[0]), float(level[1]))
    if name == "SmoothedMaxDivergence":
        return Profile(lambda epsilon: float(level.delta(float(epsilon))))
    raise GuaranteeError(
        f"no guarantee here corresponds to OpenDP's {name}; convert it with OpenDP's combinators "
        "to pure, zero-concentrated or approximate DP"
    )


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise GuaranteeError("it promises nothing at this distance, or delta")
    return number


@dataclass
class _Releases:
    """What a tree of events is made of."""

    pure: list[float] = field(default_factory=list)
    laplace: list[Any] = field(default_factory=list)
    variance: float = 0.0
    rho: float = 0.0

    def add(self, event: Any, times: int, factor: float) -> None:
        kind = type(event).__name__
        if kind == "ComposedDpEvent":
            for one in event.events:
                self.add(one, times, factor)
        elif kind == "SelfComposedDpEvent":
            self.add(event.event, times * int(event.count), factor)
        elif kind == "GaussianDpEvent":
            mu = factor / check_number("noise_multiplier", event.noise_multiplier, above=0)
            self.variance += times * mu * mu
        elif kind == "LaplaceDpEvent":
            level = factor / check_number("noise_multiplier", event.noise_multiplier, above=0)
            self.laplace += [level] * times
        elif kind == "DiscreteLaplaceDpEvent":
            steps = math.ceil(event.sensitivity * factor)
            level = check_number("noise_parameter", event.noise_parameter, above=0) * steps
            self.laplace += [(level, steps)] * times
        elif kind == "RandomizedResponseDpEvent":
            lie = event.noise_parameter / event.num_buckets
            check_number("noise_parameter", event.noise_parameter, above=0, most=1)
            self.pure += [math.log1p((1 - event.noise_parameter) / lie)] * times
        elif kind == "ZCDpEvent" and event.xi == 0:
            self.rho += times * event.rho * factor * factor
        elif kind != "NoOpDpEvent":
            raise GuaranteeError(
                f"{kind} has no guarantee here about replacing one record: state what it promises "
                "as Approximate(epsilon, delta), ZCDP(rho) or a Profile"
            )


def from_dp_accounting(told: Any, delta: float | None = None, *, factor: float = 1.0) -> Guarantee:
    r"""The guarantee of an event of dp-accounting, or of an accountant at one delta.

    Parameters
    ----------
    told : dp_accounting.DpEvent or PrivacyAccountant
        Events: Gaussian, Laplace, discrete Laplace, randomized response, zCDP, and compositions of
        these, by their exact profile. Sampled events are refused: what sampling gains is about
        adding or removing a record, and on dependent records nobody has proved it. An accountant,
        such as ``PLDAccountant``, is asked for epsilon; its neighbours must differ in the value of
        one record.
    delta : float in [0, 1), optional
        For an accountant.
    factor : float
        For events. Replacing one record moves the query by so many of the sensitivities that the
        noise multiplier is about: 2 where that was adding or removing a record (for a query that
        one record moves in either direction), 1 where it was replacing one already.

    Returns
    -------
    GDP, ZCDP, Pure, Profile or Approximate
        A profile where releases of several kinds, or several that are not Gaussian, come together.

    Examples
    --------
    >>> class GaussianDpEvent:
    ...     noise_multiplier = 4.0
    >>> round(from_dp_accounting(GaussianDpEvent(), factor=2).mu, 6)
    0.5
    >>> class Told:
    ...     def get_epsilon(self, delta):
    ...         return 1.5
    >>> from_dp_accounting(Told(), 1e-6)
    Approximate(epsilon=1.5, delta=1e-06)
    """
    if hasattr(told, "get_epsilon"):
        most = check_number("delta", delta, least=0, below=1)
        return Approximate(_finite(told.get_epsilon(most)), most)
    if delta is not None:
        raise InputError(
            "delta goes with a dp-accounting accountant; an event has a guarantee for every delta"
        )
    found = _Releases()
    try:
        found.add(told, 1, check_number("factor", factor, above=0))
    except (AttributeError, TypeError):
        raise InputError(f"expected an event of dp-accounting, got {shown(told)}") from None
    many = found.pure or found.laplace
    if not many and not found.variance and not found.rho:
        raise InputError("the event makes no release: there is nothing to guarantee")
    mu = math.sqrt(found.variance) * (1 + 4 * 2.0**-52)
    if not many and not found.rho:
        return GDP(mu)
    if not many and not found.variance:
        return ZCDP(found.rho * (1 + 4 * 2.0**-52))
    if len(found.pure) == 1 and not (found.laplace or found.variance or found.rho):
        return Pure(found.pure[0] * (1 + 8 * 2.0**-52))
    others = [ZCDP(found.rho)] if found.rho else []
    return compose(pure=found.pure, gaussian=mu, laplace=found.laplace, others=others).guarantee
