"""Source 004, figure 5.4: attacks on DP-SGD; the source's pictures are those of MNIST."""

from __future__ import annotations

from corrdp_reproduction.reconstructing.gradients import attacks_on
from corrdp_reproduction.reconstructing.pictures import digits

EXPERIMENT = attacks_on(
    "5.4",
    2840,
    "MNIST",
    "Attacks on DP-SGD that learns digits",
    digits,
    "scikit-learn's 8 x 8 digits, logistic regression",
)
published, computed, draw = EXPERIMENT.published, EXPERIMENT.computed, EXPERIMENT.draw
