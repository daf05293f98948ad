"""Every public name, called with values it was not made for: a result, or an error of our own."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest

import corrdp
from corrdp.results import Result
from tests.helpers.hostile import BAD, failures, wrong
from tests.hostile.calls import CALLS
from tests.hostile.mechanisms import ATTEMPTS
from tests.hostile.namespaces import MORE
from tests.hostile.plans import PLANS

# functions of the user's own: what they raise is theirs
CALLED = ("class", "function")
THEIRS = dict.fromkeys(("loss", "family", "mechanism", "draw", "track"), CALLED)
# made by functions and returned to users, who read them
RETURNED = {
    *("AttackResult", "CentroidCandidates", "FollowedPath", "Measured", "SteadyState", "Unicity"),
    *("Description", "Findings", "Laws", "Surveyed", "CountEstimate", "CountsEstimate"),
    *("PartialPromise", "RowDependence"),
}


NAMESPACES = (
    *("attacks", "linting", "local", "partial", "pedigrees"),
    *("plans", "reconstruction", "trajectories"),
)
PUBLIC = [corrdp, *(importlib.import_module(f"corrdp.{name}") for name in NAMESPACES)]
# of another package, which has tests of its own
ELSEWHERE = {"reproduce"}
# every value costs a table that is read, a ledger, or noise that is searched for
SLOW = {
    *("MarkovChain.fit, table", "check", "check, data", "read_linkage"),
    *("calibrate, gaussian", "Leakage.profile", "leakage, GDP", "simulated_leakage", "probe"),
    *("Ledger.create, unit", "Ledger.charge, unit", "PrefixTree.release"),
}
TABLES = {**CALLS, **MORE, **PLANS}
# refused whatever else is right: no such file, no key, nothing of OpenDP's or Google's
REFUSED = {"load_model", "Ledger.open", "load_plan", "verify", "from_opendp", "load_description"}


def public_calls():
    """Every public name that can be called with something, but for errors."""
    for module in PUBLIC:
        for name in module.__all__:
            called = getattr(module, name)
            error = isinstance(called, type) and issubclass(called, Exception)
            if callable(called) and not error and inspect.signature(called).parameters:
                yield name, called


def results():
    return {
        name: called
        for name, called in public_calls()
        if isinstance(called, type) and issubclass(called, Result)
    }


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in sorted(TABLES)]
)
def test_only_our_own_errors(name):
    call, good = TABLES[name]
    if name not in REFUSED:
        call(**good)
    assert not failures(call, good, THEIRS)


@pytest.mark.parametrize("name", sorted(results()))
def test_results_are_read_or_refused(name):
    read = results()[name].from_dict
    found = {label: wrong(read, {"data": value}) for label, value in BAD.items()}
    assert {label: came for label, came in found.items() if came is not None} == {}


def test_every_public_name_is_called():
    """A name that is new must go into one of the tables, or be a result that users only read."""
    tried = {re.match(r"\w+", key)[0] for key in (*TABLES, *ATTEMPTS)}
    names = {name for name, _ in public_calls()}
    assert names - tried - set(results()) == RETURNED | ELSEWHERE
    assert len(TABLES) == len(CALLS) + len(MORE) + len(PLANS)
    for name in RETURNED:
        homes = [module for module in PUBLIC if name in module.__all__]
        assert [isinstance(getattr(home, name), type) for home in homes] == [True]
