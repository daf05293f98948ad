"""Source 004, table 6.2: table 3 of source 002 with the single days."""

from __future__ import annotations

from corrdp_reproduction.utility import table_3
from corrdp_reproduction.utility.sources import twin

_TABLE = "table 6.2"
EXPERIMENT = twin(
    table_3.EXPERIMENT,
    "004-table-6.2",
    "table 6.2",
    {
        **dict.fromkeys((*table_3.LENGTHS, "groups"), _TABLE),
        "days": "section 6.5.1.2",
        "conditions": "section 6.5.1.1",
    },
)
