"""Source 004, figure 5.9: two auditors of local protocols, with the places of Geolife."""

from __future__ import annotations

from corrdp_reproduction.reconstructing.protocols import audits

EXPERIMENT = audits("5.9", "geolife", 2937)
published, computed, draw = EXPERIMENT.published, EXPERIMENT.computed, EXPERIMENT.draw
