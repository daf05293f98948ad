"""The theorem behind a number, printed in the terminal."""

from __future__ import annotations

import re

import corrdp as cdp
from corrdp.cli.docs import theorems
from tests.helpers.commands import done, run


def test_a_certificate_leads_to_its_theorem():
    leak = cdp.leakage(cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], length=5), 1.0)
    (name,) = re.findall(r"[a-z-]+#[a-z-]+", leak.certificate.reference)
    shown = done("docs", name).output
    assert shown.startswith("## Transfer")
    assert "*Tests:*" in shown
    assert "\\" not in shown
    assert done("docs", "transfer").output == shown


def test_all_are_listed():
    assert done("docs").output.splitlines() == list(theorems())


def test_a_name_that_is_none_gets_a_hint():
    failed = run("docs", "tranfer")
    assert failed.exit_code == 2
    assert "chains#transfer" in failed.stderr
    assert "corrdp docs lists all" in run("docs", "???").stderr
