"""corrdp: differential privacy for data whose records depend on each other.

The public names are listed here and imported when first used, so that ``import corrdp`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "leakage": "corrdp.bounds.leakage",
    "calibrate": "corrdp.calibration",
    "minimum_error": "corrdp.bounds.general",
    "Independent": "corrdp.models.groups",
    "Groups": "corrdp.models.groups",
    "JointTable": "corrdp.models.groups",
    "MarkovChain": "corrdp.models.chains.markov",
    "WindowChain": "corrdp.models.chains.window",
    "GaussianRecords": "corrdp.models.gaussian.records",
    "MarkovTree": "corrdp.models.networks.tree",
    "MarkovField": "corrdp.models.networks.field",
    "Pedigree": "corrdp.models.pedigrees.pedigree",
    "HardyWeinberg": "corrdp.models.pedigrees.mendel",
    "read_linkage": "corrdp.models.pedigrees.linkage",
    "snp_report": "corrdp.report.snps",
    "Adversary": "corrdp.bounds.scope",
    "load_model": "corrdp.models.files",
    "write_report": "corrdp.report.page",
    "Count": "corrdp.queries",
    "Sum": "corrdp.queries",
    "Mean": "corrdp.queries",
    "Histogram": "corrdp.queries",
    "Series": "corrdp.queries",
    "Pure": "corrdp.guarantees",
    "Approximate": "corrdp.guarantees",
    "L1": "corrdp.guarantees",
    "GDP": "corrdp.guarantees",
    "Tradeoff": "corrdp.guarantees",
    "Laplace": "corrdp.mechanisms.laplace",
    "DiscreteLaplace": "corrdp.mechanisms.laplace",
    "BinaryResponse": "corrdp.mechanisms.response",
    "GRR": "corrdp.mechanisms.local.direct",
    "Certificate": "corrdp.results",
    "Leakage": "corrdp.bounds.leakage",
    "Calibration": "corrdp.calibration.number",
    "Release": "corrdp.release.number",
    "SeriesCalibration": "corrdp.calibration.series",
    "Sanitized": "corrdp.release.series",
    "CorrelatedResponse": "corrdp.mechanisms.response",
    "estimate_count": "corrdp.mechanisms.estimating",
    "estimate_counts": "corrdp.mechanisms.estimating",
    "output_leakage": "corrdp.bounds.chains.outputs",
    "SingleBit": "corrdp.attacks.forward_backward",
    "ForwardBackward": "corrdp.attacks.forward_backward",
    "Viterbi": "corrdp.attacks.forward_backward",
    "LSTM": "corrdp.attacks.next_place",
    "posterior": "corrdp.attacks.forward_backward",
    "success_bound": "corrdp.attacks.base",
    "risk": "corrdp.reconstruction.risk",
    "Risk": "corrdp.reconstruction.risk",
    "Threat": "corrdp.reconstruction.threat",
    "rad": "corrdp.reconstruction.exact",
    "rad_bound": "corrdp.reconstruction.bounds",
    "rero": "corrdp.reconstruction.linear",
    "rero_bound": "corrdp.reconstruction.linear",
    "advantage": "corrdp.reconstruction.bounds",
    "epsilon_for_risk": "corrdp.reconstruction.calibrate",
    "mu_for_risk": "corrdp.reconstruction.calibrate",
    "sigma_for_risk": "corrdp.reconstruction.calibrate",
    "calibrate_risk": "corrdp.reconstruction.calibrate",
    "Ledger": "corrdp.ledgers.ledger",
    "release_with_ledger": "corrdp.release.charged",
    "account": "corrdp.accounting.account",
    "Composition": "corrdp.accounting.account",
    "Plan": "corrdp.accounting.plan",
    "Step": "corrdp.accounting.step",
    "load_plan": "corrdp.accounting.plan",
    "check_proof": "corrdp.accounting.checker.check",
    "lint": "corrdp.linting.lint",
    "Findings": "corrdp.results",
    "reproduce": "corrdp_reproduction.running",
    "Gaussian": "corrdp.mechanisms.gaussian",
    "Exponential": "corrdp.mechanisms.exponential",
    "DistanceExponential": "corrdp.mechanisms.exponential",
    "PlanarLaplace": "corrdp.mechanisms.planar",
    "audit": "corrdp.auditing.audit",
    "Audit": "corrdp.auditing.results",
    "Command": "corrdp.auditing.run.commands",
    "Samples": "corrdp.auditing.samples",
    "read_outputs": "corrdp.auditing.samples",
    "sanitize_with_ledger": "corrdp.release.charged",
    "PrefixTree": "corrdp.trajectories.mechanisms.prefix",
    "NgramTree": "corrdp.trajectories.mechanisms.prefix",
    "LocalNgrams": "corrdp.trajectories.mechanisms.local",
    "PlanarCells": "corrdp.trajectories.mechanisms.planar",
    "BernoulliSample": "corrdp.trajectories.mechanisms.sampling",
    "synthesize": "corrdp.trajectories.mechanisms.sampling",
    "Moves": "corrdp.trajectories.data.reachability",
    "Trajectories": "corrdp.trajectories.data.points",
    "read_trajectories": "corrdp.trajectories.data.points",
    "Grid": "corrdp.trajectories.data.cells",
    "discretise": "corrdp.trajectories.data.cells",
    "by_time_step": "corrdp.trajectories.data.streams",
    "inspect_movements": "corrdp.trajectories.units.inspect",
    "Knowledge": "corrdp.partial.knowledge",
    "Noise": "corrdp.partial.knowledge",
    "partial_delta": "corrdp.partial.deltas",
    "Mixture": "corrdp.partial.mixtures",
    "noise_scale": "corrdp.partial.calibrating",
    "noiseless_records": "corrdp.partial.calibrating",
    "noise_over": "corrdp.partial.covering",
    "noisy_count": "corrdp.partial.estimating",
    "estimated_noise_scale": "corrdp.partial.estimating",
    "exact_gaussian": "corrdp.partial.mixtures",
    "dp_promise": "corrdp.partial.knowledge",
    "SS": "corrdp.mechanisms.local.subset",
    "SUE": "corrdp.mechanisms.local.unary",
    "OUE": "corrdp.mechanisms.local.unary",
    "THE": "corrdp.mechanisms.local.unary",
    "SHE": "corrdp.mechanisms.local.direct",
    "BLH": "corrdp.mechanisms.local.hashing",
    "OLH": "corrdp.mechanisms.local.hashing",
    "NoisyCount": "corrdp.partial.estimating",
    "probe": "corrdp.trajectories.probes.probe",
    "Probes": "corrdp.trajectories.probes.results",
    "unicity": "corrdp.attacks.singling",
    "centroid_candidates": "corrdp.attacks.linking",
    "CorrdpError": "corrdp.errors",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from corrdp_reproduction.running import reproduce as reproduce

    from corrdp.accounting.account import Composition as Composition
    from corrdp.accounting.account import account as account
    from corrdp.accounting.checker.check import check_proof as check_proof
    from corrdp.accounting.plan import Plan as Plan
    from corrdp.accounting.plan import load_plan as load_plan
    from corrdp.accounting.step import Step as Step
    from corrdp.attacks.base import success_bound as success_bound
    from corrdp.attacks.forward_backward import ForwardBackward as ForwardBackward
    from corrdp.attacks.forward_backward import SingleBit as SingleBit
    from corrdp.attacks.forward_backward import Viterbi as Viterbi
    from corrdp.attacks.forward_backward import posterior as posterior
    from corrdp.attacks.linking import centroid_candidates as centroid_candidates
    from corrdp.attacks.next_place import LSTM as LSTM
    from corrdp.attacks.singling import unicity as unicity
    from corrdp.auditing.audit import audit as audit
    from corrdp.auditing.results import Audit as Audit
    from corrdp.auditing.run.commands import Command as Command
    from corrdp.auditing.samples import Samples as Samples
    from corrdp.auditing.samples import read_outputs as read_outputs
    from corrdp.bounds.chains.outputs import output_leakage as output_leakage
    from corrdp.bounds.general import minimum_error as minimum_error
    from corrdp.bounds.leakage import Leakage as Leakage
    from corrdp.bounds.leakage import leakage as leakage
    from corrdp.bounds.scope import Adversary as Adversary
    from corrdp.calibration import calibrate as calibrate
    from corrdp.calibration.number import Calibration as Calibration
    from corrdp.calibration.series import SeriesCalibration as SeriesCalibration
    from corrdp.errors import CorrdpError as CorrdpError
    from corrdp.guarantees import GDP as GDP
    from corrdp.guarantees import L1 as L1
    from corrdp.guarantees import Approximate as Approximate
    from corrdp.guarantees import Pure as Pure
    from corrdp.guarantees import Tradeoff as Tradeoff
    from corrdp.ledgers.ledger import Ledger as Ledger
    from corrdp.linting.lint import lint as lint
    from corrdp.mechanisms.estimating import estimate_count as estimate_count
    from corrdp.mechanisms.estimating import estimate_counts as estimate_counts
    from corrdp.mechanisms.exponential import DistanceExponential as DistanceExponential
    from corrdp.mechanisms.exponential import Exponential as Exponential
    from corrdp.mechanisms.gaussian import Gaussian as Gaussian
    from corrdp.mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
    from corrdp.mechanisms.laplace import Laplace as Laplace
    from corrdp.mechanisms.local.direct import GRR as GRR
    from corrdp.mechanisms.local.direct import SHE as SHE
    from corrdp.mechanisms.local.hashing import BLH as BLH
    from corrdp.mechanisms.local.hashing import OLH as OLH
    from corrdp.mechanisms.local.subset import SS as SS
    from corrdp.mechanisms.local.unary import OUE as OUE
    from corrdp.mechanisms.local.unary import SUE as SUE
    from corrdp.mechanisms.local.unary import THE as THE
    from corrdp.mechanisms.planar import PlanarLaplace as PlanarLaplace
    from corrdp.mechanisms.response import BinaryResponse as BinaryResponse
    from corrdp.mechanisms.response import CorrelatedResponse as CorrelatedResponse
    from corrdp.models.chains.markov import MarkovChain as MarkovChain
    from corrdp.models.chains.window import WindowChain as WindowChain
    from corrdp.models.files import load_model as load_model
    from corrdp.models.gaussian.records import GaussianRecords as GaussianRecords
    from corrdp.models.groups import Groups as Groups
    from corrdp.models.groups import Independent as Independent
    from corrdp.models.groups import JointTable as JointTable
    from corrdp.models.networks.field import MarkovField as MarkovField
    from corrdp.models.networks.tree import MarkovTree as MarkovTree
    from corrdp.models.pedigrees.linkage import read_linkage as read_linkage
    from corrdp.models.pedigrees.mendel import HardyWeinberg as HardyWeinberg
    from corrdp.models.pedigrees.pedigree import Pedigree as Pedigree
    from corrdp.partial.calibrating import noise_scale as noise_scale
    from corrdp.partial.calibrating import noiseless_records as noiseless_records
    from corrdp.partial.covering import noise_over as noise_over
    from corrdp.partial.deltas import partial_delta as partial_delta
    from corrdp.partial.estimating import NoisyCount as NoisyCount
    from corrdp.partial.estimating import estimated_noise_scale as estimated_noise_scale
    from corrdp.partial.estimating import noisy_count as noisy_count
    from corrdp.partial.knowledge import Knowledge as Knowledge
    from corrdp.partial.knowledge import Noise as Noise
    from corrdp.partial.knowledge import dp_promise as dp_promise
    from corrdp.partial.mixtures import Mixture as Mixture
    from corrdp.partial.mixtures import exact_gaussian as exact_gaussian
    from corrdp.queries import Count as Count
    from corrdp.queries import Histogram as Histogram
    from corrdp.queries import Mean as Mean
    from corrdp.queries import Series as Series
    from corrdp.queries import Sum as Sum
    from corrdp.reconstruction.bounds import advantage as advantage
    from corrdp.reconstruction.bounds import rad_bound as rad_bound
    from corrdp.reconstruction.calibrate import calibrate_risk as calibrate_risk
    from corrdp.reconstruction.calibrate import epsilon_for_risk as epsilon_for_risk
    from corrdp.reconstruction.calibrate import mu_for_risk as mu_for_risk
    from corrdp.reconstruction.calibrate import sigma_for_risk as sigma_for_risk
    from corrdp.reconstruction.exact import rad as rad
    from corrdp.reconstruction.linear import rero as rero
    from corrdp.reconstruction.linear import rero_bound as rero_bound
    from corrdp.reconstruction.risk import Risk as Risk
    from corrdp.reconstruction.risk import risk as risk
    from corrdp.reconstruction.threat import Threat as Threat
    from corrdp.release.charged import release_with_ledger as release_with_ledger
    from corrdp.release.charged import sanitize_with_ledger as sanitize_with_ledger
    from corrdp.release.number import Release as Release
    from corrdp.release.series import Sanitized as Sanitized
    from corrdp.report.page import write_report as write_report
    from corrdp.report.snps import snp_report as snp_report
    from corrdp.results import Certificate as Certificate
    from corrdp.results import Findings as Findings
    from corrdp.trajectories.data.cells import Grid as Grid
    from corrdp.trajectories.data.cells import discretise as discretise
    from corrdp.trajectories.data.points import Trajectories as Trajectories
    from corrdp.trajectories.data.points import read_trajectories as read_trajectories
    from corrdp.trajectories.data.reachability import Moves as Moves
    from corrdp.trajectories.data.streams import by_time_step as by_time_step
    from corrdp.trajectories.mechanisms.local import LocalNgrams as LocalNgrams
    from corrdp.trajectories.mechanisms.planar import PlanarCells as PlanarCells
    from corrdp.trajectories.mechanisms.prefix import NgramTree as NgramTree
    from corrdp.trajectories.mechanisms.prefix import PrefixTree as PrefixTree
    from corrdp.trajectories.mechanisms.sampling import BernoulliSample as BernoulliSample
    from corrdp.trajectories.mechanisms.sampling import synthesize as synthesize
    from corrdp.trajectories.probes.probe import probe as probe
    from corrdp.trajectories.probes.results import Probes as Probes
    from corrdp.trajectories.units.inspect import inspect_movements as inspect_movements


def _place_for_compiled_code() -> None:
    """Where neither the package nor the home directory can be written, numba has no place of its
    own: give it one for this process (a shared one could be tampered with)."""
    import os

    writable = (os.path.dirname(__file__), os.path.expanduser("~"))
    if "NUMBA_CACHE_DIR" in os.environ or any(os.access(path, os.W_OK) for path in writable):
        return
    import atexit
    import shutil
    import tempfile

    os.environ["NUMBA_CACHE_DIR"] = place = tempfile.mkdtemp(prefix="corrdp-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)


_place_for_compiled_code()


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'corrdp' has no attribute {name!r}")
    try:
        home = import_module(_HOME[name])
    except ModuleNotFoundError as missing:
        if missing.name != "corrdp_reproduction":
            raise
        from corrdp.errors import InputError

        raise InputError(
            "the published figures are a distribution of their own: pip install corrdp-reproduction"
        ) from None
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
