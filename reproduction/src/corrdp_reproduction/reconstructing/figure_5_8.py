"""Source 004, figure 5.8: two auditors of local protocols, with the places of Porto."""

from __future__ import annotations

from corrdp_reproduction.reconstructing.protocols import audits

EXPERIMENT = audits("5.8", "porto", 2922)
published, computed, draw = EXPERIMENT.published, EXPERIMENT.computed, EXPERIMENT.draw
