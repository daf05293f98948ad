"""Local protocols: each person randomizes one value of k before anybody else sees it."""

from __future__ import annotations

from corrdp.errors import InputError
from corrdp.mechanisms.local.base import LocalProtocol
from corrdp.mechanisms.local.direct import GRR, SHE
from corrdp.mechanisms.local.hashing import BLH, OLH
from corrdp.mechanisms.local.subset import SS
from corrdp.mechanisms.local.unary import OUE, SUE, THE

PROTOCOLS: dict[str, type[LocalProtocol]] = {
    "grr": GRR,
    "ss": SS,
    "sue": SUE,
    "oue": OUE,
    "the": THE,
    "she": SHE,
    "blh": BLH,
    "olh": OLH,
}


def protocol(name: str, k: int, epsilon: float) -> LocalProtocol:
    """The protocol called ``name``, upper or lower case.

    Parameters
    ----------
    name : str
        grr, ss, sue, oue, the, she, blh or olh.
    k : int
        How many values there are.
    epsilon : float
        The DP level.

    Examples
    --------
    >>> protocol("OLH", 100, 1.0)
    OLH(k=100, epsilon=1.0)
    """
    try:
        kind = PROTOCOLS[str(name).lower()]
    except KeyError:
        raise InputError(
            f"there is no protocol {name!r}; the protocols are {', '.join(PROTOCOLS)}"
        ) from None
    return kind(k, epsilon)
