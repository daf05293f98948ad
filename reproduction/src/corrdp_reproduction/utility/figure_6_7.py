"""Guerra-Balboa (2026), figure 6.7: figure 5 of Lange et al. (2025) with the single days."""

from __future__ import annotations

from corrdp_reproduction.utility.figure_5 import draw, figure_5
from corrdp_reproduction.utility.sources import twin

_RESULTS = "section 6.5.4"
_SINGLE = "Activity, single day"
figure_6_7 = twin(
    figure_5,
    "figure 6.7",
    {
        "least": "equation (6.73)",
        "70 kWh": _RESULTS,
        "outperforms": _RESULTS,
        "times": _RESULTS,
        "aligned": "section 6.5.4",
        "not applicable": "section 6.5.3.2",
    },
    "Noisy counts over Markov chains and single days: error against epsilon",
    single_days=True,
)
figure_6_7.panels_of({_SINGLE: _SINGLE}, "epsilon promised (crosses: 1000 runs)", "error, 95 %")(
    draw
)
