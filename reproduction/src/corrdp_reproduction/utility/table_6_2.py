"""Guerra-Balboa (2026), table 6.2: table 3 of Lange et al. (2025) with the single days."""

from __future__ import annotations

from corrdp_reproduction.utility.sources import twin
from corrdp_reproduction.utility.table_3 import LENGTHS, table_3

_TABLE = "table 6.2"
table_6_2 = twin(
    table_3,
    "table 6.2",
    {
        **dict.fromkeys((*LENGTHS, "groups"), _TABLE),
        "days": "section 6.5.1.2",
        "conditions": "section 6.5.1.1",
    },
)
