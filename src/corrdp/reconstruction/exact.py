r"""The largest reconstruction advantage of a known mechanism, and the attack that has it.

With :math:`w(\theta, x) = p(\theta \mid x) - p(\theta)`, an attack that guesses g after the output
theta, knowing the label z, gains
:math:`\sum_{x : a(x) = z,\ \ell(x, g) \le \eta} \pi_x w(\theta, x)`; the best attack takes the
largest term for every theta and z by itself.

Some mechanisms know it in closed form, without listing their outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from corrdp._checks import check_array, renamed
from corrdp.errors import InputError
from corrdp.mechanisms.local.scalar import LaplaceAnswer
from corrdp.reconstruction.results import GuessingRule, Rad
from corrdp.reconstruction.threat import Threat, check_threat
from corrdp.results import Certificate

_REFERENCE = (
    "theorem 5.3 in closed form, Guerra-Balboa, dissertation, examples 5.4 to 5.8 "
    "(reconstruction#optimal-attack)"
)
_TABLE = 12  # up to so many records the outputs are listed, and the attack with them


def analytic_rad(mechanism: Any, threat: Threat, assumptions: tuple[str, ...]) -> Rad | None:
    """The exact advantage where the mechanism has a formula for this threat, else None.

    Examples
    --------
    >>> from corrdp.mechanisms.local.unary import OUE
    >>> round(analytic_rad(OUE(3052, 4.0), Threat([1 / 3052] * 3052), ()).value, 8)
    0.00878082
    """
    success = blind = None
    if isinstance(mechanism, LaplaceAnswer):
        from corrdp.reconstruction.truncated import laplace_risk

        risk = laplace_risk(mechanism, threat)
        value, success, blind = float(risk.rad), float(risk.rero), float(risk.rero - risk.rad)
    else:
        form = _formula(mechanism, threat)
        if form is None:
            return None
        value = float(form)
    certificate = Certificate("optimal attack", _REFERENCE, assumptions)
    told = threat.describe()
    return Rad(value, "exact", certificate, told, threat.ceiling, success, blind)


def _formula(mechanism: Any, threat: Threat) -> float | None:
    if not threat.is_exact or (threat.m <= _TABLE and hasattr(mechanism, "channel")):
        return None
    if threat.knows_nothing:
        if hasattr(mechanism, "rad_prior"):
            return mechanism.rad_prior(threat.prior)
        whole = threat.is_uniform and len(threat.support) == threat.m
        if whole and hasattr(mechanism, "rad_uniform") and _records(mechanism) == threat.m:
            return mechanism.rad_uniform()
    elif len(threat.labels) == threat.m and hasattr(mechanism, "rad_membership"):
        return mechanism.rad_membership(threat.prior)
    return None


def _records(mechanism: Any) -> int | None:
    return getattr(mechanism, "m", getattr(mechanism, "k", None))


REFERENCE = (
    "Guerra-Balboa, dissertation, theorem 5.3 and corollary 5.9 (reconstruction#optimal-attack)"
)
INDEPENDENT = "the record is independent of the others, which the attacker knows"
_CELLS = 2**22  # guesses times outputs worked on at once
_TOLERANCE = 1e-9


@renamed(target="record")
def rad(
    mechanism: Any,
    threat: Threat,
    *,
    model: Any = None,
    record: int | None = None,
    known: Mapping[int, Any] | None = None,
    draws: int = 10_000,
    rng: np.random.Generator | None = None,
) -> Rad:
    r"""The largest reconstruction advantage of any attack on a mechanism.

    .. math:: \mathrm{RAD} = \sum_\theta \sum_z \max_g \sum_{x : a(x) = z,\ \ell(x, g) \le \eta}
              \pi_x \big(p(\theta \mid x) - p(\theta)\big)

    where

    - p(theta | x) is the law of the output when the record is x, p(theta) its mean over the prior,
    - z is what the attacker knows of the record (``aux``), g the record he guesses,
    - pi, l and eta are the threat's prior, loss and tolerance.

    It is the success of the best attack on the record that was used minus the success of the same
    attack when an independent record was used instead.

    Parameters
    ----------
    mechanism : mechanism or (m, k) array
        A mechanism with finitely many outputs per record (``channel()``), or the channel itself:
        row x is the law of the output for record x. Local protocols and noisy answers with a
        closed form are asked for it; anything else with ``sample(x, rng)`` and ``logpmf(y, x)``
        for record numbers x is sampled. With a model, a response that acts on each
        record (or its channel), or Laplace noise on a query.
    threat : Threat
    model : Model, optional
        How the record depends on the others, which are unknown unless in ``known``. The
        threat's prior must be the model's law of the record: see :meth:`Threat.under`.
    record : int, optional
        With a model: number of the record attacked, from 0.
    known : mapping of int to state, optional
        With a model: records that the attacker knows.
    draws : int
        Where the mechanism is sampled: number of outputs.
    rng : numpy.random.Generator, optional
        Needed where the mechanism is sampled.

    Returns
    -------
    Rad
        Kind "exact" with the attack as a table (none with a closed form); "estimate" with a
        standard error where sampled; "upper bound" where the model is too large to write out.

    Notes
    -----
    O(m^2 k), O(m k) if only the record itself counts. Sampling: draws x m densities.

    References
    ----------
    Guerra-Balboa, dissertation, definition 5.1, theorem 5.3, corollary 5.9.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> uniform = [.25] * 4
    >>> risk = rad(GRR(4, 1.0), Threat(uniform))
    >>> round(risk.value, 6), risk.kind, risk.attack.guesses.tolist()
    (0.225367, 'exact', [[0, 1, 2, 3]])
    >>> attribute = Threat.attribute(uniform, secret=[0, 1, 0, 1], aux=[0, 0, 1, 1])
    >>> round(rad(GRR(4, 1.0), attribute).value, 6)
    0.150245
    """
    check_threat(threat)
    if model is not None:
        from corrdp.reconstruction.dependent import rad_on_model

        return rad_on_model(mechanism, threat, model, record, known)
    if record is not None or known is not None:
        raise InputError("record and known say which record of a model is attacked: give model=")

    known_form = analytic_rad(mechanism, threat, (INDEPENDENT,))
    if known_form is not None:
        return known_form
    channel = channel_of(mechanism)
    if channel is not None:
        return exact_rad(check_channel(channel, threat), threat)
    from corrdp.reconstruction.effective import sampled_rad

    return sampled_rad(mechanism, threat, draws, rng)


def channel_of(mechanism: Any) -> np.ndarray | None:
    """The channel of a mechanism with finitely many outputs; None for any other mechanism."""
    if callable(getattr(mechanism, "channel", None)):
        return np.asarray(mechanism.channel(), dtype=float)
    if callable(getattr(mechanism, "sample", None)) and callable(
        getattr(mechanism, "logpmf", None)
    ):
        return None
    return check_array("the mechanism, or its channel with one row per record,", mechanism)


def check_channel(channel: np.ndarray, threat: Threat) -> np.ndarray:
    """Refuse a channel whose rows are no laws, or are not one per record of the threat."""
    if channel.ndim != 2 or not channel.size:
        raise InputError(f"a channel is records x outputs, got shape {channel.shape}")
    if len(channel) != threat.m:
        raise InputError(
            f"the mechanism takes {len(channel)} values and the threat's prior has {threat.m} "
            "records"
        )
    if not np.isfinite(channel).all() or (channel < 0).any():
        x, y = np.argwhere(~np.isfinite(channel) | (channel < 0))[0]
        raise InputError(f"channel[{x}, {y}] = {channel[x, y]} must be a probability")
    off = channel.sum(axis=1) - 1.0
    worst = int(np.abs(off).argmax())
    if abs(off[worst]) > _TOLERANCE:
        raise InputError(
            f"row {worst} of the channel sums to {1 + off[worst]:.12g}, off by {off[worst]:.3g}"
        )
    return channel


def exact_rad(
    channel: np.ndarray,
    threat: Threat,
    *,
    edges: np.ndarray | None = None,
    reference: str = REFERENCE,
    assumptions: tuple[str, ...] = (INDEPENDENT,),
) -> Rad:
    """:func:`rad` of a channel that has been checked."""
    law, prior = channel, threat.prior
    # rows of impossible records may be anything: they are never attacked
    mean = prior @ law
    gains = prior[:, None] * (law - mean)
    guesses = best_guesses(gains, threat)
    # summed from the gains, which are small where the risk is
    value = sum(
        float((gains[fibre] * right(threat, fibre, chosen)).sum())
        for fibre, chosen in zip(threat.fibres, guesses, strict=True)
    )
    certificate = Certificate("optimal attack", reference, assumptions)
    attack = GuessingRule(np.array(guesses), threat.labels, edges)
    return Rad(
        value,
        "exact",
        certificate,
        threat.describe(),
        threat.ceiling,
        success_of(law, threat, guesses),
        success_of(mean[None], threat, guesses),
        attack,
    )


def best_guesses(gains: np.ndarray, threat: Threat) -> list[np.ndarray]:
    """For each label the guess of largest gain at every output; the lowest number among equals."""
    return [_best_in(gains[fibre], threat, fibre) for fibre in threat.fibres]


def _best_in(gains: np.ndarray, threat: Threat, fibre: np.ndarray) -> np.ndarray:
    m, outputs = threat.m, gains.shape[1]
    if threat.is_exact:
        chosen = fibre[gains.argmax(axis=0)]
        if len(fibre) == m:
            return chosen
        outside = np.setdiff1d(np.arange(m), fibre)[0]  # certainly wrong
        return np.where(gains.max(axis=0) > 0.0, chosen, outside)
    # guesses that are right about the same records of the fibre are one
    patterns, first = np.unique(threat.success[fibre].T, axis=0, return_index=True)
    patterns, first = patterns[np.argsort(first)].astype(float), np.sort(first)
    chosen = np.empty(outputs, dtype=np.int64)
    step = max(1, _CELLS // len(patterns))
    for k in range(0, outputs, step):
        part = slice(k, k + step)
        chosen[part] = first[(patterns @ gains[:, part]).argmax(axis=0)]
    return chosen


def success_of(law: np.ndarray, threat: Threat, guesses: Sequence[np.ndarray]) -> float:
    """Success rate of an attack when record x gives the outputs with law[x]; one row serves all."""
    total = 0.0
    for fibre, chosen in zip(threat.fibres, guesses, strict=True):
        rows = law[fibre] if len(law) > 1 else law
        total += float((threat.prior[fibre, None] * right(threat, fibre, chosen) * rows).sum())
    return total


def right(threat: Threat, fibre: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Whether the guess at each output is a success for each record of the fibre."""
    if threat.is_exact:
        return fibre[:, None] == chosen
    return threat.success[fibre[:, None], chosen]


def rad_of_attack(
    channel: np.ndarray, threat: Threat, guesses: np.ndarray
) -> tuple[float, float, float]:
    r"""Advantage of a given attack, its success, and its success on another record.

    .. math:: \sum_x \pi_x \sum_\theta [\ell(x, g_{a(x)}(\theta)) \le \eta]
              \big(p(\theta \mid x) - p(\theta)\big)

    where g_z(theta) is the guess after the output theta when the label z is known.

    Parameters
    ----------
    channel : (m, k) array
    threat : Threat
    guesses : (labels, k) array of int
        One row per label, in the order of ``threat.labels``.

    Returns
    -------
    (float, float, float)
        RAD, success on the record used (ReRo), success on another one.

    References
    ----------
    Guerra-Balboa, dissertation, definition 5.1.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> parts = rad_of_attack(GRR(2, 1.0).channel(), Threat([.5, .5]), np.array([[0, 1]]))
    >>> [round(part, 6) for part in parts]
    [0.231059, 0.731059, 0.5]
    """
    law = check_channel(np.asarray(channel, dtype=float), threat)
    table = np.asarray(guesses)
    wanted = (len(threat.labels), law.shape[1])
    if table.shape != wanted or not np.issubdtype(table.dtype, np.integer):
        raise InputError(
            f"guesses must be whole numbers of shape {wanted}, one row per label and one column "
            f"per output; got {table.dtype} of shape {table.shape}"
        )
    if table.min() < 0 or table.max() >= threat.m:
        raise InputError(f"guesses are record numbers 0..{threat.m - 1}, got {table.max()}")
    success = success_of(law, threat, list(table))
    blind = success_of((threat.prior @ law)[None], threat, list(table))
    return success - blind, success, blind
