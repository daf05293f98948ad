"""Guarantees proved elsewhere: OpenDP measurements and dp-accounting accountants."""

from __future__ import annotations

import math
from typing import Any

from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import Approximate, Pure


def from_opendp(measurement: Any, d_in: Any = 1) -> Pure | Approximate:
    """The guarantee of an OpenDP measurement: what its privacy map proves at ``d_in``.

    A pure measure gives epsilon, an approximate one (epsilon, delta). zCDP is refused: it does not
    say that the noise is Gaussian, and other noise of the same rho is not GDP.

    Parameters
    ----------
    measurement : opendp Measurement
    d_in : number
        Input distance of neighbours.

    Returns
    -------
    Pure or Approximate

    Raises
    ------
    GuaranteeError
        For a privacy measure that no rule of this library composes.

    Examples
    --------
    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib")
    >>> space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    >>> from_opendp(dp.m.make_laplace(*space, scale=4.0))
    Pure(epsilon=0.25)
    """
    measure, map_ = getattr(measurement, "output_measure", None), getattr(measurement, "map", None)
    if measure is None or map_ is None:
        raise InputError(f"expected an OpenDP measurement, got {type(measurement).__name__}")
    name = str(getattr(measure, "type", measure))
    loss = map_(d_in)
    if name.startswith("MaxDivergence"):
        return Pure(_finite(loss))
    if name.startswith(("FixedSmoothedMaxDivergence", "Approximate<MaxDivergence")):
        epsilon, delta = loss
        return Approximate(_finite(epsilon), float(delta))
    if name.startswith("ZeroConcentratedDivergence"):
        raise GuaranteeError(
            "zCDP does not say whether the noise is Gaussian, and only Gaussian noise is GDP; if "
            "it is, state GDP(sensitivity / sigma)"
        )
    raise GuaranteeError(f"no rule composes the privacy measure {name}")


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise GuaranteeError("the measurement promises nothing at this input distance")
    return number


def from_dp_accounting(accountant: Any, delta: float) -> Approximate:
    """The guarantee of a dp-accounting accountant after everything it was told, at one delta.

    Parameters
    ----------
    accountant : dp_accounting PrivacyAccountant
        Such as ``PLDAccountant`` or ``RdpAccountant``. Its neighbouring relation must be that of
        the plan's target.
    delta : float in [0, 1)

    Returns
    -------
    Approximate

    Examples
    --------
    >>> class Told:
    ...     def get_epsilon(self, delta):
    ...         return 1.5
    >>> from_dp_accounting(Told(), 1e-6)
    Approximate(epsilon=1.5, delta=1e-06)
    """
    if not hasattr(accountant, "get_epsilon"):
        raise InputError(f"expected a dp-accounting accountant, got {type(accountant).__name__}")
    if not 0 <= delta < 1:
        raise InputError(f"delta must lie in [0, 1), got {delta}")
    return Approximate(_finite(accountant.get_epsilon(delta)), delta)
