"""What no mechanism can do: the error that a BDP level forces on every release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp.bounds.exact import adversaries
from corrdp.encoding import SCHEMA, check_header, encode
from corrdp.errors import InputError, NotApplicableError
from corrdp.models.base import Model
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.groups import Groups
from corrdp.models.independent import Independent
from corrdp.models.pedigrees.pedigree import Pedigree
from corrdp.models.table import JointTable
from corrdp.queries import Histogram, Query
from corrdp.reading import resolved
from corrdp.results import Certificate

REFERENCE = "Lange (2024), theorem 4.6 and corollary 4.7 (docs/theorems.md#impossibility)"


@dataclass(frozen=True, repr=False)
class MinimumError:
    """No mechanism with BDP level ``target`` errs by ``alpha`` or less all the time.

    Parameters
    ----------
    alpha : float
        With probability at least ``beta`` the error is alpha or more, on one of two data sets.
    beta : float
        ``1 / (e^target + 1)``.
    spread : float
        How far apart the query is on these two data sets, ``2 alpha``.
    target : float
    certificate : Certificate
    """

    alpha: float
    beta: float
    spread: float
    target: float
    certificate: Certificate

    def __float__(self) -> float:
        return self.alpha

    def __repr__(self) -> str:
        return (
            f"At BDP level {self.target:.6g} every mechanism errs by at least {self.alpha:.6g} "
            f"with probability at least {self.beta:.6g}\n"
            f"  certificate  {self.certificate.name}: {self.certificate.reference}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        data = {"corrdp": SCHEMA, "result": "minimum error", **encode(vars(self))}
        data["certificate"] = self.certificate.to_dict()
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> MinimumError:
        """Inverse of :meth:`to_dict`."""
        check_header(data, "minimum error")
        alpha, beta, spread, target = (
            float(data[name]) for name in ("alpha", "beta", "spread", "target")
        )
        return cls(alpha, beta, spread, target, Certificate.from_dict(data["certificate"]))


def minimum_error(model: Model, target: float, *, query: Query) -> MinimumError:
    """The error that every mechanism with BDP level ``target`` must make.

    If two data sets D, D' cannot be told apart by more than e^target, an answer that is within
    ``|f(D) - f(D')| / 2`` of the truth on both must fail with probability at least
    ``beta = 1 / (e^target + 1)`` on one of them.

    Parameters
    ----------
    model : Model
        For ``Groups`` some law in the model makes a block one value repeated, so D and D' may
        differ in the whole block; for a joint table the pairs that known records and one target
        settle; for independent records and chains D and D' differ in one record.
    target : float
    query : Query

    Returns
    -------
    MinimumError

    References
    ----------
    Lange, master thesis (2024), theorem 4.6. Answering f(D) or f(D') by randomized response shows
    that beta cannot be improved.

    Examples
    --------
    >>> from corrdp import Count, Groups
    >>> least = minimum_error(Groups(10), 1.0, query=Count(where="x"))
    >>> least.alpha, round(least.beta, 6)
    (5.0, 0.268941)
    """
    if not (math.isfinite(target) and target > 0):
        raise InputError(f"target must be a finite number > 0, got {target}")
    query = resolved(model, query)
    if isinstance(query, Histogram):
        raise NotApplicableError("minimum_error is about one number; ask for a Count per category")
    spread = _spread(model, query)
    said = (*model.assumptions, *query.assumptions)
    return MinimumError(
        alpha=spread / 2.0,
        beta=1.0 / (math.exp(target) + 1.0),
        spread=spread,
        target=float(target),
        certificate=Certificate("impossibility", REFERENCE, said),
    )


def _spread(model: Model, query: Query) -> float:
    """Largest difference of the query between two data sets that must look alike."""
    if isinstance(model, Groups):
        assert model.m is not None
        return model.m * query.sensitivity
    if isinstance(model, Independent):
        return query.sensitivity
    if isinstance(model, JointTable):
        return _table_spread(model, query)
    if isinstance(model, MarkovChain):
        return _neighbour_spread(model, query)
    if isinstance(model, Pedigree):
        return max(_table_spread(shape.table(), query) for shape in model.shapes)
    raise NotApplicableError(f"no impossibility bound for {model.describe()}")


def _table_spread(table: JointTable, query: Query) -> float:
    answers = np.array([query.on_grid(list(values))[0] for values in table.law])
    widest = 0
    for _, _, _, split in adversaries(table):
        settled = [answers[rows[0]] for _, rows in split if len(rows) == 1]
        if len(settled) > 1:
            widest = max(widest, int(max(settled) - min(settled)))
    return widest * query.grid


def _neighbour_spread(chain: MarkovChain, query: Query) -> float:
    """Two values of one record that the same neighbours allow."""
    scores = query.scores(chain.states)
    assert scores is not None
    factor = query.grid / getattr(query, "base_grid", 1.0)  # a mean divides by the public number
    kernels = chain.transition if not chain.homogeneous else chain.transition[None]
    states = np.flatnonzero(chain.occurring)
    widest = 0.0
    if chain.length == 1:
        kernels = chain.start[None, None, :]
    for into in kernels:
        for row in into:
            both = [x for x in states if row[x] > 0]
            for x in both:
                for z in both:
                    # some record follows both, or none does: the last record always may differ
                    widest = max(widest, abs(float(scores[x] - scores[z])))
    return widest * factor
