"""Partial knowledge: when the data's own uncertainty is noise enough."""

from typing import TYPE_CHECKING

from corrdp._lazy import attach

if TYPE_CHECKING:
    from corrdp.metric.tradeoff import delta_for as delta_for
    from corrdp.partial.calibrating import Noiseless as Noiseless
    from corrdp.partial.calibrating import NoiseScale as NoiseScale
    from corrdp.partial.calibrating import noise_scale as noise_scale
    from corrdp.partial.calibrating import noiseless_records as noiseless_records
    from corrdp.partial.deltas import PartialDelta as PartialDelta
    from corrdp.partial.deltas import PartialLoss as PartialLoss
    from corrdp.partial.deltas import partial_delta as partial_delta
    from corrdp.partial.estimating import EstimatedScale as EstimatedScale
    from corrdp.partial.estimating import NoisyCount as NoisyCount
    from corrdp.partial.estimating import estimated_noise_scale as estimated_noise_scale
    from corrdp.partial.estimating import noisy_count as noisy_count
    from corrdp.partial.intervals import noise_over as noise_over
    from corrdp.partial.knowledge import Knowledge as Knowledge
    from corrdp.partial.knowledge import Noise as Noise
    from corrdp.partial.knowledge import PartialPromise as PartialPromise
    from corrdp.partial.knowledge import RowDependence as RowDependence
    from corrdp.partial.knowledge import dp_promise as dp_promise
    from corrdp.partial.knowledge import row_dependence as row_dependence
    from corrdp.partial.mixtures import Mixture as Mixture
    from corrdp.partial.mixtures import exact_gaussian as exact_gaussian
    from corrdp.partial.releasing import PartialRelease as PartialRelease
    from corrdp.partial.releasing import release as release
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
