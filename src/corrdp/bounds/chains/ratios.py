"""Bounds that add a constant to epsilon: the published ones, and the sharper one in their style.

    lange   eps + 4 ln gamma   gamma: largest over smallest transition probability
    zhao    eps + 6 ln omega   omega: largest ratio within a column
    ratio   eps + 4 ln omega   any initial law (X-2)

They never fall below their constant, however small epsilon is.
"""

from __future__ import annotations

import math

import numpy as np

from corrdp.bounds.base import Bound, up
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.markov import MarkovChain
from corrdp.results import Certificate, Witness

LANGE = "Lange (2024), corollary 7.4 (docs/theorems.md#lange)"
ZHAO = "Zhao, Zhang and Poor (2017) (docs/theorems.md#zhao)"
RATIO = "theorem X-2 (docs/theorems.md#ratio)"


def lange(chain: MarkovChain, guarantee: Pure) -> Bound:
    """``eps_i + 4 ln gamma``; needs one positive kernel and the stationary start.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(lange(chain, Pure(1.0)).value, 6)
    9.788898
    """
    if not chain.homogeneous:
        raise NotApplicableError("lange needs one kernel for all steps; use contraction")
    if not np.isfinite(chain.gamma):
        x, y = (int(k) for k in np.argwhere(chain.transition == 0)[0])
        raise NotApplicableError(
            f"lange needs positive transition probabilities and {chain.states[x]!r} -> "
            f"{chain.states[y]!r} has 0; use contraction or transfer"
        )
    if chain.initial is not None and not np.allclose(
        chain.initial, chain.stationary, rtol=0, atol=1e-12
    ):
        raise NotApplicableError("lange needs the stationary start; use ratio or contraction")
    certificate = Certificate("lange", LANGE, ("the chain starts from its stationary law",))
    return _shifted(chain, guarantee, 4.0 * math.log(chain.gamma), certificate)


def zhao(chain: MarkovChain, guarantee: Pure) -> Bound:
    """``eps_i + 6 ln omega``.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(zhao(chain, Pure(1.0)).value, 6)
    13.476649
    """
    return _shifted(chain, guarantee, 6.0 * _log_omega(chain, "zhao"), Certificate("zhao", ZHAO))


def ratio(chain: MarkovChain, guarantee: Pure, log_omega: float | None = None) -> Bound:
    """``eps_i + (a + b) ln omega`` with a = 2 unless i is first, b = 2, 1 or 0 as i nears the end.

    ``log_omega`` may be an upper bound, where the kernel is not known exactly.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]])
    >>> round(ratio(chain, Pure(1.0)).value, 6)
    9.317766
    """
    if log_omega is None:
        log_omega = _log_omega(chain, "ratio")
    certificate = Certificate("ratio", RATIO)
    if chain.length is None:
        return _shifted(chain, guarantee, 4.0 * log_omega, certificate)
    n = chain.length
    index = np.arange(n)
    exponents = 2.0 * (index > 0) + np.minimum(n - 1 - index, 2)
    return _from_vector(guarantee.vector(n) + exponents * log_omega, certificate)


def _log_omega(chain: MarkovChain, name: str) -> float:
    if not np.isfinite(chain.omega):
        raise NotApplicableError(
            f"{name} needs columns without mixed zeros (omega is infinite); use contraction, which "
            "skips over zeros, or transfer"
        )
    return math.log(chain.omega)


def _shifted(
    chain: MarkovChain, guarantee: Pure, constant: float, certificate: Certificate
) -> Bound:
    if chain.length is not None:
        return _from_vector(guarantee.vector(chain.length) + constant, certificate)
    if guarantee.is_vector:
        raise InputError("one epsilon per record needs a chain with a length")
    return Bound(up(guarantee.largest + constant), "upper bound", certificate)


def _from_vector(values: np.ndarray, certificate: Certificate) -> Bound:
    per_record = np.nextafter(values, np.inf)
    target = int(per_record.argmax())
    return Bound(float(per_record[target]), "upper bound", certificate, per_record, Witness(target))
