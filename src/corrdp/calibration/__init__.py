"""calibrate: the least noise that keeps a promise on dependent records."""

from corrdp.calibration.number import calibrate as calibrate
from corrdp.calibration.searching import LONG as LONG
