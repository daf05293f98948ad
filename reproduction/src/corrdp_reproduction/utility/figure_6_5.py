"""Source 004, figure 6.5: figure 2 of source 002 again."""

from __future__ import annotations

from corrdp_reproduction.utility.figure_2 import figure_2
from corrdp_reproduction.utility.sources import twin

figure_6_5 = twin(
    figure_2,
    "figure 6.5",
    {
        "n": "figure 6.5",
        "lower": "figure 6.5",
        "keeps": "section 6.4.2.1, on source 001",
        "least": "section 6.4.2.1",
    },
)
