"""Mechanisms that each person runs alone, what their reports tell, and what they leak."""

from typing import TYPE_CHECKING

from corrdp._lazy import attach

if TYPE_CHECKING:
    from corrdp.bounds.chains.outputs import output_leakage as output_leakage
    from corrdp.mechanisms.estimating import CountEstimate as CountEstimate
    from corrdp.mechanisms.estimating import CountsEstimate as CountsEstimate
    from corrdp.mechanisms.estimating import estimate_count as estimate_count
    from corrdp.mechanisms.estimating import estimate_counts as estimate_counts
    from corrdp.mechanisms.exponential import DistanceExponential as DistanceExponential
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
    from corrdp.mechanisms.sample import flip_bits as flip_bits
    from corrdp.mechanisms.sample import grid_flip as grid_flip
    from corrdp.mechanisms.sample import grid_thresholds as grid_thresholds
    from corrdp.mechanisms.sample import report_states as report_states
    from corrdp.mechanisms.withholding import WithholdingResponse as WithholdingResponse
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
