"""Names found when first used: public ones, those of version 0.1, and extras that are missing.

Public names are listed once, where the type checker reads. Names and modules of version 0.1 that
live elsewhere now work until version 0.3, with a warning that says where they are. What is not
installed says the line that installs it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from warnings import warn

EXTRAS = {
    "tables": ("duckdb", "ibis", "pyarrow", "sqlglot"),
    "noise": ("opendp",),
    "plots": ("matplotlib",),
    "cli": ("typer", "rich"),
    "attacks": ("torch",),
    "sign": ("cryptography",),
    "app": ("shiny",),
}


def need(extra: str, note: str = "") -> None:
    """Refuse with the line that installs an extra, where a part of it is missing.

    Parameters
    ----------
    extra : str
        As in ``pip install "corrdp[extra]"``.
    note : str
        What else to say.

    Examples
    --------
    >>> need("tables")
    """
    missing = [name for name in EXTRAS[extra] if find_spec(name) is None]
    if missing:
        from corrdp.errors import InputError

        line = f'pip install "corrdp[{extra}]"'
        raise InputError(f"this needs {' and '.join(missing)}: {line}{note}")


def attach(
    package: str, path: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a file that lists names for the type checker.

    Parameters
    ----------
    package : str
        ``__name__`` of the file.
    path : str
        Its ``__file__``; below ``if TYPE_CHECKING:`` it says ``from home import name as name``.

    Examples
    --------
    >>> import corrdp.attacks
    >>> find, names, public = attach("corrdp.attacks", corrdp.attacks.__file__)
    >>> find("posterior").__module__
    'corrdp.attacks.forward_backward'
    """
    with open(path, encoding="utf-8") as stream:
        tree = ast.parse(stream.read())
    home = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def find(name: str) -> Any:
        if name not in home:
            if package == "corrdp" and name in MOVED:
                return moved(package, name, MOVED[name])
            if f"{package}.{name}" in METHODS:
                return getattr(import_module(METHODS[f"{package}.{name}"]), name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(_imported(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find, lambda: sorted(home), sorted(home)


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        distribution = name.partition(".")[0]
        if distribution == "corrdp" or str(missing.name).partition(".")[0] != distribution:
            raise
        from corrdp.errors import InputError

        line = f"pip install {distribution.replace('_', '-')}"
        raise InputError(f"{name} comes with a distribution of its own: {line}") from None


# what left the top of the package, by the namespace it went to
_NAMES = {
    "attacks": (
        "ForwardBackward LSTM SingleBit Viterbi centroid_candidates posterior success_bound unicity"
    ),
    "local": (
        "BLH BinaryResponse CorrelatedResponse DistanceExponential GRR OLH OUE PlanarLaplace SHE SS"
        " SUE THE WithholdingResponse estimate_count estimate_counts output_leakage"
    ),
    "linting": "Findings",
    "partial": (
        "Knowledge Mixture Noise NoisyCount dp_promise estimated_noise_scale exact_gaussian"
        " noise_over noise_scale noiseless_records noisy_count partial_delta"
    ),
    "pedigrees": "HardyWeinberg read_linkage snp_report",
    "plans": "check_proof load_plan",
    "reconstruction": (
        "advantage calibrate_risk epsilon_for_risk mu_for_risk rad rad_bound rero rero_bound"
        " sigma_for_risk"
    ),
    "trajectories": (
        "BernoulliSample Grid LocalNgrams Moves NgramTree PlanarCells PrefixTree Probes"
        " Trajectories by_time_step discretise inspect_movements probe read_trajectories synthesize"
    ),
}
MOVED = {name: f"corrdp.{place}" for place, names in _NAMES.items() for name in names.split()}
# functions that became methods: each says by itself what to write instead
METHODS = {
    "corrdp.release_with_ledger": "corrdp.release.charged",
    "corrdp.sanitize_with_ledger": "corrdp.release.charged",
    "corrdp.trajectories.publish": "corrdp.trajectories.mechanisms.publishing",
}

# modules that the pages of version 0.1 imported from and that are gone
MODULES = {
    "corrdp.accounting.ledger_release": "corrdp.release.charged",
    "corrdp.attacks.centroids": "corrdp.attacks",
    "corrdp.attacks.limits": "corrdp.attacks",
    "corrdp.auditing.linting": "corrdp.linting",
    "corrdp.auditing.linting.exact": "corrdp.linting",
    "corrdp.auditing.linting.laws": "corrdp.linting",
    "corrdp.auditing.linting.sampled": "corrdp.linting",
    "corrdp.auditing.linting.support": "corrdp.linting",
    "corrdp.auditing.registry": "corrdp.linting",
    "corrdp.auditing.registry.survey": "corrdp.linting",
    "corrdp.experiments": "corrdp_reproduction",
    "corrdp.experiments.base": "corrdp_reproduction.base",
    "corrdp.experiments.catalogue": "corrdp_reproduction.catalogue",
    "corrdp.experiments.noise": "corrdp_reproduction.noise",
    "corrdp.mechanisms.bits": "corrdp.local",
    "corrdp.mechanisms.correlated": "corrdp.local",
    "corrdp.metric.gdp": "corrdp.partial",
    "corrdp.report.diagrams": "corrdp.plots.models",
    "corrdp.report.figures": "corrdp.plots.results",
    "corrdp.trajectories.cells": "corrdp.trajectories",
    "corrdp.trajectories.planar_release": "corrdp.trajectories",
    "corrdp.trajectories.points": "corrdp.trajectories",
    "corrdp.trajectories.prefix": "corrdp.trajectories",
    "corrdp.trajectories.probing": "corrdp.trajectories",
    "corrdp.trajectories.publishing": "corrdp.trajectories",
}


def moved(old: str, name: str, new: str) -> Any:
    """What was called ``old.name``, with a warning to the caller's caller that says where it is.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     rad = moved("corrdp", "rad", "corrdp.reconstruction")
    >>> str(said[0].message)
    'corrdp.rad is now corrdp.reconstruction.rad; the old name goes with version 0.3'
    """
    value = getattr(import_module(new), name)
    text = f"{old}.{name} is now {new}.{name}; the old name goes with version 0.3"
    warn(text, DeprecationWarning, stacklevel=3)
    return value


class _OldModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by the import system, and by whoever walks over modules
            raise AttributeError(name)
        return moved(self.__name__, name, MODULES[self.__name__])


def keep_old_modules() -> None:
    """Let ``from corrdp.trajectories.cells import Grid`` find its way."""
    sys.modules.update({name: _OldModule(name) for name in MODULES})
