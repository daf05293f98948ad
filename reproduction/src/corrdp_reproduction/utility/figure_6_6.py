"""Guerra-Balboa (2026), figure 6.6: figure 4 of Lange et al. (2025) again."""

from __future__ import annotations

from corrdp_reproduction.utility.figure_4 import figure_4
from corrdp_reproduction.utility.sources import twin

_DESIGN, _RESULTS = "section 6.5.3.1", "section 6.5.4"
figure_6_6 = twin(
    figure_4,
    "figure 6.6",
    {
        "Galton factor": _DESIGN,
        "IQ factor": _DESIGN,
        "outperforms": _RESULTS,
        "IQ less": _RESULTS,
        "Galton less": _RESULTS,
        "aligned": "section 6.5.4",
        "kept": _DESIGN,
    },
)
