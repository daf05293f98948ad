"""What a report says of the model and of the leakage: pictures only where they show something."""

from __future__ import annotations

import corrdp as cdp
from corrdp.report.dependence import records_section


def test_a_leakage_that_is_the_same_for_all_is_a_number():
    flat = cdp.leakage(cdp.Groups(labels="aabb"), 0.5)
    assert flat.per_record.tolist() == [1, 1, 1, 1]
    text = records_section(flat)
    assert "<svg" not in text
    assert "at most 1, the same about every record" in text
    one_for_all = cdp.leakage(cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]]), 0.5)
    assert one_for_all.per_record is None
    assert f"at most {one_for_all.value:.6g}, the same" in records_section(one_for_all)


def test_a_leakage_that_differs_is_drawn():
    chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 40)
    text = records_section(cdp.leakage(chain, 0.5))
    assert text.count("<svg") == 1
    assert "the same" not in text
