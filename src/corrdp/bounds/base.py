"""What one bound returns, and how bounds round."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from corrdp.results import Certificate, Kind, Metric, Witness

# Relative slack added to recursions of a few hundred floating-point steps, so that an upper
# bound is never below its own exact value.
ROUNDING = 1e-12
# What is called exact agrees with an attained value to this relative accuracy; with more slack it
# is called an upper bound.
VISIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class Bound:
    """A value with its proof; ``per_record`` is None where the model has no fixed length.

    ``metric`` is set where the records are real numbers.
    """

    value: float
    kind: Kind
    certificate: Certificate
    per_record: np.ndarray | None = None
    witness: Witness | None = None
    metric: Metric | None = None


def up(value: float, relative: float = 0.0) -> float:
    """Round up: by ``relative``, and at least to the next float."""
    return math.nextafter(value * (1.0 + relative), math.inf)
