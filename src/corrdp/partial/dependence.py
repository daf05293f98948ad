"""What differential privacy says about attackers with partial knowledge, and when it says nothing.

An attacker who knows less is weaker if the records are independent. If they depend on each other he
may be *stronger*: what he does not know moves together with the target.
"""

from __future__ import annotations

from dataclasses import dataclass

from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import Approximate, Pure
from corrdp.models.base import Model
from corrdp.models.independent import Independent
from corrdp.partial.knowledge import check_amount
from corrdp.results import Certificate


@dataclass(frozen=True)
class PartialPromise:
    """(epsilon, delta) against every attacker, whichever records he knows.

    Parameters
    ----------
    epsilon, delta : float
    certificate : Certificate
    """

    epsilon: float
    delta: float
    certificate: Certificate


def dp_promise(guarantee: float | Pure | Approximate, model: Model) -> PartialPromise:
    r"""What a DP mechanism promises against attackers who know any part of the other records.

    On independent records the same (epsilon, delta): the law of the output given what is known is
    a mixture over the unknown records, with the same weights for both values of the target, and

    .. math:: H_\varepsilon\Big(\sum_u w_u P_u \Big\| \sum_u w_u Q_u\Big)
              \le \sum_u w_u H_\varepsilon(P_u \| Q_u)

    where u runs over the values of the unknown records. On dependent records the weights differ,
    and the promise is the leakage on the model; for delta > 0 there is none.

    Parameters
    ----------
    guarantee : float, Pure or Approximate
    model : Model

    Raises
    ------
    GuaranteeError
        For delta > 0 on dependent records.

    References
    ----------
    Westenfeld, bachelor thesis, lemma 4.11, which leaves the independence out;
    docs/theorems.md#dependence-and-ignorance.

    Examples
    --------
    >>> from corrdp.models.groups import Groups
    >>> dp_promise(Approximate(1.0, 1e-6), Independent()).delta
    1e-06
    >>> dp_promise(1.0, Groups(3)).epsilon
    3.0
    >>> dp_promise(Approximate(1.0, 1e-6), Groups(3))
    Traceback (most recent call last):
    ...
    corrdp.errors.GuaranteeError: ...
    """
    if not isinstance(model, Model):
        raise InputError(f"model must be a model of dependence, got {model!r}")
    if not isinstance(guarantee, Pure | Approximate):
        guarantee = Pure(check_amount("guarantee", guarantee))
    epsilon = guarantee.largest if isinstance(guarantee, Pure) else guarantee.epsilon
    delta = 0.0 if isinstance(guarantee, Pure) else guarantee.delta
    if isinstance(model, Independent):
        reference = "joint convexity (docs/theorems.md#dependence-and-ignorance)"
        return PartialPromise(
            epsilon, delta, Certificate("ignorance", reference, model.assumptions)
        )
    if delta > 0:
        raise GuaranteeError(
            f"(epsilon, delta)-DP with delta = {delta:g} promises nothing to an attacker with "
            f"partial knowledge on {model.describe()}: 'DP holds whatever the attacker knows' "
            "needs independent records. With one common bias of .3 or .7 a count that is "
            "(1, .0068)-DP has delta .0157 on average and .0599 at worst when 10 of 20 records "
            "are known; see partial_delta with a Mixture. Use a mechanism with delta = 0"
        )
    from corrdp.bounds.leakage import leakage

    leak = leakage(model, guarantee)
    return PartialPromise(leak.value, 0.0, leak.certificate)
