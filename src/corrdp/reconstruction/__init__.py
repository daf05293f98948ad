"""What an attacker could reconstruct: threats, exact risk, bounds, and noise for a risk."""

from typing import TYPE_CHECKING

from corrdp._lazy import attach

if TYPE_CHECKING:
    from corrdp.reconstruction.bounds import advantage as advantage
    from corrdp.reconstruction.bounds import rad_bound as rad_bound
    from corrdp.reconstruction.calibrate import calibrate_risk as calibrate_risk
    from corrdp.reconstruction.calibrate import epsilon_for_risk as epsilon_for_risk
    from corrdp.reconstruction.calibrate import mu_for_risk as mu_for_risk
    from corrdp.reconstruction.exact import rad as rad
    from corrdp.reconstruction.linear import rero as rero
    from corrdp.reconstruction.linear import rero_bound as rero_bound
    from corrdp.reconstruction.results import Advantage as Advantage
    from corrdp.reconstruction.results import Rad as Rad
    from corrdp.reconstruction.results import RadBound as RadBound
    from corrdp.reconstruction.results import Rero as Rero
    from corrdp.reconstruction.results import ReroBound as ReroBound
    from corrdp.reconstruction.results import RiskCalibration as RiskCalibration
    from corrdp.reconstruction.sgd import sgd_guarantee as sgd_guarantee
    from corrdp.reconstruction.sgd import sigma_for_risk as sigma_for_risk
else:
    __getattr__, __dir__, __all__ = attach(__name__, __file__)
