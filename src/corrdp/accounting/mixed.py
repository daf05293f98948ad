"""The epsilon of a plan at one delta: releases of every kind together, by their exact profile."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from corrdp.accounting.choices import Losses
from corrdp.accounting.step import Step
from corrdp.accounting.totals import Total, certificate_of, curve_at
from corrdp.errors import CompositionError, NotApplicableError
from corrdp.guarantees import Approximate
from corrdp.metric.finite import Change
from corrdp.metric.granularities import Granularity
from corrdp.metric.profiles import PrivacyProfile, compose

_KINDS = 200  # different rows of losses, none below another, each one composition


def total_at(unit: Granularity, steps: Sequence[Step], losses: Losses, delta: float) -> Total:
    """The least epsilon with which all releases together are (epsilon, delta)-DP, for a unit."""
    for k, step in enumerate(steps):
        if step.flags.map_depends_on_outputs:
            raise CompositionError(
                f"releases[{k}] ({step.id!r}): what is read is chosen from earlier outputs, which "
                "this account covers for pure releases without a delta only"
            )
    rule = certificate_of("mixed", unit, steps, range(len(steps)))
    worst: tuple[float, Change | None, np.ndarray] = (0.0, None, np.zeros(len(steps)))
    profiles = []
    for change, row in _worst_rows(losses):
        profile = _joint(steps, row)
        profiles.append(profile)
        found = math.inf if profile is None else profile.epsilon(delta)
        if found > worst[0] or worst[1] is None:
            worst = found, change, row
    value, witness, row = worst
    parts = tuple((s.id, float(v)) for s, v in zip(steps, row, strict=True) if v > 0)
    apart = _joint(steps, losses.each)
    whole = math.inf if apart is None else apart.epsilon(delta)
    known = () if None in profiles else tuple(p for p in profiles if p is not None)
    return Total(
        unit,
        "approximate",
        value,
        witness,
        parts,
        whole,
        rule,
        at_delta=delta,
        profiles=known,
    )


def _worst_rows(losses: Losses) -> list[tuple[Change, np.ndarray]]:
    """Losses that are not below others in every release: the rest cannot cost more."""
    seen: dict[bytes, tuple[Change, np.ndarray]] = {}
    for change, row in losses.rows():
        if row.any():
            seen.setdefault((row + 0.0).tobytes(), (change, row.copy()))
    kept: list[tuple[Change, np.ndarray]] = []
    for change, row in sorted(seen.values(), key=lambda pair: -pair[1].sum()):
        if not any((row <= other).all() for _, other in kept):
            kept.append((change, row))
        if len(kept) > _KINDS:
            raise NotApplicableError(
                f"more than {_KINDS} kinds of neighbours with different losses: too many to "
                "compose; leave out delta"
            )
    return kept


def _joint(steps: Sequence[Step], row: np.ndarray) -> PrivacyProfile | None:
    """The profile of all releases between two neighbours; None where one promises nothing."""
    if np.isinf(row).any():
        return None
    pure, mu, pairs, others = [], [], [], []
    for step, loss in zip(steps, row.tolist(), strict=True):
        if loss == 0:
            continue
        promise = step.guarantee
        if step.notion == "pure":
            pure.append(loss)
        elif step.notion == "gaussian":
            mu.append(loss)
        elif isinstance(promise, Approximate) and loss == 1:
            pairs.append((promise.epsilon, promise.delta))
        else:
            others.append(curve_at(step, loss))
    total = math.hypot(*mu) * (1 + 2.0**-50) if mu else 0.0
    return compose(pure=pure, gaussian=total, approximate=pairs, others=others)
