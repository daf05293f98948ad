"""The quick tests draw the same examples every time, as those of the library do."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile(
    "corrdp",
    deadline=None,
    max_examples=40,
    print_blob=True,
    derandomize="CORRDP_EXPLORE" not in os.environ,
)
settings.load_profile("corrdp")
