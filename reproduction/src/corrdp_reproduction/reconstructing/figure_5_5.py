"""Source 004, figure 5.5: attacks on DP-SGD; the source's pictures are those of Fashion-MNIST."""

from __future__ import annotations

from corrdp_reproduction.reconstructing.gradients import attacks_on
from corrdp_reproduction.reconstructing.pictures import patches

EXPERIMENT = attacks_on(
    "5.5",
    2853,
    "Fashion-MNIST",
    "Attacks on DP-SGD that learns other pictures",
    patches,
    "8 x 8 patches of two photographs that come with scikit-learn, ten classes, "
    "logistic regression",
)
published, computed, draw = EXPERIMENT.published, EXPERIMENT.computed, EXPERIMENT.draw
