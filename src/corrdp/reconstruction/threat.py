"""Threats: what an attacker believes, knows and wants of a record; what bounds read and round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_array, check_items, check_number, renamed
from corrdp.bounds.leakage import Leakage
from corrdp.bounds.scope import ROUNDING, up
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Approximate, Guarantee, Pure, Tradeoff, as_guarantee
from corrdp.metric.curves import Curve


def promise_of(given: Any) -> Guarantee:
    """A guarantee, that of a mechanism, a curve as a guarantee, or a number as epsilon.

    Examples
    --------
    >>> from corrdp.mechanisms.local.direct import GRR
    >>> promise_of(GRR(3, 1.0))
    Pure(epsilon=1.0)
    """
    if isinstance(given, Curve):
        return Tradeoff(given)
    if isinstance(given, Leakage):
        return leaked(given)
    return as_guarantee(getattr(given, "guarantee", given))


def leaked(leakage: Leakage) -> Approximate:
    """What a leakage says of a single record: (leakage, delta) in place of (epsilon, delta)."""
    if leakage.unit is not None:
        raise NotApplicableError(
            f"this leakage is about {leakage.unit}, and how likely the values of a whole unit are "
            "before a release is not known here; ask for the leakage of one record"
        )
    return Approximate(leakage.value, leakage.delta)


def epsilon_delta(guarantee: Guarantee) -> tuple[float, float] | None:
    """(epsilon, delta) of a guarantee that is one; None for curves and mu."""
    if isinstance(guarantee, Pure):
        return guarantee.largest, 0.0
    if isinstance(guarantee, Approximate):
        return guarantee.largest, guarantee.largest_delta
    return None


def raised(value: float) -> float:
    """A bound rounded up; 0 is exact."""
    return up(value, ROUNDING) if value > 0.0 else 0.0


Loss = Literal["identity"] | np.ndarray | Sequence[Sequence[float]] | Callable[[int, int], float]
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Threat:
    r"""An attack on one record: the attacker guesses it from the output and what he knows of it.

    The guess g is a success if :math:`\ell(x, g) \le \eta` for the true record x.

    Parameters
    ----------
    prior : (m,) array
        What the attacker believes of the record before the release; sums to 1.
    loss : "identity", (m, m) array, or function of two record numbers
        ``loss[x, g]`` is how wrong the guess g is when the record is x, at least 0; "identity" is 0
        for the record itself and 1 for any other.
    eta : float
        The largest loss that still counts as a success.
    aux : sequence of labels, optional
        What the attacker knows about the record beforehand, one label for each of the m records.
        Left out, he knows nothing; the record itself as label is membership inference.

    References
    ----------
    Balle, Cherubin, Hayes, "Reconstructing training data with informed adversaries" (2022);
    Guerra-Balboa, dissertation, sections 2 and 5.

    Examples
    --------
    >>> Threat([.25] * 4)
    <guess one of 4 records exactly, knowing nothing of it>
    >>> Threat([.25] * 4, loss=lambda x, g: abs(x - g), eta=1).kappa_plus
    0.75
    >>> Threat.attribute([.25] * 4, secret=[0, 1, 0, 1], aux=[0, 0, 1, 1])
    <guess one of 4 records with a loss of at most 0, knowing its label (2 labels)>
    """

    prior: Any
    loss: Any = "identity"
    eta: float = 0.0
    aux: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "prior", _check_prior(self.prior))
        object.__setattr__(self, "eta", _check_eta(self.eta))
        object.__setattr__(self, "loss", _check_loss(self.loss, len(self.prior)))
        if self.aux is not None:
            labels = check_items("aux", self.aux)
            if len(labels) != len(self.prior):
                raise InputError(
                    f"aux needs one label per record: {len(self.prior)} records, {len(labels)} "
                    "labels"
                )
            bad = next((x for x in labels if not isinstance(x, Hashable)), None)
            if bad is not None:
                raise InputError(f"labels in aux must be plain values, got {bad!r}; use a tuple")
            object.__setattr__(self, "aux", labels)

    # -- the usual threats ---------------------------------------------------------------------

    @classmethod
    def membership(cls, prior: Sequence[float] | np.ndarray) -> Threat:
        """Was it this record? The attacker has the record and says whether it was used.

        Examples
        --------
        >>> Threat.membership([.5, .5])
        <guess one of 2 records exactly, knowing the record: was it used?>
        """
        law = _check_prior(prior)
        return cls(law, aux=range(len(law)))

    @classmethod
    def attribute(
        cls,
        prior: Sequence[float] | np.ndarray,
        *,
        secret: Sequence[Any],
        aux: Sequence[Any] | None = None,
    ) -> Threat:
        """Find out one attribute of a record, knowing others.

        Only the attribute counts: a guess of another record with the same value is a success.

        Parameters
        ----------
        prior : (m,) array
        secret : sequence
            The attribute of each record.
        aux : sequence, optional
            What is known of each record.

        Examples
        --------
        >>> threat = Threat.attribute([.25] * 4, secret=[0, 1, 0, 1], aux=[0, 0, 1, 1])
        >>> threat.success.astype(int).tolist()
        [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
        """
        law, values = _check_prior(prior), list(secret)
        if len(values) != len(law):
            raise InputError(
                f"secret needs one value per record: {len(law)} records, {len(values)} values"
            )
        loss = np.array([[float(a != b) for b in values] for a in values])
        return cls(law, loss, aux=aux)

    @classmethod
    def reconstruction(
        cls, prior: Sequence[float] | np.ndarray, loss: Loss = "identity", eta: float = 0.0
    ) -> Threat:
        """Find out the whole record, knowing nothing of it.

        Examples
        --------
        >>> Threat.reconstruction([.2] * 5, loss=lambda x, g: abs(x - g), eta=1)
        <guess one of 5 records with a loss of at most 1, knowing nothing of it>
        """
        return cls(prior, loss, eta)

    @classmethod
    @renamed(target="record")
    def under(
        cls,
        model: Any,
        record: int | None = None,
        known: Mapping[int, Any] | None = None,
        *,
        loss: Loss = "identity",
        eta: float = 0.0,
        aux: Sequence[Any] | None = None,
    ) -> Threat:
        """A threat whose prior is a model's law of one record given the known ones.

        Parameters
        ----------
        model : Model
        record : int, optional
            Number of the record attacked; may be left out for a stationary chain of any length.
        known : mapping of int to state, optional
        loss, eta, aux
            As for the class; records are the model's states, in its order.

        Examples
        --------
        >>> from corrdp import MarkovChain
        >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=3)
        >>> Threat.under(chain, 1, {0: 0, 2: 0}).prior.round(6).tolist()
        [0.975904, 0.024096]
        """
        from corrdp.reconstruction.dependent import prior_of

        return cls(prior_of(model, record, known), loss, eta, aux)

    # -- what the bounds need ------------------------------------------------------------------

    @property
    def m(self) -> int:
        """How many values the record may have."""
        return len(self.prior)

    @property
    def knows_nothing(self) -> bool:
        """Whether the attacker knows nothing of the record beforehand."""
        return self.aux is None or len(set(self.aux)) == 1

    @cached_property
    def fibres(self) -> list[np.ndarray]:
        """Records of each label, in order of first appearance."""
        if self.knows_nothing:
            return [np.arange(self.m)]
        numbers: dict[Any, list[int]] = {}
        for x, label in enumerate(self.aux):
            numbers.setdefault(label, []).append(x)
        return [np.array(members) for members in numbers.values()]

    @property
    def labels(self) -> tuple[Any, ...]:
        """The labels of :attr:`fibres`; one None when nothing is known."""
        return (None,) if self.knows_nothing else tuple(dict.fromkeys(self.aux))

    @cached_property
    def success(self) -> np.ndarray:
        """``success[x, g]``: whether guessing g is a success when the record is x."""
        if isinstance(self.loss, str):
            return np.eye(self.m, dtype=bool) | (self.eta >= 1)
        return np.asarray(self.loss <= self.eta)

    @cached_property
    def is_exact(self) -> bool:
        """Whether only the record itself counts as a success."""
        if isinstance(self.loss, str):
            return self.eta < 1
        return bool((self.success == np.eye(self.m, dtype=bool)).all())

    @cached_property
    def kappa(self) -> float:
        """Probability that two independent draws from the prior are the same record."""
        return float(self.prior @ self.prior)

    @cached_property
    def ceiling(self) -> float:
        """The largest reconstruction advantage there is, 1 - kappa."""
        return float(self.prior @ (1.0 - self.prior))

    @cached_property
    def hits(self) -> np.ndarray:
        """Success rate of each constant guess."""
        return self.prior if self.is_exact else np.minimum(self.prior @ self.success, 1.0)

    @property
    def kappa_plus(self) -> float:
        """Success rate of the best constant guess."""
        return float(self.hits.max())

    @property
    def kappa_minus(self) -> float:
        """Success rate of the worst constant guess."""
        return float(self.hits.min())

    @cached_property
    def support(self) -> np.ndarray:
        """Records of positive prior probability."""
        return np.flatnonzero(self.prior > 0)

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all possible records are equally likely (to rounding)."""
        possible = self.prior[self.support]
        return bool(possible.max() - possible.min() <= 1e-15)

    def describe(self) -> str:
        """One line for people."""
        how = "exactly" if self.is_exact else f"with a loss of at most {self.eta:g}"
        count = len(self.labels)
        if self.knows_nothing:
            what = "knowing nothing of it"
        elif count == self.m:
            what = "knowing the record: was it used?"
        else:
            what = f"knowing its label ({count} labels)"
        return f"guess one of {self.m} records {how}, {what}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


def check_threat(threat: Any) -> Threat:
    """Refuse anything that is not a threat."""
    if not isinstance(threat, Threat):
        raise InputError(f"threat must be a Threat(prior, ...), got {threat!r}")
    return threat


def _check_prior(prior: Any) -> np.ndarray:
    law = check_array("prior", prior)
    if law.ndim != 1 or not law.size:
        raise InputError(f"prior must be one probability per record, got shape {law.shape}")
    bad = np.flatnonzero(~np.isfinite(law) | (law < 0))
    if bad.size:
        raise InputError(f"prior[{bad[0]}] = {law[bad[0]]} must be a probability")
    off = float(law.sum()) - 1.0
    if abs(off) > _TOLERANCE:
        raise InputError(
            f"prior sums to {1 + off:.12g}, not 1 (off by {off:.3g}); divide by the total"
        )
    law /= law.sum()
    law.setflags(write=False)
    return law


def _check_eta(eta: Any) -> float:
    return check_number("eta, the largest loss that counts as a success,", eta, least=0)


def _check_loss(loss: Any, m: int) -> Any:
    if isinstance(loss, str):
        if loss != "identity":
            raise InputError(
                f'loss must be "identity", an {m} x {m} array or a function, got {loss!r}'
            )
        return loss
    if callable(loss):
        loss = [[loss(x, g) for g in range(m)] for x in range(m)]
    matrix = check_array("loss", loss)
    if matrix.shape != (m, m):
        raise InputError(
            f"loss must be {m} x {m}, one row per record and one column per guess; got shape "
            f"{matrix.shape}"
        )
    bad = np.argwhere(np.isnan(matrix) | (matrix < 0))
    if bad.size:
        x, g = (int(k) for k in bad[0])
        raise InputError(f"loss[{x}, {g}] = {matrix[x, g]} must be a number >= 0")
    matrix.setflags(write=False)
    return matrix
