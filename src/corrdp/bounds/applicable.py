"""Which bounds apply to which model, and what each is given.

The order within a model is the order in which the bounds are listed in a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.bounds.scope import Bound, Scope
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import L1
from corrdp.models.base import Model
from corrdp.queries import Query, Sum

if TYPE_CHECKING:
    from corrdp.models.chains.chain import SwitchingChain
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.chains.window import WindowChain
    from corrdp.models.gaussian.records import GaussianRecords
    from corrdp.models.groups import JointTable
    from corrdp.models.networks.field import MarkovField
    from corrdp.models.networks.tree import MarkovTree
    from corrdp.models.pedigrees.pedigree import Pedigree

Method = Callable[[Any, Scope], Bound]

# asked for by name only: they hold for less than every mechanism, or are no bounds at all
BY_NAME_ONLY = ("signed", "estimate")


def _general(model: Model, scope: Scope) -> Bound:
    from corrdp.bounds.general import general, one_block

    if scope.region is not None:
        # rows of the estimate may agree where those of the true kernel do not
        return one_block(model, scope.dp)
    return general(model, scope.dp)


def _no_region(scope: Scope, name: str) -> None:
    if scope.confidence is not None:
        raise NotApplicableError(f"{name} is for one law, not for a confidence region")


def _additive(name: str) -> Method:
    def method(model: MarkovChain, scope: Scope) -> Bound:
        from corrdp.bounds.chains import ratios

        _no_region(scope, name)
        return getattr(ratios, name)(model, scope.dp)

    return method


def _ratio(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.chains.ratios import ratio, uncertain_ratio

    if scope.region is not None:
        return uncertain_ratio(model, scope.dp, scope.region)
    return ratio(model, scope.dp)


def _contraction(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.chains.ratios import uncertain_contraction
    from corrdp.bounds.contraction import contraction

    if scope.region is not None:
        return uncertain_contraction(model, scope.dp, scope.region)
    return contraction(model, scope.dp)


def _blocks(model: WindowChain, scope: Scope) -> Bound:
    from corrdp.bounds.chains.ratios import uncertain_blocks
    from corrdp.bounds.chains.windows import blocks

    if scope.region is not None:
        return uncertain_blocks(model, scope.dp, scope.region)
    return blocks(model, scope.dp)


def _windows(model: WindowChain, scope: Scope) -> Bound:
    from corrdp.bounds.chains.windows import window_contraction

    _no_region(scope, "contraction on windows")
    return window_contraction(model, scope.dp)


def _switching(model: SwitchingChain, scope: Scope) -> Bound:
    from corrdp.bounds.chains.windows import switching_contraction

    return switching_contraction(model, scope.dp, scope.confidence)


def _steps(model: MarkovChain, scope: Scope) -> np.ndarray:
    """eps_t(x, x') of the scope: one matrix, or one per record."""
    from corrdp.bounds.chains.transfer import step_matrices
    from corrdp.mechanisms.base import steps

    if scope.local is not None:
        apart = 1.0 - np.eye(len(model.states))
        return (steps(scope.local.channel()) + scope.spent * apart)[None]
    if scope.dp.is_vector and model.length is None:
        raise InputError("one epsilon per record needs a chain with a length")
    return step_matrices(model, scope.dp.epsilon)


def _transfer(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.chains.transfer import transfer

    _no_region(scope, "transfer")
    if scope.dp.is_vector and model.length is not None:
        scope.dp.vector(model.length)  # one entry per record, or an error that says so
    return transfer(model, _steps(model, scope))


def _uninformed(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.chains.uninformed import uninformed_by_steps

    _no_region(scope, "uninformed")
    if scope.adversary != "none":
        raise NotApplicableError('it is about who knows no other record: ask for adversary="none"')
    steps = _steps(model, scope)
    if len(steps) > 1:
        raise NotApplicableError("it takes one epsilon for all records")
    return uninformed_by_steps(model, steps[0])


def _no_gaps(query: Query) -> None:
    """Leaving records out of a count can raise what it leaks, and which are missing is not known
    when the noise is chosen."""
    if query.missing == "skip":
        raise NotApplicableError(
            'exact is about a query that reads every record; with missing="skip" one of them left '
            "out may leak more. Use method='best'"
        )


def _exact_chain(model: MarkovChain, scope: Scope) -> Bound:
    from corrdp.bounds.chains.counting import exact_sum
    from corrdp.bounds.exact import is_short, table_of

    _no_region(scope, "exact")
    if scope.query is not None:
        _no_gaps(scope.query)
    if scope.query is not None:
        scores = scope.query.scores(model.states)
        if scores is not None and not scope.dp.is_vector and model.homogeneous:
            try:
                return exact_sum(model, scores, scope.dp.largest, scope.query.steps)
            except NotApplicableError as error:
                reason = error
        else:
            reason = NotApplicableError(
                "exact on long chains needs one kernel and a count or sum over all records; "
                "use transfer"
            )
        if not is_short(model):
            raise reason
        return _exact_table(table_of(model), scope)
    if int(model.occurring.sum()) == 2:
        # every output of randomized response is one orientation of the transfer bound
        bound = _transfer(model, scope)
        if bound.kind != "exact":
            raise NotApplicableError("the chain mixes too slowly for an exact value; use transfer")
        return bound
    return _exact_table(table_of(model), scope)


def _exact_table(model: JointTable, scope: Scope) -> Bound:
    from corrdp.bounds.exact import exact_every_mechanism, exact_local, exact_query

    if scope.query is not None:
        _no_gaps(scope.query)
        return exact_query(model, scope.query, scope.dp.largest)
    if scope.local is not None:
        if scope.spent:
            raise NotApplicableError("exact is for one mechanism alone; the fit is a second one")
        return exact_local(model, scope.local.channel())
    assert model.length is not None
    return exact_every_mechanism(model, scope.dp.vector(model.length))


# -- trees and networks ------------------------------------------------------------------------


def _tree_contraction(model: MarkovTree, scope: Scope) -> Bound:
    from corrdp.bounds.trees import tree_contraction

    return tree_contraction(model, scope.dp)


def _tree_transfer(model: MarkovTree, scope: Scope) -> Bound:
    from corrdp.bounds.trees import tree_transfer

    who = scope.adversary
    if who is None or who == "none":
        raise NotApplicableError(
            "transfer on a tree is for one adversary: give adversary=Adversary(target, known)"
        )
    return tree_transfer(model, scope.dp, who.target, dict(who.known))


def _field_contraction(model: MarkovField, scope: Scope) -> Bound:
    from corrdp.bounds.fields import field_contraction, uncertain_field

    if scope.confidence is not None:
        return uncertain_field(model, scope.dp, scope.confidence)
    return field_contraction(model, scope.dp)


def _field_walks(model: MarkovField, scope: Scope) -> Bound:
    from corrdp.bounds.trees import field_walks

    _no_region(scope, "walks")
    return field_walks(model, scope.dp)


def _written_out(write: str) -> Method:
    """Enumeration of a small model; ``write`` names the function that writes out its law."""

    def method(model: Any, scope: Scope) -> Bound:
        from corrdp.bounds import exact

        _no_region(scope, "exact")
        return _exact_table(getattr(exact, write)(model), scope)

    return method


def _exact_pedigree(model: Pedigree, scope: Scope) -> Bound:
    from corrdp.bounds.pedigrees import exact_pedigree

    if scope.local is not None:
        raise NotApplicableError("exact on a pedigree is for a query or for every mechanism")
    return exact_pedigree(model, scope.query, scope.dp)


# -- Gaussian records --------------------------------------------------------------------------


def _gaussian(name: str) -> Method:
    def method(model: GaussianRecords, scope: Scope) -> Bound:
        from corrdp.bounds.gaussian import methods

        _no_region(scope, name)
        return getattr(methods, name)(model, _l1(model, scope), rounding=_rounding(scope.query))

    return method


def _l1(model: GaussianRecords, scope: Scope) -> L1:
    from corrdp.bounds.gaussian.methods import check_range

    check_range(model)
    if isinstance(scope.guarantee, L1):
        return scope.guarantee
    raise NotApplicableError(
        "it is about l1-private mechanisms, such as Laplace noise on a clipped sum or mean; "
        "Pure(epsilon), a count and a histogram say nothing about how near values are told apart"
    )


def _rounding(query: Query | None) -> float:
    """Each record is rounded to the grid of a sum before it is added."""
    return query.base_grid if isinstance(query, Sum) else 0.0


def _regression(model: GaussianRecords, scope: Scope) -> Bound:
    from corrdp.bounds.gaussian.methods import regression, uncertain_regression

    guarantee, rounding = _l1(model, scope), _rounding(scope.query)
    if scope.confidence is not None:
        return uncertain_regression(model, guarantee, scope.confidence, rounding=rounding)
    return regression(model, guarantee, rounding=rounding)


def _signed(model: GaussianRecords, scope: Scope) -> Bound:
    from corrdp.bounds.gaussian.methods import signed

    _no_region(scope, "signed")
    if scope.query is not None:
        raise NotApplicableError("signed is for sums that are not clipped, and every query clips")
    return signed(model, _l1(model, scope))


def _estimate(model: GaussianRecords, scope: Scope) -> Bound:
    from corrdp.bounds.gaussian.methods import estimate

    _no_region(scope, "estimate")
    if not isinstance(scope.query, Sum):
        raise NotApplicableError("estimate works out one clipped sum or mean: give query=Sum(...)")
    return estimate(model, _l1(model, scope), scope.query)


APPLICABLE: dict[str, dict[str, Method]] = {
    "independent": {"general": _general},
    "groups": {"general": _general},
    "table": {"general": _general, "exact": _exact_table},
    "markov": {
        "general": _general,
        "lange": _additive("lange"),
        "zhao": _additive("zhao"),
        "ratio": _ratio,
        "contraction": _contraction,
        "transfer": _transfer,
        "exact": _exact_chain,
        "uninformed": _uninformed,
    },
    "window": {
        "general": _general,
        "blocks": _blocks,
        "contraction": _windows,
        "exact": _written_out("window_table"),
    },
    "switching": {"general": _general, "contraction": _switching},
    "tree": {
        "general": _general,
        "contraction": _tree_contraction,
        "transfer": _tree_transfer,
        "exact": _written_out("tree_table"),
    },
    "field": {
        "general": _general,
        "contraction": _field_contraction,
        "walks": _field_walks,
        "exact": _written_out("field_table"),
    },
    "pedigree": {"general": _general, "exact": _exact_pedigree},
    "gaussian": {
        "general": _general,
        "lange": _gaussian("lange"),
        "sharp": _gaussian("sharp"),
        "positive": _gaussian("positive"),
        "comparison": _gaussian("comparison"),
        "regression": _regression,
        "signed": _signed,
        "estimate": _estimate,
    },
}

METHODS = tuple(dict.fromkeys(name for methods in APPLICABLE.values() for name in methods))
