"""The largest advantage that any threat gives, as a share of what total disclosure would."""

from __future__ import annotations

from typing import Any

import numpy as np

from corrdp.errors import InputError
from corrdp.metric.tradeoff import curve_of
from corrdp.reconstruction.exact import INDEPENDENT, channel_of, check_channel
from corrdp.reconstruction.promises import promise_of, raised
from corrdp.reconstruction.results import Advantage
from corrdp.reconstruction.threat import Threat
from corrdp.results import Certificate, Kind

_REFERENCE = "Guerra-Balboa, dissertation, theorem 5.2 (docs/theorems.md#risk-bounds)"
_THREAT = "any threat with any prior; attained by two equally likely records"


def advantage(guarantee: Any) -> Advantage:
    r"""The largest normalised advantage: no attack has more than this share of its ceiling.

    .. math:: \frac{\mathrm{RAD}}{1 - \kappa} \le \max_\alpha (1 - f(\alpha) - \alpha)
              = \frac{e^\varepsilon - 1 + 2\delta}{e^\varepsilon + 1}
              \text{ for } (\varepsilon, \delta)\text{-DP}

    where

    - f is the trade-off curve, and the maximum the total variation of two records' outputs,
    - kappa is the probability that two draws from the prior are the same record.

    For membership this is the true positive minus the false positive rate of the best attack by
    someone who hesitates between two records.

    Parameters
    ----------
    guarantee : guarantee, float, mechanism with ``channel()``, or (m, k) array
        A number is epsilon. Of a mechanism the law counts, not only what it promises.

    Returns
    -------
    Advantage

    References
    ----------
    Guerra-Balboa, dissertation, equation 2.2 and theorem 5.2; Humphries et al. (2023).

    Examples
    --------
    >>> round(advantage(1.0).value, 6)
    0.462117
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> told = advantage(GRR(4, 1.0))
    >>> round(told.value, 6), told.pair
    (0.300489, (0, 1))
    """
    certificate = Certificate("total variation", _REFERENCE, (INDEPENDENT,))
    rows = isinstance(guarantee, list | tuple | np.ndarray)
    if rows or callable(getattr(guarantee, "channel", None)):
        channel = channel_of(guarantee)
        assert channel is not None
        if channel.ndim != 2 or not channel.size:
            raise InputError(f"a channel is records x outputs, got shape {channel.shape}")
        law = check_channel(channel, Threat(np.full(len(channel), 1 / len(channel))))
        value, pair = _farthest(law)
        return Advantage(value, "exact", certificate, _THREAT, pair)
    curve = curve_of(promise_of(guarantee))
    kind: Kind = "exact" if curve.symmetric else "upper bound"
    return Advantage(min(1.0, raised(curve.total_variation)), kind, certificate, _THREAT)


def _farthest(law: np.ndarray) -> tuple[float, tuple[int, int] | None]:
    """Largest total variation of two rows, and which they are."""
    best, pair = 0.0, None
    for x in range(len(law) - 1):
        apart = np.abs(law[x + 1 :] - law[x]).sum(axis=1) / 2
        if apart.max() > best:
            best, pair = float(apart.max()), (x, x + 1 + int(apart.argmax()))
    return best, pair
