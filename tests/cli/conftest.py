"""What a loaded machine must not change: lines about long work, which logs show."""

from __future__ import annotations

import pytest

from corrdp.auditing import workers
from corrdp.cli import show


@pytest.fixture(autouse=True)
def quick_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No work of a test counts as long, however slow the machine is."""
    for module in (show, workers):
        monkeypatch.setattr(module, "FIRST_LINE", 3600.0)
