"""What users import: about fifty names and eight namespaces, each name listed once."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

import corrdp
from corrdp._lazy import EXTRAS, MODULES, MOVED
from corrdp.results import Witness

ROOT = Path(__file__).parent.parent
NAMESPACES = (
    *("attacks", "linting", "local", "partial", "pedigrees"),
    *("plans", "reconstruction", "trajectories"),
)
PUBLIC = [corrdp, *(importlib.import_module(f"corrdp.{name}") for name in NAMESPACES)]


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_every_public_name_is_there(module):
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert module.__all__ == dir(module)
    with pytest.raises(AttributeError, match="nothing_like_this"):
        _ = module.nothing_like_this


def test_a_name_has_one_home_and_no_module_hides_it():
    names = [name for module in PUBLIC for name in module.__all__]
    assert len(set(names)) == len(names)
    assert len(corrdp.__all__) <= 70
    for module in PUBLIC[1:]:
        inside = {found.name for found in pkgutil.iter_modules(getattr(module, "__path__", []))}
        assert not inside.intersection(module.__all__)


def test_no_two_public_classes_share_a_name():
    homes: dict[str, list[str]] = {}
    for path in Path(corrdp.__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path.name)
    assert {name: at for name, at in homes.items() if len(at) > 1} == {}


def pages() -> list[tuple[str, str]]:
    """The README, the docs and the examples, as name and text."""
    docs = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.rst")]
    files = [ROOT / "README.md", *docs, *(ROOT / "examples").glob("*.py")]
    texts = [(path.name, path.read_text()) for path in files]
    for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        texts.append((path.name, "\n".join("".join(cell["source"]) for cell in cells)))
    return texts


def test_pages_import_public_names_only():
    allowed = {module.__name__ for module in PUBLIC}
    pattern = re.compile(r"^(?:>>> |\.\.\. )?\s*(?:from|import) (corrdp(?:\.\w+)*)\b", re.M)
    found = {(name, path) for name, text in pages() for path in pattern.findall(text)}
    assert ("README.md", "corrdp") in found
    assert {(name, path) for name, path in found if path not in allowed} == set()
    used = re.compile(r"\bcdp\.(\w+)(?:\.(\w+))?")
    for name, text in pages():
        for first, second in used.findall(text):
            assert first in corrdp.__all__, f"{name}: cdp.{first}"
            if first in NAMESPACES:
                assert second in getattr(corrdp, first).__all__, f"{name}: cdp.{first}.{second}"


ABSENT = "import sys; sys.modules.update(dict.fromkeys({names!r})); import corrdp as cdp\n"
LACKING = {  # what is asked for without each extra
    "tables": "cdp.MarkovChain.fit('steps.csv', state='steps > 0', order_by='day')",
    "noise": "cdp.calibrate(chain, 1.0, query=cdp.Count(1)).release([0, 1, 1])",
    "plots": "chain.plot()",
    "attacks": "cdp.attacks.LSTM(cdp.local.BinaryResponse(0.2), rng).run([0, 1], chain, [0, 1])",
    "cli": "from corrdp.cli import main; main()",
    "sign": "cdp.verify('release.json', 'steward.pub')",
    "app": "from corrdp.cli.app import app; app()",
}


@pytest.mark.parametrize("extra", LACKING)
def test_what_is_missing_says_the_line_that_installs_it(extra):
    code = ABSENT.format(names=EXTRAS[extra]) + (
        "from numpy.random import default_rng\nrng = default_rng(1)\n"
        f"chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 3)\n{LACKING[extra]}"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f'pip install "corrdp[{extra}]"' in done.stderr
    assert extra == "cli" or "InputError" in done.stderr


def test_the_numbers_need_no_extra():
    names = tuple(name for parts in EXTRAS.values() for name in parts)
    code = ABSENT.format(names=(*names, "pandas", "networkx")) + (
        "chain = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 3)\n"
        "cdp.calibrate(chain, 1.0, query=cdp.Count(1)), cdp.risk(cdp.leakage(chain, 1.0).value)\n"
        "[getattr(cdp, name) for name in cdp.__all__ if name != 'reproduce']"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_extra_is_offered():
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = offered["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        asked = " ".join(extras[extra])
        assert all(module in asked for module in modules), extra


def test_the_page_of_dependencies_lists_what_is_asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"(always)": project["dependencies"], **project["optional-dependencies"]}
    asked = {
        (name, extra): bound
        for extra, texts in extras.items()
        for name, bound in (re.fullmatch(r"([\w-]+(?:\[.*\])?)(.*)", t).groups() for t in texts)
        if not name.startswith("corrdp")
    }
    page = (ROOT / "docs" / "dependencies.md").read_text().split("## Which")[0]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in page.splitlines()]
    rows = [row for row in cells if len(row) == 5][2:]
    assert {(name, extra): bound for name, bound, extra, _, _ in rows} == asked
    assert all(why and licence for *_, why, licence in rows)


def test_tables_need_no_pandas(tmp_path):
    """It comes with an extra of ibis that is not asked for."""
    data = tmp_path / "walk.csv"
    data.write_text("t,s\n" + "".join(f"{t},{t // 3 % 2}\n" for t in range(60)))
    code = ABSENT.format(names=("pandas",)) + (
        f"chain = cdp.MarkovChain.fit({str(data)!r}, state='s = 1', order_by='t')\n"
        f"cdp.check({str(data)!r})\n"
        "cal = cdp.calibrate(chain, 1.0, query=cdp.Count(True), confidence=None, robust=False)\n"
        f"cal.release({str(data)!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_changes_nothing():
    code = (
        "import os, sys, warnings; before = dict(os.environ), list(sys.meta_path), "
        "list(warnings.filters); import corrdp; "
        "assert before == (dict(os.environ), list(sys.meta_path), list(warnings.filters))"
    )
    nowhere = {"HOME": "/nonexistent", "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=nowhere)


@pytest.mark.parametrize("name", MOVED)
def test_names_that_left_the_top_say_where_they_are(name):
    with pytest.warns(DeprecationWarning, match=f"{MOVED[name]}.{name}") as said:
        value = getattr(corrdp, name)
    assert said[0].filename == __file__
    with warnings.catch_warnings(action="error"):
        assert value is getattr(importlib.import_module(MOVED[name]), name)


# what the pages of version 0.1 imported from modules
OLD_IMPORTS = """
corrdp.accounting.checker check_proof
corrdp.accounting.ledger_release sanitize_with_ledger
corrdp.accounting.plan plan_from_dict
corrdp.attacks.centroids centroid_candidates
corrdp.attacks.filtering follow steady_state
corrdp.attacks.forward_backward posterior
corrdp.attacks.limits posterior_bound success_bound
corrdp.attacks.singling unicity
corrdp.auditing.linting.exact lint_laws
corrdp.auditing.linting.laws laws_of
corrdp.auditing.linting.sampled lint_sampler zero_bound
corrdp.auditing.linting.support laplace_tail release_threshold
corrdp.auditing.registry.survey survey
corrdp.cli.show show_leakage
corrdp.errors InfeasibleError
corrdp.experiments.base Result Table
corrdp.experiments.catalogue load
corrdp.experiments.noise draw relative_noise
corrdp.mechanisms.bits flip_bits grid_flip grid_thresholds report_states
corrdp.mechanisms.correlated CorrelatedResponse
corrdp.mechanisms.estimating estimate_count estimate_counts
corrdp.mechanisms.local.unary OUE
corrdp.metric.conversion conversion_factor
corrdp.metric.domains MultisetDomain StreamDomain
corrdp.metric.gdp delta_for
corrdp.models.chains.diagnostics diagnose
corrdp.report.diagrams draw_chain
corrdp.report.figures draw_per_record
corrdp.report.page write_report
corrdp.trajectories.cells Grid discretise
corrdp.trajectories.planar_release PlanarCells
corrdp.trajectories.points Trajectories
corrdp.trajectories.prefix PrefixTree nodes
corrdp.trajectories.probing probe
corrdp.trajectories.publishing publish
"""


@pytest.mark.parametrize("line", OLD_IMPORTS.split("\n")[1:-1])
def test_old_imports_find_their_way(line):
    module, *names = line.split()
    for name in names:
        space: dict[str, object] = {}
        code = f"from {module} import {name}"
        if module in MODULES:
            with pytest.warns(DeprecationWarning, match=f"now {MODULES[module]}.{name}; the old"):
                exec(code, space)
        else:
            exec(code, space)
        assert callable(space[name])


def test_an_old_module_is_found_in_a_fresh_interpreter():
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        "try:\n    from corrdp.auditing.linting.exact import lint_laws\n"
        "except DeprecationWarning as said:\n    print(said)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "is now corrdp.linting.lint_laws;" in done.stdout


def test_a_target_is_a_leakage_level():
    found = {
        f"{module.__name__}.{name}"
        for module in PUBLIC
        for name in module.__all__
        if callable(public := getattr(module, name)) and not isinstance(public, type)
        if "target" in inspect.signature(public).parameters
    }
    assert found == {"corrdp.calibrate", "corrdp.minimum_error", "corrdp.pedigrees.snp_report"}


CHAIN = corrdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 3)
THREAT = corrdp.Threat([0.5, 0.5])
PLAN = corrdp.Plan(corrdp.plans.MultisetDomain(("a", "b")), [corrdp.Step("all", 1.0)])
OLD_KEYWORDS = {
    "record": [
        lambda **who: corrdp.Adversary(**who),
        lambda **who: corrdp.Threat.under(CHAIN, **who).prior[0],
        lambda **who: corrdp.partial.Mixture([0.3, 0.7], [0.5, 0.5]).posterior(9, 3, **who)[0],
    ],
    "unit": [
        lambda **who: corrdp.account(PLAN, **who).loss,
        lambda **who: corrdp.plans.conversion_factor("unbounded", domain=PLAN.domain, **who),
    ],
    "risk": [
        lambda **risk: corrdp.reconstruction.epsilon_for_risk(threat=THREAT, **risk).value,
        lambda **risk: corrdp.reconstruction.mu_for_risk(threat=THREAT, **risk).value,
        lambda **risk: corrdp.reconstruction.sigma_for_risk(threat=THREAT, **risk).value,
    ],
}
GIVEN = {"record": 1, "unit": "bounded", "risk": 0.1}


@pytest.mark.parametrize(("name", "call"), [(n, c) for n, cs in OLD_KEYWORDS.items() for c in cs])
def test_old_keywords_work_and_name_the_new_one(name, call):
    with pytest.warns(DeprecationWarning, match=f"target= is now {name}=; the old") as said:
        value = call(target=GIVEN[name])
    assert said[0].filename == __file__
    assert value == call(**{name: GIVEN[name]})


@pytest.mark.parametrize("named", [corrdp.Adversary(3), Witness(3)], ids=["adversary", "witness"])
def test_old_fields_can_be_read_and_name_the_new_one(named):
    with pytest.warns(DeprecationWarning, match="target is now record; the old name") as said:
        assert named.target == named.record == 3
    assert said[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="targets= is now units="):
        plan = corrdp.Plan(PLAN.domain, PLAN.steps, targets=["bounded"])
    assert plan.to_dict()["targets"] == ["bounded"]
    found = corrdp.reconstruction.epsilon_for_risk(0.1, THREAT)
    with pytest.warns(DeprecationWarning, match="target is now goal"):
        assert found.target == found.goal == found.to_dict()["target"] == 0.1
    assert Witness.from_dict({"target": 3, "values": None, "known": [], "note": ""}) == Witness(3)
