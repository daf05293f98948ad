"""Guerra-Balboa (2026), figure 6.5: figure 2 of Lange et al. (2025) again."""

from __future__ import annotations

from corrdp_reproduction.utility.figure_2 import figure_2
from corrdp_reproduction.utility.sources import twin

figure_6_5 = twin(
    figure_2,
    "figure 6.5",
    {
        "n": "figure 6.5",
        "lower": "figure 6.5",
        "keeps": "section 6.4.2.1, on Chakrabarti et al. (2022)",
        "least": "section 6.4.2.1",
    },
)
