"""Bounds register themselves, and every list of their names is that of the registry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import corrdp as cdp
from corrdp.bounds.registry import BY_NAME_ONLY, HOMES, METHODS, REGISTERED, applicable
from corrdp.errors import NotApplicableError
from corrdp.models.chains.chain import SwitchingChain
from corrdp.models.chains.window import WindowChain
from corrdp.models.pedigrees.pedigree import Pedigree

DOCS = Path(__file__).parents[2] / "docs"
KINDS = (
    *(cdp.Independent, cdp.Groups, cdp.JointTable, cdp.MarkovChain, WindowChain, SwitchingChain),
    *(cdp.MarkovTree, cdp.MarkovField, Pedigree, cdp.GaussianRecords),
)


def test_every_registered_bound_is_found():
    """Its name is on the list, and its module is imported for its model."""
    for kind in KINDS:
        applicable(kind)
    assert {name for name, _, _, _ in REGISTERED} == set(METHODS) > set(BY_NAME_ONLY)
    for (_, on, _, _), (theorem, _) in REGISTERED.items():
        home = theorem.__module__.removeprefix("corrdp.bounds.")
        assert home == "general" or home in HOMES[on.kind]


def test_bounds_are_listed_in_one_order_on_every_model():
    for kind in KINDS:
        names = list(applicable(kind))
        assert names == sorted(names, key=list(METHODS).index)


def test_the_docs_list_the_methods_of_the_registry():
    table = (DOCS / "leakage.md").read_text().split("| method | value | applies to |")[1]
    rows = table.split("\n\n")[0].splitlines()
    listed = {name for row in rows[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert listed == set(METHODS)


def test_the_docstring_names_every_method():
    told = str(cdp.leakage.__doc__).partition("method : str")[2].partition("confidence :")[0]
    assert set(METHODS) <= set(re.findall(r"\w+", told))


def test_a_bound_without_a_twin_for_a_region_refuses_a_confidence():
    chain = cdp.MarkovChain.fit([[0, 1, 1, 0, 0, 1, 0, 1, 1, 0] * 20])
    with pytest.raises(NotApplicableError, match="lange is for one law, not for a confidence"):
        cdp.leakage(chain, 0.1, method="lange", confidence=0.95)
