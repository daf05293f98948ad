"""Several series at once (chains#joint): contraction from slice to slice, and one adversary.

A record is one cell, and an adversary may know some cells of a slice and not the others. Such a
slice does not cut the chain: it leaves out what contradicts the known cells. One cell leaks no
more than its whole slice,

    leakage <= 4 arsinh(e^{D/2} sinh(m eps / 4))

for m series, D the diameter of the kernel of slices, every adversary and every length. Where a
transition was never seen D is infinite: then what may be known of the next slices is gone through,
and those slices are jumped over whose kernel says too much.

What a single adversary learns: :mod:`corrdp.bounds.chains.known_cells`.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from corrdp.bounds.chains.joint_sides import along, limit
from corrdp.bounds.chains.ratios import over_region
from corrdp.bounds.chains.slice_jumps import slice_jumps
from corrdp.bounds.general import one_block
from corrdp.bounds.registry import bound, level_and_confidence
from corrdp.bounds.scope import ROUNDING, Bound
from corrdp.errors import InputError, NotApplicableError
from corrdp.guarantees import Pure
from corrdp.models.chains.joint import JointChain
from corrdp.results import Certificate, Witness

REFERENCE = "theorem chains#joint"
_SHORT = 512  # time steps up to which each has a value of its own
RARELY_SEEN = "slices that are rarely seen"
_USELESS = 10.0  # times what the fitted numbers leak: more, and a region deserves a word
_SMALL = 1e-9  # an epsilon at which a chain that forgets leaks next to nothing
_NAMED = 4  # rare slices
_ALL_ALONG = 200_000  # the same where each cell has an epsilon of its own


@bound("contraction", on=JointChain, given=level_and_confidence)
@bound("contraction", on=JointChain, confidence=True, given=level_and_confidence)
def joint_contraction(chain: JointChain, guarantee: Pure, confidence: float | None = None) -> Bound:
    """What a slice leaks at most, and so each of its cells: every adversary.

    ``leakage <= E + S + S'``, E the epsilons of a slice and S, S' what the slices after and before
    it are worth, the least with

        S >= max_w min{ (E_w + S) (*) D_w,  E_w + max_v min{ (E_v + S) (*) D_wv,
                                                           E_v + (E + S) (*) D_wv. } }

    where

    * w is what is known of the next slice, E_w are the epsilons of its unknown cells, v is what is
      known of the one after it,
    * D_w, D_wv and D_wv. are the diameters of the kernels to these slices, and to the third one,
      taken over what is left of them.

    Parameters
    ----------
    chain : JointChain
    guarantee : Pure
        One epsilon, or one for each cell.
    confidence : float, optional
        For every kernel that the data of the fit allow.

    Notes
    -----
    O(W V k^3) for a kernel of k slices, W and V what may be known of two slices (27 less 8 for
    three binary series; V = 1 where there are too many).

    References
    ----------
    chains#joint.

    Examples
    --------
    >>> kernel = [[.9, .04, .04, .02], [.4, .3, .1, .2], [.4, .1, .3, .2], [.1, .1, .1, .7]]
    >>> round(joint_contraction(JointChain(kernel, "ab"), Pure(.1)).value, 4)
    2.4874
    """
    found = _all_adversaries(chain, guarantee, confidence)
    if confidence is not None:
        found = over_region(found, chain.region(confidence), chain.row_names, chain.pool_names)
    return _judged(found, chain, guarantee, confidence)


@bound("general", on=JointChain, given=level_and_confidence)
@bound("general", on=JointChain, confidence=True, given=level_and_confidence)
def joint_block(chain: JointChain, guarantee: Pure, confidence: float | None = None) -> Bound:
    """The sum over all cells, and a word where that is all that the data allow.

    Examples
    --------
    >>> from corrdp.models.chains.markov import MarkovChain
    >>> pair = MarkovChain.fit([[0, 1, 1, 0, 1] * 9, [0, 1, 0, 0, 1] * 9], joint=True)
    >>> round(joint_block(pair, Pure(.1), .95).value, 9)
    9.0
    """
    return _judged(one_block(chain, guarantee), chain, guarantee, confidence)


def _judged(found: Bound, chain: JointChain, guarantee: Pure, confidence: float | None) -> Bound:
    """A bound, and a word where rare slices are why it says next to nothing."""
    if chain.fitted is None:
        return found
    at = "" if confidence is None else f"at confidence {confidence:g} "
    alone = _all_adversaries(chain, guarantee, None).value
    if found.value > _USELESS * alone:
        said = f"{at}this is {found.value / alone:,.0f} times what the fitted numbers leak"
    elif math.isinf(_two_sides(chain, _SMALL, confidence)):
        said = f"{at}this grows with the length, as if nothing were known of the chain"
    else:
        return found
    said += f", although the series may well forget: {rare_words(chain)}"
    proof = found.certificate
    return replace(found, certificate=replace(proof, assumptions=(said, *proof.assumptions)))


def _two_sides(chain: JointChain, epsilon: float, confidence: float | None) -> float:
    """What the slices on both sides are worth at any length, of the slice of a period where that is
    most; infinite where none is forgotten."""
    whole = epsilon * len(chain.series)
    right, left = slice_jumps(chain, confidence)
    after = limit(epsilon * right.unknown.sum(axis=1), whole, *right[:4])
    turned = left._replace(at=left.at[::-1].copy())
    before = limit(epsilon * left.unknown.sum(axis=1), whole, *turned[:4])[::-1]
    return float((after + before).max())


def rare_words(chain: JointChain) -> str:
    """Which slices are seen too rarely, and what to do."""
    fit = chain.fitted
    assert fit is not None  # else nothing was seen
    left, names = chain.row_counts.sum(axis=1), chain.row_names
    shown = "; ".join(f"{names[k]}: {left[k]:,}" for k in np.argsort(left, kind="stable")[:_NAMED])
    ways = ["merge states", "name fewer series", *(["fit one kernel"] if chain.seasonal else [])]
    if fit.pooled is None:
        ways.append("let rare slices share a row (pool=True, without --no-pooling)")
    if math.isfinite(_two_sides(chain, _SMALL, None)):
        ways.append("take the fitted numbers as exact (confidence=None, --confidence none)")
    return f"what follows {RARELY_SEEN} is left open (times seen: {shown}): {', or '.join(ways)}"


def _all_adversaries(chain: JointChain, guarantee: Pure, confidence: float | None) -> Bound:
    """:func:`joint_contraction` without a word on the region."""
    m, n = len(chain.series), chain.length
    certificate = Certificate("contraction", REFERENCE)
    if n is not None and n <= (_ALL_ALONG if guarantee.is_vector else _SHORT):
        eps = guarantee.vector(n * m).reshape(n, m)
        time = np.arange(n)
        each = []
        for order, jumps in zip((time, time[::-1]), slice_jumps(chain, confidence), strict=True):
            own, at = eps[order], jumps.at[order % len(jumps.at)]
            costs = np.ascontiguousarray(own @ jumps.unknown.T)
            each.append(along(costs, own.sum(axis=1), *jumps[:3], at))
        per_slice = eps.sum(axis=1) + each[0] + each[1][::-1]
        per_slice = np.minimum(per_slice * (1.0 + ROUNDING), float(eps.sum()))
        per_record = np.repeat(per_slice, m)
        record = int(per_record.argmax())
        return Bound(
            float(per_record[record]), "upper bound", certificate, per_record, Witness(record)
        )
    top = guarantee.largest
    value = (m * top + _two_sides(chain, top, confidence)) * (1.0 + ROUNDING)
    if n is None:
        if guarantee.is_vector:
            raise InputError("one epsilon per record needs a chain with a length")
        if math.isinf(value):
            why = "some transitions were never seen or are impossible: merge states"
            raise NotApplicableError(
                "the slices tell each other apart for ever, as far as three of them, as "
                f"{why if chain.fitted is None else rare_words(chain)}, or give a length"
            )
        return Bound(value, "upper bound", certificate)
    total = float(guarantee.vector(n * m).sum())
    value = min(value, total)
    return Bound(value, "upper bound", certificate, np.full(n * m, value))
