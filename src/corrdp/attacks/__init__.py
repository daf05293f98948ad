"""Attacks: what an adversary runs on a published series, and how often it can be right."""

from typing import TYPE_CHECKING

from corrdp._lazy import attach

if TYPE_CHECKING:
    from corrdp.attacks.base import AttackResult as AttackResult
    from corrdp.attacks.base import posterior_bound as posterior_bound
    from corrdp.attacks.base import success_bound as success_bound
    from corrdp.attacks.filtering import FollowedPath as FollowedPath
    from corrdp.attacks.filtering import SteadyState as SteadyState
    from corrdp.attacks.filtering import follow as follow
    from corrdp.attacks.filtering import steady_state as steady_state
    from corrdp.attacks.forward_backward import ForwardBackward as ForwardBackward
    from corrdp.attacks.forward_backward import SingleBit as SingleBit
    from corrdp.attacks.forward_backward import Viterbi as Viterbi
    from corrdp.attacks.forward_backward import posterior as posterior
    from corrdp.attacks.linking import CentroidCandidates as CentroidCandidates
    from corrdp.attacks.linking import centroid_candidates as centroid_candidates
    from corrdp.attacks.next_place import LSTM as LSTM
    from corrdp.attacks.records import GradientAttack as GradientAttack
    from corrdp.attacks.records import Imputation as Imputation
    from corrdp.attacks.records import Measured as Measured
    from corrdp.attacks.records import clipped as clipped
    from corrdp.attacks.singling import Unicity as Unicity
    from corrdp.attacks.singling import unicity as unicity
    from corrdp.auditing.dependent import SimulatedLeakage as SimulatedLeakage
    from corrdp.auditing.dependent import simulated_leakage as simulated_leakage
    from corrdp.bounds.gaussian.factors import unsure_factor as unsure_factor
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
