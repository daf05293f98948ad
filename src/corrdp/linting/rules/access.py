"""L-06, L-07, L-08, L-13, L-14, L-15, L-21: who reads the data, who pays, and what is claimed."""

from __future__ import annotations

from collections.abc import Iterator

from corrdp.accounting.mistakes import unpriced
from corrdp.linting.description import Description, Stage
from corrdp.results import Finding


def _outside(mechanism: Description, part: Stage) -> bool:
    """Whether a step reads a part of the data that the claim says nothing about."""
    area = mechanism.claim.area
    return area is not None and part.area is not None and part.area != area


def _unpaid(mechanism: Description) -> Iterator[tuple[Stage, str]]:
    """Steps through which the data get out although nobody pays, and how."""
    open_ways: set[str] = set()  # unpaid steps from which unpaid steps lead to what is published
    for part in reversed(mechanism.steps):
        onward = [other.name for other in mechanism.readers(part) if other.name in open_ways]
        if not part.pays and mechanism.raw(part) and (part.released or onward):
            open_ways.add(part.name)
    for part in mechanism.steps:
        if part.pays or not mechanism.raw(part) or _outside(mechanism, part):
            continue
        if part.name in open_ways:
            if "data" in part.reads:  # where it begins
                yield (
                    part,
                    "it is published with no budget"
                    if part.released
                    else ("what it tells is published with no budget on the way"),
                )
        elif part.kind != "preprocess" and part.sensitivity is None and mechanism.reaches(part):
            # beside the data its reader takes it as given; alone, its reader's price is for it
            aside = [other.name for other in mechanism.readers(part) if "data" in other.reads]
            if aside:
                yield part, f"it steers {', '.join(aside)}, and nobody pays for what it tells"


def unaccounted_access(mechanism: Description) -> Iterator[Finding]:
    """L-06: a step reads the data without budget, and is no preprocessing of known sensitivity."""
    for part, how in _unpaid(mechanism):
        yield Finding(
            "L-06",
            "error",
            mechanism.where(part),
            f"the step reads the data, and {how}. Give it a budget, let it read public knowledge "
            "or noisy outputs, or state its sensitivity",
        )


def partial_proofs(mechanism: Description) -> Iterator[Finding]:
    """L-07: proofs of the components, where something outside them reads the data."""
    if mechanism.proof == "whole":
        return
    selected = [
        part
        for part in mechanism.steps
        if part.observed and mechanism.raw(part) and mechanism.reaches(part)
    ]
    around = [part for part, _ in _unpaid(mechanism)]
    for part in mechanism.steps:
        if part not in selected and part not in around:
            continue
        what = "its keys come from the data" if part in selected else "it reads the data unpaid"
        yield Finding(
            "L-07",
            "warning",
            mechanism.where(part),
            f"a proof of the steps alone says nothing about the whole: {what}. Prove what is "
            "published, from the data to the output",
        )


def no_proof(mechanism: Description) -> Iterator[Finding]:
    """L-08: no proof is given."""
    if mechanism.proof == "none":
        yield Finding(
            "L-08",
            "warning",
            "proof",
            "no proof is given; what is protected remains unclear. Give one, and say whether it "
            "covers the whole or its components",
        )


def partial_areas(mechanism: Description) -> Iterator[Finding]:
    """L-13: a guarantee for part of the data, stated for all of them."""
    claimed = mechanism.claim.area
    paying = [part for part in mechanism.steps if part.pays and mechanism.raw(part)]
    if claimed is not None and any(part.area in (None, claimed) for part in paying):
        return
    for part in paying:
        if part.area is not None:
            yield Finding(
                "L-13",
                "warning",
                mechanism.where(part),
                f"protects {part.area} only, and the claim is about {claimed or 'everything'}. Say "
                f"area: {part.area} in the claim; nothing is promised about the rest",
            )


def missing_release(mechanism: Description) -> Iterator[Finding]:
    """L-14: the claim is about something that no released step gives, or nothing is released."""
    wanted = mechanism.claim.releases
    if not any(part.released for part in mechanism.steps):
        yield Finding(
            "L-14",
            "warning",
            "steps",
            "no step is said to be published (released is false unless stated), so that nothing "
            "gets out and most rules have nothing to look at. Say released: true where it is",
        )
    given = [part.gives for part in mechanism.steps if part.released and part.gives is not None]
    if wanted is not None and wanted not in given:
        yield Finding(
            "L-14",
            "error",
            "claim.releases",
            f"{wanted} are claimed, and the steps publish {', '.join(given) or 'nothing'}: the "
            f"step that makes {wanted} is missing, and made from the raw data it would have no "
            "guarantee. Describe that step with its budget, or claim what is published",
        )


def unpriced_preprocessing(mechanism: Description) -> Iterator[Finding]:
    """L-15: preprocessing that learns from the data unpriced; a price that is taken on trust."""
    for part in mechanism.steps:
        if part.kind != "preprocess" or not mechanism.raw(part) or not mechanism.reaches(part):
            continue
        price = part.sensitivity
        stated = 1.0 if price is None else price.l1 or price.l2 or 1.0
        if stated < 1:
            yield Finding(
                "L-15",
                "warning",
                mechanism.where(part),
                f"a sensitivity of {stated:g} is stated and counts as 1: neighbours are a whole "
                "number of changes apart, and preprocessing lowers no budget. State what later "
                "steps cost on the data",
            )
        if part.sensitivity is not None or part.learned is False:
            continue
        if part.learned:
            yield Finding("L-15", "error", mechanism.where(part), unpriced(part.name))
        else:
            yield Finding(
                "L-15",
                "warning",
                mechanism.where(part),
                f"it is not said whether {part.name!r} learns from the data; if it does, its "
                "sensitivity multiplies epsilon. Say learned: false if it is fixed in advance, or "
                "state the sensitivity",
            )


def chosen_maps(mechanism: Description) -> Iterator[Finding]:
    """L-21: a step asks about cells that were chosen from earlier outputs."""
    for part in mechanism.steps:
        if part.range != "outputs" or not mechanism.raw(part):
            continue
        rest = (
            "add the levels along each path of outputs and take the largest sum (pure DP allows "
            "that)"
            if mechanism.claim.level.pure
            else "composition theorems with fixed maps do not cover it: prove it, or use pure DP"
        )
        yield Finding(
            "L-21",
            "warning",
            mechanism.where(part),
            f"what it asks is chosen from earlier outputs; {rest}. Or fix the partition in advance",
        )
