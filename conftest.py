"""What the tests of the library and of the reproductions share."""

from __future__ import annotations

import gc
import os
from functools import cache

import typer.testing
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

# putting every option of every command together takes longer than most runs: once is enough
typer.testing._get_command = cache(typer.testing._get_command)


def pytest_collection_finish() -> None:
    """What was made for the tests stays: the collector need not go through it again and again."""
    gc.freeze()
