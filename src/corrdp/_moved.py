"""Names of version 0.1 that live elsewhere now: they work until version 0.3, with a warning."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from warnings import warn

# what left the top of the package, by the namespace it went to
_NAMES = {
    "attacks": (
        "ForwardBackward LSTM SingleBit Viterbi centroid_candidates posterior success_bound unicity"
    ),
    "local": (
        "BLH BinaryResponse CorrelatedResponse DistanceExponential GRR OLH OUE PlanarLaplace SHE SS"
        " SUE THE estimate_count estimate_counts output_leakage"
    ),
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
MOVED = {name: place for place, names in _NAMES.items() for name in names.split()}


def moved(name: str, stacklevel: int) -> Any:
    """A name that left the top of the package, with a warning that says where it is.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     rad = moved("rad", 2)
    >>> str(said[0].message)
    'corrdp.rad is now corrdp.reconstruction.rad; the old name goes with version 0.3'
    """
    place = f"corrdp.{MOVED[name]}"
    warn(
        f"corrdp.{name} is now {place}.{name}; the old name goes with version 0.3",
        DeprecationWarning,
        stacklevel + 1,
    )
    return getattr(import_module(place), name)
