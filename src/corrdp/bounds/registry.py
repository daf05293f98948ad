"""Bounds register themselves beside their theorems; here is which of them a model has.

Nothing here imports numpy, so that ``--help`` can list the names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from corrdp.errors import NotApplicableError

if TYPE_CHECKING:
    from corrdp.bounds.scope import Bound, Scope
    from corrdp.models.base import Model

    Method = Callable[[Model, Scope], Bound]
    Given = Callable[[Any, Scope], tuple[Any, ...]]

# every bound by name with what it is, in the order in which results and --help list them
METHODS = {
    "general": "the epsilons of all records that depend on each other, added up",
    "lange": "as published by Lange: by the extreme probabilities or correlations alone",
    "zhao": "as published by Zhao and others: epsilon and a constant of the kernel",
    "ratio": "epsilon and a constant: the largest ratio within a column of the kernel",
    "blocks": "contraction on blocks of as many records as the chain remembers",
    "contraction": "what a record tells fades with distance, in closed form",
    "transfer": "what a record tells, followed record by record to the worst adversary",
    "walks": "contraction along walks through the network that never return",
    "bags": "contraction from layer to layer of the network, as along a chain",
    "exact": "the worst case itself, or a bound on it for this query alone",
    "sharp": "a factor of the largest correlation and the size of a block alone",
    "positive": "all covariances added up, where the adversary who knows nothing is worst",
    "comparison": "all adversaries at once, by a matrix made from the inverse covariance",
    "forgetting": "correlations that fade with distance, whatever their signs",
    "regression": "the worst regression of the others on a record, over all adversaries",
    "uninformed": "the adversary who knows no other record",
    "signed": "one unclipped sum, whose correlations may cancel",
    "unclipped": "one unclipped sum with Gaussian noise, exactly",
    "estimate": "no bound: one clipped sum to one adversary, by integration",
    "attained": "no bound: what Gaussian noise gives away at least",
}
# never tried unasked: they hold for less than every mechanism, or are no bounds at all
BY_NAME_ONLY = ("signed", "unclipped", "estimate", "attained")
# where the bounds on a kind of model are, besides the general one: no others are imported for it
HOMES = {
    "table": ("exact",),
    "markov": (
        "chains.ratios",
        "contraction",
        "chains.sides",
        "chains.transfer",
        "chains.bridges",
        "chains.counting",
        "chains.withholding",
        "chains.uninformed",
        "chains.normal",
        "chains.boxes",
    ),
    "window": (
        "chains.windows",
        "chains.orders",
        "chains.sides",
        "chains.ratios",
        "chains.boxes",
        "exact",
    ),
    "class": ("contraction", "chains.sides"),
    "joint": ("chains.joint", "chains.known_cells"),
    "switching": ("chains.windows", "chains.sides", "chains.stretches"),
    "tree": ("trees", "messages", "exact"),
    "field": ("fields", "walks", "messages", "bags", "exact"),
    "seasonal": ("chains.seasons", "chains.phases", "chains.timetables"),
    "pedigree": ("pedigrees", "branches"),
    "gaussian": ("gaussian.methods", "gaussian.shifts"),
}

REGISTERED: dict[tuple[str, type, bool, bool], tuple[Callable[..., Bound], Given]] = {}
Theorem = TypeVar("Theorem", bound="Callable[..., Bound]")


def level(model: Model, scope: Scope) -> tuple[Any, ...]:
    """The DP level."""
    return (scope.dp,)


def level_and_region(model: Model, scope: Scope) -> tuple[Any, ...]:
    """The DP level, and the kernels that the data of a fitted chain still allow."""
    return scope.dp, scope.region


def level_and_confidence(model: Model, scope: Scope) -> tuple[Any, ...]:
    """The DP level, and the joint level of confidence; None for one law."""
    return scope.dp, scope.confidence


def whole(model: Model, scope: Scope) -> tuple[Any, ...]:
    """The scope itself."""
    return (scope,)


def bound(
    name: str,
    *,
    on: type,
    confidence: bool = False,
    paired: bool = False,
    given: Given = level,
) -> Callable[[Theorem], Theorem]:
    """Register a function that takes a model, and then what it is given, as a bound.

    Parameters
    ----------
    name : str
        One of METHODS; the bound on a chain and that on a tree may share one.
    on : type
        Kind of model; that of a subclass goes before that of its base.
    confidence : bool
        Whether it holds for every law that the data of a fit still allow. A bound without such
        a twin refuses a confidence.
    paired : bool
        Whether it is for guarantees with a delta and for units larger than a record. A bound
        without such a twin refuses them.
    given : function of model and scope
        What it takes after the model; NotApplicableError where the scope has no such thing.
    """

    def register(theorem: Theorem) -> Theorem:
        REGISTERED[name, on, confidence, paired] = theorem, given
        return theorem

    return register


@cache
def applicable(kind: type[Model]) -> dict[str, Method]:
    """The bounds on a kind of model by name."""
    for home in ("general", *HOMES.get(kind.kind, ())):
        import_module(f"corrdp.bounds.{home}")
    return {name: partial(_evaluate, name) for name in METHODS if _any(name, kind)}


def _any(name: str, kind: type) -> bool:
    return any(_found(name, kind, paired=paired) for paired in (False, True))


def _found(name: str, kind: type, confidence: bool = False, paired: bool = False) -> Any:
    found = (REGISTERED.get((name, base, confidence, paired)) for base in kind.__mro__)
    return next((entry for entry in found if entry is not None), None)


def _evaluate(name: str, model: Model, scope: Scope) -> Bound:
    entry = _found(name, type(model), scope.confidence is not None, scope.is_paired)
    if entry is None and scope.is_paired and not _found(name, type(model), paired=True):
        raise NotApplicableError(f"{name} is for pure guarantees and single records")
    if entry is None and not scope.is_paired and not _found(name, type(model)):
        raise NotApplicableError(f"{name} is for guarantees with a delta")
    if entry is None:
        raise NotApplicableError(f"{name} is for one law, not for a confidence region")
    theorem, given = entry
    return theorem(model, *given(model, scope))
