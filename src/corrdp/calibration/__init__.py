"""calibrate: the least noise that keeps a promise on dependent records."""

from corrdp.calibration.calibrate import calibrate as calibrate
