"""Guerra-Balboa (2026), figure 6.2: figure 1 of Lange et al. (2025) again."""

from __future__ import annotations

from corrdp_reproduction.utility.figure_1 import figure_1
from corrdp_reproduction.utility.sources import twin

_WHERE = "section 6.3.3"
figure_6_2 = twin(
    figure_1,
    "figure 6.2",
    {"small": _WHERE, "less with more records": _WHERE},
)
