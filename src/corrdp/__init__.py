"""corrdp: differential privacy for data whose records depend on each other.

The public names are listed here and imported when first used, so that ``import corrdp`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "leakage": "corrdp.bounds.dispatch",
    "calibrate": "corrdp.calibration",
    "minimum_error": "corrdp.bounds.impossibility",
    "Independent": "corrdp.models.independent",
    "Groups": "corrdp.models.groups",
    "JointTable": "corrdp.models.table",
    "MarkovChain": "corrdp.models.markov",
    "WindowChain": "corrdp.models.window",
    "load_model": "corrdp.models.files",
    "write_report": "corrdp.report.page",
    "Count": "corrdp.queries",
    "Sum": "corrdp.queries",
    "Mean": "corrdp.queries",
    "Histogram": "corrdp.queries",
    "Pure": "corrdp.guarantees",
    "Approximate": "corrdp.guarantees",
    "L1": "corrdp.guarantees",
    "GDP": "corrdp.guarantees",
    "Tradeoff": "corrdp.guarantees",
    "Laplace": "corrdp.mechanisms.laplace",
    "DiscreteLaplace": "corrdp.mechanisms.laplace",
    "BinaryResponse": "corrdp.mechanisms.response",
    "GRR": "corrdp.mechanisms.response",
    "Certificate": "corrdp.results",
    "Leakage": "corrdp.results",
    "Calibration": "corrdp.results",
    "Release": "corrdp.results",
    "CorrdpError": "corrdp.errors",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from corrdp.bounds.dispatch import leakage as leakage
    from corrdp.bounds.impossibility import minimum_error as minimum_error
    from corrdp.calibration import calibrate as calibrate
    from corrdp.errors import CorrdpError as CorrdpError
    from corrdp.guarantees import GDP as GDP
    from corrdp.guarantees import L1 as L1
    from corrdp.guarantees import Approximate as Approximate
    from corrdp.guarantees import Pure as Pure
    from corrdp.guarantees import Tradeoff as Tradeoff
    from corrdp.mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
    from corrdp.mechanisms.laplace import Laplace as Laplace
    from corrdp.mechanisms.response import GRR as GRR
    from corrdp.mechanisms.response import BinaryResponse as BinaryResponse
    from corrdp.models.files import load_model as load_model
    from corrdp.models.groups import Groups as Groups
    from corrdp.models.independent import Independent as Independent
    from corrdp.models.markov import MarkovChain as MarkovChain
    from corrdp.models.table import JointTable as JointTable
    from corrdp.models.window import WindowChain as WindowChain
    from corrdp.queries import Count as Count
    from corrdp.queries import Histogram as Histogram
    from corrdp.queries import Mean as Mean
    from corrdp.queries import Sum as Sum
    from corrdp.report.page import write_report as write_report
    from corrdp.results import Calibration as Calibration
    from corrdp.results import Certificate as Certificate
    from corrdp.results import Leakage as Leakage
    from corrdp.results import Release as Release


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'corrdp' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
