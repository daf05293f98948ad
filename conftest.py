"""How hypothesis draws examples, for the tests of the library and of the reproductions."""

from __future__ import annotations

import os

from hypothesis import settings

# compiled functions make the first example slow, and these machines are noisy
# the quick tests draw the same examples every time; make test-slow goes looking for new ones
settings.register_profile(
    "corrdp",
    deadline=None,
    max_examples=40,
    print_blob=True,
    derandomize="CORRDP_EXPLORE" not in os.environ,
)
settings.load_profile("corrdp")
