"""corrdp: differential privacy for data whose records depend on each other.

The public names are listed once, below, and imported when first used, so that ``import corrdp``
costs next to nothing. Eight namespaces hold what is special to one subject.
"""

from typing import TYPE_CHECKING

from corrdp._lazy import attach, keep_old_modules

__version__ = "0.2.0.dev0"  # CITATION.cff and reproduction/pyproject.toml say the same

if TYPE_CHECKING:
    from corrdp_reproduction.running import reproduce as reproduce

    from corrdp import attacks as attacks
    from corrdp import linting as linting
    from corrdp import local as local
    from corrdp import partial as partial
    from corrdp import pedigrees as pedigrees
    from corrdp import plans as plans
    from corrdp import reconstruction as reconstruction
    from corrdp import trajectories as trajectories
    from corrdp.accounting.account import Composition as Composition
    from corrdp.accounting.account import account as account
    from corrdp.accounting.interop import from_opendp as from_opendp
    from corrdp.accounting.plan import Plan as Plan
    from corrdp.accounting.step import Step as Step
    from corrdp.auditing.audit import audit as audit
    from corrdp.auditing.commands import Command as Command
    from corrdp.auditing.results import Audit as Audit
    from corrdp.auditing.samples import Samples as Samples
    from corrdp.auditing.samples import read_outputs as read_outputs
    from corrdp.bounds.general import minimum_error as minimum_error
    from corrdp.bounds.leakage import Leakage as Leakage
    from corrdp.bounds.leakage import leakage as leakage
    from corrdp.bounds.scope import Adversary as Adversary
    from corrdp.calibration.calibrate import calibrate as calibrate
    from corrdp.calibration.number import Calibration as Calibration
    from corrdp.calibration.series import SeriesCalibration as SeriesCalibration
    from corrdp.errors import CorrdpError as CorrdpError
    from corrdp.errors import InputError as InputError
    from corrdp.errors import RefusedError as RefusedError
    from corrdp.guarantees import GDP as GDP
    from corrdp.guarantees import L1 as L1
    from corrdp.guarantees import ZCDP as ZCDP
    from corrdp.guarantees import Approximate as Approximate
    from corrdp.guarantees import Profile as Profile
    from corrdp.guarantees import Pure as Pure
    from corrdp.guarantees import Tradeoff as Tradeoff
    from corrdp.ledgers.ledger import Ledger as Ledger
    from corrdp.linting.lint import lint as lint
    from corrdp.mechanisms.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
    from corrdp.mechanisms.exponential import Exponential as Exponential
    from corrdp.mechanisms.gaussian import Gaussian as Gaussian
    from corrdp.mechanisms.laplace import DiscreteLaplace as DiscreteLaplace
    from corrdp.mechanisms.laplace import Laplace as Laplace
    from corrdp.models.chains.markov import MarkovChain as MarkovChain
    from corrdp.models.chains.region import ChainClass as ChainClass
    from corrdp.models.chains.seasonal import SeasonalChain as SeasonalChain
    from corrdp.models.chains.window import WindowChain as WindowChain
    from corrdp.models.files import load_model as load_model
    from corrdp.models.gaussian.records import GaussianRecords as GaussianRecords
    from corrdp.models.groups import Groups as Groups
    from corrdp.models.groups import Independent as Independent
    from corrdp.models.groups import JointTable as JointTable
    from corrdp.models.networks.field import MarkovField as MarkovField
    from corrdp.models.networks.tree import MarkovTree as MarkovTree
    from corrdp.models.pedigrees.pedigree import Pedigree as Pedigree
    from corrdp.queries import Count as Count
    from corrdp.queries import Histogram as Histogram
    from corrdp.queries import Mean as Mean
    from corrdp.queries import Quantile as Quantile
    from corrdp.queries import Series as Series
    from corrdp.queries import Sum as Sum
    from corrdp.reconstruction.risk import Risk as Risk
    from corrdp.reconstruction.risk import risk as risk
    from corrdp.reconstruction.threat import Threat as Threat
    from corrdp.release.number import Release as Release
    from corrdp.release.series import Sanitized as Sanitized
    from corrdp.release.signatures import verify as verify
    from corrdp.report.page import write_report as write_report
    from corrdp.results import Certificate as Certificate
    from corrdp.tables.check import check as check
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
    keep_old_modules()
